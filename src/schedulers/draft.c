/* Drafts: the plain one, what may be inlined, and what may join a group.
 *
 * Readers of a function are found through what is inlined: there the reads end up (plan/inline.c). */
#include "schedulers/draft_parts.h"
#include "schedulers/special.h"

enum { MOST_NODES = 6000, MOST_DEPTH = 1000 /* of EXPR_MAX_DEPTH, after inlining */ };
enum { FREE_OPS = 2, CHEAP_OPS = 8 /* as plan/inline.c */, MOST_TIMES = 32, MANY_PLANES = 4 };

/* ---- Questions -------------------------------------------------------------------------- */

int draft_main(const Draft *d, int s)
{
    const Stage *st   = &d->graph->stages[s];
    int          main = st->kind == STAGE_PURE ? -1 : NO_DEF;
    double       most = -1;
    if (!st->rank)
        return NO_DEF;
    for (int k = 0; st->kind == STAGE_REDUCTION && k < st->func->update_count; k++) {
        const double work = st->defs[k + 1].points * (st->defs[k + 1].ops + 1);
        if (work <= most)
            continue;
        const DefFacts *facts = &d->facts[s].defs[k + 1];
        most                  = work;
        main                  = facts->other_points || facts->free != (1u << st->rank) - 1 ? NO_DEF : k;
    }
    return main;
}

static bool read_by_stage(const StageFacts *facts)
{
    for (size_t i = 0; i < facts->readers.count; i++)
        if (facts->readers.at[i].func->kind == FUNC_STAGE)
            return true;
    return false;
}

bool draft_may_inline(const Draft *d, int s)
{
    const Stage *st      = &d->graph->stages[s];
    const bool   expands = d->facts[s].expands || d->specials[s].form == SPECIAL_SEPARATE;
    return st->out_count && inline_check(st->func, st->is_output, read_by_stage(&d->facts[s]), expands) == INLINE_LEGAL;
}

int draft_host(const Draft *d, int s)
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
    const Stage *st   = &d->graph->stages[s];
    const int    head = d->groups[group].head;
    return is_defined(st) && special_may_join(d, s, head) && !st->is_output && st->out_count && s != head &&
           draft_main(d, head) != NO_DEF && readers_inside(d, s, group);
}

/* Does it look up a table that lies in registers, whose places are bytes: a register full of places is looked up at
 * once (codegen/llvm_table.c)? */
static bool looks_up_bytes(const Graph *g, const Stage *st)
{
    for (int i = 0; i < st->in_count && st->def_count == 1; i++) {
        const Stage *p = &g->stages[st->in[i]->producer];
        if (st->in[i]->gathers && p->kind != STAGE_INPUT && p->rank == 1 && p->bytes <= 4 &&
            box_points(&p->box, 1) <= 1 << 8)
            return true;
    }
    return false;
}

int draft_lanes(const Draft *d, int s)
{
    const Stage *st    = &d->graph->stages[s];
    int          lanes = d->vector_bits / (st->narrow < 8 || looks_up_bytes(d->graph, st) ? 8 : st->narrow);
    while (lanes > 1 && (lanes > MOST_LANES || lanes > 4 * d->vector_bits / (st->wide < 8 ? 8 : st->wide)))
        lanes /= 2;
    return lanes < 1 ? 1 : lanes;
}

int64_t draft_row_unit(const Draft *d, int s)
{
    enum { LINE_BITS = 512 };
    const Choice *c      = &d->choices[s];
    const Stage  *st     = &d->graph->stages[s];
    bool          window = false;
    int           bits   = 64;
    for (int i = 0; i < st->out_count; i++)
        window |= !st->out[i]->pointwise;
    for (int i = 0; i < st->func->component_count; i++)
        bits = type_bits(st->func->types[i]) < bits ? type_bits(st->func->types[i]) : bits;
    if (st->rank < 2 || c->memory || (c->store == c->compute && (!window || st->kind != STAGE_PURE)))
        return 1;
    return LINE_BITS / (bits < 8 ? 8 : bits);
}

bool draft_streams(const Draft *d, int s, const Machine *m)
{
    const Stage *st = &d->graph->stages[s];
    if (st->rank > 1 && (st->box.max[0] - st->box.min[0] + 1) * st->bytes % m->line)
        return false;
    const double bytes = (double)box_points(&st->box, st->rank) * (double)st->bytes;
    return st->is_output && !st->out_count && st->def_count == 1 && bytes > machine_streams_from(m);
}

/* ---- Inlining -------------------------------------------------------------------------- */

void draft_make_root(Draft *d, int s)
{
    d->groups[d->group_count] = (Group){ .head = s };
    d->choices[s]             = (Choice){ .where = WHERE_ROOT, .group = d->group_count++ };
}

typedef struct Size {
    double nodes, depth;
} Size;

/* How large a stage is with all that is inlined into it: each access brings a copy of what is read, and a reduction is
 * written out step by step, a separated one by what is left of them. */
