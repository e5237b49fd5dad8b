/* SPDX-License-Identifier: MIT */
/* Rows of lanes: the expressions of one definition, evaluated at up to LANES consecutive values of one variable at a
 * time.
 *
 * Lazy as the language is: an operand of &&, || or `if` is evaluated only in the lanes that need it, so a guarded
 * access never happens. Operators that cannot fail may be computed in more lanes. A value that does not depend on the
 * lane variable is computed once per row, one that depends on no variable once. */
#ifndef KILN_INTERP_EVAL_H
#define KILN_INTERP_EVAL_H

#include "interp/formula.h"
#include "interp/view.h"

/* A run of a pipeline. */
typedef struct FuncStorage {
    Arena arena;
    View *views; /* per component; NULL if nothing is stored (any more) */
} FuncStorage;

typedef struct Run {
    kn_pipeline      *p;
    const RunArgs    *binding;
    const Regions    *regions;
    kn_buffer *const *inputs, *const *outputs;
    Arena        arena;                             /* lives through the run */
    Arena        scratch;                           /* lives through one definition */
    FuncStorage *storage;                           /* per function id */
    Formula     *formulas[EX_COUNT][KN_TYPE_COUNT]; /* made when first used */
} Run;

/* Leaves the run with an error. */
__attribute__((noreturn, format(printf, 3, 4))) void run_refuse(Run *run, kn_status status, const char *format, ...);

typedef struct Eval Eval;
typedef struct Node Node;

/* An expression of the definition, and its value in each lane. */
struct Node {
    const Expr *expr;
    Node      **args;
    void (*evaluate)(Eval *ev, Node *e, const Mask *need); /* fills the lanes `need`; may fill others */
    RowKernel      *kernel;
    Finish         *finish;
    const View     *view;     /* EX_CALL */
    struct CCall   *c_call;   /* EX_EXTERN */
    Formula        *formula;  /* math_has(): exp and the like */
    const int64_t  *variable; /* EX_VAR */
    const uint64_t *clock;    /* when this advances, `done` is empty again */
    uint64_t        stamp;
    bool            varies; /* from lane to lane */
    bool            total;  /* no access and no C call below: any lane may be computed */
    Mask            done;
    Lane           *lanes;
};

typedef struct EvalVariable {
    const char *name;
    int64_t     value; /* the lane variable's: in lane 0 */
} EvalVariable;

struct Eval {
    Run          *run;
    const Func   *func;  /* whose definition it is */
    Map           nodes; /* Expr -> Node */
    EvalVariable  variables[KN_MAX_RANK * 3];
    int           variable_count;
    EvalVariable *lane;              /* the variable that runs along the lanes, or NULL: then there is one lane */
    int           width;             /* lanes in use */
    int           n;                 /* of this chunk */
    Mask          all;               /* the first n */
    uint64_t      never, row, chunk; /* the clocks */
};

/* An evaluator in the run's scratch arena, with no variables yet. */
void eval_init(Eval *ev, Run *run, const Func *func);
/* Adds a variable of the definition. Its address stays. */
EvalVariable *eval_variable(Eval *ev, const char *name);
/* Says which variable runs along the lanes (NULL: none), and over how many points at most. Before any node is made. */
void eval_along(Eval *ev, EvalVariable *lane, int64_t points);
/* The node of an expression. */
Node *eval_node(Eval *ev, const Expr *e);

/* Variables other than the lane variable have changed. */
void eval_begin_row(Eval *ev);
/* The lanes are n (at most `width`) values of the lane variable, from `first` on. */
void eval_begin_chunk(Eval *ev, int64_t first, int n);
/* Makes the lanes `want` of the node valid. */
void eval(Eval *ev, Node *e, const Mask *want);

/* The lanes of `in` where a bool node, valid there, is true. */
Mask eval_true(const Eval *ev, const Node *e, const Mask *in);

#endif
