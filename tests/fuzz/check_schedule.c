/* SPDX-License-Identifier: MIT */
/* Runs a pipeline with schedules and compares it with the interpreter, which obeys none. What can fail:
 *
 *   parse      the text is refused (the generator's mistake, or the front end's)
 *   run        the interpreter ends with an error
 *   access     a rule of lowered code is broken (interp/execute.h)
 *   need       the lowered code ends with an error that the interpreter did not have
 *   value      a value differs
 *   print      the plan as text is no schedule, or makes another plan
 *   gaps       something beside the elements of an output was written
 *   compile    what was executed is refused when it is compiled
 *   jit        compiled code ends with an error, or a value differs
 *   unused     with CHECK_USED: kn_run has interpreted, although there is compiled code, or refused what the
 *              interpreter does
 *   leak       memory is left */
#include "check_schedule.h"
#include "api/call.h"
#include "interp/execute.h"
#include "lower/lower.h"
#include "sizes.h"
#include "stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a size that is one of many: the points of all functions, the steps of lowered code; and how often a schedule may
 * take more of them. */
enum { FEW_POINTS = 20000, FEW_STEPS = 200000, FEW_TIMES = 2 };

/* ---- The pipeline and its sizes ----------------------------------------------------------- */

/* Widens what is needed of each function by the regions of one more size; the number of points in all of them. */
static double widen_reach(Subject *s, const kn_region *regions, int count)
{
    const double points = region_points(regions, count);
    for (int i = 0; points <= s->most_points && i < count; i++)
        for (size_t k = 0; k < s->p->funcs.count; k++) {
            Reach *reach = &s->reach[k];
            if (strcmp(s->p->funcs.at[k]->name, regions[i].name))
                continue;
            for (int d = 0; d < regions[i].rank; d++) {
                const int32_t min = regions[i].min[d], max = min + regions[i].extent[d] - 1;
                reach->min[d] = reach->known && reach->min[d] < min ? reach->min[d] : min;
                reach->max[d] = reach->known && reach->max[d] > max ? reach->max[d] : max;
            }
            reach->known = true;
        }
    return points;
}

/* Makes inputs larger until they suffice: those that `fit_inputs` leaves alone. The case says their boxes then. */
static bool make_inputs_suffice(Run *r, Case *c, const kn_region **regions, int *count)
{
    static const int margins[] = { 0, 2, 7, 24 };
    for (size_t k = 0; k < sizeof margins / sizeof *margins; k++) {
        if (!run_shape(r, c, margins[k]))
            return false;
        if (kn_bounds(r->m, r->args, r->count, regions, count) != KN_OK)
            continue;
        for (int i = 0; i < r->count; i++)
            if (kn_port_get(r->p, i).kind == KN_INPUT)
                memcpy(change_slot(c, r->args[i].name)->dim, r->grid[i].b.dim, sizeof r->grid[i].b.dim);
        return true;
    }
    return false;
}

/* Runs the interpreter at the next size, which becomes one of the subject's if that goes well. */
static Verdict add_size(Subject *s, ScheduleReport *report)
{
    Case            *c = &s->cases[s->count];
    Run             *r = &s->references[s->count];
    const kn_region *regions;
    int              count;
    r->memory = &s->memory;
    r->cx     = s->cx;
    r->p      = s->p;
    r->m      = s->interpreter;
    r->report = &report->report;
    if (!make_inputs_suffice(r, c, &regions, &count))
        return diag_has(s->cx, ERROR_INTERNAL) ? fail(&report->report, "access", "%s", kn_error_text(s->cx))
                                               : PROGRAM_SKIPPED;
    double points = widen_reach(s, regions, count);
    for (int i = 0; i < r->count; i++)
        points += r->args[i].buffer ? (double)grid_points(r->args[i].buffer) : 0;
    if (points > s->most_points)
        return PROGRAM_SKIPPED;
    run_allocate(r, c, c->layout);
    const kn_status status = run_go(r);
    if (status) {
        run_free_grids(r);
        return judge(&report->report, s->cx, status, "run");
    }
    s->count++;
    return PROGRAM_PASSED;
}

