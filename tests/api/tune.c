/* SPDX-License-Identifier: MIT */
/* kn_tune as a user calls it: a search that runs, one that is stopped, one that is resumed, and what is refused; and
 * kn_cross. */
#include "../unit/check.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "kiln.h"

static const char program[] = "input in : f32(x, y) output out e = edge(in) a(x, y) = e(x-1, y) + e(x, y) + e(x+1, y) "
                              "out(x, y) = a(x, y-1) + a(x, y) + a(x, y+1)";

typedef struct Told {
    int steps, stop_at, recalled, faults;
} Told;

static int step(void *user, const kn_tune_step *s)
{
    Told *t = user;
    CHECK(s->number == t->steps, "%d", s->number);
    CHECK(s->what && s->result && s->schedule && s->speedup >= 1, "%s", s->what);
    t->steps++;
    t->recalled += s->recalled;
    t->faults += s->is_fault;
    return t->steps != t->stop_at;
}

typedef struct Setting {
    kn_context  *cx;
    kn_pipeline *p;
    kn_buffer    in, out;
    kn_arg       args[2];
} Setting;

static void begin(Setting *s)
{
    *s     = (Setting){ .cx = kn_context_new(NULL) };
    s->p   = kn_parse(s->cx, "test.kiln", program, -1);
    s->in  = (kn_buffer){ .type = KN_F32, .rank = 2, .dim = { { 0, 256, 0 }, { 0, 128, 0 } } };
    s->out = s->in;
    CHECK(s->p && kn_buffer_alloc(s->cx, &s->in) == KN_OK && kn_buffer_alloc(s->cx, &s->out) == KN_OK &&
              kn_fill_noise(s->cx, &s->in, 1) == KN_OK,
          "%s", kn_error_text(s->cx));
    s->args[0] = (kn_arg){ "in", &s->in, { 0 } };
    s->args[1] = (kn_arg){ "out", &s->out, { 0 } };
}

/* Candidates are compiled and run; the outputs given are not touched; the result compiles. */
static void test_measured(void)
{
    Setting  s;
    Told     told = { 0 };
    kn_tuned r;
    begin(&s);
    const kn_tune_options how = { .seconds = 30, .candidates = 6, .step = step, .user = &told };
    CHECK(kn_tune(s.p, &(kn_options){ .threads = 1 }, &how, s.args, 2, &r) == KN_OK, "%s", kn_error_text(s.cx));
    CHECK(r.candidates >= 6 && r.candidates == told.steps && told.faults == 0, "%d, %d", r.candidates, told.steps);
    CHECK(r.start_ms > 0 && r.schedule &&
              strstr(r.schedule, "// Tuned by kiln tune (model), for out 256x128; 1 thread"),
          "%s", r.schedule);
    CHECK(((float *)s.out.data)[100] == 0, "the output is not written");
    char *text = strdup(r.schedule); /* it stays until the next call */
    CHECK(kn_schedule_parse(s.p, "tuned", text, -1) == KN_OK && kn_compile(s.p, NULL), "%s", kn_error_text(s.cx));
    free(text);
    kn_context_free(s.cx);
}

/* Stopped after five candidates, and resumed: those five are not measured again. */
static void test_resumed(void)
{
    Setting   s;
    Told      told = { .stop_at = 5 }, again = { 0 };
    kn_tuned  r;
    char      path[] = "/tmp/kiln-tune-XXXXXX";
    const int fd     = mkstemp(path);
    CHECK(fd >= 0 && close(fd) == 0, "%s", path);
    begin(&s);
    kn_tune_options  how = { .seconds = 60, .seed = 3, .journal = path, .step = step, .user = &told };
    const kn_options one = { .threads = 1 };
    CHECK(kn_tune(s.p, &one, &how, s.args, 2, &r) == KN_OK, "%s", kn_error_text(s.cx));
    CHECK(told.steps == 5 && told.recalled == 0, "%d", told.steps);
    FILE *file = fopen(path, "a");
    CHECK(file && fputs("123 0 0", file) >= 0 && fclose(file) == 0, "a line that a killed process has begun");
    how.user       = &again;
    how.resume     = true;
    how.candidates = 8;
    CHECK(kn_tune(s.p, &one, &how, s.args, 2, &r) == KN_OK, "%s", kn_error_text(s.cx));
    CHECK(again.recalled == 5 && again.steps >= 8, "%d of %d", again.recalled, again.steps);
    how.seed = 4;
    CHECK(kn_tune(s.p, &one, &how, s.args, 2, &r) == KN_ERROR_FILE && strstr(kn_error_text(s.cx), "another search"),
          "%s", kn_error_text(s.cx));
    unlink(path);
    kn_context_free(s.cx);
}

