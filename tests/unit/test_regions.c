/* SPDX-License-Identifier: MIT */
/* Regions: a table of programs with the boxes they need, a table of those that have none, fitting, and the steps that
 * it all takes. */
#include "analysis/regions.h"
#include "base/text.h"
#include "pipeline/pipeline.h"
#include "steps.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- The tables ------------------------------------------------------------------------- */

typedef struct Row {
    const char *text, *given, *expected; /* expected: boxes, or "error:" and parts of the message divided by | */
} Row;

#define BLUR                                                                                                           \
    "input in : u16(x, y) output out "                                                                                 \
    "blurx(x, y) = (in(x-1, y) + in(x, y) + in(x+1, y)) / 3 "                                                          \
    "out(x, y) = (blurx(x, y-1) + blurx(x, y) + blurx(x, y+1)) / 3"
#define HEAT_FREE                                                                                                      \
    "input in : f32(x) output out "                                                                                    \
    "a(x, t) = in(clamp(x, 0, in.x.extent-1)) "                                                                        \
    "a(x, t) = a(x+1, t-1) + a(x, t-1) + a(x-1, t-1) for t in 1..17 "                                                  \
    "out(x) = a(x, 16)"
#define HEAT_RIM(condition)                                                                                            \
    "input in : f32(x) param N : i32 output out "                                                                      \
    "a(x, t) = in(x) "                                                                                                 \
    "a(x, t) = " condition " for t in 1..21 "                                                                          \
    "out(x) = a(x, 20)"

#define STAGE(name)                                                                                                    \
    "input in : u8(x) param k : i32 output out f(x) = in(x) "                                                          \
    "extern stage " name "(f, k) : u8(x) out(x) = " name "(x)"

