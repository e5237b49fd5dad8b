/* SPDX-License-Identifier: MIT */
/* A draft as the text of a schedule.
 *
 *     // out, in 25 strips of 64: by, gray, ratio; inlined: bx
 *     out.split(y, yo, yi, 64).reorder(x, c, yi, yo).parallel(yo).vectorize(x, 16).stream()
 *     gray.store_at(out, yo).compute_at(out, yi).vectorize(x, 16)
 *
 * Every function of the pipeline is mentioned, so nothing is left to defaults but what the draft leaves to them. The
 * loops of a dimension y are named yo and yi, or yo, y1 … yi; a number follows where such a name is taken. The lanes
 * of a vector loop are innermost. What is inside the vector loop (the steps of a reduction, unrolled rows) is nested
 * between the loop over vectors and its lanes by a second `reorder`. */
#include "schedulers/graph/def_facts.h"
#include "schedulers/draft/draft.h"
#include "schedulers/draft/given_steps.h"
#include "schedulers/draft/nest_text.h"
#include "schedulers/draft/row_copies.h"
#include "schedulers/draft/pattern.h"

typedef struct Printer {
    Text        *out;
    const Draft *d;
} Printer;

/* ---- Plain loops: members, and what is left to the compiler ------------------------------ */

/* f, or f.update(0) */
static void print_name(Text *out, const Func *f, int update)
{
    text_add(out, f->name);
    if (update >= 0)
        text_printf(out, ".update(%d)", update);
}

static bool is_natural(const NestText *n)
{
    for (int i = 0; i < n->count; i++)
        if (n->update || i >= n->func->rank || n->names[i] != n->func->args[n->func->rank - 1 - i])
            return false;
    return true;
}

/* The default schedule: the two outer dimensions parallel, if `parallel`; the first in vectors; an update's points
 * outside its steps where that is legal, but its rows inside long reductions, and inside steps that read other points.
 */
static void print_plain(const Printer *p, int s, int update, int lanes, bool parallel)
{
    const Func     *f     = p->d->graph->nodes[s].func;
    const DefFacts *facts = &p->d->facts[s].defs[update + 1];
    const Choice   *c     = &p->d->choices[s];
    NestText        n     = nest_text_begin(p->out, f, update);
    const bool      rows  = (facts->free & 1u) && !(facts->bounding & 1u) && lanes > 1;
    const bool      inner = facts->steps > 0 && facts->steps <= SHORT_REDUCTION;
    int             x     = -1;
    const uint32_t  apart = c->time_size ? 0 : ~facts->other_points; /* diamonds have their steps outermost */
    for (int d = f->rank - 1; d >= 1 && facts->other_points; d--)
        if (facts->free & apart & 1u << d)
            nest_text_add(&n, f->args[d]);
    if (facts->other_points)
        nest_text_add_reductions(&n);
    for (int d = f->rank - 1; d >= 1; d--)
        if (facts->free & (facts->other_points ? ~apart : ~0u) & 1u << d)
            nest_text_add(&n, f->args[d]);
    if (!facts->other_points && !inner && rows)
        nest_text_add_reductions(&n);
    if (facts->free & 1u) {
        x = n.count;
        nest_text_add(&n, f->args[0]);
    }
    if (!facts->other_points && (inner || !rows))
        nest_text_add_reductions(&n);
    nest_text_print(&n, rows ? x : -1, lanes, is_natural(&n));
    if (parallel && c->time_size && c->time_update == update) {
        int next = c->time_dim - 1;
        while (next > 0 && !(facts->free & 1u << next))
            next--;
        const ScheduleArg args[5] = { arg_name(f->updates[update].rvars[0].name), arg_name(f->args[c->time_dim]),
                                      arg_int(c->time_size), arg_name(f->args[next]), arg_int(c->time_piece) };
        directive_write(p->out, DIR_TIME_TILE, c->time_piece ? 5 : 3, args);
        return;
    }
    for (int d = f->rank - 1, left = 2; parallel && d >= 1 && left > 0; d--, left--)
        if (facts->free & 1u << d)
            DIRECTIVE_WRITE(p->out, DIR_PARALLEL, arg_name(f->args[d]));
}

