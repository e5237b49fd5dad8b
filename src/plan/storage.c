/* SPDX-License-Identifier: MIT */
/* Storage and bounds: directives about how a function's values are kept, and about the box that is needed of it. */
#include "plan/planner.h"

void begin_storage(FuncDraft *f)
{
    for (int d = 0; d < KN_MAX_RANK; d++) {
        f->plan->order[d] = d;
        f->plan->align[d] = 0;
    }
}

/* The dimension of an argument of f, which the front end has seen to be one. */
static int dimension(const FuncDraft *f, const ScheduleArg *a)
{
    int d = 0;
    while (f->origin->args[d] != a->name)
        d++;
    return d;
}

/* Is the storage Kiln's own? That of an output is the caller's. */
static bool owns_storage(Planner *pl, const FuncDraft *f, const Directive *dir)
{
    return !f->plan->is_output ||
           refuse(pl, ERROR_OUTPUT, dir->loc, "schedule a function before it, or leave the directive out",
                  "`%s` is an output: its storage is the caller's", f->func->name);
}

/* ---- Storage ---------------------------------------------------------------------------- */

bool apply_fold_storage(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)d;
    if (!owns_storage(pl, f, dir))
        return false;
    bool whole = f->func->kind == FUNC_STAGE;
    for (size_t i = 0; i < f->readers.count; i++)
        whole |= f->readers.at[i].func->func->kind == FUNC_STAGE;
    if (whole)
        return refuse(pl, ERROR_EXTERN, dir->loc, "leave it out",
                      "`%s` cannot be folded: an extern stage %s it as a whole", f->func->name,
                      f->func->kind == FUNC_STAGE ? "fills" : "reads");
    f->plan->fold[dimension(f, &dir->args[0])] = dir->args[1].value;
    return true;
}

bool apply_align_storage(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)d;
    if (!owns_storage(pl, f, dir))
        return false;
    f->plan->align[dimension(f, &dir->args[0])] = dir->args[1].value;
    return true;
}

/* The dimensions named, innermost first, in the places that they have together. */
bool apply_reorder_storage(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)d;
    int next = 0;
    if (!owns_storage(pl, f, dir))
        return false;
    for (int place = 0; place < f->origin->rank; place++)
        for (int k = 0; k < dir->arg_count; k++)
            if (dimension(f, &dir->args[k]) == f->plan->order[place]) {
                f->plan->order[place] = dimension(f, &dir->args[next++]);
                break;
            }
    return true;
}

bool apply_store_in(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)d;
    if (!owns_storage(pl, f, dir))
        return false;
    const Memory memory = (Memory)dir->args[0].value;
    if (memory_table[memory].device && pl->target.kind != TARGET_GPU)
        return refuse(pl, ERROR_TARGET, dir->args[0].loc, "stack, heap and register are for CPUs",
                      "`%s` memory is of GPUs: not of this target", memory_table[memory].name);
    f->plan->memory = memory;
    return true;
}

bool apply_stream(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)d;
    if (f->func->kind == FUNC_STAGE)
        return refuse(pl, ERROR_EXTERN, dir->loc, "leave it out", "`%s` is an extern stage: its stores are not Kiln's",
                      f->func->name);
    f->plan->stream = true;
    return true;
}

/* ---- Bounds ----------------------------------------------------------------------------- */

const Expr *schedule_expr(Planner *pl, const ScheduleArg *a)
{
    const bool calls = expr_reads(&pl->pipeline->exprs, a->expr, NULL);
    if (calls)
        refuse(pl, ERROR_EXPRESSION, a->loc, "use sizes, parameters and constants",
               "an expression of a schedule cannot read a function");
    return calls ? NULL : plan_expr(pl, a->expr);
}

bool apply_bound(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)d;
    const int dim = dimension(f, &dir->args[0]);
    int64_t   extent;
    f->plan->bound_min[dim]    = schedule_expr(pl, &dir->args[1]);
    f->plan->bound_extent[dim] = schedule_expr(pl, &dir->args[2]);
    if (f->plan->bound_extent[dim] && expr_is_int(f->plan->bound_extent[dim], &extent) && extent < 1)
        return refuse(pl, ERROR_FACTOR, dir->args[2].loc, "bound(arg, min, extent)", "an extent of %lld is no promise",
                      (long long)extent);
    return f->plan->bound_min[dim] && f->plan->bound_extent[dim];
}

bool apply_align_bounds(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)d;
    const int dim = dimension(f, &dir->args[0]);
    if (f->func->kind == FUNC_STAGE)
        return refuse(pl, ERROR_EXTERN, dir->loc, "leave it out",
                      "`%s` is an extern stage: it computes the box that is asked of it, no more", f->func->name);
    if (f->plan->is_output)
        return refuse(pl, ERROR_OUTPUT, dir->loc, "leave it out",
                      "`%s` is an output: it is computed over the box that the caller gives, no more", f->func->name);
    f->plan->align_factor[dim] = dir->args[1].value;
    f->plan->align_offset[dim] = dir->arg_count > 2 ? schedule_expr(pl, &dir->args[2]) : NULL;
    return dir->arg_count < 3 || f->plan->align_offset[dim];
}
