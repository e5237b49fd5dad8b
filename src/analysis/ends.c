/* SPDX-License-Identifier: MIT */
/* Arithmetic on ends: see ends.h. A row per operation gives the two numbers that its result lies between. */
#include "analysis/ends.h"

static const Wide most_end = (Wide)1 << 120;

typedef struct Bounds {
    Wide least, most;
} Bounds;

static const Bounds anything = { -((Wide)1 << 120), (Wide)1 << 120 };

static Bounds hull(Bounds a, Bounds b)
{
    return (Bounds){ wide_min(a.least, b.least), wide_max(a.most, b.most) };
}

static Bounds add(const End *a)
{
    return (Bounds){ a[0].least + a[1].least, a[0].most + a[1].most };
}

static Bounds sub(const End *a)
{
    return (Bounds){ a[0].least - a[1].most, a[0].most - a[1].least };
}

/* The hull of the values at the corners, for what is monotonic in each operand. */
static Bounds corners(const End *a, bool (*value)(Wide a, Wide b, Wide *r))
{
    Bounds     r      = { 0 };
    const Wide left[] = { a[0].least, a[0].most }, right[] = { a[1].least, a[1].most };
    const int  left_end = left[0] == left[1] ? 1 : 2, right_end = right[0] == right[1] ? 1 : 2;
    for (int i = 0; i < left_end; i++)
        for (int k = 0; k < right_end; k++) {
            Wide v;
            if (!value(left[i], right[k], &v))
                return anything;
            r = i || k ? hull(r, (Bounds){ v, v }) : (Bounds){ v, v };
        }
    return r;
}

static bool product(Wide a, Wide b, Wide *r)
{
    return !__builtin_mul_overflow(a, b, r);
}

static bool quotient(Wide a, Wide b, Wide *r)
{
    *r = b > 0 ? wide_floor_div(a, b) : b < 0 ? -wide_floor_div(a, -b) : 0;
    return true;
}

/* No left operand has 120 bits, so what is shifted right by more is its sign. */
static bool shifted(Wide a, Wide n, Wide *r)
{
    if (n > 120)
        return product(a, (Wide)1 << 120, r) && a == 0;
    if (n >= 0)
        return product(a, (Wide)1 << n, r);
    *r = n < -120 ? (a < 0 ? -1 : 0) : wide_floor_div(a, (Wide)1 << -n);
    return true;
}

static Bounds mul(const End *a)
{
    return corners(a, product);
}

static Bounds shl(const End *a)
{
    return corners(a, shifted);
}

static Wide magnitude(End a)
{
    return wide_max(-a.least, a.most);
}

static Bounds divide(const End *a)
{
    if (end_is_number(a[1]))
        return corners(a, quotient);
    const Wide m = magnitude(a[0]);
    return a[1].least >= 0 ? (Bounds){ wide_min(a[0].least, 0), wide_max(a[0].most, 0) } : (Bounds){ -m, m };
}

static Bounds mod(const End *a)
{
    Wide q;
    if (!end_is_number(a[0]) || !end_is_number(a[1]))
        return (Bounds){ 0, wide_max(magnitude(a[1]) - 1, 0) };
    quotient(a[0].least, a[1].least, &q);
    const Wide r = a[1].least ? a[0].least - q * a[1].least : 0;
    return (Bounds){ r, r };
}

static Bounds min(const End *a)
{
    return (Bounds){ wide_min(a[0].least, a[1].least), wide_min(a[0].most, a[1].most) };
}

static Bounds max(const End *a)
{
    return (Bounds){ wide_max(a[0].least, a[1].least), wide_max(a[0].most, a[1].most) };
}

static Bounds absolute(const End *a)
{
    return (Bounds){ wide_max(wide_max(a->least, -a->most), 0), magnitude(*a) };
}

static int bit_length(Wide v)
{
    int n = 0;
    for (; v > 0; v >>= 1)
        n++;
    return n;
}

static Bounds length(const End *a)
{
    return (Bounds){ bit_length(a->least), bit_length(a->most) };
}

