/* SPDX-License-Identifier: MIT */
/* Genes to drafts; starting points and templates (genes.h; Ragan-Kelley et al. 2013, section 5). */
#include "schedulers/tune/genes.h"

#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern.h"

GeneSpace gene_space(const Graph *g, const Machine *m, Arena *arena)
{
    GeneSpace space = { .g = g, .m = m, .plain = draft_plain(g, m, 0, arena) };
    space.decided   = ARENA_ARRAY(arena, bool, (size_t)g->node_count + 1);
    for (int s = 0; s < g->node_count; s++)
        space.decided[s] =
            is_defined(&g->nodes[s]) && !space.plain.patterns[s].kind && draft_main(&space.plain, s) != NO_DEF;
    return space;
}

/* ---- Drafts ------------------------------------------------------------------------------ */

static int first_of(const Group *gr, int dim)
{
    int i = 0;
    while (i < gr->loop_count && gr->loops[i].dim != dim)
        i++;
    return i < gr->loop_count ? i : -1;
}

static int last_of(const Group *gr, int dim)
{
    int i = gr->loop_count - 1;
    while (i >= 0 && gr->loops[i].dim != dim)
        i--;
    return i;
}

static bool insert(Group *gr, int at, int dim, int64_t step)
{
    if (at < 0 || gr->loop_count == MOST_GROUP_LOOPS)
        return false;
    memmove(&gr->loops[at + 1], &gr->loops[at], sizeof *gr->loops * (size_t)(gr->loop_count++ - at));
    gr->loops[at] = (GroupLoop){ .dim = dim, .step = step };
    return true;
}

/* Pieces of pieces have to be smaller. */
static bool apply_split(Group *gr, const Transform *t)
{
    const int at = first_of(gr, t->dim);
    if (at < 0 || gr->loops[at].step >= t->size || gr->loops[at].parallel)
        return false;
    return insert(gr, at, t->dim, t->size);
}

static bool apply_reorder(Group *gr, const Transform *t)
{
    if (t->dim >= gr->loop_count || t->size >= gr->loop_count)
        return false;
    const GroupLoop swapped = gr->loops[t->dim];
    if (swapped.dim == gr->loops[t->size].dim)
        return false;
    gr->loops[t->dim]  = gr->loops[t->size];
    gr->loops[t->size] = swapped;
    return true;
}

static bool apply_parallel(Group *gr, const Transform *t)
{
    const int at = first_of(gr, t->dim);
    if (at < 0 || gr->loops[at].parallel || gr->loops[at].vector)
        return false;
    return gr->loops[at].parallel = true;
}

static bool apply_vector(Group *gr, const Transform *t)
{
    const int at = last_of(gr, t->dim);
    if (at < 0 || gr->loops[at].step != 1 || gr->loops[at].parallel || gr->loops[at].unroll)
        return false;
    for (int i = 0; i < gr->loop_count; i++)
        if (gr->loops[i].vector)
            return false;
    gr->loops[at].step          = t->size;
    return gr->loops[at].vector = true;
}

/* Copies of the innermost loop: a piece of `size` points of it, all of them unrolled. */
static bool apply_unroll(Group *gr, const Transform *t)
{
    const int at = last_of(gr, t->dim);
    if (at < 0 || gr->loops[at].step != 1 || gr->loops[at].vector || gr->loops[at].parallel || gr->loops[at].unroll)
        return false;
    for (int i = 0; i < at; i++)
        if (gr->loops[i].dim == t->dim && gr->loops[i].step <= t->size)
            return false;
    return insert(gr, at, t->dim, t->size) && (gr->loops[at + 1].unroll = true);
}

static bool (*const appliers[TRANSFORM_KINDS])(Group *gr, const Transform *t) = {
    [TRANSFORM_SPLIT] = apply_split,   [TRANSFORM_REORDER] = apply_reorder, [TRANSFORM_PARALLEL] = apply_parallel,
    [TRANSFORM_VECTOR] = apply_vector, [TRANSFORM_UNROLL] = apply_unroll,
};

static bool make_root(const GeneSpace *space, Draft *d, int s, const Gene *gene)
{
    if (d->choices[s].where != WHERE_ROOT)
        draft_make_root(d, s);
    Group *gr = &d->groups[d->choices[s].group];
    *gr       = (Group){ .head = s, .stream = cost_streams(d, s, space->m) };
    for (int k = space->g->nodes[s].rank; k-- > 0;)
        group_add_loop(gr, k, 1, false, false);
    for (int i = 0; i < gene->count; i++)
        if (!appliers[gene->steps[i].kind](gr, &gene->steps[i]))
            return false;
    return true;
}

