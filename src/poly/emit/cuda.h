/* SPDX-License-Identifier: MIT */
/* Inside the writer of CUDA text.
 *
 * One idea: the C file stays C. The region in it becomes the call of a function; that function and its kernels are a
 * file of their own, which nvcc compiles as C++. The call says whether it did the work: where there is no device the
 * given loops run. */
#ifndef KILN_POLY_EMIT_CUDA_H
#define KILN_POLY_EMIT_CUDA_H

#include "poly/emit/writer.h"

enum {
    DEVICE_DIMS        = 3,
    MOST_STATIC_SHARED = 48 << 10,
    MOST_SHARED        = 227 << 10 /* bytes; sm_80 and later: 163 or 227 */
};

/* Parameters up to this are checked; sums of a few of them are ints. */
enum { MOST_SIZE = 1 << 29 };

/* What is noted of a loop while isl makes it. */
typedef struct LoopNote {
    isl_ast_expr *least, *most; /* of a loop over blocks: how far it goes, over the parameters alone */
    int64_t       low, high;    /* its values for parameters up to MOST_SIZE */
} LoopNote;

typedef struct Device {
    const char     *name;    /* of the host's function */
    Text            kernels; /* above it */
    Text            setup;   /* its lines before the loops */
    int             kernel_count;
    const char     *integer; /* the type of the kernels' loops */
    bool            in_kernel;
    int             threads[DEVICE_DIMS]; /* of a block */
    unsigned        spread;               /* dimensions of the block that the loops around are spread over */
    bool            pending;              /* what was written last needs a barrier before the threads read it */
    bool            scratch;              /* the kernel has shared memory */
    int64_t         shared;               /* bytes of it that are allocated at the launch */
    const LoopNote *grid[DEVICE_DIMS];
    VEC(LoopNote *) notes;
    const char *unfit; /* why no text can be made */
} Device;

/* ---- cuda_kernel.c ---- */
/* Notes the ranges of a loop while isl makes it. */
LoopNote *note_loop(Writer *w, isl_ast_build *build, const char *marks);

/* ---- cuda_range.c ---- */
void loop_range(const Writer *w, isl_set *all, int dim, LoopNote *note);
bool loops_fit_int(Writer *w, isl_ast_node *root);

/* ---- cuda_names.c: the names and types of C's symbols in the CUDA file ---- */
const char *device_name(Arena *arena, const CSymbol *s);
bool        device_leaf(void *writer, Text *out, const CExpr *e, bool subscript);
bool        has_word(const char *text, const char *word);
/* Is it a scalar whose value is handed over? */
bool is_value(const Scop *scop, const CSymbol *s);

#endif
