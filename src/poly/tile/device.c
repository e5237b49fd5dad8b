/* SPDX-License-Identifier: MIT */
/* Kernels, blocks and threads.
 *
 * Takes   a tiled program whose parallel loops are marked for the threads of a processor.
 * Gives   the same program marked for a device. The outermost parallel loops become a kernel, loops around them stay
 *         with the host. Where tiles are marked, each is a block, and the parallel loops of its statements are threads;
 *         other parallel loops are cut into blocks of a thread for each iteration. What no parallel loop is around is a
 *         kernel of one thread.
 * Holds   the proof (prove.h) looks at each block and thread loop: no iteration touches what another one writes. */
#include "poly/tile/device.h"
#include "poly/tile/order.h"

enum { MOST_DIMS = 3 }; /* of a grid, of a block */

/* Threads of a block by the number of its loops, the innermost first. Of the outermost loop a thread has a piece of
 * several iterations (emit/cuda_jam.c); heat-2d on an H200 without tiles: pieces of 4 are 1.1 (f64) and 1.4 (f32) times
 * as fast as of 1. */
static const int block_shapes[MOST_DIMS + 1][MOST_DIMS] = { { 1, 1, 1 }, { 256, 1, 1 }, { 64, 4, 1 }, { 32, 8, 1 } };
enum { PIECE = 4 };

static const char *mark_name(isl_schedule_node *node)
{
    if (isl_schedule_node_get_type(node) != isl_schedule_node_mark)
        return "";
    isl_id     *id   = isl_schedule_node_mark_get_id(node);
    const char *name = isl_id_get_name(id);
    isl_id_free(id);
    return name;
}

static bool is_mark(isl_schedule_node *node, const char *name)
{
    return strcmp(mark_name(node), name) == 0;
}

static bool is_band(isl_schedule_node *node)
{
    return isl_schedule_node_get_type(node) == isl_schedule_node_band;
}

static isl_schedule_node *down(isl_schedule_node *node)
{
    return isl_schedule_node_child(node, 0);
}

/* Inserts a mark and stays at what was the node. */
static isl_schedule_node *mark(isl_schedule_node *node, const char *name)
{
    isl_ctx *isl = isl_schedule_node_get_ctx(node);
    return down(isl_schedule_node_insert_mark(node, isl_id_alloc(isl, name, NULL)));
}

static isl_schedule_node *mark_loop(const Tiled *t, isl_schedule_node *node, const char *what, int inside, int count)
{
    return mark(node, arena_printf(t->scop->arena, "%s.%d.%d", what, inside, count));
}

static isl_schedule_node *mark_kernel(const Tiled *t, isl_schedule_node *node, const int threads[MOST_DIMS])
{
    return mark(node, arena_printf(t->scop->arena, "%s %d %d %d", MARK_KERNEL, threads[0], threads[1], threads[2]));
}

/* Passes over the marks for processors by removing them. */
static isl_schedule_node *unmark(isl_schedule_node *node)
{
    while (is_mark(node, MARK_PARALLEL) || is_mark(node, MARK_VECTOR))
        node = isl_schedule_node_delete(node);
    return node;
}

static isl_bool find_parallel(isl_schedule_node *node, void *user)
{
    bool *found = user;
    *found      = *found || is_mark(node, MARK_PARALLEL) || is_mark(node, MARK_VECTOR);
    return isl_bool_ok(!*found);
}

static bool has_parallel(isl_schedule_node *node)
{
    bool found = false;
    isl_schedule_node_foreach_descendant_top_down(node, find_parallel, &found);
    return found;
}

/* The number of parallel loops from the node on, each the only one inside the one before. */
static int parallel_loops(isl_schedule_node *node, isl_union_map *dependences, int most)
{
    int n = 0;
    node  = isl_schedule_node_copy(node);
    while (n < most) {
        while (is_mark(node, MARK_PARALLEL) || is_mark(node, MARK_VECTOR))
            node = down(node);
        if (!is_band(node) || !order_parallel(node, dependences))
            break;
        node = down(node);
        n++;
    }
    isl_schedule_node_free(node);
    return n;
}

/* Marks that many loops from the node on as threads; gives the node below the last. */
static isl_schedule_node *mark_threads(const Tiled *t, isl_schedule_node *node, int count)
{
    for (int k = count - 1; k >= 0; k--)
        node = down(mark_loop(t, unmark(node), MARK_THREAD, k, count));
    return node;
}

