/* SPDX-License-Identifier: MIT */
/* The host's side of kernels: the constant that describes them, scratch on the device, copies, launches. All of it are
 * calls of runtime/device.h; a status that is not 0 ends the function. */
#include "codegen/llvm/llvm.h"

#include <stdio.h>
#include <string.h>

/* As in runtime/device.h. */
enum { READ = 1, WRITE = 2 };

/* ---- kn_rt_kernels ---- */

static LLVMValueRef bytes_const(Gen *g, const uint8_t *bytes, size_t count, const char *name)
{
    return constant_global(g, LLVMConstStringInContext(g->cx, (const char *)bytes, (unsigned)count, true), name);
}

/* The row of kn_rt_kernels.kernels. */
static LLVMValueRef kernel_row(Gen *g, const Kernel *k)
{
    const Stmt *s      = k->stmt;
    uint8_t    *access = gen_alloc(g, k->buffers.count + 1), *sizes = gen_alloc(g, k->values.count + 1);
    for (size_t i = 0; i < k->buffers.count; i++)
        access[i] = (uint8_t)((k->buffers.at[i].reads ? READ : 0) | (k->buffers.at[i].writes ? WRITE : 0));
    for (size_t i = 0; i < k->values.count; i++)
        sizes[i] = (uint8_t)kn_type_size(k->values.at[i]->type);
    LLVMValueRef threads[GPU_AXES] = { i32_const(g, s->kernel.threads_x), i32_const(g, s->kernel.threads_y),
                                       i32_const(g, s->kernel.threads_z) };
    LLVMValueRef fields[]          = { text_const(g, kernel_code(k)->name, strlen(kernel_code(k)->name) + 1),
                                       LLVMConstArray2(g->t.i32, threads, GPU_AXES),
                                       i32_const(g, (int64_t)k->buffers.count),
                                       i32_const(g, (int64_t)k->values.count),
                                       bytes_const(g, access, k->buffers.count, "access"),
                                       bytes_const(g, sizes, k->values.count, "value_size"),
                                       i32_const(g, k->shared_bytes > GPU_SHARED_BYTES ? k->shared_bytes : 0) };
    return LLVMConstStructInContext(g->cx, fields, sizeof fields / sizeof *fields, false);
}

/* FNV-1a. */
static uint64_t text_id(const char *text)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 0x100000001B3u;
    return h;
}

/* The kernels with that text; `large` are those for larger buffers than these are for, or NULL. */
static LLVMValueRef kernels_const(Gen *g, LLVMValueRef rows, const char *code, bool any_size, LLVMValueRef large,
                                  const char *name)
{
    LLVMValueRef fields[] = { i32_const(g, g->target->device),
                              i32_const(g, (int64_t)g->program->kernels.count),
                              text_const(g, code, strlen(code) + 1),
                              LLVMConstNull(g->t.ptr),
                              rows,
                              i64_const(g, (int64_t)text_id(code)),
                              i64_const(g, any_size ? 0 : MOST_INDEX),
                              large ? large : LLVMConstNull(g->t.ptr) };
    return constant_global(g, LLVMConstStructInContext(g->cx, fields, sizeof fields / sizeof *fields, false), name);
}

/* NAME.kernels is visible, so that who unloads the code can tell the runtime. Code for OpenCL counts in 64 bits. */
LLVMValueRef rt_kernels(Gen *g)
{
    const Program *p    = g->program;
    const char    *code = g->options->device_code, *for_large = g->options->large_code;
    LLVMValueRef  *rows = gen_alloc(g, (p->kernels.count + 1) * sizeof *rows);
    char           name[512];
    if (!code)
        gen_fail(g, "the program has kernels, and what was emitted for the device is missing");
    for (size_t i = 0; i < p->kernels.count; i++)
        rows[i] = kernel_row(g, p->kernels.at[i]);
    LLVMValueRef all   = constant_global(g, LLVMConstArray2(LLVMTypeOf(rows[0]), rows, p->kernels.count), "kernels");
    LLVMValueRef large = for_large ? kernels_const(g, all, for_large, true, NULL, "large") : NULL;
    snprintf(name, sizeof name, "%.400s.kernels", p->name);
    LLVMValueRef it = kernels_const(g, all, code, g->target->device != DEVICE_CUDA, large, name);
    LLVMSetLinkage(it, LLVMExternalLinkage);
    return it;
}

