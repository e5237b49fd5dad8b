/* SPDX-License-Identifier: MIT */
/* From a plan and boxes to plain loop nests. */
#ifndef KILN_LOWER_NESTS_H
#define KILN_LOWER_NESTS_H

#include "analysis/regions.h"
#include "ir/nests.h"
#include "ir/simplify.h"
#include "plan/plan.h"

/* Of a plan by the default schedule, without extern stages, for these sizes and values; `regions` are those of the
 * plan's pipeline. In `arena`; NULL, with a diagnostic, for many steps whose boxes follow no formula. */
Nests *nests_make(Plan *plan, const RunArgs *args, const Regions *regions, Arena *arena);

/* nests_storage.c, when all nests are there: functions of which only the last steps are read keep no others (as heat in
 * a(x, t) does), and the arguments of calls and the places written become subscripts, which begin at 0. */
void nests_assign_storage(Nests *n, Simplifier *s);

/* Knows the ranges of the nest's variables until nest_leave. */
void nest_enter(Simplifier *s, const Nest *nest);
void nest_leave(Simplifier *s, const Nest *nest);

#endif
