/* SPDX-License-Identifier: MIT */
/* The module: constants that describe the program, its functions, and the entry around them.
 *
 *     int NAME(rt, buffers, params)  { used[]; kn_rt_enter; NAME.body; kn_rt_leave }
 *     int NAME.body(rt, used, params)      the program; parallel loops are functions of their own
 *
 * With kernels kn_rt_device_enter and kn_rt_device_leave stand around NAME.body, which is given the call of the device.
 * Of a program with another for the host alone, NAME asks kn_rt_device_present first, and may call that one, NAME.host.
 *
 * Of several targets a module may have some: then NAME.body.TARGET and NAME.program are shared with the modules of the
 * others (variants.c). */
#include "codegen/llvm/llvm.h"

#include <stdio.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>

/* ---- Constants ---- */

LLVMValueRef constant_global(Gen *g, LLVMValueRef value, const char *name)
{
    LLVMValueRef it = LLVMAddGlobal(g->module, LLVMTypeOf(value), name);
    LLVMSetInitializer(it, value);
    LLVMSetLinkage(it, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(it, true);
    return it;
}

/* The name of a dimension. */
static const char *dim_name(const Buffer *b, int d)
{
    static const char *const numbers[KN_MAX_RANK] = { "0", "1", "2", "3", "4", "5", "6", "7" };
    return b->dims ? b->dims[d] : numbers[d];
}

/* The names of the dimensions, each ended by NUL. */
static LLVMValueRef dims_text(Gen *g, const Buffer *b)
{
    size_t size = 1;
    for (int d = 0; d < b->rank; d++)
        size += strlen(dim_name(b, d)) + 1;
    char  *text = gen_alloc(g, size);
    size_t n    = 0;
    for (int d = 0; d < b->rank; d++) {
        memcpy(text + n, dim_name(b, d), strlen(dim_name(b, d)));
        n += strlen(dim_name(b, d)) + 1;
    }
    return text_const(g, text, n ? n : 1);
}

static void find_produced(void *user, const Stmt *s)
{
    Gen *g = user;
    if (s->kind == STMT_PRODUCE && produced_index(g, s->produce.func) < 0) {
        g->funcs                  = gen_grow(g, g->funcs, (size_t)g->func_count + 1, sizeof *g->funcs);
        g->funcs[g->func_count++] = s->produce.func;
    }
    stmt_children(s, NULL, find_produced, g);
}

static void find_profiled(Gen *g)
{
    if (g->options->profile && g->program->body)
        find_produced(g, g->program->body);
}

/* With `profile`: the names of the functions that are computed, in the order of the text. */
static LLVMValueRef profiled_names(Gen *g)
{
    find_profiled(g);
    LLVMValueRef *names = gen_alloc(g, (size_t)(g->func_count + 1) * sizeof *names);
    for (int i = 0; i < g->func_count; i++)
        names[i] = text_const(g, g->funcs[i], strlen(g->funcs[i]) + 1);
    return LLVMConstArray2(g->t.ptr, names, (uint64_t)g->func_count);
}

/* Has this module all targets? Else it shares what others refer to. */
static bool is_whole(const Gen *g)
{
    return g->last - g->first == g->options->target_count;
}

static LLVMValueRef share(LLVMValueRef global)
{
    LLVMSetLinkage(global, LLVMExternalLinkage);
    LLVMSetVisibility(global, LLVMHiddenVisibility);
    return global;
}

/* kn_rt_program of runtime/runtime.h. */
static LLVMValueRef make_rt_program(Gen *g)
{
    const Program *p    = g->program;
    LLVMTypeRef    port = LLVMStructTypeInContext(
           g->cx, (LLVMTypeRef[]){ g->t.ptr, g->t.i32, g->t.i32, g->t.i32, g->t.i32, g->t.ptr }, 6, false);
    LLVMValueRef *rows = gen_alloc(g, (size_t)(p->port_count + 1) * sizeof *rows);
    for (int i = 0; i < p->port_count; i++) {
        const Buffer *b        = p->buffers.at[i];
        LLVMValueRef  fields[] = { text_const(g, b->name, strlen(b->name) + 1),
                                   i32_const(g, b->type),
                                   i32_const(g, b->rank),
                                   i32_const(g, b->dense),
                                   i32_const(g, b->kind == BUFFER_OUTPUT),
                                   dims_text(g, b) };
        rows[i]                = LLVMConstStructInContext(g->cx, fields, 6, false);
    }
    LLVMValueRef ports    = constant_global(g, LLVMConstArray2(port, rows, (uint64_t)p->port_count), "ports");
    const char  *title    = p->title ? p->title : p->name;
    LLVMValueRef name     = text_const(g, title, strlen(title) + 1);
    LLVMValueRef funcs    = constant_global(g, profiled_names(g), "funcs");
    LLVMValueRef fields[] = { name, i32_const(g, p->port_count), ports, i32_const(g, g->func_count), funcs };
    char         full[512];
    snprintf(full, sizeof full, "%.400s.program", p->name);
    return constant_global(g, LLVMConstStructInContext(g->cx, fields, 5, false), full);
}

/* The one that the module with the entry has. */
static LLVMValueRef declare_rt_program(Gen *g)
{
    char name[512];
    snprintf(name, sizeof name, "%.400s.program", g->program->name);
    find_profiled(g);
    return LLVMAddGlobal(g->module, g->t.ptr, name);
}

/* A metadata node that is equal to no other: it is its own first operand. */
static LLVMMetadataRef distinct_node(Gen *g, LLVMMetadataRef second)
{
    LLVMMetadataRef itself = LLVMTemporaryMDNode(g->cx, NULL, 0);
    LLVMMetadataRef node   = LLVMMDNodeInContext2(g->cx, (LLVMMetadataRef[]){ itself, second }, second ? 2 : 1);
    LLVMMetadataReplaceAllUsesWith(itself, node);
    return node;
}

/* Each buffer is memory of its own: a scope for each, and for each the list of the others. */
static void make_alias_scopes(Gen *g)
{
    const size_t    n      = g->program->buffers.count;
    LLVMMetadataRef domain = distinct_node(g, NULL), *scopes = gen_alloc(g, (n + 1) * sizeof *scopes),
                    *others = gen_alloc(g, (n + 1) * sizeof *others);
    g->alias_scope          = gen_alloc(g, (n + 1) * sizeof *g->alias_scope);
    g->alias_others         = gen_alloc(g, (n + 1) * sizeof *g->alias_others);
    for (size_t i = 0; i < n; i++) {
        scopes[i]         = distinct_node(g, domain);
        g->alias_scope[i] = LLVMMDNodeInContext2(g->cx, &scopes[i], 1);
    }
    for (size_t i = 0; n > 1 && i < n; i++) {
        size_t m = 0;
        for (size_t k = 0; k < n; k++)
            if (k != i)
                others[m++] = scopes[k];
        g->alias_others[i] = LLVMMDNodeInContext2(g->cx, others, m);
    }
}

/* The type of a row of buffer_layout.h: one element, or an array. */
#define LAYOUT_TYPE(id, name, type, count) count == 1 ? g->t.type : LLVMArrayType2(g->t.type, count),

static void make_types(Gen *g)
{
    LLVMContextRef cx = g->cx;
    g->t              = (Types){ .i1   = LLVMInt1TypeInContext(cx),
                                 .i8   = LLVMInt8TypeInContext(cx),
                                 .i16  = LLVMInt16TypeInContext(cx),
                                 .i32  = LLVMInt32TypeInContext(cx),
                                 .i64  = LLVMInt64TypeInContext(cx),
                                 .f32  = LLVMFloatTypeInContext(cx),
                                 .f64  = LLVMDoubleTypeInContext(cx),
                                 .ptr  = LLVMPointerTypeInContext(cx, 0),
                                 .none = LLVMVoidTypeInContext(cx) };
    g->t.dim          = LLVMStructTypeInContext(cx, (LLVMTypeRef[]){ DIM_LAYOUT(LAYOUT_TYPE) }, DIM_FIELD_COUNT, false);
    g->t.buffer = LLVMStructTypeInContext(cx, (LLVMTypeRef[]){ BUFFER_LAYOUT(LAYOUT_TYPE) }, BUFFER_FIELD_COUNT, false);
    g->kind_alias       = LLVMGetMDKindIDInContext(cx, "alias.scope", 11);
    g->kind_noalias     = LLVMGetMDKindIDInContext(cx, "noalias", 7);
    g->kind_nontemporal = LLVMGetMDKindIDInContext(cx, "nontemporal", 11);
    g->kind_invariant   = LLVMGetMDKindIDInContext(cx, "invariant.load", 14);
    LLVMMetadataRef one = LLVMValueAsMetadata(i32_const(g, 1));
    g->nontemporal      = LLVMMDNodeInContext2(cx, &one, 1);
    g->empty            = LLVMMDNodeInContext2(cx, NULL, 0);
}

/* ---- The program ---- */

static bool has_kernels(const Gen *g)
{
    return g->program->kernels.count > 0;
}

/* int NAME.body(rt, used, params), and with kernels the call of the device. */
static LLVMTypeRef body_type(Gen *g)
{
    LLVMTypeRef args[4] = { g->t.ptr, g->t.ptr, g->t.ptr, g->t.ptr };
    return LLVMFunctionType(g->t.i32, args, has_kernels(g) ? 4 : 3, false);
}

/* Of the current target; declared where another module has it. */
static LLVMValueRef make_body(Gen *g, bool here)
{
    char        name[512];
    LLVMTypeRef type = body_type(g);
    snprintf(name, sizeof name, "%.400s.body%s", g->program->name, g->suffix);
    if (!here)
        return share(add_function(g, name, type));
    Function *f = function_begin(g, name, type);
    f->rt       = LLVMGetParam(f->f, 0);
    f->used     = LLVMGetParam(f->f, 1);
    f->params   = LLVMGetParam(f->f, 2);
    f->call     = has_kernels(g) ? LLVMGetParam(f->f, 3) : NULL;
    function_measure(g, g->program->body);
    gen_stmt(g, g->program->body);
    function_end(g);
    return is_whole(g) ? f->f : share(f->f);
}

/* A call of a body in the entry's current block. */
static LLVMValueRef call_body(Gen *g, LLVMValueRef entry, LLVMValueRef body, LLVMValueRef used)
{
    return LLVMBuildCall2(g->b, body_type(g), body,
                          (LLVMValueRef[]){ LLVMGetParam(entry, 0), used, LLVMGetParam(entry, 2) }, 3, "");
}

/* The same, of a program with kernels: a call of the device around it, kept at `at`. Nothing is run where that cannot
 * begin. */
static LLVMValueRef call_with_device(Gen *g, LLVMValueRef entry, LLVMValueRef body, LLVMValueRef used, LLVMValueRef at)
{
    LLVMValueRef      rt = LLVMGetParam(entry, 0), given = LLVMGetParam(entry, 1);
    LLVMBasicBlockRef begin = LLVMGetInsertBlock(g->b),
                      run   = LLVMAppendBasicBlockInContext(g->cx, entry, "with_device"),
                      after = LLVMAppendBasicBlockInContext(g->cx, entry, "after");
    LLVMValueRef refused =
        rt_call(g, "kn_rt_device_enter", g->t.i32, 5, (LLVMValueRef[]){ rt, g->rt_program, rt_kernels(g), used, at });
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, refused, i32_const(g, 0), ""), run, after);
    LLVMPositionBuilderAtEnd(g->b, run);
    LLVMValueRef call = LLVMBuildLoad2(g->b, g->t.ptr, at, "");
    LLVMValueRef status =
        LLVMBuildCall2(g->b, body_type(g), body, (LLVMValueRef[]){ rt, used, LLVMGetParam(entry, 2), call }, 4, "");
    status = rt_call(g, "kn_rt_device_leave", g->t.i32, 3, (LLVMValueRef[]){ call, given, status });
    LLVMBuildBr(g->b, after);
    LLVMPositionBuilderAtEnd(g->b, after);
    LLVMValueRef result = LLVMBuildPhi(g->b, g->t.i32, "status");
    LLVMAddIncoming(result, (LLVMValueRef[]){ refused, status }, (LLVMBasicBlockRef[]){ begin, run }, 2);
    return result;
}

