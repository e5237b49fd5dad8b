/* Special forms: the table of them, and what they have in common. */
#include "schedulers/draft_parts.h"
#include "schedulers/special_parts.h"

/* Does the form apply to the stage where it is; the choice of it (NULL: another form's); its text; its legal numbers
 * where it applies (NULL: they all are). */
static const struct FormInfo {
    bool (*applies)(const Draft *d, int s);
    void (*begin)(Draft *d, int s, const Machine *m);
    void (*print)(Text *out, const Draft *d, int s);
    void (*settle)(Draft *d, int s);
} forms[SPECIAL_FORMS] = {
    [SPECIAL_PARTS]    = { parts_apply, parts_begin, parts_print, NULL },
    [SPECIAL_SCAN]     = { scan_apply, scan_begin, scan_print, scan_settle },
    [SPECIAL_HOST]     = { host_apply, NULL, host_print, NULL },
    [SPECIAL_SEPARATE] = { separate_apply, separate_begin, separate_print, NULL },
    [SPECIAL_CELLS]    = { cells_apply, cells_begin, cells_print, NULL },
};

Special *special_new(const Graph *g, Arena *arena)
{
    return ARENA_ARRAY(arena, Special, (size_t)g->stage_count + 1);
}

void special_begin(Draft *d, const Machine *m)
{
    for (int s = 0; s < d->graph->stage_count; s++)
        for (int form = SPECIAL_NONE + 1; form < SPECIAL_FORMS; form++)
            if (d->specials[s].form == SPECIAL_NONE && forms[form].begin)
                forms[form].begin(d, s, m);
}

void special_finish(Draft *d)
{
    for (int s = d->graph->stage_count; s-- > 0;) {
        scan_finish(d, s);
        cells_finish(d, s);
    }
}

/* A scan that goes through its steps in each piece anew, if a piece needs little beyond its own edges: what it reads of
 * itself, of dimensions that have loops, is near. */
static bool is_short_scan(const Draft *d, int s)
{
    const Stage *st = &d->graph->stages[s];
    if (st->kind != STAGE_SCAN || d->specials[s].form != SPECIAL_NONE)
        return false;
    for (int i = 0; i < st->self_count; i++)
        for (int k = 0; k < st->rank; k++) {
            const Reach *r = &st->self[i]->reach[k];
            if (!(d->facts[s].defs[st->self[i]->update + 1].free & 1u << k))
                continue;
            if (r->var != k || r->num != 1 || r->den != 1 ||
                (r->hi - r->lo) * 8 > (int64_t)st->box.max[k] - st->box.min[k])
                return false;
        }
    for (int k = 0; k < st->func->update_count; k++)
        if (!(d->facts[s].defs[k + 1].free & 1u))
            return false;
    return true;
}

bool special_may_join(const Draft *d, int s, int head)
{
    const StageKind kind = d->graph->stages[s].kind;
    if (d->specials[head].form == SPECIAL_HOST)
        return d->specials[head].host == s + 1;
    return kind == STAGE_PURE || kind == STAGE_REDUCTION || is_short_scan(d, s);
}

static void settle_form(Draft *d, int s)
{
    const SpecialForm form = d->specials[s].form;
    if (form != SPECIAL_NONE && (form < 0 || form >= SPECIAL_FORMS || !forms[form].applies(d, s)))
        d->specials[s] = (Special){ .form = SPECIAL_NONE };
    else if (forms[form].settle)
        forms[form].settle(d, s);
}

void special_settle_hosts(Draft *d)
{
    for (int s = 0; s < d->graph->stage_count; s++)
        if (d->specials[s].form == SPECIAL_HOST)
            settle_form(d, s);
}

/* Readers first: what they are decides about what they read. */
void special_settle(Draft *d)
{
    for (int s = d->graph->stage_count; s-- > 0;)
        settle_form(d, s);
}

double special_share(const Draft *d, int s)
{
    return d->specials[s].form == SPECIAL_SEPARATE ? separate_share(d, s) : 1;
}

void special_print(Text *out, const Draft *d, int s)
{
    if (!scan_is_within(d, s))
        forms[d->specials[s].form].print(out, d, s);
}

/* ---- Names ------------------------------------------------------------------------------ */

LoopNames loop_names(Arena *arena, const Func *f, int update)
{
    LoopNames n = { .arena = arena };
    for (int d = 0; d < f->rank; d++)
        n.taken[n.count++] = f->args[d];
    for (int i = 0; update >= 0 && i < f->updates[update].rvar_count && n.count < MOST_LOOP_NAMES / 2; i++)
        n.taken[n.count++] = f->updates[update].rvars[i].name;
    return n;
}

const char *loop_name(LoopNames *n, const char *base, const char *suffix)
{
    const char *first = arena_printf(n->arena, "%s%s", base, suffix), *name = first;
    for (int i = 0, number = 1; i < n->count; i++)
        if (!strcmp(n->taken[i], name)) {
            name = arena_printf(n->arena, "%s_%d", first, number++);
            i    = -1;
        }
    if (n->count < MOST_LOOP_NAMES)
        n->taken[n->count++] = name;
    return name;
}

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
    s->found |= e->op == EX_VAR && (!s->var || s->var == e->u.name);
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
    const Func *f    = d->graph->stages[s].func;
    int         bits = 8;
    for (int c = 0; c < f->component_count; c++)
        bits = type_bits(f->types[c]) > bits ? type_bits(f->types[c]) : bits;
    return d->vector_bits / bits > 1 ? d->vector_bits / bits : 1;
}
