/* SPDX-License-Identifier: MIT */
/* Kernels: what runs on the device is cut out of the host's code.
 *
 * Takes   a statement after flattening, with block and thread loops wherever the schedule put them.
 * Gives   the form of ir/stmt.h: each outermost block or thread loop is a kernel. Its block loops, and the thread loops
 *         of each nest, stand one directly in the other. They begin at 0, and a let inside has the variable. What
 *         stood between them, lets and conditions, is inside. A thread loop has a constant extent where one is
 *         proved, and a condition inside for the rest. What no thread loop is around is done by one thread.
 *         Scratch of a block is shared, scratch of a thread its own, scratch of the host that a kernel uses global.
 * Holds   a block or thread loop that has no place in that form (its bounds differ between threads, something is
 *         computed between it and the next, it is inside another's threads) is serial: it means the same. A lane loop
 *         that may have more iterations than a warp lanes is a thread loop.
 * From    Ragan-Kelley et al. 2013, section 4.6. */
#include "ir/kernel.h"
#include "lower/bounds/index_expr.h"
#include "lower/passes/kernel_sizes.h"
#include "lower/passes/pass_tools.h"

enum {
    MOST_THREADS         = 1024,   /* of a block, on every device */
    DEFAULT_THREADS      = 128,    /* along x, where no extent says how many */
    MOST_THREAD_ELEMENTS = 1 << 14 /* of scratch of one thread */
};

typedef VEC(const Stmt *) StmtList;

typedef struct KernelCut {
    Lower      *lw;
    Simplifier *known;
    const char *producing; /* the function that is computed here, */
    int         update;    /* and which definition of it */
    int         count;     /* of kernels so far */
    int         threads[GPU_AXES];
    bool        lanes;
    bool        any_constant; /* a thread nest of this kernel has constant extents */
    bool        thread;       /* inside a thread nest */
    KernelSizes sizes;
} KernelCut;

static const Stmt *cut_host(void *user, const Stmt *s);
static const Stmt *cut_block(void *user, const Stmt *s);
static const Stmt *cut_thread(void *user, const Stmt *s);

static bool is_thread_loop(const Stmt *s)
{
    return s->kind == STMT_FOR && loop_table[s->loop.kind].thread;
}

static bool is_block_loop(const Stmt *s)
{
    return s->kind == STMT_FOR && s->loop.kind == LOOP_BLOCK;
}

/* ---- What a statement has in it ------------------------------------------------------------ */

static void find_thread_loop(void *found, const Stmt *s)
{
    *(bool *)found |= is_thread_loop(s);
    if (!*(bool *)found)
        stmt_children(s, NULL, find_thread_loop, found);
}

static bool has_thread_loop(const Stmt *s)
{
    bool found = false;
    find_thread_loop(&found, s);
    return found;
}

static void find_store(void *found, const Stmt *s)
{
    *(bool *)found |= s->kind == STMT_STORE;
    if (!*(bool *)found)
        stmt_children(s, NULL, find_store, found);
}

static bool has_store(const Stmt *s)
{
    bool found = false;
    find_store(&found, s);
    return found;
}

/* ---- Shells: what stands between the loops of a nest -------------------------------------- */

/* A nest being taken apart: its loops, and in `around`, outermost first, the lets, conditions and loops that go around
 * what is left. */
typedef struct Nest {
    KernelCut *k;
    bool       thread; /* of threads, else of blocks */
    int        count;
    struct {
        const Stmt *loop; /* as it was */
        const char *name;
        LoopKind    kind;
        const Expr *extent;
    } loops[GPU_AXES]; /* outermost first */
    StmtList around;
    VEC(const char *) names;  /* of lets in `around`, */
    VEC(const Expr *) values; /* and what they are, without such names */
    const Stmt *rest;
} Nest;

typedef struct NameSearch {
    const Nest *nest;
    bool        found;
} NameSearch;

