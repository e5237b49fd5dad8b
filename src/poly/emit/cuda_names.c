/* SPDX-License-Identifier: MIT */
/* What the names of a region are in the CUDA file.
 *
 * Holds   arrays are pointers to their first element; AT_NAME(i, j) is an element. Inner extents are numbers where the
 *         source has numbers, else NAME_extentK. With numbers nvcc makes an address one register and an offset: heat-3d
 *         takes 32 registers in place of 40 (f32) and 48 (f64), and 256 instructions in place of 432. Scalars that the
 *         region writes are arrays of one element, others are values. Types have C's own names: typedefs are not known
 *         there. */
#include "poly/emit/cuda.h"
#include "poly/model/affine.h"
#include "poly/model/model.h"
#include "poly/source/parser.h"

#include <ctype.h>

/* Words of C++ and CUDA that C has as names. */
static bool is_foreign_word(const char *name)
{
    static const char *const words[] = {
        "alignas",       "alignof",     "and",       "asm",
        "bitand",        "bitor",       "bool",      "catch",
        "char16_t",      "char32_t",    "class",     "compl",
        "const_cast",    "decltype",    "delete",    "dynamic_cast",
        "explicit",      "export",      "false",     "friend",
        "mutable",       "namespace",   "new",       "noexcept",
        "not",           "nullptr",     "operator",  "or",
        "private",       "protected",   "public",    "reinterpret_cast",
        "static_assert", "static_cast", "template",  "this",
        "thread_local",  "throw",       "true",      "try",
        "typeid",        "typename",    "using",     "virtual",
        "wchar_t",       "xor",         "threadIdx", "blockIdx",
        "blockDim",      "gridDim",     "warpSize",  "dim3",
        "arrays",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], name))
            return true;
    return false;
}

const char *device_name(Arena *arena, const CSymbol *s)
{
    char *name = arena_printf(arena, "%s%s", s->name, is_foreign_word(s->name) ? "_" : "");
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) || *c == '_' ? *c : '_';
    return name;
}

bool extent_is_number(const CSymbol *s, int d)
{
    int64_t number;
    return affine_constant(s->extents[d], &number);
}

const char *extent_text(Arena *arena, const CSymbol *s, int d)
{
    int64_t number;
    return affine_constant(s->extents[d], &number) ? arena_printf(arena, "%lld", (long long)number)
                                                   : arena_printf(arena, "%s_extent%d", device_name(arena, s), d);
}

bool is_value(const Scop *scop, const CSymbol *s)
{
    return s->kind == CSYMBOL_SCALAR && !s->written && !s->local && !scop_private(scop, s);
}

static void print_element(Writer *w, Text *out, const CExpr *e)
{
    const ExprHooks hooks = { w, device_leaf, true };
    const char     *name  = device_name(w->arena, e->symbol);
    const bool      one   = e->count == 1;
    text_printf(out, one ? "%s[" : "AT_%s(", name);
    for (int i = 0; i < e->count; i++) {
        text_add(out, i ? ", " : "");
        print_subscript(out, e->args[i], &hooks);
    }
    text_add(out, one ? "]" : ")");
}

bool device_leaf(void *writer, Text *out, const CExpr *e, bool subscript)
{
    Writer *w = writer;
    if (print_leaf(w, out, e, subscript))
        return true;
    if (e->kind == CEXPR_INDEX && !scop_private(w->tiled->scop, e->symbol)) {
        print_element(w, out, e);
        return true;
    }
    if (e->kind == CEXPR_INDEX)
        return false;
    const bool apart = is_value(w->tiled->scop, e->symbol) || scop_private(w->tiled->scop, e->symbol);
    text_printf(out, apart ? "%s" : "%s[0]", device_name(w->arena, e->symbol));
    return true;
}

bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
            !(isalnum((unsigned char)at[n]) || at[n] == '_'))
            return true;
    return false;
}
