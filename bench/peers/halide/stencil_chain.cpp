/* SPDX-License-Identifier: MIT */
/* stencil_chain: tiles in parallel; within a tile every stage is a ring of rows, two of them at a time, which share
 * what they read. On a GPU every stage is a kernel; a block copies what its tile reads to shared memory, a thread has
 * 2x2 pixels and the 6x6 values that they need in registers. */
#include "app.h"

Func stencil_chain(App &app)
{
    ImageParam in = app.input("in", "u16", 2);
    const int  N  = static_cast<int>(app.number("stencils", 32));
    app.output("u16", { app.size("in", 0), app.size("in", 1) });

    Var               x("x"), y("y"), xo("xo"), yo("yo"), xi("xi"), yi("yi"), tile("tile");
    std::vector<Func> f;
    Func              edge = repeated_edge(in), f0("f0");
    f0(x, y)               = edge(x, y);
    f.push_back(f0);
    for (int s = 1; s <= N; s++) {
        Expr e = cast<uint16_t>(0);
        for (int i = -2; i <= 2; i++)
            for (int j = -2; j <= 2; j++)
                e += cast<uint16_t>((i + 3) * (j + 3)) * f[s - 1](x + i, y + j);
        Func g("f" + std::to_string(s));
        g(x, y) = e;
        f.push_back(g);
    }
    if (app.manual) {
        const int v = app.lanes<uint16_t>();
        f[N].tile(x, y, xo, yo, x, y, 768, 640).fuse(xo, yo, tile).parallel(tile);
        f[N].split(y, y, yi, 2).split(x, x, xi, v).reorder(xi, yi, x, y, tile).vectorize(xi).unroll(yi);
        for (int s = 0; s < N; s++) {
            f[s].store_at(f[N], tile).compute_at(f[N], y).fold_storage(y, 8).split(x, x, xi, v, TailStrategy::RoundUp);
            f[s].split(y, y, yi, 2, TailStrategy::RoundUp).reorder(xi, yi, x, y).vectorize(xi).unroll(yi);
        }
    }
    if (app.gpu) {
        Var xt("xt"), yt("yt");
        for (int s = 1; s <= N; s++) {
            f[s].compute_root().tile(x, y, xo, yo, xt, yt, 60, 12).tile(xt, yt, xi, yi, 2, 2);
            f[s].unroll(xi).unroll(yi).gpu_blocks(xo, yo).gpu_threads(xt, yt);
            Func tile_of = f[s - 1].in(f[s]), window = tile_of.in(f[s]);
            tile_of.compute_at(f[s], xo).tile(x, y, xi, yi, 2, 2).unroll(xi).unroll(yi).gpu_threads(x, y);
            window.compute_at(f[s], xt).unroll(x).unroll(y);
        }
    }
    return f[N];
}