Subject *subject_new(const char *text, Choices *choices, int more, ScheduleReport *report)
{
    Subject *s        = calloc(1, sizeof *s);
    s->memory.fail_at = -1;
    s->most_points    = choices ? FEW_POINTS : MOST_POINTS;
    s->few_steps      = choices != NULL;
    s->cx             = context_with(&s->memory);
    stages_register(s->cx);
    s->p    = kn_parse(s->cx, "program.kiln", text, -1);
    *report = (ScheduleReport){ .report = { .kind = "" } };
    if (!s->p) {
        fail(&report->report, "parse", "%s", kn_error_text(s->cx));
        return s;
    }
    s->interpreter  = kn_compile(s->p, &(kn_options){ .interpret = true });
    s->reach        = calloc(s->p->funcs.count + 1, sizeof *s->reach);
    const Case base = read_comments(text);
    for (int k = 0; s->interpreter && k <= more && s->count < MOST_SIZES && !*report->report.kind; k++) {
        Case *c = &s->cases[s->count];
        Run  *r = &s->references[s->count];
        *c      = base;
        if (k)
            vary_sizes(choices, c);
        r->p = s->p;
        r->m = s->interpreter;
        if (choices)
            fit_inputs(choices, r, c);
        add_size(s, report);
    }
    return s;
}

void subject_add_layout(Subject *s, uint64_t layout)
{
    ScheduleReport unwanted = { .size = 0 };
    if (!s->count || s->count == MOST_SIZES)
        return;
    s->cases[s->count]        = s->cases[0];
    s->cases[s->count].layout = layout;
    add_size(s, &unwanted);
}

bool subject_free(Subject *s, ScheduleReport *report)
{
    for (int i = 0; i < s->count; i++)
        run_free_grids(&s->references[i]);
    kn_context_free(s->cx);
    const long long left = s->memory.live;
    free(s->reach);
    free(s);
    if (left)
        fail(&report->report, "leak", "%lld blocks", left);
    return !left;
}

/* ---- Comparing ---------------------------------------------------------------------------- */

typedef struct Check {
    Subject        *s;
    const Run      *reference;
    Run             other; /* the same inputs, the outputs in other memory, to be written by the code under test */
    ScheduleReport *report;
} Check;

/* The arguments of a size, with outputs of their own. */
static void begin_size(Check *k, int size)
{
    k->report->size = size;
    k->reference    = &k->s->references[size];
    k->other        = *k->reference;
    k->other.report = &k->report->report;
    for (int i = 0; i < k->other.count; i++) {
        if (k->other.args[i].buffer)
            k->other.args[i].buffer = &k->other.grid[i].b;
        if (is_output(&k->other, i))
            grid_allocate(&k->other.grid[i], k->s->cases[size].layout ? k->s->cases[size].layout + (uint64_t)i : 0);
    }
}

static void end_size(Check *k)
{
    for (int i = 0; i < k->other.count; i++)
        if (is_output(&k->other, i))
            grid_free(&k->other.grid[i]);
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
        for (size_t b = 0; b < g->size; b++)
            touched += g->block[b] != GAP;
        if (touched)
            return fail(&k->report->report, "gaps", "%s: %zu bytes between the elements were written", r->args[i].name,
                        touched);
    }
    return PROGRAM_PASSED;
}

/* Boxes found by rules may be larger than those found for numbers; kn_run interprets then. And what is wrong with
 * arguments that went well in the reference is a promise of `bound`. */
static bool asks_for_more(kn_status status)
{
    return status == KN_ERROR_ARGUMENT || status == KN_ERROR_BOUNDS;
}