static Size grown(const Draft *d, const Size *sizes, int s)
{
    const Graph *g     = d->graph;
    const Stage *st    = &g->stages[s];
    Size         at    = { 0, 0 };
    double       steps = 1;
    for (int k = -1; k < st->func->update_count; k++) {
        const DefFacts *facts = &d->facts[s].defs[k + 1];
        at.nodes += d->facts[s].sizes[k + 1].nodes;
        at.depth += d->facts[s].sizes[k + 1].depth;
        steps += k >= 0 && d->choices[s].where == WHERE_INLINE ? (double)facts->steps * special_share(d, s) : 0;
    }
    for (int i = 0; i < st->in_count; i++) {
        const Edge *e = st->in[i];
        if (d->choices[e->producer].where != WHERE_INLINE)
            continue;
        at.nodes += e->accesses * sizes[e->producer].nodes;
        at.depth += e->accesses * sizes[e->producer].depth;
    }
    return (Size){ at.nodes * steps, at.depth * steps };
}

/* The stage that makes `s` too large is put at root; the largest first. */
static void uninline_largest(Draft *d, const Size *sizes, int s)
{
    const Stage *st      = &d->graph->stages[s];
    int          largest = -1;
    for (int i = 0; i < st->in_count; i++) {
        const int p = st->in[i]->producer;
        if (d->choices[p].where == WHERE_INLINE && (largest < 0 || sizes[p].nodes > sizes[largest].nodes))
            largest = p;
    }
    draft_make_root(d, largest);
}

static bool inlines_any(const Draft *d, int s)
{
    const Stage *st = &d->graph->stages[s];
    for (int i = 0; i < st->in_count; i++)
        if (d->choices[st->in[i]->producer].where == WHERE_INLINE)
            return true;
    return false;
}

void draft_settle_inlining(Draft *d)
{
    const Graph *g = d->graph;
    Arena        scratch;
    scratch_begin(&scratch, g->pipeline->cx);
    Size *sizes = ARENA_ARRAY(&scratch, Size, (size_t)g->stage_count + 1);
    for (int s = 0; s < g->stage_count; s++) {
        if (d->choices[s].where == WHERE_INLINE && !draft_may_inline(d, s))
            draft_make_root(d, s);
        if (!is_defined(&g->stages[s]))
            continue;
        sizes[s] = grown(d, sizes, s);
        if (d->choices[s].where == WHERE_INLINE && (sizes[s].nodes > MOST_NODES || sizes[s].depth > MOST_DEPTH)) {
            draft_make_root(d, s);
            sizes[s] = grown(d, sizes, s);
        }
        while ((sizes[s].nodes > MOST_NODES || sizes[s].depth > MOST_DEPTH) && inlines_any(d, s)) {
            uninline_largest(d, sizes, s);
            sizes[s] = grown(d, sizes, s);
        }
    }
    scratch_end(&scratch);
}

/* ---- The plain draft -------------------------------------------------------------------- */

/* How often a stage would be computed if it were inlined, and whether only at the points of those that read it. */
typedef struct Demand {
    double asked;
    bool   pointwise;
} Demand;

static Demand demand_of(const Draft *d, const Demand *demands, int s)
{
    const Graph *g      = d->graph;
    Demand       demand = { 0, true };
    for (int i = 0; i < g->stages[s].out_count; i++) {
        const Edge *e       = g->stages[s].out[i];
        const bool  through = d->choices[e->consumer].where == WHERE_INLINE;
        demand.asked +=
            e->accesses * (through ? demands[e->consumer].asked : g->stages[e->consumer].defs[e->update + 1].points);
        demand.pointwise &= e->pointwise && (!through || demands[e->consumer].pointwise);
    }
    return demand;
}

/* Does it read every n-th element of a row? That is done by shuffles, once rather than by each of its readers. */
static bool reads_apart(const Edge *e, int rank)
{
    for (int d = 0; d < rank; d++)
        if (e->reach[d].var == 0 && e->reach[d].num > e->reach[d].den)
            return true;
    return false;
}

/* Does a reader move along a row faster than it? Then its loads are shuffles, too. */
static bool is_read_slowly(const Stage *st)
{
    for (int i = 0; i < st->out_count; i++)
        if (st->rank && st->out[i]->reach[0].var == 0 && st->out[i]->reach[0].num < st->out[i]->reach[0].den)
            return true;
    return false;
}

/* At most two elements, each at one place, and an operation or two: in its place, two loads are as good as one, if they
 * are dense. A sum is no element: it is best beside what reads it. */
static bool is_trivial(const Graph *g, const Stage *st)
{
    bool single = st->in_count <= (is_read_slowly(st) ? 1 : 2) && st->defs[0].ops <= FREE_OPS && !st->defs[0].gathers;
    for (int i = 0; i < st->in_count; i++)
        single &= st->in[i]->accesses == 1 && g->stages[st->in[i]->producer].kind != STAGE_REDUCTION &&
                  !reads_apart(st->in[i], g->stages[st->in[i]->producer].rank);
    return single;
}

