/* SPDX-License-Identifier: MIT */
/* The search for groups: against every partition of small random graphs, and within its budget on large ones.
 *
 * Two families of costs, on random graphs of up to 8 nodes. Traffic: nodes have work, edges have bytes; a group pays
 * its work with some of it twice, and what crosses its border. Noise: any group costs anything. A group is one if it
 * has a single node that others outside read, as in Kiln; or, as in the paper, if all its nodes depend on one. The
 * figures printed are what docs/schedulers.md says of the repair. */
#include "check.h"
#include "group_graphs.h"

#include "base/context.h"

#include <math.h>
#include <time.h>

enum { MOST_APART = 128 }; /* numbers of a node and of one that reads it */

typedef struct Random {
    uint64_t state;
} Random;

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static double unit(Random *r)
{
    return (double)(mixed(r->state += UINT64_C(0x9e3779b97f4a7c15)) >> 11) * 0x1p-53;
}

/* ---- Costs ------------------------------------------------------------------------------- */

typedef struct Costs {
    const GroupGraph *graph;
    uint64_t          seed;
    bool              noise, one_head, one_first, from_readers;
    double            work[MOST_STAGES], bytes[MOST_STAGES];
    bool              inside[MOST_STAGES]; /* while a group is looked at: its nodes */
    int64_t           asked;
} Costs;

static bool has(const uint64_t *rows, int words, int i, int j)
{
    return rows[(size_t)i * (size_t)words + (size_t)(j >> 6)] >> (j & 63) & 1;
}

/* Is it read outside, or by nobody? */
static bool leaves(const Costs *c, int s)
{
    bool read = false;
    for (int r = s + 1; r < c->graph->count && r <= s + MOST_APART; r++)
        if (has(c->graph->readers, c->graph->words, s, r)) {
            read = true;
            if (!c->inside[r])
                return true;
        }
    return !read;
}

static double traffic(const Costs *c, const int *nodes, int count)
{
    const GroupGraph *g    = c->graph;
    double            cost = 0;
    for (int i = 0; i < count; i++) {
        cost += c->work[nodes[i]] * (1 + 0.15 * (count - 1 - i)) + (leaves(c, nodes[i]) ? c->bytes[nodes[i]] : 0);
        for (int p = nodes[i] > MOST_APART ? nodes[i] - MOST_APART : 0; p < nodes[i]; p++)
            if (has(g->read, g->words, nodes[i], p) && !c->inside[p])
                cost += c->bytes[p];
    }
    return cost;
}

static double inside_cost(const Costs *c, const int *nodes, int count, bool *hopeless)
{
    int heads = 0;
    for (int i = 0; i < count; i++)
        heads += leaves(c, nodes[i]);
    if (c->one_head && heads > 1) {
        *hopeless = c->from_readers;
        return INFINITY;
    }
    for (int i = 1; c->one_first && i < count; i++)
        if (!has(c->graph->reachable, c->graph->words, nodes[0], nodes[i]))
            return INFINITY;
    if (!c->noise)
        return traffic(c, nodes, count);
    uint64_t h = c->seed;
    for (int i = 0; i < count; i++)
        h = mixed(h ^ (uint64_t)nodes[i] * UINT64_C(0x9e3779b97f4a7c15));
    return count * (0.2 + 0.8 * (double)(h >> 11) * 0x1p-53);
}

static double cost_of(void *user, const int *nodes, int count, bool *hopeless)
{
    Costs *c = user;
    c->asked++;
    for (int i = 0; i < count; i++)
        c->inside[nodes[i]] = true;
    const double cost = inside_cost(c, nodes, count, hopeless);
    for (int i = 0; i < count; i++)
        c->inside[nodes[i]] = false;
    return cost;
}

/* ---- Every partition --------------------------------------------------------------------- */

typedef struct Every {
    Costs *costs;
    int    group[16], count;
    double best, known[256]; /* by set: the cost of a group; NAN: not asked for */
} Every;

/* Can the groups be put in order? */
static bool is_ordered(const GroupGraph *g, const int *group, int count)
{
    bool done[MOST_STAGES] = { false };
    for (int left = count; left > 0; left--) {
        int next = -1;
        for (int k = 0; k < count && next < 0; k++) {
            bool ready = !done[k];
            for (int s = 0; s < g->count && ready; s++)
                for (int p = 0; p < s && ready; p++)
                    ready = group[s] != k || group[p] == k || done[group[p]] || !has(g->read, g->words, s, p);
            next = ready ? k : -1;
        }
        if (next < 0)
            return false;
        done[next] = true;
    }
    return true;
}

