/* SPDX-License-Identifier: MIT */
/* blur: strips of rows in parallel; eight rows of a vector of columns at a time, bx of the ten rows they need in
 * registers. On a GPU a thread has eight rows of two pixels, everything is inlined, and a block is one warp. */
#include "app.h"

Func blur(App &app)
{
    ImageParam in = app.input("in", "u16", 2);
    app.output("u16", { app.size("in", 0) - 2, app.size("in", 1) - 2 });

    Var  x("x"), y("y"), xi("xi"), yi("yi"), strip("strip");
    Func bx("bx"), out("out");
    bx(x, y)  = (in(x, y) + in(x + 1, y) + in(x + 2, y)) / 3;
    out(x, y) = (bx(x, y) + bx(x, y + 1) + bx(x, y + 2)) / 3;

    if (app.manual) {
        out.split(y, strip, y, 32)
            .split(y, y, yi, 8)
            .split(x, x, xi, app.lanes<uint16_t>())
            .reorder(xi, yi, x, y, strip);
        out.parallel(strip).vectorize(xi).unroll(yi);
        bx.compute_at(out, x).vectorize(x).unroll(y);
    }
    if (app.gpu) {
        Var xv("xv");
        out.split(y, y, yi, 8).split(x, x, xi, 64).split(xi, xi, xv, 2).reorder(xv, yi, xi, x, y);
        out.vectorize(xv).unroll(yi).gpu_threads(xi).gpu_blocks(x, y);
    }
    return out;
}
