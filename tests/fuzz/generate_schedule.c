/* SPDX-License-Identifier: MIT */
/* Random schedules: consumers before producers, so that the loops are known in which a function can be computed. */
#include "schedule_draft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Where functions are computed and stored --------------------------------------------- */

static void emit_definition(Scheduler *s, const Def *d)
{
    emit(&s->g, "%s", d->name);
    if (d->index >= 0)
        emit(&s->g, ".update(%d)", d->index);
}

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

/* The loops around all of `reader` that reads g, into g->readers. */
static void meet_reader(Scheduler *s, const Draft *reader, Draft *g)
{
    for (int k = 0; k <= reader->func->update_count; k++) {
        const Def *d = &reader->defs[k];
        Chain      inside;
        chain_inside(reader, reader->is_inlined ? NULL : d, &inside);
        if (def_reads(s, d, g->func, false))
            meet(g, &inside);
        if (def_reads(s, d, g->func, true))
            meet(g, &reader->place);
    }
}

/* Who reads g, but for `except` (may be NULL). */
static void find_readers(Scheduler *s, Draft *g, const Draft *except)
{
    g->is_read = false;
    for (size_t id = (size_t)g->func->id + 1; id < s->p->funcs.count; id++) {
        const Draft *reader = &s->drafts[id];
        if (reader != except && (reader->is_read || reader->is_output))
            meet_reader(s, reader, g);
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

/* The outermost level where storage may be, for something computed at `depth`: not across parallel or vector loops,
 * rather. */
static int outermost(Scheduler *s, const Chain *c, int depth)
{
    const bool careless = chance(&s->g, CARELESS);
    for (const Loop *l; depth > 0; depth--) {
        l = c->at[depth - 1].loop;
        if (!careless && (l->is_parallel || l->is_vector || l->is_block || l->is_thread))
            break;
    }
    return depth;
}

/* What is needed at all sizes together, or a little more on each side; nothing where these are far from each other, as
 * all of it is computed. */
static void bound(Scheduler *s, const Func *f)
{
    const Reach *reach = &s->reach[f->id];
    const int    d = (int)pick(&s->g, (uint32_t)f->rank), before = (int)pick(&s->g, 3), after = (int)pick(&s->g, 3);
    if (reach->max[d] - reach->min[d] >= MOST_BOUND)
        return;
    directive(s, "bound");
    emit(&s->g, "%s, %d, %d)", f->args[d], reach->min[d] - before, reach->max[d] - reach->min[d] + 1 + before + after);
}

static void choose_storage(Scheduler *s, const Draft *f, const Chain *c, int depth, bool slides)
{
    const Func *func = f->func;
    if (func->rank && slides && chance(&s->g, s->style->folds)) {
        directive(s, "fold_storage");
        emit(&s->g, "%s, %d)", func->args[pick(&s->g, (uint32_t)func->rank)],
             chance(&s->g, 30) ? 2 + (int)pick(&s->g, 9) : 8 << pick(&s->g, 3));
    }
    if (func->rank && rarely(s)) {
        directive(s, "align_storage");
        emit(&s->g, "%s, %d)", func->args[0], some_factor(&s->g));
    }
    if (func->rank > 1 && rarely(s)) {
        directive(s, "reorder_storage");
        for (int d = func->rank - 1; d >= 0; d--)
            emit(&s->g, "%s%s", func->args[d], d ? ", " : ")");
    }
    if (func->rank && rarely(s)) {
        const int factor = some_factor(&s->g);
        directive(s, "align_bounds");
        emit(&s->g, "%s, %d", func->args[pick(&s->g, (uint32_t)func->rank)], factor);
        emit(&s->g, chance(&s->g, 30) ? ", %d)" : ")", (int)pick(&s->g, (uint32_t)factor));
    }
    if (func->rank && s->reach[func->id].known && rarely(s))
        bound(s, func);
    if (chance(&s->g, 2)) {
        directive(s, "stream");
        emit(&s->g, ")");
    }
    if (s->gpu ? chance(&s->g, slides ? 80 : 20) : rarely(s)) {
        directive(s, "store_in");
        emit(&s->g, "%s)", some_memory(s, c, depth));
    }
}

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

/* The depth at which another function is computed that f can be computed with, by the loops around it; -1 if there is
 * none. */
static int depth_of_neighbour(Scheduler *s, const Draft *f, const Chain *c)
{
    for (size_t id = (size_t)f->func->id + 1; id < s->p->funcs.count; id++) {
        const Draft *o = &s->drafts[id];
        bool same = (o->is_read || o->is_output) && !o->is_inlined && !o->is_silent && o->place.count <= c->count &&
                    same_arguments(f->func, o->func);
        for (int i = 0; same && i < o->place.count; i++)
            same = o->place.at[i].loop == c->at[i].loop;
        if (same && !needs(s, o->func, f->func))
            return o->place.count;
    }
    return -1;
}

/* compute_at and store_at, or root, at some of these loops; and what else is to be said of its storage. The depth at
 * which it is computed. */
static int place_in(Scheduler *s, const Draft *f, const Chain *c)
{
    const Style *style = s->style;
    const int    deep = deepest(s, c), beside = chance(&s->g, style->beside) ? depth_of_neighbour(s, f, c) : -1;
    const int    some  = f->is_prefetched || !chance(&s->g, style->at) ? 0
                         : chance(&s->g, style->deep)                  ? deep
                                                                       : (int)pick(&s->g, (uint32_t)deep + 1);
    const int    march = beside < 0 && !f->is_prefetched ? depth_of_march(s, c, deep) : 0;
    const int    depth = march ? march + 1 + (int)pick(&s->g, (uint32_t)(deep - march))
                               : depth_in_kernel(s, c, some, deep, f->func->kind == FUNC_STAGE);
    const int    least = outermost(s, c, depth);
    int          store = depth;
    if (beside >= 0) {
        at_level(s, "compute", c, beside);
        choose_storage(s, f, c, beside, false);
        return beside;
    }
    at_level(s, "compute", c, depth);
    if (march >= least && march) {
        store = march;
        at_level(s, "store", c, store);
    } else if (least < depth && chance(&s->g, style->stores)) {
        store = least + (chance(&s->g, style->outermost) ? 0 : (int)pick(&s->g, (uint32_t)(depth - least)));
        at_level(s, "store", c, store);
    }
    choose_storage(s, f, c, store, store < depth);
    return depth;
}

typedef struct OwnPoint {
    const Func   *f;
    const Update *u;
    bool          only;
} OwnPoint;

static void note_point(const Expr *e, void *user)
{
    OwnPoint *o = user;
    for (uint32_t d = 0; e->op == EX_CALL && e->u.call.func == o->f && d < e->count; d++)
        o->only = o->only && e->args[d] == o->u->args[d];
}

/* Is it a reduction that can be inlined: at its own point, with at most 64 steps? */
static bool is_short(const Scheduler *s, const Func *f)
{
    int64_t all = 0;
    for (int k = 0; k < f->update_count; k++) {
        const Update *u     = &f->updates[k];
        int64_t       steps = 1, lo, hi;
        OwnPoint      o     = { f, u, !u->where };
        for (int d = 0; d < f->rank; d++)
            o.only = o.only && u->is_free[d];
        for (int c = 0; c < f->component_count; c++)
            expr_visit(&s->p->exprs, u->values[c], note_point, &o);
        for (int i = 0; i < u->rvar_count; i++) {
            if (!expr_is_int(u->rvars[i].lo, &lo) || !expr_is_int(u->rvars[i].hi, &hi) || hi <= lo || hi - lo > 64)
                return false;
            steps *= hi - lo;
        }
        all += steps;
        if (!o.only || all > 64)
            return false;
    }
    return true;
}

static void place(Scheduler *s, Draft *f)
{
    const Chain *c = &f->readers;
    speak_of(s, f->func->name, -1);
    if (f->is_output) {
        if (f->func->rank && s->reach[f->func->id].known && chance(&s->g, s->style->rare / 2))
            bound(s, f->func);
        end_chain(s);
        return;
    }
    f->place = *c;
    if (f->func->kind == FUNC_DEFINED && is_short(s, f->func) && !f->copy && !f->is_prefetched &&
        chance(&s->g, s->style->inlines)) {
        f->is_inlined = true;
        directive(s, "inline");
        emit(&s->g, ")");
    } else {
        f->place.count = place_in(s, f, c);
    }
    end_chain(s);
}

/* ---- A copy for one reader --------------------------------------------------------------- */

/* One that reads f at its points, in loops of its own; NULL if there is none. */
static const Draft *some_reader(Scheduler *s, const Draft *f)
{
    const Draft *found = NULL;
    for (size_t id = (size_t)f->func->id + 1; id < s->p->funcs.count; id++) {
        const Draft *reader = &s->drafts[id];
        bool         reads  = false;
        for (int k = 0; k <= reader->func->update_count; k++)
            reads = reads || def_reads(s, &reader->defs[k], f->func, false);
        if (reads && (reader->is_read || reader->is_output) && !reader->is_inlined && !reader->is_silent &&
            !reader->is_with && (!found || chance(&s->g, 40)))
            found = reader;
    }
    return found;
}

/* A loop between those over blocks and those over threads, at times; 0: none. */
static int depth_of_block(Scheduler *s, const Chain *c)
{
    Chain around = *c;
    for (around.count = c->count; around.count > 0; around.count--) {
        const Loop *l = c->at[around.count - 1].loop;
        if (!l->is_block && !l->is_vector && !is_inside(&around, true) && is_inside(&around, false))
            return chance(&s->g, 60) ? around.count : 0;
    }
    return 0;
}

/* What the copy reads is loaded ahead, in the loop that it is computed in. */
static void load_ahead(Scheduler *s, Draft *f, const Chain *place)
{
    const Link *at = &place->at[place->count - 1];
    if (at->loop->is_vector || at->loop->is_thread || (at->loop->is_block && !chance(&s->g, CARELESS)))
        return;
    speak_of(s, at->def->name, at->def->index);
    directive(s, "prefetch");
    emit(&s->g, "%s, %s, 1)", f->func->name, at->loop->name);
    end_chain(s);
    f->is_prefetched = true;
}

/* f.stage(reader): placed in the loops of the reader, with loops of its own, around which f is then placed. */
static void copy_for_reader(Scheduler *s, Draft *f)
{
    const Draft *reader = f->func->rank ? some_reader(s, f) : NULL;
    Draft        copy   = { .func = f->func };
    Chain        inside;
    if (!reader)
        return;
    f->copy = calloc(1, sizeof *f->copy);
    snprintf(f->copy_name, sizeof f->copy_name, "%.24s.stage", f->func->name);
    begin_copy(f->copy, f->func, f->copy_name);
    meet_reader(s, reader, &copy);
    copy.readers.count = copy.is_read ? copy.readers.count : 0;
    speak_of(s, f->func->name, -1);
    directive(s, "stage");
    emit(&s->g, "%s)", reader->func->name);
    copy.place       = copy.readers;
    copy.place.count = s->gpu ? depth_of_block(s, &copy.readers) : 0;
    if (copy.place.count)
        at_level(s, "compute", &copy.place, copy.place.count);
    else
        copy.place.count = place_in(s, &copy, &copy.readers);
    end_chain(s);
    if (s->gpu && copy.place.count && chance(&s->g, 60))
        load_ahead(s, f, &copy.place);
    s->around = &copy.place;
    schedule_loops(s, f->copy);
    find_readers(s, f, reader);
    chain_inside(&copy, f->copy, &inside);
    meet(f, &inside);
}

/* ---- Loops of two functions as one ------------------------------------------------------- */

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
    text[size]      = 0;
    const char *dot = strchr(text, '.'); /* after the function's name */
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
        if (f->is_inlined || o->is_inlined || o->is_with || !(o->is_read || o->is_output) || f->func->update_count ||
            g->update_count || f->func->kind != FUNC_DEFINED || g->kind != FUNC_DEFINED || !d->is_plain || !d->count ||
            !same_place(f, o) || !same_arguments(f->func, g) || needs(s, g, f->func))
            continue;
        f->defs[0].with   = d;
        f->defs[0].shared = (int)pick(&s->g, (uint32_t)d->count);
        f->is_with        = true;
        speak_of(s, f->func->name, -1);
        copy_loops(s, d);
        directive(s, "compute_with");
        emit(&s->g, "%s, %s)", g->name, d->loops[f->defs[0].shared].name);
        end_chain(s);
        f->defs[0].is_open = false;
        return;
    }
}

