/* SPDX-License-Identifier: MIT */
/* Rows of lanes: making the nodes of a definition, and evaluating them on demand. */
#include "interp/eval.h"
#include "interp/call_c.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void run_refuse(Run *run, kn_status status, const char *format, ...)
{
    kn_context *cx = run->p->cx;
    va_list     args;
    va_start(args, format);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *message = arena_alloc(&cx->call, (size_t)(n < 0 ? 0 : n) + 1);
    va_start(args, format);
    vsnprintf(message, (size_t)(n < 0 ? 0 : n) + 1, format, args);
    va_end(args);
    context_bail(cx, status, message);
}

void eval_init(Eval *ev, Run *run, const Func *func)
{
    *ev = (Eval){ .run = run, .func = func, .width = 1, .n = 1, .all = mask_first(1), .row = 1, .chunk = 1 };
    map_init(&ev->nodes, &run->scratch);
}

EvalVariable *eval_variable(Eval *ev, const char *name)
{
    EvalVariable *v = &ev->variables[ev->variable_count++];
    v->name         = name;
    return v;
}

void eval_along(Eval *ev, EvalVariable *lane, int64_t points)
{
    ev->lane  = lane;
    ev->width = !lane || points < 1 ? 1 : points < LANES ? (int)points : LANES;
}

void eval_begin_row(Eval *ev)
{
    ev->row++;
}

void eval_begin_chunk(Eval *ev, int64_t first, int n)
{
    ev->chunk++;
    ev->n   = n;
    ev->all = mask_first(n);
    if (ev->lane)
        ev->lane->value = first;
}

static void fill(Eval *ev, Node *e, Lane v)
{
    for (int i = 0; i < ev->width; i++)
        e->lanes[i] = v;
}

/* A value that is the same in all lanes: computed in the first. */
static void eval_same(Eval *ev, Node *e)
{
    const int  n   = ev->n;
    const Mask all = ev->all;
    ev->n          = 1;
    ev->all        = mask_first(1);
    e->evaluate(ev, e, &ev->all);
    ev->n   = n;
    ev->all = all;
    fill(ev, e, e->lanes[0]);
    e->done = mask_first(LANES);
}

void eval(Eval *ev, Node *e, const Mask *want)
{
    if (e->stamp != *e->clock) {
        e->stamp = *e->clock;
        e->done  = mask_first(0);
    }
    Mask need = mask_without(want, &e->done);
    if (mask_empty(&need))
        return;
    if (!e->varies) {
        eval_same(ev, e);
        return;
    }
    if (e->total)
        need = ev->all;
    e->evaluate(ev, e, &need);
    e->done = mask_or(&e->done, &need);
}

Mask eval_true(const Eval *ev, const Node *e, const Mask *in)
{
    Mask m = { 0 };
    for (int i = 0; i < ev->n; i++)
        m.word[i / 64] |= (uint64_t)(e->lanes[i].i & 1) << i % 64;
    return mask_and(&m, in);
}

/* ---- How each kind of node is evaluated ------------------------------------------------------ */

static void evaluate_variable(Eval *ev, Node *e, const Mask *need)
{
    (void)need;
    for (int i = 0; i < ev->n; i++)
        e->lanes[i].i = *e->variable + i;
}

/* All operands, then the kernel in every lane: lanes that were not asked for get unused values. */
static void evaluate_operator(Eval *ev, Node *e, const Mask *need)
{
    const uint32_t count = e->expr->count;
    for (uint32_t i = 0; i < count; i++)
        eval(ev, e->args[i], need);
    const Row row = { .r      = e->lanes,
                      .a      = e->args[0]->lanes,
                      .b      = count > 1 ? e->args[1]->lanes : NULL,
                      .c      = count > 2 ? e->args[2]->lanes : NULL,
                      .n      = ev->n,
                      .type   = e->expr->type,
                      .from   = e->expr->args[0]->type,
                      .amount = e->expr->args[count - 1]->type };
    e->kernel(&row);
    if (e->finish)
        e->finish(e->lanes, ev->n);
}