/* ---- Inside of a tile ---- */

typedef struct Mapping {
    const Tiled   *t;
    isl_union_map *dependences; /* between instances of the tiled program */
    int            loops;       /* of threads, the most that are one inside the other in this kernel */
} Mapping;

/* Are all its instances copies? */
static bool copies_alone(const Mapping *m, isl_schedule_node *node)
{
    isl_union_set *here = isl_schedule_node_get_domain(node);
    bool           only = true;
    for (size_t i = 0; i < m->t->statements.count; i++) {
        const TiledStatement *s   = &m->t->statements.at[i];
        isl_set              *own = isl_map_domain(isl_map_copy(s->executes));
        isl_set              *set = isl_union_set_extract_set(here, isl_set_get_space(own));
        only                      = only && (!s->source || isl_set_plain_is_empty(set) == isl_bool_true);
        isl_set_free(own);
        isl_set_free(set);
    }
    isl_union_set_free(here);
    return only;
}

/* The most parallel loops that are one inside the other, of statements or of copies. */
static int most_loops(const Mapping *m, isl_schedule_node *node, bool copies)
{
    while (is_mark(node, MARK_PARALLEL) || is_mark(node, MARK_VECTOR)) {
        isl_schedule_node *below = isl_schedule_node_get_child(node, 0);
        const int          n     = most_loops(m, below, copies);
        isl_schedule_node_free(below);
        return n;
    }
    if (is_band(node)) {
        const int n = parallel_loops(node, m->dependences, MOST_DIMS);
        if (n)
            return copies_alone(m, node) == copies ? n : 0;
    }
    int most = 0;
    for (int i = 0; i < isl_schedule_node_n_children(node); i++) {
        isl_schedule_node *child = isl_schedule_node_get_child(node, i);
        const int          n     = most_loops(m, child, copies);
        most                     = n > most ? n : most;
        isl_schedule_node_free(child);
    }
    return most;
}

static isl_schedule_node *threads_below(Mapping *m, isl_schedule_node *node)
{
    const int depth = isl_schedule_node_get_tree_depth(node);
    node            = unmark(node);
    if (is_band(node)) {
        const int n = parallel_loops(node, m->dependences, MOST_DIMS);
        if (n) { /* the innermost ones */
            for (int k = m->loops; k < n; k++)
                node = unmark(down(node));
            node = mark_threads(m->t, node, n < m->loops ? n : m->loops);
            return isl_schedule_node_ancestor(node, isl_schedule_node_get_tree_depth(node) - depth);
        }
    }
    for (int i = 0; i < isl_schedule_node_n_children(node); i++)
        node = isl_schedule_node_parent(threads_below(m, isl_schedule_node_child(node, i)));
    return isl_schedule_node_ancestor(node, isl_schedule_node_get_tree_depth(node) - depth);
}

/* The number of bands between the node and the mark of a tile; 0: there is none. */
static int tile_loops(isl_schedule_node *node)
{
    int n = 0;
    node  = isl_schedule_node_copy(node);
    while (is_band(node) || is_mark(node, MARK_PARALLEL) || is_mark(node, MARK_VECTOR)) {
        n += is_band(node);
        node = down(node);
    }
    n = is_mark(node, MARK_TILE) && n <= MOST_DIMS ? n : 0;
    isl_schedule_node_free(node);
    return n;
}

/* The node is the outermost of the tile loops; gives what is in its place then, a mark of a kernel. */
static isl_schedule_node *kernel_of_tiles(Mapping *m, isl_schedule_node *node, int count)
{
    const int depth = isl_schedule_node_get_tree_depth(node);
    for (int k = count - 1; k >= 0; k--)
        node = down(mark_loop(m->t, unmark(node), MARK_BLOCK, k, count));
    node     = down(node);
    m->loops = most_loops(m, node, false);
    m->loops = m->loops ? m->loops : most_loops(m, node, true);
    node     = threads_below(m, node);
    node     = isl_schedule_node_ancestor(node, isl_schedule_node_get_tree_depth(node) - depth);
    return isl_schedule_node_parent(mark_kernel(m->t, node, block_shapes[m->loops]));
}

/* ---- Parallel loops without tiles ---- */

