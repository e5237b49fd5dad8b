/* Statements of lowered code: made into steps with their code and their lanes, then run. */
#include "interp/machine.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST_LANES = 1 << 16 };

typedef struct Step Step;
typedef void        Action(Machine *m, const Step *s, const uint8_t *active);

/* A statement in a place of `width` lanes. Which of the fields mean something, the statement says. */
struct Step {
    Action      *run;
    const Stmt  *stmt;
    int          width;
    Code        *code;   /* for the values below */
    Value        a, b;   /* let: value; loop: min, extent; if, check: condition; alloc: count; need: min, max */
    Value       *values; /* store: index and value of each place; stage: see add_stage */
    Slot        *slot;   /* let, loop */
    const Step  *body, *no;
    int          count;
    const Step **items;
    uint8_t     *mask, *other; /* room for sets of lanes: of the body, of `no` */
    int          definition;
};

void machine_mistake(Machine *m, const char *format, ...)
{
    char    message[600];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    context_bail_internal(m->cx, KN_ERROR_PROGRAM,
                          arena_printf(&m->cx->call, "%s; this is a mistake in Kiln: please report it", message));
}

static bool any_active(const uint8_t *active, int width)
{
    for (int l = 0; l < width; l++)
        if (active[l])
            return true;
    return false;
}

/* A value that decides what the code does must come from somewhere. */
static void expect_good(Machine *m, const Value *v, int width, const uint8_t *active, const char *what)
{
    for (int l = 0; l < width; l++)
        if (active[l] && v->bad[l])
            machine_mistake(m, "%s depends on memory that was never written", what);
}

/* ---- Bindings, blocks, conditions -------------------------------------------------------- */

static void copy_value(Value to, Value from, int width)
{
    memcpy(to.lane, from.lane, (size_t)width * sizeof *to.lane);
    memcpy(to.bad, from.bad, (size_t)width);
}

static void run_let(Machine *m, const Step *s, const uint8_t *active)
{
    code_run(m, s->code, active);
    copy_value(s->slot->value, s->a, s->width);
    s->body->run(m, s->body, active);
}

static void run_block(Machine *m, const Step *s, const uint8_t *active)
{
    for (int i = 0; i < s->count; i++)
        s->items[i]->run(m, s->items[i], active);
}

static void run_if(Machine *m, const Step *s, const uint8_t *active)
{
    code_run(m, s->code, active);
    expect_good(m, &s->a, s->width, active, "a condition");
    for (int l = 0; l < s->width; l++) {
        s->mask[l]  = active[l] && s->a.lane[l].i;
        s->other[l] = active[l] && !s->a.lane[l].i;
    }
    if (s->body && any_active(s->mask, s->width))
        s->body->run(m, s->body, s->mask);
    if (s->no && any_active(s->other, s->width))
        s->no->run(m, s->no, s->other);
}

static void run_produce(Machine *m, const Step *s, const uint8_t *active)
{
    DefinitionCounts *outer = m->producing;
    m->producing            = &m->counts->definitions[s->definition];
    s->body->run(m, s->body, active);
    m->producing = outer;
}

/* ---- Loops ------------------------------------------------------------------------------- */

/* Evaluates the bounds; the most iterations of any lane. */
static int64_t enter_loop(Machine *m, const Step *s, const uint8_t *active)
{
    int64_t most = 0;
    code_run(m, s->code, active);
    expect_good(m, &s->a, s->width, active, "where a loop begins");
    expect_good(m, &s->b, s->width, active, "the extent of a loop");
    for (int l = 0; l < s->width; l++)
        if (active[l] && s->b.lane[l].i > most)
            most = s->b.lane[l].i;
    return most;
}

/* Iteration i, in the lanes that have one. */
static void run_iteration(Machine *m, const Step *s, const uint8_t *active, int64_t i)
{
    context_spend(m->cx, 1);
    for (int l = 0; l < s->width; l++) {
        s->mask[l]               = active[l] && i < s->b.lane[l].i;
        s->slot->value.lane[l].i = s->a.lane[l].i + i;
    }
    s->body->run(m, s->body, s->mask);
}

