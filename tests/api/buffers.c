/* Buffers of every shape: strides of either sign, gaps, interleaved channels, rows repeated, mins anywhere. Whatever
 * the layout, the result is the same, and nothing outside the elements is written.
 */
#include "api.h"

enum { W = 9, H = 7, OW = W - 2, OH = H - 2, ROOM = 4096 };

/* How a picture lies in memory: element strides, and where its first element is. */
typedef struct Layout {
    const char *name;
    int64_t     x, y;
    int         first;
} Layout;

static const Layout layouts[] = {
    { "dense", 1, W, 0 },
    { "column by column", H, 1, 0 },
    { "interleaved with two others", 3, 3 * W, 1 },
    { "rows apart", 1, 100, 50 },
    { "right to left", -1, 32, 16 },
    { "upside down", 1, -16, 16 * H },
    { "turned around", -2, -64, 2000 },
};

static const int32_t mins[][2] = { { 0, 0 }, { -5, 3 }, { 1000000, -2000000000 }, { 2147483600, 2147483600 } };

static void run_layouts(kn_context *cx, kn_module *m, const Layout *from, const Layout *to, const int32_t *min)
{
    static uint16_t source[ROOM], target[ROOM];
    kn_buffer       in  = { .data = source + from->first,
                            .type = KN_U16,
                            .rank = 2,
                            .dim  = { { min[0], W, from->x }, { min[1], H, from->y } } };
    kn_buffer       out = { .data = target + to->first,
                            .type = KN_U16,
                            .rank = 2,
                            .dim  = { { min[0] + 1, OW, to->x }, { min[1] + 1, OH, to->y } } };
    memset(source, 0xEE, sizeof source);
    memset(target, 0xEE, sizeof target);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            source[from->first + x * from->x + y * from->y] = pixel(x, y);
    expect_ok(cx, kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2));
    int wrong = 0, stray = 0;
    for (int y = 0; y < OH; y++)
        for (int x = 0; x < OW; x++) {
            uint16_t *at = &target[to->first + x * to->x + y * to->y];
            wrong += *at != blur_at(x + 1, y + 1);
            *at = 0xEEEE;
        }
    for (int i = 0; i < ROOM; i++)
        stray += target[i] != 0xEEEE;
    CHECK(!wrong && !stray, "%s to %s at (%d, %d): %d wrong, %d written outside", from->name, to->name, (int)min[0],
          (int)min[1], wrong, stray);
}

static void test_layouts(kn_context *cx)
{
    kn_module *m = compile_text(cx, blur_text);
    for (int i = 0; i < COUNT(layouts); i++)
        for (int k = 0; k < COUNT(layouts); k++)
            for (int n = 0; n < COUNT(mins); n++)
                run_layouts(cx, m, &layouts[i], &layouts[k], mins[n]);
}

/* Stride 0 repeats an input: one row, or one number, is a whole picture. An output refuses it. */
static void test_broadcast(kn_context *cx)
{
    kn_module *m =
        compile_text(cx, "input a : i32(x, y)\ninput b : i32(x, y)\noutput out\nout(x, y) = a(x, y) * 10 + b(x, y)\n");
    int32_t   row[] = { 1, 2, 3 }, one = 7, result[6] = { 0 };
    kn_buffer a      = { .data = row, .type = KN_I32, .rank = 2, .dim = { { 0, 3, 1 }, { 0, 2, 0 } } },
              b      = { .data = &one, .type = KN_I32, .rank = 2, .dim = { { 0, 3, 0 }, { 0, 2, 0 } } };
    kn_buffer out    = kn_buffer_dense(result, KN_I32, 2, (int32_t[]){ 3, 2 });
    kn_arg    args[] = { { "a", .buffer = &a }, { "b", .buffer = &b }, { "out", .buffer = &out } };
    expect_ok(cx, kn_run(m, args, 3));
    for (int i = 0; i < 6; i++)
        CHECK(result[i] == row[i % 3] * 10 + 7, "element %d: %d", i, result[i]);
    args[1].buffer = &a;
    expect_ok(cx, kn_run(m, args, 3));
    CHECK(result[5] == 33, "inputs may share memory: %d", result[5]);
    out.dim[1].stride = 0;
    expect_error(cx, kn_run(m, args, 3), KN_ERROR_ARGUMENT, "share an element");
}

/* Rank 0 and the largest rank. */
static void test_ranks(kn_context *cx)
{
    kn_module *m =
        compile_text(cx, "input in : u8(a, b, c, d, e, f, g, h)\noutput out\n"
                         "out() = sum(u32(in(i, j, 0, 0, 0, 0, 0, k)) for i in 0..2, j in 0..2, k in 0..2)\n");
    uint8_t   data[256];
    uint32_t  sum = 0, want = 0;
    kn_buffer in  = kn_buffer_dense(data, KN_U8, 8, (int32_t[]){ 2, 2, 2, 2, 2, 2, 2, 2 });
    kn_buffer out = kn_buffer_dense(&sum, KN_U32, 0, NULL);
    for (int i = 0; i < 256; i++) {
        data[i] = (uint8_t)i;
        want += (i & 124) ? 0 : (uint32_t)i;
    }
    expect_ok(cx, kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2));
    CHECK(sum == want, "%u, expected %u", sum, want);
}

