/* SPDX-License-Identifier: MIT */
/* Bounds of sizes in kernels: what is of constant size there is as large as it can be. */
#ifndef KILN_LOWER_PASSES_KERNEL_SIZES_H
#define KILN_LOWER_PASSES_KERNEL_SIZES_H

#include "lower/lower.h"

enum { MOST_CONSTANT = 1 << 16 }; /* bounds above that are not small */

typedef struct KernelSizes {
    Lower      *lw;
    Simplifier *known;
    VEC(const Stmt *) lets; /* around what is looked at, the innermost last */
} KernelSizes;

/* The largest number that an extent can be, or a number of elements, a product of extents; -1: no small one is known.
 */
int64_t most_extent(KernelSizes *z, const Expr *extent);
int64_t most_elements(KernelSizes *z, const Expr *count);

#endif
