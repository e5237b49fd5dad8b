/* SPDX-License-Identifier: MIT */
/* Statements: loops, branches, stores, allocations, checks. */
#include "codegen/c/c.h"
#include "ir/fields.h"

#include <string.h>

enum {
    MOST_AUTO_STACK = 64 << 10, /* bytes of scratch that one function keeps on its stack without being asked to */
    MOST_STACK      = 1 << 20,  /* of all scratch, however it was asked for */
    ALIGNMENT       = 64,       /* of scratch: KN_SCRATCH */
    LONG_TEXT       = 24        /* a loop's end that is longer gets a name */
};

/* ---- Ending ---- */

void c_leave(CGen *g, const char *result)
{
    if (!g->f->cleanups) {
        c_line(g, "return %s;", result);
        return;
    }
    c_section(g, "release");
    c_line(g, "return kn_release(held, %d, %s);", g->f->cleanups, result);
}

void c_return_unless_zero(CGen *g, const char *call)
{
    g->f->fails = true;
    c_line(g, "status = %s;", call);
    c_scope_push(g, "if (status) {");
    c_leave(g, "status");
    c_scope_pop(g);
}

/* ---- Names and loops ---- */

static int64_t clamp_coordinate(int64_t v)
{
    return v > MOST_COORDINATE ? MOST_COORDINATE : v < -MOST_COORDINATE ? -MOST_COORDINATE : v;
}

static void let(CGen *g, const Stmt *s)
{
    c_statement(g);
    c_count(g, s->let.value);
    const bool coordinate = c_is_named_coordinate(g, s->let.value);
    CRange     range      = c_range(g, s->let.value);
    if (coordinate && s->let.value->type == KN_I32)
        range = (CRange){ clamp_coordinate(range.lo), clamp_coordinate(range.hi) };
    g->trusted = coordinate;
    CValue v   = c_expr(g, s->let.value);
    g->trusted = false;
    if (v.reads && g->predicate) {
        v.text   = c_print(g, "%s ? %s : 0", g->predicate, c_operand(g, v, P_OR));
        v.prec   = P_CHOICE;
        v.offset = 0;
    }
    CBinding *b = c_bind(g, s->let.name, s->let.value->type, v, range);
    b->data     = !coordinate;
    if (v.reads)
        b->value = c_named(g, b->type, v, c_identifier(g, s->let.name));
    else
        b->pending = v.text != NULL;
    c_stmt(g, s->let.body);
    c_unbind(g, s->let.name);
}

/* min + extent; where the extent is end - min, it is the end. */
static CValue loop_end(CGen *g, const Stmt *s)
{
    const Expr *min = s->loop.min, *extent = s->loop.extent, *end = NULL;
    int64_t     first, more = 0;
    const Expr *plus = extent->op == EX_ADD && expr_is_int(extent->args[1], &more) ? extent->args[0] : extent;
    if (plus->op == EX_SUB && plus->args[1] == min)
        end = plus->args[0];
    CValue v = end ? c_expr(g, end) : c_expr(g, extent);
    if (v.shape != UNIFORM)
        c_fail(g, "a loop inside a vector loop has bounds that differ from lane to lane");
    if (end) {
        v.offset += more;
        return v;
    }
    if (expr_is_int(min, &first)) {
        v.offset += first;
        return v;
    }
    const CValue m = c_expr(g, min);
    CValue       r = { .text  = c_print(g, "%s + %s", c_operand(g, m, P_ADD), c_operand(g, v, P_MUL)),
                       .prec  = P_ADD,
                       .level = m.level > v.level ? m.level : v.level,
                       .reads = m.reads || v.reads };
    return r;
}

CRange c_loop_range(CGen *g, const Stmt *s)
{
    const CRange  min = c_range(g, s->loop.min), extent = c_range(g, s->loop.extent);
    const int64_t last = extent.hi > INT32_MAX ? INT32_MAX : extent.hi - 1;
    return (CRange){ clamp_coordinate(min.lo), clamp_coordinate(clamp_coordinate(min.hi) + last) };
}

