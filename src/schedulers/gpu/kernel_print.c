/* SPDX-License-Identifier: MIT */
/* Kernels as the text of a schedule (Sioutas et al. 2020, section 4.3).
 *
 *     // out, 80x1280 blocks of 32x8 threads, 2 rows each: gray in shared memory
 *     out.split(x, xo, xi, 32).split(y, yo, yi, 16).split(yi, yt, ye, 2).reorder(ye, xi, yt, xo, yo)
 *        .gpu_blocks(xo, yo).gpu_threads(xi, yt).unroll(ye)
 *     gray.compute_at(out, xo).gpu_threads(x, y)
 *
 * Loops that are no threads are inside them, unrolled where they are copies of a thread's points; then the steps of a
 * reduction; then threads, then blocks. */
#include "schedulers/gpu/kernels.h"
#include "schedulers/gpu/kernel_text.h"
#include "schedulers/draft/nest_text.h"
#include "schedulers/graph/constants.h"
#include "schedulers/graph/def_facts.h"

#include <math.h>

enum { MOST_AXES = 3 };

/* The loops of one dimension; NULL: there is none. */
typedef struct DimLoops {
    const char *block, *thread, *copies;
} DimLoops;

typedef struct UnitText {
    Text       *out;
    const Func *func;
    DimLoops    dims[KN_MAX_RANK];
    const char *block;  /* the innermost loop over blocks */
    const char *thread; /* the innermost loop over threads */
} UnitText;

typedef struct Printer {
    Text        *out;
    KernelDraft *k;
    KernelSpace  space;
    UnitText    *heads; /* by definition of the head that was printed last: [0] the pure one */
} Printer;

void kernel_print_name(Text *out, const Func *f, int update)
{
    text_add(out, f->name);
    if (update >= 0)
        text_printf(out, ".update(%d)", update);
}

void kernel_print_list(Text *out, const char *directive, const char *const *names, int count)
{
    if (!count)
        return;
    text_printf(out, ".%s(", directive);
    for (int i = 0; i < count; i++)
        text_printf(out, "%s%s", i ? ", " : "", names[i]);
    text_add(out, ")");
}

/* The readers of a function, as `stage` names them. */
void kernel_print_readers(Text *out, const Draft *d, int s)
{
    for (size_t k = 0; k < d->facts[s].readers.count; k++) {
        text_add(out, k ? ", " : "");
        kernel_print_name(out, d->facts[s].readers.at[k].func, d->facts[s].readers.at[k].update);
    }
}

/* Does a stage with memory of its own move with dimension d of the head? Then it must have pieces of constant size. */
static bool is_stored_along(const KernelSpace *s, int d)
{
    if (kernel_holds_sums(s->k, s->head))
        return true;
    for (int i = 0; i < s->among_count; i++) {
        const int n = s->among[i];
        for (int e = 0; e < s->g->nodes[n].rank && n != s->head && s->k->d.choices[n].where == WHERE_INSIDE; e++)
            if (s->depends[n][e] >> d & 1)
                return true;
    }
    return false;
}

/* Are there sums in the registers of its threads? These have constant indices in whole tiles alone. */
static bool has_nested_sums(const KernelSpace *s)
{
    for (int i = 0; i < s->among_count; i++)
        if (s->k->d.choices[s->among[i]].where == WHERE_INSIDE && s->k->nested[s->among[i]] == s->head + 1 &&
            s->g->nodes[s->among[i]].def_count > 1)
            return true;
    return false;
}

/* The splits of a head's definition. */
static UnitText split_head(const Printer *p, const KernelShape *shape, int update)
{
    const Func *f           = p->space.g->nodes[p->space.head].func;
    UnitText    u           = { .out = p->out, .func = f };
    LoopNames   names       = loop_names(p->out->arena, f, update);
    const bool  output      = p->space.g->nodes[p->space.head].is_output;
    const bool  whole_tiles = output && !f->update_count && has_nested_sums(&p->space);
    for (int d = 0; d < f->rank && !output && update < 0; d++) {
        const int64_t to = kernel_alignment(&p->space, d, shape->each[d]);
        if (to > 1)
            text_printf(p->out, ".align_bounds(%s, %lld)", f->args[d], (long long)to);
    }
    for (int d = 0; d < f->rank; d++) {
        const char   *v = f->args[d], *rest = v;
        const int64_t tile = shape->tile[d], each = shape->each[d];
        DimLoops     *l     = &u.dims[d];
        const bool    whole = shape->inside >> d & 1 && !is_stored_along(&p->space, d);
        if (!whole && tile == 1) {
            l->block = v;
            continue;
        }
        if (!whole) {
            l->block = loop_name(&names, v, "o");
            rest     = loop_name(&names, v, "i");
            text_printf(p->out, ".split(%s, %s, %s, %lld%s)", v, l->block, rest, (long long)tile,
                        whole_tiles                              ? ", tail: shift_inward"
                        : kernel_holds_sums(p->k, p->space.head) ? ", tail: guard"
                                                                 : "");
        }
        if (tile > each && each > 1) {
            l->thread = loop_name(&names, v, "t");
            l->copies = loop_name(&names, v, "e");
            text_printf(p->out, ".split(%s, %s, %s, %lld)", rest, l->thread, l->copies, (long long)each);
        } else if (tile > each) {
            l->thread = rest;
        } else {
            l->copies = rest;
        }
    }
    return u;
}