static void run_serial(Machine *m, const Step *s, const uint8_t *active)
{
    const int64_t most = enter_loop(m, s, active);
    for (int64_t i = 0; i < most; i++)
        run_iteration(m, s, active, i);
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    return b ? greatest_divisor(b, a % b) : a;
}

/* The iterations in steps of about 5/8 of their number, modulo it: each once, and neighbours far apart. */
static void run_parallel(Machine *m, const Step *s, const uint8_t *active)
{
    const int64_t  most = enter_loop(m, s, active), begin = m->counts->span;
    const uint32_t outer = m->strand, loop = ++m->loop_count;
    int64_t        step = most * 5 / 8 + 1, at = most - 1, longest = begin, width = m->counts->width, all = 0;
    while (most > 0 && greatest_divisor(step, most) != 1)
        step++;
    for (int64_t i = 0; i < most; i++, at = (at + step) % most) {
        m->strand        = (uint32_t)m->strands.count;
        m->counts->span  = begin;
        m->counts->width = 0;
        vec_push(&m->arena, &m->strands, ((Strand){ outer, loop }));
        run_iteration(m, s, active, at);
        longest = m->counts->span > longest ? m->counts->span : longest;
        all += m->counts->width;
    }
    m->strand        = outer;
    m->counts->span  = longest;
    m->counts->width = all > width ? all : width;
    m->counts->parallel_loops++;
    m->counts->parallel_iterations += most;
}

/* All iterations at once: lane l of this place becomes lanes l*extent .. of the body's. */
static void run_vector(Machine *m, const Step *s, const uint8_t *active)
{
    const int extent = s->slot->width / s->width;
    enter_loop(m, s, active);
    for (int l = 0; l < s->slot->width; l++) {
        s->mask[l]               = active[l / extent];
        s->slot->value.lane[l].i = s->a.lane[l / extent].i + l % extent;
    }
    s->body->run(m, s->body, s->mask);
    m->counts->vector_loops++;
    m->counts->vector_lanes += s->slot->width;
}

/* ---- Memory ------------------------------------------------------------------------------ */

static void store_lanes(Machine *m, const Step *s, const uint8_t *active)
{
    m->event++;
    for (int i = 0; i < s->count; i++)
        expect_good(m, &s->values[2 * i], s->width, active, "the place of a store");
    for (int i = 0; i < s->count; i++) {
        const Store *to = &m->stores[s->stmt->store.places[i].buffer->id];
        for (int l = 0; l < s->width; l++)
            if (active[l])
                memory_store(m, to, l, s->width, s->values[2 * i].lane[l].i, s->values[2 * i + 1].lane[l],
                             s->values[2 * i + 1].bad[l]);
    }
}

/* All lanes compute, then all store; an atomic store does lane after lane. */
static void run_store(Machine *m, const Step *s, const uint8_t *active)
{
    context_spend(m->cx, (uint64_t)s->width);
    m->counts->span++;
    int lanes = 0;
    for (int l = 0; l < s->width; l++)
        lanes += active[l];
    m->counts->work += lanes;
    if (lanes > m->counts->width)
        m->counts->width = lanes;
    if (!s->stmt->store.atomic) {
        code_run(m, s->code, active);
        store_lanes(m, s, active);
        return;
    }
    m->in_atomic = true;
    for (int l = 0; l < s->width; l++) {
        if (!active[l])
            continue;
        memset(s->mask, 0, (size_t)s->width);
        s->mask[l] = true;
        code_run(m, s->code, s->mask);
        store_lanes(m, s, s->mask);
    }
    m->in_atomic = false;
}

/* Memory for each active lane; gives the bytes. */
static int64_t allocate_rooms(Machine *m, const Step *s, const uint8_t *active, Arena *arena, Store *store)
{
    const int64_t size  = (int64_t)kn_type_size(store->buffer->type);
    int64_t       bytes = 0;
    store->width        = s->width;
    store->rooms        = ARENA_ARRAY(arena, Room, (size_t)s->width);
    for (int l = 0; l < s->width; l++) {
        const int64_t count = active[l] && s->a.lane[l].i > 0 ? s->a.lane[l].i : 0;
        if (count > INT64_MAX / 64)
            context_bail(m->cx, KN_ERROR_LIMIT, "out of memory");
        store->rooms[l].high = -1;
        if (count)
            room_allocate(arena, &store->rooms[l], store->buffer->type, count);
        store->counts->allocations += count > 0;
        if (count * size > store->counts->largest)
            store->counts->largest = count * size;
        bytes += count * size;
    }
    return bytes;
}

