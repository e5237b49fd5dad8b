/* SPDX-License-Identifier: MIT */
/* Expressions: each gets its shape and the scope it is computed in; operators see scalars or lanes only. */
#include "ir/coordinates.h"
#include "codegen/llvm/llvm.h"

#include <math.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LLVMValueRef gen_uniform(Gen *g, const Expr *e)
{
    const ShapedValue v = gen_expr(g, e);
    if (v.shape != UNIFORM)
        gen_fail(g, "a size, a bound or an argument of a stage differs from lane to lane of a vector loop");
    return v.v;
}

/* ---- Coordinates (codegen/coordinates.h) ------------------------------------------------- */

/* Also the shift of a coordinate. */
static bool makes_coordinate(const Expr *e)
{
    return is_coordinate_op(e) || e->op == EX_SHR;
}

/* What a value is made of. Lowering gives names to coordinates and boxes alone, and has checked that none of them
 * wraps, whatever is done with parameters in them. */
typedef enum Made { MADE_NOT_KNOWN, MADE_OF_DATA, MADE_WITH_PARAMS, MADE_OF_COORDINATES } Made;

static bool is_index_type(const Expr *e)
{
    return e->type == KN_I32 || e->type == KN_I64;
}

static Made made_of(Gen *g, const Expr *e)
{
    if (e->op == EX_LOAD || e->op == EX_EXTERN || e->op == EX_CALL)
        return e->op == EX_LOAD && e->u.buffer->coordinates ? MADE_OF_COORDINATES : MADE_OF_DATA;
    if (e->op == EX_VAR) {
        const NameBinding *b = binding_find(g, e->u.name);
        return is_index_type(e) && (!b || b->coordinate) ? MADE_OF_COORDINATES : MADE_OF_DATA;
    }
    uint8_t *known = &g->coordinate[e->id];
    if (*known == MADE_NOT_KNOWN) {
        Made made = is_index_type(e) && makes_coordinate(e) ? MADE_OF_COORDINATES : MADE_WITH_PARAMS;
        for (uint32_t i = e->op == EX_SELECT; made != MADE_OF_DATA && i < e->count && !is_clamped_entry(e);
             i++) { /* one of two is what they are, whatever decides */
            const Made part = made_of(g, e->args[i]);
            made            = part < made ? part : made;
        }
        *known = (uint8_t)made;
    }
    return (Made)*known;
}

bool is_coordinate(Gen *g, const Expr *e)
{
    return is_index_type(e) && made_of(g, e) == MADE_OF_COORDINATES;
}

bool is_named_coordinate(Gen *g, const Expr *e)
{
    return is_index_type(e) && made_of(g, e) >= MADE_WITH_PARAMS;
}

/* Is it a coordinate of which no part wraps? In an index none does, lowering has seen to that; in a value of the
 * program any may. */
static bool never_wraps(Gen *g, const Expr *e)
{
    int nodes = 100;
    return is_coordinate(g, e) && coordinate_magnitude(e, &nodes) < 0x1p31;
}

/* ---- Leaves ---- */

static ShapedValue gen_int(Gen *g, const Expr *e)
{
    return value_constant(g, LLVMConstInt(value_type(g, e->type, 0), (uint64_t)e->u.i, true));
}

static ShapedValue gen_float(Gen *g, const Expr *e)
{
    if (type_bits(e->type) > 16)
        return value_constant(g, LLVMConstReal(value_type(g, e->type, 0), e->u.f));
    uint16_t bits;
    type_store_float(e->type, &bits, e->u.f);
    return value_constant(g, LLVMConstInt(g->t.i16, bits, false));
}

/* A field of the port's kn_buffer, read where the function begins. */
static ShapedValue port_field(Gen *g, const Buffer *b, int dim, int field, kn_type type)
{
    at_level(g, g->f->base);
    LLVMValueRef at = port_field_address(g, b, dim, field);
    LLVMValueRef v  = LLVMBuildLoad2(g->b, value_type(g, type, 0), at, b->name);
    LLVMSetMetadata(v, g->kind_invariant, LLVMMetadataAsValue(g->cx, g->empty));
    return value_constant(g, v);
}

