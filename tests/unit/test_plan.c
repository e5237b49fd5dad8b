/* SPDX-License-Identifier: MIT */
/* Plans: a table of schedules that are obeyed, each with the plan it makes. Every plan's text is read back as a
 * schedule, and must make the same plan. */
#include "plan_rows.h"

/* ---- Obeyed ----------------------------------------------------------------------------- */

/* clang-format off */
static const Row obeyed[] = {
    { BLUR, "",
      "blurx.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { BLUR, "blurx.inline()",
      "blurx.inline()\n"
      "out.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { BLUR, "blurx.compute_root()",
      "blurx.compute_root()\n"
      "out.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { BLUR, "out.serial(y)",
      "blurx.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.compute_root()\n" },
    { BLUR, "out.vectorize(x, 8)",
      "blurx.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).vectorize(x_lanes)\n" },
    { BLUR, "out.vectorize(x, 8, tail: guard).unroll(x, 2, tail: predicate).parallel(y, 4, tail: round_up)",
      "blurx.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: guard).split(x_1, x_2, x_copies, 2, tail: "
      "predicate).split(y, y_1, y_task, 4, tail: round_up).reorder(x_lanes, x_copies, x_2, y_task, "
      "y_1).parallel(y_1).unroll(x_copies).vectorize(x_lanes)\n" },
    { BLUR, "blurx.compute_at(out, y)",
      "blurx.compute_at(out, y)\n"
      "out.compute_root()\n" },
    { BLUR, "blurx.store_root().compute_at(out, y)",
      "blurx.compute_at(out, y).store_root()\n"
      "out.compute_root()\n" },
    { BLUR, "blurx.compute_at(out, x)",
      "blurx.compute_at(out, x)\n"
      "out.compute_root()\n" },
    { BLUR, "out.tile(x, y, xo, yo, xi, yi, 256, 32).parallel(yo).vectorize(xi, 16) blurx.store_at(out, "
            "xo).compute_at(out, yi).vectorize(x, 16)",
      "blurx.compute_at(out, yi).store_at(out, xo).split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, "
      "x_1, y).vectorize(x_lanes)\n"
      "out.compute_root().split(x, xo, xi, 256, tail: guard).split(y, yo, yi, 32, tail: guard).split(xi, xi_1, "
      "xi_lanes, 16, tail: shift_inward).reorder(xi_lanes, xi_1, yi, xo, yo).parallel(yo).vectorize(xi_lanes)\n" },
    { BLUR, "out.split(x, x, xi, 8).vectorize(xi) blurx.compute_at(out, xi)",
      "blurx.compute_at(out, x_1)\n"
      "out.compute_root().split(x, x_1, xi, 8, tail: shift_inward).reorder(xi, x_1, y).vectorize(xi)\n" },
    { BLUR, "out.bound(x, 0, 8).vectorize(x) blurx.compute_at(out, x)",
      "blurx.compute_at(out, y)\n"
      "out.compute_root().bound(x, 0, 8).vectorize(x)\n" },
    { BLUR, "out.bound(x, 0, in.width - 2).bound(y, in.y.min + 1, in.height).split(y, yo, yi, 4).unroll(yi)",
      "blurx.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.compute_root().bound(x, 0, in.x.extent - 2).bound(y, in.y.min + 1, in.y.extent).split(y, yo, yi, 4, tail: "
      "shift_inward).reorder(x, yi, yo).unroll(yi)\n" },
    { BLUR, "out.fuse(x, y, t).split(t, to, ti, 64).parallel(to).vectorize(ti, 8)",
      "blurx.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.compute_root().fuse(x, y, t).split(t, to, ti, 64, tail: guard).split(ti, ti_1, ti_lanes, 8, tail: "
      "shift_inward).reorder(ti_lanes, ti_1, to).parallel(to).vectorize(ti_lanes)\n" },
    { BLUR, "out.reorder(y, x)",
      "blurx.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.compute_root().reorder(y, x)\n" },
    { BLUR, "blurx.compute_root().align_storage(x, 32).reorder_storage(y, x).store_in(heap).stream().align_bounds(x, "
            "16).align_bounds(y, 4, 1)",
      "blurx.compute_root().align_bounds(x, 16).align_storage(x, 32).align_bounds(y, 4, 1).reorder_storage(y, "
      "x).store_in(heap).stream()\n"
      "out.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { BLUR, "blurx.store_root().compute_at(out, y).fold_storage(y, 4)",
      "blurx.compute_at(out, y).store_root().fold_storage(y, 4)\n"
      "out.compute_root()\n" },
    { BEST, "b.inline()",
      "b.inline()\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { BLUR, "out.prefetch(in, y, 2) blurx.compute_at(out, y)",
      "blurx.compute_at(out, y)\n"
      "out.compute_root().prefetch(in, y, 2)\n" },
    { BLUR, "out.stream().prefetch(blurx, y, 2) blurx.compute_root()",
      "blurx.compute_root()\n"
      "out.compute_root().stream().prefetch(blurx, y, 2)\n" },
    { BLUR, "out.vectorize(x, 8).specialize(in.width >= 64).unroll(x, 4) out.parallel(y) blurx.compute_root()",
      "blurx.compute_root()\n"
      "out.specialize(64 <= in.x.extent).split(x, x_1, x_lanes, 8, tail: shift_inward).split(x_1, x_2, x_copies, 4, "
      "tail: shift_inward).reorder(x_lanes, x_copies, x_2, y).unroll(x_copies).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { BLUR, "in.stage(blurx).compute_at(out, y).store_in(stack) blurx.compute_at(out, x)",
      "in.stage(blurx)\n"
      "in.stage.compute_at(out, y).store_in(stack)\n"
      "blurx.compute_at(out, x)\n"
      "out.compute_root()\n" },
    { BLUR, "in.stage(blurx) in.stage.compute_root().vectorize(x, 16)",
      "in.stage(blurx)\n"
      "in.stage.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).vectorize(x_lanes)\n"
      "blurx.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { CHAIN, "",
      "a.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "b.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "c.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { CHAIN, "c.compute_at(out, y) b.compute_at(c, y) a.compute_at(out, y)",
      "a.compute_at(out, y)\n"
      "b.compute_at(c, y)\n"
      "c.compute_at(out, y)\n"
      "out.compute_root()\n" },
    { CHAIN, "c.compute_at(out, y) b.store_at(out, y).compute_at(c, x) a.inline()",
      "a.inline()\n"
      "b.compute_at(c, x).store_at(out, y)\n"
      "c.compute_at(out, y)\n"
      "out.compute_root()\n" },
    { CHAIN, "a.inline() b.inline() c.inline() out.vectorize(x, 4)",
      "a.inline()\n"
      "b.inline()\n"
      "c.inline()\n"
      "out.compute_root().split(x, x_1, x_lanes, 4, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).vectorize(x_lanes)\n" },
    { CHAIN, "a.vectorize(x, 8)",
      "a.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, y).vectorize(x_lanes)\n"
      "b.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "c.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { HIST, "",
      "hist.compute_root().split(i, i_1, i_lanes, 8, tail: shift_inward).reorder(i_lanes, i_1).vectorize(i_lanes)\n"
      "hist.update(0).reorder(u, v)\n"
      "out.compute_root().split(i, i_1, i_lanes, 8, tail: shift_inward).reorder(i_lanes, i_1).vectorize(i_lanes)\n" },
    { HIST, "hist.compute_root().vectorize(i, 8) hist.update(0).atomic().parallel(v)",
      "hist.compute_root().split(i, i_1, i_lanes, 8, tail: shift_inward).reorder(i_lanes, i_1).vectorize(i_lanes)\n"
      "hist.update(0).reorder(u, v).atomic().parallel(v)\n"
      "out.compute_root().split(i, i_1, i_lanes, 8, tail: shift_inward).reorder(i_lanes, i_1).vectorize(i_lanes)\n" },
    { HIST, "hist.update(0).reorder(v, u)",
      "hist.compute_root()\n"
      "hist.update(0).reorder(v, u)\n"
      "out.compute_root().split(i, i_1, i_lanes, 8, tail: shift_inward).reorder(i_lanes, i_1).vectorize(i_lanes)\n" },
    { HIST, "hist.update(0).atomic().split(u, uo, ui, 16).vectorize(ui)",
      "hist.compute_root()\n"
      "hist.update(0).split(u, uo, ui, 16, tail: guard).reorder(ui, uo, v).atomic().vectorize(ui)\n"
      "out.compute_root().split(i, i_1, i_lanes, 8, tail: shift_inward).reorder(i_lanes, i_1).vectorize(i_lanes)\n" },
    { HIST, "hist.update(0).split(v, vo, vi, 32).rfactor(vo, w).reorder(u, vi, w).parallel(w) "
            "hist.rfactor.compute_root().vectorize(i, 8) hist.update(0).vectorize(i, 8)",
      "hist.update(0).split(v, vo, vi, 32)\n"
      "hist.update(0).rfactor(vo, w)\n"
      "hist.rfactor.compute_root().split(i, i_1, i_lanes, 8, tail: shift_inward).reorder(i_lanes, i_1, "
      "w).vectorize(i_lanes)\n"
      "hist.rfactor.update(0).reorder(u, vi, w).parallel(w)\n"
      "hist.compute_root()\n"
      "hist.update(0).split(i, i_1, i_lanes, 8, tail: guard).reorder(i_lanes, i_1, vo).vectorize(i_lanes)\n"
      "out.compute_root().split(i, i_1, i_lanes, 8, tail: shift_inward).reorder(i_lanes, i_1).vectorize(i_lanes)\n" },
    { HIST, "in.stage(hist.update(0)).compute_root()",
      "in.stage(hist.update(0))\n"
      "in.stage.compute_root()\n"
      "hist.compute_root().split(i, i_1, i_lanes, 8, tail: shift_inward).reorder(i_lanes, i_1).vectorize(i_lanes)\n"
      "hist.update(0).reorder(u, v)\n"
      "out.compute_root().split(i, i_1, i_lanes, 8, tail: shift_inward).reorder(i_lanes, i_1).vectorize(i_lanes)\n" },
    { SUMS, "",
      "s.compute_at(out, x_1).split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n"
      "s.update(0).split(x, x_1, x_lanes, 8, tail: guard).reorder(x_lanes, x_1, r, q).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { SUMS, "s.update(0).reorder(q, r, x).parallel(x)",
      "s.compute_root()\n"
      "s.update(0).reorder(q, r, x).parallel(x)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { SUMS, "s.update(0).fuse(r, q, t).atomic().vectorize(t, 8)",
      "s.compute_root()\n"
      "s.update(0).fuse(r, q, t).split(t, t_1, t_lanes, 8, tail: guard).reorder(x, t_lanes, "
      "t_1).atomic().vectorize(t_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { SUMS, "s.compute_at(out, x) s.update(0).unroll(q)",
      "s.compute_at(out, x)\n"
      "s.update(0).reorder(x, r, q).unroll(q)\n"
      "out.compute_root()\n" },
    { SUMS, "s.update(0).rfactor(q, z).parallel(z).vectorize(x, 8) s.rfactor.compute_root()",
      "s.update(0).rfactor(q, z)\n"
      "s.rfactor.compute_root()\n"
      "s.rfactor.update(0).split(x, x_1, x_lanes, 8, tail: guard).reorder(x_lanes, x_1, z, "
      "r).parallel(z).vectorize(x_lanes)\n"
      "s.compute_at(out, x_1).split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n"
      "s.update(0).split(x, x_1, x_lanes, 8, tail: guard).reorder(x_lanes, q, x_1).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { WINDOW, "s.update(0).separate(j).compute_at(out, y).vectorize(x, 8) s.separate.sum.inline() s.inline()",
      "s.update(0).separate(j)\n"
      "s.separate.sum.inline()\n"
      "s.inline()\n"
      "s.separate.compute_at(out, y).split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).vectorize(x_lanes)\n"
      "out.compute_root()\n" },
    { WINDOW, "s.update(0).separate(i).compute_root() s.separate.sum.update(0).unroll(j) s.update(0).unroll(i) "
              "s.compute_root()",
      "s.update(0).separate(i)\n"
      "s.separate.sum.compute_root()\n"
      "s.separate.sum.update(0).reorder(x, y, j).unroll(j)\n"
      "s.separate.compute_root()\n"
      "s.compute_root()\n"
      "s.update(0).reorder(x, y, i).unroll(i)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { "input in : u8(x, y) output out s(x, y) = u8(0) s(x, y) max= in(x+i, y+j) for j in 0..5, i in 0..3 out(x, y) = "
      "s(x, y)",
      "s.update(0).separate(j) s.update(0).double(j).compute_at(out, y).vectorize(x, 8) s.inline() "
      "s.double[1].compute_root() s.double[2].inline()",
      "s.update(0).separate(j)\n"
      "s.update(0).double(j)\n"
      "s.double[2].inline()\n"
      "s.inline()\n"
      "s.separate.sum.compute_at(s.separate, x_1).split(x, x_1, x_lanes, 32, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).vectorize(x_lanes)\n"
      "s.separate.sum.update(0).split(x, x_1, x_lanes, 32, tail: guard).reorder(x_lanes, i, x_1, "
      "y).vectorize(x_lanes)\n"
      "s.separate.compute_root().split(x, x_1, x_lanes, 32, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "s.double[1].compute_root()\n"
      "s.double[4].compute_at(out, y).split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).vectorize(x_lanes)\n"
      "out.compute_root()\n" },
    { FSUM, "",
      "s.compute_at(out, x_1).split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n"
      "s.update(0).split(x, x_1, x_lanes, 8, tail: guard).reorder(x_lanes, x_1, r, q).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { FSUM, "s.compute_at(out, x) s.update(0).reorder(r, q, x).vectorize(x, 8)",
      "s.compute_at(out, x)\n"
      "s.update(0).split(x, x_1, x_lanes, 8, tail: guard).reorder(r, q, x_lanes, x_1).vectorize(x_lanes)\n"
      "out.compute_root()\n" },
    { FSUM, "s.update(0).split(r, ro, ri, 8).unroll(ri).fuse(ro, q, t)",
      "s.compute_root()\n"
      "s.update(0).split(r, ro, ri, 8, tail: guard).fuse(ro, q, t).reorder(x, ri, t).unroll(ri)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { SCAN, "",
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "out.update(0).reorder(k, y).parallel(y)\n" },
    { SCAN, "out.update(0).reorder(k, y).parallel(y)",
      "out.compute_root()\n"
      "out.update(0).reorder(k, y).parallel(y)\n" },
    { SCAN, "out.update(0).vectorize(y, 8)",
      "out.compute_root()\n"
      "out.update(0).split(y, y_1, y_lanes, 8, tail: guard).reorder(y_lanes, y_1, k).vectorize(y_lanes)\n" },
    { "input in : i32(x, y) output out f(x, y) = in(x, y) f(x, r) = f(x, r-1) + in(x, r) for r in 1..9 f(x, 9-r) = "
      "f(x, 10-r) + f(x, 9-r) for r in 1..9 out(x, y) = f(x, y)",
      "f.update(0).checkpoint(r, ro, ri, 4, 9).reorder(x, ri, ro) f.chunk.clone(f.update(1)) "
      "f.chunk.clone.compute_root() f.chunk.compute_root() f.update(1).parallel(x)",
      "f.update(0).checkpoint(r, ro, ri, 4, 9)\n"
      "f.chunk.clone(f.update(1))\n"
      "f.checkpoint.compute_root()\n"
      "f.checkpoint.update(0).reorder(x, ri, ro)\n"
      "f.chunk.compute_root()\n"
      "f.chunk.update(0).reorder(x, ro, ri)\n"
      "f.chunk.clone.compute_root()\n"
      "f.chunk.clone.update(0).reorder(x, ro, ri)\n"
      "f.compute_root()\n"
      "f.update(1).reorder(x, r).parallel(x)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { HEAT, "",
      "a.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "t).parallel(t).vectorize(x_lanes)\n"
      "a.update(0).split(x, x_1, x_lanes, 8, tail: guard).reorder(x_lanes, x_1, t).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { HEAT, "a.update(0).parallel(x, 64).vectorize(x, 8, tail: predicate)",
      "a.compute_root()\n"
      "a.update(0).split(x, x_1, x_task, 64, tail: guard).split(x_1, x_1_1, x_lanes, 8, tail: "
      "predicate).reorder(x_task, x_lanes, x_1_1, t).parallel(x_1_1).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { COPY, "",
      "f.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n"
      "f.update(1).split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { COPY, "f.update(0).parallel(r) f.update(1).vectorize(x, 8, tail: shift_inward)",
      "f.compute_root()\n"
      "f.update(0).parallel(r)\n"
      "f.update(1).split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { COPY, "f.update(0).split(r, ro, ri, 4).reorder(ro, ri).vectorize(ri)",
      "f.compute_root()\n"
      "f.update(0).split(r, ro, ri, 4, tail: guard).reorder(ro, ri).vectorize(ri)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { TRI, "",
      "f.compute_at(out, x_1).split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n"
      "f.update(0).reorder(r, q, x)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { TRI, "f.update(0).split(x, xo, xi, 8).parallel(xo)",
      "f.compute_root()\n"
      "f.update(0).split(x, xo, xi, 8, tail: guard).reorder(r, q, xi, xo).parallel(xo)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { BEST, "",
      "b.compute_at(out, x_1).split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n"
      "b.update(0).split(x, x_1, x_lanes, 8, tail: guard).reorder(x_lanes, r, x_1).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { BEST, "b.compute_at(out, x) out.vectorize(x, 8)",
      "b.compute_at(out, x_1)\n"
      "b.update(0).reorder(x, r)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { BEST, "b.update(0).vectorize(x, 16).unroll(r)",
      "b.compute_root()\n"
      "b.update(0).split(x, x_1, x_lanes, 16, tail: guard).reorder(x_lanes, x_1, r).unroll(r).vectorize(x_lanes)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { STAGE, "",
      "g.inline()\n"
      "f.compute_root().split(x, x_1, x_lanes, 32, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n"
      "ext.compute_root()\n"
      "out.compute_root().split(x, x_1, x_lanes, 32, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { STAGE, "g.compute_root() ext.compute_at(g, x) f.compute_at(g, x)",
      "f.compute_at(g, x)\n"
      "ext.compute_at(g, x)\n"
      "g.compute_root()\n"
      "out.compute_root().split(x, x_1, x_lanes, 32, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { STAGE, "f.stage(ext).compute_root().vectorize(x, 16)",
      "f.stage(ext)\n"
      "f.inline()\n"
      "g.inline()\n"
      "f.stage.compute_root().split(x, x_1, x_lanes, 16, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n"
      "ext.compute_root()\n"
      "out.compute_root().split(x, x_1, x_lanes, 32, tail: shift_inward).reorder(x_lanes, x_1).vectorize(x_lanes)\n" },
    { PAIR, "a.compute_root().parallel(y) b.compute_root().parallel(y).vectorize(x, 8).compute_with(a, y)",
      "a.compute_root().parallel(y)\n"
      "b.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes).compute_with(a, y)\n"
      "out.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { PAIR, "a.compute_at(out, y) b.compute_at(out, y).compute_with(a, x)",
      "a.compute_at(out, y)\n"
      "b.compute_at(out, y).compute_with(a, x)\n"
      "out.compute_root()\n" },
    { TWO, "",
      "f.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "one.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n"
      "two.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { TWO, "f.compute_root() one.specialize(k > 3).vectorize(x, 8) one.specialize(k > 0).unroll(x, 2)",
      "f.compute_root()\n"
      "one.specialize(3 < k).split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).vectorize(x_lanes)\n"
      "one.specialize(0 < k).split(x, x_1, x_copies, 2, tail: shift_inward).reorder(x_copies, x_1, "
      "y).unroll(x_copies)\n"
      "one.compute_root()\n"
      "two.compute_root().split(x, x_1, x_lanes, 8, tail: shift_inward).reorder(x_lanes, x_1, "
      "y).parallel(y).vectorize(x_lanes)\n" },
    { TWO, "f.compute_root() two.compute_with(one, y)",
      "f.compute_root()\n"
      "one.compute_root()\n"
      "two.compute_root().compute_with(one, y)\n" },
};
/* clang-format on */
/* ---- For GPUs ---------------------------------------------------------------------------- */

