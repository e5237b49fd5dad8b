/* SPDX-License-Identifier: MIT */
/* Functions of coordinates and scalar parameters: what expressions call and read, before lowering makes buffers of
 * them. */
#ifndef KILN_IR_FUNC_H
#define KILN_IR_FUNC_H

#include "ir/expr.h"

typedef enum FuncKind { FUNC_DEFINED, FUNC_INPUT, FUNC_STAGE } FuncKind;

/* A reduction variable: lo <= v < hi. */
typedef struct RVar {
    const char *name;    /* interned; no two of an update are equal, none is a free variable's */
    const Expr *lo, *hi; /* i32; may use free variables and the reduction variables before this one */
} RVar;

/* An update: for every step of the reduction domain in lexicographic order (the first variable is outermost), at every
 * point of the free variables at once: f(args) = values, where `where` holds. A free variable has the name of the
 * function's argument of its position, and its arg there is just that variable. */
typedef struct Update {
    Loc          loc;
    const Expr **args;   /* rank of them, i32 */
    const Expr **values; /* one per component, of the component's type; may call the function itself */
    int          rvar_count;
    RVar        *rvars;
    const Expr  *where;   /* bool, or NULL */
    bool        *is_free; /* per dimension: args[d] is the free variable of d */
    bool         gone;    /* of a plan: it has no steps any more, and keeps the numbers of those after it */
} Update;

/* An argument of an extern stage: a function read through a buffer, or a scalar. */
typedef struct StageArg {
    const Func *func;
    const Expr *value; /* used where func is NULL; has no variables and no calls */
} StageArg;

struct Func {
    const char  *name; /* "blurx", "g[2].dx" */
    Loc          loc;
    FuncKind     kind;
    int          id; /* its place among the functions of its pipeline or plan */
    int          rank;
    const char **args; /* interned names */
    int          component_count;
    kn_type     *types;
    /* FUNC_DEFINED */
    const Expr **values; /* one per component, over the variables named by args */
    int          update_count;
    Update      *updates;
    bool         total; /* what it reads is guarded by its own conditions: it may be asked for anything, so those around
                           a call need not narrow it */
    /* FUNC_STAGE */
    const char *symbol;
    int         stage_arg_count;
    StageArg   *stage_args;
};

struct Param {
    const char *name;
    Loc         loc;
    kn_type     type;
    bool        has_default, has_range;
    kn_scalar   value, lo, hi; /* allowed: lo <= v < hi for integers, lo <= v <= hi for floats */
};

#endif
