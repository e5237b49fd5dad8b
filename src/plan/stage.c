/* SPDX-License-Identifier: MIT */
/* stage: a copy of a function for some of its consumers.
 *
 *   f.stage(c, …)       f.stage(x, …) = f(x, …); the consumers read it in the place of f. Where f.stage is itself named
 *                       as a consumer, of what f reads, it is written out.
 *
 * Boundaries  Where a consumer reads an input through a boundary, as edge(in)(x, …), the copy has it: in.stage(x, …) =
 *             edge(in)(x, …), and the consumer reads it at the coordinates inside the boundary. A boundary is known by
 *             its form, with the variables of the copy as holes. Calls without it may read the copy too, if the
 *             boundary is around the input's own box: inside that box both are the same. The input must still have all
 *             that these calls ask for. Until everything is inlined such a call is a choice between the copy and
 *             the input by a condition that is a mark and no more; then the copy is taken, and the call of the input is
 *             kept beside the definition.
 * Holds       drafts stay in order: a stage comes just after its function. */
#include "plan/planner.h"

typedef struct Redirect {
    ExprPool    *pool;
    const Func  *from, *to;
    const Expr **form; /* per component, with the names of `to`'s origin as holes; NULL: without a boundary */
    const Expr  *mark; /* of calls that had no boundary; NULL: they have none now either */
    const char **holes;
    bool         any;   /* a call of `from` is there, or was one through the boundary */
    bool         outer; /* one through the boundary */
    bool         plain; /* one without */
} Redirect;

/* ---- Boundaries --------------------------------------------------------------------------- */

/* Is `e` the form, with expressions in the place of its holes? */
static bool match(const Redirect *r, const Expr *form, const Expr *e, const Expr **found)
{
    for (int d = 0; form->op == EX_VAR && d < r->from->rank; d++)
        if (form->u.name == r->holes[d]) {
            found[d] = found[d] ? found[d] : e;
            return found[d] == e;
        }
    if (form == e)
        return true;
    if (!form->count || form->op != e->op || form->type != e->type || form->count != e->count ||
        (form->op == EX_CALL && (form->u.call.func != e->u.call.func || form->u.call.index != e->u.call.index)))
        return false;
    for (uint32_t i = 0; i < form->count; i++)
        if (!match(r, form->args[i], e->args[i], found))
            return false;
    return true;
}

static const Expr *through_boundary(void *user, const Expr *e)
{
    Redirect *r = user;
    for (int c = 0; r->form && e->op == r->form[0]->op && c < r->from->component_count; c++) {
        const Expr *found[KN_MAX_RANK] = { 0 };
        if (!match(r, r->form[c], e, found))
            continue;
        r->any = r->outer = true;
        return expr_call(r->pool, r->to, c, r->to->types[c], r->from->rank, found);
    }
    return e;
}

/* ---- Readers ------------------------------------------------------------------------------ */

static const Expr *redirect_call(void *user, const Expr *e)
{
    Redirect *r = user;
    if (e->op != EX_CALL || e->u.call.func != r->from)
        return e;
    r->any = r->plain = true;
    const Expr *copy  = expr_call(r->pool, r->to, (int)e->u.call.index, (kn_type)e->type, (int)e->count, e->args);
    return r->mark ? expr_ternary(r->pool, EX_SELECT, (kn_type)e->type, r->mark, copy, e) : copy;
}

static void rewrite_reader(Redirect *r, Func *f, int update, Change *change)
{
    if (update < 0)
        rewrite_pure(r->pool, f, change, r);
    for (int k = 0; k < f->update_count; k++)
        if (update < 0 || k == update)
            rewrite_update(r->pool, f, &f->updates[k], change, r);
}

/* Lets f, or one update of it, read `to` in the place of `from`. */
static void redirect_reader(Redirect *r, Func *f, int update)
{
    rewrite_reader(r, f, update, through_boundary);
    rewrite_reader(r, f, update, redirect_call);
    for (int i = 0; update < 0 && i < f->stage_arg_count; i++)
        if (f->stage_args[i].func == r->from)
            f->stage_args[i].func = r->to;
}

static void look_at(const Expr *e, void *user)
{
    Redirect *r = user;
    expr_rewrite(r->pool, expr_rewrite(r->pool, e, through_boundary, r), redirect_call, r);
}

/* Does the reader, or one update of it, read `from`? Nothing is changed. */
static bool look(Redirect *r, const Func *f, int update)
{
    r->any = r->outer = r->plain = false;
    for (int k = update < 0 ? -1 : update; k < (update < 0 ? f->update_count : update + 1); k++)
        def_roots(f, k, false, look_at, r);
    for (int i = 0; update < 0 && i < f->stage_arg_count; i++)
        r->any |= r->plain |= f->stage_args[i].func == r->from;
    return r->any;
}