/* The variant for this CPU. */
static LLVMValueRef call_chosen(Gen *g, LLVMValueRef entry, LLVMValueRef *bodies, LLVMValueRef used,
                                LLVMValueRef choose)
{
    const int         count = g->options->target_count;
    LLVMBasicBlockRef first = LLVMAppendBasicBlockInContext(g->cx, entry, "baseline"),
                      after = LLVMAppendBasicBlockInContext(g->cx, entry, "after");
    LLVMValueRef which      = LLVMBuildCall2(g->b, LLVMFunctionType(g->t.i32, NULL, 0, false), choose, NULL, 0, "");
    LLVMValueRef go         = LLVMBuildSwitch(g->b, which, first, (unsigned)count);
    LLVMPositionBuilderAtEnd(g->b, after);
    LLVMValueRef status = LLVMBuildPhi(g->b, g->t.i32, "status");
    for (int i = 0; i < count; i++) {
        LLVMBasicBlockRef block = i ? LLVMAppendBasicBlockInContext(g->cx, entry, "variant") : first;
        if (i)
            LLVMAddCase(go, i32_const(g, i), block);
        LLVMPositionBuilderAtEnd(g->b, block);
        LLVMValueRef one = call_body(g, entry, bodies[i], used);
        LLVMBuildBr(g->b, after);
        LLVMAddIncoming(status, &one, &block, 1);
    }
    LLVMPositionBuilderAtEnd(g->b, after);
    return status;
}

