/* SPDX-License-Identifier: MIT */
/* --measure: the schedules of all schedulers are compiled and run by turns, and the fastest is taken.
 *
 * What `auto` has chosen comes first; then the others, as long as there is time and their schedule is another one. A
 * schedule whose result is not that of the first is not taken. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16, TURNS = 3 };
static const int32_t usual[KN_MAX_RANK] = {
    2560, 1536, 3, 1, 1, 1, 1, 1
};                                      /* default extents, where nothing tells the size */
static const double wrong_share = 1e-3; /* of the values that may be rounded to another one, as kiln bench has it */

typedef struct Finalists {
    Contender   at[MOST];
    const char *text[MOST];
    int         count;
    Progress    progress;
} Finalists;

static int read_seconds(Cli *cli, double *out)
{
    const char *text = option_value(cli, OPTION_MEASURE_SECONDS, 0);
    char       *end;
    *out = text ? strtod(text, &end) : 10;
    if (text && (*end || end == text || !(*out > 0 && *out <= 1e6)))
        return usage(cli, "--seconds %s: a number of seconds above 0 was expected", text);
    return DONE;
}

/* The schedule that a scheduler makes, without its title; NULL if it makes none. */
static const char *text_by(Cli *cli, const char *scheduler, const kn_options *options, const Bindings *b)
{
    const char *text = kn_schedule_make(b->program.pipeline, scheduler, NULL, options, b->args, b->arg_count);
    const char *line = text ? strchr(text, '\n') : NULL;
    return line ? cli_strndup(cli, line, strlen(line)) : NULL;
}

static bool is_new(const Finalists *f, const char *text)
{
    for (int i = 0; i < f->count; i++)
        if (!strcmp(f->text[i], text))
            return false;
    return true;
}

/* Compiles a scheduler's schedule, unless another finalist has the same. */
static int add_finalist(Cli *cli, Finalists *f, const char *scheduler, const kn_options *options, const Bindings *b,
                        kn_buffer *reference)
{
    const char *text = text_by(cli, scheduler, options, b);
    if (!text || !is_new(f, text))
        return DONE;
    Contender *c        = &f->at[f->count];
    f->text[f->count++] = text;
    *c                  = (Contender){ .name = scheduler, .scheduler = scheduler, .threads = options->threads };
    const int status    = contender_open(cli, options, b, c);
    return status == DONE ? contender_try(cli, c, b, reference) : status;
}

static double shortest(const Contender *c)
{
    double least = c->ms[0];
    for (int i = 1; i < c->runs; i++)
        least = c->ms[i] < least ? c->ms[i] : least;
    return least;
}

static int take_turns(Cli *cli, Finalists *f, const Bindings *b, double seconds)
{
    const int turns  = TURNS * f->count;
    int       status = DONE;
    progress_next(&f->progress, "measuring", b->program.path);
    for (int i = 0; i < turns && status == DONE; i++) {
        progress_count(&f->progress, i, turns);
        status = contender_turn(cli, &f->at[i % f->count], b, NULL, seconds / turns, 1);
    }
    progress_end(&f->progress);
    return status;
}

static const char *fastest(const Finalists *f)
{
    int best = 0;
    for (int i = 0; i < f->count; i++) {
        const bool right = f->at[i].share <= wrong_share;
        say("%-8s %9.3f ms%s", f->at[i].name, shortest(&f->at[i]), right ? "" : ", but another result: not taken");
        if (right && shortest(&f->at[i]) < shortest(&f->at[best]))
            best = i;
    }
    return f->at[best].name;
}

