/* The accuracies that docs/language.md states, measured: the largest error of each float function over many arguments, in units
 * in the last place of the result, against the C library in long double. Where long double is no wider than double, only the
 * narrower types are measured. */
#include "interp/ops.h"
#include "check.h"

#include <float.h>
#include <math.h>

enum { SAMPLES = 20000 };

static long double rsqrt_exact(long double x) { return 1 / sqrtl(x); }

/* One function, the arguments to be drawn from, and the most that the docs say for f64 and for the other types. */
typedef struct Measured {
    ExprOp      op;
    long double (*exact1)(long double);
    long double (*exact2)(long double, long double);
    double      lo, hi;
    double      most_f64, most_short;
} Measured;

static const Measured table[] = {
    { EX_SQRT, sqrtl, NULL, 0, 1e4, 0.5001, 0.51 },   { EX_RSQRT, rsqrt_exact, NULL, 1e-4, 1e4, 1.5, 1.5 },
    { EX_EXP, expl, NULL, -10, 10, 1, 0.51 },         { EX_LOG, logl, NULL, 1e-4, 1e4, 1, 0.51 },
    { EX_SIN, sinl, NULL, -100, 100, 1, 0.51 },       { EX_COS, cosl, NULL, -100, 100, 1, 0.51 },
    { EX_TAN, tanl, NULL, -100, 100, 1, 0.51 },       { EX_TANH, tanhl, NULL, -5, 5, 2, 0.51 },
    { EX_ERF, erfl, NULL, -3, 3, 1, 0.51 },           { EX_POW, NULL, powl, 0.01, 5, 1, 0.51 },
    { EX_ATAN2, NULL, atan2l, -10, 10, 1, 0.51 },
};

/* The same numbers in every run: x' = a*x + c modulo 2^64, of which the upper bits are used (Knuth's MMIX constants). */
static double draw(uint64_t *state, double lo, double hi)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(*state >> 11) / 9007199254740992.0;
}

/* The distance between neighbours of type t around v, which is not subnormal there. */
static long double unit_in_last_place(kn_type t, long double v)
{
    return ldexpl(1, ilogbl(v) + 1 - type_table[t].mantissa);
}

static double worst(const Measured *m, kn_type t)
{
    uint64_t    state = 1;
    long double most  = 0;
    for (int i = 0; i < SAMPLES; i++) {
        const Lane        in[2]    = { { .f = type_round(t, draw(&state, m->lo, m->hi)) }, { .f = type_round(t, draw(&state, m->lo, m->hi)) } };
        const kn_type     types[2] = { t, t };
        const Lane        got      = operator_apply(m->op, t, m->exact1 ? 1 : 2, types, in);
        const long double want     = m->exact1 ? m->exact1(in[0].f) : m->exact2(in[0].f, in[1].f);
        const long double smallest = t == KN_F16 ? 6.2e-5L : FLT_MIN;
        if (fabsl(want) < smallest || !isfinite(got.f))
            continue;
        const long double error = fabsl(got.f - want) / unit_in_last_place(t, want);
        most                    = error > most ? error : most;
    }
    return (double)most;
}

int main(void)
{
    static const kn_type types[] = { KN_F16, KN_BF16, KN_F32, KN_F64 };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int k = 0; k < (LDBL_MANT_DIG > DBL_MANT_DIG ? 4 : 3); k++) {
            const double most  = types[k] == KN_F64 ? table[i].most_f64 : table[i].most_short;
            const double error = worst(&table[i], types[k]);
            CHECK(error <= most, "%s of %s: %.4f units in the last place, the docs say %.2f", expr_op_table[table[i].op].name,
                  type_table[types[k]].name, error, most);
        }
    return check_done();
}
