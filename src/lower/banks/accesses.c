/* SPDX-License-Identifier: MIT */
/* The accesses of shared memory in kernels.
 *
 * Takes   kernels after all passes that change indices.
 * Gives   for each access of a buffer in shared memory its index as a linear form, between which numbers the atoms of
 *         that lie, and the elements that the lanes of some warps access at once, by evaluating it for each thread.
 *         Those of unrolled copies, which differ by constants, are one.
 * Holds   variables that are not of threads move all lanes alike: they are evaluated as 0. An index that depends on
 *         memory has no elements. Of the versions of a block the first counts, which most blocks take (interior.c). */
#include "lower/banks/banks.h"

#include <string.h>

enum {
    SOME_STEPS = 8,  /* of a loop without a constant extent */
    MOST_NODES = 200 /* of an index that is evaluated */
};

/* ---- Values ------------------------------------------------------------------------------------- */

static const BankName *find_name(const BankPass *p, const char *name)
{
    for (size_t i = p->known.count; i-- > 0;)
        if (p->known.at[i].name == name)
            return &p->known.at[i];
    return NULL;
}

static bool evaluate(BankPass *p, const Expr *e, int64_t *v);

/* Other loops are at their beginning; what is not known is 0: it moves all lanes alike. */
static bool evaluate_name(BankPass *p, const char *name, int64_t *v)
{
    const BankName *k = find_name(p, name);
    *v                = 0;
    if (!k)
        return true;
    if (!k->loop)
        return evaluate(p, k->value, v);
    if (k->axis >= 0)
        *v = p->thread[k->axis];
    else if (!expr_is_int(k->loop->loop.min, v))
        *v = 0;
    return true;
}

/* The value for p->thread; false: it depends on memory. */
static bool evaluate(BankPass *p, const Expr *e, int64_t *v)
{
    int64_t a = 0, b = 0;
    if (--p->nodes < 0)
        return false;
    if (expr_is_int(e, v))
        return true;
    if (e->op == EX_VAR)
        return evaluate_name(p, e->u.name, v);
    if (e->count < 1 || e->count > 2 || !evaluate(p, e->args[0], &a) || (e->count > 1 && !evaluate(p, e->args[1], &b)))
        return false;
    switch ((ExprOp)e->op) {
    case EX_CAST: *v = a; return type_is_int((kn_type)e->type);
    case EX_NEG: *v = -a; return true;
    case EX_ADD: *v = a + b; return true;
    case EX_SUB: *v = a - b; return true;
    case EX_MUL: *v = a * b; return true;
    case EX_DIV: *v = b ? floor_quotient(a, b) : 0; return true;
    case EX_MOD: *v = b ? a - floor_quotient(a, b) * b : 0; return true;
    case EX_MIN: *v = a < b ? a : b; return true;
    case EX_MAX: *v = a > b ? a : b; return true;
    default: return false;
    }
}

typedef struct Between {
    int64_t low, high;
} Between;

static const Between anywhere = { INT32_MIN, INT32_MAX };

static Between range_of(BankPass *p, const Expr *e);

static Between range_of_name(BankPass *p, const char *name)
{
    const BankName *k = find_name(p, name);
    int64_t         min, extent;
    if (!k)
        return anywhere;
    if (!k->loop)
        return range_of(p, k->value);
    if (!expr_is_int(k->loop->loop.min, &min) || !expr_is_int(k->loop->loop.extent, &extent))
        return anywhere;
    return (Between){ min, min + extent - 1 };
}

/* Of coordinates, which do not wrap. */
static Between range_of(BankPass *p, const Expr *e)
{
    int64_t v;
    if (--p->nodes < 0)
        return anywhere;
    if (expr_is_int(e, &v))
        return (Between){ v, v };
    if (e->op == EX_VAR)
        return range_of_name(p, e->u.name);
    if (e->op == EX_CAST && kn_type_size((kn_type)e->args[0]->type) <= kn_type_size((kn_type)e->type))
        return range_of(p, e->args[0]);
    if (e->op == EX_MOD && expr_is_int(e->args[1], &v) && v > 0)
        return (Between){ 0, v - 1 };
    const bool quotient = e->op == EX_DIV && expr_is_int(e->args[1], &v) && v > 0;
    if (!quotient && e->op != EX_ADD && e->op != EX_MIN && e->op != EX_MAX)
        return anywhere;
    const Between a = range_of(p, e->args[0]), b = range_of(p, e->args[1]);
    Between       r = anywhere;
    if (quotient)
        r = (Between){ floor_quotient(a.low, v), floor_quotient(a.high, v) };
    else if (e->op == EX_ADD)
        r = (Between){ a.low + b.low, a.high + b.high };
    else if (e->op == EX_MIN)
        r = (Between){ a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high };
    else
        r = (Between){ a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high };
    return r.low < anywhere.low || r.high > anywhere.high ? anywhere : r;
}

