/* SPDX-License-Identifier: MIT */
/* Random loops of one definition. See generate_schedule.h. */
#include "legal/scan.h"
#include "schedule_draft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Writing chains ---------------------------------------------------------------------- */

void speak_of(Scheduler *s, const char *name, int update)
{
    s->owner    = name;
    s->update   = update;
    s->is_begun = false;
}

void directive(Scheduler *s, const char *name)
{
    if (!s->is_begun) {
        emit(&s->g, "    %s", s->owner);
        if (s->update >= 0)
            emit(&s->g, ".update(%d)", s->update);
    }
    s->is_begun = true;
    emit(&s->g, ".%s(", name);
}

void end_chain(Scheduler *s)
{
    if (s->is_begun)
        emit(&s->g, "\n");
    s->is_begun = false;
}

/* ---- What is known of the pipeline ------------------------------------------------------- */

static bool def_has_float(const Def *d)
{
    for (int c = 0; c < d->func->component_count; c++)
        if (d->func->types[c] >= KN_F16)
            return true;
    return false;
}

typedef struct SelfSearch {
    const Func   *func;
    const Update *update;
    uint32_t      other_points; /* bit d: dimension d */
    bool          own_place, other_place;
} SelfSearch;

static void search_self(const Expr *e, void *user)
{
    SelfSearch *search = user;
    bool        own    = true;
    if (e->op != EX_CALL || e->u.call.func != search->func)
        return;
    for (int d = 0; d < search->func->rank; d++) {
        own = own && e->args[d] == search->update->args[d];
        if (search->update->is_free[d] && e->args[d] != search->update->args[d])
            search->other_points |= 1u << d;
    }
    *(own ? &search->own_place : &search->other_place) = true;
}

/* How an update reads its own function. */
static SelfSearch self_reads(Scheduler *s, const Func *f, const Update *u)
{
    SelfSearch search = { .func = f, .update = u };
    for (int c = 0; c < f->component_count; c++)
        expr_visit(&s->p->exprs, u->values[c], search_self, &search);
    for (int d = 0; d < f->rank; d++)
        expr_visit(&s->p->exprs, u->args[d], search_self, &search);
    if (u->where)
        expr_visit(&s->p->exprs, u->where, search_self, &search);
    return search;
}

/* Is each component's value an operation on itself that may be done in any order? */
static bool is_combination(const Func *f, const Update *u)
{
    static const ExprOp operations[] = { EX_ADD, EX_MUL, EX_MIN, EX_MAX, EX_SUB };
    bool                all          = true;
    for (int c = 0; c < f->component_count; c++) {
        const Expr *e     = u->values[c];
        bool        known = false;
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
            known = known || e->op == operations[i];
        all = all && known &&
              ((e->args[0]->op == EX_CALL && e->args[0]->u.call.func == f) ||
               (e->args[1]->op == EX_CALL && e->args[1]->u.call.func == f));
    }
    return all;
}

static void add_loop(Def *d, const char *name, bool is_reduction)
{
    if (d->count == MOST_LOOPS)
        return;
    d->loops[d->count] = (Loop){ .is_reduction = is_reduction };
    snprintf(d->loops[d->count++].name, NAME_SIZE, "%s", name);
}

void begin_def(Scheduler *s, Def *d, const Func *f, int index)
{
    *d = (Def){ .func     = f,
                .name     = f->name,
                .update   = index >= 0 ? &f->updates[index] : NULL,
                .index    = index,
                .is_known = index < 0,
                .is_open  = true };
    for (int i = 0; d->update && i < d->update->rvar_count; i++)
        add_loop(d, d->update->rvars[i].name, true);
    const SelfSearch self = d->update ? self_reads(s, f, d->update) : (SelfSearch){ 0 };
    for (int k = f->rank - 1; k >= 0; k--)
        if (!d->update || d->update->is_free[k]) {
            add_loop(d, f->args[k], false);
            d->loops[d->count - 1].stays_inside = self.other_points >> k & 1;
        }
    if (d->update) {
        d->other_points = self.other_points;
        d->combines     = self.own_place && !self.other_place && is_combination(f, d->update);
    }
}

