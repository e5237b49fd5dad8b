/* SPDX-License-Identifier: MIT */
/* nl_means: tiles in parallel; for one displacement after the other, the difference image of the tile, the sums along y
 * a row at a time, and the sums along x and the weights in registers. On a GPU, for one dy after the
 * other: a kernel for the weights of all dx, whose differences and sums along y of a tile are in shared memory, and one
 * that adds up. */
#include "app.h"

Func nl_means(App &app)
{
    ImageParam   in    = app.input("in", "f32", 3);
    Param<int>   patch = app.param<int>("patch_size", 7), area = app.param<int>("search_area", 7);
    Param<float> sigma = app.param<float>("sigma", 0.12f);
    app.output("f32", { app.size("in", 0), app.size("in", 1), 3 });

    Var  x("x"), y("y"), c("c"), dx("dx"), dy("dy"), xo("xo"), yo("yo"), tile("tile");
    Func edge    = repeated_edge(in), e("e");
    e(x, y, c)   = edge(x, y, c);
    const Expr s = -1.0f / (sigma * sigma * cast<float>(patch) * cast<float>(patch));

    Func d("d"), by("by"), bd("bd"), w("w"), e4("e4"), acc("acc"), out("out");
    RDom p(0, patch), q(0, patch), search(-(area / 2), area, -(area / 2), area);
    Expr difference;
    for (int k = 0; k < 3; k++) {
        const Expr t = e(x, y, k) - e(x + dx, y + dy, k);
        difference   = k ? difference + t * t : t * t;
    }
    d(x, y, dx, dy) = difference;
    by(x, y, dx, dy) += d(x, y + p - patch / 2, dx, dy);
    bd(x, y, dx, dy) += by(x + q - patch / 2, y, dx, dy);
    w(x, y, dx, dy) = fast_exp(bd(x, y, dx, dy) * s);
    e4(x, y, c)     = mux(c, { e(x, y, 0), e(x, y, 1), e(x, y, 2), 1.0f });
    acc(x, y, c) += w(x, y, search.x, search.y) * e4(x + search.x, y + search.y, c);
    out(x, y, c) = clamp(acc(x, y, c) / acc(x, y, 3), 0.0f, 1.0f);

    if (app.manual) {
        const int v = app.lanes<float>();
        out.bound(c, 0, 3).tile(x, y, xo, yo, x, y, 64, 32, TailStrategy::GuardWithIf).reorder(c, x, y, xo, yo);
        out.unroll(c).fuse(xo, yo, tile).parallel(tile).vectorize(x, v);
        acc.compute_at(out, tile).bound(c, 0, 4).reorder(c, x, y).unroll(c).vectorize(x, v);
        acc.update().reorder(c, x, y, search.x, search.y).unroll(c).vectorize(x, v);
        e.compute_at(out, tile).vectorize(x, v, TailStrategy::RoundUp);
        d.compute_at(acc, search.x).vectorize(x, v, TailStrategy::RoundUp);
        by.compute_at(acc, y).vectorize(x, v, TailStrategy::RoundUp);
        by.update().reorder(p, x, y).vectorize(x, v, TailStrategy::RoundUp).specialize(patch == 7).unroll(p);
        bd.compute_at(acc, x).vectorize(x, v);
        bd.update().reorder(q, x, y).vectorize(x, v).specialize(patch == 7).unroll(q);
    }
    if (app.gpu) {
        Var xi("xi"), yi("yi"), xt("xt"), yt("yt");
        out.bound(c, 0, 3).reorder(c, x, y).unroll(c).gpu_tile(x, y, xo, yo, xt, yt, 32, 8);
        acc.compute_root().bound(c, 0, 4).reorder(c, x, y).unroll(c).gpu_tile(x, y, xo, yo, xt, yt, 32, 8);
        acc.update().reorder(c, search.x, x, y, search.y).unroll(c).gpu_tile(x, y, xo, yo, xt, yt, 32, 8);
        w.compute_at(acc, search.y).tile(x, y, xo, yo, xt, yt, 122, 26, TailStrategy::RoundUp);
        w.split(xt, xi, xt, 32).split(yt, yi, yt, 8).reorder(xi, yi, xt, yt, xo, yo, dx, dy);
        w.gpu_threads(xt, yt).gpu_blocks(xo, yo, dx);
        bd.compute_at(w, xi);
        bd.update().specialize(patch == 7).unroll(q);
        Func column = by.in(bd);
        by.compute_at(column, xi);
        by.update().specialize(patch == 7).unroll(p);
        for (Func f : { column, d }) {
            f.compute_at(w, xo).store_in(MemoryType::GPUShared).split(x, xi, xt, 32).split(y, yi, yt, 8);
            f.reorder(xi, yi, xt, yt).gpu_threads(xt, yt);
        }
    }
    return out;
}
