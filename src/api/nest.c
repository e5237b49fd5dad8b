/* The loop nest: which loops there are, what is computed and what is stored inside which.
 *
 * Takes   a program before flattening: loops, realizations, productions.
 * Gives   lines like
 *             parallel out.y: out.extent.1
 *                 store blurx: out.extent.0 x 3 of u16
 *                 compute blurx
 *                     for blurx.y: 3
 *         Lets, conditions and formulas are left out; `kiln show --after PASS` has them.
 */
#include "api/nest.h"

#include "pipeline/pipeline.h"

#include <inttypes.h>

typedef struct Nest {
    Text *out;
    int   depth;
} Nest;

static void line(Nest *n)
{
    text_printf(n->out, "%*s", 4 * n->depth, "");
}

static void nest_stmt(void *user, const Stmt *s);

/* What stands inside. */
static void inside(Nest *n, const Stmt *s)
{
    Nest inner = { n->out, n->depth + 1 };
    nest_stmt(&inner, s);
}

static void print_loop(Nest *n, const Stmt *s)
{
    line(n);
    text_printf(n->out, "%s %s: ", loop_kind_names[s->loop.kind], s->loop.name);
    expr_print(n->out, s->loop.extent);
    text_add(n->out, "\n");
    inside(n, s->loop.body);
}

/* "store blurx: 640 x 3 of u16, 3840 bytes" */
static void print_storage(Nest *n, const Stmt *s)
{
    const Func *f     = s->realize.func;
    int64_t     bytes = 0, extent;
    bool        known = true;
    for (int c = 0; c < f->component_count; c++)
        bytes += (int64_t)kn_type_size(f->types[c]);
    line(n);
    text_printf(n->out, "store %s: ", f->name);
    for (int d = 0; d < f->rank; d++) {
        text_add(n->out, d ? " x " : "");
        expr_print(n->out, s->realize.extent[d]);
        known = known && expr_is_int(s->realize.extent[d], &extent);
        known = known && !__builtin_mul_overflow(bytes, extent, &bytes);
    }
    for (int c = 0; c < f->component_count; c++)
        text_printf(n->out, "%s%s", c ? ", " : f->rank ? " of " : "", kn_type_name(f->types[c]));
    if (known)
        text_printf(n->out, ", %" PRId64 " bytes", bytes);
    text_add(n->out, "\n");
    nest_stmt(n, s->realize.body);
}

static void print_production(Nest *n, const Stmt *s)
{
    line(n);
    text_printf(n->out, "compute %s", s->produce.func->name);
    if (s->produce.update >= 0)
        text_printf(n->out, ".update(%d)", s->produce.update);
    text_add(n->out, "\n");
    inside(n, s->produce.body);
}

static void nest_stmt(void *user, const Stmt *s)
{
    Nest *n = user;
    if (!s)
        return;
    switch (s->kind) {
    case STMT_FOR: print_loop(n, s); break;
    case STMT_REALIZE: print_storage(n, s); break;
    case STMT_PRODUCE: print_production(n, s); break;
    case STMT_STAGE:
        line(n);
        text_printf(n->out, "call %s\n", s->stage->func->symbol);
        break;
    default: stmt_children(s, NULL, nest_stmt, n); break;
    }
}

void nest_print(Text *out, const Program *program)
{
    Nest n = { out, 0 };
    nest_stmt(&n, program->body);
}
