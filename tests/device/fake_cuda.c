/* SPDX-License-Identifier: MIT */
/* A CUDA driver without a GPU, for tests of src/runtime/device_cuda.c where there is none: the functions that it uses,
 * on the host's memory. Kernels are those of tests/unit/device_kernels.h, known by name and written in C.
 *
 * It is stricter than the driver: a call without a current context, a copy outside of what was allocated, an object
 * that was destroyed or is of another kind, and a context that is popped by nobody end the program with a message. */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, BAD_VALUE = 1, NO_MEMORY = 2, BAD_DEVICE = 101, BAD_PTX = 218, NOT_FOUND = 500, BAD_ADDRESS = 700 };
enum { MOST_ARGUMENTS = 16, PLAIN_SHARED = 48 << 10, MOST_SHARED = 227 << 10 };
static const size_t memory_size = (size_t)1 << 29;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int             sticky; /* what every function returns from now on */

__attribute__((format(printf, 1, 2), noreturn)) static void mistake(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("fake CUDA: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    abort();
}

/* ---- Objects ---------------------------------------------------------------------------- */

typedef enum Kind { CONTEXT = 0x1234, STREAM, EVENT, MODULE, FUNCTION, GRAPH, EXECUTABLE } Kind;

typedef struct Launch {
    struct Object *function;
    uint64_t       arguments[MOST_ARGUMENTS];
    unsigned       threads[3]; /* of the whole grid */
} Launch;

typedef struct Object {
    Kind           kind;
    struct Object *context;          /* in which it was made */
    int            retained;         /* of a context: how often */
    char           name[16];         /* of a function */
    int            asked;            /* of a function: shared memory that a launch may have */
    char          *text;             /* of a module */
    struct Object *functions, *next; /* of a module */
    Launch        *launches;         /* of a graph */
    int            launch_count;
} Object;

enum { DEVICES = 2, MOST_DEPTH = 4 };
static Object contexts[DEVICES] = { { .kind = CONTEXT }, { .kind = CONTEXT } };

/* Those that are current, one pushed on the other. */
static _Thread_local Object *stack[MOST_DEPTH];
static _Thread_local int     depth;

static Object *current(void)
{
    if (depth < 1)
        mistake("no context is current");
    return stack[depth - 1];
}

/* An object of the current context. */
static void check(const Object *o, Kind kind)
{
    if (!o || o->kind != kind)
        mistake("an object of kind %x where one of kind %x must be", o ? o->kind : 0, kind);
    if (kind != CONTEXT && o->context != current())
        mistake("an object of kind %x of another context", kind);
}

static Object *make(Kind kind)
{
    Object *o  = calloc(1, sizeof *o);
    o->kind    = kind;
    o->context = current();
    return o;
}

static int destroy(Object *o, Kind kind)
{
    check(o, kind);
    while (o->functions) {
        Object *function = o->functions;
        o->functions     = function->next;
        function->kind   = 0;
        free(function);
    }
    free(o->text);
    free(o->launches);
    o->kind = 0;
    free(o);
    return sticky;
}

/* A stream: 1 and 2 are the default ones. */
static void check_stream(const Object *stream)
{
    if ((uintptr_t)stream > 2)
        check(stream, STREAM);
}

/* ---- The current context ---------------------------------------------------------------- */

int cuCtxGetCurrent(Object **context);
int cuCtxGetCurrent(Object **context)
{
    *context = depth ? current() : NULL;
    return sticky;
}

int cuCtxPushCurrent_v2(Object *context);
int cuCtxPushCurrent_v2(Object *context)
{
    check(context, CONTEXT);
    if (!context->retained || depth == MOST_DEPTH)
        mistake("the context is not retained, or %d are pushed", depth);
    stack[depth++] = context;
    return OK;
}

int cuCtxPopCurrent_v2(Object **context);
int cuCtxPopCurrent_v2(Object **context)
{
    *context = current();
    depth--;
    return OK;
}

/* ---- Devices ---------------------------------------------------------------------------- */

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    return flags ? BAD_VALUE : OK;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    *version = 12080;
    return OK;
}

