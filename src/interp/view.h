/* SPDX-License-Identifier: MIT */
/* Views: where the values of a function's component are, be it an input's buffer or storage of the interpreter. */
#ifndef KILN_INTERP_VIEW_H
#define KILN_INTERP_VIEW_H

#include "analysis/regions.h"
#include "interp/ops.h"

/* Lanes of a row that are evaluated together, and a set of them. */
enum { LANES = 256, MASK_WORDS = LANES / 64 };

typedef struct Mask {
    uint64_t word[MASK_WORDS];
} Mask;

/* The first n lanes. */
static inline Mask mask_first(int n)
{
    Mask m;
    for (int w = 0; w < MASK_WORDS; w++, n -= 64)
        m.word[w] = n >= 64 ? UINT64_MAX : n > 0 ? ((uint64_t)1 << n) - 1 : 0;
    return m;
}

static inline Mask mask_and(const Mask *a, const Mask *b)
{
    Mask m;
    for (int w = 0; w < MASK_WORDS; w++)
        m.word[w] = a->word[w] & b->word[w];
    return m;
}

static inline Mask mask_or(const Mask *a, const Mask *b)
{
    Mask m;
    for (int w = 0; w < MASK_WORDS; w++)
        m.word[w] = a->word[w] | b->word[w];
    return m;
}

/* The lanes of a that are not in b. */
static inline Mask mask_without(const Mask *a, const Mask *b)
{
    Mask m;
    for (int w = 0; w < MASK_WORDS; w++)
        m.word[w] = a->word[w] & ~b->word[w];
    return m;
}

static inline bool mask_empty(const Mask *a)
{
    uint64_t any = 0;
    for (int w = 0; w < MASK_WORDS; w++)
        any |= a->word[w];
    return !any;
}

static inline bool mask_has(const Mask *a, int lane)
{
    return a->word[lane / 64] >> lane % 64 & 1;
}

/* The lowest lane of a set that is not empty. */
static inline int mask_lowest(const Mask *a)
{
    int lane = 0;
    while (lane < LANES - 1 && !mask_has(a, lane))
        lane++;
    return lane;
}

static inline void mask_remove(Mask *a, int lane)
{
    a->word[lane / 64] &= ~((uint64_t)1 << lane % 64);
}

typedef struct View {
    char   *data; /* the element at the mins; NULL if there is none at all */
    kn_type type;
    int     rank;
    int64_t min[KN_MAX_RANK], stride[KN_MAX_RANK]; /* strides in elements */
    int64_t extent[KN_MAX_RANK];                   /* 0 in each dimension if empty */
} View;

/* The view of a buffer that was given. */
View view_of_buffer(const kn_buffer *b);
/* Zeroed storage for a box, x fastest; no data if the box is empty. */
View view_alloc(Arena *arena, kn_type type, int rank, const Box *box);
/* A buffer that shows the same; false if its coordinates are none of a kn_buffer. */
bool view_as_buffer(const View *v, kn_buffer *b);

/* The values at `offset` (in elements, from data) of n lanes, each inside the view. */
void view_gather(const View *v, Lane *to, const int64_t *offset, int n);
/* Stores the lanes in `live`, in order. */
void view_scatter(const View *v, const Lane *from, const int64_t *offset, const Mask *live, int n);

/* Copies to every element of `b` what the view has at the same coordinates, all of which it has. */
void view_copy(const View *v, kn_buffer *b);

#endif
