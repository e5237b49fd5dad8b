/* SPDX-License-Identifier: MIT */
/* The late passes of lowering: statements written by hand and what becomes of them, and random ones that must do the
 * same before and after, whatever the size. */
#include "interp/execute.h"
#include "lower/lower.h"
#include "check.h"
#include "ir/read.h"

static kn_context *cx;
static Arena       arena;
static ExprPool    pool;
static Plan        plan; /* of no functions */
static Program     program;
static Lower       lw;

static void add_buffer(const char *name, BufferKind kind, kn_type type)
{
    Buffer *b = ARENA_NEW(&arena, Buffer);
    *b        = (Buffer){ .name = intern(cx, name),
                          .id   = (int)program.buffers.count,
                          .kind = kind,
                          .type = type,
                          .rank = kind != BUFFER_SCRATCH };
    vec_push(&arena, &program.buffers, b);
    program.port_count += kind != BUFFER_SCRATCH;
}

/* A program with in, out: i32; or of another type, and scratch tmp: i32. */
static void begin(kn_type type)
{
    cx = kn_context_new(NULL);
    context_begin(cx);
    arena_init(&arena, cx);
    expr_pool_init(&pool, cx, &arena);
    program = (Program){ .cx = cx, .arena = &arena, .exprs = &pool, .name = "p" };
    lw = (Lower){ .cx = cx, .arena = &arena, .exprs = &pool, .plan = &plan, .program = &program, .vector_bits = 256 };
    add_buffer("in", BUFFER_INPUT, KN_I32);
    add_buffer("out", BUFFER_OUTPUT, type);
    add_buffer("tmp", BUFFER_SCRATCH, KN_I32);
}

static void end(void)
{
    arena_free(&arena);
    kn_context_free(cx);
}

typedef const Stmt *Pass(Lower *lw, const Stmt *s);

static const char *printed(const Stmt *s)
{
    Text t;
    text_init(&t, &arena);
    stmt_print(&t, s);
    return text_string(&t);
}

/* ---- By hand ------------------------------------------------------------------------------------ */

typedef struct Case {
    const char *name;
    kn_type     type; /* of out */
    Pass       *first, *second;
    const char *before, *after;
} Case;

