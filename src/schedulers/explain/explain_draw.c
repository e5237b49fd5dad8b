/* SPDX-License-Identifier: MIT */
/* The drawing of an explanation's page as SVG: boxes for inputs and groups, and an edge for each that a group reads.
 *
 * A box is darker the more of the time its group takes. Edges that leave one box share a colour, so that a long one
 * can be followed. Arrows end just above what they point to. */
#include "schedulers/explain/explain.h"
#include "schedulers/explain/explain_layout.h"

enum {
    LINE         = 16,
    INSIDE       = 10 /* from the border to the text */,
    BASELINE     = 12,
    ARROW        = 8,
    ARROW_HALF   = 4,
    MOST_ROWS    = 48,
    MOST_LETTERS = 64,
    MOST_BOXES   = 200 /* more show nothing, and take long */,
    HUE_STEP     = 137 /* degrees, the golden angle: hues of neighbours are far apart */
};
/* The width of a letter of 12px monospace: 0.6 em, and a little more in some fonts. */
static const double letter = 7.25;

/* A box: a group, or an input. */
typedef struct Shape {
    int         group, node; /* one of the two is -1 */
    const char *title, **lines;
    int         count;
} Shape;

typedef struct Drawing {
    const Explained *x;
    Arena           *arena;
    Shape           *shapes;
    int             *of_group, *of_node;
    VEC(LayoutEdge) edges;
    VEC(double) bytes; /* by edge: bytes read */
    Layout layout;     /* its nodes are the shapes */
} Drawing;

/* ---- Boxes ------------------------------------------------------------------------------- */

static const char *cut_line(Arena *arena, const char *line)
{
    return strlen(line) > MOST_LETTERS ? arena_printf(arena, "%.*s...", MOST_LETTERS - 3, line) : line;
}

static const char *title_of(const Drawing *dr, int group, int node)
{
    const Graph *g = dr->x->d->graph;
    if (group < 0)
        return g->nodes[node].func->name;
    return arena_printf(dr->arena, "%d %s, %s", dr->x->number[group], g->nodes[dr->x->d->groups[group].head].func->name,
                        explain_time(dr->arena, dr->x->costs[group].ns));
}

/* The lines of a group. The last one says how many were left out. */
static void fill_lines(const Drawing *dr, Shape *s)
{
    s->count = explain_nest(dr->x, s->group, dr->arena, &s->lines);
    if (s->count > MOST_ROWS) {
        s->lines[MOST_ROWS - 1] = arena_printf(dr->arena, "... and %d lines more", s->count - MOST_ROWS + 1);
        s->count                = MOST_ROWS;
    }
    for (int i = 0; i < s->count; i++)
        s->lines[i] = cut_line(dr->arena, s->lines[i]);
}

static int add_shape(Drawing *dr, int group, int node)
{
    const int at = dr->layout.node_count++;
    Shape    *s  = &dr->shapes[at];
    *s           = (Shape){ .group = group, .node = node, .title = cut_line(dr->arena, title_of(dr, group, node)) };
    size_t most  = strlen(s->title);
    if (group >= 0)
        fill_lines(dr, s);
    for (int i = 0; i < s->count; i++)
        most = strlen(s->lines[i]) > most ? strlen(s->lines[i]) : most;
    dr->layout.nodes[at] = (LayoutNode){ .width  = (int)((double)most * letter) + 1 + 2 * INSIDE,
                                         .height = (s->count + 1) * LINE + 2 * INSIDE };
    return at;
}

static void add_edges(Drawing *dr, int group)
{
    GroupRead *reads;
    const int  count = explain_reads(dr->x, group, dr->arena, &reads);
    for (int k = 0; k < count; k++) {
        const int        from = dr->x->d->choices[reads[k].node].group;
        const LayoutEdge edge = { .from = from >= 0 ? dr->of_group[from] : dr->of_node[reads[k].node],
                                  .to   = dr->of_group[group] };
        vec_push(dr->arena, &dr->edges, edge);
        vec_push(dr->arena, &dr->bytes, reads[k].bytes);
    }
}

