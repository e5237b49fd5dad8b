/* SPDX-License-Identifier: MIT */
/* What the tests of plans share: the programs, and a row of their tables with what is done with it. */
#ifndef KILN_TESTS_PLAN_ROWS_H
#define KILN_TESTS_PLAN_ROWS_H

#include "base/text.h"
#include "plan/plan.h"

#include "check.h"

/* ---- Programs --------------------------------------------------------------------------- */

#define BLUR                                                                                                           \
    "input in : u16(x, y) output out "                                                                                 \
    "blurx(x, y) = (in(x-1, y) + in(x, y) + in(x+1, y)) / 3 "                                                          \
    "out(x, y) = (blurx(x, y-1) + blurx(x, y) + blurx(x, y+1)) / 3"
#define CHAIN                                                                                                          \
    "input in : f32(x, y) output out "                                                                                 \
    "a(x, y) = in(x, y) + in(x+1, y) "                                                                                 \
    "b(x, y) = a(x, y) * a(x, y+1) "                                                                                   \
    "c(x, y) = b(x, y) - b(x+1, y) "                                                                                   \
    "out(x, y) = c(x, y) + c(x, y+1)"
#define WINDOW                                                                                                         \
    "input in : u16(x, y) output out "                                                                                 \
    "s(x, y) = 0 s(x, y) += (i+3) * (j+3) * in(x+i, y+j) for j in -2..3, i in -2..3 "                                  \
    "out(x, y) = s(x, y)"
#define HIST                                                                                                           \
    "input in : u8(x, y) output out "                                                                                  \
    "hist(i) = 0 hist(in(u, v)) += 1 for v in 0..in.height, u in 0..in.width "                                         \
    "out(i) = hist(i)"
#define SUMS                                                                                                           \
    "input in : i32(x, y) output out "                                                                                 \
    "s(x) = 0 s(x) += in(x, r) + q for q in 0..8, r in 0..100 "                                                        \
    "out(x) = s(x)"
#define FSUM                                                                                                           \
    "input in : f32(x, y) output out "                                                                                 \
    "s(x) = 0.0 s(x) += in(x, r) for q in 0..8, r in 0..100 "                                                          \
    "out(x) = s(x)"
#define SCAN                                                                                                           \
    "input in : f32(x, y) output out "                                                                                 \
    "out(x, y) = in(x, y) out(k, y) = out(k-1, y) * 0.5 + out(k, y) for k in 1..100"
#define HEAT                                                                                                           \
    "input in : f32(x) output out "                                                                                    \
    "a(x, t) = in(x) a(x, t) = a(x+1, t-1) + a(x-1, t-1) for t in 1..9 "                                               \
    "out(x) = a(x, 8)"
#define COPY                                                                                                           \
    "input in : i32(x) output out "                                                                                    \
    "f(x) = 0 f(2*r + 1) = in(r) for r in 0..100 "                                                                     \
    "f(x) = if x > 3 then x else 5 out(x) = f(x)"
#define TRI                                                                                                            \
    "input in : i32(x) output out "                                                                                    \
    "f(x) = 0 f(x) += in(r) for q in 0..x, r in 0..q "                                                                 \
    "out(x) = f(x)"
#define BEST                                                                                                           \
    "input in : i32(x) output out "                                                                                    \
    "b(x) = (0, 0) b(x) = if in(x + r) > b(x).0 then (in(x + r), r) else b(x) for r in 0..9 "                          \
    "out(x) = b(x).1"
#define FOR_CPUS "parallel and vectorize are for CPUs; --target cuda or --target opencl is for GPUs"
#define STAGE                                                                                                          \
    "input in : u8(x) output out f(x) = in(x) extern stage ext(f) : u8(x) g(x) = ext(x) + 1 out(x) = g(x) + g(x+1)"
#define PAIR                                                                                                           \
    "input in : f32(x, y) output out "                                                                                 \
    "a(x, y) = sqrt(in(x-1, y)) "                                                                                      \
    "b(x, y) = sqrt(in(x, y-1)) "                                                                                      \
    "out(x, y) = a(x, y) + a(x+1, y) + b(x, y) + b(x+1, y)"
