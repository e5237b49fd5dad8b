/* SPDX-License-Identifier: MIT */
/* Declarations: specifiers, declarators, structs and enums.
 *
 * Takes   the tokens of a declaration, wherever it stands: in a header of the system or in a region.
 * Gives   the type of what it declares, put into scope.
 * Holds   what is not understood gives a CTYPE_OTHER or nothing; nothing is said about it. An extent is an expression
 *         in the scope of the declaration, folded where it is a constant. */
#include "poly/source/parser.h"

enum { MOST_NESTING = 200 };

/* ---- Attributes ---- */

static bool one_of(const Parser *p, const char *const *words)
{
    for (; *words; words++)
        if (is(p, *words))
            return true;
    return false;
}

static const char *const bracketed[]   = { "__attribute__", "__attribute", "__asm__",    "__asm",
                                           "asm",           "_Alignas",    "__declspec", NULL };
static const char *const empty_words[] = { "__extension__", "_Noreturn", "__inline",      "__inline__", "inline",
                                           "register",      "auto",      "_Thread_local", "__thread",   NULL };

void skip_attributes(Parser *p, bool *pure)
{
    for (;;) {
        const size_t begin = p->at;
        if (one_of(p, bracketed)) {
            p->at++;
            accept(p, "volatile");
        } else if (!(is(p, "[") && is_after(p, 1, "["))) {
            return;
        }
        if (!is(p, "(") && !is(p, "["))
            return;
        skip_brackets(p);
        for (size_t i = begin; pure && i < p->at; i++)
            *pure |= !strcmp(p->tokens.items.at[i].text, "const") || !strcmp(p->tokens.items.at[i].text, "__const__");
    }
}

/* ---- Types ---- */

static CType *new_type(const Parser *p, CTypeKind kind)
{
    CType *t = ARENA_NEW(p->arena, CType);
    t->kind  = kind;
    return t;
}

static const CType *number_type(const Parser *p, kn_type number, const char *spelling)
{
    CType *t    = new_type(p, CTYPE_NUMBER);
    t->number   = number;
    t->spelling = spelling;
    return t;
}

static const CType *other_type(const Parser *p, const char *spelling)
{
    CType *t    = new_type(p, CTYPE_OTHER);
    t->spelling = spelling;
    return t;
}

static const CType *with_qualifiers(const Parser *p, const CType *type, bool constant, bool is_volatile)
{
    if (!constant && !is_volatile)
        return type;
    CType *t = new_type(p, type->kind);
    *t       = *type;
    t->constant |= constant;
    t->is_volatile |= is_volatile;
    return t;
}

CEntry *new_entry(Parser *p, CEntryKind kind, const CType *type, size_t name)
{
    CEntry *e    = ARENA_NEW(p->arena, CEntry);
    e->kind      = kind;
    e->type      = type;
    e->name      = p->tokens.items.at[name].text;
    e->token     = name;
    e->in_file   = p->depth == 0;
    e->in_region = p->region != NULL;
    return e;
}

/* An integer constant, if what stands here is one. What fails is not said. */
static const CExpr *quiet_expr(Parser *p)
{
    const bool failed = p->failed;
    p->quiet++;
    p->failed      = false;
    const CExpr *e = read_expr(p);
    e              = p->failed ? NULL : e;
    p->failed      = failed;
    p->quiet--;
    return e;
}

/* Behind the next of these at this depth of brackets, or before the bracket that closes it. */
static void skip_until(Parser *p, const char *a, const char *b)
{
    while (token(p)->kind != CT_END && !is(p, a) && !is(p, b)) {
        if (is(p, "(") || is(p, "[") || is(p, "{"))
            skip_brackets(p);
        else if (is(p, ")") || is(p, "]") || is(p, "}"))
            return;
        else
            p->at++;
    }
}