/* ---- Walking ------------------------------------------------------------------------------------ */

static bool is_thread_loop(const Stmt *s)
{
    return s->kind == STMT_FOR && loop_table[s->loop.kind].thread;
}

static int axis_of(const BankPass *p, const Stmt *loop)
{
    for (int a = 0; p->in_nest && a < GPU_AXES; a++)
        if (p->nest.loops[a] == loop)
            return a;
    return -1;
}

void banks_enter(BankPass *p, const Stmt *s)
{
    if (is_thread_loop(s) && !p->in_nest) {
        p->nest    = thread_nest(s);
        p->in_nest = true;
    }
    if (s->kind == STMT_FOR)
        vec_push(p->lw->arena, &p->known, ((BankName){ s->loop.name, s, NULL, axis_of(p, s) }));
    if (s->kind == STMT_LET)
        vec_push(p->lw->arena, &p->known, ((BankName){ s->let.name, NULL, s->let.value, -1 }));
}

void banks_leave(BankPass *p, const Stmt *s, bool in_nest)
{
    p->known.count -= s->kind == STMT_FOR || s->kind == STMT_LET;
    p->in_nest = in_nest;
}

/* ---- Accesses ----------------------------------------------------------------------------------- */

int banks_threads(const Stmt *kernel, int axis)
{
    return axis == 0 ? kernel->kernel.threads_x : axis == 1 ? kernel->kernel.threads_y : kernel->kernel.threads_z;
}

/* Thread t of the block; false: it has none of the nest's iterations. */
static bool choose_thread(BankPass *p, int64_t t)
{
    for (int a = 0; a < GPU_AXES; a++) {
        const int64_t threads = banks_threads(p->kernel, a);
        int64_t       extent;
        p->thread[a] = t % threads;
        t /= threads;
        if (!p->nest.loops[a] ? p->thread[a] > 0
                              : expr_is_int(p->nest.loops[a]->loop.extent, &extent) && p->thread[a] >= extent)
            return false;
    }
    return t == 0;
}

/* The elements of the lanes: of the first warp, and of the one in the middle. */
static void find_elements(BankPass *p, BankAccess *a)
{
    const int threads = banks_threads(p->kernel, 0) * banks_threads(p->kernel, 1) * banks_threads(p->kernel, 2);
    const int warps   = (threads + GPU_WARP - 1) / GPU_WARP;
    a->known          = p->in_nest;
    for (int w = 0; a->known && w < BANK_WARPS && w < warps; w++)
        for (int l = 0; a->known && l < GPU_WARP; l++) {
            if (!choose_thread(p, (int64_t)(w * warps / BANK_WARPS) * GPU_WARP + l))
                continue;
            a->active[w] |= (uint32_t)1 << l;
            for (int i = 0; i < a->form.count; i++) {
                int64_t v;
                p->nodes = MOST_NODES;
                a->known = a->known && evaluate(p, a->form.atoms[i], &v);
                a->element[w][l] += a->known ? a->form.coefficients[i] * v : 0;
            }
        }
}

BankAccess *banks_access(BankPass *p, const Buffer *b, const Expr *index)
{
    BankAccess *a = ARENA_NEW(p->lw->arena, BankAccess);
    a->buffer     = b;
    if (!expr_linear(p->lw->arena, index, &a->form))
        return NULL;
    a->low  = ARENA_ARRAY(p->lw->arena, int64_t, (size_t)a->form.count + 1);
    a->high = ARENA_ARRAY(p->lw->arena, int64_t, (size_t)a->form.count + 1);
    for (int i = 0; i < a->form.count; i++) {
        p->nodes        = MOST_NODES;
        const Between r = range_of(p, a->form.atoms[i]);
        a->low[i]       = r.low;
        a->high[i]      = r.high;
    }
    return a;
}

/* A loop inside the threads whose iterations access one element after the other: assemblers unroll it and join the
 * accesses as they do those of copies. The atom is that of the first of as many copies as one access has elements. */
static void find_along(BankPass *p, BankAccess *a)
{
    const int64_t copies = MOST_ACCESS / (int64_t)kn_type_size(a->buffer->type);
    a->along             = -1;
    for (int i = 0; i < a->form.count && p->in_nest; i++) {
        const Expr     *atom = a->form.atoms[i]->op == EX_CAST ? a->form.atoms[i]->args[0] : a->form.atoms[i];
        const BankName *name = atom->op == EX_VAR ? find_name(p, atom->u.name) : NULL;
        int64_t         extent;
        if (name && name->loop && name->axis < 0 && name->loop->loop.kind == LOOP_SERIAL &&
            a->form.coefficients[i] == 1 && expr_is_int(name->loop->loop.extent, &extent) && extent >= copies &&
            extent % copies == 0 && a->low[i] % copies == 0)
            a->along = i;
    }
    if (a->along >= 0)
        a->high[a->along] -= copies - 1;
}

