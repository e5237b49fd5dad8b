/* SPDX-License-Identifier: MIT */
/* Inside the LLVM backend: how a Program becomes LLVM's instructions. Two ideas carry all of it.
 *
 * An expression has a shape. In a vector loop of L lanes the value of an expression is UNIFORM (one scalar), a RAMP (a
 * scalar base and a constant integer step from lane to lane; never spelt out unless somebody needs the lanes) or LANES
 * (<L x T>). Operators work on scalars and lanes alike; loads and stores look at the shape of their index.
 *
 * A value is computed in the outermost scope that knows all its variables. Scopes are a stack: the function, each let,
 * loop body and branch. Every value has a level, the scope whose code it was added to: the largest level of its
 * operands. So row pointers and what else does not change in a loop stand before it, without a pass that finds them.
 * All operators are total, so computing one early is harmless; loads are not, and stay where they are. An answer is
 * remembered by the expression's id, as long as the scope that binds its innermost name is open; what reads memory that
 * is written, for one statement only.
 *
 * An error leaves by longjmp to llvm_emit(), which frees everything; no frame of LLVM's is ever between. */
#ifndef KILN_CODEGEN_LLVM_H
#define KILN_CODEGEN_LLVM_H

#include "codegen/backend.h"
#include "codegen/buffer_layout.h"
#include "ir/kernel.h"

#include <setjmp.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

enum { MOST_VECTOR_LANES = 1024, MOST_TERMS = 64, MOST_PHASES = 8, MOST_OWN = 8 };

typedef enum Shape { UNIFORM, RAMP, LANES } Shape;

typedef struct ShapedValue {
    LLVMValueRef v;    /* of a RAMP: the base */
    int64_t      step; /* of a RAMP */
    Shape        shape;
    int          level; /* the scope whose code has it */
    int          named; /* the scope that binds the innermost of its names: the answer holds as long as that is open */
    bool         pure;  /* reads no memory that the function writes */
} ShapedValue;

/* What a name stands for. */
typedef struct NameBinding {
    const char  *name;
    ShapedValue  value;
    LLVMValueRef wide;   /* a loop variable as i64, or NULL */
    LLVMValueRef scaled; /* scale * wide, which is what the loop counts; NULL if it counts by one */
    int64_t      scale;
    const Expr  *sum;        /* of a let: what it stands for, if that is a sum of coordinates; NULL otherwise */
    bool         coordinate; /* made of loop variables and sizes, not of data: sums of such do not wrap */
    bool         live;
    bool         captured; /* from the function around this one: not to be found in the ports */
} NameBinding;

typedef struct CodeScope {
    LLVMBasicBlockRef
             block;  /* where its code goes on; once an inner scope has a block of its own, that which leads there */
    uint32_t serial; /* unique: tells answers of this scope from those of another at the same depth */
    int      loop;   /* the scope of the innermost loop around; that of the function: none */
} CodeScope;

typedef struct KnownValue {
    ShapedValue value;
    uint32_t    serial; /* of the scope value.named; of the statement, for what is not pure */
} KnownValue;

/* Where an error goes from here: a block that takes the status, frees one allocation and goes on to the outer one. */
typedef struct Cleanup Cleanup;
struct Cleanup {
    Cleanup          *outer;
    LLVMBasicBlockRef block;
    LLVMValueRef      status; /* phi */
};

/* What a buffer is in the function being made. */
typedef struct BufferState {
    LLVMValueRef base;      /* of its element 0; NULL: not here yet */
    LLVMValueRef low, high; /* with check_access: the smallest and largest index, i64 */
    LLVMValueRef on_device; /* the host's, of GLOBAL scratch: the address of its kn_buffer */
    int          level;
    int64_t      elements; /* of scratch, where that is a number; else 0 */
    bool         tile;     /* scratch of this function so small that it can be kept in registers */
    bool         constant; /* in a kernel: nothing writes it as long as the kernel runs */
    bool         own;      /* in a kernel: each thread has one */
    uint32_t     writes;   /* statements so far that store to it */
} BufferState;