/* `{ A, B = 3, … }` */
static bool read_enumerators(Parser *p)
{
    int64_t value = 0;
    bool    known = true, negative = false;
    for (p->at++; !is(p, "}") && token(p)->kind == CT_NAME; accept(p, ",")) {
        const size_t name = p->at++;
        skip_attributes(p, NULL);
        if (accept(p, "=")) {
            const CExpr *e = quiet_expr(p);
            known          = e && constant_value(e, &value);
            skip_until(p, ",", "}");
        }
        const bool fits = value >= INT32_MIN && value <= INT32_MAX;
        CEntry    *e =
            new_entry(p, ENTRY_CONSTANT,
                      known && fits ? number_type(p, KN_I32, "int") : other_type(p, "an enum of large values"), name);
        e->value = value;
        scope_add(p, e);
        negative |= value < 0;
        value = value < INT32_MAX ? value + 1 : value;
    }
    skip_until(p, "}", "}");
    accept(p, "}");
    return negative;
}

static const CType *read_enum(Parser *p)
{
    const CToken *tag = token(p)->kind == CT_NAME ? token(p) : NULL;
    const size_t  at  = p->at;
    p->at += tag != NULL;
    const CEntry *known = tag ? scope_find_tag(p, tag->text) : NULL;
    if (!is(p, "{"))
        return known ? known->type : other_type(p, "an incomplete enum");
    const bool   negative = read_enumerators(p);
    const CType *type     = number_type(p, negative ? KN_I32 : KN_U32, negative ? "int" : "unsigned int");
    if (tag)
        scope_add(p, new_entry(p, ENTRY_TAG, type, at));
    return type;
}

/* `{ double a, b; int n; }` */
static void read_fields(Parser *p, CType *type)
{
    VEC(CField) fields = { 0 };
    for (p->at++; !is(p, "}") && token(p)->kind != CT_END;) {
        Specifiers   s     = { 0 };
        const size_t begin = p->at;
        if (token(p)->kind != CT_PRAGMA && read_specifiers(p, &s))
            do {
                size_t       name;
                const CType *t = read_declarator(p, s.type, &name);
                skip_attributes(p, NULL);
                if (is(p, ":")) { /* a bit field */
                    t = other_type(p, "a bit field");
                    skip_until(p, ",", ";");
                }
                if (t && name != NO_NAME)
                    vec_push(p->arena, &fields, ((CField){ p->tokens.items.at[name].text, t }));
            } while (accept(p, ","));
        skip_until(p, ";", ";");
        p->at += is(p, ";") || (p->at == begin && !is(p, "}"));
    }
    accept(p, "}");
    type->fields = fields.at ? fields.at : ARENA_NEW(p->arena, CField);
    type->count  = (int)fields.count;
}

static const CType *read_struct(Parser *p, bool is_union)
{
    skip_attributes(p, NULL);
    const size_t  at  = p->at;
    const CToken *tag = token(p)->kind == CT_NAME ? token(p) : NULL;
    p->at += tag != NULL;
    CEntry *known = tag ? scope_find_tag(p, tag->text) : NULL;
    if (!is(p, "{") && known)
        return known->type;
    CType *type    = new_type(p, is_union ? CTYPE_OTHER : CTYPE_STRUCT);
    type->spelling = tag ? arena_printf(p->arena, "%s %s", is_union ? "union" : "struct", tag->text)
                         : (is_union ? "a union" : "a struct");
    CEntry *e      = tag ? new_entry(p, ENTRY_TAG, type, at) : NULL;
    /* the body of a struct that was declared before it: the same type, now complete */
    if (e && is(p, "{") && known && known->depth == p->depth && known->type->kind == CTYPE_STRUCT &&
        !known->type->fields) {
        CType *incomplete = known->open;
        read_fields(p, incomplete);
        return incomplete;
    }
    if (e) {
        e->open = type;
        scope_add(p, e);
    }
    if (is(p, "{"))
        read_fields(p, type);
    return type;
}

/* ---- Specifiers ---- */

