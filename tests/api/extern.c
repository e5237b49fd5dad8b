/* C behind a pipeline: pure functions of scalars of every type, stages with a bounds query, and what goes wrong with
 * them. */
#include "api.h"

static float curve(float v)
{
    return v * v;
}
static int32_t mixed(uint8_t a, int16_t b, double c)
{
    return a * 1000000 + b * 1000 + (int32_t)c;
}
static double wide(int64_t a, uint64_t b)
{
    return (double)a + (double)b;
}
static bool odd(uint16_t v)
{
    return v & 1;
}

typedef void (*Function)(void);

static void test_functions(kn_context *cx)
{
    expect_ok(cx, kn_extern_function(cx, "curve", (Function)curve));
    expect_ok(cx, kn_extern_function(cx, "mixed", (Function)mixed));
    expect_ok(cx, kn_extern_function(cx, "wide", (Function)wide));
    expect_ok(cx, kn_extern_function(cx, "odd", (Function)odd));
    kn_module *m = compile_text(
        cx, "extern f32 curve(f32)\n"
            "extern i32 mixed(u8, i16, f64)\n"
            "extern f64 wide(i64, u64)\n"
            "extern bool odd(u16)\n"
            "output out\n"
            "out(x) = (curve(f32(x)), mixed(u8(x), i16(-x), f64(x) * 2.5), wide(i64(-x), u64(3)), odd(u16(x)))\n");
    float         a[4];
    int32_t       b[4];
    double        c[4];
    uint8_t       d[4];
    const int32_t four[] = { 4 };
    kn_buffer     o0 = kn_buffer_dense(a, KN_F32, 1, four), o1 = kn_buffer_dense(b, KN_I32, 1, four);
    kn_buffer     o2 = kn_buffer_dense(c, KN_F64, 1, four), o3 = kn_buffer_dense(d, KN_BOOL, 1, four);
    expect_ok(cx, kn_run(m,
                         (kn_arg[]){ { "out.0", .buffer = &o0 },
                                     { "out.1", .buffer = &o1 },
                                     { "out.2", .buffer = &o2 },
                                     { "out.3", .buffer = &o3 } },
                         4));
    for (int x = 0; x < 4; x++)
        CHECK(a[x] == curve((float)x) && b[x] == mixed((uint8_t)x, (int16_t)-x, x * 2.5) && c[x] == wide(-x, 3) &&
                  d[x] == (x & 1),
              "x = %d: %g %d %g %d", x, (double)a[x], b[x], c[x], d[x]);
    expect_error(cx, kn_extern_function(cx, "2x", (Function)curve), KN_ERROR_ARGUMENT, "`2x` is not a name");
    expect_error(cx, kn_extern_function(cx, "f", NULL), KN_ERROR_ARGUMENT, "no C function was given for `f`");
    CHECK(kn_extern_function(NULL, "f", (Function)curve) == KN_ERROR_ARGUMENT, "no context");
}

/* A function nobody registered: an error that says how, and nothing is computed. */
static void test_unknown(kn_context *cx)
{
    kn_module   *m = NULL;
    kn_pipeline *p = kn_parse(cx, "u.kiln", "extern f32 nobody(f32)\noutput out\nout(x) = nobody(f32(x))\n", -1);
    if (p)
        m = kn_compile(p, NULL);
    float     v   = 5;
    kn_buffer out = kn_buffer_dense(&v, KN_F32, 1, (int32_t[]){ 1 });
    if (m)
        CHECK(kn_run(m, (kn_arg[]){ { "out", .buffer = &out } }, 1) != KN_OK, "must be refused");
    CHECK(strstr(kn_error_text(cx), "nobody") && v == 5, "%s", kn_error_text(cx));
}

/* out(x, y) = k * (f(x - 1, y) + f(x + 1, y)), and a note of what it was asked. */
typedef struct Log {
    int queries, runs, fail;
} Log;

static bool is_host_only(const kn_buffer *b)
{
    return !b->device && !b->handle && !b->flags && !b->reserved[0] && !b->reserved[1] && !b->reserved[2];
}

