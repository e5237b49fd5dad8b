/* SPDX-License-Identifier: MIT */
/* Pipelines as text and what they mean, number by number: every row is a program, the size of its output `out` (i32,
 * from 0 on) and the values it must have, x fastest. The input `in`, where there is one, is i32(x, y), 4 by 3, with
 * in(x, y) = 10*y + x. */
#include "kiln.h"
#include "check.h"

#include <string.h>

enum { MOST = 64 };

typedef struct Program {
    const char *name, *text;
    int32_t     width, height; /* height 0: out has rank 1; width 0: rank 0 */
    int32_t     want[MOST];
} Program;

#define INPUT "input in : i32(x, y)\noutput out\n"
#define ALONE "output out\n"

/* clang-format off */
static const Program programs[] = {
    { "a stencil", INPUT "out(x, y) = in(x, y) + in(x+1, y) + in(x, y+1)", 3, 2, { 11, 14, 17, 41, 44, 47 } },
    { "a time loop on an unbounded plane",
      INPUT "a(x, y, t) = edge(in)(x, y)\n"
            "a(x, y, t) = a(x-1, y, t-1) + a(x+1, y, t-1) for t in 1..3\n"
            "out(x, y) = a(x, y, 2)",
      4, 1, { 2, 5, 7, 10 } },
    { "a scan along x", INPUT "s(x, y) = in(x, y)  s(k, y) = s(k-1, y) + s(k, y) for k in 1..4  out(x, y) = s(x, y)",
      4, 2,
      { 0, 1, 3, 6, 10, 21, 33, 46 } },
    { "a summed-area table",
      INPUT "s(x, y) = in(x, y)\n"
            "s(k, y) = s(k-1, y) + s(k, y) for k in 1..4\n"
            "s(x, k) = s(x, k-1) + s(x, k) for k in 1..3\n"
            "out(x, y) = s(x, y)",
      4, 3, { 0, 1, 3, 6, 10, 22, 36, 52, 30, 63, 99, 138 } },
    { "a recurrence", ALONE "f(n) = 1  f(k) = f(k-1) + f(k-2) for k in 2..10  out(x) = f(x)", 10, 0,
      { 1, 1, 2, 3, 5, 8, 13, 21, 34, 55 } },
    { "a recurrence of which the end is not needed", ALONE "f(n) = 1  f(k) = f(k-1) + f(k-2) for k in 2..30  out(x) "
                                                           "= f(x)", 4, 0,
      { 1, 1, 2, 3 } },
    { "a histogram", INPUT "h(i) = 0  h(in(u, v) % 5) += 1 for u in 0..4, v in 0..3  out(x) = h(x)", 5, 0, { 3, 3, 3,
      3, 0 } },
    { "a histogram of which a part is needed", INPUT "h(i) = 0  h(in(u, v) % 5) += 1 for u in 0..4, v in 0..3  "
                                                     "out(x) = h(x)", 2,
      0, { 3, 3 } },
    { "a histogram per column", INPUT "h(i, x) = 0  h(in(x, v) % 2, x) += v for v in 0..3  out(x, y) = h(y, x)", 4, 2,
      { 3, 0, 3, 0, 0, 3, 0, 3 } },
    { "the last write stays", ALONE "f(x) = 0  f(k / 2) = k for k in 0..6  out(x) = f(x)", 3, 0, { 1, 3, 5 } },
    { "steps in order: the first variable is outermost",
      ALONE "f() = 0  f() = 10*f() + 3*i + j for i in 0..2, j in 0..2  out(x) = f()", 1, 0, { 134 } },
    { "an order that matters", ALONE "f(x) = x  f(x) = k - f(x) for k in 0..3  out(x) = f(x)", 3, 0, { 1, 0, -1 } },
    { "bounds that depend on the point", ALONE "f(x) = 0  f(x) += k for k in 0..x  out(x) = f(x)", 6, 0, { 0, 0, 1, 3,
      6, 10 } },
    { "bounds that depend on the variable before", ALONE "f(x) = 0  f(x) += 10*i + j for i in 0..3, j in i..3 where "
                                                         "j > i  out(x) = f(x)",
      1, 0, { 1 + 2 + 12 } },
    { "an empty domain", ALONE "f(x) = 7  f(x) = 1 for k in 3..3  out(x) = f(x)", 2, 0, { 7, 7 } },
    { "no domain", ALONE "f(x) = x  f(2) = 9  f(x) += 1  out(x) = f(x)", 4, 0, { 1, 2, 10, 4 } },
    { "updates in source order", ALONE "f(x) = 1  f(x) += x  f(x) *= 3  f(x) min= 8  f(x) max= 4  out(x) = f(x)", 4, 0,
      { 4, 6, 8, 8 } },
    { "a tuple changes at once", ALONE "p(x) = (x, 10)  p(x) = (p(x).1, p(x).0 + 1) for k in 0..2  out(x) = "
                                       "100*p(x).0 + p(x).1", 2, 0,
      { 111, 211 } },
    { "the first extreme wins", INPUT "m() = argmax(in(u, v) % 2 for v in 0..3, u in 0..4)  out(x) = 100*m().0 + "
                                      "10*m().1 + m().2", 1, 0,
      { 11 } },
    { "inline reductions", INPUT "out(x, y) = sum(in(x+i, y) for i in 0..3) + max(in(x, y+j) for j in 0..2)", 2, 2,
      { 13, 17, 53, 57 } },
    { "a guarded read", INPUT "out(x, y) = if x >= 2 && in(x-2, y) % 2 == 1 then in(x-2, y) else -1", 6, 1, { -1, -1,
      -1, 1, -1, 3 } },
    { "a read guarded by ||", INPUT "out(x, y) = if x < 1 || in(x-1, y) > 1 then 1 else 0", 4, 1, { 1, 0, 0, 1 } },
    { "select looks at one branch", INPUT "out(x, y) = select(x < 4: in(x, y), x < 8: in(x-4, y), else: 5)", 9, 1,
      { 0, 1, 2, 3, 0, 1, 2, 3, 5 } },
    { "a template of 0.0 is not that of -0.0",
      ALONE "def t(k) { return (x) = 1.0 / f32(k) }  a = t(0.0)  b = t(-0.0)  out(x) = i32(sat_i8(if x == 0 then "
            "a(x) else b(x)))", 2, 0, { 127, -128 } },
    { "rank 0", ALONE "f() = 41  out() = f() + 1", 0, 0, { 42 } },
};
/* clang-format on */

