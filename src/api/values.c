/* SPDX-License-Identifier: MIT */
/* Parameters: a number given by the user as a value of the parameter's type.
 *
 * Takes   an integer or a double.
 * Gives   the same number as the type holds it: an integer exactly (2.0 is 2, 1.5 is refused), a float rounded to
 *         nearest (NaN and infinities stay; a number too large to be finite in the type is refused).
 * Holds   afterwards: lo <= value < hi for integers, lo <= value <= hi for floats, where the parameter has a range.
 */
#include "api/values.h"

#include <inttypes.h>
#include <math.h>

#define TWO_TO_63 9223372036854775808.0

/* A scalar of the type as text, for messages. u64 travels in an int64_t as its bits. */
static const char *scalar_text(Arena *arena, kn_type type, kn_scalar v)
{
    if (v.is_float)
        return arena_printf(arena, "%.*g", type == KN_F64 || !type_is_float(type) ? 15 : 7, v.as.f);
    if (type == KN_U64)
        return arena_printf(arena, "%" PRIu64, (uint64_t)v.as.i);
    return arena_printf(arena, "%" PRId64, v.as.i);
}

/* The bits of the integer that `f` is; false if it is none, or `type` does not hold it. */
static bool integer_of_double(kn_type type, double f, int64_t *bits)
{
    if (f != trunc(f) || f < -TWO_TO_63 || f >= 2 * TWO_TO_63) /* NaN is unequal to itself */
        return false;
    if (type == KN_U64) {
        *bits = f >= 0 ? (int64_t)(uint64_t)f : -1;
        return f >= 0;
    }
    if (f >= TWO_TO_63)
        return false;
    *bits = (int64_t)f;
    return *bits >= type_min(type) && *bits <= type_max(type);
}

static bool integer_of_integer(kn_type type, int64_t i, int64_t *bits)
{
    *bits = i;
    return i >= type_min(type) && i <= type_max(type);
}

/* `given` as a value of the type; false if the type cannot hold it. */
static bool convert(kn_type type, kn_scalar given, kn_scalar *value)
{
    if (type_is_float(type)) {
        const double f = given.is_float ? given.as.f : (double)given.as.i;
        *value         = kn_float(type_round(type, f));
        return !isinf(value->as.f) || isinf(f);
    }
    int64_t    bits;
    const bool fits =
        given.is_float ? integer_of_double(type, given.as.f, &bits) : integer_of_integer(type, given.as.i, &bits);
    *value = kn_int(fits ? bits : 0);
    return fits;
}

/* a < b for two values of the type. */
static bool less(kn_type type, kn_scalar a, kn_scalar b)
{
    if (type_is_float(type))
        return a.as.f < b.as.f;
    return type == KN_U64 ? (uint64_t)a.as.i < (uint64_t)b.as.i : a.as.i < b.as.i;
}

static bool in_range(const Param *param, kn_scalar v)
{
    if (type_is_float(param->type))
        return v.as.f >= param->lo.as.f && v.as.f <= param->hi.as.f;
    return !less(param->type, v, param->lo) && less(param->type, v, param->hi);
}

/* The values of a type in words. */
static const char *values_text(Arena *arena, kn_type type)
{
    if (type == KN_BOOL)
        return "0 and 1";
    if (type == KN_U64)
        return "the integers from 0 to 18446744073709551615";
    if (type_is_float(type))
        return "finite numbers that are not so large";
    return arena_printf(arena, "the integers from %" PRId64 " to %" PRId64, type_min(type), type_max(type));
}

bool value_of_param(kn_context *cx, const Param *param, kn_scalar given, kn_scalar *value)
{
    Arena      *arena = &cx->call;
    const char *type  = type_table[param->type].name;
    if (!convert(param->type, given, value)) {
        diag_status(cx, KN_ERROR_ARGUMENT, "%s is %s, which cannot hold %s: it holds %s", param->name, type,
                    scalar_text(arena, KN_I64, given), values_text(arena, param->type));
        return false;
    }
    if (param->has_range && !in_range(param, *value)) {
        diag_status(cx, KN_ERROR_ARGUMENT, "%s = %s is outside its range %s..%s%s", param->name,
                    scalar_text(arena, param->type, *value), scalar_text(arena, param->type, param->lo),
                    scalar_text(arena, param->type, param->hi),
                    type_is_float(param->type) ? "" : " (the upper end is not in it)");
        return false;
    }
    return true;
}
