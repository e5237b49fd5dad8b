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
    MOST_SHARED        = 227 << 10, /* bytes; sm_80 and later: 163 or 227 */
    BLOCK_OVERHEAD     = 1 << 10    /* of it that each block takes */
};

/* Parameters up to this are checked; sums of a few of them are ints. */
enum { MOST_SIZE = 1 << 27 };

/* What is noted of a loop while isl makes it. */
typedef struct LoopNote {
    isl_ast_expr *least, *most; /* of a loop over blocks: how far it goes, over the parameters alone */
    int64_t       low, high;    /* its values for parameters up to MOST_SIZE */
    int64_t       extent;       /* of a loop over threads: its iterations at most; -1: no number bounds them */
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
    int64_t         bytes;                /* of it */
    int64_t         shared;               /* bytes of it that are allocated at the launch */
    const LoopNote *grid[DEVICE_DIMS];
    VEC(LoopNote *) notes;
    const char *unfit; /* why no text can be made */
} Device;

/* ---- marks.c ---- */
/* The marks of a loop and what was noted of it; K and N of a mark among them. */
const char *marks_of(const Writer *w, isl_ast_node *loop, const LoopNote **note);
bool        read_mark(const char *marks, const char *name, int *inside, int *count);

/* ---- cuda_range.c ---- */
/* Notes the ranges of a loop while isl makes it. */
LoopNote *note_loop(Writer *w, isl_ast_build *build, const char *marks);
bool      loops_fit_int(Writer *w, isl_ast_node *root);

/* ---- cuda_kernel.c ---- */
/* The number of a thread among those of these dimensions of the block, and how many they are. */
const char *thread_number(const Writer *w, unsigned dims, int *count);
/* A statement as the place that is assigned and the value. */
void statement_text(Writer *w, const Instance *n, const char **to, const char **from);

/* ---- cuda_jam.c ---- */
/* Writes a nest of `count` thread loops with pieces of iterations for each thread; false: nothing is written. */
bool jam_threads(Writer *w, isl_ast_node *loop, int count);

/* ---- cuda_names.c: the names and types of C's symbols in the CUDA file ---- */
const char *device_name(Arena *arena, const CSymbol *s);
/* An inner extent: a number, or the name of what the host's function is given. */
bool        extent_is_number(const CSymbol *s, int d);
const char *extent_text(Arena *arena, const CSymbol *s, int d);
bool        device_leaf(void *writer, Text *out, const CExpr *e, bool subscript);
bool        has_word(const char *text, const char *word);
/* Is it a scalar whose value is handed over? */
bool is_value(const Scop *scop, const CSymbol *s);

#endif
