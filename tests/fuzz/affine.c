/* SPDX-License-Identifier: MIT */
/* Random C programs with affine loops.
 *
 * Three families: stencils that are iterated in time, pipelines of stages, and nests of any shape: imperfect,
 * triangular, with guards, steps up and down, subscripts that are shifted, reversed, transposed, skewed or scaled.
 *
 * No subscript leaves its array: an iterator has an interval over all sizes, and a subscript whose interval is not
 * inside of [-OFFSET, EXTENT - OFFSET) is made again. Values stay small: every statement averages. Integers are
 * unsigned, since others may not overflow. */
#include "affine.h"

#include <stdbool.h>
#include <stdlib.h>

enum { OFFSET = 24, EXTENT = 64, MOST_ITERATORS = 5, MOST_ARRAYS = 5, MOST_RANK = 3, PARAMETERS = 3 };

typedef struct Interval {
    int lo, hi;
} Interval;

typedef struct Array {
    int  rank;
    int  type;  /* an index of types[] */
    bool turns; /* has a first dimension of 2, for even and odd steps */
    bool temporary;
} Array;

/* A sum of iterators, parameters and a constant. */
typedef struct Affine {
    int iterators[MOST_ITERATORS], parameters[PARAMETERS], constant;
} Affine;

typedef struct Gen {
    uint64_t state;
    FILE    *out;
    int      id, indent, statements, locals;
    int      iterator_count;
    Interval iterators[MOST_ITERATORS];
    Array    arrays[MOST_ARRAYS];
    int      array_count;
    bool     guards, scalars;
} Gen;

static const char *const types[]      = { "double", "float", "unsigned" };
static const char *const names[]      = { "i", "j", "k", "l", "q" };
static const char *const parameters[] = { "n", "m", "p" };
static const int         largest[]    = { AFFINE_MOST_N, AFFINE_MOST_M, AFFINE_MOST_P };

/* ---- Chance ---- */

