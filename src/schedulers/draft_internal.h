/* Drafts: what only the files that make and legalize them share. */
#ifndef KILN_SCHEDULERS_DRAFT_INTERNAL_H
#define KILN_SCHEDULERS_DRAFT_INTERNAL_H

#include "schedulers/def_facts.h"
#include "schedulers/draft.h"

/* A draft may not vectorize wider, nor copy a loop body more often, nor fetch further ahead. */
enum { MOST_FACTOR = 1 << 20, MOST_DRAFT_LANES = 64, MOST_DRAFT_COPIES = 64, MOST_PREFETCH_AHEAD = 64 };

static inline bool is_defined(const GraphNode *s)
{
    return s->func->kind == FUNC_DEFINED;
}

/* Makes the node a group of its own, with the loops of the default schedule. */
void draft_make_root(Draft *d, int s);

/* Producers first: what cannot be inlined, or has grown too large with what is inlined into it, is not. */
void draft_legalize_inlining(Draft *d);

/* Makes the loops of a group's head legal; leaves them to the compiler where that cannot be done. */
void draft_legalize_head(const Draft *d, Group *gr);
/* The legal nest nearest to that of a node, with the loops over its steps written out; NULL: there is none. */
const MemberNest *draft_legalize_nest(const Draft *d, int s);

/* The innermost loop of these inside which something may be computed; -1: none. Nothing is inside copies of a loop
 * body, nor inside one of two loops that are one; at the vector loop is inside the loop over vectors. */
int draft_innermost(const GroupLoop *loops, int count);
/* The same for a node with a nest: nothing that its bounds read is inside its steps. */
int draft_innermost_of(const Draft *d, int s);

#endif
