/* SPDX-License-Identifier: MIT */
/* The interface of the front end: parsing programs, schedules and formulas. */
#include "lang/lang.h"
#include "lang/elab.h"

typedef struct ParseCall {
    kn_pipeline *p;
    const char  *name, *text;
    size_t       length;
    bool         ok;
} ParseCall;

static const Source *copy_source(kn_pipeline *p, const char *name, const char *text, size_t length)
{
    Source *s = ARENA_NEW(&p->arena, Source);
    *s        = (Source){ arena_strdup(&p->arena, name), arena_strndup(&p->arena, text, length), length };
    return s;
}

static void parse(void *arg)
{
    ParseCall    *call   = arg;
    kn_pipeline  *p      = call->p;
    const Source *source = copy_source(p, call->name, call->text, call->length);
    Elab         *el     = elab_new(p);
    p->name              = source->name;
    el->main             = source;
    const Item *all      = parse_program(p->cx, &p->arena, source);
    el->lost             = all->broken;
    vec_push(el->arena, &el->including, join_path(el, "", source->name));
    vec_push(el->arena, &el->included, join_path(el, "", source->name));
    file_items(el, el->global_env, all->body, all->count);
    elab_resolve_all(el);
    elab_check_defines(el);
    if (!p->cx->error_count && pipeline_check(p))
        elab_schedules(el);
    if (!p->cx->error_count)
        warn_program(el);
    call->ok = !p->cx->error_count;
}

static size_t text_length(const char *text, ptrdiff_t length)
{
    return length < 0 ? strlen(text) : (size_t)length;
}

kn_pipeline *kn_parse(kn_context *cx, const char *name, const char *text, ptrdiff_t length)
{
    if (!cx)
        return NULL;
    context_begin(cx);
    if (!name || !text) {
        diag_status(cx, KN_ERROR_ARGUMENT, "kn_parse needs a name and a text");
        return NULL;
    }
    kn_pipeline *p = pipeline_new(cx, name);
    if (!p)
        return NULL;
    ParseCall call = { p, name, text, text_length(text, length), false };
    if (context_call(cx, parse, &call) && call.ok)
        return p;
    pipeline_free(p, true);
    return NULL;
}

static void parse_sched(void *arg)
{
    ParseCall    *call   = arg;
    kn_pipeline  *p      = call->p;
    const Source *source = copy_source(p, call->name, call->text, call->length);
    elab_schedule_file(elab_of(p), parse_schedule(p->cx, &p->arena, source));
    call->ok = !p->cx->error_count;
}

kn_status kn_schedule_parse(kn_pipeline *p, const char *name, const char *text, ptrdiff_t length)
{
    if (!p)
        return KN_ERROR_ARGUMENT;
    context_begin(p->cx);
    if (!name || !text || !p->finished)
        return diag_status(p->cx, KN_ERROR_ARGUMENT,
                           p->finished ? "kn_schedule_parse needs a name and a text"
                                       : "a schedule is added to a pipeline that is finished");
    ParseCall call = { p, name, text, text_length(text, length), false };
    context_call(p->cx, parse_sched, &call);
    return p->cx->status;
}

const Schedule *lang_schedule(kn_pipeline *p, const char *name, const char *text)
{
    const size_t had  = p->schedules.count;
    ParseCall    call = { p, name, text, strlen(text), false };
    parse_sched(&call);
    const Schedule *made = call.ok && p->schedules.count > had ? p->schedules.at[p->schedules.count - 1] : NULL;
    p->schedules.count   = had;
    return made;
}

const Func *lang_formula(kn_pipeline *p, const char *formula, int rank, const char *const *dims, kn_type type)
{
    const Source *source = copy_source(p, "formula", formula, strlen(formula));
    Elab         *el     = elab_new(p);
    const Ast    *a      = parse_expression(p->cx, &p->arena, source);
    const Env    *env    = el->global_env;
    const char   *names[KN_MAX_RANK];
    el->var_type   = KN_I64;
    el->in_formula = true;
    for (int d = 0; d < rank; d++) {
        names[d] = intern(p->cx, dims[d]);
        env      = env_push(el, env, names[d], value_expr(expr_var(el->pool, KN_I64, names[d])));
    }
    if (p->cx->error_count)
        return NULL;
    ElabValue   v = elab_expr(el, env, a);
    const Expr *e = NULL;
    if (v.kind == VAL_INT && type != KN_BOOL) /* a bare literal may have any size: it is converted from i64 */
        e = convert(el, expr_int(el->pool, KN_I64, (int64_t)v.integer), type);
    else if (value_is_weak(v) && type_is_float(type))
        e = value_to_type(el, v, type, a->loc, "the formula");
    else if ((e = value_to_expr(el, v, a->loc)))
        e = convert(el, e, type);
    if (!e)
        return NULL;
    Func *f = pipeline_add_func(p, FUNC_DEFINED, intern(p->cx, "formula"), (Loc){ source, 0, 0 }, rank, names);
    f->component_count = 1;
    f->types           = ARENA_NEW(&p->arena, kn_type);
    f->values          = ARENA_NEW(&p->arena, const Expr *);
    f->types[0]        = type;
    f->values[0]       = e;
    vec_push(&p->arena, &p->outputs, ((Output){ .name = f->name, .func = f, .loc = f->loc }));
    return pipeline_check(p) ? f : NULL;
}
