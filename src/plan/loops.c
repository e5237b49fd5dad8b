/* SPDX-License-Identifier: MIT */
/* Loops: the directives of the domain order, applied one after the other to the loops of a definition.
 *
 * Takes   a definition and its directives.
 * Gives   its loops, outermost first, and the steps (splits and fusions) by which they come from its variables.
 * Holds   the order of an update's reduction loops is followed through splits and fusions as a list of loop numbers;
 *         that the nest keeps it, or may leave it, is checked at the end (order.c), so directives may come in any
 *         order. */
#include "plan/planner.h"

/* ---- Before any directive --------------------------------------------------------------- */

static int64_t constant_extent(const Expr *extent)
{
    int64_t v;
    return extent && expr_is_int(extent, &v) && v > 0 ? v : 0;
}

/* The lineage of a loop that is part `part` of what a and b stand for. */
static uint64_t descend(uint64_t a, uint64_t b, uint64_t part)
{
    return ((a ^ (b * 0x9E3779B97F4A7C15u)) + part) * 0xD6E8FEB86659FD93u ^ a >> 29;
}

static void add_loop(Planner *pl, DefDraft *d, Loop l)
{
    l.number  = d->next_number++;
    l.lineage = descend(l.vars, 0, 0);
    vec_push(pl->arena, &d->loops, l);
    if (l.loop.is_reduction)
        vec_push(pl->arena, &d->order, l.number);
}

static void add_free(Planner *pl, DefDraft *d, const FuncDraft *f, int dim)
{
    add_loop(pl, d,
             (Loop){ .loop   = { .name = f->origin->args[dim], .var = f->func->args[dim] },
                     .vars   = 1u << dim,
                     .extent = constant_extent(f->plan->bound_extent[dim]) });
}

/* Free variables that bound a reduction: their loops are outside it. */
static uint32_t bounding(const DefDraft *d)
{
    return d->facts.other_points ? 0 : d->facts.bounding & FREE_VARIABLES;
}

void begin_loops(Planner *pl, FuncDraft *f, DefDraft *d)
{
    const Update  *u       = d->update;
    const uint32_t outside = bounding(d);
    for (int k = f->func->rank - 1; k >= 0; k--)
        if (outside & 1u << k)
            add_free(pl, d, f, k);
    for (int i = 0; u && i < u->rvar_count; i++) {
        int64_t steps;
        if (!expr_difference(u->rvars[i].hi, u->rvars[i].lo, &steps) || steps < 0)
            steps = 0;
        add_loop(pl, d,
                 (Loop){ .loop   = { .name         = f->origin->updates[d->def->update].rvars[i].name,
                                     .var          = u->rvars[i].name,
                                     .is_reduction = true },
                         .vars   = 1u << (FIRST_RVAR + i),
                         .extent = steps });
    }
    for (int k = f->func->rank - 1; k >= 0; k--)
        if ((!u || u->is_free[k]) && !(outside & 1u << k))
            add_free(pl, d, f, k);
}

/* ---- Tools ------------------------------------------------------------------------------ */

int find_loop(const DefDraft *d, const char *name)
{
    for (size_t i = 0; i < d->loops.count; i++)
        if (d->loops.at[i].loop.name == name)
            return (int)i;
    return -1;
}

/* The loop that an argument names. The front end has seen that it is there; a schedule made otherwise is checked
 * here. */
static int named_loop(Planner *pl, const DefDraft *d, const Directive *dir, int arg)
{
    const int at = arg < dir->arg_count ? find_loop(d, dir->args[arg].name) : -1;
    if (at < 0)
        refuse(pl, ERROR_NO_LOOP, dir->loc, NULL, "%s has no loop `%s` here", def_text(pl, d),
               arg < dir->arg_count ? dir->args[arg].name : "");
    return at;
}

static const ScheduleArg *tail_of(const Directive *dir)
{
    const ScheduleArg *last = dir->arg_count ? &dir->args[dir->arg_count - 1] : NULL;
    return last && last->label ? last : NULL;
}

/* The factor of vectorize, unroll, parallel; 0 if there is none. */
static const ScheduleArg *factor_of(const Directive *dir)
{
    return dir->arg_count > 1 && dir->args[1].kind == ARG_INT ? &dir->args[1] : NULL;
}

static size_t order_place(const DefDraft *d, int number)
{
    size_t i = 0;
    while (i < d->order.count && d->order.at[i] != number)
        i++;
    return i;
}