static void test_alloc(kn_context *cx)
{
    kn_buffer b = { .type = KN_F32, .rank = 3, .dim = { { -3, 5, 99 }, { 4, 6, 99 }, { 0, 2, 99 } } };
    expect_ok(cx, kn_buffer_alloc(cx, &b));
    CHECK(b.dim[0].stride == 1 && b.dim[1].stride == 5 && b.dim[2].stride == 30 && b.dim[0].min == -3,
          "dense, mins kept");
    for (int i = 0; i < 60; i++)
        CHECK(((float *)b.data)[i] == 0, "zeroed");
    kn_buffer_free(cx, &b);
    CHECK(!b.data, "freed");
    kn_buffer_free(cx, &b);
    kn_buffer kept = { .type = KN_U8, .rank = 1, .dim = { { 0, 100, 0 } } };
    expect_ok(cx, kn_buffer_alloc(cx, &kept)); /* freed with the context */
    expect_error(cx, kn_buffer_alloc(cx, &(kn_buffer){ .type = KN_U8, .rank = 9 }), KN_ERROR_ARGUMENT, "rank 9");
    expect_error(cx, kn_buffer_alloc(cx, &(kn_buffer){ .type = KN_U8, .rank = 1, .dim = { { 0, -1, 0 } } }),
                 KN_ERROR_ARGUMENT, "negative");
    kn_buffer huge = { .type = KN_F64, .rank = 2, .dim = { { 0, INT32_MAX, 0 }, { 0, INT32_MAX, 0 } } };
    CHECK(kn_buffer_alloc(cx, &huge) != KN_OK && !huge.data, "huge: %s", kn_error_text(cx));
    const kn_buffer bad = kn_buffer_dense(NULL, KN_U8, 9, (int32_t[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1 });
    CHECK(bad.rank < 0, "a buffer that every check refuses");
}

static void fill_garbage(kn_buffer *b)
{
    memset(&b->device, 0xEE, sizeof *b - offsetof(kn_buffer, device));
}

/* A buffer whose device copy is newer is refused by compiled code, by the interpreter and by all that reads or writes
 * elements. A device copy that is not newer is left alone. */
static void run_device(kn_context *cx, bool interpret)
{
    static uint16_t source[H][W], target[OH][OW];
    kn_pipeline    *p      = kn_parse(cx, "test.kiln", blur_text, -1);
    kn_module      *m      = kn_compile(p, &(kn_options){ .interpret = interpret });
    kn_buffer       in     = kn_buffer_dense(source, KN_U16, 2, (int32_t[]){ W, H });
    kn_buffer       out    = kn_buffer_dense(target, KN_U16, 2, (int32_t[]){ OW, OH });
    kn_arg          args[] = { { "in", .buffer = &in }, { "out", .buffer = &out } };
    out.dim[0].min = out.dim[1].min = 1;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            source[y][x] = pixel(x, y);
    in.device = out.device = (kn_device *)(void *)&source;
    in.handle = out.handle = 42;
    in.flags               = KN_DEVICE_NEWER;
    expect_error(cx, kn_run(m, args, 2), KN_ERROR_ARGUMENT, "in: its copy on a device is newer");
    in.flags  = KN_HOST_NEWER;
    out.flags = KN_DEVICE_NEWER;
    expect_error(cx, kn_run(m, args, 2), KN_ERROR_ARGUMENT, "out: its copy on a device is newer");
    CHECK(target[0][0] == 0, "a refused call writes nothing");
    expect_error(cx, kn_fill_noise(cx, &out, 1), KN_ERROR_ARGUMENT, "copy it to the host first");
    expect_ok(cx, kn_fit(m, args, 2));
    out.flags = 0;
    expect_ok(cx, kn_run(m, args, 2));
    CHECK(kn_interpreted(m) == interpret, "the other executor ran");
    CHECK(target[2][3] == blur_at(4, 3), "%d", target[2][3]);
    CHECK(in.flags == KN_HOST_NEWER && !out.flags && in.device == out.device && out.handle == 42, "flags were changed");
    memset(target, 0, sizeof target);
}

static void test_device(kn_context *cx)
{
    run_device(cx, false);
    run_device(cx, true);
    kn_buffer b = { .type = KN_U8, .rank = 1, .dim = { { 0, 100, 0 } } };
    fill_garbage(&b);
    expect_ok(cx, kn_buffer_alloc(cx, &b));
    CHECK(!b.device && !b.handle && !b.flags && !b.reserved[0] && !b.reserved[1] && !b.reserved[2],
          "new memory has no copy on a device");
    expect_ok(cx, kn_fill_noise(cx, &b, 1));
    fill_garbage(&b);
    expect_error(cx, kn_fill_noise(cx, &b, 1), KN_ERROR_ARGUMENT, "set all fields behind dim to zero");
    kn_buffer_free(cx, &b);
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    test_layouts(cx);
    test_broadcast(cx);
    test_ranks(cx);
    test_alloc(cx);
    test_device(cx);
    kn_context_free(cx);
    return check_done();
}
