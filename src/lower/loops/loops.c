/* SPDX-License-Identifier: MIT */
/* Loop synthesis: the pass that makes loops of a plan.
 *
 * Takes   a plan.
 * Gives   the loops of all functions, level by level from the outputs back (levels.c). Functions are still called by
 *         coordinates. Outputs that other functions read have storage of their own, and are copied at the end.
 * From    Ragan-Kelley et al. 2013, sections 4.1 and 4.2. */
#include "lower/loops/build.h"

/* Is the function read at another element than the update `u` writes? (u NULL: at any) */
typedef struct NeighbourRead {
    const Func   *f;
    const Update *u;
    bool          found;
} NeighbourRead;

static void neighbour_visit(const Expr *e, void *user)
{
    NeighbourRead *s = user;
    if (e->op != EX_CALL || e->u.call.func != s->f)
        return;
    s->found |= !s->u;
    for (uint32_t d = 0; s->u && d < e->count; d++)
        s->found |= e->args[d] != s->u->args[d];
}

static bool reads_neighbours(Build *b, const Func *reader, const Func *f)
{
    NeighbourRead s = { f, NULL, false };
    for (int k = -1; k < reader->update_count; k++) {
        s.u = reader == f && k >= 0 ? &f->updates[k] : NULL;
        def_visit(b->lw->exprs, reader, k, neighbour_visit, &s);
    }
    for (int i = 0; i < reader->stage_arg_count; i++)
        s.found |= reader->stage_args[i].func == f;
    return s.found;
}

/* May more of an output be needed than the caller asks for? Then it has storage of its own, and is copied. */
static bool needs_storage(Build *b, const Func *f)
{
    for (int i = 0; i < b->plan->func_count; i++)
        if (reads_neighbours(b, b->plan->funcs[i].func, f))
            return true;
    for (int d = 0; d < f->rank; d++)
        if (plan_func(b->plan, f)->bound_min[d])
            return true;
    return f->kind == FUNC_STAGE;
}

/* The function of such an output's port: out(x, y), copied from its storage. */
static Func *make_port(Build *b, const Func *f)
{
    Lower *lw = b->lw;
    Func  *p  = ARENA_NEW(lw->arena, Func);
    *p        = (Func){ .name            = intern(lw->cx, arena_printf(lw->arena, "%s.copied", f->name)),
                        .loc             = f->loc,
                        .kind            = FUNC_DEFINED,
                        .id              = -1,
                        .rank            = f->rank,
                        .component_count = f->component_count,
                        .types           = f->types };
    p->args   = ARENA_ARRAY(lw->arena, const char *, (size_t)f->rank);
    p->values = ARENA_ARRAY(lw->arena, const Expr *, (size_t)f->component_count);
    const Expr *args[KN_MAX_RANK];
    for (int d = 0; d < f->rank; d++) {
        p->args[d] = intern(lw->cx, arena_printf(lw->arena, "%s.copied", f->args[d]));
        args[d]    = expr_var(lw->exprs, KN_I32, p->args[d]);
    }
    for (int c = 0; c < f->component_count; c++)
        p->values[c] = expr_call(lw->exprs, f, c, f->types[c], f->rank, args);
    return p;
}

/* The schedule of the copy: rows of vectors; on a device a thread for each element, blocks along three dimensions. */
static PlanDef *copy_def(Build *b, const Func *port)
{
    enum { COPY_THREADS = 128 };
    Lower   *lw     = b->lw;
    PlanDef *def    = ARENA_NEW(lw->arena, PlanDef);
    def->func       = port;
    def->update     = -1;
    def->loop_count = port->rank ? port->rank + 1 : 0;
    def->step_count = port->rank ? 1 : 0;
    def->loops      = ARENA_ARRAY(lw->arena, PlanLoop, (size_t)port->rank + 1);
    def->steps      = ARENA_ARRAY(lw->arena, PlanStep, 1);
    for (int d = port->rank - 1; d > 0; d--)
        def->loops[port->rank - 1 - d] = (PlanLoop){ .name = port->args[d],
                                                     .var  = port->args[d],
                                                     .kind = lw->gpu && d <= 2 ? LOOP_BLOCK : LOOP_SERIAL };
    if (!port->rank)
        return def;
    const char *outer          = intern(lw->cx, arena_printf(lw->arena, "%s.outer", port->args[0])),
               *inner          = intern(lw->cx, arena_printf(lw->arena, "%s.lanes", port->args[0]));
    const int lanes            = lw->gpu ? COPY_THREADS : lw->vector_bits / (8 * (int)kn_type_size(port->types[0]));
    def->loops[port->rank - 1] = (PlanLoop){ .name = outer, .var = outer, .kind = lw->gpu ? LOOP_BLOCK : LOOP_SERIAL };
    def->loops[port->rank]     = (PlanLoop){ .name = inner, .var = inner, .kind = lw->gpu ? LOOP_THREAD : LOOP_VECTOR };
    def->steps[0]              = (PlanStep){ .kind   = STEP_SPLIT,
                                             .whole  = port->args[0],
                                             .outer  = outer,
                                             .inner  = inner,
                                             .factor = lanes,
                                             .tail   = lw->gpu ? TAIL_GUARD : TAIL_SHIFT_INWARD };
    return def;
}

