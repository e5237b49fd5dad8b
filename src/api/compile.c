/* SPDX-License-Identifier: MIT */
/* Compiling: the schedule is chosen, the plan made, lowered, and given to the backend, or its object found in the
 * cache.
 *
 * What the backend gives is memory of its own, not of an arena: it is held by the API call (in an Emitted outside
 * context_try) until it was copied. */
#include "api/compile.h"

#include "api/backend.h"
#include "api/cache.h"
#include "api/schedule.h"
#include "codegen/ptxas.h"
#include "runtime/device.h"

_Static_assert((int)DEVICE_PREFERS_HOST == (int)KN_RT_PREFERS_HOST, "the compiler and the runtime mean the same bit");

/* ---- Targets ---- */

static void unknown_target(kn_context *cx, const char *name)
{
    const char **names = ARENA_ARRAY(&cx->call, const char *, (size_t)target_count);
    for (int i = 0; i < target_count; i++)
        names[i] = target_table[i].name;
    diag_unknown(cx, "there is no target", name, "this version knows", names, (size_t)target_count);
}

/* Kernels are scheduled for one device. */
static bool gpu_stands_alone(kn_context *cx, const Targets *targets)
{
    for (int i = 0; targets->count > 1 && i < targets->count; i++)
        if (targets->at[i].kind == TARGET_GPU) {
            diag_status(cx, KN_ERROR_ARGUMENT,
                        "the target %s cannot share an object with others: what it is scheduled for is its own",
                        targets->at[i].name);
            return false;
        }
    return true;
}

/* A device or else the host: two halves, the device's being a target of its own. */
static bool divide(kn_context *cx, const char *fallback, Targets *out)
{
    out->at[0]   = *target_of_device(out->at[0].device);
    out->is_half = true;
    out->host    = ARENA_NEW(&cx->call, Targets);
    if (!targets_parse(cx, NULL, fallback, out->host))
        return false;
    out->host->is_half = true;
    return true;
}

bool targets_parse(kn_context *cx, const char *text, const char *fallback, Targets *out)
{
    *out = (Targets){ 0 };
    for (const char *at = text && *text ? text : fallback;;) {
        const size_t  n     = strcspn(at, ",");
        const char   *name  = arena_strndup(&cx->call, at, n);
        const Target *found = target_find(name);
        if (!found) {
            unknown_target(cx, name);
            return false;
        }
        if (out->count == MOST_TARGETS) {
            diag_status(cx, KN_ERROR_ARGUMENT, "these are too many targets for one object: %d at most", MOST_TARGETS);
            return false;
        }
        out->at[out->count++] = *found;
        if (!at[n])
            return gpu_stands_alone(cx, out) && (!out->at[0].or_host || divide(cx, fallback, out));
        at += n + 1;
    }
}

/* The width that lowering has in mind: that of the widest target. */
static int vector_bits(const Targets *targets)
{
    int most = 0;
    for (int i = 0; i < targets->count; i++)
        most = targets->at[i].vector_bits > most ? targets->at[i].vector_bits : most;
    return most;
}

/* ---- The steps ---- */

typedef struct MakePlan {
    kn_pipeline    *p;
    ScheduleRequest request;
    const Targets  *targets;
    Arena          *arena;
    Plan           *plan;
} MakePlan;

Plan *compile_schedule(kn_pipeline *p, const Schedule *schedule, const Targets *targets, Arena *arena)
{
    return plan_make(p, schedule, arena,
                     (PlanTarget){ .kind = targets->at[0].kind, .vector_bits = vector_bits(targets) });
}

static void plan_by_scheduler(void *arg)
{
    MakePlan *make           = arg;
    double    predicted      = 0;
    make->request.predicted  = &predicted;
    const Schedule *schedule = schedule_made(make->p, &make->request, make->arena);
    make->plan               = schedule ? compile_schedule(make->p, schedule, make->targets, make->arena) : NULL;
    make->request.predicted  = NULL;
    if (make->plan)
        make->plan->predicted_ns = predicted;
}

/* Schedulers are for CPUs: of two halves they are for the host's. */
static const char *asked_scheduler(const kn_options *options, const Targets *targets)
{
    return targets->is_half && targets->at[0].kind == TARGET_GPU ? NULL : options->scheduler;
}

