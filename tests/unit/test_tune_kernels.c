/* SPDX-License-Identifier: MIT */
/* The search of kiln tune for a device: edits of kernels one by one and in any order, where it starts, and whole
 * searches on a simulated host. */
#include "graph_of.h"

#include "api/schedule.h"
#include "schedulers/tune/kernel_edits.h"
#include "schedulers/tune/tuner_internal.h"

static const char chain[] =
    "input in : f32(x, y) output out e = edge(in) p(x, y) = e(x, y) * 2 a(x, y) = p(x-1, y) + p(x, y) "
    "+ p(x+1, y) b(x, y) = a(x, y-1) + a(x, y) + a(x, y+1) c(x, y) = a(x, y) * b(x, y) out(x, y) = b(x, y) - c(x+1, y) "
    "estimate out(640, 480)";
static const char planes[] = "input in : f32(x, y, c) output out e = edge(in) a(x, y, c) = e(x-1, y, c) + e(x+1, y, c) "
                             "out(x, y, c) = a(x, y-1, c) + a(x, y+1, c) estimate out(640, 480, 3)";
static const char sums[] =
    "input in : f32(x, y) output out e = edge(in) w(i) = exp(-f32(i*i) / 9) s(x, y) = sum(w(i) * e(x+i, y) for i in "
    "-6..7) "
    "t(x, y) = sum(w(j) * s(x, y+j) for j in -6..7) out(x, y) = t(x, y) + s(x, y) estimate out(640, 480)";
static const char scan[] = "input in : f32(x, y) output out r(x, y) = in(x, y) r(x, y) += r(x-1, y) for x in 1..640 "
                           "out(x, y) = r(x, y) * 2 estimate out(640, 480)";

/* ---- Edits ---- */

static KernelDraft kernels_of(GraphOf *o, const SchedulerOptions *options)
{
    schedule_fit_device(DEVICE_CUDA, &o->machine);
    return scheduler_gpu(&o->graph, &o->machine, options, &o->arena);
}

static const char *text_of(GraphOf *o, KernelDraft *k)
{
    Text out;
    text_init(&out, &o->arena);
    kernel_draft_print(&out, k, &o->arena);
    return text_string(&out);
}

/* Any edits one after the other leave kernels whose directives make sense, and nearly all of them kernels that can be
 * compiled. Gives the steps that were edits. */
static void test_edits(const char *text, int steps, bool *seen)
{
    GraphOf o;
    Random  r       = { 7 };
    int     refused = 0, made = 0;
    graph_of(&o, text);
    KernelDraft k     = kernels_of(&o, &(SchedulerOptions){ .budget = 1 });
    Move       *moves = ARENA_ARRAY(&o.arena, Move, 4096);
    for (int i = 0; i < steps; i++) {
        const int count = kernel_edits_list(&k, DEVICE_CUDA, moves, 4096);
        CHECK(count > 0, "no edits");
        const Move  move = moves[random_below(&r, count)];
        KernelDraft next = kernel_edits_copy(&k, &o.arena);
        kernel_edits_apply(&next, &move);
        if (!kernel_edits_legalize(&next, &k, &o.arena))
            continue;
        const char *schedule = text_of(&o, &next);
        seen[move.kind]      = true;
        made++;
        k = next;
        CHECK(kn_schedule_parse(o.p, "test.sched", schedule, -1) == KN_OK &&
                  kn_show_code(o.p, KN_VIEW_PLAN, &(kn_options){ .scheduler = "none", .target = "cuda" }, NULL),
              "%s\n%s", kn_error_text(o.cx), schedule);
        refused += !schedule_accepts_kernels(o.p, schedule, &o.arena);
    }
    CHECK(made > steps / 2 && refused * 20 <= made, "%d of %d edits, %d refused", made, steps, refused);
    graph_of_end(&o);
}

