/* SPDX-License-Identifier: MIT */
/* A tiled region as a lowered program: isl's loops become Kiln's.
 *
 * Takes   a Tiled whose schedule has marks (poly/tiled.h).
 * Gives   a Program that executes its instances in the order of the schedule, and the C text that calls it.
 * Holds   the outermost loop whose iterations are independent is a parallel loop; where it is the innermost one, too,
 *         over pieces of it. An innermost loop whose iterations are independent and that stores one element after the
 *         other is cut into vectors, and what is left at its end is a vector under a mask. Private variables are
 *         allocated in the parallel loop, and around a vector loop once for each lane. */
#include "poly/emit/program.h"
#include "poly/model/model.h"

#include <string.h>

enum { PIECE = 4096 /* iterations of an innermost loop that a thread takes at a time */, MOST_PIECES = 1 << 30 };

static const Stmt *node_stmt(ProgramMaker *m, isl_ast_node *node);

/* ---- Names ---- */

static const char *part_name(ProgramMaker *m, const char *variable, const char *part)
{
    return intern(m->program->cx, arena_printf(m->w->arena, "%s.%s", variable, part));
}

static const Expr *variable_of(ProgramMaker *m, const char *name)
{
    return expr_var(m->program->exprs, KN_I64, name);
}

static const Expr *index_max(ProgramMaker *m, const Expr *a, int64_t least)
{
    return index_binary(m, EX_MAX, a, index_number(m, least));
}

static const Stmt *body_with(ProgramMaker *m, const char *variable, const Expr *value, isl_ast_node *body)
{
    const NamedValue named = { variable, value };
    vec_push(m->w->arena, &m->names, named);
    const Stmt *s = node_stmt(m, body);
    m->names.count--;
    return s;
}

/* ---- Scratch ---- */

static const Stmt *allocated(ProgramMaker *m, const Buffer *b, const Expr *count, const Stmt *body)
{
    if (!body)
        return NULL;
    Stmt *s         = ARENA_NEW(m->program->arena, Stmt);
    s->kind         = STMT_ALLOC;
    s->alloc.buffer = b;
    s->alloc.count  = count;
    s->alloc.body   = body;
    return s;
}

/* Storage of its own for each of the symbols, `lanes` times as much; pushed here, allocated by own_end(). */
static void own_begin(ProgramMaker *m, const PrivateList *own, int lanes)
{
    for (size_t i = 0; i < own->count; i++) {
        const CSymbol *s = own->at[i];
        const Expr    *count;
        int64_t        number;
        Storage        at = { .symbol = s, .lanes = lanes };
        at.strides        = dense_strides(m, s->rank, array_extents(m, s), &count);
        at.buffer         = new_scratch(m, s->name, s->type, expr_is_int(count, &number));
        vec_push(m->w->arena, &m->storage, at);
    }
}

static const Stmt *own_end(ProgramMaker *m, const PrivateList *own, const Stmt *body)
{
    for (size_t i = own->count; i-- > 0;) {
        const Storage *at = &m->storage.at[--m->storage.count];
        const Expr    *count;
        dense_strides(m, at->symbol->rank, array_extents(m, at->symbol), &count);
        body = allocated(m, at->buffer, index_binary(m, EX_MUL, count, index_number(m, at->lanes)), body);
    }
    return body;
}

/* The temporaries since `begun`, for guarded loads. */
static const Stmt *temporaries_end(ProgramMaker *m, size_t begun, const Stmt *body)
{
    while (m->temporary.count > begun)
        body = allocated(m, m->temporary.at[--m->temporary.count], index_number(m, m->lanes), body);
    return body;
}

/* The scratch of a tile. */
static const Stmt *tile_stmt(ProgramMaker *m, isl_ast_node *tile)
{
    const size_t begun       = m->storage.count;
    VEC(const Expr *) counts = { 0 };
    for (size_t i = 0; i < m->w->tiled->scratch.count; i++) {
        const Scratch *s = m->w->tiled->scratch.at[i];
        if (!scratch_used(tile, s))
            continue;
        const Expr **extents = ARENA_ARRAY(m->w->arena, const Expr *, (size_t)s->rank + 1), *count;
        for (int d = 0; d < s->rank; d++)
            extents[d] = index_number(m, s->fold[d] ? s->fold[d] : s->size[d]);
        Storage at = { .scratch = s, .lanes = 1, .strides = dense_strides(m, s->rank, extents, &count) };
        at.buffer  = new_scratch(m, s->name, s->array->type, true);
        vec_push(m->w->arena, &m->storage, at);
        vec_push(m->w->arena, &counts, count);
    }
    const Stmt *body = node_stmt(m, tile);
    while (m->storage.count > begun) {
        m->storage.count--;
        body = allocated(m, m->storage.at[m->storage.count].buffer, counts.at[m->storage.count - begun], body);
    }
    return body;
}

