/* Random schedules: consumers before producers, so that the loops are known in which a function can be computed. */
#include "generate_schedule.h"
#include "gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOOPS = 14, MOST_CHAIN = 60, NAME_SIZE = 24, CARELESS = 2 /* percent */ };

typedef struct Loop {
    char    name[NAME_SIZE];
    bool    is_reduction;
    bool    is_parallel, is_vector;
    bool    is_closed;          /* followed by loops without a name: nothing is computed inside */
    int64_t extent;             /* where it is known; else 0 */
} Loop;

/* One definition and its loops, outermost first. */
typedef struct Def Def;
struct Def {
    const Func   *func;
    const Update *update;       /* NULL: the pure one */
    int           index;        /* -1: the pure one */
    Loop          loops[MOST_LOOPS];
    int           count;
    bool          is_known;     /* the order of the loops */
    bool          other_points; /* it reads itself at other points of its free variables: they stay inside */
    bool          combines;     /* it reads itself, and only where it writes: f(…) += … */
    bool          is_changed;   /* loops are not those of its variables any more */
    bool          is_open;      /* functions may be computed in its loops */
    bool          is_plain;     /* its directives are those between these places of the text, and make the same loops of another with its arguments */
    size_t        begin, end;
    const Def    *with;         /* its loops down to `shared` are those of that one */
    int           shared;
};

/* A loop of a definition, on the way from the root inwards. */
typedef struct Link {
    const Def  *def;
    const Loop *loop;
} Link;

typedef struct Chain {
    Link at[MOST_CHAIN];
    int  count;
} Chain;

/* One function. */
typedef struct Draft {
    const Func *func;
    Def        *defs;           /* 1 + update_count */
    Chain       place;          /* the loops around where it is computed; of an inlined one, around all that read it */
    Chain       readers;        /* the loops around all that read it */
    bool        is_read, is_output, is_inlined;
    bool        is_with;        /* it runs in the loops of another */
} Draft;

typedef struct Scheduler {
    Gen          g;
    kn_pipeline *p;
    const Reach *reach;         /* by function id, as are: */
    Draft       *drafts;
    int          numbered;
    const char  *owner;         /* the chain of directives that is being written: its function, and if it has begun */
    int          update;
    bool         is_begun;
} Scheduler;

/* ---- Writing chains ---------------------------------------------------------------------- */

static void speak_of(Scheduler *s, const Func *f, int update)
{
    s->owner    = f->name;
    s->update   = update;
    s->is_begun = false;
}

/* .name( of the definition spoken of */
static void directive(Scheduler *s, const char *name)
{
    if (!s->is_begun) {
        emit(&s->g, "    %s", s->owner);
        if (s->update >= 0)
            emit(&s->g, ".update(%d)", s->update);
    }
    s->is_begun = true;
    emit(&s->g, ".%s(", name);
}

static void end_chain(Scheduler *s)
{
    if (s->is_begun)
        emit(&s->g, "\n");
    s->is_begun = false;
}

