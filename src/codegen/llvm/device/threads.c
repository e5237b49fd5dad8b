/* SPDX-License-Identifier: MIT */
/* Inside a kernel: thread nests, barriers, scratch.
 *
 * Thread t of an axis with T threads runs the iterations t, t + T, … of a thread loop. Where their number is T that is
 * one iteration and no loop; where it is smaller, a branch. The threads that are not 0 along an axis on which a nest
 * has no loop skip it. */
#include "codegen/llvm/llvm.h"

#include <stdio.h>
#include <string.h>

enum {
    SHARED_SPACE      = 3,
    MOST_THREAD_BYTES = 256 << 10 /* of one array of a thread: half of what a device gives it */
};

static LLVMValueRef thread_number(Gen *g, int axis)
{
    static const char *const registers[GPU_AXES] = { "llvm.nvvm.read.ptx.sreg.tid.x", "llvm.nvvm.read.ptx.sreg.tid.y",
                                                     "llvm.nvvm.read.ptx.sreg.tid.z" };
    here(g);
    return intrinsic(g, registers[axis], 0, NULL, 0, NULL);
}

static int threads_along(const Gen *g, int axis)
{
    const Stmt *k = g->kernel->stmt;
    return axis == 0 ? k->kernel.threads_x : axis == 1 ? k->kernel.threads_y : k->kernel.threads_z;
}

typedef struct OpenNest {
    const ThreadNest *nest;
    int               axis; /* what is inside is of this axis and those below */
} OpenNest;

static void gen_axis(Gen *g, OpenNest open);

/* What is inside, with the loop's variable. */
static void gen_inside(Gen *g, OpenNest open, LLVMValueRef variable)
{
    const Stmt *loop = open.nest->loops[open.axis];
    if (loop) {
        LLVMValueRef v = variable;
        if (loop->loop.min->type == KN_I64) {
            here(g);
            v = LLVMBuildSExt(g->b, variable, g->t.i64, "");
        }
        bind(g, loop->loop.name,
             (ShapedValue){ .v = v, .shape = UNIFORM, .level = g->depth, .named = g->depth, .pure = true }, true);
    }
    gen_axis(g, (OpenNest){ open.nest, open.axis - 1 });
    if (loop)
        unbind(g, loop->loop.name);
}

/* The threads where the condition holds. */
static void gen_guarded(Gen *g, OpenNest open, LLVMValueRef variable, LLVMValueRef condition)
{
    LLVMBasicBlockRef yes = block_new(g, "threads"), after = block_new(g, "after");
    LLVMBuildCondBr(g->b, condition, yes, after);
    scope_push(g, yes);
    gen_inside(g, open, variable);
    here(g);
    LLVMBuildBr(g->b, after);
    scope_pop(g);
    go_to(g, after);
}

/* for (i = t; i < extent; i += T). That i stays below 2^31 follows from the bounds of coordinates. */
static void gen_strided_loop(Gen *g, OpenNest open, LLVMValueRef first, LLVMValueRef extent, int threads)
{
    const Stmt       *loop = open.nest->loops[open.axis];
    LLVMBasicBlockRef body = block_new(g, loop->loop.name), after = block_new(g, "after");
    here(g);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, first, extent, ""), body, after);
    scope_push_loop(g, body);
    here(g);
    LLVMValueRef i = LLVMBuildPhi(g->b, g->t.i32, loop->loop.name);
    gen_inside(g, open, i);
    here(g);
    LLVMValueRef      next = LLVMBuildNSWAdd(g->b, i, i32_const(g, threads), "");
    LLVMBasicBlockRef last = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, next, extent, ""), body, after);
    LLVMAddIncoming(i, (LLVMValueRef[]){ first, next }, (LLVMBasicBlockRef[]){ before, last }, 2);
    scope_pop(g);
    go_to(g, after);
}

static void gen_axis(Gen *g, OpenNest open)
{
    if (open.axis < 0) {
        gen_stmt(g, open.nest->body);
        return;
    }
    const Stmt *loop    = open.nest->loops[open.axis];
    const int   threads = threads_along(g, open.axis);
    int64_t     extent  = 0;
    statement_begin(g);
    if (!loop && threads == 1) {
        gen_inside(g, open, NULL);
        return;
    }
    LLVMValueRef t = thread_number(g, open.axis);
    if (!loop) {
        gen_guarded(g, open, t, LLVMBuildICmp(g->b, LLVMIntEQ, t, i32_const(g, 0), ""));
        return;
    }
    const bool constant = expr_is_int(loop->loop.extent, &extent);
    if (constant && extent == threads) {
        scope_push(g, NULL);
        gen_inside(g, open, t);
        scope_pop(g);
    } else if (constant && extent < threads) {
        gen_guarded(g, open, t, LLVMBuildICmp(g->b, LLVMIntSLT, t, i32_const(g, extent), ""));
    } else {
        LLVMValueRef most = gen_uniform(g, loop->loop.extent);
        here(g);
        if (loop->loop.extent->type == KN_I64)
            most = LLVMBuildTrunc(g->b, most, g->t.i32, "");
        gen_strided_loop(g, open, t, most, threads);
    }
}

