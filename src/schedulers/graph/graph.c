/* SPDX-License-Identifier: MIT */
/* The graph of a pipeline: nodes, edges, work.
 *
 * Takes   a finished pipeline and a binding.
 * Gives   the Graph of graph.h.
 * How     Regions come first. Then every definition is visited once more over its whole box, as for the regions. At
 *         each reachable access the evaluator knows the conditions on the way to it, and the index becomes an
 *         AccessRange (graph_access.c). All accesses of a definition to a producer are one edge: their hull. */
#include "schedulers/graph/graph_internal.h"

/* An edge while its accesses are collected. */
typedef struct Gather {
    Edge edge;
    VEC(const Expr *) calls; /* the distinct ones */
} Gather;

typedef struct Maker {
    Graph   *graph;
    Boxes    boxes;
    Regions  regions;
    Formulas formulas;
    Reader   reader;
    Arena   *scratch;
    bool     writing; /* the values of an update are visited */
    int     *edge_of; /* by producer: the edge of this definition; -1: none yet */
    VEC(Gather) edges;
} Maker;

/* ---- Accesses --------------------------------------------------------------------------- */

/* The value that an update replaces is no access. In its condition that holds only where the place consists of free
 * variables. */
static bool is_replaced_value(const Maker *m, const Expr *call)
{
    const Update *u    = m->reader.update < 0 ? NULL : &m->reader.func->updates[m->reader.update];
    bool          same = call_is_own_place(m->reader.func, u, call);
    for (uint32_t d = 0; same && !m->writing && d < call->count; d++)
        same = u->is_free[d];
    return same;
}

/* Components of a point are read together. */
static bool reads_same_point(const Expr *a, const Expr *b)
{
    bool same = true;
    for (uint32_t d = 0; same && d < a->count; d++)
        same = a->args[d] == b->args[d];
    return same;
}

/* Beyond MOST_COMPARED accesses duplicates are not looked for. */
static bool is_new_access(const Gather *g, const Expr *call)
{
    enum { MOST_COMPARED = 256 };
    for (size_t i = 0; i < g->calls.count && i < MOST_COMPARED; i++)
        if (reads_same_point(g->calls.at[i], call))
            return false;
    return true;
}

static Gather *find_edge(Maker *m, int producer, bool *found)
{
    int *at = &m->edge_of[producer];
    *found  = *at >= 0;
    if (!*found) {
        *at                = (int)m->edges.count;
        const Gather fresh = { .edge = { .producer = producer,
                                         .consumer = m->graph->of_func[m->reader.func->id],
                                         .update   = m->reader.update } };
        vec_push(m->scratch, &m->edges, fresh);
    }
    return &m->edges.at[*at];
}

static void record_access(void *user, const Expr *call, const Range *index)
{
    Maker    *m        = user;
    const int producer = m->graph->of_func[call->u.call.func->id];
    if (producer < 0 || is_replaced_value(m, call))
        return;
    bool    found;
    Gather *g = find_edge(m, producer, &found);
    for (uint32_t d = 0; d < call->count; d++) {
        const AccessRange now = index_access_range(&m->reader, call->args[d], index[d]);
        g->edge.access[d]     = found ? access_range_hull(&g->edge.access[d], &now, &m->reader.root) : now;
        g->edge.gathers |= (uint32_t)formulas_read(&m->formulas, call->args[d]) << d;
        g->edge.jumps |= m->reader.jumps;
    }
    if (is_new_access(g, call)) {
        g->edge.accesses++;
        vec_push(m->scratch, &g->calls, call);
    }
}

/* ---- Definitions ------------------------------------------------------------------------ */

static void begin_reader(Maker *m, const Func *f, int update, const Box *root)
{
    Reader *r = &m->reader;
    r->func   = f;
    r->update = update;
    r->root   = *root;
    r->fixed  = 0;
    r->stamp++;
    memset(m->edge_of, 0xFF, sizeof *m->edge_of * (size_t)m->graph->node_count);
}

