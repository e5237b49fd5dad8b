/* SPDX-License-Identifier: MIT */
/* Measuring the curves: for working sets from 8 KiB to 128 MiB, in steps of the square root of 2, the time of dependent
 * loads, of reads, writes, copies, and copies by streaming stores; by one thread, or by all at once, each in memory of
 * its own.
 *
 * A time is the least of three windows of a millisecond or a pass over the set, whichever takes longer, so that other
 * load hardly shows. The threads of a window begin together. The context's memory is of huge pages where the system has
 * them; each thread's begins at one, so that neither tables of pages nor conflicts of their places are measured. */
#include "runtime/runtime.h"
#include "schedulers/graph/constants.h"
#include "schedulers/model/curve.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#if defined __SSE2__
#include <emmintrin.h>
#endif

enum {
    FIRST_BYTES = 8 << 10,
    HUGE_PAGE   = 2 << 20,
    WINDOWS     = 3,
    MOST_LOADS  = 1 << 14, /* dependent loads of a pass: a sample of a large set */
};
static const int64_t most_bytes = (int64_t)128 << 20, most_in_all = (int64_t)1 << 30;
static const double  window_ns = 1e6, most_wait_ns = 1e6;

/* The memory of one thread. */
typedef struct Part {
    char  *at;
    void  *cursor; /* of dependent loads */
    double ns;     /* the result: of a unit */
} Part;

typedef double Pass(Part *p, int64_t bytes); /* gives how many units it took */

struct CurveBench {
    int          parts;
    int64_t      most; /* bytes of a part */
    kn_rt       *rt;   /* NULL: one thread */
    char        *pages;
    Part        *part;
    Pass *const *passes; /* by kind; NULL: not measured */
    atomic_int   begun;  /* threads of the window at work */
    /* the measurement under way */
    CurveKind kind;
    int64_t   bytes;
};

static double ns_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Makes the compiler assume that memory is read and written here. */
static void touch(void *at)
{
    __asm__ volatile("" : : "r"(at) : "memory");
}

/* ---- Passes over a working set: each gives how many units it took ------------------------- */

static double load_lines(Part *p, int64_t bytes)
{
    const int64_t lines = bytes / LINE_BYTES, loads = lines < MOST_LOADS ? lines : MOST_LOADS;
    void        **at = p->cursor;
    for (int64_t i = 0; i < loads; i++)
        at = *at;
    p->cursor = at;
    touch(at);
    return (double)loads;
}

typedef int64_t Four __attribute__((vector_size(32)));

/* Vectors of a step of the loops below: with fewer they are bound by their own steps. */
enum { AT_ONCE = 4, STEP_BYTES = AT_ONCE * sizeof(Four) };
#define EACH(k) _Pragma("GCC unroll 4") for (int k = 0; k < AT_ONCE; k++)
#define BODY    static inline __attribute__((always_inline)) double

BODY read_body(Part *p, int64_t bytes)
{
    Four sum[AT_ONCE] = { { 0 } };
    for (int64_t i = 0; i < bytes; i += STEP_BYTES)
        EACH(k) sum[k] |= ((const Four *)(const void *)(p->at + i))[k];
    sum[0] |= sum[1] | sum[2] | sum[3];
    touch(sum);
    return (double)bytes;
}

BODY write_body(Part *p, int64_t bytes)
{
    const Four one = { 1, 1, 1, 1 };
    for (int64_t i = 0; i < bytes; i += STEP_BYTES) {
        EACH(k)((Four *)(void *)(p->at + i))[k] = one;
        touch(p->at);
    }
    return (double)bytes;
}

BODY copy_body(Part *p, int64_t bytes)
{
    char *to = p->at + bytes / 2;
    for (int64_t i = 0; i < bytes / 2; i += STEP_BYTES) {
        EACH(k)((Four *)(void *)(to + i))[k] = ((const Four *)(const void *)(p->at + i))[k];
        touch(to);
    }
    return (double)(bytes / 2);
}

#if defined   __SSE2__
static double stream_half(Part *p, int64_t bytes)
{
    const __m128i *from = (const __m128i *)(const void *)p->at;
    __m128i       *to   = (__m128i *)(void *)(p->at + bytes / 2);
    for (int64_t i = 0; i < bytes / 2 / (int64_t)sizeof *to; i++)
        _mm_stream_si128(to + i, _mm_load_si128(from + i));
    _mm_sfence();
    touch(to);
    return (double)(bytes / 2);
}
#else
#define stream_half NULL
#endif

/* clang-format off */
/* The loops with the registers of one target: the library itself is compiled for the least of its architecture. */
#define PASSES(prefix, target)                                                                                         \
    target static double prefix##_read(Part *p, int64_t bytes) { return read_body(p, bytes); }                         \
    target static double prefix##_write(Part *p, int64_t bytes) { return write_body(p, bytes); }                       \
    target static double prefix##_copy(Part *p, int64_t bytes) { return copy_body(p, bytes); }                         \
    static Pass *const prefix##_passes[CURVE_KINDS] = { load_lines, prefix##_read, prefix##_write, prefix##_copy,      \
                                                        stream_half };
/* clang-format on */
PASSES(plain, )
#if defined __x86_64__
PASSES(wide, __attribute__((target("avx2"))))
#else
#define wide_passes plain_passes
#endif

