/* SPDX-License-Identifier: MIT */
/* Schedules: names and shapes of arguments are checked against the table of directives, and the directives kept.
 *
 * The loops of each function (and of each update) are followed through split, fuse and tile, so that a name that is not
 * a loop at that moment is an error here. After `specialize` a chain is about that version of the definition, whose
 * loops begin as those of the moment; after `stage`, `rfactor` and `separate` about the function that these make
 * (schedule_made.c), which later statements may name too. A loop of another function (compute_at) is looked for when
 * the whole schedule has been read, because the statements of a schedule may come in any order. */
#include "lang/scheduling.h"

enum { MOST_LOOPS = 100 };

Loops *loops_of(Scheduling *s, const Func *f, int update)
{
    Elab       *el  = s->el;
    const void *key = update < 0 ? (const void *)f : (const void *)&f->updates[update];
    Loops      *l   = map_get_mutable(&s->loops, key);
    if (l)
        return l;
    l         = ARENA_NEW(el->arena, Loops);
    l->func   = f;
    l->update = update;
    for (int d = 0; d < f->rank; d++)
        if (update < 0 || f->updates[update].is_free[d])
            vec_push(el->arena, &l->names, f->args[d]);
    for (int i = 0; update >= 0 && i < f->updates[update].rvar_count; i++)
        vec_push(el->arena, &l->names, f->updates[update].rvars[i].name);
    map_set_mutable(&s->loops, key, l);
    return l;
}

/* Those that the current chain is about. */
static Loops *loops_now(Scheduling *s)
{
    return s->version ? s->version : loops_of(s, s->func, s->update);
}

static int loop_index(const Loops *l, const char *name)
{
    for (size_t i = 0; i < l->names.count; i++)
        if (l->names.at[i] == name)
            return (int)i;
    return -1;
}

const char *name_list(Elab *el, const char *const *names, size_t count)
{
    Text t;
    text_init(&t, el->arena);
    for (size_t i = 0; i < count; i++)
        text_printf(&t, "%s%s", i ? ", " : "", names[i]);
    return text_string(&t);
}

/* ---- Functions and updates -------------------------------------------------------------- */

/* "g[1].dx", "out.h[0]", "out.sum.2" as written. */
static const char *path_name(Elab *el, const Env *env, const Ast *a)
{
    if (a->kind == AST_INDEX)
        return member_name(el, env, path_name(el, env, a->kids[0]), a->kids[1]);
    if (a->kind != AST_FIELD)
        return family_name(el, env, a);
    const char *base = path_name(el, env, a->kids[0]);
    if (!base)
        return NULL;
    return a->name ? arena_printf(el->arena, "%s.%s", base, a->name)
                   : arena_printf(el->arena, "%s.%llu", base, (unsigned long long)a->integer);
}

static Func *find_function(Scheduling *s, const Env *env, const Ast *a)
{
    Elab       *el   = s->el;
    const char *name = path_name(el, env, a);
    if (!name)
        return NULL;
    Func *f = map_get_mutable(&s->functions, intern(el->cx, name));
    if (f)
        return f;
    const Entry *e = scope_find(el->global, intern(el->cx, name));
    if (e && e->value.kind == VAL_FUNC && !e->value.func->boundary)
        return e->value.func->func;
    VEC(const char *) known = { 0 };
    for (size_t i = 0; i < el->p->funcs.count; i++)
        vec_push(el->arena, &known, el->p->funcs.at[i]->name);
    const char *suggestion = text_suggest(el->arena, name, known.at, known.count);
    diag_error(el->cx, a->loc, suggestion ? suggestion : "`kiln show --funcs` lists them", "there is no function `%s`",
               name);
    return NULL;
}

/* Where the name of a directive stands in a chain. */
static Loc directive_loc(const Ast *call)
{
    Loc loc   = call->kids[0]->loc;
    loc.start = loc.end - (uint32_t)strlen(call->kids[0]->name);
    return loc;
}

