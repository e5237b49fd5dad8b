/* What a file written by the C backend needs besides the program: a text of sections, embedded in the compiler, of which
 * a file gets those that it uses. A section begins with its name between @ signs and the names of those it needs.
 *
 * Takes   buffers as a caller gives them.
 * Gives   the same checks, messages and copies as the runtime of compiled objects (src/runtime), in C11 alone: no thread
 *         but by OpenMP or, with KN_THREADS, by POSIX threads.
 * Holds   this file is never compiled by itself; the files made from it are, by tests/cback. */

/*@ head @*/
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef __STDC_NO_ATOMICS__
#include <stdatomic.h>
#endif
#if defined KN_THREADS && !defined _OPENMP
#include <pthread.h>
#include <unistd.h>
#endif

_Static_assert(sizeof(int) >= 4, "the code counts on int having 32 bits");

/* No product and sum become one operation but where the text says so. gcc does not know the pragma: with -std=c11 it
 * keeps them apart, with -std=gnu11 it needs -ffp-contract=off, which this asks for. */
#if defined __clang__ || !defined __GNUC__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

#if defined __GNUC__
#define KN_INLINE   static inline __attribute__((unused))
#define KN_LANE     static inline __attribute__((unused, always_inline)) /* of vectors: none is passed to a function */
#define KN_NOINLINE __attribute__((noinline))
#define KN_MALLOC   __attribute__((noinline, malloc))
#define KN_SHARED   __attribute__((weak))
#define KN_PREFETCH(p, i) __builtin_prefetch((const void *)((uintptr_t)(p) + (uintptr_t)(i) * sizeof *(p)))
#else
#define KN_INLINE static inline
#define KN_NOINLINE
#define KN_MALLOC
#define KN_SHARED
#define KN_PREFETCH(p, i) ((void)(p), (void)(i))
#ifndef KN_PLAIN
#define KN_PLAIN
#endif
#endif

/* Before a loop whose iterations may happen at once. */
#if defined __GNUC__ && !defined __clang__
#define KN_LANES _Pragma("GCC ivdep")
#else
#define KN_LANES
#endif

/*@ error : head @*/
/* ---- Errors: the text of this thread's last one ---- */

enum { KN_ERROR_SIZE = 2048 };

/* Files made by Kiln that are linked into one program share these two. */
KN_SHARED char *kn_c_error_text(void)
{
    static _Thread_local char text[KN_ERROR_SIZE];
    return text;
}

KN_SHARED const char *kn_rt_last_error(void)
{
    return kn_c_error_text();
}

/* Adds a line to the text, and gives the status back. */
#if defined __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
static int kn_error(kn_status status, const char *format, ...)
{
    char   *text = kn_c_error_text();
    size_t  n    = strlen(text);
    va_list args;
    if (n && n + 2 < KN_ERROR_SIZE)
        text[n++] = '\n';
    va_start(args, format);
    vsnprintf(text + n, KN_ERROR_SIZE - n, format, args);
    va_end(args);
    return (int)status;
}

/*@ alloc : error @*/
/* ---- Scratch: aligned to 64 bytes, 64 more readable behind its end; kept for the next call ---- */

enum { KN_ALIGN = 64, KN_KEPT = 64 };

typedef struct kn_block {
    size_t size; /* of what follows the first KN_ALIGN bytes */
    void  *start;
} kn_block;

#ifdef __STDC_NO_ATOMICS__
#define KN_KEEP 0
#else
#define KN_KEEP 1
static atomic_flag kn_keeping = ATOMIC_FLAG_INIT;
static kn_block   *kn_kept[KN_KEPT];

/* The smallest kept block with room for `bytes` that does not waste more than half of it; NULL if there is none. */
static kn_block *kn_take_kept(size_t bytes)
{
    int best = -1;
    while (atomic_flag_test_and_set_explicit(&kn_keeping, memory_order_acquire)) {
    }
    for (int i = 0; i < KN_KEPT; i++)
        if (kn_kept[i] && kn_kept[i]->size >= bytes && kn_kept[i]->size / 2 <= bytes + 4096 &&
            (best < 0 || kn_kept[i]->size < kn_kept[best]->size))
            best = i;
    kn_block *found = best < 0 ? NULL : kn_kept[best];
    if (found)
        kn_kept[best] = NULL;
    atomic_flag_clear_explicit(&kn_keeping, memory_order_release);
    return found;
}

