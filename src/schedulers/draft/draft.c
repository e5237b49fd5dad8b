/* SPDX-License-Identifier: MIT */
/* Drafts: the plain one, what may be inlined, and what may join a group.
 *
 * Readers are found through inlined nodes, because that is where their reads end up (plan/inline.c). */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/rules/pattern.h"

/* Limits of a definition with what is inlined into it: distinct nodes of its expressions, and their depth, which
 * EXPR_MAX_DEPTH bounds. */
enum { MOST_NODES = 6000, MOST_DEPTH = 1000 };
/* Operations per point that are free or cheap to repeat: as in plan/inline.c. */
enum { FREE_OPS = 2, CHEAP_OPS = 8 };
/* Evaluations of an inlined point for each that is needed: never more. */
enum { MOST_TIMES = 32 };
/* Planes for each point of the readers from which on a node is a table. */
enum { MANY_PLANES = 4 };

/* ---- Questions -------------------------------------------------------------------------- */

int draft_main(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    int              main = node->kind == NODE_PURE ? -1 : NO_DEF;
    double           most = -1;
    if (!node->rank)
        return NO_DEF;
    for (int k = 0; node->kind == NODE_REDUCTION && k < node->func->update_count; k++) {
        const double work = node->defs[k + 1].points * (node->defs[k + 1].ops + 1);
        if (work <= most)
            continue;
        const DefFacts *facts = &d->facts[s].defs[k + 1];
        most                  = work;
        main                  = facts->other_points || facts->free != (1u << node->rank) - 1 ? NO_DEF : k;
    }
    return main;
}

/* Is it defined by the pipeline and only read there? */
static bool is_internal(const GraphNode *node)
{
    return is_defined(node) && !node->is_output && node->out_count;
}

static bool read_by_extern(const FuncFacts *facts)
{
    for (size_t i = 0; i < facts->readers.count; i++)
        if (facts->readers.at[i].func->kind == FUNC_STAGE)
            return true;
    return false;
}

bool draft_may_inline(const Draft *d, int s)
{
    const GraphNode *node    = &d->graph->nodes[s];
    const bool       expands = d->facts[s].expands || d->patterns[s].kind == PATTERN_SEPARATE;
    return node->out_count &&
           inline_check(node->func, node->is_output, read_by_extern(&d->facts[s]), expands) == INLINE_LEGAL;
}

int draft_loop_owner(const Draft *d, int s)
{
    const Choice *c = &d->choices[s];
    return c->at > 0 ? c->at - 1 : d->groups[c->group].head;
}

bool draft_has_members(const Draft *d, int group)
{
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->choices[s].where == WHERE_INSIDE && d->choices[s].group == group)
            return true;
    return false;
}

int draft_head_level(const Draft *d, int s)
{
    while (d->choices[s].at > 0)
        s = d->choices[s].at - 1;
    return d->choices[s].compute;
}

/* Are all definitions that read s, directly or through inlined nodes, in the group and inside the loops of its head? */
static bool readers_inside(const Draft *d, int s, int group)
{
    const Graph *g    = d->graph;
    const int    head = d->groups[group].head, main = draft_main(d, head);
    for (size_t i = 0; i < d->facts[s].readers.count; i++) {
        const TextReader r  = d->facts[s].readers.at[i];
        const int        at = g->of_func[r.func->id];
        bool             ok;
        if (at < 0) /* no box needs it, but the text reads it: it is at root */
            return false;
        const Choice *c = &d->choices[at];
        if (c->where == WHERE_INLINE)
            ok = readers_inside(d, at, group);
        else if (at == head)
            ok = r.update == main;
        else
            ok = c->where == WHERE_INSIDE && c->group == group;
        if (!ok)
            return false;
    }
    return true;
}

bool draft_may_join(const Draft *d, int s, int group)
{
    const GraphNode *node = &d->graph->nodes[s];
    const int        head = d->groups[group].head;
    if (!is_internal(node) || s == head || draft_main(d, head) == NO_DEF)
        return false;
    return pattern_may_join(d, s, head) && readers_inside(d, s, group);
}

/* Does it look up a table that stays in registers, with byte indices? A full register of indices is looked up at a time
 * (codegen/llvm/arch/x86_lookup.c). */