static void find_own_name(const Expr *e, void *user)
{
    NameSearch *s = user;
    for (int i = 0; e->op == EX_VAR && i < s->nest->count; i++)
        s->found |= e->u.name == s->nest->loops[i].name;
    s->found |= s->nest->thread && e->op == EX_LOAD; /* of memory that threads may change */
}

/* The expression without the names of lets in the nest; NULL where it depends on the nest's loops. */
static const Expr *outside(const Nest *n, const Expr *e)
{
    ExprPool   *pool = n->k->lw->exprs;
    const Expr *open = expr_substitute(pool, e, (int)n->names.count, n->names.at, n->values.at);
    NameSearch  s    = { n, false };
    expr_visit(pool, open, find_own_name, &s);
    return s.found ? NULL : open;
}

static void push_shell(Nest *n, const Stmt *s)
{
    Arena *a = n->k->lw->arena;
    vec_push(a, &n->around, s);
    if (s->kind != STMT_LET)
        return;
    vec_push(a, &n->values,
             expr_substitute(n->k->lw->exprs, s->let.value, (int)n->names.count, n->names.at, n->values.at));
    vec_push(a, &n->names, s->let.name);
}

/* The lets and conditions from `s` to the next loop of the nest's kind; NULL: something else comes first. */
static const Stmt *next_loop(const Nest *n, const Stmt *s)
{
    while (s && (s->kind == STMT_LET || (s->kind == STMT_IF && !s->branch.no)))
        s = s->kind == STMT_LET ? s->let.body : s->branch.yes;
    return s && (n->thread ? is_thread_loop(s) : is_block_loop(s)) ? s : NULL;
}

/* The largest number that an extent can be; -1: no small one is known. */
static int64_t most_of(const Nest *n, const Expr *extent)
{
    return most_extent(&n->k->sizes,
                       expr_substitute(n->k->lw->exprs, extent, (int)n->names.count, n->names.at, n->values.at));
}

static const char *index_name(KernelCut *k, const Stmt *loop)
{
    return intern(k->lw->cx,
                  arena_printf(k->lw->arena, "%s.%s", loop->loop.name, is_block_loop(loop) ? "block" : "thread"));
}

/* Takes one more loop into the nest. False: it has no place there. */
static bool take_loop(Nest *n, const Stmt *loop)
{
    KernelCut    *k     = n->k;
    Lower        *lw    = k->lw;
    const kn_type type  = (kn_type)loop->loop.min->type;
    const char   *name  = index_name(k, loop);
    const Expr   *index = expr_var(lw->exprs, type, name), *extent = outside(n, loop->loop.extent);
    const int64_t most = n->thread ? most_of(n, loop->loop.extent) : -1;
    if (n->count == GPU_AXES || type != KN_I32 || (!extent && most < 0))
        return false;
    if (most >= 0) {
        const Expr *constant = expr_int(lw->exprs, type, most > 0 ? most : 1);
        const bool  whole    = loop->loop.extent == constant;
        extent               = constant;
        if (!whole)
            vec_push(lw->arena, &n->around,
                     stmt_if(lw->arena, expr_binary(lw->exprs, EX_LT, KN_BOOL, index, loop->loop.extent), loop, NULL));
    }
    push_shell(n, stmt_let(lw->arena, loop->loop.name, index_add(lw->exprs, loop->loop.min, index), loop));
    n->loops[n->count].loop   = loop;
    n->loops[n->count].name   = name;
    n->loops[n->count].kind   = loop->loop.kind;
    n->loops[n->count].extent = extent;
    n->count++;
    return true;
}

/* Are the iterations of loop i lanes of one warp? */
static bool is_warp(const Nest *n, int i)
{
    int64_t extent;
    return i == n->count - 1 && expr_is_int(n->loops[i].extent, &extent) && extent <= GPU_WARP;
}

