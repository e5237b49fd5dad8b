/* Calls of extern stages: kn_buffers of the storage are made on the stack and handed to the runtime.
 *
 * The stage's C function is the external symbol of its name. The pointer that was given with it is the address of the
 * weak symbol NAME.user: NULL where nobody defines it. */
#include "codegen/llvm/llvm.h"

#include <stdio.h>
#include <string.h>

static LLVMValueRef entry_alloca(Gen *g, LLVMTypeRef type, const char *name)
{
    LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(g->f->entry));
    return LLVMBuildAlloca(g->b, type, name);
}

static void store_dim(Gen *g, LLVMValueRef at, int dim, int field, LLVMValueRef v)
{
    LLVMValueRef path[] = { i32_const(g, 0), i32_const(g, BUFFER_FIELD_DIM), i32_const(g, dim), i32_const(g, field) };
    here(g);
    LLVMBuildStore(g->b, v, LLVMBuildInBoundsGEP2(g->b, g->t.buffer, at, path, 4, ""));
}

static void store_field(Gen *g, LLVMValueRef at, unsigned field, LLVMValueRef v)
{
    LLVMBuildStore(g->b, v, LLVMBuildStructGEP2(g->b, g->t.buffer, at, field, ""));
}

/* All but the dimensions. The device part is zero: storage of compiled code is on the host. */
static void store_kind(Gen *g, LLVMValueRef at, LLVMValueRef data, kn_type type, int rank)
{
    here(g);
    store_field(g, at, BUFFER_FIELD_DATA, data);
    store_field(g, at, BUFFER_FIELD_TYPE, i32_const(g, type));
    store_field(g, at, BUFFER_FIELD_RANK, i32_const(g, rank));
    for (unsigned i = BUFFER_FIELD_DEVICE; i < BUFFER_FIELD_COUNT; i++)
        store_field(g, at, i, LLVMConstNull(LLVMStructGetTypeAtIndex(g->t.buffer, i)));
}

/* Fills the kn_buffer at `at` with a box, or nothing, and no data. */
static void store_box(Gen *g, LLVMValueRef at, const StageOperand *o, const Expr **box_min, const Expr **box_extent)
{
    for (int d = 0; d < o->rank; d++) {
        store_dim(g, at, d, DIM_FIELD_MIN, box_min ? gen_uniform(g, box_min[d]) : i32_const(g, 0));
        store_dim(g, at, d, DIM_FIELD_EXTENT, box_extent ? gen_uniform(g, box_extent[d]) : i32_const(g, 0));
        store_dim(g, at, d, DIM_FIELD_STRIDE, i64_const(g, 0));
    }
    store_kind(g, at, LLVMConstNull(g->t.ptr), o->type, o->rank);
}

/* Fills the kn_buffer at `at`: the storage, or the box of it. */
static void store_buffer(Gen *g, LLVMValueRef at, const StageOperand *o, const Expr **box_min, const Expr **box_extent)
{
    LLVMValueRef data = buffer_base(g, o->buffer);
    for (int d = 0; d < o->rank; d++) {
        LLVMValueRef min = gen_uniform(g, o->min[d]), stride = gen_uniform(g, o->stride[d]);
        LLVMValueRef first  = box_min ? gen_uniform(g, box_min[d]) : min;
        LLVMValueRef extent = gen_uniform(g, box_extent ? box_extent[d] : o->extent[d]);
        here(g);
        LLVMValueRef skip =
            LLVMBuildSub(g->b, LLVMBuildSExt(g->b, first, g->t.i64, ""), LLVMBuildSExt(g->b, min, g->t.i64, ""), "");
        skip = LLVMBuildMul(g->b, skip, stride, "");
        data = LLVMBuildGEP2(g->b, memory_type(g, o->buffer->type), data, &skip, 1, "");
        store_dim(g, at, d, DIM_FIELD_MIN, first);
        store_dim(g, at, d, DIM_FIELD_EXTENT, extent);
        store_dim(g, at, d, DIM_FIELD_STRIDE, stride);
    }
    store_kind(g, at, data, o->buffer->type, o->rank);
}

/* kn_scalar: { bool is_float; union { int64_t, double } }. */
static void store_scalar(Gen *g, LLVMValueRef at, const Expr *e)
{
    const bool   is_float = type_is_float(e->type);
    LLVMValueRef v        = gen_uniform(g, e);
    here(g);
    v                  = is_float ? convert(g, v, e->type, KN_F64, false) : convert(g, v, e->type, KN_I64, false);
    LLVMValueRef eight = i64_const(g, 8);
    LLVMBuildStore(g->b, LLVMConstInt(g->t.i8, is_float, false), at);
    LLVMBuildStore(g->b, v, LLVMBuildInBoundsGEP2(g->b, g->t.i8, at, &eight, 1, ""));
}

