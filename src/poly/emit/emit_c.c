/* SPDX-License-Identifier: MIT */
/* A tiled program as C text: isl's loops, the source's statements, scratch, OpenMP.
 *
 * Takes   a Tiled whose schedule has marks (poly/tiled.h).
 * Gives   a block of C that stands where the region stood.
 * Holds   the loops execute the instances of the schedule in its order. Bounds are names outside of the loop, so that a
 *         compiler sees a counted loop; what is declared parallel or vector is what the marks say.
 * From    Grosser, Verdoolaege, Cohen 2015: loops from schedule trees, by isl. */
#include "poly/emit/emit.h"

#include "base/map.h"

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/space.h>
#include <isl/val.h>
#include <string.h>

enum { INDENT = 2, MOST_BOUND = 24 /* a bound with a longer text gets a name */ };

/* An instance of a statement in the loops: what isl says of it when it makes the loops. */
typedef struct Instance {
    const TiledStatement *statement;
    isl_ast_expr        **iterators; /* of the source's statement; of a copy: the element's coordinates */
    isl_ast_expr       ***scratch;   /* by access: subscripts of scratch, or NULL */
    int                   count, access_count;
} Instance;

typedef struct Writer {
    const Tiled *tiled;
    Arena       *arena;
    Text        *out;
    int          indent;
    bool         failed;
    bool         parallel, vector; /* marks above the next loop */
    bool         in_parallel;
    bool         uses_min, uses_max, uses_floor;
    const Instance *instance;
    VEC(Instance *) instances;
    VEC(const char *) hidden; /* isl's name of a loop variable, its name in the text; pairs */
} Writer;

/* ---- What isl is asked for each statement in the loops ---- */

static const TiledStatement *statement_named(const Tiled *t, const char *name)
{
    for (size_t i = 0; i < t->statements.count; i++)
        if (!strcmp(t->statements.at[i].name, name))
            return &t->statements.at[i];
    return NULL;
}

static isl_ast_expr **ast_exprs(Writer *w, isl_ast_build *build, isl_pw_multi_aff *values, int *count)
{
    *count               = (int)isl_pw_multi_aff_dim(values, isl_dim_out);
    isl_ast_expr **exprs = ARENA_ARRAY(w->arena, isl_ast_expr *, (size_t)(*count > 0 ? *count : 1));
    for (int i = 0; i < *count; i++) {
        exprs[i] = isl_ast_build_expr_from_pw_aff(build, isl_pw_multi_aff_get_pw_aff(values, i));
        w->failed |= !exprs[i];
    }
    isl_pw_multi_aff_free(values);
    return exprs;
}

/* Instance -> subscripts of scratch: element - offset(tile), counted modulo the fold where there is one. */
static isl_pw_multi_aff *scratch_subscripts(const TiledStatement *s, const Scratch *scratch, isl_pw_multi_aff *element)
{
    const int      tile_dims = (int)isl_multi_aff_dim(scratch->offset, isl_dim_in);
    isl_space     *space     = isl_space_domain(isl_map_get_space(s->executes));
    isl_multi_aff *tile      = isl_multi_aff_identity_on_domain_space(space);
    const int      dims      = (int)isl_multi_aff_dim(tile, isl_dim_out);
    tile                     = isl_multi_aff_reset_tuple_id(tile, isl_dim_out);
    tile                     = isl_multi_aff_drop_dims(tile, isl_dim_out, (unsigned)tile_dims, (unsigned)(dims - tile_dims));
    isl_multi_aff    *first  = isl_multi_aff_pullback_multi_aff(isl_multi_aff_copy(scratch->offset), tile);
    isl_pw_multi_aff *at     = isl_pw_multi_aff_sub(element, isl_pw_multi_aff_from_multi_aff(first));
    for (int d = 0; d < scratch->rank; d++)
        if (scratch->fold[d]) {
            isl_pw_aff *along = isl_pw_multi_aff_get_pw_aff(at, d);
            along = isl_pw_aff_mod_val(along, isl_val_int_from_si(isl_pw_aff_get_ctx(along), scratch->fold[d]));
            at    = isl_pw_multi_aff_set_pw_aff(at, (unsigned)d, along);
        }
    return at;
}

