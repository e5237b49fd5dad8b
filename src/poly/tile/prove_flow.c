/* SPDX-License-Identifier: MIT */
/* The proof of programs in which instances run several times, or in scratch.
 *
 * Takes   a tiled program; memory is elements of arrays, and for scratch elements of a tile.
 * Gives   nothing, or what differs from the given program.
 * Holds   (1) dataflow: the source of each read, by isl's analysis of the tiled program and followed through copies, is
 *         an instance of the statement instance that the given program's read has as its source, or both have none;
 *         (2) results: the last write of each element that lives on is by the same instance;
 *         (3) independence: no iteration of a loop marked parallel or vector touches memory that another one writes.
 *         Of arrays that prove_once.c has proved nothing is asked. What an instance executes, and that scratch is that
 *         of a tile, is proved before (prove_tiles.c). */
#include "poly/tile/prove.h"
#include "poly/model/model.h"
#include "poly/tile/order.h"

#include <isl/flow.h>
#include <isl/schedule_node.h>

enum { MOST_COPIES = 4 }; /* one after the other: out of one group's scratch, into another's */

typedef struct Memory {
    const Tiled   *t;
    ProvedArrays   proved; /* by prove_once; the rest is about the others */
    isl_union_map *given_reads, *given_writes, *live_out;
    isl_union_map *reads, *writes; /* X -> place; a place of scratch is name[o…, element…] */
    isl_union_map *executes;       /* X -> S, of what is no copy */
    isl_union_map *back;           /* [X -> place] -> [S -> element], of reads */
    isl_union_set *copies;
    isl_union_set *own;           /* places of one tile: scratch and private variables */
    isl_union_set *scratch;       /* those of scratch */
    isl_union_map *shared_writes; /* those of `writes` that are not to scratch */
} Memory;

static void add(isl_union_map **to, isl_map *map)
{
    *to = *to ? isl_union_map_add_map(*to, map) : isl_union_map_from_map(map);
}

static bool is_open(const Memory *m, const CSymbol *array)
{
    for (size_t i = 0; i < m->proved.at.count; i++)
        if (m->proved.at.at[i] == array)
            return false;
    return true;
}

/* All elements of an array. */
static isl_set *array_whole(const Scop *s, const CSymbol *array)
{
    isl_space *space = isl_space_set_alloc(s->isl, 0, (unsigned)array->rank);
    return isl_set_universe(isl_space_set_tuple_name(space, isl_dim_set, array->name));
}

/* What the given program does with arrays that are open. */
static void given_of(Memory *m)
{
    const Scop    *s      = m->t->scop;
    isl_union_set *proved = isl_union_set_empty(isl_set_get_space(s->context));
    for (size_t i = 0; i < m->proved.at.count; i++)
        proved = isl_union_set_add_set(proved, array_whole(s, m->proved.at.at[i]));
    m->live_out = isl_union_map_subtract_range(isl_union_map_copy(s->live_out), proved);
    for (size_t i = 0; i < s->statements.count; i++)
        for (size_t k = 0; k < s->statements.at[i].accesses.count; k++) {
            const Access *a = &s->statements.at[i].accesses.at[k];
            if (is_open(m, a->array))
                add(a->write ? &m->given_writes : &m->given_reads, isl_map_copy(a->relation));
        }
}

/* The name of a tile's own memory; NULL: all tiles share it. */
static const char *own_name(const Memory *m, const Scratch *s, const CSymbol *array)
{
    return s ? s->name : scop_private(m->t->scop, array) ? array->name : NULL;
}

/* { X -> place } for an access of an array's element { X -> array[…] }; the first `tiles` coordinates of X are the
 * tile. Takes it. */
static isl_map *place_of(const char *own, int tiles, isl_map *element)
{
    if (!own)
        return element;
    isl_space *space = isl_space_domain(isl_map_get_space(element));
    int        rest  = (int)isl_space_dim(space, isl_dim_set) - tiles;
    isl_map   *o =
        isl_map_from_multi_aff(isl_multi_aff_project_out_map(space, isl_dim_set, (unsigned)tiles, (unsigned)rest));
    o       = isl_map_reset_tuple_id(o, isl_dim_out);
    element = isl_map_reset_tuple_id(element, isl_dim_out);
    return isl_map_set_tuple_name(isl_map_flat_range_product(o, element), isl_dim_out, own);
}

