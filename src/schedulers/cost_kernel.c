/* The instructions of a node's inner loops.
 *
 * Takes   a node that is computed (a head or a member) with its vector loop, the copies of unrolled loops, and all
 *         that is inlined into it.
 * Gives   operations, loads and stores on vector registers, and the time that sums wait.
 * How     A row of w points is computed by ceil(w / lanes) vectors, or point by point if it is shorter than one. An
 *         inlined node is computed as often as the text reads it, but for each place once: as often as the box has
 *         points that one point needs of it. Copies of unrolled loops are one expression: what two of them read or
 *         compute they have in common, so a tile of copies takes as much more than one point as its box is larger (the
 *         register tiles of matrix products and convolutions). A load takes as many turns as lines that it touches:
 *         where rows are read at all places, one of b bytes touches 1 + b / line. So half registers do not take twice
 *         as long. Loads that are not dense take more: every second element two registers and a shuffle; elements at
 *         places that data or another dimension decides a load each, and so those at half the stride, here more and
 * there less, of what is inlined at half the stride. What is inlined has the stride of its reader, times that at which
 * it is read. Sums    A sum whose tile stays in registers reads and writes nothing of itself. Each step waits for the
 * one before, LATENCY operations' time, while there is room for the steps of others: the tile's other sums, and, where
 * all steps of one are few, the next ones (WINDOW instructions are looked at ahead). A step that is not written out has
 * a cost of its own, for all registers of the tile together: that of the loop, STEP operations, and where data says
 * what it reads STEP_BY_DATA: it is found out anew, number by number. Written out it is found out once for a row. */
#include "schedulers/cost_kernel.h"
#include "schedulers/row_copies.h"
#include "schedulers/pattern.h"

enum {
    FAR               = 1 << 16 /* apart is apart */,
    LINE              = 64,
    LATENCY           = 8,
    WINDOW            = 200,
    STEP              = 2,
    STEP_BY_DATA      = 30,
    CONFLICT          = 3,
    TILE_IN_REGISTERS = 28
};

/* ---- Vectors and copies ------------------------------------------------------------------ */

typedef struct Shape {
    int     dim;                 /* of the vector loop; -1: none */
    int     fast;                /* the dimension that is one loop with it, the faster one; -1: none */
    double  lanes;               /* of it */
    double  row;                 /* points along it */
    bool    whole;               /* these are all that the node has */
    double  registers;           /* that a vector takes */
    int64_t copies[KN_MAX_RANK]; /* of unrolled loops, by dimension */
    double  copied;              /* their product */
    bool    in_registers;        /* sums stay there over all steps */
} Shape;

/* Unrolled loops among these, and the vector loop. */
static void read_loops(const GroupLoop *loops, int count, Shape *sh)
{
    for (int i = 0; i < count; i++) {
        if (loops[i].vector) {
            sh->dim   = loops[i].dim;
            sh->lanes = (double)loops[i].step;
            sh->fast  = i > 0 && loops[i].fused ? loops[i - 1].dim : -1;
        }
        if (!loops[i].unroll || loops[i].dim >= STEP_DIM)
            continue;
        for (int k = i - 1; k >= 0; k--)
            if (loops[k].dim == loops[i].dim) {
                sh->copies[loops[i].dim] = loops[k].step;
                sh->copied *= (double)loops[k].step;
                break;
            }
    }
}

/* Are all loops over steps outside nothing but the vector and copies? */
static bool sums_in_nest(const MemberNest *n)
{
    bool steps = false, fine = true;
    for (int i = 0; i < n->count; i++) {
        steps |= n->loops[i].dim >= STEP_DIM;
        fine &= !steps || n->loops[i].dim >= STEP_DIM || n->loops[i].unroll || n->loops[i].vector;
    }
    return fine;
}

static const Pattern *pattern_of(const Tiles *t, int node)
{
    return &t->draft->patterns[node];
}

/* Bits of the widest type that is computed with: sums that are separated are of integers, and of no more bits than are
 * stored. */
static int widest(const Tiles *t, int node)
{
    const GraphNode *s = &t->graph->nodes[node];
    for (int i = 0; i < s->in_count; i++)
        if (pattern_of(t, s->in[i]->producer)->kind == PATTERN_SEPARATE && s->func->component_count == 1)
            return (int)s->bytes * 8;
    return s->wide > 0 ? s->wide : 8;
}

/* The level around the vectors of the head: what is computed inside them is computed for all of a row, or of the part
 * of one that a tile has. */
