/* SPDX-License-Identifier: MIT */
/* Calling C: scalar functions through libffi, extern stages through their buffers. */
#include "interp/call_c.h"

#include <ffi.h>

struct CCall {
    void (*function)(void);
    int       count;
    kn_type   type;
    kn_type   arg_types[C_CALL_MAX];
    ffi_type *ffi_args[C_CALL_MAX];
    ffi_cif   cif;
};

/* What C passes for each type; f16 and bf16 have no C type. */
/* clang-format off */
static ffi_type *const ffi_table[KN_TYPE_COUNT] = {
    [KN_BOOL] = &ffi_type_uint8,  [KN_U8] = &ffi_type_uint8,   [KN_U16] = &ffi_type_uint16, [KN_U32] = &ffi_type_uint32,
    [KN_U64] = &ffi_type_uint64,  [KN_I8] = &ffi_type_sint8,   [KN_I16] = &ffi_type_sint16, [KN_I32] = &ffi_type_sint32,
    [KN_I64] = &ffi_type_sint64,  [KN_F32] = &ffi_type_float,  [KN_F64] = &ffi_type_double,
};
/* clang-format on */

CCall *c_call_new(kn_context *cx, Arena *arena, const Expr *e)
{
    const Extern *known = map_get(&cx->externs, e->u.name);
    if (!known || !known->function)
        context_bail(
            cx, KN_ERROR_ARGUMENT,
            arena_printf(
                &cx->call,
                "the C function `%s` is not there; give it with kn_extern_function, or `kiln run --load LIBRARY`",
                e->u.name));
    CCall *call    = ARENA_NEW(arena, CCall);
    call->function = known->function;
    call->count    = (int)e->count;
    call->type     = e->type;
    bool callable  = e->count <= C_CALL_MAX && ffi_table[e->type];
    for (uint32_t i = 0; callable && i < e->count; i++) {
        call->arg_types[i] = e->args[i]->type;
        call->ffi_args[i]  = ffi_table[e->args[i]->type];
        callable           = call->ffi_args[i] != NULL;
    }
    if (!callable || ffi_prep_cif(&call->cif, FFI_DEFAULT_ABI, e->count, ffi_table[e->type], call->ffi_args) != FFI_OK)
        context_bail(
            cx, KN_ERROR_PROGRAM,
            arena_printf(
                &cx->call,
                "the C function `%s` cannot be called: it may have %d arguments at most, and none is f16 or bf16",
                e->u.name, C_CALL_MAX));
    return call;
}

/* libffi widens integer results that are narrower than a register. */
typedef union CResult {
    ffi_arg  i;
    uint64_t i64;
    float    f32;
    double   f64;
} CResult;

Lane c_call(const CCall *call, const Lane *operands)
{
    uint64_t memory[C_CALL_MAX];
    void    *at[C_CALL_MAX];
    for (int i = 0; i < call->count; i++) {
        at[i] = &memory[i];
        lane_store(call->arg_types[i], at[i], operands[i]);
    }
    CResult r   = { 0 };
    ffi_cif cif = call->cif;
    ffi_call(&cif, call->function, &r, at);
    if (call->type == KN_F32)
        return (Lane){ .f = r.f32 };
    if (call->type == KN_F64)
        return (Lane){ .f = r.f64 };
    if (call->type == KN_BOOL)
        return (Lane){ .i = (uint8_t)r.i != 0 };
    return (Lane){ .i = type_wrap(call->type, type_bits(call->type) == 64 ? (int64_t)r.i64 : (int64_t)r.i) };
}

/* ---- Stages ---------------------------------------------------------------------------------- */

__attribute__((noreturn)) static void refuse_stage(Run *run, const Func *f, kn_status status, const char *why)
{
    run_refuse(run, status, "the extern stage `%s` (C function `%s`) %s", f->name, f->symbol, why);
}

/* A view as a stage sees it. */
static kn_buffer stage_buffer(Run *run, const Func *stage, const Func *f)
{
    const View *views = run->storage[f->id].views;
    kn_buffer   b     = { .type = f->types[0], .rank = f->rank };
    if (views && !view_as_buffer(&views[0], &b))
        refuse_stage(run, stage, KN_ERROR_BOUNDS, "would need a buffer beyond the coordinates of one");
    return b;
}

/* The value of an expression without variables and calls. */
static kn_scalar stage_value(Run *run, const Func *f, const Expr *e)
{
    Eval ev;
    eval_init(&ev, run, f);
    Node *node = eval_node(&ev, e);
    eval(&ev, node, &ev.all);
    return type_is_float(e->type) ? kn_float(node->lanes[0].f) : kn_int(node->lanes[0].i);
}

void run_stage(Run *run, const Func *f)
{
    const Extern *known  = map_get(&run->p->cx->externs, f->symbol);
    kn_buffer     output = stage_buffer(run, f, f);
    if (!output.data)
        return;
    if (!known || !known->stage)
        refuse_stage(run, f, KN_ERROR_ARGUMENT,
                     "is not there; give it with kn_extern_stage, or `kiln run --load LIBRARY`");
    kn_buffer *inputs      = ARENA_ARRAY(&run->scratch, kn_buffer, (size_t)f->stage_arg_count);
    kn_scalar *values      = ARENA_ARRAY(&run->scratch, kn_scalar, (size_t)f->stage_arg_count);
    int        input_count = 0, value_count = 0;
    for (int i = 0; i < f->stage_arg_count; i++) {
        const StageArg *a = &f->stage_args[i];
        if (a->func)
            inputs[input_count++] = stage_buffer(run, f, a->func);
        else
            values[value_count++] = stage_value(run, f, a->value);
    }
    const int failed = known->stage(false, inputs, input_count, values, value_count, &output, known->user);
    if (failed)
        refuse_stage(run, f, KN_ERROR_ARGUMENT, arena_printf(&run->scratch, "stopped the run: it returned %d", failed));
}
