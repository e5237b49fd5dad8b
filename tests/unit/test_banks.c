/* SPDX-License-Identifier: MIT */
/* Rows of shared memory padded against bank conflicts: which rows and pads are chosen, and that what comes out runs in
 * the executor and computes the same. */
#include "check.h"

#include "interp/execute.h"
#include "ir/kernel.h"
#include "ir/read.h"
#include "lower/lower.h"
#include "pipeline/pipeline.h"

#include <string.h>

enum { N = 1024 };

#define PORTS                                                                                                          \
    "program p\n"                                                                                                      \
    "buffer in : i32 input of in component 0 rank 1 dims (x) dense 0 in auto\n"                                        \
    "buffer out : i32 output of out component 0 rank 1 dims (x) dense 0 in auto\n"
#define SHARED(name, type) "buffer " name " : " type " scratch of " name " component 0 rank 0 dense -1 in shared\n"

/* All of `in`, a row to each thread of the second axis. */
#define FILL(index)                                                                                                    \
    "    gpu_thread y from 0 extent 32:\n"                                                                             \
    "      gpu_thread x from 0 extent 32:\n"                                                                           \
    "        a[" index "] = in[i64(x) + i64(y) * i64(32)]\n"
#define COLUMNS                                                                                                        \
    "    gpu_thread y from 0 extent 32:\n"                                                                             \
    "      gpu_thread x from 0 extent 32:\n"                                                                           \
    "        out[i64(x) + i64(y) * i64(32)] = a[i64(y) + i64(x) * i64(32)]\n"

typedef struct BankCase {
    const char *what, *text;
    const char *has; /* of the text after the pass, with `|` between */
} BankCase;

/* clang-format off */
static const BankCase cases[] = {
    { "a column of 32 words is one bank",
      PORTS SHARED("a", "i32") "\n"
      "kernel k threads 32 32 1:\n"
      "  alloc i32 a[i64(1024)]:\n" FILL("i64(x) + i64(y) * i64(32)") COLUMNS,
      "alloc i32 a[i64(1055)]|a[i64(x) + i64(y) * i64(33)] =|= a[i64(x) * i64(33) + i64(y)]" },
    { "rows alone have no conflict",
      PORTS SHARED("a", "i32") "\n"
      "kernel k threads 32 32 1:\n"
      "  alloc i32 a[i64(1024)]:\n" FILL("i64(x) + i64(y) * i64(32)") FILL("i64(x) + i64(y) * i64(32)")
      "    gpu_thread x from 0 extent 32:\n"
      "      out[i64(x)] = a[i64(x)]\n",
      "alloc i32 a[i64(1024)]|a[i64(x) + i64(y) * i64(32)] =" },
    { "a column of words side by side: they stay one access",
      PORTS SHARED("a", "i32") "\n"
      "kernel k threads 32 8 1:\n"
      "  alloc i32 a[i64(1024)]:\n"
      "    gpu_thread y from 0 extent 8:\n"
      "      gpu_thread x from 0 extent 32:\n"
      "        a[i64(x) * i64(32) + i64(y) * i64(4)] = in[i64(x)]\n"
      "        a[i64(x) * i64(32) + i64(y) * i64(4) + i64(1)] = in[i64(x)]\n"
      "        a[i64(x) * i64(32) + i64(y) * i64(4) + i64(2)] = in[i64(x)]\n"
      "        a[i64(x) * i64(32) + i64(y) * i64(4) + i64(3)] = in[i64(x)]\n",
      "alloc i32 a[i64(1148)]|a[i64(x) * i64(36) + i64(y) * i64(4) + i64(3)] =" },
    { "a row that is not a linear form is divided for",
      PORTS SHARED("a", "i32") "\n"
      "kernel k threads 32 32 1:\n"
      "  alloc i32 a[i64(1024)]:\n" FILL("i64(x) + i64(y) * i64(32)") COLUMNS
      "    gpu_thread x from 0 extent 32:\n"
      "      out[i64(x)] = a[i64(in[i64(x)] & 1023)]\n",
      "alloc i32 a[i64(1055)]|a[i64(in[i64(x)] & 1023) + i64(u32(i64(in[i64(x)] & 1023)) / u32(32))]" },
    { "bytes: columns of four rows share words",
      PORTS SHARED("a", "u8") "\n"
      "kernel k threads 32 32 1:\n"
      "  alloc u8 a[i64(4096)]:\n"
      "    gpu_thread y from 0 extent 32:\n"
      "      gpu_thread x from 0 extent 32:\n"
      "        a[i64(x) * i64(128) + i64(y)] = u8(in[i64(x)])\n",
      "alloc u8 a[i64(4220)]|a[i64(x) * i64(132) + i64(y)] =" },
    { "no room: 48 KiB are the limit",
      PORTS SHARED("a", "i32") SHARED("b", "i32") "\n"
      "kernel k threads 32 32 1:\n"
      "  alloc i32 b[i64(11264)]:\n"
      "    alloc i32 a[i64(1024)]:\n"
      "      gpu_thread y from 0 extent 32:\n"
      "        gpu_thread x from 0 extent 32:\n"
      "          a[i64(x) * i64(32) + i64(y)] = in[i64(x)]\n"
      "      gpu_thread x from 0 extent 32:\n"
      "        b[i64(x)] = x\n",
      "alloc i32 a[i64(1024)]|a[i64(x) * i64(32) + i64(y)] =" },
    { "no room: a block less would be resident",
      PORTS SHARED("a", "i32") SHARED("b", "i32") "\n"
      "kernel k threads 32 8 1:\n"
      "  alloc i32 b[i64(4340)]:\n"
      "    alloc i32 a[i64(1792)]:\n"
      "      gpu_thread y from 0 extent 8:\n"
      "        gpu_thread x from 0 extent 32:\n"
      "          a[i64(x) * i64(32) + i64(y)] = in[i64(x)]\n"
      "      gpu_thread x from 0 extent 32:\n"
      "        b[i64(x)] = x\n",
      "alloc i32 a[i64(1792)]|a[i64(x) * i64(32) + i64(y)] =" },
};
/* clang-format on */

