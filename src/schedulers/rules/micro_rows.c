/* SPDX-License-Identifier: MIT */
/* Unrolled rows, sums next to vectors, and aligned bounds.
 *
 * Rows    A head with cheap members that are read up and down only, at their reader's own x: nothing is stored.
 *         Several rows are computed at a time, unrolled inside the vector loop, and share what they have in common in
 *         registers. At the border of two such blocks the halo is computed twice.
 * Sums    A reduction is summed vector by vector, in registers. A member's sum is computed next to the vector that
 *         reads it, not for a whole row. Long sums whose steps have x-invariant work take four vectors at a time and
 *         share it.
 * Aligned A node that is upsampled by two begins at even places, so that a vector of it is made of whole vectors of
 *         what it reads. Only for whole rows: where a tile begins is not known at compile time. */
#include "schedulers/rules/micro_kernels.h"

static int rows_at_once(const Machine *m)
{
    return m->vector_bits >= 512 ? 8 : 4;
}

/* ---- Rows ------------------------------------------------------------------------------- */

typedef struct Stencil {
    int64_t span;     /* rows of the stencil, less one */
    double  ops;      /* at a point, with all that is inlined */
    bool    straight; /* members are read at the reader's own point, but for y */
} Stencil;

static bool is_shift(const AccessRange *r, int dim)
{
    return r->var == dim && r->num == 1 && r->den == 1;
}

/* Is a member read at its reader's own point, but for y? */
static bool is_straight(const Draft *d, const Edge *e)
{
    for (int k = 0; k < d->graph->nodes[e->producer].rank; k++)
        if (!is_shift(&e->access[k], k) || (k != 1 && (e->access[k].lo != 0 || e->access[k].hi != 0)))
            return false;
    return true;
}

static Stencil stencil_of(const Draft *d, int s, int depth)
{
    const GraphNode *node  = &d->graph->nodes[s];
    Stencil          whole = { 0, node->defs[0].ops + node->defs[0].loads, node->def_count == 1 && depth > 0 };
    for (int i = 0; i < node->in_count && whole.straight && whole.ops <= ROWS_MOST_OPS; i++) {
        const Edge        *e    = node->in[i];
        const Choice      *c    = &d->choices[e->producer];
        const AccessRange *rows = &e->access[1];
        int64_t            span = d->graph->nodes[e->producer].rank > 1 && is_shift(rows, 1) ? rows->hi - rows->lo : 0;
        if (c->where == WHERE_INLINE || c->where == WHERE_INSIDE) {
            const Stencil inner = stencil_of(d, e->producer, depth - 1);
            span += inner.span;
            whole.ops += e->accesses * inner.ops;
            whole.straight &=
                inner.straight && (c->where == WHERE_INLINE || (is_straight(d, e) && draft_may_inline(d, e->producer)));
        } else if (c->where == WHERE_DEFAULT) {
            whole.straight = false;
        }
        whole.span = span > whole.span ? span : whole.span;
    }
    return whole;
}

/* The innermost loop over rows of [..., y, ..., x in vectors]; -1: the loops are others. */
static int row_loop(const Group *gr)
{
    int row = -1;
    for (int i = 0; i + 1 < gr->loop_count; i++)
        row = gr->loops[i].dim == 1 ? i : row;
    const GroupLoop *last = &gr->loops[gr->loop_count > 0 ? gr->loop_count - 1 : 0];
    if (row < 0 || gr->loop_count >= MOST_GROUP_LOOPS || !last->vector || last->dim != 0)
        return -1;
    return gr->loops[row].step == 1 && !gr->loops[row].unroll ? row : -1;
}

bool row_block_applies(const Draft *d, const Machine *m, int group)
{
    const Group     *gr   = &d->groups[group];
    const GraphNode *node = &d->graph->nodes[gr->head];
    if (node->kind != NODE_PURE || node->rank < 2 || row_loop(gr) < 0 || node_extent(node, 1) < 4 * rows_at_once(m))
        return false;
    const Stencil found = stencil_of(d, gr->head, ROWS_MOST_DEPTH);
    return found.straight && found.span >= 1 && found.span <= ROWS_MOST_SPAN && found.ops <= ROWS_MOST_OPS;
}

