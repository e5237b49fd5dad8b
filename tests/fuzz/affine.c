/* SPDX-License-Identifier: MIT */
/* Random C programs with affine loops.
 *
 * Four families: stencils that are iterated in time, pipelines of stages, nests of any shape (affine_nests.c), and
 * kernels that are no stencils (affine_kernels.c). */
#include "affine_draft.h"

#include <stdlib.h>

/* ---- Stencils and pipelines ---- */

/* How the elements that a stage reads lie to the point that it computes. */
typedef enum Scale { SCALE_SAME, SCALE_DOWN /* at 2 x */, SCALE_UP /* at x / 2 */ } Scale;

enum { MOST_SHIFT = 3 }; /* of what a stage reads */

/* How the stages of a program look. */
typedef struct Form {
    int         rank;
    const char *turn;     /* of what is read, where arrays have a first dimension of 2 */
    bool        channels; /* the last dimension has 3 values */
    bool        scales;   /* some stages read at another scale */
    bool        wide;     /* some stages have several statements, or a loop in each point */
    int         last;     /* a stage computes all that the next one up to this reads; 0: perhaps not */
} Form;

/* The subscript along a dimension: the iterator at a scale, and a shift. */
static void print_subscript(Gen *g, int iterator, Scale scale, int shift)
{
    const char *name = draft_names[iterator];
    if (scale == SCALE_UP)
        fprintf(g->out, "[(%s + %d) / 2 + %d]", name, shift + 4, OFFSET - 2);
    else
        fprintf(g->out, "[%s%s + %d]", scale == SCALE_DOWN ? "2 * " : "", name, OFFSET + shift);
}

/* A sum of neighbours of `array` around the innermost iterators. */
static void neighbours(Gen *g, int array, const Form *f, Scale scale)
{
    const int count = between(g, 2, 5), first = g->iterator_count - f->rank;
    fputs(g->arrays[array].type == 2 ? "(" : "0.2 * (", g->out);
    for (int k = 0; k < count; k++) {
        fputs(k ? chance(g, 80) ? " + " : " - " : "", g->out);
        fprintf(g->out, "a%d_%d", array, g->id);
        if (g->arrays[array].turns)
            fprintf(g->out, "[%s]", f->turn ? f->turn : "0");
        for (int d = 0; d < f->rank; d++) {
            const bool channel = f->channels && d + 1 == f->rank;
            const int  shift   = chance(g, 60)   ? between(g, -1, 1)
                                 : chance(g, 80) ? 0
                                                 : between(g, -MOST_SHIFT, MOST_SHIFT);
            print_subscript(g, first + d, channel ? SCALE_SAME : scale, channel && chance(g, 80) ? 0 : shift);
        }
    }
    fputs(")", g->out);
}

/* The sum over a window of `from` into a local variable; gives its number. */
static int window(Gen *g, int from, const Form *f)
{
    const int   local = g->locals++, first = g->iterator_count - f->rank;
    const char *type = draft_types[g->arrays[from].type];
    begin_line(g);
    fprintf(g->out, "%s r%d = 0;\n", type, local);
    begin_line(g);
    fprintf(g->out, "for (int u = -1; u <= %d; u++)\n", between(g, 0, 2));
    begin_line(g);
    fprintf(g->out, "    r%d += %sa%d_%d", local, g->arrays[from].type == 2 ? "" : "0.25 * ", from, g->id);
    if (g->arrays[from].turns)
        fprintf(g->out, "[%s]", f->turn ? f->turn : "0");
    for (int d = 0; d < f->rank; d++)
        fprintf(g->out, "[%s%s + %d]", draft_names[first + d], d == 0 ? " + u" : "", OFFSET);
    fputs(";\n", g->out);
    g->statements += 2;
    return local;
}

