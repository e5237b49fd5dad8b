/* SPDX-License-Identifier: MIT */
/* What the values of a buffer range over: the least, the greatest, the mean, and how many are not a number.
 *
 * Integers of 64 bits are compared as such, all else as doubles, which hold it. Each part of the walk has its own sums;
 * they are put together in order, so the mean does not depend on the number of threads. */
#include "image/rows.h"

#include <math.h>

enum { LANES = 8 }; /* independent sums, for instruction-level parallelism */

typedef struct SummaryPart {
    double  least, most, sum;
    int64_t nans, count;
    int64_t low, high; /* of 64-bit integers: u64 with its top bit flipped, so that they compare as i64 */
} SummaryPart;

typedef struct SummaryCall {
    kn_context      *cx;
    const kn_buffer *b;
    kn_summary      *summary;
    SummaryPart      parts[ROW_PARTS];
} SummaryCall;

/* A block of doubles: NaNs are counted, and are neither least nor most nor part of the sum. */
static void add_doubles(SummaryPart *part, const double *v, int64_t count)
{
    double  least[LANES], most[LANES], sum[LANES] = { 0 };
    int64_t nans[LANES] = { 0 };
    for (int k = 0; k < LANES; k++)
        least[k] = INFINITY, most[k] = -INFINITY;
    for (int64_t i = 0; i < count; i += LANES)
        for (int k = 0; k < LANES; k++) {
            const double x = v[i + k];
            least[k]       = x < least[k] ? x : least[k];
            most[k]        = x > most[k] ? x : most[k];
            sum[k] += x == x ? x : 0;
            nans[k] += x != x;
        }
    for (int k = 0; k < LANES; k++) {
        part->least = least[k] < part->least ? least[k] : part->least;
        part->most  = most[k] > part->most ? most[k] : part->most;
        part->sum += sum[k];
        part->nans += nans[k];
    }
}

static bool summarize_doubles(void *arg, int index, const RowPair *row)
{
    SummaryCall *call = arg;
    SummaryPart *part = &call->parts[index];
    for (int64_t done = 0, n; done < row->count; done += n) {
        double block[ROW_BLOCK];
        n = row->count - done < ROW_BLOCK ? row->count - done : ROW_BLOCK;
        row_to_doubles(call->b->type, row->a + done * row->a_step, row->a_step, n, block);
        const int64_t whole = (n + LANES - 1) / LANES * LANES;
        for (int64_t i = n; i < whole; i++)
            block[i] = NAN;
        add_doubles(part, block, whole);
        part->nans -= whole - n;
        part->count += n;
    }
    return true;
}

static bool summarize_integers(void *arg, int index, const RowPair *row)
{
    SummaryCall  *call = arg;
    SummaryPart  *part = &call->parts[index];
    const int64_t turn = call->b->type == KN_U64 ? INT64_MIN : 0;
    for (int64_t i = 0; i < row->count; i++) {
        int64_t v;
        memcpy(&v, row->a + i * row->a_step, sizeof v);
        part->sum += turn ? (double)(uint64_t)v : (double)v;
        v ^= turn;
        part->low  = v < part->low ? v : part->low;
        part->high = v > part->high ? v : part->high;
    }
    part->count += row->count;
    return true;
}

/* A number of the buffer as the type has it. */
static kn_scalar scalar_of(kn_type t, const SummaryPart *all, bool greatest)
{
    if (type_is_float(t))
        return kn_float(greatest ? all->most : all->least);
    if (type_bits(t) < 64)
        return kn_int((int64_t)(greatest ? all->most : all->least));
    return kn_int((greatest ? all->high : all->low) ^ (t == KN_U64 ? INT64_MIN : 0));
}

static void summarize_run(void *arg)
{
    SummaryCall *call = arg;
    if (!call->summary) {
        diag_status(call->cx, KN_ERROR_ARGUMENT, "kn_summarize: no place for the result (NULL)");
        return;
    }
    if (buffer_check(call->cx, call->b, "kn_summarize", false))
        return;
    const kn_type     t    = call->b->type;
    const SummaryPart none = { .least = INFINITY, .most = -INFINITY, .low = INT64_MAX, .high = INT64_MIN };
    for (int i = 0; i < ROW_PARTS; i++)
        call->parts[i] = none;
    rows_walk(call->b, call->b, !type_is_float(t) && type_bits(t) == 64 ? summarize_integers : summarize_doubles, call);
    SummaryPart all = none;
    for (const SummaryPart *p = call->parts; p < call->parts + ROW_PARTS; p++) {
        all.least = fmin(all.least, p->least);
        all.most  = fmax(all.most, p->most);
        all.low   = p->low < all.low ? p->low : all.low;
        all.high  = p->high > all.high ? p->high : all.high;
        all.sum += p->sum;
        all.nans += p->nans;
        all.count += p->count;
    }
    *call->summary = (kn_summary){ .count = all.count - all.nans, .nans = all.nans };
    if (call->summary->count) {
        call->summary->min  = scalar_of(t, &all, false);
        call->summary->max  = scalar_of(t, &all, true);
        call->summary->mean = all.sum / (double)call->summary->count;
    }
}

kn_status kn_summarize(kn_context *cx, const kn_buffer *b, kn_summary *summary)
{
    if (!cx)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    SummaryCall call = { .cx = cx, .b = b, .summary = summary };
    context_try(cx, summarize_run, &call);
    return cx->status;
}
