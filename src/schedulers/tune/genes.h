/* SPDX-License-Identifier: MIT */
/* Genes: the schedule of each function by itself, as the genetic search of Ragan-Kelley et al. 2013, section 5, has it.
 *
 * A gene is a place (inlined, at root, or inside the loops of those who read it, computed and stored at levels of them)
 * and a short list of domain transformations, which are applied to the loops of the definition in their order. Block
 * sizes and widths are powers of two. All genes together make a draft, or none: a level that the reader's loops do not
 * have, a loop that cannot be a vector. Then the genome is invalid, and is rejected by whoever made it. */
#ifndef KILN_SCHEDULERS_TUNE_GENES_H
#define KILN_SCHEDULERS_TUNE_GENES_H

#include "schedulers/tune/random.h"
#include "schedulers/tune/tune.h"

typedef enum TransformKind {
    TRANSFORM_SPLIT,    /* the outermost loop over `dim` into pieces of `size` */
    TRANSFORM_REORDER,  /* swaps loops number `dim` and `size` */
    TRANSFORM_PARALLEL, /* the outermost loop over `dim` */
    TRANSFORM_VECTOR,   /* the innermost loop over `dim`, `size` lanes */
    TRANSFORM_UNROLL,   /* the innermost loop over `dim`, `size` copies */
    TRANSFORM_KINDS
} TransformKind;

typedef struct Transform {
    TransformKind kind;
    int           dim, size;
} Transform;

enum { INNERMOST = -1 };

typedef struct Gene {
    Where     where;          /* root, inline or inside */
    int       compute, store; /* inside: loops of the head of its readers' group, 0 is outermost; or INNERMOST */
    int       count;
    Transform steps[GENETIC_TRANSFORMS];
} Gene;

/* What genes are about: a graph and the draft that holds what they do not decide (inputs, patterns, C code). */
typedef struct GeneSpace {
    const Graph   *g;
    const Machine *m;
    Draft          plain;
    bool          *decided; /* per node: its gene counts */
} GeneSpace;

GeneSpace gene_space(const Graph *g, const Machine *m, Arena *arena);

/* The draft of a genome, one gene per node, in `arena`; false: it is invalid. */
bool genes_draft(const GeneSpace *space, const Gene *genes, Arena *arena, Draft *out);

/* ---- Starting points and templates ---- */

/* Is the footprint of a function in each of its readers a single point? */
bool gene_has_footprint_one(const GeneSpace *space, int s);
/* Two adjacent dimensions at random, of which none has a small bound if that is possible: *x, and *y = *x + 1; of a
 * function of one dimension both are 0. */
void gene_choose_xy(const GeneSpace *space, int s, Random *r, int *x, int *y);
Gene gene_tiled(const GeneSpace *space, int s, Random *r);           /* fully parallelized and tiled */
Gene gene_parallel_y(const GeneSpace *space, int s, Random *r);      /* simply parallelized over y */
Gene gene_under_x(const GeneSpace *space, int s, Random *r);         /* computed and stored under x, vectorized by x */
Gene gene_parallel_vector(const GeneSpace *space, int s, Random *r); /* parallelized over y and vectorized over x */
Gene gene_random(const GeneSpace *space, int s, Random *r);
Transform transform_random(const GeneSpace *space, int s, Random *r);
int       gene_size(Random *r); /* a small power of two */

/* A whole genome of reasonable schedules, by a coin of a weight of its own; or of random ones; or breadth first. */
void genes_reasonable(const GeneSpace *space, Random *r, Gene *out);
void genes_random(const GeneSpace *space, Random *r, Gene *out);
void genes_breadth_first(const GeneSpace *space, Gene *out);

/* ---- Mutations and crossover ---- */

typedef struct Mutation {
    const char *name;
    bool        knows_images; /* chosen with higher probability */
    void (*apply)(const GeneSpace *space, Random *r, Gene *genes, int s);
} Mutation;
enum { MUTATIONS = 8 };
extern const Mutation mutations[MUTATIONS];

/* Mutates a random function by a random rule; gives the rule's number. */
int genes_mutate(const GeneSpace *space, Random *r, Gene *genes);
/* Two-point crossover: the genes from..to-1 are of b, the others of a; the points are drawn. */
void genes_cross(const GeneSpace *space, Random *r, const Gene *a, const Gene *b, Gene *out);

#endif
