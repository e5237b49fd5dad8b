/* SPDX-License-Identifier: MIT */
/* Reading a schedule: what its files share. */
#ifndef KILN_LANG_SCHEDULING_H
#define KILN_LANG_SCHEDULING_H

#include "lang/elab.h"
#include "pipeline/schedule.h"

/* The loops of one definition. */
typedef struct Loops {
    const Func *func;
    int         update;
    VEC(const char *) names;
} Loops;

/* compute_at(out, yi): yi is looked for at the end. */
typedef struct Pending {
    const Func *func;
    int         update;
    const char *name;
    Loc         loc;
} Pending;

typedef struct Scheduling {
    Elab     *el;
    Schedule *schedule;
    Map       functions; /* interned name -> Func */
    Map       loops;     /* Func or Update -> Loops */
    VEC(Pending) pending;
    Func  *func; /* what the current chain is about */
    int    update;
    Loops *version; /* the loops of the specialization that it is about; NULL: of the definition itself */
    int    version_number;
} Scheduling;

/* The loops of a definition at this moment. */
Loops *loops_of(Scheduling *s, const Func *f, int update);
/* "a, b, c" */
const char *name_list(Elab *el, const char *const *names, size_t count);

/* schedule_made.c: after `specialize`, `stage` and `rfactor` the chain is about what these have made. False after a
 * diagnostic. */
bool schedule_move_on(Scheduling *s, Directive *d);

#endif
