/* SPDX-License-Identifier: MIT */
/* Levels: where a function is computed or stored. A level is inside one loop of one definition, or root.
 *
 *   uses      a function is computed at a level around every read of it
 *   storage   is at the same level or one around it, with no parallel loop between, whose iterations would write to it
 *             at once */
#ifndef KILN_LEGAL_LEVELS_H
#define KILN_LEGAL_LEVELS_H

#include <stdbool.h>

/* `def` NULL: root. The pointer says which definition it is; only the tree's functions look behind it. */
typedef struct TreeLevel {
    const void *def;
    int         loop;
} TreeLevel;

/* What the levels are of: a plan or a draft. */
typedef struct LevelTree {
    const void *of;
    /* The level that a definition's outermost loop is at: where its function is computed. */
    TreeLevel (*around)(const void *of, const void *def);
    /* Is loop `loop` of the definition parallel? */
    bool (*is_parallel)(const void *of, TreeLevel level);
} LevelTree;

static inline bool tree_same(TreeLevel a, TreeLevel b)
{
    return a.def == b.def && (!a.def || a.loop == b.loop);
}

/* Is `inner` at `outer` or inside it? */
bool tree_encloses(const LevelTree *t, TreeLevel outer, TreeLevel inner);

/* The innermost level around both. */
TreeLevel tree_around_both(const LevelTree *t, TreeLevel a, TreeLevel b);

/* The innermost level of definition `def` around this one; root if it is not inside that definition. */
TreeLevel tree_within(const LevelTree *t, TreeLevel level, const void *def);

/* The innermost parallel loop that is around `compute` and inside `store`; root: there is none. */
TreeLevel tree_parallel_between(const LevelTree *t, TreeLevel store, TreeLevel compute);

#endif
