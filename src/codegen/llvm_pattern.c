/* Expressions that are one instruction, where LLVM does not see it by itself.
 *
 * sat_T(a + b) and sat_T(a - b), with a and b of type T made wider first: the saturating sum or difference of T. Holds where the wider type holds every sum; a difference of
 * unsigned numbers may be negative, so it wants a signed one.
 *
 * The rounding average of unsigned bytes and words, on x86: written in other operators it is torn apart by LLVM where it stands in a choice or a sum. */
#include "codegen/llvm.h"

/* What a wider operand is in type T: the operand of its cast, or its value; NULL if it is neither. */
static const Expr *narrow_operand(const Expr *e, kn_type t)
{
    int64_t v;
    if (e->op == EX_CAST && e->args[0]->type == t)
        return e->args[0];
    return expr_is_int(e, &v) && v >= type_min(t) && v <= type_max(t) ? e : NULL;
}

static Value narrow_value(Gen *g, const Expr *e, kn_type t)
{
    int64_t v;
    return expr_is_int(e, &v) ? value_constant(g, LLVMConstInt(value_type(g, t, 0), (uint64_t)v, true)) : gen_expr(g, e);
}

bool gen_pattern(Gen *g, const Expr *e, Value *out)
{
    const kn_type t = e->type;
    const Expr   *sum = e->op == EX_SAT_CAST ? e->args[0] : NULL;
    if (!sum || (sum->op != EX_ADD && sum->op != EX_SUB) || !type_is_int(t) || !type_is_int(sum->type) || type_bits(sum->type) <= type_bits(t))
        return false;
    if (!type_is_signed(sum->type) && (sum->op == EX_SUB || type_is_signed(t)))
        return false;
    const Expr *a = narrow_operand(sum->args[0], t), *b = narrow_operand(sum->args[1], t);
    if (!a || !b)
        return false;
    const Value x = narrow_value(g, a, t), y = narrow_value(g, b, t);
    *out       = value_merge(x, &y);
    out->shape = x.shape == UNIFORM && y.shape == UNIFORM ? UNIFORM : LANES;
    const int    lanes = out->shape == LANES ? g->lanes : 0;
    LLVMValueRef v[2]  = { value_lanes(g, x, lanes), value_lanes(g, y, lanes) };
    static const char *const names[2][2] = { { "llvm.uadd.sat", "llvm.sadd.sat" }, { "llvm.usub.sat", "llvm.ssub.sat" } };
    at_level(g, out->level);
    out->v = intrinsic2(g, names[sum->op == EX_SUB][type_is_signed(t)], v[0], v[1]);
    return true;
}

/* Lanes from..from+count-1 of v. */
static LLVMValueRef piece(Gen *g, LLVMValueRef v, int from, int count)
{
    LLVMValueRef places[MOST_LANES];
    for (int i = 0; i < count; i++)
        places[i] = i32_const(g, from + i);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(places, (unsigned)count), "");
}

/* Two vectors of as many lanes as one. */
static LLVMValueRef joined(Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef   places[MOST_LANES];
    const unsigned count = LLVMGetVectorSize(LLVMTypeOf(a));
    for (unsigned i = 0; i < 2 * count; i++)
        places[i] = i32_const(g, i);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(places, 2 * count), "");
}

LLVMValueRef average_x86(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b)
{
    static const struct { int bits; const char *names[2]; } rows[] = {
        { 512, { "llvm.x86.avx512.pavg.b.512", "llvm.x86.avx512.pavg.w.512" } },
        { 256, { "llvm.x86.avx2.pavg.b", "llvm.x86.avx2.pavg.w" } },
        { 128, { "llvm.x86.sse2.pavg.b", "llvm.x86.sse2.pavg.w" } },
    };
    LLVMTypeRef type  = LLVMTypeOf(a);
    const int   lanes = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(type) : 0;
    const int   bits  = lanes * type_bits(t), most = target_word_bits(g->target);
    if (bits < 128 || (bits & (bits - 1)))
        return NULL;
    if (most >= 128 && bits > most)
        return joined(g, average_x86(g, t, piece(g, a, 0, lanes / 2), piece(g, b, 0, lanes / 2)),
                      average_x86(g, t, piece(g, a, lanes / 2, lanes / 2), piece(g, b, lanes / 2, lanes / 2)));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].bits == bits && bits <= most)
            return intrinsic(g, rows[i].names[t == KN_U16], 0, NULL, 2, (LLVMValueRef[]){ a, b });
    return NULL;
}
