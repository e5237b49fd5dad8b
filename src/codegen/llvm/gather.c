/* SPDX-License-Identifier: MIT */
/* Gathers of one statement that read adjacent elements: f(z) and f(z + 1) with a z made of data, or the channels of a
 * pixel.
 *
 * Takes   the gathers of the statement, with their addresses.
 * Gives   for each lane one contiguous load of 2 or 4 elements, beginning at the place of one of the gathers, the base.
 *         The lanes' elements are transposed: element k of all lanes is a vector. A gather instruction takes more than
 *         a cycle for each lane and element; this takes half of one. Integers of 8 and 16 bits are loaded as one wider
 *         integer for each lane, of which element k is a part.
 * Holds   indices made of data are clamped to the box that is stored, so clamp(z) and clamp(z + 1) are 0 or 1 apart:
 *         where the distance varies from lane to lane, each lane selects. Coordinates of elements that are really read
 *         do not wrap, so an i32 distance is exact; of others any element will do. Scratch is padded, so reading past
 *         its end is harmless; of inputs only what lies between the gathers is read. */
#include "codegen/llvm/llvm.h"

enum { MOST_WINDOW = 4, MOST_GATHERS = 256, MOST_DEPTH = 8, BLOCK = 4 };

/* The distance of one index from another: from low to high, in steps. */
typedef struct Distance {
    int64_t     low, high, step;
    const Expr *from, *to; /* where low < high: (to - from) * step is the distance from `zero` */
    int64_t     zero;
} Distance;

/* e = result + *constant. */
static const Expr *without_constant(const Expr *e, int64_t *constant)
{
    int64_t c;
    *constant = 0;
    while ((e->op == EX_ADD || e->op == EX_SUB) && expr_is_int(e->args[1], &c) && c > -MOST_GATHERS &&
           c < MOST_GATHERS) {
        *constant += e->op == EX_ADD ? c : -c;
        e = e->args[0];
    }
    return e;
}

static bool is_between(const Expr *a, const Expr *b, int depth, int64_t *low, int64_t *high);

/* Operators of two operands, one of which is the same in both: the distance of the other ones. */
static bool others_between(const Expr *a, const Expr *b, int depth, int64_t *low, int64_t *high)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (a->args[i] == b->args[k] && (a->op != EX_SUB || (i == 1 && k == 1)))
                return is_between(a->args[1 - i], b->args[1 - k], depth + 1, low, high);
    return false;
}

/* low <= b - a <= high. min(x, _) and max(x, _) change by at most as much as x does. */
static bool is_between(const Expr *a, const Expr *b, int depth, int64_t *low, int64_t *high)
{
    int64_t     of_a, of_b;
    const Expr *x = without_constant(a, &of_a), *y = without_constant(b, &of_b);
    *low = *high = 0;
    if (x != y) {
        if (x->op != y->op || x->type != y->type || depth == MOST_DEPTH)
            return false;
        const bool clamp = x->op == EX_MIN || x->op == EX_MAX, sum = x->op == EX_ADD || x->op == EX_SUB;
        const bool wider =
            x->op == EX_CAST && x->type == KN_I64 && x->args[0]->type == KN_I32 && y->args[0]->type == KN_I32;
        if (!(clamp || sum ? others_between(x, y, depth, low, high)
                           : wider && is_between(x->args[0], y->args[0], depth + 1, low, high)))
            return false;
        *low  = clamp && *low > 0 ? 0 : *low;
        *high = clamp && *high < 0 ? 0 : *high;
    }
    *low += of_b - of_a;
    *high += of_b - of_a;
    return true;
}

/* How far b is from a, in elements, in every lane. */
static bool distance(const Address *a, const Address *b, Distance *d)
{
    const LaneTerm *x = NULL, *y = NULL;
    if (a->buffer != b->buffer || a->ptr != b->ptr || a->own_count != b->own_count)
        return false;
    for (int i = 0; i < a->own_count; i++) {
        const LaneTerm *s = &a->own[i], *t = &b->own[i];
        if (s->by != t->by || s->factor != t->factor || (s->atom != t->atom && (x || s->by)))
            return false;
        if (s->atom != t->atom) {
            x = s;
            y = t;
        }
    }
    *d = (Distance){ .step = 1, .zero = b->constant - a->constant };
    if (x) {
        if (x->factor < 1 || x->factor >= MOST_WINDOW || !is_between(x->atom, y->atom, 0, &d->low, &d->high))
            return false;
        d->step = x->factor;
        d->from = x->atom;
        d->to   = y->atom;
    }
    d->low  = d->low * d->step + d->zero;
    d->high = d->high * d->step + d->zero;
    return true;
}

