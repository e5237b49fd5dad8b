/* SPDX-License-Identifier: MIT */
/* local_laplacian: the pyramids of the K images are whole from level 1 on, (x, k, y) in memory, computed a row of all K
 * at a time; their level 0 is computed where it is read, a row at a time; the coefficients of the result are gathered.
 * On a GPU every level is a kernel, a thread has all K of a pixel; the curve is made on the host. */
#include "app.h"

namespace
{

Var x("x"), y("y"), k("k"), c("c"), i("i"), strip("strip"), yi("yi"), xi("xi");

/* f at (a, b), and at k where it has that. */
Expr at(Func f, Expr a, Expr b)
{
    return f.dimensions() == 3 ? Expr(f(a, b, k)) : Expr(f(a, b));
}

/* f = e, over (x, y, k) if that is what e is made of. */
void define(Func f, int dimensions, Expr e)
{
    if (dimensions == 3)
        f(x, y, k) = e;
    else
        f(x, y) = e;
}

struct Down {
    Func h, result;
};

Down down(Func f, const std::string &name)
{
    Down g = { Func("h_" + name), Func(name) };
    define(g.h, f.dimensions(),
           (at(f, 2 * x - 1, y) + 3.0f * (at(f, 2 * x, y) + at(f, 2 * x + 1, y)) + at(f, 2 * x + 2, y)) / 8.0f);
    define(g.result, f.dimensions(),
           (at(g.h, x, 2 * y - 1) + 3.0f * (at(g.h, x, 2 * y) + at(g.h, x, 2 * y + 1)) + at(g.h, x, 2 * y + 2)) / 8.0f);
    return g;
}

Func up(Func f, const std::string &name)
{
    Func h("h_" + name), g(name);
    define(h, f.dimensions(), lerp(at(f, (x + 1) / 2, y), at(f, (x - 1) / 2, y), cast<float>(x % 2 * 2 + 1) / 4.0f));
    define(g, f.dimensions(), lerp(at(h, x, (y + 1) / 2), at(h, x, (y - 1) / 2), cast<float>(y % 2 * 2 + 1) / 4.0f));
    return g;
}

} // namespace

Func local_laplacian(App &app)
{
    ImageParam   in     = app.input("in", "u16", 3);
    Param<int>   levels = app.param<int>("levels", 8);
    Param<float> alpha = app.param<float>("alpha", 1.0f / 7), beta = app.param<float>("beta", 1);
    const int    J = static_cast<int>(app.number("pyramid_levels", 8));
    app.output("u16", { app.size("in", 0), app.size("in", 1), 3 });

    Func       remap("remap"), fl("fl"), gray("gray"), out("out");
    const Expr t = cast<float>(i) / 256.0f, top = cast<float>(levels - 1);
    remap(i)    = alpha * t * exp(-t * t / 2.0f);
    Func e      = repeated_edge(in);
    fl(x, y, c) = cast<float>(e(x, y, c)) / 65535.0f;
    gray(x, y)  = 0.299f * fl(x, y, 0) + 0.587f * fl(x, y, 1) + 0.114f * fl(x, y, 2);

    std::vector<Func> g(J), n(J), og(J), ol(J), hg(J), hn(J);
    g[0]             = Func("g0");
    const Expr level = cast<float>(k) * (1.0f / top),
               idx   = clamp(cast<int>(gray(x, y) * top * 256.0f), 0, (levels - 1) * 256);
    g[0](x, y, k)    = beta * (gray(x, y) - level) + level + remap(idx - 256 * k);
    n[0]             = gray;
    for (int j = 1; j < J; j++) {
        const Down dg = down(g[j - 1], "g" + std::to_string(j)), dn = down(n[j - 1], "n" + std::to_string(j));
        g[j] = dg.result, hg[j] = dg.h, n[j] = dn.result, hn[j] = dn.h;
    }
    for (int j = J - 1; j >= 0; j--) {
        const std::string name = std::to_string(j);
        Func              l("l" + name);
        if (j == J - 1)
            l(x, y, k) = g[j](x, y, k);
        else
            l(x, y, k) = g[j](x, y, k) - up(g[j + 1], "u" + name)(x, y, k);
        const Expr v = n[j](x, y) * top, li = clamp(cast<int>(v), 0, levels - 2), w = v - cast<float>(li);
        ol[j]       = Func("ol" + name);
        ol[j](x, y) = (1.0f - w) * l(x, y, li) + w * l(x, y, li + 1);
        og[j]       = Func("og" + name);
        og[j](x, y) = j == J - 1 ? Expr(ol[j](x, y)) : up(og[j + 1], "uo" + name)(x, y) + ol[j](x, y);
    }
    const Expr color = og[0](x, y) * (fl(x, y, c) + 0.01f) / (gray(x, y) + 0.01f);
    out(x, y, c)     = cast<uint16_t>(clamp(color, 0.0f, 1.0f) * 65535.0f);

    if (app.manual) {
        const int v = app.lanes<float>(), flat = 5;
        remap.compute_root().vectorize(i, v);
        gray.compute_root().parallel(y, 32).vectorize(x, v);
        for (int j = 1; j < J; j++) {
            g[j].compute_root().reorder_storage(x, k, y).reorder(x, k, y);
            n[j].compute_root();
            og[j].compute_root();
            if (j >= flat) {
                g[j].parallel(k);
                continue;
            }
            const int rows = j == 1 ? 16 : 8;
            g[j].split(y, strip, y, rows, TailStrategy::GuardWithIf)
                .parallel(strip)
                .vectorize(x, v, TailStrategy::GuardWithIf);
            hg[j].store_at(g[j], strip).compute_at(g[j], k).vectorize(x, v, TailStrategy::RoundUp);
            if (j == 1)
                g[0].clone_in(hg[1]).store_at(g[1], strip).compute_at(g[1], k).vectorize(x, v, TailStrategy::RoundUp);
            n[j].split(y, strip, y, rows, TailStrategy::GuardWithIf)
                .parallel(strip)
                .vectorize(x, v, TailStrategy::GuardWithIf);
            hn[j].store_at(n[j], strip).compute_at(n[j], y).vectorize(x, v, TailStrategy::RoundUp);
            og[j]
                .split(y, strip, y, rows, TailStrategy::GuardWithIf)
                .parallel(strip)
                .vectorize(x, v, TailStrategy::GuardWithIf);
        }
        out.bound(c, 0, 3).reorder(c, x, y).unroll(c).parallel(y, 16).vectorize(x, v);
    }
    if (app.gpu) {
        Var        xo("xo"), yo("yo"), xt("xt"), yt("yt");
        const auto kernel = [&](Func f, int j) {
            f.compute_root().gpu_tile(x, y, xo, yo, xt, yt, j > 3 ? 2 : 16, j > 3 ? 2 : 8);
        };
        remap.compute_root();
        for (int j = 1; j < J; j++) {
            g[j].reorder(k, x, y);
            kernel(g[j], j);
            kernel(n[j], j);
        }
        for (int j = 0; j < J; j++)
            kernel(og[j], j);
        kernel(out, 0);
    }
    return out;
}
