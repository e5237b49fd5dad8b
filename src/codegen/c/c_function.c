/* SPDX-License-Identifier: MIT */
/* Functions of the file: one for what is produced at the outermost level, and one for the body of each parallel loop.
 *
 * Takes   a statement.
 * Gives   a function whose parameters are the buffers and names that the statement uses of what is around it. Buffers
 * are `restrict`: no two share memory that one of them changes. A function with vector loops is there twice, by vectors
 * and, with KN_PLAIN, by loops. Holds   it is not inlined: compilers know that parameters do not alias, but forget it
 * of what was inlined. */
#include "codegen/c/c.h"

#include <string.h>

/* ---- What a statement uses ---- */

typedef struct UsedBuffer {
    const Buffer *buffer;
    bool          written;
    const char   *name; /* in the function */
} UsedBuffer;

typedef struct UsedName {
    const CBinding *binding;
    const char     *name;
} UsedName;

typedef struct Captured {
    CGen *g;
    Map   seen;
    VEC(UsedBuffer) buffers;
    VEC(UsedName) names;
} Captured;

static void capture_buffer(Captured *c, const Buffer *b, bool written)
{
    if (!b || !c->g->f->buffers[b->id])
        return;
    for (size_t i = 0; i < c->buffers.count; i++)
        if (c->buffers.at[i].buffer == b) {
            c->buffers.at[i].written |= written;
            return;
        }
    vec_push(c->g->arena, &c->buffers, ((UsedBuffer){ b, written, NULL }));
}

static void capture_expr(void *user, const Expr *e)
{
    Captured *c = user;
    if (!e || map_get(&c->seen, e))
        return;
    map_set(&c->seen, e, e);
    const CBinding *b = e->op == EX_VAR ? c_binding(c->g, e->u.name) : NULL;
    if (b)
        vec_push(c->g->arena, &c->names, ((UsedName){ b, NULL }));
    if (e->op == EX_LOAD)
        capture_buffer(c, e->u.buffer, false);
    for (uint32_t i = 0; i < e->count; i++)
        capture_expr(c, e->args[i]);
}

static void capture_stmt(void *user, const Stmt *s)
{
    Captured *c = user;
    if (s->kind == STMT_STORE)
        for (int i = 0; i < s->store.count; i++)
            capture_buffer(c, s->store.places[i].buffer, true);
    if (s->kind == STMT_PREFETCH)
        capture_buffer(c, s->prefetch.buffer, false);
    if (s->kind == STMT_STAGE) {
        capture_buffer(c, s->stage->output.buffer, true);
        for (int i = 0; i < s->stage->count; i++)
            capture_buffer(c, s->stage->operands[i].buffer, true);
        capture_buffer(c, s->stage->table, true);
    }
    stmt_children(s, capture_expr, capture_stmt, c);
}

static bool vectors_outside_parallel(const Stmt *s);

static void find_vectors(void *user, const Stmt *s)
{
    bool *found = user;
    *found      = *found || vectors_outside_parallel(s);
}

/* Has it a vector loop that is in no other function? */
static bool vectors_outside_parallel(const Stmt *s)
{
    bool found = s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR;
    if (!found && (s->kind != STMT_FOR || s->loop.kind != LOOP_PARALLEL))
        stmt_children(s, NULL, find_vectors, &found);
    return found;
}

static void find_loops(void *user, const Stmt *s)
{
    bool *found = user;
    *found      = *found || c_is_group(s);
}

bool c_is_group(const Stmt *s)
{
    bool found = s->kind == STMT_FOR && s->loop.kind != LOOP_PARALLEL;
    if (!found && s->kind != STMT_FOR)
        stmt_children(s, NULL, find_loops, &found);
    return found;
}

/* ---- Functions ---- */

/* The value that a captured name has in the function: its parameter and the constant part it has outside. */
static CValue inner_value(CGen *g, const CBinding *outer, const char *name)
{
    CValue v = outer->value.text ? c_name_value(name, g->depth) : (CValue){ .level = g->depth };
    v.offset = outer->value.offset;
    return v;
}

/* Is the word in the text? */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        const char  before = at == text ? ' ' : at[-1], after = at[n];
        const char *part = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
        if (!strchr(part, before) && (!after || !strchr(part, after)))
            return true;
    }
    return false;
}

