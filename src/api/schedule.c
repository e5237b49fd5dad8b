/* SPDX-License-Identifier: MIT */
/* Making a schedule.
 *
 * Takes   a pipeline, the name of a scheduler, and what is known of sizes and parameters.
 * Gives   the text of a schedule, which kn_schedule_parse reads.
 * How     Outputs without a size are fitted to the inputs, as kn_fit does. Without inputs they take their estimate, or
 * a default. If no sizes work for the program, the schedule is empty. Sizes affect speed, never correctness. */
#include "api/schedule.h"

#include "api/arguments.h"
#include "api/backend.h"
#include "api/compile.h"
#include "api/files.h"
#include "lang/lang.h"
#include "plan/plan.h"
#include "schedulers/explain/explain.h"
#include "schedulers/explain/explain_kernels.h"

static const double DEFAULT_BUDGET = 2;
enum { MOST_RULES = 64 };

/* ---- Names ------------------------------------------------------------------------------ */

/* The first of the words no-PART/no-PART… that names nothing. */
static const char *refuse_part(kn_context *cx, const char *words)
{
    size_t       count = 0;
    const char **names = ARENA_ARRAY(&cx->call, const char *, MOST_RULES);
    while (count < MOST_RULES && scheduler_part((int)count)) {
        names[count] = scheduler_part((int)count);
        count++;
    }
    char *rest;
    for (char *part = strtok_r(arena_strdup(&cx->call, words), "/", &rest); part; part = strtok_r(NULL, "/", &rest))
        if (!scheduler_find(arena_printf(&cx->call, "auto/%s", part), &(SchedulerOptions){ 0 })) {
            diag_unknown(cx, "there is no rule of schedulers", strncmp(part, "no-", 3) ? part : part + 3,
                         "what can be left out", names, count);
            break;
        }
    return NULL;
}

const char *scheduler_choose(kn_context *cx, const char *name)
{
    if (!name || !strcmp(name, "none") || scheduler_find(name, &(SchedulerOptions){ 0 }))
        return name;
    const char *word = strstr(name, "/no-");
    if (word) {
        const char *base = arena_printf(&cx->call, "%.*s", (int)(word - name), name);
        if (scheduler_find(base, &(SchedulerOptions){ 0 }))
            return refuse_part(cx, word + 1);
    }
    const size_t count = (size_t)scheduler_count + 1;
    const char **names = ARENA_ARRAY(&cx->call, const char *, count);
    names[0]           = "none";
    for (int i = 0; i < scheduler_count; i++)
        names[i + 1] = scheduler_table[i].name;
    diag_unknown(cx, "there is no scheduler", name, "this version knows", names, count);
    return NULL;
}

kn_pass kn_scheduler_get(int index)
{
    if (index < 0 || index >= scheduler_count)
        return (kn_pass){ 0 };
    return (kn_pass){ scheduler_table[index].name, scheduler_table[index].summary };
}

/* ---- Sizes ------------------------------------------------------------------------------ */

static bool all_inputs_given(const kn_pipeline *p, const Arguments *a)
{
    int inputs = 0;
    for (size_t i = 0; i < p->funcs.count; i++) {
        if (p->funcs.at[i]->kind == FUNC_INPUT && !a->inputs[p->funcs.at[i]->id])
            return false;
        inputs += p->funcs.at[i]->kind == FUNC_INPUT;
    }
    return inputs > 0;
}

/* Makes an input's box as large as the outputs' dimensions of the same names. */
static void grow_like_outputs(const kn_pipeline *p, const Arguments *a, const Func *input, Box *box)
{
    for (size_t o = 0; o < p->outputs.count; o++)
        for (int d = 0; d < p->outputs.at[o].func->rank; d++)
            for (int k = 0; k < input->rank; k++) {
                const Box *out = &a->binding.output[o];
                if (input->args[k] != p->outputs.at[o].func->args[d])
                    continue;
                box->min[k] = box->min[k] < out->min[d] ? box->min[k] : out->min[d];
                box->max[k] = box->max[k] > out->max[d] ? box->max[k] : out->max[d];
            }
}