/* Where the call is to run on the host alone, it is that of the program for the host; what follows is for the device.
 */
static void call_host_alone(Gen *g, LLVMValueRef entry, LLVMTypeRef type)
{
    LLVMBasicBlockRef host = LLVMAppendBasicBlockInContext(g->cx, entry, "host"),
                      fail = LLVMAppendBasicBlockInContext(g->cx, entry, "no_place"),
                      on   = LLVMAppendBasicBlockInContext(g->cx, entry, "device");
    LLVMValueRef args[]    = { LLVMGetParam(entry, 0), LLVMGetParam(entry, 1), LLVMGetParam(entry, 2) };
    LLVMValueRef other     = share(add_function(g, g->program->host->name, type));
    const int    kind      = (int)g->target->device | (g->program->prefers_host ? DEVICE_PREFERS_HOST : 0);
    LLVMValueRef present   = rt_call(g, "kn_rt_device_present", g->t.i32, 4,
                                     (LLVMValueRef[]){ args[0], g->rt_program, i32_const(g, kind), args[1] });
    LLVMValueRef go        = LLVMBuildSwitch(g->b, present, fail, 2);
    LLVMAddCase(go, i32_const(g, 0), host);
    LLVMAddCase(go, i32_const(g, 1), on);
    LLVMPositionBuilderAtEnd(g->b, fail);
    LLVMBuildRet(g->b, i32_const(g, KN_ERROR_ARGUMENT));
    LLVMPositionBuilderAtEnd(g->b, host);
    LLVMBuildRet(g->b, LLVMBuildCall2(g->b, type, other, args, 3, ""));
    LLVMPositionBuilderAtEnd(g->b, on);
}

