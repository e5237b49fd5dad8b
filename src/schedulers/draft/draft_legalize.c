/* SPDX-License-Identifier: MIT */
/* Legalizing: makes every draft legal. legal/ decides what that is; here a draft is changed until it is so.
 *
 *     inlining    draft.c
 *     loops       of heads and members: draft_loops.c
 *     levels      consumers first: a member's level encloses all its readers; no parallel loop is between its storage
 *                 and its computation
 *     memory      orders are permutations; copies are of complete nodes, for one reader, around its computation
 *     prefetch    of complete nodes that are read in that loop */
#include "legal/levels.h"
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/row_copies.h"
#include "schedulers/draft/shared_loops.h"
#include "schedulers/draft/pattern.h"

/* ---- Levels ----------------------------------------------------------------------------- */

/* A level is inside that loop of a node's main definition; the node's choice stands for the definition. */
static TreeLevel level_in(const Draft *d, int node, int loop)
{
    return (TreeLevel){ &d->choices[node], loop };
}

static int node_of(const Draft *d, TreeLevel l)
{
    return (int)((const Choice *)l.def - d->choices);
}

/* The level at which a node is computed. */
static TreeLevel level_around(const void *of, const void *choice)
{
    const Draft  *d = of;
    const Choice *c = choice;
    if (c->where != WHERE_INSIDE)
        return (TreeLevel){ NULL, -1 };
    return level_in(d, draft_loop_owner(d, (int)(c - d->choices)), c->compute);
}

static const GroupLoop *loops_of(const Draft *d, int node)
{
    return d->choices[node].where == WHERE_INSIDE ? d->choices[node].nest->loops
                                                  : d->groups[d->choices[node].group].loops;
}

static bool level_is_parallel(const void *of, TreeLevel l)
{
    return loops_of(of, node_of(of, l))[l.loop].parallel;
}

static LevelTree tree_of(const Draft *d)
{
    return (LevelTree){ d, level_around, level_is_parallel };
}

/* The innermost level at which a definition of a node of the group can find what it reads. */
static TreeLevel level_of_reader(const Draft *d, const Group *gr, int s, int update)
{
    if (s == gr->head)
        return level_in(d, s, draft_innermost(gr->loops, gr->loop_count));
    if (d->choices[s].nest && update == draft_main(d, s) && draft_innermost_of(d, s) >= 0)
        return level_in(d, s, draft_innermost_of(d, s));
    return level_around(d, &d->choices[s]);
}

/* The innermost level around all that read s, and around `found` if there is one. What is inlined stands for those that
 * it is inlined into. */
static TreeLevel level_of_readers(const Draft *d, const Group *gr, int s, const TreeLevel *found)
{
    const LevelTree tree = tree_of(d);
    TreeLevel       all  = found ? *found : (TreeLevel){ NULL, -1 };
    bool            any  = found != NULL;
    for (size_t i = 0; i < d->facts[s].readers.count; i++) {
        const TextReader r  = d->facts[s].readers.at[i];
        const int        at = d->graph->of_func[r.func->id];
        if (d->choices[at].where == WHERE_INLINE) {
            all = level_of_readers(d, gr, at, any ? &all : NULL);
        } else {
            const TreeLevel level = level_of_reader(d, gr, at, r.update);
            all                   = any ? tree_around_both(&tree, all, level) : level;
        }
        any = true;
    }
    return all;
}

/* Is `at` a node that s can be inside of: a later member of its group, with loops? */
static bool may_own_loops(const Draft *d, int s, int at)
{
    if (at <= s + 1 || at > d->graph->node_count)
        return false;
    const Choice *c = &d->choices[at - 1];
    return c->where == WHERE_INSIDE && c->group == d->choices[s].group && c->nest;
}

/* Is the one reader the head, or a link too that is computed at the same level, and can anything be inside its
 * loops? */
static bool may_chain(const Draft *d, int s)
{
    const Choice *c      = &d->choices[s];
    const int     reader = c->nest && !c->at && d->graph->nodes[s].kind == NODE_PURE ? draft_chain_reader(d, s) : -1;
    if (reader < 0)
        return false;
    const Choice *r = &d->choices[reader];
    if (reader == d->groups[c->group].head)
        return true;
    const bool chained = r->where == WHERE_INSIDE && r->group == c->group && r->chain;
    return chained && r->compute == c->compute && draft_innermost_of(d, reader) >= 0;
}

