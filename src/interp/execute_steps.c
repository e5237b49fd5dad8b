/* SPDX-License-Identifier: MIT */
/* The statements of lowered code as steps.
 *
 * Takes   a statement, in a place of some lanes.
 * Gives   a step: its code, memory for its lanes, and the action that runs it.
 * Holds   a value that decides what the code does (a condition, a bound, an index) comes from memory that was written.
 */
#include "interp/executor.h"

enum { EXECUTOR_MAX_LANES = 1 << 16 };

/* ---- Bindings, blocks, conditions -------------------------------------------------------- */

static void copy_value(LaneValues to, LaneValues from, int width)
{
    memcpy(to.lane, from.lane, (size_t)width * sizeof *to.lane);
    memcpy(to.undefined, from.undefined, (size_t)width);
}

static void run_let(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    code_run(ex, s->code, active);
    copy_value(s->slot->value, s->a, s->width);
    s->body->run(ex, s->body, active);
}

static void run_block(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    for (int i = 0; i < s->count; i++)
        s->items[i]->run(ex, s->items[i], active);
}

static void run_if(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    code_run(ex, s->code, active);
    expect_defined(ex, &s->a, s->width, active, "a condition");
    for (int l = 0; l < s->width; l++) {
        s->mask[l]  = active[l] && s->a.lane[l].i;
        s->other[l] = active[l] && !s->a.lane[l].i;
    }
    if (s->body && any_active(s->mask, s->width))
        s->body->run(ex, s->body, s->mask);
    if (s->no && any_active(s->other, s->width))
        s->no->run(ex, s->no, s->other);
}

static void run_produce(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    DefinitionCounts *outer = ex->producing;
    ex->producing           = &ex->counts->definitions[s->definition];
    s->body->run(ex, s->body, active);
    ex->producing = outer;
}

/* ---- Loops ------------------------------------------------------------------------------- */

/* Evaluates the bounds. Gives the most iterations of any lane. */
static int64_t enter_loop(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    int64_t most = 0;
    code_run(ex, s->code, active);
    expect_defined(ex, &s->a, s->width, active, "where a loop begins");
    expect_defined(ex, &s->b, s->width, active, "the extent of a loop");
    for (int l = 0; l < s->width; l++)
        if (active[l] && s->b.lane[l].i > most)
            most = s->b.lane[l].i;
    return most;
}

/* Iteration i, in the lanes that have one. */
static void run_iteration(Executor *ex, const ExecStep *s, const uint8_t *active, int64_t i)
{
    context_spend(ex->cx, 1);
    for (int l = 0; l < s->width; l++) {
        s->mask[l]               = active[l] && i < s->b.lane[l].i;
        s->slot->value.lane[l].i = s->a.lane[l].i + i;
    }
    s->body->run(ex, s->body, s->mask);
}

static void run_serial(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    const int64_t most = enter_loop(ex, s, active);
    for (int64_t i = 0; i < most; i++)
        run_iteration(ex, s, active, i);
}

/* The iterations in a scrambled order. */
static void run_parallel(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    const int64_t  most = enter_loop(ex, s, active), step = scrambled_step(most);
    const uint32_t outer = ex->strand, loop = strand_loop(ex, "another iteration of the same parallel loop", outer);
    AtOnce         counts = at_once_begin(ex);
    for (int64_t i = 0, at = most - 1; i < most; i++, at = (at + step) % most) {
        ex->strand = strand_of_loop(ex, loop);
        at_once_iteration(ex, &counts);
        run_iteration(ex, s, active, at);
        at_once_next(ex, &counts);
    }
    ex->strand = outer;
    at_once_end(ex, &counts);
    ex->counts->parallel_loops++;
    ex->counts->parallel_iterations += most;
}

/* All iterations at once: lane l of this place becomes lanes l*extent .. l*extent + extent - 1 of the body's. */
static void run_vector(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    const int extent = s->slot->width / s->width;
    enter_loop(ex, s, active);
    for (int l = 0; l < s->slot->width; l++) {
        s->mask[l]               = active[l / extent];
        s->slot->value.lane[l].i = s->a.lane[l / extent].i + l % extent;
    }
    s->body->run(ex, s->body, s->mask);
    ex->counts->vector_loops++;
    ex->counts->vector_lanes += s->slot->width;
}