/* for (int32_t x = min; x < end; x += step) { body }; in a vector loop each step is so many lanes. */
static void counted_loop(CGen *g, const Stmt *s, const char *before, const char *hint, int lanes)
{
    c_statement(g);
    c_count(g, s->loop.min);
    c_count(g, s->loop.extent);
    const CRange range = c_loop_range(g, s);
    const char  *type  = c_type(s->loop.min->type),
               *name   = hint ? hint : c_fresh(g, &g->f->used, c_identifier(g, s->loop.name));
    g->trusted         = true;
    const char *min    = c_uniform(g, s->loop.min);
    CValue      end    = loop_end(g, s);
    g->trusted         = false;
    if (end.text && strlen(end.text) > LONG_TEXT)
        end = c_named(g, s->loop.min->type, end, c_print(g, "%s_end", name));
    const char *goes_on = c_print(g, "%s < %s", name, c_operand(g, end, P_ADD)), *predicate = g->predicate;
    if (predicate)
        goes_on = c_print(g, "%s & (%s)", predicate, goes_on);
    g->predicate = NULL;
    c_scope_push(
        g, lanes > 1 ? c_print(g, "%sfor (%s %s = %s; %s; %s += %d) {", before, type, name, min, goes_on, name, lanes)
                     : c_print(g, "%sfor (%s %s = %s; %s; %s++) {", before, type, name, min, goes_on, name));
    CValue v = c_name_value(name, g->depth);
    if (lanes > 1) {
        v.shape = RAMP;
        v.step  = 1;
    }
    c_bind(g, s->loop.name, s->loop.min->type, v, range);
    g->lanes = lanes > 1 ? lanes : g->lanes;
    c_stmt(g, s->loop.body);
    g->lanes = lanes > 1 ? 0 : g->lanes;
    c_unbind(g, s->loop.name);
    c_scope_pop(g);
    g->predicate = predicate;
}

/* All iterations at once: the variable is a ramp. */
static void vector_loop(CGen *g, const Stmt *s)
{
    int     lanes = 0;
    int64_t extent;
    if (g->lanes)
        c_fail(g, "the vector loop over `%s` stands inside another vector loop", s->loop.name);
    if (g->plain || !g->dialect->vectors || !c_vector_fits(g, s, &lanes)) {
        counted_loop(g, s, expr_is_int(s->loop.extent, &extent) && extent > 1 ? "KN_LANES " : "", "lane", 1);
        return;
    }
    if (!expr_is_int(s->loop.extent, &extent) || extent != lanes) {
        counted_loop(g, s, "", NULL, lanes);
        return;
    }
    c_statement(g);
    c_count(g, s->loop.min);
    int64_t first;
    g->trusted = true;
    CValue v =
        expr_is_int(s->loop.min, &first) ? (CValue){ .offset = first, .level = g->f->base } : c_expr(g, s->loop.min);
    g->trusted         = false;
    v.shape            = RAMP;
    v.step             = 1;
    const CRange range = c_loop_range(g, s);
    c_bind(g, s->loop.name, s->loop.min->type, v, range);
    g->lanes = lanes;
    c_stmt(g, s->loop.body);
    g->lanes = 0;
    c_unbind(g, s->loop.name);
}

static void loop(CGen *g, const Stmt *s)
{
    if (s->loop.kind == LOOP_VECTOR)
        vector_loop(g, s);
    else if (loop_table[s->loop.kind].thread && g->kernel)
        c_thread_nest(g, s);
    else if (s->loop.kind == LOOP_PARALLEL && !g->lanes && !g->kernel)
        c_parallel(g, s);
    else
        counted_loop(g, s, "", NULL, 1);
}

static void block(CGen *g, const Stmt *s)
{
    for (int i = 0; i < s->block.count; i++)
        c_stmt(g, s->block.items[i]);
}

