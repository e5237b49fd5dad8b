/* SPDX-License-Identifier: MIT */
/* Every operator on every type, as stores of a lowered program: rows of operators, and values at the edges of types. */
#ifndef KILN_TESTS_OPERATORS_H
#define KILN_TESTS_OPERATORS_H

#include "lowered.h"

enum { N = 192 }; /* elements: a multiple of every number of lanes */

static const double float_edges[] = { 0,
                                      -0.0,
                                      1,
                                      -1,
                                      0.5,
                                      2.5,
                                      -3.5,
                                      1e-8,
                                      65504,
                                      65520,
                                      3e38,
                                      -3e38,
                                      1e-40,
                                      255.5,
                                      INFINITY,
                                      -INFINITY,
                                      NAN,
                                      2147483648.0,
                                      -1e19,
                                      1.8446744073709552e19,
                                      1e-320,
                                      5.9604644775390625e-08,
                                      1.00048828125,
                                      1.0004882812500002 };
enum { FLOAT_EDGES = sizeof float_edges / sizeof *float_edges };

static uint64_t seed = 1;

static inline uint64_t noise(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 16;
}

static inline Lane edge(kn_type t, int i)
{
    if (type_is_float(t))
        return (Lane){ .f = type_round(t, float_edges[i % FLOAT_EDGES]) };
    const int64_t edges[] = {
        0, 1, 2, 3, 7, 8, -1, -2, -7, type_min(t), type_max(t), type_max(t) - 1, type_max(t) / 2, 63, 64, 127
    };
    return (Lane){ .i = t == KN_BOOL ? edges[i % 2] : type_wrap(t, edges[i % 16]) };
}

static inline Lane any(kn_type t, int i, int other)
{
    if (i < 160)
        return other ? edge(t, i * 7 / 16 + i) : edge(t, i);
    if (type_is_float(t))
        return (Lane){ .f = type_round(t, ((double)(noise() % 100000) - 50000) / 64) };
    return (Lane){ .i = type_wrap(t, (int64_t)(noise() >> noise() % 40)) & (t == KN_BOOL ? 1 : -1) };
}

/* The operators: operands are a, b, c of the type, or a shift's amount n; the result is the type, its unsigned one, or
 * bool. */
typedef struct OpRow {
    ExprOp      op;
    const char *operands; /* letters */
    char        result;   /* t, u, b */
    bool        ints, floats, bools;
} OpRow;

/* clang-format off */
static const OpRow op_rows[] = {
    { EX_NEG, "a", 't', 1, 1, 0 },      { EX_ADD, "ab", 't', 1, 1, 0 },     { EX_SUB, "ab", 't', 1, 1, 0 },
           { EX_MUL, "ab", 't', 1, 1, 0 },
    { EX_DIV, "ab", 't', 1, 1, 0 },     { EX_MOD, "ab", 't', 1, 0, 0 },     { EX_MIN, "ab", 't', 1, 1, 0 },
           { EX_MAX, "ab", 't', 1, 1, 0 },
    { EX_ABS, "a", 't', 1, 1, 0 },      { EX_ABSD, "ab", 'u', 1, 0, 0 },    { EX_AVG_UP, "ab", 't', 1, 0, 0 },
        { EX_AVG_DOWN, "ab", 't', 1, 0, 0 },
    { EX_MUL_SHIFT, "abn", 't', 1, 0, 0 }, { EX_MUL_SHIFT, "abm", 't', 1, 0, 0 }, { EX_POPCOUNT, "a", 't', 1, 0, 0 },
      { EX_CLZ, "a", 't', 1, 0, 0 },
    { EX_SHL, "an", 't', 1, 0, 0 },     { EX_SHR, "an", 't', 1, 0, 0 },     { EX_SHL, "am", 't', 1, 0, 0 },
           { EX_SHR, "am", 't', 1, 0, 0 },
    { EX_SHL, "ab", 't', 1, 0, 0 },     { EX_SHR, "ab", 't', 1, 0, 0 },
    { EX_BIT_AND, "ab", 't', 1, 0, 1 }, { EX_BIT_OR, "ab", 't', 1, 0, 1 },  { EX_BIT_XOR, "ab", 't', 1, 0, 1 },
       { EX_BIT_NOT, "a", 't', 1, 0, 1 },
    { EX_FLOOR, "a", 't', 0, 1, 0 },    { EX_CEIL, "a", 't', 0, 1, 0 },     { EX_ROUND, "a", 't', 0, 1, 0 },
          { EX_TRUNC, "a", 't', 0, 1, 0 },
    { EX_SQRT, "a", 't', 0, 1, 0 },     { EX_RSQRT, "a", 't', 0, 1, 0 },    { EX_FMA, "abc", 't', 0, 1, 0 },
    { EX_LT, "ab", 'b', 1, 1, 1 },      { EX_LE, "ab", 'b', 1, 1, 1 },      { EX_EQ, "ab", 'b', 1, 1, 1 },
            { EX_NE, "ab", 'b', 1, 1, 1 },
    { EX_AND, "ab", 'b', 0, 0, 1 },     { EX_OR, "ab", 'b', 0, 0, 1 },      { EX_SELECT, "pab", 't', 1, 1, 1 },
};
/* clang-format on */

