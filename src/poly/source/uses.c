/* SPDX-License-Identifier: MIT */
/* What the function around a region does with the region's names.
 *
 * Takes   the tokens of the function. Scopes inside it are not told apart: a name that is used anywhere counts.
 * Gives   a refusal where the region cannot be replaced:
 *         - a variable that counts a loop and is declared outside could be read behind the loop: the generated loops do
 *           not compute its last value;
 *         - a name that is declared in the region is used behind it;
 *         - the size of an array is a variable that has changed since the array was declared. */
#include "poly/source/parser.h"

static const CToken *at_token(const Parser *p, size_t at)
{
    return &p->tokens.items.at[at < p->tokens.items.count ? at : p->tokens.items.count - 1];
}

static bool token_is(const Parser *p, size_t at, const char *text)
{
    return !strcmp(at_token(p, at)->text, text);
}

/* Is the token that name, and no field of that name? */
static bool is_use(const Parser *p, size_t at, const char *name)
{
    return at_token(p, at)->kind == CT_NAME && at_token(p, at)->text == name &&
           !(at && (token_is(p, at - 1, ".") || token_is(p, at - 1, "->")));
}

static bool takes_address(const Parser *p, size_t at)
{
    if (at < 2 || !token_is(p, at - 1, "&"))
        return false;
    const CToken *before = at_token(p, at - 2);
    return before->kind == CT_PUNCTUATION ? strcmp(before->text, ")") && strcmp(before->text, "]")
                                          : before->kind == CT_NAME && !strcmp(before->text, "return");
}

bool address_taken(const Parser *p, const char *name, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (is_use(p, i, name) && takes_address(p, i))
            return true;
    return false;
}

bool is_assigned(const Parser *p, const char *name, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (!is_use(p, i, name))
            continue;
        const char  *next = at_token(p, i + 1)->text;
        const size_t n    = strlen(next);
        const bool   sets = next[n ? n - 1 : 0] == '=' && strcmp(next, "==") && strcmp(next, "<=") &&
                          strcmp(next, ">=") && strcmp(next, "!=");
        if (sets || !strcmp(next, "++") || !strcmp(next, "--") || takes_address(p, i) ||
            (i && (token_is(p, i - 1, "++") || token_is(p, i - 1, "--"))))
            return true;
    }
    return false;
}

/* ---- Variables that count loops ---- */

/* Is there a use of `name` in [from, to) that may read a value from before `from`? None is inside `for (name = …`. */
static bool read_in(Parser *p, const char *name, size_t from, size_t to)
{
    const size_t at    = p->at;
    bool         found = false;
    for (p->at = from; p->at < to && !found;) {
        if (is(p, "for") && is_after(p, 1, "(") && token_after(p, 2)->text == name && is_after(p, 3, "=")) {
            skip_statement(p);
            continue;
        }
        found = is_use(p, p->at, name);
        p->at++;
    }
    p->at = at;
    return found;
}

static bool jumps(const Parser *p)
{
    for (size_t i = p->function_begin; i < p->function_end; i++)
        if (at_token(p, i)->kind == CT_NAME && token_is(p, i, "goto"))
            return true;
    return false;
}

static bool may_be_read(Parser *p, const CEntry *e)
{
    if (e->in_file || e->is_static || address_taken(p, e->name, p->function_begin, p->function_end))
        return true;
    const size_t again  = jumps(p) ? p->function_begin : p->loops.count ? p->loops.at[0] : p->region_begin;
    const bool   inside = e->token >= again; /* declared anew each time */
    return read_in(p, e->name, p->region_end, p->function_end) ||
           read_in(p, e->name, inside ? e->token + 1 : again, p->region_begin);
}

/* ---- Sizes ---- */

static const CNamed *changed_size(const Parser *p, const CExpr *extent, size_t since)
{
    if (extent->symbol) {
        const CNamed *s = (const CNamed *)(const void *)extent->symbol;
        if (!s->type->constant && (s->entry->in_file || is_assigned(p, s->entry->name, since, p->function_end)))
            return s;
    }
    for (int i = 0; i < extent->count; i++) {
        const CNamed *s = changed_size(p, extent->args[i], since);
        if (s)
            return s;
    }
    return NULL;
}

static void check_array(Parser *p, const CNamed *array)
{
    for (int d = 0; d < array->symbol.rank; d++) {
        const CExpr  *extent = array->symbol.extents[d];
        const CNamed *s      = extent ? changed_size(p, extent, array->entry->token + 1) : NULL;
        if (s)
            refuse(p, array->entry->token,
                   "declare the array by a variable that is const, or a parameter that is never assigned",
                   "the size of `%s` is `%s`, which may have changed since the array was declared", array->symbol.name,
                   s->path);
    }
}

/* May an access through a pointer meet this scalar? */
static bool is_apart(const Parser *p, const CNamed *s)
{
    if (s->symbol.local || s->type->constant)
        return true;
    return !s->entry->in_file && !strstr(s->path, "->") &&
           !address_taken(p, s->entry->name, p->function_begin, p->function_end);
}

void check_uses(Parser *p)
{
    for (size_t i = 0; i < p->named.count; i++) {
        CNamed *s = p->named.at[i];
        if (s->symbol.kind == CSYMBOL_ITERATOR && !s->symbol.local && may_be_read(p, s->entry))
            refuse(p, p->region_begin, "declare it in the loop: for (int i = …",
                   "`%s` counts a loop of this region and might be read behind it", s->path);
        else if (s->symbol.kind == CSYMBOL_ARRAY && !s->symbol.local)
            check_array(p, s);
        else if (s->symbol.kind == CSYMBOL_SCALAR)
            s->symbol.restricted = is_apart(p, s);
    }
    for (size_t i = 0; i < p->own_names.count; i++)
        for (size_t t = p->region_end; t < p->function_end; t++)
            if (is_use(p, t, p->own_names.at[i]->name)) {
                refuse(p, p->own_names.at[i]->token, "declare it before the region",
                       "`%s` is declared in the region and used behind it", p->own_names.at[i]->name);
                break;
            }
}