/* clang-format off */
static const Row regions[] = {
    /* affine accesses are exact, with floor and ceiling */
    { BLUR, "in=-1..192,-1..160; out=0..191,0..159", "blurx=0..191,-1..160; in=-1..192,-1..160" },
    { "input in : u8(x) output out out(x) = in(2*x) + in(2*x+1)", "in=0..99; out=0..9", "in=0..19" },
    { "input in : u8(x) output out out(x) = in(x/2)", "in=-9..99; out=-3..9", "in=-2..4" },
    { "input in : u8(x) output out out(x) = in((x+1)/2)", "in=-9..99; out=-3..9", "in=-1..5" },
    { "input in : u8(x) output out out(x) = in(0-x)", "in=-9..9; out=-3..9", "in=-9..3" },
    { "input in : u8(x) output out out(x) = in(x - (x - 3))", "in=0..9; out=-100..100", "in=3..3" },
    { "input in : u8(x) output out out(x, y) = in(3*x - 2*y + 5)", "in=0..99; out=2..4,0..3", "in=5..17" },
    { "input in : u8(x) output out out(x, y) = in((x + y) - x)", "in=0..99; out=0..1000,2..3", "in=2..3" },
    { "input in : u8(x) param k : i32 output out out(x) = in(x + k)", "in=0..99; k=7; out=0..9", "in=7..16" },
    { "input in : u8(x) output out out(x) = in(in.x.extent - 1 - x + in.x.min)", "in=5..14; out=5..7", "in=7..9" },
    { "input in : u8(x) output out out() = in(3)", "in=0..9; out=", "in=3..3" },
    /* modulo, clamp, min and max */
    { "input in : u8(x) output out out(x) = in(x % 8)", "in=0..7; out=-100..100", "in=0..7" },
    { "input in : u8(x) output out out(x) = in(x % 8)", "in=0..7; out=-6..-3", "in=2..5" },
    { "input in : u8(x) output out out(x) = in(clamp(x, 0, in.x.extent-1))", "in=0..9; out=-5..3", "in=0..3" },
    { "input in : u8(x) output out out(x) = in(min(x % 20, 19 - x % 20))", "in=0..9; out=-50..50", "in=0..9" },
    { "input in : u8(x) output out out(x) = in(abs(x))", "in=0..9; out=-7..3", "in=0..7" },
    { "input in : u8(x) output out out(x) = in(i32(f32(x) / 2.0))", "in=0..9; out=0..9", "in=0..4" },
    { "input in : u8(x) output out out(x) = in(i32(floor(f32(x) * 0.5)))", "in=0..9; out=0..9", "in=0..4" },
    /* terms that are functions of one variable of few values, whatever the sizes */
    { "input in : u8(x) output out out(x) = sum(u32(in(x + t - (1 << (31 - clz(t))))) for t in 1..9)",
      "in=0..99; out=0..9", "out.sum=0..9; in=0..12" },
    { "input in : u8(x) output out f(x, t) = in(x + t - (1 << (31 - clz(t)))) "
      "out(x) = sum(u32(f(x, t)) for t in 1..9)", "in=0..99; out=0..9", "f=0..9,1..8; in=0..12" },
    { "input in : u8(x) output out f(x, t) = in(x + t*t % 5 - t) f(x, t) += f(x, t-1) for t in 2..4 "
      "out(x) = f(x, 3)", "in=-9..99; out=0..9", "f=0..9,1..3; in=0..11" },
    { "input in : u8(x) input k : u8(i) output out "
      "out(x) = in(x + clamp(i32(k(x)), 3, 6) - 2 * (clamp(i32(k(x)), 3, 6) / 2))",
      "in=0..99; k=0..9; out=0..9", "k=0..9; in=0..10" },
    { "input in : u8(x) output out out(x) = in(x - x/2)", "in=-9..99; out=0..9", "in=-4..9" },
    { "input in : u8(x) param n : i32 output out out(x) = sum(u32(in(x + t - t/2*2)) for t in 0..n)",
      "in=0..99; n=9; out=0..9", "out.sum=0..9; in=0..10" },
    { "input in : u8(x) output out a(x, t) = in(x/2 - x/3) a(x, t) = a(x+1, t-1) + a(x-1, t-1) for t in 1..5 "
      "out(y) = a(3, 4)", "in=-9..9; out=0..9", "a=-1..7,0..4; in=-3..4" },
    /* a - a % n is a multiple of n, and a - n * (a / n) is a % n */
    { "input in : u8(x) output out out(x) = in(x - x/4*4)", "in=0..3; out=-99..99", "in=0..3" },
    { "input in : u8(x) output out out(x, y) = in(3*(x - 2*y) - ((x - 2*y) >> 2)*8)", "in=-99..99; out=0..3,0..4",
      "in=-8..9" },
    { "input in : u8(x) output out out(x) = in(x - x%4 + x%2)", "in=0..99; out=5..9", "in=4..9" },
    { "input in : u8(x) output out out(x) = in(x - (x & 3))", "in=-99..99; out=-5..9", "in=-8..8" },
    { "input in : u8(x) output out out(x, y) = in(2*(x + y + 1) - (x + y + 1) % 4)", "in=0..99; out=0..3,0..4",
      "in=1..16" },
    /* data as an index: what its type or its definition bounds */
    { "input in : u8(x) input lut : u8(i) output out out(x) = lut(in(x))", "in=0..9; lut=0..255; out=0..9",
      "lut=0..255" },
    { "input in : f32(x) input lut : u8(i) output out out(x) = lut(i32(clamp(in(x), 0.0, 255.0)))",
      "in=0..9; lut=0..255; out=0..9", "lut=0..255" },
    { "input in : i32(x) output out idx(x) = clamp(in(x), 0, 15) f(i) = i * 2 out(x) = f(idx(x) + 1)",
      "in=0..9; out=0..9", "f=1..16; idx=0..9" },
    { "input in : i32(x) output out idx(x) = 0 idx(x) = clamp(in(x), 0, 15) f(i) = i out(x) = f(idx(x))",
      "in=0..9; out=0..9", "f=0..15" },
    { "input in : i32(x) output out best(x) = 0 best(x) = if in(x+i) > 5 then i else best(x) for i in 0..5 f(i) = i "
      "out(x) = f(best(x))",
      "in=0..13; out=0..9", "f=0..4; in=0..13" },
    /* conditions */
    { "input in : u8(x) output out out(x) = if x > 0 then in(x-1) else in(x)", "in=0..9; out=0..9", "in=0..8" },
    { "input in : u8(x) output out out(x) = if x > 0 && x < 9 then in(x-1) + in(x+1) else in(x)", "in=0..9; out=0..9",
      "in=0..9" },
    { "input in : u8(x) output out out(x) = if x == 0 || x == 9 then in(x) else in(x-1) + in(x+1)",
      "in=0..9; out=0..9", "in=0..9" },
    { "input in : u8(x) output out out(x) = if x < 0 then in(x) else 1", "in=0..9; out=0..9", "out=0..9; in=none" },
    { "input in : u8(x) output out out(x) = if x >= 0 && (x < 5 && in(x) > 3) then 1 else 0", "in=0..4; out=-5..9",
      "in=0..4" },
    { "input in : u8(x) output out out(x) = if x < 0 || in(x) > 3 then 1 else 0", "in=0..9; out=-5..9", "in=0..9" },
    { "input in : u8(x) output out out(x, y) = if x + y >= 0 && x + y <= 9 then in(x + y) else 0",
      "in=0..9; out=-50..50,-50..50", "in=0..9" },
    { "input in : u8(x) output out out(x, y) = if x - y > 0 then in(x - y) else in(y - x)",
      "in=0..50; out=0..50,0..50", "in=0..50" },
    { "input in : u8(x) output out out(x) = if x / 4 == 2 then in(x) else 0", "in=8..11; out=0..99", "in=8..11" },
    { "input in : u8(x) output out out(x) = if in(x) < 3 then in(i32(in(x)) + 10) else 0", "in=0..12; out=0..9",
      "in=0..12" },
    /* reductions */
    { "input in : u8(x) output out out(x) = 0 out(x) = out(x) + i32(in(x + i)) for i in -2..3", "in=-2..11; out=0..9",
      "in=-2..11" },
    { "input in : u8(x, y) output out out(x) = 0 out(x) = out(x) + i32(in(x, j)) for i in 0..4, j in 0..i",
      "in=0..9,0..2; out=0..9", "in=0..9,0..2" },
    { "input in : u8(x) output out out(x) = 0 out(x) = out(x) + i32(in(i - j)) for i in 0..9, j in 0..i",
      "in=1..8; out=0..9", "in=1..8" },
    { "input in : u8(x) output out out(x) = 0 out(x) = out(x) + i32(in(i + j)) for i in 0..9, j in 0..9 where i + j "
      "< 5", "in=0..4; out=0..9", "in=0..4" },
    { "input in : u8(x, y) output out hist(i) = 0 hist(in(u, v)) = hist(in(u, v)) + 1 for u in 0..in.x.extent, v in "
      "0..in.y.extent "
      "cdf(i) = hist(i) cdf(k) = cdf(k-1) + cdf(k) for k in 1..256 out(x, y) = cdf(in(x, y))",
      "in=0..99,0..49; out=0..9,0..9", "hist=0..255; cdf=0..255; in=0..99,0..49" },
    /* of what is written outside the box, the old value is not read; but a condition on it is looked at everywhere */
    { "input in : i32(x) output out hist(i) = 0 hist(in(u)) = hist(in(u)) + 1 for u in 0..in.x.extent out(x) = "
      "hist(x)", "in=0..99; out=0..9",
      "hist=0..9; in=0..99" },
    { "input in : u8(x) output out f(i) = 0 f(in(u)) = f(in(u)) + f(i32(in(u)) - 1) for u in 0..in.x.extent out(x) = "
      "f(x)", "in=0..99; out=0..9",
      "f=-1..254; in=0..99" },
    { "input in : u8(x) output out out(x) = 0 out(x) = i32(in(i)) for i in 5..5", "in=0..0; out=0..9", "in=none" },
    /* time */
    { HEAT_FREE, "in=0..47; out=0..47", "a=-16..63,0..16; in=0..47" },
    { HEAT_RIM("if x > 0 && x < N+1 then a(x+1, t-1) + a(x-1, t-1) else a(x, t-1)"), "in=0..49; N=48; out=0..49",
      "a=0..49,0..20; in=0..49" },
    { HEAT_RIM("if x == 0 || x == N+1 then a(x, t-1) else a(x+1, t-1) + a(x-1, t-1)"), "in=0..49; N=48; out=0..49",
      "a=0..49,0..20" },
    { HEAT_RIM("a(x+1, t-1) + a(x, t-1)"), "in=0..49; N=48; out=0..9", "a=0..29,0..20" },
    /* several consumers, several outputs, what is not needed */
    { "input in : u8(x) output a output b f(x) = in(x) a(x) = f(x-3) b(x) = f(x+5)", "in=-3..9; a=0..4; b=0..4",
      "f=-3..9" },
    { "input in : u8(x) output out f(x) = in(x) g(x) = f(x) out(x) = in(x)", "in=0..9; out=0..9", "f=none; g=none" },
    /* extern stages: asked for what they need */
    { STAGE("widen"), "in=-9..99; k=3; out=0..9", "f=-3..12; in=-3..12" },
    /* near the ends of i32 */
    { "input in : u8(x) output out out(x) = in(x - 2000000000)", "in=0..9; out=2000000000..2000000009", "in=0..9" },
    { "input in : u8(x) output out out(x) = in((x + 2000000000) - 2000000000)", "in=0..999; out=900..909",
      "in=900..909" },
};
/* clang-format on */

