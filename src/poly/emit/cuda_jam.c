/* SPDX-License-Identifier: MIT */
/* Threads with several iterations: unroll and jam.
 *
 * Takes   thread loops, one inside the other, around one assignment or copy.
 * Gives   the same iterations, in pieces of R of the outermost loop to a thread, the innermost of all: R values are
 * computed, then R are stored. What neighbours in a piece both read is loaded once, and no store stands between the
 * loads. Holds   iterations do not depend on each other. The last piece begins earlier where R does not divide their
 * number: some run twice, and write what they wrote, since none reads what it writes itself. Fewer than R iterations
 * run one by one. From    Callahan, Cocke, Kennedy 1988; the outermost loop, so that a stencil's planes stay in
 * registers. */
#include "poly/emit/cuda.h"
#include "poly/model/model.h"
#include "poly/source/parser.h"

#include <string.h>

enum { MOST_PIECE = 16, MOST_PIECE_3D = 8 }; /* heat-2d on an H200, tiles of 64 x 64: 16 beat 8 by 2 to 6 % */

typedef struct JamLoop {
    isl_ast_node *node;
    const char   *variable, *name, *first, *last;
} JamLoop;

typedef struct Jam {
    Writer         *w;
    JamLoop         at[DEVICE_DIMS];
    int             count;
    const Instance *instance;
    int64_t         extent; /* most iterations of the outermost loop */
} Jam;

/* The node inside of marks and of blocks of one. Takes it. */
static isl_ast_node *inner(isl_ast_node *node)
{
    for (;;) {
        isl_ast_node *next = NULL;
        if (isl_ast_node_get_type(node) == isl_ast_node_mark) {
            next = isl_ast_node_mark_get_node(node);
        } else if (isl_ast_node_get_type(node) == isl_ast_node_block) {
            isl_ast_node_list *list = isl_ast_node_block_get_children(node);
            if (isl_ast_node_list_size(list) == 1)
                next = isl_ast_node_list_get_at(list, 0);
            isl_ast_node_list_free(list);
        }
        if (!next)
            return node;
        isl_ast_node_free(node);
        node = next;
    }
}

static bool step_is_one(isl_ast_node *loop)
{
    isl_ast_expr *inc = isl_ast_node_for_get_inc(loop);
    isl_val      *v   = isl_ast_expr_get_type(inc) == isl_ast_expr_int ? isl_ast_expr_int_get_val(inc) : NULL;
    const bool    one = v && isl_val_is_one(v) == isl_bool_true;
    isl_val_free(v);
    isl_ast_expr_free(inc);
    return one;
}

/* The loops of the nest and its statement. false: it is something else. */
static bool find_nest(Jam *j, isl_ast_node *loop, int count)
{
    isl_ast_node *node = isl_ast_node_copy(loop);
    while (j->count < count && isl_ast_node_get_type(node) == isl_ast_node_for &&
           isl_ast_node_for_is_degenerate(node) != isl_bool_true && step_is_one(node)) {
        const LoopNote *note;
        int             inside, all;
        if (!read_mark(marks_of(j->w, node, &note), MARK_THREAD, &inside, &all) || inside != count - 1 - j->count)
            break;
        if (!j->count)
            j->extent = note->extent;
        isl_ast_expr *iterator = isl_ast_node_for_get_iterator(node);
        isl_id       *id       = isl_ast_expr_id_get_id(iterator);
        isl_ast_node *body     = isl_ast_node_for_get_body(node);
        const char   *variable = arena_strdup(j->w->arena, isl_id_get_name(id));
        j->at[j->count++] = (JamLoop){ .node = node, .variable = variable, .name = loop_name(j->w, variable, body) };
        isl_id_free(id);
        isl_ast_expr_free(iterator);
        node = inner(body);
    }
    if (j->count == count && isl_ast_node_get_type(node) == isl_ast_node_user)
        j->instance = instance_of(node);
    isl_ast_node_free(node);
    return j->instance != NULL;
}

/* Can an instance run twice? Not if it reads what it writes, or is a private variable's. */
static bool repeatable(const Jam *j)
{
    const Statement *s = j->instance->statement->source;
    if (!s)
        return true;
    const Access *write = &s->accesses.at[s->accesses.count - 1];
    bool          yes   = !scop_private(j->w->tiled->scop, write->array);
    for (size_t k = 0; yes && k + 1 < s->accesses.count; k++) {
        const Access *read = &s->accesses.at[k];
        yes                = !scop_private(j->w->tiled->scop, read->array);
        if (!yes || read->array != write->array)
            continue;
        isl_map *both = isl_map_intersect(isl_map_copy(read->relation), isl_map_copy(write->relation));
        yes           = isl_map_is_empty(both) == isl_bool_true;
        isl_map_free(both);
    }
    return yes;
}

