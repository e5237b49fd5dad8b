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
            executor_mistake(ex, "%s depends on memory that was never written", what);
}

LaneValues lane_values_new(Executor *ex, int width)
{
    return (LaneValues){ ARENA_ARRAY(&ex->arena, Lane, (size_t)width),
                         ARENA_ARRAY(&ex->arena, uint8_t, (size_t)width) };
}