/* clang-format off */
static const Row errors[] = {
    { BLUR, "in=0..191,0..159; out=0..191,0..159",
      "error:input `in` is too small: x -1..193 is needed, 0..192 is given|needed: x -1..193, y -1..161; given: x "
      "0..192, y 0..160|"
      "needed by in <- blurx <- out over x 0..192, y 0..160|--size out=190x158 --origin out=1,1|edge(in)" },
    { "input in : u8(x) output out out(x) = in(x + 2)", "in=0..9; out=0..9",
      "error:x 2..12 is needed, 0..10 is given|--size out=8)" },
    { "input in : i32(x) output out f(x) = in(x) out(x) = f(in(x))", "in=0..9; out=0..9",
      "error:the region of `f` needed by `out` is unbounded in x: it is read at `f(in(x))`|clamp(in(x), 0, 255)" },
    { "input in : f32(x) output out f(x) = in(x) out(x) = f(i32(in(x)))", "in=0..9; out=0..9", "error:unbounded in x" },
    { "input in : i32(x) output out hist(i) = 0 hist(in(u)) = 1 for u in 0..10 where hist(in(u)) < 5 out(x) = hist(x)",
      "in=0..9; out=0..9",
      "error:the region of `hist` needed by `hist` is unbounded" },
    { "input in : u8(x) input n : i32(x) output out out(x) = 0 out(x) = out(x) + i32(in(i)) for i in 0..n(x)",
      "in=0..9; n=0..9; out=0..9",
      "error:the reduction variable `i` of `out` is unbounded: its range is `0..n(x)`" },
    { "input in : u8(x) output out out(x) = in(x + 1)", "in=0..9; out=2147483640..2147483647", "error:unbounded in x" },
    { STAGE("absent"), "in=0..99; k=3; out=0..9", "error:the extern stage `absent` of `absent` is not "
                                                  "known|kn_extern_stage|kiln run --load" },
    { STAGE("refuses"), "in=0..99; k=3; out=0..9", "error:the extern stage `refuses` refused the query for its "
                                                   "regions: it returned 7" },
    { STAGE("negative"), "in=0..99; k=3; out=0..9", "error:answered with a wrong rank or a negative extent for `f`" },
    { STAGE("widen"), "in=0..9; k=3; out=0..9", "error:x -3..13 is needed, 0..10 is given|needed by in <- f <- widen "
                                                "<- out over x 0..10|--size out=4 --origin out=3" },
    { "input in : u8(x) output out f(x, y, z) = x out(x) = i32(in(0)) + f(x, x, x)", "in=0..9; out=0..99999",
      "error:the region of `f` is too large|2^40 points" },
};
/* clang-format on */

