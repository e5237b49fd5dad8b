/* SPDX-License-Identifier: MIT */
/* Random expressions of a given type: a table of productions, each for some classes of types. See generate.h. */
#include "corners.h"
#include "gen.h"

#include <stdio.h>
#include <string.h>

/* ---- Types ------------------------------------------------------------------------------ */

enum { ON_BOOL = 1, ON_INT = 2, ON_FLOAT = 4, ON_NUMBER = ON_INT | ON_FLOAT, ON_ANY = 7 };

static bool is_float(kn_type t)
{
    return t >= KN_F16;
}
static bool is_int(kn_type t)
{
    return t >= KN_U8 && t <= KN_I64;
}
static bool is_signed(kn_type t)
{
    return t >= KN_I8 && t <= KN_I64;
}
static int width(kn_type t)
{
    return (int)kn_type_size(t);
}

static unsigned class_of(kn_type t)
{
    return t == KN_BOOL ? ON_BOOL : is_float(t) ? ON_FLOAT : ON_INT;
}

/* Small integers and f32 come more often than the rest, as in real programs. */
kn_type any_type(Gen *g)
{
    static const kn_type types[] = { KN_I32, KN_U8,  KN_F32, KN_U16, KN_I32, KN_U8,  KN_F32,  KN_BOOL,
                                     KN_U32, KN_U64, KN_I8,  KN_I16, KN_I64, KN_F16, KN_BF16, KN_F64 };
    return types[pick(g, sizeof types / sizeof *types)];
}

static kn_type number_type(Gen *g)
{
    const kn_type t = any_type(g);
    return t == KN_BOOL ? KN_I16 : t;
}

static kn_type int_type(Gen *g)
{
    const kn_type t = any_type(g);
    return is_int(t) ? t : KN_U8;
}

/* Does b, meeting t, become t? */
static bool meets_at(kn_type t, kn_type b)
{
    if (t == b)
        return true;
    if (t == KN_BOOL || b == KN_BOOL)
        return false;
    if (is_float(t))
        return !is_float(b) || width(b) < width(t);
    return !is_float(b) && width(b) <= width(t) && (is_signed(t) || !is_signed(b));
}

static kn_type meeting_type(Gen *g, kn_type t)
{
    const kn_type b = any_type(g);
    return chance(g, 40) && meets_at(t, b) ? b : t;
}

static kn_type same_width(kn_type t, bool want_signed)
{
    static const kn_type types[2][9] = { [false] = { [1] = KN_U8, [2] = KN_U16, [4] = KN_U32, [8] = KN_U64 },
                                         [true]  = { [1] = KN_I8, [2] = KN_I16, [4] = KN_I32, [8] = KN_I64 } };
    return types[want_signed][width(t)];
}

/* ---- Leaves ----------------------------------------------------------------------------- */

void weak_literal(Gen *g, kn_type t)
{
    static const char *const floats[] = { "1.0",  "0.5",   "0.0",     "2.25",  "0.1", "3",   "1e10",
                                          "1e-3", "100.0", "65504.0", "1e-40", "pi",  "inf", "nan" };
    if (t == KN_BOOL) {
        emit(g, "%s", pick(g, 2) ? "true" : "false");
        return;
    }
    if (is_float(t)) {
        emit(g, "%s%s", chance(g, 20) ? "-" : "", floats[pick(g, sizeof floats / sizeof *floats)]);
        return;
    }
    const int            bits    = 8 * width(t) - is_signed(t);
    const uint64_t       most    = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    static const uint8_t small[] = { 1, 0, 2, 3, 5, 7, 10, 100 };
    const char          *sign    = is_signed(t) ? "-" : "";
    switch (pick(g, 8)) {
    case 5: emit(g, "%s%u", sign, small[pick(g, 8)]); break;
    case 6: emit(g, "%llu", (unsigned long long)most); break;
    case 7: emit(g, "%s%llu", sign, (unsigned long long)(is_signed(t) ? most + 1 : most / 2 + 1)); break;
    default: emit(g, "%u", small[pick(g, 8)]); break;
    }
}

