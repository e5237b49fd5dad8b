/* SPDX-License-Identifier: MIT */
/* Shared memory of blocks: which buffers have it in turns, how many barriers that takes, and that what comes out runs
 * in the executor. */
#include "check.h"

#include "interp/execute.h"
#include "ir/kernel.h"
#include "ir/read.h"
#include "lower/lower.h"
#include "pipeline/pipeline.h"

#include <string.h>

enum { N = 64 };

#define PORTS                                                                                                          \
    "program p\n"                                                                                                      \
    "buffer in : i32 input of in component 0 rank 1 dims (x) dense 0 in auto\n"                                        \
    "buffer out : i32 output of out component 0 rank 1 dims (x) dense 0 in auto\n"
#define SHARED(name, type) "buffer " name " : " type " scratch of " name " component 0 rank 0 dense -1 in shared\n"

/* `to` by all threads from `from`, turned around. */
#define STAGE(indent, to, from)                                                                                        \
    indent "gpu_thread t from 0 extent 64:\n" indent "  " to "[i64(t)] = " from "[i64(63 - t)]\n"

typedef struct SharedCase {
    const char *what, *text;
    const char *shares; /* "c:a ": c lies in the memory of a */
    int         barriers;
    const char *refusal; /* NULL: none */
} SharedCase;

/* clang-format off */
static const SharedCase cases[] = {
    { "a chain: the third has the memory of the first",
      PORTS SHARED("a", "i32") SHARED("b", "i32") SHARED("c", "i32") "\n"
      "kernel k threads 64 1 1:\n"
      "  alloc i32 a[i64(64)]:\n"
      "    alloc i32 b[i64(64)]:\n"
      "      alloc i32 c[i64(80)]:\n"
      STAGE("        ", "a", "in") STAGE("        ", "b", "a") STAGE("        ", "c", "b")
      STAGE("        ", "out", "c"),
      "c:a ", 3, NULL },
    { "other types have it too",
      PORTS SHARED("a", "u8") SHARED("b", "i32") SHARED("c", "i64") "\n"
      "kernel k threads 64 1 1:\n"
      "  alloc u8 a[i64(64)]:\n"
      "    alloc i32 b[i64(64)]:\n"
      "      alloc i64 c[i64(64)]:\n"
      "        gpu_thread t from 0 extent 64:\n"
      "          a[i64(t)] = u8(in[i64(t)])\n"
      "        gpu_thread t from 0 extent 64:\n"
      "          b[i64(t)] = i32(a[i64(63 - t)])\n"
      "        gpu_thread t from 0 extent 64:\n"
      "          c[i64(t)] = i64(b[i64(63 - t)])\n"
      "        gpu_thread t from 0 extent 64:\n"
      "          out[i64(t)] = i32(c[i64(63 - t)])\n",
      "c:a ", 3, NULL },
    { "live at once",
      PORTS SHARED("a", "i32") SHARED("b", "i32") "\n"
      "kernel k threads 64 1 1:\n"
      "  alloc i32 a[i64(64)]:\n"
      "    alloc i32 b[i64(64)]:\n"
      STAGE("      ", "a", "in") STAGE("      ", "b", "in")
      "      gpu_thread t from 0 extent 64:\n"
      "        out[i64(t)] = a[i64(63 - t)] + b[i64(t)]\n",
      "", 1, NULL },
    { "what a loop inside keeps is live in all of it",
      PORTS SHARED("a", "i32") SHARED("b", "i32") SHARED("c", "i32") "\n"
      "kernel k threads 64 1 1:\n"
      "  alloc i32 a[i64(64)]:\n"
      STAGE("    ", "a", "in")
      "    for i from 0 extent 3:\n"
      "      alloc i32 b[i64(64)]:\n"
      STAGE("        ", "b", "a")
      "        alloc i32 c[i64(64)]:\n"
      STAGE("          ", "c", "b") STAGE("          ", "out", "c"),
      "", 3, NULL },
    { "no sharing that takes a barrier more",
      PORTS SHARED("a", "i32") SHARED("b", "i32") "\n"
      "kernel k threads 64 1 1:\n"
      "  for i from 0 extent 3:\n"
      "    alloc i32 a[i64(64)]:\n"
      STAGE("      ", "a", "in") STAGE("      ", "out", "a")
      "    alloc i32 b[i64(64)]:\n"
      "      gpu_thread t from 0 extent 64:\n"
      "        b[i64(t)] = 1\n"
      "      gpu_thread t from 0 extent 32:\n"
      "        out[i64(t)] = out[i64(t)] + b[i64(t + 1)]\n",
      "", 2, NULL },
    { "unless it does not fit otherwise",
      PORTS SHARED("a", "i32") SHARED("b", "i32") "\n"
      "kernel k threads 64 1 1:\n"
      "  for i from 0 extent 3:\n"
      "    alloc i32 a[i64(8000)]:\n"
      STAGE("      ", "a", "in") STAGE("      ", "out", "a")
      "    alloc i32 b[i64(8000)]:\n"
      "      gpu_thread t from 0 extent 64:\n"
      "        b[i64(t)] = 1\n"
      "      gpu_thread t from 0 extent 32:\n"
      "        out[i64(t)] = out[i64(t)] + b[i64(t + 1)]\n",
      "b:a ", 4, NULL },
    { "the branches of a condition, each with its own copies",
      PORTS SHARED("a", "i32") SHARED("b", "i32") SHARED("c", "i32") "\n"
      "kernel k threads 64 1 1:\n"
      "  gpu_block x from 0 extent 1:\n"
      "    if x < in.min.0:\n"
      "      alloc i32 a[i64(64)]:\n"
      "        alloc i32 b[i64(64)]:\n"
      "          alloc i32 c[i64(64)]:\n"
      STAGE("            ", "a", "in") STAGE("            ", "b", "a") STAGE("            ", "c", "b")
      STAGE("            ", "out", "c")
      "    else:\n"
      "      alloc i32 a[i64(64)]:\n"
      "        alloc i32 b[i64(64)]:\n"
      "          alloc i32 c[i64(64)]:\n"
      STAGE("            ", "a", "in") STAGE("            ", "b", "a") STAGE("            ", "c", "b")
      STAGE("            ", "out", "c"),
      "c:a ", 6, NULL },
    { "more than a device has",
      PORTS SHARED("a", "i32") SHARED("b", "i32") "\n"
      "kernel k threads 64 1 1:\n"
      "  alloc i32 a[i64(8000)]:\n"
      "    alloc i32 b[i64(8000)]:\n"
      STAGE("      ", "a", "in") STAGE("      ", "b", "a") STAGE("      ", "out", "b"),
      "", 2, "with `b` a block has 64000 bytes of shared memory, and a device has 49152" },
};
/* clang-format on */

