/* A plan as the text of a schedule: read back, it makes the same plan.
 *
 * Every function is spoken of, so nothing is left to defaults. The loops on the way are named by their variables
 * without the function's name; the steps are written in their order, then the nest as one `reorder`, then the kinds. */
#include "pipeline/schedule.h"
#include "plan/plan.h"

static const char *const tails[] = { [TAIL_GUARD]        = "guard",
                                     [TAIL_SHIFT_INWARD] = "shift_inward",
                                     [TAIL_ROUND_UP]     = "round_up",
                                     [TAIL_PREDICATE]    = "predicate" };

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

/* ---- Definitions ------------------------------------------------------------------------ */

static void print_steps(const Names *n, const PlanDef *def)
{
    for (int i = 0; i < def->step_count; i++) {
        const PlanStep *s = &def->steps[i];
        if (s->kind == STEP_FUSE)
            text_printf(n->out, ".fuse(%s, %s, %s)", name_of(n, s->inner), name_of(n, s->outer), name_of(n, s->whole));
        else
            text_printf(n->out, ".split(%s, %s, %s, %lld, tail: %s)", name_of(n, s->whole), name_of(n, s->outer),
                        name_of(n, s->inner), (long long)s->factor, tails[s->tail]);
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
    static const char *const kinds[] = {
        [LOOP_PARALLEL] = "parallel", [LOOP_VECTOR] = "vectorize", [LOOP_UNROLL] = "unroll"
    };
    if (!is_default_order(def)) {
        text_add(n->out, ".reorder(");
        for (int i = def->loop_count - 1; i >= 0; i--)
            text_printf(n->out, "%s%s", name_of(n, def->loops[i].var), i ? ", " : ")");
    }
    text_add(n->out, def->atomic ? ".atomic()" : "");
    for (int i = 0; i < def->loop_count; i++)
        if (kinds[def->loops[i].kind])
            text_printf(n->out, ".%s(%s)", kinds[def->loops[i].kind], name_of(n, def->loops[i].var));
}

static void print_def(Text *out, const Plan *plan, const PlanDef *def, int version)
{
    const Names n = names_of(out, plan, def, version);
    print_steps(&n, def);
    print_loops(&n, def);
    for (int i = 0; i < def->prefetch_count; i++)
        text_printf(out, ".prefetch(%s, %s, %lld)", def->prefetches[i].func->name,
                    name_of(&n, def->loops[def->prefetches[i].loop].var), (long long)def->prefetches[i].ahead);
    if (def->with.def) {
        const Names of = names_of(out, plan, def->with.def, -1);
        text_printf(out, ".compute_with(%s", def->with.def->func->name);
        if (def->with.def->update >= 0)
            text_printf(out, ".update(%d)", def->with.def->update);
        text_printf(out, ", %s)", name_of(&of, def->with.def->loops[def->with.loop].var));
    }
}

/* ---- Functions -------------------------------------------------------------------------- */

static void print_level(Text *out, const Plan *plan, const char *what, PlanLevel level)
{
    if (!level.def) {
        text_printf(out, ".%s_root()", what);
        return;
    }
    const Names n = names_of(out, plan, level.def, -1);
    text_printf(out, ".%s_at(%s", what, level.def->func->name);
    if (level.def->update >= 0)
        text_printf(out, ".update(%d)", level.def->update);
    text_printf(out, ", %s)", name_of(&n, level.def->loops[level.loop].var));
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

static void print_size(Text *out, const Plan *plan, const Expr *e)
{
    Plan scratch = *plan;
    expr_print(out, expr_rewrite(&scratch.exprs, e, name_sizes, &scratch));
}

static void print_storage(Text *out, const Plan *plan, const PlanFunc *pf)
{
    static const char *const memories[] = {
        [MEMORY_STACK] = "stack", [MEMORY_HEAP] = "heap", [MEMORY_REGISTER] = "register"
    };
    const char **args    = pf->origin->args;
    bool         ordered = true;
    for (int d = 0; d < pf->func->rank; d++) {
        ordered &= pf->order[d] == d;
        if (pf->bound_min[d]) {
            text_printf(out, ".bound(%s, ", args[d]);
            print_size(out, plan, pf->bound_min[d]);
            text_add(out, ", ");
            print_size(out, plan, pf->bound_extent[d]);
            text_add(out, ")");
        }
        if (pf->align_factor[d]) {
            text_printf(out, ".align_bounds(%s, %lld%s", args[d], (long long)pf->align_factor[d],
                        pf->align_offset[d] ? ", " : "");
            if (pf->align_offset[d])
                print_size(out, plan, pf->align_offset[d]);
            text_add(out, ")");
        }
        if (pf->fold[d])
            text_printf(out, ".fold_storage(%s, %lld)", args[d], (long long)pf->fold[d]);
        if (pf->align[d] > 1)
            text_printf(out, ".align_storage(%s, %lld)", args[d], (long long)pf->align[d]);
    }
    for (int d = 0; d < pf->func->rank && !ordered; d++)
        text_printf(out, "%s%s%s", d ? ", " : ".reorder_storage(", args[pf->order[d]],
                    d + 1 == pf->func->rank ? ")" : "");
    if (memories[pf->memory])
        text_printf(out, ".store_in(%s)", memories[pf->memory]);
    text_add(out, pf->stream ? ".stream()" : "");
}

/* The versions of a definition, each from its first loops on: they come before its own directives. */
static void print_versions(Text *out, const Plan *plan, const PlanDef *def)
{
    for (int i = 0; i < def->version_count; i++) {
        text_add(out, def->func->name);
        if (def->update >= 0)
            text_printf(out, ".update(%d)", def->update);
        text_add(out, ".specialize(");
        print_size(out, plan, def->conditions[i]);
        text_add(out, ")");
        print_def(out, plan, &def->versions[i], i);
        text_add(out, "\n");
    }
}

static void print_func(Text *out, const Plan *plan, const PlanFunc *pf)
{
    for (int k = -1; k < pf->func->update_count; k++)
        print_versions(out, plan, &pf->defs[k + 1]);
    text_add(out, pf->func->name);
    print_level(out, plan, "compute", pf->compute);
    if (!level_same(pf->store, pf->compute))
        print_level(out, plan, "store", pf->store);
    print_storage(out, plan, pf);
    print_def(out, plan, &pf->defs[0], -1);
    text_add(out, "\n");
    for (int k = 0; k < pf->func->update_count; k++) {
        const PlanDef *def    = &pf->defs[k + 1];
        const size_t   before = out->count;
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
    for (int i = 0; i < plan->inlined_count; i++)
        text_printf(out, "%s.inline()\n", plan->inlined[i]->name);
    for (int i = 0; i < plan->func_count; i++)
        if (plan->funcs[i].func->kind != FUNC_INPUT)
            print_func(out, plan, &plan->funcs[i]);
}
