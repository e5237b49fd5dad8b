/* Legalizing loops: those of heads and of members' nests. legal/nest.h decides; the rest are limits of drafts.
 *
 * Holds   factors are in range; one vector loop, with no parallel loop inside it; copies are of known number and few;
 *         fused are the last two of three and more, each all of its dimension; loops over steps are in their order,
 *         inside those that bound them; only heads are parallel. */
#include "legal/nest.h"
#include "schedulers/draft_internal.h"

typedef struct Loops {
    GroupLoop      *at;
    int             count;
    const DefFacts *facts;
    const Update   *update; /* of a nest with loops over steps; NULL else */
    bool            pure;   /* they are of the pure definition */
    int64_t         copies; /* of the body, by the loops that were legalized */
} Loops;

/* The loop of the same dimension before or after; -1: none. */
static int neighbour(const Loops *l, int loop, int direction)
{
    for (int i = loop + direction; i >= 0 && i < l->count; i += direction)
        if (l->at[i].dim == l->at[loop].dim)
            return i;
    return -1;
}

/* How many iterations the last loop of a dimension has: what the one before leaves, or all steps; 0: not known. */
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

/* Not along x: the loop around rows stays one. */
static bool may_fuse(const Loops *l, int i)
{
    const GroupLoop *before = &l->at[i > 0 ? i - 1 : 0];
    return l->pure && i >= 2 && i == l->count - 1 && l->at[i].vector && l->at[i].dim > 0 && before->step == 1 &&
           !before->parallel && !before->unroll && before->dim != l->at[i].dim && neighbour(l, i, -1) < 0 &&
           neighbour(l, i - 1, -1) < 0;
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
    GroupLoop *l    = &all->at[i];
    const bool last = neighbour(all, i, 1) < 0;
    l->step         = l->step < 1 ? 1 : l->step > MOST_FACTOR ? MOST_FACTOR : l->step;
    l->vector       = l->vector && last && l->step > 1 && l->step <= MOST_DRAFT_LANES * 4 && l->dim < STEP_DIM &&
                is_legal_as(all, i, LOOP_VECTOR);
    if (last && !l->vector)
        l->step = 1;
    l->parallel = l->parallel && !l->vector && is_legal_as(all, i, LOOP_PARALLEL);
    const int64_t extent =
        l->unroll && last && !l->vector && !l->parallel && !bounds_steps(all, i) ? known_extent(all, i) : 0;
    l->unroll = extent > 0 && extent * all->copies <= MOST_DRAFT_COPIES && is_legal_as(all, i, LOOP_UNROLL);
    all->copies *= l->unroll ? extent : 1;
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

/* Where loops over steps are if nothing is said: inside all loops but copies. */
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

/* The loops over steps in the order of the reduction variables, in the places that they have together. */
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

const MemberNest *draft_legalize_nest(const Draft *d, int s)
{
    const GraphNode  *node  = &d->graph->nodes[s];
    const MemberNest *asked = d->choices[s].nest;
    const int         main  = draft_main(d, s);
    const Update     *u     = main < 0 ? NULL : &node->func->updates[main];
    const int         steps = u ? u->rvar_count : 0;
    if (!asked || main == NO_DEF || asked->count < 1 || asked->count > MOST_GROUP_LOOPS || steps > KN_MAX_RANK)
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
    if (!memcmp(&n, asked, sizeof n))
        return asked;
    MemberNest *legal = ARENA_NEW(d->graph->arena, MemberNest);
    *legal            = n;
    return legal;
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
