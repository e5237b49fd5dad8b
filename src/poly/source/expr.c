/* SPDX-License-Identifier: MIT */
/* Expressions without side effects, typed while they are read.
 *
 * Takes   tokens.
 * Gives   a CExpr; NULL after a refusal.
 * Holds   a value is a number; arrays, rows of arrays and structs are only on the way to one (Designator). */
#include "poly/source/parser.h"

enum { MOST_DEPTH = 200, MOST_RANK = 16, BINDS_PRODUCT = 10 };

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

static const CExpr *read_binary(Parser *p, int least);

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

/* The subscripts and fields behind a name. */
static bool read_parts(Parser *p, Designator *d)
{
    for (;;) {
        if (is(p, "[")) {
            if (!subscript(p, d))
                return false;
        } else if (is(p, ".") || is(p, "->")) {
            if (!field(p, d))
                return false;
        } else {
            return true;
        }
    }
}

/* A name that is no constant; the parser is behind it. */
static bool begin_designator(Parser *p, Designator *d)
{
    *d       = (Designator){ .at = p->at, .name = token(p)->text };
    d->entry = scope_find(p, d->name);
    if (!d->entry || d->entry->kind == ENTRY_TYPEDEF)
        return unknown_name(p, p->at);
    if (d->entry->kind == ENTRY_FUNCTION)
        return refuse(p, p->at, "call it", "`%s` is a function, not a number", d->name);
    if (d->entry->type->kind == CTYPE_OTHER)
        return refuse(p, p->at, "the types are those of integers up to 64 bits, float and double",
                      "`%s` is of the type %s, which regions do not have", d->name, d->entry->type->spelling);
    d->root = d->type = d->entry->type;
    p->at++;
    return true;
}

static const CExpr *read_designator(Parser *p)
{
    Designator d;
    if (!begin_designator(p, &d))
        return NULL;
    if (d.entry->kind == ENTRY_CONSTANT || d.entry->known)
        return int_expr(p, d.entry->type->number, d.entry->value, d.at);
    if (d.entry->meaning) {
        CExpr *copy = ARENA_NEW(p->arena, CExpr);
        *copy       = *d.entry->meaning;
        copy->place = place_of(p, d.at);
        return copy;
    }
    return read_parts(p, &d) ? designated(p, &d) : NULL;
}

/* ---- Pointers ---- */

static bool follow_pointer(Parser *p, Designator *d, const CExpr *offset, size_t at);

static bool is_punctuation(const Parser *p, size_t at, const char *text)
{
    return !strcmp(p->tokens.items.at[at].text, text);
}

/* What `*` is before: a pointer, or `(pointer + i)`, read into *d, and how far behind it into *offset. */
static bool read_pointer(Parser *p, Designator *d, const CExpr **offset)
{
    *offset = NULL;
    if (token(p)->kind == CT_NAME)
        return begin_designator(p, d) && read_parts(p, d);
    if (accept(p, "*")) {
        const size_t at = p->at - 1;
        return read_pointer(p, d, offset) && follow_pointer(p, d, *offset, at) && !(*offset = NULL);
    }
    if (!accept(p, "("))
        return refuse(p, p->at, "write A[i]", "a pointer is followed by `*` in a way that is not understood");
    if (++p->nesting > MOST_DEPTH)
        return refuse(p, p->at, NULL, "an expression has more than %d levels", MOST_DEPTH);
    bool good = read_pointer(p, d, offset);
    while (good && (is(p, "+") || is(p, "-"))) {
        const size_t at   = p->at++;
        const CExpr *more = read_binary(p, BINDS_PRODUCT);
        const CExpr *from = *offset ? *offset : int_expr(p, KN_I32, 0, at);
        if (more && !c_is_integer(more->type))
            more = refuse(p, at, NULL, "a pointer moves by an integer");
        *offset = !*offset && more && is_punctuation(p, at, "+")
                      ? more
                      : binary_expr(p, is_punctuation(p, at, "+") ? COP_ADD : COP_SUB, from, more, at);
        good    = *offset;
    }
    p->nesting--;
    return good && expect(p, ")", "behind a pointer");
}

static bool follow_pointer(Parser *p, Designator *d, const CExpr *offset, size_t at)
{
    if (d->type->kind != CTYPE_ARRAY && d->type->kind != CTYPE_POINTER)
        return refuse(p, at, NULL, "`%s` is no pointer here", d->name);
    if (d->count == MOST_RANK)
        return refuse(p, at, NULL, "`%s` has more than %d subscripts", d->name, MOST_RANK);
    offset                    = offset ? offset : int_expr(p, KN_I32, 0, at);
    d->subscripts[d->count++] = convert(p, offset, c_promote(offset->type));
    d->type                   = d->type->of;
    return true;
}

/* `*p`, `*(A + i)`, `*(*(A + i) + j)` */
static const CExpr *read_followed(Parser *p)
{
    Designator   d;
    const CExpr *offset;
    const size_t at = p->at++;
    return read_pointer(p, &d, &offset) && follow_pointer(p, &d, offset, at) ? designated(p, &d) : NULL;
}

/* ---- Calls ---- */

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
    return cast_expr(p, read_unary(p), type->number, type->spelling);
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
        return read_followed(p);
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

const CExpr *read_choice(Parser *p)
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
