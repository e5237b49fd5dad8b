/* SPDX-License-Identifier: MIT */
/* The loop nest of a program, for people. */
#ifndef KILN_API_NEST_H
#define KILN_API_NEST_H

#include "base/text.h"
#include "ir/stmt.h"

/* A line for each loop, each function computed and each storage, indented as they nest. The program is as the first
 * pass made it. */
void nest_print(Text *out, const Program *program);
/* A line for each storage that is folded: "blurx: y is folded to 4: …". */
void nest_print_folds(Text *out, const Program *program);

#endif
