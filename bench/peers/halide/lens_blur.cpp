/* SPDX-License-Identifier: MIT */
/* lens_blur: the cost volume whole; slices of depth in parallel, each with its pyramids; then rows in parallel, the
 * samples of a vector of pixels accumulated in registers. On a GPU the cost volume and all levels of the pyramids are
 * kernels of their own, and a thread has the samples of a pixel. */
#include "app.h"

namespace
{

Var x("x"), y("y"), z("z"), c("c");

Func down(Func f, Func h, const std::string &name)
{
    Func g(name);
    h(x, y, z, c) =
        (f(2 * x - 1, y, z, c) + 3.0f * (f(2 * x, y, z, c) + f(2 * x + 1, y, z, c)) + f(2 * x + 2, y, z, c)) / 8.0f;
    g(x, y, z, c) =
        (h(x, 2 * y - 1, z, c) + 3.0f * (h(x, 2 * y, z, c) + h(x, 2 * y + 1, z, c)) + h(x, 2 * y + 2, z, c)) / 8.0f;
    return g;
}

Func up(Func f, Func h, const std::string &name)
{
    Func g(name);
    h(x, y, z, c) = 0.25f * f(x / 2 - 1 + 2 * (x % 2), y, z, c) + 0.75f * f(x / 2, y, z, c);
    g(x, y, z, c) = 0.25f * h(x, y / 2 - 1 + 2 * (y % 2), z, c) + 0.75f * h(x, y / 2, z, c);
    return g;
}

Expr mixed(Expr v)
{
    return (Expr(1040796640u) * v + Expr(1121052041u)) * v + Expr(576942909u);
}

/* The random number in [0, 1) of a sample at (x, y); one sequence per t. */
Expr random_at(uint32_t t, Expr sample)
{
    const Expr h = mixed(mixed(mixed(mixed(mixed(Expr(t)) + Expr(78u)) + cast<uint32_t>(sample)) + cast<uint32_t>(y)) +
                         cast<uint32_t>(x));
    return reinterpret<float>(Expr(0x3f800000u) | ((h ^ (h >> Expr(16u))) >> Expr(9u))) - 1.0f;
}

} // namespace

