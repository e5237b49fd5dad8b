/* SPDX-License-Identifier: MIT */
/* A tiled program as C text: isl's loops, the source's statements, scratch, OpenMP.
 *
 * Takes   a Tiled whose schedule has marks (poly/tiled.h).
 * Gives   a block of C that stands where the region stood.
 * Holds   the loops execute the instances of the schedule in its order. Bounds are names outside of the loop, so that a
 *         compiler sees a counted loop. They are computed in long.
 * From    Grosser, Verdoolaege, Cohen 2015: loops from schedule trees, by isl. */
#include "poly/emit/writer.h"
#include "poly/emit/cuda.h"
#include "poly/source/parser.h"
#include "poly/source/source.h"

#include <string.h>

enum { MOST_BOUND = 24 /* a bound with a longer text gets a name */ };

/* ---- Statements ---- */

/* A subscript modulo the fold, a power of two; of C's operators `&` rounds down as well. */
static const char *folded(Writer *w, isl_ast_expr *e, int64_t fold)
{
    if (fold < 2)
        return fold ? "0" : ast_string(w, e, 0);
    return arena_printf(w->arena, "%s & %lld", ast_string(w, e, 12), (long long)fold - 1);
}

/* An iterator is what it is in the new loops; an access to scratch has the scratch's subscripts. */
bool print_leaf(void *user, Text *out, const CExpr *e, bool subscript)
{
    Writer               *w = user;
    const Instance       *n = w->instance;
    const TiledStatement *s = n->statement;
    if (e->symbol->kind == CSYMBOL_ITERATOR) {
        for (int k = 0; k < s->source->depth; k++)
            if (s->source->iterators[k] == e->symbol) {
                const char *text  = ast_string(w, n->iterators[k], 12);
                const bool  plain = subscript || strspn(text, "0123456789") == strlen(text);
                text_printf(out, plain ? "%s" : "(%s)%s",
                            plain       ? text
                            : w->device ? c_type_name(e->symbol->type)
                                        : e->symbol->spelling,
                            text);
                return true;
            }
        w->failed = true;
        return true;
    }
    for (size_t i = 0; i < s->accesses.count; i++) {
        const TiledAccess *a = &s->accesses.at[i];
        if (a->access->expr != e || !a->scratch)
            continue;
        const ExprHooks hooks = { w, print_leaf, false };
        text_add(out, a->scratch->name);
        for (int d = 0; d < a->scratch->rank; d++) {
            text_add(out, "[");
            w->failed |= !n->scratch[i][d] && w->device; /* there, elements of other arrays have another form */
            if (n->scratch[i][d])
                text_add(out, folded(w, n->scratch[i][d], a->scratch->fold[d]));
            else
                print_expr(out, e->args[d], &hooks);
            text_add(out, "]");
        }
        return true;
    }
    return false;
}

void copy_statement(Writer *w, const Instance *n)
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
    w->instance = instance_of(node);
    if (!w->instance) {
        w->failed = true;
        return;
    }
    if (!w->instance->statement->source) {
        copy_statement(w, w->instance);
        return;
    }
    const ExprHooks hooks  = { w, print_leaf, false };
    const CStmt    *assign = w->instance->statement->source->assign;
    begin_line(w);
    if (w->instance == w->streamed)
        text_add(w->out, w->streamed_target);
    else
        print_expr(w->out, assign->target, &hooks);
    text_add(w->out, " = ");
    print_expr(w->out, assign->value, &hooks);
    text_add(w->out, ";\n");
}

/* ---- Loops ---- */

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
    const Instance *n = instance_of(node);
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
    for (size_t i = 0; i < w->names.count; i++)
        if (!strcmp(w->names.at[i].text, name))
            return true;
    return false;
}

const char *bound(Writer *w, isl_ast_expr *e, const char *variable, const char *what)
{
    const char *text = ast_string(w, e, 9);
    if (strlen(text) <= MOST_BOUND && !strchr(text, '('))
        return text;
    const char *name = arena_printf(w->arena, "%s_%s", variable, what);
    line(w, arena_printf(w->arena, "const %s %s = %s;", w->integer, name, ast_string(w, e, 0)));
    return name;
}

/* The loop's name in the text: the source's iterator that its variable is, or isl's name. */
const char *loop_name(Writer *w, const char *variable, isl_ast_node *body)
{
    Naming naming = { .variable = variable };
    isl_ast_node_foreach_descendant_top_down(body, note_name, &naming);
    return naming.name && !naming.differs && !name_taken(w, naming.name) ? naming.name : variable;
}

