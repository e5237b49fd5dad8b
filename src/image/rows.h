/* SPDX-License-Identifier: MIT */
/* Rows of elements: to and from doubles and 64-bit integers, copies, and a walk over all rows by several threads.
 *
 * A row is `count` elements, `step` bytes apart, of any alignment. The loops are one for each type, so that the
 * compiler makes vectors of them; what is done to values is written once, on blocks of doubles or of integers. */
#ifndef KILN_IMAGE_ROWS_H
#define KILN_IMAGE_ROWS_H

#include "image/buffer.h"

/* Numbers as doubles; 64-bit integers are rounded. Integers that are stored must be whole and in the type's range. */
void row_to_doubles(kn_type t, const char *from, int64_t step, int64_t count, double *to);
void row_from_doubles(kn_type t, char *to, int64_t step, int64_t count, const double *from);
/* Integers and bools, sign- or zero-extended (u64: its bits), and back by wrapping. */
void row_to_integers(kn_type t, const char *from, int64_t step, int64_t count, int64_t *to);
void row_from_integers(kn_type t, char *to, int64_t step, int64_t count, const int64_t *from);
/* Elements of `size` bytes, as they are. */
void row_copy(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count, size_t size);

enum { ROW_BLOCK = 1024 }; /* elements in a block on the stack */

/* A piece of a row that two buffers of one shape have in common. */
typedef struct RowPair {
    char   *a, *b;
    int64_t a_step, b_step; /* bytes */
    int64_t count;
    int64_t first; /* element, counted from 0, x fastest */
} RowPair;

/* A walk has this many parts for any number of threads, so that sums over parts are deterministic. */
enum { ROW_PARTS = 16 };

/* Calls work(arg, part, row) for every row of both buffers, in order within a part, on several threads if there is much
 * to do. Parts follow each other as the elements do, x fastest. work returns false to end its part. */
typedef bool RowWork(void *arg, int part, const RowPair *row);
void         rows_walk(const kn_buffer *a, const kn_buffer *b, RowWork *work, void *arg);
/* Copies all elements between buffers of one type and shape, whatever their strides. */
void rows_copy(const kn_buffer *from, const kn_buffer *to);

#endif
