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
    isl_map       *core;                  /* tile [o…] -> points of it alone; NULL if only other tiles' needs count */
    isl_map       *need;                  /* tile [o…] -> points that it computes */
    int            axis[MOST_POINT_DIMS]; /* the loop along which tile coordinate k moves, and by how much */
    int64_t        stride[MOST_POINT_DIMS];
    int64_t        shift[MOST_POINT_DIMS]; /* rectangle, slide: added to a point's coordinates */
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

/* Do the rows of a tile's stages run in turn (slide.c)? */
bool slides(const Tiled *t);

/* Decides the groups. From Zhao and Cohen 2019, 3.7: a stage joins its only consumer, if the points that its tiles
 * compute twice are few; or by cost; or whatever can join (fuse_cost.c). */
bool stages_fuse(Stages *p);
/* Begins a group with the stage as its root. */
void stages_begin(Stages *p, size_t stage);
/* Puts the stage into the group of its consumers, if there is one group, tiled, and `most` percent of its share is not
 * exceeded by what a tile computes of it; *percent is that. */
bool stages_join(Stages *p, size_t stage, int most, int *percent);

/* The groups in an order that no dependence contradicts. */
void stages_order(const Stages *p, int *groups);

/* A stage's share of each tile: { [o] -> p : stride o <= p + shift < stride o + stride }. */
isl_map *stages_tile_of(const Group *g, const Stage *s);
/* What the consumers of the group read of a stage, and `core` if there is one, as a box; NULL: there is none. */
isl_map *stages_need(const Stages *p, const Stage *s, int g, isl_map *core);

/* The flow between two stages' points, without names. */
isl_map *stages_flow(const Stages *p, const Stage *from, const Stage *to);
/* Shifts of a group's stages along the first `shared` loops, from 0 on: no value flows against p + shift (rectangle.c).
 * false: its stages are not alike. */
bool stages_shift(Stages *p, int group, int shared);
/* Right-rectangle trapezoids (rectangle.c): shifts and needs of a group. false: its stages are not alike. */
bool rectangle_shift(Stages *p, int group);

#endif
