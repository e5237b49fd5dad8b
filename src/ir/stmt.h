/* Statements: what lowering makes of a pipeline and a schedule. Immutable trees in an arena, over expressions of one
 * pool.
 *
 * One idea: there are no vector expressions. A vectorized loop is a loop whose variable has all its values at once; the
 * expressions of its body stay what they were, and the backend gives each the shape it needs: one value where it does
 * not depend on the variable, a base and a step where it is linear in it, lanes where it is neither. So every pass
 * works on scalars.
 *
 * Names: every variable of lowered code is an EX_VAR of an interned name, bound by a `let`, a loop or, at the very top,
 * by the function itself:
 *     B.min.D  B.extent.D  (i32)   B.stride.D  B.count (i64)
 * for each port buffer B and dimension D. A name may be bound twice, in parts of the code that do not enclose each
 * other (copies of a loop body); an inner binding never hides an outer one. */
#ifndef KILN_IR_STMT_H
#define KILN_IR_STMT_H

#include "ir/func.h"

typedef enum BufferKind { BUFFER_INPUT, BUFFER_OUTPUT, BUFFER_SCRATCH } BufferKind;

/* Where scratch lives. REGISTER: small, of constant size, and addressed by constants once loops are unrolled, so that
 * the backend makes values of it; if that does not come about it is STACK. AUTO: stack if the size is a small constant,
 * heap otherwise. */
typedef enum Memory { MEMORY_AUTO, MEMORY_STACK, MEMORY_HEAP, MEMORY_REGISTER } Memory;

/* Memory that code addresses by element. Inputs and outputs do not overlap each other. */
struct Buffer {
    const char *name; /* interned, unique in the program: "in", "blurx", "best.1" */
    int         id;   /* its place in Program.buffers */
    BufferKind  kind;
    kn_type     type;
    const char *func; /* interned name of the function whose values it holds; NULL for what lowering keeps for itself */
    int         component;
    int         rank;        /* of a port */
    const char *const *dims; /* of a port: the names of its dimensions */
    int dense; /* of a port: the dimension whose stride is 1 when the code runs (the runtime sees to that); -1 if rank
                  is 0 */
    Memory memory;      /* of scratch */
    bool   coordinates; /* of what lowering keeps for itself: all that is ever read from it are coordinates, within
                           ±MOST_COORDINATE */
};

typedef enum LoopKind { LOOP_SERIAL, LOOP_PARALLEL, LOOP_VECTOR, LOOP_UNROLL } LoopKind;
extern const char *const loop_kind_names[]; /* "for", "parallel", "vector", "unroll" */

typedef enum StmtKind {
    STMT_LET,   /* name = value in body */
    STMT_FOR,   /* for name in min .. min+extent-1: body. No iteration where extent <= 0. VECTOR and UNROLL: extent is a
                 * constant > 0. Iterations of a   PARALLEL or VECTOR loop do not see each other (`atomic` stores apart)
                 */
    STMT_BLOCK, /* one after the other */
    STMT_IF,    /* yes where the condition holds, else no (which may be NULL). In a vector loop: lane by lane */
    STMT_PRODUCE, /* body computes definition `update` (-1: the pure one) of the function of that name; says nothing,
                     for pictures and profiles */
    STMT_PROVIDE, /* before flattening: func(args) = values, all components computed before any is stored */
    STMT_REALIZE, /* before flattening: storage for func over a box, during body */
    STMT_STORE,   /* after flattening: all values computed, then all stored */
    STMT_ALLOC,   /* after flattening: `count` (i64) elements of buffer during body; their values are not defined at
                     first. Not positive: nothing is allocated */
    STMT_NEED,    /* port buffer must have the coordinates min..max along dimension dim, else the function ends with an
                     error before anything is written */
    STMT_CHECK,   /* the condition must hold, else the function ends with this message and status: KN_ERROR_BOUNDS
                   * where only compiled code has to give up */
    STMT_STAGE,   /* calls an extern stage; see StageCall */
    STMT_PREFETCH /* the cache line of buffer at index is wanted soon; before flattening: that of func(args) */
} StmtKind;

typedef struct Stmt Stmt;

/* One component of a store. */
typedef struct Place {
    const Buffer *buffer;
    const Expr   *index; /* i64 */
    const Expr   *value;
} Place;

/* An extern stage: its storage is filled from that of its arguments. Boxes are over the dimensions of each. Before
 * flattening, the functions' storage is found by the functions; after it, by the buffers. */
typedef struct StageOperand {
    const Expr   *value;  /* of a scalar; NULL: a function's storage */
    const Func   *func;   /* whose storage; NULL after flattening */
    kn_type       type;   /* of a function's elements */
    const Buffer *buffer; /* after flattening; its index 0 is the coordinates `min` of the storage */
    int           rank;
    const Expr  **min, **extent, **stride; /* of the storage: i32, i32, i64 */
} StageOperand;

