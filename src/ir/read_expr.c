/* SPDX-License-Identifier: MIT */
/* Expressions read from text: names, numbers, and operators by the table of ir/expr.h. */
#include "ir/reader.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_OPERANDS = 64 };

void *read_fail(Reader *r, const char *expected)
{
    if (!r->failed && r->at >= r->furthest) {
        r->furthest = r->at;
        r->expected = expected;
    }
    r->failed = true;
    return NULL;
}

/* ---- Words -------------------------------------------------------------------------------- */

static void skip_blanks(Reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '@';
}

bool read_take(Reader *r, const char *text)
{
    const size_t n = strlen(text);
    skip_blanks(r);
    if (r->failed || strncmp(r->at, text, n) != 0 || (isalnum((unsigned char)text[n - 1]) && is_name_char(r->at[n])))
        return false;
    r->at += n;
    return true;
}

bool read_is_next(Reader *r, const char *text)
{
    const char *back = r->at;
    const bool  is   = read_take(r, text);
    r->at            = back;
    return is;
}

void read_expect(Reader *r, const char *text)
{
    if (!read_take(r, text))
        read_fail(r, text);
}

/* Does the program know the name? */
static bool is_known(const Reader *r, const char *name)
{
    if (map_get(&r->types, name) || map_get(&r->funcs, name))
        return true;
    for (size_t i = 0; i < r->program->buffers.count; i++)
        if (r->program->buffers.at[i]->name == name)
            return true;
    return false;
}

/* Where a name may end: "g[2].x" is one, and so are "g" and "g[2]". Gives how many there are. */
static int name_ends(Reader *r, size_t ends[MOST_OPERANDS])
{
    int    count = 0;
    size_t n     = 0;
    skip_blanks(r);
    while (!r->failed && count < MOST_OPERANDS) {
        while (is_name_char(r->at[n]))
            n++;
        if (!n)
            break;
        ends[count++] = n;
        size_t digits = 1;
        while (r->at[n] == '[' && isdigit((unsigned char)r->at[n + digits]))
            digits++;
        if (digits == 1 || r->at[n + digits] != ']')
            break;
        n += digits + 1;
    }
    return count;
}

const char *read_name(Reader *r)
{
    size_t    ends[MOST_OPERANDS];
    const int count = name_ends(r, ends);
    if (!count)
        return read_fail(r, "a name");
    const char *name = intern_n(r->program->cx, r->at, ends[count - 1]);
    r->at += ends[count - 1];
    return name;
}

const char *read_known_name(Reader *r)
{
    size_t    ends[MOST_OPERANDS];
    const int count = name_ends(r, ends);
    for (int i = count - 1; i >= 0; i--) {
        const char *name = intern_n(r->program->cx, r->at, ends[i]);
        if (is_known(r, name)) {
            r->at += ends[i];
            return name;
        }
    }
    return read_name(r);
}

static kn_type type_named(const char *name)
{
    for (int t = 0; name && t < KN_TYPE_COUNT; t++)
        if (type_table[t].name && !strcmp(type_table[t].name, name))
            return (kn_type)t;
    return KN_NONE;
}

kn_type read_type(Reader *r)
{
    const char   *at   = r->at;
    const kn_type type = type_named(read_name(r));
    if (type == KN_NONE) {
        r->at = at;
        read_fail(r, "a type");
    }
    return type;
}

int64_t read_integer(Reader *r)
{
    char *end;
    skip_blanks(r);
    const int64_t value = strtoll(r->at, &end, 10);
    if (end == r->at)
        read_fail(r, "a number");
    r->at = end;
    return value;
}

const char *read_quoted(Reader *r)
{
    read_expect(r, "\"");
    char  *s = arena_alloc(r->program->arena, strcspn(r->at, "\n") + 1);
    size_t n = 0;
    for (; *r->at != '"' && *r->at != '\n' && *r->at; r->at++) {
        if (*r->at == '\\')
            r->at++;
        s[n++] = r->at[-1] == '\\' && *r->at == 'n' ? '\n' : *r->at;
    }
    read_expect(r, "\"");
    return s;
}

