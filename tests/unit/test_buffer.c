/* SPDX-License-Identifier: MIT */
/* Buffers, their conversion and their comparison: what is right, and the message for each thing that is wrong. */
#include "image/buffer.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

static bool has(const char *text, const char *part)
{
    return text && strstr(text, part) != NULL;
}

/* ---- Buffers ---- */

static void test_dense(void)
{
    const int32_t   extent[] = { 5, 4, 3 };
    const kn_buffer b        = kn_buffer_dense(NULL, KN_U8, 3, extent);
    CHECK(b.dim[0].stride == 1 && b.dim[1].stride == 5 && b.dim[2].stride == 20 && b.dim[2].extent == 3,
          "dense strides");
    CHECK(buffer_count(&b) == 60, "%lld elements", (long long)buffer_count(&b));
    CHECK(kn_buffer_dense(NULL, KN_U8, 9, extent).rank == -1 && kn_buffer_dense(NULL, KN_U8, 2, NULL).rank == -1,
          "no such buffer");
}

static void test_alloc(kn_context *cx)
{
    static const struct {
        kn_buffer   b;
        kn_status   status;
        const char *message;
    } cases[] = {
        { { .type = KN_F32, .rank = 2, .dim = { { 3, 4, 0 }, { -1, 5, 0 } } }, KN_OK, "" },
        { { .type = KN_F32, .rank = 0 }, KN_OK, "" },
        { { .type = KN_U8, .rank = 2, .dim = { { 0, 0, 0 }, { 0, 5, 0 } } }, KN_OK, "" },
        { { .type = KN_U8, .rank = 3, .dim = { { 0, INT32_MAX, 0 }, { 0, INT32_MAX, 0 }, { 0, 0, 0 } } }, KN_OK, "" },
        { { .type = KN_NONE, .rank = 1 }, KN_ERROR_ARGUMENT, "0 is no element type" },
        { { .type = (kn_type)99, .rank = 1 }, KN_ERROR_ARGUMENT, "99 is no element type" },
        { { .type = KN_U8, .rank = 9 }, KN_ERROR_ARGUMENT, "rank 9; a buffer has 0 to 8 dimensions" },
        { { .type = KN_U8, .rank = -1 }, KN_ERROR_ARGUMENT, "rank -1" },
        { { .type = KN_U8, .rank = 1, .dim = { { 0, -3, 0 } } },
          KN_ERROR_ARGUMENT,
          "dimension 0 has the negative extent -3" },
        { { .type = KN_U8, .rank = 1, .dim = { { 10, INT32_MAX, 0 } } }, KN_ERROR_ARGUMENT, "beyond 2147483647" },
        { { .type = KN_F64, .rank = 3, .dim = { { 0, INT32_MAX, 0 }, { 0, INT32_MAX, 0 }, { 0, 9, 0 } } },
          KN_ERROR_ARGUMENT,
          "more elements" },
        { { .type = KN_F64, .rank = 2, .dim = { { 0, INT32_MAX, 0 }, { 0, 1000, 0 } } },
          KN_ERROR_LIMIT,
          "out of memory" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_buffer       b   = cases[i].b;
        const kn_status got = kn_buffer_alloc(cx, &b);
        CHECK(got == cases[i].status && has(kn_error_text(cx), cases[i].message), "case %zu: %d %s", i, (int)got,
              kn_error_text(cx));
        CHECK((b.data != NULL) == (got == KN_OK && buffer_count(&b) > 0), "case %zu: data", i);
        CHECK(got != KN_OK || b.dim[0].min == cases[i].b.dim[0].min, "case %zu: min", i);
        kn_buffer_free(cx, &b);
        CHECK(!b.data, "case %zu: not freed", i);
    }
    CHECK(kn_buffer_alloc(cx, NULL) == KN_ERROR_ARGUMENT && kn_buffer_alloc(NULL, NULL) == KN_ERROR_ARGUMENT, "NULL");
    char      mine[4];
    kn_buffer b = kn_buffer_dense(mine, KN_U8, 1, (int32_t[]){ 4 });
    kn_buffer_free(cx, &b);
    CHECK(b.data == mine, "memory of others is left alone");
    for (int i = 0; i < 100; i++) {
        kn_buffer many = { .type = KN_U8, .rank = 1, .dim = { { 0, 10, 0 } } };
        CHECK(!kn_buffer_alloc(cx, &many), "left to the context");
    }
}

typedef struct CheckCall {
    kn_context      *cx;
    const kn_buffer *b;
    bool             is_output;
} CheckCall;

static void check_run(void *arg)
{
    const CheckCall *call = arg;
    buffer_check(call->cx, call->b, "`out`", call->is_output);
}

static void test_check(kn_context *cx)
{
    static char memory[1000];
    static const struct {
        kn_dim      dim[3];
        bool        is_output;
        const char *message;
    } cases[] = {
        { { { 0, 5, 1 }, { 0, 4, 5 }, { 0, 3, 20 } }, true, "" },
        { { { 0, 5, 3 }, { 0, 4, 15 }, { 0, 3, 1 } }, true, "" },
        { { { 0, 5, -1 }, { 0, 4, 10 }, { 0, 3, -40 } }, true, "" },
        { { { 0, 5, 1 }, { 0, 1, 0 }, { 0, 3, 5 } }, true, "" },
        { { { 0, 5, 1 }, { 0, 4, 0 }, { 0, 3, 20 } }, false, "" },
        { { { 0, 5, 1 }, { 0, 4, 4 }, { 0, 3, 20 } }, true, "overlapping strides: with stride 4 along dimension 1" },
        { { { 0, 5, 1 }, { 0, 4, 0 }, { 0, 3, 20 } }, true, "overlapping strides" },
        { { { 0, 5, 1 }, { 0, 4, -1 }, { 0, 3, 20 } }, true, "overlapping strides" },
        { { { 0, 0, 1 }, { 0, 4, 1 }, { 0, 3, 1 } }, true, "" },
        { { { 0, 5, INT64_MAX }, { 0, 4, 1 }, { 0, 3, 1 } }, false, "beyond the address space" },
        { { { 0, 2, INT64_MIN }, { 0, 4, 1 }, { 0, 3, 1 } }, false, "beyond the address space" },
        { { { 0, 3, (int64_t)1 << 61 }, { 0, 4, 1 }, { 0, 3, 1 } }, false, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_buffer b = { .data = memory + 500, .type = KN_U8, .rank = 3 };
        memcpy(b.dim, cases[i].dim, sizeof cases[i].dim);
        context_begin(cx);
        CheckCall call = { cx, &b, cases[i].is_output };
        context_try(cx, check_run, &call);
        const char *text = kn_error_text(cx);
        CHECK(*cases[i].message ? has(text, cases[i].message) && has(text, "`out`") : !*text, "case %zu: %s", i, text);
    }
    kn_buffer a = kn_buffer_dense(memory + 100, KN_U16, 1, (int32_t[]){ 10 }),
              b = kn_buffer_dense(memory + 119, KN_U8, 1, (int32_t[]){ 10 });
    CHECK(buffers_overlap(&a, &b), "one byte in common");
    b.data = memory + 120;
    CHECK(!buffers_overlap(&a, &b), "side by side");
    b.dim[0].stride = -1;
    CHECK(buffers_overlap(&a, &b), "backwards into it");
    b.dim[0].extent = 0;
    CHECK(!buffers_overlap(&a, &b), "an empty one");
}

static void test_walk(void)
{
    uint8_t       data[24];
    const int32_t extent[] = { 2, 3, 4 };
    kn_buffer     b        = kn_buffer_dense(data, KN_U8, 3, extent);
    int           n        = 0;
    for (BufferWalk w = walk_begin(&b); w.more; walk_next(&w))
        *w.at = (char)n++;
    CHECK(n == 24 && data[23] == 23 && *buffer_address(&b, (int32_t[]){ 1, 2, 3 }) == 23 && data[7] == 7,
          "the walk takes %d steps", n);
    b.rank = 0;
    n      = 0;
    for (BufferWalk w = walk_begin(&b); w.more; walk_next(&w))
        n++;
    CHECK(n == 1, "rank 0 has one element");
}

/* ---- Conversion ---- */

/* One value, or three planes of one value each, converted. */
static kn_status convert(kn_context *cx, kn_type from, int channels, const double *values, kn_image_range range,
                         kn_type to, double *result, const char **note)
{
    char          data[4 * 8];
    const int32_t extent[] = { 1, 1, channels };
    kn_buffer     a = kn_buffer_dense(data, from, channels == 1 ? 2 : 3, extent), b = { 0 };
    for (int c = 0; c < channels; c++) {
        char *at = data + (size_t)c * kn_type_size(from);
        if (type_is_float(from))
            type_store_float(from, at, values[c]);
        else
            type_store_int(from, at, from == KN_U64 ? (int64_t)(uint64_t)values[c] : (int64_t)values[c]);
    }
    const kn_status status = kn_image_convert(cx, &a, range, to, 2, &b, note);
    if (!status) {
        const int64_t v = type_is_float(to) ? 0 : type_load_int(to, b.data);
        *result = type_is_float(to) ? type_load_float(to, b.data) : to == KN_U64 ? (double)(uint64_t)v : (double)v;
        CHECK(b.rank == 2 && b.type == to, "type and rank");
    }
    kn_buffer_free(cx, &b);
    return status;
}

static void test_convert_values(kn_context *cx)
{
    static const struct {
        kn_type        from;
        kn_image_range range;
        kn_type        to;
        double         value, want;
        const char    *words; /* of the note, or of the message where want is NaN; NULL: no note */
    } cases[] = {
        { KN_U8, KN_RANGE_FULL, KN_U8, 200, 200, NULL },
        { KN_U8, KN_RANGE_FULL, KN_U16, 200, 51400, "8-bit values 0..255 were scaled to 0..65535" },
        { KN_U16, KN_RANGE_FULL, KN_U8, 65535, 255, "16-bit values 0..65535 were scaled to 0..255" },
        { KN_U16, KN_RANGE_FULL, KN_U8, 128, 0, "scaled" },
        { KN_U16, KN_RANGE_FULL, KN_U8, 129, 1, "scaled" },
        { KN_U8, KN_RANGE_FULL, KN_F32, 51, (double)0.2f, "8-bit values 0..255 were scaled to 0..1" },
        { KN_F32, KN_RANGE_FULL, KN_U8, 0.5, 128, "f32 values were clamped to 0..1 and scaled to 0..255" },
        { KN_F32, KN_RANGE_FULL, KN_U8, 1.5, 255, "1 were outside" },
        { KN_F32, KN_RANGE_FULL, KN_U8, -0.5, 0, "1 were outside" },
        { KN_F64, KN_RANGE_FULL, KN_U16, NAN, 0, "1 were outside" },
        { KN_F64, KN_RANGE_FULL, KN_U16, INFINITY, 65535, "1 were outside" },
        { KN_BOOL, KN_RANGE_FULL, KN_U8, 1, 255, "false and true became 0 and 255" },
        { KN_F64, KN_RANGE_FULL, KN_F32, 0.1, (double)0.1f, "f64 values were rounded to f32" },
        { KN_F32, KN_RANGE_FULL, KN_F64, 2.5, 2.5, "f32 values were given as f64" },
        { KN_I32, KN_RANGE_FULL, KN_U8, 200, 200, "i32 values were given as u8" },
        { KN_I32, KN_RANGE_FULL, KN_U8, -1, NAN, "the i32 value -1 cannot be held by u8" },
        { KN_I32, KN_RANGE_FULL, KN_U8, 256, NAN, "256 cannot be held by u8" },
        { KN_I32, KN_RANGE_FULL, KN_F32, 16777216, 16777216, "given as f32" },
        { KN_I32, KN_RANGE_FULL, KN_F32, 16777217, NAN, "16777217 cannot be held by f32" },
        { KN_U64, KN_RANGE_FULL, KN_I64, 9223372036854775808.0, NAN, "cannot be held by i64" },
        { KN_U64, KN_RANGE_FULL, KN_F64, 9223372036854775808.0, 9223372036854775808.0, "given as f64" },
        { KN_U64, KN_RANGE_FULL, KN_F16, 65536, NAN, "cannot be held by f16" },
        { KN_F32, KN_RANGE_FULL, KN_I16, -7, -7, "given as i16" },
        { KN_F32, KN_RANGE_FULL, KN_I16, 7.5, NAN, "the f32 value 7.5 cannot be held by i16" },
        { KN_F32, KN_RANGE_FULL, KN_I16, NAN, NAN, "cannot be held" },
        { KN_F64, KN_RANGE_FULL, KN_U64, 1e19, 1e19, "u64" },
        { KN_F64, KN_RANGE_FULL, KN_I64, 1e19, NAN, "cannot be held" },
        { KN_U8, KN_RANGE_VALUE, KN_U16, 200, 200, "u8 values were given as u16" },
        { KN_U8, KN_RANGE_VALUE, KN_F32, 200, 200, "u8 values were given as f32" },
        { KN_U8, KN_RANGE_VALUE, KN_BF16, 255, 255, "given as bf16" },
        { KN_U16, KN_RANGE_VALUE, KN_F16, 1, NAN, "u16 values cannot be given as f16" },
        { KN_U16, KN_RANGE_VALUE, KN_U8, 1, NAN, "a.astype('uint8')" },
        { KN_F64, KN_RANGE_VALUE, KN_F32, 1, NAN,
          "f64 values cannot be given as f32: not every one can be held; give f32 data (in NumPy: "
          "a.astype('float32'))" },
        { KN_F32, KN_RANGE_VALUE, KN_I64, 1, NAN, "cannot be given as i64" },
        { KN_I8, KN_RANGE_VALUE, KN_U64, 1, NAN, "cannot be given as u64" },
        { KN_F16, KN_RANGE_VALUE, KN_BF16, 1, NAN, "cannot be given as bf16" },
        { KN_U8, KN_RANGE_VALUE, KN_BOOL, 1, NAN, "cannot be given as bool" },
        { KN_BOOL, KN_RANGE_VALUE, KN_F32, 1, 1, "given as f32" },
        { KN_U32, KN_RANGE_VALUE, KN_F64, 4294967295.0, 4294967295.0, "given as f64" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double          got  = NAN;
        const char     *note = NULL;
        const kn_status status =
            convert(cx, cases[i].from, 1, &cases[i].value, cases[i].range, cases[i].to, &got, &note);
        const char *words = status ? kn_error_text(cx) : note;
        CHECK(status == (isnan(cases[i].want) ? KN_ERROR_ARGUMENT : KN_OK), "case %zu: %s", i, kn_error_text(cx));
        CHECK(isnan(cases[i].want) ? isnan(got) : got == cases[i].want, "case %zu: %.17g", i, got);
        CHECK(cases[i].words ? has(words, cases[i].words) : !note, "case %zu: %s", i, words);
    }
}

static void test_convert_channels(kn_context *cx)
{
    double      got = 0;
    const char *note;
    CHECK(!convert(cx, KN_U8, 3, (double[]){ 255, 0, 0 }, KN_RANGE_FULL, KN_U8, &got, &note) && got == 76,
          "luma of red: %g", got);
    CHECK(has(note, "3 channels were made 1 by luma 0.299 R + 0.587 G + 0.114 B"), "%s", note);
    CHECK(!convert(cx, KN_U8, 4, (double[]){ 0, 255, 0, 9 }, KN_RANGE_FULL, KN_U16, &got, &note) && got == 38469,
          "luma of green: %g", got);
    CHECK(has(note, "alpha channel was dropped") && has(note, "scaled to 0..65535"), "%s", note);
    CHECK(!convert(cx, KN_F32, 3, (double[]){ 1, 1, 1 }, KN_RANGE_FULL, KN_F64, &got, &note) && fabs(got - 1) < 1e-12,
          "luma of white: %g", got);
    CHECK(!convert(cx, KN_U16, 2, (double[]){ 7, 1 }, KN_RANGE_FULL, KN_U16, &got, &note) && got == 7,
          "gray and alpha: %g", got);
    CHECK(convert(cx, KN_U8, 3, (double[]){ 1, 2, 3 }, KN_RANGE_VALUE, KN_U8, &got, &note), "numbers have no luma");
    CHECK(has(kn_error_text(cx), "a buffer of rank 3 cannot be made rank 2: its dimension 2 has extent 3"), "%s",
          kn_error_text(cx));
    CHECK(convert(cx, KN_F32, 3, (double[]){ NAN, 0, 0 }, KN_RANGE_FULL, KN_I32, &got, &note),
          "the luma of NaN is no i32");
    CHECK(convert(cx, KN_U8, 3, (double[]){ 255, 255, 255 }, KN_RANGE_FULL, KN_I8, &got, &note), "white is no i8");
    CHECK(!convert(cx, KN_U8, 3, (double[]){ 100, 101, 102 }, KN_RANGE_FULL, KN_I32, &got, &note) && got == 101,
          "luma as i32: %g", got);
    CHECK(convert(cx, KN_I32, 3, (double[]){ 1, 2, 3 }, KN_RANGE_FULL, KN_I32, &got, &note), "no luma of i32");

    uint8_t       pixels[] = { 1, 2, 3, 4, 5, 6 };
    const int32_t extent[] = { 3, 2, 1 };
    kn_buffer     a        = kn_buffer_dense(pixels, KN_U8, 2, extent), b;
    a.dim[0].min           = 5;
    CHECK(!kn_image_convert(cx, &a, KN_RANGE_VALUE, KN_U8, 3, &b, &note) && b.rank == 3 && b.dim[2].extent == 1 &&
              !note,
          "rank 2 to 3");
    CHECK(b.dim[0].min == 5 && !memcmp(b.data, pixels, 6), "mins and values stay");
    kn_buffer c;
    CHECK(!kn_image_convert(cx, &b, KN_RANGE_VALUE, KN_U8, 2, &c, NULL) && c.rank == 2, "rank 3 to 2");
    CHECK(kn_image_convert(cx, &a, KN_RANGE_FULL, KN_NONE, 2, &c, NULL) == KN_ERROR_ARGUMENT, "no type");
    CHECK(kn_image_convert(cx, &a, KN_RANGE_FULL, KN_U8, 9, &c, NULL) == KN_ERROR_ARGUMENT, "no rank");
    CHECK(kn_image_convert(cx, NULL, KN_RANGE_FULL, KN_U8, 2, &c, NULL) == KN_ERROR_ARGUMENT, "no buffer");
    CHECK(kn_image_convert(cx, &a, KN_RANGE_FULL, KN_U8, 2, NULL, NULL) == KN_ERROR_ARGUMENT, "no result");
}

static void test_convert_for(kn_context *cx)
{
    static const struct {
        const char *path;
        kn_type     from;
        int32_t     channels;
        kn_type     to;
        int32_t     rank, to_channels;
        const char *note;
    } cases[] = {
        { "a.png", KN_U8, 4, KN_U8, 3, 4, NULL },
        { "a.png", KN_F32, 3, KN_U8, 3, 3, "f32 values were clamped to 0..1 and scaled to 0..255" },
        { "a.png", KN_I32, 1, KN_U16, 2, 0, "i32 values were given as u16" },
        { "a.png", KN_BOOL, 1, KN_U8, 2, 0, "false and true became 0 and 255" },
        { "a.jpg", KN_U16, 4, KN_U8, 3, 3, "the alpha channel was dropped; 16-bit values" },
        { "a.jpg", KN_U8, 2, KN_U8, 2, 0, "the alpha channel was dropped" },
        { "a.pgm", KN_U8, 4, KN_U8, 2, 0, "the alpha channel was dropped; 3 channels were made 1 by luma" },
        { "a.ppm", KN_U8, 1, KN_U8, 3, 3, "1 channel was repeated as 3" },
        { "a.ppm", KN_U8, 2, KN_U8, 3, 3, "the alpha channel was dropped; 1 channel was repeated as 3" },
        { "a.pfm", KN_F64, 3, KN_F32, 3, 3, "f64 values were rounded to f32" },
        { "a.tif", KN_BF16, 7, KN_F32, 3, 7, "bf16 values were given as f32" },
        { "a.npy", KN_BF16, 7, KN_F32, 3, 7, "bf16 values were given as f32" },
        { "a.npy", KN_BOOL, 7, KN_BOOL, 3, 7, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t extent[] = { 2, 2, cases[i].channels };
        kn_buffer     a = { .type = cases[i].from, .rank = cases[i].channels == 1 ? 2 : 3 }, b = { 0 };
        const char   *note;
        for (int d = 0; d < 3; d++)
            a.dim[d].extent = extent[d];
        CHECK(!kn_buffer_alloc(cx, &a), "%s", kn_error_text(cx));
        CHECK(!kn_image_convert_for(cx, cases[i].path, &a, &b, &note), "case %zu: %s", i, kn_error_text(cx));
        CHECK(b.type == cases[i].to && b.rank == cases[i].rank &&
                  (b.rank == 2 || b.dim[2].extent == cases[i].to_channels),
              "case %zu: %s, rank %d", i, kn_type_name(b.type), b.rank);
        CHECK(cases[i].note ? has(note, cases[i].note) : !note, "case %zu: %s", i, note);
    }
    kn_buffer b, a = { .type = KN_U8 };
    CHECK(kn_image_convert_for(cx, "a.doc", &a, &b, NULL) == KN_ERROR_ARGUMENT &&
              has(kn_error_text(cx), "names no image format"),
          "%s", kn_error_text(cx));
    CHECK(kn_image_convert_for(cx, NULL, &a, &b, NULL) == KN_ERROR_ARGUMENT, "no path");
}

/* ---- Comparison ---- */

static kn_difference compare(kn_context *cx, kn_type type, int count, const void *a, const void *b, double abs,
                             double rel)
{
    const int32_t extent[] = { count };
    kn_buffer     ba       = kn_buffer_dense((void *)(uintptr_t)a, type, 1, extent),
              bb           = kn_buffer_dense((void *)(uintptr_t)b, type, 1, extent);
    kn_difference d        = { .max = -1 };
    bb.dim[0].min          = 100;
    CHECK(kn_compare(cx, &ba, &bb, abs, rel, &d) == KN_OK, "%s", kn_error_text(cx));
    return d;
}

static void test_compare(kn_context *cx)
{
    kn_difference d = compare(cx, KN_U8, 4, "\1\2\3\xFF", "\1\4\3\0", 2, 0);
    CHECK(d.max == 255 && d.where[0] == 3 && d.mean == 257 / 4.0 && d.beyond == 1 && d.count == 4, "u8: %g at %d, %lld",
          d.max, d.where[0], (long long)d.beyond);
    const uint64_t big[] = { UINT64_MAX, 1ull << 63 }, near[] = { UINT64_MAX - 1, (1ull << 63) - 1 };
    d = compare(cx, KN_U64, 2, big, near, 0, 0);
    CHECK(d.max == 1 && d.beyond == 2, "u64: %g, %lld", d.max, (long long)d.beyond);
    const int64_t low[] = { INT64_MIN }, high[] = { INT64_MAX };
    d = compare(cx, KN_I64, 1, low, high, 0, 0);
    CHECK(d.max == 18446744073709551615.0, "i64: %g", d.max);
    const double x[] = { NAN, INFINITY, -INFINITY, 0.0 }, y[] = { NAN, INFINITY, -INFINITY, -0.0 };
    d = compare(cx, KN_F64, 4, x, y, 0, 0);
    CHECK(d.max == 0 && d.beyond == 0 && d.mean == 0, "equal specials: %g", d.max);
    const double z[] = { 1, -INFINITY, 5, 0 };
    d                = compare(cx, KN_F64, 4, x, z, 1e300, 1e300);
    CHECK(isinf(d.max) && d.beyond == 3 && d.where[0] == 0, "specials differ: %g, %lld", d.max, (long long)d.beyond);
    const float p[] = { 100, 1 }, q[] = { 101, 1.5f };
    d = compare(cx, KN_F32, 2, p, q, 0, 0.01);
    CHECK(d.max == 1 && d.beyond == 1 && d.where[0] == 0, "relative: %g, %lld", d.max, (long long)d.beyond);

    kn_buffer a = kn_buffer_dense((void *)(uintptr_t)p, KN_F32, 2, (int32_t[]){ 2, 1 }), b = a;
    b.dim[1].extent = 0;
    CHECK(kn_compare(cx, &a, &b, 0, 0, &d) == KN_ERROR_ARGUMENT &&
              has(kn_error_text(cx), "along dimension 1 (y) differ: 1 and 0"),
          "%s", kn_error_text(cx));
    a.dim[1].extent = 0;
    CHECK(!kn_compare(cx, &a, &b, 0, 0, &d) && d.count == 0 && d.mean == 0, "empty ones are equal");
    b.rank = 1;
    CHECK(kn_compare(cx, &a, &b, 0, 0, &d) && has(kn_error_text(cx), "the ranks differ: 2 and 1"), "%s",
          kn_error_text(cx));
    b.type = KN_I32;
    CHECK(kn_compare(cx, &a, &b, 0, 0, &d) && has(kn_error_text(cx), "the types differ: f32 and i32"), "%s",
          kn_error_text(cx));
    CHECK(kn_compare(cx, &a, &a, NAN, 0, &d) && has(kn_error_text(cx), "tolerance"), "%s", kn_error_text(cx));
    CHECK(kn_compare(cx, &a, NULL, 0, 0, &d) == KN_ERROR_ARGUMENT &&
              kn_compare(cx, &a, &a, 0, 0, NULL) == KN_ERROR_ARGUMENT,
          "NULL");
}

int main(void)
{
    static void (*const tests[])(kn_context *) = { test_alloc,          test_check,
                                                   test_convert_values, test_convert_channels,
                                                   test_convert_for,    test_compare };
    test_dense();
    test_walk();
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        kn_context *cx = kn_context_new(NULL);
        tests[i](cx);
        kn_context_free(cx);
    }
    return check_done();
}