static const Case cases[] = {
    { "simplify: values in place of names, loops of one iteration and of none, branches and checks decided", KN_I32,
      lower_simplify, NULL,
      "let a = 3\n"
      "let b = out.min.0\n"
      "let unused = out.extent.0 / 2\n"
      "let c = out.extent.0 / 7\n"
      "for x from b extent a - 2:\n"
      "  for y from 0 extent c - c:\n"
      "    out[i64(y)] = 1\n"
      "  if 0 <= x - b:\n"
      "    out[i64(x - b)] = c\n"
      "  else:\n"
      "    out[i64(x)] = 7\n"
      "if a < 2:\n"
      "  out[i64(0)] = 5\n"
      "check a == 3 else \"three\"\n",
      "let c = out.extent.0 / 7\n"
      "out[i64(0)] = c\n" },
    { "simplify: conditions inside conditions", KN_I32, lower_simplify, NULL,
      "for x from 0 extent out.extent.0:\n"
      "  if x < 10:\n"
      "    if x < 12:\n"
      "      out[i64(x)] = 1\n"
      "    if 11 < x:\n"
      "      out[i64(x)] = 2\n"
      "  else:\n"
      "    if x < 10:\n"
      "      out[i64(x)] = 3\n"
      "  if 5 < x:\n"
      "    for y from 0 extent x - x:\n"
      "      out[i64(x)] = 4\n"
      "  else:\n"
      "    out[i64(x)] = x\n",
      "for x from 0 extent out.extent.0:\n"
      "  if x <= 9:\n"
      "    out[i64(x)] = 1\n"
      "  if x <= 5:\n"
      "    out[i64(x)] = x\n" },
    { "simplify: branches that a loop has in common are one, around it", KN_I32, lower_simplify, NULL,
      "for x from 0 extent out.extent.0 / 2:\n"
      "  if 3 < out.min.0:\n"
      "    out[i64(2*x)] = 1\n"
      "  if 3 < out.min.0:\n"
      "    out[i64(2*x + 1)] = 2\n"
      "for x from 0 extent out.extent.0:\n"
      "  if out[i64(0)] < 2:\n"
      "    out[i64(x)] = 3\n"
      "  if out[i64(0)] < 2:\n"
      "    out[i64(x)] = 4\n",
      "if 4 <= out.min.0:\n"
      "  for x from 0 extent out.extent.0 / 2:\n"
      "    out[i64(x) * i64(2)] = 1\n"
      "    out[i64(x) * i64(2) + i64(1)] = 2\n"
      "for x from 0 extent out.extent.0:\n"
      "  if out[i64(0)] <= 1:\n"
      "    out[i64(x)] = 3\n"
      "  if out[i64(0)] <= 1:\n"
      "    out[i64(x)] = 4\n" },
    { "simplify: one name bound twice, used once", KN_I32, lower_simplify, NULL,
      "let t = out.min.0 + 1\n"
      "for x from 0 extent t:\n"
      "  let s = 2*x\n"
      "  out[i64(x)] = s\n"
      "for x from 0 extent 5:\n"
      "  let s = 3*x\n"
      "  out[i64(x)] = x\n",
      "let t = out.min.0 + 1\n"
      "for x from 0 extent t:\n"
      "  let s = x * 2\n"
      "  out[i64(x)] = s\n"
      "for x from 0 extent 5:\n"
      "  out[i64(x)] = x\n" },
    { "unroll: inner loops first, sums of the variable in place of their names; no constant, or too much: a loop",
      KN_I32, lower_unroll, NULL,
      "unroll u from out.min.0 extent 2:\n"
      "  let t = 2*u\n"
      "  unroll v from 0 extent 2:\n"
      "    out[i64(t)] = u + v\n"
      "unroll w from 0 extent out.extent.0:\n"
      "  out[i64(w)] = 0\n"
      "unroll w from 0 extent 30000:\n"
      "  out[i64(w)] = 1\n",
      "out[i64(2 * out.min.0)] = out.min.0 + 0\n"
      "out[i64(2 * out.min.0)] = out.min.0 + 1\n"
      "out[i64(2 * (out.min.0 + 1))] = out.min.0 + 1 + 0\n"
      "out[i64(2 * (out.min.0 + 1))] = out.min.0 + 1 + 1\n"
      "for w from 0 extent out.extent.0:\n"
      "  out[i64(w)] = 0\n"
      "for w from 0 extent 30000:\n"
      "  out[i64(w)] = 1\n" },
    { "vectorize: lanes with loops of their own: the hull of them, and a condition", KN_I32, lower_vectorize,
      lower_simplify,
      "vector l from 0 extent 8:\n"
      "  let x = out.min.0 + l\n"
      "  let n = 3\n"
      "  for r from x - 1 extent n:\n"
      "    out[i64(l)] = r\n"
      "  for r from 0 extent x / 2 + 2*l:\n"
      "    out[i64(l)] = r\n",
      "vector l from 0 extent 8:\n"
      "  let x = l + out.min.0\n"
      "  for r from out.min.0 - 1 extent 10:\n"
      "    if x <= r + 1 && r <= x + 1:\n"
      "      out[i64(l)] = r\n"
      "  for r from 0 extent (out.min.0 + 1) / 2 + 17:\n"
      "    if r < l * 2 + x / 2:\n"
      "      out[i64(l)] = r\n" },
    { "vectorize: bounds from memory: one lane after the other", KN_I32, lower_vectorize, lower_simplify,
      "vector l from 0 extent 8:\n"
      "  for r from 0 extent in[i64(l)]:\n"
      "    out[i64(l)] = r\n",
      "for l from 0 extent 8:\n"
      "  for r from 0 extent in[i64(l)]:\n"
      "    out[i64(l)] = r\n" },
    { "vectorize: scratch of each lane, side by side", KN_I32, lower_vectorize, lower_simplify,
      "vector l from 2 extent 4:\n"
      "  let n = out.extent.0\n"
      "  alloc i32 tmp[i64(n + 1)]:\n"
      "    tmp[i64(0)] = in[i64(l)]\n"
      "    for r from 0 extent n:\n"
      "      tmp[i64(r)] = tmp[i64(0)] + r\n"
      "    out[i64(l)] = tmp[i64(l)]\n",
      "alloc i32 tmp[i64(out.extent.0) * i64(4) + i64(4)]:\n"
      "  vector l from 2 extent 4:\n"
      "    tmp[i64(l) - i64(2)] = in[i64(l)]\n"
      "    for r from 0 extent out.extent.0:\n"
      "      tmp[i64(l) + i64(r) * i64(4) - i64(2)] = r + tmp[i64(l) - i64(2)]\n"
      "    out[i64(l)] = tmp[i64(l) * i64(5) - i64(2)]\n" },
    { "vectorize: vectors of vectors, a single lane, checks, and parallel loops", KN_I32, lower_vectorize,
      lower_simplify,
      "vector a from 0 extent 2:\n"
      "  vector b from 0 extent 4:\n"
      "    out[i64(4*a + b)] = a\n"
      "vector c from 0 extent 1:\n"
      "  out[i64(c)] = 1\n"
      "vector d from 0 extent 4:\n"
      "  check d < out.extent.0 else \"small\"\n"
      "  out[i64(d)] = 2\n"
      "vector e from 0 extent 4:\n"
      "  parallel p from 0 extent out.extent.0:\n"
      "    out[i64(4*p + e)] = 2\n",
      "vector b from 0 extent 4:\n"
      "  out[i64(b)] = 0\n"
      "vector b from 0 extent 4:\n"
      "  out[i64(b) + i64(4)] = 1\n"
      "out[i64(0)] = 1\n"
      "for d from 0 extent 4:\n"
      "  check d < out.extent.0 else \"small\"\n"
      "  out[i64(d)] = 2\n"
      "vector e from 0 extent 4:\n"
      "  for p from 0 extent out.extent.0:\n"
      "    out[i64(e) + i64(p) * i64(4)] = 2\n" },
    { "partition: a scalar loop: its first element, and where the input ends", KN_I32, lower_partition, lower_simplify,
      "for x from out.min.0 extent out.extent.0:\n"
      "  out[i64(x - out.min.0)] = if x == out.min.0 then 0 else if x < in.extent.0 then in[i64(x)] else 3\n",
      "let x.part.end = out.extent.0 + out.min.0\n"
      "let x.part.steady = min(max(out.min.0, x.part.end), out.min.0 + 1)\n"
      "let x.part.edge = max(x.part.steady, min(in.extent.0, x.part.end))\n"
      "if out.min.0 < x.part.steady:\n"
      "  out[i64(0)] = 0\n"
      "for x from x.part.steady extent x.part.edge - x.part.steady:\n"
      "  out[i64(x) - i64(out.min.0)] = in[i64(x)]\n"
      "for x from x.part.edge extent x.part.end - x.part.edge:\n"
      "  out[i64(x) - i64(out.min.0)] = if out.min.0 == x then 0 else if x < in.extent.0 then in[i64(x)] else 3\n" },
    { "partition: the taps of a filter: the loop over vectors is partitioned, not the one over taps", KN_I32,
      lower_partition, lower_simplify,
      "for xo from 0 extent out.extent.0 / 8:\n"
      "  for r from 0 extent 20:\n"
      "    vector l from 0 extent 8:\n"
      "      let x = 8*xo + l\n"
      "      out[i64(x)] = out[i64(x)] + in[i64(min(max(x + r - 10, 0), in.extent.0 - 1))]\n",
      "let xo.part.end = out.extent.0 / 8\n"
      "let xo.part.steady = min(max(xo.part.end, 0), 2)\n"
      "let xo.part.edge = max(xo.part.steady, min(xo.part.end, (in.extent.0 + 7) / 8 - 2))\n"
      "for xo from 0 extent xo.part.steady:\n"
      "  for r from 0 extent 20:\n"
      "    vector l from 0 extent 8:\n"
      "      let x = l + xo * 8\n"
      "      out[i64(x)] = out[i64(x)] + in[i64(min(max(r + x - 10, 0), in.extent.0 - 1))]\n"
      "for xo from xo.part.steady extent xo.part.edge - xo.part.steady:\n"
      "  for r from 0 extent 20:\n"
      "    vector l from 0 extent 8:\n"
      "      let x = l + xo * 8\n"
      "      out[i64(x)] = out[i64(x)] + in[i64(r) + i64(x) - i64(10)]\n"
      "for xo from xo.part.edge extent xo.part.end - xo.part.edge:\n"
      "  for r from 0 extent 20:\n"
      "    vector l from 0 extent 8:\n"
      "      let x = l + xo * 8\n"
      "      out[i64(x)] = out[i64(x)] + in[i64(min(max(r + x - 10, 0), in.extent.0 - 1))]\n" },
    { "partition: the short end of a split, and a periodic input", KN_I32, lower_partition, lower_simplify,
      "for xo from 0 extent (out.extent.0 + 7) / 8:\n"
      "  for xi from 0 extent min(8, out.extent.0 - 8*xo):\n"
      "    out[i64(8*xo + xi)] = in[i64((8*xo + xi - in.min.0) % in.extent.0)]\n",
      "let xo.part.end = (out.extent.0 + 7) / 8\n"
      "let xo.part.edge = if min(xo.part.end, (in.min.0 + 7) / 8) <= 0 then max(min(out.extent.0 / 8, (in.extent.0 + "
      "in.min.0) / 8), 0) else 0\n"
      "for xo from 0 extent xo.part.edge:\n"
      "  for xi from 0 extent 8:\n"
      "    out[i64(xi) + i64(xo) * i64(8)] = in[i64(xi) + i64(xo) * i64(8) - i64(in.min.0)]\n"
      "for xo from xo.part.edge extent xo.part.end - xo.part.edge:\n"
      "  for xi from 0 extent min(out.extent.0 - xo * 8, 8):\n"
      "    out[i64(xi) + i64(xo) * i64(8)] = in[i64((xi + xo * 8 - in.min.0) % in.extent.0)]\n" },
    { "partition: conditions of an outer loop, and a modulo that wraps often, are left", KN_I32, lower_partition,
      lower_simplify,
      "for y from 0 extent 100:\n"
      "  for xo from 0 extent out.extent.0 / 8:\n"
      "    vector l from 0 extent 8:\n"
      "      let x = 8*xo + l\n"
      "      out[i64(x)] = in[i64(min(y + 3, in.extent.0 - 1))] + in[i64(x / 3 % 5)]\n",
      "for y from 0 extent 100:\n"
      "  for xo from 0 extent out.extent.0 / 8:\n"
      "    vector l from 0 extent 8:\n"
      "      let x = l + xo * 8\n"
      "      out[i64(x)] = in[i64(x / 3 % 5)] + in[i64(min(y + 3, in.extent.0 - 1))]\n" },
    { "partition: quotients and lets", KN_I32, lower_partition, lower_simplify,
      "for xo from 0 extent out.extent.0 / 8:\n"
      "  vector l from 0 extent 8:\n"
      "    let x = 8*xo + l\n"
      "    let a = (x + 1) / 2\n"
      "    let b = min(a, in.extent.0 - 1)\n"
      "    out[i64(x)] = in[i64(max(b, 0))]\n",
      "let xo.part.end = out.extent.0 / 8\n"
      "let xo.part.edge = max(min(xo.part.end, (in.extent.0 + 3) / 4 - 1), 0)\n"
      "for xo from 0 extent xo.part.edge:\n"
      "  vector l from 0 extent 8:\n"
      "    let x = l + xo * 8\n"
      "    let a = xo * 4 + (l + 1) / 2\n"
      "    out[i64(x)] = in[i64(a)]\n"
      "for xo from xo.part.edge extent xo.part.end - xo.part.edge:\n"
      "  vector l from 0 extent 8:\n"
      "    let x = l + xo * 8\n"
      "    let a = xo * 4 + (l + 1) / 2\n"
      "    let b = min(a, in.extent.0 - 1)\n"
      "    out[i64(x)] = in[i64(max(b, 0))]\n" },
    { "partition: the shifted tail of a loop is no clamp in the others", KN_I32, lower_partition, lower_simplify,
      "if 8 <= out.extent.0:\n"
      "  for xo from 0 extent (out.extent.0 + 7) / 8:\n"
      "    vector l from 0 extent 8:\n"
      "      let x = min(8*xo, out.extent.0 - 8) + l\n"
      "      out[i64(x)] = in[i64(x)]\n",
      "if 8 <= out.extent.0:\n"
      "  let xo.part.end = (out.extent.0 + 7) / 8\n"
      "  let xo.part.edge = out.extent.0 / 8\n"
      "  for xo from 0 extent xo.part.edge:\n"
      "    vector l from 0 extent 8:\n"
      "      let x = l + xo * 8\n"
      "      out[i64(x)] = in[i64(x)]\n"
      "  if xo.part.edge < xo.part.end:\n"
      "    vector l from 0 extent 8:\n"
      "      let x = l + out.extent.0 - 8\n"
      "      out[i64(x)] = in[i64(x)]\n" },
    { "partition: the shifted tail of a loop around others, and what small images come to, are no copies", KN_I32,
      lower_partition, lower_simplify,
      "if 8 <= out.extent.0:\n"
      "  for xo from 0 extent (out.extent.0 + 7) / 8:\n"
      "    let x0 = min(8*xo, out.extent.0 - 8)\n"
      "    for k from 0 extent in.extent.0:\n"
      "      vector l from 0 extent 8:\n"
      "        out[i64(x0 + l)] = in[i64(k)]\n"
      "else:\n"
      "  for x from 0 extent out.extent.0:\n"
      "    unroll c from 0 extent 4:\n"
      "      out[i64(x)] = in[i64(max(x - 1, 0) + c)]\n",
      "if 8 <= out.extent.0:\n"
      "  for xo from 0 extent (out.extent.0 + 7) / 8:\n"
      "    let x0 = min(out.extent.0 - 8, xo * 8)\n"
      "    for k from 0 extent in.extent.0:\n"
      "      vector l from 0 extent 8:\n"
      "        out[i64(l) + i64(x0)] = in[i64(k)]\n"
      "else:\n"
      "  for x from 0 extent out.extent.0:\n"
      "    for c from 0 extent 4:\n"
      "      out[i64(x)] = in[i64(c) + i64(max(x - 1, 0))]\n" },
    { "unswitch: what a row has in common is asked before its loop", KN_I32, lower_unswitch, lower_simplify,
      "for y from 0 extent 100:\n"
      "  for xo from 0 extent out.extent.0 / 8:\n"
      "    vector l from 0 extent 8:\n"
      "      let x = 8*xo + l\n"
      "      out[i64(x)] = if y % 2 == 0 then in[i64(x)] else in[i64(x + 1)] + (if y % 3 == 0 then 1 else 2)\n",
      "for y from 0 extent 100:\n"
      "  if y % 2 == 0:\n"
      "    for xo from 0 extent out.extent.0 / 8:\n"
      "      vector l from 0 extent 8:\n"
      "        let x = l + xo * 8\n"
      "        out[i64(x)] = in[i64(x)]\n"
      "  else:\n"
      "    for xo from 0 extent out.extent.0 / 8:\n"
      "      vector l from 0 extent 8:\n"
      "        let x = l + xo * 8\n"
      "        out[i64(x)] = in[i64(x) + i64(1)] + (if y % 3 == 0 then 1 else 2)\n" },
    { "inside: places made of data are inside, outside or neither, for all copies", KN_I32, lower_inside,
      lower_simplify,
      "vector l from 0 extent 8:\n"
      "  let a = min(out.extent.0, 3)\n"
      "  out[i64(l + a)] = in[i64(min(max(in[i64(l)] + 1, 0), in.extent.0 - 1))]\n"
      "  let b = min(out.extent.0, 3) + 1\n"
      "  out[i64(l + b)] = if in.min.0 <= in[i64(l)] && in[i64(l)] < in.min.0 + in.extent.0 then "
      "in[i64(min(max(in[i64(l)], 0), in.extent.0 - 1))] else 5\n",
      "vector l from 0 extent 8:\n"
      "  if max(in.min.0, 0) <= in[i64(l)] && in[i64(l)] <= in.extent.0 + min(in.min.0 - 1, -2) whole:\n"
      "    out[i64(l) + i64(min(out.extent.0, 3))] = in[i64(in[i64(l)]) + i64(1)]\n"
      "    out[i64(l) + i64(min(out.extent.0, 3)) + i64(1)] = in[i64(in[i64(l)])]\n"
      "  else:\n"
      "    if !(in.min.0 <= in[i64(l)] && in[i64(l)] < in.extent.0 + in.min.0) whole:\n"
      "      out[i64(l) + i64(min(out.extent.0, 3))] = in[i64(min(max(in[i64(l)] + 1, 0), in.extent.0 - 1))]\n"
      "      out[i64(l) + i64(min(out.extent.0, 3)) + i64(1)] = 5\n"
      "    else:\n"
      "      out[i64(l) + i64(min(out.extent.0, 3))] = in[i64(min(max(in[i64(l)] + 1, 0), in.extent.0 - 1))]\n"
      "      out[i64(l) + i64(min(out.extent.0, 3)) + i64(1)] = if in.min.0 <= in[i64(l)] && in[i64(l)] < in.extent.0 "
      "+ in.min.0 then in[i64(min(max(in[i64(l)], 0), in.extent.0 - 1))] else 5\n" },
    { "partition: a guard, wide elements: a masked vector at the end", KN_I32, lower_partition, lower_simplify,
      "let out.x.max = out.min.0 + out.extent.0 - 1\n"
      "for out.xo from 0 extent (out.extent.0 + 15) / 16:\n"
      "  vector out.l from 0 extent 16:\n"
      "    let out.x = out.min.0 + out.xo*16 + out.l\n"
      "    if out.x <= out.x.max:\n"
      "      out[i64(out.x - out.min.0)] = in[i64(min(max(out.x - 1, in.min.0), in.min.0 + in.extent.0 - 1) - "
      "in.min.0)]\n",
      "let out.x.max = out.extent.0 + out.min.0 - 1\n"
      "let out.xo.part.end = (out.extent.0 + 15) / 16\n"
      "let out.xo.part.guard = max((out.x.max - out.min.0 + 1) / 16, 0)\n"
      "let out.xo.part.steady = min(out.xo.part.guard, max(min(out.xo.part.end, (in.min.0 - out.min.0) / 16 + 1), 0))\n"
      "let out.xo.part.edge = max(out.xo.part.steady, min(out.xo.part.guard, max(min(out.xo.part.end, (in.extent.0 + "
      "in.min.0 - out.min.0 + 1) / 16), 0)))\n"
      "for out.xo from 0 extent out.xo.part.steady:\n"
      "  vector out.l from 0 extent 16:\n"
      "    let out.x = out.l + out.min.0 + out.xo * 16\n"
      "    out[i64(out.x) - i64(out.min.0)] = in[i64(min(max(out.x - in.min.0 - 1, 0), in.extent.0 - 1))]\n"
      "for out.xo from out.xo.part.steady extent out.xo.part.edge - out.xo.part.steady:\n"
      "  vector out.l from 0 extent 16:\n"
      "    let out.x = out.l + out.min.0 + out.xo * 16\n"
      "    out[i64(out.x) - i64(out.min.0)] = in[i64(out.x) - i64(in.min.0) - i64(1)]\n"
      "for out.xo from out.xo.part.edge extent out.xo.part.end - out.xo.part.edge:\n"
      "  vector out.l from 0 extent 16:\n"
      "    let out.x = out.l + out.min.0 + out.xo * 16\n"
      "    if out.x <= out.x.max:\n"
      "      out[i64(out.x) - i64(out.min.0)] = in[i64(min(max(out.x - in.min.0 - 1, 0), in.extent.0 - 1))]\n" },
    { "partition: a guard, small elements: lanes one after the other at the end", KN_U8, lower_partition,
      lower_simplify,
      "let out.x.max = out.min.0 + out.extent.0 - 1\n"
      "for out.xo from 0 extent (out.extent.0 + 15) / 16:\n"
      "  vector out.l from 0 extent 16:\n"
      "    let out.x = out.min.0 + out.xo*16 + out.l\n"
      "    if out.x <= out.x.max:\n"
      "      out[i64(out.x - out.min.0)] = u8(in[i64(min(max(out.x - 1, in.min.0), in.min.0 + in.extent.0 - 1) - "
      "in.min.0)])\n",
      "let out.x.max = out.extent.0 + out.min.0 - 1\n"
      "let out.xo.part.end = (out.extent.0 + 15) / 16\n"
      "let out.xo.part.guard = max((out.x.max - out.min.0 + 1) / 16, 0)\n"
      "let out.xo.part.steady = min(out.xo.part.guard, max(min(out.xo.part.end, (in.min.0 - out.min.0) / 16 + 1), 0))\n"
      "let out.xo.part.edge = max(out.xo.part.steady, min(out.xo.part.guard, max(min(out.xo.part.end, (in.extent.0 + "
      "in.min.0 - out.min.0 + 1) / 16), 0)))\n"
      "for out.xo from 0 extent out.xo.part.steady:\n"
      "  vector out.l from 0 extent 16:\n"
      "    let out.x = out.l + out.min.0 + out.xo * 16\n"
      "    out[i64(out.x) - i64(out.min.0)] = u8(in[i64(min(max(out.x - in.min.0 - 1, 0), in.extent.0 - 1))])\n"
      "for out.xo from out.xo.part.steady extent out.xo.part.edge - out.xo.part.steady:\n"
      "  vector out.l from 0 extent 16:\n"
      "    let out.x = out.l + out.min.0 + out.xo * 16\n"
      "    out[i64(out.x) - i64(out.min.0)] = u8(in[i64(out.x) - i64(in.min.0) - i64(1)])\n"
      "for out.xo from out.xo.part.edge extent out.xo.part.guard - out.xo.part.edge:\n"
      "  vector out.l from 0 extent 16:\n"
      "    let out.x = out.l + out.min.0 + out.xo * 16\n"
      "    out[i64(out.x) - i64(out.min.0)] = u8(in[i64(min(max(out.x - in.min.0 - 1, 0), in.extent.0 - 1))])\n"
      "if out.xo.part.guard < out.xo.part.end:\n"
      "  for out.l from 0 extent 16:\n"
      "    let out.x = out.l + out.min.0 + out.xo.part.guard * 16\n"
      "    if out.x <= out.x.max:\n"
      "      out[i64(out.x) - i64(out.min.0)] = u8(in[i64(min(max(out.x - in.min.0 - 1, 0), in.extent.0 - 1))])\n" },
};