/* Makes room for one more loop at `at`. */
static void open_loop(Planner *pl, DefDraft *d, int at)
{
    vec_push(pl->arena, &d->loops, (Loop){ 0 });
    memmove(&d->loops.at[at + 1], &d->loops.at[at], (d->loops.count - 1 - (size_t)at) * sizeof *d->loops.at);
}

static void close_loop(DefDraft *d, int at)
{
    d->loops.count--;
    memmove(&d->loops.at[at], &d->loops.at[at + 1], (d->loops.count - (size_t)at) * sizeof *d->loops.at);
}

/* ---- Split ------------------------------------------------------------------------------ */

/* Computing a point twice is idempotent in a pure definition, and in an update that does not read itself. Each step of
 * a reduction is taken once. */
static bool may_repeat(const DefDraft *d, const Loop *l)
{
    return !d->update || (!d->facts.reads_self && !l->loop.is_reduction);
}

static bool choose_tail(Planner *pl, const DefDraft *d, const Loop *l, const ScheduleArg *asked, Tail *out)
{
    *out = asked ? (Tail)asked->value : may_repeat(d, l) ? TAIL_SHIFT_INWARD : TAIL_GUARD;
    if (may_repeat(d, l))
        return true;
    if (*out == TAIL_SHIFT_INWARD)
        return refuse(pl, ERROR_TAIL, asked->loc, "tail: guard, or tail: predicate",
                      "shift_inward would run some of %s twice, and it %s", def_text(pl, d),
                      d->facts.reads_self ? "reads itself" : "takes each step once");
    if (*out == TAIL_ROUND_UP) /* a permission to compute more, not used here */
        *out = TAIL_GUARD;
    return true;
}

/* The steps of the reduction in their order, with the two parts in the place of one. */
static void split_order(Planner *pl, DefDraft *d, int whole, int outer, int inner)
{
    const size_t at = order_place(d, whole);
    vec_push(pl->arena, &d->order, 0);
    memmove(&d->order.at[at + 1], &d->order.at[at], (d->order.count - 1 - at) * sizeof *d->order.at);
    d->order.at[at]     = outer;
    d->order.at[at + 1] = inner;
}

bool split_loop(Planner *pl, DefDraft *d, int at, const char *outer, const char *inner, int64_t factor,
                const ScheduleArg *tail)
{
    const Loop whole = d->loops.at[at];
    Tail       how;
    if (!choose_tail(pl, d, &whole, tail, &how))
        return false;
    Loop o = whole, i = whole;
    o.number    = d->next_number++;
    i.number    = d->next_number++;
    o.loop.name = outer;
    i.loop.name = inner;
    o.loop.var  = fresh_name(pl, arena_printf(pl->arena, "%s%s", d->prefix, outer));
    i.loop.var  = fresh_name(pl, arena_printf(pl->arena, "%s%s", d->prefix, inner));
    o.extent    = whole.extent ? (whole.extent + factor - 1) / factor : 0;
    i.extent    = factor;
    o.lineage   = descend(whole.lineage, (uint64_t)factor, 1);
    i.lineage   = descend(whole.lineage, (uint64_t)factor, 2);
    i.loop.kind = LOOP_SERIAL;
    i.by        = NULL;
    open_loop(pl, d, at);
    d->loops.at[at]     = o;
    d->loops.at[at + 1] = i;
    if (whole.loop.is_reduction)
        split_order(pl, d, whole.number, o.number, i.number);
    vec_push(pl->arena, &d->steps,
             ((PlanStep){ STEP_SPLIT, whole.loop.var, o.loop.var, i.loop.var, factor, how, tail != NULL }));
    return true;
}

/* A vector or unrolled loop cannot be split or fused any more. */
static bool divisible(Planner *pl, const DefDraft *d, const Directive *dir, int at)
{
    const Loop *l = &d->loops.at[at];
    if (!loop_table[l->loop.kind].constant)
        return true;
    return refuse(pl, ERROR_LOOP_KIND, dir->loc, arena_printf(pl->arena, "%s before it", dir->info->name),
                  "the loop `%s` of %s is %s already", l->loop.name, def_text(pl, d),
                  loop_table[l->loop.kind].adjective);
}

bool apply_split(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    const int at = named_loop(pl, d, dir, 0);
    return at >= 0 && divisible(pl, d, dir, at) &&
           split_loop(pl, d, at, dir->args[1].name, dir->args[2].name, dir->args[3].value, tail_of(dir));
}

