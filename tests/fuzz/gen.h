/* SPDX-License-Identifier: MIT */
/* What generate.c (definitions) and generate_expr.c (expressions) share: the program so far, and what is in scope. */
#ifndef KILN_TESTS_FUZZ_GEN_H
#define KILN_TESTS_FUZZ_GEN_H

#include "generate.h"
#include "kiln.h"

enum { MOST_SYMBOLS = 32, MOST_NAMES = 32, MOST_COMPONENTS = 3, MOST_DIMS = 4 };

/* An input or a function. */
typedef struct Symbol {
    char        name[24];
    bool        is_input;
    bool        has_rest; /* called as f(x, ..), in a template */
    int         rank;     /* indices to be given */
    int         components;
    kn_type     types[MOST_COMPONENTS];
    const char *dims[MOST_DIMS]; /* NULL where the names are not known */
} Symbol;

/* A let, a parameter, or a constant (KN_NONE: weak). */
typedef struct Name {
    char    name[12];
    kn_type type;
} Name;

/* An argument on the left side of an update. */
typedef struct LeftArg {
    bool        is_free;
    bool        is_linear; /* base + offset, without free variables; base NULL: just the offset */
    const char *base;
    int         offset;
} LeftArg;

/* The function whose update is being written: its legal self references follow from the left side. */
typedef struct Self {
    const Symbol *symbol;
    LeftArg       args[MOST_DIMS];
} Self;

typedef struct Gen {
    Choices    *choices;
    char       *text;
    size_t      count, capacity;
    bool        failed; /* no memory */
    Symbol      symbols[MOST_SYMBOLS];
    Name        names[MOST_NAMES];
    const char *vars[MOST_NAMES];
    int         symbol_count, name_count, var_count;
    kn_type     var_type;
    const Self *self;
    int         depth;      /* levels that the expression may still have */
    int         budget;     /* nodes that the program may still have */
    int         reductions; /* inline reductions around here */
    int         numbered;   /* names made */
    bool        in_formula;
} Gen;

static inline uint32_t pick(Gen *g, uint32_t n)
{
    return choose(g->choices, n);
}
static inline bool chance(Gen *g, uint32_t percent)
{
    return pick(g, 100) >= 100 - percent;
}

__attribute__((format(printf, 2, 3))) void emit(Gen *g, const char *format, ...);

static inline void comma(Gen *g, int position)
{
    if (position)
        emit(g, ", ");
}

/* base + c; base may be NULL. */
void emit_linear(Gen *g, const char *base, int c);

/* An expression of exactly this type. */
void expression(Gen *g, kn_type type);
/* An i32 expression whose range is bounded by what is in scope. */
void index_expression(Gen *g);
/* The bounds of a reduction variable: a..b, from the variables in scope. */
void bounds(Gen *g);
/* A value for an update of a component of type `type`: that type, or one that meets it there. */
void meeting_expression(Gen *g, kn_type type);
/* A constant of the type without a conversion: weak. */
void weak_literal(Gen *g, kn_type type);

kn_type any_type(Gen *g);
void    push_var(Gen *g, const char *name);
void    push_name(Gen *g, const char *name, kn_type type);

#endif
