/* SPDX-License-Identifier: MIT */
/* A pipeline as plain loop nests: one for each definition, over arrays of known sizes, in an order in which each comes
 * after those it reads. No schedule, no storage but whole arrays. codegen/c prints it as C. */
#ifndef KILN_IR_NESTS_H
#define KILN_IR_NESTS_H

#include "base/vec.h"
#include "ir/func.h"

enum { MOST_NEST_LOOPS = 3 * KN_MAX_RANK };

/* for var from lo to last, both included. */
typedef struct NestLoop {
    const char *var;
    const Expr *lo, *last;
    int64_t     least, most; /* of all its values */
} NestLoop;

/* func(at) = values, where the condition holds, over all points. */
typedef struct Nest {
    const Func  *func;
    int          update; /* -1: the pure definition */
    int          loop_count;
    NestLoop     loops[MOST_NEST_LOOPS]; /* outermost first */
    const Expr  *where;                  /* NULL: always */
    const Expr **at;                     /* rank of them */
    const Expr **values;                 /* one per component */
    const char  *not_affine;             /* what in bounds, condition or written place is not; NULL: all is */
} Nest;

typedef enum NestRole { NEST_UNUSED, NEST_INPUT, NEST_OUTPUT, NEST_LOCAL } NestRole;

/* The array, or arrays, of a function. */
typedef struct NestArray {
    const Func *func;
    NestRole    role;
    int64_t     min[KN_MAX_RANK], extent[KN_MAX_RANK];
    int64_t     fold[KN_MAX_RANK]; /* > 0: coordinates are taken modulo this */
} NestArray;

typedef struct Nests {
    kn_context  *cx;
    Arena       *arena;
    ExprPool    *exprs;
    const char  *name;   /* of the C function */
    NestArray   *arrays; /* by Func.id */
    int          array_count;
    const Func **outputs; /* in the order of the pipeline */
    int          output_count;
    VEC(const Func *) inputs;  /* likewise */
    VEC(const Param *) params; /* those that are not numbers in the text */
    VEC(Nest) nests;
} Nests;

#endif
