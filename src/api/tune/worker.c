/* SPDX-License-Identifier: MIT */
/* The inside of a worker: one schedule, compiled, compared with the reference, timed.
 *
 * Holds   It writes nothing but replies, and to the reference if that is its task. It ends with the process that forked
 *         it. Its outputs are its own: memory shared with the parent would be copied page by page at the first write,
 *         and small pages are slower.
 * Agree   Results agree as for `kiln bench`: all but a thousandth of the values lie within what rounding explains, 1e-5
 *         of the largest value of the reference, at least 1 for integers, or a thousandth of the value itself. */
#include "api/tune/worker.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/module.h"

/* A turn lasts so long, or a run if that is longer, or LEAST_RUNS of runs that are short. Its time is that of the
 * shortest run: the first finds the caches full of the other worker's data. */
static const double turn_seconds = 0.004, short_run = 0.02;
enum { LEAST_RUNS = 2 };
/* On a device a time is that of many runs that are waited for together, so that launches overlap; a turn is several
 * such batches, so that the clock has risen when the shortest comes. */
static const double batch_seconds = 0.004, device_turn_seconds = 0.02;
enum { MOST_BATCH_RUNS = 1000 };
/* Memory that a candidate may take beyond what the process had, beside the four-fold of its arguments. */
static const rlim_t least_memory = (rlim_t)4 << 30;

typedef struct Inside {
    Workers   *w;
    kn_module *module;
    kn_arg    *args;   /* with outputs of its own */
    kn_device *device; /* NULL: it runs on the CPU */
    int        fd;
} Inside;

