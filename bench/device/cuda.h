/* SPDX-License-Identifier: MIT */
/* CUDA's driver, as much of it as is needed here, loaded when the program starts. A failure ends the program. */
#ifndef CUDA_H
#define CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef struct CudaDevice {
    char     name[128], capability[16], driver[64];
    int      multiprocessors, cache_kb;
    uint64_t memory;
} CudaDevice;

/* Makes the primary context of the first device current and gives it. */
void *cuda_open(CudaDevice *about);

uint64_t cuda_alloc(size_t bytes);
void     cuda_free(uint64_t address);
void     cuda_upload(uint64_t to, const void *from, size_t bytes);
void     cuda_download(void *to, uint64_t from, size_t bytes);
void     cuda_copy(uint64_t to, uint64_t from, size_t bytes); /* queued in the default stream */
void     cuda_fill(uint64_t at, unsigned char value, size_t bytes);

/* Waits until all that was queued is done. NULL, or the driver's words for what failed. */
const char *cuda_sync(void);

#endif
