/* SPDX-License-Identifier: MIT */
/* The search of kiln tune without processes: races, learned corrections, edits, the rules of the genetic search one by
 * one, and whole searches on a simulated host. */
#include "graph_of.h"

#include "schedulers/tune/genes.h"
#include "schedulers/tune/learn.h"
#include "schedulers/tune/moves.h"
#include "schedulers/tune/race.h"

static const char blur[] =
    "input in : f32(x, y) output out e = edge(in) p(x, y) = e(x, y) * 2 a(x, y) = p(x-1, y) + p(x, y) "
    "+ p(x+1, y) b(x, y) = a(x, y-1) + a(x, y) + a(x, y+1) out(x, y) = b(x, y) - in(x, y) estimate "
    "out(640, 480)";
static const char planes[] = "input in : f32(x, y, c) output out e = edge(in) a(x, y, c) = e(x-1, y, c) + e(x+1, y, c) "
                             "out(x, y, c) = a(x, y-1, c) + a(x, y+1, c) estimate out(640, 480, 3)";

/* ---- Races ---- */

/* Of two equal ones the share of races that the candidate wins is that which is stated. */
static void test_wrong_winners(void)
{
    enum { RACES = 20000 };
    Random r   = { 7 };
    int    won = 0;
    for (int i = 0; i < RACES; i++) {
        Race      race  = { 0 };
        RaceState state = RACE_GOES_ON;
        while (state == RACE_GOES_ON)
            state = race_add(&race, 1 + 0.05 * random_unit(&r), 1 + 0.05 * random_unit(&r));
        won += state == RACE_WON;
    }
    CHECK(won > 0 && won <= TUNE_WRONG_WINNER * RACES, "%d of %d races between equals were won", won, RACES);
}

static void test_races(void)
{
    Race r = { 0 };
    CHECK(race_add(&r, 2, 1) == RACE_LOST, "twice as long is hopeless at once");
    r = (Race){ 0 };
    CHECK(race_add(&r, 1.2, 1) == RACE_GOES_ON, "a fifth may be an accident");
    CHECK(race_add(&r, 1.2, 1) == RACE_LOST, "but not twice");
    RaceState state = RACE_GOES_ON;
    r               = (Race){ 0 };
    while (state == RACE_GOES_ON)
        state = race_add(&r, 0.9, 1);
    CHECK(state == RACE_WON && r.pairs >= 7 && r.pairs <= 12, "%d pairs, all won", r.pairs);
    CHECK(race_median(&r) == 0.9, "%g", race_median(&r));
    CHECK(fabs(race_chance(3, 3) - 0.125) < 1e-12 && fabs(race_chance(2, 1) - 0.75) < 1e-12 &&
              fabs(race_chance(5, 0) - 1) < 1e-12,
          "%g", race_chance(2, 1));
}

/* ---- Corrections ---- */

static void test_learning(void)
{
    static Learned l;
    double         x[4] = { 0 }, deviation, before;
    Random         r    = { 3 };
    learn_begin(&l, 4);
    CHECK(learn_predict(&l, x, &deviation) == 0 && deviation == 0, "nothing is known of nothing");
    x[2] = 1;
    learn_predict(&l, x, &before);
    for (int i = 0; i < 200; i++) {
        double at[4];
        for (int k = 0; k < 4; k++)
            at[k] = random_unit(&r) - 0.5;
        learn_add(&l, at, 0.3 * at[2] - 0.2 * at[0]);
    }
    const double found = learn_predict(&l, x, &deviation);
    CHECK(fabs(found - 0.3) < 0.08, "the weight is 0.3, found %g", found);
    CHECK(deviation < before / 2, "%g of %g", deviation, before);
}

/* ---- Edits ---- */

/* Any edits one after the other leave a draft that the compiler accepts, and every kind of edit occurs that a stencil
 * pipeline has. */
