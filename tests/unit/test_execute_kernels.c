/* SPDX-License-Identifier: MIT */
/* Kernels in the executor, as text: what they compute, and what each mistake is called. */
#include "check.h"

#include "interp/execute.h"
#include "ir/kernel.h"
#include "ir/read.h"
#include "pipeline/pipeline.h"

#include <string.h>

enum { N = 16 };

#define SCRATCH(name, memory) "buffer " name " : i32 scratch component 0 rank 0 dense -1 in " memory "\n"
#define HEAD                                                                                                           \
    "program p\n"                                                                                                      \
    "buffer in : i32 input of in component 0 rank 1 dims (x) dense 0 in auto\n"                                        \
    "buffer out : i32 output of out component 0 rank 1 dims (x) dense 0 in auto\n" SCRATCH("g", "global")              \
        SCRATCH("h", "heap") SCRATCH("s", "shared") SCRATCH("r", "register") SCRATCH("t", "stack")                     \
            SCRATCH("v", "shared with s") "\n"

/* A program; the input is 0, 10, 20 … 150. */
typedef struct KernelCase {
    const char *what, *text;
    int32_t     want[N]; /* the output, which holds -1 before */
    const char *mistake; /* words of the message; NULL: it runs */
} KernelCase;

/* clang-format off */
#define REST4   -1, -1, -1, -1
#define REST8   REST4, REST4