/* ---- Buffers ---- */

/* The kn_buffer of a port or of scratch that is on the device. */
static LLVMValueRef descriptor(Gen *g, const Buffer *b)
{
    const BufferState *state = &g->f->buffers[b->id];
    if (b->kind == BUFFER_SCRATCH && !state->on_device)
        gen_fail(g, "the lowered program uses `%s` outside its allocation, or it is not on the device", b->name);
    here(g);
    LLVMValueRef place = i32_const(g, b->id);
    return state->on_device ? state->on_device : LLVMBuildInBoundsGEP2(g->b, g->t.buffer, g->f->used, &place, 1, "");
}

static LLVMValueRef entry_alloca(Gen *g, LLVMTypeRef type, const char *name)
{
    LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(g->f->entry));
    return LLVMBuildAlloca(g->b, type, name);
}

/* Does code of the host touch the buffer? */
typedef struct HostUse {
    const Gen    *g;
    const Buffer *buffer;
    bool          found;
} HostUse;

static void find_in_expr(void *user, const Expr *e)
{
    HostUse *u = user;
    if (!e || u->found || u->g->seen[e->id] == u->g->statement)
        return;
    u->g->seen[e->id] = u->g->statement;
    u->found          = e->op == EX_LOAD && e->u.buffer == u->buffer;
    for (uint32_t i = 0; i < e->count; i++)
        find_in_expr(u, e->args[i]);
}

static void find_in_stmt(void *user, const Stmt *s)
{
    HostUse *u = user;
    if (u->found || s->kind == STMT_KERNEL)
        return;
    if (s->kind == STMT_STORE)
        for (int i = 0; i < s->store.count; i++)
            u->found |= s->store.places[i].buffer == u->buffer;
    if (s->kind == STMT_SYNC)
        u->found |= s->sync.buffer == u->buffer;
    if (s->kind == STMT_STAGE) {
        u->found |= s->stage->output.buffer == u->buffer || s->stage->table == u->buffer;
        for (int i = 0; i < s->stage->count; i++)
            u->found |= s->stage->operands[i].buffer == u->buffer;
    }
    stmt_children(s, find_in_expr, find_in_stmt, u);
}

static bool host_touches(Gen *g, const Stmt *body, const Buffer *b)
{
    HostUse use = { .g = g, .buffer = b };
    statement_begin(g);
    if (body)
        find_in_stmt(&use, body);
    return use.found;
}

/* A kn_buffer in the frame of the function, filled by the runtime. */
void gen_device_scratch(Gen *g, const Stmt *s)
{
    const Buffer *b     = s->alloc.buffer;
    BufferState  *state = &g->f->buffers[b->id];
    const bool    host  = host_touches(g, s->alloc.body, b);
    statement_begin(g);
    LLVMValueRef count = gen_uniform(g, s->alloc.count), at = entry_alloca(g, g->t.buffer, b->name);
    here(g);
    fail_unless_zero(g, rt_call(g, "kn_rt_device_alloc", g->t.i32, 5,
                                (LLVMValueRef[]){ g->f->call, at, i32_const(g, b->type), count, i32_const(g, host) }));
    scope_push(g, NULL);
    here(g);
    *state = (BufferState){ .on_device = at, .level = g->depth };
    state->base =
        LLVMBuildLoad2(g->b, g->t.ptr, LLVMBuildStructGEP2(g->b, g->t.buffer, at, BUFFER_FIELD_DATA, ""), b->name);
    state->low           = i64_const(g, 0);
    state->high          = LLVMBuildSub(g->b, count, i64_const(g, 1), "");
    LLVMValueRef args[2] = { g->f->call, at };
    Cleanup     *c       = cleanup_push(g);
    gen_stmt(g, s->alloc.body);
    if (cleanup_pop(g)) {
        rt_call(g, "kn_rt_device_free", g->t.none, 2, args);
        cleanup_go_on(g, c);
    }
    here(g);
    rt_call(g, "kn_rt_device_free", g->t.none, 2, args);
    *state = (BufferState){ 0 };
    scope_pop(g);
}

