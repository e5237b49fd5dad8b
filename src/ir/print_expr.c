/* SPDX-License-Identifier: MIT */
/* Expressions as text of the language. Constants carry their type where the text alone would not say it. */
#include "ir/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_TEXT = 4000 };

/* Is the whole of it printed? Else it is for people: a shared part is printed each time it is used, and a long one is
 * cut. */
typedef struct ExprPrinter {
    Text              *out;
    const ExprNumbers *numbers; /* NULL: for people */
} ExprPrinter;

static void print(const ExprPrinter *p, const Expr *e, int context);

static void print_args(const ExprPrinter *p, const Expr *e)
{
    Text *out = p->out;
    text_add(out, "(");
    for (uint32_t i = 0; i < e->count; i++) {
        text_add(out, i ? ", " : "");
        print(p, e->args[i], 0);
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

/* A constant after a sign or inside a conversion is told from the constant that this would be. */
static bool is_constant(const Expr *e)
{
    return e->op == EX_INT || e->op == EX_FLOAT;
}

static void print_operator(const ExprPrinter *p, const Expr *e, int b)
{
    Text *out = p->out;
    if (e->op == EX_SELECT) {
        text_add(out, "if ");
        print(p, e->args[0], 0);
        text_add(out, " then ");
        print(p, e->args[1], 0);
        text_add(out, " else ");
        print(p, e->args[2], 1);
    } else if (e->count == 1) {
        text_add(out, e->op == EX_BIT_NOT && e->type == KN_BOOL ? "!" : expr_op_table[e->op].text);
        const bool apart = p->numbers && is_constant(e->args[0]);
        text_add(out, apart ? "(" : "");
        print(p, e->args[0], b);
        text_add(out, apart ? ")" : "");
    } else {
        print(p, e->args[0], b);
        text_printf(out, " %s ", expr_op_table[e->op].text);
        print(p, e->args[1], b + 1);
    }
}

static void print_node(const ExprPrinter *p, const Expr *e, int context)
{
    Text     *out = p->out;
    const int b   = expr_op_table[e->op].binding;
    if (b) {
        text_add(out, b < context ? "(" : "");
        print_operator(p, e, b);
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
        buffer_print_name(out, e->u.buffer, p->numbers);
        text_add(out, "[");
        print(p, e->args[0], 0);
        text_add(out, "]");
        break;
    case EX_CALL:
        text_add(out, e->u.call.func->name);
        print_args(p, e);
        if (e->u.call.func->component_count > 1)
            text_printf(out, ".%u", e->u.call.index);
        break;
    case EX_EXTERN:
        if (p->numbers)
            text_printf(out, "extern_%s ", type_table[e->type].name);
        text_add(out, e->u.name);
        print_args(p, e);
        break;
    case EX_CAST:
    case EX_SAT_CAST:
    case EX_REINTERPRET:
        text_add(out, e->op == EX_SAT_CAST                    ? "sat_"
                      : e->op == EX_REINTERPRET               ? "reinterpret_"
                      : p->numbers && is_constant(e->args[0]) ? "convert_"
                                                              : "");
        text_add(out, type_table[e->type].name);
        print_args(p, e);
        break;
    default: text_add(out, expr_op_table[e->op].text); print_args(p, e);
    }
}

static void print(const ExprPrinter *p, const Expr *e, int context)
{
    const ExprNumbers *n = p->numbers;
    if (!n && p->out->count > MOST_TEXT)
        text_add(p->out, "…");
    else if (n && n->number[e->id])
        text_printf(p->out, "%%%u", n->number[e->id]);
    else if (n && e->strict) {
        text_add(p->out, "strict(");
        print_node(p, e, 0);
        text_add(p->out, ")");
    } else
        print_node(p, e, context);
}

void buffer_print_name(Text *out, const Buffer *b, const ExprNumbers *numbers)
{
    text_add(out, b->name);
    if (numbers && numbers->repeated[b->id])
        text_printf(out, "#%d", b->id);
}

void expr_print(Text *out, const Expr *e)
{
    ExprPrinter p = { .out = &(Text){ 0 } };
    text_init(p.out, out->arena);
    print(&p, e, 0);
    text_add(out, text_string(p.out));
}

void expr_print_whole(Text *out, const Expr *e, ExprNumbers *numbers, bool itself)
{
    const ExprPrinter p      = { out, numbers };
    const uint32_t    number = numbers->number[e->id];
    if (itself)
        numbers->number[e->id] = 0;
    print(&p, e, 0);
    numbers->number[e->id] = number;
}
