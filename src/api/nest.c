/* SPDX-License-Identifier: MIT */
/* The loop nest: which loops there are, what is computed and what is stored inside which.
 *
 * Takes   a program before flattening: loops, realizations, productions.
 * Gives   lines like
 *             parallel out.yo: (out.extent.1 + 7) / 8
 *                 store blurx: out.extent.0 x 4 of u16, 8 * out.extent.0 bytes; y is folded to 4: 3 are needed …
 *                 compute blurx, sliding along y
 *                     for blurx.y: those of 3 that are not held yet
 *         in the terms of the ports' sizes: names of the code are replaced by what they stand for, where that is short.
 *         Conditions and formulas are left out; `kiln show --after PASS` has them.
 */
#include "api/nest.h"

#include "ir/simplify.h"
#include "pipeline/pipeline.h"

#include <inttypes.h>
#include <string.h>

enum {
    MOST_NODES  = 16,     /* longer expressions are shown by name */
    LONG        = 8,      /* longer extents are shown by their upper bound, */
    MOST_NUMBER = 1 << 20 /* unless that bound is as large as any coordinate */
};

typedef struct NestPrinter {
    Text          *out;
    const Program *program;
    Simplifier    *simplifier;
    Map            lets;    /* name -> what it stands for */
    Map            sliding; /* name of a function -> its REALIZE, where that slides */
    Map            missing; /* name of a sliding dimension -> size of its window, int64_t */
} NestPrinter;

typedef struct NestLevel {
    NestPrinter *s;
    int          depth;
} NestLevel;

static void nest_stmt(void *user, const Stmt *s);

static void line(const NestLevel *n)
{
    text_printf(n->s->out, "%*s", 4 * n->depth, "");
}

/* What stands inside. */
static void inside(const NestLevel *n, const Stmt *s)
{
    nest_stmt(&(NestLevel){ n->s, n->depth + 1 }, s);
}

/* ---- Names --------------------------------------------------------------------------------- */

static const Expr *replace(void *user, const Expr *e)
{
    const NestPrinter *s     = user;
    const Expr        *value = e->op == EX_VAR ? map_get(&s->lets, e->u.name) : NULL;
    return value ? value : e;
}

/* With lets replaced by their values, simplified. */
static const Expr *explain(NestPrinter *s, const Expr *e)
{
    return simplify(s->simplifier, expr_rewrite(s->program->exprs, e, replace, s));
}

typedef struct ExprSize {
    int  nodes;
    bool memory;
} ExprSize;

static void add_node(const Expr *e, void *user)
{
    ExprSize *w = user;
    w->nodes++;
    w->memory |= e->op == EX_LOAD || e->op == EX_CALL || e->op == EX_EXTERN;
}

static ExprSize size_of(NestPrinter *s, const Expr *e)
{
    ExprSize size = { 0 };
    expr_visit(s->program->exprs, e, add_node, &size);
    return size;
}

/* An extent, explained; if that is long its upper bound, and *at_most is set. */
static const Expr *explain_extent(NestPrinter *s, const Expr *extent, bool *at_most)
{
    const Expr *e = explain(s, extent);
    int64_t     lo, hi;
    if (size_of(s, e).nodes <= LONG)
        return e;
    simplifier_bounds(s->simplifier, e, &lo, &hi);
    if (hi > MOST_NUMBER)
        return e;
    *at_most = true;
    return expr_int(s->program->exprs, KN_I32, hi);
}

static void take_let(NestLevel *n, const Stmt *s)
{
    const Expr    *value = explain(n->s, s->let.value);
    const ExprSize size  = size_of(n->s, value);
    map_set(&n->s->lets, s->let.name, size.nodes <= MOST_NODES && !size.memory ? value : NULL);
    nest_stmt(n, s->let.body);
}

