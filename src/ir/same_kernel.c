/* SPDX-License-Identifier: MIT */
/* Kernels with one code: copies of a stage that differ in names alone, as the stages of a chain do.
 *
 * Takes   two kernels of a program, and the host's lets.
 * Gives   whether the code of one does what the other does, given the other's arguments.
 * Holds   names and buffers correspond one to one, in the order of the arguments too. What the host gives is made of
 *         coordinates in both: backends make use of that. Expressions are compared as they stand: the order of a sum
 *         counts. */
#include "ir/coordinates.h"
#include "ir/kernel.h"

typedef struct Pairing {
    const Program *p;
    const Map     *lets;    /* the host's: values by name */
    Map            to, fro; /* names, buffers and expressions of the one, and of the other */
} Pairing;

/* Do both stand for each other, from now on if they are new? */
static bool pair(Pairing *of, const void *a, const void *b)
{
    const void *to = map_get(&of->to, a), *fro = map_get(&of->fro, b);
    if (!a || !b || to || fro)
        return to == b && fro == a;
    map_set(&of->to, a, b);
    map_set(&of->fro, b, a);
    return true;
}

static bool same_buffer(Pairing *of, const Buffer *a, const Buffer *b)
{
    return a->type == b->type && a->kind == b->kind && a->rank == b->rank && a->dense == b->dense &&
           a->memory == b->memory && a->coordinates == b->coordinates && pair(of, a, b);
}

static bool same_leaf(Pairing *of, const Expr *a, const Expr *b)
{
    switch (a->op) {
    case EX_VAR: return pair(of, a->u.name, b->u.name);
    case EX_LOAD: return same_buffer(of, a->u.buffer, b->u.buffer);
    case EX_INT: return a->u.i == b->u.i;
    case EX_FLOAT: return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
    case EX_PARAM: return a->u.param == b->u.param;
    case EX_CALL:
    case EX_EXTERN: return false;
    default: return true;
    }
}

static bool same_expr(Pairing *of, const Expr *a, const Expr *b)
{
    if (!a || !b)
        return a == b;
    if (map_get(&of->to, a))
        return map_get(&of->to, a) == b;
    if (a->op != b->op || a->type != b->type || a->strict != b->strict || a->count != b->count || !same_leaf(of, a, b))
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!same_expr(of, a->args[i], b->args[i]))
            return false;
    map_set(&of->to, a, b);
    return true;
}

static bool same_store(Pairing *of, const Stmt *a, const Stmt *b)
{
    bool same =
        a->store.count == b->store.count && a->store.atomic == b->store.atomic && a->store.stream == b->store.stream;
    for (int i = 0; same && i < a->store.count; i++) {
        const Place *x = &a->store.places[i], *y = &b->store.places[i];
        same = same_buffer(of, x->buffer, y->buffer) && same_expr(of, x->index, y->index) &&
               same_expr(of, x->value, y->value);
    }
    return same;
}

static bool same_stmt(Pairing *of, const Stmt *a, const Stmt *b)
{
    if (!a || !b || a->kind != b->kind)
        return a == b;
    switch (a->kind) {
    case STMT_LET:
        return same_expr(of, a->let.value, b->let.value) && pair(of, a->let.name, b->let.name) &&
               same_stmt(of, a->let.body, b->let.body);
    case STMT_FOR:
        return a->loop.kind == b->loop.kind && same_expr(of, a->loop.min, b->loop.min) &&
               same_expr(of, a->loop.extent, b->loop.extent) && pair(of, a->loop.name, b->loop.name) &&
               same_stmt(of, a->loop.body, b->loop.body);
    case STMT_BLOCK:
        for (int i = 0; i < a->block.count && a->block.count == b->block.count; i++)
            if (!same_stmt(of, a->block.items[i], b->block.items[i]))
                return false;
        return a->block.count == b->block.count;
    case STMT_IF:
        return same_expr(of, a->branch.condition, b->branch.condition) && same_stmt(of, a->branch.yes, b->branch.yes) &&
               same_stmt(of, a->branch.no, b->branch.no);
    case STMT_PRODUCE: return same_stmt(of, a->produce.body, b->produce.body);
    case STMT_STORE: return same_store(of, a, b);
    case STMT_ALLOC:
        return same_expr(of, a->alloc.count, b->alloc.count) && same_buffer(of, a->alloc.buffer, b->alloc.buffer) &&
               same_stmt(of, a->alloc.body, b->alloc.body);
    case STMT_BARRIER: return true;
    default: return false;
    }
}

/* Is it made of coordinates of ports and of numbers, by what keeps them coordinates? */
static bool is_plain(const Map *lets, const Expr *e)
{
    const Expr *value = e->op == EX_VAR ? map_get(lets, e->u.name) : NULL;
    bool        plain = e->type == KN_I32 || e->type == KN_I64;
    if (e->op == EX_VAR)
        return plain && (!value || is_plain(lets, value));
    if (!is_coordinate_op(e))
        return false;
    for (uint32_t i = 0; plain && i < e->count; i++)
        plain = is_plain(lets, e->args[i]);
    return plain;
}

static bool same_arguments(Pairing *of, const Kernel *a, const Kernel *b)
{
    bool same = a->buffers.count == b->buffers.count && a->values.count == b->values.count;
    for (size_t i = 0; same && i < a->buffers.count; i++) {
        const KernelBuffer *x = &a->buffers.at[i], *y = &b->buffers.at[i];
        same = x->reads == y->reads && x->writes == y->writes && same_buffer(of, x->buffer, y->buffer);
    }
    for (size_t i = 0; same && i < a->values.count; i++) {
        const Expr *x = a->values.at[i], *y = b->values.at[i];
        same = same_expr(of, x, y) && (x == y || (is_plain(of->lets, x) && is_plain(of->lets, y)));
    }
    return same;
}

bool kernel_same(const Program *p, const Map *lets, const Kernel *a, const Kernel *b)
{
    const Stmt *x = a->stmt, *y = b->stmt;
    Pairing     of   = { .p = p, .lets = lets };
    bool        same = x->kernel.threads_x == y->kernel.threads_x && x->kernel.threads_y == y->kernel.threads_y &&
                x->kernel.threads_z == y->kernel.threads_z && x->kernel.resident == y->kernel.resident;
    map_init(&of.to, p->arena);
    map_init(&of.fro, p->arena);
    for (int i = 0; same && i < GPU_AXES; i++)
        same =
            !a->grid[i] == !b->grid[i] && (!a->grid[i] || (a->grid[i]->loop.min->type == b->grid[i]->loop.min->type &&
                                                           pair(&of, a->grid[i]->loop.name, b->grid[i]->loop.name)));
    return same && same_arguments(&of, a, b) && same_stmt(&of, a->block, b->block);
}
