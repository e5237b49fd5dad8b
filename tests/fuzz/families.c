/* SPDX-License-Identifier: MIT */
/* Programs of the kinds that schedules go wrong with: each function below writes one kind, with random stages, offsets,
 * types and sizes.
 *
 * Classes of wrong code that compilers of such schedules have shipped (numbers: threads of halide/Halide), and what
 * makes them here, together with the styles of generate_schedule.c:
 *
 *   sliding windows (8140 7909 7872 4396 208)      stencil_chain, row_chain, windows, diamond, scan; style "sliding":
 *   store_at outside one or two loops storage folding (1259 2956)                    the same, fold_storage or none;
 *   time_steps, where a fold must be refused or proved async with folding (7867 7965 3293)            there is no
 *   async; parallel loops around and inside of what is stored and folded compute_with, specialize (8152 6763 9321)
 *   siblings, pairs, conditions; compute_with of any two at one level; versions with other loops fusing or vectorizing
 *   reductions (7871)        reduction, counted_reduction, to_scalar, matrix, histogram, updates; fuse, split and
 *   vectorize of reduction loops races and atomics (296 6609 6808 5430)         reduction, to_scalar, histogram with
 *   atomic and parallel; the executor knows which iterations are unordered bounds: floats as reals, overflow (8646
 *   6961)  float_index, narrow_index rfactor (8600)                                 reduction, to_scalar, matrix;
 *   rfactor, also of a part of a split loop, computed at any loop separable sums, narrowing
 *   window; separate, computed at any loop, its sums inlined or in loops of their own simplifier: division, overflow,
 *   vectors        division, index_arithmetic, interleaved, pyramid, generate_program
 *     (7584 6207 9030)
 *   registers shared by mistake (9325)             store_in(register) and (stack) at any level
 *   extern stages                                  outside (C functions of stages.c)
 *   producers read at several levels               diamond, updates; stage() for one of the readers
 *   boxes by rules: masks, shifts, guards, empty   corners.c
 *   indices rewritten, terms of one variable       correlated; in any program index_correlated
 *   sizes nobody thought of (1246 5612 7947)       sizes.c */
#include "families.h"
#include "family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const element_types[] = { "i32", "u8", "u16", "i16", "f32", "i64", "u32", "f64" };

const char *some_type(Gen *g)
{
    return element_types[pick(g, sizeof element_types / sizeof *element_types)];
}
static const char *some_int(Gen *g)
{
    return element_types[pick(g, 4)];
}
int offset(Gen *g, int reach)
{
    return (int)pick(g, (uint32_t)(2 * reach + 1)) - reach;
}

static int some_extent(Gen *g)
{
    static const uint8_t extents[] = { 13, 7, 1, 5, 16, 3, 11, 2, 17, 8, 23, 31 };
    return extents[pick(g, sizeof extents)];
}

/* //@ KIND NAME [seed] min:extent … */
static void comment(Gen *g, const char *kind, const char *name, int rank)
{
    emit(g, "//@ %s %s", kind, name);
    if (kind[0] == 'i')
        emit(g, " %u", (unsigned)pick(g, 1000));
    for (int d = 0; d < rank; d++)
        emit(g, " %d:%d", offset(g, 3), rank > 2 && d > 1 ? 1 + (int)pick(g, 4) : some_extent(g));
    emit(g, "\n");
}

void declare_output(Gen *g, const char *name, int rank)
{
    comment(g, "output", name, rank);
    emit(g, "output %s\n", name);
}

void declare_input(Gen *g, const char *name, const char *dims, int rank)
{
    comment(g, "input", name, rank);
    emit(g, "input %s : %s(%s)\n", name, some_type(g), dims);
}

/* x, x+1, x-2 … */
static void shifted(Gen *g, const char *var, int by)
{
    emit(g, "%s", var);
    if (by)
        emit(g, "%+d", by);
}

/* Two operands between which something stands. */
static const char *some_operator(Gen *g)
{
    static const char *const operators[] = { " + ", " - ", " + 3*", " - 2*", " * " };
    return operators[pick(g, 5)];
}

/* ---- Chains ------------------------------------------------------------------------------ */

/* Stage `from` of a chain read at `taps` places around (x, y). */
static void read_around(Gen *g, int from, int taps, int reach, bool along_x, bool along_y)
{
    for (int t = 0; t < taps; t++) {
        emit(g, "%ss%d(", t ? some_operator(g) : "", from);
        shifted(g, "x", along_x ? offset(g, reach) : 0);
        emit(g, ", ");
        shifted(g, "y", along_y ? offset(g, reach) : 0);
        emit(g, ")");
    }
}

/* s0 = in, s1 of s0, … out: stencils along x, y or both; some read a stage before the last too. */
static void stencil_chain(Gen *g)
{
    const int count = 1 + (int)pick(g, chance(g, 70) ? 3 : 6);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(%s(x, y))\n", some_type(g), chance(g, 30) ? "edge(in)" : "in");
    for (int i = 1; i <= count; i++) {
        const uint32_t along = pick(g, 4);
        if (i < count)
            emit(g, "s%d(x, y) = ", i);
        else
            emit(g, "out(x, y) = ");
        read_around(g, i - 1, 1 + (int)pick(g, 3), 1 + (int)pick(g, 2), along != 0, along != 1);
        if (i > 1 && chance(g, 30)) {
            emit(g, "%s", some_operator(g));
            read_around(g, (int)pick(g, (uint32_t)i - 1), 1, 2, true, true);
        }
        emit(g, "\n");
    }
}

