/* Calls of compiled code: every kind of bad buffer with its message, and dense copies there and back. */
#include "runtime/runtime.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const kn_rt_port    ports[] = { { "in", KN_U16, 2, 0, 0, "x\0y" },
                                       { "gain", KN_F32, 0, -1, 0, "" },
                                       { "out", KN_F32, 2, 0, 1, "x\0y" } };
static const kn_rt_program blur    = { "blur", COUNT(ports), ports, 0, NULL };

static _Alignas(8) uint16_t in_data[64];
static float gain_data, out_data[64];

static const kn_buffer good_in   = { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { 0, 8, 1 }, { 0, 8, 8 } } };
static const kn_buffer good_gain = { .data = &gain_data, .type = KN_F32, .rank = 0, .dim = { { 0, 0, 0 } } };
static const kn_buffer good_out  = { .data = out_data, .type = KN_F32, .rank = 2, .dim = { { 0, 8, 1 }, { 0, 8, 8 } } };

/* What kn_rt_enter says of three buffers; copies are freed. */
static int enter(const kn_buffer *in, const kn_buffer *gain, const kn_buffer *out)
{
    const kn_buffer *given[] = { in, gain, out };
    kn_buffer        used[3];
    const int        status = kn_rt_enter(NULL, &blur, given, used);
    return status ? status : kn_rt_leave(NULL, &blur, given, used, 0);
}

static void test_good(void)
{
    CHECK(enter(&good_in, &good_gain, &good_out) == 0 && !*kn_rt_last_error(), "`%s`", kn_rt_last_error());
    kn_buffer in = good_in, out = good_out;
    in.dim[1].stride = 0;
    CHECK(enter(&in, &good_gain, &good_out) == 0, "an input that repeats: %s", kn_rt_last_error());
    in.dim[0].stride = 0;
    CHECK(enter(&in, &good_gain, &good_out) == 0, "an input of one element: %s", kn_rt_last_error());
    out = (kn_buffer){ .data = NULL, .type = KN_F32, .rank = 2, .dim = { { 5, 0, 77 }, { -3, 100, INT64_MIN } } };
    CHECK(enter(&good_in, &good_gain, &out) == 0, "an empty output: %s", kn_rt_last_error());
    out = (kn_buffer){
        .data = out_data + 63, .type = KN_F32, .rank = 2, .dim = { { -8, 8, -1 }, { -(1 << 28), 8, -8 } }
    };
    CHECK(enter(&good_in, &good_gain, &out) == 0, "negative strides: %s", kn_rt_last_error());
    out = (kn_buffer){ .data = out_data, .type = KN_F32, .rank = 2, .dim = { { 0, 1, 0 }, { 0, 8, 1 } } };
    CHECK(enter(&good_in, &good_gain, &out) == 0, "one element with stride 0: %s", kn_rt_last_error());
}

