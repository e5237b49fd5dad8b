/* SPDX-License-Identifier: MIT */
/* Expressions of C as affine functions of the loops around them, and conditions as sets. */
#ifndef KILN_POLY_MODEL_AFFINE_H
#define KILN_POLY_MODEL_AFFINE_H

#include "poly/scop.h"

#include <isl/aff.h>

/* Where an expression stands, and what was wrong with the last one. */
typedef struct Affine {
    Scop           *scop;
    size_t          depth;
    const CSymbol **iterators; /* of the loops around it */
    isl_set        *domain;    /* their values there; no tuple name */
    isl_set        *ranges;    /* what the types say of the parameters */
    bool            unsure;    /* it stands behind a condition that depends on data */
    const CExpr    *failed;
    const char     *why, *remedy;
} Affine;

/* The value, on a.domain's space; NULL if it is not affine: a.failed, a.why and a.remedy say it. */
isl_pw_aff *affine_value(Affine *a, const CExpr *e);
/* The values of the iterators at which the condition is true; NULL likewise. */
isl_set *affine_condition(Affine *a, const CExpr *e);
/* Is the value of the type on a.domain? */
bool affine_fits(Affine *a, isl_pw_aff *value, kn_type type);
/* A number, if it is one. */
bool affine_constant(const CExpr *e, int64_t *out);

#endif
