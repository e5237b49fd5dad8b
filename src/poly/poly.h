/* SPDX-License-Identifier: MIT */
/* The contract between the main library and libkiln-poly, which tiles the loops of C programs.
 *
 * The library is a shared object of its own, since it needs isl; its one export is kiln_poly(). It shares the context
 * of the caller: memory, quota and diagnostics are those of the call. */
#ifndef KILN_POLY_POLY_H
#define KILN_POLY_POLY_H

#include "base/context.h"
#include "ir/stmt.h"

typedef VEC(Program *) PolyPrograms;

/* What kn_tile was given. */
typedef struct PolyCall {
    kn_context            *cx;
    Arena                 *arena;  /* for the text */
    const Source          *source; /* the C file */
    const kn_tile_options *options;
    const char            *explained; /* out: what was done and why, as text; NULL if that was not asked for */
    PolyPrograms           programs;  /* out, for "llvm": what the regions call, in their order; in the arena */
} PolyCall;

typedef struct Poly {
    /* The tiled file, in the arena; NULL after diagnostics. */
    const char *(*tile)(PolyCall *call);
} Poly;

typedef const Poly *PolyEntry(void);

#endif