static void expect_words(const char *what, const char *text, const char *words)
{
    char word[128];
    for (const char *at = words; *at; at += *at == '|') {
        const size_t n = strcspn(at, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        CHECK(strstr(text, word), "%s: there is no `%s`:\n%s", what, word, text);
        at += n;
    }
}

/* The output of a program. */
static void run(const char *what, Program *p, int32_t out[N])
{
    static int32_t in[N];
    for (int i = 0; i < N; i++) {
        in[i]  = i * 7 + 1;
        out[i] = -1;
    }
    kn_buffer ports[] = { kn_buffer_dense(in, KN_I32, 1, (const int32_t[]){ N }),
                          kn_buffer_dense(out, KN_I32, 1, (const int32_t[]){ N }) };
    program_find_kernels(p);
    context_begin(p->cx);
    const kn_status status = execute(p, (kn_buffer *const[]){ &ports[0], &ports[1] }, NULL, NULL);
    CHECK(status == KN_OK, "%s: %s", what, kn_error_text(p->cx));
}

static void run_case(const BankCase *c)
{
    static int32_t before[N], after[N];
    kn_context    *cx   = kn_context_new(NULL);
    Plan           plan = { .func_count = 0 };
    Arena          arena;
    ExprPool       pool;
    arena_init(&arena, cx);
    expr_pool_init(&pool, cx, &arena);
    context_begin(cx);
    Program *p = program_read(&pool, c->text);
    CHECK(p, "%s: %s", c->what, kn_error_text(cx));
    if (p) {
        Lower lw = { .cx = cx, .arena = &arena, .exprs = &pool, .plan = &plan, .program = p };
        Text  text;
        text_init(&text, &arena);
        p->body = lower_barriers(&lw, p->body);
        run(c->what, p, before);
        p->body = lower_banks(&lw, p->body);
        program_print(&text, p);
        expect_words(c->what, text_string(&text), c->has);
        run(c->what, p, after);
        CHECK(!memcmp(before, after, sizeof before), "%s: the results differ", c->what);
    }
    arena_free(&arena);
    kn_context_free(cx);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(&cases[i]);
    return check_done();
}
