/* SPDX-License-Identifier: MIT */
/* What compiling costs: steps of the compiler, size of the code.
 *
 * Without arguments: chains of stages and pyramids cost in proportion to their length, and no more than so many steps
 * and bytes for each stage. Steps and sizes are the same on every machine, however busy it is. With arguments
 * NAME=VALUE (constants) and files: a table of where the time goes for each of them, in milliseconds of this thread. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "codegen/backend.h"
#include "lower/passes/pass_tools.h"
#include "lower/lower.h"
#include "steps.h"

enum { MOST_PASSES = 16 };

static const Codegen             *backend;
static const LowerPassList *const passes = &lower_pass_lists[PASSES_CPU];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Of one compilation. */
typedef struct Cost {
    const char  *schedule;
    kn_pipeline *p;
    Arena        arena;
    Program     *program;
    double       read, plan, pass[MOST_PASSES], emit; /* milliseconds */
    uint64_t     plan_steps, pass_steps[MOST_PASSES]; /* of the context */
    int64_t      size[MOST_PASSES];                   /* nodes after the pass */
    size_t       object;                              /* bytes */
    bool         ok;
} Cost;

/* The steps of lower() one by one. */
static void make_program(void *arg)
{
    Cost           *c  = arg;
    kn_context     *cx = c->p->cx;
    const Schedule *schedule;
    double          start = now();
    if (!plan_choose(c->p, c->schedule, target_find("host"), &schedule))
        return;
    Plan *plan = plan_make(c->p, schedule, &c->arena, (PlanTarget){ .vector_bits = target_table[0].vector_bits });
    if (!plan)
        return;
    c->plan       = now() - start;
    c->plan_steps = steps_spent(cx);
    c->program    = ARENA_NEW(&c->arena, Program);
    *c->program   = (Program){ .cx = cx, .arena = &c->arena, .exprs = &plan->exprs, .name = "pipeline" };
    Lower lw      = { .cx          = cx,
                      .arena       = &c->arena,
                      .exprs       = &plan->exprs,
                      .plan        = plan,
                      .program     = c->program,
                      .vector_bits = target_table[0].vector_bits };
    lw.simplifier = simplifier_new(lw.exprs, lw.arena);
    for (size_t i = 0; i < plan->pipeline->params.count; i++)
        vec_push(&c->arena, &c->program->params, plan->pipeline->params.at[i]);
    for (int i = 0; i < passes->count; i++) {
        const uint64_t before = steps_spent(cx);
        start                 = now();
        c->program->body      = passes->at[i].run(&lw, c->program->body);
        c->pass[i]            = now() - start;
        c->pass_steps[i]      = steps_spent(cx) - before;
        if (cx->error_count)
            return;
        c->size[i] = c->program->body ? stmt_size(lw.exprs, c->program->body, INT64_MAX) : 0;
    }
    c->ok = true;
}

static void emit(Cost *c)
{
    const CodegenOptions o = { .targets = target_table, .target_count = 1 };
    Emitted              object, error;
    const double         start = now();
    c->ok                      = backend->emit(c->program, &o, EMIT_OBJECT, &object, &error);
    c->emit                    = now() - start;
    c->object                  = object.size;
    if (!c->ok)
        printf("%s\n", error.bytes ? error.bytes : "no text");
    backend->release(&object);
    backend->release(&error);
}

static Cost compile(kn_context *cx, const char *name, const char *text, bool with_backend)
{
    const double start = now();
    Cost         c     = { .p = kn_parse(cx, name, text, -1) };
    c.read             = now() - start;
    if (!c.p) {
        printf("%s", kn_error_text(cx));
        return c;
    }
    context_begin(cx);
    arena_init(&c.arena, cx);
    context_try(cx, make_program, &c);
    if (!c.ok)
        printf("%s: %s\n", name, kn_error_text(cx));
    else if (with_backend)
        emit(&c);
    arena_free(&c.arena);
    kn_pipeline_free(c.p);
    return c;
}

static uint64_t total_steps(const Cost *c)
{
    uint64_t steps = c->plan_steps;
    for (int k = 0; k < passes->count; k++)
        steps += c->pass_steps[k];
    return steps;
}

/* ---- A table ---- */

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    const long n    = ftell(f);
    char      *text = calloc((size_t)n + 1, 1);
    rewind(f);
    const size_t got = fread(text, 1, (size_t)n, f);
    text[got]        = 0;
    fclose(f);
    return text;
}

