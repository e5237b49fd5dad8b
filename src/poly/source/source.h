/* SPDX-License-Identifier: MIT */
/* The C front end: a file in, its regions out.
 *
 * One idea: the text that the preprocessor makes is read twice as carefully inside a region as outside. Outside,
 * declarations are read and what is not understood is passed over; a name of it that a region uses is refused there.
 * Inside, everything is understood or refused, with its place. */
#ifndef KILN_POLY_SOURCE_SOURCE_H
#define KILN_POLY_SOURCE_SOURCE_H

#include "base/context.h"
#include "base/text.h"
#include "poly/region.h"

typedef struct Regions {
    VEC(Region *) items; /* in the order of the text */
} Regions;

/* The text after the preprocessor; NULL after a diagnostic. `options` NULL: the defaults. */
const char *source_preprocess(kn_context *cx, Arena *arena, const Source *source, const kn_tile_options *options);
/* The regions of a file, from its text and from what the preprocessor made of it. `temporary` has names of arrays that
 * are not read behind any region, separated by commas; it may be NULL. false after diagnostics; no region at
 * all is an error too. */
bool source_regions(kn_context *cx, Arena *arena, const Source *source, const char *preprocessed, const char *temporary,
                    Regions *out);

/* Where a place is for diag_error and its like. */
Loc region_loc(const Region *r, CPlace place);

/* The region as C: its body, with the declarations of its local names. */
void region_print(Text *t, const Region *r);
void region_print_expr(Text *t, const CExpr *e);

#endif
