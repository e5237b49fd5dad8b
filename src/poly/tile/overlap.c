/* SPDX-License-Identifier: MIT */
/* Overlapped tiles: each tile computes all that it needs of its group's stages.
 *
 * Takes   groups of stages with the points that each tile needs.
 * Gives   for each group: parallel loops over the tiles o, and in a tile its copies into scratch, its stages in the
 * order of the text (scalene), its copies out. An instance X[o, i] executes S[i] in tile o. Holds   the order inside a
 * tile is that of the text; tiles of a group share no memory that one of them writes. Both are proved with the whole
 * (prove.c). From    Zhao and Cohen 2019, 3.1, 3.3, 3.4, with tile-qualified instances in place of expansion nodes. */
#include "poly/tile/overlap.h"
#include "poly/tile/order.h"
#include "poly/tile/size.h"

isl_map *overlap_executes(isl_map *tile, const char *name)
{
    isl_map *map = isl_map_flatten_domain(isl_map_range_map(isl_map_copy(tile)));
    return isl_map_set_tuple_name(map, isl_dim_in, name);
}

void overlap_add(Made *m, const Statement *st, isl_map *tile)
{
    Arena         *arena = m->t->scop->arena;
    TiledStatement x     = { .name = arena_printf(arena, "X%s", st->name + 1), .source = st };
    x.executes           = overlap_executes(tile, x.name);
    for (size_t k = 0; k < st->accesses.count; k++)
        vec_push(arena, &x.accesses, ((TiledAccess){ .access = &st->accesses.at[k] }));
    vec_push(arena, &m->run, x);
    vec_push(arena, &m->tiles, tile);
}

/* The tiled statements of a group's stages. */
static void make_statements(Made *m)
{
    const Scop *s = m->t->scop;
    for (size_t i = 0; i < s->statements.count; i++) {
        const Statement *st    = &s->statements.at[i];
        const Stage     *stage = &m->p->at.at[m->p->stage_of[i]];
        if (stage->group != m->group)
            continue;
        isl_space *space =
            isl_space_map_from_domain_and_range(isl_set_get_space(st->domain), isl_set_get_space(stage->all));
        isl_map *points = isl_union_map_extract_map(stage->points, space);
        isl_map *tile   = isl_map_apply_range(isl_map_copy(stage->need), isl_map_reverse(points));
        overlap_add(m, st, isl_map_coalesce(isl_map_intersect_range(tile, isl_set_copy(st->domain))));
    }
}

isl_schedule *overlap_then(isl_schedule *first, isl_schedule *second)
{
    return !first ? second : !second ? first : isl_schedule_sequence(first, second);
}

/* X[o…, i…] -> S[i…] for any o and i. Takes the space of X. */
static isl_multi_aff *executes_of(const Made *m, const TiledStatement *x, isl_space *space)
{
    isl_multi_aff *to = isl_multi_aff_project_out_map(space, isl_dim_set, 0, (unsigned)m->tile_dims);
    return isl_multi_aff_set_tuple_name(to, isl_dim_out, x->source->name);
}

isl_schedule *overlap_stages(const Made *m)
{
    isl_space              *params   = isl_set_get_space(m->t->scop->context);
    isl_union_set          *given    = isl_union_set_empty(isl_space_copy(params));
    isl_union_set          *run      = isl_union_set_empty(isl_space_copy(params));
    isl_union_pw_multi_aff *executes = isl_union_pw_multi_aff_empty(params);
    for (size_t i = 0; i < m->run.count; i++) {
        isl_set       *x    = isl_map_domain(isl_map_copy(m->run.at[i].executes));
        isl_space     *from = isl_set_get_space(x);
        isl_multi_aff *to   = executes_of(m, &m->run.at[i], from);
        executes            = isl_union_pw_multi_aff_add_pw_multi_aff(executes, isl_pw_multi_aff_from_multi_aff(to));
        run                 = isl_union_set_add_set(run, x);
        given = isl_union_set_add_set(given, isl_set_universe(isl_set_get_space(m->run.at[i].source->domain)));
    }
    /* loops without bounds: those of the instances say enough, and isl would ask for both at each step */
    isl_schedule *text = isl_schedule_intersect_domain(isl_schedule_copy(m->t->scop->schedule), given);
    return isl_schedule_intersect_domain(isl_schedule_pullback_union_pw_multi_aff(text, executes), run);
}

