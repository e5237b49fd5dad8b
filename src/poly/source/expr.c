/* SPDX-License-Identifier: MIT */
/* Expressions without side effects, typed while they are read.
 *
 * Takes   tokens.
 * Gives   a CExpr; NULL after a refusal.
 * Holds   a value is a number; arrays, rows of arrays and structs are only on the way to one (Designator). */
#include "poly/source/parser.h"

enum { MOST_DEPTH = 200, MOST_RANK = 16 };

/* What a name, subscripts and fields denote so far. */
typedef struct Designator {
    CEntry      *entry;
    const char  *name; /* "s.field" */
    const CType *root; /* the type of what has that name */
    const CType *type; /* behind the subscripts */
    int          count;
    const CExpr *subscripts[MOST_RANK];
    size_t       at;
} Designator;

static const CExpr *read_choice(Parser *p);

/* ---- Names, subscripts, fields ---- */

static bool subscript(Parser *p, Designator *d)
{
    const size_t at = p->at++;
    if (d->type->kind != CTYPE_ARRAY && d->type->kind != CTYPE_POINTER)
        return refuse(p, at, NULL, "`%s` has no more than %d subscript%s", d->name, d->count, d->count == 1 ? "" : "s");
    if (d->count == MOST_RANK)
        return refuse(p, at, NULL, "`%s` has more than %d subscripts", d->name, MOST_RANK);
    const CExpr *e = read_expr(p);
    if (!e || !expect(p, "]", "behind a subscript"))
        return false;
    if (!c_is_integer(e->type))
        return refuse(p, at + 1, NULL, "a subscript of `%s` is no integer", d->name);
    d->subscripts[d->count++] = convert(p, e, c_promote(e->type));
    d->type                   = d->type->of;
    return true;
}

static bool field(Parser *p, Designator *d)
{
    const bool   arrow = is(p, "->");
    const size_t at    = p->at++;
    const CType *type  = arrow && d->type->kind == CTYPE_POINTER ? d->type->of : arrow ? NULL : d->type;
    if (d->count > 0)
        return refuse(p, at, "use one array for each field", "`%s` has structs for elements", d->name);
    if (!type || type->kind != CTYPE_STRUCT || token(p)->kind != CT_NAME)
        return refuse(p, at, NULL, "`%s` is no struct whose fields are known", d->name);
    for (int i = 0; i < type->count; i++)
        if (!strcmp(type->fields[i].name, token(p)->text)) {
            d->name = arena_printf(p->arena, "%s%s%s", d->name, arrow ? "->" : ".", token(p)->text);
            d->type = d->root = type->fields[i].type;
            p->at++;
            return true;
        }
    return refuse(p, p->at, NULL, "%s has no field `%s`", type->spelling, token(p)->text);
}

static const CExpr *unknown_name(Parser *p, size_t at)
{
    const char *name = p->tokens.items.at[at].text;
    return refuse(p, at, "declare it before the region", "`%s` is not declared, or its declaration is not understood",
                  name);
}

static const CExpr *designated(Parser *p, const Designator *d)
{
    if (d->type->kind == CTYPE_ARRAY || d->type->kind == CTYPE_POINTER)
        return refuse(p, d->at, "give it all its subscripts", "`%s` is an array here, not a number", d->name);
    if (d->type->kind == CTYPE_STRUCT)
        return refuse(p, d->at, "assign its fields one by one", "`%s` is a struct here, not a number", d->name);
    const CNamed *s = region_symbol(p, d->entry, d->name, d->root, d->at);
    if (!s)
        return NULL;
    CExpr *e  = new_expr(p, d->count ? CEXPR_INDEX : CEXPR_NAME, s->symbol.type, d->at);
    e->symbol = &s->symbol;
    e->count  = d->count;
    e->args   = ARENA_ARRAY(p->arena, const CExpr *, (size_t)d->count);
    for (int i = 0; i < d->count; i++)
        e->args[i] = d->subscripts[i];
    return e;
}

static const CExpr *read_designator(Parser *p)
{
    Designator d = { .at = p->at, .name = token(p)->text };
    d.entry      = scope_find(p, d.name);
    if (!d.entry || d.entry->kind == ENTRY_TYPEDEF)
        return unknown_name(p, p->at);
    if (d.entry->type->kind == CTYPE_OTHER)
        return refuse(p, p->at, "the types are those of integers up to 64 bits, float and double",
                      "`%s` is of the type %s, which regions do not have", d.name, d.entry->type->spelling);
    p->at++;
    if (d.entry->kind == ENTRY_CONSTANT || (d.entry->known && !is(p, "[")))
        return int_expr(p, d.entry->type->number, d.entry->value, d.at);
    d.root = d.type = d.entry->type;
    for (;;) {
        if (is(p, "[")) {
            if (!subscript(p, &d))
                return NULL;
        } else if (is(p, ".") || is(p, "->")) {
            if (!field(p, &d))
                return NULL;
        } else {
            return designated(p, &d);
        }
    }
}

