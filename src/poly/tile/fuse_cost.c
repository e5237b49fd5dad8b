/* SPDX-License-Identifier: MIT */
/* Fusion by cost.
 *
 * Takes   the stages in the order of the text.
 * Gives   runs of stages next to each other; each run is a group. A run costs
 *             the bytes of what is written to memory and read again: its last stage, and stages whose values live on,
 *             or all of it where the scratch of a tile is larger than the cache,
 *             and the operations of what its tiles compute more than once.
 *         best(i) = min over j of cost(i..j) + best(j + 1), from the last stage to the first.
 * Holds   for runs that can be fused: those of which each stage joins its only consumer (fuse.c). A byte and an
 *         operation cost the same: a core of today moves about as many bytes as it does operations on vectors in a
 *         nanosecond. That is a guess within a factor of two; it was not fitted.
 * From    the dynamic program over chains of src/schedulers, without its machine model. */
#include "poly/tile/sample.h"
#include "poly/tile/stages.h"

#include <limits.h>

enum { MOST_RUN = 16, CALL_OPERATIONS = 10, WRITTEN_AND_READ = 2, DEFAULT_CACHE = 512 << 10 };
enum { MOST_REDUNDANT = 160 }; /* percent of its share; a guess, not measured */

typedef struct Weight {
    double points, operations, bytes; /* of a stage: operations and bytes for all of its points */
} Weight;

static int operations(const CExpr *e)
{
    int n = e->kind == CEXPR_BINARY || e->kind == CEXPR_CHOICE ? 1 : e->kind == CEXPR_CALL ? CALL_OPERATIONS : 0;
    for (int i = 0; i < e->count; i++)
        n += operations(e->args[i]);
    return n;
}

/* The points of the box around a statement's instances, with parameters at a large value. */
static double instances(const Statement *st)
{
    isl_set *all = sample_at(isl_set_copy(st->domain));
    double   n   = 1;
    int64_t  range[2];
    for (int d = 0; d < st->depth; d++)
        n *= sample_range(all, d, range) ? (double)(range[1] - range[0] + 1) : 1;
    isl_set_free(all);
    return n;
}

static Weight *weigh(const Stages *p)
{
    const Scop *s = p->tiled->scop;
    Weight     *w = ARENA_ARRAY(s->arena, Weight, p->at.count + 1);
    for (size_t i = 0; i < s->statements.count; i++) {
        const Statement *st   = &s->statements.at[i];
        Weight          *own  = &w[p->stage_of[i]];
        double           runs = instances(st);
        own->points           = runs > own->points ? runs : own->points;
        own->operations += runs * operations(st->assign->value);
        own->bytes += runs * (double)type_bits(st->assign->target->type) / 8;
    }
    return w;
}

/* Forgets the groups. */
static void forget(Stages *p)
{
    for (size_t i = 0; i < p->at.count; i++) {
        Stage *s = &p->at.at[i];
        s->core  = isl_map_free(s->core);
        s->need  = isl_map_free(s->need);
        s->live  = false;
        s->group = -1;
    }
    p->groups.count = 0;
}

/* The cost of the runs i..last, for i from last down as long as they can be fused; how many there are. */
static int run_costs(Stages *p, const Weight *w, size_t last, double cost[MOST_RUN])
{
    const Group others = { .root = (int)last };
    double      cache  = (double)(p->tiled->options.l2 > 0 ? p->tiled->options.l2 : DEFAULT_CACHE) / 2;
    vec_push(p->tiled->scop->arena, &p->groups, others);
    for (size_t i = last + 1; i < p->at.count; i++)
        p->at.at[i].group = 0;
    stages_begin(p, last);
    const Group *g    = &p->groups.at[p->at.at[last].group];
    double       tile = 1, moved = WRITTEN_AND_READ * w[last].bytes, again = 0, saved = 0, scratch = 0;
    int          n = 0, percent;
    for (int k = 0; k < g->tile_dims; k++)
        tile *= (double)g->size[k];
    cost[n++] = moved;
    for (size_t i = last; i-- > 0 && n < MOST_RUN && stages_join(p, i, INT_MAX, &percent);) {
        double ratio = percent > 100 ? percent / 100.0 : 1;
        again += (ratio - 1) * w[i].operations;
        scratch += tile * ratio * w[i].bytes / (w[last].points > 0 ? w[last].points : 1);
        if (p->at.at[i].live)
            moved += WRITTEN_AND_READ * w[i].bytes;
        else
            saved += WRITTEN_AND_READ * w[i].bytes;
        cost[n++] = moved + again + (scratch > cache ? saved : 0);
    }
    forget(p);
    return n;
}

/* By stage, the first stage of its run. */
static int *runs_of(Stages *p)
{
    size_t        n     = p->at.count;
    const Weight *w     = weigh(p);
    Arena        *arena = p->tiled->scop->arena;
    /* forward[j][k]: the cost of the run of k + 1 stages that ends with j */
    double(*runs)[MOST_RUN] = (double(*)[MOST_RUN])arena_array(arena, n + 1, sizeof *runs);
    int    *count           = ARENA_ARRAY(arena, int, n + 1);
    double *best            = ARENA_ARRAY(arena, double, n + 1); /* of stages i and later */
    size_t *end             = ARENA_ARRAY(arena, size_t, n + 1);
    int    *first           = ARENA_ARRAY(arena, int, n + 1);
    for (size_t j = 0; j < n; j++)
        count[j] = run_costs(p, w, j, runs[j]);
    for (size_t i = n; i-- > 0;) {
        end[i] = n;
        for (size_t j = i; j < n && j - i < MOST_RUN; j++) {
            double cost = j - i < (size_t)count[j] ? runs[j][j - i] + best[j + 1] : -1;
            if (cost >= 0 && (end[i] == n || cost < best[i])) {
                best[i] = cost;
                end[i]  = j;
            }
        }
    }
    for (size_t i = 0; i < n;)
        for (size_t from = i, to = end[from]; i <= to; i++)
            first[i] = (int)from;
    return first;
}

bool stages_fuse(Stages *p)
{
    TileFusion rule = p->tiled->options.fuse;
    int       *runs = rule == FUSE_COST ? runs_of(p) : NULL;
    bool       any  = false;
    for (size_t i = p->at.count; i-- > 0;) {
        int  percent;
        bool here = !runs || (i + 1 < p->at.count && runs[i] == runs[i + 1]);
        if (here && stages_join(p, i, rule == FUSE_GREEDY ? MOST_REDUNDANT : INT_MAX, &percent))
            any = true;
        else
            stages_begin(p, i);
    }
    return any;
}
