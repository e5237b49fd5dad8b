/* SPDX-License-Identifier: MIT */
/* Wrong arguments: each is refused with a message that names it, all in one call, and no output is touched. */
#include "api.h"

static const char text[] = "input  in : u16(x, y)\n"
                           "param  gain : f32 = 1.0 in 0.0..4.0\n"
                           "param  n : u8 = 3 in 1..10\n"
                           "param  shift : i32 = 0\n"
                           "param  h : f16 = 0.0\n"
                           "param  big : u64 = 0\n"
                           "param  must : bool\n"
                           "output out\n"
                           "output best\n"
                           "out(x, y)  = u16(f32(in(x, y)) * gain) + u16(n) + u16(shift) + u16(f32(h)) + u16(big)\n"
                           "best(x, y) = (in(x, y), if must then x else y)\n";

typedef struct World {
    kn_context *cx;
    kn_module  *m;
    uint16_t    in_data[12], out_data[12], b0_data[12];
    int32_t     b1_data[12];
    kn_buffer   in, out, b0, b1;
} World;

static void world_fill(World *w)
{
    static const int32_t extent[] = { 4, 3 };
    w->in                         = kn_buffer_dense(w->in_data, KN_U16, 2, extent);
    w->out                        = kn_buffer_dense(w->out_data, KN_U16, 2, extent);
    w->b0                         = kn_buffer_dense(w->b0_data, KN_U16, 2, extent);
    w->b1                         = kn_buffer_dense(w->b1_data, KN_I32, 2, extent);
    for (int i = 0; i < 12; i++)
        w->in_data[i] = (uint16_t)i, w->out_data[i] = w->b0_data[i] = 0x5A5A, w->b1_data[i] = 0x5A5A;
}

/* All of what the pipeline needs, and then some. */
static kn_status run_with(World *w, const kn_arg *more, int count)
{
    kn_arg args[16] = { { "in", .buffer = &w->in },
                        { "out", .buffer = &w->out },
                        { "best.0", .buffer = &w->b0 },
                        { "best.1", .buffer = &w->b1 },
                        { "must", .value = kn_int(1) } };
    for (int i = 0; i < count; i++)
        args[5 + i] = more[i];
    return kn_run(w->m, args, 5 + count);
}

static void refuse(World *w, kn_arg arg, const char *part)
{
    expect_error(w->cx, run_with(w, &arg, 1), KN_ERROR_ARGUMENT, part);
    for (int i = 0; i < 12; i++)
        CHECK(w->out_data[i] == 0x5A5A && w->b0_data[i] == 0x5A5A && w->b1_data[i] == 0x5A5A, "an output was touched");
}

static void test_names(World *w)
{
    kn_buffer b = w->in;
    refuse(w, (kn_arg){ "inn", .buffer = &b }, "no input, parameter or output is called `inn`, did you mean `in`?");
    refuse(w, (kn_arg){ "zebra", .buffer = &b },
           "the pipeline is called with: in, gain, n, shift, h, big, must, out, best.0, best.1");
    refuse(w, (kn_arg){ "best", .buffer = &b }, "`best`");
    refuse(w, (kn_arg){ NULL, .buffer = &b }, "argument 5 has no name");
    refuse(w, (kn_arg){ "in", .buffer = &b }, "`in` is given twice");
    refuse(w, (kn_arg){ "must", .value = kn_int(0) }, "`must` is given twice");
    refuse(w, (kn_arg){ "n", .buffer = &b }, "parameter `n` is u8: give it a value, not a buffer");
    expect_error(w->cx, kn_run(w->m, NULL, 3), KN_ERROR_ARGUMENT, "NULL");
    expect_error(w->cx, kn_run(w->m, NULL, -3), KN_ERROR_ARGUMENT, "negative");
}

/* One call, every missing thing named. */
static void test_missing(World *w)
{
    expect_error(w->cx, kn_run(w->m, NULL, 0), KN_ERROR_ARGUMENT, "input `in` is u16(x, y): no buffer is given for it");
    CHECK(strstr(kn_error_text(w->cx), "parameter `must` is bool and has no default: give it a value"), "%s",
          kn_error_text(w->cx));
    CHECK(strstr(kn_error_text(w->cx), "output `out` is u16(x, y): no buffer is given for it"), "%s",
          kn_error_text(w->cx));
    CHECK(strstr(kn_error_text(w->cx), "output `best.1` is i32(x, y): no buffer is given for it"), "%s",
          kn_error_text(w->cx));
    CHECK(kn_diagnostic_count(w->cx) == 5, "%s", kn_error_text(w->cx));
    const kn_arg args[] = { { "in", .value = kn_int(1) },
                            { "out", .buffer = &w->out },
                            { "best.0", .buffer = &w->b0 },
                            { "best.1", .buffer = &w->b1 },
                            { "must", .value = kn_int(1) } };
    expect_error(w->cx, kn_run(w->m, args, 5), KN_ERROR_ARGUMENT,
                 "input `in` is u16(x, y): give it a buffer, not a value");
}

