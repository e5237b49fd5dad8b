/* SPDX-License-Identifier: MIT */
/* The scheduler `gpu`: kernels by merging stages, their blocks by the analysis of a tile.
 *
 * From    Sioutas et al. 2020, whose flow (Figure 5) is that of scheduler_gpu:
 *           inlining    trivial stages (section 4.1);
 *           grouping    merges of two groups at a time, the best first, as long as one gains (section 4.2); each group
 *                       is a kernel, whose cost is that of its best tile (gpu/kernel_cost.c: Listing 1);
 *           tiles       the final pass (gpu/kernel_tiles.c);
 *           nesting     stages that a thread can compute for itself without redundancy (section 4.3, Listing 2).
 * Beyond  The cost is a time (gpu/kernel_cost.c; `no-model`: that of Listing 1). Groups may be those of the dynamic
 *         program of `dp` instead (`dp-groups`). After grouping, each stage is tried in its other places: inlined,
 *         in registers, in shared memory, whichever takes the least time.
 * Left    Scans and scatters have the schedules of their patterns (gpu/kernel_patterns.c) or, as C code and stages
 *         without dimensions, the compiler's default kernels. */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/search/group.h"
#include "schedulers/search/schedulers.h"

#include <math.h>

typedef struct Gpu {
    const Graph            *g;
    const SchedulerOptions *options;
    KernelDraft             k;
    KernelSpace             space;
    int                    *node_of; /* of a unit of the grouping */
    int                    *unit_of; /* of a node; -1: it is inlined, or an input */
    int                    *nodes;   /* room for the nodes of a group */
    int                    *seen;    /* by group: the last question that it was part of */
    int                     asked;
    int                     spare;         /* the group in question */
    Choice                 *kept, *joined; /* room for the choices of all nodes */
} Gpu;

/* ---- What is inlined, what is left (section 4.1) ------------------------------------------------ */

static void find_c(const Expr *e, void *found)
{
    *(bool *)found |= e->op == EX_EXTERN;
}

/* What is not known before a run, beside the values of functions. */
static void find_unknown(const Expr *e, void *found)
{
    *(bool *)found |= e->op == EX_EXTERN || e->op == EX_PARAM || e->op == EX_DIM_MIN || e->op == EX_DIM_EXTENT;
}

/* Has a definition of f such an expression? */
static bool has_expr(const Graph *g, const Func *f, void (*find)(const Expr *, void *))
{
    bool found = false;
    for (int i = 0; i < f->component_count && f->kind == FUNC_DEFINED; i++)
        expr_visit(&g->pipeline->exprs, f->values[i], find, &found);
    for (int k = 0; k < f->update_count; k++) {
        const Update *u = &f->updates[k];
        for (int i = 0; i < f->component_count; i++)
            expr_visit(&g->pipeline->exprs, u->values[i], find, &found);
        for (int d = 0; d < f->rank; d++)
            expr_visit(&g->pipeline->exprs, u->args[d], find, &found);
        if (u->where)
            expr_visit(&g->pipeline->exprs, u->where, find, &found);
    }
    return found;
}

/* A table whose elements are numbers once its index is one: it reads no input and no parameter. Producers come first.
 */
static bool is_table(const Gpu *u, int s)
{
    const GraphNode *node = &u->g->nodes[s];
    bool             all =
        is_defined(node) && node->rank && draft_may_inline(&u->k.d, s) && !has_expr(u->g, node->func, find_unknown);
    for (int i = 0; all && i < node->in_count; i++)
        all = u->k.table[node->in[i]->producer];
    return all;
}

/* Tables that are read in the steps of sums alone, whose steps are copies: nothing is left of them. */
static void find_tables(Gpu *u)
{
    for (int s = 0; s < u->g->node_count; s++)
        u->k.table[s] = !u->options->no_tables && is_table(u, s);
    for (int s = u->g->node_count; s-- > 0;)
        for (int i = 0; i < u->g->nodes[s].out_count; i++) {
            const Edge *e = u->g->nodes[s].out[i];
            u->k.table[s] = u->k.table[s] && (u->k.table[e->consumer] ||
                                              (e->update >= 0 && kernel_steps_of_table(&u->k, e->consumer) > 0));
        }
}