int cuGetErrorName(int code, const char **name);
int cuGetErrorName(int code, const char **name)
{
    *name = code == BAD_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : code == BAD_PTX   ? "CUDA_ERROR_INVALID_PTX"
                                : "CUDA_ERROR";
    return OK;
}

int cuGetErrorString(int code, const char **text);
int cuGetErrorString(int code, const char **text)
{
    (void)code;
    *text = "in words";
    return OK;
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
    *count = DEVICES;
    return sticky;
}

int cuDeviceGet(int *device, int index);
int cuDeviceGet(int *device, int index)
{
    *device = index;
    return index < 0 || index >= DEVICES ? BAD_DEVICE : OK;
}

int cuDeviceGetName(char *name, int room, int device);
int cuDeviceGetName(char *name, int room, int device)
{
    snprintf(name, (size_t)room, "fake GPU%s", device ? ", the second" : "");
    return OK;
}

int cuDeviceGetAttribute(int *value, int what, int device);
int cuDeviceGetAttribute(int *value, int what, int device)
{
    (void)device;
    switch (what) {
    case 1: *value = 1024; break;
    case 5: *value = INT32_MAX; break;
    case 6:
    case 7: *value = 65535; break;
    case 8: *value = 49152; break;
    case 11: *value = 4000; break; /* a pitch that some of the test's planes pass */
    case 16: *value = 1; break;
    case 38: *value = 1 << 20; break;
    case 39: *value = 2048; break;
    case 75: *value = 9; break;
    case 76: *value = 0; break;
    case 81: *value = MOST_SHARED; break;
    case 82: *value = 65536; break;
    case 106: *value = 32; break;
    case 111: *value = 1024; break;
    case 97: *value = MOST_SHARED; break;
    default: mistake("attribute %d is not known", what);
    }
    return OK;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = memory_size;
    return OK;
}

int cuDevicePrimaryCtxRetain(Object **context, int device);
int cuDevicePrimaryCtxRetain(Object **context, int device)
{
    *context = &contexts[device];
    (*context)->retained++;
    return sticky;
}

int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device)
{
    if (contexts[device].retained-- <= 0)
        mistake("the context was released more often than retained");
    return sticky;
}

/* ---- Memory ----------------------------------------------------------------------------- */

typedef struct Block Block;
struct Block {
    Block        *next;
    const Object *context;
    size_t        bytes;
    _Alignas(16) char memory[];
};
static Block *blocks;

/* Ends the program unless bytes from..from+bytes are in a block. */
static void check_inside(uint64_t from, size_t bytes)
{
    pthread_mutex_lock(&lock);
    const Block *b = blocks;
    while (b && (from < (uintptr_t)b->memory || from + bytes > (uintptr_t)b->memory + b->bytes))
        b = b->next;
    pthread_mutex_unlock(&lock);
    if (!b || b->context != current())
        mistake("%zu bytes from %llx on are not allocated, or not here", bytes, (unsigned long long)from);
}

int cuMemGetInfo_v2(size_t *left, size_t *all);
int cuMemGetInfo_v2(size_t *left, size_t *all)
{
    current();
    *all = *left = memory_size;
    pthread_mutex_lock(&lock);
    for (const Block *b = blocks; b; b = b->next)
        *left -= b->bytes;
    pthread_mutex_unlock(&lock);
    return sticky;
}

int cuMemAlloc_v2(uint64_t *memory, size_t bytes);
int cuMemAlloc_v2(uint64_t *memory, size_t bytes)
{
    current();
    if (sticky)
        return sticky;
    size_t used = bytes;
    pthread_mutex_lock(&lock);
    for (const Block *b = blocks; b; b = b->next)
        used += b->bytes;
    Block *b = used <= memory_size ? malloc(sizeof *b + bytes) : NULL;
    if (b) {
        memset(b->memory, 0xcd, bytes < 1 << 20 ? bytes : 1 << 20);
        b->context = current();
        b->bytes   = bytes;
        b->next    = blocks;
        blocks     = b;
    }
    pthread_mutex_unlock(&lock);
    if (!b)
        return NO_MEMORY;
    *memory = (uintptr_t)b->memory;
    return OK;
}