/* One loop for each coordinate k >= `from` of the instances of a schedule. */
static isl_union_pw_aff *coordinate(isl_union_set *domain, int k)
{
    isl_union_pw_aff *all  = NULL;
    isl_set_list     *sets = isl_union_set_get_set_list(domain);
    for (int i = 0; i < isl_set_list_n_set(sets); i++) {
        isl_set *set = isl_set_list_get_set(sets, i);
        isl_aff *aff =
            isl_aff_var_on_domain(isl_local_space_from_space(isl_set_get_space(set)), isl_dim_set, (unsigned)k);
        isl_union_pw_aff *one = isl_union_pw_aff_from_pw_aff(isl_pw_aff_from_aff(aff));
        isl_set_free(set);
        all = all ? isl_union_pw_aff_union_add(all, one) : one;
    }
    isl_set_list_free(sets);
    return all;
}

static isl_schedule *insert_coordinate(isl_schedule *s, int k)
{
    isl_union_set *domain = isl_schedule_get_domain(s);
    s = isl_schedule_insert_partial_schedule(s, isl_multi_union_pw_aff_from_union_pw_aff(coordinate(domain, k)));
    isl_union_set_free(domain);
    return s;
}

static isl_schedule *copy_of(const Made *m, const TiledStatement *x)
{
    isl_set      *domain = isl_map_domain(isl_map_copy(x->executes));
    int           n      = (int)isl_set_dim(domain, isl_dim_set);
    isl_schedule *s      = isl_schedule_from_domain(isl_union_set_from_set(domain));
    for (int k = n - 1; k >= m->tile_dims; k--)
        s = insert_coordinate(s, k);
    return s;
}

/* The dependences of the text between instances of tiles. Which tiles there are is left to the tree. */
static isl_union_map *inside_tiles(const Made *m)
{
    isl_union_map *executes = isl_union_map_empty(isl_set_get_space(m->t->scop->context));
    for (size_t i = 0; i < m->run.count; i++) {
        isl_space *space = isl_space_domain(isl_map_get_space(m->run.at[i].executes));
        isl_map   *one   = isl_map_from_multi_aff(executes_of(m, &m->run.at[i], space));
        executes         = isl_union_map_add_map(executes, one);
    }
    isl_union_map *all = isl_union_map_apply_range(isl_union_map_copy(executes), order_dependences(m->t->scop));
    return isl_union_map_apply_range(all, isl_union_map_reverse(executes));
}

static isl_schedule *mark_group(const Made *m, isl_schedule *s)
{
    isl_ctx           *isl  = isl_schedule_get_ctx(s);
    isl_union_map     *left = inside_tiles(m);
    isl_schedule_node *node = isl_schedule_node_child(isl_schedule_get_root(s), 0);
    isl_schedule_free(s);
    for (int k = 0; k < m->tile_dims; k++) {
        if (k == m->serial) {
            node = isl_schedule_node_insert_mark(node, isl_id_alloc(isl, MARK_PARALLEL, NULL));
            node = isl_schedule_node_child(node, 0);
        }
        node = isl_schedule_node_band_member_set_ast_loop_type(node, 0, isl_ast_loop_atomic);
        node = isl_schedule_node_child(node, 0);
    }
    node = isl_schedule_node_child(isl_schedule_node_insert_mark(node, isl_id_alloc(isl, MARK_TILE, NULL)), 0);
    node = order_mark(node, left, true);
    isl_union_map_free(left);
    s = isl_schedule_node_get_schedule(node);
    isl_schedule_node_free(node);
    return s;
}

/* The loops of a tile. */
static isl_schedule *loops_of(const Made *m)
{
    if (m->p && slides(m->t))
        return slide_loops(m);
    isl_schedule *stages = overlap_stages(m);
    if (!m->p || m->t->options.shape != SHAPE_RECTANGLE)
        return stages;
    return rectangle_loops(m, stages, 0, m->p->at.at[m->p->groups.at[m->group].root].dims);
}

isl_schedule *overlap_tree(Made *m)
{
    Tiled        *t   = m->t;
    isl_schedule *all = NULL;
    for (size_t i = 0; i < m->in.count; i++)
        all = overlap_then(all, copy_of(m, &m->in.at[i]));
    all = overlap_then(all, loops_of(m));
    for (size_t i = 0; i < m->out.count; i++)
        all = overlap_then(all, copy_of(m, &m->out.at[i]));
    for (int k = m->tile_dims - 1; k >= 0; k--)
        all = insert_coordinate(all, k);
    for (size_t i = 0; i < m->in.count; i++)
        vec_push(t->scop->arena, &t->statements, m->in.at[i]);
    for (size_t i = 0; i < m->run.count; i++)
        vec_push(t->scop->arena, &t->statements, m->run.at[i]);
    for (size_t i = 0; i < m->out.count; i++)
        vec_push(t->scop->arena, &t->statements, m->out.at[i]);
    return mark_group(m, all);
}

