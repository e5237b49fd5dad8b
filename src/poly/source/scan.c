/* SPDX-License-Identifier: MIT */
/* The file around the regions: what is declared where they stand.
 *
 * Takes   the preprocessed text.
 * Gives   the regions, each read in the scope of its place.
 * Holds   a statement outside of regions is passed over; of a function without a region, its whole body. */
#include "poly/source/parser.h"

enum { MOST_STATEMENTS_DEEP = 300 };

static void walk_statement(Parser *p);

/* To the end of a declaration or expression, at this depth of brackets; behind its semicolon. */
static void skip_to_semicolon(Parser *p)
{
    const size_t begin = p->at;
    while (token(p)->kind != CT_END && token(p)->kind != CT_PRAGMA && !is(p, "}")) {
        if (accept(p, ";"))
            break;
        if (is(p, "(") || is(p, "[") || is(p, "{"))
            skip_brackets(p);
        else
            p->at++;
    }
    judge(p, begin, p->at);
}

/* The brackets behind `if`, `for` and their like. */
static void skip_header(Parser *p)
{
    const size_t begin = p->at;
    if (is(p, "("))
        skip_brackets(p);
    judge(p, begin, p->at);
}

/* `= value` of a declarator; what is const and has a known value is a constant. */
static void read_value(Parser *p, CEntry *entry)
{
    const size_t value = ++p->at;
    const CType *type  = entry->type;
    if (entry->kind == ENTRY_OBJECT && type->kind == CTYPE_NUMBER && type->constant && !type->is_volatile &&
        c_is_integer(type->number)) {
        const size_t begin  = p->at;
        const bool   failed = p->failed;
        p->quiet++;
        p->failed      = false;
        const CExpr *e = read_expr(p);
        if (e && !p->failed && (is(p, ",") || is(p, ";"))) {
            e            = convert(p, e, type->number);
            entry->known = constant_value(e, &entry->value);
        }
        p->failed = failed;
        p->quiet--;
        p->at = begin;
    }
    while (token(p)->kind != CT_END && token(p)->kind != CT_PRAGMA && !is(p, ",") && !is(p, ";") && !is(p, "}")) {
        if (is(p, "(") || is(p, "[") || is(p, "{"))
            skip_brackets(p);
        else
            p->at++;
    }
    judge(p, value, p->at);
}

/* A declaration; of a function with a body, up to its brace. */
static CEntry *walk_declaration(Parser *p)
{
    Specifiers s = { 0 };
    if (accept(p, "_Static_assert") || !read_specifiers(p, &s)) {
        skip_to_semicolon(p);
        return NULL;
    }
    if (accept(p, ";"))
        return NULL;
    for (bool first = true;; first = false) {
        size_t       name;
        const CType *type = read_declarator(p, s.type, &name);
        skip_attributes(p, &s.pure);
        if (!type || name == NO_NAME)
            break;
        CEntry *entry = declare(p, &s, type, name);
        judge(p, name, name + 1);
        if (first && type->kind == CTYPE_FUNCTION && is(p, "{")) {
            entry->defined = true;
            p->function    = entry->name;
            return entry;
        }
        if (is(p, "="))
            read_value(p, entry);
        if (!accept(p, ","))
            break;
    }
    skip_to_semicolon(p);
    return NULL;
}

/* ---- Statements ---- */

static void walk_block(Parser *p)
{
    p->at++;
    scope_begin(p);
    while (!is(p, "}") && token(p)->kind != CT_END) {
        const size_t at = p->at;
        walk_statement(p);
        p->at += p->at == at;
    }
    scope_end(p);
    accept(p, "}");
}

static void walk_loop(Parser *p)
{
    const bool is_for = is(p, "for");
    vec_push(p->arena, &p->loops, p->at);
    scope_begin(p);
    p->at++;
    if (is(p, "(")) {
        const size_t inside = p->at + 1;
        skip_brackets(p);
        const size_t end = p->at;
        p->at            = inside;
        if (is_for && begins_declaration(p))
            walk_declaration(p);
        p->at = end;
        judge(p, inside, end);
    }
    walk_statement(p);
    scope_end(p);
    p->loops.count--;
}

static void walk_pragma(Parser *p)
{
    if (is(p, "scop")) {
        const size_t at = p->at;
        if (!read_region(p)) { /* go on behind it */
            p->at = at + 1;
            while (token(p)->kind != CT_END && !is(p, "endscop") && p->at < p->function_end)
                p->at++;
            accept(p, "endscop");
        }
        return;
    }
    if (is(p, "endscop"))
        refuse(p, p->at, NULL, "no `#pragma scop` stands before this `#pragma endscop`, in the same block");
    p->at++;
}

