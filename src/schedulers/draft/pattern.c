/* SPDX-License-Identifier: MIT */
/* Patterns: their table, and what they share. */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern_forms.h"

/* Does the pattern apply to the node where it is; its text; makes its numbers legal where it applies (NULL: they all
 * are). */
static const struct PatternInfo {
    bool (*applies)(const Draft *d, int s);
    void (*print)(Text *out, const Draft *d, int s);
    void (*legalize)(Draft *d, int s);
} forms[PATTERN_COUNT] = {
    [PATTERN_PRIVATIZE]   = { privatize_applies, privatize_print, NULL },
    [PATTERN_SCAN]        = { scan_applies, scan_print, scan_legalize },
    [PATTERN_SCAN_READER] = { scan_reader_applies, scan_reader_print, NULL },
    [PATTERN_SEPARATE]    = { separate_applies, separate_print, NULL },
    [PATTERN_GRID]        = { grid_applies, grid_print, NULL },
};

Pattern *patterns_new(const Graph *g, Arena *arena)
{
    return ARENA_ARRAY(arena, Pattern, (size_t)g->node_count + 1);
}

/* A scan whose steps are repeated in each tile, if the halo of a tile is small: what it reads of itself, along
 * dimensions with loops, is near. */
static bool is_short_scan(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    if (node->kind != NODE_SCAN || d->patterns[s].kind != PATTERN_NONE)
        return false;
    for (int i = 0; i < node->self_count; i++)
        for (int k = 0; k < node->rank; k++) {
            const AccessRange *r = &node->self[i]->access[k];
            if (!(d->facts[s].defs[node->self[i]->update + 1].free & 1u << k))
                continue;
            if (r->var != k || r->num != 1 || r->den != 1 ||
                (r->hi - r->lo) * 8 > (int64_t)node->box.max[k] - node->box.min[k])
                return false;
        }
    for (int k = 0; k < node->func->update_count; k++)
        if (!(d->facts[s].defs[k + 1].free & 1u))
            return false;
    return true;
}

bool pattern_may_join(const Draft *d, int s, int head)
{
    const NodeKind kind = d->graph->nodes[s].kind;
    if (d->patterns[head].kind == PATTERN_SCAN_READER)
        return d->patterns[head].partner == s + 1;
    return kind == NODE_PURE || kind == NODE_REDUCTION || is_short_scan(d, s);
}

static void legalize_pattern(Draft *d, int s)
{
    const PatternKind kind = d->patterns[s].kind;
    if (kind != PATTERN_NONE && (kind < 0 || kind >= PATTERN_COUNT || !forms[kind].applies(d, s)))
        d->patterns[s] = (Pattern){ .kind = PATTERN_NONE };
    else if (forms[kind].legalize)
        forms[kind].legalize(d, s);
}

void patterns_legalize_scan_readers(Draft *d)
{
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->patterns[s].kind == PATTERN_SCAN_READER)
            legalize_pattern(d, s);
}

/* Consumers first: they decide about their producers. */
void patterns_legalize(Draft *d)
{
    for (int s = d->graph->node_count; s-- > 0;)
        legalize_pattern(d, s);
}

double pattern_work_share(const Draft *d, int s)
{
    return d->patterns[s].kind == PATTERN_SEPARATE ? separate_work_share(d, s) : 1;
}

void pattern_print(Text *out, const Draft *d, int s)
{
    if (!scan_is_nested(d, s))
        forms[d->patterns[s].kind].print(out, d, s);
}

/* ---- Names ------------------------------------------------------------------------------ */

bool name_is_free(const kn_pipeline *p, const char *name, const char *suffix)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < p->funcs.count; i++)
        if (!strncmp(p->funcs.at[i]->name, name, length) && !strcmp(p->funcs.at[i]->name + length, suffix))
            return false;
    return true;
}

/* ---- Facts ------------------------------------------------------------------------------ */

typedef struct Search {
    const char *var;
    bool        found;
} Search;

static void note_variable(const Expr *e, void *user)
{
    Search *s = user;
    s->found |= e->op == EX_VAR && s->var == e->u.name;
}

bool expr_is_over(ExprPool *pool, const Expr *e, const char *var)
{
    Search s = { var, false };
    expr_visit(pool, e, note_variable, &s);
    return s.found;
}

bool update_combines(const Draft *d, int s)
{
    const DefFacts *facts = &d->facts[s].defs[1];
    return facts->combines && facts->rvars && !facts->bounding && !facts->bounds_read;
}

int stored_lanes(const Draft *d, int s)
{
    const Func *f    = d->graph->nodes[s].func;
    int         bits = 8;
    for (int c = 0; c < f->component_count; c++)
        bits = type_bits(f->types[c]) > bits ? type_bits(f->types[c]) : bits;
    return d->vector_bits / bits > 1 ? d->vector_bits / bits : 1;
}