static void visit_pure(Maker *m, const GraphNode *s)
{
    Evaluator *ev = &m->boxes.evaluator;
    begin_reader(m, s->func, -1, &s->box);
    environment_reset(ev);
    for (int d = 0; d < s->rank; d++)
        environment_bind(ev, s->func->args[d], range_int(s->box.min[d], s->box.max[d]));
    for (int c = 0; c < s->func->component_count; c++)
        visit(ev, s->func->values[c]);
}

/* As regions.c visits it, over the whole reduction domain. */
static void visit_update(Maker *m, const GraphNode *s, int update)
{
    Evaluator    *ev = &m->boxes.evaluator;
    const Func   *f  = s->func;
    const Update *u  = &f->updates[update];
    int64_t       lo[KN_MAX_RANK * 2], hi[KN_MAX_RANK * 2];
    begin_reader(m, f, update, &s->box);
    const int bound = update_bind(ev, f, update, &s->box, NULL, lo, hi);
    for (int i = 0; i < u->rvar_count && i <= bound; i++) {
        const bool fixed = !speaks_of_point(&m->reader, u->rvars[i].lo) && !speaks_of_point(&m->reader, u->rvars[i].hi);
        m->reader.fixed |= (uint64_t)fixed << i;
    }
    update_visit(ev, f, update, bound, &m->writing);
}

/* Adds how far one step of an update reads of its own function along each free dimension to lo and hi. false: it does
 * not read at its own coordinate plus constants. */
static bool add_step(Maker *m, const GraphNode *s, int update, const int64_t *step, int64_t *lo, int64_t *hi)
{
    Evaluator   *ev    = &m->boxes.evaluator;
    const size_t count = m->edges.count;
    int64_t      from[KN_MAX_RANK * 2], to[KN_MAX_RANK * 2];
    bool         fine = true;
    memset(m->edge_of, 0xFF, sizeof *m->edge_of * (size_t)m->graph->node_count);
    update_visit(ev, s->func, update, update_bind(ev, s->func, update, &s->box, step, from, to), &m->writing);
    const int at = m->edge_of[m->graph->of_func[s->func->id]];
    for (int d = 0; at >= 0 && d < s->rank; d++) {
        const AccessRange *r = &m->edges.at[at].edge.access[d];
        if (!s->func->updates[update].is_free[d])
            continue;
        fine &= r->var == d && r->num == 1 && r->den == 1;
        lo[d] += r->lo < 0 ? r->lo : 0;
        hi[d] += r->hi > 0 ? r->hi : 0;
    }
    m->edges.count = count;
    return fine;
}

/* The same for all steps of an update with one reduction variable, in turn. false: also where there are very many. */
static bool add_steps(Maker *m, const GraphNode *s, int update, const UpdateRegion *region, int64_t *lo, int64_t *hi)
{
    enum { MOST_STEPS = 64 };
    bool fine = s->func->updates[update].rvar_count == 1 && region->hi[0] - region->lo[0] <= MOST_STEPS;
    for (int64_t step = region->lo[0]; fine && step < region->hi[0]; step++)
        fine = add_step(m, s, update, &step, lo, hi);
    return fine;
}

/* A read whose place depends on a free variable moves with the accumulated shift of that variable. */
static void follow_shifts(Edge *e, int d, const GraphNode *s)
{
    AccessRange       *r = &e->access[d];
    const AccessRange *v = r->var >= 0 ? &e->access[r->var] : NULL;
    int64_t            lo, hi;
    if (!v)
        return;
    if (v->var == r->var && v->num == 1 && v->den == 1) {
        const int64_t down = v->lo < 0 ? v->lo : 0, up = v->hi > 0 ? v->hi : 0;
        r->lo += r->num * (r->num > 0 ? down : up);
        r->hi += r->num * (r->num > 0 ? up : down);
    } else {
        access_range_span(r, &s->box, &lo, &hi);
        *r = access_range_numbers(lo, hi, false);
    }
}

