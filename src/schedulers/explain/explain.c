/* SPDX-License-Identifier: MIT */
/* Explaining a draft: the costs of its groups, refused changes, and the words that text and page share.
 *
 * Refused changes are small ones, each costed by the common model: a member at root or inlined, a group inside the one
 *         that
 * reads it, tiles half or twice as large. The fastest of each group is shown, with the rule that refused it. It is not
 * legal; or the cost model predicts more, and which term grows most; or it gains nothing; or it is predicted to gain,
 * but the scheduler decides by a rule of its own (schedulers.h). */
#include "schedulers/explain/explain.h"

#include <math.h>

enum { MOST_TRIED = 200 /* changes of a draft */, MOST_LINES = 512 };
static const double no_gain = 0.005; /* of the time of a group */

/* ---- Words ------------------------------------------------------------------------------- */

const char *explain_bytes(Arena *arena, double bytes)
{
    static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
    int                      unit    = 0;
    for (; bytes >= 1000 && unit < 4; unit++)
        bytes /= 1024;
    return arena_printf(arena, unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

const char *explain_time(Arena *arena, double ns)
{
    return ns < 1e3   ? arena_printf(arena, "%.0f ns", ns)
           : ns < 1e6 ? arena_printf(arena, "%.3g us", ns / 1e3)
                      : arena_printf(arena, "%.3g ms", ns / 1e6);
}

static const char *name_of(const Draft *d, int node)
{
    return d->graph->nodes[node].func->name;
}

const char *const explain_titles[EXPLAIN_COLUMNS] = { "group",   "stages",   "tile",  "footprint", "redundant",
                                                      "live in", "live out", "tasks", "predicted", "bound by" };

bool explain_is_words(int column)
{
    return column == 0 || column == 2 || column == EXPLAIN_COLUMNS - 1;
}

static const char *tile_text(const Draft *d, int group, Arena *arena)
{
    const Group *gr = &d->groups[group];
    Text         t;
    text_init(&t, arena);
    for (int i = 0; i < gr->loop_count; i++) {
        bool last = true;
        for (int k = i + 1; k < gr->loop_count; k++)
            last = last && gr->loops[k].dim != gr->loops[i].dim;
        if (!last)
            text_printf(&t, "%s%s %lld", t.count ? ", " : "", d->graph->nodes[gr->head].func->args[gr->loops[i].dim],
                        (long long)gr->loops[i].step);
    }
    return t.count ? text_string(&t) : "-";
}

static CostTerm largest_term(const GroupCost *c)
{
    CostTerm most = 0;
    for (CostTerm t = 1; t < TERM_COUNT; t++)
        most = c->term[t] > c->term[most] ? t : most;
    return most;
}

static int nodes_in(const Draft *d, int group)
{
    int count = 0;
    for (int s = 0; s < d->graph->node_count; s++)
        count += d->graph->nodes[s].kind != NODE_INPUT && d->choices[s].group == group;
    return count;
}

void explain_row(const Explained *x, int group, Arena *arena, const char *cells[EXPLAIN_COLUMNS])
{
    const GroupCost *c    = &x->costs[group];
    const CostTerm   term = largest_term(c);
    int              at   = 0;
    cells[at++]           = arena_printf(arena, "%d %s", x->number[group], name_of(x->d, x->d->groups[group].head));
    cells[at++]           = arena_printf(arena, "%d", nodes_in(x->d, group));
    cells[at++]           = tile_text(x->d, group, arena);
    cells[at++]           = explain_bytes(arena, (double)c->footprint);
    cells[at++]           = arena_printf(arena, "%.1f %%", 100 * c->redundant);
    cells[at++]           = explain_bytes(arena, c->live_in);
    cells[at++]           = explain_bytes(arena, c->live_out);
    cells[at++]           = arena_printf(arena, "%.0f", c->tasks);
    cells[at++]           = explain_time(arena, c->ns);
    cells[at++] =
        arena_printf(arena, "%s %.0f %%", cost_term_names[term], c->ns > 0 ? 100 * fmin(c->term[term] / c->ns, 1) : 0);
}

const char *explain_refused(const Explained *x, int group, Arena *arena)
{
    const Refused *r    = &x->refused[group];
    const double   more = r->ns - x->ns;
    if (!r->what)
        return r->illegal ? r->illegal : "nothing: it has no tiles, and no group to join";
    if (fabs(more) < no_gain * x->costs[group].ns)
        return arena_printf(arena, "%s: no gain, predicted as good within %.1f %%", r->what, 100 * no_gain);
    if (more < 0)
        return arena_printf(arena, "%s: a rule of %s (%s), though predicted to take %s less", r->what,
                            x->scheduler->name, x->scheduler->rules[r->rule], explain_time(arena, -more));
    const char *footprint = "";
    if (r->exceeds)
        footprint = arena_printf(arena, "; %s exceed the L2", explain_bytes(arena, (double)r->exceeds));
    return arena_printf(arena, "%s: the cost model, %s more (%s + %s%s)", r->what, explain_time(arena, more),
                        cost_term_names[r->term], explain_time(arena, r->more), footprint);
}

const char *explain_machine(const Explained *x, Arena *arena)
{
    const Machine *m  = x->m;
    const char    *l3 = m->l3 ? arena_printf(arena, ", of an L3 of %s %s", explain_bytes(arena, (double)m->l3),
                                             explain_bytes(arena, machine_last_cache(m)))
                              : ", no L3";
    return arena_printf(arena, "Counted on: of an L2 of %s %s for each core%s for all; outputs of more than %s stream.",
                        explain_bytes(arena, (double)m->l2), explain_bytes(arena, machine_kept_l2(m)), l3,
                        explain_bytes(arena, machine_streams_from(m)));
}

const char *explain_taken(const Explained *x, Arena *arena)
{
    const Candidate *taken   = &x->all[0];
    double           fastest = taken->ns, least = taken->regret, least_near = taken->regret;
    for (int i = 1; i < x->all_count; i++)
        fastest = fmin(fastest, x->all[i].ns);
    for (int i = 1; i < x->all_count; i++) {
        least = fmin(least, x->all[i].regret);
        if (x->all[i].ns <= (1 + NEAR_PERCENT / 100.0) * fastest)
            least_near = fmin(least_near, x->all[i].regret);
    }
    if (taken->regret > least_near)
        return arena_printf(arena, "taken: within %d %% of the least regret, and moves less than %d %% of its bytes",
                            AS_GOOD_PERCENT, FAR_LESS_PERCENT);
    const char *of_all =
        taken->regret > least ? arena_printf(arena, " of those within %d %% of the fastest", NEAR_PERCENT) : "";
    return taken->ns <= fastest
               ? arena_printf(arena, "taken: the fastest, and of the least regret%s", of_all)
               : arena_printf(arena, "taken: of the least regret%s; %.1f %% slower than the fastest as described",
                              of_all, 100 * (taken->ns / fastest - 1));
}

/* ---- Reads ------------------------------------------------------------------------------- */

/* Does the group compute the node, or inline it? An inlined node has the group of its first reader, and may have
 * others. `of` has the answers for later nodes. */
static bool is_of(const Draft *d, int s, int group, const bool *of)
{
    const GraphNode *node = &d->graph->nodes[s];
    if (node->kind == NODE_INPUT)
        return false;
    if (d->choices[s].where != WHERE_INLINE || d->choices[s].group == group)
        return d->choices[s].group == group;
    for (int k = 0; k < node->out_count; k++)
        if (of[node->out[k]->consumer])
            return true;
    return false;
}

int explain_reads(const Explained *x, int to, Arena *arena, GroupRead **out)
{
    const Graph *g    = x->d->graph;
    GroupRead   *list = *out = ARENA_ARRAY(arena, GroupRead, (size_t)g->node_count + 1);
    bool        *of          = ARENA_ARRAY(arena, bool, (size_t)g->node_count + 1);
    int          count       = 0;
    for (int s = g->node_count; s-- > 0;)
        of[s] = is_of(x->d, s, to, of);
    for (int s = 0; s < g->node_count; s++) {
        const GraphNode *node = &g->nodes[s];
        bool             read = false;
        for (int k = 0; k < node->out_count && !of[s]; k++)
            read = read || of[node->out[k]->consumer];
        if (read && x->d->choices[s].where != WHERE_INLINE)
            list[count++] = (GroupRead){ s, (double)box_points(&node->box, node->rank) * (double)node->bytes };
    }
    return count;
}

/* ---- The loop nest ----------------------------------------------------------------------- */

typedef struct Lines {
    Arena       *arena;
    const char **at;
    int          count;
} Lines;

static void add_line(Lines *l, int depth, const char *text)
{
    if (l->count < MOST_LINES)
        l->at[l->count++] = arena_printf(l->arena, "%*s%s", 2 * depth, "", text);
}

/* Members that are stored or computed just inside a loop. */
static void add_members(const Explained *x, int group, int level, Lines *l)
{
    const Draft *d = x->d;
    for (int s = 0; s < d->graph->node_count; s++) {
        const Choice *c = &d->choices[s];
        if (c->where != WHERE_INSIDE || c->group != group)
            continue;
        const bool  hosted = draft_loop_owner(d, s) != d->groups[group].head;
        const char *held   = explain_bytes(l->arena, (double)x->nodes[s].held);
        if (!hosted && c->store == level && c->compute != level)
            add_line(l, level + 1, arena_printf(l->arena, "keep %s (%s)", name_of(d, s), held));
        if (!hosted && c->compute == level && c->store == level)
            add_line(l, level + 1, arena_printf(l->arena, "%s (%s)", name_of(d, s), held));
        else if (!hosted && c->compute == level)
            add_line(l, level + 1, arena_printf(l->arena, "%s, what is new of it", name_of(d, s)));
        else if (hosted && draft_head_level(d, s) == level)
            add_line(l, level + 2,
                     arena_printf(l->arena, "%s, inside the loops of %s", name_of(d, s),
                                  name_of(d, draft_loop_owner(d, s))));
    }
}

static const char *loop_text(const Explained *x, const Group *gr, int i, Arena *arena)
{
    const GroupLoop *l = &gr->loops[i];
    const char      *v = x->d->graph->nodes[gr->head].func->args[l->dim];
    if (l->vector)
        return arena_printf(arena, "for %s in vectors of %lld", v, (long long)l->step);
    const char *pieces = l->step > 1 ? arena_printf(arena, " in pieces of %lld", (long long)l->step) : "";
    return arena_printf(arena, "for %s%s%s%s", v, pieces, l->parallel ? ", parallel" : "",
                        l->unroll ? ", unrolled" : "");
}

int explain_nest(const Explained *x, int group, Arena *arena, const char ***lines)
{
    const Draft *d  = x->d;
    const Group *gr = &d->groups[group];
    Lines        l  = { .arena = arena, .at = ARENA_ARRAY(arena, const char *, MOST_LINES) };
    for (int i = 0; i < gr->loop_count; i++) {
        add_line(&l, i, loop_text(x, gr, i, arena));
        add_members(x, group, i, &l);
    }
    if (!gr->loop_count)
        add_line(&l, 0, "loops of the default schedule");
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->choices[s].where == WHERE_DEFAULT && d->choices[s].group == group)
            add_line(&l, gr->loop_count, name_of(d, s));
    add_line(&l, gr->loop_count,
             arena_printf(arena, "%s%s", name_of(d, gr->head), gr->stream ? ", past the cache" : ""));
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->choices[s].where == WHERE_INLINE && d->choices[s].group == group)
            add_line(&l, gr->loop_count + 1, arena_printf(arena, "%s, inlined", name_of(d, s)));
    *lines = l.at;
    return l.count;
}