static void literal(Gen *g, kn_type t)
{
    emit(g, "%s(", kn_type_name(t));
    weak_literal(g, t);
    emit(g, ")");
}

/* Opens a conversion from `from` to t if one is needed; gives what closes it. */
static const char *open_cast(Gen *g, kn_type t, kn_type from)
{
    if (t == from)
        return "";
    emit(g, "%s(", kn_type_name(t));
    return ")";
}

/* A name of type `from` (KN_NONE: weak), converted if need be. */
static void emit_as(Gen *g, kn_type t, kn_type from, const char *name)
{
    const char *close = open_cast(g, t, from);
    emit(g, "%s%s", name, close);
}

static void variable(Gen *g, kn_type t)
{
    if (!g->var_count) {
        literal(g, t);
        return;
    }
    emit_as(g, t, g->var_type, g->vars[pick(g, (uint32_t)g->var_count)]);
}

/* A let, a parameter or a constant; any other type is converted. */
static void named(Gen *g, kn_type t)
{
    if (!g->name_count) {
        variable(g, t);
        return;
    }
    const Name *n = &g->names[pick(g, (uint32_t)g->name_count)];
    emit_as(g, t, n->type, n->name);
}

/* ---- Indices ---------------------------------------------------------------------------- */

static const char *some_var(Gen *g)
{
    return g->var_count ? g->vars[pick(g, (uint32_t)g->var_count)] : "2";
}

static int offset(Gen *g)
{
    static const int8_t offsets[] = { 0, 1, -1, 2, -2, 3, -3, 5, -7 };
    return offsets[pick(g, sizeof offsets)];
}

static unsigned divisor(Gen *g)
{
    static const uint8_t divisors[] = { 2, 3, 4, 1, 5, 7 };
    return divisors[pick(g, sizeof divisors)];
}

/* + 3, - 2, or nothing; or a constant by name. */
static void emit_offset(Gen *g)
{
    const int c = offset(g);
    for (int i = 0; i < g->name_count; i++)
        if (g->names[i].type == KN_NONE && chance(g, 20)) {
            emit(g, " + %s", g->names[i].name);
            return;
        }
    if (c)
        emit(g, " %c %d", c < 0 ? '-' : '+', c < 0 ? -c : c);
}

void emit_linear(Gen *g, const char *base, int c)
{
    if (!base)
        emit(g, "%d", c);
    else if (c)
        emit(g, "%s %c %d", base, c < 0 ? '-' : '+', c < 0 ? -c : c);
    else
        emit(g, "%s", base);
}

static void index_shift(Gen *g)
{
    emit(g, "%s", some_var(g));
    emit_offset(g);
}

static void index_constant(Gen *g)
{
    emit(g, "%d", offset(g));
}

static void index_stride(Gen *g)
{
    emit(g, "%s%u*%s", chance(g, 20) ? "-" : "", divisor(g), some_var(g));
    emit_offset(g);
}

static void index_floor(Gen *g)
{
    emit(g, "(%s", some_var(g));
    emit_offset(g);
    emit(g, ")/%u", divisor(g));
}

static void index_skewed(Gen *g)
{
    emit(g, "(%u*%s %c %s", divisor(g), some_var(g), chance(g, 30) ? '-' : '+', some_var(g));
    emit_offset(g);
    emit(g, ")/%u", divisor(g));
}

/* Terms that are functions of one variable, of few values if it is a reduction variable of a small range. */
static void index_correlated(Gen *g)
{
    static const char *const forms[] = { "%1$s - %1$s %% %2$u",        "%1$s - (%1$s & 3) + %2$u",
                                         "%1$s / %2$u - %1$s",         "%1$s + %2$u - (1 << (%1$s & 3))",
                                         "2*%1$s - %2$u * %1$s %% 16", "%1$s - %1$s * %2$u %% 5" };
    emit(g, "(");
    emit(g, forms[pick(g, 6)], some_var(g), divisor(g));
    emit(g, ")");
    emit_offset(g);
}