/* Trivial stages: read at the reader's own point alone, or of an operation or two on a point or two. */
static bool is_trivial(const Graph *g, const GraphNode *node)
{
    bool pointwise = true, single = node->in_count <= 2 && node->defs[0].ops <= FREE_OPS && !node->defs[0].gathers;
    for (int i = 0; i < node->out_count; i++)
        pointwise &= node->out[i]->pointwise && g->nodes[node->out[i]->consumer].def_count == 1;
    for (int i = 0; i < node->in_count; i++)
        single &= node->in[i]->accesses == 1 && g->nodes[node->in[i]->producer].kind != NODE_REDUCTION;
    pointwise &= node->out_count == 1 || node->defs[0].ops <= CHEAP_OPS;
    return node->def_count == 1 && (pointwise || single || node->rank == 0);
}

/* A sum of few steps at the point of its one reader: its steps are written out. */
static bool is_short_sum(const Gpu *u, int s)
{
    const GraphNode *node  = &u->g->nodes[s];
    double           steps = 0;
    for (int k = 1; k < node->def_count; k++)
        steps += node->defs[k].steps;
    return node->kind == NODE_REDUCTION && node->out_count == 1 && node->out[0]->pointwise &&
           node->out[0]->update < 0 && steps <= SHORT_SUM;
}

/* May the stage be computed by each thread that reads it? */
static bool may_inline(const Gpu *u, int s)
{
    return !u->k.left[s] && u->g->nodes[s].kind != NODE_INPUT && draft_may_inline(&u->k.d, s);
}

static void begin(Gpu *u)
{
    Draft *d       = &u->k.d;
    d->group_count = 0;
    if (!u->options->no_inlining)
        find_tables(u);
    for (int s = 0; s < u->g->node_count && u->k.patterns && !u->options->no_fusion; s++) {
        const int reader = kernel_grid_reader(&u->k, s);
        if (reader >= 0)
            u->k.cells[reader] = s + 1;
    }
    for (int s = u->g->node_count; s-- > 0;) {
        const GraphNode *node = &u->g->nodes[s];
        u->k.left[s]          = node->kind != NODE_INPUT && (!is_defined(node) || has_expr(u->g, node->func, find_c) ||
                                                    u->k.cells[s] || (node->rank && !kernel_may_head(d, s)));
        if (node->kind == NODE_INPUT) {
            d->choices[s] = (Choice){ .where = WHERE_ROOT, .group = -1 };
            continue;
        }
        draft_make_root(d, s);
        if (!u->options->no_inlining && may_inline(u, s) &&
            (is_trivial(u->g, node) || is_short_sum(u, s) || u->k.table[s]))
            d->choices[s].where = WHERE_INLINE;
        else
            u->k.left[s] |= !node->rank;
    }
    draft_legalize_inlining(d);
}

/* ---- One group ----------------------------------------------------------------------------- */

/* The stages of a group, in shared memory at first. Nodes are ascending, the head is the last. */
static bool set_group(Gpu *u, const int *nodes, int count, int group)
{
    Draft    *d      = &u->k.d;
    const int head   = nodes[count - 1];
    d->groups[group] = (Group){ .head = head };
    d->choices[head] = (Choice){ .where = WHERE_ROOT, .group = group };
    bool fits        = true;
    for (int i = count - 2; i >= 0; i--) {
        const int s = nodes[i];
        fits        = fits && !u->k.left[s] && !u->k.left[head] && kernel_may_head(d, s) && draft_may_join(d, s, group);
        if (!fits)
            break;
        d->choices[s]  = (Choice){ .where = WHERE_INSIDE, .group = group };
        u->k.nested[s] = 0;
    }
    return fits;
}

static void unset_group(Gpu *u, const int *nodes, int count, int group)
{
    for (int i = 0; i < count; i++)
        u->k.d.choices[nodes[i]] = (Choice){ .where = WHERE_ROOT, .group = group };
}

/* The one unit in whose threads all readers of a node are; -1: there is none. */
static int unit_of_readers(const Gpu *u, int s)
{
    for (int i = u->space.among_count; i-- > 0 && u->space.among[i] > s;)
        if (kernel_is_unit(&u->space, u->space.among[i]) &&
            kernel_reading_def(&u->space, s, u->space.among[i]) != NO_DEF)
            return u->space.among[i];
    return -1;
}

/* Points that one thread of a unit, with one point, computes of a node nested in it. */
static double points_in_thread(Gpu *u, int s, int unit)
{
    int64_t ones[KN_MAX_RANK];
    for (int d = 0; d < KN_MAX_RANK; d++)
        ones[d] = 1;
    kernel_find_threads(&u->space, unit, ones);
    return (double)box_points(&u->space.thread[s], u->g->nodes[s].rank);
}