/* The words of `unsigned long int` and how often each stands there. */
enum { W_VOID, W_CHAR, W_SHORT, W_INT, W_LONG, W_FLOAT, W_DOUBLE, W_SIGNED, W_UNSIGNED, W_BOOL, W_COUNT };
static const char *const type_words[W_COUNT] = { "void",  "char",   "short",  "int",      "long",
                                                 "float", "double", "signed", "unsigned", "_Bool" };
static const char *const other_words[]       = { "_Complex",   "__int128",   "_Float16",    "_Float32",
                                                 "_Float64",   "_Float128",  "__float128",  "_Float32x",
                                                 "_Float64x",  "__bf16",     "_Imaginary",  "__builtin_va_list",
                                                 "_Decimal32", "_Decimal64", "_Decimal128", "_BitInt",
                                                 NULL };

static int type_word(const Parser *p)
{
    if (is(p, "__signed__") || is(p, "__signed"))
        return W_SIGNED;
    int w = 0;
    while (w < W_COUNT && !is(p, type_words[w]))
        w++;
    return w;
}

static const CType *type_of_words(const Parser *p, const int *n)
{
    const kn_type long_signed = p->long_bits == 32 && n[W_LONG] == 1 ? KN_I32 : KN_I64;
    const bool    u           = n[W_UNSIGNED];
    if (n[W_VOID])
        return new_type(p, CTYPE_VOID);
    if (n[W_BOOL])
        return number_type(p, KN_BOOL, "_Bool");
    if (n[W_FLOAT])
        return number_type(p, KN_F32, "float");
    if (n[W_DOUBLE])
        return n[W_LONG] ? other_type(p, "long double") : number_type(p, KN_F64, "double");
    if (n[W_CHAR])
        return u             ? number_type(p, KN_U8, "unsigned char")
               : n[W_SIGNED] ? number_type(p, KN_I8, "signed char")
                             : number_type(p, p->char_unsigned ? KN_U8 : KN_I8, "char");
    if (n[W_SHORT])
        return u ? number_type(p, KN_U16, "unsigned short") : number_type(p, KN_I16, "short");
    if (n[W_LONG] > 1)
        return u ? number_type(p, KN_U64, "unsigned long long") : number_type(p, KN_I64, "long long");
    if (n[W_LONG])
        return u ? number_type(p, long_signed == KN_I32 ? KN_U32 : KN_U64, "unsigned long")
                 : number_type(p, long_signed, "long");
    return u ? number_type(p, KN_U32, "unsigned int") : number_type(p, KN_I32, "int");
}

static const CType *typedef_named(const Parser *p)
{
    const CEntry *e = token(p)->kind == CT_NAME ? scope_find(p, token(p)->text) : NULL;
    return e && e->kind == ENTRY_TYPEDEF ? e->type : NULL;
}

static bool qualifier(Parser *p, bool *constant, bool *is_volatile, bool *restricted)
{
    if (accept(p, "const") || accept(p, "__const"))
        *constant = true;
    else if (accept(p, "volatile") || accept(p, "__volatile__") ||
             (is(p, "_Atomic") && !is_after(p, 1, "(") && accept(p, "_Atomic")))
        *is_volatile = true;
    else if (accept(p, "restrict") || accept(p, "__restrict") || accept(p, "__restrict__"))
        *restricted = true;
    else
        return false;
    return true;
}

bool begins_declaration(const Parser *p)
{
    static const char *const others[] = { "typedef",    "extern",   "static",  "const",       "volatile",
                                          "struct",     "union",    "enum",    "typeof",      "_Atomic",
                                          "__typeof__", "__typeof", "__const", "__auto_type", "_Static_assert",
                                          "__signed__", NULL };
    if (token(p)->kind != CT_NAME)
        return false;
    return type_word(p) < W_COUNT || one_of(p, others) || one_of(p, other_words) || one_of(p, empty_words) ||
           one_of(p, bracketed) || (typedef_named(p) && !is_after(p, 1, ":"));
}

