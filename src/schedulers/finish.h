/* Micro choices: what all schedulers leave to be done alike, once groups and tiles are chosen. What only the files of
 * that share. */
#ifndef KILN_SCHEDULERS_FINISH_H
#define KILN_SCHEDULERS_FINISH_H

#include <math.h>

#include "schedulers/cost.h"
#include "schedulers/draft_parts.h"

enum { MOST_OPERANDS = 32 };

/* What a definition reads of a stage that is computed and stored, by itself or through what is inlined into it. */
typedef struct Operand {
    int  stage;
    bool direct;           /* it stands in the definition's own text */
    bool plain;            /* no boundary is on the way */
    int  var[KN_MAX_RANK]; /* by dimension of the stage: the reader's dimension that moves it; -1: none but steps; WILD:
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

static inline int64_t stage_extent(const Stage *st, int dim)
{
    const int64_t n = (int64_t)st->box.max[dim] - st->box.min[dim] + 1;
    return n < 0 ? 0 : n;
}

/* Sums over many steps whose terms are a product of something that varies along one dimension and something that varies
 * along another: tiles in registers. */
void finish_products(Draft *d, const Machine *m);

/* Sums over displacements: what is read at a single step is computed inside it. */
void finish_steps(Draft *d);

/* Rows at a time, sums beside vectors, even places. */
void finish_rows(Draft *d, const Machine *m);

/* Chains of stencils: a few rows at a time, each stage inside the loop of the next. */
void finish_chains(Draft *d);

/* The channels of a place together, where they have something in common. After settling: the common model decides. */
void finish_planes(Draft *d, const Machine *m);

/* Large inputs are fetched ahead of the rows that read them. After settling: levels decide how far. */
void finish_fetch(Draft *d, const Machine *m);

/* Registers of half the width. Last: all other lanes are chosen. */
void finish_lanes(Draft *d, const Machine *m);

/* Loops for rows in vectors of so many lanes, which are at place rank - 1; inside them the steps, written out if they
 * are few. */
const Nest *row_nest(const Draft *d, int s, int64_t lanes);
/* The one stage that is computed and reads it, by itself or through what is inlined; -1: there are several. *own stays
 * if it is read at its readers' own points only. */
int final_reader(const Draft *d, int s, bool *own);

#endif
