/* SPDX-License-Identifier: MIT */
#include "schedulers/draft/given_steps.h"

enum { MOST_GIVEN = 4 /* parameters that decide a trip count */ };

typedef struct Given {
    const Param *at[MOST_GIVEN];
    int          count;
} Given;

/* Adds the parameters of an expression. false: it has other variables, too many parameters, or floats. */
static bool add_params(Given *given, const Expr *e)
{
    bool fine = true;
    if (e->op == EX_PARAM) {
        int i = 0;
        while (i < given->count && given->at[i] != e->u.param)
            i++;
        if (i == MOST_GIVEN || !type_is_int(e->u.param->type))
            return false;
        given->at[i] = e->u.param;
        given->count += i == given->count;
        return true;
    }
    for (uint32_t i = 0; i < e->count && fine; i++)
        fine = add_params(given, e->args[i]);
    return fine && (e->count || e->op == EX_INT);
}

static const RVar *variable_of(const Draft *d, int s, int rvar)
{
    return &d->graph->nodes[s].func->updates[draft_main(d, s)].rvars[rvar];
}

int64_t given_steps(const Draft *d, int s, int rvar)
{
    const RVar *v     = variable_of(d, s, rvar);
    Given       given = { .count = 0 };
    if (!add_params(&given, v->lo) || !add_params(&given, v->hi) || !given.count)
        return 0;
    return d->graph->nodes[s].defs[draft_main(d, s) + 1].extents[rvar];
}

static int64_t value_of(const Graph *g, const Param *p)
{
    size_t i = 0;
    while (g->pipeline->params.at[i] != p)
        i++;
    return g->param[i].as.i;
}

void given_steps_print(Text *out, const Draft *d, int s, int rvar, const char *loop)
{
    const RVar *v     = variable_of(d, s, rvar);
    Given       given = { .count = 0 };
    add_params(&given, v->lo);
    add_params(&given, v->hi);
    text_add(out, ".specialize(");
    for (int i = 0; i < given.count; i++)
        text_printf(out, "%s%s == %lld", i ? " && " : "", given.at[i]->name,
                    (long long)value_of(d->graph, given.at[i]));
    text_printf(out, ").unroll(%s, %lld)", loop, (long long)given_steps(d, s, rvar));
}