void gen_thread_nest(Gen *g, const Stmt *s)
{
    const ThreadNest nest = thread_nest(s);
    if (!g->kernel || g->lanes)
        gen_fail(g, "the thread loop over `%s` stands outside a kernel, or in a vector loop", s->loop.name);
    gen_axis(g, (OpenNest){ &nest, GPU_AXES - 1 });
}

/* All threads of the block, and what they stored in shared and global memory. Later versions of LLVM have it under
 * another name. */
void gen_barrier(Gen *g, const Stmt *s)
{
    static const char later[] = "llvm.nvvm.barrier.cta.sync.aligned.all";
    (void)s;
    here(g);
    if (LLVMLookupIntrinsicID(later, strlen(later)))
        intrinsic(g, later, 0, NULL, 1, (LLVMValueRef[]){ i32_const(g, 0) });
    else
        intrinsic(g, "llvm.nvvm.barrier0", 0, NULL, 0, NULL);
}

/* ---- Scratch ---- */

/* Memory of a block with more of it than the text of a kernel may declare: a part of what the launch asks for. */
static LLVMValueRef asked_array(Gen *g, int64_t offset)
{
    static const char name[] = "kiln_shared";
    LLVMValueRef      it = LLVMGetNamedGlobal(g->module, name), by = i64_const(g, offset);
    if (!it) {
        it = LLVMAddGlobalInAddressSpace(g->module, LLVMArrayType2(g->t.i8, 0), name, SHARED_SPACE);
        LLVMSetAlignment(it, SHARED_ALIGNMENT);
    }
    return LLVMConstInBoundsGEP2(g->t.i8, it, &by, 1);
}

/* One array for each block, as large as the largest allocation in it: of copies of a block, and of buffers that have it
 * in turns. */
static LLVMValueRef shared_array(Gen *g, const Buffer *b)
{
    const Buffer *home = shared_home(b);
    char          name[512];
    for (size_t i = 0; g->kernel->shared_bytes > GPU_SHARED_BYTES && i < g->kernel->shared.count; i++)
        if (g->kernel->shared.at[i].home == home)
            return asked_array(g, g->kernel->shared.at[i].offset);
    snprintf(name, sizeof name, "%.200s.%.200s.%d", g->kernel->stmt->kernel.name, home->name, home->id);
    LLVMValueRef it = LLVMGetNamedGlobal(g->module, name);
    if (it)
        return it;
    LLVMTypeRef type = LLVMArrayType2(g->t.i8, (uint64_t)shared_bytes(g->kernel->block, home));
    it               = LLVMAddGlobalInAddressSpace(g->module, type, name, SHARED_SPACE);
    LLVMSetInitializer(it, LLVMGetUndef(type));
    LLVMSetLinkage(it, LLVMInternalLinkage);
    LLVMSetAlignment(it, SHARED_ALIGNMENT);
    return it;
}

static LLVMValueRef thread_array(Gen *g, const Buffer *b, LLVMTypeRef type)
{
    LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(g->f->entry));
    LLVMValueRef at = LLVMBuildAlloca(g->b, type, b->name);
    LLVMSetAlignment(at, SHARED_ALIGNMENT);
    return at;
}

void gen_kernel_scratch(Gen *g, const Stmt *s)
{
    const Buffer *b     = s->alloc.buffer;
    BufferState  *state = &g->f->buffers[b->id];
    int64_t       n     = 0;
    if (g->lanes)
        gen_fail(g, "`%s` is allocated inside a vector loop", b->name);
    if (!expr_is_int(s->alloc.count, &n) || n > MOST_THREAD_BYTES / (int64_t)kn_type_size(b->type))
        gen_fail(g, "`%s` is allocated in the kernel %s, and its size is not a constant of at most %d bytes", b->name,
                 g->kernel->stmt->kernel.name, MOST_THREAD_BYTES);
    n                = n < 1 ? 1 : n;
    LLVMTypeRef type = LLVMArrayType2(memory_type(g, b->type), (uint64_t)n);
    scope_push(g, NULL);
    *state = (BufferState){ .base     = b->memory == MEMORY_SHARED ? shared_array(g, b) : thread_array(g, b, type),
                            .level    = g->f->base,
                            .elements = n,
                            .own      = b->memory != MEMORY_SHARED };
    gen_stmt(g, s->alloc.body);
    *state = (BufferState){ 0 };
    scope_pop(g);
}