static void run_alloc(Machine *m, const Step *s, const uint8_t *active)
{
    Arena  arena;
    Store *store = &m->stores[s->stmt->alloc.buffer->id], outer = *store;
    code_run(m, s->code, active);
    expect_good(m, &s->a, s->width, active, "the size of an allocation");
    scratch_begin(&arena, m->cx);
    const int64_t bytes = allocate_rooms(m, s, active, &arena, store);
    m->bytes += bytes;
    m->counts->total_bytes += bytes;
    if (m->bytes > m->counts->peak_bytes)
        m->counts->peak_bytes = m->bytes;
    s->body->run(m, s->body, active);
    m->bytes -= bytes;
    *store = outer;
    scratch_end(&arena);
}

static void run_prefetch(Machine *m, const Step *s, const uint8_t *active)
{
    code_run(m, s->code, active);
}

/* ---- Checks ------------------------------------------------------------------------------ */

/* The port buffer's coordinates along a dimension are variables that entering has bound. */
static int64_t port_variable(Machine *m, const Buffer *b, const char *what, int dim)
{
    const Slot *slot = map_get(&m->slots, intern(m->cx, arena_printf(&m->cx->call, "%s.%s.%d", b->name, what, dim)));
    return slot->value.lane[0].i;
}

static void run_need(Machine *m, const Step *s, const uint8_t *active)
{
    const Buffer *b   = s->stmt->need.buffer;
    const int     dim = s->stmt->need.dim;
    code_run(m, s->code, active);
    expect_good(m, &s->a, s->width, active, "what a buffer must have");
    expect_good(m, &s->b, s->width, active, "what a buffer must have");
    const int64_t min = port_variable(m, b, "min", dim), max = min + port_variable(m, b, "extent", dim) - 1;
    for (int l = 0; l < s->width; l++) {
        const int64_t lo = s->a.lane[l].i, hi = s->b.lane[l].i;
        if (!active[l] || lo > hi || (lo >= min && hi <= max))
            continue;
        const Func *reader = s->stmt->need.reader;
        const char *given =
            max >= min ? arena_printf(&m->cx->call, "%lld..%lld", (long long)min, (long long)max) : "nothing";
        context_bail(m->cx, KN_ERROR_BOUNDS,
                     arena_printf(&m->cx->call,
                                  "`%s` has %s along `%s` (dimension %d), but %lld..%lld is needed: `%s` %s it",
                                  b->name, given, b->func ? b->func->args[dim] : "?", dim, (long long)lo, (long long)hi,
                                  reader ? reader->name : b->name, reader ? "reads" : "writes"));
    }
}

static void run_check(Machine *m, const Step *s, const uint8_t *active)
{
    code_run(m, s->code, active);
    expect_good(m, &s->a, s->width, active, "a check");
    for (int l = 0; l < s->width; l++)
        if (active[l] && !s->a.lane[l].i)
            context_bail(m->cx, s->stmt->check.status, s->stmt->check.message);
}

/* ---- Extern stages ----------------------------------------------------------------------- */

/* The storage of an operand as a buffer, from its values: min, extent and stride of each dimension. */
static kn_buffer operand_buffer(Machine *m, const Step *s, const StageOperand *o, const Value *values, int lane)
{
    const Store *store = &m->stores[o->buffer->id];
    kn_buffer    b     = { .type = o->buffer->type, .rank = o->rank };
    int64_t      low = 0, high = 0;
    bool         empty = !store->rooms;
    for (int d = 0; d < o->rank; d++) {
        b.dim[d]            = (kn_dim){ (int32_t)values[3 * d].lane[lane].i, (int32_t)values[3 * d + 1].lane[lane].i,
                                        values[3 * d + 2].lane[lane].i };
        const int64_t reach = (b.dim[d].extent - (int64_t)1) * b.dim[d].stride;
        *(reach < 0 ? &low : &high) += reach;
        empty = empty || b.dim[d].extent <= 0;
    }
    if (empty)
        return b;
    const Room *room = store_room(store, lane, s->width);
    if (low < room->low || high > room->high)
        machine_mistake(m, "the extern stage `%s` is given more of `%s` than there is", s->stmt->stage->func->name,
                        o->buffer->name);
    b.data = room->data;
    return b;
}