/* Removes what was begun at `before` if nothing was added after `name`; else ends the line. */
static void end_line(Text *out, size_t before, size_t name)
{
    if (out->count != name) {
        text_add(out, "\n");
        return;
    }
    out->count      = before;
    out->at[before] = '\0';
}

/* A line for each update but `done`, if there is anything to say. */
static void print_updates(const Printer *p, int s, int done, int lanes, bool parallel)
{
    const Func *f = p->d->graph->nodes[s].func;
    for (int k = 0; k < f->update_count; k++) {
        if (k == done)
            continue;
        const size_t before = p->out->count;
        print_name(p->out, f, k);
        const size_t name = p->out->count;
        print_plain(p, s, k, lanes, parallel);
        end_line(p->out, before, name);
    }
}

/* ---- Loops that the draft has -------------------------------------------------------------- */

/* The loops of a node's main definition, a head's or a member's nest, with their names, which are the same everywhere.
 */
typedef struct Loops {
    int              node, count;
    const GroupLoop *at; /* NULL: the default schedule's */
    const char      *names[MOST_GROUP_LOOPS];
} Loops;

/* How many loops the dimension has, and which of them this is, counted from outside. */
static int place_in_dim(const Loops *l, int loop, int *count)
{
    int place = 0;
    *count    = 0;
    for (int i = 0; i < l->count; i++) {
        place += l->at[i].dim == l->at[loop].dim && i < loop;
        *count += l->at[i].dim == l->at[loop].dim;
    }
    return place;
}

static const char *variable_of(const NestText *n, int dim)
{
    return dim < STEP_DIM ? n->func->args[dim] : n->update->rvars[dim - STEP_DIM].name;
}

static Loops loops_of(const Printer *p, int s)
{
    const Draft  *d = p->d;
    const Choice *c = &d->choices[s];
    Loops         l = { .node = s };
    if (c->where == WHERE_INSIDE && c->nest) {
        l.at    = c->nest->loops;
        l.count = c->nest->count;
    } else if (c->where == WHERE_ROOT && d->groups[c->group].loop_count) {
        l.at    = d->groups[c->group].loops;
        l.count = d->groups[c->group].loop_count;
    }
    NestText n = nest_text_begin(p->out, d->graph->nodes[s].func, l.at ? draft_main(d, s) : -1);
    for (int i = 0; i < l.count; i++) {
        int         count;
        const int   place  = place_in_dim(&l, i, &count);
        const char *suffix = place == 0 ? "o" : place == count - 1 ? "i" : arena_printf(p->out->arena, "%d", place);
        l.names[i] =
            count == 1 ? variable_of(&n, l.at[i].dim) : loop_name(&n.taken, variable_of(&n, l.at[i].dim), suffix);
    }
    return l;
}

const char *draft_row_loop(Arena *arena, const Draft *d, int s, int *level)
{
    Text        out;
    const Func *f = d->graph->nodes[s].func;
    text_init(&out, arena);
    const Printer p = { &out, d };
    const Loops   l = loops_of(&p, s);
    if (!l.at)
        return f->rank > 1 ? f->args[1] : NULL;
    *level = draft_row_level(l.at, l.count);
    return *level >= 0 ? l.names[*level] : NULL;
}

/* Does this definition have that loop? The pure one of a reduction has none over steps. */
static bool has_loop(const Loops *l, int loop, int update)
{
    return update >= 0 || l->at[loop].dim < STEP_DIM;
}

/* Should the last tile of a head's rows, of several vectors, keep its width and overlap the one before? Then what is
 * computed for a tile has a constant width. Only where the overlap is small. */
