/* SPDX-License-Identifier: MIT */
/* Scans: vectors across the recursion, strips of them in parallel, all definitions of a strip while it is in the
 * cache.
 *
 *     rows.stage(wide).compute_root().split(y, yo, yi, 32).split(yi, ym, yu, 4, tail: guard).split(x, xo, xi, 16)
 *         .reorder(yu, xi, ym, xo, yo, c).parallel(yo).vectorize(xi).unroll(yu)
 *     rows.compute_at(rows.stage, yo).reorder_storage(y, x, c).reorder(y, x, c).vectorize(y, 32)
 *     rows.update(0).reorder(y, i, c).vectorize(y, 32)
 *
 * A copy for all readers takes a strip from its storage, or the one reader itself does, if it reads each point once
 * (the scan reader). Vectors are along the first dimension that no update scans: `across`. Where that is not x, a
 * strip is stored transposed, with `across` innermost; the copy transposes blocks of it in registers, and so do copies
 * of what the strip reads. A scan that only another scan reads has its copy in the memory order of that reader, inside
 * the reader's loops over the dimensions that neither scans: a channel at a time. */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern_forms.h"

/* ---- Facts ------------------------------------------------------------------------------ */

static uint32_t all_dims(const Func *f)
{
    return (1u << f->rank) - 1;
}

/* The dimensions that some update scans. */
uint32_t scan_dims(const Draft *d, int s)
{
    const Func *f    = d->graph->nodes[s].func;
    uint32_t    dims = 0;
    for (int k = 0; k < f->update_count; k++)
        dims |= all_dims(f) & ~d->facts[s].defs[k + 1].free;
    return dims;
}

/* The dimensions of the strip besides `across`: x is one, because blocks of it are transposed. The others have loops
 * outside. */
uint32_t scan_inner_dims(const Draft *d, int s)
{
    return (scan_dims(d, s) | 1u) & ~(1u << d->patterns[s].across);
}

uint32_t scan_outer_dims(const Draft *d, int s)
{
    return all_dims(d->graph->nodes[s].func) & ~(scan_inner_dims(d, s) | 1u << d->patterns[s].across);
}

/* Are points along `across` independent in all definitions, with no bounds over it? */
static bool is_independent(const Draft *d, int s, int across)
{
    const Func *f = d->graph->nodes[s].func;
    for (int k = 0; k < f->update_count; k++) {
        const DefFacts *facts = &d->facts[s].defs[k + 1];
        if (facts->other_points || !(facts->free & 1u << across) || (facts->bounding & FREE_VARIABLES))
            return false;
    }
    return true;
}

/* Can all its readers be given a copy: are they functions whose text is unchanged? */
static bool may_copy(const Draft *d, int s)
{
    for (size_t i = 0; i < d->facts[s].readers.count; i++) {
        const Func *reader = d->facts[s].readers.at[i].func;
        const int   at     = d->graph->of_func[reader->id];
        if (reader->kind != FUNC_DEFINED ||
            (at >= 0 && d->patterns[at].kind != PATTERN_NONE && d->patterns[at].kind != PATTERN_SCAN &&
             d->patterns[at].kind != PATTERN_SCAN_READER))
            return false;
    }
    for (int i = 0; i < d->copy_count; i++)
        if (d->copies[i].of == s || d->copies[i].reader == s)
            return false;
    return d->facts[s].readers.count > 0 && name_is_free(d->graph->pipeline, d->graph->nodes[s].func->name, ".stage");
}

bool scan_has_pattern(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    const Pattern   *sp   = &d->patterns[s];
    if (node->kind != NODE_SCAN || node->is_output || sp->kind != PATTERN_SCAN)
        return false;
    const bool in_range = sp->across >= 0 && sp->across < node->rank && sp->rows >= 2 && sp->rows <= MOST_SCAN_WIDTH;
    return in_range && is_independent(d, s, sp->across) && may_copy(d, s);
}

int scan_only_reader(const Draft *d, int s)
{
    const FuncFacts *facts = &d->facts[s];
    for (size_t i = 1; i < facts->readers.count; i++)
        if (facts->readers.at[i].func != facts->readers.at[0].func)
            return -1;
    return facts->readers.count ? d->graph->of_func[facts->readers.at[0].func->id] : -1;
}

/* Does the reader, also a scan in strips, read s at its own point along all its outer dimensions? */
bool scan_read_at_own_outer_point(const Draft *d, int s, int reader)
{
    const GraphNode *node  = &d->graph->nodes[s];
    const uint32_t   outer = scan_outer_dims(d, reader);
    for (int i = 0; i < node->out_count; i++)
        for (int k = 0; k < node->rank; k++) {
            if ((outer & 1u << k) && !access_is_identity(&node->out[i]->access[k], k))
                return false;
        }
    return outer && node->rank == d->graph->nodes[reader].rank;
}

