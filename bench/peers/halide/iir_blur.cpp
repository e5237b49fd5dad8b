/* SPDX-License-Identifier: MIT */
/* iir_blur: a scan along columns, vectorized across a strip of them, which stays in cache; its result is stored
 * transposed, so that the second scan is the same; strips in parallel. On a GPU a warp has a
 * strip of 32 columns, and transposes through shared memory. */
#include "app.h"

namespace
{

Var x("x"), y("y"), c("c"), xi("xi"), yi("yi"), xo("xo"), strip("strip"), task("task");

/* The scan of f down and up its columns of `height`. The way down reads f itself, so that nothing is copied first. */
Func scanned(Func f, Expr height, Expr a, const std::string &name, RDom &down, RDom &up)
{
    Func s(name);
    s(x, y, c)               = undef<float>();
    s(x, 0, c)               = f(x, 0, c);
    s(x, down, c)            = (1.0f - a) * s(x, down - 1, c) + a * f(x, down, c);
    s(x, height - 1 - up, c) = (1.0f - a) * s(x, height - up, c) + a * s(x, height - 1 - up, c);
    return s;
}

/* s transposed, computed a strip of columns of s at a time. */
Func turned(App &app, Func s, const RDom &down, const RDom &up, const std::string &name)
{
    Func block(name + "_block"), t(name);
    block(x, y, c) = s(y, x, c);
    t(x, y, c)     = block(x, y, c);
    if (app.manual) {
        const int v = 8, width = 32, n = app.lanes<float>();
        t.compute_root()
            .split(y, strip, y, width)
            .split(y, y, yi, v)
            .split(x, x, xi, v)
            .reorder(xi, yi, y, x, strip, c);
        t.fuse(strip, c, task).parallel(task).vectorize(xi).unroll(yi);
        block.compute_at(t, y).reorder_storage(y, x, c).vectorize(y).unroll(x);
        s.compute_at(t, task);
        s.update(0).vectorize(x, n).unroll(x);
        s.update(1).reorder(x, down.x).vectorize(x, n).unroll(x);
        s.update(2).reorder(x, up.x).vectorize(x, n).unroll(x);
    }
    if (app.gpu) {
        t.compute_root().tile(x, y, xo, strip, xi, yi, 32, 32).reorder(xi, yi, xo, strip, c);
        t.gpu_lanes(xi).gpu_blocks(strip, c);
        block.compute_at(t, xo).store_in(MemoryType::GPUShared).align_storage(x, 33).gpu_lanes(y).unroll(x, 8);
        s.compute_at(t, strip).store_in(MemoryType::Heap).gpu_lanes(x);
        s.update(0).gpu_lanes(x);
        s.update(1).reorder(down.x, x).unroll(down.x, 8).gpu_lanes(x);
        s.update(2).reorder(up.x, x).unroll(up.x, 8).gpu_lanes(x);
    }
    return t;
}

} // namespace

Func iir_blur(App &app)
{
    ImageParam   in    = app.input("in", "f32", 3);
    Param<float> alpha = app.param<float>("alpha", 0.5f);
    app.output("f32", { app.size("in", 0), app.size("in", 1), app.size("in", 2) });

    RDom d1(1, in.height() - 1, "d1"), u1(1, in.height() - 1, "u1"), d2(1, in.width() - 1, "d2"),
        u2(1, in.width() - 1, "u2");
    Func first  = scanned(in, in.height(), alpha, "first", d1, u1);
    Func across = turned(app, first, d1, u1, "across");
    Func second = scanned(across, in.width(), alpha, "second", d2, u2);
    return turned(app, second, d2, u2, "out");
}
