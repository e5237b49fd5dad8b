/* SPDX-License-Identifier: MIT */
/* Levels: the tree that they make. Each step outward leaves the loops of one definition. */
#include "legal/levels.h"

#include <stddef.h>

static const TreeLevel root = { NULL, -1 };

bool tree_encloses(const LevelTree *t, TreeLevel outer, TreeLevel inner)
{
    while (outer.def && inner.def && outer.def != inner.def)
        inner = t->around(t->of, inner.def);
    return !outer.def || (inner.def && inner.loop >= outer.loop);
}

static int depth(const LevelTree *t, TreeLevel l)
{
    int n = 0;
    for (; l.def; n++)
        l = t->around(t->of, l.def);
    return n;
}

TreeLevel tree_around_both(const LevelTree *t, TreeLevel a, TreeLevel b)
{
    int da = depth(t, a), db = depth(t, b);
    while (a.def != b.def) {
        const bool move_a = da >= db, move_b = db >= da;
        if (move_a) {
            a = t->around(t->of, a.def);
            da--;
        }
        if (move_b) {
            b = t->around(t->of, b.def);
            db--;
        }
    }
    return a.def && a.loop < b.loop ? a : b;
}

TreeLevel tree_within(const LevelTree *t, TreeLevel level, const void *def)
{
    while (level.def && level.def != def)
        level = t->around(t->of, level.def);
    return level;
}

TreeLevel tree_parallel_between(const LevelTree *t, TreeLevel store, TreeLevel compute)
{
    while (compute.def && !tree_same(compute, store)) {
        if (t->is_parallel(t->of, compute))
            return compute;
        compute = compute.loop ? (TreeLevel){ compute.def, compute.loop - 1 } : t->around(t->of, compute.def);
    }
    return root;
}
