/* SPDX-License-Identifier: MIT */
/* Which loops are marked.
 *
 * Takes   the marks and loops of a schedule as isl comes by them.
 * Gives   each loop's marks, as an annotation of the loop.
 * Holds   isl drops a loop that has one iteration. Its mark goes with it: one that said that iterations are independent
 *         says nothing about the loops inside. */
#include "poly/emit/cuda.h"

#include <isl/space.h>
#include <string.h>

/* The loops made so far; in loop_begins() the one that begins is among them. */
static int depth_of(isl_ast_build *build)
{
    isl_space *space = isl_ast_build_get_schedule_space(build);
    const int  depth = (int)isl_space_dim(space, isl_dim_set);
    isl_space_free(space);
    return depth;
}

isl_stat mark_begins(isl_id *mark, isl_ast_build *build, void *writer)
{
    Writer        *w = writer;
    const LoopMark m = { arena_strdup(w->arena, isl_id_get_name(mark)), depth_of(build) };
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

isl_id *loop_begins(isl_ast_build *build, void *writer)
{
    Writer   *w     = writer;
    const int depth = depth_of(build) - 1;
    Text      names;
    text_init(&names, w->arena);
    text_add(&names, "loop");
    for (size_t i = 0; i < w->marks.count; i++)
        if (w->marks.at[i].depth == depth)
            text_printf(&names, " %s", w->marks.at[i].name);
    LoopNote *note = w->device ? note_loop(w, build, text_string(&names)) : NULL;
    return isl_id_alloc(isl_ast_build_get_ctx(build), text_string(&names), note);
}

bool loop_is(isl_ast_node *loop, const char *mark)
{
    isl_id    *id = isl_ast_node_get_annotation(loop);
    const bool is = id && strstr(isl_id_get_name(id), mark);
    isl_id_free(id);
    return is;
}