void begin_copy(Def *d, const Func *f, const char *name)
{
    *d = (Def){ .func = f, .name = name, .index = -1, .is_known = true, .is_open = true };
    for (int k = f->rank - 1; k >= 0; k--)
        add_loop(d, f->args[k], false);
}

bool def_reads(Scheduler *s, const Def *d, const Func *g, bool bounds)
{
    ExprPool *pool = &s->p->exprs;
    bool      any  = false;
    if (!d->update) {
        for (int c = 0; d->func->kind == FUNC_DEFINED && !bounds && c < d->func->component_count; c++)
            any = any || expr_reads(pool, d->func->values[c], g);
        for (int i = 0; d->func->kind == FUNC_STAGE && bounds && i < d->func->stage_arg_count; i++)
            any = any || d->func->stage_args[i].func == g;
        return any;
    }
    for (int i = 0; bounds && i < d->update->rvar_count; i++)
        any = any || expr_reads(pool, d->update->rvars[i].lo, g) || expr_reads(pool, d->update->rvars[i].hi, g);
    for (int c = 0; !bounds && c < d->func->component_count; c++)
        any = any || expr_reads(pool, d->update->values[c], g);
    for (int k = 0; !bounds && k < d->func->rank; k++)
        any = any || expr_reads(pool, d->update->args[k], g);
    return any || (!bounds && d->update->where && expr_reads(pool, d->update->where, g));
}

/* ---- Loops ------------------------------------------------------------------------------- */

int some_factor(Gen *g)
{
    static const uint8_t factors[] = { 4, 8, 2, 3, 1, 5, 7, 16, 6, 4, 8, 2, 3, 32 };
    return factors[pick(g, sizeof factors)];
}

/* , tail: … or nothing. An update's points must not be computed twice. */
static void emit_tail(Scheduler *s, const Def *d)
{
    static const char *const tails[] = { "guard", "predicate", "round_up", "shift_inward" };
    if (chance(&s->g, 55))
        emit(&s->g, ", tail: %s", tails[pick(&s->g, d->update && !chance(&s->g, CARELESS) ? 2 : 4)]);
    emit(&s->g, ")");
}

/* A name for a part of a loop: "xo3". Each has a number of its own. */
static void part_name(Scheduler *s, const Loop *of, const char *suffix, char *to)
{
    snprintf(to, NAME_SIZE, "%.8s%s%d", of->name, suffix, ++s->numbered);
}

/* Puts two loops in the place of loop `at`. */
static void divide(Def *d, int at, const char *outer, const char *inner, int64_t factor)
{
    const Loop whole = d->loops[at];
    memmove(&d->loops[at + 1], &d->loops[at], (size_t)(d->count - at) * sizeof *d->loops);
    d->count++;
    d->loops[at] = d->loops[at + 1] = (Loop){ .is_reduction = whole.is_reduction, .stays_inside = whole.stays_inside };
    snprintf(d->loops[at].name, NAME_SIZE, "%s", outer);
    snprintf(d->loops[at + 1].name, NAME_SIZE, "%s", inner);
    d->loops[at + 1].extent = factor;
    d->is_changed           = true;
}

static void split(Scheduler *s, Def *d)
{
    const int at = (int)pick(&s->g, (uint32_t)d->count), factor = some_factor(&s->g);
    char      outer[NAME_SIZE], inner[NAME_SIZE];
    s->numbered++;
    part_name(s, &d->loops[at], "o", outer);
    part_name(s, &d->loops[at], "i", inner);
    directive(s, "split");
    emit(&s->g, "%s, %s, %s, %d", d->loops[at].name, outer, inner, factor);
    emit_tail(s, d);
    divide(d, at, outer, inner, factor);
}