static Nest nest_take(KernelCut *k, const Stmt *s, bool thread)
{
    Nest n = { .k = k, .thread = thread, .rest = s };
    for (const Stmt *loop; (loop = next_loop(&n, n.rest));) {
        const size_t shells = n.around.count, names = n.names.count;
        for (const Stmt *at = n.rest; at != loop; at = at->kind == STMT_LET ? at->let.body : at->branch.yes)
            push_shell(&n, at);
        if (!take_loop(&n, loop)) {
            n.around.count = shells;
            n.names.count = n.values.count = names;
            break;
        }
        n.rest = loop->loop.body;
    }
    for (int i = 0; i < n.count; i++)
        if (n.loops[i].kind == LOOP_LANE && !is_warp(&n, i))
            n.loops[i].kind = LOOP_THREAD;
    return n;
}

/* The shell around a statement, without the loops. */
static const Stmt *with_shell(const Nest *n, const Stmt *s)
{
    Arena *a = n->k->lw->arena;
    for (size_t i = n->around.count; s && i-- > 0;) {
        const Stmt *around = n->around.at[i];
        s                  = around->kind == STMT_LET ? stmt_let(a, around->let.name, around->let.value, s)
                                                      : stmt_if(a, around->branch.condition, s, NULL);
    }
    return s;
}

static const Stmt *with_loops(const Nest *n, const Stmt *s)
{
    const Expr *zero = expr_int(n->k->lw->exprs, KN_I32, 0);
    for (int i = n->count; s && i-- > 0;)
        s = stmt_for(n->k->lw->arena, n->loops[i].name, n->loops[i].kind, zero, n->loops[i].extent, s);
    return s;
}

/* ---- Threads -------------------------------------------------------------------------------- */

/* Where the function of that name is defined. */
static Loc place_of(const KernelCut *k, const char *func)
{
    for (int i = 0; func && i < k->lw->plan->func_count; i++)
        if (!strcmp(k->lw->plan->funcs[i].func->name, func))
            return k->lw->plan->funcs[i].func->loc;
    return (Loc){ 0 };
}

/* Does a check of a number of elements always hold in the kernel? */
static bool is_small(KernelCut *k, const Stmt *s)
{
    int64_t most, count;
    if (s->kind != STMT_CHECK || s->check.condition->op != EX_LE || !expr_is_int(s->check.condition->args[1], &most))
        return false;
    count = most_elements(&k->sizes, s->check.condition->args[0]);
    return count >= 0 && count <= most;
}

/* What the host alone can do. */
static bool is_of_host(KernelCut *k, const Stmt *s)
{
    if (s->kind == STMT_STAGE)
        diag_error(k->lw->cx, place_of(k, s->stage->name), "compute it at root",
                   "the extern stage `%s` is computed inside a kernel, and C runs on the host", s->stage->name);
    else if (s->kind == STMT_CHECK || s->kind == STMT_NEED)
        diag_error(k->lw->cx, place_of(k, k->producing), "compute at root what is computed in its blocks",
                   "the sizes in the kernel of `%s` depend on data that only the kernel knows",
                   k->producing ? k->producing : "a function");
    else
        return false;
    return true;
}

static void refuse_size(KernelCut *k, const Buffer *b)
{
    diag_error(k->lw->cx, place_of(k, b->func), "split the loops of its readers by constants, or compute it at root",
               "`%s` is stored inside a kernel, and no constant bounds its size", b->func ? b->func : b->name);
}

