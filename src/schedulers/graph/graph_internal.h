/* SPDX-License-Identifier: MIT */
/* Private to the files that make a graph. */
#ifndef KILN_SCHEDULERS_GRAPH_INTERNAL_H
#define KILN_SCHEDULERS_GRAPH_INTERNAL_H

#include "analysis/boxes.h"
#include "schedulers/graph/access_range.h"

/* A definition whose accesses are analysed. */
typedef struct Reader {
    Evaluator  *evaluator;
    const Func *func;
    int         update;      /* -1: the pure definition */
    Box         root;        /* all points that it is computed at */
    uint64_t    fixed;       /* bit i: reduction variable i has the same range for every point */
    uint32_t   *coordinates; /* by expression id: does it contain a coordinate of the reader, outside of calls? 2*stamp
                                and 2*stamp + 1 are no and yes */
    uint32_t stamp;          /* of this definition */
    int      budget;         /* nodes that the analysis of the current index may still visit */
    uint32_t jumps;          /* bit d: coordinate d is in a part of the current index that is no linear form */
    bool     failed;         /* a number was too large for an AccessRange */
} Reader;

/* graph_access.c: the range of an index of a call; `range` is the evaluator's interval for it. */
AccessRange index_access_range(Reader *r, const Expr *index, Range range);
/* Does its range depend on the point? The range of a function's value does not: it is the same wherever it is read. */
bool speaks_of_point(Reader *r, const Expr *e);
/* Do the conditions that hold here depend on the point? Then other points may not get here. */
bool access_is_conditional(Reader *r);

/* Is the call the value that the update replaces: of its own function, at the place that it writes? */
static inline bool call_is_own_place(const Func *f, const Update *u, const Expr *call)
{
    bool same = u && call->u.call.func == f;
    for (uint32_t d = 0; same && d < call->count; d++)
        same = call->args[d] == u->args[d];
    return same;
}

/* graph_work.c: what the formulas of a pipeline's definitions contain. */
typedef struct Formulas {
    uint8_t  *properties;  /* by expression id; see properties() */
    uint32_t *seen, stamp; /* by expression id: the stamp of the last walk that met it */
    uint32_t *planes;      /* the same for is_of_planes() */
    uint32_t *moves;       /* by expression id; see moves(). 2*stamp and 2*stamp + 1 are no and yes */
} Formulas;

void formulas_init(Formulas *f, kn_pipeline *p, Arena *arena);
/* Does its value depend on the point through the values of a function, or through floats? */
bool formulas_read(Formulas *f, const Expr *e);
/* Sets narrow, wide and reads_size. */
void formulas_widths(Formulas *f, GraphNode *s);
/* Sets ops, loads and gathers of definition `update`, by the node's widths. */
void formulas_work(Formulas *f, const GraphNode *s, int update, Work *out);

#endif