static const Stmt *copy_outputs(Build *b, LoopNest *none, int loop)
{
    (void)none;
    (void)loop;
    const Stmt *all = NULL;
    for (int i = 0; i < b->plan->output_count; i++) {
        const Func *f = b->plan->outputs[i], *port = b->ports[f->id];
        if (!port)
            continue;
        FuncBoxes *boxes   = ARENA_NEW(b->lw->arena, FuncBoxes);
        boxes->pure        = port_box(b, f);
        const PlanDef *def = copy_def(b, port);
        all = stmt_pair(b->lw->arena, all, stmt_produce(b->lw->arena, port->name, -1, definition_build(b, def, boxes)));
    }
    return all;
}

/* The names of the dimensions; plans put the function's before them. */
static const char *const *dim_names(Lower *lw, const Func *f)
{
    const char **names = ARENA_ARRAY(lw->arena, const char *, (size_t)f->rank);
    for (int d = 0; d < f->rank; d++) {
        const char *point = strrchr(f->args[d], '.');
        names[d]          = point ? point + 1 : f->args[d];
    }
    return names;
}

static void add_port(Build *b, const Func *f, int component, BufferKind kind)
{
    Lower          *lw     = b->lw;
    Buffer         *buffer = ARENA_NEW(lw->arena, Buffer);
    const PlanFunc *pf     = plan_func(b->plan, f);
    const Func     *behind = b->ports[f->id] ? b->ports[f->id] : f;
    const char     *part   = arena_printf(lw->arena, "%s.%d", f->name, component);
    *buffer                = (Buffer){ .name      = f->component_count == 1 ? f->name : intern(lw->cx, part),
                                       .id        = (int)lw->program->buffers.count,
                                       .kind      = kind,
                                       .type      = f->types[component],
                                       .component = component,
                                       .rank      = f->rank,
                                       .func      = behind->name,
                                       .dims      = dim_names(lw, f),
                                       .dense     = f->rank ? pf->order[0] : -1 };
    buffer->name           = intern(lw->cx, buffer->name);
    vec_push(lw->arena, &lw->program->buffers, buffer);
    vec_push(lw->arena, &lw->ports, behind);
    lw->program->port_count++;
}

static void add_ports(Build *b)
{
    const Plan *plan = b->plan;
    for (int i = 0; i < plan->func_count; i++)
        if (plan->funcs[i].func->kind == FUNC_INPUT)
            add_port(b, plan->funcs[i].func, 0, BUFFER_INPUT);
    for (int i = 0; i < plan->output_count; i++) {
        const Func *f = plan->outputs[i];
        if (needs_storage(b, f))
            b->ports[f->id] = make_port(b, f);
        for (int c = 0; c < f->component_count; c++)
            add_port(b, f, c, BUFFER_OUTPUT);
    }
}

/* The condition that any output is not empty. */
static const Expr *any_output(Build *b)
{
    const Expr *any = NULL;
    for (int i = 0; i < b->plan->output_count; i++) {
        const SymBox box = port_box(b, b->plan->outputs[i]);
        const Expr  *one = box_nonempty(b, &box, b->plan->outputs[i]->rank);
        any              = !one ? expr_bool(b->lw->exprs, true) : !any ? one : x_op(b->lw, EX_OR, any, one);
    }
    return any;
}

const Stmt *lower_loops(Lower *lw, const Stmt *none)
{
    (void)none;
    const size_t count = (size_t)lw->plan->func_count;
    Build        b     = { .lw = lw, .plan = lw->plan };
    map_init(&b.clamp_dims, lw->arena);
    map_init(&b.reachable, lw->arena);
    b.is_read = ARENA_ARRAY(lw->arena, bool, count);
    b.read_if = ARENA_ARRAY(lw->arena, const Expr *, count);
    b.stored  = ARENA_ARRAY(lw->arena, SymBox, count);
    b.at_root = ARENA_ARRAY(lw->arena, SymBox, count);
    b.boxes   = ARENA_ARRAY(lw->arena, FuncBoxes, count);
    b.slides  = ARENA_ARRAY(lw->arena, Slide, count);
    b.ports   = ARENA_ARRAY(lw->arena, Func *, count);
    b.fold    = arena_array(lw->arena, count, sizeof *b.fold);
    extern_stages_not_folded(&b);
    for (int i = 0; i < lw->plan->func_count; i++)
        for (int d = 0; d < lw->plan->funcs[i].func->rank; d++)
            if (lw->plan->funcs[i].bound_min[d] || lw->plan->funcs[i].align_factor[d])
                clamp_mark_widened(&b, lw->plan->funcs[i].func);
    add_ports(&b);
    const Expr *any = any_output(&b);
    Prelude     w   = { 0 };
    prelude_open(&b, &w);
    prelude_if(&b, &w, any);
    const Stmt *body = level_build(&b, (PlanLevel){ NULL, 0 }, NULL, copy_outputs, 0);
    return prelude_close(&b, &w, body);
}
