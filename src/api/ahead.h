/* SPDX-License-Identifier: MIT */
/* Checks for ahead-of-time builds, which have no interpreter to fall back on. */
#ifndef KILN_API_AHEAD_H
#define KILN_API_AHEAD_H

#include "ir/stmt.h"
#include "pipeline/pipeline.h"

/* Does the compiled code accept the inputs that the language accepts? Tried at the sizes of `estimate`, or at defaults.
 * false: it asks for more, and a diagnostic says where and what helps. true also where no sizes can be found. */
bool ahead_suits(kn_pipeline *p, const Program *program, Arena *arena);

#endif
