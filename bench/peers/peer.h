/* SPDX-License-Identifier: MIT */
/* What a peer of the benchmark is: a program that says what it can do and measures one thing per call.
 *
 *     PEER --list                                             lines `APP VARIANT`
 *     PEER APP VARIANT --threads N --seconds S [NAME=FILE.npy ...] [NAME=NUMBER ...] -o OUT.npy
 *
 * A call runs once to warm up, then again and again for S seconds (at least 3 times; a run of many seconds is made only
 * once), writes the result of the last run and prints one line of JSON:
 * {"ms": [...], "compile_ms": T, "peak_kb": K, "note": "...", "instead": "..."}.
 * peak_kb is what the runs need beyond the caller's own buffers; instead says what is computed in place of the app's
 * own result, and is empty where that is what is computed.
 *
 * peer.c has main; a peer gives the table `peer_entries`. The setup of an entry reads the inputs, allocates the
 * output (its pages touched), and sets `run`. Sizes are listed fastest dimension first; images are planar.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEER_DIMS = 4 };

typedef struct {
    char  kind;  /* 'u', 'i' or 'f' */
    int   bytes; /* per element */
    int   dims;
    int   size[PEER_DIMS]; /* 1 beyond dims */
    void *data;
} PeerArray;

typedef struct PeerCall {
    const char *app, *variant;
    int         threads;
    double      seconds;
    int         argc;
    char      **argv; /* the NAME=VALUE ones and others */
    PeerArray   out;
    void (*run)(struct PeerCall *);
    void       *state; /* of `run` */
    double      compile_ms;
    char        note[200]; /* what the reader of the figures must know */
    const char *instead;   /* what is computed in place of what the app computes; NULL: the app's work */
} PeerCall;

typedef struct {
    const char *app, *variant;
    void (*setup)(PeerCall *);
} PeerEntry;

extern const PeerEntry peer_entries[]; /* up to one whose app is NULL */

/* The input `name`, an array of elements "u8", "u16", "f32" ...; a missing or different one ends the program. */
PeerArray peer_input(const PeerCall *call, const char *name, const char *type, int dims);

/* The number `name`, or `otherwise` where the call does not give it. */
double peer_number(const PeerCall *call, const char *name, double otherwise);

/* The output: zeroed, on pages that are there, beginning on a page of its own. */
void peer_output(PeerCall *call, const char *type, int dims, int s0, int s1, int s2, int s3);

/* Memory that begins on a page of its own. */
void *peer_alloc(size_t bytes);

size_t peer_count(const PeerArray *a); /* elements */
double peer_now(void);                 /* seconds */

/* Ends the program with a line on stderr that says why. */
void peer_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif

#endif
