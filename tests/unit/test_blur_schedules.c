/* SPDX-License-Identifier: MIT */
/* The schedules of the two-stage blur that sections 1 to 3 of Ragan-Kelley et al. 2013 compare, against the formulas of
 * its figure 3.
 *
 * For W x H pixels of u16 of the output, of which H + 2 rows of blurx are needed:
 *                       points of blurx      at once (span)       bytes of blurx
 *   breadth-first       W (H + 2)            W (H + 2)            2 W (H + 2)
 *   full fusion         3 W H                W H                  2 * 3
 *   sliding window      W (H + 2)            W                    2 W F
 *   tiled, 32 x 32      W H 34/32            W H 34/32            2 * 34 * 32
 *   sliding in tiles    W H 10/8             W H/8                2 W F
 * F, the rows that a folded buffer keeps, is 3 rounded up to a power of two, or 3 where a schedule says so. The figure
 * gives W H where the span is that or more. Its work amplification is 2.0 for full fusion, of both stages together: (3
 * + 1) / 2; 34/32 and 10/8 are of blurx alone. */
#include "counted.h"

static const char blur[] = "input  in : u16(x, y)\n"
                           "output out\n"
                           "blurx(x, y) = (in(x-1, y) + in(x, y) + in(x+1, y)) / 3\n"
                           "out(x, y)   = (blurx(x, y-1) + blurx(x, y) + blurx(x, y+1)) / 3\n";

typedef struct Formula {
    int64_t points, at_once, bytes;
} Formula;

static Formula breadth_first(int64_t w, int64_t h)
{
    return (Formula){ w * (h + 2), w * (h + 2), 2 * w * (h + 2) };
}
static Formula full_fusion(int64_t w, int64_t h)
{
    return (Formula){ 3 * w * h, w * h, 2 * 3 };
}
static Formula sliding(int64_t w, int64_t h)
{
    return (Formula){ w * (h + 2), w, 2 * w * 4 };
}
static Formula sliding_folded(int64_t w, int64_t h)
{
    return (Formula){ w * (h + 2), w, 2 * w * 3 };
}
static Formula tiled(int64_t w, int64_t h)
{
    return (Formula){ w * h * 34 / 32, w * h * 34 / 32, 2 * 34 * 32 };
}
static Formula sliding_in_tiles(int64_t w, int64_t h)
{
    return (Formula){ w * h * 10 / 8, w * h / 8, 2 * w * 4 };
}

static const struct {
    const char *schedule;
    Formula (*formula)(int64_t w, int64_t h);
} cases[] = {
    { "out.parallel(x).parallel(y)  blurx.compute_root().parallel(x).parallel(y)", breadth_first },
    { "out.parallel(x).parallel(y)  blurx.compute_at(out, x)", full_fusion },
    { "out.parallel(x)  blurx.store_root().compute_at(out, y).parallel(x)", sliding },
    { "out.parallel(x)  blurx.store_root().compute_at(out, y).parallel(x).fold_storage(y, 3)", sliding_folded },
    { "out.vectorize(x, 8).parallel(x)  blurx.store_root().compute_at(out, y).vectorize(x, 16).parallel(x)", sliding },
    { "out.tile(x, y, xo, yo, xi, yi, 32, 32).parallel(xi).parallel(yi).parallel(xo).parallel(yo)\n"
      "blurx.compute_at(out, xo).parallel(x).parallel(y)",
      tiled },
    { "out.split(y, yo, yi, 8).parallel(yo).parallel(x)\n"
      "blurx.store_at(out, yo).compute_at(out, yi).parallel(x)",
      sliding_in_tiles },
};

/* Sizes that the tiles divide; the figure's own is 3072 x 2048. */
static const int32_t sizes[][2] = { { 32, 32 }, { 96, 64 }, { 64, 128 } };

static void check_case(const char *schedule, Formula (*formula)(int64_t w, int64_t h), const int32_t *size)
{
    kn_context *cx = kn_context_new(NULL);
    Counted     c;
    if (counted_begin(&c, cx, "blur.kiln", blur, schedule) && counted_buffers(&c, (int32_t[]){ 1, 1 }, size, NULL) &&
        counted_run(&c)) {
        const Formula f    = formula(size[0], size[1]);
        const int64_t outs = (int64_t)size[0] * size[1], points = counted_points(&c, "blurx"),
                      bytes = counted_storage(&c, "blurx");
        CHECK(points == f.points, "%dx%d, %s: %lld points, expected %lld", size[0], size[1], schedule,
              (long long)points, (long long)f.points);
        CHECK(counted_points(&c, "out") == outs, "%dx%d, %s: the output is not computed once", size[0], size[1],
              schedule);
        CHECK(c.counts.width == f.at_once, "%dx%d, %s: %lld at once, expected %lld", size[0], size[1], schedule,
              (long long)c.counts.width, (long long)f.at_once);
        CHECK(bytes == f.bytes, "%dx%d, %s: %lld bytes, expected %lld", size[0], size[1], schedule, (long long)bytes,
              (long long)f.bytes);
        CHECK(counted_same_bits(&c, 1), "%dx%d, %s: other bits", size[0], size[1], schedule);
    }
    counted_end(&c);
    kn_context_free(cx);
}

/* The figure's amplification of work for an image so large that its border does not count: to three digits. */
static void check_amplification(void)
{
    const double w = 3072, h = 2048, both = 2 * w * h;
    CHECK((double)full_fusion(3072, 2048).points + w * h == 2.0 * both, "full fusion");
    CHECK((double)tiled(3072, 2048).points == 1.0625 * w * h, "tiled");
    CHECK((double)sliding_in_tiles(3072, 2048).points == 1.25 * w * h, "sliding in tiles");
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            check_case(cases[i].schedule, cases[i].formula, sizes[k]);
    check_amplification();
    return check_done();
}
