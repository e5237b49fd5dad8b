/* Expressions that are one instruction, where LLVM does not see it by itself.
 *
 * sat_T(a + b) and sat_T(a - b), with a and b of type T made wider first: the saturating sum or difference of T. Holds where the wider type holds every sum; a difference of
 * unsigned numbers may be negative, so it wants a signed one. */
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
