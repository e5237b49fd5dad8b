/* SPDX-License-Identifier: MIT */
/* What the schedulers know of the text of functions: legality facts (legal/facts.h), sizes, and readers. */
#ifndef KILN_SCHEDULERS_DEF_FACTS_H
#define KILN_SCHEDULERS_DEF_FACTS_H

#include "legal/facts.h"

/* Of the expressions of a definition: distinct nodes, the largest depth. */
typedef struct DefSize {
    int expr_nodes, depth;
} DefSize;

/* What index `dim` of a definition's (-1: the pure one) reads of `read` depends on. Bit d: the free variable of
 * dimension d; bit KN_MAX_RANK + i: reduction variable i, of the first few; MOVED_BY_DATA. */
enum { MOST_MOVERS = 30 };
#define MOVED_BY_DATA (1u << 31)
uint32_t def_movers(kn_pipeline *p, const Func *f, int update, const Func *read, int dim);

/* A definition whose text reads a function, whether at run time it does or not: legality does not depend on sizes. */
typedef struct TextReader {
    const Func *func;
    int         update; /* -1: its pure definition, or C code */
} TextReader;

/* Of a function. An input and C code have no definitions. */
typedef struct FuncFacts {
    VEC(TextReader) readers; /* those that an output needs */
    DefFacts *defs;          /* [0] the pure one, then the updates */
    DefSize  *sizes;         /* likewise */
    bool      expands;       /* func_expands */
} FuncFacts;

/* Of all functions of the pipeline, by Func.id. */
FuncFacts *func_facts(kn_pipeline *p, Arena *arena);

#endif
