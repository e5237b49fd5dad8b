/* SPDX-License-Identifier: MIT */
/* The operators of the language a second time, one value at a time, written from their description (ir/expr.h) and
 * sharing no code with interp/: integers are exact in 128 bits and wrapped at the end, f32 is C's float, f16 and bf16
 * are bit patterns. */
#ifndef KILN_TESTS_FUZZ_NUMBER_H
#define KILN_TESTS_FUZZ_NUMBER_H

#include "ir/expr.h"

typedef struct Number {
    kn_type type;
    union {
        int64_t i;
        double  f;
    } as; /* integers and bool: wrapped to the type (u64: its bits); floats: a value of the type */
} Number;

/* An integer brought into the type; also the value of a u64 or any other integer without its type. */
Number   number_int(kn_type type, __int128 v);
__int128 number_value(Number a);
/* A double (exact) or float (rounded once) rounded to the type. */
Number number_float(kn_type type, double v);

Number number_cast(kn_type type, Number a, bool saturate);
/* op on `count` numbers; the node has type `type`. False if this file does not know the operator. */
bool number_apply(ExprOp op, kn_type type, int count, const Number *a, Number *out);

Number number_load(kn_type type, const void *at);
void   number_store(Number a, void *at);
/* The same value: NaN is NaN, and -0.0 is not 0.0. */
bool number_same(Number a, Number b);

#endif