/* Listing 2: stages whose readers have no reuse of them across the loops of the threads are nested in the stage that
 * reads them, consumers first. */
static void nest_group(Gpu *u, int head)
{
    KernelShape shape = { .inside = 0 };
    kernel_space_begin(&u->space, head);
    for (int d = 0; d < u->g->nodes[head].rank; d++)
        shape.tile[d] = d < 2 ? WARP_SIZE / (d ? 4 : 1) : 1;
    kernel_find_blocks(&u->space, &shape);
    for (int i = u->space.among_count; i-- > 0 && !u->options->no_nesting;) {
        const int s    = u->space.among[i];
        const int unit = s != head && u->k.d.choices[s].where == WHERE_INSIDE ? unit_of_readers(u, s) : -1;
        if (unit < 0)
            continue;
        const double block   = (double)box_points(&u->space.block[s], u->g->nodes[s].rank);
        const double threads = (double)box_points(&u->space.block[unit], u->g->nodes[unit].rank);
        u->k.nested[s]       = unit + 1;
        if (points_in_thread(u, s, unit) * threads > HARDLY_MORE * block)
            u->k.nested[s] = 0;
    }
}

/* The cost of the best configuration, if it can be launched. */
static double cost_of(const Gpu *u, const KernelCost *c)
{
    static const double times[]  = { [KERNEL_VALID] = 1,     [KERNEL_PART_OF_WARP] = 1, [KERNEL_FEW_SMS] = 1,
                                     [KERNEL_OCCUPANCY] = 2, [KERNEL_SPILLS] = 2,       [KERNEL_MUCH_CODE] = 4 };
    const bool          launches = c->fault < (KernelFault)(sizeof times / sizeof *times) && times[c->fault] > 0;
    return !launches ? INFINITY : times[c->fault] * (u->space.paper ? c->paper : c->ns);
}

static double shape_group(Gpu *u, int head, KernelEffort effort, Kernel *out)
{
    kernel_space_begin(&u->space, head);
    kernel_choose_shape(&u->space, effort, out);
    return cost_of(u, &out->cost);
}

/* The cost of a group of the search. */
static double group_cost(void *user, const int *units, int count, bool *hopeless)
{
    Gpu   *u = user;
    Kernel kernel;
    for (int i = 0; i < count; i++)
        u->nodes[i] = u->node_of[units[i]];
    const int head = u->nodes[count - 1];
    *hopeless      = false;
    if (u->k.left[head]) {
        *hopeless = count > 1;
        return count > 1 ? INFINITY : 1;
    }
    if (count > 1 && u->options->no_fusion) {
        *hopeless = true;
        return INFINITY;
    }
    double cost = INFINITY;
    if (set_group(u, u->nodes, count, u->spare)) {
        nest_group(u, head);
        cost = shape_group(u, head, KERNEL_QUICK, &kernel);
        if (count == 1 && cost == INFINITY) /* a single stage always is a kernel */
            cost = kernel.cost.ns;
    }
    unset_group(u, u->nodes, count, u->spare);
    return cost;
}

/* ---- Grouping (section 4.2) ------------------------------------------------------------------ */

/* Adds edges to the readers of s, through inlined nodes. */
static void add_readers(const Gpu *u, GroupGraph *gg, int unit, int s, int *seen)
{
    const GraphNode *node = &u->g->nodes[s];
    for (int k = 0; k < node->out_count; k++) {
        const int reader = node->out[k]->consumer;
        if (u->unit_of[reader] >= 0) {
            group_graph_edge(gg, unit, u->unit_of[reader]);
        } else if (seen[reader] != unit + 1) {
            seen[reader] = unit + 1;
            add_readers(u, gg, unit, reader, seen);
        }
    }
}

static GroupGraph make_graph(Gpu *u, Arena *arena)
{
    int count = 0;
    for (int s = 0; s < u->g->node_count; s++) {
        u->unit_of[s] = u->g->nodes[s].kind != NODE_INPUT && u->k.d.choices[s].where == WHERE_ROOT ? count : -1;
        if (u->unit_of[s] >= 0)
            u->node_of[count++] = s;
    }
    GroupGraph gg   = group_graph_new(arena, count);
    int       *seen = ARENA_ARRAY(arena, int, (size_t)u->g->node_count + 1);
    for (int i = 0; i < count; i++) {
        gg.alone[i] = u->k.left[u->node_of[i]];
        add_readers(u, &gg, i, u->node_of[i], seen);
    }
    group_graph_close(&gg);
    return gg;
}