/* How many elements from the first to the last of a port: 1 + sum of (extent - 1) * |stride|; 0 if it is empty. */
ShapedValue port_count_of(Gen *g, const Buffer *b)
{
    LLVMValueRef count = i64_const(g, 1), empty = LLVMConstInt(g->t.i1, 0, false);
    for (int d = 0; d < b->rank; d++) {
        LLVMValueRef extent = port_field(g, b, d, DIM_FIELD_EXTENT, KN_I32).v,
                     stride = port_field(g, b, d, DIM_FIELD_STRIDE, KN_I64).v;
        at_level(g, g->f->base);
        LLVMValueRef last = LLVMBuildSub(g->b, LLVMBuildSExt(g->b, extent, g->t.i64, ""), i64_const(g, 1), "");
        stride            = intrinsic2(g, "llvm.smax", stride, LLVMBuildNeg(g->b, stride, ""));
        count             = LLVMBuildAdd(g->b, count, LLVMBuildMul(g->b, last, stride, ""), "");
        empty             = LLVMBuildOr(g->b, empty, LLVMBuildICmp(g->b, LLVMIntSLE, extent, i32_const(g, 0), ""), "");
    }
    return value_constant(g, LLVMBuildSelect(g->b, empty, i64_const(g, 0), count, ""));
}

/* B.min.D, B.extent.D, B.stride.D and B.count of a port. */
static ShapedValue gen_port_variable(Gen *g, const char *name)
{
    static const struct {
        const char *text;
        int         field;
        kn_type     type;
    } fields[] = {
        { "min.", DIM_FIELD_MIN, KN_I32 },
        { "extent.", DIM_FIELD_EXTENT, KN_I32 },
        { "stride.", DIM_FIELD_STRIDE, KN_I64 },
    };
    for (int i = 0; i < g->program->port_count; i++) {
        const Buffer *b = g->program->buffers.at[i];
        const size_t  n = strlen(b->name);
        if (strncmp(name, b->name, n) || name[n] != '.')
            continue;
        const char *rest = name + n + 1;
        if (!strcmp(rest, "count"))
            return bind(g, name, port_count_of(g, b), true)->value;
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
            const size_t m   = strlen(fields[k].text);
            const int    dim = atoi(rest + (strlen(rest) > m ? m : 0));
            if (!strncmp(rest, fields[k].text, m) && dim >= 0 && dim < b->rank)
                return bind(g, name, port_field(g, b, dim, fields[k].field, fields[k].type), true)->value;
        }
    }
    gen_fail(g, "the lowered program uses `%s`, which nothing binds", name);
}

static ShapedValue gen_variable(Gen *g, const Expr *e)
{
    const NameBinding *b = binding_find(g, e->u.name);
    return b ? b->value : gen_port_variable(g, e->u.name);
}

/* Parameter i lies at byte 8*i, as its type lies in memory. */
static ShapedValue gen_param(Gen *g, const Expr *e)
{
    size_t i = 0;
    while (i < g->program->params.count && g->program->params.at[i] != e->u.param)
        i++;
    if (i == g->program->params.count)
        gen_fail(g, "the lowered program uses a parameter that is not one of its own");
    if (g->f->arguments)
        return value_constant(g, g->f->arguments[i]);
    at_level(g, g->f->base);
    LLVMValueRef offset = i64_const(g, 8 * (int64_t)i);
    LLVMValueRef at     = LLVMBuildInBoundsGEP2(g->b, g->t.i8, g->f->params, &offset, 1, "");
    LLVMValueRef v      = LLVMBuildLoad2(g->b, memory_type(g, e->type), at, e->u.param->name);
    LLVMSetAlignment(v, 1);
    return value_constant(g, from_memory(g, v, e->type));
}

/* ---- Calls of C, lane by lane ---- */

/* The value of one lane. */
static LLVMValueRef lane_of(Gen *g, ShapedValue v, int lane)
{
    if (v.shape == UNIFORM)
        return v.v;
    return LLVMBuildExtractElement(g->b, value_lanes(g, v, g->lanes), i32_const(g, lane), "");
}

