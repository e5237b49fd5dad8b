/* SPDX-License-Identifier: MIT */
/* Instructions of AArch64. LLVM itself finds NEON's averages and products from the general operators. */
#include "codegen/llvm/arch/arch.h"

static bool converts_half(const Gen *g)
{
    return target_has(g->target, FEATURE_NEON);
}

const ArchCode arm_code = { .converts_half = converts_half };
