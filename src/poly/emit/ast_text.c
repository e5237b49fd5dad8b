/* SPDX-License-Identifier: MIT */
/* isl's expressions as C text, with as few parentheses as C needs.
 *
 * Holds   what isl divides without rounding down is not negative, so that C's division is the same. */
#include "poly/emit/writer.h"

#include <isl/val.h>
#include <string.h>

enum { OR = 2, AND = 4 }; /* between them: the second operand of || */

/* How tightly C's operator binds; 0: none such. */
typedef struct AstOp {
    const char *text;
    int         binding;
} AstOp;

static const AstOp *ast_op(enum isl_ast_expr_op_type type)
{
    static const AstOp add = { " + ", 10 }, sub = { " - ", 10 }, mul = { " * ", 11 }, div = { " / ", 11 },
                       rem = { " % ", 11 }, lt = { " < ", 8 }, le = { " <= ", 8 }, gt = { " > ", 8 },
                       ge = { " >= ", 8 }, eq = { " == ", 7 }, and = { " && ", AND }, or = { " || ", OR };
    switch (type) {
    case isl_ast_expr_op_add: return &add;
    case isl_ast_expr_op_sub: return &sub;
    case isl_ast_expr_op_mul: return &mul;
    case isl_ast_expr_op_div: /* exact */
    case isl_ast_expr_op_pdiv_q: /* of what is not negative */ return &div;
    case isl_ast_expr_op_pdiv_r:
    case isl_ast_expr_op_zdiv_r: return &rem;
    case isl_ast_expr_op_lt: return &lt;
    case isl_ast_expr_op_le: return &le;
    case isl_ast_expr_op_gt: return &gt;
    case isl_ast_expr_op_ge: return &ge;
    case isl_ast_expr_op_eq: return &eq;
    case isl_ast_expr_op_and:
    case isl_ast_expr_op_and_then: return &and;
    case isl_ast_expr_op_or:
    case isl_ast_expr_op_or_else: return & or ;
    default: return NULL;
    }
}

static const char *shown_name(const Writer *w, const char *name)
{
    for (size_t i = w->names.count; i-- > 0;)
        if (!strcmp(w->names.at[i].isl, name))
            return w->names.at[i].text;
    return name;
}

static void ast_text(Writer *w, Text *out, isl_ast_expr *e, int around);

static void ast_operand(Writer *w, Text *out, isl_ast_expr *e, int i, int around)
{
    isl_ast_expr *arg = isl_ast_expr_op_get_arg(e, i);
    ast_text(w, out, arg, around);
    isl_ast_expr_free(arg);
}

/* min(a, b, c): MACRO(a, MACRO(b, c)) */
static void ast_nested(Writer *w, Text *out, isl_ast_expr *e, const char *macro)
{
    const int n = (int)isl_ast_expr_op_get_n_arg(e);
    for (int i = 0; i < n; i++) {
        text_printf(out, i + 1 < n ? "%s%s(" : "%s", i ? ", " : "", macro);
        ast_operand(w, out, e, i, 0);
    }
    for (int i = 1; i < n; i++)
        text_add(out, ")");
}

static void ast_operator(Writer *w, Text *out, isl_ast_expr *e, int around)
{
    const enum isl_ast_expr_op_type type = isl_ast_expr_op_get_type(e);
    const AstOp                    *op   = ast_op(type);
    if (op) {
        /* compilers want && inside || in parentheses */
        const bool paren = op->binding < around || (op->binding == AND && (around == OR || around == OR + 1));
        text_add(out, paren ? "(" : "");
        ast_operand(w, out, e, 0, op->binding);
        text_add(out, op->text);
        ast_operand(w, out, e, 1, op->binding + 1);
        text_add(out, paren ? ")" : "");
        return;
    }
    switch (type) {
    case isl_ast_expr_op_minus:
        text_add(out, around > 10 ? "(-" : "-");
        ast_operand(w, out, e, 0, 12);
        text_add(out, around > 10 ? ")" : "");
        return;
    case isl_ast_expr_op_min:
        w->uses_min = true;
        ast_nested(w, out, e, "KN_MIN");
        return;
    case isl_ast_expr_op_max:
        w->uses_max = true;
        ast_nested(w, out, e, "KN_MAX");
        return;
    case isl_ast_expr_op_fdiv_q:
        w->uses_floor = true;
        text_add(out, "KN_FLOOR_DIV(");
        ast_operand(w, out, e, 0, 0);
        text_add(out, ", ");
        ast_operand(w, out, e, 1, 0);
        text_add(out, ")");
        return;
    case isl_ast_expr_op_cond:
    case isl_ast_expr_op_select:
        text_add(out, "(");
        ast_operand(w, out, e, 0, 2);
        text_add(out, " ? ");
        ast_operand(w, out, e, 1, 2);
        text_add(out, " : ");
        ast_operand(w, out, e, 2, 2);
        text_add(out, ")");
        return;
    default: w->failed = true; /* no other operator is made for these loops */
    }
}

static void ast_text(Writer *w, Text *out, isl_ast_expr *e, int around)
{
    switch (isl_ast_expr_get_type(e)) {
    case isl_ast_expr_int: {
        isl_val   *v = isl_ast_expr_int_get_val(e);
        const long n = isl_val_get_num_si(v);
        text_printf(out, n < 0 && around > 10 ? "(%ld)" : "%ld", n);
        isl_val_free(v);
        return;
    }
    case isl_ast_expr_id: {
        isl_id *id = isl_ast_expr_id_get_id(e);
        text_add(out, shown_name(w, isl_id_get_name(id)));
        isl_id_free(id);
        return;
    }
    case isl_ast_expr_op: ast_operator(w, out, e, around); return;
    default: w->failed = true;
    }
}

const char *ast_string(Writer *w, isl_ast_expr *e, int around)
{
    Text t;
    text_init(&t, w->arena);
    ast_text(w, &t, e, around);
    return text_string(&t);
}
