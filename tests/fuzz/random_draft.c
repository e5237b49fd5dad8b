/* Random drafts: groups, loops, levels and kinds are drawn without asking what is legal. draft_print has to make a
 * legal schedule of any of them. */
#include "random_draft.h"
#include "schedulers/special.h"

#include <stdlib.h>
#include <string.h>

typedef struct Drawing {
    Choices     *c;
    kn_pipeline *p;
    char        *text;
} Drawing;

/* Every dimension one to three times, in any order; sometimes one is missing or foreign. */
static void draw_loops(Choices *c, const Stage *st, Group *gr)
{
    int left[KN_MAX_RANK], open = 0;
    for (int d = 0; d < st->rank; d++) {
        left[d] = choose(c, 20) ? 1 + (int)choose(c, 3) : 0;
        open += left[d];
    }
    while (open > 0 && gr->loop_count < MOST_GROUP_LOOPS) {
        const int d = (int)choose(c, (uint32_t)st->rank);
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
static const Nest *draw_nest(Choices *c, const Stage *st, Arena *arena)
{
    Group gr    = { 0 };
    Nest *n     = ARENA_NEW(arena, Nest);
    int   steps = 0;
    draw_loops(c, st, &gr);
    for (int k = 0; k < st->func->update_count; k++)
        steps = st->func->updates[k].rvar_count > steps ? st->func->updates[k].rvar_count : steps;
    for (int i = 0; i <= gr.loop_count && n->count < MOST_GROUP_LOOPS; i++) {
        while (steps && choose(c, 3) == 0 && n->count < MOST_GROUP_LOOPS)
            n->loops[n->count++] =
                (GroupLoop){ .dim    = STEP_DIM + (int)choose(c, (uint32_t)steps + (choose(c, 20) == 0)),
                             .step   = 1 << choose(c, 4),
                             .unroll = choose(c, 3) == 0,
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
    StagedCopy  *copies = ARENA_ARRAY(arena, StagedCopy, (size_t)g->stage_count + 1);
    for (int s = 0; s < g->stage_count; s++) {
        const Stage *st = &g->stages[s];
        if (choose(c, 3))
            continue;
        const int reader        = st->out_count ? st->out[choose(c, (uint32_t)st->out_count)]->consumer
                                                : (int)choose(c, (uint32_t)g->stage_count);
        copies[d->copy_count++] = (StagedCopy){ .of      = s,
                                                .reader  = reader,
                                                .compute = (int)choose(c, 6) - 2,
                                                .lanes   = 1 << choose(c, 7),
                                                .memory  = draw_order(c, arena, st->rank) };
    }
    d->copies = copies;
}

/* Choice.at: most often the first consumer, or nothing said. */
static int draw_at(Choices *c, const Draft *d, const Stage *st)
{
    if (choose(c, 2))
        return 0;
    return choose(c, 4) && st->out_count ? st->out[0]->consumer + 1
                                         : (int)choose(c, (uint32_t)d->graph->stage_count + 2) - 1;
}

static void draw_choice(Choices *c, Draft *d, int s, Arena *arena)
{
    const Stage *st   = &d->graph->stages[s];
    const int    what = (int)choose(c, 10);
    if (st->kind == STAGE_INPUT)
        return;
    if (what < 3) {
        d->choices[s] = (Choice){ .where = WHERE_INLINE };
    } else if (what < 8 && d->group_count) {
        const int group = choose(c, 3) && st->out_count ? d->choices[st->out[0]->consumer].group
                                                        : (int)choose(c, (uint32_t)d->group_count);
        d->choices[s]   = (Choice){ .where   = WHERE_INSIDE,
                                    .group   = group < 0 ? 0 : group,
                                    .compute = (int)choose(c, 8) - 1,
                                    .store   = (int)choose(c, 8) - 1,
                                    .lanes   = choose(c, 2) ? 1 << choose(c, 7) : 0,
                                    .even    = choose(c, 3) ? 0 : (int)choose(c, 5),
                                    .at      = draw_at(c, d, st),
                                    .chain   = choose(c, 2),
                                    .nest    = choose(c, 2) ? draw_nest(c, st, arena) : NULL,
                                    .memory  = draw_order(c, arena, st->rank) };
    } else if (what == 8) {
        d->choices[s] = (Choice){ .where = WHERE_DEFAULT };
    } else {
        Group *gr = &d->groups[d->group_count];
        *gr       = (Group){ .head       = s,
                             .stream     = choose(c, 4) == 0,
                             .fetched    = choose(c, 2) ? (int)choose(c, (uint32_t)d->graph->stage_count + 2) : 0,
                             .fetch_loop = (int)choose(c, 5) - 1,
                             .ahead      = (int)choose(c, 9) };
        draw_loops(c, st, gr);
        d->choices[s] = (Choice){ .where  = WHERE_ROOT,
                                  .group  = d->group_count++,
                                  .even   = choose(c, 4) ? 0 : 2,
                                  .memory = draw_order(c, arena, st->rank) };
    }
}

/* A special form, with any numbers: the one that a stage may have, or any. */
static void draw_special(Choices *c, Draft *d, int s)
{
    static const int  ways[] = { 1, 4, 4, 3 };
    const StageKind   kind   = d->graph->stages[s].kind;
    const SpecialForm usual  = kind == STAGE_SCAN        ? SPECIAL_SCAN
                               : kind == STAGE_SCATTER   ? (choose(c, 2) ? SPECIAL_PARTS : SPECIAL_CELLS)
                               : kind == STAGE_REDUCTION ? SPECIAL_SEPARATE
                                                         : SPECIAL_NONE;
    const SpecialForm form   = choose(c, 4) ? usual : (SpecialForm)choose(c, SPECIAL_FORMS + 1);
    const int         stages = d->graph->stage_count;
    d->specials[s]           = (Special){ .form   = form,
                                          .rows   = (int64_t)choose(c, 20),
                                          .ways   = ways[choose(c, 4)],
                                          .across = (int)choose(c, 3),
                                          .rvar   = (int)choose(c, 3),
                                          .dense  = (int)choose(c, 3),
                                          .host   = choose(c, 4) ? 0 : (int)choose(c, (uint32_t)stages + 2),
                                          .within = choose(c, 4) ? 0 : (int)choose(c, (uint32_t)stages + 2) };
    if (form == SPECIAL_SEPARATE && usual == form && choose(c, 2))
        d->choices[s] = (Choice){ .where = WHERE_INLINE };
    else if (usual != SPECIAL_NONE && form == usual && d->choices[s].where != WHERE_ROOT && choose(c, 4)) {
        d->groups[d->group_count] = (Group){ .head = s };
        d->choices[s]             = (Choice){ .where = WHERE_ROOT, .group = d->group_count++ };
    }
}

static void draw(void *arg)
{
    Drawing      *w       = arg;
    Arena        *arena   = &w->p->cx->call;
    const Machine machine = machine_usual();
    const Binding binding = graph_binding(w->p, arena);
    Graph         g;
    Text          out;
    Regions       regions;
    if (!regions_compute(w->p, arena, &binding, true, &regions)) {
        w->text = strdup(""); /* no size suits it */
        return;
    }
    if (!graph_make(w->p, arena, &binding, &g))
        return;
    Draft d       = draft_plain(&g, &machine, arena);
    d.group_count = 0;
    for (int s = g.stage_count; s-- > 0;)
        draw_choice(w->c, &d, s, arena);
    for (int s = g.stage_count; s-- > 0;)
        draw_special(w->c, &d, s);
    if (choose(w->c, 2))
        draw_copies(w->c, &d, arena);
    if (choose(w->c, 4))
        special_finish(&d);
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
