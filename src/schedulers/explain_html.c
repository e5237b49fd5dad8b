/* An explanation as one page: the groups as a drawing, the table, the schedule. No scripts, no files beside it.
 *
 * The drawing has a layer for inputs and one for each depth of groups: a group lies below all that it reads. Boxes of a layer stand side by side in the order that they are computed; a
 * box is the darker the more of the time it takes. */
#include "schedulers/explain.h"

enum { LETTER = 7, LINE = 15, MARGIN = 10, GAP_X = 30, GAP_Y = 60, MOST_ROWS = 24 };

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;color:#222;background:#fff}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}"
    "td:first-child,th:first-child,td:nth-child(3),td:last-child,th:last-child{text-align:left}"
    "pre{background:#f5f5f2;padding:1em;overflow:auto}svg text{font:12px ui-monospace,monospace}svg{max-width:100%;height:auto}";

/* A box of the drawing: a group, or an input. */
typedef struct Shape {
    int          group, stage;          /* the one or the other is -1 */
    int          layer, x, y, width, height;
    const char **lines;
    int          count;
} Shape;

typedef struct Drawing {
    const Explained *x;
    Arena           *arena;
    Shape           *at;
    int              count, width, height;
    int             *of_group, *of_stage;
} Drawing;

static void add_escaped(Text *out, const char *s)
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

/* ---- Where things are -------------------------------------------------------------------- */

static const char *title_of(const Drawing *dr, const Shape *s)
{
    const Draft *d = dr->x->d;
    if (s->group < 0)
        return arena_printf(dr->arena, "%s", d->graph->stages[s->stage].func->name);
    return arena_printf(dr->arena, "%d %s, %s", dr->x->number[s->group], d->graph->stages[d->groups[s->group].head].func->name, explain_time(dr->arena, dr->x->costs[s->group].ns));
}

static Shape *add_shape(Drawing *dr, int group, int stage)
{
    Shape *s = &dr->at[dr->count++];
    *s       = (Shape){ .group = group, .stage = stage };
    if (group >= 0)
        s->count = explain_nest(dr->x, group, dr->arena, &s->lines);
    s->count  = s->count < MOST_ROWS ? s->count : MOST_ROWS;
    s->width  = (int)strlen(title_of(dr, s));
    for (int i = 0; i < s->count; i++)
        s->width = (int)strlen(s->lines[i]) > s->width ? (int)strlen(s->lines[i]) : s->width;
    s->width  = s->width * LETTER + 2 * MARGIN;
    s->height = (s->count + 1) * LINE + 2 * MARGIN;
    return s;
}

/* Inputs and groups, producers first, each a layer below what it reads. */
static void make_shapes(Drawing *dr)
{
    const Draft *d = dr->x->d;
    for (int s = 0; s < d->graph->stage_count; s++)
        if (d->graph->stages[s].kind == STAGE_INPUT) {
            dr->of_stage[s] = dr->count;
            add_shape(dr, -1, s);
        }
    for (int i = 0; i < d->group_count; i++) {
        const int  group    = dr->x->order[i];
        GroupRead *reads;
        const int  count    = explain_reads(dr->x, group, dr->arena, &reads);
        Shape     *shape    = add_shape(dr, group, -1);
        shape->layer        = 1;
        dr->of_group[group] = dr->count - 1;
        for (int k = 0; k < count; k++) {
            const int from = d->choices[reads[k].stage].group;
            if (from >= 0 && dr->at[dr->of_group[from]].layer >= shape->layer)
                shape->layer = dr->at[dr->of_group[from]].layer + 1;
        }
    }
}

static void place_shapes(Drawing *dr)
{
    int last = 0;
    for (int i = 0; i < dr->count; i++)
        last = dr->at[i].layer > last ? dr->at[i].layer : last;
    for (int layer = 0, y = MARGIN; layer <= last; layer++) {
        int x = MARGIN, height = 0;
        for (int i = 0; i < dr->count; i++) {
            Shape *s = &dr->at[i];
            if (s->layer != layer)
                continue;
            s->x = x;
            s->y = y;
            x += s->width + GAP_X;
            height = s->height > height ? s->height : height;
        }
        dr->width  = x > dr->width ? x : dr->width;
        dr->height = y + height + MARGIN;
        y += height ? height + GAP_Y : 0;
    }
}

/* ---- The drawing ------------------------------------------------------------------------- */

