/* SPDX-License-Identifier: MIT */
/* NVIDIA's assembler, where it is installed: what it makes of PTX. */
#ifndef KILN_CODEGEN_PTXAS_H
#define KILN_CODEGEN_PTXAS_H

#include "base/arena.h"

/* Registers, spills and shared memory of each kernel, as comments of PTX; NULL where there is no assembler, or it
 * refuses the text. */
const char *ptxas_report(Arena *arena, const char *ptx);

#endif
