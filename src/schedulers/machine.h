/* The machine that schedules are made for: what the cost model needs to know of it, and no more.
 *
 * It is detected (cores, caches, vectors from the system; speeds by measuring for a fraction of a second), or given as
 * text, so that schedules for another machine can be made here. The text form is `name=value` separated by commas or
 * newlines, with k, M and G for 2^10, 2^20 and 2^30 bytes, `//` comments, and the names of the fields: "cores=8,
 * vector_bits=256, l1=32k, l2=512k, l3=16M, l3_shared=8". What is not named is as detected for the host, or as in
 * machine_usual(). */
#ifndef KILN_SCHEDULERS_MACHINE_H
#define KILN_SCHEDULERS_MACHINE_H

#include "base/context.h"
#include "base/text.h"

typedef struct Machine {
    int     cores; /* threads that run at a time */
    int     vector_bits;
    int64_t line;                 /* bytes of a cache line */
    int64_t l1, l2, l3;           /* bytes; l3 0: there is none */
    int     l2_shared, l3_shared; /* by how many of the cores */
    int64_t l3_core;              /* bytes of the l3 that one core can count on: a slice of a server shares it */
    int64_t stream;               /* bytes of an output above which its stores stream; 0: as many as all l2 have */
    double  op;                   /* ns of one vector operation in a loop that the processor can overlap, one core */
    double  load; /* ns of loading a vector register from the first level, one core; storing takes twice as long */
    double  l1_rate, l2_rate, l3_rate, memory_rate; /* bytes a ns that one core copies from there, read once and written
                                                       once, not counting what the levels before take: they add up */
    double memory_all;                              /* the same for memory with all cores at work */
    double row;                                     /* ns to begin a row: the loop's own cost */
    double parted; /* the same where formulas speak of the ends of something, so that the loop is parted there */
    double task;   /* ns to hand out a piece of a parallel loop */
} Machine;

/* A usual one of our time: nothing is measured, and the same everywhere. */
Machine machine_usual(void);
/* What the system says of this one; the speeds are the usual ones. */
Machine machine_detect(void);
/* Bytes of the last level of cache that all cores together can count on; an l2 at least. */
double machine_claimed_cache(const Machine *m);
/* Bytes of that which are still there when they are needed again; the same of a core's l2. */
double machine_last_cache(const Machine *m);
double machine_kept_l2(const Machine *m);
/* Bytes of an output above which streaming stores take less time than the usual ones. */
double machine_streams_from(const Machine *m);
/* Measures the speeds, in less than half a second, with the sizes that `m` says. A speed that cannot be measured (no
 * memory, no threads) stays as it is. */
void machine_measure(kn_context *cx, Machine *m);
/* A speed as it is kept: three digits say all that was measured. */
double machine_rounded(double speed);
/* Changes what the text names. false, with a diagnostic that has place, reason and remedy, for a name or a value that
 * there is not. */
bool machine_parse(kn_context *cx, const char *name, const char *text, Machine *m);
/* Only the speeds: what is measured, and not counted. */
void machine_print_speeds(Text *out, const Machine *m);
/* The text that reads back to the same machine. */
void machine_print(Text *out, const Machine *m);

#endif