static void test_simulated(void)
{
    Setting  s;
    kn_tuned a, b;
    begin(&s);
    for (int i = 0; kn_tune_algorithm_get(i).name; i++) {
        const kn_tune_options how = {
            .algorithm = kn_tune_algorithm_get(i).name, .simulate = true, .seed = 5, .candidates = 60, .population = 8
        };
        CHECK(kn_tune(s.p, NULL, &how, s.args, 2, &a) == KN_OK, "%s", kn_error_text(s.cx));
        char *text = strdup(a.schedule);
        CHECK(kn_tune(s.p, NULL, &how, s.args, 2, &b) == KN_OK && !strcmp(text, b.schedule), "%s\n%s", text,
              b.schedule);
        free(text);
    }
    kn_context_free(s.cx);
}

/* Kernels for a device that is not there. */
static void test_device_simulated(void)
{
    Setting  s;
    Told     told = { 0 };
    kn_tuned r;
    begin(&s);
    const kn_tune_options how = { .simulate   = true,
                                  .seed       = 2,
                                  .candidates = 40,
                                  .machine    = "gpu_sms=132, gpu_memory_rate=4250, gpu_l2_rate=5500",
                                  .step       = step,
                                  .user       = &told };
    for (int i = 0; i < 2; i++) {
        const kn_options to = { .target = i ? "opencl" : "cuda" };
        told                = (Told){ 0 };
        CHECK(kn_tune(s.p, &to, &how, s.args, 2, &r) == KN_OK, "%s", kn_error_text(s.cx));
        CHECK(told.steps >= 40 && told.faults == 0, "%d, %d", told.steps, told.faults);
        CHECK(r.schedule &&
                  strstr(r.schedule, i ? "kernels for opencl, 132 multiprocessors" : "kernels for cuda, 132") &&
                  strstr(r.schedule, "gpu_blocks"),
              "%s", r.schedule);
        char *text = strdup(r.schedule);
        CHECK(kn_schedule_parse(s.p, "tuned", text, -1) == KN_OK && kn_compile(s.p, &to), "%s", kn_error_text(s.cx));
        free(text);
    }
    kn_context_free(s.cx);
}

static void test_refused(void)
{
    Setting  s;
    kn_tuned r;
    begin(&s);
    CHECK(kn_tune(NULL, NULL, NULL, NULL, 0, &r) == KN_ERROR_ARGUMENT, "no pipeline");
    CHECK(kn_tune(s.p, NULL, NULL, s.args, 2, NULL) == KN_ERROR_ARGUMENT, "no place for the result");
    CHECK(kn_tune(s.p, NULL, &(kn_tune_options){ .algorithm = "genetics" }, s.args, 2, &r) != KN_OK &&
              strstr(kn_error_text(s.cx), "did you mean `genetic`?"),
          "%s", kn_error_text(s.cx));
    CHECK(kn_tune(s.p, &(kn_options){ .target = "cuda" }, &(kn_tune_options){ .algorithm = "genetic" }, s.args, 2,
                  &r) != KN_OK &&
              strstr(kn_error_text(s.cx), "model tunes kernels"),
          "%s", kn_error_text(s.cx));
    CHECK(kn_tune(s.p, &(kn_options){ .target = "host-cuda" }, NULL, s.args, 2, &r) != KN_OK &&
              strstr(kn_error_text(s.cx), "for one target"),
          "%s", kn_error_text(s.cx));
    CHECK(!kn_tune_algorithm_get(-1).name && !kn_tune_algorithm_get(99).name, "out of range");
    CHECK(kn_processor_name(s.cx) && !*kn_processor_name(NULL), "a name, or none");
    kn_context_free(s.cx);
}

/* ---- kn_cross ---- */

typedef struct Cases {
    kn_buffer     in[2], out[2];
    kn_arg        args[2][2];
    kn_cross_case at[4];
} Cases;

static void make_cases(const Setting *s, Cases *c)
{
    *c = (Cases){ 0 };
    for (int i = 0; i < 2; i++) {
        c->in[i]  = (kn_buffer){ .type = KN_F32, .rank = 2, .dim = { { 0, 64 << 2 * i, 0 }, { 0, 48 << 2 * i, 0 } } };
        c->out[i] = c->in[i];
        c->args[i][0] = (kn_arg){ "in", &c->in[i], { 0 } };
        c->args[i][1] = (kn_arg){ "out", &c->out[i], { 0 } };
        c->at[i]      = (kn_cross_case){ .args = c->args[i], .count = 2 };
        CHECK(kn_buffer_alloc(s->cx, &c->in[i]) == KN_OK && kn_buffer_alloc(s->cx, &c->out[i]) == KN_OK, "memory");
    }
}

