/* SPDX-License-Identifier: MIT */
/* A pipeline: functions, their updates, what it is called with, and the schedules kept with it. */
#ifndef KILN_PIPELINE_PIPELINE_H
#define KILN_PIPELINE_PIPELINE_H

#include "ir/func.h"
#include "ir/print.h"

typedef struct Output {
    const char *name;
    Func       *func;
    Loc         loc;
    int32_t    *estimate; /* extents, or NULL */
} Output;

/* An argument of a scheduling directive. */
typedef enum ScheduleArgKind { ARG_VAR, ARG_FUNC, ARG_INT, ARG_EXPR, ARG_WORD } ScheduleArgKind;

typedef struct ScheduleArg {
    const char     *label; /* "tail", or NULL */
    ScheduleArgKind kind;
    const char     *name;   /* ARG_VAR, ARG_WORD: interned */
    const Func     *func;   /* ARG_FUNC */
    int             update; /* ARG_FUNC: -1 for the function itself */
    int64_t         value;  /* ARG_INT; ARG_WORD: its Tail or Memory */
    const Expr     *expr;   /* ARG_EXPR */
    Loc             loc;
} ScheduleArg;

/* stage: an input through a boundary that the program puts around it. */
typedef struct BoundedForm {
    const Expr **values;  /* one per component, over the variables of `made` */
    bool         own_box; /* it is around the box of the input: what is read there is the same without it */
} BoundedForm;

typedef struct Directive {
    const struct DirectiveInfo *info;
    Func                       *func;
    int                         update; /* -1 for the pure definition */
    int version;       /* which specialization of the definition it is about, counted from 0; -1: none. Of `specialize`
                          itself: the one it begins */
    Func *made;        /* stage, rfactor …: the new function, that the rest of the chain is about. It is in no
                        * pipeline: its name, arguments and loops are known here, the expressions of updates are the
                        * plan's */
    Func        *also; /* separate: what `made` is a copy of; checkpoint: the chunks */
    Func       **windows; /* double: of 1, 2, 4, … taps; `made` is the last */
    int          window_count;
    BoundedForm *forms;
    int          form_count;
    int          arg_count;
    ScheduleArg *args;
    Loc          loc; /* of its name */
} Directive;

typedef struct Schedule {
    const char *name, *target; /* NULL where not given */
    Loc         loc;
    VEC(Directive) directives;
} Schedule;

/* A callback before the pipeline's memory is freed: for resources that were made from it and are not arena memory. */
typedef struct OnFree OnFree;
struct OnFree {
    OnFree *next;
    void (*run)(OnFree *c);
};

struct kn_pipeline {
    Owned       owned; /* by the context */
    kn_context *cx;
    Arena       arena;
    ExprPool    exprs;
    const char *name;
    VEC(Func *) funcs; /* inputs and definitions; once finished, in topological order: producers first */
    VEC(Param *) params;
    VEC(Output) outputs;
    VEC(Schedule *) schedules;
    void *syntax;   /* the front end's state (elab_of in lang/elab.h), or NULL */
    bool  finished; /* checked and ordered: may run */
    VEC(kn_port) ports;
    OnFree *on_free;
};

kn_pipeline *pipeline_new(kn_context *cx, const char *name);
/* Frees it; if `keep`, its memory stays until the next API call, because diagnostics point into it. */
void pipeline_free(kn_pipeline *p, bool keep);
/* Calls c->run(c) when the pipeline is freed; `c` lives in the pipeline's arena. */
void pipeline_on_free(kn_pipeline *p, OnFree *c);

Func *pipeline_add_func(kn_pipeline *p, FuncKind kind, const char *name, Loc loc, int rank, const char *const *args);

/* Checks what holds for the pipeline as a whole (no cycles, legal self references, outputs defined), orders the
 * functions and fills the ports. Errors are diagnosed; true if there are none. */
bool pipeline_check(kn_pipeline *p);
/* indices.c: writes indices whose terms depend on each other so that their intervals are tight. */
void pipeline_tighten_indices(kn_pipeline *p);

/* Reads a file through the context's reader into the pipeline's memory; NULL if it cannot be read. */
const char *pipeline_read_file(kn_pipeline *p, const char *path, size_t *size);

/* Calls visit on every root expression of definition `update` (-1: the pure one). `bounds`: only on the bounds of its
 * reduction variables. */
void def_roots(const Func *f, int update, bool bounds, void (*visit)(const Expr *e, void *user), void *user);
/* Calls visit on every node of them, operands first. */
void def_visit(ExprPool *pool, const Func *f, int update, void (*visit)(const Expr *e, void *user), void *user);

/* The functions that `f` reads, each once, itself excluded. */
typedef struct FuncList {
    VEC(const Func *) items;
} FuncList;
void func_callees(Arena *arena, const Func *f, FuncList *out);

/* Does any expression use the size of this input (in.width, edge(in) …)? */
bool pipeline_uses_size(const kn_pipeline *p, const Func *input);

/* KN_VIEW_FUNCS, KN_VIEW_GRAPH or KN_VIEW_SCHEDULE. */
void pipeline_show(Text *t, kn_pipeline *p, kn_view view);

#endif
