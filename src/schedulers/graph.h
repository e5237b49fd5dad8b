/* The graph that schedulers work on: nodes, what each reads of the others, how much there is of each, and what a point
 * costs.
 *
 * Takes   a finished pipeline and numbers for everything: sizes of inputs, parameters and outputs (a Binding). A
 * scheduler needs no expression; the special forms (pattern.h) look at some. Gives   a node per function that is
 * needed, producers before consumers, and an edge per producer and definition that reads it. How     An access is one
 * form per dimension of the producer, floor((num*v + lo..hi) / den) with one variable v of the reader, clamped into
 * least..most: all that stencils, pyramids, boundaries and transposes need. Whatever is not of that form
 * (data-dependent, several variables) is a span of numbers that encloses it. So the box that a tile needs of every
 * node is a few multiplications per edge: fast enough to ask thousands of times. */
#ifndef KILN_SCHEDULERS_GRAPH_H
#define KILN_SCHEDULERS_GRAPH_H

#include "analysis/regions.h"

/* What one dimension of a producer is read at, for the values of one variable of the reader: from floor((num*v + lo) /
 * den) at the one end of v's range to floor((num*v + hi) / den) at the other, and both ends are clamped into
 * least..most. */
typedef struct AccessRange {
    int     var;         /* the reader's dimension; -1: the same for all its points */
    int64_t num, den;    /* den > 0 */
    int64_t lo, hi;      /* reduction variables with known bounds are in here */
    int64_t least, most; /* what is clamped anyway (edge, clamp); INT64_MIN and INT64_MAX where nothing is */
    bool    exact;       /* false: it encloses what is read, and may be more */
} AccessRange;

typedef enum NodeKind {
    NODE_INPUT,
    NODE_PURE,      /* one definition */
    NODE_REDUCTION, /* updates that write at their own free point and read nothing else of itself: sums over windows,
                        products of matrices */
    NODE_SCAN,      /* an update reads other points of itself: its steps come one after the other */
    NODE_SCATTER,   /* an update writes where data or a reduction variable says: histograms */
    NODE_EXTERN     /* C code: always whole, at root */
} NodeKind;

/* All accesses of one definition to one producer, taken together. */
typedef struct Edge {
    int         producer, consumer;  /* nodes */
    int         update;              /* of the consumer; -1: its pure definition */
    AccessRange access[KN_MAX_RANK]; /* per dimension of the producer: the hull of all accesses */
    int         accesses;            /* how many different ones there are in the text */
    bool        pointwise;           /* one access, at the reader's own point, dimension for dimension */
    uint32_t    gathers;             /* bit d: data decide the index along dimension d of the producer */
} Edge;

/* What a definition costs at one of its points (an update: at one step of one point). */
typedef struct Work {
    double   points;  /* over the whole run at root: box points, times steps for an update */
    double   steps;   /* of the reduction domain, 1 without one */
    int64_t *extents; /* of its variables */
    double ops; /* vector operations per point, weighted: a division, a square root, exp … count as many as they take (a
                   table in the .c) */
    double loads;   /* different elements read per point */
    bool   gathers; /* reads at places that data decides */
    bool   adds;    /* an update that reads the value which it replaces */
} Work;

typedef struct GraphNode {
    const Func *func; /* of the pipeline; a node's number is not its id */
    NodeKind    kind;
    bool        is_output;
    int         rank;
    Box         box;          /* what is needed of it in all */
    int64_t     bytes;        /* of a point, all components */
    int         narrow, wide; /* bits of the narrowest and widest type that its definitions compute with */
    int         def_count;
    Work       *defs; /* [0] the pure one, then the updates */
    double begun; /* the part of the pure one's points that is computed: a scan writes over the others, and nobody reads
                     them before */
    int          in_count, out_count;
    const Edge **in, **out;  /* its reads, those of it; a producer has one edge per reading definition */
    int          self_count; /* updates that read other points of itself: these edges are in neither list */
    const Edge **self;
    bool         reads_size; /* a boundary or size stands in its formulas */
} GraphNode;

typedef struct Graph {
    kn_pipeline *pipeline;
    Arena       *arena;
    int          node_count;
    GraphNode   *nodes;
    int          edge_count;
    Edge        *edges;
    int         *of_func; /* by Func.id: its node, -1: none is needed */
    int         *order;   /* 0, 1, 2 …: all nodes, for graph_regions_among */
} Graph;

/* Numbers for a pipeline of which nobody has said how large it is: outputs as large as their estimates, or else of a
 * usual size, parameters as by default, and inputs as large as is needed for that. The result is in `arena`. */
Binding graph_binding(kn_pipeline *p, Arena *arena);

/* Fills `g`, in `arena`. false, with diagnostics, where regions_compute fails. */
bool graph_make(kn_pipeline *p, Arena *arena, const Binding *binding, Graph *g);

/* What is read along one dimension by the points of a box. */
void access_range_span(const AccessRange *r, const Box *reader, int64_t *lo, int64_t *hi);

/* Dimensions of the producer, as bits, in which data decide the place that is read: those of this edge, and those that
 * the reader's own ones of `reader` lead to if it is computed at places that data decide. */
uint32_t edge_by_data(const Graph *g, const Edge *e, uint32_t reader);

/* Boxes from consumers to producers: `boxes` (per node) holds those of the nodes with `given`; the boxes of all the
 * other nodes that are `member` become the hulls of what given and member nodes read of them, in reverse order; empty
 * where nothing is. The box of a node never leaves its box at root. What the updates of a member read of itself is in
 * its box; that of a given node stays as it is, but is read from as if it had grown so. */
void graph_regions(const Graph *g, const bool *given, const bool *member, Box *boxes);

/* The same for the reads of these nodes, in ascending order: a small group of a large graph costs no more than itself.
 * Other members only get what is read of them, in addition to the boxes they have. */
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

/* Points of a box; 0 if it is empty: of a function without dimensions its first dimension says so. */
int64_t box_points(const Box *box, int rank);

/* The graph as text, a line per node and per edge: for `kiln schedule --graph` and for tests. */
void graph_print(Text *out, const Graph *g);

#endif