static void legalize_level(Draft *d, int s)
{
    Choice *c = &d->choices[s];
    if (c->where != WHERE_INSIDE)
        return;
    const Group *gr = &d->groups[c->group];
    if (!draft_may_join(d, s, c->group) || draft_innermost(gr->loops, gr->loop_count) < 0) {
        draft_make_root(d, s);
        return;
    }
    c->nest              = draft_legalize_nest(d, s);
    const LevelTree tree = tree_of(d);
    const TreeLevel all  = level_of_readers(d, gr, s, NULL);
    c->at           = may_own_loops(d, s, c->at) && tree_within(&tree, all, &d->choices[c->at - 1]).def ? c->at : 0;
    const int owner = draft_loop_owner(d, s), most = tree_within(&tree, all, &d->choices[owner]).loop;
    c->compute = c->compute < 0 ? 0 : c->compute > most ? most : c->compute;
    c->store   = c->store < 0 ? 0 : c->store > c->compute ? c->compute : c->store;
    const TreeLevel parallel =
        tree_parallel_between(&tree, level_in(d, owner, c->store), level_in(d, owner, c->compute));
    c->store = parallel.def ? parallel.loop : c->store;
    if (d->graph->nodes[s].kind == NODE_SCAN) /* a part of its steps is no step: it does not slide */
        c->compute = c->store;
    c->chain = c->chain && may_chain(d, s);
    c->lanes = c->lanes < 0 ? 0 : c->lanes > 4 * MOST_DRAFT_LANES ? 4 * MOST_DRAFT_LANES : c->lanes;
}

/* ---- Memory ----------------------------------------------------------------------------- */

static bool is_permutation(const int *order, int rank)
{
    uint32_t dims = 0;
    for (int i = 0; order && i < rank; i++)
        dims |= order[i] >= 0 && order[i] < rank ? 1u << order[i] : 0;
    return order && rank > 0 && dims == (1u << rank) - 1;
}

static bool in_order(const int *order, int rank)
{
    for (int i = 0; i < rank; i++)
        if (order[i] != i)
            return false;
    return true;
}

static void legalize_memory(Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    Choice          *c    = &d->choices[s];
    const bool owned = is_defined(node) && !node->is_output && (c->where == WHERE_INSIDE || c->where == WHERE_ROOT);
    if (!owned || !is_permutation(c->memory, node->rank) || in_order(c->memory, node->rank))
        c->memory = NULL;
    if (!owned || !node->rank || c->align < 2 || c->align > MOST_DRAFT_LANES)
        c->align = 0;
}

/* Does the main definition of the reader itself read it? */
static bool reads_itself(const Draft *d, const StagedCopy *copy)
{
    const FuncFacts *facts = &d->facts[copy->of];
    for (size_t i = 0; i < facts->readers.count; i++)
        if (facts->readers.at[i].func == d->graph->nodes[copy->reader].func &&
            facts->readers.at[i].update == draft_main(d, copy->reader))
            return true;
    return false;
}

static bool may_copy(const Draft *d, const StagedCopy *copy, const StagedCopy *before, int count)
{
    const int nodes = d->graph->node_count;
    if (copy->of < 0 || copy->of >= nodes || copy->reader <= copy->of || copy->reader >= nodes)
        return false;
    const GraphNode *of     = &d->graph->nodes[copy->of];
    const Where      reader = d->choices[copy->reader].where;
    for (int i = 0; i < count; i++)
        if (before[i].of == copy->of)
            return false;
    return of->rank && !of->is_output &&
           (of->kind == NODE_INPUT || (is_defined(of) && d->choices[copy->of].where == WHERE_ROOT)) &&
           (reader == WHERE_ROOT || reader == WHERE_INSIDE) && draft_main(d, copy->reader) != NO_DEF &&
           reads_itself(d, copy);
}

static void legalize_copies(Draft *d)
{
    StagedCopy *legal = ARENA_ARRAY(d->graph->arena, StagedCopy, (size_t)d->copy_count + 1);
    int         count = 0;
    for (int i = 0; i < d->copy_count; i++) {
        StagedCopy copy = d->copies[i];
        if (!may_copy(d, &copy, legal, count))
            continue;
        const Choice *reader = &d->choices[copy.reader];
        const Group  *gr     = &d->groups[reader->group];
        const int     most   = reader->where == WHERE_INSIDE ? draft_head_level(d, copy.reader)
                                                             : draft_innermost(gr->loops, gr->loop_count);
        copy.compute         = copy.compute < -1 ? -1 : copy.compute > most ? most : copy.compute;
        copy.lanes     = copy.lanes < 1 ? 1 : copy.lanes > 4 * MOST_DRAFT_LANES ? 4 * MOST_DRAFT_LANES : copy.lanes;
        copy.memory    = is_permutation(copy.memory, d->graph->nodes[copy.of].rank) ? copy.memory : NULL;
        legal[count++] = copy;
    }
    d->copy_count = count;
    d->copies     = legal;
}

/* ---- Prefetch --------------------------------------------------------------------------- */

/* Does `reader` use a row copy of node f, which is inlined? */
static bool takes_rows(const Draft *d, int f, int reader)
{
    const GraphNode *node = &d->graph->nodes[f];
    for (int i = 0; i < node->out_count; i++)
        if (node->out[i]->consumer == reader && row_copy_is_made(d, node->out[i]))
            return true;
    return false;
}