static isl_ast_node *note_instance(isl_ast_node *node, isl_ast_build *build, void *user)
{
    Writer       *w     = user;
    isl_map      *order = isl_map_from_union_map(isl_ast_build_get_schedule(build));
    const TiledStatement *s =
        order ? statement_named(w->tiled, isl_map_get_tuple_name(order, isl_dim_in)) : NULL;
    if (!s) {
        isl_map_free(order);
        w->failed = true;
        return node;
    }
    /* loop variables -> instance -> iterators of the source */
    isl_pw_multi_aff *instance = isl_pw_multi_aff_from_map(isl_map_reverse(order));
    isl_pw_multi_aff *executes = isl_pw_multi_aff_from_map(isl_map_copy(s->executes));
    Instance         *n        = ARENA_NEW(w->arena, Instance);
    n->statement               = s;
    n->iterators               = ast_exprs(w, build,
                                           isl_pw_multi_aff_coalesce(isl_pw_multi_aff_pullback_pw_multi_aff(
                                               isl_pw_multi_aff_copy(executes), isl_pw_multi_aff_copy(instance))),
                                           &n->count);
    n->access_count            = s->source ? (int)s->accesses.count : 1;
    n->scratch                 = ARENA_ARRAY(w->arena, isl_ast_expr **, (size_t)(n->access_count ? n->access_count : 1));
    for (int i = 0; i < n->access_count; i++) {
        const Scratch *scratch = s->source ? s->accesses.at[i].scratch : s->copied;
        n->scratch[i]          = NULL;
        if (!scratch)
            continue;
        isl_pw_multi_aff *element = isl_pw_multi_aff_copy(executes);
        if (s->source)
            element = isl_pw_multi_aff_pullback_pw_multi_aff(
                isl_pw_multi_aff_from_map(isl_map_copy(s->accesses.at[i].access->relation)), element);
        isl_pw_multi_aff *at = isl_pw_multi_aff_pullback_pw_multi_aff(scratch_subscripts(s, scratch, element),
                                                                      isl_pw_multi_aff_copy(instance));
        int               rank;
        n->scratch[i] = ast_exprs(w, build, isl_pw_multi_aff_coalesce(at), &rank);
    }
    isl_pw_multi_aff_free(instance);
    isl_pw_multi_aff_free(executes);
    vec_push(w->arena, &w->instances, n);
    isl_id *id = isl_id_alloc(isl_ast_node_get_ctx(node), "instance", n);
    return isl_ast_node_set_annotation(node, id);
}

static void free_instances(Writer *w)
{
    for (size_t i = 0; i < w->instances.count; i++) {
        Instance *n = w->instances.at[i];
        for (int k = 0; k < n->count; k++)
            isl_ast_expr_free(n->iterators[k]);
        for (int a = 0; a < n->access_count; a++) {
            const Scratch *scratch = n->statement->source ? n->statement->accesses.at[a].scratch : n->statement->copied;
            for (int d = 0; n->scratch[a] && d < scratch->rank; d++)
                isl_ast_expr_free(n->scratch[a][d]);
        }
    }
}

/* ---- isl's expressions ---- */

/* How tightly C's operator binds; 0: none such. */
typedef struct AstOp {
    const char *text;
    int         binding;
} AstOp;

static const AstOp *ast_op(enum isl_ast_expr_op_type type)
{
    static const AstOp add = { " + ", 10 }, sub = { " - ", 10 }, mul = { " * ", 11 }, div = { " / ", 11 },
                       rem = { " % ", 11 }, lt = { " < ", 8 }, le = { " <= ", 8 }, gt = { " > ", 8 }, ge = { " >= ", 8 },
                       eq = { " == ", 7 }, and = { " && ", 3 }, or = { " || ", 2 };
    switch (type) {
    case isl_ast_expr_op_add: return &add;
    case isl_ast_expr_op_sub: return &sub;
    case isl_ast_expr_op_mul: return &mul;
    case isl_ast_expr_op_div:    /* exact */
    case isl_ast_expr_op_pdiv_q: /* of what is not negative */
        return &div;
    case isl_ast_expr_op_pdiv_r:
    case isl_ast_expr_op_zdiv_r: return &rem;
    case isl_ast_expr_op_lt: return &lt;
    case isl_ast_expr_op_le: return &le;
    case isl_ast_expr_op_gt: return &gt;
    case isl_ast_expr_op_ge: return &ge;
    case isl_ast_expr_op_eq: return &eq;
    case isl_ast_expr_op_and:
    case isl_ast_expr_op_and_then: return &and;
    case isl_ast_expr_op_or:
    case isl_ast_expr_op_or_else: return &or;
    default: return NULL;
    }
}

