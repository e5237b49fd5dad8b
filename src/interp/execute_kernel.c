/* SPDX-License-Identifier: MIT */
/* Kernels in lowered code: blocks one after the other, in each the threads of each nest, in scrambled orders.
 *
 * Takes   a kernel, a thread loop, an allocation in a kernel, a barrier or a sync.
 * Gives   a step. The threads of a block are strands from one barrier to the next; code outside thread nests is that of
 *         all threads. So a race between blocks, or between threads without a barrier between, is found as a race
 *         between iterations of a parallel loop is.
 * Holds   a statement of a kernel stands where STMT_KERNEL (ir/stmt.h) allows it. Shared memory is the same memory each
 *         time a block allocates it. */
#include "interp/executor.h"

#include "ir/fields.h"

/* A block while it runs. */
typedef struct BlockRun {
    Arena     arena;
    uint32_t  epoch;   /* the loop over its threads, since the last barrier */
    uint32_t  strand;  /* of the block */
    uint32_t *strands; /* of its threads, in this epoch; 0: none is needed yet */
    int       size[GPU_AXES], count;
    int       thread;   /* that runs; -1: all alike */
    Map       shared;   /* Buffer -> LaneMemory */
    Map       in_turns; /* Buffer that others share with -> SharedByte[] */
} BlockRun;

/* ---- Places ------------------------------------------------------------------------------ */

static const char *const place_words[PLACE_COUNT] = { "outside kernels", "in a kernel outside thread loops",
                                                      "in a thread" };

/* clang-format off */
static const bool stmt_allowed[PLACE_COUNT][STMT_COUNT] = {
    [PLACE_HOST]   = { [STMT_LET] = true, [STMT_FOR] = true, [STMT_BLOCK] = true, [STMT_IF] = true,
                       [STMT_PRODUCE] = true, [STMT_ALLOC] = true, [STMT_STORE] = true, [STMT_PREFETCH] = true,
                       [STMT_NEED] = true, [STMT_CHECK] = true, [STMT_STAGE] = true, [STMT_KERNEL] = true,
                       [STMT_SYNC] = true },
    [PLACE_BLOCK]  = { [STMT_LET] = true, [STMT_FOR] = true, [STMT_BLOCK] = true, [STMT_IF] = true,
                       [STMT_PRODUCE] = true, [STMT_ALLOC] = true, [STMT_BARRIER] = true },
    [PLACE_THREAD] = { [STMT_LET] = true, [STMT_FOR] = true, [STMT_BLOCK] = true, [STMT_IF] = true,
                       [STMT_PRODUCE] = true, [STMT_ALLOC] = true, [STMT_STORE] = true },
};
static const bool loop_allowed[PLACE_COUNT][LOOP_COUNT] = {
    [PLACE_HOST]   = { [LOOP_SERIAL] = true, [LOOP_PARALLEL] = true, [LOOP_VECTOR] = true, [LOOP_UNROLL] = true },
    [PLACE_BLOCK]  = { [LOOP_SERIAL] = true, [LOOP_UNROLL] = true, [LOOP_THREAD] = true, [LOOP_LANE] = true },
    [PLACE_THREAD] = { [LOOP_SERIAL] = true, [LOOP_VECTOR] = true, [LOOP_UNROLL] = true },
};
static const bool memory_allowed[PLACE_COUNT][MEMORY_COUNT] = {
    [PLACE_HOST]   = { [MEMORY_AUTO] = true, [MEMORY_STACK] = true, [MEMORY_HEAP] = true, [MEMORY_REGISTER] = true,
                       [MEMORY_GLOBAL] = true },
    [PLACE_BLOCK]  = { [MEMORY_SHARED] = true, [MEMORY_REGISTER] = true },
    [PLACE_THREAD] = { [MEMORY_AUTO] = true, [MEMORY_STACK] = true, [MEMORY_REGISTER] = true },
};
/* clang-format on */

