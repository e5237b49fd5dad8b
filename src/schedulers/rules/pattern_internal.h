/* SPDX-License-Identifier: MIT */
/* Private to the patterns: a row per pattern, and facts of definitions that only they need. */
#ifndef KILN_SCHEDULERS_PATTERN_INTERNAL_H
#define KILN_SCHEDULERS_PATTERN_INTERNAL_H

#include "schedulers/graph/def_facts.h"
#include "schedulers/draft/nest_text.h"
#include "schedulers/rules/pattern.h"

/* May the steps of the first update be taken in any order, and have its reduction variables bounds that are over
 * nothing but sizes and parameters? */
bool update_combines(const Draft *d, int s);
/* Does the expression contain the variable? */
bool expr_is_over(ExprPool *pool, const Expr *e, const char *var);
/* Is there no function with this name and suffix? */
bool name_is_free(const kn_pipeline *p, const char *name, const char *suffix);
/* Lanes that fill a register with the node's stored type. */
int stored_lanes(const Draft *d, int s);

/* Does a row of steps of the one update of s read rows of node p, so that a copy of p can be computed for the row? */
bool feeds_rows(const Draft *d, int p, int s);

bool privatize_applies(const Draft *d, int s);
void privatize_choose(Draft *d, int s, const Machine *m);
void privatize_print(Text *out, const Draft *d, int s);

bool scan_applies(const Draft *d, int s);
void scan_choose(Draft *d, int s, const Machine *m);
void scan_choose_late(Draft *d, int s);
/* Drops the scan reader, the memory order and the enclosing scan that it cannot have where it is. */
void scan_legalize(Draft *d, int s);
void scan_print(Text *out, const Draft *d, int s);
/* Is its text printed with that of its enclosing scan? */
bool scan_is_nested(const Draft *d, int s);

bool   separate_applies(const Draft *d, int s);
void   separate_choose(Draft *d, int s, const Machine *m);
void   separate_print(Text *out, const Draft *d, int s);
double separate_work_share(const Draft *d, int s);

bool grid_applies(const Draft *d, int s);
void grid_choose(Draft *d, int s, const Machine *m);
void grid_choose_late(Draft *d, int s);
void grid_print(Text *out, const Draft *d, int s);

bool scan_reader_applies(const Draft *d, int s);
void scan_reader_print(Text *out, const Draft *d, int s);

#endif
