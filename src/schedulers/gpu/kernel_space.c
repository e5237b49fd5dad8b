/* SPDX-License-Identifier: MIT */
/* The group that is looked at: which nodes it has, which of them have threads of their own, and whether what a tile
 * needs of them has a constant bound.
 *
 * Bounds  Memory of a block and of a thread has a constant size, whatever the sizes of a call. So a member's box must
 *         follow from the tile of the head by offsets and strides alone: not by data, by the size of an image, or by
 *         reductions whose length is no constant. */
#include "schedulers/gpu/kernels.h"
#include "schedulers/graph/constants.h"
#include "schedulers/graph/def_facts.h"

bool kernel_may_head(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    if (node->kind != NODE_PURE && node->kind != NODE_REDUCTION)
        return false;
    for (int k = 0; k < node->func->update_count; k++) {
        const DefFacts *facts = &d->facts[s].defs[k + 1];
        if (facts->other_points || facts->free != (1u << node->rank) - 1 || facts->bounding & FREE_VARIABLES)
            return false;
    }
    return node->rank > 0;
}

/* Does the index along `dim` follow from the reader's tile by constants alone? */
static bool has_constant_span(const Graph *g, const Edge *e, int dim)
{
    const GraphNode   *reader = &g->nodes[e->consumer];
    const AccessRange *r      = &e->access[dim];
    const uint32_t     movers = def_movers(g->pipeline, reader->func, e->update, g->nodes[e->producer].func, dim);
    const uint32_t     free   = movers & FREE_VARIABLES;
    if (movers & MOVED_BY_DATA || free & (free - 1) || (free && r->var < 0) || access_is_clamped(r) || !r->exact)
        return false;
    for (int i = 0; e->update >= 0 && i < reader->func->updates[e->update].rvar_count; i++)
        if (movers >> (KN_MAX_RANK + i) & 1 && !rvar_steps(&reader->func->updates[e->update].rvars[i]))
            return false;
    return true;
}

/* By edge: has every index a constant span? */
static bool *find_constant_spans(const Graph *g, Arena *arena)
{
    bool *all = ARENA_ARRAY(arena, bool, (size_t)g->edge_count + 1);
    for (int i = 0; i < g->edge_count; i++) {
        const Edge *e = &g->edges[i];
        all[i]        = g->nodes[e->consumer].kind != NODE_EXTERN;
        for (int d = 0; all[i] && d < g->nodes[e->producer].rank; d++)
            all[i] = has_constant_span(g, e, d);
    }
    return all;
}

/* Is every input read within its bounds, whatever is computed? */
static bool clamps_inputs(const Graph *g)
{
    for (int i = 0; i < g->edge_count; i++)
        for (int d = 0; g->nodes[g->edges[i].producer].kind == NODE_INPUT && d < g->nodes[g->edges[i].producer].rank;
             d++)
            if (g->edges[i].access[d].var >= 0 && !access_is_clamped(&g->edges[i].access[d]))
                return false;
    return true;
}

/* Do threads divide this coordinate of the head? */
static bool is_divided(const KernelSpace *s, int d)
{
    for (int i = 0; i < s->among_count; i++) {
        const GraphNode *node = &s->g->nodes[s->among[i]];
        for (int k = 0; kernel_in_threads(s, s->among[i], s->head) | (s->among[i] == s->head) && k < node->in_count;
             k++)
            for (int e = 0; e < s->g->nodes[node->in[k]->producer].rank; e++) {
                const AccessRange *r = &node->in[k]->access[e];
                if (r->var >= 0 && r->den % 2 == 0 && s->depends[s->among[i]][r->var] == 1u << d)
                    return true;
            }
    }
    return false;
}

int64_t kernel_alignment(const KernelSpace *s, int d, int64_t each)
{
    int64_t power = 1;
    while (each % (2 * power) == 0 && 2 * power <= MOST_WIDENED)
        power *= 2;
    return s->g->nodes[s->head].is_output ? each : s->aligns && power > 1 && is_divided(s, d) ? power : 1;
}

