/* The table of schedulers. */
#include "schedulers/schedulers.h"

#include <stddef.h>
#include <stdlib.h>

const Scheduler scheduler_table[] = {
    { "plain", "every function by itself, as the default schedule has it", scheduler_plain },
    { "strips", "groups in strips of rows, along which windows slide", scheduler_strips },
    { "greedy", "groups by the best merge of two at a time, in overlapped tiles", scheduler_greedy },
    { "dp", "groups by dynamic programming, tiles by their cost", scheduler_dp },
    { "reuse", "compute and store levels apart; loops and tiles by what is loaded and computed again", scheduler_reuse },
    { "auto", "the best of all these, as the cost model predicts", scheduler_auto },
    { "varied", "of all kinds, good and bad: varied/0, varied/1 …, to compare predictions with", scheduler_varied },
};
const int scheduler_count = sizeof scheduler_table / sizeof *scheduler_table;

/* What can be left out, as Jangda and Bondhugula 2020 do in section 7.4.3. */
static const struct Part {
    const char *name;
    size_t      option;
} parts[] = {
    { "inlining", offsetof(SchedulerOptions, no_inlining) },
    { "two-levels", offsetof(SchedulerOptions, no_two_levels) },
    { "together", offsetof(SchedulerOptions, no_together) },
    { "search", offsetof(SchedulerOptions, greedy_fusion) },
    { "model", offsetof(SchedulerOptions, plain_cost) },
};

/* Leaves out a part that the text begins with; gives what is behind it, or NULL if there is no such part. */
static const char *leave_out(const char *text, SchedulerOptions *options)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t n = strlen(parts[i].name);
        if (strncmp(text, parts[i].name, n) || (text[n] && text[n] != '-'))
            continue;
        *(bool *)((char *)options + parts[i].option) = true;
        return text + n;
    }
    return NULL;
}

/* What stands behind the name; false if it says nothing. */
static bool read_rest(const char *rest, SchedulerOptions *options)
{
    if (*rest == '/') {
        options->number = atoi(rest + 1);
        return strspn(rest + 1, "0123456789") == strlen(rest + 1);
    }
    while (rest && !strncmp(rest, "-no-", 4))
        rest = leave_out(rest + 4, options);
    return rest && !*rest;
}

const Scheduler *scheduler_find(const char *name, SchedulerOptions *options)
{
    const size_t n = strcspn(name, "-/");
    for (int i = 0; i < scheduler_count; i++)
        if (!strncmp(scheduler_table[i].name, name, n) && !scheduler_table[i].name[n])
            return read_rest(name + n, options) ? &scheduler_table[i] : NULL;
    return NULL;
}
