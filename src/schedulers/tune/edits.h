/* SPDX-License-Identifier: MIT */
/* Edits of candidates, of CPUs and of devices alike, and what a model sees of them. */
#ifndef KILN_SCHEDULERS_TUNE_EDITS_H
#define KILN_SCHEDULERS_TUNE_EDITS_H

#include "schedulers/tune/moves.h"
#include "schedulers/tune/tuner_internal.h"

enum {
    LEVELS   = 4, /* features: shares of nodes inlined, at root, inside a group, in a sliding window or in registers */
    X_TERMS  = 0,
    X_RULES  = X_TERMS + TERM_COUNT,
    X_LEVELS = X_RULES + RULE_IDS,
    X_COUNT  = X_LEVELS + LEVELS,
};
_Static_assert((int)KERNEL_TERMS <= (int)TERM_COUNT, "a term of a kernel has a place");

/* What the model sees of a candidate. */
typedef struct Sight {
    double log_model;
    double x[X_COUNT];
} Sight;
Sight sight_of(const Tuner *t, const Tried *c);

/* All edits that may make sense. Gives their number, at most `room`. */
int edits_list(Tuner *t, const Tried *c, Move *out, int room);
/* The candidate after these edits, each of what the one before has left; its fault is TUNE_REFUSED if it cannot be
 * launched. In the round's arena. */
Tried edits_make(Tuner *t, const Tried *parent, const Move *moves, int count);

#endif