/* ---- What was refused -------------------------------------------------------------------- */

typedef struct Trial {
    Explained *x;
    Arena     *keep, *scratch;
    double     terms[TERM_COUNT]; /* of the draft itself, over all groups */
    int        tried;
} Trial;

static double sum_terms(const Draft *d, const Machine *m, double *terms)
{
    double ns = 0;
    memset(terms, 0, sizeof *terms * TERM_COUNT);
    for (int i = 0; i < d->group_count; i++) {
        GroupCost c;
        cost_group(d, i, m, NULL, &c);
        ns += c.ns;
        for (int k = 0; k < TERM_COUNT; k++)
            terms[k] += c.term[k];
    }
    return ns;
}

static bool is_same(const Draft *a, const Draft *b)
{
    bool same = a->group_count == b->group_count;
    for (int i = 0; i < a->group_count && same; i++)
        same = a->groups[i].head == b->groups[i].head && a->groups[i].loop_count == b->groups[i].loop_count &&
               !memcmp(a->groups[i].loops, b->groups[i].loops,
                       sizeof *a->groups[i].loops * (size_t)a->groups[i].loop_count);
    for (int s = 0; s < a->graph->node_count && same; s++)
        same = a->choices[s].where == b->choices[s].where && a->choices[s].group == b->choices[s].group &&
               a->choices[s].compute == b->choices[s].compute && a->choices[s].store == b->choices[s].store;
    return same;
}

