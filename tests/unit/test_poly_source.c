/* SPDX-License-Identifier: MIT */
/* The C front end: what is read, and how it prints; what is refused, where and why. */
#include "check.h"

#include "poly/source/source.h"

#include <string.h>

typedef struct Reading {
    kn_context   *cx;
    const Source *source;
    const char   *printed; /* the regions, one after the other */
    bool          good;
} Reading;

static void read_all(void *arg)
{
    Reading *r       = arg;
    Regions  regions = { 0 };
    Text     t;
    text_init(&t, &r->cx->arena);
    r->good = source_regions(r->cx, &r->cx->arena, r->source, r->source->text, NULL, &regions);
    for (size_t i = 0; i < regions.items.count; i++)
        region_print(&t, regions.items.at[i]);
    r->printed = text_string(&t);
}

static Reading read_text(kn_context *cx, const char *text)
{
    Source *source = ARENA_NEW(&cx->arena, Source);
    *source        = (Source){ "a.c", arena_strdup(&cx->arena, text), strlen(text) };
    Reading r      = { .cx = cx, .source = source, .printed = "" };
    context_begin(cx);
    context_call(cx, read_all, &r);
    return r;
}

/* Texts but for white space, which stands for any white space. */
static bool same_words(const char *a, const char *b)
{
    static const char white[] = " \n\t";
    for (;;) {
        a += strspn(a, white);
        b += strspn(b, white);
        const size_t n = strcspn(a, white);
        if (n != strcspn(b, white) || strncmp(a, b, n))
            return false;
        if (!n)
            return true;
        a += n;
        b += n;
    }
}

/* ---- What is read ---- */

static const char before[] =
    "typedef unsigned char u8; typedef float real; enum { LEFT = 3, RIGHT, FAR = -1 };\n"
    "static const int K = 5 * 2 + 1; struct P { double a, b; int n; }; struct G { struct P p; double *u, w[8]; };\n"
    "extern double sqrt(double); extern float fminf(float, float); extern int printf(const char *, ...); int g;\n"
    "double noise(double); __attribute__((const)) double ext(double);\n"
    "static inline double clip(double x, double lo) { if (x < lo) return lo; double y = x > 1 ? 1 : x; return y; }\n"
    "static int count(int x) { g = x; return x; }\n"
    "static const double table[4] = { 1, 2, 3, 4 };\n"
    "void f(int n, int m, long L, unsigned u, double A[restrict n][m], double *restrict B, u8 in[n + 1][m], struct P "
    "q,\n"
    "       struct G *G, float s, double **rows, volatile double *hot, double (*M)[m])\n{\n    int i, j;\n#pragma "
    "scop\n";
static const char after[] = "\n#pragma endscop\n}\n";

