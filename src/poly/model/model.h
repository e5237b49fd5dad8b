/* SPDX-License-Identifier: MIT */
/* From a region of C to its polyhedral model.
 *
 * One idea: whatever C's integer arithmetic could do that the integers do not (wrap, truncate towards zero) is proved
 * not to happen on the instances at hand, or the region is refused. So a Scop speaks of integers only, and its
 * relations are exact. Two approximations are left, both of reads: one under a condition that depends on data may
 * happen, and one with a subscript that is not affine may be of any element along that dimension. */
#ifndef KILN_POLY_MODEL_MODEL_H
#define KILN_POLY_MODEL_MODEL_H

#include "poly/scop.h"

/* Takes an isl context with a quota of operations that continues on errors. NULL after a diagnostic. */
Scop *scop_new(Arena *arena, isl_ctx *isl, Watch *watch, const Region *region);
void  scop_free(Scop *s);

/* Such a context: every operation past the quota fails. */
isl_ctx *scop_isl(uint64_t quota);
/* Begins a step of the work: from here to the next one isl has a budget of operations, `shares` in a hundred of what a
 * region of that size should need for one step. So the time of all steps is bounded. */
void scop_budget(const Scop *s, unsigned shares);
/* Is the budget of this step used up? */
bool scop_spent(const Scop *s);
/* isl takes an optimum that is unbounded for an error: after asking for one this forgets it. */
void scop_isl_unbounded(const Scop *s);
/* Has something of isl's come out NULL? */
bool scop_isl_error(const Scop *s);
/* The diagnostic after that: past the quota, out of memory, or a mistake of ours. */
void scop_isl_failed(const Scop *s);

/* Are its values dead behind the region? */
bool scop_dies(const CSymbol *symbol);
bool scop_private(const Scop *s, const CSymbol *symbol);
/* The box around all elements of an array that the region is sure to access: each of them is in the array. NULL: none
 * is known. */
isl_set *scop_elements(const Scop *s, const CSymbol *array);
/* Is each element of the array written once at most, before all reads? *by: the statement that does, or NULL. */
bool scop_once(const Scop *s, const CSymbol *array, const Statement **by);
/* The statement of a tuple, or NULL. */
Statement *scop_statement(const Scop *s, const char *name);

#endif