static int row_level(const Tiles *t)
{
    int level = 0;
    while (level < t->group.loop_count && !t->group.loops[level].vector)
        level++;
    return level < t->group.loop_count ? level : t->level_count - 1;
}

static void shape_of(const Tiles *t, int k, Shape *sh)
{
    const int        node = t->nodes[k];
    const GraphNode *s    = &t->graph->nodes[node];
    const Choice    *c    = &t->draft->choices[node];
    *sh                   = (Shape){ .dim = -1, .fast = -1, .lanes = 1, .copied = 1, .whole = true };
    for (int d = 0; d < KN_MAX_RANK; d++)
        sh->copies[d] = 1;
    int level = tiles_compute_level(t, k);
    if (tiles_role(t, k) == ROLE_HEAD) {
        read_loops(t->group.loops, t->group.loop_count, sh);
        level = row_level(t);
    } else if (c->nest) {
        read_loops(c->nest->loops, c->nest->count, sh);
    } else if (s->rank) {
        sh->dim   = 0;
        sh->lanes = c->lanes ? c->lanes : draft_lanes(t->draft, node);
    }
    const bool scans =
        pattern_of(t, node)->kind == PATTERN_SCAN; /* in strips of whole vectors, step by step: no rows begin */
    const Box   *box         = scans ? &s->box : &tiles_box(t, level, k)->middle;
    const double in_register = (double)t->draft->vector_bits / widest(t, node);
    if (scans) {
        sh->dim   = pattern_of(t, node)->across;
        sh->lanes = in_register;
    }
    sh->row = sh->dim >= 0 && sh->dim < s->rank ? (double)box_extent(box, sh->dim) : 1;
    if (sh->dim >= 0 && sh->dim < s->rank) {
        const Box *rows = scans || level <= row_level(t) ? box : &tiles_box(t, row_level(t), k)->middle;
        sh->whole = 1.25 * (double)box_extent(rows, sh->dim) > (double)(s->box.max[sh->dim] - s->box.min[sh->dim]);
    }
    if (sh->fast >= 0 && sh->fast < s->rank)
        sh->row *= (double)box_extent(box, sh->fast);
    sh->registers    = sh->lanes > in_register ? sh->lanes / in_register : 1;
    sh->in_registers = c->nest ? sums_in_nest(c->nest)
                               : c->where == WHERE_DEFAULT || (tiles_role(t, k) == ROLE_INSIDE &&
                                                               s->kind == NODE_REDUCTION && sh->row <= 4 * sh->lanes);
}

/* Registers that are computed for each point: the inverse of the lanes that are in use. */
static double vectors_per_point(const Shape *sh)
{
    if (sh->dim < 0 || sh->row < sh->lanes || sh->row < 1)
        return 1;
    const double vectors = (double)(int64_t)((sh->row + sh->lanes - 1) / sh->lanes);
    return vectors * sh->registers / sh->row;
}

/* Moves a scan along the dimension of its vectors, or does a scatter write where data says? Then one point comes after
 * the other. */
static bool one_by_one(const GraphNode *s, int def, const Shape *sh)
{
    if (def == 0 || (s->kind != NODE_SCAN && s->kind != NODE_SCATTER))
        return false;
    return sh->dim < 0 || !s->func->updates[def - 1].is_free[sh->dim];
}

/* ---- What is inlined ---------------------------------------------------------------------- */

static bool is_clamped(const AccessRange *r, int dim)
{
    return r->var == dim && (r->least > INT64_MIN || r->most < INT64_MAX);
}

/* The dimension of a producer whose elements lie side by side, as node `reader` finds them: in a copy that was made
 * for it, or where they are stored; of two that it runs over in one loop the slower one. */
static int dense_dim(const Draft *d, int producer, int reader, const Shape *sh)
{
    for (int i = 0; i < d->copy_count; i++)
        if (d->copies[i].of == producer && d->copies[i].reader == reader && d->copies[i].memory)
            return d->copies[i].memory[0];
    const int *memory = d->choices[producer].memory;
    return !memory ? 0 : memory[0] == sh->fast && memory[1] == sh->dim ? sh->dim : memory[0];
}

/* Lines that a dense access of so many bytes touches, as a part of those of a whole register. */
static double lines_touched(const Tiles *t, double bytes)
{
    const double whole = t->draft->vector_bits / 8.0;
    return bytes < whole ? (LINE + bytes) / (LINE + whole) : 1;
}

typedef struct Stride {
    int64_t num, den; /* places along the vectors for each of their points */
} Stride;