/* Gives default sizes to missing outputs, and to missing inputs whose size the program uses. Other missing inputs are
 * unbounded. */
static void use_usual(const kn_pipeline *p, const RunArgs *usual, Arguments *a)
{
    for (size_t o = 0; o < p->outputs.count; o++)
        if (!a->given[o])
            a->binding.output[o] = usual->output[o];
    for (size_t i = 0; i < p->funcs.count; i++) {
        const Func *f = p->funcs.at[i];
        if (f->kind != FUNC_INPUT || a->inputs[i] || !pipeline_uses_size(p, f))
            continue;
        a->binding.input[i] = usual->input[i];
        grow_like_outputs(p, a, f, &a->binding.input[i]);
    }
}

typedef struct Usual {
    kn_pipeline *p;
    Arena       *arena;
    Arguments   *a;
    bool         suits;
} Usual;

static void try_usual(void *arg)
{
    Usual        *u     = arg;
    const RunArgs usual = graph_binding(u->p, u->arena);
    Regions       regions;
    use_usual(u->p, &usual, u->a);
    u->suits = regions_compute(u->p, u->arena, &u->a->binding, true, &regions);
}

/* A search for default sizes is bounded. */
bool schedule_sizes(kn_pipeline *p, const kn_arg *args, int count, Arena *arena, Arguments *a)
{
    if (!arguments_bind(p, FOR_SIZES, args, count, a))
        return false;
    if (all_inputs_given(p, a))
        return regions_fit(p, arena, &a->binding, a->given, NULL);
    Usual u = { .p = p, .arena = arena, .a = a };
    return context_attempt(p->cx, try_usual, &u) && u.suits;
}

/* ---- The text --------------------------------------------------------------------------- */

/* The text of NAME.machine among the files of this library; NULL: there is none. */
static const char *machine_file(kn_context *cx, const char *name)
{
    Arena      *arena = &cx->call;
    const char *path  = companion_find(arena, arena_printf(arena, "machines/%s.machine", name));
    Bytes       text;
    return !strchr(name, '/') && path && file_read_whole(arena, path, &text) ? arena_strndup(arena, text.at, text.size)
                                                                             : NULL;
}

/* The text of a machine that is named, not described. */
static const char *named_machine(kn_context *cx, const char *name)
{
    const char *text = machine_file(cx, name);
    if (!text)
        diag_error(
            cx, (Loc){ 0 },
            "describe it, as in cores=8,vector_bits=256,l1=32k,l2=512k,l3=16M, or name one of share/kiln/machines, as "
            "in raspberry-pi-5",
            "there is no machine '%s'", name);
    return text;
}

/* The GPU that is there, if it is one of those that are described. */
static bool add_device(kn_context *cx, Machine *m)
{
    char        name[64];
    const char *text = device_name_in("", name, sizeof name) ? machine_file(cx, name) : NULL;
    return !text || machine_parse(cx, name, text, m);
}

