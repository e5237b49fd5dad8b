/* SPDX-License-Identifier: MIT */
/* The scalar types, as a table. */
#ifndef KILN_IR_TYPE_H
#define KILN_IR_TYPE_H

#include "kiln.h"

typedef struct TypeInfo {
    const char *name;
    int         bits; /* 1 for bool */
    bool        is_float, is_signed;
    kn_type     as_unsigned; /* the unsigned type of the same width, for integers; itself otherwise */
    int         mantissa;    /* bits of precision of a float, hidden bit included */
} TypeInfo;

extern const TypeInfo type_table[KN_TYPE_COUNT];

static inline int type_bits(kn_type t)
{
    return type_table[t].bits;
}
static inline bool type_is_float(kn_type t)
{
    return type_table[t].is_float;
}
static inline bool type_is_signed(kn_type t)
{
    return type_table[t].is_signed;
}
static inline bool type_is_int(kn_type t)
{
    return t != KN_BOOL && t != KN_NONE && !type_table[t].is_float;
}

/* The type two operands meet at: the float if one is a float (the wider; f16 and bf16 meet at f32), the wider of two of
 * equal signedness, signed of the larger width for a mix. KN_NONE if they do not meet (bool with another). */
kn_type type_meet(kn_type a, kn_type b);

/* The smallest and largest value of an integer type or bool, as i64; u64's largest is given as INT64_MAX. */
int64_t type_min(kn_type t);
int64_t type_max(kn_type t);

/* An integer of any size brought into the type by wrapping, sign- or zero-extended to 64 bits (u64: its bits). */
int64_t type_wrap(kn_type t, int64_t v);
/* A number rounded to a float type, ties to even. */
double type_round(kn_type t, double v);

/* The bits of a value of type t in memory, from and to its 64-bit carrier (wrapped integer, or double in *f). */
int64_t type_load_int(kn_type t, const void *at);
double  type_load_float(kn_type t, const void *at);
void    type_store_int(kn_type t, void *at, int64_t v);
void    type_store_float(kn_type t, void *at, double v);

#endif
