/* SPDX-License-Identifier: MIT */
/* Ends of intervals: arithmetic that is written once for numbers and for expressions.
 *
 * An end is a number, or an expression with two numbers that it lies between. Every operation computes these numbers.
 * Where they are equal the result is a number, and no expression is made. So with numbers alone the arithmetic is that
 * of the interpreter's analysis, and with expressions it writes the same computation as code. A result that needs more
 * than 120 bits, or has no expression, is unknown: only its two numbers are. */
#ifndef KILN_ANALYSIS_ENDS_H
#define KILN_ANALYSIS_ENDS_H

#include "analysis/interval.h"

typedef struct End {
    Wide        least, most; /* equal: it is this number */
    const Expr *expr;        /* else: an integer or bool; NULL: unknown */
} End;

/* On unbounded integers. Truths are 0 and 1. */
typedef enum EndOp {
    END_ADD,
    END_SUB,
    END_MUL,
    END_DIV, /* Euclidean, by zero 0 */
    END_MOD,
    END_MIN,
    END_MAX,
    END_ABS,
    END_SHL,    /* a * 2^b rounded down; b of any sign */
    END_LENGTH, /* of a >= 0: the least n with a < 2^n */
    END_BIT_AND,
    END_BIT_XOR,
    END_WRAP, /* a modulo 2^b; between -2^(b-1) and 2^(b-1) if c is 1, else from 0 */
    END_LT,
    END_LE,
    END_EQ,
    END_AND,
    END_OR,
    END_SELECT, /* a ? b : c */
    END_OP_COUNT
} EndOp;

/* Makes expressions: `op` of known operands, with a result between `least` and `most`. NULL: there is none. */
typedef struct EndMaker {
    const Expr *(*make)(void *user, EndOp op, const End *args, Wide least, Wide most);
    void *user;
} EndMaker;

static inline End end_number(Wide v)
{
    return (End){ v, v, NULL };
}
static inline bool end_is_number(End a)
{
    return a.least == a.most;
}
static inline bool end_is_known(End a)
{
    return end_is_number(a) || a.expr;
}
static inline bool end_is_true(End a)
{
    return a.least == 1;
}
static inline bool end_is_false(End a)
{
    return a.most == 0;
}
/* Are they equal for certain? */
static inline bool end_same(End a, End b)
{
    return end_is_number(a) ? a.least == b.most && end_is_number(b) : a.expr && a.expr == b.expr;
}

/* `maker` may be NULL where all ends are numbers. Operands that the operation does not have are ignored. */
End end_apply(const EndMaker *maker, EndOp op, End a, End b, End c);

#endif