/* A body, and the region as it prints. NULL: as it is written. */
static const struct {
    const char *body, *printed;
} accepted[] = {
    { "for (int i = 0; i < n; i++) { B[i] = 1.0; }", NULL },
    { "for (i = 0; i < n; ++i) for (j = 0; n > j; j = j + 2) A[i][j] = B[j];",
      "for (int i = 0; i < n; i++) { for (int j = 0; j < n; j += 2) { A[i][j] = B[j]; } }" },
    { "for (int i = n - 1; i >= 0; i--) { B[i] = B[i + 1]; }", NULL },
    { "for (int i = n; 0 < i; i -= 3) { B[i] = B[i - 1]; }", "for (int i = n; i > 0; i -= 3) { B[i] = B[i - 1]; }" },
    { "for (int i = 0; i < n && i < m; i++) { B[i] = 0; }", "for (int i = 0; i < (n < m ? n : m); i++) { B[i] = 0; }" },
    { "for (int i = 0; i < u; i++) { B[i] = 0; }", NULL },
    { "for (long i = 0; i < L; i++) { B[i] = 0; }", NULL },
    /* assignments */
    { "B[0] += 2; B[1] -= B[0]; B[2]++; --B[3]; B[4] *= 0.5f;",
      "B[0] = B[0] + 2; B[1] = B[1] - B[0]; B[2] = B[2] + 1; B[3] = B[3] - 1; B[4] = B[4] * 0.5f;" },
    { "B[0] = B[1] = B[2] + 1;", "B[1] = B[2] + 1; B[0] = B[1];" },
    { "B[0] = 1, B[1] = 2;", "B[0] = 1; B[1] = 2;" },
    { "in[0][0] += 300;", "in[0][0] = in[0][0] + 300;" },
    /* expressions */
    { "B[0] = A[0][1] * (B[1] + B[2]) - -B[3] / 2.5e-1;", NULL },
    { "B[0] = (n + 1) % 2 == 0 ? B[1] : -1;", "B[0] = ((n + 1) % 2) == 0 ? B[1] : -1;" },
    { "B[0] = n ? 1 : 2;", "B[0] = n != 0 ? 1 : 2;" },
    { "B[0] = (real)B[1] + (int)s;", "B[0] = (real)B[1] + (int)s;" },
    { "in[0][0] = in[0][1] << 2 | n & 7 ^ ~m;", "in[0][0] = (in[0][1] << 2) | ((n & 7) ^ (~m));" },
    { "B[0] = sqrt(B[1]) + fminf(s, 2) + ext(B[2]) + clip(B[3], 0);", NULL },
    { "B[LEFT] = RIGHT + FAR + K + 'a' + sizeof(double);", "B[3] = 4 + (-1) + 11 + 97 + 8ULL;" },
    { "*(B + 2) = *B + *(*(A + 1) + n - 1);", "B[2] = B[0] + A[1][n - 1];" },
    { "B[0] = q.a + G->p.b + G->u[n] + G->w[2] + table[3];", NULL },
    /* conditions and blocks */
    { "if (n > 3) B[0] = 1; else if (n) { B[1] = 2; }", "if (n > 3) { B[0] = 1; } else { if (n != 0) { B[1] = 2; } }" },
    { ";;{ B[0] = 1; { ; } } (void)0;", "B[0] = 1;" },
    { "#pragma omp parallel for\nfor (int i = 0; i < n; i++) B[i] = 0;", "for (int i = 0; i < n; i++) { B[i] = 0; }" },
    /* local names */
    { "for (int i = 0; i < n; i++) { double t = B[i]; B[i] = t * t; }",
      "double t; for (int i = 0; i < n; i++) { t = B[i]; B[i] = t * t; }" },
    { "{ double t = 1; B[0] = t; } { float t = 2; B[1] = t; }",
      "double t; float t_2; t = 1; B[0] = t; t_2 = 2; B[1] = t_2;" },
    { "for (int i = 0; i < n - 1; i++) { const int k = i + 1; int w = 2 * k; B[k] = A[w][k]; }",
      "for (int i = 0; i < n - 1; i++) { B[i + 1] = A[2 * (i + 1)][i + 1]; }" },
    { "for (int i = 0; i < n; i++) { u8 k = i + 300; B[k] = 0; }",
      "for (int i = 0; i < n; i++) { B[(u8)(i + 300)] = 0; }" },
};

static void test_accepted(void)
{
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        kn_context *cx       = kn_context_new(NULL);
        const char *text     = arena_printf(&cx->arena, "%s%s%s", before, accepted[i].body, after);
        const char *printed  = accepted[i].printed ? accepted[i].printed : accepted[i].body;
        const char *expected = arena_printf(&cx->arena, "{ %s }", printed);
        Reading     r        = read_text(cx, text);
        CHECK(r.good && same_words(r.printed, expected), "%s\n%s\n%s", accepted[i].body, r.printed, kn_error_text(cx));
        kn_context_free(cx);
    }
}

/* ---- What is refused ---- */