static const KernelCase right[] = {
    { "blocks and threads, one thread for each point",
      "kernel k threads 4 1 1:\n"
      "  gpu_block b from 0 extent 3:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      out[i64(b * 4 + t)] = in[i64(b * 4 + t)] + b\n",
      { 0, 10, 20, 30, 41, 51, 61, 71, 82, 92, 102, 112, REST4 }, NULL },
    { "three axes of blocks and of threads",
      "kernel k threads 2 1 2:\n"
      "  gpu_block bz from 0 extent 2:\n"
      "    gpu_block by from 0 extent 1:\n"
      "      gpu_block bx from 0 extent 2:\n"
      "        gpu_thread z from 0 extent 2:\n"
      "          gpu_thread y from 0 extent 1:\n"
      "            gpu_thread x from 0 extent 2:\n"
      "              out[i64(bz * 8 + z * 4 + bx * 2 + x)] = bz * 1000 + z * 100 + bx * 10 + x + y + by\n",
      { 0, 1, 10, 11, 100, 101, 110, 111, 1000, 1001, 1010, 1011, 1100, 1101, 1110, 1111 }, NULL },
    { "more iterations than threads, and fewer",
      "kernel k threads 4 1 1:\n"
      "  gpu_thread t from 0 extent 7:\n"
      "    out[i64(t)] = t\n"
      "  gpu_thread u from 0 extent 2:\n"
      "    out[i64(8 + u)] = u\n",
      { 0, 1, 2, 3, 4, 5, 6, -1, 0, 1, -1, -1, REST4 }, NULL },
    { "no block, no thread",
      "kernel k threads 4 1 1:\n"
      "  gpu_block b from 0 extent in.min.0:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      out[i64(t)] = t\n"
      "kernel l threads 4 1 1:\n"
      "  gpu_thread t from 0 extent in.min.0:\n"
      "    out[i64(t)] = t\n",
      { REST8, REST8 }, NULL },
    { "shared memory across a barrier",
      "kernel k threads 4 1 1:\n"
      "  gpu_block b from 0 extent 2:\n"
      "    alloc i32 s[i64(4)]:\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        s[i64(t)] = in[i64(4 * b + t)]\n"
      "      barrier\n"
      "      gpu_thread u from 0 extent 4:\n"
      "        out[i64(4 * b + u)] = s[i64(3 - u)]\n",
      { 30, 20, 10, 0, 70, 60, 50, 40, REST8 }, NULL },
    { "shared memory without a barrier, each thread with what is its own",
      "kernel k threads 4 1 1:\n"
      "  alloc i32 s[i64(8)]:\n"
      "    gpu_thread t from 0 extent 8:\n"
      "      s[i64(t)] = t\n"
      "    gpu_thread u from 0 extent 4:\n"
      "      out[i64(u)] = s[i64(u)] + s[i64(u + 4)]\n",
      { 4, 6, 8, 10, REST4, REST8 }, NULL },
    { "shared memory in a loop of the block, a barrier before it is written again",
      "kernel k threads 4 1 1:\n"
      "  for i from 0 extent 3:\n"
      "    alloc i32 s[i64(4)]:\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        s[i64(t)] = t + i\n"
      "      barrier\n"
      "      gpu_thread u from 0 extent 4:\n"
      "        out[i64(4 * i + u)] = s[i64(3 - u)]\n"
      "      barrier\n",
      { 3, 2, 1, 0, 4, 3, 2, 1, 5, 4, 3, 2, REST4 }, NULL },
    { "shared memory in turns, with barriers between",
      "kernel k threads 4 1 1:\n"
      "  alloc i32 s[i64(4)]:\n"
      "    alloc i32 v[i64(4)]:\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        s[i64(t)] = in[i64(t)]\n"
      "      barrier\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        out[i64(t)] = s[i64(3 - t)]\n"
      "      barrier\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        v[i64(t)] = t\n"
      "      barrier\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        out[i64(4 + t)] = v[i64(3 - t)]\n",
      { 30, 20, 10, 0, 3, 2, 1, 0, REST8 }, NULL },
    { "registers over several nests",
      "kernel k threads 2 2 1:\n"
      "  gpu_block b from 0 extent 2:\n"
      "    alloc i32 r[i64(2)]:\n"
      "      gpu_thread y from 0 extent 2:\n"
      "        gpu_thread x from 0 extent 2:\n"
      "          r[i64(0)], r[i64(1)] = x, y\n"
      "      barrier\n"
      "      gpu_thread y from 0 extent 2:\n"
      "        gpu_thread x from 0 extent 2:\n"
      "          out[i64(b * 4 + y * 2 + x)] = r[i64(0)] * 10 + r[i64(1)] + b * 100\n",
      { 0, 10, 1, 11, 100, 110, 101, 111, REST8 }, NULL },
    { "what a thread has for itself, and a vector loop in it",
      "kernel k threads 4 1 1:\n"
      "  gpu_thread t from 0 extent 4:\n"
      "    alloc i32 t[i64(2)]:\n"
      "      vector v from 0 extent 2:\n"
      "        t[i64(v)] = t * 2 + v\n"
      "      vector w from 0 extent 2:\n"
      "        out[i64(t * 2 + w)] = t[i64(1 - w)]\n",
      { 1, 0, 3, 2, 5, 4, 7, 6, REST8 }, NULL },
    { "code for all threads: let, if, loop, a load",
      "kernel k threads 4 1 1:\n"
      "  gpu_block b from 0 extent 3:\n"
      "    let v = in[i64(b)]\n"
      "    if v < 20:\n"
      "      unroll i from 0 extent 2:\n"
      "        gpu_thread t from 0 extent 2:\n"
      "          out[i64(b * 4 + i * 2 + t)] = v + i\n"
      "        barrier\n",
      { 0, 0, 1, 1, 10, 10, 11, 11, REST8 }, NULL },
    { "atomic updates by threads and blocks",
      "kernel j threads 1 1 1:\n"
      "  gpu_thread t from 0 extent 1:\n"
      "    out[i64(0)] = 0\n"
      "kernel k threads 4 1 1:\n"
      "  gpu_block b from 0 extent 4:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      out[i64(0)] atomic = out[i64(0)] + in[i64(4 * b + t)]\n",
      { 1200, -1, -1, -1, REST4, REST8 }, NULL },
    { "lanes of a warp",
      "kernel k threads 32 2 1:\n"
      "  gpu_thread y from 0 extent 2:\n"
      "    gpu_lane x from 0 extent 8:\n"
      "      out[i64(8 * y + x)] = x - y\n",
      { 0, 1, 2, 3, 4, 5, 6, 7, -1, 0, 1, 2, 3, 4, 5, 6 }, NULL },
    { "one kernel after the other, by global memory",
      "alloc i32 g[i64(4)]:\n"
      "  kernel j threads 4 1 1:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      g[i64(t)] = in[i64(t)]\n"
      "  kernel k threads 1 1 1:\n"
      "    gpu_block b from 0 extent 4:\n"
      "      gpu_thread t from 0 extent 1:\n"
      "        out[i64(b)] = g[i64(3 - b)]\n",
      { 30, 20, 10, 0, REST4, REST8 }, NULL },
    { "the host between kernels",
      "alloc i32 g[i64(4)]:\n"
      "  sync g write\n"
      "  for i from 0 extent 4:\n"
      "    g[i64(i)] = i\n"
      "  kernel k threads 4 1 1:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      g[i64(t)] = g[i64(t)] * 3\n"
      "  sync g\n"
      "  for i from 0 extent 4:\n"
      "    out[i64(i)] = g[i64(i)]\n",
      { 0, 3, 6, 9, REST4, REST8 }, NULL },
    { "two threads write one element of scratch, which is written again before it is used",
      "kernel k threads 4 1 1:\n"
      "  alloc i32 s[i64(2)]:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      s[i64(t / 2)] = t\n"
      "    barrier\n"
      "    gpu_thread u from 0 extent 1:\n"
      "      s[i64(u)] = 7\n"
      "      out[i64(u)] = s[i64(u)]\n",
      { 7, -1, -1, -1, REST4, REST8 }, NULL },
    { "a block of one thread needs no barrier",
      "kernel k threads 1 1 1:\n"
      "  gpu_block b from 0 extent 2:\n"
      "    alloc i32 s[i64(1)]:\n"
      "      gpu_thread t from 0 extent 1:\n"
      "        s[i64(0)] = b\n"
      "      let v = s[i64(0)]\n"
      "      gpu_thread t from 0 extent 1:\n"
      "        out[i64(b)] = v\n",
      { 0, 1, -1, -1, REST4, REST8 }, NULL },
};

