/* What is built ahead of time has no interpreter to fall back on. */
#ifndef KILN_API_AHEAD_H
#define KILN_API_AHEAD_H

#include "ir/stmt.h"
#include "pipeline/pipeline.h"

/* Is code that is built ahead of time satisfied with the inputs that the language asks for? false: it asks for more at
 * the sizes of `estimate` or usual ones, and a diagnostic says where and what would do. true also where that cannot be
 * found out. */
bool ahead_suits(kn_pipeline *p, const Program *program, Arena *arena);

#endif
