/* SPDX-License-Identifier: MIT */
/* What an architecture does by instructions that LLVM does not choose by itself. One row of functions for each
 * architecture; NULL: there is no such instruction. */
#ifndef KILN_CODEGEN_LLVM_ARCH_H
#define KILN_CODEGEN_LLVM_ARCH_H

#include "codegen/llvm/llvm.h"

typedef struct ArchCode {
    LLVMValueRef (*average)(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b);
    bool (*can_multiply_high)(const Gen *g, kn_type t, int lanes, bool rounded);
    LLVMValueRef (*multiply_high)(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b, int shift, bool rounded);
    bool (*converts_half)(const Gen *g);
    bool (*gathers)(const Gen *g, int bits);
    bool (*can_look_up)(const Gen *g, const Address *a);
    LLVMValueRef (*look_up)(Gen *g, const Address *a);
    void (*end_streams)(Gen *g);
    LLVMValueRef (*choose_variant)(Gen *g, LLVMValueRef f);
} ArchCode;

extern const ArchCode x86_code, arm_code, ptx_code;

/* ---- x86_lookup.c ---- */
bool         x86_can_look_up(const Gen *g, const Address *a);
LLVMValueRef x86_look_up(Gen *g, const Address *a);

/* ---- x86_cpuid.c ---- */
LLVMValueRef x86_choose_variant(Gen *g, LLVMValueRef f);

#endif
