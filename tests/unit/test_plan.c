/* SPDX-License-Identifier: MIT */
/* Plans: tables of schedules that are obeyed, each with the plan it makes, and of schedules that are refused, each with
 * the message and the remedy. Every plan's text is read back as a schedule, and must make the same plan. */
#include "base/text.h"
#include "plan/plan.h"

#include "check.h"

/* ---- Programs --------------------------------------------------------------------------- */

#define BLUR                                                                                                           \
    "input in : u16(x, y) output out "                                                                                 \
    "blurx(x, y) = (in(x-1, y) + in(x, y) + in(x+1, y)) / 3 "                                                          \
    "out(x, y) = (blurx(x, y-1) + blurx(x, y) + blurx(x, y+1)) / 3"
#define CHAIN                                                                                                          \
    "input in : f32(x, y) output out "                                                                                 \
    "a(x, y) = in(x, y) + in(x+1, y) "                                                                                 \
    "b(x, y) = a(x, y) * a(x, y+1) "                                                                                   \
    "c(x, y) = b(x, y) - b(x+1, y) "                                                                                   \
    "out(x, y) = c(x, y) + c(x, y+1)"
#define WINDOW                                                                                                         \
    "input in : u16(x, y) output out "                                                                                 \
    "s(x, y) = 0 s(x, y) += (i+3) * (j+3) * in(x+i, y+j) for j in -2..3, i in -2..3 "                                  \
    "out(x, y) = s(x, y)"
#define HIST                                                                                                           \
    "input in : u8(x, y) output out "                                                                                  \
    "hist(i) = 0 hist(in(u, v)) += 1 for v in 0..in.height, u in 0..in.width "                                         \
    "out(i) = hist(i)"
#define SUMS                                                                                                           \
    "input in : i32(x, y) output out "                                                                                 \
    "s(x) = 0 s(x) += in(x, r) + q for q in 0..8, r in 0..100 "                                                        \
    "out(x) = s(x)"
#define FSUM                                                                                                           \
    "input in : f32(x, y) output out "                                                                                 \
    "s(x) = 0.0 s(x) += in(x, r) for q in 0..8, r in 0..100 "                                                          \
    "out(x) = s(x)"
#define SCAN                                                                                                           \
    "input in : f32(x, y) output out "                                                                                 \
    "out(x, y) = in(x, y) out(k, y) = out(k-1, y) * 0.5 + out(k, y) for k in 1..100"
#define HEAT                                                                                                           \
    "input in : f32(x) output out "                                                                                    \
    "a(x, t) = in(x) a(x, t) = a(x+1, t-1) + a(x-1, t-1) for t in 1..9 "                                               \
    "out(x) = a(x, 8)"
#define COPY                                                                                                           \
    "input in : i32(x) output out "                                                                                    \
    "f(x) = 0 f(2*r + 1) = in(r) for r in 0..100 "                                                                     \
    "f(x) = if x > 3 then x else 5 out(x) = f(x)"
#define TRI                                                                                                            \
    "input in : i32(x) output out "                                                                                    \
    "f(x) = 0 f(x) += in(r) for q in 0..x, r in 0..q "                                                                 \
    "out(x) = f(x)"
#define BEST                                                                                                           \
    "input in : i32(x) output out "                                                                                    \
    "b(x) = (0, 0) b(x) = if in(x + r) > b(x).0 then (in(x + r), r) else b(x) for r in 0..9 "                          \
    "out(x) = b(x).1"
#define FOR_CPUS "parallel and vectorize are for CPUs; --target cuda or --target opencl is for GPUs"
#define STAGE                                                                                                          \
    "input in : u8(x) output out f(x) = in(x) extern stage ext(f) : u8(x) g(x) = ext(x) + 1 out(x) = g(x) + g(x+1)"
#define PAIR                                                                                                           \
    "input in : f32(x, y) output out "                                                                                 \
    "a(x, y) = sqrt(in(x-1, y)) "                                                                                      \
    "b(x, y) = sqrt(in(x, y-1)) "                                                                                      \
    "out(x, y) = a(x, y) + a(x+1, y) + b(x, y) + b(x+1, y)"
#define TWO                                                                                                            \
    "input in : f32(x, y) param k : i32 output one, two "                                                              \
    "f(x, y) = sqrt(in(x, y)) * sqrt(in(x+1, y)) + sqrt(in(x, y+1)) "                                                  \
    "one(x, y) = f(x, y) two(x, y) = f(x, y+1)"

typedef struct Row {
    const char *program, *schedule, *expected; /* the plan's text; of a refused schedule "message = remedy" */
} Row;

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

/* ---- Refused ---------------------------------------------------------------------------- */