/* Unrolls a few rows. Where rows are tasks, the blocks become the tasks. */
void row_block_apply(Draft *d, const Machine *m, int group)
{
    Group *gr                    = &d->groups[group];
    gr->loops[row_loop(gr)].step = rows_at_once(m);
    gr->loops[gr->loop_count++]  = (GroupLoop){ .dim = 1, .step = 1, .unroll = true };
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->choices[s].group == group && d->choices[s].where == WHERE_INSIDE)
            d->choices[s] = (Choice){ .where = WHERE_INLINE, .group = group };
}

/* ---- Windows ---------------------------------------------------------------------------- */

/* Does node s read several rows of a window that slides along loop `row` of the head, directly or through what is
 * inlined into it? `several`: its reader asks for several rows of s. */
static bool reads_window(const Draft *d, int s, int row, bool several)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->in_count; i++) {
        const Edge   *e = node->in[i];
        const Choice *c = &d->choices[e->producer];
        if (d->graph->nodes[e->producer].rank < 2 || !is_shift(&e->access[1], 1))
            continue;
        const bool rows = several || e->access[1].hi > e->access[1].lo;
        if (c->where == WHERE_INLINE
                ? reads_window(d, e->producer, row, rows)
                : rows && c->where == WHERE_INSIDE && !c->at && c->compute == row && c->store < row)
            return true;
    }
    return false;
}

bool row_window_applies(const Draft *d, const Machine *m, int group)
{
    (void)m;
    const Group     *gr   = &d->groups[group];
    const GraphNode *node = &d->graph->nodes[gr->head];
    const int        row  = node->kind == NODE_PURE && node->rank > 1 ? row_loop(gr) : -1;
    return row > 0 && node_extent(node, 1) >= 4 * ROWS_OF_WINDOWS && reads_window(d, gr->head, row, false);
}

void row_window_apply(Draft *d, const Machine *m, int group)
{
    (void)m;
    Group *gr                    = &d->groups[group];
    gr->loops[row_loop(gr)].step = ROWS_OF_WINDOWS;
    gr->loops[gr->loop_count++]  = (GroupLoop){ .dim = 1, .step = 1, .unroll = true };
}

/* ---- Sums beside vectors ---------------------------------------------------------------- */

/* Rows in vectors; inside them the steps, unrolled if they are few. The vector loop has index rank - 1. */
const MemberNest *row_nest(const Draft *d, int s, int64_t lanes)
{
    const GraphNode *node = &d->graph->nodes[s];
    const int        main = draft_main(d, s);
    const Update    *u    = main >= 0 ? &node->func->updates[main] : NULL;
    MemberNest       n    = { 0 };
    for (int k = node->rank - 1; k >= 0; k--)
        n.loops[n.count++] = (GroupLoop){ .dim = k, .step = k ? 1 : lanes, .vector = !k };
    for (int i = 0; u && i < u->rvar_count && n.count < MOST_GROUP_LOOPS; i++)
        n.loops[n.count++] =
            (GroupLoop){ .dim    = STEP_DIM + i,
                         .step   = 1,
                         .unroll = i == u->rvar_count - 1 && rvar_steps(&u->rvars[i]) <= ROWS_SHORT_WINDOW };
    return draft_nest(d, &n);
}

int final_reader(const Draft *d, int s, bool *own)
{
    const GraphNode *node = &d->graph->nodes[s];
    int              last = -1;
    for (int i = 0; i < node->out_count; i++) {
        const Edge *e = node->out[i];
        const int at  = d->choices[e->consumer].where == WHERE_INLINE ? final_reader(d, e->consumer, own) : e->consumer;
        *own &= e->pointwise;
        if (at < 0 || (last >= 0 && at != last))
            return -1;
        last = at;
    }
    return last;
}

/* Vectors that share the x-invariant work of a step: that of an operand that does not vary along x. Where data decide
 * what a step reads there is more of it. */
static int vectors_of_sum(const Draft *d, int s, int update)
{
    Operands reads;
    bool     still = false;
    operands_of(d, s, update, &reads);
    for (int i = 0; i < reads.count; i++)
        still |= !operand_moves(&reads.at[i], d->graph->nodes[reads.at[i].node].rank, 0);
    return !still ? 1 : d->graph->nodes[s].defs[update + 1].gathers ? VECTORS_OF_SUM_BY_DATA : VECTORS_OF_SUM;
}

