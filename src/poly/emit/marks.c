/* SPDX-License-Identifier: MIT */
/* Which loops are marked.
 *
 * Takes   a schedule; the marks and loops that isl makes of it.
 * Gives   each loop's marks, as an annotation of the loop.
 * Holds   isl drops a loop that has one iteration, and forgets that it was there. Its mark goes with it: one that said
 *         that iterations are independent says nothing about the loops inside. So a mark knows the depth of its loop in
 *         the schedule, and a loop's depth is the number in isl's name for it, c0, c1… */
#include "poly/emit/cuda.h"

#include <isl/schedule_node.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static isl_schedule_node *number(isl_schedule_node *node, void *writer)
{
    Writer *w = writer;
    if (isl_schedule_node_get_type(node) != isl_schedule_node_mark)
        return node;
    isl_id *id       = isl_schedule_node_mark_get_id(node);
    int    *at       = ARENA_NEW(w->arena, int);
    *at              = (int)isl_schedule_node_get_schedule_depth(node);
    isl_id *numbered = isl_id_alloc(isl_id_get_ctx(id), isl_id_get_name(id), at);
    isl_id_free(id);
    node = isl_schedule_node_delete(node);
    return isl_schedule_node_insert_mark(node, numbered);
}

isl_schedule *number_marks(Writer *w, isl_schedule *schedule)
{
    return isl_schedule_map_schedule_node_bottom_up(schedule, number, w);
}

/* The scratch of a statement's tile, if it uses some. */
static const Scratch *scratch_by(const TiledStatement *x)
{
    const Scratch *s = x->copied;
    for (size_t k = 0; !s && k < x->accesses.count; k++)
        s = x->accesses.at[k].scratch;
    return s;
}

/* The tiles of a group of which the loops that isl makes now run something; NULL: none. */
static isl_set *tiles_here(const Tiled *t, isl_union_set *instances, int group)
{
    isl_set *all = NULL;
    for (size_t i = 0; i < t->statements.count; i++) {
        const TiledStatement *x = &t->statements.at[i];
        const Scratch        *s = scratch_by(x);
        if (!s || s->tile != group)
            continue;
        isl_set *here  = isl_union_set_extract_set(instances, isl_space_domain(isl_map_get_space(x->executes)));
        unsigned tiles = (unsigned)isl_multi_aff_dim(s->offset, isl_dim_in);
        unsigned rest  = (unsigned)isl_set_dim(here, isl_dim_set) - tiles;
        here           = isl_set_reset_tuple_id(isl_set_project_out(here, isl_dim_set, tiles, rest));
        all            = all ? isl_set_union(all, here) : here;
    }
    return all;
}

/* Scratch is declared at each place that has tiles. Where its order allows it, isl runs what only the first tiles have
 * in loops of its own; the scratch would be gone by then. It is told not to (group_coscheduled), and a second place
 * with a part of the same tile fails. */
static void note_tiles(Writer *w, isl_ast_build *build)
{
    isl_union_set *instances = isl_union_map_domain(isl_ast_build_get_schedule(build));
    const size_t   before    = w->places.count;
    for (size_t i = 0; i < w->tiled->scratch.count; i++) {
        const int group = w->tiled->scratch.at[i]->tile;
        bool      known = false;
        for (size_t k = before; k < w->places.count; k++)
            known |= w->places.at[k].group == group;
        isl_set *here = known ? NULL : tiles_here(w->tiled, instances, group);
        for (size_t k = 0; here && k < before; k++)
            w->failed |=
                w->places.at[k].group == group && isl_set_is_disjoint(w->places.at[k].tiles, here) != isl_bool_true;
        if (here)
            vec_push(w->arena, &w->places, ((TilePlace){ group, here }));
    }
    isl_union_set_free(instances);
}

isl_stat mark_begins(isl_id *mark, isl_ast_build *build, void *writer)
{
    Writer        *w = writer;
    const LoopMark m = { arena_strdup(w->arena, isl_id_get_name(mark)), *(const int *)isl_id_get_user(mark) };
    if (!strcmp(m.name, MARK_TILE))
        note_tiles(w, build);
    vec_push(w->arena, &w->marks, m);
    return isl_stat_ok;
}

isl_ast_node *mark_ends(isl_ast_node *node, isl_ast_build *build, void *writer)
{
    Writer *w = writer;
    (void)build;
    w->marks.count--;
    return node;
}

isl_ast_node *loop_ends(isl_ast_node *loop, isl_ast_build *build, void *writer)
{
    Writer       *w        = writer;
    isl_ast_expr *iterator = isl_ast_node_for_get_iterator(loop);
    isl_id       *variable = isl_ast_expr_get_id(iterator);
    const char   *name     = isl_id_get_name(variable);
    const int     depth    = name[0] == 'c' ? atoi(name + 1) : -1;
    Text          names;
    text_init(&names, w->arena);
    text_add(&names, "loop");
    for (size_t i = 0; i < w->marks.count; i++)
        if (w->marks.at[i].depth == depth)
            text_printf(&names, " %s", w->marks.at[i].name);
    isl_id_free(variable);
    isl_ast_expr_free(iterator);
    LoopNote *note = w->device ? note_loop(w, build, text_string(&names)) : NULL;
    return isl_ast_node_set_annotation(loop, isl_id_alloc(isl_ast_build_get_ctx(build), text_string(&names), note));
}

bool loop_is(isl_ast_node *loop, const char *mark)
{
    isl_id    *id = isl_ast_node_get_annotation(loop);
    const bool is = id && strstr(isl_id_get_name(id), mark);
    isl_id_free(id);
    return is;
}

bool read_mark(const char *marks, const char *name, int *inside, int *count)
{
    const char *at = marks ? strstr(marks, name) : NULL;
    return at && sscanf(at + strlen(name), ".%d.%d", inside, count) == 2;
}

const char *marks_of(const Writer *w, isl_ast_node *node, const LoopNote **range)
{
    isl_id     *id    = isl_ast_node_get_annotation(node);
    const char *marks = id ? arena_strdup(w->arena, isl_id_get_name(id)) : "";
    *range            = id ? isl_id_get_user(id) : NULL;
    isl_id_free(id);
    return marks;
}
