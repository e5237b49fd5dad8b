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
} ExprHooks;

void print_expr(Text *out, const CExpr *e, const ExprHooks *hooks);

#endif
