/* SPDX-License-Identifier: MIT */
/* What is legal: tables of nests, each with the fault that is found, and of levels. The planner's messages are in
 * test_plan_refused.c, what schedulers make of it in the schedule fuzzer; here the rules are asked directly. */
#include "legal/levels.h"
#include "legal/nest.h"
#include "legal/window.h"

#include "check.h"

enum { X = 1u << 0, Y = 1u << 1, R = 1u << FIRST_RVAR, Q = 1u << (FIRST_RVAR + 1) };

/* ---- Nests ------------------------------------------------------------------------------ */

static const DefFacts pure     = { .free = X | Y, .own_place = true, .steps = 1 };
static const DefFacts sum      = { .free = X | Y, .rvars = R | Q, .own_place = true, .combines = true };
static const DefFacts float_   = { .free = X | Y, .rvars = R | Q, .own_place = true, .inexact = true };
static const DefFacts scatter  = { .free = Y, .rvars = R | Q, .own_place = true, .apart = R };
static const DefFacts stencil  = { .free = X | Y, .rvars = R, .reads_self = true, .other_points = X };
static const DefFacts triangle = { .free = X, .rvars = R | Q, .bounding = X | R, .bounds = { X, R }, .combines = true };

#define FOR(v, number)                                                                                                 \
    {                                                                                                                  \
        LOOP_SERIAL, v, 0, number                                                                                      \
    }
#define PARALLEL(v, number)                                                                                            \
    {                                                                                                                  \
        LOOP_PARALLEL, v, 0, number                                                                                    \
    }
#define VECTOR(v, n)                                                                                                   \
    {                                                                                                                  \
        LOOP_VECTOR, v, n, 0                                                                                           \
    }
#define UNROLL(v, n)                                                                                                   \
    {                                                                                                                  \
        LOOP_UNROLL, v, n, 0                                                                                           \
    }

#define FINE                                                                                                           \
    {                                                                                                                  \
        NEST_LEGAL, -1, -1                                                                                             \
    }

typedef struct NestRow {
    const char     *what;
    const DefFacts *facts;
    int             count;
    NestLoop        loops[4];
    bool            atomic;
    NestVerdict     expected;
} NestRow;

/* clang-format off */
static const NestRow nests[] = {
    { "rows in parallel, vectors inside", &pure, 2,
      { PARALLEL(Y, 0), VECTOR(X, 8) }, false, FINE },
    { "a vector loop in another", &pure, 2,
      { VECTOR(Y, 4), VECTOR(X, 8) }, false, { NEST_TWO_VECTORS, 1, 0 } },
    { "as wide as may be", &pure, 1,
      { VECTOR(X, LEGAL_LANES) }, false, FINE },
    { "one lane too many", &pure, 1,
      { VECTOR(X, LEGAL_LANES + 1) }, false, { NEST_WIDE_VECTOR, 0, -1 } },
    { "parallel inside a vector", &pure, 2,
      { VECTOR(X, 8), PARALLEL(Y, 0) }, false, { NEST_PARALLEL_IN_VECTOR, 1, 0 } },
    { "64 * 64 copies", &pure, 2,
      { UNROLL(Y, 64), UNROLL(X, 64) }, false, FINE },
    { "64 * 65 copies", &pure, 2,
      { UNROLL(Y, 64), UNROLL(X, 65) }, false, { NEST_MANY_COPIES, 1, -1 } },
    { "steps of an integer sum in another order", &sum, 3,
      { FOR(Q, 1), FOR(R, 0), FOR(X, 0) }, false, FINE },
    { "steps of a float sum in their order", &float_, 3,
      { FOR(R, 0), FOR(Q, 1), FOR(X, 0) }, false, FINE },
    { "steps of a float sum in another order", &float_, 3,
      { FOR(Q, 1), FOR(R, 0), FOR(X, 0) }, false, { NEST_STEP_ORDER, -1, -1 } },
    { "points outside steps", &float_, 3,
      { FOR(X, 0), FOR(R, 0), FOR(Q, 1) }, false, FINE },
    { "points outside steps that read others", &stencil, 2,
      { FOR(X, 0), FOR(R, 0) }, false, { NEST_POINTS_OUTSIDE, 0, 1 } },
    { "points along which steps read no others, outside them", &stencil, 3,
      { PARALLEL(Y, 0), FOR(R, 0), FOR(X, 0) }, false, FINE },
    { "a fused loop over points of both kinds", &stencil, 2,
      { FOR(X | Y, 0), FOR(R, 0) }, false, { NEST_POINTS_OUTSIDE, 0, 1 } },
    { "points inside steps that read others", &stencil, 2,
      { FOR(R, 0), PARALLEL(X, 0) }, false, FINE },
    { "steps of a sum at once", &sum, 2,
      { PARALLEL(R, 0), FOR(Q, 1) }, false, { NEST_STEPS_AT_ONCE, 0, -1 } },
    { "atomic steps at once", &sum, 2,
      { PARALLEL(R, 0), FOR(Q, 1) }, true, FINE },
    { "atomic does not help floats", &float_, 2,
      { PARALLEL(R, 0), FOR(Q, 1) }, true, { NEST_STEPS_AT_ONCE, 0, -1 } },
    { "steps with places of their own", &scatter, 2,
      { PARALLEL(R, 0), FOR(Q, 1) }, false, FINE },
    { "steps without", &scatter, 2,
      { FOR(R, 0), PARALLEL(Q, 1) }, false, { NEST_STEPS_AT_ONCE, 1, -1 } },
    { "bounds that are known", &triangle, 3,
      { FOR(X, 0), FOR(R, 0), FOR(Q, 1) }, false, FINE },
    { "a loop inside the one it bounds", &triangle, 3,
      { FOR(R, 0), FOR(X, 0), FOR(Q, 1) }, false, { NEST_BOUND_INSIDE, 1, 0 } },
    { "a fused loop that bounds itself", &triangle, 2,
      { FOR(X | R, 0), FOR(Q, 1) }, false, { NEST_BOUND_FUSED, 0, 0 } },
    { "lanes that differ in their steps", &triangle, 3,
      { VECTOR(X, 8), FOR(R, 0), FOR(Q, 1) }, false, { NEST_BOUND_VECTOR, 0, -1 } },
};
/* clang-format on */

