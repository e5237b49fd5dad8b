/* SPDX-License-Identifier: MIT */
/* Which variant of an object this CPU can run, asked of the CPU itself.
 *
 * The code is the CPUID and XGETBV instructions and some masks, so that the object needs no library for it, whoever
 * links it. Bits: Intel's manual, volume 2A, CPUID. */
#include "codegen/llvm/arch/arch.h"

/* Registers that CPUID answers in, and XCR0: those whose contents the system saves. */
typedef enum CpuidWord { LEAF_1_ECX, LEAF_1_EDX, LEAF_7_EBX, LEAF_7_ECX, EXTENDED_ECX, XCR0, WORD_COUNT } CpuidWord;

enum { OSXSAVE = 1 << 27, SAVES_AVX = 0x6, SAVES_AVX512 = 0xE6 };
#define EXTENDED_LEAF 0x80000001u

static const struct {
    CpuidWord word;
    int       bit;
} bit_table[FEATURE_COUNT] = {
    [FEATURE_SSE2] = { LEAF_1_EDX, 26 },     [FEATURE_SSE3] = { LEAF_1_ECX, 0 },
    [FEATURE_SSSE3] = { LEAF_1_ECX, 9 },     [FEATURE_CX16] = { LEAF_1_ECX, 13 },
    [FEATURE_SSE4_1] = { LEAF_1_ECX, 19 },   [FEATURE_SSE4_2] = { LEAF_1_ECX, 20 },
    [FEATURE_POPCNT] = { LEAF_1_ECX, 23 },   [FEATURE_LAHF] = { EXTENDED_ECX, 0 },
    [FEATURE_FMA] = { LEAF_1_ECX, 12 },      [FEATURE_MOVBE] = { LEAF_1_ECX, 22 },
    [FEATURE_AVX] = { LEAF_1_ECX, 28 },      [FEATURE_F16C] = { LEAF_1_ECX, 29 },
    [FEATURE_BMI1] = { LEAF_7_EBX, 3 },      [FEATURE_AVX2] = { LEAF_7_EBX, 5 },
    [FEATURE_BMI2] = { LEAF_7_EBX, 8 },      [FEATURE_LZCNT] = { EXTENDED_ECX, 5 },
    [FEATURE_AVX512F] = { LEAF_7_EBX, 16 },  [FEATURE_AVX512DQ] = { LEAF_7_EBX, 17 },
    [FEATURE_AVX512CD] = { LEAF_7_EBX, 28 }, [FEATURE_AVX512BW] = { LEAF_7_EBX, 30 },
    [FEATURE_AVX512VL] = { LEAF_7_EBX, 31 }, [FEATURE_AVX512VBMI] = { LEAF_7_ECX, 1 },
    [FEATURE_SSE4A] = { EXTENDED_ECX, 6 },
};

/* The bits that a target needs, word by word, beyond those of the first: that one is chosen if no other can be. */
static void needed_bits(const Gen *g, const Target *t, uint32_t needs[WORD_COUNT])
{
    const FeatureSet more = t->features & ~g->options->targets[0].features;
    for (int i = 0; i < FEATURE_COUNT; i++)
        if (more >> i & 1)
            needs[bit_table[i].word] |= 1u << bit_table[i].bit;
    if (target_has(t, FEATURE_AVX)) {
        needs[LEAF_1_ECX] |= OSXSAVE;
        needs[XCR0] |= target_has(t, FEATURE_AVX512F) ? SAVES_AVX512 : SAVES_AVX;
    }
}

/* eax, ebx, ecx, edx. */
static LLVMValueRef cpuid(Gen *g, uint32_t leaf, unsigned part)
{
    static const char code[] = "cpuid", where[] = "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}";
    LLVMTypeRef       four[4] = { g->t.i32, g->t.i32, g->t.i32, g->t.i32 };
    LLVMTypeRef       type    = LLVMFunctionType(LLVMStructTypeInContext(g->cx, four, 4, false), four, 2, false);
    LLVMValueRef      f       = LLVMGetInlineAsm(type, code, sizeof code - 1, where, sizeof where - 1, true, false,
                                                 LLVMInlineAsmDialectATT, false);
    LLVMValueRef      args[2] = { i32_const(g, (int32_t)leaf), i32_const(g, 0) };
    return LLVMBuildExtractValue(g->b, LLVMBuildCall2(g->b, type, f, args, 2, ""), part, "");
}

