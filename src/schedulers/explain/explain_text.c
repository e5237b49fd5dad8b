/* SPDX-License-Identifier: MIT */
/* An explanation as text: the groups as boxes with their loops, in the order of computing, then the table. */
#include "schedulers/explain/explain.h"

enum { WIDEST = 110 };

static int length_of(const char *s)
{
    return (int)strlen(s);
}

static void print_line(Text *out, char fill, int count)
{
    for (int i = 0; i < count; i++)
        text_add_n(out, &fill, 1);
}

/* ---- Boxes ------------------------------------------------------------------------------- */

/* What comes in: "    in 61.4 MB, gray (2) 15.0 MB" and an arrow. */
static void print_reads(Text *out, const Explained *x, int group)
{
    GroupRead *reads;
    const int  count = explain_reads(x, group, out->arena, &reads);
    size_t     begun = out->count;
    text_add(out, count ? "  " : "");
    for (int i = 0; i < count; i++) {
        const int from = x->d->choices[reads[i].node].group;
        if (i && out->count - begun > WIDEST) {
            text_printf(out, " and %d more", count - i);
            break;
        }
        text_printf(out, "%s%s", i ? ", " : "", x->d->graph->nodes[reads[i].node].func->name);
        if (from >= 0)
            text_printf(out, " (%d)", x->number[from]);
        text_printf(out, " %s", explain_bytes(out->arena, reads[i].bytes));
    }
    text_add(out, count ? "\n    |\n    v\n" : "");
}

/*  +- 1 out ------ 2.31 ms -+
    | for y in pieces of 600 |
    +------------------------+  */
static void print_box(Text *out, const Explained *x, int group)
{
    const char **lines;
    const int    count = explain_nest(x, group, out->arena, &lines);
    const char  *title = arena_printf(out->arena, "+- %d %s ", x->number[group],
                                      x->d->graph->nodes[x->d->groups[group].head].func->name);
    const char  *time  = arena_printf(out->arena, " %s -+", explain_time(out->arena, x->costs[group].ns));
    int          width = length_of(title) + length_of(time) - 1;
    for (int i = 0; i < count; i++)
        width = length_of(lines[i]) + 4 > width ? length_of(lines[i]) + 4 : width;
    text_add(out, title);
    print_line(out, '-', width - length_of(title) - length_of(time));
    text_printf(out, "%s\n", time);
    for (int i = 0; i < count; i++)
        text_printf(out, "| %-*s |\n", width - 4, lines[i]);
    text_add(out, "+");
    print_line(out, '-', width - 2);
    text_add(out, "+\n\n");
}

/* ---- The table --------------------------------------------------------------------------- */

static void print_cells(Text *out, const char *const cells[EXPLAIN_COLUMNS], const int *width)
{
    for (int c = 0; c < EXPLAIN_COLUMNS; c++) {
        text_add(out, c ? "  " : "");
        if (c == EXPLAIN_COLUMNS - 1)
            text_add(out, cells[c]);
        else
            text_printf(out, explain_is_words(c) ? "%-*s" : "%*s", width[c], cells[c]);
    }
    text_add(out, "\n");
}

static void print_table(Text *out, const Explained *x)
{
    const int rows                        = x->d->group_count;
    const char *(*cells)[EXPLAIN_COLUMNS] = arena_array(out->arena, (size_t)rows + 1, sizeof *cells);
    int width[EXPLAIN_COLUMNS];
    for (int i = 0; i < rows; i++)
        explain_row(x, x->order[i], out->arena, cells[i]);
    for (int c = 0; c < EXPLAIN_COLUMNS; c++) {
        width[c] = length_of(explain_titles[c]);
        for (int i = 0; i < rows; i++)
            width[c] = length_of(cells[i][c]) > width[c] ? length_of(cells[i][c]) : width[c];
    }
    print_cells(out, explain_titles, width);
    for (int i = 0; i < rows; i++)
        print_cells(out, cells[i], width);
}

static void print_refused(Text *out, const Explained *x)
{
    text_add(out, "\nRefused, and by which rule:\n");
    for (int i = 0; i < x->d->group_count; i++)
        text_printf(out, "  %d %s\n", i + 1, explain_refused(x, x->order[i], out->arena));
}

static void print_rules(Text *out, const Explained *x)
{
    bool any = false;
    for (RuleId id = 0; id < RULE_IDS; id++) {
        const char *line = explain_rule(x, id, out->arena);
        if (line)
            text_printf(out, "%s  %s\n", any ? "" : "\nRules:\n", line);
        any |= line != NULL;
    }
}

/* A row per candidate: its times on the plausible machines, and its regret. */
static void print_candidates(Text *out, const Explained *x)
{
    text_add(out, "\nThe schedulers that were asked, and their times on plausible machines:\n              ");
    for (int k = 0; k < PLAUSIBLE_COUNT; k++)
        text_printf(out, "  %15s", plausible_names[k]);
    text_add(out, "  regret  groups\n");
    for (int i = 0; i < x->all_count; i++) {
        const Candidate *c = &x->all[i];
        text_printf(out, "  %-12s", c->scheduler->name);
        for (int k = 0; k < PLAUSIBLE_COUNT; k++)
            text_printf(out, "  %15s", explain_time(out->arena, c->likely_ns[k]));
        text_printf(out, "  %6.2f  %6d%s%s\n", c->regret, c->draft.group_count, i ? "" : "   <- ",
                    i ? "" : explain_taken(x, out->arena));
    }
}

void explain_text(Text *out, const Explained *x)
{
    text_printf(out, "By %s: %s predicted, %d group%s of %d functions, %d core%s.\n%s\n\n", x->scheduler->name,
                explain_time(out->arena, x->ns), x->d->group_count, x->d->group_count == 1 ? "" : "s", x->functions,
                x->m->cores, x->m->cores == 1 ? "" : "s", explain_machine(x, out->arena));
    for (int i = 0; i < x->d->group_count; i++) {
        print_reads(out, x, x->order[i]);
        print_box(out, x, x->order[i]);
    }
    print_table(out, x);
    print_refused(out, x);
    print_rules(out, x);
    if (x->all)
        print_candidates(out, x);
}
