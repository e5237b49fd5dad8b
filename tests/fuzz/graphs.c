/* SPDX-License-Identifier: MIT */
/* Random programs and the graph that schedulers work on: it is made wherever the regions are found, and for every tile
 * its boxes hold those of the regions.
 *
 *     graphs SEED COUNT [SECONDS]       COUNT programs from SEED on (0: from the clock), SECONDS at most */
#include "cases.h"
#include "families.h"
#include "generate.h"
#include "stages.h"

#include "../unit/graph_tiles.h"

#include <time.h>

/* The boxes of the program's comments as a binding. */
static void bind(void *arg)
{
    Tiled *c = arg;
    c->ok    = false;
    for (size_t i = 0; i < c->p->outputs.count; i++)
        for (int d = 0; d < c->p->outputs.at[i].func->rank; d++)
            if (c->binding.output[i].max[d] < c->binding.output[i].min[d])
                return;
    Regions    regions;
    const bool found = regions_compute(c->p, &c->arena, &c->binding, true, &regions);
    c->ok            = found && graph_make(c->p, &c->arena, &c->binding, &c->graph);
    CHECK(c->ok == found, "the regions are found, but no graph is made: %s", kn_error_text(c->cx));
}

static Box slot_box(const Slot *s, int margin)
{
    Box box = { 0 };
    for (int d = 0; d < s->rank; d++) {
        box.min[d] = s->dim[d].min - margin;
        box.max[d] = (int64_t)s->dim[d].min + s->dim[d].extent - 1 + margin;
    }
    return box;
}

static void read_binding(Tiled *c, const Case *slots)
{
    enum { MARGIN = 8 }; /* inputs may be read a little outside of what their comment says */
    c->binding.input  = ARENA_ARRAY(&c->arena, Box, c->p->funcs.count);
    c->binding.output = ARENA_ARRAY(&c->arena, Box, c->p->outputs.count);
    c->binding.param  = ARENA_ARRAY(&c->arena, kn_scalar, c->p->params.count);
    const Slot *s;
    for (size_t i = 0; i < c->p->funcs.count; i++)
        if (c->p->funcs.at[i]->kind == FUNC_INPUT && (s = find_slot(slots, c->p->funcs.at[i]->name)))
            c->binding.input[i] = slot_box(s, MARGIN);
    for (size_t i = 0; i < c->p->outputs.count; i++)
        if ((s = find_slot(slots, c->p->outputs.at[i].name)))
            c->binding.output[i] = slot_box(s, 0);
    for (size_t i = 0; i < c->p->params.count; i++) {
        s                   = find_slot(slots, c->p->params.at[i]->name);
        const uint64_t v    = s ? s->number : 0;
        c->binding.param[i] = type_is_float(c->p->params.at[i]->type) ? kn_float((double)v) : kn_int((int64_t)v);
    }
}

/* What a condition shows depends on the range it is asked in: `x != x + 1` bounds a large x more than a small one. */
static bool has_conditions(const char *text)
{
    return strstr(text, "if ") || strstr(text, "select(");
}

/* true: a graph was made and compared. */
static bool run_program(const char *name, const char *text, uint64_t seed)
{
    enum { TILES = 6 };
    MemoryUse  memory = { .fail_at = -1 };
    Tiled      c      = { .cx = context_with(&memory), .random = seed, .has_conditions = has_conditions(text) };
    const Case slots  = read_comments(text);
    stages_register(c.cx);
    c.p       = kn_parse(c.cx, "fuzz.kiln", text, -1);
    bool made = false;
    if (c.p) {
        arena_init(&c.arena, c.cx);
        read_binding(&c, &slots);
        context_begin(c.cx);
        made = context_try(c.cx, bind, &c) && c.ok;
        /* Of a mirror the graph knows more than the regions, which give up where a tile crosses the rim. */
        for (int i = 0; i < TILES && made && !strstr(text, "mirror"); i++)
            if (!test_tile(name, &c, i % (int)c.p->outputs.count)) {
                puts(text);
                break;
            }
        arena_free(&c.arena);
    }
    kn_context_free(c.cx);
    return made;
}

/* An odd seed is a family. */
static bool run_seed(const char *program, uint64_t seed)
{
    char      name[64];
    const int failed  = checks_failed;
    Choices   choices = { .seed = seed };
    char     *text    = seed % 2 ? generate_family(&choices) : generate_program(&choices);
    snprintf(name, sizeof name, "seed %llu %s", (unsigned long long)seed, seed % 2 ? "(a family)" : "");
    const bool made = run_program(name, text, seed);
    if (checks_failed > failed)
        printf("repeat it: %s %llu 1\n", program, (unsigned long long)seed);
    free(text);
    return made;
}

int main(int argc, char **argv)
{
    uint64_t     seed  = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    const long   most  = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
    const double limit = argc > 3 ? strtod(argv[3], NULL) : 1e9;
    const time_t begin = time(NULL);
    long         done = 0, made = 0;
    if (!seed)
        seed = (uint64_t)begin * 1000000;
    for (; done < most && checks_failed < 5 && difftime(time(NULL), begin) < limit; done++)
        made += run_seed(argv[0], seed + (uint64_t)done);
    printf("from seed %llu: %ld programs, %ld graphs\n", (unsigned long long)seed, done, made);
    return check_done();
}
