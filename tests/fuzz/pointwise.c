/* SPDX-License-Identifier: MIT */
/* What a pipeline means, straight from the definition.
 *
 * For a point p of f and an update u the free variables are p's own coordinates. So u's writes to p are, in
 * lexicographic order of its reduction variables, the steps s within the bounds and the condition at which args(s) = p.
 * A self reference at step s is the value f(q) had just before: of q's writes by u the last one at a step < s, else
 * what u found there. Histories are extended as far as asked for, and no further: that is what makes recurrences and
 * time loops well founded. */
#include "pointwise.h"
#include "expansion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RVARS = KN_MAX_RANK * 2, MOST_DEPTH = 6000 };

typedef struct Write {
    int64_t step[MOST_RVARS];
    Number *values;
} Write;

/* What one update does to one point, as far as it is known. */
typedef struct History {
    Write  *writes;
    int     count, capacity;
    bool    done; /* all steps are known; else those before `next` */
    bool    begun;
    int64_t next[MOST_RVARS];
} History;

typedef struct Point Point;
struct Point {
    Point      *chain;
    const Func *func;
    int64_t     at[KN_MAX_RANK];
    Number     *pure;    /* NULL until known */
    History    *history; /* per update */
};

typedef struct Block Block;
struct Block {
    Block *next;
};

enum { BUCKETS = 1 << 14 };

struct Pointwise {
    const kn_pipeline      *p;
    const kn_buffer *const *inputs;
    const kn_scalar        *params;
    Expansions             *expansions;
    uint64_t                work;
    int                     depth;
    Block                  *blocks;
    Point                  *bucket[BUCKETS];
    char                    why[200];
    jmp_buf                 out;
};

/* Where an expression is evaluated: the point, and if it belongs to an update the step. */
typedef struct Spot {
    const Point   *point;
    const Update  *update; /* NULL: the pure definition */
    int            index;  /* of the update */
    int            bound;  /* reduction variables that have a value */
    const int64_t *step;
} Spot;

static Number evaluate(Pointwise *pw, const Spot *place, const Expr *e);

/* ---- Memory ----------------------------------------------------------------------------- */

static void *remember(Pointwise *pw, size_t size)
{
    Block *b = calloc(1, sizeof *b + size);
    if (!b)
        longjmp(pw->out, POINTWISE_TIRED);
    b->next    = pw->blocks;
    pw->blocks = b;
    return b + 1;
}

static void spend(Pointwise *pw)
{
    if (!pw->work || pw->depth > MOST_DEPTH)
        longjmp(pw->out, POINTWISE_TIRED);
    pw->work--;
}

static Point *find_point(Pointwise *pw, const Func *f, const int64_t *at)
{
    uint64_t hash = (uint64_t)f->id * 0x9E3779B97F4A7C15u;
    for (int d = 0; d < f->rank; d++)
        hash = (hash ^ (uint64_t)at[d]) * 0x100000001B3u + (hash >> 29);
    Point **head = &pw->bucket[(hash ^ hash >> 31) % BUCKETS];
    for (Point *p = *head; p; p = p->chain)
        if (p->func == f && !memcmp(p->at, at, (size_t)f->rank * sizeof *at))
            return p;
    Point *p = remember(pw, sizeof *p);
    *p = (Point){ .chain = *head, .func = f, .history = remember(pw, sizeof(History) * ((size_t)f->update_count + 1)) };
    memcpy(p->at, at, (size_t)f->rank * sizeof *at);
    *head = p;
    return p;
}

/* ---- Histories -------------------------------------------------------------------------- */

