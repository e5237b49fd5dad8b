/* SPDX-License-Identifier: MIT */
/* The accesses of shared memory in kernels, and what they cost a warp by the banks that its lanes meet in. */
#ifndef KILN_LOWER_BANKS_BANKS_H
#define KILN_LOWER_BANKS_BANKS_H

#include "ir/kernel.h"
#include "lower/lower.h"

enum {
    BANK_WARPS  = 2,  /* of a block, that are looked at */
    MOST_ATOMS  = 32, /* of an index */
    MOST_ACCESS = 16  /* bytes of one access */
};

/* Element i of a buffer lies at i + i / row * pad; pad 0: at i. */
typedef struct Padding {
    int64_t row, pad;
} Padding;

/* Accesses of the threads of a block that stand together and differ by constants: the copies of an unrolled loop. */
typedef struct BankAccess {
    const Buffer *buffer;
    bool          store;
    int           scope;                         /* those of one number stand together */
    Linear        form;                          /* of their indices; its constant does not count */
    int64_t      *low, *high;                    /* between which its atoms lie */
    double        weight;                        /* how often it is executed */
    int           along;                         /* the atom of a loop along elements, which counts as copies; -1 */
    bool          known;                         /* is what follows known? */
    uint32_t      active[BANK_WARPS];            /* the lanes of some warps that take part */
    int64_t       element[BANK_WARPS][GPU_WARP]; /* and their elements, without the constant */
    VEC(int64_t) constants;                      /* in ascending order */
} BankAccess;

static inline int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Where element i lies. An index that is evaluated with 0 for what is not known may be negative. */
static inline int64_t padded(Padding p, int64_t i)
{
    return p.pad ? i + floor_quotient(i, p.row) * p.pad : i;
}

/* A name: a loop's variable, or a let. */
typedef struct BankName {
    const char *name;
    const Stmt *loop; /* NULL: a let */
    const Expr *value;
    int         axis; /* of a thread loop; -1: another */
} BankName;

/* A kernel's shared memory. */
typedef struct KernelMemory {
    const Stmt *stmt;
    VEC(const Buffer *) buffers;
    VEC(int64_t) counts; /* elements of each, as allocated */
} KernelMemory;

/* A walk over kernels. */
typedef struct BankPass {
    Lower *lw;
    VEC(BankName) known;          /* names, the innermost last */
    const Stmt *kernel;           /* around */
    int64_t     thread[GPU_AXES]; /* that is evaluated */
    ThreadNest  nest;             /* around, */
    bool        in_nest;          /* if there is one; else it is code of all threads */
    int         scope, scopes;
    double      weight;
    int         nodes;
    VEC(BankAccess *) accesses;
    VEC(KernelMemory) kernels;
    Map paddings; /* Buffer to Padding */
} BankPass;

/* ---- accesses.c ---- */

/* Fills accesses and kernels. */
void banks_look(BankPass *p, const Stmt *s);
/* What is known inside a statement, and no more; `in_nest` is what it was before. */
void banks_enter(BankPass *p, const Stmt *s);
void banks_leave(BankPass *p, const Stmt *s, bool in_nest);
/* The index as a linear form, with what is known of its atoms; NULL: it has too many terms. */
BankAccess *banks_access(BankPass *p, const Buffer *b, const Expr *index);
/* The threads of a kernel's block along an axis. */
int banks_threads(const Stmt *kernel, int axis);

/* ---- cost.c ---- */

/* The index is row * quotient + rest with 0 <= rest < row, the quotient a linear form: whether that can be shown of the
 * one with this constant. Then *constant is that of the quotient, and quotients[] its coefficients. */
bool row_quotient(const BankAccess *a, int64_t index_constant, int64_t row, int64_t *quotients, int64_t *constant);

/* The wavefronts of all of them and their instructions, by their weight; and the same, not padded, without conflicts.
 */
/* Are as many elements joined with the padding as without? */
bool   bank_same_widths(const BankAccess *a, Padding p);
double bank_cost(const BankAccess *a, Padding p);
double bank_cost_least(const BankAccess *a);

#endif
