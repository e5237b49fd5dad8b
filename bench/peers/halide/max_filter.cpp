/* SPDX-License-Identifier: MIT */
/* max_filter: slabs of columns in parallel; the maxima of 2^s rows are rings of rows, and so is, for a row of the
 * result, what each height of the disc reads. The tails of slabs shift inwards: a guard would stay in the innermost
 * loop, because the fused loop hides which slab is the last, and would keep storage from being folded. */
#include "app.h"

#include <set>

namespace
{

/* Half the height of the disc's column at dx, as the specification counts it. */
int half_height(int dx, int R)
{
    int h = 0;
    for (int d = 0; d <= R; d++)
        h += static_cast<float>(dx * dx + d * d) < (R + 0.25f) * (R + 0.25f);
    return h;
}

int slice(int t)
{
    int s = 0;
    while (2 << s <= 2 * t + 1)
        s++;
    return s;
}

/* The filter as it is scheduled for a GPU: all maxima of 2^t rows in one table, built by a scan over t and the rows, a
 * thread for each column; each thread of the result reads it where two tables of the host tell. */
Func by_table(ImageParam in, int R)
{
    Var        x("x"), y("y"), c("c"), t("t"), dx("dx"), xo("xo"), yo("yo"), xt("xt"), yt("yt");
    const int  slices = slice(R + 1) + 1;
    Func       table("table"), slice_of("slice_of"), height("height"), out("out");
    const Expr wide = cast<float>(dx), all = (R + 0.25f) * (R + 0.25f);
    RDom       r(-R - 1, in.height() + 2 * R + 2, 1, slices - 1), d(0, R + 1), across(-R, 2 * R + 1), s(1, slices - 1);
    table(x, y, c, t)     = undef<float>();
    table(x, y, c, 0)     = repeated_edge(in)(x, y, c);
    table(x, r.x, c, r.y) = max(table(x, r.x, c, r.y - 1), table(x, r.x + clamp(1 << (r.y - 1), 0, 2 * R), c, r.y - 1));
    height(dx)            = sum(select(wide * wide + cast<float>(d * d) < all, 1, 0));
    slice_of(t)           = sum(select((1 << s) <= 2 * t + 1, 1, 0));
    const auto column     = [&](Expr at, Expr half) {
        const Expr level = clamp(slice_of(half), 0, slices - 1);
        return max(table(at, y - half, c, level), table(at, y + half + 1 - clamp(1 << level, 0, 2 * R), c, level));
    };
    out(x, y, c) = maximum(column(x + across, clamp(height(across), 0, R + 1)));

    height.compute_root();
    slice_of.compute_root();
    table.compute_root();
    table.update(0).gpu_tile(x, y, xo, yo, xt, yt, 32, 8, TailStrategy::RoundUp);
    table.update(1)
        .reorder(r.x, r.y, x, c)
        .split(x, xo, xt, 32, TailStrategy::RoundUp)
        .gpu_blocks(xo, c)
        .gpu_threads(xt);
    out.gpu_tile(x, y, xo, yo, xt, yt, 32, 8);
    return out;
}

} // namespace

Func max_filter(App &app)
{
    ImageParam in = app.input("in", "f32", 3);
    const int  R  = static_cast<int>(app.number("radius", 26));
    app.output("f32", { app.size("in", 0), app.size("in", 1), app.size("in", 2) });

    if (app.gpu)
        return by_table(in, R);

    Var               x("x"), y("y"), c("c"), slab("slab"), task("task"), rows("rows");
    std::vector<Func> m;
    Func              e0 = repeated_edge(in), m0("m0");
    m0(x, y, c)          = e0(x, y, c);
    m.push_back(m0);
    for (int s = 1; s <= slice(R + 1); s++) {
        Func next("m" + std::to_string(s));
        next(x, y, c) = max(m[s - 1](x, y, c), m[s - 1](x, y + (1 << (s - 1)), c));
        m.push_back(next);
    }
    std::map<int, Func> v;
    for (int dx = -R; dx <= R; dx++) {
        const int t = half_height(dx, R), s = slice(t);
        if (v.count(t))
            continue;
        v[t]          = Func("v" + std::to_string(t));
        v[t](x, y, c) = max(m[s](x, y - t, c), m[s](x, y + t + 1 - (1 << s), c));
    }
    Expr e;
    for (int dx = -R; dx <= R; dx++) {
        const Expr column = v[half_height(dx, R)](x + dx, y, c);
        e                 = e.defined() ? max(e, column) : column;
    }
    Func out("out");
    out(x, y, c) = e;

    if (app.manual) {
        const int n = app.lanes<float>();
        out.split(x, slab, x, 256).split(y, rows, y, 512).reorder(x, y, slab, rows, c);
        out.fuse(rows, c, task).fuse(slab, task, task).parallel(task).vectorize(x, n);
        for (auto &each : v)
            each.second.compute_at(out, y).vectorize(x, n, TailStrategy::RoundUp);
        for (size_t s = 1; s < m.size(); s++)
            m[s].store_at(out, task).compute_at(out, y).vectorize(x, n, TailStrategy::RoundUp);
        m[0].store_at(out, task).compute_at(out, y).vectorize(x, n, TailStrategy::RoundUp);
    }
    return out;
}
