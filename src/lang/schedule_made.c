/* SPDX-License-Identifier: MIT */
/* What directives of a schedule make: versions of a definition (specialize), and functions beside the pipeline's
 * (stage, clone, rfactor, separate, double, checkpoint).
 *
 * Their names, arguments and loops are known here, so that the rest of the schedule can be checked against them; what
 * they compute, but for stages, is worked out where the schedule is obeyed (plan/derive.c, plan/separate.c,
 * plan/double.c, plan/checkpoint.c). */
#include "lang/scheduling.h"

/* A function beside the pipeline's, of a name that is new: "in.stage", "hist.rfactor.2". */
static Func *make_function(Scheduling *s, const Directive *d, const char *base, int rank)
{
    Elab       *el   = s->el;
    const char *name = intern(el->cx, base);
    for (int i = 2; map_get(&s->functions, name); i++)
        name = intern(el->cx, arena_printf(el->arena, "%s.%d", base, i));
    Func *f = ARENA_NEW(el->arena, Func);
    *f      = (Func){ .name            = name,
                      .loc             = d->loc,
                      .kind            = FUNC_DEFINED,
                      .id              = -1,
                      .rank            = rank,
                      .component_count = d->func->component_count,
                      .types           = d->func->types };
    f->args = ARENA_ARRAY(el->arena, const char *, (size_t)rank);
    for (int k = 0; k < d->func->rank; k++)
        f->args[k] = d->func->args[k];
    map_set_mutable(&s->functions, name, f);
    return f;
}

static const char *made_name(Scheduling *s, const Directive *d)
{
    return arena_printf(s->el->arena, "%s.%s", d->func->name, d->info->name);
}

/* f(x, …) = from(x, …) */
static Func *make_copy(Scheduling *s, const Directive *d, const char *name, const Func *from)
{
    Elab        *el   = s->el;
    Func        *f    = make_function(s, d, name, from->rank);
    const Expr **args = ARENA_ARRAY(el->arena, const Expr *, (size_t)from->rank);
    f->values         = ARENA_ARRAY(el->arena, const Expr *, (size_t)from->component_count);
    for (int k = 0; k < from->rank; k++)
        args[k] = expr_var(el->pool, KN_I32, from->args[k]);
    for (int i = 0; i < from->component_count; i++)
        f->values[i] = expr_call(el->pool, from, i, from->types[i], from->rank, args);
    return f;
}

/* Is the boundary around the box of the input itself? */
static bool is_around_input(Elab *el, const FuncRef *r)
{
    const Func *in = ref_input(r);
    for (int d = 0; in && d < in->rank; d++)
        if (r->extent[d] && (r->min[d] != expr_dim(el->pool, EX_DIM_MIN, in, d) ||
                             r->extent[d] != expr_dim(el->pool, EX_DIM_EXTENT, in, d)))
            return false;
    return in;
}

/* The input through each boundary that is directly around it. Another function's boundary can be a function that is
 * scheduled itself. */
static void find_forms(Scheduling *s, Directive *d, const Func *made)
{
    Elab        *el   = s->el;
    const Expr **args = ARENA_ARRAY(el->arena, const Expr *, (size_t)made->rank);
    for (int k = 0; k < made->rank; k++)
        args[k] = expr_var(el->pool, KN_I32, made->args[k]);
    d->forms = ARENA_ARRAY(el->arena, BoundedForm, el->boundaries.count);
    for (size_t i = 0; i < el->boundaries.count; i++) {
        const FuncRef *r = el->boundaries.at[i];
        if (r->func != d->func || d->func->kind != FUNC_INPUT || r->base->boundary)
            continue;
        const ElabValue v = call_ref(el, r, args);
        BoundedForm    *f = &d->forms[d->form_count++];
        f->own_box        = is_around_input(el, r);
        f->values         = ARENA_ARRAY(el->arena, const Expr *, (size_t)made->component_count);
        for (int c = 0; c < made->component_count; c++)
            f->values[c] = v.kind == VAL_TUPLE ? v.items[c].expr : v.expr;
    }
}

/* f.stage(…): a copy of f. */
static Func *make_stage(Scheduling *s, Directive *d)
{
    Func *f = make_copy(s, d, made_name(s, d), d->func);
    find_forms(s, d, f);
    return f;
}

typedef struct NameList {
    VEC(const char *) names;
} NameList;

