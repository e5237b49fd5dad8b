/* SPDX-License-Identifier: MIT */
/* Pipelines from calls: the same results as from text, every call of the builder, and errors that surface once, at
 * kn_pipeline_finish. */
#include "api.h"

#define ARGS(...)                                                                                                      \
    (kn_expr *const[])                                                                                                 \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static const char *const xy[] = { "x", "y" };

static kn_expr *number(kn_pipeline *p, int v)
{
    return kn_const(p, kn_int(v));
}

/* blur_text, by hand. */
static kn_pipeline *build_blur(kn_context *cx)
{
    kn_pipeline *p  = kn_pipeline_new(cx, "blur");
    kn_func     *in = kn_input(p, "in", KN_U16, 2, xy);
    kn_expr     *x = kn_var(p, "x"), *y = kn_var(p, "y"), *one = number(p, 1), *three = number(p, 3);
    kn_expr     *across = kn_div(kn_add(kn_add(kn_call(in, 2, ARGS(kn_sub(x, one), y)), kn_call(in, 2, ARGS(x, y))),
                                        kn_call(in, 2, ARGS(kn_add(x, one), y))),
                                 three);
    kn_func     *blurx  = kn_define_func(p, "blurx", 2, xy, 1, &across);
    kn_expr     *down = kn_div(kn_add(kn_add(kn_call(blurx, 2, ARGS(x, kn_sub(y, one))), kn_call(blurx, 2, ARGS(x, y))),
                                      kn_call(blurx, 2, ARGS(x, kn_add(y, one)))),
                               three);
    CHECK(kn_output(kn_define_func(p, "out", 2, xy, 1, &down)) == KN_OK, "%s", kn_error_text(cx));
    CHECK(kn_pipeline_finish(p) == KN_OK, "%s", kn_error_text(cx));
    return p;
}

static void test_blur(kn_context *cx)
{
    kn_pipeline  *p = build_blur(cx);
    kn_module    *m = kn_compile(p, NULL), *text = compile_text(cx, blur_text);
    kn_buffer     in = { .type = KN_U16, .rank = 2, .dim = { { 0, 40, 0 }, { 0, 30, 0 } } }, a = { 0 }, b = { 0 };
    kn_difference d = { 0 };
    expect_ok(cx, kn_buffer_alloc(cx, &in));
    expect_ok(cx, kn_fill_noise(cx, &in, 5));
    expect_ok(cx, kn_fit(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &a } }, 2));
    expect_ok(cx, kn_fit(text, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &b } }, 2));
    expect_ok(cx, kn_buffer_alloc(cx, &a));
    expect_ok(cx, kn_buffer_alloc(cx, &b));
    expect_ok(cx, kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &a } }, 2));
    expect_ok(cx, kn_run(text, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &b } }, 2));
    expect_ok(cx, kn_compare(cx, &a, &b, 0, 0, &d));
    CHECK(d.count == 38 * 28 && d.beyond == 0 && d.max == 0, "%d of %d differ", (int)d.beyond, (int)d.count);
    expect_ok(cx, kn_schedule_parse(p, "s.sched", "blurx.compute_root()", -1));
    CHECK(strstr(kn_show(p, KN_VIEW_FUNCS), "blurx"), "%s", kn_show(p, KN_VIEW_FUNCS));
}

/* Everything else: boundaries, extents, parameters, casts, conditions, operators, functions by name, tuples,
 * updates. */
static void test_everything(kn_context *cx)
{
    const char *const i_name[] = { "i" };
    kn_pipeline      *p        = kn_pipeline_new(cx, "all");
    kn_func          *in       = kn_input(p, "in", KN_U8, 1, i_name);
    kn_expr          *k        = kn_param(p, "k", KN_I32, kn_int(2));
    kn_expr          *i = kn_var(p, "i"), *u = kn_var(p, "u"), *one = number(p, 1), *zero = number(p, 0);
    kn_expr          *near = kn_cast(KN_I32, kn_call(kn_boundary(in, "edge"), 1, ARGS(kn_add(i, one))));

    kn_expr       *start = kn_cast(KN_U32, zero);
    kn_func       *hist  = kn_define_func(p, "hist", 1, i_name, 1, &start);
    kn_expr       *bin   = kn_cast(KN_I32, kn_call(in, 1, ARGS(u)));
    kn_expr       *more  = kn_add(kn_call(hist, 1, ARGS(bin)), one);
    const kn_range all   = { "u", zero, kn_extent(in, 0) };
    expect_ok(cx, kn_update(hist, &bin, 1, &more, 1, &all, kn_binary(">", kn_call(in, 1, ARGS(u)), zero)));

    kn_expr *pair[] = { kn_if(kn_binary("<", i, number(p, 2)), kn_mul(near, k), kn_unary("-", near)),
                        kn_apply(p, "clamp", 3, ARGS(kn_mod(i, number(p, 3)), zero, one)) };
    kn_func *both   = kn_define_func(p, "both", 1, i_name, 2, pair);
    kn_expr *read   = kn_call(both, 1, ARGS(i));
    kn_expr *value  = kn_add(kn_mul(kn_component(read, 0), number(p, 100)), kn_component(read, 1));
    value = kn_add(value, kn_binary("<<", kn_cast(KN_I32, kn_call(hist, 1, ARGS(number(p, 5)))), number(p, 20)));
    CHECK(kn_output(kn_define_func(p, "out", 1, i_name, 1, &value)) == KN_OK, "%s", kn_error_text(cx));
    expect_ok(cx, kn_output(both));
    expect_ok(cx, kn_pipeline_finish(p));

    uint8_t       data[] = { 5, 0, 5, 9 };
    int32_t       out[4], b0[4], b1[4];
    const int32_t four[] = { 4 };
    kn_buffer     in_b = kn_buffer_dense(data, KN_U8, 1, four), out_b = kn_buffer_dense(out, KN_I32, 1, four);
    kn_buffer     b0_b = kn_buffer_dense(b0, KN_I32, 1, four), b1_b = kn_buffer_dense(b1, KN_I32, 1, four);
    kn_arg        args[] = { { "in", .buffer = &in_b },
                             { "out", .buffer = &out_b },
                             { "both.0", .buffer = &b0_b },
                             { "both.1", .buffer = &b1_b } };
    expect_ok(cx, kn_run(kn_compile(p, NULL), args, 4));
    for (int x = 0; x < 4; x++) {
        const int next = data[x < 3 ? x + 1 : 3], first = x < 2 ? next * 2 : -next, second = x % 3 > 1 ? 1 : x % 3;
        CHECK(b0[x] == first && b1[x] == second && out[x] == first * 100 + second + (2 << 20), "x = %d: %d %d %d", x,
              b0[x], b1[x], out[x]);
    }
}