static void index_modulo(Gen *g)
{
    emit(g, "(%s", some_var(g));
    emit_offset(g);
    emit(g, ") %% %u", divisor(g));
}

/* A parameter or a let of type i32, or a small number. */
static const char *some_number(Gen *g)
{
    static const char *const numbers[] = { "2", "1", "3", "-3", "5" };
    for (int i = 0; i < g->name_count; i++)
        if (g->names[i].type == KN_I32 && chance(g, 40))
            return g->names[i].name;
    return numbers[pick(g, 5)];
}

static void index_operator(Gen *g)
{
    emit(g, "(");
    corner_index(g, some_var(g), some_number(g));
    emit(g, ")");
}

static void index_clamp(Gen *g)
{
    emit(g, "clamp(");
    expression(g, KN_I32);
    const int lo = offset(g);
    emit(g, ", %d, %d)", lo, lo + (int)pick(g, 6));
}

static void index_remainder(Gen *g)
{
    emit(g, "(");
    expression(g, KN_I32);
    emit(g, ") %% %u", divisor(g));
}

static void index_byte(Gen *g)
{
    expression(g, pick(g, 4) ? KN_U8 : KN_I8);
}

static void index_mask(Gen *g)
{
    emit(g, "(");
    expression(g, KN_I32);
    emit(g, " & %u)", (unsigned)pick(g, 12));
}

static void index_choice(Gen *g)
{
    emit(g, "(if ");
    expression(g, KN_BOOL);
    emit(g, " then i32("); /* a byte and a constant would meet at the byte */
    index_expression(g);
    emit(g, ") else i32(");
    index_expression(g);
    emit(g, "))");
}

static void index_of_float(Gen *g)
{
    emit(g, "i32(%s(clamp(", pick(g, 2) ? "floor" : "round");
    expression(g, KN_F32);
    emit(g, ", -1.5, %u.25)))", (unsigned)pick(g, 6));
}

static void index_extremes(Gen *g)
{
    emit(g, "min(max(%s", some_var(g));
    emit_offset(g);
    emit(g, ", %d), %u)", offset(g), (unsigned)pick(g, 6));
}

/* The ones that come first need no expressions inside. */
static void (*const indices[])(Gen *g) = {
    index_shift,  index_shift,     index_shift,  index_shift,    index_constant, index_floor,
    index_stride, index_modulo,    index_skewed, index_operator, index_extremes, index_correlated,
    index_clamp,  index_remainder, index_byte,   index_mask,     index_choice,   index_of_float,
};
enum { PLAIN_INDICES = 12, INDICES = sizeof indices / sizeof *indices };

static bool tired(const Gen *g)
{
    return g->depth <= 0 || g->budget <= 0;
}

void index_expression(Gen *g)
{
    g->budget--;
    g->depth--;
    indices[pick(g, tired(g) || chance(g, 70) ? PLAIN_INDICES : INDICES)](g);
    g->depth++;
}

/* ---- Calls ------------------------------------------------------------------------------ */

/* The name of a function, or a boundary around it. */
static void callee(Gen *g, const Symbol *s)
{
    static const char *const kinds[] = { "edge", "mirror", "mirror_interior", "wrap", "constant" };
    bool                     can     = s->rank > 0 && !s->has_rest && !g->in_formula;
    for (int d = 0; d < s->rank; d++)
        can = can && s->dims[d];
    if (!can || !chance(g, s->is_input ? 75 : 15)) {
        emit(g, "%s", s->name);
        return;
    }
    const uint32_t kind = pick(g, 5);
    emit(g, "%s(%s", kinds[kind], s->name);
    if (kind == 4) {
        emit(g, ", %s", s->components > 1 ? "(" : "");
        for (int c = 0; c < s->components; c++) {
            comma(g, c);
            literal(g, s->types[c]);
        }
        emit(g, "%s", s->components > 1 ? ")" : "");
    }
    for (int d = 0; d < s->rank && (!s->is_input || chance(g, 20)); d++) {
        const int lo = offset(g);
        if (d == 0 || chance(g, 70))
            emit(g, ", %s: %d..%d", s->dims[d], lo, lo + 1 + (int)pick(g, chance(g, 50) ? 3 : 6));
    }
    emit(g, ")");
}