/* Points of a row of the head that a sum next to its vectors is computed for: of a tile, or all. */
static int64_t row_beside(const Draft *d, int s)
{
    const Choice *c   = &d->choices[s];
    int64_t       row = INT64_MAX;
    if (c->where != WHERE_INSIDE || c->at)
        return row;
    const Group *gr     = &d->groups[c->group];
    const bool   inside = c->compute >= 0 && c->compute < gr->loop_count && gr->loops[c->compute].vector;
    for (int i = 0; inside && i < gr->loop_count; i++)
        if (gr->loops[i].dim == 0 && !gr->loops[i].vector && gr->loops[i].step < row)
            row = gr->loops[i].step;
    return row;
}

int64_t sum_lanes(const Draft *d, int s)
{
    const GraphNode *node  = &d->graph->nodes[s];
    const int        main  = draft_main(d, s);
    const int        lanes = d->choices[s].lanes ? d->choices[s].lanes : draft_lanes(d, s);
    if (node->defs[main + 1].steps <= ROWS_SHORT_WINDOW)
        return lanes;
    int64_t       wide = (int64_t)lanes * vectors_of_sum(d, s, main);
    const int64_t row  = row_beside(d, s);
    while (wide > lanes && wide > row / 2) /* a loop over vectors is left, for the ends of rows to be split off */
        wide /= 2;
    return node_extent(node, 0) >= 2 * wide ? wide : lanes;
}

/* Makes vectors and tiles of a head at least as wide as the vectors of a sum next to them. */
static void widen_head(Draft *d, int group, int64_t lanes)
{
    Group *gr = &d->groups[group];
    for (int i = 0; i < gr->loop_count; i++)
        if (gr->loops[i].dim == 0 && gr->loops[i].step < lanes && gr->loops[gr->loop_count - 1].vector)
            gr->loops[i].step = lanes;
}

bool sum_by_vectors_applies(const Draft *d, const Machine *m, int s)
{
    (void)m;
    const GraphNode *node = &d->graph->nodes[s];
    const Choice    *c    = &d->choices[s];
    return node->kind == NODE_REDUCTION && node->rank && draft_main(d, s) >= 0 && c->where == WHERE_INSIDE &&
           !c->nest && !c->at;
}

void sum_by_vectors_apply(Draft *d, const Machine *m, int s)
{
    (void)m;
    Choice       *c      = &d->choices[s];
    bool          own    = true;
    const int     reader = final_reader(d, s, &own);
    const int64_t wide   = sum_lanes(d, s);
    c->nest              = row_nest(d, s, wide);
    if (wide > draft_lanes(d, s) && reader >= 0 && own && reader == d->groups[c->group].head)
        widen_head(d, c->group, wide);
    if (reader < 0 || !own || d->graph->nodes[reader].kind != NODE_PURE)
        return;
    Choice *r = &d->choices[reader];
    if (r->where != WHERE_INSIDE || r->group != c->group)
        return;
    if (!r->nest)
        r->nest = row_nest(d, reader, r->lanes ? r->lanes : draft_lanes(d, reader));
    for (int i = 0; i < r->nest->count; i++)
        if (r->nest->loops[i].vector && r->nest->loops[i].dim == 0) {
            const int64_t lanes = r->nest->loops[i].step;
            *c                  = (Choice){ .where   = WHERE_INSIDE,
                                            .group   = c->group,
                                            .at      = reader + 1,
                                            .compute = i,
                                            .store   = i,
                                            .nest    = row_nest(d, s, lanes) };
            return;
        }
}

/* ---- Even places ------------------------------------------------------------------------ */

/* Do tiles split the rows of a group? */
static bool cuts_rows(const Group *gr)
{
    for (int i = 0; i < gr->loop_count; i++)
        if (gr->loops[i].dim == 0 && !gr->loops[i].vector)
            return true;
    return false;
}

bool aligned_rows_applies(const Draft *d, const Machine *m, int s)
{
    (void)m;
    const Choice *c = &d->choices[s];
    return c->where == WHERE_INSIDE && d->graph->nodes[s].kind == NODE_PURE && !c->align &&
           !cuts_rows(&d->groups[c->group]);
}

void aligned_rows_apply(Draft *d, const Machine *m, int s)
{
    (void)m;
    Operands reads;
    operands_of(d, s, -1, &reads);
    for (int i = 0; i < reads.count; i++)
        if (d->graph->nodes[reads.at[i].node].rank && reads.at[i].var[0] == 0 && reads.at[i].num[0] == 1 &&
            reads.at[i].den[0] > 1 && reads.at[i].den[0] <= ROWS_MOST_UPSAMPLING)
            d->choices[s].align = (int)reads.at[i].den[0];
}