/* ---- All of it --------------------------------------------------------------------------- */

/* Nothing is said of it: where it is computed, and in which loops, is not known then. */
static void leave_out(Draft *f)
{
    f->place.count = 0;
    f->is_silent   = true;
    for (int k = 0; k <= f->func->update_count; k++)
        f->defs[k].is_open = f->defs[k].is_plain = false;
}

static void schedule_function(Scheduler *s, Draft *f)
{
    find_readers(s, f, NULL);
    if (!f->is_read && !f->is_output)
        return;
    if (!f->is_output && !f->is_prefetched && chance(&s->g, s->style->copies))
        copy_for_reader(s, f);
    if (f->func->kind == FUNC_INPUT)
        return;
    if (!f->copy && !f->is_prefetched && chance(&s->g, s->style->silent)) {
        leave_out(f);
        return;
    }
    place(s, f);
    if (chance(&s->g, 70))
        compute_with(s, f);
    s->around = &f->place;
    for (int k = 0; k <= f->func->update_count && !f->is_inlined && !f->is_with; k++)
        schedule_loops(s, &f->defs[k]);
}

/* The kinds of schedules; the first is the most frequent. */
/* clang-format off */
static const Style styles[] = {
    { .name = "any", .silent = 8, .beside = 20, .inlines = 20, .at = 80, .deep = 10, .stores = 60, .outermost = 20,
      .folds = 15, .copies = 5, .rare = 5, .loops = 75, .reductions = 8 },
    { .name = "sliding", .silent = 2, .beside = 20, .inlines = 5, .at = 97, .deep = 60, .stores = 95, .outermost = 60,
      .folds = 40, .copies = 3, .rare = 3, .loops = 50, .reductions = 5 },
    { .name = "rare", .silent = 6, .beside = 30, .inlines = 10, .at = 80, .deep = 20, .stores = 50, .outermost = 30,
      .folds = 30, .copies = 25, .rare = 25, .loops = 60, .reductions = 35 },
    { .name = "plain", .silent = 12, .beside = 40, .inlines = 10, .at = 85, .deep = 30, .stores = 60, .outermost = 40,
      .folds = 20, .copies = 2, .rare = 2, .loops = 20, .reductions = 10 },
    { .name = "shared", .silent = 2, .beside = 80, .inlines = 5, .at = 95, .deep = 50, .stores = 70, .outermost = 60,
      .folds = 10, .copies = 30, .rare = 4, .loops = 60, .reductions = 5 },
};
/* clang-format on */