/* The stride of what is read through an edge. What was divided is rounded: times a number it is not what it was. */
static Stride stride_of(const Stride *reader, const AccessRange *r)
{
    Stride p = { reader->num < FAR ? reader->num * r->num : FAR, reader->den < FAR ? reader->den * r->den : FAR };
    while ((reader->den == 1 || r->den > 1) && p.num > 1 && p.den > 1 && p.num % 2 == 0 && p.den % 2 == 0)
        p = (Stride){ p.num / 2, p.den / 2 };
    return p;
}

/* How many loads take the place of one dense one: see above. Reader: its stride, if it is inlined. By data: so is its
 * place. */
static double load_weight(const Tiles *t, int k, const Edge *e, const Shape *sh, double lanes, const Stride *reader,
                          bool by_data)
{
    const int        dim    = sh->dim;
    const GraphNode *p      = &t->graph->nodes[e->producer];
    const int        dense  = dense_dim(t->draft, e->producer, t->nodes[k], sh);
    bool             across = false;
    for (int d = 0; d < p->rank; d++)
        across |= d != dense && e->access[d].var == dim;
    if (pattern_of(t, t->nodes[k])->kind == PATTERN_SCAN)
        return 2; /* a copy of it is dense */
    if (lanes > 1 && by_data && !e->gathers && !across)
        return 0.75 * lanes; /* where it is was found out before */
    if (lanes > 1 && (across || e->gathers || (!sh->whole && p->rank && is_clamped(&e->access[dense], dim))))
        return 1.5 * lanes;
    if (!p->rank || e->access[dense].var != dim || dim < 0 || lanes <= 1)
        return 1;
    const Stride stride = stride_of(reader, &e->access[dense]);
    if (stride.num > 1)
        return stride.num <= 4 && stride.den == 1 ? (double)stride.num + 1 : 1.5 * lanes;
    if (stride.den > 1)
        return reader->den > 1 && e->access[dense].den > 1 && !e->access[dense].exact ? 1.5 * lanes : 2;
    return lines_touched(t, lanes * (double)p->bytes);
}

static double defs_ratio(const GraphNode *s, int def)
{
    return s->defs[0].points > 0 ? s->defs[def].points / s->defs[0].points : 1;
}

/* Boxes of what one point of node k, or the copies of a tile, needs of what is inlined into it and read. */
static void unit_boxes(const Tiles *t, int k, const Shape *sh, Box *boxes)
{
    const int node = t->nodes[k], head = t->group.head;
    Box       unit = tiles_box(t, 0, k)->middle;
    for (int d = 0; d < t->graph->nodes[node].rank; d++) {
        const int64_t middle = unit.min[d] + (unit.max[d] - unit.min[d]) / 2, copies = sh ? sh->copies[d] : 1;
        unit.min[d] = middle;
        unit.max[d] = middle + copies - 1 < unit.max[d] || middle == unit.max[d] ? middle + copies - 1 : unit.max[d];
    }
    for (int i = 0; i < t->node_count; i++)
        boxes[t->nodes[i]].max[0] = boxes[t->nodes[i]].min[0] - 1;
    boxes[node] = unit;
    int *among = ARENA_ARRAY(t->arena, int, (size_t)t->inner_count), count = 0;
    for (int i = 0; i < t->inner_count && t->inner[i] <= node; i++)
        if (t->inner[i] == node || tiles_role(t, tiles_find(t, t->inner[i])) == ROLE_INLINED)
            among[count++] = t->inner[i];
    t->given[head] = false;
    t->given[node] = true;
    graph_regions_among(t->graph, among, count, t->given, t->member, boxes);
    t->given[node] = false;
    t->given[head] = true;
}

typedef struct Walk {
    const Tiles *t;
    int          k;
    const Shape *sh;
    double       lanes;
    double      *times;      /* by k: how often a node is computed or read for each point */
    double      *heavy;      /* the same for loads, with their weights */
    Box         *one, *tile; /* by node of the graph; NULL: not needed */
    Stride      *stride;     /* by k: of what is inlined */
    uint32_t    *by_data;    /* by k: dimensions in which data decide the places, through what is inlined */
    double       copied;     /* loads of copies of rows, and the stores into them */
} Walk;

static bool inlines_any(const Tiles *t, int k)
{
    const GraphNode *s = &t->graph->nodes[t->nodes[k]];
    for (int i = 0; i < s->in_count; i++)
        if (tiles_role(t, tiles_find(t, s->in[i]->producer)) == ROLE_INLINED)
            return true;
    return false;
}

