/* SPDX-License-Identifier: MIT */
/* The builder: pipelines from calls. It makes the syntax tree that the parser would make, so everything after is the
 * same. */
#include "lang/elab.h"

struct kn_expr {
    kn_pipeline *p;
    Ast         *ast;
};

struct kn_func {
    kn_pipeline *p;
    const char  *name;
    Ast         *ast; /* what stands before the arguments of a call: its name, or a boundary around it */
    int          rank;
    const char **args;
};

/* ---- Making things under the context's protection --------------------------------------- */

/* A node to be made: what it is, and its operands. */
typedef struct Make {
    kn_pipeline    *p;
    AstKind         kind;
    TokenKind       op;
    const char     *name;
    __int128        integer;
    double          real;
    Ast            *callee;
    int             count;
    kn_expr *const *kids;
    kn_expr        *result;
} Make;

static void make_node(void *arg)
{
    Make     *m    = arg;
    Arena    *ar   = &m->p->arena;
    const int head = m->callee != NULL;
    Ast      *a    = ast_new(ar, m->kind, (Loc){ 0 }, head + m->count);
    a->op          = m->op;
    a->name        = m->name ? intern(m->p->cx, m->name) : NULL;
    a->integer     = (unsigned __int128)m->integer;
    a->real        = m->real;
    a->real32      = (float)m->real;
    a->labels      = ARENA_ARRAY(ar, Ast *, (size_t)a->count);
    if (head)
        a->kids[0] = m->callee;
    for (int i = 0; i < m->count; i++)
        a->kids[head + i] = m->kids[i]->ast;
    m->result      = ARENA_NEW(ar, kn_expr);
    m->result->p   = m->p;
    m->result->ast = a;
}

/* The first mistake in building is kept and reported by kn_pipeline_finish. */
static void *mistake(kn_pipeline *p, const char *what)
{
    Elab *el = p ? elab_of(p) : NULL;
    if (el && !el->build_error)
        el->build_error = what;
    return NULL;
}

static bool can_build(kn_pipeline *p)
{
    if (p && p->finished)
        mistake(p, "a finished pipeline was built on");
    return p && elab_of(p) && !p->finished;
}

static kn_expr *make(Make m)
{
    if (!can_build(m.p))
        return NULL;
    for (int i = 0; i < m.count; i++)
        if (!m.kids || !m.kids[i] || m.kids[i]->p != m.p)
            return mistake(m.p, m.kids && m.kids[i] ? "an expression of another pipeline was used"
                                                    : "a NULL was used as an expression");
    return context_try(m.p->cx, make_node, &m) ? m.result : mistake(m.p, "out of memory");
}

static kn_expr *make_name(kn_pipeline *p, const char *name)
{
    return name ? make((Make){ .p = p, .kind = AST_NAME, .name = name }) : mistake(p, "a NULL was used as a name");
}

/* ---- Expressions ------------------------------------------------------------------------ */

kn_expr *kn_var(kn_pipeline *p, const char *name)
{
    return make_name(p, name);
}

kn_expr *kn_const(kn_pipeline *p, kn_scalar value)
{
    const bool negative = value.is_float ? value.as.f < 0 : value.as.i < 0;
    kn_expr   *e =
        value.is_float
              ? make((Make){ .p = p, .kind = AST_FLOAT, .real = negative ? -value.as.f : value.as.f })
              : make((Make){ .p = p, .kind = AST_INT, .integer = negative ? -(__int128)value.as.i : value.as.i });
    return negative && e ? make((Make){ .p = p, .kind = AST_UNARY, .op = T_SUB, .count = 1, .kids = &e }) : e;
}

kn_expr *kn_call(kn_func *f, int count, kn_expr *const *args)
{
    if (!f)
        return NULL;
    return make((Make){ .p = f->p, .kind = AST_CALL, .callee = f->ast, .count = count < 0 ? 0 : count, .kids = args });
}

kn_expr *kn_component(kn_expr *tuple, int index)
{
    if (!tuple)
        return NULL;
    return make(
        (Make){ .p = tuple->p, .kind = AST_FIELD, .integer = index < 0 ? 1000 : index, .count = 1, .kids = &tuple });
}

kn_expr *kn_extent(kn_func *input, int dim)
{
    if (!input)
        return NULL;
    if (dim < 0 || dim >= input->rank)
        return mistake(input->p, "kn_extent was asked for a dimension that the input has not");
    kn_expr  whole = { input->p, input->ast }, *kid = &whole;
    kn_expr *d = make((Make){ .p = input->p, .kind = AST_FIELD, .name = input->args[dim], .count = 1, .kids = &kid });
    return d ? make((Make){ .p = input->p, .kind = AST_FIELD, .name = "extent", .count = 1, .kids = &d }) : NULL;
}

