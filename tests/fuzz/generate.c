/* SPDX-License-Identifier: MIT */
/* Random programs: declarations, definitions, updates, templates, families. See generate.h. */
#include "gen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Choices and text ------------------------------------------------------------------- */

/* splitmix64 */
static uint64_t random_number(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z          = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z          = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint32_t choose(Choices *c, uint64_t n)
{
    if (n < 2)
        return 0;
    if (c->at < c->size) {
        uint64_t v = c->bytes[c->at++];
        for (uint64_t reach = 256; reach < n && c->at < c->size; reach *= 256)
            v = v * 256 + c->bytes[c->at++];
        return (uint32_t)(v % n);
    }
    return c->seed ? (uint32_t)(random_number(&c->seed) % n) : 0;
}

/* Room for `more` characters and the 0 behind them? */
static bool make_room(Gen *g, size_t more)
{
    const size_t capacity = g->capacity * 2 + more + 4096;
    if (g->count + more < g->capacity)
        return true;
    char *text = realloc(g->text, capacity);
    g->failed |= !text;
    if (!text)
        return false;
    g->text     = text;
    g->capacity = capacity;
    return true;
}

void emit(Gen *g, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && make_room(g, (size_t)n)) {
        vsnprintf(g->text + g->count, (size_t)n + 1, format, again);
        g->count += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void push_var(Gen *g, const char *name)
{
    if (g->var_count < MOST_NAMES)
        g->vars[g->var_count++] = name;
}

void push_name(Gen *g, const char *name, kn_type type)
{
    if (g->name_count < MOST_NAMES) {
        Name *n = &g->names[g->name_count++];
        n->type = type;
        snprintf(n->name, sizeof n->name, "%s", name);
    }
}

static void push_symbol(Gen *g, const Symbol *s)
{
    if (g->symbol_count < MOST_SYMBOLS)
        g->symbols[g->symbol_count++] = *s;
}

/* ---- Declarations ----------------------------------------------------------------------- */

static const char *const dim_names[] = { "x", "y", "c", "t", "p", "q" };

/* A rank from 0 to 4, mostly 1 or 2. */
static int some_rank(Gen *g)
{
    static const uint8_t ranks[] = { 1, 2, 2, 1, 2, 3, 2, 1, 4, 0 };
    return ranks[pick(g, sizeof ranks)];
}

/* Names for the dimensions: x, y, c, t, or the same from another one on. */
static void name_dims(Gen *g, Symbol *s)
{
    const uint32_t first = chance(g, 25) ? pick(g, 6) : 0;
    for (int d = 0; d < s->rank; d++)
        s->dims[d] = dim_names[(first + (uint32_t)d) % 6];
}

static void emit_dims(Gen *g, const Symbol *s)
{
    for (int d = 0; d < s->rank; d++)
        emit(g, "%s%s", d ? ", " : "", s->dims[d]);
}

/* min:extent per dimension, small and odd; in one box of four 0 to 3. */
static void emit_box(Gen *g, int rank, bool is_input)
{
    static const uint8_t extents[] = { 3, 5, 2, 1, 7, 4 };
    const bool           tiny      = chance(g, 25);
    for (int d = 0; d < rank; d++) {
        const uint32_t usual = extents[pick(g, 6)] + (is_input && rank < 3 ? pick(g, 5) : 0);
        emit(g, " %d:%u", (int)pick(g, 5) - 2, tiny ? (unsigned)pick(g, 4) : (unsigned)usual);
    }
    emit(g, "\n");
}

static void declare_input(Gen *g)
{
    static const char *const names[] = { "in", "a", "b" };
    Symbol                   s = { .is_input = true, .rank = some_rank(g), .components = 1, .types = { any_type(g) } };
    snprintf(s.name, sizeof s.name, "%s", names[g->symbol_count]);
    name_dims(g, &s);
    emit(g, "//@ input %s %u", s.name, (unsigned)pick(g, 1000));
    emit_box(g, s.rank, true);
    emit(g, "input %s : %s(", s.name, kn_type_name(s.types[0]));
    emit_dims(g, &s);
    emit(g, ")\n");
    push_symbol(g, &s);
}

static void declare_param(Gen *g, int index)
{
    static const kn_type types[] = { KN_I32, KN_F32, KN_U8, KN_I16, KN_F64 };
    const kn_type        type    = types[pick(g, 5)];
    char                 name[12];
    snprintf(name, sizeof name, "k%d", index);
    emit(g, "//@ param %s %u\nparam %s : %s = %u", name, (unsigned)pick(g, 9), name, kn_type_name(type),
         (unsigned)pick(g, 9));
    emit(g, "%s\n", chance(g, 50) ? " in 0..9" : "");
    push_name(g, name, type);
}

static void declare(Gen *g)
{
    for (uint32_t n = pick(g, 3) + chance(g, 80); n > 0; n--)
        declare_input(g);
    for (uint32_t n = pick(g, 6) / 3; n > 0; n--)
        declare_param(g, (int)n);
    if (chance(g, 30)) {
        emit(g, "const K = %u\n", (unsigned)pick(g, 4));
        push_name(g, "K", KN_NONE);
    }
}

/* ---- Definitions ------------------------------------------------------------------------ */

/* How large the next expression may become. */
static void refill(Gen *g)
{
    g->depth = 1 + (int)pick(g, 4);
}

/* One value per component, a tuple in parentheses. */
static void emit_values(Gen *g, const Symbol *s, void (*value)(Gen *g, kn_type type))
{
    emit(g, "%s", s->components > 1 ? "(" : "");
    for (int c = 0; c < s->components; c++) {
        comma(g, c);
        value(g, s->types[c]);
    }
    emit(g, "%s", s->components > 1 ? ")" : "");
}

/* Chooses what one argument of an update is and emits it. `rvars` reduction variables are the last in scope. */
static LeftArg left_argument(Gen *g, const Symbol *s, int d, const char *const *rvars, int count)
{
    LeftArg a = { .is_free = count == 0 ? chance(g, 70) : chance(g, 50) };
    if (a.is_free) {
        a.base = s->dims[d];
        emit(g, "%s", a.base);
        return a;
    }
    static const int8_t offsets[] = { 0, 0, 1, -1, 2 };
    const uint32_t      kind      = pick(g, 6);
    if (kind < 4) {
        a.is_linear = true;
        a.base      = count ? rvars[pick(g, (uint32_t)count)] : NULL;
        a.offset    = offsets[pick(g, 5)];
        emit_linear(g, a.base, a.offset);
    } else {
        emit(g, "(");
        index_expression(g);
        emit(g, ") + 0"); /* never a plain variable: that would be free */
    }
    return a;
}

static void emit_clause(Gen *g, const char *const *rvars, int count, bool is_bounded)
{
    const int outer = g->var_count - count;
    g->var_count    = outer;
    for (int i = 0; i < count; i++) {
        emit(g, "%s%s in ", i ? ", " : "  for ", rvars[i]);
        if (is_bounded) {
            const int lo = (int)pick(g, 4) - 1;
            emit(g, "%d..%d", lo, lo + 1 + (int)pick(g, 6));
        } else {
            bounds(g);
        }
        push_var(g, rvars[i]);
    }
    if (count && chance(g, 25)) {
        emit(g, " where ");
        expression(g, KN_BOOL);
    }
}

static void emit_update(Gen *g, const Symbol *s)
{
    static const char *const rvars[] = { "u", "v" }, *const ops[] = { "=", "+=", "min=", "max=", "*=" };
    const int   count = (int)pick(g, 3);
    const Self *outer = g->self;
    bool        plain = true;
    Self        self  = { .symbol = s };
    for (int c = 0; c < s->components; c++)
        plain = plain && s->types[c] != KN_BOOL;
    /* The left side uses reduction variables only, so that what is free is plain. */
    g->var_count = 0;
    for (int i = 0; i < count; i++)
        push_var(g, rvars[i]);
    refill(g);
    emit(g, "%s(", s->name);
    for (int d = 0; d < s->rank; d++) {
        comma(g, d);
        self.args[d] = left_argument(g, s, d, rvars, count);
    }
    g->var_count = 0;
    for (int d = 0; d < s->rank; d++)
        if (self.args[d].is_free)
            push_var(g, s->dims[d]);
    for (int i = 0; i < count; i++)
        push_var(g, rvars[i]);
    g->self = &self;
    emit(g, ") %s ", plain ? ops[pick(g, 5)] : "=");
    emit_values(g, s, meeting_expression);
    emit_clause(g, rvars, count, chance(g, 60));
    emit(g, "\n");
    g->self = outer;
}

static void define(Gen *g, const char *name)
{
    Symbol s = { .rank = some_rank(g), .components = chance(g, 20) ? 2 + (int)pick(g, 2) : 1 };
    snprintf(s.name, sizeof s.name, "%s", name);
    name_dims(g, &s);
    for (int c = 0; c < s.components; c++)
        s.types[c] = any_type(g);
    g->var_count = 0;
    for (int d = 0; d < s.rank; d++)
        push_var(g, s.dims[d]);
    refill(g);
    emit(g, "%s(", s.name);
    emit_dims(g, &s);
    emit(g, ") = ");
    emit_values(g, &s, expression);
    emit(g, "\n");
    for (uint32_t n = pick(g, 5) / 2; n > 0; n--)
        emit_update(g, &s);
    g->var_count = 0;
    push_symbol(g, &s);
}

/* def t(f) { h(x, ..) = …  return (x, ..) = … } and a function made by it. */
static void define_template(Gen *g, int number)
{
    const int count = g->symbol_count;
    int       of    = count - 1;
    while (of >= 0 && (g->symbols[of].rank == 0 || g->symbols[of].components > 1 || g->symbols[of].has_rest))
        of--;
    if (of < 0)
        return;
    Symbol f = { .rank = 1, .has_rest = true, .components = 1, .types = { g->symbols[of].types[0] }, .name = "f" },
           h = f, made = { .components = 1 };
    snprintf(h.name, sizeof h.name, "h");
    h.types[0]   = any_type(g);
    g->var_count = 0;
    push_var(g, "x");
    push_name(g, "n", KN_NONE);
    push_symbol(g, &f);
    refill(g);
    emit(g, "def t%d(f, n) { h(x, ..) = if bool(f(x, ..)) then %s(f(x + n, ..)) else ", number,
         kn_type_name(h.types[0]));
    expression(g, h.types[0]);
    push_symbol(g, &h);
    made.types[0] = any_type(g);
    refill(g);
    emit(g, "  return (x, ..) = if h(x, ..) == h(x + 1, ..) then %s(f(x, ..)) else ", kn_type_name(made.types[0]));
    expression(g, made.types[0]);
    emit(g, " }\n");
    g->symbol_count = count;
    g->name_count--;
    g->var_count = 0;
    made.rank    = g->symbols[of].rank;
    snprintf(made.name, sizeof made.name, "m%d", number);
    emit(g, "%s = t%d(%s, %u)\n", made.name, number, g->symbols[of].name, (unsigned)pick(g, 3));
    push_symbol(g, &made);
}

/* r[0](x) = …  repeat n in 1..4 { r[n](x) = … r[n-1](…) … } */
static void define_family(Gen *g, int number)
{
    Symbol         s     = { .rank = some_rank(g), .components = 1, .types = { any_type(g) } };
    const int      count = g->symbol_count;
    const unsigned n     = 1 + pick(g, 3);
    name_dims(g, &s);
    g->var_count = 0;
    for (int d = 0; d < s.rank; d++)
        push_var(g, s.dims[d]);
    refill(g);
    emit(g, "r%d[0](", number);
    emit_dims(g, &s);
    emit(g, ") = ");
    expression(g, s.types[0]);
    emit(g, "\nrepeat n in 1..%u { r%d[n](", n + 1, number);
    emit_dims(g, &s);
    emit(g, ") = ");
    snprintf(s.name, sizeof s.name, "r%d[n-1]", number);
    push_symbol(g, &s);
    push_name(g, "n", KN_NONE);
    refill(g);
    expression(g, s.types[0]);
    emit(g, " }\n");
    g->symbol_count = count;
    g->name_count--;
    g->var_count = 0;
    snprintf(s.name, sizeof s.name, "r%d[%u]", number, n);
    push_symbol(g, &s);
}

static void declare_output(Gen *g, const Symbol *s)
{
    emit(g, "//@ output %s", s->name);
    emit_box(g, s->rank, false);
    emit(g, "output %s\n", s->name);
}

char *generate_program(Choices *c)
{
    Gen g = { .choices = c, .var_type = KN_I32, .budget = 160 };
    declare(&g);
    const int inputs = g.symbol_count, count = 1 + (int)pick(&g, 5);
    for (int i = 0; i < count; i++) {
        char           name[12];
        const uint32_t kind = pick(&g, 10);
        snprintf(name, sizeof name, "f%d", i);
        if (kind == 8 && g.symbol_count)
            define_template(&g, i);
        else if (kind == 9)
            define_family(&g, i);
        else
            define(&g, name);
    }
    define(&g, "out");
    for (int i = inputs; i < g.symbol_count; i++)
        if (i == g.symbol_count - 1 || (g.symbols[i].name[0] == 'f' && chance(&g, 15)))
            declare_output(&g, &g.symbols[i]);
    if (g.failed) {
        free(g.text);
        return NULL;
    }
    return g.text;
}