static void component_of(Gen *g, const Symbol *s, int c)
{
    if (s->components > 1)
        emit(g, ".%d", c);
}

/* A read of the function that is being updated: at the very point in every free dimension, or in one dimension of the
 * left side a known number of steps away from all that is written now. */
static void self_read(Gen *g, kn_type t)
{
    const Self   *self  = g->self;
    const Symbol *s     = self->symbol;
    const int     c     = (int)pick(g, (uint32_t)s->components);
    const char   *close = open_cast(g, t, s->types[c]);
    int           apart = -1;
    for (int d = 0; d < s->rank; d++)
        if (self->args[d].is_linear && chance(g, 60))
            apart = d;
    emit(g, "%s(", s->name);
    for (int d = 0; d < s->rank; d++) {
        const LeftArg *a = &self->args[d];
        comma(g, d);
        if (d == apart) {
            const int away = (int)pick(g, 3) + 1;
            emit_linear(g, a->base, a->offset + (chance(g, 30) ? away : -away));
        } else if (apart >= 0) {
            index_shift(g);
        } else if (a->is_free) {
            emit(g, "%s", a->base);
        } else if (a->is_linear) {
            emit_linear(g, a->base, a->offset + (int)pick(g, 3) - 1);
        } else {
            index_expression(g);
        }
    }
    emit(g, ")");
    component_of(g, s, c);
    emit(g, "%s", close);
}

static void call(Gen *g, kn_type t)
{
    if (g->self && chance(g, 40)) {
        self_read(g, t);
        return;
    }
    if (!g->symbol_count) {
        named(g, t);
        return;
    }
    const Symbol *s     = &g->symbols[pick(g, (uint32_t)g->symbol_count)];
    const int     c     = (int)pick(g, (uint32_t)s->components);
    const char   *close = open_cast(g, t, s->types[c]);
    callee(g, s);
    emit(g, "(");
    for (int d = 0; d < s->rank; d++) {
        comma(g, d);
        index_expression(g);
    }
    emit(g, s->has_rest ? ", ..)" : ")");
    component_of(g, s, c);
    emit(g, "%s", close);
}

/* A read of an input where it has something, and another value elsewhere. */
static void guarded_read(Gen *g, kn_type t)
{
    const Symbol *s = g->symbol_count ? &g->symbols[pick(g, (uint32_t)g->symbol_count)] : NULL;
    if (!s || !s->is_input || s->rank == 0 || s->rank > 2) {
        call(g, t);
        return;
    }
    const int n = g->numbered;
    g->numbered += 2;
    emit(g, "{ ");
    for (int d = 0; d < s->rank; d++) {
        emit(g, "let at%d = ", n + d);
        index_expression(g);
        emit(g, "  ");
    }
    emit(g, "if ");
    for (int d = 0; d < s->rank; d++)
        emit(g, pick(g, 2) ? "%sat%d >= %s.%s.min && at%d <= %s.%s.max" : "%s!(at%d < %s.%s.min || at%d > %s.%s.max)",
             d ? " && " : "", n + d, s->name, s->dims[d], n + d, s->name, s->dims[d]);
    emit(g, " then %s(", kn_type_name(t));
    emit(g, "%s(", s->name);
    for (int d = 0; d < s->rank; d++)
        emit(g, "%sat%d", d ? ", " : "", n + d);
    emit(g, ")) else ");
    expression(g, t);
    emit(g, " }");
}

static void dimension(Gen *g, kn_type t)
{
    static const char *const fields[] = { "extent", "min", "max" };
    const Symbol            *s        = g->symbol_count ? &g->symbols[pick(g, (uint32_t)g->symbol_count)] : NULL;
    if (!s || !s->is_input || !s->rank) {
        variable(g, t);
        return;
    }
    const char *close = open_cast(g, t, KN_I32);
    if (chance(g, 30))
        emit(g, "%s.%s", s->name, s->rank > 1 && pick(g, 2) ? "height" : "width");
    else
        emit(g, "%s.%s.%s", s->name, s->dims[pick(g, (uint32_t)s->rank)], fields[pick(g, 3)]);
    emit(g, "%s", close);
}