/* The part of the accesses of a node that is left: each place once, and copies share. */
static double shared(const Walk *w, int j)
{
    const int    node = w->t->nodes[j], rank = w->t->graph->nodes[node].rank;
    const double reads = w->times[j], one = w->one ? (double)box_points(&w->one[node], rank) : 0;
    double       places = one > 0 && one < reads ? one : reads;
    if (w->tile && one > 0) {
        const double copies = (double)box_points(&w->tile[node], rank) / w->sh->copied;
        places              = copies < places ? copies : places;
    }
    return places / reads;
}

/* Loads that do not depend on the vector's dimension are the same for all registers of a vector. */
static double for_all_registers(const Walk *w, const Edge *e)
{
    if (e->consumer != w->t->nodes[w->k] || w->sh->registers <= 1)
        return 1;
    for (int d = 0; d < w->t->graph->nodes[e->producer].rank; d++)
        if (e->access[d].var == w->sh->dim || e->gathers)
            return 1;
    return 1 / w->sh->registers;
}

/* The same for all points: computed once, outside of all loops. */
static bool is_invariant(const Tiles *t, const Edge *e)
{
    bool same = !e->gathers && t->graph->nodes[e->consumer].defs[e->update + 1].steps <= 1;
    for (int d = 0; d < t->graph->nodes[e->producer].rank; d++)
        same &= e->access[d].var < 0;
    return same;
}

/* Steps of a definition for each point of node k, as they are taken. */
static double steps_of(const Tiles *t, int k, int def)
{
    const GraphNode *s = &t->graph->nodes[t->nodes[k]];
    return def ? defs_ratio(s, def) * pattern_work_share(t->draft, t->nodes[k]) : s->begun;
}

/* Adds what node c reads, for each of its `times`, to its producers. */
static void read_of(Walk *w, int c)
{
    const GraphNode *s = &w->t->graph->nodes[w->t->nodes[c]];
    for (int i = 0; i < s->in_count; i++) {
        const Edge *e = s->in[i];
        const int   j = tiles_find(w->t, e->producer);
        if (is_invariant(w->t, e))
            continue;
        const double   times = w->times[c] * steps_of(w->t, c, e->update + 1), reads = times * e->accesses;
        const uint32_t by = edge_by_data(w->t->graph, e, w->by_data[c]);
        const double   chained =
            e->gathers && w->by_data[c] ? 2 : 1; /* a table, at what was gathered: one waits for the other */
        const double weight = chained * load_weight(w->t, w->k, e, w->sh, w->lanes, &w->stride[c], by != 0);
        w->by_data[j] |= by;
        if (c == w->k && row_copy_is_made(w->t->draft, e)) {
            w->times[j] += times * row_copy_points(e);
            w->copied += reads * weight + times * row_copy_points(e);
            continue;
        }
        w->times[j] += reads;
        if (w->sh->dim >= 0 && w->sh->dim < w->t->graph->nodes[e->producer].rank &&
            e->access[w->sh->dim].var == w->sh->dim)
            w->stride[j] = stride_of(&w->stride[c], &e->access[w->sh->dim]);
        w->heavy[j] += reads * weight * for_all_registers(w, e);
    }
}

/* Loads from another cache where the rows that a point reads fall on the same lines of the first: those of a picture
 * whose rows are whole pages long, and more than a cache keeps apart. */
static double conflicts(const Walk *w, int j)
{
    enum { PAGE = 4096, WAYS = 8 };
    const GraphNode *p    = &w->t->graph->nodes[w->t->nodes[j]];
    double           rows = 1;
    for (int d = 1; w->one && d < p->rank; d++)
        rows *= (double)(w->one[w->t->nodes[j]].max[d] - w->one[w->t->nodes[j]].min[d] + 1);
    const int64_t row = p->rank ? box_extent(&p->box, 0) * p->bytes : 0;
    return tiles_role(w->t, j) == ROLE_OUTSIDE && row && row % PAGE == 0 && rows > WAYS ? CONFLICT : 1;
}

