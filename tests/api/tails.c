/* SPDX-License-Identifier: MIT */
/* A stencil of three stages at every small size, under every tail strategy: right, and no size is refused.
 *
 * The sizes are all of 0 to 70 in both dimensions: none, below, at and beyond each factor and its multiples. The
 * buffers lie at other minimums for each size, the input has exactly what is needed, and what is around the output must
 * stay as it is. */
#include "api.h"

enum { MOST = 70, RIM = 3, ROOM = MOST + 2 * RIM };

/* Every stage reads beside and above; the last by two. */
static const char stencil[] = "input  in : u8(x, y)\n"
                              "output out\n"
                              "a(x, y)   = u16(in(x-1, y)) + u16(in(x, y)) * 2 + u16(in(x+1, y))\n"
                              "b(x, y)   = a(x, y-1) + a(x, y) * 3 + a(x, y+1)\n"
                              "out(x, y) = b(x-2, y-2) ^ b(x+2, y+2) ^ b(x, y)\n";

/* %s stands for the tail. */
static const char *const schedules[] = {
    /* vectors in every stage */
    "out.vectorize(x, 16, tail: %1$s)  a.compute_root().vectorize(x, 8, tail: %1$s)  b.compute_root().vectorize(x, 32, "
    "tail: %1$s)",
    /* tiles, everything inside them */
    "out.tile(x, y, xo, yo, xi, yi, 32, 8, tail: %1$s).vectorize(xi, 8, tail: %1$s).parallel(yo)\n"
    "a.compute_at(out, xo).vectorize(x, 8, tail: %1$s)  b.compute_at(out, xo).vectorize(x, 8, tail: %1$s)",
    /* sliding in strips, unrolled */
    "out.split(y, yo, yi, 5, tail: %1$s).vectorize(x, 16, tail: %1$s).parallel(yo)\n"
    "a.store_at(out, yo).compute_at(out, yi).vectorize(x, 16, tail: %1$s)\n"
    "b.store_at(out, yo).compute_at(out, yi).unroll(x, 3, tail: %1$s)",
    /* split twice, columns first */
    "out.split(x, xo, xi, 24, tail: %1$s).split(xi, xm, xv, 8, tail: %1$s).vectorize(xv).reorder(xv, y, xm, "
    "xo).unroll(y, 2, tail: %1$s)\n"
    "b.compute_at(out, xm).vectorize(y, 4, tail: %1$s)  a.compute_at(b, x)",
};

static const char *const tails[] = { "guard", "shift_inward", "round_up", "predicate" };

static uint8_t  source[ROOM][ROOM];
static uint16_t target[ROOM][ROOM];

static int a_at(int x, int y)
{
    return (uint16_t)(source[y][x - 1] + source[y][x] * 2 + source[y][x + 1]);
}
static int b_at(int x, int y)
{
    return (uint16_t)(a_at(x, y - 1) + a_at(x, y) * 3 + a_at(x, y + 1));
}

static uint16_t expected[ROOM][ROOM]; /* at [y][x] of source */

static void make_expected(void)
{
    for (int y = 0; y < ROOM; y++)
        for (int x = 0; x < ROOM; x++)
            source[y][x] = (uint8_t)(x * 37 + y * 101 + x * y % 29);
    for (int y = RIM; y < RIM + MOST; y++)
        for (int x = RIM; x < RIM + MOST; x++)
            expected[y][x] = (uint16_t)(b_at(x - 2, y - 2) ^ b_at(x + 2, y + 2) ^ b_at(x, y));
}

/* Elements that are wrong, or were written beside the output. */
static int count_wrong(int w, int h)
{
    int wrong = 0;
    for (int y = 0; y < ROOM; y++)
        for (int x = 0; x < ROOM; x++) {
            const bool inside = x >= RIM && x < RIM + w && y >= RIM && y < RIM + h;
            wrong += target[y][x] != (inside ? expected[y][x] : 0xEEEE);
        }
    return wrong;
}

/* One size; false after a failed check. */
static bool run_size(kn_context *cx, kn_module *m, const char *schedule, int w, int h)
{
    const int32_t x = (w * 7 + h) % 41 - 20, y = (h * 5 + w) % 31 - 15;
    kn_buffer     in = { .data = source[0],
                         .type = KN_U8,
                         .rank = 2,
                         .dim  = { { x - RIM, w + 2 * RIM, 1 }, { y - RIM, h + 2 * RIM, ROOM } } };
    kn_buffer out    = { .data = &target[RIM][RIM], .type = KN_U16, .rank = 2, .dim = { { x, w, 1 }, { y, h, ROOM } } };
    memset(target, 0xEE, sizeof target);
    const kn_status status = kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2);
    CHECK(status == KN_OK, "%dx%d, %s: %s", w, h, schedule, kn_error_text(cx));
    const int wrong = status ? 0 : count_wrong(w, h);
    CHECK(!wrong, "%dx%d, %s: %d elements are wrong", w, h, schedule, wrong);
    return !status && !wrong;
}

static void run_schedule(const char *schedule)
{
    kn_context  *cx = kn_context_new(NULL);
    kn_pipeline *p  = kn_parse(cx, "stencil.kiln", stencil, -1);
    CHECK(kn_schedule_parse(p, "tails.sched", schedule, -1) == KN_OK, "%s: %s", schedule, kn_error_text(cx));
    kn_module *m = kn_compile(p, &(kn_options){ .threads = 2 });
    CHECK(m, "%s: %s", schedule, kn_error_text(cx));
    bool good = m != NULL;
    for (int w = 0; w <= MOST && good; w++)
        for (int h = 0; h <= MOST && good; h++)
            good = run_size(cx, m, schedule, w, h);
    kn_context_free(cx);
}

int main(void)
{
    char text[1000];
    make_expected();
    for (int s = 0; s < COUNT(schedules); s++)
        for (int t = 0; t < COUNT(tails); t++) {
            if (!check_sampled((size_t)(s + t)))
                continue;
            snprintf(text, sizeof text, schedules[s], tails[t]);
            run_schedule(text);
        }
    return check_done();
}
