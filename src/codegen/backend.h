/* SPDX-License-Identifier: MIT */
/* Backends: a lowered program in, code out. The contract between the main library and every code generator.
 *
 * A backend is a row of backend_table. One that needs a large library (LLVM) is a shared object of its own, loaded when
 * something is first compiled; its one export is kiln_codegen(). A small one is part of the main library. Either way
 * the backend is the functions of a Codegen. It reads Programs made by the main library and never bails out: an error
 * is a text. */
#ifndef KILN_CODEGEN_BACKEND_H
#define KILN_CODEGEN_BACKEND_H

#include "ir/nests.h"
#include "ir/stmt.h"
#include "ir/target.h"

/* What can be emitted. A kind is a row of emit_table, in this order. */
typedef enum EmitKind {
    EMIT_OBJECT,
    EMIT_LLVM,
    EMIT_ASM,
    EMIT_C,
    EMIT_PTX,         /* the kernels of a program, for CUDA */
    EMIT_OPENCL,      /* the kernels of a program, as OpenCL C */
    EMIT_DEVICE_LLVM, /* what EMIT_PTX is made of */
    EMIT_KIND_COUNT
} EmitKind;

typedef struct EmitFormat {
    const char *name;        /* the word for it in --emit */
    const char *ending;      /* of its file */
    bool        with_header; /* a C header of its own, which needs no runtime, is written next to it */
    const char *until;       /* the last pass of lowering that its programs have been through; NULL: all */
    DeviceKind  of_device;   /* it is the kernels of a program, as such a device takes them; NONE: other code */
    bool        with_device; /* what was emitted for the device is part of it */
} EmitFormat;

extern const EmitFormat emit_table[EMIT_KIND_COUNT];
EmitKind                device_format(DeviceKind device); /* what its kernels are emitted as */

enum {
    MOST_TARGETS = 8,
    MOST_PARTS   = 2 * MOST_TARGETS
}; /* of one object; its modules, with those for the host alone */

typedef struct CodegenOptions {
    const Target *targets; /* more than one: one object with a variant for each, the last that the CPU can run is chosen
                              at run time */
    int  target_count;
    bool check_access; /* every load and store is checked against its buffer; a violation ends the function with an
                          error */
    bool profile;
    bool fast; /* compile quickly rather than well */
    /* Of a program with kernels: what was emitted for the device of targets[0], ended by NUL, to be part of the
     * object. */
    const char *device_code;
    /* The same, emitted with large_buffers; NULL: the object has no kernels for them. */
    const char *large_code;
    bool        large_buffers; /* of what is emitted for a device: indices of kernels have 64 bits */
    /* Of a program with another for the host alone: the targets of that one. */
    const Target *host_targets;
    int           host_target_count;
    bool          is_part; /* the entry is called by another program of the object, and not from outside */
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
    /* *error (release() it too) says why if false. The function in the code is called program->name. */
    bool (*emit)(const Program *program, const CodegenOptions *options, EmitKind kind, Emitted *out, Emitted *error);
    void (*release)(Emitted *e);
    /* The rest is there where Backend.loads_objects. */
    /* The CPU's name and features, as part of the cache's key; lives for ever. */
    const char *(*host)(void);
    /* Loads an object; only the symbols given are visible to it. NULL: see error. */
    void *(*load)(const char *bytes, size_t size, const Symbol *symbols, int symbol_count, Emitted *error);
    void *(*lookup)(void *loaded, const char *name);
    void (*unload)(void *loaded);
} Codegen;

/* What a backend's library exports as kiln_codegen; NULL: it could not be started. */
typedef const Codegen *CodegenEntry(void);
CodegenEntry           c_codegen; /* of codegen/c, which is part of the main library */

/* codegen/c/c_naive.c: plain loops as C, in `arena`; NULL: *why says what cannot be written. */
const char *c_naive_text(const Nests *nests, Arena *arena, const char **why);

typedef struct Backend {
    const char   *name;
    const char   *library;       /* the file that has it; NULL: it is part of the main library */
    CodegenEntry *entry;         /* of one in the main library; NULL otherwise */
    bool          loads_objects; /* what it emits as EMIT_OBJECT can be called in this process */
    unsigned      emits;         /* set of EmitKinds: 1u << kind */
} Backend;

extern const Backend backend_table[];
extern const int     backend_count;
const Backend       *backend_emitting(EmitKind kind); /* the first row that can; NULL: none */
const Backend       *backend_loading(void);           /* the first row whose objects can be loaded */

#endif
