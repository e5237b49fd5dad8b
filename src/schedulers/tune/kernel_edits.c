/* SPDX-License-Identifier: MIT */
/* Edits of kernels: the blocks of a kernel, the points of its threads, and the place of a stage (kernel_edits.h).
 *
 * A stage is inlined, a kernel of its own, or part of the kernel that reads it: in shared memory, or in the registers
 * of the threads that read it. */
#include "schedulers/tune/kernel_edits.h"

#include "schedulers/draft/draft_legal.h"
#include "schedulers/graph/constants.h"

enum { MOST_THREAD_DIMS = 3 };

typedef struct List {
    const KernelDraft *k;
    DeviceKind         device;
    MoveList           moves;
} List;

KernelDraft kernel_edits_copy(const KernelDraft *k, Arena *arena)
{
    const int    nodes = k->d.graph->node_count;
    const size_t n     = (size_t)nodes + 1;
    KernelDraft  copy  = *k;
    copy.d             = draft_copy(&k->d, arena);
    copy.d.groups      = ARENA_ARRAY(arena, Group, 2 * n);
    copy.kernels       = ARENA_ARRAY(arena, Kernel, 2 * n);
    copy.nested        = ARENA_ARRAY(arena, int, n);
    copy.left          = ARENA_ARRAY(arena, bool, n);
    copy.table         = ARENA_ARRAY(arena, bool, n);
    memcpy(copy.d.groups, k->d.groups, sizeof(Group) * (size_t)k->d.group_count);
    memcpy(copy.kernels, k->kernels, sizeof(Kernel) * (size_t)k->d.group_count);
    memcpy(copy.nested, k->nested, sizeof(int) * (size_t)nodes);
    memcpy(copy.left, k->left, sizeof(bool) * (size_t)nodes);
    memcpy(copy.table, k->table, sizeof(bool) * (size_t)nodes);
    return copy;
}

/* ---- Blocks ------------------------------------------------------------------------------ */

static bool has_threads(const KernelShape *shape, int d)
{
    return shape->tile[d] > shape->each[d];
}

static int thread_dims(const KernelShape *shape, int rank)
{
    int count = 0;
    for (int d = 0; d < rank; d++)
        count += has_threads(shape, d);
    return count;
}

/* Does it read a scan that is stored transposed? Its blocks are as that needs them. */
static bool reads_turned(const KernelDraft *k, const GraphNode *head)
{
    for (int i = 0; i < head->in_count; i++)
        if (kernel_is_turned(k, head->in[i]->producer))
            return true;
    return false;
}

/* Blocks of a multiprocessor at once. */
static int resident_of(const Kernel *kernel)
{
    return kernel->resident ? kernel->resident : kernel->cost.occupancy.blocks > 1 ? kernel->cost.occupancy.blocks : 1;
}

static void list_shape(List *l, int group)
{
    const Kernel      *kernel = &l->k->kernels[group];
    const KernelShape *shape  = &kernel->shape;
    const GraphNode   *head   = &l->k->d.graph->nodes[l->k->d.groups[group].head];
    if (l->k->left[l->k->d.groups[group].head] || kernel->staged || reads_turned(l->k, head))
        return;
    if (l->device == DEVICE_CUDA)
        moves_add(&l->moves, MOVE_RESIDENT, group, 0, -1, 1);
    if (l->device == DEVICE_CUDA && resident_of(kernel) > 1)
        moves_add(&l->moves, MOVE_RESIDENT, group, 0, -1, -1);
    for (int d = 0; d < head->rank; d++) {
        const bool    inside = shape->inside >> d & 1, threads = has_threads(shape, d);
        const int64_t wide = node_extent(head, d);
        if (wide <= KERNEL_FEW_PLANES && wide > 1 && (inside || shape->tile[d] == 1))
            moves_add(&l->moves, MOVE_PLANES, group, 0, d, inside ? -1 : 1);
        if (inside || wide < 2)
            continue;
        if (threads || thread_dims(shape, head->rank) < MOST_THREAD_DIMS)
            moves_add(&l->moves, MOVE_THREADS, group, 0, d, 1);
        if (threads) {
            moves_add(&l->moves, MOVE_THREADS, group, 0, d, -1);
            moves_add(&l->moves, MOVE_WARPS, group, 0, d, 1);
            moves_add(&l->moves, MOVE_WARPS, group, 0, d, -1);
        }
        for (int same_block = 0; same_block < 2; same_block++) {
            if (!same_block || threads)
                moves_add(&l->moves, MOVE_POINTS, group, same_block, d, 1);
            if (shape->each[d] > 1)
                moves_add(&l->moves, MOVE_POINTS, group, same_block, d, -1);
        }
    }
}