/* The function being made: the program's body, that of a parallel loop, or a kernel. */
typedef struct Function Function;
struct Function {
    Function         *outer;
    LLVMValueRef      f, rt, used, params;
    LLVMValueRef      call;      /* of a program with kernels: its kn_rt_call */
    LLVMValueRef     *arguments; /* of a kernel: the parameters of the program, by their place; NULL: not used */
    LLVMBasicBlockRef entry;     /* for allocas */
    int               base;      /* its first scope */
    Cleanup          *cleanup;
    BufferState      *buffers;  /* by id */
    NameBinding      *bindings; /* hash table by name; those of the outer function are not visible */
    size_t            binding_capacity, binding_count;
    size_t            stack_used;
    bool              streams; /* has non-temporal stores */
    bool              large;   /* too much for one function: see outline() */
};

/* A sum or product of an address computation, for common subexpressions: ptr + index * size, or a product. Found by its
 * operands, which are LLVM's own unique pointers. */
typedef struct AddressSum {
    LLVMValueRef a, b, result;
    int64_t      scale;
    int          level;
    uint32_t     serial;
} AddressSum;

/* factor * atom * by: a term of an index that varies from lane to lane. */
typedef struct LaneTerm {
    const Expr *atom;
    const Expr *by; /* a stride; NULL: 1 */
    int64_t     factor;
} LaneTerm;

/* The address of a load or store: a pointer common to all lanes, a constant, and per lane a constant or a value more.
 * All in elements. */
typedef struct Address {
    const Buffer *buffer;
    LLVMValueRef  ptr;
    int           level, named;
    bool          pure;
    uint64_t      factors; /* the bits of the factors of all terms that are no constants */
    int64_t       constant;
    int64_t      *offsets;   /* one for each lane; NULL: the same address for all */
    LLVMValueRef  lanes;     /* <L x i64>, or NULL */
    LaneTerm     *own;       /* what `lanes` is the sum of */
    int           own_count; /* more than MOST_OWN: the rest was not noted */
    int           phases;    /* not 0: lane i adds (phase + step*i) / phases instead; 0 <= phase < phases */
    int64_t       step;
    LLVMValueRef  phase;
} Address;

/* A strided load of one statement. Those from one row share wide contiguous loads. */
typedef struct Strided {
    const Expr  *load;
    Address      address;
    int64_t      first, last; /* offsets from address.ptr that it reads */
    int          group;       /* index of the first member */
    LLVMValueRef wide, tail;  /* of the first member: elements first.. and the last ones */
    int64_t      from, to;    /* of the first member: what the group reads */
    int          chunk, body; /* of the first member: elements of `tail` and of `wide` */
} Strided;

/* A gather of one statement. Gathers whose places differ by small constants share contiguous loads, one for each lane.
 */
typedef struct AdjacentGather {
    const Expr  *load;
    Address      address;
    int          base;      /* index of the load at whose place in each lane the elements begin; -1: not known yet */
    int          members;   /* of a base: the loads that its elements serve */
    int          width;     /* of a base: how many elements are read for each lane */
    LLVMValueRef window[4]; /* of a base: the elements, <L x T> each; NULL: not read yet */
} AdjacentGather;

typedef struct TransposedBlock TransposedBlock; /* a block of scratch transposed in registers, see transpose.c */

typedef struct Types {
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr, none, buffer, dim;
} Types;