/* Two neighbours; their parts go outer, outer, inner, inner. */
static void tile_as(Scheduler *s, Def *d, const char *name)
{
    const int at = d->count > 2 ? (int)pick(&s->g, (uint32_t)d->count - 1) : 0, fx = some_factor(&s->g),
              fy = some_factor(&s->g);
    char xo[NAME_SIZE], yo[NAME_SIZE], xi[NAME_SIZE], yi[NAME_SIZE];
    if (d->count < 2 || d->count > MOST_LOOPS - 3 || d->loops[at].is_reduction != d->loops[at + 1].is_reduction ||
        d->loops[at].is_reduction)
        return;
    s->numbered++;
    part_name(s, &d->loops[at + 1], "o", xo);
    part_name(s, &d->loops[at], "o", yo);
    part_name(s, &d->loops[at + 1], "i", xi);
    part_name(s, &d->loops[at], "i", yi);
    directive(s, name);
    emit(&s->g, "%s, %s, %s, %s, ", d->loops[at + 1].name, d->loops[at].name, xo, yo);
    emit(&s->g, "%s, %s, %d, %d", xi, yi, fx, fy);
    emit_tail(s, d);
    divide(d, at + 1, xo, xi, fx);
    divide(d, at, yo, yi, fy);
    const Loop kept  = d->loops[at + 1];
    d->loops[at + 1] = d->loops[at + 2];
    d->loops[at + 2] = kept;
    for (int i = 0; i < 4 && name[0] == 'g'; i++)
        *(i < 2 ? &d->loops[at + i].is_block : &d->loops[at + i].is_thread) = true;
}

static void tile(Scheduler *s, Def *d)
{
    tile_as(s, d, "tile");
}

static void fuse(Scheduler *s, Def *d)
{
    const int at = d->count > 1 ? (int)pick(&s->g, (uint32_t)d->count - 1) : 0;
    if (d->count < 2 || (d->loops[at].is_reduction != d->loops[at + 1].is_reduction && !chance(&s->g, CARELESS)))
        return;
    Loop *outer = &d->loops[at], *inner = &d->loops[at + 1],
         fused = { .is_reduction = outer->is_reduction || inner->is_reduction,
                   .stays_inside = outer->stays_inside || inner->stays_inside };
    s->numbered++;
    part_name(s, inner, "f", fused.name);
    fused.extent = outer->extent * inner->extent;
    directive(s, "fuse");
    emit(&s->g, "%s, %s, %s)", inner->name, outer->name, fused.name);
    *outer = fused;
    memmove(inner, inner + 1, (size_t)(d->count - at - 2) * sizeof *inner);
    d->count--;
    d->is_changed = true;
}

/* A random order in which reduction loops keep theirs, and are outside those over points of which steps read others. */
static void shuffle(Scheduler *s, Def *d)
{
    Loop      from[MOST_LOOPS];
    bool      outside[MOST_LOOPS];
    const int count = d->count;
    int       order[MOST_LOOPS], used = 0;
    memcpy(from, d->loops, sizeof from);
    for (int i = 0; i < count; i++) {
        order[i]   = i;
        outside[i] = from[i].is_reduction || (d->other_points && !from[i].stays_inside && chance(&s->g, 50));
    }
    for (int i = count - 1; i > 0; i--) {
        const int other = (int)pick(&s->g, (uint32_t)i + 1), kept = order[i];
        order[i]     = order[other];
        order[other] = kept;
    }
    const bool sorted = !chance(&s->g, CARELESS);
    for (int pass = 0; pass < (d->other_points ? 2 : 1); pass++) {
        int next = 0;
        for (int i = 0; i < count; i++) {
            if (d->other_points && outside[order[i]] != (pass == 0))
                continue;
            if (from[order[i]].is_reduction && sorted) {
                while (!from[next].is_reduction)
                    next++;
                d->loops[used++] = from[next++];
            } else {
                d->loops[used++] = from[order[i]];
            }
        }
    }
}

