/* Loop synthesis: from the outputs back, every function in its place.
 *
 * Takes   a plan.
 * Gives   for each level the names of the boxes needed there, storage for what is stored there, the loops of what is
 *         computed there, producers first, then the level's own next loop. Functions are still called by coordinates.
 * The one idea: inside a level everything is alike. Root is the level without a loop; its "next loop" is nothing, or
 * the copying of outputs that other functions read.
 * From    Ragan-Kelley et al. 2013, sections 4.1 and 4.2. */
#include "lower/build.h"

/* ---- Wraps ------------------------------------------------------------------------------ */

void wraps_open(Build *b, Wraps *w)
{
    w->opened = b->scopes.count;
}

/* A let around what follows; what is known of its name is for the caller to push. */
static const char *wrap_named(Build *b, Wraps *w, const char *name, const Expr *value)
{
    Lower *lw    = b->lw;
    Wrap   wrap  = { .kind = WRAP_LET, .name = intern(lw->cx, name), .value = value };
    Scope  scope = { wrap.name, value };
    vec_push(lw->arena, &w->items, wrap);
    vec_push(lw->arena, &b->scopes, scope);
    w->pushed++;
    return wrap.name;
}

const Expr *wrap_let(Build *b, Wraps *w, const char *name, const Expr *value)
{
    Lower *lw = b->lw;
    value     = simplify(lw->simplifier, value);
    name      = wrap_named(b, w, name, value);
    simplifier_push_let(lw->simplifier, name, value);
    return value->op == EX_INT || value->op == EX_VAR ? value : expr_var(lw->exprs, (kn_type)value->type, name);
}

const Expr *wrap_between(Build *b, Wraps *w, const char *name, const Expr *value, const Expr *min, const Expr *max)
{
    Lower *lw = b->lw;
    name      = wrap_named(b, w, name, simplify(lw->simplifier, value));
    simplifier_push_range(lw->simplifier, name, min, max);
    return expr_var(lw->exprs, KN_I32, name);
}

void wrap_alloc(Build *b, Wraps *w, const Buffer *buffer, const Expr *count)
{
    Wrap wrap = { .kind = WRAP_ALLOC, .buffer = buffer, .value = count };
    vec_push(b->lw->arena, &w->items, wrap);
}

void wrap_before(Build *b, Wraps *w, const Stmt *s)
{
    Wrap wrap = { .kind = WRAP_BEFORE, .stmt = s };
    vec_push(b->lw->arena, &w->items, wrap);
}

void wrap_if(Build *b, Wraps *w, const Expr *condition)
{
    condition = simplify(b->lw->simplifier, condition);
    Wrap wrap = { .kind = WRAP_IF, .value = condition };
    vec_push(b->lw->arena, &w->items, wrap);
    simplifier_push_fact(b->lw->simplifier, condition);
    w->pushed++;
}

static const Stmt *alloc_stmt(Arena *a, const Buffer *buffer, const Expr *count, const Stmt *body)
{
    if (!body)
        return NULL;
    Stmt *s         = ARENA_NEW(a, Stmt);
    s->kind         = STMT_ALLOC;
    s->alloc.buffer = buffer;
    s->alloc.count  = count;
    s->alloc.body   = body;
    return s;
}

const Stmt *wraps_close(Build *b, Wraps *w, const Stmt *core)
{
    Arena *a = b->lw->arena;
    for (size_t i = w->items.count; i-- > 0;) {
        const Wrap *at = &w->items.at[i];
        switch (at->kind) {
        case WRAP_LET: core = stmt_let(a, at->name, at->value, core); break;
        case WRAP_ALLOC: core = alloc_stmt(a, at->buffer, at->value, core); break;
        case WRAP_BEFORE: core = stmt_pair(a, at->stmt, core); break;
        case WRAP_IF: core = stmt_if(a, at->value, core, NULL); break;
        }
    }
    for (; w->pushed; w->pushed--)
        simplifier_pop(b->lw->simplifier);
    b->scopes.count = w->opened;
    return core;
}

Buffer *build_scratch(Build *b, const char *name, kn_type type)
{
    Lower  *lw     = b->lw;
    Buffer *buffer = ARENA_NEW(lw->arena, Buffer);
    *buffer        = (Buffer){ .name  = intern(lw->cx, name),
                               .id    = (int)lw->program->buffers.count,
                               .kind  = BUFFER_SCRATCH,
                               .type  = type,
                               .dense = -1 };
    vec_push(lw->arena, &lw->program->buffers, buffer);
    return buffer;
}