static bool keeps_width(const Draft *d, const Loops *l, int loop, int last)
{
    const GraphNode *s = &d->graph->nodes[l->node];
    if (l->at[loop].dim != 0 || s->def_count > 1 || d->choices[l->node].where != WHERE_ROOT ||
        !draft_has_members(d, d->choices[l->node].group) || !l->at[last].vector || l->at[last].step >= l->at[loop].step)
        return false;
    const int64_t all = node_extent(s, 0), step = l->at[loop].step, over = (step - all % step) % step;
    return all >= step && over * TAIL_MOST_PART <= all;
}

static void print_split(const NestText *n, const char *whole, const char *outer, const char *inner, int64_t factor,
                        bool shift_inward)
{
    const ScheduleArg args[] = { arg_name(whole), arg_name(outer), arg_name(inner), arg_int(factor),
                                 arg_tail(TAIL_SHIFT_INWARD) };
    directive_write(n->out, DIR_SPLIT, shift_inward ? 5 : 4, args);
}

/* split(y, yo, yi, 256).split(yi, y1, yi, 32): from the outside. What is left to be split has the name of the innermost
 * loop. */
static void print_splits(const Draft *d, const NestText *n, const Loops *l, int update)
{
    for (int i = 0; i < l->count; i++) {
        int       count, last = i;
        const int place = place_in_dim(l, i, &count);
        for (int k = i + 1; k < l->count; k++)
            last = l->at[k].dim == l->at[i].dim ? k : last;
        if (place < count - 1 && has_loop(l, i, update))
            print_split(n, place ? l->names[last] : variable_of(n, l->at[i].dim), l->names[i], l->names[last],
                        l->at[i].step, count == 2 && !place && keeps_width(d, l, i, last));
    }
}

/* The default index of a reduction's steps: inside all loops but unrolled ones, and inside the loop over vectors. */
static int reduction_place(const Loops *l)
{
    int  at   = l->count;
    bool said = false;
    for (int i = 0; i < l->count; i++)
        said |= l->at[i].dim >= STEP_DIM;
    while (at > 0 && l->at[at - 1].unroll)
        at--;
    return said ? -1 : at;
}

/* Is the vector loop one whole vector, the rest of another loop of its dimension? */
static bool is_one_vector(const Loops *l, int loop)
{
    int before = loop - 1;
    while (before >= 0 && l->at[before].dim != l->at[loop].dim)
        before--;
    return l->at[loop].vector && before >= 0 && l->at[before].step == l->at[loop].step;
}

/* ".reorder(c, z, x, y).fuse(c, z, cz).vectorize(cz, 8)": the last two of these loops as one. */
static void print_fused(NestText *n, const Loops *l, int64_t lanes)
{
    const char *slow = n->names[n->count - 1], *fast = n->names[n->count - 2];
    for (int i = 0; i < l->count && n->taken.count < MOST_LOOP_NAMES; i++)
        n->taken.taken[n->taken.count++] = l->names[i];
    const char *both       = loop_name(&n->taken, fast, slow);
    n->names[n->count - 1] = fast;
    n->names[n->count - 2] = slow;
    nest_text_reorder(n, 0, n->count);
    DIRECTIVE_WRITE(n->out, DIR_FUSE, arg_name(fast), arg_name(slow), arg_name(both));
    DIRECTIVE_WRITE(n->out, DIR_VECTORIZE, arg_name(both), arg_int(lanes));
}

/* Is the last loop one over unrolled planes? They are inside the lanes: one vector's code for all of them, so that
 * common subexpressions are shared. */
static bool unrolls_planes(const Printer *p, const Loops *l)
{
    const GroupLoop *last = &l->at[l->count - 1];
    if (p->d->graph->nodes[l->node].kind != NODE_PURE || l->count < 2)
        return false;
    return last->unroll && last->dim >= 2 && l->at[l->count - 2].vector;
}

