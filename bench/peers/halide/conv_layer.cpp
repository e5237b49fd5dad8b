/* SPDX-License-Identifier: MIT */
/* conv_layer: a block of channels by pixels stays in registers through the whole sum; rows of all images in parallel.
 * On a GPU a warp has 5x5 pixels of 32 channels, an accumulator of each pixel in every lane, and its input in shared
 * memory, 32 channels at a time. */
#include "app.h"

Func conv_layer(App &app)
{
    ImageParam in = app.input("in", "f32", 4), filter = app.input("filter", "f32", 4),
               bias = app.input("bias", "f32", 1);
    const int CI = app.size("in", 0), W = app.size("in", 1) - 2, H = app.size("in", 2) - 2, N = app.size("in", 3),
              CO = app.size("bias", 0);
    app.output("f32", { CO, W, H, N });

    Var  c("c"), x("x"), y("y"), n("n"), ci("ci"), xi("xi"), rows("rows");
    Func conv("conv"), out("out");
    RDom r(0, CI, 0, 3, 0, 3);
    conv(c, x, y, n) = bias(c);
    conv(c, x, y, n) += filter(c, r.y, r.z, r.x) * in(r.x, x + r.y, y + r.z, n);
    out(c, x, y, n) = max(0.0f, conv(c, x, y, n));

    if (app.manual) {
        const int v = app.lanes<float>(), most = app.wide() ? 4 : 2,
                  pixels   = app.wide() ? 6 : 5; /* of the block in registers */
        const int channels = CO % (most * v) == 0 ? most * v : v;
        in.dim(0).set_bounds(0, CI).set_stride(1).dim(1).set_bounds(0, W + 2).set_stride(CI);
        in.dim(2)
            .set_bounds(0, H + 2)
            .set_stride(CI * (W + 2))
            .dim(3)
            .set_bounds(0, N)
            .set_stride(CI * (W + 2) * (H + 2));
        filter.dim(0).set_bounds(0, CO).set_stride(1).dim(1).set_bounds(0, 3).set_stride(CO);
        filter.dim(2).set_bounds(0, 3).set_stride(CO * 3).dim(3).set_bounds(0, CI).set_stride(CO * 9);
        bias.dim(0).set_bounds(0, CO).set_stride(1);
        out.bound(c, 0, CO).bound(x, 0, W).bound(y, 0, H).bound(n, 0, N);
        out.tile(c, x, ci, xi, channels, pixels).reorder(ci, xi, x, y, n, c);
        out.vectorize(ci, v).unroll(ci).unroll(xi).fuse(y, n, rows).parallel(rows);
        conv.compute_at(out, x).vectorize(c, v).unroll(c).unroll(x);
        conv.update().reorder(c, x, r.x, r.y, r.z).vectorize(c, v).unroll(c).unroll(x).unroll(r.x, 2);
    }
    if (app.gpu) {
        Var  y2("y2"), yi("yi"), lane("lane"), co("co"), image("image");
        RVar chunk("chunk"), pair("pair"), of("of");
        in.dim(0).set_bounds(0, CI).set_stride(1).dim(1).set_bounds(0, W + 2).set_stride(CI);
        in.dim(2).set_bounds(0, H + 2).set_stride(CI * (W + 2)).dim(3).set_bounds(0, N);
        in.dim(3).set_stride(CI * (W + 2) * (H + 2));
        filter.dim(0).set_bounds(0, CO).set_stride(1).dim(1).set_bounds(0, 3).set_stride(CO);
        filter.dim(2).set_bounds(0, 3).set_stride(CO * 3).dim(3).set_bounds(0, CI).set_stride(CO * 9);
        bias.dim(0).set_bounds(0, CO).set_stride(1);
        out.bound(c, 0, CO).bound(x, 0, W).bound(y, 0, H).bound(n, 0, N);
        const auto tail = CO % 32 ? TailStrategy::GuardWithIf : TailStrategy::Auto;
        out.split(c, co, lane, 32, tail).split(x, x, xi, 5).split(y, y, yi, 5).reorder(xi, yi, lane, x, y, co, n);
        out.unroll(xi).unroll(yi).gpu_lanes(lane).fuse(co, n, image).gpu_blocks(x, y, image);
        conv.compute_at(out, x).store_in(MemoryType::Register).align_storage(c, 32);
        conv.unroll(x).unroll(y).gpu_lanes(c);
        conv.update().split(r.x, chunk, pair, std::min(CI, 32)).split(pair, pair, of, 2);
        conv.update().reorder(of, x, y, r.y, r.z, pair, c, chunk).gpu_lanes(c);
        conv.update().unroll(x).unroll(y).unroll(of).unroll(r.y).unroll(r.z);
        Func tile = in.in(conv);
        tile.compute_at(conv, chunk).store_in(MemoryType::GPUShared).gpu_lanes(tile.args()[0]);
    }
    return out;
}
