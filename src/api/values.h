/* SPDX-License-Identifier: MIT */
/* Parameters: a number given by the user as a value of the parameter's type. */
#ifndef KILN_API_VALUES_H
#define KILN_API_VALUES_H

#include "pipeline/pipeline.h"

/* `given` as `param` holds it: an integer wrapped to its type, or a double rounded to it. Diagnoses what the type
 * cannot hold and what is outside the parameter's range, and then returns false. */
bool value_of_param(kn_context *cx, const Param *param, kn_scalar given, kn_scalar *value);

#endif
