/* SPDX-License-Identifier: MIT */
/* The table of rules, and their driver. */
#include "schedulers/rules/micro_kernels.h"
#include "schedulers/rules/patterns.h"

/* Of a rule that stays whatever is predicted. */
#define KEPT INFINITY

const Rule draft_rules[RULE_IDS] = {
    [RULE_PRIVATIZE]       = { "privatize", RULES_PLAIN, AT_NODES, privatize_may_pay, privatize_choose, NO_WORSE,
                               "histograms in private copies, in parallel" },
    [RULE_SCANS]           = { "scans", RULES_PLAIN, AT_NODES, scan_may_pay, scan_choose, NO_WORSE,
                               "scans in strips across the recursion" },
    [RULE_SEPARATE]        = { "separate", RULES_PLAIN, AT_NODES, separate_may_pay, separate_choose, NO_WORSE,
                               "separable windows along one dimension after the other" },
    [RULE_GRIDS]           = { "grids", RULES_PLAIN, AT_NODES, grid_may_pay, grid_choose, NO_WORSE,
                               "all bins of a cell of a grid next to each other" },
    [RULE_SCAN_READERS]    = { "scan-readers", RULES_READERS, AT_READERS_FIRST, scan_reader_may_pay, scan_reader_choose,
                               NO_WORSE, "the reader of a scan takes its strips from the cache" },
    [RULE_GRID_READERS]    = { "grid-readers", RULES_READERS, AT_READERS_FIRST, grid_reader_may_pay, grid_reader_choose,
                               KEPT,
                               "readers of a grid in its memory order; predicted slower by 1 to 8 % for "
                                  "bilateral_grid, whose schedule by auto was 1.2 to 1.4 times as fast with it" },
    [RULE_REGISTER_TILES]  = { "register-tiles", RULES_TILES, AT_READERS_FIRST, register_tile_applies,
                               register_tile_apply, KEPT,
                               "sums of products in registers, operands in their order of use; predicted "
                                "slower by a third for conv_layer, measured 7.5 times as fast" },
    [RULE_STEP_PRODUCERS]  = { "step-producers", RULES_ROWS, AT_READERS_FIRST, step_producers_applies,
                               step_producers_apply, NO_WORSE, "functions of one step of a sum inside that step" },
    [RULE_ROW_BLOCKS]      = { "row-blocks", RULES_ROWS, AT_GROUPS, row_block_applies, row_block_apply, NO_WORSE,
                               "several rows at a time share loads in registers" },
    [RULE_SUMS_BY_VECTORS] = { "sums-by-vectors", RULES_ROWS, AT_READERS_FIRST, sum_by_vectors_applies,
                               sum_by_vectors_apply, NO_WORSE, "sums next to the vectors that read them" },
    [RULE_ALIGNED_ROWS]    = { "aligned-rows", RULES_ROWS, AT_READERS_FIRST, aligned_rows_applies, aligned_rows_apply,
                               NO_WORSE, "rows that are upsampled begin at even places" },
    [RULE_CHAINS]          = { "chains", RULES_ROWS, AT_GROUPS, chain_applies, chain_apply, NO_WORSE,
                               "chains of stencils a few rows at a time, each inside the loop of its reader" },
    [RULE_ROW_WINDOWS]     = { "row-windows", RULES_ROWS, AT_GROUPS, row_window_applies, row_window_apply, NO_WORSE,
                               "several rows at a time share what they read of sliding windows" },
    [RULE_MEMBER_ROWS]     = { "member-rows", RULES_ROWS, AT_GROUPS, member_rows_applies, member_rows_apply, 0.99,
                               "members several rows at a time share what they read of other rows; predicted 1 % "
                                   "faster or less, no program gained, and one lost 4 %" },
    [RULE_CHANNELS]        = { "channels", RULES_LEGAL, AT_GROUPS, channels_apply_to, channels_apply, NO_WORSE,
                               "channels interleaved, where they share loads or arithmetic" },
    [RULE_PREFETCH]        = { "prefetch", RULES_LEGAL, AT_GROUPS, prefetch_applies, prefetch_apply, NO_WORSE,
                               "prefetch of the rows that a window begins" },
    [RULE_TIME_TILES]      = { "time-tiles", RULES_LEGAL, AT_NODES, time_tiles_applies, time_tiles_apply, NO_WORSE,
                               "steps of a function of time in diamonds" },
    [RULE_GIVEN_STEPS]     = { "given-steps", RULES_LEGAL, AT_NODES, given_steps_applies, given_steps_apply, NO_WORSE,
                               "short windows whose size parameters give, unrolled for the values they have" },
    [RULE_SHARED_LOOPS] = { "shared-loops", RULES_SHARED, AT_GROUPS, shared_loops_applies, shared_loops_apply, NO_WORSE,
                            "members that read the same share their loops" },
    [RULE_SLICES]       = { "slices", RULES_ELSEWHERE, AT_GROUPS, NULL, NULL, NO_WORSE,
                            "one slice of a dimension at a time through a group (dp)" },
    [RULE_ROW_COPIES]   = { "row-copies", RULES_ELSEWHERE, AT_NODES, NULL, NULL, NO_WORSE,
                            "rows of inlined functions stored for one reader" },
    [RULE_STREAMS]      = { "streams", RULES_ELSEWHERE, AT_GROUPS, NULL, NULL, NO_WORSE,
                            "large outputs by streaming stores" },
    [RULE_DOUBLE]       = { "double", RULES_ELSEWHERE, AT_NODES, NULL, NULL, NO_WORSE,
                            "windows of n taps from windows of 1, 2, 4, … taps" },
};

