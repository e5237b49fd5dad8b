/* SPDX-License-Identifier: MIT */
/* Families of programs about where an access lies: every integer operator in an index, every shape of guard,
 * boundaries around next to nothing, inputs without points. Compiled code finds boxes by rules over intervals, before
 * sizes are known, and the interpreter for numbers; these are the programs in which a rule that is missing, loose or
 * wrong shows. sizes.c runs them at extents 0 to 3 too, and with outputs as large as the inputs. */
#include "corners.h"
#include "family.h"

#include <stdio.h>
#include <string.h>

#define ONE_OF(g, table) ((table)[pick(g, sizeof(table) / sizeof *(table))])

/* ---- Indices and guards, for generate_expr.c too ------------------------------------------- */

/* %1$s: a coordinate. %2$s: a parameter of type i32, or a number. */
static const char *const index_forms[] = {
    "%1$s & -2",
    "%1$s | 1",
    "%1$s ^ 1",
    "~%1$s",
    "%1$s & 7",
    "%1$s | -4",
    "%1$s ^ -3",
    "%1$s & ~3",
    "(%1$s + %2$s) & -4",
    "%1$s & (%2$s | 1)",
    "%1$s ^ %2$s",
    "%1$s | %2$s",
    "%1$s << 1",
    "%1$s >> 1",
    "%1$s << (%2$s & 1)",
    "%1$s >> %2$s",
    "%1$s >> (%2$s & 3)",
    "(%1$s << 2) >> 1",
    "1 << (%1$s & 3)",
    "64 >> %1$s",
    "%1$s / 3 * 3",
    "%1$s / %2$s * %2$s",
    "%1$s / (%2$s + 1) * (%2$s + 1)",
    "%1$s %% (%2$s + 1)",
    "%1$s %% 3",
    "%1$s %% -3",
    "%1$s / -2",
    "%1$s / (%2$s + 1)",
    "%1$s - %1$s / 2",
    "%1$s %% 4 - %1$s / 4",
    "%1$s * %2$s",
    "%2$s - %1$s",
    "%1$s + %2$s",
    "(%1$s * %1$s) & 15",
    "%1$s * %1$s / 4",
    "mul_shift(%1$s, 3, 1)",
    "mul_shift(%1$s, -5, 2)",
    "mul_shift(%1$s, %2$s, 1)",
    "mul_shift(%1$s, %1$s, 3)",
    "avg_up(%1$s, 3)",
    "avg_down(%1$s, -4)",
    "avg_up(%1$s, %2$s)",
    "avg_down(%2$s, %1$s)",
    "i32(absd(%1$s, 3))",
    "i32(absd(%1$s, %2$s))",
    "abs(%1$s)",
    "abs(%1$s - %2$s)",
    "-%1$s",
    "min(%1$s, %2$s)",
    "max(%1$s, %2$s - 2)",
    "clamp(%1$s, -1, %2$s)",
    "min(%1$s + 1, 3) - max(%1$s, 0)",
    "i32(u8(%1$s))",
    "i32(i8(%1$s))",
    "i32(sat_u8(%1$s))",
    "i32(u16(%1$s)) / 1024",
    "popcount(%1$s)",
    "clz(%1$s) / 4",
    "i32(%1$s > %2$s)",
    "i32(%1$s == 1) + %1$s",
    "i32(floor(f32(%1$s) / f32(%2$s)))",
    "i32(floor(f32(%1$s) * 0.5))",
    "i32(round(f32(%1$s) * 1.5))",
    "i32(ceil(f32(%1$s) / 3.0))",
    "i32(trunc(f32(%1$s) * 0.25))",
    "i32(f32(%1$s) / (f32(%2$s) + 0.5))",
    "i32(sqrt(abs(f32(%1$s))))",
};

void corner_index(Gen *g, const char *var, const char *number)
{
    emit(g, ONE_OF(g, index_forms), var, number);
}

/* %1$s: a coordinate; %2$s: a number or a parameter; %3$s: another coordinate. */
static const char *const guard_forms[] = {
    "%1$s == 0",
    "%1$s == %2$s",
    "%1$s != %2$s",
    "%1$s != 0",
    "%1$s < %2$s",
    "%1$s <= %2$s",
    "%1$s > %2$s",
    "%1$s >= %2$s",
    "%2$s > %1$s",
    "0 <= %1$s",
    "0 == %1$s",
    "%1$s %% 2 == 0",
    "(%1$s & 1) == 1",
    "%1$s == %3$s",
    "%1$s != %3$s + 1",
    "%1$s + %2$s < 4",
    "%1$s - 1 >= 0",
    "%1$s / 2 == %2$s",
    "%1$s * 2 == %2$s",
    "abs(%1$s) < 3",
    "max(%1$s, %3$s) <= 2",
    "%2$s > 2",
    "%2$s == 3",
    "%2$s != 0",
    "f32(%1$s) < 1.5",
    "%1$s < 3 == (%3$s < 3)",
    "u8(%1$s) < 5",
    "-%1$s == %2$s",
    "%1$s << 1 == 2",
};

