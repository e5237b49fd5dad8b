/* SPDX-License-Identifier: MIT */
/* harris: strips of rows in parallel, two rows at a time; gray and the two gradients are rings of rows, all else is
 * computed at the pixel, where two rows share what they read. On a GPU one kernel, gray and the gradients of a tile in
 * shared memory, the window that two pixels need of them in registers. */
#include "app.h"

Func harris(App &app)
{
    const bool beyond = !strcmp(app.call->variant, "adams"); /* its schedule reads outside the input */
    ImageParam in     = app.input("in", "f32", 3, beyond ? 64 : 0);
    const int  W = app.size("in", 0), H = app.size("in", 1);
    app.output("f32", { W - 6, H - 6 }, { 3, 3 });

    Var  x("x"), y("y"), xi("xi"), yi("yi"), strip("strip");
    Func gray("gray"), Ix("Ix"), Iy("Iy"), out("out");
    gray(x, y)      = 0.299f * in(x, y, 0) + 0.587f * in(x, y, 1) + 0.114f * in(x, y, 2);
    const float one = 1.0f / 12, two = 2.0f / 12;
    Ix(x, y) = gray(x - 1, y - 1) * -one + gray(x + 1, y - 1) * one + gray(x - 1, y) * -two + gray(x + 1, y) * two +
               gray(x - 1, y + 1) * -one + gray(x + 1, y + 1) * one;
    Iy(x, y) = gray(x - 1, y - 1) * -one + gray(x - 1, y + 1) * one + gray(x, y - 1) * -two + gray(x, y + 1) * two +
               gray(x + 1, y - 1) * -one + gray(x + 1, y + 1) * one;

    Func product[3], sum[3];
    for (int k = 0; k < 3; k++) {
        product[k](x, y) = (k == 1 ? Iy : Ix)(x, y) * (k == 0 ? Ix : Iy)(x, y);
        Expr s           = 0.0f;
        for (int i = -1; i <= 1; i++)
            for (int j = -1; j <= 1; j++)
                s = i == -1 && j == -1 ? Expr(product[k](x - 1, y - 1)) : s + product[k](x + i, y + j);
        sum[k](x, y) = s;
    }
    Func det("det"), trace("trace");
    det(x, y)   = sum[0](x, y) * sum[1](x, y) - sum[2](x, y) * sum[2](x, y);
    trace(x, y) = sum[0](x, y) + sum[1](x, y);
    out(x, y)   = det(x, y) - 0.04f * trace(x, y) * trace(x, y);

    if (app.manual) {
        const int v = app.lanes<float>();
        out.split(y, strip, y, 64)
            .split(y, y, yi, 2)
            .split(x, x, xi, v)
            .reorder(xi, yi, x, y, strip)
            .parallel(strip)
            .vectorize(xi)
            .unroll(yi);
        gray.store_at(out, strip).compute_at(out, y).vectorize(x, v).align_storage(x, v);
        for (Func f : { Ix, Iy })
            f.store_at(out, strip)
                .compute_at(out, y)
                .align_storage(x, v)
                .split(x, x, xi, v)
                .reorder(xi, y, x)
                .vectorize(xi)
                .unroll(y);
        Iy.compute_with(Ix, x);
    }
    if (app.gpu) {
        Var xo("xo"), yo("yo"), xv("xv");
        out.tile(x, y, xo, yo, xi, yi, 62, 14).split(xi, xi, xv, 2).unroll(xv);
        out.gpu_blocks(xo, yo).gpu_threads(xi, yi);
        for (Func f : { gray, Ix, Iy })
            f.compute_at(out, xo).split(x, x, xv, 2, TailStrategy::RoundUp).vectorize(xv).gpu_threads(x, y);
        Iy.compute_with(Ix, x);
        for (Func f : { Ix, Iy }) {
            Func window = f.in();
            window.compute_at(out, xi).unroll(x).unroll(y);
        }
    }
    return out;
}
