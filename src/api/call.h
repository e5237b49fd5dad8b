/* SPDX-License-Identifier: MIT */
/* Calling compiled code. */
#ifndef KILN_API_CALL_H
#define KILN_API_CALL_H

#include "api/arguments.h"
#include "api/module.h"

/* Can compiled code be called with these? Its coordinates have fewer bits than the language's. */
bool call_possible(kn_pipeline *p, const Arguments *a);
typedef enum CallResult {
    CALL_DONE,      /* errors are diagnosed */
    CALL_INTERPRET, /* nothing was computed: the code's symbolic boxes ask for more of an input than the exact ones */
    CALL_LARGE      /* nothing was computed: a buffer needs kernels that the module was not compiled with */
} CallResult;

/* Runs a compiled module on checked arguments. */
CallResult call_compiled(kn_module *m, const Arguments *a);

/* The buffers of the ports as compiled code takes them, inputs and then outputs, with NULL behind the last. */
kn_buffer **port_buffers(kn_pipeline *p, const Arguments *a);

#endif
