/* SPDX-License-Identifier: MIT */
/* Expressions as C text, with as few parentheses as C needs and compilers want.
 *
 * Takes   a typed expression of a region.
 * Gives   text that a C compiler reads as the same expression: the same operators on operands of the same types, in the
 *         same grouping. Conversions that C makes by itself are not printed. */
#include "poly/print_expr.h"
#include "poly/source/parser.h"

typedef struct OpText {
    const char *text;
    int         binding; /* a larger one binds stronger */
    bool        loose;   /* compilers warn where it stands beside another operator without parentheses */
} OpText;

enum { BIND_CHOICE = 1, BIND_UNARY = 12, BIND_PRIMARY = 14 };

static const OpText op_texts[] = {
    [COP_NEG]     = { "-", BIND_UNARY, false },
    [COP_NOT]     = { "!", BIND_UNARY, false },
    [COP_BIT_NOT] = { "~", BIND_UNARY, false },
    [COP_ADD]     = { " + ", 10, false },
    [COP_SUB]     = { " - ", 10, false },
    [COP_MUL]     = { " * ", 11, false },
    [COP_DIV]     = { " / ", 11, false },
    [COP_REM]     = { " % ", 11, false },
    [COP_SHL]     = { " << ", 9, true },
    [COP_SHR]     = { " >> ", 9, true },
    [COP_LT]      = { " < ", 8, true },
    [COP_LE]      = { " <= ", 8, true },
    [COP_GT]      = { " > ", 8, true },
    [COP_GE]      = { " >= ", 8, true },
    [COP_EQ]      = { " == ", 7, true },
    [COP_NE]      = { " != ", 7, true },
    [COP_BIT_AND] = { " & ", 6, true },
    [COP_BIT_XOR] = { " ^ ", 5, true },
    [COP_BIT_OR]  = { " | ", 4, true },
    [COP_AND]     = { " && ", 3, true },
    [COP_OR]      = { " || ", 2, true },
};

static void print(Text *out, const CExpr *e, const ExprHooks *hooks, int around, bool subscript);

static void arguments(Text *out, const CExpr *e, const ExprHooks *hooks)
{
    text_printf(out, "%s(", e->symbol->name);
    for (int i = 0; i < e->count; i++) {
        const bool explicit = hooks && hooks->foreign;
        text_add(out, i ? ", " : "");
        if (explicit)
            text_printf(out, "(%s)", c_type_name(e->args[i]->type));
        print(out, e->args[i], hooks, explicit ? BIND_UNARY : 0, false);
    }
    text_add(out, ")");
}

static void leaf(Text *out, const CExpr *e, const ExprHooks *hooks, bool subscript)
{
    if (hooks && hooks->leaf && hooks->leaf(hooks->user, out, e, subscript))
        return;
    text_add(out, e->symbol->name);
    for (int i = 0; i < e->count; i++) {
        text_add(out, "[");
        print(out, e->args[i], hooks, 0, true);
        text_add(out, "]");
    }
}

static void binary(Text *out, const CExpr *e, const ExprHooks *hooks, int around, bool subscript)
{
    const OpText *op    = &op_texts[e->op];
    const bool    paren = op->binding < around;
    text_add(out, paren ? "(" : "");
    /* Where compilers warn, an operand that is an operator of another kind stands in parentheses. */
    const int inner = op->loose ? BIND_UNARY : op->binding;
    print(out, e->args[0], hooks, inner, subscript);
    text_add(out, op->text);
    print(out, e->args[1], hooks, op->loose ? BIND_UNARY : op->binding + 1, subscript);
    text_add(out, paren ? ")" : "");
}

static void print(Text *out, const CExpr *e, const ExprHooks *hooks, int around, bool subscript)
{
    const bool tight = around >= BIND_UNARY;
    switch (e->kind) {
    case CEXPR_INT:
    case CEXPR_FLOAT:
        if (e->text)
            text_add(out, e->text);
        else
            text_printf(out, e->u.i < 0 && around ? "(%lld)" : "%lld", (long long)e->u.i);
        return;
    case CEXPR_NAME:
    case CEXPR_INDEX: leaf(out, e, hooks, subscript); return;
    case CEXPR_CALL: arguments(out, e, hooks); return;
    case CEXPR_CAST:
        if (!e->text) { /* C makes it by itself */
            print(out, e->args[0], hooks, around, subscript);
            return;
        }
        text_printf(out, "(%s)", hooks && hooks->foreign ? c_type_name(e->type) : e->text);
        print(out, e->args[0], hooks, BIND_UNARY, subscript);
        return;
    case CEXPR_UNARY:
        text_printf(out, "%s%s", tight ? "(" : "", op_texts[e->op].text);
        print(out, e->args[0], hooks, BIND_UNARY, subscript);
        text_add(out, tight ? ")" : "");
        return;
    case CEXPR_BINARY: binary(out, e, hooks, around, subscript); return;
    case CEXPR_CHOICE:
        text_add(out, around > BIND_CHOICE ? "(" : "");
        print(out, e->args[0], hooks, BIND_CHOICE + 1, subscript);
        text_add(out, " ? ");
        print(out, e->args[1], hooks, BIND_CHOICE, subscript);
        text_add(out, " : ");
        print(out, e->args[2], hooks, BIND_CHOICE, subscript);
        text_add(out, around > BIND_CHOICE ? ")" : "");
        return;
    }
}

void print_subscript(Text *out, const CExpr *e, const ExprHooks *hooks)
{
    print(out, e, hooks, 0, true);
}

void print_expr(Text *out, const CExpr *e, const ExprHooks *hooks)
{
    print(out, e, hooks, 0, false);
}
