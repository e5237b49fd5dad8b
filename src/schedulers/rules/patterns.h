/* SPDX-License-Identifier: MIT */
/* The choice of patterns (draft/pattern.h), by rules on the graph and on expressions. Each is a row of draft_rules. */
#ifndef KILN_SCHEDULERS_PATTERNS_H
#define KILN_SCHEDULERS_PATTERNS_H

#include "schedulers/draft/pattern.h"
#include "schedulers/model/machine.h"

bool privatize_may_pay(const Draft *d, const Machine *m, int s);
void privatize_choose(Draft *d, const Machine *m, int s);
bool scan_may_pay(const Draft *d, const Machine *m, int s);
void scan_choose(Draft *d, const Machine *m, int s);
bool separate_may_pay(const Draft *d, const Machine *m, int s);
void separate_choose(Draft *d, const Machine *m, int s);
bool grid_may_pay(const Draft *d, const Machine *m, int s);
void grid_choose(Draft *d, const Machine *m, int s);

/* What takes strips from a scan; consumers first. What reads a grid has its memory order. */
bool scan_reader_may_pay(const Draft *d, const Machine *m, int s);
void scan_reader_choose(Draft *d, const Machine *m, int s);
bool grid_reader_may_pay(const Draft *d, const Machine *m, int s);
void grid_reader_choose(Draft *d, const Machine *m, int s);

#endif