/* f(x, …) = g(x, …), as stage makes it: f becomes what g is, so that it reads what g reads. False where it is not one,
 * or g has updates. */
static bool write_out(ExprPool *pool, Func *f)
{
    const Func *g = f->component_count && f->values[0]->op == EX_CALL ? f->values[0]->u.call.func : NULL;
    if (!g || g->kind != FUNC_DEFINED || g->update_count || f->update_count || g->component_count != f->component_count)
        return false;
    for (int i = 0; i < f->component_count; i++)
        if (f->values[i]->op != EX_CALL || f->values[i]->u.call.func != g)
            return false;
    for (int i = 0; i < f->component_count; i++)
        f->values[i] =
            expr_substitute(pool, g->values[f->values[i]->u.call.index], g->rank, g->args, f->values[i]->args);
    return true;
}

/* ---- The directive ------------------------------------------------------------------------ */

/* Is this the boundary that the copy has: is `from` read through it, and nowhere else in a way that must not be? */
static bool is_read_through(Planner *pl, Redirect *r, const Directive *d, const BoundedForm *form)
{
    bool outer = false;
    r->form    = ARENA_ARRAY(pl->arena, const Expr *, (size_t)r->from->component_count);
    for (int c = 0; c < r->from->component_count; c++)
        r->form[c] = plan_expr(pl, form->values[c]);
    for (int i = 0; i < d->arg_count; i++) {
        const Func *reader = draft_of(pl, d->args[i].func)->func;
        look(r, reader, d->args[i].update);
        if (r->plain && (!form->own_box || reader->kind == FUNC_STAGE))
            return false;
        outer |= r->outer;
    }
    return outer;
}

/* Gives the copy the first boundary that a consumer reads its function through, if there is one. */
static void find_boundary(Planner *pl, Redirect *r, const Directive *d, Func *made)
{
    const Expr *args[KN_MAX_RANK];
    int         k = 0;
    while (k < d->form_count && !is_read_through(pl, r, d, &d->forms[k]))
        k++;
    if (k == d->form_count) {
        r->form = NULL;
        return;
    }
    for (int i = 0; i < made->rank; i++)
        args[i] = expr_var(r->pool, KN_I32, made->args[i]);
    for (int c = 0; c < made->component_count; c++)
        made->values[c] = expr_substitute(r->pool, r->form[c], made->rank, r->holes, args);
    r->mark = expr_var(r->pool, KN_BOOL, fresh_name(pl, arena_printf(pl->arena, "%s.copied", made->name)));
    vec_push(pl->arena, &pl->marks, r->mark);
}

bool apply_stage(Planner *pl, FuncDraft *from, DefDraft *def, const Directive *d)
{
    (void)def;
    FuncDraft *made = add_draft(pl, d->made);
    Redirect   r    = {
             .pool = &pl->plan->exprs, .from = from->func, .to = made->func, .holes = (const char **)d->made->args
    };
    made->is_made = true;
    move_last_draft(pl, draft_place(pl, from) + 1);
    use_up(pl, d);
    for (int i = 0; i < d->arg_count; i++) {
        FuncDraft *reader = draft_of(pl, d->args[i].func);
        if (reader == from || reader == made ||
            !(look(&r, reader->func, d->args[i].update) ||
              (write_out(r.pool, reader->func) && look(&r, reader->func, d->args[i].update))))
            return refuse(pl, ERROR_NOT_READ, d->args[i].loc,
                          "name functions that read it; what they are inlined into reads it too",
                          "`%s` does not read `%s`", reader->func->name, from->func->name);
    }
    find_boundary(pl, &r, d, made->func);
    for (int i = 0; i < d->arg_count; i++)
        redirect_reader(&r, draft_of(pl, d->args[i].func)->func, d->args[i].update);
    return true;
}

/* ---- After inlining ------------------------------------------------------------------------ */

typedef struct Keeping {
    Planner   *pl;
    FuncDraft *f;
    int        update;
} Keeping;

static const Expr *keep_read(void *user, const Expr *e)
{
    Keeping *k = user;
    for (size_t i = 0; e->op == EX_SELECT && i < k->pl->marks.count; i++)
        if (e->args[0] == k->pl->marks.at[i]) {
            vec_push(k->pl->arena, &k->f->plan->kept_reads, ((KeptRead){ k->update, e->args[2] }));
            return e->args[1];
        }
    return e;
}

void plan_kept_reads(Planner *pl)
{
    for (size_t i = 0; pl->marks.count && i < pl->drafts.count; i++) {
        Keeping k = { pl, pl->drafts.at[i], -1 };
        rewrite_pure(&pl->plan->exprs, k.f->func, keep_read, &k);
        for (k.update = 0; k.update < k.f->func->update_count; k.update++)
            rewrite_update(&pl->plan->exprs, k.f->func, &k.f->func->updates[k.update], keep_read, &k);
    }
}