/* The same in one dimension, where everything slides along the one loop. */
static void row_chain(Gen *g)
{
    const int count = 2 + (int)pick(g, chance(g, 70) ? 2 : 5);
    declare_input(g, "in", "x", 1);
    declare_output(g, "out", 1);
    emit(g, "s0(x) = %s(in(x))\n", some_type(g));
    for (int i = 1; i <= count; i++) {
        if (i < count)
            emit(g, "s%d(x) = ", i);
        else
            emit(g, "out(x) = ");
        for (uint32_t t = 0, taps = 1 + pick(g, 3); t < taps; t++) {
            emit(g, "%ss%d(", t ? some_operator(g) : "", i - 1 - (int)(chance(g, 20) ? pick(g, (uint32_t)i) : 0));
            shifted(g, "x", offset(g, 3));
            emit(g, ")");
        }
        emit(g, "\n");
    }
}

/* Few stages that are each read at a box of places: what slides in two dimensions. */
static void windows(Gen *g)
{
    const int count = 1 + (int)pick(g, 3);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y)) + 1\n", some_type(g));
    for (int i = 1; i <= count; i++) {
        const int dx = 1 + (int)pick(g, 3), dy = 1 + (int)pick(g, 3), from = i - 1, ox = offset(g, 2),
                  oy = offset(g, 2);
        if (i < count)
            emit(g, "s%d(x, y) = ", i);
        else
            emit(g, "out(x, y) = ");
        emit(g, "s%d(x%+d, y%+d) - s%d(x%+d, y%+d)", from, ox, oy, from, ox + dx, oy);
        if (chance(g, 60))
            emit(g, " + 3*s%d(x%+d, y%+d) - s%d(x%+d, y%+d)", from, ox, oy + dy, from, ox + dx, oy + dy);
        emit(g, "\n");
    }
}

/* Stages that are read by several others, far and near. */
static void diamond(Gen *g)
{
    const int count = 2 + (int)pick(g, 3);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y)) * 2\n", some_type(g));
    for (int i = 1; i <= count; i++) {
        if (i < count)
            emit(g, "s%d(x, y) = ", i);
        else
            emit(g, "out(x, y) = ");
        for (int k = i - 1; k >= 0; k--)
            if (k == i - 1 || chance(g, 60))
                emit(g, "%ss%d(x%+d, y%+d)", k < i - 1 ? some_operator(g) : "", k, offset(g, 2), offset(g, 2));
        emit(g, "\n");
    }
}

/* A stage computed by a C function (stages.c), between others. */
static void outside(Gen *g)
{
    const bool  is_row = chance(g, 25), turns = !is_row && chance(g, 40);
    const int   rank = is_row ? 1 : 2;
    const char *dims = is_row ? "x" : "x, y";
    declare_input(g, "in", dims, rank);
    declare_output(g, "out", rank);
    if (is_row) {
        emit(g, "s0(x) = i32(in(x)) + 1\ns1(x) = s0(x%+d) - s0(x%+d)\n", offset(g, 2), offset(g, 2));
        emit(g, "extern stage row(s1) : i32(x)\nout(x) = row(x%+d) + row(x%+d) + s1(x)\n", offset(g, 2), offset(g, 2));
        return;
    }
    emit(g, "s0(x, y) = i32(in(x, y)) * 3\ns1(x, y) = s0(x%+d, y) - s0(x, y%+d)\n", offset(g, 2), offset(g, 2));
    if (turns)
        emit(g, "extern stage turn(s1, s0) : i32(x, y)\ns2(x, y) = turn(x%+d, y) + turn(x, y%+d)\n", offset(g, 2),
             offset(g, 2));
    else
        emit(g, "extern stage blend(s1, %u) : i32(x, y)\ns2(x, y) = blend(x, y) - blend(x%+d, y%+d)\n",
             (unsigned)pick(g, 4), offset(g, 2), offset(g, 2));
    emit(g, "out(x, y) = s2(x, y%+d) + s0(x%+d, y)\n", offset(g, 1), offset(g, 1));
}

/* Sampled down and up again: 2*x and x/2, at odd sizes. */
static void pyramid(Gen *g)
{
    const int levels = 1 + (int)pick(g, 3), by = chance(g, 75) ? 2 : 3;
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "d0(x, y) = %s(%s(x, y))\n", some_type(g), chance(g, 50) ? "edge(in)" : "in");
    for (int i = 1; i <= levels; i++)
        emit(g, "d%d(x, y) = d%d(%d*x%+d, y) + d%d(%d*x, %s*y%+d)\n", i, i - 1, by, offset(g, 1), i - 1, by,
             chance(g, 60) ? "2" : "1", offset(g, 1));
    emit(g, "u%d(x, y) = d%d(x, y)\n", levels, levels);
    for (int i = levels - 1; i >= 0; i--)
        emit(g, "u%d(x, y) = u%d(x/%d, (y%+d)/2) - u%d((x%+d)/%d, y/2) + d%d(x, y)\n", i, i + 1, by, offset(g, 1),
             i + 1, offset(g, 2), by, i);
    emit(g, "out(x, y) = u0(x%+d, y) + u0(x, y)\n", offset(g, 1));
}

