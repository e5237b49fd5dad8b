/* SPDX-License-Identifier: MIT */
/* Programs: items are filed under their names, then everything is resolved.
 *
 * Filing goes over a list of items twice: first what stands for itself (constants, types, inputs, templates, the files
 * included), then what may use a constant to say which function it defines (definitions in `repeat`, families). */
#include "lang/elab.h"

Elab *elab_of(const kn_pipeline *p)
{
    return p->syntax;
}

Elab *elab_new(kn_pipeline *p)
{
    Elab *el       = ARENA_NEW(&p->arena, Elab);
    el->cx         = p->cx;
    el->p          = p;
    el->arena      = &p->arena;
    el->pool       = &p->exprs;
    el->global     = scope_new(el, NULL, "");
    el->global_env = env_root(el, el->global);
    el->var_type   = KN_I32;
    p->syntax      = el;
    map_init(&el->name_counts, el->arena);
    map_init(&el->refs, el->arena);
    map_init(&el->instances, el->arena);
    map_init(&el->includes, el->arena);
    map_init(&el->reductions, el->arena);
    return el;
}

/* ---- Entries ---------------------------------------------------------------------------- */

/* clang-format off */
static const char *const kind_words[] = {
    [ENTRY_CONST] = "a constant", [ENTRY_TYPE] = "a type",        [ENTRY_PARAM] = "a parameter",
      [ENTRY_INPUT] = "an input",
    [ENTRY_EXTERN] = "a C function", [ENTRY_STAGE] = "an extern stage", [ENTRY_TEMPLATE] = "a template",
    [ENTRY_FUNC] = "a function",
    [ENTRY_ALIAS] = "a function",
};
/* clang-format on */

/* Diagnoses a redefinition of a name, at the later place. If the two are of different kinds, no more errors about the
 * name follow: which one is right is unknown. */
static void report_redefinition(Elab *el, Entry *old, EntryKind kind, const char *name, Loc loc)
{
    const bool is_default = (old->kind == ENTRY_CONST || old->kind == ENTRY_TYPE) && old->file > el->file;
    const bool swapped    = old->loc.source == loc.source && old->loc.start > loc.start;
    diag_error(el->cx, swapped ? old->loc : loc,
               is_default ? "to replace a default of an included file, set it before the include" : NULL,
               "`%s` is already %s", name, kind_words[swapped ? kind : old->kind]);
    if (old->loc.source)
        diag_note(el->cx, swapped ? loc : old->loc, "it is defined here");
    if (kind != old->kind) {
        old->state = ENTRY_DONE;
        old->value = ERROR_VALUE;
    }
}

/* A new entry, or NULL (diagnosed) if the name is taken. */
static Entry *file_entry(Elab *el, const Env *env, EntryKind kind, const char *name, Loc loc, const Item *it)
{
    NameScope *s   = env_scope(env);
    Entry     *old = scope_find(s, name);
    if (old) {
        report_redefinition(el, old, kind, name, loc);
        return NULL;
    }
    if (kn_type_from_name(name) != KN_NONE || !strcmp(name, "if")) {
        diag_error(el->cx, loc, "choose another name", "`%s` is %s of the language", name,
                   kn_type_from_name(name) ? "a type" : "a word");
        return NULL;
    }
    if (++el->entry_count > ENTRY_MAX)
        context_bail(el->cx, KN_ERROR_LIMIT, "the program has more than 200000 definitions");
    Entry *e     = ARENA_NEW(el->arena, Entry);
    e->kind      = kind;
    e->name      = name;
    e->full_name = *s->prefix ? intern(el->cx, arena_printf(el->arena, "%s%s", s->prefix, name)) : name;
    e->loc       = loc;
    e->item      = it;
    e->env       = env;
    e->file      = el->file;
    map_set_mutable(&s->entries, name, e);
    vec_push(el->arena, &s->order, e);
    if (kind == ENTRY_FUNC || kind == ENTRY_ALIAS || kind == ENTRY_STAGE)
        vec_push(el->arena, &el->funcs, e);
    return e;
}

/* A const or type of an included file is a default: one that is set already stays. */
static void file_default(Elab *el, const Env *env, const Item *it)
{
    const Entry *old = it->name ? scope_find(env_scope(env), it->name) : NULL;
    if (!it->name ||
        (old && el->file > 0 && old->file != el->file && (old->kind == ENTRY_CONST || old->kind == ENTRY_TYPE)))
        return;
    file_entry(el, env, it->kind == ITEM_CONST ? ENTRY_CONST : ENTRY_TYPE, it->name, it->loc, it);
}

