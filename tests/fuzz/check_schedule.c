/* Runs a program with a schedule and compares it with the interpreter, which obeys none.
 *
 *   parse      the text is refused (the generator's mistake, or the front end's)
 *   access     a rule of lowered code is broken (interp/execute.h)
 *   need       the lowered code wants more of an input than the interpreter, or ends with another error
 *   value      a value differs
 *   print      the plan as text is no schedule, or makes another plan
 *   gaps       something beside the elements of an output was written
 *   compile    what was executed is refused when it is compiled
 *   jit        compiled code ends with an error, or a value differs
 *   leak       memory is left */
#include "check_schedule.h"
#include "cases.h"
#include "interp/execute.h"
#include "lower/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Check {
    Run             reference, other;   /* other: the same arguments in other memory, the outputs to be written by the code under test */
    const Case     *c;
    const char     *text;
    uint64_t        seed;
    int             margin;
    bool            compile;
    ScheduleReport *report;
} Check;

/* The arguments once more, in other memory and perhaps with other strides. */
static void other_arguments(Check *k, uint64_t layout)
{
    Run *r = &k->other;
    run_free_grids(r);
    *r = k->reference;
    memset(r->grid, 0, sizeof r->grid);
    run_shape(r, k->c, k->margin);
    run_allocate(r, k->c, layout);
}

/* Nothing between the elements of the outputs was written. Overwrites the elements. */
static Verdict check_gaps(Check *k)
{
    const Run *r = &k->other;
    for (int i = 0; i < r->count; i++) {
        const Grid *g       = &r->grid[i];
        size_t      touched = 0;
        int64_t     at[KN_MAX_RANK];
        if (!is_output(r, i))
            continue;
        for (int64_t n = 0, count = grid_points(&g->b); n < count; n++) {
            grid_point(&g->b, n, at);
            memset(grid_at(&g->b, at), GAP, kn_type_size(g->b.type));
        }
        for (size_t b = 0; b <= g->size; b++)
            touched += g->block[b] != GAP;
        if (touched)
            return fail(&k->report->report, "gaps", "%s: %zu bytes between the elements were written", r->args[i].name, touched);
    }
    return PROGRAM_PASSED;
}

/* The other run has ended with `status`: is it right? */
static Verdict check_outcome(Check *k, kn_status status, const char *kind)
{
    if (status == KN_ERROR_BOUNDS && (strstr(kn_error_text(k->other.cx), "is needed") || strstr(kn_error_text(k->other.cx), "2^28"))) {
        k->report->asks_more = true;        /* boxes found by rules may be larger than those found for numbers; kn_run interprets then */
        return PROGRAM_SKIPPED;
    }
    if (status)
        return judge(&k->report->report, k->other.cx, status, kind);
    const Verdict verdict = compare(&k->other, &k->reference, "value");
    return verdict == PROGRAM_PASSED ? check_gaps(k) : verdict;
}

static Verdict refused(Check *k)
{
    const char *text = kn_error_text(k->reference.cx);
    if (strstr(text, "mistake in Kiln"))
        return fail(&k->report->report, "access", "%s", text);
    snprintf(k->report->refusal, sizeof k->report->refusal, "%s", text);
    return PROGRAM_SKIPPED;
}

static kn_status execute_arguments(const Run *r, Program *p)
{
    kn_buffer *ports[MOST_PORTS];
    kn_scalar  params[MOST_PORTS];
    int        port_count = 0, param_count = 0;
    for (int i = 0; i < r->count; i++)
        if (r->args[i].buffer)
            ports[port_count++] = r->args[i].buffer;
        else
            params[param_count++] = r->args[i].value;
    return execute(p, ports, params, NULL);
}

typedef struct Lowering {
    kn_pipeline *p;
    const char  *until;         /* the last pass; NULL: all */
    Arena        arena;
    Program     *program;
    const char  *printed;       /* the plan; NULL if there is none */
} Lowering;

static void lower_pipeline(void *arg)
{
    Lowering       *l = arg;
    const Schedule *schedule;
    if (!plan_choose(l->p, NULL, NULL, &schedule))
        return;
    Plan *plan = plan_make(l->p, schedule, &l->arena, 0);
    if (!plan)
        return;
    Text text;
    text_init(&text, &l->arena);
    plan_print(&text, plan);
    l->printed = text_string(&text);
    l->program = lower(plan, &(LowerOptions){ .strict_float = true, .until = l->until });
}

/* Skips the numbers that new names gain: x_1. */
static const char *skip_number(const char *at)
{
    while (at[0] == '_' && at[1] >= '0' && at[1] <= '9')
        at += 1 + strspn(at + 1, "0123456789");
    return at;
}

/* The same text, but for such numbers? */
static bool same_text(const char *a, const char *b)
{
    for (;; a++, b++) {
        a = skip_number(a);
        b = skip_number(b);
        if (*a != *b || !*a)
            return *a == *b;
    }
}

/* The plan that was printed, read as a schedule, is the same plan. */
static Verdict check_printed(Check *k, const Lowering *first)
{
    kn_context *cx      = k->reference.cx;
    Lowering    l       = { .p = first->p };
    Verdict     verdict = PROGRAM_PASSED;
    if (kn_schedule_parse(l.p, "printed.sched", first->printed, -1) != KN_OK)
        return cx->status == KN_ERROR_LIMIT ? PROGRAM_SKIPPED : fail(&k->report->report, "print", "%s", kn_error_text(cx));
    context_begin(cx);
    arena_init(&l.arena, cx);
    context_try(cx, lower_pipeline, &l);
    if (!l.printed)
        verdict = cx->status == KN_ERROR_LIMIT ? PROGRAM_SKIPPED : fail(&k->report->report, "print", "%s", kn_error_text(cx));
    else if (!same_text(l.printed, first->printed))
        verdict = fail(&k->report->report, "print", "printed\n%sbut that makes\n%s", first->printed, l.printed);
    arena_free(&l.arena);
    return verdict;
}

