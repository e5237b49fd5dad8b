/* SPDX-License-Identifier: MIT */
/* Which functions can be called in a region: those whose result depends on their arguments alone.
 *
 * Takes   a function's declaration, its body if the file has one.
 * Gives   whether it is pure: by an attribute (const), by its name in the standard library, or by its body.
 * Holds   a body is pure if all it names is its own: parameters and locals that are no pointers, constants, and
 *         functions that are pure. Nothing else can be read or written, whatever its statements are. */
#include "poly/source/parser.h"

/* The functions of the standard library that depend on their arguments alone; errno is not looked at. */
static const char *const pure_functions[] = {
    "abs",    "acos", "acosh", "asin",  "asinh",  "atan",      "atan2",     "atanh",  "cbrt",      "ceil",  "copysign",
    "cos",    "cosh", "erf",   "erfc",  "exp",    "exp2",      "expm1",     "fabs",   "fdim",      "floor", "fma",
    "fmax",   "fmin", "fmod",  "hypot", "labs",   "ldexp",     "llabs",     "llrint", "llround",   "log",   "log10",
    "log1p",  "log2", "logb",  "lrint", "lround", "nearbyint", "nextafter", "pow",    "remainder", "rint",  "round",
    "scalbn", "sin",  "sinh",  "sqrt",  "tan",    "tanh",      "tgamma",    "trunc",
};

bool is_standard(const CEntry *entry)
{
    size_t n = strlen(entry->name);
    if (entry->defined)
        return false;
    for (int suffix = 0; suffix < 2; suffix++, n--) {
        for (size_t i = 0; i < sizeof pure_functions / sizeof *pure_functions; i++)
            if (strlen(pure_functions[i]) == n && !strncmp(pure_functions[i], entry->name, n))
                return true;
        if (n < 2 || entry->name[n - 1] != 'f')
            break;
    }
    return false;
}

bool is_pure(const CEntry *entry)
{
    return entry->pure || is_standard(entry);
}

void judge_begin(Parser *p, CEntry *entry)
{
    const CType *type = entry->type;
    bool         good = type->of->kind == CTYPE_NUMBER && !type->variadic;
    for (int i = 0; i < type->count; i++)
        good &= type->parameters[i]->type->kind == CTYPE_NUMBER && type->parameters[i]->name;
    p->judged = good ? entry : NULL;
}

/* Words of the language that read and write nothing. */
static bool is_harmless_word(const char *text)
{
    static const char *const words[] = { "return", "if",       "else",   "for",      "while",   "do",
                                         "break",  "continue", "switch", "case",     "const",   "double",
                                         "float",  "int",      "long",   "short",    "char",    "void",
                                         "_Bool",  "signed",   "sizeof", "unsigned", "default", "register" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], text))
            return true;
    return false;
}

static bool is_own(const Parser *p, const char *name)
{
    const CEntry *e = scope_find(p, name);
    if (!e)
        return is_harmless_word(name);
    switch (e->kind) {
    case ENTRY_TYPEDEF:
    case ENTRY_CONSTANT: return true;
    case ENTRY_FUNCTION: return is_pure(e);
    default: break;
    }
    const CType *t = e->type;
    if (e->in_file)
        return t->kind == CTYPE_NUMBER && t->constant && !t->is_volatile;
    while (t->kind == CTYPE_ARRAY)
        t = t->of;
    return !e->is_static && t->kind == CTYPE_NUMBER && !t->is_volatile;
}

void judge(Parser *p, size_t from, size_t to)
{
    for (size_t i = from; p->judged && i < to; i++) {
        const CToken *t    = &p->tokens.items.at[i];
        const bool    good = t->kind == CT_NAME          ? is_own(p, t->text)
                             : t->kind == CT_PUNCTUATION ? strcmp(t->text, "->") && strcmp(t->text, ".")
                                                         : t->kind == CT_NUMBER || t->kind == CT_CHARACTER;
        if (!good)
            p->judged = NULL;
    }
}

void judge_end(Parser *p)
{
    if (p->judged)
        p->judged->pure = true;
    p->judged = NULL;
}
