/* SPDX-License-Identifier: MIT */
/* The header of a for loop: its variable, where it begins and ends, its step.
 *
 * Takes   `(int i = first; i < last; i += step)`, up or down, with its variable declared there or outside.
 * Gives   a CSTMT_FOR without its body.
 * Holds   the step is a constant that leads to the end; the comparison is one of integers that C does not wrap. */
#include "poly/source/parser.h"

static const char end_remedy[] = "write: i < end, i <= end, i > end or i >= end";

/* Without the conversions around it. */
static const CExpr *bare(const CExpr *e)
{
    while (e->kind == CEXPR_CAST)
        e = e->args[0];
    return e;
}

static bool names(const CExpr *e, const CSymbol *symbol)
{
    if (e->symbol == symbol)
        return true;
    for (int i = 0; i < e->count; i++)
        if (names(e->args[i], symbol))
            return true;
    return false;
}

static bool is_iterator(const CExpr *e, const CSymbol *iterator)
{
    return bare(e)->kind == CEXPR_NAME && bare(e)->symbol == iterator;
}

/* `int i = first;` or `i = first;` */
static bool read_first(Parser *p, CStmt *loop)
{
    static const char remedy[] = "write: for (int i = first; i < end; i++)";
    CEntry           *entry    = NULL;
    size_t            name     = p->at;
    if (begins_declaration(p)) {
        Specifiers s = { 0 };
        if (!read_specifiers(p, &s))
            return refuse(p, p->at, remedy, "the variable of the loop is not understood");
        const CType *type = read_declarator(p, s.type, &name);
        if (!type || name == NO_NAME || s.is_typedef || s.is_static)
            return refuse(p, p->at, remedy, "the variable of the loop is not understood");
        entry = new_entry(p, ENTRY_OBJECT, type, name);
    } else if (token(p)->kind == CT_NAME && is_after(p, 1, "=")) {
        entry = scope_find(p, token(p)->text);
        p->at++;
    }
    if (!entry || entry->kind != ENTRY_OBJECT)
        return refuse(p, name, remedy, "the loop does not begin with the value of its variable");
    if (!expect(p, "=", "behind the variable of a loop"))
        return false;
    loop->first = read_expr(p);
    if (!loop->first)
        return false;
    if (is(p, ","))
        return refuse(p, p->at, remedy, "the loop counts more than one variable");
    if (!expect(p, ";", "behind the first value of a loop"))
        return false;
    if (p->tokens.items.at[name].text == entry->name && entry->token == name)
        scope_add(p, entry); /* declared here */
    CNamed *iterator = iterator_symbol(p, entry, name);
    if (!iterator)
        return false;
    loop->iterator = &iterator->symbol;
    loop->first    = convert(p, loop->first, loop->iterator->type);
    vec_push(p->arena, &p->iterators, iterator);
    return true;
}

/* `i < last`, or `last > i`, as compare and last of *loop. */
static bool take_comparison(Parser *p, const CExpr *e, CStmt *loop, size_t at)
{
    static const COp turned[] = { [COP_LT] = COP_GT, [COP_LE] = COP_GE, [COP_GT] = COP_LT, [COP_GE] = COP_LE };
    const bool       compares = e->kind == CEXPR_BINARY && e->op >= COP_LT && e->op <= COP_NE;
    const bool       left     = compares && is_iterator(e->args[0], loop->iterator);
    if (!compares || (!left && !is_iterator(e->args[1], loop->iterator)))
        return refuse(p, at, end_remedy, "the condition of the loop does not compare `%s` with where it ends",
                      loop->iterator->name);
    if (e->op == COP_NE || e->op == COP_EQ)
        return refuse(p, at, end_remedy, "a loop that ends when `%s` meets a value may pass by it",
                      loop->iterator->name);
    loop->compare = left ? e->op : turned[e->op];
    loop->last    = e->args[left ? 1 : 0];
    if (names(loop->last, loop->iterator))
        return refuse(p, at, NULL, "the end of the loop depends on `%s` itself", loop->iterator->name);
    const kn_type type = e->args[0]->type; /* that both sides are compared in */
    if (type_is_float(type))
        return refuse(p, at, "convert the end to an integer before the region", "the loop is compared with a float");
    int64_t first = -1;
    if (!type_is_signed(type) && type_is_signed(loop->iterator->type) &&
        !(constant_value(loop->first, &first) && first >= 0 && loop->compare <= COP_LE))
        return refuse(
            p, at, "cast the end: i < (int)end",
            "`%s` is signed and is compared with an unsigned number: a negative one would be taken for a large one",
            loop->iterator->name);
    return true;
}