/* f, or f.update(k): the definition that a chain or an argument is about. */
static bool find_definition(Scheduling *s, const Env *env, const Ast *a, Func **f, int *update)
{
    Elab    *el = s->el;
    __int128 k;
    *update = -1;
    const bool is_update =
        a->kind == AST_CALL && a->kids[0]->kind == AST_FIELD && a->kids[0]->name && !strcmp(a->kids[0]->name, "update");
    if (!is_update)
        return (*f = find_function(s, env, a)) != NULL;
    if (a->kids[0]->kids[0]->kind == AST_CALL) {
        diag_error(el->cx, directive_loc(a), "begin a new statement: f.update(0).parallel(y)",
                   "`update` stands directly behind the function");
        return false;
    }
    *f = find_function(s, env, a->kids[0]->kids[0]);
    if (!*f)
        return false;
    if (a->count != 2) {
        diag_error(el->cx, a->loc, "f.update(0)", "`update` takes the number of the update");
        return false;
    }
    if (!elab_known_int(el, env, a->kids[1], "the number of an update", &k))
        return false;
    if (k < 0 || k >= (*f)->update_count) {
        const int n = (*f)->update_count;
        if (n)
            diag_error(el->cx, a->kids[1]->loc, "they count from 0", "`%s` has %d update%s", (*f)->name, n,
                       n == 1 ? "" : "s");
        else
            diag_error(el->cx, a->kids[1]->loc, NULL, "`%s` has no updates", (*f)->name);
        return false;
    }
    *update = (int)k;
    return true;
}

/* ---- Arguments -------------------------------------------------------------------------- */

static const char *plain_name(Elab *el, const Ast *a, const char *what)
{
    if (a->kind == AST_NAME)
        return a->name;
    if (a->kind != AST_ERROR)
        diag_error(el->cx, a->loc, NULL, "%s is needed here", what);
    return NULL;
}

static bool read_loop(Scheduling *s, const Ast *a, ScheduleArg *out)
{
    Loops *l  = loops_now(s);
    out->kind = ARG_VAR;
    out->name = plain_name(s->el, a, "the name of a loop");
    if (!out->name)
        return false;
    if (loop_index(l, out->name) >= 0)
        return true;
    diag_error(s->el->cx, a->loc,
               arena_printf(s->el->arena, "its loops are %s", name_list(s->el, l->names.at, l->names.count)),
               "`%s` has no loop `%s` here", s->func->name, out->name);
    return false;
}

static bool read_new(Scheduling *s, const Ast *a, ScheduleArg *out)
{
    out->kind = ARG_VAR;
    out->name = plain_name(s->el, a, "the name of a new loop");
    return out->name != NULL;
}

static bool read_dimension(Scheduling *s, const Ast *a, ScheduleArg *out)
{
    out->kind = ARG_VAR;
    out->name = plain_name(s->el, a, "the name of an argument of the function");
    for (int d = 0; out->name && d < s->func->rank; d++)
        if (s->func->args[d] == out->name)
            return true;
    if (out->name)
        diag_error(
            s->el->cx, a->loc,
            arena_printf(s->el->arena, "its arguments are %s", name_list(s->el, s->func->args, (size_t)s->func->rank)),
            "`%s` has no argument `%s`", s->func->name, out->name);
    return false;
}

static bool read_int(Scheduling *s, const Env *env, const Ast *a, ScheduleArg *out)
{
    __int128 v;
    out->kind = ARG_INT;
    if (!elab_known_int(s->el, env, a, "a factor", &v))
        return false;
    if (v < 1 || v > 1 << 20) {
        diag_error(s->el->cx, a->loc, NULL, "a factor is between 1 and %d", 1 << 20);
        return false;
    }
    out->value = (int64_t)v;
    return true;
}

static bool read_expr(Scheduling *s, const Env *env, const Ast *a, bool condition, ScheduleArg *out)
{
    ElabValue v = elab_expr(s->el, env, a);
    out->kind   = ARG_EXPR;
    out->expr   = condition ? value_to_bool(s->el, v, a->loc) : value_to_index(s->el, v, a->loc);
    return out->expr != NULL;
}

