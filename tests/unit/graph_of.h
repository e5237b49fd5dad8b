/* SPDX-License-Identifier: MIT */
/* The graph of a program's text, at its estimate, for tests of schedulers. */
#ifndef KILN_TESTS_GRAPH_OF_H
#define KILN_TESTS_GRAPH_OF_H

#include "check.h"

#include "analysis/regions.h"
#include "kiln.h"
#include "schedulers/search/schedulers.h"

typedef struct GraphOf {
    kn_context  *cx;
    kn_pipeline *p;
    Arena        arena;
    Machine      machine;
    RunArgs      binding;
    Graph        graph;
} GraphOf;

static inline void graph_of(GraphOf *o, const char *text)
{
    *o   = (GraphOf){ .cx = kn_context_new(NULL), .machine = machine_usual() };
    o->p = kn_parse(o->cx, "test.kiln", text, -1);
    CHECK(o->p, "%s", kn_error_text(o->cx));
    scratch_begin(&o->arena, o->cx);
    o->binding = graph_binding(o->p, &o->arena);
    CHECK(graph_make(o->p, &o->arena, &o->binding, &o->graph), "%s", kn_error_text(o->cx));
}

static inline void graph_of_end(GraphOf *o)
{
    scratch_end(&o->arena);
    kn_context_free(o->cx);
}

/* The text of a draft, which the compiler must accept. */
static inline const char *accepted_text(GraphOf *o, const Draft *d)
{
    Text out;
    text_init(&out, &o->arena);
    draft_print(&out, d);
    CHECK(kn_schedule_parse(o->p, "test.sched", text_string(&out), -1) == KN_OK &&
              kn_show_code(o->p, KN_VIEW_PLAN, &(kn_options){ .scheduler = "none" }, NULL),
          "%s\n%s", kn_error_text(o->cx), text_string(&out));
    return text_string(&out);
}

#endif
