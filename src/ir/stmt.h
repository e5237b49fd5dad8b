/* SPDX-License-Identifier: MIT */
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

/* Each structure of a statement is declared by a list of its fields, and the list is also the table (ir/fields.h) that
 * walking, mapping, printing, reading and hashing go through: a field that is not in the table does not exist.
 *     F(M, KIND, type, name, count)
 * M is the structure's name in the statement, KIND says what the field is (FIELD_KIND), and `count` is the field with
 * the number of its elements, or the field itself. */
#define DECLARE_FIELD(M, KIND, type, name, count) type name;

/* A coordinate of lowered code lies within ±2^28 (checked at run time), so sums of a few of them never wrap. */
enum { MOST_COORDINATE = 1 << 28 };

typedef enum BufferKind { BUFFER_INPUT, BUFFER_OUTPUT, BUFFER_SCRATCH } BufferKind;
enum { BUFFER_KIND_COUNT = BUFFER_SCRATCH + 1 };
extern const char *const buffer_kind_names[BUFFER_KIND_COUNT]; /* "input", "output", "scratch" */

/* Where scratch lives. REGISTER: small, of constant size, and addressed by constants once loops are unrolled, so that
 * the backend makes values of it; if that does not come about it is STACK. AUTO: stack if the size is a small constant,
 * heap otherwise.
 *
 * GLOBAL: on the device, allocated by the host, for kernels and (through STMT_SYNC) for the host. In a kernel, outside
 * its thread loops, scratch is SHARED, of constant size, one for each block; or REGISTER, one for each thread: the
 * index means the thread's own. Inside thread loops it is the thread's own, on its STACK or in REGISTERs. */
typedef enum Memory {
    MEMORY_AUTO,
    MEMORY_STACK,
    MEMORY_HEAP,
    MEMORY_REGISTER,
    MEMORY_SHARED,
    MEMORY_GLOBAL,
    MEMORY_CONSTANT /* of tables that kernels only read; MEMORY_GLOBAL once kernels are cut out */
} Memory;
enum { MEMORY_COUNT = MEMORY_CONSTANT + 1 };

typedef struct MemoryInfo {
    const char *name;     /* the word of schedules and of printed code */
    bool        on_stack; /* may lie in the frame of the function that allocates it */
    bool        if_small; /* and does so only if it is small: nobody asked for it */
    bool        device;   /* of GPUs alone */
} MemoryInfo;
extern const MemoryInfo memory_table[MEMORY_COUNT];

/* Memory that code addresses by element. Inputs and outputs do not overlap each other. `coordinates` is about what
 * lowering keeps for itself: all that is ever read from it are coordinates, within +-MOST_COORDINATE. */
/* clang-format off */
#define BUFFER_FIELDS(F, M)                                                                                            \
    F(M, NAME, const char *, name, name)     /* interned, unique in the program: "in", "blurx", "best.1" */            \
    F(M, INT, int, id, id)                   /* its place in Program.buffers */                                        \
    F(M, BUFFER_KIND, BufferKind, kind, kind)                                                                          \
    F(M, TYPE, kn_type, type, type)                                                                                    \
    F(M, NAME, const char *, func, func)     /* the function whose values it holds; NULL: lowering keeps it */         \
    F(M, INT, int, component, component)                                                                               \
    F(M, INT, int, rank, rank)               /* of a port */                                                           \
    F(M, NAMES, const char *const *, dims, rank) /* of a port: the names of its dimensions */                          \
    F(M, INT, int, dense, dense)             /* of a port: the dimension whose stride is 1 when the code runs (the     \
                                                runtime sees to that); -1 if rank is 0 */                              \
    F(M, MEMORY, Memory, memory, memory)     /* of scratch */                                                          \
    F(M, BUFFER, const Buffer *, shares, shares) /* of SHARED scratch: the buffer of the same kernel in whose memory   \
                                                it lies, which has its own (shared_home); NULL: it has its own */      \
    F(M, FLAG, bool, coordinates, coordinates)
/* clang-format on */

struct Buffer {
    BUFFER_FIELDS(DECLARE_FIELD, buffer)
};

/* BLOCK, THREAD, LANE: iterations on a GPU, see STMT_KERNEL. */
typedef enum LoopKind {
    LOOP_SERIAL,
    LOOP_PARALLEL,
    LOOP_VECTOR,
    LOOP_UNROLL,
    LOOP_BLOCK,
    LOOP_THREAD,
    LOOP_LANE
} LoopKind;
enum { LOOP_COUNT = LOOP_LANE + 1 };

