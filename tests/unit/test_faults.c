/* A compiled run in which one allocation fails, at every point there is: an error return that says so, nothing leaked,
 * no output buffer written past its end, and the same call goes well afterwards. The allocations are those of the
 * runtime's hooks: threads, scratch at every level, dense copies of ports. */
#include "api/compile.h"
#include "check.h"
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { W = 37, H = 30, GAP = 2, MOST_POINTS = 1000 };

/* ---- An allocator that fails ---------------------------------------------------------------- */

typedef struct Heap {
    pthread_mutex_t lock;
    long            requests, alive, fail_at; /* fail_at 0: never */
    bool            for_good;                 /* the first failure is not the last */
} Heap;

static void *heap_allocate(void *user, size_t bytes)
{
    Heap *h = user;
    pthread_mutex_lock(&h->lock);
    h->requests++;
    const bool fails = h->fail_at && (h->requests == h->fail_at || (h->for_good && h->requests > h->fail_at));
    h->alive += !fails;
    pthread_mutex_unlock(&h->lock);
    return fails ? NULL : malloc(bytes);
}

static void heap_release(void *user, void *block)
{
    Heap *h = user;
    pthread_mutex_lock(&h->lock);
    h->alive -= block != NULL;
    pthread_mutex_unlock(&h->lock);
    free(block);
}

/* ---- Pipelines ------------------------------------------------------------------------------ */

/* Scratch at root, in a parallel loop, in two nested ones, that slides, beside a histogram. */
static const char *const programs[] = {
    "f(x, y) = in(x, y) + in(x+1, y)\nout(x, y) = f(x, y) * f(x, y+2)\nschedule { f.compute_root().parallel(y)  "
    "out.parallel(y) }\n",
    "f(x, y) = in(x, y) + in(x+1, y)\nout(x, y) = f(x, y) * f(x, y+2)\nschedule { out.parallel(y)  f.compute_at(out, "
    "y) }\n",
    "f(x, y) = in(x, y) + in(x+1, y)\ng(x, y) = f(x, y) ^ f(x, y+1)\nout(x, y) = g(x, y) + g(x+1, y+1)\n"
    "schedule { out.tile(x, y, xo, yo, xi, yi, 8, 8).parallel(xo).parallel(yo)  g.compute_at(out, xo).parallel(y)  "
    "f.compute_at(g, y) }\n",
    "f(x, y) = in(x, y) + in(x+1, y)\nout(x, y) = f(x, y) - f(x, y+1) + f(x, y+2)\n"
    "schedule { out.split(y, yo, yi, 6).parallel(yo)  f.store_at(out, yo).compute_at(out, yi) }\n",
    "h(i) = 0\nh(in(u, v) & 31) += 1 for u in 0..30, v in 0..30\nout(x, y) = h(in(x, y) & 31) * 2 + x\n"
    "schedule { h.compute_root()  h.update(0).atomic().parallel(v) }\n",
};

/* Every second column: what compiled code takes to be dense has to be copied. */
static int32_t source[H + 2][2 * (W + 2)], target[H][2 * W + GAP], expected[H][2 * W + GAP];

static const kn_buffer in_buffer = {
    .data = source, .type = KN_I32, .rank = 2, .dim = { { 0, W + 2, 2 }, { 0, H + 2, 2 * (W + 2) } }
};
static const kn_buffer out_buffer = {
    .data = target, .type = KN_I32, .rank = 2, .dim = { { 0, W, 2 }, { 0, H, 2 * W + GAP } }
};

static int call(CompiledFunction *function, kn_rt *rt)
{
    memset(target, 0x5A, sizeof target);
    return function(rt, (const kn_buffer *const[]){ &in_buffer, &out_buffer }, NULL);
}

/* The elements of the output, if all is well; between them nothing was ever written. */
static bool gaps_kept(void)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < 2 * W + GAP; x++)
            if ((x % 2 || x >= 2 * W) && target[y][x] != 0x5A5A5A5A)
                return false;
    return true;
}

/* One failure; false if there were not so many allocations. */
static bool fail_once(CompiledFunction *function, const char *text, int threads, long fail_at, bool for_good)
{
    Heap   heap = { .lock = PTHREAD_MUTEX_INITIALIZER, .fail_at = fail_at, .for_good = for_good };
    kn_rt *rt   = kn_rt_new(
          &(kn_rt_hooks){ .user = &heap, .allocate = heap_allocate, .release = heap_release, .threads = threads });
    if (rt) {
        const int  status = call(function, rt);
        const bool said   = strstr(kn_rt_last_error(), "memory") != NULL;
        CHECK(status == KN_OK || status == KN_ERROR_LIMIT, "failure %ld: status %d: %s", fail_at, status,
              kn_rt_last_error());
        CHECK(said == (status == KN_ERROR_LIMIT), "failure %ld: status %d says `%s`", fail_at, status,
              kn_rt_last_error());
        CHECK(gaps_kept(), "failure %ld: written between the elements: %s", fail_at, text);
        CHECK(status || !memcmp(target, expected, sizeof target), "failure %ld: status 0, and other values: %s",
              fail_at, text);
        heap.fail_at = 0;
        CHECK(call(function, rt) == KN_OK && !memcmp(target, expected, sizeof target), "the call after failure %ld: %s",
              fail_at, kn_rt_last_error());
        kn_rt_destroy(rt);
    }
    CHECK(heap.alive == 0, "failure %ld: %ld blocks leaked: %s", fail_at, heap.alive, text);
    return heap.requests >= fail_at;
}

static void test_program(const char *program)
{
    char        text[1000];
    kn_context *cx = kn_context_new(NULL);
    snprintf(text, sizeof text, "input  in : i32(x, y)\noutput out\n%s", program);
    kn_pipeline      *p        = kn_parse(cx, "fault.kiln", text, -1);
    kn_module        *m        = p ? kn_compile(p, NULL) : NULL;
    CompiledFunction *function = m ? compiled_function(m) : NULL;
    CHECK(function, "%s", kn_error_text(cx));
    if (function && call(function, NULL) == KN_OK) {
        memcpy(expected, target, sizeof target);
        for (int threads = 1; threads <= 4; threads += 3)
            for (int for_good = 0; for_good < 2; for_good++) {
                long n = 1;
                while (n < MOST_POINTS && fail_once(function, program, threads, n, for_good))
                    n++;
                CHECK(n > 2 && n < MOST_POINTS, "%ld points of failure: %s", n, program);
            }
    }
    kn_context_free(cx);
}

int main(void)
{
    for (int y = 0; y < H + 2; y++)
        for (int x = 0; x < 2 * (W + 2); x++)
            source[y][x] = x * 17 + y * y * 3 + x * y % 11;
    for (int i = 0; i < COUNT(programs); i++)
        test_program(programs[i]);
    return check_done();
}
