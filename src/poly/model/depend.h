/* SPDX-License-Identifier: MIT */
#ifndef KILN_POLY_MODEL_DEPEND_H
#define KILN_POLY_MODEL_DEPEND_H

#include "poly/scop.h"

/* Dependences and live elements from accesses and the schedule. false: isl failed. */
bool scop_depend(Scop *s);

#endif