/* One thing wrong in the input, or in the output. */
static void test_bad(void)
{
    static const struct {
        bool        is_output;
        kn_buffer   b;
        int         status;
        const char *message;
    } cases[] = {
        { false,
          { .data = in_data, .type = KN_U8, .rank = 2, .dim = { { 0, 8, 1 }, { 0, 8, 8 } } },
          KN_ERROR_ARGUMENT,
          "blur: input `in` is u16(x, y), the buffer holds u8" },
        { false,
          { .data = in_data, .type = (kn_type)99, .rank = 2, .dim = { { 0, 8, 1 }, { 0, 8, 8 } } },
          KN_ERROR_ARGUMENT,
          "blur: input `in` is u16(x, y), the buffer's type is 99, which is none: use KN_BOOL … KN_F64" },
        { false,
          { .data = in_data, .type = KN_U16, .rank = 1, .dim = { { 0, 8, 1 } } },
          KN_ERROR_ARGUMENT,
          "blur: input `in` is u16(x, y), the buffer has 1 dimension" },
        { true,
          { .data = out_data, .type = KN_F32, .rank = 3, .dim = { { 0, 8, 1 } } },
          KN_ERROR_ARGUMENT,
          "blur: output `out` is f32(x, y), the buffer has 3 dimensions" },
        { true,
          { .data = out_data, .type = KN_F32, .rank = -1, .dim = { { 0, 8, 1 } } },
          KN_ERROR_ARGUMENT,
          "blur: output `out` is f32(x, y), the buffer has -1 dimensions" },
        { false,
          { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { 0, 8, 1 }, { 0, -3, 8 } } },
          KN_ERROR_ARGUMENT,
          "blur: input `in`: dimension y has the negative extent -3" },
        { false,
          { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { -(1 << 28) - 1, 8, 1 }, { 0, 8, 8 } } },
          KN_ERROR_BOUNDS,
          "blur: input `in`: dimension x has the coordinates -268435457..-268435449; those of compiled pipelines lie "
          "in -268435456..268435456" },
        { true,
          { .data = out_data, .type = KN_F32, .rank = 2, .dim = { { 0, 8, 1 }, { INT32_MAX, INT32_MAX, 8 } } },
          KN_ERROR_BOUNDS,
          "blur: output `out`: dimension y has the coordinates 2147483647..4294967294; those of compiled pipelines lie "
          "in -268435456..268435456" },
        { false,
          { .data = NULL, .type = KN_U16, .rank = 2, .dim = { { 0, 8, 1 }, { 0, 8, 8 } } },
          KN_ERROR_ARGUMENT,
          "blur: input `in`: its data is NULL; point it at the element at the smallest coordinates" },
        { false,
          { .data = (char *)in_data + 1, .type = KN_U16, .rank = 2, .dim = { { 0, 8, 1 }, { 0, 7, 8 } } },
          KN_ERROR_ARGUMENT,
          "blur: input `in`: its data is misaligned: the address must be a multiple of 2, the size of u16" },
        { false,
          { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { 0, 8, 1 }, { 0, 8, INT64_MAX } } },
          KN_ERROR_ARGUMENT,
          "blur: input `in`: its strides reach beyond the address space" },
        { false,
          { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { 0, 8, 1 }, { 0, 8, INT64_MIN } } },
          KN_ERROR_ARGUMENT,
          "blur: input `in`: its strides reach beyond the address space" },
        { false,
          { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { 0, 1 << 20, -(INT64_C(1) << 42) }, { 0, 8, 8 } } },
          KN_ERROR_ARGUMENT,
          "blur: input `in`: its strides reach beyond the address space" },
        { true,
          { .data = out_data, .type = KN_F32, .rank = 2, .dim = { { 0, 8, 1 }, { 0, 2, 0 } } },
          KN_ERROR_ARGUMENT,
          "blur: output `out`: with stride 0 along y two coordinates share an element, which an output must not; each "
          "stride must pass what the "
          "smaller ones reach" },
        { true,
          { .data = out_data, .type = KN_F32, .rank = 2, .dim = { { 0, 8, 1 }, { 0, 2, 7 } } },
          KN_ERROR_ARGUMENT,
          "blur: output `out`: with stride 7 along y two coordinates share an element, which an output must not; each "
          "stride must pass what the "
          "smaller ones reach" },
        { true,
          { .data = out_data + 8, .type = KN_F32, .rank = 2, .dim = { { 0, 8, -2 }, { 0, 2, 2 } } },
          KN_ERROR_ARGUMENT,
          "blur: output `out`: with stride 2 along y two coordinates share an element, which an output must not; each "
          "stride must pass what the "
          "smaller ones reach" },
        { true,
          { .data = &gain_data, .type = KN_F32, .rank = 2, .dim = { { 0, 1, 1 }, { 0, 1, 1 } } },
          KN_ERROR_ARGUMENT,
          "blur: input `gain` and output `out` share memory: an output needs memory of its own" },
        { true,
          { .data = (float *)(void *)in_data + 3, .type = KN_F32, .rank = 2, .dim = { { 0, 2, -3 }, { 0, 1, 1 } } },
          KN_ERROR_ARGUMENT,
          "blur: input `in` and output `out` share memory: an output needs memory of its own" },
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const kn_buffer *b      = &cases[i].b;
        const int        status = cases[i].is_output ? enter(&good_in, &good_gain, b) : enter(b, &good_gain, &good_out);
        CHECK(status == cases[i].status, "case %d: status %d", i, status);
        CHECK(!strcmp(kn_rt_last_error(), cases[i].message), "case %d:\n  %s\n  %s", i, kn_rt_last_error(),
              cases[i].message);
    }
}

