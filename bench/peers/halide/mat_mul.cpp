/* SPDX-License-Identifier: MIT */
/* mat_mul: panels of columns in parallel, each panel of B copied to consecutive memory; a block of the result stays in
 * registers while k runs. On a GPU a thread has a block of 4x8, and what it needs of A and B comes in vectors of four.
 */
#include "app.h"

Func mat_mul(App &app)
{
    ImageParam A = app.input("A", "f32", 2), B = app.input("B", "f32", 2);
    const int  n = app.size("A", 0);
    app.output("f32", { n, n });

    Var  x("x"), y("y"), xi("xi"), yi("yi");
    Func product("product"), out("out");
    RDom k(0, n);
    product(x, y) += A(k, y) * B(x, k);
    out(x, y) = product(x, y);

    if (app.manual) {
        const int v = app.lanes<float>(), columns = 2 * v, rows = app.wide() ? 12 : 4; /* of the block in registers */
        for (ImageParam *p : { &A, &B })
            p->dim(0).set_bounds(0, n).dim(1).set_bounds(0, n).set_stride(n);
        out.bound(x, 0, n).bound(y, 0, n);
        out.tile(x, y, xi, yi, columns, rows).reorder(xi, yi, y, x).vectorize(xi, v).unroll(xi).unroll(yi).parallel(x);
        product.compute_at(out, y).vectorize(x, v).unroll(x).unroll(y);
        product.update().reorder(x, y, k).vectorize(x, v).unroll(x).unroll(y).unroll(k, 2);
        Func panel = B.in(product);
        panel.compute_at(out, x).vectorize(panel.args()[0], v).unroll(panel.args()[0]);
    }
    if (app.gpu) {
        Var xt("xt"), yt("yt"), xo("xo"), yo("yo");
        for (ImageParam *p : { &A, &B }) {
            p->dim(0).set_bounds(0, n).dim(1).set_bounds(0, n).set_stride(n);
            p->set_host_alignment(16);
        }
        out.output_buffer().set_host_alignment(16);
        out.output_buffer().dim(0).set_bounds(0, n).dim(1).set_bounds(0, n).set_stride(n);
        out.bound(x, 0, n).bound(y, 0, n).tile(x, y, xo, yo, xt, yt, 64, 16).tile(xt, yt, xi, yi, 4, 8);
        out.vectorize(xi).unroll(yi).gpu_blocks(xo, yo).gpu_threads(xt, yt);
        product.compute_at(out, xt).store_in(MemoryType::Register).vectorize(x).unroll(y);
        product.update().reorder(x, y, k).vectorize(x).unroll(y).unroll(k, 8);
        Func a = A.in(product), b = B.in(product);
        for (Func f : { a, b })
            f.compute_at(product, k).vectorize(f.args()[0], 4).unroll(f.args()[0]).unroll(f.args()[1]);
    }
    return out;
}
