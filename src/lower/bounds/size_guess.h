/* SPDX-License-Identifier: MIT */
/* Guessed values: what an expression is for images of usual size, halfway through the loops around it. A short loop is
 * at its first iteration, because its borders are no exception. A guess decides what code is copied, never what it
 * computes. */
#ifndef KILN_LOWER_BOUNDS_SIZE_GUESS_H
#define KILN_LOWER_BOUNDS_SIZE_GUESS_H

#include "lower/lower.h"

typedef struct SizeGuess {
    Lower *lw;
    Arena *arena;
    Map    names; /* -> int64_t; absent: not known */
    bool sizes; /* only values that follow from image sizes are known: no parameters, and only loops that were added */
} SizeGuess;

/* Ports begin at 0. Outputs have their estimate, or a usual size. Inputs are larger than all that is read of them. */
void guess_init(SizeGuess *t, Lower *lw, Arena *arena);
void guess_let(SizeGuess *t, const char *name, const Expr *value);
void guess_loop(SizeGuess *t, const Stmt *loop);
/* false: not known, as it depends on memory. */
bool guess_value(SizeGuess *t, const Expr *e, int64_t *out);

#endif
