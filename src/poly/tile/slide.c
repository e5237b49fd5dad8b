/* SPDX-License-Identifier: MIT */
/* Sliding windows: the rows of all stages of a tile in turn.
 *
 * Takes   a group of stages whose needs are those of scalene tiles, with shifts along all loops but the innermost.
 * Gives   one nest of loops over the shifted coordinates z = p + shift of these loops, and in an iteration a loop over
 *         a row for each stage, or for several stages that depend on each other at the same point alone. Scratch keeps
 *         the rows that are still to be read: dimension j, along which a stage writes row p + c at z, is folded to the
 *         least power of two that is not less than 1 + max(z of a read - z of the write).
 * Holds   so a row stays in the cache from its write to its last read, tiles can be tall, and what two of them compute
 * is little. That no fold loses a value is proved (prove_fold.c). */
#include "poly/model/model.h"
#include "poly/tile/order.h"
#include "poly/tile/overlap.h"

#include <isl/ilp.h>

static const Stage *stage_of(const Made *m, const TiledStatement *x)
{
    return &m->p->at.at[m->p->stage_of[x->source - m->t->scop->statements.at]];
}

int slide_shared(const Stages *p, int group)
{
    return p->at.at[p->groups.at[group].root].dims - 1;
}

/* ---- Stages that share the loop over a row ---- */

/* Are all dependences between the stages of one iteration of the shared loops at the same point? */
static bool at_one_point(const Made *m, const Stage *a, const Stage *b, int shared)
{
    const Stages *p = m->p;
    if (!p->before[(size_t)(a - p->at.at) * p->at.count + (size_t)(b - p->at.at)])
        return true;
    isl_union_set *from = isl_union_set_universe(isl_union_set_copy(a->domain));
    isl_union_map *all  = isl_union_map_intersect_domain(order_dependences(m->t->scop), from);
    all                 = isl_union_map_apply_range(all, isl_union_map_copy(b->points));
    all                 = isl_union_map_apply_domain(all, isl_union_map_copy(a->points));
    isl_space *space    = isl_space_map_from_domain_and_range(isl_set_get_space(a->all), isl_set_get_space(b->all));
    isl_map   *between  = isl_union_map_extract_map(all, space);
    for (int d = 0; d < shared; d++)
        between = isl_map_equate(between, isl_dim_in, d, isl_dim_out, d);
    isl_set *away = isl_map_deltas(isl_map_reset_tuple_id(isl_map_reset_tuple_id(between, isl_dim_in), isl_dim_out));
    isl_set *none = isl_set_universe(isl_set_get_space(away));
    for (int d = 0; d < a->dims; d++)
        none = isl_set_fix_si(none, isl_dim_set, (unsigned)d, 0);
    bool same = isl_set_is_subset(away, none) == isl_bool_true;
    isl_set_free(away);
    isl_set_free(none);
    isl_union_map_free(all);
    return same;
}

/* Do the stages run at the same points of each tile, in the same iterations of the shared loops? */
static bool in_step(const Stage *a, const Stage *b, int shared)
{
    for (int d = 0; d < shared; d++)
        if (a->shift[d] != b->shift[d])
            return false;
    isl_map *of_a = isl_map_reset_tuple_id(isl_map_copy(a->need), isl_dim_out);
    isl_map *of_b = isl_map_reset_tuple_id(isl_map_copy(b->need), isl_dim_out);
    bool     same = isl_map_is_equal(of_a, of_b) == isl_bool_true;
    isl_map_free(of_a);
    isl_map_free(of_b);
    return same;
}

/* Can the statement join the row's loop of those before it? */
static bool joins(const Made *m, const Made *row, const TiledStatement *x, int shared)
{
    const Stage *stage = stage_of(m, x);
    for (size_t i = 0; i < row->run.count; i++) {
        const Stage *other = stage_of(m, &row->run.at[i]);
        if (other != stage && !(x->source->depth == stage->dims && row->run.at[i].source->depth == other->dims &&
                                in_step(other, stage, shared) && at_one_point(m, other, stage, shared)))
            return false;
    }
    return true;
}

/* The loops of a row: those of the text for one stage, else one nest for all. */
static isl_schedule *row_loops(const Made *m, const Made *row, int shared)
{
    const Stage  *first = stage_of(m, &row->run.at[0]);
    isl_schedule *all   = NULL;
    if (first == stage_of(m, &row->run.at[row->run.count - 1]))
        return overlap_stages(row);
    for (size_t i = 0; i < row->run.count; i++) {
        isl_union_set *domain = isl_union_set_from_set(isl_map_domain(isl_map_copy(row->run.at[i].executes)));
        all                   = overlap_then(all, isl_schedule_from_domain(domain));
    }
    return rectangle_loops(row, all, shared, first->dims);
}

isl_schedule *slide_loops(const Made *m)
{
    const int     shared = slide_shared(m->p, m->group);
    isl_schedule *all    = NULL;
    for (size_t i = 0; i < m->run.count;) {
        Made row      = *m;
        row.run.count = 0;
        row.run.at    = ARENA_ARRAY(m->t->scop->arena, TiledStatement, m->run.count);
        while (i < m->run.count && joins(m, &row, &m->run.at[i], shared))
            row.run.at[row.run.count++] = m->run.at[i++];
        all = overlap_then(all, row_loops(m, &row, shared));
    }
    return rectangle_loops(m, all, 0, shared);
}