/* clang-format off */
static const Row refused[] = {
    { BLUR, "out.inline()",
      "`out` cannot be inlined: it is an output, stored where the caller says = leave the directive out" },
    { HIST, "hist.inline()",
      "`hist` cannot be inlined: it has updates, which need its storage = compute_root() or compute_at(f, loop)" },
    { TRI, "f.inline()",
      "`f` cannot be inlined: it has updates, which need its storage = compute_root() or compute_at(f, loop)" },
    { STAGE, "ext.inline()",
      "`ext` cannot be inlined: it is an extern stage, which has no expression = compute_root() or compute_at(f, "
      "loop)" },
    { STAGE, "f.inline()",
      "`f` cannot be inlined: it is read by an extern stage, as a whole = compute_root() or compute_at(f, loop)" },
    { BLUR, "blurx.inline().vectorize(x, 8)",
      "`blurx` is inlined: it has no loops and no storage for `vectorize` = compute_root() or compute_at(f, loop) "
      "instead of inline()" },
    { BLUR, "blurx.inline().store_root()",
      "`blurx` is inlined: it has no loops and no storage for `store_root` = compute_root() or compute_at(f, loop) "
      "instead of inline()" },
    { BLUR, "out.vectorize(x)",
      "the extent of the loop `x` is not known, and `vectorize` needs it = give a factor: vectorize(x, 8)" },
    { BLUR, "out.unroll(y)",
      "the extent of the loop `y` is not known, and `unroll` needs it = give a factor: unroll(y, 8)" },
    { BLUR, "out.vectorize(x, 2048)",
      "a vector has at most 1024 lanes" },
    { BLUR, "out.bound(x, 0, 5000).vectorize(x)",
      "the loop `x` has 5000 iterations: a vector has at most 1024 lanes = give a factor" },
    { BLUR, "out.vectorize(x, 8).vectorize(y, 8)",
      "`y` cannot be vectorized too: `out` has a vector loop, `x` = unroll it instead" },
    { BLUR, "out.unroll(x, 1000).unroll(y, 5)",
      "`out` would be copied more than 4096 times = smaller factors" },
    { BLUR, "out.vectorize(x, tail: guard, 8)",
      "wrong arguments for `vectorize` = vectorize(loop[, factor][, tail: …])" },
    { BLUR, "out.parallel(y, tail: guard)",
      "there is no tail: without a factor, `parallel` takes the loop as it is = give a factor too" },
    { BLUR, "out.split(x, xo, xi, 8).vectorize(xi).split(xi, a, b, 2)",
      "the loop `xi` of `out` is vectorized already = split before it" },
    { BLUR, "out.split(x, xo, xi, 8).unroll(xi).vectorize(xi, 4)",
      "the loop `xi` of `out` is unrolled already = vectorize before it" },
    { BLUR, "out.split(x, xo, xi, 8).vectorize(xi).fuse(xi, xo, t)",
      "the loop `xi` of `out` is vectorized already = fuse before it" },
    { BLUR, "out.bound(x, 0, 8).vectorize(x).reorder(y, x).parallel(y)",
      "the parallel loop `y` is inside the vector loop `x` = reorder the vector loop inside" },
    { BLUR, "out.atomic()",
      "`atomic` is for updates: a pure definition writes each place once = out.update(0).atomic()" },
    { BLUR, "out.compute_at(blurx, x)",
      "`out` is an output: it is computed as a whole, into the caller's buffer = compute_root(), or nothing: outputs "
      "are computed at root" },
    { BLUR, "out.store_at(blurx, x)",
      "`out` is an output: it is computed as a whole, into the caller's buffer = compute_root(), or nothing: outputs "
      "are computed at root" },
    { BLUR, "blurx.compute_at(blurx, x)",
      "`blurx` cannot be computed or stored inside its own loops = name a loop of a function that reads it" },
    { BLUR, "blurx.store_at(out, y)",
      "`blurx` is stored inside a loop but computed at root = compute_at(f, loop) beside it" },
    { BLUR, "blurx.compute_at(out, y).store_at(out, x)",
      "`blurx` is computed at the loop `y` of `out`, which is not inside where it is stored, the loop `x` of `out` = "
      "store it at that level, or at a loop around it" },
    { BLUR, "out.parallel(y) blurx.store_root().compute_at(out, y)",
      "`blurx` is stored outside the parallel loop `y` of `out` and computed inside: iterations that run at once "
      "would share its storage = blurx.store_at(out, y), or inside that loop" },
    { BLUR, "out.parallel(x) blurx.store_at(out, y).compute_at(out, x)",
      "`blurx` is stored outside the parallel loop `x` of `out` and computed inside: iterations that run at once "
      "would share its storage = blurx.store_at(out, x), or inside that loop" },
    { CHAIN, "a.compute_at(b, y) b.inline()",
      "`b` is inlined: it has no loops = name a loop of the function that `b` is inlined into, or b.compute_root()" },
    { CHAIN, "b.compute_root() c.compute_root() a.compute_at(c, y)",
      "`a` cannot be computed inside the loop `y` of `c`: `b` reads it outside = compute_root(), or a loop around "
      "all that read it" },
    { CHAIN, "c.compute_at(a, y) a.compute_root()",
      "`c` cannot be inside a loop of `a`, which does not read it = name a loop of a function that reads it" },
    { CHAIN, "a.compute_at(c, y) c.compute_at(a, x) b.compute_root()",
      "`c` cannot be inside a loop of `a`, which does not read it = name a loop of a function that reads it" },
    { CHAIN, "c.compute_at(out, x) b.compute_at(out, y) a.store_at(c, x).compute_at(out, y)",
      "`a` is computed at the loop `y` of `out`, which is not inside where it is stored, the loop `x` of `c` = store "
      "it at that level, or at a loop around it" },
    { TWO, "f.compute_at(one, y)",
      "`f` cannot be computed inside the loop `y` of `one`: `two` reads it outside = compute_root(), or a loop "
      "around all that read it" },
    { STAGE, "g.compute_root() f.compute_at(ext, x)",
      "`ext` has no loops: it is an extern stage = name a loop of a function that reads it" },
    { STAGE, "f.compute_at(g, x) g.compute_root()",
      "`f` cannot be computed inside the loop `x` of `g`: `ext` reads it outside = compute_root(), or a loop around "
      "all that read it" },
    { STAGE, "ext.stream()",
      "`ext` is an extern stage: its stores are not Kiln's = leave it out" },
    { HIST, "hist.compute_at(out, i) hist.update(0).parallel(v)",
      "the loop `v` cannot be parallel: steps of update 0 of `hist` may write to the same place = atomic() beside "
      "it; or rfactor" },
    { HIST, "hist.update(0).parallel(v)",
      "the loop `v` cannot be parallel: steps of update 0 of `hist` may write to the same place = atomic() beside "
      "it; or rfactor" },
    { HIST, "hist.update(0).vectorize(u, 8)",
      "the loop `u` cannot be vectorized: steps of update 0 of `hist` may write to the same place = atomic() beside "
      "it; or rfactor" },
    { HIST, "hist.compute_root().atomic()",
      "`atomic` is for updates: a pure definition writes each place once = hist.update(0).atomic()" },
    { FSUM, "s.update(0).atomic()",
      "`atomic` would add floats in any order, which is another result = leave it out: the loops over the function's "
      "arguments can still run at once" },
    { FSUM, "s.update(0).parallel(r)",
      "the loop `r` cannot be parallel: the float result of update 0 of `s` depends on the order of its steps = "
      "parallel or vectorize a loop over the function's arguments; atomic() and rfactor keep the result of integers "
      "only" },
    { FSUM, "s.update(0).vectorize(r, 8)",
      "the loop `r` cannot be vectorized: the float result of update 0 of `s` depends on the order of its steps = "
      "parallel or vectorize a loop over the function's arguments; atomic() and rfactor keep the result of integers "
      "only" },
    { FSUM, "s.update(0).reorder(q, r)",
      "update 0 of `s` takes its steps in another order: with floats that is another result = keep the reduction "
      "loops in their order, or let it add integers" },
    { FSUM, "s.update(0).split(q, qo, qi, 4).reorder(qo, qi)",
      "update 0 of `s` takes its steps in another order: with floats that is another result = keep the reduction "
      "loops in their order, or let it add integers" },
    { FSUM, "s.update(0).fuse(q, r, t)",
      "update 0 of `s` takes its steps in another order: with floats that is another result = keep the reduction "
      "loops in their order, or let it add integers" },
    { FSUM, "s.update(0).rfactor(r, w)",
      "`rfactor` would add floats in another order, which is another result = leave it out: the loops over the "
      "function's arguments can still run at once" },
    { "input in : f32(x, y) output out s(x, y) = 0.0 s(x, y) += in(x+i, y+j) for j in 0..3, i in 0..3 out(x, y) = "
      "s(x, y)", "s.update(0).separate(i)",
      "`separate` would add floats in another order, which is another result = leave it out, or let it add integers" },
    { SUMS, "s.update(0).separate(q)",
      "`q` cannot be separated: what is gathered has to be b * h, b over no other reduction variable (1 where it is "
      "not a sum), and h over `q` only in a*y + c*q, with one argument y of `s` that h is over in no other way = "
      "separate another reduction variable, or leave it out" },
    { HIST, "hist.update(0).separate(u)",
      "`separate` needs an update f(x, …) = f(x, …) op e at every point that reads itself nowhere else, with an "
      "operation that is exact in any order = leave it out" },
    { "input in : i32(x) output out s(x) = 0 s(x) += in(x+i) for i in 0..9 out(x) = s(x)", "s.update(0).separate(i)",
      "`i` is the only reduction variable: nothing is left to be summed before = leave it out; `stage` keeps what is "
      "read" },
    { "input in : i32(x, y) output out s(x, y) = 0 s(x, y) += in(x+i, y+j) for j in 0..3, i in 0..j out(x, y) = s(x, "
      "y)", "s.update(0).separate(j)",
      "the bounds of a reduction variable of `s` depend on other variables of the update = let the bounds be "
      "constants or sizes, with `where` for the rest" },
    { "input in : i32(x, y) output out s(x, y) = 0 s(x, y) += in(x+i, y+j) + j for j in 0..3, i in 0..4 out(x, y) = "
      "s(x, y)", "s.update(0).separate(j)",
      "`j` cannot be separated: what is gathered has to be b * h, b over no other reduction variable (1 where it is "
      "not a sum), and h over `j` only in a*y + c*j, with one argument y of `s` that h is over in no other way = "
      "separate another reduction variable, or leave it out" },
    { "input in : i32(x, y) output out s(x, y) = 0 s(x, y) += in(x+i, y+j) + in(x+i, y) for j in 0..3, i in 0..4 "
      "out(x, y) = s(x, y)", "s.update(0).separate(j)",
      "`j` cannot be separated: what is gathered has to be b * h, b over no other reduction variable (1 where it is "
      "not a sum), and h over `j` only in a*y + c*j, with one argument y of `s` that h is over in no other way = "
      "separate another reduction variable, or leave it out" },
    { "input in : i32(x, y) output out s(x, y) = 0 s(x, y) max= in(x+i, y+j) * j for j in 0..3, i in 0..4 out(x, y) "
      "= s(x, y)", "s.update(0).separate(j)",
      "`j` cannot be separated: what is gathered has to be b * h, b over no other reduction variable (1 where it is "
      "not a sum), and h over `j` only in a*y + c*j, with one argument y of `s` that h is over in no other way = "
      "separate another reduction variable, or leave it out" },
    { WINDOW, "s.update(0).vectorize(x, 8).separate(j)",
      "nothing may come before `separate`: there is `vectorize` = begin the update's directives with separate; the "
      "others then go to the two functions it makes" },
    { WINDOW, "s.separate(x)",
      "`separate` is for an update = f.update(0).separate(r)" },
    { WINDOW, "s.update(0).separate(x)",
      "the loop `x` does not run over the reduction = these do: j, i" },
    { SCAN, "out.update(0).parallel(k)",
      "the loop `k` cannot be parallel: a step of update 0 of `out` may need what another one writes = parallel or "
      "vectorize a loop over the function's arguments" },
    { SCAN, "out.update(0).vectorize(k, 4)",
      "the loop `k` cannot be vectorized: a step of update 0 of `out` may need what another one writes = parallel or "
      "vectorize a loop over the function's arguments" },
    { SCAN, "out.update(0).atomic()",
      "`atomic` needs an update f(…) = f(…) op e that reads itself nowhere else, with an operation that is exact in "
      "any order = leave it out" },
    { SCAN, "out.update(0).rfactor(k, w)",
      "`rfactor` needs an update f(…) = f(…) op e that reads itself nowhere else, with an operation that is exact in "
      "any order = leave it out" },
    { SCAN, "out.update(0).split(k, ko, ki, 8).reorder(ko, ki)",
      "update 0 of `out` takes its steps in another order, and its result may depend on it: it is not f(…) = f(…) op "
      "e with integers = keep the reduction loops in their order" },
    { SCAN, "out.update(0).split(k, ko, ki, 8, tail: shift_inward)",
      "shift_inward would run some of update 0 of `out` twice, and it reads itself = tail: guard, or tail: predicate" },
    { SCAN, "out.update(0).vectorize(y, 8, tail: shift_inward)",
      "shift_inward would run some of update 0 of `out` twice, and it reads itself = tail: guard, or tail: predicate" },
    { HEAT, "a.update(0).reorder(t, x)",
      "update 0 of `a` reads other points of the step before: the loop `x` over its points cannot be outside the "
      "loop `t` over its steps = nest it inside" },
    { HEAT, "a.update(0).fuse(x, t, z)",
      "update 0 of `a` reads other points of the step before: a loop cannot go through its steps and its points "
      "together = fuse loops of one kind" },
    { HEAT, "a.update(0).parallel(t)",
      "the loop `t` cannot be parallel: a step of update 0 of `a` may need what another one writes = parallel or "
      "vectorize a loop over the function's arguments" },
    { HEAT, "a.update(0).tile(x, t, xo, to, xi, ti, 8, 2)",
      "update 0 of `a` reads other points of the step before: the loop `xo` over its points cannot be outside the "
      "loop `ti` over its steps = nest it inside" },
    { COPY, "f.update(0).split(r, ro, ri, 8, tail: shift_inward)",
      "shift_inward would run some of update 0 of `f` twice, and it takes each step once = tail: guard, or tail: "
      "predicate" },
    { TRI, "f.update(0).reorder(x, r, q)",
      "the loop `x` of update 0 of `f` cannot be inside the loop `q` that it bounds = nest it outside" },
    { TRI, "f.update(0).vectorize(x, 8)",
      "the loop `x` cannot be vectorized: it bounds a reduction of update 0 of `f`, whose steps would differ between "
      "the lanes = vectorize another loop" },
    { TRI, "f.update(0).reorder(q, r)",
      "the loop `q` of update 0 of `f` cannot be inside the loop `r` that it bounds = nest it outside" },
    { TRI, "f.update(0).fuse(r, q, t)",
      "the loop `t` of update 0 of `f` fuses variables of which one bounds the other = fuse loops whose bounds are "
      "apart" },
    { TRI, "f.update(0).rfactor(r, w)",
      "the bounds of `r` depend on other variables of the update = rfactor an outer reduction variable" },
    { BEST, "b.update(0).parallel(r)",
      "the loop `r` cannot be parallel: a step of update 0 of `b` may need what another one writes = parallel or "
      "vectorize a loop over the function's arguments" },
    { BEST, "b.update(0).rfactor(r, w)",
      "`rfactor` needs an update f(…) = f(…) op e that reads itself nowhere else, with an operation that is exact in "
      "any order = leave it out" },
    { BEST, "b.update(0).vectorize(x, 8).vectorize(r)",
      "`r` cannot be vectorized too: update 0 of `b` has a vector loop, `x` = unroll it instead" },
    { BLUR, "out.fold_storage(y, 4)",
      "`out` is an output: its storage is the caller's = schedule a function before it, or leave the directive out" },
    { BLUR, "out.align_storage(x, 4)",
      "`out` is an output: its storage is the caller's = schedule a function before it, or leave the directive out" },
    { BLUR, "out.reorder_storage(y, x)",
      "`out` is an output: its storage is the caller's = schedule a function before it, or leave the directive out" },
    { BLUR, "out.store_in(stack)",
      "`out` is an output: its storage is the caller's = schedule a function before it, or leave the directive out" },
    { BLUR, "out.align_bounds(x, 4)",
      "`out` is an output: it is computed over the box that the caller gives, no more = leave it out" },
    { BLUR, "blurx.compute_root().bound(x, 0, 0)",
      "an extent of 0 is no promise = bound(arg, min, extent)" },
    { BLUR, "blurx.compute_root().bound(x, 0, i32(in(0, 0)))",
      "an expression of a schedule cannot read a function = use sizes, parameters and constants" },
    { BLUR, "out.specialize(in(0, 0) > 3)",
      "an expression of a schedule cannot read a function = use sizes, parameters and constants" },
    { BLUR, "out.specialize(in.width > 8).vectorize(x, 8) blurx.compute_at(out, y)",
      "nothing can be computed inside the loops of `out`: they are specialized = compute_root(), or out without "
      "specialize" },
    { BLUR, "out.specialize(in.width > 8).specialize(in.width > 9)",
      "a chain has one `specialize` = begin a new statement, or write both conditions with &&" },
    { BLUR, "out.specialize(in.width > 8).compute_root()",
      "`compute_root` is about all versions of the definition = put it before specialize" },
    { BLUR, "out.specialize(in.width > 8).vectorize(x, 2000)",
      "a vector has at most 1024 lanes" },
    { BLUR, "out.specialize(in.width > 8).split(x, xo, xi, 8) out.vectorize(xi)",
      "`out` has no loop `xi` here = its loops are x, y" },
    { BLUR, "out.prefetch(in, y, 2) blurx.compute_root()",
      "`out` does not read `in`, nor does anything that is computed in its loop `y` = name a function that it reads" },
    { BLUR, "out.prefetch(blurx, y, 2) blurx.inline()",
      "`out` does not read `blurx`, which is inlined = name a function that it reads" },
    { BLUR, "out.bound(x, 0, 8).vectorize(x).prefetch(blurx, x, 2) blurx.compute_root()",
      "`x` is the vector loop or inside it: a prefetch is once per vector = name a loop outside it" },
    { BLUR, "blurx.compute_root() out.prefetch(blurx, y, 2).split(y, yo, yi, 2)",
      "`out` has no loop `y` in the end = put prefetch after the directives that change the loops" },
    { BLUR, "in.stage(out)",
      "`out` does not read `in` = name functions that read it; what they are inlined into reads it too" },
    { BLUR, "blurx.stage(blurx)",
      "`blurx` does not read `blurx` = name functions that read it; what they are inlined into reads it too" },
    { BLUR, "in.stage(blurx).inline().compute_at(blurx, x).vectorize(x)",
      "the extent of the loop `x` is not known, and `vectorize` needs it = give a factor: vectorize(x, 8)" },
    { BLUR, "in.stage(blurx).store_at(out, y)",
      "`in.stage` is stored inside a loop but computed at root = compute_at(f, loop) beside it" },
    { HIST, "hist.update(0).reorder(v, u).rfactor(u, w)",
      "only splits of reduction variables may come before `rfactor`, not `reorder` = begin the update's directives "
      "with rfactor; the others then go to the two functions it makes" },
    { HIST, "hist.update(0).rfactor(u, i)",
      "`i` is taken = choose another name" },
    { HIST, "hist.rfactor(i, w)",
      "`rfactor` is for an update = f.update(0).rfactor(r, v)" },
    { HIST, "hist.update(0).rfactor(u, w).compute_root()",
      "`compute_root` is about the function as a whole, not one update = hist.rfactor.compute_root(…)" },
    { HIST, "hist.update(0).split(u, uo, ui, 8).rfactor(uo, ui)",
      "`hist` already has a loop `ui` = choose another name" },
    { SUMS, "s.update(0).rfactor(x, w)",
      "the loop `x` does not run over the reduction = these do: q, r" },
    { PAIR, "a.compute_root() b.compute_root().vectorize(x, 8).parallel(y).compute_with(a, y)",
      "the loops of `b` down to `y` are not like those of `a` = give both the same splits, order and kinds of loops" },
    { PAIR, "a.compute_root() b.compute_at(out, y).compute_with(a, y)",
      "`b` and `a` are computed at different levels = give both the same compute_at" },
    { PAIR, "a.compute_root().compute_with(a, y)",
      "`a` cannot be computed with `a`: it is the same function = name a function with loops of its own" },
    { PAIR, "a.inline() b.compute_root().compute_with(a, y)",
      "`b` cannot be computed with `a`: that is inlined = name a function with loops of its own" },
    { PAIR, "b.compute_root().compute_with(in, y)",
      "`b` cannot be computed with `in`: that has no loops = name a function with loops of its own" },
    { CHAIN, "a.compute_root() b.compute_root().compute_with(a, y)",
      "`b` cannot be computed with `a`: one of them needs the other = leave it out" },
    { CHAIN, "a.compute_root() b.inline() c.compute_root().compute_with(a, y)",
      "`c` cannot be computed with `a`: one of them needs the other = leave it out" },
    { PAIR, "a.compute_root().compute_with(b, y) b.compute_root().compute_with(a, y)",
      "`a` cannot be computed with `b`: that is computed with another function itself = name a function with loops "
      "of its own" },
    { PAIR, "a.compute_root().bound(x, 0, 8).vectorize(x).reorder(y, x) b.compute_root().bound(x, 0, "
            "8).vectorize(x).reorder(y, x).compute_with(a, x)",
      "the vector loop `x` cannot be shared = name a loop outside it" },
    { PAIR, "a.compute_root().specialize(in.width > 3) b.compute_root().compute_with(a, y)",
      "a specialized definition cannot be computed with another = leave out specialize" },
    { STAGE, "ext.vectorize(x, 8)",
      "`ext` is an extern stage: it has no loops for `vectorize` = compute_root() or compute_at(f, loop) are for it" },
    { STAGE, "ext.compute_with(f, x)",
      "`ext` cannot be computed with `f`: one of them needs the other = leave it out" },
    { HIST, "hist.compute_with(out, i) hist.update(0).compute_with(out, i)",
      "`hist` is computed with another function already = leave one of them out" },
    { PAIR, "a.compute_root().compute_with(out, y)",
      "`a` cannot be computed with `out`: one of them needs the other = leave it out" },
    { PAIR, "a.compute_root() b.compute_root().compute_with(a, y).compute_with(a, x)",
      "`b` is computed with another function already = leave one of them out" },
    { BLUR, "out.gpu_blocks(y)",
      "`gpu_blocks` is for GPUs: not for this target = " FOR_CPUS },
    { BLUR, "out.gpu_tile(x, y, xo, yo, xi, yi, 8, 8)",
      "`gpu_tile` is for GPUs: not for this target = " FOR_CPUS },
    { BLUR, "out.gpu_threads(x)",
      "`gpu_threads` is for GPUs: not for this target = " FOR_CPUS },
    { BLUR, "blurx.compute_root().store_in(shared)",
      "`shared` memory is of GPUs: not of this target = stack, heap and register are for CPUs" },
    { BLUR, "out.gpu_lanes(x)",
      "`gpu_lanes` is for GPUs: not for this target = " FOR_CPUS },
};