/* The reduction loops of an update. So far it may have been split (for rfactor) or separated (for double), but nothing
 * else. */
static bool reduction_loops(Scheduling *s, const Directive *d, NameList *out)
{
    Elab         *el     = s->el;
    const Update *u      = &d->func->updates[d->update];
    const bool    splits = directive_is(d, DIR_RFACTOR);
    for (int i = 0; i < u->rvar_count; i++)
        vec_push(el->arena, &out->names, u->rvars[i].name);
    for (size_t i = 0; i < s->schedule->directives.count; i++) {
        const Directive *b  = &s->schedule->directives.at[i];
        size_t           at = 0;
        if (b->func != d->func || b->update != d->update)
            continue;
        if (directive_is(d, DIR_DOUBLE) && directive_is(b, DIR_SEPARATE)) {
            out->names.at[0] = b->args[0].name;
            out->names.count = 1;
            continue;
        }
        while (at < out->names.count && b->arg_count && out->names.at[at] != b->args[0].name)
            at++;
        if (!splits || !directive_is(b, DIR_SPLIT) || at == out->names.count) {
            diag_error(
                el->cx, d->loc,
                arena_printf(el->arena,
                             "begin the update's directives with %s; the others then go to the functions it makes",
                             d->info->name),
                splits ? "only splits of reduction variables may come before `%s`, not `%s`"
                       : "nothing may come before `%s`: there is `%s`",
                d->info->name, b->info->name);
            return false;
        }
        out->names.at[at] = b->args[1].name;
        vec_push(el->arena, &out->names, b->args[2].name);
        memmove(&out->names.at[at + 2], &out->names.at[at + 1], (out->names.count - at - 2) * sizeof *out->names.at);
        out->names.at[at + 1] = b->args[2].name;
    }
    return true;
}

/* The place of `r` among the reduction loops; -1, with a diagnostic, if it is none of them or the directive is not for
 * an update. */
static int reduction_loop(Scheduling *s, const Directive *d, const char *usage, NameList *loops)
{
    Elab       *el = s->el;
    const char *r  = d->args[0].name;
    if (d->update < 0) {
        diag_error(el->cx, d->loc, usage, "`%s` is for an update", d->info->name);
        return -1;
    }
    if (!reduction_loops(s, d, loops))
        return -1;
    for (size_t i = 0; i < loops->names.count; i++)
        if (loops->names.at[i] == r)
            return (int)i;
    diag_error(el->cx, d->args[0].loc,
               arena_printf(el->arena, "these do: %s", name_list(el, loops->names.at, loops->names.count)),
               "the loop `%s` does not run over the reduction", r);
    return -1;
}

/* The reduction variable of that name, with its bounds; without them if it is the loop of a split. */
static RVar known_variable(const Update *u, const char *name)
{
    for (int i = 0; i < u->rvar_count; i++)
        if (u->rvars[i].name == name)
            return u->rvars[i];
    return (RVar){ .name = name };
}

/* A function with an update over the loops but the one at `at`, which alone is left to the update of the directive. Its
 * arguments are free where the update's are, and those beyond. */
static Func *make_partial(Scheduling *s, const Directive *d, const char *name, int rank, const NameList *loops, int at)
{
    Elab   *el      = s->el;
    Func   *f       = make_function(s, d, name, rank);
    Update *u       = ARENA_NEW(el->arena, Update);
    f->update_count = 1;
    f->updates      = u;
    u->loc          = d->loc;
    u->is_free      = ARENA_ARRAY(el->arena, bool, (size_t)f->rank);
    u->rvars        = ARENA_ARRAY(el->arena, RVar, loops->names.count);
    for (int k = 0; k < f->rank; k++)
        u->is_free[k] = k >= d->func->rank || d->func->updates[d->update].is_free[k];
    for (size_t i = 0; i < loops->names.count; i++)
        if ((int)i != at)
            u->rvars[u->rvar_count++] = known_variable(&d->func->updates[d->update], loops->names.at[i]);
    Loops *own       = loops_of(s, d->func, d->update);
    own->names.count = 0;
    for (int k = 0; k < d->func->rank; k++)
        vec_push(el->arena, &own->names, d->func->args[k]);
    vec_push(el->arena, &own->names, loops->names.at[at]);
    return f;
}