RuleId rule_find(const char *name, size_t length)
{
    RuleId id = 0;
    while (id < RULE_IDS && (strncmp(draft_rules[id].name, name, length) || draft_rules[id].name[length]))
        id++;
    return id;
}

/* ---- The driver ------------------------------------------------------------------------- */

/* A draft made legal, and what the model predicts of it. */
typedef struct Predicted {
    Draft   legal;
    double *ns; /* of its groups, at their heads; 0: no group */
} Predicted;

typedef struct Trial {
    Draft         *d;
    const Machine *m;
    Draft          before;   /* the draft as it was at the last place */
    bool           asked;    /* the model has predicted that */
    Predicted      was, now; /* of `before`, and of the changed draft */
    bool          *again;    /* per group: its prediction may be another one */
    bool          *seen[2];  /* per node: it was touched as a producer, as a reader */
} Trial;

/* The group of a node is predicted again. An input has none. */
static void touch(Trial *t, int s)
{
    const int group = t->now.legal.choices[s].group;
    if (group >= 0)
        t->again[group] = true;
}

/* A node that reads or is read by one that has changed, and those behind it that have it inlined. */
static void touch_beyond(Trial *t, int s, bool readers)
{
    const GraphNode *node = &t->d->graph->nodes[s];
    const int        n    = readers ? node->out_count : node->in_count;
    if (t->seen[readers][s])
        return;
    t->seen[readers][s] = true;
    touch(t, s);
    for (int i = 0; t->now.legal.choices[s].where == WHERE_INLINE && i < n; i++)
        touch_beyond(t, readers ? node->out[i]->consumer : node->in[i]->producer, readers);
}

static void touch_around(Trial *t, int s)
{
    const GraphNode *node = &t->d->graph->nodes[s];
    touch(t, s);
    for (int i = 0; i < node->in_count; i++)
        touch_beyond(t, node->in[i]->producer, false);
    for (int i = 0; i < node->out_count; i++)
        touch_beyond(t, node->out[i]->consumer, true);
}

/* Finds the groups whose time may have changed: those of nodes that are other ones now, and their neighbours. */
static void find_changed(Trial *t)
{
    const Draft *a = &t->was.legal, *b = &t->now.legal;
    const int    nodes = t->d->graph->node_count;
    memset(t->again, 0, (size_t)b->group_count);
    for (int i = 0; i < 2; i++)
        memset(t->seen[i], 0, (size_t)nodes);
    for (int s = 0; s < nodes; s++)
        if (!draft_same_node(a, b, s))
            touch_around(t, s);
    for (int i = 0; a->copies != b->copies && i < a->copy_count; i++)
        touch_around(t, a->copies[i].reader);
    for (int i = 0; a->copies != b->copies && i < b->copy_count; i++)
        touch_around(t, b->copies[i].reader);
}

