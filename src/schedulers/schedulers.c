/* The table of schedulers. */
#include "schedulers/schedulers.h"

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

const Scheduler *scheduler_find(const char *name)
{
    const size_t length = strcspn(name, "/");
    for (int i = 0; i < scheduler_count; i++)
        if (!strncmp(scheduler_table[i].name, name, length) && !scheduler_table[i].name[length] && strspn(name + length, "/0123456789") == strlen(name + length))
            return &scheduler_table[i];
    return NULL;
}

int scheduler_number(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash ? atoi(slash + 1) : 0;
}
