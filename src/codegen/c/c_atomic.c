/* SPDX-License-Identifier: MIT */
/* Atomic stores of kernels: a function of OpenCL where there is one, else a loop that computes the new value from the
 * old one until nobody has changed the element in between.
 *
 * Takes   an atomic store of one element, or of several that do not depend on each other.
 * Holds   elements of 8 and 16 bits are exchanged with the word of 32 bits that they lie in. Memory of a thread itself
 *         needs none of it. */
#include "codegen/c/c.h"

/* "__global", "__local"; NULL: of the thread. */
static const char *space_of(const CGen *g, const Buffer *b)
{
    for (size_t i = 0; i < g->kernel->buffers.count; i++)
        if (g->kernel->buffers.at[i].buffer == b)
            return "__global";
    return b->memory == MEMORY_SHARED ? "__local" : NULL;
}

static bool is_own_load(const Expr *e, const Place *p)
{
    return e->op == EX_LOAD && e->u.buffer == p->buffer && e->args[0] == p->index;
}

static const Expr *own_load(const Expr *e, const Place *p, Map *seen)
{
    if (map_get(seen, e))
        return NULL;
    map_set(seen, e, e);
    const Expr *found = is_own_load(e, p) ? e : NULL;
    for (uint32_t i = 0; !found && i < e->count; i++)
        found = own_load(e->args[i], p, seen);
    return found;
}

/* ---- By a function ---- */

/* element = element op operand, of 32 bits, or a sum of 64. */
static bool by_function(CGen *g, const Place *p, const char *space, const CAddress *a)
{
    static const char *const names[EX_COUNT] = {
        [EX_ADD] = "add",     [EX_SUB] = "sub",   [EX_MIN] = "min",    [EX_MAX] = "max",
        [EX_BIT_AND] = "and", [EX_BIT_OR] = "or", [EX_BIT_XOR] = "xor"
    };
    const Expr *e    = p->value;
    const int   bits = type_bits(p->buffer->type);
    if (!type_is_int(e->type) || !names[e->op] || bits < 32 || (bits == 64 && e->op != EX_ADD && e->op != EX_SUB))
        return false;
    const bool first = is_own_load(e->args[0], p);
    if (!first && (e->op == EX_SUB || !is_own_load(e->args[1], p)))
        return false;
    if (bits == 64)
        c_section(g, "int64_atomics");
    c_line(g, "%s_%s((volatile %s %s *)&%s[%s], %s);", bits == 64 ? "atom" : "atomic", names[e->op], space,
           c_type(e->type), a->buffer, a->index, c_uniform(g, e->args[first]));
    return true;
}

/* ---- By exchange ---- */

/* The names of a loop that exchanges. */
typedef struct Exchange {
    const char *type;  /* of the word */
    const char *old;   /* the word as it was read */
    const char *shift; /* of the element in the word; NULL: it is the word */
} Exchange;

/* The element in the old word, as a value. */
static CValue old_value(CGen *g, kn_type t, const Exchange *x)
{
    const char *word = x->shift ? c_print(g, "(%s >> %s)", x->old, x->shift) : x->old;
    CValue      v    = { .prec = P_UNARY, .level = g->depth, .reads = true };
    if (t == KN_F32 || t == KN_F64) {
        c_section(g, "float_bits");
        v.text = c_print(g, "kn_%s_of_bits(%s)", kn_type_name(t), word);
    } else if (t == KN_BOOL) {
        v.text = c_print(g, "((uint8_t)%s != 0)", word);
    } else {
        v.text = c_print(g, "(%s)%s", c_type(t), word);
    }
    return v;
}

/* The word with the new value in it. */
static const char *new_word(CGen *g, kn_type t, const Exchange *x, CValue v)
{
    if (t == KN_F32 || t == KN_F64)
        return c_print(g, "kn_bits_of_%s(%s)", kn_type_name(t), c_full(g, v));
    if (!x->shift)
        return c_print(g, "(%s)%s", x->type, c_operand(g, v, P_UNARY));
    const char *unsigned_type = type_bits(t) == 16 ? "uint16_t" : "uint8_t";
    return c_print(g, "(%s & ~(%s << %s)) | (uint32_t)(%s)%s << %s", x->old, type_bits(t) == 16 ? "0xFFFFu" : "0xFFu",
                   x->shift, unsigned_type, c_operand(g, v, P_UNARY), x->shift);
}