/* False where there is no place for it. */
static bool kn_keep(kn_block *block)
{
    bool kept = false;
    while (atomic_flag_test_and_set_explicit(&kn_keeping, memory_order_acquire)) {
    }
    for (int i = 0; i < KN_KEPT && !kept; i++)
        if (!kn_kept[i]) {
            kn_kept[i] = block;
            kept       = true;
        }
    atomic_flag_clear_explicit(&kn_keeping, memory_order_release);
    return kept;
}
#endif

KN_MALLOC static void *kn_alloc(int64_t count, int64_t size)
{
    const int64_t most = (int64_t)(SIZE_MAX / 4 < INT64_MAX / 4 ? SIZE_MAX / 4 : INT64_MAX / 4);
    kn_block     *block = NULL;
    count               = count < 1 ? 1 : count;
    if (count < most / size) {
        const size_t bytes = (size_t)(count * size);
#if KN_KEEP
        block = kn_take_kept(bytes);
#endif
        void *start = block ? NULL : malloc(bytes + 4 * KN_ALIGN);
        if (start) {
            block        = (kn_block *)(void *)((char *)start + (KN_ALIGN - (uintptr_t)start % KN_ALIGN));
            block->start = start;
            block->size  = bytes;
        }
    }
    if (block)
        return (char *)block + KN_ALIGN;
    kn_error(KN_ERROR_LIMIT, "out of memory");
    return NULL;
}

KN_NOINLINE static void kn_free(void *at)
{
    if (!at)
        return;
    kn_block *block = (kn_block *)(void *)((char *)at - KN_ALIGN);
#if KN_KEEP
    if (kn_keep(block))
        return;
#endif
    free(block->start);
}

/*@ release : alloc @*/
/* Frees what a function holds when it fails. */
KN_NOINLINE static int kn_release(void *const *held, int count, int status)
{
    while (count > 0)
        kn_free(held[--count]);
    return status;
}

/*@ trim : alloc @*/
#if KN_KEEP
static void kn_free_kept(void)
{
    for (kn_block *block = kn_take_kept(0); block; block = kn_take_kept(0))
        free(block->start);
    for (int i = 0; i < KN_KEPT; i++) {
        while (atomic_flag_test_and_set_explicit(&kn_keeping, memory_order_acquire)) {
        }
        kn_block *block = kn_kept[i];
        kn_kept[i]      = NULL;
        atomic_flag_clear_explicit(&kn_keeping, memory_order_release);
        if (block)
            free(block->start);
    }
}
#else
static void kn_free_kept(void)
{
}
#endif

/*@ parallel : head @*/
/* ---- Parallel loops: by OpenMP, by threads of this file (KN_THREADS), or one iteration after the other ---- */

typedef int kn_body(const void *closure, int32_t i);

#if defined _OPENMP

static int kn_parallel(kn_body *body, const void *closure, int32_t min, int32_t extent)
{
    int status = 0;
#pragma omp parallel for schedule(dynamic)
    for (int32_t i = 0; i < extent; i++) {
        int stop;
#pragma omp atomic read
        stop = status;
        const int one = stop ? 0 : body(closure, min + i);
        if (one) {
#pragma omp atomic write
            status = one;
        }
    }
    return status;
}

#elif defined KN_THREADS

/* Workers sleep until a loop is published; whoever is free takes the next iteration. A loop inside a loop, and one that
 * begins while another thread's is running, is done by its own thread alone. */
enum { KN_MOST_THREADS = 256 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t  work, done;
    bool            busy;
    int             workers, inside; /* threads made; those in the loop */
    unsigned        generation;
    kn_body        *body;
    const void     *closure;
    int32_t         min, extent;
    atomic_int      next, status;
} kn_pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

static _Thread_local bool kn_in_loop;

static void kn_pool_iterate(kn_body *body, const void *closure, int32_t min, int32_t extent)
{
    kn_in_loop = true;
    for (int i; (i = atomic_fetch_add(&kn_pool.next, 1)) < extent && !atomic_load(&kn_pool.status);) {
        const int one = body(closure, min + i);
        if (one)
            atomic_store(&kn_pool.status, one);
    }
    kn_in_loop = false;
}