/* ---- Calls ---- */

/* The functions of the standard library that depend on their arguments alone; errno is not looked at. */
static const char *const pure_functions[] = {
    "abs",    "acos", "acosh", "asin",  "asinh",  "atan",      "atan2",     "atanh",  "cbrt",      "ceil",  "copysign",
    "cos",    "cosh", "erf",   "erfc",  "exp",    "exp2",      "expm1",     "fabs",   "fdim",      "floor", "fma",
    "fmax",   "fmin", "fmod",  "hypot", "labs",   "ldexp",     "llabs",     "llrint", "llround",   "log",   "log10",
    "log1p",  "log2", "logb",  "lrint", "lround", "nearbyint", "nextafter", "pow",    "remainder", "rint",  "round",
    "scalbn", "sin",  "sinh",  "sqrt",  "tan",    "tanh",      "tgamma",    "trunc",
};

static bool is_pure(const CEntry *entry)
{
    size_t n = strlen(entry->name);
    if (entry->pure)
        return true;
    for (int suffix = 0; suffix < 2; suffix++, n--) {
        for (size_t i = 0; i < sizeof pure_functions / sizeof *pure_functions; i++)
            if (strlen(pure_functions[i]) == n && !strncmp(pure_functions[i], entry->name, n))
                return true;
        if (n < 2 || entry->name[n - 1] != 'f')
            break;
    }
    return false;
}

static const CExpr *read_call(Parser *p)
{
    const size_t at    = p->at;
    CEntry      *entry = scope_find(p, token(p)->text);
    if (!entry)
        return refuse(p, at, "include the header that declares it", "the function `%s` is not declared",
                      token(p)->text);
    if (entry->kind != ENTRY_FUNCTION)
        return refuse(p, at, NULL, "`%s` is called and is no function", entry->name);
    if (!is_pure(entry))
        return refuse(p, at, "if its result depends on its arguments alone, declare it with __attribute__((const))",
                      "`%s` may read or write memory, or print: calls of it cannot be reordered", entry->name);
    const CNamed *s = function_symbol(p, entry, at);
    if (!s)
        return NULL;
    CExpr *e  = new_expr(p, CEXPR_CALL, s->symbol.type, at);
    e->symbol = &s->symbol;
    e->args   = ARENA_ARRAY(p->arena, const CExpr *, (size_t)s->symbol.argument_count);
    p->at += 2;
    for (; !is(p, ")"); e->count++) {
        if (e->count == s->symbol.argument_count)
            return refuse(p, p->at, NULL, "`%s` has %d argument%s", entry->name, e->count, e->count == 1 ? "" : "s");
        e->args[e->count] = convert(p, read_expr(p), s->symbol.arguments[e->count]);
        if (!e->args[e->count])
            return NULL;
        if (!accept(p, ",") && !is(p, ")"))
            return expect(p, ")", "behind the arguments of a call") ? e : NULL;
    }
    if (e->count < s->symbol.argument_count)
        return refuse(p, p->at, NULL, "`%s` has %d arguments, and %d %s given", entry->name, s->symbol.argument_count,
                      e->count, e->count == 1 ? "is" : "are");
    p->at++;
    return e;
}

/* ---- Primary and unary expressions ---- */

static const CExpr *read_sizeof(Parser *p)
{
    const size_t at   = p->at++;
    const CType *type = NULL;
    if (accept(p, "(")) {
        type = read_type_name(p);
        if (type && !expect(p, ")", "behind a type"))
            return NULL;
    }
    if (!type || type->kind != CTYPE_NUMBER)
        return refuse(p, at, "write the number", "sizeof is understood of types that are numbers");
    return int_expr(p, KN_U64, type->number == KN_BOOL ? 1 : type_bits(type->number) / 8, at);
}

static const CExpr *read_cast(Parser *p)
{
    const size_t at   = p->at++;
    const CType *type = read_type_name(p);
    if (!type || type->kind != CTYPE_NUMBER)
        return refuse(p, at + 1, "the types are those of integers up to 64 bits, float and double",
                      "a cast to a type that is no number");
    if (!expect(p, ")", "behind the type of a cast"))
        return NULL;
    if (is(p, "{"))
        return refuse(p, p->at, NULL, "a compound literal is no number");
    return convert(p, read_unary(p), type->number);
}

static const CExpr *read_primary(Parser *p)
{
    const CToken *t = token(p);
    if (t->kind == CT_NUMBER)
        return read_number(p);
    if (t->kind == CT_CHARACTER)
        return read_character(p);
    if (t->kind == CT_NAME && is_after(p, 1, "("))
        return read_call(p);
    if (t->kind == CT_NAME)
        return read_designator(p);
    if (is(p, "(") && is_after(p, 1, "{"))
        return refuse(p, p->at, "write it as a static function with __attribute__((const))",
                      "a block as an expression (an extension of gcc) is not understood");
    if (accept(p, "(")) {
        const CExpr *e = read_expr(p);
        return e && expect(p, ")", "behind an expression") ? e : NULL;
    }
    if (t->kind == CT_STRING)
        return refuse(p, p->at, NULL, "a string is no number");
    return refuse(p, p->at, NULL, "an expression is missing; %s%s%s stands here",
                  t->kind == CT_END ? "the end of the file" : "`", t->kind == CT_END ? "" : t->text,
                  t->kind == CT_END ? "" : "`");
}