/* Executes with two layouts of memory. */
static Verdict execute_layouts(Check *k, Program *p)
{
    Verdict verdict = PROGRAM_PASSED;
    for (uint64_t layout = 0; verdict == PROGRAM_PASSED && layout < 2; layout++) {
        other_arguments(k, layout ? 1 + k->seed % 1000 : 0);
        context_begin(k->reference.cx);
        verdict = check_outcome(k, execute_arguments(&k->other, p), "need");
    }
    return verdict;
}

/* After a failure: the first pass after which the code is wrong is put behind the report. */
static void find_pass(Check *k)
{
    Report    *report = &k->report->report;
    const Report kept = *report;
    for (int i = 1; i < lower_pass_count && *report->text; i++) {
        Lowering l = { .p = k->reference.p, .until = lower_passes[i].name };
        arena_init(&l.arena, k->reference.cx);
        context_begin(k->reference.cx);
        context_try(k->reference.cx, lower_pipeline, &l);
        const Verdict verdict = l.program ? execute_layouts(k, l.program) : PROGRAM_FAILED;
        arena_free(&l.arena);
        *report = kept;
        if (verdict != PROGRAM_FAILED)
            continue;
        snprintf(report->text + strlen(report->text), sizeof report->text - strlen(report->text), " (wrong after the pass `%s`)", lower_passes[i].name);
        return;
    }
}

/* Compiles, with every access checked or as usual, and runs with two layouts of memory. */
static Verdict check_compiled(Check *k)
{
    kn_context *cx = k->reference.cx;
    kn_module  *m  = kn_compile(k->reference.p, &(kn_options){ .strict_float = true, .threads = 2, .check_access = k->seed % 2 });
    Verdict     verdict = PROGRAM_PASSED;
    if (!m)
        return cx->status == KN_ERROR_LIMIT ? PROGRAM_SKIPPED : fail(&k->report->report, "compile", "%s", kn_error_text(cx));
    for (uint64_t layout = 0; verdict == PROGRAM_PASSED && layout < 2; layout++) {
        other_arguments(k, layout ? 1 + k->seed % 1000 : 0);
        k->other.m = m;
        verdict    = check_outcome(k, run_go(&k->other), "jit");
        if (verdict == PROGRAM_FAILED && !strcmp(k->report->report.kind, "value"))
            k->report->report.kind = "jit";
    }
    if (verdict == PROGRAM_PASSED)
        k->report->reached = REACHED_COMPILED;
    return verdict;
}

/* Plans, lowers and executes; then the rest. */
static Verdict check_lowered(Check *k)
{
    kn_context *cx = k->reference.cx;
    Lowering    l  = { .p = k->reference.p };
    Verdict     verdict;
    context_begin(cx);
    arena_init(&l.arena, cx);
    context_try(cx, lower_pipeline, &l);
    if (l.printed)
        k->report->reached = REACHED_PLAN;
    verdict = l.program ? PROGRAM_PASSED : cx->status == KN_ERROR_LIMIT ? PROGRAM_SKIPPED : refused(k);
    if (verdict == PROGRAM_PASSED)
        verdict = execute_layouts(k, l.program);
    if (verdict == PROGRAM_PASSED)
        k->report->reached = REACHED_EXECUTED;
    if (verdict == PROGRAM_FAILED)
        find_pass(k);
    if (verdict == PROGRAM_PASSED && k->compile)
        verdict = check_compiled(k);
    if (l.printed && verdict != PROGRAM_FAILED && k->seed % 4 == 1)
        verdict = check_printed(k, &l) == PROGRAM_FAILED ? PROGRAM_FAILED : verdict;
    arena_free(&l.arena);
    return verdict;
}

/* The reference: what the interpreter says. */
static Verdict check_reference(Check *k)
{
    Run *r = &k->reference;
    if (!r->p)
        return fail(&k->report->report, "parse", "%s", kn_error_text(r->cx));
    r->m = kn_compile(r->p, &(kn_options){ .interpret = true });
    if (!r->m)
        return judge(&k->report->report, r->cx, KN_OK, "compile");
    Verdict verdict = find_shape(r, k->c, &k->margin);
    if (verdict != PROGRAM_PASSED)
        return verdict;
    run_allocate(r, k->c, 0);
    const kn_status status = run_go(r);
    if (status)
        return judge(&k->report->report, r->cx, status, "run");
    k->report->reached = REACHED_REFERENCE;
    return PROGRAM_PASSED;
}

Verdict check_schedule(const char *text, uint64_t seed, bool compile, ScheduleReport *report)
{
    MemoryUse  memory = { .fail_at = -1 };
    const Case c      = read_comments(text);
    Check      k      = { .c = &c, .text = text, .seed = seed, .compile = compile, .report = report };
    *report = (ScheduleReport){ .report = { .kind = "" } };
    k.reference = (Run){ .memory = &memory, .cx = context_with(&memory), .report = &report->report };
    k.reference.p = kn_parse(k.reference.cx, "program.kiln", text, -1);
    Verdict verdict = check_reference(&k);
    if (verdict == PROGRAM_PASSED)
        verdict = check_lowered(&k);
    run_free_grids(&k.other);
    run_end(&k.reference);
    return verdict != PROGRAM_FAILED && memory.live ? fail(&report->report, "leak", "%lld blocks", (long long)memory.live) : verdict;
}
