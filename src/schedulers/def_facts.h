/* What may be said about the loops of a definition: the facts of its text that decide which schedules are legal.
 *
 * They are those that plan/order.c asks, of the pipeline as it was written: inlining can only make more legal, never
 * less. */
#ifndef KILN_SCHEDULERS_DEF_FACTS_H
#define KILN_SCHEDULERS_DEF_FACTS_H

#include "pipeline/pipeline.h"

typedef struct DefFacts {
    uint32_t free;     /* bit d: dimension d has a loop */
    uint32_t bounding; /* bit d: the bounds of a reduction variable are over the free variable of d; its loop stays
                          outside, and is no vector */
    bool other_points; /* it reads other points of its own function: reduction loops stay outside all others */
    bool own_place;    /* all it reads of its own function is the place that it writes */
    bool bounds_read;  /* the bounds of its reduction variables read functions: these are not computed inside its
                          reduction loops */
    int64_t steps;     /* of the reduction, 1 without one; 0: not a constant, or very many */
    int     expr_nodes, depth; /* of its expressions: distinct nodes, the deepest */
} DefFacts;

/* The steps of one reduction variable; 0: not a constant, or very many. */
int64_t rvar_steps(const RVar *v);

/* What moves dimension `dim` of what a definition (-1: the pure one) reads of `read`: bit d: the free variable of
 * dimension d; bit KN_MAX_RANK + i: reduction variable i, of the first few; MOVED_BY_DATA. */
enum { MOST_MOVERS = 30 };
#define MOVED_BY_DATA (1u << 31)
uint32_t def_movers(kn_pipeline *p, const Func *f, int update, const Func *read, int dim);

/* A definition that reads a function in its text, whether it comes to that or not: what is legal does not depend on
 * numbers. */
typedef struct TextReader {
    const Func *func;
    int         update; /* -1: its pure definition, or C code */
} TextReader;

/* Of a function. An input and C code have no definitions. */
typedef struct FuncFacts {
    VEC(TextReader) readers; /* those that an output needs */
    DefFacts *defs;          /* [0] the pure one, then the updates */
    bool expands; /* may be inlined: a pure definition, or updates of 64 steps at most that read and write nothing but
                     their own point (plan/expand.c) */
} FuncFacts;

/* Of all functions of the pipeline, by Func.id. */
FuncFacts *func_facts(kn_pipeline *p, Arena *arena);

#endif
