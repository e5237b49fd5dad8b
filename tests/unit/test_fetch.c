/* Whatever is asked to be fetched ahead in whatever loop: once settled, the draft is one that the compiler accepts. */
#include "check.h"

#include "analysis/regions.h"
#include "kiln.h"
#include "schedulers/schedulers.h"

/* What begins with i_ is inlined, with d_ left to the compiler. */
static const char *const programs[] = {
    "input in : f32(x, y) output out a(x, y) = in(x-1, y) + in(x+1, y) out(x, y) = a(x, y-1) + a(x, y+1) estimate out(64, 32)",
    /* the component of what is inlined that reads `in` is not the one that is read */
    "input in : f32(x, y) output out i_t(x, y) = (in(x, y), x - y) far(x, y) = exp(i_t(x-1, y).0) + exp(i_t(x+1, y).0) out(x, y) = far(x-1, y) + far(x+1, y) + i_t(x, y+1).1 estimate out(64, 32)",
    /* `b` takes rows of what is inlined: they are made outside the vectors */
    "input in : u16(x, y) output out i_s(x, y) = in(x, y) + 1 i_r(x, y) = i_s(x-2, y) - i_s(x+1, y) + 3*i_s(x-2, y+1) - i_s(x+1, y+1) b(x, y) = i_r(x, y) - i_r(x+1, y)"
    " out(x, y) = b(x+1, y) - b(x+2, y) estimate out(64, 32)",
    /* the first reader of what is inlined is in no group */
    "input in : i64(x, y) output d_out i_s(x, y) = f32(in(x, y)) * 3 i_a(x, y) = i_s(x-2, y-1) - i_s(x, y-1) b(x, y) = exp(i_s(x, y-1)) - exp(i_s(x, y)) d_out(x, y) = i_a(x+2, y) + b(x-2, y-2) + b(x, y)"
    " estimate d_out(64, 32)",
};

static void obey_names(Draft *d)
{
    for (int s = 0; s < d->graph->stage_count; s++) {
        const char *name = d->graph->stages[s].func->name;
        if (name[1] == '_')
            d->choices[s] = (Choice){ .where = name[0] == 'i' ? WHERE_INLINE : WHERE_DEFAULT, .group = -1 };
    }
}

/* The number of groups that fetch after all. */
static int test_draft(kn_context *cx, kn_pipeline *p, const Graph *g, int stage, int loop, bool turned, Arena *arena)
{
    const Machine m = machine_usual();
    Draft         d = draft_plain(g, &m, arena);
    Text          out;
    obey_names(&d);
    draft_settle(&d);
    for (int i = 0; i < d.group_count; i++) {
        Group *gr      = &d.groups[i];
        gr->fetched    = 1 + stage;
        gr->fetch_loop = loop;
        gr->ahead      = 1;
        for (int k = 0, rank = g->stages[gr->head].rank; k < rank; k++)
            gr->loops[gr->loop_count++] = (GroupLoop){ .dim = turned ? k : rank - 1 - k, .step = 1 };
    }
    draft_settle(&d);
    text_init(&out, arena);
    draft_print(&out, &d);
    CHECK(kn_schedule_parse(p, "fetch.sched", text_string(&out), -1) == KN_OK, "%s\n%s", kn_error_text(cx), text_string(&out));
    CHECK(kn_show_code(p, KN_VIEW_PLAN, &(kn_options){ .scheduler = "none" }, NULL), "%s\n%s", kn_error_text(cx), text_string(&out));
    int fetching = 0;
    for (int i = 0; i < d.group_count; i++)
        fetching += d.groups[i].fetched != 0;
    return fetching;
}

static void test_program(const char *text)
{
    kn_context  *cx = kn_context_new(NULL);
    kn_pipeline *p  = kn_parse(cx, "test.kiln", text, -1);
    Arena        arena;
    Graph        g;
    CHECK(p, "%s", kn_error_text(cx));
    scratch_begin(&arena, cx);
    const Binding binding  = graph_binding(p, &arena);
    int           fetching = 0;
    CHECK(graph_make(p, &arena, &binding, &g), "%s", kn_error_text(cx));
    for (int stage = 0; stage <= g.stage_count; stage++)
        for (int loop = -1; loop < 4; loop++)
            fetching += test_draft(cx, p, &g, stage, loop, false, &arena) + test_draft(cx, p, &g, stage, loop, true, &arena);
    CHECK(fetching || text != programs[0], "%s: nothing was fetched", text);
    scratch_end(&arena);
    kn_context_free(cx);
}

int main(void)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        test_program(programs[i]);
    return check_done();
}
