/* SPDX-License-Identifier: MIT */
/* CUDA kernels: loaded, launched, measured, and replayed as graphs. */
#include "runtime/device_cuda_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CU_GRAPHS         = 8,  /* batches of a module that are kept as graphs */
    CU_SEEN           = 16, /* batches of which it is known that they were run */
    CU_LEAST_LAUNCHES = 2   /* of a batch that is worth a graph */
};

/* A batch that can be started as a whole. */
typedef struct CuGraph {
    uint64_t  hash;
    uint64_t *words;
    size_t    word_count;
    CuObject  executable;
    uint64_t  used; /* the module's runs when it was last started */
} CuGraph;

typedef struct CuModule {
    CuObject        module;
    pthread_mutex_t lock; /* of what follows, but the functions; held while a graph is started */
    CuGraph         graphs[CU_GRAPHS];
    uint64_t        seen[CU_SEEN], runs;
    bool            no_graphs; /* the driver refused one */
    CuObject        functions[];
} CuModule;

/* ---- Kernels ---------------------------------------------------------------------------- */

/* The driver compiles PTX; its log says what it does not like. */
static int load_text(CuDevice *d, const char *text, CuObject *module, DeviceError *error)
{
    char        log[CU_LOG_SIZE] = "";
    const int   options[]        = { CU_JIT_ERROR_LOG, CU_JIT_ERROR_SIZE };
    void *const values[]         = { log, (void *)(uintptr_t)sizeof log };
    const int   code             = kn_rt_cu.cuModuleLoadDataEx(module, text, 2, options, values);
    if (code == CU_OK)
        return KN_OK;
    char what[100];
    snprintf(what, sizeof what, "compiling the kernels' PTX for compute capability %d.%d", d->major, d->minor);
    const int    status = kn_rt_cu_fail(error, code, what);
    const size_t length = strlen(error->text);
    const char  *hint   = code == CU_PTX_TOO_NEW ? "; the driver is older than the PTX: a newer driver takes it" : "";
    snprintf(error->text + length, sizeof error->text - length, "%s%s%s", hint, *log ? ": " : "", log);
    return status;
}

static void cu_graph_drop(CuGraph *g)
{
    if (g->executable)
        (void)kn_rt_cu.cuGraphExecDestroy(g->executable);
    free(g->words);
    *g = (CuGraph){ 0 };
}

