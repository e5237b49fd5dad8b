/* SPDX-License-Identifier: MIT */
/* The table of directives, as data. */
#include "pipeline/schedule.h"

enum { CPU = FOR_CPU, GPU = FOR_GPU };
enum { TAIL = 1, WHOLE = 2, VERSIONS = 4, CONSUMES = 8, INPUTS = 16 };

#define HAS(properties, one) (((properties) & (one)) != 0)
#define DIRECTIVE_ROW(id, name, shape, targets, properties, phase, handler, summary)                                   \
    { DIR_##id,                                                                                                        \
      name,                                                                                                            \
      shape,                                                                                                           \
      (DirectiveTargets)(targets),                                                                                     \
      HAS(properties, TAIL),                                                                                           \
      HAS(properties, WHOLE),                                                                                          \
      HAS(properties, VERSIONS),                                                                                       \
      HAS(properties, CONSUMES),                                                                                       \
      HAS(properties, INPUTS),                                                                                         \
      summary },

const DirectiveInfo directive_table[DIRECTIVE_COUNT] = { DIRECTIVES(DIRECTIVE_ROW) };

const char *const tail_names[] = { "round_up", "guard", "shift_inward", "predicate", NULL };

const DirectiveInfo *directive_find(const char *name)
{
    for (int i = 0; i < DIRECTIVE_COUNT; i++)
        if (!strcmp(directive_table[i].name, name))
            return &directive_table[i];
    return NULL;
}

kn_pass kn_directive_get(int index)
{
    if (index < 0 || index >= DIRECTIVE_COUNT)
        return (kn_pass){ 0 };
    return (kn_pass){ directive_table[index].name, directive_table[index].summary };
}
