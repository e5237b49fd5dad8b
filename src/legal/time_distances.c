/* SPDX-License-Identifier: MIT */
/* How far an update reads back in its own steps.
 *
 * Takes   an update f(…, y, …, t) = … f(…, y+k, …, t-m) … for t in lo..hi.
 * Gives   for each number m of steps back the largest |k|.
 * Holds   a coordinate clamped to a range is no further away than the one before clamping, as long as y itself is in
 *         the range: that is noted.
 * From    Bondhugula et al. 2017: diamond tiling. */
#include "legal/time_distances.h"

typedef struct Distances {
    ExprPool      *pool;
    const Func    *func;
    int            update;
    const Expr    *time, *along; /* the variables */
    TimeDistances *out;
    bool           fault; /* a read is not understood */
} Distances;

/* e - along is from `least` to `most`. */
typedef struct Reach {
    int64_t least, most;
} Reach;

static bool note_end(const Expr **at, int *count, const Expr *e)
{
    for (int i = 0; i < *count; i++)
        if (at[i] == e)
            return true;
    if (*count == MOST_TIME_READS)
        return false;
    at[(*count)++] = e;
    return true;
}

static bool reach_of(Distances *s, const Expr *e, Reach *out);

/* min or max of a coordinate and of an end that is the same everywhere. */
static bool reach_of_clamp(Distances *s, const Expr *e, const Expr *coordinate, const Expr *end, Reach *out)
{
    if (def_variables(s->pool, s->func, s->update, end) || expr_reads_any(s->pool, end) ||
        !reach_of(s, coordinate, out))
        return false;
    if (e->op == EX_MIN) {
        out->least = out->least < 0 ? out->least : 0;
        return note_end(s->out->above, &s->out->above_count, end);
    }
    out->most = out->most > 0 ? out->most : 0;
    return note_end(s->out->below, &s->out->below_count, end);
}

static bool reach_of_both(Distances *s, const Expr *a, const Expr *b, Reach *out)
{
    Reach other;
    if (!reach_of(s, a, out) || !reach_of(s, b, &other))
        return false;
    out->least = other.least < out->least ? other.least : out->least;
    out->most  = other.most > out->most ? other.most : out->most;
    return true;
}

static bool reach_of(Distances *s, const Expr *e, Reach *out)
{
    int64_t k;
    if (expr_difference(e, s->along, &k)) {
        *out = (Reach){ k, k };
        return true;
    }
    if (e->op == EX_SELECT)
        return reach_of_both(s, e->args[1], e->args[2], out);
    if (e->op != EX_MIN && e->op != EX_MAX)
        return false;
    return reach_of_clamp(s, e, e->args[0], e->args[1], out) || reach_of_clamp(s, e, e->args[1], e->args[0], out) ||
           reach_of_both(s, e->args[0], e->args[1], out);
}

static void note_read(const Expr *e, void *user)
{
    Distances     *s = user;
    TimeDistances *t = s->out;
    Reach          r;
    int64_t        back;
    if (e->op != EX_CALL || e->u.call.func != s->func || s->fault)
        return;
    if (!expr_difference(s->time, e->args[t->time_dim], &back) || back < 1 || !reach_of(s, e->args[t->dim], &r)) {
        s->fault = true;
        return;
    }
    const int64_t reach = -r.least > r.most ? -r.least : r.most;
    s->fault            = reach > MOST_REACH * back;
    for (int i = 0; i < t->read_count; i++)
        if (t->reads[i].back == back) {
            t->reads[i].reach = reach > t->reads[i].reach ? reach : t->reads[i].reach;
            return;
        }
    if (t->read_count == MOST_TIME_READS)
        s->fault = true;
    else
        t->reads[t->read_count++] = (TimeRead){ back, reach };
}

/* The dimension along which the update writes the step's own number, or -1. */
static int time_dimension(const Func *f, const Update *u)
{
    for (int k = 0; k < f->rank; k++)
        if (!u->is_free[k] && u->args[k]->op == EX_VAR && u->args[k]->u.name == u->rvars[0].name)
            return k;
    return -1;
}

bool time_distances(ExprPool *pool, const Func *f, int update, int dim, TimeDistances *out)
{
    const Update *u = &f->updates[update];
    *out            = (TimeDistances){ .time_dim = u->rvar_count == 1 ? time_dimension(f, u) : -1, .dim = dim };
    if (out->time_dim < 0 || !u->is_free[dim])
        return false;
    Distances s = { pool, f,    update, expr_var(pool, KN_I32, u->rvars[0].name), expr_var(pool, KN_I32, f->args[dim]),
                    out,  false };
    for (int c = 0; c < f->component_count; c++)
        expr_visit(pool, u->values[c], note_read, &s);
    for (int k = 0; k < f->rank; k++)
        expr_visit(pool, u->args[k], note_read, &s);
    if (u->where)
        expr_visit(pool, u->where, note_read, &s);
    return !s.fault;
}
