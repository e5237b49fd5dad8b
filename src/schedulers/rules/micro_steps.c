/* SPDX-License-Identifier: MIT */
/* Sums over displacements: nodes that belong to one step are computed inside it.
 *
 * Takes   reductions that read nodes at their own steps, as acc(x, y) = sum(w(x, y, dx, dy) * …). For all steps at
 *         once w would be a stack of images.
 * Gives   for a tile of the head, the loops over steps outside those over points. Inside a step are the nodes that
 *         nothing else reads (`stepped`). One that is read through a window is stored for the tile, each point once;
 *         one that is read at its reader's own points as a row, in registers. A sum that is read at its reader's own
 *         points is computed next to that reader's vector.
 * Tiles   are wide and high enough that the halos of windows are small, if there are any; else they are one vector. */
#include "schedulers/rules/micro_kernels.h"

typedef struct Steps {
    Draft    *d;
    int       sum, head, update;
    uint32_t *dims;     /* by node: its dimensions that depend on the steps; 0: it is not stepped */
    bool     *windowed; /* by node: several of its points are read for one of a reader */
    bool     *stored;   /* by node: it is stepped, and not inlined */
    bool      any_window, no_windows;
    int64_t   lanes; /* of the tile */
} Steps;

/* ---- Which nodes ----------------------------------------------------------------------- */

/* Is the reader inside the steps: the sum itself, or a stepped node? */
static bool is_reader(const Steps *p, int consumer, int update)
{
    return consumer == p->sum ? update == p->update : consumer >= 0 && p->dims[consumer];
}

static uint32_t movers_of(const Steps *p, const Edge *e, int k)
{
    const Graph *g = p->d->graph;
    return def_movers(g->pipeline, g->nodes[e->consumer].func, e->update, g->nodes[e->producer].func, k);
}

static void meet_edge(Steps *p, const Edge *e)
{
    const GraphNode *node = &p->d->graph->nodes[e->producer];
    for (int k = 0; k < node->rank; k++) {
        const uint32_t by = movers_of(p, e, k), free = (1u << KN_MAX_RANK) - 1;
        const bool     at_step = e->consumer == p->sum
                                     ? !(by & free) && by && !(by & (by - 1)) && !(by & MOVED_BY_DATA)
                                     : e->access[k].var >= 0 && p->dims[e->consumer] & 1u << e->access[k].var;
        if (at_step)
            p->dims[e->producer] |= 1u << k;
        else
            p->windowed[e->producer] |= (by & free) && ((by & ~free) || e->access[k].lo != e->access[k].hi);
    }
    p->windowed[e->producer] |= e->consumer != p->sum && !p->stored[e->consumer] && p->windowed[e->consumer];
}

/* Operations at a point, with inlined nodes and with sums that can be next to it in registers. */
static double inlined_ops(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    double           ops  = 0;
    for (int k = 0; k < node->def_count; k++)
        ops += node->defs[k].ops * node->defs[k].steps;
    for (int i = 0; i < node->in_count; i++)
        if (d->choices[node->in[i]->producer].where == WHERE_INLINE)
            ops += node->in[i]->accesses * inlined_ops(d, node->in[i]->producer);
        else
            ops += node->in[i]->pointwise && d->graph->nodes[node->in[i]->producer].kind == NODE_REDUCTION;
    return ops;
}

/* Is it inlined but read through a window? Then it would be recomputed for each tap. */
static bool is_best_stored(const Steps *p, int s)
{
    return p->dims[s] &&
           (p->d->choices[s].where != WHERE_INLINE || (p->windowed[s] && inlined_ops(p->d, s) >= STEP_TRIVIAL_OPS));
}

/* Are others computed inside its loops? They would have no place inside a step. */
static bool leads_others(const Draft *d, int s)
{
    bool any = false;
    for (int i = 0; i < s && d->choices[s].where == WHERE_ROOT; i++)
        any |= d->choices[i].where == WHERE_INSIDE && d->choices[i].group == d->choices[s].group;
    return any;
}

/* Is it read at single steps, by the sum and other stepped nodes only? Then it is stepped. */
static void meet_node(Steps *p, int s)
{
    const Draft     *d    = p->d;
    const GraphNode *node = &d->graph->nodes[s];
    if (!is_defined(node) || node->is_output || !node->rank ||
        (node->kind != NODE_PURE && node->kind != NODE_REDUCTION) || leads_others(d, s))
        return;
    for (size_t i = 0; i < d->facts[s].readers.count; i++) {
        const TextReader *r = &d->facts[s].readers.at[i];
        if (!is_reader(p, d->graph->of_func[r->func->id], r->update))
            return;
    }
    for (int i = 0; i < node->out_count; i++)
        meet_edge(p, node->out[i]);
    if ((p->no_windows && p->windowed[s]) ||
        p->dims[s] == (1u << node->rank) - 1) /* a table over the steps alone serves all points */
        p->dims[s] = 0;
    p->stored[s] = is_best_stored(p, s);
}