static uint64_t next(Gen *g)
{
    uint64_t z = g->state += 0x9E3779B97F4A7C15u;
    z          = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z          = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static int pick(Gen *g, int count)
{
    return (int)(next(g) % (uint64_t)count);
}

static int between(Gen *g, int lo, int hi)
{
    return lo + pick(g, hi - lo + 1);
}

/* With that many chances in a hundred. */
static bool chance(Gen *g, int percent)
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
        print_term(g, a->iterators[i], names[i], &first);
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

static void print_element(const Gen *g, int array, const Affine *subscripts, const char *turn)
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
        fputs(names[pick(g, g->iterator_count)], g->out);
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

static void begin_line(const Gen *g)
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

/* Opens a loop over [lo, hi); false if its iterator would get too far. */
static bool open_loop(Gen *g, const Affine *lo, const Affine *hi, int step, bool down)
{
    const Interval from = range(g, lo), to = range(g, hi);
    if (g->iterator_count == MOST_ITERATORS || from.lo < -OFFSET / 2 || to.hi > EXTENT - OFFSET)
        return false;
    const char *name = names[g->iterator_count];
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

static void close_block(Gen *g)
{
    g->indent--;
    begin_line(g);
    fputs("}\n", g->out);
}

static void close_loop(Gen *g)
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
        fprintf(g->out, "(%s + 24) %% %d == %d", names[pick(g, g->iterator_count)], between(g, 2, 3), pick(g, 2));
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
    fprintf(g->out, "const int w%d = %s + %d;\n", local, names[g->iterator_count - 1], between(g, -1, 1));
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

/* ---- Families ---- */

static void wild(Gen *g)
{
    const int count = between(g, 1, 3);
    g->guards       = chance(g, 60);
    g->scalars      = chance(g, 25);
    for (int i = 0; i < count; i++)
        nest(g, between(g, 0, 3));
}

/* A sum of neighbours of `array` around the innermost `rank` iterators. */
static void neighbours(Gen *g, int array, int rank, const char *turn)
{
    const int count = between(g, 2, 5), first = g->iterator_count - rank;
    fputs(g->arrays[array].type == 2 ? "(" : "0.2 * (", g->out);
    for (int k = 0; k < count; k++) {
        Affine subscripts[MOST_RANK] = { 0 };
        for (int d = 0; d < rank; d++) {
            subscripts[d].iterators[first + d] = 1;
            subscripts[d].constant = chance(g, 60) ? between(g, -1, 1) : chance(g, 80) ? 0 : between(g, -3, 3);
        }
        fputs(k ? chance(g, 80) ? " + " : " - " : "", g->out);
        print_element(g, array, subscripts, turn);
    }
    fputs(")", g->out);
}

/* One stage: a nest over `rank` dimensions that writes `to` from neighbours in `from` and, sometimes, in `more`. */
static void stage(Gen *g, int to, int from, int more, int rank, const char *turn)
{
    Affine subscripts[MOST_RANK] = { 0 };
    int    opened                = 0;
    for (int d = 0; d < rank; d++, opened++) {
        const Affine lo                      = { .constant = between(g, 0, 3) };
        Affine       hi                      = { .constant = -between(g, 0, 3) };
        hi.parameters[chance(g, 60) ? 0 : 1] = 1;
        if (!open_loop(g, &lo, &hi, chance(g, 93) ? 1 : 2, chance(g, 8)))
            break;
        subscripts[d].iterators[g->iterator_count - 1] = 1;
    }
    const bool guard = g->guards && opened && chance(g, 25);
    if (guard) {
        begin_line(g);
        fprintf(g->out, "if (%s > 1)\n", names[g->iterator_count - 1]);
    }
    begin_line(g);
    print_element(g, to, subscripts, turn ? "(i + 1) % 2" : NULL);
    fputs(chance(g, 90) ? " = " : " += ", g->out);
    neighbours(g, from, rank, turn ? "i % 2" : NULL);
    if (more >= 0) {
        fputs(g->arrays[to].type == 2 ? " + " : " + 0.25 * ", g->out);
        neighbours(g, more, rank, turn ? "i % 2" : NULL);
    }
    fputs(";\n", g->out);
    g->statements++;
    while (opened-- > 0)
        close_loop(g);
}

static void iterated(Gen *g)
{
    const int    rank = between(g, 1, 3), fields = between(g, 1, 3), form = pick(g, 3);
    const Affine lo  = { 0 };
    Affine       hi  = { 0 };
    hi.parameters[2] = 1;
    g->guards        = chance(g, 20);
    g->array_count   = form == 1 ? 2 * fields : fields;
    g->array_count   = g->array_count > MOST_ARRAYS ? MOST_ARRAYS - 1 : g->array_count;
    for (int a = 0; a < g->array_count; a++)
        g->arrays[a] = (Array){ .rank = rank, .type = g->arrays[0].type, .turns = form == 0 };
    open_loop(g, &lo, &hi, 1, false);
    if (form == 1) { /* there and back */
        for (int f = 0; f + 1 < g->array_count; f += 2) {
            stage(g, f + 1, f, chance(g, 30) ? pick(g, g->array_count) : -1, rank, NULL);
            stage(g, f, f + 1, -1, rank, NULL);
        }
    } else { /* even and odd steps, or in place */
        for (int f = 0; f < g->array_count; f++)
            stage(g, f, f, chance(g, 40) ? pick(g, g->array_count) : -1, rank, form == 0 ? "t" : NULL);
    }
    close_loop(g);
}

static void pipeline(Gen *g)
{
    const int rank = between(g, 1, 2);
    g->array_count = between(g, 3, MOST_ARRAYS);
    g->guards      = chance(g, 15);
    for (int a = 0; a < g->array_count; a++)
        g->arrays[a] = (Array){ .rank = rank, .type = g->arrays[0].type };
    if (chance(g, 50)) {
        begin_line(g);
        fputs("#pragma kiln temporary(", g->out);
        for (int a = 1; a + 1 < g->array_count; a++)
            fprintf(g->out, "%sa%d_%d", a > 1 ? ", " : "", a, g->id);
        fputs(")\n", g->out);
        for (int a = 1; a + 1 < g->array_count; a++)
            g->arrays[a].temporary = true;
    }
    for (int a = 1; a < g->array_count; a++)
        stage(g, a, a - 1, chance(g, 25) ? pick(g, a) : -1, rank, NULL);
}

/* ---- Programs ---- */

void affine_prelude(FILE *out)
{
    fputs("double fabs(double);\n"
          "void fill_double(double *a, int count, unsigned seed);\n"
          "void fill_float(float *a, int count, unsigned seed);\n"
          "void fill_unsigned(unsigned *a, int count, unsigned seed);\n"
          "unsigned long hash_double(const double *a, int count, unsigned long h);\n"
          "unsigned long hash_float(const float *a, int count, unsigned long h);\n"
          "unsigned long hash_unsigned(const unsigned *a, int count, unsigned long h);\n",
          out);
}

static int elements(const Array *a)
{
    int count = a->turns ? 2 : 1;
    for (int d = 0; d < a->rank; d++)
        count *= EXTENT;
    return count;
}

static void print_extents(const Gen *g, const Array *a)
{
    fputs(a->turns ? "[2]" : "", g->out);
    for (int d = 0; d < a->rank; d++)
        fprintf(g->out, "[%d]", EXTENT);
}

static void print_function(Gen *g, const char *region)
{
    for (int a = 0; a < g->array_count; a++) {
        fprintf(g->out, "static %s a%d_%d", types[g->arrays[a].type], a, g->id);
        print_extents(g, &g->arrays[a]);
        fputs(";\n", g->out);
    }
    fprintf(g->out, "unsigned long case_%d(int n, int m, int p)\n{\n    unsigned long h = 1;\n    double s_%d = 0.5;\n",
            g->id, g->id);
    for (int a = 0; a < g->array_count; a++)
        fprintf(g->out, "    fill_%s((%s *)a%d_%d, %d, %du);\n", types[g->arrays[a].type], types[g->arrays[a].type], a,
                g->id, elements(&g->arrays[a]), a + 1);
    fprintf(g->out, "#pragma scop\n%s#pragma endscop\n", region);
    for (int a = 0; a < g->array_count; a++)
        if (!g->arrays[a].temporary)
            fprintf(g->out, "    h = hash_%s((const %s *)a%d_%d, %d, h);\n", types[g->arrays[a].type],
                    types[g->arrays[a].type], a, g->id, elements(&g->arrays[a]));
    fprintf(g->out, "    return hash_double(&s_%d, 1, h) + (unsigned long)(n + m + p);\n}\n", g->id);
}

void affine_program(FILE *out, uint64_t seed, int id)
{
    Gen    g      = { .state = seed, .id = id, .indent = 1, .array_count = 1 };
    char  *text   = NULL;
    size_t size   = 0;
    g.array_count = between(&g, 1, 3);
    for (int a = 0; a < g.array_count; a++)
        g.arrays[a] = (Array){ .rank = between(&g, 1, 2), .type = chance(&g, 70) ? 0 : between(&g, 1, 2) };
    g.out = open_memstream(&text, &size);
    if (!g.out)
        return;
    const int family = pick(&g, 10);
    if (family < 4)
        iterated(&g);
    else if (family < 6)
        pipeline(&g);
    else
        wild(&g);
    fclose(g.out);
    g.out = out;
    print_function(&g, text);
    free(text);
}

void affine_main(FILE *out, const int *ids, int count)
{
    fputs("#include <stdio.h>\n#include <string.h>\n", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "unsigned long case_%d(int n, int m, int p);\n", ids[i]);
    static const char *const bits[] = { "unsigned long", "unsigned", "unsigned" };
    for (int t = 0; t < 3; t++)
        fprintf(
            out,
            "void fill_%s(%s *a, int count, unsigned seed)\n{\n    for (int i = 0; i < count; i++)\n"
            "        a[i] = (%s)((i * 7u + seed * 13u) %% 61u)%s;\n}\n"
            "unsigned long hash_%s(const %s *a, int count, unsigned long h)\n{\n"
            "    for (int i = 0; i < count; i++) {\n        %s b = 0;\n"
            "        if (a[i] == a[i]) /* any NaN is as good as another */\n            memcpy(&b, &a[i], sizeof b);\n"
            "        h = (h ^ b) * 1099511628211u;\n        h ^= h >> 29;\n    }\n    return h;\n}\n",
            types[t], types[t], types[t], t < 2 ? " / 32" : "", types[t], types[t], bits[t]);
    fputs("static const int sizes[][3] = { { 0, 0, 0 }, { 1, 1, 1 }, { 2, 5, 2 }, { 5, 3, 3 }, { 8, 8, 4 }, { 11, 7, 6 "
          "}, "
          "{ 9, 11, 5 } };\n"
          "#define RUN(id) \\\n    for (int k = 0; k < 7; k++) { \\\n"
          "        printf(\"%d %d %d %d %lx\\n\", id, sizes[k][0], sizes[k][1], sizes[k][2], case_##id(sizes[k][0], "
          "sizes[k][1], sizes[k][2])); \\\n        fflush(stdout); \\\n    }\n"
          "int main(void)\n{\n",
          out);
    for (int i = 0; i < count; i++)
        fprintf(out, "    RUN(%d)\n", ids[i]);
    fputs("    return 0;\n}\n", out);
}