static void count_barriers(void *user, const Stmt *s)
{
    *(int *)user += s->kind == STMT_BARRIER;
    stmt_children(s, NULL, count_barriers, user);
}

static void check_sharing(const SharedCase *c, const Program *p)
{
    char   shares[64] = "";
    size_t n          = 0;
    int    barriers   = 0;
    for (size_t i = 0; i < p->buffers.count; i++)
        if (p->buffers.at[i]->shares)
            n += (size_t)snprintf(shares + n, sizeof shares - n, "%s:%s ", p->buffers.at[i]->name,
                                  p->buffers.at[i]->shares->name);
    count_barriers(&barriers, p->body);
    CHECK(!strcmp(shares, c->shares), "%s: \"%s\"", c->what, shares);
    CHECK(barriers == c->barriers, "%s: %d barriers", c->what, barriers);
}

static void check_run(const SharedCase *c, Program *p)
{
    int32_t   values[2][N] = { { 0 } };
    kn_buffer ports[2];
    for (int i = 0; i < 2; i++)
        ports[i] = kn_buffer_dense(values[i], KN_I32, 1, (const int32_t[]){ N });
    program_find_kernels(p);
    context_begin(p->cx);
    const kn_status status = execute(p, (kn_buffer *const[]){ &ports[0], &ports[1] }, NULL, NULL);
    CHECK(status == KN_OK, "%s: %s", c->what, kn_error_text(p->cx));
}

static void run_case(const SharedCase *c)
{
    kn_context *cx   = kn_context_new(NULL);
    Plan        plan = { .func_count = 0 };
    Arena       arena;
    ExprPool    pool;
    arena_init(&arena, cx);
    expr_pool_init(&pool, cx, &arena);
    context_begin(cx);
    Program *p = program_read(&pool, c->text);
    CHECK(p, "%s: %s", c->what, kn_error_text(cx));
    if (p) {
        Lower lw = { .cx = cx, .arena = &arena, .exprs = &pool, .plan = &plan, .program = p };
        p->body  = lower_barriers(&lw, lower_shared(&lw, p->body));
        check_sharing(c, p);
        const char *text = kn_error_text(cx);
        if (c->refusal)
            CHECK(strstr(text, c->refusal), "%s: %s", c->what, text);
        else
            check_run(c, p);
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
