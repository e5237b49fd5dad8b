/* SPDX-License-Identifier: MIT */
/* The budget of isl: operations, and time.
 *
 * Takes   the steps of the work on a region (model, a shape and its proof, loops).
 * Gives   each a number of isl's operations. One takes about a microsecond of processor time; where they take much
 *         longer, because numbers or systems of constraints are large, a thread that watches stops isl.
 * Holds   past its budget every call of isl gives NULL, and the step comes to its end. */
#include "poly/model/budget.h"
#include "poly/model/model.h"
#include "base/context.h"

#include <isl/options.h>
#include <time.h>

/* isl's operations in one step of the work. Dependences of PolyBench's kernels take up to 200000, the loops of fdtd-2d,
 * with 4 statements, 400000, the steps of a hundred stages up to 2000000. */
enum { BUDGET = 1000000, BUDGET_EACH = 60000 /* for each statement */, NS_EACH = 2000, LOOK_MS = 50 };

isl_ctx *scop_isl(uint64_t quota)
{
    isl_ctx *isl = isl_ctx_alloc();
    isl_options_set_on_error(isl, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(isl, quota);
    return isl;
}

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec t = { 0 };
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- The thread that watches ---- */

static void *watch_main(void *arg)
{
    Watch *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->ended) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&w->wake, &w->lock, &until);
        if (!w->ended && !w->late && w->deadline && nanoseconds(w->clock) > w->deadline) {
            w->late = true;
            isl_ctx_abort(w->isl);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

void watch_begin(Watch *w, isl_ctx *isl)
{
    *w = (Watch){ .isl = isl };
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    w->running = !pthread_getcpuclockid(pthread_self(), &w->clock) && !pthread_create(&w->thread, NULL, watch_main, w);
}

void watch_end(Watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->ended = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    if (w->running)
        pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
}

/* The next step: it is not late yet. */
static void watch_step(Watch *w, int64_t budget)
{
    pthread_mutex_lock(&w->lock);
    if (w->late)
        isl_ctx_resume(w->isl);
    w->late     = false;
    w->deadline = nanoseconds(w->clock) + budget;
    pthread_mutex_unlock(&w->lock);
}

static bool watch_late(Watch *w)
{
    pthread_mutex_lock(&w->lock);
    const bool late = w->late;
    pthread_mutex_unlock(&w->lock);
    return late;
}

/* ---- Steps ---- */

void scop_budget(const Scop *s, unsigned shares)
{
    unsigned long most = (BUDGET + BUDGET_EACH * (unsigned long)s->statements.count) / 100 * shares;
    isl_ctx_reset_operations(s->isl);
    isl_ctx_set_max_operations(s->isl, s->quota && s->quota < most ? s->quota : most);
    if (s->watch)
        watch_step(s->watch, (int64_t)most * NS_EACH);
}

bool scop_spent(const Scop *s)
{
    return isl_ctx_last_error(s->isl) == isl_error_quota || (s->watch && watch_late(s->watch));
}

void scop_isl_unbounded(const Scop *s)
{
    const enum isl_error error = isl_ctx_last_error(s->isl);
    if (error == isl_error_invalid || error == isl_error_unsupported)
        isl_ctx_reset_error(s->isl);
}

bool scop_isl_error(const Scop *s)
{
    return isl_ctx_last_error(s->isl) != isl_error_none;
}

void scop_isl_failed(const Scop *s)
{
    kn_context *cx = s->arena->cx;
    if (scop_spent(s))
        diag_error_as(cx, ERROR_LIMIT, (Loc){ 0 }, "divide the region, or give --shape none",
                      "line %d: the analysis takes more operations than its quota", s->region->body->place.line);
    else if (isl_ctx_aborted(s->isl))
        return; /* the bail-out that was put off says why */
    else if (isl_ctx_last_error(s->isl) == isl_error_alloc)
        diag_error_as(cx, ERROR_LIMIT, (Loc){ 0 }, NULL, "out of memory");
    else
        diag_error_as(cx, ERROR_INTERNAL, (Loc){ 0 }, NULL, "isl failed: %s",
                      isl_ctx_last_error_msg(s->isl) ? isl_ctx_last_error_msg(s->isl) : "no message");
}