/* The schedule of that name, or the last that fits; NULL: there is none. Of two halves one does not obey a schedule
 * that is for the other. False after a diagnostic. */
static bool choose_schedule(kn_pipeline *p, const char *name, const Targets *targets, const Schedule **out)
{
    if (!plan_choose(p, name, &targets->at[0], out))
        return false;
    const bool other = targets->is_half && *out && !plan_suits(*out, &targets->at[0]);
    if (other && name && !plan_choose(p, NULL, &targets->at[0], out))
        return false;
    if (other && *out && !plan_suits(*out, &targets->at[0]))
        *out = NULL;
    return true;
}

/* The scheduler that was asked for; else the schedule that the program has; else `auto`, and where that comes to
 * nothing the default schedule. */
Plan *compile_plan(kn_pipeline *p, const kn_options *options, const Targets *targets, Arena *arena)
{
    const char     *asked = asked_scheduler(options, targets);
    MakePlan        make  = { .p       = p,
                              .targets = targets,
                              .arena   = arena,
                              .request = { .scheduler   = asked ? asked : "auto",
                                           .budget      = options->budget,
                                           .cores       = options->threads,
                                           .vector_bits = vector_bits(targets),
                                           .device      = targets->at[0].device } };
    const Schedule *schedule;
    if (asked && strcmp(asked, "none")) {
        plan_by_scheduler(&make);
        return make.plan;
    }
    if (!choose_schedule(p, options->schedule, targets, &schedule))
        return NULL;
    const bool none = options->schedule && !*options->schedule;
    if (!asked && !schedule && !none && context_attempt(p->cx, plan_by_scheduler, &make) && make.plan)
        return make.plan;
    return compile_schedule(p, schedule, targets, arena);
}

Program *compile_program(Plan *plan, const kn_options *options, const Targets *targets, const char *until)
{
    const LowerOptions lowering = { .passes       = targets->at[0].passes,
                                    .device       = targets->at[0].device,
                                    .strict_float = options->strict_float,
                                    .vector_bits  = vector_bits(targets),
                                    .until        = until };
    Program           *program  = lower(plan, &lowering);
    if (program) {
        program->title        = plan->pipeline->name;
        program->predicted_ns = plan->predicted_ns;
    }
    return program;
}

Program *compile_loops(Plan *plan, const kn_options *options, const Targets *targets)
{
    return compile_program(plan, options, targets, lower_pass_lists[targets->at[0].passes].at[0].name);
}

bool compile_host_half(kn_pipeline *p, const kn_options *options, const Targets *targets, Arena *arena,
                       Program *program)
{
    Plan    *plan = compile_plan(p, options, targets->host, arena);
    Program *host = plan ? compile_program(plan, options, targets->host, NULL) : NULL;
    if (!host)
        return false;
    host->name    = arena_printf(arena, "%s.host", program->name);
    host->title   = program->title;
    program->host = host;
    /* Where a schedule of either half is the user's, nothing is predicted of it. */
    program->prefers_host =
        host->predicted_ns > 0 && program->predicted_ns > 0 && host->predicted_ns < program->predicted_ns;
    return true;
}

static CodegenOptions codegen_options(const kn_options *options, const Targets *targets)
{
    return (CodegenOptions){ .targets           = targets->at,
                             .target_count      = targets->count,
                             .check_access      = options->check_access,
                             .profile           = options->profile,
                             .host_targets      = targets->host ? targets->host->at : NULL,
                             .host_target_count = targets->host ? targets->host->count : 0 };
}

/* The backend's reason as a diagnostic. It is copied and released first: adding a diagnostic may bail out. */
void backend_error(kn_context *cx, const Codegen *codegen, const char *what, Emitted *error)
{
    char         why[1000] = "no reason was given";
    const size_t n         = error->size < sizeof why - 1 ? error->size : sizeof why - 1;
    if (error->bytes) {
        memcpy(why, error->bytes, n);
        why[n] = 0;
        codegen->release(error);
    }
    diag_status(cx, KN_ERROR_LIMIT, "%s (%s): %s", what, codegen->version, why);
}

/* LLVM cannot be interrupted, so what it will take is spent before it begins. It takes 30 us for each node of a
 * program, as measured from 400 to 40,000 nodes, in which the passes before it take 200 steps, and less than 1 KiB of
 * memory. */