/* The text of a function's body, by vectors or by loops. `index`: the variable of a parallel loop, or NULL. */
static const char *body_text(CGen *g, Captured *c, const Stmt *body, const Stmt *loop, const char **index, bool plain)
{
    const CRange range       = loop ? c_loop_range(g, loop) : (CRange){ 0, 0 };
    CFunction    f           = { 0 };
    const bool   outer_plain = g->plain;
    const int    lanes       = g->lanes;
    g->plain                 = plain;
    g->lanes                 = 0;
    c_function_begin(g, &f);
    map_set(&f.used, intern(g->program->cx, "args"), "args");
    for (size_t i = 0; i < c->buffers.count; i++) {
        UsedBuffer *u            = &c->buffers.at[i];
        u->name                  = c_fresh(g, &f.used, c_identifier(g, u->buffer->name));
        f.buffers[u->buffer->id] = u->name;
    }
    for (size_t i = 0; i < c->names.count; i++) {
        UsedName *u = &c->names.at[i];
        u->name     = u->binding->value.text ? c_fresh(g, &f.used, c_identifier(g, u->binding->name)) : NULL;
        c_bind(g, u->binding->name, u->binding->type, inner_value(g, u->binding, u->name), u->binding->range)->data =
            u->binding->data;
    }
    if (loop) {
        *index = c_fresh(g, &f.used, c_identifier(g, loop->loop.name));
        c_bind(g, loop->loop.name, loop->loop.min->type, c_name_value(*index, g->depth), range);
    }
    c_stmt(g, body);
    if (f.streams)
        c_line(g, "KN_STREAMED();");
    c_line(g, "return KN_OK;");
    const char *text = c_function_end(g);
    Text        unused;
    text_init(&unused, g->arena);
    if (!has_word(text, "args"))
        text_add(&unused, "  (void)args;\n");
    for (size_t i = 0; i < c->buffers.count; i++)
        if (!has_word(text, c->buffers.at[i].name))
            text_printf(&unused, "  (void)%s;\n", c->buffers.at[i].name);
    for (size_t i = 0; i < c->names.count; i++)
        if (c->names.at[i].name && !has_word(text, c->names.at[i].name))
            text_printf(&unused, "  (void)%s;\n", c->names.at[i].name);
    if (loop && !has_word(text, *index))
        text_printf(&unused, "  (void)%s;\n", *index);
    g->plain = outer_plain;
    g->lanes = lanes;
    return c_print(g, "%s%s", text_string(&unused), text);
}

/* What the function takes: declarations with `declare`, else the names behind `prefix`. */
static const char *parameters(CGen *g, const Captured *c, const char *index)
{
    Text t;
    text_init(&t, g->arena);
    text_printf(&t, "const struct %s_args *args", g->name);
    for (size_t i = 0; i < c->buffers.count; i++) {
        const UsedBuffer *u = &c->buffers.at[i];
        text_printf(&t, ", %s%s *restrict %s", u->written ? "" : "const ", c_memory_type(u->buffer->type), u->name);
    }
    for (size_t i = 0; i < c->names.count; i++)
        if (c->names.at[i].name)
            text_printf(&t, ", %s %s", c_type(c->names.at[i].binding->type), c->names.at[i].name);
    if (index)
        text_printf(&t, ", int32_t %s", index);
    return text_string(&t);
}

static void write_function(CGen *g, const char *name, const char *comment, Captured *c, const Stmt *body,
                           const Stmt *loop)
{
    const char *index   = NULL;
    const bool  vectors = vectors_outside_parallel(body);
    const char *text    = body_text(g, c, body, loop, &index, false);
    const char *plain   = vectors ? body_text(g, c, body, loop, &index, true) : NULL;
    g->scopes[0].indent = 0;
    text_init(&g->scopes[0].text, g->arena);
    const int depth = g->depth;
    g->depth        = 0;
    c_comment(g, comment);
    text_add(&g->functions, text_string(&g->scopes[0].text));
    g->depth = depth;
    c_text_wrapped(g, &g->functions, 0, c_print(g, "KN_NOINLINE static int %s(%s)", name, parameters(g, c, index)));
    if (plain)
        text_printf(&g->functions, "#ifndef KN_PLAIN\n{\n%s}\n#else\n{\n%s}\n#endif\n\n", text, plain);
    else
        text_printf(&g->functions, "{\n%s}\n\n", text);
}

static Captured capture(CGen *g, const Stmt *body)
{
    Captured c = { .g = g };
    map_init(&c.seen, g->arena);
    capture_stmt(&c, body);
    for (size_t i = 0; i < c.names.count; i++) { /* what is captured must have been declared */
        CBinding *b = c_binding(g, c.names.at[i].binding->name);
        if (b->pending) {
            b->value   = c_named(g, b->type, b->value, c_identifier(g, b->name));
            b->pending = false;
        }
    }
    return c;
}