/* Integers narrower than a register are passed extended, as C does. */
static void extend_attribute(Gen *g, LLVMValueRef f, unsigned index, kn_type t)
{
    if (type_is_float(t) || type_bits(t) >= 32)
        return;
    const char    *name = type_is_signed(t) ? "signext" : "zeroext";
    const unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(f, index, LLVMCreateEnumAttribute(g->cx, kind, 0));
}

static LLVMValueRef call_extern(Gen *g, const Expr *e, LLVMValueRef *args)
{
    LLVMTypeRef *types = gen_alloc(g, e->count * sizeof *types);
    for (uint32_t i = 0; i < e->count; i++) {
        types[i] = memory_type(g, e->args[i]->type);
        args[i]  = to_memory(g, args[i], e->args[i]->type);
    }
    LLVMTypeRef  type  = LLVMFunctionType(memory_type(g, e->type), types, e->count, false);
    const bool   known = LLVMGetNamedFunction(g->module, e->u.name);
    LLVMValueRef f     = extern_function(g, e->u.name, type);
    for (uint32_t i = 0; !known && i < e->count; i++)
        extend_attribute(g, f, i + 1, e->args[i]->type);
    if (!known)
        extend_attribute(g, f, LLVMAttributeReturnIndex, e->type);
    return from_memory(g, LLVMBuildCall2(g->b, type, f, args, e->count, ""), e->type);
}

/* The C function with the operands of each lane, here: where the call stands in the text. */
static ShapedValue gen_extern(Gen *g, const Expr *e)
{
    if (g->kernel)
        gen_fail(g, "the C function `%s` cannot be called on a device: compute what calls it on the host", e->u.name);
    ShapedValue   r    = value_constant(g, NULL);
    ShapedValue  *args = gen_alloc(g, e->count * sizeof *args);
    LLVMValueRef *one  = gen_alloc(g, e->count * sizeof(LLVMValueRef));
    for (uint32_t i = 0; i < e->count; i++) {
        args[i] = gen_expr(g, e->args[i]);
        if (args[i].shape != UNIFORM) {
            r.shape   = LANES;
            args[i].v = value_lanes(g, args[i], g->lanes), args[i].shape = LANES;
        }
        r = value_merge(r, &args[i]);
    }
    here(g);
    r.level = r.named = g->depth;
    for (int lane = 0; lane < (r.shape == LANES ? g->lanes : 1); lane++) {
        for (uint32_t i = 0; i < e->count; i++)
            one[i] = lane_of(g, args[i], lane);
        LLVMValueRef v = call_extern(g, e, one);
        if (r.shape == LANES) {
            if (!r.v)
                r.v = LLVMGetPoison(value_type(g, e->type, g->lanes));
            v = LLVMBuildInsertElement(g->b, r.v, v, i32_const(g, lane), "");
        }
        r.v = v;
    }
    return r;
}

/* ---- Ramps ---- */

/* Sums, differences and multiples of ramps, and coordinates made 64 bits wide: still ramps. False: it has to be
 * lanes. */
static bool gen_ramp(Gen *g, const Expr *e, const ShapedValue *args, ShapedValue *r)
{
    const ShapedValue *a = &args[0], *b = &args[1];
    if ((e->type != KN_I32 && e->type != KN_I64) || a->shape == LANES || (e->count > 1 && b->shape == LANES))
        return false;
    const uint64_t as = (uint64_t)(a->shape == RAMP ? a->step : 0),
                   bs = (uint64_t)(e->count > 1 && b->shape == RAMP ? b->step : 0);
    int64_t factor;
    at_level(g, r->level);
    switch (e->op) {
    case EX_ADD:
        r->v    = LLVMBuildAdd(g->b, a->v, b->v, "");
        r->step = (int64_t)(as + bs);
        break;
    case EX_SUB:
        r->v    = LLVMBuildSub(g->b, a->v, b->v, "");
        r->step = (int64_t)(as - bs);
        break;
    case EX_NEG:
        r->v    = LLVMBuildNeg(g->b, a->v, "");
        r->step = (int64_t)(0 - as);
        break;
    case EX_MUL:
        if (!expr_is_int(e->args[1], &factor) && !expr_is_int(e->args[0], &factor))
            return false;
        r->v    = LLVMBuildMul(g->b, a->v, b->v, "");
        r->step = (int64_t)((as + bs) * (uint64_t)factor);
        break;
    case EX_CAST:
        if (e->args[0]->type == e->type)
            r->v = a->v;
        else if (e->type == KN_I64 && e->args[0]->type == KN_I32 && never_wraps(g, e->args[0]))
            r->v = LLVMBuildSExt(g->b, a->v, g->t.i64, "");
        else
            return false;
        r->step = (int64_t)as;
        break;
    default: return false;
    }
    r->step  = type_wrap(e->type, r->step);
    r->shape = r->step ? RAMP : UNIFORM;
    return true;
}

