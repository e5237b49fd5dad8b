/* SPDX-License-Identifier: MIT */
/* Measuring the machine: copy rates of each memory level, the time of a vector operation, and of handing out a task.
 *
 * Each figure is the best of many short runs, so that other load hardly shows. Rows of 1 KiB are copied: long enough
 * for whole vectors, and short enough that the C library neither bypasses the caches nor uses string instructions. All
 * of it takes about a fifth of a second. */
#include "runtime/runtime.h"
#include "schedulers/model/machine.h"

#include <time.h>

enum {
    ROW_BYTES    = 1024,
    MOST_BYTES   = 64 << 20, /* of each of the two buffers */
    TASK_NS      = 20000,    /* ns: work of a task whose overhead is timed */
    TASKS_A_CORE = 4,
};
static const double level_seconds = 0.012, memory_seconds = 0.06;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Makes the compiler assume that memory is read and written here. */
static void touch(void *at)
{
    __asm__ volatile("" : : "r"(at) : "memory");
}

/* ---- Copies ------------------------------------------------------------------------------ */

typedef struct Copy {
    char   *from, *to;
    int64_t bytes; /* of each buffer, a multiple of ROW_BYTES */
    int64_t piece; /* bytes of an iteration, where cores share the work */
} Copy;

static void copy_rows(const Copy *c, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i + ROW_BYTES <= end; i += ROW_BYTES)
        memcpy(c->to + i, c->from + i, ROW_BYTES);
    touch(c->to);
}

static int copy_piece(kn_rt *rt, int32_t i, void *closure)
{
    (void)rt;
    const Copy *c = closure;
    copy_rows(c, i * c->piece, (i + 1) * c->piece);
    return 0;
}

/* Bytes per ns, best of the runs that fit into so many seconds. A run copies at least 64 KiB. 0: the clock did not
 * move. */
static double copy_rate(kn_rt *rt, Copy c, double seconds)
{
    const int64_t times = c.bytes < 65536 ? 65536 / c.bytes : 1;
    double        best  = 0;
    for (double begin = seconds_now(), now = begin, before; now - begin < seconds;) {
        before = seconds_now();
        for (int64_t i = 0; i < times; i++) {
            if (rt)
                kn_rt_parallel(rt, copy_piece, 0, (int32_t)(c.bytes / c.piece), &c);
            else
                copy_rows(&c, 0, c.bytes);
        }
        now = seconds_now();
        if (now > before && (double)(c.bytes * times) * 1e-9 / (now - before) > best)
            best = (double)(c.bytes * times) * 1e-9 / (now - before);
    }
    return best;
}

static int64_t whole_rows(int64_t bytes)
{
    bytes = bytes > MOST_BYTES ? MOST_BYTES : bytes;
    return bytes < ROW_BYTES ? ROW_BYTES : bytes / ROW_BYTES * ROW_BYTES;
}

/* The rate of a level: both buffers together take half of it; for l3, enough that the nearer levels hold little of it.
 */
static double level_rate(const Copy *c, int64_t level)
{
    Copy part  = *c;
    part.bytes = whole_rows(level / 4);
    part.bytes = part.bytes > c->bytes ? c->bytes : part.bytes;
    return copy_rate(NULL, part, level_seconds);
}

static void keep(double *to, double measured)
{
    if (measured > 0)
        *to = machine_rounded(measured);
}

/* The rate of a level alone: the time from there less the time from the level before. */
static double rate_beyond(double before, double from_there)
{
    const double ns = from_there > 0 && before > 0 ? 1 / from_there - 1 / before : 0;
    return ns > 0 ? 1 / ns : from_there;
}

static void measure_copies(kn_rt *rt, Machine *m, Copy c)
{
    memset(c.from, 1, (size_t)c.bytes);
    memset(c.to, 2, (size_t)c.bytes);
    const double l1 = level_rate(&c, m->l1), l2 = level_rate(&c, m->l2),
                 l3     = m->l3 ? level_rate(&c, m->l3 / m->l3_shared > 2 * m->l2 ? m->l3 / m->l3_shared : m->l3) : l2;
    const double memory = copy_rate(NULL, c, memory_seconds), all = rt ? copy_rate(rt, c, memory_seconds) : memory;
    keep(&m->l1_rate, l1);
    keep(&m->l2_rate, rate_beyond(l1, l2));
    keep(&m->l3_rate, m->l3 ? rate_beyond(l2, l3) : memory);
    keep(&m->memory_rate, rate_beyond(l3, memory));
    keep(&m->memory_all, rate_beyond(l3 * (rt ? m->cores : 1), all));
}

/* ---- Operations -------------------------------------------------------------------------- */

typedef float Four __attribute__((vector_size(16)));

enum { CHAINS = 12, STEPS = 1000 };

/* Multiplications and additions in independent chains. Narrow vectors have the throughput of wide ones. */
static void work(Four *chains)
{
    const Four a = { 0.999f, 0.998f, 0.997f, 0.996f }, b = { 0.001f, 0.002f, 0.003f, 0.004f };
    Four       c[CHAINS];
    memcpy(c, chains, sizeof c);
    for (int i = 0; i < STEPS; i++)
#pragma GCC unroll 12
        for (int k = 0; k < CHAINS; k++)
            c[k] = c[k] * a + b;
    memcpy(chains, c, sizeof c);
    touch(chains);
}

static double op_ns(void)
{
    Four   chains[CHAINS] = { { 0 } };
    double best           = 0;
    for (double begin = seconds_now(), now = begin, before; now - begin < level_seconds;) {
        before = seconds_now();
        work(chains);
        now             = seconds_now();
        const double ns = (now - before) * 1e9 / (2.0 * CHAINS * STEPS);
        if (ns > 0 && (best == 0 || ns < best))
            best = ns;
    }
    return best;
}

/* ---- Tasks ------------------------------------------------------------------------------- */

static int wait_piece(kn_rt *rt, int32_t i, void *closure)
{
    (void)rt, (void)i, (void)closure;
    const double end = seconds_now() + TASK_NS * 1e-9;
    while (seconds_now() < end)
        continue;
    return 0;
}

/* The overhead of a task: loops of a few tasks per core, each as long as the clock says. */
static double task_ns(kn_rt *rt, int cores)
{
    double best = 0;
    for (int i = 0; i < 100; i++) {
        const double before = seconds_now();
        kn_rt_parallel(rt, wait_piece, 0, TASKS_A_CORE * cores, NULL);
        const double ns = (seconds_now() - before) * 1e9 / TASKS_A_CORE - TASK_NS;
        best            = i == 0 || ns < best ? ns : best;
    }
    return best > 1 ? best : 1;
}

void machine_measure(kn_context *cx, Machine *m)
{
    const int64_t each  = whole_rows(m->l3 ? m->l3 : 4 * m->l2);
    const int64_t bytes = each < MOST_BYTES / 4 ? MOST_BYTES / 4 : each;
    char         *pages = context_allocate_raw(cx, (size_t)bytes * 2);
    kn_rt        *rt    = m->cores > 1 ? kn_rt_new(&(kn_rt_hooks){ .threads = m->cores }) : NULL;
    const double  op    = m->op;
    keep(&m->op, op_ns());
    keep(&m->load, m->load * m->op / op);
    keep(&m->row, m->row * m->op / op);
    keep(&m->split_row, m->split_row * m->op / op);
    if (pages)
        measure_copies(rt, m, (Copy){ pages, pages + bytes, bytes, 64 * ROW_BYTES });
    if (rt)
        keep(&m->task, task_ns(rt, m->cores));
    kn_rt_destroy(rt);
    context_release(cx, pages);
}