bool scan_applies(const Draft *d, int s)
{
    return scan_has_pattern(d, s) && (d->choices[s].where == WHERE_ROOT || d->choices[s].where == WHERE_INSIDE);
}

/* Can the copy of a scan be inside the outer loops of its enclosing scan, which is its one reader? */
static bool may_be_nested(const Draft *d, int s, int reader)
{
    if (d->choices[s].where != WHERE_ROOT || reader < 0 || d->patterns[s].enclosing_scan != reader + 1)
        return false;
    return d->patterns[reader].kind == PATTERN_SCAN && scan_read_at_own_outer_point(d, s, reader);
}

void scan_legalize(Draft *d, int s)
{
    Pattern *sp = &d->patterns[s];
    if (d->choices[s].where == WHERE_ROOT)
        sp->partner = 0;
    if (sp->dense != sp->across &&
        (sp->dense < 0 || sp->dense >= d->graph->nodes[s].rank || !(scan_inner_dims(d, s) & 1u << sp->dense)))
        sp->dense = 0;
    const int reader = scan_only_reader(d, s);
    if (sp->enclosing_scan && !may_be_nested(d, s, reader))
        sp->enclosing_scan = 0;
}

/* ---- Scan readers ----------------------------------------------------------------------- */

/* Is nothing else inside the loops of the group? */
bool scan_is_alone(const Draft *d, int group, int scan)
{
    for (int s = 0; s < d->graph->node_count; s++)
        if (s != scan && d->choices[s].group == group &&
            (d->choices[s].where == WHERE_INSIDE || d->choices[s].where == WHERE_DEFAULT))
            return false;
    for (int i = 0; i < d->copy_count; i++)
        if (d->choices[d->copies[i].reader].group == group)
            return false;
    return true;
}

bool scan_reader_applies(const Draft *d, int s)
{
    const int     scan = d->patterns[s].partner - 1;
    const Choice *c    = &d->choices[s];
    if (d->graph->nodes[s].kind != NODE_PURE || c->where != WHERE_ROOT || !d->groups[c->group].loop_count)
        return false;
    if (scan < 0 || scan >= s || !scan_has_pattern(d, scan) || d->patterns[scan].partner != s + 1)
        return false;
    if (d->graph->nodes[scan].rank != d->graph->nodes[s].rank || d->choices[scan].where != WHERE_INSIDE)
        return false;
    return d->choices[scan].group == c->group && scan_is_alone(d, c->group, scan);
}

/* ---- The text --------------------------------------------------------------------------- */

/* ", y, c": these dimensions, the first first. */
static void print_dims(Text *out, const Func *f, uint32_t dims)
{
    for (int k = 0; k < f->rank; k++)
        if (dims & 1u << k)
            text_printf(out, ", %s", f->args[k]);
}

/* The loop over strips of a copy or reader of the scan. */
static const char *strip_name(Arena *arena, const Func *f, int across)
{
    LoopNames n = loop_names(arena, f, -1);
    return loop_name(&n, f->args[across], "o");
}

/* Loops over blocks that transpose `from`, dense where it is read, and `to`, dense where it is written; `rest` in
 * between and outside. `strips`: of `from`; 0: none. */
static void print_transpose(Text *out, const Func *f, int from, int to, uint32_t rest, uint32_t outer, int64_t strips,
                            int lanes)
{
    LoopNames   n  = loop_names(out->arena, f, -1);
    const char *so = loop_name(&n, f->args[from], "o"),
               *si = strips ? loop_name(&n, f->args[from], "i") : f->args[from];
    const char *sm = loop_name(&n, f->args[from], "m"), *su = loop_name(&n, f->args[from], "u");
    const char *to_o = loop_name(&n, f->args[to], "o"), *to_i = loop_name(&n, f->args[to], "i");
    if (strips)
        text_printf(out, ".split(%s, %s, %s, %lld)", f->args[from], so, si, (long long)strips);
    text_printf(out, ".split(%s, %s, %s, %d, tail: guard).split(%s, %s, %s, %d).reorder(%s, %s, %s, %s", si, sm, su,
                SCAN_TRANSPOSED, f->args[to], to_o, to_i, lanes, su, to_i, sm, to_o);
    print_dims(out, f, rest);
    if (strips)
        text_printf(out, ", %s", so);
    print_dims(out, f, outer);
    text_add(out, ")");
    if (strips)
        text_printf(out, ".parallel(%s)", so);
    text_printf(out, ".vectorize(%s).unroll(%s)", to_i, su);
}