/* { place -> array[…] } */
static isl_map *element_of(const char *own, int tiles, isl_space *array, const char *name)
{
    if (!own)
        return isl_map_identity(isl_space_map_from_set(array));
    isl_space *space = isl_space_add_dims(isl_space_reset_tuple_id(array, isl_dim_set), isl_dim_set, (unsigned)tiles);
    space            = isl_space_set_tuple_name(space, isl_dim_set, own);
    isl_map *map     = isl_map_from_multi_aff(isl_multi_aff_project_out_map(space, isl_dim_set, 0, (unsigned)tiles));
    return isl_map_set_tuple_name(map, isl_dim_out, name);
}

static void memory_of(Memory *m, const Tiled *t)
{
    *m               = (Memory){ .t = t, .proved = prove_once(t) };
    isl_space *space = isl_set_get_space(t->scop->context);
    m->copies        = isl_union_set_empty(isl_space_copy(space));
    m->own           = isl_union_set_copy(m->copies);
    m->scratch       = isl_union_set_copy(m->copies);
    m->reads         = isl_union_map_empty(isl_space_copy(space));
    m->writes        = isl_union_map_copy(m->reads);
    m->executes      = isl_union_map_copy(m->reads);
    m->back          = isl_union_map_copy(m->reads);
    m->given_reads   = isl_union_map_copy(m->reads);
    m->given_writes  = isl_union_map_copy(m->reads);
    m->shared_writes = isl_union_map_empty(space);
    given_of(m);
    for (size_t i = 0; i < t->statements.count; i++) {
        const TiledStatement *x = &t->statements.at[i];
        if (!x->source && !is_open(m, x->copied->array))
            continue;
        if (!x->source) {
            int      tiles = (int)isl_multi_aff_dim(x->copied->offset, isl_dim_in);
            isl_map *place = place_of(x->copied->name, tiles, isl_map_copy(x->executes));
            m->copies      = isl_union_set_add_set(m->copies, isl_map_domain(isl_map_copy(x->executes)));
            add(x->copy_out ? &m->reads : &m->writes, place);
            add(x->copy_out ? &m->writes : &m->reads, isl_map_copy(x->executes));
            if (x->copy_out)
                add(&m->shared_writes, isl_map_copy(x->executes));
            continue;
        }
        int tiles = (int)isl_map_dim(x->executes, isl_dim_in) - (int)isl_map_dim(x->executes, isl_dim_out);
        add(&m->executes, isl_map_copy(x->executes));
        for (size_t k = 0; k < x->accesses.count; k++) {
            const TiledAccess *a = &x->accesses.at[k];
            if (!is_open(m, a->access->array))
                continue;
            const char *own = own_name(m, a->scratch, a->access->array);
            isl_map    *e   = isl_map_apply_range(isl_map_copy(x->executes), isl_map_copy(a->access->relation));
            if (a->access->write && !own)
                add(&m->shared_writes, isl_map_copy(e));
            if (!a->access->write) {
                isl_space *of = isl_space_range(isl_map_get_space(e));
                add(&m->back,
                    isl_map_product(isl_map_copy(x->executes), element_of(own, tiles, of, a->access->array->name)));
            }
            isl_map *place = place_of(own, tiles, e);
            isl_set *array = isl_set_universe(isl_space_range(isl_map_get_space(place)));
            if (own)
                m->own = isl_union_set_add_set(m->own, isl_set_copy(array));
            if (a->scratch)
                m->scratch = isl_union_set_add_set(m->scratch, isl_set_copy(array));
            isl_set_free(array);
            add(a->access->write ? &m->writes : &m->reads, place);
        }
    }
}

static void memory_free(Memory *m)
{
    isl_union_map_free(m->reads);
    isl_union_map_free(m->writes);
    isl_union_map_free(m->executes);
    isl_union_map_free(m->back);
    isl_union_set_free(m->copies);
    isl_union_set_free(m->own);
    isl_union_set_free(m->scratch);
    isl_union_map_free(m->shared_writes);
    isl_union_map_free(m->given_reads);
    isl_union_map_free(m->given_writes);
    isl_union_map_free(m->live_out);
}

