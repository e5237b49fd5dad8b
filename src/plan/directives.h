/* SPDX-License-Identifier: MIT */
/* The handlers of directives: a column of the table in pipeline/schedule.h. */
#ifndef KILN_PLAN_DIRECTIVES_H
#define KILN_PLAN_DIRECTIVES_H

#include "plan/planner.h"

/* When a directive is obeyed. */
typedef enum DirectivePhase {
    PHASE_REWRITE, /* first: it makes functions */
    PHASE_PLACE,   /* noted: levels.c and sharing.c ask for it */
    PHASE_STORAGE, /* before the loops of its function are made */
    PHASE_LOOPS    /* in the order of the schedule, each on the loops that those before have left */
} DirectivePhase;

DirectivePhase directive_phase(const Directive *dir);

/* Obeys the directive of f if it is of this phase. False, refused, if it cannot be obeyed. */
bool directive_apply(Planner *pl, DirectivePhase phase, FuncDraft *f, const Directive *dir);

#endif