/* The statements of one point of a stage. */
static void point(Gen *g, int to, int from, int more, const Form *f, const Affine *subscripts)
{
    const Scale scale = !f->scales || chance(g, 60) ? SCALE_SAME : chance(g, 50) ? SCALE_DOWN : SCALE_UP;
    const int   kind = f->wide ? pick(g, 4) : 3, integers = g->arrays[to].type == 2;
    int         local = -1;
    if (kind == 0) {
        local = window(g, from, f);
    } else if (kind == 1) {
        local = g->locals++;
        begin_line(g);
        fprintf(g->out, "const %s r%d = ", draft_types[g->arrays[to].type], local);
        neighbours(g, from, f, scale);
        fputs(";\n", g->out);
        g->statements++;
    }
    begin_line(g);
    print_element(g, to, subscripts, f->turn ? "(i + 1) % 2" : NULL);
    fputs(chance(g, 90) ? " = " : " += ", g->out);
    if (local >= 0)
        fprintf(g->out, integers ? "r%d * 3u" : "0.5 * r%d", local);
    else
        neighbours(g, from, f, scale);
    if (more >= 0) {
        fputs(integers ? " + " : " + 0.25 * ", g->out);
        neighbours(g, more, f, SCALE_SAME);
    }
    fputs(";\n", g->out);
    g->statements++;
}

/* One stage: a nest that writes `to` from neighbours in `from` and, sometimes, in `more`. */
static void stage(Gen *g, int to, int from, int more, const Form *f)
{
    Affine subscripts[MOST_RANK] = { 0 };
    int    opened                = 0;
    for (int d = 0; d < f->rank; d++, opened++) {
        const bool   channel = f->channels && d + 1 == f->rank;
        const int    further = MOST_SHIFT * (f->last - to);
        const Affine lo      = { .constant = channel ? 0 : f->last ? -further : between(g, 0, 3) };
        Affine       hi      = { .constant = channel ? 3 : f->last ? further : -between(g, 0, 3) };
        if (!channel)
            hi.parameters[f->last ? d % 2 : chance(g, 60) ? 0 : 1] = 1;
        if (!open_loop(g, &lo, &hi, f->last || chance(g, 93) ? 1 : 2, chance(g, 8)))
            break;
        subscripts[d].iterators[g->iterator_count - 1] = 1;
    }
    const bool guard = g->guards && opened && chance(g, 25);
    if (guard) {
        begin_line(g);
        fprintf(g->out, "if (%s > 1) {\n", draft_names[g->iterator_count - 1]);
        g->indent++;
    }
    point(g, to, from, more, f, subscripts);
    if (guard)
        close_block(g);
    while (opened-- > 0)
        close_loop(g);
}

/* A border: the first or the last element, row or plane of `to` from one of `from`, inside fewer loops. */
static void border(Gen *g, int to, int from, const Form *f)
{
    Affine    there[MOST_RANK] = { 0 }, here[MOST_RANK];
    const int fixed            = pick(g, f->rank);
    int       opened           = 0;
    for (int d = 0; d < f->rank; d++) {
        const Affine lo  = { .constant = between(g, 0, 1) };
        Affine       hi  = { .constant = -between(g, 0, 1) };
        hi.parameters[0] = 1;
        if (d != fixed && open_loop(g, &lo, &hi, 1, false)) {
            there[d].iterators[g->iterator_count - 1] = 1;
            opened++;
        }
    }
    there[fixed].parameters[0] = chance(g, 50);
    there[fixed].constant      = between(g, -1, 1);
    for (int d = 0; d < f->rank; d++)
        here[d] = there[d];
    here[fixed].constant += between(g, -1, 2);
    begin_line(g);
    print_element(g, to, there, f->turn ? "(i + 1) % 2" : NULL);
    fputs(" = ", g->out);
    print_element(g, from, here, f->turn);
    fputs(";\n", g->out);
    g->statements++;
    while (opened-- > 0)
        close_loop(g);
}

/* Stencils in a loop over time: by even and odd steps, there and back, or in place; with borders here and there. */
static void iterated(Gen *g)
{
    const int    way = pick(g, 3), fields = between(g, 1, 3);
    const Form   form  = { .rank = between(g, 1, 3), .turn = way == 0 ? "i % 2" : NULL, .wide = chance(g, 15) };
    const Affine lo    = { .constant = chance(g, 90) ? 0 : 1 };
    Affine       hi    = { 0 };
    hi.parameters[2]   = 1;
    g->guards          = chance(g, 20);
    g->array_count     = way == 1 ? 2 * fields : fields;
    g->array_count     = g->array_count > MOST_ARRAYS ? MOST_ARRAYS : g->array_count;
    const bool borders = chance(g, 20);
    for (int a = 0; a < g->array_count; a++)
        g->arrays[a] = (Array){ .rank = form.rank, .type = g->arrays[0].type, .turns = way == 0 };
    open_loop(g, &lo, &hi, 1, false);
    for (int k = 0; k < g->array_count; k += way == 1 ? 2 : 1) {
        const int to = way == 1 ? k + 1 : k;
        stage(g, to, k, chance(g, 40) ? pick(g, g->array_count) : -1, &form);
        if (borders)
            border(g, to, k, &form);
        if (way == 1)
            stage(g, k, to, -1, &form);
    }
    close_loop(g);
}