static double partition_cost(Costs *c, const int *group, int count)
{
    double cost = 0;
    for (int k = 0; k < count; k++) {
        int  nodes[MOST_STAGES], n = 0;
        bool hopeless;
        for (int s = 0; s < c->graph->count; s++)
            if (group[s] == k)
                nodes[n++] = s;
        cost += cost_of(c, nodes, n, &hopeless);
    }
    return cost;
}

/* partition_cost, each group asked for once. */
static double known_cost(Every *e)
{
    const int n    = e->costs->graph->count;
    double    cost = 0;
    for (int k = 0; k < e->count; k++) {
        int  nodes[16], count = 0, set = 0;
        bool hopeless;
        for (int s = 0; s < n; s++)
            if (e->group[s] == k) {
                nodes[count++] = s;
                set |= 1 << s;
            }
        if (isnan(e->known[set]))
            e->known[set] = cost_of(e->costs, nodes, count, &hopeless);
        cost += e->known[set];
    }
    return cost;
}

static void every_partition(Every *e, int node)
{
    if (node == e->costs->graph->count) {
        const double cost = known_cost(e);
        if (cost < e->best && is_ordered(e->costs->graph, e->group, e->count))
            e->best = cost;
        return;
    }
    for (int k = 0; k <= e->count; k++) {
        const int had  = e->count;
        e->group[node] = k;
        e->count       = k == had ? had + 1 : had;
        every_partition(e, node + 1);
        e->count = had;
    }
}

/* ---- Random graphs ----------------------------------------------------------------------- */

static Sketch sketch;

static GroupGraph random_graph(Random *r, int count, double chance, Arena *arena)
{
    memset(&sketch, 0, sizeof sketch);
    for (int s = 0; s < count; s++) {
        sketch_stage(&sketch, -1, -1);
        for (int p = s - 1; p >= 0 && p >= s - 6; p--)
            if (unit(r) < (p == s - 1 ? 2 * chance : chance))
                sketch_reads(&sketch, s, p);
    }
    return sketch_graph(&sketch, arena);
}

static void random_costs(Costs *c, Random *r, const GroupGraph *g)
{
    c->graph = g;
    c->seed  = (uint64_t)(unit(r) * 0x1p53);
    for (int s = 0; s < g->count; s++) {
        c->work[s]  = 0.2 + 2 * unit(r) * unit(r);
        c->bytes[s] = 0.2 + 2 * unit(r) * unit(r);
    }
}

static void check_grouping(Costs *c, const Grouping *found, const char *what)
{
    bool numbered = true;
    for (int s = 0; s < c->graph->count; s++)
        for (int p = 0; p < s; p++)
            numbered =
                numbered && (!has(c->graph->read, c->graph->words, s, p) || found->of_node[p] <= found->of_node[s]);
    for (int s = 0; s < c->graph->count; s++)
        numbered = numbered && found->of_node[s] >= 0 && found->of_node[s] < found->count;
    CHECK(numbered, "%s: the groups are not in order", what);
    const double cost = partition_cost(c, found->of_node, found->count);
    CHECK(fabs(cost - found->cost) <= 1e-9 * (1 + fabs(cost)), "%s: costs %g, not %g", what, cost, found->cost);
}

/* ---- The repair against the best --------------------------------------------------------- */

typedef struct Family {
    const char *name;
    bool        noise, one_head, one_first, from_readers;
    bool        is_best; /* the search sees every group that there is, so it must find the best */
    int         most_nodes;
} Family;

/* clang-format off */
static const Family families[] = {
    { "traffic, one head, from the last node",      false, true,  false, true,  true,  0 },
    { "noise, one head, from the last node",        true,  true,  false, true,  true,  0 },
    { "traffic, one first, from the first (paper)",  false, false, true,  false, true,  0 },
    { "noise, one first, from the first (paper)",    true,  false, true,  false, true,  0 },
    { "traffic, one head, from the first",           false, true,  false, false, false, 0 },
    { "traffic, any group, from the first",          false, false, false, false, false, 0 },
    { "traffic, any group, from the last",           false, false, false, true,  false, 0 },
    { "traffic, one head, two at a time (Alg. 5)",   false, true,  false, true,  false, 2 },
    { "traffic, one head, three at a time (Alg. 5)", false, true,  false, true,  false, 3 },
};
/* clang-format on */