static int count_searches(void *user, const kn_tune_step *s)
{
    int *searches = user;
    searches[s->of]++;
    return true;
}

/* Two sizes on two machines: the same seed gives the same table, each schedule is best where it was found. */
static void test_cross_simulated(void)
{
    static const char *const machines[] = { "cores=2,vector_bits=256,l1=32k,l2=512k,l3=16M",
                                            "cores=4,vector_bits=128,l1=64k,l2=256k,l3=1M" };
    Setting                  s;
    Cases                    c;
    kn_crossed               r;
    kn_cross_cell            first[16];
    int                      steps[4] = { 0 };
    const double             by_luck  = exp(-2 * 0.15); /* two deviations of what the model is made to miss */
    begin(&s);
    make_cases(&s, &c);
    for (int i = 0; i < 4; i++) {
        c.at[i]         = c.at[i % 2];
        c.at[i].machine = machines[i / 2];
    }
    const kn_tune_options how = {
        .simulate = true, .seed = 7, .candidates = 80, .step = count_searches, .user = steps
    };
    for (int again = 0; again < 2; again++) {
        const kn_status status = kn_cross(s.p, NULL, &how, c.at, 4, &r);
        CHECK(status == KN_OK, "%s", kn_error_text(s.cx));
        if (status != KN_OK)
            break;
        CHECK(steps[0] >= 80 && steps[3] >= 80, "%d, %d", steps[0], steps[3]);
        if (again)
            CHECK(!memcmp(first, r.cells, sizeof first), "the same seed, another table");
        memcpy(first, r.cells, sizeof first);
        double sum = 0;
        for (int k = 0; k < 16; k++) {
            sum += r.cells[k].ratio / 16;
            CHECK(k % 5 ? r.cells[k].ratio > by_luck : r.cells[k].ratio == 1, "%d: %g", k, r.cells[k].ratio);
        }
        CHECK(sum > 1.05, "it matters where a schedule was found: %g", sum);
    }
    c.at[0].schedule = "out compute_root()";
    CHECK(kn_cross(s.p, NULL, &how, c.at, 4, &r) != KN_OK && strstr(kn_error_text(s.cx), "simulation"), "%s",
          kn_error_text(s.cx));
    kn_context_free(s.cx);
}

/* A schedule that was given, one that is searched for, one of another machine, and one that is wrong. */
static void test_cross_measured(void)
{
    Setting    s;
    Cases      c;
    kn_crossed r;
    int        steps[4] = { 0 };
    begin(&s);
    make_cases(&s, &c);
    c.at[1].schedule          = "a.compute_root()\n";
    c.at[2]                   = c.at[0];
    c.at[2].machine           = "cores=4,vector_bits=128,l1=64k,l2=256k,l3=1M";
    c.at[3]                   = (kn_cross_case){ .schedule = "nothing.compute_root()\n" };
    const kn_tune_options how = { .seconds = 20, .candidates = 3, .step = count_searches, .user = steps };
    CHECK(kn_cross(s.p, &(kn_options){ .threads = 1 }, &how, c.at, 4, &r) == KN_OK, "%s", kn_error_text(s.cx));
    CHECK(steps[0] >= 3 && !steps[1] && steps[2] >= 3 && !steps[3], "%d %d %d %d", steps[0], steps[1], steps[2],
          steps[3]);
    CHECK(r.ms[0] > 0 && r.ms[1] > 0 && r.ms[2] == 0 && r.ms[3] == 0, "%g %g", r.ms[0], r.ms[1]);
    CHECK(r.cells[0].ratio == 1 && r.cells[5].ratio == 1 && r.cells[1].ratio > 0 && r.cells[4].ratio > 0, "%g %g",
          r.cells[1].ratio, r.cells[4].ratio);
    CHECK(r.cells[8].ratio > 0 && r.cells[9].ratio > 0 && r.cells[10].ratio == 0, "%g", r.cells[8].ratio);
    CHECK(r.cells[12].fault && !strcmp(r.cells[12].fault, "refused") && r.cells[12].reason,
          "a function that is not there");
    CHECK(!strcmp(r.schedules[1], "a.compute_root()\n"), "%s", r.schedules[1]);
    CHECK(kn_cross(s.p, NULL, &how, c.at, 0, &r) == KN_ERROR_ARGUMENT, "no case");
    CHECK(kn_cross(s.p, NULL, &how, &(kn_cross_case){ .count = 0 }, 1, &r) == KN_ERROR_ARGUMENT, "an empty case");
    kn_context_free(s.cx);
}

int main(void)
{
    test_measured();
    test_resumed();
    test_simulated();
    test_device_simulated();
    test_refused();
    test_cross_simulated();
    test_cross_measured();
    return check_done();
}