/* Are tiles large enough for the windows: is no stepped node recomputed much? */
static bool windows_fit(const Steps *p, Arena *scratch)
{
    const Graph     *g     = p->d->graph;
    const size_t     n     = (size_t)g->node_count;
    bool            *given = ARENA_ARRAY(scratch, bool, n), *member = ARENA_ARRAY(scratch, bool, n);
    Box             *boxes    = ARENA_ARRAY(scratch, Box, n);
    const GraphNode *head     = &g->nodes[p->head];
    Box              piece    = head->box;
    const int        sizes[2] = { (int)p->lanes, STEP_TILE_HIGH };
    for (int k = 0; k < 2 && k < head->rank; k++) {
        const int64_t extent = node_extent(head, k), middle = piece.min[k] + extent / 2;
        if (extent > sizes[k]) {
            piece.min[k] = middle;
            piece.max[k] = middle + sizes[k] - 1;
        }
    }
    for (int s = 0; s <= p->head; s++) {
        const bool stepped = s < p->sum && p->dims[s], inlined = p->d->choices[s].where == WHERE_INLINE && s < p->head;
        member[s] = s == p->sum || stepped || inlined;
    }
    given[p->head] = true;
    boxes[p->head] = piece;
    graph_regions(g, given, member, boxes);
    const double pieces = (double)box_points(&head->box, head->rank) / (double)box_points(&piece, head->rank);
    for (int s = 0; s < p->sum; s++)
        if (p->stored[s] && (double)box_points(&boxes[s], g->nodes[s].rank) * pieces >
                                STEP_MOST_AGAIN * (double)box_points(&g->nodes[s].box, g->nodes[s].rank))
            return false;
    return true;
}

static void choose_stored(Steps *p)
{
    Draft *d = p->d;
    for (int s = 0; s < p->sum; s++)
        if (p->stored[s])
            d->choices[s] = (Choice){ .where = WHERE_INSIDE, .group = d->choices[p->sum].group };
}

/* ---- Loops ------------------------------------------------------------------------------ */

/* [steps], rows, other dimensions, vectors along the first. *row: the loop over rows, or else the innermost one around
 * a row. */
static const MemberNest *sum_nest(const Steps *p, int *row)
{
    const GraphNode *node  = &p->d->graph->nodes[p->sum];
    const int        steps = node->func->updates[p->update].rvar_count;
    MemberNest       n     = { 0 };
    for (int i = 0; i < steps; i++)
        n.loops[n.count++] = (GroupLoop){ .dim = STEP_DIM + i, .step = 1 };
    if (node->rank > 1)
        n.loops[n.count++] = (GroupLoop){ .dim = 1, .step = 1 };
    *row = n.count - 1;
    for (int k = node->rank - 1; k >= 2; k--)
        n.loops[n.count++] = (GroupLoop){ .dim = k, .step = 1 };
    n.loops[n.count++] = (GroupLoop){ .dim = 0, .step = p->lanes, .vector = true };
    return draft_nest(p->d, &n);
}

/* Splits the head into tiles of HIGH rows and p->lanes columns; inside them rows and all other loops. */
static void cut_pieces(const Steps *p)
{
    const GraphNode *node = &p->d->graph->nodes[p->head];
    Group           *gr   = &p->d->groups[p->d->choices[p->head].group];
    gr->loop_count        = 0;
    if (node->rank > 1)
        gr->loops[gr->loop_count++] = (GroupLoop){ .dim = 1, .step = STEP_TILE_HIGH, .parallel = true };
    const int piece             = gr->loop_count;
    gr->loops[gr->loop_count++] = (GroupLoop){ .dim = 0, .step = p->lanes, .vector = true };
    for (int k = 1; k < node->rank; k++)
        gr->loops[gr->loop_count++] = (GroupLoop){ .dim = k, .step = 1 };
    for (int s = 0; s < p->d->graph->node_count; s++) {
        Choice *c = &p->d->choices[s];
        if (c->where == WHERE_INSIDE && c->group == p->d->choices[p->head].group && s != p->head)
            c->compute = c->store = piece;
    }
}

/* Moves the vector loop outside the loops over planes: what is computed for a vector serves all of them. Gives its
 * index. */
static int planes_inside(const Steps *p)
{
    Group *gr = &p->d->groups[p->d->choices[p->head].group];
    int    at = gr->loop_count - 1;
    while (at >= 0 && !gr->loops[at].vector)
        at--;
    if (at < 0)
        return gr->loop_count - 1;
    const GroupLoop vector = gr->loops[at];
    int             first  = at;
    while (first > 0 && gr->loops[first - 1].dim >= 2 && gr->loops[first - 1].step == 1 &&
           !gr->loops[first - 1].parallel)
        first--;
    memmove(&gr->loops[first + 1], &gr->loops[first], sizeof *gr->loops * (size_t)(at - first));
    gr->loops[first] = vector;
    for (int s = 0; first > 0 && at > first && s < p->d->graph->node_count; s++) {
        Choice    *c      = &p->d->choices[s];
        const bool member = c->where == WHERE_INSIDE && c->group == p->d->choices[p->head].group;
        if (member && c->compute >= first)
            c->compute = first - 1;
    }
    return first;
}