static void test_cases(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        begin(c->type);
        const Stmt *s = c->first(&lw, stmt_read(&program, c->before));
        if (c->second)
            s = c->second(&lw, s);
        CHECK(!strcmp(printed(s), c->after), "%s: of\n%sexpected\n%sgot\n%s", c->name, c->before, c->after, printed(s));
        end();
    }
}

/* ---- Random statements ------------------------------------------------------------------------ */

static uint64_t state = 88172645463325252u;

static int below(int n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)(state % (uint64_t)n);
}

typedef struct Writer {
    Text        text;
    const char *x, *r; /* the coordinate, and an inner loop's variable or NULL */
    int         lets;
} Writer;

static void write_index(Writer *w, int depth);
static void write_condition(Writer *w, int depth);

static void write(Writer *w, const char *s)
{
    text_add(&w->text, s);
}

/* Something that the loops do not move. */
static void write_fixed(Writer *w)
{
    static const char *const fixed[] = {
        "in.min.0", "in.last", "(in.last - 2)", "(out.min.0 + 1)", "(out.min.0 + out.extent.0)", "(out.extent.0 / 2)",
        "3",        "20"
    };
    write(w, fixed[below(8)]);
}

/* An index that may be anywhere. */
static void write_index(Writer *w, int depth)
{
    if (depth <= 0) {
        static const char *const forms[] = { "(%s + %d)",           "(%s - %d)",
                                             "(2*%s + %d)",         "(%s / 2 + %d)",
                                             "((%s + 1) / 3 - %d)", "(%d - %s)",
                                             "(4*(%s %% 2) + %d)",  "(%s * 300000000 + %d)" };
        const int                form = below(8), k = below(6);
        if (w->r && below(2))
            text_printf(&w->text, "(%s + %s - 1)", w->x, w->r);
        else if (form == 5)
            text_printf(&w->text, "(%d - %s)", 30 + k, w->x);
        else
            text_printf(&w->text, forms[form], w->x, k);
        return;
    }
    switch (below(7)) {
    case 0: write(w, "min("), write_index(w, depth - 1), write(w, ", "), write_fixed(w), write(w, ")"); break;
    case 1: write(w, "max("), write_fixed(w), write(w, ", "), write_index(w, depth - 1), write(w, ")"); break;
    case 2:
        write(w, "(if "), write_condition(w, 0), write(w, " then "), write_index(w, depth - 1), write(w, " else "),
            write_fixed(w), write(w, ")");
        break;
    case 3: write(w, "(("), write_index(w, depth - 1), write(w, " - in.min.0) % in.extent.0 + in.min.0)"); break;
    case 4: write(w, "abs("), write_index(w, depth - 1), write(w, " - "), write_fixed(w), write(w, ")"); break;
    case 5:
        write(w, "("), write_index(w, depth - 1), write(w, " % "), write(w, below(2) ? "4" : "(2*in.extent.0)"),
            write(w, ")");
        break;
    default: write(w, "min(max("), write_index(w, depth - 1), write(w, ", in.min.0), in.last)"); break;
    }
}

