/* SPDX-License-Identifier: MIT */
/* A C program in the making: what its families share (affine.c has the program around them).
 *
 * No subscript leaves its array: an iterator has an interval over all sizes, and a subscript whose interval is not
 * inside of [-OFFSET, EXTENT - OFFSET) is made again. Values stay small: every statement averages. Integers are
 * unsigned, since others may not overflow. */
#ifndef KILN_TESTS_FUZZ_AFFINE_DRAFT_H
#define KILN_TESTS_FUZZ_AFFINE_DRAFT_H

#include "affine.h"

#include <stdbool.h>

enum { OFFSET = 24, EXTENT = 64, MOST_ITERATORS = 5, MOST_ARRAYS = 6, MOST_RANK = 3, PARAMETERS = 3 };

typedef struct Interval {
    int lo, hi;
} Interval;

typedef struct Array {
    int  rank;
    int  type;  /* an index of draft_types[] */
    bool turns; /* has a first dimension of 2, for even and odd steps */
    bool temporary;
} Array;

/* A sum of iterators, parameters and a constant. */
typedef struct Affine {
    int iterators[MOST_ITERATORS], parameters[PARAMETERS], constant;
} Affine;

typedef struct Gen {
    uint64_t state;
    FILE    *out;
    int      id, indent, statements, locals;
    int      iterator_count;
    Interval iterators[MOST_ITERATORS];
    Array    arrays[MOST_ARRAYS];
    int      array_count;
    bool     guards, scalars;
} Gen;

extern const char *const draft_types[]; /* double, float, unsigned */
extern const char *const draft_names[]; /* of iterators, the outermost first */

int pick(Gen *g, int count); /* from 0 on */
int between(Gen *g, int lo, int hi);
/* With that many chances in a hundred. */
bool chance(Gen *g, int percent);

/* An element; `turn` is the subscript of the first dimension of an array that has two. */
void print_element(const Gen *g, int array, const Affine *subscripts, const char *turn);
void begin_line(const Gen *g);
/* Opens a loop over [lo, hi); false if its iterator would get too far. */
bool open_loop(Gen *g, const Affine *lo, const Affine *hi, int step, bool down);
void close_loop(Gen *g);
void close_block(Gen *g);

/* Nests of any shape: imperfect, triangular, with guards, steps up and down, subscripts that are shifted, reversed,
 * transposed, skewed or scaled. */
void wild(Gen *g);
/* Programs that are known from collections of loops (products, factors, solvers, sweeps, recurrences), with other
 * bounds, directions, steps, guards and subscripts here and there. */
void kernel(Gen *g);

#endif