/* ---- Operators -------------------------------------------------------------------------- */

/* Two operands that meet at t, between them `middle`. */
static void operands(Gen *g, kn_type t, const char *middle)
{
    const kn_type b    = meeting_type(g, t);
    const bool    swap = chance(g, 30);
    expression(g, swap ? b : t);
    emit(g, "%s", middle);
    if (t != KN_BOOL && !swap && chance(g, 30))
        weak_literal(g, t);
    else
        expression(g, swap ? t : b);
}

static void arithmetic(Gen *g, kn_type t)
{
    static const char *const ops[] = { " + ", " - ", " * ", " / ", " % " };
    emit(g, "(");
    operands(g, t, ops[pick(g, 5)]);
    emit(g, ")");
}

static void bits(Gen *g, kn_type t)
{
    static const char *const ops[] = { " & ", " | ", " ^ " };
    emit(g, "(");
    operands(g, t, ops[pick(g, 3)]);
    emit(g, ")");
}

static void unary(Gen *g, kn_type t)
{
    static const char *const ops[] = { "-", "~" };
    emit(g, "(%s", t == KN_BOOL ? pick(g, 2) ? "!" : "~" : is_float(t) ? "-" : ops[pick(g, 2)]);
    expression(g, t);
    emit(g, ")");
}

static void shift(Gen *g, kn_type t)
{
    emit(g, "(");
    expression(g, t);
    emit(g, pick(g, 2) ? " << " : " >> ");
    if (chance(g, 60))
        emit(g, "%d", (int)pick(g, 12) - 3);
    else
        expression(g, int_type(g));
    emit(g, ")");
}

static void extreme(Gen *g, kn_type t)
{
    emit(g, pick(g, 2) ? "min(" : "max(");
    operands(g, t, ", ");
    if (chance(g, 20)) {
        emit(g, ", ");
        expression(g, meeting_type(g, t));
    }
    emit(g, ")");
}

static void clamp(Gen *g, kn_type t)
{
    emit(g, "clamp(");
    operands(g, t, ", ");
    emit(g, ", ");
    expression(g, meeting_type(g, t));
    emit(g, ")");
}

static void integer_function(Gen *g, kn_type t)
{
    static const char *const names[] = { "avg_up", "avg_down", "absd", "abs", "popcount", "clz", "mul_shift", "floor" };
    const uint32_t           f       = pick(g, 8);
    emit(g, "%s(", f == 2 && is_signed(t) ? "avg_up" : names[f]);
    if (f < 2 || f == 6) {
        operands(g, t, ", ");
    } else if (f == 2) {
        const kn_type of = is_signed(t) ? t : same_width(t, pick(g, 2) != 0);
        operands(g, of, ", ");
    } else {
        expression(g, t);
    }
    if (f == 6) {
        emit(g, ", ");
        if (chance(g, 60))
            emit(g, "%d", (int)pick(g, 40) - 3);
        else
            expression(g, int_type(g));
    }
    emit(g, ")");
}

static void float_function(Gen *g, kn_type t)
{
    static const char *const one[] = { "sqrt", "floor", "ceil", "round", "trunc", "abs", "exp",
                                       "log",  "sin",   "cos",  "tan",   "tanh",  "erf", "rsqrt" };
    static const char *const two[] = { "pow", "atan2", "absd" }, *const three[] = { "fma", "lerp" };
    const uint32_t kind = pick(g, 5);
    if (kind < 3) {
        const uint32_t f = pick(g, 14);
        emit(g, "%s(", one[f]);
        expression(g, t == KN_F32 && f >= 6 && chance(g, 20) ? int_type(g) : t);
    } else if (kind == 3) {
        emit(g, "%s(", two[pick(g, 3)]);
        operands(g, t, ", ");
    } else {
        emit(g, "%s(", three[pick(g, 2)]);
        operands(g, t, ", ");
        emit(g, ", ");
        expression(g, meeting_type(g, t));
    }
    emit(g, ")");
}