typedef struct Gap {
    double sum, most;
    int    count, best;
} Gap;

static void add_gap(Gap *gap, double cost, double best)
{
    const double part = cost / best - 1;
    gap->sum += part;
    gap->most = part > gap->most ? part : gap->most;
    gap->count++;
    gap->best += part < 1e-9;
}

static void print_gap(const char *what, const Gap *g)
{
    printf("    %-10s %6.2f%% above the best in the mean, at most %6.1f%%, the best in %3.0f%% of the graphs\n", what,
           100 * g->sum / g->count, 100 * g->most, 100.0 * g->best / g->count);
}

static void compare_family(kn_context *cx, const Family *f, int graphs)
{
    static Costs costs;
    Random       r     = { 1 };
    Gap          plain = { 0 }, repaired = { 0 };
    double       over = 0;
    for (int i = 0; i < graphs; i++) {
        Arena arena;
        arena_init(&arena, cx);
        const GroupGraph g = random_graph(&r, 4 + i % 5, 0.2 + 0.4 * unit(&r), &arena);
        costs              = (Costs){ .noise = f->noise, .one_head = f->one_head, .one_first = f->one_first };
        costs.from_readers = f->from_readers;
        random_costs(&costs, &r, &g);
        const Grouping found = group_search(
            &g,
            &(GroupSearch){
                .cost = cost_of, .user = &costs, .from_readers = f->from_readers, .most_nodes = f->most_nodes },
            &arena);
        Every e = { .costs = &costs, .best = INFINITY };
        for (int k = 0; k < 256; k++)
            e.known[k] = (double)NAN;
        every_partition(&e, 0);
        check_grouping(&costs, &found, f->name);
        CHECK(found.plain >= e.best - 1e-9, "%s %d: plain %g is less than the best, %g", f->name, i, found.plain,
              e.best);
        CHECK(found.cost >= e.best - 1e-9, "%s %d: %g is less than the best, %g", f->name, i, found.cost, e.best);
        CHECK(!f->is_best || fabs(found.cost - e.best) < 1e-9, "%s %d: %g, not %g", f->name, i, found.cost, e.best);
        CHECK(!f->is_best || found.exact, "%s %d: something was cut off", f->name, i);
        CHECK(found.cost <= found.plain + 1e-9, "%s %d: repaired %g, plain %g", f->name, i, found.cost, found.plain);
        add_gap(&plain, found.plain, e.best);
        add_gap(&repaired, found.cost, e.best);
        over += found.recurrence / found.plain - 1;
        arena_free(&arena);
    }
    printf("%s: F says %.1f%% more than its own choices cost\n", f->name, 100 * over / graphs);
    print_gap("plain", &plain);
    print_gap("repaired", &repaired);
}

/* ---- The paper's graphs ------------------------------------------------------------------ */

static void paper_graph(int which)
{
    memset(&sketch, 0, sizeof sketch);
    switch (which) {
    case 0: sketch_text(&sketch, harris_text); break;
    case 1: sketch_text(&sketch, camera_text); break;
    case 2: sketch_interpolation(&sketch, 10); break;
    case 3: sketch_blend(&sketch, 4); break;
    default: sketch_multigrid(&sketch, true, 4, 4, 4, false); break;
    }
}

/* There is no list of all their partitions: what the choices of F cost beyond the repaired ones, with costs of both
 * families. */
static void paper_graphs(kn_context *cx, bool noise, bool from_readers)
{
    static const char *const names[] = { "harris", "camera", "interpolation", "pyramid_blend", "multigrid3d_W444" };
    static Costs             costs;
    Random                   r = { 3 };
    printf("%s, %s: what plain costs beyond repaired\n", noise ? "noise" : "traffic",
           from_readers ? "one head, from the last node" : "one first, from the first");
    for (int i = 0; i < 5; i++) {
        Gap     gap    = { 0 };
        int     exact  = 0;
        int64_t states = 0;
        for (int k = 0; k < 5; k++) {
            Arena arena;
            arena_init(&arena, cx);
            paper_graph(i);
            const GroupGraph g = sketch_graph(&sketch, &arena);
            costs              = (Costs){ .noise = noise, .one_head = from_readers, .one_first = !from_readers };
            costs.from_readers = from_readers;
            random_costs(&costs, &r, &g);
            const Grouping found = group_search(
                &g, &(GroupSearch){ .cost = cost_of, .user = &costs, .from_readers = from_readers }, &arena);
            check_grouping(&costs, &found, names[i]);
            add_gap(&gap, found.plain, found.cost);
            exact += found.exact;
            states += found.states;
            arena_free(&arena);
        }
        printf("    %-18s %6.2f%% in the mean, at most %6.1f%%; %lld groups visited, exact in %d of 5\n", names[i],
               100 * gap.sum / gap.count, 100 * gap.most, (long long)states / 5, exact);
    }
}

