/* SPDX-License-Identifier: MIT */
/* The symbols of a region: one for each variable, array, field and function that it names.
 *
 * Takes   an entry in scope, the name under which the region uses it, its type.
 * Gives   the symbol, with its extents as expressions over symbols of the region.
 * Holds   two symbols of a region that are not iterators have different names; a local name that another symbol has is
 *         given a number. */
#include "poly/source/parser.h"

static const CExpr *in_region(Parser *p, const CExpr *e, size_t at);

/* Is the name taken by a symbol that is not one of two iterators? */
static bool clashes(const Parser *p, const char *name, bool iterator)
{
    for (size_t i = 0; i < p->named.count; i++)
        if (!strcmp(p->named.at[i]->symbol.name, name) &&
            !(iterator && p->named.at[i]->symbol.kind == CSYMBOL_ITERATOR))
            return true;
    return false;
}

static const char *free_name(const Parser *p, const char *name, bool iterator)
{
    const char *tried = name;
    for (int i = 2; clashes(p, tried, iterator); i++)
        tried = arena_printf(p->arena, "%s_%d", name, i);
    return tried;
}

/* Is it named in `#pragma kiln temporary(…)` or in the option? */
static bool is_temporary(const Parser *p, const CEntry *entry)
{
    const size_t n = strlen(entry->name);
    for (const char *s = p->temporary; s && *s; s += strcspn(s, ", "), s += strspn(s, ", "))
        if (strcspn(s, ", ") == n && !strncmp(s, entry->name, n))
            return true;
    return p->region && entry->temporary == p->region;
}

static CNamed *add_symbol(Parser *p, CEntry *entry, const char *name, CSymbolKind kind)
{
    CNamed *s           = ARENA_NEW(p->arena, CNamed);
    s->entry            = entry;
    s->path             = name;
    s->symbol.name      = entry->in_region ? free_name(p, name, kind == CSYMBOL_ITERATOR) : name;
    s->symbol.kind      = kind;
    s->symbol.local     = entry->in_region;
    s->symbol.temporary = is_temporary(p, entry);
    if (!p->region) /* an extent outside of regions: its symbols are made again for each region that uses it */
        return s;
    s->symbol.place = place_of(p, entry->token);
    vec_push(p->arena, &p->named, s);
    vec_push(p->arena, &p->region->symbols, &s->symbol);
    return s;
}

static int rank_of(const CType *type)
{
    int rank = 0;
    for (; type->kind == CTYPE_ARRAY || type->kind == CTYPE_POINTER; type = type->of)
        rank++;
    return rank;
}

/* The extents of an array, its element's type in *element; false after a refusal. */
static bool set_extents(Parser *p, CNamed *s, const CType *type, size_t at, const CType **element)
{
    const char *name  = s->symbol.name;
    s->symbol.rank    = rank_of(type);
    s->symbol.extents = ARENA_ARRAY(p->arena, const CExpr *, (size_t)s->symbol.rank);
    for (int d = 0; type->kind == CTYPE_ARRAY || type->kind == CTYPE_POINTER; d++, type = type->of) {
        if (type->is_volatile)
            return refuse(p, at, "copy it before the region",
                          "`%s` is volatile or atomic: its accesses cannot be reordered", name);
        if (type->kind == CTYPE_POINTER && d > 0)
            return refuse(
                p, at, "declare it as an array, as a parameter `double A[n][m]` or a pointer `double (*A)[m]`",
                "`%s` is an array of pointers: where its rows are, and whether they overlap, is not known", name);
        if (type->kind == CTYPE_ARRAY && !type->extent && d > 0)
            return refuse(p, at, NULL, "the size of dimension %d of `%s` is not known", d + 1, name);
        s->symbol.extents[d] = type->kind == CTYPE_ARRAY ? type->extent : NULL;
        if (s->symbol.extents[d] && !(s->symbol.extents[d] = in_region(p, s->symbol.extents[d], at)))
            return false;
    }
    *element = type;
    return true;
}

static bool set_type(Parser *p, CNamed *s, const CType *type, size_t at)
{
    const char *name = s->symbol.name;
    if (type->kind == CTYPE_STRUCT)
        return refuse(p, at, "use one array for each field", "`%s` has structs for elements", name);
    if (type->kind != CTYPE_NUMBER)
        return refuse(p, at, "the types are those of integers up to 64 bits, float and double",
                      "`%s` is of the type %s, which regions do not have", name,
                      type->spelling ? type->spelling : "void");
    if (type->is_volatile)
        return refuse(p, at, "copy it before the region",
                      "`%s` is volatile or atomic: its accesses cannot be reordered", name);
    s->symbol.type     = type->number;
    s->symbol.spelling = type->spelling;
    return true;
}