static void *kn_pool_work(void *seen_by_maker)
{
    unsigned seen = (unsigned)(uintptr_t)seen_by_maker;
    pthread_mutex_lock(&kn_pool.lock);
    for (;;) {
        while (kn_pool.generation == seen || !kn_pool.busy)
            pthread_cond_wait(&kn_pool.work, &kn_pool.lock);
        seen = kn_pool.generation;
        kn_pool.inside++;
        kn_body      *body    = kn_pool.body;
        const void   *closure = kn_pool.closure;
        const int32_t min = kn_pool.min, extent = kn_pool.extent;
        pthread_mutex_unlock(&kn_pool.lock);
        kn_pool_iterate(body, closure, min, extent);
        pthread_mutex_lock(&kn_pool.lock);
        if (--kn_pool.inside == 0)
            pthread_cond_signal(&kn_pool.done);
    }
    return NULL;
}

/* KN_NUM_THREADS of the environment, else the number of CPUs. */
static int kn_thread_count(void)
{
    const char *text  = getenv("KN_NUM_THREADS");
    const long  count = text && *text ? strtol(text, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > KN_MOST_THREADS ? KN_MOST_THREADS : (int)count;
}

static int kn_parallel(kn_body *body, const void *closure, int32_t min, int32_t extent)
{
    int status = 0;
    pthread_mutex_lock(&kn_pool.lock);
    const bool shared = !kn_in_loop && !kn_pool.busy && extent > 1;
    if (shared) {
        for (int count = kn_thread_count(); kn_pool.workers < count - 1; kn_pool.workers++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, kn_pool_work, (void *)(uintptr_t)kn_pool.generation))
                break;
            pthread_detach(thread);
        }
        kn_pool.busy    = true;
        kn_pool.body    = body;
        kn_pool.closure = closure;
        kn_pool.min     = min;
        kn_pool.extent  = extent;
        kn_pool.generation++;
        atomic_store(&kn_pool.next, 0);
        atomic_store(&kn_pool.status, 0);
        pthread_cond_broadcast(&kn_pool.work);
    }
    pthread_mutex_unlock(&kn_pool.lock);
    if (!shared) {
        for (int32_t i = 0; i < extent && !status; i++)
            status = body(closure, min + i);
        return status;
    }
    kn_pool_iterate(body, closure, min, extent);
    pthread_mutex_lock(&kn_pool.lock);
    while (kn_pool.inside)
        pthread_cond_wait(&kn_pool.done, &kn_pool.lock);
    status       = atomic_load(&kn_pool.status);
    kn_pool.busy = false;
    pthread_mutex_unlock(&kn_pool.lock);
    return status;
}

#else

static int kn_parallel(kn_body *body, const void *closure, int32_t min, int32_t extent)
{
    int status = 0;
    for (int32_t i = 0; i < extent && !status; i++)
        status = body(closure, min + i);
    return status;
}

#endif

/*@ buffers : error alloc @*/
/* ---- Buffers: checked before anything is computed, and copied where a stride must be 1 and is not ---- */

typedef struct kn_port {
    const char *name;
    kn_type     type;
    int         rank;
    int         dense; /* the dimension that must have stride 1; -1 if none */
    bool        is_output;
    const char *dims[KN_MAX_RANK];
} kn_port;

static const int64_t kn_most_coordinate = 1 << 28;

static const char *const kn_type_names[KN_TYPE_COUNT] = { "none", "bool", "u8",  "u16", "u32",  "u64", "i8",
                                                          "i16",  "i32",  "i64", "f16", "bf16", "f32", "f64" };
static const int kn_type_sizes[KN_TYPE_COUNT]         = { 0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8 };

static const char *kn_port_kind(const kn_port *port)
{
    return port->is_output ? "output" : "input";
}

/* As the program says it: "blur: input `in` is u16(x, y)". */
static const char *kn_port_text(const char *program, const kn_port *port, char *text, size_t size)
{
    int n = snprintf(text, size, "%s: %s `%s` is %s(", program, kn_port_kind(port), port->name,
                     kn_type_names[port->type]);
    for (int d = 0; d <= port->rank && n >= 0 && (size_t)n < size; d++)
        n += snprintf(text + n, size - (size_t)n, "%s%s", d && d < port->rank ? ", " : "",
                      d < port->rank ? port->dims[d] : ")");
    return text;
}

