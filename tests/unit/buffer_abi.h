/* The layout of kn_buffer that compiled code relies on, as assertions. This header stands alone: tests/api/abi.test
 * compiles it for 32-bit machines, too. */
#ifndef KILN_TESTS_BUFFER_ABI_H
#define KILN_TESTS_BUFFER_ABI_H

#include "kiln_runtime.h"

#define ALIGNED(offset, align) (((offset) + (align)-1) / (align) * (align))

struct buffer_abi_align {
    char    c;
    int64_t i64;
};

/* In terms of the size of a pointer and of the alignment of an int64_t, which is 4 on i386. */
enum {
    ABI_PTR      = sizeof(void *),
    ABI_ALIGN    = offsetof(struct buffer_abi_align, i64),
    ABI_TYPE     = ABI_PTR,
    ABI_RANK     = ABI_TYPE + 4,
    ABI_DIM      = ALIGNED(ABI_RANK + 4, ABI_ALIGN),
    ABI_DEVICE   = ABI_DIM + 8 * 16,
    ABI_HANDLE   = ALIGNED(ABI_DEVICE + ABI_PTR, ABI_ALIGN),
    ABI_FLAGS    = ABI_HANDLE + 8,
    ABI_RESERVED = ABI_FLAGS + 4,
    ABI_SIZE     = ABI_RESERVED + 3 * 4
};

#define ABI_AT(type, field, offset, size)                                                                              \
    _Static_assert(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (size), #type "." #field)

ABI_AT(kn_dim, min, 0, 4);
ABI_AT(kn_dim, extent, 4, 4);
ABI_AT(kn_dim, stride, 8, 8);
_Static_assert(sizeof(kn_dim) == 16, "kn_dim");

ABI_AT(kn_buffer, data, 0, ABI_PTR);
ABI_AT(kn_buffer, type, ABI_TYPE, 4);
ABI_AT(kn_buffer, rank, ABI_RANK, 4);
ABI_AT(kn_buffer, dim, ABI_DIM, 8 * 16);
ABI_AT(kn_buffer, device, ABI_DEVICE, ABI_PTR);
ABI_AT(kn_buffer, handle, ABI_HANDLE, 8);
ABI_AT(kn_buffer, flags, ABI_FLAGS, 4);
ABI_AT(kn_buffer, reserved, ABI_RESERVED, 12);
_Static_assert(sizeof(kn_buffer) == ABI_SIZE, "kn_buffer has no padding behind its fields");

#if UINTPTR_MAX == UINT64_MAX
_Static_assert(ABI_DIM == 16 && ABI_DEVICE == 144 && ABI_HANDLE == 152 && ABI_FLAGS == 160 && ABI_SIZE == 176,
               "64 bit");
#else
_Static_assert(ABI_ALIGN == 8 ? ABI_DIM == 16 && ABI_HANDLE == 152 && ABI_SIZE == 176
                              : ABI_DIM == 12 && ABI_HANDLE == 144 && ABI_SIZE == 168,
               "32 bit");
#endif

_Static_assert(KN_HOST_NEWER == 1 && KN_DEVICE_NEWER == 2, "flags");

#endif
