/* SPDX-License-Identifier: MIT */
/* Windows that slide along two dimensions: every point of the producers is computed once, whatever the loops are split
 * into, in storage of a few rows. Windows behind windows: levels of a pyramid whose readers need rows in some
 * iterations only, and whose reads are no linear form, are computed once for each strip, in storage of a few rows. */
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

static const char pyramid[] =
    "input  a : f32(x, y)\n"
    "output out\n"
    "def down(f) {\n"
    "    dx(x, y)      = (f(2*x - 1, y) + 3*f(2*x, y) + 3*f(2*x + 1, y) + f(2*x + 2, y)) / 8\n"
    "    return (x, y) = (dx(x, 2*y - 1) + 3*dx(x, 2*y) + 3*dx(x, 2*y + 1) + dx(x, 2*y + 2)) / 8\n"
    "}\n"
    "def up(f) {\n"
    "    ux(x, y)      = f(x/2, y)/4*3 + f(x/2 - 1 + 2*(x % 2), y)/4\n"
    "    return (x, y) = ux(x, y/2)/4*3 + ux(x, y/2 - 1 + 2*(y % 2))/4\n"
    "}\n"
    "e         = edge(a)\n"
    "p[1]      = down(e)\n"
    "p[2]      = down(p[1])\n"
    "l(x, y)   = p[1](x, y) - up(p[2])(x, y)\n"
    "out(x, y) = e(x, y) + up(l)(x, y)\n";
static const char *const stages[] = { "out.up.ux", "l", "l.up.ux", "p[2]", "p[2].dx", "p[1]", "p[1].dx" };
enum { STAGES = sizeof stages / sizeof *stages };

/* `split`: of a strip's rows. `level`: the loop in which all stages are computed. */
static void check_pyramid(const char *split, const char *level)
{
    enum { SIDE = 256, STRIP = 128 };
    kn_context *cx         = kn_context_new(NULL);
    char        text[1024] = "";
    snprintf(text, sizeof text, "out.split(y, yo, yi, %d)%s.vectorize(x, 16)\n", STRIP, split);
    for (int i = 0; i < STAGES; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%s.store_at(out, yo).compute_at(out, %s).vectorize(x, 16)\n", stages[i], level);
    Counted c;
    if (counted_begin(&c, cx, "pyramid.kiln", pyramid, text) &&
        counted_buffers(&c, (int32_t[]){ 0, 0 }, (int32_t[]){ SIDE, SIDE }, (int32_t[]){ SIDE, SIDE }) &&
        counted_run(&c)) {
        /* halves of the side, twice for the levels; a strip has up to ten rows more at either end */
        static const int width[] = { 1, 2, 2, 4, 4, 2, 2 }, height[] = { 2, 2, 4, 4, 2, 2, 1 };
        for (int i = 0; i < STAGES; i++) {
            const long long points = counted_points(&c, stages[i]),
                            most   = (SIDE / width[i] + 16) * (SIDE / STRIP) * (STRIP / height[i] + 20);
            CHECK(points <= most, "%s: %lld points, more than %lld: %s", stages[i], points, most, text);
        }
        CHECK(counted_storage(&c, "out.up.ux") <= 4 * 4 * (SIDE + 16), "%s", text);
        CHECK(counted_storage(&c, "l.up.ux") <= 4 * 8 * (SIDE / 2 + 32) || *split, "%s", text);
        CHECK(counted_same_bits(&c, 1), "other bits: %s", text);
    }
    counted_end(&c);
    kn_context_free(cx);
}

int main(void)
{
    check_pyramid("", "yi");
    check_pyramid(".split(yi, y1, yi, 2)", "y1");
    static const int32_t sizes[] = { 1, 2, 3, 4, 7, 13 };
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        for (size_t w = 0; w < sizeof sizes / sizeof *sizes; w++)
            for (size_t h = 0; h < sizeof sizes / sizeof *sizes; h++)
                if (check_sampled(i + w + h))
                    check_case(schedules[i], sizes[w], sizes[h]);
    return check_done();
}