static void test_nests(void)
{
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        const NestRow    *row = &nests[i];
        const NestVerdict v   = nest_check(
              &(Nesting){ .facts = row->facts, .loops = row->loops, .count = row->count, .atomic = row->atomic });
        CHECK(v.fault == row->expected.fault && v.loop == row->expected.loop && v.other == row->expected.other,
              "%s: fault %d of loops %d, %d; expected %d of %d, %d", row->what, (int)v.fault, v.loop, v.other,
              (int)row->expected.fault, row->expected.loop, row->expected.other);
    }
    const NestLoop both = FOR(X | R, 0);
    CHECK(nest_check(&(Nesting){ .facts = &stencil, .loops = &both, .count = 1, .mixed = true }).fault ==
              NEST_POINTS_AND_STEPS,
          "one loop over points and steps");
    CHECK(nest_check(&(Nesting){ .facts = &float_, .loops = &both, .count = 1, .order_lost = true }).fault ==
              NEST_STEP_ORDER,
          "a fused loop in another order");
}

/* ---- Levels ----------------------------------------------------------------------------- */

/* out has loops 0, 1, 2, of which 1 is parallel; a is computed in loop 2 of out, b in loop 0 of a, c in loop 0 of out.
 */
typedef struct Def {
    TreeLevel computed;
    int       parallel;
} Def;

static const Def out = { { NULL, -1 }, 1 }, a = { { &out, 2 }, -1 }, b = { { &a, 0 }, -1 }, c = { { &out, 0 }, -1 };

static TreeLevel around(const void *of, const void *def)
{
    (void)of;
    return ((const Def *)def)->computed;
}

static bool is_parallel(const void *of, TreeLevel l)
{
    (void)of;
    return ((const Def *)l.def)->parallel == l.loop;
}

static void test_levels(void)
{
    const LevelTree t    = { NULL, around, is_parallel };
    const TreeLevel root = { NULL, -1 }, o0 = { &out, 0 }, o1 = { &out, 1 }, o2 = { &out, 2 }, b1 = { &b, 1 },
                    c0 = { &c, 0 };
    CHECK(tree_encloses(&t, root, b1) && !tree_encloses(&t, b1, root), "root is around all");
    CHECK(tree_encloses(&t, o2, b1) && tree_encloses(&t, o0, c0), "a level is around what is inside");
    CHECK(!tree_encloses(&t, o1, c0) && !tree_encloses(&t, c0, b1), "and around nothing else");
    CHECK(tree_same(tree_around_both(&t, b1, c0), o0), "what is around both");
    CHECK(tree_same(tree_around_both(&t, o2, o1), o1) && !tree_around_both(&t, root, b1).def,
          "of one definition, and root");
    CHECK(tree_same(tree_within(&t, b1, &out), o2) && !tree_within(&t, c0, &a).def, "the level of one definition");
    CHECK(tree_same(tree_parallel_between(&t, o0, b1), o1), "stored outside a parallel loop");
    CHECK(!tree_parallel_between(&t, o1, b1).def && !tree_parallel_between(&t, root, c0).def, "and not outside");
}

/* ---- Facts ------------------------------------------------------------------------------ */

typedef struct FactRow {
    const char *update;                                /* of s(x, y) = 0 */
    bool        combines, inexact, own_place, expands; /* of it */
    uint32_t    other_points, apart, bounding;
} FactRow;