static void emit_definition(Scheduler *s, const Def *d)
{
    emit(&s->g, "%s", d->func->name);
    if (d->index >= 0)
        emit(&s->g, ".update(%d)", d->index);
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
    bool          other_points, own_place, other_place;
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
            search->other_points = true;
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

static void add_loop(Def *d, const char *name, bool is_reduction)
{
    if (d->count == MOST_LOOPS)
        return;
    d->loops[d->count] = (Loop){ .is_reduction = is_reduction };
    snprintf(d->loops[d->count++].name, NAME_SIZE, "%s", name);
}

static void begin_def(Scheduler *s, Def *d, const Func *f, int index)
{
    *d = (Def){ .func = f, .update = index >= 0 ? &f->updates[index] : NULL, .index = index, .is_known = index < 0, .is_open = true };
    for (int i = 0; d->update && i < d->update->rvar_count; i++)
        add_loop(d, d->update->rvars[i].name, true);
    for (int k = f->rank - 1; k >= 0; k--)
        if (!d->update || d->update->is_free[k])
            add_loop(d, f->args[k], false);
    if (d->update) {
        const SelfSearch self = self_reads(s, f, d->update);
        d->other_points = self.other_points;
        d->combines     = self.own_place && !self.other_place;
    }
}

/* Does the definition read g in what is computed at each point, or (bounds) in the bounds of its loops? */
static bool def_reads(Scheduler *s, const Def *d, const Func *g, bool bounds)
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

static int some_factor(Gen *g)
{
    static const uint8_t factors[] = { 4, 8, 2, 3, 1, 5, 7, 16, 6 };
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

/* A name for a part of a loop: "xo3". */
static void part_name(Scheduler *s, const Loop *of, const char *suffix, char *to)
{
    snprintf(to, NAME_SIZE, "%.8s%s%d", of->name, suffix, s->numbered);
}

/* Puts two loops in the place of loop `at`. */
static void divide(Def *d, int at, const char *outer, const char *inner, int64_t factor)
{
    const Loop whole = d->loops[at];
    memmove(&d->loops[at + 1], &d->loops[at], (size_t)(d->count - at) * sizeof *d->loops);
    d->count++;
    d->loops[at] = d->loops[at + 1] = (Loop){ .is_reduction = whole.is_reduction };
    snprintf(d->loops[at].name, NAME_SIZE, "%s", outer);
    snprintf(d->loops[at + 1].name, NAME_SIZE, "%s", inner);
    d->loops[at + 1].extent = factor;
    d->is_changed = true;
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
static void tile(Scheduler *s, Def *d)
{
    const int at = d->count > 2 ? (int)pick(&s->g, (uint32_t)d->count - 1) : 0, fx = some_factor(&s->g), fy = some_factor(&s->g);
    char      xo[NAME_SIZE], yo[NAME_SIZE], xi[NAME_SIZE], yi[NAME_SIZE];
    if (d->count < 2 || d->count > MOST_LOOPS - 3 || d->loops[at].is_reduction != d->loops[at + 1].is_reduction || d->loops[at].is_reduction)
        return;
    s->numbered++;
    part_name(s, &d->loops[at + 1], "o", xo);
    part_name(s, &d->loops[at], "o", yo);
    part_name(s, &d->loops[at + 1], "i", xi);
    part_name(s, &d->loops[at], "i", yi);
    directive(s, "tile");
    emit(&s->g, "%s, %s, %s, %s, ", d->loops[at + 1].name, d->loops[at].name, xo, yo);
    emit(&s->g, "%s, %s, %d, %d", xi, yi, fx, fy);
    emit_tail(s, d);
    divide(d, at + 1, xo, xi, fx);
    divide(d, at, yo, yi, fy);
    const Loop kept = d->loops[at + 1];
    d->loops[at + 1] = d->loops[at + 2];
    d->loops[at + 2] = kept;
}

static void fuse(Scheduler *s, Def *d)
{
    const int at = d->count > 1 ? (int)pick(&s->g, (uint32_t)d->count - 1) : 0;
    if (d->count < 2 || (d->loops[at].is_reduction != d->loops[at + 1].is_reduction && !chance(&s->g, CARELESS)))
        return;
    Loop *outer = &d->loops[at], *inner = &d->loops[at + 1], fused = { .is_reduction = outer->is_reduction || inner->is_reduction };
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

/* A random order in which reduction loops keep theirs, and are outside where the definition reads itself elsewhere. */
static void shuffle(Scheduler *s, Def *d)
{
    Loop      from[MOST_LOOPS];
    const int count = d->count;
    int       order[MOST_LOOPS], used = 0;
    memcpy(from, d->loops, sizeof from);
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        const int other = (int)pick(&s->g, (uint32_t)i + 1), kept = order[i];
        order[i]     = order[other];
        order[other] = kept;
    }
    const bool sorted = !chance(&s->g, CARELESS);
    for (int pass = 0; pass < (d->other_points ? 2 : 1); pass++) {
        int next = 0;
        for (int i = 0; i < count; i++) {
            if (d->other_points && from[order[i]].is_reduction != (pass == 0))
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
        if ((!l->is_reduction || chance(&s->g, CARELESS)) && !l->is_vector && !l->is_parallel && !l->is_closed)
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
        run_as(s, d, i, !has_vector_before(d, i) && chance(&s->g, 50) ? "parallel" : "vectorize");
        return;
    }
}

static void choose_kinds(Scheduler *s, Def *d)
{
    int at = chance(&s->g, 30) ? free_loop(s, d, false) : -1;
    if (at >= 0)
        run_as(s, d, at, "parallel");
    at = chance(&s->g, 50) ? free_loop(s, d, true) : -1;
    for (int i = at + 1; at >= 0 && i < d->count; i++)
        if (d->loops[i].is_parallel && !chance(&s->g, CARELESS))
            at = i + 1 < d->count && !d->loops[i + 1].is_closed ? i + 1 : -1;
    if (at >= 0 && !d->loops[at].is_reduction)
        run_as(s, d, at, "vectorize");
    at = chance(&s->g, 25) ? (int)pick(&s->g, (uint32_t)d->count) : -1;
    if (at >= 0 && !d->loops[at].is_vector && !d->loops[at].is_parallel && !d->loops[at].is_closed)
        run_as(s, d, at, "unroll");
    if (d->combines && !def_has_float(d) && chance(&s->g, 15))
        atomic_loops(s, d);
}

/* A condition on a parameter or on the size of an input, then perhaps other loops for where it holds. */
static void specialize(Scheduler *s, Def *d)
{
    const kn_pipeline *p = s->p;
    const Func        *input = p->funcs.count && p->funcs.at[0]->kind == FUNC_INPUT && p->funcs.at[0]->rank ? p->funcs.at[0] : NULL;
    if (p->params.count && p->params.at[0]->type == KN_I32) {
        directive(s, "specialize");
        emit(&s->g, "%s > %u)", p->params.at[0]->name, (unsigned)pick(&s->g, 6));
    } else if (input) {
        directive(s, "specialize");
        emit(&s->g, "%s.%s.extent > %u)", input->name, input->args[0], (unsigned)(1 + pick(&s->g, 20)));
    } else {
        return;
    }
    d->is_open = false;
}

/* What the definition reads is fetched ahead. */
static void prefetch(Scheduler *s, const Def *d)
{
    for (int id = 0; id < d->func->id; id++)
        if (def_reads(s, d, s->p->funcs.at[id], false) && !s->drafts[id].is_inlined) {
            directive(s, "prefetch");
            emit(&s->g, "%s, %s, %u)", s->p->funcs.at[id]->name, d->loops[pick(&s->g, (uint32_t)d->count)].name, 1 + (unsigned)pick(&s->g, 4));
            return;
        }
}

static void schedule_loops(Scheduler *s, Draft *f, Def *d)
{
    speak_of(s, d->func, d->index);
    if (f->is_with || d->func->kind == FUNC_STAGE || d->count == 0)
        return;
    if (d->combines && d->update->rvar_count && !def_has_float(d) && chance(&s->g, 8)) {
        directive(s, "rfactor");
        emit(&s->g, "%s, w%d)", d->update->rvars[pick(&s->g, (uint32_t)d->update->rvar_count)].name, ++s->numbered);
        end_chain(s);
        d->is_open = false;
        return;
    }
    d->begin = s->g.count;
    for (uint32_t n = chance(&s->g, 75) ? 1 + pick(&s->g, 3) : 0; n > 0 && d->count < MOST_LOOPS - 4; n--)
        (chance(&s->g, 60) ? split : chance(&s->g, 60) ? tile : fuse)(s, d);
    if (chance(&s->g, d->update ? 60 : 45))
        reorder(s, d);
    choose_kinds(s, d);
    d->end      = s->g.count;
    d->is_plain = d->is_known;
    if (chance(&s->g, 5))
        prefetch(s, d);
    if (chance(&s->g, 4)) {
        specialize(s, d);
        d->is_plain = d->is_open;
    }
    end_chain(s);
}

/* ---- Where functions are computed and stored --------------------------------------------- */

/* The loops around the body of a definition, as far as something can be computed there. */
static void chain_inside(const Draft *f, const Def *d, Chain *out)
{
    *out = f->place;
    for (int i = 0; d && d->with && i <= d->shared && out->count < MOST_CHAIN; i++)
        out->at[out->count++] = (Link){ d->with, &d->with->loops[i] };
    for (int i = 0; d && d->is_known && d->is_open && i < d->count && out->count < MOST_CHAIN; i++) {
        out->at[out->count++] = (Link){ d, &d->loops[i] };
        if (d->loops[i].is_closed)
            break;
    }
}

/* Something inside these loops reads g: what all its readers have in common is shorter now. */
static void meet(Draft *g, const Chain *c)
{
    if (!g->is_read)
        g->readers = *c;
    g->is_read = true;
    int common = 0;
    while (common < c->count && common < g->readers.count && c->at[common].loop == g->readers.at[common].loop)
        common++;
    g->readers.count = common;
}

static void tell_producers(Scheduler *s, const Draft *f)
{
    for (int id = 0; id < f->func->id; id++) {
        Draft *g = &s->drafts[id];
        for (int k = 0; k <= f->func->update_count; k++) {
            const Def *d = &f->defs[k];
            Chain      inside;
            chain_inside(f, f->is_inlined ? NULL : d, &inside);
            if (def_reads(s, d, g->func, false))
                meet(g, &inside);
            if (def_reads(s, d, g->func, true))
                meet(g, &f->place);
        }
    }
}

static void at_level(Scheduler *s, const char *what, const Chain *c, int depth)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%s", what, depth ? "at" : "root");
    directive(s, name);
    if (depth) {
        emit_definition(s, c->at[depth - 1].def);
        emit(&s->g, ", %s", c->at[depth - 1].loop->name);
    }
    emit(&s->g, ")");
}

/* The deepest level that may be asked for: not inside vectors, rather. */
static int deepest(Scheduler *s, const Chain *c)
{
    const bool careless = chance(&s->g, CARELESS);
    int        depth    = 0;
    while (depth < c->count && (careless || !c->at[depth].loop->is_vector))
        depth++;
    return depth;
}

/* The outermost level where storage may be, for something computed at `depth`: not across parallel or vector loops, rather. */
static int outermost(Scheduler *s, const Chain *c, int depth)
{
    const bool careless = chance(&s->g, CARELESS);
    while (depth > 0 && (careless || (!c->at[depth - 1].loop->is_parallel && !c->at[depth - 1].loop->is_vector)))
        depth--;
    return depth;
}

/* What is needed at all sizes together, or a little more on each side. */
static void bound(Scheduler *s, const Func *f)
{
    const Reach *reach = &s->reach[f->id];
    const int    d = (int)pick(&s->g, (uint32_t)f->rank), before = (int)pick(&s->g, 3), after = (int)pick(&s->g, 3);
    directive(s, "bound");
    emit(&s->g, "%s, %d, %d)", f->args[d], reach->min[d] - before, reach->max[d] - reach->min[d] + 1 + before + after);
}

static void choose_storage(Scheduler *s, const Draft *f, bool slides)
{
    static const char *const memories[] = { "heap", "stack", "register" };
    const Func *func = f->func;
    if (func->rank && slides && chance(&s->g, 15)) {
        directive(s, "fold_storage");
        emit(&s->g, "%s, %d)", func->args[pick(&s->g, (uint32_t)func->rank)], 1 << (2 + pick(&s->g, 4)));
    }
    if (func->rank && chance(&s->g, 8)) {
        directive(s, "align_storage");
        emit(&s->g, "%s, %d)", func->args[0], some_factor(&s->g));
    }
    if (func->rank > 1 && chance(&s->g, 8)) {
        directive(s, "reorder_storage");
        for (int d = func->rank - 1; d >= 0; d--)
            emit(&s->g, "%s%s", func->args[d], d ? ", " : ")");
    }
    if (func->rank && chance(&s->g, 6)) {
        const int factor = some_factor(&s->g);
        directive(s, "align_bounds");
        emit(&s->g, "%s, %d", func->args[pick(&s->g, (uint32_t)func->rank)], factor);
        emit(&s->g, chance(&s->g, 30) ? ", %d)" : ")", (int)pick(&s->g, (uint32_t)factor));
    }
    if (func->rank && s->reach[func->id].known && chance(&s->g, 6))
        bound(s, func);
    if (chance(&s->g, 2)) {
        directive(s, "stream");
        emit(&s->g, ")");
    }
    if (chance(&s->g, 6)) {
        directive(s, "store_in");
        emit(&s->g, "%s)", memories[pick(&s->g, chance(&s->g, 90) ? 1 : 3)]);
    }
}

static void place(Scheduler *s, Draft *f)
{
    const Chain *c = &f->readers;
    speak_of(s, f->func, -1);
    if (f->is_output)
        return;
    if (f->func->kind == FUNC_DEFINED && !f->func->update_count && chance(&s->g, 20)) {
        f->is_inlined = true;
        f->place      = *c;
        directive(s, "inline");
        emit(&s->g, ")");
        end_chain(s);
        return;
    }
    const int deep  = deepest(s, c);
    const int depth = chance(&s->g, 80) ? (int)pick(&s->g, (uint32_t)deep + 1) : 0;
    const int least = outermost(s, c, depth);
    int       store = depth;
    at_level(s, "compute", c, depth);
    if (least < depth && chance(&s->g, 60)) {
        store = least + (int)pick(&s->g, (uint32_t)(depth - least));
        at_level(s, "store", c, store);
    }
    choose_storage(s, f, store < depth);
    f->place       = *c;
    f->place.count = depth;
    end_chain(s);
}

/* ---- Loops of two functions as one ------------------------------------------------------- */

/* Does f need g, directly or through others? */
static bool needs(Scheduler *s, const Func *f, const Func *g)
{
    for (int k = 0; k <= f->update_count; k++)
        for (int id = g->id; id < f->id; id++) {
            const Func *h = s->p->funcs.at[id];
            const Def  *d = &s->drafts[f->id].defs[k];
            if ((def_reads(s, d, h, false) || def_reads(s, d, h, true)) && (h == g || needs(s, h, g)))
                return true;
        }
    return false;
}

static bool same_arguments(const Func *f, const Func *g)
{
    if (f->rank != g->rank || f->rank == 0)
        return false;
    for (int d = 0; d < f->rank; d++)
        if (f->args[d] != g->args[d])
            return false;
    return true;
}

static bool same_place(const Draft *f, const Draft *g)
{
    bool same = f->place.count == g->place.count;
    for (int i = 0; same && i < f->place.count; i++)
        same = f->place.at[i].loop == g->place.at[i].loop;
    return same;
}

/* Its loops as those of the other, by the same directives. */
static void copy_loops(Scheduler *s, const Def *from)
{
    const size_t size = from->end - from->begin;
    char        *text = malloc(size + 1);
    if (!text)
        return;
    memcpy(text, s->g.text + from->begin, size);
    text[size] = 0;
    const char *dot = strchr(text, '.');            /* after the function's name */
    for (; dot && !s->is_begun; s->is_begun = true)
        emit(&s->g, "    %s", s->owner);
    if (dot)
        emit(&s->g, "%s", text + strlen("    ") + strlen(from->func->name));
    free(text);
}

/* Both at one place, without updates, and neither needing the other. */
static void compute_with(Scheduler *s, Draft *f)
{
    for (size_t id = (size_t)f->func->id + 1; id < s->p->funcs.count; id++) {
        Draft      *o = &s->drafts[id];
        const Func *g = o->func;
        const Def  *d = &o->defs[0];
        if (f->is_inlined || o->is_inlined || o->is_with || !(o->is_read || o->is_output) || f->func->update_count || g->update_count
            || f->func->kind != FUNC_DEFINED || g->kind != FUNC_DEFINED || !d->is_plain || !d->count || !same_place(f, o)
            || !same_arguments(f->func, g) || needs(s, g, f->func))
            continue;
        f->defs[0].with   = d;
        f->defs[0].shared = (int)pick(&s->g, (uint32_t)d->count);
        f->is_with        = true;
        speak_of(s, f->func, -1);
        copy_loops(s, d);
        directive(s, "compute_with");
        emit(&s->g, "%s, %s)", g->name, d->loops[f->defs[0].shared].name);
        end_chain(s);
        f->defs[0].is_open = false;
        return;
    }
}

/* ---- All of it --------------------------------------------------------------------------- */

static void schedule_function(Scheduler *s, Draft *f)
{
    if (f->func->kind == FUNC_INPUT || !(f->is_read || f->is_output))
        return;
    place(s, f);
    if (chance(&s->g, 70))
        compute_with(s, f);
    for (int k = 0; k <= f->func->update_count && !f->is_inlined; k++)
        schedule_loops(s, f, &f->defs[k]);
    tell_producers(s, f);
}

char *generate_schedule(Choices *c, kn_pipeline *p, const Reach *reach)
{
    const size_t count = p->funcs.count;
    Scheduler    s     = { .g = { .choices = c }, .p = p, .reach = reach, .drafts = calloc(count + 1, sizeof(Draft)) };
    for (size_t i = 0; i < count; i++) {
        Draft *f = &s.drafts[i];
        f->func  = p->funcs.at[i];
        f->defs  = calloc((size_t)f->func->update_count + 1, sizeof(Def));
        for (int k = 0; k <= f->func->update_count; k++)
            begin_def(&s, &f->defs[k], f->func, k - 1);
    }
    for (size_t i = 0; i < p->outputs.count; i++)
        s.drafts[p->outputs.at[i].func->id].is_output = true;
    emit(&s.g, "schedule {\n");
    for (size_t i = count; i-- > 0;)
        schedule_function(&s, &s.drafts[i]);
    emit(&s.g, "}\n");
    for (size_t i = 0; i < count; i++)
        free(s.drafts[i].defs);
    free(s.drafts);
    if (s.g.failed) {
        free(s.g.text);
        return NULL;
    }
    return s.g.text;
}