static const Stmt *cut_alloc(KernelCut *k, const Stmt *s, const StmtMap *m)
{
    Buffer       *b     = k->lw->program->buffers.at[s->alloc.buffer->id];
    const int64_t count = most_elements(&k->sizes, s->alloc.count);
    if (count < 0 || (k->thread && count > MOST_THREAD_ELEMENTS)) {
        refuse_size(k, b);
        return NULL;
    }
    const Memory wrong = k->thread ? MEMORY_SHARED : MEMORY_GLOBAL;
    if (b->memory == wrong || b->memory == MEMORY_GLOBAL || b->memory == MEMORY_CONSTANT) {
        diag_error(k->lw->cx, place_of(k, b->func),
                   b->memory == MEMORY_SHARED ? "compute it in the blocks" : "compute it at root",
                   "`%s` is computed in a %s: it cannot be in %s memory", b->func ? b->func : b->name,
                   k->thread ? "thread" : "block", memory_table[b->memory].name);
        return NULL;
    }
    if (b->memory != MEMORY_REGISTER)
        b->memory = k->thread ? MEMORY_STACK : MEMORY_SHARED;
    const Stmt *body = m->stmt(m->user, s->alloc.body);
    if (!body)
        return NULL;
    Stmt *alloc        = ARENA_NEW(k->lw->arena, Stmt);
    *alloc             = *s;
    alloc->alloc.count = expr_int(k->lw->exprs, KN_I64, count > 0 ? count : 1);
    alloc->alloc.body  = body;
    return alloc;
}

/* What is inside a let, whose value sizes may depend on. */
static const Stmt *map_let(KernelCut *k, const Stmt *s, const StmtMap *m)
{
    const size_t outer = k->sizes.lets.count;
    vec_push(k->lw->arena, &k->sizes.lets, s);
    s                   = stmt_map(m, s);
    k->sizes.lets.count = outer;
    return s;
}

/* What one thread does: all loops that are left are its own. */
static const Stmt *cut_thread(void *user, const Stmt *s)
{
    KernelCut    *k = user;
    const StmtMap m = { k->lw->arena, cut_thread, NULL, k };
    if (s->kind == STMT_PREFETCH || is_small(k, s) || is_of_host(k, s)) /* the next warp runs while one waits */
        return NULL;
    if (s->kind == STMT_ALLOC)
        return cut_alloc(k, s, &m);
    s              = s->kind == STMT_LET ? map_let(k, s, &m) : stmt_map(&m, s);
    const bool own = s && (s->kind != STMT_FOR || loop_table[s->loop.kind].constant); /* vectors, copies */
    return own || !s ? s : loop_as(k->lw->arena, s, LOOP_SERIAL);
}

static const Stmt *thread_body(KernelCut *k, const Stmt *s)
{
    k->thread = true;
    s         = cut_thread(k, s);
    k->thread = false;
    return s;
}

/* The lets of a nest are around what is in it. */
static void push_lets(KernelCut *k, const Nest *n)
{
    for (size_t i = 0; i < n->around.count; i++)
        if (n->around.at[i]->kind == STMT_LET)
            vec_push(k->lw->arena, &k->sizes.lets, n->around.at[i]);
}

/* The block has the threads of its last nest with constant extents: that of the function whose blocks they are. */
static void note_threads(KernelCut *k, const Nest *n)
{
    int     threads[GPU_AXES] = { 1, 1, 1 };
    int64_t extent, all = 1;
    for (int i = 0; i < n->count; i++)
        k->lanes |= n->loops[i].kind == LOOP_LANE;
    for (int i = 0; i < n->count; i++) {
        if (!expr_is_int(n->loops[i].extent, &extent))
            return;
        threads[n->count - 1 - i] = (int)(extent < MOST_THREADS ? extent : MOST_THREADS);
        all *= extent;
    }
    if (all > 1 && (all <= MOST_THREADS || !k->any_constant))
        memcpy(k->threads, threads, sizeof threads);
    k->any_constant |= all > 1;
}

static const Stmt *cut_nest(KernelCut *k, const Stmt *s)
{
    const Nest n = nest_take(k, s, true);
    if (!n.count) /* its extent differs between threads: no loop of this nest has a place */
        return cut_block(k, loop_as(k->lw->arena, s, LOOP_SERIAL));
    note_threads(k, &n);
    const size_t outer = k->sizes.lets.count;
    push_lets(k, &n);
    const Stmt *body    = thread_body(k, n.rest);
    k->sizes.lets.count = outer;
    return with_loops(&n, with_shell(&n, body));
}