static void write_condition(Writer *w, int depth)
{
    if (depth > 0) {
        write(w, below(4) ? "(" : "!("), write_condition(w, depth - 1), write(w, below(2) ? " && " : " || "),
            write_condition(w, depth - 1), write(w, ")");
        return;
    }
    static const char *const compare[] = { " < ", " <= ", " == ", " != " };
    const bool               swap      = below(2);
    swap ? write_fixed(w) : write_index(w, below(2));
    write(w, compare[below(4)]);
    swap ? write_index(w, below(2)) : write_fixed(w);
}

/* A value: reads of `in`, where they are allowed. */
static void write_read_at_data(Writer *w);

static void write_value(Writer *w, int depth)
{
    if (depth > 0 && below(2)) {
        write(w, "("), write_value(w, depth - 1), write(w, below(2) ? " + " : " - 2*"), write_value(w, depth - 1),
            write(w, ")");
    } else if (depth > 0 && below(2)) {
        write(w, "(if "), write_condition(w, below(2)), write(w, " then "), write_value(w, depth - 1),
            write(w, " else "), write_value(w, depth - 1), write(w, ")");
    } else if (below(4) == 0) {
        write_read_at_data(w);
    } else if (below(4)) {
        write(w, "in[i64(min(max("), write_index(w, below(3)), write(w, ", in.min.0), in.last) - in.min.0)]");
    } else {
        write_index(w, below(3));
    }
}