static const Row fits[] = {
    { BLUR, "in=0..193,0..161", "out=1..192,1..160" },
    { BLUR, "in=-1..192,-1..160", "out=0..191,0..159" },
    { "input in : u8(x) output out out(x) = in(2*x)", "in=0..100", "out=0..50" },
    { "input in : u8(x) output out out(x) = in(x/2)", "in=0..49", "out=0..99" },
    { "input in : u8(x, y) output out out(x, y) = in(y, x)", "in=0..999,0..9", "out=0..9,0..999" },
    { "input in : u8(x) output out out(x) = in(x-2) + in(x+2)", "in=0..99", "out=2..97" },
    { "input in : u8(x) output out out(x) = in(clamp(x, 0, in.x.extent-1))", "in=0..99", "out=0..99 unlimited" },
    { "input in : u8(x) output out out(x) = in(max(x, 0) + 3)", "in=0..99", "out=0..96 unlimited" },
    { "input in : u8(x) output out out(x, c) = in(x)", "in=0..99",
      "error:no input limits the output `out` along c|--size out=" },
    { "input in : u8(x) output out out(x) = in(x + 1000) + in(x)", "in=0..99", "error:too small" },
    { "input in : i32(x) output out f(x) = in(x) out(x) = f(in(x))", "in=0..9", "error:unbounded" },
    { "input in : u8(x) output a output b a(x) = in(x+1) b(x) = in(x-1)", "in=0..9", "a=-1..8; b=1..10" },
    /* the components of a tuple have one box, which suits the most demanding of them */
    { "input in : u8(x, y) output a a(x, y) = (in(x, y), in(x+1, y+2))", "in=0..9,0..9", "a=0..8,0..7" },
    { "input in : u8(x) output a a(x) = (edge(in)(x), in(x))", "in=0..9", "a=0..9" },
    { "input in : u8(x) output a a(x) = (edge(in)(x), edge(in)(x+1))", "in=0..9", "a=0..9 unlimited" },
    { "input in : u8(x) output a a(x) = (in(2*x), in(x), in(0-x+9))", "in=0..9", "a=0..4" },
    { "input in : u8(x) input g : u8(y) output a a(x, y) = (in(x), g(y))", "in=0..9; g=3..6", "a=0..9,3..6" },
    { "input in : u8(x) output a, b a(x) = (in(x), in(x+1)) b(x) = a(x-1).0", "in=0..9", "a=0..8; b=1..9" },
    { "input in : u8(x) output a, b a(x) = (in(x), in(x+1)) b(x) = a(x/2).1", "in=0..9", "a=0..8; b=0..17" },
    { "input in : u8(x) output a, b f(x) = in(x/3) a(x) = f(x-1) b(x, y) = (f(x+y), edge(in)(y))", "in=0..9",
      "a=1..30; b=0..29,0..0" },
    { HEAT_FREE, "in=0..47", "out=0..47 unlimited" },
    { STAGE("widen"), "in=0..99; k=3", "out=3..96" },
    { HEAT_RIM("a(x+1, t-1) + a(x-1, t-1)"), "in=0..99; N=1", "out=20..79" },
};