/* A member takes the lanes of its gene; its other transformations wait until it is at root. */
static bool make_inside(const GeneSpace *space, Draft *d, int s, const Gene *gene)
{
    const GraphNode *node  = &space->g->nodes[s];
    const int        first = node->out_count ? node->out[0]->consumer : -1;
    if (first < 0 || d->choices[first].group < 0 || !draft_may_join(d, s, d->choices[first].group))
        return false;
    const int group   = d->choices[first].group;
    const int last    = draft_innermost(d->groups[group].loops, d->groups[group].loop_count);
    const int compute = gene->compute == INNERMOST ? last : gene->compute;
    const int store   = gene->store == INNERMOST ? last : gene->store;
    if (last < 0 || compute > last || store > compute)
        return false;
    d->choices[s] = (Choice){ .where = WHERE_INSIDE, .group = group, .compute = compute, .store = store };
    for (int i = 0; i < gene->count; i++)
        if (gene->steps[i].kind == TRANSFORM_VECTOR && gene->steps[i].dim == 0)
            d->choices[s].lanes = gene->steps[i].size;
    return true;
}

static bool make_inline(Draft *d, int s)
{
    if (!draft_may_inline(d, s))
        return false;
    d->choices[s] = (Choice){ .where = WHERE_INLINE, .group = d->choices[d->graph->nodes[s].out[0]->consumer].group };
    return true;
}

/* Did making it legal change nothing? The numbers of groups may be others. */
static bool stayed(const GeneSpace *space, const Draft *asked, const Draft *legal)
{
    for (int s = 0; s < space->g->node_count; s++) {
        const Choice *a = &asked->choices[s], *b = &legal->choices[s];
        if (!space->decided[s])
            continue;
        if (a->where != b->where || (a->where == WHERE_INSIDE && (a->compute != b->compute || a->store != b->store)))
            return false;
        if (a->where == WHERE_ROOT && (asked->groups[a->group].loop_count != legal->groups[b->group].loop_count ||
                                       memcmp(asked->groups[a->group].loops, legal->groups[b->group].loops,
                                              sizeof(GroupLoop) * (size_t)asked->groups[a->group].loop_count)))
            return false;
    }
    return true;
}

bool genes_draft(const GeneSpace *space, const Gene *genes, Arena *arena, Draft *out)
{
    Draft d = draft_copy(&space->plain, arena);
    for (int s = space->g->node_count; s-- > 0;) { /* readers first: their loops are what others are inside of */
        const Gene *gene = &genes[s];
        if (!space->decided[s])
            continue;
        const bool is_output = space->g->nodes[s].is_output;
        if (gene->where == WHERE_ROOT || is_output ? !make_root(space, &d, s, gene)
            : gene->where == WHERE_INLINE          ? !make_inline(&d, s)
                                                   : !make_inside(space, &d, s, gene))
            return false;
    }
    *out = draft_copy(&d, arena);
    draft_legalize(out);
    return stayed(space, &d, out);
}

/* ---- Schedules of a function ------------------------------------------------------------- */

int gene_size(Random *r)
{
    enum { LEAST = 1, MOST = 8 }; /* 2 to 256 */
    return 1 << (LEAST + random_below(r, MOST));
}

/* Lanes: a register of the function's type, or half or twice as many. */
static int gene_lanes(const GeneSpace *space, int s, Random *r)
{
    const int lanes = draft_lanes(&space->plain, s) * (1 << random_below(r, 3)) / 2;
    return lanes < 2 ? 2 : lanes;
}

bool gene_has_footprint_one(const GeneSpace *space, int s)
{
    const GraphNode *node = &space->g->nodes[s];
    for (int i = 0; i < node->out_count; i++)
        if (!node->out[i]->pointwise)
            return false;
    return node->out_count > 0;
}

void gene_choose_xy(const GeneSpace *space, int s, Random *r, int *x, int *y)
{
    const GraphNode *node = &space->g->nodes[s];
    int              at[KN_MAX_RANK], count = 0;
    for (int k = 0; k + 1 < node->rank; k++)
        if (box_extent(&node->box, k) > GENETIC_SMALL_BOUND && box_extent(&node->box, k + 1) > GENETIC_SMALL_BOUND)
            at[count++] = k;
    *x = count ? at[random_below(r, count)] : 0;
    *y = node->rank > 1 ? *x + 1 : 0;
}