/* The loops that take strips from the scan s to a storage where `dense` is dense. */
static void print_taker_loops(Text *out, const Draft *d, int s, const Func *f, int dense)
{
    const Pattern *sp    = &d->patterns[s];
    const int      lanes = stored_lanes(d, s);
    if (dense != sp->across) {
        print_transpose(out, f, sp->across, dense, scan_inner_dims(d, s) & ~(1u << dense), scan_outer_dims(d, s),
                        sp->rows, lanes);
        return;
    }
    LoopNames   n = loop_names(out->arena, f, -1);
    const char *o = loop_name(&n, f->args[sp->across], "o"), *i = loop_name(&n, f->args[sp->across], "i");
    text_printf(out, ".split(%s, %s, %s, %lld).reorder(%s", f->args[sp->across], o, i, (long long)sp->rows, i);
    print_dims(out, f, scan_inner_dims(d, s));
    text_printf(out, ", %s", o);
    print_dims(out, f, scan_outer_dims(d, s));
    text_printf(out, ").parallel(%s).vectorize(%s, %d)", o, i, lanes);
}

/* ".reorder(y, x, c)", or reorder_storage: that dimension first. */
static void print_first(Text *out, const char *what, const Func *f, int first)
{
    if (f->rank < 2 || first == 0)
        return;
    text_printf(out, ".%s(%s", what, f->args[first]);
    print_dims(out, f, all_dims(f) & ~(1u << first));
    text_add(out, ")");
}

static const char *taker_name(Arena *arena, const Draft *d, int s)
{
    const int reader = d->patterns[s].partner;
    return reader ? d->graph->nodes[reader - 1].func->name
                  : arena_printf(arena, "%s.stage", d->graph->nodes[s].func->name);
}

static const Func *taker_func(const Draft *d, int s)
{
    return d->graph->nodes[d->patterns[s].partner ? d->patterns[s].partner - 1 : s].func;
}

static void print_copy(Text *out, const Draft *d, int s)
{
    const Pattern *sp = &d->patterns[s];
    const Func    *f  = d->graph->nodes[s].func;
    text_printf(out, "%s.stage(", f->name);
    const Func *last = NULL;
    for (size_t i = 0; i < d->facts[s].readers.count; i++) {
        const Func *reader = d->facts[s].readers.at[i].func;
        if (reader != last)
            text_printf(out, "%s%s", last ? ", " : "", reader->name);
        last = reader;
    }
    text_add(out, ")");
    if (sp->enclosing_scan) {
        const uint32_t outer  = scan_outer_dims(d, sp->enclosing_scan - 1);
        int            inmost = 0;
        while (!(outer & 1u << inmost))
            inmost++;
        text_printf(out, ".compute_at(%s, %s)", taker_name(out->arena, d, sp->enclosing_scan - 1),
                    taker_func(d, sp->enclosing_scan - 1)->args[inmost]);
    } else {
        text_add(out, ".compute_root()");
    }
    print_first(out, "reorder_storage", f, sp->dense);
    print_taker_loops(out, d, s, f, sp->dense);
    text_add(out, "\n");
}

/* ".reorder(y, i, c)": vectors, steps, and what is outside. */
static void print_update(Text *out, const Draft *d, int s, int k)
{
    const Pattern *sp   = &d->patterns[s];
    const Func    *f    = d->graph->nodes[s].func;
    const Update  *u    = &f->updates[k];
    const uint32_t free = d->facts[s].defs[k + 1].free & ~(1u << sp->across);
    text_printf(out, "%s.update(%d)", f->name, k);
    if (u->rvar_count || free) {
        text_printf(out, ".reorder(%s", f->args[sp->across]);
        for (int i = u->rvar_count - 1; i >= 0; i--)
            text_printf(out, ", %s", u->rvars[i].name);
        print_dims(out, f, free);
        text_add(out, ")");
    }
    text_printf(out, ".vectorize(%s, %lld)\n", f->args[sp->across], (long long)sp->rows);
}

/* ---- What a strip reads ------------------------------------------------------------------- */

typedef struct Reading {
    ExprPool   *pool;
    const Func *producer;
    const char *along; /* the variable of `across` */
    int         across;
    bool        any, ok;
} Reading;

static void note_read(const Expr *e, void *user)
{
    Reading *r = user;
    if (e->op != EX_CALL || e->u.call.func != r->producer)
        return;
    r->any = true;
    r->ok &= (int)e->count > r->across && expr_is_over(r->pool, e->args[r->across], r->along) &&
             !expr_is_over(r->pool, e->args[0], r->along);
}

