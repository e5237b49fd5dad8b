/* SPDX-License-Identifier: MIT */
/* A plan as the text of a schedule: read back, it makes the same plan.
 *
 * Every function is named, so nothing is left to defaults. Intermediate loops are named by their variables without the
 * function's name; the steps are written in their order, then the nest as one `reorder`, then the kinds. */
#include "pipeline/schedule.h"
#include "plan/plan.h"

typedef struct Names {
    Text        *out;
    const Plan  *plan;
    int          version; /* -1: the definition itself */
    size_t       count;
    const char **vars, **names; /* of the loops of one definition, those of now and those that steps have used up */
} Names;

static const char *name_of(const Names *n, const char *var)
{
    for (size_t i = n->count; i-- > 0;)
        if (n->vars[i] == var)
            return n->names[i];
    return var;
}

static bool is_taken(const Names *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (!strcmp(n->names[i], name))
            return true;
    return false;
}

static void add_name(Names *n, const char *var, const char *name)
{
    n->vars[n->count]    = var;
    n->names[n->count++] = name;
}

static const char *without(const char *prefix, const char *s)
{
    return strncmp(s, prefix, strlen(prefix)) ? s : s + strlen(prefix);
}

/* A new loop's name: "out.x.lanes" is x_lanes, "out.u0.xo" of update 0 is xo, "out.v1.xo" of version 1 too. */
static void invent_name(Names *n, const PlanDef *def, const char *var)
{
    Arena      *arena = n->out->arena;
    const char *rest  = without(arena_printf(arena, "%s.", def->func->name), var);
    if (def->update >= 0)
        rest = without(arena_printf(arena, "u%d.", def->update), rest);
    if (n->version >= 0)
        rest = without(arena_printf(arena, "v%d.", n->version), rest);
    char       *base = arena_strdup(arena, rest);
    const char *name = base;
    for (char *c = base; *c; c++)
        *c = *c == '.' ? '_' : *c;
    for (int i = 1; is_taken(n, name); i++)
        name = arena_printf(arena, "%s_%d", base, i);
    add_name(n, var, name);
}

static Names names_of(Text *out, const Plan *plan, const PlanDef *def, int version)
{
    const Func  *f = def->func, *origin = plan_func(plan, f)->origin;
    const size_t most =
        KN_MAX_RANK + (size_t)(def->update < 0 ? 0 : f->updates[def->update].rvar_count) + 2 * (size_t)def->step_count;
    Names n = {
        out, plan, version, 0, ARENA_ARRAY(out->arena, const char *, most), ARENA_ARRAY(out->arena, const char *, most)
    };
    for (int d = 0; d < f->rank; d++)
        add_name(&n, f->args[d], origin->args[d]);
    for (int i = 0; def->update >= 0 && i < f->updates[def->update].rvar_count; i++)
        add_name(&n, f->updates[def->update].rvars[i].name, origin->updates[def->update].rvars[i].name);
    for (int i = 0; i < def->step_count; i++) {
        const PlanStep *s = &def->steps[i];
        if (s->kind == STEP_FUSE)
            invent_name(&n, def, s->whole);
        if (s->kind == STEP_SPLIT) {
            invent_name(&n, def, s->outer);
            invent_name(&n, def, s->inner);
        }
    }
    return n;
}

static ScheduleArg loop_arg(const Names *n, const char *var)
{
    return arg_name(name_of(n, var));
}

/* ---- Definitions ------------------------------------------------------------------------ */

static void print_steps(const Names *n, const PlanDef *def)
{
    for (int i = 0; i < def->step_count; i++) {
        const PlanStep *s = &def->steps[i];
        if (s->kind == STEP_FUSE)
            DIRECTIVE_WRITE(n->out, DIR_FUSE, loop_arg(n, s->inner), loop_arg(n, s->outer), loop_arg(n, s->whole));
        else
            DIRECTIVE_WRITE(n->out, DIR_SPLIT, loop_arg(n, s->whole), loop_arg(n, s->outer), loop_arg(n, s->inner),
                            arg_int(s->factor), arg_tail(s->tail));
    }
}

static bool is_default_order(const PlanDef *def)
{
    if (def->step_count || def->update >= 0)
        return def->loop_count < 2;
    for (int i = 0; i < def->loop_count; i++)
        if (def->loops[i].var != def->func->args[def->func->rank - 1 - i])
            return false;
    return true;
}