const Expr *build_load(Build *b, const Buffer *buffer, const Expr *index)
{
    return expr_load(b->lw->exprs, buffer, KN_I32, x_cast(b->lw, KN_I64, index));
}

const Stmt *build_store(Build *b, const Buffer *buffer, const Expr *index, const Expr *value)
{
    return stmt_store(b->lw->arena, buffer, x_cast(b->lw, KN_I64, index), value);
}

/* ---- Functions -------------------------------------------------------------------------- */

/* One side of what need not be computed: the pure definition over its box up to `last`, or from `first` on; the other
 * is NULL. */
static const Stmt *side_build(Build *b, const PlanDef *def, const FuncBoxes *boxes, int d, const Expr *first,
                              const Expr *last)
{
    Lower      *lw   = b->lw;
    FuncBoxes   side = *boxes;
    SymBox     *box  = &side.pure;
    const char *name = def->func->args[d];
    Nest        n;
    Wraps       w = { 0 };
    wraps_open(b, &w);
    if (first)
        box->min[d] = wrap_let(b, &w, arena_printf(lw->arena, "%s.min.after", name), x_max(lw, box->min[d], first));
    else
        box->max[d] = wrap_let(b, &w, arena_printf(lw->arena, "%s.max.before", name), x_min(lw, box->max[d], last));
    wrap_if(b, &w, x_le(lw, box->min[d], box->max[d]));
    nest_init(b, &n, def, &side);
    return wraps_close(b, &w, nest_build(b, &n));
}

static const Stmt *definition_build(Build *b, const PlanDef *def, const FuncBoxes *boxes)
{
    Lower *lw = b->lw;
    Unread gap;
    Nest   n;
    nest_init(b, &n, def, boxes);
    together_begin(b, &n);
    if (def->update >= 0 || n.partner_count || !unread_find(b, def->func, boxes, &gap))
        return nest_build(b, &n);
    return stmt_pair(lw->arena, side_build(b, def, boxes, gap.dim, NULL, x_sub(lw, gap.first, x_int(lw, 1))),
                     side_build(b, def, boxes, gap.dim, x_add(lw, gap.last, x_int(lw, 1)), NULL));
}

/* One definition: the first version whose condition holds, or the plain one. */
static const Stmt *versions_build(Build *b, const PlanDef *def, const FuncBoxes *boxes)
{
    const Stmt *s = definition_build(b, def, boxes);
    for (int i = def->version_count - 1; i >= 0; i--) {
        simplifier_push_fact(b->lw->simplifier, def->conditions[i]);
        const Stmt *version = definition_build(b, &def->versions[i], boxes);
        simplifier_pop(b->lw->simplifier);
        s = stmt_if(b->lw->arena, def->conditions[i], version, s);
    }
    return stmt_produce(b->lw->arena, def->func->name, def->update, s);
}

/* The place of the definition that runs in the loops of another; -1 if there is none. */
static int joined_def(Build *b, const PlanFunc *pf)
{
    int k = pf->func->kind == FUNC_DEFINED ? pf->func->update_count : -1;
    while (k >= 0 && !together_joined(b, &pf->defs[k]))
        k--;
    return k;
}

static const Stmt *definitions_build(Build *b, const PlanFunc *pf, int first, int end)
{
    const Stmt *all = NULL;
    for (int k = first; k < end && !b->failed; k++)
        all = stmt_pair(b->lw->arena, all, versions_build(b, &pf->defs[k], &b->boxes[pf->func->id]));
    return all;
}

static const Stmt *under(Build *b, const Expr *condition, const Stmt *s)
{
    return condition ? stmt_if(b->lw->arena, condition, s, NULL) : s;
}

/* The definitions of others that come before one that runs in the loops of this function's. */
static const Stmt *before_joined(Build *b, const PlanFunc *pf)
{
    const Stmt *all = NULL;
    for (int i = pf->func->id + 1; i < b->plan->func_count; i++) {
        const PlanFunc *other = &b->plan->funcs[i];
        const int       k     = joined_def(b, other);
        if (k >= 0 && other->defs[k].with.def->func == pf->func)
            all = stmt_pair(b->lw->arena, all, under(b, b->alive[i], definitions_build(b, other, 0, k)));
    }
    return all;
}

/* The condition that anything is needed of a function whose box is widened, which may make something of nothing; NULL:
 * it is not, or others run in its loops. */
