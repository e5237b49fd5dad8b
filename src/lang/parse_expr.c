/* SPDX-License-Identifier: MIT */
/* Expressions: precedence climbing over the tokens.
 *
 *     expr    = operand (OP operand)*                      by binding, left to right
 *     operand = ("-" | "!" | "~") operand | postfix
 *     postfix = primary ( "(" args ")" | "[" expr "]" | "." name | "." integer )*
 *     primary = number | name | "(" expr ("," expr)* ")" | "{" ("let" name "=" expr)* expr "}"
 *             | "if" expr "then" expr "else" expr
 *     args    = arg ("," arg)* [clause]
 *     arg     = ".." | [expr ":"] expr [".." expr]
 *     clause  = "for" name "in" expr ".." expr ("," name "in" expr ".." expr)* ["where" expr]
 */
#include "lang/parser.h"

#include <stdarg.h>
#include <stdio.h>

/* clang-format off */
static const int bindings[T_COUNT] = {
    [T_OROR] = 1, [T_ANDAND] = 2, [T_EQ] = 3,  [T_NE] = 3,  [T_LT] = 4,  [T_LE] = 4,   [T_GT] = 4,   [T_GE] = 4,
    [T_OR] = 5,   [T_XOR] = 6,    [T_AND] = 7, [T_SHL] = 8, [T_SHR] = 8, [T_ADD] = 9,  [T_SUB] = 9,
    [T_MUL] = 10, [T_DIV] = 10,   [T_MOD] = 10,
};
/* clang-format on */

int binary_binding(TokenKind kind)
{
    return bindings[kind];
}

/* ---- Tokens ----------------------------------------------------------------------------- */

const Token *look(const Parser *ps, size_t ahead)
{
    size_t at = ps->at;
    while (ahead-- && ps->tokens[at].kind != T_END)
        at++;
    return &ps->tokens[at];
}

const Token *take(Parser *ps)
{
    const Token *t = &ps->tokens[ps->at];
    ps->at += t->kind != T_END;
    return t;
}

bool at_kind(const Parser *ps, TokenKind kind)
{
    return ps->tokens[ps->at].kind == kind;
}

static bool is_word(const Token *t, const char *word)
{
    return t->kind == T_NAME && !strcmp(t->name, word);
}

bool at_word(const Parser *ps, const char *word)
{
    return is_word(look(ps, 0), word);
}

bool accept(Parser *ps, TokenKind kind)
{
    const bool yes = at_kind(ps, kind);
    ps->at += yes && kind != T_END;
    return yes;
}

bool accept_word(Parser *ps, const char *word)
{
    const bool yes = at_word(ps, word);
    ps->at += yes;
    return yes;
}

const char *found(Parser *ps)
{
    const Token *t = look(ps, 0);
    if (t->kind == T_END)
        return "the text ends";
    int n = (int)(t->loc.end - t->loc.start);
    return arena_printf(ps->arena, "`%.*s%s` %s", n > 40 ? 40 : n, t->loc.source->text + t->loc.start,
                        n > 40 ? "…" : "", begins_line(ps, t) ? "follows" : "stands here");
}

static uint32_t column(const Token *t)
{
    uint32_t c = 0;
    while (t->loc.start > c && t->loc.source->text[t->loc.start - c - 1] != '\n')
        c++;
    return c;
}

bool begins_line(const Parser *ps, const Token *t)
{
    const Token *item = &ps->tokens[ps->item];
    return t->first && t > item && t->kind != T_END && column(t) <= column(item);
}

/* The place of the current token; behind the last one if the current one begins the next item. */
static Loc error_place(const Parser *ps)
{
    const Token *t = look(ps, 0);
    return begins_line(ps, t) ? (Loc){ t->loc.source, t[-1].loc.end, t[-1].loc.end } : t->loc;
}

