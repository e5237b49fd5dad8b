/* SPDX-License-Identifier: MIT */
/* Boxes of coordinates: their names, those of the caller's buffers, and those that bound and align_bounds widen. */
#include "lower/loops/build.h"

const char *level_name(PlanLevel level)
{
    return level.def ? level.def->loops[level.loop].var : "root";
}

const char *region_name(Build *b, const Func *f, int d, const char *what, PlanLevel level)
{
    const PlanFunc *pf = plan_func(b->plan, f);
    Arena          *a  = b->lw->arena;
    if (level_same(level, pf->compute))
        return arena_printf(a, "%s.%s", f->args[d], what);
    if (level_same(level, pf->store))
        return arena_printf(a, "%s.%s.stored", f->args[d], what);
    return arena_printf(a, "%s.%s@%s", f->args[d], what, level_name(level));
}

const Buffer *port_buffer(Build *b, const Func *f, int component)
{
    const Program *p = b->lw->program;
    if (f->id >= 0 && b->ports[f->id])
        f = b->ports[f->id];
    for (int i = 0; i < p->port_count; i++)
        if (b->lw->ports.at[i] == f && p->buffers.at[i]->component == component)
            return p->buffers.at[i];
    return NULL;
}

SymBox port_box(Build *b, const Func *f)
{
    Lower      *lw   = b->lw;
    const char *name = port_buffer(b, f, 0)->name;
    SymBox      box  = { 0 };
    for (int d = 0; d < f->rank; d++) {
        box.min[d] = x_var(lw, arena_printf(lw->arena, "%s.min.%d", name, d));
        box.max[d] =
            x_add(lw, box.min[d], x_sub(lw, x_var(lw, arena_printf(lw->arena, "%s.extent.%d", name, d)), x_int(lw, 1)));
    }
    return box;
}

SymBox storage_box(Build *b, const Func *f)
{
    return f->kind == FUNC_INPUT ? port_box(b, f) : b->stored[f->id];
}

const Expr *box_extent(Build *b, const SymBox *box, int d)
{
    return x_extent(b->lw, box->min[d], box->max[d]);
}

const Expr *box_nonempty(Build *b, const SymBox *box, int rank)
{
    const Expr *c = NULL;
    for (int d = 0; d < rank; d++)
        c = x_and(b->lw, c, x_le(b->lw, box->min[d], box->max[d]));
    return c;
}

bool box_same(const SymBox *a, const SymBox *b, int rank)
{
    for (int d = 0; d < rank; d++)
        if (a->min[d] != b->min[d] || a->max[d] != b->max[d])
            return false;
    return true;
}

bool slide_moves(const Slide *s, int d)
{
    for (int i = 0; i < s->count; i++)
        if (s->dims[i] == d)
            return true;
    return false;
}

bool box_widens(Build *b, const Func *f, int d)
{
    const PlanFunc *pf = plan_func(b->plan, f);
    return (pf->bound_min[d] || (pf->align_factor[d] && !is_of_march(b, f))) && !slide_moves(&b->slides[f->id], d);
}

/* bound: the promised box. align_bounds: the ends moved outward. Not along a dimension that a sliding window moves
 * along. */
SymBox box_widened(Build *b, const Func *f, SymBox box)
{
    Lower          *lw = b->lw;
    const PlanFunc *pf = plan_func(b->plan, f);
    for (int d = 0; d < f->rank; d++) {
        if (!box_widens(b, f, d))
            continue;
        if (pf->bound_min[d]) {
            box.min[d] = pf->bound_min[d];
            box.max[d] = x_sub(lw, x_add(lw, pf->bound_min[d], pf->bound_extent[d]), x_int(lw, 1));
        }
        if (pf->align_factor[d] && !is_of_march(b, f)) {
            const Expr *m = x_int(lw, pf->align_factor[d]),
                       *o = pf->align_offset[d] ? pf->align_offset[d] : x_int(lw, 0);
            box.min[d]    = x_add(lw, x_op(lw, EX_MUL, x_op(lw, EX_DIV, x_sub(lw, box.min[d], o), m), m), o);
            const Expr *n = x_add(lw, x_sub(lw, box.max[d], box.min[d]), m);
            box.max[d]    = x_sub(lw, x_add(lw, box.min[d], x_op(lw, EX_MUL, x_op(lw, EX_DIV, n, m), m)), x_int(lw, 1));
        }
    }
    return box;
}
