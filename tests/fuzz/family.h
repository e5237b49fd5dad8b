/* SPDX-License-Identifier: MIT */
/* What the files that write families (families.c, corners.c) share. */
#ifndef KILN_TESTS_FUZZ_FAMILY_H
#define KILN_TESTS_FUZZ_FAMILY_H

#include "gen.h"

const char *some_type(Gen *g);
/* A number in -reach .. reach. */
int offset(Gen *g, int reach);
/* The port and the comment with its box. */
void declare_input(Gen *g, const char *name, const char *dims, int rank);
void declare_output(Gen *g, const char *name, int rank);

/* Families of corners.c. */
void index_operators(Gen *g);
void guards(Gen *g);
void periodic(Gen *g);
void small_boundaries(Gen *g);
void empty_inputs(Gen *g);

#endif