/* ---- Loops ---- */

/* A loop of isl's: its variable is first + step * k for 0 <= k < count. */
typedef struct CountedNode {
    isl_ast_node *body;
    const char   *variable;
    const Expr   *first, *step, *count;
    bool          innermost;
} CountedNode;

static isl_bool note_loop_inside(isl_ast_node *node, void *found)
{
    if (isl_ast_node_get_type(node) == isl_ast_node_for && isl_ast_node_for_is_degenerate(node) != isl_bool_true)
        *(bool *)found = true;
    return isl_bool_true;
}

static bool has_loop(isl_ast_node *node)
{
    bool found = false;
    isl_ast_node_foreach_descendant_top_down(node, note_loop_inside, &found);
    return found;
}

/* Iterations from `begin` on, as many as `count`. */
static const Stmt *serial_loop(ProgramMaker *m, const CountedNode *n, const Expr *begin, const Expr *count)
{
    int64_t step;
    if (expr_is_int(n->step, &step) && step == 1) {
        const char *name = intern(m->program->cx, n->variable);
        const Stmt *body = body_with(m, n->variable, variable_of(m, name), n->body);
        return body ? stmt_for(m->program->arena, name, LOOP_SERIAL, index_binary(m, EX_ADD, n->first, begin), count,
                               body)
                    : NULL;
    }
    const char *name  = part_name(m, n->variable, "count");
    const Expr *k     = index_binary(m, EX_ADD, begin, variable_of(m, name));
    const Expr *value = index_binary(m, EX_ADD, n->first, index_binary(m, EX_MUL, k, n->step));
    const Stmt *body  = body_with(m, n->variable, value, n->body);
    return body ? stmt_for(m->program->arena, name, LOOP_SERIAL, index_number(m, 0), count, body) : NULL;
}

/* ---- Vectors ---- */

/* By how much an index moves with the variable; false: not by a constant. */
static bool index_step(const Expr *e, const char *variable, ExprPool *pool, int64_t *step)
{
    int64_t a = 0, b = 0, factor;
    *step = e->op == EX_VAR && e->u.name == variable;
    if (*step || !expr_has_variable(pool, e, variable))
        return true;
    if (e->op == EX_MUL && (expr_is_int(e->args[1], &factor) || expr_is_int(e->args[0], &factor))) {
        const bool known = index_step(e->args[expr_is_int(e->args[1], &factor) ? 0 : 1], variable, pool, &a);
        *step            = a * factor;
        return known;
    }
    if ((e->op != EX_ADD && e->op != EX_SUB) || !index_step(e->args[0], variable, pool, &a) ||
        !index_step(e->args[1], variable, pool, &b))
        return false;
    *step = e->op == EX_ADD ? a + b : a - b;
    return true;
}

/* What the body of an innermost loop stores. */
typedef struct Stores {
    ProgramMaker *m;
    const char   *variable;
    bool          dense; /* one element after the other */
    int           most_bits, least_bits;
} Stores;

static void note_bits(Stores *s, int bits)
{
    s->most_bits  = bits > s->most_bits ? bits : s->most_bits;
    s->least_bits = bits < s->least_bits ? bits : s->least_bits;
}

static void note_load(const Expr *e, void *user)
{
    if (e->op == EX_LOAD)
        note_bits(user, 8 * (int)kn_type_size(e->u.buffer->type));
}

static void note_expr(void *user, const Expr *e)
{
    Stores *s = user;
    if (e)
        expr_visit(s->m->program->exprs, e, note_load, s);
}

static bool is_private_buffer(const Stores *s, const Buffer *b)
{
    for (size_t i = 0; i < s->m->storage.count; i++)
        if (s->m->storage.at[i].buffer == b)
            return s->m->storage.at[i].symbol && scop_private(s->m->w->tiled->scop, s->m->storage.at[i].symbol);
    return true; /* a temporary */
}

static void note_stores(void *user, const Stmt *s)
{
    Stores *stores = user;
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++) {
        const Place *p = &s->store.places[i];
        int64_t      step;
        note_bits(stores, 8 * (int)kn_type_size(p->buffer->type));
        if (!is_private_buffer(stores, p->buffer) &&
            (!index_step(p->index, stores->variable, stores->m->program->exprs, &step) || step != 1))
            stores->dense = false;
    }
    stmt_children(s, note_expr, note_stores, stores);
}