/* A word or a group of them that names a type; NULL if there is none here. */
static const CType *type_specifier(Parser *p)
{
    if (accept(p, "struct"))
        return read_struct(p, false);
    if (accept(p, "union"))
        return read_struct(p, true);
    if (accept(p, "enum"))
        return read_enum(p);
    const CToken *word = token(p);
    if (one_of(p, other_words)) {
        p->at++;
        if (is(p, "("))
            skip_brackets(p);
        return other_type(p, word->text);
    }
    if (is(p, "typeof") || is(p, "__typeof__") || is(p, "__typeof") || is(p, "_Atomic") || is(p, "__auto_type")) {
        p->at++;
        if (is(p, "("))
            skip_brackets(p);
        return other_type(p, word->text);
    }
    const CType *named = typedef_named(p);
    if (named)
        p->at++;
    return named;
}

bool read_specifiers(Parser *p, Specifiers *s)
{
    int          n[W_COUNT] = { 0 }, words = 0;
    const CType *type     = NULL;
    bool         constant = false, is_volatile = false, restricted = false;
    if (++p->nesting > MOST_NESTING) {
        p->nesting--;
        return false;
    }
    for (size_t before = NO_NAME; before != p->at;) {
        before = p->at;
        skip_attributes(p, &s->pure);
        if (accept(p, "typedef"))
            s->is_typedef = true;
        else if (accept(p, "static"))
            s->is_static = true;
        else if (accept(p, "extern"))
            s->is_extern = true;
        else if (one_of(p, empty_words))
            p->at++;
        else if (qualifier(p, &constant, &is_volatile, &restricted))
            continue;
        else if (!type && type_word(p) < W_COUNT) {
            n[type_word(p)]++;
            words++;
            p->at++;
        } else if (!type) {
            if (one_of(p, other_words))
                words = 0; /* `unsigned __int128`, `double _Complex` */
            type = words ? NULL : type_specifier(p);
        }
    }
    p->nesting--;
    if (!type && !words)
        return false;
    s->type = with_qualifiers(p, type ? type : type_of_words(p, n), constant, is_volatile);
    return true;
}

/* ---- Declarators ---- */

static const CType *pointer_to(Parser *p, const CType *type)
{
    CType *t      = new_type(p, CTYPE_POINTER);
    t->of         = type;
    bool constant = false;
    for (size_t before = NO_NAME; before != p->at;) {
        before = p->at;
        skip_attributes(p, NULL);
        qualifier(p, &constant, &t->is_volatile, &t->restricted);
    }
    t->constant = constant;
    return t;
}

static const CType *as_parameter(const Parser *p, const CType *type)
{
    if (type->kind != CTYPE_ARRAY && type->kind != CTYPE_FUNCTION)
        return type;
    CType *t      = new_type(p, CTYPE_POINTER);
    t->of         = type->kind == CTYPE_ARRAY ? type->of : type;
    t->parameter  = type->kind == CTYPE_ARRAY;
    t->restricted = type->restricted;
    return t;
}

/* `(int n, double A[n])`: a scope of its own, whose entries are those of the body. */
static const CType *read_parameters(Parser *p, const CType *returns)
{
    CType *t                 = new_type(p, CTYPE_FUNCTION);
    t->of                    = returns;
    VEC(CEntry *) parameters = { 0 };
    p->at++;
    scope_begin(p);
    if (is(p, "void") && is_after(p, 1, ")"))
        p->at++;
    else if (is(p, ")"))
        t->variadic = true;
    while (!is(p, ")") && token(p)->kind != CT_END) {
        Specifiers s    = { 0 };
        size_t     name = NO_NAME;
        if (is(p, "...") || !read_specifiers(p, &s)) {
            t->variadic = true;
            skip_until(p, ")", ")");
            break;
        }
        const CType *type = read_declarator(p, s.type, &name);
        skip_attributes(p, NULL);
        CEntry *e = new_entry(p, ENTRY_OBJECT, type ? as_parameter(p, type) : other_type(p, "an unknown type"),
                              name == NO_NAME ? p->at : name);
        if (name != NO_NAME)
            scope_add(p, e);
        else
            e->name = NULL;
        vec_push(p->arena, &parameters, e);
        skip_until(p, ",", ")");
        if (!accept(p, ","))
            break;
    }
    skip_until(p, ")", ")");
    scope_end(p);
    accept(p, ")");
    t->parameters = parameters.at;
    t->count      = (int)parameters.count;
    return t;
}

