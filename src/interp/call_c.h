/* SPDX-License-Identifier: MIT */
/* Calling C: scalar functions through libffi, extern stages through their buffers. */
#ifndef KILN_INTERP_CALL_C_H
#define KILN_INTERP_CALL_C_H

#include "interp/eval.h"

enum { C_CALL_MAX = 16 }; /* arguments of a scalar function */

typedef struct CCall CCall;

/* The call that an EX_EXTERN node makes, ready to be repeated, in `arena`. Bails out, saying what to do, if the program
 * has not given the function. */
CCall *c_call_new(kn_context *cx, Arena *arena, const Expr *e);
Lane   c_call(const CCall *call, const Lane *operands);

/* Fills the storage of an extern stage. Leaves the run if the stage is not there or says that it failed. */
void run_stage(Run *run, const Func *f);

#endif
