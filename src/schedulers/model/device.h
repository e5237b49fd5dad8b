/* SPDX-License-Identifier: MIT */
/* The device that kernels are scheduled for: what the model of kernels needs to know of it, and how much of a
 * multiprocessor a kernel occupies.
 *
 * It is a part of the machine's text (machine.h): the names begin with gpu_. For a machine without gpu_sms kernels are
 * made for the GPU that is there, if it is one of machines/, else for device_usual(). */
#ifndef KILN_SCHEDULERS_DEVICE_H
#define KILN_SCHEDULERS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WARP_SIZE = 32 };

/* Counts of the documents of NVIDIA (the table of compute capabilities, the occupancy calculator); rates by its
 * specifications or measured. `sms` 0: there is no device. */
typedef struct Device {
    int     sms;                                  /* multiprocessors: SM_COUNT of Sioutas et al. 2020, Table 1 */
    int     sm_threads, sm_blocks, block_threads; /* resident threads and blocks of one, threads of a block at most */
    int     sm_registers, thread_registers;       /* of 32 bits; of a thread at most */
    int64_t sm_shared, block_shared;              /* bytes of shared memory; of a block at most */
    int64_t block_reserved;                       /* bytes of it that the system takes for each block */
    int64_t l2;                                   /* bytes */
    int     lanes;                                /* operations on f32 that a multiprocessor begins in a cycle */
    double  clock;                                /* cycles a ns */
    double  memory_rate, l2_rate;                 /* bytes a ns of all multiprocessors, read and written together */
    double  latency;                              /* ns of a load from memory */
    double  launch;                               /* ns of a kernel behind another one */
    double  host_rate;                            /* bytes a ns between host and device */
} Device;

/* A device of our time where the machine has none described: an NVIDIA A100. */
Device device_usual(void);

/* The name of the GPU of this machine, as in machines/NAME.machine, from the files below `root` ("": those of the
 * system). false: there is none, or there are several kinds. */
bool device_name_in(const char *root, char *name, size_t size);

/* What limits the blocks that a multiprocessor holds. */
typedef enum OccupancyLimit { LIMIT_THREADS, LIMIT_BLOCKS, LIMIT_REGISTERS, LIMIT_SHARED, LIMIT_COUNT } OccupancyLimit;
extern const char *const occupancy_limit_names[LIMIT_COUNT];

typedef struct Occupancy {
    int            blocks;   /* that a multiprocessor holds; 0: none fits */
    int            warps;    /* of these */
    double         fraction; /* of the warps that it can hold */
    OccupancyLimit limit;
} Occupancy;

/* Of a kernel: threads of a block, registers of a thread, bytes of shared memory of a block. */
Occupancy device_occupancy(const Device *d, int threads, int registers, int64_t shared);

#endif
