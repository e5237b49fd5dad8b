/* SPDX-License-Identifier: MIT */
/* The source's statements as stores of lowered code.
 *
 * Takes   an assignment of the source, with C's conversions as nodes, and what isl says of its instance.
 * Gives   a store of the same value. C's division truncates, so it is made of the one of magnitudes. A condition is a
 *         bool; where C has it as an int it is converted.
 * Holds   an element is loaded only where C reads it: what stands behind ?:, && or || is loaded before the statement,
 *         under a branch. A subscript that the model has found to be affine is computed in i64: nothing in it wraps,
 * and what it divides is not negative. */
#include "poly/emit/program.h"
#include "poly/model/affine.h"
#include "poly/model/model.h"
#include "poly/source/source.h"

#include <string.h>

static const Expr *value(ProgramMaker *m, const CExpr *e);
static const Expr *condition(ProgramMaker *m, const CExpr *e);
static const Expr *subscript(ProgramMaker *m, const CExpr *e);

static ExprPool *pool(const ProgramMaker *m)
{
    return m->program->exprs;
}

static const Expr *binary(const ProgramMaker *m, ExprOp op, kn_type type, const Expr *a, const Expr *b)
{
    return expr_binary(pool(m), op, type, a, b);
}

static const Expr *zero_of(const ProgramMaker *m, kn_type type)
{
    return type_is_float(type) ? expr_float(pool(m), type, 0) : expr_int(pool(m), type, 0);
}

static const Expr *select_of(const ProgramMaker *m, const Expr *c, const Expr *yes, const Expr *no)
{
    return expr_ternary(pool(m), EX_SELECT, (kn_type)yes->type, c, yes, no);
}

static const Expr *cast(const ProgramMaker *m, kn_type to, const Expr *e)
{
    if ((kn_type)e->type == to)
        return e;
    if (to == KN_BOOL)
        return binary(m, EX_NE, KN_BOOL, e, zero_of(m, (kn_type)e->type));
    return expr_unary(pool(m), EX_CAST, to, e);
}

/* ---- Memory ---- */

static const TiledAccess *access_of(const ProgramMaker *m, const CExpr *e, size_t *at)
{
    const TiledStatement *s = m->instance->statement;
    for (*at = 0; *at < s->accesses.count; (*at)++)
        if (s->accesses.at[*at].access->expr == e)
            return &s->accesses.at[*at];
    return NULL;
}

/* Has the model found the subscript along dimension d to be affine? Relations of private variables have dimensions
 * before those of the array. */
static bool is_affine(const Access *a, int d)
{
    if (isl_map_is_single_valued(a->relation) == isl_bool_true)
        return true;
    const int dims = (int)isl_map_dim(a->relation, isl_dim_out), at = dims - a->array->rank + d;
    isl_map  *along =
        isl_map_project_out(isl_map_copy(a->relation), isl_dim_out, (unsigned)at + 1, (unsigned)(dims - at - 1));
    along             = isl_map_project_out(along, isl_dim_out, 0, (unsigned)at);
    const bool affine = isl_map_is_single_valued(along) == isl_bool_true;
    isl_map_free(along);
    return affine;
}

static const Expr *place_in(const ProgramMaker *m, const Storage *s, int rank, const Expr *const *at)
{
    const Expr *index = index_number(m, 0);
    for (int d = 0; d < rank; d++)
        index = index_binary(m, EX_ADD, index, index_binary(m, EX_MUL, at[d], s->strides[d]));
    if (s->lanes == 1)
        return index;
    return index_binary(m, EX_ADD, index_binary(m, EX_MUL, index, index_number(m, s->lanes)), m->lane);
}

/* A subscript modulo the fold, if there is one. */
static const Expr *folded(ProgramMaker *m, isl_ast_expr *e, int64_t fold)
{
    if (fold == 1)
        return index_number(m, 0);
    return fold ? index_binary(m, EX_MOD, ast_value(m, e), index_number(m, fold)) : ast_value(m, e);
}