static const Expr *widened_need(Build *b, const Func *f)
{
    bool widens = false;
    for (int d = 0; f->id >= 0 && d < f->rank; d++)
        widens |= box_widens(b, f, d);
    for (int i = f->id + 1; widens && i < b->plan->func_count; i++) {
        const PlanFunc *other = &b->plan->funcs[i];
        const int       k     = joined_def(b, other);
        widens                = k < 0 || other->defs[k].with.def->func != f;
    }
    return widens ? simplify(b->lw->simplifier, box_nonempty(b, &b->boxes[f->id].pure, f->rank)) : NULL;
}

static const Stmt *function_build(Build *b, const PlanFunc *pf)
{
    const Func *f   = pf->func;
    const Stmt *all = f->kind == FUNC_STAGE
                          ? stage_build(b, f)
                          : stmt_pair(b->lw->arena, before_joined(b, pf),
                                      definitions_build(b, pf, joined_def(b, pf) + 1, f->update_count + 1));
    all             = under(b, widened_need(b, f), all);
    if (!level_same(pf->compute, pf->store))
        all = slide_end(b, f, all);
    return under(b, together_alive(b, pf), all);
}

/* ---- Levels ----------------------------------------------------------------------------- */

/* What a let stands for. */
static const Expr *let_opened(const Build *b, const Expr *e)
{
    for (size_t i = b->scopes.count; e->op == EX_VAR && i-- > 0;)
        if (b->scopes.at[i].name == e->u.name)
            return b->scopes.at[i].value ? b->scopes.at[i].value : e;
    return e;
}

/* A number that max - min is never above. Of min(…, min + 31) the part that has a name in common with the other end is
 * to be found here: a proof, which opens all lets, loses the name. Looks `depth` deep. */
static int64_t most_apart(Build *b, const Expr *min, const Expr *max, int depth)
{
    int64_t    lo, hi, part;
    const bool low = max->op != EX_MIN && min->op == EX_MAX;
    simplifier_bounds(b->lw->simplifier, x_sub(b->lw, max, min), &lo, &hi);
    for (int i = 0; i < 2 && depth && (low || max->op == EX_MIN); i++) {
        part = low ? most_apart(b, min->args[i], max, depth - 1) : most_apart(b, min, max->args[i], depth - 1);
        hi   = part < hi ? part : hi;
    }
    return hi;
}

/* Constant inside loops, where a tile is seldom much smaller than it may be: then strides are constants, and small
 * storage is on the stack. At root what may be is what the ranges of parameters allow, which can be any number of times
 * what is needed: there it is constant if it is small. */
static const Expr *storage_extent(Build *b, bool root, const Expr *min, const Expr *max)
{
    enum { SMALL = 16, DEPTH = 4 };
    const int64_t most   = root ? SMALL : 1 << 16;
    Lower        *lw     = b->lw;
    const Expr   *extent = x_max(lw, x_add(lw, x_sub(lw, max, min), x_int(lw, 1)), x_int(lw, 1));
    int64_t       lo, hi;
    simplifier_bounds(lw->simplifier, extent, &lo, &hi);
    const int64_t opened = hi <= SMALL ? hi : most_apart(b, let_opened(b, min), let_opened(b, max), DEPTH) + 1;
    hi                   = opened >= 1 && opened < hi ? opened : hi;
    return hi <= most || hi == lo ? x_int(lw, hi) : extent;
}

/* What a reader of the loops wants to know of storage that slides; NULL if it does not. */
static const Sliding *sliding_note(Build *b, const Func *f)
{
    const Slide *s = &b->slides[f->id];
    if (!s->decided)
        return NULL;
    Sliding *note = ARENA_NEW(b->lw->arena, Sliding);
    *note         = (Sliding){ .count  = s->count,
                               .dims   = { s->dims[0], s->dims[1] },
                               .window = { s->window[0], s->window[1] },
                               .folded = s->count && b->fold[f->id][s->dims[0]] > 0 };
    return note;
}

