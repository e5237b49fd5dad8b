/* SPDX-License-Identifier: MIT */
/* Explaining leaves what it explains as it is: the text of a draft after its explanation is, byte for byte, the text
 * before; of every app, by every scheduler. So does a copy of a draft that is changed. */
#include "check.h"

#include "analysis/regions.h"
#include "kiln.h"
#include "schedulers/explain/explain.h"
#include "schedulers/draft/pattern.h"

#include <glob.h>

/* The text of a draft and all that it chooses, as bytes. */
static Text state_of(const Draft *d, Arena *arena)
{
    Text t;
    text_init(&t, arena);
    draft_print(&t, d);
    text_add_n(&t, (const char *)d->groups, sizeof *d->groups * (size_t)d->group_count);
    text_add_n(&t, (const char *)d->choices, sizeof *d->choices * (size_t)d->graph->node_count);
    text_add_n(&t, (const char *)d->patterns, sizeof *d->patterns * (size_t)d->graph->node_count);
    return t;
}

static void check_same(const Candidate *made, Text *before, const char *path, const char *what)
{
    Text after = state_of(&made->draft, before->arena);
    CHECK(before->count == after.count && !memcmp(text_string(before), text_string(&after), after.count),
          "%s by %s: %s has changed the draft:\n%s\n%s", path, made->scheduler->name, what, text_string(before),
          text_string(&after));
}

static void test_draft(const char *path, const Scheduler *by, const Graph *g, const Machine *m, Arena *arena)
{
    const Candidate made   = { .scheduler = by, .draft = by->run(g, m, &(SchedulerOptions){ .budget = 0.2 }, arena) };
    Text            before = state_of(&made.draft, arena), shown;
    Explained       x;
    text_init(&shown, arena);
    explain_make(&x, &made, m, arena);
    explain_text(&shown, &x);
    explain_html(&shown, &x, "");
    check_same(&made, &before, path, "explaining");
    Draft copy = draft_copy(&made.draft, arena);
    for (int s = 0; s < g->node_count; s++)
        copy.choices[s].where = g->nodes[s].kind == NODE_INPUT ? copy.choices[s].where : WHERE_INLINE;
    draft_legalize(&copy);
    check_same(&made, &before, path, "legalizing a copy");
}

static void test_app(const char *path)
{
    kn_context  *cx   = kn_context_new(NULL);
    char        *text = check_read(path);
    kn_pipeline *p    = kn_parse(cx, path, text, -1);
    Machine      m    = machine_usual();
    CHECK(p, "%s: %s", path, kn_error_text(cx));
    for (int i = 0; p && i < scheduler_count && scheduler_table[i].run; i++) {
        Arena arena;
        Graph g;
        scratch_begin(&arena, cx);
        const RunArgs binding = graph_binding(p, &arena);
        if (graph_make(p, &arena, &binding, &g))
            test_draft(path, &scheduler_table[i], &g, &m, &arena);
        scratch_end(&arena);
    }
    kn_context_free(cx);
    free(text);
}

int main(void)
{
    glob_t apps;
    CHECK(!glob("apps/*/*.kiln", 0, NULL, &apps) && apps.gl_pathc > 20, "the apps are not here");
    for (size_t i = 0; i < apps.gl_pathc; i++)
        if (check_sampled(i))
            test_app(apps.gl_pathv[i]);
    globfree(&apps);
    return check_done();
}