/* ---- Operators ---- */

/* A multiple of what a loop counts. False: it is none. */
static bool gen_counted(Gen *g, const Expr *e, ShapedValue *r)
{
    int64_t factor;
    if (e->op != EX_MUL || e->args[0]->op != EX_VAR || !expr_is_int(e->args[1], &factor))
        return false;
    const NameBinding *b = binding_find(g, e->args[0]->u.name);
    if (!b || !b->scaled || factor % b->scale)
        return false;
    *r = b->value;
    at_level(g, r->level);
    LLVMTypeRef type = value_type(g, e->type, 0);
    r->v             = LLVMBuildMul(g->b, e->type == KN_I64 ? b->scaled : LLVMBuildTrunc(g->b, b->scaled, type, ""),
                                    int_like(type, factor / b->scale), "");
    return true;
}

static ShapedValue gen_operator(Gen *g, const Expr *e)
{
    Operator *build = operator_table[e->op];
    if (!build || e->count > 3)
        gen_fail(g, "the backend does not know the operator `%s`", expr_op_table[e->op].name);
    ShapedValue args[3];
    ShapedValue r     = value_constant(g, NULL);
    bool        ramps = false;
    if (gen_counted(g, e, &r) || gen_pattern(g, e, &r))
        return r;
    for (uint32_t i = 0; i < e->count; i++) {
        args[i] = gen_expr(g, e->args[i]);
        r       = value_merge(r, &args[i]);
        if (args[i].shape != UNIFORM)
            r.shape = LANES;
        ramps |= args[i].shape == RAMP;
    }
    if (ramps && gen_ramp(g, e, args, &r))
        return r;
    LLVMValueRef v[3];
    for (uint32_t i = 0; i < e->count; i++)
        v[i] = r.shape == UNIFORM || (e->op == EX_SELECT && i == 0 && args[0].shape == UNIFORM)
                   ? args[i].v
                   : value_lanes(g, args[i], g->lanes);
    at_level(g, r.level);
    r.v = build(g, e, v);
    return r;
}

static ShapedValue gen_node(Gen *g, const Expr *e)
{
    switch (e->op) {
    case EX_INT: return gen_int(g, e);
    case EX_FLOAT: return gen_float(g, e);
    case EX_VAR: return gen_variable(g, e);
    case EX_PARAM: return gen_param(g, e);
    case EX_LOAD: return gen_load(g, e);
    case EX_EXTERN: return gen_extern(g, e);
    default: return gen_operator(g, e);
    }
}

void statement_begin(Gen *g)
{
    g->statement++;
    g->strided_count = 0;
    g->gather_count  = 0;
}

ShapedValue gen_expr(Gen *g, const Expr *e)
{
    KnownValue *known = &g->answers[e->id];
    if (known->value.v) {
        const int named = known->value.named;
        if (known->value.pure ? named >= g->f->base && named <= g->depth && g->scopes[named].serial == known->serial
                              : known->serial == g->statement)
            return known->value;
    }
    const ShapedValue v = gen_node(g, e);
    *known              = (KnownValue){ .value = v, .serial = v.pure ? g->scopes[v.named].serial : g->statement };
    return v;
}
