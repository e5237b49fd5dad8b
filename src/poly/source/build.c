/* SPDX-License-Identifier: MIT */
/* Typed expressions: operands are converted as C converts them, each conversion a node.
 *
 * From    ISO C11, 6.3 and 6.5. */
#include "poly/source/parser.h"

#include <inttypes.h>

CExpr *new_expr(Parser *p, CExprKind kind, kn_type type, size_t at)
{
    CExpr *e = ARENA_NEW(p->arena, CExpr);
    e->kind  = kind;
    e->type  = type;
    e->place = p->quiet ? (CPlace){ p->tokens.items.at[0].file, 1, 1 } : place_of(p, at);
    return e;
}

const CExpr *int_expr(Parser *p, kn_type type, int64_t value, size_t at)
{
    const bool wide = type_bits(type) == 64, u = type_bits(type) >= 32 && !type_is_signed(type);
    CExpr     *e = new_expr(p, CEXPR_INT, type, at);
    e->u.i       = value;
    if (u)
        e->text = arena_printf(p->arena, "%" PRIu64 "%s", (uint64_t)value, wide ? "ULL" : "U");
    else if (value == INT64_MIN)
        e->text = "(-9223372036854775807LL - 1)";
    else
        e->text = arena_printf(p->arena, value < 0 ? "(%" PRId64 "%s)" : "%" PRId64 "%s", value, wide ? "LL" : "");
    return e;
}

static const CExpr *node(Parser *p, CExprKind kind, kn_type type, COp op, CPlace place, int count,
                         const CExpr *const *args)
{
    CExpr *e = ARENA_NEW(p->arena, CExpr);
    e->kind  = kind;
    e->type  = type;
    e->op    = op;
    e->count = count;
    e->place = place;
    e->args  = ARENA_ARRAY(p->arena, const CExpr *, (size_t)count);
    for (int i = 0; i < count; i++)
        e->args[i] = args[i];
    return e;
}

const CExpr *convert(Parser *p, const CExpr *e, kn_type to)
{
    if (!e || e->type == to)
        return e;
    return node(p, CEXPR_CAST, to, COP_NONE, e->place, 1, &e);
}

const CExpr *cast_expr(Parser *p, const CExpr *e, kn_type to, const char *text)
{
    if (!e || e->type == to)
        return e;
    CExpr *cast = ARENA_NEW(p->arena, CExpr);
    *cast       = *node(p, CEXPR_CAST, to, COP_NONE, e->place, 1, &e);
    cast->text  = text;
    return cast;
}

static bool is_truth(const CExpr *e)
{
    return (e->kind == CEXPR_BINARY && ((e->op >= COP_LT && e->op <= COP_NE) || e->op == COP_AND || e->op == COP_OR)) ||
           (e->kind == CEXPR_UNARY && e->op == COP_NOT);
}

const CExpr *truth(Parser *p, const CExpr *e)
{
    if (!e || is_truth(e))
        return e;
    CExpr *zero         = ARENA_NEW(p->arena, CExpr);
    zero->kind          = type_is_float(e->type) ? CEXPR_FLOAT : CEXPR_INT;
    zero->type          = type_is_float(e->type) ? e->type : c_promote(e->type);
    zero->text          = e->type == KN_F32 ? "0.0f" : type_is_float(e->type) ? "0.0" : "0";
    zero->place         = e->place;
    const CExpr *args[] = { convert(p, e, c_promote(e->type)), zero };
    return node(p, CEXPR_BINARY, KN_I32, COP_NE, e->place, 2, args);
}

const CExpr *unary_expr(Parser *p, COp op, const CExpr *e, size_t at)
{
    if (!e)
        return NULL;
    if (op == COP_BIT_NOT && type_is_float(e->type))
        return refuse(p, at, NULL, "`~` has no meaning for a float");
    const kn_type type = op == COP_NOT ? KN_I32 : c_promote(e->type);
    e                  = op == COP_NOT ? truth(p, e) : convert(p, e, type);
    return node(p, CEXPR_UNARY, type, op, place_of(p, at), 1, &e);
}