/* ---- For GPUs ---------------------------------------------------------------------------- */

#define DEFAULT_KERNEL                                                                                                 \
    ".compute_root().split(x, x_1, x_threads, 32, tail: guard).split(y, y_1, y_threads, 8, tail: guard)"               \
    ".reorder(x_threads, y_threads, x_1, y_1)"                                                                         \
    ".gpu_blocks(y_1).gpu_blocks(x_1).gpu_threads(y_threads).gpu_threads(x_threads)\n"

static const Row obeyed_by_gpu[] = {
    { BLUR, "out.gpu_blocks(y).launch_bounds(64, 8)",
      "blurx" DEFAULT_KERNEL "out.compute_root().launch_bounds(64, 8).gpu_blocks(y)\n" },
    { BLUR, "", "blurx" DEFAULT_KERNEL "out" DEFAULT_KERNEL },
    { BLUR, "out.gpu_tile(x, y, xo, yo, xi, yi, 16, 4)",
      "blurx" DEFAULT_KERNEL
      "out.compute_root().split(x, xo, xi, 16, tail: guard).split(y, yo, yi, 4, tail: guard)"
      ".reorder(xi, yi, xo, yo).gpu_blocks(yo).gpu_blocks(xo).gpu_threads(yi).gpu_threads(xi)\n" },
    { BLUR, "out.gpu_blocks(y).split(x, xo, xi, 32).gpu_lanes(xi) blurx.compute_at(out, xo).store_in(shared)",
      "blurx.compute_at(out, xo).store_in(shared)\n"
      "out.compute_root().split(x, xo, xi, 32, tail: guard).reorder(xi, xo, y).gpu_blocks(y).gpu_lanes(xi)\n" },
};