int finalists_measure(Cli *cli, const kn_options *options, const Bindings *b, const char **best)
{
    Finalists  f         = { .count = 0 };
    kn_options with      = *options;
    kn_buffer *reference = cli_alloc(cli, sizeof *reference * (size_t)(b->count + 1));
    double     seconds, begin = now();
    int        status = read_seconds(cli, &seconds);
    with.scheduler    = NULL;
    progress_begin(&f.progress, "compiling for", "auto");
    if (status == DONE)
        status = add_finalist(cli, &f, "auto", &with, b, reference);
    progress_end(&f.progress);
    for (int i = 0;
         status == DONE && strcmp(kn_scheduler_get(i).name, "auto") && f.count < MOST && now() - begin < seconds / 2;
         i++) {
        progress_next(&f.progress, "compiling for", kn_scheduler_get(i).name);
        status = add_finalist(cli, &f, kn_scheduler_get(i).name, &with, b, reference);
        progress_end(&f.progress);
    }
    if (status == DONE && f.count)
        status = take_turns(cli, &f, b, seconds - (now() - begin) > 0 ? seconds - (now() - begin) : 0);
    if (status == DONE)
        *best = f.count ? fastest(&f) : NULL;
    for (int i = 0; i < f.count; i++)
        contender_close(&f.at[i]);
    for (int i = 0; i < b->count; i++)
        kn_buffer_free(cli->cx, &reference[i]);
    return status;
}

/* ---- Inputs ------------------------------------------------------------------------------ */

/* Sizes an input, whose size the program uses, like the outputs along dimensions of the same names. */
static void size_like_outputs(const Bindings *b, PortBinding *in)
{
    for (int d = 0; d < in->port.rank; d++) {
        in->buffer.dim[d] = (kn_dim){ 0, usual[d], 0 };
        for (int i = 0; i < b->count; i++)
            for (int e = 0; e < b->at[i].port.rank && b->at[i].port.kind == KN_OUTPUT; e++)
                if (!strcmp(b->at[i].port.dims[e], in->port.dims[d]))
                    in->buffer.dim[d] = b->at[i].buffer.dim[e];
    }
}

static void size_as_needed(PortBinding *in, const kn_region *regions, int count)
{
    for (int i = 0; i < count; i++)
        for (int d = 0; d < in->port.rank && !strcmp(regions[i].name, in->port.name); d++)
            in->buffer.dim[d] = (kn_dim){ regions[i].min[d], regions[i].extent[d], 0 };
}

/* Sizes for the inputs that have none: what the outputs need. */
static int size_inputs(Cli *cli, Bindings *b)
{
    const int        given = b->arg_count;
    const kn_region *regions;
    int              count;
    const bool       known = kn_bounds(b->module, b->args, b->arg_count, &regions, &count) == KN_OK;
    for (int i = 0; i < b->count; i++) {
        PortBinding *in = &b->at[i];
        if (in->port.kind != KN_INPUT || in->text)
            continue;
        in->buffer = (kn_buffer){ .type = in->port.type, .rank = in->port.rank };
        if (known)
            size_as_needed(in, regions, count);
        else
            size_like_outputs(b, in);
        b->args[b->arg_count++] = (kn_arg){ in->port.name, &in->buffer, in->value };
    }
    if (known || given == b->arg_count || kn_bounds(b->module, b->args, b->arg_count, &regions, &count) == KN_OK)
        return DONE;
    report(cli);
    return failed("--measure could not make inputs up: give them, or --size");
}

/* Outputs without a size where inputs are not given, and nothing is estimated. */
static void size_outputs(Bindings *b)
{
    bool inputs = true;
    for (int i = 0; i < b->count; i++)
        inputs = inputs && (b->at[i].port.kind != KN_INPUT || b->at[i].text);
    for (int i = 0; i < b->count && !inputs; i++) {
        PortBinding *out = &b->at[i];
        if (out->port.kind != KN_OUTPUT || out->sized)
            continue;
        out->sized  = true;
        out->buffer = (kn_buffer){ .type = out->port.type, .rank = out->port.rank };
        for (int d = 0; d < out->port.rank; d++)
            out->buffer.dim[d] = (kn_dim){ 0, usual[d], 0 };
    }
}

int bindings_make_up(Cli *cli, Bindings *b)
{
    bindings_estimate(b);
    size_outputs(b);
    int status = bindings_fit(cli, b);
    if (status == DONE)
        status = size_inputs(cli, b);
    for (int i = 0; status == DONE && i < b->count; i++) {
        kn_buffer *in = &b->at[i].buffer;
        if (b->at[i].port.kind == KN_INPUT && !in->data &&
            (kn_buffer_alloc(cli->cx, in) != KN_OK || kn_fill_noise(cli->cx, in, 1) != KN_OK))
            status = report_about(cli, b->at[i].port.name);
    }
    return status == DONE ? bindings_allocate(cli, b) : status;
}
