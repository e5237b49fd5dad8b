/* SPDX-License-Identifier: MIT */
/* Flattening: functions become buffers, coordinates become an index.
 *
 * Takes   loops over functions called by coordinates, and storage as boxes.
 * Gives   index = sum of (coordinate - min) * stride over the dimensions, in 64 bits. A folded dimension has
 *         coordinate % factor. The stride of the dense dimension is the constant 1, for ports too: the runtime sees to
 *         that.
 * Holds   coordinates stay in 32 bits. Constant sizes give constant strides. The simplifier keeps constant offsets
 *         last.
 * From    Ragan-Kelley et al. 2013, section 4.4. */
#include "lower/bounds/index_expr.h"

/* The open storage of a function. */
typedef struct OpenStorage {
    const Func    *func;
    const Buffer **buffers; /* per component */
    const Expr    *min[KN_MAX_RANK], *extent[KN_MAX_RANK];
    const Expr   **stride[KN_MAX_RANK]; /* i64, per component: each port component has its own layout */
    const int64_t *fold;                /* NULL: none */
} OpenStorage;

typedef struct Flatten {
    Lower  *lw;
    StmtMap map;
    VEC(OpenStorage *) open; /* the innermost last */
    Map done;                /* expressions, while the same storage is open */
} Flatten;

static OpenStorage *find(const Flatten *fl, const Func *f)
{
    for (size_t i = fl->open.count; i-- > 0;)
        if (fl->open.at[i]->func == f)
            return fl->open.at[i];
    return NULL;
}

static OpenStorage *new_storage(Lower *lw, const Func *f)
{
    OpenStorage *s = ARENA_NEW(lw->arena, OpenStorage);
    s->func        = f;
    s->buffers     = ARENA_ARRAY(lw->arena, const Buffer *, (size_t)f->component_count);
    for (int d = 0; d < f->rank; d++)
        s->stride[d] = ARENA_ARRAY(lw->arena, const Expr *, (size_t)f->component_count);
    return s;
}

/* The index of a component at some coordinates. */
static const Expr *index_of(Lower *lw, const OpenStorage *s, int component, const Expr *const *args)
{
    const Expr *sum = expr_int(lw->exprs, KN_I64, 0);
    for (int d = s->func->rank - 1; d >= 0; d--) {
        const bool  folded = s->fold && s->fold[d] > 0;
        const Expr *at     = folded ? x_op(lw, EX_MOD, args[d], x_int(lw, s->fold[d])) : x_sub(lw, args[d], s->min[d]);
        sum                = x_add(lw, sum, x_op(lw, EX_MUL, x_cast(lw, KN_I64, at), s->stride[d][component]));
    }
    return sum;
}

static const Expr *flatten_node(void *user, const Expr *e)
{
    Flatten *fl = user;
    if (e->op != EX_CALL)
        return e;
    const OpenStorage *s    = find(fl, e->u.call.func);
    const int          c    = (int)e->u.call.index;
    const kn_type      type = (kn_type)e->type;
    if (!s) /* read only where nothing is computed: a reduction without steps, a branch that is never taken */
        return type_is_float(type) ? expr_float(fl->lw->exprs, type, 0) : expr_int(fl->lw->exprs, type, 0);
    return expr_load(fl->lw->exprs, s->buffers[c], (kn_type)e->type, index_of(fl->lw, s, c, e->args));
}

static const Expr *flatten_expr(void *user, const Expr *e)
{
    Flatten    *fl     = user;
    const Expr *result = map_get(&fl->done, e);
    if (!result) {
        result = expr_rewrite(fl->lw->exprs, e, flatten_node, user);
        map_set(&fl->done, e, result);
    }
    return result;
}

