/* kn_buffer and kn_dim as a backend lays them out: a row for each field, in the order of kiln_runtime.h.
 * A row is FIELD(id, name in C, type of an element, count of elements). Its position is the field's index in the
 * backend's structure. tests/unit/test_buffer_layout.c holds the rows against the C compiler's layout. */
#ifndef KILN_CODEGEN_BUFFER_LAYOUT_H
#define KILN_CODEGEN_BUFFER_LAYOUT_H

#include "kiln_runtime.h"

/* clang-format off */
#define DIM_LAYOUT(FIELD)                \
    FIELD(MIN,      min,      i32, 1)    \
    FIELD(EXTENT,   extent,   i32, 1)    \
    FIELD(STRIDE,   stride,   i64, 1)

#define BUFFER_LAYOUT(FIELD)             \
    FIELD(DATA,     data,     ptr, 1)    \
    FIELD(TYPE,     type,     i32, 1)    \
    FIELD(RANK,     rank,     i32, 1)    \
    FIELD(DIM,      dim,      dim, KN_MAX_RANK) \
    FIELD(DEVICE,   device,   ptr, 1)    \
    FIELD(HANDLE,   handle,   i64, 1)    \
    FIELD(FLAGS,    flags,    i32, 1)    \
    FIELD(RESERVED, reserved, i32, 3)

#define DIM_FIELD_INDEX(id, name, type, count)    DIM_FIELD_##id,
#define BUFFER_FIELD_INDEX(id, name, type, count) BUFFER_FIELD_##id,
enum { DIM_LAYOUT(DIM_FIELD_INDEX) DIM_FIELD_COUNT };
enum { BUFFER_LAYOUT(BUFFER_FIELD_INDEX) BUFFER_FIELD_COUNT };
/* clang-format on */

#endif