static void table(int count, char **args)
{
    kn_context *cx           = kn_context_new(NULL);
    const bool  with_backend = !getenv("NO_BACKEND");
    printf("%-26s %6s %6s", "", "read", "plan");
    for (int i = 0; i < passes->count; i++)
        printf(" %9s", passes->at[i].name);
    printf(" %8s %9s %9s %8s\n", "LLVM", "steps", "nodes", "bytes");
    for (int i = 1; i < count; i++) {
        char *value = strchr(args[i], '=');
        if (value) {
            *value = 0;
            kn_define(cx, args[i], value + 1);
            continue;
        }
        char *text = read_text(args[i]);
        if (!text)
            continue;
        const Cost  c    = compile(cx, args[i], text, with_backend);
        const char *name = strrchr(args[i], '/');
        printf("%-26s %6.1f %6.1f", name ? name + 1 : args[i], c.read, c.plan);
        for (int k = 0; k < passes->count; k++)
            printf(" %9.1f", c.pass[k]);
        printf(" %8.0f %9llu %9lld %8zu\n", c.emit, (unsigned long long)total_steps(&c),
               (long long)c.size[passes->count - 1], c.object);
        printf("%-26s %6s %6s", "  nodes", "", "");
        for (int k = 0; k < passes->count; k++)
            printf(" %9lld", (long long)c.size[k]);
        printf("\n");
        fflush(stdout);
        free(text);
    }
    kn_context_free(cx);
}

/* ---- Growth ---- */

static char   text[1 << 16];
static size_t length;

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, list);
    va_end(list);
}

/* A chain of stencils, each read at four points. */
static void put_chain(int n)
{
    put("input in : f32(x, y)\noutput out\nf[0](x, y) = edge(in)(x, y)\n");
    put("repeat i in 1..%d { f[i](x, y) = (f[i-1](x-1, y) + 2*f[i-1](x, y) + f[i-1](x+1, y-1) + f[i-1](x, y+1)) / 5 "
        "}\n",
        n);
    put("out(x, y) = f[%d](x, y) + f[%d](x+1, y)\nestimate out(1024, 1024)\n", n - 1, n - 1);
}

/* The same, fused in tiles. */
static void put_tiles(int n)
{
    put_chain(n);
    put("schedule {\n  out.tile(x, y, xo, yo, xi, yi, 64, 64).parallel(yo).vectorize(xi, 8)\n");
    for (int i = 0; i < n; i++)
        put("  f[%d].compute_at(out, xo).vectorize(x, 8)\n", i);
    put("}\n");
}

/* The same, row by row, each stage with a window of rows. */
static void put_windows(int n)
{
    put_chain(n);
    put("schedule {\n  out.vectorize(x, 8)\n");
    for (int i = 0; i < n; i++)
        put("  f[%d].store_root().compute_at(out, y).vectorize(x, 8)\n", i);
    put("}\n");
}

/* The same, each stage inside the loop of the next, three rows at a time. */
static void put_nested(int n)
{
    put_chain(n);
    put("schedule {\n  out.split(y, yo, yi, 3).vectorize(x, 8)\n  f[%d].store_root().compute_at(out, yo).split(y, y, "
        "yi, 3).vectorize(x, 8)\n",
        n - 1);
    for (int i = n - 2; i >= 0; i--)
        put("  f[%d].store_root().compute_at(f[%d], y).split(y, y, yi, 3).vectorize(x, 8)\n", i, i + 1);
    put("}\n");
}

/* Down to level n - 1 and up again. */
static void put_pyramid(int n)
{
    put("def down(f) {\n  h(x, y) = (f(2*x-1, y) + 3*(f(2*x, y) + f(2*x+1, y)) + f(2*x+2, y)) / 8\n"
        "  return (x, y) = (h(x, 2*y-1) + 3*(h(x, 2*y) + h(x, 2*y+1)) + h(x, 2*y+2)) / 8\n}\n"
        "def up(f) {\n  h(x, y) = lerp(f((x+1)/2, y), f((x-1)/2, y), f32(2*(x%%2) + 1) / 4)\n"
        "  return (x, y) = lerp(h(x, (y+1)/2), h(x, (y-1)/2), f32(2*(y%%2) + 1) / 4)\n}\n");
    put("input in : f32(x, y)\noutput out\ng[0](x, y) = edge(in)(x, y)\nrepeat j in 1..%d { g[j] = down(g[j-1]) }\n",
        n);
    put("o[%d] = g[%d]\nrepeat j in 0..%d { o[j](x, y) = up(o[j+1])(x, y) * 0.5 + g[j](x, y) }\n", n - 1, n - 1, n - 1);
    put("out(x, y) = o[0](x, y)\nestimate out(1024, 1024)\n");
}