static void test_moves(const char *text, int steps, bool *seen)
{
    GraphOf o;
    Random  r = { 11 };
    graph_of(&o, text);
    Draft d     = scheduler_dp(&o.graph, &o.machine, &(SchedulerOptions){ .budget = 1 }, &o.arena);
    Move *moves = ARENA_ARRAY(&o.arena, Move, 4096);
    for (int i = 0; i < steps; i++) {
        const int count = moves_list(&d, moves, 4096);
        CHECK(count > 0, "no edits");
        const Move move = moves[random_below(&r, count)];
        seen[move.kind] = true;
        move_apply(&d, &o.machine, &move);
        draft_legalize(&d);
        accepted_text(&o, &d);
    }
    graph_of_end(&o);
}

static void test_all_moves(void)
{
    static const MoveKind usual[] = { MOVE_TILE,  MOVE_SPLIT,  MOVE_SWAP, MOVE_PARALLEL, MOVE_VECTOR, MOVE_UNROLL,
                                      MOVE_STORE, MOVE_INLINE, MOVE_ROOT, MOVE_GROUP,    MOVE_RULE };
    bool                  seen[MOVE_KINDS] = { false };
    test_moves(blur, check_fewer(400), seen);
    test_moves(planes, check_fewer(400), seen);
    for (size_t i = 0; i < sizeof usual / sizeof *usual && check_thorough(); i++)
        CHECK(seen[usual[i]], "no edit of the kind %s", move_name(usual[i]));
}

/* ---- Genes ---- */

typedef struct Genetic {
    GraphOf   o;
    GeneSpace space;
    Gene     *genes;
    Random    r;
} Genetic;

static void genetic_begin(Genetic *g, const char *text)
{
    graph_of(&g->o, text);
    g->space = gene_space(&g->o.graph, &g->o.machine, &g->o.arena);
    g->genes = ARENA_ARRAY(&g->o.arena, Gene, 64);
    g->r     = (Random){ 5 };
    genes_breadth_first(&g->space, g->genes);
}

static int node_of(const Genetic *g, const char *name)
{
    for (int s = 0; s < g->o.graph.node_count; s++)
        if (!strcmp(g->o.graph.nodes[s].func->name, name))
            return s;
    CHECK(false, "there is no %s", name);
    return 0;
}

static const char *text_of(Genetic *g)
{
    Draft d;
    if (!genes_draft(&g->space, g->genes, &g->o.arena, &d))
        return NULL;
    return accepted_text(&g->o, &d);
}

/* Breadth first is valid; a level that the reader's loops do not have is not, nor a vector of a vector. */
static void test_validity(void)
{
    Genetic g;
    genetic_begin(&g, blur);
    const int a = node_of(&g, "a"), b = node_of(&g, "b");
    CHECK(text_of(&g), "breadth first");
    g.genes[a] = (Gene){ .where = WHERE_INSIDE, .compute = 1, .store = 0 };
    CHECK(text_of(&g), "inside the loops of b");
    g.genes[a].compute = 4;
    CHECK(!text_of(&g), "b has no fifth loop");
    g.genes[a] = (Gene){ .where = WHERE_INSIDE, .compute = 0, .store = 0 };
    g.genes[b] =
        (Gene){ .where = WHERE_ROOT, .count = 2, .steps = { { TRANSFORM_VECTOR, 0, 8 }, { TRANSFORM_VECTOR, 0, 8 } } };
    CHECK(!text_of(&g), "a vector of vectors");
    graph_of_end(&g.o);
}

