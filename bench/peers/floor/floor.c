/* SPDX-License-Identifier: MIT */
/* The floor under every time: how long the bytes that must move take to move, and the arithmetic at peak.
 *
 *     peer-floor copy best read=BYTES written=BYTES        each byte read once, each written once, in one stream
 *     peer-floor arithmetic f32|i32|i16|u8 ops=COUNT       f32, i32, i16: a multiply and an add are two; u8: adds
 *
 * copy tries plain and non-temporal stores, and memcpy where it can, with 1 .. N threads, and measures the best of
 * them.
 */
#include "../peer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { THREADS_MOST = 64, LINE = 64, BLOCK = 16 << 10 };

/* ---- a team: the same function on every thread, with a part of the work ---- */

typedef void Part(void *work, int part, int parts);

typedef struct {
    Part      *part;
    void      *work;
    int        parts;
    atomic_int round, done;
} Team;

typedef struct {
    Team *team;
    int   number;
} Member;

static void pause_briefly(void)
{
#ifdef __x86_64__
    _mm_pause();
#endif
}

static void *member_main(void *p)
{
    const Member me = *(Member *)p;
    for (int round = 1;; round++) {
        while (atomic_load_explicit(&me.team->round, memory_order_acquire) < round)
            pause_briefly();
        if (me.number < me.team->parts)
            me.team->part(me.team->work, me.number, me.team->parts);
        atomic_fetch_add_explicit(&me.team->done, 1, memory_order_release);
    }
    return NULL;
}

static Team team;
static int  helpers;

static void team_start(int threads)
{
    static Member members[THREADS_MOST];
    for (helpers = 0; helpers < threads - 1 && helpers < THREADS_MOST; helpers++) {
        pthread_t t;
        members[helpers] = (Member){ &team, helpers + 1 };
        if (pthread_create(&t, NULL, member_main, &members[helpers]))
            peer_fail("cannot start a thread");
    }
}

static void team_run(Part *part, void *work, int parts)
{
    team.part  = part;
    team.work  = work;
    team.parts = parts;
    atomic_store(&team.done, 0);
    atomic_fetch_add_explicit(&team.round, 1, memory_order_release);
    part(work, 0, parts);
    while (atomic_load_explicit(&team.done, memory_order_acquire) < helpers)
        pause_briefly();
}

/* ---- moving bytes ---- */

typedef int64_t Wide __attribute__((vector_size(LINE)));

typedef void Mover(char *to, size_t written, const char *from, size_t read);

/* Reads what is read beyond the bytes that are copied, so that none of it is optimized away. */
static void read_rest(const char *from, size_t bytes)
{
    Wide any[4] = { { 0 } };
    for (size_t k = 0; k + 4 * LINE <= bytes; k += 4 * LINE)
        for (int u = 0; u < 4; u++)
            any[u] |= *(const Wide *)(from + k + u * LINE);
    any[0] |= any[1] | any[2] | any[3];
    __asm__ volatile("" : : "m"(any[0]));
}

static void move_plain(char *to, size_t written, const char *from, size_t read)
{
    const size_t both = read < written ? read : written;
    for (size_t k = 0; k < both; k += LINE)
        *(Wide *)(to + k) = *(const Wide *)(from + k);
    for (size_t k = both; k < written; k += LINE)
        *(Wide *)(to + k) = (Wide){ 0 };
    read_rest(from + both, read - both);
}

static void move_memcpy(char *to, size_t written, const char *from, size_t read)
{
    const size_t both = read < written ? read : written;
    memcpy(to, from, both);
    memset(to + both, 0, written - both);
    read_rest(from + both, read - both);
}

static void move_nontemporal(char *to, size_t written, const char *from, size_t read)
{
    const size_t both = read < written ? read : written;
#if defined(__AVX512F__)
    for (size_t k = 0; k < both; k += LINE)
        _mm512_stream_si512((void *)(to + k), _mm512_load_si512((const void *)(from + k)));
    for (size_t k = both; k < written; k += LINE)
        _mm512_stream_si512((void *)(to + k), _mm512_setzero_si512());
    _mm_sfence();
#elif defined(__AVX2__)
    for (size_t k = 0; k < both; k += 32)
        _mm256_stream_si256((__m256i *)(to + k), _mm256_load_si256((const __m256i *)(from + k)));
    for (size_t k = both; k < written; k += 32)
        _mm256_stream_si256((__m256i *)(to + k), _mm256_setzero_si256());
    _mm_sfence();
#else
    memcpy(to, from, both);
    memset(to + both, 0, written - both);
#endif
    read_rest(from + both, read - both);
}

static const struct {
    const char *name;
    Mover      *move;
} movers[] = {
    { "plain stores", move_plain },
    { "non-temporal stores", move_nontemporal },
    { "memcpy", move_memcpy },
};

typedef struct {
    const char *from;
    char       *to;
    size_t      read, written;
    Mover      *move;
    int         threads;
} Copy;

/* The part of `bytes` that ends with block k of n, in whole lines. */
static size_t upto(size_t bytes, size_t k, size_t n)
{
    return (size_t)((double)bytes * (double)k / (double)n) / LINE * LINE;
}

