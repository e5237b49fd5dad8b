/* SPDX-License-Identifier: MIT */
/* Conversions of values: which number of one type another becomes. */
#ifndef KILN_IMAGE_CONVERT_H
#define KILN_IMAGE_CONVERT_H

#include "image/rows.h"

/* The value of white in a picture; 0 for types of numbers only. */
double white_of(kn_type t);
/* Whether `to` holds every value of `from`. */
bool type_holds(kn_type to, kn_type from);

/* How the elements of one buffer become those of another. */
typedef struct Conversion {
    bool stretched; /* white becomes white; else the number is kept */
    bool luma;      /* three channels make one: those at the source's third stride */
} Conversion;

/* Converts all elements; the buffers have one shape. *outside is the number of values that were clamped. Returns NULL,
 * or the first element of `from` that cannot be kept, which ends it. */
const char *convert_elements(const Conversion *c, const kn_buffer *from, const kn_buffer *to, int64_t *outside);

#endif