static int add_steps(const Func *f, int update, const char **names, int count)
{
    for (int i = update < 0 ? 0 : f->updates[update].rvar_count; i-- > 0;)
        names[count++] = f->updates[update].rvars[i].name;
    return count;
}

int kernel_fuse_blocks(Text *out, const char **blocks, int count)
{
    for (; count > MOST_AXES; count--) {
        const char *both = arena_printf(out->arena, "%s_%s", blocks[count - 2], blocks[count - 1]);
        text_printf(out, ".fuse(%s, %s, %s)", blocks[count - 2], blocks[count - 1], both);
        blocks[count - 2] = both;
    }
    return count;
}

/* One definition of a head. */
static UnitText print_head_def(const Printer *p, const KernelShape *shape, int update)
{
    UnitText    u = split_head(p, shape, update);
    const char *order[MOST_LOOP_NAMES], *threads[KN_MAX_RANK], *blocks[KN_MAX_RANK];
    int         count = 0, thread_count = 0, block_count = 0;
    for (int d = 0; d < u.func->rank; d++) {
        if (u.dims[d].copies)
            order[count++] = u.dims[d].copies;
        if (u.dims[d].thread)
            threads[thread_count++] = u.dims[d].thread;
        if (u.dims[d].block)
            blocks[block_count++] = u.dims[d].block;
    }
    count       = add_steps(u.func, update, order, count);
    block_count = kernel_fuse_blocks(p->out, blocks, block_count);
    for (int i = 0; i < thread_count; i++)
        order[count++] = threads[i];
    for (int i = 0; i < block_count; i++)
        order[count++] = blocks[i];
    if (count > 1)
        kernel_print_list(p->out, "reorder", order, count);
    kernel_print_list(p->out, "gpu_blocks", blocks, block_count);
    kernel_print_list(p->out, "gpu_threads", threads, thread_count);
    for (int d = 0; d < u.func->rank; d++)
        if (u.dims[d].copies && u.dims[d].copies == u.func->args[d])
            text_printf(p->out, ".unroll(%s, %lld)", u.dims[d].copies, (long long)shape->each[d]);
        else if (u.dims[d].copies)
            text_printf(p->out, ".unroll(%s)", u.dims[d].copies);
    const Kernel *kernel   = &p->k->kernels[p->k->d.choices[p->space.head].group];
    const int     resident = kernel->resident ? kernel->resident : kernel_resident_blocks(p->k->device, &kernel->cost);
    text_printf(p->out, ".launch_bounds(%d, %d)", kernel->cost.thread_count, resident);
    u.block  = block_count ? blocks[0] : NULL;
    u.thread = thread_count ? threads[0] : NULL;
    return u;
}

/* Steps that read tables are copies. */
static void print_table_steps(const Printer *p, int s, int update)
{
    const Func *f = p->space.g->nodes[s].func;
    if (update >= 0 && kernel_steps_of_table(p->k, s))
        for (int i = 0; i < f->updates[update].rvar_count; i++)
            text_printf(p->out, ".unroll(%s)", f->updates[update].rvars[i].name);
}

/* A head whose sums are in registers: its threads are those of its copy, which is stored. The points of a thread are
 * copies inside the steps, and so have constant places. */
static void print_held_sums(const Printer *p, const Func *f, const KernelShape *shape)
{
    const UnitText *u = &p->heads[0];
    for (int k = -1; k < f->update_count; k++) {
        const char *order[MOST_LOOP_NAMES];
        int         count = 0;
        for (int d = 0; d < f->rank; d++)
            order[count++] = f->args[d];
        count = add_steps(f, k, order, count);
        kernel_print_name(p->out, f, k);
        if (k < 0)
            text_printf(p->out, ".compute_at(%s.stage, %s).store_in(register)", f->name,
                        u->thread ? u->thread : u->block);
        else if (count > 1)
            kernel_print_list(p->out, "reorder", order, count);
        for (int d = 0; d < f->rank; d++)
            if (shape->each[d] > 1)
                text_printf(p->out, ".unroll(%s, %lld)", f->args[d], (long long)shape->each[d]);
        print_table_steps(p, p->space.head, k);
        text_add(p->out, "\n");
    }
}