/* The part of the output that is to be computed; what it holds counts as written. */
static kn_buffer output_buffer(Machine *m, const Step *s, const Value *values, int lane)
{
    const StageCall *call  = s->stmt->stage;
    kn_buffer        whole = operand_buffer(m, s, &call->output, values, lane), b = whole;
    const Value     *box   = values + 3 * call->output.rank;
    int64_t          first = 0, points = 1;
    for (int d = 0; d < b.rank; d++) {
        b.dim[d].min       = (int32_t)box[2 * d].lane[lane].i;
        b.dim[d].extent    = (int32_t)box[2 * d + 1].lane[lane].i;
        const int64_t skip = (int64_t)b.dim[d].min - whole.dim[d].min;
        if (b.dim[d].extent > 0 && (skip < 0 || skip + b.dim[d].extent > whole.dim[d].extent))
            machine_mistake(m, "the extern stage `%s` is to compute more than its storage holds", call->func->name);
        first += skip * b.dim[d].stride;
        points *= b.dim[d].extent > 0 ? b.dim[d].extent : 0;
    }
    b.data = points && whole.data ? (char *)whole.data + first * (int64_t)kn_type_size(b.type) : NULL;
    for (int64_t n = 0; b.data && n < points; n++) {
        int64_t at = first, rest = n;
        for (int d = 0; d < b.rank; d++, rest /= b.dim[d - 1].extent)
            at += rest % b.dim[d].extent * b.dim[d].stride;
        const Room *room                     = store_room(&m->stores[call->output.buffer->id], lane, s->width);
        room->shadow[at - room->low].defined = true;
        room->shadow[at - room->low].writer  = m->strand;
    }
    return b;
}

static const Extern *find_stage(Machine *m, const StageCall *call)
{
    const Extern *known = map_get(&m->cx->externs, call->func->symbol);
    if (!known || !known->stage)
        context_bail(m->cx, KN_ERROR_ARGUMENT,
                     arena_printf(&m->cx->call, "the extern stage `%s` is not there; give it with kn_extern_stage",
                                  call->func->symbol));
    return known;
}

static kn_scalar scalar_of(const Expr *e, const Value *v, int lane)
{
    return type_is_float(e->type) ? kn_float(v->lane[lane].f) : kn_int(v->lane[lane].i);
}

/* The answer for one argument into the table, where it needs anything of it. */
static void take_answer(Machine *m, const Step *s, const StageOperand *o, const kn_buffer *b, int64_t at, int lane)
{
    const Room *room = store_room(&m->stores[s->stmt->stage->table->id], lane, s->width);
    bool        some = true;
    for (int d = 0; d < o->rank; d++) {
        if (b->rank != o->rank || b->dim[d].extent < 0)
            context_bail(m->cx, KN_ERROR_ARGUMENT,
                         arena_printf(&m->cx->call,
                                      "the extern stage `%s` answered with a wrong rank or a negative extent",
                                      s->stmt->stage->func->symbol));
        some = some && b->dim[d].extent;
    }
    for (int d = 0; some && d < o->rank; d++) {
        const int32_t ends[] = { b->dim[d].min, (int32_t)((int64_t)b->dim[d].min + b->dim[d].extent - 1) };
        memcpy(room->data + (at + 2 * d) * (int64_t)sizeof *ends, ends, sizeof ends);
    }
}