static Verdict check_values(Check *k)
{
    const Verdict verdict = compare(&k->other, k->reference, "value");
    return verdict == PROGRAM_PASSED ? check_gaps(k) : verdict;
}

/* The other run has ended with `status`: is it right? */
static Verdict check_outcome(Check *k, kn_status status, const char *kind)
{
    if (!status)
        return check_values(k);
    if (asks_for_more(status) && !diag_has(k->s->cx, ERROR_INTERNAL)) {
        k->report->asks_more++;
        return PROGRAM_SKIPPED;
    }
    k->report->too_much += status == KN_ERROR_LIMIT;
    return judge(&k->report->report, k->s->cx, status, kind);
}

Verdict subject_call(Subject *s, int size, SubjectCode *code, void *user, const char *kind, ScheduleReport *report)
{
    Check       k     = { .s = s, .report = report };
    const char *error = "";
    begin_size(&k, size);
    const kn_status status  = code(user, &k.other, &error);
    const bool      more    = asks_for_more(status);
    Verdict         verdict = status ? PROGRAM_SKIPPED : check_values(&k);
    if (status && !more && status != KN_ERROR_LIMIT)
        verdict = fail(&report->report, kind, "status %d: %s", (int)status, error);
    else if (verdict == PROGRAM_FAILED)
        report->report.kind = kind;
    report->asks_more += more;
    report->too_much += status == KN_ERROR_LIMIT;
    end_size(&k);
    return verdict;
}

/* Executes at one size. */
static Verdict execute_size(Check *k, Program *p, int size)
{
    kn_buffer *ports[MOST_PORTS];
    kn_scalar  params[MOST_PORTS];
    int        port_count = 0, param_count = 0;
    begin_size(k, size);
    for (int i = 0; i < k->other.count; i++)
        if (k->other.args[i].buffer)
            ports[port_count++] = k->other.args[i].buffer;
        else
            params[param_count++] = k->other.args[i].value;
    context_begin(k->s->cx);
    if (k->s->few_steps)
        k->s->cx->quota_left = FEW_STEPS;
    const Verdict verdict = check_outcome(k, execute(p, ports, params, NULL), "need");
    end_size(k);
    return verdict;
}

/* ---- Lowering ----------------------------------------------------------------------------- */

typedef struct Lowering {
    kn_pipeline *p;
    const char  *until; /* the last pass; NULL: all */
    bool         gpu;   /* for a device */
    Arena        arena;
    Program     *program;
    const char  *printed; /* the plan; NULL if there is none */
} Lowering;

static void lower_pipeline(void *arg)
{
    Lowering       *l = arg;
    const Schedule *schedule;
    if (!plan_choose(l->p, NULL, NULL, &schedule))
        return;
    Plan *plan = plan_make(l->p, schedule, &l->arena, (PlanTarget){ .kind = l->gpu ? TARGET_GPU : TARGET_CPU });
    if (!plan)
        return;
    Text text;
    text_init(&text, &l->arena);
    plan_print(&text, plan);
    l->printed = text_string(&text);
    l->program = lower(
        plan, &(LowerOptions){ .strict_float = true, .until = l->until, .passes = l->gpu ? PASSES_GPU : PASSES_CPU });
}

static void begin_lowering(Lowering *l, Subject *s)
{
    context_begin(s->cx);
    arena_init(&l->arena, s->cx);
    context_try(s->cx, lower_pipeline, l);
}