void parse_error(Parser *ps, const char *remedy, const char *format, ...)
{
    const bool said = ps->panic || at_kind(ps, T_BAD);
    ps->panic       = true;
    if (said)
        return;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    char     *s = arena_alloc(ps->arena, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    diag_error(ps->cx, error_place(ps), remedy, "%s", s);
}

/* Suggests a remedy for a token that does not continue an expression. */
static const char *hint(const Parser *ps)
{
    if (at_kind(ps, T_SET))
        return "to compare, write `==`";
    if (at_word(ps, "for"))
        return "reduction variables are written: for i in a..b, j in c..d";
    return NULL;
}

static bool closes(TokenKind kind)
{
    return kind == T_RPAREN || kind == T_RBRACKET || kind == T_RBRACE;
}

bool expect(Parser *ps, TokenKind kind, const char *why)
{
    if (accept(ps, kind))
        return true;
    parse_error(ps, closes(kind) ? hint(ps) : NULL, "expected `%s` %s, but %s", token_text(kind), why, found(ps));
    return false;
}

bool expect_word(Parser *ps, const char *word, const char *why)
{
    if (accept_word(ps, word))
        return true;
    parse_error(ps, !strcmp(word, "then") ? hint(ps) : NULL, "expected `%s` %s, but %s", word, why, found(ps));
    return false;
}

const char *expect_name(Parser *ps, const char *what, Loc *loc)
{
    const Token *t = look(ps, 0);
    if (t->kind != T_NAME) {
        parse_error(ps, NULL, "expected %s, but %s", what, found(ps));
        return NULL;
    }
    *loc = t->loc;
    return take(ps)->name;
}

bool deeper(Parser *ps)
{
    if (++ps->depth <= PARSE_MAX_DEPTH)
        return true;
    ps->panic |= ps->too_deep; /* reported once: nesting this deep occurs in many places */
    ps->too_deep = true;
    parse_error(ps, "name parts of it: { let a = …  a + 1 }", "this is nested more than %d deep", PARSE_MAX_DEPTH);
    return false;
}

/* ---- Nodes ------------------------------------------------------------------------------ */

Ast *ast_new(Arena *arena, AstKind kind, Loc loc, int count)
{
    Ast *a   = ARENA_NEW(arena, Ast);
    a->kind  = kind;
    a->loc   = loc;
    a->count = count;
    a->kids  = ARENA_ARRAY(arena, Ast *, (size_t)count);
    return a;
}

static Ast *error_node(Parser *ps)
{
    return ast_new(ps->arena, AST_ERROR, look(ps, 0)->loc, 0);
}

static void grow(Ast *n, const Ast *kid)
{
    if (kid && kid->height >= n->height)
        n->height = kid->height + 1;
}

/* Sets the height of a node whose parts are complete; a tree too high is diagnosed. */
static Ast *complete(Parser *ps, Ast *n)
{
    for (int i = 0; i < n->count; i++) {
        grow(n, n->kids[i]);
        grow(n, n->labels ? n->labels[i] : NULL);
    }
    for (int i = 0; n->clause && i < n->clause->count; i++) {
        grow(n, n->clause->lo[i]);
        grow(n, n->clause->hi[i]);
    }
    grow(n, n->clause ? n->clause->where : NULL);
    if (n->height <= AST_MAX_HEIGHT)
        return n;
    if (!ps->panic)
        diag_error(ps->cx, n->loc, "name parts of it as functions", "this expression is too deep");
    ps->panic = true;
    return error_node(ps);
}

static Ast *node2(Parser *ps, AstKind kind, TokenKind op, Ast *a, Ast *b)
{
    Ast *n     = ast_new(ps->arena, kind, loc_join(a->loc, b->loc), 2);
    n->op      = op;
    n->kids[0] = a;
    n->kids[1] = b;
    return complete(ps, n);
}

typedef VEC(Ast *) AstVec;
typedef VEC(const char *) NameVec;

/* ---- Primary expressions ---------------------------------------------------------------- */

static Ast *parse_paren(Parser *ps)
{
    const Loc open  = take(ps)->loc;
    AstVec    items = { 0 };
    do
        vec_push(ps->arena, &items, parse_expr(ps));
    while (accept(ps, T_COMMA));
    const Loc  close = look(ps, 0)->loc;
    const bool said  = ps->panic;
    if (!expect(ps, T_RPAREN, "to close the `(`") && !said && !at_kind(ps, T_BAD))
        diag_note(ps->cx, open, "the `(` is here");
    if (items.count == 1) {
        items.at[0]->loc = loc_join(open, close);
        return items.at[0];
    }
    Ast *t   = ast_new(ps->arena, AST_TUPLE, loc_join(open, close), 0);
    t->kids  = items.at;
    t->count = (int)items.count;
    return complete(ps, t);
}

const char no_lists[] = "there are no lists; a table is a function of its index: "
                        "`k(i) = select(i == 0: 1, i == 1: 4, else: 0)`, read as `k(1)`";

/* { let a = …  let b = …  value } */
static Ast *parse_block(Parser *ps)
{
    const Loc open  = take(ps)->loc;
    AstVec    kids  = { 0 };
    NameVec   names = { 0 };
    while (at_word(ps, "let") && (look(ps, 1)->kind == T_NAME || look(ps, 1)->kind == T_SET) && !ps->panic) {
        Loc loc;
        take(ps);
        vec_push(ps->arena, &names, expect_name(ps, "a name after `let`", &loc));
        expect(ps, T_SET, "after the name of a let");
        vec_push(ps->arena, &kids, parse_expr(ps));
    }
    if (at_kind(ps, T_RBRACE))
        parse_error(ps,
                    "end the block with the expression that is its value: { let a = f(x)  a*a }; one that begins with "
                    "`(` is read as "
                    "arguments of what stands before it: name it too",
                    "this block has no value");
    vec_push(ps->arena, &kids, parse_expr(ps));
    const Loc close = look(ps, 0)->loc;
    if (at_kind(ps, T_COMMA))
        parse_error(ps, no_lists, "a block has one value, but `,` stands here");
    expect(ps, T_RBRACE, "to close the block");
    Ast *b   = ast_new(ps->arena, AST_BLOCK, loc_join(open, close), 0);
    b->kids  = kids.at;
    b->count = (int)kids.count;
    b->names = names.at;
    return complete(ps, b);
}

static Ast *parse_if(Parser *ps)
{
    Ast *n     = ast_new(ps->arena, AST_IF, take(ps)->loc, 3);
    n->kids[0] = parse_expr(ps);
    expect_word(ps, "then", "after the condition of `if`");
    n->kids[1] = parse_expr(ps);
    if (!ps->panic && !at_word(ps, "else"))
        parse_error(ps, "every point needs a value: if c then a else b", "expected `else`, but %s", found(ps));
    accept_word(ps, "else");
    n->kids[2] = parse_expr(ps);
    n->loc     = loc_join(n->loc, n->kids[2]->loc);
    return complete(ps, n);
}

/* Suggests a remedy for a token that begins no expression. */
static const char *expression_hint(const Parser *ps)
{
    const bool after_range = ps->at && ps->tokens[ps->at - 1].kind == T_REST;
    if (at_kind(ps, T_LBRACKET))
        return no_lists;
    if (at_kind(ps, T_DOT))
        return after_range ? "a range has two dots: a..b" : "a number has a digit before its point: 0.5";
    return NULL;
}

static Ast *parse_primary(Parser *ps)
{
    const Token *t = look(ps, 0);
    if (t->kind == T_LPAREN)
        return parse_paren(ps);
    if (t->kind == T_LBRACE)
        return parse_block(ps);
    if (is_word(t, "if"))
        return parse_if(ps);
    if (t->kind != T_NAME && t->kind != T_INT && t->kind != T_FLOAT) {
        parse_error(ps, expression_hint(ps), "expected an expression, but %s", found(ps));
        return error_node(ps);
    }
    take(ps);
    Ast *a     = ast_new(ps->arena, t->kind == T_NAME ? AST_NAME : t->kind == T_INT ? AST_INT : AST_FLOAT, t->loc, 0);
    a->name    = t->name;
    a->integer = t->integer;
    a->real    = t->real;
    a->real32  = t->real32;
    return a;
}

/* ---- Arguments, clauses ----------------------------------------------------------------- */

bool at_clause(const Parser *ps)
{
    return at_word(ps, "for") && look(ps, 1)->kind == T_NAME && is_word(look(ps, 2), "in");
}

Clause *parse_clause(Parser *ps)
{
    Clause *c     = ARENA_NEW(ps->arena, Clause);
    NameVec names = { 0 };
    AstVec  lo = { 0 }, hi = { 0 };
    VEC(Loc) locs = { 0 };
    c->loc        = take(ps)->loc;
    do {
        Loc         loc  = { 0 };
        const char *name = expect_name(ps, "the name of a reduction variable", &loc);
        if (!name)
            break;
        vec_push(ps->arena, &names, name);
        vec_push(ps->arena, &locs, loc);
        expect_word(ps, "in", "after the name of a reduction variable");
        vec_push(ps->arena, &lo, parse_expr(ps));
        expect(ps, T_REST, "between the bounds of a reduction variable (half open: 0..3 is 0, 1, 2)");
        vec_push(ps->arena, &hi, parse_expr(ps));
    } while (!ps->panic && accept(ps, T_COMMA));
    c->count = (int)hi.count;
    c->names = names.at;
    c->locs  = locs.at;
    c->lo    = lo.at;
    c->hi    = hi.at;
    if (accept_word(ps, "where"))
        c->where = parse_expr(ps);
    return c;
}

static Ast *parse_argument(Parser *ps, Ast **label)
{
    *label                = NULL;
    const TokenKind after = look(ps, 1)->kind;
    if (at_kind(ps, T_REST) && (after == T_COMMA || after == T_RPAREN))
        return ast_new(ps->arena, AST_REST, take(ps)->loc, 0);
    Ast *a = parse_expr(ps);
    if (accept(ps, T_COLON)) {
        *label = a;
        a      = parse_expr(ps);
    }
    if (accept(ps, T_REST))
        a = node2(ps, AST_RANGE, T_REST, a, parse_expr(ps));
    return a;
}

Ast *parse_arguments(Parser *ps, Ast *callee)
{
    AstVec kids = { 0 }, labels = { 0 };
    vec_push(ps->arena, &kids, callee);
    vec_push(ps->arena, &labels, NULL);
    Ast *call = ast_new(ps->arena, AST_CALL, callee->loc, 0);
    if (!at_kind(ps, T_RPAREN)) {
        do {
            Ast *label;
            vec_push(ps->arena, &kids, parse_argument(ps, &label));
            vec_push(ps->arena, &labels, label);
        } while (!ps->panic && accept(ps, T_COMMA));
        if (at_clause(ps))
            call->clause = parse_clause(ps);
    }
    call->loc    = loc_join(call->loc, look(ps, 0)->loc);
    call->kids   = kids.at;
    call->labels = labels.at;
    call->count  = (int)kids.count;
    expect(ps, T_RPAREN, "or `,` in the arguments");
    return complete(ps, call);
}

static Ast *parse_field(Parser *ps, Ast *of)
{
    const Token *t = look(ps, 0);
    if (t->kind != T_NAME && t->kind != T_INT) {
        parse_error(ps, of->kind == AST_INT ? "a number has a digit behind its point: 1.0" : NULL,
                    "expected a name or the number of a tuple's component after `.`, but %s", found(ps));
        return of;
    }
    take(ps);
    Ast *f     = ast_new(ps->arena, AST_FIELD, loc_join(of->loc, t->loc), 1);
    f->kids[0] = of;
    f->name    = t->kind == T_NAME ? t->name : NULL;
    f->integer = t->integer;
    return complete(ps, f);
}

Ast *parse_postfix(Parser *ps)
{
    Ast *a = parse_primary(ps);
    while (!ps->panic) {
        if (accept(ps, T_LPAREN)) {
            a = parse_arguments(ps, a);
        } else if (accept(ps, T_LBRACKET)) {
            a      = node2(ps, AST_INDEX, T_LBRACKET, a, parse_expr(ps));
            a->loc = loc_join(a->loc, look(ps, 0)->loc);
            expect(ps, T_RBRACKET, "to close the index of a family");
        } else if (accept(ps, T_DOT)) {
            a = parse_field(ps, a);
        } else {
            break;
        }
    }
    return a;
}

/* ---- Operators -------------------------------------------------------------------------- */

static Ast *parse_operand(Parser *ps)
{
    if (!deeper(ps)) {
        ps->depth--;
        return error_node(ps);
    }
    Ast *a;
    if (at_kind(ps, T_SUB) || at_kind(ps, T_NOT) || at_kind(ps, T_BITNOT)) {
        const Token *t = take(ps);
        Ast         *e = parse_operand(ps);
        a              = ast_new(ps->arena, AST_UNARY, loc_join(t->loc, e->loc), 1);
        a->op          = t->kind;
        a->kids[0]     = e;
        a              = complete(ps, a);
    } else {
        a = parse_postfix(ps);
    }
    ps->depth--;
    return a;
}

/* Operators that other languages have and this one spells differently, or not at all. */
static void check_operator(Parser *ps, int binding, int previous)
{
    const int relation = bindings[T_LT];
    if (at_word(ps, "and") || at_word(ps, "or"))
        parse_error(ps, NULL, "`%s` is written `%s`", look(ps, 0)->name, at_word(ps, "and") ? "&&" : "||");
    else if (binding == relation && previous == relation)
        parse_error(ps, "compare two at a time: a < b && b < c", "comparisons cannot be chained");
    else if (at_kind(ps, T_MUL) && look(ps, 1)->kind == T_MUL)
        parse_error(ps, "write pow(a, b), or a*a", "there is no operator `**`");
}

static Ast *parse_binary(Parser *ps, int least)
{
    Ast *a = parse_operand(ps);
    for (int length = 0, previous = 0; !ps->panic; length++) {
        const Token *t = look(ps, 0);
        const int    b = bindings[t->kind];
        check_operator(ps, b, previous);
        if (!b || b < least)
            break;
        if (length == 1000)
            parse_error(ps, "split it: { let a = …  a + … }, or use sum(…)",
                        "this expression has more than 1000 operators in a row");
        take(ps);
        a        = node2(ps, AST_BINARY, t->kind, a, parse_binary(ps, b + 1));
        previous = b;
    }
    return a;
}

Ast *parse_expr(Parser *ps)
{
    return parse_binary(ps, 1);
}
