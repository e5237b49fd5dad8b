/* SPDX-License-Identifier: MIT */
/* What an assignment reads and writes. */
#ifndef KILN_POLY_MODEL_ACCESS_H
#define KILN_POLY_MODEL_ACCESS_H

#include "poly/model/affine.h"

/* Adds the accesses of statement `st`, whose instances are a.domain: reads in the order of the text, the write last.
 * false after a diagnostic. */
bool accesses_add(Affine *a, Statement *st);

/* The diagnostic about what `a` found not to be affine; `what` is a subscript, a bound… */
void affine_refuse(const Affine *a, const char *what);

#endif
