/* SPDX-License-Identifier: MIT */
/* Programs, statements and expressions read from the text that ir/print.h prints.
 *
 * Numbers without a type are i32 or f32. A name is what a `let`, a loop or the program binds; one that nothing binds is
 * an i32 (i64 if it ends like a port's stride or count). */
#ifndef KILN_IR_READ_H
#define KILN_IR_READ_H

#include "ir/stmt.h"

/* The program that program_print has printed, in the memory of the pool; NULL, with a diagnostic that says what was
 * expected where. */
Program *program_read(ExprPool *pool, const char *text);

/* A statement over the buffers and parameters of a program; NULL, with a diagnostic, if the text is none. */
const Stmt *stmt_read(Program *program, const char *text);

#endif
