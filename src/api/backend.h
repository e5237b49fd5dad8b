/* SPDX-License-Identifier: MIT */
/* Backends, loaded when something is first compiled with them, and the other files that belong to this library: the
 * runtime that `kiln build` packs. */
#ifndef KILN_API_BACKEND_H
#define KILN_API_BACKEND_H

#include "api/files.h"
#include "codegen/backend.h"

/* The backend of that row; NULL, after a diagnostic that says where it was looked for and what to do, if it is not
 * there. */
const Codegen *backend_load(kn_context *cx, const Backend *backend);

/* The file of that name among those that belong to this library; NULL if there is none. */
const char *companion_find(Arena *arena, const char *name);
/* Its contents, in `arena`; false after a diagnostic. */
bool companion_read(kn_context *cx, Arena *arena, const char *name, Bytes *out);

#define RUNTIME_ARCHIVE "libkiln-runtime.a" /* the runtime, compiled for this kind of machine */

#endif
