/* SPDX-License-Identifier: MIT */
/* Rewriting windows: what `separate` and `double` share.
 *
 * In a part of an update that fits a window (legal/window.h) the reduction variable j and the argument y are in sums
 * k*(a*y + c*j) + … only. It is a function of t = a*y + c*j, and a new function has it for each t. */
#ifndef KILN_PLAN_WINDOWS_H
#define KILN_PLAN_WINDOWS_H

#include "legal/window.h"
#include "plan/planner.h"

/* One rewriting, with one argument as y. */
typedef struct WindowRewrite {
    Planner    *pl;
    Window      w;
    const Expr *t;    /* the variable of the new function */
    Map         done; /* expression -> what replaces it */
    Arena       scratch;
} WindowRewrite;

/* Begins the rewriting of an update of f with reduction variable `rvar` as j and argument `dim` as y; t is argument
 * `dim` of g. It ends with scratch_end of its scratch memory. */
void window_begin(WindowRewrite *r, const Func *f, int update, int rvar, int dim, const Func *g);
/* `e`, which fits the window, with a*y + c*j replaced by t. */
const Expr *window_replace(WindowRewrite *r, const Expr *e);

#endif
