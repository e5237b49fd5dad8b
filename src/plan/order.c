/* SPDX-License-Identifier: MIT */
/* Is the nest of a definition's loops legal? legal/nest.c decides; here are the words. */
#include "plan/planner.h"

static Loc moved_loc(const DefDraft *d)
{
    return d->moved_by ? d->moved_by->loc : d->update ? d->update->loc : d->def->func->loc;
}

/* Where a loop got its kind. */
static Loc kind_loc(const DefDraft *d, const Loop *l)
{
    return l->by ? l->by->loc : moved_loc(d);
}

/* ---- Kinds ------------------------------------------------------------------------------ */

/* The later directive of two is the one that cannot be obeyed. */
static bool refuse_two_vectors(Planner *pl, const DefDraft *d, const Loop *inner, const Loop *outer)
{
    const Loop *last  = inner->by && outer->by && outer->by > inner->by ? outer : inner,
               *first = last == inner ? outer : inner;
    return refuse(pl, ERROR_LOOP_KIND, kind_loc(d, last), "unroll it instead",
                  "`%s` cannot be vectorized too: %s has a vector loop, `%s`", loop_text(pl, &last->loop),
                  def_text(pl, d), loop_text(pl, &first->loop));
}

static bool refuse_kind(Planner *pl, const DefDraft *d, const Loop *l, const Loop *other, NestFault fault)
{
    const Loc loc = l->by ? l->by->loc : d->def->func->loc;
    if (fault == NEST_TWO_VECTORS)
        return refuse_two_vectors(pl, d, l, other);
    if (fault == NEST_WIDE_VECTOR)
        return refuse(pl, ERROR_FACTOR, loc, "give a factor",
                      "the loop `%s` has %lld iterations: a vector has at most %d lanes", l->loop.name,
                      (long long)l->extent, LEGAL_LANES);
    if (fault == NEST_PARALLEL_IN_VECTOR)
        return refuse(pl, ERROR_LOOP_KIND, loc, "reorder the vector loop inside",
                      "the parallel loop `%s` is inside the vector loop `%s`", loop_text(pl, &l->loop),
                      loop_text(pl, &other->loop));
    return refuse(pl, ERROR_FACTOR, loc, "smaller factors", "%s would be copied more than %d times", def_text(pl, d),
                  LEGAL_COPIES);
}

static bool refuse_kernel(Planner *pl, const DefDraft *d, const Loop *l, const Loop *other, NestFault fault)
{
    const Loc   loc  = kind_loc(d, l);
    const char *name = loop_text(pl, &l->loop), *kind = loop_table[l->loop.kind].adjective,
               *outer = other ? loop_text(pl, &other->loop) : name;
    if (fault == NEST_BLOCK_INSIDE)
        return refuse(pl, ERROR_LOOP_KIND, loc, "reorder it outside",
                      "the block loop `%s` of %s is inside the loop `%s` of the same kernel", name, def_text(pl, d),
                      outer);
    if (fault == NEST_THREAD_APART)
        return refuse(pl, ERROR_LOOP_KIND, loc, arena_printf(pl->arena, "reorder `%s` inside or outside both", outer),
                      "the thread loops of %s are not one directly in the other: `%s` is between `%s` and another",
                      def_text(pl, d), outer, name);
    if (fault == NEST_MANY_AXES)
        return refuse(pl, ERROR_LOOP_KIND, loc, "fuse two of them, or leave one serial",
                      "%s has more than %d %s loops, and a device has %d axes", def_text(pl, d), LEGAL_AXES, kind,
                      LEGAL_AXES);
    return refuse(pl, ERROR_LOOP_KIND, loc, "leave one of them serial",
                  "%s has a parallel loop and loops of a kernel: the one is of the CPU, the others are of the GPU",
                  def_text(pl, d));
}

/* ---- Steps ------------------------------------------------------------------------------ */

static bool refuse_order(Planner *pl, const DefDraft *d)
{
    if (d->facts.inexact)
        return refuse(pl, ERROR_FLOAT_ORDER, moved_loc(d),
                      "keep the reduction loops in their order, or let it add integers",
                      "%s takes its steps in another order: with floats that is another result", def_text(pl, d));
    return refuse(pl, ERROR_STEP_ORDER, moved_loc(d), "keep the reduction loops in their order",
                  "%s takes its steps in another order, and its result may depend on it: it is not f(…) = f(…) op e "
                  "with integers",
                  def_text(pl, d));
}