static void evaluate_formula(Eval *ev, Node *e, const Mask *need)
{
    const uint32_t count = e->expr->count;
    for (uint32_t i = 0; i < count; i++)
        eval(ev, e->args[i], need);
    formula_run(e->formula, e->lanes, e->args[0]->lanes, e->args[count - 1]->lanes, ev->n);
}

static void evaluate_select(Eval *ev, Node *e, const Mask *need)
{
    eval(ev, e->args[0], need);
    const Mask yes = eval_true(ev, e->args[0], need), no = mask_without(need, &yes);
    eval(ev, e->args[1], &yes);
    eval(ev, e->args[2], &no);
    const Lane *c = e->args[0]->lanes, *a = e->args[1]->lanes, *b = e->args[2]->lanes;
    for (int i = 0; i < ev->n; i++)
        e->lanes[i] = c[i].i ? a[i] : b[i];
}

static void evaluate_and(Eval *ev, Node *e, const Mask *need)
{
    eval(ev, e->args[0], need);
    const Mask open = eval_true(ev, e->args[0], need);
    eval(ev, e->args[1], &open);
    for (int i = 0; i < ev->n; i++)
        e->lanes[i].i = e->args[0]->lanes[i].i ? e->args[1]->lanes[i].i : 0;
}

static void evaluate_or(Eval *ev, Node *e, const Mask *need)
{
    eval(ev, e->args[0], need);
    const Mask yes = eval_true(ev, e->args[0], need), open = mask_without(need, &yes);
    eval(ev, e->args[1], &open);
    for (int i = 0; i < ev->n; i++)
        e->lanes[i].i = e->args[0]->lanes[i].i ? 1 : e->args[1]->lanes[i].i;
}

__attribute__((noinline)) static void call_lanes(Eval *ev, Node *e, const Mask *need)
{
    for (int i = 0; i < ev->n; i++)
        if (mask_has(need, i)) {
            Lane operands[C_CALL_MAX];
            for (uint32_t a = 0; a < e->expr->count; a++)
                operands[a] = e->args[a]->lanes[i];
            e->lanes[i] = c_call(e->c_call, operands);
        }
}

static void evaluate_extern(Eval *ev, Node *e, const Mask *need)
{
    for (uint32_t i = 0; i < e->expr->count; i++)
        eval(ev, e->args[i], need);
    call_lanes(ev, e, need);
}

/* An error in Kiln: regions say what is read, and that is stored. */
__attribute__((noreturn, noinline)) static void refuse_access(Eval *ev, const Node *e, int lane)
{
    Text at, box;
    text_init(&at, &ev->run->scratch);
    text_init(&box, &ev->run->scratch);
    for (uint32_t d = 0; d < e->expr->count; d++) {
        const char *comma = d ? ", " : "";
        text_printf(&at, "%s%lld", comma, (long long)e->args[d]->lanes[lane].i);
        text_printf(&box, "%s%lld..%lld", comma, (long long)e->view->min[d],
                    (long long)(e->view->min[d] + e->view->extent[d]));
    }
    kn_context *cx = ev->run->p->cx;
    context_bail_internal(
        cx, KN_ERROR_BOUNDS,
        arena_printf(&cx->call,
                     "`%s` reads `%s` at (%s), but %s%s%s of it is there; this is a mistake in Kiln: please report it",
                     ev->func->name, e->expr->u.call.func->name, text_string(&at),
                     e->view->data ? "only the box (" : "nothing", e->view->data ? text_string(&box) : "",
                     e->view->data ? ")" : ""));
}

/* Adds what dimension d contributes to the offset of every lane; says whether any is outside. */
static bool add_steps(const View *v, int d, const Lane *at, int n, int64_t *offset, bool *outside)
{
    const uint64_t min = (uint64_t)v->min[d], extent = (uint64_t)v->extent[d], stride = (uint64_t)v->stride[d];
    bool           some = false;
    for (int i = 0; i < n; i++) {
        const uint64_t step = (uint64_t)at[i].i - min;
        outside[i] |= step >= extent;
        some |= step >= extent;
        offset[i] = (int64_t)((uint64_t)offset[i] + step * stride);
    }
    return some;
}