/* A condition on coordinates, of some levels. */
static void guard_of(Gen *g, const char *x, const char *y, const char *number, int levels)
{
    const uint32_t kind = levels ? pick(g, 6) : 0;
    if (kind < 3) {
        emit(g, ONE_OF(g, guard_forms), x, number, y);
        return;
    }
    emit(g, kind == 3 ? "!(" : "(");
    guard_of(g, x, y, number, levels - 1);
    if (kind > 3) {
        emit(g, kind == 4 ? " && " : " || ");
        guard_of(g, y, x, number, levels - 1);
    }
    emit(g, ")");
}

void corner_guard(Gen *g, const char *x, const char *y, const char *number)
{
    guard_of(g, x, y, number, 2);
}

/* ---- What the families share ---------------------------------------------------------------- */

static const char *const numbers[] = { "p", "1", "3", "p", "2", "-3", "q" };

static void declare_numbers(Gen *g)
{
    emit(g, "//@ param p %u\nparam p : i32 = 2\n", (unsigned)pick(g, 9));
    emit(g, "//@ param q %u\nparam q : i32 = 3%s\n", (unsigned)pick(g, 9), chance(g, 50) ? " in 0..9" : "");
}

/* An input of one or two dimensions, an output, the numbers; gives the dimensions. */
static const char *begin(Gen *g, int *rank)
{
    *rank            = 1 + (int)pick(g, 2);
    const char *dims = *rank == 2 ? "x, y" : "x";
    declare_numbers(g);
    declare_input(g, "in", dims, *rank);
    declare_output(g, "out", *rank);
    return dims;
}

/* The other coordinate, which in one dimension is the same. */
static const char *other(int rank)
{
    return rank == 2 ? "y" : "x";
}

/* ---- The families --------------------------------------------------------------------------- */

/* NAME(index, index) or NAME(index, y+1) … */
static void read_by_operators(Gen *g, const char *name, int rank)
{
    emit(g, "%s(", name);
    corner_index(g, "x", ONE_OF(g, numbers));
    if (rank == 2 && chance(g, 50)) {
        emit(g, ", ");
        corner_index(g, "y", ONE_OF(g, numbers));
    } else if (rank == 2) {
        emit(g, ", y%+d", offset(g, 2));
    }
    emit(g, ")");
}

void index_operators(Gen *g)
{
    int         rank;
    const char *dims = begin(g, &rank), *type = some_type(g);
    const bool  direct = chance(g, 25);
    if (!direct)
        emit(g, "s0(%s) = %s(in(%s)) + 1\n", dims, type, dims);
    emit(g, "s1(%s) = ", dims);
    read_by_operators(g, direct ? "in" : "s0", rank);
    if (chance(g, 50)) {
        emit(g, " - ");
        read_by_operators(g, direct ? "in" : "s0", rank);
    }
    emit(g, "\nout(%s) = ", dims);
    if (chance(g, 30))
        read_by_operators(g, "s1", rank);
    else
        emit(g, "s1(x%+d%s)", offset(g, 2), rank == 2 ? ", y" : "");
    emit(g, " + s1(%s)\n", dims);
}