static bool kn_is_empty(const kn_buffer *b)
{
    for (int d = 0; d < b->rank; d++)
        if (b->dim[d].extent <= 0)
            return true;
    return false;
}

static uint64_t kn_magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* The bytes before and from `data` on that the elements reach; false if that is more than an address can say. */
static bool kn_reach(const kn_buffer *b, uint64_t *below, uint64_t *above)
{
    const uint64_t most = UINTPTR_MAX / 2, size = (uint64_t)kn_type_sizes[b->type];
    *below = 0;
    *above = size;
    for (int d = 0; d < b->rank; d++) {
        const uint64_t steps = (uint64_t)b->dim[d].extent - 1, stride = kn_magnitude(b->dim[d].stride);
        uint64_t      *end   = b->dim[d].stride < 0 ? below : above;
        if (!steps)
            continue;
        if (stride > most / size / steps || stride > (uint64_t)INT64_MAX / ((uint64_t)kn_most_coordinate + 1) ||
            *end > most - stride * steps * size)
            return false;
        *end += stride * steps * size;
    }
    const uintptr_t at = (uintptr_t)b->data;
    return *below <= at && *above <= UINTPTR_MAX - at;
}

/* A dimension along which two coordinates may share an element, or -1: in order of |stride|, each stride must pass what
 * all smaller ones reach together. */
