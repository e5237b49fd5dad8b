/* SPDX-License-Identifier: MIT */
/* How far loops go, and whether those of kernels fit into ints.
 *
 * Takes   isl's loops; parameters lie within +-MOST_SIZE, which the host's function checks.
 * Gives   whether each value and each part of each expression lies in int.
 * Holds   intervals: a loop's variable has the range that isl finds for it, operators have theirs by the ends of their
 *         operands. */
#include "poly/emit/cuda.h"

#include <isl/ilp.h>
#include <isl/val.h>
#include <string.h>

typedef struct Interval {
    int64_t low, high;
} Interval;

typedef struct VariableRange {
    const char *name;
    Interval    range;
} VariableRange;

typedef struct Ranges {
    Writer *w;
    bool    fit;
    VEC(VariableRange) variables; /* of the loops around */
} Ranges;

enum { MOST_VALUE = INT32_MAX / 2 };

static Interval checked(Ranges *r, Interval v)
{
    r->fit = r->fit && v.low >= -MOST_VALUE && v.high <= MOST_VALUE;
    return r->fit ? v : (Interval){ 0, 0 };
}

static Interval range_of(Ranges *r, isl_ast_expr *e);

static Interval hull(Interval a, Interval b)
{
    return (Interval){ a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high };
}

static Interval product(Interval a, Interval b)
{
    const int64_t p[] = { a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high };
    Interval      v   = { p[0], p[0] };
    for (int i = 1; i < 4; i++)
        v = hull(v, (Interval){ p[i], p[i] });
    return v;
}

static Interval range_of_operator(Ranges *r, isl_ast_expr *e)
{
    Interval  v[3] = { { 0, 0 } };
    const int n    = (int)isl_ast_expr_op_get_n_arg(e);
    Interval  all  = { 0, 0 };
    for (int i = 0; i < n; i++) {
        isl_ast_expr  *arg = isl_ast_expr_op_get_arg(e, i);
        const Interval one = range_of(r, arg);
        isl_ast_expr_free(arg);
        if (i < 3)
            v[i] = one;
        all = i ? hull(all, one) : one;
    }
    switch (isl_ast_expr_op_get_type(e)) {
    case isl_ast_expr_op_add: return checked(r, (Interval){ v[0].low + v[1].low, v[0].high + v[1].high });
    case isl_ast_expr_op_sub: return checked(r, (Interval){ v[0].low - v[1].high, v[0].high - v[1].low });
    case isl_ast_expr_op_mul: return checked(r, product(v[0], v[1]));
    case isl_ast_expr_op_minus: return (Interval){ -v[0].high, -v[0].low };
    case isl_ast_expr_op_min:
    case isl_ast_expr_op_max: return all;
    case isl_ast_expr_op_cond:
    case isl_ast_expr_op_select: return hull(v[1], v[2]);
    case isl_ast_expr_op_div:
    case isl_ast_expr_op_pdiv_q:
    case isl_ast_expr_op_fdiv_q: /* KN_FLOOR_DIV adds its divisor */
        return checked(r, hull((Interval){ -v[0].high - v[1].high, v[0].high + v[1].high },
                               (Interval){ v[0].low - v[1].high, v[1].high - v[0].low }));
    case isl_ast_expr_op_pdiv_r:
    case isl_ast_expr_op_zdiv_r: return (Interval){ -v[1].high, v[1].high };
    default: return (Interval){ 0, 1 }; /* conditions */
    }
}

static Interval range_of(Ranges *r, isl_ast_expr *e)
{
    switch (isl_ast_expr_get_type(e)) {
    case isl_ast_expr_int: {
        isl_val      *v = isl_ast_expr_int_get_val(e);
        const int64_t n = isl_val_get_num_si(v);
        isl_val_free(v);
        return checked(r, (Interval){ n, n });
    }
    case isl_ast_expr_id: {
        isl_id     *id   = isl_ast_expr_id_get_id(e);
        const char *name = isl_id_get_name(id);
        Interval    v    = { -MOST_SIZE, MOST_SIZE };
        for (size_t i = 0; i < r->variables.count; i++)
            if (!strcmp(r->variables.at[i].name, name))
                v = r->variables.at[i].range;
        isl_id_free(id);
        return v;
    }
    case isl_ast_expr_op: return range_of_operator(r, e);
    default: r->fit = false; return (Interval){ 0, 0 };
    }
}

static void take(Ranges *r, isl_ast_expr *e)
{
    range_of(r, e);
    isl_ast_expr_free(e);
}

static void ranges_below(Ranges *r, isl_ast_node *node);

static void ranges_of_loop(Ranges *r, isl_ast_node *node)
{
    isl_ast_expr   *iterator = isl_ast_node_for_get_iterator(node);
    isl_id         *id = isl_ast_expr_id_get_id(iterator), *note = isl_ast_node_get_annotation(node);
    const LoopNote *loop = note ? isl_id_get_user(note) : NULL;
    isl_ast_node   *body = isl_ast_node_for_get_body(node);
    take(r, isl_ast_node_for_get_init(node));
    VariableRange v = { arena_strdup(r->w->arena, isl_id_get_name(id)), { 0, 0 } };
    if (loop)
        v.range = checked(r, (Interval){ loop->low, loop->high });
    else
        r->fit = false;
    vec_push(r->w->arena, &r->variables, v);
    if (isl_ast_node_for_is_degenerate(node) != isl_bool_true)
        take(r, isl_ast_node_for_get_cond(node));
    ranges_below(r, body);
    r->variables.count--;
    isl_ast_node_free(body);
    isl_id_free(id);
    isl_id_free(note);
    isl_ast_expr_free(iterator);
}

