/* SPDX-License-Identifier: MIT */
/* Extern stages: C functions that fill a box, after they have said which boxes of their arguments they need for it.
 *
 * Takes   a stage and the box of it that is needed at a level.
 * Gives   at every level code that asks the stage and keeps the answer in a small buffer: min and max for each
 *         dimension of each argument. The regions of the arguments follow. At the compute level, the call that fills
 *         the storage.
 * Holds   min > max where a stage needs nothing of an argument. What it asks for a part of its box must lie in what it
 *         asked for the whole. That is checked where the argument is stored further out. Stages and their arguments
 *         are never folded. */
#include "lower/loops/build.h"

/* The call without the addresses of storage, which flattening adds. */
static StageCall *make_call(Build *b, const Func *f, const SymBox *box)
{
    Lower     *lw    = b->lw;
    StageCall *call  = ARENA_NEW(lw->arena, StageCall);
    call->name       = f->name;
    call->symbol     = f->symbol;
    call->output     = (StageOperand){ .func = f, .type = f->types[0], .rank = f->rank };
    call->box_min    = ARENA_ARRAY(lw->arena, const Expr *, (size_t)f->rank);
    call->box_extent = ARENA_ARRAY(lw->arena, const Expr *, (size_t)f->rank);
    for (int d = 0; d < f->rank; d++) {
        call->box_min[d]    = box->min[d];
        call->box_extent[d] = box_extent(b, box, d);
    }
    call->count    = f->stage_arg_count;
    call->operands = ARENA_ARRAY(lw->arena, StageOperand, (size_t)call->count);
    for (int i = 0; i < call->count; i++) {
        const StageArg *a = &f->stage_args[i];
        call->operands[i] = (StageOperand){ .func  = a->func,
                                            .value = a->value,
                                            .type  = a->func ? a->func->types[0] : KN_NONE,
                                            .rank  = a->func ? a->func->rank : 0 };
    }
    return call;
}

static const Stmt *call_stmt(Build *b, StageCall *call)
{
    Stmt *s  = ARENA_NEW(b->lw->arena, Stmt);
    s->kind  = STMT_STAGE;
    s->stage = call;
    return s;
}

const Stmt *extern_stage_call(Build *b, const Func *f)
{
    return stmt_produce(b->lw->arena, f->name, -1, call_stmt(b, make_call(b, f, &b->boxes[f->id].pure)));
}

/* What the stage asks for a part of its box must be stored. */
static void check_stored(Build *b, const Func *f, const Func *arg, const SymSpan *need, Prelude *w)
{
    Lower       *lw   = b->lw;
    const SymBox box  = storage_box(b, arg);
    const Expr  *some = NULL, *inside = NULL;
    for (int d = 0; d < arg->rank; d++) {
        some   = x_and(lw, some, x_le(lw, need[d].min, need[d].max));
        inside = x_and(lw, inside, x_and(lw, x_le(lw, box.min[d], need[d].min), x_le(lw, need[d].max, box.max[d])));
    }
    if (!inside)
        return;
    const char *message =
        arena_printf(lw->arena,
                     "the extern stage `%s` needs more of `%s` for a part of its box than it said for the whole; "
                     "compute it at root",
                     f->symbol, arg->name);
    prelude_before(b, w,
                   build_check(b, KN_ERROR_BOUNDS,
                               x_op(lw, EX_OR, expr_unary(lw->exprs, EX_BIT_NOT, KN_BOOL, some), inside), message));
}

void extern_stage_needs(Build *b, const Func *f, const SymBox *box, const Expr *read_if, PlanLevel level, Prelude *w,
                        SymSpan (*need)[KN_MAX_RANK])
{
    Lower      *lw    = b->lw;
    const char *place = level_name(level);
    StageCall  *call  = make_call(b, f, box);
    int         count = 0, at = 0;
    for (int i = 0; i < call->count; i++)
        count += 2 * call->operands[i].rank;
    call->table = build_scratch(b, arena_printf(lw->arena, "%s.query@%s", f->name, place), KN_I32);
    prelude_alloc(b, w, call->table, expr_int(lw->exprs, KN_I64, count ? count : 1));
    for (int i = 0; i < count; i++)
        prelude_before(
            b, w, build_store(b, call->table, x_int(lw, i), x_int(lw, i % 2 ? -MOST_COORDINATE : MOST_COORDINATE)));
    const Stmt *ask = call_stmt(b, call);
    prelude_before(b, w, read_if ? stmt_if(lw->arena, read_if, ask, NULL) : ask);
    for (int i = 0; i < call->count; i++) {
        const Func *arg        = f->stage_args[i].func;
        call->operands[i].func = NULL;
        for (int d = 0; arg && d < arg->rank; d++) {
            const char *name = arena_printf(lw->arena, "%s.%d.%d", f->name, i, d);
            need[i][d].min   = prelude_let(b, w, arena_printf(lw->arena, "%s.min@%s", name, place),
                                           build_load(b, call->table, x_int(lw, at++)));
            need[i][d].max   = prelude_let(b, w, arena_printf(lw->arena, "%s.max@%s", name, place),
                                           build_load(b, call->table, x_int(lw, at++)));
        }
        if (arg && level.def &&
            (arg->kind == FUNC_INPUT || !level_encloses(b->plan, level, plan_func(b->plan, arg)->store)))
            check_stored(b, f, arg, need[i], w);
    }
}

void extern_stages_not_folded(Build *b)
{
    for (int i = 0; i < b->plan->func_count; i++) {
        const Func *f = b->plan->funcs[i].func;
        for (int k = 0; f->kind == FUNC_STAGE && k < f->stage_arg_count; k++)
            for (int d = 0; f->stage_args[k].func && d < KN_MAX_RANK; d++)
                b->fold[f->stage_args[k].func->id][d] = -1;
    }
}
