/* SPDX-License-Identifier: MIT */
/* Drafts: what may be inlined, and what may join a group.
 *
 * Readers are found through inlined nodes, because that is where their reads end up (plan/inline.c). */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern.h"

/* Limits of a definition with what is inlined into it: distinct nodes of its expressions, and their depth, which
 * EXPR_MAX_DEPTH bounds. */
enum { MOST_NODES = 6000, MOST_DEPTH = 1000 };

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

/* ---- Chains ----------------------------------------------------------------------------- */

/* The one node, not inlined, whose pure definition reads s, directly or through inlined nodes; `found` if one is known
 * already. -1: there are several, or it is no pure definition. */
static int sole_reader(const Draft *d, int s, int found)
{
    const FuncFacts *facts = &d->facts[s];
    for (size_t i = 0; i < facts->readers.count; i++) {
        const int at = d->graph->of_func[facts->readers.at[i].func->id];
        if (at < 0)
            return -1;
        if (d->choices[at].where == WHERE_INLINE)
            found = sole_reader(d, at, found);
        else
            found = (found == at || found == NO_DEF) && d->graph->nodes[at].kind == NODE_PURE ? at : -1;
        if (found == -1)
            return -1;
    }
    return found;
}

int draft_chain_reader(const Draft *d, int s)
{
    const int reader = sole_reader(d, s, NO_DEF);
    return reader < 0 ? -1 : reader;
}

/* Are its rows read with stride 1? */
static bool has_unit_stride(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->out_count; i++) {
        const Edge *e = node->out[i];
        if (e->access[1].var != 1 || e->access[1].num != 1 || e->access[1].den != 1)
            return false;
        if (d->choices[e->consumer].where == WHERE_INLINE &&
            (d->graph->nodes[e->consumer].rank != 2 || !has_unit_stride(d, e->consumer)))
            return false;
    }
    return true;
}

bool draft_may_chain(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    if (node->kind != NODE_PURE || node->rank != 2 || node->is_output)
        return false;
    return draft_chain_reader(d, s) >= 0 && has_unit_stride(d, s);
}

/* ---- Copies ----------------------------------------------------------------------------- */

/* Schedulers try thousands of drafts, and of a thousand functions most have one of few nests. */
typedef struct Nests {
    Arena *arena;
    VEC(const MemberNest *) made;
} Nests;

Nests *draft_nests(Arena *arena)
{
    Nests *nests = ARENA_NEW(arena, Nests);
    nests->arena = arena;
    return nests;
}

const MemberNest *draft_nest(const Draft *d, const MemberNest *n)
{
    Nests *nests = d->nests;
    for (size_t i = 0; i < nests->made.count; i++)
        if (!memcmp(nests->made.at[i], n, sizeof *n))
            return nests->made.at[i];
    MemberNest *made = memcpy(ARENA_NEW(nests->arena, MemberNest), n, sizeof *n);
    vec_push(nests->arena, &nests->made, made);
    return made;
}

Draft draft_copy(const Draft *d, Arena *arena)
{
    const size_t room = (size_t)d->graph->node_count + 1;
    Draft        copy = *d;
    copy.groups       = ARENA_ARRAY(arena, Group, room);
    copy.choices      = ARENA_ARRAY(arena, Choice, room);
    copy.patterns     = patterns_new(d->graph, arena);
    draft_assign(&copy, d);
    return copy;
}

void draft_assign(Draft *d, const Draft *from)
{
    const Draft  own   = *d;
    const size_t nodes = (size_t)from->graph->node_count;
    *d                 = *from;
    d->groups          = own.groups;
    d->choices         = own.choices;
    d->patterns        = own.patterns;
    memcpy(d->groups, from->groups, sizeof *d->groups * (size_t)from->group_count);
    memcpy(d->choices, from->choices, sizeof *d->choices * nodes);
    memcpy(d->patterns, from->patterns, sizeof *d->patterns * nodes);
}

bool draft_same(const Draft *a, const Draft *b)
{
    const size_t nodes = (size_t)a->graph->node_count;
    return a->group_count == b->group_count && a->copy_count == b->copy_count && a->copies == b->copies &&
           !memcmp(a->groups, b->groups, sizeof *a->groups * (size_t)a->group_count) &&
           !memcmp(a->choices, b->choices, sizeof *a->choices * nodes) &&
           !memcmp(a->patterns, b->patterns, sizeof *a->patterns * nodes);
}

bool draft_same_node(const Draft *a, const Draft *b, int s)
{
    const Choice *ca = &a->choices[s], *cb = &b->choices[s];
    return !memcmp(ca, cb, sizeof *ca) && !memcmp(&a->patterns[s], &b->patterns[s], sizeof *a->patterns) &&
           (ca->group < 0 || !memcmp(&a->groups[ca->group], &b->groups[cb->group], sizeof *a->groups));
}
