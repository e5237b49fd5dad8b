/* SPDX-License-Identifier: MIT */
/* Kernels as OpenCL C 1.2.
 *
 * Takes   a program whose kernels were found (ir/kernel.h).
 * Gives   a file with a function for each kernel. Block loops are get_group_id, thread loops get_local_id. What the
 *         kernel takes, in order:
 *             of each buffer B   __global T *B_mem, int64_t B_first    element i is B_mem[B_first + i]
 *             each value         its type; a bool is a uint8_t, f16 and bf16 are their bits
 * Holds   numbers are computed by the same text as in C (c_op.c), and so have the same bits. A division or square root
 *         of f32 needs the option -cl-fp32-correctly-rounded-divide-sqrt for that, on devices that have it: the runtime
 *         asks, and gives -cl-std=CL1.2 too. */
#include "codegen/c/c.h"

static const char axis_letters[] = "xyz";

/* ---- What the host knows ---- */

/* Host names are bound with what is known of them: whether they are made of data, and their range. */
static void note_host_names(void *user, const Stmt *s)
{
    CGen *g = user;
    if (s->kind == STMT_KERNEL)
        return;
    if (s->kind == STMT_LET) {
        const CBinding *before = c_binding(g, s->let.name);
        c_statement(g);
        const kn_type type = s->let.value->type;
        const bool    data = !c_is_named_coordinate(g, s->let.value) || (before && before->data);
        CRange        all  = c_type_range(type);
        if (!data && type == KN_I32)
            all = (CRange){ -MOST_COORDINATE, MOST_COORDINATE };
        c_bind(g, s->let.name, type, (CValue){ 0 }, all)->data = data;
    }
    if (s->kind == STMT_FOR)
        c_bind(g, s->loop.name, s->loop.min->type, (CValue){ 0 }, (CRange){ -MOST_COORDINATE, MOST_COORDINATE });
    stmt_children(s, NULL, note_host_names, g);
}

/* ---- Parameters ---- */

static void take_buffer(CGen *g, Text *parameters, const KernelBuffer *k)
{
    const Buffer *b      = k->buffer;
    CFunction    *f      = g->f;
    const char   *name   = c_fresh(g, &f->used, c_identifier(g, b->name));
    const char   *memory = c_fresh(g, &f->used, c_print(g, "%smem", name)),
               *first    = c_fresh(g, &f->used, c_print(g, "%sfirst", name));
    const char *type     = c_print(g, "__global %s%s *", k->writes ? "" : "const ", c_memory_type(b->type));
    text_printf(parameters, "%s%s%s%s, int64_t %s", parameters->count ? ", " : "", type, k->writes ? "" : "restrict ",
                memory, first);
    c_line(g, "%s%s = %s + %s;", type, name, memory, first);
    f->buffers[b->id] = name;
}

static void take_value(CGen *g, Text *parameters, const Expr *e, const CFunction *host)
{
    CFunction      *f     = g->f;
    const bool      param = e->op == EX_PARAM;
    const char     *key   = param ? c_param_key(g, e->u.param) : e->u.name;
    const char     *name  = c_fresh(g, &f->used, c_identifier(g, param ? e->u.param->name : e->u.name));
    const CBinding *known = param ? NULL : map_get(&host->bindings, e->u.name);
    CValue          v     = c_name_value(name, g->depth);
    if (e->type == KN_BOOL)
        v.text = c_print(g, "(%s != 0)", name);
    c_statement(g);
    const CRange range = known ? known->range : c_range(g, e);
    text_printf(parameters, "%s%s %s", parameters->count ? ", " : "", c_memory_type(e->type), name);
    c_bind(g, key, e->type, v, range)->data = known && known->data;
}

/* ---- Blocks and threads ---- */

static int threads_along(const CGen *g, int axis)
{
    const Stmt *k = g->kernel->stmt;
    return axis == 0 ? k->kernel.threads_x : axis == 1 ? k->kernel.threads_y : k->kernel.threads_z;
}