int cuMemFree_v2(uint64_t memory);
int cuMemFree_v2(uint64_t memory)
{
    current();
    pthread_mutex_lock(&lock);
    Block **link = &blocks;
    while (*link && (uintptr_t)(*link)->memory != memory)
        link = &(*link)->next;
    Block *b = *link;
    if (!b || b->context != current())
        mistake("%llx was not allocated, or not here", (unsigned long long)memory);
    *link = b->next;
    pthread_mutex_unlock(&lock);
    free(b);
    return sticky;
}

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, Object *stream);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, Object *stream)
{
    current();
    check_stream(stream);
    check_inside(to, bytes);
    if (!sticky)
        memcpy(at(to), from, bytes);
    return sticky;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Object *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Object *stream)
{
    current();
    check_stream(stream);
    check_inside(from, bytes);
    if (!sticky)
        memcpy(to, at(from), bytes);
    return sticky;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Object *stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Object *stream)
{
    check_inside(to, bytes);
    return cuMemcpyDtoHAsync_v2(at(to), from, bytes, stream);
}

/* The driver's own layout. */
typedef struct Side {
    size_t      x, y;
    int         place;
    const void *host;
    uint64_t    device;
    void       *array;
    size_t      pitch;
} Side;
typedef struct Rows {
    Side   from, to;
    size_t width, height;
} Rows;
_Static_assert(sizeof(void *) != 8 || sizeof(Rows) == 128, "the driver's layout");

static char *side(const Side *s, const Rows *rows)
{
    if (s->x || s->y || s->array || s->pitch < rows->width || s->pitch > 4000)
        mistake("a copy of rows with pitch %zu, width %zu", s->pitch, rows->width);
    if (s->place == 2)
        check_inside(s->device, (rows->height - 1) * s->pitch + rows->width);
    return s->place == 2 ? at(s->device) : (char *)(uintptr_t)s->host;
}

int cuMemcpy2DAsync_v2(const Rows *rows, Object *stream);
int cuMemcpy2DAsync_v2(const Rows *rows, Object *stream)
{
    current();
    check_stream(stream);
    const char *from = side(&rows->from, rows);
    char       *to   = side(&rows->to, rows);
    for (size_t i = 0; i < rows->height && !sticky; i++)
        memcpy(to + i * rows->to.pitch, from + i * rows->from.pitch, rows->width);
    return sticky;
}

/* ---- Streams and events ----------------------------------------------------------------- */

int cuStreamCreate(Object **stream, unsigned flags);
int cuStreamCreate(Object **stream, unsigned flags)
{
    current();
    *stream = make(STREAM);
    return flags ? BAD_VALUE : sticky;
}

int cuStreamDestroy_v2(Object *stream);
int cuStreamDestroy_v2(Object *stream)
{
    current();
    return destroy(stream, STREAM);
}

int cuStreamSynchronize(Object *stream);
int cuStreamSynchronize(Object *stream)
{
    current();
    check_stream(stream);
    return sticky;
}

int cuStreamWaitEvent(Object *stream, Object *event, unsigned flags);
int cuStreamWaitEvent(Object *stream, Object *event, unsigned flags)
{
    check_stream(stream);
    check(event, EVENT);
    return flags ? BAD_VALUE : sticky;
}

int cuEventCreate(Object **event, unsigned flags);
int cuEventCreate(Object **event, unsigned flags)
{
    (void)flags;
    current();
    *event = make(EVENT);
    return sticky;
}

int cuEventRecord(Object *event, Object *stream);
int cuEventRecord(Object *event, Object *stream)
{
    check_stream(stream);
    check(event, EVENT);
    return sticky;
}

int cuEventElapsedTime(float *milliseconds, Object *from, Object *to);
int cuEventElapsedTime(float *milliseconds, Object *from, Object *to)
{
    check(from, EVENT);
    check(to, EVENT);
    *milliseconds = 0.5f;
    return sticky;
}

int cuEventDestroy_v2(Object *event);
int cuEventDestroy_v2(Object *event)
{
    return destroy(event, EVENT);
}

