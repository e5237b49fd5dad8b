/* SPDX-License-Identifier: MIT */
/* The table of schedulers. */
#include "schedulers/search/schedulers.h"

#include <stddef.h>
#include <stdlib.h>

/* clang-format off */
const Scheduler scheduler_table[] = {
    { "plain", "every function by itself, as the default schedule has it", scheduler_plain,
      { "loops are those of the default schedule", "every function is a group of its own" } },
    { "strips", "groups in strips of rows, along which windows slide", scheduler_strips,
      { "strips are as high as leaves each core a few tasks",
        "a function is in the group of its readers as long as little of it is computed twice" } },
    { "greedy", "groups by the best merge of two at a time, in overlapped tiles", scheduler_greedy,
      { "of the tiles that suit a cache the best, by the cost of one in the middle",
        "two groups at a time are merged, and not parted again" } },
    { "dp", "groups by dynamic programming, tiles by their cost", scheduler_dp,
      { "of the tiles that suit a cache the best, by the cost of one in the middle",
        "groups are compared by the cost of a tile in the middle" } },
    { "reuse", "compute and store levels apart; loops and tiles by what is loaded and computed again", scheduler_reuse,
      { "tiles have the least loads and points computed again",
        "levels have the least loads and points computed again" } },
    { "auto", "the best of all these, as the cost model predicts", scheduler_auto,
      { "those of the one that it takes", "those of the one that it takes" } },
    { "varied", "of all kinds, good and bad: varied/0, varied/1 …, to compare predictions with", scheduler_varied,
      { "they are drawn by its number", "they are drawn by its number" } },
};
/* clang-format on */
const int scheduler_count = sizeof scheduler_table / sizeof *scheduler_table;

/* The parts that can be left out, as in Jangda and Bondhugula 2020, section 7.4.3. */
static const struct Switch {
    const char *name;
    size_t      option;
} parts[] = {
    { "no-inlining", offsetof(SchedulerOptions, no_inlining) },
    { "no-two-levels", offsetof(SchedulerOptions, no_two_levels) },
    { "no-slices", offsetof(SchedulerOptions, no_slices) },
    { "no-together", offsetof(SchedulerOptions, no_together) },
    { "no-search", offsetof(SchedulerOptions, greedy_fusion) },
    { "no-repair", offsetof(SchedulerOptions, no_repair) },
    { "no-model", offsetof(SchedulerOptions, plain_cost) },
    { "no-time-tiles", offsetof(SchedulerOptions, no_time_tiles) },
};

/* Takes one word after a name: a number, or a part to leave out. */
static bool take_word(const char *word, size_t length, SchedulerOptions *options)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strncmp(word, parts[i].name, length) && !parts[i].name[length]) {
            *(bool *)((char *)options + parts[i].option) = true;
            return true;
        }
    options->number = atoi(word);
    return length > 0 && strspn(word, "0123456789") == length;
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

Draft scheduler_draft(const Scheduler *s, const Graph *g, const Machine *m, const SchedulerOptions *options,
                      Arena *arena)
{
    Draft d = s->run(g, m, options, arena);
    for (int i = 0; i < g->node_count && options->no_time_tiles; i++)
        d.choices[i].time_size = 0;
    return d;
}