/* A body, a part of what is said about it, and the word that the caret is under. */
static const struct {
    const char *body, *said, *at;
} refused[] = {
    { "while (n) B[0] = 1;", "a while loop: how often it runs is not known", "while" },
    { "do B[0] = 1; while (n);", "a do loop", "do" },
    { "for (int i = 0; i < n; i++) { if (B[i] > 3) break; }", "ends a loop early", "break" },
    { "for (int i = 0; i < n; i++) { if (n) continue; B[i] = 0; }", "`continue` is not understood", "continue" },
    { "return;", "leaves the region", "return" },
    { "goto end;", "`goto` is not understood", "goto" },
    { "switch (n) { case 1: B[0] = 1; }", "`switch` is not understood", "switch" },
    { "for (int i = 0; i != n; i++) B[i] = 0;", "may pass by it", "i != n" },
    { "for (int i = 0; B[i] > 0; i++) B[i] = 0;", "does not compare `i` with where it ends", "B[i] > 0" },
    { "for (int i = 0;; i++) B[i] = 0;", "the loop has no end", "; i++" },
    { "for (int i = 0; i < n;) B[i] = 0;", "the loop has no step", ") B" },
    { "for (int i = 0; i < n; i *= 2) B[i] = 0;", "is not `i` plus or minus a constant", "i *= 2" },
    { "for (int i = 0; i < n; i += m) B[i] = 0;", "is not `i` plus or minus a constant", "i += m" },
    { "for (int i = 0; i < n; i--) B[i] = 0;", "goes away from its end", "i--" },
    { "for (int i = 0, k = 0; i < n; i++) B[i] = 0;", "counts more than one variable", ", k" },
    { "for (int i = n; i > u; i--) B[i] = 0;", "compared with an unsigned number", "i > u" },
    { "for (int i = 0; i < n; i++) { i = 3; B[i] = 0; }", "counts a loop and is assigned in it", "i = 3" },
    { "for (double x = 0; x < n; x += 1) B[0] = x;", "counts a loop and is no integer", "x = 0" },
    { "B[n++] = 0;", "changes a variable inside an expression", "++" },
    { "B[0] = (B[1] = 2) + 1;", "an assignment inside an expression", "= 2" },
    { "B[0] = noise(3);", "may read or write memory", "noise" },
    { "B[0] = count(3);", "may read or write memory", "count" },
    { "printf(0);", "is called for what it does", "printf" },
    { "B[0] = missing(1);", "is not declared", "missing" },
    { "B[0] = absent;", "is not declared", "absent" },
    { "B[B[0]] = 1;", "a subscript of `B` is no integer", "B[0]]" },
    { "A[0] = 1;", "is an array here", "A[0]" },
    { "A[0][1][2] = 1;", "has no more than 2 subscripts", "[2]" },
    { "B = A[0];", "is an array here", "B =" },
    { "rows[0][0] = 1;", "is an array of pointers", "rows" },
    { "B[0] = hot[0];", "is volatile", "hot" },
    { "q.c = 1;", "has no field `c`", "c = 1" },
    { "B[0] = 1.5 % 2;", "has no meaning for a float", "% 2" },
    { "B[0] = 1.0L;", "is a long double", "1.0L" },
    { "{ static int k; k = 1; }", "is static or extern", "k;" },
    { "{ double *p = B; p[0] = 1; }", "is a pointer and declared in the region", "p = B" },
    { "{ double t[2] = { 1, 2 }; B[0] = t[0]; }", "is declared with a list of values", "{ 1, 2" },
    { "B[0] = ({ 1; });", "a block as an expression", "({" },
    { "B[0] = &n;", "the address of a variable is taken", "&n" },
    { "#pragma scop\nB[0] = 1;", "a region inside a region", "scop\nB" },
    { "#pragma pack(1)\nB[0] = 1;", "is not known", "pack" },
    { "#pragma kiln temporary(nothing)\nB[0] = 1;", "`nothing` is not declared before the region", "kiln" },
    { "B[0] = 1", "`;` is missing", "endscop" },
    { "{ int n = 3; B[n] = n++; }", "changes a variable inside an expression", "++" },
    { "i = 3; for (i = 0; i < n; i++) B[i] = 0;", "is used outside of it", "i = 0" },
    { "asm(\"nop\");", "assembly is not understood", "asm" },
};

static void test_refused(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        kn_context         *cx   = kn_context_new(NULL);
        const char         *text = arena_printf(&cx->arena, "%s%s%s", before, refused[i].body, after);
        Reading             r    = read_text(cx, text);
        const kn_diagnostic d    = kn_diagnostic_get(cx, 0);
        const char         *at   = text;
        for (int line = 1; line < d.line; line++)
            at = strchr(at, '\n') + 1;
        at += d.column ? d.column - 1 : 0;
        CHECK(!r.good && strstr(d.message, refused[i].said), "%s\n%s%s", refused[i].body, r.printed, kn_error_text(cx));
        CHECK(!strncmp(at, refused[i].at, strlen(refused[i].at)), "%s\n%s", refused[i].body, kn_error_text(cx));
        kn_context_free(cx);
    }
}

/* ---- The function around a region ---- */

static const struct {
    const char *text, *said; /* said NULL: accepted */
} around[] = {
    { "void f(int n, double *A) { int i;\n#pragma scop\nfor (i = 0; i < n; i++) A[i] = 0;\n#pragma endscop\n}", NULL },
    { "int f(int n, double *A) { int i;\n#pragma scop\nfor (i = 0; i < n; i++) A[i] = 0;\n#pragma endscop\nreturn i; }",
      "might be read behind it" },
    { "void f(int n, double *A) { int i;\n#pragma scop\nfor (i = 0; i < n; i++) A[i] = 0;\n#pragma endscop\n"
      "for (i = 0; i < 3; i++) A[i] = i; }",
      NULL },
    { "void f(int n, double *A) { int i = 0; while (n--) { A[i] = 1;\n#pragma scop\nfor (i = 0; i < n; i++) A[i] = 0;\n"
      "#pragma endscop\n} }",
      "might be read behind it" },
    { "int i; void f(int n, double *A) {\n#pragma scop\nfor (i = 0; i < n; i++) A[i] = 0;\n#pragma endscop\n}",
      "might be read behind it" },
    { "double f(int n, double *A) {\n#pragma scop\ndouble s = 0; for (int i = 0; i < n; i++) s += A[i];\n#pragma "
      "endscop\n"
      "return s; }",
      "is declared in the region and used behind it" },
    { "void f(int n, double A[n][n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) A[i][i] = 0;\n#pragma endscop\n}",
      NULL },
    { "void f(int n, double A[n][n]) { n = n / 2;\n#pragma scop\nfor (int i = 0; i < n; i++) A[i][i] = 0;\n"
      "#pragma endscop\n}",
      "may have changed since the array was declared" },
    { "int n; void f(double A[n][n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) A[i][i] = 0;\n#pragma endscop\n}",
      "may have changed since the array was declared" },
    { "void f(int n, double *A) {\n#pragma scop\nfor (int i = 0; i < n; i++) {\nA[i] = 0;\n#pragma endscop\n} }",
      "does not end in the block in which it begins" },
    { "#pragma scop\n#pragma endscop\nint x;", "stands outside of functions" },
    { "void f(void) {\n#pragma endscop\n}", "no `#pragma scop` stands before" },
    { "void f(void) { }", "has no region" },
};