static const Style *some_style(Gen *g)
{
    static const uint8_t weights[] = { 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4 };
    return &styles[weights[pick(g, sizeof weights)]];
}

char *generate_schedule(Choices *c, kn_pipeline *p, const Reach *reach, bool gpu)
{
    const size_t count = p->funcs.count;
    Scheduler    s     = { .g = { .choices = c }, .p = p, .reach = reach, .drafts = calloc(count + 1, sizeof(Draft)) };
    context_begin(p->cx); /* what was run before may have used up the quota, which looking at expressions needs */
    s.style = some_style(&s.g);
    s.gpu   = gpu;
    for (size_t i = 0; i < count; i++) {
        Draft *f = &s.drafts[i];
        f->func  = p->funcs.at[i];
        f->defs  = calloc((size_t)f->func->update_count + 1, sizeof(Def));
        for (int k = 0; k <= f->func->update_count; k++)
            begin_def(&s, &f->defs[k], f->func, k - 1);
    }
    for (size_t i = 0; i < p->outputs.count; i++)
        s.drafts[p->outputs.at[i].func->id].is_output = true;
    emit(&s.g, gpu ? "schedule for gpu {\n" : "schedule {\n");
    for (size_t i = count; i-- > 0;)
        schedule_function(&s, &s.drafts[i]);
    emit(&s.g, "}\n");
    for (size_t i = 0; i < count; i++) {
        free(s.drafts[i].defs);
        free(s.drafts[i].copy);
    }
    free(s.drafts);
    if (s.g.failed) {
        free(s.g.text);
        return NULL;
    }
    return s.g.text;
}
