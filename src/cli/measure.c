/* SPDX-License-Identifier: MIT */
/* Measuring one way to run a program: compiling it, running it for a while, its memory, whether its result is right.
 *
 * Results agree if all but a thousandth of the values lie within what rounding explains: 1e-5 of the largest value of
 * the reference, at least 1 for integers, or a thousandth of the value itself. (Schedules never change integers, but
 * floats may be contracted differently, and one that is rounded to an integer or chooses between two values can go
 * either way.) */
#include "cli.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory ---- */

/* A figure of /proc/self/status in kB; -1 if there is none. */
static int64_t status_kb(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    if (!file)
        return -1;
    char         line[256];
    int64_t      kb = -1;
    const size_t n  = strlen(name);
    while (kb < 0 && fgets(line, sizeof line, file))
        if (!strncmp(line, name, n) && line[n] == ':')
            kb = strtoll(line + n + 1, NULL, 10);
    fclose(file);
    return kb;
}

/* Returns free memory to the system and resets the peak. The current size in kB; -1 if the peak cannot be read. */
static int64_t memory_begin(void)
{
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return -1;
    const bool written = fputs("5", file) >= 0;
    return fclose(file) == 0 && written ? status_kb("VmRSS") : -1;
}

static int64_t memory_grown(int64_t begin)
{
    const int64_t peak = status_kb("VmHWM");
    return begin < 0 || peak < 0 ? -1 : peak > begin ? peak - begin : 0;
}

/* ---- Results ---- */

static size_t bytes_of(const kn_buffer *b)
{
    size_t bytes = kn_type_size(b->type);
    for (int d = 0; d < b->rank; d++)
        bytes *= (size_t)b->dim[d].extent;
    return bytes;
}

/* Fills the outputs with a pattern that no correct run leaves. */
static void spoil_outputs(const Bindings *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->at[i].port.kind == KN_OUTPUT)
            memset(b->at[i].buffer.data, b->at[i].port.type == KN_BOOL ? 1 : 0x5a, bytes_of(&b->at[i].buffer));
}

static int keep_reference(Cli *cli, const Bindings *b, kn_buffer *reference)
{
    for (int i = 0; i < b->count; i++) {
        if (b->at[i].port.kind != KN_OUTPUT)
            continue;
        reference[i] = b->at[i].buffer;
        if (kn_buffer_alloc(cli->cx, &reference[i]) != KN_OK)
            return report_about(cli, b->at[i].port.name);
        memcpy(reference[i].data, b->at[i].buffer.data, bytes_of(&reference[i]));
    }
    return DONE;
}

/* The largest absolute value: the difference from zeros. */
static double magnitude(Cli *cli, const kn_buffer *a)
{
    uint64_t  zero  = 0;
    kn_buffer zeros = *a;
    zeros.data      = &zero;
    for (int d = 0; d < zeros.rank; d++)
        zeros.dim[d].stride = 0;
    kn_difference d;
    return kn_compare(cli->cx, a, &zeros, 0, 0, &d) == KN_OK && isfinite(d.max) ? d.max : 0;
}

static int compare(Cli *cli, Contender *c, const Bindings *b, const kn_buffer *reference)
{
    for (int i = 0; i < b->count; i++) {
        const PortBinding *out = &b->at[i];
        if (out->port.kind != KN_OUTPUT)
            continue;
        double tolerance = 1e-5 * magnitude(cli, &reference[i]);
        if (out->port.type < KN_F16 && tolerance < 1)
            tolerance = 1;
        kn_difference d;
        if (kn_compare(cli->cx, &out->buffer, &reference[i], tolerance, 1e-3, &d) != KN_OK)
            return report_about(cli, out->port.name);
        c->difference = fmax(c->difference, d.max);
        c->share      = d.count ? fmax(c->share, (double)d.beyond / (double)d.count) : c->share;
    }
    return DONE;
}

/* ---- Compiling ---- */

int backend_load(Cli *cli)
{
    kn_pipeline *p = kn_parse(cli->cx, "nothing", "output out  out(x) = x", -1);
    return p && kn_compile(p, NULL) ? DONE : report(cli);
}

/* Adds the contender's file; *schedule is the name of what it brought, NULL if it has none. */
static int add_file(Cli *cli, const Contender *c, const char **schedule)
{
    kn_pipeline *p = c->own.program.pipeline;
    const char  *text;
    size_t       length;
    if (file_read(cli, c->file, &text, &length) != DONE)
        return FAILED;
    if (kn_schedule_parse(p, c->file, text, (ptrdiff_t)length) != KN_OK)
        return report(cli);
    *schedule = kn_schedule_name(p, kn_schedule_count(p) - 1);
    return DONE;
}

static int compile(Cli *cli, kn_options options, const Bindings *b, Contender *c)
{
    options.schedule = c->schedule;
    options.threads  = c->threads;
    options.cache    = NULL;
    int status       = bindings_program(cli, &c->own);
    if (status == DONE)
        status = externs_load(cli, &c->own);
    if (status == DONE && c->file)
        status = add_file(cli, c, &options.schedule);
    const double begin = now();
    if (status == DONE && c->scheduler &&
        strcmp(c->scheduler, "none")) { /* the sizes are those of b, the program is its own */
        Bindings sized = *b;
        sized.program  = c->own.program;
        status         = bindings_schedule(cli, &sized, c->optional ? NULL : c->scheduler, &options, false);
    }
    if (status != DONE)
        return status;
    c->module     = kn_compile(c->own.program.pipeline, &options);
    c->compile_ms = 1e3 * (now() - begin);
    return c->module ? DONE : report(cli);
}