static bool read_function(Scheduling *s, const Env *env, const Ast *a, ScheduleArg *out)
{
    Func *f   = NULL;
    out->kind = ARG_FUNC;
    if (!find_definition(s, env, a, &f, &out->update))
        return false;
    out->func = f;
    return true;
}

static bool read_other_loop(Scheduling *s, const Ast *a, const ScheduleArg *of, ScheduleArg *out)
{
    out->kind = ARG_VAR;
    out->name = plain_name(s->el, a, "the name of a loop");
    if (out->name)
        vec_push(s->el->arena, &s->pending, ((Pending){ of->func, of->update, out->name, a->loc }));
    return out->name != NULL;
}

static bool read_word(Scheduling *s, const Ast *a, const char *const *words, const char *what, ScheduleArg *out)
{
    out->kind    = ARG_WORD;
    out->name    = plain_name(s->el, a, what);
    size_t count = 0;
    for (; words[count]; count++)
        if (out->name && !strcmp(words[count], out->name)) {
            out->value = (int64_t)count;
            return true;
        }
    if (out->name)
        diag_error(s->el->cx, a->loc, arena_printf(s->el->arena, "it is one of %s", name_list(s->el, words, count)),
                   "`%s` is not %s", out->name, what);
    return false;
}

/* A row of memory_table. MEMORY_AUTO, the first, is what a function has that says nothing: it has no word here. */
static bool read_memory(Scheduling *s, const Ast *a, ScheduleArg *out)
{
    enum { FIRST = MEMORY_AUTO + 1 };
    const char *words[MEMORY_COUNT - FIRST + 1] = { NULL };
    for (int i = FIRST; i < MEMORY_COUNT; i++)
        words[i - FIRST] = memory_table[i].name;
    if (!read_word(s, a, words, "a memory", out))
        return false;
    out->value += FIRST;
    return true;
}

static bool read_argument(Scheduling *s, const Env *env, char letter, const Ast *a, const ScheduleArg *before,
                          ScheduleArg *out)
{
    out->loc = a->loc;
    switch (letter) {
    case 'v': return read_loop(s, a, out);
    case 'n': return read_new(s, a, out);
    case 'd': return read_dimension(s, a, out);
    case 'i': return read_int(s, env, a, out);
    case 'e': return read_expr(s, env, a, false, out);
    case 'c': return read_expr(s, env, a, true, out);
    case 'f': return read_function(s, env, a, out);
    case 'l': return read_other_loop(s, a, before, out);
    default: return read_memory(s, a, out);
    }
}

/* ---- Directives ------------------------------------------------------------------------- */

/* The shape in words: split(loop, new loop, new loop, factor). */
static const char *usage(Elab *el, const DirectiveInfo *info)
{
    static const char *const words[128] = {
        ['v'] = "loop",     ['n'] = "new loop",   ['d'] = "argument",
        ['i'] = "factor",   ['e'] = "expression", ['c'] = "condition",
        ['f'] = "function", ['l'] = "its loop",   ['m'] = "stack, heap, register …"
    };
    Text t;
    text_init(&t, el->arena);
    text_printf(&t, "%s(", info->name);
    for (const char *c = info->shape; *c; c++) {
        if (*c == '*')
            text_add(&t, ", …");
        else if (*c != '?')
            text_printf(&t, c[1] == '?' ? "[%s%s]" : "%s%s", c == info->shape ? "" : ", ", words[(unsigned char)*c]);
    }
    text_add(&t, info->tail ? "[, tail: …])" : ")");
    return text_string(&t);
}