/* Inputs, then groups in the order of computing. */
static void make_shapes(Drawing *dr)
{
    const Draft *d = dr->x->d;
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->graph->nodes[s].kind == NODE_INPUT)
            dr->of_node[s] = add_shape(dr, -1, s);
    for (int i = 0; i < d->group_count; i++)
        dr->of_group[dr->x->order[i]] = add_shape(dr, dr->x->order[i], -1);
    for (int i = 0; i < d->group_count; i++)
        add_edges(dr, dr->x->order[i]);
    dr->layout.edges      = dr->edges.at;
    dr->layout.edge_count = (int)dr->edges.count;
}

static void draw_box(Text *out, const Drawing *dr, int at)
{
    const Shape      *s     = &dr->shapes[at];
    const LayoutNode *n     = &dr->layout.nodes[at];
    const double      share = s->group >= 0 && dr->x->ns > 0 ? dr->x->costs[s->group].ns / dr->x->ns : 0;
    text_printf(out,
                "<g class=\"box\" id=\"box%d\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\" "
                "fill=\"hsl(%d,60%%,%d%%)\" stroke=\"#556\"/>\n",
                at, n->x, n->y, n->width, n->height, s->group < 0 ? 210 : 35,
                s->group < 0 ? 92 : 97 - (int)(35 * share));
    for (int i = -1; i < s->count; i++) {
        text_printf(out, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\"%s>", n->x + INSIDE,
                    n->y + INSIDE + LINE * (i + 1) + BASELINE, i < 0 ? " font-weight=\"bold\"" : "");
        explain_escape(out, i < 0 ? s->title : s->lines[i]);
        text_add(out, "</text>\n");
    }
    text_add(out, "</g>\n");
}

/* ---- Edges ------------------------------------------------------------------------------- */

static void draw_edge(Text *out, const Drawing *dr, int at)
{
    const LayoutEdge *e   = &dr->layout.edges[at];
    const LayoutStop *end = &e->stops[e->count - 1];
    text_printf(out, "<g class=\"edge\" data-from=\"box%d\" data-to=\"box%d\" style=\"--hue:%d\"><title>", e->from,
                e->to, e->from * HUE_STEP % 360);
    explain_escape(out, dr->shapes[e->from].title);
    text_printf(out, ": %s</title><path class=\"line\" d=\"M%d %dV%d", explain_bytes(dr->arena, dr->bytes.at[at]),
                e->stops[0].x, e->stops[0].top, e->stops[0].bottom);
    for (int i = 1; i < e->count; i++) {
        const LayoutStop *a = &e->stops[i - 1], *b = &e->stops[i];
        const int         y = i == e->count - 1 ? b->top - ARROW : b->top, half = (a->bottom + y) / 2;
        text_printf(out, "C%d %d %d %d %d %d", a->x, half, b->x, half, b->x, y);
        if (i < e->count - 1)
            text_printf(out, "V%d", b->bottom);
    }
    text_printf(out, "\"/><path class=\"head\" d=\"M%d %dh%dl%d %dz\"/></g>\n", end->x - ARROW_HALF, end->top - ARROW,
                2 * ARROW_HALF, -ARROW_HALF, ARROW);
}

void explain_draw(Text *out, const Explained *x)
{
    const size_t n  = (size_t)x->d->graph->node_count + 1;
    Drawing      dr = { .x = x, .arena = out->arena };
    dr.shapes       = ARENA_ARRAY(out->arena, Shape, 2 * n);
    dr.of_group     = ARENA_ARRAY(out->arena, int, n);
    dr.of_node      = ARENA_ARRAY(out->arena, int, n);
    dr.layout.nodes = ARENA_ARRAY(out->arena, LayoutNode, 2 * n);
    make_shapes(&dr);
    if (dr.layout.node_count > MOST_BOXES) {
        text_printf(out, "<p>There are too many groups for a drawing: %d.</p>\n", x->d->group_count);
        return;
    }
    layout_make(&dr.layout, out->arena);
    text_printf(out, "<div class=\"wide\">\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n",
                dr.layout.width, dr.layout.height);
    for (int i = 0; i < dr.layout.node_count; i++)
        draw_box(out, &dr, i);
    for (int i = 0; i < dr.layout.edge_count; i++)
        draw_edge(out, &dr, i);
    text_add(out, "</svg>\n</div>\n");
}
