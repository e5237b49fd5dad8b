/* SPDX-License-Identifier: MIT */
/* time_tile: the steps of an update in diamonds.
 *
 * Takes   the loops over the steps t and an argument y of an update, whose dependences are (m, k): m steps on, at most
 *         k coordinates away (legal/time_distances.h).
 * Gives   waves, one after the other; in a wave tiles, in parallel; in a tile its steps and coordinates.
 * Holds   Let s >= |k| / m for all dependences. Then u = s t + y and v = s t - y grow along each. Tiles are [B p, B p +
 *         B) x [B q, B q + B) of (u, v), and waves are p + q: two tiles of a wave of which one depends on the other are
 *         the same. Storage that keeps F steps adds dependences: what is read m steps later is overwritten F steps
 *         later, F - m steps after the read. A tile may run in pieces along a second argument z: s' t + z grows along
 *         each dependence, too, so its pieces follow one another. If z is split by a factor f, as for vectors, blocks
 *         of f coordinates belong to the piece of their first one. Where one reads k coordinates away, the first
 *         coordinates of the two blocks are at most k + f - 1 apart: that is their distance, and s' is a multiple of f
 *         so that blocks of all steps begin at the same places. Where clamped reads may be further away than s allows,
 *         all is one tile, which is the order without tiles.
 * From    Bondhugula et al. 2017, section 3; Grosser et al. 2014. */
#include "lower/loops/build.h"

enum { ONE_TILE = 1 << 27 };

/* The least slope that all dependences allow, of blocks of so many coordinates: a multiple of that. */
static int64_t slope_of(Build *b, const PlanDef *def, const TimeDistances *t, int64_t block)
{
    const int64_t fold  = b->fold[def->func->id][t->time_dim];
    int64_t       slope = 1;
    for (int i = 0; i < t->read_count; i++) {
        const TimeRead *r    = &t->reads[i];
        const int64_t   away = r->reach + block - 1;
        int64_t         need = (away + r->back - 1) / r->back;
        slope                = need > slope ? need : slope;
        if (fold > r->back) {
            need  = (away + fold - r->back - 1) / (fold - r->back);
            slope = need > slope ? need : slope;
        }
    }
    return (slope + block - 1) / block * block;
}

static const Expr *times(Lower *lw, const Expr *a, int64_t factor)
{
    return factor == 1 ? a : x_op(lw, EX_MUL, a, x_int(lw, factor));
}

/* The condition that clamped reads are as far away as they were before clamping. */
static const Expr *reaches_hold(Build *b, const LoopNest *n, const TimeDistances *t)
{
    Lower      *lw = b->lw;
    const Expr *c  = NULL;
    for (int i = 0; i < t->below_count; i++)
        c = x_and(lw, c, x_le(lw, t->below[i], n->box.min[t->dim]));
    for (int i = 0; i < t->above_count; i++)
        c = x_and(lw, c, x_le(lw, n->box.max[t->dim], t->above[i]));
    return c;
}

/* A loop around what follows. */
static const Expr *open(Build *b, Prelude *w, const char *name, const Expr *first, const Expr *last)
{
    BoundName scope = { .name = name, .kind = LOOP_PARALLEL, .min = first };
    vec_push(b->lw->arena, &b->names, scope);
    simplifier_push_range(b->lw->simplifier, name, first, last);
    w->pushed++;
    return x_var(b->lw, name);
}

/* Coordinates from 0 on, or times a slope, beyond which an i32 might not hold what is made of them. */
static void check_small(Build *b, TimeTiles *tt, const PlanDef *def, const Expr *steps, int64_t slope, const Expr *last)
{
    Lower      *lw   = b->lw;
    const Expr *most = x_op(lw, EX_ADD, x_op(lw, EX_MUL, x_cast(lw, KN_I64, steps), expr_int(lw->exprs, KN_I64, slope)),
                            x_cast(lw, KN_I64, last));
    prelude_before(
        b, &tt->outside,
        build_check(b, KN_ERROR_BOUNDS, x_le(lw, most, expr_int(lw->exprs, KN_I64, ONE_TILE - 1)),
                    arena_printf(lw->arena, "the update of `%s` has too many steps for time_tile", def->func->name)));
}

/* The size of tiles, or all in one where clamped reads are too far away. */
static const Expr *size_if(Build *b, TimeTiles *tt, const LoopNest *n, const TimeDistances *t, int64_t size,
                           const char *name)
{
    Lower      *lw   = b->lw;
    const Expr *hold = reaches_hold(b, n, t), *usual = x_int(lw, size);
    return hold ? prelude_let(b, &tt->outside, name, x_select(lw, hold, usual, x_int(lw, ONE_TILE))) : usual;
}

