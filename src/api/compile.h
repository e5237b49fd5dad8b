/* SPDX-License-Identifier: MIT */
/* From a pipeline to code: the steps in their order, for all calls that compile. */
#ifndef KILN_API_COMPILE_H
#define KILN_API_COMPILE_H

#include "analysis/regions.h"
#include "api/files.h"
#include "api/module.h"
#include "codegen/backend.h"
#include "lower/lower.h"

/* The targets of an option's text. */
typedef struct Targets Targets;
struct Targets {
    Target   at[MOST_TARGETS];
    int      count;
    bool     is_half; /* the schedule of another kind of target is not meant for this one */
    Targets *host;    /* host-cuda: those of the code for the host alone, each a half; else NULL */
};

/* The targets named; NULL or "": the fallback's. false after a diagnostic that lists the names there are. */
bool targets_parse(kn_context *cx, const char *text, const char *fallback, Targets *out);

/* What a pipeline becomes on the way: first a plan (by a schedule, NULL being the default one, or as the options say),
 * then a program of loops. In `arena`, until the pass of that name (NULL: all). NULL after diagnostics. */
Plan    *compile_schedule(kn_pipeline *p, const Schedule *schedule, const Targets *targets, Arena *arena);
Plan    *compile_plan(kn_pipeline *p, const kn_options *options, const Targets *targets, Arena *arena);
Program *compile_program(Plan *plan, const kn_options *options, const Targets *targets, const char *until);
Program *compile_loops(Plan *plan, const kn_options *options, const Targets *targets); /* until the first pass */

/* Of targets with a host: the other half of a program, for the host alone. False after diagnostics. */
bool compile_host_half(kn_pipeline *p, const kn_options *options, const Targets *targets, Arena *arena,
                       Program *program);

/* The backend's answer, until it is released; a diagnostic if it has none. With `large`: where indices of kernels have
 * 32 bits, a second form of them is part of it, for larger buffers. */
bool compile_emit(const Codegen *codegen, const Program *program, const kn_options *options, const Targets *targets,
                  EmitKind kind, bool large, Emitted *out);

/* Code of a backend that an API call holds until its work is done: it is released outside of all that may bail out. */
typedef struct HeldCode {
    const Codegen *codegen;
    Emitted        code;
} HeldCode;
void held_release(HeldCode *held);

/* What NVIDIA's assembler says of the kernels of a schedule; NULL, without a diagnostic: it is not there, or the
 * schedule cannot be compiled. */
const char *compile_report(kn_pipeline *p, const Schedule *schedule, Arena *arena, HeldCode *held);

/* The backend's reason as a diagnostic; releases it. */
void backend_error(kn_context *cx, const Codegen *codegen, const char *what, Emitted *error);

/* What a run was last checked with: boxes and values. */
typedef struct Checked {
    Box       *input, *output;
    kn_scalar *param;
    bool       fine;
} Checked;

/* A compiled module. */
struct Compiled {
    OnFree            on_free;
    const Codegen    *codegen;
    const char       *symbol; /* of the function */
    Bytes             object; /* kept if it calls C functions, whose addresses may change */
    void             *loaded;
    CompiledFunction *function;
    int               extern_count; /* the C functions and stages it calls */
    const char      **externs;      /* interned */
    Extern           *bound;        /* what they were when it was loaded */
    bool              has_kernels;
    bool              large; /* its kernels have the form for large buffers, too */
    bool              from_cache;
    Checked           checked;
};

/* Fills m->compiled; a diagnostic if it cannot. What `object` holds at the end is to be released by the caller. With
 * `large`, its kernels take buffers of any size. */
void compile_module(kn_module *m, const Codegen *codegen, bool large, Emitted *object);
/* Compiles it once more, after a call has shown that its buffers are large. */
kn_status module_enlarge(kn_module *m);
/* Unloads it, if it is loaded. */
void compiled_unload(Compiled *c);
/* Can c->object be loaded? It stays so if it calls no C functions. Says nothing. */
bool compiled_loads(kn_context *cx, Compiled *c);
/* The function, loaded, with the C functions as they are now; NULL after a diagnostic. */
CompiledFunction *compiled_function(kn_module *m);

#endif
