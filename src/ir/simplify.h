/* SPDX-License-Identifier: MIT */
/* The simplifier of lowered expressions: index, bound and guard arithmetic.
 *
 * One idea: integer expressions are linear forms over atoms (what is not a sum, difference or product with a constant),
 * and what is known of an atom is an interval and a remainder. Sums are put into one order modulo 2^n, which needs no
 * proof; every rule that speaks of order (min, max, comparisons, / and %) is used only where the interval of the whole
 * form shows that its value is the number it stands for, without wrapping.
 *
 * What is used where
 *   simplify.c         scopes, the table of answers per scope, the walk
 *   simplify_form.c    linear forms: made from expressions, added, ordered, made expressions again
 *   simplify_prove.c   lower bounds of forms by replacing variables with the ends of their ranges
 *   ranges.c           interval and remainder of each node
 *   simplify_sum.c, simplify_divide.c, simplify_order.c, simplify_cast.c      the steps that work on whole forms
 *   simplify_rules.c   all the others: the table of rules and the matcher; simplify_pattern.c reads it
 *   fold.c             operators on constants
 *
 * Termination. Each step replaces a node by a smaller one in the lexicographic order of
 *   1. its weight: the sum over its nodes, as a tree, of the weights of rule_weight(), a run of sums and products with
 *      constants being one node, its constants weighing nothing, plus one for each term;
 *   2. the constants in it (divisors, moduli, coefficients) in absolute value;
 *   3. for equal ones, the place of operands in the order of expr_order().
 * A let is replaced in a dividend by what it stands for, which has only names bound before it. A cast that is
 * distributed over a sum moves down, and casts are never collected. Rows of the rule table never duplicate a variable
 * and always reduce the weight: a test computes it for each row (the order of Knuth and Bendix, 1970). Were there a
 * cycle for all that: a node that is met again while it is simplified stays as it is, and so does one after MOST_STEPS;
 * the context's quota ends the rest. */
#ifndef KILN_IR_SIMPLIFY_H
#define KILN_IR_SIMPLIFY_H

#include "ir/expr.h"

typedef struct Simplifier Simplifier;

/* Everything it needs is in `arena`, and lives as long. */
Simplifier *simplifier_new(ExprPool *pool, Arena *arena);

/* Who knows more of an integer that a float was made into: true, and the numbers it lies between. */
typedef bool SimplifierRange(void *user, const Expr *e, int64_t *lo, int64_t *hi);
void         simplifier_ask(Simplifier *s, SimplifierRange *range, void *user);

/* Scopes: what is known from here until it is popped. Names are interned; a name is on the stack at most once, and what
 * is said of it uses only names that are pushed before it or never. A variable of type i32 of which nothing is said is
 * a coordinate and lies within ±2^28 (so a let of data has to be pushed); all else may have any value of its type.
 * Where a range is empty nothing is ever computed, so inside it min <= max is known too. */
void simplifier_push_range(Simplifier *s, const char *name, const Expr *min,
                           const Expr *max); /* min <= name <= max, i32; either NULL: not known */
void simplifier_push_let(Simplifier *s, const char *name,
                         const Expr *value); /* name == value; put in its place if it is a constant or a variable */
void simplifier_push_fact(Simplifier *s, const Expr *condition); /* the condition holds */
void simplifier_pop(Simplifier *s);                              /* forgets the newest of the above */

/* An expression of equal value, under what is known. Reads may be fewer, and happen only where they happened before. */
const Expr *simplify(Simplifier *s, const Expr *e);
/* The numbers an integer or bool expression lies between, as far as known. INT64_MAX for a u64: also any larger one. */
void simplifier_bounds(Simplifier *s, const Expr *e, int64_t *lo, int64_t *hi);
/* Does the condition always hold? (false: not proved) */
bool simplifier_proves(Simplifier *s, const Expr *condition);

#endif