/* The lanes of a vector loop; 1: it is better left as it is. */
static int lanes_of(ProgramMaker *m, const CountedNode *n, bool *narrow)
{
    const char  *name      = intern(m->program->cx, n->variable);
    const size_t temporary = m->temporary.count;
    const Stmt  *body      = body_with(m, n->variable, variable_of(m, name), n->body);
    Stores       stores    = { m, name, true, 8, 64 };
    if (body)
        note_stores(&stores, body);
    m->temporary.count = temporary;
    *narrow            = stores.least_bits < 32;
    return body && stores.dense ? VECTOR_BITS / stores.most_bits : 1;
}

/* The lanes from `begin` on, as iterations of the body. */
static const Stmt *lanes_stmt(ProgramMaker *m, const CountedNode *n, const Expr *begin, const Expr *under)
{
    const char *name  = part_name(m, n->variable, "lane");
    m->lane           = variable_of(m, name);
    const Expr *at    = index_binary(m, EX_ADD, begin, m->lane);
    const Stmt *body  = body_with(m, n->variable, index_binary(m, EX_ADD, n->first, at), n->body);
    Arena      *arena = m->program->arena;
    if (body && under)
        body = stmt_if(arena, expr_binary(m->program->exprs, EX_LT, KN_BOOL, at, under), body, NULL);
    m->lane = NULL;
    return body ? stmt_for(arena, name, LOOP_VECTOR, index_number(m, 0), index_number(m, m->lanes), body) : NULL;
}

/* Whole vectors, then the rest: under a mask, or one by one where no instruction masks such small elements. */
static const Stmt *vector_loop(ProgramMaker *m, const CountedNode *n, const Expr *begin, const Expr *count, int lanes,
                               bool narrow, const PrivateList *own)
{
    Arena       *arena     = m->program->arena;
    const size_t temporary = m->temporary.count;
    const char  *strip     = part_name(m, n->variable, "strip");
    const Expr  *width = index_number(m, lanes), *all = index_max(m, count, 0);
    const Expr  *strips = index_binary(m, EX_DIV, all, width), *whole = index_binary(m, EX_MUL, strips, width);
    const Expr  *at      = index_binary(m, EX_ADD, begin, index_binary(m, EX_MUL, variable_of(m, strip), width));
    const Expr  *rest_at = index_binary(m, EX_ADD, begin, whole), *end = index_binary(m, EX_ADD, begin, all);
    m->lanes = lanes;
    own_begin(m, own, lanes);
    const Stmt *vectors = lanes_stmt(m, n, at, NULL);
    if (vectors)
        vectors = stmt_for(arena, strip, LOOP_SERIAL, index_number(m, 0), strips, vectors);
    const Stmt *rest = narrow ? NULL : lanes_stmt(m, n, rest_at, end);
    if (rest)
        rest = stmt_if(arena, expr_binary(m->program->exprs, EX_LT, KN_BOOL, whole, all), rest, NULL);
    const Stmt *both = temporaries_end(m, temporary, own_end(m, own, stmt_pair(arena, vectors, rest)));
    m->lanes         = 1;
    return narrow ? stmt_pair(arena, both, serial_loop(m, n, rest_at, index_binary(m, EX_SUB, all, whole))) : both;
}

/* A loop whose iterations follow each other in one thread. */
static const Stmt *inner_loop(ProgramMaker *m, isl_ast_node *node, const CountedNode *n, const Expr *begin,
                              const Expr *count)
{
    PrivateList own = { 0 };
    bool        narrow;
    int64_t     step;
    if (n->innermost && loop_is(node, MARK_VECTOR) && expr_is_int(n->step, &step) && step == 1 &&
        private_symbols(m->w, n->body, &own)) {
        const int lanes = lanes_of(m, n, &narrow);
        if (lanes > 1)
            return vector_loop(m, n, begin, count, lanes, narrow, &own);
    }
    isl_ast_node *around = m->w->around;
    m->w->around         = n->body;
    const Stmt *s        = serial_loop(m, n, begin, count);
    m->w->around         = around;
    return s;
}

/* ---- Threads ---- */

/* Pieces of the loop in threads: of PIECE iterations where there is no loop inside, else of one, or of as many as keep
 * the number of pieces an i32. */