/* Products of matrices, one after the other, in tiles that are kept in registers: much is unrolled, and nothing that
 * small matrices alone come to. */
static void put_products(int n)
{
    put("input A : f32(x, y)\ninput B : f32(x, y)\noutput out\nf[0](x, y) = B(x, y)\n");
    put("repeat i in 1..%d { f[i](x, y) = sum(A(k, y) * f[i-1](x, k) for k in 0..A.width) }\n", n + 1);
    put("out(x, y) = f[%d](x, y)\nestimate out(992, 992)\nschedule {\n  out.vectorize(x, 16)\n", n);
    for (int i = 1; i <= n; i++)
        put("  f[%d].compute_root().split(y, yo, yi, 6).split(x, xo, xi, 64).reorder(xi, yi, yo, "
            "xo).vectorize(xi).unroll(yi)\n"
            "  f[%d].sum.compute_at(f[%d], yo).vectorize(x, 64).unroll(y, 6)\n"
            "  f[%d].sum.update(0).reorder(x, y, k).vectorize(x, 64).unroll(y, 6)\n",
            i, i, i, i);
    put("}\n");
}

/* A family of programs, and the most that each of its stages or levels may cost whatever their number. */
typedef struct Family {
    const char *name;
    void (*put)(int n);
    int    sizes[5];
    double steps, nodes, bytes;
    bool   with_backend;
} Family;

static const Family families[] = {
    { "chain", put_chain, { 10, 25, 50, 100, 200 }, 6000, 300, 2500, true },
    { "chain in tiles", put_tiles, { 10, 25, 50, 100, 200 }, 12000, 350, 2000, false },
    { "chain with windows", put_windows, { 10, 25, 50, 100, 200 }, 16000, 400, 2000, false },
    { "chain of nested windows", put_nested, { 4, 8, 16, 24, 32 }, 30000, 500, 2000, false },
    { "pyramid", put_pyramid, { 2, 4, 8, 12, 16 }, 50000, 1300, 9000, true },
    { "products", put_products, { 1, 2, 4, 8, 16 }, 45000, 2200, 12000, true },
};

static void check_family(const Family *f)
{
    kn_context *cx = kn_context_new(NULL);
    for (int i = 0; i < 5; i++) {
        const int n = f->sizes[i];
        length      = 0;
        f->put(n);
        const Cost     c     = compile(cx, f->name, text, f->with_backend && n <= 50);
        const uint64_t steps = total_steps(&c);
        const double   nodes = (double)c.size[passes->count - 1];
        CHECK(c.ok, "%s of %d", f->name, n);
        CHECK((double)steps <= f->steps * n, "%s of %d: %llu steps, more than %g each", f->name, n,
              (unsigned long long)steps, f->steps);
        CHECK(nodes <= f->nodes * n, "%s of %d: %g nodes, more than %g each", f->name, n, nodes, f->nodes);
        CHECK((double)c.object <= f->bytes * n, "%s of %d: %zu bytes, more than %g each", f->name, n, c.object,
              f->bytes);
        if (getenv("SHOW"))
            printf("%-20s %4d  %8.0f steps  %6.0f nodes  %6.0f bytes each\n", f->name, n, (double)steps / n, nodes / n,
                   (double)c.object / n);
    }
    kn_context_free(cx);
}

/* The smallest pipeline: what every program pays. */
static void check_blur(void)
{
    static const char blur[] = "input in : u16(x, y)\noutput out\n"
                               "blurx(x, y) = (in(x, y) + in(x+1, y) + in(x+2, y)) / 3\n"
                               "out(x, y) = (blurx(x, y) + blurx(x, y+1) + blurx(x, y+2)) / 3\n"
                               "estimate out(6400, 4800)\n";
    kn_context       *cx     = kn_context_new(NULL);
    const Cost        c      = compile(cx, "blur", blur, true);
    CHECK(c.ok && total_steps(&c) <= 15000 && c.object <= 7000, "blur takes %llu steps and %zu bytes",
          (unsigned long long)total_steps(&c), c.object);
    kn_context_free(cx);
}

int main(int count, char **args)
{
    void         *library = dlopen(KILN_LLVM, RTLD_NOW | RTLD_LOCAL);
    CodegenEntry *entry   = NULL;
    if (library)
        *(void **)&entry = dlsym(library, "kiln_codegen");
    CHECK(entry, "%s", dlerror());
    if (!entry)
        return check_done();
    backend = entry();
    if (count > 1) {
        table(count, args);
        return 0;
    }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        check_family(&families[i]);
    check_blur();
    return check_done();
}