/* Does a bracket that holds a type stand here? */
static bool at_cast(const Parser *p)
{
    Parser inner = *p;
    if (!accept(&inner, "("))
        return false;
    return begins_declaration(&inner);
}

static const CExpr *read_prefixed(Parser *p)
{
    const size_t at = p->at;
    if (accept(p, "-"))
        return unary_expr(p, COP_NEG, read_unary(p), at);
    if (accept(p, "!"))
        return unary_expr(p, COP_NOT, read_unary(p), at);
    if (accept(p, "~"))
        return unary_expr(p, COP_BIT_NOT, read_unary(p), at);
    if (accept(p, "+")) {
        const CExpr *e = read_unary(p);
        return e ? convert(p, e, c_promote(e->type)) : NULL;
    }
    if (is(p, "++") || is(p, "--"))
        return refuse(p, at, "write the increment as a statement of its own",
                      "`%s` changes a variable inside an expression", token(p)->text);
    if (is(p, "&"))
        return refuse(p, at, NULL, "the address of a variable is taken: what is done through it is not known");
    if (is(p, "*"))
        return refuse(p, at, "write A[i]", "a pointer is followed by `*`");
    if (is(p, "sizeof"))
        return read_sizeof(p);
    accept(p, "__extension__");
    return at_cast(p) ? read_cast(p) : read_primary(p);
}

const CExpr *read_unary(Parser *p)
{
    if (++p->nesting > MOST_DEPTH) {
        p->nesting--;
        return refuse(p, p->at, "give parts of it names", "an expression has more than %d levels", MOST_DEPTH);
    }
    const CExpr *e = read_prefixed(p);
    p->nesting--;
    return e;
}

/* ---- Binary expressions ---- */

static const struct {
    const char *text;
    COp         op;
    int         binds;
} binary_table[] = {
    { "||", COP_OR, 1 },     { "&&", COP_AND, 2 }, { "|", COP_BIT_OR, 3 }, { "^", COP_BIT_XOR, 4 },
    { "&", COP_BIT_AND, 5 }, { "==", COP_EQ, 6 },  { "!=", COP_NE, 6 },    { "<", COP_LT, 7 },
    { "<=", COP_LE, 7 },     { ">", COP_GT, 7 },   { ">=", COP_GE, 7 },    { "<<", COP_SHL, 8 },
    { ">>", COP_SHR, 8 },    { "+", COP_ADD, 9 },  { "-", COP_SUB, 9 },    { "*", COP_MUL, 10 },
    { "/", COP_DIV, 10 },    { "%", COP_REM, 10 },
};

static const CExpr *read_binary(Parser *p, int least)
{
    const CExpr *e = read_unary(p);
    while (e) {
        size_t i = 0, n = sizeof binary_table / sizeof *binary_table;
        while (i < n && !(token(p)->kind == CT_PUNCTUATION && is(p, binary_table[i].text)))
            i++;
        if (i == n || binary_table[i].binds < least)
            break;
        const size_t at = p->at++;
        e               = binary_expr(p, binary_table[i].op, e, read_binary(p, binary_table[i].binds + 1), at);
    }
    return e;
}

static const CExpr *read_choice(Parser *p)
{
    const CExpr *c  = read_binary(p, 1);
    const size_t at = p->at;
    if (!c || !accept(p, "?"))
        return c;
    if (is(p, ":"))
        return refuse(p, p->at, "write the value twice", "`?:` without a value in its middle is an extension of gcc");
    const CExpr *a = read_expr(p);
    if (!a || !expect(p, ":", "in a choice `c ? a : b`"))
        return NULL;
    if (++p->nesting > MOST_DEPTH) {
        p->nesting--;
        return refuse(p, p->at, "give parts of it names", "an expression has more than %d levels", MOST_DEPTH);
    }
    const CExpr *b = read_choice(p);
    p->nesting--;
    return choice_expr(p, c, a, b, at);
}

const CExpr *read_expr(Parser *p)
{
    const CExpr *e = read_choice(p);
    if (e && (is(p, "++") || is(p, "--")))
        return refuse(p, p->at, "write the increment as a statement of its own",
                      "`%s` changes a variable inside an expression", token(p)->text);
    if (e && is(p, "="))
        return refuse(p, p->at, "write it as a statement of its own", "an assignment inside an expression");
    return e;
}

const CExpr *read_condition(Parser *p)
{
    return truth(p, read_expr(p));
}
