/* SPDX-License-Identifier: MIT */
/* Histograms by privatization: a private copy for each strip of steps, in parallel.
 *
 *     n.update(0).split(v, vo, vi, 320).rfactor(vo, w)
 *     n.rfactor.update(0).split(u, uo, ui, 4).rfactor(ui, p)
 *     n.rfactor.rfactor.compute_at(n.rfactor.update(0), w).vectorize(i, 16)
 *     n.rfactor.rfactor.update(0).reorder(p, uo, vi, w).unroll(p, 4)
 *     n.rfactor.compute_root().vectorize(i, 16)
 *     n.rfactor.update(0).reorder(i, ui, w).parallel(w).vectorize(i, 16)
 *     n.compute_root().vectorize(i, 16)
 *     n.update(0).reorder(i, vo).vectorize(i, 16)
 *     bin.stage(n.rfactor.rfactor).compute_at(n.rfactor.rfactor.update(0), vi).vectorize(x, 16)
 *
 * Free variables of the update are outside its steps and inside the strips. */
#include "schedulers/draft/pattern_forms.h"

enum { MOST_RVARS = 8 };

static const Update *only_update(const Draft *d, int s)
{
    return d->graph->nodes[s].func->updates;
}

bool privatize_applies(const Draft *d, int s)
{
    const Func    *f  = d->graph->nodes[s].func;
    const Pattern *sp = &d->patterns[s];
    return d->graph->nodes[s].kind == NODE_SCATTER && d->choices[s].where == WHERE_ROOT &&
           d->groups[d->choices[s].group].loop_count == 0 && f->update_count == 1 &&
           !d->facts[s].defs[1].other_points && f->rank >= 1 && f->rank + 2 <= KN_MAX_RANK &&
           f->updates[0].rvar_count <= MOST_RVARS && sp->rows >= 1 && sp->rows < 1 << 20 &&
           (sp->copies == 1 || sp->copies == PRIVATE_COPIES) && name_is_free(d->graph->pipeline, f->name, ".rfactor") &&
           name_is_free(d->graph->pipeline, f->name, ".rfactor.rfactor") && update_combines(d, s);
}

/* ---- What the steps read ---------------------------------------------------------------- */

typedef struct Feed {
    ExprPool   *pool;
    const Func *producer;
    const char *along; /* the innermost reduction variable */
    bool        any, ok;
} Feed;

/* Is it read along its rows, at places that do not depend on data? */
static void note_read(const Expr *e, void *user)
{
    Feed *feed   = user;
    bool  nested = false;
    if (e->op != EX_CALL || e->u.call.func != feed->producer)
        return;
    for (uint32_t i = 0; i < e->count; i++)
        nested |= expr_reads(feed->pool, e->args[i], NULL);
    feed->any = true;
    feed->ok &= e->count > 0 && !nested && expr_is_over(feed->pool, e->args[0], feed->along);
}

/* Does the pure definition of s read p, directly or through inlined nodes? A copy for s would then be read outside of
 * the rows, too. */
static bool initial_reads(const Draft *d, int p, int s, int depth)
{
    const GraphNode *node = &d->graph->nodes[p];
    bool             any  = depth == 0;
    for (int i = 0; i < node->out_count && !any; i++) {
        const int reader = node->out[i]->consumer;
        any              = node->out[i]->update < 0 &&
              (reader == s || (d->choices[reader].where == WHERE_INLINE && initial_reads(d, reader, s, depth - 1)));
    }
    return any;
}

bool feeds_rows(const Draft *d, int p, int s)
{
    const GraphNode *node = &d->graph->nodes[p];
    const Update    *u    = only_update(d, s);
    Feed             feed = { &d->graph->pipeline->exprs, node->func, u->rvars[u->rvar_count - 1].name, false, true };
    if (node->kind != NODE_PURE || !node->rank || initial_reads(d, p, s, MOST_INLINED_DEPTH))
        return false;
    def_visit(feed.pool, d->graph->nodes[s].func, 0, note_read, &feed);
    return feed.any && feed.ok;
}

/* ---- The text --------------------------------------------------------------------------- */

/* The loops of the strips' updates, by name. */
typedef struct PrivateLoops {
    const char *strips, *first;    /* of the outermost reduction variable: over strips, inside one */
    const char *part;              /* the argument that counts the strips */
    const char *last, *lane, *way; /* of the innermost one: steps, one of the copies, the argument that counts them */
    const char *row;               /* the loop around the innermost steps */
} PrivateLoops;

static PrivateLoops name_private_loops(Arena *arena, const Func *f, int copies)
{
    const Update *u     = &f->updates[0];
    const int     last  = u->rvar_count - 1;
    LoopNames     n     = loop_names(arena, f, 0);
    PrivateLoops  l     = { .strips = loop_name(&n, u->rvars[0].name, "o"),
                            .first  = loop_name(&n, u->rvars[0].name, "i"),
                            .part   = loop_name(&n, "w", "") };
    const char   *steps = last ? u->rvars[last].name : l.first;
    l.row               = last > 1 ? u->rvars[last - 1].name : last ? l.first : l.part;
    l.last              = copies > 1 ? loop_name(&n, steps, "o") : steps;
    if (copies > 1) {
        l.lane = loop_name(&n, steps, "i");
        l.way  = loop_name(&n, "p", "");
    }
    return l;
}

