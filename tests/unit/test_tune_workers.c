/* SPDX-License-Identifier: MIT */
/* Workers of kiln tune: what crashes, hangs, eats memory or is refused is a fault with its reason, the next candidate
 * runs, and no process is left. */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/backend.h"
#include "api/tune/workers.h"

static const char program[] = "input in : f32(x, y) output out a(x, y) = in(x, y) + in(x+1, y) out(x, y) = a(x, y) * 2";
static const char schedule[] = "out.split(y, yo, yi, 8).parallel(yo)\na.compute_at(out, yo)\n";

enum { CRASHES = 2, HANGS, STARVES, EXITS, CASES };

/* What the worker of that number does in place of compiling. */
static void misbehave(void *user, int number)
{
    (void)user;
    if (number == CRASHES) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (number == HANGS)
        for (;;)
            pause();
    if (number == STARVES)
        raise(SIGKILL);
    if (number == EXITS)
        _exit(3);
}

static const struct {
    TuneFault   fault;
    const char *reason;
} expected[CASES] = {
    { TUNE_FINE, "" },
    { TUNE_FINE, "" },
    { TUNE_CRASHED, "it ended by signal 11" },
    { TUNE_HUNG, "compiling did not end within 0.5 s" },
    { TUNE_NO_MEMORY, "the system has killed it, as it does when memory is short" },
    { TUNE_CRASHED, "it ended with status 3" },
};

typedef struct Setting {
    kn_context  *cx;
    kn_pipeline *p;
    kn_buffer    in, out;
    kn_arg       args[2];
    Workers      w;
    Arena        arena;
} Setting;

static void begin(Setting *s)
{
    *s     = (Setting){ .cx = kn_context_new(NULL) };
    s->p   = kn_parse(s->cx, "test.kiln", program, -1);
    s->in  = (kn_buffer){ .type = KN_F32, .rank = 2, .dim = { { 0, 257, 0 }, { 0, 64, 0 } } };
    s->out = (kn_buffer){ .type = KN_F32, .rank = 2, .dim = { { 0, 256, 0 }, { 0, 64, 0 } } };
    CHECK(s->p && kn_buffer_alloc(s->cx, &s->in) == KN_OK && kn_buffer_alloc(s->cx, &s->out) == KN_OK &&
              kn_fill_noise(s->cx, &s->in, 1) == KN_OK,
          "%s", kn_error_text(s->cx));
    s->args[0] = (kn_arg){ "in", &s->in, { 0 } };
    s->args[1] = (kn_arg){ "out", &s->out, { 0 } };
    s->w       = (Workers){
              .p = s->p, .args = s->args, .arg_count = 2, .compile_limit = 60, .run_limit = 30, .inject = misbehave
    };
    arena_init(&s->arena, s->cx);
}

static void end(Setting *s)
{
    workers_end(&s->w);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a process is left");
    arena_free(&s->arena);
    kn_context_free(s->cx);
}

static void test_faults(void)
{
    Setting s;
    begin(&s);
    CHECK(workers_begin(&s.w, &s.arena), "%s", kn_error_text(s.cx));
    CHECK(s.w.number == 1, "the reference is the first");
    for (int i = 1; i < CASES; i++) {
        TuneTrial trial = { .text = schedule, .slot = -1 }, *one = &trial;
        s.w.compile_limit = i == HANGS ? 0.5 : 60;
        workers_open(&s.w, &one, 1);
        CHECK(trial.fault == expected[i].fault, "case %d: %s: %s", i, tune_fault_names[trial.fault],
              trial.reason ? trial.reason : "");
        CHECK(!expected[i].reason[0] || (trial.reason && !strcmp(trial.reason, expected[i].reason)), "case %d: %s", i,
              trial.reason);
        CHECK((trial.slot >= 0) == (trial.fault == TUNE_FINE), "case %d", i);
        if (trial.slot >= 0)
            CHECK(workers_sample(&s.w, &trial) > 0, "case %d has no time", i);
        workers_close(&s.w, &trial);
    }
    end(&s);
}