/* One cycle through all lines in random order (Sattolo's shuffle), which no prefetcher follows. */
static void link_lines(Part *p, int64_t bytes)
{
    const int64_t lines = bytes / LINE_BYTES;
    uint64_t      state = 1;
    for (int64_t i = 0; i < lines; i++)
        *(void **)(void *)(p->at + i * LINE_BYTES) = p->at + i * LINE_BYTES;
    for (int64_t i = lines - 1; i > 0; i--) {
        state               = state * 6364136223846793005u + 1442695040888963407u;
        const int64_t other = (int64_t)((state >> 33) % (uint64_t)i);
        void **a = (void **)(void *)(p->at + i * LINE_BYTES), **b = (void **)(void *)(p->at + other * LINE_BYTES);
        void  *swap = *a;
        *a          = *b;
        *b          = swap;
    }
    p->cursor = p->at;
}

/* ---- Windows ----------------------------------------------------------------------------- */

/* Waits for the other threads of the window, but not for ever: there may be fewer than parts. */
static void meet(CurveBench *b, int parts)
{
    const double end = ns_now() + most_wait_ns;
    atomic_fetch_add(&b->begun, 1);
    while (atomic_load(&b->begun) < parts && ns_now() < end)
        sched_yield();
}

/* The ns of a unit, in one window. */
static double window(CurveBench *b, Part *p)
{
    double       units = 0, now;
    const double begin = ns_now();
    do {
        units += b->passes[b->kind](p, b->bytes);
        now = ns_now();
    } while (now - begin < window_ns);
    return (now - begin) / units;
}

static int measure_part(kn_rt *rt, int32_t i, void *closure)
{
    CurveBench *b = closure;
    Part       *p = &b->part[i];
    if (b->kind == CURVE_LATENCY)
        link_lines(p, b->bytes);
    b->passes[b->kind](p, b->bytes);
    meet(b, rt ? b->parts : 1);
    p->ns = window(b, p);
    for (int k = 1; k < WINDOWS; k++) {
        const double ns = window(b, p);
        p->ns           = ns < p->ns ? ns : p->ns;
    }
    return 0;
}

void curve_measure(CurveBench *b, bool all, int point, Curve *c)
{
    const bool many = all && b->rt;
    b->bytes        = c->bytes[point];
    for (int kind = 0; kind < CURVE_KINDS; kind++) {
        double sum = 0;
        if (!b->passes[kind])
            continue;
        b->kind = (CurveKind)kind;
        atomic_store(&b->begun, 0);
        if (many)
            kn_rt_parallel(b->rt, measure_part, 0, b->parts, b);
        else
            measure_part(NULL, 0, b);
        for (int i = 0; i < (many ? b->parts : 1); i++)
            sum += b->part[i].ns;
        c->ns[kind][point] = sum / (many ? b->parts : 1);
    }
}

/* ---- The bench --------------------------------------------------------------------------- */

/* A step of the square root of 2, in whole steps of the loops for both halves. */
static int64_t bytes_of_point(int point)
{
    const int64_t even = (int64_t)FIRST_BYTES << point / 2;
    return point % 2 ? even * 181 / 128 / (2 * STEP_BYTES) * (2 * STEP_BYTES) : even;
}

Curve curve_begin(const CurveBench *b, bool all)
{
    Curve         c    = { 0 };
    const int64_t most = all ? b->most : most_bytes < b->most * b->parts ? most_bytes : b->most * b->parts;
    while (c.count < CURVE_POINTS && bytes_of_point(c.count) <= most) {
        c.bytes[c.count] = bytes_of_point(c.count);
        c.count++;
    }
    return c;
}

/* Bytes for all threads: no more than a quarter of the memory. */
static int64_t bytes_in_all(int parts)
{
    const int64_t quarter = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 4;
    const int64_t wanted  = most_bytes * parts < most_in_all ? most_bytes * parts : most_in_all;
    return quarter > 0 && quarter < wanted ? quarter : wanted;
}

CurveBench *curve_bench_new(kn_context *cx, const Machine *m)
{
    const int64_t bytes = bytes_in_all(m->cores);
    CurveBench   *b     = context_allocate(cx, sizeof *b);
    Part         *part  = context_allocate(cx, sizeof *part * (size_t)m->cores);
    char         *pages = context_allocate_raw(cx, (size_t)bytes + HUGE_PAGE);
    if (!b || !part || !pages) {
        context_release(cx, b);
        context_release(cx, part);
        context_release(cx, pages);
        return NULL;
    }
    char *first = pages + (HUGE_PAGE - (uintptr_t)pages % HUGE_PAGE);
    *b          = (CurveBench){ .parts  = m->cores,
                                .most   = bytes / m->cores / HUGE_PAGE * HUGE_PAGE,
                                .rt     = m->cores > 1 ? kn_rt_new(&(kn_rt_hooks){ .threads = m->cores }) : NULL,
                                .pages  = pages,
                                .part   = part,
                                .passes = m->vector_bits < 256 ? plain_passes : wide_passes };
    for (int i = 0; i < m->cores; i++)
        part[i].at = first + i * b->most;
    return b;
}

void curve_bench_free(kn_context *cx, CurveBench *b)
{
    if (!b)
        return;
    kn_rt_destroy(b->rt);
    context_release(cx, b->pages);
    context_release(cx, b->part);
    context_release(cx, b);
}
