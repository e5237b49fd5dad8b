/* SPDX-License-Identifier: MIT */
/* Micro kernels: the inner loops that all schedulers choose alike, once groups and tiles are known. Private to
 * micro_*.c. */
#ifndef KILN_SCHEDULERS_MICRO_KERNELS_H
#define KILN_SCHEDULERS_MICRO_KERNELS_H

#include <math.h>

#include "schedulers/draft/draft_legal.h"
#include "schedulers/rules/rules.h"

enum { MOST_OPERANDS = 32 };

/* A stored node that a definition reads, directly or through inlined nodes. */
typedef struct Operand {
    int  node;
    bool direct;           /* the definition itself reads it */
    bool plain;            /* no boundary condition is on the way */
    int  var[KN_MAX_RANK]; /* by dimension of the node: the reader's dimension that its index depends on; -1: on steps
                              alone, or constant; WILD: on data, or on several */
    int64_t num[KN_MAX_RANK], den[KN_MAX_RANK]; /* the stride along it */
} Operand;

enum { WILD = -2 };

typedef struct Operands {
    int     count;
    bool    complete; /* false: there are more than MOST_OPERANDS */
    Operand at[MOST_OPERANDS];
} Operands;

void operands_of(const Draft *d, int s, int update, Operands *out);
/* Does the operand vary along that dimension of the reader? */
bool operand_moves(const Operand *o, int rank, int dim);

/* Register tiles: for long sums of products of an operand that varies along one dimension and an operand that varies
 * along another. */
void choose_register_tiles(Draft *d, const Machine *m);

/* Sums over displacements: nodes that are read at a single step are computed inside it. */
void choose_step_producers(Draft *d);

/* Unrolled rows, sums next to vectors, aligned bounds. */
void choose_row_kernels(Draft *d, const Machine *m);

/* Chains of stencils: a few rows at a time, each node inside the loop of its reader. */
void choose_chains(Draft *d);

/* Channels interleaved, where they share something. After legalizing: the cost model decides. */
void choose_interleaved_channels(Draft *d, const Machine *m);

/* Prefetch of large inputs, some rows ahead. After legalizing: levels decide the distance. */
void choose_prefetches(Draft *d, const Machine *m);

/* Steps of time-recursive updates in diamonds. After legalizing: what is at root decides. */
void choose_time_tiles(Draft *d, const Machine *m);

/* Vectors of half the register width. Last: all other lanes are chosen. */
void choose_half_vectors(Draft *d, const Machine *m);

/* Loops over rows in vectors of so many lanes; the vector loop has index rank - 1. Inside it are the steps, unrolled if
 * they are few. */
const MemberNest *row_nest(const Draft *d, int s, int64_t lanes);
/* The one stored node that reads it, directly or through inlined nodes; -1: there are several. *own becomes false if it
 * is read at other points than its readers' own. */
int final_reader(const Draft *d, int s, bool *own);

#endif