/* The statements below a node that access a private variable. */
typedef struct PrivateUse {
    const CSymbol *variable;
    int            count, writes;
} PrivateUse;

static isl_bool note_private(isl_ast_node *node, void *user)
{
    PrivateUse *use = user;
    if (isl_ast_node_get_type(node) != isl_ast_node_user)
        return isl_bool_true;
    const Instance *n = instance_of(node);
    for (size_t i = 0; n && n->statement->source && i < n->statement->accesses.count; i++) {
        const Access *a = n->statement->accesses.at[i].access;
        use->count += a->array == use->variable;
        use->writes += a->array == use->variable && a->write;
    }
    return isl_bool_false;
}

static PrivateUse private_use(const CSymbol *variable, isl_ast_node *below)
{
    PrivateUse use = { .variable = variable };
    if (below)
        isl_ast_node_foreach_descendant_top_down(below, note_private, &use);
    return use;
}

bool private_symbols(const Writer *w, isl_ast_node *body, PrivateList *own)
{
    const Scop *s = w->tiled->scop;
    own->count    = 0;
    for (size_t i = 0; i < s->privates.count; i++) {
        const CSymbol   *v    = s->privates.at[i];
        const PrivateUse here = private_use(v, body), around = private_use(v, w->around);
        if (here.writes && around.count > here.count)
            return false;
        if (here.writes)
            vec_push(w->arena, own, v);
    }
    return true;
}

/* The clause for these variables; NULL: the iterations are not independent of each other. */
static const char *privates(const Writer *w, isl_ast_node *body)
{
    PrivateList own = { 0 };
    Text        clause;
    text_init(&clause, w->arena);
    if (!private_symbols(w, body, &own))
        return NULL;
    for (size_t i = 0; i < own.count; i++)
        text_printf(&clause, "%s%s", i ? ", " : " private(", own.at[i]->name);
    text_add(&clause, clause.count ? ")" : "");
    return text_string(&clause);
}

/* Gives whether its iterations run in threads. */
static bool counted_loop(Writer *w, isl_ast_node *node, isl_ast_node *body, const char *name)
{
    isl_ast_expr *first = isl_ast_node_for_get_init(node), *inc = isl_ast_node_for_get_inc(node);
    isl_ast_expr *cond = isl_ast_node_for_get_cond(node), *last = isl_ast_expr_op_get_arg(cond, 1);
    const bool    less = isl_ast_expr_op_get_type(cond) == isl_ast_expr_op_lt;
    const char   *from = bound(w, first, name, "first"), *to = bound(w, last, name, less ? "end" : "last");
    const char   *step    = ast_string(w, inc, 0);
    const char   *next    = strcmp(step, "1") ? arena_printf(w->arena, " += %s", step) : "++";
    const char   *own     = privates(w, body);
    const bool    threads = own && loop_is(node, MARK_PARALLEL);
    if (threads && !w->in_parallel)
        text_printf(w->out, "#pragma omp parallel for%s\n", own);
    else if (own && loop_is(node, MARK_VECTOR))
        text_printf(w->out, "#pragma omp simd%s\n", own);
    line(w, arena_printf(w->arena, "for (long %s = %s; %s %s %s; %s%s) {", name, from, name, less ? "<" : "<=", to,
                         name, next));
    isl_ast_expr_free(first);
    isl_ast_expr_free(inc);
    isl_ast_expr_free(cond);
    isl_ast_expr_free(last);
    return threads;
}

/* The body of a loop whose variable has that name. */
void loop_body(Writer *w, const char *variable, const char *name, isl_ast_node *body)
{
    const ShownName shown = { variable, name };
    vec_push(w->arena, &w->names, shown);
    w->alone = true;
    write_node(w, body);
    w->names.count--;
}

void loop_node(Writer *w, isl_ast_node *node, CountedLoop *counted)
{
    isl_ast_expr *iterator = isl_ast_node_for_get_iterator(node);
    isl_id       *id       = isl_ast_expr_id_get_id(iterator);
    isl_ast_node *body     = isl_ast_node_for_get_body(node);
    const char   *variable = arena_strdup(w->arena, isl_id_get_name(id)), *name = loop_name(w, variable, body);
    const bool    alone = w->alone;
    if (!alone)
        open_block(w, "{");
    if (isl_ast_node_for_is_degenerate(node)) {
        isl_ast_expr *value = isl_ast_node_for_get_init(node);
        line(w, arena_printf(w->arena, "const %s %s = %s;", w->integer, name, ast_string(w, value, 0)));
        isl_ast_expr_free(value);
        loop_body(w, variable, name, body);
    } else {
        counted(w, node, variable, name, body);
    }
    if (!alone)
        close_block(w);
    isl_ast_node_free(body);
    isl_id_free(id);
    isl_ast_expr_free(iterator);
}

