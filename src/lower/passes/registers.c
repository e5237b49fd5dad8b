/* SPDX-License-Identifier: MIT */
/* Registers: scratch of a block that is kept in the registers of its threads.
 *
 * Takes   kernels, in which some scratch of a block is to be in registers.
 * Gives   the same with an array for each thread in its place. An index is a sum of the thread's numbers along the
 * axes, each times a constant, and of a constant, its *rest*: the rests that occur are numbered, and the number is the
 * index of the thread's own array. Of arrays that were a thread's own before, indices that are constants become so:
 * LLVM keeps such an array in registers. Holds   every access of a thread is to elements that no other thread touches:
 * the sums of all threads and all rests are different. What is not so is refused, with the place and the reason. */
#include "ir/kernel.h"
#include "lower/passes/pass_tools.h"

enum { MOST_RESTS = 256, MOST_LETS = 1024 };

/* Which element of a thread an index is: thread * factors + rest. */
typedef struct OwnIndex {
    int64_t factors[GPU_AXES], rest;
} OwnIndex;

typedef struct RegisterPass {
    Lower        *lw;
    Simplifier   *known;
    const Buffer *buffer; /* that is looked at; NULL: none yet */
    const char   *why;    /* it cannot be in registers; NULL: it can */
    bool          any;    /* an access was found */
    OwnIndex      first;
    int64_t       rests[MOST_RESTS];
    int           rest_count;
    const Stmt   *kernel;
    int64_t       extents[GPU_AXES]; /* of the thread nest around, x first; 0: none */
    int64_t       most[GPU_AXES];    /* over all nests with an access */
    const char   *axes[GPU_AXES];    /* its variables */
    const char   *names[MOST_LETS];
    const Expr   *values[MOST_LETS]; /* without names of lets */
    int           let_count;
} RegisterPass;

/* ---- Indices ---------------------------------------------------------------------------------- */

/* The axis whose thread number the atom is; -1: another atom. */
static int axis_of(const RegisterPass *p, const Expr *atom)
{
    while (atom->op == EX_CAST)
        atom = atom->args[0];
    for (int i = 0; atom->op == EX_VAR && i < GPU_AXES; i++)
        if (p->axes[i] == atom->u.name)
            return i;
    return -1;
}

static bool own_index(RegisterPass *p, const Expr *index, OwnIndex *out)
{
    ExprPool   *pool = p->lw->exprs;
    Linear      form;
    const Expr *open = simplify(p->known, expr_substitute(pool, index, p->let_count, p->names, p->values));
    *out             = (OwnIndex){ 0 };
    if (!expr_linear(p->lw->arena, open, &form))
        return false;
    for (int i = 0; i < form.count; i++) {
        const int axis = axis_of(p, form.atoms[i]);
        if (axis < 0)
            return false;
        out->factors[axis] = form.coefficients[i];
    }
    out->rest = form.constant;
    return true;
}

static int rest_number(const RegisterPass *p, int64_t rest)
{
    int i = 0;
    while (i < p->rest_count && p->rests[i] != rest)
        i++;
    return i;
}

static void note_access(RegisterPass *p, const Expr *index)
{
    OwnIndex own;
    if (p->why)
        return;
    for (int i = 0; i < GPU_AXES; i++)
        if (!p->extents[i])
            p->why = "a thread of one of its loops has several iterations";
    if (!p->axes[0]) {
        p->why = "it is used outside of thread loops";
        return;
    }
    if (!own_index(p, index, &own)) {
        p->why = "an index is not a constant for each thread: unroll the loops inside the threads";
        return;
    }
    for (int i = 0; i < GPU_AXES; i++) {
        if (p->any && own.factors[i] != p->first.factors[i])
            p->why = "different loops give its elements to different threads";
        p->most[i] = p->extents[i] > p->most[i] ? p->extents[i] : p->most[i];
    }
    p->first         = p->any ? p->first : own;
    p->any           = true;
    const int number = rest_number(p, own.rest);
    if (number == MOST_RESTS)
        p->why = "a thread would have more than 256 elements";
    else if (number == p->rest_count)
        p->rests[p->rest_count++] = own.rest;
}

/* Are the elements of all threads different? */
static bool are_apart(RegisterPass *p)
{
    Map     seen;
    int64_t t[GPU_AXES];
    map_init(&seen, p->lw->arena);
    for (t[2] = 0; t[2] < p->most[2] || !t[2]; t[2]++)
        for (t[1] = 0; t[1] < p->most[1] || !t[1]; t[1]++)
            for (t[0] = 0; t[0] < p->most[0] || !t[0]; t[0]++)
                for (int i = 0; i < p->rest_count; i++) {
                    int64_t at = p->rests[i];
                    for (int a = 0; a < GPU_AXES; a++)
                        at += t[a] * p->first.factors[a];
                    const Expr *key = expr_int(p->lw->exprs, KN_I64, at);
                    if (map_get(&seen, key))
                        return false;
                    map_set(&seen, key, key);
                }
    return true;
}

/* ---- Scopes -------------------------------------------------------------------------------------- */