static void print_loops(const Names *n, const PlanDef *def)
{
    static const DirectiveId kinds[LOOP_COUNT] = {
        [LOOP_SERIAL] = DIR_SERIAL, [LOOP_PARALLEL] = DIR_PARALLEL, [LOOP_VECTOR] = DIR_VECTORIZE,
        [LOOP_UNROLL] = DIR_UNROLL, [LOOP_BLOCK] = DIR_GPU_BLOCKS,  [LOOP_THREAD] = DIR_GPU_THREADS,
        [LOOP_LANE] = DIR_GPU_LANES
    };
    if (!is_default_order(def)) {
        ScheduleArg *loops = ARENA_ARRAY(n->out->arena, ScheduleArg, (size_t)def->loop_count);
        for (int i = 0; i < def->loop_count; i++)
            loops[i] = loop_arg(n, def->loops[def->loop_count - 1 - i].var);
        directive_write(n->out, DIR_REORDER, def->loop_count, loops);
    }
    if (def->atomic)
        directive_write(n->out, DIR_ATOMIC, 0, NULL);
    if (def->threads)
        directive_write(n->out, DIR_LAUNCH_BOUNDS, def->resident ? 2 : 1,
                        (const ScheduleArg[]){ arg_int(def->threads), arg_int(def->resident) });
    for (int i = 0; i < def->loop_count; i++)
        if (def->loops[i].kind != LOOP_SERIAL)
            DIRECTIVE_WRITE(n->out, kinds[def->loops[i].kind], loop_arg(n, def->loops[i].var));
}

/* ".compute_at(out.update(0), yo)" */
static void print_at(Text *out, const Plan *plan, DirectiveId id, PlanLevel level)
{
    const PlanDef *def = level.def;
    const Names    n   = names_of(out, plan, def, -1);
    DIRECTIVE_WRITE(out, id, arg_def(def->func, def->update), loop_arg(&n, def->loops[level.loop].var));
}

static void print_def(Text *out, const Plan *plan, const PlanDef *def, int version)
{
    const Names n = names_of(out, plan, def, version);
    print_steps(&n, def);
    print_loops(&n, def);
    for (int i = 0; i < def->prefetch_count; i++)
        DIRECTIVE_WRITE(out, DIR_PREFETCH, arg_def(def->prefetches[i].func, -1),
                        loop_arg(&n, def->loops[def->prefetches[i].loop].var), arg_int(def->prefetches[i].ahead));
    if (def->time_tile.size) {
        const PlanTimeTile *t     = &def->time_tile;
        const ScheduleArg args[5] = { loop_arg(&n, def->loops[t->loop].var), loop_arg(&n, def->loops[t->loop + 1].var),
                                      arg_int(t->size),
                                      t->piece ? loop_arg(&n, def->loops[t->loop + 2].var) : arg_int(0),
                                      arg_int(t->piece) };
        directive_write(out, DIR_TIME_TILE, t->piece ? 5 : 3, args);
    }
    if (def->with.def)
        print_at(out, plan, DIR_COMPUTE_WITH, def->with);
}

/* ---- Functions -------------------------------------------------------------------------- */

static void print_level(Text *out, const Plan *plan, DirectiveId root, DirectiveId at, PlanLevel level)
{
    if (level.def)
        print_at(out, plan, at, level);
    else
        directive_write(out, root, 0, NULL);
}

/* The variables that stand for the sizes of inputs, as the language has them. */
static const Expr *name_sizes(void *user, const Expr *e)
{
    Plan *plan = user;
    for (int i = 0; e->op == EX_VAR && i < plan->func_count; i++) {
        const Func *f = plan->funcs[i].func;
        for (int d = 0; f->kind == FUNC_INPUT && d < f->rank; d++)
            for (int k = 0; k < 2; k++)
                if (!strcmp(e->u.name, arena_printf(plan->arena, "%s.%s.%d", f->name, k ? "extent" : "min", d)))
                    return expr_dim(&plan->exprs, k ? EX_DIM_EXTENT : EX_DIM_MIN, f, d);
    }
    return e;
}

static ScheduleArg size_arg(const Plan *plan, const Expr *e)
{
    Plan scratch = *plan;
    return arg_expr(expr_rewrite(&scratch.exprs, e, name_sizes, &scratch));
}