typedef struct LoopInfo {
    const char *keyword;   /* of printed code: "for", "parallel" … */
    const char *adjective; /* of messages: "vectorized" */
    bool        at_once;   /* iterations do not see each other (`atomic` stores apart): they may run at once */
    bool        constant;  /* the extent is a constant > 0 */
    bool        thread;    /* over the threads of a block, which the device numbers along one axis */
} LoopInfo;
extern const LoopInfo loop_table[LOOP_COUNT];

typedef enum StmtKind {
    STMT_LET,      /* name = value in body */
    STMT_FOR,      /* for name in min .. min+extent-1: body. No iteration where extent <= 0. See LoopInfo */
    STMT_BLOCK,    /* one after the other */
    STMT_IF,       /* yes where the condition holds, else no (which may be NULL). In a vector loop: lane by lane */
    STMT_PRODUCE,  /* body computes definition `update` (-1: the pure one) of the function of that name; says nothing,
                      for pictures and profiles */
    STMT_PROVIDE,  /* before flattening: func(args) = values, all components computed before any is stored */
    STMT_REALIZE,  /* before flattening: storage for func over a box, during body */
    STMT_STORE,    /* after flattening: all values computed, then all stored */
    STMT_ALLOC,    /* after flattening: `count` (i64) elements of buffer during body; their values are not defined at
                      first. Not positive: nothing is allocated */
    STMT_NEED,     /* port buffer must have the coordinates min..max along dimension dim, else the function ends with an
                      error before anything is written */
    STMT_CHECK,    /* the condition must hold, else the function ends with this message and status: KN_ERROR_BOUNDS
                    * where only compiled code has to give up */
    STMT_STAGE,    /* calls an extern stage; see StageCall */
    STMT_PREFETCH, /* the cache line of buffer at index is wanted soon; before flattening: that of func(args) */
    STMT_KERNEL,   /* body runs on the device; see below */
    STMT_BARRIER,  /* in a kernel, outside thread loops: all threads of the block get here before any goes on, and see
                      what was stored before */
    STMT_SYNC      /* on the host: its copy of a GLOBAL or port buffer is made current, because what follows reads it
                      or, with `write`, changes it */
} StmtKind;
enum { STMT_COUNT = STMT_SYNC + 1 };

/* A kernel. One idea: it is a loop nest whose meaning is that of its loops, one iteration after the other. Block and
 * thread loops have iterations that do not see each other, so a device may run them at once; from one thread nest of a
 * block to the next, order is what barriers make of it.
 *
 *   kernel := up to three block loops, one directly in the other, the innermost along the axis x; their min is 0, and
 *             their extents are known to the host
 *   block  := let, `if`, loops (serial, unrolled), alloc, produce, statements in a row, barrier: executed by all
 *             threads alike; no store
 *           | thread nest
 *   thread nest := up to three thread loops, one directly in the other, the innermost along the axis x; their min is 0,
 *             and their extents are the same for all threads. Inside stands what one thread does: no thread loop, no
 *             barrier.
 *
 * A block has threads_x * threads_y * threads_z threads. Thread t of an axis with T runs the iterations t, t + T,
 * t + 2T … of a thread loop. A nest of fewer axes is run by the threads that are 0 along the others. A lane loop is a
 * thread loop along x whose 32 iterations at most are lanes of one warp: threads_x is 32 then. */

typedef struct Stmt Stmt;

/* clang-format off */
/* One component of a store; the index is an i64. */
#define PLACE_FIELDS(F, M)                                                                                             \
    F(M, BUFFER, const Buffer *, buffer, buffer)                                                                       \
    F(M, EXPR, const Expr *, index, index)                                                                             \
    F(M, EXPR, const Expr *, value, value)

/* What an extern stage is given. Before flattening, a function's storage is found by the function; after it, by the
 * buffer, whose index 0 is the coordinates `min` of the storage. */
#define OPERAND_FIELDS(F, M)                                                                                           \
    F(M, EXPR, const Expr *, value, value)      /* of a scalar; NULL: a function's storage */                          \
    F(M, FUNC, const Func *, func, func)        /* whose storage; NULL after flattening */                             \
    F(M, TYPE, kn_type, type, type)             /* of its elements */                                                  \
    F(M, BUFFER, const Buffer *, buffer, buffer)                                                                       \
    F(M, INT, int, rank, rank)                                                                                         \
    F(M, EXPRS, const Expr **, min, rank)       /* of the storage: i32, i32, i64 */                                    \
    F(M, EXPRS, const Expr **, extent, rank)                                                                           \
    F(M, EXPRS, const Expr **, stride, rank)

/* An extern stage: its storage is filled from that of its arguments. Boxes are over the dimensions of each. With a
 * table the stage is only asked what it needs for that box, and there is no storage: i32, min and max of each dimension
 * of each argument, from index 0 on. What it needs nothing of is left as it is. */
