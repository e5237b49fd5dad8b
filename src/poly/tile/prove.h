/* SPDX-License-Identifier: MIT */
/* The proof that a tiled program computes what the given one does. */
#ifndef KILN_POLY_TILE_PROVE_H
#define KILN_POLY_TILE_PROVE_H

#include "poly/tiled.h"

/* NULL, or what is wrong with the program: always a mistake of ours, or isl's quota. */
const char *tile_prove(const Tiled *t);
/* The same for programs in which instances run several times, or in scratch (prove_flow.c). */
const char *tile_prove_flow(const Tiled *t);
/* Arrays about which nothing is left to prove but the bounds of scratch. */
typedef struct ProvedArrays {
    VEC(const CSymbol *) at;
} ProvedArrays;

/* Those of which the given program writes each element once, or none, and for which that is enough (prove_once.c). */
ProvedArrays prove_once(const Tiled *t);
/* What is wrong with what instances execute, or NULL; and with the places where scratch is declared (prove_tiles.c). */
const char *tile_prove_runs(const Tiled *t);
const char *tile_prove_declared(const Tiled *t);
/* What is wrong with the bounds of scratch and copies, or NULL (prove_bounds.c). */
const char *tile_prove_bounds(const Tiled *t);
/* What is wrong with the folds of scratch, or NULL (prove_fold.c). */
const char *tile_prove_fold(const Tiled *t);
/* What is wrong with the use of private variables, or NULL (prove_private.c). */
const char *tile_prove_private(const Tiled *t);
/* Do all pairs of instances go forward in the schedule, and none from one iteration of a loop marked as independent to
 * another? Takes the pairs. */
bool prove_forward(isl_schedule *schedule, isl_union_map *pairs);

#endif
