/* SPDX-License-Identifier: MIT */
/* The arithmetic types of C and their conversions.
 *
 * From    ISO C11, 6.3.1.1 and 6.3.1.8, for an int of 32 bits. */
#include "poly/source/parser.h"

bool c_is_integer(kn_type t)
{
    return t == KN_BOOL || type_is_int(t);
}

kn_type c_promote(kn_type t)
{
    return c_is_integer(t) && type_bits(t) < 32 ? KN_I32 : t;
}

kn_type c_arithmetic(kn_type a, kn_type b)
{
    if (type_is_float(a) || type_is_float(b)) {
        if (!type_is_float(a) || !type_is_float(b))
            return type_is_float(a) ? a : b;
        return type_bits(a) >= type_bits(b) ? a : b;
    }
    a = c_promote(a);
    b = c_promote(b);
    if (type_bits(a) != type_bits(b))
        return type_bits(a) > type_bits(b) ? a : b;
    return type_is_signed(a) ? b : a;
}

/* clang-format off */
static const char *const names[KN_TYPE_COUNT] = {
    [KN_BOOL] = "_Bool",
    [KN_I8] = "signed char", [KN_I16] = "short", [KN_I32] = "int", [KN_I64] = "long long",
    [KN_U8] = "unsigned char", [KN_U16] = "unsigned short", [KN_U32] = "unsigned int", [KN_U64] = "unsigned long long",
    [KN_F32] = "float", [KN_F64] = "double",
};
/* clang-format on */

const char *c_type_name(kn_type t)
{
    return names[t] ? names[t] : "void";
}