/* A let whose value was loaded stays a name: memory may be another when the name is used. */
static void push_let(RegisterPass *p, const Stmt *s)
{
    if (expr_reads_any(p->lw->exprs, s->let.value))
        return;
    if (p->let_count == MOST_LETS) {
        p->why = "its kernel is too large";
        return;
    }
    p->values[p->let_count]  = expr_substitute(p->lw->exprs, s->let.value, p->let_count, p->names, p->values);
    p->names[p->let_count++] = s->let.name;
}

static void enter_nest(RegisterPass *p, const Stmt *s)
{
    const ThreadNest n  = thread_nest(s);
    const int threads[] = { p->kernel->kernel.threads_x, p->kernel->kernel.threads_y, p->kernel->kernel.threads_z };
    for (int i = 0; i < GPU_AXES; i++) {
        p->axes[i]    = n.loops[i] ? n.loops[i]->loop.name : NULL;
        p->extents[i] = 1;
        if (n.loops[i] && (!expr_is_int(n.loops[i]->loop.extent, &p->extents[i]) || p->extents[i] > threads[i]))
            p->extents[i] = 0;
    }
}

static void leave_nest(RegisterPass *p)
{
    for (int i = 0; i < GPU_AXES; i++)
        p->axes[i] = NULL;
}

/* What is known of the variable of a loop, in its body. */
static void push_range(RegisterPass *p, const Stmt *s)
{
    if (s->kind == STMT_FOR)
        simplifier_push_range(p->known, s->loop.name, s->loop.min, loop_last(p->lw, s));
}

static void pop_range(RegisterPass *p, const Stmt *s)
{
    if (s->kind == STMT_FOR)
        simplifier_pop(p->known);
}

static bool is_thread_loop(const Stmt *s)
{
    return s->kind == STMT_FOR && loop_table[s->loop.kind].thread;
}

/* ---- Looking ------------------------------------------------------------------------------------- */

static void find_loads(const Expr *e, void *user)
{
    RegisterPass *p = user;
    if (e->op == EX_LOAD && e->u.buffer == p->buffer)
        note_access(p, e->args[0]);
}

static void look_expr(void *user, const Expr *e)
{
    RegisterPass *p = user;
    expr_visit(p->lw->exprs, e, find_loads, p);
}

static void look(void *user, const Stmt *s)
{
    RegisterPass *p    = user;
    const int     lets = p->let_count;
    const bool    nest = is_thread_loop(s) && !p->axes[0];
    if (nest)
        enter_nest(p, s);
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        if (s->store.places[i].buffer == p->buffer)
            note_access(p, s->store.places[i].index);
    stmt_children(s, look_expr, NULL, p);
    if (s->kind == STMT_LET)
        push_let(p, s);
    push_range(p, s);
    stmt_children(s, NULL, look, p);
    pop_range(p, s);
    p->let_count = lets;
    if (nest)
        leave_nest(p);
}

/* ---- Rewriting ------------------------------------------------------------------------------------ */

static const Expr *own_number(RegisterPass *p, const Expr *index)
{
    OwnIndex own;
    own_index(p, index, &own);
    return expr_int(p->lw->exprs, KN_I64, rest_number(p, own.rest));
}

static const Expr *rewrite_load(void *user, const Expr *e)
{
    RegisterPass *p = user;
    if (e->op != EX_LOAD || e->u.buffer != p->buffer)
        return e;
    return expr_load(p->lw->exprs, e->u.buffer, (kn_type)e->type, own_number(p, e->args[0]));
}

static const Expr *rewrite_expr(void *user, const Expr *e)
{
    RegisterPass *p = user;
    return expr_rewrite(p->lw->exprs, e, rewrite_load, p);
}

static const Stmt *rewrite_store(RegisterPass *p, const Stmt *s)
{
    Stmt *st         = ARENA_NEW(p->lw->arena, Stmt);
    *st              = *s;
    st->store.places = ARENA_ARRAY(p->lw->arena, Place, (size_t)s->store.count);
    for (int i = 0; i < s->store.count; i++) {
        const Place *place  = &s->store.places[i];
        st->store.places[i] = (Place){ place->buffer, rewrite_expr(p, place->index), rewrite_expr(p, place->value) };
        if (place->buffer == p->buffer)
            st->store.places[i].index = own_number(p, place->index);
    }
    return st;
}

static const Stmt *rewrite(void *user, const Stmt *s)
{
    RegisterPass *p    = user;
    const int     lets = p->let_count;
    const StmtMap m    = { p->lw->arena, rewrite, rewrite_expr, p };
    const Stmt   *was  = s;
    const bool    nest = is_thread_loop(s) && !p->axes[0];
    if (s->kind == STMT_STORE)
        return rewrite_store(p, s);
    if (nest)
        enter_nest(p, s);
    if (s->kind == STMT_LET)
        push_let(p, s);
    push_range(p, was);
    s = stmt_map(&m, s);
    pop_range(p, was);
    p->let_count = lets;
    if (nest)
        leave_nest(p);
    return s;
}

/* ---- Kernels -------------------------------------------------------------------------------------- */

