/* SPDX-License-Identifier: MIT */
/* Expressions and statements as text: short for people, or whole, so that it can be read back (ir/read.h). */
#ifndef KILN_IR_PRINT_H
#define KILN_IR_PRINT_H

#include "base/text.h"
#include "ir/stmt.h"

/* An expression as text of the language. What is very long is cut. */
void expr_print(Text *out, const Expr *e);
/* A statement as text, indented: what `kiln show --after PASS` prints. */
void stmt_print(Text *out, const Stmt *s);

/* A program as text that program_read reads: parameters, buffers, functions that are not lowered yet, and the body.
 * Nothing is left out or cut. A large expression stands once, as a line `%12 = …` before the statement that first needs
 * it, so the text is linear in the program. */
void program_print(Text *out, const Program *program);

/* What whole text needs to know. */
typedef struct ExprNumbers {
    uint32_t *number, count; /* the expressions that have lines of their own; by Expr.id, 0: none */
    bool     *repeated;      /* by Buffer.id: one before it has the same name */
} ExprNumbers;

/* The name of a buffer; of one that repeats the name of another, with its place: "conv#6". */
void buffer_print_name(Text *out, const Buffer *b, const ExprNumbers *numbers);

/* The whole expression; `itself`: not by its number. */
void expr_print_whole(Text *out, const Expr *e, ExprNumbers *numbers, bool itself);

#endif