/* Is node f read in that loop of the group's head: by the head, by a member there, or for a row copy there? An inlined
 * reader stands for its own readers, except of a tuple, of which they may read another component. */
static bool is_read_in(const Draft *d, int f, int group, int loop)
{
    const Group *gr = &d->groups[group];
    for (size_t i = 0; i < d->facts[f].readers.count; i++) {
        const TextReader r  = d->facts[f].readers.at[i];
        const int        at = d->graph->of_func[r.func->id];
        if (at < 0 || d->patterns[at].kind != PATTERN_NONE)
            continue;
        const Choice *c = &d->choices[at];
        if (c->where == WHERE_INLINE ? r.func->component_count == 1 && is_read_in(d, at, group, loop)
            : at == gr->head         ? r.update == draft_main(d, at) &&
                                   (!takes_rows(d, f, at) || draft_row_level(gr->loops, gr->loop_count) >= loop)
                             : c->where == WHERE_INSIDE && c->group == group && draft_head_level(d, at) >= loop)
            return true;
    }
    return false;
}

/* Is it complete before the group begins, and read by its own name? */
static bool is_outside(const Draft *d, int f, int group)
{
    const GraphNode *node = &d->graph->nodes[f];
    for (int i = 0; i < d->copy_count; i++)
        if (d->copies[i].of == f)
            return false;
    return node->rank > 0 && d->patterns[f].kind == PATTERN_NONE &&
           (node->kind == NODE_INPUT ||
            (is_defined(node) && d->choices[f].where == WHERE_ROOT && d->choices[f].group != group));
}

/* Is it a serial loop around the vectors? */
static bool may_prefetch_in(const Group *gr, int loop)
{
    if (loop < 0 || loop > draft_innermost(gr->loops, gr->loop_count) || gr->loops[loop].parallel)
        return false;
    for (int i = 0; i <= loop; i++)
        if (gr->loops[i].vector || gr->loops[i].unroll)
            return false;
    return true;
}

static void legalize_prefetch(Draft *d, int group)
{
    Group     *gr       = &d->groups[group];
    const int  f        = gr->prefetched - 1;
    const bool in_range = f >= 0 && f < d->graph->node_count && gr->ahead >= 1 && gr->ahead <= MOST_PREFETCH_AHEAD;
    if (!in_range || !may_prefetch_in(gr, gr->prefetch_loop) || !is_outside(d, f, group) ||
        !is_read_in(d, f, group, gr->prefetch_loop))
        gr->prefetched = 0;
}

/* ---- Groups ----------------------------------------------------------------------------- */

/* Removes groups that have lost their head; their members go to root. Keeps the order of the others. */
static void drop_lost_groups(Draft *d, Arena *scratch)
{
    int *now = ARENA_ARRAY(scratch, int, (size_t)d->group_count + 1), kept = 0;
    for (int i = 0; i < d->group_count; i++) {
        const Choice *head = &d->choices[d->groups[i].head];
        now[i]             = head->where == WHERE_ROOT && head->group == i ? kept : -1;
        if (now[i] >= 0)
            d->groups[kept++] = d->groups[i];
    }
    d->group_count = kept;
    for (int s = d->graph->node_count; s-- > 0;) {
        Choice          *c    = &d->choices[s];
        const GraphNode *node = &d->graph->nodes[s];
        if (c->where == WHERE_INLINE || c->where == WHERE_DEFAULT)
            c->group = node->out_count ? d->choices[node->out[0]->consumer].group : -1;
        else
            c->group = c->group >= 0 ? now[c->group] : -1;
        if (c->where == WHERE_INSIDE && c->group < 0)
            draft_make_root(d, s);
    }
}

/* A long sum may be inlined only while it is separated. */
static bool has_lost_pattern(Draft *d)
{
    bool any = false;
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->choices[s].where == WHERE_INLINE && !draft_may_inline(d, s)) {
            draft_make_root(d, s);
            any = true;
        }
    return any;
}

void draft_legalize(Draft *d)
{
    Arena scratch;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    drop_lost_groups(d, &scratch);
    draft_legalize_inlining(d);
    for (int i = 0; i < d->group_count; i++)
        draft_legalize_head(d, &d->groups[i]);
    patterns_legalize_scan_readers(d);
    for (int s = d->graph->node_count; s-- > 0;)
        legalize_level(d, s);
    drop_lost_groups(d, &scratch);
    for (int s = 0; s < d->graph->node_count; s++)
        legalize_memory(d, s);
    if (d->copy_count)
        legalize_copies(d);
    patterns_legalize(d);
    draft_legalize_shared(d);
    for (int i = 0; i < d->group_count; i++)
        legalize_prefetch(d, i);
    scratch_end(&scratch);
    if (has_lost_pattern(d)) /* a dropped pattern never comes back */
        draft_legalize(d);
}
