/* SPDX-License-Identifier: MIT */
/* The largest output that the inputs suffice for.
 *
 * Takes   the boxes of the inputs, and of the outputs that are given.
 * Gives   for each other output a box of which no side can be moved outward, dimension after dimension.
 * How     boxes_compute says whether a box would do. If a box does, so does every smaller one. So: find one point that
 *         does (in the middle of the inputs first), then move each side outward. If a side stops at the end of the
 *         input's dimension of the same name, it is moved there at once; else by doubling steps, and back by halves. A
 *         side that can still move 2^20 further is unlimited, and takes that input's end. */
#include "analysis/boxes.h"

static const int64_t far_away = (int64_t)1 << 20;

typedef struct Fit {
    Boxes      *boxes;
    const Func *func;
    Box        *box; /* of the output, in the arguments of the boxes */
    DimGuess    guess[KN_MAX_RANK];
    bool has_budget; /* the caller limits the steps of updates for the whole search; else each box has most_steps: the
                        first guess may take any number, the others some more */
    int64_t most_steps;
} Fit;

/* Would this box do? Far away an update may have more steps than anybody waits for: then it would not, and steps_left
 * says why. */
static bool would_do(const Fit *fit)
{
    if (!fit->has_budget)
        fit->boxes->steps_left = fit->most_steps;
    return boxes_compute(fit->boxes, NULL, NULL);
}

DimGuess guess_dim(const Boxes *b, const char *name)
{
    for (size_t i = 0; i < b->pipeline->funcs.count; i++) {
        const Func *f = b->pipeline->funcs.at[i];
        for (int d = 0; d < f->rank && f->kind == FUNC_INPUT; d++)
            if (f->args[d] == name && b->binding->input[i].min[d] <= b->binding->input[i].max[d])
                return (DimGuess){ f, b->binding->input[i].min[d], b->binding->input[i].max[d] };
    }
    return (DimGuess){ 0 };
}

/* ---- A first box ------------------------------------------------------------------------ */

static bool try_guess(const Fit *fit)
{
    for (int d = 0; d < fit->func->rank; d++) {
        if (!fit->guess[d].input)
            return false;
        fit->box->min[d] = fit->guess[d].min;
        fit->box->max[d] = fit->guess[d].max;
    }
    return would_do(fit);
}

/* The limit of steps from now on, after one box was tried without a limit. */
static int64_t steps_like(const Fit *fit)
{
    enum { AT_LEAST = 1 << 16 };
    const int64_t used = INT64_MAX - fit->boxes->steps_left;
    return used > AT_LEAST / 4 ? (used > INT64_MAX / 4 ? INT64_MAX : 4 * used) : AT_LEAST;
}

/* The point at 1 / 2^shift of the way to the middle of the inputs. */
static bool try_middle(const Fit *fit, int shift)
{
    for (int d = 0; d < fit->func->rank; d++) {
        const DimGuess *g = &fit->guess[d];
        fit->box->min[d] = fit->box->max[d] = g->min + ((g->max - g->min) / 2 >> shift);
    }
    return would_do(fit);
}

/* The point (at, at, ...), counted from 0 or from the inputs' mins. */
static bool try_diagonal(const Fit *fit, int64_t at, bool from_min)
{
    for (int d = 0; d < fit->func->rank; d++)
        fit->box->min[d] = fit->box->max[d] = at + (from_min ? fit->guess[d].min : 0);
    return would_do(fit);
}

static bool find_box(Fit *fit)
{
    enum { HALVINGS = 8, DOUBLINGS = 16 };
    fit->most_steps = INT64_MAX;
    if (!fit->has_budget)
        fit->boxes->steps_left = INT64_MAX;
    const bool found = try_guess(fit);
    fit->most_steps  = fit->has_budget ? 0 : steps_like(fit);
    if (found)
        return true;
    for (int i = 0; i < HALVINGS; i++)
        if (try_middle(fit, i))
            return true;
    for (int i = 0; i < DOUBLINGS; i++)
        if (try_diagonal(fit, i < 4 ? i : 1 << (i - 2), false) || try_diagonal(fit, i < 4 ? i : 1 << (i - 2), true))
            return true;
    return false;
}

