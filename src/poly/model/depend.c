/* SPDX-License-Identifier: MIT */
/* Dependences, and the making and freeing of a Scop.
 *
 * Takes   accesses and the order of the text.
 * Gives   flow (the last write before each read), reuse of memory (anti and output dependences: to each write, from all
 *         reads and writes of the element before it), what is read and never written before, the last writes.
 * Holds   an order of the instances that keeps both keeps the value of every read and every last write. That reuse has
 *         all accesses and not those since the write before changes no order: the others follow, through the writes
 *         between. Nor are more loops serial, since a loop that carries a dependence carries one of its parts. It takes
 *         isl no search for last accesses: a third of the time for some programs.
 * From    Feautrier's dataflow analysis, as isl has it. The array of a stage in a pipeline needs none: it is written
 *         once, before all reads or behind them, so two relations composed give its dependences. */
#include "poly/model/depend.h"
#include "poly/model/model.h"
#include "base/context.h"

#include <isl/flow.h>

void scop_collect(Scop *s)
{
    isl_union_set_free(s->domain);
    isl_union_map_free(s->reads);
    isl_union_map_free(s->writes);
    isl_space *params = isl_set_get_space(s->context);
    s->domain         = isl_union_set_empty(isl_space_copy(params));
    s->reads          = isl_union_map_empty(isl_space_copy(params));
    s->writes         = isl_union_map_empty(params);
    for (size_t i = 0; i < s->statements.count; i++) {
        Statement *st = &s->statements.at[i];
        s->domain     = isl_union_set_add_set(s->domain, isl_set_copy(st->domain));
        for (size_t k = 0; k < st->accesses.count; k++) {
            const Access   *x  = &st->accesses.at[k];
            isl_union_map **to = x->write ? &s->writes : &s->reads;
            *to                = isl_union_map_add_map(*to, isl_map_copy(x->relation));
        }
    }
}

/* ---- Arrays that are written once ---- */

static bool shares_loop(const Statement *a, const Statement *b)
{
    return a->depth && b->depth && a->iterators[0] == b->iterators[0];
}

static const Access *write_of(const Statement *st)
{
    return &st->accesses.at[st->accesses.count - 1];
}

/* The statement that writes the array, if it is the only one, writes each element once at most, and shares no loop with
 * a statement that reads it: then the text has every write before or behind every read. NULL: not so. */
static const Statement *only_writer(const Scop *s, const CSymbol *array)
{
    const Statement *writer = NULL;
    for (size_t i = 0; i < s->statements.count; i++)
        if (write_of(&s->statements.at[i])->array == array) {
            if (writer)
                return NULL;
            writer = &s->statements.at[i];
        }
    for (size_t i = 0; writer && i < s->statements.count; i++)
        for (size_t k = 0; k + 1 < s->statements.at[i].accesses.count; k++)
            if (s->statements.at[i].accesses.at[k].array == array &&
                (writer == &s->statements.at[i] || shares_loop(writer, &s->statements.at[i])))
                return NULL;
    return writer && isl_map_is_injective(write_of(writer)->relation) == isl_bool_true ? writer : NULL;
}

/* For each statement: is the array that it writes written once, in that sense? */
static bool *written_once(const Scop *s)
{
    bool *once = ARENA_ARRAY(s->arena, bool, s->statements.count + 1);
    for (size_t i = 0; i < s->statements.count; i++)
        once[i] = only_writer(s, write_of(&s->statements.at[i])->array) != NULL;
    return once;
}

/* The number of the statement that writes the array once, or -1. */
static int once_by(const Scop *s, const bool *once, const CSymbol *array)
{
    for (size_t i = 0; i < s->statements.count; i++)
        if (once[i] && write_of(&s->statements.at[i])->array == array)
            return (int)i;
    return -1;
}

/* ---- Dependences ---- */

/* Accesses of arrays that are written several times, or in loops around a read. */
typedef struct Others {
    isl_union_map *reads, *writes;
} Others;

static Others others_of(const Scop *s, const bool *once)
{
    isl_space *params = isl_set_get_space(s->context);
    Others     o      = { isl_union_map_empty(isl_space_copy(params)), isl_union_map_empty(isl_space_copy(params)) };
    isl_space_free(params);
    for (size_t i = 0; i < s->statements.count; i++)
        for (size_t k = 0; k < s->statements.at[i].accesses.count; k++) {
            const Access   *x  = &s->statements.at[i].accesses.at[k];
            isl_union_map **to = x->write ? &o.writes : &o.reads;
            if (once_by(s, once, x->array) < 0)
                *to = isl_union_map_add_map(*to, isl_map_copy(x->relation));
        }
    return o;
}

/* The sources before each sink: of `must` the last one, of `may` all. Takes the maps; one of the sources is NULL. */
static isl_union_flow *before(const Scop *s, isl_union_map *sink, isl_union_map *must, isl_union_map *may)
{
    isl_union_access_info *info = isl_union_access_info_from_sink(sink);
    if (must)
        info = isl_union_access_info_set_must_source(info, must);
    if (may)
        info = isl_union_access_info_set_may_source(info, may);
    info = isl_union_access_info_set_schedule(info, isl_schedule_copy(s->schedule));
    return isl_union_access_info_compute_flow(info);
}