/* Twice or half as many threads. */
static void threads(KernelDraft *k, const Move *mv)
{
    KernelShape *shape = &k->kernels[mv->site].shape;
    if (mv->by > 0)
        shape->tile[mv->dim] *= 2;
    else if (shape->tile[mv->dim] / 2 % shape->each[mv->dim] == 0)
        shape->tile[mv->dim] /= 2;
}

/* Two threads more or fewer. */
static void warps(KernelDraft *k, const Move *mv)
{
    KernelShape  *shape = &k->kernels[mv->site].shape;
    const int64_t next  = shape->tile[mv->dim] + 2 * mv->by * shape->each[mv->dim];
    if (next >= shape->each[mv->dim])
        shape->tile[mv->dim] = next;
}

/* Twice or half as many points of a thread; `loop`: in blocks that stay as they are. */
static void points(KernelDraft *k, const Move *mv)
{
    KernelShape  *shape = &k->kernels[mv->site].shape;
    const int64_t each  = mv->by > 0 ? 2 * shape->each[mv->dim] : shape->each[mv->dim] / 2;
    const int64_t tile  = mv->loop     ? shape->tile[mv->dim]
                          : mv->by > 0 ? 2 * shape->tile[mv->dim]
                                       : shape->tile[mv->dim] / 2;
    if (each < 1 || (mv->by < 0 && shape->each[mv->dim] % 2) || tile % each)
        return;
    shape->each[mv->dim] = each;
    shape->tile[mv->dim] = tile;
}

/* Twice or half as many blocks at once. */
static void resident(KernelDraft *k, const Move *mv)
{
    Kernel   *kernel = &k->kernels[mv->site];
    const int now    = resident_of(kernel);
    kernel->resident = mv->by > 0 ? 2 * now : now / 2;
}

/* A short dimension inside threads, or a block for each. */
static void planes(KernelDraft *k, const Move *mv)
{
    KernelShape     *shape = &k->kernels[mv->site].shape;
    const GraphNode *head  = &k->d.graph->nodes[k->d.groups[mv->site].head];
    shape->tile[mv->dim] = shape->each[mv->dim] = mv->by > 0 ? node_extent(head, mv->dim) : 1;
    shape->inside = mv->by > 0 ? shape->inside | 1u << mv->dim : shape->inside & ~(1u << mv->dim);
}

/* ---- Places ------------------------------------------------------------------------------ */

static bool is_head(const KernelDraft *k, int s)
{
    const Choice *c = &k->d.choices[s];
    return c->where == WHERE_ROOT && c->group >= 0 && k->d.groups[c->group].head == s;
}

static void list_node(List *l, int s)
{
    const KernelDraft *k    = l->k;
    const Choice      *c    = &k->d.choices[s];
    const GraphNode   *node = &k->d.graph->nodes[s];
    if (node->kind == NODE_INPUT || k->left[s] || k->table[s])
        return;
    if (c->where != WHERE_INLINE && draft_may_inline(&k->d, s))
        moves_add(&l->moves, MOVE_INLINE, s, 0, -1, 0);
    if (!kernel_may_head(&k->d, s))
        return;
    if (c->where != WHERE_ROOT)
        moves_add(&l->moves, MOVE_KERNEL, s, 0, -1, 0);
    if (c->where != WHERE_INSIDE && !node->is_output && kernel_of_readers(k, s) >= 0)
        moves_add(&l->moves, MOVE_MERGE, s, 0, -1, 0);
    if (c->where == WHERE_INSIDE)
        moves_add(&l->moves, MOVE_REGISTERS, s, 0, -1, k->nested[s] ? -1 : 1);
}

