/* SPDX-License-Identifier: MIT */
/* Random drafts: groups, loops, levels and kinds are drawn without asking what is legal. draft_print has to make a
 * legal schedule of any of them. */
#include "random_draft.h"
#include "schedulers/draft/pattern.h"
#include "schedulers/rules/rules.h"

#include <stdlib.h>
#include <string.h>

typedef struct Drawing {
    Choices     *c;
    kn_pipeline *p;
    char        *text;
} Drawing;

/* Every dimension one to three times, in any order; sometimes one is missing or foreign. */
static void draw_loops(Choices *c, const GraphNode *node, Group *gr)
{
    int left[KN_MAX_RANK], open = 0;
    for (int d = 0; d < node->rank; d++) {
        left[d] = choose(c, 20) ? 1 + (int)choose(c, 3) : 0;
        open += left[d];
    }
    while (open > 0 && gr->loop_count < MOST_GROUP_LOOPS) {
        const int d = (int)choose(c, (uint32_t)node->rank);
        if (!left[d])
            continue;
        left[d]--;
        open--;
        gr->loops[gr->loop_count++] =
            (GroupLoop){ .dim      = choose(c, 50) ? d : d + 1,
                         .step     = choose(c, 8) ? 1 << choose(c, 6) : (int64_t)choose(c, 100) - 5,
                         .parallel = choose(c, 3) == 0,
                         .vector   = choose(c, 3) == 0,
                         .unroll   = choose(c, 4) == 0,
                         .fused    = choose(c, 2) == 0 };
    }
}

static int *draw_order(Choices *c, Arena *arena, int rank)
{
    int *order = ARENA_ARRAY(arena, int, (size_t)rank + 1);
    for (int d = 0; d < rank; d++)
        order[d] = d;
    for (int d = rank - 1; d > 0; d--) {
        const int other = (int)choose(c, (uint32_t)d + 1), had = order[d];
        order[d]     = order[other];
        order[other] = had;
    }
    if (rank && choose(c, 20) == 0)
        order[0] = rank;
    return choose(c, 3) ? order : NULL;
}

/* Loops as a head's, and often some over steps of its updates, in any place. */
static const MemberNest *draw_nest(Choices *c, const GraphNode *node, Arena *arena)
{
    Group       gr    = { 0 };
    MemberNest *n     = ARENA_NEW(arena, MemberNest);
    int         steps = 0;
    draw_loops(c, node, &gr);
    for (int k = 0; k < node->func->update_count; k++)
        steps = node->func->updates[k].rvar_count > steps ? node->func->updates[k].rvar_count : steps;
    for (int i = 0; i <= gr.loop_count && n->count < MOST_GROUP_LOOPS; i++) {
        while (steps && choose(c, 3) == 0 && n->count < MOST_GROUP_LOOPS)
            n->loops[n->count++] =
                (GroupLoop){ .dim    = STEP_DIM + (int)choose(c, (uint32_t)steps + (choose(c, 20) == 0)),
                             .step   = 1 << choose(c, 4),
                             .unroll = choose(c, 3) == 0,
                             .given  = choose(c, 3) == 0,
                             .vector = choose(c, 9) == 0 };
        if (i < gr.loop_count && n->count < MOST_GROUP_LOOPS)
            n->loops[n->count++] = gr.loops[i];
    }
    return n;
}

/* Copies for readers, most of which do not read what is copied. */
static void draw_copies(Choices *c, Draft *d, Arena *arena)
{
    const Graph *g      = d->graph;
    StagedCopy  *copies = ARENA_ARRAY(arena, StagedCopy, (size_t)g->node_count + 1);
    for (int s = 0; s < g->node_count; s++) {
        const GraphNode *node = &g->nodes[s];
        if (choose(c, 3))
            continue;
        const int reader        = node->out_count ? node->out[choose(c, (uint32_t)node->out_count)]->consumer
                                                  : (int)choose(c, (uint32_t)g->node_count);
        copies[d->copy_count++] = (StagedCopy){ .of      = s,
                                                .reader  = reader,
                                                .compute = (int)choose(c, 6) - 2,
                                                .lanes   = 1 << choose(c, 7),
                                                .memory  = draw_order(c, arena, node->rank) };
    }
    d->copies = copies;
}

/* Choice.at: most often the first consumer, or nothing said. */
static int draw_at(Choices *c, const Draft *d, const GraphNode *node)
{
    if (choose(c, 2))
        return 0;
    return choose(c, 4) && node->out_count ? node->out[0]->consumer + 1
                                           : (int)choose(c, (uint32_t)d->graph->node_count + 2) - 1;
}

