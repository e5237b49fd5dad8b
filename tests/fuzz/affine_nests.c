/* SPDX-License-Identifier: MIT */
/* Random nests of loops, and what every random program is made of: affine expressions, elements, values, loops. */
#include "affine_draft.h"

const char *const        draft_types[] = { "double", "float", "unsigned" };
const char *const        draft_names[] = { "i", "j", "k", "l", "q" };
static const char *const parameters[]  = { "n", "m", "p" };
static const int         largest[]     = { AFFINE_MOST_N, AFFINE_MOST_M, AFFINE_MOST_P };

/* ---- Chance ---- */

static uint64_t next(Gen *g)
{
    uint64_t z = g->state += 0x9E3779B97F4A7C15u;
    z          = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z          = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

int pick(Gen *g, int count)
{
    return (int)(next(g) % (uint64_t)count);
}

int between(Gen *g, int lo, int hi)
{
    return lo + pick(g, hi - lo + 1);
}

bool chance(Gen *g, int percent)
{
    return pick(g, 100) < percent;
}

/* ---- Affine expressions ---- */

static void extend(Interval *r, int factor, Interval x)
{
    r->lo += factor * (factor > 0 ? x.lo : x.hi);
    r->hi += factor * (factor > 0 ? x.hi : x.lo);
}

static Interval range(const Gen *g, const Affine *a)
{
    Interval r = { a->constant, a->constant };
    for (int i = 0; i < g->iterator_count; i++)
        extend(&r, a->iterators[i], g->iterators[i]);
    for (int i = 0; i < PARAMETERS; i++)
        extend(&r, a->parameters[i], (Interval){ 0, largest[i] });
    return r;
}

static void print_term(const Gen *g, int factor, const char *name, bool *first)
{
    if (!factor)
        return;
    fputs(factor < 0 ? (*first ? "-" : " - ") : *first ? "" : " + ", g->out);
    if (factor != 1 && factor != -1)
        fprintf(g->out, "%d * ", factor < 0 ? -factor : factor);
    fputs(name, g->out);
    *first = false;
}

static void print_affine(const Gen *g, const Affine *a, int more)
{
    bool      first    = true;
    const int constant = a->constant + more;
    for (int i = 0; i < g->iterator_count; i++)
        print_term(g, a->iterators[i], draft_names[i], &first);
    for (int i = 0; i < PARAMETERS; i++)
        print_term(g, a->parameters[i], parameters[i], &first);
    if (first)
        fprintf(g->out, "%d", constant);
    else if (constant)
        fprintf(g->out, constant < 0 ? " - %d" : " + %d", constant < 0 ? -constant : constant);
}

/* A subscript: mostly an iterator and a small shift. */
static Affine any_affine(Gen *g)
{
    Affine    a    = { .constant = between(g, -2, 2) };
    const int some = g->iterator_count ? pick(g, g->iterator_count) : -1, kind = pick(g, 20);
    if (some < 0)
        a.parameters[pick(g, PARAMETERS)] = chance(g, 40);
    else if (kind < 13)
        a.iterators[some] = 1;
    else if (kind < 15) { /* reversed */
        a.iterators[some]        = -1;
        a.parameters[pick(g, 2)] = 1;
    } else if (kind < 17) { /* skewed */
        a.iterators[some] = 1;
        a.iterators[pick(g, g->iterator_count)] += chance(g, 50) ? 1 : -1;
    } else if (kind < 18)
        a.iterators[some] = 2;
    else if (kind < 19)
        a.parameters[pick(g, PARAMETERS)] = 1;
    return a;
}

static Affine safe_affine(Gen *g)
{
    for (int tries = 0; tries < 20; tries++) {
        const Affine   a = any_affine(g);
        const Interval r = range(g, &a);
        if (r.lo >= -OFFSET && r.hi < EXTENT - OFFSET)
            return a;
    }
    return (Affine){ 0 };
}

/* ---- Expressions ---- */

void print_element(const Gen *g, int array, const Affine *subscripts, const char *turn)
{
    fprintf(g->out, "a%d_%d", array, g->id);
    if (g->arrays[array].turns)
        fprintf(g->out, "[%s]", turn ? turn : "0");
    for (int d = 0; d < g->arrays[array].rank; d++) {
        fputs("[", g->out);
        print_affine(g, &subscripts[d], OFFSET);
        fputs("]", g->out);
    }
}

static void any_element(Gen *g, int array)
{
    Affine subscripts[MOST_RANK];
    for (int d = 0; d < g->arrays[array].rank; d++)
        subscripts[d] = safe_affine(g);
    print_element(g, array, subscripts, chance(g, 50) ? "1" : NULL);
}

/* An array whose elements are floats, or integers. */
static int array_of(Gen *g, bool integers)
{
    for (int tries = 0; tries < 8; tries++) {
        const int a = pick(g, g->array_count);
        if ((g->arrays[a].type == 2) == integers)
            return a;
    }
    return -1;
}

static void print_leaf(Gen *g, bool integers)
{
    static const char *const floats[] = { "0.5", "0.25f", "3", "0.125", "1.5f", "0.75" };
    static const char *const whole[]  = { "1u", "3u", "7", "0x10u" };
    const int                array    = array_of(g, integers && chance(g, 95));
    if (array >= 0 && chance(g, 85) && !(integers && g->arrays[array].type != 2))
        any_element(g, array);
    else if (g->scalars && !integers && chance(g, 60))
        fprintf(g->out, "s_%d", g->id);
    else if (g->iterator_count && chance(g, 30))
        fputs(draft_names[pick(g, g->iterator_count)], g->out);
    else
        fputs(integers ? whole[pick(g, 4)] : floats[pick(g, 6)], g->out);
}

static void print_value(Gen *g, bool integers, int depth)
{
    static const char *const operators[] = { " + ", " + ", " - ", " * ", " ^ ", " & " };
    const int                kind        = pick(g, 12);
    if (depth == 0 || kind < 4) {
        print_leaf(g, integers);
    } else if (kind < 5) {
        fputs("(", g->out);
        print_value(g, integers, depth - 1);
        fputs(integers ? " > 5 ? " : " > 0.5 ? ", g->out);
        print_value(g, integers, depth - 1);
        fputs(" : ", g->out);
        print_value(g, integers, depth - 1);
        fputs(")", g->out);
    } else if (kind < 6 && !integers) {
        fputs(chance(g, 50) ? "fabs(" : "(float)(", g->out);
        print_value(g, integers, depth - 1);
        fputs(")", g->out);
    } else {
        fputs("(", g->out);
        print_value(g, integers, depth - 1);
        fputs(operators[pick(g, integers ? 6 : 4)], g->out);
        print_value(g, integers, depth - 1);
        fputs(")", g->out);
    }
}

/* ---- Statements ---- */

void begin_line(const Gen *g)
{
    fprintf(g->out, "%*s", 4 * g->indent, "");
}

static void assignment(Gen *g)
{
    static const char *const compound[] = { " = ", " = ", " = ", " = ", " += ", " -= " };
    const int                array      = pick(g, g->array_count);
    const bool               integers   = g->arrays[array].type == 2;
    g->statements++;
    begin_line(g);
    if (g->scalars && chance(g, 15)) {
        fprintf(g->out, "s_%d = 0.5 * ", g->id);
        print_value(g, false, 2);
        fputs(";\n", g->out);
        return;
    }
    any_element(g, array);
    fputs(compound[pick(g, 6)], g->out);
    fputs(integers ? "" : "0.25 * ", g->out);
    print_value(g, integers, between(g, 1, 3));
    fputs(";\n", g->out);
}

/* One end of a loop: a parameter, a constant or an outer iterator, with a shift. */
static Affine loop_end(Gen *g, bool upper)
{
    Affine a = { .constant = between(g, -1, 2) };
    if (g->iterator_count && chance(g, 25))
        a.iterators[pick(g, g->iterator_count)] = 1;
    else if (upper && chance(g, 85))
        a.parameters[pick(g, 2)] = 1;
    else if (upper)
        a.constant += between(g, 1, 6);
    return a;
}

bool open_loop(Gen *g, const Affine *lo, const Affine *hi, int step, bool down)
{
    const Interval from = range(g, lo), to = range(g, hi);
    if (g->iterator_count == MOST_ITERATORS || from.lo < -OFFSET / 2 || to.hi > EXTENT - OFFSET)
        return false;
    const char *name = draft_names[g->iterator_count];
    begin_line(g);
    fprintf(g->out, "for (int %s = ", name);
    print_affine(g, down ? hi : lo, down ? -1 : 0);
    if (down)
        fprintf(g->out, "; %s >= ", name);
    else
        fprintf(g->out, chance(g, 80) ? "; %s < " : "; %s <= -1 + ", name);
    print_affine(g, down ? lo : hi, 0);
    if (step == 1)
        fprintf(g->out, "; %s%s) {\n", name, down ? "--" : "++");
    else
        fprintf(g->out, "; %s %s= %d) {\n", name, down ? "-" : "+", step);
    g->iterators[g->iterator_count++] = (Interval){ from.lo, to.hi - 1 > from.lo ? to.hi - 1 : from.lo };
    g->indent++;
    return true;
}

void close_block(Gen *g)
{
    g->indent--;
    begin_line(g);
    fputs("}\n", g->out);
}

void close_loop(Gen *g)
{
    g->iterator_count--;
    close_block(g);
}

static void body(Gen *g, int depth);

static void guarded(Gen *g, int depth)
{
    const Affine a = any_affine(g), b = any_affine(g);
    begin_line(g);
    fputs("if (", g->out);
    if (g->iterator_count && chance(g, 25)) {
        fprintf(g->out, "(%s + 24) %% %d == %d", draft_names[pick(g, g->iterator_count)], between(g, 2, 3), pick(g, 2));
    } else {
        static const char *const compares[] = { " < ", " <= ", " >= ", " == ", " != " };
        print_affine(g, &a, 0);
        fputs(compares[pick(g, 5)], g->out);
        print_affine(g, &b, 0);
    }
    fputs(") {\n", g->out);
    g->indent++;
    body(g, depth);
    g->indent--;
    begin_line(g);
    if (chance(g, 30)) {
        fputs("} else {\n", g->out);
        g->indent++;
        body(g, 0);
        close_block(g);
    } else {
        fputs("}\n", g->out);
    }
}

static void reduction(Gen *g)
{
    const Affine lo = loop_end(g, false), hi = loop_end(g, true);
    const int    array = array_of(g, false), local = g->locals++;
    if (array < 0) {
        assignment(g);
        return;
    }
    begin_line(g);
    fprintf(g->out, "double r%d = 0;\n", local);
    if (open_loop(g, &lo, &hi, 1, false)) {
        begin_line(g);
        fprintf(g->out, "r%d += 0.0625 * ", local);
        print_value(g, false, 1);
        fputs(";\n", g->out);
        close_loop(g);
    }
    begin_line(g);
    any_element(g, array);
    fprintf(g->out, " = r%d;\n", local);
    g->statements += 3;
}

/* An integer of the body, in subscripts. */
static void with_local(Gen *g)
{
    const int local = g->locals++, array = pick(g, g->array_count);
    begin_line(g);
    fprintf(g->out, "const int w%d = %s + %d;\n", local, draft_names[g->iterator_count - 1], between(g, -1, 1));
    for (int side = 0; side < 2; side++) {
        side ? (void)fputs(" = ", g->out) : begin_line(g);
        fprintf(g->out, "a%d_%d%s", array, g->id, g->arrays[array].turns ? "[0]" : "");
        for (int d = 0; d < g->arrays[array].rank; d++)
            fprintf(g->out, "[w%d + %d]", local, OFFSET - side);
    }
    fputs(";\n", g->out);
    g->statements++;
}

static void nest(Gen *g, int depth)
{
    const Affine lo = loop_end(g, false), hi = loop_end(g, true);
    if (!open_loop(g, &lo, &hi, chance(g, 85) ? 1 : between(g, 2, 3), chance(g, 20))) {
        assignment(g);
        return;
    }
    if (chance(g, 12))
        with_local(g);
    body(g, depth - 1);
    close_loop(g);
}

static void body(Gen *g, int depth)
{
    const int count = chance(g, 70) ? 1 : 2;
    for (int i = 0; i < count; i++) {
        if (g->statements > 8 || depth == 0)
            assignment(g);
        else if (g->guards && chance(g, 20))
            guarded(g, depth - 1);
        else if (g->iterator_count && chance(g, 8))
            reduction(g);
        else if (chance(g, 85))
            nest(g, depth);
        else
            assignment(g);
    }
}

void wild(Gen *g)
{
    const int count = between(g, 1, 3);
    g->guards       = chance(g, 60);
    g->scalars      = chance(g, 25);
    for (int i = 0; i < count; i++)
        nest(g, between(g, 0, 3));
}
