/* SPDX-License-Identifier: MIT */
/* Kernels as PTX, and the host's code around them: programs written as text. Where ptxas is to be had it assembles all
 * of the PTX. */
#include "lowered.h"

#include "ir/kernel.h"
#include "ir/read.h"

#include <sys/wait.h>

typedef struct Text_ {
    kn_context *cx;
    Arena       arena;
    ExprPool    pool;
    Program    *p;
} KernelText;

static const Target *gpu;

static void source_begin(KernelText *s, const char *text)
{
    s->cx = kn_context_new(NULL);
    arena_init(&s->arena, s->cx);
    expr_pool_init(&s->pool, s->cx, &s->arena);
    s->p = program_read(&s->pool, text);
    CHECK(s->p, "%s", kn_error_text(s->cx));
    if (s->p)
        program_find_kernels(s->p);
}

static void source_end(KernelText *s)
{
    arena_free(&s->arena);
    kn_context_free(s->cx);
}

int main(int argc, char **argv)
{
    static char text[1 << 16];
    gpu = target_find("cuda");
    if (!backend_open()) return 1;
    FILE *f = fopen(argv[1], "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    KernelText s;
    source_begin(&s, text);
    if (!s.p) return 1;
    Emitted out, error;
    CodegenOptions o = { .targets = gpu, .target_count = 1 };
    if (!backend->emit(s.p, &o, EMIT_PTX, &out, &error)) { puts(error.bytes); return 1; }
    puts(out.bytes);
    o.device_code = out.bytes;
    Emitted host;
    if (!backend->emit(s.p, &o, EMIT_ASM, &host, &error)) { puts(error.bytes); return 1; }
    if (argc > 2) puts(host.bytes);
    source_end(&s);
    return 0;
}
