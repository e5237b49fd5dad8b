/* SPDX-License-Identifier: MIT */
/* The functions of a plan: what is left of a program once its schedule has inlined, staged, factored and narrowed. */
#include "plan_rows.h"

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
    plan_make_text(m);
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
      "s.separate.sum(s.separate.sum.x, s.separate.sum.y) = u16(0); s.separate.sum(s.separate.sum.x, "
      "s.separate.sum.y) = s.separate.sum(s.separate.sum.x, s.separate.sum.y) + u16(u8(in(min(max(s.separate.sum.x, "
      "in.min.0), in.min.0 + in.extent.0 - 1), min(max(s.separate.sum.y + s.separate.sum.u0.j, in.min.1), in.min.1 + "
      "in.extent.1 - 1)) * s.separate.sum.u0.j)) for s.separate.sum.u0.j in 0..3\n"
      "s.separate(s.separate.x, s.separate.y) = i32(s.separate.sum(s.separate.x, s.separate.y))\n"
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
    { "input in : u8(x) output out s(x) = u8(0) s(x) max= in(x+i) for i in -3..4 out(x) = s(x)",
      "s.update(0).double(i)",
      "s.double[2](s.double[2].x) = max(in(s.double[2].x), in(s.double[2].x + 1))\n"
      "s.double[4](s.double[4].x) = max(s.double[2](s.double[4].x), s.double[2](s.double[4].x + 2))\n"
      "out(out.x) = max(s.double[4](out.x - 3), s.double[4](out.x))\n" },
    { "input in : i32(x) output out s(x) = 5 s(x) = s(x) - in(4*x - 2*i + 1) for i in 0..7 where 2*x - i > 0 out(x) = "
      "s(x)", "s.update(0).double(i) s.compute_root()",
      "s.double[1](s.double[1].x) = if 0 < s.double[1].x then in(s.double[1].x * 2 + 1) else 0\n"
      "s.double[2](s.double[2].x) = s.double[1](s.double[2].x) + s.double[1](s.double[2].x - 1)\n"
      "s.double[4](s.double[4].x) = s.double[2](s.double[4].x) + s.double[2](s.double[4].x - 2)\n"
      "s(s.x) = 5 - s.double[4](s.x * 2) - s.double[2](s.x * 2 - 4) - s.double[1](s.x * 2 - 6)\n"
      "out(out.x) = s(out.x)\n" },
    { "input in : i32(x, y) output out s(x, y) = (0, 1) s(x, y) = (s(x, y).0 + in(x, y+j), max(s(x, y).1, y+j)) for j "
      "in in.height..in.height + 3 out(x, y) = s(x, y).0 - s(x, y).1", "s.update(0).double(j)",
      "s.double[2](s.double[2].x, s.double[2].y) = in(s.double[2].x, s.double[2].y) + in(s.double[2].x, s.double[2].y "
      "+ 1) | max(s.double[2].y, s.double[2].y + 1)\n"
      "s(s.x, s.y) = s.double[2](s.x, s.y + in.extent.1).0 + in(s.x, in.extent.1 + s.y + 2) | max(max(1, "
      "s.double[2](s.x, s.y + in.extent.1).1), s.double[2](s.x, s.y + in.extent.1 + 1).1)\n"
      "out(out.x, out.y) = s(out.x, out.y).0 - s(out.x, out.y).1\n" },
    { "input in : u8(x, y) output out s(x, y) = u8(255) s(x, y) min= in(x+i, y+j) for j in 0..4, i in 0..3 out(x, y) = "
      "s(x, y)", "s.update(0).separate(j) s.update(0).double(j) s.separate.sum.update(0).double(i) s.inline()",
      "s.separate.sum.double[2](s.separate.sum.double[2].x, s.separate.sum.double[2].y) = "
      "min(in(s.separate.sum.double[2].x, s.separate.sum.double[2].y), in(s.separate.sum.double[2].x + 1, "
      "s.separate.sum.double[2].y))\n"
      "s.separate(s.separate.x, s.separate.y) = min(s.separate.sum.double[2](s.separate.x, s.separate.y), "
      "s.separate.sum.double[2](s.separate.x + 1, s.separate.y))\n"
      "s.double[2](s.double[2].x, s.double[2].y) = min(s.separate(s.double[2].x, s.double[2].y), "
      "s.separate(s.double[2].x, s.double[2].y + 1))\n"
      "s.double[4](s.double[4].x, s.double[4].y) = min(s.double[2](s.double[4].x, s.double[4].y), "
      "s.double[2](s.double[4].x, s.double[4].y + 2))\n"
      "out(out.x, out.y) = s.double[4](out.x, out.y)\n" },
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
    { "input in : u8(x) output out s(x) = sum(i32(in(x+r)) for r in 0..25) d(x) = s(x) - s(x+1) out(x) = s(x) * d(x)",
      "s.compute_root() s.sum.compute_root() d.compute_root()",
      "s.sum(s.sum.x) = u16(0); s.sum(s.sum.x) = s.sum(s.sum.x) + u16(in(s.sum.x + s.sum.u0.r)) for s.sum.u0.r in "
      "0..25\n"
      "s(s.x) = i32(s.sum(s.x))\n"
      "d(d.x) = s(d.x) - s(d.x + 1)\n"
      "out(out.x) = s(out.x) * d(out.x)\n" },
    { "input in : u8(x) output out s(x) = sum(i32(in(x+r)) - 9 for r in 0..99) at(x) = clamp(i32(in(x)), -3, 3) out(x) "
      "= s(x) / 2 + in(x + at(x))",
      "s.compute_root() s.sum.compute_root() at.compute_root()",
      "s.sum(s.sum.x) = i16(0); s.sum(s.sum.x) = s.sum(s.sum.x) + (i16(in(s.sum.x + s.sum.u0.r)) - i16(9)) for "
      "s.sum.u0.r in 0..99\n"
      "s(s.x) = i32(s.sum(s.x))\n"
      "at(at.x) = min(max(i32(in(at.x)), -3), 3)\n"
      "out(out.x) = s(out.x) / 2 + i32(in(out.x + at(out.x)))\n" },
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

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        check_functions(cx, &functions[i]);
    kn_context_free(cx);
    return check_done();
}