static const CType *read_suffixes(Parser *p, const CType *type);

/* `[restrict static N]` */
static const CType *read_extent(Parser *p, const CType *element)
{
    CType *t = new_type(p, CTYPE_ARRAY);
    p->at++;
    bool constant = false;
    while (accept(p, "static") || qualifier(p, &constant, &t->is_volatile, &t->restricted))
        ;
    if (is(p, "*") && is_after(p, 1, "]"))
        p->at++;
    else if (!is(p, "]"))
        t->extent = quiet_expr(p);
    if (!is(p, "]"))
        t->extent = NULL;
    skip_until(p, "]", "]");
    accept(p, "]");
    t->of = read_suffixes(p, element);
    return t->of ? t : NULL;
}

static const CType *read_suffixes(Parser *p, const CType *type)
{
    if (++p->nesting > MOST_NESTING)
        type = NULL;
    else if (is(p, "[") && !is_after(p, 1, "["))
        type = read_extent(p, type);
    else if (is(p, "("))
        type = read_suffixes(p, read_parameters(p, type));
    p->nesting--;
    return type;
}

/* Does the bracket here hold a declarator, not parameters? */
static bool inner_declarator(const Parser *p)
{
    Parser inner = *p;
    inner.at++;
    return is(&inner, "*") || is(&inner, "(") || is(&inner, "[") || one_of(&inner, bracketed) ||
           (token(&inner)->kind == CT_NAME && !begins_declaration(&inner));
}

const CType *read_declarator(Parser *p, const CType *base, size_t *name)
{
    *name = NO_NAME;
    if (++p->nesting > MOST_NESTING) {
        p->nesting--;
        return NULL;
    }
    skip_attributes(p, NULL);
    while (accept(p, "*"))
        base = pointer_to(p, base);
    const CType *type;
    if (is(p, "(") && inner_declarator(p)) {
        const size_t inside = p->at + 1;
        skip_brackets(p);
        type             = read_suffixes(p, base); /* what stands behind the brackets binds first */
        const size_t end = p->at;
        p->at            = inside;
        type             = type ? read_declarator(p, type, name) : NULL;
        p->at            = end;
    } else {
        if (token(p)->kind == CT_NAME)
            *name = p->at++;
        skip_attributes(p, NULL);
        type = read_suffixes(p, base);
    }
    p->nesting--;
    return type;
}

const CType *read_type_name(Parser *p)
{
    Specifiers s = { 0 };
    size_t     name;
    if (!begins_declaration(p) || !read_specifiers(p, &s))
        return NULL;
    const CType *type = read_declarator(p, s.type, &name);
    return name == NO_NAME ? type : NULL;
}

/* A typedef at file level is spelt by its name, which the code that replaces a region sees too. */
static const CType *named_type(const Parser *p, const CType *type, size_t name)
{
    if (type->kind != CTYPE_NUMBER || p->depth > 0)
        return type;
    CType *t    = new_type(p, type->kind);
    *t          = *type;
    t->spelling = p->tokens.items.at[name].text;
    return t;
}

CEntry *declare(Parser *p, const Specifiers *s, const CType *type, size_t name)
{
    const CEntryKind kind = s->is_typedef                  ? ENTRY_TYPEDEF
                            : type->kind == CTYPE_FUNCTION ? ENTRY_FUNCTION
                                                           : ENTRY_OBJECT;
    CEntry          *e    = new_entry(p, kind, s->is_typedef ? named_type(p, type, name) : type, name);
    const CEntry    *old  = scope_find(p, e->name);
    e->is_static          = s->is_static || s->is_extern;
    e->pure               = s->pure || (kind == ENTRY_FUNCTION && old && old->kind == ENTRY_FUNCTION && old->pure);
    scope_add(p, e);
    return e;
}
