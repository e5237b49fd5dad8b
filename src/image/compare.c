/* How two buffers differ: the largest and the mean of |a - b|, where, and how many are beyond a tolerance.
 *
 * Integers are subtracted exactly, at any width. Of floats, NaN equals NaN and an infinity equals itself; a NaN or an
 * infinity that meets anything else differs without bound, whatever the tolerance. */
#include "image/buffer.h"

#include <math.h>

typedef struct CompareCall {
    kn_context      *cx;
    const kn_buffer *a, *b;
    double           abs, rel;
    kn_difference   *d;
} CompareCall;

/* An integer of any type, u64 included. */
static __int128 load_integer(kn_type t, const void *at)
{
    const int64_t v = type_load_int(t, at);
    return t == KN_U64 ? (__int128)(uint64_t)v : (__int128)v;
}

/* |a - b| of two elements; *size is |b|. */
static double distance(kn_type t, const void *at_a, const void *at_b, double *size)
{
    if (!type_is_float(t)) {
        const __int128 a = load_integer(t, at_a), b = load_integer(t, at_b);
        *size = fabs((double)b);
        return (double)(a < b ? b - a : a - b);
    }
    const double a = type_load_float(t, at_a), b = type_load_float(t, at_b);
    *size = fabs(b);
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isnan(a) || isnan(b) ? INFINITY : fabs(a - b);
}

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
    kn_difference result = { .count = buffer_count(call->a) };
    double        sum    = 0;
    BufferWalk    b      = walk_begin(call->b);
    for (BufferWalk a = walk_begin(call->a); a.more; walk_next(&a), walk_next(&b)) {
        double       size;
        const double d = distance(call->a->type, a.at, b.at, &size);
        sum += d;
        result.beyond += d > 0 && (isinf(d) || d > call->abs + call->rel * size);
        if (d > result.max) {
            result.max = d;
            memcpy(result.where, a.index, sizeof result.where);
        }
    }
    result.mean = result.count ? sum / (double)result.count : 0;
    *call->d    = result;
}

kn_status kn_compare(kn_context *cx, const kn_buffer *a, const kn_buffer *b, double abs, double rel, kn_difference *d)
{
    if (!cx)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    CompareCall call = { cx, a, b, abs, rel, d };
    context_try(cx, compare_run, &call);
    return cx->status;
}
