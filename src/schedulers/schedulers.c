/* The table of schedulers. */
#include "schedulers/schedulers.h"

const Scheduler scheduler_table[] = {
    { "plain", "every function by itself, as the default schedule has it", scheduler_plain },
    { "strips", "groups in strips of rows, along which windows slide", scheduler_strips },
    { "dp", "groups by dynamic programming, tiles by their cost", scheduler_dp },
    { "reuse", "compute and store levels apart; loops and tiles by what is loaded and computed again", scheduler_reuse },
};
const int scheduler_count = sizeof scheduler_table / sizeof *scheduler_table;

const Scheduler *scheduler_find(const char *name)
{
    for (int i = 0; i < scheduler_count; i++)
        if (!strcmp(scheduler_table[i].name, name))
            return &scheduler_table[i];
    return NULL;
}
