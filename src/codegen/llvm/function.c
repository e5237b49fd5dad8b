/* SPDX-License-Identifier: MIT */
/* Functions of the module: begun and ended, calls of the runtime, and where an error goes: through the cleanups that
 * are open, innermost first. */
#include "codegen/llvm/llvm.h"

#include <string.h>

/* ---- Ending with an error ---- */

void fail_with(Gen *g, LLVMValueRef status)
{
    here(g);
    Cleanup          *to   = g->f->cleanup;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, to->block);
    LLVMAddIncoming(to->status, &status, &from, 1);
}

void fail_unless_zero(Gen *g, LLVMValueRef status)
{
    here(g);
    LLVMBasicBlockRef bad = block_new(g, "failed"), good = block_new(g, "went_well");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, status, i32_const(g, 0), ""), good, bad);
    go_to(g, bad);
    fail_with(g, status);
    go_to(g, good);
}

Cleanup *cleanup_push(Gen *g)
{
    Cleanup *c    = gen_alloc(g, sizeof *c);
    c->outer      = g->f->cleanup;
    c->block      = block_new(g, "cleanup");
    g->f->cleanup = c;
    LLVMPositionBuilderAtEnd(g->b, c->block);
    c->status = LLVMBuildPhi(g->b, g->t.i32, "status");
    return c;
}

bool cleanup_pop(Gen *g)
{
    Cleanup *c    = g->f->cleanup;
    g->f->cleanup = c->outer;
    if (!LLVMCountIncoming(c->status)) {
        LLVMDeleteBasicBlock(c->block);
        return false;
    }
    LLVMPositionBuilderAtEnd(g->b, c->block);
    return true;
}

void cleanup_go_on(Gen *g, Cleanup *c)
{
    LLVMBuildBr(g->b, c->outer->block);
    LLVMAddIncoming(c->outer->status, &c->status, &c->block, 1);
}

/* ---- Functions ---- */

void add_text_attribute(Gen *g, LLVMValueRef f, const char *name, const char *value)
{
    LLVMAttributeRef a = LLVMCreateStringAttribute(g->cx, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

static void add_attribute(Gen *g, LLVMValueRef f, unsigned index, const char *name, uint64_t value)
{
    LLVMAddAttributeAtIndex(f, index,
                            LLVMCreateEnumAttribute(g->cx, LLVMGetEnumAttributeKindForName(name, strlen(name)), value));
}

LLVMValueRef add_function(Gen *g, const char *name, LLVMTypeRef type)
{
    LLVMValueRef f = LLVMAddFunction(g->module, name, type);
    add_attribute(g, f, LLVMAttributeFunctionIndex, "nounwind", 0);
    if (g->options->target_count > 1) {
        add_text_attribute(g, f, "target-cpu", g->target->llvm_cpu);
        add_text_attribute(g, f, "target-features", g->target->llvm_features);
    }
    return f;
}

Function *function_begin(Gen *g, const char *name, LLVMTypeRef type)
{
    Function *f = gen_alloc(g, sizeof *f);
    f->outer    = g->f;
    f->f        = add_function(g, name, type);
    f->buffers  = gen_alloc(g, (g->program->buffers.count + 1) * sizeof *f->buffers);
    LLVMSetLinkage(f->f, LLVMInternalLinkage);
    g->f                    = f;
    f->entry                = block_new(g, "entry");
    LLVMBasicBlockRef start = block_new(g, "start");
    LLVMPositionBuilderAtEnd(g->b, f->entry);
    LLVMBuildBr(g->b, start);
    scope_push_loop(g, start);
    f->base = g->depth;
    cleanup_push(g);
    forget_coordinates(g);
    return f;
}

void function_close(Gen *g)
{
    g->f = g->f->outer;
    g->depth--;
    forget_coordinates(g);
}

void function_end(Gen *g)
{
    Function *f = g->f;
    fail_with(g, i32_const(g, 0));
    LLVMPositionBuilderAtEnd(g->b, f->cleanup->block);
    if (f->streams) /* what was stored past the cache is seen by whoever sees the function end */
        arch_end_streams(g);
    LLVMBuildRet(g->b, f->cleanup->status);
    function_close(g);
}

LLVMValueRef rt_call(Gen *g, const char *name, LLVMTypeRef result, int count, LLVMValueRef *args)
{
    LLVMTypeRef types[16];
    for (int i = 0; i < count; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)count, false);
    return LLVMBuildCall2(g->b, type, extern_function(g, name, type), args, (unsigned)count, "");
}

int produced_index(const Gen *g, const char *func)
{
    int i = g->func_count - 1;
    while (i >= 0 && strcmp(g->funcs[i], func))
        i--;
    return i;
}
