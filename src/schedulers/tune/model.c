/* SPDX-License-Identifier: MIT */
/* The algorithm `model`: edits of the best schedules, in the order of corrected predictions.
 *
 * Takes   what the schedulers make, as far as the model does not predict that it takes FAR_PREDICTED times as long.
 * How     The beam holds the best schedule and a few that are nearly as fast. Their edits (moves.h) are proposals. The
 *         log of the time of a proposal is predicted to be
 *
 *             measured(parent) + model(proposal) - model(parent) + correction - optimism x deviation
 *
 *         with the correction and its deviation learned from all that was measured (learn.h). The model's error that a
 *         parent has, its children mostly have too, so that only the difference is predicted. The least is measured
 *         next; one in a few is drawn at random instead. Where all single edits were tried, several at once are.
 * Holds   The search is a function of the seed and the outcomes. */
#include "schedulers/tune/edits.h"
#include "schedulers/tune/learn.h"

enum {
    X_KINDS    = X_COUNT,
    FEATURES   = X_KINDS + MOVE_KINDS,
    MOST_MOVES = 1 << 14,
};
_Static_assert((int)FEATURES <= (int)LEARN_MOST, "there is a weight for each feature");

typedef struct Proposal {
    int      parent; /* in the beam */
    Move     moves[TUNE_MOST_EDITS];
    int      count;
    uint64_t key;
    Sight    sight;
    double   score;
} Proposal;

typedef struct Search {
    Tuner    *t;
    Kept     *beam; /* of TUNE_BEAM */
    Sight     sights[TUNE_BEAM];
    Learned  *learned;
    Proposal *proposals;
    int       proposal_count, most_proposals, edits; /* edits of a proposal */
    Move     *moves;
    bool      stale; /* the beam has changed since the proposals were made */
} Search;

/* ---- Features ---------------------------------------------------------------------------- */

/* What the child has more than its parent, and which edits made it. */
static void difference(const Sight *child, const Sight *parent, const Move *moves, int count, double *x)
{
    memset(x, 0, sizeof *x * FEATURES);
    for (int i = 0; i < X_KINDS; i++)
        x[i] = child->x[i] - parent->x[i];
    for (int i = 0; i < count; i++)
        x[X_KINDS + moves[i].kind] = 1;
}

static void learn_from(Search *s, const Sight *child, const Sight *parent, double parent_time, const Move *moves,
                       int count, const TuneOutcome *out)
{
    enum { MOST_ERROR = 1 };
    double x[FEATURES];
    if (!out->pairs || !isfinite(out->log_time))
        return;
    const double y = out->log_time - parent_time - (child->log_model - parent->log_model);
    difference(child, parent, moves, count, x);
    learn_add(s->learned, x, y > MOST_ERROR ? MOST_ERROR : y < -MOST_ERROR ? -MOST_ERROR : y);
}

/* ---- The beam ---------------------------------------------------------------------------- */

static double best_time(const Search *s)
{
    return s->t->best.tried.outcome.log_time;
}

/* Keeps a candidate whose edits are worth a try, in place of the slowest. */
static void beam_add(Search *s, const Tried *c, const Sight *sight)
{
    int at = 0;
    if (c->outcome.fault || !c->outcome.pairs || c->outcome.log_time > best_time(s) + TUNE_NEAR)
        return;
    for (int i = 0; i < TUNE_BEAM; i++)
        if (!s->beam[i].used ||
            (s->beam[at].used && s->beam[i].tried.outcome.log_time > s->beam[at].tried.outcome.log_time))
            at = i;
    if (s->beam[at].used && s->beam[at].tried.outcome.log_time <= c->outcome.log_time)
        return;
    kept_set(&s->beam[at], s->t->job.cx, c);
    s->sights[at] = *sight;
    s->stale      = true;
}

static void beam_prune(Search *s)
{
    for (int i = 0; i < TUNE_BEAM; i++)
        if (s->beam[i].used && s->beam[i].tried.outcome.log_time > best_time(s) + TUNE_NEAR)
            kept_free(&s->beam[i]);
}