/* The loop, if its values go past the caches. */
static bool streams(Writer *w, isl_ast_node *node, const char *variable, const char *name, isl_ast_node *body)
{
    const bool      threads = loop_is(node, MARK_PARALLEL) && !w->in_parallel;
    const char     *own     = privates(w, body);
    const Instance *n       = threads || !own ? NULL : streamed(w, node, variable, body);
    if (!n)
        return false;
    isl_ast_expr    *first = isl_ast_node_for_get_init(node), *cond = isl_ast_node_for_get_cond(node);
    isl_ast_expr    *last = isl_ast_expr_op_get_arg(cond, 1);
    const bool       less = isl_ast_expr_op_get_type(cond) == isl_ast_expr_op_lt;
    const char      *from = bound(w, first, name, "first"), *to = bound(w, last, name, less ? "end" : "last");
    const StreamLoop loop   = { n, name, from, to, own, less };
    const ShownName  begins = { variable, stream_from(w, &loop) };
    const ExprHooks  hooks  = { w, print_leaf, false };
    Text             start;
    text_init(&start, w->arena);
    vec_push(w->arena, &w->names, begins);
    w->instance = n;
    print_expr(&start, n->statement->source->assign->target, &hooks);
    w->names.count--;
    stream_begins(w, &loop, text_string(&start));
    loop_body(w, variable, name, body);
    stream_ends(w, &loop, text_string(&start));
    isl_ast_expr_free(first);
    isl_ast_expr_free(cond);
    isl_ast_expr_free(last);
    return true;
}

static void host_loop(Writer *w, isl_ast_node *node, const char *variable, const char *name, isl_ast_node *body)
{
    if (streams(w, node, variable, name, body))
        return;
    const bool    outer  = w->in_parallel;
    isl_ast_node *around = w->around;
    w->in_parallel |= counted_loop(w, node, body, name);
    w->around = body;
    w->indent++;
    loop_body(w, variable, name, body);
    close_block(w);
    w->in_parallel = outer;
    w->around      = around;
}

void if_node(Writer *w, isl_ast_node *node)
{
    isl_ast_expr *cond = isl_ast_node_if_get_cond(node);
    isl_ast_node *yes  = isl_ast_node_if_get_then_node(node);
    open_block(w, arena_printf(w->arena, "if (%s) {", ast_string(w, cond, 0)));
    w->alone = true;
    write_node(w, yes);
    w->indent--;
    if (isl_ast_node_if_has_else_node(node) == isl_bool_true) {
        isl_ast_node *no = isl_ast_node_if_get_else_node(node);
        open_block(w, "} else {");
        w->alone = true;
        write_node(w, no);
        w->indent--;
        isl_ast_node_free(no);
    }
    line(w, "}");
    isl_ast_expr_free(cond);
    isl_ast_node_free(yes);
}

/* Does a statement below have something in that scratch? */
typedef struct ScratchUse {
    const Scratch *scratch;
    bool           used;
} ScratchUse;

static isl_bool note_scratch(isl_ast_node *node, void *user)
{
    ScratchUse *use = user;
    if (isl_ast_node_get_type(node) != isl_ast_node_user)
        return isl_bool_true;
    const Instance *n = instance_of(node);
    use->used |= n && n->statement->copied == use->scratch;
    for (size_t i = 0; n && i < n->statement->accesses.count; i++)
        use->used |= n->statement->accesses.at[i].scratch == use->scratch;
    return isl_bool_false;
}

bool scratch_used(isl_ast_node *tile, const Scratch *s)
{
    ScratchUse use = { s, false };
    isl_ast_node_foreach_descendant_top_down(tile, note_scratch, &use);
    return use.used;
}

/* Scratch of one tile: arrays of its own, aligned for vectors. */
static void declare_scratch(Writer *w, isl_ast_node *tile)
{
    for (size_t i = 0; i < w->tiled->scratch.count; i++) {
        const Scratch *s = w->tiled->scratch.at[i];
        if (!scratch_used(tile, s))
            continue;
        Text dims;
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
    if (!strcmp(mark, MARK_TILE))
        declare_scratch(w, body);
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
        w->alone            = n == 1;
        write_node(w, child);
        isl_ast_node_free(child);
    }
    isl_ast_node_list_free(list);
}