static void reorder(Scheduler *s, Def *d)
{
    if (d->count == 0)
        return;
    if (chance(&s->g, 60))
        shuffle(s, d);
    directive(s, "reorder");
    for (int i = d->count - 1; i >= 0; i--)
        emit(&s->g, "%s%s", d->loops[i].name, i ? ", " : ")");
    d->is_known = true;
}

/* vectorize, unroll or parallel: the whole loop where its extent is known, else with a factor. */
static void run_as(Scheduler *s, Def *d, int at, const char *kind)
{
    Loop      *loop  = &d->loops[at];
    const bool whole = (loop->extent > 0 && loop->extent <= 32) || kind[0] == 'p';
    directive(s, kind);
    emit(&s->g, "%s", loop->name);
    d->has_vector = d->has_vector || kind[0] == 'v';
    if (whole && chance(&s->g, kind[0] == 'p' ? 85 : 100)) {
        emit(&s->g, ")");
        loop->is_vector   = kind[0] == 'v';
        loop->is_parallel = kind[0] == 'p';
        return;
    }
    emit(&s->g, ", %d", some_factor(&s->g));
    emit_tail(s, d);
    loop->is_closed   = true;
    loop->is_parallel = kind[0] == 'p';
    d->is_changed     = true;
}

static bool has_vector_before(const Def *d, int at)
{
    for (int i = 0; i < at; i++)
        if (d->loops[i].is_vector)
            return true;
    return false;
}

/* A loop over free variables, the innermost (or outermost) one rather; -1 if there is none left. */
static int free_loop(Scheduler *s, const Def *d, bool innermost)
{
    int found[MOST_LOOPS], count = 0;
    for (int k = 0; k < d->count; k++) {
        const int   i = innermost ? d->count - 1 - k : k;
        const Loop *l = &d->loops[i];
        if ((!l->is_reduction || chance(&s->g, CARELESS)) && !l->is_vector && !l->is_parallel && !l->is_closed &&
            !l->is_block && !l->is_thread)
            found[count++] = i;
    }
    return count == 0 ? -1 : chance(&s->g, 70) ? found[0] : found[pick(&s->g, (uint32_t)count)];
}

/* Steps of a reduction at once: each store atomic. */
static void atomic_loops(Scheduler *s, Def *d)
{
    for (int i = 0; i < d->count; i++) {
        Loop *l = &d->loops[i];
        if (!l->is_reduction || l->is_vector || l->is_parallel || l->is_closed || !chance(&s->g, 50))
            continue;
        directive(s, "atomic");
        emit(&s->g, ")");
        run_as(s, d, i, d->has_vector || (!has_vector_before(d, i) && chance(&s->g, 50)) ? "parallel" : "vectorize");
        return;
    }
}

static void choose_kinds(Scheduler *s, Def *d)
{
    int at = !s->gpu && chance(&s->g, 30) ? free_loop(s, d, false) : -1;
    if (at >= 0)
        run_as(s, d, at, "parallel");
    at = chance(&s->g, 50) ? free_loop(s, d, true) : -1;
    for (int i = at + 1; at >= 0 && i < d->count; i++)
        if ((d->loops[i].is_parallel || d->loops[i].is_block || d->loops[i].is_thread) && !chance(&s->g, CARELESS))
            at = i + 1 < d->count && !d->loops[i + 1].is_closed ? i + 1 : -1;
    if (at >= 0 && !d->loops[at].is_reduction && !d->has_vector)
        run_as(s, d, at, "vectorize");
    at = chance(&s->g, 25) ? (int)pick(&s->g, (uint32_t)d->count) : -1;
    if (at >= 0 && !d->loops[at].is_vector && !d->loops[at].is_parallel && !d->loops[at].is_closed &&
        !d->loops[at].is_block && !d->loops[at].is_thread)
        run_as(s, d, at, "unroll");
    if (d->combines && !s->gpu && !def_has_float(d) && chance(&s->g, 2 * s->style->reductions))
        atomic_loops(s, d);
}

