/* SPDX-License-Identifier: MIT */
/* Elaboration: from the syntax tree to the pipeline.
 *
 * The one idea: first every item is filed under its name (entries; `repeat` is unrolled, includes are read), then
 * entries are resolved when somebody first asks for them. So order does not matter, a family may refer forwards,
 * templates are instantiated by need, and a question asked while it is being answered is a cycle.
 *
 *     program.c    items to entries          names.c     scopes and lookup        order.c  what first
 *     value.c      literals, types, meeting  expr.c      expressions
 *     suggest.c    what to write instead of a definition that is not legal
 *     builtins.c   functions of the language  boundary.c  edge, constant, mirror …
 *     reduce.c     sum(… for …) and friends   template.c  def
 *     define.c     definitions and updates    schedule.c  schedules
 *     warn_expr.c, warn_program.c  warnings
 */
#ifndef KILN_LANG_ELAB_H
#define KILN_LANG_ELAB_H

#include "base/text.h"
#include "lang/ast.h"
#include "pipeline/pipeline.h"

typedef struct Elab      Elab;
typedef struct Entry     Entry;
typedef struct NameScope NameScope;
typedef struct Env       Env;
typedef struct ElabValue ElabValue;
typedef struct FuncRef   FuncRef;
typedef struct Builtin   Builtin;

/* ---- Values ----------------------------------------------------------------------------- */

typedef enum ElabValueKind {
    VAL_ERROR, /* was diagnosed; expressions of it are errors too, without a message */
    VAL_INT,   /* a weak integer: a literal, or made of literals */
    VAL_FLOAT, /* a weak float */
    VAL_EXPR,  /* a typed expression */
    VAL_TUPLE,
    VAL_FUNC,
    VAL_TYPE,
    VAL_DIM, /* in.x */
    VAL_TEMPLATE,
    VAL_EXTERN,
    VAL_BUILTIN
} ElabValueKind;

struct ElabValue {
    ElabValueKind kind;
    __int128      integer;
    double        real;
    float         real32; /* of a single literal: the f32 nearest to its digits */
    union {
        const Expr    *expr;
        FuncRef       *func;
        kn_type        type;
        const Entry   *entry; /* VAL_TEMPLATE, VAL_EXTERN */
        const Builtin *builtin;
        struct {
            const Func *input;
            int         dim;
        } of;
    };
    ElabValue *items; /* VAL_TUPLE */
    int        count;
};

/* Something that can be called with coordinates: a function, or a boundary around one. Equal ones are one pointer. */
struct FuncRef {
    const struct Boundary *boundary; /* NULL: func itself */
    Func                  *func;
    FuncRef               *base, *next;                            /* next: of the same key */
    const Expr            *min[KN_MAX_RANK], *extent[KN_MAX_RANK]; /* NULL: this dimension has no boundary */
    const Expr           **outside;                                /* constant(f, v): per component */
};

#define ERROR_VALUE ((ElabValue){ .kind = VAL_ERROR })

ElabValue value_int(__int128 v);
ElabValue value_float(double v);
ElabValue value_expr(const Expr *e);
bool      value_is_weak(ElabValue v);
/* What it is, in words: "u8", "a function", "the literal 300". */
const char *value_describe(Elab *el, ElabValue v);
/* The compile-time integer that the value is: weak or a constant expression. */
bool value_known_int(ElabValue v, __int128 *out);
bool value_known_bool(ElabValue v, bool *out);

/* As an expression of its own type (weak: i32 or f32); NULL after a diagnostic, and for errors. */
const Expr *value_to_expr(Elab *el, ElabValue v, Loc loc);
/* As an expression of type t: a weak value that fits, or an expression that converts to t implicitly. NULL after a
 * diagnostic. `what` names what has that type; NULL: the other operands. */
const Expr *value_to_type(Elab *el, ElabValue v, kn_type t, Loc loc, const char *what);
/* A condition. */
const Expr *value_to_bool(Elab *el, ElabValue v, Loc loc);
/* An index or bound: i32. */
const Expr *value_to_index(Elab *el, ElabValue v, Loc loc);
/* Both operands converted to their common type; KN_NONE after a diagnostic. `what` names the operation. */
kn_type values_meet(Elab *el, ElabValue a, Loc loc_a, ElabValue b, Loc loc_b, const char *what, const Expr **ea,
                    const Expr **eb);

/* A conversion node, or the operand itself, or a folded constant. */
const Expr *convert(Elab *el, const Expr *e, kn_type t);

ElabValue unary_value(Elab *el, TokenKind op, ElabValue a, Loc loc);
ElabValue binary_value(Elab *el, TokenKind op, ElabValue a, Loc loc_a, ElabValue b, Loc loc_b);

/* A map key: the hash of several numbers and pointers. */
const void *hash_key(const uintptr_t *parts, size_t count);

/* ---- Names ------------------------------------------------------------------------------ */