static void make_groups(Gpu *u, Arena *arena)
{
    GroupGraph        gg     = make_graph(u, arena);
    const GroupSearch search = { .cost         = group_cost,
                                 .user         = u,
                                 .from_readers = true,
                                 .states       = DP_STATES + 4 * gg.count,
                                 .seconds      = u->options->budget / 4 };
    u->spare                 = u->k.d.group_count;
    const Grouping found =
        u->options->dp_groups ? group_search(&gg, &search, arena) : group_greedy(&gg, &search, arena);
    for (int k = 0; k < found.count; k++) {
        int count = 0;
        for (int i = 0; i < gg.count; i++)
            if (found.of_node[i] == k)
                u->nodes[count++] = u->node_of[i];
        set_group(u, u->nodes, count, k);
        if (!u->k.left[u->nodes[count - 1]])
            nest_group(u, u->nodes[count - 1]);
    }
    u->k.d.group_count = found.count;
}

/* ---- Other places of a stage ------------------------------------------------------------------- */

static bool is_kernel(const Gpu *u, int group)
{
    const int head = u->k.d.groups[group].head;
    return head >= 0 && !u->k.left[head];
}

/* The time of all kernels that read a node or compute it, each once. */
static double touched_cost(Gpu *u, int s, KernelEffort effort)
{
    const Choice *c  = &u->k.d.choices[s];
    double        ns = 0;
    Kernel        kernel;
    if (c->where != WHERE_INLINE && c->group >= 0 && u->seen[c->group] != u->asked && is_kernel(u, c->group)) {
        u->seen[c->group] = u->asked;
        ns += shape_group(u, u->k.d.groups[c->group].head, effort, &kernel);
    }
    for (int i = 0; i < u->g->nodes[s].out_count; i++) {
        const int     reader = u->g->nodes[s].out[i]->consumer;
        const Choice *r      = &u->k.d.choices[reader];
        if (r->where == WHERE_INLINE)
            ns += touched_cost(u, reader, effort);
        else if (u->seen[r->group] != u->asked && is_kernel(u, r->group)) {
            u->seen[r->group] = u->asked;
            ns += shape_group(u, u->k.d.groups[r->group].head, effort, &kernel);
        }
    }
    return ns;
}

static double ask(Gpu *u, int s)
{
    u->asked++;
    return touched_cost(u, s, KERNEL_SEARCH);
}

static bool has_members(const Gpu *u, int group)
{
    for (int s = 0; s < u->g->node_count; s++)
        if (u->k.d.choices[s].where == WHERE_INSIDE && u->k.d.choices[s].group == group)
            return true;
    return false;
}

/* Is something nested in the threads of this stage? */
static bool has_nested(const Gpu *u, int s)
{
    for (int i = 0; i < s; i++)
        if (u->k.d.choices[i].where == WHERE_INSIDE && u->k.nested[i] == s + 1)
            return true;
    return false;
}

/* Is no definition too large with what is inlined into it? */
static bool inlining_is_legal(Gpu *u)
{
    const int groups = u->k.d.group_count;
    bool      legal  = true;
    memcpy(u->kept, u->k.d.choices, (size_t)u->g->node_count * sizeof *u->kept);
    draft_legalize_inlining(&u->k.d);
    for (int s = 0; s < u->g->node_count; s++)
        legal &= u->kept[s].where == u->k.d.choices[s].where;
    memcpy(u->k.d.choices, u->kept, (size_t)u->g->node_count * sizeof *u->kept);
    u->k.d.group_count = groups;
    return legal;
}

/* Tries a stage inlined. */
static void try_inline(Gpu *u, int s)
{
    Choice      *c   = &u->k.d.choices[s];
    const Choice had = *c;
    if (c->where == WHERE_INLINE || !may_inline(u, s) || has_nested(u, s) ||
        (had.where == WHERE_ROOT && has_members(u, had.group)))
        return;
    const double before = ask(u, s);
    c->where            = WHERE_INLINE;
    if (had.where == WHERE_ROOT)
        u->k.d.groups[had.group].head = -1;
    if (inlining_is_legal(u) && ask(u, s) < KERNEL_GAIN * before)
        return;
    *c = had;
    if (had.where == WHERE_ROOT)
        u->k.d.groups[had.group].head = s;
}

