/* SPDX-License-Identifier: MIT */
/* kn_check against kn_compile: schedules and programs that both refuse, in the same words, and some that both take. The
 * plan's own refusals are all in unit/test_plan_refused.c, which asks kn_check about each. */
#include "api.h"

#define BLUR                                                                                                           \
    "input in : u16(x, y) output out blurx(x, y) = (in(x-1, y) + in(x, y) + in(x+1, y)) / 3 "                          \
    "out(x, y) = (blurx(x, y-1) + blurx(x, y) + blurx(x, y+1)) / 3"
#define HIST                                                                                                           \
    "input in : u8(x, y) output out hist(i) = 0 hist(in(u, v)) += 1 for v in 0..in.height, u in 0..in.width out(i) = " \
    "hist(i)"
#define FSUM "input in : f32(x, y) output out s(x) = 0.0 s(x) += in(x, r) for q in 0..8, r in 0..100 out(x) = s(x)"
#define SCAN                                                                                                           \
    "input in : f32(x, y) output out out(x, y) = in(x, y) out(k, y) = out(k-1, y) * 0.5 + out(k, y) for k in 1..100"
#define HEAT                                                                                                           \
    "input in : f32(x) output out a(x, t) = in(x) a(x, t) = a(x+1, t-1) + a(x-1, t-1) for t in 1..9 out(x) = a(x, 8)"

typedef struct Row {
    const char *program, *schedule;
} Row;

static const Row refused[] = {
    { BLUR, "out.inline()" },
    { BLUR, "blurx.inline().vectorize(x, 8)" },
    { BLUR, "blurx.inline().store_root()" },
    { BLUR, "out.vectorize(x)" },
    { BLUR, "out.unroll(y)" },
    { BLUR, "out.vectorize(x, 2048)" },
    { BLUR, "out.vectorize(x, 8).vectorize(y, 8)" },
    { BLUR, "out.unroll(x, 1000).unroll(y, 5)" },
    { BLUR, "out.parallel(y, tail: guard)" },
    { BLUR, "out.split(x, xo, xi, 8).vectorize(xi).split(xi, a, b, 2)" },
    { BLUR, "out.bound(x, 0, 8).vectorize(x).reorder(y, x).parallel(y)" },
    { BLUR, "out.atomic()" },
    { BLUR, "out.compute_at(blurx, x)" },
    { BLUR, "blurx.compute_at(blurx, x)" },
    { BLUR, "blurx.store_at(out, y)" },
    { BLUR, "blurx.compute_at(out, y).store_at(out, x)" },
    { BLUR, "out.parallel(y) blurx.store_root().compute_at(out, y)" },
    { BLUR, "blurx.compute_at(out, y).fold_storage(y, 2)" },
    { BLUR, "blurx.store_root().compute_at(out, y).fold_storage(y, 2)" },
    { BLUR, "blurx.compute_root().fold_storage(y, 4)" },
    { HIST, "hist.inline()" },
    { HIST, "hist.update(0).parallel(v)" },
    { HIST, "hist.update(0).vectorize(u, 8)" },
    { FSUM, "s.update(0).atomic()" },
    { FSUM, "s.update(0).reorder(q, r)" },
    { FSUM, "s.update(0).rfactor(r, w)" },
    { SCAN, "out.update(0).parallel(k)" },
    { SCAN, "out.update(0).split(k, ko, ki, 8, tail: shift_inward)" },
    { HEAT, "a.update(0).reorder(t, x)" },
    { HEAT, "a.update(0).tile(x, t, xo, to, xi, ti, 8, 2)" },
};

/* Indices and reductions without bounds, whatever the schedule. */
static const Row unbounded[] = {
    { "input in : i32(x) output out f(x) = x + 1 out(x) = f(in(x))", "" },
    { "input in : f32(x) output out f(x) = x * x out(x) = f(i32(in(x)))", "f.compute_root()" },
    { "input in : u32(x) output out out(x) = in(i32(in(x)))", "" },
    { "input in : u8(x) output out f(x) = x * x out(x) = f(i32(in(x)) * 100000000)", "" },
    { "input in : i32(x) output out out(x) = in(x) out(k) = out(in(k)) + 1 for k in 1..10", "" },
    { "input in : i32(x) output out out(x) = 0 out(x) += 1 for k in 0..in(x)", "" },
};

