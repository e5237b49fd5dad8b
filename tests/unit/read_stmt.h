/* Statements read from the text that stmt_print writes, for tests: what is between a pass and its result is text.
 *
 * Types: numbers and names are i32; `i64(…)` and the like convert. Buffers are found by name in the program. */
#ifndef KILN_TESTS_READ_STMT_H
#define KILN_TESTS_READ_STMT_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/stmt.h"

typedef struct StmtReader {
    Program    *program;
    const char *at;
} StmtReader;

static const Expr *read_expr(StmtReader *r);
static const Stmt *read_block(StmtReader *r, int depth);

static void read_blanks(StmtReader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static void read_fail(StmtReader *r, const char *what)
{
    printf("cannot read the test's statement: %s expected at: %.40s\n", what, r->at);
    exit(1);
}

/* Takes the text if it is next; words end where they end. */
static bool read_take(StmtReader *r, const char *text)
{
    const size_t n = strlen(text);
    read_blanks(r);
    if (strncmp(r->at, text, n) ||
        (isalpha((unsigned char)text[n - 1]) && (isalnum((unsigned char)r->at[n]) || r->at[n] == '.')))
        return false;
    r->at += n;
    return true;
}

static void read_expect(StmtReader *r, const char *text)
{
    if (!read_take(r, text))
        read_fail(r, text);
}

static const char *read_name(StmtReader *r)
{
    read_blanks(r);
    const char *start = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '.')
        r->at++;
    if (start == r->at)
        read_fail(r, "a name");
    return intern_n(r->program->cx, start, (size_t)(r->at - start));
}

static const Buffer *read_buffer(StmtReader *r, const char *name)
{
    for (size_t i = 0; i < r->program->buffers.count; i++)
        if (r->program->buffers.at[i]->name == name)
            return r->program->buffers.at[i];
    read_fail(r, "a buffer");
    return NULL;
}

static kn_type read_type(const char *name)
{
    for (int t = 0; t < KN_TYPE_COUNT; t++)
        if (type_table[t].name && !strcmp(type_table[t].name, name))
            return (kn_type)t;
    return KN_NONE;
}

static const Expr *read_call(StmtReader *r, const char *name)
{
    ExprPool   *pool = r->program->exprs;
    const Expr *a    = read_expr(r);
    int64_t     v;
    if (read_take(r, ")")) {
        const kn_type t = read_type(name);
        if (t == KN_NONE)
            return expr_unary(pool, EX_ABS, (kn_type)a->type, a);
        return expr_is_int(a, &v) ? expr_int(pool, t, v) : expr_unary(pool, EX_CAST, t, a);
    }
    read_expect(r, ",");
    const Expr *b = read_expr(r);
    read_expect(r, ")");
    return expr_binary(pool, strcmp(name, "min") ? EX_MAX : EX_MIN, (kn_type)a->type, a, b);
}

static long long read_integer(StmtReader *r)
{
    char           *end;
    const long long value = strtoll(r->at, &end, 10);
    r->at                 = end;
    return value;
}

static const Expr *read_atom(StmtReader *r)
{
    ExprPool *pool = r->program->exprs;
    read_blanks(r);
    if (read_take(r, "(")) {
        const Expr *e = read_expr(r);
        read_expect(r, ")");
        return e;
    }
    if (read_take(r, "!"))
        return expr_unary(pool, EX_BIT_NOT, KN_BOOL, read_atom(r));
    if (read_take(r, "true"))
        return expr_bool(pool, true);
    if (read_take(r, "false"))
        return expr_bool(pool, false);
    if (isdigit((unsigned char)*r->at) || (*r->at == '-' && isdigit((unsigned char)r->at[1])))
        return expr_int(pool, KN_I32, read_integer(r));
    if (read_take(r, "-")) {
        const Expr *e = read_atom(r);
        return expr_unary(pool, EX_NEG, (kn_type)e->type, e);
    }
    const char *name = read_name(r);
    if (read_take(r, "("))
        return read_call(r, name);
    if (read_take(r, "[")) {
        const Buffer *b = read_buffer(r, name);
        const Expr   *i = read_expr(r);
        read_expect(r, "]");
        return expr_load(pool, b, b->type, i);
    }
    return expr_var(pool, KN_I32, name);
}

static const struct {
    const char *text;
    ExprOp      op;
    int         level;
} read_operators[] = {
    { "||", EX_OR, 1 }, { "&&", EX_AND, 2 }, { "==", EX_EQ, 3 }, { "!=", EX_NE, 3 },
    { "<=", EX_LE, 4 }, { "<", EX_LT, 4 },   { "+", EX_ADD, 5 }, { "-", EX_SUB, 5 },
    { "*", EX_MUL, 6 }, { "/", EX_DIV, 6 },  { "%", EX_MOD, 6 },
};