static void branch(CGen *g, const Stmt *s)
{
    c_statement(g);
    c_count(g, s->branch.condition);
    if (g->kernel && c_has_barrier(s)) {
        c_barrier_branch(g, s);
        return;
    }
    const char *condition = c_uniform(g, s->branch.condition), *no = NULL;
    const char *header = c_print(g, "if (%s) {", condition);
    c_scope_push(g, header);
    if (s->branch.yes)
        c_stmt(g, s->branch.yes);
    const char *yes = c_scope_take(g);
    if (s->branch.no) {
        c_scope_push(g, header);
        c_stmt(g, s->branch.no);
        no = c_scope_take(g);
    }
    CScope *here = &g->scopes[g->depth];
    c_text_wrapped(g, &here->text, here->indent, header);
    text_add(&here->text, yes);
    if (no)
        text_printf(&here->text, "%*s} else {\n%s", INDENT * here->indent, "", no);
    text_printf(&here->text, "%*s}\n", INDENT * here->indent, "");
}

/* ---- Stores ---- */

static void count_store(CGen *g, const Stmt *s)
{
    c_statement(g);
    for (int i = 0; i < s->store.count; i++) {
        c_count(g, s->store.places[i].index);
        c_count(g, s->store.places[i].value);
    }
}

static void store_value(CGen *g, const Place *p, const CAddress *a, CValue v, bool stream)
{
    if (a->shape == UNIFORM && v.shape == UNIFORM)
        c_line(g, "%s[%s] = %s;", a->buffer, a->index, c_full(g, v));
    else
        c_vector_store(g, p->buffer, a, v, stream);
}

static void store(CGen *g, const Stmt *s)
{
    if (s->store.atomic && g->kernel && c_atomic_store(g, s))
        return;
    CValue   *values = ARENA_ARRAY(g->arena, CValue, (size_t)s->store.count);
    CAddress *at     = ARENA_ARRAY(g->arena, CAddress, (size_t)s->store.count);
    count_store(g, s);
    const char *lock = NULL;
    if (s->store.atomic && !g->kernel) { /* read and written while nobody else does */
        c_section(g, "atomic");
        const CAddress a = c_address(g, s->store.places[0].buffer, s->store.places[0].index, false);
        lock             = c_print(g, "&%s[%s]", a.buffer, a.index);
        c_line(g, "kn_lock(%s);", lock);
        count_store(g, s);
    }
    for (int i = 0; i < s->store.count; i++) {
        values[i] = c_expr(g, s->store.places[i].value);
        if (s->store.count > 1 && values[i].reads)
            values[i] = c_named(g, s->store.places[i].buffer->type, values[i],
                                c_print(g, "%s_new", c_identifier(g, s->store.places[i].buffer->name)));
    }
    for (int i = 0; i < s->store.count; i++)
        at[i] = c_address(g, s->store.places[i].buffer, s->store.places[i].index, false);
    for (int i = 0; i < s->store.count; i++)
        store_value(g, &s->store.places[i], &at[i], values[i], s->store.stream);
    if (lock)
        c_line(g, "kn_unlock(%s);", lock);
}

static void prefetch(CGen *g, const Stmt *s)
{
    if (g->kernel)
        return;
    c_statement(g);
    c_count(g, s->prefetch.index);
    const CAddress a = c_address(g, s->prefetch.buffer, s->prefetch.index, false);
    c_line(g, "KN_PREFETCH(%s, %s);", a.buffer, a.index);
}

/* ---- Allocations ---- */

/* Scratch of constant size as an array; false if it belongs on the heap. */
static bool stack_array(CGen *g, const Stmt *s, const char *name)
{
    const Buffer *b = s->alloc.buffer;
    int64_t       n;
    const int64_t size = (int64_t)kn_type_size(b->type);
    const int64_t most = b->memory == MEMORY_AUTO ? MOST_AUTO_STACK : MOST_STACK;
    if (b->memory == MEMORY_HEAP || !expr_is_int(s->alloc.count, &n) || n > most / size ||
        (int64_t)g->f->stack + n * size > most)
        return false;
    n = n < 1 ? 1 : n;
    g->f->stack += (size_t)(n * size + ALIGNMENT);
    c_line(g, "KN_SCRATCH %s %s[%lld]%s;", c_memory_type(b->type), name, (long long)n, c_initial(s, n));
    return true;
}

