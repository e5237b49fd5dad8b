/* SPDX-License-Identifier: MIT */
/* Numbers that values lie between, whatever sizes, coordinates and pixels are given. */
#ifndef KILN_ANALYSIS_VALUE_RANGE_H
#define KILN_ANALYSIS_VALUE_RANGE_H

#include "analysis/interval.h"
#include "pipeline/pipeline.h"

typedef struct ValueRanges {
    kn_context *cx;
    Arena      *arena;
    Range     **of; /* per function id, per component; NULL: not asked yet */
    bool       *asking;
    Map         memo; /* node -> Range, of nodes that call nothing still being asked */
} ValueRanges;

void value_ranges_init(ValueRanges *v, kn_context *cx, int functions, Arena *arena);
/* The range of an expression. Functions' values are followed; everything else may be any value of its type. */
Range value_range_of(ValueRanges *v, const Expr *e);
/* That of a function's component, over all its definitions. */
Range value_range_component(ValueRanges *v, const Func *f, int component);

#endif