static const Row refused_by_gpu[] = {
    { BLUR, "out.launch_bounds(2048)", "a block has at most 1024 threads" },
    { BLUR, "out.launch_bounds(64, 100)", "a multiprocessor holds at most 32 blocks" },
    { BLUR, "out.parallel(y)",
      "`parallel` is for CPUs: not for this target = gpu_blocks and gpu_threads are for GPUs" },
    { BLUR, "out.reorder(y, x).gpu_threads(x).gpu_blocks(y)",
      "the block loop `y` of `out` is inside the loop `x` of the same kernel = reorder it outside" },
    { BLUR, "out.split(x, xo, xi, 8).reorder(xo, xi, y).gpu_threads(y, xo)",
      "the thread loops of `out` are not one directly in the other: `xi` is between `xo` and another = "
      "reorder `xi` inside or outside both" },
    { BLUR, "out.split(x, xo, xi, 8).split(y, yo, yi, 8).gpu_threads(xo, xi, yo, yi)",
      "`out` has more than 3 thread loops, and a device has 3 axes = fuse two of them, or leave one serial" },
    { HIST, "hist.update(0).gpu_threads(u)",
      "the loop `u` cannot be thread: steps of update 0 of `hist` may write to the same place = "
      "atomic() beside it; or rfactor" },
    { BLUR, "out.gpu_threads(y) blurx.compute_at(out, y).store_root()",
      "`blurx` is stored outside the parallel loop `y` of `out` and computed inside: iterations that run at once would "
      "share its storage = blurx.store_at(out, y), or inside that loop" },
};
/* clang-format on */