static int kn_repeating(const kn_buffer *b)
{
    int      order[KN_MAX_RANK], n = 0;
    uint64_t reach = 0;
    for (int d = 0; d < b->rank; d++) {
        if (b->dim[d].extent < 2)
            continue;
        int i = n++;
        for (; i > 0 && kn_magnitude(b->dim[order[i - 1]].stride) > kn_magnitude(b->dim[d].stride); i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
    for (int i = 0; i < n; i++) {
        const kn_dim *dim = &b->dim[order[i]];
        if (kn_magnitude(dim->stride) <= reach)
            return order[i];
        reach += (uint64_t)(dim->extent - 1) * kn_magnitude(dim->stride);
    }
    return -1;
}

static int kn_check_kind(const char *program, const kn_port *port, const kn_buffer *b)
{
    char text[256];
    if (!b)
        return kn_error(KN_ERROR_ARGUMENT, "%s: no buffer is given for it (NULL)",
                        kn_port_text(program, port, text, sizeof text));
    if ((int)b->type <= KN_NONE || (int)b->type >= KN_TYPE_COUNT)
        return kn_error(KN_ERROR_ARGUMENT, "%s, the buffer's type is %d, which is none: use KN_BOOL … KN_F64",
                        kn_port_text(program, port, text, sizeof text), (int)b->type);
    if (b->type != port->type)
        return kn_error(KN_ERROR_ARGUMENT, "%s, the buffer holds %s", kn_port_text(program, port, text, sizeof text),
                        kn_type_names[b->type]);
    if (b->rank != port->rank)
        return kn_error(KN_ERROR_ARGUMENT, "%s, the buffer has %d dimension%s",
                        kn_port_text(program, port, text, sizeof text), (int)b->rank, b->rank == 1 ? "" : "s");
    return KN_OK;
}

static int kn_check_shape(const char *program, const kn_port *port, const kn_buffer *b)
{
    for (int d = 0; d < b->rank; d++) {
        const kn_dim *dim = &b->dim[d];
        if (dim->extent < 0)
            return kn_error(KN_ERROR_ARGUMENT, "%s: %s `%s`: dimension %s has the negative extent %d", program,
                            kn_port_kind(port), port->name, port->dims[d], (int)dim->extent);
        if (dim->min < -kn_most_coordinate || (int64_t)dim->min + dim->extent > kn_most_coordinate)
            return kn_error(KN_ERROR_BOUNDS,
                            "%s: %s `%s`: dimension %s has the coordinates %lld..%lld; those of compiled pipelines "
                            "lie in %lld..%lld",
                            program, kn_port_kind(port), port->name, port->dims[d], (long long)dim->min,
                            (long long)dim->min + dim->extent, (long long)-kn_most_coordinate,
                            (long long)kn_most_coordinate);
    }
    return KN_OK;
}

static int kn_check_memory(const char *program, const kn_port *port, const kn_buffer *b)
{
    const char *kind = kn_port_kind(port);
    uint64_t    below, above;
    if (!b->data)
        return kn_error(KN_ERROR_ARGUMENT,
                        "%s: %s `%s`: its data is NULL; point it at the element at the smallest coordinates", program,
                        kind, port->name);
    if ((uintptr_t)b->data % (uintptr_t)kn_type_sizes[b->type])
        return kn_error(KN_ERROR_ARGUMENT,
                        "%s: %s `%s`: its data is misaligned: the address must be a multiple of %d, the size of %s",
                        program, kind, port->name, kn_type_sizes[b->type], kn_type_names[b->type]);
    if (!kn_reach(b, &below, &above))
        return kn_error(KN_ERROR_ARGUMENT, "%s: %s `%s`: its strides reach beyond the address space", program, kind,
                        port->name);
    const int d = port->is_output ? kn_repeating(b) : -1;
    if (d >= 0)
        return kn_error(KN_ERROR_ARGUMENT,
                        "%s: output `%s`: with stride %lld along %s two coordinates share an element, which an "
                        "output must not; each stride must pass what the smaller ones reach",
                        program, port->name, (long long)b->dim[d].stride, port->dims[d]);
    return KN_OK;
}

/* Do the bytes of two buffers overlap? */
static bool kn_overlap(const kn_buffer *a, const kn_buffer *b)
{
    uint64_t a_below, a_above, b_below, b_above;
    if (kn_is_empty(a) || kn_is_empty(b) || !kn_reach(a, &a_below, &a_above) || !kn_reach(b, &b_below, &b_above))
        return false;
    const uint64_t at = (uintptr_t)a->data, bt = (uintptr_t)b->data;
    return at - a_below < bt + b_above && bt - b_below < at + a_above;
}

static int kn_check_buffers(const char *program, const kn_port *ports, int count, const kn_buffer *const *given)
{
    int status = KN_OK;
    for (int i = 0; i < count; i++) {
        int one = kn_check_kind(program, &ports[i], given[i]);
        if (!one)
            one = kn_check_shape(program, &ports[i], given[i]);
        if (!one && !kn_is_empty(given[i]))
            one = kn_check_memory(program, &ports[i], given[i]);
        status = status ? status : one;
    }
    for (int i = 0; i < count && !status; i++)
        for (int k = i + 1; k < count; k++)
            if ((ports[i].is_output || ports[k].is_output) && kn_overlap(given[i], given[k]))
                status = kn_error(KN_ERROR_ARGUMENT,
                                  "%s: %s `%s` and %s `%s` share memory: an output needs memory of its own", program,
                                  kn_port_kind(&ports[i]), ports[i].name, kn_port_kind(&ports[k]), ports[k].name);
    return status;
}

/* A copy of the shape of b whose stride along `dense` is 1; a dimension of stride 0 keeps it. */
static int kn_copy_new(const kn_buffer *b, int dense, kn_buffer *copy)
{
    int64_t count           = b->dim[dense].extent;
    *copy                   = *b;
    copy->dim[dense].stride = 1;
    for (int d = 0; d < b->rank; d++) {
        if (d == dense || b->dim[d].stride == 0)
            continue;
        copy->dim[d].stride = count;
        count               = count > INT64_MAX / 8 / b->dim[d].extent ? INT64_MAX / 8 : count * b->dim[d].extent;
    }
    copy->data = kn_alloc(count, kn_type_sizes[b->type]);
    return copy->data ? KN_OK : KN_ERROR_LIMIT;
}

/* All elements, row by row along `dense`. */
static void kn_copy_elements(const kn_buffer *from, const kn_buffer *to, int dense)
{
    const int64_t size = kn_type_sizes[from->type];
    int32_t       at[KN_MAX_RANK] = { 0 };
    for (int d = 0; d < from->rank;) {
        const char *f = from->data;
        char       *t = to->data;
        for (int k = 0; k < from->rank; k++) {
            f += at[k] * from->dim[k].stride * size;
            t += at[k] * to->dim[k].stride * size;
        }
        for (int32_t i = 0; i < from->dim[dense].extent; i++)
            memcpy(t + i * to->dim[dense].stride * size, f + i * from->dim[dense].stride * size, (size_t)size);
        for (d = 0; d < from->rank; d++) {
            if (d == dense || to->dim[d].stride == 0)
                continue;
            if (++at[d] < from->dim[d].extent)
                break;
            at[d] = 0;
        }
    }
}

/* An empty input gets a row of zeros, so that an index clamped to 0 reads something. */
static int kn_use_empty(const kn_port *port, kn_buffer *used)
{
    const int dense = port->dense < 0 ? 0 : port->dense;
    kn_buffer row   = *used;
    for (int d = 0; d < row.rank; d++) {
        row.dim[d].extent = row.dim[d].extent > 1 ? row.dim[d].extent : 1;
        row.dim[d].stride = 0;
    }
    kn_buffer copy;
    const int status = kn_copy_new(&row, dense, &copy);
    if (!status)
        memset(copy.data, 0, (size_t)row.dim[dense].extent * (size_t)kn_type_sizes[row.type]);
    for (int d = 0; d < row.rank; d++)
        copy.dim[d].extent = used->dim[d].extent;
    *used = copy;
    return status;
}

/* What the code uses for the buffer that was given. */
static int kn_use_buffer(const kn_port *port, const kn_buffer *given, kn_buffer *used)
{
    *used = *given;
    if (!port->is_output && kn_is_empty(given))
        return kn_use_empty(port, used);
    for (int d = 0; d < used->rank; d++) /* along one element any stride will do */
        if (used->dim[d].extent < 2)
            used->dim[d].stride = d == port->dense;
    if (port->dense < 0 || used->dim[port->dense].stride == 1)
        return KN_OK;
    if (kn_is_empty(given)) {
        used->dim[port->dense].stride = 1;
        return KN_OK;
    }
    kn_buffer copy;
    const int status = kn_copy_new(used, port->dense, &copy);
    if (!status && !port->is_output)
        kn_copy_elements(given, &copy, port->dense);
    *used = copy;
    return status;
}

/* Ends a call: copies outputs back, and frees the copies. */
static int kn_leave(const kn_port *ports, int count, const kn_buffer *const *given, kn_buffer *used, int status)
{
    for (int i = 0; i < count; i++) {
        if (used[i].data == given[i]->data)
            continue;
        if (ports[i].is_output && !status)
            kn_copy_elements(&used[i], given[i], ports[i].dense);
        kn_free(used[i].data);
    }
    return status;
}

/* Begins a call. Status not 0: nothing is held. */
static int kn_enter(const char *program, const kn_port *ports, int count, const kn_buffer *const *given,
                    kn_buffer *used)
{
    kn_c_error_text()[0] = 0;
    int status           = kn_check_buffers(program, ports, count, given);
    if (status)
        return status;
    for (int i = 0; i < count; i++)
        used[i] = *given[i];
    for (int i = 0; i < count && !status; i++)
        status = kn_use_buffer(&ports[i], given[i], &used[i]);
    return status ? kn_leave(ports, count, given, used, status) : status;
}

KN_SHARED kn_buffer kn_buffer_dense(void *data, kn_type type, int rank, const int32_t *extent)
{
    kn_buffer b      = { .data = data, .type = type, .rank = rank };
    int64_t   stride = 1;
    if (rank < 0 || rank > KN_MAX_RANK || (rank > 0 && !extent))
        return (kn_buffer){ .rank = -1 };
    for (int d = 0; d < rank; d++) {
        b.dim[d].extent = extent[d];
        b.dim[d].stride = stride;
        stride          = extent[d] > 0 && stride > INT64_MAX / extent[d] ? INT64_MAX : stride * extent[d];
    }
    return b;
}

/*@ need : buffers @*/
/* The buffer must have the coordinates min..max of dimension dim, because `reader` reads them (NULL: they are
 * written). */
static int kn_need(const char *program, const kn_port *port, const kn_buffer *used, int dim, int64_t min, int64_t max,
                   const char *reader)
{
    const kn_dim *has = &used->dim[dim];
    char          needed[64], given[64] = "nothing";
    if (min > max || (min >= has->min && max < (int64_t)has->min + has->extent))
        return KN_OK;
    snprintf(needed, sizeof needed, "%lld..%lld", (long long)min, (long long)max + 1);
    if (has->extent > 0)
        snprintf(given, sizeof given, "%lld..%lld", (long long)has->min, (long long)has->min + has->extent);
    return kn_error(KN_ERROR_BOUNDS, "%s: %s `%s` is too small: %s %s is %s%s%s, %s is given", program,
                    kn_port_kind(port), port->name, port->dims[dim], needed, reader ? "needed by `" : "written",
                    reader ? reader : "", reader ? "`" : "", given);
}

/*@ stage : error @*/
static int kn_call_stage(const char *name, kn_stage *stage, kn_buffer *inputs, int input_count,
                         const kn_scalar *values, int value_count, kn_buffer *output)
{
    const int failed = stage(false, inputs, input_count, values, value_count, output, NULL);
    if (failed)
        return kn_error(KN_ERROR_ARGUMENT, "the extern stage `%s` stopped the run: it returned %d", name, failed);
    return KN_OK;
}

/*@ query : error @*/
/* Asks a stage what it needs of its inputs: min and max of each dimension into the table. */
static int kn_query_stage(const char *name, kn_stage *stage, kn_buffer *inputs, int input_count,
                          const kn_scalar *values, int value_count, kn_buffer *output, const int *ranks,
                          int32_t *table)
{
    const int failed = stage(true, inputs, input_count, values, value_count, output, NULL);
    if (failed)
        return kn_error(KN_ERROR_ARGUMENT, "the extern stage `%s` refused the query for its regions: it returned %d",
                        name, failed);
    for (int i = 0; i < input_count; i++) {
        const kn_buffer *b    = &inputs[i];
        bool             some = true;
        for (int d = 0; d < ranks[i]; d++) {
            if (b->rank != ranks[i] || b->dim[d].extent < 0)
                return kn_error(KN_ERROR_ARGUMENT,
                                "the extern stage `%s` answered with a wrong rank or a negative extent", name);
            if (b->dim[d].extent && (b->dim[d].min < -(1 << 28) ||
                                     (int64_t)b->dim[d].min + b->dim[d].extent - 1 > 1 << 28))
                return kn_error(KN_ERROR_BOUNDS, "the extern stage `%s` needs coordinates beyond 2^28", name);
            some = some && b->dim[d].extent;
        }
        for (int d = 0; some && d < ranks[i]; d++) {
            table[2 * d]     = b->dim[d].min;
            table[2 * d + 1] = b->dim[d].min + b->dim[d].extent - 1;
        }
        table += 2 * ranks[i];
    }
    return KN_OK;
}

/*@ atomic : head @*/
/* ---- Atomic stores: one thread at a time in each of a few parts of memory ---- */

#if (defined _OPENMP || defined KN_THREADS) && !defined __STDC_NO_ATOMICS__
static atomic_flag kn_locks[64];

static atomic_flag *kn_lock_of(const void *at)
{
    const uintptr_t line = (uintptr_t)at >> 6;
    return &kn_locks[(line ^ line >> 6) & 63];
}

static void kn_lock(const void *at)
{
    while (atomic_flag_test_and_set_explicit(kn_lock_of(at), memory_order_acquire)) {
    }
}

static void kn_unlock(const void *at)
{
    atomic_flag_clear_explicit(kn_lock_of(at), memory_order_release);
}
#else
#define kn_lock(at)   ((void)(at))
#define kn_unlock(at) ((void)(at))
#endif

/*@ div_signed : head @*/
/* Euclidean, total: by 0 it is 0, the least value by -1 wraps. */
KN_INLINE int64_t kn_div(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    return a / b - (a % b < 0 ? (b > 0 ? 1 : -1) : 0);
}

KN_INLINE int64_t kn_mod(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    const int64_t r = a % b;
    return r >= 0 ? r : b > 0 ? r + b : r - b;
}

/*@ shift : head @*/
/* a * 2^s rounded down, of a number with `bits` bits: what is shifted out is gone, the sign comes in. */
KN_INLINE int64_t kn_shift(int64_t a, int64_t s, int bits)
{
    if (s >= 0)
        return s < bits ? (int64_t)((uint64_t)a << s) : 0;
    return a >> (s > -bits ? (int)-s : bits - 1);
}

KN_INLINE uint64_t kn_shift_u(uint64_t a, int64_t s, int bits)
{
    if (s >= 0)
        return s < bits ? a << s : 0;
    return s > -bits ? a >> -s : 0;
}

/*@ clamp_amount : head @*/
KN_INLINE int64_t kn_amount(int64_t s)
{
    return s > 256 ? 256 : s < -256 ? -256 : s;
}

KN_INLINE int64_t kn_amount_u(uint64_t s)
{
    return s > 256 ? 256 : (int64_t)s;
}

/*@ mul_shift : head @*/
/* (a * b) >> s with the whole product of 128 bits. */
KN_INLINE uint64_t kn_mul_shift_u(uint64_t a, uint64_t b, int64_t s)
{
    const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    const uint64_t low = al * bl, mid = ah * bl + (low >> 32), mid2 = al * bh + (uint32_t)mid;
    const uint64_t lo = mid2 << 32 | (uint32_t)low, hi = ah * bh + (mid >> 32) + (mid2 >> 32);
    if (s <= 0)
        return s > -64 ? lo << -s : 0;
    if (s < 64)
        return lo >> s | hi << (64 - s);
    return s < 128 ? hi >> (s - 64) : 0;
}

KN_INLINE int64_t kn_mul_shift(int64_t a, int64_t b, int64_t s)
{
    const uint64_t ua = (uint64_t)a, ub = (uint64_t)b, al = (uint32_t)ua, ah = ua >> 32, bl = (uint32_t)ub,
                   bh = ub >> 32;
    const uint64_t low = al * bl, mid = ah * bl + (low >> 32), mid2 = al * bh + (uint32_t)mid;
    const uint64_t lo = mid2 << 32 | (uint32_t)low;
    const int64_t  hi =
        (int64_t)(ah * bh + (mid >> 32) + (mid2 >> 32) - (a < 0 ? ub : 0) - (b < 0 ? ua : 0));
    if (s <= 0)
        return s > -64 ? (int64_t)(lo << -s) : 0;
    if (s < 64)
        return (int64_t)(lo >> s | (uint64_t)hi << (64 - s));
    return hi >> (s < 127 ? s - 64 : 63);
}

/*@ bits : head @*/
KN_INLINE int kn_popcount(uint64_t v)
{
    int n = 0;
    for (; v; v &= v - 1)
        n++;
    return n;
}

/* Zeros before the first one in `bits` bits. */
KN_INLINE int kn_clz(uint64_t v, int bits)
{
    int n = bits;
    for (; v; v >>= 1)
        n--;
    return n;
}

/*@ float_bits : head @*/
KN_INLINE float kn_f32_of_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

KN_INLINE uint32_t kn_bits_of_f32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

KN_INLINE double kn_f64_of_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

KN_INLINE uint64_t kn_bits_of_f64(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/*@ half : float_bits @*/
/* ---- Floats of 16 bits, carried as their bits ---- */

KN_INLINE float kn_f32_of_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, size = (uint32_t)(h & 0x7FFF) << 13;
    if (size >= 0x7C00u << 13)
        return kn_f32_of_bits(sign | size | 0x7F800000);
    return kn_f32_of_bits(sign | kn_bits_of_f32(kn_f32_of_bits(size) * 0x1p112f));
}

KN_INLINE uint16_t kn_f16_of_f32(float v)
{
    const uint32_t bits = kn_bits_of_f32(v), size = bits & 0x7FFFFFFF, sign = (bits ^ size) >> 16;
    if (size >= 0x47800000)
        return (uint16_t)(sign | (size > 0x7F800000 ? 0x7E00 : 0x7C00));
    if (size < 0x38800000)
        return (uint16_t)(sign | (kn_bits_of_f32(kn_f32_of_bits(size) + 0.5f) - 0x3F000000));
    return (uint16_t)(sign | ((size - (112u << 23) + 0xFFF + (size >> 13 & 1)) >> 13));
}

KN_INLINE float kn_f32_of_bf16(uint16_t h)
{
    return kn_f32_of_bits((uint32_t)h << 16);
}

KN_INLINE uint16_t kn_bf16_of_f32(float v)
{
    const uint32_t bits = kn_bits_of_f32(v);
    if (v != v)
        return (uint16_t)((bits | 0x400000) >> 16);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* f64 to f32 by rounding to odd, so that rounding once more to fewer bits is as if it were done at once. */
KN_INLINE float kn_f32_odd(double v)
{
    const float  near = (float)v;
    const double back = near;
    uint32_t     bits = kn_bits_of_f32(near);
    if (back != v && v == v)
        bits = (bits - (fabs(back) > fabs(v))) | 1;
    return kn_f32_of_bits(bits);
}

/*@ end @*/