isl_schedule *overlap_plain(Tiled *t, isl_union_set *domain)
{
    /* none to other groups: it would make the loop around all instances serial */
    isl_union_map *dependences = isl_union_map_intersect_domain(order_dependences(t->scop), isl_union_set_copy(domain));
    dependences                = isl_union_map_intersect_range(dependences, isl_union_set_copy(domain));
    isl_schedule      *text    = isl_schedule_intersect_domain(isl_schedule_copy(t->scop->schedule), domain);
    isl_schedule_node *root    = isl_schedule_get_root(text);
    isl_schedule_free(text);
    root = order_mark(root, dependences, false);
    text = isl_schedule_node_get_schedule(root);
    isl_schedule_node_free(root);
    isl_union_map_free(dependences);
    return text;
}

void overlap_identity(Tiled *t, isl_union_set *domain)
{
    const Scop *s = t->scop;
    for (size_t i = 0; i < s->statements.count; i++) {
        isl_set *here = isl_union_set_extract_set(domain, isl_set_get_space(s->statements.at[i].domain));
        if (isl_set_plain_is_empty(here) == isl_bool_false)
            order_identity_of(t, &s->statements.at[i]);
        isl_set_free(here);
    }
}

/* A group of one stage keeps its loops. */
static isl_schedule *plain_group(Stages *p, int group)
{
    const Stage *stage = &p->at.at[p->groups.at[group].root];
    overlap_identity(p->tiled, stage->domain);
    return overlap_plain(p->tiled, isl_union_set_copy(stage->domain));
}

static int stages_in(const Stages *p, int group)
{
    int n = 0;
    for (size_t i = 0; i < p->at.count; i++)
        n += p->at.at[i].group == group;
    return n;
}

void overlap_forget(Made *m)
{
    for (size_t i = 0; i < m->run.count; i++)
        isl_map_free(m->run.at[i].executes);
    for (size_t i = 0; i < m->in.count; i++)
        isl_map_free(m->in.at[i].executes);
    for (size_t i = 0; i < m->out.count; i++)
        isl_map_free(m->out.at[i].executes);
}

void overlap_reset(Tiled *t)
{
    t->schedule = isl_schedule_free(t->schedule);
    for (size_t i = 0; i < t->statements.count; i++)
        isl_map_free(t->statements.at[i].executes);
    for (size_t i = 0; i < t->scratch.count; i++)
        isl_multi_aff_free(t->scratch.at[i]->offset);
    t->statements.count = t->scratch.count = 0;
}

/* The statements and the scratch of a group of several stages. false: its stages or arrays have no such tiles. */
static bool make_group(Made *m)
{
    Tiled *t = m->t;
    if (slides(t) && !stages_shift(m->p, m->group, slide_shared(m->p, m->group)))
        return false;
    if (t->options.shape == SHAPE_RECTANGLE && !rectangle_shift(m->p, m->group))
        return false;
    make_statements(m);
    if (!scratch_make(m))
        return false;
    if (slides(t))
        slide_fold(m);
    return true;
}

/* All groups are made before the first tree is: where scratch is too large, trees would be made for nothing. */
bool shape_overlapped(Tiled *t)
{
    Stages p;
    bool   ok    = stages_init(&p, t) && stages_fuse(&p);
    size_t n     = p.groups.count;
    int   *order = ARENA_ARRAY(t->scop->arena, int, n + 1);
    Made  *made  = ARENA_ARRAY(t->scop->arena, Made, n + 1);
    if (ok)
        stages_order(&p, order);
    for (size_t k = 0; ok && k < n; k++) {
        made[k] = (Made){ .t = t, .p = &p, .group = order[k], .tile_dims = p.groups.at[order[k]].tile_dims };
        ok      = stages_in(&p, order[k]) == 1 || make_group(&made[k]);
    }
    const bool fits = ok && scratch_most(t) <= size_scratch(t);
    for (size_t k = 0; k < n; k++) {
        if (!fits)
            overlap_forget(&made[k]);
        else if (made[k].run.count)
            t->schedule = overlap_then(t->schedule, overlap_tree(&made[k]));
        else
            t->schedule = overlap_then(t->schedule, plain_group(&p, order[k]));
        for (size_t i = 0; i < made[k].tiles.count; i++)
            isl_map_free(made[k].tiles.at[i]);
    }
    stages_free(&p);
    return ok && (t->schedule || !fits);
}