static void test_errors(kn_context *cx)
{
    kn_pipeline *p = kn_pipeline_new(cx, "wrong");
    kn_expr     *x = kn_var(p, "x"), *odd = kn_binary("<=>", x, x);
    kn_expr     *sum = kn_add(odd, kn_unary("?", x));
    CHECK(!odd && !sum, "NULL in gives NULL out");
    CHECK(!kn_add(NULL, x) && !kn_sub(x, NULL) && !kn_mul(NULL, NULL) && !kn_div(x, NULL) && !kn_mod(NULL, x),
          "NULL in");
    CHECK(!kn_call(NULL, 0, NULL) && !kn_component(NULL, 0) && !kn_extent(NULL, 0) && !kn_cast(KN_U8, NULL), "NULL in");
    CHECK(!kn_if(NULL, x, x) && !kn_apply(p, NULL, 0, NULL) && !kn_boundary(NULL, "edge") && !kn_unary("-", NULL),
          "NULL in");
    CHECK(!kn_binary(NULL, x, x) && !kn_var(NULL, "x") && !kn_var(p, NULL) && !kn_const(NULL, kn_int(1)), "NULL in");
    CHECK(!kn_input(NULL, "in", KN_U8, 0, NULL) && !kn_param(NULL, "k", KN_U8, kn_int(1)), "NULL in");
    CHECK(!kn_define_func(p, "f", 1, (const char *const[]){ "x" }, 1, &sum), "NULL in");
    CHECK(kn_output(NULL) != KN_OK && kn_pipeline_finish(NULL) == KN_ERROR_ARGUMENT && !kn_pipeline_new(NULL, "p"),
          "NULL in");
    CHECK(kn_update(NULL, NULL, 0, NULL, 0, NULL, NULL) != KN_OK, "NULL in");
    CHECK(!kn_compile(p, NULL) && strstr(kn_error_text(cx), "is not finished: call kn_pipeline_finish first"), "%s",
          kn_error_text(cx));
    CHECK(kn_pipeline_finish(p) != KN_OK && *kn_error_text(cx), "the errors are told at the end");
    CHECK(!kn_compile(p, NULL), "and it stays unfinished");
    kn_pipeline_free(p);
}

/* What the checks of a text would refuse is refused here too: a type clash, an unknown variable, no output. */
static void test_refused(kn_context *cx)
{
    const char *const x_name[] = { "x" };
    kn_pipeline      *p        = kn_pipeline_new(cx, "none");
    kn_expr          *value    = kn_var(p, "x");
    kn_define_func(p, "f", 1, x_name, 1, &value);
    CHECK(kn_pipeline_finish(p) == KN_ERROR_PROGRAM && strstr(kn_error_text(cx), "output"), "%s", kn_error_text(cx));

    p     = kn_pipeline_new(cx, "unknown");
    value = kn_var(p, "z");
    kn_output(kn_define_func(p, "f", 1, x_name, 1, &value));
    CHECK(kn_pipeline_finish(p) != KN_OK && strstr(kn_error_text(cx), "z"), "%s", kn_error_text(cx));

    p     = kn_pipeline_new(cx, "clash");
    value = kn_add(kn_binary("<", kn_var(p, "x"), kn_const(p, kn_int(3))), kn_const(p, kn_int(1)));
    kn_output(kn_define_func(p, "f", 1, x_name, 1, &value));
    CHECK(kn_pipeline_finish(p) != KN_OK && strstr(kn_error_text(cx), "bool"), "%s", kn_error_text(cx));

    p     = kn_pipeline_new(cx, "apply");
    value = kn_apply(p, "clmap", 1, &(kn_expr *){ kn_var(p, "x") });
    kn_output(kn_define_func(p, "f", 1, x_name, 1, &value));
    CHECK(kn_pipeline_finish(p) != KN_OK && strstr(kn_error_text(cx), "clmap"), "%s", kn_error_text(cx));
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    test_blur(cx);
    test_everything(cx);
    test_errors(cx);
    test_refused(cx);
    kn_context_free(cx);
    return check_done();
}
