/* SPDX-License-Identifier: MIT */
/* Tiled C as lowered programs: the executor, which watches every access, gives the bytes that the C gives. */
#include "check.h"

#include "interp/execute.h"
#include "poly/emit/emit.h"
#include "poly/model/model.h"
#include "poly/source/source.h"
#include "poly/tile/tile.h"

#include <string.h>

enum { MOST = 40 };

typedef struct Arrays {
    double        A[2][MOST];
    int           B[MOST];
    unsigned char C[MOST];
    float         D[MOST];
} Arrays;

/* The same loops as C and as its text. */
#define HEAD (int T, int N, double A[2][40], int B[40], unsigned char C[40], float D[40])
#define LOOPS(name, ...)                                                                                               \
    static void name HEAD                                                                                              \
    {                                                                                                                  \
        (void)T, (void)N, (void)A, (void)B, (void)C, (void)D;                                                          \
        __VA_ARGS__                                                                                                    \
    }                                                                                                                  \
    static const char name##_text[] = "double exp(double);\nfloat sqrtf(float);\n"                                     \
                                      "void g(int T, int N, double A[2][40], int B[40], unsigned char C[40], float "   \
                                      "D[40]) {\n#pragma scop\n" #__VA_ARGS__ "\n#pragma endscop\n}\n";

LOOPS(heat, for (int t = 0; t < T; t++) for (int i = 1; i < N - 1; i++)
                A[(t + 1) % 2][i] = 0.25 * (A[t % 2][i - 1] + A[t % 2][i + 1]) + 0.5 * A[t % 2][i];)
LOOPS(stages, for (int i = 0; i < N; i++) A[0][i] = C[i] * 0.5;
      for (int i = 1; i < N - 1; i++) A[1][i] = A[0][i - 1] + A[0][i + 1];
      for (int i = 2; i < N - 2; i++) D[i]    = A[1][i - 1] - A[1][i + 1];)
LOOPS(
    integers, for (int i = 0; i < N; i++) {
        B[i] = (B[i] - 100) / 7 * 1000 + (B[i] - 100) % 7 + (B[i] - 100) / -3;
        C[i] = C[i] * 3 + (C[i] >> 2) + (B[i] < 0) + !(B[i] & 4);
        D[i] = (unsigned)B[i] / 3u + ((C[i] > 100 && B[i] < 5000) || i == 3);
    })
LOOPS(guards, for (int i = 0; i < N; i++) A[1][i] = i > 2      ? A[0][i - 3]
                                                    : C[i] < N ? D[C[i]] + 1
                                                               : i;
      for (int i = 0; i < N; i++) B[i] = B[i] < 0 || C[B[i] % 40] > 99 ? (i < N - 1 && B[i] % 2 ? C[i + 1] : 7) : i;)
LOOPS(
    privates, for (int i = 0; i < N; i++) {
        double s;
        int    k[2];
        s       = A[0][i] * 3;
        k[0]    = B[i];
        k[1]    = k[0] + (int)s;
        A[1][i] = s + k[i % 2];
    })
LOOPS(sums, for (int i = 1; i < N; i++) for (int j = 0; j < i; j++) A[1][i] += A[0][j] * B[i - j];
      for (int i = N - 1; i >= 0; i -= 3) D[i] = D[i] / 3.0f;)

typedef struct Row {
    const char *text;
    void(*given) HEAD;
    const char *temporary;
    TileShape   shape;
    int         sizes[2];
    const char *refused; /* in the message; NULL: it is made */
} Row;

static const char called[] = "int f(int) __attribute__((const));\nvoid g(int N, int B[40]) {\n#pragma scop\n"
                             "for (int i = 0; i < N; i++) B[i] = f(i) + 1;\n#pragma endscop\n}\n";
static const Row  table[]  = {
      { heat_text, heat, NULL, SHAPE_NONE, { 0 }, NULL },
      { heat_text, heat, NULL, SHAPE_DIAMOND, { 4, 4 }, NULL },
      { heat_text, heat, NULL, SHAPE_SCALENE, { 3, 8 }, NULL },
      { stages_text, stages, NULL, SHAPE_NONE, { 0 }, NULL },
      { stages_text, stages, "A", SHAPE_SCALENE, { 8 }, NULL },
      { integers_text, integers, NULL, SHAPE_NONE, { 0 }, NULL },
      { guards_text, guards, NULL, SHAPE_NONE, { 0 }, NULL },
      { privates_text, privates, NULL, SHAPE_NONE, { 0 }, NULL },
      { sums_text, sums, NULL, SHAPE_NONE, { 0 }, NULL },
      { called, NULL, NULL, SHAPE_NONE, { 0 }, "`f` is no function of the C library" },
};

typedef struct Job {
    kn_context *cx;
    const Row  *row;
} Job;

static void fill(Arrays *a)
{
    for (int i = 0; i < MOST; i++) {
        a->A[0][i] = 0.37 * i * i - 5;
        a->A[1][i] = 3 - 0.11 * i;
        a->B[i]    = i % 5 ? 37 * i % 211 : -i;
        a->C[i]    = (unsigned char)(91 * i + 7);
        a->D[i]    = (float)(1.0 / (i + 1));
    }
}

typedef struct Known {
    const char *name;
    void       *data;
    int32_t     count;
} Known;