static void test_all_edits(void)
{
    static const MoveKind all[]            = { MOVE_INLINE, MOVE_THREADS, MOVE_WARPS, MOVE_POINTS,   MOVE_RESIDENT,
                                               MOVE_PLANES, MOVE_KERNEL,  MOVE_MERGE, MOVE_REGISTERS };
    bool                  seen[MOVE_KINDS] = { false };
    test_edits(chain, check_fewer(150), seen);
    test_edits(planes, check_fewer(150), seen);
    test_edits(sums, check_fewer(150), seen);
    for (size_t i = 0; i < sizeof all / sizeof *all && check_thorough(); i++)
        CHECK(seen[all[i]], "no edit of the kind %d", (int)all[i]);
}

/* The edit of that kind of a function; false: there is none. */
static bool edit(GraphOf *o, KernelDraft *k, MoveKind kind, const char *of, int by)
{
    Move     *moves = ARENA_ARRAY(&o->arena, Move, 4096);
    const int count = kernel_edits_list(k, DEVICE_CUDA, moves, 4096);
    for (int i = 0; i < count; i++) {
        const bool at_kernel =
            kind != MOVE_INLINE && kind != MOVE_KERNEL && kind != MOVE_MERGE && kind != MOVE_REGISTERS;
        const int node = at_kernel ? k->d.groups[moves[i].site].head : moves[i].site;
        if (moves[i].kind != kind || moves[i].by != by || strcmp(o->graph.nodes[node].func->name, of))
            continue;
        KernelDraft next = kernel_edits_copy(k, &o->arena);
        kernel_edits_apply(&next, &moves[i]);
        if (!kernel_edits_legalize(&next, k, &o->arena))
            return false;
        *k = next;
        return true;
    }
    return false;
}

static bool has(GraphOf *o, KernelDraft *k, const char *directive)
{
    return strstr(text_of(o, k), directive);
}

/* A stage goes to each of its places and back. */
static void test_places(void)
{
    GraphOf o;
    graph_of(&o, chain);
    KernelDraft k =
        kernels_of(&o, &(SchedulerOptions){ .budget = 1, .no_fusion = true, .no_places = true, .no_inlining = true });
    CHECK(edit(&o, &k, MOVE_INLINE, "p", 0) && edit(&o, &k, MOVE_INLINE, "c", 0), "%s", text_of(&o, &k));
    CHECK(has(&o, &k, "\nb.compute_root()"), "%s", text_of(&o, &k));
    CHECK(edit(&o, &k, MOVE_MERGE, "b", 0) && has(&o, &k, "b.compute_at(out, xo).gpu_threads(x, y)"), "%s",
          text_of(&o, &k));
    CHECK(edit(&o, &k, MOVE_MERGE, "a", 0) && has(&o, &k, "a.compute_at(out, xo).gpu_threads(x, y)"), "%s",
          text_of(&o, &k));
    CHECK(edit(&o, &k, MOVE_KERNEL, "b", 0) && has(&o, &k, "b.compute_root()") && has(&o, &k, "a.compute_root()"),
          "what two kernels read is one of its own: %s", text_of(&o, &k));
    CHECK(edit(&o, &k, MOVE_INLINE, "b", 0) && has(&o, &k, "b.inline()"), "%s", text_of(&o, &k));
    CHECK(edit(&o, &k, MOVE_MERGE, "b", 0) && has(&o, &k, "b.compute_at(out, xo)"), "%s", text_of(&o, &k));
    graph_of_end(&o);
}

/* What has no threads of its own is not edited. */
static void test_left(void)
{
    GraphOf o;
    Move    moves[256];
    graph_of(&o, scan);
    KernelDraft k     = kernels_of(&o, &(SchedulerOptions){ .budget = 1 });
    const int   count = kernel_edits_list(&k, DEVICE_CUDA, moves, 256);
    for (int i = 0; i < count; i++) {
        const bool places = moves[i].kind == MOVE_INLINE || moves[i].kind == MOVE_KERNEL || moves[i].kind == MOVE_MERGE;
        CHECK(!places || strcmp(o.graph.nodes[moves[i].site].func->name, "r"), "edit %d of a scan", (int)moves[i].kind);
    }
    graph_of_end(&o);
}

