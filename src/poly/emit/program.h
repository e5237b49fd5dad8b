/* SPDX-License-Identifier: MIT */
/* Inside the maker of lowered programs.
 *
 * One idea: a tiled region is a Program like any other. Loops, bounds and subscripts are i64 expressions, values are
 * the source's expressions with C's meaning; so Kiln's backends, its executor and its runtime serve here too. An array
 * is handed over as the address of its first element: its port has rank 0, and its extents are parameters. */
#ifndef KILN_POLY_EMIT_PROGRAM_H
#define KILN_POLY_EMIT_PROGRAM_H

#include "ir/stmt.h"
#include "poly/emit/writer.h"

enum {
    VECTOR_BITS = 512
}; /* of the vectors that inner loops are cut into; the backend splits them for narrower CPUs */

/* A variable of isl's loops, or a parameter of the region, as an i64. */
typedef struct NamedValue {
    const char *name;
    const Expr *value;
} NamedValue;

/* Where an array, a scalar or scratch lies: element (i, j…) at lanes * (i * strides[0] + j * strides[1] …) + lane. */
typedef struct Storage {
    const CSymbol *symbol; /* NULL: of `scratch` */
    const Scratch *scratch;
    const Buffer  *buffer;
    const Expr   **strides;
    int            lanes;
} Storage;

typedef struct ProgramMaker {
    Writer  *w;
    Program *program;
    VEC(NamedValue) names; /* the innermost last */
    VEC(Storage) storage;  /* likewise: the last one of a symbol is meant */
    const Expr *lane;      /* in a vector loop: its variable; else NULL */
    int         lanes;     /* of the vector loop around; else 1 */
    bool        in_parallel;
    /* Of the statement that is made: */
    const Instance *instance;
    const Expr     *guard;         /* what is translated is evaluated only where this holds; NULL: always */
    VEC(const Expr *) sure;        /* loads that are evaluated always */
    VEC(const Stmt *) before;      /* guarded loads, to be executed before it */
    VEC(const Buffer *) temporary; /* what they are stored in */
} ProgramMaker;

/* ---- program_ast.c ---- */
/* isl's expression: i64, or bool for a condition. */
const Expr *ast_value(ProgramMaker *m, isl_ast_expr *e);
const Expr *named_value(ProgramMaker *m, const char *name);
/* Operators on i64, with constants folded. */
const Expr *index_number(const ProgramMaker *m, int64_t v);
const Expr *index_binary(const ProgramMaker *m, ExprOp op, const Expr *a, const Expr *b);

/* ---- program_expr.c ---- */
/* Why the statement cannot be computed by Kiln's code; false after a diagnostic with its place. */
bool program_suits(const Scop *scop);
/* The assignment that an instance executes, with what has to be executed before it. */
const Stmt *assignment(ProgramMaker *m, const Instance *n);

/* ---- program_call.c ---- */
/* The ports and parameters of the program: what the C file hands over. */
void program_ports(ProgramMaker *m);
/* The region's text: the call, and the given loops for where nothing was done. */
const char *program_call(ProgramMaker *m);
/* The memory of the symbol or scratch as it is here; NULL: it has none. */
const Storage *storage_of(const ProgramMaker *m, const CSymbol *symbol, const Scratch *scratch);
/* A new scratch buffer, on the stack if its size is a constant. */
const Buffer *new_scratch(ProgramMaker *m, const char *name, kn_type type, bool constant);
/* Strides of a dense array, the innermost extent last; *count: its elements. */
const Expr **dense_strides(const ProgramMaker *m, int rank, const Expr *const *extents, const Expr **count);
/* The extents of an array of the source: numbers, or parameters of the program. */
const Expr **array_extents(const ProgramMaker *m, const CSymbol *s);

#endif
