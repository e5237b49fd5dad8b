/* Drafts: the plain one, what may be inlined, and what may join a group.
 *
 * Readers of a function are found through what is inlined: there the reads end up (plan/inline.c). */
#include "schedulers/draft_internal.h"
#include "schedulers/pattern.h"

enum { MOST_NODES = 6000, MOST_DEPTH = 1000 /* of EXPR_MAX_DEPTH, after inlining */ };
enum { FREE_OPS = 2, CHEAP_OPS = 8 /* as plan/inline.c */, MOST_TIMES = 32, MANY_PLANES = 4 };

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

static bool read_by_stage(const FuncFacts *facts)
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
           inline_check(node->func, node->is_output, read_by_stage(&d->facts[s]), expands) == INLINE_LEGAL;
}

int draft_loop_owner(const Draft *d, int s)
{
    const Choice *c = &d->choices[s];
    return c->at > 0 ? c->at - 1 : d->groups[c->group].head;
}

int draft_head_level(const Draft *d, int s)
{
    while (d->choices[s].at > 0)
        s = d->choices[s].at - 1;
    return d->choices[s].compute;
}

/* Are all definitions that read s, by themselves or by what is inlined into them, of the group, and inside the loops of
 * its head? */
static bool readers_inside(const Draft *d, int s, int group)
{
    const Graph *g    = d->graph;
    const int    head = d->groups[group].head, main = draft_main(d, head);
    for (size_t i = 0; i < d->facts[s].readers.count; i++) {
        const TextReader r  = d->facts[s].readers.at[i];
        const int        at = g->of_func[r.func->id];
        bool             ok;
        if (at < 0) /* no number needs it, but the text does: it is at root */
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
    return is_defined(node) && pattern_may_join(d, s, head) && !node->is_output && node->out_count && s != head &&
           draft_main(d, head) != NO_DEF && readers_inside(d, s, group);
}

/* Does it look up a table that lies in registers, whose places are bytes: a register full of places is looked up at
 * once (codegen/llvm/arch/x86_lookup.c)? */
static bool looks_up_bytes(const Graph *g, const GraphNode *node)
{
    for (int i = 0; i < node->in_count && node->def_count == 1; i++) {
        const GraphNode *p = &g->nodes[node->in[i]->producer];
        if (node->in[i]->gathers && p->kind != NODE_INPUT && p->rank == 1 && p->bytes <= 4 &&
            box_points(&p->box, 1) <= 1 << 8)
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
    if (node->rank < 2 || c->memory || (c->store == c->compute && (!window || node->kind != NODE_PURE)))
        return 1;
    return LINE_BITS / (bits < 8 ? 8 : bits);
}

bool draft_streams(const Draft *d, int s, const Machine *m)
{
    const GraphNode *node = &d->graph->nodes[s];
    if (node->rank > 1 && (node->box.max[0] - node->box.min[0] + 1) * node->bytes % m->line)
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

/* How large a node is with all that is inlined into it: each access brings a copy of what is read, and a reduction is
 * written out step by step, a separated one by what is left of them. */
static Size grown(const Draft *d, const Size *sizes, int s)
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

/* The node that makes `s` too large is put at root; the largest first. */
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
        sizes[s] = grown(d, sizes, s);
        if (d->choices[s].where == WHERE_INLINE && (sizes[s].expr_nodes > MOST_NODES || sizes[s].depth > MOST_DEPTH)) {
            draft_make_root(d, s);
            sizes[s] = grown(d, sizes, s);
        }
        while ((sizes[s].expr_nodes > MOST_NODES || sizes[s].depth > MOST_DEPTH) && inlines_any(d, s)) {
            uninline_largest(d, sizes, s);
            sizes[s] = grown(d, sizes, s);
        }
    }
    scratch_end(&scratch);
}

/* ---- The plain draft -------------------------------------------------------------------- */

/* How often a node would be computed if it were inlined, and whether only at the points of those that read it. */
typedef struct Demand {
    double asked;
    bool   pointwise;
} Demand;

static Demand demand_of(const Draft *d, const Demand *demands, int s)
{
    const Graph *g      = d->graph;
    Demand       demand = { 0, true };
    for (int i = 0; i < g->nodes[s].out_count; i++) {
        const Edge *e       = g->nodes[s].out[i];
        const bool  through = d->choices[e->consumer].where == WHERE_INLINE;
        demand.asked +=
            e->accesses * (through ? demands[e->consumer].asked : g->nodes[e->consumer].defs[e->update + 1].points);
        demand.pointwise &= e->pointwise && (!through || demands[e->consumer].pointwise);
    }
    return demand;
}

/* Does it read every n-th element of a row? That is done by shuffles, once rather than by each of its readers. */
static bool reads_apart(const Edge *e, int rank)
{
    for (int d = 0; d < rank; d++)
        if (e->access[d].var == 0 && e->access[d].num > e->access[d].den)
            return true;
    return false;
}

/* Does a reader move along a row faster than it? Then its loads are shuffles, too. */
static bool is_read_slowly(const GraphNode *node)
{
    for (int i = 0; i < node->out_count; i++)
        if (node->rank && node->out[i]->access[0].var == 0 && node->out[i]->access[0].num < node->out[i]->access[0].den)
            return true;
    return false;
}

/* At most two elements, each at one place, and an operation or two: in its place, two loads are as good as one, if they
 * are dense. A sum is no element: it is best beside what reads it. */
static bool is_trivial(const Graph *g, const GraphNode *node)
{
    bool single =
        node->in_count <= (is_read_slowly(node) ? 1 : 2) && node->defs[0].ops <= FREE_OPS && !node->defs[0].gathers;
    for (int i = 0; i < node->in_count; i++)
        single &= node->in[i]->accesses == 1 && g->nodes[node->in[i]->producer].kind != NODE_REDUCTION &&
                  !reads_apart(node->in[i], g->nodes[node->in[i]->producer].rank);
    return single;
}

/* Several planes for each of its readers, of which each step takes one, and less work where it is read than to write
 * all of them and read them again? */
static bool is_needless_table(const Graph *g, const GraphNode *node, double asked)
{
    const double work    = node->defs[0].ops + node->defs[0].loads;
    double       readers = 0;
    for (int i = 0; i < node->out_count; i++)
        readers += g->nodes[node->out[i]->consumer].defs[0].points;
    return node->defs[0].points > MANY_PLANES * readers && asked * (work - 1) < node->defs[0].points * (work + 2);
}

/* Is it read by sums only that have no dimension of their own for vectors, and is it more than they can compute one by
 * one beside adding? */
static bool is_summed_singly(const Draft *d, const GraphNode *node)
{
    enum { MUCH_OPS = 8, MANY_STEPS = 1024 };
    bool singly = node->out_count > 0 && node->rank > 0 && node->defs[0].ops >= MUCH_OPS;
    for (int i = 0; i < node->out_count; i++) {
        const Edge *e = node->out[i];
        singly &= e->update >= 0 && d->graph->nodes[e->consumer].kind == NODE_REDUCTION &&
                  !d->facts[e->consumer].defs[e->update + 1].free &&
                  d->graph->nodes[e->consumer].defs[e->update + 1].steps >= MANY_STEPS;
    }
    return singly;
}

/* Inlining costs nothing where no point is computed more often than by itself, and hardly anything where it is
 * cheap. */
static bool is_best_inlined(const Draft *d, int s, const Demand *demand)
{
    const GraphNode *node  = &d->graph->nodes[s];
    const double     times = demand->asked / (node->defs[0].points > 1 ? node->defs[0].points : 1);
    if (node->def_count > 1 || !draft_may_inline(d, s) || is_summed_singly(d, node))
        return false;
    return times <= 1.02 || is_needless_table(d->graph, node, demand->asked) ||
           (times <= MOST_TIMES &&
            (is_trivial(d->graph, node) || (demand->pointwise && node->defs[0].ops <= CHEAP_OPS)));
}

/* Read by one function at its own point; if that one is inlined, only where it is at its readers' own points too: else
 * each of them would sum anew. */
static bool is_own_points_reduction(const Graph *g, int s, const Demand *demand)
{
    const GraphNode *node = &g->nodes[s];
    return node->kind == NODE_REDUCTION && !node->is_output && node->out_count == 1 && node->out[0]->update < 0 &&
           demand->pointwise;
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
    for (int s = g->node_count; s-- > 0;) { /* readers first: an inlined node is of its reader's group */
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