/* The values at the coordinates of the arguments. Every lane's offset is computed and checked. A lane outside reads the
 * first element, unless it was asked for. Coordinates that are equal in all lanes are checked once. */
__attribute__((noinline)) static void read_view(Eval *ev, Node *e, const Mask *need)
{
    const View *v    = e->view;
    bool        none = !v->data, some = false;
    uint64_t    base = 0;
    for (int d = 0; d < v->rank; d++)
        if (!e->args[d]->varies) {
            const uint64_t step = (uint64_t)e->args[d]->lanes[0].i - (uint64_t)v->min[d];
            none |= step >= (uint64_t)v->extent[d];
            base += step * (uint64_t)v->stride[d];
        }
    if (none)
        refuse_access(ev, e, mask_lowest(need));

    int64_t offset[LANES];
    bool    outside[LANES];
    for (int i = 0; i < ev->n; i++) {
        offset[i]  = (int64_t)base;
        outside[i] = false;
    }
    for (int d = 0; d < v->rank; d++)
        if (e->args[d]->varies)
            some |= add_steps(v, d, e->args[d]->lanes, ev->n, offset, outside);
    for (int i = 0; some && i < ev->n; i++)
        if (outside[i]) {
            if (mask_has(need, i))
                refuse_access(ev, e, i);
            offset[i] = 0;
        }
    view_gather(v, e->lanes, offset, ev->n);
}

/* Calls may be nested as deep as expressions: the arrays are in a function that does not recurse. */
static void evaluate_call(Eval *ev, Node *e, const Mask *need)
{
    for (uint32_t i = 0; i < e->expr->count; i++)
        eval(ev, e->args[i], need);
    read_view(ev, e, need);
}

/* ---- Making nodes ---------------------------------------------------------------------------- */

static void plan_constant(Eval *ev, Node *e, Lane v)
{
    fill(ev, e, v);
    e->done = mask_first(LANES);
}

static void plan_int(Eval *ev, Node *e)
{
    plan_constant(ev, e, (Lane){ .i = e->expr->u.i });
}

static void plan_float(Eval *ev, Node *e)
{
    plan_constant(ev, e, (Lane){ .f = e->expr->u.f });
}

static void plan_param(Eval *ev, Node *e)
{
    const kn_pipeline *p = ev->run->p;
    Lane               v = { 0 };
    for (size_t i = 0; i < p->params.count; i++)
        if (p->params.at[i] == e->expr->u.param)
            v = lane_from_scalar(e->expr->type, ev->run->binding->param[i]);
    plan_constant(ev, e, v);
}

static void plan_dim_min(Eval *ev, Node *e)
{
    const Box *box = &ev->run->binding->input[e->expr->u.call.func->id];
    plan_constant(ev, e, lane_from_scalar(e->expr->type, kn_int(box->min[e->expr->u.call.index])));
}

static void plan_dim_extent(Eval *ev, Node *e)
{
    const Box     *box = &ev->run->binding->input[e->expr->u.call.func->id];
    const uint32_t d   = e->expr->u.call.index;
    plan_constant(ev, e, lane_from_scalar(e->expr->type, kn_int(box->max[d] - box->min[d] + 1)));
}

static void plan_variable(Eval *ev, Node *e)
{
    for (int i = 0; i < ev->variable_count; i++)
        if (ev->variables[i].name == e->expr->u.name) {
            e->variable = &ev->variables[i].value;
            e->varies   = &ev->variables[i] == ev->lane;
            e->clock    = e->varies ? &ev->chunk : &ev->row;
            return;
        }
    run_refuse(ev->run, KN_ERROR_PROGRAM, "the definition of `%s` has no variable `%s`", ev->func->name,
               e->expr->u.name);
}

/* A function without storage has a view that refuses every access. A function's own values change between chunks. */
static void plan_call(Eval *ev, Node *e)
{
    static const View nothing = { 0 };
    const Func       *f       = e->expr->u.call.func;
    const View       *views   = ev->run->storage[f->id].views;
    e->view                   = views ? &views[e->expr->u.call.index] : &nothing;
    e->total                  = false;
    if (f == ev->func) {
        e->varies = true;
        e->clock  = &ev->chunk;
    }
}