static void inline_stage(KernelDraft *k, const Move *mv)
{
    if (is_head(k, mv->site))
        k->d.groups[k->d.choices[mv->site].group].head = -1;
    k->d.choices[mv->site] = (Choice){ .where = WHERE_INLINE };
}

static void own_kernel(KernelDraft *k, const Move *mv)
{
    draft_make_root(&k->d, mv->site);
    k->nested[mv->site] = 0;
}

/* With all that is in its kernel. */
static void merge(KernelDraft *k, const Move *mv)
{
    const int group = kernel_of_readers(k, mv->site), had = is_head(k, mv->site) ? k->d.choices[mv->site].group : -1;
    if (group < 0 || group == had)
        return;
    for (int s = 0; s < mv->site && had >= 0; s++)
        if (k->d.choices[s].where == WHERE_INSIDE && k->d.choices[s].group == had)
            k->d.choices[s].group = group;
    if (had >= 0)
        k->d.groups[had].head = -1;
    k->d.choices[mv->site] = (Choice){ .where = WHERE_INSIDE, .group = group };
    k->nested[mv->site]    = 0;
}

static void registers(KernelDraft *k, const Move *mv)
{
    Arena scratch;
    scratch_begin(&scratch, k->d.graph->pipeline->cx);
    KernelSpace space = kernel_space(k, false, &scratch);
    kernel_space_begin(&space, k->d.groups[k->d.choices[mv->site].group].head);
    k->nested[mv->site] = mv->by < 0 ? 0 : kernel_unit_of_readers(&space, mv->site) + 1;
    scratch_end(&scratch);
}

/* ---- All --------------------------------------------------------------------------------- */

/* clang-format off */
static const struct Row {
    const char *name;
    void (*apply)(KernelDraft *k, const Move *mv);
    bool at_kernel;
} rows[MOVE_KINDS] = {
    [MOVE_INLINE]    = { "inline",          inline_stage, false },
    [MOVE_THREADS]   = { "threads",         threads,      true },
    [MOVE_WARPS]     = { "two threads",     warps,        true },
    [MOVE_POINTS]    = { "points",          points,       true },
    [MOVE_RESIDENT]  = { "blocks at once",  resident,     true },
    [MOVE_PLANES]    = { "planes",          planes,       true },
    [MOVE_KERNEL]    = { "own kernel",      own_kernel,   false },
    [MOVE_MERGE]     = { "into its reader", merge,        false },
    [MOVE_REGISTERS] = { "registers",       registers,    false },
};
/* clang-format on */

int kernel_edits_list(const KernelDraft *k, DeviceKind device, Move *out, int room)
{
    List l = { k, device, { out, 0, room } };
    for (int i = 0; i < k->d.group_count; i++)
        list_shape(&l, i);
    for (int s = 0; s < k->d.graph->node_count; s++)
        list_node(&l, s);
    return l.moves.count;
}

void kernel_edits_apply(KernelDraft *k, const Move *mv)
{
    rows[mv->kind].apply(k, mv);
}

void kernel_edits_print(Text *out, const KernelDraft *before, const Move *mv)
{
    const int   node = rows[mv->kind].at_kernel ? before->d.groups[mv->site].head : mv->site;
    const Func *f    = before->d.graph->nodes[node].func;
    text_printf(out, "%s of %s", rows[mv->kind].name, f->name);
    if (mv->dim >= 0)
        text_printf(out, " along %s", f->args[mv->dim]);
    if (mv->kind == MOVE_POINTS && mv->loop)
        text_add(out, " in the same block");
    if (mv->by)
        text_add(out, mv->by > 0 ? ", more" : ", less");
}
