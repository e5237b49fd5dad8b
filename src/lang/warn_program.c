/* SPDX-License-Identifier: MIT */
/* Warnings about a whole program: unused definitions, and definitions whose values are never read. */
#include "lang/elab.h"

/* ---- What no output needs --------------------------------------------------------------- */

typedef struct Needed {
    kn_pipeline *p;
    bool        *func;     /* by id */
    Map          params;   /* Param -> itself */
    Map          families; /* name without the index -> a member that is needed */
} Needed;

static void need_leaf(const Expr *e, void *user)
{
    Needed *n = user;
    if (e->op == EX_CALL || e->op == EX_DIM_MIN || e->op == EX_DIM_EXTENT)
        n->func[e->u.call.func->id] = true;
    if (e->op == EX_PARAM)
        map_set(&n->params, e->u.param, e->u.param);
}

/* A function comes after those it reads, so that one walk from the end suffices. */
static void find_needed(Needed *n)
{
    kn_pipeline *p = n->p;
    for (size_t i = 0; i < p->outputs.count; i++)
        n->func[p->outputs.at[i].func->id] = true;
    for (size_t i = p->funcs.count; i-- > 0;) {
        const Func *f = p->funcs.at[i];
        for (int u = -1; n->func[i] && u < f->update_count; u++)
            def_visit(&p->exprs, f, u, need_leaf, n);
        for (int k = 0; n->func[i] && k < f->stage_arg_count; k++)
            if (f->stage_args[k].func)
                n->func[f->stage_args[k].func->id] = true;
    }
    for (size_t s = 0; s < p->schedules.count; s++)
        for (size_t d = 0; d < p->schedules.at[s]->directives.count; d++) {
            const Directive *directive = &p->schedules.at[s]->directives.at[d];
            for (int k = 0; k < directive->arg_count; k++)
                if (directive->args[k].kind == ARG_EXPR)
                    expr_visit(&p->exprs, directive->args[k].expr, need_leaf, n);
        }
}

static bool is_needed(const Needed *n, const Entry *e)
{
    if (e->kind == ENTRY_PARAM)
        return e->value.kind != VAL_EXPR || map_get(&n->params, e->value.expr->u.param);
    if (e->kind == ENTRY_ALIAS)
        return e->asked;
    return !e->func || n->func[e->func->id];
}

/* "g" of g[2]: a family is needed if one member is, because a pyramid's last level may serve nobody. */
static const char *family_of(Elab *el, const Entry *e)
{
    return intern_n(el->cx, e->name, strcspn(e->name, "["));
}

static void find_families(Elab *el, Needed *n)
{
    for (size_t i = 0; i < el->global->order.count; i++) {
        Entry *e = el->global->order.at[i];
        if (is_needed(n, e))
            map_set(&n->families, family_of(el, e), e);
    }
}

static const char *const kind_words[] = {
    [ENTRY_PARAM] = "parameter", [ENTRY_INPUT] = "input",    [ENTRY_STAGE] = "extern stage",
    [ENTRY_FUNC] = "function",   [ENTRY_ALIAS] = "function",
};

/* Those of the program's own file: a file that it includes serves others too. */
static void warn_unused(Elab *el)
{
    Needed n = { .p = el->p, .func = ARENA_ARRAY(el->arena, bool, el->p->funcs.count) };
    map_init(&n.params, el->arena);
    map_init(&n.families, el->arena);
    find_needed(&n);
    find_families(el, &n);
    for (size_t i = 0; i < el->global->order.count; i++) {
        const Entry *e    = el->global->order.at[i];
        const char  *kind = (size_t)e->kind < sizeof kind_words / sizeof *kind_words ? kind_words[e->kind] : NULL;
        if (!kind || e->file || map_get(&n.families, family_of(el, e)))
            continue;
        const bool made = e->kind == ENTRY_FUNC || e->kind == ENTRY_ALIAS;
        diag_warning(el->cx, WARN_UNUSED, e->loc,
                     made ? arena_printf(el->arena, "remove it, or show it: output %s", e->name)
                          : "remove it, or read it in what an output needs",
                     "no output needs the %s `%s`", kind, family_of(el, e));
    }
}

/* ---- Definitions that are overwritten ---------------------------------------------------- */

/* Does the update give every point a value that depends on none before? */
static bool overwrites_all(ExprPool *pool, const Func *f, const Update *u)
{
    bool all = !u->rvar_count && !u->where;
    for (int d = 0; all && d < f->rank; d++)
        all = u->is_free[d];
    for (int i = 0; all && i < f->component_count; i++)
        all = !expr_reads(pool, u->values[i], f);
    return all;
}

static void warn_overwritten(Elab *el)
{
    for (size_t i = 0; i < el->p->funcs.count; i++) {
        const Func *f = el->p->funcs.at[i];
        for (int u = 0; u < f->update_count; u++) {
            const Loc before = u ? f->updates[u - 1].loc : f->loc;
            if (!before.source || !overwrites_all(&el->p->exprs, f, &f->updates[u]))
                continue;
            diag_warning(el->cx, WARN_OVERWRITTEN, before, "remove it, or give one of the two another name",
                         "every value of this definition of `%s` is overwritten", f->name);
            diag_note(el->cx, f->updates[u].loc, "by this one, at every point");
        }
    }
}

void warn_program(Elab *el)
{
    warn_unused(el);
    warn_overwritten(el);
}
