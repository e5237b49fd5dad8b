/* SPDX-License-Identifier: MIT */
/* Separable windows: sums of sums.
 *
 *     f.sum.inline()
 *     f.sum.update(0).separate(i).compute_at(f, y).vectorize(x, 32)
 *     f.sum.separate.sum.inline()
 *
 * Where the weights of a window are a product, columns are summed first, a row of them just before it is read, and
 * then along the row: m + n taps instead of m * n. legal/window.h decides what is separable; here for the reduction
 * variable i along x. */
#include "legal/window.h"
#include "schedulers/draft/pattern_forms.h"

/* ---- What may be separated -------------------------------------------------------------- */

/* Is the sum separable along reduction variable `rvar`, which goes with x? */
static bool may_separate(const Draft *d, const Func *f, int rvar)
{
    Arena scratch;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    Window     w  = window_of(&d->graph->pipeline->exprs, &scratch, f, 0, rvar, 0);
    const bool ok = window_separates(&w) && w.by.known && w.by.c;
    scratch_end(&scratch);
    return ok;
}

/* ---- Where it is ------------------------------------------------------------------------ */

/* The node at root or inside a group whose pure definition alone reads s, directly or through inlined nodes; -1: none.
 */
static int row_reader(const Draft *d, int s)
{
    do {
        const FuncFacts *facts = &d->facts[s];
        if (facts->readers.count != 1 || facts->readers.at[0].update >= 0 || d->graph->nodes[s].out_count != 1)
            return -1;
        s = d->graph->of_func[facts->readers.at[0].func->id];
    } while (s >= 0 && d->choices[s].where == WHERE_INLINE);
    return s;
}

/* Does the reader of s have a loop around its rows, and is nothing that s may read computed inside it? */
static bool has_rows(const Draft *d, int s, int reader)
{
    Arena scratch;
    int   level = 0;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    bool has = draft_row_loop(&scratch, d, reader, &level) != NULL;
    scratch_end(&scratch);
    for (int p = 0; has && p < s; p++)
        has = d->choices[p].where != WHERE_INSIDE || draft_loop_owner(d, p) != reader || d->choices[p].compute <= level;
    return has;
}

bool separate_is_legal(const Draft *d, int s, int rvar)
{
    const Func   *f = d->graph->nodes[s].func;
    const Update *u = f->updates;
    int64_t       steps, others = 1;
    if (d->graph->nodes[s].kind != NODE_REDUCTION || d->graph->nodes[s].is_output || f->rank < 2 ||
        f->update_count != 1 || u->rvar_count < 2 || u->where || rvar < 0 || rvar >= u->rvar_count ||
        d->facts[s].defs[1].free != (1u << f->rank) - 1 || !update_combines(d, s))
        return false;
    for (int k = 0; k < u->rvar_count; k++) {
        int64_t lo, hi;
        if (!expr_is_int(u->rvars[k].lo, &lo) || !expr_is_int(u->rvars[k].hi, &hi))
            return false;
        steps = hi - lo;
        if (steps < SEPARATE_LEAST_SIDE || steps > MOST_EXPANDED_STEPS)
            return false;
        others *= k == rvar ? 1 : steps;
    }
    return others <= MOST_EXPANDED_STEPS && may_separate(d, f, rvar) &&
           name_is_free(d->graph->pipeline, f->name, ".separate") &&
           name_is_free(d->graph->pipeline, f->name, ".separate.sum");
}

bool separate_applies(const Draft *d, int s)
{
    const int reader = row_reader(d, s);
    if (d->choices[s].where != WHERE_INLINE || reader < 0 || d->graph->nodes[reader].kind != NODE_PURE ||
        d->patterns[reader].kind != PATTERN_NONE ||
        (d->choices[reader].where != WHERE_ROOT && d->choices[reader].where != WHERE_INSIDE))
        return false;
    return separate_is_legal(d, s, d->patterns[s].rvar) && has_rows(d, s, reader);
}

void separate_print(Text *out, const Draft *d, int s)
{
    const Func *f      = d->graph->nodes[s].func;
    const int   reader = row_reader(d, s);
    int         level;
    text_printf(
        out, "%s.inline()\n%s.update(0).separate(%s).compute_at(%s, %s).vectorize(%s, %d)\n%s.separate.sum.inline()\n",
        f->name, f->name, f->updates[0].rvars[d->patterns[s].rvar].name, d->graph->nodes[reader].func->name,
        draft_row_loop(out->arena, d, reader, &level), f->args[0], draft_lanes(d, s), f->name);
}

/* (m + n) / (m * n) of the taps; each is unrolled: a product with a constant, and a sum */
double separate_work_share(const Draft *d, int s)
{
    const Func *f = d->graph->nodes[s].func;
    if (f->update_count != 1 || d->patterns[s].rvar < 0 || d->patterns[s].rvar >= f->updates[0].rvar_count)
        return 1;
    const Work  *work = &d->graph->nodes[s].defs[1];
    const double side = (double)work->extents[d->patterns[s].rvar];
    const double term = work->ops > SEPARATE_TERM_OPS ? SEPARATE_TERM_OPS / work->ops : 1;
    return side > 0 && work->steps > side ? term * (side + work->steps / side) / work->steps : 1;
}
