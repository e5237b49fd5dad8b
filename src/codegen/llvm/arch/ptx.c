/* SPDX-License-Identifier: MIT */
/* Instructions of NVIDIA's GPUs. A thread has no vectors, so those of lanes are not there. */
#include "codegen/llvm/arch/arch.h"

static bool converts_half(const Gen *g)
{
    (void)g;
    return true;
}

const ArchCode ptx_code = { .converts_half = converts_half };
