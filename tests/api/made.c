/* SPDX-License-Identifier: MIT */
/* Schedules that are made, for every app and by every scheduler: the same each time, and text that reads back to the
 * same schedule, which the compiler accepts. And what explains them, and the machine that they are made for. */
#include "api.h"

#include <glob.h>

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (file && text)
        text[fread(text, 1, (1 << 20) - 1, file)] = 0;
    if (file)
        fclose(file);
    return text;
}

static char *copy(const char *s)
{
    return s ? strdup(s) : NULL;
}

/* A program with a schedule: its schedules as text, and the plan that obeys it. */
typedef struct Read {
    char *schedule, *plan;
} Read;

static Read read_back(kn_context *cx, const char *path, const char *program, const char *schedule)
{
    kn_pipeline *p   = kn_parse(cx, path, program, -1);
    Read         out = { 0 };
    if (p && kn_schedule_parse(p, "made.sched", schedule, -1) == KN_OK) {
        out.schedule = copy(kn_show(p, KN_VIEW_SCHEDULE));
        out.plan     = copy(kn_show_code(p, KN_VIEW_PLAN, &(kn_options){ .scheduler = "none" }, NULL));
    }
    CHECK(out.schedule && out.plan, "%s: %s\n%s", path, kn_error_text(cx), schedule);
    kn_pipeline_free(p);
    return out;
}

static void test_text(kn_context *cx, const char *path, const char *program, const char *made)
{
    const Read first = read_back(cx, path, program, made);
    const Read again = first.schedule ? read_back(cx, path, program, first.schedule) : (Read){ 0 };
    CHECK(again.schedule && !strcmp(first.schedule, again.schedule),
          "%s: what was printed reads back as another schedule:\n%s\n%s", path, first.schedule, again.schedule);
    CHECK(again.plan && !strcmp(first.plan, again.plan), "%s: another plan", path);
    free(first.schedule);
    free(first.plan);
    free(again.schedule);
    free(again.plan);
}

static void test_views(kn_context *cx, kn_pipeline *p, const char *path)
{
    const char *text = kn_schedule_show(p, KN_SCHEDULE_EXPLAIN, NULL, NULL, NULL, NULL, 0);
    CHECK(text && strstr(text, "bound by") && strstr(text, "The schedulers that were asked"), "%s: %s", path,
          kn_error_text(cx));
    text = kn_schedule_show(p, KN_SCHEDULE_HTML, NULL, NULL, NULL, NULL, 0);
    CHECK(text && strstr(text, "<svg") && strstr(text, "</html>") && !strstr(text, "<script"), "%s: %s", path,
          kn_error_text(cx));
    text = kn_schedule_show(p, KN_SCHEDULE_GRAPH, NULL, NULL, NULL, NULL, 0);
    CHECK(text && *text, "%s: %s", path, kn_error_text(cx));
}

static void test_app(const char *path)
{
    const kn_options ample   = { .budget =
                                     100 }; /* what is not done in time is left out, and a sanitizer takes its time */
    char            *program = read_text(path);
    kn_context      *cx      = kn_context_new(NULL);
    kn_pipeline     *p       = kn_parse(cx, path, program, -1);
    CHECK(p, "%s", kn_error_text(cx));
    for (int i = 0; p && strcmp(kn_scheduler_get(i).name, "gpu"); i++) {
        const char *by   = kn_scheduler_get(i).name;
        char       *made = copy(kn_schedule_make(p, by, "cores=4, vector_bits=256", &ample, NULL, 0));
        const char *same = kn_schedule_make(p, by, "cores=4, vector_bits=256", &ample, NULL, 0);
        CHECK(made && same && !strcmp(made, same), "%s by %s: %s", path, by, kn_error_text(cx));
        if (made)
            test_text(cx, path, program, made);
        free(made);
    }
    if (p)
        test_views(cx, p, path);
    kn_context_free(cx);
    free(program);
}