const Buffer *read_buffer(Reader *r)
{
    const char *at = r->at, *name = read_known_name(r);
    size_t      i = 0;
    if (!r->failed && *r->at == '#') {
        r->at++;
        i = (size_t)read_integer(r);
    }
    while (i < r->program->buffers.count && r->program->buffers.at[i]->name != name)
        i++;
    if (i < r->program->buffers.count)
        return r->program->buffers.at[i];
    r->at = at;
    return read_fail(r, "a buffer");
}

const Func *read_func(Reader *r)
{
    const char *at = r->at, *name = read_known_name(r);
    const Func *f = name ? map_get(&r->funcs, name) : NULL;
    if (!f)
        r->at = at;
    return f ? f : read_fail(r, "a function");
}

void read_bind(Reader *r, const char *name, kn_type type)
{
    if (name)
        map_set(&r->types, name, &type_table[type]);
}

/* ---- Atoms -------------------------------------------------------------------------------- */

/* An integer or a float of that type; KN_NONE: i32, or f32 if it has a point or an exponent. */
static const Expr *read_number(Reader *r, kn_type type)
{
    ExprPool    *pool = r->program->exprs;
    char        *end;
    const char  *digits = r->at + (*r->at == '-');
    const size_t n      = strspn(digits, "0123456789");
    const bool   whole  = n && digits[n] != '.' && digits[n] != 'e';
    if (type == KN_NONE)
        type = whole ? KN_I32 : KN_F32;
    const double value = strtod(r->at, &end);
    const Expr  *e     = type_is_float(type) ? expr_float(pool, type, value)
                         : *r->at == '-'     ? expr_int(pool, type, strtoll(r->at, NULL, 10))
                                             : expr_int(pool, type, (int64_t)strtoull(r->at, NULL, 10));
    r->at              = end;
    return e;
}

static bool is_number(const char *s)
{
    return isdigit((unsigned char)s[*s == '-']) || !strncmp(s, "nan)", 4) || !strncmp(s, "inf)", 4) ||
           !strncmp(s, "-inf)", 5);
}

static int read_list(Reader *r, const Expr **args, const char *end)
{
    int count = 0;
    if (read_take(r, end))
        return 0;
    do {
        if (count == MOST_OPERANDS) {
            read_fail(r, "fewer operands");
            return 0;
        }
        args[count++] = read_expr(r);
    } while (read_take(r, ","));
    read_expect(r, end);
    return r->failed ? 0 : count;
}

static kn_type unsigned_of(kn_type t)
{
    switch (t) {
    case KN_I8: return KN_U8;
    case KN_I16: return KN_U16;
    case KN_I32: return KN_U32;
    case KN_I64: return KN_U64;
    default: return t;
    }
}

/* Do the operands have one type, where the operator asks for that? */
static bool types_agree(ExprOp op, int count, const Expr *const *args)
{
    if (op == EX_SELECT)
        return args[0]->type == KN_BOOL && args[1]->type == args[2]->type;
    for (int i = 1; i < count && op != EX_SHL && op != EX_SHR; i++)
        if (args[i]->type != args[0]->type && !(op == EX_MUL_SHIFT && i == 2))
            return false;
    return true;
}

static const Expr *make_op(Reader *r, ExprOp op, int count, const Expr *const *args)
{
    if (!types_agree(op, count, args))
        return read_fail(r, "operands of one type");
    ExprPool        *pool = r->program->exprs;
    const ExprTyping from = expr_op_table[op].typing;
    const kn_type    type = from == TYPE_BOOL       ? KN_BOOL
                            : from == TYPE_UNSIGNED ? unsigned_of((kn_type)args[0]->type)
                                                    : (kn_type)args[from == TYPE_SECOND]->type;
    return count == 1   ? expr_unary(pool, op, type, args[0])
           : count == 2 ? expr_binary(pool, op, type, args[0], args[1])
                        : expr_ternary(pool, op, type, args[0], args[1], args[2]);
}

