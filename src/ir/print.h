/* Expressions and statements as text. */
#ifndef KILN_IR_PRINT_H
#define KILN_IR_PRINT_H

#include "base/text.h"
#include "ir/stmt.h"

/* An expression as text of the language. */
void expr_print(Text *out, const Expr *e);
/* A statement as text, indented: what `kiln show --after PASS` prints. */
void stmt_print(Text *out, const Stmt *s);

#endif