/* The elements at places made of data and beside them: with clamps, and with guards. */
static void write_read_at_data(Writer *w)
{
    Text place;
    text_init(&place, &arena);
    const Text before = w->text;
    w->text           = place;
    write(w, "(in[i64(min(max("), write_index(w, below(2)), write(w, ", in.min.0), in.last) - in.min.0)]");
    text_printf(&w->text, " * %d - %d)", 1 + below(3), below(12));
    const char *at = text_string(&w->text);
    w->text        = before;
    for (int i = 0, count = 1 + below(3); i < count; i++) {
        if (below(2))
            text_printf(&w->text, "(if in.min.0 <= %s + %d && %s + %d <= in.last then ", at, i, at, i);
        else
            text_printf(&w->text, "(if %s + %d < in.min.0 then ", at, i);
        text_printf(&w->text, "in[i64(min(max(%s + %d, in.min.0), in.last) - in.min.0)] else 7)", at, i);
        write(w, i + 1 < count ? " - " : "");
    }
}

static void write_line(Writer *w, int indent, const char *s)
{
    for (int i = 0; i < indent; i++)
        write(w, "  ");
    write(w, s);
}

static void write_store(Writer *w, int indent, bool small, const char *before)
{
    write_line(w, indent, "");
    text_printf(&w->text, "out[i64(%s - out.min.0)] = %s(%s", w->x, small ? "u8" : "i32", before);
    write_value(w, 2);
    write(w, ")\n");
}