static void make_entry(Gen *g, LLVMValueRef *bodies)
{
    const int         ports   = g->program->port_count;
    LLVMTypeRef       args[3] = { g->t.ptr, g->t.ptr, g->t.ptr };
    LLVMValueRef      choose  = g->options->target_count > 1 ? dispatch_function(g) : NULL;
    LLVMTypeRef       type    = LLVMFunctionType(g->t.i32, args, 3, false);
    LLVMValueRef      f       = add_function(g, g->program->name, type);
    LLVMValueRef      rt = LLVMGetParam(f, 0), given = LLVMGetParam(f, 1);
    LLVMBasicBlockRef begin  = LLVMAppendBasicBlockInContext(g->cx, f, "begin"),
                      run    = LLVMAppendBasicBlockInContext(g->cx, f, "run"),
                      refuse = LLVMAppendBasicBlockInContext(g->cx, f, "refuse");
    LLVMPositionBuilderAtEnd(g->b, begin);
    LLVMValueRef used = LLVMBuildAlloca(g->b, LLVMArrayType2(g->t.buffer, (uint64_t)(ports ? ports : 1)), "used");
    if (g->options->is_part)
        share(f);
    LLVMValueRef device = has_kernels(g) ? LLVMBuildAlloca(g->b, g->t.ptr, "call") : NULL;
    if (g->program->host)
        call_host_alone(g, f, type);
    LLVMValueRef status = rt_call(g, has_kernels(g) ? "kn_rt_enter_device" : "kn_rt_enter", g->t.i32, 4,
                                  (LLVMValueRef[]){ rt, g->rt_program, given, used });
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, status, i32_const(g, 0), ""), run, refuse);
    LLVMPositionBuilderAtEnd(g->b, refuse);
    LLVMBuildRet(g->b, status);
    LLVMPositionBuilderAtEnd(g->b, run);
    status = choose           ? call_chosen(g, f, bodies, used, choose)
             : has_kernels(g) ? call_with_device(g, f, bodies[0], used, device)
                              : call_body(g, f, bodies[0], used);
    LLVMBuildRet(g->b,
                 rt_call(g, "kn_rt_leave", g->t.i32, 5, (LLVMValueRef[]){ rt, g->rt_program, given, used, status }));
}

