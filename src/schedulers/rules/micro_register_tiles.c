/* SPDX-License-Identifier: MIT */
/* Register tiles of sums of products.
 *
 * Takes   reductions over many steps whose terms have an operand that varies along a dimension v and one that does
 *         not: matrix products, layers of networks.
 * Gives   each as a group of its own, with the one node that reads it at its own points (or none: then it is the head
 *         itself). L points along v, in vectors, times U points along another dimension u are summed in registers,
 *         with the steps outside. A step loads L/W vectors and U scalars for U*L/W multiplications. Around the
 *         register tile the loop over u is innermost, so that the operand that varies along v stays in the cache.
 * Memory  The operand that varies along v is stored in its order of use: v first, then the steps, innermost first. Own
 *         nodes are stored so. Inputs are copied per tile of v: a copy of all would have the elements of a tile at a
 *         constant distance, mostly a power of two, so that few sets of the caches hold them. A copy serves all points
 *         along u, and as many along the innermost of the other dimensions as make it worth its time. Where that would
 *         leave too few tasks the input is copied at once.
 * From    Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 2008, for the order of
 *         the loops. */
#include "schedulers/rules/micro_kernels.h"

typedef struct Product {
    int      sum, reader; /* reader -1: the sum is the head */
    int      update;
    int      v, u;
    int64_t  lanes, rows;
    Operands operands;
} Product;

/* ---- Which dimensions ------------------------------------------------------------------- */

/* The dimension of the operand that moves with v alone, at stride 1; -1: none. */
static int dim_along(const Draft *d, const Operand *o, int v)
{
    int found = -1;
    for (int k = 0; k < d->graph->nodes[o->node].rank; k++)
        if (o->var[k] == WILD || (o->var[k] == v && (found >= 0 || o->num[k] != 1 || o->den[k] != 1)))
            return -1;
        else if (o->var[k] == v)
            found = k;
    return found;
}

/* The cost of vectors along v: 0 where the operand is dense along it; INFINITY: impossible. */
static double badness_along(const Draft *d, const Product *p, int v)
{
    bool   still = false, moves = false;
    double bad = v > 0 && p->reader >= 0 && d->graph->nodes[p->reader].is_output ? 1 : 0;
    for (int i = 0; i < p->operands.count; i++) {
        const Operand *o = &p->operands.at[i];
        if (!operand_moves(o, d->graph->nodes[o->node].rank, v)) {
            still = true;
            continue;
        }
        const int k = dim_along(d, o, v);
        moves       = true;
        bad += k < 0 ? INFINITY : (o->plain ? 0 : 1) + (k > 0 ? 0.5 : 0);
    }
    return still && moves ? bad : INFINITY;
}

/* Is what varies along v invariant along u, while another operand varies there? */
static bool is_reused_along(const Draft *d, const Product *p, int u)
{
    bool moves = false;
    for (int i = 0; i < p->operands.count; i++) {
        const Operand *o    = &p->operands.at[i];
        const int      rank = d->graph->nodes[o->node].rank;
        if (operand_moves(o, rank, p->v) && operand_moves(o, rank, u))
            return false;
        moves |= operand_moves(o, rank, u);
    }
    return moves;
}

static bool choose_dims(const Draft *d, Product *p, int64_t lanes)
{
    const GraphNode *node = &d->graph->nodes[p->sum];
    double           best = INFINITY;
    p->v = p->u = -1;
    for (int k = 0; k < node->rank; k++) {
        const double bad = node_extent(node, k) >= lanes ? badness_along(d, p, k) : INFINITY;
        if (bad < best) {
            best = bad;
            p->v = k;
        }
    }
    for (int k = node->rank - 1; k >= 0 && p->v >= 0; k--)
        if (k != p->v && node_extent(node, k) >= REGISTERS_LEAST_ROWS && is_reused_along(d, p, k))
            p->u = k;
    return p->u >= 0;
}

/* ---- How large -------------------------------------------------------------------------- */