/* What is done at x: one of a few shapes of code. */
static void write_body(Writer *w, int indent, bool small)
{
    switch (below(6)) {
    case 0: /* a filter */
        write_store(w, indent, small, "");
        write_line(w, indent, below(2) ? "for r from 0 extent 3:\n" : "unroll r from -1 extent 4:\n");
        w->r = "r";
        write_store(w, indent + 1, small, small ? "i32(out[i64(x - out.min.0)]) + " : "out[i64(x - out.min.0)] + ");
        w->r = NULL;
        break;
    case 1: /* a loop whose bounds are those of a lane */
        write_store(w, indent, small, "");
        write_line(w, indent,
                   below(2)   ? "for r from x - 1 extent x % 3:\n"
                   : below(2) ? "parallel r from 2 extent min(1, x / 4):\n"
                              : "for r from in[i64(0)] % 4 extent (x + in[i64(0)]) % 4:\n");
        w->r = "r";
        if (!small)
            write_store(w, indent + 1, small, "3 * out[i64(x - out.min.0)] + ");
        else
            write_store(w, indent + 1, small, "3 * i32(out[i64(x - out.min.0)]) + ");
        w->r = NULL;
        break;
    case 2: /* scratch of its own */
        write_line(w, indent, below(2) ? "alloc i32 tmp[i64(3)]:\n" : "alloc i32 tmp[i64(in.extent.0 + 2)]:\n");
        for (int i = 0; i < 2; i++) {
            write_line(w, indent + 1, "");
            text_printf(&w->text, "tmp[i64(%d)] = ", i);
            write_value(w, 1);
            write(w, "\n");
        }
        write_line(w, indent + 1, "for k from 0 extent tmp[i64(0)] % 4:\n");
        write_line(w, indent + 2, "tmp[i64(1)] = 5 * tmp[i64(1)] + k\n");
        write_store(w, indent + 1, small, "tmp[i64(k0)] + tmp[i64(1)] - ");
        break;
    case 3: /* a branch */
        write_line(w, indent, "if ");
        write_condition(w, below(2));
        write(w, ":\n");
        write_store(w, indent + 1, small, "");
        write_line(w, indent, "else:\n");
        write_store(w, indent + 1, small, "");
        break;
    case 4: /* lets */
        for (int i = 0; i < 2; i++) {
            write_line(w, indent, "");
            text_printf(&w->text, "let t%d = ", i);
            write_index(w, 2);
            write(w, "\n");
            w->x = i ? "t1" : "t0";
        }
        {
            Text value;
            text_init(&value, &arena);
            Writer v = { .text = value, .x = below(2) ? "t0" : "t1" };
            write_value(&v, 2);
            w->x = "x";
            write_line(w, indent, "");
            text_printf(&w->text, "out[i64(x - out.min.0)] = %s(%s)\n", small ? "u8" : "i32", text_string(&v.text));
        }
        break;
    default: write_store(w, indent, small, ""); break;
    }
}