void expect_place(Executor *ex, const Stmt *s)
{
    if (!stmt_allowed[ex->place][s->kind])
        executor_mistake(ex, "a statement of kind %s stands %s", stmt_records[s->kind].name, place_words[ex->place]);
    if (s->kind == STMT_FOR && !loop_allowed[ex->place][s->loop.kind])
        executor_mistake(ex, "the %s loop `%s` stands %s", loop_table[s->loop.kind].adjective, s->loop.name,
                         place_words[ex->place]);
    if (s->kind == STMT_ALLOC && !memory_allowed[ex->place][s->alloc.buffer->memory])
        executor_mistake(ex, "`%s` is allocated in %s memory %s", s->alloc.buffer->name,
                         memory_table[s->alloc.buffer->memory].name, place_words[ex->place]);
}

/* ---- Nests ------------------------------------------------------------------------------- */

/* The bounds of a nest are computed where it stands: a bound that uses a variable of the nest uses what nothing
 * binds. */
static ExecNest *make_nest(Executor *ex, ExecStep *step, const Stmt *const *loops)
{
    ExecNest *nest = ARENA_NEW(&ex->arena, ExecNest);
    for (; nest->axes < GPU_AXES && loops[nest->axes]; nest->axes++) {
        const Stmt *loop = loops[nest->axes];
        int64_t     min;
        if (!expr_is_int(loop->loop.min, &min) || min != 0)
            executor_mistake(ex, "the %s loop `%s` does not begin at 0", loop_table[loop->loop.kind].adjective,
                             loop->loop.name);
        nest->extents[nest->axes] = code_add(ex, step->code, loop->loop.extent);
    }
    step->nest = nest;
    return nest;
}

static void make_nest_body(Executor *ex, ExecStep *step, ExecNest *nest, const Stmt *const *loops, const Stmt *body)
{
    const CodePlace outer = ex->place;
    for (int a = 0; a < nest->axes; a++)
        nest->slots[a] = bind_name(ex, loops[a]->loop.name, 1);
    ex->place++;
    step->body = make_step(ex, body, 1);
    ex->place  = outer;
    for (int a = 0; a < nest->axes; a++)
        unbind_name(ex, loops[a]->loop.name);
}

/* Evaluates the bounds. Gives the number of iterations. */
static int64_t enter_nest(Executor *ex, const ExecStep *s)
{
    const uint8_t all   = true;
    int64_t       count = 1;
    code_run(ex, s->code, &all);
    for (int a = 0; a < s->nest->axes; a++) {
        const LaneValues *extent = &s->nest->extents[a];
        expect_defined(ex, extent, 1, &all, "the extent of a loop");
        count *= extent->lane[0].i > 0 ? extent->lane[0].i : 0;
    }
    return count;
}

/* Runs iteration `at`, of which the coordinates along x go fastest. */
static void run_coordinates(Executor *ex, const ExecStep *s, int64_t at)
{
    const uint8_t all = true;
    for (int a = 0; a < s->nest->axes; a++) {
        const int64_t extent               = s->nest->extents[a].lane[0].i;
        s->nest->slots[a]->value.lane[0].i = at % extent;
        at /= extent;
    }
    context_spend(ex->cx, 1);
    s->body->run(ex, s->body, &all);
}

/* ---- Blocks and threads ------------------------------------------------------------------ */

static uint32_t thread_strand(Executor *ex, BlockRun *b, int thread)
{
    if (!b->strands[thread])
        b->strands[thread] = strand_of_loop(ex, b->epoch);
    return b->strands[thread];
}

/* All threads have come here: what they do from now on is after what they did before. */
static void begin_epoch(Executor *ex, BlockRun *b)
{
    b->epoch = strand_loop(ex, "another thread of the same block", b->strand);
    memset(b->strands, 0, (size_t)b->count * sizeof *b->strands);
    ex->strand = b->count == 1 ? thread_strand(ex, b, 0) : strand_of_all(ex, b->epoch);
}