static bool same_but_constant(const Linear *a, const Linear *b)
{
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++)
        same = a->atoms[i] == b->atoms[i] && a->coefficients[i] == b->coefficients[i];
    return same;
}

static void add_constant(BankPass *p, BankAccess *a, int64_t c)
{
    size_t at = 0;
    while (at < a->constants.count && a->constants.at[at] < c)
        at++;
    if (at < a->constants.count && a->constants.at[at] == c)
        return;
    vec_push(p->lw->arena, &a->constants, c);
    memmove(&a->constants.at[at + 1], &a->constants.at[at], (a->constants.count - 1 - at) * sizeof *a->constants.at);
    a->constants.at[at] = c;
}

static void add_copies(BankPass *p, BankAccess *a, int64_t c)
{
    const int64_t copies = a->along >= 0 ? MOST_ACCESS / (int64_t)kn_type_size(a->buffer->type) : 1;
    for (int64_t i = 0; i < copies; i++)
        add_constant(p, a, c + i);
}

static void note_access(BankPass *p, const Buffer *b, const Expr *index, bool store)
{
    BankAccess *a = p->kernel && b->memory == MEMORY_SHARED ? banks_access(p, b, index) : NULL;
    if (!a)
        return;
    for (size_t i = p->accesses.count; i-- > 0 && p->accesses.at[i]->scope == p->scope;) {
        BankAccess *other = p->accesses.at[i];
        if (other->buffer == b && other->store == store && same_but_constant(&other->form, &a->form)) {
            add_copies(p, other, a->form.constant);
            return;
        }
    }
    a->store  = store;
    a->scope  = p->scope;
    a->weight = p->weight;
    find_elements(p, a);
    find_along(p, a);
    add_copies(p, a, a->form.constant);
    if (a->along >= 0)
        a->weight /= MOST_ACCESS / (double)kn_type_size(b->type);
    vec_push(p->lw->arena, &p->accesses, a);
}

static void note_load(const Expr *e, void *user)
{
    if (e->op == EX_LOAD)
        note_access(user, e->u.buffer, e->args[0], false);
}

static void note_loads(void *user, const Expr *e)
{
    BankPass *p = user;
    expr_visit(p->lw->exprs, e, note_load, p);
}

static void note_memory(BankPass *p, const Stmt *s)
{
    KernelMemory *k = &p->kernels.at[p->kernels.count - 1];
    int64_t       count;
    if (!expr_is_int(s->alloc.count, &count))
        return;
    for (size_t i = 0; i < k->buffers.count; i++)
        if (k->buffers.at[i] == s->alloc.buffer) {
            k->counts.at[i] = count > k->counts.at[i] ? count : k->counts.at[i];
            return;
        }
    vec_push(p->lw->arena, &k->buffers, s->alloc.buffer);
    vec_push(p->lw->arena, &k->counts, count);
}

static void look(void *user, const Stmt *s);

/* A part of a statement that is executed `times` as often. */
static void look_apart(BankPass *p, const Stmt *s, double times)
{
    const int    scope  = p->scope;
    const double weight = p->weight;
    p->scope            = ++p->scopes;
    p->weight *= times;
    look(p, s);
    p->scope  = scope;
    p->weight = weight;
}

static double steps_of(const BankPass *p, const Stmt *loop)
{
    int64_t extent;
    if (loop->loop.kind == LOOP_BLOCK || axis_of(p, loop) >= 0)
        return 1;
    return expr_is_int(loop->loop.extent, &extent) ? (double)extent : SOME_STEPS;
}

static void look(void *user, const Stmt *s)
{
    BankPass  *p       = user;
    const bool in_nest = p->in_nest;
    if (s->kind == STMT_KERNEL) {
        p->kernel = s;
        vec_push(p->lw->arena, &p->kernels, ((KernelMemory){ .stmt = s }));
    }
    if (s->kind == STMT_ALLOC && s->alloc.buffer->memory == MEMORY_SHARED && p->kernel)
        note_memory(p, s);
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        note_access(p, s->store.places[i].buffer, s->store.places[i].index, true);
    stmt_children(s, note_loads, NULL, p);
    banks_enter(p, s);
    if (s->kind == STMT_FOR) {
        look_apart(p, s->loop.body, steps_of(p, s));
    } else if (s->kind == STMT_IF) {
        look_apart(p, s->branch.yes, 1);
        if (s->branch.no)
            look_apart(p, s->branch.no, p->in_nest ? 1 : 0);
    } else {
        stmt_children(s, NULL, look, p);
    }
    banks_leave(p, s, in_nest);
    p->kernel = s->kind == STMT_KERNEL ? NULL : p->kernel;
}

void banks_look(BankPass *p, const Stmt *s)
{
    look(p, s);
}