void kn_rt_cu_unload(void *state, void *module)
{
    CuModule *m = module;
    bool      pushed;
    const int code = kn_rt_cu_enter(state, &pushed);
    for (int i = 0; i < CU_GRAPHS; i++)
        cu_graph_drop(&m->graphs[i]);
    if (code == CU_OK)
        (void)kn_rt_cu.cuModuleUnload(m->module);
    kn_rt_cu_leave(pushed);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* Where a block has more shared memory than every device has, the function is told. A launch of one that has more than
 * this device has is refused before (device_call.c). */
static int find_function(const CuDevice *d, CuObject module, const kn_rt_kernel *kernel, CuObject *function)
{
    const int code = kn_rt_cu.cuModuleGetFunction(function, module, kernel->name);
    if (code != CU_OK || kernel->shared_bytes <= 0 || kernel->shared_bytes > d->block_memory)
        return code;
    return kn_rt_cu.cuFuncSetAttribute(*function, CU_FUNCTION_ASKED, kernel->shared_bytes);
}

static int load_module(CuDevice *d, const kn_rt_kernels *kernels, CuModule *m, DeviceError *error)
{
    int status = load_text(d, kernels->text, &m->module, error);
    for (int i = 0; i < kernels->count && !status; i++) {
        const int code = find_function(d, m->module, &kernels->kernels[i], &m->functions[i]);
        if (code == CU_OK)
            continue;
        char what[200];
        snprintf(what, sizeof what, "looking up kernel `%s`", kernels->kernels[i].name);
        status = kn_rt_cu_fail(error, code, what);
        (void)kn_rt_cu.cuModuleUnload(m->module);
    }
    return status;
}

int kn_rt_cu_load(void *state, const kn_rt_kernels *kernels, void **module, DeviceError *error)
{
    CuModule *m = calloc(1, sizeof *m + (size_t)kernels->count * sizeof *m->functions);
    if (!m)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of memory");
    bool      pushed;
    const int code = kn_rt_cu_enter(state, &pushed);
    const int status =
        code == CU_OK ? load_module(state, kernels, m, error) : kn_rt_cu_fail(error, code, "cuCtxPushCurrent");
    kn_rt_cu_leave(pushed);
    if (status) {
        free(m);
        return status;
    }
    pthread_mutex_init(&m->lock, NULL);
    *module = m;
    return KN_OK;
}

/* The addresses of a launch's arguments, as the driver takes them. */
static void cu_arguments(const kn_rt_kernel *kernel, const uint64_t *words, void *arguments[KN_RT_MOST_ARGUMENTS])
{
    const uint64_t *buffers = words + LAUNCH_ARGUMENTS, *values = buffers + 2 * kernel->buffer_count;
    for (int i = 0; i < kernel->buffer_count; i++)
        *arguments++ = (void *)(uintptr_t)&buffers[2 * i];
    for (int i = 0; i < kernel->value_count; i++)
        *arguments++ = (void *)(uintptr_t)&values[i];
}

static int cu_launch(const CuModule *m, const kn_rt_kernel *kernel, const uint64_t *words, CuObject stream)
{
    void           *arguments[KN_RT_MOST_ARGUMENTS];
    const uint64_t *grid = words + LAUNCH_GRID;
    cu_arguments(kernel, words, arguments);
    return kn_rt_cu.cuLaunchKernel(m->functions[words[LAUNCH_KERNEL]], (unsigned)grid[0], (unsigned)grid[1],
                                   (unsigned)grid[2], (unsigned)kernel->threads[0], (unsigned)kernel->threads[1],
                                   (unsigned)kernel->threads[2], (unsigned)kernel->shared_bytes, stream, arguments,
                                   NULL);
}

/* One after the other; with events, n + 1 of them around the n launches. */
static int cu_launch_each(const DeviceBatch *batch, CuObject stream, CuObject *events, DeviceError *error)
{
    const uint64_t *words = batch->words;
    int             code  = events ? kn_rt_cu.cuEventRecord(events[0], stream) : CU_OK;
    for (int i = 0; i < batch->count; i++) {
        const kn_rt_kernel *kernel = &batch->kernels->kernels[words[LAUNCH_KERNEL]];
        if (code == CU_OK)
            code = cu_launch(batch->module, kernel, words, stream);
        if (code == CU_OK && events)
            code = kn_rt_cu.cuEventRecord(events[i + 1], stream);
        if (code != CU_OK) {
            char what[200];
            snprintf(what, sizeof what, "the launch of kernel `%s`", kernel->name);
            return kn_rt_cu_fail(error, code, what);
        }
        words += kn_rt_launch_words(kernel);
    }
    return KN_OK;
}

static int cu_run_measured(const DeviceBatch *batch, CuObject stream, double *seconds, DeviceError *error)
{
    CuObject *events = calloc((size_t)batch->count + 1, sizeof *events);
    if (!events)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of memory");
    int code = CU_OK, status = KN_OK;
    for (int i = 0; i <= batch->count && code == CU_OK; i++)
        code = kn_rt_cu.cuEventCreate(&events[i], 0);
    if (code == CU_OK)
        status = cu_launch_each(batch, stream, events, error);
    if (code == CU_OK && !status)
        code = kn_rt_cu.cuStreamSynchronize(stream);
    for (int i = 0; i < batch->count && code == CU_OK && !status; i++) {
        float milliseconds = 0;
        code               = kn_rt_cu.cuEventElapsedTime(&milliseconds, events[i], events[i + 1]);
        seconds[i]         = 1e-3 * (double)milliseconds;
    }
    for (int i = 0; i <= batch->count; i++)
        if (events[i])
            (void)kn_rt_cu.cuEventDestroy(events[i]);
    free(events);
    return code == CU_OK ? status : kn_rt_cu_fail(error, code, "measuring a kernel");
}

/* ---- Graphs ----------------------------------------------------------------------------- */

/* A batch of several kernels that comes a second time is made a graph, which is started as a whole from then on: a
 * launch takes some 2 us of the host, a node of a graph less than 1 us. Kernels of a graph run one after the other. */

static uint64_t cu_hash(const DeviceBatch *batch)
{
    uint64_t h = 0xcbf29ce484222325u + batch->word_count; /* Fowler, Noll and Vo, by words */
    for (size_t i = 0; i < batch->word_count; i++)
        h = (h ^ batch->words[i] ^ batch->words[i] >> 32) * 0x100000001b3u;
    return h ? h : 1;
}

/* The executable graph of a batch; NULL: the driver refuses it. */
static CuObject cu_build_graph(const DeviceBatch *batch)
{
    const CuModule *m     = batch->module;
    const uint64_t *words = batch->words;
    CuObject        graph = NULL, before = NULL, executable = NULL;
    int             code = kn_rt_cu.cuGraphCreate(&graph, 0);
    for (int i = 0; i < batch->count && code == CU_OK; i++) {
        const kn_rt_kernel *kernel = &batch->kernels->kernels[words[LAUNCH_KERNEL]];
        void               *arguments[KN_RT_MOST_ARGUMENTS];
        CuNode              node = { .function  = m->functions[words[LAUNCH_KERNEL]],
                                     .shared    = (unsigned)kernel->shared_bytes,
                                     .arguments = arguments };
        CuObject            made = NULL;
        for (int a = 0; a < 3; a++) {
            node.grid[a]    = (unsigned)words[LAUNCH_GRID + a];
            node.threads[a] = (unsigned)kernel->threads[a];
        }
        cu_arguments(kernel, words, arguments);
        code   = kn_rt_cu.cuGraphAddKernelNode(&made, graph, &before, before ? 1 : 0, &node);
        before = made;
        words += kn_rt_launch_words(kernel);
    }
    if (code == CU_OK)
        code = kn_rt_cu.cuGraphInstantiate(&executable, graph, 0);
    if (graph)
        (void)kn_rt_cu.cuGraphDestroy(graph);
    return code == CU_OK ? executable : NULL;
}

/* The graph of a batch that is run for the second time or more; NULL: none. The module's lock is held. */
static CuGraph *cu_graph_of(CuModule *m, const DeviceBatch *batch)
{
    const uint64_t hash   = cu_hash(batch);
    CuGraph       *oldest = &m->graphs[0];
    m->runs++;
    for (int i = 0; i < CU_GRAPHS; i++) {
        CuGraph *g = &m->graphs[i];
        if (g->hash == hash && g->word_count == batch->word_count &&
            memcmp(g->words, batch->words, batch->word_count * sizeof *g->words) == 0)
            return g;
        oldest = g->used < oldest->used ? g : oldest;
    }
    for (int i = 0; i < CU_SEEN; i++)
        if (m->seen[i] == hash) {
            uint64_t *words      = malloc(batch->word_count * sizeof *words);
            CuObject  executable = words ? cu_build_graph(batch) : NULL;
            m->no_graphs         = !executable;
            if (!executable) {
                free(words);
                return NULL;
            }
            memcpy(words, batch->words, batch->word_count * sizeof *words);
            cu_graph_drop(oldest);
            *oldest =
                (CuGraph){ .hash = hash, .words = words, .word_count = batch->word_count, .executable = executable };
            return oldest;
        }
    m->seen[m->runs % CU_SEEN] = hash;
    return NULL;
}

/* Whether the batch was a graph; then *code is what starting it gave. */
static bool cu_run_graph(CuModule *m, const DeviceBatch *batch, CuObject stream, int *code)
{
    if (!kn_rt_cu_has_graphs || batch->count < CU_LEAST_LAUNCHES)
        return false;
    pthread_mutex_lock(&m->lock);
    CuGraph *g = m->no_graphs ? NULL : cu_graph_of(m, batch);
    if (g) {
        g->used = m->runs;
        *code   = kn_rt_cu.cuGraphLaunch(g->executable, stream);
    }
    pthread_mutex_unlock(&m->lock);
    return g != NULL;
}

int kn_rt_cu_run(void *state, const DeviceBatch *batch, double *seconds, DeviceError *error)
{
    CuDevice *d      = state;
    CuObject  stream = atomic_load(&d->stream);
    bool      pushed;
    int       code = kn_rt_cu_enter(d, &pushed), status = KN_OK;
    if (code != CU_OK)
        return kn_rt_cu_fail(error, code, "cuCtxPushCurrent");
    if (seconds)
        status = cu_run_measured(batch, stream, seconds, error);
    else if (!cu_run_graph(batch->module, batch, stream, &code))
        status = cu_launch_each(batch, stream, NULL, error);
    kn_rt_cu_leave(pushed);
    return code == CU_OK ? status : kn_rt_cu_fail(error, code, "the launch of a graph of kernels");
}

void kn_rt_cu_kernel_info(void *state, void *module, const kn_rt_kernel *kernel, int index, kn_kernel_profile *profile)
{
    const CuModule *m        = module;
    CuObject        function = m->functions[index];
    bool            pushed;
    if (kn_rt_cu_enter(state, &pushed) == CU_OK) {
        (void)kn_rt_cu.cuFuncGetAttribute(&profile->shared_bytes, CU_FUNCTION_SHARED, function);
        (void)kn_rt_cu.cuFuncGetAttribute(&profile->spilled_bytes, CU_FUNCTION_LOCAL, function);
        (void)kn_rt_cu.cuFuncGetAttribute(&profile->registers, CU_FUNCTION_REGISTERS, function);
        (void)kn_rt_cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &profile->resident_blocks, function, kernel->threads[0] * kernel->threads[1] * kernel->threads[2],
            (size_t)kernel->shared_bytes);
        profile->shared_bytes += kernel->shared_bytes;
    }
    kn_rt_cu_leave(pushed);
}
