/* SPDX-License-Identifier: MIT */
/* A region: the loops between `#pragma scop` and `#pragma endscop`, with C's meaning and C's types.
 *
 * One idea: the front end decides nothing about polyhedra. It reads C, knows the type of every expression, and says
 * where each thing stands; whether an index is affine is asked of the model (poly/scop.h), which has the place for its
 * message. Everything lives in one arena. */
#ifndef KILN_POLY_REGION_H
#define KILN_POLY_REGION_H

#include "base/arena.h"
#include "base/vec.h"
#include "ir/type.h"

/* A place in a file that the user wrote, as the preprocessor's line marks tell it. */
typedef struct CPlace {
    const char *file;
    int         line, column; /* from 1 */
} CPlace;

typedef enum CSymbolKind {
    CSYMBOL_SCALAR,   /* a variable without subscripts; one that the region never writes can be a parameter */
    CSYMBOL_ITERATOR, /* of one loop of the region */
    CSYMBOL_ARRAY,    /* an array, a pointer, or a parameter declared as an array */
    CSYMBOL_FUNCTION  /* taken as pure: it reads its arguments alone */
} CSymbolKind;

typedef struct CExpr CExpr;
typedef struct CStmt CStmt;

/* What a name of the region stands for. A field of a struct of scalars is a symbol of its own, "s.field". */
typedef struct CSymbol {
    const char    *name; /* as the source writes it */
    CSymbolKind    kind;
    kn_type        type;           /* of an element; of a function: what it returns */
    const char    *spelling;       /* of the type, as C text: "double", "uint16_t" */
    int            rank;           /* of an array */
    const CExpr  **extents;        /* of an array, outermost first; NULL: not known (the outermost one of a pointer) */
    int            argument_count; /* of a function */
    const kn_type *arguments;
    bool           standard;  /* a function of the standard library */
    bool           local;     /* declared in the region */
    bool           written;   /* in the region */
    bool           temporary; /* its values are not read behind the region */
    bool restricted; /* two symbols are known to be apart in memory iff both are: by `restrict`, or an array or scalar
                        of which nobody has the address */
    CPlace place;    /* of the declaration */
} CSymbol;

typedef enum CExprKind {
    CEXPR_INT,    /* u.i */
    CEXPR_FLOAT,  /* u.f; `text` is the literal */
    CEXPR_NAME,   /* symbol: a scalar or an iterator */
    CEXPR_INDEX,  /* symbol[args…] */
    CEXPR_CALL,   /* symbol(args…) */
    CEXPR_CAST,   /* (type)args[0]; also the conversions that C makes by itself */
    CEXPR_UNARY,  /* op: '-' '~' '!' */
    CEXPR_BINARY, /* op, see COp */
    CEXPR_CHOICE  /* args[0] ? args[1] : args[2] */
} CExprKind;

/* C's operators. Division and remainder truncate. */
typedef enum COp {
    COP_NONE,
    COP_NEG,
    COP_NOT,
    COP_BIT_NOT,
    COP_ADD,
    COP_SUB,
    COP_MUL,
    COP_DIV,
    COP_REM,
    COP_SHL,
    COP_SHR,
    COP_LT,
    COP_LE,
    COP_GT,
    COP_GE,
    COP_EQ,
    COP_NE,
    COP_BIT_AND,
    COP_BIT_OR,
    COP_BIT_XOR,
    COP_AND,
    COP_OR
} COp;

/* An expression. Operands have the types that C gives them: conversions are nodes. Comparisons and logic are int. */
struct CExpr {
    CExprKind kind;
    kn_type   type;
    COp       op;
    union {
        int64_t i;
        double  f;
    } u;
    const char    *text;
    const CSymbol *symbol;
    int            count;
    const CExpr  **args;
    CPlace         place;
};

typedef enum CStmtKind {
    CSTMT_FOR,   /* for (iterator = first; iterator compare last; iterator += step) body */
    CSTMT_IF,    /* if (condition) body else otherwise (which may be NULL) */
    CSTMT_BLOCK, /* items, one after the other */
    CSTMT_ASSIGN /* target = value. `target op= value` and ++ are written out: the value reads the target */
} CStmtKind;

struct CStmt {
    CStmtKind      kind;
    CPlace         place;
    const CSymbol *iterator;
    const CExpr   *first, *last; /* as written */
    COp            compare;      /* LT, LE, GT, GE, NE is refused */
    int64_t        step;         /* never 0 */
    const CExpr   *condition;
    const CExpr   *target, *value; /* target: NAME or INDEX; value has its type */
    const CStmt   *body, *otherwise;
    int            count;
    const CStmt  **items;
};

typedef struct Region {
    Arena      *arena;
    const char *path;   /* of the source */
    const char *source; /* its text, as it was read */
    size_t      size;
    size_t      begin, end; /* what is replaced in it: from the line of `#pragma scop` to the end of that of `endscop`,
                               without its newline */
    const char  *indent;    /* of its statements */
    const char  *function;  /* the function that it stands in */
    const CStmt *body;
    VEC(const CSymbol *) symbols; /* that the body names, in the order of first use */
} Region;

#endif