static void draw_choice(Choices *c, Draft *d, int s, Arena *arena)
{
    const GraphNode *node = &d->graph->nodes[s];
    const int        what = (int)choose(c, 10);
    if (node->kind == NODE_INPUT)
        return;
    if (what < 3) {
        d->choices[s] = (Choice){ .where = WHERE_INLINE };
    } else if (what < 8 && d->group_count) {
        const int group = choose(c, 3) && node->out_count ? d->choices[node->out[0]->consumer].group
                                                          : (int)choose(c, (uint32_t)d->group_count);
        d->choices[s]   = (Choice){ .where   = WHERE_INSIDE,
                                    .group   = group < 0 ? 0 : group,
                                    .compute = (int)choose(c, 8) - 1,
                                    .store   = (int)choose(c, 8) - 1,
                                    .lanes   = choose(c, 2) ? 1 << choose(c, 7) : 0,
                                    .align   = choose(c, 3) ? 0 : (int)choose(c, 5),
                                    .at      = draw_at(c, d, node),
                                    .chain   = choose(c, 2),
                                    .nest    = choose(c, 2) ? draw_nest(c, node, arena) : NULL,
                                    .memory  = draw_order(c, arena, node->rank) };
    } else if (what == 8) {
        d->choices[s] = (Choice){ .where = WHERE_DEFAULT };
    } else {
        Group *gr = &d->groups[d->group_count];
        *gr       = (Group){ .head          = s,
                             .stream        = choose(c, 4) == 0,
                             .prefetched    = choose(c, 2) ? (int)choose(c, (uint32_t)d->graph->node_count + 2) : 0,
                             .prefetch_loop = (int)choose(c, 5) - 1,
                             .ahead         = (int)choose(c, 9) };
        draw_loops(c, node, gr);
        d->choices[s] = (Choice){ .where  = WHERE_ROOT,
                                  .group  = d->group_count++,
                                  .align  = choose(c, 4) ? 0 : 2,
                                  .memory = draw_order(c, arena, node->rank) };
    }
}

/* A pattern, with any numbers: the one that a node may have, or any. */
static void draw_pattern(Choices *c, Draft *d, int s)
{
    static const int  ways[] = { 1, 4, 4, 3 };
    const NodeKind    kind   = d->graph->nodes[s].kind;
    const PatternKind usual  = kind == NODE_SCAN        ? PATTERN_SCAN
                               : kind == NODE_SCATTER   ? (choose(c, 2) ? PATTERN_PRIVATIZE : PATTERN_GRID)
                               : kind == NODE_REDUCTION ? PATTERN_SEPARATE
                                                        : PATTERN_NONE;
    const PatternKind form   = choose(c, 4) ? usual : (PatternKind)choose(c, PATTERN_COUNT + 1);
    const int         nodes  = d->graph->node_count;
    d->patterns[s]           = (Pattern){ .kind           = form,
                                          .rows           = (int64_t)choose(c, 20),
                                          .copies         = ways[choose(c, 4)],
                                          .across         = (int)choose(c, 3),
                                          .rvar           = (int)choose(c, 3),
                                          .dense          = (int)choose(c, 3),
                                          .partner        = choose(c, 4) ? 0 : (int)choose(c, (uint32_t)nodes + 2),
                                          .enclosing_scan = choose(c, 4) ? 0 : (int)choose(c, (uint32_t)nodes + 2) };
    if (form == PATTERN_SEPARATE && usual == form && choose(c, 2))
        d->choices[s] = (Choice){ .where = WHERE_INLINE };
    else if (usual != PATTERN_NONE && form == usual && d->choices[s].where != WHERE_ROOT && choose(c, 4)) {
        d->groups[d->group_count] = (Group){ .head = s };
        d->choices[s]             = (Choice){ .where = WHERE_ROOT, .group = d->group_count++ };
    }
}

static void draw(void *arg)
{
    Drawing      *w       = arg;
    Arena        *arena   = &w->p->cx->call;
    const Machine machine = machine_usual();
    const RunArgs binding = graph_binding(w->p, arena);
    Graph         g;
    Text          out;
    Regions       regions;
    if (!regions_compute(w->p, arena, &binding, true, &regions)) {
        w->text = strdup(""); /* no size suits it */
        return;
    }
    if (!graph_make(w->p, arena, &binding, &g))
        return;
    Draft d       = draft_plain(&g, &machine, 0, arena);
    d.group_count = 0;
    for (int s = g.node_count; s-- > 0;)
        draw_choice(w->c, &d, s, arena);
    for (int s = g.node_count; s-- > 0;)
        draw_pattern(w->c, &d, s);
    if (choose(w->c, 2))
        draw_copies(w->c, &d, arena);
    if (choose(w->c, 4))
        draft_apply_rules(&d, &machine, RULES_READERS);
    text_init(&out, arena);
    draft_print(&out, &d);
    w->text = strdup(text_string(&out));
}

char *random_draft(Choices *c, kn_pipeline *p)
{
    Drawing w = { c, p, NULL };
    context_begin(p->cx);
    if (!context_try(p->cx, draw, &w) && p->cx->status == KN_ERROR_LIMIT && !w.text)
        w.text = strdup(""); /* the usual sizes are too much to look at */
    return w.text;
}
