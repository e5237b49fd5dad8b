/* Dense copies of buffers, for compiled code that needs stride 1 along one dimension.
 *
 * A copy goes row by row along the dense dimension. Rows are visited with the smallest stride of the user's buffer
 * fastest: of interleaved colours (x has stride 3, c has 1), the three rows of a line come after each other and its
 * memory is read once. Batches of rows are shared out to the pool.
 */
#include "runtime/copy.h"

#include <string.h>

static const struct {
    const char *name;
    int32_t     size;
} types[KN_TYPE_COUNT] = {
    [KN_BOOL] = { "bool", 1 }, [KN_U8] = { "u8", 1 },   [KN_U16] = { "u16", 2 },   [KN_U32] = { "u32", 4 },
    [KN_U64] = { "u64", 8 },   [KN_I8] = { "i8", 1 },   [KN_I16] = { "i16", 2 },   [KN_I32] = { "i32", 4 },
    [KN_I64] = { "i64", 8 },   [KN_F16] = { "f16", 2 }, [KN_BF16] = { "bf16", 2 }, [KN_F32] = { "f32", 4 },
    [KN_F64] = { "f64", 8 },
};

int64_t kn_rt_type_size(int type)
{
    return type > KN_NONE && type < KN_TYPE_COUNT ? types[type].size : 0;
}

const char *kn_rt_type_name(int type)
{
    return type > KN_NONE && type < KN_TYPE_COUNT ? types[type].name : NULL;
}

kn_buffer kn_buffer_dense(void *data, kn_type type, int rank, const int32_t *extent)
{
    kn_buffer b = { .data = data, .type = type, .rank = rank };
    if (rank < 0 || rank > KN_MAX_RANK || (rank > 0 && !extent))
        return (kn_buffer){ .rank = -1 };
    int64_t stride = 1;
    for (int d = 0; d < rank; d++) {
        b.dim[d].extent = extent[d];
        b.dim[d].stride = stride;
        if (__builtin_mul_overflow(stride, (int64_t)extent[d], &stride))
            stride = INT64_MAX; /* which no buffer may reach: refused when it is used */
    }
    return b;
}

int kn_rt_copy_new(kn_rt *rt, const kn_buffer *b, int dense, kn_buffer *copy)
{
    int64_t count = b->dim[dense].extent, bytes;
    *copy         = (kn_buffer){ .type = b->type, .rank = b->rank };
    memcpy(copy->dim, b->dim, sizeof copy->dim);
    copy->dim[dense].stride = 1;
    for (int d = 0; d < b->rank; d++) {
        if (d == dense || b->dim[d].stride == 0)
            continue;
        copy->dim[d].stride = count;
        if (__builtin_mul_overflow(count, (int64_t)b->dim[d].extent, &count))
            count = INT64_MAX;
    }
    if (__builtin_mul_overflow(count, kn_rt_type_size(b->type), &bytes))
        bytes = -1; /* refused by kn_rt_alloc */
    copy->data = kn_rt_alloc(rt, bytes);
    return copy->data ? KN_OK : KN_ERROR_LIMIT;
}

/* ---- Rows ------------------------------------------------------------------------------- */

typedef void CopyRow(char *to, int64_t to_stride, const char *from, int64_t from_stride, int32_t n);

#define COPY_ROW(bits)                                                                                                 \
    static void copy_row_##bits(char *to, int64_t to_stride, const char *from, int64_t from_stride, int32_t n)         \
    {                                                                                                                  \
        uint##bits##_t       *t = (void *)to;                                                                          \
        const uint##bits##_t *f = (const void *)from;                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            t[i * to_stride] = f[i * from_stride];                                                                     \
    }
/* clang-format off */
COPY_ROW(8)
COPY_ROW(16)
COPY_ROW(32)
COPY_ROW(64)
/* clang-format on */

static CopyRow *const copy_row[9] = { [1] = copy_row_8, [2] = copy_row_16, [4] = copy_row_32, [8] = copy_row_64 };

enum { ROWS_PER_TASK = 16 };

typedef struct StridedCopy {
    const kn_buffer *from, *to;
    int              dense;
    int              order[KN_MAX_RANK], count; /* the other dimensions, fastest first */
    int64_t          rows, rows_per_task;
} StridedCopy;

/* Row number r: its digits in the mixed base of the extents are its coordinates. */
static void copy_one(const StridedCopy *c, int64_t row)
{
    const int64_t size = kn_rt_type_size(c->from->type);
    int64_t       from = 0, to = 0;
    for (int i = 0; i < c->count; i++) {
        const int     d          = c->order[i];
        const int64_t coordinate = row % c->from->dim[d].extent;
        row /= c->from->dim[d].extent;
        from += coordinate * c->from->dim[d].stride;
        to += coordinate * c->to->dim[d].stride;
    }
    copy_row[size]((char *)c->to->data + to * size, c->to->dim[c->dense].stride,
                   (const char *)c->from->data + from * size, c->from->dim[c->dense].stride,
                   c->from->dim[c->dense].extent);
}

static int copy_task(kn_rt *rt, int32_t task, void *closure)
{
    (void)rt;
    const StridedCopy *c   = closure;
    const int64_t      end = (task + 1) * c->rows_per_task;
    for (int64_t row = task * c->rows_per_task; row < end && row < c->rows; row++)
        copy_one(c, row);
    return KN_OK;
}

static int64_t absolute(int64_t v)
{
    return v < 0 ? -v : v;
}

/* The dimensions but `dense` and those that repeat, by |stride| in the user's buffer. */
static void order_dimensions(StridedCopy *c, const kn_buffer *users)
{
    for (int d = 0; d < users->rank; d++) {
        if (d == c->dense || users->dim[d].stride == 0)
            continue;
        int i = c->count++;
        for (; i > 0 && absolute(users->dim[c->order[i - 1]].stride) > absolute(users->dim[d].stride); i--)
            c->order[i] = c->order[i - 1];
        c->order[i] = d;
        c->rows *= users->dim[d].extent;
    }
}

int kn_rt_copy_elements(kn_rt *rt, const kn_buffer *from, const kn_buffer *to, int dense)
{
    const kn_buffer *users = from->dim[dense].stride == 1 ? to : from;
    StridedCopy      c     = { .from = from, .to = to, .dense = dense, .rows = 1, .rows_per_task = ROWS_PER_TASK };
    order_dimensions(&c, users);
    while (c.rows / c.rows_per_task >= 1 << 20)
        c.rows_per_task *= 2;
    return kn_rt_parallel(rt, copy_task, 0, (int32_t)((c.rows + c.rows_per_task - 1) / c.rows_per_task), &c);
}
