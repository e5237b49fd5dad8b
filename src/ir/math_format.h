/* SPDX-License-Identifier: MIT */
/* What ir/math.c has to know of a float type: its layout, constants split into exact parts, and its polynomials. */
#ifndef KILN_IR_MATH_FORMAT_H
#define KILN_IR_MATH_FORMAT_H

#include "ir/math_tables.h"
#include "ir/type.h"

typedef struct Poly {
    const double *c;
    int           count;
} Poly;

#define POLY(table)                                                                                                    \
    {                                                                                                                  \
        table, sizeof table / sizeof *table                                                                            \
    }

typedef struct Format {
    kn_type real, word;     /* the float, and the unsigned integer of its size */
    int     fraction, size; /* bits */
    int     bias;           /* of the exponent */
    double  least;          /* smallest normal number */
    double  log2e, ln2[2], two_thirds[2];
    double  two_over_pi, half_pi[3];
    double  exp_low, exp_high; /* beyond these exp is 0 or infinite */
    double  pow_most;          /* with |y| as large, x^y is 0, 1 or infinite */
    double  tanh_one, erf_one; /* from here on the result is 1 */
    double  reach;             /* of sin and cos */
    Poly    exp_rest, log_rest, sin_rest, cos_rest, atan_rest, tanh_rest, erf_rest, erfc_log;
} Format;

static const Format single = {
    .real        = KN_F32,
    .word        = KN_U32,
    .fraction    = 23,
    .size        = 32,
    .bias        = 127,
    .least       = 0x1p-126,
    .log2e       = 0x1.715476p+0,
    .ln2         = { 0x1.62e43p-1, -0x1.05c61p-29 },
    .two_thirds  = { 0x1.555556p-1, -0x1.555556p-26 },
    .two_over_pi = 0x1.45f306p-1,
    .half_pi     = { 0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50 },
    .exp_low     = -104,
    .exp_high    = 89,
    .pow_most    = 0x1p40,
    .tanh_one    = 10,
    .erf_one     = 4,
    .reach       = 0x1p17,
    .exp_rest    = POLY(exp_rest_f32),
    .log_rest    = POLY(log_rest_f32),
    .sin_rest    = POLY(sin_rest_f32),
    .cos_rest    = POLY(cos_rest_f32),
    .atan_rest   = POLY(atan_rest_f32),
    .tanh_rest   = POLY(tanh_rest_f32),
    .erf_rest    = POLY(erf_rest_f32),
    .erfc_log    = POLY(erfc_log_f32),
};

static const Format twice = {
    .real        = KN_F64,
    .word        = KN_U64,
    .fraction    = 52,
    .size        = 64,
    .bias        = 1023,
    .least       = 0x1p-1022,
    .log2e       = 0x1.71547652b82fep+0,
    .ln2         = { 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56 },
    .two_thirds  = { 0x1.5555555555555p-1, 0x1.5555555555555p-55 },
    .two_over_pi = 0x1.45f306dc9c883p-1,
    .half_pi     = { 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110 },
    .exp_low     = -746,
    .exp_high    = 710,
    .pow_most    = 0x1p70,
    .tanh_one    = 20,
    .erf_one     = 6,
    .reach       = 0x1p40,
    .exp_rest    = POLY(exp_rest_f64),
    .log_rest    = POLY(log_rest_f64),
    .sin_rest    = POLY(sin_rest_f64),
    .cos_rest    = POLY(cos_rest_f64),
    .atan_rest   = POLY(atan_rest_f64),
    .tanh_rest   = POLY(tanh_rest_f64),
    .erf_rest    = POLY(erf_rest_f64),
    .erfc_log    = POLY(erfc_log_f64),
};

#endif
