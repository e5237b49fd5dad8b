/* SPDX-License-Identifier: MIT */
/* isl's expressions as expressions of lowered code.
 *
 * Holds   what isl divides has a positive divisor; where it says nothing of rounding, the dividend is not negative or a
 *         multiple. So Euclidean division is each of isl's divisions. Everything is i64, as in the text for C. */
#include "ir/fold.h"
#include "poly/emit/program.h"

#include <isl/val.h>
#include <string.h>

/* ---- Operators ---- */

const Expr *index_number(const ProgramMaker *m, int64_t v)
{
    return expr_int(m->program->exprs, KN_I64, v);
}

/* a + 0, a * 1 and the like are a. */
static const Expr *without_effect(ExprOp op, const Expr *a, const Expr *b)
{
    int64_t v;
    if (expr_is_int(b, &v) &&
        ((v == 0 && (op == EX_ADD || op == EX_SUB)) || (v == 1 && (op == EX_MUL || op == EX_DIV))))
        return a;
    if (expr_is_int(a, &v) && ((v == 0 && op == EX_ADD) || (v == 1 && op == EX_MUL)))
        return b;
    if (op == EX_MUL && expr_is_int(a, &v) && v == 0)
        return a;
    if (op == EX_MUL && expr_is_int(b, &v) && v == 0)
        return b;
    return NULL;
}

const Expr *index_binary(const ProgramMaker *m, ExprOp op, const Expr *a, const Expr *b)
{
    const Expr *one = without_effect(op, a, b);
    if (one)
        return one;
    const Expr *e = expr_binary(m->program->exprs, op, KN_I64, a, b), *folded = fold_constant(m->program->exprs, e);
    return folded ? folded : e;
}

const Expr *named_value(ProgramMaker *m, const char *name)
{
    for (size_t i = m->names.count; i-- > 0;)
        if (!strcmp(m->names.at[i].name, name))
            return m->names.at[i].value;
    m->w->failed = true;
    return index_number(m, 0);
}

/* ---- isl's operators ---- */

typedef enum AstForm { AST_NONE, AST_INDEX, AST_COMPARE, AST_TURNED, AST_LOGIC } AstForm;

typedef struct AstRow {
    AstForm form;
    ExprOp  op;
} AstRow;

/* TURNED: a comparison with its operands exchanged. */
static const AstRow ast_rows[] = {
    [isl_ast_expr_op_add] = { AST_INDEX, EX_ADD },      [isl_ast_expr_op_sub] = { AST_INDEX, EX_SUB },
    [isl_ast_expr_op_mul] = { AST_INDEX, EX_MUL },      [isl_ast_expr_op_div] = { AST_INDEX, EX_DIV },
    [isl_ast_expr_op_fdiv_q] = { AST_INDEX, EX_DIV },   [isl_ast_expr_op_pdiv_q] = { AST_INDEX, EX_DIV },
    [isl_ast_expr_op_pdiv_r] = { AST_INDEX, EX_MOD },   [isl_ast_expr_op_zdiv_r] = { AST_INDEX, EX_MOD },
    [isl_ast_expr_op_min] = { AST_INDEX, EX_MIN },      [isl_ast_expr_op_max] = { AST_INDEX, EX_MAX },
    [isl_ast_expr_op_lt] = { AST_COMPARE, EX_LT },      [isl_ast_expr_op_le] = { AST_COMPARE, EX_LE },
    [isl_ast_expr_op_gt] = { AST_TURNED, EX_LT },       [isl_ast_expr_op_ge] = { AST_TURNED, EX_LE },
    [isl_ast_expr_op_eq] = { AST_COMPARE, EX_EQ },      [isl_ast_expr_op_and] = { AST_LOGIC, EX_AND },
    [isl_ast_expr_op_and_then] = { AST_LOGIC, EX_AND }, [isl_ast_expr_op_or] = { AST_LOGIC, EX_OR },
    [isl_ast_expr_op_or_else] = { AST_LOGIC, EX_OR },
};

static const Expr *ast_operand(ProgramMaker *m, isl_ast_expr *e, int i)
{
    isl_ast_expr *arg   = isl_ast_expr_op_get_arg(e, i);
    const Expr   *value = ast_value(m, arg);
    isl_ast_expr_free(arg);
    return value;
}

/* A choice, a negation; no other operator is made for these loops. */
static const Expr *ast_special(ProgramMaker *m, isl_ast_expr *e, enum isl_ast_expr_op_type type)
{
    if (type == isl_ast_expr_op_minus)
        return index_binary(m, EX_SUB, index_number(m, 0), ast_operand(m, e, 0));
    if (type == isl_ast_expr_op_cond || type == isl_ast_expr_op_select) {
        const Expr *c = ast_operand(m, e, 0), *yes = ast_operand(m, e, 1), *no = ast_operand(m, e, 2);
        return expr_ternary(m->program->exprs, EX_SELECT, (kn_type)yes->type, c, yes, no);
    }
    m->w->failed = true;
    return index_number(m, 0);
}

static const Expr *ast_operator(ProgramMaker *m, isl_ast_expr *e)
{
    const enum isl_ast_expr_op_type type = isl_ast_expr_op_get_type(e);
    const AstRow row = type >= 0 && (size_t)type < sizeof ast_rows / sizeof *ast_rows ? ast_rows[type] : (AstRow){ 0 };
    if (row.form == AST_NONE)
        return ast_special(m, e, type);
    const Expr *value = ast_operand(m, e, 0);
    for (int i = 1; i < (int)isl_ast_expr_op_get_n_arg(e); i++) {
        const Expr *next = ast_operand(m, e, i);
        if (row.form == AST_INDEX)
            value = index_binary(m, row.op, value, next);
        else
            value = expr_binary(m->program->exprs, row.op, KN_BOOL, row.form == AST_TURNED ? next : value,
                                row.form == AST_TURNED ? value : next);
    }
    return value;
}

const Expr *ast_value(ProgramMaker *m, isl_ast_expr *e)
{
    switch (isl_ast_expr_get_type(e)) {
    case isl_ast_expr_int: {
        isl_val    *v      = isl_ast_expr_int_get_val(e);
        const Expr *number = index_number(m, isl_val_get_num_si(v));
        isl_val_free(v);
        return number;
    }
    case isl_ast_expr_id: {
        isl_id     *id    = isl_ast_expr_id_get_id(e);
        const Expr *value = named_value(m, isl_id_get_name(id));
        isl_id_free(id);
        return value;
    }
    case isl_ast_expr_op: return ast_operator(m, e);
    default: m->w->failed = true; return index_number(m, 0);
    }
}
