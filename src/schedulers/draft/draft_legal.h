/* SPDX-License-Identifier: MIT */
/* For those that make and legalize drafts. */
#ifndef KILN_SCHEDULERS_DRAFT_INTERNAL_H
#define KILN_SCHEDULERS_DRAFT_INTERNAL_H

#include "schedulers/graph/def_facts.h"
#include "schedulers/draft/draft.h"

/* Limits: of a split factor, of lanes, of unrolled copies, of iterations to prefetch ahead. */
enum { MOST_FACTOR = 1 << 20, MOST_DRAFT_LANES = 64, MOST_DRAFT_COPIES = 64, MOST_PREFETCH_AHEAD = 64 };

static inline bool is_defined(const GraphNode *s)
{
    return s->func->kind == FUNC_DEFINED;
}

/* Makes the node a group of its own, with the loops of the default schedule. */
void draft_make_root(Draft *d, int s);

/* Producers first: a node that cannot be inlined, or has grown too large by inlining, goes to root. */
void draft_legalize_inlining(Draft *d);

/* Makes the loops of a group's head legal, or drops them all. */
void draft_legalize_head(const Draft *d, Group *gr);
/* The legal nest nearest to that of a node, with its loops over steps written out; NULL: there is none. */
const MemberNest *draft_legalize_nest(const Draft *d, int s);

/* The innermost of these loops inside which something can be computed; -1: none. Nothing is inside an unrolled loop or
 * one of two fused loops. Inside the vector loop means inside the loop over vectors. */
int draft_innermost(const GroupLoop *loops, int count);
/* The same for a node with a nest. What the bounds of its reduction read is never inside its steps. */
int draft_innermost_of(const Draft *d, int s);

#endif