static const Row taken[] = {
    { BLUR, "" },
    { BLUR, "blurx.store_root().compute_at(out, y).fold_storage(y, 4)" },
    { HIST, "hist.update(0).atomic().parallel(v)" },
    { HEAT, "a.update(0).vectorize(x, 8)" },
    { "input in : f32(x) output out f(x) = x * x out(x) = f(clamp(i32(in(x)), 0, 9))", "" },
};

static kn_pipeline *load(kn_context *cx, const Row *row)
{
    kn_pipeline *p = kn_parse(cx, "a.kiln", row->program, -1);
    CHECK(p, "%s", kn_error_text(cx));
    CHECK(!*row->schedule || kn_schedule_parse(p, "a.sched", row->schedule, -1) == KN_OK, "%s: %s", row->schedule,
          kn_error_text(cx));
    return p;
}

static void test_row(kn_context *cx, const Row *row, bool fine)
{
    kn_pipeline    *p      = load(cx, row);
    const kn_status status = kn_check(p, NULL);
    char           *said   = strdup(kn_error_text(cx));
    const bool      ran    = kn_compile(p, &(kn_options){ .scheduler = "none" }) != NULL;
    CHECK((status == KN_OK) == fine && ran == fine, "%s %s: kn_check %d, kn_compile %d: %s", row->program,
          row->schedule, (int)status, ran, said);
    CHECK(!strcmp(said, kn_error_text(cx)), "%s %s: kn_check says\n%sbut kn_compile\n%s", row->program, row->schedule,
          said, kn_error_text(cx));
    free(said);
    kn_pipeline_free(p);
}

/* In the words of kn_bounds, which knows the sizes. */
static void test_unbounded(kn_context *cx, const Row *row)
{
    kn_pipeline     *p   = load(cx, row);
    kn_buffer        in  = { .type = kn_port_get(p, 0).type, .rank = 1, .dim = { { 0, 64, 1 } } };
    kn_buffer        out = { .type = kn_port_get(p, 1).type, .rank = 1, .dim = { { 0, 12, 1 } } };
    const kn_region *regions;
    int              count;
    CHECK(kn_check(p, NULL) == KN_ERROR_BOUNDS, "%s: %s", row->program, kn_error_text(cx));
    char      *said = strdup(kn_error_text(cx));
    kn_module *m    = kn_compile(p, &(kn_options){ .interpret = true });
    CHECK(kn_bounds(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2, &regions, &count) ==
              KN_ERROR_BOUNDS,
          "%s", row->program);
    CHECK(!strcmp(said, kn_error_text(cx)), "%s: kn_check says\n%sbut kn_bounds\n%s", row->program, said,
          kn_error_text(cx));
    free(said);
    kn_pipeline_free(p);
}

/* Every schedule of the text is looked at, and all that is wrong is said; one by its name if that is asked for. */
static void test_several(kn_context *cx)
{
    kn_pipeline *p = kn_parse(
        cx, "a.kiln",
        BLUR " schedule one { out.inline() } schedule two { out.vectorize(x) } schedule three { out.vectorize(x, 8) } "
             "schedule for abacus { out.gpu_lanes(x) }",
        -1);
    CHECK(p && kn_check(p, NULL) == KN_ERROR_PROGRAM, "%s", kn_error_text(cx));
    CHECK(strstr(kn_error_text(cx), "`out` cannot be inlined") &&
              strstr(kn_error_text(cx), "the extent of the loop `x`"),
          "%s", kn_error_text(cx));
    CHECK(kn_check(p, &(kn_options){ .schedule = "three" }) == KN_OK, "%s", kn_error_text(cx));
    CHECK(kn_check(p, &(kn_options){ .schedule = "" }) == KN_OK, "%s", kn_error_text(cx));
    CHECK(kn_check(p, &(kn_options){ .schedule = "thre" }) != KN_OK &&
              strstr(kn_error_text(cx), "did you mean `three`?"),
          "%s", kn_error_text(cx));
    CHECK(kn_check(NULL, NULL) == KN_ERROR_ARGUMENT, "NULL");
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    for (int i = 0; i < COUNT(refused); i++)
        test_row(cx, &refused[i], false);
    for (int i = 0; i < COUNT(unbounded); i++)
        test_unbounded(cx, &unbounded[i]);
    for (int i = 0; i < COUNT(taken); i++)
        test_row(cx, &taken[i], true);
    test_several(cx);
    kn_context_free(cx);
    return check_done();
}
