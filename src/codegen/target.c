/* The targets, as a table. Needs no LLVM: the main library names targets too. */
#include "codegen/target.h"

#include <stddef.h>
#include <string.h>

#define LINUX_X86 "x86_64-unknown-linux-gnu"

/* clang-format off */
const Target target_table[] = {
    /* name            triple                       cpu              features
     *                   bits */
    { "host",          NULL,                        NULL,            NULL,
                                                      256 },
    { "x86-64",        LINUX_X86,                   "x86-64",        "",
                                                        128 },
    { "x86-64-avx2",   LINUX_X86,                   "x86-64-v3",     "",
                                                        256 },
    { "x86-64-avx512", LINUX_X86,                   "x86-64-v4",     "",
                                                        512 },
    { "aarch64-linux", "aarch64-unknown-linux-gnu", "generic",       "+neon",
                                                   128 },
};
/* clang-format on */
const int target_count = sizeof target_table / sizeof *target_table;

const Target *target_find(const char *name)
{
    for (int i = 0; i < target_count; i++)
        if (!name || !strcmp(target_table[i].name, name))
            return &target_table[i];
    return NULL;
}