/* Stages one after the other, at several scales, some with several consumers. */
static void pipeline(Gen *g)
{
    const bool channels = chance(g, 20), covered = chance(g, 50);
    g->array_count  = between(g, 3, MOST_ARRAYS);
    const Form form = { .rank     = channels || covered ? between(g, 2, 3) : between(g, 1, 2),
                        .channels = channels,
                        .scales   = !covered && chance(g, 30),
                        .wide     = chance(g, 30),
                        .last     = covered ? g->array_count - 1 : 0 };
    g->guards       = !covered && chance(g, 15);
    for (int a = 0; a < g->array_count; a++)
        g->arrays[a] = (Array){ .rank = form.rank, .type = g->arrays[0].type };
    if (chance(g, covered ? 90 : 60)) {
        begin_line(g);
        fputs("#pragma kiln temporary(", g->out);
        for (int a = 1; a + 1 < g->array_count; a++)
            fprintf(g->out, "%sa%d_%d", a > 1 ? ", " : "", a, g->id);
        fputs(")\n", g->out);
        for (int a = 1; a + 1 < g->array_count; a++)
            g->arrays[a].temporary = true;
    }
    for (int a = 1; a < g->array_count; a++)
        stage(g, a, a - 1, chance(g, 25) ? pick(g, a) : -1, &form);
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
        fprintf(g->out, "static %s a%d_%d", draft_types[g->arrays[a].type], a, g->id);
        print_extents(g, &g->arrays[a]);
        fputs(";\n", g->out);
    }
    fprintf(g->out, "unsigned long case_%d(int n, int m, int p)\n{\n    unsigned long h = 1;\n    double s_%d = 0.5;\n",
            g->id, g->id);
    for (int a = 0; a < g->array_count; a++)
        fprintf(g->out, "    fill_%s((%s *)a%d_%d, %d, %du);\n", draft_types[g->arrays[a].type],
                draft_types[g->arrays[a].type], a, g->id, elements(&g->arrays[a]), a + 1);
    fprintf(g->out, "#pragma scop\n%s#pragma endscop\n", region);
    for (int a = 0; a < g->array_count; a++)
        if (!g->arrays[a].temporary)
            fprintf(g->out, "    h = hash_%s((const %s *)a%d_%d, %d, h);\n", draft_types[g->arrays[a].type],
                    draft_types[g->arrays[a].type], a, g->id, elements(&g->arrays[a]));
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
    const int family = pick(&g, 20);
    if (family < 7)
        iterated(&g);
    else if (family < 12)
        pipeline(&g);
    else if (family < 16)
        kernel(&g);
    else
        wild(&g);
    fclose(g.out);
    g.out = out;
    print_function(&g, text);
    free(text);
}

void affine_main(FILE *out, const int *ids, int count)
{
    fputs("int printf(const char *, ...);\nint fflush(void *);\nvoid *memcpy(void *, const void *, unsigned long);\n",
          out); /* no header: a compiler will do that has none */
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
            draft_types[t], draft_types[t], draft_types[t], t < 2 ? " / 32" : "", draft_types[t], draft_types[t],
            bits[t]);
    fputs("static const int sizes[][3] = { { 0, 0, 0 }, { 1, 1, 1 }, { 2, 5, 2 }, { 5, 3, 3 }, { 8, 8, 4 }, { 11, 7, 6 "
          "}, "
          "{ 9, 11, 5 } };\n"
          "#define RUN(id) \\\n    for (int k = 0; k < 7; k++) { \\\n"
          "        printf(\"%d %d %d %d %lx\\n\", id, sizes[k][0], sizes[k][1], sizes[k][2], case_##id(sizes[k][0], "
          "sizes[k][1], sizes[k][2])); \\\n        fflush(0); \\\n    }\n"
          "int main(void)\n{\n",
          out);
    for (int i = 0; i < count; i++)
        fprintf(out, "    RUN(%d)\n", ids[i]);
    fputs("    return 0;\n}\n", out);
}