/* An update whose steps shift the box of its free variables (a time loop) reads the sum of all shifts. Which steps
 * matter for a part of it is not known. */
static void repeat_shifts(Maker *m, const GraphNode *s, int update, const UpdateRegion *region, double steps)
{
    const int at              = m->edge_of[m->graph->of_func[s->func->id]];
    int64_t   lo[KN_MAX_RANK] = { 0 }, hi[KN_MAX_RANK] = { 0 };
    for (size_t i = 0; i < m->edges.count; i++)
        for (int d = 0; m->edges.at[i].edge.update == update && &m->graph->nodes[m->edges.at[i].edge.consumer] == s &&
                        d < KN_MAX_RANK;
             d++)
            m->edges.at[i].edge.access[d].exact = false;
    const bool known = at >= 0 && add_steps(m, s, update, region, lo, hi);
    for (int d = 0; at >= 0 && d < s->rank; d++) {
        AccessRange *r = &m->edges.at[at].edge.access[d];
        if (!s->func->updates[update].is_free[d])
            continue;
        const bool        shifts = r->var == d && r->num == 1 && r->den == 1 && steps < 1e6;
        const int64_t     times  = (int64_t)(shifts ? steps : 0);
        const AccessRange far    = { .var   = d,
                                     .num   = 1,
                                     .den   = 1,
                                     .lo    = known ? lo[d] : r->lo * times,
                                     .hi    = known ? hi[d] : r->hi * times,
                                     .least = r->least,
                                     .most  = r->most };
        *r                       = shifts ? far : access_range_numbers(s->box.min[d], s->box.max[d], false);
    }
    for (int d = 0; at >= 0 && d < s->rank; d++)
        if (!s->func->updates[update].is_free[d])
            follow_shifts(&m->edges.at[at].edge, d, s);
}

/* C code reads what it has asked for, whatever part of its result is needed. */
static void visit_node(Maker *m, const GraphNode *s)
{
    begin_reader(m, s->func, -1, &s->box);
    for (int i = 0; i < s->func->stage_arg_count; i++) {
        const Func *f = s->func->stage_args[i].func;
        if (!f || m->graph->of_func[f->id] < 0)
            continue;
        const int        producer = m->graph->of_func[f->id];
        const GraphNode *read     = &m->graph->nodes[producer];
        bool             found;
        Gather          *g = find_edge(m, producer, &found);
        for (int d = 0; d < f->rank; d++)
            g->edge.access[d] = access_range_numbers(read->box.min[d], read->box.max[d], false);
        g->edge.accesses++;
    }
}

static double domain_steps(const Update *u, const UpdateRegion *r, int64_t *extents)
{
    double steps = 1;
    for (int i = 0; i < u->rvar_count; i++) {
        extents[i] = r->hi[i] > r->lo[i] ? r->hi[i] - r->lo[i] : 0;
        steps *= (double)extents[i];
    }
    return steps;
}

/* Points of the free variables, times steps. */
static double update_points(const GraphNode *s, const Update *u, double steps)
{
    double points = steps;
    for (int d = 0; d < s->rank; d++)
        if (u->is_free[d])
            points *= (double)box_extent(&s->box, d);
    return points;
}

static bool reads_itself(const Maker *m, const GraphNode *s, int update)
{
    for (size_t i = 0; i < m->edges.count; i++) {
        const Edge *e = &m->edges.at[i].edge;
        if (e->producer == e->consumer && &m->graph->nodes[e->consumer] == s && e->update == update)
            return true;
    }
    return false;
}

/* The fraction of the pure definition that is computed for an unconditional scan along one dimension that reads only
 * earlier points of itself: what its update does not write. (lower/loops/dead_init.c decides it; this is an estimate
 * from the boxes.) */