/* Done by one thread. */
static const Stmt *single(KernelCut *k, const Stmt *s)
{
    ExprPool *pool = k->lw->exprs;
    s              = has_store(s) ? thread_body(k, s) : NULL;
    return s ? stmt_for(k->lw->arena, intern(k->lw->cx, "one.thread"), LOOP_THREAD, expr_int(pool, KN_I32, 0),
                        expr_int(pool, KN_I32, 1), s)
             : NULL;
}

/* ---- Blocks --------------------------------------------------------------------------------- */

/* What a block does. */
static const Stmt *cut_block(void *user, const Stmt *s)
{
    KernelCut    *k = user;
    const StmtMap m = { k->lw->arena, cut_block, NULL, k };
    if (is_small(k, s) || is_of_host(k, s))
        return NULL;
    if (!has_thread_loop(s))
        return single(k, s);
    if (is_thread_loop(s))
        return cut_nest(k, s);
    if (s->kind == STMT_ALLOC)
        return cut_alloc(k, s, &m);
    s = s->kind == STMT_LET ? map_let(k, s, &m) : stmt_map(&m, s);
    return s && s->kind == STMT_FOR && !loop_table[s->loop.kind].thread ? loop_as(k->lw->arena, s, LOOP_SERIAL) : s;
}

/* The definition whose kernel this is; NULL: it is none of the plan's. */
static const PlanDef *definition(const KernelCut *k)
{
    for (int i = 0; k->producing && i < k->lw->plan->func_count; i++)
        if (!strcmp(k->lw->plan->funcs[i].func->name, k->producing))
            return &k->lw->plan->funcs[i].defs[k->update + 1];
    return NULL;
}

/* The threads that the schedule asks for. Else no more than a device takes. */
static void fit_threads(KernelCut *k, int asked)
{
    int *t = k->threads;
    if (asked && t[0] * t[1] * t[2] != asked) {
        t[0] = k->lanes ? GPU_WARP : asked;
        t[1] = k->lanes && asked > GPU_WARP ? asked / GPU_WARP : 1;
        t[2] = 1;
        return;
    }
    if (!k->any_constant)
        t[0] = DEFAULT_THREADS;
    if (k->lanes)
        t[0] = GPU_WARP;
    t[2] = t[2] < GPU_MOST_THREADS_Z ? t[2] : GPU_MOST_THREADS_Z;
    while (t[0] * t[1] * t[2] > MOST_THREADS) {
        int widest = k->lanes;
        for (int i = widest; i < GPU_AXES; i++)
            widest = t[i] > t[widest] ? i : widest;
        t[widest] = (t[widest] + 1) / 2;
    }
}