/* ---- Memory ------------------------------------------------------------------------------ */

static void store_lanes(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    ex->event++;
    for (int i = 0; i < s->count; i++)
        expect_defined(ex, &s->values[2 * i], s->width, active, "the place of a store");
    for (int i = 0; i < s->count; i++) {
        const BufferMemory *to = &ex->memories[s->stmt->store.places[i].buffer->id];
        for (int l = 0; l < s->width; l++)
            if (active[l])
                memory_store(ex, to, l, s->width, s->values[2 * i].lane[l].i, s->values[2 * i + 1].lane[l],
                             s->values[2 * i + 1].undefined[l]);
    }
}

/* All lanes compute, then all store. An atomic store goes lane by lane. */
static void run_store(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    context_spend(ex->cx, (uint64_t)s->width);
    ex->counts->span++;
    int lanes = 0;
    for (int l = 0; l < s->width; l++)
        lanes += active[l];
    ex->counts->work += lanes;
    if (lanes > ex->counts->width)
        ex->counts->width = lanes;
    if (!s->stmt->store.atomic) {
        code_run(ex, s->code, active);
        store_lanes(ex, s, active);
        return;
    }
    ex->in_atomic = true;
    for (int l = 0; l < s->width; l++) {
        if (!active[l])
            continue;
        memset(s->mask, 0, (size_t)s->width);
        s->mask[l] = true;
        code_run(ex, s->code, s->mask);
        store_lanes(ex, s, s->mask);
    }
    ex->in_atomic = false;
}

/* Allocates memory for each active lane. Gives the bytes. */
static int64_t allocate_lanes(Executor *ex, const ExecStep *s, const uint8_t *active, Arena *arena, BufferMemory *store)
{
    const int64_t size  = (int64_t)kn_type_size(store->buffer->type);
    int64_t       bytes = 0;
    store->width        = s->width;
    store->per_lane     = ARENA_ARRAY(arena, LaneMemory, (size_t)s->width);
    for (int l = 0; l < s->width; l++) {
        const int64_t count = active[l] && s->a.lane[l].i > 0 ? s->a.lane[l].i : 0;
        if (count > INT64_MAX / 64)
            context_bail(ex->cx, KN_ERROR_LIMIT, "out of memory");
        store->per_lane[l].high = -1;
        if (count)
            lane_memory_allocate(arena, &store->per_lane[l], store->buffer->type, count);
        store->counts->allocations += count > 0;
        if (count * size > store->counts->largest)
            store->counts->largest = count * size;
        bytes += count * size;
    }
    return bytes;
}

void run_allocated(Executor *ex, const ExecStep *s, const uint8_t *active, int64_t bytes)
{
    ex->bytes += bytes;
    ex->counts->total_bytes += bytes;
    if (ex->bytes > ex->counts->peak_bytes)
        ex->counts->peak_bytes = ex->bytes;
    s->body->run(ex, s->body, active);
    ex->bytes -= bytes;
}

static void run_alloc(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    Arena         arena;
    BufferMemory *store = &ex->memories[s->stmt->alloc.buffer->id], outer = *store;
    code_run(ex, s->code, active);
    expect_defined(ex, &s->a, s->width, active, "the size of an allocation");
    scratch_begin(&arena, ex->cx);
    store->host_reads = store->host_writes = false;
    store->in_kernel                       = ex->block != NULL;
    run_allocated(ex, s, active, allocate_lanes(ex, s, active, &arena, store));
    *store = outer;
    scratch_end(&arena);
}

static void run_prefetch(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    code_run(ex, s->code, active);
}

/* ---- Checks ------------------------------------------------------------------------------ */

/* A coordinate of a port buffer is a variable, bound at entry. */
static int64_t port_variable(Executor *ex, const Buffer *b, const char *what, int dim)
{
    const VariableSlot *slot =
        map_get(&ex->slots, intern(ex->cx, arena_printf(&ex->cx->call, "%s.%s.%d", b->name, what, dim)));
    return slot->value.lane[0].i;
}