/* ---- Proposals --------------------------------------------------------------------------- */

/* The candidate of a proposal, in the round's arena. */
static Tried make(Search *s, const Proposal *p)
{
    return edits_make(s->t, &s->beam[p->parent].tried, p->moves, p->count);
}

typedef struct Making {
    Search   *s;
    Proposal *p;
    Tried     made;
} Making;

/* Edits one after the other: each is one of the draft that the one before has left. */
static void try_proposal(void *arg)
{
    Making      *a      = arg;
    Search      *s      = a->s;
    Tuner       *t      = s->t;
    const Tried *parent = &s->beam[a->p->parent].tried;
    for (int i = 1; i < s->edits; i++) {
        const Tried so_far = edits_make(t, parent, a->p->moves, i);
        Move       *moves  = ARENA_ARRAY(&t->round, Move, MOST_MOVES);
        const int   count  = so_far.trial.fault ? 0 : edits_list(t, &so_far, moves, MOST_MOVES);
        if (!count)
            break;
        a->p->moves[a->p->count++] = moves[random_below(&t->random, count)];
    }
    a->made = make(s, a->p);
    if (!a->made.trial.fault)
        a->p->sight = sight_of(t, &a->made);
}

static bool is_proposed(const Search *s, uint64_t key)
{
    for (int i = 0; i < s->proposal_count; i++)
        if (s->proposals[i].key == key)
            return true;
    return false;
}

/* Proposes an edit, unless its schedule is known. One that bails out is none. */
static void propose(Search *s, int parent, Move move)
{
    Proposal p = { .parent = parent, .moves = { move }, .count = 1 };
    Making   a = { .s = s, .p = &p };
    tuner_round(s->t);
    s->t->job.cx->quota_left = s->t->job.cx->config.quota;
    if (!context_attempt(s->t->job.cx, try_proposal, &a) || a.made.trial.fault)
        return;
    p.key = a.made.trial.key;
    if (!tuner_seen(s->t, p.key) && !is_proposed(s, p.key))
        s->proposals[s->proposal_count++] = p;
}

/* The edits of one of the beam, in random order, until there are `most` proposals. */
static void propose_edits(Search *s, int parent, int most)
{
    Tuner *t     = s->t;
    int    count = edits_list(t, &s->beam[parent].tried, s->moves, MOST_MOVES), tries = 4 * s->most_proposals;
    for (; count > 0 && tries > 0 && s->proposal_count < most; tries--) {
        const int  k    = random_below(&t->random, count);
        const Move move = s->moves[k];
        s->moves[k]     = s->moves[--count];
        propose(s, parent, move);
    }
}

/* Most proposals are edits of the best. */
static void refresh(Search *s)
{
    int best          = -1;
    s->proposal_count = 0;
    beam_prune(s);
    for (int i = 0; i < TUNE_BEAM; i++)
        if (s->beam[i].used && (best < 0 || s->beam[i].tried.outcome.log_time < s->beam[best].tried.outcome.log_time))
            best = i;
    if (best >= 0)
        propose_edits(s, best, s->most_proposals * 5 / 8);
    for (int i = 0; i < TUNE_BEAM; i++)
        if (s->beam[i].used && i != best)
            propose_edits(s, i, s->proposal_count + s->most_proposals / 8);
    s->stale = false;
}

static void score_all(Search *s)
{
    for (int i = 0; i < s->proposal_count; i++) {
        Proposal    *p      = &s->proposals[i];
        const Sight *parent = &s->sights[p->parent];
        double       x[FEATURES], deviation;
        difference(&p->sight, parent, p->moves, p->count, x);
        const double correction = learn_predict(s->learned, x, &deviation);
        p->score = s->beam[p->parent].tried.outcome.log_time + p->sight.log_model - parent->log_model + correction -
                   TUNE_OPTIMISM * deviation;
    }
}

