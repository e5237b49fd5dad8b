/* SPDX-License-Identifier: MIT */
/* What a kernel takes from the host.
 *
 * Takes   a lowered program.
 * Gives   its kernels, each with its loops over blocks, the buffers and the values that it uses and does not make
 *         itself.
 * Holds   the order depends on the text alone, so that host and device agree. */
#include "ir/kernel.h"

typedef struct Search {
    Program *p;
    Kernel  *kernel; /* that is searched; NULL: the host's code */
    Map      seen;   /* expressions of this kernel */
    Map      own;    /* names that it binds, buffers that it allocates */
    Map      lets;   /* the host's so far: values by name */
} Search;

static KernelBuffer *kernel_buffer(Search *s, const Buffer *b)
{
    Kernel *k = s->kernel;
    for (size_t i = 0; i < k->buffers.count; i++)
        if (k->buffers.at[i].buffer == b)
            return &k->buffers.at[i];
    vec_push(s->p->arena, &k->buffers, ((KernelBuffer){ .buffer = b }));
    return &k->buffers.at[k->buffers.count - 1];
}

static void find_in_expr(void *user, const Expr *e)
{
    Search *s = user;
    if (!e || map_get(&s->seen, e))
        return;
    map_set(&s->seen, e, e);
    if (e->op == EX_LOAD && !map_get(&s->own, e->u.buffer))
        kernel_buffer(s, e->u.buffer)->reads = true;
    if (e->op == EX_PARAM || (e->op == EX_VAR && !map_get(&s->own, e->u.name)))
        vec_push(s->p->arena, &s->kernel->values, e);
    for (uint32_t i = 0; i < e->count; i++)
        find_in_expr(s, e->args[i]);
}

static void find_own(void *user, const Stmt *st)
{
    Search *s = user;
    if (st->kind == STMT_LET)
        map_set(&s->own, st->let.name, st);
    if (st->kind == STMT_FOR)
        map_set(&s->own, st->loop.name, st);
    if (st->kind == STMT_ALLOC)
        map_set(&s->own, st->alloc.buffer, st);
    stmt_children(st, NULL, find_own, s);
}

static void find_in_kernel(void *user, const Stmt *st)
{
    Search *s = user;
    if (st->kind == STMT_STORE)
        for (int i = 0; i < st->store.count; i++)
            if (!map_get(&s->own, st->store.places[i].buffer))
                kernel_buffer(s, st->store.places[i].buffer)->writes = true;
    stmt_children(st, find_in_expr, find_in_kernel, s);
}

static bool is_loop(const Stmt *s, bool thread)
{
    return s && s->kind == STMT_FOR && (thread ? loop_table[s->loop.kind].thread : s->loop.kind == LOOP_BLOCK);
}

/* The loops of one kind that stand one in the other from `s` on, x first. Gives what is inside. */
static const Stmt *nested(const Stmt *s, bool thread, const Stmt *loops[GPU_AXES])
{
    const Stmt *inside = s;
    int         count  = 0;
    for (; is_loop(inside, thread); inside = inside->loop.body)
        count++;
    for (; count && count <= GPU_AXES; s = s->loop.body)
        loops[--count] = s;
    return inside;
}

ThreadNest thread_nest(const Stmt *s)
{
    ThreadNest n = { .body = NULL };
    n.body       = nested(s, true, n.loops);
    return n;
}

static bool is_taken(const Program *p, const char *name)
{
    for (size_t i = 0; i < p->kernels.count; i++)
        if (p->kernels.at[i]->name == name)
            return true;
    return false;
}

/* An unrolled loop of the host has copies of a kernel, each with numbers of its own in place of the variable. */
static const char *unique_name(const Program *p, const char *name)
{
    const char *wanted = name;
    for (int i = 2; is_taken(p, name); i++)
        name = intern(p->cx, arena_printf(p->arena, "%s_%d", wanted, i));
    return name;
}

/* Shared memory in the order of the text. */
static void add_shared(void *user, const Stmt *st)
{
    Search       *s    = user;
    Kernel       *k    = s->kernel;
    const Buffer *home = st->kind == STMT_ALLOC ? shared_home(st->alloc.buffer) : NULL;
    bool          add  = home && home->memory == MEMORY_SHARED;
    for (size_t i = 0; i < k->shared.count; i++)
        add = add && k->shared.at[i].home != home;
    if (add) {
        const int64_t bytes = shared_bytes(k->block, home);
        vec_push(s->p->arena, &k->shared, ((KernelShared){ home, k->shared_bytes, bytes }));
        k->shared_bytes += (bytes + SHARED_ALIGNMENT - 1) / SHARED_ALIGNMENT * SHARED_ALIGNMENT;
    }
    stmt_children(st, NULL, add_shared, s);
}

/* The extents of block loops are the host's: the kernel does not take what stands only there. */
static void find_kernel(Search *s, const Stmt *st)
{
    Kernel *k = ARENA_NEW(s->p->arena, Kernel);
    k->stmt   = st;
    k->name   = unique_name(s->p, st->kernel.name);
    k->block  = nested(st->kernel.body, false, k->grid);
    s->kernel = k;
    map_init(&s->seen, s->p->arena);
    map_init(&s->own, s->p->arena);
    find_own(s, st->kernel.body);
    if (k->block) {
        find_in_kernel(s, k->block);
        add_shared(s, k->block);
    }
    for (size_t i = 0; i < s->p->kernels.count && !k->same; i++)
        if (!s->p->kernels.at[i]->same && kernel_same(s->p, &s->lets, s->p->kernels.at[i], k))
            k->same = s->p->kernels.at[i];
    vec_push(s->p->arena, &s->p->kernels, k);
}

static void find_kernels(void *user, const Stmt *st)
{
    Search *s = user;
    if (st->kind == STMT_LET)
        map_set(&s->lets, st->let.name, st->let.value);
    if (st->kind != STMT_KERNEL)
        stmt_children(st, NULL, find_kernels, s);
    else if (!program_kernel(s->p, st))
        find_kernel(s, st);
}

void program_find_kernels(Program *p)
{
    Search s         = { .p = p };
    p->kernels.count = 0;
    map_init(&s.lets, p->arena);
    if (p->body)
        find_kernels(&s, p->body);
}

const Kernel *program_kernel(const Program *p, const Stmt *s)
{
    for (size_t i = 0; i < p->kernels.count; i++)
        if (p->kernels.at[i]->stmt == s)
            return p->kernels.at[i];
    return NULL;
}

/* ---- Shared memory ---- */

typedef struct SharedSearch {
    const Buffer *home;
    kn_type       type;
    int64_t       most;
} SharedSearch;

static void find_shared(void *user, const Stmt *s)
{
    SharedSearch *search = user;
    int64_t       count;
    if (s->kind == STMT_ALLOC && shared_home(s->alloc.buffer) == search->home &&
        s->alloc.buffer->type == search->type && expr_is_int(s->alloc.count, &count) && count > search->most)
        search->most = count;
    stmt_children(s, NULL, find_shared, search);
}

int64_t shared_elements(const Stmt *s, const Buffer *home, kn_type type)
{
    SharedSearch search = { home, type, 0 };
    find_shared(&search, s);
    return search.most;
}

int64_t shared_bytes(const Stmt *s, const Buffer *home)
{
    int64_t most = 0;
    for (int type = 0; type < KN_TYPE_COUNT; type++) {
        const int64_t bytes = shared_elements(s, home, (kn_type)type) * (int64_t)kn_type_size((kn_type)type);
        most                = bytes > most ? bytes : most;
    }
    return most;
}
