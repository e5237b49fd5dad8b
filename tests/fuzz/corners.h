/* SPDX-License-Identifier: MIT */
/* Indices and guards of the shapes that go wrong where boxes are found by rules: corners.c. */
#ifndef KILN_TESTS_FUZZ_CORNERS_H
#define KILN_TESTS_FUZZ_CORNERS_H

#include "gen.h"

/* An index made of the coordinate `var` by one operator or two; `number` is a literal, or a parameter of type i32. */
void corner_index(Gen *g, const char *var, const char *number);
/* A condition on two coordinates, which may be the same. */
void corner_guard(Gen *g, const char *x, const char *y, const char *number);

#endif