/* Is step a before step b? */
static bool before(const int64_t *a, const int64_t *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

static int64_t index_at(Pointwise *pw, const Spot *place, const Expr *e)
{
    return evaluate(pw, place, e).as.i;
}

/* The next step of the domain: variable i has a value (or, if `fresh`, begins at its lower bound), those after it begin
 * anew. Where a range is empty or exhausted, the variable before goes on. False: there are no more. */
static bool settle(Pointwise *pw, Spot *place, int64_t *step, int i, bool fresh)
{
    const Update *u = place->update;
    place->step     = step;
    while (i >= 0 && i < u->rvar_count) {
        spend(pw);
        place->bound     = i;
        const int64_t lo = index_at(pw, place, u->rvars[i].lo), hi = index_at(pw, place, u->rvars[i].hi);
        step[i] = fresh ? lo : step[i] + 1;
        fresh   = step[i] < hi;
        i += fresh ? 1 : -1;
    }
    return i >= 0;
}

static bool reads(const Expr *e)
{
    bool yes = e->op == EX_CALL;
    for (uint32_t i = 0; i < e->count; i++)
        yes = yes || reads(e->args[i]);
    return yes;
}

/* Is the place that this step writes to another one, as far as the arguments show that do (or do not) read
 * something? */
static bool elsewhere(Pointwise *pw, const Spot *place, bool that_read)
{
    const Update *u = place->update;
    for (int d = 0; d < place->point->func->rank; d++)
        if (!u->is_free[d] && reads(u->args[d]) == that_read && index_at(pw, place, u->args[d]) != place->point->at[d])
            return true;
    return false;
}

/* Does this step write to the point? Then what. The condition may guard the arguments, so they come after it; but what
 * goes elsewhere is of no concern here, and its condition need not be looked at. */
static void run_step(Pointwise *pw, Spot *place, History *h)
{
    const Update *u = place->update;
    const Func   *f = place->point->func;
    place->bound    = u->rvar_count;
    if (elsewhere(pw, place, false) || (u->where && !evaluate(pw, place, u->where).as.i) || elsewhere(pw, place, true))
        return;
    Write w = { .values = remember(pw, sizeof(Number) * (size_t)f->component_count) };
    memcpy(w.step, place->step, sizeof w.step);
    for (int c = 0; c < f->component_count; c++)
        w.values[c] = evaluate(pw, place, u->values[c]);
    if (h->count == h->capacity) {
        const int room = h->capacity ? h->capacity * 2 : 4;
        Write    *more = remember(pw, sizeof(Write) * (size_t)room);
        if (h->count)
            memcpy(more, h->writes, sizeof(Write) * (size_t)h->count);
        h->writes   = more;
        h->capacity = room;
    }
    h->writes[h->count++] = w;
}

/* Makes the writes of update `index` to the point known, up to but not including `until` (NULL: all). */
static void extend(Pointwise *pw, Point *p, int index, const int64_t *until)
{
    History  *h     = &p->history[index];
    Spot      place = { .point = p, .update = &p->func->updates[index], .index = index };
    const int n     = place.update->rvar_count;
    if (!h->begun) {
        h->begun                 = true;
        int64_t step[MOST_RVARS] = { 0 };
        h->done                  = !settle(pw, &place, step, 0, true);
        memcpy(h->next, step, sizeof step);
    }
    while (!h->done && (!until || before(h->next, until, n))) {
        int64_t step[MOST_RVARS];
        memcpy(step, h->next, sizeof step);
        place.step = step;
        run_step(pw, &place, h);
        h->done = !settle(pw, &place, step, n - 1, false);
        memcpy(h->next, step, sizeof step);
    }
}

static const Number *pure_values(Pointwise *pw, Point *p)
{
    if (!p->pure) {
        const Spot place  = { .point = p };
        Number    *values = remember(pw, sizeof(Number) * (size_t)p->func->component_count);
        for (int c = 0; c < p->func->component_count; c++)
            values[c] = evaluate(pw, &place, p->func->values[c]);
        p->pure = values;
    }
    return p->pure;
}

/* The values after the updates before `index` and, of that one, its steps before `until` (NULL: all of them). */
static const Number *values_at(Pointwise *pw, Point *p, int index, const int64_t *until)
{
    for (; index >= 0; index--, until = NULL) {
        if (index >= p->func->update_count)
            continue;
        extend(pw, p, index, until);
        const History *h = &p->history[index];
        for (int i = h->count - 1; i >= 0; i--)
            if (!until || before(h->writes[i].step, until, p->func->updates[index].rvar_count))
                return h->writes[i].values;
    }
    return pure_values(pw, p);
}

/* ---- Expressions ------------------------------------------------------------------------ */

static Number variable(const Spot *place, const Expr *e)
{
    const Update *u = place->update;
    for (int i = 0; u && i < place->bound; i++)
        if (u->rvars[i].name == e->u.name)
            return number_int(e->type, place->step[i]);
    for (int d = 0; d < place->point->func->rank; d++)
        if (place->point->func->args[d] == e->u.name)
            return number_int(e->type, place->point->at[d]);
    return number_int(e->type, 0);
}

static Number parameter(Pointwise *pw, const Expr *e)
{
    size_t i = 0;
    while (pw->p->params.at[i] != e->u.param)
        i++;
    const kn_scalar v = pw->params[i];
    return number_cast(e->type, v.is_float ? number_float(KN_F64, v.as.f) : number_int(KN_I64, v.as.i), false);
}

__attribute__((noreturn)) static void give_up(Pointwise *pw, PointwiseStatus status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(pw->why, sizeof pw->why, format, args);
    va_end(args);
    longjmp(pw->out, status);
}

static Number read_input(Pointwise *pw, const Spot *place, const Func *f, const int64_t *at)
{
    const kn_buffer *b      = pw->inputs[f->id];
    int64_t          offset = 0;
    for (int d = 0; d < f->rank; d++) {
        const int64_t step = at[d] - b->dim[d].min;
        if (step < 0 || step >= b->dim[d].extent)
            give_up(pw, POINTWISE_OUTSIDE, "`%s` at (%lld, %lld …), %s %d, reads `%s` outside: dimension %d at %lld",
                    place->point->func->name, (long long)place->point->at[0], (long long)place->point->at[1],
                    place->update ? "update" : "pure", place->index, f->name, d, (long long)at[d]);
        offset += step * b->dim[d].stride;
    }
    return number_load(b->type, (const char *)b->data + offset * (int64_t)kn_type_size(b->type));
}

static Number call(Pointwise *pw, const Spot *place, const Expr *e)
{
    const Func *f = e->u.call.func;
    int64_t     at[KN_MAX_RANK];
    for (int d = 0; d < f->rank; d++)
        at[d] = index_at(pw, place, e->args[d]);
    if (f->kind == FUNC_INPUT)
        return read_input(pw, place, f, at);
    if (f->kind != FUNC_DEFINED)
        give_up(pw, POINTWISE_UNKNOWN, "`%s` is not a function of the language", f->name);
    Point *p = find_point(pw, f, at);
    if (f == place->point->func && place->update)
        return values_at(pw, p, place->index, place->step)[e->u.call.index];
    return values_at(pw, p, f->update_count - 1, NULL)[e->u.call.index];
}

static Number leaf(Pointwise *pw, const Spot *place, const Expr *e)
{
    const kn_buffer *b = e->op == EX_DIM_MIN || e->op == EX_DIM_EXTENT ? pw->inputs[e->u.call.func->id] : NULL;
    switch ((ExprOp)e->op) {
    case EX_INT: return number_int(e->type, e->type == KN_U64 ? (__int128)(uint64_t)e->u.i : e->u.i);
    case EX_FLOAT: return number_float(e->type, e->u.f);
    case EX_VAR: return variable(place, e);
    case EX_PARAM: return parameter(pw, e);
    case EX_DIM_MIN: return number_int(e->type, b->dim[e->u.call.index].min);
    case EX_DIM_EXTENT: return number_int(e->type, b->dim[e->u.call.index].extent);
    case EX_CALL: return call(pw, place, e);
    default: give_up(pw, POINTWISE_UNKNOWN, "`%s` is not known", expr_op_table[e->op].name);
    }
}

static Number evaluate(Pointwise *pw, const Spot *place, const Expr *e)
{
    Number r, a[3];
    spend(pw);
    pw->depth++;
    if (e->op <= EX_EXTERN) {
        r = leaf(pw, place, e);
    } else if (e->op == EX_AND || e->op == EX_OR) {
        r = evaluate(pw, place, e->args[0]);
        if ((e->op == EX_AND) == (r.as.i != 0))
            r = evaluate(pw, place, e->args[1]);
    } else if (e->op == EX_SELECT) {
        r = evaluate(pw, place, e->args[evaluate(pw, place, e->args[0]).as.i ? 1 : 2]);
    } else {
        for (uint32_t i = 0; i < e->count; i++)
            a[i] = evaluate(pw, place, e->args[i]);
        if (!expansions_apply(pw->expansions, e->op, a, &r) && !number_apply(e->op, e->type, (int)e->count, a, &r))
            give_up(pw, POINTWISE_UNKNOWN, "`%s` is not known", expr_op_table[e->op].name);
    }
    pw->depth--;
    return r;
}

/* ---- The interface ---------------------------------------------------------------------- */

Pointwise *pointwise_new(const kn_pipeline *p, const kn_buffer *const *inputs, const kn_scalar *params, uint64_t work)
{
    Pointwise *pw = calloc(1, sizeof *pw);
    if (!pw)
        return NULL;
    *pw = (Pointwise){ .p = p, .inputs = inputs, .params = params, .work = work, .expansions = expansions_new() };
    if (!pw->expansions) {
        free(pw);
        return NULL;
    }
    return pw;
}

void pointwise_free(Pointwise *pw)
{
    while (pw && pw->blocks) {
        Block *b   = pw->blocks;
        pw->blocks = b->next;
        free(b);
    }
    if (pw)
        expansions_free(pw->expansions);
    free(pw);
}

const char *pointwise_why(const Pointwise *pw)
{
    return pw->why;
}

PointwiseStatus pointwise_value(Pointwise *pw, const Func *f, int component, const int64_t *at, Number *out)
{
    pw->depth        = 0;
    const int status = setjmp(pw->out);
    if (status)
        return (PointwiseStatus)status;
    *out = values_at(pw, find_point(pw, f, at), f->update_count - 1, NULL)[component];
    return POINTWISE_OK;
}
