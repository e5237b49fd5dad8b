/* See tiny.h: recursive descent, straight into expressions. */
#include "tiny.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Tiny {
    kn_context  *cx;
    kn_pipeline *p;
    const char  *at;
} Tiny;

static const Expr *expression(Tiny *t);

static void space(Tiny *t)
{
    while (isspace((unsigned char)*t->at))
        t->at++;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Takes `s` if it is next (as a whole word, if it is one). */
static bool take(Tiny *t, const char *s)
{
    space(t);
    const size_t n = strlen(s);
    if (strncmp(t->at, s, n) || (is_word(s[n - 1]) && is_word(t->at[n])))
        return false;
    t->at += n;
    return true;
}

static void need(Tiny *t, const char *s)
{
    if (!take(t, s)) {
        fprintf(stderr, "tiny: expected '%s' at '%.30s'\n", s, t->at);
        exit(2);
    }
}

static const char *name(Tiny *t)
{
    space(t);
    const char *start = t->at;
    while (is_word(*t->at))
        t->at++;
    return intern_n(t->cx, start, (size_t)(t->at - start));
}

static Func *find(Tiny *t, const char *n)
{
    for (size_t i = 0; i < t->p->funcs.count; i++)
        if (t->p->funcs.at[i]->name == n)
            return t->p->funcs.at[i];
    return NULL;
}

static const Expr *cast(Tiny *t, kn_type type, const Expr *e)
{
    if (e->type == type)
        return e;
    if (e->op == EX_INT)
        return type_is_float(type) ? expr_float(&t->p->exprs, type, (double)e->u.i) : expr_int(&t->p->exprs, type, e->u.i);
    return expr_unary(&t->p->exprs, EX_CAST, type, e);
}

/* Two operands at their common type; a literal takes the other's. */
static const Expr *binary(Tiny *t, ExprOp op, const Expr *a, const Expr *b)
{
    const kn_type type = a->op == EX_INT ? b->type : b->op == EX_INT ? a->type : type_meet(a->type, b->type);
    const bool    is_bool = op == EX_LT || op == EX_LE || op == EX_EQ || op == EX_NE || op == EX_AND || op == EX_OR;
    return expr_binary(&t->p->exprs, op, is_bool ? KN_BOOL : type, cast(t, type, a), cast(t, type, b));
}

static const struct {
    const char *text;
    ExprOp      op;
    int         count;
} functions[] = { { "min", EX_MIN, 2 }, { "max", EX_MAX, 2 }, { "abs", EX_ABS, 1 }, { "floor", EX_FLOOR, 1 } };

static const Expr *call(Tiny *t, const char *n)
{
    const Expr *args[KN_MAX_RANK];
    int         count = 0;
    while (!take(t, ")")) {
        args[count++] = expression(t);
        take(t, ",");
    }
    if (kn_type_from_name(n))
        return cast(t, kn_type_from_name(n), args[0]);
    if (!strcmp(n, "clamp"))
        return binary(t, EX_MIN, binary(t, EX_MAX, args[0], args[1]), args[2]);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(n, functions[i].text))
            return count == 1 ? expr_unary(&t->p->exprs, functions[i].op, args[0]->type, args[0]) : binary(t, functions[i].op, args[0], args[1]);
    const Func *f = find(t, n);
    if (!f || f->rank != count) {
        fprintf(stderr, "tiny: bad call of %s\n", n);
        exit(2);
    }
    for (int i = 0; i < count; i++)
        args[i] = cast(t, KN_I32, args[i]);
    return expr_call(&t->p->exprs, f, 0, f->types[0], count, args);
}

static const Expr *primary(Tiny *t)
{
    if (take(t, "(")) {
        const Expr *e = expression(t);
        need(t, ")");
        return e;
    }
    if (take(t, "-"))
        return binary(t, EX_SUB, expr_int(&t->p->exprs, KN_I32, 0), primary(t));
    space(t);
    if (isdigit((unsigned char)*t->at)) {
        char         *end;
        const int64_t v = strtoll(t->at, &end, 10);
        if (*end == '.' && isdigit((unsigned char)end[1])) {
            const double f = strtod(t->at, &end);
            t->at          = end;
            return expr_float(&t->p->exprs, KN_F32, f);
        }
        t->at = end;
        return expr_int(&t->p->exprs, KN_I32, v);
    }
    const char *n = name(t);
    if (take(t, "("))
        return call(t, n);
    for (size_t i = 0; i < t->p->params.count; i++)
        if (t->p->params.at[i]->name == n)
            return expr_param(&t->p->exprs, t->p->params.at[i]->type, t->p->params.at[i]);
    const Func *f = find(t, n);
    if (f && take(t, ".")) {
        const char *dim = name(t);
        int         d   = 0;
        while (d < f->rank && f->args[d] != dim)
            d++;
        need(t, ".");
        return expr_dim(&t->p->exprs, !strcmp(name(t), "min") ? EX_DIM_MIN : EX_DIM_EXTENT, f, d);
    }
    return expr_var(&t->p->exprs, KN_I32, n);
}

static const struct {
    const char *text;
    ExprOp      op;
    int         level;
    bool        swap;
} operators[] = {
    { "||", EX_OR, 0, false }, { "&&", EX_AND, 1, false }, { "==", EX_EQ, 2, false }, { "!=", EX_NE, 2, false }, { "<=", EX_LE, 3, false },
    { ">=", EX_LE, 3, true },  { "<", EX_LT, 3, false },   { ">", EX_LT, 3, true },   { "+", EX_ADD, 4, false }, { "-", EX_SUB, 4, false },
    { "*", EX_MUL, 5, false }, { "/", EX_DIV, 5, false },  { "%", EX_MOD, 5, false },
};

