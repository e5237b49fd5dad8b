/* SPDX-License-Identifier: MIT */
/* Making edited kernels legal (kernel_edits.h).
 *
 * What cannot be inlined is a kernel. Then, consumers first, a stage that is in a kernel where not all of its readers
 * are goes to the kernel of its readers, or is one itself. Then registers are shared memory where several stages read
 * them. At last kernels with other stages get the blocks that are predicted to be best. Consumers come first so that
 * the places of all readers of a stage are settled when it is looked at. */
#include "schedulers/tune/kernel_edits.h"

#include "schedulers/draft/draft_legal.h"
#include "schedulers/graph/constants.h"

enum { SEVERAL = -2 };

/* The group of all readers; -1: no reader was seen; SEVERAL. */
static int join_readers(const KernelDraft *k, int s, int group)
{
    const GraphNode *node = &k->d.graph->nodes[s];
    for (int i = 0; i < node->out_count && group != SEVERAL; i++) {
        const Choice *c = &k->d.choices[node->out[i]->consumer];
        if (c->where == WHERE_INLINE)
            group = join_readers(k, node->out[i]->consumer, group);
        else
            group = group == -1 || group == c->group ? c->group : SEVERAL;
    }
    return group;
}

static bool is_kernel(const KernelDraft *k, int group)
{
    const int head = group >= 0 ? k->d.groups[group].head : -1;
    return head >= 0 && !k->left[head] && k->d.choices[head].where == WHERE_ROOT && k->d.choices[head].group == group;
}

int kernel_of_readers(const KernelDraft *k, int s)
{
    const int group = join_readers(k, s, -1);
    return is_kernel(k, group) ? group : -1;
}

int kernel_unit_of_readers(const KernelSpace *space, int s)
{
    for (int i = space->among_count; i-- > 0 && space->among[i] > s;)
        if (kernel_is_unit(space, space->among[i]) && kernel_reading_def(space, s, space->among[i]) != NO_DEF)
            return space->among[i];
    return -1;
}

/* ---- Places ------------------------------------------------------------------------------ */

static bool may_be_in(const KernelDraft *k, int s, int group)
{
    return is_kernel(k, group) && !k->left[s] && kernel_may_head(&k->d, s) && draft_may_join(&k->d, s, group);
}

static void make_root(KernelDraft *k, int s)
{
    draft_make_root(&k->d, s);
    k->nested[s] = 0;
}

static void legalize_places(KernelDraft *k)
{
    draft_legalize_inlining(&k->d);
    for (int s = k->d.graph->node_count; s-- > 0;) {
        Choice *c = &k->d.choices[s];
        if (k->d.graph->nodes[s].kind == NODE_INPUT)
            continue;
        if (c->where == WHERE_INSIDE && !may_be_in(k, s, c->group)) {
            const int group = kernel_of_readers(k, s);
            if (group >= 0 && may_be_in(k, s, group))
                c->group = group;
            else
                make_root(k, s);
        }
        if (c->where == WHERE_ROOT && !kernel_may_head(&k->d, s))
            k->left[s] = true;
    }
}

/* Groups without a head are gone; kernels move with theirs. */
static void drop_groups(KernelDraft *k, Arena *arena)
{
    Draft *d    = &k->d;
    int   *now  = ARENA_ARRAY(arena, int, (size_t)d->group_count + 1);
    int    kept = 0;
    for (int i = 0; i < d->group_count; i++) {
        const int head = d->groups[i].head;
        now[i]         = head >= 0 && d->choices[head].where == WHERE_ROOT && d->choices[head].group == i ? kept : -1;
        if (now[i] < 0)
            continue;
        d->groups[kept]    = d->groups[i];
        k->kernels[kept++] = k->kernels[i];
    }
    d->group_count = kept;
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->choices[s].group >= 0)
            d->choices[s].group = d->choices[s].where == WHERE_INLINE ? 0 : now[d->choices[s].group];
}

/* Registers hold what the threads of one stage read; `space` has begun the kernel. */
static void legalize_registers(KernelDraft *k, const KernelSpace *space)
{
    for (int i = space->among_count; i-- > 0;) {
        const int s = space->among[i], unit = k->nested[s] - 1;
        if (s == space->head || k->d.choices[s].where != WHERE_INSIDE || unit < 0)
            continue;
        const bool fine = k->d.choices[unit].where != WHERE_INLINE && kernel_is_unit(space, unit) &&
                          kernel_reading_def(space, s, unit) != NO_DEF;
        if (!fine)
            k->nested[s] = kernel_unit_of_readers(space, s) + 1;
    }
}

/* ---- Blocks ------------------------------------------------------------------------------ */

/* What a kernel consists of. */
static uint64_t stages_key(KernelSpace *space, int head)
{
    const KernelDraft *k   = space->k;
    uint64_t           key = 0xcbf29ce484222325u;
    kernel_space_begin(space, head);
    for (int i = 0; i < space->among_count; i++) {
        const int s = space->among[i], nested = k->d.choices[s].where == WHERE_INSIDE ? k->nested[s] : 0;
        key = (((key ^ (uint64_t)s) * 0x100000001b3u) ^ (uint64_t)k->d.choices[s].where) * 0x100000001b3u;
        key = (key ^ (uint64_t)nested) * 0x100000001b3u;
    }
    return key;
}

static bool launches(const KernelCost *c)
{
    return c->fault != KERNEL_MANY_THREADS && c->fault != KERNEL_MUCH_SHARED && c->fault != KERNEL_UNBOUNDED &&
           c->fault != KERNEL_MUCH_CODE;
}

/* The kernel with that head; NULL: there is none. */
static const Kernel *kernel_with_head(const KernelDraft *k, int head)
{
    const Choice *c = &k->d.choices[head];
    return c->where == WHERE_ROOT && is_kernel(k, c->group) ? &k->kernels[c->group] : NULL;
}

/* A kernel whose stages or blocks are others than before. */
static bool reshape(KernelSpace *space, KernelSpace *had, int group)
{
    KernelDraft   *k      = space->k;
    Kernel        *kernel = &k->kernels[group];
    const int      head   = k->d.groups[group].head;
    const Kernel  *before = kernel_with_head(had->k, head);
    const uint64_t key    = stages_key(space, head);
    const bool     same   = before && stages_key(had, head) == key;
    if (same && before->resident == kernel->resident && !memcmp(&before->shape, &kernel->shape, sizeof kernel->shape))
        return true;
    if (same)
        kernel_evaluate(space, &kernel->shape, &kernel->cost);
    else
        kernel_choose_shape(space, KERNEL_THOROUGH, kernel);
    if (!same || kernel->resident * kernel->cost.thread_count > k->device->sm_threads ||
        kernel->resident > k->device->sm_blocks)
        kernel->resident = 0;
    return launches(&kernel->cost);
}

bool kernel_edits_legalize(KernelDraft *k, KernelDraft *before, Arena *arena)
{
    KernelSpace space = kernel_space(k, false, arena), had = kernel_space(before, false, arena);
    bool        fine = true;
    legalize_places(k);
    drop_groups(k, arena);
    for (int i = 0; i < k->d.group_count && fine; i++) {
        if (k->left[k->d.groups[i].head])
            continue;
        kernel_space_begin(&space, k->d.groups[i].head);
        legalize_registers(k, &space);
        fine = reshape(&space, &had, i);
    }
    return fine;
}