void time_tiles_open(Build *b, LoopNest *n, TimeTiles *tt)
{
    Lower              *lw  = b->lw;
    const PlanDef      *def = n->def;
    const PlanTimeTile *t   = &def->time_tile;
    const int           d   = t->distances.dim;
    const char         *f   = arena_printf(lw->arena, "%s.u%d", def->func->name, def->update);
#define NAME(what) intern(lw->cx, arena_printf(lw->arena, "%s." what, f))
    *tt = (TimeTiles){ .slope = slope_of(b, def, &t->distances, 1) };
    nest_range(b, n, def->loops[t->loop].var);
    const NestVar *steps = nest_find(n, def->loops[t->loop].var);
    const Expr    *one = x_int(lw, 1), *s = x_int(lw, tt->slope), *twice = x_int(lw, 2 * tt->slope);
    prelude_open(b, &tt->outside);
    tt->first      = prelude_let(b, &tt->outside, NAME("first"), steps->min);
    const Expr *t1 = prelude_let(b, &tt->outside, NAME("steps"), x_sub(lw, steps->extent, one)); /* the last, from 0 */
    tt->min        = n->box.min[d];
    tt->h = prelude_let(b, &tt->outside, NAME("height"), x_sub(lw, n->box.max[d], n->box.min[d])); /* the last */
    const Expr *most = x_add(lw, times(lw, t1, 2 * tt->slope), tt->h);
    check_small(b, tt, def, t1, 2 * tt->slope, tt->h);
    tt->size                = size_if(b, tt, n, &t->distances, t->size, NAME("size"));
    const Expr *across_last = NULL;
    if (t->piece) {
        const int k       = t->across.dim;
        tt->across_factor = t->factor;
        tt->across_slope  = slope_of(b, def, &t->across, t->factor);
        tt->across_min    = n->box.min[k];
        across_last       = prelude_let(b, &tt->outside, NAME("across"), x_sub(lw, n->box.max[k], n->box.min[k]));
        check_small(b, tt, def, t1, tt->across_slope, across_last);
        tt->piece_size = size_if(b, tt, n, &t->across, t->piece, NAME("piece.size"));
    }
    const Expr *b2 = x_op(lw, EX_MUL, tt->size, x_int(lw, 2));
    /* (u + v) / B - 1 <= p + q <= (u + v) / B, and u + v is from h to most */
    tt->wave_first        = prelude_let(b, &tt->outside, NAME("wave.first"),
                                        x_max(lw, x_int(lw, 0), x_sub(lw, x_op(lw, EX_DIV, tt->h, tt->size), one)));
    const Expr *wave_last = prelude_let(b, &tt->outside, NAME("wave.last"), x_op(lw, EX_DIV, most, tt->size));
    tt->waves             = x_extent(lw, tt->wave_first, wave_last);

    prelude_open(b, &tt->inside);
    tt->wave_name    = NAME("wave");
    const Expr *wave = open(b, &tt->inside, tt->wave_name, tt->wave_first, wave_last);
    const Expr *from = x_sub(lw, x_op(lw, EX_MUL, tt->size, wave), tt->h); /* 2 s t >= this */
    tt->from =
        prelude_let(b, &tt->inside, NAME("from"),
                    x_max(lw, x_int(lw, 0), x_op(lw, EX_DIV, x_add(lw, from, x_int(lw, 2 * tt->slope - 1)), twice)));
    tt->to = prelude_let(b, &tt->inside, NAME("to"),
                         x_min(lw, t1, x_op(lw, EX_DIV, x_sub(lw, x_add(lw, from, b2), x_int(lw, 2)), twice)));
    const Expr *least =
        prelude_let(b, &tt->inside, NAME("tile.least"), x_op(lw, EX_DIV, x_op(lw, EX_MUL, tt->from, s), tt->size));
    const Expr *most_p    = prelude_let(b, &tt->inside, NAME("tile.most"),
                                        x_op(lw, EX_DIV, x_add(lw, x_op(lw, EX_MUL, tt->to, s), tt->h), tt->size));
    tt->tile_first        = prelude_let(b, &tt->inside, NAME("tile.first"), x_max(lw, least, x_sub(lw, wave, most_p)));
    const Expr *tile_last = prelude_let(b, &tt->inside, NAME("tile.last"), x_min(lw, most_p, x_sub(lw, wave, least)));
    tt->tiles             = x_extent(lw, tt->tile_first, tile_last);

    prelude_open(b, &tt->in_tile);
    tt->tile_name    = NAME("tile");
    const Expr *tile = open(b, &tt->in_tile, tt->tile_name, tt->tile_first, tile_last);
    tt->u            = prelude_let(b, &tt->in_tile, NAME("tile.u"), x_op(lw, EX_MUL, tile, tt->size));
    tt->v            = prelude_let(b, &tt->in_tile, NAME("tile.v"), x_op(lw, EX_MUL, x_sub(lw, wave, tile), tt->size));
    prelude_open(b, &tt->in_piece);
    if (!t->piece)
        return;
    /* across + slope * (t - from) is in a piece: it grows along each dependence */
    const Expr *far = x_add(lw, across_last, times(lw, x_sub(lw, tt->to, tt->from), tt->across_slope));
    tt->piece_name  = NAME("piece");
    tt->pieces = prelude_let(b, &tt->in_tile, NAME("pieces"), x_add(lw, x_op(lw, EX_DIV, far, tt->piece_size), one));
    open(b, &tt->in_piece, tt->piece_name, x_int(lw, 0), x_sub(lw, tt->pieces, one));
#undef NAME
}

