/* SPDX-License-Identifier: MIT */
/* A region as C text again: for tests, for messages, and for what runs the loops as they were.
 *
 * Takes   a Region.
 * Gives   a block that means the same. Local names are declared at its beginning. */
#include "poly/print_expr.h"
#include "poly/source/parser.h"

#include <inttypes.h>

/* ---- Statements ---- */

typedef struct Layout {
    Text       *t;
    const char *indent;
    int         depth;
} Layout;

static void begin_line(const Layout *l)
{
    text_add(l->t, l->indent);
    for (int i = 0; i < l->depth; i++)
        text_add(l->t, "    ");
}

static void print_stmt(Layout *l, const CStmt *s);

static void print_body(Layout *l, const CStmt *s)
{
    text_add(l->t, " {\n");
    l->depth++;
    print_stmt(l, s);
    l->depth--;
    begin_line(l);
    text_add(l->t, "}");
}

static const char *const compares[] = { [COP_LT] = "<", [COP_LE] = "<=", [COP_GT] = ">", [COP_GE] = ">=" };

/* An operand of a comparison: in parentheses unless it binds more strongly. */
static void print_operand(Text *t, const CExpr *e)
{
    const CExpr *inner = e;
    while (inner->kind == CEXPR_CAST && !inner->text)
        inner = inner->args[0];
    const bool loose = inner->kind == CEXPR_CHOICE || (inner->kind == CEXPR_BINARY && inner->op > COP_REM);
    text_add(t, loose ? "(" : "");
    print_expr(t, e, NULL);
    text_add(t, loose ? ")" : "");
}

static void print_for(Layout *l, const CStmt *s)
{
    const char *name = s->iterator->name;
    begin_line(l);
    text_printf(l->t, "for (%s %s = ", s->iterator->spelling, name);
    print_expr(l->t, s->first, NULL);
    text_printf(l->t, "; %s %s ", name, compares[s->compare]);
    print_operand(l->t, s->last);
    if (s->step == 1 || s->step == -1)
        text_printf(l->t, "; %s%s)", name, s->step > 0 ? "++" : "--");
    else
        text_printf(l->t, "; %s %s= %" PRId64 ")", name, s->step > 0 ? "+" : "-", s->step > 0 ? s->step : -s->step);
    print_body(l, s->body);
    text_add(l->t, "\n");
}

static void print_if(Layout *l, const CStmt *s)
{
    begin_line(l);
    text_add(l->t, "if (");
    print_expr(l->t, s->condition, NULL);
    text_add(l->t, ")");
    print_body(l, s->body);
    if (s->otherwise) {
        text_add(l->t, " else");
        print_body(l, s->otherwise);
    }
    text_add(l->t, "\n");
}

static void print_stmt(Layout *l, const CStmt *s)
{
    switch (s->kind) {
    case CSTMT_FOR: print_for(l, s); break;
    case CSTMT_IF: print_if(l, s); break;
    case CSTMT_BLOCK:
        for (int i = 0; i < s->count; i++)
            print_stmt(l, s->items[i]);
        break;
    case CSTMT_ASSIGN:
        begin_line(l);
        print_expr(l->t, s->target, NULL);
        text_add(l->t, " = ");
        print_expr(l->t, s->value, NULL);
        text_add(l->t, ";\n");
        break;
    }
}

static void print_local(const Layout *l, const CSymbol *s)
{
    begin_line(l);
    text_printf(l->t, "%s %s", s->spelling, s->name);
    for (int d = 0; d < s->rank; d++) {
        text_add(l->t, "[");
        print_expr(l->t, s->extents[d], NULL);
        text_add(l->t, "]");
    }
    text_add(l->t, ";\n");
}

void region_print_expr(Text *t, const CExpr *e)
{
    print_expr(t, e, NULL);
}

void region_print(Text *t, const Region *r)
{
    Layout l = { t, r->indent, 0 };
    begin_line(&l);
    text_add(t, "{\n");
    l.depth = 1;
    for (size_t i = 0; i < r->symbols.count; i++)
        if (r->symbols.at[i]->local && r->symbols.at[i]->kind != CSYMBOL_ITERATOR)
            print_local(&l, r->symbols.at[i]);
    print_stmt(&l, r->body);
    l.depth = 0;
    begin_line(&l);
    text_add(t, "}");
}