/* All numbers with as many bits as the operands. */
static Bounds bits(const End *a)
{
    const Wide n = (Wide)1 << bit_length(wide_max(magnitude(a[0]), magnitude(a[1])));
    return (Bounds){ -n, n - 1 };
}

static Bounds bit_and(const End *a)
{
    const Wide v = a[0].least & a[1].least;
    return end_is_number(a[0]) && end_is_number(a[1]) ? (Bounds){ v, v } : bits(a);
}

static Bounds bit_xor(const End *a)
{
    const Wide v = a[0].least ^ a[1].least;
    return end_is_number(a[0]) && end_is_number(a[1]) ? (Bounds){ v, v } : bits(a);
}

static Bounds wrapped(const End *a)
{
    const Wide size = (Wide)1 << a[1].least, first = a[2].least ? -(size / 2) : 0;
    const Wide v = a[0].least - wide_floor_div(a[0].least - first, size) * size;
    return end_is_number(a[0]) ? (Bounds){ v, v } : (Bounds){ first, first + size - 1 };
}

static Bounds lt(const End *a)
{
    return (Bounds){ a[0].most < a[1].least, a[0].least < a[1].most };
}

static Bounds le(const End *a)
{
    return (Bounds){ a[0].most <= a[1].least, a[0].least <= a[1].most };
}

static Bounds eq(const End *a)
{
    return (Bounds){ end_same(a[0], a[1]), a[0].least <= a[1].most && a[1].least <= a[0].most };
}

static Bounds choice(const End *a)
{
    const Bounds yes = { a[1].least, a[1].most }, no = { a[2].least, a[2].most };
    return end_is_true(a[0]) ? yes : end_is_false(a[0]) ? no : hull(yes, no);
}

typedef struct EndRow {
    int arity;
    Bounds (*bounds)(const End *args);
} EndRow;

static const EndRow rows[END_OP_COUNT] = {
    [END_ADD] = { 2, add },         [END_SUB] = { 2, sub },         [END_MUL] = { 2, mul },
    [END_DIV] = { 2, divide },      [END_MOD] = { 2, mod },         [END_MIN] = { 2, min },
    [END_MAX] = { 2, max },         [END_ABS] = { 1, absolute },    [END_SHL] = { 2, shl },
    [END_LENGTH] = { 1, length },   [END_LT] = { 2, lt },           [END_LE] = { 2, le },
    [END_BIT_AND] = { 2, bit_and }, [END_BIT_XOR] = { 2, bit_xor }, [END_EQ] = { 2, eq },
    [END_AND] = { 2, min },         [END_OR] = { 2, max },          [END_SELECT] = { 3, choice },
    [END_WRAP] = { 3, wrapped },
};

/* The operand that the result equals, as far as is known; or NULL. */
static const End *chosen(EndOp op, const End *a)
{
    switch (op) {
    case END_MIN:
        return a[0].most <= a[1].least || end_same(a[0], a[1]) ? &a[0] : a[1].most <= a[0].least ? &a[1] : NULL;
    case END_MAX:
        return a[0].least >= a[1].most || end_same(a[0], a[1]) ? &a[0] : a[1].least >= a[0].most ? &a[1] : NULL;
    case END_ABS: return a[0].least >= 0 ? &a[0] : NULL;
    case END_SELECT: return end_is_true(a[0]) || end_same(a[1], a[2]) ? &a[1] : end_is_false(a[0]) ? &a[2] : NULL;
    default: return NULL;
    }
}

End end_apply(const EndMaker *maker, EndOp op, End a, End b, End c)
{
    const End  args[]  = { a, b, c };
    const End *operand = chosen(op, args);
    if (operand)
        return *operand;
    Bounds r = rows[op].bounds(args);
    if (r.least < -most_end || r.most > most_end)
        r = anything;
    bool known = r.least < r.most && maker;
    for (int i = 0; i < rows[op].arity; i++)
        known = known && end_is_known(args[i]);
    const Expr *e = known ? maker->make(maker->user, op, args, r.least, r.most) : NULL;
    int64_t     v;
    return e && expr_is_int(e, &v) ? end_number(v) : (End){ r.least, r.most, e };
}
