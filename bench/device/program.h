/* SPDX-License-Identifier: MIT */
/* The parts of the program that measures on a GPU: the cases, which bench/device/build writes, arrays, comparing. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "device.h"

enum { CASE_INPUTS = 4, CASE_NUMBERS = 12 };

typedef struct CaseArray {
    const char *name, *type; /* "u16", "f32" */
    int         dims, size[DEVICE_DIMS], min[DEVICE_DIMS];
} CaseArray;

/* |a - b| <= abs + rel |b| for all values but a share of `share`, and those within `outlier` instead of abs. */
typedef struct Tolerance {
    double abs, rel, share, outlier;
} Tolerance;

/* One app at one size. A peer's entry is the one of the name APP_LABEL, else APP. */
typedef struct Case {
    const char *app, *label;
    CaseArray   inputs[CASE_INPUTS], out; /* up to one without a name */
    struct {
        const char *name;
        double      value;
    } numbers[CASE_NUMBERS];
    const char *golden; /* a file with the result, of the folder; NULL: times are measured */
    Tolerance   tolerance;
} Case;

extern const Case cases[]; /* up to one without an app */

/* Ends the process with a line on stderr. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

double seconds_now(void);

size_t      array_bytes(const DeviceArray *a);
DeviceArray array_make(const CaseArray *of, bool on_device);
void        array_free(DeviceArray *a);

/* The data of an NPY file with the bytes of `a`; they are at `a->host` when it returns. */
void array_load(DeviceArray *a, const char *path);

/* How `got` differs from `expected`, in words: "equal", "2.4e-07", "DIFFERENT by 3". False if beyond the tolerance. */
bool array_compare(const DeviceArray *expected, const void *got, Tolerance tolerance, char *text, size_t size);

/* cuBLAS and cuDNN as peers; NULL where they cannot be loaded. */
const DevicePeer *blas_peer(void);
const DevicePeer *dnn_peer(void);

#endif
