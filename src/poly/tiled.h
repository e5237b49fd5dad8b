/* SPDX-License-Identifier: MIT */
/* A tiled program.
 *
 * One idea: instances are qualified by their tile. An instance X[o…, i…] is the instance S[i…] of the source as the
 * tile o executes it; overlap means that one S[i…] has several X. So there are no expansion nodes: every query, the
 * proof, scratch indices and the generated loops are ordinary isl relations over X (route f of the experiments with
 * isl).
 *
 * Takes   a Scop, a shape and sizes.
 * Gives   a Tiled: an order of X, what each X executes, and where each access of an X lies.
 * Holds   the proof (poly/prove.h): every read of the tiled program has the source instance that the read of the given
 *         program has, and the last writes are the same. */
#ifndef KILN_POLY_TILED_H
#define KILN_POLY_TILED_H

#include "poly/scop.h"

typedef enum TileShape {
    SHAPE_AUTO,
    SHAPE_NONE,
    SHAPE_SCALENE,
    SHAPE_RECTANGLE,
    SHAPE_HYBRID,
    SHAPE_DIAMOND,
    SHAPE_PARALLELOGRAM
} TileShape;

/* Which stages of a pipeline share tiles. */
typedef enum TileFusion {
    FUSE_GREEDY, /* a stage joins its only consumer, if little is computed twice */
    FUSE_COST,   /* as bytes moved and work done twice are least */
    FUSE_ALL     /* whatever can be fused */
} TileFusion;

/* What is made: C with OpenMP; C and a CUDA file, for which kernels, blocks and threads are marked; C and programs for
 * Kiln's own backend. */
typedef enum TileTarget { FOR_OPENMP, FOR_CUDA, FOR_LLVM } TileTarget;

/* Which arrays that the region only writes are stored past the caches. */
typedef enum StreamRule {
    STREAM_LARGE, /* those known to be larger than the caches */
    STREAM_ALL,
    STREAM_NONE
} StreamRule;

enum { MOST_TILE_DIMS = 6 };

typedef struct TileOptions {
    TileShape  shape;
    int        size_count; /* 0: by the model of sizes */
    int        sizes[MOST_TILE_DIMS];
    int        halved; /* how often the model's sizes are halved, since scratch was too large */
    TileFusion fuse;
    int        threads;
    int64_t    l1, l2;    /* bytes a core can count on */
    bool       automatic; /* the shape is one of those that auto tries */
    TileTarget target;
    StreamRule stream;
} TileOptions;

/* Memory that a tile has for itself, for the elements of one array that live and die in it. Element a[…] of the array
 * lies at (a - offset(o)) mod fold along each dimension: a box of constant size. */
typedef struct Scratch {
    const CSymbol *array;
    const char    *name;
    int            tile; /* which tiles have it: scratch with the same number is there at the same time */
    int            rank;
    isl_multi_aff *offset;      /* tile coordinates -> first element */
    int64_t       *size, *fold; /* by dimension; fold: 0, or a power of two that is the size */
} Scratch;

/* How a tiled statement accesses memory: the k-th access of statement `source` when a tile executes it. */
typedef struct TiledAccess {
    const Access  *access;
    const Scratch *scratch; /* NULL: the array itself */
} TiledAccess;

/* A statement of the tiled program. Copies into and out of scratch are statements too: an element of scratch is
 * assigned that of the array at the same coordinates, or the other way round. */
typedef struct TiledStatement {
    const char      *name;     /* of X */
    const Statement *source;   /* NULL: a copy */
    isl_map         *executes; /* X[o…, i…] -> S[i…]; of a copy: -> array[…] */
    VEC(TiledAccess) accesses; /* one for each of the source's */
    const Scratch *copied;
    bool           copy_out;
} TiledStatement;

/* Marks in the schedule, by the name of an isl mark node. */
#define MARK_PARALLEL "parallel" /* iterations of the band's first loop are independent: run by threads */
#define MARK_TILE     "tile"     /* below it: one tile; scratch is allocated here */
#define MARK_VECTOR   "vector"   /* iterations of the loop below do not depend on each other */
/* For a device (device.c): "kernel X Y Z", one launch with blocks of X x Y x Z threads; "block.K.N" and "thread.K.N" at
 * loops that do not depend on each other: of N loops, one inside the other, the one that has K inside. */
#define MARK_KERNEL "kernel"
#define MARK_BLOCK  "block"
#define MARK_THREAD "thread"

typedef struct Tiled {
    const Scop *scop;
    TileOptions options; /* as they were decided */
    const char *reason;  /* why the model took this shape */
    VEC(TiledStatement) statements;
    VEC(Scratch *) scratch;
    isl_schedule *schedule; /* of X, with marks */
} Tiled;

#endif