/* Writes and reads of places that are written once at most, and of all others. */
typedef struct Split {
    isl_union_map *writes, *once, *often;
} Split;

/* Is it the only statement that writes there, and does each of its instances write another place? */
static isl_stat split_write(isl_map *write, void *user)
{
    Split          *p       = user;
    isl_union_set  *array   = isl_union_set_from_set(isl_set_universe(isl_space_range(isl_map_get_space(write))));
    isl_union_map  *writers = isl_union_map_intersect_range(isl_union_map_copy(p->writes), array);
    bool            alone   = isl_union_map_n_map(writers) == 1 && isl_map_is_injective(write) == isl_bool_true;
    isl_union_map **to      = alone ? &p->once : &p->often;
    isl_union_map_free(writers);
    *to = isl_union_map_add_map(*to, write);
    return isl_stat_ok;
}

static Split split(isl_union_map *writes)
{
    isl_union_map *none = isl_union_map_empty(isl_union_map_get_space(writes));
    Split          p    = { writes, isl_union_map_copy(none), none };
    isl_union_map_foreach_map(writes, split_write, &p);
    return p;
}

/* The arrays that are accessed, with all their elements. Takes the map. */
static isl_union_set *arrays_of(isl_union_map *accesses)
{
    return isl_union_set_universe(isl_union_map_range(accesses));
}

/* The last sources by isl's analysis. Takes reads and writes. */
static isl_union_map *sources_often(isl_schedule *order, isl_union_map *reads, isl_union_map *writes,
                                    isl_union_map **none)
{
    if (isl_union_map_is_empty(writes) == isl_bool_true) {
        *none = reads;
        return writes;
    }
    isl_union_access_info *info = isl_union_access_info_from_sink(reads);
    info                        = isl_union_access_info_set_must_source(info, writes);
    info                        = isl_union_access_info_set_schedule(info, isl_schedule_copy(order));
    isl_union_flow *flow        = isl_union_access_info_compute_flow(info);
    isl_union_map  *full        = isl_union_flow_get_full_must_dependence(flow);
    *none                       = isl_union_flow_get_must_no_source(flow);
    isl_union_flow_free(flow);
    return full;
}

/* The last sources: { source -> [sink -> place] }; *none: { sink -> place } that have none. What writes a place once,
 * and before each read, is the source of these reads: no analysis is needed. */
static isl_union_map *sources(isl_schedule *order, isl_union_map *reads, isl_union_map *writes, isl_union_map **none)
{
    Split          p    = split(writes);
    isl_union_set *once = arrays_of(isl_union_map_copy(p.once));
    isl_union_map *read = isl_union_map_intersect_range(isl_union_map_copy(reads), isl_union_set_copy(once));
    isl_union_map *back = isl_union_map_reverse(isl_union_map_copy(p.once)); /* place -> source */
    isl_union_map *full = NULL;
    if (prove_forward(order, isl_union_map_apply_range(isl_union_map_copy(p.once),
                                                       isl_union_map_reverse(isl_union_map_copy(read))))) {
        isl_union_map *others =
            isl_union_map_subtract_range(isl_union_map_copy(reads), isl_union_set_copy(once)); /* of other arrays */
        isl_union_map *place = isl_union_map_range_map(isl_union_map_copy(read)); /* [sink -> place] -> place */
        full                 = sources_often(order, others, p.often, none);
        full                 = isl_union_map_union(full, isl_union_map_reverse(isl_union_map_apply_range(place, back)));
        *none =
            isl_union_map_union(*none, isl_union_map_subtract_range(isl_union_map_copy(read),
                                                                    isl_union_map_range(isl_union_map_copy(p.once))));
    } else {
        isl_union_map_free(back);
        isl_union_map_free(p.often);
        full = sources_often(order, isl_union_map_copy(reads), isl_union_map_copy(writes), none);
    }
    isl_union_map_free(p.once);
    isl_union_map_free(read);
    isl_union_set_free(once);
    return full;
}

/* The writes that a later one replaces. */
static isl_union_set *overwritten(isl_schedule *order, isl_union_map *writes)
{
    Split          p = split(writes);
    isl_union_map *none, *full = sources_often(order, isl_union_map_copy(p.often), p.often, &none);
    isl_union_map_free(p.once);
    isl_union_map_free(none);
    return isl_union_map_domain(full);
}