/* Loops after the directive: the consumed ones go, the new ones come in their place. */
static void update_loops(Scheduling *s, const Directive *d)
{
    Loops *l = loops_now(s);
    for (int i = 0, k = 0; i < d->arg_count && d->info->shape[k]; i++, k++) {
        if (d->info->shape[k] == 'v' && d->info->consumes) {
            const int at = loop_index(l, d->args[i].name);
            memmove(&l->names.at[at], &l->names.at[at + 1], (l->names.count - (size_t)at - 1) * sizeof *l->names.at);
            l->names.count--;
        }
        if (d->info->shape[k] == 'n')
            vec_push(s->el->arena, &l->names, d->args[i].name);
    }
}

/* Distinct loops where several are named, and new names that are new. */
static bool check_names(Scheduling *s, const Directive *d)
{
    const Loops *l = loops_now(s);
    const char  *c = d->info->shape;
    for (int i = 0; i < d->arg_count && *c; i++, c += c[1] != '*' || !c[1]) {
        if (d->args[i].kind != ARG_VAR || *c == 'l')
            continue;
        for (int k = 0; k < i; k++)
            if (d->args[k].kind == ARG_VAR && d->args[k].name == d->args[i].name && *c != 'n') {
                diag_error(s->el->cx, d->args[i].loc, NULL, "`%s` is named twice", d->args[i].name);
                return false;
            }
        if (*c == 'n') {
            bool clash = false;
            for (size_t j = 0; j < l->names.count; j++) {
                bool gone = false;
                for (int k = 0; k < d->arg_count && d->info->consumes; k++)
                    gone |= d->args[k].kind == ARG_VAR && d->args[k].name == l->names.at[j] && d->info->shape[k] == 'v';
                clash |= l->names.at[j] == d->args[i].name && !gone;
            }
            for (int k = 0; k < i; k++)
                clash |= d->info->shape[k] == 'n' && d->args[k].name == d->args[i].name;
            if (clash) {
                diag_error(s->el->cx, d->args[i].loc, "choose another name", "`%s` already has a loop `%s`",
                           s->func->name, d->args[i].name);
                return false;
            }
        }
    }
    return true;
}

static bool read_tail(Scheduling *s, const DirectiveInfo *info, const Ast *label, const Ast *a, ScheduleArg *out)
{
    if (!info->tail || label->kind != AST_NAME || strcmp(label->name, "tail")) {
        diag_error(s->el->cx, label->loc, usage(s->el, info), "`%s` has no argument of that name", info->name);
        return false;
    }
    out->label = label->name;
    out->loc   = a->loc;
    return read_word(s, a, tail_names, "a tail strategy", out);
}

/* Do so many arguments without a label have the shape? */
static bool count_fits(const char *shape, int count)
{
    int least = 0, most = 0;
    for (const char *c = shape; *c; c++) {
        if (*c == '*')
            return count >= least;
        least += *c != '?' && c[1] != '?';
        most += *c != '?';
    }
    return count >= least && count <= most;
}

/* The arguments come in order, the one with a label at the end, once. */
static bool check_shape(Scheduling *s, const DirectiveInfo *info, const Ast *call)
{
    int  plain = 0, labelled = 0;
    bool ok = !call->clause;
    for (int i = 1; i < call->count; i++) {
        const AstKind kind = call->kids[i]->kind;
        ok &= kind != AST_RANGE && kind != AST_REST && (call->labels[i] || !labelled);
        labelled += call->labels[i] != NULL;
        plain += !call->labels[i];
    }
    if (!ok || labelled > 1 || !count_fits(info->shape, plain)) {
        diag_error(s->el->cx, directive_loc(call), usage(s->el, info), "wrong arguments for `%s`", info->name);
        return false;
    }
    return true;
}

