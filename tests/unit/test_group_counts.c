/* SPDX-License-Identifier: MIT */
/* The groupings that Jangda and Bondhugula 2020 enumerate (Tables 1 and 9), counted again; and those of small graphs.
 * Where the paper prints another number, which its own text does not bear out, what the graph gives is here.
 *
 *     build/tests/unit-test_group_counts --table      prints the counts beside the paper's, and what the repair of its
 *     recurrence gains
 *
 * There a group costs 1 for each node, 4 for each node outside that it reads or that reads it, and 0.05 for each pair
 * of its nodes: enough to make groups of several, and no more than an example. */
#include "check.h"
#include "group_graphs.h"

#include "base/context.h"

static const int limits[4] = { 0, 32, 16, 8 };

typedef struct Counted {
    const char *name, *text;
    int         nodes, most_readers;
    int64_t     counts[4]; /* without limit, and for 32, 16, 8 */
    const char *printed;   /* in the paper */
} Counted;

/* clang-format off */
static const Counted tables[] = {
    { "unsharp_polymage", "blurx; blury <- blurx; sharpen <- blury; mask <- blury sharpen", 4, 2, { 10, 10, 10, 10 },
      "10" },
    { "harris_polymage", harris_text, 11, 2, { 104, 104, 104, 98 }, "104" },
    { "bilateral_polymage", "grid!; blurz <- grid; blurx <- blurz; blury <- blurx; interpolated <- blury; filtered "
                            "<- interpolated", 6, 1, { 16, 16, 16, 16 }, "16" },
    { "camera_polymage", camera_text, 27, 5, { 12227, 12227, 9148, 1631 }, "12227 12227 3825 1631" },
    { "minifluxdiv",
      "f1x; f2x <- f1x; dx <- f2x; f1y; f2y <- f1y; dy <- f2y; f1z; f2z <- f1z; dz <- f2z; out <- dx dy dz", 10, 1,
      { 93, 93, 93, 88 }, "10, of 4 nodes" },
    { "a pair", "blurx; blury <- blurx", 2, 1, { 3, 3, 3, 3 }, NULL },
    { "a short cut", "a; b <- a; c <- a b", 3, 2, { 6, 6, 6, 6 }, NULL },
    { "a chain", "a; b <- a; c <- b; d <- c; e <- d", 5, 1, { 15, 15, 15, 15 }, NULL },
    { "a chain with a reduction", "a; b <- a; c! <- b; d <- c; e <- d", 5, 1, { 7, 7, 7, 7 }, NULL },
    { "a diamond", "a; b <- a; c <- a; d <- b c", 4, 2, { 10, 10, 10, 10 }, NULL },
    { "a fan", "a; b <- a; c <- a; d <- a", 4, 3, { 11, 11, 11, 11 }, NULL },
    { "two sources", "a; b; c <- a b", 3, 1, { 10, 10, 10, 10 }, NULL },
    { "a wide diamond", "a; b <- a; c <- a; d <- a; e <- b c d", 5, 3, { 16, 16, 16, 16 }, NULL },
};
/* clang-format on */

typedef struct Grid {
    const char *name;
    bool        w;
    int         before, coarsest, after;
    bool        joint;
    int         nodes;
    int64_t     counts[4];
    const char *printed;
} Grid;

/* clang-format off */
static const Grid grids[] = {
    { "multigrid2d_V444",  false, 4,  4, 4, true,  34,  { 595, 592, 424, 244 }, "2926 1936 1096 580" },
    { "multigrid2d_V1000", false, 10, 0, 0, true,  34,  { 595, 592, 424, 244 }, "595" },
    { "multigrid2d_W444",  true,  4,  4, 4, true,  102, { 5253, 2768, 1512, 788 }, "415 306 305 195" },
    { "multigrid2d_W1000", true,  10, 0, 0, true,  76,  { 2926, 1936, 1096, 580 }, "2926 1936 1096 580" },
    { "multigrid3d_V444",  false, 4,  4, 4, false, 37,  { 703, 688, 472, 268 }, "703 688 472 268" },
    { "multigrid3d_V1000", false, 10, 0, 0, false, 36,  { 666, 656, 456, 260 }, "666 656 456 260" },
    { "multigrid3d_W444",  true,  4,  4, 4, false, 109, { 5995, 2992, 1624, 844 }, "435 383 199 47" },
    { "multigrid3d_W1000", true,  10, 0, 0, false, 79,  { 3160, 2032, 1144, 604 }, "3160 2032 1144 604" },
};
/* clang-format on */

static Sketch sketch;

static void start(void)
{
    memset(&sketch, 0, sizeof sketch);
}

static void compare(kn_context *cx, const char *name, int nodes, const int64_t *counts)
{
    CHECK(sketch.count == nodes, "%s has %d nodes, not %d", name, sketch.count, nodes);
    for (int i = 0; i < 4; i++) {
        Arena arena;
        arena_init(&arena, cx);
        const GroupGraph g     = sketch_graph(&sketch, &arena);
        const int64_t    count = group_count(&g, limits[i], &arena);
        CHECK(count == counts[i], "%s, limit %d: %lld groups, not %lld", name, limits[i], (long long)count,
              (long long)counts[i]);
        arena_free(&arena);
    }
}