static const KernelCase wrong[] = {
    { "threads of a block, no barrier between",
      "kernel k threads 4 1 1:\n"
      "  alloc i32 s[i64(4)]:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      s[i64(t)] = t\n"
      "    gpu_thread u from 0 extent 4:\n"
      "      out[i64(u)] = s[i64(3 - u)]\n",
      { 0 }, "another thread of the same block" },
    { "two threads write one element",
      "kernel k threads 4 1 1:\n"
      "  gpu_thread t from 0 extent 4:\n"
      "    out[i64(0)] = t\n",
      { 0 }, "writes element 0 of `out`, which another thread" },
    { "two threads write one element of scratch, which is used",
      "kernel k threads 4 1 1:\n"
      "  alloc i32 s[i64(2)]:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      s[i64(t / 2)] = t\n"
      "    barrier\n"
      "    gpu_thread u from 0 extent 1:\n"
      "      out[i64(u)] = s[i64(u)]\n",
      { 0 }, "or by several at once" },
    { "a thread writes again what another wrote at once",
      "kernel k threads 4 1 1:\n"
      "  alloc i32 s[i64(2)]:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      s[i64(t / 2)] = t\n"
      "      s[i64(t / 2)] = t + 1\n"
      "    barrier\n"
      "    gpu_thread u from 0 extent 1:\n"
      "      out[i64(u)] = s[i64(u)]\n",
      { 0 }, "or by several at once" },
    { "a write after several reads, one of them the writer's own",
      "kernel k threads 4 1 1:\n"
      "  alloc i32 s[i64(4)]:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      s[i64(t)] = t\n"
      "    barrier\n"
      "    gpu_thread u from 0 extent 4:\n"
      "      out[i64(u)] = s[i64(u / 2)]\n"
      "    gpu_thread v from 0 extent 2:\n"
      "      s[i64(v * 0)] = v + 7\n",
      { 0 }, "writes element 0 of `s`, which another thread" },
    { "shared memory that is written again while others still read",
      "kernel k threads 4 1 1:\n"
      "  for i from 0 extent 3:\n"
      "    alloc i32 s[i64(4)]:\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        s[i64(t)] = t + i\n"
      "      barrier\n"
      "      gpu_thread u from 0 extent 4:\n"
      "        out[i64(4 * i + u)] = s[i64(3 - u)]\n",
      { 0 }, "writes element" },
    { "the same element in two axes",
      "kernel k threads 2 2 1:\n"
      "  gpu_thread y from 0 extent 2:\n"
      "    gpu_thread x from 0 extent 2:\n"
      "      out[i64(x)] = y\n",
      { 0 }, "another thread of the same block" },
    { "a nest of fewer axes belongs to the threads that are 0 along the others",
      "kernel k threads 2 2 1:\n"
      "  alloc i32 s[i64(4)]:\n"
      "    gpu_thread x from 0 extent 2:\n"
      "      s[i64(x)], s[i64(x + 2)] = x, x\n"
      "    gpu_thread y from 0 extent 2:\n"
      "      gpu_thread x from 0 extent 2:\n"
      "        out[i64(2 * y + x)] = s[i64(2 * y + x)]\n",
      { 0 }, "another thread of the same block" },
    { "iterations of one thread",
      "kernel k threads 2 1 1:\n"
      "  gpu_thread t from 0 extent 4:\n"
      "    out[i64(t % 2)] = t\n",
      { 0 }, "another iteration of the same thread loop" },
    { "iterations of one thread, by its registers",
      "kernel k threads 2 1 1:\n"
      "  alloc i32 r[i64(1)]:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      r[i64(0)] = t\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      out[i64(t)] = r[i64(0)]\n",
      { 0 }, "or by several at once" },
    { "blocks",
      "kernel k threads 1 1 1:\n"
      "  gpu_block b from 0 extent 4:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      out[i64(b / 2)] = b\n",
      { 0 }, "another block of the same kernel" },
    { "blocks by global memory, a barrier is no help",
      "alloc i32 g[i64(4)]:\n"
      "  kernel k threads 1 1 1:\n"
      "    gpu_block b from 0 extent 4:\n"
      "      gpu_thread t from 0 extent 1:\n"
      "        g[i64(b)] = b\n"
      "      barrier\n"
      "      gpu_thread t from 0 extent 1:\n"
      "        out[i64(b)] = g[i64(min(b + 1, 3))]\n",
      { 0 }, "reads element 3 of `g`, which another block" },
    { "a load of all threads, before one changes it",
      "kernel k threads 2 1 1:\n"
      "  alloc i32 s[i64(1)]:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      s[i64(0)] = 5\n"
      "    barrier\n"
      "    let v = s[i64(0)]\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      s[i64(0)] = v + 1\n",
      { 0 }, "writes element 0 of `s`, which another thread" },
    { "a load of all threads, after one changed it",
      "kernel k threads 2 1 1:\n"
      "  alloc i32 s[i64(1)]:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      s[i64(0)] = 5\n"
      "    if s[i64(0)] == 5:\n"
      "      barrier\n",
      { 0 }, "reads element 0 of `s`, which another thread" },
    { "shared memory that nobody wrote",
      "kernel k threads 4 1 1:\n"
      "  alloc i32 s[i64(4)]:\n"
      "    gpu_thread t from 0 extent 3:\n"
      "      s[i64(t)] = t\n"
      "    barrier\n"
      "    gpu_thread u from 0 extent 4:\n"
      "      out[i64(u)] = s[i64(u)]\n",
      { 0 }, "never written" },
    { "shared memory that the iteration before wrote",
      "kernel k threads 1 1 1:\n"
      "  for i from 0 extent 2:\n"
      "    alloc i32 s[i64(1)]:\n"
      "      if i == 0:\n"
      "        gpu_thread t from 0 extent 1:\n"
      "          s[i64(0)] = 1\n"
      "      gpu_thread t from 0 extent 1:\n"
      "        out[i64(i)] = s[i64(0)]\n",
      { 0 }, "never written" },
    { "shared memory of another block",
      "kernel k threads 1 1 1:\n"
      "  gpu_block b from 0 extent 2:\n"
      "    alloc i32 s[i64(1)]:\n"
      "      if b == 1:\n"
      "        gpu_thread t from 0 extent 1:\n"
      "          s[i64(0)] = 1\n"
      "      gpu_thread t from 0 extent 1:\n"
      "        out[i64(b)] = s[i64(0)]\n",
      { 0 }, "never written" },
    { "registers of another thread",
      "kernel k threads 2 1 1:\n"
      "  alloc i32 r[i64(1)]:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      r[i64(0)] = 1\n"
      "    barrier\n"
      "    gpu_thread t from 0 extent 2:\n"
      "      out[i64(t)] = r[i64(0)]\n",
      { 0 }, "never written" },
    { "registers outside threads",
      "kernel k threads 1 1 1:\n"
      "  alloc i32 r[i64(1)]:\n"
      "    let v = r[i64(0)]\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      out[i64(t)] = v\n",
      { 0 }, "of which each thread has its own" },
    { "beyond shared memory",
      "kernel k threads 5 1 1:\n"
      "  alloc i32 s[i64(4)]:\n"
      "    gpu_thread t from 0 extent 5:\n"
      "      s[i64(t)] = t\n",
      { 0 }, "writes `s` at index 4, but it has 0..3" },
    { "a store outside threads",
      "kernel k threads 1 1 1:\n"
      "  gpu_block b from 0 extent 2:\n"
      "    out[i64(b)] = b\n",
      { 0 }, "a statement of kind store stands in a kernel outside thread loops" },
    { "a barrier in a thread",
      "kernel k threads 2 1 1:\n"
      "  gpu_thread t from 0 extent 2:\n"
      "    barrier\n",
      { 0 }, "a statement of kind barrier stands in a thread" },
    { "a barrier of the host", "barrier\n", { 0 }, "a statement of kind barrier stands outside kernels" },
    { "two kernels of one name",
      "kernel k threads 1 1 1:\n"
      "  gpu_thread t from 0 extent 1:\n"
      "    out[i64(t)] = t\n"
      "kernel k threads 1 1 1:\n"
      "  gpu_thread t from 0 extent 1:\n"
      "    out[i64(t)] = t + 1\n",
      { 0 }, "two kernels have the name `k`" },
    { "a kernel in a kernel",
      "kernel k threads 1 1 1:\n"
      "  kernel l threads 1 1 1:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      out[i64(t)] = t\n",
      { 0 }, "a statement of kind kernel stands in a kernel outside thread loops" },
    { "a kernel in a vector loop",
      "vector v from 0 extent 2:\n"
      "  kernel k threads 1 1 1:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      out[i64(t)] = t\n",
      { 0 }, "`k` stands in a vector loop" },
    { "a check in a kernel",
      "kernel k threads 1 1 1:\n"
      "  gpu_thread t from 0 extent 1:\n"
      "    check t == 0 else \"no\" status 3\n",
      { 0 }, "a statement of kind check stands in a thread" },
    { "a sync in a kernel",
      "kernel k threads 1 1 1:\n"
      "  sync out\n",
      { 0 }, "a statement of kind sync stands in a kernel outside thread loops" },
    { "a thread loop of the host",
      "gpu_thread t from 0 extent 2:\n"
      "  out[i64(t)] = t\n",
      { 0 }, "the thread loop `t` stands outside kernels" },
    { "a thread loop in a thread",
      "kernel k threads 4 1 1:\n"
      "  gpu_thread t from 0 extent 2:\n"
      "    let a = t + 1\n"
      "    gpu_thread u from 0 extent 2:\n"
      "      out[i64(2 * t + u)] = a\n",
      { 0 }, "the thread loop `u` stands in a thread" },
    { "a block loop in a block",
      "kernel k threads 4 1 1:\n"
      "  for i from 0 extent 2:\n"
      "    gpu_block b from 0 extent 2:\n"
      "      gpu_thread u from 0 extent 2:\n"
      "        out[i64(2 * b + u)] = u\n",
      { 0 }, "the block loop `b` stands in a kernel outside thread loops" },
    { "a parallel loop in a kernel",
      "kernel k threads 1 1 1:\n"
      "  gpu_thread t from 0 extent 1:\n"
      "    parallel i from 0 extent 2:\n"
      "      out[i64(i)] = i\n",
      { 0 }, "the parallel loop `i` stands in a thread" },
    { "a vector loop over threads",
      "kernel k threads 1 1 1:\n"
      "  vector i from 0 extent 2:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      out[i64(i)] = i\n",
      { 0 }, "the vectorized loop `i` stands in a kernel outside thread loops" },
    { "four thread loops",
      "kernel k threads 1 1 1:\n"
      "  gpu_thread a from 0 extent 1:\n"
      "    gpu_thread b from 0 extent 1:\n"
      "      gpu_thread c from 0 extent 1:\n"
      "        gpu_thread d from 0 extent 1:\n"
      "          out[i64(0)] = 1\n",
      { 0 }, "more than three" },
    { "four block loops",
      "kernel k threads 1 1 1:\n"
      "  gpu_block a from 0 extent 1:\n"
      "    gpu_block b from 0 extent 1:\n"
      "      gpu_block c from 0 extent 1:\n"
      "        gpu_block d from 0 extent 1:\n"
      "          gpu_thread t from 0 extent 1:\n"
      "            out[i64(0)] = 1\n",
      { 0 }, "more than three block loops" },
    { "a block loop that does not begin at 0",
      "kernel k threads 1 1 1:\n"
      "  gpu_block b from 1 extent 2:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      out[i64(b)] = b\n",
      { 0 }, "the block loop `b` does not begin at 0" },
    { "a grid that the host does not know",
      "kernel k threads 1 1 1:\n"
      "  gpu_block a from 0 extent 2:\n"
      "    gpu_block b from 0 extent a:\n"
      "      gpu_thread t from 0 extent 1:\n"
      "        out[i64(b)] = b\n",
      { 0 }, "uses `a`, which nothing binds" },
    { "an extent of threads that differs among threads",
      "kernel k threads 2 2 1:\n"
      "  gpu_thread y from 0 extent 2:\n"
      "    gpu_thread x from 0 extent y:\n"
      "      out[i64(2 * y + x)] = 1\n",
      { 0 }, "uses `y`, which nothing binds" },
    { "too many threads",
      "kernel k threads 64 32 1:\n"
      "  gpu_thread t from 0 extent 1:\n"
      "    out[i64(t)] = t\n",
      { 0 }, "blocks of 64 x 32 x 1 threads" },
    { "too many threads along z",
      "kernel k threads 1 1 65:\n"
      "  gpu_thread t from 0 extent 1:\n"
      "    out[i64(t)] = t\n",
      { 0 }, "64 along z" },
    { "lanes where x is no warp",
      "kernel k threads 16 1 1:\n"
      "  gpu_lane x from 0 extent 16:\n"
      "    out[i64(x)] = x\n",
      { 0 }, "the lane loop `x` is not along x" },
    { "lanes along y",
      "kernel k threads 32 4 1:\n"
      "  gpu_lane y from 0 extent 4:\n"
      "    gpu_thread x from 0 extent 4:\n"
      "      out[i64(4 * y + x)] = x\n",
      { 0 }, "the lane loop `y` is not along x" },
    { "more lanes than a warp has",
      "kernel k threads 32 1 1:\n"
      "  gpu_lane x from 0 extent 33:\n"
      "    out[i64(x % 16)] = 1\n",
      { 0 }, "the lane loop `x` may have more than 32" },
    { "shared memory of a size that is not constant",
      "kernel k threads 1 1 1:\n"
      "  alloc i32 s[i64(in.extent.0)]:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      s[i64(t)] = t\n",
      { 0 }, "not with a small constant number" },
    { "too much shared memory",
      "kernel k threads 1 1 1:\n"
      "  alloc i32 s[i64(58113)]:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      s[i64(t)] = t\n",
      { 0 }, "232452 bytes of shared memory" },
    { "shared memory in turns, written where another thread may still read",
      "kernel k threads 4 1 1:\n"
      "  alloc i32 s[i64(4)]:\n"
      "    alloc i32 v[i64(4)]:\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        s[i64(t)] = in[i64(t)]\n"
      "      barrier\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        out[i64(t)] = s[i64(3 - t)]\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        v[i64(t)] = t\n",
      { 0 }, "writes `v` where `s` has been, which another thread of the same block may be using" },
    { "shared memory in turns, read after another's turn",
      "kernel k threads 4 1 1:\n"
      "  alloc i32 s[i64(4)]:\n"
      "    alloc i32 v[i64(4)]:\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        s[i64(t)] = in[i64(t)]\n"
      "      barrier\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        v[i64(t)] = t\n"
      "      barrier\n"
      "      gpu_thread t from 0 extent 4:\n"
      "        out[i64(t)] = s[i64(t)]\n",
      { 0 }, "what comes from memory that was never written" },
    { "shared memory of the host", "alloc i32 s[i64(4)]:\n  s[i64(0)] = 1\n", { 0 },
      "in shared memory outside kernels" },
    { "shared memory in a thread",
      "kernel k threads 1 1 1:\n"
      "  gpu_thread t from 0 extent 1:\n"
      "    alloc i32 s[i64(1)]:\n"
      "      s[i64(t)] = t\n",
      { 0 }, "in shared memory in a thread" },
    { "the stack of a block",
      "kernel k threads 1 1 1:\n"
      "  alloc i32 t[i64(1)]:\n"
      "    gpu_thread t from 0 extent 1:\n"
      "      t[i64(t)] = t\n",
      { 0 }, "in stack memory in a kernel outside thread loops" },
    { "memory of the host in a kernel",
      "alloc i32 h[i64(4)]:\n"
      "  kernel k threads 4 1 1:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      h[i64(t)] = t\n",
      { 0 }, "memory of the host" },
    { "the host reads what a kernel wrote, without a sync",
      "alloc i32 g[i64(4)]:\n"
      "  kernel k threads 4 1 1:\n"
      "    gpu_thread t from 0 extent 4:\n"
      "      g[i64(t)] = t\n"
      "  out[i64(0)] = g[i64(0)]\n",
      { 0 }, "reads `g` on the host, and no sync says so" },
    { "a sync is over when a kernel writes again",
      "kernel k threads 4 1 1:\n"
      "  gpu_thread t from 0 extent 4:\n"
      "    out[i64(t)] = t\n"
      "sync out write\n"
      "out[i64(0)] = out[i64(1)]\n"
      "kernel l threads 4 1 1:\n"
      "  gpu_thread t from 0 extent 4:\n"
      "    out[i64(t)] = 3\n"
      "out[i64(0)] = out[i64(1)]\n",
      { 0 }, "reads `out` on the host, and no sync says so" },
    { "the host writes after a sync for reading",
      "kernel k threads 4 1 1:\n"
      "  gpu_thread t from 0 extent 4:\n"
      "    out[i64(t)] = t\n"
      "sync out\n"
      "out[i64(0)] = 1\n",
      { 0 }, "writes `out` on the host, and no sync says so" },
    { "an input that is on the device",
      "kernel k threads 4 1 1:\n"
      "  gpu_thread t from 0 extent 4:\n"
      "    out[i64(t)] = in[i64(t)]\n"
      "if in[i64(0)] == 0:\n"
      "  sync out\n",
      { 0 }, "reads `in` on the host, and no sync says so" },
    { "a sync of what is only the host's", "alloc i32 h[i64(4)]:\n  sync h\n", { 0 }, "which no kernel can touch" },
    { "a function of the host",
      "kernel k threads 1 1 1:\n"
      "  gpu_thread t from 0 extent 1:\n"
      "    out[i64(t)] = extern_i32 next(t)\n",
      { 0 }, "calls `next`, a function of the host" },
};
/* clang-format on */

