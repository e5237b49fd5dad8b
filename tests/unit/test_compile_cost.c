/* What compiling costs: steps of the compiler, size of the code, processor time.
 *
 * Without arguments: chains of stages and pyramids cost in proportion to their length, and no more than so many steps and bytes for each stage. Steps and
 * sizes are the same on every machine; processor time is only held against bounds that are far off.
 * With arguments NAME=VALUE (constants) and files: a table of where the time goes for each of them, in milliseconds of this thread. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "codegen/codegen.h"
#include "lower/late.h"
#include "lower/lower.h"

#include <dlfcn.h>

enum { MOST_PASSES = 16 };

static const Codegen *backend;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Of one compilation. */
typedef struct Cost {
    const char *schedule;
    kn_pipeline *p;
    Arena    arena;
    Program *program;
    double   read, plan, pass[MOST_PASSES], emit;   /* milliseconds */
    uint64_t plan_steps, pass_steps[MOST_PASSES];   /* of the context */
    int64_t  size[MOST_PASSES];                     /* nodes after the pass */
    size_t   object;                                /* bytes */
    bool     ok;
} Cost;

static uint64_t steps_spent(kn_context *cx)
{
    return cx->config.quota - cx->quota_left;
}

/* The steps of lower() one by one. */
static void make_program(void *arg)
{
    Cost           *c = arg;
    kn_context     *cx = c->p->cx;
    const Schedule *schedule;
    double          start = now();
    if (!plan_choose(c->p, c->schedule, "host", &schedule))
        return;
    Plan *plan = plan_make(c->p, schedule, &c->arena, target_table[0].vector_bits);
    if (!plan)
        return;
    c->plan       = now() - start;
    c->plan_steps = steps_spent(cx);
    c->program    = ARENA_NEW(&c->arena, Program);
    *c->program   = (Program){ .cx = cx, .arena = &c->arena, .exprs = &plan->exprs, .name = "pipeline" };
    Lower lw      = { .cx = cx, .arena = &c->arena, .exprs = &plan->exprs, .plan = plan, .program = c->program, .vector_bits = target_table[0].vector_bits };
    lw.simplifier = simplifier_new(lw.exprs, lw.arena);
    for (size_t i = 0; i < plan->pipeline->params.count; i++)
        vec_push(&c->arena, &c->program->params, plan->pipeline->params.at[i]);
    for (int i = 0; i < lower_pass_count; i++) {
        const uint64_t before = steps_spent(cx);
        start                 = now();
        c->program->body      = lower_passes[i].run(&lw, c->program->body);
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
    Emitted      object, error;
    const double start = now();
    c->ok     = backend->emit(c->program, &o, EMIT_OBJECT, &object, &error);
    c->emit   = now() - start;
    c->object = object.size;
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
    kn_context *cx = kn_context_new(NULL);
    const bool  with_backend = !getenv("NO_BACKEND");
    printf("%-26s %6s %6s", "", "read", "plan");
    for (int i = 0; i < lower_pass_count; i++)
        printf(" %9s", lower_passes[i].name);
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
        uint64_t    steps = c.plan_steps;
        printf("%-26s %6.1f %6.1f", name ? name + 1 : args[i], c.read, c.plan);
        for (int k = 0; k < lower_pass_count; k++) {
            printf(" %9.1f", c.pass[k]);
            steps += c.pass_steps[k];
        }
        printf(" %8.0f %9llu %9lld %8zu\n", c.emit, (unsigned long long)steps, (long long)c.size[lower_pass_count - 1], c.object);
        printf("%-26s %6s %6s", "  nodes", "", "");
        for (int k = 0; k < lower_pass_count; k++)
            printf(" %9lld", (long long)c.size[k]);
        printf("\n");
        fflush(stdout);
        free(text);
    }
    kn_context_free(cx);
}

int main(int count, char **args)
{
    void *library = dlopen(KILN_LLVM, RTLD_NOW | RTLD_LOCAL);
    CodegenEntry *entry = NULL;
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
    return check_done();
}