/* ---- Running a row ---------------------------------------------------------------------- */

typedef struct Case {
    kn_context  *cx;
    kn_pipeline *p;
    RunArgs      binding;
    bool         given[8];
    FitDim       dims[8][KN_MAX_RANK];
    Regions      regions;
    const Row   *row;
    bool         ok;
} Case;

static int failures;

/* The stages behind STAGE: k more on both sides, a refusal, an answer that cannot be. */
static int widen(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                 kn_buffer *output, void *user)
{
    const int32_t k = (int32_t)values[0].as.i;
    if (!query || input_count != 1 || value_count != 1 || output->data || user)
        return 1;
    inputs[0].dim[0] = (kn_dim){ .min = output->dim[0].min - k, .extent = output->dim[0].extent + 2 * k };
    return 0;
}

static int refuses(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                   kn_buffer *output, void *user)
{
    (void)query, (void)inputs, (void)input_count, (void)values, (void)value_count, (void)output, (void)user;
    return 7;
}

static int negative(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                    kn_buffer *output, void *user)
{
    (void)query, (void)input_count, (void)values, (void)value_count, (void)output, (void)user;
    inputs[0].dim[0].extent = -1;
    return 0;
}

static Extern stages[] = { { .stage = widen }, { .stage = refuses }, { .stage = negative } };

static Box read_box(const char **at)
{
    Box box = { 0 };
    for (int d = 0; **at && **at != ';'; d++) {
        char *end;
        box.min[d] = strtoll(*at, &end, 10);
        box.max[d] = strtoll(end + 2, &end, 10);
        *at        = end + (*end == ',');
    }
    return box;
}

/* "in=0..9,0..9; k=3; out=0..9": by name. */
static void read_given(Case *c, const char *s)
{
    while (*s) {
        s += strspn(s, " ;");
        const char *name = intern_n(c->cx, s, strcspn(s, "="));
        s += strcspn(s, "=") + 1;
        for (size_t i = 0; i < c->p->params.count; i++)
            if (c->p->params.at[i]->name == name) {
                c->binding.param[i] = kn_int(strtoll(s, NULL, 10));
                s += strcspn(s, ";");
                goto next;
            }
        const Box box = read_box(&s);
        for (size_t i = 0; i < c->p->funcs.count; i++)
            if (c->p->funcs.at[i]->name == name)
                c->binding.input[i] = box;
        for (size_t i = 0; i < c->p->outputs.count; i++)
            if (c->p->outputs.at[i].name == name) {
                c->binding.output[i] = box;
                c->given[i]          = true;
            }
    next:;
    }
}