/* The footprint of the node's group after a change, if it exceeds the L2 and did not before; else 0. */
static int64_t exceeds_l2(const Explained *x, const Draft *changed, int node)
{
    const int group = changed->choices[node].group, before = x->d->choices[changed->groups[group].head].group;
    GroupCost c;
    cost_group(changed, group, x->m, NULL, &c);
    return c.footprint > x->m->l2 && x->costs[before].footprint <= x->m->l2 ? c.footprint : 0;
}

/* Costs a changed draft, and keeps it if it is the group's best. */
static void try_draft(Trial *t, int group, Draft *changed, RuleOf rule, const char *what)
{
    Refused *best = &t->x->refused[group];
    double   terms[TERM_COUNT];
    t->tried++;
    draft_legalize(changed);
    if (is_same(changed, t->x->d))
        return;
    const double ns = sum_terms(changed, t->x->m, terms);
    if (best->what && ns >= best->ns)
        return;
    CostTerm most = 0;
    for (CostTerm k = 1; k < TERM_COUNT; k++)
        most = terms[k] - t->terms[k] > terms[most] - t->terms[most] ? k : most;
    best->what    = arena_printf(t->keep, "%s", what);
    best->rule    = rule;
    best->ns      = ns;
    best->exceeds = exceeds_l2(t->x, changed, t->x->d->groups[group].head);
    best->term    = most;
    best->more    = terms[most] - t->terms[most];
}