/* A statement that computes every element of out, with the loops of some schedule. */
static const char *random_statement(bool small)
{
    Writer w = { .x = "x" };
    text_init(&w.text, &arena);
    const int lanes = (int[]){ 1, 2, 4, 5, 8 }[below(5)];
    text_printf(&w.text,
                "let in.last = in.min.0 + in.extent.0 - 1\nlet out.last = out.min.0 + out.extent.0 - 1\nlet k0 = 0\n");
    switch (below(5)) {
    case 0: /* split, a guard */
        text_printf(&w.text,
                    "for xo from 0 extent (out.extent.0 + %d) / %d:\n  vector l from 0 extent %d:\n    let x = "
                    "out.min.0 + xo*%d + l\n    if x <= out.last:\n",
                    lanes - 1, lanes, lanes, lanes);
        write_body(&w, 3, small);
        break;
    case 1: /* split, shifted inwards */
        text_printf(&w.text,
                    "if %d <= out.extent.0:\n  for xo from 0 extent (out.extent.0 + %d) / %d:\n    let base = "
                    "min(xo*%d, out.extent.0 - %d)\n    vector l from 0 extent %d:\n"
                    "      let x = out.min.0 + base + l\n",
                    lanes, lanes - 1, lanes, lanes, lanes, lanes);
        write_body(&w, 3, small);
        write(&w, "else:\n  for x from out.min.0 extent out.extent.0:\n");
        write_body(&w, 2, small);
        break;
    case 2: /* split, a shorter end */
        text_printf(&w.text,
                    "for xo from 0 extent (out.extent.0 + %d) / %d:\n  for xi from 0 extent min(%d, out.extent.0 - "
                    "xo*%d):\n    let x = out.min.0 + xo*%d + xi\n",
                    lanes - 1, lanes, lanes, lanes, lanes);
        write_body(&w, 2, small);
        break;
    case 3: /* tiles of vectors, with an unrolled pair in them */
        text_printf(&w.text,
                    "%s t from 0 extent (out.extent.0 + 19) / 20:\n  let t.end = min(20, out.extent.0 - t*20)\n  for "
                    "xo from 0 extent (t.end + %d) / %d:\n    unroll u from 0 extent 2:\n"
                    "      vector l from 0 extent %d:\n        let xt = xo*%d + u*%d + l\n        if xt < t.end:\n     "
                    "     let x = xt + out.min.0 + t*20\n",
                    below(2) ? "for" : "parallel", 2 * lanes - 1, 2 * lanes, lanes, 2 * lanes, lanes);
        write_body(&w, 5, small);
        break;
    default:
        write(&w, "for x from out.min.0 extent out.extent.0:\n");
        write_body(&w, 1, small);
        break;
    }
    return text_string(&w.text);
}