static Case parsed(const Row *row)
{
    Case c = { .cx = kn_context_new(NULL), .row = row };
    map_set(&c.cx->externs, intern(c.cx, "widen"), &stages[0]);
    map_set(&c.cx->externs, intern(c.cx, "refuses"), &stages[1]);
    map_set(&c.cx->externs, intern(c.cx, "negative"), &stages[2]);
    c.p = kn_parse(c.cx, "test.kiln", row->text, -1);
    return c;
}

static void begin(Case *c)
{
    c->binding.input  = ARENA_ARRAY(&c->p->arena, Box, c->p->funcs.count);
    c->binding.output = ARENA_ARRAY(&c->p->arena, Box, c->p->outputs.count);
    c->binding.param  = ARENA_ARRAY(&c->p->arena, kn_scalar, c->p->params.count + 1);
    read_given(c, c->row->given);
}

static void compute(void *arg)
{
    Case *c = arg;
    begin(c);
    c->ok = regions_compute(c->p, &c->p->arena, &c->binding, false, &c->regions);
}

/* Whether the inputs suffice for one more along dimension d of an output. */
static bool one_more_does(Case *c, Box *box, int d, int side)
{
    int64_t *end = side < 0 ? &box->min[d] : &box->max[d];
    *end += side;
    const bool does = regions_compute(c->p, &c->p->arena, &c->binding, true, &c->regions);
    *end -= side;
    return does;
}

/* The largest: where a dimension is limited, no side of it can be moved outward. */
static bool is_largest(Case *c)
{
    for (size_t i = 0; i < c->p->outputs.count; i++)
        for (int d = 0; d < c->p->outputs.at[i].func->rank; d++)
            for (int side = -1; side <= 1; side += 2)
                if (!c->dims[i][d].unlimited && one_more_does(c, &c->binding.output[i], d, side)) {
                    printf("FAIL %s: more of %s along dimension %d would do\n", c->row->text, c->p->outputs.at[i].name,
                           d);
                    return false;
                }
    return true;
}

static void fit(void *arg)
{
    Case *c = arg;
    begin(c);
    c->ok = regions_fit(c->p, &c->p->arena, &c->binding, c->given, c->dims);
    failures += c->ok && !is_largest(c);
}

static void print_box(Text *out, const char *name, const Func *f, const Box *box)
{
    text_printf(out, "%s%s=", out->count ? "; " : "", name);
    for (int d = 0; box && d < f->rank; d++)
        text_printf(out, "%s%lld..%lld", d ? "," : "", (long long)box->min[d], (long long)box->max[d]);
    if (!box)
        text_add(out, "none");
}

/* The boxes of the functions named in `expected`, in its order. */
static void print_regions(Case *c, Text *out)
{
    for (const char *s = c->row->expected; *s; s += strcspn(s, ";"), s += strspn(s, "; ")) {
        const size_t n = strcspn(s, "=");
        for (size_t i = 0; i < c->p->funcs.count; i++) {
            const Func *f = c->p->funcs.at[i];
            if (strlen(f->name) == n && !strncmp(f->name, s, n))
                print_box(out, f->name, f, c->regions.of[i].needed ? &c->regions.of[i].box : NULL);
        }
    }
}

static void print_outputs(Case *c, Text *out)
{
    for (size_t i = 0; i < c->p->outputs.count; i++) {
        print_box(out, c->p->outputs.at[i].name, c->p->outputs.at[i].func, &c->binding.output[i]);
        for (int d = 0; d < c->p->outputs.at[i].func->rank; d++)
            text_add(out, c->dims[i][d].unlimited ? " unlimited" : "");
    }
}

static bool has_parts(const char *text, const char *parts)
{
    for (const char *s = parts; *s; s += strspn(s, "|")) {
        char         part[300];
        const size_t n = strcspn(s, "|");
        snprintf(part, sizeof part, "%.*s", (int)n, s);
        if (!strstr(text, part))
            return false;
        s += n;
    }
    return true;
}