/* Is something that it reads, directly or through what is inlined, computed in a kernel of its readers, or in the
 * registers of one of its stages? */
static bool reads_members(const Gpu *u, int s, bool in_registers)
{
    const GraphNode *node = &u->g->nodes[s];
    for (int i = 0; i < node->in_count; i++) {
        const int     p = node->in[i]->producer;
        const Choice *c = &u->k.d.choices[p];
        if ((c->where == WHERE_INSIDE && (!in_registers || u->k.nested[p])) ||
            (c->where == WHERE_INLINE && reads_members(u, p, in_registers)))
            return true;
    }
    return false;
}

/* Tries an inlined stage as a kernel of its own: its readers may compute it many times for each point. */
static void try_store(Gpu *u, int s)
{
    Draft       *d   = &u->k.d;
    const Choice had = d->choices[s];
    if (had.where != WHERE_INLINE || u->k.table[s] || !u->g->nodes[s].rank || !kernel_may_head(d, s) ||
        reads_members(u, s, false))
        return;
    const double before = ask(u, s);
    draft_make_root(d, s);
    if (ask(u, s) < KERNEL_GAIN * before)
        return;
    d->choices[s] = had;
    d->group_count--;
}

/* Gives the members of a kernel to another one, consumers first. False: not all of them may be there. */
static bool move_members(Gpu *u, int from, int to)
{
    bool fits = true;
    for (int s = u->g->node_count; s-- > 0 && fits;) {
        Choice *c = &u->k.d.choices[s];
        if (c->where != WHERE_INSIDE || c->group != from)
            continue;
        fits     = draft_may_join(&u->k.d, s, to);
        c->group = fits ? to : from;
    }
    return fits;
}

/* The points of a thread of a stage in shared memory. */
static void choose_points(Gpu *u, int s)
{
    const Choice *c = &u->k.d.choices[s];
    if (c->where != WHERE_INSIDE || u->k.nested[s])
        return;
    kernel_space_begin(&u->space, u->k.d.groups[c->group].head);
    kernel_choose_points(&u->space, s);
}

/* Tries an inlined stage in the shared memory of its reader's kernel, or a kernel as a part of that. */
static void try_join(Gpu *u, int s)
{
    Choice      *c       = &u->k.d.choices[s];
    const Choice had     = *c;
    const bool   inlined = c->where == WHERE_INLINE;
    if (c->where == WHERE_INSIDE || c->group < 0 || u->k.left[s] || u->k.table[s] || !u->g->nodes[s].out_count ||
        u->options->no_fusion || !kernel_may_head(&u->k.d, s) || (inlined && reads_members(u, s, true)))
        return;
    int reader = u->g->nodes[s].out[0]->consumer;
    while (u->k.d.choices[reader].where == WHERE_INLINE)
        reader = u->g->nodes[reader].out[0]->consumer;
    const int group = u->k.d.choices[reader].group;
    if (!is_kernel(u, group) || !draft_may_join(&u->k.d, s, group))
        return;
    const double before = ask(u, s);
    *c                  = (Choice){ .where = WHERE_INSIDE, .group = group };
    u->k.nested[s]      = 0;
    if (!inlined)
        u->k.d.groups[had.group].head = -1;
    memcpy(u->joined, u->k.d.choices, (size_t)u->g->node_count * sizeof *u->joined);
    if (inlined || move_members(u, had.group, group)) {
        choose_points(u, s);
        if (ask(u, s) < KERNEL_GAIN * before)
            return;
    }
    memcpy(u->k.d.choices, u->joined, (size_t)u->g->node_count * sizeof *u->joined);
    *c = had;
    if (!inlined)
        u->k.d.groups[had.group].head = s;
}

/* Tries a member in registers, or in shared memory, whichever it is not. */
static void try_nested(Gpu *u, int s)
{
    const Choice *c   = &u->k.d.choices[s];
    const int     had = u->k.nested[s];
    if (c->where != WHERE_INSIDE || has_nested(u, s) || (had && reads_members(u, s, true)))
        return;
    kernel_space_begin(&u->space, u->k.d.groups[c->group].head);
    const int    unit   = had ? -1 : unit_of_readers(u, s);
    const double before = ask(u, s);
    if (!had && unit < 0)
        return;
    int64_t points[KN_MAX_RANK] = { 0 }; /* of a thread that has it now */
    if (unit >= 0)
        memcpy(points, u->k.each[unit], sizeof points);
    u->k.nested[s] = had ? 0 : unit + 1;
    choose_points(u, had ? s : unit);
    if (ask(u, s) < KERNEL_GAIN * before)
        return;
    u->k.nested[s] = had;
    if (unit >= 0)
        memcpy(u->k.each[unit], points, sizeof points);
}