static Verdict refused(Check *k)
{
    const char *text = kn_error_text(k->s->cx);
    if (diag_has(k->s->cx, ERROR_INTERNAL))
        return fail(&k->report->report, "access", "%s", text);
    k->report->uncompilable = diag_has(k->s->cx, ERROR_UNCOMPILABLE);
    snprintf(k->report->refusal, sizeof k->report->refusal, "%s", text);
    return PROGRAM_SKIPPED;
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
    kn_context *cx      = k->s->cx;
    Report     *report  = &k->report->report;
    Lowering    l       = { .p = first->p, .gpu = first->gpu };
    Verdict     verdict = PROGRAM_PASSED;
    if (kn_schedule_parse(l.p, "printed.sched", first->printed, -1) != KN_OK)
        return cx->status == KN_ERROR_LIMIT ? PROGRAM_SKIPPED : fail(report, "print", "%s", kn_error_text(cx));
    begin_lowering(&l, k->s);
    if (!l.printed)
        verdict = cx->status == KN_ERROR_LIMIT ? PROGRAM_SKIPPED : fail(report, "print", "%s", kn_error_text(cx));
    else if (!same_text(l.printed, first->printed))
        verdict = fail(report, "print", "printed\n%sbut that makes\n%s", first->printed, l.printed);
    arena_free(&l.arena);
    return verdict;
}

/* Block and thread loops as parallel ones: what they are before there are kernels. */
static const Stmt *as_parallel(void *user, const Stmt *s)
{
    Program      *p = user;
    const StmtMap m = { p->arena, as_parallel, NULL, p };
    s               = stmt_map(&m, s);
    if (s->kind != STMT_FOR || (s->loop.kind != LOOP_BLOCK && !loop_table[s->loop.kind].thread))
        return s;
    return stmt_for(p->arena, s->loop.name, LOOP_PARALLEL, s->loop.min, s->loop.extent, s->loop.body);
}

/* Executes at the size of the failure what there is after a pass. */
static Verdict execute_until(Check *k, const char *pass, bool gpu, bool kernels)
{
    Lowering l = { .p = k->s->p, .until = pass, .gpu = gpu };
    begin_lowering(&l, k->s);
    if (l.program && l.program->body && gpu && !kernels)
        l.program->body = as_parallel(l.program, l.program->body);
    const Verdict verdict = l.program ? execute_size(k, l.program, k->report->size) : PROGRAM_FAILED;
    arena_free(&l.arena);
    return verdict;
}

/* After a failure: the first pass after which the code is wrong is put behind the report. Kernels are complete after
 * `sync`. */
static void find_pass(Check *k, bool gpu)
{
    Report              *report = &k->report->report;
    const Report         kept   = *report;
    const LowerPassList *passes = &lower_pass_lists[gpu ? PASSES_GPU : PASSES_CPU];
    bool                 begun = !gpu, complete = !gpu;
    for (int i = 1; i < passes->count; i++) {
        const char *pass = passes->at[i].name;
        begun            = begun || !strcmp(pass, "kernels");
        complete         = complete || !strcmp(pass, "sync");
        if (begun && !complete)
            continue;
        const Verdict verdict = execute_until(k, pass, gpu, complete);
        *report               = kept;
        if (verdict != PROGRAM_FAILED)
            continue;
        snprintf(report->text + strlen(report->text), sizeof report->text - strlen(report->text),
                 " (wrong after the pass `%s`)", pass);
        return;
    }
}

/* ---- A schedule --------------------------------------------------------------------------- */

/* kn_run, but for the interpreter, which it takes where compiled code does not suffice. */
typedef struct CompiledRun {
    Run *r;
    bool used;
} CompiledRun;

static void run_compiled(void *arg)
{
    CompiledRun *c = arg;
    Arguments    a;
    if (arguments_bind(c->r->p, FOR_RUN, c->r->args, c->r->count, &a))
        c->used = call_possible(c->r->p, &a) && call_compiled(c->r->m, &a) == CALL_DONE;
}

