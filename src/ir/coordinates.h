/* SPDX-License-Identifier: MIT */
/* Coordinates: integers made of loop variables and sizes. They lie within ±MOST_COORDINATE, so that sums of a few of
 * them do not wrap, and a backend need not make them wrap. Here is what all backends take for coordinates. */
#ifndef KILN_IR_COORDINATES_H
#define KILN_IR_COORDINATES_H

#include "ir/stmt.h"

/* Does the operator make a coordinate of coordinates, in every backend? What one has in addition, it says itself. */
static inline bool is_coordinate_op(const Expr *e)
{
    switch (e->op) {
    case EX_INT:
    case EX_ADD:
    case EX_SUB:
    case EX_NEG:
    case EX_MUL:
    case EX_DIV:
    case EX_MOD:
    case EX_MIN:
    case EX_MAX:
    case EX_CAST: return true;
    default: return false;
    }
}

/* A number from a table that lowering keeps for itself, between two constants: min(max(table[i], a), b). */
static inline bool is_clamped_entry(const Expr *e)
{
    int64_t value;
    for (int depth = 0; depth < 2; depth++) {
        if ((e->op != EX_MIN && e->op != EX_MAX) || !expr_is_int(e->args[1], &value) || value < -MOST_COORDINATE ||
            value > MOST_COORDINATE)
            return false;
        e = e->args[0];
    }
    return e->op == EX_LOAD && !e->u.buffer->func && e->type == KN_I32;
}

/* The most that a sum of coordinates can be, which lie within ±MOST_COORDINATE each. `nodes`: how many may still be
 * looked at. */
double coordinate_magnitude(const Expr *e, int *nodes);

#endif