typedef struct Gen {
    const Program        *program;
    const CodegenOptions *options;
    const Target         *target;
    const char           *suffix; /* of this target's functions */
    int first, last; /* the targets that this module has bodies for, [first, last) of the options'; the entry is in the
                        one of target 0 */
    jmp_buf  bail;
    Emitted *error;
    bool     diagnosed; /* LLVM has reported an error; the text is in *error */

    LLVMContextRef       cx;
    LLVMModuleRef        module;
    LLVMBuilderRef       b;
    LLVMTargetMachineRef machine;
    LLVMTargetDataRef    layout;
    Types                t;
    LLVMValueRef         rt_program;  /* constant */
    const Kernel        *kernel;      /* that is made; NULL: the host's code */
    bool                 stays;       /* loads stay where they are, before later stores */
    LLVMMetadataRef     *alias_scope; /* by buffer id: { its scope }, and the list of all others */
    LLVMMetadataRef     *alias_others;
    LLVMMetadataRef      nontemporal;
    bool                 streams; /* a function has non-temporal stores */
    unsigned             kind_alias, kind_noalias, kind_nontemporal, kind_invariant;
    LLVMMetadataRef      empty; /* a node without operands */

    Function        *f;
    int              lanes;        /* of the vector loop around; 0: none */
    int              vector_level; /* its scope */
    LLVMValueRef     mask;         /* <lanes x i1>, or NULL: all lanes */
    CodeScope       *scopes;
    int              depth, scope_capacity; /* the current scope is scopes[depth] */
    uint32_t         serial;
    uint32_t         statement;  /* number of the current one */
    KnownValue      *answers;    /* by expression id */
    uint32_t        *seen;       /* by expression id: the statement whose loads were collected */
    uint8_t         *coordinate; /* by expression id: what it is made of, see expr.c; 0: not known */
    AddressSum      *sums;
    size_t           sum_capacity, sum_count;
    Strided         *strided;
    int              strided_count, strided_capacity;
    AdjacentGather  *gathers;
    int              gather_count, gather_capacity;
    TransposedBlock *transposed;
    int              transposed_count, transposed_capacity;
    int              parallel_count;
    const char     **funcs; /* with `profile`: those that are computed */
    int              func_count;
    void           **blocks; /* everything from gen_alloc */
    size_t           block_count, block_capacity;
} Gen;

/* ---- gen.c: memory, errors, scopes, names ---- */
__attribute__((noreturn, format(printf, 2, 3))) void gen_fail(Gen *g, const char *format, ...);
void                                                *gen_alloc(Gen *g, size_t size); /* zeroed; freed with g */
void *gen_grow(Gen *g, void *at, size_t count, size_t size); /* at (from gen_alloc or NULL) with room for count */
__attribute__((format(printf, 2, 3))) bool error_set(Emitted *e, const char *format, ...); /* false */

void               scope_push(Gen *g, LLVMBasicBlockRef block);      /* NULL: goes on in the current block */
void               scope_push_loop(Gen *g, LLVMBasicBlockRef block); /* the same: the body of a loop */
void               scope_pop(Gen *g);                                /* the outer scope goes on where this one ended */
LLVMBasicBlockRef  block_new(Gen *g, const char *name);
void               go_to(Gen *g, LLVMBasicBlockRef block); /* the current scope goes on in this block */
void               at_level(Gen *g, int level);            /* what is built next belongs to that scope */
static inline void here(Gen *g)
{
    at_level(g, g->depth);
}

NameBinding *bind(Gen *g, const char *name, ShapedValue v, bool coordinate);
void         unbind(Gen *g, const char *name);
void         forget_coordinates(Gen *g);
NameBinding *binding_find(Gen *g, const char *name); /* NULL if not bound in this function */

