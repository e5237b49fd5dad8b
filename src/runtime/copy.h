/* SPDX-License-Identifier: MIT */
/* Dense copies of buffers. */
#ifndef KILN_RUNTIME_COPY_H
#define KILN_RUNTIME_COPY_H

#include "runtime/internal.h"

/* Bytes of an element; 0 for a number that is no type. And its name, "f32". */
int64_t     kn_rt_type_size(int type);
const char *kn_rt_type_name(int type);

/* `b` with memory of its own in which `dense` has stride 1; a dimension of stride 0 keeps it. The elements have no
 * values yet. */
int kn_rt_copy_new(kn_rt *rt, const kn_buffer *b, int dense, kn_buffer *copy);
/* The elements of `from` into `to`, which has the same shape. Not 0 if a loop around this call was ended by an error
 * meanwhile. */
int kn_rt_copy_elements(kn_rt *rt, const kn_buffer *from, const kn_buffer *to, int dense);

#endif
