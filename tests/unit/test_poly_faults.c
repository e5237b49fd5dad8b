/* SPDX-License-Identifier: MIT */
/* Tiling that cannot go on: isl's quota ends, memory ends, at every point there is. An error that says so, nothing
 * leaked: blocks are counted here, isl's objects by the leak sanitizer. */
#include "check.h"

#include "poly/region_tile.h"
#include "poly/source/source.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array)       ((int)(sizeof(array) / sizeof *(array)))
#define SCOP(params, body) "void g(" params ") {\n#pragma scop\n" body "\n#pragma endscop\n}\n"

/* Known, and named in docs/tile.md: three of isl's objects, of 24 bytes each, are lost where memory ends. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char                                        *__lsan_default_suppressions(void)
{
    return "leak:isl_malloc_or_die\n";
}

typedef struct Case {
    TileShape   shape;
    const char *text;
} Case;

static const Case cases[] = {
    { SHAPE_AUTO,
      SCOP("int N, int T, float A[2][N]", "for (int t = 0; t < T; t++) for (int i = 1; i < N - 1; i++)"
                                          " A[(t+1)%2][i] = 0.25f * (A[t%2][i+1] + 2 * A[t%2][i] + A[t%2][i-1]);") },
    { SHAPE_PARALLELOGRAM,
      SCOP("int N, int T, float A[N]", "for (int t = 0; t < T; t++) for (int i = 1; i < N - 1; i++)"
                                       " A[i] = 0.25f * (A[i+1] + 2 * A[i] + A[i-1]);") },
    { SHAPE_SCALENE, SCOP("int N, const float I[restrict N], float C[restrict N]",
                          "float A[N], B[N];"
                          "for (int i = 1; i < N; i++) A[i] = I[i] + I[i-1];"
                          "for (int i = 2; i < N - 1; i++) B[i] = 0.25f * (A[i-1] + 2 * A[i] + A[i+1]);"
                          "for (int i = 4; i < N - 3; i++) C[i] = 0.25f * (B[i-2] + 2 * B[i] + B[i+2]);") },
    { SHAPE_RECTANGLE, SCOP("int N, const float I[restrict N], float B[restrict N]",
                            "float A[N];"
                            "for (int i = 1; i < N; i++) A[i] = I[i] + I[i-1];"
                            "for (int i = 2; i < N - 1; i++) B[i] = 0.25f * (A[i-1] + 2 * A[i] + A[i+1]);") },
    { SHAPE_SCALENE, /* over time: copies into scratch and out */
      SCOP("int N, int T, float A[2][N]", "for (int t = 0; t < T; t++) for (int i = 1; i < N - 1; i++)"
                                          " A[(t+1)%2][i] = 0.25f * (A[t%2][i+1] + 2 * A[t%2][i] + A[t%2][i-1]);") },
    { SHAPE_NONE, SCOP("int n, float A[restrict n], float B[restrict n], const int k[n]",
                       "for (int i = n - 1; i >= 0; i -= 2) { float s = A[k[i]]; if (i % 3 == 1) s = s * s; else s = 1;"
                       " B[i] = i > 4 && A[i] > 0 ? s : B[i / 2]; }") },
};

/* ---- An allocator that fails ---------------------------------------------------------------- */

typedef struct Heap {
    long requests, alive, fail_at; /* fail_at 0: never */
} Heap;

static void *heap_allocate(void *user, size_t bytes)
{
    Heap *h = user;
    h->requests++;
    const bool fails = h->fail_at && h->requests >= h->fail_at;
    h->alive += !fails;
    return fails ? NULL : malloc(bytes);
}

static void heap_release(void *user, void *block)
{
    Heap *h = user;
    h->alive -= block != NULL;
    free(block);
}

/* ---- One run -------------------------------------------------------------------------------- */

typedef struct Job {
    kn_context *cx;
    const Case *row;
    const char *text;
} Job;

static void run(void *arg)
{
    Job        *job     = arg;
    Arena      *a       = &job->cx->call;
    Regions     all     = { 0 };
    Source     *src     = ARENA_NEW(a, Source);
    TileOptions options = { .shape = job->row->shape, .threads = 2 };
    *src                = (Source){ "a.c", job->row->text, strlen(job->row->text) };
    if (source_regions(job->cx, a, src, job->row->text, NULL, &all))
        job->text = region_tile(job->cx, all.items.at[0], &options, &(Outputs){ 0 });
}

/* Is it tiled? If not, a message says that a limit is passed. */
static bool tiled(const Case *row, uint64_t quota, Heap *heap)
{
    kn_config config = { .quota = quota, .user = heap };
    if (heap) {
        config.allocate = heap_allocate;
        config.release  = heap_release;
    }
    kn_context *cx   = kn_context_new(&config);
    Job         job  = { .cx = cx, .row = row };
    bool        done = false;
    if (!cx)
        return false;
    context_begin(cx);
    done = context_call(cx, run, &job) && job.text;
    CHECK(done ? !cx->error_count : diag_has(cx, ERROR_LIMIT), "quota %llu, failure %ld: status %d: %s",
          (unsigned long long)quota, heap ? heap->fail_at : 0, (int)cx->status, kn_error_text(cx));
    kn_context_free(cx);
    return done;
}

/* Quotas that grow by a fortieth until the program is tiled: each run ends at another point. */
static void test_quota(const Case *row)
{
    uint64_t quota = 1;
    int      runs  = 0;
    while (!tiled(row, quota, NULL) && quota < 100000000) {
        quota += quota / 40 + 1;
        runs++;
    }
    CHECK(quota < 100000000 && runs > 100, "tiled at quota %llu after %d", (unsigned long long)quota, runs);
}

static void test_memory(const Case *row)
{
    Heap heap  = { .fail_at = 1 };
    long fails = 0;
    for (; !tiled(row, 0, &heap) && fails < 10000; fails++) {
        CHECK(heap.alive == 0, "failure %ld: %ld blocks leaked", heap.fail_at, heap.alive);
        heap = (Heap){ .fail_at = heap.fail_at + 1 };
    }
    CHECK(fails > 10 && fails < 10000 && heap.alive == 0, "%ld failures, %ld blocks leaked", fails, heap.alive);
}

int main(void)
{
    for (int i = 0; i < COUNT(cases); i++) {
        if (!check_sampled((size_t)i))
            continue;
        test_quota(&cases[i]);
        test_memory(&cases[i]);
    }
    return check_done();
}