static bool looks_up_bytes(const Graph *g, const GraphNode *node)
{
    for (int i = 0; i < node->in_count && node->def_count == 1; i++) {
        const GraphNode *p     = &g->nodes[node->in[i]->producer];
        const bool       small = p->rank == 1 && p->bytes <= 4 && box_points(&p->box, 1) <= 1 << 8;
        if (node->in[i]->gathers && p->kind != NODE_INPUT && small)
            return true;
    }
    return false;
}

int draft_lanes(const Draft *d, int s)
{
    const GraphNode *node  = &d->graph->nodes[s];
    int              lanes = d->vector_bits / (node->narrow < 8 || looks_up_bytes(d->graph, node) ? 8 : node->narrow);
    while (lanes > 1 && (lanes > MOST_DRAFT_LANES || lanes > 4 * d->vector_bits / (node->wide < 8 ? 8 : node->wide)))
        lanes /= 2;
    return lanes < 1 ? 1 : lanes;
}

int64_t draft_row_unit(const Draft *d, int s)
{
    enum { LINE_BITS = 512 };
    const Choice    *c      = &d->choices[s];
    const GraphNode *node   = &d->graph->nodes[s];
    bool             window = false;
    int              bits   = 64;
    for (int i = 0; i < node->out_count; i++)
        window |= !node->out[i]->pointwise;
    for (int i = 0; i < node->func->component_count; i++)
        bits = type_bits(node->func->types[i]) < bits ? type_bits(node->func->types[i]) : bits;
    const bool padded = c->store != c->compute || (window && node->kind == NODE_PURE);
    if (node->rank < 2 || c->memory || !padded)
        return 1;
    return LINE_BITS / (bits < 8 ? 8 : bits);
}

bool draft_streams(const Draft *d, int s, const Machine *m)
{
    const GraphNode *node = &d->graph->nodes[s];
    if (node->rank > 1 && box_extent(&node->box, 0) * node->bytes % m->line)
        return false;
    const double bytes = (double)box_points(&node->box, node->rank) * (double)node->bytes;
    return node->is_output && !node->out_count && node->def_count == 1 && bytes > machine_streams_from(m);
}

/* ---- Inlining -------------------------------------------------------------------------- */

void draft_make_root(Draft *d, int s)
{
    d->groups[d->group_count] = (Group){ .head = s };
    d->choices[s]             = (Choice){ .where = WHERE_ROOT, .group = d->group_count++ };
}

typedef struct Size {
    double expr_nodes, depth;
} Size;

/* The size of a node with all that is inlined into it. Each access adds a copy of its producer; a reduction is
 * unrolled, a separated one by its reduced steps. */
static Size inlined_size(const Draft *d, const Size *sizes, int s)
{
    const Graph     *g     = d->graph;
    const GraphNode *node  = &g->nodes[s];
    Size             at    = { 0, 0 };
    double           steps = 1;
    for (int k = -1; k < node->func->update_count; k++) {
        const DefFacts *facts = &d->facts[s].defs[k + 1];
        at.expr_nodes += d->facts[s].sizes[k + 1].expr_nodes;
        at.depth += d->facts[s].sizes[k + 1].depth;
        steps += k >= 0 && d->choices[s].where == WHERE_INLINE ? (double)facts->steps * pattern_work_share(d, s) : 0;
    }
    for (int i = 0; i < node->in_count; i++) {
        const Edge *e = node->in[i];
        if (d->choices[e->producer].where != WHERE_INLINE)
            continue;
        at.expr_nodes += e->accesses * sizes[e->producer].expr_nodes;
        at.depth += e->accesses * sizes[e->producer].depth;
    }
    return (Size){ at.expr_nodes * steps, at.depth * steps };
}

/* Puts the largest node inlined into `s` at root. */
static void uninline_largest(Draft *d, const Size *sizes, int s)
{
    const GraphNode *node    = &d->graph->nodes[s];
    int              largest = -1;
    for (int i = 0; i < node->in_count; i++) {
        const int p = node->in[i]->producer;
        if (d->choices[p].where == WHERE_INLINE && (largest < 0 || sizes[p].expr_nodes > sizes[largest].expr_nodes))
            largest = p;
    }
    draft_make_root(d, largest);
}

