/* SPDX-License-Identifier: MIT */
/* Members several rows at a time.
 *
 * Takes   members that are computed a row at a time and read several rows of what is stored, up and down: each of their
 *         rows loads nearly the same rows again.
 * Gives   the head in blocks of rows. Such a member is computed for a block at once, its rows unrolled inside its
 *         vectors, so that they share what they load. What it reads is computed for a block, too; all else stays row by
 *         row in a loop inside the block. A head whose rows are unrolled has blocks already.
 * Halide  Ragan-Kelley et al. 2013 share loads that way by hand; the model asks here whether registers suffice. */
#include "schedulers/rules/micro_kernels.h"

/* The loop over rows, or over blocks of them: the innermost one along y that is not unrolled; -1: the loops are
 * others. */
static int rows_loop(const Group *gr)
{
    int row = -1, vectors = -1;
    for (int i = 0; i < gr->loop_count; i++) {
        row     = gr->loops[i].dim == 1 && !gr->loops[i].unroll ? i : row;
        vectors = gr->loops[i].vector && gr->loops[i].dim == 0 ? i : vectors;
    }
    return row > 0 && row < vectors && !gr->loops[row].parallel ? row : -1;
}

/* Is it computed a row at a time? */
static bool is_by_rows(const Draft *d, int s, int group, int row)
{
    const Choice *c = &d->choices[s];
    return c->group == group && c->where == WHERE_INSIDE && !c->at && c->compute == row;
}

/* Does node s read several rows of what is stored, directly or through what is inlined into it? */
static bool reads_rows(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->in_count; i++) {
        const Edge *e = node->in[i];
        if (d->graph->nodes[e->producer].rank < 2)
            continue;
        if (access_is_shift(&e->access[1], 1) && e->access[1].hi > e->access[1].lo)
            return true;
        if (d->choices[e->producer].where == WHERE_INLINE && reads_rows(d, e->producer))
            return true;
    }
    return false;
}

static bool may_block(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    const Choice    *c    = &d->choices[s];
    return node->kind == NODE_PURE && node->rank >= 2 && !c->nest && !c->shares_with && reads_rows(d, s);
}

/* Is it read by a member that is computed for a block at a time? */
static bool is_read_by_block(const Draft *d, int s, const bool *blocks)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->out_count; i++) {
        const int reader = node->out[i]->consumer;
        if (blocks[reader] || (d->choices[reader].where == WHERE_INLINE && is_read_by_block(d, reader, blocks)))
            return true;
    }
    return false;
}

bool member_rows_applies(const Draft *d, const Machine *m, int group)
{
    (void)m;
    const Group *gr  = &d->groups[group];
    const int    row = d->graph->nodes[gr->head].kind == NODE_PURE ? rows_loop(gr) : -1;
    bool         any = false;
    for (int s = 0; s < gr->head && row >= 0; s++) {
        if (d->choices[s].group == group && d->choices[s].chain)
            return false;
        any |= is_by_rows(d, s, group, row) && may_block(d, s);
    }
    return any && gr->loop_count < MOST_GROUP_LOOPS &&
           node_extent(&d->graph->nodes[gr->head], 1) >= 4 * ROWS_OF_MEMBERS;
}

/* Rows of a block outside vectors, and unrolled inside them. */
static const MemberNest *block_nest(const Draft *d, int s, int64_t rows)
{
    MemberNest n = { 0 };
    for (int k = d->graph->nodes[s].rank - 1; k > 0; k--)
        n.loops[n.count++] = (GroupLoop){ .dim = k, .step = k == 1 ? rows : 1 };
    const int lanes    = d->choices[s].lanes ? d->choices[s].lanes : draft_lanes(d, s);
    n.loops[n.count++] = (GroupLoop){ .dim = 0, .step = lanes, .vector = true };
    n.loops[n.count++] = (GroupLoop){ .dim = 1, .step = 1, .unroll = true };
    return draft_nest(d, &n);
}

/* Adds a loop over the rows of a block. Levels from `row` on are inside it. */
static void add_block(Draft *d, int group, int row)
{
    Group *gr = &d->groups[group];
    memmove(&gr->loops[row + 1], &gr->loops[row], sizeof *gr->loops * (size_t)(gr->loop_count - row));
    gr->loops[row].step = ROWS_OF_MEMBERS;
    gr->loop_count++;
    for (int s = 0; s < gr->head; s++) {
        Choice *c = &d->choices[s];
        if (c->group != group || c->where != WHERE_INSIDE || c->at)
            continue;
        c->compute += c->compute >= row;
        c->store += c->store >= row;
    }
}

/* Members that are computed for a block stay where they are; those of a new block's single rows go inside it. */
static void block_members(Draft *d, int group, int row, bool is_new, Arena *scratch)
{
    const Group *gr     = &d->groups[group];
    bool        *blocks = ARENA_ARRAY(scratch, bool, (size_t)d->graph->node_count);
    for (int s = gr->head - 1; s >= 0; s--) {
        Choice *c = &d->choices[s];
        if (!is_by_rows(d, s, group, row + is_new))
            continue;
        const bool block = may_block(d, s);
        blocks[s]        = block || is_read_by_block(d, s, blocks);
        if (block)
            c->nest = block_nest(d, s, gr->loops[row].step);
        if (blocks[s] && is_new) {
            c->store -= c->store == c->compute;
            c->compute--;
        }
    }
}

void member_rows_apply(Draft *d, const Machine *m, int group)
{
    (void)m;
    const int  row    = rows_loop(&d->groups[group]);
    const bool is_new = d->groups[group].loops[row].step == 1;
    Arena      scratch;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    if (is_new)
        add_block(d, group, row);
    block_members(d, group, row, is_new, &scratch);
    scratch_end(&scratch);
}