kn_expr *kn_apply(kn_pipeline *p, const char *name, int count, kn_expr *const *args)
{
    kn_expr *callee = make_name(p, name);
    return callee ? make((Make){
                        .p = p, .kind = AST_CALL, .callee = callee->ast, .count = count < 0 ? 0 : count, .kids = args })
                  : NULL;
}

kn_expr *kn_cast(kn_type type, kn_expr *e)
{
    if (!e)
        return NULL;
    return kn_type_name(type) ? kn_apply(e->p, kn_type_name(type), 1, &e) : mistake(e->p, "kn_cast was given no type");
}

kn_expr *kn_if(kn_expr *condition, kn_expr *yes, kn_expr *no)
{
    if (!condition)
        return NULL;
    return make((Make){ .p = condition->p, .kind = AST_IF, .count = 3, .kids = (kn_expr *[]){ condition, yes, no } });
}

kn_expr *kn_binary(const char *operator_, kn_expr *a, kn_expr *b)
{
    if (!a || !b)
        return a   ? mistake(a->p, "a NULL was used as an expression")
               : b ? mistake(b->p, "a NULL was used as an expression")
                   : NULL;
    for (int k = 0; operator_ && k < T_COUNT; k++)
        if (binary_binding((TokenKind)k) && !strcmp(token_text((TokenKind)k), operator_))
            return make(
                (Make){ .p = a->p, .kind = AST_BINARY, .op = (TokenKind)k, .count = 2, .kids = (kn_expr *[]){ a, b } });
    return mistake(a->p, "kn_binary was given something that is no operator");
}

kn_expr *kn_unary(const char *operator_, kn_expr *a)
{
    static const TokenKind ops[] = { T_SUB, T_NOT, T_BITNOT };
    if (!a)
        return NULL;
    for (size_t i = 0; operator_ && i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(token_text(ops[i]), operator_))
            return make((Make){ .p = a->p, .kind = AST_UNARY, .op = ops[i], .count = 1, .kids = &a });
    return mistake(a->p, "kn_unary was given something that is no operator");
}

kn_expr *kn_add(kn_expr *a, kn_expr *b)
{
    return kn_binary("+", a, b);
}
kn_expr *kn_sub(kn_expr *a, kn_expr *b)
{
    return kn_binary("-", a, b);
}
kn_expr *kn_mul(kn_expr *a, kn_expr *b)
{
    return kn_binary("*", a, b);
}
kn_expr *kn_div(kn_expr *a, kn_expr *b)
{
    return kn_binary("/", a, b);
}
kn_expr *kn_mod(kn_expr *a, kn_expr *b)
{
    return kn_binary("%", a, b);
}

/* ---- Items ------------------------------------------------------------------------------ */

/* An item to be made. Its place, for diagnostics, is a text made for it: "blurx(x, y) = …". */
typedef struct MakeItem {
    kn_pipeline       *p;
    ItemKind           kind;
    const char        *name;
    kn_type            type;
    int                rank;
    const char *const *args;    /* plain arguments … */
    kn_expr *const    *indices; /* … or any */
    int                count;   /* of values: more than one make a tuple */
    kn_expr *const    *values;
    int                range_count;
    const kn_range    *ranges;
    kn_expr           *where;
    kn_func           *func;
} MakeItem;

static Ast *name_node(kn_pipeline *p, const char *name, Loc loc)
{
    Ast *a  = ast_new(&p->arena, AST_NAME, loc, 0);
    a->name = intern(p->cx, name);
    return a;
}

/* name(args), with plain names or any expressions for arguments. */
static Ast *call_node(const MakeItem *m, const char *name, Loc loc)
{
    Ast *call     = ast_new(&m->p->arena, AST_CALL, loc, m->rank + 1);
    call->labels  = ARENA_ARRAY(&m->p->arena, Ast *, (size_t)m->rank + 1);
    call->kids[0] = name_node(m->p, name, loc);
    for (int i = 0; i < m->rank; i++)
        call->kids[i + 1] = m->indices ? m->indices[i]->ast : name_node(m->p, m->args[i], loc);
    return call;
}

