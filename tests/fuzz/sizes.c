/* SPDX-License-Identifier: MIT */
/* Sizes of a program's arguments. See sizes.h. */
#include "sizes.h"
#include "gen.h"
#include "pipeline/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 8, MOST_NUMBER = 9 /* of a parameter */ };

static int any_of(Choices *c, const uint8_t *values, size_t count)
{
    return values[choose(c, count)];
}

/* How large boxes are: usual, or 0 to 3 everywhere. */
typedef enum Scale { USUAL, TINY } Scale;

/* An extent of a dimension: a long one, or at most `LONG`. */
static int some_extent(Choices *c, Scale scale, bool is_long)
{
    static const uint8_t many[] = { 13, 16, 17, 9, 11, 15, 19, 23, 31, 33, 32, 37, 10, 14 },
                         few[]  = { 3, 1, 2, 5, 7, 4, 8, 6 };
    if (scale == TINY)
        return (int)choose(c, 4);
    if (choose(c, 60) == 59)
        return 0;
    return is_long ? any_of(c, many, sizeof many) : any_of(c, few, sizeof few);
}

static void vary_box(Choices *c, Slot *s, Scale scale)
{
    const int longest = s->rank && choose(c, 4) ? (int)choose(c, (uint64_t)(s->rank < 2 ? s->rank : 2)) : -1;
    for (int d = 0; d < s->rank; d++) {
        int extent = some_extent(c, scale, d == longest);
        if (d > 1 && extent > 4)
            extent = 4;
        s->dim[d] = (kn_dim){ .min = (int32_t)choose(c, 17) - 8, .extent = extent };
    }
}

/* Outputs as large as the first input of their rank, as people run programs: from 0 on, or where it is. */
static void share_box(Choices *choices, Case *c)
{
    const Slot *first   = NULL;
    const bool  at_zero = choose(choices, 2) == 0;
    for (int i = 0; i < c->count; i++) {
        Slot *s = &c->slots[i];
        for (int d = 0; at_zero && d < s->rank; d++)
            s->dim[d].min = 0;
        if (!first && s->kind[0] == 'i')
            first = s;
        if (first && s->kind[0] == 'o' && s->rank == first->rank)
            memcpy(s->dim, first->dim, sizeof s->dim);
    }
}

/* All boxes elsewhere. */
static void move_far(Case *c, int32_t by)
{
    for (int i = 0; i < c->count; i++)
        for (int d = 0; d < c->slots[i].rank; d++)
            c->slots[i].dim[d].min += by;
}

void vary_sizes(Choices *choices, Case *c)
{
    const Scale scale = choose(choices, 3) == 2 ? TINY : USUAL;
    for (int i = 0; i < c->count; i++) {
        Slot *s = &c->slots[i];
        if (s->kind[0] == 'p')
            s->number = choose(choices, MOST_NUMBER);
        else
            vary_box(choices, s, scale);
        if (s->kind[0] == 'i' && choose(choices, 3) == 2)
            s->number = choose(choices, 1000);
    }
    if (choose(choices, 3) == 0)
        share_box(choices, c);
    if (choose(choices, 12) == 0)
        move_far(c, choose(choices, 2) ? 100000 : -12345);
    c->layout = choose(choices, 2) ? 1 + choose(choices, 1000) : 0;
}

/* The box needed and up to two more on each side, or none. */
static void take_region(Choices *choices, Slot *s, const kn_region *needed)
{
    const bool exact = choose(choices, 2) == 0;
    for (int d = 0; d < s->rank; d++) {
        const int before = exact ? 0 : (int)choose(choices, 3), after = exact ? 0 : (int)choose(choices, 3);
        s->dim[d] = (kn_dim){ .min = needed->min[d] - before, .extent = needed->extent[d] + before + after };
    }
}

/* The input behind an argument if its size is free: the program does not speak of it. */
static const Func *free_input(const Run *r, int i)
{
    const kn_port port = kn_port_get(r->p, i);
    for (size_t k = 0; port.kind == KN_INPUT && k < r->p->funcs.count; k++)
        if (!strcmp(r->p->funcs.at[k]->name, port.name))
            return pipeline_uses_size(r->p, r->p->funcs.at[k]) ? NULL : r->p->funcs.at[k];
    return NULL;
}

void fit_inputs(Choices *choices, Run *r, Case *c)
{
    kn_arg           args[MOST_PORTS];
    const kn_region *regions;
    int              count = 0, region_count;
    if (!run_shape(r, c, 0))
        return;
    for (int i = 0; i < r->count; i++)
        if (!free_input(r, i))
            args[count++] = r->args[i];
    if (kn_bounds(r->m, args, count, &regions, &region_count) != KN_OK)
        return;
    for (int i = 0; i < r->count; i++)
        for (int k = 0; free_input(r, i) && k < region_count; k++)
            if (!strcmp(r->args[i].name, regions[k].name))
                take_region(choices, change_slot(c, r->args[i].name), &regions[k]);
}

char *write_comments(const Case *c)
{
    Gen g = { .choices = NULL };
    for (int i = 0; i < c->count; i++) {
        const Slot *s = &c->slots[i];
        emit(&g, "//@ %s %s", s->kind, s->name);
        if (s->kind[0] != 'o')
            emit(&g, " %llu", (unsigned long long)s->number);
        for (int d = 0; d < s->rank; d++)
            emit(&g, " %d:%d", s->dim[d].min, s->dim[d].extent);
        emit(&g, "\n");
    }
    if (c->layout)
        emit(&g, "//@ layout %llu\n", (unsigned long long)c->layout);
    if (g.failed) {
        free(g.text);
        return NULL;
    }
    return g.text;
}