/* Asks a stage what it needs. The values: the box, then the scalars. */
static void ask_stage(Machine *m, const Step *s, int lane)
{
    const StageCall *call        = s->stmt->stage;
    const Extern    *known       = find_stage(m, call);
    kn_buffer       *inputs      = ARENA_ARRAY(&m->arena, kn_buffer, (size_t)call->count + 1);
    kn_scalar       *scalars     = ARENA_ARRAY(&m->arena, kn_scalar, (size_t)call->count + 1);
    int              input_count = 0, scalar_count = 0;
    const Value     *values = s->values;
    kn_buffer        output = { .type = call->output.type, .rank = call->output.rank };
    for (int d = 0; d < output.rank; d++, values += 2) {
        output.dim[d] = (kn_dim){ .min = (int32_t)values[0].lane[lane].i, .extent = (int32_t)values[1].lane[lane].i };
        if (output.dim[d].extent <= 0)
            return;
    }
    for (int i = 0; i < call->count; i++) {
        const StageOperand *o = &call->operands[i];
        if (o->func)
            inputs[input_count++] = (kn_buffer){ .type = o->type, .rank = o->rank };
        else
            scalars[scalar_count++] = scalar_of(o->value, values++, lane);
    }
    const int failed = known->stage(true, inputs, input_count, scalars, scalar_count, &output, known->user);
    if (failed)
        context_bail(m->cx, KN_ERROR_ARGUMENT,
                     arena_printf(&m->cx->call,
                                  "the extern stage `%s` refused the query for its regions: it returned %d",
                                  call->func->symbol, failed));
    int64_t at = 0;
    for (int i = 0, k = 0; i < call->count; i++)
        if (call->operands[i].func) {
            take_answer(m, s, &call->operands[i], &inputs[k++], at, lane);
            at += 2 * call->operands[i].rank;
        }
}

static void call_stage(Machine *m, const Step *s, int lane)
{
    const StageCall *call        = s->stmt->stage;
    const Value     *values      = s->values;
    kn_buffer       *inputs      = ARENA_ARRAY(&m->arena, kn_buffer, (size_t)call->count + 1);
    kn_scalar       *scalars     = ARENA_ARRAY(&m->arena, kn_scalar, (size_t)call->count + 1);
    int              input_count = 0, scalar_count = 0;
    kn_buffer        output = output_buffer(m, s, values, lane);
    if (!output.data)
        return;
    const Extern *known = find_stage(m, call);
    values += 5 * call->output.rank;
    for (int i = 0; i < call->count; i++) {
        const StageOperand *o = &call->operands[i];
        if (o->func)
            inputs[input_count++] = operand_buffer(m, s, o, values, lane);
        else
            scalars[scalar_count++] = scalar_of(o->value, values, lane);
        values += o->func ? 3 * o->rank : 1;
    }
    const int failed = known->stage(false, inputs, input_count, scalars, scalar_count, &output, known->user);
    if (failed)
        context_bail(m->cx, KN_ERROR_ARGUMENT,
                     arena_printf(&m->cx->call, "the extern stage `%s` stopped the run: it returned %d",
                                  call->func->name, failed));
}

static void run_stage_call(Machine *m, const Step *s, const uint8_t *active)
{
    code_run(m, s->code, active);
    for (int l = 0; l < s->width; l++)
        if (active[l])
            (s->stmt->stage->table ? ask_stage : call_stage)(m, s, l);
}

/* ---- Making steps ------------------------------------------------------------------------ */

static const Step *make_step(Machine *m, const Stmt *s, int width);

/* Binds a name while the body is made. An inner binding never hides an outer one. */
static const Step *make_body(Machine *m, Step *step, const char *name, int width, const Stmt *body)
{
    step->slot        = ARENA_NEW(&m->arena, Slot);
    step->slot->width = width;
    step->slot->value = value_new(m, width);
    if (map_get(&m->slots, name))
        machine_mistake(m, "lowered code binds `%s` where it is bound already", name);
    map_set(&m->slots, name, step->slot);
    const Step *made = make_step(m, body, width);
    map_set(&m->slots, name, NULL);
    return made;
}

static void make_loop(Machine *m, Step *step, const Stmt *s)
{
    static Action *const actions[] = { [LOOP_SERIAL]   = run_serial,
                                       [LOOP_PARALLEL] = run_parallel,
                                       [LOOP_VECTOR]   = run_vector,
                                       [LOOP_UNROLL]   = run_serial };
    int                  width     = step->width;
    int64_t              extent    = 1;
    step->run                      = actions[s->loop.kind];
    step->a                        = code_add(m, step->code, s->loop.min);
    step->b                        = code_add(m, step->code, s->loop.extent);
    if (s->loop.kind == LOOP_VECTOR &&
        (!expr_is_int(s->loop.extent, &extent) || extent <= 0 || extent > MOST_LANES / width))
        machine_mistake(m, "the vector loop `%s` has no constant extent, or too large a one", s->loop.name);
    width *= (int)extent;
    step->mask = ARENA_ARRAY(&m->arena, uint8_t, (size_t)width);
    step->body = make_body(m, step, s->loop.name, width, s->loop.body);
}

