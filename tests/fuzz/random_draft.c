/* Random drafts: groups, loops, levels and kinds are drawn without asking what is legal. draft_print has to make a legal schedule of any of them. */
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
        gr->loops[gr->loop_count++] = (GroupLoop){ .dim = choose(c, 50) ? d : d + 1, .step = choose(c, 8) ? 1 << choose(c, 6) : (int64_t)choose(c, 100) - 5,
                                                   .parallel = choose(c, 3) == 0, .vector = choose(c, 3) == 0, .unroll = choose(c, 4) == 0 };
    }
}

static void draw_choice(Choices *c, Draft *d, int s)
{
    const Stage *st = &d->graph->stages[s];
    const int    what = (int)choose(c, 10);
    if (st->kind == STAGE_INPUT)
        return;
    if (what < 3) {
        d->choices[s] = (Choice){ .where = WHERE_INLINE };
    } else if (what < 8 && d->group_count) {
        const int group = choose(c, 3) && st->out_count ? d->choices[st->out[0]->consumer].group : (int)choose(c, (uint32_t)d->group_count);
        d->choices[s] = (Choice){ .where = WHERE_INSIDE, .group = group < 0 ? 0 : group, .compute = (int)choose(c, 8) - 1, .store = (int)choose(c, 8) - 1,
                                  .lanes = choose(c, 2) ? 1 << choose(c, 7) : 0 };
    } else if (what == 8) {
        d->choices[s] = (Choice){ .where = WHERE_DEFAULT };
    } else {
        Group *gr = &d->groups[d->group_count];
        *gr       = (Group){ .head = s, .stream = choose(c, 4) == 0 };
        draw_loops(c, st, gr);
        d->choices[s] = (Choice){ .where = WHERE_ROOT, .group = d->group_count++ };
    }
}

/* A special form for any stage, with any numbers. */
static void draw_special(Choices *c, Draft *d, int s)
{
    static const int ways[] = { 1, 4, 4, 3 };
    d->specials[s]          = (Special){ .form = choose(c, 2) ? (SpecialForm)choose(c, SPECIAL_FORMS + 1) : SPECIAL_NONE, .rows = (int64_t)choose(c, 20), .ways = ways[choose(c, 4)] };
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
        w->text = strdup("");           /* no size suits it */
        return;
    }
    if (!graph_make(w->p, arena, &binding, &g))
        return;
    Draft d       = draft_plain(&g, &machine, arena);
    d.group_count = 0;
    for (int s = g.stage_count; s-- > 0;)
        draw_choice(w->c, &d, s);
    for (int s = g.stage_count; s-- > 0;)
        draw_special(w->c, &d, s);
    text_init(&out, arena);
    draft_print(&out, &d);
    w->text = strdup(text_string(&out));
}

char *random_draft(Choices *c, kn_pipeline *p)
{
    Drawing w = { c, p, NULL };
    context_begin(p->cx);
    context_try(p->cx, draw, &w);
    return w.text;
}