static void ranges_of_instance(Ranges *r, const Instance *n)
{
    for (int k = 0; n && k < n->count; k++)
        range_of(r, n->iterators[k]);
    for (int a = 0; n && a < n->access_count; a++) {
        const Scratch *s = n->statement->source ? n->statement->accesses.at[a].scratch : n->statement->copied;
        for (int d = 0; n->scratch[a] && d < s->rank; d++)
            range_of(r, n->scratch[a][d]);
    }
}

static void ranges_below(Ranges *r, isl_ast_node *node)
{
    isl_ast_node *inner = NULL;
    switch (isl_ast_node_get_type(node)) {
    case isl_ast_node_for: ranges_of_loop(r, node); return;
    case isl_ast_node_user: ranges_of_instance(r, instance_of(node)); return;
    case isl_ast_node_mark: inner = isl_ast_node_mark_get_node(node); break;
    case isl_ast_node_if:
        take(r, isl_ast_node_if_get_cond(node));
        inner = isl_ast_node_if_get_then_node(node);
        if (isl_ast_node_if_has_else_node(node) == isl_bool_true) {
            isl_ast_node *no = isl_ast_node_if_get_else_node(node);
            ranges_below(r, no);
            isl_ast_node_free(no);
        }
        break;
    case isl_ast_node_block: {
        isl_ast_node_list *list = isl_ast_node_block_get_children(node);
        for (int i = 0; i < (int)isl_ast_node_list_size(list); i++) {
            isl_ast_node *child = isl_ast_node_list_get_at(list, i);
            ranges_below(r, child);
            isl_ast_node_free(child);
        }
        isl_ast_node_list_free(list);
        return;
    }
    default: r->fit = false; return;
    }
    ranges_below(r, inner);
    isl_ast_node_free(inner);
}

bool loops_fit_int(Writer *w, isl_ast_node *root)
{
    Ranges r = { .w = w, .fit = true };
    for (size_t i = 0; i < w->tiled->scop->parameters.count; i++)
        r.fit = r.fit && type_bits(w->tiled->scop->parameters.at[i]->type) <= 64;
    ranges_below(&r, root);
    return r.fit;
}

static void loop_range(const Writer *w, isl_set *all, int dim, LoopNote *note)
{
    isl_set *bounded = isl_set_copy(all);
    for (unsigned p = 0; p < w->tiled->scop->parameters.count; p++) {
        const int at = isl_set_find_dim_by_name(bounded, isl_dim_param, w->tiled->scop->parameters.at[p]->name);
        if (at < 0)
            continue;
        bounded = isl_set_lower_bound_si(bounded, isl_dim_param, (unsigned)at, -MOST_SIZE);
        bounded = isl_set_upper_bound_si(bounded, isl_dim_param, (unsigned)at, MOST_SIZE);
    }
    isl_val *low = isl_set_dim_min_val(isl_set_copy(bounded), dim), *high = isl_set_dim_max_val(bounded, dim);
    note->low  = isl_val_is_int(low) == isl_bool_true ? isl_val_get_num_si(low) : INT64_MIN;
    note->high = isl_val_is_int(high) == isl_bool_true ? isl_val_get_num_si(high) : INT64_MAX;
    isl_val_free(low);
    isl_val_free(high);
}

static void loop_extent(isl_set *all, int dim, LoopNote *note)
{
    isl_map *own   = isl_map_from_range(isl_set_copy(all));
    own            = isl_map_move_dims(own, isl_dim_in, 0, isl_dim_out, 0, (unsigned)dim); /* the loops around -> it */
    isl_set *apart = isl_map_deltas(isl_map_apply_range(isl_map_reverse(isl_map_copy(own)), own));
    isl_val *most  = isl_set_dim_max_val(apart, 0);
    note->extent   = isl_val_is_int(most) == isl_bool_true ? isl_val_get_num_si(most) + 1 : -1;
    isl_val_free(most);
}

LoopNote *note_loop(Writer *w, isl_ast_build *build, const char *marks)
{
    int       inside, count;
    LoopNote *n    = ARENA_NEW(w->arena, LoopNote);
    isl_set  *all  = isl_set_from_union_set(isl_union_map_range(isl_ast_build_get_schedule(build)));
    const int last = (int)isl_set_dim(all, isl_dim_set) - 1;
    *n             = (LoopNote){ 0 };
    w->failed |= last < 0;
    if (last >= 0)
        loop_range(w, all, last, n);
    n->extent = -1;
    if (last >= 0 && read_mark(marks, MARK_THREAD, &inside, &count) && inside == count - 1)
        loop_extent(all, last, n);
    if (last >= 0 && read_mark(marks, MARK_BLOCK, &inside, &count)) {
        isl_ast_build *plain = isl_ast_build_from_context(isl_set_copy(w->tiled->scop->context));
        isl_pw_aff *least = isl_set_dim_min(isl_set_copy(all), last), *most = isl_set_dim_max(isl_set_copy(all), last);
        n->least = isl_ast_build_expr_from_pw_aff(plain, isl_pw_aff_coalesce(least));
        n->most  = isl_ast_build_expr_from_pw_aff(plain, isl_pw_aff_coalesce(most));
        w->failed |= !n->least || !n->most;
        isl_ast_build_free(plain);
    }
    isl_set_free(all);
    vec_push(w->arena, &w->device->notes, n);
    return n;
}
