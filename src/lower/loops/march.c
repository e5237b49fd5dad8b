/* SPDX-License-Identifier: MIT */
/* Marching: the window of a function in the registers of a thread moves along with a loop of that thread.
 *
 * Takes   a function in registers, stored inside the threads of a kernel and computed in a loop inside its store level.
 *         From one iteration to the next its box moves by a constant step along one dimension.
 * Gives   storage of E coordinates along that dimension, and element k is coordinate base + k, where base moves along
 *         with the box. The first iteration computes the whole box, each later one as many coordinates as the step.
 *         At the end of an iteration the elements move down by the step. So no index depends on the loop: once loops
 *         over elements are unrolled, all indices are constants, and the moves cost little.
 * Chains  of windows: in its first iteration a consumer that marches asks for more. There the ends of a box are
 *         choices by the condition that the iteration is the first. Each end is taken apart into its two forms, and E
 *         is large enough for the first.
 * Tails   where the last iteration may need less, as min(last, y + 3) does, the window is that of a whole iteration.
 *         What is computed beyond the box has no meaning: reads there are clamped, and ask no more of producers.
 * Holds   all of it is proved by linear forms; what cannot be proved slides as on a CPU (slide.c), which keeps its
 *         boxes in memory.
 * From    Ragan-Kelley et al. 2013, section 4.3; rotating registers instead of folded storage. */
#include "lower/loops/build.h"

enum { MOST_ROWS = 64 };

/* The loop whose iterations the box moves with. */
typedef struct March {
    Build      *b;
    const Expr *var, *min; /* of the loop */
    size_t      opened;    /* names in scope at the store level */
    bool        first;     /* the form for the first iteration is asked for, else that for later ones */
    bool        found;     /* the variable occurs */
} March;

/* ---- Forms of an end -------------------------------------------------------------------------- */

static bool is_first_test(const March *m, const Expr *e)
{
    return e->op == EX_EQ &&
           ((e->args[0] == m->var && e->args[1] == m->min) || (e->args[1] == m->var && e->args[0] == m->min));
}

static const Expr *decide_first(void *user, const Expr *e)
{
    const March *m = user;
    return is_first_test(m, e) ? expr_int(m->b->lw->exprs, KN_BOOL, m->first) : e;
}

/* The expression at coordinate `at` of the loop, without names of lets inside the store level. */
static const Expr *form_at(March *m, const Expr *e, bool first, const Expr *at)
{
    Lower *lw = m->b->lw;
    m->first  = first;
    for (size_t i = m->b->names.count; i-- > m->opened;)
        if (m->b->names.at[i].value)
            e = expr_substitute(lw->exprs, e, 1, &m->b->names.at[i].name, &m->b->names.at[i].value);
    e = expr_rewrite(lw->exprs, e, decide_first, m);
    return simplify(lw->simplifier, expr_substitute(lw->exprs, e, 1, &m->var->u.name, &at));
}

static void find_loop(const Expr *e, void *user)
{
    March *m = user;
    m->found |= e == m->var;
}

static bool moves(March *m, const Expr *e)
{
    m->found = false;
    expr_visit(m->b->lw->exprs, e, find_loop, m);
    return m->found;
}

/* Of a minimum the operand that moves: the end of a whole iteration. */
static const Expr *whole_node(void *user, const Expr *e)
{
    March *m = user;
    if (e->op != EX_MIN || moves(m, e->args[0]) == moves(m, e->args[1]))
        return e;
    return e->args[moves(m, e->args[1])];
}

/* An upper bound of the end, in terms of the loop's variable, that is reached where a whole iteration is left. */
static const Expr *whole_end(March *m, const Expr *end)
{
    Lower *lw = m->b->lw;
    for (size_t i = m->b->names.count; i-- > m->opened;)
        if (m->b->names.at[i].value)
            end = expr_substitute(lw->exprs, end, 1, &m->b->names.at[i].name, &m->b->names.at[i].value);
    return simplify(lw->simplifier, expr_rewrite(lw->exprs, end, whole_node, m));
}

/* How much the end moves from one later iteration to the next; false: not by a constant. */
static bool end_moves(March *m, const Expr *end, int64_t *step)
{
    const Expr *next = x_add(m->b->lw, m->var, x_int(m->b->lw, 1));
    return expr_difference(form_at(m, end, false, next), form_at(m, end, false, m->var), step);
}

/* The end of the first iteration minus what the form for later ones would be there. */
static bool end_differs(March *m, const Expr *end, int64_t *by)
{
    return expr_difference(form_at(m, end, true, m->min), form_at(m, end, false, m->min), by);
}