/* Where an index is a quotient, a remainder, another dimension, or runs backwards. */
static void index_arithmetic(Gen *g)
{
    const int n = 2 + (int)pick(g, 4);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y))\n", some_type(g));
    switch (pick(g, 4)) {
    case 0: emit(g, "s1(x, y) = s0(x/%d, y + x%%%d)\n", n, n); break;
    case 1: emit(g, "s1(x, y) = s0(y, x) - s0(x, y)\n"); break;
    case 2: emit(g, "s1(x, y) = s0(%d - x, y) + s0(x, (x + y)/%d)\n", n, n); break;
    default: emit(g, "s1(x, y) = if (x + y)%%%d < 1 then s0(x, y/%d) else s0(x%+d, y)\n", n, n, offset(g, 2)); break;
    }
    emit(g, "s2(x, y) = s1(x, y%+d) + s1(x%+d, y)\n", offset(g, 2), offset(g, 1));
    emit(g, "out(x, y) = s2(x, y) %s s1(x%+d, y)\n", chance(g, 50) ? "+" : "-", offset(g, 1));
}

/* An index that is computed in floats: where it lies is not what real numbers say. */
static void float_index(Gen *g)
{
    static const char *const factors[] = { "0.1", "0.5", "0.3333333", "1.7", "-0.25", "0.999999" };
    const char *type = chance(g, 70) ? "f32" : chance(g, 50) ? "f16" : "f64", *factor = factors[pick(g, 6)];
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y))\n", some_type(g));
    if (chance(g, 50))
        emit(g, "s1(x, y) = s0(i32(%s(x) * %s), y) - s0(x, i32(floor(%s(y) * %s)))\n", type, factor, type, factor);
    else
        emit(g, "s1(x, y) = s0(clamp(i32(%s(x) * %s(s0(x, y)) * %s), -2, 5), y)\n", type, type, factor);
    emit(g, "out(x, y) = s1(x, y%+d) + s1(x%+d, y)\n", offset(g, 1), offset(g, 2));
}

/* Taps beside a place made of data, the same for all channels, with every boundary and at the edges of the image. */
static void warp(Gen *g)
{
    static const char *const names[] = { "edge", "constant", "mirror", "wrap", "edge" };
    const uint32_t           kind = pick(g, 5), step = 1 + pick(g, 3);
    const bool               computed = chance(g, 30);
    declare_input(g, "in", "x, y, c", 3);
    declare_output(g, "out", 3);
    if (computed)
        emit(g, "s0(x, y, c) = %s(in(x, y, c)) + 1\n", some_type(g));
    emit(g, "def u(x, y) = f32(x) * %d.%d - f32(y) * 0.%d %+d\n", (int)pick(g, 2), (int)pick(g, 100), (int)pick(g, 50),
         offset(g, 3));
    emit(g, "f = %s(%s%s%s)\n", names[kind], computed ? "s0" : "in", kind == 1 ? ", 7" : "",
         computed ? ", x: 0..9, y: 0..5, c: 0..3" : "");
    emit(g, "s1(x, y, c) = { let i = %s let j = i32(u(y, x))\n",
         chance(g, 50) ? "i32(floor(u(x, y)))" : "clamp(i32(floor(u(x, y))), -2, in.width)");
    emit(g, "  i32(f(i, j, c)) * 3 + i32(f(i + %u, j, c)) - i32(f(i%+d, j + 1, c))%s }\n", (unsigned)step, offset(g, 2),
         chance(g, 30) ? " + i32(f(i, j, 1)) - 5*i32(f(i, j, 2)) + i32(f(i + 1, j, 0))" : "");
    emit(g, "out(x, y, c) = %s(s1(x, y, c))\n", some_int(g));
}

/* An index that wraps: narrow types, products that do not fit. */
static void narrow_index(Gen *g)
{
    const int n = 3 + (int)pick(g, 40);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y))\n", some_type(g));
    switch (pick(g, 4)) {
    case 0: emit(g, "s1(x, y) = s0(i32(u8(x*%d)) / 16, y) + s0(x, y)\n", n); break;
    case 1: emit(g, "s1(x, y) = s0(i32(i8(x + 120)) / 8, y)\n"); break;
    case 2: emit(g, "s1(x, y) = s0(i32(i16(x*%d00)) / 4096, y) - s0(x, y)\n", n); break;
    default: emit(g, "s1(x, y) = s0(x, i32(u16(y - %d)) %% %d)\n", n, 2 + n % 7); break;
    }
    emit(g, "out(x, y) = s1(x, y%+d) - s1(x%+d, y)\n", offset(g, 1), offset(g, 2));
}

