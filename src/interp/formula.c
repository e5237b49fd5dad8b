/* SPDX-License-Identifier: MIT */
/* Formulas: from an expansion to steps, and running them.
 *
 * Each distinct node of the expansion is a step, operands first. A step's result has a row until its last reader has
 * run; then the row is used again. Constants have rows that are filled once. */
#include "interp/formula.h"
#include "ir/math.h"

enum { LENGTH = 64 }; /* lanes of a row: all rows of a formula together fit the L1 cache */

typedef struct FormulaStep {
    RowKernel *kernel;
    Finish    *finish;
    Row        row;
} FormulaStep;

struct Formula {
    int          operand_count;
    Lane        *operands[2], *result;
    int          step_count;
    FormulaStep *steps;
};

/* ---- Making ----------------------------------------------------------------------------- */

typedef struct Builder {
    Formula    *f;
    Arena      *arena; /* of the rows */
    const Expr *operands[2];
    int        *readers; /* by id: the steps that have yet to read the node */
    Lane      **rows;    /* by id */
    Lane      **unused;  /* a stack */
    int         unused_count;
} Builder;

static void select_lanes(const Row *row)
{
    for (int i = 0; i < row->n; i++)
        row->r[i] = row->a[i].i ? row->b[i] : row->c[i];
}

static Lane *take_row(Builder *b)
{
    return b->unused_count ? b->unused[--b->unused_count] : ARENA_ARRAY(b->arena, Lane, LENGTH);
}

static void count_node(const Expr *e, void *user)
{
    Builder *b = user;
    b->f->step_count += e->count > 0;
    for (uint32_t i = 0; i < e->count; i++)
        b->readers[e->args[i]->id]++;
}

static void add_leaf(Builder *b, const Expr *e)
{
    Lane *row = b->rows[e->id] = ARENA_ARRAY(b->arena, Lane, LENGTH);
    b->readers[e->id]          = -1; /* its row is never free */
    for (int i = 0; i < 2; i++)
        if (e == b->operands[i])
            b->f->operands[i] = row;
    for (int i = 0; i < LENGTH && e->op != EX_VAR; i++)
        row[i] = e->op == EX_FLOAT ? (Lane){ .f = e->u.f } : (Lane){ .i = e->u.i };
}

static void add_node(const Expr *e, void *user)
{
    Builder *b = user;
    if (!e->count) {
        add_leaf(b, e);
        return;
    }
    const uint32_t last = e->count - 1;
    FormulaStep   *step = &b->f->steps[b->f->step_count++];
    Lane          *row = b->rows[e->id] = take_row(b);
    step->kernel = e->op == EX_SELECT ? select_lanes : operator_kernel(e->op, e->args[0]->type, e->type);
    step->finish = e->op == EX_SELECT ? NULL : operator_finish(e->type);
    step->row    = (Row){ .r      = row,
                          .a      = b->rows[e->args[0]->id],
                          .b      = last > 0 ? b->rows[e->args[1]->id] : NULL,
                          .c      = last > 1 ? b->rows[e->args[2]->id] : NULL,
                          .type   = e->type,
                          .from   = e->args[0]->type,
                          .amount = e->args[last]->type };
    for (uint32_t i = 0; i < e->count; i++)
        if (--b->readers[e->args[i]->id] == 0)
            b->unused[b->unused_count++] = b->rows[e->args[i]->id];
}

Formula *formula_new(kn_context *cx, Arena *arena, ExprOp op, kn_type type)
{
    Arena    scratch;
    ExprPool pool;
    scratch_begin(&scratch, cx);
    expr_pool_init(&pool, cx, &scratch);
    Formula *f       = ARENA_NEW(arena, Formula);
    f->operand_count = expr_op_table[op].arity;
    const Expr *left = expr_var(&pool, type, intern(cx, "a")), *right = expr_var(&pool, type, intern(cx, "b"));
    Builder     b = { .f = f, .arena = arena, .operands = { left, right } };
    const Expr *body =
        math_expand(&pool, f->operand_count == 1 ? expr_unary(&pool, op, type, b.operands[0])
                                                 : expr_binary(&pool, op, type, b.operands[0], b.operands[1]));
    b.readers           = ARENA_ARRAY(&scratch, int, pool.count);
    b.rows              = ARENA_ARRAY(&scratch, Lane *, pool.count);
    b.unused            = ARENA_ARRAY(&scratch, Lane *, pool.count);
    b.readers[body->id] = 1;
    expr_visit(&pool, body, count_node, &b);
    f->steps      = ARENA_ARRAY(arena, FormulaStep, (size_t)f->step_count);
    f->step_count = 0;
    expr_visit(&pool, body, add_node, &b);
    f->result = b.rows[body->id];
    scratch_end(&scratch);
    return f;
}

/* ---- Running ---------------------------------------------------------------------------- */

void formula_run(Formula *f, Lane *r, const Lane *a, const Lane *b, int n)
{
    const Lane *from[2] = { a, b };
    for (int at = 0; at < n; at += LENGTH) {
        const int count = n - at < LENGTH ? n - at : LENGTH;
        for (int i = 0; i < f->operand_count; i++)
            memcpy(f->operands[i], from[i] + at, (size_t)count * sizeof *r);
        for (int s = 0; s < f->step_count; s++) {
            FormulaStep *step = &f->steps[s];
            step->row.n       = count;
            step->kernel(&step->row);
            if (step->finish)
                step->finish(step->row.r, count);
        }
        memcpy(r + at, f->result, (size_t)count * sizeof *r);
    }
}
