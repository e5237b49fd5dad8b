/* One object for several CPUs: which variant this one can run is asked of the CPU itself, once.
 *
 *     int NAME.choose(void)   the index of the last target that the CPU has all instructions of; kept in NAME.chosen
 *
 * The code is the CPUID and XGETBV instructions and some masks, so that the object needs no library for it, whoever
 * links it. Bits: Intel's manual, volume 2A, CPUID; levels v2, v3, v4: the x86-64 psABI, section 3.1.1. */
#include "codegen/llvm/llvm.h"

#include <stdio.h>
#include <string.h>

/* What a level needs beyond x86-64. */
typedef struct Need {
    const char *cpu;
    uint32_t    basic;    /* leaf 1, ecx */
    uint32_t    more;     /* leaf 7, ebx */
    uint32_t    extended; /* leaf 0x80000001, ecx */
    uint32_t    saved;    /* XCR0: registers that the system saves */
} Need;

enum {
    BASIC_V2 = 1 << 0 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 | 1 << 23,    /* SSE3 SSSE3 CX16 SSE4.1 SSE4.2 POPCNT */
    BASIC_V3 = BASIC_V2 | 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29, /* FMA MOVBE OSXSAVE AVX F16C */
    MORE_V3  = 1 << 3 | 1 << 5 | 1 << 8,                                   /* BMI1 AVX2 BMI2 */
    SAVES_V3 = 0x6,
    SAVES_V4 = 0xE6,
};
#define MORE_V4 ((uint32_t)MORE_V3 | 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) /* AVX512 F DQ CD BW VL */

/* clang-format off */
static const Need needs[] = {
    { "x86-64", 0, 0, 0, 0 },
    { "x86-64-v2", BASIC_V2, 0, 1, 0 },                         /* LAHF */
    { "x86-64-v3", BASIC_V3, MORE_V3, 1 | 1 << 5, SAVES_V3 },   /* LZCNT */
    { "x86-64-v4", BASIC_V3, MORE_V4, 1 | 1 << 5, SAVES_V4 },
};
/* clang-format on */

static const Need *need_of(Gen *g, const Target *t)
{
    for (size_t i = 0; t->cpu && i < sizeof needs / sizeof *needs; i++)
        if (!strcmp(needs[i].cpu, t->cpu))
            return &needs[i];
    gen_fail(g, "the target %s cannot share an object with others: only levels of x86-64 are chosen at run time",
             t->name);
}

void dispatch_check(Gen *g)
{
    for (int i = 0; g->options->target_count > 1 && i < g->options->target_count; i++)
        need_of(g, &g->options->targets[i]);
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

static LLVMValueRef ask_more(Gen *g)
{
    return cpuid(g, 7, 1);
}
static LLVMValueRef ask_extended(Gen *g)
{
    return cpuid(g, 0x80000001, 2);
}

/* The index of the last target whose needs are met, plus 1, in `chosen`. */
static LLVMValueRef make_choice(Gen *g, LLVMValueRef f)
{
    LLVMValueRef basic   = cpuid(g, 1, 2);
    LLVMValueRef highest = cpuid(g, 0, 0), highest_extended = cpuid(g, 0x80000000, 0);
    LLVMValueRef more     = only_if(g, f, LLVMBuildICmp(g->b, LLVMIntUGE, highest, i32_const(g, 7), ""), ask_more);
    LLVMValueRef extended = only_if(
        g, f, LLVMBuildICmp(g->b, LLVMIntUGE, highest_extended, i32_const(g, (int32_t)0x80000001), ""), ask_extended);
    LLVMValueRef saved  = only_if(g, f, has_all(g, basic, 1u << 27), xgetbv);
    LLVMValueRef chosen = i32_const(g, 1);
    for (int i = 1; i < g->options->target_count; i++) {
        const Need  *n  = need_of(g, &g->options->targets[i]);
        LLVMValueRef ok = LLVMBuildAnd(g->b, has_all(g, basic, n->basic), has_all(g, more, n->more), "");
        ok              = LLVMBuildAnd(g->b, ok, has_all(g, extended, n->extended), "");
        ok              = LLVMBuildAnd(g->b, ok, has_all(g, saved, n->saved), "");
        chosen          = LLVMBuildSelect(g->b, ok, i32_const(g, i + 1), chosen, "");
    }
    return chosen;
}

LLVMValueRef dispatch_function(Gen *g)
{
    char name[512];
    snprintf(name, sizeof name, "%.400s.chosen", g->program->name);
    LLVMValueRef kept = LLVMAddGlobal(g->module, g->t.i32, name);
    LLVMSetInitializer(kept, i32_const(g, 0));
    LLVMSetLinkage(kept, LLVMInternalLinkage);
    snprintf(name, sizeof name, "%.400s.choose", g->program->name);
    LLVMValueRef      f    = add_function(g, name, LLVMFunctionType(g->t.i32, NULL, 0, false));
    LLVMBasicBlockRef look = LLVMAppendBasicBlockInContext(g->cx, f, "look"),
                      find = LLVMAppendBasicBlockInContext(g->cx, f, "find"),
                      done = LLVMAppendBasicBlockInContext(g->cx, f, "done");
    LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(g->b, look);
    LLVMValueRef known = LLVMBuildLoad2(g->b, g->t.i32, kept, "");
    LLVMSetAlignment(known, 4);
    LLVMSetOrdering(known, LLVMAtomicOrderingMonotonic);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, known, i32_const(g, 0), ""), find, done);
    LLVMPositionBuilderAtEnd(g->b, find);
    LLVMValueRef      found = make_choice(g, f);
    LLVMBasicBlockRef last  = LLVMGetInsertBlock(g->b);
    LLVMValueRef      store = LLVMBuildStore(g->b, found, kept);
    LLVMSetAlignment(store, 4);
    LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderAtEnd(g->b, done);
    LLVMValueRef which = LLVMBuildPhi(g->b, g->t.i32, "");
    LLVMAddIncoming(which, (LLVMValueRef[]){ known, found }, (LLVMBasicBlockRef[]){ look, last }, 2);
    LLVMBuildRet(g->b, LLVMBuildSub(g->b, which, i32_const(g, 1), ""));
    return f;
}
