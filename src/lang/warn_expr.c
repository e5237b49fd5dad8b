/* SPDX-License-Identifier: MIT */
/* Warnings about expressions, found during elaboration: quotients of sums that may have wrapped, and comparisons whose
 * result follows from the types. */
#include "ir/simplify.h"
#include "lang/elab.h"

typedef __int128 Wide;

typedef struct ValueRange {
    Wide lo, hi;
} ValueRange;

/* ---- Quotients -------------------------------------------------------------------------- */

enum { NARROW_BITS = 8, MOST_NODES = 1000 };

/* A function that adds up what it reads. */
static bool is_reduction(const Expr *e)
{
    const Func *f = e->op == EX_CALL ? e->u.call.func : NULL;
    return f && f->update_count == 1 && f->updates[0].rvar_count && f->updates[0].values[0]->op == EX_ADD;
}

static bool product(ValueRange a, ValueRange b, ValueRange *out)
{
    const Wide c[] = { a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi };
    *out           = (ValueRange){ c[0], c[0] };
    for (int i = 1; i < 4; i++) {
        out->lo = c[i] < out->lo ? c[i] : out->lo;
        out->hi = c[i] > out->hi ? c[i] : out->hi;
    }
    return out->hi < (Wide)1 << 60 && out->lo > -((Wide)1 << 60);
}

/* The numbers that a sum, difference or product would be without wrapping. false: not known. */
static bool exact_range(const Expr *e, int *nodes, ValueRange *out)
{
    ValueRange a, b;
    int64_t    v;
    if (--*nodes < 0)
        return false;
    if (expr_is_int(e, &v)) {
        *out = (ValueRange){ v, v };
        return true;
    }
    if (e->op != EX_ADD && e->op != EX_SUB && e->op != EX_MUL) {
        const kn_type t = e->op == EX_CAST && e->args[0]->type == KN_BOOL ? KN_BOOL : (kn_type)e->type;
        *out            = (ValueRange){ type_min(t), type_max(t) };
        return true;
    }
    if (!exact_range(e->args[0], nodes, &a) || !exact_range(e->args[1], nodes, &b))
        return false;
    if (e->op == EX_MUL)
        return product(a, b, out);
    *out = e->op == EX_ADD ? (ValueRange){ a.lo + b.lo, a.hi + b.hi } : (ValueRange){ a.lo - b.hi, a.hi - b.lo };
    return true;
}

/* What 8 bits are widened to. */
static const char *wider(kn_type t)
{
    return type_table[type_is_signed(t) ? KN_I16 : KN_U16].name;
}

static void warn_sum(Elab *el, const Expr *e, Loc loc)
{
    const kn_type    t     = (kn_type)e->type;
    const ValueRange fits  = { type_min(t), type_max(t) };
    int              nodes = MOST_NODES;
    ValueRange       exact;
    if (!exact_range(e, &nodes, &exact) || (exact.lo >= fits.lo && exact.hi <= fits.hi))
        return;
    diag_warning(el->cx, WARN_NARROW_SUM, loc,
                 arena_printf(el->arena, "convert the operands first, %s(…), and the result back%s",
                              e->op == EX_SUB ? "i16" : wider(t),
                              e->op == EX_ADD ? "; of two numbers avg_down(a, b) is the mean" : ""),
                 "this wraps before it is divided: it can be %lld..%lld, and %s holds %lld..%lld", (long long)exact.lo,
                 (long long)exact.hi, type_table[t].name, (long long)fits.lo, (long long)fits.hi);
}

/* Only 8-bit types: pixels use their whole range. Nothing is assumed of wider types, which are what one widens to. */
void warn_dividend(Elab *el, ElabValue v, Loc loc)
{
    const Expr *e = v.kind == VAL_EXPR && loc.source ? v.expr : NULL;
    if (!e || el->in_formula || !type_is_int((kn_type)e->type) || type_bits((kn_type)e->type) > NARROW_BITS)
        return;
    if (e->op == EX_ADD || e->op == EX_SUB || e->op == EX_MUL)
        warn_sum(el, e, loc);
    else if (is_reduction(e))
        diag_warning(el->cx, WARN_NARROW_SUM, loc,
                     arena_printf(el->arena, "convert what is added: sum(%s(…) for …)", wider((kn_type)e->type)),
                     "this wraps before it is divided: it is added up in %s", type_table[e->type].name);
}

/* ---- Comparisons ------------------------------------------------------------------------ */

static bool is_comparison(const Expr *e)
{
    return e->op == EX_LT || e->op == EX_LE || e->op == EX_EQ || e->op == EX_NE;
}

/* Is it made of data and constants, and does it read data (*reads)? Coordinates and sizes have no range by their type.
 */
static bool is_data(const Expr *e, int *nodes, bool *reads)
{
    *reads |= e->op == EX_CALL;
    if (--*nodes < 0 || !type_is_int((kn_type)e->type))
        return false;
    if (e->op == EX_VAR || e->op == EX_DIM_MIN || e->op == EX_DIM_EXTENT || e->op == EX_PARAM)
        return false;
    for (uint32_t i = 0; i < e->count && e->op != EX_CALL; i++)
        if (!is_data(e->args[i], nodes, reads))
            return false;
    return true;
}

static ValueRange range_of(Elab *el, const Expr *e)
{
    int64_t lo, hi;
    el->simplifier = el->simplifier ? el->simplifier : simplifier_new(el->pool, el->arena);
    simplifier_bounds(el->simplifier, e, &lo, &hi);
    return (ValueRange){ lo, e->type == KN_U64 && hi == INT64_MAX ? (Wide)UINT64_MAX : hi };
}

/* "0..255", or "300". */
static const char *range_text(Elab *el, ValueRange s)
{
    if (s.lo == s.hi)
        return arena_printf(el->arena, "%lld", (long long)s.lo);
    return arena_printf(el->arena, s.hi > INT64_MAX ? "%lld..%llu" : "%lld..%lld", (long long)s.lo, (long long)s.hi);
}

/* 1: it always holds, 0: never, -1: it depends. */
static int decide(ExprOp op, ValueRange a, ValueRange b)
{
    const bool apart = a.hi < b.lo || b.hi < a.lo, same = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
    switch (op) {
    case EX_LT: return a.hi < b.lo ? 1 : a.lo >= b.hi ? 0 : -1;
    case EX_LE: return a.hi <= b.lo ? 1 : a.lo > b.hi ? 0 : -1;
    case EX_EQ: return apart ? 0 : same ? 1 : -1;
    case EX_NE: return apart ? 1 : same ? 0 : -1;
    default: return -1;
    }
}

void warn_comparison(Elab *el, const Env *env, ElabValue v, Loc loc)
{
    const Expr *e     = v.kind == VAL_EXPR ? v.expr : NULL;
    int         nodes = MOST_NODES;
    bool        reads = false;
    if (!e || !is_comparison(e) || el->in_formula || el->generic || !loc.source || env_scope(env) != el->global)
        return;
    if (!is_data(e->args[0], &nodes, &reads) || !is_data(e->args[1], &nodes, &reads) || !reads)
        return;
    const ValueRange a = range_of(el, e->args[0]), b = range_of(el, e->args[1]);
    const int        holds = decide((ExprOp)e->op, a, b);
    if (holds >= 0)
        diag_warning(el->cx, WARN_NEVER_TRUE, loc,
                     "leave the condition out, or convert to a wider type before the arithmetic that it is about",
                     "this %s holds: the one side is %s, the other %s", holds ? "always" : "never", range_text(el, a),
                     range_text(el, b));
}
