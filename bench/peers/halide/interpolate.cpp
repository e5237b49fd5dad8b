/* SPDX-License-Identifier: MIT */
/* interpolate: the levels of the pyramid are whole, each computed in strips with the horizontal filter a ring of rows;
 * on the way up the largest levels are rings of rows under strips of the result, the small ones whole.
 * On a GPU every level down is a kernel, on the way up every second one; the two largest of these are computed in the
 * kernel of the result, through shared memory, where a thread has 2x2 pixels. */
#include "app.h"

namespace
{

Var x("x"), y("y"), c("c"), xi("xi"), strip("strip");

/* Rows of `f`, doubled in x: even and odd columns are computed as one vector each. */
void schedule_doubled(Func f, int lanes)
{
    f.align_bounds(x, 2)
        .split(x, x, xi, 2, TailStrategy::RoundUp)
        .reorder(xi, x, c, y)
        .unroll(xi)
        .vectorize(x, lanes, TailStrategy::RoundUp);
}

} // namespace

Func interpolate(App &app)
{
    ImageParam in = app.input("in", "f32", 3);
    const int  W = app.size("in", 0), H = app.size("in", 1), L = static_cast<int>(app.number("levels", 10));
    app.output("f32", { W, H, 3 });

    Func              e = repeated_edge(in);
    std::vector<Func> d(L), dx(L), ux(L), u(L), r(L);
    for (int l = 0; l < L; l++) {
        const std::string level = std::to_string(l);
        d[l] = Func("d" + level), dx[l] = Func("dx" + level), ux[l] = Func("ux" + level), u[l] = Func("u" + level),
        r[l] = Func("r" + level);
    }
    d[0](x, y, c) = select(c < 3, e(x, y, min(c, 2)) * e(x, y, 3), e(x, y, 3));
    for (int l = 1; l < L; l++) {
        Func p = d[l - 1];
        if (l == 4) {
            p          = Func("p");
            p(x, y, c) = d[3](clamp(x, 0, in.width() / 8), clamp(y, 0, in.height() / 8), c);
        }
        dx[l](x, y, c) = (p(2 * x - 1, y, c) + 2 * p(2 * x, y, c) + p(2 * x + 1, y, c)) * 0.25f;
        d[l](x, y, c)  = (dx[l](x, 2 * y - 1, c) + 2 * dx[l](x, 2 * y, c) + dx[l](x, 2 * y + 1, c)) * 0.25f;
    }
    r[L - 1](x, y, c) = d[L - 1](x, y, c);
    for (int l = L - 2; l >= 0; l--) {
        ux[l](x, y, c) = (r[l + 1](x / 2, y, c) + r[l + 1]((x + 1) / 2, y, c)) / 2.0f;
        u[l](x, y, c)  = (ux[l](x, y / 2, c) + ux[l](x, (y + 1) / 2, c)) / 2.0f;
        r[l](x, y, c)  = d[l](x, y, c) + (1.0f - d[l](x, y, 3)) * u[l](x, y, c);
    }
    Func out("out");
    out(x, y, c) = r[0](x, y, c) / r[0](x, y, 3);

    if (app.manual) {
        const int v = app.lanes<float>(), whole = std::min(L, 4);
        for (int l = 1; l < L; l++) {
            d[l].compute_root().bound(c, 0, 4);
            if (l < 6) {
                d[l].reorder(x, c, y).split(y, strip, y, 8).parallel(strip).vectorize(x, v, TailStrategy::GuardWithIf);
                dx[l].store_at(d[l], strip).compute_at(d[l], y).vectorize(x, v, TailStrategy::RoundUp);
                if (l == 1) {
                    dx[l].reorder(c, x, y).bound(c, 0, 4).unroll(c);
                    Func first = d[0].clone_in(dx[1]);
                    first.store_at(d[l], strip).compute_at(d[l], y).bound(c, 0, 4).reorder(c, x, y).unroll(c);
                    first.vectorize(x, v, TailStrategy::RoundUp);
                }
            }
        }
        for (int l = whole; l < L; l++) {
            r[l].compute_root().bound(c, 0, 4);
            if (l < 6)
                r[l].reorder(c, x, y).unroll(c).vectorize(x, v, TailStrategy::GuardWithIf).parallel(y, 16);
        }
        out.bound(x, 0, W).bound(y, 0, H);
        out.bound(c, 0, 3).reorder(c, x, y).unroll(c).split(y, strip, y, 32).vectorize(x, v).parallel(strip);
        for (int l = 0; l < whole && l < L - 1; l++) {
            if (l > 0)
                r[l].store_at(out, strip)
                    .compute_at(out, y)
                    .bound(c, 0, 4)
                    .reorder(c, x, y)
                    .unroll(c)
                    .vectorize(x, v, TailStrategy::RoundUp);
            ux[l].store_at(out, strip).compute_at(out, y).bound(c, 0, 4);
            schedule_doubled(ux[l], v);
        }
    }
    if (app.gpu) {
        Var        xo("xo"), yo("yo"), xt("xt"), yt("yt"), yi("yi");
        const auto kernel = [&](Func f, int w, int h) {
            f.compute_root().bound(c, 0, 4).reorder(c, x, y).unroll(c).gpu_tile(x, y, xo, yo, xt, yt, w, h);
        };
        for (int l = 1; l < L; l++)
            kernel(d[l], 16, 8);
        for (int l = 3; l < L; l += 2)
            kernel(r[l], 16, 8);
        const OutputImageParam result = out.output_buffer();
        out.bound(x, 0, result.width() / 2 * 2).bound(y, 0, result.height() / 2 * 2).bound(c, 0, 3);
        out.tile(x, y, xo, yo, xt, yt, 32, 32).tile(xt, yt, xi, yi, 2, 2).reorder(c, xi, yi, xt, yt, xo, yo);
        out.unroll(c).unroll(xi).unroll(yi).gpu_blocks(xo, yo).gpu_threads(xt, yt);
        for (int l = 1; l < 3 && l < L; l++)
            r[l].compute_at(out, xo).bound(c, 0, 4).reorder(c, x, y).unroll(c).gpu_threads(x, y);
    }
    return out;
}