/* With hardly any budget there is still a schedule; names and numbers that there are not are refused. */
static void test_limits(void)
{
    kn_context  *cx = kn_context_new(NULL);
    kn_pipeline *p  = kn_parse(cx, "blur.kiln", blur_text, -1);
    CHECK(kn_schedule_make(p, "auto", NULL, &(kn_options){ .budget = 1e-9 }, NULL, 0), "%s", kn_error_text(cx));
    CHECK(!kn_schedule_make(p, "dp-no-such", NULL, NULL, NULL, 0) && !kn_schedule_make(p, "dp/x", NULL, NULL, NULL, 0),
          "must be refused");
    CHECK(strstr(kn_error_text(cx), "there is no scheduler `dp/x`"), "%s", kn_error_text(cx));
    kn_module *m = kn_compile(p, NULL);
    CHECK(m && !*kn_error_text(cx), "%s", kn_error_text(cx));
    kn_context_free(cx);
}

enum { BEHIND_CURVES = 64 /* steps: those of the curves, 29 each by one thread and by all, and a few programs */ };

static int stop_after(void *most, int done, int all)
{
    CHECK(done <= *(int *)most && done < all && all > 40, "%d of %d", done, all);
    return done < *(int *)most;
}

/* Stopped at once there is nothing to give. After a few measurements there is a machine: each speed once, positive, and
 * schedules can be made for it. */
static void test_calibrate(void)
{
    static const char *const speeds[] = { "op",          "load",       "l1_rate", "l2_rate", "l3_rate",
                                          "memory_rate", "memory_all", "row",     "parted",  "task",
                                          "ahead",       "wait",       "l1",      "l2",      "l3_core" };
    kn_context              *cx       = kn_context_new(NULL);
    kn_pipeline             *p        = kn_parse(cx, "blur.kiln", blur_text, -1);
    CHECK(!kn_calibrate(NULL, NULL, NULL, NULL), "must be refused");
    CHECK(!kn_calibrate(cx, NULL, stop_after, &(int){ 0 }) &&
              strstr(kn_error_text(cx), "stopped before anything was measured"),
          "%s", kn_error_text(cx));
    CHECK(!kn_calibrate(cx, "cores=x", NULL, NULL) && strstr(kn_error_text(cx), "is no value of cores"), "%s",
          kn_error_text(cx));
    char *machine = copy(kn_calibrate(cx, NULL, stop_after, &(int){ BEHIND_CURVES }));
    CHECK(machine && strstr(machine, " measured times") && strstr(machine, "Not checked"), "%s %s",
          machine ? machine : "", kn_error_text(cx));
    for (int i = 0; machine && i < COUNT(speeds); i++) {
        char line[32];
        snprintf(line, sizeof line, "\n%s=", speeds[i]);
        const char *found = strstr(machine, line);
        CHECK(found && strtod(found + strlen(line), NULL) > 0 && !strstr(found + 1, line), "%s: %s", speeds[i],
              machine);
    }
    CHECK(machine && kn_schedule_make(p, "dp", machine, NULL, NULL, 0), "%s", kn_error_text(cx));
    free(machine);
    kn_context_free(cx);
}

static int stop_at_once(void *calls, int done, int all)
{
    CHECK(done == 0 && all > 1, "%d of %d", done, all);
    ++*(int *)calls;
    return 0;
}

/* A target without a device is refused, and one whose device is not there. Stopped, a device gives nothing. */
static void test_calibrate_device(void)
{
    kn_context *cx    = kn_context_new(NULL);
    int         calls = 0;
    CHECK(!kn_calibrate_device(NULL, "cuda", NULL, NULL), "must be refused");
    CHECK(!kn_calibrate_device(cx, "host", NULL, NULL) && strstr(kn_error_text(cx), "has no device"), "%s",
          kn_error_text(cx));
    CHECK(!kn_calibrate_device(cx, NULL, NULL, NULL) && strstr(kn_error_text(cx), "has no device"), "%s",
          kn_error_text(cx));
    for (int i = 0; i < 2; i++) {
        const bool there = kn_device_count(i ? KN_DEVICE_OPENCL : KN_DEVICE_CUDA) > 0;
        CHECK(!kn_calibrate_device(cx, i ? "opencl" : "cuda", stop_at_once, &calls) &&
                  strstr(kn_error_text(cx), there ? "stopped before everything" : "no device can be measured"),
              "%s", kn_error_text(cx));
    }
    kn_context_free(cx);
}

int main(void)
{
    glob_t found;
    test_limits();
    test_calibrate();
    test_calibrate_device();
    if (!glob("apps/*/*.kiln", 0, NULL, &found)) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (check_sampled(i))
                test_app(found.gl_pathv[i]);
        globfree(&found);
    }
    return check_done();
}