static double begun_part(const Maker *m, const GraphNode *s)
{
    const Update *u   = s->func->update_count ? &s->func->updates[0] : NULL;
    int           dim = -1, fixed = 0;
    for (int d = 0; u && d < s->rank; d++)
        if (!u->is_free[d]) {
            dim = d;
            fixed++;
        }
    const bool along_one = fixed == 1 && u->rvar_count == 1;
    if (!along_one || u->where || s->defs[1].adds || !reads_itself(m, s, 0))
        return 1;
    const double all = (double)box_extent(&s->box, dim), rest = all - s->defs[1].steps;
    return rest > 1 ? rest / all : 1 / all;
}

static void visit_defined(Maker *m, GraphNode *s)
{
    visit_pure(m, s);
    s->defs[0].steps  = 1;
    s->defs[0].points = (double)box_points(&s->box, s->rank);
    for (int u = 0; u < s->func->update_count; u++) {
        const UpdateRegion *r  = &m->regions.of[s->func->id].updates[u];
        s->defs[u + 1].extents = ARENA_ARRAY(m->graph->arena, int64_t, (size_t)s->func->updates[u].rvar_count);
        const double steps     = domain_steps(&s->func->updates[u], r, s->defs[u + 1].extents);
        visit_update(m, s, u);
        if (r->steps > 0)
            repeat_shifts(m, s, u, r, steps);
        s->defs[u + 1].steps  = steps;
        s->defs[u + 1].points = update_points(s, &s->func->updates[u], steps);
    }
    for (int d = 0; d < s->def_count; d++)
        formulas_work(&m->formulas, s, d - 1, &s->defs[d]);
    s->begun = begun_part(m, s);
}

/* ---- Nodes ----------------------------------------------------------------------------- */

static void add_nodes(Maker *m)
{
    kn_pipeline *p = m->graph->pipeline;
    Graph       *g = m->graph;
    g->of_func     = ARENA_ARRAY(g->arena, int, p->funcs.count);
    g->nodes       = ARENA_ARRAY(g->arena, GraphNode, p->funcs.count);
    for (size_t i = 0; i < p->funcs.count; i++) {
        const Func *f = p->funcs.at[i];
        g->of_func[i] = m->regions.of[i].needed ? g->node_count : -1;
        if (!m->regions.of[i].needed)
            continue;
        GraphNode *s = &g->nodes[g->node_count++];
        *s           = (GraphNode){ .func = f, .rank = f->rank, .box = m->regions.of[i].box, .begun = 1 };
        s->def_count = f->kind == FUNC_INPUT ? 0 : 1 + f->update_count;
        s->defs      = ARENA_ARRAY(g->arena, Work, (size_t)s->def_count);
        for (int c = 0; c < f->component_count; c++)
            s->bytes += (type_bits(f->types[c]) + 7) / 8;
        formulas_widths(&m->formulas, s);
    }
    g->order = ARENA_ARRAY(g->arena, int, (size_t)g->node_count);
    for (int i = 0; i < g->node_count; i++)
        g->order[i] = i;
    for (size_t i = 0; i < p->outputs.count; i++)
        if (g->of_func[p->outputs.at[i].func->id] >= 0)
            g->nodes[g->of_func[p->outputs.at[i].func->id]].is_output = true;
}

static bool writes_elsewhere(const Func *f)
{
    for (int u = 0; u < f->update_count; u++)
        for (int d = 0; d < f->rank; d++)
            if (!f->updates[u].is_free[d])
                return true;
    return false;
}

static NodeKind kind_of(const GraphNode *s)
{
    if (s->func->kind != FUNC_DEFINED)
        return s->func->kind == FUNC_INPUT ? NODE_INPUT : NODE_EXTERN;
    if (s->func->update_count == 0)
        return NODE_PURE;
    return s->self_count ? NODE_SCAN : writes_elsewhere(s->func) ? NODE_SCATTER : NODE_REDUCTION;
}

/* ---- Edges ------------------------------------------------------------------------------ */

