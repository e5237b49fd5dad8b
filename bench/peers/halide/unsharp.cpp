/* SPDX-License-Identifier: MIT */
/* unsharp: strips of rows in parallel, two rows at a time; gray is a ring of rows, by two rows that share what they
 * read of it; the ratio of a vector is computed once for the three channels. On a GPU one kernel of 32x32 threads, gray
 * and its first blur in shared memory. */
#include "app.h"

#include <cmath>

Func unsharp(App &app)
{
    ImageParam in = app.input("in", "f32", 3);
    const int  W = app.size("in", 0), H = app.size("in", 1);
    app.output("f32", { W, H, 3 });

    const float sigma = static_cast<float>(app.number("sigma", 1.5));
    float       k[4];
    for (int i = 0; i < 4; i++)
        k[i] = std::exp(static_cast<float>(-i * i) / (2 * sigma * sigma)) / (std::sqrt(2 * 3.14159265f) * sigma);

    Var  x("x"), y("y"), c("c"), xi("xi"), yi("yi"), strip("strip");
    Func e = repeated_edge(in);
    Func gray("gray"), by("by"), bx("bx"), ratio("ratio"), out("out");
    gray(x, y) = 0.299f * e(x, y, 0) + 0.587f * e(x, y, 1) + 0.114f * e(x, y, 2);
    by(x, y) = k[0] * gray(x, y) + k[1] * (gray(x, y - 1) + gray(x, y + 1)) + k[2] * (gray(x, y - 2) + gray(x, y + 2)) +
               k[3] * (gray(x, y - 3) + gray(x, y + 3));
    bx(x, y) = k[0] * by(x, y) + k[1] * (by(x - 1, y) + by(x + 1, y)) + k[2] * (by(x - 2, y) + by(x + 2, y)) +
               k[3] * (by(x - 3, y) + by(x + 3, y));
    ratio(x, y)  = (2 * gray(x, y) - bx(x, y)) / gray(x, y);
    out(x, y, c) = ratio(x, y) * in(x, y, c);

    if (app.manual) {
        const int v = app.lanes<float>();
        out.bound(c, 0, 3)
            .split(y, strip, y, 64)
            .split(y, y, yi, 2)
            .reorder(c, x, yi, y, strip)
            .unroll(c)
            .parallel(strip)
            .vectorize(x, v);
        ratio.compute_at(out, x).vectorize(x);
        by.compute_at(out, y).split(x, x, xi, v).reorder(xi, y, x).vectorize(xi).unroll(y);
        gray.store_at(out, strip).compute_at(out, y).vectorize(x, v);
    }
    if (app.gpu) {
        Var xo("xo"), yo("yo");
        out.bound(c, 0, 3).reorder(c, x, y).unroll(c).gpu_tile(x, y, xo, yo, xi, yi, 32, 32);
        ratio.compute_at(out, xi);
        by.compute_at(out, xo).unroll(x, 2).gpu_threads(x, y);
        gray.compute_at(out, xo).tile(x, y, xi, yi, 2, 2).unroll(xi).unroll(yi).gpu_threads(x, y);
    }
    return out;
}