static void alloc(CGen *g, const Stmt *s)
{
    const Buffer *b = s->alloc.buffer;
    c_statement(g);
    c_count(g, s->alloc.count);
    g->trusted       = true;
    const char *name = g->kernel ? c_kernel_array(g, s) : c_fresh(g, &g->f->used, c_identifier(g, b->name));
    const bool  heap = !g->kernel && !stack_array(g, s, name);
    if (heap) {
        c_line(g, "%s *const %s = kn_alloc(%s, sizeof(%s));", c_memory_type(b->type), name,
               c_uniform(g, s->alloc.count), c_memory_type(b->type));
        c_scope_push(g, c_print(g, "if (!%s) {", name));
        c_leave(g, "KN_ERROR_LIMIT");
        c_scope_pop(g);
        c_line(g, "held[%d] = %s;", g->f->cleanups++, name);
        g->f->held = g->f->cleanups > g->f->held ? g->f->cleanups : g->f->held;
    }
    g->trusted           = false;
    g->f->buffers[b->id] = name;
    c_stmt(g, s->alloc.body);
    g->f->buffers[b->id] = NULL;
    if (heap) {
        g->f->cleanups--;
        c_line(g, "kn_free(%s);", name);
    }
}

/* ---- Checks ---- */

static const char *quoted(CGen *g, const char *text)
{
    Text t;
    text_init(&t, g->arena);
    text_add(&t, "\"");
    for (const char *c = text; *c; c++)
        text_printf(&t, *c == '"' || *c == '\\' ? "\\%c" : *c == '\n' ? "\\n" : "%c", *c);
    text_add(&t, "\"");
    return text_string(&t);
}

static void need(CGen *g, const Stmt *s)
{
    c_statement(g);
    c_count(g, s->need.min);
    c_count(g, s->need.max);
    c_section(g, "need");
    const Buffer *b = s->need.buffer;
    g->trusted      = true;
    const char *min = c_uniform(g, s->need.min), *max = c_uniform(g, s->need.max);
    g->trusted = false;
    c_return_unless_zero(g, c_print(g, "kn_need(%s, &ports[%d], &args->%s, %d, %s, %s, %s)", quoted(g, g->name), b->id,
                                    c_identifier(g, b->name), s->need.dim, min, max,
                                    s->need.reader ? quoted(g, s->need.reader) : "NULL"));
}

static void check(CGen *g, const Stmt *s)
{
    static const char *const statuses[] = { "KN_OK",           "KN_ERROR_PROGRAM", "KN_ERROR_ARGUMENT",
                                            "KN_ERROR_BOUNDS", "KN_ERROR_FILE",    "KN_ERROR_LIMIT" };
    c_statement(g);
    c_count(g, s->check.condition);
    c_scope_push(g, c_print(g, "if (!(%s)) {", c_uniform(g, s->check.condition)));
    c_line(g, "kn_error(%s, \"%%s\", %s);", statuses[s->check.status],
           quoted(g, c_print(g, "%s: %s", g->name, s->check.message)));
    c_leave(g, statuses[s->check.status]);
    c_scope_pop(g);
}

/* ---- What is computed ---- */

/* "gray(x, y), in each iteration of out.yi, for Ix": which function, where, and for whom. */
static const char *produce_comment(CGen *g, const Stmt *s)
{
    const char *f = s->produce.func;
    Text        t;
    text_init(&t, g->arena);
    text_add(&t, f);
    if (s->produce.update >= 0)
        text_printf(&t, ", update %d", s->produce.update + 1);
    const char *loop = NULL, *consumer = NULL;
    for (size_t i = 0; i < g->around.count; i++) {
        const Stmt *o = g->around.at[i];
        if (o->kind == STMT_FOR)
            loop = o->loop.name;
        else if (o->produce.func != f)
            consumer = o->produce.func;
    }
    if (loop && consumer)
        text_printf(&t, ": what %s needs of it in one iteration of %s", consumer, loop);
    else if (!consumer)
        text_add(&t, ": all of it that is asked for");
    return text_string(&t);
}