const CExpr *binary_expr(Parser *p, COp op, const CExpr *a, const CExpr *b, size_t at)
{
    if (!a || !b)
        return NULL;
    const bool integers = op == COP_REM || op == COP_SHL || op == COP_SHR || (op >= COP_BIT_AND && op <= COP_BIT_XOR);
    if (integers && (type_is_float(a->type) || type_is_float(b->type)))
        return refuse(p, at, op == COP_REM ? "fmod is the remainder of floats" : NULL,
                      "`%s` has no meaning for a float", p->tokens.items.at[at].text);
    const kn_type common = c_arithmetic(a->type, b->type);
    kn_type       type   = common;
    if (op == COP_AND || op == COP_OR) {
        type = KN_I32;
        a    = truth(p, a);
        b    = truth(p, b);
    } else if (op == COP_SHL || op == COP_SHR) {
        type = c_promote(a->type);
        a    = convert(p, a, type);
        b    = convert(p, b, c_promote(b->type));
    } else {
        type = op >= COP_LT && op <= COP_NE ? KN_I32 : common;
        a    = convert(p, a, common);
        b    = convert(p, b, common);
    }
    const CExpr *args[] = { a, b };
    return node(p, CEXPR_BINARY, type, op, place_of(p, at), 2, args);
}

const CExpr *choice_expr(Parser *p, const CExpr *c, const CExpr *a, const CExpr *b, size_t at)
{
    if (!c || !a || !b)
        return NULL;
    const kn_type type   = c_arithmetic(a->type, b->type);
    const CExpr  *args[] = { truth(p, c), convert(p, a, type), convert(p, b, type) };
    return node(p, CEXPR_CHOICE, type, COP_NONE, place_of(p, at), 3, args);
}

/* ---- Constants ---- */

static bool fold_binary(COp op, kn_type type, kn_type operands, int64_t a, int64_t b, int64_t *value)
{
    const bool     s = type_is_signed(operands);
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;
    uint64_t       r = 0;
    switch (op) {
    case COP_ADD: r = x + y; break;
    case COP_SUB: r = x - y; break;
    case COP_MUL: r = x * y; break;
    case COP_DIV:
    case COP_REM:
        if (b == 0 || (s && b == -1))
            return false;
        r = op == COP_DIV ? (s ? (uint64_t)(a / b) : x / y) : (s ? (uint64_t)(a % b) : x % y);
        break;
    case COP_SHL:
    case COP_SHR:
        if (b < 0 || b >= type_bits(type))
            return false;
        r = op == COP_SHL ? x << y : (type_is_signed(type) ? (uint64_t)(a >> b) : x >> y);
        break;
    case COP_BIT_AND: r = x & y; break;
    case COP_BIT_OR: r = x | y; break;
    case COP_BIT_XOR: r = x ^ y; break;
    case COP_LT: r = s ? a < b : x < y; break;
    case COP_LE: r = s ? a <= b : x <= y; break;
    case COP_GT: r = s ? a > b : x > y; break;
    case COP_GE: r = s ? a >= b : x >= y; break;
    case COP_EQ: r = a == b; break;
    case COP_NE: r = a != b; break;
    default: return false;
    }
    *value = type_wrap(type, (int64_t)r);
    return true;
}

bool constant_value(const CExpr *e, int64_t *value)
{
    int64_t a = 0, b = 0;
    if (!c_is_integer(e->type))
        return false;
    switch (e->kind) {
    case CEXPR_INT: *value = e->u.i; return true;
    case CEXPR_CAST:
        if (!constant_value(e->args[0], &a))
            return false;
        *value = e->type == KN_BOOL ? a != 0 : type_wrap(e->type, a);
        return true;
    case CEXPR_UNARY:
        if (!constant_value(e->args[0], &a))
            return false;
        *value = e->op == COP_NOT       ? a == 0
                 : e->op == COP_BIT_NOT ? type_wrap(e->type, ~a)
                                        : type_wrap(e->type, (int64_t)(0 - (uint64_t)a));
        return true;
    case CEXPR_BINARY:
        if (!constant_value(e->args[0], &a))
            return false;
        if (e->op == COP_AND || e->op == COP_OR) {
            if ((a != 0) == (e->op == COP_OR))
                b = a;
            else if (!constant_value(e->args[1], &b))
                return false;
            *value = b != 0;
            return true;
        }
        return constant_value(e->args[1], &b) && fold_binary(e->op, e->type, e->args[0]->type, a, b, value);
    case CEXPR_CHOICE: return constant_value(e->args[0], &a) && constant_value(e->args[a ? 1 : 2], value);
    default: return false;
    }
}