static void run_need(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    const Buffer *b   = s->stmt->need.buffer;
    const int     dim = s->stmt->need.dim;
    code_run(ex, s->code, active);
    expect_defined(ex, &s->a, s->width, active, "what a buffer must have");
    expect_defined(ex, &s->b, s->width, active, "what a buffer must have");
    const int64_t min = port_variable(ex, b, "min", dim), max = min + port_variable(ex, b, "extent", dim) - 1;
    for (int l = 0; l < s->width; l++) {
        const int64_t lo = s->a.lane[l].i, hi = s->b.lane[l].i;
        if (!active[l] || lo > hi || (lo >= min && hi <= max))
            continue;
        const char *reader = s->stmt->need.reader;
        const char *given =
            max >= min ? arena_printf(&ex->cx->call, "%lld..%lld", (long long)min, (long long)max) : "nothing";
        context_bail(ex->cx, KN_ERROR_BOUNDS,
                     arena_printf(&ex->cx->call,
                                  "`%s` has %s along `%s` (dimension %d), but %lld..%lld is needed: `%s` %s it",
                                  b->name, given, b->dims ? b->dims[dim] : "?", dim, (long long)lo, (long long)hi,
                                  reader ? reader : b->name, reader ? "reads" : "writes"));
    }
}

static void run_check(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    code_run(ex, s->code, active);
    expect_defined(ex, &s->a, s->width, active, "a check");
    for (int l = 0; l < s->width; l++)
        if (active[l] && !s->a.lane[l].i)
            context_bail(ex->cx, s->stmt->check.status, s->stmt->check.message);
}

/* ---- Making steps ------------------------------------------------------------------------ */

VariableSlot *bind_name(Executor *ex, const char *name, int width)
{
    VariableSlot *slot = ARENA_NEW(&ex->arena, VariableSlot);
    slot->width        = width;
    slot->value        = lane_values_new(ex, width);
    if (map_get(&ex->slots, name))
        executor_mistake(ex, "lowered code binds `%s` where it is bound already", name);
    map_set(&ex->slots, name, slot);
    return slot;
}

void unbind_name(Executor *ex, const char *name)
{
    map_set(&ex->slots, name, NULL);
}

/* Binds a name while the body is made. */
static const ExecStep *make_body(Executor *ex, ExecStep *step, const char *name, int width, const Stmt *body)
{
    step->slot           = bind_name(ex, name, width);
    const ExecStep *made = make_step(ex, body, width);
    unbind_name(ex, name);
    return made;
}

static void make_loop(Executor *ex, ExecStep *step, const Stmt *s)
{
    static StepAction *const actions[] = { [LOOP_SERIAL]   = run_serial,
                                           [LOOP_PARALLEL] = run_parallel,
                                           [LOOP_VECTOR]   = run_vector,
                                           [LOOP_UNROLL]   = run_serial };
    int                      width     = step->width;
    int64_t                  extent    = 1;
    if (loop_table[s->loop.kind].thread) {
        make_threads(ex, step, s);
        return;
    }
    step->run = actions[s->loop.kind];
    step->a   = code_add(ex, step->code, s->loop.min);
    step->b   = code_add(ex, step->code, s->loop.extent);
    if (s->loop.kind == LOOP_VECTOR &&
        (!expr_is_int(s->loop.extent, &extent) || extent <= 0 || extent > EXECUTOR_MAX_LANES / width))
        executor_mistake(ex, "the vector loop `%s` has no constant extent, or too large a one", s->loop.name);
    width *= (int)extent;
    step->mask = ARENA_ARRAY(&ex->arena, uint8_t, (size_t)width);
    step->body = make_body(ex, step, s->loop.name, width, s->loop.body);
}

