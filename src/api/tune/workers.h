/* SPDX-License-Identifier: MIT */
/* Workers: processes that compile a schedule, run it, and time it on demand.
 *
 * A worker is a fork of this process: it has the pipeline and the inputs without copying them, and what happens to it
 * happens to it alone. A crash, a hang, an allocation without end of a candidate is the end of its worker, and a fault
 * with its reason. */
#ifndef KILN_API_TUNE_WORKERS_H
#define KILN_API_TUNE_WORKERS_H

#include <sys/types.h>

#include "ir/target.h"
#include "pipeline/pipeline.h"
#include "schedulers/tune/tune.h"

enum { MOST_WORKERS = 34, MOST_REASON = 400 };

typedef struct Worker {
    pid_t  pid;   /* 0: none */
    int    fd;    /* of its socket */
    double begun; /* seconds: when it was last asked for something */
    char   reason[MOST_REASON];
} Worker;

typedef struct Workers {
    kn_pipeline  *p;
    kn_options    options;
    const kn_arg *args;
    int           arg_count;
    DeviceKind    device; /* runs the kernels of candidates; NONE: they run on the CPU */
    char          device_name[MOST_REASON];
    bool          finding;                  /* a worker that is started tells what the device is */
    double        compile_limit, run_limit; /* seconds; the second is a least value: see workers.c */
    double        shortest;                 /* seconds of a run, of all so far; 0: none yet */
    kn_buffer    *reference;                /* per argument: what an output should be, in shared memory */
    Worker        at[MOST_WORKERS];
    /* For tests: called in a worker, with the number of its trial, before it compiles. */
    void (*inject)(void *user, int number);
    void *inject_user;
    int   number;
} Workers;

/* Opens the device in a process of its own, since none that has opened it can be forked, and tells its name. false
 * after a diagnostic. */
bool workers_find_device(Workers *w);
/* The least seconds of a turn. */
double workers_turn(const Workers *w);
/* Room for results, in shared memory, and the reference: the result under the default schedule. false after a
 * diagnostic. `w` is zeroed but for the fields up to arg_count and the last. */
bool workers_begin(Workers *w, Arena *arena);
/* Ends all processes and frees the shared memory; may come after any failure. */
void workers_end(Workers *w);

/* As in TuneHost; `user` is a Workers. */
void   workers_open(void *user, TuneTrial *const *trials, int count);
double workers_sample(void *user, TuneTrial *trial);
void   workers_close(void *user, TuneTrial *trial);

/* Seconds since some time in the past. */
double workers_now(void);

#endif