#define STAGE_FIELDS(F, M)                                                                                             \
    F(M, NAME, const char *, name, name)        /* of the function that it computes */                                 \
    F(M, NAME, const char *, symbol, symbol)    /* of the C function */                                                \
    F(M, OPERAND, StageOperand, output, output)                                                                        \
    F(M, EXPRS, const Expr **, box_min, output.rank)    /* what is to be computed */                                   \
    F(M, EXPRS, const Expr **, box_extent, output.rank)                                                                \
    F(M, INT, int, count, count)                                                                                       \
    F(M, OPERANDS, StageOperand *, operands, count)                                                                    \
    F(M, BUFFER, const Buffer *, table, table)

/* Storage that outlives the iterations it is computed in. */
#define SLIDING_FIELDS(F, M)                                                                                           \
    F(M, INT, int, count, count)                /* of dimensions that are computed piece by piece; none: all or        \
                                                   nothing */                                                          \
    F(M, INT_PAIR, IntPair, dims, dims)         /* these, the one of the outer loop first */                           \
    F(M, INT64_PAIR, Int64Pair, window, window) /* how many coordinates of each are needed at a time, at most;         \
                                                   0: not known */                                                     \
    F(M, FLAG, bool, folded, folded)            /* along the first the storage has not many more: coordinates count    \
                                                   modulo its extent */

#define LET_FIELDS(F, M)                                                                                               \
    F(M, NAME, const char *, name, name)                                                                               \
    F(M, EXPR, const Expr *, value, value)                                                                             \
    F(M, BODY, const Stmt *, body, body)
#define LOOP_FIELDS(F, M)                                                                                              \
    F(M, NAME, const char *, name, name)                                                                               \
    F(M, LOOP_KIND, LoopKind, kind, kind)                                                                              \
    F(M, EXPR, const Expr *, min, min)                                                                                 \
    F(M, EXPR, const Expr *, extent, extent)                                                                           \
    F(M, BODY, const Stmt *, body, body)
#define BLOCK_FIELDS(F, M)                                                                                             \
    F(M, INT, int, count, count)                                                                                       \
    F(M, STMTS, const Stmt **, items, count)
#define BRANCH_FIELDS(F, M)                                                                                            \
    F(M, EXPR, const Expr *, condition, condition)                                                                     \
    F(M, FLAG, bool, whole, whole)              /* `no` does what `yes` does where the condition holds: a vector whose \
                                                   lanes do not all agree may do `no` in all of them */                \
    F(M, BODY, const Stmt *, yes, yes)                                                                                 \
    F(M, ELSE, const Stmt *, no, no)
#define PRODUCE_FIELDS(F, M)                                                                                           \
    F(M, NAME, const char *, func, func)        /* interned */                                                         \
    F(M, INT, int, update, update)                                                                                     \
    F(M, BODY, const Stmt *, body, body)
#define PROVIDE_FIELDS(F, M)                                                                                           \
    F(M, FUNC, const Func *, func, func)                                                                               \
    F(M, INT, int, rank, rank)                                                                                         \
    F(M, EXPRS, const Expr **, args, rank)                                                                             \
    F(M, INT, int, count, count)                /* of components */                                                    \
    F(M, EXPRS, const Expr **, values, count)                                                                          \
    F(M, FLAG, bool, atomic, atomic)
#define REALIZE_FIELDS(F, M)                                                                                           \
    F(M, FUNC, const Func *, func, func)                                                                               \
    F(M, INT, int, rank, rank)                                                                                         \
    F(M, EXPRS, const Expr **, min, rank)       /* of a window that marches: a name that each iteration binds */       \
    F(M, EXPRS, const Expr **, extent, rank)                                                                           \
    F(M, INT64S, const int64_t *, fold, rank)   /* coordinates along a dimension count modulo this, if positive */     \
    F(M, SLIDING, const Sliding *, sliding, sliding)                                                                   \
    F(M, BODY, const Stmt *, body, body)
#define STORE_FIELDS(F, M)                                                                                             \
    F(M, INT, int, count, count)                                                                                       \
    F(M, PLACES, Place *, places, count)                                                                               \
    F(M, FLAG, bool, atomic, atomic)                                                                                   \
    F(M, FLAG, bool, stream, stream)
#define ALLOC_FIELDS(F, M)                                                                                             \
    F(M, BUFFER, const Buffer *, buffer, buffer)                                                                       \
    F(M, EXPR, const Expr *, count, count)                                                                             \
    F(M, BODY, const Stmt *, body, body)
#define NEED_FIELDS(F, M)                                                                                              \
    F(M, BUFFER, const Buffer *, buffer, buffer)                                                                       \
    F(M, INT, int, dim, dim)                                                                                           \
    F(M, EXPR, const Expr *, min, min)                                                                                 \
    F(M, EXPR, const Expr *, max, max)                                                                                 \
    F(M, NAME, const char *, reader, reader)    /* the function that reads it; NULL: it is written */