void reorder_loops(Planner *pl, DefDraft *d, int count, const int *loops)
{
    Loop *scratch = ARENA_ARRAY(pl->arena, Loop, (size_t)count);
    int   next    = 0;
    for (int k = 0; k < count; k++)
        scratch[k] = d->loops.at[loops[count - 1 - k]];
    for (int i = 0; i < (int)d->loops.count; i++)
        for (int k = 0; k < count; k++)
            if (loops[k] == i) {
                d->loops.at[i] = scratch[next++];
                break;
            }
}

bool apply_reorder(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    int *loops = ARENA_ARRAY(pl->arena, int, (size_t)dir->arg_count);
    for (int k = 0; k < dir->arg_count; k++)
        if ((loops[k] = named_loop(pl, d, dir, k)) < 0)
            return false;
    reorder_loops(pl, d, dir->arg_count, loops);
    d->moved_by = dir;
    return true;
}

/* tile(x, y, xo, yo, xi, yi, fx, fy): both split, the inner ones inside. */
static const int tile_parts[] = { 4, 5, 2, 3 }; /* xi, yi, xo, yo: innermost first */

bool apply_tile(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    int loops[4];
    for (int k = 0; k < 2; k++) {
        const int at = named_loop(pl, d, dir, k);
        if (at < 0 || !divisible(pl, d, dir, at) ||
            !split_loop(pl, d, at, dir->args[2 + k].name, dir->args[4 + k].name, dir->args[6 + k].value, tail_of(dir)))
            return false;
    }
    for (int k = 0; k < 4; k++)
        if ((loops[k] = named_loop(pl, d, dir, tile_parts[k])) < 0)
            return false;
    reorder_loops(pl, d, 4, loops);
    d->moved_by = dir;
    return true;
}

/* ---- Fuse ------------------------------------------------------------------------------- */

/* The order of the steps is kept if the outer loop came just before the inner one. */
static void fuse_order(DefDraft *d, const Loop *outer, const Loop *inner, int fused)
{
    const size_t o = order_place(d, outer->number), i = order_place(d, inner->number);
    if (!outer->loop.is_reduction && !inner->loop.is_reduction)
        return;
    if (!outer->loop.is_reduction || !inner->loop.is_reduction) {
        d->mixed                                      = true;
        d->order.at[outer->loop.is_reduction ? o : i] = fused;
        return;
    }
    d->order_lost |= i != o + 1;
    d->order.at[o] = fused;
    d->order.count--;
    memmove(&d->order.at[i], &d->order.at[i + 1], (d->order.count - i) * sizeof *d->order.at);
}

/* fuse(inner, outer, new): the new loop stands where the inner one stood. */
bool apply_fuse(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    const int i = named_loop(pl, d, dir, 0), o = named_loop(pl, d, dir, 1);
    if (i < 0 || o < 0 || i == o || !divisible(pl, d, dir, i) || !divisible(pl, d, dir, o))
        return false;
    const Loop inner = d->loops.at[i], outer = d->loops.at[o];
    Loop       fused = { .number = d->next_number++, .vars = inner.vars | outer.vars, .by = outer.by };
    fused.loop       = (PlanLoop){ .name         = dir->args[2].name,
                                   .kind         = outer.loop.kind,
                                   .is_reduction = inner.loop.is_reduction || outer.loop.is_reduction };
    fused.loop.var   = fresh_name(pl, arena_printf(pl->arena, "%s%s", d->prefix, fused.loop.name));
    if (inner.extent && outer.extent && __builtin_mul_overflow(inner.extent, outer.extent, &fused.extent))
        fused.extent = 0;
    fused.lineage = descend(outer.lineage, inner.lineage, 3);
    fuse_order(d, &outer, &inner, fused.number);
    d->loops.at[i] = fused;
    close_loop(d, o);
    d->moved_by = dir;
    vec_push(pl->arena, &d->steps,
             ((PlanStep){ STEP_FUSE, fused.loop.var, outer.loop.var, inner.loop.var, 0, TAIL_GUARD, false }));
    return true;
}

/* ---- Kinds ------------------------------------------------------------------------------ */

/* A directive that gives a loop its kind; with a factor, one part of a split. */
typedef struct KindRow {
    DirectiveId directive;
    LoopKind    kind;
    const char *inner;    /* suffix of the inner loop's name */
    bool        of_inner; /* the inner part gets the kind, and needs a constant extent */
} KindRow;

static const KindRow kinds[] = {
    { DIR_VECTORIZE, LOOP_VECTOR, "lanes", true },
    { DIR_UNROLL, LOOP_UNROLL, "copies", true },
    { DIR_PARALLEL, LOOP_PARALLEL, "task", false },
    { DIR_SERIAL, LOOP_SERIAL, "", false },
};