typedef struct StageCall {
    const char   *name, *symbol; /* of the function that it computes, and of the C function */
    StageOperand  output;
    const Expr  **box_min, **box_extent; /* what is to be computed */
    int           count;
    StageOperand *operands;
    const Buffer
        *table; /* not NULL: the stage is only asked what it needs for that box, and there is no storage: i32, min and
                 * max of each dimension of each argument, from index 0 on. What it needs nothing of is left as it is */
} StageCall;

/* Storage that outlives the iterations it is computed in. */
typedef struct Sliding {
    int count, dims[2]; /* the dimensions that are computed piece by piece, the one of the outer loop first; none: all
                           of it or nothing */
    int64_t window[2];  /* how many coordinates of each are needed at a time, at most; 0: not known */
    bool    folded;     /* along the first the storage has not many more: coordinates count modulo its extent */
} Sliding;

struct Stmt {
    StmtKind kind;
    union {
        struct {
            const char *name;
            const Expr *value;
            const Stmt *body;
        } let;
        struct {
            const char *name;
            LoopKind    kind;
            const Expr *min, *extent;
            const Stmt *body;
        } loop;
        struct {
            int          count;
            const Stmt **items;
        } block;
        struct {
            const Expr *condition;
            const Stmt *yes, *no;
        } branch;
        struct {
            const char *func; /* interned */
            int         update;
            const Stmt *body;
        } produce;
        struct {
            const Func  *func;
            int          rank, count;
            const Expr **args;
            const Expr **values;
            bool         atomic;
        } provide; /* count: of components */
        struct {
            const Func    *func;
            int            rank;
            const Expr   **min, **extent;
            const int64_t *fold;
            const Stmt    *body;
            const Sliding *sliding;
        } realize; /* fold: coordinates
                    * along a dimension count modulo this, if positive; sliding: NULL if it does not */
        struct {
            int    count;
            Place *places;
            bool   atomic, stream;
        } store;
        struct {
            const Buffer *buffer;
            const Expr   *count;
            const Stmt   *body;
        } alloc;
        struct {
            const Buffer *buffer;
            int           dim;
            const Expr   *min, *max;
            const char   *reader; /* the name of the function that reads it; NULL: it is written */
        } need;
        struct {
            const Expr *condition;
            const char *message;
            kn_status   status;
        } check;
        StageCall *stage;
        struct {
            const Func   *func;
            int           rank;
            const Expr  **args;
            const Buffer *buffer;
            const Expr   *index;
        } prefetch; /* func NULL after flattening */
    };
};

const Stmt *stmt_let(Arena *a, const char *name, const Expr *value, const Stmt *body);
const Stmt *stmt_for(Arena *a, const char *name, LoopKind kind, const Expr *min, const Expr *extent, const Stmt *body);
const Stmt *stmt_block(Arena *a, int count,
                       const Stmt *const *items); /* drops NULLs, flattens blocks; NULL if nothing is left */
const Stmt *stmt_pair(Arena *a, const Stmt *first, const Stmt *second);
const Stmt *stmt_if(Arena *a, const Expr *condition, const Stmt *yes, const Stmt *no);
const Stmt *stmt_produce(Arena *a, const char *func, int update, const Stmt *body);
const Stmt *stmt_store(Arena *a, const Buffer *buffer, const Expr *index, const Expr *value);

/* Rewriting. stmt_map rebuilds one statement: sub-statements through stmt(), expressions through expr() (either may be
 * NULL: kept); it is shared as it is where nothing changes. Where stmt() gives NULL the sub-statement is gone: a block
 * drops it, a loop or let around nothing is NULL itself. */
typedef struct StmtMap {
    Arena *arena;
    const Stmt *(*stmt)(void *user, const Stmt *s);
    const Expr *(*expr)(void *user, const Expr *e);
    void *user;
} StmtMap;
const Stmt *stmt_map(const StmtMap *m, const Stmt *s);

/* Calls visit on each expression that stands in the statement itself (not in its sub-statements), and on each
 * sub-statement. Either may be NULL. */
void stmt_children(const Stmt *s, void (*expr)(void *user, const Expr *e), void (*stmt)(void *user, const Stmt *s),
                   void       *user);

/* `s` with each variable named replaced, in every expression. */
const Stmt *stmt_substitute(ExprPool *pool, Arena *a, const Stmt *s, int count, const char *const *names,
                            const Expr *const *values);

/* A compiled function before the backend. */
typedef struct Program {
    kn_context *cx;
    Arena      *arena;
    ExprPool   *exprs;
    const char *name;  /* a C identifier */
    const char *title; /* what messages call it; NULL: the name */
    VEC(Buffer *)
    buffers; /* the ports first: inputs, then outputs' components, in the order of the pipeline's ports; then scratch */
    int port_count; /* of them ports */
    VEC(const Param *) params;
    const Stmt *body;
    bool        strict_float; /* no float operation is contracted or reordered */
} Program;

#endif