/* Functions of footprint one are inlined; the others are tiled or parallel; small dimensions are not tiled. */
static void test_starting_points(void)
{
    Genetic g;
    bool    tiled = false, parallel = false;
    genetic_begin(&g, blur);
    const int p = node_of(&g, "p"), a = node_of(&g, "a"), b = node_of(&g, "b");
    CHECK(gene_has_footprint_one(&g.space, b) && !gene_has_footprint_one(&g.space, p), "footprints");
    for (int i = 0; i < 40; i++) {
        genes_reasonable(&g.space, &g.r, g.genes);
        CHECK(g.genes[b].where == WHERE_INLINE, "b is read at its own point only");
        CHECK(g.genes[a].where == WHERE_ROOT, "a is not");
        tiled    = tiled || g.genes[a].count == 5;
        parallel = parallel || g.genes[a].count == 1;
        CHECK(text_of(&g), "reasonable schedules are valid");
    }
    CHECK(tiled && parallel, "both occur");
    graph_of_end(&g.o);
    genetic_begin(&g, planes);
    for (int i = 0; i < 40; i++) {
        int x, y;
        gene_choose_xy(&g.space, node_of(&g, "a"), &g.r, &x, &y);
        CHECK(x == 0 && y == 1, "three channels are not tiled: %d %d", x, y);
    }
    graph_of_end(&g.o);
}

static void test_sizes_are_powers_of_two(void)
{
    Random r = { 1 };
    for (int i = 0; i < 100; i++) {
        const int size = gene_size(&r);
        CHECK(size >= 2 && size <= 256 && !(size & (size - 1)), "%d", size);
    }
}

static void test_crossover(void)
{
    Genetic g;
    Gene    a[64] = { { 0 } }, b[64] = { { 0 } };
    bool    mixed = false;
    genetic_begin(&g, blur);
    const int n = g.o.graph.node_count;
    for (int s = 0; s < n; s++) {
        a[s].compute = 1;
        b[s].compute = 2;
    }
    for (int i = 0; i < 100; i++) {
        int changes = 0;
        genes_cross(&g.space, &g.r, a, b, g.genes);
        for (int s = 1; s < n; s++)
            changes += g.genes[s].compute != g.genes[s - 1].compute;
        CHECK(changes <= 2, "%d points", changes);
        mixed = mixed || changes == 2;
    }
    CHECK(mixed, "a piece from the middle");
    graph_of_end(&g.o);
}

static Gene some_gene(void)
{
    return (
        Gene){ .where = WHERE_ROOT, .count = 2, .steps = { { TRANSFORM_SPLIT, 1, 64 }, { TRANSFORM_PARALLEL, 1, 0 } } };
}

/* Applies a rule to `a`, many times from the same genes; true if all results are as `holds` says, and one differs. */
static void test_mutation(const char *name, bool (*holds)(const Genetic *g, const Gene *before, int s))
{
    Genetic g;
    Gene    before[64] = { { 0 } };
    int     rule = 0, changed = 0;
    genetic_begin(&g, blur);
    const int s = node_of(&g, "a");
    while (rule < MUTATIONS && strcmp(mutations[rule].name, name))
        rule++;
    CHECK(rule < MUTATIONS, "there is no mutation `%s`", name);
    for (int i = 0; i < 60; i++) {
        genes_breadth_first(&g.space, g.genes);
        g.genes[s]                = some_gene();
        g.genes[node_of(&g, "b")] = (Gene){ .where = WHERE_INLINE };
        memcpy(before, g.genes, sizeof *before * (size_t)g.o.graph.node_count);
        mutations[rule].apply(&g.space, &g.r, g.genes, s);
        changed += memcmp(&before[s], &g.genes[s], sizeof *before) != 0;
        CHECK(holds(&g, before, s), "%s", name);
    }
    CHECK(changed > 20, "%s: %d of 60 changed something", name, changed);
    graph_of_end(&g.o);
}

/* Only sizes differ. */
static bool only_constants(const Genetic *g, const Gene *before, int s)
{
    const Gene *now = &g->genes[s];
    return now->count == 2 && now->where == before[s].where && now->steps[0].kind == TRANSFORM_SPLIT &&
           now->steps[0].dim == 1 && now->steps[1].size == 0 && !(now->steps[0].size & (now->steps[0].size - 1));
}