static void file_named(Elab *el, const Env *env, const Item *it)
{
    static const EntryKind kinds[] = {
        [ITEM_PARAM] = ENTRY_PARAM, [ITEM_INPUT] = ENTRY_INPUT, [ITEM_EXTERN] = ENTRY_EXTERN
    };
    static const char *const words[] = { [ITEM_PARAM] = "param", [ITEM_INPUT] = "input", [ITEM_EXTERN] = "extern" };
    if (env_scope(env) != el->global)
        diag_error(el->cx, it->loc, "give it to the template as an argument", "`%s` stands at the top of a program",
                   words[it->kind]);
    else if (it->name)
        file_entry(el, env, kinds[it->kind], it->name, it->loc, it);
}

static void file_template(Elab *el, const Env *env, const Item *it)
{
    if (!it->name)
        return;
    for (int i = 1; !it->broken && i < it->target->count; i++)
        if (it->target->kids[i]->kind != AST_NAME || it->target->labels[i]) {
            diag_error(el->cx, it->target->kids[i]->loc, NULL, "the arguments of a template are plain names");
            return;
        }
    file_entry(el, env, ENTRY_TEMPLATE, it->name, it->loc, it);
}

/* f(x) = … defines a function or adds an update; f = … makes an alias. */
static void file_define(Elab *el, const Env *env, const Item *it)
{
    const bool call = it->target->kind == AST_CALL;
    const Ast *head = call ? it->target->kids[0] : it->target;
    if (head->kind == AST_FIELD) {
        diag_error(el->cx, head->loc, "a name has letters, digits and _", "a function is defined under a plain name");
        el->lost = true;
        return;
    }
    const char *name = family_name(el, env, head);
    if (!name)
        return;
    if (!call) {
        if ((it->op != T_SET || it->clause) && !it->broken) {
            diag_error(el->cx, it->loc, arena_printf(el->arena, "%s(…) += …", name), "an update has arguments");
            return;
        }
        file_entry(el, env, ENTRY_ALIAS, name, it->loc, it);
        return;
    }
    Entry *e = scope_find(env_scope(env), name);
    if (e && e->kind != ENTRY_FUNC) {
        report_redefinition(el, e, ENTRY_FUNC, name, it->loc);
        return;
    }
    e = e ? e : file_entry(el, env, ENTRY_FUNC, name, it->loc, it);
    if (e)
        vec_push(el->arena, &e->definitions, ((Definition){ it, env }));
}

static void file_stage(Elab *el, const Env *env, const Item *it)
{
    if (it->name)
        file_entry(el, env, ENTRY_STAGE, it->name, it->loc, it);
}

static void file_output(Elab *el, const Env *env, const Item *it)
{
    if (it->broken)
        el->lost |= it->kind == ITEM_OUTPUT;
    else if (env_scope(env) != el->global)
        diag_error(el->cx, it->loc, NULL, "`%s` stands at the top of a program",
                   it->kind == ITEM_OUTPUT ? "output" : "estimate");
    else if (it->kind == ITEM_OUTPUT)
        vec_push(el->arena, &el->outputs, ((Definition){ it, env }));
    else
        vec_push(el->arena, &el->estimates, ((Definition){ it, env }));
}

static void file_schedule(Elab *el, const Env *env, const Item *it)
{
    if (!it->broken)
        vec_push(el->arena, &el->schedules, ((Definition){ it, env }));
}

static void file_repeat(Elab *el, const Env *env, const Item *it)
{
    __int128 lo, hi;
    if (!it->name || !elab_known_int(el, env, it->lo, "the bound of `repeat`", &lo) ||
        !elab_known_int(el, env, it->hi, "the bound of `repeat`", &hi)) {
        el->lost = true;
        return;
    }
    if (hi - lo > REPEAT_MAX) {
        el->lost = true;
        diag_error(el->cx, loc_join(it->lo->loc, it->hi->loc), NULL,
                   "`repeat` would not end: at most %d times are possible", REPEAT_MAX);
        return;
    }
    for (__int128 i = lo; i < hi; i++) {
        context_spend(el->cx, REPEAT_COST * (1 + (uint64_t)it->count));
        file_items(el, env_push(el, env, it->name, value_int(i)), it->body, it->count);
    }
}

