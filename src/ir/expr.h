/* SPDX-License-Identifier: MIT */
/* Expressions: immutable, typed, hash-consed.
 *
 * One idea: an expression is made once. Two equal expressions of a pipeline are the same pointer, a shared part is
 * stored once, and a pass that remembers its answer per node (by `id`) is linear in what was written. All types are
 * explicit: the operands of an operator have one type, and conversions are nodes. What the language has and this file
 * has not (literals without a type, templates, boundaries, inline reductions, tuples) is gone when an Expr exists.
 *
 * Meaning of every operator: docs/language.md; the interpreter (interp/) is its definition. */
#ifndef KILN_IR_EXPR_H
#define KILN_IR_EXPR_H

#include "base/context.h"
#include "ir/type.h"

typedef struct Expr   Expr;
typedef struct Func   Func; /* ir/func.h */
typedef struct Param  Param;
typedef struct Buffer Buffer; /* ir/stmt.h */

/* name, text, operands (-1: any number), what the node holds beside them, how tightly its text binds (0: it is written
 * as a call or an atom), and its type: that of an operand, bool, the unsigned one of the operands' width, or its own */
/* clang-format off */
#define EXPR_OPS(X)                                                                                                    \
    /* leaves */                                                                                                       \
    X(INT, "int", 0, INTEGER, 0, OWN) /* u.i: wrapped to the type; also bool */                                        \
    X(FLOAT, "float", 0, NUMBER, 0, OWN) /* u.f: rounded to the type */                                                \
    X(VAR, "var", 0, NAME, 0, OWN) /* u.name, i32: a function's argument or a reduction variable (i64 in kn_fill) */   \
    X(PARAM, "param", 0, PARAM, 0, OWN) /* u.param */                                                                  \
    X(DIM_MIN, "min", 0, CALL, 0, OWN) /* u.call.func is an input, u.call.index its dimension: i32 */                  \
    X(DIM_EXTENT, "extent", 0, CALL, 0, OWN) /* likewise */                                                            \
    /* calls */                                                                                                        \
    X(CALL, "call", -1, CALL, 0, OWN) /* u.call.func at args, component u.call.index; args are i32 */                  \
    X(LOAD, "load", 1, BUFFER, 0, OWN) /* lowered code: the element of u.buffer at args[0], an i64 index */            \
    X(EXTERN, "extern", -1, NAME, 0, OWN) /* u.name: a pure C function of scalars */                                   \
    /* conversions: the type of the node is the target */                                                              \
    X(CAST, "cast", 1, NOTHING, 0, OWN)                                                                                \
    X(SAT_CAST, "sat", 1, NOTHING, 0, OWN)                                                                             \
    X(REINTERPRET, "reinterpret", 1, NOTHING, 0, OWN)                                                                  \
    /* arithmetic: operands have the type of the node */                                                               \
    X(NEG, "-", 1, NOTHING, 12, FIRST)                                                                                 \
    X(ADD, "+", 2, NOTHING, 10, FIRST)                                                                                 \
    X(SUB, "-", 2, NOTHING, 10, FIRST)                                                                                 \
    X(MUL, "*", 2, NOTHING, 11, FIRST)                                                                                 \
    X(DIV, "/", 2, NOTHING, 11, FIRST) /* integers: Euclidean, by zero 0 */                                            \
    X(MOD, "%", 2, NOTHING, 11, FIRST) /* integers only */                                                             \
    X(MIN, "min", 2, NOTHING, 0, FIRST) /* a < b ? a : b */                                                            \
    X(MAX, "max", 2, NOTHING, 0, FIRST) /* a > b ? a : b */                                                            \
    X(ABS, "abs", 1, NOTHING, 0, FIRST)                                                                                \
    X(ABSD, "absd", 2, NOTHING, 0, UNSIGNED) /* integers: the node has the unsigned type of the operands' width */     \
    X(AVG_UP, "avg_up", 2, NOTHING, 0, FIRST) /* integers: (a + b + 1) >> 1 without overflow */                        \
    X(AVG_DOWN, "avg_down", 2, NOTHING, 0, FIRST)                                                                      \
    X(MUL_SHIFT, "mul_shift", 3, NOTHING, 0, FIRST) /* integers: (a * b) >> s, the product in double width */          \
    X(POPCOUNT, "popcount", 1, NOTHING, 0, FIRST)                                                                      \
    X(CLZ, "clz", 1, NOTHING, 0, FIRST)                                                                                \
    X(SHL, "<<", 2, NOTHING, 9, FIRST) /* the amount has any integer type; a negative one shifts the other way */      \
    X(SHR, ">>", 2, NOTHING, 9, FIRST)                                                                                 \
    X(BIT_AND, "&", 2, NOTHING, 8, FIRST) /* integers and bool */                                                      \
    X(BIT_OR, "|", 2, NOTHING, 6, FIRST)                                                                               \
    X(BIT_XOR, "^", 2, NOTHING, 7, FIRST)                                                                              \
    X(BIT_NOT, "~", 1, NOTHING, 12, FIRST) /* on bool: logical not */                                                  \
    /* floats */                                                                                                       \
    X(FLOOR, "floor", 1, NOTHING, 0, FIRST)                                                                            \
    X(CEIL, "ceil", 1, NOTHING, 0, FIRST)                                                                              \
    X(ROUND, "round", 1, NOTHING, 0, FIRST) /* ties to even */                                                         \
    X(TRUNC, "trunc", 1, NOTHING, 0, FIRST)                                                                            \
    X(SQRT, "sqrt", 1, NOTHING, 0, FIRST)                                                                              \
    X(RSQRT, "rsqrt", 1, NOTHING, 0, FIRST)                                                                            \
    X(EXP, "exp", 1, NOTHING, 0, FIRST)                                                                                \
    X(LOG, "log", 1, NOTHING, 0, FIRST)                                                                                \
    X(POW, "pow", 2, NOTHING, 0, FIRST)                                                                                \
    X(SIN, "sin", 1, NOTHING, 0, FIRST)                                                                                \
    X(COS, "cos", 1, NOTHING, 0, FIRST)                                                                                \
    X(TAN, "tan", 1, NOTHING, 0, FIRST)                                                                                \
    X(ATAN2, "atan2", 2, NOTHING, 0, FIRST)                                                                            \
    X(TANH, "tanh", 1, NOTHING, 0, FIRST)                                                                              \
    X(ERF, "erf", 1, NOTHING, 0, FIRST)                                                                                \
    X(FMA, "fma", 3, NOTHING, 0, FIRST) /* a*b + c rounded once (f16, bf16: in f32, then rounded) */                   \
    /* comparisons: operands of one type, the node is bool */                                                          \
    X(LT, "<", 2, NOTHING, 5, BOOL)                                                                                    \
    X(LE, "<=", 2, NOTHING, 5, BOOL)                                                                                   \
    X(EQ, "==", 2, NOTHING, 4, BOOL)                                                                                   \
    X(NE, "!=", 2, NOTHING, 4, BOOL)                                                                                   \
    /* bool; the second operand is looked at only where the first does not decide */                                   \
    X(AND, "&&", 2, NOTHING, 3, BOOL)                                                                                  \
    X(OR, "||", 2, NOTHING, 2, BOOL)                                                                                   \
    /* condition, then, else: the branch not taken is not looked at */                                                 \
    X(SELECT, "if", 3, NOTHING, 1, SECOND)
