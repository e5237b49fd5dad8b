/* SPDX-License-Identifier: MIT */
/* An explanation as one page: the groups as a drawing (explain_draw.c), the table, the schedule. No scripts, no other
 * files.
 *
 * What is wider than the page (a drawing, a table, the schedule) scrolls inside it. */
#include "schedulers/explain/explain.h"

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:90em;padding:0 1.5em}"
    "body{color:#222;background:#fff}h1,p{overflow-wrap:anywhere}.wide{overflow-x:auto;margin:1em 0}"
    "table{border-collapse:collapse}td,th{padding:.3em .8em;border-bottom:1px solid #ddd}"
    "td,th{text-align:right;vertical-align:top;white-space:nowrap}"
    "td.words,th.words,td.long,th.long{text-align:left}td.long{white-space:normal;min-width:22em}"
    "td:first-child{white-space:normal;overflow-wrap:anywhere;min-width:9em}"
    "pre{background:#f5f5f2;padding:1em;overflow-x:auto}svg{display:block}svg text{font:12px ui-monospace,monospace}"
    ".edge .line{fill:none;stroke:hsl(var(--hue),45%,45%);stroke-width:1.5}.edge:hover .line{stroke-width:4}"
    ".edge .head{fill:hsl(var(--hue),45%,45%)}";

void explain_escape(Text *out, const char *s)
{
    for (; *s; s++)
        switch (*s) {
        case '<': text_add(out, "&lt;"); break;
        case '>': text_add(out, "&gt;"); break;
        case '&': text_add(out, "&amp;"); break;
        case '"': text_add(out, "&quot;"); break;
        default: text_add_n(out, s, 1);
        }
}

/* The class of a column: words to the left, a sentence that may wrap, numbers to the right. */
static const char *class_of(int column)
{
    return column == EXPLAIN_COLUMNS ? " class=\"long\"" : explain_is_words(column) ? " class=\"words\"" : "";
}

static void add_cells(Text *out, const char *const *cells, int count, const char *tag)
{
    text_add(out, "<tr>");
    for (int c = 0; c < count; c++) {
        text_printf(out, "<%s%s>", tag, class_of(c));
        explain_escape(out, cells[c]);
        text_printf(out, "</%s>", tag);
    }
    text_add(out, "</tr>\n");
}

static void add_table(Text *out, const Explained *x)
{
    const char *cells[EXPLAIN_COLUMNS + 1];
    memcpy(cells, explain_titles, sizeof explain_titles);
    cells[EXPLAIN_COLUMNS] = "refused, and by which rule";
    text_add(out, "<h2>The groups</h2>\n<div class=\"wide\"><table>\n");
    add_cells(out, cells, EXPLAIN_COLUMNS + 1, "th");
    for (int i = 0; i < x->d->group_count; i++) {
        explain_row(x, x->order[i], out->arena, cells);
        cells[EXPLAIN_COLUMNS] = explain_refused(x, x->order[i], out->arena);
        add_cells(out, cells, EXPLAIN_COLUMNS + 1, "td");
    }
    text_add(out, "</table></div>\n");
}

static void add_rules(Text *out, const Explained *x)
{
    bool any = false;
    for (RuleId id = 0; id < RULE_IDS; id++) {
        const char *line = explain_rule(x, id, out->arena);
        if (!line)
            continue;
        text_add(out, any ? "<br>\n" : "<h2>The rules</h2>\n<p>");
        explain_escape(out, line);
        any = true;
    }
    text_add(out, any ? "</p>\n" : "");
}

static void add_candidates(Text *out, const Explained *x)
{
    text_add(out, "<h2>The schedulers that were asked</h2>\n<p>With their predicted times on plausible machines; the "
                  "regret is the largest ratio to the best of a column.</p>\n<div class=\"wide\"><table>\n"
                  "<tr><th class=\"words\">scheduler</th>");
    for (int k = 0; k < PLAUSIBLE_COUNT; k++)
        text_printf(out, "<th>%s</th>", plausible_names[k]);
    text_add(out, "<th>regret</th><th>groups</th><th></th></tr>\n");
    for (int i = 0; i < x->all_count; i++) {
        const Candidate *c = &x->all[i];
        text_printf(out, "<tr><td class=\"words\">%s</td>", c->scheduler->name);
        for (int k = 0; k < PLAUSIBLE_COUNT; k++)
            text_printf(out, "<td>%s</td>", explain_time(out->arena, c->likely_ns[k]));
        text_printf(out, "<td>%.2f</td><td>%d</td><td class=\"words\">%s</td></tr>\n", c->regret, c->draft.group_count,
                    i ? "" : explain_taken(x, out->arena));
    }
    text_add(out, "</table></div>\n");
}

void explain_page_begin(Text *out, const char *name)
{
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>");
    explain_escape(out, name);
    text_printf(out, "</title>\n<style>%s</style>\n<h1>", style);
    explain_escape(out, name);
    text_add(out, "</h1>\n");
}

void explain_page_end(Text *out, const char *schedule)
{
    text_add(out, "<h2>The schedule</h2>\n<pre>");
    explain_escape(out, schedule);
    text_add(out, "</pre>\n</html>\n");
}

void explain_html(Text *out, const Explained *x, const char *schedule)
{
    explain_page_begin(out, x->d->graph->pipeline->name);
    text_printf(out, "<p>By %s: %s predicted, %d group%s of %d functions, %d core%s. %s</p>\n", x->scheduler->name,
                explain_time(out->arena, x->ns), x->d->group_count, x->d->group_count == 1 ? "" : "s", x->functions,
                x->m->cores, x->m->cores == 1 ? "" : "s", explain_machine(x, out->arena));
    text_add(out, "<p>A box is a group with its loops, the darker the more of the time it takes; a line goes to each "
                  "that reads it.</p>\n");
    explain_draw(out, x);
    add_table(out, x);
    add_rules(out, x);
    if (x->all)
        add_candidates(out, x);
    explain_page_end(out, schedule);
}