static void compare(Gen *g, kn_type t)
{
    static const char *const ops[] = { " < ", " <= ", " > ", " >= ", " == ", " != " };
    const uint32_t           op    = pick(g, 6);
    (void)t;
    emit(g, "(");
    operands(g, op >= 4 ? any_type(g) : number_type(g), ops[op]);
    emit(g, ")");
}

/* A condition on coordinates alone, which narrows where it guards. */
static void guard(Gen *g, kn_type t)
{
    (void)t;
    emit(g, "(");
    corner_guard(g, some_var(g), some_var(g), some_number(g));
    emit(g, ")");
}

static void logic(Gen *g, kn_type t)
{
    emit(g, "(");
    expression(g, t);
    emit(g, pick(g, 2) ? " && " : " || ");
    expression(g, t);
    emit(g, ")");
}

static void conversion(Gen *g, kn_type t)
{
    const kn_type from = is_int(t) ? number_type(g) : any_type(g);
    emit(g, "%s%s(", is_int(t) && chance(g, 30) ? "sat_" : "", kn_type_name(t));
    expression(g, from);
    emit(g, ")");
}

/* The same bits; a float that is looked at is kept from being NaN. */
static void reinterpret(Gen *g, kn_type t)
{
    static const kn_type floats[9] = { [2] = KN_F16, [4] = KN_F32, [8] = KN_F64 };
    const kn_type        of        = floats[width(t)];
    emit(g, "reinterpret(%s, ", kn_type_name(t));
    if (is_int(t) && of && chance(g, 50)) {
        emit(g, "clamp(");
        expression(g, of);
        emit(g, ", -100.0, 3.5))");
        return;
    }
    expression(g, same_width(t, pick(g, 2) != 0));
    emit(g, ")");
}

/* ---- Choices, lets, reductions ---------------------------------------------------------- */

static void choice(Gen *g, kn_type t)
{
    emit(g, "(if ");
    expression(g, KN_BOOL);
    emit(g, " then ");
    expression(g, t);
    emit(g, " else ");
    expression(g, t);
    emit(g, ")");
}

static void select(Gen *g, kn_type t)
{
    emit(g, "select(");
    for (uint32_t n = pick(g, 2) + 1; n > 0; n--) {
        expression(g, KN_BOOL);
        emit(g, ": ");
        expression(g, t);
        emit(g, ", ");
    }
    emit(g, "else: ");
    expression(g, t);
    emit(g, ")");
}

static void let(Gen *g, kn_type t)
{
    const int     before = g->name_count;
    const kn_type type   = any_type(g);
    char          name[12];
    snprintf(name, sizeof name, "l%d", g->numbered++ % 1000);
    emit(g, "{ let %s = ", name);
    expression(g, type);
    push_name(g, name, type);
    emit(g, "  %s(", kn_type_name(t)); /* a value that begins with a parenthesis would be arguments of the let's */
    expression(g, t);
    emit(g, ") }");
    g->name_count = before;
}

static void strict(Gen *g, kn_type t)
{
    emit(g, "strict(");
    expression(g, t);
    emit(g, ")");
}

void bounds(Gen *g)
{
    const int lo = offset(g), n = (int)pick(g, 6);
    switch (pick(g, 8)) {
    case 5: emit(g, "%d..min(%s, 6) + %d", lo, some_var(g), n); break;
    case 6: emit(g, "%s - 1..%s + %d", g->var_count ? g->vars[0] : "1", g->var_count ? g->vars[0] : "2", n); break;
    case 7: emit(g, "max(%s, -3)..%d", some_var(g), n); break;
    default: emit(g, "%d..%d", lo, lo + n); break;
    }
}

/* sum(e for i in a..b, j in c..d where c), and for argmin one of its components. In an update it may read the function
 * itself: then its bounds are constants, and no variable hides one of the function's. */