/* Takes both. */
static bool within(isl_union_map *a, isl_union_map *b)
{
    isl_bool yes = isl_union_map_is_subset(a, b);
    isl_union_map_free(a);
    isl_union_map_free(b);
    return yes == isl_bool_true;
}

/* Follows sources that are copies to what they copied. `from`: { source -> copy }, `blank`: copies of what no instance
 * wrote. What ends in a blank copy is added to *none. */
static isl_union_map *through_copies(const Memory *m, isl_union_map *full, isl_union_map *from, isl_union_set *blank,
                                     isl_union_set **none)
{
    for (int i = 0; i < MOST_COPIES; i++) {
        isl_union_map *open = isl_union_map_intersect_domain(isl_union_map_copy(full), isl_union_set_copy(m->copies));
        isl_union_map *end  = isl_union_map_intersect_domain(isl_union_map_copy(open), isl_union_set_copy(blank));
        *none               = isl_union_set_union(*none, isl_union_map_range(end));
        full                = isl_union_map_subtract_domain(full, isl_union_set_copy(m->copies));
        open                = isl_union_map_apply_domain(open, isl_union_map_reverse(isl_union_map_copy(from)));
        full                = isl_union_map_union(full, open);
    }
    return full;
}

/* (1) and (2). */
static const char *prove_values(const Memory *m)
{
    const Scop    *s = m->t->scop;
    isl_union_map *none_of, *none_given, *given = sources(s->schedule, m->given_reads, m->given_writes, &none_given);
    isl_union_map_free(none_given);
    isl_union_map *full   = sources(m->t->schedule, m->reads, m->writes, &none_of);
    isl_union_map *sink   = isl_union_map_domain_map(isl_union_map_copy(m->reads)); /* [X -> place] -> X */
    isl_union_map *copied = isl_union_map_apply_range(isl_union_map_copy(full), sink);
    copied                = isl_union_map_intersect_range(copied, isl_union_set_copy(m->copies));
    isl_union_set *blank =
        isl_union_set_intersect(isl_union_map_domain(isl_union_map_copy(none_of)), isl_union_set_copy(m->copies));
    isl_union_map *unset = isl_union_map_intersect_range(isl_union_map_copy(none_of), isl_union_set_copy(m->own));
    bool           empty = isl_union_map_is_empty(unset) == isl_bool_true;
    isl_union_map_free(unset);
    isl_union_set *none = isl_union_map_wrap(none_of);
    full                = through_copies(m, full, copied, blank, &none);

    /* Sinks that are copies fall away: `back` does not know them. */
    full                = isl_union_map_apply_range(full, isl_union_map_copy(m->back));
    isl_union_map *ends = isl_union_map_intersect_domain(isl_union_map_copy(full), isl_union_set_copy(m->copies));
    bool           open = isl_union_map_is_empty(ends) != isl_bool_true;
    isl_union_map_free(ends);
    full                 = isl_union_map_apply_domain(full, isl_union_map_copy(m->executes));
    isl_union_map *blind = isl_union_set_unwrap(isl_union_set_apply(none, isl_union_map_copy(m->back)));
    const char    *wrong = open ? "a copy has no end" : empty ? NULL : "a tile reads what it has not set";
    if (!within(full, given) && !wrong)
        wrong = "a read has another source";
    if (!within(blind, isl_union_map_copy(s->live_in)) && !wrong)
        wrong = "a read has no source";

    isl_union_map *last = isl_union_map_subtract_domain(isl_union_map_copy(m->shared_writes),
                                                        overwritten(m->t->schedule, m->shared_writes));
    for (size_t i = 0; i < s->region->symbols.count; i++) {
        const CSymbol *array = s->region->symbols.at[i];
        if (!scop_dies(array) || scop_private(s, array) ||
            (array->kind != CSYMBOL_ARRAY && array->kind != CSYMBOL_SCALAR))
            continue;
        last = isl_union_map_subtract_range(last, isl_union_set_from_set(array_whole(s, array)));
    }
    /* A copy out writes what the source of its read wrote. */
    for (int i = 0; i < MOST_COPIES; i++) {
        isl_union_map *by = isl_union_map_intersect_domain(isl_union_map_copy(last), isl_union_set_copy(m->copies));
        last              = isl_union_map_subtract_domain(last, isl_union_set_copy(m->copies));
        by                = isl_union_map_apply_domain(by, isl_union_map_reverse(isl_union_map_copy(copied)));
        last              = isl_union_map_union(last, by);
    }
    last           = isl_union_map_apply_domain(last, isl_union_map_copy(m->executes));
    isl_bool equal = isl_union_map_is_equal(last, m->live_out);
    if (equal != isl_bool_true && !wrong)
        wrong = "a result is written by another instance";
    isl_union_map_free(last);
    isl_union_map_free(copied);
    isl_union_set_free(blank);
    return wrong;
}

