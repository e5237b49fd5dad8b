/* SPDX-License-Identifier: MIT */
/* The protocol of the peers: arguments, .npy files, the measuring loop, the line of JSON.
 *
 * Takes   a command line (peer.h says which) and the table `peer_entries` of the program it is linked into.
 * Gives   the times of all runs in milliseconds, each measured alone; the result of the last run as a file.
 * Holds   the inputs are read, the output is allocated and touched before the first run, and what the allocator
 *         got from the system in the first run stays with the program: no run after it pays for page faults that
 *         a program which works on one image after the other would not pay.
 */
#include "peer.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { RUNS_LEAST = 3, RUNS_MOST = 100000, RUN_LONG_MS = 5000, PAGE = 4096 };

void peer_fail(const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    fputs("peer: ", stderr);
    vfprintf(stderr, format, rest);
    fputc('\n', stderr);
    va_end(rest);
    exit(1);
}

double peer_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

size_t peer_count(const PeerArray *a)
{
    size_t n = 1;
    for (int d = 0; d < a->dims; d++)
        n *= (size_t)a->size[d];
    return n;
}

/* In huge pages where the system has them, as Kiln's images are. */
void *peer_alloc(size_t bytes)
{
    const size_t whole = (bytes + 2 * PAGE - 1) / PAGE * PAGE;
    void        *p     = aligned_alloc(PAGE, whole);
    if (!p)
        peer_fail("no memory for %zu bytes", bytes);
#ifdef MADV_HUGEPAGE
    madvise(p, whole, MADV_HUGEPAGE);
#endif
    return p;
}

/* ---- .npy files: version 1, little endian, slowest dimension first ---- */

/* Reads the header of `file`; on return the file stands at the data. */
static PeerArray header_read(FILE *file, const char *path)
{
    PeerArray     a = { 0, 0, 0, { 1, 1, 1, 1 }, NULL };
    unsigned char head[10];
    if (fread(head, 1, sizeof head, file) != sizeof head || memcmp(head, "\x93NUMPY\x01", 7))
        peer_fail("%s is not an .npy file of version 1", path);
    const size_t length = (size_t)head[8] | (size_t)head[9] << 8;
    char        *text   = calloc(1, length + 1);
    if (!text || fread(text, 1, length, file) != length)
        peer_fail("%s ends within its header", path);
    const char *descr = strstr(text, "'descr': '"), *shape = strstr(text, "'shape': (");
    if (!descr || !shape || strstr(text, "'fortran_order': True"))
        peer_fail("%s: its header is not understood", path);
    a.kind  = descr[11];
    a.bytes = descr[12] - '0';
    int slow_first[PEER_DIMS];
    for (const char *p = shape + 10; *p && *p != ')';) {
        char      *end;
        const long v = strtol(p, &end, 10);
        if (end == p) {
            p++;
            continue;
        }
        if (a.dims == PEER_DIMS)
            peer_fail("%s has more than %d dimensions", path, PEER_DIMS);
        slow_first[a.dims++] = (int)v;
        p                    = end;
    }
    for (int d = 0; d < a.dims; d++)
        a.size[d] = slow_first[a.dims - 1 - d];
    free(text);
    return a;
}

static PeerArray npy_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        peer_fail("%s: %s", path, strerror(errno));
    PeerArray    a = header_read(file, path);
    const size_t n = peer_count(&a);
    a.data         = peer_alloc(n * (size_t)a.bytes);
    if (fread(a.data, (size_t)a.bytes, n, file) != n)
        peer_fail("%s is shorter than its header says", path);
    fclose(file);
    return a;
}

static void npy_write(const char *path, const PeerArray *a)
{
    char text[192], shape[80] = "";
    for (int d = a->dims - 1; d >= 0; d--)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%d%s", a->size[d],
                 d              ? ", "
                 : a->dims == 1 ? ","
                                : "");
    size_t length = (size_t)snprintf(text, sizeof text, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (%s), }",
                                     a->bytes == 1 ? '|' : '<', a->kind, a->bytes, shape);
    while ((10 + length + 1) % 64)
        text[length++] = ' ';
    text[length++] = '\n';
    FILE *file     = fopen(path, "wb");
    if (!file)
        peer_fail("%s: %s", path, strerror(errno));
    const unsigned char head[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, length & 255, length >> 8 };
    const size_t        n        = peer_count(a);
    if (fwrite(head, 1, sizeof head, file) != sizeof head || fwrite(text, 1, length, file) != length ||
        fwrite(a->data, (size_t)a->bytes, n, file) != n || fclose(file))
        peer_fail("%s: %s", path, strerror(errno));
}

/* ---- what a setup asks for ---- */

