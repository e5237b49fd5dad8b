/* Storage and bounds: directives about how a function's values are kept, and about the box that is needed of it. */
#include "plan/planner.h"

void begin_storage(FuncDraft *f)
{
    for (int d = 0; d < KN_MAX_RANK; d++) {
        f->plan->order[d] = d;
        f->plan->align[d] = 1;
    }
}

static int dimension(const FuncDraft *f, const char *name)
{
    for (int d = 0; d < f->origin->rank; d++)
        if (f->origin->args[d] == name)
            return d;
    return -1;
}

/* ---- Storage ---------------------------------------------------------------------------- */

static bool on_fold(Planner *pl, FuncDraft *f, int dim, const Directive *dir)
{
    bool whole = f->func->kind == FUNC_STAGE;
    for (size_t i = 0; i < f->readers.count; i++)
        whole |= f->readers.at[i].func->func->kind == FUNC_STAGE;
    if (whole)
        return refuse(pl, dir->loc, "leave it out", "`%s` cannot be folded: an extern stage %s it as a whole",
                      f->func->name, f->func->kind == FUNC_STAGE ? "fills" : "reads");
    f->plan->fold[dim] = dir->args[1].value;
    return true;
}

static bool on_align(Planner *pl, FuncDraft *f, int dim, const Directive *dir)
{
    (void)pl;
    f->plan->align[dim] = dir->args[1].value;
    return true;
}

/* The dimensions named, innermost first, in the places that they have together. */
static bool on_reorder(Planner *pl, FuncDraft *f, int dim, const Directive *dir)
{
    (void)pl;
    (void)dim;
    int next = 0;
    for (int place = 0; place < f->origin->rank; place++)
        for (int k = 0; k < dir->arg_count; k++)
            if (dimension(f, dir->args[k].name) == f->plan->order[place]) {
                f->plan->order[place] = dimension(f, dir->args[next++].name);
                break;
            }
    return true;
}

static bool on_store_in(Planner *pl, FuncDraft *f, int dim, const Directive *dir)
{
    static const Memory memories[] = { MEMORY_STACK, MEMORY_HEAP, MEMORY_REGISTER }; /* as memory_names */
    (void)pl;
    (void)dim;
    for (int i = 0; memory_names[i]; i++)
        if (!strcmp(memory_names[i], dir->args[0].name))
            f->plan->memory = memories[i];
    return true;
}

static bool on_stream(Planner *pl, FuncDraft *f, int dim, const Directive *dir)
{
    (void)dim;
    if (f->func->kind == FUNC_STAGE)
        return refuse(pl, dir->loc, "leave it out", "`%s` is an extern stage: its stores are not Kiln's",
                      f->func->name);
    f->plan->stream = true;
    return true;
}

/* ---- Bounds ----------------------------------------------------------------------------- */

static void note_call(const Expr *e, void *user)
{
    *(bool *)user |= e->op == EX_CALL;
}

const Expr *schedule_expr(Planner *pl, const ScheduleArg *a)
{
    bool calls = false;
    expr_visit(&pl->pipeline->exprs, a->expr, note_call, &calls);
    if (calls)
        refuse(pl, a->loc, "use sizes, parameters and constants", "an expression of a schedule cannot read a function");
    return calls ? NULL : plan_expr(pl, a->expr);
}

static bool on_bound(Planner *pl, FuncDraft *f, int dim, const Directive *dir)
{
    int64_t extent;
    f->plan->bound_min[dim]    = schedule_expr(pl, &dir->args[1]);
    f->plan->bound_extent[dim] = schedule_expr(pl, &dir->args[2]);
    if (f->plan->bound_extent[dim] && expr_is_int(f->plan->bound_extent[dim], &extent) && extent < 1)
        return refuse(pl, dir->args[2].loc, "bound(arg, min, extent)", "an extent of %lld is no promise",
                      (long long)extent);
    return f->plan->bound_min[dim] && f->plan->bound_extent[dim];
}

static bool on_align_bounds(Planner *pl, FuncDraft *f, int dim, const Directive *dir)
{
    if (f->func->kind == FUNC_STAGE)
        return refuse(pl, dir->loc, "leave it out",
                      "`%s` is an extern stage: it computes the box that is asked of it, no more", f->func->name);
    if (f->plan->is_output)
        return refuse(pl, dir->loc, "leave it out",
                      "`%s` is an output: it is computed over the box that the caller gives, no more", f->func->name);
    f->plan->align_factor[dim] = dir->args[1].value;
    f->plan->align_offset[dim] = dir->arg_count > 2 ? schedule_expr(pl, &dir->args[2]) : NULL;
    return dir->arg_count < 3 || f->plan->align_offset[dim];
}

/* ---- The table -------------------------------------------------------------------------- */

typedef struct StorageDirective {
    const char *name;
    bool        own;          /* about storage of Kiln's own: not of an output, which the caller keeps */
    bool        of_dimension; /* the first argument is one */
    bool (*apply)(Planner *pl, FuncDraft *f, int dim, const Directive *dir);
} StorageDirective;

/* clang-format off */
static const StorageDirective storage_directives[] = {
    { "fold_storage", true, true, on_fold },      { "align_storage", true, true, on_align }, { "reorder_storage", true,
      true, on_reorder },
    { "store_in", true, false, on_store_in },     { "stream", false, false, on_stream },     { "bound", false, true,
      on_bound },
    { "align_bounds", false, true, on_align_bounds },
};
/* clang-format on */

bool apply_storage(Planner *pl, FuncDraft *f, const Directive *dir)
{
    for (size_t i = 0; i < sizeof storage_directives / sizeof *storage_directives; i++) {
        const StorageDirective *row = &storage_directives[i];
        if (strcmp(row->name, dir->info->name))
            continue;
        if (row->own && f->plan->is_output)
            return refuse(pl, dir->loc, "schedule a function before it, or leave the directive out",
                          "`%s` is an output: its storage is the caller's", f->func->name);
        const int dim = row->of_dimension ? dimension(f, dir->args[0].name) : 0;
        return dim >= 0 && row->apply(pl, f, dim, dir);
    }
    return true;
}