static const Stmt *parallel_loop(ProgramMaker *m, isl_ast_node *node, const CountedNode *n, const PrivateList *own)
{
    ExprPool   *pool  = m->program->exprs;
    Arena      *arena = m->program->arena;
    const char *name = part_name(m, n->variable, "piece"), *size_name = part_name(m, n->variable, "size");
    const Expr *size = variable_of(m, size_name), *all = index_max(m, n->count, 0);
    const Expr *least = index_binary(m, EX_ADD, index_binary(m, EX_DIV, all, index_number(m, MOST_PIECES)),
                                     index_number(m, n->innermost ? PIECE : 1));
    const Expr *pieces =
        index_binary(m, EX_DIV, index_binary(m, EX_SUB, index_binary(m, EX_ADD, all, size), index_number(m, 1)), size);
    const Expr *piece = expr_unary(pool, EX_CAST, KN_I64, expr_var(pool, KN_I32, name));
    const Expr *begin = index_binary(m, EX_MUL, piece, size);
    const Expr *count = index_binary(m, EX_MIN, size, index_binary(m, EX_SUB, all, begin));
    m->in_parallel    = true;
    own_begin(m, own, 1);
    const Stmt *body = own_end(m, own, inner_loop(m, node, n, begin, count));
    m->in_parallel   = false;
    if (!body)
        return NULL;
    body = stmt_for(arena, name, LOOP_PARALLEL, expr_int(pool, KN_I32, 0), expr_unary(pool, EX_CAST, KN_I32, pieces),
                    body);
    return stmt_let(arena, size_name, least, body);
}

static const Stmt *counted_stmt(ProgramMaker *m, isl_ast_node *node, const CountedNode *n)
{
    PrivateList own = { 0 };
    if (loop_is(node, MARK_PARALLEL) && !m->in_parallel && private_symbols(m->w, n->body, &own))
        return parallel_loop(m, node, n, &own);
    return inner_loop(m, node, n, index_number(m, 0), n->count);
}

static const Stmt *loop_stmt(ProgramMaker *m, isl_ast_node *node)
{
    isl_ast_expr *iterator = isl_ast_node_for_get_iterator(node), *init = isl_ast_node_for_get_init(node);
    isl_id       *id = isl_ast_expr_id_get_id(iterator);
    CountedNode   n  = { .body     = isl_ast_node_for_get_body(node),
                         .variable = arena_strdup(m->w->arena, isl_id_get_name(id)),
                         .first    = ast_value(m, init) };
    const Stmt   *s;
    if (isl_ast_node_for_is_degenerate(node)) {
        s = body_with(m, n.variable, n.first, n.body);
    } else {
        isl_ast_expr *inc = isl_ast_node_for_get_inc(node), *cond = isl_ast_node_for_get_cond(node),
                     *last = isl_ast_expr_op_get_arg(cond, 1);
        const bool  less   = isl_ast_expr_op_get_type(cond) == isl_ast_expr_op_lt;
        const char *first  = part_name(m, n.variable, "first");
        const Expr *from   = n.first;
        int64_t     number;
        const bool  leaf     = expr_is_int(from, &number);
        n.first              = leaf ? from : variable_of(m, first);
        n.step               = ast_value(m, inc);
        n.innermost          = !has_loop(n.body);
        const Expr *distance = index_binary(m, EX_SUB, ast_value(m, last), n.first);
        n.count =
            index_binary(m, EX_DIV, less ? index_binary(m, EX_SUB, distance, index_number(m, 1)) : distance, n.step);
        n.count = index_binary(m, EX_ADD, n.count, index_number(m, 1));
        s       = counted_stmt(m, node, &n);
        s       = s && !leaf ? stmt_let(m->program->arena, first, from, s) : s;
        isl_ast_expr_free(inc);
        isl_ast_expr_free(cond);
        isl_ast_expr_free(last);
    }
    isl_ast_node_free(n.body);
    isl_id_free(id);
    isl_ast_expr_free(iterator);
    isl_ast_expr_free(init);
    return s;
}

/* ---- Other nodes ---- */

static const Stmt *if_stmt(ProgramMaker *m, isl_ast_node *node)
{
    isl_ast_expr *cond = isl_ast_node_if_get_cond(node);
    isl_ast_node *yes = isl_ast_node_if_get_then_node(node), *no = NULL;
    if (isl_ast_node_if_has_else_node(node) == isl_bool_true)
        no = isl_ast_node_if_get_else_node(node);
    const Expr *c    = ast_value(m, cond);
    const Stmt *then = node_stmt(m, yes), *otherwise = no ? node_stmt(m, no) : NULL;
    isl_ast_expr_free(cond);
    isl_ast_node_free(yes);
    isl_ast_node_free(no);
    return then || otherwise ? stmt_if(m->program->arena, c, then, otherwise) : NULL;
}