/* The number of rows that wastes the least where it does not divide the extent; more rows are better. */
static int64_t choose_rows(int64_t extent, int64_t most)
{
    int64_t best      = 1;
    double  best_cost = INFINITY;
    for (int64_t rows = most; rows >= REGISTERS_LEAST_ROWS; rows--) {
        const double waste = (double)((extent + rows - 1) / rows * rows) / (double)extent,
                     cost  = waste + REGISTERS_ROW_VALUE * (double)(most - rows);
        if (cost < best_cost) {
            best      = rows;
            best_cost = cost;
        }
    }
    return best;
}

/* Three quarters of the registers hold sums. */
static void choose_tile(const Draft *d, Product *p, const Machine *m, int64_t lanes)
{
    const GraphNode *node      = &d->graph->nodes[p->sum];
    const int64_t    registers = m->vector_bits >= 512 ? 24 : 12;
    int64_t          vectors   = REGISTERS_MOST_VECTORS;
    while (vectors > 1 && (vectors * lanes > node_extent(node, p->v) || registers / vectors < REGISTERS_LEAST_ROWS))
        vectors /= 2;
    const int64_t most = registers / vectors < REGISTERS_MOST_ROWS ? registers / vectors : REGISTERS_MOST_ROWS;
    p->lanes           = vectors * lanes;
    p->rows            = choose_rows(node_extent(node, p->u), most);
}

static bool find_product(const Draft *d, const Machine *m, int s, Product *p)
{
    const GraphNode *node = &d->graph->nodes[s];
    const int        k    = node->kind == NODE_REDUCTION ? draft_main(d, s) : NO_DEF;
    if (k < 0 || d->choices[s].where == WHERE_INLINE || d->facts[s].defs[k + 1].bounding)
        return false;
    const Work *work = &node->defs[k + 1];
    if (work->steps < REGISTERS_LEAST_STEPS || work->points < REGISTERS_LEAST_WORK || work->gathers)
        return false;
    const Edge *e     = node->out_count == 1 && d->facts[s].readers.count == 1 ? node->out[0] : NULL;
    const bool  own   = e && !node->is_output && e->pointwise && e->update < 0;
    const bool  alone = own && d->graph->nodes[e->consumer].kind == NODE_PURE;
    *p                = (Product){ .sum = s, .reader = alone ? e->consumer : -1, .update = k };
    operands_of(d, s, k, &p->operands);
    const int64_t lanes = m->vector_bits / (node->wide < 8 ? 8 : node->wide);
    if (!p->operands.complete || lanes < 2 || !choose_dims(d, p, lanes))
        return false;
    choose_tile(d, p, m, lanes);
    return true;
}

/* ---- The group -------------------------------------------------------------------------- */

/* Makes the head a group of its own, without members. */
static Group *isolate(Draft *d, const Product *p)
{
    const int head = p->reader >= 0 ? p->reader : p->sum;
    const int had  = d->choices[head].where == WHERE_ROOT ? d->choices[head].group : -1;
    for (int s = 0; s < d->graph->node_count && had >= 0; s++)
        if (d->choices[s].group == had && d->choices[s].where == WHERE_INSIDE)
            draft_make_root(d, s);
    if (had < 0)
        draft_make_root(d, head);
    Group *gr      = &d->groups[d->choices[head].group];
    gr->loop_count = 0;
    return gr;
}

static void add_loop_if_room(Group *gr, GroupLoop l)
{
    if (gr->loop_count < MOST_GROUP_LOOPS)
        gr->loops[gr->loop_count++] = l;
}

/* The innermost of the other dimensions; -1: there is none. */
static int innermost_other(const Draft *d, const Product *p)
{
    int k = 0;
    while (k == p->v || k == p->u)
        k++;
    return k < d->graph->nodes[p->sum].rank ? k : -1;
}

/* Is the operand an input that is copied in its order of use? */
static bool is_copied(const Draft *d, const Product *p, const Operand *o)
{
    return o->direct && d->graph->nodes[o->node].kind == NODE_INPUT && dim_along(d, o, p->v) >= 0;
}

/* How many points along the innermost of the other dimensions a tile's copy of an operand serves. 0: nothing is copied
 * for each tile, because nothing is copied at all or there would be too few tasks. */