static bool refuse_points(Planner *pl, const DefDraft *d, const Loop *outside, const Loop *inside)
{
    if (!inside)
        return refuse(
            pl, ERROR_STEP_ORDER, moved_loc(d), "fuse loops of one kind",
            "%s reads other points of the step before: a loop cannot go through its steps and its points together",
            def_text(pl, d));
    return refuse(pl, ERROR_STEP_ORDER, moved_loc(d), "nest it inside",
                  "%s reads other points of the step before: the loop `%s` over its points cannot be outside the loop "
                  "`%s` over its steps",
                  def_text(pl, d), loop_text(pl, &outside->loop), loop_text(pl, &inside->loop));
}

static bool refuse_at_once(Planner *pl, const DefDraft *d, const Loop *l)
{
    const char *kind = loop_table[l->loop.kind].adjective, *name = loop_text(pl, &l->loop);
    if (d->facts.combines)
        return refuse(pl, ERROR_STEP_ORDER, kind_loc(d, l), "atomic() beside it; or rfactor",
                      "the loop `%s` cannot be %s: steps of %s may write to the same place", name, kind,
                      def_text(pl, d));
    if (d->facts.inexact)
        return refuse(pl, ERROR_FLOAT_ORDER, kind_loc(d, l),
                      "parallel or vectorize a loop over the function's arguments; atomic() and rfactor keep the "
                      "result of integers only",
                      "the loop `%s` cannot be %s: the float result of %s depends on the order of its steps", name,
                      kind, def_text(pl, d));
    return refuse(pl, ERROR_STEP_ORDER, kind_loc(d, l), "parallel or vectorize a loop over the function's arguments",
                  "the loop `%s` cannot be %s: a step of %s may need what another one writes", name, kind,
                  def_text(pl, d));
}

/* ---- Bounds ----------------------------------------------------------------------------- */

static bool refuse_bounds(Planner *pl, const DefDraft *d, const Loop *l, const Loop *other, NestFault fault)
{
    if (fault == NEST_BOUND_VECTOR)
        return refuse(pl, ERROR_LOOP_KIND, kind_loc(d, l), "vectorize another loop",
                      "the loop `%s` cannot be vectorized: it bounds a reduction of %s, whose steps would differ "
                      "between the lanes",
                      loop_text(pl, &l->loop), def_text(pl, d));
    if (fault == NEST_BOUND_FUSED)
        return refuse(pl, ERROR_BOUND_ORDER, moved_loc(d), "fuse loops whose bounds are apart",
                      "the loop `%s` of %s fuses variables of which one bounds the other", loop_text(pl, &l->loop),
                      def_text(pl, d));
    return refuse(pl, ERROR_BOUND_ORDER, moved_loc(d), "nest it outside",
                  "the loop `%s` of %s cannot be inside the loop `%s` that it bounds", loop_text(pl, &l->loop),
                  def_text(pl, d), loop_text(pl, &other->loop));
}

/* ---- All -------------------------------------------------------------------------------- */

static int order_place(const DefDraft *d, int number)
{
    int i = 0;
    while (i < (int)d->order.count && d->order.at[i] != number)
        i++;
    return i;
}

static NestVerdict verdict_of(Planner *pl, const DefDraft *d)
{
    NestLoop *loops = ARENA_ARRAY(pl->arena, NestLoop, d->loops.count);
    for (size_t i = 0; i < d->loops.count; i++) {
        const Loop *l = &d->loops.at[i];
        loops[i]      = (NestLoop){ l->loop.kind, l->vars, l->extent, order_place(d, l->number) };
    }
    return nest_check(&(Nesting){ &d->facts, loops, (int)d->loops.count, d->def->atomic, d->order_lost, d->mixed });
}

bool check_nest(Planner *pl, DefDraft *d)
{
    const NestVerdict v = verdict_of(pl, d);
    const Loop       *l = v.loop < 0 ? NULL : &d->loops.at[v.loop], *other = v.other < 0 ? NULL : &d->loops.at[v.other];
    switch (v.fault) {
    case NEST_LEGAL: return true;
    case NEST_TWO_VECTORS:
    case NEST_WIDE_VECTOR:
    case NEST_PARALLEL_IN_VECTOR:
    case NEST_MANY_COPIES: return refuse_kind(pl, d, l, other, v.fault);
    case NEST_BLOCK_INSIDE:
    case NEST_THREAD_APART:
    case NEST_MANY_AXES:
    case NEST_PARALLEL_KERNEL: return refuse_kernel(pl, d, l, other, v.fault);
    case NEST_STEP_ORDER: return refuse_order(pl, d);
    case NEST_POINTS_OUTSIDE:
    case NEST_POINTS_AND_STEPS: return refuse_points(pl, d, l, other);
    case NEST_STEPS_AT_ONCE: return refuse_at_once(pl, d, l);
    case NEST_BOUND_INSIDE:
    case NEST_BOUND_FUSED:
    case NEST_BOUND_VECTOR: break;
    }
    return refuse_bounds(pl, d, l, other, v.fault);
}
