/* SPDX-License-Identifier: MIT */
/* The walk over the rows of two buffers, by several threads.
 *
 * Dimensions that are contiguous in both buffers are merged, so that rows are as long as possible. All elements are cut
 * into ROW_PARTS ranges, which threads take one after the other. */
#include "image/rows.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
    MOST_THREADS = ROW_PARTS,
    THREAD_BYTES = 1 << 20 /* bytes that make another thread worthwhile */
};

typedef struct RowWalk {
    kn_buffer  a, b; /* with contiguous dimensions merged */
    int64_t    count;
    RowWork   *work;
    void      *arg;
    atomic_int next; /* part */
} RowWalk;

/* Whether a dimension begins where the one before it ends. */
static bool follows(kn_dim d, kn_dim before)
{
    return d.stride == before.stride * before.extent && (int64_t)before.extent * d.extent <= INT32_MAX;
}

/* Drops dimensions of extent 1, and merges neighbouring dimensions that are contiguous in both buffers. At least one
 * dimension remains. */
static void join_dimensions(kn_buffer *a, kn_buffer *b)
{
    int rank = 0;
    for (int d = 0; d < a->rank; d++) {
        const kn_dim da = a->dim[d], db = b->dim[d];
        if (da.extent == 1)
            continue;
        if (rank && follows(da, a->dim[rank - 1]) && follows(db, b->dim[rank - 1])) {
            a->dim[rank - 1].extent *= da.extent;
            b->dim[rank - 1].extent *= da.extent;
        } else {
            a->dim[rank]   = da;
            b->dim[rank++] = db;
        }
    }
    if (!rank)
        a->dim[rank] = b->dim[rank] = (kn_dim){ .extent = 1, .stride = 1 };
    a->rank = b->rank = rank ? rank : 1;
}

/* The rows of the elements begin .. end - 1, counted x fastest. */
static void walk_range(const RowWalk *w, int part, int64_t begin, int64_t end)
{
    const int64_t a_size = (int64_t)kn_type_size(w->a.type), b_size = (int64_t)kn_type_size(w->b.type);
    for (bool more = true; more && begin < end;) {
        int32_t index[KN_MAX_RANK] = { 0 };
        int64_t rest               = begin;
        for (int d = 0; d < w->a.rank; d++) {
            index[d] = (int32_t)(rest % w->a.dim[d].extent);
            rest /= w->a.dim[d].extent;
        }
        const int64_t left = w->a.dim[0].extent - index[0];
        const RowPair row  = { buffer_address(&w->a, index),
                               buffer_address(&w->b, index),
                               w->a.dim[0].stride * a_size,
                               w->b.dim[0].stride * b_size,
                              left < end - begin ? left : end - begin,
                               begin };
        more               = w->work(w->arg, part, &row);
        begin += row.count;
    }
}

/* Works on part after part until none is left. */
static void *walk_parts(void *arg)
{
    RowWalk *w = arg;
    for (int part; (part = atomic_fetch_add(&w->next, 1)) < ROW_PARTS;)
        walk_range(w, part, w->count / ROW_PARTS * part + w->count % ROW_PARTS * part / ROW_PARTS,
                   w->count / ROW_PARTS * (part + 1) + w->count % ROW_PARTS * (part + 1) / ROW_PARTS);
    return NULL;
}

/* Threads for so many bytes: no more than CPUs that this process may use. */
static int thread_count(int64_t bytes)
{
    cpu_set_t cpus;
    int64_t   most = sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : CPU_COUNT(&cpus);
    most           = most < MOST_THREADS ? most : MOST_THREADS;
    return (int)(bytes / THREAD_BYTES < most ? bytes / THREAD_BYTES : most);
}

void rows_walk(const kn_buffer *a, const kn_buffer *b, RowWork *work, void *arg)
{
    RowWalk w = { .a = *a, .b = *b, .count = buffer_count(a), .work = work, .arg = arg };
    if (!w.count)
        return;
    join_dimensions(&w.a, &w.b);
    pthread_t threads[MOST_THREADS];
    int       begun = 0;
    const int want  = thread_count(w.count * (int64_t)(kn_type_size(a->type) + kn_type_size(b->type))) - 1;
    while (begun < want && !pthread_create(&threads[begun], NULL, walk_parts, &w))
        begun++;
    walk_parts(&w);
    for (int i = 0; i < begun; i++)
        pthread_join(threads[i], NULL);
}

static bool copy_row(void *arg, int part, const RowPair *row)
{
    (void)part;
    row_copy(row->b, row->b_step, row->a, row->a_step, row->count, *(const size_t *)arg);
    return true;
}

void rows_copy(const kn_buffer *from, const kn_buffer *to)
{
    rows_walk(from, to, copy_row, &(size_t){ kn_type_size(from->type) });
}