/* A text that the compiler refuses; and a right one beside it, opened together. */
static void test_refused(void)
{
    Setting s;
    begin(&s);
    s.w.inject = NULL;
    CHECK(workers_begin(&s.w, &s.arena), "%s", kn_error_text(s.cx));
    TuneTrial  bad = { .text = "out.vectorize(z, 8)\n", .slot = -1 }, good = { .text = schedule, .slot = -1 };
    TuneTrial *both[] = { &bad, &good };
    workers_open(&s.w, both, 2);
    CHECK(bad.fault == TUNE_REFUSED && bad.slot < 0 && strstr(bad.reason, "error"), "%s", bad.reason);
    CHECK(good.fault == TUNE_FINE && good.slot >= 0, "%s", good.reason ? good.reason : "");
    end(&s); /* while one is open */
}

/* A worker that dies between turns is a fault of the next turn, and no signal of this process. */
static void test_dies_later(void)
{
    Setting s;
    begin(&s);
    s.w.inject = NULL;
    CHECK(workers_begin(&s.w, &s.arena), "%s", kn_error_text(s.cx));
    TuneTrial trial = { .text = schedule, .slot = -1 }, *one = &trial;
    workers_open(&s.w, &one, 1);
    CHECK(trial.slot >= 0, "%s", trial.reason);
    kill(s.w.at[trial.slot].pid, SIGABRT);
    CHECK(workers_sample(&s.w, &trial) < 0 && trial.fault == TUNE_CRASHED && trial.slot < 0, "%s",
          trial.reason ? trial.reason : "");
    end(&s);
}

/* The reference is what results are compared with: one that was changed makes every candidate wrong. */
static void test_wrong(void)
{
    Setting s;
    begin(&s);
    s.w.inject = NULL;
    CHECK(workers_begin(&s.w, &s.arena), "%s", kn_error_text(s.cx));
    float *values = s.w.reference[1].data;
    for (int i = 0; i < 1000; i++)
        values[i] += 1;
    TuneTrial trial = { .text = schedule, .slot = -1 }, *one = &trial;
    workers_open(&s.w, &one, 1);
    CHECK(trial.fault == TUNE_WRONG && strstr(trial.reason, "1000 of 16384 values of out"), "%s",
          trial.reason ? trial.reason : "");
    end(&s);
}

/* ---- A device ---------------------------------------------------------------------------- */

/* On an OpenCL device, where there is one: opened by each worker, never by this process. */
static void test_device(void)
{
    Setting s;
    char    cache[] = "/tmp/kiln-opencl-XXXXXX", command[64];
    begin(&s);
    s.w.inject         = NULL;
    s.w.device         = DEVICE_OPENCL;
    s.w.options.target = "opencl";
    if (mkdtemp(cache)) /* where PoCL keeps what it has compiled */
        setenv("POCL_CACHE_DIR", cache, 1);
    if (!workers_find_device(&s.w)) {
        CHECK(*kn_error_text(s.cx), "a reason");
        puts("skipped: there is no OpenCL device");
    } else {
        CHECK(*s.w.device_name && workers_begin(&s.w, &s.arena), "%s", kn_error_text(s.cx));
        TuneTrial  good   = { .text = "out.split(x, xo, xi, 32).gpu_blocks(xo, y).gpu_threads(xi)\na.inline()\n",
                              .slot = -1 };
        TuneTrial  bad    = { .text = "out.gpu_threads(z)\n", .slot = -1 };
        TuneTrial *both[] = { &good, &bad };
        workers_open(&s.w, both, 2);
        CHECK(good.fault == TUNE_FINE && good.slot >= 0, "%s", good.reason ? good.reason : "");
        CHECK(good.slot >= 0 && workers_sample(&s.w, &good) > 0 && workers_sample(&s.w, &good) > 0, "no time");
        CHECK(bad.fault == TUNE_REFUSED && strstr(bad.reason, "error"), "%s", bad.reason ? bad.reason : "");
        CHECK(!s.in.device && !s.out.device, "the buffers of this process stay as they are");
        workers_close(&s.w, &good);
    }
    snprintf(command, sizeof command, "rm -rf %s", cache);
    CHECK(system(command) == 0, "%s", command);
    end(&s);
}

int main(void)
{
    test_faults();
    test_refused();
    test_dies_later();
    test_wrong();
    test_device();
    return check_done();
}
