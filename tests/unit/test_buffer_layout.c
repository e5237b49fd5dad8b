/* The layout of kn_buffer: as the ABI says it (statically), and as the rows of codegen/buffer_layout.h say it. */
#include "buffer_abi.h"
#include "codegen/buffer_layout.h"
#include "check.h"

/* Elements of the rows, by the names of their types. */
typedef void   *ptr;
typedef int32_t i32;
typedef int64_t i64;
typedef kn_dim  dim;

typedef struct FieldRow {
    const char *name;
    size_t      size, align;  /* of an element of the row */
    size_t      count;        /* of elements in the row */
    size_t      offset, room; /* as the C compiler has them */
} FieldRow;

#define ALIGN_OF(type)                                                                                                 \
    offsetof(                                                                                                          \
        struct {                                                                                                       \
            char c;                                                                                                    \
            type v;                                                                                                    \
        },                                                                                                             \
        v)
#define ROW(parent, name, type, count)                                                                                 \
    { #name, sizeof(type), ALIGN_OF(type), count, offsetof(parent, name), sizeof(((parent *)0)->name) },
#define DIM_ROW(id, name, type, count)    ROW(kn_dim, name, type, count)
#define BUFFER_ROW(id, name, type, count) ROW(kn_buffer, name, type, count)

static const FieldRow dim_rows[]    = { DIM_LAYOUT(DIM_ROW) };
static const FieldRow buffer_rows[] = { BUFFER_LAYOUT(BUFFER_ROW) };

/* A structure of these rows, each at the next multiple of its alignment, is what the C compiler makes. */
static void check_rows(const char *what, const FieldRow *rows, int count, size_t size)
{
    size_t at = 0, align = 1;
    for (int i = 0; i < count; i++) {
        const FieldRow *r = &rows[i];
        at                = ALIGNED(at, r->align);
        align             = r->align > align ? r->align : align;
        CHECK(at == r->offset, "%s.%s: at %zu in the rows, at %zu in C", what, r->name, at, r->offset);
        CHECK(r->size * r->count == r->room, "%s.%s: %zu bytes in the rows, %zu in C", what, r->name,
              r->size * r->count, r->room);
        at += r->size * r->count;
    }
    CHECK(ALIGNED(at, align) == size, "%s: %zu bytes in the rows, %zu in C", what, ALIGNED(at, align), size);
}

int main(void)
{
    check_rows("kn_dim", dim_rows, DIM_FIELD_COUNT, sizeof(kn_dim));
    check_rows("kn_buffer", buffer_rows, BUFFER_FIELD_COUNT, sizeof(kn_buffer));
    return check_done();
}