/* Gives the steps that it took. */
static uint64_t run_row(const Row *row, void (*run)(void *), void (*print)(Case *, Text *))
{
    Case c = parsed(row);
    Text out;
    text_init(&out, &c.cx->call);
    const bool  ran    = c.p && context_try(c.cx, run, &c);
    const bool  wanted = !strncmp(row->expected, "error:", 6);
    const char *text   = kn_error_text(c.cx);
    if (ran && c.ok)
        print(&c, &out);
    const bool right =
        ran && c.ok == !wanted &&
        (wanted ? has_parts(text, row->expected + 6) && c.cx->status != KN_OK && c.cx->status != KN_ERROR_PROGRAM
                : !strcmp(text_string(&out), row->expected));
    if (!right) {
        failures++;
        printf("FAIL %s\n  given    %s\n  expected %s\n  got      %s%s\n", row->text, row->given, row->expected,
               text_string(&out), text);
    }
    const uint64_t steps = steps_spent(c.cx);
    kn_context_free(c.cx);
    return steps;
}

#define RUN_ROWS(rows, run, print)                                                                                     \
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)                                                            \
    run_row(&rows[i], run, print)

/* ---- Steps of a time loop --------------------------------------------------------------- */

/* On the unbounded plane step t is computed on -(16-t)..47+(16-t). */
static void test_steps(void)
{
    const Row row = { HEAT_FREE, "in=0..47; out=0..47", "" };
    Case      c   = parsed(&row);
    if (!c.p || !context_try(c.cx, compute, &c) || !c.ok) {
        failures++;
        return;
    }
    const Func         *a     = c.p->funcs.at[1];
    const UpdateRegion *u     = &c.regions.of[a->id].updates[0];
    bool                right = u->steps == 16 && u->lo[0] == 1 && u->hi[0] == 17;
    for (int s = 0; right && s < 16; s++)
        right = u->free[s].min[0] == -(15 - s) && u->free[s].max[0] == 47 + 15 - s;
    failures += !right;
    if (!right)
        printf("FAIL steps of the heat equation\n");
    kn_context_free(c.cx);
}

/* ---- Steps ------------------------------------------------------------------------------ */

/* Fails if more were taken; SHOW=1 in the environment shows how many. */
static void expect_steps(const char *name, uint64_t taken, uint64_t most)
{
    failures += taken > most;
    if (taken > most || getenv("SHOW"))
        printf("%s%s: %llu steps, at most %llu were expected\n", taken > most ? "FAIL " : "", name,
               (unsigned long long)taken, (unsigned long long)most);
}

/* A pyramid: down and up again, 16 levels, each level two stages. */
static char *pyramid(int levels)
{
    char *text = malloc(100000), *at = text;
    at += sprintf(at, "input in : f32(x, y) output out e(x, y) = in(clamp(x, 0, in.x.extent-1), clamp(y, 0, "
                      "in.y.extent-1)) g0(x, y) = e(x, y) ");
    for (int j = 1; j < levels; j++)
        at += sprintf(at,
                      "d%d(x, y) = (g%d(2*x-1, y) + 3.0*(g%d(2*x, y) + g%d(2*x+1, y)) + g%d(2*x+2, y)) / 8.0 "
                      "g%d(x, y) = (d%d(x, 2*y-1) + 3.0*(d%d(x, 2*y) + d%d(x, 2*y+1)) + d%d(x, 2*y+2)) / 8.0 ",
                      j, j - 1, j - 1, j - 1, j - 1, j, j, j, j, j);
    at += sprintf(at, "o%d(x, y) = g%d(x, y) ", levels - 1, levels - 1);
    for (int j = levels - 2; j >= 0; j--)
        at += sprintf(at,
                      "w%d(x, y) = 0.25*o%d((x/2) - 1 + 2*(x%%2), y) + 0.75*o%d(x/2, y) "
                      "v%d(x, y) = 0.25*w%d(x, (y/2) - 1 + 2*(y%%2)) + 0.75*w%d(x, y/2) "
                      "o%d(x, y) = g%d(x, y) + v%d(x, y) ",
                      j, j + 1, j + 1, j, j, j, j, j, j);
    sprintf(at, "out(x, y) = o0(x, y)");
    return text;
}

