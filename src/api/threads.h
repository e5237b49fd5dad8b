/* SPDX-License-Identifier: MIT */
/* The instance of the runtime that the compiled code of a context runs with. Its memory is the context's. */
#ifndef KILN_API_THREADS_H
#define KILN_API_THREADS_H

#include "base/context.h"
#include "runtime/runtime.h"

/* The instance; NULL if there is no memory. */
kn_rt *threads_get(kn_context *cx);
/* How many threads it has from now on; 0: as many as there are CPUs. */
void threads_set(kn_context *cx, int count);

#endif