/* floor(loop / size) of the band's loop. */
static isl_union_pw_aff *blocks_of(isl_schedule_node *band, int size)
{
    isl_ctx                *isl     = isl_schedule_node_get_ctx(band);
    isl_multi_union_pw_aff *partial = isl_schedule_node_band_get_partial_schedule(band);
    isl_union_pw_aff       *loop    = isl_multi_union_pw_aff_get_union_pw_aff(partial, 0);
    isl_multi_union_pw_aff_free(partial);
    isl_union_set *domain = isl_schedule_node_get_domain(band);
    loop                  = isl_union_pw_aff_intersect_domain(loop, domain);
    return isl_union_pw_aff_floor(isl_union_pw_aff_scale_down_val(loop, isl_val_int_from_si(isl, size)));
}

/* Threads of a block for that many loops: the sizes of tiles, where they are given. */
static void threads_of(const Tiled *t, int count, int threads[MOST_DIMS])
{
    memcpy(threads, block_shapes[count], sizeof block_shapes[count]);
    if (t->options.shape == SHAPE_NONE && t->options.size_count >= count)
        for (int k = 0; k < count; k++) {
            const int size = t->options.sizes[t->options.size_count - 1 - k];
            threads[k]     = size > 0 ? size : 1;
        }
}

/* The node is a parallel loop. */
static isl_schedule_node *kernel_of_loops(Mapping *m, isl_schedule_node *node)
{
    const int         depth = isl_schedule_node_get_tree_depth(node);
    isl_union_pw_aff *blocks[MOST_DIMS];
    int               threads[MOST_DIMS];
    node            = unmark(node);
    const int count = parallel_loops(node, m->dependences, MOST_DIMS);
    threads_of(m->t, count, threads);
    for (int k = count - 1; k >= 0; k--) {
        node      = unmark(node);
        blocks[k] = blocks_of(node, threads[k] * (count > 1 && k == count - 1 ? PIECE : 1));
        node      = down(node);
    }
    node = isl_schedule_node_ancestor(node, count);
    node = mark_threads(m->t, node, count);
    node = isl_schedule_node_ancestor(node, isl_schedule_node_get_tree_depth(node) - depth);
    for (int k = 0; k < count; k++) {
        node = isl_schedule_node_insert_partial_schedule(node, isl_multi_union_pw_aff_from_union_pw_aff(blocks[k]));
        node = isl_schedule_node_band_member_set_ast_loop_type(node, 0, isl_ast_loop_atomic);
        node = isl_schedule_node_parent(mark_loop(m->t, node, MARK_BLOCK, k, count));
    }
    return isl_schedule_node_parent(mark_kernel(m->t, node, threads));
}

/* ---- The host's part ---- */

static isl_schedule_node *host(Mapping *m, isl_schedule_node *node)
{
    const bool marked = is_mark(node, MARK_PARALLEL) || is_mark(node, MARK_VECTOR);
    if (marked) {
        node            = unmark(node);
        const int tiles = tile_loops(node);
        return tiles                                          ? kernel_of_tiles(m, node, tiles)
               : parallel_loops(node, m->dependences, 1) == 1 ? kernel_of_loops(m, node)
                                                              : host(m, node);
    }
    const enum isl_schedule_node_type type = isl_schedule_node_get_type(node);
    if (type == isl_schedule_node_leaf || (type == isl_schedule_node_band && !has_parallel(node)))
        return isl_schedule_node_parent(mark_kernel(m->t, node, block_shapes[0]));
    for (int i = 0; i < isl_schedule_node_n_children(node); i++)
        node = isl_schedule_node_parent(host(m, isl_schedule_node_child(node, i)));
    return node;
}

bool device_map(Tiled *t)
{
    Mapping        m        = { .t = t };
    isl_union_map *executes = isl_union_map_empty(isl_set_get_space(t->scop->context));
    for (size_t i = 0; i < t->statements.count; i++)
        if (t->statements.at[i].source)
            executes = isl_union_map_add_map(executes, isl_map_copy(t->statements.at[i].executes));
    m.dependences           = isl_union_map_apply_range(isl_union_map_copy(executes), order_dependences(t->scop));
    m.dependences           = isl_union_map_apply_range(m.dependences, isl_union_map_reverse(executes));
    isl_schedule_node *root = isl_schedule_get_root(t->schedule);
    root                    = host(&m, root);
    isl_union_map_free(m.dependences);
    isl_schedule_free(t->schedule);
    t->schedule = isl_schedule_node_get_schedule(root);
    isl_schedule_node_free(root);
    return t->schedule != NULL;
}
