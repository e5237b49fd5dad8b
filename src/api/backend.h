/* The compiler's second half, which is not in this library: the backend (libkiln-llvm), loaded when something is first
 * compiled, and the runtime that `kiln build` packs. */
#ifndef KILN_API_BACKEND_H
#define KILN_API_BACKEND_H

#include "codegen/codegen.h"

/* The backend; NULL, after a diagnostic that says where it was looked for and what to do, if it is not there. */
const Codegen *backend_load(kn_context *cx);

/* The file of that name among those that belong to this library; NULL if there is none. */
const char *companion_find(Arena *arena, const char *name);

#endif