static void copy_part(void *work, int part, int parts)
{
    const Copy  *c = work;
    const size_t n = (c->read + c->written) / BLOCK + (size_t)parts;
    for (size_t k = n * (size_t)part / (size_t)parts; k < n * (size_t)(part + 1) / (size_t)parts; k++) {
        const size_t r = upto(c->read, k, n), w = upto(c->written, k, n);
        c->move(c->to + w, upto(c->written, k + 1, n) - w, c->from + r, upto(c->read, k + 1, n) - r);
    }
}

static void copy_run(PeerCall *call)
{
    Copy *c = call->state;
    team_run(copy_part, c, c->threads);
}

static double seconds_of(PeerCall *call)
{
    double least = 1e30;
    for (int k = 0; k < 10; k++) {
        const double start = peer_now();
        call->run(call);
        const double t = peer_now() - start;
        least          = t < least ? t : least;
    }
    return least;
}

static void copy_setup(PeerCall *call)
{
    Copy *c     = calloc(1, sizeof *c);
    c->read     = (size_t)peer_number(call, "read", 64 << 20);
    c->written  = (size_t)peer_number(call, "written", 64 << 20);
    c->from     = memset(peer_alloc(c->read), 1, c->read);
    c->to       = memset(peer_alloc(c->written), 0, c->written);
    call->state = c;
    call->run   = copy_run;
    peer_output(call, "u8", 1, 1, 1, 1, 1);
    team_start(call->threads);
    double best    = 1e30;
    Copy   fastest = *c;
    for (size_t m = 0; m < sizeof movers / sizeof *movers; m++)
        for (c->threads = 1; c->threads <= call->threads; c->threads++) {
            c->move        = movers[m].move;
            const double t = seconds_of(call);
            if (t < best) {
                best    = t;
                fastest = *c;
                snprintf(call->note, sizeof call->note, "%s, %d thread%s", movers[m].name, c->threads,
                         c->threads > 1 ? "s" : "");
            }
        }
    *c = fastest;
}

/* ---- arithmetic ---- */

/* Bytes of the widest vector register. */
#if defined(__AVX512F__)
enum { REGISTER = 64 };
#elif defined(__AVX__)
enum { REGISTER = 32 };
#else
enum { REGISTER = 16 };
#endif

enum { CHAINS = 12 };

typedef struct {
    double ops;
} Arithmetic;

/* CHAINS independent chains of v = v*b + c or v + b, each in a register (an array of vectors would go to memory). */
#define EACH_CHAIN(X) X(v0) X(v1) X(v2) X(v3) X(v4) X(v5) X(v6) X(v7) X(v8) X(v9) X(v10) X(v11)
#define CHAIN_BEGIN(v)                                                                                                 \
    v = b + c;                                                                                                         \
    __asm__("" : "+v"(v));
#define CHAIN_FMA(v)                                                                                                   \
    v = v * b + c;                                                                                                     \
    __asm__("" : "+v"(v));
#define CHAIN_ADD(v)                                                                                                   \
    v = v + b;                                                                                                         \
    __asm__("" : "+v"(v));
#define CHAIN_END(v) __asm__ volatile("" : : "v"(v));

#define KERNEL(name, type, per_lane, step)                                                                             \
    typedef type Lanes_##name __attribute__((vector_size(REGISTER)));                                                  \
    static void  work_##name(void *work, int part, int parts)                                                          \
    {                                                                                                                  \
        const Arithmetic *a    = work;                                                                                 \
        const double      each = (double)CHAINS * (double)(REGISTER / sizeof(type)) * (per_lane);                      \
        Lanes_##name      v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, b = (Lanes_##name){ 0 } + 1,               \
                                                                       c = (Lanes_##name){ 0 };                        \
        __asm__("" : "+v"(b), "+v"(c));                                                                                \
        EACH_CHAIN(CHAIN_BEGIN)                                                                                        \
        for (long t = (long)(a->ops / each / parts) + 1; t > 0; t--) {                                                 \
            EACH_CHAIN(step)                                                                                           \
        }                                                                                                              \
        EACH_CHAIN(CHAIN_END)                                                                                          \
        (void)part;                                                                                                    \
    }                                                                                                                  \
    static void run_##name(PeerCall *call)                                                                             \
    {                                                                                                                  \
        team_run(work_##name, call->state, call->threads);                                                             \
    }                                                                                                                  \
    static void setup_##name(PeerCall *call)                                                                           \
    {                                                                                                                  \
        arithmetic_setup(call, run_##name);                                                                            \
    }

static void arithmetic_setup(PeerCall *call, void (*run)(PeerCall *))
{
    Arithmetic *a = calloc(1, sizeof *a);
    a->ops        = peer_number(call, "ops", 1e9);
    call->state   = a;
    call->run     = run;
    peer_output(call, "u8", 1, 1, 1, 1, 1);
    team_start(call->threads);
}

/* clang-format off */
KERNEL(f32, float, 2, CHAIN_FMA)
KERNEL(i32, int32_t, 2, CHAIN_FMA)
KERNEL(i16, int16_t, 2, CHAIN_FMA)
KERNEL(u8, uint8_t, 1, CHAIN_ADD)
/* clang-format on */

/* clang-format off */
const PeerEntry peer_entries[] = {
    { "copy", "best", copy_setup },
    { "arithmetic", "f32", setup_f32 }, { "arithmetic", "i32", setup_i32 }, { "arithmetic", "i16", setup_i16 },
      { "arithmetic", "u8", setup_u8 },
    { NULL, NULL, NULL },
};
/* clang-format on */