/* f.update(k).rfactor(r, v): partial results along a new last argument v; f's own update goes on over r alone. */
static Func *make_rfactor(Scheduling *s, Directive *d)
{
    Elab       *el    = s->el;
    const char *v     = d->args[1].name;
    NameList    loops = { { 0 } };
    const int   at    = reduction_loop(s, d, "f.update(0).rfactor(r, v)", &loops);
    if (at < 0)
        return NULL;
    if (d->func->rank == KN_MAX_RANK) {
        diag_error(el->cx, d->loc, NULL, "`%s` has %d dimensions already: there is no room for another", d->func->name,
                   KN_MAX_RANK);
        return NULL;
    }
    bool clash = false;
    for (size_t i = 0; i < loops.names.count; i++)
        clash |= loops.names.at[i] == v;
    for (int k = 0; k < d->func->rank; k++)
        clash |= d->func->args[k] == v;
    if (clash) {
        diag_error(el->cx, d->args[1].loc, "choose another name", "`%s` is taken", v);
        return NULL;
    }
    Func *f                = make_partial(s, d, made_name(s, d), d->func->rank + 1, &loops, at);
    f->args[d->func->rank] = v;
    return f;
}

/* f.update(k).separate(r): f.separate.sum over all other reduction variables, and f.separate, which is that; f's own
 * update goes on over r alone. */
static Func *make_separate(Scheduling *s, Directive *d)
{
    NameList    loops = { { 0 } };
    const int   at    = reduction_loop(s, d, "f.update(0).separate(r)", &loops);
    const char *name  = made_name(s, d);
    if (at < 0)
        return NULL;
    d->also = make_partial(s, d, arena_printf(s->el->arena, "%s.sum", name), d->func->rank, &loops, at);
    return make_copy(s, d, name, d->also);
}

/* f.update(k).double(r): f.double[1], f.double[2], f.double[4], … up to the steps of r; nothing is left of the update.
 */
static Func *make_double(Scheduling *s, Directive *d)
{
    enum { MOST_STEPS = 1 << 16 };
    Elab     *el    = s->el;
    NameList  loops = { { 0 } };
    const int at    = reduction_loop(s, d, "f.update(0).double(r)", &loops);
    int64_t   steps = 0;
    if (at < 0)
        return NULL;
    const RVar r = known_variable(&d->func->updates[d->update], loops.names.at[at]);
    if (!r.hi || !expr_difference(r.hi, r.lo, &steps) || steps < 1 || steps > MOST_STEPS) {
        diag_error(el->cx, d->args[0].loc, "let its bounds be constants, or leave `double` out",
                   "`double` needs a number of steps of `%s` that is a constant from 1 to %d", r.name, MOST_STEPS);
        return NULL;
    }
    d->windows = ARENA_ARRAY(el->arena, Func *, 32);
    for (int64_t taps = 1; taps <= steps; taps *= 2)
        d->windows[d->window_count++] =
            make_function(s, d, arena_printf(el->arena, "%s[%d]", made_name(s, d), (int)taps), d->func->rank);
    loops_of(s, d->func, d->update)->names.count = 0;
    return d->windows[d->window_count - 1];
}

/* A function with an update over these reduction variables, along the argument `dim`. */
static Func *make_scan(Scheduling *s, const Directive *d, const char *name, int rank, int dim, int count,
                       const char *const *rvars)
{
    Elab   *el      = s->el;
    Func   *f       = make_function(s, d, name, rank);
    Update *u       = ARENA_NEW(el->arena, Update);
    f->update_count = 1;
    f->updates      = u;
    u->loc          = d->loc;
    u->is_free      = ARENA_ARRAY(el->arena, bool, (size_t)rank);
    u->rvars        = ARENA_ARRAY(el->arena, RVar, (size_t)count);
    u->rvar_count   = count;
    for (int k = 0; k < rank; k++)
        u->is_free[k] = k != dim;
    for (int i = 0; i < count; i++)
        u->rvars[i].name = rvars[i];
    return f;
}