/* Values made by / % << and comparisons, in which a simplifier and vectors can go wrong. */
static void division(Gen *g)
{
    static const char *const forms[] = {
        "(x*%d - y) / (s0(x, y) %% %d)",
        "(s0(x, y) + x) %% (y - %d) / %d",
        "(x - %d) / 4 * 4 + x %% %d",
        "(s0(x, y) << (x - %d)) >> (y %% %d)",
        "min(x / %d, y - %d) * s0(x, y)",
        "if x / %d == y / %d then s0(x, y) else s0(x, y) / 2",
        "(x * 2 + 1) / 2 - (y + %d) / %d + s0(x, y)",
        "max(s0(x, y) - %d, x %% %d) / 3",
    };
    const int a = 1 + (int)pick(g, 9), b = 1 + (int)pick(g, 7);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y))\ns1(x, y) = ", element_types[pick(g, 3) ? 0 : 1 + pick(g, 3)]);
    emit(g, forms[pick(g, sizeof forms / sizeof *forms)], a, b);
    emit(g, "\nout(x, y) = s1(x%+d, y) - s1(x/%d, y/2)\n", offset(g, 2), b + 1);
}

/* Every second or third point, columns taken in turn from two stages, a table looked up: what vectors load and store in
 * steps, or gather. */
static void interleaved(Gen *g)
{
    const int n = 2 + (int)pick(g, 3);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    const char *type = some_type(g);
    emit(g, "s0(x, y) = %s(in(%d*x%+d, y)) - %s(in(%d*x, y))\n", type, n, offset(g, 2), type, n);
    switch (pick(g, 4)) {
    case 0:
        emit(g, "s1(x, y) = if x%%%d == 0 then s0(x/%d, y) else s0(x/%d + 1, y%+d)\n", n, n, n, offset(g, 1));
        break;
    case 1: emit(g, "s1(x, y) = s0(y, x) + s0(x, y)\n"); break;
    case 2: emit(g, "lut(i) = i*i - 3\ns1(x, y) = lut(i32(s0(x, y)) %% %d) + i32(s0(x, y))\n", n + 5); break;
    default: emit(g, "s1(x, y) = s0(-x, y) - s0(x, %d*y)\n", n); break;
    }
    emit(g, "out(x, y) = s1(x%+d, y) + s1(x, y%+d)\n", offset(g, 2), offset(g, 1));
}

/* Indices with several terms of one variable: pieces of n points, tables of 1, 2, 4, … rows, small tables of steps. */
static void correlated(Gen *g)
{
    const int n = 2 + (int)pick(g, 7), m = 1 + (int)pick(g, 4), first = 1 + (int)pick(g, 3);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = i32(%s(x, y))\n", chance(g, 30) ? "edge(in)" : "in");
    switch (pick(g, 7)) {
    case 0: emit(g, "s1(x, y) = s0(x - x %% %d + x %% %d, y) + s0(x, 2*y - (y & 3))\n", n, m); break;
    case 1:
        emit(g, "p(x, y, t) = s0(x + t - (1 << (31 - clz(t))), y)\n");
        emit(g, "s1(x, y) = sum(p(x, y, t) for t in %d..%d)\n", first, first + n);
        break;
    case 2: emit(g, "s1(x, y) = sum(s0(x, y + t*t %% %d - t) for t in %d..%d)\n", n, -m, n); break;
    case 3:
        emit(g, "m(x, y, s) = s0(x, y)\n");
        emit(g, "m(x, y, s) = max(m(x, y, s-1), m(x, y + (1 << (s-1)), s-1)) for s in 1..4\n");
        emit(g, "v(x, y, t) = max(m(x, y-t, 31 - clz(2*t + 1)), m(x, y + t + 1 - (1 << (31 - clz(2*t + 1))),"
                " 31 - clz(2*t + 1)))\n");
        emit(g, "h(t) = t*%d %% 7\ns1(x, y) = max(v(x + t, y, clamp(h(t), 0, 6)) for t in %d..%d)\n", n, -m, m);
        break;
    case 4:
        emit(g, "k(x, y) = clamp(i32(in(x, y)), %d, %d)\n", first, first + n);
        emit(g,
             "s1(x, y) = s0(x + k(x, y) - 2*(k(x, y) / 2), y) + s0(x, y + clamp(s0(x, y), 0, %d) -"
             " (clamp(s0(x, y), 0, %d) >> 1))\n",
             n, n);
        break;
    case 5:
        emit(g, "s1(x, y) = 0\ns1(t - (t & 3) + %d, y) += s0(t + u / %d * %d - u, y) for t in 0..%d, u in 0..%d\n",
             (int)pick(g, 4), m, m, 2 + (int)pick(g, 20), n);
        break;
    default:
        emit(g, "q(x, y, t) = s0(x + t / 2 - t * %d / 3, y)\n", m);
        emit(g, "q(x, y, t) += q(x, y, t-1) + s0(x, y - t + (3*t >> 1)) for t in %d..%d\n", first, first + n);
        emit(g, "s1(x, y) = sum(q(x, y, t) for t in %d..%d) - q(x, y, %d)\n", first, first + n, first);
        break;
    }
    emit(g, "out(x, y) = s1(x%+d, y) - s1(x, y%+d)\n", offset(g, 2), offset(g, 1));
}

