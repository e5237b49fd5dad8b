/* SPDX-License-Identifier: MIT */
/* What the files of spans share: span.c (environments and sums), span_rules.c (operators), span_conditions.c
 * (branches), span_accesses.c (calls). The first three call each other: a span needs those of its parts, and a branch
 * narrows them. */
#ifndef KILN_LOWER_BOUNDS_SPAN_PARTS_H
#define KILN_LOWER_BOUNDS_SPAN_PARTS_H

#include "lower/bounds/span.h"

/* ---- span.c ---- */
/* From now on, in this branch, `span` is the span of the node. */
void span_env_know(SpanEnv *sp, const Expr *node, SymSpan span);
/* Begins the spans of a branch anew: what was computed with less knowledge is still right, but not as tight. */
void span_env_forget(SpanLevel *level, Arena *arena);
/* Does it read memory, or call C? */
bool reads_memory(SpanEnv *sp, const Expr *e);
/* The expression times a constant. */
const Expr *scaled(Lower *lw, const Expr *e, int64_t factor);
/* The terms of a sum that vary, and the invariant ones with the constant. */
void split_form(SpanEnv *sp, const Linear *form, Linear *varying, Linear *invariant);
/* The spans of the atoms of a sum; *whole becomes false if any has no bound. */
SymSpan *atom_spans(SpanEnv *sp, const Linear *form, bool *whole);
/* The span of constant + sum of coefficient * atom; an end is NULL if an atom's is. */
SymSpan span_sum(SpanEnv *sp, const Linear *form, const SymSpan *atoms);
/* The span of a sum brought to the side of every condition about it. */
SymSpan span_known_sum(SpanEnv *sp, const Linear *sum, SymSpan s);

/* ---- span_rules.c ---- */
/* The span of an operator from those of its operands. */
SymSpan span_rule(SpanEnv *sp, const Expr *e);

#endif
