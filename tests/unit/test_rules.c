/* SPDX-License-Identifier: MIT */
/* The driver of rules: what the model predicts to do harm is undone, what is left out is not tried, the rest is kept
 * and noted. */
#include "graph_of.h"

static const char blur[] = "input in : f32(x, y) output out a(x, y) = in(x, y) * 3 + in(x, y+1) out(x, y) = a(x, y-1) "
                           "+ a(x, y+1) * 7 estimate out(1024, 1024)";

static Draft draft_by(GraphOf *o, const char *name)
{
    SchedulerOptions options = { .budget = 10 };
    const Scheduler *s       = scheduler_find(name, &options);
    CHECK(s, "%s", name);
    return s->run(&o->graph, &o->machine, &options, &o->arena);
}

static void test_names(void)
{
    for (RuleId id = 0; id < RULE_IDS; id++) {
        char             name[64];
        SchedulerOptions options = { 0 };
        snprintf(name, sizeof name, "auto/no-%s", draft_rules[id].name);
        CHECK(rule_find(draft_rules[id].name, strlen(draft_rules[id].name)) == id, "%s", name);
        CHECK(scheduler_find(name, &options) && options.without == 1u << id, "%s", name);
        CHECK(draft_rules[id].why && *draft_rules[id].why, "%s", name);
        CHECK(!draft_rules[id].apply == (draft_rules[id].phase == RULES_ELSEWHERE), "%s", name);
        CHECK(scheduler_part((int)id) == draft_rules[id].name, "%s", name);
    }
    CHECK(rule_find("chain", 5) == RULE_IDS, "a prefix is no name");
    CHECK(!scheduler_find("auto/no-such", &(SchedulerOptions){ 0 }), "no such rule");
}

/* Rows of a small stencil are computed several at a time; not without the rule. */
static void test_without(void)
{
    GraphOf o;
    graph_of(&o, blur);
    const Draft with = draft_by(&o, "strips"), without = draft_by(&o, "strips/no-row-blocks/no-row-windows");
    const char *text = accepted_text(&o, &with);
    CHECK(with.uses[RULE_ROW_BLOCKS].applied == 1 && strstr(text, ".unroll("), "%s", text);
    text = accepted_text(&o, &without);
    CHECK(!without.uses[RULE_ROW_BLOCKS].applied && !strstr(text, ".unroll("), "%s", text);
    graph_of_end(&o);
}