/* ---- Running ---------------------------------------------------------------------------- */

typedef struct Making {
    kn_pipeline *pipeline;
    TargetKind   kind;
    Arena        arena;
    Plan        *plan;
    Text         text;
} Making;

static void make(void *arg)
{
    Making         *m = arg;
    const Schedule *s;
    text_init(&m->text, &m->arena);
    m->plan = plan_choose(m->pipeline, NULL, NULL, &s)
                  ? plan_make(m->pipeline, s, &m->arena, (PlanTarget){ .kind = m->kind })
                  : NULL;
    if (m->plan)
        plan_print(&m->text, m->plan);
}

/* The plan of a program and a schedule as text; or the first error, as "message = remedy". */
static const char *plan_text(kn_context *cx, TargetKind kind, const char *program, const char *schedule, Arena *keep,
                             bool *ok)
{
    Making m = { .pipeline = kn_parse(cx, "program", program, -1), .kind = kind };
    *ok      = false;
    if (!m.pipeline)
        return kn_error_text(cx);
    if (!*schedule || kn_schedule_parse(m.pipeline, "schedule", schedule, -1) == KN_OK) {
        context_begin(cx);
        arena_init(&m.arena, cx);
        *ok = context_try(cx, make, &m) && m.plan;
    }
    const char *text = "";
    if (*ok)
        text = arena_strdup(keep, text_string(&m.text));
    else if (cx->diags.count)
        text = arena_printf(keep, "%s%s%s", cx->diags.at[0].message, cx->diags.at[0].remedy ? " = " : "",
                            cx->diags.at[0].remedy ? cx->diags.at[0].remedy : "");
    arena_free(&m.arena);
    kn_pipeline_free(m.pipeline);
    return text;
}

/* kn_check obeys and refuses what compiling does, and says the same of what it refuses. */
static void check_agrees(kn_context *cx, const Row *row, bool obeys)
{
    kn_pipeline *p = kn_parse(cx, "program", row->program, -1);
    if (p && (!*row->schedule || kn_schedule_parse(p, "schedule", row->schedule, -1) == KN_OK)) {
        const bool checked = kn_check(p, NULL) == KN_OK;
        char      *said    = strdup(kn_error_text(cx));
        CHECK(checked == obeys, "%s\n  kn_check says %s", row->schedule, said);
        CHECK(obeys || (!kn_compile(p, NULL) && !strcmp(said, kn_error_text(cx))),
              "%s\n  kn_check says %s, kn_compile %s", row->schedule, said, kn_error_text(cx));
        free(said);
    }
    kn_pipeline_free(p);
}

static void check_row(kn_context *cx, TargetKind kind, const Row *row, bool obeys, bool *errors)
{
    Arena keep;
    bool  ok;
    arena_init(&keep, cx);
    const char *text = plan_text(cx, kind, row->program, row->schedule, &keep, &ok);
    for (int id = 0; !obeys && id < ERROR_COUNT; id++)
        errors[id] |= diag_has(cx, (ErrorId)id);
    CHECK(ok == obeys && !strcmp(text, row->expected), "%s\n  gives    %s\n  not      %s", row->schedule, text,
          row->expected);
    if (ok) {
        const char *again = plan_text(cx, kind, row->program, text, &keep, &ok);
        CHECK(ok && !strcmp(again, text), "%s\n  reads back as %s", text, again);
    }
    arena_free(&keep);
    if (kind == TARGET_CPU)
        check_agrees(cx, row, obeys);
}