static void run_block(Executor *ex, const ExecStep *s, BlockRun *b, int64_t at)
{
    scratch_begin(&b->arena, ex->cx);
    map_init(&b->shared, &b->arena);
    map_init(&b->in_turns, &b->arena);
    begin_epoch(ex, b);
    ex->block = b;
    run_coordinates(ex, s, at);
    ex->block = NULL;
    scratch_end(&b->arena);
    ex->counts->blocks++;
}

/* The device's copies are the newer ones where the kernel writes. */
static void launch(Executor *ex, const Kernel *k)
{
    ex->counts->kernels++;
    for (size_t i = 0; i < k->buffers.count; i++) {
        BufferMemory *m = &ex->memories[k->buffers.at[i].buffer->id];
        m->host_reads   = m->host_reads && !k->buffers.at[i].writes;
        m->host_writes  = false;
    }
}

static void run_kernel(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    (void)active;
    const Kernel  *k     = program_kernel(ex->program, s->stmt);
    const int64_t  count = enter_nest(ex, s), step = scrambled_step(count);
    const uint32_t outer = ex->strand, loop = strand_loop(ex, "another block of the same kernel", outer);
    BlockRun       b = { .size   = { k->stmt->kernel.threads_x, k->stmt->kernel.threads_y, k->stmt->kernel.threads_z },
                         .thread = -1 };
    AtOnce         counts = at_once_begin(ex);
    b.count               = b.size[0] * b.size[1] * b.size[2];
    b.strands             = ARENA_ARRAY(&ex->arena, uint32_t, (size_t)b.count);
    launch(ex, k);
    for (int64_t i = 0, at = count - 1; i < count; i++, at = (at + step) % count) {
        b.strand = strand_of_loop(ex, loop);
        at_once_iteration(ex, &counts);
        run_block(ex, s, &b, at);
        at_once_next(ex, &counts);
    }
    ex->strand = outer;
    at_once_end(ex, &counts);
}

/* The thread that runs iteration `at` of a nest. */
static int thread_of(const BlockRun *b, const ExecNest *nest, int64_t at)
{
    int thread = 0, stride = 1;
    for (int a = 0; a < nest->axes; a++) {
        const int64_t extent = nest->extents[a].lane[0].i;
        thread += (int)(at % extent % b->size[a]) * stride;
        stride *= b->size[a];
        at /= extent;
    }
    return thread;
}

/* Iterations of one thread do not see each other either. */
static void run_threads(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    (void)active;
    BlockRun      *b     = ex->block;
    const int64_t  count = enter_nest(ex, s), step = scrambled_step(count);
    const uint32_t outer  = ex->strand;
    AtOnce         counts = at_once_begin(ex);
    bool           single = true;
    for (int a = 0; a < s->nest->axes; a++)
        single = single && s->nest->extents[a].lane[0].i <= b->size[a];
    uint32_t *loops = single ? NULL : ARENA_ARRAY(&b->arena, uint32_t, (size_t)b->count);
    for (int64_t i = 0, at = count - 1; i < count; i++, at = (at + step) % count) {
        const int t = b->thread = thread_of(b, s->nest, at);
        ex->strand              = thread_strand(ex, b, t);
        if (loops) {
            if (!loops[t])
                loops[t] = strand_loop(ex, "another iteration of the same thread loop", ex->strand);
            ex->strand = strand_of_loop(ex, loops[t]);
        }
        at_once_iteration(ex, &counts);
        run_coordinates(ex, s, at);
        at_once_next(ex, &counts);
    }
    b->thread  = -1;
    ex->strand = outer;
    at_once_end(ex, &counts);
}

static void run_barrier(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    (void)s, (void)active;
    begin_epoch(ex, ex->block);
    ex->counts->barriers++;
}

/* ---- Memory ------------------------------------------------------------------------------ */