static const char *shown_name(const Writer *w, const char *name)
{
    for (size_t i = w->hidden.count; i >= 2; i -= 2)
        if (!strcmp(w->hidden.at[i - 2], name))
            return w->hidden.at[i - 1];
    return name;
}

static void ast_text(Writer *w, Text *out, isl_ast_expr *e, int around);

static void ast_operand(Writer *w, Text *out, isl_ast_expr *e, int i, int around)
{
    isl_ast_expr *arg = isl_ast_expr_op_get_arg(e, i);
    ast_text(w, out, arg, around);
    isl_ast_expr_free(arg);
}

/* min(a, b, c): MACRO(a, MACRO(b, c)) */
static void ast_nested(Writer *w, Text *out, isl_ast_expr *e, const char *macro)
{
    const int n = (int)isl_ast_expr_op_get_n_arg(e);
    for (int i = 0; i < n; i++) {
        text_printf(out, i + 1 < n ? "%s%s(" : "%s", i ? ", " : "", macro);
        ast_operand(w, out, e, i, 0);
    }
    for (int i = 1; i < n; i++)
        text_add(out, ")");
}

static void ast_operator(Writer *w, Text *out, isl_ast_expr *e, int around)
{
    const enum isl_ast_expr_op_type type = isl_ast_expr_op_get_type(e);
    const AstOp                    *op   = ast_op(type);
    if (op) {
        const bool paren = op->binding < around || (around == 3 && op->binding == 2);
        text_add(out, paren ? "(" : "");
        ast_operand(w, out, e, 0, op->binding);
        text_add(out, op->text);
        ast_operand(w, out, e, 1, op->binding + 1);
        text_add(out, paren ? ")" : "");
        return;
    }
    switch (type) {
    case isl_ast_expr_op_minus:
        text_add(out, around > 10 ? "(-" : "-");
        ast_operand(w, out, e, 0, 12);
        text_add(out, around > 10 ? ")" : "");
        return;
    case isl_ast_expr_op_min:
        w->uses_min = true;
        ast_nested(w, out, e, "KN_MIN");
        return;
    case isl_ast_expr_op_max:
        w->uses_max = true;
        ast_nested(w, out, e, "KN_MAX");
        return;
    case isl_ast_expr_op_fdiv_q:
        w->uses_floor = true;
        text_add(out, "KN_FLOOR_DIV(");
        ast_operand(w, out, e, 0, 0);
        text_add(out, ", ");
        ast_operand(w, out, e, 1, 0);
        text_add(out, ")");
        return;
    case isl_ast_expr_op_cond:
    case isl_ast_expr_op_select:
        text_add(out, "(");
        ast_operand(w, out, e, 0, 2);
        text_add(out, " ? ");
        ast_operand(w, out, e, 1, 2);
        text_add(out, " : ");
        ast_operand(w, out, e, 2, 2);
        text_add(out, ")");
        return;
    default: w->failed = true; /* no other operator is made for these loops */
    }
}

static void ast_text(Writer *w, Text *out, isl_ast_expr *e, int around)
{
    switch (isl_ast_expr_get_type(e)) {
    case isl_ast_expr_int: {
        isl_val   *v = isl_ast_expr_int_get_val(e);
        const long n = isl_val_get_num_si(v);
        text_printf(out, n < 0 && around > 10 ? "(%ld)" : "%ld", n);
        isl_val_free(v);
        return;
    }
    case isl_ast_expr_id: {
        isl_id *id = isl_ast_expr_id_get_id(e);
        text_add(out, shown_name(w, isl_id_get_name(id)));
        isl_id_free(id);
        return;
    }
    case isl_ast_expr_op: ast_operator(w, out, e, around); return;
    default: w->failed = true;
    }
}

static const char *ast_string(Writer *w, isl_ast_expr *e, int around)
{
    Text t;
    text_init(&t, w->arena);
    ast_text(w, &t, e, around);
    return text_string(&t);
}

/* ---- Lines ---- */