static const char *thread_id(CGen *g, int axis)
{
    if (threads_along(g, axis) == 1)
        return "0";
    return c_declare(g, g->f->base, "int32_t", c_print(g, "thread_%c", axis_letters[axis]),
                     c_print(g, "(int32_t)get_local_id(%d)", axis));
}

/* Opens a scope for the loop where it needs one, and binds its variable: a thread that has one iteration has its own
 * number, the others take every T-th. */
static bool open_thread_loop(CGen *g, const Stmt *s, int axis)
{
    const int   threads = threads_along(g, axis);
    const char *id      = thread_id(g, axis);
    int64_t     extent;
    const bool  constant = expr_is_int(s->loop.extent, &extent);
    if (constant && extent == threads) {
        const CValue all = threads == 1 ? (CValue){ .level = g->f->base } : c_name_value(id, g->f->base);
        c_bind(g, s->loop.name, s->loop.min->type, all, (CRange){ 0, threads - 1 });
        return false;
    }
    c_statement(g);
    c_count(g, s->loop.extent);
    g->trusted      = true;
    const char *end = c_uniform(g, s->loop.extent), *name = id;
    g->trusted         = false;
    const CRange range = c_loop_range(g, s);
    if (constant && extent < threads) {
        c_scope_push(g, c_print(g, "if (%s < %s) {", id, end));
    } else {
        name = c_fresh(g, &g->f->used, c_identifier(g, s->loop.name));
        c_scope_push(g, c_print(g, "for (int32_t %s = %s; %s < %s; %s += %d) {", name, id, name, end, name, threads));
    }
    c_bind(g, s->loop.name, s->loop.min->type, c_name_value(name, g->depth), range);
    return true;
}

void c_thread_nest(CGen *g, const Stmt *s)
{
    const ThreadNest nest  = thread_nest(s);
    int              depth = 0;
    for (int axis = GPU_AXES - 1; axis >= 0; axis--)
        if (nest.loops[axis]) {
            depth += open_thread_loop(g, nest.loops[axis], axis);
        } else if (threads_along(g, axis) > 1) {
            c_scope_push(g, c_print(g, "if (%s == 0) {", thread_id(g, axis)));
            depth++;
        }
    c_stmt(g, nest.body);
    while (depth-- > 0)
        c_scope_pop(g);
    for (int axis = 0; axis < GPU_AXES; axis++)
        if (nest.loops[axis])
            c_unbind(g, nest.loops[axis]->loop.name);
}

/* ---- Barriers ---- */

