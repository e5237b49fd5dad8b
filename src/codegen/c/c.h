/* SPDX-License-Identifier: MIT */
/* Inside the C backend: how a Program becomes the text of a C file, or its kernels one of OpenCL C. Three ideas carry
 * it.
 *
 * A value is a text with a precedence, a shape and a level. In a vector loop it is UNIFORM (one scalar), a RAMP (a
 * scalar base and a constant step from lane to lane) or LANES (a vector). An integer made of coordinates has its
 * constant part beside its text, so that copies of a loop body that differ by a constant share every name.
 *
 * Scopes are texts. A function is a stack of open blocks; a name is declared at the end of the outermost block that
 * knows all it is made of, which is before the inner block that asked for it. The same text is never named twice in a
 * block.
 *
 * What an operator does to lanes beyond + - * / and comparisons is a small function over its lanes, made of the
 * operator's scalar text and written before the first function that uses it.
 *
 * OpenCL C is a second dialect of the same text: what C's names mean there stands in support_opencl.inc, what is
 * written in another way in c_kernel.c and c_atomic.c. */
#ifndef KILN_CODEGEN_C_C_H
#define KILN_CODEGEN_C_C_H

#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "codegen/backend.h"
#include "ir/kernel.h"

#include <setjmp.h>

enum { MOST_SCOPES = 256, VECTOR_BITS = 512, LINE_WIDTH = 120, INDENT = 2 };

typedef enum Shape { UNIFORM, RAMP, LANES } Shape;

/* Of C's operators; a larger one binds stronger. */
typedef enum Precedence {
    P_COMMA = 1,
    P_CHOICE,
    P_OR,
    P_AND,
    P_BIT_OR,
    P_BIT_XOR,
    P_BIT_AND,
    P_EQUAL,
    P_LESS,
    P_SHIFT,
    P_ADD,
    P_MUL,
    P_UNARY,
    P_PRIMARY
} Precedence;

typedef struct CValue {
    const char *text; /* of a RAMP: the base. NULL: 0 */
    Precedence  prec;
    Shape       shape;
    int64_t     offset; /* to be added to it */
    int64_t     step;   /* of a RAMP */
    int         level;  /* the innermost scope whose names it has */
    int         mask;   /* of bool in LANES: the bits of an element, which is 0 or -1 */
    bool        reads;  /* reads memory that may change, or calls C: is computed where it stands */
} CValue;

/* What is known of an integer. */
typedef struct CRange {
    int64_t lo, hi;
} CRange;

typedef struct CBinding {
    const char *name; /* of the program */
    CValue      value;
    kn_type     type;
    CRange      range;
    bool        pending; /* value.text is not declared yet */
    bool        data;    /* made of data, not of coordinates and sizes */
} CBinding;

typedef struct CScope {
    const char *header; /* of the block: "for (…)"; NULL: of a function */
    Text        text;
    int         indent;
    Map         names; /* what was declared here, by its type, hint and text */
} CScope;

/* Of a kernel: shared memory. */
typedef struct CSharedArray {
    const char   *name, *type;
    int64_t       count;
    bool          unused; /* what it was made for stands in the other branch of the `if` around */
    const Buffer *home;   /* whose memory it is, if others have it in turns */
} CSharedArray;

/* A function of the file that is being written. */
typedef struct CFunction CFunction;
struct CFunction {
    CFunction   *outer;
    int          base; /* its first scope */
    Map          used; /* C names that are taken */
    Map          bindings;
    const char **buffers;        /* by Buffer.id: the name of the pointer; NULL: not here */
    size_t       stack;          /* bytes of arrays */
    int          cleanups, held; /* allocations that are to be freed on the way out: now, and the most of them */
    bool         fails, streams;
    VEC(CSharedArray) shared;
};

typedef struct CDialect {
    const char *support;  /* the sections that a file may have */
    const char *name_end; /* what names of the program end in, so that none is one of the language */
    bool        vectors;  /* has GCC's vectors; else a vector loop is a loop */
} CDialect;

