/* SPDX-License-Identifier: MIT */
/* Micro kernels: the inner loops that all schedulers choose alike, once groups and tiles are known. Private to the
 * rules. */
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

/* The rules of these files, a row of draft_rules each: does it apply to a node or a group, and what it does there. */
bool register_tile_applies(const Draft *d, const Machine *m, int s);
void register_tile_apply(Draft *d, const Machine *m, int s);
bool step_producers_applies(const Draft *d, const Machine *m, int s);
void step_producers_apply(Draft *d, const Machine *m, int s);
bool row_block_applies(const Draft *d, const Machine *m, int group);
void row_block_apply(Draft *d, const Machine *m, int group);
bool row_window_applies(const Draft *d, const Machine *m, int group);
void row_window_apply(Draft *d, const Machine *m, int group);
bool sum_by_vectors_applies(const Draft *d, const Machine *m, int s);
void sum_by_vectors_apply(Draft *d, const Machine *m, int s);
bool aligned_rows_applies(const Draft *d, const Machine *m, int s);
void aligned_rows_apply(Draft *d, const Machine *m, int s);
bool chain_applies(const Draft *d, const Machine *m, int group);
void chain_apply(Draft *d, const Machine *m, int group);
bool member_rows_applies(const Draft *d, const Machine *m, int group);
void member_rows_apply(Draft *d, const Machine *m, int group);
bool channels_apply_to(const Draft *d, const Machine *m, int group);
void channels_apply(Draft *d, const Machine *m, int group);
bool prefetch_applies(const Draft *d, const Machine *m, int group);
void prefetch_apply(Draft *d, const Machine *m, int group);
bool time_tiles_applies(const Draft *d, const Machine *m, int s);
void time_tiles_apply(Draft *d, const Machine *m, int s);
bool shared_loops_applies(const Draft *d, const Machine *m, int group);
void shared_loops_apply(Draft *d, const Machine *m, int group);
bool given_steps_applies(const Draft *d, const Machine *m, int s);
void given_steps_apply(Draft *d, const Machine *m, int s);

/* Loops over rows in vectors of so many lanes; the vector loop has index rank - 1. Inside it are the steps, unrolled if
 * they are few. */
const MemberNest *row_nest(const Draft *d, int s, int64_t lanes);
/* The one stored node that reads it, directly or through inlined nodes; -1: there are several. *own becomes false if it
 * is read at other points than its readers' own. */
int final_reader(const Draft *d, int s, bool *own);

#endif