/* Takes the proposal of the least score out of the list; now and then any. */
static Proposal take_next(Search *s)
{
    enum { ONE_IN = 8 };
    int at = 0;
    for (int i = 1; i < s->proposal_count; i++)
        at = s->proposals[i].score < s->proposals[at].score ? i : at;
    if (random_below(&s->t->random, ONE_IN) == 0)
        at = random_below(&s->t->random, s->proposal_count);
    const Proposal p = s->proposals[at];
    s->proposals[at] = s->proposals[--s->proposal_count];
    return p;
}

/* ---- The search -------------------------------------------------------------------------- */

/* Proposals for another round; false: nothing is left to try. */
static bool have_proposals(Search *s)
{
    s->edits = s->stale ? 1 : s->edits;
    if (s->stale)
        refresh(s);
    while (s->proposal_count < s->t->job.batch && s->edits < TUNE_MOST_EDITS) {
        s->edits++;
        refresh(s);
    }
    if (s->proposal_count < s->t->job.batch)
        refresh(s);
    return s->proposal_count > 0;
}

static void measure_proposals(Search *s)
{
    Tuner    *t     = s->t;
    const int count = s->proposal_count < t->job.batch ? s->proposal_count : t->job.batch;
    Tried   **batch = NULL;
    Proposal *from  = NULL;
    tuner_round(t);
    batch = ARENA_ARRAY(&t->round, Tried *, (size_t)count);
    from  = ARENA_ARRAY(&t->round, Proposal, (size_t)count);
    score_all(s);
    for (int i = 0; i < count; i++) {
        from[i]   = take_next(s);
        batch[i]  = ARENA_NEW(&t->round, Tried);
        *batch[i] = make(s, &from[i]);
    }
    tuner_measure(t, batch, count);
    for (int i = 0; i < count; i++)
        learn_from(s, &from[i].sight, &s->sights[from[i].parent], s->beam[from[i].parent].tried.outcome.log_time,
                   from[i].moves, from[i].count, &batch[i]->outcome);
    for (int i = 0; i < count; i++)
        beam_add(s, batch[i], &from[i].sight);
}

/* Measures what the schedulers have made, in batches. */
static void measure_starts(Search *s)
{
    const double FAR_PREDICTED        = 2.5;
    Tuner       *t                    = s->t;
    const Sight  first                = sight_of(t, &t->starts[t->first]);
    t->starts[t->first].outcome.pairs = 1;
    beam_add(s, &t->starts[t->first], &first);
    Tried **batch = ARENA_ARRAY(t->arena, Tried *, (size_t)t->job.batch);
    for (int i = t->first + 1; i < t->start_count && tuner_goes_on(t);) {
        int count = 0;
        tuner_round(t);
        for (; i < t->start_count && count < t->job.batch; i++)
            if (t->starts[i].trial.predicted < FAR_PREDICTED * t->starts[t->first].trial.predicted)
                batch[count++] = &t->starts[i];
        tuner_measure(t, batch, count);
        for (int k = 0; k < count; k++) {
            const Sight sight = sight_of(t, batch[k]);
            learn_from(s, &sight, &first, 0, NULL, 0, &batch[k]->outcome);
            beam_add(s, batch[k], &sight);
        }
    }
}

/* Predicting takes time for each node, and has to stay small beside compiling. */
static int proposals_for(int nodes)
{
    enum { NODES = 4096, LEAST = 32 };
    const int most = NODES / nodes;
    return most < LEAST ? LEAST : most > TUNE_PROPOSALS ? TUNE_PROPOSALS : most;
}

void tune_by_model(Tuner *t)
{
    Search *s         = ARENA_NEW(t->arena, Search);
    s->t              = t;
    s->beam           = t->beam;
    s->edits          = 1;
    s->learned        = ARENA_NEW(t->arena, Learned);
    s->moves          = ARENA_ARRAY(t->arena, Move, MOST_MOVES);
    s->most_proposals = proposals_for(t->job.spaces[0].graph.node_count);
    s->proposals      = ARENA_ARRAY(t->arena, Proposal, (size_t)s->most_proposals * 2);
    learn_begin(s->learned, FEATURES);
    measure_starts(s);
    while (tuner_goes_on(t) && have_proposals(s))
        measure_proposals(s);
}