Func lens_blur(App &app)
{
    ImageParam left = app.input("left_im", "u8", 3), right = app.input("right_im", "u8", 3);
    Param<int> slices = app.param<int>("slices", 32), focus = app.param<int>("focus_depth", 13),
               samples = app.param<int>("aperture_samples", 32);
    Param<float> scale = app.param<float>("blur_radius_scale", 0.5f);
    slices.set_range(1, 64);
    focus.set_range(1, 32);
    scale.set_range(0.0f, 1.0f);
    samples.set_range(1, 64);
    const int W = app.size("left_im", 0), H = app.size("left_im", 1), LEVELS = 8;
    app.output("f32", { W, H, 3 });

    const Expr R = cast<int>(cast<float>(max(slices - focus, focus)) * scale);
    Func       l = repeated_edge(left), r = repeated_edge(right);

    Func diff("diff"), cost("cost"), conf("conf");
    diff(x, y, z, c) = min(absd(l(x, y, c), r(x + 2 * z, y, c)), absd(l(x, y, c), r(x + 2 * z + 1, y, c)));
    Expr squares;
    for (int n = 0; n < 3; n++) {
        const Expr d = cast<float>(diff(x, y, z, n));
        squares      = n ? squares + d * d : d * d;
    }
    cost(x, y, z) = squares;
    RDom slice(0, slices);
    Func mean("mean"), square("square");
    square(x, y) += cost(x, y, slice) * cost(x, y, slice);
    mean(x, y) += cost(x, y, slice) / slices;
    conf(x, y) = square(x, y) / slices - mean(x, y) * mean(x, y);

    std::vector<Func> push(LEVELS), kept(LEVELS), pull(LEVELS), hd(LEVELS), hu(LEVELS);
    push[0]             = Func("push0");
    push[0](x, y, z, c) = conf(x, y) * select(c == 0, cost(x, y, z), 1.0f);
    kept[0]             = push[0];
    for (int n = 1; n < LEVELS; n++) {
        hd[n]        = Func("hd" + std::to_string(n));
        push[n]      = down(kept[n - 1], hd[n], "push" + std::to_string(n));
        const Expr w = left.width() / (1 << n), h = left.height() / (1 << n);
        kept[n]             = Func("kept" + std::to_string(n));
        kept[n](x, y, z, c) = push[n](clamp(x, 0, w - 1), clamp(y, 0, h - 1), z, c);
    }
    pull[LEVELS - 1] = kept[LEVELS - 1];
    for (int n = LEVELS - 2; n >= 0; n--) {
        hu[n]               = Func("hu" + std::to_string(n));
        Func u              = up(pull[n + 1], hu[n], "up" + std::to_string(n));
        pull[n]             = Func("pull" + std::to_string(n));
        pull[n](x, y, z, c) = u(x, y, z, c) * 0.5f + kept[n](x, y, z, c) * 0.5f;
    }

    Func fc("fc"), depth("depth"), least("least"), rad("rad"), wy("wy"), worst("worst");
    fc(x, y, z) = pull[0](x, y, z, 0) / pull[0](x, y, z, 1);
    least(x, y) = Tuple(0, Float(32).max());
    least(x, y) =
        Tuple(select(fc(x, y, slice) < least(x, y)[1], slice, least(x, y)[0]), min(fc(x, y, slice), least(x, y)[1]));
    depth(x, y) = least(x, y)[0];
    rad(x, y)   = cast<float>(abs(depth(x, y) - focus)) * scale;
    RDom reach(-R, 2 * R + 1);
    wy(x, y)    = maximum(rad(x, y + reach));
    worst(x, y) = maximum(wy(x + reach, y));

    RDom s(0, samples);
    Func in4("in4"), acc("acc"), out("out");
    in4(x, y, c)      = select(c < 3, cast<float>(l(x, y, min(c, 2))), 255.0f);
    const auto offset = [&](uint32_t t) {
        return clamp(cast<int>((random_at(t, s) - 0.5f) * 2.0f * worst(x, y)), -R, R);
    };
    const Expr u = offset(0), v = offset(2), d2 = cast<float>(u * u + v * v), there = rad(x + u, y + v);
    const Expr use = (d2 < rad(x, y) * rad(x, y) || depth(x + u, y + v) < depth(x, y)) && d2 < there * there;
    acc(x, y, c)   = in4(x, y, c);
    acc(x, y, c) += select(use, in4(x + u, y + v, c), 0.0f);
    out(x, y, c) = acc(x, y, c) / acc(x, y, 3);

    if (app.manual) {
        const int n = app.lanes<float>();
        cost.compute_root().reorder(x, z, y).parallel(y, 8).vectorize(x, n, TailStrategy::GuardWithIf);
        conf.compute_root().parallel(y, 8).vectorize(x, n);
        for (Func f : { mean, square }) {
            f.compute_at(conf, x).vectorize(x);
            f.update().vectorize(x);
        }
        fc.compute_root().parallel(z).vectorize(x, n, TailStrategy::GuardWithIf);
        for (int level = 1; level < LEVELS; level++) {
            push[level].compute_at(fc, z).vectorize(x, n, TailStrategy::GuardWithIf);
            if (level < 4)
                hd[level].store_at(push[level], c).compute_at(push[level], y).vectorize(x, n, TailStrategy::RoundUp);
            if (level < LEVELS - 1)
                pull[level].compute_at(fc, z).vectorize(x, n, TailStrategy::GuardWithIf);
        }
        depth.compute_root().parallel(y, 8).vectorize(x, n);
        least.compute_at(depth, x).vectorize(x);
        least.update().vectorize(x);
        wy.compute_root().parallel(y, 8).vectorize(x, n, TailStrategy::GuardWithIf);
        out.bound(c, 0, 3).reorder(c, x, y).unroll(c).vectorize(x, n).parallel(y, 4);
        worst.compute_at(out, y).vectorize(x, n, TailStrategy::GuardWithIf);
        acc.compute_at(out, x).bound(c, 0, 4).reorder(c, x, y).unroll(c).vectorize(x);
        acc.update().reorder(c, x, s, y).unroll(c).vectorize(x);
    }
    if (app.gpu) {
        Var        xo("xo"), yo("yo"), zo("zo"), xt("xt"), yt("yt"), zt("zt");
        const auto kernel = [&](Func f) { f.compute_root().gpu_tile(x, y, xo, yo, xt, yt, 16, 8); };
        cost.reorder(z, x, y);
        out.bound(c, 0, 3).reorder(c, x, y).unroll(c);
        for (Func f : { cost, conf, depth, wy, worst, out })
            kernel(f);
        least.compute_at(depth, xt);
        acc.compute_at(out, xt).bound(c, 0, 4).unroll(c);
        acc.update().reorder(c, s, x, y).unroll(c);
        for (int level = 1; level < LEVELS; level++) {
            push[level].compute_root().gpu_tile(x, y, z, xo, yo, zo, xt, yt, zt, 8, 8, 8);
            if (level < LEVELS - 1)
                pull[level].compute_root().gpu_tile(x, y, z, xo, yo, zo, xt, yt, zt, 8, 8, 8);
        }
    }
    return out;
}