/* Programs that a rule is for, and such as it is not for: how often strips applies it, and what the schedule says. */
static void test_where(void)
{
    static const struct {
        const char *program;
        RuleId      rule;
        int         applied;
        const char *says;
    } rows[] = {
        /* rows that share a sliding window, four at a time, if a point's part of it fits the registers */
        { "input in : f32(x, y) output out a(x, y) = sqrt(in(x-1, y) * in(x+1, y)) b(x, y) = a(x-1, y) + a(x+1, y) "
          "out(x, y) = b(x, y-1) + b(x, y) + b(x, y+1) estimate out(2048, 2048)",
          RULE_ROW_WINDOWS, 1, "b.align_storage(x, 16).store_at(out, yo)" },
        { "input in : f32(x, y) output out a(x, y) = sqrt(in(x-1, y) * in(x+1, y)) "
          "out(x, y) = sqrt(sum(a(x+i, y+j) * f32(i*j) for i in -4..4, j in -4..4)) estimate out(2048, 2048)",
          RULE_ROW_WINDOWS, 0, "out" },
        /* a member that reads several rows of a window, two at a time, of a head that has rows at a time or has not */
        { "input in : f32(x, y) output out a(x, y) = sqrt(in(x-1, y) * in(x+1, y)) "
          "b(x, y) = a(x, y-2) + a(x, y-1) + a(x, y) + a(x, y+1) + a(x, y+2) "
          "out(x, y) = b(x-1, y) + sqrt(b(x, y)) + b(x+1, y) estimate out(2048, 2048)",
          RULE_MEMBER_ROWS, 1, ".compute_at(out, y1).split(y, yo, yi, 2)" },
        { "input in : f32(x, y) output out a(x, y) = sqrt(in(x, y-1) * in(x, y) + in(x, y+1)) "
          "b(x, y) = a(x-1, y) + a(x+1, y) "
          "out(x, y) = sqrt(b(x, y-1)) + sqrt(b(x, y)) + sqrt(b(x, y+1)) estimate out(2048, 2048)",
          RULE_MEMBER_ROWS, 1, "" },
        { "input in : f32(x, y) output out a(x, y) = sqrt(in(x-1, y) * in(x+1, y)) b(x, y) = a(x-1, y) + a(x+1, y) "
          "out(x, y) = sqrt(b(x-1, y)) + b(x+1, y) estimate out(2048, 2048)",
          RULE_MEMBER_ROWS, 0, "" },
        /* one ratio of all planes, at their own point, in registers; and one that is read beside it, which is stored */
        { "input in : f32(x, y, c) output out g(x, y) = in(x, y, 0) / in(x, y, 1) + in(x, y, 2) "
          "b(x, y) = sqrt(g(x, y-1)) + g(x, y) + g(x, y+1) r(x, y) = (b(x-1, y) + b(x+1, y)) / g(x, y) "
          "out(x, y, c) = r(x, y) * in(x, y, c) estimate out(2048, 2048, 3)",
          RULE_CHANNELS, 1, "r.inline()" },
        { "input in : f32(x, y, c) output out r(x, y) = sqrt(in(x, y, 0)) / in(x, y, 1) "
          "out(x, y, c) = (r(x-1, y) + r(x, y)) * in(x, y, c) estimate out(2048, 2048, 3)",
          RULE_CHANNELS, 1, "r.align_storage(x, 16).compute_at(out, yi)" },
        /* steps that a parameter gives; a few too many; and rows that an input gives */
        { "param r : i32 = 3 in 1..9 input in : f32(x, y) output out s(x, y) = sum(in(x+i, y) for i in -r..r+1) "
          "out(x, y) = sqrt(s(x, y-1)) + s(x, y+1) estimate out(2048, 2048)",
          RULE_GIVEN_STEPS, 1, ".specialize(r == 3).unroll(i, 7)" },
        { "param r : i32 = 8 in 1..9 input in : f32(x, y) output out s(x, y) = sum(in(x+i, y) for i in -r..r+1) "
          "out(x, y) = sqrt(s(x, y-1)) + s(x, y+1) estimate out(2048, 2048)",
          RULE_GIVEN_STEPS, 0, "out" },
        { "input in : f32(x, y) input k : f32(i) output out s(x, y) = sum(in(x+i, y) * k(i) for i in 0..k.width) "
          "out(x, y) = sqrt(s(x, y-1)) + s(x, y+1) estimate out(2048, 2048)",
          RULE_GIVEN_STEPS, 0, "out" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        GraphOf o;
        graph_of(&o, rows[i].program);
        const Draft    d    = draft_by(&o, "strips");
        const char    *text = accepted_text(&o, &d);
        const RuleUse *use  = &d.uses[rows[i].rule];
        CHECK(use->applied == rows[i].applied && strstr(text, rows[i].says), "%zu: %d applied, %d refused: %s", i,
              use->applied, use->refused, text);
        graph_of_end(&o);
    }
}

/* On a machine where starting a row costs nothing and arithmetic very much, rows that are unrolled, with their halo
 * computed again at each border, are slower than a window that slides. */
static void test_refused(void)
{
    GraphOf o;
    graph_of(&o, blur);
    o.machine.op        = 1000;
    o.machine.row       = 0;
    o.machine.split_row = 0;
    const Draft    d = draft_by(&o, "strips"), left = draft_by(&o, "strips/no-row-blocks/no-row-windows");
    const RuleUse *use = &d.uses[RULE_ROW_BLOCKS];
    CHECK(use->refused == 1 && !use->applied && use->with > use->without, "%d refused, %d applied, %g and %g ns",
          use->refused, use->applied, use->without, use->with);
    CHECK(cost_draft(&d, &o.machine) == cost_draft(&left, &o.machine), "refused is as if it were left out");
    graph_of_end(&o);
}

/* What the channels of a small output gain is asked of its group: beside a large output it would not show. */
static void test_small_group(void)
{
    GraphOf o;
    graph_of(&o, "input in : f32(x, y, c) input w : f32(x, y) output small, large "
                 "small(x, y, c) = in(x, y, c) * sqrt(w(x, y) * w(x, y) + 1) / (w(x, y) + 2) "
                 "large(x, y) = sqrt(w(x, y) + w(x, y+1)) estimate small(128, 64, 3) estimate large(8192, 8192)");
    const Draft d = draft_by(&o, "strips");
    CHECK(d.uses[RULE_CHANNELS].applied == 1 && !d.uses[RULE_CHANNELS].refused, "%d applied, %d refused",
          d.uses[RULE_CHANNELS].applied, d.uses[RULE_CHANNELS].refused);
    graph_of_end(&o);
}

static void test_copies(void)
{
    GraphOf o;
    graph_of(&o, blur);
    const Draft plain = draft_by(&o, "plain"), strips = draft_by(&o, "strips/no-row-blocks/no-row-windows");
    Draft       copy = draft_copy(&plain, &o.arena);
    CHECK(draft_same(&copy, &plain) && !draft_same(&copy, &strips), "a copy is the same");
    draft_assign(&copy, &strips);
    CHECK(draft_same(&copy, &strips) && copy.choices != strips.choices, "assigned, in its own memory");
    graph_of_end(&o);
}

int main(void)
{
    test_names();
    test_without();
    test_where();
    test_refused();
    test_small_group();
    test_copies();
    return check_done();
}