static void make_store(Machine *m, Step *step, const Stmt *s)
{
    step->run    = run_store;
    step->count  = s->store.count;
    step->values = ARENA_ARRAY(&m->arena, Value, 2 * (size_t)step->count);
    step->mask   = ARENA_ARRAY(&m->arena, uint8_t, (size_t)step->width);
    for (int i = 0; i < step->count; i++) {
        const Place *place = &s->store.places[i];
        if (place->value->type != place->buffer->type)
            machine_mistake(m, "a value of type %s is stored to `%s`", kn_type_name(place->value->type),
                            place->buffer->name);
        step->values[2 * i]     = code_add(m, step->code, place->index);
        step->values[2 * i + 1] = code_add(m, step->code, place->value);
    }
}

static void add_operand(Machine *m, Code *code, const StageOperand *o, Value **to)
{
    if (!o->func) {
        *(*to)++ = code_add(m, code, o->value);
        return;
    }
    for (int d = 0; d < o->rank; d++) {
        *(*to)++ = code_add(m, code, o->min[d]);
        *(*to)++ = code_add(m, code, o->extent[d]);
        *(*to)++ = code_add(m, code, o->stride[d]);
    }
}

/* The values of a stage: storage of the output, its box, then each operand; where it is only asked, the box and the
 * scalars. */
static void make_stage(Machine *m, Step *step, const Stmt *s)
{
    const StageCall *call = s->stage;
    Value           *to   = ARENA_ARRAY(&m->arena, Value, (size_t)(call->count + 2) * 3 * KN_MAX_RANK);
    step->run             = run_stage_call;
    step->values          = to;
    if (!call->table)
        add_operand(m, step->code, &call->output, &to);
    for (int d = 0; d < call->output.rank; d++) {
        *to++ = code_add(m, step->code, call->box_min[d]);
        *to++ = code_add(m, step->code, call->box_extent[d]);
    }
    for (int i = 0; i < call->count; i++)
        if (!call->table || !call->operands[i].func)
            add_operand(m, step->code, &call->operands[i], &to);
}

/* The counts of a definition; a new row where it is met for the first time. The table has room for every PRODUCE. */
static int definition_of(Machine *m, const Stmt *s)
{
    ExecuteCounts *c = m->counts;
    int            i = 0;
    while (i < c->definition_count &&
           (c->definitions[i].func != s->produce.func || c->definitions[i].update != s->produce.update))
        i++;
    if (i == c->definition_count)
        c->definitions[c->definition_count++] =
            (DefinitionCounts){ .func = s->produce.func, .update = s->produce.update };
    return i;
}

static void make_branch(Machine *m, Step *step, const Stmt *s)
{
    step->run   = run_if;
    step->a     = code_add(m, step->code, s->branch.condition);
    step->mask  = ARENA_ARRAY(&m->arena, uint8_t, (size_t)step->width);
    step->other = ARENA_ARRAY(&m->arena, uint8_t, (size_t)step->width);
    step->body  = s->branch.yes ? make_step(m, s->branch.yes, step->width) : NULL;
    step->no    = s->branch.no ? make_step(m, s->branch.no, step->width) : NULL;
}

static void make_block(Machine *m, Step *step, const Stmt *s)
{
    step->run   = run_block;
    step->count = s->block.count;
    step->items = ARENA_ARRAY(&m->arena, const Step *, (size_t)step->count);
    for (int i = 0; i < step->count; i++)
        step->items[i] = make_step(m, s->block.items[i], step->width);
}