/* Reads the arguments of a call against the shape of its directive. */
static bool read_arguments(Scheduling *s, const Env *env, const Ast *call, Directive *d)
{
    const char *c = d->info->shape;
    d->args       = ARENA_ARRAY(s->el->arena, ScheduleArg, (size_t)call->count);
    if (!check_shape(s, d->info, call))
        return false;
    for (int i = 1; i < call->count; i++) {
        ScheduleArg *out    = &d->args[d->arg_count];
        ScheduleArg *before = d->arg_count ? out - 1 : NULL;
        if (call->labels[i] ? !read_tail(s, d->info, call->labels[i], call->kids[i], out)
                            : !read_argument(s, env, *c, call->kids[i], before, out))
            return false;
        d->arg_count++;
        if (!call->labels[i] && c[1] != '*')
            c += 1 + (c[1] == '?');
    }
    return true;
}

/* Is the directive possible here? */
static bool check_place(Scheduling *s, const Directive *d, const Ast *call)
{
    Elab       *el   = s->el;
    const char *name = d->info->name;
    if (s->func->kind == FUNC_INPUT && !d->info->inputs) {
        diag_error(el->cx, call->loc, "an input can only be staged: in.stage(consumer)",
                   "`%s` is an input: there is nothing to compute", s->func->name);
        return false;
    }
    if (d->info->whole && s->update >= 0) {
        diag_error(el->cx, d->loc, arena_printf(el->arena, "%s.%s(…)", s->func->name, name),
                   "`%s` is about the function as a whole, not one update", name);
        return false;
    }
    if (s->version && (d->info->whole || d->info->versions)) {
        diag_error(el->cx, d->loc, "put it before specialize", "`%s` is about all versions of the definition", name);
        return false;
    }
    return true;
}

static void read_directive(Scheduling *s, const Env *env, const char *name, const Ast *call)
{
    Elab     *el = s->el;
    Directive d  = { .info = directive_find(name), .func = s->func, .update = s->update, .loc = directive_loc(call) };
    d.version    = s->version ? s->version_number : -1;
    if (!d.info) {
        VEC(const char *) known = { 0 };
        for (int i = 0; i < DIRECTIVE_COUNT; i++)
            vec_push(el->arena, &known, directive_table[i].name);
        diag_error(el->cx, directive_loc(call), text_suggest(el->arena, name, known.at, known.count),
                   "there is no directive `%s`", name);
        return;
    }
    if (!check_place(s, &d, call) || !read_arguments(s, env, call, &d) || !check_names(s, &d))
        return;
    if (!directive_is(&d, DIR_RFACTOR)) /* its new name is an argument of the function that it makes */
        update_loops(s, &d);
    if (!schedule_move_on(s, &d))
        return;
    if (loops_now(s)->names.count > MOST_LOOPS)
        diag_error(el->cx, directive_loc(call), NULL, "`%s` has more than %d loops now", s->func->name, MOST_LOOPS);
    vec_push(el->arena, &s->schedule->directives, d);
}

/* f.a(…).b(…): the innermost call is the first directive. */
static bool read_chain(Scheduling *s, const Env *env, const Ast *a)
{
    context_spend(s->el->cx, 1);
    if (a->kind != AST_CALL || a->kids[0]->kind != AST_FIELD || !a->kids[0]->name) {
        diag_error(s->el->cx, a->loc, "f.compute_root().vectorize(x, 8)",
                   "a statement of a schedule is a function and its directives");
        return false;
    }
    const char *name  = a->kids[0]->name;
    const Ast  *inner = a->kids[0]->kids[0];
    if (!strcmp(name, "update"))
        return find_definition(s, env, a, &s->func, &s->update);
    const bool first = inner->kind != AST_CALL;
    if (++s->el->depth > ELAB_MAX_DEPTH) {
        diag_error(s->el->cx, a->loc, "begin a new statement", "this chain of directives is too long");
        return false;
    }
    const bool ok = first ? find_definition(s, env, inner, &s->func, &s->update) : read_chain(s, env, inner);
    s->el->depth--;
    if (ok)
        read_directive(s, env, name, a);
    return ok;
}

static void read_items(Scheduling *s, const Env *env, Item *const *items, int count);

