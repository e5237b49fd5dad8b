/* stencil_chain: groups of stages; a group is computed in tiles, in parallel, each stage a ring of rows within the tile. */
#include "app.h"

Func stencil_chain(App &app)
{
    ImageParam in = app.input("in", "u16", 2);
    const int N = static_cast<int>(app.number("stencils", 32));
    app.output("u16", { app.size("in", 0), app.size("in", 1) });

    Var x("x"), y("y"), xo("xo"), yo("yo"), tile("tile");
    std::vector<Func> f;
    Func edge = repeated_edge(in), f0("f0");
    f0(x, y) = edge(x, y);
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
        const int v = app.lanes<uint16_t>(), group = 11;
        Func last;
        for (int s = N; s >= 0; s--) {
            if ((N - s) % group == 0) {
                last = f[s];
                last.compute_root().tile(x, y, xo, yo, x, y, 384, 640, TailStrategy::GuardWithIf).fuse(xo, yo, tile).parallel(tile).vectorize(x, v);
            } else {
                f[s].store_at(last, tile).compute_at(last, y).vectorize(x, v, TailStrategy::RoundUp).fold_storage(y, 64);
            }
        }
    }
    return f[N];
}