static bool is_pointwise(const Graph *g, const Edge *e)
{
    const GraphNode *p = &g->nodes[e->producer], *c = &g->nodes[e->consumer];
    const bool       steps = e->update >= 0 && c->func->updates[e->update].rvar_count;
    if (e->accesses != 1 || p->rank != c->rank || steps || c->kind == NODE_EXTERN)
        return false;
    for (int d = 0; d < p->rank; d++)
        if (!access_is_identity(&e->access[d], d) || access_is_clamped(&e->access[d]))
            return false;
    return true;
}

static void count_edges(Graph *g)
{
    for (int i = 0; i < g->edge_count; i++) {
        const Edge *e = &g->edges[i];
        g->nodes[e->consumer].self_count += e->producer == e->consumer;
        g->nodes[e->consumer].in_count += e->producer != e->consumer;
        g->nodes[e->producer].out_count += e->producer != e->consumer;
    }
}

static void link_edges(Graph *g)
{
    count_edges(g);
    for (int i = 0; i < g->node_count; i++) {
        GraphNode *s = &g->nodes[i];
        s->in        = ARENA_ARRAY(g->arena, const Edge *, (size_t)s->in_count);
        s->out       = ARENA_ARRAY(g->arena, const Edge *, (size_t)s->out_count);
        s->self      = ARENA_ARRAY(g->arena, const Edge *, (size_t)s->self_count);
        s->kind      = kind_of(s);
        s->in_count = s->out_count = s->self_count = 0;
    }
    for (int i = 0; i < g->edge_count; i++) {
        Edge      *e = &g->edges[i];
        GraphNode *p = &g->nodes[e->producer], *c = &g->nodes[e->consumer];
        e->pointwise = is_pointwise(g, e);
        if (p == c) {
            c->self[c->self_count++] = e;
        } else {
            c->in[c->in_count++]   = e;
            p->out[p->out_count++] = e;
        }
    }
}

static void keep_edges(Maker *m)
{
    Graph *g      = m->graph;
    g->edge_count = (int)m->edges.count;
    g->edges      = ARENA_ARRAY(g->arena, Edge, m->edges.count);
    for (size_t i = 0; i < m->edges.count; i++)
        g->edges[i] = m->edges.at[i].edge;
    link_edges(g);
}

/* ---- The whole -------------------------------------------------------------------------- */

static bool make(Maker *m, const RunArgs *binding)
{
    Graph       *g = m->graph;
    kn_pipeline *p = g->pipeline;
    g->param       = ARENA_ARRAY(g->arena, kn_scalar, p->params.count);
    memcpy(g->param, binding->param, sizeof *g->param * p->params.count);
    boxes_init(&m->boxes, p, m->scratch, binding);
    if (!boxes_compute(&m->boxes, m->scratch, &m->regions)) {
        report_failure(&m->boxes);
        return false;
    }
    formulas_init(&m->formulas, p, m->scratch);
    add_nodes(m);
    m->edge_of                = ARENA_ARRAY(m->scratch, int, (size_t)g->node_count);
    m->reader.evaluator       = &m->boxes.evaluator;
    m->reader.coordinates     = ARENA_ARRAY(m->scratch, uint32_t, p->exprs.count);
    m->boxes.evaluator.user   = m;
    m->boxes.evaluator.record = record_access;
    for (int i = 0; i < g->node_count; i++) {
        GraphNode *s = &g->nodes[i];
        if (s->func->kind == FUNC_DEFINED)
            visit_defined(m, s);
        else if (s->func->kind == FUNC_STAGE)
            visit_node(m, s);
    }
    keep_edges(m);
    return true;
}

bool graph_make(kn_pipeline *p, Arena *arena, const RunArgs *binding, Graph *g)
{
    Arena scratch;
    *g = (Graph){ .pipeline = p, .arena = arena };
    scratch_begin(&scratch, p->cx);
    Maker      m  = { .graph = g, .scratch = &scratch };
    const bool ok = make(&m, binding);
    scratch_end(&scratch);
    return ok;
}