/* The name of the head's definition with threads. */
static void print_head_name(const Printer *p, int def)
{
    const Func *f = p->space.g->nodes[p->space.head].func;
    if (kernel_holds_sums(p->k, p->space.head))
        text_printf(p->out, "%s.stage", f->name);
    else
        kernel_print_name(p->out, f, def);
}

static void print_head(Printer *p, int s, const KernelShape *shape)
{
    const GraphNode *node = &p->space.g->nodes[s];
    p->heads              = ARENA_ARRAY(p->out->arena, UnitText, (size_t)node->def_count);
    if (kernel_holds_sums(p->k, s)) {
        text_printf(p->out, "%s.stage(", node->func->name);
        kernel_print_readers(p->out, &p->k->d, s);
        text_add(p->out, ").compute_root()");
        for (int k = 0; k < node->def_count; k++)
            p->heads[k] = k ? p->heads[0] : print_head_def(p, shape, -1);
        text_add(p->out, "\n");
        print_held_sums(p, node->func, shape);
        return;
    }
    for (int k = 0; k < node->def_count; k++) {
        kernel_print_name(p->out, node->func, k - 1);
        if (!k && !node->is_output)
            text_add(p->out, ".compute_root()");
        p->heads[k] = print_head_def(p, shape, k - 1);
        text_add(p->out, "\n");
    }
}

/* ---- Members ----------------------------------------------------------------------------- */

/* The innermost loop over threads of a member in shared memory. */
static const char *member_thread(const Printer *p, int s, const KernelShape *shape)
{
    const Func *f = p->space.g->nodes[s].func;
    int64_t     each[KN_MAX_RANK];
    LoopNames   names = loop_names(p->out->arena, f, -1);
    kernel_points_of_thread(&p->space, shape, s, each);
    return each[0] > 1 ? loop_name(&names, f->args[0], "t") : f->args[0];
}

/* The loops of a member in shared memory whose threads have several points: whole tiles of them, so that places in
 * registers are constants. */
static void print_points(const Printer *p, int s, const int64_t *each)
{
    const Func *f     = p->space.g->nodes[s].func;
    LoopNames   names = loop_names(p->out->arena, f, -1);
    const char *order[MOST_LOOP_NAMES], *threads[KN_MAX_RANK];
    int         copies = 0, thread_count = 0;
    for (int d = 0; d < f->rank; d++) {
        const bool  split = each[d] > 1 && (d < 2 || each[d] < box_extent(&p->space.block[s], d));
        const char *v = f->args[d], *thread = split ? loop_name(&names, v, "t") : v;
        if (each[d] > 1)
            order[copies++] = split ? loop_name(&names, v, "e") : v;
        if (split)
            text_printf(p->out, ".split(%s, %s, %s, %lld%s)", v, thread, order[copies - 1], (long long)each[d],
                        d < 2 ? ", tail: round_up" : "");
        if (split || each[d] == 1)
            threads[thread_count++] = thread;
    }
    for (int i = 0; i < thread_count; i++)
        order[copies + i] = threads[i];
    kernel_print_list(p->out, "reorder", order, copies + thread_count);
    kernel_print_list(p->out, "gpu_threads", threads, thread_count < MOST_AXES ? thread_count : MOST_AXES);
    for (int d = 0, i = 0; d < f->rank; d++)
        if (each[d] > 1 && order[i++] == f->args[d])
            text_printf(p->out, ".unroll(%s, %lld)", order[i - 1], (long long)each[d]);
        else if (each[d] > 1)
            text_printf(p->out, ".unroll(%s)", order[i - 1]);
    text_add(p->out, "\n");
}

/* In shared memory: its first dimensions are threads. */
static void print_shared(const Printer *p, int s, const KernelShape *shape)
{
    const Func *f    = p->space.g->nodes[s].func;
    const int   main = draft_main(&p->k->d, p->space.head);
    int64_t     each[KN_MAX_RANK], points = 1;
    kernel_points_of_thread(&p->space, shape, s, each);
    for (int d = 0; d < f->rank; d++)
        points *= each[d];
    for (int k = -1; k < f->update_count; k++) {
        const char *order[MOST_LOOP_NAMES];
        int         steps = add_steps(f, k, order, 0), count = steps;
        for (int d = 0; d < f->rank; d++)
            order[count++] = f->args[d];
        kernel_print_name(p->out, f, k);
        if (k < 0) {
            text_add(p->out, ".compute_at(");
            print_head_name(p, main);
            text_printf(p->out, ", %s)", p->heads[main + 1].block);
        } else if (count > 1) {
            kernel_print_list(p->out, "reorder", order, count);
        }
        if (points > 1) {
            print_points(p, s, each);
            continue;
        }
        kernel_print_list(p->out, "gpu_threads", order + steps, f->rank < MOST_AXES ? f->rank : MOST_AXES);
        text_add(p->out, "\n");
    }
}