/* Integers of which a lane's window is one integer. */
static bool is_small(kn_type type)
{
    return type_is_int(type) && type_bits(type) <= 16;
}

void gather_collect(Gen *g, const Expr *load, const Address *a)
{
    const kn_type type = a->buffer->type;
    const bool    fits = type_bits(type) == 32 ? g->lanes % BLOCK == 0 : is_small(type) && !g->kernel;
    if (!a->lanes || a->offsets || a->phases || a->own_count > MOST_OWN || !fits || g->gather_count == MOST_GATHERS ||
        arch_can_look_up(g, a))
        return;
    if (g->gather_count == g->gather_capacity) {
        g->gather_capacity = g->gather_capacity ? 2 * g->gather_capacity : 16;
        g->gathers         = gen_grow(g, g->gathers, (size_t)g->gather_capacity, sizeof *g->gathers);
    }
    g->gathers[g->gather_count++] = (AdjacentGather){ .load = load, .address = *a, .base = -1 };
}

/* Can the elements behind the base serve the load? */
static bool is_served(const AdjacentGather *base, const AdjacentGather *by, Distance *d)
{
    return by->base < 0 && distance(&base->address, &by->address, d) && d->low >= 0 && d->high < MOST_WINDOW &&
           (d->low == d->high || base->address.buffer->kind == BUFFER_SCRATCH);
}

/* The load whose elements serve this one, and as many others as can be. */
static void form_window(Gen *g, int at)
{
    Distance d;
    int      first = at;
    for (int i = 0; i < g->gather_count; i++)
        if (g->gathers[i].base < 0 && is_served(&g->gathers[i], &g->gathers[first], &d) && d.high > 0 &&
            is_served(&g->gathers[i], &g->gathers[at], &d))
            first = i;
    AdjacentGather *base = &g->gathers[first];
    int64_t         last = 0;
    for (int i = 0; i < g->gather_count; i++)
        if (is_served(base, &g->gathers[i], &d)) {
            g->gathers[i].base = first;
            base->members++;
            last = d.high > last ? d.high : last;
        }
    base->width = last < 2 ? 2 : MOST_WINDOW;
    if (last + 1 != base->width && base->address.buffer->kind != BUFFER_SCRATCH)
        base->members = 1;
}

/* ---- Transposing ---- */

/* In each block of four elements of a and b: those at the places, 0..3 of a and 4..7 of b. */
static LLVMValueRef block_shuffle(Gen *g, LLVMValueRef a, LLVMValueRef b, const int places[BLOCK])
{
    LLVMValueRef all[MOST_VECTOR_LANES];
    for (int i = 0; i < g->lanes; i++) {
        const int place = places[i % BLOCK];
        all[i]          = i32_const(g, i / BLOCK * BLOCK + (place < BLOCK ? place : g->lanes + place - BLOCK));
    }
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(all, (unsigned)g->lanes), "");
}

/* The vectors, `size` elements each, one behind the other. */
static LLVMValueRef concatenated(Gen *g, LLVMValueRef *v, int count, int size)
{
    for (; count > 1; count = (count + 1) / 2, size *= 2) {
        LLVMValueRef places[2 * MOST_VECTOR_LANES];
        for (int i = 0; i < 2 * size; i++)
            places[i] = i32_const(g, i);
        LLVMValueRef all = LLVMConstVector(places, 2 * (unsigned)size);
        for (int i = 0; i < count; i += 2)
            v[i / 2] =
                LLVMBuildShuffleVector(g->b, v[i], i + 1 < count ? v[i + 1] : LLVMGetPoison(LLVMTypeOf(v[i])), all, "");
    }
    return v[0];
}

/* Lanes from, from + 4, …: the elements of one lane, or of two, are a block. */
static LLVMValueRef blocks(Gen *g, LLVMValueRef const *lane, int width, int from)
{
    LLVMValueRef parts[MOST_VECTOR_LANES];
    const int    per = BLOCK / width;
    int          n   = 0;
    for (int i = from; i < g->lanes; i += BLOCK)
        for (int k = 0; k < per; k++)
            parts[n++] = lane[i + k];
    LLVMValueRef all = concatenated(g, parts, n, width), places[MOST_VECTOR_LANES];
    for (int i = 0; i < g->lanes; i++)
        places[i] = i32_const(g, i);
    return LLVMBuildShuffleVector(g->b, all, LLVMGetPoison(LLVMTypeOf(all)),
                                  LLVMConstVector(places, (unsigned)g->lanes), "");
}