bool apply_loop_kind(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    const KindRow *row = kinds;
    while (!directive_is(dir, row->directive))
        row++;
    const char        *name   = dir->info->name;
    int                at     = named_loop(pl, d, dir, 0);
    const ScheduleArg *factor = factor_of(dir), *tail = tail_of(dir);
    if (at < 0)
        return false;
    if (tail && !factor)
        return refuse(pl, ERROR_TAIL, tail->loc, "give a factor too",
                      "there is no tail: without a factor, `%s` takes the loop as it is", name);
    if (row->kind == LOOP_VECTOR && factor && factor->value > LEGAL_LANES)
        return refuse(pl, ERROR_FACTOR, factor->loc, NULL, "a vector has at most %d lanes", LEGAL_LANES);
    const char *loop = d->loops.at[at].loop.name;
    if (factor) {
        if (!divisible(pl, d, dir, at) ||
            !split_loop(pl, d, at, loop, intern(pl->cx, arena_printf(pl->arena, "%s.%s", loop, row->inner)),
                        factor->value, tail))
            return false;
        at += row->of_inner;
    } else if (row->of_inner && !d->loops.at[at].extent) {
        return refuse(pl, ERROR_FACTOR, dir->loc, arena_printf(pl->arena, "give a factor: %s(%s, 8)", name, loop),
                      "the extent of the loop `%s` is not known, and `%s` needs it", loop, name);
    }
    d->loops.at[at].loop.kind = row->kind;
    d->loops.at[at].by        = dir;
    return true;
}

/* gpu_blocks, gpu_threads, gpu_lanes: each loop named gets the kind. */
bool apply_gpu_loops(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    const LoopKind kind = directive_is(dir, DIR_GPU_BLOCKS)    ? LOOP_BLOCK
                          : directive_is(dir, DIR_GPU_THREADS) ? LOOP_THREAD
                                                               : LOOP_LANE;
    for (int k = 0; k < dir->arg_count; k++) {
        const int at = named_loop(pl, d, dir, k);
        if (at < 0 || !divisible(pl, d, dir, at))
            return false;
        d->loops.at[at].loop.kind = kind;
        d->loops.at[at].by        = dir;
    }
    return true;
}

bool apply_gpu_tile(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    if (!apply_tile(pl, f, d, dir))
        return false;
    for (int k = 0; k < 4; k++) {
        Loop *l      = &d->loops.at[named_loop(pl, d, dir, tile_parts[k])];
        l->loop.kind = k < 2 ? LOOP_THREAD : LOOP_BLOCK;
        l->by        = dir;
    }
    return true;
}

bool apply_launch_bounds(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    enum { MOST_RESIDENT = 32 };
    const ScheduleArg *threads = &dir->args[0], *blocks = dir->arg_count > 1 ? &dir->args[1] : NULL;
    if (threads->value > LEGAL_THREADS)
        return refuse(pl, ERROR_FACTOR, threads->loc, NULL, "a block has at most %d threads", LEGAL_THREADS);
    if (blocks && blocks->value > MOST_RESIDENT)
        return refuse(pl, ERROR_FACTOR, blocks->loc, NULL, "a multiprocessor holds at most %d blocks", MOST_RESIDENT);
    d->def->threads  = (int)threads->value;
    d->def->resident = blocks ? (int)blocks->value : 0;
    return true;
}

bool apply_atomic(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    if (!d->update)
        return refuse(pl, ERROR_NOT_ASSOCIATIVE, dir->loc,
                      arena_printf(pl->arena, "%s.update(0).atomic()", d->def->func->name),
                      "`atomic` is for updates: a pure definition writes each place once");
    if (d->facts.inexact)
        return refuse(pl, ERROR_FLOAT_ORDER, dir->loc,
                      "leave it out: the loops over the function's arguments can still run at once",
                      "`atomic` would add floats in any order, which is another result");
    if (!d->facts.combines)
        return refuse(pl, ERROR_NOT_ASSOCIATIVE, dir->loc, "leave it out",
                      "`atomic` needs an update f(…) = f(…) op e that reads itself nowhere else, with an operation "
                      "that is exact in any order");
    d->def->atomic = true;
    return true;
}

/* ---- Versions and prefetches ------------------------------------------------------------ */