/* A value that some guard stands before: reads that are wrong, or far, where the guard does not hold. */
static void guarded_value(Gen *g, int rank, int levels)
{
    static const char *const far[]  = { "x - 1",        "x + 1",     "0",       "x",        "p",
                                        "x * 2",        "2 * x - p", "x / 2",   "in.x.max", "in.x.min",
                                        "in.width - 1", "x + 40",    "1000 * x" };
    static const char *const data[] = { "s0(%s) > 3",   "s0(%s) == 2",
                                        "in.width > 0", "in.x.min <= x && x <= in.x.max",
                                        "x < in.width", "x == in.x.max",
                                        "x != in.x.min" };
    const uint32_t           kind   = levels ? pick(g, 5) : 0;
    const char              *dims   = rank == 2 ? "x, y" : "x";
    if (kind < 2) {
        emit(g, "s0(%s", ONE_OF(g, far));
        emit(g, rank == 2 ? ", y%+d)" : ")", offset(g, 1));
        return;
    }
    emit(g, kind == 4 ? "select(" : "(if ");
    if (chance(g, 35))
        emit(g, ONE_OF(g, data), dims);
    else
        corner_guard(g, "x", other(rank), ONE_OF(g, numbers));
    emit(g, kind == 4 ? ": " : " then ");
    guarded_value(g, rank, levels - 1);
    if (kind == 4 && chance(g, 60)) {
        emit(g, ", ");
        corner_guard(g, "x", other(rank), ONE_OF(g, numbers));
        emit(g, ": ");
        guarded_value(g, rank, levels - 1);
    }
    emit(g, kind == 4 ? ", else: " : " else ");
    guarded_value(g, rank, levels - 1);
    emit(g, ")");
}

void guards(Gen *g)
{
    int         rank;
    const char *dims = begin(g, &rank);
    emit(g, "s0(%s) = %s(in(%s))\n", dims, some_type(g), dims);
    emit(g, "s1(%s) = ", dims);
    guarded_value(g, rank, 3);
    emit(g, "\nout(%s) = s1(%s)", dims, dims);
    if (chance(g, 50))
        emit(g, " + s1(x%+d%s)", offset(g, 1), rank == 2 ? ", y" : "");
    emit(g, "\n");
}

/* Neighbours on a ring, as people write them. %1$s: what is read; %2$s: what follows the first index; %3$s: the
 * width. */
static const char *const ring_forms[] = {
    "if x == 0 then %1$s(%3$s-1%2$s) else %1$s(x-1%2$s)",
    "if x == %3$s-1 then %1$s(0%2$s) else %1$s(x+1%2$s)",
    "%1$s((x+1) %% %3$s%2$s)",
    "%1$s((x-1+%3$s) %% %3$s%2$s)",
    "%1$s((x-1) %% %3$s%2$s)",
    "select(x == 0: %1$s(%3$s-1%2$s), x == %3$s-1: %1$s(0%2$s), else: %1$s(x+1%2$s))",
    "%1$s((if x == 0 then %3$s-1 else x-1)%2$s)",
    "%1$s(select(x == 0: %3$s-1, else: x-1)%2$s)",
    "if x > 0 then %1$s(x-1%2$s) else %1$s(%3$s-1%2$s)",
    "if x != 0 then %1$s(x-1%2$s) else %1$s(%3$s-1%2$s)",
    "if !(x == 0) then %1$s(x-1%2$s) else %1$s(%3$s-1%2$s)",
    "if x-1 < 0 then %1$s(x-1+%3$s%2$s) else %1$s(x-1%2$s)",
    "%1$s(min(x+1, %3$s-1)%2$s)",
    "%1$s(max(x-1, 0)%2$s)",
    "%1$s(clamp(x+p, 0, %3$s-1)%2$s)",
    "if x >= 1 && x < %3$s-1 then %1$s(x-1%2$s) + %1$s(x+1%2$s) else %1$s(x%2$s)",
    "if x < 1 || x == %3$s-1 then %1$s(x%2$s) else %1$s(x-1%2$s) + %1$s(x+1%2$s)",
    "if x == 0 || x == %3$s-1 then %1$s(x%2$s) else %1$s(x-1%2$s) - %1$s(x+1%2$s)",
    "if x + 1 == %3$s then %1$s(x+1-%3$s%2$s) else %1$s(x+1%2$s)",
    "%1$s(x+1 - (if x+1 >= %3$s then %3$s else 0)%2$s)",
    "%1$s(%3$s-1-x%2$s)",
    "if %3$s > 1 then %1$s((if x == 0 then 1 else x-1)%2$s) else %1$s(x%2$s)",
    "if in.width > 0 then %1$s(%3$s-1%2$s) else 9",
    "if p == 0 then %1$s((x+1) %% %3$s%2$s) else %1$s(x%2$s)",
    "%1$s((x+p) %% %3$s%2$s)",
    "%1$s((if x > %3$s-2 then 0 else x+1)%2$s)",
};