/* A boundary around something that is computed. */
static void boundary(Gen *g)
{
    static const char *const names[] = { "edge", "mirror", "wrap", "mirror_interior", "constant" };
    const uint32_t           kind = pick(g, 5), w = (uint32_t)some_extent(g), h = (uint32_t)some_extent(g);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    const char *type = some_type(g);
    emit(g, "s0(x, y) = %s(%s(in%s)(x, y))\n", type, names[kind], kind == 4 ? ", 7" : "");
    emit(g, "s1(x, y) = s0(x-1, y) + s0(x+1, y)\n");
    emit(g, "e = %s(s1%s, x: 0..%u, y: 0..%u)\n", names[pick(g, 4)], "", (unsigned)w, (unsigned)h);
    emit(g, "s2(x, y) = e(x%+d, y) - e(x, y%+d)\n", offset(g, 2), offset(g, 2));
    emit(g, "out(x, y) = s2(x, y-1) + s2(x, y+1)\n");
}

/* Two or three outputs over shared stages: loops may be shared. */
static void siblings(Gen *g)
{
    const int   rank = 1 + (int)pick(g, 2);
    const char *dims = rank == 2 ? "x, y" : "x";
    declare_input(g, "in", dims, rank);
    declare_output(g, "a", rank);
    declare_output(g, "b", rank);
    emit(g, "s0(%s) = %s(in(%s))\n", dims, some_type(g), dims);
    emit(g, "s1(%s) = s0(x%+d%s) + s0(%s)\n", dims, offset(g, 2), rank == 2 ? ", y" : "", dims);
    emit(g, "s2(%s) = s0(%s) - s0(x%s)\n", dims, dims, rank == 2 ? ", y+1" : "+1");
    emit(g, "a(%s) = s1(%s) + s2(x%+d%s)\n", dims, dims, offset(g, 1), rank == 2 ? ", y" : "");
    emit(g, "b(%s) = s2(%s) * s1(%s)\n", dims, dims, dims);
}

/* Stages side by side that one reads: they may be computed in the same loops, and what they read in those. */
static void pairs(Gen *g)
{
    const int count = 2 + (int)pick(g, 2);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y)) * 3\n", some_type(g));
    for (int i = 1; i <= count; i++)
        emit(g, "s%d(x, y) = s0(x%+d, y%+d) - s0(x, y%+d)\n", i, offset(g, 2), offset(g, 1), offset(g, 2));
    emit(g, "out(x, y) = ");
    for (int i = 1; i <= count; i++)
        emit(g, "%ss%d(x%+d, y%+d)", i > 1 ? some_operator(g) : "", i, offset(g, 2), offset(g, 2));
    emit(g, "\n");
}

/* A parameter decides; an update meets only part of the points. */
static void conditions(Gen *g)
{
    emit(g, "//@ param k %u\nparam k : i32 = 3\n", (unsigned)pick(g, 9));
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y))\n", some_int(g));
    emit(g, "s1(x, y) = if k > %u then s0(x-1, y) else s0(x, y) + 1\n", (unsigned)pick(g, 9));
    emit(g, "out(x, y) = s1(x, y) + s1(x, y%+d)\n", offset(g, 2));
    if (chance(g, 50))
        emit(g, "out(x, y) = out(x, y) * 2 + s1(x+k, y)\n");
    if (chance(g, 40))
        emit(g, "out(x, %d) = s0(x, k)\n", offset(g, 3));
}

/* ---- Reductions -------------------------------------------------------------------------- */

/* An update, or an inline reduction, over one or two variables; then something that reads it. */
static void reduction(Gen *g)
{
    static const char *const ops[] = { "+=", "+=", "min=", "max=" };
    const char              *type  = chance(g, 65) ? some_int(g) : some_type(g);
    const int                n = some_extent(g), m = 1 + (int)pick(g, 5);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y))\n", type);
    emit(g, "c(x, y) = %s(%u)\n", type, (unsigned)pick(g, 9));
    switch (pick(g, 4)) {
    case 0: emit(g, "c(x, y) %s s0(x+u, y) for u in %d..%d\n", ops[pick(g, 4)], offset(g, 2), n); break;
    case 1: emit(g, "c(x, y) %s s0(x+u, y+v) * 3 for u in 0..%d, v in 0..%d\n", ops[pick(g, 4)], m, n); break;
    case 2: emit(g, "c(x, y) %s s0(u, y) for u in 0..%d where (u + x)%%3 > 0\n", ops[pick(g, 4)], n); break;
    default: emit(g, "c(x, y) %s s0(x+u, y-v) for u in 0..%d, v in 0..u+1\n", ops[pick(g, 4)], m); break;
    }
    emit(g, "out(x, y) = c(x, y) + c(x%+d, y%+d)\n", offset(g, 2), offset(g, 1));
}

/* Half a side of a window; a quarter are long enough for `auto` to double them. */
static int half_side(Gen *g)
{
    return chance(g, 25) ? 6 + (int)pick(g, 8) : 1 + (int)pick(g, 4);
}

