/* SPDX-License-Identifier: MIT */
/* The model of a region: what is executed, in which order, what it reads and writes, and what depends on what.
 *
 * Takes   a Region.
 * Gives   isl sets and relations over statement instances S[i, j…]; a message with a place where the region is not
 * affine. From    Zhao and Cohen 2019, section 2; flow by isl's dataflow analysis. */
#ifndef KILN_POLY_SCOP_H
#define KILN_POLY_SCOP_H

#include "poly/region.h"

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/schedule.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

typedef struct Access {
    const CExpr   *expr;  /* the INDEX or NAME node */
    const CSymbol *array; /* a scalar is an array without dimensions */
    bool           write;
    bool           unsure;   /* a read that may not happen, or a subscript of which nothing is known */
    isl_map       *relation; /* S[i…] -> array[…], within the statement's domain */
} Access;

/* An assignment. Its instances are over the loops around it, the outermost first. */
typedef struct Statement {
    const char     *name; /* "S0", "S1" … in the order of the text */
    const CStmt    *assign;
    int             depth;
    const CSymbol **iterators;
    isl_set        *domain;
    VEC(Access) accesses; /* reads in the order of the text, the write last */
} Statement;

typedef struct Watch Watch;

typedef struct Scop {
    Arena        *arena;
    isl_ctx      *isl;
    unsigned long quota; /* of isl's operations, in one step of the work; 0: none */
    Watch        *watch; /* of their time; NULL: nobody */
    const Region *region;
    VEC(const CSymbol *) parameters; /* integers that the region does not write */
    isl_set *context;                /* what is known of them */
    VEC(Statement) statements;
    const bool *once; /* for each statement: no other one writes its array, it writes no element twice, and it shares
                         no loop with a read */
    isl_union_set *domain;
    isl_union_map *reads, *writes;
    isl_schedule  *schedule; /* the order of the text */
    /* source instance -> sink instance */
    isl_union_map *flow;     /* a read after the write of its value */
    isl_union_map *reuse;    /* a write after all reads and writes of its element that come before it */
    isl_union_map *either;   /* both */
    isl_union_map *live_in;  /* reads of what no instance has written: instance -> element */
    isl_union_map *live_out; /* last writes: instance -> element; of local and temporary symbols there are none */
    /* Variables that each iteration of some loops has for itself, since no value of them leaves it: the generated code
     * has them private in parallel and vector loops. In relations they have those loops' iterators as subscripts. */
    VEC(const CSymbol *) privates;
    isl_union_map *private_flow; /* flow by them; it stays inside one iteration of the generated loops around it */
} Scop;

#endif
