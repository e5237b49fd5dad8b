/* SPDX-License-Identifier: MIT */
/* The table of schedulers. */
#include "schedulers/search/schedulers.h"

#include <stddef.h>
#include <stdlib.h>

/* clang-format off */
const Scheduler scheduler_table[] = {
    { "plain", "every function by itself, as the default schedule has it", scheduler_plain, NULL,
      { "loops are those of the default schedule", "every function is a group of its own" } },
    { "strips", "groups in strips of rows, along which windows slide", scheduler_strips, NULL,
      { "strips are as high as leaves each core a few tasks",
        "a function is in the group of its readers as long as little of it is computed twice" } },
    { "greedy", "groups by the best merge of two at a time, in overlapped tiles", scheduler_greedy, NULL,
      { "of the tiles that suit a cache the best, by the cost of one in the middle",
        "two groups at a time are merged, and not parted again" } },
    { "dp", "groups by dynamic programming, tiles by their cost", scheduler_dp, NULL,
      { "of the tiles that suit a cache the best, by the cost of one in the middle",
        "groups are compared by the cost of a tile in the middle" } },
    { "reuse", "compute and store levels apart; loops and tiles by what is loaded and computed again",
      scheduler_reuse, NULL,
      { "tiles have the least loads and points computed again",
        "levels have the least loads and points computed again" } },
    { "auto", "the best of all these, as the cost model predicts", scheduler_auto, scheduler_gpu,
      { "those of the one that it takes", "those of the one that it takes" } },
    { "varied", "of all kinds, good and bad: varied/0, varied/1 …, to compare predictions with", scheduler_varied,
      scheduler_varied_kernels,
      { "they are drawn by its number", "they are drawn by its number" } },
    { "gpu", "for GPUs: groups of functions as kernels, blocks by the analysis of a tile", NULL, scheduler_gpu,
      { "blocks have the least predicted time", "two groups at a time are merged" } },
};
/* clang-format on */
const int scheduler_count = sizeof scheduler_table / sizeof *scheduler_table;

/* The parts of dp that can be left out, as in Jangda and Bondhugula 2020, section 7.4.3; then those of auto and of
 * gpu. */
static const struct Switch {
    const char *name;
    size_t      option;
} parts[] = {
    { "inlining", offsetof(SchedulerOptions, no_inlining) },
    { "two-levels", offsetof(SchedulerOptions, no_two_levels) },
    { "search", offsetof(SchedulerOptions, greedy_fusion) },
    { "repair", offsetof(SchedulerOptions, no_repair) },
    { "model", offsetof(SchedulerOptions, plain_cost) },
    { "robust", offsetof(SchedulerOptions, no_robust) },
    { "fusion", offsetof(SchedulerOptions, no_fusion) },
    { "nesting", offsetof(SchedulerOptions, no_nesting) },
    { "patterns", offsetof(SchedulerOptions, no_patterns) },
    { "places", offsetof(SchedulerOptions, no_places) },
    { "tables", offsetof(SchedulerOptions, no_tables) },
    { "registers", offsetof(SchedulerOptions, no_registers) },
    { "greedy", offsetof(SchedulerOptions, dp_groups) },
};

/* Leaves out a rule or a part. */
static bool leave_out(const char *name, size_t length, SchedulerOptions *options)
{
    const RuleId rule = rule_find(name, length);
    if (rule < RULE_IDS) {
        options->without |= 1u << rule;
        return true;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strncmp(name, parts[i].name, length) && !parts[i].name[length]) {
            *(bool *)((char *)options + parts[i].option) = true;
            return true;
        }
    return false;
}

/* Takes one word after a name: a number, or "no-" and what to leave out. */
static bool take_word(const char *word, size_t length, SchedulerOptions *options)
{
    if (length > 3 && !strncmp(word, "no-", 3))
        return leave_out(word + 3, length - 3, options);
    options->number = atoi(word);
    return length > 0 && strspn(word, "0123456789") == length;
}

const char *scheduler_part(int index)
{
    const int part_count = sizeof parts / sizeof *parts;
    if (index < RULE_IDS)
        return draft_rules[index].name;
    return index < RULE_IDS + part_count ? parts[index - RULE_IDS].name : NULL;
}

const Scheduler *scheduler_find(const char *name, SchedulerOptions *options)
{
    const size_t length = strcspn(name, "/");
    for (const char *at = name + length; *at; at += 1 + strcspn(at + 1, "/"))
        if (!take_word(at + 1, strcspn(at + 1, "/"), options))
            return NULL;
    for (int i = 0; i < scheduler_count; i++)
        if (!strncmp(scheduler_table[i].name, name, length) && !scheduler_table[i].name[length])
            return &scheduler_table[i];
    return NULL;
}
