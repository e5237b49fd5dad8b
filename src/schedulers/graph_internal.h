/* What the files that make a graph share. */
#ifndef KILN_SCHEDULERS_GRAPH_INTERNAL_H
#define KILN_SCHEDULERS_GRAPH_INTERNAL_H

#include "analysis/boxes.h"
#include "schedulers/access_range.h"

/* A definition whose accesses are being looked at. */
typedef struct Reader {
    Evaluator  *evaluator;
    const Func *func;
    int         update;      /* -1: the pure definition */
    Box         root;        /* the points it is computed at, in all */
    uint64_t    fixed;       /* bit i: reduction variable i has the same range for every point */
    uint32_t   *coordinates; /* by expression id: does a coordinate of the reader stand in it, outside of calls? 2*stamp
                                and 2*stamp + 1 are no and yes */
    uint32_t stamp;          /* of this definition */
    int      budget;         /* nodes that the index being looked at may still take */
    bool     failed;         /* a number was too large for a reach */
} Reader;

/* graph_access.c: what index `d` of a call, of which the evaluator says `range` where it stands, reaches. */
AccessRange index_access_range(Reader *r, const Expr *index, Range range);
/* Does its range depend on the point? That of a value does not: it is the same wherever the value is read. */
bool speaks_of_point(Reader *r, const Expr *e);
/* Does what conditions have shown here depend on where the point is? Then other points may not come here. */
bool access_is_conditional(Reader *r);

/* Is the call the value that the update replaces: of its own function, at the place that it writes? */
static inline bool call_is_own_place(const Func *f, const Update *u, const Expr *call)
{
    bool same = u && call->u.call.func == f;
    for (uint32_t d = 0; same && d < call->count; d++)
        same = call->args[d] == u->args[d];
    return same;
}

/* graph_work.c: what stands in the formulas of a pipeline's definitions. */
typedef struct Formulas {
    uint8_t  *properties;  /* by expression id; see properties() */
    uint32_t *seen, stamp; /* by expression id: the stamp of the last walk that met it */
    uint32_t *moves;       /* by expression id; see moves(). 2*stamp and 2*stamp + 1 are no and yes */
} Formulas;

void formulas_init(Formulas *f, kn_pipeline *p, Arena *arena);
/* Does its value depend on the point by way of what a function holds? */
bool formulas_read(Formulas *f, const Expr *e);
/* Its narrow, wide and reads_size. */
void formulas_widths(Formulas *f, GraphNode *s);
/* Sets ops, loads and gathers of definition `update`, by the node's widths. */
void formulas_work(Formulas *f, const GraphNode *s, int update, Work *out);

#endif