/* clang-format on */

typedef enum ExprOp {
#define X(name, text, arity, holds, binding, type) EX_##name,
    EXPR_OPS(X)
#undef X
        EX_COUNT
} ExprOp;

/* What a node holds besides its operands: a field of the union u. */
typedef enum ExprHolds {
    HOLDS_NOTHING,
    HOLDS_INTEGER, /* u.i */
    HOLDS_NUMBER,  /* u.f */
    HOLDS_NAME,    /* u.name */
    HOLDS_PARAM,   /* u.param */
    HOLDS_BUFFER,  /* u.buffer */
    HOLDS_CALL     /* u.call: a function and a number */
} ExprHolds;

/* Where the type of a node comes from. */
typedef enum ExprTyping { TYPE_OWN, TYPE_FIRST, TYPE_SECOND, TYPE_BOOL, TYPE_UNSIGNED } ExprTyping;

typedef struct ExprOpInfo {
    const char *name, *text;
    int         arity;
    ExprHolds   holds;
    int         binding;
    ExprTyping  typing;
} ExprOpInfo;

extern const ExprOpInfo expr_op_table[EX_COUNT];

struct Expr {
    uint8_t  op, type; /* ExprOp, kn_type */
    bool     strict;   /* under strict(…): a float operation that may not be contracted or reordered */
    uint16_t depth;    /* 1 + the deepest operand's; at most EXPR_MAX_DEPTH */
    uint32_t id;       /* dense from 0 in its pool: for tables of answers */
    uint32_t hash;
    uint32_t count; /* of args */
    union {
        int64_t       i;
        double        f;
        const char   *name; /* interned */
        const Param  *param;
        const Buffer *buffer;
        struct {
            const Func *func;
            uint32_t    index;
        } call;
    } u;
    const Expr *args[];
};