typedef enum EntryKind {
    ENTRY_CONST,
    ENTRY_TYPE,
    ENTRY_PARAM,
    ENTRY_INPUT,
    ENTRY_EXTERN,
    ENTRY_STAGE,
    ENTRY_TEMPLATE,
    ENTRY_FUNC,
    ENTRY_ALIAS
} EntryKind;

typedef enum EntryState { ENTRY_NEW, ENTRY_BUSY, ENTRY_DONE } EntryState;

/* A definition as written, with the values of the names around it. */
typedef struct Definition {
    const Item *item;
    const Env  *env;
} Definition;

struct Entry {
    EntryKind   kind;
    EntryState  state;
    bool        queued;    /* visited by order.c */
    bool        asked;     /* its name is used */
    const char *name;      /* "g[2]" */
    const char *full_name; /* with the template instance it belongs to: "l[1].dx" */
    Loc         loc;
    const Item *item;
    const Env  *env;
    int         file;            /* number of its file: a const of an included file is a default */
    ElabValue   value;           /* once done */
    Func       *func;            /* ENTRY_FUNC, ENTRY_INPUT, ENTRY_STAGE */
    VEC(Definition) definitions; /* ENTRY_FUNC: the first is the pure one */
};

struct NameScope {
    NameScope  *up;
    const char *prefix;  /* of full names: "" or "g[2]." */
    Map         entries; /* interned name -> Entry */
    VEC(Entry *) order;
};

/* The environment of an expression: variables, lets, repetition variables, template arguments; the outermost link has a
 * scope. */
struct Env {
    const Env  *up;
    const char *name;
    ElabValue   value;
    NameScope  *scope; /* of the outermost link */
};

struct Elab {
    kn_context   *cx;
    kn_pipeline  *p;
    Arena        *arena;
    ExprPool     *pool;
    const Source *main; /* the program's own text */
    NameScope    *global;
    const Env    *global_env;
    VEC(Entry *) funcs;        /* all ENTRY_FUNC, ENTRY_ALIAS, ENTRY_STAGE of all scopes, in order of filing */
    VEC(Definition) schedules; /* schedule blocks */
    VEC(Definition) outputs, estimates;
    Map includes; /* Item -> a copy with its path and what the file holds */
    VEC(const char *) included, including;
    Map refs, instances, reductions; /* memo tables by hash_key; entries of equal key are a list */
    VEC(const FuncRef *) boundaries; /* that the program puts around functions */
    VEC(const char *) used_defines;
    Map name_counts;                /* interned full name -> how often it was asked for */
    int file, file_count;           /* being filed: 0 the main one, then a number per include */
    VEC(Entry *) busy;              /* being resolved, outermost first */
    int                entry_count; /* of all scopes */
    bool               lost;       /* a part of the program could not be parsed: an unknown name may be defined there */
    int                generic;    /* nesting of formulas being applied: these are written for any type */
    struct Simplifier *simplifier; /* for warnings, once one needs it */
    int                templates;  /* nesting of template instances being made */
    int                depth;      /* of recursion */
    bool               too_deep;   /* the error was reported */
    const Func        *updating;   /* whose update is being elaborated: a reduction that reads it is unrolled */
    const char        *current;  /* full name of the function being defined: prefix of the names of hidden functions */
    kn_type            var_type; /* of coordinates: i32, or i64 in a formula */
    bool               in_formula;
    VEC(Item *) built;       /* by the builder, filed when it is finished */
    const char *build_error; /* the builder's first mistake */
};

enum {
    ELAB_MAX_DEPTH = 1500,
    REPEAT_MAX     = 100000,
    REPEAT_COST    = 100,
    EXPR_COST      = 10,
    INSTANCE_COST  = 500,
    ENTRY_MAX      = 200000,
    TUPLE_MAX      = 16
};

NameScope *scope_new(Elab *el, NameScope *up, const char *prefix);
Entry     *scope_find(const NameScope *s, const char *name);
const Env *env_push(Elab *el, const Env *up, const char *name, ElabValue v);
const Env *env_root(Elab *el, NameScope *scope);
NameScope *env_scope(const Env *env);

/* What a name means here; ERROR_VALUE after a diagnostic that suggests the closest name. */
ElabValue lookup(Elab *el, const Env *env, const char *name, Loc loc);
/* Does the name mean something here already (other than a function of the language)? */
bool is_known(const Env *env, const char *name);
/* The value of an entry, resolving it if need be. */
ElabValue entry_value(Elab *el, Entry *e, Loc loc);
/* Resolves an entry after those that its definition names. */
void resolve_in_order(Elab *el, Entry *root);
/* "g[1][2]" of an AST_NAME or AST_INDEX; NULL after a diagnostic. */
const char *family_name(Elab *el, const Env *env, const Ast *a);
/* base[index]; NULL after a diagnostic, and if base is NULL. */
const char *member_name(Elab *el, const Env *env, const char *base, const Ast *index);
/* An unused full name: `wanted`, or wanted.2, wanted.3 … */
const char *unique_name(Elab *el, const char *wanted);
/* Is it a function or an input, so that its arguments are coordinates? */
bool takes_coordinates(const Env *env, const char *name);
/* "did you mean `x`?" of an unknown name, or NULL. */
const char *suggest_name(Elab *el, const Env *env, const char *name);
/* The type whose name is close, or that other languages call by this name; NULL if there is none. */
const char *suggest_type(const char *name);