/* By constants: a op c. */
/* clang-format off */
static const struct { ExprOp op; kn_type amount; int64_t by[10]; } constant_rows[] = {
    { EX_DIV, KN_NONE, { 1, 2, 3, 7, 100, -1, -3, -8, 0, INT64_MIN } }, { EX_MOD, KN_NONE, { 1, 2, 3, 7, 100, -1, -3,
      -8, 0, INT64_MIN } },
    { EX_SHL, KN_I32, { 0, 1, 5, 7, 31, 200, -1, -7, -300, 63 } },      { EX_SHR, KN_I32, { 0, 1, 5, 7, 31, 200, -1,
      -7, -300, 63 } },
    { EX_MUL, KN_NONE, { 0, 1, 2, 3, -1, 16, -5, 127, 9, 10 } },
};
/* clang-format on */

typedef struct OpTest {
    Lowered     l;
    Buffer     *a, *b, *c, *n, *m, *p;
    int         outputs;
    const Stmt *stores[200];
    const Stmt *body; /* for the lanes that begin at xo * lanes */
} OpTest;

static inline const Expr *at_x(OpTest *t, int lanes)
{
    return ex_op(&t->l, EX_ADD, ex_op(&t->l, EX_MUL, ex_var(&t->l, "xo"), ex_i32(&t->l, lanes)), ex_var(&t->l, "x"));
}

static inline void add_output(OpTest *t, int lanes, const char *name, const Expr *value)
{
    char unique[64];
    snprintf(unique, sizeof unique, "%s.%d", name, t->outputs);
    Buffer *out             = lowered_port(&t->l, unique, BUFFER_OUTPUT, value->type, N);
    t->stores[t->outputs++] = st_store(&t->l, out, at_x(t, lanes), value);
}

static inline void add_operators(OpTest *t, kn_type type, int lanes)
{
    for (size_t i = 0; i < sizeof op_rows / sizeof *op_rows; i++) {
        const OpRow *row = &op_rows[i];
        if (!(type_is_float(type) ? row->floats : type == KN_BOOL ? row->bools : row->ints))
            continue;
        const Expr *args[3];
        const int   count = (int)strlen(row->operands);
        for (int k = 0; k < count; k++) {
            Buffer *from[] = { ['a' - 'a'] = t->a, ['b' - 'a'] = t->b, ['c' - 'a'] = t->c,
                               ['n' - 'a'] = t->n, ['m' - 'a'] = t->m, ['p' - 'a'] = t->p };
            args[k]        = ex_load(&t->l, from[row->operands[k] - 'a'], at_x(t, lanes));
        }
        const kn_type result = row->result == 'b' ? KN_BOOL : row->result == 'u' ? type_table[type].as_unsigned : type;
        ExprPool     *pool   = &t->l.pool;
        add_output(t, lanes, expr_op_table[row->op].name,
                   count == 1   ? expr_unary(pool, row->op, result, args[0])
                   : count == 2 ? expr_binary(pool, row->op, result, args[0], args[1])
                                : expr_ternary(pool, row->op, result, args[0], args[1], args[2]));
    }
}

static inline void add_constants(OpTest *t, kn_type type, int lanes)
{
    for (size_t i = 0; type_is_int(type) && i < sizeof constant_rows / sizeof *constant_rows; i++)
        for (int k = 0; k < 10; k++) {
            const kn_type amount = constant_rows[i].amount ? constant_rows[i].amount : type;
            int64_t       by     = constant_rows[i].by[k];
            by                   = by == INT64_MIN ? type_min(type) : by;
            add_output(t, lanes, expr_op_table[constant_rows[i].op].name,
                       expr_binary(&t->l.pool, constant_rows[i].op, type, ex_load(&t->l, t->a, at_x(t, lanes)),
                                   expr_int(&t->l.pool, amount, by)));
        }
}

static inline void add_conversions(OpTest *t, kn_type type, int lanes)
{
    const Expr *a = ex_load(&t->l, t->a, at_x(t, lanes));
    for (int to = KN_BOOL; to < KN_TYPE_COUNT; to++) {
        add_output(t, lanes, "cast", expr_unary(&t->l.pool, EX_CAST, to, a));
        add_output(t, lanes, "sat", expr_unary(&t->l.pool, EX_SAT_CAST, to, a));
        if (type_bits(to) == type_bits(type) && to != KN_BOOL)
            add_output(t, lanes, "reinterpret", expr_unary(&t->l.pool, EX_REINTERPRET, to, a));
    }
}

/* The program's inputs, with values. */
static inline void operators_begin(OpTest *t, kn_type type)
{
    lowered_begin(&t->l);
    t->a = lowered_port(&t->l, "a", BUFFER_INPUT, type, N);
    t->b = lowered_port(&t->l, "b", BUFFER_INPUT, type, N);
    t->c = lowered_port(&t->l, "c", BUFFER_INPUT, type, N);
    t->n = lowered_port(&t->l, "n", BUFFER_INPUT, KN_I32, N);
    t->m = lowered_port(&t->l, "m", BUFFER_INPUT, KN_U8, N);
    t->p = lowered_port(&t->l, "p", BUFFER_INPUT, KN_BOOL, N);
    for (int i = 0; i < N; i++) {
        lowered_set(&t->l, t->a, i, any(type, i, 0));
        lowered_set(&t->l, t->b, i, any(type, i, 1));
        lowered_set(&t->l, t->c, i, any(type, i + 3, 1));
        lowered_set(&t->l, t->n, i, (Lane){ .i = i % 4 ? (int64_t)(noise() % 150) - 75 : edge(KN_I32, i / 4).i });
        lowered_set(&t->l, t->m, i, (Lane){ .i = (int64_t)(noise() % (i % 4 ? 80 : 256)) });
        lowered_set(&t->l, t->p, i, (Lane){ .i = (int64_t)(noise() & 1) });
    }
}

#endif