static void print_loops(const Printer *p, const Loops *l, int update)
{
    const int steps  = reduction_place(l);
    int       vector = -1, last = 0;
    int64_t   lanes   = 0;
    bool      natural = update < 0;
    NestText  n       = nest_text_begin(p->out, p->d->graph->nodes[l->node].func, update);
    print_splits(p->d, &n, l, update);
    for (int i = 0; i < l->count; i++) {
        if (i == steps)
            nest_text_add_reductions(&n);
        if (!has_loop(l, i, update))
            continue;
        natural &= !n.count || l->at[i].dim <= l->at[last].dim;
        last = i;
        if (l->at[i].vector) {
            vector = n.count;
            lanes  = is_one_vector(l, i) ? 0 : l->at[i].step;
        }
        nest_text_add(&n, l->names[i]);
    }
    if (steps == l->count)
        nest_text_add_reductions(&n);
    if (l->at[l->count - 1].fused) {
        print_fused(&n, l, lanes);
    } else if (lanes && unrolls_planes(p, l)) {
        nest_text_reorder(&n, 0, n.count);
        DIRECTIVE_WRITE(p->out, DIR_VECTORIZE, arg_name(n.names[vector]), arg_int(lanes));
    } else {
        nest_text_print(&n, vector, lanes, natural);
    }
    for (int i = 0; i < l->count; i++) {
        if (l->at[i].parallel)
            DIRECTIVE_WRITE(p->out, DIR_PARALLEL, arg_name(l->names[i]));
        if (l->at[i].unroll && has_loop(l, i, update))
            DIRECTIVE_WRITE(p->out, DIR_UNROLL, arg_name(l->names[i]));
    }
    if (l->at[l->count - 1].given && update >= 0)
        given_steps_print(p->out, p->d, l->node, l->at[l->count - 1].dim - STEP_DIM, l->names[l->count - 1]);
}

/* ---- Memory ----------------------------------------------------------------------------- */

static void print_layout(Text *out, const Func *f, const int *order)
{
    ScheduleArg dims[KN_MAX_RANK];
    for (int i = 0; i < f->rank; i++)
        dims[i] = arg_name(f->args[order[i]]);
    directive_write(out, DIR_REORDER_STORAGE, f->rank, dims);
}

static void print_memory(const Printer *p, int s)
{
    const Choice *c = &p->d->choices[s];
    const Func   *f = p->d->graph->nodes[s].func;
    if (c->memory)
        print_layout(p->out, f, c->memory);
    if (c->align)
        DIRECTIVE_WRITE(p->out, DIR_ALIGN_BOUNDS, arg_name(f->args[0]), arg_int(c->align));
}

static void print_alignment(const Printer *p, int s)
{
    const int64_t unit = draft_row_unit(p->d, s);
    if (unit > 1)
        DIRECTIVE_WRITE(p->out, DIR_ALIGN_STORAGE, arg_name(p->d->graph->nodes[s].func->args[0]), arg_int(unit));
}

/* ".prefetch(in, yi, 1)" */
static void print_prefetch(const Printer *p, const Group *gr, const Loops *loops)
{
    if (gr->prefetched)
        DIRECTIVE_WRITE(p->out, DIR_PREFETCH, arg_def(p->d->graph->nodes[gr->prefetched - 1].func, -1),
                        arg_name(loops->names[gr->prefetch_loop]), arg_int(gr->ahead));
}

/* ---- Heads and members ------------------------------------------------------------------ */