static void add(Gene *gene, TransformKind kind, int dim, int size)
{
    if (gene->count < GENETIC_TRANSFORMS)
        gene->steps[gene->count++] = (Transform){ kind, dim, size };
}

/* Loops yo, xo, yi, xi: the outer y in parallel, vectors along the inner x. */
Gene gene_tiled(const GeneSpace *space, int s, Random *r)
{
    Gene gene = { .where = WHERE_ROOT };
    int  x, y;
    gene_choose_xy(space, s, r, &x, &y);
    const int lanes = gene_lanes(space, s, r), width = gene_size(r);
    add(&gene, TRANSFORM_SPLIT, x, width < lanes ? lanes : width);
    if (y != x) {
        const int outer = space->g->nodes[s].rank - 1 - y;
        add(&gene, TRANSFORM_SPLIT, y, gene_size(r));
        add(&gene, TRANSFORM_REORDER, outer + 1, outer + 2);
    }
    add(&gene, TRANSFORM_VECTOR, x, lanes);
    add(&gene, TRANSFORM_PARALLEL, y, 0);
    return gene;
}

Gene gene_parallel_y(const GeneSpace *space, int s, Random *r)
{
    Gene gene = { .where = WHERE_ROOT };
    int  x, y;
    gene_choose_xy(space, s, r, &x, &y);
    add(&gene, TRANSFORM_PARALLEL, y, 0);
    return gene;
}

Gene gene_under_x(const GeneSpace *space, int s, Random *r)
{
    Gene gene = { .where = WHERE_INSIDE, .compute = INNERMOST, .store = INNERMOST };
    add(&gene, TRANSFORM_VECTOR, 0, gene_lanes(space, s, r));
    return gene;
}

Gene gene_parallel_vector(const GeneSpace *space, int s, Random *r)
{
    Gene gene = gene_parallel_y(space, s, r);
    int  x, y;
    gene_choose_xy(space, s, r, &x, &y);
    if (x != gene.steps[0].dim)
        add(&gene, TRANSFORM_VECTOR, x, gene_lanes(space, s, r));
    return gene;
}

Transform transform_random(const GeneSpace *space, int s, Random *r)
{
    enum { MOST_LOOPS = 5 };
    const int           rank = space->g->nodes[s].rank;
    const TransformKind kind = (TransformKind)random_below(r, TRANSFORM_KINDS);
    if (kind == TRANSFORM_REORDER)
        return (Transform){ kind, random_below(r, MOST_LOOPS), random_below(r, MOST_LOOPS) };
    const int dim = random_below(r, rank);
    return (Transform){ kind, dim, kind == TRANSFORM_VECTOR ? gene_lanes(space, s, r) : gene_size(r) };
}

Gene gene_random(const GeneSpace *space, int s, Random *r)
{
    enum { MOST_LEVEL = 5 };
    static const Where places[] = { WHERE_ROOT, WHERE_INLINE, WHERE_INSIDE };
    Gene               gene     = { .where = places[random_below(r, 3)] };
    gene.compute                = random_below(r, MOST_LEVEL);
    gene.store                  = random_below(r, gene.compute + 1);
    for (int i = random_below(r, GENETIC_TRANSFORMS); i > 0; i--)
        gene.steps[gene.count++] = transform_random(space, s, r);
    return gene;
}

/* ---- Whole genomes ----------------------------------------------------------------------- */

void genes_reasonable(const GeneSpace *space, Random *r, Gene *out)
{
    const double weight = random_unit(r);
    for (int s = 0; s < space->g->node_count; s++) {
        out[s] = (Gene){ .where = WHERE_ROOT };
        if (!space->decided[s])
            continue;
        if (!space->g->nodes[s].is_output && gene_has_footprint_one(space, s) && draft_may_inline(&space->plain, s))
            out[s].where = WHERE_INLINE;
        else
            out[s] = random_unit(r) < weight ? gene_tiled(space, s, r) : gene_parallel_y(space, s, r);
    }
}

void genes_random(const GeneSpace *space, Random *r, Gene *out)
{
    for (int s = 0; s < space->g->node_count; s++)
        out[s] = space->decided[s] ? gene_random(space, s, r) : (Gene){ .where = WHERE_ROOT };
}

void genes_breadth_first(const GeneSpace *space, Gene *out)
{
    for (int s = 0; s < space->g->node_count; s++)
        out[s] = (Gene){ .where = WHERE_ROOT };
}
