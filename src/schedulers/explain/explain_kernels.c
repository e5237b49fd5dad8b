/* SPDX-License-Identifier: MIT */
/* Kernels explained as text. */
#include "schedulers/explain/explain_kernels.h"

static const char *faults[] = { [KERNEL_VALID]        = "",
                                [KERNEL_MANY_THREADS] = "too many threads",
                                [KERNEL_PART_OF_WARP] = "a warp in part",
                                [KERNEL_MUCH_SHARED]  = "too much shared memory",
                                [KERNEL_SPILLS]       = "spills",
                                [KERNEL_OCCUPANCY]    = "low occupancy",
                                [KERNEL_FEW_SMS]      = "fewer blocks than multiprocessors",
                                [KERNEL_UNBOUNDED]    = "no constant bound",
                                [KERNEL_MUCH_CODE]    = "much code" };

/* The largest term of a kernel's time. */
static const char *bound_of(const KernelCost *c)
{
    int most = 0;
    for (int i = 1; i < KERNEL_TERMS; i++)
        most = c->term[i] > c->term[most] ? i : most;
    return kernel_term_names[most];
}

static const char *block_of(Arena *arena, const KernelCost *c)
{
    const int *t = c->thread_block;
    if (t[2] > 1)
        return arena_printf(arena, "%dx%dx%d", t[0], t[1], t[2]);
    return t[1] > 1 ? arena_printf(arena, "%dx%d", t[0], t[1]) : arena_printf(arena, "%d", t[0]);
}

/* The points of a thread along the dimensions of which it has several. */
static const char *each_of(Arena *arena, const KernelShape *shape, const Func *f)
{
    Text t;
    text_init(&t, arena);
    for (int d = 0; d < f->rank; d++)
        if (shape->each[d] > 1)
            text_printf(&t, "%s%s %lld", t.count ? ", " : "", f->args[d], (long long)shape->each[d]);
    return t.count ? text_string(&t) : "1";
}

static void list_members(Text *out, const KernelDraft *k, int group, bool nested, const char *where)
{
    bool first = true;
    for (int s = 0; s < k->d.graph->node_count; s++) {
        const Choice *c = &k->d.choices[s];
        if (c->where != WHERE_INSIDE || c->group != group || (k->nested[s] != 0) != nested)
            continue;
        text_printf(out, first ? "    %s: %s" : "%.0s, %s", where, k->d.graph->nodes[s].func->name);
        if (nested)
            text_printf(out, " in %s", k->d.graph->nodes[k->nested[s] - 1].func->name);
        first = false;
    }
    if (!first)
        text_add(out, "\n");
}

void explain_kernels(Text *out, const KernelDraft *k)
{
    text_printf(out, "\n%-16s %9s %8s %-10s %8s %9s %9s %10s  %s\n", "kernel", "blocks", "threads", "each", "shared",
                "registers", "occupancy", "predicted", "bound by");
    for (int i = 0; i < k->d.group_count; i++) {
        const Func *f = k->d.graph->nodes[k->d.groups[i].head].func;
        if (k->left[k->d.groups[i].head]) {
            text_printf(out, "%-16s as the compiler's default has it\n", f->name);
            continue;
        }
        const KernelCost *c = &k->kernels[i].cost;
        text_printf(out, "%-16s %9.0f %8s %-10s %8lld %9d %8.0f%% %7.4g us  %s%s%s\n", f->name, c->blocks,
                    block_of(out->arena, c), each_of(out->arena, &k->kernels[i].shape, f), (long long)c->footprint,
                    c->registers, 100 * c->occupancy.fraction, c->ns * 1e-3, bound_of(c), c->fault ? "; " : "",
                    faults[c->fault]);
        list_members(out, k, i, false, "shared memory");
        list_members(out, k, i, true, "registers");
    }
}