/* The program for each target. */
static LLVMValueRef *make_bodies(Gen *g)
{
    const int     count  = g->options->target_count;
    LLVMValueRef *bodies = gen_alloc(g, (size_t)count * sizeof *bodies);
    for (int i = 0; i < count; i++) {
        const size_t size   = strlen(g->options->targets[i].name) + 2;
        char        *suffix = gen_alloc(g, size);
        if (count > 1)
            snprintf(suffix, size, ".%s", g->options->targets[i].name);
        g->suffix = suffix;
        g->target = &g->options->targets[i];
        bodies[i] = make_body(g, g->first <= i && i < g->last);
    }
    g->target = &g->options->targets[g->first];
    return bodies;
}

void gen_begin(Gen *g)
{
    const uint32_t n  = g->program->exprs->count + 1;
    g->answers        = gen_alloc(g, n * sizeof *g->answers);
    g->seen           = gen_alloc(g, n * sizeof *g->seen);
    g->coordinate     = gen_alloc(g, n * sizeof *g->coordinate);
    g->scope_capacity = 64;
    g->scopes         = gen_alloc(g, (size_t)g->scope_capacity * sizeof *g->scopes);
    make_types(g);
    make_alias_scopes(g);
}

void gen_module(Gen *g)
{
    dispatch_check(g);
    gen_begin(g);
    g->rt_program = g->first == 0 ? make_rt_program(g) : declare_rt_program(g);
    if (!is_whole(g))
        share(g->rt_program);
    LLVMValueRef *bodies = make_bodies(g);
    if (g->first == 0)
        make_entry(g, bodies);
}
