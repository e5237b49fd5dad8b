/* SPDX-License-Identifier: MIT */
/* Starting, asking and ending workers.
 *
 * Takes   trials; each becomes a process (worker.c) that lives until it is closed.
 * Gives   its replies, or the fault that ended it. Compiling may take compile_limit seconds; a run may take run_limit
 *         or SLOWER times the shortest run of all so far, whichever is longer. What takes longer is killed.
 * Holds   no process outlives workers_end, none is left unwaited for, and no file is made. Nothing here allocates from
 *         an arena while a process is started, so that a bail-out loses none. */
#include "api/tune/workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/tune/worker.h"

static const double SLOWER = 30;

double workers_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Processes --------------------------------------------------------------------------- */

/* In the new process: the sockets of other workers are not its own, so that they see when their parent is gone. */
__attribute__((noreturn)) static void be_worker(Workers *w, const char *text, int number, int fd)
{
    for (int i = 0; i < MOST_WORKERS; i++)
        if (w->at[i].pid)
            close(w->at[i].fd);
    worker_main(w, text, number, fd);
}

/* Starts a worker; -1 if the system has none, with the reason in errno. */
static int start(Workers *w, const char *text, int number)
{
    int slot = 0, ends[2];
    while (slot < MOST_WORKERS && w->at[slot].pid)
        slot++;
    if (slot == MOST_WORKERS || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_worker(w, text, number, ends[1]);
    }
    close(ends[1]);
    w->at[slot] = (Worker){ .pid = pid, .fd = ends[0], .begun = workers_now() };
    if (pid > 0)
        return slot;
    close(w->at[slot].fd);
    w->at[slot].pid = 0;
    return -1;
}