static const Stmt *flatten_provide(Flatten *fl, const Stmt *s)
{
    Lower             *lw = fl->lw;
    const OpenStorage *at = find(fl, s->provide.func);
    const Expr        *args[KN_MAX_RANK];
    Stmt              *st = ARENA_NEW(lw->arena, Stmt);
    for (int d = 0; d < s->provide.rank; d++)
        args[d] = flatten_expr(fl, s->provide.args[d]);
    st->kind         = STMT_STORE;
    st->store.count  = s->provide.count;
    st->store.places = ARENA_ARRAY(lw->arena, Place, (size_t)s->provide.count);
    st->store.atomic = s->provide.atomic;
    st->store.stream = s->provide.func->id >= 0 && plan_func(lw->plan, s->provide.func)->stream;
    for (int c = 0; c < s->provide.count; c++)
        st->store.places[c] =
            (Place){ at->buffers[c], index_of(lw, at, c, args), flatten_expr(fl, s->provide.values[c]) };
    return st;
}

/* The storage of an operand of an extern stage. */
static StageOperand flatten_operand(Flatten *fl, StageOperand o)
{
    Lower             *lw = fl->lw;
    const OpenStorage *at = o.func ? find(fl, o.func) : NULL;
    if (!at)
        return o;
    o.func   = NULL;
    o.buffer = at->buffers[0];
    o.min    = ARENA_ARRAY(lw->arena, const Expr *, (size_t)o.rank);
    o.extent = ARENA_ARRAY(lw->arena, const Expr *, (size_t)o.rank);
    o.stride = ARENA_ARRAY(lw->arena, const Expr *, (size_t)o.rank);
    for (int d = 0; d < o.rank; d++) {
        o.min[d]    = at->min[d];
        o.extent[d] = at->extent[d];
        o.stride[d] = at->stride[d][0];
    }
    return o;
}

static const Stmt *flatten_stage(Flatten *fl, const Stmt *s)
{
    Arena     *a    = fl->lw->arena;
    StageCall *call = ARENA_NEW(a, StageCall);
    *call           = *s->stage;
    call->operands  = ARENA_ARRAY(a, StageOperand, (size_t)call->count);
    call->output    = flatten_operand(fl, call->output);
    for (int i = 0; i < call->count; i++)
        call->operands[i] = flatten_operand(fl, s->stage->operands[i]);
    Stmt *st  = ARENA_NEW(a, Stmt);
    st->kind  = STMT_STAGE;
    st->stage = call;
    return st;
}

/* The lines of all components. */
static const Stmt *flatten_prefetch(Flatten *fl, const Stmt *s)
{
    Lower             *lw  = fl->lw;
    const OpenStorage *at  = find(fl, s->prefetch.func);
    const Stmt        *all = NULL;
    const Expr        *args[KN_MAX_RANK];
    for (int d = 0; d < s->prefetch.rank; d++)
        args[d] = flatten_expr(fl, s->prefetch.args[d]);
    for (int c = 0; at && c < s->prefetch.func->component_count; c++) {
        Stmt *one = ARENA_NEW(lw->arena, Stmt);
        *one      = (Stmt){ .kind     = STMT_PREFETCH,
                            .prefetch = { .buffer = at->buffers[c], .index = index_of(lw, at, c, args) } };
        all       = stmt_pair(lw->arena, all, one);
    }
    return all;
}

static const char *component_name(Lower *lw, const Func *f, int c)
{
    return intern(lw->cx, f->component_count == 1 ? f->name : arena_printf(lw->arena, "%s.%d", f->name, c));
}

typedef struct Let {
    const char *name;
    const Expr *value;
} Let;

static const Expr *named(Lower *lw, Let *lets, int *count, const char *name, const Expr *value)
{
    if (value->op == EX_INT)
        return value;
    lets[*count] = (Let){ intern(lw->cx, name), value };
    return expr_var(lw->exprs, KN_I64, lets[(*count)++].name);
}

