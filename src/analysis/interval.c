/* SPDX-License-Identifier: MIT */
/* Ranges: what those of integers and floats share. Rules of integer operators: interval_rules.c; of floats:
 * interval_float.c. */
#include "analysis/interval_rules.h"

#include <math.h>

/* ---- Types ------------------------------------------------------------------------------ */

static Wide int_min(kn_type t)
{
    return type_is_signed(t) ? -((Wide)1 << (type_bits(t) - 1)) : 0;
}

static Wide int_max(kn_type t)
{
    return ((Wide)1 << (type_bits(t) - type_is_signed(t))) - 1;
}

bool range_within(kn_type type, Range r)
{
    return r.lo >= int_min(type) && r.hi <= int_max(type);
}

Range range_of_type(kn_type type)
{
    return type_is_float(type) ? range_float(-INFINITY, INFINITY, true) : range_int(int_min(type), int_max(type));
}

Range range_fit(kn_type type, Wide lo, Wide hi)
{
    const Interval r = interval_fit(NULL, type, end_number(lo), end_number(hi));
    return range_int(r.lo.least, r.hi.least);
}

Range range_of_scalar(kn_type type, kn_scalar value)
{
    const Range exact = value.is_float   ? range_float(value.as.f, value.as.f, isnan(value.as.f))
                        : type == KN_U64 ? range_int((uint64_t)value.as.i, (uint64_t)value.as.i)
                                         : range_int(value.as.i, value.as.i);
    if (value.is_float && exact.nan)
        return type_is_float(type) ? range_of_type(type) : range_int(0, 0);
    return range_apply(EX_CAST, type, value.is_float ? KN_F64 : type == KN_U64 ? KN_U64 : KN_I64, &exact);
}

Range range_union(kn_type type, Range a, Range b)
{
    if (type_is_float(type))
        return range_float(fmin(a.flo, b.flo), fmax(a.fhi, b.fhi), a.nan || b.nan);
    return range_int(wide_min(a.lo, b.lo), wide_max(a.hi, b.hi));
}

bool range_equal(kn_type type, Range a, Range b)
{
    if (type_is_float(type))
        return a.flo == b.flo && a.fhi == b.fhi && a.nan == b.nan;
    return a.lo == b.lo && a.hi == b.hi;
}

bool range_intersect(kn_type type, Range *a, Range b)
{
    if (type_is_float(type)) {
        const Range both = range_float(fmax(a->flo, b.flo), fmin(a->fhi, b.fhi), a->nan && b.nan);
        if (both.flo > both.fhi)
            return false;
        *a = both;
        return true;
    }
    const Range both = range_int(wide_max(a->lo, b.lo), wide_min(a->hi, b.hi));
    if (both.lo > both.hi)
        return false;
    *a = both;
    return true;
}

/* ---- Operators -------------------------------------------------------------------------- */

static Range apply_to_numbers(ExprOp op, kn_type type, kn_type from, const Range *args)
{
    Interval  a[3] = { 0 };
    const int n    = expr_op_table[op].arity;
    for (int i = 0; i < n && i < 3; i++)
        a[i] = (Interval){ end_number(args[i].lo), end_number(args[i].hi) };
    const Interval r = interval_apply(NULL, op, type, from, a);
    return range_int(r.lo.least, r.hi.least);
}

Range range_apply(ExprOp op, kn_type type, kn_type from, const Range *args)
{
    if (!type_is_float(type) && !type_is_float(from))
        return apply_to_numbers(op, type, from, args);
    RangeRule *rule = range_float_rules[op];
    return rule ? rule(type, from, args) : range_of_type(type);
}
