/* SPDX-License-Identifier: MIT */
/* Whole tiles in registers: what a thread that marches along a loop keeps has constant sizes, also where its tile is
 * not whole.
 *
 * Takes   the box of a function in registers that is computed in a serial loop inside the threads of a kernel. Where a
 *         part of a tile lies outside the output its end is that of the output: min(last, x + 3) + 1.
 * Gives   the end of a whole tile, x + 4, if that makes the extent a constant. So loops over elements of registers are
 *         unrolled in every block, and indices are constants. align_bounds moves the ends of such a box as if the tile
 *         began at a multiple.
 * Holds   of minima with a positive factor in the linear form of an end one operand is taken: that is an upper bound.
 *         What is computed beyond the box has no meaning: reads there are clamped, and ask no more of producers.
 * Not     for functions with updates, those that others are computed in the loops of, or that share loops: these are
 *         asked for what the loops run over. Nor for those outside such loops: the code of ragged blocks would take
 *         registers from all others, and runs once. */
#include "lower/loops/build.h"

enum { MOST_COORDINATES = 64, MOST_MINIMA = 4 };

bool has_loops_of_others(const Build *b, const Func *f)
{
    bool any = false;
    for (int i = 0; i < b->plan->func_count; i++) {
        const PlanFunc *other = &b->plan->funcs[i];
        any |= other->compute.def && other->compute.def->func == f;
        for (int k = -1; other->defs && k < other->func->update_count; k++) {
            const PlanDef *with = other->defs[k + 1].with.def;
            any |= with && (with->func == f || other->func == f);
        }
    }
    return any;
}

static bool is_inside_threads(const Plan *plan, PlanLevel level)
{
    bool inside = false;
    for (; level.def && !inside; level = plan_func(plan, level.def->func)->compute)
        for (int i = 0; i <= level.loop; i++)
            inside |= loop_table[level.def->loops[i].kind].thread;
    return inside;
}

bool is_of_march(const Build *b, const Func *f)
{
    const PlanFunc *pf      = plan_func(b->plan, f);
    bool            marches = false;
    if (!b->lw->gpu || pf->memory != MEMORY_REGISTER || f->kind != FUNC_DEFINED ||
        !is_inside_threads(b->plan, pf->store))
        return false;
    for (int i = 0; i < b->plan->func_count && !marches; i++) {
        const PlanFunc *g = &b->plan->funcs[i];
        marches           = g->memory == MEMORY_REGISTER && g->func->kind == FUNC_DEFINED &&
                  level_same(g->compute, pf->compute) && !level_same(g->store, g->compute);
    }
    return marches;
}

/* The names from here on are inside the threads of a kernel; their count where there is no thread. */
static size_t first_of_thread(const Build *b)
{
    size_t i = 0;
    while (i < b->names.count && (b->names.at[i].value || !loop_table[b->names.at[i].kind].thread))
        i++;
    return i;
}

/* The expression without names of lets inside the threads. */
static const Expr *opened(Build *b, const Expr *e)
{
    Lower *lw = b->lw;
    for (size_t i = b->names.count; i-- > first_of_thread(b);)
        if (b->names.at[i].value)
            e = expr_substitute(lw->exprs, e, 1, &b->names.at[i].name, &b->names.at[i].value);
    return simplify(lw->simplifier, e);
}

typedef struct Swap {
    const Expr *from, *to;
} Swap;

static const Expr *swap_node(void *user, const Expr *e)
{
    const Swap *s = user;
    return e == s->from ? s->to : e;
}

/* An upper bound of the end at a constant distance from `min`; NULL: none was found. */
static const Expr *whole_end(Build *b, const Expr *min, const Expr *end, int most)
{
    Lower  *lw = b->lw;
    Linear  form;
    int64_t distance;
    if (expr_difference(end, min, &distance))
        return distance < MOST_COORDINATES ? end : NULL;
    for (int i = 0; most && expr_linear(lw->arena, end, &form) && i < form.count; i++)
        for (uint32_t k = 0; form.atoms[i]->op == EX_MIN && form.coefficients[i] > 0 && k < 2; k++) {
            Swap        s     = { form.atoms[i], form.atoms[i]->args[k] };
            const Expr *less  = simplify(lw->simplifier, expr_rewrite(lw->exprs, end, swap_node, &s));
            const Expr *whole = whole_end(b, min, less, most - 1);
            if (whole)
                return whole;
        }
    return NULL;
}

/* How far the value is from the multiple of `by` below it, if all but its constant are multiples. */
static int64_t beyond_multiple(Build *b, const Expr *e, int64_t by)
{
    Linear form;
    if (!expr_linear(b->lw->arena, e, &form))
        return 0;
    return (form.constant % by + by) % by;
}

/* align_bounds in a thread: ends are moved outward as if the tile began at a multiple. */
static void align_ends(Build *b, const PlanFunc *pf, int d, const Expr **min, const Expr **max)
{
    Lower        *lw = b->lw;
    const int64_t by = pf->align_factor[d];
    const Expr   *at = pf->align_offset[d] ? x_sub(lw, *min, pf->align_offset[d]) : *min;
    int64_t       distance;
    *min = simplify(lw->simplifier, x_sub(lw, *min, x_int(lw, beyond_multiple(b, at, by))));
    if (expr_difference(*max, *min, &distance))
        *max = simplify(lw->simplifier, x_add(lw, *min, x_int(lw, distance / by * by + by - 1)));
}

/* Takes other ends along d. Where the function is computed, reads of what lies between them and the box are clamped. */
static void take_ends(Build *b, const Func *f, int d, SymBox *box, const Expr *min, const Expr *max, bool computed)
{
    box->min[d] = min;
    box->max[d] = max;
    if (computed)
        clamp_mark_along(b, f, d);
}

/* In a loop inside the store level: a window that marches has the ends of its storage along the dimensions that it does
 * not move along. */
static void take_stored(Build *b, const Func *f, SymBox *box)
{
    const SymBox *stored = &b->stored[f->id];
    const Slide  *s      = &b->slides[f->id];
    int64_t       distance;
    for (int d = 0; s->march.step && d < f->rank; d++) {
        const Expr *min = opened(b, stored->min[d]), *max = opened(b, stored->max[d]);
        if (d != s->dims[0] && !box_widens(b, f, d) && expr_difference(max, min, &distance) &&
            distance < MOST_COORDINATES && (min != opened(b, box->min[d]) || max != opened(b, box->max[d])))
            take_ends(b, f, d, box, stored->min[d], stored->max[d], true);
    }
}

void whole_box(Build *b, const Func *f, PlanLevel level, SymBox *box, Prelude *w)
{
    const PlanFunc *pf = plan_func(b->plan, f);
    if (!is_of_march(b, f) || f->update_count || has_loops_of_others(b, f))
        return;
    if (!level_same(level, pf->store)) {
        take_stored(b, f, box);
        return;
    }
    for (int d = 0; d < f->rank; d++) {
        const Expr *min = opened(b, box->min[d]), *max = opened(b, box->max[d]), *first = min;
        const Expr *last = box_widens(b, f, d) ? NULL : whole_end(b, min, max, MOST_MINIMA);
        if (last && pf->align_factor[d])
            align_ends(b, pf, d, &first, &last);
        if (!last || (first == min && last == max))
            continue;
        first = first == min ? box->min[d] : prelude_let(b, w, region_name(b, f, d, "begin", level), first);
        last  = prelude_let(b, w, region_name(b, f, d, "whole", level), last);
        take_ends(b, f, d, box, first, last, level_same(level, pf->compute));
    }
}