/* Predicts all groups, or those that `again` names: the others are as they were. */
static void predict(Trial *t, const Draft *d, Predicted *p, bool all)
{
    draft_assign(&p->legal, d);
    draft_legalize(&p->legal);
    if (!all)
        find_changed(t);
    memset(p->ns, 0, sizeof *p->ns * (size_t)d->graph->node_count);
    for (int i = 0; i < p->legal.group_count; i++) {
        GroupCost cost;
        const int head = p->legal.groups[i].head;
        if (all || t->again[i] || t->was.ns[head] <= 0) {
            cost_group(&p->legal, i, t->m, NULL, &cost);
            p->ns[head] = cost.ns;
        } else {
            p->ns[head] = t->was.ns[head];
        }
    }
}

/* Does the model predict that a rule does harm: that the groups that it changes take too long with it, and that this
 * shows in the whole draft? A gain (most < 1) is asked of the groups alone: in a large draft the whole hides it. */
static bool is_refused(Trial *t, const Rule *r, RuleUse *use)
{
    double was = 0, now = 0, rest = 0;
    if (!t->asked)
        predict(t, &t->before, &t->was, true);
    t->asked = true;
    predict(t, t->d, &t->now, false);
    for (int s = 0; s < t->d->graph->node_count; s++)
        if (t->was.ns[s] != t->now.ns[s]) {
            was += t->was.ns[s];
            now += t->now.ns[s];
        } else {
            rest += t->was.ns[s];
        }
    if (now <= r->most * was || rest + now <= r->most * (rest + was))
        return false;
    *use = (RuleUse){ use->applied, use->refused + 1, was, now };
    return true;
}

/* Applies a rule at one place. It stays if the model predicts that it does no harm. */
static void try_site(Trial *t, RuleId id, int site)
{
    const Rule *r   = &draft_rules[id];
    RuleUse    *use = &t->d->uses[id];
    if (!r->applies(t->d, t->m, site))
        return;
    r->apply(t->d, t->m, site);
    if (draft_same(t->d, &t->before))
        return;
    const bool ask = !isinf(r->most);
    if (ask && is_refused(t, r, use)) {
        t->before.uses[id] = *use;
        draft_assign(t->d, &t->before);
        return;
    }
    use->applied++;
    draft_assign(&t->before, t->d);
    const Predicted was = t->was;
    t->was              = t->now;
    t->now              = was;
    t->asked            = ask;
}

static void try_sites(Trial *t, RuleId id)
{
    const int nodes = t->d->graph->node_count;
    switch (draft_rules[id].sites) {
    case AT_NODES:
        for (int s = 0; s < nodes; s++)
            try_site(t, id, s);
        break;
    case AT_READERS_FIRST:
        for (int s = nodes; s-- > 0;)
            try_site(t, id, s);
        break;
    case AT_GROUPS:
        for (int i = 0; i < t->d->group_count; i++)
            try_site(t, id, i);
        break;
    }
}

void draft_apply_rules(Draft *d, const Machine *m, RulePhase phase)
{
    Arena scratch;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    const size_t n = (size_t)d->graph->node_count + 1;
    Trial        t = { .d      = d,
                       .m      = m,
                       .before = draft_copy(d, &scratch),
                       .was    = { draft_copy(d, &scratch), ARENA_ARRAY(&scratch, double, n) },
                       .now    = { draft_copy(d, &scratch), ARENA_ARRAY(&scratch, double, n) },
                       .again  = ARENA_ARRAY(&scratch, bool, n),
                       .seen   = { ARENA_ARRAY(&scratch, bool, n), ARENA_ARRAY(&scratch, bool, n) } };
    for (RuleId id = 0; id < RULE_IDS; id++)
        if (draft_rules[id].phase == phase && draft_has_rule(d, id))
            try_sites(&t, id);
    scratch_end(&scratch);
}

void draft_choose_micro_kernels(Draft *d, const Machine *m)
{
    for (RulePhase phase = RULES_READERS; phase <= RULES_LEGAL; phase++) {
        if (phase > RULES_READERS)
            draft_legalize(d);
        draft_apply_rules(d, m, phase);
    }
}