/* `i < a && i < b` ends at the smaller of the two. */
static bool take_end(Parser *p, const CExpr *e, CStmt *loop, size_t at)
{
    if (e->kind != CEXPR_BINARY || e->op != COP_AND)
        return take_comparison(p, e, loop, at);
    CStmt other = *loop;
    if (!take_end(p, e->args[0], loop, at) || !take_comparison(p, e->args[1], &other, at))
        return false;
    if (loop->compare != other.compare || loop->last->type != other.last->type)
        return refuse(p, at, "compare both ends in the same way", "the loop has two ends of different kinds");
    const bool   up = loop->compare <= COP_LE;
    const CExpr *c  = binary_expr(p, up ? COP_LT : COP_GT, loop->last, other.last, at);
    loop->last      = choice_expr(p, c, loop->last, other.last, at);
    return true;
}

static bool read_last(Parser *p, CStmt *loop)
{
    const size_t at = p->at;
    if (is(p, ";"))
        return refuse(p, at, end_remedy, "the loop has no end");
    const CExpr *e = read_expr(p);
    return e && expect(p, ";", "behind the condition of a loop") && take_end(p, e, loop, at);
}

/* `i++`, `i += c`, `i = i + c` and their like */
static bool read_step(Parser *p, CStmt *loop)
{
    const size_t at     = p->at;
    const char  *remedy = "write: i++, i--, i += c or i -= c with a constant c";
    const CStmt *s      = NULL;
    CNamed      *self   = p->iterators.at[p->iterators.count - 1];
    if (is(p, ")"))
        return refuse(p, at, remedy, "the loop has no step");
    self->symbol.kind = CSYMBOL_SCALAR; /* here it may be assigned */
    s                 = read_assignment(p);
    self->symbol.kind = CSYMBOL_ITERATOR, self->symbol.written = false;
    if (!s || !expect(p, ")", "behind the step of a loop"))
        return false;
    if (s->kind != CSTMT_ASSIGN)
        return refuse(p, at, remedy, "the step of the loop is not understood");
    const CExpr *e = bare(s->value);
    const bool   sum =
        e->kind == CEXPR_BINARY && (e->op == COP_ADD || e->op == COP_SUB) && is_iterator(s->target, loop->iterator);
    const bool left = sum && is_iterator(e->args[0], loop->iterator);
    if (!sum || (!left && (e->op == COP_SUB || !is_iterator(e->args[1], loop->iterator))) ||
        !constant_value(e->args[left ? 1 : 0], &loop->step))
        return refuse(p, at, remedy, "the step of the loop is not `%s` plus or minus a constant", loop->iterator->name);
    loop->step = type_wrap(e->type == KN_U32 ? KN_I32 : e->type, loop->step);
    loop->step = e->op == COP_SUB ? -loop->step : loop->step;
    if (loop->step == 0 || (loop->step > 0) != (loop->compare <= COP_LE))
        return refuse(p, at, "a loop up ends with < or <=, a loop down with > or >=",
                      "the loop does not end: its step goes away from its end");
    return true;
}

bool read_loop_header(Parser *p, CStmt *loop)
{
    return read_first(p, loop) && read_last(p, loop) && read_step(p, loop);
}
