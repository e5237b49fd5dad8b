/* SPDX-License-Identifier: MIT */
#ifndef KILN_POLY_MODEL_DEPEND_H
#define KILN_POLY_MODEL_DEPEND_H

#include "poly/scop.h"

/* Finds private variables and gives them subscripts (private.c). */
void scop_privatize(Scop *s);
/* The unions of domains and accesses, from the statements. */
void scop_collect(Scop *s);
/* Dependences and live elements from accesses and the schedule. false: isl failed. */
bool scop_depend(Scop *s);

#endif
