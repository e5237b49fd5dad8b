/* SPDX-License-Identifier: MIT */
/* How two buffers differ: the largest and the mean of |a - b|, where, and how many are beyond a tolerance.
 *
 * Integers are subtracted exactly, at any width. Of floats, NaN equals NaN and an infinity equals itself; a NaN or an
 * infinity that meets anything else differs without bound, whatever the tolerance. */
#include "image/rows.h"

#include <math.h>

typedef struct DifferencePart {
    double  max, sum;
    int64_t where, beyond; /* the element of the largest difference, counted x fastest */
} DifferencePart;

typedef struct CompareCall {
    kn_context      *cx;
    const kn_buffer *a, *b;
    double           abs, rel;
    kn_difference   *d;
    DifferencePart   parts[ROW_PARTS];
} CompareCall;

static bool shapes_agree(const CompareCall *call)
{
    static const char *const dimension_name[] = { " (x)", " (y)", " (c)" };
    const kn_buffer         *a = call->a, *b = call->b;
    if (a->type != b->type) {
        diag_status(call->cx, KN_ERROR_ARGUMENT, "the types differ: %s and %s; kn_image_convert makes them equal",
                    kn_type_name(a->type), kn_type_name(b->type));
        return false;
    }
    if (a->rank != b->rank) {
        diag_status(call->cx, KN_ERROR_ARGUMENT, "the ranks differ: %d and %d dimensions", a->rank, b->rank);
        return false;
    }
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d].extent != b->dim[d].extent) {
            diag_status(call->cx, KN_ERROR_ARGUMENT, "the extents along dimension %d%s differ: %d and %d", d,
                        d < 3 ? dimension_name[d] : "", a->dim[d].extent, b->dim[d].extent);
            return false;
        }
    return true;
}

/* Differences d of values b: element number `first` and following. */
static void add_block(const CompareCall *call, DifferencePart *part, const double *d, const double *b, int64_t count,
                      int64_t first)
{
    for (int64_t i = 0; i < count; i++) {
        part->sum += d[i];
        part->beyond += d[i] > 0 && (isinf(d[i]) || d[i] > call->abs + call->rel * fabs(b[i]));
        if (d[i] > part->max) {
            part->max   = d[i];
            part->where = first + i;
        }
    }
}

/* |a - b|, in place of a. */
static void subtract_doubles(double *a, const double *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const double far = a[i] != a[i] || b[i] != b[i] ? INFINITY : fabs(a[i] - b[i]);
        a[i]             = a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]) ? 0 : far;
    }
}

/* The same of 64-bit integers, which are subtracted before they are rounded. */
static void subtract_integers(kn_type t, const RowPair *row, int64_t done, int64_t count, double *to)
{
    for (int64_t i = done; i < done + count; i++) {
        uint64_t a, b;
        memcpy(&a, row->a + i * row->a_step, sizeof a);
        memcpy(&b, row->b + i * row->b_step, sizeof b);
        const bool less = t == KN_U64 ? a < b : (int64_t)a < (int64_t)b;
        to[i - done]    = (double)(less ? b - a : a - b);
    }
}

static bool compare_row(void *arg, int index, const RowPair *row)
{
    CompareCall  *call = arg;
    const kn_type t    = call->a->type;
    for (int64_t done = 0, n; done < row->count; done += n) {
        double a[ROW_BLOCK], b[ROW_BLOCK];
        n = row->count - done < ROW_BLOCK ? row->count - done : ROW_BLOCK;
        row_to_doubles(t, row->b + done * row->b_step, row->b_step, n, b);
        if (!type_is_float(t) && type_bits(t) == 64) {
            subtract_integers(t, row, done, n, a);
        } else {
            row_to_doubles(t, row->a + done * row->a_step, row->a_step, n, a);
            subtract_doubles(a, b, n);
        }
        add_block(call, &call->parts[index], a, b, n, row->first + done);
    }
    return true;
}

/* Puts the parts together; of equal differences the first is told. */
static kn_difference difference_of(const CompareCall *call)
{
    kn_difference result = { .count = buffer_count(call->a) };
    double        sum    = 0;
    int64_t       where  = 0;
    for (const DifferencePart *p = call->parts; p < call->parts + ROW_PARTS; p++) {
        sum += p->sum;
        result.beyond += p->beyond;
        where      = p->max > result.max ? p->where : where;
        result.max = p->max > result.max ? p->max : result.max;
    }
    result.mean = result.count ? sum / (double)result.count : 0;
    for (int d = 0; result.count && d < call->a->rank; d++) {
        result.where[d] = (int32_t)(where % call->a->dim[d].extent);
        where /= call->a->dim[d].extent;
    }
    return result;
}

static void compare_run(void *arg)
{
    CompareCall *call = arg;
    if (!call->d || !(call->abs >= 0) || !(call->rel >= 0)) {
        diag_status(call->cx, KN_ERROR_ARGUMENT, "kn_compare: %s",
                    call->d ? "a tolerance must be 0 or more" : "no place for the result (NULL)");
        return;
    }
    if (buffer_check(call->cx, call->a, "the first buffer", false) ||
        buffer_check(call->cx, call->b, "the second buffer", false) || !shapes_agree(call))
        return;
    rows_walk(call->a, call->b, compare_row, call);
    *call->d = difference_of(call);
}

kn_status kn_compare(kn_context *cx, const kn_buffer *a, const kn_buffer *b, double abs, double rel, kn_difference *d)
{
    if (!cx)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    CompareCall call = { .cx = cx, .a = a, .b = b, .abs = abs, .rel = rel, .d = d };
    context_try(cx, compare_run, &call);
    return cx->status;
}