static int64_t choose_served(const Draft *d, const Product *p, const Machine *m)
{
    const GraphNode *node   = &d->graph->nodes[p->sum];
    const int        other  = innermost_other(d, p);
    const int64_t    along  = node_extent(node, p->u);
    const int64_t    served = (REGISTERS_COPY_USES + along - 1) / along;
    bool             copied = false, moves = false;
    for (int i = 0; i < p->operands.count; i++) {
        const Operand *o   = &p->operands.at[i];
        const bool     one = is_copied(d, p, o);
        copied |= one;
        moves |= one && other >= 0 && operand_moves(o, d->graph->nodes[o->node].rank, other);
    }
    if (!copied || other < 0 || served <= 1 || moves) /* a copy of all would serve no more */
        return copied;
    double tasks = 1 / (double)served;
    for (int k = other; k < node->rank; k++)
        tasks *= k == p->v || k == p->u ? 1 : (double)node_extent(node, k);
    return served <= node_extent(node, other) && tasks >= REGISTERS_TASKS * m->cores ? served : 0;
}

/* All other dimensions, then tiles of v, then what one copy of a tile's operand serves, then tiles of u, then the
 * register tile. The tasks are the outer dimensions, or else the tiles of v. Gives the index of the loop over tiles of
 * v, if operands are copied for each tile; -1: at once. */
static int make_loops(const Draft *d, const Product *p, const Machine *m, Group *gr)
{
    const GraphNode *node   = &d->graph->nodes[p->sum];
    const bool       whole  = node_extent(node, p->v) <= p->lanes;
    const int        other  = innermost_other(d, p);
    const int64_t    served = whole ? 0 : choose_served(d, p, m);
    double           tasks  = 1;
    int              pieces = -1;
    for (int k = node->rank - 1; k >= 0; k--)
        if (k != p->v && k != p->u) {
            const int64_t step = k == other && served ? served : 1;
            add_loop_if_room(gr, (GroupLoop){ .dim = k, .step = step, .parallel = tasks < REGISTERS_TASKS * m->cores });
            tasks *= (double)node_extent(node, k) / (double)step;
        }
    const bool enough = tasks >= REGISTERS_TASKS * m->cores;
    if (!whole) {
        pieces = served ? gr->loop_count : -1;
        add_loop_if_room(gr, (GroupLoop){ .dim = p->v, .step = p->lanes, .parallel = !enough });
    }
    if (served > 1)
        add_loop_if_room(gr, (GroupLoop){ .dim = other, .step = 1 });
    add_loop_if_room(gr, (GroupLoop){ .dim = p->u, .step = p->rows, .parallel = !enough && whole });
    add_loop_if_room(gr, (GroupLoop){ .dim = p->v, .step = p->lanes, .vector = true });
    add_loop_if_room(gr, (GroupLoop){ .dim = p->u, .step = 1, .unroll = true });
    return pieces;
}

/* The register tile of the sum: rows, vectors, steps, unrolled rows. */
static const MemberNest *tile_nest(const Draft *d, const Product *p)
{
    const GraphNode *node = &d->graph->nodes[p->sum];
    MemberNest       n    = { 0 };
    for (int k = node->rank - 1; k >= 0; k--)
        if (k != p->v && k != p->u)
            n.loops[n.count++] = (GroupLoop){ .dim = k, .step = 1 };
    n.loops[n.count++] = (GroupLoop){ .dim = p->u, .step = p->rows };
    n.loops[n.count++] = (GroupLoop){ .dim = p->v, .step = p->lanes, .vector = true };
    n.loops[n.count++] = (GroupLoop){ .dim = p->u, .step = 1, .unroll = true };
    return draft_nest(d, &n);
}

/* ---- Memory ----------------------------------------------------------------------------- */

/* `first`, then the others in their order. */
static int *order_from(const Draft *d, int rank, int first)
{
    int *order = ARENA_ARRAY(d->graph->arena, int, (size_t)rank), at = 0;
    order[at++] = first;
    for (int k = 0; k < rank; k++)
        if (k != first)
            order[at++] = k;
    return order;
}