static void plan_extern(Eval *ev, Node *e)
{
    e->c_call = c_call_new(ev->run->p->cx, &ev->run->scratch, e->expr);
    e->total  = false;
}

/* One formula serves all nodes of its operator and type. */
static void plan_formula(Eval *ev, Node *e)
{
    Formula **known = &ev->run->formulas[e->expr->op][e->expr->type];
    if (!*known)
        *known = formula_new(ev->run->p->cx, &ev->run->arena, e->expr->op, e->expr->type);
    e->formula = *known;
}

static void plan_operator(Eval *ev, Node *e)
{
    e->kernel = operator_kernel(e->expr->op, e->expr->args[0]->type, e->expr->type);
    e->finish = operator_finish(e->expr->type);
    if (!e->kernel)
        run_refuse(ev->run, KN_ERROR_PROGRAM, "the definition of `%s` uses `%s` on %s, where it has no meaning",
                   ev->func->name, expr_op_table[e->expr->op].text, kn_type_name(e->expr->args[0]->type));
}

/* The nodes that are not operators on values. */
static const struct NodeKind {
    void (*plan)(Eval *ev, Node *e);
    void (*evaluate)(Eval *ev, Node *e, const Mask *need);
} node_kind_table[EX_COUNT] = {
    [EX_INT]        = { plan_int, NULL },
    [EX_FLOAT]      = { plan_float, NULL },
    [EX_VAR]        = { plan_variable, evaluate_variable },
    [EX_PARAM]      = { plan_param, NULL },
    [EX_DIM_MIN]    = { plan_dim_min, NULL },
    [EX_DIM_EXTENT] = { plan_dim_extent, NULL },
    [EX_CALL]       = { plan_call, evaluate_call },
    [EX_EXTERN]     = { plan_extern, evaluate_extern },
    [EX_AND]        = { NULL, evaluate_and },
    [EX_OR]         = { NULL, evaluate_or },
    [EX_SELECT]     = { NULL, evaluate_select },
    [EX_EXP]        = { plan_formula, evaluate_formula },
    [EX_LOG]        = { plan_formula, evaluate_formula },
    [EX_POW]        = { plan_formula, evaluate_formula },
    [EX_SIN]        = { plan_formula, evaluate_formula },
    [EX_COS]        = { plan_formula, evaluate_formula },
    [EX_TAN]        = { plan_formula, evaluate_formula },
    [EX_ATAN2]      = { plan_formula, evaluate_formula },
    [EX_TANH]       = { plan_formula, evaluate_formula },
    [EX_ERF]        = { plan_formula, evaluate_formula },
};

/* The faster of two clocks: never, row, chunk. */
static const uint64_t *faster(const Eval *ev, const uint64_t *a, const uint64_t *b)
{
    return a == &ev->chunk || b == &ev->chunk ? &ev->chunk : a == &ev->row ? a : b;
}

Node *eval_node(Eval *ev, const Expr *expr)
{
    Node *e = map_get_mutable(&ev->nodes, expr);
    if (e)
        return e;
    Arena *arena = &ev->run->scratch;
    e            = ARENA_NEW(arena, Node);
    e->expr      = expr;
    e->lanes     = ARENA_ARRAY(arena, Lane, (size_t)ev->width);
    e->args      = ARENA_ARRAY(arena, Node *, expr->count);
    e->clock     = &ev->never;
    e->total     = true;
    for (uint32_t i = 0; i < expr->count; i++) {
        const Node *a = e->args[i] = eval_node(ev, expr->args[i]);
        e->varies |= a->varies;
        e->total &= a->total;
        e->clock = faster(ev, e->clock, a->clock);
    }
    const struct NodeKind *kind = &node_kind_table[expr->op];
    e->evaluate                 = kind->evaluate ? kind->evaluate : evaluate_operator;
    if (kind->plan)
        kind->plan(ev, e);
    else if (!kind->evaluate)
        plan_operator(ev, e);
    map_set_mutable(&ev->nodes, expr, e);
    return e;
}
