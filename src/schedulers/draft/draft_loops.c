/* SPDX-License-Identifier: MIT */
/* Legalizing loops: those of heads, and nests of members. legal/nest.h decides; the rest are limits of drafts.
 *
 * Holds   Factors are in range. There is one vector loop, with no parallel loop inside it. Unrolled loops have a known
 *         and small trip count. A fused loop is one of the last two of at least three, both over whole dimensions.
 *         Loops over steps keep their order, inside the loops that their bounds depend on. Only heads have parallel
 *         loops. */
#include "legal/nest.h"
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/given_steps.h"

typedef struct Loops {
    GroupLoop      *at;
    int             count;
    const DefFacts *facts;
    const Update   *update; /* of a nest with loops over steps; else NULL */
    bool            pure;   /* they are loops of the pure definition */
    int64_t         copies; /* of the body, by the loops legalized so far */
} Loops;

/* The loop over the same dimension before or after; -1: none. */
static int neighbour(const Loops *l, int loop, int direction)
{
    for (int i = loop + direction; i >= 0 && i < l->count; i += direction)
        if (l->at[i].dim == l->at[loop].dim)
            return i;
    return -1;
}

/* The trip count of the last loop over a dimension: the step of the one before, or all steps; 0: not known. */
static int64_t known_extent(const Loops *l, int loop)
{
    const int before = neighbour(l, loop, -1), dim = l->at[loop].dim;
    if (before >= 0)
        return l->at[before].step;
    return dim >= STEP_DIM && l->update ? rvar_steps(&l->update->rvars[dim - STEP_DIM]) : 0;
}

static bool bounds_steps(const Loops *l, int loop)
{
    return l->at[loop].dim < STEP_DIM && l->facts->bounding & 1u << l->at[loop].dim;
}

/* Is it the only loop over its dimension so far? */
static bool is_whole(const Loops *l, int loop)
{
    return neighbour(l, loop, -1) < 0;
}

/* Not along x, so that the loop around rows stays a loop of its own. */
static bool may_fuse(const Loops *l, int i)
{
    const GroupLoop *before = &l->at[i > 0 ? i - 1 : 0];
    const bool       inner  = i >= 2 && i == l->count - 1 && l->at[i].vector && l->at[i].dim > 0;
    const bool       plain  = before->step == 1 && !before->parallel && !before->unroll;
    const bool       whole  = before->dim != l->at[i].dim && is_whole(l, i) && is_whole(l, i - 1);
    return l->pure && inner && plain && whole;
}

static LoopKind kind_of(const GroupLoop *l)
{
    return l->vector ? LOOP_VECTOR : l->parallel ? LOOP_PARALLEL : l->unroll ? LOOP_UNROLL : LOOP_SERIAL;
}

/* Are the loops down to `last` legal, with `kind` for that one? */
static bool is_legal_as(const Loops *all, int last, LoopKind kind)
{
    NestLoop loops[MOST_GROUP_LOOPS];
    for (int i = 0; i <= last; i++) {
        const GroupLoop *l = &all->at[i];
        loops[i]        = (NestLoop){ i == last ? kind : kind_of(l), 1u << l->dim, 0, l->dim * MOST_GROUP_LOOPS + i };
        loops[i].extent = loops[i].kind == LOOP_VECTOR   ? l->step
                          : loops[i].kind == LOOP_UNROLL ? known_extent(all, i)
                                                         : 0;
    }
    return nest_check(&(Nesting){ .facts = all->facts, .loops = loops, .count = last + 1 }).fault == NEST_LEGAL;
}

static void legalize_loop(Loops *all, int i)
{
    GroupLoop *l     = &all->at[i];
    const bool last  = neighbour(all, i, 1) < 0;
    l->step          = l->step < 1 ? 1 : l->step > MOST_FACTOR ? MOST_FACTOR : l->step;
    const bool lanes = l->step > 1 && l->step <= MOST_DRAFT_LANES * 4;
    l->vector        = l->vector && last && lanes && l->dim < STEP_DIM && is_legal_as(all, i, LOOP_VECTOR);
    if (last && !l->vector)
        l->step = 1;
    l->parallel          = l->parallel && !l->vector && is_legal_as(all, i, LOOP_PARALLEL);
    const bool    serial = !l->vector && !l->parallel && !bounds_steps(all, i);
    const int64_t extent = l->unroll && last && serial ? known_extent(all, i) : 0;
    l->unroll            = extent > 0 && extent * all->copies <= MOST_DRAFT_COPIES && is_legal_as(all, i, LOOP_UNROLL);
    all->copies *= l->unroll ? extent : 1;
    l->given = l->given && i == all->count - 1 && serial && !l->unroll;
    l->fused = l->fused && may_fuse(all, i);
}

/* bit d: dimension d; bit STEP_DIM + i: reduction variable i; bit 31: neither. */
static uint32_t dims_of(const GroupLoop *loops, int count, int rank, int steps)
{
    uint32_t dims = 0;
    for (int i = 0; i < count; i++) {
        const int  dim   = loops[i].dim;
        const bool known = (dim >= 0 && dim < rank) || (dim >= STEP_DIM && dim < STEP_DIM + steps);
        dims |= known ? 1u << dim : 1u << 31;
    }
    return dims;
}