#define DEFAULT_KERNEL                                                                                                 \
    ".compute_root().split(x, x_1, x_threads, 32, tail: guard).split(y, y_1, y_threads, 8, tail: guard)"               \
    ".reorder(x_threads, y_threads, x_1, y_1)"                                                                         \
    ".gpu_blocks(y_1).gpu_blocks(x_1).gpu_threads(y_threads).gpu_threads(x_threads)\n"
/* clang-format off */
static const Row obeyed_by_gpu[] = {
    { BLUR, "out.gpu_blocks(y).launch_bounds(64, 8)",
      "blurx" DEFAULT_KERNEL "out.compute_root().launch_bounds(64, 8).gpu_blocks(y)\n" },
    { BLUR, "", "blurx" DEFAULT_KERNEL "out" DEFAULT_KERNEL },
    { BLUR, "out.gpu_blocks(y).gpu_threads(x) blurx.compute_at(out, y).align_storage(x, 1)",
      "blurx.compute_at(out, y).align_storage(x, 1)\nout.compute_root().gpu_blocks(y).gpu_threads(x)\n" },
    { BLUR, "out.gpu_tile(x, y, xo, yo, xi, yi, 16, 4)",
      "blurx" DEFAULT_KERNEL
      "out.compute_root().split(x, xo, xi, 16, tail: guard).split(y, yo, yi, 4, tail: guard)"
      ".reorder(xi, yi, xo, yo).gpu_blocks(yo).gpu_blocks(xo).gpu_threads(yi).gpu_threads(xi)\n" },
    { BLUR, "out.gpu_blocks(y).split(x, xo, xi, 32).gpu_lanes(xi) blurx.compute_at(out, xo).store_in(shared)",
      "blurx.compute_at(out, xo).store_in(shared)\n"
      "out.compute_root().split(x, xo, xi, 32, tail: guard).reorder(xi, xo, y).gpu_blocks(y).gpu_lanes(xi)\n" },
};
/* clang-format on */

