/* SPDX-License-Identifier: MIT */
/* The architectures, as a table, and what is done on those that have no instruction of their own for something. */
#include "codegen/llvm/arch/arch.h"

static const ArchCode plain_code;

static const ArchCode *const code_table[ARCH_COUNT] = {
    [ARCH_X86_64]  = &x86_code,
    [ARCH_AARCH64] = &arm_code,
    [ARCH_NVPTX]   = &ptx_code,
    [ARCH_OTHER]   = &plain_code,
};

static const ArchCode *code_of(const Gen *g)
{
    return code_table[g->target->arch];
}

LLVMValueRef arch_average(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b)
{
    const ArchCode *code = code_of(g);
    return code->average ? code->average(g, t, a, b) : NULL;
}

bool arch_can_multiply_high(const Gen *g, kn_type t, int lanes, bool rounded)
{
    const ArchCode *code = code_of(g);
    return code->can_multiply_high && code->can_multiply_high(g, t, lanes, rounded);
}

LLVMValueRef arch_multiply_high(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b, int shift, bool rounded)
{
    return code_of(g)->multiply_high(g, t, a, b, shift, rounded);
}

bool arch_converts_half(const Gen *g)
{
    const ArchCode *code = code_of(g);
    return code->converts_half && code->converts_half(g);
}

bool arch_gathers(const Gen *g, int bits)
{
    const ArchCode *code = code_of(g);
    return code->gathers && code->gathers(g, bits);
}

bool arch_can_look_up(const Gen *g, const Address *a)
{
    const ArchCode *code = code_of(g);
    return code->can_look_up && code->can_look_up(g, a);
}

LLVMValueRef arch_look_up(Gen *g, const Address *a)
{
    return code_of(g)->look_up(g, a);
}

void arch_end_streams(Gen *g)
{
    const ArchCode *code = code_of(g);
    if (code->end_streams)
        code->end_streams(g);
    else
        LLVMBuildFence(g->b, LLVMAtomicOrderingRelease, false, "");
}

bool arch_can_choose(const Target *t)
{
    return !t->is_host && code_table[t->arch]->choose_variant;
}

LLVMValueRef arch_choose_variant(Gen *g, LLVMValueRef f)
{
    return code_of(g)->choose_variant(g, f);
}