static void test_values(World *w)
{
    static const struct {
        const char *name;
        kn_scalar   value;
        const char *part; /* NULL: accepted */
    } rows[] = {
        { "n", { false, { .i = 300 } }, "n is u8, which cannot hold 300: it holds the integers from 0 to 255" },
        { "n", { false, { .i = -1 } }, "n is u8, which cannot hold -1" },
        { "n", { true, { .f = 1.5 } }, "n is u8, which cannot hold 1.5" },
        { "n", { true, { .f = 2.0 } }, NULL },
        { "n", { false, { .i = 1 } }, NULL },
        { "n", { false, { .i = 9 } }, NULL },
        { "n", { false, { .i = 10 } }, "n = 10 is outside its range 1..10 (the upper end is not in it)" },
        { "n", { false, { .i = 0 } }, "n = 0 is outside its range 1..10" },
        { "gain", { true, { .f = 4.0 } }, NULL },
        { "gain", { false, { .i = 2 } }, NULL },
        { "gain", { true, { .f = 4.5 } }, "gain = 4.5 is outside its range 0..4" },
        { "gain", { true, { .f = -0.1 } }, "gain = -0.1 is outside its range 0..4" },
        { "gain", { true, { .f = (double)__builtin_nanf("") } }, "is outside its range 0..4" },
        { "shift", { false, { .i = INT32_MIN } }, NULL },
        { "shift", { false, { .i = 2147483648 } }, "shift is i32, which cannot hold 2147483648" },
        { "shift", { true, { .f = 1e300 } }, "shift is i32, which cannot hold 1e+300" },
        { "shift", { true, { .f = (double)__builtin_nanf("") } }, "shift is i32, which cannot hold" },
        { "h", { true, { .f = (double)__builtin_nanf("") } }, NULL },
        { "h", { true, { .f = (double)__builtin_inff() } }, NULL },
        { "h", { true, { .f = 0.1 } }, NULL },
        { "h", { false, { .i = 70000 } }, "h is f16, which cannot hold 70000" },
        { "big", { false, { .i = INT64_MAX } }, NULL },
        { "big", { true, { .f = 18446744073709549568.0 } }, NULL },
        { "big", { true, { .f = 18446744073709551616.0 } }, "big is u64, which cannot hold 1.84467440737096e+19" },
        { "big",
          { false, { .i = -1 } },
          "big is u64, which cannot hold -1: it holds the integers from 0 to 18446744073709551615" },
    };
    for (int i = 0; i < COUNT(rows); i++) {
        world_fill(w);
        const kn_arg arg = { rows[i].name, .value = rows[i].value };
        if (rows[i].part)
            refuse(w, arg, rows[i].part);
        else
            expect_ok(w->cx, run_with(w, &arg, 1));
    }
    world_fill(w);
    kn_arg args[] = { { "in", .buffer = &w->in },
                      { "out", .buffer = &w->out },
                      { "best.0", .buffer = &w->b0 },
                      { "best.1", .buffer = &w->b1 },
                      { "must", .value = kn_int(2) } };
    expect_error(w->cx, kn_run(w->m, args, 5), KN_ERROR_ARGUMENT,
                 "must is bool, which cannot hold 2: it holds 0 and 1");
}

/* What the values do, once accepted. */
static void test_values_arrive(World *w)
{
    world_fill(w);
    const kn_arg more[] = { { "gain", .value = kn_int(2) },
                            { "n", .value = kn_float(5) },
                            { "shift", .value = kn_int(-1) },
                            { "h", .value = kn_float(7) },
                            { "big", .value = kn_int(100) } };
    expect_ok(w->cx, run_with(w, more, COUNT(more)));
    for (int i = 0; i < 12; i++)
        CHECK(w->out_data[i] == 2 * i + 5 - 1 + 7 + 100 && w->b0_data[i] == i && w->b1_data[i] == i % 4,
              "element %d: %d", i, w->out_data[i]);
}

static void refuse_buffers(World *w, const char *part)
{
    expect_error(w->cx, run_with(w, NULL, 0), KN_ERROR_ARGUMENT, part);
    world_fill(w);
}

