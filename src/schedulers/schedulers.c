/* The table of schedulers. */
#include "schedulers/schedulers.h"

const Scheduler scheduler_table[] = {
    { "plain", "every function by itself, as the default schedule has it", scheduler_plain },
    { "strips", "groups in strips of rows, along which windows slide", scheduler_strips },
    { "greedy", "groups by the best merge of two at a time, in overlapped tiles", scheduler_greedy },
    { "dp", "groups by dynamic programming, tiles by their cost", scheduler_dp },
    { "auto", "the best of all these, as the cost model predicts", scheduler_auto },
};
const int scheduler_count = sizeof scheduler_table / sizeof *scheduler_table;

const Scheduler *scheduler_find(const char *name)
{
    for (int i = 0; i < scheduler_count; i++)
        if (!strcmp(scheduler_table[i].name, name))
            return &scheduler_table[i];
    return NULL;
}