/* ---- Kernels ---------------------------------------------------------------------------- */

int cuModuleLoadDataEx(Object **module, const char *text, unsigned count, const int *options, void *const *values);
int cuModuleLoadDataEx(Object **module, const char *text, unsigned count, const int *options, void *const *values)
{
    current();
    if (count != 2 || options[0] != 5 || options[1] != 6)
        mistake("options of the compiler that are not known");
    if (strncmp(text, ".version", 8)) {
        snprintf(values[0], (size_t)(uintptr_t)values[1], "ptxas fatal: this is no PTX");
        return BAD_PTX;
    }
    *module         = make(MODULE);
    (*module)->text = strdup(text);
    return sticky;
}

int cuModuleGetFunction(Object **function, Object *module, const char *name);
int cuModuleGetFunction(Object **function, Object *module, const char *name)
{
    char entry[64];
    check(module, MODULE);
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (!strstr(module->text, entry))
        return NOT_FOUND;
    *function         = make(FUNCTION);
    (*function)->next = module->functions;
    module->functions = *function;
    snprintf((*function)->name, sizeof(*function)->name, "%s", name);
    return sticky;
}

int cuModuleUnload(Object *module);
int cuModuleUnload(Object *module)
{
    current();
    return destroy(module, MODULE);
}

int cuFuncSetAttribute(Object *function, int what, int value);
int cuFuncSetAttribute(Object *function, int what, int value)
{
    check(function, FUNCTION);
    if (what != 8)
        mistake("attribute %d of a function is not known", what);
    function->asked = value;
    return value < 0 || value > MOST_SHARED ? BAD_VALUE : sticky;
}

int cuFuncGetAttribute(int *value, int what, Object *function);
int cuFuncGetAttribute(int *value, int what, Object *function)
{
    check(function, FUNCTION);
    *value = what == 4 ? 18 : 0;
    return sticky;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, Object *function, int threads, size_t shared);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, Object *function, int threads, size_t shared)
{
    check(function, FUNCTION);
    *count = shared ? 0 : 2048 / threads;
    return sticky;
}

static int32_t *element(uint64_t base, const uint64_t *strides, int64_t x, int64_t y, int64_t z)
{
    return at(base + 4 * ((uint64_t)x * strides[0] + (uint64_t)y * strides[1] + (uint64_t)z * strides[2]));
}

/* All elements of a box are allocated if its corners are, and what lies between them. */
static void check_box(uint64_t base, const uint64_t *strides, const int *size)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int corner = 0; corner < 8; corner++) {
        const uintptr_t address = (uintptr_t)element(base, strides, corner & 1 ? size[0] - 1 : 0,
                                                     corner & 2 ? size[1] - 1 : 0, corner & 4 ? size[2] - 1 : 0);
        low                     = address < low ? address : low;
        high                    = address > high ? address : high;
    }
    check_inside(low, high + 4 - low);
}

/* scale and mix_them: see tests/unit/device_kernels.h for their arguments. */
static void run_box(const char *name, const uint64_t *a, const unsigned *threads)
{
    const bool      scale = strcmp(name, "scale") == 0;
    const uint64_t *in = scale ? a + 2 : a + 3, *out = a + 6;
    const int       size[]  = { (int)a[scale ? 5 : 9], (int)a[scale ? 6 : 10], (int)a[scale ? 7 : 11] };
    const uint64_t  dense[] = { 1, (uint64_t)size[0], (uint64_t)size[0] * (uint64_t)size[1] };
    check_box(a[scale ? 0 : 1], in, size);
    check_box(a[scale ? 1 : 0], dense, size);
    if (!scale)
        check_box(a[2], out, size);
    for (int z = 0; z < size[2] && z < (int)threads[2]; z++)
        for (int y = 0; y < size[1] && y < (int)threads[1]; y++)
            for (int x = 0; x < size[0] && x < (int)threads[0]; x++)
                if (scale)
                    *element(a[1], dense, x, y, z) =
                        *element(a[0], in, x, y, z) * (int)a[8] + (uint8_t)a[9] + (uint16_t)a[10];
                else
                    *element(a[2], out, x, y, z) = 2 * *element(a[0], dense, x, y, z) - *element(a[1], in, x, y, z);
}

