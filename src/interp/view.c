/* SPDX-License-Identifier: MIT */
/* Views: making them, and moving rows of lanes from and to memory, one loop per type. */
#include "interp/view.h"

View view_of_buffer(const kn_buffer *b)
{
    View v = { .data = b->data, .type = b->type, .rank = b->rank };
    for (int d = 0; d < b->rank; d++) {
        v.min[d]    = b->dim[d].min;
        v.extent[d] = b->dim[d].extent;
        v.stride[d] = b->dim[d].stride;
    }
    return v;
}

View view_alloc(Arena *arena, kn_type type, int rank, const Box *box)
{
    View   v     = { .type = type, .rank = rank };
    size_t count = 1;
    for (int d = 0; d < rank; d++)
        if (box->min[d] > box->max[d])
            return v;
    for (int d = 0; d < rank; d++) {
        v.min[d]    = box->min[d];
        v.stride[d] = (int64_t)count;
        if (__builtin_sub_overflow(box->max[d], box->min[d], &v.extent[d]) ||
            __builtin_add_overflow(v.extent[d], 1, &v.extent[d]) ||
            __builtin_mul_overflow(count, (size_t)v.extent[d], &count))
            context_bail(arena->cx, KN_ERROR_LIMIT,
                         "out of memory: the box of a function is larger than the address space");
    }
    v.data = arena_array(arena, count, kn_type_size(type));
    return v;
}

bool view_as_buffer(const View *v, kn_buffer *b)
{
    *b = (kn_buffer){ .data = v->data, .type = v->type, .rank = v->rank };
    for (int d = 0; d < v->rank; d++) {
        b->dim[d] = (kn_dim){ (int32_t)v->min[d], (int32_t)v->extent[d], v->stride[d] };
        if (b->dim[d].min != v->min[d] || b->dim[d].extent != v->extent[d])
            return false;
    }
    return true;
}

typedef void GatherRow(Lane *restrict to, const char *data, const int64_t *restrict offset, int n);
typedef void ScatterRow(char *data, const Lane *restrict from, const int64_t *restrict offset, const Mask *live, int n);

/* gather_T and scatter_T for a type that C has; `value` makes the lane's field of what was read as v. */
#define MOVE(name, T, field, value)                                                                                    \
    static void gather_##name(Lane *restrict to, const char *data, const int64_t *restrict offset, int n)              \
    {                                                                                                                  \
        for (int i = 0; i < n; i++) {                                                                                  \
            T v;                                                                                                       \
            memcpy(&v, data + offset[i] * (int64_t)sizeof v, sizeof v);                                                \
            to[i].field = (value);                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void scatter_##name(char       *data, const Lane *restrict from, const int64_t *restrict offset,            \
                               const Mask *live, int n)                                                                \
    {                                                                                                                  \
        for (int i = 0; i < n; i++)                                                                                    \
            if (mask_has(live, i)) {                                                                                   \
                const T v = (T)from[i].field;                                                                          \
                memcpy(data + offset[i] * (int64_t)sizeof v, &v, sizeof v);                                            \
            }                                                                                                          \
    }

/* clang-format off */
MOVE(bool, uint8_t, i, v != 0)
MOVE(u8, uint8_t, i, v)
MOVE(u16, uint16_t, i, v)
MOVE(u32, uint32_t, i, v)
MOVE(u64, uint64_t, i, (int64_t)v)
MOVE(i8, int8_t, i, v)
MOVE(i16, int16_t, i, v)
MOVE(i32, int32_t, i, v)
MOVE(i64, int64_t, i, v)
MOVE(f32, float, f, v)
MOVE(f64, double, f, v)
/* clang-format on */

/* The short floats, which C has not. */
#define MOVE_SHORT(name, type)                                                                                         \
    static void gather_##name(Lane *restrict to, const char *data, const int64_t *restrict offset, int n)              \
    {                                                                                                                  \
        for (int i = 0; i < n; i++)                                                                                    \
            to[i].f = type_load_float(type, data + 2 * offset[i]);                                                     \
    }                                                                                                                  \
    static void scatter_##name(char       *data, const Lane *restrict from, const int64_t *restrict offset,            \
                               const Mask *live, int n)                                                                \
    {                                                                                                                  \
        for (int i = 0; i < n; i++)                                                                                    \
            if (mask_has(live, i))                                                                                     \
                type_store_float(type, data + 2 * offset[i], from[i].f);                                               \
    }

/* clang-format off */
MOVE_SHORT(f16, KN_F16)
MOVE_SHORT(bf16, KN_BF16)
/* clang-format on */

static const struct {
    GatherRow  *gather;
    ScatterRow *scatter;
} move_table[KN_TYPE_COUNT] = {
    [KN_BOOL] = { gather_bool, scatter_bool }, [KN_U8] = { gather_u8, scatter_u8 },
    [KN_U16] = { gather_u16, scatter_u16 },    [KN_U32] = { gather_u32, scatter_u32 },
    [KN_U64] = { gather_u64, scatter_u64 },    [KN_I8] = { gather_i8, scatter_i8 },
    [KN_I16] = { gather_i16, scatter_i16 },    [KN_I32] = { gather_i32, scatter_i32 },
    [KN_I64] = { gather_i64, scatter_i64 },    [KN_F16] = { gather_f16, scatter_f16 },
    [KN_BF16] = { gather_bf16, scatter_bf16 }, [KN_F32] = { gather_f32, scatter_f32 },
    [KN_F64] = { gather_f64, scatter_f64 },
};

void view_gather(const View *v, Lane *to, const int64_t *offset, int n)
{
    move_table[v->type].gather(to, v->data, offset, n);
}

void view_scatter(const View *v, const Lane *from, const int64_t *offset, const Mask *live, int n)
{
    move_table[v->type].scatter(v->data, from, offset, live, n);
}

/* Copies dimensions d, d-1 … 0 between two places of elements of `size` bytes. */
static void copy_dims(const View *v, const char *from, const kn_buffer *b, char *to, int d, int64_t size)
{
    if (d < 0) {
        memcpy(to, from, (size_t)size);
        return;
    }
    from += ((int64_t)b->dim[d].min - v->min[d]) * v->stride[d] * size;
    if (d == 0 && v->stride[0] == 1 && b->dim[0].stride == 1) {
        memcpy(to, from, (size_t)(b->dim[0].extent * size));
        return;
    }
    for (int64_t i = 0; i < b->dim[d].extent; i++)
        copy_dims(v, from + i * v->stride[d] * size, b, to + i * b->dim[d].stride * size, d - 1, size);
}

void view_copy(const View *v, kn_buffer *b)
{
    for (int d = 0; d < b->rank; d++)
        if (b->dim[d].extent <= 0)
            return;
    copy_dims(v, v->data, b, b->data, b->rank - 1, (int64_t)kn_type_size(v->type));
}