/* The argument that the update goes along, if it can be checkpointed with these new names; -1 with a diagnostic. */
static int scan_argument(Scheduling *s, const Directive *d, const char *const *names)
{
    Elab         *el  = s->el;
    const Update *u   = &d->func->updates[d->update];
    int           dim = -1, fixed = 0;
    for (int k = 0; k < d->func->rank; k++)
        if (!u->is_free[k]) {
            dim = k;
            fixed++;
        }
    if (u->rvar_count != 1 || fixed != 1) {
        diag_error_as(el->cx, ERROR_NOT_SCAN, d->loc, "it is for f(x, r) = … f(x, r-1) … for r in a..b; leave it out",
                      "`checkpoint` needs an update along one argument, over one reduction variable");
        return -1;
    }
    if (d->func->rank == KN_MAX_RANK) {
        diag_error(el->cx, d->loc, NULL, "`%s` has %d dimensions already: there is no room for another", d->func->name,
                   KN_MAX_RANK);
        return -1;
    }
    for (int k = 0; k < d->func->rank; k++)
        for (int i = 0; i < 2; i++)
            if (k != dim && d->func->args[k] == names[i]) {
                diag_error(el->cx, d->args[1 + i].loc, "choose another name", "`%s` is taken", names[i]);
                return -1;
            }
    return dim;
}

/* f.update(k).checkpoint(r, ro, ri, n): f.checkpoint along chunks ro, and f.chunk along steps ri with chunks as a last
 * argument; nothing is left of the update. */
static Func *make_checkpoint(Scheduling *s, Directive *d)
{
    const char *const names[] = { d->args[1].name, d->args[2].name };
    NameList          loops   = { { 0 } };
    const int         at      = reduction_loop(s, d, "f.update(0).checkpoint(r, ro, ri, 32)", &loops);
    const int         dim     = at < 0 ? -1 : scan_argument(s, d, names);
    const int         rank    = d->func->rank;
    if (dim < 0)
        return NULL;
    d->also = make_scan(s, d, arena_printf(s->el->arena, "%s.chunk", d->func->name), rank + 1, dim, 1, &names[1]);
    d->also->args[dim]                           = names[1];
    d->also->args[rank]                          = names[0];
    Func *f                                      = make_scan(s, d, made_name(s, d), rank, dim, 2, names);
    f->args[dim]                                 = names[0];
    loops_of(s, d->func, d->update)->names.count = 0;
    return f;
}

/* f.clone(…): the definitions of f, under another name. */
static Func *make_clone(Scheduling *s, Directive *d)
{
    Elab       *el   = s->el;
    const Func *from = d->func;
    Func       *f    = make_function(s, d, made_name(s, d), from->rank);
    if (from->kind != FUNC_DEFINED) {
        diag_error(el->cx, d->loc, "stage is for inputs and extern stages",
                   "`%s` has no definitions that could be cloned", from->name);
        return NULL;
    }
    f->update_count = from->update_count;
    f->updates      = ARENA_ARRAY(el->arena, Update, (size_t)from->update_count);
    for (int k = 0; k < from->update_count; k++)
        f->updates[k] = from->updates[k];
    return f;
}

/* A version of the definition: its loops begin as they are now. */
static bool begin_version(Scheduling *s, Directive *d)
{
    if (s->version) {
        diag_error(s->el->cx, d->loc, "begin a new statement, or write both conditions with &&",
                   "a chain has one `specialize`");
        return false;
    }
    const Loops *now   = loops_of(s, s->func, s->update);
    s->version         = ARENA_NEW(s->el->arena, Loops);
    s->version->func   = now->func;
    s->version->update = now->update;
    for (size_t i = 0; i < now->names.count; i++)
        vec_push(s->el->arena, &s->version->names, now->names.at[i]);
    s->version_number = 0;
    for (size_t i = 0; i < s->schedule->directives.count; i++) {
        const Directive *b = &s->schedule->directives.at[i];
        s->version_number += b->func == s->func && b->update == s->update && directive_is(b, DIR_SPECIALIZE);
    }
    d->version = s->version_number;
    return true;
}

/* What the rest of the chain is about, after this directive. */
bool schedule_move_on(Scheduling *s, Directive *d)
{
    switch (d->info->id) {
    case DIR_SPECIALIZE: return begin_version(s, d);
    case DIR_STAGE: d->made = make_stage(s, d); break;
    case DIR_RFACTOR: d->made = make_rfactor(s, d); break;
    case DIR_SEPARATE: d->made = make_separate(s, d); break;
    case DIR_DOUBLE: d->made = make_double(s, d); break;
    case DIR_CHECKPOINT: d->made = make_checkpoint(s, d); break;
    case DIR_CLONE: d->made = make_clone(s, d); break;
    default: return true;
    }
    if (!d->made)
        return false;
    s->func   = d->made;
    s->update = d->info->whole ? -1 : d->made->update_count - 1;
    return true;
}