static void test_around(void)
{
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        kn_context *cx = kn_context_new(NULL);
        Reading     r  = read_text(cx, around[i].text);
        CHECK(r.good == !around[i].said && (!around[i].said || strstr(kn_error_text(cx), around[i].said)), "%s\n%s",
              around[i].text, kn_error_text(cx));
        kn_context_free(cx);
    }
}

/* ---- Symbols ---- */

typedef struct Look {
    kn_context   *cx;
    const Source *source;
    Regions       regions;
} Look;

static void look(void *arg)
{
    Look *l = arg;
    source_regions(l->cx, &l->cx->arena, l->source, l->source->text, NULL, &l->regions);
}

static const CSymbol *symbol(const Region *r, const char *name)
{
    for (size_t i = 0; r && i < r->symbols.count; i++)
        if (!strcmp(r->symbols.at[i]->name, name))
            return r->symbols.at[i];
    static const CSymbol none;
    return &none;
}

static void test_symbols(void)
{
    static const char text[] = "typedef unsigned short u16; double global[3][4]; int shared;\n"
                               "void f(int n, double *plain, float (*restrict rows)[n + 2], u16 k) {\n    int own = 1, "
                               "other = 2; int *p = &other;\n"
                               "#pragma scop\n#pragma kiln temporary(rows)\n    for (int i = 0; i < n; i++) { double t "
                               "= plain[i]; own = k; other = "
                               "shared; rows[i][own] = t;\n    global[1][2] = 3; }\n#pragma endscop\n}\n";
    kn_context       *cx     = kn_context_new(NULL);
    const Source      source = { "a.c", text, sizeof text - 1 };
    Look              l      = { .cx = cx, .source = &source };
    context_begin(cx);
    context_call(cx, look, &l);
    const Region *r = l.regions.items.count ? l.regions.items.at[0] : NULL;
    CHECK(r && !strcmp(r->function, "f") && !strcmp(r->indent, "    "), "%s", kn_error_text(cx));
    CHECK(r && !strncmp(text + r->begin, "#pragma scop", 12) && text[r->end] == '\n',
          "the pragmas' lines are replaced");
    const CSymbol *rows = symbol(r, "rows"), *global = symbol(r, "global"), *plain = symbol(r, "plain");
    CHECK(rows->kind == CSYMBOL_ARRAY && rows->rank == 2 && !rows->extents[0] && rows->extents[1]->op == COP_ADD,
          "rows");
    CHECK(rows->restricted && rows->written && rows->temporary && rows->type == KN_F32, "rows");
    CHECK(global->rank == 2 && global->extents[0]->u.i == 3 && global->extents[1]->u.i == 4 && global->restricted,
          "global");
    CHECK(plain->rank == 1 && !plain->extents[0] && !plain->restricted && !plain->written && !plain->temporary,
          "plain");
    CHECK(symbol(r, "i")->kind == CSYMBOL_ITERATOR && symbol(r, "i")->local, "i");
    CHECK(symbol(r, "n")->kind == CSYMBOL_SCALAR && !symbol(r, "n")->written, "n");
    CHECK(symbol(r, "k")->type == KN_U16 && !strcmp(symbol(r, "k")->spelling, "u16"), "k");
    CHECK(symbol(r, "t")->local && symbol(r, "t")->written, "t");
    CHECK(symbol(r, "own")->restricted && !symbol(r, "other")->restricted && !symbol(r, "shared")->restricted,
          "what has its address taken, or is seen by other functions, may be reached through a pointer");
    CHECK(symbol(r, "i")->place.line == 6 && symbol(r, "plain")->place.line == 2 &&
              symbol(r, "plain")->place.column == 23,
          "places of declarations: %d:%d", symbol(r, "plain")->place.line, symbol(r, "plain")->place.column);
    kn_context_free(cx);
}

int main(void)
{
    test_accepted();
    test_refused();
    test_around();
    test_symbols();
    return check_done();
}