typedef struct CGen {
    jmp_buf         bail;
    char            why[400]; /* it could not be written */
    const Program  *program;
    const CDialect *dialect;
    const Kernel   *kernel;    /* that is being written; NULL: a function of C */
    const char     *predicate; /* what is written is executed only if it holds; NULL: always */
    Arena          *arena;
    const char     *name; /* of the C function */
    Text            types, externs, helpers, lane_helpers, functions;
    Map             symbols; /* of C functions and stages that the program calls: no other name of the file */
    Map             helper_names;
    Map             sections; /* of the support that are needed */
    Map             outlined; /* Stmt -> CallText of its function */
    Map             taken;    /* names of functions */
    CFunction      *f;
    CScope          scopes[MOST_SCOPES];
    int             depth;
    bool            plain;   /* the version with loops instead of vectors */
    bool            trusted; /* what is made of coordinates does not wrap here: lowering has seen to that */
    int             lanes;   /* of the vector loop around; 0: none */
    uint32_t        statement, statement_count; /* number of the current one, and of the last */
    uint32_t       *stamps;                     /* by expression id: the statement its answer, uses and range are of */
    uint32_t       *counted, *ranged;
    uint32_t       *uses;
    size_t          capacity; /* of these tables */
    CValue         *answers;
    CRange         *ranges;
    VEC(const Stmt *) around; /* produces and loops around the statement */
} CGen;

/* ---- c_emit.c ---- */
void c_begin_file(CGen *g, const Program *program, const CDialect *dialect, Arena *arena);
void c_write_sections(CGen *g, Text *t); /* of the support that were asked for, and what they need */

/* ---- c_context.c, c_text.c ---- */
__attribute__((noreturn, format(printf, 2, 3))) void c_fail(CGen *g, const char *format, ...);
void                                                 c_section(CGen *g, const char *name);

/* ---- c_text.c: scopes, lines, names ---- */
__attribute__((format(printf, 2, 3))) const char *c_print(CGen *g, const char *format, ...);
const char *c_identifier(CGen *g, const char *name);         /* of a name of the program */
const char *c_fresh(CGen *g, Map *used, const char *wanted); /* not in `used`, to which it is added */
void        c_scope_push(CGen *g, const char *header);
void        c_scope_pop(CGen *g);
const char *c_scope_take(CGen *g); /* ends it, and gives what stands between the braces */
__attribute__((format(printf, 2, 3))) void c_line(CGen *g, const char *format, ...);
void                                       c_comment(CGen *g, const char *text);
/* The name of a constant of that type and text, declared at a level; an equal one there is found again. */
const char *c_declare(CGen *g, int level, const char *type, const char *hint, const char *text);
/* The same for a value with a constant part: what is found again may differ by a constant from what was declared, and
 * the value has that as its own. */
CValue c_declare_value(CGen *g, int level, const char *type, const char *hint, CValue v);
/* The text as an operand of an operator that binds so strong. */
const char *c_operand(CGen *g, CValue v, Precedence at_least);
const char *c_full(CGen *g, CValue v); /* with its offset */
void        c_text_wrapped(CGen *g, Text *t, int indent, const char *line);

/* ---- c_type.c ---- */
const char *c_type(kn_type t);        /* of a value: bool; f16 and bf16 as their bits */
const char *c_memory_type(kn_type t); /* of an element: uint8_t for bool */
const char *c_vector_type(CGen *g, kn_type t, int lanes);
const char *c_mask_type(CGen *g, int bits, int lanes);
const char *c_int_text(CGen *g, kn_type t, int64_t v);
const char *c_float_text(CGen *g, kn_type t, double v);

/* ---- c_range.c ---- */
CRange c_range(CGen *g, const Expr *e);
bool   c_wraps(CGen *g, const Expr *e); /* may a sum, difference, product or negation leave its type? */
CRange c_type_range(kn_type t);
bool   c_is_coordinate(CGen *g, const Expr *e);
/* May its name be a coordinate? Lowering gives names to coordinates and boxes alone, and has checked that none of them
 * wraps, whatever is done with parameters in them. */
bool c_is_named_coordinate(CGen *g, const Expr *e);

