/* Tiles: the sizes that suit a group of stages, and what the group then costs. */
#ifndef KILN_SCHEDULERS_TILE_H
#define KILN_SCHEDULERS_TILE_H

#include "schedulers/draft.h"

/* The four terms of Jangda and Bondhugula 2020, equation 2, each as time, so that they can be added over groups: the machine says the weights. */
typedef enum TileTerm { TILE_WORK, TILE_TRAFFIC, TILE_BALANCE, TILE_OVERLAP, TILE_ROWS, TILE_TERMS } TileTerm;

typedef struct Tile {
    int64_t size[KN_MAX_RANK];      /* by dimension of the head */
    bool    slides;                 /* two levels: rows of members are kept inside the tile, each computed once in it; else all of a member's tile is computed first */
    int64_t footprint;              /* bytes that members and head take at a time: a tile's, or a window's */
    double  overlap, volume;        /* points computed more than once and all points, of a tile */
    double  term[TILE_TERMS];       /* ns */
    double  cost;
} Tile;

typedef struct TileSpace {
    const Graph   *g;
    const Machine *m;
    const Draft   *d;               /* what is inlined; its group of WHERE_INSIDE stages is the one asked about */
    bool           one_level;       /* no sliding windows */
    bool          *given, *member;
    Box           *boxes;
} TileSpace;

TileSpace tile_space(const Draft *d, const Machine *m, bool one_level, Arena *arena);
/* The best tile of a group whose head has loops: its stages in ascending order, the head last. */
Tile tile_best(TileSpace *t, const int *stages, int count);

#endif
