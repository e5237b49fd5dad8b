/* SPDX-License-Identifier: MIT */
/* Slice groups: computed one slice of a dimension at a time.
 *
 * Takes   a draft whose nodes are at root or inlined.
 * Gives   sets of nodes, with a head that all others lead to, through which one dimension passes unchanged: a slice of
 *         the head needs the same slice of each member. Colour planes, frames, the depths of a cost volume.
 * Why     A pyramid or a long chain of stencils in tiles has large halos, and level by level it goes through memory.
 *         Slice by slice nothing is redundant, and the working set is one slice. The searches grow groups node by
 *         node, each step no worse than the one before, so they rarely find these. Therefore the set is offered as one
 *         group, which is taken where the model predicts it faster.
 * Which   only those where several nodes read windows or with a stride. Without, strips of rows do the same. */
#include "schedulers/rules/slice_groups.h"
#include "schedulers/graph/def_facts.h"

enum { NO_DIM = -1, TAKEN = -2 };

typedef struct Search {
    const Draft *d;
    const Graph *g;
    int *dim; /* by node: its dimension along which slices are taken; NO_DIM: it is no member; TAKEN: it is in another
                 group */
    int count, windows;
} Search;

/* Does a slice of the reader need the same slice of the producer and nothing else? */
static bool is_same(const AccessRange *r, int reader_dim)
{
    return access_is_identity(r, reader_dim) && !access_is_clamped(r);
}

/* The dimensions of the producer along which slices can be taken, for this reader. */
static uint32_t same_dims(const Search *s, const Edge *e)
{
    uint32_t same = 0;
    for (int k = 2; k < s->g->nodes[e->producer].rank; k++)
        same |= is_same(&e->access[k], s->dim[e->consumer]) ? 1u << k : 0;
    return same;
}

/* Does a point of the reader read a window, or with a stride? */
static bool has_window(const Search *s, const Edge *e)
{
    bool any = false;
    for (int k = 0; k < 2 && k < s->g->nodes[e->producer].rank; k++)
        any |= e->access[k].num != e->access[k].den || e->access[k].lo != e->access[k].hi;
    return any;
}

static bool may_be_member(const Search *s, int at)
{
    const GraphNode *node = &s->g->nodes[at];
    if (s->dim[at] == TAKEN || node->is_output || !node->out_count)
        return false;
    if (node->kind != NODE_PURE && node->kind != NODE_REDUCTION)
        return false;
    for (size_t i = 0; i < s->d->facts[at].readers.count; i++) {
        const int reader = s->g->of_func[s->d->facts[at].readers.at[i].func->id];
        if (reader < 0 || s->dim[reader] < 0)
            return false;
    }
    return true;
}

/* Makes a node a member if all its readers are and agree on its dimension. */
static void meet(Search *s, int at)
{
    const GraphNode *node   = &s->g->nodes[at];
    uint32_t         same   = may_be_member(s, at) ? UINT32_MAX : 0;
    bool             window = false;
    for (int i = 0; i < node->out_count && same; i++) {
        same &= same_dims(s, node->out[i]);
        window |= has_window(s, node->out[i]);
    }
    for (int k = 2; k < node->rank; k++)
        s->dim[at] = same & 1u << k ? k : s->dim[at];
    s->count += same != 0;
    s->windows += same != 0 && window;
}

static void forget(Search *s, int head)
{
    for (int i = 0; i <= head; i++)
        s->dim[i] = s->dim[i] == TAKEN ? TAKEN : NO_DIM;
    s->count = s->windows = 0;
}

/* Finds all members that lead to dimension `dim` of this head. */
static void gather(Search *s, int head, int dim)
{
    forget(s, head);
    s->dim[head] = dim;
    s->count     = 1;
    for (int i = head; i-- > 0;)
        meet(s, i);
}

static SliceGroup take(Search *s, int head, Arena *arena)
{
    int       *nodes = ARENA_ARRAY(arena, int, (size_t)s->count);
    SliceGroup all   = { .head = head, .dim = s->dim[head], .nodes = nodes };
    for (int i = 0; i <= head; i++)
        if (s->dim[i] >= 0) {
            nodes[all.count++] = i;
            s->dim[i]          = TAKEN;
        }
    return all;
}

/* The dimension of a head with the most members; NO_DIM: none. */
static int best_dim(Search *s, int head, int64_t least)
{
    const GraphNode *node = &s->g->nodes[head];
    int              best = NO_DIM, most = 0;
    if (s->dim[head] == TAKEN || node->kind != NODE_PURE || draft_main(s->d, head) == NO_DEF)
        return NO_DIM;
    for (int k = 2; k < node->rank; k++) {
        gather(s, head, k);
        if (s->windows >= SLICE_LEAST_WINDOWS && node_extent(node, k) >= least && s->count > most) {
            most = s->count;
            best = k;
        }
    }
    return best;
}

int slice_groups_find(const Draft *d, int64_t least, SliceGroup *out, Arena *arena)
{
    Search s     = { .d = d, .g = d->graph, .dim = ARENA_ARRAY(arena, int, (size_t)d->graph->node_count + 1) };
    int    count = 0;
    for (int head = d->graph->node_count; head-- > 0;) {
        forget(&s, d->graph->node_count - 1);
        const int dim = best_dim(&s, head, least);
        if (dim == NO_DIM)
            continue;
        gather(&s, head, dim);
        out[count++] = take(&s, head, arena);
    }
    return count;
}