/* Operations and loads for each point of node k, of all its definitions and of what is inlined. */
static KernelCost per_point(const Tiles *t, int k, const Shape *sh)
{
    const size_t n = (size_t)t->node_count, all = (size_t)t->graph->node_count;
    Walk         w = { .t       = t,
                       .k       = k,
                       .sh      = sh,
                       .lanes   = sh->row < sh->lanes ? 1 : sh->lanes / sh->registers,
                       .times   = ARENA_ARRAY(t->arena, double, n),
                       .heavy   = ARENA_ARRAY(t->arena, double, n),
                       .stride  = ARENA_ARRAY(t->arena, Stride, n),
                       .by_data = ARENA_ARRAY(t->arena, uint32_t, n) };
    KernelCost   c = { 0 };
    if (inlines_any(t, k) || sh->copied > 1)
        unit_boxes(t, k, NULL, w.one = ARENA_ARRAY(t->arena, Box, all));
    if (sh->copied > 1)
        unit_boxes(t, k, sh, w.tile = ARENA_ARRAY(t->arena, Box, all));
    w.times[k] = 1;
    for (size_t j = 0; j < n; j++)
        w.stride[j] = (Stride){ 1, 1 };
    for (int j = k; j >= 0; j--) {
        const GraphNode *s = &t->graph->nodes[t->nodes[j]];
        if (w.times[j] <= 0)
            continue;
        const double part = j == k ? 1 : shared(&w, j);
        w.times[j] *= part;
        if (j != k && tiles_role(t, j) != ROLE_INLINED) {
            c.loads += w.heavy[j] * part * conflicts(&w, j);
            continue;
        }
        c.bounded |= s->reads_size;
        for (int i = 0; i < s->def_count; i++)
            c.ops += w.times[j] * steps_of(t, j, i) * s->defs[i].ops;
        read_of(&w, j);
    }
    c.loads += w.copied;
    return c;
}

/* ---- All ---------------------------------------------------------------------------------- */

/* Operations' time that the steps of an update take beyond its own operations, for each point and register. */
static double waits_of(const GraphNode *s, int def, const Shape *sh, const KernelCost *point)
{
    const double steps = defs_ratio(s, def), length = steps * (s->defs[def].ops + s->defs[def].loads + 1),
                 serial = LATENCY * steps;
    const double ahead = length < WINDOW ? WINDOW / length : 1, chains = sh->registers * sh->copied * ahead;
    const double taken = serial / chains;
    return taken > point->ops ? taken - point->ops : 0;
}

/* Are there loops over steps that are not copies? */
static bool loops_over_steps(const MemberNest *n)
{
    bool any = !n;
    for (int i = 0; n && i < n->count; i++)
        any |= n->loops[i].dim >= STEP_DIM && !n->loops[i].unroll;
    return any;
}

/* What the steps of an update take beside their operations, for each point and register. */
static double stepping(const Tiles *t, int k, int def, const Shape *sh)
{
    const GraphNode *s = &t->graph->nodes[t->nodes[k]];
    if (s->defs[def].steps <= 1 || !sh->in_registers || !loops_over_steps(t->draft->choices[t->nodes[k]].nest))
        return 0;
    return defs_ratio(s, def) * (s->defs[def].gathers ? STEP_BY_DATA : STEP) / (sh->registers * sh->copied);
}

KernelCost kernel_cost(const Tiles *t, int k, double points)
{
    const GraphNode *s = &t->graph->nodes[t->nodes[k]];
    Shape            sh;
    shape_of(t, k, &sh);
    const double per    = vectors_per_point(&sh);
    KernelCost   c      = per_point(t, k, &sh);
    const double narrow = s->wide > 0 ? (double)s->bytes * 8 / s->wide : 1;
    c.stores            = s->begun * (sh.lanes > 1 && sh.registers <= 1
                                          ? narrow * lines_touched(t, sh.lanes * (s->wide > 0 ? s->wide : 8) / 8)
                                          : narrow);
    double vectors      = per;
    for (int i = 1; i < s->def_count; i++) {
        const double steps = defs_ratio(s, i);
        if (one_by_one(s, i, &sh)) {
            const Pattern *pattern = pattern_of(t, t->nodes[k]);
            vectors                = pattern->kind == PATTERN_PRIVATIZE
                                         ? per
                                         : 1; /* what is counted by parts is computed in vectors before */
            c.loads += steps / vectors;
            c.stores += steps / vectors;
            c.waits += LATENCY * steps / vectors / (pattern->kind == PATTERN_PRIVATIZE ? pattern->ways : 1);
        } else if (sh.in_registers) {
            c.ops += stepping(t, k, i, &sh);
            c.waits += waits_of(s, i, &sh, &c);
        } else {
            c.loads += s->defs[i].adds ? steps : 0;
            c.stores += steps * narrow;
        }
    }
    const double at_once = sh.row * sh.copied;
    return (KernelCost){ points * vectors * c.ops,
                         points * vectors * c.loads,
                         points * vectors * c.stores,
                         points * vectors * c.waits,
                         (at_once > 1 ? points / at_once : points) * s->begun,
                         c.bounded };
}