/* specialize: a copy of the definition as it is now, which later directives of the chain change. */
bool apply_specialize(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    const Expr *condition = schedule_expr(pl, &dir->args[0]);
    DefDraft   *copy      = ARENA_NEW(pl->arena, DefDraft);
    if (!condition)
        return false;
    *copy               = *d;
    copy->def           = ARENA_NEW(pl->arena, PlanDef);
    *copy->def          = *d->def;
    copy->loops.at      = ARENA_ARRAY(pl->arena, Loop, d->loops.capacity);
    copy->steps.at      = ARENA_ARRAY(pl->arena, PlanStep, d->steps.capacity);
    copy->order.at      = ARENA_ARRAY(pl->arena, int, d->order.capacity);
    copy->prefetches.at = ARENA_ARRAY(pl->arena, const Directive *, d->prefetches.capacity);
    for (size_t i = 0; i < d->loops.count; i++)
        copy->loops.at[i] = d->loops.at[i];
    for (size_t i = 0; i < d->steps.count; i++)
        copy->steps.at[i] = d->steps.at[i];
    for (size_t i = 0; i < d->order.count; i++)
        copy->order.at[i] = d->order.at[i];
    for (size_t i = 0; i < d->prefetches.count; i++)
        copy->prefetches.at[i] = d->prefetches.at[i];
    copy->versions.count = copy->versions.capacity = 0;
    copy->prefix                                   = arena_printf(pl->arena, "%sv%zu.", d->prefix, d->versions.count);
    vec_push(pl->arena, &d->versions, ((Version){ condition, copy }));
    return true;
}

bool apply_prefetch(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    const FuncDraft *g = draft_of(pl, dir->args[0].func);
    if (g->inlined)
        return refuse(pl, ERROR_NOT_READ, dir->args[0].loc, "name a function that it reads",
                      "%s does not read `%s`, which is inlined", def_text(pl, d), g->func->name);
    vec_push(pl->arena, &d->prefetches, dir);
    return true;
}

static bool end_prefetches(Planner *pl, DefDraft *d)
{
    PlanDef *def        = d->def;
    def->prefetches     = ARENA_ARRAY(pl->arena, PlanPrefetch, d->prefetches.count);
    def->prefetch_count = (int)d->prefetches.count;
    for (int i = 0; i < def->prefetch_count; i++) {
        const Directive *dir  = d->prefetches.at[i];
        const int        loop = find_loop(d, dir->args[1].name);
        for (int k = 0; k <= loop; k++)
            if (d->loops.at[k].loop.kind == LOOP_VECTOR)
                return refuse(pl, ERROR_PREFETCH, dir->args[1].loc, "name a loop outside it",
                              "`%s` is the vector loop or inside it: a prefetch is once per vector", dir->args[1].name);
        if (loop < 0)
            return refuse(pl, ERROR_NO_LOOP, dir->args[1].loc,
                          "put prefetch after the directives that change the loops", "%s has no loop `%s` in the end",
                          def_text(pl, d), dir->args[1].name);
        def->prefetches[i] = (PlanPrefetch){ draft_of(pl, dir->args[0].func)->func, loop, dir->args[2].value };
    }
    return true;
}

/* ---- After all directives --------------------------------------------------------------- */

/* Shifting the last piece inward keeps vectors and unrolled bodies whole. On a device a predicate does, which leaves
 * every element to one thread. Any other loop just ends earlier. */
static void choose_default_tails(const Planner *pl, PlanDef *def)
{
    for (int i = 0; i < def->step_count; i++) {
        bool hard = false;
        for (int k = 0; k < def->loop_count; k++)
            hard |= def->loops[k].var == def->steps[i].inner && loop_table[def->loops[k].kind].constant;
        if (!def->steps[i].asked && (!hard || pl->target.kind == TARGET_GPU))
            def->steps[i].tail = hard ? TAIL_PREDICATE : TAIL_GUARD;
    }
}

bool end_loops(Planner *pl, DefDraft *d)
{
    PlanDef *def = d->def;
    if (!check_nest(pl, d))
        return false;
    def->loop_count = (int)d->loops.count;
    def->loops      = ARENA_ARRAY(pl->arena, PlanLoop, d->loops.count);
    for (int i = 0; i < def->loop_count; i++)
        def->loops[i] = d->loops.at[i].loop;
    def->step_count = (int)d->steps.count;
    def->steps      = d->steps.at;
    choose_default_tails(pl, def);
    def->version_count = (int)d->versions.count;
    def->versions      = ARENA_ARRAY(pl->arena, PlanDef, d->versions.count);
    def->conditions    = ARENA_ARRAY(pl->arena, const Expr *, d->versions.count);
    for (int i = 0; i < def->version_count; i++) {
        if (!end_loops(pl, d->versions.at[i].draft))
            return false;
        def->versions[i]   = *d->versions.at[i].draft->def;
        def->conditions[i] = d->versions.at[i].condition;
    }
    return end_prefetches(pl, d);
}
