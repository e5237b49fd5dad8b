/* Expressions that are one instruction, where LLVM does not see it by itself.
 *
 * sat_T(a + b) and sat_T(a - b), with a and b of type T made wider first: the saturating sum or difference of T. Holds
 * where the wider type holds every sum; a difference of unsigned numbers may be negative, so it wants a signed one.
 *
 * On x86, of words made 32 bits wide first: T(a * b >> s) for s >= 16, from the upper halves of the products, which
 * LLVM computes in 32 bits if one operand is constant; and i16(a * b + 2^14 >> 15). The rounding average of unsigned
 * bytes and words: written in other operators it is torn apart where it stands in a choice or a sum. */
#include "codegen/llvm/llvm.h"

/* ---- Instructions of x86, for vectors of any power of two of lanes that fill a register ---- */

typedef enum X86Binary {
    X86_AVERAGE_BYTES,
    X86_AVERAGE_WORDS,
    X86_MUL_UNSIGNED,
    X86_MUL_SIGNED,
    X86_MUL_ROUND
} X86Binary;

/* clang-format off */
static const struct { int bits; const char *names[5]; } x86_table[] = {
    { 512, { "llvm.x86.avx512.pavg.b.512", "llvm.x86.avx512.pavg.w.512", "llvm.x86.avx512.pmulhu.w.512",
      "llvm.x86.avx512.pmulh.w.512", "llvm.x86.avx512.pmul.hr.sw.512" } },
    { 256, { "llvm.x86.avx2.pavg.b", "llvm.x86.avx2.pavg.w", "llvm.x86.avx2.pmulhu.w", "llvm.x86.avx2.pmulh.w",
      "llvm.x86.avx2.pmul.hr.sw" } },
    { 128, { "llvm.x86.sse2.pavg.b", "llvm.x86.sse2.pavg.w", "llvm.x86.sse2.pmulhu.w", "llvm.x86.sse2.pmulh.w",
      NULL } },
};
/* clang-format on */

/* Are so many lanes of a type a register of this target, or several? */
static bool x86_can(const Gen *g, kn_type t, int lanes)
{
    const int bits = lanes * type_bits(t);
    return bits >= 128 && !(bits & (bits - 1)) && target_word_bits(g->target) >= 128;
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

/* Where x86_can(). */
static LLVMValueRef x86_binary(Gen *g, X86Binary op, kn_type t, LLVMValueRef a, LLVMValueRef b)
{
    const int lanes = (int)LLVMGetVectorSize(LLVMTypeOf(a)), half = lanes / 2;
    const int bits = lanes * type_bits(t);
    if (bits > target_word_bits(g->target))
        return joined(g, x86_binary(g, op, t, piece(g, a, 0, half), piece(g, b, 0, half)),
                      x86_binary(g, op, t, piece(g, a, half, half), piece(g, b, half, half)));
    const int row = bits == 512 ? 0 : bits == 256 ? 1 : 2;
    return intrinsic(g, x86_table[row].names[op], 0, NULL, 2, (LLVMValueRef[]){ a, b });
}

/* a * b >> s of words, 16 <= s < 32. */
static LLVMValueRef x86_upper_product(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b, int s)
{
    LLVMValueRef high = x86_binary(g, t == KN_I16 ? X86_MUL_SIGNED : X86_MUL_UNSIGNED, t, a, b),
                 by   = int_like(LLVMTypeOf(a), s - 16);
    return s == 16 ? high : t == KN_I16 ? LLVMBuildAShr(g->b, high, by, "") : LLVMBuildLShr(g->b, high, by, "");
}

LLVMValueRef average_x86(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b)
{
    const bool lanes = LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMVectorTypeKind;
    return lanes && x86_can(g, t, (int)LLVMGetVectorSize(LLVMTypeOf(a)))
               ? x86_binary(g, t == KN_U8 ? X86_AVERAGE_BYTES : X86_AVERAGE_WORDS, t, a, b)
               : NULL;
}

LLVMValueRef upper_product_x86(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b, int s)
{
    const bool lanes = LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMVectorTypeKind;
    return lanes && s >= 16 && s < 32 && x86_can(g, t, (int)LLVMGetVectorSize(LLVMTypeOf(a)))
               ? x86_upper_product(g, t, a, b, s)
               : NULL;
}

/* ---- Expressions ---- */

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
    return expr_is_int(e, &v) ? value_constant(g, LLVMConstInt(value_type(g, t, 0), (uint64_t)v, true))
                              : gen_expr(g, e);
}

/* The operands in type t, as the shape of the result has them. */
static Value narrow_pair(Gen *g, const Expr *a, const Expr *b, kn_type t, LLVMValueRef v[2])
{
    const Value x = narrow_value(g, a, t), y = narrow_value(g, b, t);
    Value       r   = value_merge(x, &y);
    r.shape         = x.shape == UNIFORM && y.shape == UNIFORM ? UNIFORM : LANES;
    const int lanes = r.shape == LANES ? g->lanes : 0;
    v[0]            = value_lanes(g, x, lanes);
    v[1]            = value_lanes(g, y, lanes);
    at_level(g, r.level);
    return r;
}

static bool saturating_sum(Gen *g, const Expr *e, Value *out)
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
static bool upper_product(Gen *g, const Expr *e, Value *out)
{
    const kn_type t = e->type;
    int64_t       s = 0, half = 0;
    const Expr   *product = (t == KN_I16 || t == KN_U16) && g->lanes ? shifted(e->args[0], &s) : NULL;
    if (!product || product->type != (t == KN_I16 ? KN_I32 : KN_U32))
        return false;
    if (product->op == EX_ADD && expr_is_int(product->args[1], &half))
        product = product->args[0];
    const bool rounded =
        half == 1 << 14 && s == 15 && t == KN_I16 && g->lanes >= 16 && target_word_bits(g->target) >= 256;
    if (product->op != EX_MUL || !(rounded || (!half && s >= 16 && s < 32)))
        return false;
    const Expr *a = narrow_operand(product->args[0], t), *b = narrow_operand(product->args[1], t);
    if (!a || !b || !x86_can(g, t, g->lanes))
        return false;
    LLVMValueRef v[2];
    *out = narrow_pair(g, a, b, t, v);
    if (out->shape != LANES)
        return false;
    out->v = rounded ? x86_binary(g, X86_MUL_ROUND, t, v[0], v[1]) : x86_upper_product(g, t, v[0], v[1], (int)s);
    return true;
}

bool gen_pattern(Gen *g, const Expr *e, Value *out)
{
    return e->op == EX_SAT_CAST ? saturating_sum(g, e, out) : e->op == EX_CAST && upper_product(g, e, out);
}
