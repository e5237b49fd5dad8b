/* Targets: what code is made for. */
#ifndef KILN_CODEGEN_TARGET_H
#define KILN_CODEGEN_TARGET_H

/* What to make code for. Plain strings, so that the main library needs no LLVM to name a target. */
typedef struct Target {
    const char *name;                    /* "host", "x86-64", "x86-64-avx2", "x86-64-avx512", "aarch64-linux" … */
    const char *triple, *cpu, *features; /* NULL triple: the host's, with all that this CPU has */
    int         vector_bits;             /* natural width */
} Target;

extern const Target target_table[];
extern const int    target_count;
const Target       *target_find(const char *name); /* NULL or "host": the first row */

enum { MOST_TARGETS = 8 }; /* of one object */

#endif