enum { BACKEND_STEPS = 200, BACKEND_BYTES = 1024 };

static void spend_backend(const Program *program, const Targets *targets)
{
    if (program->host)
        spend_backend(program->host, targets->host);
    kn_context    *cx = program->cx;
    const uint64_t nodes =
        program->body ? (uint64_t)stmt_size(program->exprs, program->body, INT64_MAX / BACKEND_BYTES / MOST_TARGETS) *
                            (uint64_t)targets->count
                      : 0;
    context_spend(cx, nodes * BACKEND_STEPS);
    if (nodes * BACKEND_BYTES > cx->config.memory_limit - cx->memory_used)
        context_bail(cx, KN_ERROR_LIMIT,
                     "out of memory: compiling this needs more than the limit of the context (kn_config.memory_limit)");
}

/* The backend of the device's code, if what is emitted holds that; NULL in *codegen: it does not. False after a
 * diagnostic. */
static bool device_backend(const Program *program, const Targets *targets, EmitKind kind, const Codegen **codegen)
{
    *codegen = NULL;
    if (!emit_table[kind].with_device || !program->kernels.count)
        return true;
    const Backend *backend = backend_emitting(device_format(targets->at[0].device));
    if (backend)
        *codegen = backend_load(program->cx, backend);
    else
        diag_status(program->cx, KN_ERROR_ARGUMENT, "this version makes no kernels for the target %s",
                    targets->at[0].name);
    return *codegen != NULL;
}

/* The kernels of a program, for buffers of up to 2^31 elements or for all. */
static bool emit_device(const Codegen *device, const Program *program, CodegenOptions with, bool large, Emitted *text,
                        Emitted *error)
{
    with.large_buffers = large;
    return device->emit(program, &with, device_format(with.targets[0].device), text, error);
}

/* A program with kernels is emitted twice: for the device, and then for the host with that text in it. Nothing bails
 * out while the text is held. */
bool compile_emit(const Codegen *codegen, const Program *program, const kn_options *options, const Targets *targets,
                  EmitKind kind, bool large, Emitted *out)
{
    CodegenOptions with  = codegen_options(options, targets);
    Emitted        error = { 0 }, text = { 0 }, large_text = { 0 };
    const Codegen *device, *failed = NULL;
    if (!device_backend(program, targets, kind, &device))
        return false;
    spend_backend(program, targets);
    if (device && !emit_device(device, program, with, false, &text, &error))
        failed = device;
    if (device && !failed && large && with.targets[0].device == DEVICE_CUDA &&
        !emit_device(device, program, with, true, &large_text, &error))
        failed = device;
    with.device_code = text.bytes;
    with.large_code  = large_text.bytes;
    if (!failed && !codegen->emit(program, &with, kind, out, &error))
        failed = codegen;
    if (device) {
        device->release(&text);
        device->release(&large_text);
    }
    if (failed)
        backend_error(program->cx, failed, "the backend could not compile this", &error);
    return !failed;
}

/* ---- What the assembler says ---- */

typedef struct Report {
    kn_pipeline    *p;
    const Schedule *schedule;
    Arena          *arena;
    HeldCode       *held;
    const char     *text;
} Report;

static void make_report(void *arg)
{
    Report          *r       = arg;
    const kn_options options = { .target = "cuda" };
    const Backend   *backend = backend_emitting(EMIT_PTX);
    Targets          targets;
    if (!backend || !targets_parse(r->p->cx, options.target, options.target, &targets))
        return;
    Plan    *plan    = compile_schedule(r->p, r->schedule, &targets, r->arena);
    Program *program = plan ? compile_program(plan, &options, &targets, NULL) : NULL;
    if (!program || !program->kernels.count)
        return;
    r->held->codegen = backend_load(r->p->cx, backend);
    if (r->held->codegen &&
        compile_emit(r->held->codegen, program, &options, &targets, EMIT_PTX, false, &r->held->code))
        r->text = ptxas_report(r->arena, arena_strndup(r->arena, r->held->code.bytes, r->held->code.size));
}

const char *compile_report(kn_pipeline *p, const Schedule *schedule, Arena *arena, HeldCode *held)
{
    Report r = { .p = p, .schedule = schedule, .arena = arena, .held = held };
    return context_attempt(p->cx, make_report, &r) ? r.text : NULL;
}