static void walk_plain(Parser *p)
{
    if (token(p)->kind == CT_PRAGMA) {
        walk_pragma(p);
    } else if (is(p, "{")) {
        walk_block(p);
    } else if (is(p, "for") || is(p, "while")) {
        walk_loop(p);
    } else if (is(p, "if") || is(p, "switch")) {
        p->at++;
        skip_header(p);
        walk_statement(p);
        if (accept(p, "else"))
            walk_statement(p);
    } else if (is(p, "do")) {
        vec_push(p->arena, &p->loops, p->at);
        p->at++;
        walk_statement(p);
        p->loops.count--;
        skip_to_semicolon(p);
    } else if (is(p, "case") || is(p, "default")) {
        while (token(p)->kind != CT_END && !is(p, ":") && !is(p, ";") && !is(p, "}"))
            p->at++;
        accept(p, ":");
    } else if (token(p)->kind == CT_NAME && is_after(p, 1, ":")) {
        p->at += 2;
        p->judged = NULL;
    } else if (begins_declaration(p)) {
        walk_declaration(p);
    } else {
        skip_to_semicolon(p);
    }
}

static void walk_statement(Parser *p)
{
    if (++p->nesting <= MOST_STATEMENTS_DEEP) {
        const int nesting = p->nesting;
        walk_plain(p);
        p->nesting = nesting;
    } else {
        refuse(p, p->at, NULL, "statements inside each other have more than %d levels", MOST_STATEMENTS_DEEP);
        p->at = p->function_end;
    }
    p->nesting--;
}

static void skip_plain(Parser *p)
{
    if (is(p, "{")) {
        skip_brackets(p);
    } else if (token(p)->kind == CT_PRAGMA) {
        p->at++;
    } else if (is(p, "for") || is(p, "while") || is(p, "if") || is(p, "switch")) {
        p->at++;
        if (is(p, "("))
            skip_brackets(p);
        skip_statement(p);
        if (accept(p, "else"))
            skip_statement(p);
    } else if (accept(p, "do")) {
        skip_statement(p);
        skip_to_semicolon(p);
    } else {
        skip_to_semicolon(p);
    }
}

void skip_statement(Parser *p)
{
    const size_t at = p->at;
    if (is(p, "endscop"))
        return;
    if (++p->nesting <= MOST_STATEMENTS_DEEP)
        skip_plain(p);
    p->nesting--;
    p->at += p->at == at;
}

/* ---- Functions ---- */

static void walk_body(Parser *p, const CType *type)
{
    scope_begin(p);
    for (int i = 0; i < type->count; i++)
        if (type->parameters[i]->name)
            scope_add(p, type->parameters[i]);
    p->at          = p->function_begin;
    p->loops.count = 0;
    walk_block(p);
    scope_end(p);
    p->at = p->function_end;
}

/* A body is walked if it has a region, or to see whether the function is pure. */
static void walk_function(Parser *p, CEntry *function)
{
    bool has_region   = false;
    p->function_begin = p->at;
    skip_brackets(p);
    p->function_end = p->at;
    for (size_t i = p->function_begin; i < p->function_end; i++)
        has_region |= p->tokens.items.at[i].kind == CT_PRAGMA &&
                      (!strcmp(p->tokens.items.at[i].text, "scop") || !strcmp(p->tokens.items.at[i].text, "endscop"));
    judge_begin(p, function);
    if (has_region)
        p->judged = NULL;
    if (has_region || p->judged)
        walk_body(p, function->type);
    judge_end(p);
}

static void walk_file(Parser *p)
{
    while (token(p)->kind != CT_END) {
        const size_t at = p->at;
        p->nesting      = 0;
        if (token(p)->kind == CT_PRAGMA) {
            if (is(p, "scop"))
                refuse(p, p->at, "put it around loops in a function", "a region stands outside of functions");
            p->at++;
        } else if (is(p, "{")) { /* of something that was not understood */
            skip_brackets(p);
        } else {
            CEntry *function = walk_declaration(p);
            if (function)
                walk_function(p, function);
        }
        p->at += p->at == at;
    }
}

/* `kiln_probe SIZEOF_LONG CHAR_UNSIGNED` at the beginning: what the compiler's types are. */
static void read_probe(Parser *p)
{
    p->long_bits     = 64;
    p->char_unsigned = (char)-1 > 0;
    if (!is(p, "kiln_probe"))
        return;
    p->long_bits     = !strcmp(token_after(p, 1)->text, "4") ? 32 : 64;
    p->char_unsigned = !strcmp(token_after(p, 2)->text, "1");
    p->at += 3;
    accept(p, ";");
}

bool source_regions(kn_context *cx, Arena *arena, const Source *source, const char *preprocessed, const char *temporary,
                    Regions *out)
{
    Parser p = { .cx = cx, .arena = arena, .source = source, .temporary = temporary, .out = out };
    map_init(&p.names, arena);
    map_init(&p.tags, arena);
    c_lex(cx, arena, source->name, preprocessed, strlen(preprocessed), &p.tokens);
    read_probe(&p);
    walk_file(&p);
    if (!p.failed && !out->items.count)
        diag_error(cx, (Loc){ 0 }, "put `#pragma scop` before loops and `#pragma endscop` behind them",
                   "%s has no region", source->name);
    return !p.failed && out->items.count > 0;
}