/* The number of elements must not wrap: extents are below 2^29, so three or more of them may. NULL: it cannot. */
static const Stmt *size_check(Build *b, const Func *f, const Expr **extent)
{
    enum { MOST_BITS = 33 };
    Lower      *lw   = b->lw;
    const Expr *most = expr_int(lw->exprs, KN_I64, (int64_t)1 << MOST_BITS), *size = expr_int(lw->exprs, KN_I64, 1);
    for (int d = 0; d < f->rank; d++)
        size = x_op(lw, EX_MUL, d < 2 ? size : x_min(lw, size, most), x_cast(lw, KN_I64, extent[d]));
    const Expr *fits = f->rank < 3 ? NULL : x_le(lw, size, most);
    if (!fits || fits->op == EX_INT)
        return NULL;
    Stmt *s            = ARENA_NEW(lw->arena, Stmt);
    s->kind            = STMT_CHECK;
    s->check.status    = KN_ERROR_BOUNDS;
    s->check.condition = fits;
    s->check.message = arena_printf(lw->arena, "the box of `%s` has more elements than compiled code can store (2^%d)",
                                    f->name, MOST_BITS);
    return s;
}

static const Stmt *realize(Build *b, const Func *f, const Stmt *body)
{
    Arena *a = b->lw->arena;
    if (!body)
        return NULL;
    Stmt *s            = ARENA_NEW(a, Stmt);
    s->kind            = STMT_REALIZE;
    s->realize.func    = f;
    s->realize.rank    = f->rank;
    s->realize.min     = ARENA_ARRAY(a, const Expr *, (size_t)f->rank);
    s->realize.extent  = ARENA_ARRAY(a, const Expr *, (size_t)f->rank);
    s->realize.fold    = memcpy(ARENA_ARRAY(a, int64_t, KN_MAX_RANK), b->fold[f->id], sizeof b->fold[f->id]);
    s->realize.body    = body;
    s->realize.sliding = sliding_note(b, f);
    for (int d = 0; d < f->rank; d++) {
        const SymBox *box    = &b->stored[f->id];
        s->realize.min[d]    = box->min[d];
        s->realize.extent[d] = b->fold[f->id][d] > 0
                                   ? x_int(b->lw, b->fold[f->id][d])
                                   : storage_extent(b, !plan_func(b->plan, f)->store.def, box->min[d], box->max[d]);
    }
    return stmt_pair(a, size_check(b, f, s->realize.extent), s);
}

static bool is_direct(Build *b, const PlanFunc *pf)
{
    return pf->is_output && !b->ports[pf->func->id];
}

const Stmt *level_build(Build *b, PlanLevel level, Nest *nest, const Stmt *(*core)(Build *b, Nest *nest, int loop),
                        int loop)
{
    const Plan *plan = b->plan;
    bool        any  = !level.def;
    for (int i = 0; i < plan->func_count; i++)
        any |= plan->funcs[i].func->kind != FUNC_INPUT &&
               (level_same(plan->funcs[i].compute, level) || level_same(plan->funcs[i].store, level));
    if (!any || b->failed)
        return b->failed ? NULL : core(b, nest, loop);
    Wraps w = { 0 };
    wraps_open(b, &w);
    for (int i = 0; i < plan->func_count; i++)
        if (plan->funcs[i].func->kind != FUNC_INPUT && level_same(plan->funcs[i].store, level) &&
            !level_same(plan->funcs[i].compute, level))
            slide_begin(b, plan->funcs[i].func, &w);
    for (int i = 0; i < plan->func_count; i++)
        if (level_same(plan->funcs[i].compute, level))
            b->boxes[i].needed = false;
    regions_begin(b, level, nest, &w);
    const Stmt *body = NULL;
    for (int i = 0; i < plan->func_count && !b->failed; i++)
        if (plan->funcs[i].func->kind != FUNC_INPUT && level_same(plan->funcs[i].compute, level) &&
            b->boxes[i].needed && (b->stored[i].known || is_direct(b, &plan->funcs[i])))
            body = stmt_pair(b->lw->arena, body, function_build(b, &plan->funcs[i]));
    body = stmt_pair(b->lw->arena, body, b->failed ? NULL : core(b, nest, loop));
    for (int i = plan->func_count - 1; i >= 0 && !b->failed; i--)
        if (plan->funcs[i].func->kind != FUNC_INPUT && level_same(plan->funcs[i].store, level) && b->stored[i].known &&
            !is_direct(b, &plan->funcs[i]))
            body = realize(b, plan->funcs[i].func, body);
    return wraps_close(b, &w, body);
}

/* ---- Outputs ---------------------------------------------------------------------------- */

/* Is the function read elsewhere than at the place that the update `u` writes? (NULL: anywhere) */
typedef struct Beside {
    const Func   *f;
    const Update *u;
    bool          found;
} Beside;