static void test_pyramid(void)
{
    char          *text   = pyramid(16);
    const Row      row    = { text, "in=0..1535,0..2559; out=0..1535,0..2559", "" };
    Case           c      = parsed(&row);
    bool           ok     = c.p && context_try(c.cx, compute, &c) && c.ok;
    const uint64_t before = steps_spent(c.cx);
    ok                    = ok && regions_compute(c.p, &c.p->arena, &c.binding, true, &c.regions);
    const uint64_t once   = steps_spent(c.cx);
    ok                    = ok && regions_fit(c.p, &c.p->arena, &c.binding, (bool[8]){ false }, NULL);
    expect_steps("regions of a pyramid", once - before, 3000);
    expect_steps("fitting a pyramid", steps_spent(c.cx) - once, 20000);
    failures += !ok;
    if (!ok)
        printf("FAIL pyramid: %s\n", kn_error_text(c.cx));
    kn_context_free(c.cx);
    free(text);
}

/* Programs that would explode if something were expanded, walked as a tree, or recursed into without end. */
typedef struct Large {
    const char *name;
    void (*write)(FILE *out);
    const char *given, *expected;
    uint64_t    most_steps;
} Large;

/* s(x) = conditions nested 180 deep, each branch sharing the next level. */
static void nested_conditions(FILE *out)
{
    fprintf(out, "input in : u8(x) output out f0(x) = i32(in(x)) out(x) = ");
    for (int i = 0; i < 180; i++)
        fprintf(out, "if x + %d > f0(x + %d) then ", i % 7, i % 5);
    fprintf(out, "f0(x)");
    for (int i = 179; i >= 0; i--)
        fprintf(out, " else f0(x - %d)", i % 3);
}

static void long_chain(FILE *out)
{
    fprintf(out, "input in : i32(x) output out s0(x) = in(clamp(x, 0, 9)) ");
    for (int i = 1; i < 1500; i++)
        fprintf(out, "s%d(x) = s%d(x-1) + s%d(x+1) ", i, i - 1, i - 1);
    fprintf(out, "out(x) = s1499(x)");
}

static void deep_expression(FILE *out)
{
    fprintf(out, "input in : u8(x) output out out(x) = ");
    for (int i = 0; i < 60; i++)
        fprintf(out, "min(in(x + ");
    fprintf(out, "0");
    for (int i = 0; i < 60; i++)
        fprintf(out, ") / 2, 7)");
}

static void long_time(FILE *out)
{
    fprintf(out, "input in : f32(x, y) output out a(x, y, t) = in(clamp(x, 0, 9), clamp(y, 0, 9)) "
                 "a(x, y, t) = a(x+1, y, t-1) + a(x-1, y, t-1) + a(x, y+1, t-1) + a(x, y-1, t-1) for t in 1..5001 "
                 "out(x, y) = a(x, y, 5000)");
}

/* What would do for an input that is too small is searched for, but not for long. */
static void small_input(FILE *out)
{
    fprintf(out, "input in : i32(x) output out f(x, y) = edge(in)(x) f(x, u) = f(x+1, u-1) + 1 for u in x-1..x+1 "
                 "out(x, y) = f(x, y) + in(y)");
}

static const Large large[] = {
    { "nested conditions", nested_conditions, "in=-9..99; out=0..9", "f0=-1..13", 200000 },
    { "a long chain", long_chain, "in=0..9; out=0..9", "s0=-1499..1508; in=0..9", 1500000 },
    { "a deep expression", deep_expression, "in=0..99; out=0..9", "in=0..16", 50000 },
    { "a long time", long_time, "in=0..9,0..9; out=0..9,0..9", "a=-5000..5009,-5000..5009,0..5000", 450000 },
    { "the remedy for a small input", small_input, "in=0..2; out=0..6,0..6", "error:too small", 10000 },
};

static void test_large(const Large *l)
{
    char  *text;
    size_t size;
    FILE  *out = open_memstream(&text, &size);
    l->write(out);
    fclose(out);
    expect_steps(l->name, run_row(&(Row){ text, l->given, l->expected }, compute, print_regions), l->most_steps);
    free(text);
}

int main(void)
{
    RUN_ROWS(regions, compute, print_regions);
    RUN_ROWS(errors, compute, print_regions);
    RUN_ROWS(fits, fit, print_outputs);
    test_steps();
    test_pyramid();
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        test_large(&large[i]);
    printf("%d failures\n", failures);
    return failures != 0;
}