/* The device part of an input, or of an output; NULL: it is fine. */
static void test_device(void)
{
    static const char stale[]   = "its copy on a device is newer than its data; copy it to the host first, then clear "
                                  "KN_DEVICE_NEWER";
    static const char invalid[] = "its device part has unknown flags, or reserved is not zero; set all fields behind "
                                  "dim to zero";
    static const struct {
        bool        device;
        uint32_t    flags, reserved[3];
        const char *message;
    } cases[] = {
        { true, 0, { 0 }, NULL },
        { false, KN_HOST_NEWER, { 0 }, NULL },
        { true, KN_HOST_NEWER, { 0 }, NULL },
        { true, KN_DEVICE_NEWER, { 0 }, stale },
        { false, KN_DEVICE_NEWER, { 0 }, stale },
        { true, KN_HOST_NEWER | KN_DEVICE_NEWER, { 0 }, stale },
        { true, 4, { 0 }, invalid },
        { true, 1u << 31, { 0 }, invalid },
        { false, 0, { 1, 0, 0 }, invalid },
        { false, 0, { 0, 1, 0 }, invalid },
        { false, 0, { 0, 0, 1 }, invalid },
    };
    for (int i = 0; i < 2 * COUNT(cases); i++) {
        const int  k         = i / 2;
        const bool is_output = i % 2;
        kn_buffer  b         = is_output ? good_out : good_in;
        char       message[256];
        b.device = cases[k].device ? (kn_device *)(void *)&gain_data : NULL;
        b.handle = cases[k].device;
        b.flags  = cases[k].flags;
        memcpy(b.reserved, cases[k].reserved, sizeof b.reserved);
        snprintf(message, sizeof message, "blur: %s: %s", is_output ? "output `out`" : "input `in`", cases[k].message);
        const kn_buffer before = b;
        const int       status = is_output ? enter(&good_in, &good_gain, &b) : enter(&b, &good_gain, &good_out);
        CHECK(status == (cases[k].message ? KN_ERROR_ARGUMENT : KN_OK), "case %d: status %d", i, status);
        CHECK(!strcmp(kn_rt_last_error(), cases[k].message ? message : ""), "case %d: %s", i, kn_rt_last_error());
        CHECK(!memcmp(&before, &b, sizeof b), "case %d: the buffer was changed", i);
    }
}

/* A dense copy, and the row of an empty input, have no copy on a device. */
static void test_device_of_copies(void)
{
    kn_buffer in = good_in, out = good_out, used[3];
    in.dim[1].extent = 0;
    out.dim[0]       = (kn_dim){ 0, 4, 2 };
    in.device = out.device = (kn_device *)(void *)&gain_data;
    in.handle = out.handle = 7;
    in.flags = out.flags     = KN_HOST_NEWER;
    const kn_buffer *given[] = { &in, &good_gain, &out };
    CHECK(kn_rt_enter(NULL, &blur, given, used) == 0, "%s", kn_rt_last_error());
    for (int i = 0; i < 3; i += 2) {
        CHECK(used[i].data != given[i]->data, "buffer %d is copied", i);
        CHECK(!used[i].device && !used[i].handle && !used[i].flags, "the copy of buffer %d is of the host alone", i);
    }
    CHECK(kn_rt_leave(NULL, &blur, given, used, 0) == 0, "%s", kn_rt_last_error());
}

/* All that is wrong is told, and a good call forgets it. */
static void test_several(void)
{
    kn_buffer out = good_out;
    out.type      = KN_F64;
    CHECK(enter(NULL, &good_gain, &out) == KN_ERROR_ARGUMENT, "two wrong buffers");
    CHECK(!strcmp(kn_rt_last_error(), "blur: input `in` is u16(x, y): no buffer is given for it (NULL)\n"
                                      "blur: output `out` is f32(x, y), the buffer holds f64"),
          "%s", kn_rt_last_error());
    CHECK(enter(&good_in, &good_gain, &good_out) == 0 && !*kn_rt_last_error(), "`%s`", kn_rt_last_error());
}

/* An empty input has an element wherever each index is 0 or, along a dimension that is not empty, any of that: clamped
 * reads land there. */