/* ---- c_op.c: operators on scalars ---- */
CValue c_operator(CGen *g, const Expr *e, const CValue *args, bool wraps);

/* ---- c_expr.c ---- */
void        c_statement(CGen *g); /* begins one */
void        c_count(CGen *g, const Expr *e);
CValue      c_expr(CGen *g, const Expr *e);
const char *c_uniform(CGen *g, const Expr *e); /* its text; fails where lanes differ */
CValue      c_named(CGen *g, kn_type type, CValue v, const char *hint);
CBinding   *c_bind(CGen *g, const char *name, kn_type type, CValue v, CRange range);
CBinding   *c_binding(CGen *g, const char *name);
void        c_unbind(CGen *g, const char *name);
CValue      c_name_value(const char *text, int level);
const char *c_port_field(CGen *g, const Buffer *b, const char *field, int dim);
const char *c_param_key(CGen *g, const Param *p); /* the name that a kernel binds it by */

/* ---- c_address.c ---- */
typedef struct CAddress {
    const char *buffer; /* the pointer */
    const char *index;  /* of lane 0, or that all lanes share */
    Shape       shape;
    int64_t     step;  /* of a RAMP, in elements */
    const char *lanes; /* LANES: what each adds to the index, a vector */
    int         lane_bits;
    const char *phase; /* not NULL: lane i adds (phase + i) / 2 instead; 0 or 1 */
} CAddress;
CAddress c_address(CGen *g, const Buffer *b, const Expr *index, bool load); /* has a phase only for a load */

/* ---- c_vector.c ---- */
CValue      c_vector_operator(CGen *g, const Expr *e, const CValue *args);
const char *c_lanes(CGen *g, kn_type t, CValue v); /* as a vector */
const char *c_as_mask(CGen *g, CValue v, int bits);
CValue      c_vector_load(CGen *g, const Expr *e, const CAddress *a);
void        c_vector_store(CGen *g, const Buffer *b, const CAddress *a, CValue v, bool stream);
bool        c_vector_fits(CGen *g, const Stmt *loop, int *lanes);

/* ---- c_helper.c ---- */
bool        c_helper_new(CGen *g, const char *name);   /* is it to be written now? */
const char *c_math(CGen *g, const Expr *e, int lanes); /* the name of its function */
void        c_grow(CGen *g);                           /* the tables, to all expressions there are */

/* ---- c_stmt.c, c_function.c, c_stage.c ---- */
void        c_stmt(CGen *g, const Stmt *s);
CRange      c_loop_range(CGen *g, const Stmt *loop); /* the values that its variable takes */
void        c_leave(CGen *g, const char *result);    /* return, after freeing what is held */
bool        c_is_group(const Stmt *s);               /* has it loops that are in no parallel one? */
void        c_group(CGen *g, const Stmt *s);         /* a produce as a function of its own */
void        c_parallel(CGen *g, const Stmt *s);
void        c_function_begin(CGen *g, CFunction *f);
const char *c_function_end(CGen *g); /* the text of its body */
void        c_stage(CGen *g, const StageCall *call);
void        c_return_unless_zero(CGen *g, const char *call);

/* ---- c_kernel.c, c_atomic.c: kernels ---- */
const char *c_kernels_text(CGen *g); /* the whole file */
void        c_thread_nest(CGen *g, const Stmt *s);
void        c_barrier(CGen *g);
bool        c_has_barrier(const Stmt *s);
/* An `if` with barriers, whose condition is counted. No barrier stands in a branch of the text: PoCL 3.1 mistakes the
 * conditions of threads behind it for conditions of the block. What has no barrier is executed if g->predicate holds,
 * the barriers always. */
void        c_barrier_branch(CGen *g, const Stmt *s);
void        c_predicated(CGen *g, const Stmt *s);
const char *c_kernel_array(CGen *g, const Stmt *alloc); /* its name */
bool        c_atomic_store(CGen *g, const Stmt *s);     /* false: nobody else reaches it, any store will do */

/* ---- c_zeros.c ---- */
const char *c_initial(const Stmt *alloc, int64_t count); /* what follows the array's declaration */

#endif