static const Stmt *flatten_realize(Flatten *fl, const Stmt *s)
{
    Lower          *lw = fl->lw;
    const Func     *f  = s->realize.func;
    const PlanFunc *pf = plan_func(lw->plan, f);
    OpenStorage    *st = new_storage(lw, f);
    Let             lets[2 * KN_MAX_RANK + 1];
    int             let_count = 0;
    const Expr     *size      = expr_int(lw->exprs, KN_I64, 1);
    st->fold                  = s->realize.fold;
    for (int i = 0; i < f->rank; i++) {
        const int d   = pf->order[i];
        st->min[d]    = s->realize.min[d];
        st->extent[d] = s->realize.extent[d];
        for (int c = 0; c < f->component_count; c++)
            st->stride[d][c] = size;
        size = x_op(lw, EX_MUL, size, x_cast(lw, KN_I64, st->extent[d]));
        if (pf->align[d] > 1) {
            const Expr *m = expr_int(lw->exprs, KN_I64, pf->align[d]);
            size =
                x_op(lw, EX_MUL, x_op(lw, EX_DIV, x_add(lw, size, x_sub(lw, m, expr_int(lw->exprs, KN_I64, 1))), m), m);
        }
        size = named(lw, lets, &let_count,
                     arena_printf(lw->arena, "%s.stride", i + 1 < f->rank ? f->args[pf->order[i + 1]] : f->name), size);
    }
    for (int c = 0; c < f->component_count; c++) {
        Buffer *b = ARENA_NEW(lw->arena, Buffer);
        *b        = (Buffer){ .name      = component_name(lw, f, c),
                              .id        = (int)lw->program->buffers.count,
                              .kind      = BUFFER_SCRATCH,
                              .type      = f->types[c],
                              .func      = f->name,
                              .component = c,
                              .dense     = -1,
                              .memory    = pf->memory };
        if (pf->is_output)
            b->name = intern(lw->cx, arena_printf(lw->arena, "%s.stored", b->name));
        vec_push(lw->arena, &lw->program->buffers, b);
        st->buffers[c] = b;
    }
    vec_push(lw->arena, &fl->open, st);
    map_init(&fl->done, lw->arena);
    const Stmt *body = fl->map.stmt(fl, s->realize.body);
    fl->open.count--;
    map_init(&fl->done, lw->arena);
    for (int c = f->component_count - 1; c >= 0; c--) {
        Stmt *a         = ARENA_NEW(lw->arena, Stmt);
        a->kind         = STMT_ALLOC;
        a->alloc.buffer = st->buffers[c];
        a->alloc.count  = size;
        a->alloc.body   = body;
        body            = a;
    }
    while (let_count-- > 0)
        body = stmt_let(lw->arena, lets[let_count].name, lets[let_count].value, body);
    return body;
}

static const Stmt *flatten_stmt(void *user, const Stmt *s)
{
    Flatten *fl = user;
    if (s->kind == STMT_PROVIDE)
        return flatten_provide(fl, s);
    if (s->kind == STMT_STAGE && !s->stage->table)
        return flatten_stage(fl, s);
    if (s->kind == STMT_PREFETCH)
        return flatten_prefetch(fl, s);
    if (s->kind == STMT_REALIZE)
        return flatten_realize(fl, s);
    return stmt_map(&fl->map, s);
}

/* Ports are open in the whole program. */
static void open_ports(Flatten *fl)
{
    Lower *lw = fl->lw;
    for (int i = 0; i < lw->program->port_count; i++) {
        const Buffer *b          = lw->program->buffers.at[i];
        const Func   *f          = lw->ports.at[i];
        OpenStorage  *s          = b->component ? find(fl, f) : new_storage(lw, f);
        s->buffers[b->component] = b;
        for (int d = 0; d < b->rank; d++) {
            if (!b->component) {
                s->min[d]    = x_var(lw, arena_printf(lw->arena, "%s.min.%d", b->name, d));
                s->extent[d] = x_var(lw, arena_printf(lw->arena, "%s.extent.%d", b->name, d));
            }
            s->stride[d][b->component] =
                d == b->dense
                    ? expr_int(lw->exprs, KN_I64, 1)
                    : expr_var(lw->exprs, KN_I64, intern(lw->cx, arena_printf(lw->arena, "%s.stride.%d", b->name, d)));
        }
        if (!b->component)
            vec_push(lw->arena, &fl->open, s);
    }
}

const Stmt *lower_flatten(Lower *lw, const Stmt *s)
{
    Flatten fl = { .lw = lw };
    fl.map     = (StmtMap){ lw->arena, flatten_stmt, flatten_expr, NULL };
    map_init(&fl.done, lw->arena);
    open_ports(&fl);
    fl.map.user = &fl;
    return s ? flatten_stmt(&fl, s) : NULL;
}