static bool is_marked(isl_schedule_node *node, bool (*as)(const char *mark))
{
    bool    mark = isl_schedule_node_get_type(node) == isl_schedule_node_mark;
    isl_id *id   = mark ? isl_schedule_node_mark_get_id(node) : NULL;
    bool    is   = id && as(isl_id_get_name(id));
    isl_id_free(id);
    return is;
}

static bool is_tile(const char *mark)
{
    return !strcmp(mark, MARK_TILE);
}

/* Do loops that are marked keep conflicts inside of an iteration? A conflict is a pair of accesses of one place, of
 * which the first writes. Those in scratch begin to count in a tile: it is declared there, and a place of scratch is a
 * place of one tile. Takes the conflicts that are left at the node. */
static bool independent(isl_schedule_node *node, isl_union_map *left, isl_union_map *scratch)
{
    enum isl_schedule_node_type type = isl_schedule_node_get_type(node);
    bool                        ok   = true;
    if (is_marked(node, is_tile)) {
        left    = isl_union_map_union(left, scratch);
        scratch = isl_union_map_empty(isl_union_map_get_space(left));
    } else if (is_marked(node, order_is_loop_mark)) {
        isl_schedule_node *band = isl_schedule_node_get_child(node, 0);
        while (isl_schedule_node_get_type(band) == isl_schedule_node_mark)
            band = isl_schedule_node_child(band, 0);
        ok = isl_schedule_node_get_type(band) == isl_schedule_node_band && order_carries_none(band, left);
        isl_schedule_node_free(band);
    }
    isl_size n = isl_schedule_node_n_children(node);
    ok         = ok && n >= 0;
    for (int i = 0; i < n && ok; i++) {
        isl_schedule_node *child = isl_schedule_node_get_child(node, i);
        ok                       = independent(child, order_left_below(node, i, left),
                         type == isl_schedule_node_band ? isl_union_map_copy(scratch)
                                                                              : order_left_below(node, i, scratch));
        isl_schedule_node_free(child);
    }
    isl_union_map_free(left);
    isl_union_map_free(scratch);
    return ok;
}

/* (3) */
static bool prove_independent(const Memory *m, isl_schedule_node *root)
{
    isl_union_map *all   = isl_union_map_union(isl_union_map_copy(m->reads), isl_union_map_copy(m->writes));
    isl_union_map *own   = isl_union_map_intersect_range(isl_union_map_copy(m->writes), isl_union_set_copy(m->scratch));
    isl_union_map *other = isl_union_map_subtract_range(isl_union_map_copy(m->writes), isl_union_set_copy(m->scratch));
    isl_union_map *back  = isl_union_map_reverse(all);
    own                  = isl_union_map_apply_range(own, isl_union_map_copy(back));
    return independent(root, isl_union_map_apply_range(other, back), own);
}

const char *tile_prove_flow(const Tiled *t)
{
    Memory m;
    memory_of(&m, t);
    const bool         open  = isl_union_map_n_map(m.reads) != 0 || isl_union_map_n_map(m.writes) != 0;
    const char        *wrong = open ? prove_values(&m) : NULL;
    isl_schedule_node *root  = isl_schedule_get_root(t->schedule);
    if (!wrong && open && !prove_independent(&m, root))
        wrong = "a loop is marked parallel and its iterations share memory";
    isl_schedule_node_free(root);
    memory_free(&m);
    return wrong;
}
