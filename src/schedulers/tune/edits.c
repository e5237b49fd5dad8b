/* SPDX-License-Identifier: MIT */
/* Edits of candidates (edits.h): those of a draft (moves.h), or of kernels (kernel_edits.h). */
#include "schedulers/tune/edits.h"

#include "schedulers/draft/pattern.h"
#include "schedulers/tune/kernel_edits.h"

/* ---- What the model sees ----------------------------------------------------------------- */

static void count_places(const Draft *d, const int *nested, Sight *v)
{
    const double each = 1.0 / d->graph->node_count;
    for (int s = 0; s < d->graph->node_count; s++) {
        const Choice *c = &d->choices[s];
        v->x[X_LEVELS + 0] += c->where == WHERE_INLINE ? each : 0;
        v->x[X_LEVELS + 1] += c->where == WHERE_ROOT ? each : 0;
        v->x[X_LEVELS + 2] += c->where == WHERE_INSIDE ? each : 0;
        v->x[X_LEVELS + 3] += c->where == WHERE_INSIDE && (nested ? nested[s] > 0 : c->store != c->compute) ? each : 0;
    }
}

static void see(Sight *v, double total, int term_count)
{
    double terms = 0;
    for (int k = 0; k < term_count; k++)
        terms += v->x[X_TERMS + k];
    for (int k = 0; k < term_count && terms > 0; k++)
        v->x[X_TERMS + k] /= terms;
    v->log_model = log(total > 1 ? total : 1);
}

static Sight sight_of_draft(const Draft *d, const Machine *m)
{
    Sight  v     = { 0 };
    double total = 0;
    for (int i = 0; i < d->group_count; i++) {
        GroupCost cost;
        cost_group(d, i, m, NULL, &cost);
        total += cost.ns;
        for (int k = 0; k < TERM_COUNT; k++)
            v.x[X_TERMS + k] += cost.term[k];
    }
    see(&v, total, TERM_COUNT);
    for (RuleId id = 0; id < RULE_IDS; id++)
        v.x[X_RULES + id] = d->uses[id].applied > 0;
    count_places(d, NULL, &v);
    return v;
}

static Sight sight_of_kernels(const KernelDraft *k)
{
    Sight v = { 0 };
    for (int i = 0; i < k->d.group_count; i++)
        for (int term = 0; term < KERNEL_TERMS && !k->left[k->d.groups[i].head]; term++)
            v.x[X_TERMS + term] += k->kernels[i].cost.term[term];
    see(&v, kernel_draft_cost(k), KERNEL_TERMS);
    count_places(&k->d, k->nested, &v);
    return v;
}

Sight sight_of(const Tuner *t, const Tried *c)
{
    return t->job.device ? sight_of_kernels(&c->kernels) : sight_of_draft(&c->draft, t->job.m);
}

/* ---- Edits ------------------------------------------------------------------------------- */

int edits_list(Tuner *t, const Tried *c, Move *out, int room)
{
    return t->job.device ? kernel_edits_list(&c->kernels, t->job.device, out, room) : moves_list(&c->draft, out, room);
}

static Tried make_kernels(Tuner *t, const Tried *parent, const Move *moves, int count)
{
    Text        what;
    bool        fine   = true;
    KernelDraft before = kernel_edits_copy(&parent->kernels, &t->round), now = before;
    text_init(&what, &t->round);
    for (int i = 0; i < count && fine; i++) {
        now = kernel_edits_copy(&before, &t->round);
        text_add(&what, i ? "; " : "");
        kernel_edits_print(&what, &now, &moves[i]);
        kernel_edits_apply(&now, &moves[i]);
        fine   = kernel_edits_legalize(&now, &before, &t->round);
        before = now;
    }
    if (!fine)
        return (Tried){ .trial = { .fault = TUNE_REFUSED, .slot = -1 } };
    return tuner_kernels(&t->round, parent->space, &now, text_string(&what));
}

static Tried make_draft(Tuner *t, const Tried *parent, const Move *moves, int count)
{
    Draft d = draft_copy(&parent->draft, &t->round);
    Text  what;
    text_init(&what, &t->round);
    for (int i = 0; i < count; i++) {
        text_add(&what, i ? "; " : "");
        move_print(&what, &d, &moves[i]);
        move_apply(&d, t->job.m, &moves[i]);
        draft_legalize(&d);
    }
    return tuner_candidate(t, &t->round, parent->space, &d, text_string(&what));
}

Tried edits_make(Tuner *t, const Tried *parent, const Move *moves, int count)
{
    return t->job.device ? make_kernels(t, parent, moves, count) : make_draft(t, parent, moves, count);
}
