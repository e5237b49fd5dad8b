/* SPDX-License-Identifier: MIT */
/* What values an integer can have: enough to see that sums of coordinates and of small data do not wrap, so that C's
 * own operators say what they mean.
 *
 * Takes   an expression of an integer type.
 * Gives   an interval that holds its value; that of the type where nothing better is known.
 * Holds   coordinates lie within ±2^28, which is checked when the function is called, and names of lowered code are
 *         coordinates (ir/stmt.h).
 */
#include "codegen/c/c.h"
#include "ir/coordinates.h"

#include <string.h>

CRange c_type_range(kn_type t)
{
    if (t == KN_U64)
        return (CRange){ 0, INT64_MAX };
    return (CRange){ type_min(t), type_max(t) };
}

static int64_t saturate(__int128 v)
{
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/* The exact interval of an operator, which may be beyond its type. */
static void exact(const Expr *e, const CRange *a, __int128 *lo, __int128 *hi)
{
    const CRange x = a[0], y = e->count > 1 ? a[1] : a[0];
    switch (e->op) {
    case EX_ADD: *lo = (__int128)x.lo + y.lo, *hi = (__int128)x.hi + y.hi; break;
    case EX_SUB: *lo = (__int128)x.lo - y.hi, *hi = (__int128)x.hi - y.lo; break;
    case EX_NEG: *lo = -(__int128)x.hi, *hi = -(__int128)x.lo; break;
    default: {
        const __int128 p[4] = { (__int128)x.lo * y.lo, (__int128)x.lo * y.hi, (__int128)x.hi * y.lo,
                                (__int128)x.hi * y.hi };
        *lo = *hi = p[0];
        for (int i = 1; i < 4; i++) {
            *lo = p[i] < *lo ? p[i] : *lo;
            *hi = p[i] > *hi ? p[i] : *hi;
        }
    }
    }
}

static CRange meet(CRange a, CRange b)
{
    return (CRange){ a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
}

static bool inside(CRange a, CRange b)
{
    return a.lo >= b.lo && a.hi <= b.hi;
}

/* By a positive constant, rounded down. */
static CRange quotient(CRange a, int64_t c)
{
    const int64_t lo = a.lo / c - (a.lo % c < 0), hi = a.hi / c - (a.hi % c < 0);
    return (CRange){ lo, hi };
}

static CRange range_of_operator(const Expr *e, const CRange *a)
{
    const CRange all = c_type_range(e->type);
    int64_t      c;
    switch (e->op) {
    case EX_ADD:
    case EX_SUB:
    case EX_MUL:
    case EX_NEG: {
        __int128 lo, hi;
        exact(e, a, &lo, &hi);
        const CRange r = { saturate(lo), saturate(hi) };
        return inside(r, all) && e->type != KN_U64 ? r : all;
    }
    case EX_MIN: return (CRange){ a[0].lo < a[1].lo ? a[0].lo : a[1].lo, a[0].hi < a[1].hi ? a[0].hi : a[1].hi };
    case EX_MAX: return (CRange){ a[0].lo > a[1].lo ? a[0].lo : a[1].lo, a[0].hi > a[1].hi ? a[0].hi : a[1].hi };
    case EX_SELECT: return (CRange){ a[1].lo < a[2].lo ? a[1].lo : a[2].lo, a[1].hi > a[2].hi ? a[1].hi : a[2].hi };
    case EX_DIV: return expr_is_int(e->args[1], &c) && c > 0 ? quotient(a[0], c) : all;
    case EX_SHR:
        return expr_is_int(e->args[1], &c) && c >= 0 && c < 62 && type_bits(e->type) <= 32
                   ? quotient(a[0], (int64_t)1 << c)
                   : all;
    case EX_MOD: return expr_is_int(e->args[1], &c) && c > 0 ? (CRange){ 0, c - 1 } : all;
    case EX_BIT_AND: return expr_is_int(e->args[1], &c) && c >= 0 ? (CRange){ 0, c } : all;
    case EX_CAST: return type_is_int(e->args[0]->type) && inside(a[0], all) ? a[0] : all;
    case EX_SAT_CAST: {
        const CRange r = meet(a[0], all);
        return type_is_int(e->args[0]->type) && r.lo <= r.hi ? r : all;
    }
    case EX_ABS: return a[0].lo >= 0 ? a[0] : (CRange){ all.lo, all.hi };
    case EX_POPCOUNT:
    case EX_CLZ: return (CRange){ 0, 64 };
    default: return all;
    }
}

static CRange range_of(CGen *g, const Expr *e)
{
    const CRange all = c_type_range(e->type);
    if (e->op == EX_INT)
        return e->type == KN_U64 && e->u.i < 0 ? all : (CRange){ e->u.i, e->u.i };
    if (e->op == EX_VAR) {
        const CBinding *b = c_binding(g, e->u.name);
        if (b)
            return b->range;
        const size_t n      = strlen(e->u.name);
        const bool   stride = e->type != KN_I32;
        return stride                                ? all
               : n > 6 && strstr(e->u.name, ".min.") ? (CRange){ -MOST_COORDINATE, MOST_COORDINATE }
                                                     : (CRange){ 0, 2 * MOST_COORDINATE };
    }
    if (e->op == EX_DIM_MIN)
        return (CRange){ -MOST_COORDINATE, MOST_COORDINATE };
    if (e->op == EX_DIM_EXTENT)
        return (CRange){ 0, 2 * MOST_COORDINATE };
    if (e->op == EX_LOAD)
        return e->u.buffer->coordinates && e->type == KN_I32 ? (CRange){ -MOST_COORDINATE - 1, MOST_COORDINATE + 1 }
                                                             : all;
    if (e->count == 0 || e->count > 3 || e->op == EX_CALL || e->op == EX_EXTERN)
        return all;
    CRange args[3] = { all, all, all };
    for (uint32_t i = 0; i < e->count; i++)
        if (type_is_int(e->args[i]->type) || e->args[i]->type == KN_BOOL)
            args[i] = c_range(g, e->args[i]);
        else if (e->op != EX_SELECT || i)
            return all;
    return range_of_operator(e, args);
}

CRange c_range(CGen *g, const Expr *e)
{
    if (type_is_float(e->type))
        return (CRange){ INT64_MIN, INT64_MAX };
    if (g->ranged[e->id] != g->statement) {
        g->ranges[e->id] = range_of(g, e);
        g->ranged[e->id] = g->statement;
    }
    return g->ranges[e->id];
}

/* Also one of two coordinates, and the size of a buffer. */
static bool makes_coordinate(const Expr *e)
{
    return is_coordinate_op(e) || e->op == EX_SELECT || e->op == EX_DIM_MIN || e->op == EX_DIM_EXTENT;
}

static bool is_made_of_data(CGen *g, const Expr *e)
{
    if (e->op == EX_VAR) {
        const CBinding *b = c_binding(g, e->u.name);
        return b && b->data;
    }
    if (e->op == EX_LOAD || e->op == EX_EXTERN || e->op == EX_CALL)
        return e->op != EX_LOAD || !e->u.buffer->coordinates;
    bool data = false;
    for (uint32_t i = e->op == EX_SELECT; !data && i < e->count && !is_clamped_entry(e); i++)
        data = is_made_of_data(g, e->args[i]);
    return data;
}

bool c_is_named_coordinate(CGen *g, const Expr *e)
{
    return (e->type == KN_I32 || e->type == KN_I64) && !is_made_of_data(g, e);
}

/* Is it made of loop variables, sizes and parameters, not of data? */
bool c_is_coordinate(CGen *g, const Expr *e)
{
    if (e->type != KN_I32 && e->type != KN_I64)
        return false;
    if (e->op == EX_VAR) {
        const CBinding *b = c_binding(g, e->u.name);
        return !b || !b->data;
    }
    if (e->op == EX_PARAM)
        return true;
    if (e->op == EX_LOAD)
        return e->u.buffer->coordinates;
    if (is_clamped_entry(e))
        return true;
    bool made = makes_coordinate(e);
    for (uint32_t i = e->op == EX_SELECT; made && i < e->count; i++)
        made = c_is_coordinate(g, e->args[i]);
    return made;
}

bool c_wraps(CGen *g, const Expr *e)
{
    if (type_is_float(e->type) || e->count > 2)
        return true;
    if (g->trusted && c_is_coordinate(g, e))
        return false;
    CRange args[2];
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = c_range(g, e->args[i]);
    __int128 lo, hi;
    exact(e, args, &lo, &hi);
    const CRange all = c_type_range(e->type);
    return lo < all.lo || hi > all.hi || e->type == KN_U64;
}