/* The statement with all loops serial: what it means. */
static const char *serial_text(const char *text)
{
    Text t;
    text_init(&t, &arena);
    while (*text) {
        for (int k = 1; k < 4; k++) {
            const size_t n = strlen(loop_table[k].keyword);
            if (!strncmp(text, loop_table[k].keyword, n) && text[n] == ' ') {
                text_add(&t, "for");
                text += n;
            }
        }
        text_add_n(&t, text++, 1);
    }
    return text_string(&t);
}

enum { MOST = 41 };

static kn_status run(const Stmt *body, int in_extent, int in_min, int out_extent, int out_min, bool small,
                     int32_t *result)
{
    int32_t   data[MOST];
    kn_buffer in   = kn_buffer_dense(data, KN_I32, 1, (int32_t[]){ in_extent });
    kn_buffer out  = kn_buffer_dense(result, small ? KN_U8 : KN_I32, 1, (int32_t[]){ out_extent });
    in.dim[0].min  = in_min;
    out.dim[0].min = out_min;
    for (int i = 0; i < in_extent; i++)
        data[i] = i * 37 % 101;
    memset(result, 0x55, MOST * sizeof *result);
    program.body = body;
    context_begin(cx);
    return execute(&program, (kn_buffer *const[]){ &in, &out }, NULL, NULL);
}

static bool same_results(const char *text, const Stmt *before, const Stmt *after, bool small)
{
    for (int n = 0; n < MOST; n += 1 + below(3)) {
        int32_t   want[MOST], got[MOST];
        const int in_extent = 1 + below(MOST - 1), in_min = below(11) - 5, out_min = below(11) - 5;
        if (run(before, in_extent, in_min, n, out_min, small, want) != KN_OK) {
            printf("cannot run:\n%s\n%s\n", text, kn_error_text(cx));
            return false;
        }
        const kn_status status = run(after, in_extent, in_min, n, out_min, small, got);
        if (status != KN_OK || memcmp(want, got, sizeof got)) {
            printf("in %d from %d, out %d from %d: %s\nbefore\n%safter\n%s", in_extent, in_min, n, out_min,
                   status != KN_OK ? kn_error_text(cx) : "other values", text, printed(after));
            return false;
        }
    }
    return true;
}

static void test_random(int count)
{
    static Pass *const passes[] = { lower_simplify, lower_unswitch,  lower_partition, lower_simplify,
                                    lower_unroll,   lower_vectorize, lower_simplify,  lower_inside };
    for (int i = 0; i < count && checks_failed < 5; i++) {
        const bool small = below(2);
        begin(small ? KN_U8 : KN_I32);
        const char *text  = random_statement(small);
        const Stmt *after = stmt_read(&program, text), *before = stmt_read(&program, serial_text(text));
        const int   which = below(256) | (i % 2 ? 255 : 0);
        for (int k = 0; k < 8; k++)
            if (which >> k & 1 || k == 5)
                after = passes[k](&lw, after);
        CHECK(same_results(text, before, after, small), "random statement %d, passes %d", i, which);
        end();
    }
}

int main(int argc, char **argv)
{
    test_cases();
    test_random(argc > 1 ? atoi(argv[1]) : 300);
    return check_done();
}