/* ---- Folds ---- */

/* The stage that writes the array; NULL: there are several, or a subscript is not known. */
static const Stage *only_writer(const Made *m, const CSymbol *array)
{
    const Stage *writer = NULL;
    for (size_t i = 0; i < m->run.count; i++) {
        const Statement *st = m->run.at[i].source;
        for (size_t k = 0; k < st->accesses.count; k++) {
            const Access *a = &st->accesses.at[k];
            if (a->array != array)
                continue;
            if (isl_map_is_single_valued(a->relation) != isl_bool_true)
                return NULL;
            if (a->write && writer && writer != stage_of(m, &m->run.at[i]))
                return NULL;
            writer = a->write ? stage_of(m, &m->run.at[i]) : writer;
        }
    }
    return writer;
}

static bool is_copied(const Made *m, const Scratch *s)
{
    bool copied = false;
    for (size_t i = 0; i < m->in.count; i++)
        copied |= m->in.at[i].copied == s;
    for (size_t i = 0; i < m->out.count; i++)
        copied |= m->out.at[i].copied == s;
    return copied;
}

/* The greatest value along dimension d, or -1. Takes the set. */
static int64_t greatest(const Scop *s, isl_set *set, int d)
{
    isl_val *most = isl_set_dim_max_val(set, d);
    scop_isl_unbounded(s);
    int64_t v = isl_val_is_int(most) == isl_bool_true ? isl_val_get_num_si(most) : -1;
    isl_val_free(most);
    return v;
}

/* The iterations of shared loop d from the write of a value to its last read, both counted; 0: not bounded. */
static int64_t live(const Made *m, const Stage *from, int d)
{
    int64_t most = 1;
    for (size_t i = 0; i < m->p->at.count; i++) {
        const Stage *to = &m->p->at.at[i];
        if (to->group != m->group || to == from)
            continue;
        isl_map *flow  = stages_flow(m->p, from, to);
        bool     reads = isl_map_is_empty(flow) != isl_bool_true;
        isl_set *away  = isl_map_deltas(flow);
        int64_t  n     = reads ? greatest(m->t->scop, away, d) + to->shift[d] - from->shift[d] + 1 : 1;
        if (!reads)
            isl_set_free(away);
        if (n < 1)
            return 0;
        most = n > most ? n : most;
    }
    return most;
}

/* Does the writer write row p_d + c along dimension j of the array, with one c? */
static bool along(const Made *m, const Stage *writer, const CSymbol *array, int d, int j)
{
    isl_set *away = NULL;
    for (size_t i = 0; i < m->run.count; i++) {
        const Statement *st    = m->run.at[i].source;
        const Access    *write = &st->accesses.at[st->accesses.count - 1];
        if (write->array != array)
            continue;
        isl_space *space =
            isl_space_map_from_domain_and_range(isl_set_get_space(st->domain), isl_set_get_space(writer->all));
        isl_map *at = isl_map_reverse(isl_union_map_extract_map(writer->points, space));
        at          = isl_map_apply_range(at, isl_map_copy(write->relation));
        at          = isl_map_reset_tuple_id(isl_map_reset_tuple_id(at, isl_dim_in), isl_dim_out);
        at          = isl_map_project_out(at, isl_dim_in, (unsigned)d + 1, (unsigned)(writer->dims - d - 1));
        at          = isl_map_project_out(at, isl_dim_in, 0, (unsigned)d);
        at          = isl_map_project_out(at, isl_dim_out, (unsigned)j + 1, (unsigned)(array->rank - j - 1));
        at          = isl_map_project_out(at, isl_dim_out, 0, (unsigned)j);
        isl_set *by = isl_map_deltas(at);
        away        = away ? isl_set_union(away, by) : by;
    }
    bool one = isl_set_is_singleton(away) == isl_bool_true;
    isl_set_free(away);
    return one;
}

/* Dimension j has `rows` places, each element in turn. */
static void fold(Scratch *s, int j, int64_t rows)
{
    isl_aff *first = isl_multi_aff_get_aff(s->offset, j);
    isl_aff *zero  = isl_aff_zero_on_domain(isl_aff_get_domain_local_space(first));
    isl_aff_free(first);
    s->offset  = isl_multi_aff_set_aff(s->offset, j, zero);
    s->size[j] = s->fold[j] = rows;
}

/* Folds along the shared loops, the outermost first, up to the first one along which rows are live for several
 * iterations: inside of it all rows come again. */
static void fold_scratch(const Made *m, Scratch *s, const Stage *writer, int shared)
{
    for (int d = 0; d < shared; d++) {
        int64_t rows = live(m, writer, d), places = 1;
        while (places < rows)
            places *= 2;
        for (int j = 0; rows > 0 && j < s->rank; j++)
            if (!s->fold[j] && places < s->size[j] && along(m, writer, s->array, d, j)) {
                fold(s, j, places);
                break;
            }
        if (rows != 1)
            return;
    }
}

void slide_fold(Made *m)
{
    for (size_t i = 0; i < m->t->scratch.count; i++) {
        Scratch     *s      = m->t->scratch.at[i];
        const Stage *writer = s->tile == m->group && !is_copied(m, s) ? only_writer(m, s->array) : NULL;
        if (writer)
            fold_scratch(m, s, writer, slide_shared(m->p, m->group));
    }
}