static void test_empty_input(void)
{
    static const int32_t extents[][2] = { { 0, 0 }, { 0, 5 }, { 100, 0 } };
    for (int i = 0; i < COUNT(extents); i++) {
        const int32_t   w = extents[i][0], h = extents[i][1];
        const kn_buffer in = { .data = NULL, .type = KN_U16, .rank = 2, .dim = { { 3, w, 7 }, { -2, h, INT64_MAX } } },
                        *given[] = { &in, &good_gain, &good_out };
        kn_buffer used[3];
        CHECK(kn_rt_enter(NULL, &blur, given, used) == 0, "%d x %d: %s", w, h, kn_rt_last_error());
        uint64_t sum = 0;
        for (int64_t y = 0; y < (h > 1 ? h : 1); y++)
            for (int64_t x = 0; x < (w > 1 ? w : 1); x++)
                sum += ((const uint16_t *)used[0].data)[x * used[0].dim[0].stride + y * used[0].dim[1].stride];
        CHECK(sum == 0 && used[0].dim[0].min == 3 && used[0].dim[0].extent == w && used[0].dim[1].extent == h,
              "%d x %d", w, h);
        CHECK(kn_rt_leave(NULL, &blur, given, used, 0) == 0, "%s", kn_rt_last_error());
    }
}

static void test_need(void)
{
    static const struct {
        int         port, dim, min, max;
        const char *reader, *message; /* NULL: it is enough */
    } cases[] = {
        { 0, 0, 0, 7, "blurx", NULL },
        { 0, 1, 5, 4, "blurx", NULL },
        { 0, 0, -1, 8, "blurx", "blur: input `in` is too small: x -1..9 is needed by `blurx`, 0..8 is given" },
        { 0, 1, 3, INT32_MAX, "blurx",
          "blur: input `in` is too small: y 3..2147483648 is needed by `blurx`, 0..8 is given" },
        { 2, 1, INT32_MIN, 2, NULL, "blur: output `out` is too small: y -2147483648..3 is written, 0..8 is given" },
        { 3, 0, 1, 1, "f", "blur: input `empty` is too small: x 1..2 is needed by `f`, nothing is given" },
    };
    const kn_rt_port    more[]  = { ports[0], ports[1], ports[2], { "empty", KN_U8, 1, 0, 0, "x" } };
    const kn_rt_program program = { "blur", COUNT(more), more, 0, NULL };
    const kn_buffer     used[]  = {
             good_in, good_gain, good_out, { .data = NULL, .type = KN_U8, .rank = 1, .dim = { { 0, 0, 1 } } }
    };
    for (int i = 0; i < COUNT(cases); i++) {
        enter(&good_in, &good_gain, &good_out);
        const int status =
            kn_rt_need(NULL, &program, cases[i].port, cases[i].dim, cases[i].min, cases[i].max, used, cases[i].reader);
        CHECK(status == (cases[i].message ? KN_ERROR_BOUNDS : 0), "case %d: status %d", i, status);
        CHECK(!strcmp(kn_rt_last_error(), cases[i].message ? cases[i].message : ""), "case %d: %s", i,
              kn_rt_last_error());
    }
}

/* ---- Copies ---- */

static uint32_t seed = 1;

static int below(int n)
{
    seed = seed * 1664525 + 1013904223;
    return (int)((seed >> 8) % (uint32_t)n);
}

/* A buffer of random shape in memory of its own: dimensions in random order, with gaps, some backwards; of an input
 * some repeat. */
static char *random_buffer(kn_buffer *b, kn_type type, int size, int rank, const int32_t *extent, bool may_repeat)
{
    int     order[KN_MAX_RANK];
    int64_t stride = 1 + below(3), start = 0;
    *b = (kn_buffer){ .type = type, .rank = rank };
    for (int d = 0; d < rank; d++) {
        const int k = below(d + 1);
        order[d]    = order[k];
        order[k]    = d;
    }
    for (int i = 0; i < rank; i++) {
        kn_dim *dim        = &b->dim[order[i]];
        *dim               = (kn_dim){ below(100) - 50, extent[order[i]], stride };
        const bool repeats = may_repeat && below(5) == 0;
        if (repeats) {
            dim->stride = 0;
            continue;
        }
        stride = stride * dim->extent + below(3);
        if (below(3) == 0) {
            start += (int64_t)(dim->extent - 1) * dim->stride;
            dim->stride = -dim->stride;
        }
    }
    char *memory = malloc((size_t)(stride * size) + 64);
    for (int64_t i = 0; i < stride * size; i++)
        memory[i] = (char)below(256);
    b->data = memory + start * size;
    return memory;
}

static char *element(const kn_buffer *b, int size, const int32_t *at)
{
    int64_t offset = 0;
    for (int d = 0; d < b->rank; d++)
        offset += at[d] * b->dim[d].stride;
    return (char *)b->data + offset * size;
}

