/* SPDX-License-Identifier: MIT */
/* The loops of one definition as text: new names, `reorder`, `vectorize`. */
#ifndef KILN_SCHEDULERS_NEST_TEXT_H
#define KILN_SCHEDULERS_NEST_TEXT_H

#include "pipeline/schedule.h"

enum { MOST_LOOP_NAMES = 8 * KN_MAX_RANK };

/* Names of loops that are made, none of them an argument's, a reduction variable's, or given before. */
typedef struct LoopNames {
    Arena      *arena;
    const char *taken[MOST_LOOP_NAMES];
    int         count;
} LoopNames;

LoopNames   loop_names(Arena *arena, const Func *f, int update);
const char *loop_name(LoopNames *n, const char *base, const char *suffix);

/* A nest on the way. */
typedef struct NestText {
    Text         *out;
    const Func   *func;
    const Update *update;                 /* NULL: the pure definition */
    const char   *names[MOST_LOOP_NAMES]; /* of its loops, outermost first */
    int           count;
    LoopNames     taken;
} NestText;

NestText nest_text_begin(Text *out, const Func *f, int update);
void     nest_text_add(NestText *n, const char *name);
/* All reduction variables. */
void nest_text_add_reductions(NestText *n);

/* ".reorder(x, yi, yo)" of names from..end; nothing for a single one. */
void nest_text_reorder(const NestText *n, int from, int end);
/* The nest, with the loop at `vector` (-1: none) in vectors of `lanes` (0: it is one vector), whose lanes are
 * innermost. `natural`: that order needs no words. */
void nest_text_print(NestText *n, int vector, int64_t lanes, bool natural);

#endif