/* The order of use: the dimension along v, then those that depend on steps, the innermost first, then the others. */
static int *order_of_use(const Draft *d, const Product *p, const Operand *o, int first)
{
    const GraphNode *node  = &d->graph->nodes[o->node];
    const Func      *f     = d->graph->nodes[p->sum].func;
    int             *order = ARENA_ARRAY(d->graph->arena, int, (size_t)node->rank), at = 0;
    bool             taken[KN_MAX_RANK] = { false };
    order[at++]                         = first;
    taken[first]                        = true;
    for (int r = f->updates[p->update].rvar_count - 1; r >= 0 && o->direct; r--)
        for (int k = 0; k < node->rank; k++)
            if (!taken[k] && def_movers(d->graph->pipeline, f, p->update, node->func, k) == 1u << (KN_MAX_RANK + r)) {
                order[at++] = k;
                taken[k]    = true;
            }
    for (int k = 0; k < node->rank; k++)
        if (!taken[k])
            order[at++] = k;
    return order;
}

static void add_copy(Draft *d, StagedCopy copy)
{
    StagedCopy *more = ARENA_ARRAY(d->graph->arena, StagedCopy, (size_t)d->copy_count + 1);
    for (int i = 0; i < d->copy_count; i++)
        more[i] = d->copies[i];
    more[d->copy_count++] = copy;
    d->copies             = more;
}

/* Loops in memory order, for a node that has none yet. */
static void loops_as_memory(Draft *d, int s)
{
    const Choice *c  = &d->choices[s];
    Group        *gr = &d->groups[c->group];
    for (int k = d->graph->nodes[s].rank - 1; k >= 0; k--)
        add_loop_if_room(gr, (GroupLoop){ .dim      = c->memory[k],
                                          .step     = k ? 1 : draft_lanes(d, s),
                                          .parallel = k && k == d->graph->nodes[s].rank - 1,
                                          .vector   = !k });
}

/* `pieces`: the loop over tiles of v, if operands are copied there. */
static void order_operand(Draft *d, const Product *p, const Operand *o, int pieces)
{
    const GraphNode *node  = &d->graph->nodes[o->node];
    const int        first = dim_along(d, o, p->v);
    if (first < 0)
        return;
    int *order = order_of_use(d, p, o, first);
    bool same  = true;
    for (int k = 0; k < node->rank; k++)
        same &= order[k] == k;
    if (node->kind != NODE_INPUT) {
        Choice *c = &d->choices[o->node];
        if (c->where == WHERE_INSIDE) /* of the group that the product has left */
            draft_make_root(d, o->node);
        if (c->where != WHERE_ROOT || same || draft_has_members(d, c->group))
            return;
        c->memory                      = order;
        d->groups[c->group].loop_count = 0;
        if (node->kind == NODE_PURE)
            loops_as_memory(d, o->node);
    } else if (is_copied(d, p, o) && (!same || node_extent(&d->graph->nodes[p->sum], p->v) > p->lanes)) {
        add_copy(d, (StagedCopy){
                        .of = o->node, .reader = p->sum, .compute = pieces, .lanes = (int)p->lanes, .memory = order });
    }
}

static void make_product(Draft *d, const Machine *m, const Product *p)
{
    Group     *gr    = isolate(d, p);
    const int  group = d->choices[gr->head].group, pieces = make_loops(d, p, m, gr);
    const int *order = p->v ? order_from(d, d->graph->nodes[p->sum].rank, p->v) : NULL;
    if (p->reader >= 0) {
        const int level             = gr->loop_count - 3;
        d->choices[p->sum]          = (Choice){ .where   = WHERE_INSIDE,
                                                .group   = group,
                                                .compute = level,
                                                .store   = level,
                                                .nest    = tile_nest(d, p),
                                                .memory  = order };
        d->choices[gr->head].memory = order;
    }
    for (int i = 0; i < p->operands.count; i++)
        if (operand_moves(&p->operands.at[i], d->graph->nodes[p->operands.at[i].node].rank, p->v))
            order_operand(d, p, &p->operands.at[i], pieces);
}

bool register_tile_applies(const Draft *d, const Machine *m, int s)
{
    Product p;
    return find_product(d, m, s, &p);
}

void register_tile_apply(Draft *d, const Machine *m, int s)
{
    Product p;
    if (find_product(d, m, s, &p))
        make_product(d, m, &p);
}
