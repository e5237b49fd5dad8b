/* SPDX-License-Identifier: MIT */
/* Mutations and crossover of genomes (genes.h): the eight rules of Ragan-Kelley et al. 2013, section 5, "Schedule
 * Mutation Rules". Six are generic; loop fusion and templates know images and are chosen with higher probability.
 * Results may be invalid: the caller rejects them and draws again. */
#include "schedulers/tune/genes.h"

/* "Randomize constants." */
static void randomize_constants(const GeneSpace *space, Random *r, Gene *genes, int s)
{
    (void)space;
    for (int i = 0; i < genes[s].count; i++)
        if (genes[s].steps[i].kind != TRANSFORM_REORDER && genes[s].steps[i].kind != TRANSFORM_PARALLEL)
            genes[s].steps[i].size = gene_size(r);
}

/* "Replace a function's schedule with one randomly generated." */
static void replace_schedule(const GeneSpace *space, Random *r, Gene *genes, int s)
{
    genes[s] = gene_random(space, s, r);
}

static int random_node(const GeneSpace *space, Random *r)
{
    int s;
    do
        s = random_below(r, space->g->node_count);
    while (!space->decided[s]);
    return s;
}

/* "Copy from a randomly selected function's schedule." */
static void copy_schedule(const GeneSpace *space, Random *r, Gene *genes, int s)
{
    genes[s] = genes[random_node(space, r)];
}

/* "Add … a randomly selected transformation", at a random place of the list. The list is limited. */
static void add_transform(const GeneSpace *space, Random *r, Gene *genes, int s)
{
    Gene *gene = &genes[s];
    if (gene->count == GENETIC_TRANSFORMS)
        return;
    const int at = random_below(r, gene->count + 1);
    memmove(&gene->steps[at + 1], &gene->steps[at], sizeof *gene->steps * (size_t)(gene->count++ - at));
    gene->steps[at] = transform_random(space, s, r);
}

/* "Remove …" */
static void remove_transform(const GeneSpace *space, Random *r, Gene *genes, int s)
{
    (void)space;
    Gene *gene = &genes[s];
    if (!gene->count)
        return;
    const int at = random_below(r, gene->count);
    memmove(&gene->steps[at], &gene->steps[at + 1], sizeof *gene->steps * (size_t)(--gene->count - at));
}

/* "… or replace with a randomly selected transformation." */
static void replace_transform(const GeneSpace *space, Random *r, Gene *genes, int s)
{
    Gene *gene = &genes[s];
    if (gene->count)
        gene->steps[random_below(r, gene->count)] = transform_random(space, s, r);
}

/* "Schedules the chosen function as fully parallelized and tiled, followed by scheduling callees as vectorized by x,
 * and computed and stored under the tile's inner x dimension. The callee scheduling is repeated recursively until a
 * coin flip fails." */
static void fuse_callees(const GeneSpace *space, Random *r, Gene *genes, int s)
{
    const GraphNode *node = &space->g->nodes[s];
    for (int i = 0; i < node->in_count; i++) {
        const int callee = node->in[i]->producer;
        if (!space->decided[callee])
            continue;
        genes[callee] = gene_under_x(space, callee, r);
        if (random_below(r, 2))
            fuse_callees(space, r, genes, callee);
    }
}

static void fuse_loops(const GeneSpace *space, Random *r, Gene *genes, int s)
{
    genes[s] = gene_tiled(space, s, r);
    fuse_callees(space, r, genes, s);
}

/* "Replace a function's schedule with one of three common schedule patterns." */
static void apply_template(const GeneSpace *space, Random *r, Gene *genes, int s)
{
    static Gene (*const templates[])(const GeneSpace *, int, Random *) = { gene_under_x, gene_tiled,
                                                                           gene_parallel_vector };
    genes[s] = templates[random_below(r, (int)(sizeof templates / sizeof *templates))](space, s, r);
}

const Mutation mutations[MUTATIONS] = {
    { "randomized constants", false, randomize_constants },
    { "a random schedule", false, replace_schedule },
    { "the schedule of another function", false, copy_schedule },
    { "another transformation", false, add_transform },
    { "a transformation less", false, remove_transform },
    { "a replaced transformation", false, replace_transform },
    { "loop fusion", true, fuse_loops },
    { "a template", true, apply_template },
};

int genes_mutate(const GeneSpace *space, Random *r, Gene *genes)
{
    const bool images = random_unit(r) < GENETIC_IMAGING;
    const int  s      = random_node(space, r);
    int        rule;
    do
        rule = random_below(r, MUTATIONS);
    while (mutations[rule].knows_images != images);
    mutations[rule].apply(space, r, genes, s);
    return rule;
}

void genes_cross(const GeneSpace *space, Random *r, const Gene *a, const Gene *b, Gene *out)
{
    const int n = space->g->node_count, i = random_below(r, n + 1), k = random_below(r, n + 1);
    const int from = i < k ? i : k, to = i < k ? k : i;
    for (int s = 0; s < n; s++)
        out[s] = s >= from && s < to ? b[s] : a[s];
}