/* ---- Functions -------------------------------------------------------------------------- */

static void print_list(Text *t, int count, const Expr *const *e, const char *between)
{
    for (int i = 0; i < count; i++) {
        text_add(t, i ? between : "");
        expr_print(t, e[i]);
    }
}

/* The functions of the plan, one definition after the other. */
static void print_functions(void *arg)
{
    Making *m = arg;
    Text   *t = &m->text;
    make(m);
    text_init(t, &m->arena);
    for (int i = 0; m->plan && i < m->plan->func_count; i++) {
        const Func *f = m->plan->funcs[i].func;
        if (f->kind != FUNC_DEFINED)
            continue;
        text_printf(t, "%s(", f->name);
        for (int d = 0; d < f->rank; d++)
            text_printf(t, "%s%s", d ? ", " : "", f->args[d]);
        text_add(t, ") = ");
        print_list(t, f->component_count, f->values, " | ");
        for (int k = 0; k < f->update_count; k++) {
            const Update *u = &f->updates[k];
            text_printf(t, "; %s(", f->name);
            print_list(t, f->rank, u->args, ", ");
            text_add(t, ") = ");
            print_list(t, f->component_count, u->values, " | ");
            for (int r = 0; r < u->rvar_count; r++) {
                text_printf(t, " for %s in ", u->rvars[r].name);
                print_list(t, 2, (const Expr *[]){ u->rvars[r].lo, u->rvars[r].hi }, "..");
            }
            if (u->where) {
                text_add(t, " where ");
                expr_print(t, u->where);
            }
        }
        text_add(t, "\n");
    }
}

/* Variables have names of their own, also where an argument is named like a size; stage, rfactor and inlining keep the
 * meaning. */