/* clang-format off */
static const FactRow facts_of[] = {
    { "s(x, y) += in(x+r, y) for r in 0..3",                    true,  false, true,  true,  0, 0, 0 },
    { "s(x, y) += in(x+r, y) for r in 0..65",                   true,  false, true,  false, 0, 0, 0 },
    { "s(x, y) = in(x+r, y) - s(x, y) for r in 0..3",           false, false, true,  true,  0, 0, 0 },
    { "s(x, y) = s(x, y) - in(x+r, y) for r in 0..3",           true,  false, true,  true,  0, 0, 0 },
    { "s(x, y) += s(x, y) for r in 0..3",                       false, false, true,  true,  0, 0, 0 },
    { "s(x, r) = s(x+1, r-1) for r in 1..9",                    false, false, false, false, X, 0, 0 },
    { "s(r, y) = s(r-1, y+1) for r in 1..9",                    false, false, false, false, Y, 0, 0 },
    { "s(2*r, y) = in(r, y) for r in 0..9",                     false, false, true,  false, 0, R, 0 },
    { "s(in(r, 0), y) += 1 for r in 0..9",                      true,  false, true,  false, 0, 0, 0 },
    { "s(x, y) += in(r, q) for r in 0..x, q in 0..r",           true,  false, true,  false, 0, 0, X | R },
};
/* clang-format on */

static void test_facts(kn_context *cx, const FactRow *row)
{
    char text[400];
    snprintf(text, sizeof text, "input in : i32(x, y) output s s(x, y) = 0 %s", row->update);
    kn_pipeline *p = kn_parse(cx, "facts.kiln", text, -1);
    CHECK(p, "%s: %s", row->update, kn_error_text(cx));
    if (!p)
        return;
    const Func    *f     = p->outputs.at[0].func;
    const DefFacts facts = def_facts(&p->exprs, f, 0);
    CHECK(facts.combines == row->combines && facts.inexact == row->inexact, "%s: combines %d, inexact %d", row->update,
          facts.combines, facts.inexact);
    CHECK(facts.own_place == row->own_place && facts.other_points == row->other_points,
          "%s: own place %d, other points %x", row->update, facts.own_place, facts.other_points);
    CHECK(facts.apart == row->apart && facts.bounding == row->bounding, "%s: apart %x, bounding %x", row->update,
          facts.apart, facts.bounding);
    CHECK(func_expands(&p->exprs, f) == row->expands, "%s: expands", row->update);
    kn_pipeline_free(p);
}

/* ---- Windows ---------------------------------------------------------------------------- */

typedef struct WindowRow {
    const char *value; /* of s(x, y) += value for j in 0..3, i in 0..3 */
    bool        separates;
    int64_t     a, c; /* the direction of x and i; 0, 0: none */
    bool        doubles;
} WindowRow;

static const WindowRow windows[] = {
    { "(i+1) * (j+1) * in(x+i, y+j)", true, 1, 1, false },
    { "in(2*x + 4*i, y+j)", true, 1, 2, true },
    { "in(x+i, y+j) * in(x-i, y+j)", false, 0, 0, false },
    { "in(x+i+j, y)", true, 1, 1, true },
    { "in(x+i, y+j) * i * i", true, 1, 1, false },
    { "in(x, i) * in(y, j)", true, 0, 0, false },
    { "max(in(x+i, y+j), i * j)", false, 0, 0, false },
    { "max(in(x-i, y+j), x-i)", true, 1, -1, true },
    { "in(x+i, y+j) * x", true, 1, 1, false },
    { "in(x, y+j)", true, 1, 0, false },
};

static void test_window(kn_context *cx, const WindowRow *row)
{
    char  text[400];
    Arena scratch;
    snprintf(text, sizeof text, "input in : i32(x, y) output s s(x, y) = 0 s(x, y) += %s for j in 0..3, i in 0..3",
             row->value);
    kn_pipeline *p = kn_parse(cx, "window.kiln", text, -1);
    CHECK(p, "%s: %s", row->value, kn_error_text(cx));
    if (!p)
        return;
    scratch_begin(&scratch, cx);
    Window     w  = window_of(&p->exprs, &scratch, p->outputs.at[0].func, 0, 1, 0);
    const bool ok = window_separates(&w);
    CHECK(ok == row->separates && (!ok || w.by.known == (row->a != 0)), "%s separates: %d", row->value, ok);
    CHECK(!ok || !w.by.known || (w.by.a == row->a && w.by.c == row->c), "%s: direction %lld, %lld", row->value,
          (long long)w.by.a, (long long)w.by.c);
    w = window_of(&p->exprs, &scratch, p->outputs.at[0].func, 0, 1, 0);
    CHECK(window_doubles(&w) == row->doubles, "%s doubles", row->value);
    scratch_end(&scratch);
    kn_pipeline_free(p);
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    test_nests();
    test_levels();
    for (size_t i = 0; i < sizeof facts_of / sizeof *facts_of; i++)
        test_facts(cx, &facts_of[i]);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        test_window(cx, &windows[i]);
    kn_context_free(cx);
    return check_done();
}