static void begin_line(Writer *w)
{
    text_printf(w->out, "%s%*s", w->tiled->scop->region->indent, INDENT * w->indent, "");
}

static void line(Writer *w, const char *text)
{
    begin_line(w);
    text_printf(w->out, "%s\n", text);
}

/* ---- Statements ---- */

/* An iterator is what it is in the new loops; an access to scratch has the scratch's subscripts. */
static bool print_leaf(void *user, Text *out, const CExpr *e, bool subscript)
{
    Writer               *w = user;
    const Instance       *n = w->instance;
    const TiledStatement *s = n->statement;
    if (e->symbol->kind == CSYMBOL_ITERATOR) {
        for (int k = 0; k < s->source->depth; k++)
            if (s->source->iterators[k] == e->symbol) {
                const char *text  = ast_string(w, n->iterators[k], subscript ? 11 : 12);
                const bool  plain = subscript || strspn(text, "0123456789") == strlen(text);
                text_printf(out, plain ? "%s" : "(%s)%s", plain ? text : e->symbol->spelling, text);
                return true;
            }
        w->failed = true;
        return true;
    }
    for (size_t i = 0; i < s->accesses.count; i++) {
        const TiledAccess *a = &s->accesses.at[i];
        if (a->access->expr != e || !a->scratch)
            continue;
        text_add(out, a->scratch->name);
        for (int d = 0; d < a->scratch->rank; d++)
            text_printf(out, "[%s]", ast_string(w, n->scratch[i][d], 0));
        return true;
    }
    return false;
}

static void copy_statement(Writer *w, const Instance *n)
{
    const TiledStatement *s = n->statement;
    Text                  own, array;
    text_init(&own, w->arena);
    text_init(&array, w->arena);
    text_add(&own, s->copied->name);
    text_add(&array, s->copied->array->name);
    for (int d = 0; d < s->copied->rank; d++) {
        text_printf(&own, "[%s]", ast_string(w, n->scratch[0][d], 0));
        text_printf(&array, "[%s]", ast_string(w, n->iterators[d], 0));
    }
    const char *from = text_string(s->copy_out ? &own : &array), *to = text_string(s->copy_out ? &array : &own);
    line(w, arena_printf(w->arena, "%s = %s;", to, from));
}

static void user_node(Writer *w, isl_ast_node *node)
{
    isl_id *id  = isl_ast_node_get_annotation(node);
    w->instance = id ? isl_id_get_user(id) : NULL;
    isl_id_free(id);
    if (!w->instance) {
        w->failed = true;
        return;
    }
    if (!w->instance->statement->source) {
        copy_statement(w, w->instance);
        return;
    }
    const ExprHooks hooks  = { w, print_leaf };
    const CStmt    *assign = w->instance->statement->source->assign;
    begin_line(w);
    print_expr(w->out, assign->target, &hooks);
    text_add(w->out, " = ");
    print_expr(w->out, assign->value, &hooks);
    text_add(w->out, ";\n");
}

/* ---- Loops ---- */

static void write_node(Writer *w, isl_ast_node *node);

/* The source's iterator that the loop variable is, in all statements below that have one; NULL: none. */
typedef struct Naming {
    const char *variable, *name;
    bool        differs;
} Naming;

static isl_bool note_name(isl_ast_node *node, void *user)
{
    Naming *naming = user;
    if (isl_ast_node_get_type(node) != isl_ast_node_user)
        return isl_bool_true;
    isl_id         *id = isl_ast_node_get_annotation(node);
    const Instance *n  = id ? isl_id_get_user(id) : NULL;
    isl_id_free(id);
    for (int k = 0; n && n->statement->source && k < n->count; k++) {
        if (isl_ast_expr_get_type(n->iterators[k]) != isl_ast_expr_id)
            continue;
        isl_id     *var = isl_ast_expr_id_get_id(n->iterators[k]);
        const char *own = n->statement->source->iterators[k]->name;
        if (!strcmp(isl_id_get_name(var), naming->variable)) {
            naming->differs |= naming->name && strcmp(naming->name, own);
            naming->name = own;
        }
        isl_id_free(var);
    }
    return isl_bool_false;
}

static bool name_taken(const Writer *w, const char *name)
{
    for (size_t i = 0; i < w->hidden.count; i += 2)
        if (!strcmp(w->hidden.at[i + 1], name))
            return true;
    return false;
}

