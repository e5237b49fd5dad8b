/* SPDX-License-Identifier: MIT */
/* A slice of a server reports the whole L3, of which it has a part: what is counted of it, what is stored past
 * it, and that `auto` makes the same of programs whatever its size is said to be. */
#include "check.h"

#include <ctype.h>

#include "kiln.h"
#include "schedulers/model/machine.h"

enum { MIB = 1 << 20, TEXTS = 3 };

/* ---- The machine ------------------------------------------------------------------------- */

typedef struct Counted {
    const char *machine;
    double      last, l2, streams; /* MiB */
} Counted;

/* clang-format off */
static const Counted counted[] = {
    { "cores=2, l2=2M, l3=260M, l3_shared=2", 8, 1.5, 4 },
    { "cores=1, l2=2M, l3=260M, l3_shared=2", 4, 1.5, 2 },
    { "cores=2, l2=1280k, l3=48M, l3_shared=2", 8, 0.9375, 2.5 },
    { "cores=16, l2=2M, l3=300M, l3_shared=16", 64, 1.5, 32 },
    { "cores=8, l2=512k, l3=16M", 8, 0.375, 4 },                    /* a desktop's: half, its cores can claim more */
    { "cores=8, l2=2M, l2_shared=4, l3=16M", 8, 0.375, 4 },
    { "cores=2, l2=2M, l2_shared=4, l3=16M", 8, 0.375, 2 },
    { "cores=2, l2=2M, l3=0", 2, 1.5, 4 },
    { "cores=1, l2=16M, l3=32M", 16, 12, 16 },                      /* an L2 larger than a core's part of the L3 */
    { "cores=2, l2=2M, l3=260M, l3_core=1G, stream=1G", 130, 1.5, 1024 },   /* both switched off */
    { "cores=2, l2=2M, l3=260M, l3_core=2M, stream=1M", 4, 1.5, 1 },
};
/* clang-format on */

static void machines(kn_context *cx)
{
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        const Counted *c = &counted[i];
        Machine        m = machine_usual();
        CHECK(machine_parse(cx, "machine", c->machine, &m), "%s", kn_error_text(cx));
        CHECK(machine_last_cache(&m) == c->last * MIB, "%s: %g of the last cache", c->machine, machine_last_cache(&m));
        CHECK(machine_kept_l2(&m) == c->l2 * MIB, "%s: %g of l2", c->machine, machine_kept_l2(&m));
        CHECK(machine_streams_from(&m) == c->streams * MIB, "%s: from %g", c->machine, machine_streams_from(&m));
    }
}

/* ---- Schedules --------------------------------------------------------------------------- */

#define COMMON ", vector_bits=512, line=64, l1=48k, l2_shared=1, l3_shared=2, memory_all=18"
static const char *const texts[][TEXTS] = {
    { "cores=1, l2=2M, l3=260M" COMMON, "cores=1, l2=2M, l3=48M" COMMON, "cores=1, l2=1280k, l3=48M" COMMON },
    { "cores=2, l2=2M, l3=260M" COMMON, "cores=2, l2=2M, l3=48M" COMMON, "cores=2, l2=1280k, l3=48M" COMMON },
};
static const struct App {
    const char *name;
    bool        streams; /* are the rows of its output whole cache lines? */
    bool        by_l2;   /* do the windows of one group fit only the larger L2? */
} apps[] = {
    { "max_filter", true, false }, { "unsharp", true, false },      { "blur", true, false },
    { "harris", false, false },    { "camera_pipe", true, false },  { "iir_blur", true, false },
    { "hist", true, false },       { "stencil_chain", true, true },
};

/* A schedule without remarks and numbers: which functions are where, and which loops they have. */
static char *structure(const char *text)
{
    char  *out = calloc(1, strlen(text) + 1);
    size_t n   = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const size_t length = strncmp(line, "//", 2) ? strcspn(line, "\n") + 1 : 0;
        for (size_t i = 0; i < length && line[i]; i++)
            if (!isdigit((unsigned char)line[i]))
                out[n++] = line[i];
    }
    return out;
}

static char *made(kn_pipeline *p, const char *scheduler, const char *machine)
{
    const char *text = kn_schedule_make(p, scheduler, machine, &(kn_options){ .budget = 20 }, NULL, 0);
    return structure(text ? text : "");
}

static void same_of_all(kn_context *cx, const struct App *app, const char *const *machine)
{
    char path[64];
    snprintf(path, sizeof path, "apps/%s/%s.kiln", app->name, app->name);
    char        *text = check_read(path);
    kn_pipeline *p    = kn_parse(cx, path, text, -1);
    CHECK(p, "%s", kn_error_text(cx));
    char *of[TEXTS];
    for (int i = 0; i < TEXTS; i++) {
        of[i] = made(p, "auto", machine[i]);
        CHECK((strstr(of[i], ".stream()") != NULL) == app->streams, "%s, %s:\n%s", app->name, machine[i], of[i]);
    }
    for (int i = 1; i < TEXTS - app->by_l2; i++)
        CHECK(!strcmp(of[0], of[i]), "%s, %s:\n%s\n%s:\n%s", app->name, machine[0], of[0], machine[i], of[i]);
    for (int i = 0; i < TEXTS; i++)
        free(of[i]);
    kn_pipeline_free(p);
    free(text);
}

/* Rows of an output: more of them than the L2 of all cores hold are streamed, fewer are not; stream=… moves that
 * limit. */
static void streamed(kn_context *cx)
{
    static const struct {
        const char *size, *machine;
        bool        streams;
    } cases[] = {
        { "1024, 1100", "cores=2, l2=2M, l3=260M", true },
        { "1024, 1000", "cores=2, l2=2M, l3=260M", false },
        { "1024, 700", "cores=2, l2=1280k, l3=48M", true },
        { "1024, 600", "cores=2, l2=1280k, l3=48M", false },
        { "1024, 600", "cores=1, l2=2M, l3=260M", true },
        { "4096, 4096", "cores=2, l2=2M, l3=260M, stream=1G", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char program[128];
        snprintf(program, sizeof program, "input in : f32(x, y) output out out(x, y) = in(x, y) * 2 estimate out(%s)",
                 cases[i].size);
        kn_pipeline *p    = kn_parse(cx, "test.kiln", program, -1);
        char        *text = made(p, "auto", cases[i].machine);
        CHECK((strstr(text, ".stream()") != NULL) == cases[i].streams, "%s, %s: %s", cases[i].size, cases[i].machine,
              text);
        free(text);
        kn_pipeline_free(p);
    }
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    machines(cx);
    streamed(cx);
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++)
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            same_of_all(cx, &apps[i], texts[k]);
    kn_context_free(cx);
    return check_done();
}