/* ---- Choice ----------------------------------------------------------------------------- */

static void check_choice(kn_context *cx)
{
    static const struct {
        const char *schedules, *name, *target,
            *expected; /* expected: the schedule's name, "" for one without, "none", or "error" */
    } rows[] = {
        { "", NULL, NULL, "none" },
        { "schedule { out.serial(x) }", NULL, NULL, "" },
        { "schedule a { out.serial(x) }", NULL, NULL, "a" },
        { "schedule a { out.serial(x) } schedule b { out.serial(x) }", NULL, NULL, "none" },
        { "schedule a { out.serial(x) } schedule b { out.serial(x) }", "b", NULL, "b" },
        { "schedule a { out.serial(x) } schedule { out.serial(x) }", NULL, NULL, "" },
        { "schedule a { out.serial(x) }", "c", NULL, "error" },
        { "schedule for aarch64 { out.serial(x) }", NULL, "x86-64", "none" },
        { "schedule for x86-64 { out.serial(x) }", NULL, "x86-64", "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char program[400];
        snprintf(program, sizeof program, "input in : u8(x) output out out(x) = in(x) %s", rows[i].schedules);
        kn_pipeline *p = kn_parse(cx, "program", program, -1);
        CHECK(p, "%s", kn_error_text(cx));
        if (!p)
            continue;
        const Schedule *s   = NULL;
        const bool      ok  = plan_choose(p, rows[i].name, rows[i].target ? target_find(rows[i].target) : NULL, &s);
        const char     *got = !ok ? "error" : !s ? "none" : s->name ? s->name : "";
        CHECK(!strcmp(got, rows[i].expected), "%s: %s, not %s", rows[i].schedules, got, rows[i].expected);
        kn_pipeline_free(p);
    }
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    for (size_t i = 0; i < sizeof obeyed / sizeof *obeyed; i++)
        check_row(cx, TARGET_CPU, &obeyed[i], true, NULL);
    for (size_t i = 0; i < sizeof obeyed_by_gpu / sizeof *obeyed_by_gpu; i++)
        check_row(cx, TARGET_GPU, &obeyed_by_gpu[i], true, NULL);
    check_choice(cx);
    kn_context_free(cx);
    return check_done();
}
