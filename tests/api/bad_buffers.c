/* Bad buffers given to compiled code: the whole message of each. It names the buffer, the dimension, what is needed and
 * by which function, and what was given; the output is as it was. */
#include "api.h"

enum { W = 8, H = 6 };

static _Alignas(16) uint16_t in_data[(H + 2) * (W + 2) + 8], out_data[H * W + 8];

#define IN_DIMS                                                                                                        \
    {                                                                                                                  \
        { 0, W + 2, 1 },                                                                                               \
        {                                                                                                              \
            0, H + 2, W + 2                                                                                            \
        }                                                                                                              \
    }
#define OUT_DIMS                                                                                                       \
    {                                                                                                                  \
        { 1, W, 1 },                                                                                                   \
        {                                                                                                              \
            1, H, W                                                                                                    \
        }                                                                                                              \
    }

static const kn_buffer good_in  = { .data = in_data, .type = KN_U16, .rank = 2, .dim = IN_DIMS },
                       good_out = { .data = out_data, .type = KN_U16, .rank = 2, .dim = OUT_DIMS };

typedef struct Bad {
    const char *what;
    bool        is_output;
    kn_buffer   b;
    kn_status   status;
    const char *message;
} Bad;

/* clang-format off */
static const Bad cases[] = {
    { "columns are missing", false,
      { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { 0, W + 1, 1 }, { 0, H + 2, W + 2 } } }, KN_ERROR_BOUNDS,
      "test.kiln:1:8: error: input `in` is too small: x 0..10 is needed, 0..9 is given\n"
      "    input  in : u16(x, y)\n"
      "           ^^\n"
      "    = ask for a smaller output (--size out=7x6 --origin out=1,1), or read `in` through a boundary: edge(in)\n"
      "note: needed: x 0..10, y 0..8; given: x 0..9, y 0..8\n"
      "note: needed by in <- blurx <- out over x 1..9, y 1..7\n" },
    { "rows are missing", false,
      { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { 0, W + 2, 1 }, { 1, H + 1, W + 2 } } }, KN_ERROR_BOUNDS,
      "test.kiln:1:8: error: input `in` is too small: y 0..8 is needed, 1..8 is given\n"
      "    input  in : u16(x, y)\n"
      "           ^^\n"
      "    = ask for a smaller output (--size out=8x5 --origin out=1,2), or read `in` through a boundary: edge(in)\n"
      "note: needed: x 0..10, y 0..8; given: x 0..10, y 1..8\n"
      "note: needed by in <- blurx <- out over x 1..9, y 1..7\n" },
    { "all is missing", false,
      { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { 0, 0, 1 }, { 0, 0, W + 2 } } }, KN_ERROR_BOUNDS,
      "test.kiln:1:8: error: input `in` is too small: x 0..10 is needed, nothing is given\n"
      "    input  in : u16(x, y)\n"
      "           ^^\n"
      "    = give a larger `in`, ask for a smaller output, or read it through a boundary: edge(in)\n"
      "note: needed: x 0..10, y 0..8; given: x 0..0, y 0..0\n"
      "note: needed by in <- blurx <- out over x 1..9, y 1..7\n" },
    { "the wrong type", false,
      { .data = in_data, .type = KN_U8, .rank = 2, .dim = IN_DIMS }, KN_ERROR_ARGUMENT,
      "error: input `in` is u16(x, y), the buffer holds u8\n" },
    { "no type", false,
      { .data = in_data, .type = (kn_type)99, .rank = 2, .dim = IN_DIMS }, KN_ERROR_ARGUMENT,
      "error: in: 99 is no element type; use one of KN_BOOL … KN_F64\n" },
    { "the wrong rank", false,
      { .data = in_data, .type = KN_U16, .rank = 3, .dim = { { 0, W + 2, 1 }, { 0, H + 2, W + 2 }, { 0, 1, 1 } } },
      KN_ERROR_ARGUMENT,
      "error: input `in` is u16(x, y), the buffer has 3 dimensions\n" },
    { "no rank", false,
      { .data = in_data, .type = KN_U16, .rank = 77, .dim = IN_DIMS }, KN_ERROR_ARGUMENT,
      "error: in: rank 77; a buffer has 0 to 8 dimensions\n" },
    { "a negative extent", false,
      { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { 0, W + 2, 1 }, { 0, -5, W + 2 } } }, KN_ERROR_ARGUMENT,
      "error: in: dimension 1 has the negative extent -5\n" },
    { "no memory", false,
      { .data = NULL, .type = KN_U16, .rank = 2, .dim = IN_DIMS }, KN_ERROR_ARGUMENT,
      "error: in: its data is NULL; point it at memory or call kn_buffer_alloc\n" },
    { "misaligned", false,
      { .data = (char *)in_data + 1, .type = KN_U16, .rank = 2, .dim = IN_DIMS }, KN_ERROR_ARGUMENT,
      "error: test.kiln: input `in`: its data is misaligned: the address must be a multiple of 2, the size of u16\n" },
    { "strides too large", false,
      { .data = in_data, .type = KN_U16, .rank = 2, .dim = { { 0, W + 2, 1 }, { 0, H + 2, INT64_MAX } } },
      KN_ERROR_ARGUMENT,
      "error: in: its strides reach beyond the address space\n" },
    { "the wrong type of output", true,
      { .data = out_data, .type = KN_I16, .rank = 2, .dim = OUT_DIMS }, KN_ERROR_ARGUMENT,
      "error: output `out` is u16(x, y), the buffer holds i16\n" },
    { "the wrong rank of output", true,
      { .data = out_data, .type = KN_U16, .rank = 1, .dim = OUT_DIMS }, KN_ERROR_ARGUMENT,
      "error: output `out` is u16(x, y), the buffer has 1 dimension\n" },
    { "no memory for the output", true,
      { .data = NULL, .type = KN_U16, .rank = 2, .dim = OUT_DIMS }, KN_ERROR_ARGUMENT,
      "error: out: its data is NULL; point it at memory or call kn_buffer_alloc\n" },
    { "a misaligned output", true,
      { .data = (char *)out_data + 1, .type = KN_U16, .rank = 2, .dim = OUT_DIMS }, KN_ERROR_ARGUMENT,
      "error: test.kiln: output `out`: its data is misaligned: the address must be a multiple of 2, the size of "
      "u16\n" },
    { "rows of the output that overlap", true,
      { .data = out_data, .type = KN_U16, .rank = 2, .dim = { { 1, W, 1 }, { 1, H, W - 1 } } }, KN_ERROR_ARGUMENT,
      "error: out: overlapping strides: with stride 7 along dimension 1 two coordinates share an element, which an "
      "output must not; each stride must pass what the smaller ones reach\n" },
    { "more of the output than the input suffices for", true,
      { .data = out_data, .type = KN_U16, .rank = 2, .dim = { { 1, W, 1 }, { 2, H, W } } }, KN_ERROR_BOUNDS,
      "test.kiln:1:8: error: input `in` is too small: y 1..9 is needed, 0..8 is given\n"
      "    input  in : u16(x, y)\n"
      "           ^^\n"
      "    = ask for a smaller output (--size out=8x5 --origin out=1,2), or read `in` through a boundary: edge(in)\n"
      "note: needed: x 0..10, y 1..9; given: x 0..10, y 0..8\n"
      "note: needed by in <- blurx <- out over x 1..9, y 2..8\n" },
    { "the output in the input", true,
      { .data = in_data + W, .type = KN_U16, .rank = 2, .dim = OUT_DIMS }, KN_ERROR_ARGUMENT,
      "error: `in` and `out` share memory: an output needs memory of its own\n" },
    { "the device copy of the input is newer", false,
      { .data = in_data, .type = KN_U16, .rank = 2, .dim = IN_DIMS, .flags = KN_DEVICE_NEWER }, KN_ERROR_ARGUMENT,
      "error: in: its copy on a device is newer than its data; copy it to the host first, then clear "
      "KN_DEVICE_NEWER\n" },
    { "the device copy of the output is newer", true,
      { .data = out_data, .type = KN_U16, .rank = 2, .dim = OUT_DIMS, .flags = KN_DEVICE_NEWER }, KN_ERROR_ARGUMENT,
      "error: out: its copy on a device is newer than its data; copy it to the host first, then clear "
      "KN_DEVICE_NEWER\n" },
    { "flags that do not exist", false,
      { .data = in_data, .type = KN_U16, .rank = 2, .dim = IN_DIMS, .flags = 4 }, KN_ERROR_ARGUMENT,
      "error: in: its device part has unknown flags, or reserved is not zero; set all fields behind dim to zero\n" },
    { "reserved is not zero", true,
      { .data = out_data, .type = KN_U16, .rank = 2, .dim = OUT_DIMS, .reserved = { 0, 0, 1 } }, KN_ERROR_ARGUMENT,
      "error: out: its device part has unknown flags, or reserved is not zero; set all fields behind dim to zero\n" },
    { "the output is the input", true,
      { .data = in_data, .type = KN_U16, .rank = 2, .dim = OUT_DIMS }, KN_ERROR_ARGUMENT,
      "error: `in` and `out` share memory: an output needs memory of its own\n" },
};
/* clang-format on */

static void check_case(kn_context *cx, kn_module *m, const Bad *bad)
{
    kn_buffer in = bad->is_output ? good_in : bad->b, out = bad->is_output ? bad->b : good_out;
    memset(out_data, 0x5A, sizeof out_data);
    const kn_status status = kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2);
    CHECK(status == bad->status, "%s: status %d", bad->what, (int)status);
    CHECK(!strcmp(kn_error_text(cx), bad->message), "%s:\n%s\n%s", bad->what, kn_error_text(cx), bad->message);
    for (int i = 0; i < COUNT(out_data); i++)
        if (out_data[i] != 0x5A5A) {
            CHECK(false, "%s: the output was touched", bad->what);
            break;
        }
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    kn_module  *m  = compile_text(cx, blur_text);
    kn_buffer   in = good_in, out = good_out;
    expect_ok(cx, kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2));
    for (int i = 0; i < COUNT(cases); i++)
        check_case(cx, m, &cases[i]);
    expect_ok(cx, kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2));
    kn_context_free(cx);
    return check_done();
}