KernelSpace kernel_space(KernelDraft *k, bool paper, Arena *arena)
{
    const size_t n = (size_t)k->d.graph->node_count + 1;
    return (KernelSpace){ .k         = k,
                          .g         = k->d.graph,
                          .paper     = paper,
                          .among     = ARENA_ARRAY(arena, int, n),
                          .given     = ARENA_ARRAY(arena, bool, n),
                          .member    = ARENA_ARRAY(arena, bool, n),
                          .block     = ARENA_ARRAY(arena, Box, n),
                          .thread    = ARENA_ARRAY(arena, Box, n),
                          .hull      = ARENA_ARRAY(arena, Box, n),
                          .points    = ARENA_ARRAY(arena, double, n),
                          .at_once   = ARENA_ARRAY(arena, double, n),
                          .at_step   = ARENA_ARRAY(arena, double, n),
                          .within    = ARENA_ARRAY(arena, bool, n),
                          .repeats   = ARENA_ARRAY(arena, double, n),
                          .shifted   = ARENA_ARRAY(arena, bool, n),
                          .asked     = ARENA_ARRAY(arena, double, n),
                          .held      = ARENA_ARRAY(arena, double, n),
                          .scale     = arena_array(arena, n, sizeof(KernelScale[KN_MAX_RANK])),
                          .touched   = ARENA_ARRAY(arena, int, n),
                          .depends   = arena_array(arena, n, sizeof(uint32_t[KN_MAX_RANK])),
                          .span      = arena_array(arena, n, sizeof(KernelSpan[KN_MAX_RANK])),
                          .aligns    = clamps_inputs(k->d.graph),
                          .constant  = find_constant_spans(k->d.graph, arena),
                          .unbounded = ARENA_ARRAY(arena, bool, n),
                          .last      = ARENA_ARRAY(arena, int, n) };
}

bool kernel_is_unit(const KernelSpace *s, int node)
{
    const Choice *c = &s->k->d.choices[node];
    return node == s->head ||
           (c->where == WHERE_INSIDE && c->group == s->k->d.choices[s->head].group && !s->k->nested[node]);
}

bool kernel_may_have_points(const KernelSpace *s, int member)
{
    return s->aligns && member != s->head && kernel_is_unit(s, member) && s->g->nodes[member].def_count == 1;
}

void kernel_points_of_thread(const KernelSpace *s, const KernelShape *shape, int unit, int64_t *each)
{
    const bool several = kernel_may_have_points(s, unit);
    for (int d = 0; d < KN_MAX_RANK; d++) {
        const int64_t own    = unit == s->head ? shape->each[d] : several ? s->k->each[unit][d] : 1;
        const int64_t all    = unit == s->head || d >= s->g->nodes[unit].rank ? own : box_extent(&s->block[unit], d);
        const bool    ragged = d > 1 && own > 1 && all > own && all % own; /* planes are not rounded up */
        each[d]              = own < 1 || all < 1 || ragged ? 1 : own < all ? own : all;
    }
}

int64_t kernel_steps_of_table(const KernelDraft *k, int node)
{
    const GraphNode *n     = &k->d.graph->nodes[node];
    int64_t          steps = 1;
    bool             any   = false;
    if (n->kind != NODE_REDUCTION || n->func->update_count != 1)
        return 0;
    for (int i = 0; i < n->in_count; i++)
        any |= n->in[i]->update >= 0 && k->table[n->in[i]->producer];
    for (int i = 0; any && i < n->func->updates[0].rvar_count && steps <= TABLE_MOST_STEPS; i++)
        steps *= rvar_steps(&n->func->updates[0].rvars[i]);
    return any && steps <= TABLE_MOST_STEPS ? steps : 0;
}

bool kernel_holds_sums(const KernelDraft *k, int node)
{
    const GraphNode *n = &k->d.graph->nodes[node];
    return !k->memory && n->def_count > 1 && !n->is_output && k->d.choices[node].where == WHERE_ROOT;
}

bool kernel_in_threads(const KernelSpace *s, int node, int unit)
{
    const Choice *c = &s->k->d.choices[node];
    return c->where == WHERE_INLINE ||
           (c->where == WHERE_INSIDE && s->k->nested[node] == unit + 1 && c->group == s->k->d.choices[s->head].group);
}

/* Is the node in the group, or inlined into it? */
static bool is_part(const KernelSpace *s, int node)
{
    const Choice *c = &s->k->d.choices[node];
    return node == s->head || c->where == WHERE_INLINE ||
           (c->where == WHERE_INSIDE && c->group == s->k->d.choices[s->head].group);
}

/* Notes how a dimension of a member moves with the head. Two ways that differ have no bound in common. */
static bool has_one_scale(KernelSpace *s, const Edge *e, int d)
{
    const AccessRange *r   = &e->access[d];
    KernelScale       *own = &s->scale[e->producer][d], now = { 0, 1, 0 };
    if (r->var >= 0) {
        now = s->scale[e->consumer][r->var];
        now.num *= r->num;
        now.den *= r->den;
        now.steps += r->num != 1 || r->den != 1;
        while (now.num % 2 == 0 && now.den % 2 == 0 && now.num) {
            now.num /= 2;
            now.den /= 2;
        }
    }
    const bool same = !own->den || (own->num == now.num && own->den == now.den);
    now.steps       = now.steps > own->steps ? now.steps : own->steps;
    *own            = now;
    return same && now.steps <= MOST_SCALINGS;
}

