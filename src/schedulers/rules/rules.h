/* SPDX-License-Identifier: MIT */
/* Rules: what all schedulers choose alike, a row each.
 *
 * A rule changes a draft at one place, a function or a group. Whether the change stays is the cost model's decision,
 * the same way for all rules: it stays if, in the draft made legal, the groups that it changes or all together are
 * predicted to take at most `most` times as long as without it. A rule that is kept whatever is predicted has INFINITY
 * there, and `why` says what was measured. A rule can be left out: NAME/no-RULE is the name of a scheduler that does
 * without it. */
#ifndef KILN_SCHEDULERS_RULES_H
#define KILN_SCHEDULERS_RULES_H

#include "schedulers/model/cost.h"

/* When a rule is applied. Before each but the first the draft is made legal. */
typedef enum RulePhase {
    RULES_PLAIN, /* to the plain draft: patterns decide what their neighbours may do */
    RULES_READERS,
    RULES_TILES,
    RULES_ROWS,
    RULES_LEGAL,
    RULES_SHARED,
    RULES_ELSEWHERE /* by others, who ask draft_has_rule: no function here */
} RulePhase;

typedef enum RuleSites { AT_NODES, AT_READERS_FIRST /* nodes, too */, AT_GROUPS } RuleSites;

typedef struct Rule {
    const char *name;
    RulePhase   phase;
    RuleSites   sites;
    bool (*applies)(const Draft *d, const Machine *m, int site);
    void (*apply)(Draft *d, const Machine *m, int site);
    double      most; /* predicted time with it over that without, up to which it stays; INFINITY: always */
    const char *why;
} Rule;
extern const Rule draft_rules[RULE_IDS];

/* The rule of this name; RULE_IDS: there is none. */
RuleId rule_find(const char *name, size_t length);
/* Applies the rules of a phase, one after the other, at all places. */
void draft_apply_rules(Draft *d, const Machine *m, RulePhase phase);

/* Every node in a group of its own with the loops of the default schedule, or inlined where that costs nothing, and
 * the patterns. All schedulers start from it. `without`: 1 << RuleId of those to leave out. */
Draft draft_plain(const Graph *g, const Machine *m, uint32_t without, Arena *arena);

/* Chooses the micro kernels of every group and member, the same way for all schedulers. Comes before draft_legalize. */
void draft_choose_micro_kernels(Draft *d, const Machine *m);

/* The lanes of a sum by `sums-by-vectors`: several vectors at a time where its steps are many, not unrolled, and share
 * work. */
int64_t sum_lanes(const Draft *d, int s);

#endif