/* Of a kernel: blocks and threads, then what each thread does. */
static void choose_gpu_kinds(Scheduler *s, Def *d)
{
    const bool steps = d->combines && !def_has_float(d) && chance(&s->g, 4 * s->style->reductions);
    if (steps) {
        directive(s, "atomic");
        emit(&s->g, ")");
    }
    share_loops(s, d, steps);
    choose_kinds(s, d);
}

/* A condition on a parameter or on the size of an input, then perhaps other loops for where it holds. */
static void specialize(Scheduler *s, Def *d)
{
    const kn_pipeline *p = s->p;
    const Func        *input =
        p->funcs.count && p->funcs.at[0]->kind == FUNC_INPUT && p->funcs.at[0]->rank ? p->funcs.at[0] : NULL;
    Def version = *d;
    if (p->params.count && p->params.at[0]->type == KN_I32) {
        directive(s, "specialize");
        emit(&s->g, "%s > %u)", p->params.at[0]->name, (unsigned)pick(&s->g, 6));
    } else if (input) {
        directive(s, "specialize");
        emit(&s->g, "%s.%s.extent > %u)", input->name, input->args[0], (unsigned)(1 + pick(&s->g, 20)));
    } else {
        return;
    }
    if (chance(&s->g, 60) && d->count < MOST_LOOPS - 4 && !s->gpu) {
        split(s, &version);
        choose_kinds(s, &version);
    }
    d->is_open = false;
}

/* What the definition reads is fetched ahead. */
static void prefetch(Scheduler *s, const Def *d)
{
    const int at = (int)pick(&s->g, (uint32_t)d->count);
    for (int id = 0; id < d->func->id && !d->loops[at].is_vector && !has_vector_before(d, at); id++)
        if (def_reads(s, d, s->p->funcs.at[id], false)) {
            directive(s, "prefetch");
            emit(&s->g, "%s, %s, %u)", s->p->funcs.at[id]->name, d->loops[at].name, 1 + (unsigned)pick(&s->g, 4));
            s->drafts[id].is_prefetched = true;
            return;
        }
}

/* The steps in diamonds, along the outermost free argument; perhaps in pieces of the next one. */
static void time_tile(Scheduler *s, const Def *d)
{
    int dim = d->func->rank - 1;
    while (dim > 0 && !d->update->is_free[dim])
        dim--;
    if (dim > 0 && d->update->is_free[0] && chance(&s->g, 60)) {
        directive(s, "vectorize");
        emit(&s->g, "%s, 4)", d->func->args[0]);
    }
    directive(s, "time_tile");
    emit(&s->g, "%s, %s, %u", d->update->rvars[0].name, d->func->args[dim], 4 + (unsigned)pick(&s->g, 12));
    int inner = dim - 1;
    while (inner > 0 && !d->update->is_free[inner])
        inner--;
    if (inner > 0 && chance(&s->g, 50))
        emit(&s->g, ", %s, %u", d->func->args[inner], 4 + (unsigned)pick(&s->g, 8));
    emit(&s->g, ")");
    end_chain(s);
}

/* How a loop of partial results runs. */
static void emit_kind(Scheduler *s, const char *loop)
{
    static const struct {
        const char *name, *rest;
    } cpu[] = { { "vectorize", ", 4" }, { "parallel", "" }, { "unroll", ", 2" }, { "vectorize", ", 3, tail: guard" } },
      gpu[] = { { "gpu_threads", "" }, { "gpu_blocks", "" }, { "unroll", ", 2" }, { "vectorize", ", 4" } };
    const uint32_t i = pick(&s->g, 4);
    emit(&s->g, "%s(%s%s)", (s->gpu ? gpu : cpu)[i].name, loop, (s->gpu ? gpu : cpu)[i].rest);
}