/* By isl's analysis; *overwritten: the writes that a later one replaces. */
static void depend_others(Scop *s, const Others *o, isl_union_set **overwritten)
{
    if (isl_union_map_is_empty(o->writes) == isl_bool_true) {
        s->flow      = isl_union_map_copy(o->writes);
        s->reuse     = isl_union_map_copy(o->writes);
        s->live_in   = isl_union_map_copy(o->reads);
        *overwritten = isl_union_map_domain(isl_union_map_copy(o->writes));
        return;
    }
    isl_union_flow *flow = before(s, isl_union_map_copy(o->reads), isl_union_map_copy(o->writes), NULL);
    s->flow              = isl_union_flow_get_may_dependence(flow);
    s->live_in           = isl_union_flow_get_may_no_source(flow);
    isl_union_flow_free(flow);
    isl_union_map *any     = isl_union_map_union(isl_union_map_copy(o->reads), isl_union_map_copy(o->writes));
    flow                   = before(s, isl_union_map_copy(o->writes), NULL, any);
    s->reuse               = isl_union_flow_get_may_dependence(flow);
    isl_union_map *element = isl_union_map_range_factor_range(isl_union_flow_get_full_may_dependence(flow));
    *overwritten           = isl_union_map_domain(isl_union_map_intersect(element, isl_union_map_copy(o->writes)));
    isl_union_flow_free(flow);
}

/* A read of an array that is written once, by statement w: behind it the element's write is the source, before it the
 * read is one. */
static void depend_once(Scop *s, const Statement *w, const Access *read, bool behind)
{
    isl_map *writes = isl_map_copy(write_of(w)->relation), *reads = isl_map_copy(read->relation);
    if (!behind) {
        s->live_in = isl_union_map_add_map(s->live_in, isl_map_copy(reads));
        s->reuse   = isl_union_map_add_map(s->reuse, isl_map_apply_range(reads, isl_map_reverse(writes)));
        return;
    }
    isl_map *before = isl_map_subtract_range(isl_map_copy(reads), isl_map_range(isl_map_copy(writes)));
    s->live_in      = isl_union_map_add_map(s->live_in, before);
    s->flow         = isl_union_map_add_map(s->flow, isl_map_apply_range(writes, isl_map_reverse(reads)));
}

bool scop_once(const Scop *s, const CSymbol *array, const Statement **by)
{
    const int w = once_by(s, s->once, array);
    *by         = w < 0 ? NULL : &s->statements.at[w];
    for (size_t i = 0; i < s->statements.count; i++)
        for (size_t k = 0; k < s->statements.at[i].accesses.count; k++)
            if (s->statements.at[i].accesses.at[k].array == array &&
                (w < 0 ? s->statements.at[i].accesses.at[k].write : i < (size_t)w))
                return false;
    return true;
}

bool scop_depend(Scop *s)
{
    const bool    *once = s->once = written_once(s);
    const Others   o              = others_of(s, once);
    isl_union_set *overwritten;
    depend_others(s, &o, &overwritten);
    for (size_t i = 0; i < s->statements.count; i++)
        for (size_t k = 0; k < s->statements.at[i].accesses.count; k++) {
            const Access *x = &s->statements.at[i].accesses.at[k];
            const int     w = x->write ? -1 : once_by(s, once, x->array);
            if (w >= 0)
                depend_once(s, &s->statements.at[w], x, (size_t)w < i);
        }
    s->flow     = isl_union_map_coalesce(s->flow);
    s->reuse    = isl_union_map_coalesce(s->reuse);
    s->either   = isl_union_map_union(isl_union_map_copy(s->flow), isl_union_map_copy(s->reuse));
    s->either   = isl_union_map_coalesce(s->either);
    s->live_out = isl_union_map_empty(isl_set_get_space(s->context));
    for (size_t i = 0; i < s->statements.count; i++) {
        const Access *write = write_of(&s->statements.at[i]);
        if (!scop_dies(write->array))
            s->live_out = isl_union_map_add_map(s->live_out, isl_map_copy(write->relation));
    }
    s->live_out = isl_union_map_subtract_domain(s->live_out, overwritten);
    isl_union_map_free(o.reads);
    isl_union_map_free(o.writes);
    return s->flow && s->reuse && s->either && s->live_in && s->live_out;
}

Statement *scop_statement(const Scop *s, const char *name)
{
    for (size_t i = 0; name && i < s->statements.count; i++)
        if (strcmp(s->statements.at[i].name, name) == 0)
            return &s->statements.at[i];
    return NULL;
}

void scop_free(Scop *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->statements.count; i++) {
        isl_set_free(s->statements.at[i].domain);
        for (size_t k = 0; k < s->statements.at[i].accesses.count; k++)
            isl_map_free(s->statements.at[i].accesses.at[k].relation);
    }
    isl_set_free(s->context);
    isl_union_set_free(s->domain);
    isl_union_map_free(s->reads);
    isl_union_map_free(s->writes);
    isl_schedule_free(s->schedule);
    isl_union_map_free(s->flow);
    isl_union_map_free(s->reuse);
    isl_union_map_free(s->either);
    isl_union_map_free(s->live_in);
    isl_union_map_free(s->live_out);
    isl_union_map_free(s->private_flow);
    *s = (Scop){ .arena = s->arena };
}