void time_tiles_steps(Build *b, const TimeTiles *tt, const Expr **min, const Expr **extent)
{
    *min    = x_add(b->lw, tt->first, tt->from);
    *extent = x_extent(b->lw, tt->from, tt->to);
}

void time_tiles_along(Build *b, const TimeTiles *tt, const char *steps, const Expr **min, const Expr **extent)
{
    Lower      *lw = b->lw;
    const Expr *st = times(lw, x_sub(lw, x_var(lw, steps), tt->first), tt->slope), *one = x_int(lw, 1);
    /* u = s t + y - min is in the tile, and so is v = s t + max - y */
    const Expr *low =
        x_max(lw, x_sub(lw, tt->u, st), x_add(lw, x_sub(lw, x_add(lw, st, tt->h), x_add(lw, tt->v, tt->size)), one));
    const Expr *high =
        x_min(lw, x_sub(lw, x_sub(lw, x_add(lw, tt->u, tt->size), one), st), x_sub(lw, x_add(lw, st, tt->h), tt->v));
    const Expr *last = x_sub(lw, x_add(lw, *min, *extent), one);
    const Expr *from = x_max(lw, *min, x_add(lw, tt->min, low)), *to = x_min(lw, last, x_add(lw, tt->min, high));
    *min    = from;
    *extent = x_extent(lw, from, to);
}

/* a / factor, rounded down. */
static const Expr *blocks(Lower *lw, const Expr *a, int64_t factor)
{
    return factor == 1 ? a : x_op(lw, EX_DIV, a, x_int(lw, factor));
}

void time_tiles_across(Build *b, const TimeTiles *tt, const char *steps, const Expr *begin, const Expr **min,
                       const Expr **extent)
{
    Lower        *lw = b->lw;
    const int64_t f  = tt->across_factor;
    const Expr   *t = x_sub(lw, x_sub(lw, x_var(lw, steps), tt->first), tt->from), *one = x_int(lw, 1);
    const Expr   *low =
        x_sub(lw, x_op(lw, EX_MUL, x_var(lw, tt->piece_name), tt->piece_size), times(lw, t, tt->across_slope));
    if (f == 1)
        low = x_add(lw, tt->across_min, low);
    else /* of the first coordinate of block 0, which is `begin` */
        low = x_sub(lw, low, x_sub(lw, begin, tt->across_min));
    const Expr *end  = x_sub(lw, x_add(lw, low, tt->piece_size), one);
    const Expr *last = x_sub(lw, x_add(lw, *min, *extent), one);
    const Expr *from = x_max(lw, *min, blocks(lw, x_add(lw, low, x_int(lw, f - 1)), f));
    const Expr *to   = x_min(lw, last, blocks(lw, end, f));
    *min             = from;
    *extent          = x_extent(lw, from, to);
}

const Stmt *time_tiles_close(Build *b, TimeTiles *tt, const Stmt *steps)
{
    Arena      *a = b->lw->arena;
    const Stmt *s = prelude_close(b, &tt->in_piece, steps);
    if (tt->pieces)
        s = stmt_for(a, tt->piece_name, LOOP_SERIAL, x_int(b->lw, 0), tt->pieces, s);
    s = prelude_close(b, &tt->in_tile, s);
    s = stmt_for(a, tt->tile_name, LOOP_PARALLEL, tt->tile_first, tt->tiles, s);
    s = prelude_close(b, &tt->inside, s);
    s = stmt_for(a, tt->wave_name, LOOP_SERIAL, tt->wave_first, tt->waves, s);
    return prelude_close(b, &tt->outside, s);
}