/* Where the element is that the expression names. */
static const Expr *element(ProgramMaker *m, const CExpr *e, const Buffer **buffer)
{
    size_t             k;
    const TiledAccess *a       = access_of(m, e, &k);
    const Scratch     *scratch = a ? a->scratch : NULL;
    const Storage     *s       = storage_of(m, scratch ? NULL : e->symbol, scratch);
    const int          rank    = scratch ? scratch->rank : e->kind == CEXPR_INDEX ? e->count : 0;
    const Expr       **at      = ARENA_ARRAY(m->w->arena, const Expr *, (size_t)rank + 1);
    if (!a || !s) {
        m->w->failed = true;
        return NULL;
    }
    for (int d = 0; d < rank; d++) {
        if (scratch && m->instance->scratch[k][d])
            at[d] = folded(m, m->instance->scratch[k][d], scratch->fold[d]);
        else
            at[d] = is_affine(a->access, d) ? subscript(m, e->args[d]) : cast(m, KN_I64, value(m, e->args[d]));
    }
    *buffer = s->buffer;
    return place_in(m, s, rank, at);
}

static bool is_sure(const ProgramMaker *m, const Expr *load)
{
    for (size_t i = 0; i < m->sure.count; i++)
        if (m->sure.at[i] == load)
            return true;
    return false;
}

/* `if (guard) temporary = load`, before the statement; the temporary is what it reads. */
static const Expr *guarded(ProgramMaker *m, const Expr *load)
{
    const Buffer *b  = new_scratch(m, "guarded", (kn_type)load->type, true);
    const Expr   *at = m->lane ? m->lane : index_number(m, 0);
    Arena        *a  = m->program->arena;
    vec_push(m->w->arena, &m->temporary, b);
    vec_push(m->w->arena, &m->before, stmt_if(a, m->guard, stmt_store(a, b, at, load), NULL));
    return expr_load(pool(m), b, (kn_type)load->type, at);
}

static const Expr *load(ProgramMaker *m, const CExpr *e)
{
    const Buffer *buffer;
    const Expr   *at = element(m, e, &buffer);
    if (!at)
        return zero_of(m, e->type);
    const Expr *it = expr_load(pool(m), buffer, e->type, at);
    if (!m->guard)
        vec_push(m->w->arena, &m->sure, it);
    return !m->guard || is_sure(m, it) ? it : guarded(m, it);
}

/* ---- Names ---- */

static bool is_iterator(ProgramMaker *m, const CExpr *e, const Expr **out)
{
    const Statement *s = m->instance->statement->source;
    for (int k = 0; e->symbol->kind == CSYMBOL_ITERATOR && k < s->depth; k++)
        if (s->iterators[k] == e->symbol) {
            *out = ast_value(m, m->instance->iterators[k]);
            return true;
        }
    return false;
}

static const Expr *parameter(const ProgramMaker *m, const CSymbol *s)
{
    for (size_t i = 0; i < m->program->params.count; i++)
        if (!strcmp(m->program->params.at[i]->name, s->name))
            return expr_param(pool(m), s->type, m->program->params.at[i]);
    return NULL;
}

static const Expr *name(ProgramMaker *m, const CExpr *e)
{
    const Expr *it;
    if (is_iterator(m, e, &it))
        return cast(m, e->symbol->type, it);
    it = storage_of(m, e->symbol, NULL) ? NULL : parameter(m, e->symbol);
    return it ? it : load(m, e);
}

/* ---- Values, with C's types ---- */

/* |x| as an unsigned number. */
static const Expr *magnitude(const ProgramMaker *m, const Expr *x)
{
    const kn_type type = (kn_type)x->type;
    int64_t       v;
    if (expr_is_int(x, &v) && v >= 0)
        return expr_int(pool(m), type_table[type].as_unsigned, v);
    return cast(m, type_table[type].as_unsigned, expr_unary(pool(m), EX_ABS, type, x));
}

static const Expr *is_negative(const ProgramMaker *m, const Expr *x)
{
    return binary(m, EX_LT, KN_BOOL, x, zero_of(m, (kn_type)x->type));
}

