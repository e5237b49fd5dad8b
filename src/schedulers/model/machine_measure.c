/* SPDX-License-Identifier: MIT */
/* Measuring the processor: its clock, which gives the time of a vector operation, and the time of handing out a task. A
 * load and a row are in proportion to an operation. Each figure is the least of many short runs, so that other load
 * hardly shows. Memory is measured in curve.c. */
#include "runtime/runtime.h"
#include "schedulers/model/machine.h"

#include <time.h>

enum {
    TASK_NS      = 20000, /* ns: work of a task whose overhead is timed */
    TASKS_A_CORE = 4,
    TASK_LOOPS   = 500,
};
static const double op_seconds = 0.012;

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

static void keep(double *to, double measured)
{
    if (measured > 0)
        *to = machine_rounded(measured);
}

/* ---- Operations -------------------------------------------------------------------------- */

enum { STEPS = 4096, CYCLES_OF_STEP = 2, OPS_OF_CYCLE = 2 };

/* A chain in which each step waits for the one before: a shift and an exclusive or, each of one cycle. */
static void chain(uint64_t *value)
{
    uint64_t x = *value;
    for (int i = 0; i < STEPS; i++)
        x = (x >> 1) ^ *value;
    *value = x;
    touch(value);
}

/* The time of a vector operation follows from the clock: code of a usual mix runs OPS_OF_CYCLE of them in a cycle. What
 * multiplications and additions alone reach says less: on a core with four such pipes it was half of what the fit to
 * programs finds, and a max filter that is bound by the steps of its window took 2.3 times as long. */
static double op_ns(void)
{
    uint64_t value = 1;
    double   best  = 0;
    for (double begin = seconds_now(), now = begin, before; now - begin < op_seconds;) {
        before = seconds_now();
        chain(&value);
        now             = seconds_now();
        const double ns = (now - before) * 1e9 / (STEPS * CYCLES_OF_STEP * OPS_OF_CYCLE);
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
    for (int i = 0; i < TASK_LOOPS; i++) {
        const double before = seconds_now();
        kn_rt_parallel(rt, wait_piece, 0, TASKS_A_CORE * cores, NULL);
        const double ns = (seconds_now() - before) * 1e9 / TASKS_A_CORE - TASK_NS;
        best            = i == 0 || ns < best ? ns : best;
    }
    return best > 1 ? best : 1;
}

void machine_measure(Machine *m)
{
    kn_rt       *rt = m->cores > 1 ? kn_rt_new(&(kn_rt_hooks){ .threads = m->cores }) : NULL;
    const double op = m->op;
    keep(&m->op, op_ns());
    keep(&m->load, m->load * m->op / op);
    keep(&m->row, m->row * m->op / op);
    keep(&m->split_row, m->split_row * m->op / op);
    if (rt)
        keep(&m->task, task_ns(rt, m->cores));
    kn_rt_destroy(rt);
}