static const char *bound(Writer *w, isl_ast_expr *e, const char *variable, const char *what)
{
    const char *text = ast_string(w, e, 9);
    if (strlen(text) <= MOST_BOUND && !strchr(text, '('))
        return text;
    const char *name = arena_printf(w->arena, "%s_%s", variable, what);
    line(w, arena_printf(w->arena, "const long %s = %s;", name, ast_string(w, e, 0)));
    return name;
}

static void for_node(Writer *w, isl_ast_node *node)
{
    isl_ast_expr *iterator = isl_ast_node_for_get_iterator(node), *init = isl_ast_node_for_get_init(node);
    isl_id       *id       = isl_ast_expr_id_get_id(iterator);
    isl_ast_node *body     = isl_ast_node_for_get_body(node);
    Naming        naming   = { .variable = arena_strdup(w->arena, isl_id_get_name(id)) };
    isl_ast_node_foreach_descendant_top_down(body, note_name, &naming);
    const char *name = naming.name && !naming.differs && !name_taken(w, naming.name) ? naming.name : naming.variable;
    const bool  parallel = w->parallel, vector = w->vector;
    w->parallel = w->vector = false;
    if (isl_ast_node_for_is_degenerate(node)) {
        line(w, arena_printf(w->arena, "const long %s = %s;", name, ast_string(w, init, 0)));
        vec_push(w->arena, &w->hidden, naming.variable);
        vec_push(w->arena, &w->hidden, name);
        write_node(w, body);
    } else {
        isl_ast_expr *cond = isl_ast_node_for_get_cond(node), *inc = isl_ast_node_for_get_inc(node);
        isl_ast_expr *last = isl_ast_expr_op_get_arg(cond, 1);
        const bool    less = isl_ast_expr_op_get_type(cond) == isl_ast_expr_op_lt;
        line(w, "{");
        w->indent++;
        const char *first = bound(w, init, name, "first"), *end = bound(w, last, name, less ? "end" : "last");
        const char *step = ast_string(w, inc, 0);
        if (parallel && !w->in_parallel)
            text_add(w->out, "#pragma omp parallel for\n");
        else if (vector)
            text_add(w->out, "#pragma omp simd\n");
        const char *next = strcmp(step, "1") ? arena_printf(w->arena, " += %s", step) : "++";
        line(w, arena_printf(w->arena, "for (long %s = %s; %s %s %s; %s%s) {", name, first, name, less ? "<" : "<=", end,
                             name, next));
        w->indent++;
        vec_push(w->arena, &w->hidden, naming.variable);
        vec_push(w->arena, &w->hidden, name);
        const bool outer = w->in_parallel;
        w->in_parallel |= parallel;
        write_node(w, body);
        w->in_parallel = outer;
        w->indent--;
        line(w, "}");
        w->indent--;
        line(w, "}");
        isl_ast_expr_free(cond);
        isl_ast_expr_free(inc);
        isl_ast_expr_free(last);
    }
    w->hidden.count -= 2;
    isl_ast_node_free(body);
    isl_id_free(id);
    isl_ast_expr_free(init);
    isl_ast_expr_free(iterator);
}

static void if_node(Writer *w, isl_ast_node *node)
{
    isl_ast_expr *cond = isl_ast_node_if_get_cond(node);
    isl_ast_node *yes  = isl_ast_node_if_get_then_node(node);
    line(w, arena_printf(w->arena, "if (%s) {", ast_string(w, cond, 0)));
    w->indent++;
    write_node(w, yes);
    w->indent--;
    if (isl_ast_node_if_has_else_node(node) == isl_bool_true) {
        isl_ast_node *no = isl_ast_node_if_get_else_node(node);
        line(w, "} else {");
        w->indent++;
        write_node(w, no);
        w->indent--;
        isl_ast_node_free(no);
    }
    line(w, "}");
    isl_ast_expr_free(cond);
    isl_ast_node_free(yes);
}

/* Scratch of one tile: arrays of its own, aligned for vectors. */
static void declare_scratch(Writer *w)
{
    for (size_t i = 0; i < w->tiled->scratch.count; i++) {
        const Scratch *s = w->tiled->scratch.at[i];
        Text           dims;
        text_init(&dims, w->arena);
        for (int d = 0; d < s->rank; d++)
            text_printf(&dims, "[%lld]", (long long)(s->fold[d] ? s->fold[d] : s->size[d]));
        line(w, arena_printf(w->arena, "%s %s%s __attribute__((aligned(64)));", s->array->spelling, s->name,
                             text_string(&dims)));
    }
}