/* Steps on a ring: the state after each is a stage. */
void periodic(Gen *g)
{
    static const char *const widths[] = { "in.width", "in.x.extent", "(in.x.max + 1)" };
    int                      rank;
    const char              *dims = begin(g, &rank), *rest = rank == 2 ? ", y" : "", *width = ONE_OF(g, widths);
    const int                steps = 1 + (int)pick(g, 2);
    emit(g, "s0(%s) = %s(in(%s))\n", dims, some_type(g), dims);
    for (int i = 1; i <= steps; i++) {
        const char *from = chance(g, 20) ? "in" : i == 1 ? "s0" : "s1";
        emit(g, "%s(%s) = { let a = ", i < steps ? "s1" : "out", dims);
        emit(g, ONE_OF(g, ring_forms), from, rest, width);
        emit(g, "  let b = ");
        emit(g, ONE_OF(g, ring_forms), from, rest, width);
        emit(g, "  a %s b }\n", chance(g, 50) ? "+" : "-");
    }
}

/* edge(NAME, x: 0..2) … The region is explicit for a function, and for an input now and then. */
static void boundary_of(Gen *g, const char *name, int rank, bool is_input)
{
    static const char *const kinds[] = { "edge", "mirror", "mirror_interior", "wrap", "constant" };
    static const char *const ends[]  = { "%d..%d",      "%d..p + %d", "in.x.min..in.x.max + 1",
                                         "0..in.width", "p..q",       "-p..%d + q" };
    const uint32_t           kind    = pick(g, 5);
    emit(g, "%s(%s%s", kinds[kind], name, kind == 4 ? ", 7" : "");
    for (int d = 0; d < rank && (!is_input || chance(g, 40)); d++) {
        const int lo = offset(g, 3), most = lo + 1 + (int)pick(g, 3); /* known to be empty it is refused */
        emit(g, ", %s: ", d ? "y" : "x");
        emit(g, chance(g, 50) ? ends[0] : ONE_OF(g, ends), lo, most);
    }
    emit(g, ")");
}

/* Boundaries around boxes of 0 to 3 points, around inputs and functions, and around each other. */
void small_boundaries(Gen *g)
{
    int         rank;
    const char *dims = begin(g, &rank), *rest = rank == 2 ? ", y" : "";
    emit(g, "s0(%s) = %s(", dims, some_type(g));
    boundary_of(g, "in", rank, true);
    emit(g, "(%s))\ne = ", dims);
    boundary_of(g, "s0", rank, false);
    emit(g, "\ns1(%s) = e(x%+d%s) - e(", dims, offset(g, 3), rest);
    corner_index(g, "x", ONE_OF(g, numbers));
    emit(g, "%s)\nout(%s) = s1(%s) + ", rest, dims, dims);
    boundary_of(g, chance(g, 50) ? "s1" : "s0", rank, false);
    emit(g, "(x%+d%s)\n", offset(g, 4), rest);
}

/* %1$s: the other index, with its comma. */
static const char *const empty_forms[] = {
    "if in.width > 0 then in(0%1$s) else 9",
    "if x < in.width then in(x%1$s) else 9",
    "constant(in, 7)(x%1$s)",
    "constant(in, 7)(x-1%1$s) + constant(in, 3)(x+1%1$s)",
    "if in.width == 0 then 9 else in(in.x.min%1$s)",
    "if in.width != 0 then edge(in)(x%1$s) else 9",
    "if x >= in.x.min && x <= in.x.max then in(x%1$s) else 9",
    "if in.width > 2 then wrap(in)(x+5%1$s) else constant(in, 1)(x%1$s)",
    "sum(in(u%1$s) for u in in.x.min..in.x.max+1)",
    "max(in(u%1$s) for u in 0..in.width)",
    "constant(in, 7)(x + (i32(constant(in, 1)(x%1$s)) & 7) - 1%1$s)",
    "if in.x.max < x then 9 else if x < in.x.min then 8 else in(x%1$s)",
    "select(in.width == 0: 9, in.width == 1: in(in.x.min%1$s), else: in(in.x.max%1$s))",
    "constant(in, 7)(x / (p + 1)%1$s)",
};

/* Inputs that may have no points, read behind guards and boundaries. */
void empty_inputs(Gen *g)
{
    int         rank;
    const char *dims = begin(g, &rank), *rest = rank == 2 ? ", y" : "";
    emit(g, "s0(%s) = ", dims);
    emit(g, ONE_OF(g, empty_forms), rest);
    emit(g, "\ns1(%s) = ", dims);
    emit(g, ONE_OF(g, empty_forms), rest);
    emit(g, "\nout(%s) = s0(x%+d%s) %s s1(%s)\n", dims, offset(g, 2), rest, chance(g, 50) ? "+" : "-", dims);
}