static bool others_stay(const Genetic *g, const Gene *before, int s)
{
    for (int i = 0; i < g->o.graph.node_count; i++)
        if (i != s && memcmp(&before[i], &g->genes[i], sizeof *before))
            return false;
    return true;
}

static bool is_copy(const Genetic *g, const Gene *before, int s)
{
    bool same = false;
    for (int i = 0; i < g->o.graph.node_count; i++)
        same = same || (g->space.decided[i] && !memcmp(&before[i], &g->genes[s], sizeof *before));
    return same && others_stay(g, before, s);
}

static bool is_longer(const Genetic *g, const Gene *before, int s)
{
    return g->genes[s].count == before[s].count + 1 && others_stay(g, before, s);
}

static bool is_shorter(const Genetic *g, const Gene *before, int s)
{
    return g->genes[s].count == before[s].count - 1 && others_stay(g, before, s);
}

static bool is_as_long(const Genetic *g, const Gene *before, int s)
{
    return g->genes[s].count == before[s].count && others_stay(g, before, s);
}

/* The function is tiled, its callee is computed and stored under the inner x, in vectors. */
static bool is_fused(const Genetic *g, const Gene *before, int s)
{
    (void)before;
    const Gene *callee = &g->genes[node_of(g, "p")];
    return g->genes[s].where == WHERE_ROOT && g->genes[s].count == 5 && callee->where == WHERE_INSIDE &&
           callee->compute == INNERMOST && callee->store == INNERMOST && callee->steps[0].kind == TRANSFORM_VECTOR;
}

/* One of: under x and in vectors; tiled; parallel and in vectors. */
static bool is_template(const Genetic *g, const Gene *before, int s)
{
    const Gene *now    = &g->genes[s];
    const bool  under  = now->where == WHERE_INSIDE && now->count == 1;
    const bool  tiled  = now->where == WHERE_ROOT && now->count == 5;
    const bool  simple = now->where == WHERE_ROOT && now->count == 2 && now->steps[0].kind == TRANSFORM_PARALLEL &&
                        now->steps[1].kind == TRANSFORM_VECTOR;
    return (under || tiled || simple) && others_stay(g, before, s);
}

static void test_mutations(void)
{
    test_mutation("randomized constants", only_constants);
    test_mutation("a random schedule", others_stay);
    test_mutation("the schedule of another function", is_copy);
    test_mutation("another transformation", is_longer);
    test_mutation("a transformation less", is_shorter);
    test_mutation("a replaced transformation", is_as_long);
    test_mutation("loop fusion", is_fused);
    test_mutation("a template", is_template);
}

/* The two rules that know images are drawn more often than two of eight. */
static void test_rule_weights(void)
{
    Genetic g;
    int     images = 0, counts[MUTATIONS] = { 0 };
    genetic_begin(&g, blur);
    for (int i = 0; i < 1000; i++) {
        const int rule = genes_mutate(&g.space, &g.r, g.genes);
        counts[rule]++;
        images += mutations[rule].knows_images;
        genes_breadth_first(&g.space, g.genes);
    }
    CHECK(images > 400 && images < 600, "%d of 1000", images);
    for (int i = 0; i < MUTATIONS; i++)
        CHECK(counts[i] > 40, "%s: %d of 1000", mutations[i].name, counts[i]);
    graph_of_end(&g.o);
}

/* Loop fusion makes a valid schedule: tiles of the reader, the callee inside. */
static void test_fused_text(void)
{
    Genetic g;
    genetic_begin(&g, planes);
    const int   out = node_of(&g, "out"), a = node_of(&g, "a");
    const char *text = NULL;
    for (int i = 0; i < 50 && !text; i++) {
        g.genes[out] = gene_tiled(&g.space, out, &g.r);
        g.genes[a]   = gene_under_x(&g.space, a, &g.r);
        text         = text_of(&g);
    }
    CHECK(text && strstr(text, "compute_at(out, xi)"), "%s", text ? text : "none is valid");
    graph_of_end(&g.o);
}