/* One size. What the code refuses, and the interpreter has done, it was not used for. */
static Verdict run_size(Check *k, kn_module *m, int size, unsigned parts)
{
    kn_context     *cx    = k->s->cx;
    ScheduleReport *r     = k->report;
    const int       asked = r->asks_more, limits = r->too_much;
    begin_size(k, size);
    k->other.m      = m;
    CompiledRun run = { .r = &k->other };
    context_begin(cx);
    context_try(cx, run_compiled, &run);
    Verdict verdict = run.used ? check_outcome(k, cx->status, "jit") : PROGRAM_SKIPPED;
    end_size(k);
    r->compiled += verdict == PROGRAM_PASSED;
    r->interpreted += verdict == PROGRAM_SKIPPED;
    r->asks_more = asked; /* counted when it was executed */
    r->too_much  = limits;
    if (verdict == PROGRAM_SKIPPED && (parts & CHECK_USED))
        return fail(&r->report, "unused", "%s", run.used ? kn_error_text(cx) : kn_rt_last_error());
    return verdict;
}

/* Compiles once, with every access checked or as usual, and runs at every size. */
static Verdict check_compiled(Check *k, int first, int end, unsigned parts, bool check_access)
{
    const bool       gpu     = parts & CHECK_GPU;
    kn_context      *cx      = k->s->cx;
    const kn_options options = { .strict_float = true,
                                 .threads      = 2,
                                 .check_access = check_access && !gpu,
                                 .scheduler    = gpu ? "none" : NULL,
                                 .target       = parts & CHECK_CUDA ? "cuda"
                                                 : gpu              ? "opencl"
                                                                    : NULL };
    kn_module       *m       = kn_compile(k->s->p, &options);
    Verdict          verdict = PROGRAM_PASSED;
    if (!m)
        return cx->status == KN_ERROR_LIMIT ? PROGRAM_SKIPPED
                                            : fail(&k->report->report, "compile", "%s", kn_error_text(cx));
    for (int size = first; verdict != PROGRAM_FAILED && size < end; size++)
        verdict = run_size(k, m, size, parts);
    if (verdict == PROGRAM_FAILED && !strcmp(k->report->report.kind, "value"))
        k->report->report.kind = "jit";
    return verdict;
}

static Verdict check_lowered(Check *k, const Lowering *l, int only, unsigned parts)
{
    const int first = only >= 0 ? only : 0, end = only >= 0 ? only + 1 : k->s->count;
    Verdict   verdict = PROGRAM_PASSED;
    for (int size = first;
         (parts & CHECK_EXECUTE) && verdict != PROGRAM_FAILED && size < end && k->report->too_much < FEW_TIMES;
         size++) {
        verdict = execute_size(k, l->program, size);
        k->report->executed += verdict == PROGRAM_PASSED;
    }
    if (verdict == PROGRAM_FAILED)
        find_pass(k, l->gpu);
    if (verdict != PROGRAM_FAILED && (parts & CHECK_COMPILE))
        verdict = check_compiled(k, first, end, parts, strlen(l->printed) % 2);
    if (verdict != PROGRAM_FAILED && (parts & CHECK_PRINT))
        verdict = check_printed(k, l);
    return verdict;
}

Verdict subject_check(Subject *s, const char *schedule, int only, unsigned parts, ScheduleReport *report)
{
    Check    k       = { .s = s, .report = report };
    Lowering l       = { .p = s->p, .gpu = (parts & CHECK_GPU) != 0 };
    Verdict  verdict = PROGRAM_SKIPPED;
    *report          = (ScheduleReport){ .report = { .kind = "" } };
    if (!s->count)
        return PROGRAM_SKIPPED;
    if (schedule && kn_schedule_parse(s->p, "schedule.sched", schedule, -1) != KN_OK)
        return s->cx->status == KN_ERROR_LIMIT ? PROGRAM_SKIPPED
                                               : fail(&report->report, "parse", "%s", kn_error_text(s->cx));
    begin_lowering(&l, s);
    report->accepted = l.program != NULL;
    if (l.program)
        verdict = check_lowered(&k, &l, only, parts);
    else if (s->cx->status == KN_ERROR_LIMIT)
        report->too_much++;
    else
        verdict = refused(&k);
    arena_free(&l.arena);
    return verdict;
}