static void make_store(Executor *ex, ExecStep *step, const Stmt *s)
{
    step->run    = run_store;
    step->count  = s->store.count;
    step->values = ARENA_ARRAY(&ex->arena, LaneValues, 2 * (size_t)step->count);
    step->mask   = ARENA_ARRAY(&ex->arena, uint8_t, (size_t)step->width);
    for (int i = 0; i < step->count; i++) {
        const Place *place = &s->store.places[i];
        if (place->value->type != place->buffer->type)
            executor_mistake(ex, "a value of type %s is stored to `%s`", kn_type_name(place->value->type),
                             place->buffer->name);
        step->values[2 * i]     = code_add(ex, step->code, place->index);
        step->values[2 * i + 1] = code_add(ex, step->code, place->value);
    }
}

/* The row of counts of a definition, a new one at its first PRODUCE. The table has room for all. */
static int definition_of(Executor *ex, const Stmt *s)
{
    ExecuteCounts *c = ex->counts;
    int            i = 0;
    while (i < c->definition_count &&
           (c->definitions[i].func != s->produce.func || c->definitions[i].update != s->produce.update))
        i++;
    if (i == c->definition_count)
        c->definitions[c->definition_count++] =
            (DefinitionCounts){ .func = s->produce.func, .update = s->produce.update };
    return i;
}

static void make_branch(Executor *ex, ExecStep *step, const Stmt *s)
{
    step->run   = run_if;
    step->a     = code_add(ex, step->code, s->branch.condition);
    step->mask  = ARENA_ARRAY(&ex->arena, uint8_t, (size_t)step->width);
    step->other = ARENA_ARRAY(&ex->arena, uint8_t, (size_t)step->width);
    step->body  = s->branch.yes ? make_step(ex, s->branch.yes, step->width) : NULL;
    step->no    = s->branch.no ? make_step(ex, s->branch.no, step->width) : NULL;
}

static void make_block(Executor *ex, ExecStep *step, const Stmt *s)
{
    step->run   = run_block;
    step->count = s->block.count;
    step->items = ARENA_ARRAY(&ex->arena, const ExecStep *, (size_t)step->count);
    for (int i = 0; i < step->count; i++)
        step->items[i] = make_step(ex, s->block.items[i], step->width);
}

static void make_other(Executor *ex, ExecStep *step, const Stmt *s)
{
    switch (s->kind) {
    case STMT_LET:
        step->run  = run_let;
        step->a    = code_add(ex, step->code, s->let.value);
        step->body = make_body(ex, step, s->let.name, step->width, s->let.body);
        break;
    case STMT_PRODUCE:
        step->run        = run_produce;
        step->definition = definition_of(ex, s);
        step->body       = make_step(ex, s->produce.body, step->width);
        break;
    case STMT_ALLOC:
        step->run = run_alloc;
        step->a   = code_add(ex, step->code, s->alloc.count);
        if (ex->kernel)
            make_kernel_alloc(ex, step, s);
        step->body = make_step(ex, s->alloc.body, step->width);
        break;
    case STMT_NEED:
        step->run = run_need;
        step->a   = code_add(ex, step->code, s->need.min);
        step->b   = code_add(ex, step->code, s->need.max);
        break;
    case STMT_CHECK:
        step->run = run_check;
        step->a   = code_add(ex, step->code, s->check.condition);
        break;
    case STMT_PREFETCH:
        step->run = run_prefetch;
        code_add(ex, step->code, s->prefetch.index);
        break;
    default: executor_mistake(ex, "a statement of kind %d is no part of flattened code", (int)s->kind);
    }
}

const ExecStep *make_step(Executor *ex, const Stmt *s, int width)
{
    static void (*const makers[STMT_COUNT])(Executor * ex, ExecStep * step, const Stmt *s) = {
        [STMT_FOR] = make_loop,        [STMT_BLOCK] = make_block, [STMT_IF] = make_branch,
        [STMT_STORE] = make_store,     [STMT_STAGE] = make_stage, [STMT_KERNEL] = make_kernel,
        [STMT_BARRIER] = make_barrier, [STMT_SYNC] = make_sync,
    };
    expect_place(ex, s);
    ExecStep *step = ARENA_NEW(&ex->arena, ExecStep);
    step->stmt     = s;
    step->width    = width;
    step->code     = code_new(ex, width);
    (makers[s->kind] ? makers[s->kind] : make_other)(ex, step, s);
    return step;
}