/* A window with weights that are a product, or nearly; in types that wrap, of which all bits are needed or some. */
static void window(Gen *g)
{
    static const char *const weights[] = { "(u+3) * (v+2) * ", "",          "%s(u*7) * ", "k(v) * k(u) * ",
                                           "(v - x) * ",       "-(v*u) * ", "(u + v) * " };
    static const char *const ops[]     = { "max=", "min=", "*=" };
    const bool               is_sum    = chance(g, 75);
    const char              *type = some_int(g), *narrow = chance(g, 50) ? some_int(g) : type;
    const int                m = half_side(g), n = half_side(g), a = 1 + (int)(pick(g, 3) / 2),
              step = chance(g, 25) ? -1 : 1 + (int)(pick(g, 4) / 3);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(%s(x, y))\nk(i) = i*i - 2\nc(x, y) = %s(1)\nc(x, y) %s %s(", type,
         chance(g, 50) ? "edge(in)" : "in", type, is_sum ? "+=" : ops[pick(g, 3)], type);
    emit(g, weights[is_sum ? pick(g, 7) : 1], type);
    emit(g, "s0(%d*x + u, %d*y %+d*v)%s)", a, a, step, chance(g, 15) ? " + s0(x, y+v)" : "");
    emit(g, " for u in %d..%d, v in %d..%d%s\n", -m, m, -n, n, chance(g, 15) ? " where u + x > 1" : "");
    emit(g, "out(x, y) = %s(c(x, y)) - %s(c(x%+d, y%+d))\n", narrow, narrow, offset(g, 2), offset(g, 1));
}

/* As many steps as a parameter or the size of an input says. */
static void counted_reduction(Gen *g)
{
    const char *type = some_int(g);
    emit(g, "//@ param k %u\nparam k : i32 = 3\n", (unsigned)pick(g, 9));
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(edge(in)(x, y)) + 1\nc(x, y) = %s(1)\n", type, type);
    switch (pick(g, 3)) {
    case 0: emit(g, "c(x, y) += s0(x+u, y) for u in %d..k\n", offset(g, 2)); break;
    case 1: emit(g, "c(x, y) += s0(u, y) for u in in.x.min..in.x.max+1\n"); break;
    default: emit(g, "c(x, y) max= s0(x+u, v) for v in 0..in.height, u in 0..k/2+1\n"); break;
    }
    emit(g, "out(x, y) = c(x, y%+d) - c(x%+d, y)\n", offset(g, 1), offset(g, 2));
}

/* A reduction to very few values. */
static void to_scalar(Gen *g)
{
    static const char *const ops[] = { "+=", "+=", "min=", "max=" };
    const char              *type  = some_int(g);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 1);
    emit(g, "all() = %s(1)\nall() %s %s(in(u, v)) for u in 0..%d, v in 0..%d\n", type, ops[pick(g, 4)], type,
         some_extent(g), 1 + (int)pick(g, 6));
    emit(g, "row(y) = %s(0)\nrow(y) %s %s(in(u, y)) for u in 0..%d\n", type, ops[pick(g, 4)], type, some_extent(g));
    emit(g, "out(x) = row(x) + all() - row(x%+d)\n", offset(g, 2));
}

static void matrix(Gen *g)
{
    declare_input(g, "a", "x, y", 2);
    declare_input(g, "b", "x, y", 2);
    declare_output(g, "out", 2);
    const char *type = some_type(g);
    emit(g, "p(x, y) = %s(0)\np(x, y) += %s(a(k, y)) * %s(b(x, k)) for k in 0..%d\n", type, type, type, some_extent(g));
    emit(g, "out(x, y) = p(x, y)%s\n", chance(g, 50) ? " + p(x+1, y)" : "");
}

static void histogram(Gen *g)
{
    const int bins = 3 + (int)pick(g, 8);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 1);
    emit(g, "h(b) = %s(0)\nh(i32(in(u, v)) %% %d) += 1 for v in 0..%d, u in 0..%d\n", some_int(g), bins,
         1 + (int)pick(g, 6), some_extent(g));
    if (chance(g, 60)) {
        emit(g, "cdf(b) = h(b)\ncdf(i) += cdf(i-1) for i in 1..%d\n", bins);
        emit(g, "out(x) = cdf(x%%%d) - h((x+1)%%%d)\n", bins, bins);
    } else {
        emit(g, "out(x) = h(x%%%d) + 2*h((x%+d)%%%d)\n", bins, offset(g, 2), bins);
    }
}

/* Running sums, forwards and backwards, and a stencil over them. */
static void scan(Gen *g)
{
    const char *type = some_type(g);
    const int   n    = some_extent(g) + 1;
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y))\n", type);
    emit(g, "f(x, y) = s0(x, y)\n");
    if (chance(g, 50))
        emit(g, "f(i, y) = f(i-1, y) + s0(i, y) for i in 1..%d\n", n);
    else
        emit(g, "f(x, i) = f(x, i-1) + s0(x, i) for i in 1..%d\n", n);
    if (chance(g, 50))
        emit(g, "f(%d-i, y) = f(%d-i, y) + f(%d-i, y) for i in 1..%d\n", n, n, n + 1, n);
    emit(g, "out(x, y) = f(x, y) - f(x%+d, y%+d)\n", offset(g, 2), offset(g, 2));
}