/* ---- Suggestions ------------------------------------------------------------------------ */

/* "x, y": the unknown names in `value`, probably meant as arguments of what it defines; NULL if none. */
const char *suggest_coordinates(Elab *el, const Env *env, const Ast *value);
/* The text of a place; … if it is long. */
const char *text_of(Elab *el, Loc loc);
/* Is the value made of constants alone? */
bool known_now(Elab *el, ElabValue v);
/* Suggests a function without arguments for a number that is not a compile-time constant. */
const char *suggest_function(Elab *el, const char *name, Loc value);
/* Suggests a formula for a template whose `return` is a number; NULL for other templates. */
const char *suggest_formula(Elab *el, const Entry *template_);

/* ---- Expressions ------------------------------------------------------------------------ */

ElabValue elab_expr(Elab *el, const Env *env, const Ast *a);
/* A compile-time integer. */
bool        elab_known_int(Elab *el, const Env *env, const Ast *a, const char *what, __int128 *out);
kn_type     elab_type(Elab *el, const Env *env, const Ast *a);
ElabValue   call_ref(Elab *el, const FuncRef *f, const Expr *const *args);
int         ref_rank(const FuncRef *f);
FuncRef    *ref_of(Elab *el, Func *f);
FuncRef    *ref_intern(Elab *el, const FuncRef *like);
const Func *ref_input(const FuncRef *f); /* the input it is or wraps, or NULL */

/* A function of the language. */
struct Builtin {
    const char *name;
    int         min_args, max_args; /* max -1: any number */
    ElabValue (*apply)(Elab *el, const Env *env, const Ast *call, const Builtin *b);
    ExprOp op;
    double (*fold)(double a, double b); /* of weak values */
};
const Builtin *builtin_find(const char *name);
bool           builtin_constant(Elab *el, const char *name, ElabValue *out);
size_t         builtin_names(const char **out, size_t most);

/* Handlers of the table that live in other files. */
ElabValue apply_boundary(Elab *el, const Env *env, const Ast *call, const Builtin *b);
ElabValue apply_reduction(Elab *el, const Env *env, const Ast *call, const Builtin *b);

ElabValue instantiate(Elab *el, const Env *env, const Entry *template_, const Ast *call, const char *wanted);

/* ---- Definitions ------------------------------------------------------------------------ */

void define_pure(Elab *el, Entry *e);
void define_update(Elab *el, Entry *e, const Definition *d);
/* A function with the arguments of `call` and the value `body`, in `env`; the name is unused. */
Func *define_function(Elab *el, const Env *env, const char *full_name, Loc loc, const Ast *call, const Ast *body);
/* Reduction variables of a clause: pushes them on the environment, checks their names. */
bool elab_clause(Elab *el, const Env **env, const Clause *c, int *count, RVar **rvars, const Expr **where);

/* ---- Warnings --------------------------------------------------------------------------- */

/* Warns of a dividend that may have wrapped. */
void warn_dividend(Elab *el, ElabValue v, Loc loc);
/* Warns of a comparison whose result follows from the types of its operands. */
void warn_comparison(Elab *el, const Env *env, ElabValue v, Loc loc);
/* Warns of unused definitions, and of those that later ones overwrite. */
void warn_program(Elab *el);

/* ---- Programs --------------------------------------------------------------------------- */

/* A new one, which the pipeline keeps. */
Elab *elab_new(kn_pipeline *p);
/* That of a pipeline; NULL if it has none. */
Elab *elab_of(const kn_pipeline *p);
/* Files the items of a program. */
void file_items(Elab *el, const Env *env, Item *const *items, int count);
/* The path of a file named in another, without "./" and "dir/../". */
const char *join_path(Elab *el, const char *from, const char *name);
/* An include of a schedule with what is in the file as its body; NULL after a diagnostic. */
Item *include_schedule(Elab *el, const Item *it);
/* Resolves everything that was filed: functions, updates, outputs, estimates, schedules. */
void elab_resolve_all(Elab *el);
/* Refuses a kn_define that matches no constant or type of the program. */
void elab_check_defines(Elab *el);
/* The schedule blocks of the text, added to the pipeline. */
void elab_schedules(Elab *el);
/* The same for a .sched file: its statements are one schedule, its blocks one each. */
void elab_schedule_file(Elab *el, const Item *all);

#endif