/* ---- The schedule ------------------------------------------------------------------------------ */

/* Groups without a head are gone. */
static void drop_groups(Gpu *u, Arena *arena)
{
    Draft *d   = &u->k.d;
    int   *now = ARENA_ARRAY(arena, int, (size_t)d->group_count + 1), kept = 0;
    for (int i = 0; i < d->group_count; i++) {
        now[i] = d->groups[i].head >= 0 ? kept : -1;
        if (now[i] >= 0)
            d->groups[kept++] = d->groups[i];
    }
    d->group_count = kept;
    for (int s = 0; s < u->g->node_count; s++)
        if (d->choices[s].group >= 0)
            d->choices[s].group = d->choices[s].where == WHERE_INLINE ? 0 : now[d->choices[s].group];
}

KernelDraft scheduler_gpu(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    const size_t n      = (size_t)g->node_count + 1;
    Device      *device = ARENA_NEW(arena, Device);
    *device             = m->device.sms ? m->device : device_usual();
    Gpu u               = { .g       = g,
                            .options = options,
                            .k       = { .d        = draft_plain(g, m, ~0u, arena),
                                         .device   = device,
                                         .nested   = ARENA_ARRAY(arena, int, n),
                                         .each     = arena_array(arena, n, sizeof(int64_t[KN_MAX_RANK])),
                                         .left     = ARENA_ARRAY(arena, bool, n),
                                         .table    = ARENA_ARRAY(arena, bool, n),
                                         .cells    = ARENA_ARRAY(arena, int, n),
                                         .patterns = !options->no_patterns,
                                         .products = !options->no_products,
                                         .memory   = options->no_registers,
                                         .kernels  = ARENA_ARRAY(arena, Kernel, 2 * n) },
                            .node_of = ARENA_ARRAY(arena, int, n),
                            .unit_of = ARENA_ARRAY(arena, int, n),
                            .nodes   = ARENA_ARRAY(arena, int, n),
                            .seen    = ARENA_ARRAY(arena, int, 2 * n),
                            .kept    = ARENA_ARRAY(arena, Choice, n),
                            .joined  = ARENA_ARRAY(arena, Choice, n) };
    u.k.d.groups        = ARENA_ARRAY(arena, Group, 2 * n);
    u.space             = kernel_space(&u.k, options->plain_cost, arena);
    begin(&u);
    make_groups(&u, arena);
    for (int i = 0; i < PLACE_PASSES && !options->no_places; i++)
        for (int s = g->node_count; s-- > 0;) {
            if (u.k.d.choices[s].where == WHERE_INLINE)
                try_store(&u, s);
            else if (!options->no_inlining)
                try_inline(&u, s);
            try_join(&u, s);
            choose_points(&u, s);
            if (!options->no_nesting)
                try_nested(&u, s);
        }
    draft_legalize_inlining(&u.k.d);
    drop_groups(&u, arena);
    for (int i = 0; i < u.k.d.group_count; i++)
        if (!u.k.left[u.k.d.groups[i].head])
            shape_group(&u, u.k.d.groups[i].head, KERNEL_THOROUGH, &u.k.kernels[i]);
    return u.k;
}

/* The time of a stage without tiles. A grid in shared memory is a part of its reader's kernel. */
static double left_cost(const KernelDraft *k, int s)
{
    if (k->cells[s])
        return kernel_grid_ns(k, k->cells[s] - 1, true);
    if (!k->patterns || kernel_pattern_of(&k->d, s) != KERNEL_GRID)
        return k->device->launch;
    const GraphNode *node = &k->d.graph->nodes[s];
    return node->out_count && k->cells[node->out[0]->consumer] == s + 1 ? 0 : kernel_grid_ns(k, s, false);
}

double kernel_draft_cost(const KernelDraft *k)
{
    double ns = 0;
    for (int i = 0; i < k->d.group_count; i++)
        ns += k->left[k->d.groups[i].head] ? left_cost(k, k->d.groups[i].head) : k->kernels[i].cost.ns;
    return ns;
}
