/* Expressions as text of the language. Constants carry their type where the text alone would not say it. */
#include "ir/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How tightly an operator's text binds; 0: it is written as a call or an atom. */
static int binding(const Expr *e)
{
    switch ((ExprOp)e->op) {
    case EX_SELECT: return 1;
    case EX_OR: return 2;
    case EX_AND: return 3;
    case EX_EQ:
    case EX_NE: return 4;
    case EX_LT:
    case EX_LE: return 5;
    case EX_BIT_OR: return 6;
    case EX_BIT_XOR: return 7;
    case EX_BIT_AND: return 8;
    case EX_SHL:
    case EX_SHR: return 9;
    case EX_ADD:
    case EX_SUB: return 10;
    case EX_MUL:
    case EX_DIV:
    case EX_MOD: return 11;
    case EX_NEG:
    case EX_BIT_NOT: return 12;
    default: return 0;
    }
}

/* A printed expression is for people: a shared part is printed each time it is used, and a long one is cut. */
enum { MOST_TEXT = 4000 };

static void print(Text *out, const Expr *e, int context);

static void print_args(Text *out, const Expr *e)
{
    text_add(out, "(");
    for (uint32_t i = 0; i < e->count; i++) {
        text_add(out, i ? ", " : "");
        print(out, e->args[i], 0);
    }
    text_add(out, ")");
}

static void print_float(Text *out, const Expr *e)
{
    const double v = e->u.f;
    char         digits[64];
    if (isnan(v) || isinf(v)) {
        text_printf(out, "%s(%s)", type_table[e->type].name, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    int precision = 1;
    do
        snprintf(digits, sizeof digits, "%.*g", precision, v);
    while (type_round((kn_type)e->type, strtod(digits, NULL)) != v && ++precision <= 17);
    const char *dot = strpbrk(digits, ".e") ? "" : ".0";
    if (e->type == KN_F32)
        text_printf(out, "%s%s", digits, dot);
    else
        text_printf(out, "%s(%s%s)", type_table[e->type].name, digits, dot);
}

static void print_int(Text *out, const Expr *e)
{
    if (e->type == KN_BOOL)
        text_add(out, e->u.i ? "true" : "false");
    else if (e->type == KN_I32)
        text_printf(out, "%" PRId64, e->u.i);
    else if (e->type == KN_U64)
        text_printf(out, "u64(%" PRIu64 ")", (uint64_t)e->u.i);
    else
        text_printf(out, "%s(%" PRId64 ")", type_table[e->type].name, e->u.i);
}

static void print_operator(Text *out, const Expr *e, int b)
{
    if (e->op == EX_SELECT) {
        text_add(out, "if ");
        print(out, e->args[0], 0);
        text_add(out, " then ");
        print(out, e->args[1], 0);
        text_add(out, " else ");
        print(out, e->args[2], 1);
    } else if (e->count == 1) {
        text_add(out, e->op == EX_BIT_NOT && e->type == KN_BOOL ? "!" : expr_op_table[e->op].text);
        print(out, e->args[0], b);
    } else {
        print(out, e->args[0], b);
        text_printf(out, " %s ", expr_op_table[e->op].text);
        print(out, e->args[1], b + 1);
    }
}

static void print(Text *out, const Expr *e, int context)
{
    if (out->count > MOST_TEXT) {
        text_add(out, "…");
        return;
    }
    const int b = binding(e);
    if (b) {
        text_add(out, b < context ? "(" : "");
        print_operator(out, e, b);
        text_add(out, b < context ? ")" : "");
        return;
    }
    switch ((ExprOp)e->op) {
    case EX_INT: print_int(out, e); break;
    case EX_FLOAT: print_float(out, e); break;
    case EX_VAR: text_add(out, e->u.name); break;
    case EX_PARAM: text_add(out, e->u.param->name); break;
    case EX_DIM_MIN:
    case EX_DIM_EXTENT:
        text_printf(out, "%s.%s.%s", e->u.call.func->name, e->u.call.func->args[e->u.call.index],
                    expr_op_table[e->op].text);
        break;
    case EX_LOAD:
        text_printf(out, "%s[", e->u.buffer->name);
        print(out, e->args[0], 0);
        text_add(out, "]");
        break;
    case EX_CALL:
        text_add(out, e->u.call.func->name);
        print_args(out, e);
        if (e->u.call.func->component_count > 1)
            text_printf(out, ".%u", e->u.call.index);
        break;
    case EX_EXTERN:
        text_add(out, e->u.name);
        print_args(out, e);
        break;
    case EX_CAST:
    case EX_SAT_CAST:
    case EX_REINTERPRET:
        text_printf(out, "%s%s",
                    e->op == EX_SAT_CAST      ? "sat_"
                    : e->op == EX_REINTERPRET ? "reinterpret_"
                                              : "",
                    type_table[e->type].name);
        print_args(out, e);
        break;
    default: text_add(out, expr_op_table[e->op].text); print_args(out, e);
    }
}

void expr_print(Text *out, const Expr *e)
{
    Text whole;
    text_init(&whole, out->arena);
    print(&whole, e, 0);
    text_add(out, text_string(&whole));
}