/* The statements of another file, as if they stood here. */
static void read_included(Scheduling *s, const Env *env, const Item *it)
{
    const Item *own = include_schedule(s->el, it);
    if (!own)
        return;
    vec_push(s->el->arena, &s->el->including, own->name);
    read_items(s, env, own->body, own->count);
    s->el->including.count--;
}

static void read_items(Scheduling *s, const Env *env, Item *const *items, int count)
{
    for (int i = 0; i < count; i++) {
        const Item *it = items[i];
        __int128    lo, hi;
        if (it->broken)
            continue;
        if (it->kind == ITEM_DIRECTIVE) {
            s->version = NULL;
            read_chain(s, env, it->value);
        } else if (it->kind == ITEM_INCLUDE) {
            read_included(s, env, it);
        } else if (it->kind == ITEM_SCHEDULE) {
            diag_error(s->el->cx, it->loc, "put it beside the other", "a schedule cannot stand inside a schedule");
        } else if (it->name && elab_known_int(s->el, env, it->lo, "the bound of `repeat`", &lo) &&
                   elab_known_int(s->el, env, it->hi, "the bound of `repeat`", &hi)) {
            if (hi - lo > REPEAT_MAX)
                diag_error(s->el->cx, it->loc, NULL, "`repeat` would not end: at most %d times are possible",
                           REPEAT_MAX);
            else
                for (__int128 k = lo; k < hi; k++) {
                    context_spend(s->el->cx, REPEAT_COST);
                    read_items(s, env_push(s->el, env, it->name, value_int(k)), it->body, it->count);
                }
        }
    }
}

/* The loops that compute_at and its like name. */
static void check_pending(Scheduling *s)
{
    for (size_t i = 0; i < s->pending.count; i++) {
        const Pending *p     = &s->pending.at[i];
        bool           found = false;
        for (int u = p->update; u < (p->update < 0 ? p->func->update_count : p->update + 1); u++)
            found |= loop_index(loops_of(s, p->func, u), p->name) >= 0;
        const Loops *l = loops_of(s, p->func, p->update);
        if (!found)
            diag_error(s->el->cx, p->loc,
                       arena_printf(s->el->arena, "its loops are %s", name_list(s->el, l->names.at, l->names.count)),
                       "`%s` has no loop `%s`", p->func->name, p->name);
    }
}

/* The directives of a schedule's items, added to the pipeline. */
static void elab_schedule(Elab *el, const Item *it, const Env *env)
{
    Scheduling s       = { .el = el, .schedule = ARENA_NEW(el->arena, Schedule) };
    s.schedule->name   = it->name;
    s.schedule->target = it->target_name;
    s.schedule->loc    = it->loc;
    map_init(&s.loops, el->arena);
    map_init(&s.functions, el->arena);
    for (size_t i = 0; i < el->p->funcs.count; i++)
        map_set_mutable(&s.functions, intern(el->cx, el->p->funcs.at[i]->name), el->p->funcs.at[i]);
    el->including.count = 0;
    vec_push(el->arena, &el->including, join_path(el, "", it->loc.source->name));
    read_items(&s, env, it->body, it->count);
    check_pending(&s);
    if (!el->cx->error_count)
        vec_push(el->arena, &el->p->schedules, s.schedule);
}

void elab_schedule_file(Elab *el, const Item *all)
{
    Item *bare  = ARENA_NEW(el->arena, Item);
    *bare       = *all;
    bare->body  = ARENA_ARRAY(el->arena, Item *, (size_t)all->count);
    bare->count = 0;
    for (int i = 0; i < all->count; i++) {
        if (all->body[i]->kind != ITEM_SCHEDULE)
            bare->body[bare->count++] = all->body[i];
        else if (!all->body[i]->broken)
            elab_schedule(el, all->body[i], el->global_env);
    }
    if (bare->count || !all->count)
        elab_schedule(el, bare, el->global_env);
}

void elab_schedules(Elab *el)
{
    for (size_t i = 0; i < el->schedules.count; i++)
        elab_schedule(el, el->schedules.at[i].item, el->schedules.at[i].env);
}