static Clause *clause_node(const MakeItem *m, Loc loc)
{
    if (!m->range_count && !m->where)
        return NULL;
    Arena       *ar = &m->p->arena;
    const size_t n  = (size_t)m->range_count;
    Clause      *c  = ARENA_NEW(ar, Clause);
    *c              = (Clause){ loc,
                                m->range_count,
                                ARENA_ARRAY(ar, const char *, n),
                                ARENA_ARRAY(ar, Loc, n),
                                ARENA_ARRAY(ar, Ast *, n),
                                ARENA_ARRAY(ar, Ast *, n),
                   m->where ? m->where->ast : NULL };
    for (size_t i = 0; i < n; i++) {
        c->names[i] = intern(m->p->cx, m->ranges[i].name);
        c->locs[i]  = loc;
        c->lo[i]    = m->ranges[i].from->ast;
        c->hi[i]    = m->ranges[i].to->ast;
    }
    return c;
}

static Loc item_place(const MakeItem *m)
{
    static const char *const words[] = {
        [ITEM_INPUT] = "input ", [ITEM_PARAM] = "param ", [ITEM_OUTPUT] = "output ", [ITEM_DEFINE] = ""
    };
    Source *s = ARENA_NEW(&m->p->arena, Source);
    s->name   = m->p->name;
    s->text = arena_printf(&m->p->arena, "%s%s%s", words[m->kind], m->name, m->kind == ITEM_DEFINE ? "(…) = …" : "");
    s->length = strlen(s->text);
    return (Loc){ s, 0, (uint32_t)s->length };
}

static Ast *value_node(const MakeItem *m, Loc loc)
{
    if (!m->count)
        return NULL;
    if (m->count == 1)
        return m->values[0]->ast;
    Ast *t = ast_new(&m->p->arena, AST_TUPLE, loc, m->count);
    for (int i = 0; i < m->count; i++)
        t->kids[i] = m->values[i]->ast;
    return t;
}

static void make_item(void *arg)
{
    MakeItem *m   = arg;
    Arena    *ar  = &m->p->arena;
    const Loc loc = item_place(m);
    Item     *it  = ARENA_NEW(ar, Item);
    it->kind      = m->kind;
    it->loc       = loc;
    it->name      = intern(m->p->cx, m->name);
    it->op        = T_SET;
    it->value     = value_node(m, loc);
    it->clause    = clause_node(m, loc);
    if (m->kind == ITEM_INPUT)
        it->type = call_node(m, kn_type_name(m->type), loc);
    else if (m->kind == ITEM_PARAM)
        it->type = name_node(m->p, kn_type_name(m->type), loc);
    else
        it->target = m->kind == ITEM_DEFINE ? call_node(m, m->name, loc) : name_node(m->p, m->name, loc);
    m->func  = ARENA_NEW(ar, kn_func);
    *m->func = (kn_func){ m->p, it->name, name_node(m->p, m->name, loc), m->rank,
                          ARENA_ARRAY(ar, const char *, (size_t)m->rank) };
    for (int i = 0; m->args && i < m->rank; i++)
        m->func->args[i] = intern(m->p->cx, m->args[i]);
    vec_push(ar, &elab_of(m->p)->built, it);
}

static bool expressions_ok(kn_pipeline *p, int count, kn_expr *const *e)
{
    for (int i = 0; i < count; i++)
        if (!e || !e[i] || e[i]->p != p)
            return mistake(p, "a definition was given a NULL, or an expression of another pipeline"), false;
    return true;
}

static kn_func *add_item(MakeItem m)
{
    if (!can_build(m.p))
        return NULL;
    if (!m.name || m.rank < 0 || m.count < 0 || m.range_count < 0 || (m.rank && !m.args && !m.indices))
        return mistake(m.p, "a definition lacks its name or its arguments");
    for (int i = 0; m.args && i < m.rank; i++)
        if (!m.args[i])
            return mistake(m.p, "the name of an argument is NULL");
    for (int i = 0; i < m.range_count; i++)
        if (!m.ranges || !m.ranges[i].name || !expressions_ok(m.p, 1, &m.ranges[i].from) ||
            !expressions_ok(m.p, 1, &m.ranges[i].to))
            return mistake(m.p, "a range lacks its name or a bound");
    if (!expressions_ok(m.p, m.count, m.values) || (m.indices && !expressions_ok(m.p, m.rank, m.indices)) ||
        (m.where && !expressions_ok(m.p, 1, &m.where)))
        return NULL;
    return context_try(m.p->cx, make_item, &m) ? m.func : mistake(m.p, "out of memory");
}

