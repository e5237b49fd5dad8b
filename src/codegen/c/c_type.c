/* SPDX-License-Identifier: MIT */
/* Types and constants as text. */
#include "codegen/c/c.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const char *const c_types[KN_TYPE_COUNT] = {
    [KN_BOOL] = "bool",     [KN_U8] = "uint8_t",  [KN_U16] = "uint16_t", [KN_U32] = "uint32_t",  [KN_U64] = "uint64_t",
    [KN_I8] = "int8_t",     [KN_I16] = "int16_t", [KN_I32] = "int32_t",  [KN_I64] = "int64_t",   [KN_F16] = "uint16_t",
    [KN_BF16] = "uint16_t", [KN_F32] = "float",   [KN_F64] = "double",
};
/* What the elements of a vector are called; f16 and bf16 are their bits. */
static const char *const lane_types[KN_TYPE_COUNT] = {
    [KN_BOOL] = "u8", [KN_U8] = "u8",   [KN_U16] = "u16", [KN_U32] = "u32",  [KN_U64] = "u64", [KN_I8] = "i8",
    [KN_I16] = "i16", [KN_I32] = "i32", [KN_I64] = "i64", [KN_F16] = "u16",  [KN_BF16] = "u16",
    [KN_F32] = "f32", [KN_F64] = "f64",
};
/* clang-format on */

const char *c_type(kn_type t)
{
    return c_types[t];
}

const char *c_memory_type(kn_type t)
{
    return t == KN_BOOL ? "uint8_t" : c_types[t];
}

/* typedef float f32x8 …: written when it is first asked for. */
const char *c_vector_type(CGen *g, kn_type t, int lanes)
{
    const char *name = c_print(g, "%sx%d", lane_types[t], lanes);
    if (!c_helper_new(g, name))
        return name;
    const char *element = c_memory_type(t);
    text_printf(&g->types, "typedef %s %s __attribute__((vector_size(%d)));\n", element, name,
                lanes * (int)kn_type_size(t));
    return name;
}

const char *c_mask_type(CGen *g, int bits, int lanes)
{
    return c_vector_type(g, bits == 8 ? KN_I8 : bits == 16 ? KN_I16 : bits == 32 ? KN_I32 : KN_I64, lanes);
}

const char *c_int_text(CGen *g, kn_type t, int64_t v)
{
    switch (t) {
    case KN_U32: return c_print(g, "%lluu", (unsigned long long)v);
    case KN_U64: return c_print(g, "UINT64_C(%llu)", (unsigned long long)v);
    case KN_I64:
        return v == INT64_MIN
                   ? "INT64_MIN"
                   : c_print(g, v < 0 ? "-INT64_C(%lld)" : "INT64_C(%lld)", v < 0 ? -(long long)v : (long long)v);
    case KN_I32: return v == INT32_MIN ? "INT32_MIN" : c_print(g, "%lld", (long long)v);
    default: return c_print(g, "%lld", (long long)v);
    }
}

const char *c_float_text(CGen *g, kn_type t, double v)
{
    if (type_bits(t) == 16) {
        uint16_t bits;
        type_store_float(t, &bits, v);
        return c_print(g, "0x%04X", bits);
    }
    const char *suffix = t == KN_F32 ? "f" : "";
    if (v != v)
        return t == KN_F32 ? "NAN" : "(double)NAN";
    if (isinf(v))
        return c_print(g, "%s%s", v < 0 ? "-" : "", t == KN_F32 ? "INFINITY" : "(double)INFINITY");
    char text[64];
    for (int digits = 6; digits <= 17; digits++) { /* as few as say the same */
        snprintf(text, sizeof text, "%.*g", digits, v);
        double back;
        sscanf(text, "%lf", &back);
        if (t == KN_F32 ? (float)back == (float)v : back == v)
            break;
    }
    return c_print(g, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", suffix);
}