static void reduction(Gen *g, kn_type t)
{
    static const char *const numbers[] = { "sum", "min", "max", "product", "argmin", "argmax" }, *const bools[] = {
        "all", "any"
    };
    static const char *const vars[] = { "i", "j", "k", "x" };
    const uint32_t           kind = pick(g, t == KN_BOOL ? 2 : 6), first = pick(g, g->self ? 2 : 4);
    const int                n = 1 + (pick(g, 4) == 3), outer = g->var_count;
    const bool               isarg = t != KN_BOOL && kind >= 4, index = isarg && t == KN_I32 && pick(g, 2);
    if (g->reductions > 1 || g->in_formula) {
        call(g, t);
        return;
    }
    g->reductions++;
    emit(g, "%s(", t == KN_BOOL ? bools[kind] : numbers[kind]);
    for (int i = 0; i < n; i++)
        push_var(g, vars[(first + (uint32_t)i) % 4]);
    expression(g, index ? number_type(g) : t);
    emit(g, " for ");
    g->var_count = outer;
    for (int i = 0; i < n; i++) {
        emit(g, "%s%s in ", i ? ", " : "", vars[(first + (uint32_t)i) % 4]);
        if (isarg || g->self)
            emit(g, "%d..%d", -(int)pick(g, 3), (int)pick(g, g->self ? 3 : 5));
        else
            bounds(g);
        push_var(g, vars[(first + (uint32_t)i) % 4]);
    }
    if (chance(g, 20)) {
        emit(g, " where ");
        expression(g, KN_BOOL);
    }
    emit(g, ")");
    if (isarg)
        emit(g, ".%d", index ? (int)pick(g, (uint32_t)n) : n);
    g->var_count = outer;
    g->reductions--;
}

/* ---- The table -------------------------------------------------------------------------- */

/* Those before LEAVES contain no other expression but indices. */
static const struct {
    void (*make)(Gen *g, kn_type t);
    unsigned on;
} productions[] = {
    { literal, ON_ANY },
    { variable, ON_ANY },
    { named, ON_ANY },
    { call, ON_ANY },
    { call, ON_ANY },
    { dimension, ON_NUMBER },
    { call, ON_ANY },
    { call, ON_ANY },
    { guarded_read, ON_ANY },
    { arithmetic, ON_NUMBER },
    { arithmetic, ON_NUMBER },
    { arithmetic, ON_NUMBER },
    { bits, ON_INT | ON_BOOL },
    { unary, ON_ANY },
    { shift, ON_INT },
    { extreme, ON_NUMBER },
    { clamp, ON_NUMBER },
    { integer_function, ON_INT },
    { float_function, ON_FLOAT },
    { float_function, ON_FLOAT },
    { compare, ON_BOOL },
    { compare, ON_BOOL },
    { guard, ON_BOOL },
    { logic, ON_BOOL },
    { conversion, ON_ANY },
    { reinterpret, ON_NUMBER },
    { choice, ON_ANY },
    { select, ON_ANY },
    { let, ON_ANY },
    { strict, ON_ANY },
    { reduction, ON_ANY },
    { reduction, ON_ANY },
};
enum { LEAVES = 6, PRODUCTIONS = sizeof productions / sizeof *productions };

void expression(Gen *g, kn_type t)
{
    g->budget--;
    uint32_t k = pick(g, tired(g) ? LEAVES : PRODUCTIONS);
    while (!(productions[k].on & class_of(t)))
        k = k ? k - 1 : 0;
    g->depth--;
    productions[k].make(g, t);
    g->depth++;
}

void meeting_expression(Gen *g, kn_type t)
{
    expression(g, meeting_type(g, t));
}

char *generate_formula(Choices *c, int rank, const char *const *dims)
{
    Gen g = { .choices = c, .var_type = KN_I64, .in_formula = true, .depth = 5, .budget = 60 };
    for (int d = 0; d < rank; d++)
        push_var(&g, dims[d]);
    expression(&g, any_type(&g));
    return g.text;
}