/* "i64(x)", "sat_u8(x)", "convert_f64(0.5)": false if the name is none of these. */
static bool read_conversion(Reader *r, const char *name, const Expr **e)
{
    static const struct {
        const char *prefix;
        ExprOp      op;
    } rows[] = {
        { "sat_", EX_SAT_CAST }, { "reinterpret_", EX_REINTERPRET }, { "convert_", EX_CAST }, { "", EX_CAST }
    };
    size_t  i    = 0;
    kn_type type = KN_NONE;
    for (; i < sizeof rows / sizeof *rows && type == KN_NONE; i++)
        if (!strncmp(name, rows[i].prefix, strlen(rows[i].prefix)))
            type = type_named(name + strlen(rows[i].prefix));
    if (type == KN_NONE || !read_take(r, "("))
        return false;
    if (!*rows[i - 1].prefix && is_number(r->at)) {
        const char *at = r->at;
        *e             = read_number(r, type);
        if (read_take(r, ")"))
            return true;
        r->at = at;
    }
    const Expr *a = read_expr(r);
    read_expect(r, ")");
    *e = r->failed ? NULL : expr_unary(r->program->exprs, rows[i - 1].op, type, a);
    return true;
}

/* min(a, b) and the like: false if the name is none of these. */
static bool read_function(Reader *r, const char *name, const Expr **e)
{
    const Expr *args[MOST_OPERANDS];
    int         op = EX_NEG;
    while (op < EX_COUNT && (expr_op_table[op].binding || strcmp(expr_op_table[op].text, name) != 0))
        op++;
    if (op == EX_COUNT || !read_take(r, "("))
        return false;
    const int count = read_list(r, args, ")");
    if (!r->failed && count != expr_op_table[op].arity)
        read_fail(r, "as many operands as the operator has");
    *e = r->failed ? NULL : make_op(r, (ExprOp)op, count, args);
    return true;
}

static const Expr *read_call(Reader *r, const Func *f)
{
    const Expr *args[MOST_OPERANDS];
    read_expect(r, "(");
    const int count = read_list(r, args, ")");
    int       part  = 0;
    if (f->component_count > 1 && !r->failed) {
        read_expect(r, ".");
        part = (int)read_integer(r);
    }
    if (!r->failed && (count != f->rank || part < 0 || part >= f->component_count))
        return read_fail(r, "as many arguments as the function has");
    return r->failed ? NULL : expr_call(r->program->exprs, f, part, f->types[part], count, args);
}

static const Expr *read_extern(Reader *r, kn_type type)
{
    const Expr *args[MOST_OPERANDS];
    const char *name = read_name(r);
    read_expect(r, "(");
    const int count = read_list(r, args, ")");
    return r->failed ? NULL : expr_extern(r->program->exprs, name, type, count, args);
}

/* A node as it is, with `strict` set. */
static const Expr *read_strict(Reader *r)
{
    const Expr *e = read_expr(r);
    read_expect(r, ")");
    if (r->failed)
        return NULL;
    Expr *like = arena_alloc(r->program->arena, sizeof *like);
    memcpy(like, e, sizeof *like);
    like->strict = true;
    return expr_rebuild(r->program->exprs, like, e->args);
}

static const Expr *read_variable(Reader *r, const char *name)
{
    for (size_t i = 0; i < r->program->params.count; i++)
        if (!strcmp(r->program->params.at[i]->name, name) && !map_get(&r->types, name))
            return expr_param(r->program->exprs, r->program->params.at[i]->type, r->program->params.at[i]);
    const TypeInfo *bound = map_get(&r->types, name);
    const char     *point = strstr(name, ".stride.");
    const size_t    n     = strlen(name);
    const bool      wide  = point || (n > 6 && !strcmp(name + n - 6, ".count"));
    return expr_var(r->program->exprs, bound ? (kn_type)(bound - type_table) : wide ? KN_I64 : KN_I32, name);
}