void write_node(Writer *w, isl_ast_node *node)
{
    if (w->device && device_node(w, node))
        return;
    switch (isl_ast_node_get_type(node)) {
    case isl_ast_node_for: loop_node(w, node, host_loop); return;
    case isl_ast_node_if: if_node(w, node); return;
    case isl_ast_node_block: block_node(w, node); return;
    case isl_ast_node_mark: mark_node(w, node); return;
    case isl_ast_node_user: user_node(w, node); return;
    default: w->failed = true;
    }
}

/* ---- The block ---- */

static bool symbol_named(const Region *r, const char *name)
{
    for (size_t i = 0; i < r->symbols.count; i++)
        if (!strcmp(r->symbols.at[i]->name, name))
            return true;
    return false;
}

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

/* Is the array itself accessed by the tiled program? */
bool is_accessed(const Tiled *t, const CSymbol *array)
{
    for (size_t i = 0; i < t->statements.count; i++) {
        const TiledStatement *s = &t->statements.at[i];
        if (s->copied && s->copied->array == array)
            return true;
        for (size_t k = 0; k < s->accesses.count; k++)
            if (s->accesses.at[k].access->array == array && !s->accesses.at[k].scratch)
                return true;
    }
    return false;
}

/* Arrays that are in scratch alone: compilers would warn of them. */
static void void_arrays(Writer *w)
{
    const Region *r = w->tiled->scop->region;
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *s = r->symbols.at[i];
        if (s->kind == CSYMBOL_ARRAY && !s->local && !is_accessed(w->tiled, s))
            line(w, arena_printf(w->arena, "(void)%s;", s->name));
    }
}

/* Parameters as bounds have them: long, so that no sum of theirs overflows. */
void widen_parameters(Writer *w)
{
    const Scop *scop = w->tiled->scop;
    for (size_t i = 0; i < scop->parameters.count; i++) {
        const CSymbol *s    = scop->parameters.at[i];
        char          *name = arena_printf(w->arena, "%s_", s->name);
        for (char *c = name; *c; c++)
            *c = *c == '.' ? '_' : *c;
        while (symbol_named(scop->region, name))
            name = arena_printf(w->arena, "%s_", name);
        const ShownName shown = { s->name, s->type == KN_I64 ? s->name : name };
        vec_push(w->arena, &w->names, shown);
        if (s->type != KN_I64)
            line(w,
                 arena_printf(w->arena, "const long %s = %s;", name, w->device ? device_name(w->arena, s) : s->name));
    }
}

/* Macros of the block, between its first lines; each is defined once in a file. */
void define_macros(Writer *w, Text *out)
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
    define_stream(w, out);
}

/* The loops as they were, for arrays that overlap. */
static void write_given(Writer *w)
{
    w->indent--;
    line(w, "} else { /* arrays overlap: in the given order */");
    region_print(w->out, w->tiled->scop->region);
    line(w, "}");
}

isl_ast_node *make_loops(Writer *w)
{
    const Tiled   *tiled = w->tiled;
    isl_ast_build *build = isl_ast_build_from_context(isl_set_copy(tiled->scop->context));
    build                = isl_ast_build_set_at_each_domain(build, note_instance, w);
    build                = isl_ast_build_set_before_each_mark(build, mark_begins, w);
    build                = isl_ast_build_set_after_each_mark(build, mark_ends, w);
    build                = isl_ast_build_set_after_each_for(build, loop_ends, w);
    isl_options_set_ast_build_group_coscheduled(tiled->scop->isl, tiled->scratch.count > 0);
    isl_schedule *schedule = number_marks(w, isl_schedule_copy(tiled->schedule));
    isl_ast_node *root     = isl_ast_build_node_from_schedule(build, schedule);
    isl_ast_build_free(build);
    return root;
}

const char *emit_c(const Tiled *tiled)
{
    Arena        *arena = tiled->scop->arena;
    Text          body, out;
    Writer        w    = { .tiled   = tiled,
                           .arena   = arena,
                           .out     = &body,
                           .indent  = 1,
                           .integer = "long",
                           .prefix  = tiled->scop->region->indent };
    isl_ast_node *root = make_loops(&w);
    text_init(&body, arena);
    text_init(&out, arena);
    if (root && !w.failed) {
        declare_locals(&w);
        widen_parameters(&w);
        void_arrays(&w);
        const char *disjoint = disjoint_condition(&w);
        if (disjoint)
            open_block(&w, arena_printf(arena, "if (%s) {", disjoint));
        w.alone = true;
        write_node(&w, root);
        if (disjoint)
            write_given(&w);
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