/* The directives about one dimension. */
static void print_dimension(Text *out, const Plan *plan, const PlanFunc *pf, int d)
{
    const ScheduleArg arg = arg_name(pf->origin->args[d]), factor = arg_int(pf->align_factor[d]);
    if (pf->bound_min[d])
        DIRECTIVE_WRITE(out, DIR_BOUND, arg, size_arg(plan, pf->bound_min[d]), size_arg(plan, pf->bound_extent[d]));
    if (pf->align_factor[d] && pf->align_offset[d])
        DIRECTIVE_WRITE(out, DIR_ALIGN_BOUNDS, arg, factor, size_arg(plan, pf->align_offset[d]));
    else if (pf->align_factor[d])
        DIRECTIVE_WRITE(out, DIR_ALIGN_BOUNDS, arg, factor);
    if (pf->fold[d])
        DIRECTIVE_WRITE(out, DIR_FOLD_STORAGE, arg, arg_int(pf->fold[d]));
    if (pf->align[d] > 0)
        DIRECTIVE_WRITE(out, DIR_ALIGN_STORAGE, arg, arg_int(pf->align[d]));
}

static void print_storage(Text *out, const Plan *plan, const PlanFunc *pf)
{
    bool        ordered = true;
    ScheduleArg order[KN_MAX_RANK];
    for (int d = 0; d < pf->func->rank; d++) {
        ordered &= pf->order[d] == d;
        order[d] = arg_name(pf->origin->args[pf->order[d]]);
        print_dimension(out, plan, pf, d);
    }
    if (!ordered)
        directive_write(out, DIR_REORDER_STORAGE, pf->func->rank, order);
    if (pf->memory != MEMORY_AUTO)
        DIRECTIVE_WRITE(out, DIR_STORE_IN, arg_name(memory_table[pf->memory].name));
    if (pf->stream)
        directive_write(out, DIR_STREAM, 0, NULL);
}

/* The versions of a definition, each from its first loops on: they come before its own directives. */
static void print_versions(Text *out, const Plan *plan, const PlanDef *def)
{
    for (int i = 0; i < def->version_count; i++) {
        text_add(out, def->func->name);
        if (def->update >= 0)
            text_printf(out, ".update(%d)", def->update);
        DIRECTIVE_WRITE(out, DIR_SPECIALIZE, size_arg(plan, def->conditions[i]));
        print_def(out, plan, &def->versions[i], i);
        text_add(out, "\n");
    }
}

static void print_func(Text *out, const Plan *plan, const PlanFunc *pf)
{
    for (int k = -1; k < pf->func->update_count; k++)
        print_versions(out, plan, &pf->defs[k + 1]);
    text_add(out, pf->func->name);
    print_level(out, plan, DIR_COMPUTE_ROOT, DIR_COMPUTE_AT, pf->compute);
    if (!level_same(pf->store, pf->compute))
        print_level(out, plan, DIR_STORE_ROOT, DIR_STORE_AT, pf->store);
    print_storage(out, plan, pf);
    print_def(out, plan, &pf->defs[0], -1);
    text_add(out, "\n");
    for (int k = 0; k < pf->func->update_count; k++) {
        const PlanDef *def    = &pf->defs[k + 1];
        const size_t   before = out->count;
        if (pf->func->updates[k].gone)
            continue;
        text_printf(out, "%s.update(%d)", pf->func->name, k);
        const size_t name_end = out->count;
        print_def(out, plan, def, -1);
        if (out->count == name_end) { /* nothing to say */
            out->count      = before;
            out->at[before] = '\0';
        } else {
            text_add(out, "\n");
        }
    }
}

void plan_print(Text *out, const Plan *plan)
{
    for (int i = 0; i < plan->made_count; i++) {
        const Directive *d = plan->made[i];
        text_add(out, d->func->name);
        if (d->update >= 0)
            text_printf(out, ".update(%d)", d->update);
        directive_print(out, d);
        text_add(out, "\n");
    }
    for (int i = 0; i < plan->inlined_count; i++) {
        text_add(out, plan->inlined[i]->name);
        directive_write(out, DIR_INLINE, 0, NULL);
        text_add(out, "\n");
    }
    for (int i = 0; i < plan->func_count; i++)
        if (plan->funcs[i].func->kind != FUNC_INPUT)
            print_func(out, plan, &plan->funcs[i]);
}