void held_release(HeldCode *held)
{
    if (held->code.bytes)
        held->codegen->release(&held->code);
}

/* ---- Modules ---- */

typedef struct Externs {
    Arena *arena;
    bool  *seen; /* by Expr.id */
    VEC(const char *) names;
} Externs;

static void add_extern(Externs *x, const char *name)
{
    for (size_t i = 0; i < x->names.count; i++)
        if (x->names.at[i] == name)
            return;
    vec_push(x->arena, &x->names, name);
}

static void externs_of_expr(void *user, const Expr *e)
{
    Externs *x = user;
    if (!e || x->seen[e->id])
        return;
    x->seen[e->id] = true;
    if (e->op == EX_EXTERN)
        add_extern(x, e->u.name);
    for (uint32_t i = 0; i < e->count; i++)
        externs_of_expr(x, e->args[i]);
}

static void externs_of_stmt(void *user, const Stmt *s)
{
    if (!s)
        return;
    if (s->kind == STMT_STAGE)
        add_extern(user, s->stage->symbol);
    stmt_children(s, externs_of_expr, externs_of_stmt, user);
}

/* The C functions and stages that the program calls. */
static void find_externs(Arena *keep, Arena *scratch, const Program *program, Compiled *c)
{
    Externs x = { .arena = keep, .seen = ARENA_ARRAY(scratch, bool, program->exprs->count) };
    externs_of_stmt(&x, program->body);
    if (program->host) {
        x.seen = ARENA_ARRAY(scratch, bool, program->host->exprs->count);
        externs_of_stmt(&x, program->host->body);
    }
    c->extern_count = (int)x.names.count;
    c->externs      = x.names.at;
    c->bound        = ARENA_ARRAY(keep, Extern, x.names.count);
}

static void unload(OnFree *on_free)
{
    compiled_unload((Compiled *)(void *)on_free);
}

/* The object of the program: from the cache, if it is there and can be loaded, or from the backend and then into the
 * cache. */
static bool object_make(kn_module *m, const Program *program, const Targets *targets, Arena *arena, Emitted *held,
                        Bytes *object)
{
    Compiled  *c     = m->compiled;
    const bool cache = m->options.cache && *m->options.cache;
    Bytes      key   = { 0 };
    if (cache) {
        CodegenOptions with = codegen_options(&m->options, targets);
        with.large_buffers  = c->large;
        key                 = program_key(arena, program, &with, c->codegen);
        c->from_cache       = cache_find(arena, m->options.cache, key, &c->object) && compiled_loads(program->cx, c);
        *object             = c->object;
    }
    if (c->from_cache)
        return true;
    if (!compile_emit(c->codegen, program, &m->options, targets, EMIT_OBJECT, c->large, held))
        return false;
    *object = (Bytes){ held->bytes, held->size };
    if (cache)
        cache_keep(program->cx, m->options.cache, key, *object);
    return true;
}

void compile_module(kn_module *m, const Codegen *codegen, bool large, Emitted *held)
{
    kn_pipeline *p = m->pipeline;
    Compiled    *c = ARENA_NEW(&p->arena, Compiled);
    Targets      targets;
    c->codegen     = codegen;
    c->large       = large;
    c->on_free.run = unload;
    m->compiled    = c;
    pipeline_on_free(p, &c->on_free);
    if (!targets_parse(p->cx, m->options.target, "host", &targets))
        return;
    Arena arena;
    scratch_begin(&arena, p->cx);
    Plan    *plan    = compile_plan(p, &m->options, &targets, &arena);
    Program *program = plan ? compile_program(plan, &m->options, &targets, NULL) : NULL;
    Bytes    object;
    if (program && targets.host && !compile_host_half(p, &m->options, &targets, &arena, program))
        program = NULL;
    if (program) {
        find_externs(&p->arena, &arena, program, c);
        c->symbol      = arena_strdup(&p->arena, program->name);
        c->has_kernels = program->kernels.count > 0;
    }
    if (program && object_make(m, program, &targets, &arena, held, &object)) {
        char *kept = arena_alloc(&p->arena, object.size);
        c->object  = (Bytes){ memcpy(kept, object.at, object.size), object.size };
        if (!c->extern_count)
            compiled_function(m);
    }
    scratch_end(&arena);
}