/* A branch with an else: prints the condition and both nests. Otherwise the condition only serves the simplifier. */
static void take_condition(NestLevel *n, const Stmt *s)
{
    const Expr *condition = explain(n->s, s->branch.condition);
    const int   deeper    = s->branch.no != NULL;
    if (deeper) {
        line(n);
        text_add(n->s->out, "if ");
        expr_print(n->s->out, condition);
        text_add(n->s->out, "\n");
    }
    simplifier_push_fact(n->s->simplifier, condition);
    nest_stmt(&(NestLevel){ n->s, n->depth + deeper }, s->branch.yes);
    simplifier_pop(n->s->simplifier);
    if (deeper) {
        line(n);
        text_add(n->s->out, "else\n");
        inside(n, s->branch.no);
    }
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void push_loop(NestPrinter *s, const Stmt *loop)
{
    ExprPool   *pool = s->program->exprs;
    const Expr *min = explain(s, loop->loop.min), *extent = explain(s, loop->loop.extent),
               *one = expr_int(pool, KN_I32, 1);
    simplifier_push_range(s->simplifier, loop->loop.name, min,
                          expr_binary(pool, EX_ADD, KN_I32, min, expr_binary(pool, EX_SUB, KN_I32, extent, one)));
}

static void print_loop(NestLevel *n, const Stmt *s)
{
    Text          *out     = n->s->out;
    bool           at_most = false;
    const Expr    *shown   = explain_extent(n->s, s->loop.extent, &at_most);
    const int64_t *missing = map_get(&n->s->missing, s->loop.name);
    line(n);
    text_printf(out, "%s %s: ", loop_table[s->loop.kind].keyword, s->loop.name);
    if (missing && *missing) {
        text_printf(out, "those of %" PRId64 " that are not held yet", *missing);
    } else if (missing) {
        text_add(out, "those that are not held yet");
    } else {
        text_add(out, at_most ? "at most " : "");
        expr_print(out, shown);
    }
    text_add(out, "\n");
    push_loop(n->s, s);
    inside(n, s->loop.body);
    simplifier_pop(n->s->simplifier);
}

/* "x" of "blurx.x", as the program calls it. */
static const char *dim_name(const Func *f, int d)
{
    const size_t length = strlen(f->name);
    return !strncmp(f->args[d], f->name, length) && f->args[d][length] == '.' ? f->args[d] + length + 1 : f->args[d];
}

/* Sums in parentheses. */
static void print_factor(Text *out, const Expr *e)
{
    const bool single = e->op == EX_VAR || e->op == EX_INT || e->op == EX_MIN || e->op == EX_MAX;
    text_add(out, single ? "" : "(");
    expr_print(out, e);
    text_add(out, single ? "" : ")");
}

/* ", 8 * out.extent.0 bytes": constant factors multiplied. Nothing if an extent is long. */
static void print_bytes(NestLevel *n, const Func *f, const Expr *const *extent)
{
    Text   *out   = n->s->out;
    int64_t bytes = 0, value;
    for (int c = 0; c < f->component_count; c++)
        bytes += (int64_t)kn_type_size(f->types[c]);
    for (int d = 0; d < f->rank; d++)
        if (size_of(n->s, extent[d]).nodes > LONG ||
            (expr_is_int(extent[d], &value) && __builtin_mul_overflow(bytes, value, &bytes)))
            return;
    text_printf(out, ", %" PRId64, bytes);
    for (int d = 0; d < f->rank; d++) {
        if (expr_is_int(extent[d], &value))
            continue;
        text_add(out, " * ");
        print_factor(out, extent[d]);
    }
    text_add(out, " bytes");
}

/* "y is folded to 4: 3 are needed at a time, rounded up to a power of two" */
static void print_fold(Text *out, const Stmt *realize)
{
    const Sliding *sliding = realize->realize.sliding;
    int64_t        fold    = 0;
    expr_is_int(realize->realize.extent[sliding->dims[0]], &fold);
    text_printf(out, "%s is folded to %" PRId64, dim_name(realize->realize.func, sliding->dims[0]), fold);
    if (sliding->window[0])
        text_printf(out, ": %" PRId64 " are needed at a time%s", sliding->window[0],
                    sliding->window[0] < fold ? ", rounded up to a power of two" : "");
}

static void print_storage(NestLevel *n, const Stmt *s)
{
    const Func    *f       = s->realize.func;
    const Sliding *sliding = s->realize.sliding;
    Text          *out     = n->s->out;
    const Expr    *extent[KN_MAX_RANK];
    bool           at_most = false;
    for (int d = 0; d < f->rank; d++)
        extent[d] = explain_extent(n->s, s->realize.extent[d], &at_most);
    line(n);
    text_printf(out, "store %s: ", f->name);
    for (int d = 0; d < f->rank; d++) {
        text_add(out, d ? " x " : at_most ? "at most " : "");
        print_factor(out, extent[d]);
    }
    for (int c = 0; c < f->component_count; c++)
        text_printf(out, "%s%s", c ? ", " : f->rank ? " of " : "", kn_type_name(f->types[c]));
    print_bytes(n, f, extent);
    if (sliding && sliding->folded) {
        text_add(out, "; ");
        print_fold(out, s);
    }
    text_add(out, "\n");
    map_set(&n->s->sliding, f->name, sliding ? s : NULL);
    for (int i = 0; sliding && i < sliding->count; i++)
        map_set(&n->s->missing, f->args[sliding->dims[i]], &sliding->window[i]);
    nest_stmt(n, s->realize.body);
}

static void print_production(NestLevel *n, const Stmt *s)
{
    const Stmt    *storage = map_get(&n->s->sliding, s->produce.func);
    const Sliding *sliding = storage ? storage->realize.sliding : NULL;
    line(n);
    text_printf(n->s->out, "compute %s", s->produce.func);
    if (s->produce.update >= 0)
        text_printf(n->s->out, ".update(%d)", s->produce.update);
    for (int i = 0; sliding && i < sliding->count; i++)
        text_printf(n->s->out, "%s%s", i ? " and " : ", sliding along ",
                    dim_name(storage->realize.func, sliding->dims[i]));
    if (sliding && !sliding->count)
        text_add(n->s->out, ", unless it is held");
    text_add(n->s->out, "\n");
    inside(n, s->produce.body);
}

static void nest_stmt(void *user, const Stmt *s)
{
    NestLevel *n = user;
    if (!s)
        return;
    switch (s->kind) {
    case STMT_LET: take_let(n, s); break;
    case STMT_IF: take_condition(n, s); break;
    case STMT_FOR: print_loop(n, s); break;
    case STMT_REALIZE: print_storage(n, s); break;
    case STMT_PRODUCE: print_production(n, s); break;
    case STMT_STAGE:
        line(n);
        text_printf(n->s->out, "call %s\n", s->stage->symbol);
        break;
    default: stmt_children(s, NULL, nest_stmt, n); break;
    }
}

void nest_print(Text *out, const Program *program)
{
    NestPrinter s = { .out = out, .program = program, .simplifier = simplifier_new(program->exprs, program->arena) };
    map_init(&s.lets, program->arena);
    map_init(&s.sliding, program->arena);
    map_init(&s.missing, program->arena);
    nest_stmt(&(NestLevel){ &s, 0 }, program->body);
}

static void find_folds(void *out, const Stmt *s)
{
    if (!s)
        return;
    if (s->kind == STMT_REALIZE && s->realize.sliding && s->realize.sliding->folded) {
        text_printf(out, "%s: ", s->realize.func->name);
        print_fold(out, s);
        text_add(out, "\n");
    }
    stmt_children(s, NULL, find_folds, out);
}

void nest_print_folds(Text *out, const Program *program)
{
    find_folds(out, program->body);
}