static void try_member(Trial *t, int s)
{
    const int group                 = t->x->d->choices[s].group;
    Draft     apart                 = draft_copy(t->x->d, t->scratch);
    apart.groups[apart.group_count] = (Group){ .head = s };
    apart.choices[s]                = (Choice){ .where = WHERE_ROOT, .group = apart.group_count++ };
    try_draft(t, group, &apart, RULE_OF_GROUPS, arena_printf(t->scratch, "%s at root", name_of(&apart, s)));
    Draft inlined = draft_copy(t->x->d, t->scratch);
    if (!draft_may_inline(&inlined, s))
        return;
    inlined.choices[s] = (Choice){ .where = WHERE_INLINE, .group = group };
    try_draft(t, group, &inlined, RULE_OF_GROUPS, arena_printf(t->scratch, "%s inlined", name_of(&inlined, s)));
}

static int count_readers(const Trial *t, int head)
{
    int readers = 0;
    for (int g = 0; g < t->x->d->group_count; g++) {
        GroupRead *reads;
        const int  count = explain_reads(t->x, g, t->scratch, &reads);
        for (int k = 0; k < count; k++)
            readers += reads[k].node == head;
    }
    return readers;
}

/* Why the head of a group may not be inside the loops of a group that reads it. */
static const char *why_apart(const Trial *t, int head)
{
    const GraphNode *node = &t->x->d->graph->nodes[head];
    if (count_readers(t, head) > 1)
        return "other groups read it too";
    if (node->kind == NODE_PURE || node->kind == NODE_REDUCTION)
        return "no loop of the reader encloses all that it reads of it";
    return "its steps have to be taken one after the other";
}