/* A name of C for the kernel. */
static const char *kernel_name(KernelCut *k)
{
    char *name = arena_printf(k->lw->arena, "%s_%d", k->producing ? k->producing : "kernel", k->count++);
    for (char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
            *c = '_';
    return intern(k->lw->cx, arena_printf(k->lw->arena, "k_%s", name));
}

static const Stmt *cut_kernel(KernelCut *k, const Stmt *s)
{
    for (int i = 0; i < GPU_AXES; i++)
        k->threads[i] = 1;
    k->lanes = k->any_constant = false;
    const Nest   n             = nest_take(k, s, false);
    const size_t outer         = k->sizes.lets.count;
    push_lets(k, &n);
    for (int i = 0; i < n.count; i++) { /* both names have one range */
        const Stmt *loop = n.loops[i].loop;
        simplifier_push_range(k->known, loop->loop.name, loop->loop.min, loop_last(k->lw, loop));
        simplifier_push_range(k->known, n.loops[i].name, x_int(k->lw, 0),
                              x_sub(k->lw, n.loops[i].extent, x_int(k->lw, 1)));
    }
    const Stmt *body = with_loops(&n, with_shell(&n, cut_block(k, n.rest)));
    for (int i = 0; i < 2 * n.count; i++)
        simplifier_pop(k->known);
    k->sizes.lets.count = outer;
    if (!body)
        return NULL;
    const PlanDef *def = definition(k);
    fit_threads(k, def ? def->threads : 0);
    Stmt *kernel             = ARENA_NEW(k->lw->arena, Stmt);
    kernel->kind             = STMT_KERNEL;
    kernel->kernel.name      = kernel_name(k);
    kernel->kernel.threads_x = k->threads[0];
    kernel->kernel.threads_y = k->threads[1];
    kernel->kernel.threads_z = k->threads[2];
    kernel->kernel.resident  = def ? def->resident : 0;
    kernel->kernel.body      = body;
    return kernel;
}

/* ---- The host ------------------------------------------------------------------------------- */

static const Stmt *cut_host(void *user, const Stmt *s)
{
    KernelCut    *k            = user;
    const StmtMap m            = { k->lw->arena, cut_host, NULL, k };
    const char   *outer        = k->producing;
    const int     outer_update = k->update;
    if (is_block_loop(s) || is_thread_loop(s))
        return cut_kernel(k, s);
    if (s->kind == STMT_PRODUCE) {
        k->producing = s->produce.func;
        k->update    = s->produce.update;
    }
    if (s->kind == STMT_ALLOC && memory_table[s->alloc.buffer->memory].device) /* unless a kernel turns out to use it */
        k->lw->program->buffers.at[s->alloc.buffer->id]->memory = MEMORY_AUTO;
    s            = s->kind == STMT_LET ? map_let(k, s, &m) : stmt_map(&m, s);
    k->producing = outer;
    k->update    = outer_update;
    return s;
}

/* Scratch of the host that kernels use. */
static void find_global(Program *p)
{
    program_find_kernels(p);
    for (size_t i = 0; i < p->kernels.count; i++)
        for (size_t b = 0; b < p->kernels.at[i]->buffers.count; b++) {
            Buffer *buffer = p->buffers.at[p->kernels.at[i]->buffers.at[b].buffer->id];
            if (buffer->kind == BUFFER_SCRATCH)
                buffer->memory = MEMORY_GLOBAL;
        }
}

const Stmt *lower_kernels(Lower *lw, const Stmt *s)
{
    if (!s)
        return NULL;
    KernelCut k       = { .lw = lw, .known = lw->simplifier, .sizes = { .lw = lw, .known = lw->simplifier } };
    lw->program->body = cut_host(&k, s);
    find_global(lw->program);
    return lw->program->body;
}

/* ---- Names ---------------------------------------------------------------------------------- */

typedef struct KernelNames {
    Lower *lw;
    Map    taken;
    int    copies;
} KernelNames;

static const Stmt *name_kernel(void *user, const Stmt *s)
{
    KernelNames  *n = user;
    const StmtMap m = { n->lw->arena, name_kernel, NULL, n };
    if (s->kind != STMT_KERNEL)
        return stmt_map(&m, s);
    const char *name = s->kernel.name;
    while (map_get(&n->taken, name))
        name = intern(n->lw->cx, arena_printf(n->lw->arena, "%s_%d", s->kernel.name, ++n->copies));
    map_set(&n->taken, name, s);
    Stmt *named        = ARENA_NEW(n->lw->arena, Stmt);
    *named             = *s;
    named->kernel.name = name;
    return named;
}

/* Copies of a loop around a kernel have copies of the kernel. */
const Stmt *lower_kernel_names(Lower *lw, const Stmt *s)
{
    KernelNames n = { .lw = lw };
    map_init(&n.taken, lw->arena);
    return s ? name_kernel(&n, s) : NULL;
}