/* Ends a worker and waits for it. */
static int finish(Workers *w, int slot)
{
    Worker *at     = &w->at[slot];
    int     status = 0;
    if (!at->pid)
        return 0;
    kill(at->pid, SIGKILL);
    while (waitpid(at->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(at->fd);
    at->pid = 0;
    return status;
}

/* ---- Replies ----------------------------------------------------------------------------- */

/* Waits for a reply until that time: 1 if it came, 0 if not, -1 if the worker has ended. */
static int wait_reply(const Worker *at, double until, Reply *r)
{
    for (;;) {
        const double  left = until - workers_now();
        struct pollfd end  = { .fd = at->fd, .events = POLLIN };
        const int     ms   = left <= 0 ? 0 : left > 1e6 ? 1000000000 : (int)(1e3 * left) + 1;
        const int     any  = poll(&end, 1, ms);
        if (any < 0 && errno == EINTR)
            continue;
        if (any <= 0)
            return any;
        const ssize_t n = read(at->fd, r, sizeof *r);
        if (n < 0 && errno == EINTR)
            continue;
        return n == (ssize_t)sizeof *r ? 1 : -1;
    }
}

/* The worker has ended by itself: it is waited for before it is killed, so that the signal is its own. */
static void explain_end(Workers *w, int slot, TuneTrial *trial)
{
    Worker *at     = &w->at[slot];
    int     status = 0;
    while (waitpid(at->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(at->fd);
    at->pid = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        trial->fault = TUNE_NO_MEMORY;
        snprintf(at->reason, sizeof at->reason, "the system has killed it, as it does when memory is short");
    } else {
        trial->fault = TUNE_CRASHED;
        snprintf(at->reason, sizeof at->reason,
                 WIFSIGNALED(status) ? "it ended by signal %d" : "it ended with status %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

/* The next reply of a worker; false, with the fault and its reason, if there is none. */
static bool expect(Workers *w, int slot, TuneTrial *trial, double until, const char *what, Reply *r)
{
    Worker   *at  = &w->at[slot];
    const int any = wait_reply(at, until, r);
    if (any > 0 && r->kind != REPLY_FAULT)
        return true;
    trial->reason = at->reason;
    trial->slot   = -1;
    if (any < 0) {
        explain_end(w, slot, trial);
        return false;
    }
    if (any > 0) {
        trial->fault = r->fault;
        snprintf(at->reason, sizeof at->reason, "%s", r->reason);
    } else {
        trial->fault = TUNE_HUNG;
        snprintf(at->reason, sizeof at->reason, "%s did not end within %.3g s", what, until - at->begun);
    }
    finish(w, slot);
    return false;
}

static double run_limit(const Workers *w)
{
    return w->run_limit > SLOWER * w->shortest ? w->run_limit : SLOWER * w->shortest;
}

/* ---- A host of searches ------------------------------------------------------------------ */

static void await(Workers *w, TuneTrial *trial)
{
    const int slot = trial->slot;
    Worker   *at   = &w->at[slot];
    Reply     r;
    if (!expect(w, slot, trial, at->begun + w->compile_limit, "compiling", &r))
        return;
    at->begun = workers_now();
    if (!expect(w, slot, trial, at->begun + run_limit(w), "a run", &r))
        return;
    if (w->shortest <= 0 || r.seconds < w->shortest)
        w->shortest = r.seconds;
}

void workers_open(void *user, TuneTrial *const *trials, int count)
{
    Workers *w = user;
    for (int i = 0; i < count; i++) {
        trials[i]->fault = TUNE_FINE;
        trials[i]->slot  = start(w, trials[i]->text, w->number++);
        if (trials[i]->slot < 0) {
            trials[i]->fault  = TUNE_NO_MEMORY;
            trials[i]->reason = "the system starts no process for it";
        }
    }
    for (int i = 0; i < count; i++)
        if (trials[i]->slot >= 0)
            await(w, trials[i]);
}

double workers_sample(void *user, TuneTrial *trial)
{
    Workers *w  = user;
    Worker  *at = &w->at[trial->slot];
    Reply    r;
    at->begun = workers_now();
    if (send(at->fd, "r", 1, MSG_NOSIGNAL) != 1) {
        trial->reason = at->reason;
        explain_end(w, trial->slot, trial);
        trial->slot = -1;
        return -1;
    }
    if (!expect(w, trial->slot, trial, at->begun + 4 * run_limit(w), "a turn", &r))
        return -1;
    if (r.seconds < w->shortest)
        w->shortest = r.seconds;
    return 1e9 * r.seconds;
}

void workers_close(void *user, TuneTrial *trial)
{
    if (trial->slot >= 0)
        finish(user, trial->slot);
    trial->slot = -1;
}

/* ---- The reference ----------------------------------------------------------------------- */

/* Dense memory that workers share with this process. */
static bool share(const kn_arg *arg, kn_buffer *out)
{
    int64_t stride = 1;
    *out           = *arg->buffer;
    for (int d = 0; d < out->rank; d++) {
        out->dim[d].stride = stride;
        stride *= out->dim[d].extent;
    }
    out->data = mmap(NULL, worker_bytes(out), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (out->data == MAP_FAILED)
        out->data = NULL;
    return out->data;
}

bool workers_find_device(Workers *w)
{
    TuneTrial trial = { .slot = -1 };
    Reply     r     = { .kind = REPLY_RAN };
    w->finding      = true;
    trial.slot      = start(w, NULL, w->number++);
    w->finding      = false;
    const int slot  = trial.slot;
    if (slot >= 0 && expect(w, slot, &trial, w->at[slot].begun + w->compile_limit, "opening the device", &r)) {
        snprintf(w->device_name, sizeof w->device_name, "%s", r.reason);
        finish(w, slot);
        return true;
    }
    diag_status(w->p->cx, KN_ERROR_DEVICE, "%s", slot < 0 ? "the system starts no process" : trial.reason);
    return false;
}

bool workers_begin(Workers *w, Arena *arena)
{
    const double reference_limit = 600;
    TuneTrial    trial           = { .slot = -1 };
    w->reference                 = ARENA_ARRAY(arena, kn_buffer, (size_t)w->arg_count + 1);
    for (int i = 0; i < w->arg_count; i++)
        if (w->args[i].buffer && worker_is_output(w->p, w->args[i].name) && !share(&w->args[i], &w->reference[i])) {
            diag_status(w->p->cx, KN_ERROR_LIMIT, "out of memory");
            return false;
        }
    const double limit = w->run_limit;
    w->run_limit       = reference_limit;
    workers_open(w, &(TuneTrial *){ &trial }, 1);
    w->run_limit = limit;
    if (trial.slot >= 0) {
        workers_close(w, &trial);
        return true;
    }
    diag_status(w->p->cx, KN_ERROR_PROGRAM, "the program cannot be run under the default schedule: %s", trial.reason);
    return false;
}

void workers_end(Workers *w)
{
    for (int i = 0; i < MOST_WORKERS; i++)
        finish(w, i);
    for (int i = 0; w->reference && i < w->arg_count; i++)
        if (w->reference[i].data)
            munmap(w->reference[i].data, worker_bytes(&w->reference[i]));
    w->reference = NULL;
}