static void test_buffers(World *w)
{
    uint8_t bytes[12] = { 0 };
    world_fill(w);
    w->in.type = KN_U8, w->in.data = bytes;
    refuse_buffers(w, "input `in` is u16(x, y), the buffer holds u8");
    w->in.rank = 3, w->in.dim[2] = (kn_dim){ 0, 1, 12 };
    refuse_buffers(w, "input `in` is u16(x, y), the buffer has 3 dimensions");
    w->out.rank = 1;
    refuse_buffers(w, "output `out` is u16(x, y), the buffer has 1 dimension");
    w->in.type = (kn_type)77;
    refuse_buffers(w, "77");
    w->in.rank = -2;
    refuse_buffers(w, "rank -2");
    w->in.rank = 1000;
    refuse_buffers(w, "rank 1000");
    w->in.dim[1].extent = -3;
    refuse_buffers(w, "negative extent -3");
    w->in.data = NULL;
    refuse_buffers(w, "in: its data is NULL");
    w->out.dim[1].stride = 2;
    refuse_buffers(w, "out: overlapping strides");
    w->in.dim[1].stride = INT64_MAX;
    refuse_buffers(w, "beyond the address space");
    w->in.dim[0].min = INT32_MAX;
    refuse_buffers(w, "beyond 2147483647");
    w->b1.dim[0] = (kn_dim){ 1, 3, 1 };
    refuse_buffers(w, "`best.0` and `best.1` are one output and need the same box: x has min 0 and extent 4 in one, "
                      "min 1 and extent 3");
    w->out.data = w->in_data + 6;
    refuse_buffers(w, "`in` and `out` share memory: an output needs memory of its own");
    w->b0.data = w->out_data;
    refuse_buffers(w, "`out` and `best.0` share memory");

    w->in.type = KN_U8, w->out.rank = 1, w->b1.data = NULL;
    expect_error(w->cx, run_with(w, (kn_arg[]){ { "n", .value = kn_int(999) }, { "nn", .value = kn_int(1) } }, 2),
                 KN_ERROR_ARGUMENT, "u8");
    CHECK(kn_diagnostic_count(w->cx) == 5, "all five errors: %s", kn_error_text(w->cx));
}

/* An input too small for what is asked, and empty outputs. */
static void test_sizes(World *w)
{
    world_fill(w);
    w->out.dim[0].min = 1;
    expect_error(w->cx, run_with(w, NULL, 0), KN_ERROR_BOUNDS, "in");
    world_fill(w);
    w->in.dim[0].extent = 0;
    expect_error(w->cx, run_with(w, NULL, 0), KN_ERROR_BOUNDS, "in");
    world_fill(w);
    w->out.dim[0].extent = 0;
    expect_ok(w->cx, run_with(w, NULL, 0));
    for (int i = 0; i < 12; i++)
        CHECK(w->out_data[i] == 0x5A5A && w->b0_data[i] == i, "element %d", i);
    world_fill(w);
    w->b0.dim[1].extent = w->b1.dim[1].extent = 0;
    w->b1.data                                = NULL;
    expect_ok(w->cx, run_with(w, NULL, 0));
    for (int i = 0; i < 12; i++)
        CHECK(w->out_data[i] == i + 3 && w->b0_data[i] == 0x5A5A, "element %d: %d", i, w->out_data[i]);
}

/* kn_fit: half a tuple may be given, parameters are checked, inputs are needed. */
static void test_fit(World *w)
{
    world_fill(w);
    kn_buffer out = { 0 }, b1 = { 0 };
    kn_arg    args[]    = { { "in", .buffer = &w->in },  { "out", .buffer = &out },      { "best.0", .buffer = &w->b0 },
                            { "best.1", .buffer = &b1 }, { "must", .value = kn_int(1) }, { "n", .value = kn_int(2) } };
    w->b0.dim[0].extent = 2;
    expect_ok(w->cx, kn_fit(w->m, args, 6));
    CHECK(out.type == KN_U16 && out.rank == 2 && out.dim[0].extent == 4 && out.dim[1].extent == 3, "out");
    CHECK(b1.type == KN_I32 && b1.rank == 2 && b1.dim[0].extent == 2 && b1.dim[1].extent == 3,
          "best.1 has the box of best.0");
    args[5].value = kn_int(2000);
    expect_error(w->cx, kn_fit(w->m, args, 6), KN_ERROR_ARGUMENT, "n is u8");
    args[0] = args[5], args[0].value = kn_int(2);
    expect_error(w->cx, kn_fit(w->m, args, 5), KN_ERROR_ARGUMENT, "input `in` is u16(x, y): no buffer is given for it");
    args[1] = (kn_arg){ "out", .value = kn_int(2) };
    expect_error(w->cx, kn_fit(w->m, args, 5), KN_ERROR_ARGUMENT,
                 "output `out` is u16(x, y): give it a buffer, not a value");
}

int main(void)
{
    World w = { .cx = kn_context_new(NULL) };
    w.m     = compile_text(w.cx, text);
    world_fill(&w);
    test_names(&w);
    test_missing(&w);
    test_values(&w);
    test_values_arrive(&w);
    test_buffers(&w);
    test_sizes(&w);
    test_fit(&w);
    kn_context_free(w.cx);
    return check_done();
}
