/* SPDX-License-Identifier: MIT */
/* A pipeline: the stages of a region, how values flow between them, and the groups that are tiled together.
 *
 * A stage is a child of the schedule's outermost sequence: a nest of loops, with one statement or several that run in
 * the same loops (a macro statement). Its points are the values of its outermost parallel loops; no value flows from
 * one point of a stage to another. */
#ifndef KILN_POLY_TILE_STAGES_H
#define KILN_POLY_TILE_STAGES_H

#include "poly/tiled.h"

enum { MOST_POINT_DIMS = 6 };

typedef struct Stage {
    const char    *name;   /* of its points */
    isl_union_set *domain; /* instances */
    int            dims;   /* of its points: outermost parallel loops, one inside the other; 0: it cannot be tiled */
    isl_union_map *points; /* instance -> point */
    isl_set       *all;    /* points */
    bool           live;   /* something reads its values after the region, or in another group */
    int            group;
    isl_map       *core; /* tile [o…] -> points of it alone; NULL if only other tiles' needs count */
    isl_map       *need; /* tile [o…] -> points that it computes */
} Stage;

typedef struct Group {
    int     root; /* the stage that gives the tile coordinates; it comes last */
    int     tile_dims;
    int     axis[MOST_POINT_DIMS]; /* the root's loop of each tile coordinate */
    int64_t size[MOST_POINT_DIMS];
    bool    tiled;
} Group;

typedef struct Stages {
    Tiled *tiled;
    VEC(Stage) at;
    VEC(Group) groups;       /* made from the last stage to the first */
    isl_union_map *flow;     /* between points of different stages */
    bool          *before;   /* before[a * count + b]: a dependence from stage a to stage b */
    int           *stage_of; /* by statement */
} Stages;

bool stages_init(Stages *p, Tiled *t);
void stages_free(Stages *p);

/* Decides the groups. From Zhao and Cohen 2019, 3.7: a stage joins its only consumer, if the points that its tiles
 * compute twice are few. */
bool stages_fuse(Stages *p);
/* The groups in an order that no dependence contradicts. */
void stages_order(const Stages *p, int *groups);

/* The root's points of each tile, for groups that are tiled. */
isl_map *stages_tile_of_root(const Stages *p, const Group *g);

#endif