/* The bytes of the memory that the buffer has with others in turns; NULL: it has its own. */
static SharedByte *bytes_in_turns(Executor *ex, const Buffer *b)
{
    const Buffer       *home   = shared_home(b);
    const BufferMemory *memory = &ex->memories[home->id];
    if (!memory->in_turns)
        return NULL;
    SharedByte *bytes = map_get_mutable(&ex->block->in_turns, home);
    if (!bytes) {
        bytes = ARENA_ARRAY(&ex->block->arena, SharedByte, (size_t)memory->in_turns);
        map_set_mutable(&ex->block->in_turns, home, bytes);
    }
    return bytes;
}

/* Memory of the block: allocated again it is the same, with what other threads may still be doing to it. */
static void run_shared(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    BufferMemory *m = &ex->memories[s->stmt->alloc.buffer->id], outer = *m;
    const int64_t count = s->a.lane[0].i, bytes = count * (int64_t)kn_type_size(m->buffer->type);
    m->width     = 1;
    m->in_kernel = true;
    m->per_lane  = map_get_mutable(&ex->block->shared, m->buffer);
    if (m->per_lane && m->per_lane->high + 1 == count) {
        lane_memory_spoil(m->per_lane, m->buffer->type);
    } else {
        m->per_lane = ARENA_NEW(&ex->block->arena, LaneMemory);
        lane_memory_allocate(&ex->block->arena, m->per_lane, m->buffer->type, count);
        map_set_mutable(&ex->block->shared, m->buffer, m->per_lane);
    }
    m->bytes = bytes_in_turns(ex, m->buffer);
    m->counts->allocations++;
    m->counts->largest = bytes > m->counts->largest ? bytes : m->counts->largest;
    run_allocated(ex, s, active, bytes);
    *m = outer;
}

/* Memory of which each thread has its own. */
static void run_registers(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    Arena         arena;
    BufferMemory *m = &ex->memories[s->stmt->alloc.buffer->id], outer = *m;
    const int64_t count = s->a.lane[0].i, bytes = count * (int64_t)kn_type_size(m->buffer->type);
    scratch_begin(&arena, ex->cx);
    m->width     = 1;
    m->in_kernel = true;
    m->thread    = &ex->block->thread;
    m->per_lane  = ARENA_ARRAY(&arena, LaneMemory, (size_t)ex->block->count);
    for (int t = 0; t < ex->block->count; t++)
        lane_memory_allocate(&arena, &m->per_lane[t], m->buffer->type, count);
    m->counts->allocations += ex->block->count;
    m->counts->largest = bytes > m->counts->largest ? bytes : m->counts->largest;
    run_allocated(ex, s, active, bytes * ex->block->count);
    *m = outer;
    scratch_end(&arena);
}

static void run_sync(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    (void)active;
    BufferMemory *m = &ex->memories[s->stmt->sync.buffer->id];
    if (!m->per_lane)
        executor_mistake(ex, "a sync of `%s`, which is not allocated here", m->buffer->name);
    m->host_reads  = true;
    m->host_writes = m->host_writes || s->stmt->sync.write;
}

/* ---- Making steps ------------------------------------------------------------------------ */

static void check_threads(Executor *ex, const Stmt *s)
{
    const int x = s->kernel.threads_x, y = s->kernel.threads_y, z = s->kernel.threads_z;
    if (x <= 0 || y <= 0 || z <= 0 || (int64_t)x * y * z > GPU_MOST_THREADS || z > GPU_MOST_THREADS_Z)
        executor_mistake(ex, "the kernel `%s` has blocks of %d x %d x %d threads, but a device has %d, and %d along z",
                         s->kernel.name, x, y, z, GPU_MOST_THREADS, GPU_MOST_THREADS_Z);
}

