/* SPDX-License-Identifier: MIT */
/* The C text of a tiled program.
 *
 * One idea: a statement is printed as the source has it. Its iterators are replaced by what they are in the new loops,
 * and an access to scratch by the scratch's own subscripts; operators, types and arrays stay the user's. So the text
 * means what it meant, rounds as it rounded, and reads as the user's code. Only loops, scratch and pragmas are new. */
#ifndef KILN_POLY_EMIT_EMIT_H
#define KILN_POLY_EMIT_EMIT_H

#include "base/text.h"
#include "ir/stmt.h"
#include "poly/print_expr.h"
#include "poly/tiled.h"

/* What stands in the region's place, with its indent, ended by a line feed. NULL: isl has given up (its quota). */
const char *emit_c(const Tiled *tiled);

/* The same for a program that is marked for a device: a call of the function `name`, whose text with its kernels is
 * added to `cuda`. *unfit: why there is none, or NULL. */
const char *emit_cuda(const Tiled *tiled, const char *name, Text *cuda, const char **unfit);
/* The same as a program of Kiln's, in `arena`, and a call of it. NULL: isl has given up, or a diagnostic says what
 * cannot be computed by such code. */
const char *emit_program(const Tiled *tiled, const char *name, Arena *arena, Program **program);
/* What the CUDA file begins with. */
void emit_cuda_begin(Text *cuda, const char *source);

#endif