/* In registers, inside the threads of a unit: its loops are copies. */
static void print_nested(const Printer *p, int s, int unit, const KernelShape *shape)
{
    const GraphNode *node = &p->space.g->nodes[s];
    const GraphNode *of   = &p->space.g->nodes[unit];
    const int        def  = kernel_reading_def(&p->space, s, unit);
    const char      *loop = unit == p->space.head ? p->heads[def + 1].thread : member_thread(p, unit, shape);
    int64_t          each[KN_MAX_RANK];
    KernelSpace     *space = (KernelSpace *)(uintptr_t)&p->space;
    kernel_points_of_thread(space, shape, unit, each);
    kernel_find_threads(space, unit, each);
    for (int k = -1; k < node->func->update_count; k++) {
        const char *order[MOST_LOOP_NAMES];
        int         count = 0;
        for (int d = 0; d < node->rank; d++)
            order[count++] = node->func->args[d];
        count = add_steps(node->func, k, order, count);
        kernel_print_name(p->out, node->func, k);
        if (k < 0) {
            text_add(p->out, ".compute_at(");
            if (unit == p->space.head)
                print_head_name(p, def);
            else
                kernel_print_name(p->out, of->func, def);
            text_printf(p->out, ", %s).store_in(register)", loop);
        } else if (count > 1) {
            kernel_print_list(p->out, "reorder", order, count);
        }
        for (int d = 0; d < node->rank; d++)
            if (box_extent(&space->thread[s], d) > 1)
                text_printf(p->out, ".unroll(%s, %lld)", node->func->args[d],
                            (long long)box_extent(&space->thread[s], d));
        print_table_steps(p, s, k);
        text_add(p->out, "\n");
    }
}

/* ---- All --------------------------------------------------------------------------------- */

static void print_title(const Printer *p, const Kernel *kernel)
{
    const KernelCost *c     = &kernel->cost;
    bool              first = true;
    text_printf(p->out, "// %s: %.0f blocks of %d", p->space.g->nodes[p->space.head].func->name, c->blocks,
                c->thread_block[0]);
    for (int i = 1; i < 3; i++)
        if (c->thread_block[i] > 1)
            text_printf(p->out, "x%d", c->thread_block[i]);
    text_add(p->out, " threads");
    for (int i = 0; i < p->space.among_count; i++) {
        const int n = p->space.among[i];
        if (n == p->space.head || p->k->d.choices[n].where != WHERE_INSIDE)
            continue;
        text_printf(p->out, "%s%s", first ? "; with " : ", ", p->space.g->nodes[n].func->name);
        first = false;
    }
    text_add(p->out, "\n");
}

static void print_kernel(Printer *p, int group)
{
    const Kernel *kernel = &p->k->kernels[group];
    kernel_space_begin(&p->space, p->k->d.groups[group].head);
    kernel_find_blocks(&p->space, &kernel->shape);
    print_title(p, kernel);
    if (kernel->staged) {
        kernel_print_product(p->out, &p->space, kernel);
        return;
    }
    print_head(p, p->space.head, &kernel->shape);
    for (int i = 0; i < p->space.g->nodes[p->space.head].in_count; i++) {
        const int from = p->space.g->nodes[p->space.head].in[i]->producer;
        if (kernel_is_turned(p->k, from))
            kernel_print_turned(p->out, p->space.g->nodes[from].func, p->space.g->nodes[p->space.head].func,
                                p->heads[0].block);
    }
    for (int i = p->space.among_count; i-- > 0;) {
        const int n = p->space.among[i];
        if (n == p->space.head || p->k->d.choices[n].where != WHERE_INSIDE)
            continue;
        if (p->k->nested[n])
            print_nested(p, n, p->k->nested[n] - 1, &kernel->shape);
        else
            print_shared(p, n, &kernel->shape);
    }
}

void kernel_draft_print(Text *out, KernelDraft *k, Arena *arena)
{
    Printer p = { .out = out, .k = k, .space = kernel_space(k, false, arena) };
    for (int i = 0; i < k->d.group_count; i++)
        if (!k->left[k->d.groups[i].head])
            print_kernel(&p, i);
    for (int s = 0; s < k->d.graph->node_count && k->patterns; s++)
        if (k->left[s])
            kernel_pattern_print(out, k, s);
    for (int s = 0; s < k->d.graph->node_count; s++)
        if (k->d.choices[s].where == WHERE_INLINE)
            text_printf(out, "%s.inline()\n", k->d.graph->nodes[s].func->name);
}