/* ---- Levels ----------------------------------------------------------------------------- */

static void place_stepped(const Steps *p, int s, int row)
{
    Draft     *d         = p->d;
    Choice    *c         = &d->choices[s];
    bool       own       = true;
    const int  last      = d->graph->nodes[p->sum].func->updates[p->update].rvar_count - 1;
    const int  reader    = final_reader(d, s, &own);
    const int  lanes     = p->windowed[s] ? draft_lanes(d, s) : (int)p->lanes;
    const bool at_reader = reader >= 0 && reader != p->sum && own;
    if (at_reader && d->graph->nodes[s].kind == NODE_REDUCTION && d->choices[reader].nest) {
        const MemberNest *n = d->choices[reader].nest;
        c->at               = reader + 1;
        c->compute = c->store = d->graph->nodes[reader].rank - 1;
        c->nest               = row_nest(d, s, n->loops[c->compute].step);
        return;
    }
    c->at      = p->sum + 1;
    c->compute = c->store = reader == p->sum && !p->windowed[s] ? row : last;
    c->nest               = row_nest(d, s, lanes);
}

static void make_steps(Steps *p)
{
    Draft    *d     = p->d;
    const int group = d->choices[p->head].group;
    int       row;
    d->choices[p->sum] = (Choice){ .where = WHERE_INSIDE, .group = group };
    choose_stored(p);
    Choice *c = &d->choices[p->sum];
    if (p->any_window)
        cut_pieces(p);
    c->compute = c->store = p->any_window ? (d->graph->nodes[p->head].rank > 1) : planes_inside(p);
    c->nest               = sum_nest(p, &row);
    for (int s = p->sum; s-- > 0;)
        if (p->stored[s])
            place_stepped(p, s, row);
}

static bool find_steps(Steps *p, int s)
{
    const Draft     *d    = p->d;
    const GraphNode *node = &d->graph->nodes[s];
    bool             own  = true;
    p->sum                = s;
    p->update             = draft_main(d, s);
    if (p->update < 0 || node->defs[p->update + 1].steps < STEP_LEAST_STEPS ||
        d->facts[s].defs[p->update + 1].bounding || d->choices[s].nest)
        return false;
    p->head = final_reader(d, s, &own);
    if (p->head < 0 || d->choices[p->head].where != WHERE_ROOT || d->graph->nodes[p->head].kind != NODE_PURE ||
        !d->groups[d->choices[p->head].group].loop_count || !draft_may_join(d, s, d->choices[p->head].group))
        return false;
    return true;
}

/* Finds the stepped nodes, and the width of a tile. */
static bool meet_nodes(Steps *p)
{
    const Draft *d     = p->d;
    const int    lanes = draft_lanes(d, p->sum);
    bool         any   = false;
    p->any_window      = false;
    for (int s = p->sum; s-- > 0;) {
        p->dims[s]     = 0;
        p->windowed[s] = p->stored[s] = false;
    }
    for (int s = p->sum; s-- > 0;)
        meet_node(p, s);
    for (int s = 0; s < p->sum; s++) {
        any |= p->stored[s];
        p->any_window |= p->stored[s] && p->windowed[s];
    }
    p->lanes = p->any_window ? (int64_t)lanes * STEP_TILE_WIDE : lanes;
    while (p->lanes > lanes && p->lanes > node_extent(&d->graph->nodes[p->sum], 0))
        p->lanes /= 2;
    return any;
}

bool step_producers_applies(const Draft *d, const Machine *m, int s)
{
    (void)m;
    const GraphNode *node = &d->graph->nodes[s];
    return node->kind == NODE_REDUCTION && !node->is_output && d->choices[s].where != WHERE_INLINE;
}

void step_producers_apply(Draft *d, const Machine *m, int s)
{
    (void)m;
    Arena scratch;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    const size_t n   = (size_t)d->graph->node_count;
    Steps        p   = { .d        = d,
                         .dims     = ARENA_ARRAY(&scratch, uint32_t, n),
                         .windowed = ARENA_ARRAY(&scratch, bool, n),
                         .stored   = ARENA_ARRAY(&scratch, bool, n) };
    bool         any = find_steps(&p, s) && meet_nodes(&p);
    if (any && p.any_window && !windows_fit(&p, &scratch)) {
        p.no_windows = true;
        any          = meet_nodes(&p);
    }
    if (any)
        make_steps(&p);
    scratch_end(&scratch);
}