static void run_case(const KernelCase *c, bool find)
{
    int32_t     in[N], out[N];
    kn_context *cx = kn_context_new(NULL);
    Arena       arena;
    ExprPool    pool;
    context_begin(cx);
    arena_init(&arena, cx);
    expr_pool_init(&pool, cx, &arena);
    for (int i = 0; i < N; i++) {
        in[i]  = 10 * i;
        out[i] = -1;
    }
    kn_buffer ports[] = { kn_buffer_dense(in, KN_I32, 1, (int32_t[]){ N }),
                          kn_buffer_dense(out, KN_I32, 1, (int32_t[]){ N }) };
    Program  *p       = program_read(&pool, arena_printf(&arena, "%s%s", HEAD, c->text));
    CHECK(p, "%s: %s", c->what, kn_error_text(cx));
    if (p && find)
        program_find_kernels(p);
    const kn_status status = p ? execute(p, (kn_buffer *const[]){ &ports[0], &ports[1] }, NULL, NULL) : KN_OK;
    if (c->mistake) {
        CHECK(status != KN_OK && strstr(kn_error_text(cx), c->mistake), "%s: “%s” is expected, not: %s", c->what,
              c->mistake, kn_error_text(cx));
    } else {
        CHECK(status == KN_OK, "%s: %s", c->what, kn_error_text(cx));
        for (int i = 0; i < N; i++)
            CHECK(out[i] == c->want[i], "%s: element %d is %d, not %d", c->what, i, out[i], c->want[i]);
    }
    arena_free(&arena);
    kn_context_free(cx);
}

int main(void)
{
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        run_case(&right[i], true);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        run_case(&wrong[i], true);
    run_case(&(KernelCase){ .what = "a kernel that was not found",
                            .text = "kernel k threads 1 1 1:\n  gpu_thread t from 0 extent 1:\n    out[i64(t)] = t\n",
                            .mistake = "is none that program_find_kernels has found" },
             false);
    return check_done();
}
