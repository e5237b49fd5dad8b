/* SPDX-License-Identifier: MIT */
/* Running one definition of a function over its region: the pure one, or an update. */
#ifndef KILN_INTERP_DEFINE_H
#define KILN_INTERP_DEFINE_H

#include "interp/eval.h"

void run_pure(Run *run, const Func *f);
void run_update(Run *run, const Func *f, int index);

#endif