enum { EXPR_MAX_DEPTH = 2000 };

/* All expressions of one pipeline. */
typedef struct ExprPool {
    kn_context  *cx;
    Arena       *arena;
    const Expr **table; /* open addressed */
    size_t       capacity;
    uint32_t     count;  /* every id is smaller */
    bool         strict; /* marks the float operations made now */
    bool too_deep; /* set when a node would have been deeper than EXPR_MAX_DEPTH; the node made is its first operand */
} ExprPool;

void expr_pool_init(ExprPool *pool, kn_context *cx, Arena *arena);

const Expr *expr_int(ExprPool *pool, kn_type type, int64_t v);  /* wraps */
const Expr *expr_float(ExprPool *pool, kn_type type, double v); /* rounds */
const Expr *expr_bool(ExprPool *pool, bool v);
const Expr *expr_var(ExprPool *pool, kn_type type, const char *interned);
const Expr *expr_param(ExprPool *pool, kn_type type, const Param *param);
const Expr *expr_dim(ExprPool *pool, ExprOp op, const Func *input, int dim);
const Expr *expr_call(ExprPool *pool, const Func *f, int component, kn_type type, int count, const Expr *const *args);
const Expr *expr_extern(ExprPool *pool, const char *interned, kn_type type, int count, const Expr *const *args);
const Expr *expr_load(ExprPool *pool, const Buffer *buffer, kn_type type, const Expr *index);
const Expr *expr_unary(ExprPool *pool, ExprOp op, kn_type type, const Expr *a);
const Expr *expr_binary(ExprPool *pool, ExprOp op, kn_type type, const Expr *a, const Expr *b);
const Expr *expr_ternary(ExprPool *pool, ExprOp op, kn_type type, const Expr *a, const Expr *b, const Expr *c);

/* `e` with each variable named in `names` replaced. */
const Expr *expr_substitute(ExprPool *pool, const Expr *e, int count, const char *const *names,
                            const Expr *const *values);

/* A node like `like` (of this pool or another) with these operands, as many as it has. */
const Expr *expr_rebuild(ExprPool *pool, const Expr *like, const Expr *const *args);

/* Rewrites `e` from the leaves up: each distinct node once, after its operands, as it is with the new operands;
 * change() returns what stands in its place, or the node itself. */
const Expr *expr_rewrite(ExprPool *pool, const Expr *e, const Expr *(*change)(void *user, const Expr *e), void *user);

/* Calls visit(e, user) once for each node reachable from e, operands first. */
void expr_visit(ExprPool *pool, const Expr *e, void (*visit)(const Expr *e, void *user), void *user);
/* Does `e` call `f` (NULL: any function)? */
bool expr_reads(ExprPool *pool, const Expr *e, const Func *f);
/* Is it a call of `f`, of any component, at these very coordinates? */
bool expr_is_call_at(const Expr *e, const Func *f, const Expr *const *args);
/* Is the variable in it? */
bool expr_has_variable(ExprPool *pool, const Expr *e, const char *interned);
/* Does it read a function or memory, or call C? */
bool expr_reads_any(ExprPool *pool, const Expr *e);

/* Value of an integer constant node. */
bool expr_is_int(const Expr *e, int64_t *v);
/* Is the float a clamp to constants, perhaps rounded, that fit in the integer type? */
bool expr_clamped_within(const Expr *e, kn_type to);

/* A linear form: constant + sum of coefficient * atom, over i32 expressions in which no step can be shown to wrap.
 * Atoms are expressions that are not sums, differences, negations or products with a constant. */
typedef struct Linear {
    int64_t      constant;
    int          count;
    const Expr **atoms; /* in order of id, no coefficient is 0 */
    int64_t     *coefficients;
} Linear;

/* The linear form of an integer expression; false if it has too many terms or its numbers are too large. */
bool expr_linear(Arena *arena, const Expr *e, Linear *out);
/* a - b is this constant? Provable only by linear forms. */
bool expr_difference(const Expr *a, const Expr *b, int64_t *out);

/* The direction a*y + c*j of sums of two variables: coprime, a > 0, from the first sum that was asked about. */
typedef struct Direction {
    bool    known;
    int64_t a, c;
} Direction;

/* n*y + m*j = k * (a*y + c*j): k; 0 if that is not so. */
int64_t direction_multiple(Direction *d, int64_t n, int64_t m);

#endif