static bool inlines_any(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->in_count; i++)
        if (d->choices[node->in[i]->producer].where == WHERE_INLINE)
            return true;
    return false;
}

void draft_legalize_inlining(Draft *d)
{
    const Graph *g = d->graph;
    Arena        scratch;
    scratch_begin(&scratch, g->pipeline->cx);
    Size *sizes = ARENA_ARRAY(&scratch, Size, (size_t)g->node_count + 1);
    for (int s = 0; s < g->node_count; s++) {
        if (d->choices[s].where == WHERE_INLINE && !draft_may_inline(d, s))
            draft_make_root(d, s);
        if (!is_defined(&g->nodes[s]))
            continue;
        sizes[s] = inlined_size(d, sizes, s);
        if (d->choices[s].where == WHERE_INLINE && (sizes[s].expr_nodes > MOST_NODES || sizes[s].depth > MOST_DEPTH)) {
            draft_make_root(d, s);
            sizes[s] = inlined_size(d, sizes, s);
        }
        while ((sizes[s].expr_nodes > MOST_NODES || sizes[s].depth > MOST_DEPTH) && inlines_any(d, s)) {
            uninline_largest(d, sizes, s);
            sizes[s] = inlined_size(d, sizes, s);
        }
    }
    scratch_end(&scratch);
}

/* ---- The plain draft -------------------------------------------------------------------- */

/* How often a node would be computed if it were inlined, and whether only at its readers' own points. */
typedef struct Demand {
    double evaluations;
    bool   pointwise;
} Demand;

static Demand demand_of(const Draft *d, const Demand *demands, int s)
{
    const Graph *g      = d->graph;
    Demand       demand = { 0, true };
    for (int i = 0; i < g->nodes[s].out_count; i++) {
        const Edge *e       = g->nodes[s].out[i];
        const bool  through = d->choices[e->consumer].where == WHERE_INLINE;
        demand.evaluations += e->accesses * (through ? demands[e->consumer].evaluations
                                                     : g->nodes[e->consumer].defs[e->update + 1].points);
        demand.pointwise &= e->pointwise && (!through || demands[e->consumer].pointwise);
    }
    return demand;
}

/* Does it read a row with stride above 1? The shuffles for that are better done once than by each reader. */
static bool has_stride(const Edge *e, int rank)
{
    for (int d = 0; d < rank; d++)
        if (e->access[d].var == 0 && e->access[d].num > e->access[d].den)
            return true;
    return false;
}

/* Is it upsampled by a reader (stride below 1)? Then its loads need shuffles too. */
static bool is_upsampled(const GraphNode *node)
{
    for (int i = 0; i < node->out_count; i++)
        if (node->rank && node->out[i]->access[0].var == 0 && node->out[i]->access[0].num < node->out[i]->access[0].den)
            return true;
    return false;
}

/* Does it read at most two elements and do an operation or two? Inlined, its dense loads take the place of one load. A
 * sum does not count as an element: it is best computed next to its reader. */
static bool is_trivial(const Graph *g, const GraphNode *node)
{
    bool single =
        node->in_count <= (is_upsampled(node) ? 1 : 2) && node->defs[0].ops <= FREE_OPS && !node->defs[0].gathers;
    for (int i = 0; i < node->in_count; i++)
        single &= node->in[i]->accesses == 1 && g->nodes[node->in[i]->producer].kind != NODE_REDUCTION &&
                  !has_stride(node->in[i], g->nodes[node->in[i]->producer].rank);
    return single;
}

/* Does it have many planes, of which each step of a reader uses one, and cost less to compute there than to store and
 * reload? */
static bool is_cheap_table(const Graph *g, const GraphNode *node, double evaluations)
{
    const double work    = node->defs[0].ops + node->defs[0].loads;
    double       readers = 0;
    for (int i = 0; i < node->out_count; i++)
        readers += g->nodes[node->out[i]->consumer].defs[0].points;
    return node->defs[0].points > MANY_PLANES * readers && evaluations * (work - 1) < node->defs[0].points * (work + 2);
}