static int run(const Launch *l)
{
    current();
    if (sticky)
        return sticky;
    if (strcmp(l->function->name, "stray") == 0) {
        sticky = BAD_ADDRESS; /* told by the next function */
        return OK;
    }
    run_box(l->function->name, l->arguments, l->threads);
    return OK;
}

static Launch launch_of(Object *function, void **arguments, const unsigned grid[3], const unsigned threads[3],
                        unsigned shared)
{
    Launch    l     = { .function = function };
    const int count = function->name[0] == 'm' ? 12 : strcmp(function->name, "scale") ? 1 : 11;
    check(function, FUNCTION);
    if (shared && (shared <= PLAIN_SHARED || (int)shared != function->asked))
        mistake("a launch with %u bytes of shared memory, after %d were asked for", shared, function->asked);
    for (int i = 0; i < count; i++)
        memcpy(&l.arguments[i], arguments[i], 8);
    for (int i = 0; i < 3; i++)
        l.threads[i] = grid[i] * threads[i];
    return l;
}

int cuLaunchKernel(Object *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, unsigned y,
                   unsigned z, unsigned shared, Object *stream, void **arguments, void **extra);
int cuLaunchKernel(Object *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, unsigned y,
                   unsigned z, unsigned shared, Object *stream, void **arguments, void **extra)
{
    const Launch l =
        launch_of(function, arguments, (unsigned[]){ grid_x, grid_y, grid_z }, (unsigned[]){ x, y, z }, shared);
    check_stream(stream);
    if (extra || x * y * z > 1024)
        mistake("a launch of %u threads", x * y * z);
    return run(&l);
}

/* ---- Graphs ----------------------------------------------------------------------------- */

typedef struct Node {
    Object  *function;
    unsigned grid[3], threads[3], shared;
    void   **arguments, **extra;
    void    *kernel, *context;
} Node;

int cuGraphCreate(Object **graph, unsigned flags);
int cuGraphCreate(Object **graph, unsigned flags)
{
    *graph = make(GRAPH);
    return flags ? BAD_VALUE : sticky;
}

int cuGraphAddKernelNode_v2(Object **node, Object *graph, Object *const *after, size_t count, const Node *n);
int cuGraphAddKernelNode_v2(Object **node, Object *graph, Object *const *after, size_t count, const Node *n)
{
    check(graph, GRAPH);
    if (count != (graph->launch_count > 0) || (count && *after != graph) || n->extra)
        mistake("node %d of a graph", graph->launch_count);
    graph->launches = realloc(graph->launches, ((size_t)graph->launch_count + 1) * sizeof *graph->launches);
    graph->launches[graph->launch_count++] = launch_of(n->function, n->arguments, n->grid, n->threads, n->shared);
    *node                                  = graph;
    return sticky;
}

int cuGraphInstantiateWithFlags(Object **executable, Object *graph, unsigned long long flags);
int cuGraphInstantiateWithFlags(Object **executable, Object *graph, unsigned long long flags)
{
    check(graph, GRAPH);
    const size_t bytes          = (size_t)graph->launch_count * sizeof *graph->launches;
    *executable                 = make(EXECUTABLE);
    (*executable)->launches     = memcpy(malloc(bytes), graph->launches, bytes);
    (*executable)->launch_count = graph->launch_count;
    return flags ? BAD_VALUE : sticky;
}

int cuGraphLaunch(Object *executable, Object *stream);
int cuGraphLaunch(Object *executable, Object *stream)
{
    check_stream(stream);
    check(executable, EXECUTABLE);
    int status = OK;
    for (int i = 0; i < executable->launch_count && !status; i++)
        status = run(&executable->launches[i]);
    return status;
}

int cuGraphExecDestroy(Object *executable);
int cuGraphExecDestroy(Object *executable)
{
    return destroy(executable, EXECUTABLE);
}

int cuGraphDestroy(Object *graph);
int cuGraphDestroy(Object *graph)
{
    return destroy(graph, GRAPH);
}