void make_kernel(Executor *ex, ExecStep *step, const Stmt *s)
{
    const Kernel *k = program_kernel(ex->program, s);
    if (!k || step->width != 1)
        executor_mistake(ex, "the kernel `%s` %s", s->kernel.name,
                         k ? "stands in a vector loop" : "is none that program_find_kernels has found");
    if (!k->block || (k->block != s->kernel.body && !k->grid[0]))
        executor_mistake(ex, "the kernel `%s` has no block, or more than three block loops", s->kernel.name);
    for (size_t i = 0; i < ex->program->kernels.count; i++)
        if (ex->program->kernels.at[i] != k && ex->program->kernels.at[i]->stmt->kernel.name == s->kernel.name)
            executor_mistake(ex, "two kernels have the name `%s`", s->kernel.name);
    check_threads(ex, s);
    ExecNest *nest   = make_nest(ex, step, k->grid);
    step->run        = run_kernel;
    ex->kernel       = s;
    ex->shared_bytes = 0;
    make_nest_body(ex, step, nest, k->grid, k->block);
    ex->kernel = NULL;
    if (ex->shared_bytes > CUDA_SHARED_BYTES)
        executor_mistake(ex, "the kernel `%s` has %lld bytes of shared memory, but a device has %d", s->kernel.name,
                         (long long)ex->shared_bytes, CUDA_SHARED_BYTES);
}

static void check_lanes(Executor *ex, const Stmt *loop, int axis)
{
    int64_t extent;
    if (loop->loop.kind != LOOP_LANE)
        return;
    if (axis || ex->kernel->kernel.threads_x != GPU_WARP)
        executor_mistake(ex, "the lane loop `%s` is not along x, or x has not %d threads", loop->loop.name, GPU_WARP);
    if (!expr_is_int(loop->loop.extent, &extent) || extent > GPU_WARP)
        executor_mistake(ex, "the lane loop `%s` may have more than %d iterations", loop->loop.name, GPU_WARP);
}

void make_threads(Executor *ex, ExecStep *step, const Stmt *s)
{
    const ThreadNest n = thread_nest(s);
    if (!n.loops[0])
        executor_mistake(ex, "at the thread loop `%s` begin more than three", s->loop.name);
    for (int a = 0; a < GPU_AXES && n.loops[a]; a++)
        check_lanes(ex, n.loops[a], a);
    ExecNest *nest = make_nest(ex, step, n.loops);
    step->run      = run_threads;
    make_nest_body(ex, step, nest, n.loops, n.body);
}

/* Has it memory together with others? */
static bool in_turns(const Program *p, const Buffer *b)
{
    bool found = b->shares;
    for (size_t i = 0; i < p->buffers.count; i++)
        found = found || p->buffers.at[i]->shares == b;
    return found;
}

/* Copies of an allocation share their memory. */
static void count_shared(Executor *ex, const Buffer *b, int64_t bytes)
{
    BufferMemory *m     = &ex->memories[shared_home(b)->id];
    const int64_t known = m->kernel == ex->kernel ? m->shared : 0;
    m->kernel           = ex->kernel;
    m->shared           = bytes > known ? bytes : known;
    ex->shared_bytes += m->shared - known;
    if (in_turns(ex->program, b) && m->shared > m->in_turns)
        m->in_turns = m->shared;
}

void make_kernel_alloc(Executor *ex, ExecStep *step, const Stmt *s)
{
    const Buffer *b = s->alloc.buffer;
    int64_t       count;
    if (!expr_is_int(s->alloc.count, &count) || count <= 0 || count > CUDA_SHARED_BYTES)
        executor_mistake(ex, "`%s` is allocated in a kernel, but not with a small constant number of elements",
                         b->name);
    if (ex->place == PLACE_BLOCK)
        step->run = b->memory == MEMORY_SHARED ? run_shared : run_registers;
    if (b->memory == MEMORY_SHARED)
        count_shared(ex, b, count * (int64_t)kn_type_size(b->type));
}

void make_barrier(Executor *ex, ExecStep *step, const Stmt *s)
{
    (void)ex, (void)s;
    step->run = run_barrier;
}

void make_sync(Executor *ex, ExecStep *step, const Stmt *s)
{
    if (!ex->memories[s->sync.buffer->id].on_device && s->sync.buffer->kind == BUFFER_SCRATCH)
        executor_mistake(ex, "a sync of `%s`, which no kernel can touch", s->sync.buffer->name);
    step->run = run_sync;
}