static void print_head(const Printer *p, const Group *gr)
{
    const GraphNode *node   = &p->d->graph->nodes[gr->head];
    const int        main   = draft_main(p->d, gr->head);
    const int        lanes  = draft_lanes(p->d, gr->head);
    const Loops      loops  = loops_of(p, gr->head);
    const size_t     before = p->out->count;
    print_name(p->out, node->func, -1);
    const size_t name = p->out->count;
    if (!node->is_output)
        directive_write(p->out, DIR_COMPUTE_ROOT, 0, NULL);
    print_memory(p, gr->head);
    if (loops.at && main < 0) {
        print_loops(p, &loops, main);
        print_prefetch(p, gr, &loops);
    } else {
        print_plain(p, gr->head, -1, lanes, true);
    }
    if (gr->stream)
        directive_write(p->out, DIR_STREAM, 0, NULL);
    end_line(p->out, before, name);
    if (loops.at && main >= 0) {
        print_name(p->out, node->func, main);
        print_loops(p, &loops, main);
        print_prefetch(p, gr, &loops);
        text_add(p->out, "\n");
    }
    print_updates(p, gr->head, loops.at ? main : NO_DEF, lanes, true);
}

/* The main definition of a node. */
static ScheduleArg main_arg(const Printer *p, int node)
{
    return arg_def(p->d->graph->nodes[node].func, draft_main(p->d, node));
}

/* The one vector of a tile is inside what comes after it; the level is outside that. */
static void print_level(const Printer *p, const Loops *owner, DirectiveId id, int loop)
{
    loop -= is_one_vector(owner, loop);
    DIRECTIVE_WRITE(p->out, id, main_arg(p, owner->node), arg_name(owner->names[loop]));
}

static void print_shared(Text *out, const Func *with)
{
    DIRECTIVE_WRITE(out, DIR_COMPUTE_WITH, arg_def(with, -1), arg_name(with->args[0]));
}

static void print_member(const Printer *p, int s)
{
    const Choice *c     = &p->d->choices[s];
    const Func   *f     = p->d->graph->nodes[s].func;
    const int     lanes = c->lanes ? c->lanes : draft_lanes(p->d, s), main = draft_main(p->d, s);
    const Loops   loops = loops_of(p, s), owner = loops_of(p, draft_loop_owner(p->d, s));
    const int     next = c->chain ? draft_chain_reader(p->d, s) : -1;
    const bool    apart =
        next >= 0 && next != owner.node; /* stored in the loops of one node, computed in those of another */
    text_add(p->out, f->name);
    print_alignment(p, s);
    if (c->store != c->compute || apart)
        print_level(p, &owner, DIR_STORE_AT, c->store);
    if (apart) {
        const Loops link = loops_of(p, next);
        print_level(p, &link, DIR_COMPUTE_AT, 0);
    } else {
        print_level(p, &owner, DIR_COMPUTE_AT, c->compute);
    }
    print_memory(p, s);
    if (loops.at)
        print_loops(p, &loops, -1);
    else
        print_plain(p, s, -1, lanes, false);
    if (c->shares_with)
        print_shared(p->out, p->d->graph->nodes[c->shares_with - 1].func);
    text_add(p->out, "\n");
    if (loops.at && main >= 0) {
        print_name(p->out, f, main);
        print_loops(p, &loops, main);
        text_add(p->out, "\n");
    }
    print_updates(p, s, loops.at ? main : NO_DEF, lanes, false);
}

/* B.stage(out.sum.update(0)).compute_at(out, xo).reorder(x, y).vectorize(x, 64) */
static void print_copy(const Printer *p, const StagedCopy *copy, const Group *gr)
{
    const Func *f = p->d->graph->nodes[copy->of].func;
    NestText    n = nest_text_begin(p->out, f, -1);
    text_add(p->out, f->name);
    DIRECTIVE_WRITE(p->out, DIR_STAGE, main_arg(p, copy->reader));
    if (copy->compute >= 0) {
        const Loops owner = loops_of(p, gr->head);
        print_level(p, &owner, DIR_COMPUTE_AT, copy->compute);
    } else {
        directive_write(p->out, DIR_COMPUTE_ROOT, 0, NULL);
    }
    if (copy->memory)
        print_layout(p->out, f, copy->memory);
    for (int i = f->rank - 1; i >= 0; i--)
        nest_text_add(&n, f->args[copy->memory ? copy->memory[i] : i]);
    nest_text_print(&n, copy->lanes > 1 ? n.count - 1 : -1, copy->lanes, is_natural(&n));
    if (copy->compute < 0 && f->rank > 1)
        DIRECTIVE_WRITE(p->out, DIR_PARALLEL, arg_name(n.names[0]));
    text_add(p->out, "\n");
}

