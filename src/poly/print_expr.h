/* SPDX-License-Identifier: MIT */
/* Expressions of a region as C text. */
#ifndef KILN_POLY_PRINT_EXPR_H
#define KILN_POLY_PRINT_EXPR_H

#include "base/text.h"
#include "poly/region.h"

/* How an expression's leaves are printed. Both may be NULL: as they are written. */
typedef struct ExprHooks {
    void *user;
    /* A scalar, an iterator or an array element: true if it has been printed. `subscript`: inside of brackets, where
     * an iterator's type does not matter. */
    bool (*leaf)(void *user, Text *out, const CExpr *e, bool subscript);
    /* The text is C++ of another file: types have C's own names, and what C converts an argument to is written, since
     * functions have overloads there. */
    bool foreign;
} ExprHooks;

void print_expr(Text *out, const CExpr *e, const ExprHooks *hooks);
void print_subscript(Text *out, const CExpr *e, const ExprHooks *hooks);

#endif