static LLVMValueRef xgetbv(Gen *g)
{
    static const char code[] = "xgetbv", where[] = "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}";
    LLVMTypeRef       two[2] = { g->t.i32, g->t.i32 };
    LLVMTypeRef       type   = LLVMFunctionType(LLVMStructTypeInContext(g->cx, two, 2, false), two, 1, false);
    LLVMValueRef      f      = LLVMGetInlineAsm(type, code, sizeof code - 1, where, sizeof where - 1, true, false,
                                                LLVMInlineAsmDialectATT, false);
    LLVMValueRef      zero   = i32_const(g, 0);
    return LLVMBuildExtractValue(g->b, LLVMBuildCall2(g->b, type, f, &zero, 1, ""), 0, "");
}

static LLVMValueRef has_all(Gen *g, LLVMValueRef bits, uint32_t mask)
{
    LLVMValueRef wanted = i32_const(g, (int32_t)mask);
    return LLVMBuildICmp(g->b, LLVMIntEQ, LLVMBuildAnd(g->b, bits, wanted, ""), wanted, "");
}

/* `v` if the condition holds, else 0, where computing v must wait for the condition. */
static LLVMValueRef only_if(Gen *g, LLVMValueRef f, LLVMValueRef condition, LLVMValueRef (*ask)(Gen *g))
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b), yes = LLVMAppendBasicBlockInContext(g->cx, f, "ask"),
                      on = LLVMAppendBasicBlockInContext(g->cx, f, "on");
    LLVMBuildCondBr(g->b, condition, yes, on);
    LLVMPositionBuilderAtEnd(g->b, yes);
    LLVMValueRef v = ask(g);
    LLVMBuildBr(g->b, on);
    LLVMPositionBuilderAtEnd(g->b, on);
    LLVMValueRef phi = LLVMBuildPhi(g->b, g->t.i32, "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){ i32_const(g, 0), v }, (LLVMBasicBlockRef[]){ from, yes }, 2);
    return phi;
}

static LLVMValueRef ask_leaf_7_ebx(Gen *g)
{
    return cpuid(g, 7, 1);
}
static LLVMValueRef ask_leaf_7_ecx(Gen *g)
{
    return cpuid(g, 7, 2);
}
static LLVMValueRef ask_extended(Gen *g)
{
    return cpuid(g, EXTENDED_LEAF, 2);
}

/* Is there that leaf? */
static LLVMValueRef has_leaf(Gen *g, uint32_t base, uint32_t leaf)
{
    return LLVMBuildICmp(g->b, LLVMIntUGE, cpuid(g, base, 0), i32_const(g, (int32_t)leaf), "");
}

static LLVMValueRef ask_word(Gen *g, LLVMValueRef f, CpuidWord word)
{
    switch (word) {
    case LEAF_1_ECX: return cpuid(g, 1, 2);
    case LEAF_1_EDX: return cpuid(g, 1, 3);
    case LEAF_7_EBX: return only_if(g, f, has_leaf(g, 0, 7), ask_leaf_7_ebx);
    case LEAF_7_ECX: return only_if(g, f, has_leaf(g, 0, 7), ask_leaf_7_ecx);
    case EXTENDED_ECX: return only_if(g, f, has_leaf(g, EXTENDED_LEAF - 1, EXTENDED_LEAF), ask_extended);
    case XCR0: return only_if(g, f, has_all(g, cpuid(g, 1, 2), OSXSAVE), xgetbv);
    case WORD_COUNT: break;
    }
    return i32_const(g, 0);
}

LLVMValueRef x86_choose_variant(Gen *g, LLVMValueRef f)
{
    uint32_t     needs[MOST_TARGETS][WORD_COUNT] = { 0 };
    LLVMValueRef words[WORD_COUNT], chosen = i32_const(g, 1);
    for (int i = 1; i < g->options->target_count; i++)
        needed_bits(g, &g->options->targets[i], needs[i]);
    for (int w = 0; w < WORD_COUNT; w++) {
        uint32_t any = 0;
        for (int i = 1; i < g->options->target_count; i++)
            any |= needs[i][w];
        words[w] = any ? ask_word(g, f, (CpuidWord)w) : NULL;
    }
    for (int i = 1; i < g->options->target_count; i++) {
        LLVMValueRef ok = LLVMConstInt(g->t.i1, 1, false);
        for (int w = 0; w < WORD_COUNT; w++)
            if (needs[i][w])
                ok = LLVMBuildAnd(g->b, ok, has_all(g, words[w], needs[i][w]), "");
        chosen = LLVMBuildSelect(g->b, ok, i32_const(g, i + 1), chosen, "");
    }
    return chosen;
}
