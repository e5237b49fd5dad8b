/* SPDX-License-Identifier: MIT */
/* kn_tune as a user calls it: a search that runs, one that is stopped, one that is resumed, and what is refused. */
#include "../unit/check.h"

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
    CHECK(kn_tune(s.p, &(kn_options){ .target = "cuda" }, NULL, s.args, 2, &r) != KN_OK, "for CPUs");
    CHECK(!kn_tune_algorithm_get(-1).name && !kn_tune_algorithm_get(99).name, "out of range");
    CHECK(kn_processor_name(s.cx) && !*kn_processor_name(NULL), "a name, or none");
    kn_context_free(s.cx);
}

int main(void)
{
    test_measured();
    test_resumed();
    test_simulated();
    test_refused();
    return check_done();
}