void c_barrier(CGen *g)
{
    c_line(g, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
}

static void find_barrier(void *user, const Stmt *s)
{
    bool *found = user;
    *found      = *found || c_has_barrier(s);
}

bool c_has_barrier(const Stmt *s)
{
    bool found = s->kind == STMT_BARRIER;
    if (!found)
        stmt_children(s, NULL, find_barrier, &found);
    return found;
}

/* In another iteration the other branch may be taken, with no barrier in between. */
static bool in_loop(const CGen *g)
{
    for (size_t i = 0; i < g->around.count; i++)
        if (g->around.at[i]->kind == STMT_FOR)
            return true;
    return false;
}

/* The name of a bool: of `outer`, if there is one, and of the condition. */
static const char *predicate_of(CGen *g, const char *outer, CValue condition)
{
    if (outer) {
        condition.text = c_print(g, "%s && %s", outer, c_operand(g, condition, P_EQUAL));
        condition.prec = P_AND;
    }
    condition.level = g->depth;
    return c_named(g, KN_BOOL, condition, "is").text;
}

void c_barrier_branch(CGen *g, const Stmt *s)
{
    const char  *outer = g->predicate;
    const CValue c     = c_expr(g, s->branch.condition);
    g->predicate       = predicate_of(g, outer, c);
    if (s->branch.no) {
        CValue no              = c;
        no.text                = c_print(g, "!%s", c_operand(g, c, P_PRIMARY));
        no.prec                = P_UNARY;
        no.offset              = 0;
        const char  *otherwise = predicate_of(g, outer, no);
        const size_t before    = g->f->shared.count;
        c_stmt(g, s->branch.yes);
        const size_t after = g->f->shared.count;
        for (size_t i = before; i < after; i++)
            g->f->shared.at[i].unused = !in_loop(g);
        g->predicate = otherwise;
        c_stmt(g, s->branch.no);
        for (size_t i = before; i < after; i++)
            g->f->shared.at[i].unused = false;
    } else {
        c_stmt(g, s->branch.yes);
    }
    g->predicate = outer;
}

void c_predicated(CGen *g, const Stmt *s)
{
    const char *predicate = g->predicate;
    c_scope_push(g, c_print(g, "if (%s) {", predicate));
    g->predicate = NULL;
    c_stmt(g, s);
    g->predicate = predicate;
    c_scope_pop(g);
}

/* ---- Memory ---- */

/* Elements of whole words of 8 bytes, which atomic stores reach. */
static int64_t round_to_words(int64_t count, kn_type type)
{
    const int64_t size = (int64_t)kn_type_size(type);
    return (count * size + 7) / 8 * 8 / size;
}

/* Are there others in its memory? */
static bool is_in_turns(const CGen *g, const Buffer *b)
{
    bool found = b->shares;
    for (size_t i = 0; i < g->program->buffers.count; i++)
        found = found || g->program->buffers.at[i]->shares == b;
    return found;
}

/* The member for the buffer's type of a union, which the buffers that have the memory in turns have in common. */
static const char *union_array(CGen *g, const Buffer *b)
{
    CFunction    *f    = g->f;
    const Buffer *home = shared_home(b);
    const char   *name = NULL;
    for (size_t i = 0; i < f->shared.count; i++)
        if (f->shared.at[i].home == home)
            name = f->shared.at[i].name;
    if (!name) {
        CScope      *kernel = &g->scopes[f->base];
        CSharedArray a      = { .name = c_fresh(g, &f->used, c_identifier(g, home->name)), .type = "", .home = home };
        Text         members;
        name = a.name;
        vec_push(g->arena, &f->shared, a);
        text_init(&members, g->arena);
        for (int type = 0; type < KN_TYPE_COUNT; type++) {
            const int64_t count = shared_elements(g->kernel->block, home, (kn_type)type);
            if (count)
                text_printf(&members, "%s as_%s[%lld]; ", c_memory_type((kn_type)type), type_table[type].name,
                            (long long)round_to_words(count, (kn_type)type));
        }
        c_text_wrapped(g, &kernel->text, kernel->indent,
                       c_print(g, "__local union { %s} %s __attribute__((aligned(16)));", text_string(&members), name));
    }
    return c_print(g, "%s.as_%s", name, type_table[b->type].name);
}

/* An array for so many elements: one of the other branch, or a new one at the kernel's outermost scope, as the language
 * wants it. */
static const char *shared_array(CGen *g, const Buffer *b, int64_t count)
{
    CFunction *f = g->f;
    if (is_in_turns(g, b))
        return union_array(g, b);
    const char *type = c_memory_type(b->type);
    count            = round_to_words(count, b->type);
    for (size_t i = 0; i < f->shared.count; i++) {
        CSharedArray *a = &f->shared.at[i];
        if (a->unused && a->type == type && a->count >= count) {
            a->unused = false;
            return a->name;
        }
    }
    CScope      *kernel = &g->scopes[f->base];
    CSharedArray a      = { .name = c_fresh(g, &f->used, c_identifier(g, b->name)), .type = type, .count = count };
    vec_push(g->arena, &f->shared, a);
    c_text_wrapped(g, &kernel->text, kernel->indent,
                   c_print(g, "__local %s %s[%lld] __attribute__((aligned(16)));", type, a.name, (long long)count));
    return a.name;
}

const char *c_kernel_array(CGen *g, const Stmt *s)
{
    const Buffer *b  = s->alloc.buffer;
    const char   *of = g->kernel->stmt->kernel.name;
    int64_t       count;
    if (!expr_is_int(s->alloc.count, &count))
        c_fail(g, "in the kernel `%s` the scratch `%s` has a size that is no constant", of, b->name);
    if (b->memory == MEMORY_GLOBAL)
        c_fail(g, "in the kernel `%s` the scratch `%s` is in global memory, which the host allocates", of, b->name);
    count = count < 1 ? 1 : count;
    if (b->memory == MEMORY_SHARED)
        return shared_array(g, b, count);
    const char *name = c_fresh(g, &g->f->used, c_identifier(g, b->name));
    c_line(g, "%s %s[%lld]%s;", c_memory_type(b->type), name, (long long)count, c_initial(s, count));
    return name;
}

/* ---- The file ---- */

static void write_kernel(CGen *g, const Kernel *k, const CFunction *host)
{
    const Stmt *s = k->stmt;
    CFunction   f = { 0 };
    Text        parameters;
    text_init(&parameters, g->arena);
    g->kernel = k;
    c_function_begin(g, &f);
    for (size_t i = 0; i < k->buffers.count; i++)
        take_buffer(g, &parameters, &k->buffers.at[i]);
    for (size_t i = 0; i < k->values.count; i++)
        take_value(g, &parameters, k->values.at[i], host);
    for (int axis = 0; axis < GPU_AXES; axis++) {
        const Stmt *loop = k->grid[axis];
        if (!loop)
            continue;
        const CValue v = { .text = c_print(g, "(int32_t)get_group_id(%d)", axis), .prec = P_UNARY, .level = g->depth };
        c_bind(g, loop->loop.name, loop->loop.min->type, v, (CRange){ 0, MOST_COORDINATE })->pending = true;
    }
    c_stmt(g, k->block);
    const char *body = c_function_end(g);
    g->kernel        = NULL;
    text_printf(&g->functions, "__kernel __attribute__((reqd_work_group_size(%d, %d, %d)))\n", s->kernel.threads_x,
                s->kernel.threads_y, s->kernel.threads_z);
    c_text_wrapped(g, &g->functions, 0, c_print(g, "void %s(%s)", k->name, text_string(&parameters)));
    text_printf(&g->functions, "{\n%s}\n\n", body);
}

static void find_f64(const Expr *e, void *user)
{
    CGen *g = user;
    if (e->type == KN_F64)
        c_section(g, "fp64");
}

static void find_f64_of(void *user, const Expr *e)
{
    CGen *g = user;
    expr_visit(g->program->exprs, e, find_f64, g);
}

static void find_f64_in(void *user, const Stmt *s)
{
    stmt_children(s, find_f64_of, find_f64_in, user);
}

const char *c_kernels_text(CGen *g)
{
    const Program *p    = g->program;
    CFunction      host = { 0 };
    Text           t;
    text_init(&t, g->arena);
    if (!p->kernels.count)
        c_fail(g, "it has no kernels: they come of a target with a device and of schedules for it");
    c_section(g, "head");
    c_function_begin(g, &host);
    note_host_names(g, p->body);
    for (size_t i = 0; i < p->kernels.count; i++) {
        if (p->kernels.at[i]->same)
            continue;
        find_f64_in(g, p->kernels.at[i]->stmt);
        write_kernel(g, p->kernels.at[i], &host);
    }
    c_function_end(g);
    text_printf(&t,
                "/* The kernels of %s, written by Kiln " KN_VERSION ": OpenCL C 1.2.\n *\n"
                " *     -cl-std=CL1.2, and -cl-fp32-correctly-rounded-divide-sqrt where the device has it\n *\n"
                " * A buffer comes as its memory and the index of its first element. */\n",
                g->name);
    c_write_sections(g, &t);
    text_add(&t, text_string(&g->helpers));
    text_add(&t, text_string(&g->functions));
    return text_string(&t);
}