static bool is_name(const char *machine)
{
    return machine[0] &&
           machine[strspn(machine, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./")] == 0;
}

bool schedule_machine(kn_pipeline *p, const ScheduleRequest *r, Machine *m)
{
    *m             = machine_detect();
    m->cores       = r->cores > 0 ? r->cores : m->cores;
    m->vector_bits = r->vector_bits > 0 ? r->vector_bits : m->vector_bits;
    if (r->machine) {
        const bool  named = is_name(r->machine);
        const char *text  = named ? named_machine(p->cx, r->machine) : r->machine;
        if (!text || !machine_parse(p->cx, named ? r->machine : "machine", text, m))
            return false;
    }
    return m->device.sms || r->device != DEVICE_CUDA || add_device(p->cx, m);
}

/* "// By strips, for out 2560x1536x3" */
static void print_made_for(Text *out, const kn_pipeline *p, const ScheduleRequest *r, const char *by,
                           const Arguments *a)
{
    text_printf(out, strcmp(r->scheduler, by) ? "// By %s (%s), for" : "// By %s, for", r->scheduler, by);
    for (size_t o = 0; o < p->outputs.count; o++) {
        const Box *box = &a->binding.output[o];
        text_printf(out, "%s %s", o ? "," : "", p->outputs.at[o].name);
        for (int d = 0; d < p->outputs.at[o].func->rank; d++)
            text_printf(out, "%s%lld", d ? "x" : " ", (long long)(box->max[d] - box->min[d] + 1));
    }
}

/* "// By strips, for out 2560x1536x3; 2 cores, vectors of 512 bits; predicted 3.217 ms." */
static void print_title(Text *out, const kn_pipeline *p, const ScheduleRequest *r, const char *by, const Arguments *a,
                        const Machine *m, double ns)
{
    print_made_for(out, p, r, by, a);
    text_printf(out, "; %d core%s, vectors of %d bits; predicted %.4g ms.\n", m->cores, m->cores == 1 ? "" : "s",
                m->vector_bits, ns * 1e-6);
}

/* A graph, and what a scheduler made of it. */
typedef struct Drafts {
    const char *directives; /* that make the graph's functions from the pipeline's */
    Graph       graph;
    int         count;
    Candidate  *made; /* the chosen one first */
} Drafts;

/* The draft and the scheduler that made it; for `auto` all candidates. */
static void make_drafts(const SchedulerOptions *options, const Scheduler *asked, const Machine *m, Arena *arena,
                        Drafts *d)
{
    d->made = ARENA_ARRAY(arena, Candidate, (size_t)scheduler_count);
    if (asked->run == scheduler_auto) {
        d->count = scheduler_candidates(&d->graph, m, options, arena, d->made);
        return;
    }
    d->made[0]    = (Candidate){ .scheduler = asked, .draft = asked->run(&d->graph, m, options, arena) };
    d->made[0].ns = cost_draft(&d->made[0].draft, m);
    d->count      = 1;
}

/* ---- Windows by doubling ---------------------------------------------------------------- */

typedef struct Doubling {
    kn_pipeline            *p;
    const RunArgs          *binding;
    const SchedulerOptions *options;
    const Scheduler        *asked;
    const Machine          *m;
    Arena                  *arena;
    Drafts                  out;
} Doubling;

/* The inputs' boxes by the ids of another pipeline's functions. */
static RunArgs binding_for(const kn_pipeline *p, const kn_pipeline *of, const RunArgs *from, Arena *arena)
{
    RunArgs to = *from;
    size_t  at = 0;
    to.input   = ARENA_ARRAY(arena, Box, p->funcs.count);
    for (size_t i = 0; i < p->funcs.count; i++) {
        if (p->funcs.at[i]->kind != FUNC_INPUT)
            continue;
        while (of->funcs.at[at]->kind != FUNC_INPUT)
            at++;
        to.input[i] = from->input[at++];
    }
    return to;
}

bool schedule_rewritten(kn_pipeline *p, const char *directives, const RunArgs *binding, Arena *arena, Graph *g)
{
    const Schedule *schedule = lang_schedule(p, "rewrite.sched", directives);
    kn_pipeline    *made     = schedule ? plan_rewritten(p, schedule, arena) : NULL;
    if (!made)
        return false;
    const RunArgs bound = binding_for(made, p, binding, arena);
    return graph_make(made, arena, &bound, g);
}

static void try_doubling(void *arg)
{
    Doubling *d = arg;
    if (schedule_rewritten(d->p, d->out.directives, d->binding, d->arena, &d->out.graph))
        make_drafts(d->options, d->asked, d->m, d->arena, &d->out);
}

/* Schedules the pipeline with its windows by doubling too, and takes that if the model predicts that it pays. */
static void choose_doubling(Doubling *d, Drafts *best)
{
    const double most = draft_rules[RULE_DOUBLE].most;
    Text         text;
    text_init(&text, d->arena);
    const int windows = d->options->without >> RULE_DOUBLE & 1 ? 0 : doubling_print(&text, &best->graph);
    d->out.directives = text_string(&text);
    if (!windows || !context_attempt(d->p->cx, try_doubling, d) || !d->out.count)
        return;
    const bool    pays = d->out.made->ns <= most * best->made->ns;
    const RuleUse use  = { pays ? windows : 0, pays ? 0 : windows, best->made->ns, d->out.made->ns };
    if (pays)
        *best = d->out;
    for (int i = 0; i < best->count; i++)
        best->made[i].draft.uses[RULE_DOUBLE] = use;
}

/* ---- The text --------------------------------------------------------------------------- */

/* The explanation, as text or as a page with the text of the schedule in it. */
static void print_explained(Text *out, const ScheduleRequest *r, const Scheduler *asked, const Drafts *drafts,
                            const Machine *m, const char *schedule)
{
    Explained x;
    explain_make(&x, drafts->made, m, out->arena);
    x.all       = asked->run == scheduler_auto ? drafts->made : NULL;
    x.all_count = drafts->count;
    if (r->view == KN_SCHEDULE_HTML)
        explain_html(out, &x, schedule);
    else
        explain_text(out, &x);
}

/* ---- Kernels ---------------------------------------------------------------------------- */

static const char *print_kernels(const char *directives, KernelDraft *k, Arena *arena)
{
    Text out;
    text_init(&out, arena);
    text_add(&out, directives);
    kernel_draft_print(&out, k, arena);
    return text_string(&out);
}

/* What kernels are made of, and what came of it. */
typedef struct Kernels {
    kn_pipeline     *p;
    const RunArgs   *binding;
    const Scheduler *asked;
    const Machine   *m;
    SchedulerOptions options;
    Arena           *arena;
    const char      *directives; /* that make the graph's functions from the pipeline's */
    double           most;       /* ns: if they are predicted to take longer, they are not made */
    const char      *text;       /* NULL: nothing came of it */
    KernelDraft      k;
} Kernels;

/* Kernels that are accepted. What the scheduler stores in them has a constant size by its own rules; where lowering
 * cannot prove that, there are no patterns; or nothing is stored but what a thread needs; and at last nothing at all.
 * Where all is left to the default, there is nothing to prove. */
static void accept_kernels(Kernels *made, const Graph *g)
{
    SchedulerOptions options = made->options;
    for (int less = 0; less < 4; less++) {
        made->k          = made->asked->kernels(g, made->m, &options, made->arena);
        const char *text = print_kernels(made->directives, &made->k, made->arena);
        if (schedule_accepts_kernels(made->p, text, made->arena)) {
            made->text = text;
            return;
        }
        options.no_patterns = less != 1;
        options.no_fusion   = less > 0;
        options.no_nesting  = less == 2;
    }
}

static void try_rewritten(void *arg)
{
    Kernels *made = arg;
    Graph   *g    = ARENA_NEW(made->arena, Graph);
    if (!schedule_rewritten(made->p, made->directives, made->binding, made->arena, g))
        return;
    const KernelDraft k = made->asked->kernels(g, made->m, &made->options, made->arena);
    if (kernel_draft_cost(&k) < made->most)
        accept_kernels(made, g);
}

/* The kernels of the pipeline, or those of it with its windows by doubling or separated, if they are predicted to be
 * faster. */
static void choose_kernels(Kernels *made, const Graph *g)
{
    accept_kernels(made, g);
    int (*const rewrites[])(Text * out, const Graph *g) = { separating_print, doubling_print };
    for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites && made->text; i++) {
        Kernels other = *made;
        Text    text;
        text_init(&text, made->arena);
        const RuleId rule = i ? RULE_DOUBLE : RULE_SEPARATE;
        if (made->options.without >> rule & 1 || !rewrites[i](&text, g))
            continue;
        other.directives = text_string(&text);
        other.text       = NULL;
        other.most       = draft_rules[rule].most * kernel_draft_cost(&made->k);
        if (context_attempt(made->p->cx, try_rewritten, &other) && other.text &&
            kernel_draft_cost(&other.k) < other.most)
            *made = other;
    }
}

/* "// By gpu, for out 2560x1536x3; 132 multiprocessors; predicted 0.217 ms." and the kernels, or what is told of them.
 */
static const char *kernels_text(kn_pipeline *p, const ScheduleRequest *r, const char *kernels, const Arguments *a,
                                const KernelDraft *k, Arena *arena)
{
    Text out;
    text_init(&out, arena);
    print_made_for(&out, p, r, "gpu", a);
    text_printf(&out, "; %d multiprocessors; predicted %.4g ms.\n", k->device->sms, kernel_draft_cost(k) * 1e-6);
    const char *title = arena_strdup(arena, text_string(&out));
    text_add(&out, r->view == KN_SCHEDULE_TEXT || r->view == KN_SCHEDULE_HTML ? kernels : "");
    if (r->view == KN_SCHEDULE_TEXT)
        return text_string(&out);
    const Schedule *schedule =
        r->held && r->device == DEVICE_CUDA && *kernels ? lang_schedule(p, "gpu.sched", kernels) : NULL;
    const char *report = schedule ? compile_report(p, schedule, arena, r->held) : NULL;
    Text        why;
    text_init(&why, arena);
    if (r->view == KN_SCHEDULE_HTML) {
        explain_kernels_html(&why, k, report, title + 3, text_string(&out));
        return text_string(&why);
    }
    explain_kernels(&out, k, report);
    return text_string(&out);
}

void schedule_fit_device(DeviceKind kind, Machine *m)
{
    enum { OPENCL_SHARED = 48 << 10 };
    m->device = m->device.sms ? m->device : device_usual();
    if (kind == DEVICE_OPENCL && m->device.block_shared > OPENCL_SHARED)
        m->device.block_shared = OPENCL_SHARED;
}

/* Has the scheduler schedules for this kind of target? */
static bool suits_target(kn_context *cx, const ScheduleRequest *r, const Scheduler *asked)
{
    if (!r->device || asked->kernels)
        return true;
    diag_error(cx, (Loc){ 0 }, "--scheduler gpu, or none of them: then auto makes the kernels",
               "the scheduler %s is for CPUs, and this target has a GPU", asked->name);
    return false;
}

/* A pipeline with all that schedules of it are made from. */
typedef struct Making {
    kn_pipeline           *p;
    const ScheduleRequest *r;
    const Scheduler       *asked;
    SchedulerOptions       options;
    Machine                m;
    Arguments              a;
    Graph                  graph;
    Arena                 *arena;
} Making;

/* The text for the device, or what is told of it; *ns is that of its kernels alone. */
static const char *make_kernels(Making *w, double *ns)
{
    schedule_fit_device(w->r->device, &w->m);
    Kernels made = { .p          = w->p,
                     .binding    = &w->a.binding,
                     .asked      = w->asked,
                     .m          = &w->m,
                     .options    = w->options,
                     .arena      = w->arena,
                     .directives = "" };
    choose_kernels(&made, &w->graph);
    *ns = kernel_draft_cost(&made.k);
    return kernels_text(w->p, w->r, made.text ? made.text : "", &w->a, &made.k, w->arena);
}

/* The same for the host. */
static const char *make_for_host(const Making *w, double *ns)
{
    Drafts best = { .directives = "", .graph = w->graph };
    Text   out, why;
    text_init(&out, w->arena);
    make_drafts(&w->options, w->asked, &w->m, w->arena, &best);
    choose_doubling(&(Doubling){ w->p, &w->a.binding, &w->options, w->asked, &w->m, w->arena, { 0 } }, &best);
    print_title(&out, w->p, w->r, best.made->scheduler->name, &w->a, &w->m, best.made->ns);
    text_add(&out, best.directives);
    draft_print(&out, &best.made->draft);
    *ns = best.made->ns;
    if (w->r->view == KN_SCHEDULE_TEXT)
        return text_string(&out);
    text_init(&why, w->arena);
    print_explained(&why, w->r, w->asked, &best, &w->m, text_string(&out));
    return text_string(&why);
}

/* Takes the schedule that is predicted to be faster where inputs and outputs are in the host's memory, and says why. */
static const char *choose_place(Making *w, double *ns)
{
    Text         out;
    PlaceTimes   t;
    const char  *host = make_for_host(w, &t.host_ns), *kernels = make_kernels(w, &t.kernel_ns);
    const double device_ns = t.kernel_ns + (t.copies = device_copies(&w->graph, &w->m.device)).ns;
    const bool   on_host   = t.host_ns < device_ns;
    *ns                    = on_host ? t.host_ns : device_ns;
    text_init(&out, w->arena);
    if (w->r->view != KN_SCHEDULE_HTML)
        explain_where(&out, &t, &w->m.device);
    text_add(&out, on_host ? host : kernels);
    return text_string(&out);
}

const char *schedule_text(kn_pipeline *p, const ScheduleRequest *r, Arena *arena)
{
    Making w = { .p = p, .r = r, .arena = arena };
    Text   out;
    text_init(&out, arena);
    if (!schedule_machine(p, r, &w.m))
        return NULL;
    if (!schedule_sizes(p, r->args, r->count, arena, &w.a)) {
        text_add(
            &out,
            "// No sizes are known, and the usual ones do not suit this program: as the default schedule has it.\n");
        return p->cx->error_count ? NULL : text_string(&out);
    }
    if (!graph_make(p, arena, &w.a.binding, &w.graph))
        return NULL;
    if (r->view == KN_SCHEDULE_GRAPH) {
        graph_print(&out, &w.graph);
        return text_string(&out);
    }
    w.options = (SchedulerOptions){ .budget      = r->budget > 0 ? r->budget : DEFAULT_BUDGET,
                                    .no_products = r->device == DEVICE_OPENCL };
    w.asked   = scheduler_find(r->scheduler, &w.options);
    if (!suits_target(p->cx, r, w.asked))
        return NULL;
    double      ns;
    const char *text;
    if (r->or_host && w.asked->run == scheduler_auto) {
        text = choose_place(&w, &ns);
    } else if (r->device || !w.asked->run) {
        text = make_kernels(&w, &ns);
        ns += device_copies(&w.graph, &w.m.device).ns;
    } else {
        text = make_for_host(&w, &ns);
    }
    if (r->predicted)
        *r->predicted = ns;
    return text;
}

const Schedule *schedule_made(kn_pipeline *p, const ScheduleRequest *r, Arena *arena)
{
    const char *text = schedule_text(p, r, arena);
    return text ? lang_schedule(p, arena_printf(arena, "%s.sched", r->scheduler), text) : NULL;
}

/* ---- The call --------------------------------------------------------------------------- */

typedef struct MakeCall {
    kn_pipeline      *p;
    ScheduleRequest   request;
    const kn_options *given;
    HeldCode          held;
    const char       *text;
} MakeCall;

static void make(void *arg)
{
    MakeCall    *call = arg;
    kn_pipeline *p    = call->p;
    kn_options   options;
    Targets      targets;
    if (!options_take(p, call->given, &options) || !scheduler_choose(p->cx, call->request.scheduler) ||
        !targets_parse(p->cx, options.target, "host", &targets))
        return;
    call->request.cores       = options.threads;
    call->request.budget      = options.budget;
    call->request.vector_bits = options.target ? targets.at[0].vector_bits : 0;
    call->request.device      = targets.at[0].device;
    call->request.or_host     = targets.host != NULL;
    if (!strcmp(call->request.scheduler, "none"))
        call->text = "// None: as the default schedule has it.\n";
    else
        call->text = schedule_text(p, &call->request, &p->cx->call);
}

const char *kn_schedule_make(kn_pipeline *p, const char *scheduler, const char *machine, const kn_options *options,
                             const kn_arg *args, int count)
{
    return kn_schedule_show(p, KN_SCHEDULE_TEXT, scheduler, machine, options, args, count);
}

const char *kn_schedule_show(kn_pipeline *p, kn_schedule_view view, const char *scheduler, const char *machine,
                             const kn_options *options, const kn_arg *args, int count)
{
    if (!p)
        return NULL;
    MakeCall call     = { .p       = p,
                          .given   = options,
                          .request = { .view      = view,
                                       .scheduler = scheduler ? scheduler : "auto",
                                       .machine   = machine,
                                       .args      = args,
                                       .count     = count } };
    call.request.held = &call.held;
    context_begin(p->cx);
    const bool done = context_call(p->cx, make, &call);
    held_release(&call.held);
    return done && !p->cx->status ? call.text : NULL;
}