static void make_other(Machine *m, Step *step, const Stmt *s)
{
    switch (s->kind) {
    case STMT_LET:
        step->run  = run_let;
        step->a    = code_add(m, step->code, s->let.value);
        step->body = make_body(m, step, s->let.name, step->width, s->let.body);
        break;
    case STMT_PRODUCE:
        step->run        = run_produce;
        step->definition = definition_of(m, s);
        step->body       = make_step(m, s->produce.body, step->width);
        break;
    case STMT_ALLOC:
        step->run  = run_alloc;
        step->a    = code_add(m, step->code, s->alloc.count);
        step->body = make_step(m, s->alloc.body, step->width);
        break;
    case STMT_NEED:
        step->run = run_need;
        step->a   = code_add(m, step->code, s->need.min);
        step->b   = code_add(m, step->code, s->need.max);
        break;
    case STMT_CHECK:
        step->run = run_check;
        step->a   = code_add(m, step->code, s->check.condition);
        break;
    case STMT_PREFETCH:
        step->run = run_prefetch;
        code_add(m, step->code, s->prefetch.index);
        break;
    default: machine_mistake(m, "a statement of kind %d is no part of flattened code", (int)s->kind);
    }
}

static const Step *make_step(Machine *m, const Stmt *s, int width)
{
    static void (*const makers[])(Machine * m, Step * step, const Stmt *s) = {
        [STMT_FOR] = make_loop,    [STMT_BLOCK] = make_block, [STMT_IF] = make_branch,
        [STMT_STORE] = make_store, [STMT_STAGE] = make_stage, [STMT_PREFETCH] = NULL,
    };
    Step *step  = ARENA_NEW(&m->arena, Step);
    step->stmt  = s;
    step->width = width;
    step->code  = code_new(m, width);
    (makers[s->kind] ? makers[s->kind] : make_other)(m, step, s);
    return step;
}

/* ---- Entering ---------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void bind(Machine *m, int64_t value, const char *format, ...)
{
    char    name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    Slot *slot            = ARENA_NEW(&m->arena, Slot);
    slot->width           = 1;
    slot->value           = value_new(m, 1);
    slot->value.lane[0].i = value;
    map_set(&m->slots, intern(m->cx, name), slot);
}

/* Copies every element of one buffer to the same coordinates of another of the same box, along the dimensions below
 * `rank`. */
static void copy_elements(const kn_buffer *to, const kn_buffer *from, int rank, int64_t to_index, int64_t from_index)
{
    const size_t size = kn_type_size(to->type);
    if (!rank) {
        memcpy((char *)to->data + to_index * (int64_t)size, (const char *)from->data + from_index * (int64_t)size,
               size);
        return;
    }
    const kn_dim *t = &to->dim[rank - 1], *f = &from->dim[rank - 1];
    for (int64_t i = 0; i < t->extent; i++)
        copy_elements(to, from, rank - 1, to_index + i * t->stride, from_index + i * f->stride);
}

static bool is_empty(const kn_buffer *b)
{
    bool empty = false;
    for (int d = 0; d < b->rank; d++)
        empty |= b->dim[d].extent <= 0;
    return empty;
}

/* An empty input as the runtime gives it to code: one row, in which the clamped index of a read that is not used finds
 * an element. */
static kn_buffer *empty_port(Machine *m, const Buffer *buffer, const kn_buffer *given)
{
    kn_buffer *row = ARENA_NEW(&m->arena, kn_buffer);
    *row           = *given;
    for (int d = 0; d < given->rank; d++)
        row->dim[d].stride = d == (buffer->dense < 0 ? 0 : buffer->dense);
    return row;
}

/* The buffer that the code uses for a port: the one given, or a copy in which the dimension that the code takes for
 * dense is. */
static kn_buffer *dense_port(Machine *m, const Buffer *buffer, kn_buffer *given)
{
    const int dense = buffer->dense;
    if (dense < 0 || dense >= given->rank || given->dim[dense].stride == 1)
        return given;
    kn_buffer *copy   = ARENA_NEW(&m->arena, kn_buffer);
    int64_t    stride = given->dim[dense].extent, count = 1;
    *copy                   = *given;
    copy->dim[dense].stride = 1;
    for (int d = 0; d < given->rank; d++) {
        count *= given->dim[d].extent > 0 ? given->dim[d].extent : 0;
        if (d == dense)
            continue;
        copy->dim[d].stride = stride;
        stride *= given->dim[d].extent;
    }
    copy->data = arena_array(&m->arena, (size_t)count + 1, kn_type_size(given->type));
    if (count && buffer->kind == BUFFER_INPUT)
        copy_elements(copy, given, given->rank, 0, 0);
    return copy;
}

