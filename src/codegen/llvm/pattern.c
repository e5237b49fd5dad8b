/* SPDX-License-Identifier: MIT */
/* Expressions that are one instruction, where LLVM does not see it by itself.
 *
 * sat_T(a + b) and sat_T(a - b), with a and b of type T made wider first: the saturating sum or difference of T. Holds
 * where the wider type holds every sum; a difference of unsigned numbers may be negative, so it wants a signed one.
 *
 * Of words made 32 bits wide first: T(a * b >> s) for s >= 16 and i16(a * b + 2^14 >> 15), where the architecture has
 * instructions for the upper halves of products. */
#include "codegen/llvm/llvm.h"

/* What a wider operand is in type T: the operand of its cast, or its value; NULL if it is neither. */
static const Expr *narrow_operand(const Expr *e, kn_type t)
{
    int64_t v;
    if (e->op == EX_CAST && e->args[0]->type == t)
        return e->args[0];
    return expr_is_int(e, &v) && v >= type_min(t) && v <= type_max(t) ? e : NULL;
}

static ShapedValue narrow_value(Gen *g, const Expr *e, kn_type t)
{
    int64_t v;
    return expr_is_int(e, &v) ? value_constant(g, LLVMConstInt(value_type(g, t, 0), (uint64_t)v, true))
                              : gen_expr(g, e);
}

/* The operands in type t, as the shape of the result has them. */
static ShapedValue narrow_pair(Gen *g, const Expr *a, const Expr *b, kn_type t, LLVMValueRef v[2])
{
    const ShapedValue x = narrow_value(g, a, t), y = narrow_value(g, b, t);
    ShapedValue       r = value_merge(x, &y);
    r.shape             = x.shape == UNIFORM && y.shape == UNIFORM ? UNIFORM : LANES;
    const int lanes     = r.shape == LANES ? g->lanes : 0;
    v[0]                = value_lanes(g, x, lanes);
    v[1]                = value_lanes(g, y, lanes);
    at_level(g, r.level);
    return r;
}

static bool saturating_sum(Gen *g, const Expr *e, ShapedValue *out)
{
    const kn_type t   = e->type;
    const Expr   *sum = e->args[0];
    if ((sum->op != EX_ADD && sum->op != EX_SUB) || !type_is_int(t) || !type_is_int(sum->type) ||
        type_bits(sum->type) <= type_bits(t))
        return false;
    if (!type_is_signed(sum->type) && (sum->op == EX_SUB || type_is_signed(t)))
        return false;
    const Expr *a = narrow_operand(sum->args[0], t), *b = narrow_operand(sum->args[1], t);
    if (!a || !b)
        return false;
    static const char *const names[2][2] = { { "llvm.uadd.sat", "llvm.sadd.sat" },
                                             { "llvm.usub.sat", "llvm.ssub.sat" } };
    LLVMValueRef             v[2];
    *out   = narrow_pair(g, a, b, t, v);
    out->v = intrinsic2(g, names[sum->op == EX_SUB][type_is_signed(t)], v[0], v[1]);
    return true;
}

/* x >> s, also written x / 2^s: x, or NULL. */
static const Expr *shifted(const Expr *e, int64_t *s)
{
    int64_t d;
    if (e->op == EX_SHR && expr_is_int(e->args[1], s))
        return e->args[0];
    if (e->op != EX_DIV || !expr_is_int(e->args[1], &d) || d < 1 || (d & (d - 1)))
        return NULL;
    for (*s = 0; d > 1; d /= 2)
        ++*s;
    return e->args[0];
}

/* T(product >> s) or i16(product + 2^14 >> 15), the product being that of two numbers of type T, a word, in 32 bits. */
static bool upper_product(Gen *g, const Expr *e, ShapedValue *out)
{
    const kn_type t = e->type;
    int64_t       s = 0, half = 0;
    const Expr   *product = (t == KN_I16 || t == KN_U16) && g->lanes ? shifted(e->args[0], &s) : NULL;
    if (!product || product->type != (t == KN_I16 ? KN_I32 : KN_U32))
        return false;
    if (product->op == EX_ADD && expr_is_int(product->args[1], &half))
        product = product->args[0];
    const bool rounded = half == 1 << 14 && s == 15 && t == KN_I16;
    if (product->op != EX_MUL || !(rounded || (!half && s >= 16 && s < 32)))
        return false;
    const Expr *a = narrow_operand(product->args[0], t), *b = narrow_operand(product->args[1], t);
    if (!a || !b || !arch_can_multiply_high(g, t, g->lanes, rounded))
        return false;
    LLVMValueRef v[2];
    *out = narrow_pair(g, a, b, t, v);
    if (out->shape != LANES)
        return false;
    out->v = arch_multiply_high(g, t, v[0], v[1], (int)s, rounded);
    return true;
}

bool gen_pattern(Gen *g, const Expr *e, ShapedValue *out)
{
    return e->op == EX_SAT_CAST ? saturating_sum(g, e, out) : e->op == EX_CAST && upper_product(g, e, out);
}