/* Is it expensive and read only by sums without free dimensions? Inlined there it could not be vectorized. */
static bool feeds_scalar_sums(const Draft *d, const GraphNode *node)
{
    enum { MUCH_OPS = 8, MANY_STEPS = 1024 };
    bool all = node->out_count > 0 && node->rank > 0 && node->defs[0].ops >= MUCH_OPS;
    for (int i = 0; i < node->out_count; i++) {
        const Edge *e = node->out[i];
        all &= e->update >= 0 && d->graph->nodes[e->consumer].kind == NODE_REDUCTION &&
               !d->facts[e->consumer].defs[e->update + 1].free &&
               d->graph->nodes[e->consumer].defs[e->update + 1].steps >= MANY_STEPS;
    }
    return all;
}

/* Inlining is free where no point is computed more often than at root, and nearly free where it is cheap. */
static bool is_best_inlined(const Draft *d, int s, const Demand *demand)
{
    const GraphNode *node  = &d->graph->nodes[s];
    const double     times = demand->evaluations / (node->defs[0].points > 1 ? node->defs[0].points : 1);
    const bool       cheap = demand->pointwise && node->defs[0].ops <= CHEAP_OPS;
    if (node->def_count > 1 || !draft_may_inline(d, s) || feeds_scalar_sums(d, node))
        return false;
    return times <= hardly_more || is_cheap_table(d->graph, node, demand->evaluations) ||
           (times <= MOST_TIMES && (is_trivial(d->graph, node) || cheap));
}

/* Is it a reduction that one node reads at its own point? If that reader is inlined, its readers must read it at their
 * own points, else each would sum anew. */
static bool is_own_points_reduction(const Graph *g, int s, const Demand *demand)
{
    const GraphNode *node       = &g->nodes[s];
    const bool       one_reader = !node->is_output && node->out_count == 1 && node->out[0]->update < 0;
    return node->kind == NODE_REDUCTION && one_reader && demand->pointwise;
}

Draft draft_copy(const Draft *d, Arena *arena)
{
    const size_t nodes = (size_t)d->graph->node_count, room = nodes + 1;
    Draft        copy = *d;
    copy.groups       = ARENA_ARRAY(arena, Group, room);
    copy.choices      = ARENA_ARRAY(arena, Choice, room);
    copy.patterns     = patterns_new(d->graph, arena);
    memcpy(copy.groups, d->groups, sizeof *d->groups * (size_t)d->group_count);
    memcpy(copy.choices, d->choices, sizeof *d->choices * nodes);
    memcpy(copy.patterns, d->patterns, sizeof *d->patterns * nodes);
    return copy;
}

Draft draft_plain(const Graph *g, const Machine *m, Arena *arena)
{
    FuncFacts       *facts = ARENA_ARRAY(arena, FuncFacts, (size_t)g->node_count + 1);
    const FuncFacts *all   = func_facts(g->pipeline, arena);
    for (int s = 0; s < g->node_count; s++)
        facts[s] = all[g->nodes[s].func->id];
    Draft   d       = { .graph       = g,
                        .facts       = facts,
                        .vector_bits = m->vector_bits,
                        .groups      = ARENA_ARRAY(arena, Group, (size_t)g->node_count + 1),
                        .choices     = ARENA_ARRAY(arena, Choice, (size_t)g->node_count + 1),
                        .patterns    = patterns_new(g, arena) };
    Demand *demands = ARENA_ARRAY(arena, Demand, (size_t)g->node_count + 1);
    for (int s = g->node_count; s-- > 0;) { /* consumers first: an inlined node has the group of its reader */
        const GraphNode *node = &g->nodes[s];
        demands[s]            = demand_of(&d, demands, s);
        if (node->kind == NODE_INPUT)
            d.choices[s] = (Choice){ .where = WHERE_ROOT, .group = -1 };
        else if (is_best_inlined(&d, s, &demands[s]))
            d.choices[s] = (Choice){ .where = WHERE_INLINE, .group = d.choices[node->out[0]->consumer].group };
        else if (is_own_points_reduction(g, s, &demands[s]))
            d.choices[s] = (Choice){ .where = WHERE_DEFAULT, .group = d.choices[node->out[0]->consumer].group };
        else
            draft_make_root(&d, s);
    }
    patterns_choose(&d, m);
    draft_legalize_inlining(&d);
    return d;
}