/* A histogram of what is computed, of planes or not, and a reader of the bins too. */
static void binned(Gen *g)
{
    const int   bins   = 3 + (int)pick(g, 8);
    const bool  planes = chance(g, 50);
    const char *c = planes ? ", c" : "", *type = some_int(g);
    declare_input(g, "in", planes ? "x, y, c" : "x, y", planes ? 3 : 2);
    declare_output(g, "out", planes ? 3 : 2);
    emit(g, "bin(x, y%s) = i32(in(x, y%s)) %% %d\n", c, c, bins);
    const bool weighted = chance(g, 30);
    if (weighted)
        emit(g, "weight(x, y%s) = %s(i32(in(x, y%s)) / 3 + x)\n", c, type, c);
    emit(g, "h(b%s) = %s(%d)\n", c, type, (int)pick(g, 3));
    emit(g, "h(bin(u, v%s)%s) += ", c, c);
    emit(g, weighted ? "weight(u, v%s)" : "1", c);
    emit(g, " for v in 0..%d, u in %d..%d%s\n", 1 + (int)pick(g, 9), offset(g, 2), some_extent(g),
         chance(g, 30) ? " where u != v" : "");
    emit(g, "out(x, y%s) = h(bin(x, y%s)%s) + h((x%+d)%%%d%s)\n", c, c, c, offset(g, 2), bins, c);
}

/* A recursive filter along one side and then, perhaps, along the other, forwards and backwards, and a reader at its own
 * points or at others. */
static void filters(Gen *g)
{
    const char *type   = some_type(g);
    const bool  planes = chance(g, 50), first_x = chance(g, 50);
    const char *c = planes ? ", c" : "", *last = "s0";
    const int   n = some_extent(g) + 1, count = 1 + (int)pick(g, 2);
    declare_input(g, "in", planes ? "x, y, c" : "x, y", planes ? 3 : 2);
    declare_output(g, "out", planes ? 3 : 2);
    emit(g, "s0(x, y%s) = %s(in(x, y%s))\n", c, type, c);
    for (int i = 0; i < count; i++) {
        static const char *const names[] = { "f", "g" };
        const char *f = names[i], *x = first_x == (i == 0) ? "" : "x, ", *y = first_x == (i == 0) ? ", y" : "";
        emit(g, "%s(x, y%s) = %s(x, y%s)\n", f, c, last, c);
        emit(g, "%s(%si%s%s) = %s(%si-1%s%s) + %s(%si%s%s) for i in 1..%d\n", f, x, y, c, f, x, y, c, last, x, y, c, n);
        if (chance(g, 60))
            emit(g, "%s(%s%d-i%s%s) = %s(%s%d-i%s%s) - %s(%s%d-i%s%s) for i in 1..%d\n", f, x, n, y, c, f, x, n + 1, y,
                 c, f, x, n, y, c, n);
        last = f;
    }
    if (chance(g, 30))
        emit(g, "h(x, y%s) = %s(x, y%s) + %s(x)\nout(x, y%s) = h(x, y%s)\n", c, last, c, type, c, c);
    else if (chance(g, 60))
        emit(g, "out(x, y%s) = %s(x, y%s)\n", c, last, c);
    else
        emit(g, "out(x, y%s) = %s(x, y%s) - %s(x%+d, y%+d%s)\n", c, last, c, last, offset(g, 2), offset(g, 2), c);
}

/* f(x, t) from f(., t-1). */
static void time_steps(Gen *g)
{
    const int steps = 2 + (int)pick(g, 4);
    declare_input(g, "in", "x", 1);
    declare_output(g, "out", 1);
    emit(g, "f(x, t) = %s(edge(in)(x))\n", some_type(g));
    emit(g, "f(x, t) = f(x-1, t-1) + f(x%+d, t-1) for t in 1..%d\n", offset(g, 2), steps + 1);
    emit(g, "out(x) = f(x, %d)%s\n", steps, chance(g, 40) ? " - f(x+1, 1)" : "");
}

static void tuples(Gen *g)
{
    const char *type = some_type(g);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = (%s(in(x, y)), i32(x) - y)\n", type);
    if (chance(g, 50))
        emit(g, "s0(x, y) = (s0(x, y).0 + 1, s0(x, y).1 * 2)\n");
    if (chance(g, 60)) {
        emit(g, "best(x, y) = argmax(s0(x+u, y).0 for u in -1..%d)\n", 1 + (int)pick(g, 4));
        emit(g, "out(x, y) = best(x, y).0 + s0(x, y%+d).1\n", offset(g, 1));
    } else {
        emit(g, "out(x, y) = (s0(x, y).1, s0(x%+d, y).0)\n", offset(g, 2));
    }
}

/* Several updates of one function, of parts of it. */
static void updates(Gen *g)
{
    const char *type = some_int(g);
    const int   n    = some_extent(g);
    declare_input(g, "in", "x, y", 2);
    declare_output(g, "out", 2);
    emit(g, "s0(x, y) = %s(in(x, y))\n", type);
    emit(g, "f(x, y) = s0(x, y) + s0(x+1, y)\n");
    emit(g, "f(x, y) = f(x, y) * 3\n");
    if (chance(g, 60))
        emit(g, "f(u, y) += s0(u, y-1) for u in %d..%d\n", offset(g, 2), n);
    if (chance(g, 50))
        emit(g, "f(x, 1) = f(x, 0) - f(x, 2)\n");
    if (chance(g, 50))
        emit(g, "f(u, v) += %s(u) for u in 0..%d, v in 0..u+1 where u != v\n", type, 1 + (int)pick(g, 6));
    emit(g, "out(x, y) = f(x, y%+d) + f(x%+d, y)\n", offset(g, 1), offset(g, 1));
}