/* Is the box empty? i1. */
static LLVMValueRef is_empty(Gen *g, const StageCall *call)
{
    LLVMValueRef empty = LLVMConstInt(g->t.i1, 0, false);
    for (int d = 0; d < call->output.rank; d++) {
        LLVMValueRef extent = gen_uniform(g, call->box_extent[d]);
        here(g);
        empty = LLVMBuildOr(g->b, empty, LLVMBuildICmp(g->b, LLVMIntSLE, extent, i32_const(g, 0), ""), "");
    }
    return empty;
}

/* The pointer that was given with the stage. */
static LLVMValueRef stage_user(Gen *g, const char *symbol)
{
    char name[512];
    snprintf(name, sizeof name, "%.500s.user", symbol);
    LLVMValueRef user = LLVMGetNamedGlobal(g->module, name);
    if (!user) {
        user = LLVMAddGlobal(g->module, g->t.i8, name);
        LLVMSetLinkage(user, LLVMExternalWeakLinkage);
    }
    return user;
}

/* A byte for the rank of each buffer. */
static LLVMValueRef ranks_const(Gen *g, const StageCall *call)
{
    char *ranks = gen_alloc(g, (size_t)call->count + 1);
    int   count = 0;
    for (int i = 0; i < call->count; i++)
        if (!call->operands[i].value)
            ranks[count++] = (char)call->operands[i].rank;
    return text_const(g, ranks, (size_t)count + 1);
}

void gen_stage(Gen *g, const StageCall *call)
{
    int buffers = 0, scalars = 0;
    for (int i = 0; i < call->count; i++)
        *(call->operands[i].value ? &scalars : &buffers) += 1;
    LLVMTypeRef  scalar = LLVMStructTypeInContext(g->cx, (LLVMTypeRef[]){ g->t.i64, g->t.i64 }, 2, false);
    LLVMValueRef inputs = entry_alloca(g, LLVMArrayType2(g->t.buffer, (uint64_t)(buffers ? buffers : 1)), "inputs");
    LLVMValueRef values = entry_alloca(g, LLVMArrayType2(scalar, (uint64_t)(scalars ? scalars : 1)), "values");
    LLVMValueRef output = entry_alloca(g, g->t.buffer, "output");
    statement_begin(g);
    LLVMValueRef      empty = is_empty(g, call);
    LLVMBasicBlockRef some = block_new(g, "stage"), after = block_new(g, "after");
    here(g);
    LLVMBuildCondBr(g->b, empty, after, some);
    scope_push(g, some);
    (call->table ? store_box : store_buffer)(g, output, &call->output, call->box_min, call->box_extent);
    int b = 0, v = 0;
    for (int i = 0; i < call->count; i++) {
        const bool   is_buffer = !call->operands[i].value;
        LLVMValueRef at        = i32_const(g, is_buffer ? b++ : v++);
        here(g);
        at = LLVMBuildInBoundsGEP2(g->b, is_buffer ? g->t.buffer : scalar, is_buffer ? inputs : values, &at, 1, "");
        if (is_buffer)
            (call->table ? store_box : store_buffer)(g, at, &call->operands[i], NULL, NULL);
        else
            store_scalar(g, at, call->operands[i].value);
    }
    const char  *symbol = call->symbol;
    LLVMValueRef user   = stage_user(g, symbol),
                 stage  = extern_function(g, symbol, LLVMFunctionType(g->t.i32, NULL, 0, true));
    here(g);
    LLVMValueRef args[11] = { g->f->rt, text_const(g, symbol, strlen(symbol) + 1),
                              stage,    user,
                              inputs,   i32_const(g, b),
                              values,   i32_const(g, v),
                              output };
    if (call->table) {
        args[9]  = ranks_const(g, call);
        args[10] = buffer_base(g, call->table);
    }
    here(g);
    fail_unless_zero(g, call->table ? rt_call(g, "kn_rt_stage_query", g->t.i32, 11, args)
                                    : rt_call(g, "kn_rt_stage", g->t.i32, 9, args));
    here(g);
    LLVMBuildBr(g->b, after);
    scope_pop(g);
    go_to(g, after);
}
