/* SPDX-License-Identifier: MIT */
/* The device's module: each kernel of the program as a function for NVIDIA's GPUs.
 *
 * Takes   a program with its kernels (ir/kernel.h).
 * Gives   a function of the kernel's name: a pointer into the device's memory for each buffer, then the values. Loops
 *         over blocks are the number of the block; what stands in them is made as the host's code is (stmt.c), but for
 *         what threads.c does.
 * Holds   memory is marked as what it is: global for buffers, shared for scratch of a block. What a kernel only reads
 * is loaded as constant, so that loads may be moved and the texture path serves them. */
#include "codegen/llvm/llvm.h"

#include <stdio.h>
#include <string.h>

/* sm_70 (Volta) is the first whose threads of a warp go on independently, which loops of compare-and-exchange rely on.
 * Drivers compile its PTX for every later GPU; on an H200 code for sm_90 was no faster. */
const Target ptx_target = {
    .name             = "sm_70",
    .kind             = TARGET_GPU,
    .device           = DEVICE_CUDA,
    .arch             = ARCH_NVPTX,
    .vector_bits      = 128,
    .byte_vector_bits = 128,
    .vector_registers = 64,
    .scalar_registers = 255,
    .word_bits        = 64,
    .llvm_triple      = "nvptx64-nvidia-cuda",
    .llvm_cpu         = "sm_70",
    .llvm_features    = "",
};

enum { GLOBAL_SPACE = 1 };

/* ---- The function ---- */

static LLVMTypeRef kernel_type(Gen *g, const Kernel *k)
{
    LLVMTypeRef *types = gen_alloc(g, (k->buffers.count + k->values.count + 1) * sizeof *types);
    unsigned     n     = 0;
    for (size_t i = 0; i < k->buffers.count; i++)
        types[n++] = LLVMPointerTypeInContext(g->cx, GLOBAL_SPACE);
    for (size_t i = 0; i < k->values.count; i++)
        types[n++] = memory_type(g, k->values.at[i]->type);
    return LLVMFunctionType(g->t.none, types, n, false);
}

/* !{ function, name, value }, as LLVM 19 to 21 read it. */
static void annotate(Gen *g, LLVMValueRef f, const char *name, int value)
{
    LLVMMetadataRef row[3] = { LLVMValueAsMetadata(f), LLVMMDStringInContext2(g->cx, name, strlen(name)),
                               LLVMValueAsMetadata(i32_const(g, value)) };
    LLVMAddNamedMetadataOperand(g->module, "nvvm.annotations",
                                LLVMMetadataAsValue(g->cx, LLVMMDNodeInContext2(g->cx, row, 3)));
}

/* The size of a block, which bounds the registers of a thread; and how many blocks should be resident. Later versions
 * of LLVM read attributes. */
static void set_launch_bounds(Gen *g, LLVMValueRef f, const Stmt *kernel)
{
    static const char *const names[GPU_AXES] = { "maxntidx", "maxntidy", "maxntidz" };
    const int threads[GPU_AXES] = { kernel->kernel.threads_x, kernel->kernel.threads_y, kernel->kernel.threads_z };
    char      text[64];
    for (int a = 0; a < GPU_AXES; a++)
        annotate(g, f, names[a], threads[a]);
    snprintf(text, sizeof text, "%d,%d,%d", threads[0], threads[1], threads[2]);
    add_text_attribute(g, f, "nvvm.maxntid", text);
    if (kernel->kernel.resident <= 0)
        return;
    annotate(g, f, "minctasm", kernel->kernel.resident);
    snprintf(text, sizeof text, "%d", kernel->kernel.resident);
    add_text_attribute(g, f, "nvvm.minctasm", text);
}

/* ---- What the host gives ---- */

/* Binds the names of the host's code around kernels, so that it is known which of them are coordinates. A name that is
 * bound several times is one only if it is so each time. */
static void bind_host_names(void *user, const Stmt *s)
{
    Gen        *g          = user;
    const char *name       = s->kind == STMT_LET ? s->let.name : s->kind == STMT_FOR ? s->loop.name : NULL;
    bool        coordinate = s->kind == STMT_FOR || (s->kind == STMT_LET && is_named_coordinate(g, s->let.value));
    if (s->kind == STMT_KERNEL)
        return;
    if (name) {
        const NameBinding *before = binding_find(g, name);
        coordinate &= !before || before->coordinate;
        bind(g, name, value_constant(g, NULL), coordinate);
    }
    stmt_children(s, NULL, bind_host_names, g);
}

/* A name that no statement binds is a port's: a coordinate. */
static void bind_value(Gen *g, const Expr *e, LLVMValueRef v)
{
    v = from_memory(g, v, e->type);
    if (e->op == EX_VAR) {
        const NameBinding *b = binding_find(g, e->u.name);
        bind(g, e->u.name, value_constant(g, v), !b || b->coordinate);
        return;
    }
    size_t i = 0;
    while (i < g->program->params.count && g->program->params.at[i] != e->u.param)
        i++;
    if (i < g->program->params.count)
        g->f->arguments[i] = v;
}