static int32_t values[12];

static void run_program(const Program *program)
{
    int32_t      got[MOST] = { 0 };
    const int    rank      = program->height ? 2 : program->width ? 1 : 0;
    kn_context  *cx        = kn_context_new(NULL);
    kn_buffer    in        = kn_buffer_dense(values, KN_I32, 2, (const int32_t[]){ 4, 3 });
    kn_buffer    out       = kn_buffer_dense(got, KN_I32, rank, (const int32_t[]){ program->width, program->height });
    const bool   reads     = strstr(program->text, "input") != NULL;
    kn_module   *m = kn_compile(kn_parse(cx, program->name, program->text, -1), &(kn_options){ .interpret = true });
    const kn_arg args[2] = { { .name = "out", .buffer = &out }, { .name = "in", .buffer = &in } };
    const bool   ran     = m && kn_run(m, args, reads ? 2 : 1) == KN_OK;
    CHECK(ran, "%s: %s", program->name, kn_error_text(cx));
    const int count = (program->width ? program->width : 1) * (program->height ? program->height : 1);
    for (int i = 0; ran && i < count; i++)
        CHECK(got[i] == program->want[i], "%s: value %d is %d, not %d", program->name, i, got[i], program->want[i]);
    kn_context_free(cx);
}

int main(void)
{
    for (int i = 0; i < 12; i++)
        values[i] = 10 * (i / 4) + i % 4;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        run_program(&programs[i]);
    return check_done();
}
