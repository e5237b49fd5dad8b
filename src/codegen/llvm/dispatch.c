/* SPDX-License-Identifier: MIT */
/* One object for several CPUs: which variant this one can run is found out once.
 *
 *     int NAME.choose(void)   the index of the last target that the CPU has all instructions of; kept in NAME.chosen
 */
#include "codegen/llvm/llvm.h"

#include <stdio.h>

void dispatch_check(Gen *g)
{
    if (g->options->target_count > 1 && g->program->kernels.count)
        gen_fail(g, "a program with kernels is made for one target");
    for (int i = 0; g->options->target_count > 1 && i < g->options->target_count; i++)
        if (!arch_can_choose(&g->options->targets[i]))
            gen_fail(g,
                     "the target %s cannot share an object with others: only levels of x86-64 are chosen at run time",
                     g->options->targets[i].name);
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
    LLVMValueRef      found = arch_choose_variant(g, f);
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