/* Partial results along a reduction loop, or along one part of it; then the loops of the partial results, and where
 * they are computed. */
static void factor(Scheduler *s, Def *d)
{
    const char *of = d->update->rvars[pick(&s->g, (uint32_t)d->update->rvar_count)].name;
    char        part[NAME_SIZE], place[96];
    const int   number = ++s->numbered;
    snprintf(part, sizeof part, "%s", of);
    if (chance(&s->g, 50)) {
        snprintf(part, sizeof part, "%.8s%s%d", of, chance(&s->g, 50) ? "o" : "i", number);
        directive(s, "split");
        emit(&s->g, "%s, %.8so%d, %.8si%d, %d)", of, of, number, of, number, some_factor(&s->g));
    }
    directive(s, "rfactor");
    emit(&s->g, "%s, w%d)", part, number);
    if (chance(&s->g, 60)) {
        snprintf(part, sizeof part, "w%d", number);
        emit(&s->g, ".");
        emit_kind(s, part);
    }
    end_chain(s);
    d->is_open = false;
    for (int i = d->count - 1; i >= 0 && chance(&s->g, 70); i--)
        if (!d->loops[i].is_reduction) {
            snprintf(place, sizeof place, "%s.rfactor", d->name);
            speak_of(s, place, -1);
            directive(s, "compute_at");
            emit(&s->g, "%s.update(%d), %s)", d->name, d->index, d->loops[i].name);
            end_chain(s);
            return;
        }
}

/* Is every argument a free variable, and is there more than one reduction variable? */
static bool may_separate(const Def *d)
{
    for (int k = 0; k < d->func->rank; k++)
        if (!d->update->is_free[k])
            return false;
    return d->func->rank && d->update->rvar_count > 1;
}

/* Sums over all reduction variables but one, stored somewhere; they are inlined, or left to the default, or have loops
 * of their own. */
static void separate(Scheduler *s, Def *d)
{
    const char *x = d->func->args[0];
    char        name[64];
    directive(s, "separate");
    emit(&s->g, "%s)", d->update->rvars[pick(&s->g, (uint32_t)d->update->rvar_count)].name);
    if (chance(&s->g, 60)) {
        emit(&s->g, ".");
        emit_kind(s, d->func->args[pick(&s->g, (uint32_t)d->func->rank)]);
    }
    end_chain(s);
    d->is_open = false;
    snprintf(name, sizeof name, "%.40s.separate", d->name);
    for (int i = d->count - 1; i >= 0 && chance(&s->g, 70); i--)
        if (!d->loops[i].is_reduction) {
            speak_of(s, name, -1);
            directive(s, "compute_at");
            emit(&s->g, "%s.update(%d), %s)", d->name, d->index, d->loops[i].name);
            end_chain(s);
            break;
        }
    snprintf(name, sizeof name, "%.40s.separate.sum", d->name);
    switch (pick(&s->g, 4)) {
    case 0:
        speak_of(s, name, -1);
        directive(s, "inline");
        emit(&s->g, ")");
        end_chain(s);
        break;
    case 1:
        speak_of(s, name, 0);
        directive(s, "vectorize");
        emit(&s->g, "%s, 4)", x);
        end_chain(s);
        break;
    default: break;
    }
}

/* Is every argument a free variable, and the one reduction variable over a constant number of steps, before which
 * there is no other update? */
static bool may_double(const Def *d)
{
    for (int k = 0; k < d->func->rank; k++)
        if (!d->update->is_free[k])
            return false;
    return d->func->rank && d->update->rvar_count == 1 && d->index == 0 && rvar_steps(&d->update->rvars[0]);
}