/* Signed division truncates: the quotient of the magnitudes, negative if the signs differ; the remainder has the sign
 * of the dividend. */
static const Expr *truncated(const ProgramMaker *m, ExprOp op, kn_type type, const Expr *a, const Expr *b)
{
    const Expr *q     = cast(m, type, binary(m, op, type_table[type].as_unsigned, magnitude(m, a), magnitude(m, b)));
    const Expr *below = is_negative(m, a);
    int64_t     by;
    if (op == EX_DIV && !(expr_is_int(b, &by) && by > 0))
        below = binary(m, EX_NE, KN_BOOL, below, is_negative(m, b));
    return select_of(m, below, expr_unary(pool(m), EX_NEG, type, q), q);
}

static const ExprOp c_ops[] = {
    [COP_NEG] = EX_NEG,         [COP_NOT] = EX_BIT_NOT,   [COP_BIT_NOT] = EX_BIT_NOT, [COP_ADD] = EX_ADD,
    [COP_SUB] = EX_SUB,         [COP_MUL] = EX_MUL,       [COP_DIV] = EX_DIV,         [COP_REM] = EX_MOD,
    [COP_SHL] = EX_SHL,         [COP_SHR] = EX_SHR,       [COP_LT] = EX_LT,           [COP_LE] = EX_LE,
    [COP_GT] = EX_LT,           [COP_GE] = EX_LE,         [COP_EQ] = EX_EQ,           [COP_NE] = EX_NE,
    [COP_BIT_AND] = EX_BIT_AND, [COP_BIT_OR] = EX_BIT_OR, [COP_BIT_XOR] = EX_BIT_XOR, [COP_AND] = EX_AND,
    [COP_OR] = EX_OR,
};

static bool is_truth(const CExpr *e)
{
    return (e->kind == CEXPR_BINARY && ((e->op >= COP_LT && e->op <= COP_NE) || e->op == COP_AND || e->op == COP_OR)) ||
           (e->kind == CEXPR_UNARY && e->op == COP_NOT);
}

/* Functions of <math.h> and <stdlib.h> that an operator computes to the last bit, without the letter for their type;
 * others are called. */
static const struct {
    const char *name;
    ExprOp      op;
} exact_functions[] = {
    { "sqrt", EX_SQRT },   { "fabs", EX_ABS },        { "floor", EX_FLOOR }, { "ceil", EX_CEIL },
    { "trunc", EX_TRUNC }, { "nearbyint", EX_ROUND }, { "rint", EX_ROUND },  { "fma", EX_FMA },
    { "abs", EX_ABS },     { "labs", EX_ABS },        { "llabs", EX_ABS },
};

static bool is_exact(const CSymbol *f, ExprOp *op)
{
    for (size_t i = 0; i < sizeof exact_functions / sizeof *exact_functions; i++) {
        const size_t n = strlen(exact_functions[i].name);
        *op            = exact_functions[i].op;
        if (!strncmp(f->name, exact_functions[i].name, n) && (!f->name[n] || !strcmp(f->name + n, "f")))
            return true;
    }
    return false;
}

static const Expr *call(ProgramMaker *m, const CExpr *e)
{
    const Expr **args = ARENA_ARRAY(m->w->arena, const Expr *, (size_t)e->count + 1);
    ExprOp       op;
    for (int i = 0; i < e->count; i++)
        args[i] = value(m, e->args[i]);
    if (!is_exact(e->symbol, &op))
        return expr_extern(pool(m), intern(m->program->cx, e->symbol->name), e->type, e->count, args);
    return op == EX_FMA ? expr_ternary(pool(m), op, e->type, args[0], args[1], args[2])
                        : expr_unary(pool(m), op, e->type, args[0]);
}

static const Expr *operation(ProgramMaker *m, const CExpr *e)
{
    const Expr *a = value(m, e->args[0]), *b = value(m, e->args[1]);
    const bool  divides = (e->op == COP_DIV || e->op == COP_REM) && type_is_int(e->type);
    if (divides && type_is_signed(e->type))
        return truncated(m, c_ops[e->op], e->type, a, b);
    return binary(m, c_ops[e->op], e->type, a, b);
}