/* Switches to the contender's context, so that errors are reported from there. */
static kn_context *enter(Cli *cli, const Contender *c)
{
    kn_context *had = cli->cx;
    cli->cx         = c->cx;
    return had;
}

int contender_open(Cli *cli, const kn_options *options, const Bindings *b, Contender *c)
{
    int status;
    c->cx = context_open(cli, &status);
    if (!c->cx)
        return status;
    kn_context *had = enter(cli, c);
    status          = compile(cli, *options, b, c);
    cli->cx         = had;
    return status;
}

void contender_close(Contender *c)
{
    if (c->cx)
        bindings_free(&c->own);
    kn_context_free(c->cx);
    free(c->ms);
}

/* ---- Running ---- */

/* `first`: warnings are shown. */
static int run(Cli *cli, const Contender *c, const Bindings *b, bool first)
{
    kn_context *had    = enter(cli, c);
    const int   status = kn_run(c->module, b->args, b->arg_count) == KN_OK ? DONE : FAILED;
    if (first || status != DONE)
        report(cli);
    cli->cx = had;
    return status;
}

int contender_try(Cli *cli, Contender *c, const Bindings *b, kn_buffer *reference)
{
    bool first = true;
    for (int i = 0; i < b->count; i++)
        first = first && !reference[i].data;
    spoil_outputs(b);
    const int64_t begin  = memory_begin();
    const int     status = run(cli, c, b, true);
    c->peak_kb           = memory_grown(begin);
    if (status != DONE)
        return status;
    return first ? keep_reference(cli, b, reference) : compare(cli, c, b, reference);
}

static bool keep_time(Contender *c, double ms)
{
    if (c->runs == c->room) {
        const int room   = c->room ? 2 * c->room : 64;
        double   *larger = realloc(c->ms, sizeof *larger * (size_t)room);
        if (!larger)
            return false;
        c->ms   = larger;
        c->room = room;
    }
    c->ms[c->runs++] = ms;
    return true;
}

/* On a device: what earlier runs wrote is of no use any more, whichever side it is on. */
static void forget_outputs(const Bindings *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->at[i].port.kind == KN_OUTPUT)
            b->at[i].buffer.flags = 0;
}

static int wait_for(kn_device *device)
{
    return !device || kn_device_sync(device) == KN_OK ? DONE : failed("%s", kn_rt_last_error());
}

/* Many runs that are waited for together: some that fill the time, after a time for one. */
static int measure_batch(Cli *cli, Contender *c, const Bindings *b, kn_device *device, double seconds)
{
    enum { MOST_RUNS = 100 };
    const double one    = c->ms[c->runs - 1] * 1e-3;
    const int    runs   = one * MOST_RUNS < seconds ? MOST_RUNS : 1 + (int)(seconds / one);
    const double begin  = now();
    int          status = DONE;
    for (int i = 0; i < runs && status == DONE; i++)
        status = run(cli, c, b, false);
    if (status == DONE)
        status = wait_for(device);
    const double ms = 1e3 * (now() - begin) / runs;
    c->batched_ms   = c->batched_ms > 0 && c->batched_ms < ms ? c->batched_ms : ms;
    return status;
}

int contender_turn(Cli *cli, Contender *c, const Bindings *b, kn_device *device, double seconds, int least)
{
    const double each = device ? seconds / 2 : seconds, end = now() + each;
    forget_outputs(b);
    for (double begin = now(), after; least > 0 || begin < end; begin = after, least--) {
        int status = run(cli, c, b, false);
        if (status == DONE)
            status = wait_for(device);
        after = now();
        if (status != DONE)
            return status;
        if (!keep_time(c, 1e3 * (after - begin)))
            return failed("out of memory");
    }
    return device ? measure_batch(cli, c, b, device, each) : DONE;
}

int contender_kernels(Cli *cli, const Contender *c, const Bindings *b, kn_device *device)
{
    enum { RUNS = 5 };
    kn_kernel_profile k;
    double            all    = 0;
    int               status = DONE;
    forget_outputs(b);
    kn_device_set_profile(device, true);
    for (int i = 0; i < RUNS && status == DONE; i++)
        status = run(cli, c, b, false);
    for (int i = 0; kn_device_profile_get(device, i, &k); i++)
        all += k.seconds;
    printf("kernels of %s, %.3f ms of a run:\n", c->name, 1e3 * all / RUNS);
    for (int i = 0; status == DONE && kn_device_profile_get(device, i, &k); i++) {
        printf("%10.3f ms  %5.1f %%  %s: ", 1e3 * k.seconds / RUNS, 100 * k.seconds / all, k.kernel);
        if (k.launches != RUNS)
            printf("%.1f launches, ", (double)k.launches / RUNS);
        printf("%lld blocks of %d threads", (long long)k.blocks, (int)k.threads);
        if (k.registers)
            printf(", %d at once on a multiprocessor, %d registers, %d bytes spilled, %d bytes shared",
                   (int)k.resident_blocks, (int)k.registers, (int)k.spilled_bytes, (int)k.shared_bytes);
        putchar('\n');
    }
    kn_device_set_profile(device, false);
    return status;
}