/* ---- Groups ----------------------------------------------------------------------------- */

/* ": a, b": the nodes of the group with that place. */
static void print_nodes(const Printer *p, int group, Where where, const char *before)
{
    int count = 0;
    for (int s = 0; s < p->d->graph->node_count; s++)
        if (p->d->choices[s].group == group && p->d->choices[s].where == where &&
            p->d->graph->nodes[s].kind != NODE_INPUT)
            text_printf(p->out, "%s%s", count++ ? ", " : before, p->d->graph->nodes[s].func->name);
}

/* " in pieces of y 64, x 256" */
static void print_pieces(const Printer *p, const Group *gr)
{
    int count = 0;
    for (int i = 0; i < gr->loop_count; i++)
        if (gr->loops[i].step > 1 && !gr->loops[i].vector)
            text_printf(p->out, "%s %s %lld", count++ ? "," : ", in pieces of",
                        p->d->graph->nodes[gr->head].func->args[gr->loops[i].dim], (long long)gr->loops[i].step);
}

static void print_inline(Text *out, const Func *f)
{
    text_add(out, f->name);
    directive_write(out, DIR_INLINE, 0, NULL);
    text_add(out, "\n");
}

/* What is inlined into a group, or, group -1, into what is left to the compiler. */
static void print_inlined(const Printer *p, int group)
{
    for (int s = 0; s < p->d->graph->node_count; s++) {
        if (p->d->choices[s].group != group || p->d->choices[s].where != WHERE_INLINE)
            continue;
        if (p->d->patterns[s].kind)
            pattern_print(p->out, p->d, s);
        else
            print_inline(p->out, p->d->graph->nodes[s].func);
    }
}

static void print_group(const Printer *p, int group)
{
    const Group     *gr   = &p->d->groups[group];
    const GraphNode *head = &p->d->graph->nodes[gr->head];
    text_printf(p->out, "// %s", head->func->name);
    print_pieces(p, gr);
    print_nodes(p, group, WHERE_INSIDE, ", with ");
    print_nodes(p, group, WHERE_INLINE, "; inlined: ");
    print_nodes(p, group, WHERE_DEFAULT, "; beside it: ");
    text_add(p->out, head->kind == NODE_EXTERN ? ": C code\n" : "\n");
    if (head->func->kind != FUNC_DEFINED)
        return;
    if (p->d->patterns[gr->head].kind)
        pattern_print(p->out, p->d, gr->head);
    else
        print_head(p, gr);
    for (int s = p->d->graph->node_count; s-- > 0;)
        if (p->d->choices[s].group == group && p->d->choices[s].where == WHERE_INSIDE) {
            if (p->d->patterns[s].kind)
                pattern_print(p->out, p->d, s);
            else
                print_member(p, s);
        }
    for (int i = 0; i < p->d->copy_count; i++)
        if (p->d->choices[p->d->copies[i].reader].group == group)
            print_copy(p, &p->d->copies[i], gr);
    for (int s = 0; s < p->d->graph->node_count; s++)
        if (p->d->choices[s].group == group)
            row_copies_print(p->out, p->d, s);
    print_inlined(p, group);
}

void draft_print(Text *out, const Draft *d)
{
    Draft         legalized = draft_copy(d, out->arena);
    const Printer p         = { out, &legalized };
    draft_legalize(&legalized);
    for (int i = 0; i < legalized.group_count; i++)
        print_group(&p, i);
    print_inlined(&p, -1);
}