/* What is translated by `make` is evaluated only where `where` holds, besides what is known. */
static const Expr *evaluated_where(ProgramMaker *m, const Expr                                     *where,
                                   const Expr *(*make)(ProgramMaker *, const CExpr *), const CExpr *e)
{
    const Expr *outer = m->guard;
    m->guard          = outer ? binary(m, EX_AND, KN_BOOL, outer, where) : where;
    const Expr *it    = make(m, e);
    m->guard          = outer;
    return it;
}

static const Expr *opposite(const ProgramMaker *m, const Expr *c)
{
    return expr_unary(pool(m), EX_BIT_NOT, KN_BOOL, c);
}

static const Expr *chosen(ProgramMaker *m, const CExpr *e, const Expr *(*make)(ProgramMaker *, const CExpr *))
{
    const Expr *c   = condition(m, e->args[0]);
    const Expr *yes = evaluated_where(m, c, make, e->args[1]);
    return select_of(m, c, yes, evaluated_where(m, opposite(m, c), make, e->args[2]));
}

static const Expr *value(ProgramMaker *m, const CExpr *e)
{
    if (is_truth(e))
        return cast(m, e->type, condition(m, e));
    switch (e->kind) {
    case CEXPR_INT: return expr_int(pool(m), e->type, e->u.i);
    case CEXPR_FLOAT: return expr_float(pool(m), e->type, e->u.f);
    case CEXPR_NAME: return name(m, e);
    case CEXPR_INDEX: return load(m, e);
    case CEXPR_CALL: return call(m, e);
    case CEXPR_CAST: return cast(m, e->type, value(m, e->args[0]));
    case CEXPR_UNARY: return expr_unary(pool(m), c_ops[e->op], e->type, value(m, e->args[0]));
    case CEXPR_CHOICE: return chosen(m, e, value);
    default: return operation(m, e);
    }
}

static const Expr *compared(ProgramMaker *m, const CExpr *e, const Expr *(*make)(ProgramMaker *, const CExpr *))
{
    const Expr *a = make(m, e->args[0]), *b = make(m, e->args[1]);
    const bool  turned = e->op == COP_GT || e->op == COP_GE;
    return binary(m, c_ops[e->op], KN_BOOL, turned ? b : a, turned ? a : b);
}

static const Expr *condition(ProgramMaker *m, const CExpr *e)
{
    if (!is_truth(e))
        return cast(m, KN_BOOL, value(m, e));
    if (e->kind == CEXPR_UNARY)
        return opposite(m, condition(m, e->args[0]));
    if (e->op >= COP_LT && e->op <= COP_NE)
        return compared(m, e, value);
    const Expr *a = condition(m, e->args[0]);
    const Expr *b = evaluated_where(m, e->op == COP_AND ? a : opposite(m, a), condition, e->args[1]);
    return binary(m, c_ops[e->op], KN_BOOL, a, b);
}

/* ---- Affine subscripts: i64, nothing wraps, dividends are not negative ---- */

static const Expr *affine_truth(ProgramMaker *m, const CExpr *e)
{
    if (e->kind == CEXPR_UNARY && e->op == COP_NOT)
        return opposite(m, affine_truth(m, e->args[0]));
    if (e->kind == CEXPR_BINARY && (e->op == COP_AND || e->op == COP_OR))
        return binary(m, c_ops[e->op], KN_BOOL, affine_truth(m, e->args[0]), affine_truth(m, e->args[1]));
    if (is_truth(e))
        return compared(m, e, subscript);
    return cast(m, KN_BOOL, subscript(m, e));
}

/* A shift or a mask of low bits is a division or a remainder. */
static const Expr *affine_binary(ProgramMaker *m, const CExpr *e)
{
    const Expr *a = subscript(m, e->args[0]), *b = subscript(m, e->args[1]);
    int64_t     by;
    if ((e->op == COP_SHL || e->op == COP_SHR) && expr_is_int(b, &by))
        return index_binary(m, e->op == COP_SHL ? EX_MUL : EX_DIV, a, index_number(m, (int64_t)1 << by));
    if (e->op == COP_BIT_AND && expr_is_int(b, &by))
        return index_binary(m, EX_MOD, a, index_number(m, by + 1));
    return index_binary(m, c_ops[e->op], a, b);
}