static const Stmt *block_stmt(ProgramMaker *m, isl_ast_node *node)
{
    isl_ast_node_list *list = isl_ast_node_block_get_children(node);
    const Stmt        *all  = NULL;
    for (int i = 0; i < (int)isl_ast_node_list_size(list); i++) {
        isl_ast_node *child = isl_ast_node_list_get_at(list, i);
        all                 = stmt_pair(m->program->arena, all, node_stmt(m, child));
        isl_ast_node_free(child);
    }
    isl_ast_node_list_free(list);
    return all;
}

static const Stmt *mark_stmt(ProgramMaker *m, isl_ast_node *node)
{
    isl_id       *id   = isl_ast_node_mark_get_id(node);
    isl_ast_node *body = isl_ast_node_mark_get_node(node);
    const Stmt   *s    = strcmp(isl_id_get_name(id), MARK_TILE) ? node_stmt(m, body) : tile_stmt(m, body);
    isl_ast_node_free(body);
    isl_id_free(id);
    return s;
}

/* In a vector loop the temporaries are allocated around it. */
static const Stmt *user_stmt(ProgramMaker *m, isl_ast_node *node)
{
    const Instance *n     = instance_of(node);
    const size_t    begun = m->temporary.count;
    if (!n) {
        m->w->failed = true;
        return NULL;
    }
    const Stmt *s = assignment(m, n);
    return m->lane ? s : temporaries_end(m, begun, s);
}

static const Stmt *node_stmt(ProgramMaker *m, isl_ast_node *node)
{
    switch (isl_ast_node_get_type(node)) {
    case isl_ast_node_for: return loop_stmt(m, node);
    case isl_ast_node_if: return if_stmt(m, node);
    case isl_ast_node_block: return block_stmt(m, node);
    case isl_ast_node_mark: return mark_stmt(m, node);
    case isl_ast_node_user: return user_stmt(m, node);
    default: m->w->failed = true; return NULL;
    }
}

/* ---- The program ---- */

/* Parameters of the region as i64, under names: the backend takes what has a name for a coordinate. */
static const Stmt *with_parameters(ProgramMaker *m, isl_ast_node *root)
{
    const Scop *scop = m->w->tiled->scop;
    Program    *p    = m->program;
    for (size_t i = 0; i < scop->parameters.count; i++) {
        const char      *name  = scop->parameters.at[i]->name;
        const NamedValue named = { name, variable_of(m, part_name(m, name, "value")) };
        vec_push(m->w->arena, &m->names, named);
    }
    PrivateList own = { 0 };
    for (size_t i = 0; i < scop->privates.count; i++)
        vec_push(m->w->arena, &own, scop->privates.at[i]);
    own_begin(m, &own, 1);
    const Stmt *body = own_end(m, &own, node_stmt(m, root));
    for (size_t i = 0; body && i < scop->parameters.count; i++)
        for (size_t k = 0; k < p->params.count; k++)
            if (!strcmp(p->params.at[k]->name, scop->parameters.at[i]->name)) {
                const Expr *value = expr_param(p->exprs, p->params.at[k]->type, p->params.at[k]);
                value             = value->type == KN_I64 ? value : expr_unary(p->exprs, EX_CAST, KN_I64, value);
                body              = stmt_let(p->arena, part_name(m, p->params.at[k]->name, "value"), value, body);
            }
    return body;
}

const char *emit_program(const Tiled *tiled, const char *name, Arena *arena, Program **out)
{
    kn_context  *cx    = arena->cx;
    Writer       w     = { .tiled = tiled, .arena = tiled->scop->arena, .integer = "long" };
    Program     *p     = ARENA_NEW(arena, Program);
    ProgramMaker m     = { .w = &w, .program = p, .lanes = 1 };
    *p                 = (Program){ .cx = cx, .arena = arena, .name = name, .strict_float = true };
    p->exprs           = ARENA_NEW(arena, ExprPool);
    const char   *text = NULL;
    isl_ast_node *root = program_suits(tiled->scop) ? make_loops(&w) : NULL;
    expr_pool_init(p->exprs, cx, arena);
    if (root && !w.failed) {
        program_ports(&m);
        p->body = with_parameters(&m, root);
        text    = program_call(&m);
        w.failed |= p->exprs->too_deep;
    }
    isl_ast_node_free(root);
    free_instances(&w);
    *out = p;
    return w.failed ? NULL : text;
}