/* ".reorder(p, uo, vi, c, w)": the steps of the strip, inside the free variables, inside the strips. */
static void print_steps(Text *out, const Func *f, const PrivateLoops *l)
{
    const Update *u = &f->updates[0];
    text_printf(out, ".reorder(%s%s%s", l->way ? l->way : "", l->way ? ", " : "", l->last);
    for (int i = u->rvar_count - 2; i >= 0; i--)
        text_printf(out, ", %s", i ? u->rvars[i].name : l->first);
    for (int d = 0; d < f->rank; d++)
        if (u->is_free[d])
            text_printf(out, ", %s", f->args[d]);
    text_printf(out, ", %s)", l->part);
}

/* ".reorder(i, ui, c, w)": vectors of bins, the copies that are added, and what is outside. */
static void print_sum(Text *out, const Func *f, const char *added, const char *outside, int lanes)
{
    text_printf(out, ".reorder(%s, %s", f->args[0], added);
    for (int d = 1; d < f->rank; d++)
        text_printf(out, ", %s", f->args[d]);
    text_printf(out, outside ? ", %s)" : ")", outside);
    if (outside)
        text_printf(out, ".parallel(%s)", outside);
    text_printf(out, ".vectorize(%s, %d)\n", f->args[0], lanes);
}

/* Lanes of a row for the steps, which is only loaded, computed and stored: a full register of the narrowest type that
 * it is computed from, directly or through inlined nodes. */
static int feed_lanes(const Draft *d, int p, int depth)
{
    const GraphNode *node  = &d->graph->nodes[p];
    int              lanes = draft_lanes(d, p);
    for (int i = 0; i < node->in_count && depth > 0; i++)
        if (d->choices[node->in[i]->producer].where == WHERE_INLINE) {
            const int inner = feed_lanes(d, node->in[i]->producer, depth - 1);
            lanes           = inner > lanes ? inner : lanes;
        }
    return lanes;
}

static void print_feeds(Text *out, const Draft *d, int s, const char *reader, const PrivateLoops *l)
{
    for (int p = 0; p < d->graph->node_count; p++)
        if (d->choices[p].where == WHERE_INLINE && feeds_rows(d, p, s))
            text_printf(out, "%s.stage(%s).compute_at(%s.update(0), %s).vectorize(%s, %d)\n",
                        d->graph->nodes[p].func->name, reader, reader, l->row, d->graph->nodes[p].func->args[0],
                        feed_lanes(d, p, MOST_INLINED_DEPTH));
}

void privatize_print(Text *out, const Draft *d, int s)
{
    const Func        *f     = d->graph->nodes[s].func;
    const Pattern     *sp    = &d->patterns[s];
    const PrivateLoops l     = name_private_loops(out->arena, f, sp->copies);
    const int          lanes = stored_lanes(d, s);
    const char        *parts = arena_printf(out->arena, "%s.rfactor", f->name),
               *reader       = sp->copies > 1 ? arena_printf(out->arena, "%s.rfactor", parts) : parts;
    text_printf(out, "%s.update(0).split(%s, %s, %s, %lld).rfactor(%s, %s)\n", f->name, f->updates[0].rvars[0].name,
                l.strips, l.first, (long long)sp->rows, l.strips, l.part);
    if (sp->copies > 1) {
        const char *steps =
            f->updates[0].rvar_count > 1 ? f->updates[0].rvars[f->updates[0].rvar_count - 1].name : l.first;
        text_printf(out, "%s.update(0).split(%s, %s, %s, %d).rfactor(%s, %s)\n", parts, steps, l.last, l.lane,
                    sp->copies, l.lane, l.way);
        text_printf(out, "%s.compute_at(%s.update(0), %s).vectorize(%s, %d)\n", reader, parts, l.part, f->args[0],
                    lanes);
        text_printf(out, "%s.update(0)", reader);
        print_steps(out, f, &l);
        text_printf(out, ".unroll(%s, %d)\n", l.way, sp->copies);
    }
    text_printf(out, "%s.compute_root().vectorize(%s, %d)\n", parts, f->args[0], lanes);
    text_printf(out, "%s.update(0)", parts);
    if (sp->copies > 1) {
        print_sum(out, f, l.lane, l.part, lanes);
    } else {
        print_steps(out, f, &l);
        text_printf(out, ".parallel(%s)\n", l.part);
    }
    text_printf(out, d->graph->nodes[s].is_output ? "%s.vectorize(%s, %d)\n" : "%s.compute_root().vectorize(%s, %d)\n",
                f->name, f->args[0], lanes);
    text_printf(out, "%s.update(0)", f->name);
    print_sum(out, f, l.strips, NULL, lanes);
    print_feeds(out, d, s, reader, &l);
}