/* Windows of 1, 2, 4, … taps, some of which are inlined, in vectors, or left to the default. */
static void double_windows(Scheduler *s, Def *d)
{
    const int64_t steps = rvar_steps(&d->update->rvars[0]);
    char          name[64];
    directive(s, "double");
    emit(&s->g, "%s)", d->update->rvars[0].name);
    if (chance(&s->g, 60)) {
        emit(&s->g, ".");
        emit_kind(s, d->func->args[pick(&s->g, (uint32_t)d->func->rank)]);
    }
    end_chain(s);
    d->is_open = false;
    for (int64_t taps = 1; 2 * taps <= steps; taps *= 2) {
        snprintf(name, sizeof name, "%.40s.double[%d]", d->name, (int)taps);
        const uint32_t way = pick(&s->g, 4);
        if (way > 2)
            continue;
        speak_of(s, name, -1);
        directive(s, way == 0 ? "inline" : way == 1 ? "compute_root" : "vectorize");
        emit(&s->g, way == 2 ? "%s, 4)" : ")", d->func->args[0]);
        end_chain(s);
    }
}

/* The scan in chunks, which begin somewhere. */
static void checkpoint(Scheduler *s, Def *d)
{
    const int number = ++s->numbered;
    char      name[64];
    directive(s, "checkpoint");
    emit(&s->g, "%s, o%d, i%d, %d", d->update->rvars[0].name, number, number, some_factor(&s->g));
    if (chance(&s->g, 50))
        emit(&s->g, ", %d", (int)pick(&s->g, 9) - 3);
    emit(&s->g, ")");
    end_chain(s);
    d->is_open = false;
    snprintf(name, sizeof name, "%.40s.checkpoint", d->name);
    if (chance(&s->g, 30)) {
        speak_of(s, name, -1);
        directive(s, "clone");
        emit(&s->g, "%s.chunk)", d->name);
        end_chain(s);
    }
}

bool rarely(Scheduler *s)
{
    return chance(&s->g, s->style->rare);
}

void schedule_loops(Scheduler *s, Def *d)
{
    speak_of(s, d->name, d->index);
    if (d->func->kind == FUNC_STAGE || d->count == 0)
        return;
    const bool gathers = d->combines && d->update->rvar_count && !def_has_float(d);
    if (gathers && may_separate(d) && chance(&s->g, 40)) {
        separate(s, d);
        return;
    }
    if (gathers && may_double(d) && chance(&s->g, 40)) {
        double_windows(s, d);
        return;
    }
    if (gathers && chance(&s->g, s->style->reductions)) {
        factor(s, d);
        return;
    }
    Scan scan;
    if (d->update && d->index == 0 && d->func->rank < KN_MAX_RANK && !(s->around && s->around->count) &&
        scan_of(&s->p->exprs, d->func, d->update, &scan) == SCAN_LEGAL && chance(&s->g, 40)) {
        checkpoint(s, d);
        return;
    }
    if (!s->gpu && d->update && d->other_points && d->update->rvar_count == 1 && chance(&s->g, 40)) {
        time_tile(s, d);
        return;
    }
    d->begin = s->g.count;
    for (uint32_t n = chance(&s->g, s->style->loops) ? 1 + pick(&s->g, 3) : 0; n > 0 && d->count < MOST_LOOPS - 4; n--)
        (chance(&s->g, 60) ? split : chance(&s->g, 60) ? tile : fuse)(s, d);
    if (chance(&s->g, d->update ? 60 : 45) || (s->gpu && !d->is_known))
        reorder(s, d);
    if (s->gpu && !d->other_points && !is_inside(s->around, false) && chance(&s->g, 35))
        tile_as(s, d, "gpu_tile");
    (s->gpu ? choose_gpu_kinds : choose_kinds)(s, d);
    d->end      = s->g.count;
    d->is_plain = d->is_known;
    if (rarely(s) && d->name == d->func->name)
        prefetch(s, d);
    if (rarely(s)) {
        specialize(s, d);
        d->is_plain = d->is_open;
    }
    end_chain(s);
}
