/* SPDX-License-Identifier: MIT */
/* No argument makes a function of the language slow: elements of every kind take at most LIMIT times as long as the
 * usual ones. A subnormal number in a multiplication, as operand or result, would take ten times as long. Ratios within
 * one process, the shortest of many runs; rounds go on until all are seen to hold, so that a busy machine only takes
 * longer. `MATH_SPEED=1` prints the table. */
#include "api.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ELEMENTS = 4096, ROUNDS = 300, LEAST_ROUNDS = 10 };
static const double LIMIT = 1.5;

/* lo to hi; `subnormal`: multiples of the smallest number instead. */
typedef struct Range {
    const char *name;
    double      lo, hi;
    bool        subnormal;
} Range;

static const Range ranges[] = {
    { "usual", 0.5, 2, false },
    { "negative", -2, -0.5, false },
    { "tiny", 1e-25, 1e-20, false },
    { "small", 1e-38, 1e-30, false },
    { "subnormal", 0, 0, true },
    { "huge", 1e20, 1e30, false },
    { "underflows", -103, -88, false },
    { "far below", -1e6, -1e3, false },
    { "underflows in f64", -745, -709, false },
    { "zero", 0, 0, false },
    { "infinite", INFINITY, INFINITY, false },
    { "NaN", NAN, NAN, false },
};
enum { RANGES = sizeof ranges / sizeof *ranges };

typedef struct Function {
    const char *text; /* of v, the argument */
    unsigned    slow; /* bit i: known to be slower for range i */
} Function;

enum { SUBNORMAL = 1 << 4 };

static const Function functions[] = {
    { "exp(v)", 0 },
    { "log(v)", 0 },
    { "pow(v, 1.5)", 0 },
    { "pow(2.5, v)", 0 },
    { "pow(0.3, 0 - v)", 0 },
    { "sin(v)", 0 },
    { "cos(v)", 0 },
    { "tan(v)", 0 },
    { "tanh(v)", 0 },
    { "atan2(v, 1)", SUBNORMAL },
    { "atan2(1, v)", SUBNORMAL },
    { "erf(v)", SUBNORMAL },
    { "sqrt(abs(v))", SUBNORMAL },
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double argument(const Range *r, int i, bool single)
{
    if (r->subnormal)
        return (i % 1000 + 1) * (single ? 0x1p-149 : 0x1p-1074);
    return r->lo == r->hi || isnan(r->lo) ? r->lo : r->lo + (r->hi - r->lo) * i / ELEMENTS;
}

static void fill(void *data, const Range *r, bool single)
{
    for (int i = 0; i < ELEMENTS; i++)
        if (single)
            ((float *)data)[i] = (float)argument(r, i, single);
        else
            ((double *)data)[i] = argument(r, i, single);
}

static void measure(kn_context *cx, const Function *f, bool single)
{
    static double in[RANGES][ELEMENTS], out[ELEMENTS];
    const kn_type type = single ? KN_F32 : KN_F64;
    char          text[300];
    double        best[RANGES];
    snprintf(text, sizeof text,
             "input in : %s(x)\noutput out\nout(x) = { let v = in(x)  %s }\nschedule { out.vectorize(x, %d) }",
             single ? "f32" : "f64", f->text, single ? 8 : 4);
    kn_pipeline *p = kn_parse(cx, "p", text, -1);
    kn_module   *m = p ? kn_compile(p, NULL) : NULL;
    CHECK(m, "%s: %s", f->text, kn_error_text(cx));
    if (!m)
        return;
    for (int r = 0; r < RANGES; r++) {
        fill(in[r], &ranges[r], single);
        best[r] = INFINITY;
    }
    double worst = INFINITY;
    for (int round = 0; round < LEAST_ROUNDS || (worst > LIMIT && round < ROUNDS); round++) {
        worst = 0;
        for (int r = 0; r < RANGES; r++) {
            kn_buffer a         = { .data = in[r], .type = type, .rank = 1, .dim = { { 0, ELEMENTS, 1 } } },
                      b         = { .data = out, .type = type, .rank = 1, .dim = { { 0, ELEMENTS, 1 } } };
            const kn_arg args[] = { { .name = "in", .buffer = &a }, { .name = "out", .buffer = &b } };
            const double begin  = seconds();
            const int    status = kn_run(m, args, 2);
            const double took   = seconds() - begin;
            best[r]             = !status && took < best[r] ? took : best[r];
            if (!(f->slow >> r & 1))
                worst = best[r] / best[0] > worst ? best[r] / best[0] : worst;
        }
    }
    for (int r = 0; r < RANGES; r++) {
        if (getenv("MATH_SPEED"))
            printf("%-16s %s %-20s %6.2f ns %5.2f\n", f->text, single ? "f32" : "f64", ranges[r].name,
                   1e9 * best[r] / ELEMENTS, best[r] / best[0]);
        CHECK(f->slow >> r & 1 || best[r] <= LIMIT * best[0], "%s of %s: %s takes %.2f times as long", f->text,
              single ? "f32" : "f64", ranges[r].name, best[r] / best[0]);
    }
    kn_pipeline_free(p);
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    for (int i = 0; i < FUNCTIONS; i++) {
        measure(cx, &functions[i], true);
        measure(cx, &functions[i], false);
    }
    kn_context_free(cx);
    return check_done();
}
