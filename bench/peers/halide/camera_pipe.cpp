/* SPDX-License-Identifier: MIT */
/* camera_pipe: strips of rows in parallel, two rows at a time; the four planes, the two greens, the corrected and the
 * curved pixels are rings of rows; the corrected ones are computed four at a time, one of each parity, so that no
 * choice by parity is left and the two of a row are interleaved in registers; the curve is looked up by scalars, which
 * costs less than taking vectors apart. On a GPU one kernel, every stage of a tile in shared memory, four pixels of
 * the mosaic to a thread; the curve and the matrix are kernels of their own. */
#include "app.h"

namespace
{

Var x("x"), y("y"), c("c"), i("i"), k("k"), xi("xi"), yi("yi"), strip("strip"), pair("pair");

Expr avg(Expr p, Expr q)
{
    const Type t = p.type(), wide = t.widen();
    return cast(t, (cast(wide, p) + cast(wide, q) + 1) / 2);
}

/* The four planes of the mosaic. */
struct Mosaic {
    Func plane;
    Expr gr(Expr a, Expr b) const { return plane(a, b, 0); }
    Expr r(Expr a, Expr b) const { return plane(a, b, 1); }
    Expr b(Expr a, Expr e) const { return plane(a, e, 2); }
    Expr gb(Expr a, Expr b) const { return plane(a, b, 3); }
};

/* A colour less what the same average misses in green. */
Expr fix(Expr green, Expr ga, Expr gc, Expr a, Expr e)
{
    return green - avg(ga, gc) + avg(a, e);
}

/* The average of the pair that differs less; of the second when both do alike. */
Expr calmer(Expr h0, Expr h1, Expr v0, Expr v1)
{
    return select(absd(h0, h1) < absd(v0, v1), avg(h0, h1), avg(v0, v1));
}

/* Red, green and blue at full resolution: channel c by the parities of x and y. */
Func demosaiced(const Mosaic &m, Func g_r, Func g_b)
{
    Func r_gr("r_gr"), b_gr("b_gr"), r_gb("r_gb"), b_gb("b_gb"), r_b("r_b"), b_r("b_r"), all("demosaiced");
    r_gr(x, y)   = fix(m.gr(x, y), g_r(x, y), g_r(x - 1, y), m.r(x - 1, y), m.r(x, y));
    b_gr(x, y)   = fix(m.gr(x, y), g_b(x, y), g_b(x, y - 1), m.b(x, y), m.b(x, y - 1));
    r_gb(x, y)   = fix(m.gb(x, y), g_r(x, y), g_r(x, y + 1), m.r(x, y), m.r(x, y + 1));
    b_gb(x, y)   = fix(m.gb(x, y), g_b(x, y), g_b(x + 1, y), m.b(x, y), m.b(x + 1, y));
    r_b(x, y)    = select(absd(m.r(x, y), m.r(x - 1, y + 1)) < absd(m.r(x - 1, y), m.r(x, y + 1)),
                          fix(g_b(x, y), g_r(x, y), g_r(x - 1, y + 1), m.r(x, y), m.r(x - 1, y + 1)),
                          fix(g_b(x, y), g_r(x - 1, y), g_r(x, y + 1), m.r(x - 1, y), m.r(x, y + 1)));
    b_r(x, y)    = select(absd(m.b(x, y), m.b(x + 1, y - 1)) < absd(m.b(x + 1, y), m.b(x, y - 1)),
                          fix(g_r(x, y), g_b(x, y), g_b(x + 1, y - 1), m.b(x, y), m.b(x + 1, y - 1)),
                          fix(g_r(x, y), g_b(x + 1, y), g_b(x, y - 1), m.b(x + 1, y), m.b(x, y - 1)));
    const Expr u = x / 2, v = y / 2;
    const auto by_parity = [&](Expr even_even, Expr odd_even, Expr even_odd, Expr odd_odd) {
        return reinterpret<int16_t>(
            select(y % 2 == 0, select(x % 2 == 0, even_even, odd_even), select(x % 2 == 0, even_odd, odd_odd)));
    };
    all(x, y, c) = mux(c, { by_parity(r_gr(u, v), m.r(u, v), r_b(u, v), r_gb(u, v)),
                            by_parity(m.gr(u, v), g_r(u, v), g_b(u, v), m.gb(u, v)),
                            by_parity(b_gr(u, v), b_r(u, v), m.b(u, v), b_gb(u, v)) });
    return all;
}

/* The tone curve of 1024 values. */
Func tone_curve(App &app)
{
    Param<float> gamma = app.param<float>("gamma", 2), contrast = app.param<float>("contrast", 50);
    Param<int>   black = app.param<int>("blackLevel", 25), white = app.param<int>("whiteLevel", 1023);
    const Expr   B = 2.0f - pow(2.0f, contrast / 100.0f), A = 2.0f - 2.0f * B;
    const Expr   t = clamp(cast<float>(i - black) * (1.0f / cast<float>(white - black)), 0.0f, 1.0f),
               g = pow(t, 1.0f / gamma), h = 1.0f - g;
    const Expr z = select(g > 0.5f, 1.0f - (A * h * h + B * h), A * g * g + B * g);
    Func       curve("curve");
    curve(i) = select(i <= black, cast<uint8_t>(0), i > white, cast<uint8_t>(255),
                      cast<uint8_t>(clamp(z * 255.0f + 0.5f, 0.0f, 255.0f)));
    return curve;
}

/* The colour matrix at the temperature, in units of 1/256. */
Func colour_matrix(App &app)
{
    ImageParam   m3200 = app.input("matrix_3200", "f32", 2), m7000 = app.input("matrix_7000", "f32", 2);
    Param<float> temp = app.param<float>("color_temp", 3700);
    const Expr   a    = (1.0f / temp - 1.0f / 3200) / (1.0f / 7000 - 1.0f / 3200);
    Func         m("m");
    m(i, k) = cast<int16_t>((m3200(i, k) * a + m7000(i, k) * (1 - a)) * 256.0f);
    return m;
}

} // namespace