/* ---- Whole searches ---- */

typedef struct Run {
    TuneResult  result;
    uint64_t    trace; /* of all candidates, in order */
    int         steps;
    size_t      early, late; /* most memory of the context, in the first part of the candidates and later */
    kn_context *cx;
    int         early_at;
} Run;

static void note(void *user, const TuneStep *step)
{
    Run *r   = user;
    r->trace = r->trace * 31 + step->trial->key + (uint64_t)step->outcome->pairs;
    r->steps++;
    size_t *most = r->steps <= r->early_at ? &r->early : &r->late;
    *most        = r->cx->memory_used > *most ? r->cx->memory_used : *most;
}

static void search(const char *text, const char *algorithm, uint64_t seed, int candidates, int population, Run *run)
{
    GraphOf o;
    graph_of(&o, text);
    *run                 = (Run){ .cx = o.cx, .early_at = candidates / 4 };
    TuneSpace      space = { .directives = "", .graph = o.graph };
    TuneSimulation s     = { .seed = seed, .budget = 1e9, .user = run, .step = note };
    tune_simulate(&s);
    const TuneJob job = { .cx          = o.cx,
                          .m           = &o.machine,
                          .spaces      = &space,
                          .space_count = 1,
                          .options     = { .budget = 2 },
                          .host        = &s.host,
                          .seed        = seed,
                          .batch       = 2,
                          .most        = candidates,
                          .population  = population };
    Tuner        *t   = tune_begin(&job, &o.arena);
    tune_run(t, tune_algorithm(algorithm), &o.arena, &run->result);
    CHECK(kn_schedule_parse(o.p, "best", run->result.text, -1) == KN_OK, "%s", kn_error_text(o.cx));
    run->result.text = NULL;
    tune_end(t);
    graph_of_end(&o);
}

static void test_searches(const char *algorithm)
{
    Run a, b, c;
    search(blur, algorithm, 1, 200, 16, &a);
    search(blur, algorithm, 1, 200, 16, &b);
    search(blur, algorithm, 2, 200, 16, &c);
    CHECK(a.trace == b.trace && a.result.speedup == b.result.speedup, "%s: the same seed, another search", algorithm);
    CHECK(a.trace != c.trace, "%s: another seed, the same search", algorithm);
    CHECK(a.result.candidates >= 200 && a.result.candidates <= 202, "%s: %d", algorithm, a.result.candidates);
}

/* A thousand candidates take no more memory than the first quarter of them, but for the table of keys, and for rounds
 * in which more is drawn. */
static void test_memory(const char *algorithm)
{
    enum { KEYS = 512 << 10 };
    Run r;
    search(blur, algorithm, 3, check_fewer(1200), 64, &r);
    CHECK(r.late < r.early + KEYS, "%s: %zu bytes after a quarter, later %zu", algorithm, r.early, r.late);
}

/* The corrected model finds what the simulated machine hides: schedules faster than that of `auto`. */
static void test_gain(void)
{
    Run r;
    search(blur, "model", 4, 300, 0, &r);
    CHECK(r.result.speedup > 1.1 && r.result.wrong <= TUNE_WRONG_WINNER, "%g, %g", r.result.speedup, r.result.wrong);
}

int main(void)
{
    test_wrong_winners();
    test_races();
    test_learning();
    test_all_moves();
    test_validity();
    test_starting_points();
    test_sizes_are_powers_of_two();
    test_crossover();
    test_mutations();
    test_rule_weights();
    test_fused_text();
    for (int i = 0; i < tune_algorithm_count; i++) {
        test_searches(tune_algorithms[i].name);
        test_memory(tune_algorithms[i].name);
    }
    test_gain();
    return check_done();
}