static const Expr *read_named(Reader *r)
{
    const char *name = read_known_name(r);
    const Expr *e    = NULL;
    if (r->failed)
        return NULL;
    if (!strcmp(name, "true") || !strcmp(name, "false"))
        return expr_bool(r->program->exprs, *name == 't');
    if (!strcmp(name, "strict") && read_take(r, "("))
        return read_strict(r);
    if (!strncmp(name, "extern_", 7) && type_named(name + 7) != KN_NONE)
        return read_extern(r, type_named(name + 7));
    const Func *f = map_get(&r->funcs, name);
    if (f && *r->at == '(')
        return read_call(r, f);
    if (*r->at == '[' || *r->at == '#') {
        r->at -= strlen(name);
        const Buffer *b = read_buffer(r);
        read_expect(r, "[");
        const Expr *index = read_expr(r);
        read_expect(r, "]");
        return r->failed ? NULL : expr_load(r->program->exprs, b, b->type, index);
    }
    if (*r->at == '(' && (read_conversion(r, name, &e) || read_function(r, name, &e)))
        return e;
    return *r->at == '(' ? read_fail(r, "a function") : read_variable(r, name);
}

static const Expr *read_operand(Reader *r);

static const Expr *read_sign(Reader *r, ExprOp op)
{
    const Expr *e = read_operand(r);
    return r->failed ? NULL : make_op(r, op, 1, &e);
}

static const Expr *read_operand(Reader *r)
{
    skip_blanks(r);
    if (r->failed)
        return NULL;
    if (is_number(r->at))
        return read_number(r, KN_NONE);
    if (read_take(r, "(")) {
        const Expr *e = read_expr(r);
        read_expect(r, ")");
        return e;
    }
    if (read_take(r, "-"))
        return read_sign(r, EX_NEG);
    if (read_take(r, "~") || read_take(r, "!"))
        return read_sign(r, EX_BIT_NOT);
    if (*r->at == '%') {
        r->at++;
        const int64_t n = read_integer(r);
        return n > 0 && (size_t)n <= r->numbered.count ? r->numbered.at[n - 1] : read_fail(r, "the number of a line");
    }
    return read_named(r);
}

/* ---- Operators ---------------------------------------------------------------------------- */

/* The binary operator that is next, the longest; EX_COUNT: none. */
static ExprOp next_operator(Reader *r)
{
    ExprOp best   = EX_COUNT;
    size_t length = 0;
    skip_blanks(r);
    for (int op = 0; op < EX_COUNT; op++) {
        const ExprOpInfo *info = &expr_op_table[op];
        const size_t      n    = strlen(info->text);
        if (info->binding && info->arity == 2 && n > length && !strncmp(r->at, info->text, n)) {
            best   = (ExprOp)op;
            length = n;
        }
    }
    return best;
}

static const Expr *read_binary(Reader *r, int least)
{
    const Expr *a = read_operand(r);
    while (!r->failed) {
        const ExprOp op = next_operator(r);
        if (op == EX_COUNT || expr_op_table[op].binding < least)
            break;
        r->at += strlen(expr_op_table[op].text);
        const Expr *b = read_binary(r, expr_op_table[op].binding + 1);
        if (!r->failed)
            a = make_op(r, op, 2, (const Expr *[]){ a, b });
    }
    return r->failed ? NULL : a;
}

const Expr *read_expr(Reader *r)
{
    if (!read_take(r, "if"))
        return read_binary(r, 1);
    const Expr *args[3];
    args[0] = read_expr(r);
    read_expect(r, "then");
    args[1] = read_expr(r);
    read_expect(r, "else");
    args[2] = read_expr(r);
    return r->failed ? NULL : make_op(r, EX_SELECT, 3, args);
}
