/* SPDX-License-Identifier: MIT */
/* The loops of one definition: the rules, each a function. nest_check has their order. */
#include "legal/nest.h"

static const NestVerdict legal = { NEST_LEGAL, -1, -1 };

static NestVerdict fault(NestFault what, int loop, int other)
{
    return (NestVerdict){ what, loop, other };
}

static bool is_reduction(const NestLoop *l)
{
    return l->vars >> FIRST_RVAR;
}

/* ---- Kinds ------------------------------------------------------------------------------ */

/* One vector loop, not too wide, with no parallel loop inside; not too many copies. */
static NestVerdict check_kinds(const Nesting *n)
{
    int     vector = -1;
    int64_t copies = 1;
    for (int i = 0; i < n->count; i++) {
        const NestLoop *l = &n->loops[i];
        if (l->kind == LOOP_VECTOR && vector >= 0)
            return fault(NEST_TWO_VECTORS, i, vector);
        if (l->kind == LOOP_VECTOR && l->extent > LEGAL_LANES)
            return fault(NEST_WIDE_VECTOR, i, -1);
        if (loop_table[l->kind].at_once && l->kind != LOOP_VECTOR && vector >= 0)
            return fault(NEST_PARALLEL_IN_VECTOR, i, vector);
        if (l->kind == LOOP_VECTOR)
            vector = i;
        if (l->kind == LOOP_UNROLL && copies > LEGAL_COPIES / l->extent)
            return fault(NEST_MANY_COPIES, i, -1);
        copies *= l->kind == LOOP_UNROLL ? l->extent : 1;
    }
    return legal;
}

/* Of a kernel: block loops one directly in the other, then anything, then thread loops one directly in the other. */
static NestVerdict check_kernel(const Nesting *n)
{
    int blocks = 0, threads = 0, inside = -1, parallel = -1, after = -1;
    for (int i = 0; i < n->count; i++) {
        const LoopKind kind   = n->loops[i].kind;
        const bool     thread = loop_table[kind].thread, block = kind == LOOP_BLOCK;
        if (kind == LOOP_PARALLEL)
            parallel = i;
        if (parallel >= 0 && (blocks || threads || block || thread))
            return fault(NEST_PARALLEL_KERNEL, i, parallel < i ? parallel : -1);
        if (block && inside >= 0)
            return fault(NEST_BLOCK_INSIDE, i, inside);
        if (thread && after >= 0)
            return fault(NEST_THREAD_APART, i, after);
        blocks += block;
        threads += thread;
        if (blocks > LEGAL_AXES || threads > LEGAL_AXES)
            return fault(NEST_MANY_AXES, i, -1);
        inside = !block && (blocks || thread) && inside < 0 ? i : inside;
        after  = !thread && threads && after < 0 ? i : after;
    }
    return legal;
}

/* ---- Steps ------------------------------------------------------------------------------ */

/* Do steps that differ in these reduction variables touch different places? */
static bool are_apart(const DefFacts *facts, uint32_t vars)
{
    return facts->own_place && !(vars & facts->rvars & ~facts->apart);
}

static NestVerdict check_step_order(const Nesting *n)
{
    bool kept = !n->order_lost;
    int  last = -1;
    for (int i = 0; i < n->count; i++)
        if (is_reduction(&n->loops[i])) {
            kept &= n->loops[i].number > last;
            last = n->loops[i].number;
        }
    if (kept || n->facts->combines || are_apart(n->facts, n->facts->rvars))
        return legal;
    return fault(NEST_STEP_ORDER, -1, -1);
}

/* Steps that read f(y + k) need all points along y of the step before. Along the other variables each point is by
 * itself. */
static NestVerdict check_points_outside(const Nesting *n)
{
    int outside = -1, inside = -1;
    for (int i = 0; i < n->count; i++)
        if (is_reduction(&n->loops[i]))
            inside = outside >= 0 && inside < 0 ? i : inside;
        else if (n->loops[i].vars & n->facts->other_points)
            outside = outside < 0 ? i : outside;
    if (!n->facts->other_points || (inside < 0 && !n->mixed))
        return legal;
    return inside < 0 ? fault(NEST_POINTS_AND_STEPS, -1, -1) : fault(NEST_POINTS_OUTSIDE, outside, inside);
}

static NestVerdict check_steps_at_once(const Nesting *n)
{
    for (int i = 0; i < n->count; i++) {
        const NestLoop *l = &n->loops[i];
        if (is_reduction(l) && loop_table[l->kind].at_once && !are_apart(n->facts, l->vars) &&
            !(n->atomic && n->facts->combines))
            return fault(NEST_STEPS_AT_ONCE, i, -1);
    }
    return legal;
}

/* ---- Bounds ----------------------------------------------------------------------------- */

/* The bounds of a reduction variable, over the variables `over`, must be known where its loops begin. */
static NestVerdict check_bounds_of(const Nesting *n, uint32_t own, uint32_t over)
{
    int seen = -1;
    for (int i = 0; i < n->count; i++) {
        const NestLoop *l = &n->loops[i];
        if (l->vars & own)
            seen = seen < 0 ? i : seen;
        if (seen >= 0 && (l->vars & over))
            return seen == i ? fault(NEST_BOUND_FUSED, i, i) : fault(NEST_BOUND_INSIDE, i, seen);
        if (l->kind == LOOP_VECTOR && (l->vars & over))
            return fault(NEST_BOUND_VECTOR, i, -1);
    }
    return legal;
}

/* Where steps read other points, free variables in bounds are a condition. */
static NestVerdict check_bounds(const Nesting *n)
{
    NestVerdict found = legal;
    for (int r = 0; n->facts->rvars >> (FIRST_RVAR + r) && !found.fault; r++)
        found = check_bounds_of(n, 1u << (FIRST_RVAR + r),
                                n->facts->bounds[r] & (n->facts->other_points ? n->facts->rvars : ~0u));
    return found;
}

NestVerdict nest_check(const Nesting *n)
{
    NestVerdict (*const rules[])(const Nesting *) = { check_kinds,          check_kernel,        check_step_order,
                                                      check_points_outside, check_steps_at_once, check_bounds };
    NestVerdict found                             = legal;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !found.fault; i++)
        found = rules[i](n);
    return found;
}