/* The head inside the group of its readers: at the level of a member there, or at the outermost loop. */
static void try_together(Trial *t, int group)
{
    Draft            d    = draft_copy(t->x->d, t->scratch);
    const int        head = d.groups[group].head;
    const GraphNode *node = &d.graph->nodes[head];
    const int        into = node->out_count ? d.choices[node->out[0]->consumer].group : -1;
    Choice           like = { .where = WHERE_INSIDE, .group = into };
    if (into < 0 || into == group)
        return;
    const char *what = arena_printf(t->keep, "%s inside %s", name_of(&d, head), name_of(&d, d.groups[into].head));
    if (!draft_may_join(&d, head, into)) {
        t->x->refused[group].illegal = arena_printf(t->keep, "%s: not legal, %s", what, why_apart(t, head));
        return;
    }
    for (int s = d.graph->node_count; s-- > 0;)
        if (d.choices[s].where == WHERE_INSIDE && d.choices[s].group == into &&
            draft_loop_owner(&d, s) == d.groups[into].head) {
            like.compute = d.choices[s].compute;
            like.store   = d.choices[s].store;
        }
    d.choices[head] = like;
    for (int s = head; s-- > 0;)
        if (d.choices[s].where == WHERE_INSIDE && d.choices[s].group == group)
            d.choices[s] = like;
    try_draft(t, group, &d, RULE_OF_GROUPS, what);
}

/* Every loop over tiles with steps larger or smaller by `halves` / 2. */
static void try_tiles(Trial *t, int group, int halves, const char *what)
{
    Draft  d  = draft_copy(t->x->d, t->scratch);
    Group *gr = &d.groups[group];
    for (int i = 0; i < gr->loop_count; i++)
        if (gr->loops[i].step > 1 && !gr->loops[i].vector)
            gr->loops[i].step = (gr->loops[i].step * halves + 1) / 2;
    try_draft(t, group, &d, RULE_OF_TILES, what);
}

static void try_all(Trial *t)
{
    const Draft *d = t->x->d;
    for (int i = 0; i < d->group_count && t->tried < MOST_TRIED; i++) {
        try_tiles(t, i, 1, "tiles half as large");
        try_tiles(t, i, 4, "tiles twice as large");
        try_together(t, i);
    }
    for (int s = 0; s < d->graph->node_count && t->tried < MOST_TRIED; s++)
        if (d->choices[s].where == WHERE_INSIDE)
            try_member(t, s);
}

/* ---- Rules ------------------------------------------------------------------------------- */

const char *explain_rule(const Explained *x, RuleId rule, Arena *arena)
{
    const RuleUse *use = &x->d->uses[rule];
    const Rule    *r   = &draft_rules[rule];
    if (!draft_has_rule(x->d, rule))
        return arena_printf(arena, "%s: left out", r->name);
    if (!use->applied && !use->refused)
        return NULL;
    const char *kept =
        use->applied ? arena_printf(arena, "in %d place%s", use->applied, use->applied == 1 ? "" : "s") : "";
    const char *refused =
        !use->refused
            ? ""
            : arena_printf(arena, "%srefused by the cost model in %d, with it %s, without %s", use->applied ? "; " : "",
                           use->refused, explain_time(arena, use->with), explain_time(arena, use->without));
    return arena_printf(arena, "%s %s%s: %s", r->name, kept, refused, r->why);
}

/* ---- All of it --------------------------------------------------------------------------- */

void explain_make(Explained *x, const Candidate *made, const Machine *m, Arena *arena)
{
    const Draft *d = &made->draft;
    const size_t n = (size_t)d->graph->node_count + 1;
    *x             = (Explained){ .scheduler = made->scheduler,
                                  .d         = d,
                                  .m         = m,
                                  .costs     = ARENA_ARRAY(arena, GroupCost, n),
                                  .refused   = ARENA_ARRAY(arena, Refused, n),
                                  .order     = ARENA_ARRAY(arena, int, n),
                                  .number    = ARENA_ARRAY(arena, int, n),
                                  .nodes     = ARENA_ARRAY(arena, NodeCost, n) };
    for (int i = 0; i < d->group_count; i++) {
        cost_group(d, i, m, x->nodes, &x->costs[i]);
        x->ns += x->costs[i].ns;
    }
    int count = 0;
    for (int s = 0; s < d->graph->node_count; s++) { /* producers first */
        x->functions += d->graph->nodes[s].kind != NODE_INPUT;
        if (d->choices[s].where != WHERE_ROOT || d->choices[s].group < 0)
            continue;
        x->order[count]                = d->choices[s].group;
        x->number[d->choices[s].group] = ++count;
    }
    Arena scratch;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    Trial t = { .x = x, .keep = arena, .scratch = &scratch };
    sum_terms(d, m, t.terms);
    try_all(&t);
    scratch_end(&scratch);
}