/* What the reads of one edge say of its producer. */
static void follow(KernelSpace *s, const Edge *e)
{
    const int p = e->producer, reader = e->consumer;
    for (int d = 0; d < s->g->nodes[p].rank; d++) {
        if (e->access[d].var >= 0)
            s->depends[p][d] |= s->depends[reader][e->access[d].var];
        s->unbounded[p] |= !has_one_scale(s, e, d);
    }
    s->unbounded[p] |= !s->constant[e - s->g->edges] || s->unbounded[reader];
    const bool inlined = s->k->d.choices[reader].where == WHERE_INLINE;
    const int  last    = inlined ? s->last[reader] : s->k->nested[reader] ? s->k->nested[reader] - 1 : reader;
    s->last[p]         = last > s->last[p] ? last : s->last[p];
}

void kernel_space_begin(KernelSpace *s, int head)
{
    s->head        = head;
    s->among_count = 0;
    for (int i = 0; i < s->g->node_count; i++) {
        memset(s->depends[i], 0, sizeof s->depends[i]);
        memset(s->scale[i], 0, sizeof s->scale[i]);
        s->unbounded[i] = false;
        s->last[i]      = -1;
        s->member[i]    = false;
    }
    s->member[head] = true;
    for (int d = 0; d < s->g->nodes[head].rank; d++) {
        s->depends[head][d] = 1u << d;
        s->scale[head][d]   = (KernelScale){ 1, 1, 0 };
    }
    for (int i = head; i >= 0; i--) { /* consumers first */
        if (!s->member[i])
            continue;
        s->among[s->among_count++] = i;
        const GraphNode *node      = &s->g->nodes[i];
        for (int k = 0; k < node->in_count; k++) {
            s->member[node->in[k]->producer] |= is_part(s, node->in[k]->producer);
            follow(s, node->in[k]);
        }
    }
    for (int i = 0; i < s->among_count / 2; i++) {
        const int other                  = s->among[i];
        s->among[i]                      = s->among[s->among_count - 1 - i];
        s->among[s->among_count - 1 - i] = other;
    }
    for (int i = 0; i < s->among_count; i++)
        s->member[s->among[i]] = false;
}

enum { NO_READER = -3 };

/* Joins the definitions that read; NO_DEF once two differ. */
static int join(int a, int b)
{
    return a == NO_READER ? b : a == b ? a : NO_DEF;
}

int kernel_reading_def(const KernelSpace *s, int node, int unit)
{
    int all = NO_READER;
    for (size_t i = 0; i < s->k->d.facts[node].readers.count && all != NO_DEF; i++) {
        const TextReader r  = s->k->d.facts[node].readers.at[i];
        const int        at = s->g->of_func[r.func->id];
        all                 = join(all, at < 0                           ? NO_DEF
                                        : at == unit                     ? r.update
                                        : kernel_in_threads(s, at, unit) ? kernel_reading_def(s, at, unit)
                                                                         : NO_DEF);
    }
    return all == NO_READER ? NO_DEF : all;
}

/* Are the operands of its update whole before the kernel, at places that no data decide? */
static bool has_whole_operands(const KernelSpace *s, const GraphNode *node)
{
    int operands = 0;
    for (int i = 0; i < node->in_count; i++) {
        const Edge *e = node->in[i];
        if (e->update < 0)
            continue;
        operands++;
        if (is_part(s, e->producer) || e->gathers || !s->g->nodes[e->producer].rank || e->accesses != 1)
            return false;
    }
    return operands > 1;
}

int kernel_staged_sum(const KernelSpace *s)
{
    const GraphNode *head = &s->g->nodes[s->head];
    for (int i = 0; i < s->among_count; i++) {
        const int        n    = s->among[i];
        const GraphNode *node = &s->g->nodes[n];
        if (s->k->d.choices[n].where != WHERE_INSIDE || s->k->nested[n] != s->head + 1)
            continue;
        return head->def_count == 1 && node->def_count == 2 && node->rank == head->rank && node->out_count == 1 &&
                       node->out[0]->pointwise && node->out[0]->consumer == s->head &&
                       node->defs[1].steps >= STAGED_LEAST_STEPS && has_whole_operands(s, node)
                   ? n
                   : -1;
    }
    return -1;
}