/* Is p read along its columns only, so that a copy of a strip is best transposed? */
static bool is_read_by_columns(const Draft *d, int p, int s)
{
    const GraphNode *node = &d->graph->nodes[p];
    const Func      *f    = d->graph->nodes[s].func;
    Reading          r    = { &d->graph->pipeline->exprs, node->func, f->args[d->patterns[s].across],
                              d->patterns[s].across,      false,      true };
    if (!d->patterns[s].across || p == s ||
        (d->patterns[p].kind == PATTERN_SCAN && d->choices[p].where == WHERE_ROOT) ||
        node->rank <= d->patterns[s].across ||
        (node->kind != NODE_INPUT && d->choices[p].where != WHERE_ROOT &&
         !(d->choices[p].where == WHERE_INLINE && node->kind == NODE_PURE)))
        return false;
    for (int k = -1; k < f->update_count; k++)
        def_visit(r.pool, f, k, note_read, &r);
    return r.any && r.ok;
}

static void print_feeds(Text *out, const Draft *d, int s)
{
    const int across = d->patterns[s].across;
    for (int p = 0; p < s; p++) {
        const Func *f = d->graph->nodes[p].func;
        if (!is_read_by_columns(d, p, s))
            continue;
        text_printf(out, "%s.stage(%s).compute_at(%s, %s)", f->name, d->graph->nodes[s].func->name,
                    taker_name(out->arena, d, s), strip_name(out->arena, taker_func(d, s), across));
        print_first(out, "reorder_storage", f, across);
        print_transpose(out, f, 0, across, all_dims(f) & ~(1u | 1u << across), 0, 0, stored_lanes(d, p));
        text_add(out, "\n");
    }
}

/* Do the steps of an update read p in narrow, unprefetched pieces of rows: from its own storage, or inside the strip?
 */
static bool is_unprefetched(const Draft *d, int p, int s)
{
    const bool nested = d->patterns[p].kind == PATTERN_SCAN && d->patterns[p].enclosing_scan == s + 1;
    return d->graph->nodes[p].rank > 1 && !is_read_by_columns(d, p, s) &&
           (d->graph->nodes[p].kind == NODE_INPUT ||
            (d->choices[p].where == WHERE_ROOT && (d->patterns[p].kind != PATTERN_SCAN || nested)));
}

static void print_prefetches(Text *out, const Draft *d, int s, int k)
{
    const Func   *f = d->graph->nodes[s].func;
    const Update *u = &f->updates[k];
    for (int p = 0; u->rvar_count && p < s; p++) {
        bool reads = false;
        for (size_t i = 0; i < d->facts[p].readers.count; i++)
            reads |= d->facts[p].readers.at[i].func == f && d->facts[p].readers.at[i].update == k;
        if (reads && is_unprefetched(d, p, s))
            text_printf(out, "%s.update(%d).prefetch(%s%s, %s, %d)\n", f->name, k, d->graph->nodes[p].func->name,
                        d->patterns[p].kind == PATTERN_SCAN ? ".stage" : "", u->rvars[u->rvar_count - 1].name,
                        SCAN_AHEAD);
    }
}

void scan_print(Text *out, const Draft *d, int s)
{
    const Pattern *sp = &d->patterns[s];
    const Func    *f  = d->graph->nodes[s].func;
    if (!sp->partner)
        print_copy(out, d, s);
    text_printf(out, "%s.compute_at(%s, %s)", f->name, taker_name(out->arena, d, s),
                strip_name(out->arena, taker_func(d, s), sp->across));
    print_first(out, "reorder_storage", f, sp->across);
    print_first(out, "reorder", f, sp->across);
    text_printf(out, ".vectorize(%s, %lld)\n", f->args[sp->across], (long long)sp->rows);
    for (int k = 0; k < f->update_count; k++)
        print_update(out, d, s, k);
    print_feeds(out, d, s);
    for (int p = 0; p < s; p++)
        if (d->patterns[p].kind == PATTERN_SCAN && d->patterns[p].enclosing_scan == s + 1)
            scan_print(out, d, p);
    for (int k = 0; k < f->update_count; k++)
        print_prefetches(out, d, s, k);
}

/* Are the transposed vectors whole cache lines? Else a line is filled in several visits, with lines of other rows
 * between them: streamed so, iir_blur took 50 ms with vectors of 32 bytes, 26 with normal stores (AMD Zen 3, one
 * thread). */
static bool fills_lines(const Draft *d, int s)
{
    const int scan = d->patterns[s].partner - 1;
    return d->patterns[scan].across == 0 || stored_lanes(d, scan) * d->graph->nodes[s].bytes >= LINE_BYTES;
}

void scan_reader_print(Text *out, const Draft *d, int s)
{
    const Func *f = d->graph->nodes[s].func;
    text_add(out, f->name);
    if (!d->graph->nodes[s].is_output)
        text_add(out, ".compute_root()");
    print_taker_loops(out, d, d->patterns[s].partner - 1, f, 0);
    text_add(out, d->groups[d->choices[s].group].stream && fills_lines(d, s) ? ".stream()\n" : "\n");
}

bool scan_is_nested(const Draft *d, int s)
{
    return d->patterns[s].kind == PATTERN_SCAN && d->patterns[s].enclosing_scan;
}