/* ---- Budgets ----------------------------------------------------------------------------- */

typedef struct Large {
    const char *name;
    int         nodes;
    double      chance;
    int64_t     states;
    double      seconds;
} Large;

static const Large larges[] = {
    { "a chain of 1000", 1000, 0, 20000, 0 },
    { "1000 nodes, thin", 1000, 0.2, 20000, 0 },
    { "1000 nodes, dense", 1000, 0.6, 20000, 0 },
    { "1000 nodes, few groups", 1000, 0.3, 3000, 0 },
    { "1000 nodes, no time", 1000, 0.3, 20000, 1e-6 },
    { "60 nodes", 60, 0.3, 20000, 0 },
    { "one node", 1, 0, 20000, 0 },
};

static void within_budget(kn_context *cx, const Large *l, bool from_readers)
{
    static Costs costs;
    Arena        arena;
    Random       r = { 7 };
    arena_init(&arena, cx);
    GroupGraph g = random_graph(&r, l->nodes, l->chance, &arena);
    if (l->chance == 0)
        for (int s = 1; s < l->nodes; s++)
            group_graph_edge(&g, s - 1, s);
    group_graph_close(&g);
    costs = (Costs){ .one_head = true, .from_readers = from_readers };
    random_costs(&costs, &r, &g);
    const GroupSearch search = {
        .cost = cost_of, .user = &costs, .from_readers = from_readers, .states = l->states, .seconds = l->seconds
    };
    const clock_t  begin = clock();
    const Grouping found = group_search(&g, &search, &arena);
    const double   taken = (double)(clock() - begin) / CLOCKS_PER_SEC;
    CHECK(costs.asked <= l->states + 2 * l->nodes, "%s: %lld groups asked for", l->name, (long long)costs.asked);
    const int64_t asked = costs.asked;
    check_grouping(&costs, &found, l->name);
    const Grouping again = group_search(&g, &search, &arena);
    CHECK(l->seconds > 0 || !memcmp(found.of_node, again.of_node, sizeof *found.of_node * (size_t)g.count),
          "%s: another result the second time", l->name);
    printf("%s%s: %d groups after %d rounds, %lld groups visited in %.3f s; cost %.4g, plain %.4g%s\n", l->name,
           from_readers ? "" : ", from the first", found.count, found.rounds, (long long)asked, taken, found.cost,
           found.plain, found.exact ? ", exact" : "");
    arena_free(&arena);
}

/* A node that ought not to be by itself, and a pipeline without nodes. */
static double nothing(void *user, const int *nodes, int count, bool *hopeless)
{
    (void)user, (void)nodes, (void)hopeless;
    return count > 1 ? (double)NAN : INFINITY;
}

static void odd(kn_context *cx)
{
    Arena arena;
    arena_init(&arena, cx);
    GroupGraph g = group_graph_new(&arena, 0);
    group_graph_close(&g);
    CHECK(group_search(&g, &(GroupSearch){ .cost = nothing }, &arena).count == 0, "no nodes, no groups");
    memset(&sketch, 0, sizeof sketch);
    sketch_text(&sketch, "a; b <- a; c <- a b");
    g                    = sketch_graph(&sketch, &arena);
    const Grouping found = group_search(&g, &(GroupSearch){ .cost = nothing }, &arena);
    CHECK(found.count == 3 && found.of_node[2] == 2, "%d groups", found.count);
    arena_free(&arena);
}

static void all(void *arg)
{
    kn_context *cx = arg;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        compare_family(cx, &families[i], check_fewer(200));
    for (int i = 0; i < 4; i++)
        paper_graphs(cx, i & 1, i & 2);
    for (size_t i = 0; i < sizeof larges / sizeof *larges; i++) {
        within_budget(cx, &larges[i], true);
        within_budget(cx, &larges[i], false);
    }
    odd(cx);
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    CHECK(context_try(cx, all, cx), "%s", kn_error_text(cx));
    kn_context_free(cx);
    return check_done();
}