/* The same of small integers: element k of a lane is bits k * bits and up of what the lane loads. */
static void load_small_window(Gen *g, AdjacentGather *base)
{
    const Buffer *b    = base->address.buffer;
    const int     bits = type_bits(b->type);
    LLVMTypeRef   one = LLVMIntTypeInContext(g->cx, (unsigned)(base->width * bits)), all = with_lanes(one, g->lanes);
    LLVMValueRef  lanes = LLVMGetPoison(all);
    for (int i = 0; i < g->lanes; i++) {
        LLVMValueRef ptr = address_lane(g, &base->address, i);
        here(g);
        lanes = LLVMBuildInsertElement(g->b, lanes, load_element(g, b, ptr, one), i32_const(g, i), "");
    }
    for (int k = 0; k < base->width; k++)
        base->window[k] = LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, lanes, int_like(all, k * bits), ""),
                                         with_lanes(memory_type(g, b->type), g->lanes), "");
}

/* Reads `width` elements for each lane; window[k] is element k of all. */
static void load_window(Gen *g, AdjacentGather *base)
{
    if (is_small(base->address.buffer->type)) {
        load_small_window(g, base);
        return;
    }
    static const int halves[2][BLOCK] = { { 0, 2, 4, 6 }, { 1, 3, 5, 7 } };
    static const int mixed[2][BLOCK]  = { { 0, 4, 1, 5 }, { 2, 6, 3, 7 } },
                     joined[2][BLOCK] = { { 0, 1, 4, 5 }, { 2, 3, 6, 7 } };
    const Buffer *b                   = base->address.buffer;
    LLVMTypeRef   type                = LLVMVectorType(memory_type(g, b->type), (unsigned)base->width);
    LLVMValueRef  lane[MOST_VECTOR_LANES], v[MOST_WINDOW];
    for (int i = 0; i < g->lanes; i++) {
        LLVMValueRef ptr = address_lane(g, &base->address, i);
        here(g);
        lane[i] = load_element(g, b, ptr, type);
    }
    for (int k = 0; k < base->width; k++)
        v[k] = blocks(g, lane, base->width, k * (BLOCK / base->width));
    for (int k = 0; k < base->width; k++)
        if (base->width == 2) {
            base->window[k] = block_shuffle(g, v[0], v[1], halves[k]);
        } else {
            LLVMValueRef low  = block_shuffle(g, v[0], v[1], mixed[k / 2]),
                         high = block_shuffle(g, v[2], v[3], mixed[k / 2]);
            base->window[k]   = block_shuffle(g, low, high, joined[k % 2]);
        }
}

/* The element of each lane at its own distance. */
static LLVMValueRef chosen(Gen *g, const AdjacentGather *base, const Distance *d)
{
    LLVMValueRef r = base->window[d->high];
    if (d->low == d->high)
        return r;
    const bool   wide = d->from->op == EX_CAST && d->to->op == EX_CAST;
    LLVMValueRef from = value_lanes(g, gen_expr(g, wide ? d->from->args[0] : d->from), g->lanes);
    LLVMValueRef to   = value_lanes(g, gen_expr(g, wide ? d->to->args[0] : d->to), g->lanes);
    here(g);
    LLVMValueRef apart = LLVMBuildSub(g->b, to, from, "");
    for (int64_t at = d->low; at < d->high; at += d->step) {
        LLVMValueRef now =
            LLVMBuildICmp(g->b, LLVMIntEQ, apart, int_like(LLVMTypeOf(apart), (at - d->zero) / d->step), "");
        r = LLVMBuildSelect(g->b, now, base->window[at], r, "");
    }
    return r;
}

LLVMValueRef gather_adjacent(Gen *g, const Expr *load)
{
    int at = 0;
    while (at < g->gather_count && g->gathers[at].load != load)
        at++;
    if (at == g->gather_count || g->mask)
        return NULL;
    if (g->gathers[at].base < 0)
        form_window(g, at);
    AdjacentGather *base = &g->gathers[g->gathers[at].base];
    Distance        d;
    if (base->members < 2)
        return NULL;
    if (!base->window[0])
        load_window(g, base);
    distance(&base->address, &g->gathers[at].address, &d);
    return chosen(g, base, &d);
}