/* ---- Searches ---- */

typedef struct Run {
    uint64_t    trace;
    int         steps;
    char       *first;
    TuneResult  result;
    size_t      early, late; /* most memory of the context, in the first part of the candidates and later */
    int         early_at;
    kn_context *cx;
} Run;

static void note(void *user, const TuneStep *step)
{
    Run *r       = user;
    r->first     = r->steps ? r->first : strdup(step->what);
    r->trace     = r->trace * 31 + step->trial->key + (uint64_t)step->outcome->pairs;
    size_t *most = ++r->steps <= r->early_at ? &r->early : &r->late;
    *most        = r->cx->memory_used > *most ? r->cx->memory_used : *most;
}

/* Refuses what stores something in a kernel, as lowering does where it has no constant size. */
static bool accepts(void *user, const TuneTrial *trial)
{
    (void)user;
    return !strstr(trial->text, "compute_at");
}

static void search(const char *text, uint64_t seed, int candidates, bool refuses, Run *run)
{
    GraphOf o;
    graph_of(&o, text);
    *run = (Run){ .cx = o.cx, .early_at = candidates / 4 };
    schedule_fit_device(DEVICE_CUDA, &o.machine);
    TuneSpace      space = { .directives = "", .graph = o.graph };
    TuneSimulation s = { .seed = seed, .budget = 1e9, .user = run, .step = note, .accepts = refuses ? accepts : NULL };
    tune_simulate(&s);
    const TuneJob job = { .cx          = o.cx,
                          .m           = &o.machine,
                          .spaces      = &space,
                          .space_count = 1,
                          .options     = { .budget = 2 },
                          .host        = &s.host,
                          .seed        = seed,
                          .batch       = 2,
                          .device      = DEVICE_CUDA,
                          .most        = candidates };
    Tuner        *t   = tune_begin(&job, &o.arena);
    tune_run(t, tune_algorithm("model"), &o.arena, &run->result);
    CHECK(kn_schedule_parse(o.p, "best", run->result.text, -1) == KN_OK, "%s", kn_error_text(o.cx));
    CHECK(!refuses || !strstr(run->result.text, "compute_at"), "what is refused is not the best: %s", run->result.text);
    const TuneFound found = tune_found(t);
    CHECK(found.kernels && !found.draft &&
              tune_predict(&found, &o.graph, &o.machine, &o.arena) == found.trial->predicted,
          "the same graph, another prediction");
    run->result.text = NULL;
    tune_end(t);
    graph_of_end(&o);
}

static void test_searches(void)
{
    Run a, b, c;
    search(chain, 1, 120, false, &a);
    search(chain, 1, 120, false, &b);
    search(chain, 2, 120, false, &c);
    CHECK(a.trace == b.trace && a.result.speedup == b.result.speedup, "the same seed, another search");
    CHECK(a.trace != c.trace, "another seed, the same search");
    CHECK(a.result.speedup > 1.05 && a.result.wrong <= TUNE_WRONG_WINNER, "%g, %g", a.result.speedup, a.result.wrong);
    CHECK(!strcmp(a.first, "auto (gpu)"), "%s", a.first);
    free(a.first);
    free(b.first);
    free(c.first);
}

/* Where the compiler refuses the first schedule, the next that it takes is the one to beat. */
static void test_refused(void)
{
    Run r;
    search(sums, 3, 40, true, &r);
    CHECK(r.steps > 10 && strcmp(r.first, "auto (gpu)"), "%d, %s", r.steps, r.first);
    free(r.first);
}

static void test_memory(void)
{
    enum { KEYS = 512 << 10 };
    Run r;
    search(chain, 3, check_fewer(400), false, &r);
    CHECK(r.late < r.early + KEYS, "%zu bytes after a quarter, later %zu", r.early, r.late);
    free(r.first);
}

int main(void)
{
    test_all_edits();
    test_places();
    test_left();
    test_searches();
    test_refused();
    test_memory();
    return check_done();
}
