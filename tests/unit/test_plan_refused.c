/* SPDX-License-Identifier: MIT */
/* Schedules that are refused, each with the message and the remedy: at least one for each reason of the planner. */
#include "plan_rows.h"

/* ---- For CPUs ---------------------------------------------------------------------------- */

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
    { "input in : f32(x) output out s(x) = 0.0 s(x) max= in(x+i) for i in 0..9 out(x) = s(x)", "s.update(0).double(i)",
      "`double` would combine floats in another order, which is another result: sums round, and min and max depend on "
      "it where there are NaNs or zeros of both signs = leave it out, or let it combine integers" },
    { "input in : u8(x) output out s(x) = 0 s(in(i)) += 1 for i in 0..9 out(x) = s(x)", "s.update(0).double(i)",
      "`double` needs an update f(x, …) = f(x, …) op e at every point that reads itself nowhere else, with an "
      "operation that is exact in any order = leave it out" },
    { WINDOW, "s.update(0).double(i)",
      "`i` is one of several reduction variables: `double` is for one = separate(i) first: s.separate.sum then has the "
      "others" },
    { "input in : i32(x) output out s(x) = 0 s(x) += in(x+i) for i in 0..9 s(x) += in(x+i) for i in 0..3 out(x) = s(x)",
      "s.update(1).double(i)",
      "`double` of update 1 of `s`: update 0 comes before it = define the window as a function of its own" },
    { "input in : i32(x) output out s(x) = 0 s(x) += in(x+i) for i in x..x+3 out(x) = s(x)", "s.update(0).double(i)",
      "the bounds of a reduction variable of `s` depend on other variables of the update = let the bounds be constants "
      "or sizes, with `where` for the rest" },
    { "input in : i32(x) output out s(x) = 0 s(x) += in(x+i) * i for i in 0..9 out(x) = s(x)", "s.update(0).double(i)",
      "`i` cannot be doubled: what is combined has to be over `i` in a*y + c*i alone, with one argument y of `s` that "
      "it is over in no other way = leave it out" },
    { "input in : i32(x) output out s(x) = 0 s(x) += in(x+i) for i in 0..in.width out(x) = s(x)",
      "s.update(0).double(i)",
      "`double` needs a number of steps of `i` that is a constant from 1 to 65536 = let its bounds be constants, or "
      "leave `double` out" },
    { "input in : i32(x) output out s(x) = 0 s(x) += in(x+i) for i in 0..9 out(x) = s(x)",
      "s.update(0).double(i) s.update(0).atomic()",
      "nothing is left of update 0 of `s` for `atomic` = schedule the functions that were made of it" },
    { "input in : i32(x) output out s(x) = 0 s(x) += in(x+i) for i in 0..9 out(x) = s(x)",
      "s.update(0).double(i) s.update(0).double(i)",
      "`s` has no loop `i` here = its loops are " },
    { WINDOW, "s.double(x)",
      "`double` is for an update = f.update(0).double(r)" },
    { FSUM, "s.update(0).checkpoint(r, ro, ri, 8)",
      "`checkpoint` needs an update along one argument, over one reduction variable = it is for f(x, r) = … f(x, r-1) "
      "… for r in a..b; leave it out" },
    { "input in : f32(x) output out f(x) = in(x) f(r) = f(r-1) + f(r-2) for r in 2..9 out(x) = f(x)",
      "f.update(0).checkpoint(r, ro, ri, 4)",
      "update 0 of `f` is no scan that `checkpoint` knows: it reads its function elsewhere than at its own place and "
      "that of the step before = it is for f(x, r) = … f(x, r-1) … for r in a..b; leave it out" },
    { "input in : f32(x) output out f(x) = in(x) f(2*r) = f(2*r-1) for r in 2..9 out(x) = f(x)",
      "f.update(0).checkpoint(r, ro, ri, 4)",
      "update 0 of `f` is no scan that `checkpoint` knows: it does not write along one argument, from each coordinate "
      "to the next = it is for f(x, r) = … f(x, r-1) … for r in a..b; leave it out" },
    { "input in : f32(x) output out f(x) = in(x) f(r) = f(r-1) + 1 for r in 2..9 f(r) = f(r-1) + 2 for r in 2..9 "
      "out(x) = f(x)", "f.update(1).checkpoint(r, ro, ri, 4)",
      "`checkpoint` of update 1 of `f`: update 0 comes before it = checkpoint the updates before it first, or define "
      "it as a function of its own" },
    { "input in : f32(x, y) output out f(x, y) = in(x, y) f(x, r) = f(x, r-1) + 1 for r in 2..9 out(x, y) = f(x, y)",
      "f.update(0).checkpoint(r, ro, ri, 4) f.update(0).atomic()",
      "nothing is left of update 0 of `f` for `atomic` = schedule the functions that were made of it" },
    { WINDOW, "s.update(0).vectorize(x, 8).separate(j)",
      "nothing may come before `separate`: there is `vectorize` = begin the update's directives with separate; the "
      "others then go to the functions it makes" },
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
      "with rfactor; the others then go to the functions it makes" },
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
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        check_row(cx, TARGET_CPU, &refused[i], false, errors);
    for (size_t i = 0; i < sizeof refused_by_gpu / sizeof *refused_by_gpu; i++)
        check_row(cx, TARGET_GPU, &refused_by_gpu[i], false, errors);
    check_deep(cx, errors);
    for (int id = ERROR_TARGET; id < ERROR_COUNT; id++)
        CHECK(errors[id], "no schedule here is refused for the reason `%s`", error_table[id].name);
    kn_context_free(cx);
    return check_done();
}
