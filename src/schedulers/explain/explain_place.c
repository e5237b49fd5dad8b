/* SPDX-License-Identifier: MIT */
/* Horizontal coordinates: where the slots of a layer are, from left to right.
 *
 * Takes   the layered graph, each layer in its order.
 * Gives   the middle of every slot.
 * Holds   slots of a layer are in their order, with a gap between them.
 * How     Each layer is put as near as its order allows to what it is linked to: isotonic regression, solved exactly
 *         by pooling adjacent violators (Barlow et al. 1972). Sweeps down and up carry that through all layers. Then
 *         edges that cross several layers are straightened as far as there is room. */
#include "schedulers/explain/explain_layout_internal.h"

#include <float.h>
#include <math.h>

enum {
    ROUNDS        = 12,
    STRAIGHTENED  = 6 /* rounds: room that one edge leaves helps its neighbours */,
    BETWEEN_BOXES = 32,
    BESIDE_BOX    = 18,
    BETWEEN_EDGES = 14,
    STRAIGHT      = 8 /* times the weight of a link between boxes */,
    HALF_STRAIGHT = 2
};

typedef enum Side { SIDE_UP = 1, SIDE_DOWN = 2, SIDE_BOTH = 3 } Side;

/* ---- Apart ------------------------------------------------------------------------------- */

typedef struct Block {
    double sum, weight;
    int    count;
} Block;

void spread_apart(double *wanted, const double *weight, const double *apart, int count, Arena *arena)
{
    Block *blocks = ARENA_ARRAY(arena, Block, (size_t)count + 1);
    int    last   = -1;
    double offset = 0;
    for (int i = 0; i < count; i++) {
        blocks[++last] = (Block){ weight[i] * (wanted[i] - offset), weight[i], 1 };
        offset += i + 1 < count ? apart[i] : 0;
        for (; last > 0 && blocks[last - 1].sum * blocks[last].weight > blocks[last].sum * blocks[last - 1].weight;
             last--) {
            blocks[last - 1].sum += blocks[last].sum;
            blocks[last - 1].weight += blocks[last].weight;
            blocks[last - 1].count += blocks[last].count;
        }
    }
    offset = 0;
    for (int b = 0, i = 0; b <= last; b++)
        for (int k = 0; k < blocks[b].count; k++, i++) {
            wanted[i] = blocks[b].sum / blocks[b].weight + offset;
            offset += i + 1 < count ? apart[i] : 0;
        }
}

/* From the middle of a slot to that of the next. */
static double apart_from(const Slot *a, const Slot *b)
{
    const int boxes = (a->node >= 0) + (b->node >= 0);
    return (a->width + b->width) / 2.0 + (boxes == 2 ? BETWEEN_BOXES : boxes == 1 ? BESIDE_BOX : BETWEEN_EDGES);
}

/* ---- Near -------------------------------------------------------------------------------- */

static void add_links(const Slots *s, const Slot *of, const int *links, int count, double *sum, double *weight)
{
    for (int i = 0; i < count; i++) {
        const Slot  *to = &s->at[links[i]];
        const double w  = of->node < 0 && to->node < 0 ? STRAIGHT : of->node < 0 || to->node < 0 ? HALF_STRAIGHT : 1;
        *sum += w * to->x;
        *weight += w;
    }
}

static void place_layer(Slots *s, int layer, Side side, double *wanted, double *weights, double *apart)
{
    const int size = s->sizes[layer];
    for (int i = 0; i < size; i++) {
        const Slot *slot = &s->at[s->layers[layer][i]];
        double      sum = 0, weight = 0;
        if (side & SIDE_UP)
            add_links(s, slot, slot->up, slot->up_count, &sum, &weight);
        if (side & SIDE_DOWN)
            add_links(s, slot, slot->down, slot->down_count, &sum, &weight);
        wanted[i]  = weight > 0 ? sum / weight : slot->x;
        weights[i] = weight > 0 ? weight : 0.01;
        apart[i]   = i + 1 < size ? apart_from(slot, &s->at[s->layers[layer][i + 1]]) : 0;
    }
    spread_apart(wanted, weights, apart, size, s->arena);
    for (int i = 0; i < size; i++)
        s->at[s->layers[layer][i]].x = wanted[i];
}

/* ---- Straight ---------------------------------------------------------------------------- */

/* The range of x for a slot while its neighbours stay. */
static void room_of(const Slots *s, const Slot *slot, double *least, double *most)
{
    const int *layer = s->layers[slot->layer];
    if (slot->place > 0)
        *least = fmax(*least, s->at[layer[slot->place - 1]].x + apart_from(&s->at[layer[slot->place - 1]], slot));
    if (slot->place + 1 < s->sizes[slot->layer])
        *most = fmin(*most, s->at[layer[slot->place + 1]].x - apart_from(slot, &s->at[layer[slot->place + 1]]));
}

/* The slot where the edges that cross here cross the next layer too; NULL: they all end there. */
static Slot *next_passing(const Slots *s, const Slot *slot)
{
    for (int i = 0; i < slot->down_count; i++)
        if (s->at[slot->down[i]].node < 0)
            return &s->at[slot->down[i]];
    return NULL;
}

/* Aligns as many crossing slots as possible, from this one on, near to `x`. Gives the one after them. */
static Slot *straighten_from(const Slots *s, Slot *first, double x)
{
    double least = -DBL_MAX, most = DBL_MAX;
    Slot  *end = first;
    for (; end; end = next_passing(s, end)) {
        double low = least, high = most;
        room_of(s, end, &low, &high);
        if (low > high && end != first)
            break;
        least = low;
        most  = high;
    }
    x = least > most ? first->x : fmin(fmax(x, least), most);
    for (Slot *slot = first; slot != end; slot = next_passing(s, slot))
        slot->x = x;
    return end;
}

/* The crossing edges of each node: below the node at first, then where they are. `back`: the last node first. */
static void straighten(Slots *s, bool back)
{
    for (int k = 0; k < s->count; k++) {
        const int   i     = back ? s->count - 1 - k : k;
        const Slot *above = s->at[i].up_count ? &s->at[s->at[i].up[0]] : NULL;
        if (s->at[i].node >= 0 || !above || above->node < 0)
            continue;
        double x = above->x;
        for (Slot *slot = &s->at[i]; slot; slot = straighten_from(s, slot, x))
            x = slot == &s->at[i] ? x : slot->x;
    }
}

void slots_place(Slots *s)
{
    double *room = ARENA_ARRAY(s->arena, double, 3 * ((size_t)s->count + 1)), *weights = room + s->count,
           *apart = weights + s->count;
    for (int layer = 0; layer < s->layer_count; layer++)
        place_layer(s, layer, SIDE_UP, room, weights, apart);
    for (int round = 0; round < ROUNDS; round++) {
        const Side side = round >= ROUNDS / 2 ? SIDE_BOTH : round % 2 ? SIDE_UP : SIDE_DOWN;
        for (int i = 0; i < s->layer_count; i++)
            place_layer(s, round % 2 ? i : s->layer_count - 1 - i, side, room, weights, apart);
    }
    for (int round = 0; round < STRAIGHTENED; round++)
        straighten(s, round % 2);
}