static const Expr *level(Tiny *t, int at)
{
    if (at == 6)
        return primary(t);
    const Expr *a = level(t, at + 1);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].level == at && take(t, operators[i].text)) {
            const Expr *b = level(t, at + 1);
            a             = operators[i].swap ? binary(t, operators[i].op, b, a) : binary(t, operators[i].op, a, b);
            i             = (size_t)-1;
        }
    return a;
}

static const Expr *expression(Tiny *t)
{
    if (!take(t, "if"))
        return level(t, 0);
    const Expr *c = expression(t);
    need(t, "then");
    const Expr *a = expression(t);
    need(t, "else");
    const Expr   *b    = expression(t);
    const kn_type type = a->op == EX_INT ? b->type : b->op == EX_INT ? a->type : type_meet(a->type, b->type);
    return expr_ternary(&t->p->exprs, EX_SELECT, type, c, cast(t, type, a), cast(t, type, b));
}

static Func *add_func(Tiny *t, FuncKind kind, const char *n, int rank, const char *const *args, kn_type type)
{
    Func *f            = ARENA_NEW(&t->p->arena, Func);
    *f                 = (Func){ .name = n, .kind = kind, .id = (int)t->p->funcs.count, .rank = rank, .component_count = 1 };
    f->args            = ARENA_ARRAY(&t->p->arena, const char *, KN_MAX_RANK);
    f->types           = ARENA_NEW(&t->p->arena, kn_type);
    f->values          = ARENA_NEW(&t->p->arena, const Expr *);
    f->updates         = ARENA_ARRAY(&t->p->arena, Update, 8);
    f->types[0]        = type;
    for (int d = 0; d < rank; d++)
        f->args[d] = args[d];
    vec_push(&t->p->arena, &t->p->funcs, f);
    return f;
}

static int names(Tiny *t, const char **out)
{
    int count = 0;
    need(t, "(");
    while (!take(t, ")")) {
        out[count++] = name(t);
        take(t, ",");
    }
    return count;
}

static void input(Tiny *t)
{
    const char *args[KN_MAX_RANK], *n = name(t);
    need(t, ":");
    const kn_type type = kn_type_from_name(name(t));
    const int     rank = names(t, args);
    add_func(t, FUNC_INPUT, n, rank, args, type);
}

static void param(Tiny *t)
{
    Param *p = ARENA_NEW(&t->p->arena, Param);
    p->name  = name(t);
    need(t, ":");
    p->type = kn_type_from_name(name(t));
    vec_push(&t->p->arena, &t->p->params, p);
}

static void update(Tiny *t, Func *f)
{
    Update *u  = &f->updates[f->update_count++];
    u->args    = ARENA_ARRAY(&t->p->arena, const Expr *, KN_MAX_RANK);
    u->values  = ARENA_NEW(&t->p->arena, const Expr *);
    u->rvars   = ARENA_ARRAY(&t->p->arena, RVar, 4);
    u->is_free = ARENA_ARRAY(&t->p->arena, bool, KN_MAX_RANK);
    need(t, "(");
    for (int d = 0; !take(t, ")"); d++) {
        u->args[d] = cast(t, KN_I32, expression(t));
        take(t, ",");
    }
    need(t, "=");
    u->values[0] = cast(t, f->types[0], expression(t));
    if (take(t, "for")) {
        do {
            RVar *r = &u->rvars[u->rvar_count++];
            r->name = name(t);
            need(t, "in");
            r->lo = cast(t, KN_I32, expression(t));
            need(t, "..");
            r->hi = cast(t, KN_I32, expression(t));
        } while (take(t, ","));
    }
    if (take(t, "where"))
        u->where = expression(t);
    for (int d = 0; d < f->rank; d++)
        u->is_free[d] = u->args[d]->op == EX_VAR && u->args[d]->u.name == f->args[d];
}

static void definition(Tiny *t)
{
    const char *args[KN_MAX_RANK] = { 0 }, *n = name(t);
    if (find(t, n)) {
        update(t, find(t, n));
        return;
    }
    const int rank = names(t, args);
    need(t, "=");
    const Expr *e = expression(t);
    Func       *f = add_func(t, FUNC_DEFINED, n, rank, args, (kn_type)e->type);
    f->values[0]  = e;
}

kn_pipeline *tiny_parse(kn_context *cx, const char *text)
{
    kn_pipeline *p = ARENA_NEW(&cx->arena, kn_pipeline);
    p->cx          = cx;
    arena_init(&p->arena, cx);
    expr_pool_init(&p->exprs, cx, &p->arena);
    Tiny t = { cx, p, text };
    const char *output[8];
    int         outputs = 0;
    for (space(&t); *t.at; space(&t)) {
        if (take(&t, "input"))
            input(&t);
        else if (take(&t, "param"))
            param(&t);
        else if (take(&t, "output"))
            output[outputs++] = name(&t);
        else
            definition(&t);
    }
    for (int i = 0; i < outputs; i++)
        vec_push(&p->arena, &p->outputs, ((Output){ .name = output[i], .func = find(&t, output[i]) }));
    return p;
}

void tiny_free(kn_context *cx, kn_pipeline *p)
{
    if (p)
        arena_free(&p->arena);
    arena_free(&cx->call);
    arena_free(&cx->arena);
    free(cx);
}
