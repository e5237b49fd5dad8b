/* The table of directives. */
#include "pipeline/schedule.h"

const DirectiveInfo directive_table[] = {
    /* domain order */
    { "split", "vnni", true, false, true },
    { "fuse", "vvn", false, false, true },
    { "tile", "vvnnnnii", true, false, true },
    { "reorder", "v*", false, false, false },
    { "vectorize", "vi?", true, false, false },
    { "unroll", "vi?", true, false, false },
    { "parallel", "vi?", true, false, false },
    { "serial", "v", false, false, false },
    /* call schedule */
    { "inline", "", false, true, false },
    { "compute_root", "", false, true, false },
    { "compute_at", "fl", false, true, false },
    { "store_root", "", false, true, false },
    { "store_at", "fl", false, true, false },
    { "compute_with", "fl", false, false, false },
    /* storage */
    { "fold_storage", "di", false, true, false },
    { "align_storage", "di", false, true, false },
    { "reorder_storage", "d*", false, true, false },
    { "store_in", "m", false, true, false },
    { "stream", "", false, true, false },
    { "stage", "f*", false, true, false },
    /* bounds and the rest */
    { "bound", "dee", false, true, false },
    { "align_bounds", "die?", false, true, false },
    { "specialize", "c", false, false, false },
    { "rfactor", "vn", false, false, false },
    { "separate", "v", false, false, false },
    { "atomic", "", false, false, false },
    { "prefetch", "fvi", false, false, false },
    /* GPU */
    { "gpu_blocks", "v*", false, false, false },
    { "gpu_threads", "v*", false, false, false },
    { "gpu_lanes", "v", false, false, false },
    { "gpu_tile", "vvnnnnii", true, false, true },
};
const int directive_count = sizeof directive_table / sizeof *directive_table;

const char *const tail_names[]   = { "round_up", "guard", "shift_inward", "predicate", NULL };
const char *const memory_names[] = { "stack", "heap", "register", NULL };

const DirectiveInfo *directive_find(const char *name)
{
    for (int i = 0; i < directive_count; i++)
        if (!strcmp(directive_table[i].name, name))
            return &directive_table[i];
    return NULL;
}