/* ---- Includes --------------------------------------------------------------------------- */

/* The path of an included file: beside the including one, without "./" and "dir/../". */
const char *join_path(Elab *el, const char *from, const char *name)
{
    const char *slash = strrchr(from, '/');
    const char *path =
        name[0] == '/' || !slash ? name : arena_printf(el->arena, "%.*s/%s", (int)(slash - from), from, name);
    char  *out = arena_alloc(el->arena, strlen(path) + 1);
    size_t n   = 0;
    for (const char *s = path; *s;) {
        const size_t part = strcspn(s, "/");
        size_t       last = n;
        while (last > 0 && (last == n || out[last - 1] != '/'))
            last--;
        const bool up_ok = n > 0 && strncmp(out + last, "../", 3) && !(n == 1 && out[0] == '/');
        if (part == 2 && !strncmp(s, "..", 2) && up_ok) {
            n = last;
        } else if (!(part == 1 && *s == '.') && (part || s == path)) {
            memcpy(out + n, s, part);
            n += part;
            if (s[part])
                out[n++] = '/';
        }
        s += part + (s[part] == '/');
    }
    out[n] = 0;
    return out;
}

static bool has_path(const char *const *paths, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(paths[i], path))
            return true;
    return false;
}

/* Reads the file that `it` names, by its path now; what is in it becomes the body of the include. False after a
 * diagnostic. */
static bool read_include(Elab *el, Item *it, Item *(*parse)(kn_context *cx, Arena *arena, const Source *source))
{
    if (has_path(el->including.at, el->including.count, it->name)) {
        Text t;
        text_init(&t, el->arena);
        for (size_t i = 0; i < el->including.count; i++)
            text_printf(&t, "%s includes ", el->including.at[i]);
        diag_error(el->cx, it->loc, NULL, "files include each other: %s%s", text_string(&t), it->name);
        return false;
    }
    if (el->including.count > 32) {
        diag_error(el->cx, it->loc, NULL, "includes are nested more than 32 deep");
        return false;
    }
    size_t      size = 0;
    const char *text = pipeline_read_file(el->p, it->name, &size);
    if (!text) {
        diag_error(el->cx, it->loc, "an include is looked for beside the file it stands in", "cannot read `%s`",
                   it->name);
        return false;
    }
    Source *s       = ARENA_NEW(el->arena, Source);
    *s              = (Source){ it->name, text, size };
    const Item *all = parse(el->cx, el->arena, s);
    it->body        = all->body;
    it->count       = all->count;
    return !all->broken;
}

/* A copy of the include that has its path and can have a body: items are not changed after parsing. */
static Item *own_include(Elab *el, const Item *it)
{
    Item *own = ARENA_NEW(el->arena, Item);
    *own      = *it;
    own->name = join_path(el, it->loc.source->name, it->name);
    return own;
}

/* An include of a program is read once, however often it is named. */
static const Item *file_include(Elab *el, const Item *it)
{
    Item *own = own_include(el, it);
    map_set(&el->includes, it, own);
    if (has_path(el->included.at, el->included.count, own->name) &&
        !has_path(el->including.at, el->including.count, own->name))
        return own;
    el->lost |= !read_include(el, own, parse_program);
    vec_push(el->arena, &el->included, own->name);
    return own;
}

/* One of a schedule is read wherever it stands, and may be in several. */
Item *include_schedule(Elab *el, const Item *it)
{
    Item *own = own_include(el, it);
    return read_include(el, own, parse_schedule) ? own : NULL;
}

/* ---- Filing ----------------------------------------------------------------------------- */

typedef void FileItem(Elab *el, const Env *env, const Item *it);

static FileItem file_include_first, file_include_second, file_misplaced;

