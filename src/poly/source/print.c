/* SPDX-License-Identifier: MIT */
/* A region as C text again: for tests, for messages, and for what runs the loops as they were.
 *
 * Takes   a Region.
 * Gives   a block that means the same. Local names are declared at its beginning; conversions are casts. */
#include "poly/source/parser.h"

#include <inttypes.h>

static const struct {
    const char *text;
    int         binds;
} operators[] = {
    [COP_NEG] = { "-", 12 },    [COP_NOT] = { "!", 12 },    [COP_BIT_NOT] = { "~", 12 }, [COP_ADD] = { "+", 9 },
    [COP_SUB] = { "-", 9 },     [COP_MUL] = { "*", 10 },    [COP_DIV] = { "/", 10 },     [COP_REM] = { "%", 10 },
    [COP_SHL] = { "<<", 8 },    [COP_SHR] = { ">>", 8 },    [COP_LT] = { "<", 7 },       [COP_LE] = { "<=", 7 },
    [COP_GT] = { ">", 7 },      [COP_GE] = { ">=", 7 },     [COP_EQ] = { "==", 6 },      [COP_NE] = { "!=", 6 },
    [COP_BIT_AND] = { "&", 5 }, [COP_BIT_XOR] = { "^", 4 }, [COP_BIT_OR] = { "|", 3 },   [COP_AND] = { "&&", 2 },
    [COP_OR] = { "||", 1 },
};
enum { BINDS_CHOICE = 0, BINDS_UNARY = 12, BINDS_PRIMARY = 13 };

static int binds(const CExpr *e)
{
    switch (e->kind) {
    case CEXPR_CHOICE: return BINDS_CHOICE;
    case CEXPR_BINARY:
    case CEXPR_UNARY: return operators[e->op].binds;
    case CEXPR_CAST: return BINDS_UNARY;
    default: return BINDS_PRIMARY;
    }
}

static void print_int(Text *t, const CExpr *e)
{
    if (e->text) {
        text_add(t, e->text);
        return;
    }
    const bool u = !type_is_signed(e->type) && e->type != KN_BOOL, wide = type_bits(e->type) == 64;
    if (u)
        text_printf(t, "%" PRIu64 "%s", (uint64_t)e->u.i, wide ? "ULL" : "U");
    else if (e->u.i == INT64_MIN)
        text_add(t, "(-9223372036854775807LL - 1)");
    else
        text_printf(t, e->u.i < 0 ? "(%" PRId64 "%s)" : "%" PRId64 "%s", e->u.i, wide ? "LL" : "");
}

static void print_at(Text *t, const CExpr *e, int least);

static void print_arguments(Text *t, const CExpr *e, const char *begin, const char *between, const char *end)
{
    for (int i = 0; i < e->count; i++) {
        text_add(t, i ? between : begin);
        print_at(t, e->args[i], BINDS_CHOICE);
    }
    text_add(t, end);
}

static void print_bare(Text *t, const CExpr *e)
{
    switch (e->kind) {
    case CEXPR_INT: print_int(t, e); break;
    case CEXPR_FLOAT: text_add(t, e->text); break;
    case CEXPR_NAME: text_add(t, e->symbol->name); break;
    case CEXPR_INDEX:
        text_add(t, e->symbol->name);
        print_arguments(t, e, "[", "][", "]");
        break;
    case CEXPR_CALL:
        text_add(t, e->symbol->name);
        print_arguments(t, e, "(", ", ", e->count ? ")" : "()");
        break;
    case CEXPR_CAST:
        text_printf(t, "(%s)", c_type_name(e->type));
        print_at(t, e->args[0], BINDS_UNARY);
        break;
    case CEXPR_UNARY:
        text_add(t, operators[e->op].text);
        print_at(t, e->args[0], BINDS_PRIMARY);
        break;
    case CEXPR_BINARY:
        print_at(t, e->args[0], operators[e->op].binds);
        text_printf(t, " %s ", operators[e->op].text);
        print_at(t, e->args[1], operators[e->op].binds + 1);
        break;
    case CEXPR_CHOICE:
        print_at(t, e->args[0], BINDS_CHOICE + 1);
        text_add(t, " ? ");
        print_at(t, e->args[1], BINDS_CHOICE + 1);
        text_add(t, " : ");
        print_at(t, e->args[2], BINDS_CHOICE);
        break;
    }
}

static void print_at(Text *t, const CExpr *e, int least)
{
    const bool brackets = binds(e) < least;
    text_add(t, brackets ? "(" : "");
    print_bare(t, e);
    text_add(t, brackets ? ")" : "");
}

void region_print_expr(Text *t, const CExpr *e)
{
    print_at(t, e, BINDS_CHOICE);
}

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

static void print_for(Layout *l, const CStmt *s)
{
    const char *name = s->iterator->name;
    begin_line(l);
    text_printf(l->t, "for (%s %s = ", c_type_name(s->iterator->type), name);
    print_at(l->t, s->first, BINDS_CHOICE);
    text_printf(l->t, "; %s %s ", name, operators[s->compare].text);
    print_at(l->t, s->last, operators[s->compare].binds + 1);
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
    print_at(l->t, s->condition, BINDS_CHOICE);
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
        print_at(l->t, s->target, BINDS_CHOICE);
        text_add(l->t, " = ");
        print_at(l->t, s->value, BINDS_CHOICE);
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
        print_at(l->t, s->extents[d], BINDS_CHOICE);
        text_add(l->t, "]");
    }
    text_add(l->t, ";\n");
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