static void enter_port(Machine *m, const Buffer *buffer, const kn_buffer *given)
{
    Store *store = &m->stores[buffer->id];
    if (given->type != buffer->type || given->rank != buffer->rank)
        context_bail(m->cx, KN_ERROR_ARGUMENT,
                     arena_printf(&m->cx->call, "the buffer given as `%s` has another type or rank", buffer->name));
    store->width = 1;
    store->rooms = ARENA_NEW(&m->arena, Room);
    if (buffer->kind == BUFFER_INPUT && is_empty(given)) {
        const int32_t extent = given->dim[buffer->dense < 0 ? 0 : buffer->dense].extent;
        room_allocate(&m->arena, store->rooms, given->type, extent > 1 ? extent : 1);
    } else {
        room_of_port(m, store->rooms, given, buffer->kind == BUFFER_OUTPUT);
    }
    for (int d = 0; d < given->rank; d++) {
        bind(m, given->dim[d].min, "%s.min.%d", buffer->name, d);
        bind(m, given->dim[d].extent, "%s.extent.%d", buffer->name, d);
        bind(m, given->dim[d].stride, "%s.stride.%d", buffer->name, d);
    }
    bind(m, store->rooms->high + 1, "%s.count", buffer->name);
}

static void count_produces(void *user, const Stmt *s)
{
    *(size_t *)user += s->kind == STMT_PRODUCE;
    stmt_children(s, NULL, count_produces, user);
}

typedef struct Entry {
    Machine           machine;
    kn_buffer *const *ports;
} Entry;

static void run_program(void *arg)
{
    Entry   *entry    = arg;
    Machine *m        = &entry->machine;
    Program *p        = m->program;
    size_t   produces = 0;
    m->stores         = ARENA_ARRAY(&m->arena, Store, p->buffers.count);
    map_init(&m->slots, &m->arena);
    vec_push(&m->arena, &m->strands, ((Strand){ 0, 0 }));
    *m->counts = (ExecuteCounts){ .buffers = ARENA_ARRAY(p->arena, BufferCounts, p->buffers.count) };
    for (size_t i = 0; i < p->buffers.count; i++) {
        m->stores[i].buffer = p->buffers.at[i];
        m->stores[i].counts = &m->counts->buffers[i];
    }
    kn_buffer **used = ARENA_ARRAY(&m->arena, kn_buffer *, (size_t)p->port_count + 1);
    for (int i = 0; i < p->port_count; i++) {
        used[i] = p->buffers.at[i]->kind == BUFFER_INPUT && is_empty(entry->ports[i])
                      ? empty_port(m, p->buffers.at[i], entry->ports[i])
                      : dense_port(m, p->buffers.at[i], entry->ports[i]);
        enter_port(m, p->buffers.at[i], used[i]);
    }
    if (!p->body)
        return;
    count_produces(&produces, p->body);
    m->counts->definitions = ARENA_ARRAY(p->arena, DefinitionCounts, produces);
    const Step   *step     = make_step(m, p->body, 1);
    const uint8_t all      = true;
    step->run(m, step, &all);
    for (int i = 0; i < p->port_count; i++)
        if (used[i] != entry->ports[i] && p->buffers.at[i]->kind == BUFFER_OUTPUT)
            copy_elements(entry->ports[i], used[i], used[i]->rank, 0, 0);
}

kn_status execute(Program *p, kn_buffer *const *ports, const kn_scalar *params, ExecuteCounts *counts)
{
    ExecuteCounts unwanted;
    Entry entry = { .machine = { .cx = p->cx, .program = p, .params = params, .counts = counts ? counts : &unwanted },
                    .ports   = ports };
    arena_init(&entry.machine.arena, p->cx);
    const bool done = context_call(p->cx, run_program, &entry);
    arena_free(&entry.machine.arena);
    return done ? KN_OK : p->cx->status;
}