/* The next coordinates, counted from 0; false after the last. */
static bool advance(int rank, const int32_t *extent, int32_t *at)
{
    for (int d = 0; d < rank; d++) {
        if (++at[d] < extent[d])
            return true;
        at[d] = 0;
    }
    return false;
}

/* Differences between two buffers of one shape; `copy`: makes them equal instead. */
static int compare(const kn_buffer *a, const kn_buffer *b, int size, const int32_t *extent, bool copy)
{
    int32_t at[KN_MAX_RANK] = { 0 };
    int     wrong           = 0;
    do {
        if (copy)
            memcpy(element(b, size, at), element(a, size, at), (size_t)size);
        wrong += memcmp(element(a, size, at), element(b, size, at), (size_t)size) != 0;
    } while (advance(a->rank, extent, at));
    return wrong;
}

static void test_copies(kn_rt *rt)
{
    static const struct {
        kn_type type;
        int     size;
    } types[] = { { KN_U8, 1 }, { KN_F16, 2 }, { KN_F32, 4 }, { KN_I64, 8 } };
    for (int round = 0; round < 1000; round++) {
        const int t = below(COUNT(types)), rank = 1 + below(4), dense = below(rank), size = types[t].size;
        int32_t   extent[4];
        for (int d = 0; d < 4; d++)
            extent[d] = 1 + below(9);
        kn_buffer           in, out, used[2];
        char               *in_memory  = random_buffer(&in, types[t].type, size, rank, extent, true);
        char               *out_memory = random_buffer(&out, types[t].type, size, rank, extent, false);
        const kn_rt_port    two[]      = { { "in", types[t].type, rank, dense, 0, "a\0b\0c\0d" },
                                           { "out", types[t].type, rank, dense, 1, "a\0b\0c\0d" } };
        const kn_rt_program program    = { "copy", 2, two, 0, NULL };
        const kn_buffer    *given[]    = { &in, &out };
        int                 status     = kn_rt_enter(rt, &program, given, used);
        CHECK(status == 0, "round %d: %s", round, kn_rt_last_error());
        CHECK(used[0].dim[dense].stride == 1 && used[1].dim[dense].stride == 1, "round %d: strides", round);
        CHECK(compare(&in, &used[0], size, extent, false) == 0, "round %d: the input's copy", round);
        compare(&used[0], &used[1], size, extent, true);
        status = kn_rt_leave(rt, &program, given, used, 0);
        CHECK(status == 0 && compare(&in, &out, size, extent, false) == 0, "round %d: the output", round);
        free(in_memory);
        free(out_memory);
    }
}

/* A call that fails leaves the output alone. */
static void test_failed_call(void)
{
    float               data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const kn_buffer     out     = { .data = data, .type = KN_F32, .rank = 1, .dim = { { 0, 4, 2 } } };
    const kn_rt_port    port    = { "out", KN_F32, 1, 0, 1, "x" };
    const kn_rt_program program = { "p", 1, &port, 0, NULL };
    const kn_buffer    *given[] = { &out };
    kn_buffer           used[1];
    CHECK(kn_rt_enter(NULL, &program, given, used) == 0 && used[0].data != data, "a copy");
    ((float *)used[0].data)[1] = 99;
    CHECK(kn_rt_leave(NULL, &program, given, used, 3) == 3 && data[2] == 3, "the status comes back, and no value");
}

/* A copy that would take more memory than there is. */
static void test_huge(void)
{
    const int32_t   most = 1 << 28;
    const kn_buffer in   = {
          .data = in_data, .type = KN_U16, .rank = 3, .dim = { { 0, most, 0 }, { 0, most / 4, 1 }, { 0, most, 0 } }
    };
    const kn_rt_port    port    = { "in", KN_U16, 3, 0, 0, "x\0y\0z" };
    const kn_rt_program program = { "p", 1, &port, 0, NULL };
    const kn_buffer    *given[] = { &in };
    kn_buffer           used[1];
    CHECK(kn_rt_enter(NULL, &program, given, used) == KN_ERROR_LIMIT && strstr(kn_rt_last_error(), "out of memory"),
          "`%s`", kn_rt_last_error());
}

int main(void)
{
    test_good();
    test_bad();
    test_device();
    test_device_of_copies();
    test_several();
    test_empty_input();
    test_need();
    kn_rt *rt = kn_rt_new(&(kn_rt_hooks){ .threads = 3 });
    test_copies(rt);
    kn_rt_destroy(rt);
    test_failed_call();
    test_huge();
    return check_done();
}
