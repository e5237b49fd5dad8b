/* Micro choices: what all schedulers leave to be done alike, once groups and tiles are chosen. What only the files of
 * that share. */
#ifndef KILN_SCHEDULERS_MICRO_KERNELS_H
#define KILN_SCHEDULERS_MICRO_KERNELS_H

#include <math.h>

#include "schedulers/cost.h"
#include "schedulers/draft_internal.h"

enum { MOST_OPERANDS = 32 };

/* What a definition reads of a node that is computed and stored, by itself or through what is inlined into it. */
typedef struct Operand {
    int  node;
    bool direct;           /* it stands in the definition's own text */
    bool plain;            /* no boundary is on the way */
    int  var[KN_MAX_RANK]; /* by dimension of the node: the reader's dimension that moves it; -1: none but steps; WILD:
                              data, or several */
    int64_t num[KN_MAX_RANK], den[KN_MAX_RANK]; /* how fast */
} Operand;

enum { WILD = -2 };

typedef struct Operands {
    int     count;
    bool    complete; /* else there are more than MOST_OPERANDS */
    Operand at[MOST_OPERANDS];
} Operands;

void operands_of(const Draft *d, int s, int update, Operands *out);
/* Is it another element for another place of the reader along that dimension? */
bool operand_moves(const Operand *o, int rank, int dim);

/* Sums over many steps whose terms are a product of something that varies along one dimension and something that varies
 * along another: tiles in registers. */
void choose_register_tiles(Draft *d, const Machine *m);

/* Sums over displacements: what is read at a single step is computed inside it. */
void choose_step_producers(Draft *d);

/* Rows at a time, sums beside vectors, even places. */
void choose_row_kernels(Draft *d, const Machine *m);

/* Chains of stencils: a few rows at a time, each node inside the loop of the next. */
void choose_chains(Draft *d);

/* The channels of a place together, where they have something in common. After legalizing: the common model decides. */
void choose_interleaved_channels(Draft *d, const Machine *m);

/* Large inputs are prefetched ahead of the rows that read them. After legalizing: levels decide how far. */
void choose_prefetches(Draft *d, const Machine *m);

/* Registers of half the width. Last: all other lanes are chosen. */
void choose_half_vectors(Draft *d, const Machine *m);

/* Loops for rows in vectors of so many lanes, which are at place rank - 1; inside them the steps, written out if they
 * are few. */
const MemberNest *row_nest(const Draft *d, int s, int64_t lanes);
/* The one node that is computed and reads it, by itself or through what is inlined; -1: there are several. *own stays
 * if it is read at its readers' own points only. */
int final_reader(const Draft *d, int s, bool *own);

#endif
