/* The backend's contract: a program in, an object (or assembly, or LLVM's text) out; objects loaded and called.
 *
 * The one implementation is LLVM's, in a library of its own (libkiln-llvm) that is loaded when something is first
 * compiled. It exports one function, kiln_codegen(). It reads Programs made by the main library and never bails out: an
 * error is a text. */
#ifndef KILN_CODEGEN_CODEGEN_H
#define KILN_CODEGEN_CODEGEN_H

#include "ir/stmt.h"

/* What to make code for. Plain strings, so that the main library needs no LLVM to name a target. */
typedef struct Target {
    const char *name;                    /* "host", "x86-64", "x86-64-avx2", "x86-64-avx512", "aarch64-linux" … */
    const char *triple, *cpu, *features; /* NULL triple: the host's, with all that this CPU has */
    int         vector_bits;             /* natural width */
} Target;

extern const Target target_table[];
extern const int    target_count;
const Target       *target_find(const char *name); /* NULL or "host": the first row */

typedef enum EmitKind { EMIT_OBJECT, EMIT_ASM, EMIT_LLVM } EmitKind;

enum { MOST_TARGETS = 8 }; /* of one object */

typedef struct CodegenOptions {
    const Target *targets; /* more than one: one object with a variant for each, the last that the CPU can run is chosen
                              at run time */
    int  target_count;
    bool check_access; /* every load and store is checked against its buffer; a violation ends the function with an
                          error */
    bool profile;
    bool fast; /* compile quickly rather than well */
} CodegenOptions;

/* Bytes made by the backend; freed by its release(). */
typedef struct Emitted {
    char  *bytes;
    size_t size;
} Emitted;

/* An address made known to loaded code. */
typedef struct Symbol {
    const char *name;
    void       *address;
} Symbol;

/* The compiled function: see runtime/runtime.h for the types. Returns 0 or an error code, after the runtime's error
 * hook was told. */
struct kn_rt;
typedef int CompiledFunction(struct kn_rt *rt, const kn_buffer *const *buffers, const void *params);

typedef struct Codegen {
    const char *version; /* "LLVM 19.1.7": part of the cache's key */
    /* *error (release() it too) says why if false. The function in the object is called program->name. */
    bool (*emit)(const Program *program, const CodegenOptions *options, EmitKind kind, Emitted *out, Emitted *error);
    void (*release)(Emitted *e);
    /* The CPU's name and features, as part of the cache's key; lives for ever. */
    const char *(*host)(void);
    /* Loads an object; only the symbols given are visible to it. NULL: see error. */
    void *(*load)(const char *bytes, size_t size, const Symbol *symbols, int symbol_count, Emitted *error);
    void *(*lookup)(void *loaded, const char *name);
    void (*unload)(void *loaded);
} Codegen;

/* The function that libkiln-llvm exports. */
typedef const Codegen *CodegenEntry(void);

#endif