/* What each of the two passes does with an item. */
/* clang-format off */
static const struct { FileItem *first, *second; } filing[] = {
    [ITEM_INCLUDE] = { file_include_first, file_include_second },
    [ITEM_TYPE] = { file_default, NULL },
    [ITEM_CONST] = { file_default, NULL },
    [ITEM_PARAM] = { file_named, NULL },
    [ITEM_INPUT] = { file_named, NULL },
    [ITEM_EXTERN] = { file_named, NULL },
    [ITEM_TEMPLATE] = { file_template, NULL },
    [ITEM_OUTPUT] = { NULL, file_output },
    [ITEM_ESTIMATE] = { NULL, file_output },
    [ITEM_STAGE] = { NULL, file_stage },
    [ITEM_RETURN] = { file_misplaced, NULL },
    [ITEM_REPEAT] = { NULL, file_repeat },
    [ITEM_SCHEDULE] = { NULL, file_schedule },
    [ITEM_DIRECTIVE] = { file_misplaced, NULL },
    [ITEM_DEFINE] = { NULL, file_define },
};
/* clang-format on */

static void file_pass(Elab *el, const Env *env, Item *const *items, int count, bool second)
{
    for (int i = 0; i < count; i++) {
        FileItem *file = second ? filing[items[i]->kind].second : filing[items[i]->kind].first;
        if (file)
            file(el, env, items[i]);
    }
}

static void file_misplaced(Elab *el, const Env *env, const Item *it)
{
    (void)env;
    diag_error(el->cx, it->loc, NULL, "`return` stands only at the end of a template");
}

/* The items of an included file are filed under a number of their own, so that two constants of one file clash. */
static void file_included(Elab *el, const Env *env, const Item *it, bool second)
{
    const int file = el->file;
    el->file       = second ? 1 : ++el->file_count;
    vec_push(el->arena, &el->including, it->name);
    file_pass(el, env, it->body, it->count, second);
    el->including.count--;
    el->file = file;
}

static void file_include_first(Elab *el, const Env *env, const Item *it)
{
    if (env_scope(env) != el->global || !env->scope) {
        diag_error(el->cx, it->loc, NULL, "`include` stands at the top of a program");
        el->lost = true;
        return;
    }
    file_included(el, env, file_include(el, it), false);
}

static void file_include_second(Elab *el, const Env *env, const Item *it)
{
    const Item *own = map_get(&el->includes, it);
    if (own)
        file_included(el, env, own, true);
}

void file_items(Elab *el, const Env *env, Item *const *items, int count)
{
    file_pass(el, env, items, count, false);
    file_pass(el, env, items, count, true);
}

/* ---- Resolving -------------------------------------------------------------------------- */

static void resolve_functions(Elab *el)
{
    for (size_t i = 0; i < el->global->order.count; i++)
        resolve_in_order(el, el->global->order.at[i]);
    /* both lists grow while they are walked: an update may instantiate a template */
    size_t pure = 0, updated = 0;
    while (pure < el->funcs.count || updated < el->funcs.count) {
        for (; pure < el->funcs.count; pure++)
            resolve_in_order(el, el->funcs.at[pure]);
        Entry *e = el->funcs.at[updated++];
        if (!e->func || e->kind != ENTRY_FUNC)
            continue;
        el->current = e->full_name;
        for (size_t k = 1; k < e->definitions.count; k++)
            define_update(el, e, &e->definitions.at[k]);
        el->current = NULL;
    }
}

/* out(x, y) = f(x, y), for an output that names something else than a function of its own. */
static Func *identity_function(Elab *el, const char *name, Loc loc, const FuncRef *of)
{
    const Func *g = of->func;
    const Expr *args[KN_MAX_RANK];
    for (int d = 0; d < g->rank; d++)
        args[d] = expr_var(el->pool, KN_I32, g->args[d]);
    ElabValue v        = call_ref(el, of, args);
    Func     *f        = pipeline_add_func(el->p, FUNC_DEFINED, unique_name(el, name), loc, g->rank, g->args);
    f->component_count = g->component_count;
    f->types           = g->types;
    f->values          = ARENA_ARRAY(el->arena, const Expr *, (size_t)g->component_count);
    for (int i = 0; i < g->component_count; i++)
        f->values[i] = v.kind == VAL_TUPLE ? v.items[i].expr : v.expr;
    return f;
}