static bool is_still(March *m, const Expr *end)
{
    int64_t step, by;
    return end_moves(m, end, &step) && !step && end_differs(m, end, &by) && !by;
}

/* ---- The window ------------------------------------------------------------------------------- */

/* The innermost loop around; NULL: it is none of a thread's own, or the store level is not in its threads. */
static const BoundName *loop_of_thread(const Build *b, size_t opened)
{
    const BoundName *loop   = NULL;
    bool             thread = false;
    for (size_t i = 0; i < b->names.count; i++) {
        const BoundName *n = &b->names.at[i];
        thread |= i < opened && !n->value && loop_table[n->kind].thread;
        loop = i >= opened && !n->value ? n : loop;
    }
    return thread && loop && (loop->kind == LOOP_SERIAL || loop->kind == LOOP_UNROLL) ? loop : NULL;
}

bool march_find(Build *b, const Func *f, const FuncBoxes *boxes, MarchWindow *out)
{
    const PlanFunc  *pf   = plan_func(b->plan, f);
    const Slide     *s    = &b->slides[f->id];
    const BoundName *loop = loop_of_thread(b, s->opened);
    const int        d    = s->dims[0];
    if (!b->lw->gpu || pf->memory != MEMORY_REGISTER || s->count != 1 || boxes->some || !loop || f->update_count)
        return false;
    March   m = { .b = b, .var = x_var(b->lw, loop->name), .min = loop->min, .opened = s->opened };
    int64_t step, max_step, more, none, extent;
    for (int e = 0; e < f->rank; e++)
        if (pf->fold[e] || (e != d && (!is_still(&m, boxes->need.min[e]) || !is_still(&m, boxes->need.max[e]))))
            return false;
    const Expr *min = boxes->need.min[d], *last = whole_end(&m, boxes->need.max[d]);
    if (!end_moves(&m, min, &step) || !end_moves(&m, last, &max_step) || !end_differs(&m, min, &more) ||
        !end_differs(&m, last, &none) ||
        !expr_difference(form_at(&m, last, false, m.var), form_at(&m, min, false, m.var), &extent))
        return false;
    extent++;
    if (step < 1 || max_step != step || none || more > 0 || extent < step || extent - more > MOST_ROWS)
        return false;
    const bool widens = !expr_difference(last, form_at(&m, boxes->need.max[d], false, m.var), &none);
    if (widens && has_loops_of_others(b, f))
        return false;
    *out = (MarchWindow){
        .step = step, .extent = extent - more, .last = last, .widens = widens, .first = x_op(b->lw, EX_EQ, m.var, m.min)
    };
    return true;
}

/* ---- Moving ----------------------------------------------------------------------------------- */

static const char *move_name(Build *b, const Func *f, int d)
{
    return intern(b->lw->cx, arena_printf(b->lw->arena, "%s.move", f->args[d]));
}

const Stmt *march_move(Build *b, const Func *f)
{
    Lower             *lw     = b->lw;
    const Slide       *s      = &b->slides[f->id];
    const MarchWindow *window = &s->march;
    const SymBox       box    = box_widened(b, f, b->boxes[f->id].pure);
    const Expr        *to[KN_MAX_RANK], *from[KN_MAX_RANK];
    if (window->extent == window->step)
        return NULL;
    for (int d = 0; d < f->rank; d++)
        to[d] = from[d] = x_var(lw, move_name(b, f, d));
    const int y         = s->dims[0];
    to[y]               = x_add(lw, window->base, to[y]);
    from[y]             = x_add(lw, to[y], x_int(lw, window->step));
    Stmt *move          = ARENA_NEW(lw->arena, Stmt);
    move->kind          = STMT_PROVIDE;
    move->provide.func  = f;
    move->provide.rank  = f->rank;
    move->provide.count = f->component_count;
    move->provide.args =
        memcpy(ARENA_ARRAY(lw->arena, const Expr *, (size_t)f->rank), to, (size_t)f->rank * sizeof *to);
    move->provide.values = ARENA_ARRAY(lw->arena, const Expr *, (size_t)f->component_count);
    for (int c = 0; c < f->component_count; c++)
        move->provide.values[c] = expr_call(lw->exprs, f, c, f->types[c], f->rank, from);
    const Stmt *all = move;
    for (int d = 0; d < f->rank; d++)
        if (d != y)
            all = stmt_for(lw->arena, move_name(b, f, d), LOOP_SERIAL, box.min[d],
                           simplify(lw->simplifier, box_extent(b, &box, d)), all);
    return stmt_for(lw->arena, move_name(b, f, y), LOOP_SERIAL, x_int(lw, 0), x_int(lw, window->extent - window->step),
                    all);
}
