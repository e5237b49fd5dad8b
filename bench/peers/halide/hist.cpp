/* SPDX-License-Identifier: MIT */
/* hist: histograms of some rows each, in parallel, then their sum; the luma of a row is computed where it is needed,
 * twice for the whole image. On a GPU one warp counts a row by atomic additions in shared memory; a thread of the
 * result has four pixels and finds the curve in shared memory. */
#include "app.h"

Func hist(App &app)
{
    ImageParam in = app.input("in", "u8", 3);
    const int  W = app.size("in", 0), H = app.size("in", 1);
    app.output("u8", { W, H, 3 });

    Var  x("x"), y("y"), c("c"), i("i");
    Func Y("Y"), bin("bin"), n("n"), cdf("cdf"), eq("eq"), out("out");
    Y(x, y)   = 0.299f * in(x, y, 0) + 0.587f * in(x, y, 1) + 0.114f * in(x, y, 2);
    bin(x, y) = cast<uint8_t>(clamp(Y(x, y), 0.0f, 255.0f));
    RDom all(0, in.width(), 0, in.height()), up(1, 255);
    n(i) = 0;
    n(cast<int>(bin(all.x, all.y))) += 1;
    cdf(i)        = n(i);
    cdf(up)       = cdf(up - 1) + n(up);
    eq(x, y)      = clamp(cdf(cast<int>(bin(x, y))) * (255.0f / cast<float>(in.width() * in.height())), 0.0f, 255.0f);
    const Expr cr = (in(x, y, 0) - Y(x, y)) * 0.713f + 128 - 128, cb = (in(x, y, 2) - Y(x, y)) * 0.564f + 128 - 128;
    const auto byte = [](Expr v) { return cast<uint8_t>(clamp(v, 0.0f, 255.0f)); };
    out(x, y, c)    = mux(
           c, { byte(eq(x, y) + cr * 1.4f), byte(eq(x, y) - 0.343f * cb - 0.711f * cr), byte(eq(x, y) + 1.765f * cb) });

    if (app.manual) {
        const int v = app.lanes<float>(), phases = 4;
        Var       part("part"), phase("phase");
        RVar      rows("rows"), row("row"), quad("quad"), of("of");
        n.compute_root().vectorize(i, v);
        n.update().split(all.y, rows, row, 32).split(all.x, quad, of, phases);
        Func partial = n.update().rfactor({ { rows, part }, { of, phase } });
        partial.compute_root().parallel(part).vectorize(i, v);
        partial.update().reorder(phase, quad, row, part).unroll(phase).parallel(part);
        n.update().reorder(of, rows);
        Func seen = bin.clone_in(partial);
        seen.compute_at(partial, row).vectorize(x, 2 * v);
        cdf.compute_root();
        out.bound(c, 0, 3).reorder(c, x, y).unroll(c).vectorize(x, 2 * v).parallel(y, 16);
    }
    if (app.gpu) {
        Var  row("row"), lane("lane"), io("io"), xo("xo"), xi("xi"), yi("yi"), v("v"), block("block");
        RVar xr("xr"), lanes("lanes");
        n.compute_root().gpu_tile(i, io, lane, 32);
        Func rows = n.update().rfactor(all.y, row), whole = rows.in();
        n.update().reorder(all.y, i).gpu_tile(i, io, lane, 32);
        whole.compute_root().split(i, io, lane, 32).reorder(lane, io, row).gpu_lanes(lane).gpu_blocks(row);
        rows.compute_at(whole, row).store_in(MemoryType::GPUShared).split(i, io, lane, 32).gpu_lanes(lane);
        rows.update().split(all.x, xr, lanes, 32).reorder(lanes, xr, row).atomic().gpu_lanes(lanes);
        Func seen = bin.clone_in(rows);
        cdf.compute_root().gpu_single_thread();
        cdf.update().gpu_single_thread();
        out.bound(c, 0, 3).split(x, x, v, 4).reorder(v, c, x, y).vectorize(v).unroll(c);
        out.gpu_tile(x, y, xo, block, xi, yi, 32, 8);
        Func table = cdf.in(eq);
        table.compute_at(out, xo).store_in(MemoryType::GPUShared).split(i, io, lane, 32).gpu_threads(lane, io);
    }
    return out;
}