/* Table 1's column max(succ(G)) is the largest number of readers of a node. */
static int most_readers(void)
{
    int most = 0, readers[MOST_STAGES] = { 0 };
    for (int i = 0; i < sketch.edge_count; i++)
        if (++readers[sketch.edges[i][0]] > most)
            most = readers[sketch.edges[i][0]];
    return most;
}

static void counted(void *arg)
{
    kn_context *cx = arg;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        start();
        sketch_text(&sketch, tables[i].text);
        compare(cx, tables[i].name, tables[i].nodes, tables[i].counts);
        CHECK(most_readers() == tables[i].most_readers, "%s: %d readers", tables[i].name, most_readers());
    }
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        start();
        sketch_multigrid(&sketch, grids[i].w, grids[i].before, grids[i].coarsest, grids[i].after, grids[i].joint);
        compare(cx, grids[i].name, grids[i].nodes, grids[i].counts);
    }
    for (int levels = 2; levels <= 10; levels++) {
        const int     n = 4 * levels - 2;
        const int64_t c = (int64_t)n * (n + 1) / 2, with_32 = n <= 32 ? c : n * 32 - 496,
                      with_16 = n <= 16 ? c : n * 16 - 120, with_8 = n <= 8 ? c : n * 8 - 28;
        start();
        sketch_interpolation(&sketch, levels);
        compare(cx, "multiscale_interp_polymage", n, (int64_t[]){ c, with_32, with_16, with_8 });
        CHECK(most_readers() == 2, "interpolation: %d readers", most_readers());
    }
    static const int64_t blends[3][4] = { { 184, 184, 184, 0 }, { 2242, 2242, 0, 0 }, { 27108, 26952, 7809, 923 } };
    for (int levels = 2; levels <= 4; levels++) {
        start();
        sketch_blend(&sketch, levels);
        CHECK(sketch.count == 13 * levels - 12, "pyramid_blend has %d nodes", sketch.count);
        for (int i = 0; i < 4; i++) {
            Arena arena;
            arena_init(&arena, cx);
            const GroupGraph g     = sketch_graph(&sketch, &arena);
            const int64_t    count = group_count(&g, limits[i], &arena);
            CHECK(!blends[levels - 2][i] || count == blends[levels - 2][i],
                  "pyramid_blend with %d levels, limit %d: %lld", levels, limits[i], (long long)count);
            arena_free(&arena);
        }
        CHECK(levels < 3 || most_readers() == 3, "pyramid_blend: %d readers", most_readers());
    }
}

/* ---- The table --------------------------------------------------------------------------- */

static double example_cost(void *user, const int *nodes, int count, bool *hopeless)
{
    const GroupGraph *g                     = user;
    double            edges                 = 0;
    uint64_t          own[MOST_STAGES / 64] = { 0 };
    for (int i = 0; i < count; i++)
        own[nodes[i] / 64] |= (uint64_t)1 << nodes[i] % 64;
    for (int s = 0; s < g->count; s++) {
        bool touches = false;
        for (int w = 0; w < g->words && !(own[s / 64] >> s % 64 & 1); w++)
            touches |= (g->readers[(size_t)s * (size_t)g->words + (size_t)w] |
                        g->read[(size_t)s * (size_t)g->words + (size_t)w]) &
                       own[w];
        edges += touches;
    }
    *hopeless = false;
    return count + 4 * edges + 0.05 * count * (count - 1);
}

static void print_row(kn_context *cx, const char *name, const char *printed)
{
    Arena arena;
    arena_init(&arena, cx);
    GroupGraph g = sketch_graph(&sketch, &arena);
    printf("| %s | %d |", name, sketch.count);
    for (int i = 0; i < 4; i++)
        printf(" %lld", (long long)group_count(&g, limits[i], &arena));
    const Grouping found = group_search(&g, &(GroupSearch){ .cost = example_cost, .user = &g }, &arena);
    printf(" | %s | %.1f | %.1f | %.1f%s |\n", printed, found.recurrence, found.plain, found.cost,
           found.exact ? "" : ", not all asked");
    arena_free(&arena);
}

static void table(void *arg)
{
    kn_context *cx = arg;
    printf("| pipeline | nodes | groups, for no limit, 32, 16, 8 | the paper prints | F | its own groups | repaired "
           "|\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i].printed) {
            start();
            sketch_text(&sketch, tables[i].text);
            print_row(cx, tables[i].name, tables[i].printed);
        }
    start();
    sketch_interpolation(&sketch, 10);
    print_row(cx, "multiscale_interp_polymage", "741");
    start();
    sketch_blend(&sketch, 4);
    print_row(cx, "pyramid_blend", "27108 26952 7809 923");
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        start();
        sketch_multigrid(&sketch, grids[i].w, grids[i].before, grids[i].coarsest, grids[i].after, grids[i].joint);
        print_row(cx, grids[i].name, grids[i].printed);
    }
}

int main(int argc, char **argv)
{
    kn_context *cx       = kn_context_new(NULL);
    const bool  as_table = argc > 1 && !strcmp(argv[1], "--table");
    CHECK(context_try(cx, as_table ? table : counted, cx), "%s", kn_error_text(cx));
    kn_context_free(cx);
    return as_table ? 0 : check_done();
}