CNamed *region_symbol(Parser *p, CEntry *entry, const char *name, const CType *type, size_t at)
{
    for (size_t i = p->iterators.count; i-- > 0;)
        if (p->iterators.at[i]->entry == entry)
            return p->iterators.at[i];
    if (entry->iterates && entry->iterates == p->region)
        return refuse(p, at, "use a variable of its own",
                      "`%s` counts a loop of this region and is used outside of that loop", name);
    for (size_t i = 0; p->region && i < p->named.count; i++)
        if (p->named.at[i]->entry == entry && !strcmp(p->named.at[i]->path, name))
            return p->named.at[i];
    const bool   array   = type->kind == CTYPE_ARRAY || type->kind == CTYPE_POINTER;
    CNamed      *s       = add_symbol(p, entry, name, array ? CSYMBOL_ARRAY : CSYMBOL_SCALAR);
    const CType *element = type;
    s->type              = type;
    s->symbol.restricted = type->kind == CTYPE_ARRAY || type->restricted || !array;
    if ((array && !set_extents(p, s, type, at, &element)) || !set_type(p, s, element, at))
        return NULL;
    return s;
}

/* An extent, which was read where the array is declared, over the symbols of this region. */
static const CExpr *in_region(Parser *p, const CExpr *e, size_t at)
{
    int64_t value;
    if (constant_value(e, &value))
        return int_expr(p, e->type, value, at);
    CExpr *copy = ARENA_NEW(p->arena, CExpr);
    *copy       = *e;
    copy->args  = ARENA_ARRAY(p->arena, const CExpr *, (size_t)e->count);
    for (int i = 0; i < e->count; i++)
        if (!(copy->args[i] = in_region(p, e->args[i], at)))
            return NULL;
    if (e->symbol) {
        const CNamed *old = (const CNamed *)(const void *)e->symbol;
        if (e->kind != CEXPR_NAME)
            return refuse(p, at, "declare the array by a variable", "the size of an array is read from `%s`",
                          e->symbol->name);
        const CNamed *s = region_symbol(p, old->entry, old->path, old->type, at);
        if (!s)
            return NULL;
        copy->symbol = &s->symbol;
    }
    return copy;
}

CNamed *iterator_symbol(Parser *p, CEntry *entry, size_t at)
{
    for (size_t i = 0; i < p->named.count; i++)
        if (p->named.at[i]->entry == entry && p->named.at[i]->symbol.kind != CSYMBOL_ITERATOR)
            return refuse(p, at, "use a variable of its own for the loop",
                          "`%s` counts this loop and is used outside of it in this region", entry->name);
    for (size_t i = 0; i < p->iterators.count; i++)
        if (p->iterators.at[i]->entry == entry)
            return refuse(p, at, NULL, "`%s` counts a loop around this one already", entry->name);
    CNamed *s       = add_symbol(p, entry, entry->name, CSYMBOL_ITERATOR);
    s->type         = entry->type;
    entry->iterates = p->region;
    if (!set_type(p, s, entry->type, at))
        return NULL;
    if (!c_is_integer(s->symbol.type) || s->symbol.type == KN_BOOL)
        return refuse(p, at, "count with an int", "`%s` counts a loop and is no integer", entry->name);
    return s;
}

CNamed *function_symbol(Parser *p, CEntry *entry, size_t at)
{
    for (size_t i = 0; i < p->named.count; i++)
        if (p->named.at[i]->entry == entry)
            return p->named.at[i];
    const CType *type = entry->type;
    CNamed      *s    = add_symbol(p, entry, entry->name, CSYMBOL_FUNCTION);
    if (type->variadic)
        return refuse(p, at, "declare it with the types of its arguments", "the arguments of `%s` are not declared",
                      entry->name);
    kn_type *arguments       = ARENA_ARRAY(p->arena, kn_type, (size_t)type->count);
    s->symbol.argument_count = type->count;
    s->symbol.arguments      = arguments;
    s->symbol.standard       = is_standard(entry);
    for (int i = 0; i < type->count; i++) {
        const CType *argument = type->parameters[i]->type;
        if (argument->kind != CTYPE_NUMBER)
            return refuse(p, at, "give it numbers",
                          "argument %d of `%s` is no number: what the function reads or writes there is not known",
                          i + 1, entry->name);
        arguments[i] = argument->number;
    }
    return set_type(p, s, type->of, at) ? s : NULL;
}