static void refuse(const RegisterPass *p)
{
    Loc loc = { 0 };
    for (int i = 0; p->buffer->func && i < p->lw->plan->func_count; i++)
        if (!strcmp(p->lw->plan->funcs[i].func->name, p->buffer->func))
            loc = p->lw->plan->funcs[i].func->loc;
    diag_error(p->lw->cx, loc, "store_in(shared)", "`%s` cannot be kept in the registers of threads: %s",
               p->buffer->name, p->why);
}

/* Scratch of a block that is to be in registers. The lets around it are on the stack. */
static const Stmt *keep_in_registers(RegisterPass *p, const Stmt *s)
{
    p->buffer     = s->alloc.buffer;
    p->why        = NULL;
    p->any        = false;
    p->rest_count = 0;
    for (int i = 0; i < GPU_AXES; i++)
        p->most[i] = 1;
    look(p, s->alloc.body);
    if (!p->why && p->any && !are_apart(p))
        p->why = "two threads touch one element";
    if (p->why) {
        refuse(p);
        return NULL;
    }
    Stmt *alloc        = ARENA_NEW(p->lw->arena, Stmt);
    *alloc             = *s;
    alloc->alloc.count = expr_int(p->lw->exprs, KN_I64, p->rest_count > 0 ? p->rest_count : 1);
    alloc->alloc.body  = rewrite(p, s->alloc.body);
    p->buffer          = NULL;
    return alloc;
}

/* ---- Arrays of a thread --------------------------------------------------------------------------- */

/* The index without names of lets, if that makes it shorter: a constant of an array of a thread, the place of a thread
 * in an array of the block. */
static const Expr *short_index(RegisterPass *p, const Buffer *b, const Expr *index)
{
    Linear was, form;
    if (b->kind != BUFFER_SCRATCH || b->memory == MEMORY_GLOBAL || !expr_linear(p->lw->arena, index, &was) ||
        !was.count)
        return index;
    const Expr *open = expr_substitute(p->lw->exprs, index, p->let_count, p->names, p->values);
    open             = simplify(p->known, open);
    return expr_linear(p->lw->arena, open, &form) && form.count < was.count ? open : index;
}

static const Expr *short_load(void *user, const Expr *e)
{
    RegisterPass *p = user;
    if (e->op != EX_LOAD)
        return e;
    const Expr *index = short_index(p, e->u.buffer, e->args[0]);
    return index == e->args[0] ? e : expr_load(p->lw->exprs, e->u.buffer, (kn_type)e->type, index);
}

static const Expr *short_loads(void *user, const Expr *e)
{
    RegisterPass *p = user;
    return expr_rewrite(p->lw->exprs, e, short_load, p);
}

/* A statement of a thread. */
static const Stmt *own_arrays(void *user, const Stmt *s)
{
    RegisterPass *p    = user;
    const int     lets = p->let_count;
    const StmtMap m    = { p->lw->arena, own_arrays, short_loads, p };
    const Stmt   *was  = s;
    if (s->kind == STMT_LET)
        push_let(p, s);
    push_range(p, was);
    s = stmt_map(&m, s);
    pop_range(p, was);
    if (s->kind == STMT_STORE) {
        Stmt *st         = ARENA_NEW(p->lw->arena, Stmt);
        *st              = *s;
        st->store.places = ARENA_ARRAY(p->lw->arena, Place, (size_t)s->store.count);
        for (int i = 0; i < s->store.count; i++) {
            st->store.places[i]       = s->store.places[i];
            st->store.places[i].index = short_index(p, s->store.places[i].buffer, s->store.places[i].index);
        }
        s = st;
    }
    p->let_count = lets;
    return s;
}

/* ---- Blocks --------------------------------------------------------------------------------------- */

/* A statement of a block. */
static const Stmt *visit(void *user, const Stmt *s)
{
    RegisterPass *p    = user;
    const int     lets = p->let_count;
    const StmtMap m    = { p->lw->arena, visit, NULL, p };
    if (is_thread_loop(s))
        return own_arrays(p, s);
    if (s->kind == STMT_ALLOC && s->alloc.buffer->memory == MEMORY_REGISTER && !(s = keep_in_registers(p, s)))
        return NULL;
    if (s->kind == STMT_LET)
        push_let(p, s);
    const Stmt *was = s;
    push_range(p, was);
    s = stmt_map(&m, s);
    pop_range(p, was);
    p->let_count = lets;
    return s;
}

static const Stmt *find_kernels(void *user, const Stmt *s)
{
    RegisterPass *p      = user;
    const bool    kernel = s->kind == STMT_KERNEL;
    const StmtMap m      = { p->lw->arena, kernel ? visit : find_kernels, NULL, p };
    p->kernel            = kernel ? s : p->kernel;
    p->let_count         = 0;
    return stmt_map(&m, s);
}

const Stmt *lower_registers(Lower *lw, const Stmt *s)
{
    RegisterPass *p = ARENA_NEW(lw->arena, RegisterPass);
    p->lw           = lw;
    p->known        = lw->simplifier;
    return s ? find_kernels(p, s) : NULL;
}