static void reply(const Inside *x, ReplyKind kind, TuneFault fault, double seconds, const char *reason)
{
    Reply r = { .kind = kind, .fault = fault, .seconds = seconds };
    snprintf(r.reason, sizeof r.reason, "%s", reason ? reason : "");
    r.reason[strcspn(r.reason, "\n")] = 0;
    while (send(x->fd, &r, sizeof r, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

__attribute__((noreturn)) static void give_up(const Inside *x, TuneFault fault, const char *reason)
{
    reply(x, REPLY_FAULT, fault, 0, reason);
    _exit(0);
}

/* A call of the library has failed: there was no memory, or something else. */
__attribute__((noreturn)) static void give_up_status(const Inside *x, TuneFault otherwise)
{
    kn_context *cx = x->w->p->cx;
    give_up(x, cx->status == KN_ERROR_LIMIT ? TUNE_NO_MEMORY : otherwise, kn_error_text(cx));
}

size_t worker_bytes(const kn_buffer *b)
{
    size_t bytes = kn_type_size(b->type);
    for (int d = 0; d < b->rank; d++)
        bytes *= (size_t)b->dim[d].extent;
    return bytes ? bytes : 1;
}

/* ---- Limits ------------------------------------------------------------------------------ */

/* Bytes of address space in use; 0: not known. */
static rlim_t address_space(void)
{
    FILE              *file  = fopen("/proc/self/statm", "r");
    unsigned long long pages = 0;
    if (file && fscanf(file, "%llu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* It is not interrupted by the user's Ctrl-C, which is for its parent; it leaves no core; it has limited memory. */
static void set_limits(const Workers *w)
{
    rlim_t more = 0;
    for (int i = 0; i < w->arg_count; i++)
        more += w->args[i].buffer ? worker_bytes(w->args[i].buffer) : 0;
    more              = 4 * more + least_memory;
    const rlim_t used = address_space();
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    if (used && !w->device) /* drivers of devices map far more than they use */
        setrlimit(RLIMIT_AS, &(struct rlimit){ used + more, used + more });
}

/* ---- The program ------------------------------------------------------------------------- */

bool worker_is_output(const kn_pipeline *p, const char *name)
{
    for (int i = 0; i < kn_port_count(p); i++)
        if (!strcmp(kn_port_get(p, i).name, name))
            return kn_port_get(p, i).kind == KN_OUTPUT;
    return false;
}

/* ---- The device -------------------------------------------------------------------------- */

__attribute__((noreturn)) static void give_up_device(const Inside *x)
{
    give_up(x, TUNE_CRASHED, kn_rt_last_error());
}

static void open_device(Inside *x)
{
    x->device = kn_device_default((kn_device_kind)x->w->device);
    if (!x->device)
        give_up_device(x);
}

/* Inputs are copied, outputs get memory there. Buffers of the process that started this one stay as they are. */
static void move_to_device(Inside *x, kn_buffer *own)
{
    for (int i = 0; i < x->w->arg_count; i++) {
        if (!x->args[i].buffer)
            continue;
        const bool output = x->args[i].buffer == &own[i];
        own[i]            = *x->args[i].buffer;
        x->args[i].buffer = &own[i];
        if ((output ? kn_buffer_alloc_device(&own[i], x->device) : kn_copy_to_device(x->device, &own[i])) != KN_OK)
            give_up(x, TUNE_NO_MEMORY, kn_rt_last_error());
    }
}

static void wait_device(const Inside *x)
{
    if (x->device && kn_device_sync(x->device) != KN_OK)
        give_up_device(x);
}

static void copy_outputs_back(const Inside *x)
{
    for (int i = 0; x->device && i < x->w->arg_count; i++)
        if (x->w->reference[i].data && kn_copy_to_host(x->args[i].buffer) != KN_OK)
            give_up_device(x);
}

/* What earlier runs wrote is of no use any more, on whichever side it is. */
static void forget_outputs(const Inside *x)
{
    for (int i = 0; x->device && i < x->w->arg_count; i++)
        if (x->w->reference[i].data)
            x->args[i].buffer->flags = 0;
}

/* ---- Arguments and code ------------------------------------------------------------------ */

/* Outputs of its own, with values that no right run leaves. */
static void make_outputs(Inside *x)
{
    Workers *w     = x->w;
    x->args        = malloc(sizeof *x->args * (size_t)(w->arg_count + 1));
    kn_buffer *own = x->args ? malloc(sizeof *own * (size_t)(w->arg_count + 1)) : NULL;
    if (!own)
        give_up(x, TUNE_NO_MEMORY, "no memory for the outputs");
    for (int i = 0; i < w->arg_count; i++) {
        x->args[i] = w->args[i];
        if (!w->args[i].buffer || !worker_is_output(w->p, w->args[i].name))
            continue;
        own[i]            = *w->args[i].buffer;
        x->args[i].buffer = &own[i];
        if (kn_buffer_alloc(w->p->cx, &own[i]) != KN_OK)
            give_up_status(x, TUNE_NO_MEMORY);
        memset(own[i].data, own[i].type == KN_BOOL ? 1 : 0x5a, worker_bytes(&own[i]));
    }
    if (x->device)
        move_to_device(x, own);
}

static void compile(Inside *x, const char *text)
{
    Workers   *w    = x->w;
    kn_options with = w->options;
    with.scheduler  = w->device && !text ? "auto" : "none"; /* the reference of a device is the CPU's */
    with.schedule   = text ? NULL : "";
    with.cache      = NULL;
    with.target     = w->device && !text ? NULL : with.target;
    if (text && kn_schedule_parse(w->p, "candidate.sched", text, -1) != KN_OK)
        give_up_status(x, TUNE_REFUSED);
    x->module = kn_compile(w->p, &with);
    if (!x->module)
        give_up_status(x, TUNE_REFUSED);
}

static double run_batch(const Inside *x, int runs)
{
    const double begin = workers_now();
    for (int i = 0; i < runs; i++)
        if (kn_run(x->module, x->args, x->w->arg_count) != KN_OK)
            give_up_status(x, TUNE_CRASHED);
    wait_device(x);
    return (workers_now() - begin) / runs;
}

static double run_once(const Inside *x)
{
    return run_batch(x, 1);
}

/* The largest absolute value: the difference from zeros. */
static double magnitude(kn_context *cx, const kn_buffer *a)
{
    uint64_t  zero  = 0;
    kn_buffer zeros = *a;
    zeros.data      = &zero;
    for (int d = 0; d < zeros.rank; d++)
        zeros.dim[d].stride = 0;
    kn_difference d;
    return kn_compare(cx, a, &zeros, 0, 0, &d) == KN_OK && isfinite(d.max) ? d.max : 0;
}

static void compare(const Inside *x)
{
    const double most = 1e-3;
    kn_context  *cx   = x->w->p->cx;
    for (int i = 0; i < x->w->arg_count; i++) {
        const kn_buffer *reference = &x->w->reference[i];
        if (!reference->data)
            continue;
        double tolerance = 1e-5 * magnitude(cx, reference);
        if (reference->type < KN_F16 && tolerance < 1)
            tolerance = 1;
        kn_difference d;
        if (kn_compare(cx, x->args[i].buffer, reference, tolerance, 1e-3, &d) != KN_OK)
            give_up_status(x, TUNE_WRONG);
        if ((double)d.beyond > most * (double)d.count) {
            char reason[MOST_REASON];
            snprintf(reason, sizeof reason, "%lld of %lld values of %s are not those of the default schedule",
                     (long long)d.beyond, (long long)d.count, x->args[i].name);
            give_up(x, TUNE_WRONG, reason);
        }
    }
}

static void keep_reference(const Inside *x)
{
    for (int i = 0; i < x->w->arg_count; i++)
        if (x->w->reference[i].data)
            memcpy(x->w->reference[i].data, x->args[i].buffer->data, worker_bytes(&x->w->reference[i]));
}

static double take_turn(const Inside *x)
{
    const double end  = workers_now() + turn_seconds;
    double       best = run_once(x);
    for (int runs = 1; workers_now() < end || (runs < LEAST_RUNS && best < short_run); runs++)
        best = fmin(best, run_once(x));
    return best;
}

static double take_device_turn(const Inside *x)
{
    const double end = workers_now() + device_turn_seconds;
    forget_outputs(x);
    double best = run_once(x);
    for (int batches = 1; workers_now() < end || (batches < LEAST_RUNS && best < short_run); batches++) {
        const double runs = batch_seconds / best;
        best = fmin(best, run_batch(x, runs < 1 ? 1 : runs > MOST_BATCH_RUNS ? MOST_BATCH_RUNS : (int)runs));
    }
    return best;
}

double workers_turn(const Workers *w)
{
    return w->device ? device_turn_seconds : turn_seconds;
}

void worker_main(Workers *w, const char *text, int number, int fd)
{
    Inside x = { .w = w, .fd = fd };
    set_limits(w);
    if (w->device && (text || w->finding))
        open_device(&x);
    if (w->finding) {
        reply(&x, REPLY_RAN, TUNE_FINE, 0, kn_device_describe(x.device)->name);
        _exit(0);
    }
    if (w->inject && text)
        w->inject(w->inject_user, number);
    compile(&x, text);
    make_outputs(&x);
    if (x.device) /* its driver compiles before the first run */
        run_once(&x);
    reply(&x, REPLY_COMPILED, TUNE_FINE, 0, NULL);
    const double seconds = run_once(&x);
    copy_outputs_back(&x);
    if (text)
        compare(&x);
    else
        keep_reference(&x);
    reply(&x, REPLY_RAN, TUNE_FINE, seconds, NULL);
    for (char byte; read(fd, &byte, 1) == 1;)
        reply(&x, REPLY_TURN, TUNE_FINE, x.device ? take_device_turn(&x) : take_turn(&x), NULL);
    _exit(0);
}