static const Expr *subscript(ProgramMaker *m, const CExpr *e)
{
    const Expr *it;
    if (is_truth(e) || e->type == KN_BOOL)
        return cast(m, KN_I64, e->kind == CEXPR_NAME ? value(m, e) : affine_truth(m, is_truth(e) ? e : e->args[0]));
    switch (e->kind) {
    case CEXPR_INT: return index_number(m, e->u.i);
    case CEXPR_NAME: return is_iterator(m, e, &it) ? it : named_value(m, e->symbol->name);
    case CEXPR_CAST: return subscript(m, e->args[0]);
    case CEXPR_UNARY: return index_binary(m, EX_SUB, index_number(m, 0), subscript(m, e->args[0]));
    case CEXPR_BINARY: return affine_binary(m, e);
    case CEXPR_CHOICE:
        return select_of(m, affine_truth(m, e->args[0]), subscript(m, e->args[1]), subscript(m, e->args[2]));
    default: m->w->failed = true; return index_number(m, 0);
    }
}

/* ---- Statements ---- */

/* An element of scratch is assigned that of the array at the same coordinates, or the other way round. */
static const Stmt *copy(ProgramMaker *m, const Instance *n)
{
    const Scratch *scratch = n->statement->copied;
    const Storage *own = storage_of(m, NULL, scratch), *array = storage_of(m, scratch->array, NULL);
    const Expr   **at[2];
    for (int k = 0; k < 2; k++) {
        at[k] = ARENA_ARRAY(m->w->arena, const Expr *, (size_t)scratch->rank + 1);
        for (int d = 0; d < scratch->rank; d++)
            at[k][d] = ast_value(m, k ? n->iterators[d] : n->scratch[0][d]);
    }
    if (!own || !array) {
        m->w->failed = true;
        return NULL;
    }
    const Expr    *inside = place_in(m, own, scratch->rank, at[0]), *outside = place_in(m, array, scratch->rank, at[1]);
    const bool     out  = n->statement->copy_out;
    const Storage *from = out ? own : array, *to = out ? array : own;
    return stmt_store(m->program->arena, to->buffer, out ? outside : inside,
                      expr_load(pool(m), from->buffer, from->buffer->type, out ? inside : outside));
}

const Stmt *assignment(ProgramMaker *m, const Instance *n)
{
    if (!n->statement->source)
        return copy(m, n);
    const CStmt  *assign = n->statement->source->assign;
    const Buffer *buffer;
    m->instance        = n;
    m->guard           = NULL;
    m->sure.count      = 0;
    m->before.count    = 0;
    const Expr *stored = value(m, assign->value);
    const Expr *to     = element(m, assign->target, &buffer);
    if (!to)
        return NULL;
    vec_push(m->w->arena, &m->before, stmt_store(m->program->arena, buffer, to, stored));
    return stmt_block(m->program->arena, (int)m->before.count, m->before.at);
}

/* ---- What is refused ---- */

static bool calls_suit(const Region *r, const CExpr *e)
{
    bool suits = true;
    if (e->kind == CEXPR_CALL && !e->symbol->standard) {
        diag_error(r->arena->cx, region_loc(r, e->place),
                   "--target openmp does it; or write what it computes in place of the call",
                   "`%s` is no function of the C library, so Kiln's code cannot call it", e->symbol->name);
        return false;
    }
    for (int i = 0; suits && i < e->count; i++)
        suits = calls_suit(r, e->args[i]);
    return suits;
}

bool program_suits(const Scop *scop)
{
    bool suits = true;
    for (size_t i = 0; suits && i < scop->statements.count; i++)
        suits = calls_suit(scop->region, scop->statements.at[i].assign->value);
    return suits;
}
