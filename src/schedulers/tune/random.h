/* SPDX-License-Identifier: MIT */
/* Random numbers of a search: splitmix64 (Steele, Lea and Flood 2014). The same seed gives the same numbers. */
#ifndef KILN_SCHEDULERS_TUNE_RANDOM_H
#define KILN_SCHEDULERS_TUNE_RANDOM_H

#include <math.h>
#include <stdint.h>

typedef struct Random {
    uint64_t state;
} Random;

static inline uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t random_bits(Random *r)
{
    return random_mix(r->state += 0x9e3779b97f4a7c15u);
}

/* 0 to n - 1; n > 0. */
static inline int random_below(Random *r, int n)
{
    return (int)(random_bits(r) % (uint64_t)n);
}

/* In [0, 1). */
static inline double random_unit(Random *r)
{
    return (double)(random_bits(r) >> 11) * 0x1p-53;
}

/* Mean 0 and deviation 1: Box and Muller 1958. */
static inline double random_normal(Random *r)
{
    const double u = 1 - random_unit(r), v = random_unit(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

#endif