void gen_sync(Gen *g, const Stmt *s)
{
    LLVMValueRef at = descriptor(g, s->sync.buffer), access = i32_const(g, READ | (s->sync.write ? WRITE : 0));
    fail_unless_zero(g, rt_call(g, "kn_rt_host_need", g->t.i32, 3, (LLVMValueRef[]){ g->f->call, at, access }));
}

/* ---- Launches ---- */

/* The bits of a value, the first byte first. */
static LLVMValueRef value_bits(Gen *g, const Expr *e)
{
    LLVMValueRef v = gen_uniform(g, e);
    here(g);
    v                = to_memory(g, v, e->type);
    LLVMTypeRef bits = LLVMIntTypeInContext(g->cx, 8 * (unsigned)kn_type_size(e->type));
    return LLVMBuildZExt(g->b, LLVMBuildBitCast(g->b, v, bits, ""), g->t.i64, "");
}

static void store_at(Gen *g, LLVMTypeRef element, LLVMValueRef array, size_t i, LLVMValueRef v)
{
    LLVMValueRef place = i64_const(g, (int64_t)i);
    here(g);
    LLVMBuildStore(g->b, v, LLVMBuildInBoundsGEP2(g->b, element, array, &place, 1, ""));
}

static int kernel_place(const Gen *g, const Kernel *k)
{
    int i = 0;
    while (g->program->kernels.at[i] != k)
        i++;
    return i;
}

void gen_launch(Gen *g, const Stmt *s)
{
    const Kernel *k = program_kernel(g->program, s);
    if (!k || g->lanes)
        gen_fail(g, "the kernel %s is not one of the program, or stands in a vector loop", s->kernel.name);
    const size_t buffers = k->buffers.count, values = k->values.count;
    statement_begin(g);
    LLVMValueRef grid = entry_alloca(g, LLVMArrayType2(g->t.i32, GPU_AXES), "grid");
    LLVMValueRef args = entry_alloca(g, LLVMArrayType2(g->t.i64, buffers + values + 1), "args");
    for (int a = 0; a < GPU_AXES; a++) {
        LLVMValueRef blocks = k->grid[a] ? gen_uniform(g, k->grid[a]->loop.extent) : i32_const(g, 1);
        here(g);
        if (k->grid[a] && k->grid[a]->loop.extent->type == KN_I64)
            blocks = LLVMBuildTrunc(g->b, blocks, g->t.i32, "");
        store_at(g, g->t.i32, grid, (size_t)a, blocks);
    }
    for (size_t i = 0; i < buffers; i++) {
        LLVMValueRef at = descriptor(g, k->buffers.at[i].buffer);
        store_at(g, g->t.i64, args, i, LLVMBuildPtrToInt(g->b, at, g->t.i64, ""));
    }
    for (size_t i = 0; i < values; i++)
        store_at(g, g->t.i64, args, buffers + i, value_bits(g, k->values.at[i]));
    here(g);
    LLVMValueRef all[] = { g->f->call, i32_const(g, kernel_place(g, k)), grid, args };
    fail_unless_zero(g, rt_call(g, "kn_rt_launch", g->t.i32, 4, all));
    for (size_t i = 0; i < buffers; i++)
        if (k->buffers.at[i].writes)
            g->f->buffers[k->buffers.at[i].buffer->id].writes++;
}