#define TWO                                                                                                            \
    "input in : f32(x, y) param k : i32 output one, two "                                                              \
    "f(x, y) = sqrt(in(x, y)) * sqrt(in(x+1, y)) + sqrt(in(x, y+1)) "                                                  \
    "one(x, y) = f(x, y) two(x, y) = f(x, y+1)"

typedef struct Row {
    const char *program, *schedule, *expected; /* the plan's text; of a refused schedule "message = remedy" */
} Row;
/* ---- Running ---------------------------------------------------------------------------- */

typedef struct Making {
    kn_pipeline *pipeline;
    TargetKind   kind;
    Arena        arena;
    Plan        *plan;
    Text         text;
} Making;

static inline void plan_make_text(void *arg)
{
    Making         *m = arg;
    const Schedule *s;
    text_init(&m->text, &m->arena);
    m->plan = plan_choose(m->pipeline, NULL, NULL, &s)
                  ? plan_make(m->pipeline, s, &m->arena, (PlanTarget){ .kind = m->kind })
                  : NULL;
    if (m->plan)
        plan_print(&m->text, m->plan);
}

/* The plan of a program and a schedule as text; or the first error, as "message = remedy". */
static inline const char *plan_text(kn_context *cx, TargetKind kind, const char *program, const char *schedule,
                                    Arena *keep, bool *ok)
{
    Making m = { .pipeline = kn_parse(cx, "program", program, -1), .kind = kind };
    *ok      = false;
    if (!m.pipeline)
        return kn_error_text(cx);
    if (!*schedule || kn_schedule_parse(m.pipeline, "schedule", schedule, -1) == KN_OK) {
        context_begin(cx);
        arena_init(&m.arena, cx);
        *ok = context_try(cx, plan_make_text, &m) && m.plan;
    }
    const char *text = "";
    if (*ok)
        text = arena_strdup(keep, text_string(&m.text));
    else if (cx->diags.count)
        text = arena_printf(keep, "%s%s%s", cx->diags.at[0].message, cx->diags.at[0].remedy ? " = " : "",
                            cx->diags.at[0].remedy ? cx->diags.at[0].remedy : "");
    arena_free(&m.arena);
    kn_pipeline_free(m.pipeline);
    return text;
}

/* kn_check obeys and refuses what compiling does, and says the same of what it refuses. */
static inline void check_agrees(kn_context *cx, const Row *row, bool obeys)
{
    kn_pipeline *p = kn_parse(cx, "program", row->program, -1);
    if (p && (!*row->schedule || kn_schedule_parse(p, "schedule", row->schedule, -1) == KN_OK)) {
        const bool checked = kn_check(p, NULL) == KN_OK;
        char      *said    = strdup(kn_error_text(cx));
        CHECK(checked == obeys, "%s\n  kn_check says %s", row->schedule, said);
        CHECK(obeys || (!kn_compile(p, NULL) && !strcmp(said, kn_error_text(cx))),
              "%s\n  kn_check says %s, kn_compile %s", row->schedule, said, kn_error_text(cx));
        free(said);
    }
    kn_pipeline_free(p);
}

static inline void check_row(kn_context *cx, TargetKind kind, const Row *row, bool obeys, bool *errors)
{
    Arena keep;
    bool  ok;
    arena_init(&keep, cx);
    const char *text = plan_text(cx, kind, row->program, row->schedule, &keep, &ok);
    for (int id = 0; !obeys && id < ERROR_COUNT; id++)
        errors[id] |= diag_has(cx, (ErrorId)id);
    CHECK(ok == obeys && !strcmp(text, row->expected), "%s\n  gives    %s\n  not      %s", row->schedule, text,
          row->expected);
    if (ok) {
        const char *again = plan_text(cx, kind, row->program, text, &keep, &ok);
        CHECK(ok && !strcmp(again, text), "%s\n  reads back as %s", text, again);
    }
    arena_free(&keep);
    if (kind == TARGET_CPU)
        check_agrees(cx, row, obeys);
}

#endif
