/* SPDX-License-Identifier: MIT */
/* What the programs of tests/tile have in common: arrays filled by a formula, and a hash of their bytes.
 *
 *     PROGRAM SIZE …      prints a line for each array: its name and the hash
 * The last sizes may be left out; each program says which it has. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int size_or(int argc, char **argv, int i, int otherwise)
{
    return i < argc ? atoi(argv[i]) : otherwise;
}

#define FILL(array, count)                                                                                             \
    do {                                                                                                               \
        unsigned seed_ = 12345;                                                                                        \
        for (long k_ = 0; k_ < (long)(count); k_++) {                                                                  \
            seed_         = seed_ * 1664525u + 1013904223u;                                                            \
            ((array))[k_] = (seed_ >> 16) / 65536.0 * (sizeof *(array) < 4 ? 100 : 1);                                 \
        }                                                                                                              \
    } while (0)

static void print_hash(const char *name, const void *bytes, size_t size)
{
    const unsigned char *at   = bytes;
    uint64_t             hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    printf("%s %016llx\n", name, (unsigned long long)hash);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* With TIME set: the seconds that the region took, on stderr. */
static void print_time(double began)
{
    if (getenv("TIME"))
        fprintf(stderr, "%.4f\n", seconds() - began);
}
