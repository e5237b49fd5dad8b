/* SPDX-License-Identifier: MIT */
/* The graph that schedulers work on: nodes with their boxes and work, and edges for what each reads of the others.
 *
 * Takes   a finished pipeline and numbers for everything: sizes of inputs, parameters and outputs (a RunArgs).
 * Gives   a node per function that is needed, producers before consumers, and an edge per producer and definition that
 *         reads it. A node is not an extern stage (a node of C code) nor the directive `stage` (a StagedCopy).
 * How     An access is one form per dimension of the producer, floor((num*v + lo..hi) / den) with one variable v of
 *         the reader, clamped into least..most. Stencils, pyramids, boundary conditions and transposes need no more.
 *         Any other access (data-dependent, or of several variables) is an interval that encloses it. So the footprint
 *         of a tile in every node takes a few multiplications per edge: cheap enough for thousands of questions.
 *         Schedulers need no expressions; only the patterns (pattern.h) look at them. */
#ifndef KILN_SCHEDULERS_GRAPH_H
#define KILN_SCHEDULERS_GRAPH_H

#include "analysis/regions.h"
#include "schedulers/graph/constants.h"

/* The range of one index of an access, as a function of one coordinate v of the reader: from floor((num*v + lo) / den)
 * at one end of v's range to floor((num*v + hi) / den) at the other. Both ends are clamped into least..most. */
typedef struct AccessRange {
    int     var;         /* the reader's dimension; -1: the range is the same for all its points */
    int64_t num, den;    /* den > 0 */
    int64_t lo, hi;      /* offsets; reduction variables with known bounds are included */
    int64_t least, most; /* the clamp (edge, clamp); INT64_MIN and INT64_MAX where there is none */
    bool    exact;       /* false: it encloses what is read, and may be larger */
} AccessRange;

typedef enum NodeKind {
    NODE_INPUT,
    NODE_PURE,      /* one definition */
    NODE_REDUCTION, /* updates that write at their own free point and read nothing else of itself: sums over windows,
                       matrix products */
    NODE_SCAN,      /* an update reads other points of itself: its steps are serial */
    NODE_SCATTER,   /* an update writes to a place that data or a reduction variable decides: histograms */
    NODE_EXTERN     /* C code: always whole, at root */
} NodeKind;

/* All accesses of one definition to one producer. */
typedef struct Edge {
    int         producer, consumer;  /* nodes */
    int         update;              /* of the consumer; -1: its pure definition */
    AccessRange access[KN_MAX_RANK]; /* per dimension of the producer: the hull of all accesses */
    int         accesses;            /* distinct accesses in the text */
    bool        pointwise;           /* one access, at the reader's own point, dimension by dimension */
    uint32_t    gathers;             /* bit d: data, or floats, decide the index along dimension d of the producer */
    uint32_t    jumps;               /* bit d: coordinate d of the reader is in an index by more than a linear form, as
                                        in x % 8: neighbours along d read what is not side by side */
} Edge;

/* The work of a definition at one of its points; of an update, at one step of a point. */
typedef struct Work {
    double   points;  /* over the whole run at root; of an update, points times steps */
    double   steps;   /* of the reduction domain, 1 without one */
    int64_t *extents; /* of its variables */
    double ops; /* vector operations per point, weighted by throughput: a division, a square root, exp … count several
                   (table in graph_work.c) */
    double lane_ops; /* the same of a thread of a device: of mathematical functions, instructions */
    double
        plane_invariant; /* of `ops`, those that are the same for all values of the last of three arguments or more */
    double loads;        /* distinct elements read per point */
    bool   gathers;      /* it reads at data-dependent places */
    bool   adds;         /* an update that reads the value that it replaces */
} Work;

typedef struct GraphNode {
    const Func *func; /* of the pipeline; a node's index is not the function's id */
    NodeKind    kind;
    bool        is_output;
    int         rank;
    Box         box;          /* the points that are needed in all */
    int64_t     bytes;        /* of a point, all components */
    int         narrow, wide; /* bits of the narrowest and widest type in its arithmetic */
    int         def_count;
    Work       *defs; /* [0] the pure one, then the updates */
    double begun; /* the fraction of the pure definition's points that is computed: a scan overwrites the others before
                     anything reads them */
    int          in_count, out_count;
    const Edge **in, **out;  /* its reads, and reads of it; one edge per reading definition */
    int          self_count; /* updates that read other points of itself; these edges are in neither list */
    const Edge **self;
    bool         reads_size; /* its formulas use a boundary condition or a size */
} GraphNode;

typedef struct Graph {
    kn_pipeline *pipeline;
    Arena       *arena;
    int          node_count;
    GraphNode   *nodes;
    int          edge_count;
    Edge        *edges;
    int         *of_func; /* by Func.id: its node; -1: it is not needed */
    int         *order;   /* 0, 1, 2 …: all nodes, for graph_regions_among */
    kn_scalar   *param;   /* the values of parameters that it was made with */
} Graph;

/* Numbers for a pipeline of unknown size: outputs as large as their estimates, or of a usual size, parameters at their
 * defaults, and inputs as large as these need. The result is in `arena`. */
RunArgs graph_binding(kn_pipeline *p, Arena *arena);

/* Fills `g`, in `arena`. false, with diagnostics, where regions_compute fails. */
bool graph_make(kn_pipeline *p, Arena *arena, const RunArgs *binding, Graph *g);

/* Is the index the reader's coordinate plus offsets? */
static inline bool access_is_shift(const AccessRange *r, int dim)
{
    return r->var == dim && r->num == 1 && r->den == 1;
}

/* Is the index the reader's own coordinate? */
static inline bool access_is_identity(const AccessRange *r, int dim)
{
    return access_is_shift(r, dim) && r->lo == 0 && r->hi == 0;
}

static inline bool access_is_clamped(const AccessRange *r)
{
    return r->least != INT64_MIN || r->most != INT64_MAX;
}

/* The range read along one dimension by the points of a box. */
void access_range_span(const AccessRange *r, const Box *reader, int64_t *lo, int64_t *hi);

/* The dimensions of the producer, as bits, in which data decide the place that is read: those of this edge, and those
 * that depend on the reader's dimensions `reader`, where the reader itself is computed at data-dependent places. */
uint32_t edge_by_data(const Graph *g, const Edge *e, uint32_t reader);

/* Propagates boxes from consumers to producers. `boxes` (per node) holds those of the `given` nodes. The box of any
 * other `member` becomes the hull of what given and member nodes read of it; empty if that is nothing. It never leaves
 * the node's box at root. A member's box includes what its updates read of itself. The box of a given node stays as it
 * is, but its reads are those of the box grown so. */
void graph_regions(const Graph *g, const bool *given, const bool *member, Box *boxes);

/* The same for the reads of these nodes alone, in ascending order, so that a small group of a large graph is cheap.
 * Other members get what is read of them in addition to the boxes that they have. */
void graph_regions_among(const Graph *g, const int *nodes, int count, const bool *given, const bool *member,
                         Box *boxes);

/* Points of a box along a dimension; 0 if it is empty there. */
static inline int64_t box_extent(const Box *box, int dim)
{
    return box->max[dim] < box->min[dim] ? 0 : box->max[dim] - box->min[dim] + 1;
}

static inline int64_t node_extent(const GraphNode *node, int dim)
{
    return box_extent(&node->box, dim);
}

/* Points of a box; 0 if it is empty. Without dimensions, the first one says whether it is empty. */
int64_t box_points(const Box *box, int rank);

/* The graph as text, a line per node and per edge: for `kiln schedule --graph` and for tests. */
void graph_print(Text *out, const Graph *g);

#endif