/* Declares the bounds. false: one depends on a loop of the nest. */
static bool find_bounds(Jam *j)
{
    Text *out   = j->w->out, aside;
    bool  apart = true;
    text_init(&aside, j->w->arena);
    j->w->out = &aside;
    for (int k = 0; k < j->count; k++) {
        JamLoop      *l     = &j->at[k];
        isl_ast_expr *first = isl_ast_node_for_get_init(l->node), *cond = isl_ast_node_for_get_cond(l->node);
        isl_ast_expr *last = isl_ast_expr_op_get_arg(cond, 1);
        const bool    less = isl_ast_expr_op_get_type(cond) == isl_ast_expr_op_lt;
        l->first           = bound(j->w, first, l->name, "first");
        l->last            = bound(j->w, last, l->name, less ? "end" : "last");
        if (less)
            l->last = arena_printf(j->w->arena, "%s - 1", l->last);
        for (int o = 0; o < k; o++)
            apart = apart && !has_word(ast_string(j->w, first, 0), j->at[o].variable) &&
                    !has_word(ast_string(j->w, last, 0), j->at[o].variable);
        isl_ast_expr_free(first);
        isl_ast_expr_free(cond);
        isl_ast_expr_free(last);
    }
    j->w->out = out;
    if (apart)
        text_add(out, text_string(&aside));
    return apart;
}

/* R values, then R stores. */
static void write_piece(Jam *j, int piece)
{
    Writer        *w      = j->w;
    const CStmt   *assign = j->instance->statement->source ? j->instance->statement->source->assign : NULL;
    const CSymbol *array  = assign ? assign->target->symbol : j->instance->statement->copied->array;
    const char    *to, *from, *name = j->at[0].name;
    statement_text(w, j->instance, &to, &from);
    line(w, arena_printf(w->arena, "%s kn_value[%d];", c_type_name(array->type), piece));
    text_add(w->out, "#pragma unroll\n");
    open_block(w, arena_printf(w->arena, "for (int kn_k = 0; kn_k < %d; kn_k++) {", piece));
    line(w, arena_printf(w->arena, "const %s %s = %s_at + kn_k;", w->integer, name, name));
    line(w, arena_printf(w->arena, "kn_value[kn_k] = %s;", from));
    close_block(w);
    text_add(w->out, "#pragma unroll\n");
    open_block(w, arena_printf(w->arena, "for (int kn_k = 0; kn_k < %d; kn_k++) {", piece));
    line(w, arena_printf(w->arena, "const %s %s = %s_at + kn_k;", w->integer, name, name));
    line(w, arena_printf(w->arena, "%s = kn_value[kn_k];", to));
    close_block(w);
}

static void write_nest(Jam *j, int piece)
{
    Writer     *w    = j->w;
    const char *name = j->at[0].name, *to, *from;
    int         threads;
    for (int k = 1; k < j->count; k++) {
        const JamLoop *l      = &j->at[k];
        const char    *number = thread_number(w, 1u << (j->count - 1 - k), &threads);
        open_block(w, arena_printf(w->arena, "for (%s %s = %s%s%s; %s <= %s; %s += %d) {", w->integer, l->name,
                                   l->first, *number ? " + " : "", number, l->name, l->last, l->name, threads));
    }
    unsigned rest = 0;
    for (int k = j->count - 1; k < DEVICE_DIMS; k++)
        rest |= 1u << k;
    const char *number = thread_number(w, rest, &threads);
    const char *begin =
        *number ? arena_printf(w->arena, "%s + %d * (%s)", j->at[0].first, piece, number) : j->at[0].first;
    open_block(w, arena_printf(w->arena, "for (%s %s_from = %s; %s_from <= %s; %s_from += %d) {", w->integer, name,
                               begin, name, j->at[0].last, name, piece * threads));
    open_block(w, arena_printf(w->arena, "if (%s - (%s) >= %d) {", j->at[0].last, j->at[0].first, piece - 1));
    line(w, arena_printf(w->arena, "const %s %s_at = KN_MIN(%s_from, %s - %d);", w->integer, name, name, j->at[0].last,
                         piece - 1));
    write_piece(j, piece);
    w->indent--;
    open_block(w, "} else {");
    text_add(w->out, "#pragma unroll 1\n");
    open_block(w, arena_printf(w->arena, "for (%s %s = %s_from; %s <= KN_MIN(%s_from + %d, %s); %s++) {", w->integer,
                               name, name, name, name, piece - 1, j->at[0].last, name));
    statement_text(w, j->instance, &to, &from);
    line(w, arena_printf(w->arena, "%s = %s;", to, from));
    for (int k = 0; k < j->count + 2; k++)
        close_block(w);
    w->uses_min = true;
}

bool jam_threads(Writer *w, isl_ast_node *loop, int count)
{
    Jam  j    = { .w = w };
    bool done = false;
    if (count > 1 && find_nest(&j, loop, count) && repeatable(&j)) {
        int threads = 1;
        for (int k = count - 1; k < DEVICE_DIMS; k++)
            threads *= w->device->threads[k];
        const int     most  = count > 2 ? MOST_PIECE_3D : MOST_PIECE;
        const int64_t each  = j.extent < 0 ? 1 : (j.extent + threads - 1) / threads;
        const int     piece = each < most ? (int)each : most;
        const size_t  names = w->names.count;
        done                = piece > 1 && find_bounds(&j);
        for (int k = 0; k < j.count; k++) {
            const ShownName shown = { j.at[k].variable, j.at[k].name };
            vec_push(w->arena, &w->names, shown);
        }
        if (done)
            write_nest(&j, piece);
        w->names.count = names;
    }
    for (int k = 0; k < j.count; k++)
        if (j.at[k].node)
            isl_ast_node_free(j.at[k].node);
    return done;
}