static void take_arguments(Gen *g, const Kernel *k)
{
    unsigned n      = 0;
    g->f->arguments = gen_alloc(g, (g->program->params.count + 1) * sizeof *g->f->arguments);
    for (size_t i = 0; i < k->buffers.count; i++) {
        const Buffer *b      = k->buffers.at[i].buffer;
        g->f->buffers[b->id] = (BufferState){ .base     = LLVMGetParam(g->f->f, n++),
                                              .level    = g->f->base,
                                              .constant = !k->buffers.at[i].writes };
    }
    for (unsigned i = 0; i < n; i++) /* element 0 lies at a multiple of 16 bytes: runtime/device.h */
        LLVMSetParamAlignment(LLVMGetParam(g->f->f, i), 16);
    bind_host_names(g, g->program->body);
    here(g);
    for (size_t i = 0; i < k->values.count; i++)
        bind_value(g, k->values.at[i], LLVMGetParam(g->f->f, n++));
}

/* The loops over blocks: the block's number along each axis. */
static void bind_grid(Gen *g, const Kernel *k)
{
    static const char *const registers[GPU_AXES] = { "llvm.nvvm.read.ptx.sreg.ctaid.x",
                                                     "llvm.nvvm.read.ptx.sreg.ctaid.y",
                                                     "llvm.nvvm.read.ptx.sreg.ctaid.z" };
    for (int a = 0; a < GPU_AXES; a++)
        if (k->grid[a]) {
            here(g);
            LLVMValueRef v = intrinsic(g, registers[a], 0, NULL, 0, NULL);
            if (k->grid[a]->loop.min->type == KN_I64)
                v = LLVMBuildSExt(g->b, v, g->t.i64, "");
            bind(g, k->grid[a]->loop.name, value_constant(g, v), true);
        }
}

static void make_kernel(Gen *g, const Kernel *k)
{
    Function *f = function_begin(g, k->name, kernel_type(g, k));
    LLVMSetLinkage(f->f, LLVMExternalLinkage);
    LLVMSetFunctionCallConv(f->f, LLVMPTXKernelCallConv);
    set_launch_bounds(g, f->f, k->stmt);
    g->kernel = k;
    take_arguments(g, k);
    bind_grid(g, k);
    gen_stmt(g, k->block);
    if (cleanup_pop(g))
        gen_fail(g, "the kernel %s could fail, which no code of a device can", k->stmt->kernel.name);
    here(g);
    LLVMBuildRetVoid(g->b);
    g->kernel = NULL;
    function_close(g);
}

void gen_device_module(Gen *g)
{
    gen_begin(g);
    for (size_t i = 0; i < g->program->kernels.count; i++)
        if (!g->program->kernels.at[i]->same)
            make_kernel(g, g->program->kernels.at[i]);
}

/* ---- Wide stores ---- */

/* Some elements of a vector as one word, the first lowest. */
static LLVMValueRef word_of(Gen *g, LLVMValueRef v, unsigned first, unsigned count)
{
    LLVMValueRef word = NULL;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef part = LLVMBuildExtractElement(g->b, v, i32_const(g, first + i), "");
        part              = LLVMBuildZExt(g->b, part, g->t.i32, "");
        part              = i ? LLVMBuildShl(g->b, part, i32_const(g, i * 32 / count), "") : part;
        word              = word ? LLVMBuildOr(g->b, word, part, "") : part;
    }
    return word;
}

/* The store of a vector of bytes or halves as one of words, which is one instruction; LLVM stores a vector of bytes
 * word by word, also where it is converted to words. NULL: it is another store. */
static LLVMValueRef as_words(Gen *g, LLVMValueRef store)
{
    LLVMValueRef v    = LLVMGetOperand(store, 0);
    LLVMTypeRef  type = LLVMTypeOf(v);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetTypeKind(LLVMGetElementType(type)) != LLVMIntegerTypeKind)
        return NULL;
    const unsigned bits = LLVMGetIntTypeWidth(LLVMGetElementType(type)), count = LLVMGetVectorSize(type);
    if (bits < 8 || bits > 16 || count * bits < 64 || count * bits % 32)
        return NULL;
    LLVMValueRef wide = LLVMGetPoison(LLVMVectorType(g->t.i32, count * bits / 32));
    LLVMPositionBuilderBefore(g->b, store);
    for (unsigned w = 0; w < count * bits / 32; w++)
        wide = LLVMBuildInsertElement(g->b, wide, word_of(g, v, w * 32 / bits, 32 / bits), i32_const(g, w), "");
    LLVMValueRef made = LLVMBuildStore(g->b, wide, LLVMGetOperand(store, 1));
    LLVMSetAlignment(made, LLVMGetAlignment(store));
    return made;
}

void store_by_words(Gen *g)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (LLVMIsAStoreInst(i) && as_words(g, i))
                    LLVMInstructionEraseFromParent(i);
            }
}
