/* SPDX-License-Identifier: MIT */
/* What interior.c asks of the loops of a block: are there unrolled copies in them, and do they index registers?
 *
 * Takes   the body of a loop, or of a block.
 * Gives   yes or no; nothing is changed. */
#include "lower/passes/pass_tools.h"

/* ---- Loops ------------------------------------------------------------------------------------ */

typedef struct LoopKinds {
    Simplifier *known;
    bool        serial, unrolled; /* serial: and of no constant extent */
} LoopKinds;

static void find_kinds(void *user, const Stmt *s)
{
    LoopKinds *k = user;
    int64_t    extent;
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_SERIAL)
        k->serial |= !expr_is_int(simplify(k->known, s->loop.extent), &extent);
    k->unrolled |= s->kind == STMT_FOR && s->loop.kind == LOOP_UNROLL;
    stmt_children(s, NULL, find_kinds, k);
}

bool has_unrolled(Simplifier *known, const Stmt *body)
{
    LoopKinds k = { .known = known };
    find_kinds(&k, body);
    return k.unrolled && !k.serial;
}

/* ---- Registers ---------------------------------------------------------------------------------- */

typedef struct RegisterSearch {
    Varying varying; /* with the variables of such loops */
    Map     own;     /* the buffers that a thread allocates in registers */
    bool    thread, found;
} RegisterSearch;

static void check_access(RegisterSearch *r, const Buffer *b, const Expr *index)
{
    r->found = r->found || (map_get(&r->own, b) && varying_expr(&r->varying, index));
}

static void find_loads(const Expr *e, void *user)
{
    if (e->op == EX_LOAD)
        check_access(user, e->u.buffer, e->args[0]);
}

static void find_in_expr(void *user, const Expr *e)
{
    RegisterSearch *r = user;
    expr_visit(r->varying.pool, e, find_loads, r);
}

static void find_registers(void *user, const Stmt *s)
{
    RegisterSearch *r     = user;
    const bool      outer = r->thread;
    int64_t         extent;
    if (s->kind == STMT_ALLOC && s->alloc.buffer->memory == MEMORY_REGISTER && r->thread)
        map_set(&r->own, s->alloc.buffer, s);
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        check_access(r, s->store.places[i].buffer, s->store.places[i].index);
    if (s->kind == STMT_LET)
        varying_bind(&r->varying, s->let.name, varying_expr(&r->varying, s->let.value));
    if (s->kind == STMT_FOR) {
        r->thread |= loop_table[s->loop.kind].thread;
        varying_bind(&r->varying, s->loop.name,
                     !loop_table[s->loop.kind].thread && !expr_is_int(s->loop.extent, &extent));
    }
    if (!r->found)
        stmt_children(s, find_in_expr, find_registers, r);
    r->thread = outer;
}

bool indexes_registers(Lower *lw, const Stmt *s)
{
    RegisterSearch r = { 0 };
    varying_init(&r.varying, lw->exprs, lw->arena, NULL);
    map_init(&r.own, lw->arena);
    find_registers(&r, s);
    return r.found;
}