static void draw_arrows(Text *out, const Drawing *dr, const Shape *to)
{
    GroupRead *reads;
    const int  count = explain_reads(dr->x, to->group, dr->arena, &reads);
    for (int k = 0; k < count; k++) {
        const int    group = dr->x->d->choices[reads[k].stage].group;
        const Shape *from  = &dr->at[group >= 0 ? dr->of_group[group] : dr->of_stage[reads[k].stage]];
        const int    x0 = from->x + from->width / 2, y0 = from->y + from->height, x1 = to->x + to->width * (k + 1) / (count + 1), y1 = to->y;
        text_printf(out, "<path d=\"M%d %dC%d %d %d %d %d %d\" fill=\"none\" stroke=\"#667\" marker-end=\"url(#a)\"><title>", x0, y0, x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
        add_escaped(out, dr->x->d->graph->stages[reads[k].stage].func->name);
        text_printf(out, ", %s</title></path>\n", explain_bytes(dr->arena, reads[k].bytes));
    }
}

static void draw_shape(Text *out, const Drawing *dr, const Shape *s)
{
    const double share = s->group >= 0 && dr->x->ns > 0 ? dr->x->costs[s->group].ns / dr->x->ns : 0;
    const int    light = 97 - (int)(35 * share);
    text_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\" fill=\"hsl(%d,60%%,%d%%)\" stroke=\"#556\"/>\n", s->x, s->y, s->width, s->height,
                s->group < 0 ? 210 : 35, light);
    for (int i = -1; i < s->count; i++) {
        text_printf(out, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\"%s>", s->x + MARGIN, s->y + MARGIN + LINE * (i + 2) - 4, i < 0 ? " font-weight=\"bold\"" : "");
        add_escaped(out, i < 0 ? title_of(dr, s) : s->lines[i]);
        text_add(out, "</text>\n");
    }
}

static void draw(Text *out, const Explained *x)
{
    const size_t n  = (size_t)x->d->graph->stage_count + 1;
    Drawing      dr = { .x = x, .arena = out->arena, .at = ARENA_ARRAY(out->arena, Shape, 2 * n), .of_group = ARENA_ARRAY(out->arena, int, n), .of_stage = ARENA_ARRAY(out->arena, int, n) };
    make_shapes(&dr);
    place_shapes(&dr);
    text_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
                     "<marker id=\"a\" markerWidth=\"9\" markerHeight=\"9\" refX=\"8\" refY=\"4\" orient=\"auto\"><path d=\"M0 0L9 4L0 8z\" fill=\"#667\"/></marker>\n",
                dr.width, dr.height, dr.width, dr.height);
    for (int i = 0; i < dr.count; i++)
        if (dr.at[i].group >= 0)
            draw_arrows(out, &dr, &dr.at[i]);
    for (int i = 0; i < dr.count; i++)
        draw_shape(out, &dr, &dr.at[i]);
    text_add(out, "</svg>\n");
}

/* ---- The page ---------------------------------------------------------------------------- */

static void add_cells(Text *out, const char *const *cells, int count, const char *tag)
{
    text_add(out, "<tr>");
    for (int c = 0; c < count; c++) {
        text_printf(out, "<%s>", tag);
        add_escaped(out, cells[c]);
        text_printf(out, "</%s>", tag);
    }
    text_add(out, "</tr>\n");
}

static void add_table(Text *out, const Explained *x)
{
    const char *cells[EXPLAIN_COLUMNS + 1];
    memcpy(cells, explain_titles, sizeof explain_titles);
    cells[EXPLAIN_COLUMNS] = "the best that was refused";
    text_add(out, "<table>\n");
    add_cells(out, cells, EXPLAIN_COLUMNS + 1, "th");
    for (int i = 0; i < x->d->group_count; i++) {
        const char *why = explain_refused(x, x->order[i], out->arena);
        explain_row(x, x->order[i], out->arena, cells);
        cells[EXPLAIN_COLUMNS] = why ? why : "";
        add_cells(out, cells, EXPLAIN_COLUMNS + 1, "td");
    }
    text_add(out, "</table>\n");
}

static void add_candidates(Text *out, const Explained *x)
{
    text_add(out, "<h2>The schedulers that were asked</h2>\n<table>\n<tr><th>scheduler</th><th>predicted</th><th>groups</th></tr>\n");
    for (int i = 0; i < x->all_count; i++)
        text_printf(out, "<tr><td>%s</td><td>%s</td><td>%d</td></tr>\n", x->all[i].scheduler->name, explain_time(out->arena, x->all[i].ns), x->all[i].draft.group_count);
    text_add(out, "</table>\n");
}

void explain_html(Text *out, const Explained *x, const char *schedule)
{
    const char *name = x->d->graph->pipeline->name;
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>");
    add_escaped(out, name);
    text_printf(out, "</title>\n<style>%s</style>\n<h1>", style);
    add_escaped(out, name);
    text_printf(out, "</h1>\n<p>By %s: %s predicted, %d groups of %d functions, %d cores.</p>\n", x->scheduler, explain_time(out->arena, x->ns), x->d->group_count,
                x->functions, x->m->cores);
    draw(out, x);
    add_table(out, x);
    if (x->all)
        add_candidates(out, x);
    text_add(out, "<h2>The schedule</h2>\n<pre>");
    add_escaped(out, schedule);
    text_add(out, "</pre>\n</html>\n");
}