/* clang-format off */
static const Row functions[] = {
    { HIST, "",
      "hist(hist.i) = 0; hist(i32(in(hist.u0.u, hist.u0.v))) = hist(i32(in(hist.u0.u, hist.u0.v))) + 1 for hist.u0.v "
      "in 0..in.extent.1 for hist.u0.u in 0..in.extent.0\n"
      "out(out.i) = hist(out.i)\n" },
    { "input in : u8(x) output out out(count) = in(count) + in(count+1)", "",
      "out(out.count.1) = in(out.count.1) + in(out.count.1 + 1)\n" },
    { "input in : u8(x) output out a(x) = in(x-1) + in(x+1) b(x) = a(x-1) + a(x+1) out(x) = b(x-1)",
      "a.inline() b.inline()",
      "out(out.x) = in(out.x - 3) + in(out.x - 1) + (in(out.x - 1) + in(out.x + 1))\n" },
    { "input in : u8(x) output out a(x) = if x > 0 then in(x) else 0 out(x) = a(7 - x) + a(2*x)", "a.inline()",
      "out(out.x) = (if 0 < out.x * -1 + 7 then in(out.x * -1 + 7) else u8(0)) + (if 0 < out.x * 2 then in(out.x * "
      "2) else u8(0))\n" },
    { "input in : u8(x) output out a(x) = in(x) out(x) = a(x) + a(x+1)", "in.stage(a) a.inline()",
      "in.stage(in.stage.x) = in(in.stage.x)\nout(out.x) = in.stage(out.x) + in.stage(out.x + 1)\n" },
    { "input in : i32(x) output out s() = 7 s() = s() - in(r) for r in 0..100 out() = s()",
      "s.update(0).split(r, ro, ri, 8).rfactor(ri, v)",
      "s.rfactor(s.rfactor.v) = 0; s.rfactor(s.rfactor.v) = s.rfactor(s.rfactor.v) - in(min(s.rfactor.u0.ro * 8 + "
      "s.rfactor.v, 99)) for s.rfactor.u0.ro in 0..13 where "
      "s.rfactor.u0.ro * 8 + s.rfactor.v < 100\n"
      "s() = 7; s() = s() + s.rfactor(s.u0.ri) for s.u0.ri in 0..8\nout() = s()\n" },
    { "input in : u8(x) output out s() = u8(9) s() min= in(r) for r in 4..20 out() = s()",
      "s.update(0).split(r, ro, ri, 8).rfactor(ro, v)",
      "s.rfactor(s.rfactor.v) = u8(255); s.rfactor(s.rfactor.v) = min(s.rfactor(s.rfactor.v), in(4 + s.rfactor.v * 8 "
      "+ s.rfactor.u0.ri)) for s.rfactor.u0.ri in 0..8\n"
      "s() = u8(9); s() = min(s(), s.rfactor(s.u0.ro)) for s.u0.ro in 0..2\nout() = s()\n" },
    { WINDOW, "s.update(0).separate(j)",
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) = 0; s.separate.sum(s.separate.sum.x, s.separate.sum.y) = "
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) + (s.separate.sum.u0.i + 3) * i32(in(s.separate.sum.x + "
      "s.separate.sum.u0.i, s.separate.sum.y)) for s.separate.sum.u0.i in -2..3\n"
      "s.separate(s.separate.x, s.separate.y) = s.separate.sum(s.separate.x, s.separate.y)\n"
      "s(s.x, s.y) = 0; s(s.x, s.y) = s(s.x, s.y) + (s.u0.j + 3) * s.separate(s.x, s.y + s.u0.j) for s.u0.j in -2..3\n"
      "out(out.x, out.y) = s(out.x, out.y)\n" },
    { WINDOW, "s.update(0).separate(i)",
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) = 0; s.separate.sum(s.separate.sum.x, s.separate.sum.y) = "
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) + (s.separate.sum.u0.j + 3) * i32(in(s.separate.sum.x, "
      "s.separate.sum.y + s.separate.sum.u0.j)) for s.separate.sum.u0.j in -2..3\n"
      "s.separate(s.separate.x, s.separate.y) = s.separate.sum(s.separate.x, s.separate.y)\n"
      "s(s.x, s.y) = 0; s(s.x, s.y) = s(s.x, s.y) + (s.u0.i + 3) * s.separate(s.x + s.u0.i, s.y) for s.u0.i in -2..3\n"
      "out(out.x, out.y) = s(out.x, out.y)\n" },
    { "input in : u16(x, y) output out f(x, y) = u16(sum((i+3) * (j+3) * in(x+i, y+j) for j in -2..3, i in -2..3)) "
      "out(x, y) = f(x, y)", "f.sum.update(0).separate(i) f.compute_root()",
      "f.sum.separate.sum(f.sum.separate.sum.x, f.sum.separate.sum.y) = u16(0); "
      "f.sum.separate.sum(f.sum.separate.sum.x, f.sum.separate.sum.y) = f.sum.separate.sum(f.sum.separate.sum.x, "
      "f.sum.separate.sum.y) + (u16(f.sum.separate.sum.u0.j) + u16(3)) * in(f.sum.separate.sum.x, "
      "f.sum.separate.sum.y + f.sum.separate.sum.u0.j) for f.sum.separate.sum.u0.j in -2..3\n"
      "f.sum.separate(f.sum.separate.x, f.sum.separate.y) = f.sum.separate.sum(f.sum.separate.x, f.sum.separate.y)\n"
      "f.sum(f.sum.x, f.sum.y) = u16(0); f.sum(f.sum.x, f.sum.y) = f.sum(f.sum.x, f.sum.y) + (u16(f.sum.u0.i) + "
      "u16(3)) * f.sum.separate(f.sum.x + f.sum.u0.i, f.sum.y) for f.sum.u0.i in -2..3\n"
      "f(f.x, f.y) = u16(i32(f.sum(f.x, f.y)))\n"
      "out(out.x, out.y) = f(out.x, out.y)\n" },
    { "input in : u8(x, y) output out s(x, y) = u8(0) s(x, y) max= in(x+i, y+j) for j in 0..7, i in 0..7 out(x, y) = "
      "s(x, y)", "s.update(0).separate(j)",
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) = u8(0); s.separate.sum(s.separate.sum.x, "
      "s.separate.sum.y) = max(s.separate.sum(s.separate.sum.x, s.separate.sum.y), in(s.separate.sum.x + "
      "s.separate.sum.u0.i, s.separate.sum.y)) for s.separate.sum.u0.i in 0..7\n"
      "s.separate(s.separate.x, s.separate.y) = s.separate.sum(s.separate.x, s.separate.y)\n"
      "s(s.x, s.y) = u8(0); s(s.x, s.y) = max(s(s.x, s.y), s.separate(s.x, s.y + s.u0.j)) for s.u0.j in 0..7\n"
      "out(out.x, out.y) = s(out.x, out.y)\n" },
    { "input in : i32(x, y) output out w(i) = i*i s(x, y) = 7 s(x, y) = s(x, y) - w(j) * in(2*x + i, 4*y - 2*j + 1) "
      "* w(i) * 5 * x for i in 0..3, j in 0..9 where i + x > 2 out(x, y) = s(x, y)",
      "s.update(0).separate(j) w.compute_root()",
      "w(w.i) = w.i * w.i\n"
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) = 0; s.separate.sum(s.separate.sum.x, s.separate.sum.y) = "
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) + in(2 * s.separate.sum.x + s.separate.sum.u0.i, "
      "s.separate.sum.y * 2 + 1) * w(s.separate.sum.u0.i) for s.separate.sum.u0.i in 0..3 where 2 < "
      "s.separate.sum.u0.i + s.separate.sum.x\n"
      "s.separate(s.separate.x, s.separate.y) = s.separate.sum(s.separate.x, s.separate.y)\n"
      "s(s.x, s.y) = 7; s(s.x, s.y) = s(s.x, s.y) - w(s.u0.j) * 5 * s.x * s.separate(s.x, s.y * 2 - s.u0.j) for "
      "s.u0.j in 0..9\n"
      "out(out.x, out.y) = s(out.x, out.y)\n" },
    { "input in : i32(x, y) output out s(x, y) = 0 s(x, y) += u8(edge(in)(x+i, y+j) * j) for i in 0..3, j in 0..3 "
      "out(x, y) = s(x, y)", "s.update(0).separate(i)",
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) = 0; s.separate.sum(s.separate.sum.x, s.separate.sum.y) = "
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) + i32(u8(in(min(max(s.separate.sum.x, in.min.0), in.min.0 "
      "+ in.extent.0 - 1), min(max(s.separate.sum.y + s.separate.sum.u0.j, in.min.1), in.min.1 + in.extent.1 - 1)) * "
      "s.separate.sum.u0.j)) for s.separate.sum.u0.j in 0..3\n"
      "s.separate(s.separate.x, s.separate.y) = s.separate.sum(s.separate.x, s.separate.y)\n"
      "s(s.x, s.y) = 0; s(s.x, s.y) = s(s.x, s.y) + s.separate(s.x + s.u0.i, s.y) for s.u0.i in 0..3\n"
      "out(out.x, out.y) = s(out.x, out.y)\n" },
    { "input in : i32(x, y) output out s(x, y) = u8(0) s(x, y) += u8(in(x+i, y+j) * (j + 300)) * u8(y) for i in "
      "0..3, j in 0..3 out(x, y) = s(x, y)", "s.update(0).separate(j)",
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) = u8(0); s.separate.sum(s.separate.sum.x, "
      "s.separate.sum.y) = s.separate.sum(s.separate.sum.x, s.separate.sum.y) + u8(in(s.separate.sum.x + "
      "s.separate.sum.u0.i, s.separate.sum.y)) for s.separate.sum.u0.i in 0..3\n"
      "s.separate(s.separate.x, s.separate.y) = s.separate.sum(s.separate.x, s.separate.y)\n"
      "s(s.x, s.y) = u8(0); s(s.x, s.y) = s(s.x, s.y) + u8(s.u0.j + 300) * u8(s.y) * s.separate(s.x, s.y + s.u0.j) "
      "for s.u0.j in 0..3\n"
      "out(out.x, out.y) = s(out.x, out.y)\n" },
    { "input in : i32(x, y, z) output out s(x, y, z) = 0 s(x, y, z) += i*j*k * in(x+i, y+j, z+k) for k in 0..3, j in "
      "0..3, i in 0..3 out(x, y, z) = s(x, y, z)", "s.update(0).separate(k) s.separate.sum.update(0).separate(j)",
      "s.separate.sum.separate.sum(s.separate.sum.separate.sum.x, s.separate.sum.separate.sum.y, "
      "s.separate.sum.separate.sum.z) = 0; s.separate.sum.separate.sum(s.separate.sum.separate.sum.x, "
      "s.separate.sum.separate.sum.y, s.separate.sum.separate.sum.z) = "
      "s.separate.sum.separate.sum(s.separate.sum.separate.sum.x, s.separate.sum.separate.sum.y, "
      "s.separate.sum.separate.sum.z) + s.separate.sum.separate.sum.u0.i * in(s.separate.sum.separate.sum.x + "
      "s.separate.sum.separate.sum.u0.i, s.separate.sum.separate.sum.y, s.separate.sum.separate.sum.z) for "
      "s.separate.sum.separate.sum.u0.i in 0..3\n"
      "s.separate.sum.separate(s.separate.sum.separate.x, s.separate.sum.separate.y, s.separate.sum.separate.z) = "
      "s.separate.sum.separate.sum(s.separate.sum.separate.x, s.separate.sum.separate.y, s.separate.sum.separate.z)\n"
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y, s.separate.sum.z) = 0; s.separate.sum(s.separate.sum.x, "
      "s.separate.sum.y, s.separate.sum.z) = s.separate.sum(s.separate.sum.x, s.separate.sum.y, s.separate.sum.z) + "
      "s.separate.sum.u0.j * s.separate.sum.separate(s.separate.sum.x, s.separate.sum.y + s.separate.sum.u0.j, "
      "s.separate.sum.z) for s.separate.sum.u0.j in 0..3\n"
      "s.separate(s.separate.x, s.separate.y, s.separate.z) = s.separate.sum(s.separate.x, s.separate.y, "
      "s.separate.z)\n"
      "s(s.x, s.y, s.z) = 0; s(s.x, s.y, s.z) = s(s.x, s.y, s.z) + s.u0.k * s.separate(s.x, s.y, s.z + s.u0.k) for "
      "s.u0.k in 0..3\n"
      "out(out.x, out.y, out.z) = s(out.x, out.y, out.z)\n" },
    { "input in : i32(x, y) output out s(x, y) = (0, 1) s(x, y) = (s(x, y).0 + in(x+i, y+j), s(x, y).1 * (y+j)) for "
      "i in 0..3, j in 0..3 out(x, y) = s(x, y).0 - s(x, y).1", "s.update(0).separate(j)",
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) = 0 | 1; s.separate.sum(s.separate.sum.x, "
      "s.separate.sum.y) = s.separate.sum(s.separate.sum.x, s.separate.sum.y).0 + in(s.separate.sum.x + "
      "s.separate.sum.u0.i, s.separate.sum.y) | s.separate.sum(s.separate.sum.x, s.separate.sum.y).1 * "
      "s.separate.sum.y for s.separate.sum.u0.i in 0..3\n"
      "s.separate(s.separate.x, s.separate.y) = s.separate.sum(s.separate.x, s.separate.y).0 | "
      "s.separate.sum(s.separate.x, s.separate.y).1\n"
      "s(s.x, s.y) = 0 | 1; s(s.x, s.y) = s(s.x, s.y).0 + s.separate(s.x, s.y + s.u0.j).0 | s(s.x, s.y).1 * "
      "s.separate(s.x, s.y + s.u0.j).1 for s.u0.j in 0..3\n"
      "out(out.x, out.y) = s(out.x, out.y).0 - s(out.x, out.y).1\n" },
    { "input in : u16(x) output out a(x) = i32(in(x)) * in(x+1) << 3 b(x) = i32(in(x)) * 7 - (if in(x) > 3 then a(x) "
      "else 5) out(x) = u16(b(x) + b(x+1)) + u16(a(x) & 255)", "a.compute_root() b.compute_root()",
      "a(a.x) = in(a.x) * in(a.x + 1) << 3\n"
      "b(b.x) = in(b.x) * u16(7) - (if u16(3) < in(b.x) then a(b.x) else u16(5))\n"
      "out(out.x) = u16(i32(b(out.x)) + i32(b(out.x + 1))) + u16(i32(a(out.x)) & 255)\n" },
    { "input in : i32(x) output out a(x) = i64(in(x)) * in(x+1) b(x) = a(x) / 3 out(x) = i32(a(x) * 5) + i32(b(x)) + "
      "i32(b(x+1))", "a.compute_root() b.compute_root()",
      "a(a.x) = i64(in(a.x)) * i64(in(a.x + 1))\n"
      "b(b.x) = u32(a(b.x) / i64(3))\n"
      "out(out.x) = i32(a(out.x) * i64(5)) + i32(i64(b(out.x))) + i32(i64(b(out.x + 1)))\n" },
    { "input in : i32(x) output out a(x) = i64(in(x)) * in(x+1) out(x) = i32(a(x) * 5) + i32(a(x+1))",
      "a.compute_root()",
      "a(a.x) = u32(in(a.x)) * u32(in(a.x + 1))\n"
      "out(out.x) = i32(i64(a(out.x)) * i64(5)) + i32(i64(a(out.x + 1)))\n" },
    { "input in : u16(x) output out s(x) = 0 s(x) = s(x) / 2 + in(x+r) for r in 0..3 out(x) = u16(s(x))",
      "s.compute_root()",
      "s(s.x) = 0; s(s.x) = s(s.x) / 2 + i32(in(s.x + s.u0.r)) for s.u0.r in 0..3\n"
      "out(out.x) = u16(s(out.x))\n" },
};
/* clang-format on */

static void check_functions(kn_context *cx, const Row *row)
{
    Making m = { .pipeline = kn_parse(cx, "program", row->program, -1) };
    bool ok  = m.pipeline && (!*row->schedule || kn_schedule_parse(m.pipeline, "schedule", row->schedule, -1) == KN_OK);
    context_begin(cx);
    arena_init(&m.arena, cx);
    ok               = ok && context_try(cx, print_functions, &m) && m.plan;
    const char *text = ok ? text_string(&m.text) : kn_error_text(cx);
    CHECK(ok && !strcmp(text, row->expected), "%s %s\n  gives %s\n  not   %s", row->program, row->schedule, text,
          row->expected);
    arena_free(&m.arena);
    kn_pipeline_free(m.pipeline);
}

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

/* A chain of functions, all inlined: an expression as deep as the chain is long. */
static void check_deep(kn_context *cx, bool *errors)
{
    Arena arena;
    Text  program, schedule;
    bool  ok;
    arena_init(&arena, cx);
    text_init(&program, &arena);
    text_init(&schedule, &arena);
    text_add(&program, "input in : i32(x) output out g0(x) = in(x) ");
    for (int i = 1; i <= EXPR_MAX_DEPTH; i++) {
        text_printf(&program, "g%d(x) = g%d(x) ^ %d ", i, i - 1, i);
        text_printf(&schedule, "g%d.inline() ", i);
    }
    text_printf(&program, "out(x) = g%d(x)", EXPR_MAX_DEPTH);
    const char *text = plan_text(cx, TARGET_CPU, text_string(&program), text_string(&schedule), &arena, &ok);
    CHECK(!ok && diag_has(cx, ERROR_TOO_DEEP), "%s", text);
    errors[ERROR_TOO_DEEP] = true;
    arena_free(&arena);
}

int main(void)
{
    kn_context *cx                  = kn_context_new(NULL);
    bool        errors[ERROR_COUNT] = { false };
    for (size_t i = 0; i < sizeof obeyed / sizeof *obeyed; i++)
        check_row(cx, TARGET_CPU, &obeyed[i], true, NULL);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        check_row(cx, TARGET_CPU, &refused[i], false, errors);
    for (size_t i = 0; i < sizeof obeyed_by_gpu / sizeof *obeyed_by_gpu; i++)
        check_row(cx, TARGET_GPU, &obeyed_by_gpu[i], true, NULL);
    for (size_t i = 0; i < sizeof refused_by_gpu / sizeof *refused_by_gpu; i++)
        check_row(cx, TARGET_GPU, &refused_by_gpu[i], false, errors);
    check_deep(cx, errors);
    for (int id = ERROR_TARGET; id < ERROR_COUNT; id++)
        CHECK(errors[id], "no schedule here is refused for the reason `%s`", error_table[id].name);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        check_functions(cx, &functions[i]);
    check_choice(cx);
    kn_context_free(cx);
    return check_done();
}
