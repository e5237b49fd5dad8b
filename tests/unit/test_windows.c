/* SPDX-License-Identifier: MIT */
/* Windows that slide along two dimensions: every point of the producers is computed once, whatever the loops are split
 * into, in storage of a few rows. */
#include "counted.h"

static const char chain[] = "input  in : u16(x, y)\n"
                            "output out\n"
                            "a(x, y)   = in(x, y) + in(x+1, y) + in(x+2, y)\n"
                            "b(x, y)   = a(x, y) + a(x, y+1) + a(x, y+2)\n"
                            "out(x, y) = b(x, y) + b(x+1, y+1)\n";

static const char *const schedules[] = {
    "a.compute_at(out, x).store_root()  b.compute_at(out, x).store_root()",
    "out.vectorize(x, 4, tail: guard)  a.compute_at(out, x).store_root()  b.compute_at(out, x).store_root()",
    "out.split(y, yo, yi, 3)  a.compute_at(out, x).store_root()  b.compute_at(out, x).store_root()",
    "out.split(x, xo, xi, 3)  a.compute_at(out, xo).store_root()  b.compute_at(out, xo).store_root()",
    "out.reorder(y, x)  a.compute_at(out, y).store_root()  b.compute_at(out, y).store_root()",
};

static void check_case(const char *schedule, int32_t w, int32_t h)
{
    kn_context *cx = kn_context_new(NULL);
    Counted     c;
    if (counted_begin(&c, cx, "chain.kiln", chain, schedule) &&
        counted_buffers(&c, (int32_t[]){ -3, 5 }, (int32_t[]){ w, h }, NULL) && counted_run(&c)) {
        const long long a = counted_points(&c, "a"), b = counted_points(&c, "b"), bytes = counted_storage(&c, "a");
        /* the corner b(x+1, y) of the first row and b(x, y+1) of the first column are in the box of b, so they are
         * computed too */
        CHECK(b == (w + 1) * (h + 1), "%dx%d, %s: %lld points of b", w, h, schedule, b);
        CHECK(a == (w + 1) * (h + 3), "%dx%d, %s: %lld points of a", w, h, schedule, a);
        CHECK(bytes <= 2 * 4 * (w + 4) || strstr(schedule, "reorder"), "%dx%d, %s: %lld bytes of a", w, h, schedule,
              bytes);
        CHECK(counted_same_bits(&c, 1), "%dx%d, %s: other bits", w, h, schedule);
    }
    counted_end(&c);
    kn_context_free(cx);
}

int main(void)
{
    static const int32_t sizes[] = { 1, 2, 3, 4, 7, 13 };
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        for (size_t w = 0; w < sizeof sizes / sizeof *sizes; w++)
            for (size_t h = 0; h < sizeof sizes / sizeof *sizes; h++)
                if (check_sampled(i + w + h))
                    check_case(schedules[i], sizes[w], sizes[h]);
    return check_done();
}