static void mark_node(Writer *w, isl_ast_node *node)
{
    isl_id       *id   = isl_ast_node_mark_get_id(node);
    isl_ast_node *body = isl_ast_node_mark_get_node(node);
    const char   *mark = isl_id_get_name(id);
    w->parallel |= !strcmp(mark, MARK_PARALLEL);
    w->vector |= !strcmp(mark, MARK_VECTOR);
    if (!strcmp(mark, MARK_TILE))
        declare_scratch(w);
    write_node(w, body);
    isl_ast_node_free(body);
    isl_id_free(id);
}

static void block_node(Writer *w, isl_ast_node *node)
{
    isl_ast_node_list *list = isl_ast_node_block_get_children(node);
    const int          n    = (int)isl_ast_node_list_size(list);
    for (int i = 0; i < n; i++) {
        isl_ast_node *child = isl_ast_node_list_get_at(list, i);
        write_node(w, child);
        isl_ast_node_free(child);
    }
    isl_ast_node_list_free(list);
}

static void write_node(Writer *w, isl_ast_node *node)
{
    switch (isl_ast_node_get_type(node)) {
    case isl_ast_node_for: for_node(w, node); return;
    case isl_ast_node_if: if_node(w, node); return;
    case isl_ast_node_block: block_node(w, node); return;
    case isl_ast_node_mark: mark_node(w, node); return;
    case isl_ast_node_user: user_node(w, node); return;
    default: w->failed = true;
    }
}

/* ---- The block ---- */

static void declare_locals(Writer *w)
{
    const Region *r = w->tiled->scop->region;
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *s = r->symbols.at[i];
        if (!s->local || s->kind == CSYMBOL_ITERATOR || s->kind == CSYMBOL_FUNCTION)
            continue;
        Text t;
        text_init(&t, w->arena);
        text_printf(&t, "%s %s", s->spelling, s->name);
        for (int d = 0; d < s->rank; d++) {
            text_add(&t, "[");
            print_expr(&t, s->extents[d], NULL);
            text_add(&t, "]");
        }
        line(w, arena_printf(w->arena, "%s;", text_string(&t)));
    }
}

/* Macros of the block, between its first lines; each is defined once in a file. */
static void define_macros(Writer *w, Text *out)
{
    const struct {
        bool        used;
        const char *name, *text;
    } macros[] = {
        { w->uses_min, "KN_MIN", "KN_MIN(a, b) ((a) < (b) ? (a) : (b))" },
        { w->uses_max, "KN_MAX", "KN_MAX(a, b) ((a) > (b) ? (a) : (b))" },
        { w->uses_floor, "KN_FLOOR_DIV",
          "KN_FLOOR_DIV(n, d) ((n) >= 0 ? (n) / (d) : -((-(n) + (d)-1) / (d))) /* d > 0 */" },
    };
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        if (macros[i].used)
            text_printf(out, "#ifndef %s\n#define %s\n#endif\n", macros[i].name, macros[i].text);
}

const char *emit_c(const Tiled *tiled)
{
    Arena        *arena = tiled->scop->arena;
    Text          body, out;
    Writer        w     = { .tiled = tiled, .arena = arena, .out = &body, .indent = 1 };
    isl_ast_build *build = isl_ast_build_from_context(isl_set_copy(tiled->scop->context));
    text_init(&body, arena);
    text_init(&out, arena);
    build              = isl_ast_build_set_at_each_domain(build, note_instance, &w);
    isl_ast_node *root = isl_ast_build_node_from_schedule(build, isl_schedule_copy(tiled->schedule));
    isl_ast_build_free(build);
    if (root && !w.failed) {
        declare_locals(&w);
        write_node(&w, root);
        w.indent = 0;
        line(&w, "}");
        w.out = &out;
        line(&w, "{");
        define_macros(&w, &out);
        text_add(&out, text_string(&body));
    }
    isl_ast_node_free(root);
    free_instances(&w);
    return root && !w.failed ? text_string(&out) : NULL;
}