void draft_legalize_head(const Draft *d, Group *gr)
{
    const GraphNode *node = &d->graph->nodes[gr->head];
    const int        main = draft_main(d, gr->head);
    if (main == NO_DEF || dims_of(gr->loops, gr->loop_count, node->rank, 0) != (1u << node->rank) - 1) {
        gr->loop_count = 0;
        return;
    }
    Loops l = { gr->loops, gr->loop_count, &d->facts[gr->head].defs[main + 1], NULL, main < 0, 1 };
    for (int i = 0; i < l.count; i++)
        legalize_loop(&l, i);
}

/* ---- Nests ------------------------------------------------------------------------------ */

/* The default index of loops over steps: inside all loops but unrolled ones. */
static int steps_place(const MemberNest *n)
{
    int at = n->count;
    while (at > 0 && n->loops[at - 1].unroll)
        at--;
    return at;
}

static void add_steps(MemberNest *n, int steps)
{
    const int at = steps_place(n);
    memmove(&n->loops[at + steps], &n->loops[at], sizeof *n->loops * (size_t)(n->count - at));
    for (int i = 0; i < steps; i++)
        n->loops[at + i] = (GroupLoop){ .dim = STEP_DIM + i, .step = 1 };
    n->count += steps;
}

/* Puts the loops over steps into the order of the reduction variables, at the indices that they have together. */
static void order_steps(MemberNest *n)
{
    for (int i = 0; i < n->count; i++)
        for (int k = i + 1; k < n->count; k++)
            if (n->loops[i].dim >= STEP_DIM && n->loops[k].dim >= STEP_DIM && n->loops[k].dim < n->loops[i].dim) {
                const GroupLoop swap = n->loops[i];
                n->loops[i]          = n->loops[k];
                n->loops[k]          = swap;
            }
}

static int first_step(const MemberNest *n)
{
    int i = 0;
    while (i < n->count && n->loops[i].dim < STEP_DIM)
        i++;
    return i;
}

/* May there be a version of node s with its last loop unrolled? Nothing can be computed inside loops with versions. */
static bool is_given(const Draft *d, int s, const Loops *l)
{
    const GroupLoop *last   = &l->at[l->count - 1];
    const int64_t    steps  = last->dim < STEP_DIM ? 0 : given_steps(d, s, last->dim - STEP_DIM);
    bool             inside = false;
    for (int i = 0; i < s; i++)
        inside |= d->choices[i].where == WHERE_INSIDE && d->choices[i].at == s + 1;
    return steps > 0 && steps * l->copies <= MOST_DRAFT_COPIES && !inside;
}

const MemberNest *draft_legalize_nest(const Draft *d, int s)
{
    const GraphNode  *node  = &d->graph->nodes[s];
    const MemberNest *asked = d->choices[s].nest;
    const int         main  = draft_main(d, s);
    const Update     *u     = main < 0 ? NULL : &node->func->updates[main];
    const int         steps = u ? u->rvar_count : 0;
    if (!asked || main == NO_DEF || steps > KN_MAX_RANK)
        return NULL;
    if (asked->count < 1 || asked->count > MOST_GROUP_LOOPS)
        return NULL;
    MemberNest     n    = *asked;
    const uint32_t free = (1u << node->rank) - 1, all = free | ((1u << steps) - 1) << STEP_DIM;
    if (dims_of(n.loops, n.count, node->rank, steps) == free && steps && n.count + steps <= MOST_GROUP_LOOPS)
        add_steps(&n, steps);
    if (dims_of(n.loops, n.count, node->rank, steps) != all)
        return NULL;
    order_steps(&n);
    Loops l = { n.loops, n.count, &d->facts[s].defs[main + 1], u, !u, 1 };
    for (int i = 0; i < n.count; i++) {
        n.loops[i].parallel = false;
        legalize_loop(&l, i);
    }
    if (!is_legal_as(&l, n.count - 1, kind_of(&n.loops[n.count - 1])))
        return NULL;
    n.loops[n.count - 1].given &= is_given(d, s, &l);
    return draft_nest(d, &n);
}

/* ---- Levels in them --------------------------------------------------------------------- */

int draft_innermost(const GroupLoop *loops, int count)
{
    int last = count - 1;
    while (last >= 0 && loops[last].unroll)
        last--;
    return last >= 0 && loops[last].fused ? last - 2 : last;
}

int draft_innermost_of(const Draft *d, int s)
{
    const MemberNest *n    = d->choices[s].nest;
    const int         last = draft_innermost(n->loops, n->count), first = first_step(n);
    return d->facts[s].defs[draft_main(d, s) + 1].bounds_read && first <= last ? first - 1 : last;
}

int draft_row_level(const GroupLoop *loops, int count)
{
    int at = count, x = 0;
    for (int i = 0; i < count; i++) {
        x  = loops[i].dim == 0 ? i : x;
        at = loops[i].vector && i < at ? i : at;
    }
    for (at = (x < at ? x : at) - 1; at >= 0 && loops[at].unroll; at--)
        ;
    return at;
}
