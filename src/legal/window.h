/* SPDX-License-Identifier: MIT */
/* Windows that separate: when is a sum over two reduction variables a sum of sums (`separate`)?
 *
 * Of an update f(…, y, …) = f(…, y, …) op e over reduction variables i… and j, with op exact in any order, the part of
 * e that is over an i can be gathered first, for each value t of a*y + c*j, if y and j are in it only in sums k*(a*y +
 * c*j)
 * + …, with the same a and c. Where op is + or -, factors of e that are over no i may stay behind: mod 2^n every
 * product distributes over a sum. Conversions to a type that is not wider are factors' own: u16(a * b) = u16(a) *
 * u16(b). */
#ifndef KILN_LEGAL_WINDOW_H
#define KILN_LEGAL_WINDOW_H

#include "legal/facts.h"

/* The two variables, and the one direction of all sums that they are in. */
typedef struct Window {
    ExprPool   *pool;
    Arena      *arena; /* for forms and answers */
    const Func *f;
    int         update, rvar; /* j */
    const char *y, *j;
    Direction   by;
    Map         known; /* expressions whose y and j are in such sums only */
} Window;

/* The window of reduction variable `rvar` with argument `dim` as y. */
Window window_of(ExprPool *pool, Arena *arena, const Func *f, int update, int rvar, int dim);

/* May the update be separated so? Its direction is in w->by then; by.known is not set where y and j are in nothing that
 * is gathered first. */
bool window_separates(Window *w);
/* Is all that the update combines a function of a*y + c*j, c != 0: are windows of it made of smaller ones (`double`)?
 */
bool window_doubles(Window *w);

/* ---- What rewriting asks too ---- */

/* Is e the variable y or j? */
bool window_moves(const Window *w, const Expr *e);
/* The form of an i32 sum, or of y or j alone; false if it is none. */
bool window_sum(const Window *w, const Expr *e, Linear *form);
/* Are y and j in e only in sums of the one direction? Sets the direction if it is the first to say one; if the answer
 * is no, leaves it as it was. */
bool window_fits(Window *w, const Expr *e);
/* Is a factor over a reduction variable besides j? Then it is gathered first. */
bool window_gathers(const Window *w, const Expr *factor);

/* `e` = f(args) op rest: the rest. */
const Expr *combined_rest(const Func *f, const Expr *e);
/* Calls visit on the factors of e in the low `bits` bits; one that is no product is its own. A negation is a factor of
 * -1. */
void visit_factors(ExprPool *pool, const Expr *e, int bits, void (*visit)(const Expr *factor, void *user), void *user);

#endif