Func camera_pipe(App &app)
{
    ImageParam in = app.input("in", "u16", 2);
    app.output("u8", { (app.size("in", 0) - 32) / 32 * 32, (app.size("in", 1) - 32) / 32 * 32, 3 });
    Param<float> strength = app.param<float>("sharpen_strength", 1);

    Func s("s"), d("d"), g_r("g_r"), g_b("g_b"), cc("cc"), p("p"), uy("uy"), ux("ux"), out("out");
    s(x, y)          = in(x + 16, y + 12);
    d(x, y)          = min(s(x, y), max(max(s(x - 2, y), s(x + 2, y)), max(s(x, y - 2), s(x, y + 2))));
    Mosaic m         = { Func("plane") };
    m.plane(x, y, c) = mux(c, { d(2 * x, 2 * y), d(2 * x + 1, 2 * y), d(2 * x, 2 * y + 1), d(2 * x + 1, 2 * y + 1) });
    g_r(x, y)        = calmer(m.gr(x + 1, y), m.gr(x, y), m.gb(x, y - 1), m.gb(x, y));
    g_b(x, y)        = calmer(m.gb(x - 1, y), m.gb(x, y), m.gr(x, y + 1), m.gr(x, y));
    Func       rgb = demosaiced(m, g_r, g_b), matrix = colour_matrix(app), curve = tone_curve(app);
    const auto term = [&](int n) { return cast<int32_t>(matrix(n, c)) * cast<int32_t>(rgb(x, y, n)); };
    cc(x, y, c)     = clamp(cast<int16_t>((term(0) + term(1) + (term(2) + cast<int32_t>(matrix(3, c)))) / 256),
                            cast<int16_t>(0), cast<int16_t>(1023));
    p(x, y, c)  = curve(clamp(cast<int32_t>(cc(x, y, c)), 0, 1023)); /* no more than cc is: the range of the curve */
    uy(x, y, c) = avg(avg(p(x, y - 1, c), p(x, y + 1, c)), p(x, y, c));
    ux(x, y, c) = avg(avg(uy(x - 1, y, c), uy(x + 1, y, c)), uy(x, y, c));
    const Expr amount = cast<uint8_t>(clamp(strength * 32, 0.0f, 255.0f)), value = cast<int16_t>(p(x, y, c));
    const Expr mask = value - cast<int16_t>(ux(x, y, c));
    out(x, y, c) =
        cast<uint8_t>(clamp(value + mask * cast<int16_t>(amount) / 32, cast<int16_t>(0), cast<int16_t>(255)));

    if (app.manual) {
        const int v = app.lanes<uint16_t>();
        matrix.compute_root();
        curve.compute_root().vectorize(i, app.lanes<float>());
        out.bound(c, 0, 3).split(y, strip, y, 128).split(y, pair, yi, 2);
        out.reorder(x, yi, c, pair, strip).parallel(strip).vectorize(x, v).unroll(yi);
        p.store_at(out, strip).compute_at(out, pair).bound(c, 0, 3).unroll(x, 16).fold_storage(y, 4);
        cc.store_at(out, strip).compute_at(out, pair).bound(c, 0, 3).align_bounds(x, 2).align_bounds(y, 2);
        cc.split(x, x, xi, 2, TailStrategy::RoundUp).split(y, y, yi, 2, TailStrategy::RoundUp).reorder(xi, c, yi, x, y);
        cc.unroll(c).unroll(xi).unroll(yi).vectorize(x, v).fold_storage(y, 8);
        g_r.store_at(out, strip).compute_at(out, pair).vectorize(x, v);
        g_b.store_at(out, strip).compute_at(out, pair).vectorize(x, v);
        m.plane.store_at(out, strip).compute_at(out, pair).bound(c, 0, 4).reorder(c, x, y).unroll(c).vectorize(x, v);
        d.store_at(out, strip).compute_at(out, pair).vectorize(x, v);
    }
    if (app.gpu) {
        Var        xo("xo"), yo("yo"), xt("xt"), yt("yt");
        const auto threads = [&](Func f) { f.compute_at(out, xo).gpu_threads(x, y); };
        matrix.compute_root().gpu_single_thread();
        curve.compute_root().gpu_tile(i, xo, xt, 256);
        const OutputImageParam result = out.output_buffer();
        out.bound(x, 0, result.width() / 2 * 2).bound(y, 0, result.height() / 2 * 2);
        out.bound(c, 0, 3).tile(x, y, xo, yo, xt, yt, 56, 12).split(xt, xt, xi, 2).reorder(xi, c, xt, yt, xo, yo);
        out.unroll(xi).unroll(c).gpu_blocks(xo, yo).gpu_threads(xt, yt);
        cc.bound(c, 0, 3).align_bounds(x, 2).align_bounds(y, 2);
        cc.tile(x, y, xi, yi, 2, 2, TailStrategy::RoundUp).reorder(xi, yi, c, x, y).unroll(xi).unroll(yi).unroll(c);
        for (Func f : { p, uy })
            f.bound(c, 0, 3).split(x, x, xi, 2).reorder(xi, c, x, y).unroll(xi).unroll(c);
        m.plane.bound(c, 0, 4).reorder(c, x, y).unroll(c);
        d.tile(x, y, xi, yi, 2, 2).unroll(xi).unroll(yi);
        for (Func f : { uy, p, cc, g_r, g_b, m.plane, d })
            threads(f);
    }
    return out;
}
