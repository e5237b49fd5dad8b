/* SPDX-License-Identifier: MIT */
/* What the files of the executor share: see executor.h. */
#include "interp/executor.h"

#include <stdarg.h>
#include <stdio.h>

void executor_mistake(Executor *ex, const char *format, ...)
{
    char    message[600];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    context_bail_internal(ex->cx, KN_ERROR_PROGRAM,
                          arena_printf(&ex->cx->call, "%s; this is a mistake in Kiln: please report it", message));
}

bool any_active(const uint8_t *active, int width)
{
    for (int l = 0; l < width; l++)
        if (active[l])
            return true;
    return false;
}

void expect_defined(Executor *ex, const LaneValues *v, int width, const uint8_t *active, const char *what)
{
    for (int l = 0; l < width; l++)
        if (active[l] && v->undefined[l])
            executor_mistake(ex, "%s depends on memory that was never written, or by several at once", what);
}

LaneValues lane_values_new(Executor *ex, int width)
{
    return (LaneValues){ ARENA_ARRAY(&ex->arena, Lane, (size_t)width),
                         ARENA_ARRAY(&ex->arena, uint8_t, (size_t)width) };
}

/* ---- Strands ----------------------------------------------------------------------------- */

uint32_t strand_loop(Executor *ex, const char *others, uint32_t parent)
{
    vec_push(&ex->arena, &ex->loops, ((StrandLoop){ .others = others, .parent = parent }));
    return (uint32_t)ex->loops.count - 1;
}

uint32_t strand_of_loop(Executor *ex, uint32_t loop)
{
    vec_push(&ex->arena, &ex->strands, ((Strand){ .parent = ex->loops.at[loop].parent, .loop = loop }));
    return (uint32_t)ex->strands.count - 1;
}

uint32_t strand_of_all(Executor *ex, uint32_t loop)
{
    if (!ex->loops.at[loop].all)
        ex->loops.at[loop].all = strand_of_loop(ex, loop);
    return ex->loops.at[loop].all;
}

uint32_t concurrent_by(const Executor *ex, uint32_t a, uint32_t b)
{
    const Strand *all = ex->strands.at;
    for (uint32_t i = a; i != 0 && a != b; i = all[i].parent)
        for (uint32_t k = b; k != 0; k = all[k].parent)
            if (i != k && all[i].loop == all[k].loop)
                return all[i].loop;
    return 0;
}

/* ---- Iterations at once ------------------------------------------------------------------ */

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    return b ? greatest_divisor(b, a % b) : a;
}

/* About 5/8 of them, so that each comes once. */
int64_t scrambled_step(int64_t count)
{
    int64_t step = count * 5 / 8 + 1;
    while (count > 0 && greatest_divisor(step, count) != 1)
        step++;
    return step;
}

AtOnce at_once_begin(const Executor *ex)
{
    return (AtOnce){ .begin = ex->counts->span, .longest = ex->counts->span, .width = ex->counts->width };
}

void at_once_iteration(Executor *ex, const AtOnce *a)
{
    ex->counts->span  = a->begin;
    ex->counts->width = 0;
}

void at_once_next(Executor *ex, AtOnce *a)
{
    a->longest = ex->counts->span > a->longest ? ex->counts->span : a->longest;
    a->all += ex->counts->width;
}

void at_once_end(Executor *ex, const AtOnce *a)
{
    ex->counts->span  = a->longest;
    ex->counts->width = a->all > a->width ? a->all : a->width;
}
