/* SPDX-License-Identifier: MIT */
/* bilateral_grid: the grid is filled and blurred along z a row of cells at a time, rows in parallel; the blur along x
 * is whole; that along y is computed for a row of cells, in the task of its pixels; the slice is vectorized and
 * gathers. All are stored c, z, x, y, so that a vector is what lies one above the other in a cell. On a GPU the grid of
 * 8x8 cells is filled in shared memory and blurred along z from there; sum and count stand side by side in memory and
 * are one vector. */
#include "app.h"

Func bilateral_grid(App &app)
{
    ImageParam   in      = app.input("in", "f32", 2);
    Param<float> r_sigma = app.param<float>("r_sigma", 0.1f);
    const int    S       = static_cast<int>(app.number("s_sigma", 8));
    app.output("f32", { app.size("in", 0), app.size("in", 1) });

    Var        x("x"), y("y"), z("z"), c("c");
    Func       e = repeated_edge(in);
    const Expr q = 1.0f / r_sigma;

    Func       grid("grid"), bz("bz"), bx("bx"), by("by"), t("t"), out("out");
    RDom       cell(0, S, 0, S);
    const Expr v     = clamp(e(x * S + cell.x - S / 2, y * S + cell.y - S / 2), 0.0f, 1.0f);
    grid(x, y, z, c) = 0.0f;
    grid(x, y, cast<int>(v * q + 0.5f), c) += select(c == 0, v, 1.0f);

    bz(x, y, z, c) = grid(x, y, z - 2, c) + 4 * grid(x, y, z - 1, c) + 6 * grid(x, y, z, c) + 4 * grid(x, y, z + 1, c) +
                     grid(x, y, z + 2, c);
    bx(x, y, z, c) =
        bz(x - 2, y, z, c) + 4 * bz(x - 1, y, z, c) + 6 * bz(x, y, z, c) + 4 * bz(x + 1, y, z, c) + bz(x + 2, y, z, c);
    by(x, y, z, c) =
        bx(x, y - 2, z, c) + 4 * bx(x, y - 1, z, c) + 6 * bx(x, y, z, c) + 4 * bx(x, y + 1, z, c) + bx(x, y + 2, z, c);

    const Expr zv = clamp(in(x, y), 0.0f, 1.0f) * q, zi = cast<int>(zv), zf = zv - zi, xi = x / S, yi = y / S;
    const Expr xf = cast<float>(x % S) / S, yf = cast<float>(y % S) / S;
    const auto at = [&](Expr k) {
        return lerp(lerp(by(xi, yi, k, c), by(xi + 1, yi, k, c), xf),
                    lerp(by(xi, yi + 1, k, c), by(xi + 1, yi + 1, k, c), xf), yf);
    };
    t(x, y, c) = lerp(at(zi), at(zi + 1), zf);
    out(x, y)  = t(x, y, 0) / t(x, y, 1);

    if (app.manual) {
        const int n = app.lanes<float>();
        Var       row("row"), cz("cz");
        bz.compute_root();
        grid.compute_at(bz, y);
        bx.compute_root();
        by.compute_at(out, row);
        for (Func f : { grid, bz, bx, by })
            f.bound(c, 0, 2)
                .reorder_storage(c, z, x, y)
                .reorder(c, z, x, y)
                .fuse(c, z, cz)
                .vectorize(cz, n, TailStrategy::RoundUp);
        grid.update().reorder(c, cell.x, cell.y, x, y).unroll(c);
        bz.parallel(y);
        bx.parallel(y, 8);
        out.split(y, row, y, S).parallel(row).vectorize(x, n);
    }
    if (app.gpu) {
        Var xo("xo"), yo("yo"), xt("xt"), yt("yt"), two("two");
        bz.compute_root().reorder(c, z, x, y).gpu_tile(x, y, xo, yo, xt, yt, 8, 8);
        grid.compute_at(bz, xo).store_in(MemoryType::GPUShared).reorder(c, z, x, y).unroll(c).gpu_threads(x, y);
        grid.update().reorder(c, cell.x, cell.y, x, y).unroll(c).gpu_threads(x, y);
        for (Func f : { bx, by }) {
            f.compute_root().bound(c, 0, 2).reorder_storage(c, x, y, z).reorder(c, x, y, z).vectorize(c);
            f.split(y, y, two, 2, TailStrategy::RoundUp).reorder(c, two, x, y, z).unroll(two);
            f.tile(x, y, xo, yo, xt, yt, 32, 8, TailStrategy::RoundUp).gpu_blocks(xo, yo, z).gpu_threads(xt, yt);
        }
        bz.bound(c, 0, 2).reorder_storage(c, x, y, z).vectorize(c);
        out.gpu_tile(x, y, xo, yo, xt, yt, 32, 8);
        t.compute_at(out, xt).bound(c, 0, 2).vectorize(c);
    }
    return out;
}
