/* SPDX-License-Identifier: MIT */
/* Progress: what is being done, on the last line of a terminal, once it has taken a second.
 *
 * A thread writes the line, so a step needs no cooperation from the library. Nothing is written, and no thread made, if
 * stderr is no terminal. */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE = 1 }; /* seconds until the line appears, and between its changes */

/* Rewrites the line: "kiln: measuring max_filter … 3 of 8, 12 s". */
static void show(const Progress *p, int seconds)
{
    char      line[400];
    const int n = p->total > 0
                      ? snprintf(line, sizeof line, "\033[Kkiln: %s %s … %" PRId64 " of %" PRId64 ", %d s\r", p->what,
                                 p->subject, p->done, p->total, seconds)
                      : snprintf(line, sizeof line, "\033[Kkiln: %s %s … %d s\r", p->what, p->subject, seconds);
    fwrite(line, 1, n < (int)sizeof line ? (size_t)n : sizeof line - 1, stderr);
}

/* Wakes every PATIENCE seconds since the work began, until the step is over. */
static void *tick(void *arg)
{
    Progress       *p       = arg;
    int             seconds = (int)(now() - p->begun);
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&p->lock);
    for (; !p->over; seconds += PATIENCE) {
        if (seconds >= PATIENCE) {
            show(p, seconds);
            p->shown = true;
        }
        next.tv_sec += PATIENCE;
        while (!p->over && pthread_cond_timedwait(&p->wake, &p->lock, &next) != ETIMEDOUT)
            ;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* A condition variable on the monotonic clock. */
static bool make_wake(pthread_cond_t *wake)
{
    pthread_condattr_t clock;
    bool               made = !pthread_condattr_init(&clock);
    made = made && !pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) && !pthread_cond_init(wake, &clock);
    pthread_condattr_destroy(&clock);
    return made;
}

static void start(Progress *p)
{
    if (!isatty(STDERR_FILENO) || !make_wake(&p->wake))
        return;
    pthread_mutex_init(&p->lock, NULL);
    p->runs = !pthread_create(&p->thread, NULL, tick, p);
    if (!p->runs) {
        pthread_mutex_destroy(&p->lock);
        pthread_cond_destroy(&p->wake);
    }
}

void progress_begin(Progress *p, const char *what, const char *subject)
{
    *p = (Progress){ .what = what, .subject = subject, .begun = now() };
    start(p);
}

void progress_next(Progress *p, const char *what, const char *subject)
{
    progress_end(p);
    *p = (Progress){ .what = what, .subject = subject, .begun = p->begun, .done = p->done, .total = p->total };
    start(p);
}

void progress_count(Progress *p, int64_t done, int64_t total)
{
    if (!p->runs)
        return;
    pthread_mutex_lock(&p->lock);
    p->done  = done;
    p->total = total;
    pthread_mutex_unlock(&p->lock);
}

void progress_end(Progress *p)
{
    if (!p->runs)
        return;
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    p->runs = false;
    if (p->shown)
        fputs("\033[K", stderr);
}