/* The text after NAME= among the arguments, or NULL. */
static const char *argument(const PeerCall *call, const char *name)
{
    const size_t n = strlen(name);
    for (int k = 0; k < call->argc; k++)
        if (!strncmp(call->argv[k], name, n) && call->argv[k][n] == '=')
            return call->argv[k] + n + 1;
    return NULL;
}

PeerArray peer_input(const PeerCall *call, const char *name, const char *type, int dims)
{
    const char *path = argument(call, name);
    if (!path)
        peer_fail("%s needs the input %s=FILE.npy", call->app, name);
    PeerArray a = npy_read(path);
    if (a.kind != type[0] || a.bytes * 8 != atoi(type + 1) || a.dims != dims)
        peer_fail("%s: %s of %s is %s in %d dimensions, not %c%d in %d", path, name, call->app, type, dims, a.kind,
                  a.bytes * 8, a.dims);
    return a;
}

double peer_number(const PeerCall *call, const char *name, double otherwise)
{
    const char *text = argument(call, name);
    return text ? strtod(text, NULL) : otherwise;
}

void peer_output(PeerCall *call, const char *type, int dims, int s0, int s1, int s2, int s3)
{
    call->out = (PeerArray){ type[0], atoi(type + 1) / 8, dims, { s0, s1, s2, s3 }, NULL };
    for (int d = 0; d < dims; d++)
        if (call->out.size[d] < 1)
            peer_fail("%s: the input is too small", call->app);
    const size_t bytes = peer_count(&call->out) * (size_t)call->out.bytes;
    call->out.data     = peer_alloc(bytes);
    memset(call->out.data, 0, bytes);
}

/* ---- measuring ---- */

/* The value in KiB of a line of /proc/self/status such as "VmHWM:", 0 where there is none. */
static long status_kb(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    long  kb   = 0;
    char  line[256];
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)))
            kb = strtol(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return kb;
}

/* Gives free memory back and forgets the peak so far: from here on VmHWM is that of the runs. */
static long memory_now_kb(void)
{
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
    return status_kb("VmRSS:");
}

static void measure(PeerCall *call)
{
    double *ms = malloc(RUNS_MOST * sizeof *ms);
    if (!ms)
        peer_fail("no memory for the times");
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    memset(ms, 0, RUNS_MOST * sizeof *ms);
    const long   before = memory_now_kb();
    const double first  = peer_now();
    call->run(call);
    const double warm = 1e3 * (peer_now() - first), seconds = warm > RUN_LONG_MS ? 0 : call->seconds;
    const int    runs_least = warm > RUN_LONG_MS ? 1 : RUNS_LEAST;
    ms[0]                   = warm;
    int n                   = warm > RUN_LONG_MS; /* what a run that long gains by a warm-up is nothing: it counts */
    for (const double end = peer_now() + seconds; n < RUNS_MOST && (n < runs_least || peer_now() < end); n++) {
        const double start = peer_now();
        call->run(call);
        ms[n] = 1e3 * (peer_now() - start);
    }
    const long peak = status_kb("VmHWM:") - before;
    printf("{\"ms\": [");
    for (int k = 0; k < n; k++)
        printf("%s%.4f", k ? ", " : "", ms[k]);
    printf("], \"compile_ms\": %.1f, \"peak_kb\": %ld, \"note\": \"%s\", \"instead\": \"%s\"}\n", call->compile_ms,
           peak > 0 ? peak : 0, call->note, call->instead ? call->instead : "");
    free(ms);
}

static int list(void)
{
    for (const PeerEntry *e = peer_entries; e->app; e++)
        printf("%s %s\n", e->app, e->variant);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--list"))
        return list();
    if (argc < 3)
        peer_fail(
            "usage: %s --list | APP VARIANT --threads N --seconds S [NAME=FILE.npy ...] [NAME=NUMBER ...] -o OUT.npy",
            argv[0]);
    PeerCall call = {
        .app = argv[1], .variant = argv[2], .threads = 1, .seconds = 1, .argc = argc - 3, .argv = argv + 3
    };
    const char *result = NULL;
    for (int k = 3; k < argc - 1; k++) {
        if (!strcmp(argv[k], "--threads"))
            call.threads = atoi(argv[++k]);
        else if (!strcmp(argv[k], "--seconds"))
            call.seconds = atof(argv[++k]);
        else if (!strcmp(argv[k], "-o"))
            result = argv[++k];
    }
    const PeerEntry *e = peer_entries;
    while (e->app && (strcmp(e->app, call.app) || strcmp(e->variant, call.variant)))
        e++;
    if (!e->app)
        peer_fail("there is no %s %s here; --list says what there is", call.app, call.variant);
    if (call.threads < 1)
        peer_fail("--threads takes a number from 1 on");
    e->setup(&call);
    measure(&call);
    if (result)
        npy_write(result, &call.out);
    return 0;
}