static const Expr *read_level(StmtReader *r, int level)
{
    const Expr *a = level > 6 ? read_atom(r) : read_level(r, level + 1);
    for (size_t i = 0; level <= 6 && i < sizeof read_operators / sizeof *read_operators; i++)
        if (read_operators[i].level == level && read_take(r, read_operators[i].text)) {
            const Expr *b = read_level(r, level + 1);
            a = expr_binary(r->program->exprs, read_operators[i].op, level < 5 ? KN_BOOL : (kn_type)a->type, a, b);
            i = (size_t)-1;
        }
    return a;
}

static const Expr *read_expr(StmtReader *r)
{
    if (!read_take(r, "if"))
        return read_level(r, 1);
    const Expr *c = read_expr(r);
    read_expect(r, "then");
    const Expr *a = read_expr(r);
    read_expect(r, "else");
    const Expr *b = read_expr(r);
    return expr_ternary(r->program->exprs, EX_SELECT, (kn_type)a->type, c, a, b);
}

static const Stmt *read_body(StmtReader *r, int depth)
{
    read_expect(r, ":");
    read_expect(r, "\n");
    return read_block(r, depth + 1);
}

static const Stmt *read_alloc(StmtReader *r, int depth)
{
    Stmt *s = arena_alloc(r->program->arena, sizeof *s);
    s->kind = STMT_ALLOC;
    read_name(r);
    s->alloc.buffer = read_buffer(r, read_name(r));
    read_expect(r, "[");
    s->alloc.count = read_expr(r);
    read_expect(r, "]");
    s->alloc.body = read_body(r, depth);
    return s;
}

static const Stmt *read_check(StmtReader *r)
{
    Stmt *s            = arena_alloc(r->program->arena, sizeof *s);
    s->kind            = STMT_CHECK;
    s->check.status    = KN_ERROR_BOUNDS;
    s->check.condition = read_expr(r);
    read_expect(r, "else \"");
    s->check.message = arena_strndup(r->program->arena, r->at, strcspn(r->at, "\""));
    r->at += strlen(s->check.message);
    read_expect(r, "\"");
    read_expect(r, "\n");
    return s;
}

static bool read_indent(StmtReader *r, int depth)
{
    int n = 0;
    while (r->at[n] == ' ')
        n++;
    if (!r->at[n] || n != 2 * depth)
        return false;
    r->at += n;
    return true;
}

static const Stmt *read_statement(StmtReader *r, int depth)
{
    Arena *a = r->program->arena;
    if (read_take(r, "let")) {
        const char *name = read_name(r);
        read_expect(r, "=");
        const Expr *value = read_expr(r);
        read_expect(r, "\n");
        return stmt_let(a, name, value, read_block(r, depth));
    }
    for (int k = 0; k < 4; k++)
        if (read_take(r, loop_kind_names[k])) {
            const char *name = read_name(r);
            read_expect(r, "from");
            const Expr *min = read_expr(r);
            read_expect(r, "extent");
            const Expr *extent = read_expr(r);
            return stmt_for(a, name, (LoopKind)k, min, extent, read_body(r, depth));
        }
    if (read_take(r, "if")) {
        const Expr *c   = read_expr(r);
        const Stmt *yes = read_body(r, depth), *no = NULL;
        const char *back = r->at;
        if (read_indent(r, depth) && read_take(r, "else"))
            no = read_body(r, depth);
        else
            r->at = back;
        return stmt_if(a, c, yes, no);
    }
    if (read_take(r, "alloc"))
        return read_alloc(r, depth);
    if (read_take(r, "check"))
        return read_check(r);
    const Buffer *b = read_buffer(r, read_name(r));
    read_expect(r, "[");
    const Expr *index = read_expr(r);
    read_expect(r, "]");
    read_expect(r, "=");
    const Expr *value = read_expr(r);
    read_expect(r, "\n");
    return stmt_store(a, b, index, value);
}

/* The lines of this depth, up to one of less. */
static const Stmt *read_block(StmtReader *r, int depth)
{
    const Stmt *s = NULL;
    while (read_indent(r, depth))
        s = stmt_pair(r->program->arena, s, read_statement(r, depth));
    return s;
}

static const Stmt *read_stmt(Program *program, const char *text)
{
    StmtReader  r = { program, text };
    const Stmt *s = read_block(&r, 0);
    if (*r.at)
        read_fail(&r, "a statement");
    return s;
}

#endif