/* The arguments of a call, in the order of the parameters. */
static const char *arguments(CGen *g, const Captured *c)
{
    Text t;
    text_init(&t, g->arena);
    text_add(&t, "args");
    for (size_t i = 0; i < c->buffers.count; i++)
        text_printf(&t, ", %s", g->f->buffers[c->buffers.at[i].buffer->id]);
    for (size_t i = 0; i < c->names.count; i++)
        if (c->names.at[i].binding->value.text)
            text_printf(&t, ", %s", c->names.at[i].binding->value.text);
    return text_string(&t);
}

static const char *function_name(CGen *g, const char *of)
{
    return c_fresh(g, &g->taken, c_print(g, "%s_%s", g->name, c_identifier(g, of)));
}

/* The function's name, written the first time. */
static const char *outlined(CGen *g, const Stmt *s, const char *of, const char *comment, Captured *c, const Stmt *body,
                            const Stmt *loop)
{
    const char *name = map_get(&g->outlined, s);
    if (name)
        return name;
    name = function_name(g, of);
    map_set(&g->outlined, s, name);
    write_function(g, name, comment, c, body, loop);
    return name;
}

void c_group(CGen *g, const Stmt *s)
{
    Captured    c    = capture(g, s->produce.body);
    const char *f    = s->produce.func;
    const char *what = s->produce.update >= 0 ? c_print(g, "Update %d of %s", s->produce.update + 1, f) : f;
    vec_push(g->arena, &g->around, s);
    const char *name = outlined(g, s, f, c_print(g, "%s, with all that is computed inside its loops.", what), &c,
                                s->produce.body, NULL);
    g->around.count--;
    c_return_unless_zero(g, c_print(g, "%s(%s)", name, arguments(g, &c)));
}

/* The closure's fields, and the function that takes it apart. */
static void write_task(CGen *g, const char *name, const Captured *c)
{
    Text *t = &g->functions;
    Text  call;
    text_init(&call, g->arena);
    text_printf(t, "struct %s_closure {\n  const struct %s_args *args;\n", name, g->name);
    text_add(&call, "c->args");
    for (size_t i = 0; i < c->buffers.count; i++) {
        const UsedBuffer *u = &c->buffers.at[i];
        text_printf(t, "  %s%s *%s;\n", u->written ? "" : "const ", c_memory_type(u->buffer->type), u->name);
        text_printf(&call, ", c->%s", u->name);
    }
    for (size_t i = 0; i < c->names.count; i++)
        if (c->names.at[i].name) {
            text_printf(t, "  %s %s;\n", c_type(c->names.at[i].binding->type), c->names.at[i].name);
            text_printf(&call, ", c->%s", c->names.at[i].name);
        }
    text_printf(
        t, "};\n\nstatic int %s_task(const void *closure, int32_t i)\n{\n  const struct %s_closure *c = closure;\n",
        name, name);
    c_text_wrapped(g, t, 1, c_print(g, "return %s(%s, i);", name, text_string(&call)));
    text_add(t, "}\n\n");
}

/* The function that the loop computes. */
static const char *producing(CGen *g, const Stmt *loop)
{
    const char *name = loop->loop.name;
    for (size_t i = 0; i < g->around.count; i++)
        if (g->around.at[i]->kind == STMT_PRODUCE)
            name = g->around.at[i]->produce.func;
    return name;
}

void c_parallel(CGen *g, const Stmt *s)
{
    if (!s->loop.body)
        return;
    c_section(g, "parallel");
    c_statement(g);
    Captured    c     = capture(g, s->loop.body);
    const bool  first = !map_get(&g->outlined, s);
    const char *what  = producing(g, s);
    const char *name =
        outlined(g, s, s->loop.name,
                 c_print(g, "%s: one iteration of the parallel loop over %s, with all that is computed inside it.",
                         what, s->loop.name),
                 &c, s->loop.body, s);
    if (first)
        write_task(g, name, &c);
    c_statement(g);
    c_count(g, s->loop.min);
    c_count(g, s->loop.extent);
    g->trusted      = true;
    const char *min = c_uniform(g, s->loop.min), *extent = c_uniform(g, s->loop.extent);
    g->trusted          = false;
    const char *closure = c_fresh(g, &g->f->used, c_print(g, "%s_in", name));
    c_line(g, "const struct %s_closure %s = { %s };", name, closure, arguments(g, &c));
    c_return_unless_zero(g, c_print(g, "kn_parallel(%s_task, &%s, %s, %s)", name, closure, min, extent));
}
