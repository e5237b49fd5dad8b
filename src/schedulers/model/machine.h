/* SPDX-License-Identifier: MIT */
/* The machine that schedules are made for: what the cost model needs to know of it, and no more.
 *
 * It is detected (cores, caches and vectors from the system; speeds by measuring for a fraction of a second), or given
 * as text, so that schedules can be made for another machine. The text is `name=value`, separated by commas or
 * newlines, with k, M and G for 2^10, 2^20 and 2^30 bytes and `//` comments: "cores=8, vector_bits=256, l1=32k,
 * l2=512k, l3=16M, l3_shared=8". The names are those of the table in machine.c. What is not named is as detected for
 * the host, or as in machine_usual(). */
#ifndef KILN_SCHEDULERS_MACHINE_H
#define KILN_SCHEDULERS_MACHINE_H

#include "base/context.h"
#include "base/text.h"
#include "schedulers/model/device.h"

/* Bytes of L3 that a CPU of a virtual machine counts on at most: see machine_claimed_cache. */
enum { MACHINE_GUEST_L3 = 4 << 20 };

typedef struct Machine {
    int     cores; /* threads that run at a time */
    int     vector_bits;
    int     datapath;   /* bits of a vector that are computed at a time; a wider one takes several passes; 0: all */
    int64_t line;       /* bytes of a cache line */
    int64_t l1, l2, l3; /* bytes; l3 0: there is none */
    int     l2_shared, l3_shared; /* by how many of the cores */
    int64_t l3_core;              /* bytes of the l3 that a core counts on; other programs and guests use the rest */
    int64_t
        stream; /* bytes of an output from which on it is written by streaming stores; 0: the size of all l2 together */
    double op;  /* ns of one vector operation, throughput bound, one core */
    double load; /* ns of loading a vector register from L1, one core; a store takes twice as long */
    double l1_rate, l2_rate, l3_rate,
        memory_rate; /* bytes per ns that one core copies from there, read once and written once, beyond the time of the
                        nearer levels: the times add up */
    double memory_all; /* the same for memory with all cores at work */
    double ahead;      /* lines: the latency of the start of a run of lines, in transfers of a line from memory */
    double wait;       /* ns of a line that the hardware prefetcher misses, with MOST_OUTSTANDING in flight */
    double row;        /* ns to start a row: loop overhead */
    double split_row;  /* the same for a row that is split where a condition on coordinates changes (`parted` in the
                          text) */
    double task;       /* ns to hand out an iteration of a parallel loop */
    Device device;     /* without multiprocessors: none is described */
} Machine;

/* A usual machine of our time: nothing is measured, and the same everywhere. */
Machine machine_usual(void);
/* What the system says of this one; the speeds are the usual ones. The second reads the files of Linux below another
 * folder than the root, "". */
Machine machine_detect(void);
Machine machine_detect_in(const char *root);
/* Bits of a vector that are computed at a time. */
int machine_datapath(const Machine *m);
/* Bytes of the last-level cache that all cores together can claim; at least an l2. */
double machine_claimed_cache(const Machine *m);
/* Of that, the bytes that survive until they are reused; the same of a core's l2. */
double machine_last_cache(const Machine *m);
double machine_kept_l2(const Machine *m);
/* Bytes a ns of the lines with which a run begins, before the prefetcher runs ahead: as many as pass in a latency. */
double machine_start_rate(const Machine *m);
/* Bytes of an output from which on streaming stores are faster. */
double machine_streams_from(const Machine *m);
/* Measures the speeds of operations and tasks, in a tenth of a second. A speed that cannot be measured (no threads)
 * stays as it is. */
void machine_measure(Machine *m);
/* A speed as it is stored: to three digits, the accuracy of a measurement. */
double machine_rounded(double speed);
/* Sets the fields that the text names. false, with a diagnostic, for an unknown name or a bad value. */
bool machine_parse(kn_context *cx, const char *name, const char *text, Machine *m);
/* Only what is measured: the speeds, and the caches as far as a core has them. */
void machine_print_measured(Text *out, const Machine *m);
/* Text that reads back to the same machine. */
void machine_print(Text *out, const Machine *m);

#endif