/* Several planes for each of its readers, of which each step takes one, and less work where it is read than to write
 * all of them and read them again? */
static bool is_needless_table(const Graph *g, const Stage *st, double asked)
{
    const double work    = st->defs[0].ops + st->defs[0].loads;
    double       readers = 0;
    for (int i = 0; i < st->out_count; i++)
        readers += g->stages[st->out[i]->consumer].defs[0].points;
    return st->defs[0].points > MANY_PLANES * readers && asked * (work - 1) < st->defs[0].points * (work + 2);
}

/* Is it read by sums only that have no dimension of their own for vectors, and is it more than they can compute one by
 * one beside adding? */
static bool is_summed_singly(const Draft *d, const Stage *st)
{
    enum { MUCH_OPS = 8, MANY_STEPS = 1024 };
    bool singly = st->out_count > 0 && st->rank > 0 && st->defs[0].ops >= MUCH_OPS;
    for (int i = 0; i < st->out_count; i++) {
        const Edge *e = st->out[i];
        singly &= e->update >= 0 && d->graph->stages[e->consumer].kind == STAGE_REDUCTION &&
                  !d->facts[e->consumer].defs[e->update + 1].free &&
                  d->graph->stages[e->consumer].defs[e->update + 1].steps >= MANY_STEPS;
    }
    return singly;
}

/* Inlining costs nothing where no point is computed more often than by itself, and hardly anything where it is
 * cheap. */
static bool is_best_inlined(const Draft *d, int s, const Demand *demand)
{
    const Stage *st    = &d->graph->stages[s];
    const double times = demand->asked / (st->defs[0].points > 1 ? st->defs[0].points : 1);
    if (st->def_count > 1 || !draft_may_inline(d, s) || is_summed_singly(d, st))
        return false;
    return times <= 1.02 || is_needless_table(d->graph, st, demand->asked) ||
           (times <= MOST_TIMES && (is_trivial(d->graph, st) || (demand->pointwise && st->defs[0].ops <= CHEAP_OPS)));
}

/* Read by one function at its own point; if that one is inlined, only where it is at its readers' own points too: else
 * each of them would sum anew. */
static bool is_own_points_reduction(const Graph *g, int s, const Demand *demand)
{
    const Stage *st = &g->stages[s];
    return st->kind == STAGE_REDUCTION && !st->is_output && st->out_count == 1 && st->out[0]->update < 0 &&
           demand->pointwise;
}

Draft draft_copy(const Draft *d, Arena *arena)
{
    const size_t stages = (size_t)d->graph->stage_count, room = stages + 1;
    Draft        copy = *d;
    copy.groups       = ARENA_ARRAY(arena, Group, room);
    copy.choices      = ARENA_ARRAY(arena, Choice, room);
    copy.specials     = special_new(d->graph, arena);
    memcpy(copy.groups, d->groups, sizeof *d->groups * (size_t)d->group_count);
    memcpy(copy.choices, d->choices, sizeof *d->choices * stages);
    memcpy(copy.specials, d->specials, sizeof *d->specials * stages);
    return copy;
}

Draft draft_plain(const Graph *g, const Machine *m, Arena *arena)
{
    StageFacts       *facts = ARENA_ARRAY(arena, StageFacts, (size_t)g->stage_count + 1);
    const StageFacts *all   = func_facts(g->pipeline, arena);
    for (int s = 0; s < g->stage_count; s++)
        facts[s] = all[g->stages[s].func->id];
    Draft   d       = { .graph       = g,
                        .facts       = facts,
                        .vector_bits = m->vector_bits,
                        .groups      = ARENA_ARRAY(arena, Group, (size_t)g->stage_count + 1),
                        .choices     = ARENA_ARRAY(arena, Choice, (size_t)g->stage_count + 1),
                        .specials    = special_new(g, arena) };
    Demand *demands = ARENA_ARRAY(arena, Demand, (size_t)g->stage_count + 1);
    for (int s = g->stage_count; s-- > 0;) { /* readers first: an inlined stage is of its reader's group */
        const Stage *st = &g->stages[s];
        demands[s]      = demand_of(&d, demands, s);
        if (st->kind == STAGE_INPUT)
            d.choices[s] = (Choice){ .where = WHERE_ROOT, .group = -1 };
        else if (is_best_inlined(&d, s, &demands[s]))
            d.choices[s] = (Choice){ .where = WHERE_INLINE, .group = d.choices[st->out[0]->consumer].group };
        else if (is_own_points_reduction(g, s, &demands[s]))
            d.choices[s] = (Choice){ .where = WHERE_DEFAULT, .group = d.choices[st->out[0]->consumer].group };
        else
            draft_make_root(&d, s);
    }
    special_begin(&d, m);
    draft_settle_inlining(&d);
    return d;
}