static void resolve_output(Elab *el, const Definition *d)
{
    const char *name = family_name(el, d->env, d->item->target);
    ElabValue   v    = name ? lookup(el, d->env, name, d->item->loc) : ERROR_VALUE;
    if (v.kind == VAL_ERROR)
        return;
    if (v.kind != VAL_FUNC) {
        diag_error(el->cx, d->item->loc, NULL, "an output is a function, this is %s", value_describe(el, v));
        return;
    }
    for (size_t i = 0; i < el->p->outputs.count; i++)
        if (!strcmp(el->p->outputs.at[i].name, name)) {
            diag_error(el->cx, d->item->loc, NULL, "`%s` is an output already", name);
            return;
        }
    Func *f = v.func->func;
    if (!v.func->boundary && f->kind == FUNC_INPUT && !strcmp(f->name, name)) {
        diag_error(el->cx, d->item->loc,
                   arena_printf(el->arena, "give it another name: output out, and out = %s", name),
                   "`%s` is an input: an output has a name of its own", name);
        return;
    }
    if (v.func->boundary || f->kind == FUNC_INPUT || strcmp(f->name, name))
        f = identity_function(el, name, d->item->loc, v.func);
    vec_push(el->arena, &el->p->outputs, ((Output){ .name = name, .func = f, .loc = d->item->loc }));
}

/* Is there such an `output`, even if something is wrong with it? */
static bool is_declared_output(Elab *el, const char *name)
{
    for (size_t i = 0; i < el->outputs.count; i++)
        if (family_name(el, el->outputs.at[i].env, el->outputs.at[i].item->target) == name)
            return true;
    return el->lost;
}

static void resolve_estimate(Elab *el, const Definition *d)
{
    const Ast *call = d->item->target;
    if (call->kind != AST_CALL) {
        diag_error(el->cx, d->item->loc, "estimate out(2560, 1536, 3)", "an estimate gives the extents of an output");
        return;
    }
    const char *name = family_name(el, d->env, call->kids[0]);
    Output     *o    = NULL;
    for (size_t i = 0; name && i < el->p->outputs.count; i++)
        if (!strcmp(el->p->outputs.at[i].name, name))
            o = &el->p->outputs.at[i];
    if (!name)
        return;
    if (!o) {
        if (!is_declared_output(el, name))
            diag_error(el->cx, d->item->loc, NULL, "`%s` is not an output: estimates are for outputs", name);
        return;
    }
    if (o->estimate) {
        diag_error(el->cx, d->item->loc, NULL, "`%s` has an estimate already", name);
        return;
    }
    if (call->count - 1 != o->func->rank) {
        diag_error(el->cx, call->loc, NULL, "`%s` has %d dimension%s, the estimate %d", name, o->func->rank,
                   o->func->rank == 1 ? "" : "s", call->count - 1);
        return;
    }
    int32_t *extents = ARENA_ARRAY(el->arena, int32_t, (size_t)o->func->rank);
    for (int i = 0; i < o->func->rank; i++) {
        __int128 v;
        if (!elab_known_int(el, d->env, call->kids[i + 1], "an extent", &v))
            return;
        if (v < 1 || v > INT32_MAX) {
            diag_error(el->cx, call->kids[i + 1]->loc, NULL, "an extent is between 1 and %d", INT32_MAX);
            return;
        }
        extents[i] = (int32_t)v;
    }
    o->estimate = extents;
}

void elab_check_defines(Elab *el)
{
    VEC(const char *) known = { 0 };
    for (size_t i = 0; i < el->global->order.count; i++)
        if (el->global->order.at[i]->kind == ENTRY_CONST || el->global->order.at[i]->kind == ENTRY_TYPE)
            vec_push(el->arena, &known, el->global->order.at[i]->name);
    const Map *m = &el->cx->defines;
    for (size_t i = 0; i < m->capacity; i++) {
        if (!m->keys[i] || !m->values[i].kept || has_path(el->used_defines.at, el->used_defines.count, m->keys[i]))
            continue;
        const Entry *e = scope_find(el->global, m->keys[i]);
        diag_error(el->cx, (Loc){ 0 },
                   e && e->kind == ENTRY_PARAM ? "a parameter is given without -D: name=VALUE"
                                               : text_suggest(el->arena, m->keys[i], known.at, known.count),
                   "-D %s: the program has no constant or type of that name", (const char *)m->keys[i]);
    }
}

void elab_resolve_all(Elab *el)
{
    resolve_functions(el);
    for (size_t i = 0; i < el->outputs.count; i++)
        resolve_output(el, &el->outputs.at[i]);
    for (size_t i = 0; i < el->estimates.count; i++)
        resolve_estimate(el, &el->estimates.at[i]);
    if (!el->outputs.count && !el->cx->error_count)
        diag_error(el->cx, (Loc){ el->main, 0, 0 }, "say which function is the result: output out",
                   "the program has no output");
}
