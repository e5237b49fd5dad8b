/* SPDX-License-Identifier: MIT */
/* Facts of a definition: what its text says about the schedules that leave its result as it is.
 *
 * The planner asks for them of the functions of a plan, the schedulers of those of the pipeline as it was written:
 * inlining can only make more legal, never less. */
#ifndef KILN_LEGAL_FACTS_H
#define KILN_LEGAL_FACTS_H

#include "pipeline/pipeline.h"

/* Variables of a definition as a set: bit d, the free variable of dimension d; bit FIRST_RVAR + i, reduction variable
 * i. */
enum { FIRST_RVAR = KN_MAX_RANK, LEGAL_RVARS = 2 * KN_MAX_RANK, FREE_VARIABLES = (1 << FIRST_RVAR) - 1 };

/* The steps of a reduction that may be written as one expression (`inline`). */
enum { MOST_EXPANDED_STEPS = 64 };

typedef struct DefFacts {
    uint32_t free;     /* free variables: those that have a loop */
    uint32_t rvars;    /* reduction variables */
    uint32_t bounding; /* variables that are in the bounds of a reduction variable: their loops are outside its own, and
                          are no vectors */
    uint32_t bounds[LEGAL_RVARS]; /* those of each reduction variable */
    uint32_t apart;    /* reduction variables of which different values write different places, and read none that
                          another writes */
    uint32_t other_points; /* free variables along which some read of its own function is at another point: their loops
                              stay inside all reduction loops */
    bool reads_self;   /* it reads its own function */
    bool own_place;    /* all such reads are of the very place that is written */
    bool combines;     /* f(args) = f(args) op e in every component, op exact in any order, and e, args, conditions and
                          bounds do not read f */
    bool inexact;      /* the same for a float operation, whose result depends on the order */
    bool bounds_read;  /* the bounds of its reduction variables read functions: these are not computed inside its
                          reduction loops */
    int64_t steps;     /* of the reduction, 1 without one; 0: not a constant, or very many */
} DefFacts;

/* Of definition `update` of f; -1: the pure one. */
DefFacts def_facts(ExprPool *pool, const Func *f, int update);

/* The variables of a definition that an expression is over. */
uint32_t def_variables(ExprPool *pool, const Func *f, int update, const Expr *e);

/* Is `e` a call of component `component` of f at the place that the update writes? */
bool is_written_place(const Func *f, const Update *u, const Expr *e, int component);

/* The iterations of one reduction variable; 0: not a constant, or very many. */
int64_t rvar_steps(const RVar *v);

/* Can f be written as a pure definition: is it one, or do its updates take a constant few steps, each at its own point
 * alone? */
bool func_expands(ExprPool *pool, const Func *f);

/* Why a function cannot be inlined. */
typedef enum InlineFault {
    INLINE_LEGAL,
    INLINE_OUTPUT,  /* it is an output */
    INLINE_EXTERN,  /* it is an extern stage */
    INLINE_INPUT,   /* it is an input */
    INLINE_UPDATES, /* it has updates that cannot be written as one expression */
    INLINE_AS_WHOLE /* an extern stage reads it, as a whole */
} InlineFault;
InlineFault inline_check(const Func *f, bool is_output, bool read_by_extern, bool expands);

#endif
