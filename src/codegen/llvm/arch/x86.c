/* SPDX-License-Identifier: MIT */
/* Instructions of x86 that LLVM does not choose by itself, for vectors of any power of two of lanes that fill a
 * register: wider ones are halved until an instruction has their width.
 *
 * T(a * b >> s) of words, from the upper halves of the products: LLVM computes them in 32 bits if one operand is
 * constant. i16(a * b + 2^14 >> 15) is one instruction. So is the rounding average of unsigned bytes and words: written
 * in other operators it is torn apart where it stands in a choice or a sum. */
#include "codegen/llvm/arch/arch.h"

typedef enum X86Binary {
    X86_AVERAGE_BYTES,
    X86_AVERAGE_WORDS,
    X86_MUL_UNSIGNED,
    X86_MUL_SIGNED,
    X86_MUL_ROUND
} X86Binary;

/* clang-format off */
static const struct { int bits; const char *names[5]; } binary_table[] = {
    { 512, { "llvm.x86.avx512.pavg.b.512", "llvm.x86.avx512.pavg.w.512", "llvm.x86.avx512.pmulhu.w.512",
      "llvm.x86.avx512.pmulh.w.512", "llvm.x86.avx512.pmul.hr.sw.512" } },
    { 256, { "llvm.x86.avx2.pavg.b", "llvm.x86.avx2.pavg.w", "llvm.x86.avx2.pmulhu.w", "llvm.x86.avx2.pmulh.w",
      "llvm.x86.avx2.pmul.hr.sw" } },
    { 128, { "llvm.x86.sse2.pavg.b", "llvm.x86.sse2.pavg.w", "llvm.x86.sse2.pmulhu.w", "llvm.x86.sse2.pmulh.w",
      NULL } },
};
/* clang-format on */

/* Are so many lanes of a type one register, or several? */
static bool fills_registers(kn_type t, int lanes)
{
    const int bits = lanes * type_bits(t);
    return bits >= 128 && !(bits & (bits - 1));
}

static LLVMValueRef binary(Gen *g, X86Binary op, kn_type t, LLVMValueRef a, LLVMValueRef b)
{
    const int lanes = (int)LLVMGetVectorSize(LLVMTypeOf(a)), half = lanes / 2;
    const int bits = lanes * type_bits(t);
    if (bits > g->target->byte_vector_bits)
        return concat_lanes(g, binary(g, op, t, slice_lanes(g, a, 0, half), slice_lanes(g, b, 0, half)),
                            binary(g, op, t, slice_lanes(g, a, half, half), slice_lanes(g, b, half, half)));
    const int row = bits == 512 ? 0 : bits == 256 ? 1 : 2;
    return intrinsic(g, binary_table[row].names[op], 0, NULL, 2, (LLVMValueRef[]){ a, b });
}

static LLVMValueRef average(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b)
{
    return fills_registers(t, lane_count(a)) ? binary(g, t == KN_U8 ? X86_AVERAGE_BYTES : X86_AVERAGE_WORDS, t, a, b)
                                             : NULL;
}

/* The rounding product came with SSSE3, which the baseline has not; 128 bits of it are not used. */
static bool can_multiply_high(const Gen *g, kn_type t, int lanes, bool rounded)
{
    return fills_registers(t, lanes) && (!rounded || (lanes >= 16 && target_has(g->target, FEATURE_AVX2)));
}

static LLVMValueRef multiply_high(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b, int shift, bool rounded)
{
    if (rounded)
        return binary(g, X86_MUL_ROUND, t, a, b);
    LLVMValueRef high = binary(g, t == KN_I16 ? X86_MUL_SIGNED : X86_MUL_UNSIGNED, t, a, b),
                 by   = int_like(LLVMTypeOf(a), shift - 16);
    return shift == 16 ? high : t == KN_I16 ? LLVMBuildAShr(g->b, high, by, "") : LLVMBuildLShr(g->b, high, by, "");
}

static bool converts_half(const Gen *g)
{
    return target_has(g->target, FEATURE_F16C);
}

/* AMD's CPUs, which alone have SSE4a, execute gathers as microcode: on a Zen 3 local_laplacian took 86 ms with LLVM's
 * own code for a gather, and 77 ms with loads one by one. For AVX2 without the name of a CPU LLVM has no gathers. */
static bool gathers(const Gen *g, int bits)
{
    const Target *t = g->target;
    return !target_has(t, FEATURE_SSE4A) && (bits < 32    ? target_has(t, FEATURE_AVX512BW)
                                             : t->is_host ? target_has(t, FEATURE_AVX2)
                                                          : target_has(t, FEATURE_AVX512F));
}

static void end_streams(Gen *g)
{
    intrinsic(g, "llvm.x86.sse.sfence", 0, NULL, 0, NULL);
}

const ArchCode x86_code = {
    .average           = average,
    .can_multiply_high = can_multiply_high,
    .multiply_high     = multiply_high,
    .converts_half     = converts_half,
    .gathers           = gathers,
    .can_look_up       = x86_can_look_up,
    .look_up           = x86_look_up,
    .end_streams       = end_streams,
    .choose_variant    = x86_choose_variant,
};