#define CHECK_FIELDS(F, M)                                                                                             \
    F(M, EXPR, const Expr *, condition, condition)                                                                     \
    F(M, TEXT, const char *, message, message)                                                                         \
    F(M, STATUS, kn_status, status, status)
#define PREFETCH_FIELDS(F, M)                                                                                          \
    F(M, FUNC, const Func *, func, func)        /* NULL after flattening */                                            \
    F(M, INT, int, rank, rank)                                                                                         \
    F(M, EXPRS, const Expr **, args, rank)                                                                             \
    F(M, BUFFER, const Buffer *, buffer, buffer)                                                                       \
    F(M, EXPR, const Expr *, index, index)
#define KERNEL_FIELDS(F, M)                                                                                            \
    F(M, NAME, const char *, name, name)        /* interned, a C identifier, the same only in copies */                \
    F(M, INT, int, threads_x, threads_x)        /* of a block: constants > 0 */                                        \
    F(M, INT, int, threads_y, threads_y)                                                                               \
    F(M, INT, int, threads_z, threads_z)                                                                               \
    F(M, INT, int, resident, resident)          /* blocks that a multiprocessor should hold at once; 0: any number */  \
    F(M, BODY, const Stmt *, body, body)
#define SYNC_FIELDS(F, M)                                                                                              \
    F(M, BUFFER, const Buffer *, buffer, buffer)                                                                       \
    F(M, FLAG, bool, write, write)
/* clang-format on */

typedef int     IntPair[2];
typedef int64_t Int64Pair[2];

typedef struct Place {
    PLACE_FIELDS(DECLARE_FIELD, place)
} Place;

typedef struct StageOperand {
    OPERAND_FIELDS(DECLARE_FIELD, operand)
} StageOperand;

typedef struct StageCall {
    STAGE_FIELDS(DECLARE_FIELD, stage)
} StageCall;

typedef struct Sliding {
    SLIDING_FIELDS(DECLARE_FIELD, sliding)
} Sliding;

struct Stmt {
    StmtKind kind;
    union {
        struct {
            LET_FIELDS(DECLARE_FIELD, let)
        } let;
        struct {
            LOOP_FIELDS(DECLARE_FIELD, loop)
        } loop;
        struct {
            BLOCK_FIELDS(DECLARE_FIELD, block)
        } block;
        struct {
            BRANCH_FIELDS(DECLARE_FIELD, branch)
        } branch;
        struct {
            PRODUCE_FIELDS(DECLARE_FIELD, produce)
        } produce;
        struct {
            PROVIDE_FIELDS(DECLARE_FIELD, provide)
        } provide;
        struct {
            REALIZE_FIELDS(DECLARE_FIELD, realize)
        } realize;
        struct {
            STORE_FIELDS(DECLARE_FIELD, store)
        } store;
        struct {
            ALLOC_FIELDS(DECLARE_FIELD, alloc)
        } alloc;
        struct {
            NEED_FIELDS(DECLARE_FIELD, need)
        } need;
        struct {
            CHECK_FIELDS(DECLARE_FIELD, check)
        } check;
        StageCall *stage;
        struct {
            PREFETCH_FIELDS(DECLARE_FIELD, prefetch)
        } prefetch;
        struct {
            KERNEL_FIELDS(DECLARE_FIELD, kernel)
        } kernel;
        struct {
            SYNC_FIELDS(DECLARE_FIELD, sync)
        } sync;
    };
};

const Stmt *stmt_let(Arena *a, const char *name, const Expr *value, const Stmt *body);
const Stmt *stmt_for(Arena *a, const char *name, LoopKind kind, const Expr *min, const Expr *extent, const Stmt *body);
const Stmt *stmt_block(Arena *a, int count,
                       const Stmt *const *items); /* drops NULLs, flattens blocks; NULL if nothing is left */
const Stmt *stmt_pair(Arena *a, const Stmt *first, const Stmt *second);
const Stmt *stmt_if(Arena *a, const Expr *condition, const Stmt *yes, const Stmt *no);
/* The same with `whole`. */
const Stmt *stmt_if_whole(Arena *a, const Expr *condition, const Stmt *yes, const Stmt *no);
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

typedef struct Kernel Kernel; /* ir/kernel.h */

/* A compiled function before the backend. */
typedef struct Program Program;
struct Program {
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
    bool        strict_float;    /* no float operation is contracted or reordered */
    VEC(const Kernel *) kernels; /* of the body: program_find_kernels() */
    Program *host;               /* the same pipeline for the host alone, where there is no device; NULL: none */
    double   predicted_ns;       /* of a call with buffers of the host; 0: not known */
    bool     prefers_host;       /* `host` is predicted to be faster */
};

#endif