kn_func *kn_input(kn_pipeline *p, const char *name, kn_type type, int rank, const char *const *dims)
{
    if (!kn_type_name(type))
        return mistake(p, "an input has no such type");
    return add_item((MakeItem){ .p = p, .kind = ITEM_INPUT, .name = name, .type = type, .rank = rank, .args = dims });
}

kn_expr *kn_param(kn_pipeline *p, const char *name, kn_type type, kn_scalar value)
{
    if (!kn_type_name(type))
        return mistake(p, "a parameter has no such type");
    kn_expr *v = type == KN_BOOL ? make_name(p, value.as.i ? "true" : "false") : kn_const(p, value);
    return v && add_item((MakeItem){ .p = p, .kind = ITEM_PARAM, .name = name, .type = type, .count = 1, .values = &v })
               ? make_name(p, name)
               : NULL;
}

kn_status kn_output(kn_func *f)
{
    if (!f)
        return KN_ERROR_ARGUMENT;
    return add_item((MakeItem){ .p = f->p, .kind = ITEM_OUTPUT, .name = f->name }) ? KN_OK : KN_ERROR_ARGUMENT;
}

kn_func *kn_define_func(kn_pipeline *p, const char *name, int rank, const char *const *args, int count,
                        kn_expr *const *values)
{
    if (count < 1)
        return mistake(p, "a function has at least one value");
    return add_item((MakeItem){
        .p = p, .kind = ITEM_DEFINE, .name = name, .rank = rank, .args = args, .count = count, .values = values });
}

kn_status kn_update(kn_func *f, kn_expr *const *args, int count, kn_expr *const *values, int range_count,
                    const kn_range *ranges, kn_expr *where)
{
    if (!f || count < 1)
        return KN_ERROR_ARGUMENT;
    const MakeItem m = { .p           = f->p,
                         .kind        = ITEM_DEFINE,
                         .name        = f->name,
                         .rank        = f->rank,
                         .indices     = args,
                         .count       = count,
                         .values      = values,
                         .range_count = range_count,
                         .ranges      = ranges,
                         .where       = where };
    return add_item(m) ? KN_OK : KN_ERROR_ARGUMENT;
}

typedef struct MakeFunc {
    const kn_func *like;
    Ast           *ast;
    kn_func       *result;
} MakeFunc;

static void make_func(void *arg)
{
    MakeFunc *m    = arg;
    m->result      = ARENA_NEW(&m->like->p->arena, kn_func);
    *m->result     = *m->like;
    m->result->ast = m->ast;
}

kn_func *kn_boundary(kn_func *input, const char *kind)
{
    if (!input)
        return NULL;
    kn_expr  whole = { input->p, input->ast }, *kid = &whole;
    kn_expr *call = kn_apply(input->p, kind, 1, &kid);
    if (!call)
        return NULL;
    MakeFunc m = { input, call->ast, NULL };
    return context_try(input->p->cx, make_func, &m) ? m.result : mistake(input->p, "out of memory");
}

/* ---- Pipelines -------------------------------------------------------------------------- */

typedef struct BuildCall {
    kn_pipeline *p;
    const char  *name;
} BuildCall;

static void begin_build(void *arg)
{
    BuildCall *call = arg;
    call->p->name   = arena_strdup(&call->p->arena, call->name);
    (void)elab_new(call->p);
}

kn_pipeline *kn_pipeline_new(kn_context *cx, const char *name)
{
    if (!cx)
        return NULL;
    context_begin(cx);
    kn_pipeline *p = pipeline_new(cx, "");
    if (!p)
        return NULL;
    BuildCall call = { p, name ? name : "pipeline" };
    if (context_try(cx, begin_build, &call))
        return p;
    pipeline_free(p, true);
    return NULL;
}

static void finish_build(void *arg)
{
    kn_pipeline *p  = arg;
    Elab        *el = elab_of(p);
    file_items(el, el->global_env, el->built.at, (int)el->built.count);
    elab_resolve_all(el);
    if (!p->cx->error_count)
        pipeline_check(p);
}

kn_status kn_pipeline_finish(kn_pipeline *p)
{
    if (!p)
        return KN_ERROR_ARGUMENT;
    context_begin(p->cx);
    Elab *el = elab_of(p);
    if (p->finished || !el)
        return diag_status(p->cx, KN_ERROR_ARGUMENT, "this pipeline is finished already");
    if (el->build_error)
        return diag_status(p->cx, KN_ERROR_ARGUMENT, "%s", el->build_error);
    context_call(p->cx, finish_build, p);
    if (p->cx->status)
        el->build_error = "kn_pipeline_finish failed before";
    return p->cx->status;
}
