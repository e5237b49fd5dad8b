/* Typical values: what an expression comes to when the function is called with images of a usual size and the loops are
 * halfway; a loop of few iterations is at its first, since the borders that this has are no exception then. A guess for
 * choices of shape; nothing may be wrong where it is. */
#ifndef KILN_LOWER_TYPICAL_H
#define KILN_LOWER_TYPICAL_H

#include "lower/lower.h"

typedef struct SizeGuess {
    Lower *lw;
    Arena *arena;
    Map    names; /* -> int64_t; absent: not known */
    bool   sizes; /* only what the sizes of images decide is known: no parameter, and no loop that is not told */
} SizeGuess;

/* Mins of ports are 0, outputs as large as their estimate, or of a usual size, and inputs as large as their reader
 * wants them, even if it shrinks them. */
void guess_init(SizeGuess *t, Lower *lw, Arena *arena);
void guess_let(SizeGuess *t, const char *name, const Expr *value);
void guess_loop(SizeGuess *t, const Stmt *loop);
/* false: not known, as it depends on what is in memory. */
bool guess_value(SizeGuess *t, const Expr *e, int64_t *out);

#endif
