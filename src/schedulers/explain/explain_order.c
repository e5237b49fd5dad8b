/* SPDX-License-Identifier: MIT */
/* Orders in layers with few crossings.
 *
 * Takes   the layered graph, in any order.
 * Gives   an order of each layer.
 * How     Sweeps down and up sort each layer by the mean place of what its slots are linked to (the barycenters of
 *         Sugiyama et al. 1981), then swap neighbours while that saves crossings (Gansner et al. 1993, section 3). The
 *         best order of all sweeps is kept. */
#include "schedulers/explain/explain_layout_internal.h"

enum { SWEEPS = 16, MOST_SWAPS = 8 /* rounds after each sweep */ };

static double barycenter(const Slots *s, const Slot *of, bool down)
{
    const int *links = down ? of->up : of->down, count = down ? of->up_count : of->down_count;
    double     sum = 0;
    for (int i = 0; i < count; i++)
        sum += s->at[links[i]].place;
    return count ? sum / count : of->place;
}

static void number_places(Slots *s, int layer)
{
    for (int i = 0; i < s->sizes[layer]; i++)
        s->at[s->layers[layer][i]].place = i;
}

/* Sorts a layer by the one before it, in the direction of the sweep. Stable. */
static void sort_layer(Slots *s, int layer, bool down, double *keys)
{
    int *const slots = s->layers[layer];
    for (int i = 0; i < s->sizes[layer]; i++) {
        const int    slot = slots[i];
        const double key  = barycenter(s, &s->at[slot], down);
        int          at   = i;
        for (; at > 0 && keys[at - 1] > key; at--) {
            keys[at]  = keys[at - 1];
            slots[at] = slots[at - 1];
        }
        keys[at]  = key;
        slots[at] = slot;
    }
    number_places(s, layer);
}

/* The crossings of the links of two slots of a layer, a before b, on one side of it. */
static int crossings_of(const Slots *s, const int *a, int a_count, const int *b, int b_count)
{
    int crossings = 0;
    for (int i = 0; i < a_count; i++)
        for (int k = 0; k < b_count; k++)
            crossings += s->at[a[i]].place > s->at[b[k]].place;
    return crossings;
}

static int crossings_of_pair(const Slots *s, const Slot *a, const Slot *b)
{
    return crossings_of(s, a->up, a->up_count, b->up, b->up_count) +
           crossings_of(s, a->down, a->down_count, b->down, b->down_count);
}

static int count_crossings(const Slots *s)
{
    int crossings = 0;
    for (int layer = 0; layer < s->layer_count; layer++)
        for (int i = 0; i < s->sizes[layer]; i++)
            for (int k = i + 1; k < s->sizes[layer]; k++) {
                const Slot *a = &s->at[s->layers[layer][i]], *b = &s->at[s->layers[layer][k]];
                crossings += crossings_of(s, a->down, a->down_count, b->down, b->down_count);
            }
    return crossings;
}

/* Swaps neighbours of a layer where that saves crossings; true: it did. */
static bool swap_neighbours(Slots *s, int layer)
{
    bool swapped = false;
    for (int i = 0; i + 1 < s->sizes[layer]; i++) {
        int *const slots = &s->layers[layer][i];
        Slot      *a = &s->at[slots[0]], *b = &s->at[slots[1]];
        if (crossings_of_pair(s, b, a) >= crossings_of_pair(s, a, b))
            continue;
        const int first = slots[0];
        slots[0]        = slots[1];
        slots[1]        = first;
        b->place        = i;
        a->place        = i + 1;
        swapped         = true;
    }
    return swapped;
}

static void sweep(Slots *s, bool down, double *keys)
{
    for (int i = 1; i < s->layer_count; i++)
        sort_layer(s, down ? i : s->layer_count - 1 - i, down, keys);
    bool swapped = true;
    for (int round = 0; round < MOST_SWAPS && swapped; round++) {
        swapped = false;
        for (int layer = 0; layer < s->layer_count; layer++)
            swapped |= swap_neighbours(s, layer);
    }
}

void slots_order(Slots *s)
{
    double *keys = ARENA_ARRAY(s->arena, double, (size_t)s->count + 1);
    int    *best = ARENA_ARRAY(s->arena, int, (size_t)s->count + 1), least = -1; /* places */
    for (int layer = 0; layer < s->layer_count; layer++)
        number_places(s, layer);
    for (int i = 0; i < SWEEPS && least != 0; i++) {
        sweep(s, i % 2 == 0, keys);
        const int crossings = count_crossings(s);
        if (least >= 0 && crossings >= least)
            continue;
        least = crossings;
        for (int k = 0; k < s->count; k++)
            best[k] = s->at[k].place;
    }
    for (int k = 0; k < s->count; k++) {
        s->at[k].place                     = best[k];
        s->layers[s->at[k].layer][best[k]] = k;
    }
}