static Known array_named(const char *name, Arrays *a)
{
    const Known rows[] = { { "A", a->A, 2 * MOST }, { "B", a->B, MOST }, { "C", a->C, MOST }, { "D", a->D, MOST } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (*rows[i].name == *name)
            return rows[i];
    CHECK(false, "the port %s", name);
    return rows[0];
}

/* For the executor, an output has no values at first: those of each are copied from a port of their own, "A.before".
 * Ports have the sizes of their arrays, so that every access is watched. */
static void watch_ports(Program *p)
{
    Arena      *a      = p->arena;
    const int   ports  = p->port_count;
    const Stmt *before = NULL;
    for (int i = 0; i < ports; i++) {
        Buffer *b = p->buffers.at[i], *copy = ARENA_NEW(a, Buffer);
        b->rank = 1;
        if (b->kind != BUFFER_OUTPUT)
            continue;
        *copy      = *b;
        copy->name = copy->func = intern(p->cx, arena_printf(a, "%s.before", b->name));
        copy->kind              = BUFFER_INPUT;
        vec_push(a, &p->buffers, copy);
        memmove(p->buffers.at + p->port_count + 1, p->buffers.at + p->port_count,
                sizeof(Buffer *) * (p->buffers.count - 1 - (size_t)p->port_count));
        p->buffers.at[p->port_count++] = copy;
        const char *name               = intern(p->cx, "element");
        const Expr *at                 = expr_var(p->exprs, KN_I64, name);
        const Stmt *store              = stmt_store(a, b, at, expr_load(p->exprs, copy, b->type, at));
        const int   count              = *b->name == 'A' ? 2 * MOST : MOST;
        const Expr *first = expr_int(p->exprs, KN_I64, 0), *all = expr_int(p->exprs, KN_I64, count);
        before = stmt_pair(a, before, stmt_for(a, name, LOOP_SERIAL, first, all, store));
    }
    for (size_t i = 0; i < p->buffers.count; i++)
        p->buffers.at[i]->id = (int)i;
    p->body = stmt_pair(a, before, p->body);
}

static void run_program(const Job *job, Program *p, int T, int N)
{
    Arrays    *made = ARENA_NEW(p->arena, Arrays), *given = ARENA_NEW(p->arena, Arrays);
    Arrays    *before = ARENA_NEW(p->arena, Arrays);
    kn_buffer  buffers[8], *ports[8];
    kn_scalar  params[8];
    const bool temporary = job->row->temporary;
    fill(made);
    fill(given);
    fill(before);
    for (int i = 0; i < p->port_count; i++) {
        const Buffer *b     = p->buffers.at[i];
        const Known   known = array_named(b->name, b->name[1] ? before : made);
        buffers[i]          = kn_buffer_dense(known.data, b->type, 1, &known.count);
        ports[i]            = &buffers[i];
    }
    for (size_t i = 0; i < p->params.count; i++)
        params[i] = kn_int(!strcmp(p->params.at[i]->name, "T") ? T : N);
    CHECK(execute(p, ports, params, NULL) == KN_OK, "%s\nT %d, N %d: %s", job->row->text, T, N, kn_error_text(job->cx));
    job->row->given(T, N, given->A, given->B, given->C, given->D);
    CHECK((temporary || !memcmp(made->A, given->A, sizeof made->A)) && !memcmp(made->B, given->B, sizeof made->B) &&
              !memcmp(made->C, given->C, sizeof made->C) && !memcmp(made->D, given->D, sizeof made->D),
          "%s\nT %d, N %d: other bytes", job->row->text, T, N);
}

static Program *make_program(const Job *job, Arena *arena)
{
    Regions  all     = { 0 };
    Program *program = NULL;
    Source   src     = { "a.c", job->row->text, strlen(job->row->text) };
    if (!source_regions(job->cx, arena, &src, src.text, job->row->temporary, &all))
        return NULL;
    isl_ctx    *isl     = scop_isl(100000000);
    Scop       *scop    = scop_new(arena, isl, NULL, all.items.at[0]);
    TileOptions options = { .shape = job->row->shape, .threads = 2, .target = FOR_LLVM };
    for (int i = 0; i < 2 && job->row->sizes[i]; i++)
        options.sizes[options.size_count++] = job->row->sizes[i];
    Tiled      *tiled = scop ? tile_new(scop, &options) : NULL;
    const char *text  = tiled ? emit_program(tiled, "g", arena, &program) : NULL;
    tile_free(tiled);
    scop_free(scop);
    isl_ctx_free(isl);
    return text ? program : NULL;
}

static void run(void *arg)
{
    static const int sizes[][2] = { { 0, 5 }, { 1, 3 }, { 3, 9 }, { 7, 33 }, { 5, 40 }, { 2, 1 } };
    const Job       *job        = arg;
    Program         *p          = make_program(job, &job->cx->arena);
    if (job->row->refused) {
        CHECK(!p && strstr(kn_error_text(job->cx), job->row->refused), "%s", kn_error_text(job->cx));
        return;
    }
    CHECK(p, "%s\n%s", job->row->text, kn_error_text(job->cx));
    if (p)
        watch_ports(p);
    for (size_t i = 0; p && i < sizeof sizes / sizeof *sizes; i++)
        run_program(job, p, sizes[i][0], sizes[i][1]);
}

int main(void)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        kn_context *cx  = kn_context_new(NULL);
        Job         job = { cx, &table[i] };
        context_begin(cx);
        CHECK(context_call(cx, run, &job), "%s", kn_error_text(cx));
        kn_context_free(cx);
    }
    return check_done();
}