static void by_exchange(CGen *g, const Place *p, const char *space, const CAddress *a)
{
    const kn_type t     = p->buffer->type;
    const int     bytes = (int)kn_type_size(t);
    Exchange      x     = { .type = bytes == 8 ? "uint64_t" : "uint32_t" };
    const char   *at = c_fresh(g, &g->f->used, "at"), *seen = c_fresh(g, &g->f->used, "seen");
    x.old = c_fresh(g, &g->f->used, "old");
    c_scope_push(g, "{");
    if (bytes < 4) {
        const char *element = c_fresh(g, &g->f->used, "element");
        x.shift             = c_fresh(g, &g->f->used, "shift");
        c_line(g, "%s uint8_t *%s = (%s uint8_t *)&%s[%s];", space, element, space, a->buffer, a->index);
        c_line(g, "uint32_t %s = 8 * (uint32_t)((size_t)%s & 3);", x.shift, element);
        c_line(g, "volatile %s uint32_t *%s = (volatile %s uint32_t *)(%s - %s / 8);", space, at, space, element,
               x.shift);
    } else {
        c_line(g, "volatile %s %s *%s = (volatile %s %s *)&%s[%s];", space, x.type, at, space, x.type, a->buffer,
               a->index);
    }
    if (bytes == 8)
        c_section(g, "int64_atomics");
    c_line(g, "%s %s = *%s, %s;", x.type, seen, at, x.old);
    c_scope_push(g, "do {");
    c_line(g, "%s = %s;", x.old, seen);
    Map known;
    map_init(&known, g->arena);
    const Expr *load = own_load(p->value, p, &known);
    if (load) {
        g->answers[load->id] = old_value(g, t, &x);
        g->stamps[load->id]  = g->statement;
    }
    const CValue v = c_expr(g, p->value);
    c_line(g, "%s = %s(%s, %s, %s);", seen, bytes == 8 ? "atom_cmpxchg" : "atomic_cmpxchg", at, x.old,
           new_word(g, t, &x, v));
    const char *body = c_scope_take(g);
    CScope     *here = &g->scopes[g->depth];
    text_printf(&here->text, "%*sdo {\n%s%*s} while (%s != %s);\n", INDENT * here->indent, "", body,
                INDENT * here->indent, "", seen, x.old);
    c_scope_pop(g);
}

/* ---- Stores ---- */

static void store_place(CGen *g, const Place *p)
{
    const char *space = space_of(g, p->buffer);
    c_statement(g);
    c_count(g, p->index);
    c_count(g, p->value);
    const CAddress a = c_address(g, p->buffer, p->index, false);
    if (!space)
        c_line(g, "%s[%s] = %s;", a.buffer, a.index, c_uniform(g, p->value));
    else if (!by_function(g, p, space, &a))
        by_exchange(g, p, space, &a);
}

/* Does the new value of one place depend on what another stores to, apart from its own element? */
static bool depends(const Expr *e, const Place *p, const Place *other, Map *seen)
{
    if (map_get(seen, e))
        return false;
    map_set(seen, e, e);
    bool found = e->op == EX_LOAD && e->u.buffer == other->buffer && !is_own_load(e, p);
    for (uint32_t i = 0; !found && i < e->count; i++)
        found = depends(e->args[i], p, other, seen);
    return found;
}

bool c_atomic_store(CGen *g, const Stmt *s)
{
    const Place *places = s->store.places;
    bool         own    = true;
    for (int i = 0; i < s->store.count; i++)
        own &= !space_of(g, places[i].buffer);
    if (own)
        return false;
    for (int i = 0; i < s->store.count; i++)
        for (int k = 0; k < s->store.count; k++) {
            Map seen;
            map_init(&seen, g->arena);
            if (i != k && depends(places[i].value, &places[i], &places[k], &seen))
                c_fail(g,
                       "the kernel `%s` updates `%s` and `%s` atomically, and one depends on the other: a device "
                       "exchanges one element at a time",
                       g->kernel->stmt->kernel.name, places[i].buffer->name, places[k].buffer->name);
        }
    for (int i = 0; i < s->store.count; i++)
        store_place(g, &places[i]);
    return true;
}
