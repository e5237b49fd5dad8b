/* SPDX-License-Identifier: MIT */
/* What a kernel takes from the host (ir/kernel.h), of programs as text. */
#include "check.h"

#include "ir/kernel.h"
#include "ir/print.h"
#include "ir/read.h"
#include "pipeline/pipeline.h"

#include <string.h>

#define SCRATCH(name, memory) "buffer " name " : f32 scratch component 0 rank 0 dense -1 in " memory "\n"
#define HEAD                                                                                                           \
    "program p\n"                                                                                                      \
    "param k : f32\n"                                                                                                  \
    "param unused : f32\n"                                                                                             \
    "buffer in : f32 input of in component 0 rank 1 dims (x) dense 0 in auto\n"                                        \
    "buffer out : f32 output of out component 0 rank 1 dims (x) dense 0 in auto\n" SCRATCH("g", "global")              \
        SCRATCH("s", "shared") "\n"

static kn_context *cx;
static Arena       arena;
static ExprPool    pool;

static Program *begin(const char *body)
{
    cx = kn_context_new(NULL);
    context_begin(cx);
    arena_init(&arena, cx);
    expr_pool_init(&pool, cx, &arena);
    Program *p = program_read(&pool, arena_printf(&arena, "%s%s", HEAD, body));
    CHECK(p, "%s", kn_error_text(cx));
    if (p)
        program_find_kernels(p);
    return p;
}

static void end(void)
{
    arena_free(&arena);
    kn_context_free(cx);
}

/* The arguments in one line: "out w, in r; k, w". */
static const char *arguments(const Kernel *k)
{
    Text t;
    text_init(&t, &arena);
    for (size_t i = 0; i < k->buffers.count; i++)
        text_printf(&t, "%s%s %s%s", i ? ", " : "", k->buffers.at[i].buffer->name, k->buffers.at[i].reads ? "r" : "",
                    k->buffers.at[i].writes ? "w" : "");
    text_add(&t, ";");
    for (size_t i = 0; i < k->values.count; i++) {
        text_add(&t, i ? ", " : " ");
        expr_print(&t, k->values.at[i]);
    }
    return text_string(&t);
}

static void check_arguments(const Program *p, size_t kernel, const char *want)
{
    CHECK(kernel < p->kernels.count, "%zu kernels", p->kernels.count);
    if (kernel < p->kernels.count)
        CHECK(!strcmp(arguments(p->kernels.at[kernel]), want), "`%s`, not `%s`", arguments(p->kernels.at[kernel]),
              want);
}

static const char *loop_name(const Stmt *s)
{
    return s ? s->loop.name : "none";
}

/* Two kernels: what stands in the grid alone is the host's, what the kernel makes is its own, a value used twice is one
 * argument. */
static void test_arguments(void)
{
    const Program *p = begin("let w = in.extent.0 / 4\n"
                             "alloc f32 g[i64(64)]:\n"
                             "  kernel one threads 4 1 1:\n"
                             "    gpu_block by from 0 extent in.min.0:\n"
                             "      gpu_block bx from 0 extent w:\n"
                             "        alloc f32 s[i64(4)]:\n"
                             "          let v = in[i64(bx)] * k\n"
                             "          gpu_thread t from 0 extent in.extent.0:\n"
                             "            s[i64(t)] = v + k\n"
                             "          gpu_thread t from 0 extent 4:\n"
                             "            g[i64(t + by)] atomic = g[i64(t + by)] + s[i64(t)]\n"
                             "  kernel two threads 4 1 1:\n"
                             "    gpu_block b from 0 extent w:\n"
                             "      gpu_thread t from 0 extent w:\n"
                             "        out[i64(t)] = g[i64(t)]\n");
    CHECK(p->kernels.count == 2, "%zu kernels", p->kernels.count);
    check_arguments(p, 0, "in r, g rw; k, in.extent.0");
    check_arguments(p, 1, "out w, g r; w");
    const Kernel *one = p->kernels.at[0];
    CHECK(!strcmp(loop_name(one->grid[0]), "bx") && !strcmp(loop_name(one->grid[1]), "by") && !one->grid[2],
          "the grid is %s, %s, %s", loop_name(one->grid[0]), loop_name(one->grid[1]), loop_name(one->grid[2]));
    CHECK(one->block->kind == STMT_ALLOC, "the block begins with its shared memory");
    CHECK(program_kernel(p, one->stmt) == one && !program_kernel(p, one->block), "a kernel by its statement");
    end();
}

/* A kernel that stands in the program twice is one. */
static void test_copies(void)
{
    Program *p = begin("kernel one threads 4 1 1:\n"
                       "  gpu_thread t from 0 extent 4:\n"
                       "    out[i64(t)] = k\n");
    p->body    = stmt_pair(&arena, p->body, p->body);
    program_find_kernels(p);
    CHECK(p->kernels.count == 1 && !p->kernels.at[0]->grid[0], "%zu kernels", p->kernels.count);
    check_arguments(p, 0, "out w; k");
    end();
}

static void test_nest(void)
{
    const Program   *p = begin("kernel one threads 4 1 1:\n"
                                 "  gpu_thread y from 0 extent 4:\n"
                                 "    gpu_lane x from 0 extent 4:\n"
                                 "      out[i64(x)] = k\n");
    const ThreadNest n = thread_nest(p->kernels.at[0]->block);
    CHECK(!strcmp(loop_name(n.loops[0]), "x") && !strcmp(loop_name(n.loops[1]), "y") && !n.loops[2],
          "the nest is %s, %s, %s", loop_name(n.loops[0]), loop_name(n.loops[1]), loop_name(n.loops[2]));
    CHECK(n.body->kind == STMT_STORE, "what stands in the nest");
    end();
}

int main(void)
{
    test_arguments();
    test_copies();
    test_nest();
    return check_done();
}
