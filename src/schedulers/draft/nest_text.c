/* SPDX-License-Identifier: MIT */
/* The loops of one definition as text. */
#include "schedulers/draft/nest_text.h"

/* ---- Names ------------------------------------------------------------------------------ */

static void take(LoopNames *n, const char *name)
{
    if (n->count < MOST_LOOP_NAMES)
        n->taken[n->count++] = name;
}

static bool is_taken(const LoopNames *n, const char *name)
{
    for (int i = 0; i < n->count; i++)
        if (!strcmp(n->taken[i], name))
            return true;
    return false;
}

LoopNames loop_names(Arena *arena, const Func *f, int update)
{
    LoopNames n = { .arena = arena };
    for (int d = 0; d < f->rank; d++)
        take(&n, f->args[d]);
    for (int i = 0; update >= 0 && i < f->updates[update].rvar_count; i++)
        take(&n, f->updates[update].rvars[i].name);
    return n;
}

const char *loop_name(LoopNames *n, const char *base, const char *suffix)
{
    const char *first = arena_printf(n->arena, "%s%s", base, suffix), *name = first;
    for (int i = 1; is_taken(n, name); i++)
        name = arena_printf(n->arena, "%s_%d", first, i);
    take(n, name);
    return name;
}

/* ---- Nests ------------------------------------------------------------------------------ */

NestText nest_text_begin(Text *out, const Func *f, int update)
{
    return (NestText){ .out    = out,
                       .func   = f,
                       .update = update < 0 ? NULL : &f->updates[update],
                       .taken  = loop_names(out->arena, f, update) };
}

void nest_text_add(NestText *n, const char *name)
{
    if (n->count < MOST_LOOP_NAMES)
        n->names[n->count++] = name;
}

void nest_text_add_reductions(NestText *n)
{
    for (int i = 0; n->update && i < n->update->rvar_count; i++)
        nest_text_add(n, n->update->rvars[i].name);
}

void nest_text_reorder(const NestText *n, int from, int end)
{
    ScheduleArg loops[MOST_LOOP_NAMES];
    for (int i = from; i < end; i++)
        loops[end - 1 - i] = arg_name(n->names[i]);
    if (end - from >= 2)
        directive_write(n->out, DIR_REORDER, end - from, loops);
}

static void print_vectorize(const NestText *n, int loop, int64_t lanes)
{
    DIRECTIVE_WRITE(n->out, DIR_VECTORIZE, arg_name(n->names[loop]), arg_int(lanes));
}

/* Moves the name at `at` behind all others, which keep their order. */
static void move_last(NestText *n, int at)
{
    const char *name = n->names[at];
    for (int i = at; i + 1 < n->count; i++)
        n->names[i] = n->names[i + 1];
    n->names[n->count - 1] = name;
}

void nest_text_print(NestText *n, int vector, int64_t lanes, bool natural)
{
    const bool last = vector == n->count - 1;
    if (vector >= 0 && !lanes) {
        const ScheduleArg name = arg_name(n->names[vector]);
        move_last(n, vector);
        if (!natural || !last)
            nest_text_reorder(n, 0, n->count);
        DIRECTIVE_WRITE(n->out, DIR_VECTORIZE, name);
        return;
    }
    if (vector < 0 || last) {
        if (!natural)
            nest_text_reorder(n, 0, n->count);
        if (vector >= 0)
            print_vectorize(n, vector, lanes);
        return;
    }
    NestText first = *n;
    move_last(&first, vector);
    nest_text_reorder(&first, 0, first.count);
    print_vectorize(n, vector, lanes);
    nest_text_reorder(n, vector, n->count);
}