static int spread(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                  kn_buffer *output, void *user)
{
    Log       *log = user;
    kn_buffer *f   = &inputs[0];
    if (input_count != 1 || value_count != 1)
        return 99;
    CHECK(is_host_only(f) && is_host_only(output), "query %d: the device part is not zero", query);
    if (query) {
        log->queries++;
        f->dim[0].min    = output->dim[0].min - 1;
        f->dim[0].extent = output->dim[0].extent + 2;
        f->dim[1]        = output->dim[1];
        return 0;
    }
    log->runs++;
    if (log->fail)
        return log->fail;
    const int k = (int)values[0].as.i;
    for (int y = output->dim[1].min; y < output->dim[1].min + output->dim[1].extent; y++)
        for (int x = output->dim[0].min; x < output->dim[0].min + output->dim[0].extent; x++) {
            const int32_t *row = (const int32_t *)f->data + (y - f->dim[1].min) * f->dim[1].stride;
            int32_t       *to  = (int32_t *)output->data + (y - output->dim[1].min) * output->dim[1].stride;
            to[(x - output->dim[0].min) * output->dim[0].stride] =
                k * (row[(x - 1 - f->dim[0].min) * f->dim[0].stride] + row[(x + 1 - f->dim[0].min) * f->dim[0].stride]);
        }
    return 0;
}

static const char stage_text[] = "input  in : i32(x, y)\n"
                                 "param  k : i32 = 3\n"
                                 "output out\n"
                                 "twice(x, y) = in(x, y) * 2\n"
                                 "extern stage spread(twice, k) : i32(x, y)\n"
                                 "out(x, y) = spread(x, y) + 1\n";

static void test_stage(kn_context *cx)
{
    Log log = { 0 };
    expect_ok(cx, kn_extern_stage(cx, "spread", spread, &log));
    kn_module *m = compile_text(cx, stage_text);
    int32_t    in_data[6 * 2], out_data[4 * 2];
    kn_buffer  in     = kn_buffer_dense(in_data, KN_I32, 2, (int32_t[]){ 6, 2 });
    kn_buffer  out    = kn_buffer_dense(out_data, KN_I32, 2, (int32_t[]){ 4, 2 });
    kn_arg     args[] = { { "in", .buffer = &in }, { "out", .buffer = &out } };
    out.dim[0].min    = 1;
    for (int i = 0; i < 12; i++)
        in_data[i] = i * i;
    expect_ok(cx, kn_run(m, args, 2));
    CHECK(log.queries >= 1 && log.runs == 1, "%d queries, %d runs", log.queries, log.runs);
    for (int y = 0; y < 2; y++)
        for (int x = 1; x < 5; x++) {
            const int32_t *at = &in_data[y * 6 + x];
            CHECK(out_data[y * 4 + x - 1] == 3 * (2 * at[-1] + 2 * at[1]) + 1, "(%d, %d) = %d", x, y,
                  out_data[y * 4 + x - 1]);
        }
    kn_buffer found = { 0 };
    expect_ok(cx, kn_fit(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &found } }, 2));
    CHECK(found.rank == 2 && found.dim[0].min == 1 && found.dim[0].extent == 4 && found.dim[1].extent == 2,
          "fit asks the stage: %d+%d", found.dim[0].min, found.dim[0].extent);
    out.dim[0].min = 0;
    expect_error(cx, kn_run(m, args, 2), KN_ERROR_BOUNDS, "in");
    out.dim[0].min = 1;
    log.fail       = 42;
    memset(out_data, 0x5A, sizeof out_data);
    CHECK(kn_run(m, args, 2) != KN_OK && strstr(kn_error_text(cx), "spread") && strstr(kn_error_text(cx), "42"), "%s",
          kn_error_text(cx));
    CHECK(out_data[0] == 0x5A5A5A5A, "the output was touched");
    expect_error(cx, kn_extern_stage(cx, "spread", NULL, NULL), KN_ERROR_ARGUMENT,
                 "no C function was given for `spread`");
    CHECK(kn_extern_stage(NULL, "s", spread, NULL) == KN_ERROR_ARGUMENT, "no context");
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    test_functions(cx);
    test_unknown(cx);
    test_stage(cx);
    kn_context_free(cx);
    return check_done();
}
