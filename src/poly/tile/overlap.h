/* SPDX-License-Identifier: MIT */
/* Overlapped tiles of pipelines and of loops over time. */
#ifndef KILN_POLY_TILE_OVERLAP_H
#define KILN_POLY_TILE_OVERLAP_H

#include "poly/tile/stages.h"

/* false: no two stages can be fused. Where a tile has more scratch than there is for it (size_scratch), there is no
 * schedule. */
bool shape_overlapped(Tiled *t);

/* A group while its tiled statements are made. */
typedef struct Made {
    Tiled  *t;
    Stages *p; /* NULL: a loop over time */
    int     group;
    int     tile_dims;
    int     serial;              /* tile coordinates in front whose tiles run one after the other: those of time */
    VEC(TiledStatement) in, out; /* copies */
    VEC(TiledStatement) run;
    VEC(isl_map *) tiles; /* of `run`: [o…] -> instance */
} Made;

/* Finds the arrays of the group that need scratch, and makes their copies. false: an array has no constant box, or a
 * tile's share of it is not its own. */
bool scratch_make(Made *m);

/* Scratch for the box of the elements { [o…] -> array[…] }, which it takes; NULL: no box of constant size holds them.
 */
Scratch *scratch_box(const Made *m, const CSymbol *array, isl_map *elements);
/* Scratch with that first element, whose sizes are to be set. Takes the offset. */
Scratch *scratch_new(const Made *m, const CSymbol *array, isl_multi_aff *offset);
int64_t  scratch_bytes(const Scratch *s);
int64_t  scratch_most(const Tiled *t); /* bytes of the tile that has the most */
/* { [o…] -> array[…] }: the elements that the scratch of a tile has a place for. */
isl_map *scratch_places(const Scratch *s);
/* A copy of these elements into scratch or out of it. Takes them. */
TiledStatement scratch_copy(const Made *m, const Scratch *scratch, isl_map *elements, bool out);
/* The statements of the group use the scratch wherever they use the array. */
void scratch_use(Made *m, const Scratch *scratch);

/* Adds the statement with its instances in each tile, { [o…] -> S[i…] }, which it takes. */
void overlap_add(Made *m, const Statement *st, isl_map *tile);
/* The statements of the group as the text has them, in terms of X. */
isl_schedule *overlap_stages(const Made *m);
/* Loops over the tiles, and in a tile the copies in, the statements in the order of the text, the copies out. */
isl_schedule *overlap_tree(Made *m);
void          overlap_forget(Made *m);
void          overlap_reset(Tiled *t); /* frees what was made */
/* Instances that run once and where they did: their loops, marked, and their statements. */
isl_schedule *overlap_plain(Tiled *t, isl_union_set *domain); /* takes the domain */
void          overlap_identity(Tiled *t, isl_union_set *domain);
isl_schedule *overlap_then(isl_schedule *first, isl_schedule *second);

/* Trapezoids over time (trapezoid.c). false: no loop over time has them, and t->reason may say why. */
bool shape_trapezoid(Tiled *t);

/* The stages of a tile in one nest of loops over the coordinates `from` up to `to` of shifted points (rectangle.c). */
isl_schedule *rectangle_loops(const Made *m, isl_schedule *stages, int from, int to);

/* Sliding windows (slide.c). The loops that all stages of the group share, the outermost first: so many. */
int slide_shared(const Stages *p, int group);
/* Folds the scratch of a group, whose stages are shifted. */
void          slide_fold(Made *m);
isl_schedule *slide_loops(const Made *m);

/* { X[o…, i…] -> Y[i…] } from { [o…] -> Y[i…] }. */
isl_map *overlap_executes(isl_map *tile, const char *name);

#endif