/* ---- Moving sides ----------------------------------------------------------------------- */

static int64_t *side_of(const Fit *fit, int d, bool upper)
{
    return upper ? &fit->box->max[d] : &fit->box->min[d];
}

/* Moves a side if the box then does. */
static bool move(const Fit *fit, int d, bool upper, int64_t to)
{
    int64_t      *side = side_of(fit, d, upper);
    const int64_t was  = *side;
    *side              = to;
    if (would_do(fit))
        return true;
    *side = was;
    return false;
}

/* Moves a side as far as possible. True: it is unlimited, and goes as far as the guess. */
static bool grow_side(const Fit *fit, int d, bool upper)
{
    const DimGuess *g    = &fit->guess[d];
    const int       sign = upper ? 1 : -1;
    int64_t        *side = side_of(fit, d, upper), step = 1;
    const int64_t   end = upper ? g->max : g->min, start = *side;
    const bool      at_guess = !g->input || sign * (end - *side) <= 0 || move(fit, d, upper, end);
    if (!move(fit, d, upper, *side + sign))
        return false;
    if (move(fit, d, upper, *side + sign * far_away) || (at_guess && fit->boxes->steps_left < 0)) {
        *side = g->input && sign * (end - start) > 0 ? end : start;
        return true;
    }
    while (move(fit, d, upper, *side + sign * step))
        step *= 2;
    for (step /= 2; step; step /= 2)
        move(fit, d, upper, *side + sign * step);
    return false;
}

/* ---- Outputs ---------------------------------------------------------------------------- */

static void grow_box(const Fit *fit, FitDim *dims)
{
    for (int d = 0; d < fit->func->rank; d++) {
        const bool below = grow_side(fit, d, false), above = grow_side(fit, d, true);
        dims[d] = (FitDim){ .unlimited = below || above, .like = fit->guess[d].input };
    }
}

/* A box that is limited only far beyond what can be computed counts as unlimited: its intersection with the guess is
 * taken. */
static void take_guess(const Fit *fit, FitDim *dims)
{
    for (int d = 0; d < fit->func->rank; d++) {
        const DimGuess *g   = &fit->guess[d];
        const int64_t   min = g->min > fit->box->min[d] ? g->min : fit->box->min[d],
                      max   = g->max < fit->box->max[d] ? g->max : fit->box->max[d];
        if (!g->input || min > max)
            continue;
        fit->box->min[d]  = min;
        fit->box->max[d]  = max;
        dims[d].unlimited = true;
    }
    if (!would_do(fit))
        for (int d = 0; d < fit->func->rank; d++)
            dims[d].unlimited |= !fit->guess[d].input;
}

bool largest_output(Boxes *b, Box *outputs, int index, FitDim *dims)
{
    const RunArgs *given   = b->binding;
    const RunArgs  binding = { .input = given->input, .param = given->param, .output = outputs };
    Fit            fit     = { .boxes = b, .func = b->pipeline->outputs.at[index].func, .box = &outputs[index] };
    for (int d = 0; d < fit.func->rank; d++)
        fit.guess[d] = guess_dim(b, fit.func->args[d]);
    fit.has_budget   = b->is_frugal;
    b->is_frugal     = true;
    b->binding       = &binding;
    b->unlimited     = true;
    const bool found = find_box(&fit);
    if (found)
        grow_box(&fit, dims);
    b->unlimited = false;
    if (found && !would_do(&fit))
        take_guess(&fit, dims);
    b->is_frugal = fit.has_budget;
    b->binding   = given;
    bool known   = found;
    for (int d = 0; found && d < fit.func->rank; d++)
        known &= !dims[d].unlimited || dims[d].like;
    return known;
}