/* ---- type.c: types, constants, intrinsics ---- */
LLVMTypeRef  value_type(Gen *g, kn_type t, int lanes); /* bool i1; f16 and bf16 as their bits; 0 lanes: a scalar */
LLVMTypeRef  memory_type(Gen *g, kn_type t);           /* of an element */
LLVMTypeRef  with_lanes(LLVMTypeRef scalar, int lanes);
LLVMTypeRef  like(LLVMTypeRef scalar, LLVMValueRef v); /* `scalar` in as many lanes as v has */
int          lane_count(LLVMValueRef v);               /* 0: a scalar */
LLVMValueRef int_like(LLVMTypeRef type, int64_t v);    /* of a scalar or vector type */
LLVMValueRef float_like(LLVMTypeRef type, double v);
LLVMValueRef splat(Gen *g, LLVMValueRef scalar, int lanes);
LLVMValueRef i32_const(Gen *g, int64_t v);
LLVMValueRef i64_const(Gen *g, int64_t v);
LLVMValueRef text_const(Gen *g, const char *text, size_t size); /* address of a constant */
LLVMValueRef intrinsic(Gen *g, const char *name, int type_count, LLVMTypeRef *types, int count, LLVMValueRef *args);
LLVMValueRef intrinsic1(Gen *g, const char *name, LLVMValueRef a); /* overloaded on the first operand */
LLVMValueRef intrinsic2(Gen *g, const char *name, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef any_lane(Gen *g, LLVMValueRef bools); /* i1 */
LLVMValueRef extern_function(Gen *g, const char *name, LLVMTypeRef type);

/* ---- expr.c ---- */
ShapedValue  gen_expr(Gen *g, const Expr *e);
LLVMValueRef value_lanes(Gen *g, ShapedValue v,
                         int lanes);                 /* as that many lanes, at its level; lanes 0: it must be UNIFORM */
LLVMValueRef gen_uniform(Gen *g, const Expr *e);     /* fails where the lanes differ */
ShapedValue  port_count_of(Gen *g, const Buffer *b); /* elements from the first to the last, i64 */
bool         is_coordinate(Gen *g, const Expr *e);
bool         is_named_coordinate(Gen *g, const Expr *e); /* of a let's value */
void         statement_begin(Gen *g);
ShapedValue  value_merge(ShapedValue a, const ShapedValue *b); /* level, name and purity of what is made of both */
ShapedValue  value_constant(Gen *g, LLVMValueRef v);
/* The place of the result of two operands; its result is NULL if it has not been computed where it can be seen. */
AddressSum  *sum_find(Gen *g, LLVMValueRef a, LLVMValueRef b, int64_t scale);
LLVMValueRef sum_keep(Gen *g, AddressSum *s, int level, LLVMValueRef result);

/* ---- pattern.c ---- */
bool gen_pattern(Gen *g, const Expr *e, ShapedValue *out); /* an expression that is one instruction: its value */

/* ---- ops.c, convert.c: operators on scalars or lanes, of the node's and operands' types ---- */
typedef LLVMValueRef   Operator(Gen *g, const Expr *e, LLVMValueRef *args);
extern Operator *const operator_table[EX_COUNT];
LLVMValueRef           floor_by_constant(Gen *g, LLVMValueRef x, int64_t c, int bits); /* c > 0 */
LLVMValueRef           convert(Gen *g, LLVMValueRef v, kn_type from, kn_type to, bool saturate);
LLVMValueRef           float_to_byte(Gen *g, LLVMValueRef v);
LLVMValueRef           float_to_int_short(Gen *g, LLVMValueRef v, kn_type from, kn_type to); /* of 0 to 65535 */
LLVMValueRef           float_to_int_within(Gen *g, LLVMValueRef v, kn_type from, kn_type to);
LLVMValueRef           widen_float(Gen *g, LLVMValueRef v, kn_type t);  /* f16, bf16 to f32; others as they are */
LLVMValueRef           narrow_float(Gen *g, LLVMValueRef v, kn_type t); /* back */
LLVMValueRef           from_memory(Gen *g, LLVMValueRef v, kn_type t);  /* what was loaded, as a value */
LLVMValueRef           to_memory(Gen *g, LLVMValueRef v, kn_type t);

/* ---- address.c, access.c, memory.c ---- */
Address      address_of(Gen *g, const Buffer *buffer, const Expr *index, bool load); /* has phases only for a load */
LLVMValueRef address_pointer(Gen *g, const Address *a,
                             int64_t offset);                  /* of one element, `offset` more, at its level */
LLVMValueRef address_lanes(Gen *g, const Address *a);          /* <L x ptr>, at its level */
LLVMValueRef address_lane(Gen *g, const Address *a, int lane); /* of one lane, at its level */
void         address_check(Gen *g, const Address *a);
/* In a kernel: of all lanes, or of those from the one with that offset on. */
void         address_align(Gen *g, const Address *a, int64_t offset, LLVMValueRef access);
LLVMValueRef buffer_base(Gen *g, const Buffer *b);
LLVMValueRef port_field_address(Gen *g, const Buffer *b, int dim, int field); /* field: DIM_FIELD_… */
ShapedValue  gen_load(Gen *g, const Expr *e);
void         collect_loads(Gen *g, const Expr *e);
void         gen_store_lanes(Gen *g, const Address *a, ShapedValue v, bool stream);
LLVMValueRef mark_access(Gen *g, const Buffer *b,
                         LLVMValueRef access); /* says which buffer it is of, for alias analysis */
LLVMValueRef load_element(Gen *g, const Buffer *b, LLVMValueRef ptr, LLVMTypeRef type);
LLVMValueRef store_element(Gen *g, const Buffer *b, LLVMValueRef v, LLVMValueRef ptr);

/* ---- arch.c: by the target's architecture ---- */
LLVMValueRef arch_average(Gen *g, kn_type t, LLVMValueRef a,
                          LLVMValueRef b); /* of u8 or u16, rounded up; NULL: not one instruction here */
/* T(a * b >> shift) of lanes of T = u16 or i16, 16 <= shift < 32; rounded: i16(a * b + 2^14 >> 15). */
bool         arch_can_multiply_high(const Gen *g, kn_type t, int lanes, bool rounded);
LLVMValueRef arch_multiply_high(Gen *g, kn_type t, LLVMValueRef a, LLVMValueRef b, int shift, bool rounded);
bool         arch_converts_half(const Gen *g);     /* f16 to f32 and back, by an instruction */
bool         arch_gathers(const Gen *g, int bits); /* is a gather of such elements better than loads one by one? */
bool         arch_can_look_up(const Gen *g, const Address *a); /* can the load be a lookup in registers? */
LLVMValueRef arch_look_up(Gen *g, const Address *a);
void         arch_end_streams(Gen *g);                    /* non-temporal stores so far are seen before what follows */
bool         arch_can_choose(const Target *t);            /* can a CPU be asked for it at run time? */
LLVMValueRef arch_choose_variant(Gen *g, LLVMValueRef f); /* in f: the index of the best target it can run, plus 1 */

/* ---- shuffle.c ---- */
LLVMValueRef slice_lanes(Gen *g, LLVMValueRef v, int from, int count);
LLVMValueRef concat_lanes(Gen *g, LLVMValueRef a, LLVMValueRef b); /* of as many lanes each */
LLVMValueRef
interleave_lanes(Gen *g, LLVMValueRef a, LLVMValueRef b, int piece,
                 int half); /* of every `piece` lanes of a and b the lower (0) or upper half (1), in turn */

/* ---- gather.c ---- */
void         gather_collect(Gen *g, const Expr *load, const Address *a); /* a load of the statement */
LLVMValueRef gather_adjacent(Gen *g, const Expr *load); /* <L x T>; NULL where it is near no other load */

/* ---- transpose.c ---- */
bool         is_column(const Gen *g, const Address *a); /* lanes a constant distance apart in scratch? */
LLVMValueRef load_column(Gen *g, const Address *a);

/* ---- atomic.c ---- */
void gen_atomic(Gen *g, const Stmt *s);

/* ---- stmt.c, parallel.c, extern_stage.c ---- */
void gen_stmt(Gen *g, const Stmt *s);
void gen_parallel(Gen *g, const Stmt *s);
/* Whether the current function, which is made of `body`, is a large one: then what it produces is computed in functions
 * of their own. LLVM's time grows faster than the size of a function, above all for registers that live from one end to
 * the other. */
void function_measure(Gen *g, const Stmt *body);
bool gen_outlined(Gen *g, const Stmt *body); /* true: the body is called; false: it is to be made in place */
void gen_stage(Gen *g, const StageCall *call);
/* Ends the function with the status where it is not 0, freeing what it holds. */
void fail_unless_zero(Gen *g, LLVMValueRef status);
void fail_with(Gen *g, LLVMValueRef status); /* ends the current block */
/* What an error has to undo from here on. After cleanup_pop, if it is true (an error can happen), the undoing is built,
 * and then cleanup_go_on. */
Cleanup *cleanup_push(Gen *g);
bool     cleanup_pop(Gen *g);
void     cleanup_go_on(Gen *g, Cleanup *c);

/* ---- device/: kernel.c, index.c, threads.c, minima.c of the device's code, launch.c of the host's ---- */

/* The elements of a buffer that indices of 32 bits reach; MOST_OFFSET of them are for what is added to pointers. */
enum { MOST_OFFSET = 1 << 16 };
#define MOST_INDEX (INT32_MAX - 2 * MOST_OFFSET)

/* factor * atom * stride, of an index. */
typedef struct IndexPart {
    LLVMValueRef atom;   /* NULL: 1 */
    LLVMValueRef stride; /* NULL: 1 */
    int64_t      factor;
    int          level;         /* of the atom and the stride */
    uint32_t     id, stride_id; /* of their expressions; 0: there is none */
} IndexPart;

extern const Target ptx_target;
void                gen_device_module(Gen *g); /* every kernel of the program */
void         store_by_words(Gen *g); /* of its module, optimized: wide stores in a form that is one instruction */
void         avoid_faults(Gen *g);   /* of LLVM and of the driver's compiler, in the same module */
char        *order_minima(Gen *g, const char *ptx); /* the same for the driver, but for a fault of its compiler */
LLVMTypeRef  kernel_index_type(const Gen *g, const Buffer *b);
LLVMValueRef kernel_index(Gen *g, LLVMTypeRef type, IndexPart *parts, int count, int *level);
void         gen_thread_nest(Gen *g, const Stmt *s);
void         gen_barrier(Gen *g, const Stmt *s);
void         gen_kernel_scratch(Gen *g, const Stmt *s); /* an allocation in a kernel */
LLVMValueRef rt_kernels(Gen *g);                        /* kn_rt_kernels of the program: a constant */
void         gen_launch(Gen *g, const Stmt *s);
void         gen_sync(Gen *g, const Stmt *s);
void         gen_device_scratch(Gen *g, const Stmt *s); /* an allocation of the host for kernels */

/* ---- module.c ---- */
LLVMValueRef constant_global(Gen *g, LLVMValueRef value, const char *name); /* private to the module */
void         gen_begin(Gen *g);                                             /* types, tables by id, alias scopes */
int          produced_index(const Gen *g, const char *func);                /* its place in g->funcs, or -1 */
void         gen_module(Gen *g);                                            /* every variant, and the entry */
LLVMValueRef add_function(Gen *g, const char *name, LLVMTypeRef type);      /* with the attributes of g->target */
Function    *function_begin(Gen *g, const char *name, LLVMTypeRef type);    /* its first scope is open */
void         function_end(Gen *g);                                          /* returns 0 */
void         function_close(Gen *g); /* what stands around it goes on; its last block has its end */
void         add_text_attribute(Gen *g, LLVMValueRef f, const char *name, const char *value);
LLVMValueRef rt_call(Gen *g, const char *name, LLVMTypeRef result, int count, LLVMValueRef *args);

/* ---- dispatch.c ---- */
void         dispatch_check(Gen *g);    /* fails where the targets cannot be told apart at run time */
LLVMValueRef dispatch_function(Gen *g); /* int NAME.choose(void) */

/* ---- variants.c ---- */
bool emit_variants(const Program *program, const CodegenOptions *options, Emitted *out,
                   Emitted *error); /* an object for several targets, or of a program with another for the host */

/* ---- emit.c, target.c, jit.c ---- */
bool llvm_emit(const Program *program, const CodegenOptions *options, EmitKind kind, Emitted *out, Emitted *error);
bool emit_module(const Program *program, const CodegenOptions *options, int first, int last, EmitKind kind,
                 Emitted *out, Emitted *error); /* of targets first to last - 1 */
void target_start(void);                        /* once */
const char          *target_host(void);
Target               target_facts(const Target *t); /* with what this machine's CPU has, if it is the host */
LLVMTargetMachineRef target_machine(const Target *t, LLVMCodeGenOptLevel level, Emitted *error);
void                *jit_load(const char *bytes, size_t size, const Symbol *symbols, int symbol_count, Emitted *error);
void                *jit_lookup(void *loaded, const char *name);
void                 jit_unload(void *loaded);

#endif
