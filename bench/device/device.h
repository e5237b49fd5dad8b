/* SPDX-License-Identifier: MIT */
/* The program that measures on a GPU, and what it measures: peers, each a shared library in its folder.
 *
 * A peer is a table of functions. Everything works in one CUDA context, the primary one, on the same arrays: what one
 * peer computed can be compared with what another did. Sizes are listed fastest dimension first.
 */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEVICE_DIMS = 4, DEVICE_ARGS = 16 };

/* The same elements on the host and on the device. */
typedef struct DeviceArray {
    char     kind; /* 'u', 'i' or 'f' */
    int      bytes, dims;
    int      size[DEVICE_DIMS], min[DEVICE_DIMS];
    void    *host;
    uint64_t device;
} DeviceArray;

/* An argument of a pipeline: an array, or a number where that is NULL. */
typedef struct DeviceArg {
    const char  *name;
    DeviceArray *array;
    union {
        int32_t i;
        float   f;
    } value;
} DeviceArg;

/* What a peer can compute. `args` are its arguments in order, "in:b sigma:f n:i out:b": a buffer, a float, an int. */
typedef struct DeviceEntry {
    const char *app;
    int (*call)(void **args);
    const char *args;
} DeviceEntry;

typedef struct DevicePeer {
    const char        *name;
    const DeviceEntry *entries; /* up to one whose app is NULL */
    bool (*open)(void *context);
    /* What `call` needs for that entry; the arguments are its own, in order, and live longer. NULL: error() says why.
     */
    void *(*prepare)(const DeviceEntry *entry, DeviceArg *args, int count);
    bool (*call)(void *prepared); /* queues the work; or does it, on a peer of the host */
    bool (*sync)(void);           /* waits until all of it is done */
    void (*release)(void *prepared);
    void (*forget)(void); /* frees all that is kept between calls, compiled kernels among it */
    const char *(*error)(void);
    /* Calls it a few times, kernel by kernel, and tells the us, registers and spilled bytes of each; NULL: it cannot.
     */
    const char *(*kernels)(void *prepared);
} DevicePeer;

#endif