/* Three dimensions, with a small third one. */
static void planes(Gen *g)
{
    declare_input(g, "in", "x, y, c", 3);
    declare_output(g, "out", 3);
    emit(g, "s0(x, y, c) = %s(in(x, y, c))\n", some_type(g));
    emit(g, "gray(x, y) = sum(s0(x, y, c) for c in 0..3)\n");
    emit(g, "s1(x, y, c) = s0(x, y%+d, c) - s0(x%+d, y, c)\n", offset(g, 2), offset(g, 1));
    emit(g, "out(x, y, c) = s1(x, y, c) + gray(x%+d, y) + s1(x, y, c+1)\n", offset(g, 1));
}

/* Windows whose sizes parameters give, with these values or others. Planes share what has none. */
static void radii(Gen *g)
{
    static const char *const steps[] = { "-k..k+1", "-(k/2)..k - k/2", "0..k", "k..k+m" };
    emit(g, "//@ param k %u\nparam k : i32 = %u\n", (unsigned)pick(g, 9), 1 + (unsigned)pick(g, 4));
    emit(g, "//@ param m %u\nparam m : i32 = 2\n", 1 + (unsigned)pick(g, 3));
    declare_input(g, "in", "x, y, c", 3);
    declare_output(g, "out", 3);
    emit(g, "s0(x, y, c) = %s(in(x, y, c))\n", some_type(g));
    emit(g, "rows(x, y) = %s(s0(x+i, y, %u) for i in %s)\n", chance(g, 70) ? "sum" : "max", (unsigned)pick(g, 3),
         steps[pick(g, 4)]);
    emit(g, "tall(x, y) = sum(rows(x, y+j) for j in %s)\n", steps[pick(g, 4)]);
    emit(g, "ratio(x, y) = tall(x, y) - rows(x%+d, y)\n", offset(g, 1));
    emit(g, "out(x, y, c) = ratio(x, y%+d) %s s0(x, y, c)\n", chance(g, 70) ? 0 : 1, some_operator(g));
}

typedef struct Family {
    const char *name;
    void (*write)(Gen *g);
    int weight;
} Family;

#define FAMILY(name, weight)                                                                                           \
    {                                                                                                                  \
#name, name, weight                                                                                            \
    }

static const Family families[] = {
    FAMILY(stencil_chain, 5),
    FAMILY(row_chain, 3),
    FAMILY(windows, 3),
    FAMILY(diamond, 3),
    FAMILY(outside, 2),
    FAMILY(pyramid, 2),
    FAMILY(index_arithmetic, 2),
    FAMILY(float_index, 2),
    FAMILY(warp, 3),
    FAMILY(narrow_index, 1),
    FAMILY(division, 2),
    FAMILY(interleaved, 2),
    FAMILY(correlated, 4),
    FAMILY(boundary, 2),
    FAMILY(siblings, 2),
    FAMILY(pairs, 3),
    FAMILY(conditions, 2),
    FAMILY(reduction, 3),
    FAMILY(window, 3),
    FAMILY(to_scalar, 1),
    FAMILY(counted_reduction, 1),
    FAMILY(matrix, 1),
    FAMILY(histogram, 2),
    FAMILY(binned, 2),
    FAMILY(scan, 2),
    FAMILY(filters, 2),
    FAMILY(time_steps, 1),
    FAMILY(tuples, 1),
    FAMILY(updates, 2),
    FAMILY(planes, 1),
    FAMILY(radii, 2),
    FAMILY(index_operators, 8),
    FAMILY(guards, 8),
    FAMILY(periodic, 5),
    FAMILY(small_boundaries, 5),
    FAMILY(empty_inputs, 5),
};
enum { FAMILIES = sizeof families / sizeof *families };
_Static_assert((int)FAMILIES < (int)MOST_FAMILIES, "a family behind the last is any program");

const char *family_title(int family)
{
    return family < FAMILIES ? families[family].name : NULL;
}

int family_of(const char *text)
{
    char name[32];
    int  which = 0;
    if (sscanf(text, "// %31s", name) != 1)
        return FAMILIES;
    while (which < FAMILIES && strcmp(name, families[which].name))
        which++;
    return which;
}

char *generate_family(Choices *c)
{
    Gen g     = { .choices = c };
    int total = 0, which = 0;
    for (int i = 0; i < FAMILIES; i++)
        total += families[i].weight;
    int at = (int)pick(&g, (uint32_t)total);
    while (which < FAMILIES - 1 && at >= families[which].weight)
        at -= families[which++].weight;
    emit(&g, "// %s\n", families[which].name);
    families[which].write(&g);
    if (g.text && strstr(g.text, "\ns1(x, y) = ") && chance(&g, 10)) /* what others read is an output too */
        declare_output(&g, "s1", 2);
    if (g.failed) {
        free(g.text);
        return NULL;
    }
    return g.text;
}