static void beside_visit(const Expr *e, void *user)
{
    Beside *s = user;
    if (e->op != EX_CALL || e->u.call.func != s->f)
        return;
    s->found |= !s->u;
    for (uint32_t d = 0; s->u && d < e->count; d++)
        s->found |= e->args[d] != s->u->args[d];
}

static bool reads_beside(Build *b, const Func *reader, const Func *f)
{
    Beside s = { f, NULL, false };
    for (int k = -1; k < reader->update_count; k++) {
        s.u = reader == f && k >= 0 ? &f->updates[k] : NULL;
        def_visit(b->lw->exprs, reader, k, beside_visit, &s);
    }
    for (int i = 0; i < reader->stage_arg_count; i++)
        s.found |= reader->stage_args[i].func == f;
    return s.found;
}

/* May more of an output be needed than the caller asks for? Then it has storage of its own, and is copied. */
static bool needs_storage(Build *b, const Func *f)
{
    for (int i = 0; i < b->plan->func_count; i++)
        if (reads_beside(b, b->plan->funcs[i].func, f))
            return true;
    for (int d = 0; d < f->rank; d++)
        if (plan_func(b->plan, f)->bound_min[d])
            return true;
    return f->kind == FUNC_STAGE;
}

/* The function behind the port of such an output: out(x, y) as it is in its storage. */
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

/* Rows of vectors. */
static PlanDef *copy_def(Build *b, const Func *port)
{
    Lower   *lw     = b->lw;
    PlanDef *def    = ARENA_NEW(lw->arena, PlanDef);
    def->func       = port;
    def->update     = -1;
    def->loop_count = port->rank ? port->rank + 1 : 0;
    def->step_count = port->rank ? 1 : 0;
    def->loops      = ARENA_ARRAY(lw->arena, PlanLoop, (size_t)port->rank + 1);
    def->steps      = ARENA_ARRAY(lw->arena, PlanStep, 1);
    for (int d = port->rank - 1; d > 0; d--)
        def->loops[port->rank - 1 - d] = (PlanLoop){ .name = port->args[d], .var = port->args[d], .kind = LOOP_SERIAL };
    if (!port->rank)
        return def;
    const char *outer          = intern(lw->cx, arena_printf(lw->arena, "%s.outer", port->args[0])),
               *inner          = intern(lw->cx, arena_printf(lw->arena, "%s.lanes", port->args[0]));
    const int lanes            = lw->vector_bits / (8 * (int)kn_type_size(port->types[0]));
    def->loops[port->rank - 1] = (PlanLoop){ .name = outer, .var = outer, .kind = LOOP_SERIAL };
    def->loops[port->rank]     = (PlanLoop){ .name = inner, .var = inner, .kind = LOOP_VECTOR };
    def->steps[0]              = (PlanStep){ .kind   = STEP_SPLIT,
                                             .whole  = port->args[0],
                                             .outer  = outer,
                                             .inner  = inner,
                                             .factor = lanes,
                                             .tail   = TAIL_SHIFT_INWARD };
    return def;
}

static const Stmt *copy_outputs(Build *b, Nest *none, int loop)
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

/* ---- The whole --------------------------------------------------------------------------- */

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

/* Is there anything to be computed? */
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
    map_init(&b.unsafe, lw->arena);
    map_init(&b.live, lw->arena);
    b.read   = ARENA_ARRAY(lw->arena, bool, count);
    b.alive  = ARENA_ARRAY(lw->arena, const Expr *, count);
    b.stored = ARENA_ARRAY(lw->arena, SymBox, count);
    b.boxes  = ARENA_ARRAY(lw->arena, FuncBoxes, count);
    b.slides = ARENA_ARRAY(lw->arena, Slide, count);
    b.ports  = ARENA_ARRAY(lw->arena, Func *, count);
    b.fold   = arena_array(lw->arena, count, sizeof *b.fold);
    stages_begin(&b);
    for (int i = 0; i < lw->plan->func_count; i++)
        for (int d = 0; d < lw->plan->funcs[i].func->rank; d++)
            if (lw->plan->funcs[i].bound_min[d] || lw->plan->funcs[i].align_factor[d])
                regions_widen(&b, lw->plan->funcs[i].func);
    add_ports(&b);
    const Expr *any = any_output(&b);
    Wraps       w   = { 0 };
    wraps_open(&b, &w);
    wrap_if(&b, &w, any);
    const Stmt *body = level_build(&b, (PlanLevel){ NULL, 0 }, NULL, copy_outputs, 0);
    return wraps_close(&b, &w, body);
}