static void describe_loops(Text *t, const Stmt *s)
{
    for (;;) {
        if (s->kind == STMT_LET)
            s = s->let.body;
        else if (s->kind == STMT_IF)
            s = s->branch.yes;
        else if (s->kind == STMT_ALLOC)
            s = s->alloc.body;
        else if (s->kind == STMT_BLOCK)
            s = s->block.items[0];
        else if (s->kind == STMT_FOR) {
            int64_t n;
            text_printf(t, "%s%s %s", t->count ? ", " : "", loop_table[s->loop.kind].keyword, s->loop.name);
            if (expr_is_int(s->loop.extent, &n))
                text_printf(t, " of %lld", (long long)n);
            s = s->loop.body;
        } else
            return;
        if (!s)
            return;
    }
}

static void produce(CGen *g, const Stmt *s)
{
    if (!s->produce.body)
        return;
    if (!g->around.count && !g->f->outer && !g->kernel && c_is_group(s->produce.body)) {
        c_group(g, s);
        return;
    }
    Text loops;
    text_init(&loops, g->arena);
    describe_loops(&loops, s->produce.body);
    if (!g->lanes)
        c_comment(g, c_print(g, "%s%s%s.", produce_comment(g, s), loops.count ? "; " : "", text_string(&loops)));
    vec_push(g->arena, &g->around, s);
    c_stmt(g, s->produce.body);
    g->around.count--;
}

static void stage(CGen *g, const Stmt *s)
{
    c_stage(g, s->stage);
}

static void barrier(CGen *g, const Stmt *s)
{
    (void)s;
    c_barrier(g);
}

typedef void Printer(CGen *g, const Stmt *s);

/* clang-format off */
static Printer *const printers[STMT_COUNT] = {
    [STMT_LET] = let, [STMT_FOR] = loop, [STMT_BLOCK] = block, [STMT_IF] = branch, [STMT_PRODUCE] = produce,
    [STMT_PROVIDE] = NULL, [STMT_REALIZE] = NULL, [STMT_STORE] = store, [STMT_ALLOC] = alloc, [STMT_NEED] = need,
    [STMT_CHECK] = check, [STMT_STAGE] = stage, [STMT_PREFETCH] = prefetch,
};
static Printer *const kernel_printers[STMT_COUNT] = {
    [STMT_LET] = let, [STMT_FOR] = loop, [STMT_BLOCK] = block, [STMT_IF] = branch, [STMT_PRODUCE] = produce,
    [STMT_STORE] = store, [STMT_ALLOC] = alloc, [STMT_PREFETCH] = prefetch, [STMT_BARRIER] = barrier,
};
/* clang-format on */

void c_stmt(CGen *g, const Stmt *s)
{
    if (!s)
        return;
    if (g->kernel && !kernel_printers[s->kind])
        c_fail(g, "the kernel `%s` has the statement `%s`, which is the host's", g->kernel->stmt->kernel.name,
               stmt_records[s->kind].name);
    if (!g->kernel && (s->kind == STMT_KERNEL || s->kind == STMT_SYNC))
        c_fail(g, "it has kernels for a device, which C has not");
    if (!g->kernel && !printers[s->kind])
        c_fail(g, "it is not flattened");
    if (g->predicate && !c_has_barrier(s)) {
        c_predicated(g, s);
        return;
    }
    const bool noted = s->kind == STMT_FOR;
    if (noted)
        vec_push(g->arena, &g->around, s);
    (g->kernel ? kernel_printers : printers)[s->kind](g, s);
    if (noted)
        g->around.count--;
}
