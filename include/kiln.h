/* SPDX-License-Identifier: MIT */
/* Kiln: image and stencil pipelines from a text of formulas. The whole public interface, with kiln_runtime.h.
 *
 *     kn_context  *cx = kn_context_new(NULL);
 *     kn_pipeline *p  = kn_parse(cx, "blur.kiln", text, -1);
 *     kn_module   *m  = kn_compile(p, NULL);
 *     if (!m) fputs(kn_error_text(cx), stderr);
 *     kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2);
 *     kn_context_free(cx);
 *
 * How it behaves, everywhere:
 *   - Everything hangs from a kn_context; freeing the context frees what was made from it.
 *     A context is used by one thread at a time; two contexts never see each other. A call may do its work,
 *     and call what kn_config and kn_extern_* gave, on a thread of its own, which has ended when the call returns.
 *   - An error is a value: a function that makes something returns NULL, one that does something
 *     returns a kn_status other than KN_OK, and kn_error_text() says what, where and what to do.
 *     NULL given as an argument that must not be NULL is answered in the same way.
 *   - The library never prints, exits or aborts, and writes only where it is asked to.
 *   - Strings given are copied; strings returned belong to the context and stay until it is freed,
 *     except where a comment says otherwise.
 */
#ifndef KILN_H
#define KILN_H

/* kn_status, kn_type, kn_scalar, kn_buffer, kn_stage, and the kn_rt that runs compiled code */
#include "kiln_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KN_VERSION "0.1.0"

typedef struct kn_context  kn_context;
typedef struct kn_pipeline kn_pipeline;
typedef struct kn_module   kn_module;

/* ---- Types and values ------------------------------------------------------------------- */

/* "u8", "f32" …; NULL for a number that is no type. */
KN_API const char *kn_type_name(kn_type type);
/* The type of that name, or KN_NONE. */
KN_API kn_type kn_type_from_name(const char *name);
/* Bytes of one element in a buffer (1 for bool); 0 for a number that is no type. */
KN_API size_t kn_type_size(kn_type type);

/* ---- Buffers ---------------------------------------------------------------------------- */

/* Allocates the memory of `b` from the context (zeroed, dense, x fastest) by its type, rank, mins and
 * extents, and sets its strides, its data and its device part (zero). Freed by kn_buffer_free, or with the context. */
KN_API kn_status kn_buffer_alloc(kn_context *cx, kn_buffer *b);
/* Frees what kn_buffer_alloc or kn_image_load allocated, and sets data to NULL. Memory of others is left alone. */
KN_API void kn_buffer_free(kn_context *cx, kn_buffer *b);

/* The most bytes that the text of a program or schedule has. */
#define KN_MAX_TEXT (64 << 20)

/* ---- Contexts and errors ---------------------------------------------------------------- */

/* What a context may use; a zero field means the default. */
typedef struct kn_config {
    void *(*allocate)(void *user, size_t size); /* default malloc; may return NULL */
    void (*release)(void *user, void *block);   /* default free */
    /* Reads a file that an `include` names, into memory from `allocate`; NULL if it cannot be read.
     * Default: the file system. */
    char *(*read_file)(void *user, const char *path, size_t *size);
    void    *user;         /* first argument of the three above */
    size_t   memory_limit; /* bytes in use at a time; default 8 GiB */
    uint64_t quota;        /* operations of the compiler per call, the backend's included; default 100 million */
    int      max_errors;   /* errors with their notes, and warnings, kept per call; default 50 of each */
} kn_config;

/* NULL for the defaults. Returns NULL only if there is no memory. */
KN_API kn_context *kn_context_new(const kn_config *config);
/* Frees the context and all that was made from it: pipelines, modules, buffers of kn_buffer_alloc, strings. NULL is
 * fine. */
KN_API void kn_context_free(kn_context *cx);

typedef enum kn_severity { KN_ERROR, KN_WARNING, KN_NOTE } kn_severity;

/* One diagnostic. line and column count from 1; 0 where there is no place in a text. */
typedef struct kn_diagnostic {
    kn_severity severity;
    const char *file;
    int         line, column;
    const char *message;
    const char *warning; /* the name of a warning, as kn_warning_get has it; else NULL */
    const char *error; /* the name of an error, as kn_error_get has it; else NULL. Ask for this, not for the message */
} kn_diagnostic;

/* The diagnostics of the last call that could fail, as text: "file:line:col: error: …", the line, a
 * caret, notes. "" if there are none. A call that went well may have warnings, "file:line:col: warning: … [name]".
 * The string stays until the next call on the context. */
KN_API const char   *kn_error_text(kn_context *cx);
KN_API int           kn_diagnostic_count(kn_context *cx);
KN_API kn_diagnostic kn_diagnostic_get(kn_context *cx, int index);

/* A row of a table of the library. Both are NULL for an index out of range. */
typedef struct kn_pass {
    const char *name, *summary;
} kn_pass;

/* The errors there are: the name and what is wrong. */
KN_API kn_pass kn_error_get(int index);
/* The warnings there are: the name and what is warned of. */
KN_API kn_pass kn_warning_get(int index);
/* Switches the warning of that name off, or on again, for the calls on this context that follow. */
KN_API kn_status kn_warn(kn_context *cx, const char *name, bool on);

/* The one of `names` that `name` is probably a misspelling of: the edit distance, with transpositions, is at most a
 * third of its length. NULL if there is none. This is the x of "did you mean x?". */
KN_API const char *kn_closest_name(const char *name, const char *const *names, int count);

/* ---- Pipelines from text ---------------------------------------------------------------- */

/* Gives a `const` or `type` of programs parsed later another value, as -D does: kn_define(cx, "J", "4"). The value is
 * read when such a program is parsed. A text that has no const or type of that name is refused, so that a misspelt name
 * shows; NULL as the value takes the definition back. */
KN_API kn_status kn_define(kn_context *cx, const char *name, const char *value);

/* Reads a program. `name` stands in diagnostics, and includes are looked for beside it; `length` may be
 * -1 for a string that ends in NUL. NULL if there is any error. */
KN_API kn_pipeline *kn_parse(kn_context *cx, const char *name, const char *text, ptrdiff_t length);
/* Adds a schedule (the statements of a .sched file) to a pipeline. */
KN_API kn_status kn_schedule_parse(kn_pipeline *p, const char *name, const char *text, ptrdiff_t length);
/* Frees a pipeline and its modules before the context is freed. NULL is fine. */
KN_API void kn_pipeline_free(kn_pipeline *p);

/* The formatted form of a program's text: the same tokens and comments, in the standard layout. The string stays until
 * the next call on the context. */
KN_API const char *kn_format(kn_context *cx, const char *name, const char *text, ptrdiff_t length);

typedef enum kn_port_kind { KN_INPUT, KN_PARAM, KN_OUTPUT } kn_port_kind;

/* What a pipeline is called with. A tuple-valued output is several ports: "best.0", "best.1". */
typedef struct kn_port {
    kn_port_kind       kind;
    const char        *name;
    kn_type            type;
    int                rank; /* 0 for a parameter */
    const char *const *dims; /* the names of the dimensions */
    bool               has_default;
    kn_scalar          value;    /* a parameter's default */
    const int32_t     *estimate; /* an output's extents as `estimate` gives them, or NULL */
} kn_port;

KN_API int     kn_port_count(const kn_pipeline *p);
KN_API kn_port kn_port_get(const kn_pipeline *p, int index);

/* The names that kn_define can give another value: the consts and types of the program and of what it includes. */
KN_API int kn_const_count(const kn_pipeline *p);
/* NULL for an index out of range. */
KN_API const char *kn_const_name(const kn_pipeline *p, int index);

/* The schedules kept with a pipeline, in the order of the texts. */
KN_API int kn_schedule_count(const kn_pipeline *p);
/* NULL for a schedule without a name, and for an index out of range. */
KN_API const char *kn_schedule_name(const kn_pipeline *p, int index);

/* The C functions and stages that the program declares with `extern`, to be looked up in a library for
 * kn_extern_function or kn_extern_stage. */
KN_API int kn_extern_count(const kn_pipeline *p);
/* NULL for an index out of range. */
KN_API const char *kn_extern_name(const kn_pipeline *p, int index);
KN_API bool        kn_extern_is_stage(const kn_pipeline *p, int index);

/* ---- Compiling -------------------------------------------------------------------------- */

typedef struct kn_options {
    const char *scheduler; /* a name of kn_scheduler_get: the schedule is made, for the sizes of `estimate` or usual
                            * ones; "none": `schedule` says which, and without one it is the default; NULL: the same,
                            * but without a schedule it is "auto" that makes one */
    const char *target;    /* NULL or "host"; "cuda", "opencl", or such a device or else the host: "host-cuda",
                            * "host-opencl"; for kn_build and kn_show_code also other names of kn_target_name, separated
                            * by commas */
    bool strict_float;     /* every float operation rounded as written, never contracted or reordered */
    bool interpret;        /* do not compile: run the reference interpreter, which is always strict */
    const char
        *schedule; /* the schedule of that name; NULL: the last without a name, or the only one; "": the default */
    int  threads;  /* of parallel loops, the calling one included; 0: KN_NUM_THREADS of the environment, or as many as
                      there are CPUs */
    bool        check_access;   /* every access of compiled code is checked: slow, for finding mistakes in Kiln */
    bool        profile;        /* compiled code measures where its time goes: kn_profile */
    double      budget;         /* seconds that a scheduler may take; 0: 2 */
    const char *cache;          /* a folder that keeps what was compiled for the next time; NULL: nothing is written */
    const struct kn_arg *sizes; /* for "c-naive" of kn_build: buffers, without data, and parameters that say sizes; what
                                 * is not there is as in `estimate`, or usual */
    int size_count;
} kn_options;

/* Says what is wrong with a pipeline and its schedules, as far as that is known without sizes and without compiling.
 * Looks at the schedule that the options name, else at all, else at the default; refuses what kn_compile and kn_run
 * refuse. */
KN_API kn_status kn_check(kn_pipeline *p, const kn_options *options);

/* Makes a pipeline ready to run: compiles it, or takes it from the cache, unless it is to be interpreted. NULL options
 * are all defaults. The module lives as long as its pipeline. */
KN_API kn_module *kn_compile(kn_pipeline *p, const kn_options *options);

/* Did the module come from the cache? */
KN_API bool kn_from_cache(const kn_module *m);

/* Compiles ahead of time, for programs that link with the result and need no Kiln. `path` is FOLDER/NAME; NAME is the C
 * function. `emit` says what to write, separated by commas; NULL is "header,object,archive", or, for another kind of
 * machine, "header,object,runtime":
 *     header   NAME.h, with NAME() in C99 and C++        object   NAME.o
 *     archive  NAME.a, the object and the runtime        runtime  kiln_runtime.c, to be compiled for machines other
 *              than this
 *     llvm     NAME.ll                asm      NAME.s                loops    NAME.loops, the loop nest
 *     c        NAME.c and a NAME.h of its own: C11 that needs no runtime
 *     c-naive  NAME.naive.c: plain loops over arrays of one size (options->sizes), for kn_tile
 *     ptx, opencl, device-llvm   NAME.ptx, NAME.cl, NAME.device.ll: the kernels
 * The target NULL is this machine's kind: on x86-64 one object with code for any such CPU, for AVX2 and for AVX-512,
 * which is chosen when it runs. *written, if not NULL, names the files that were made, separated by newlines. */
KN_API kn_status kn_build(kn_pipeline *p, const char *path, const kn_options *options, const char *emit,
                          const char **written);

/* The targets there are; NULL for an index out of range. */
KN_API const char *kn_target_name(int index);
/* The kind of device on which code for that target runs kernels, a kn_device_kind; 0: on none, or there is no such
 * target. */
KN_API int kn_target_device(const char *target);

/* The passes of the compiler, in order: the name and what it does. */
KN_API kn_pass kn_pass_get(int index);
/* The schedulers, likewise. */
KN_API kn_pass kn_scheduler_get(int index);
/* The directives of schedules: the name and what it does. docs/language.md has their arguments. */
KN_API kn_pass kn_directive_get(int index);

/* ---- Showing ---------------------------------------------------------------------------- */

typedef enum kn_view {
    KN_VIEW_FUNCS,    /* every function: type, arguments, definitions */
    KN_VIEW_GRAPH,    /* the functions and who reads whom, as a DOT graph */
    KN_VIEW_SCHEDULE, /* the schedules kept with the pipeline, as text that reads back */
    KN_VIEW_PLAN,     /* the schedule that is obeyed, whole: what was written and what was chosen */
    KN_VIEW_LOOPS,    /* the loop nest: what is computed and stored where */
    KN_VIEW_CODE,     /* the code before the backend: loops over memory */
    KN_VIEW_LLVM,     /* LLVM's text */
    KN_VIEW_ASM       /* assembly */
} kn_view;

/* A text that shows the pipeline. The string stays until the next call on the context. */
KN_API const char *kn_show(kn_pipeline *p, kn_view view);
/* The same, compiled with these options. KN_VIEW_CODE shows the code after the pass of that name; NULL: the last. */
KN_API const char *kn_show_code(kn_pipeline *p, kn_view view, const kn_options *options, const char *pass);

/* ---- Running ---------------------------------------------------------------------------- */

/* An input, a parameter or an output, by name: { "in", .buffer = &b } or { "k", .value = kn_int(3) }. */
typedef struct kn_arg {
    const char *name;
    kn_buffer  *buffer;
    kn_scalar   value;
} kn_arg;

/* Computes the outputs. Every input and output, and every parameter without a default, must be given, in any order. A
 * value must be one that the parameter's type holds (2.0 is fine for an integer, 1.5 is not; for a float it is rounded)
 * and lie in its range. An output has memory of its own: the range of bytes from its first to its last element does not
 * meet that of another buffer. Inputs may share. All this is checked, and every error reported, before anything is
 * computed; on such an error no output has been touched. What goes wrong later, when there is no memory or an extern
 * stage fails, may leave compiled code's outputs half written. Buffers with coordinates beyond ±2^28 are run by the
 * interpreter: compiled code does not reach that far. */
KN_API kn_status kn_run(kn_module *m, const kn_arg *args, int count);

/* Was the last kn_run of the module done by the interpreter? It is where the options say so, and where compiled code
 * gives a call up: it asks for more of an input than is needed, or the coordinates are beyond it. Then a warning,
 * `interpreted`, says why and what would do. */
KN_API bool kn_interpreted(const kn_module *m);

/* Runs the compiler's loops step by step, and counts: the points computed of each function and how many of them are
 * needed, bytes allocated, loaded and stored. Gives a text, which stays until the next call on the context; the outputs
 * are computed too. */
KN_API const char *kn_count(kn_module *m, const kn_arg *args, int count);
/* Where the time went in the runs so far of modules compiled with `profile`, as a text that stays until the next call
 * on the context. */
KN_API const char *kn_profile(kn_context *cx);

/* The box of one function that the outputs need. */
typedef struct kn_region {
    const char *name;
    int         rank;
    int32_t     min[KN_MAX_RANK], extent[KN_MAX_RANK];
} kn_region;

/* The box of every function that is needed, inputs too, consumers first, for the arguments of kn_run; of a buffer only
 * type, rank, mins and extents are looked at, and an input whose size the program does not speak of may be left out.
 * *regions belongs to the context and stays until the next call; on an error it is NULL. */
KN_API kn_status kn_bounds(kn_module *m, const kn_arg *args, int count, const kn_region **regions, int *region_count);

/* For every output buffer among the arguments whose rank is 0: sets type, rank, mins and extents to the largest
 * box that the given inputs suffice for; the components of a tuple have one box. A side that a boundary makes unlimited
 * is as in the first input that has a dimension of the same name. Nothing is allocated: kn_buffer_alloc does that next.
 * Outputs may be left out; of the inputs only type, rank, mins and extents are looked at. On an error nothing is set.
 */
KN_API kn_status kn_fit(kn_module *m, const kn_arg *args, int count);

/* Makes a schedule: gives its text, to be read, changed, kept in a .sched file or given to kn_schedule_parse.
 * `scheduler` is a name of kn_scheduler_get; NULL is "auto". The arguments, which may be none, say what is known of
 * sizes and parameters, as for kn_fit; of buffers only type, rank, mins and extents are looked at. What is missing is
 * taken from `estimate`, or is of a usual picture: a schedule for one size is right for every other. `machine` changes
 * what is known of this one: "cores=8, l2=512k, vector_bits=256", or the name of a file of share/kiln/machines, as
 * "raspberry-pi-5"; NULL changes nothing. Of the options threads, target and budget count. The string stays until the
 * next call on the context. */
KN_API const char *kn_schedule_make(kn_pipeline *p, const char *scheduler, const char *machine,
                                    const kn_options *options, const kn_arg *args, int count);

typedef enum kn_schedule_view {
    KN_SCHEDULE_TEXT,    /* what kn_schedule_make gives */
    KN_SCHEDULE_EXPLAIN, /* the groups as a picture and a table: what each computes, holds and moves, what bounds it,
                            what was refused and by which rule */
    KN_SCHEDULE_HTML,    /* the same as one HTML page, with the schedule */
    KN_SCHEDULE_GRAPH    /* what the schedulers know of the pipeline: sizes, accesses, work; of no scheduler */
} kn_schedule_view;
KN_API const char *kn_schedule_show(kn_pipeline *p, kn_schedule_view view, const char *scheduler, const char *machine,
                                    const kn_options *options, const kn_arg *args, int count);

/* Measures this machine for kn_schedule_make, in less than 20 seconds: the time of an access over the size of the
 * working set, then small programs under good and bad schedules, to which the speeds are fitted that schedulers predict
 * with. At the end some programs are scheduled for the machine of the text `before` (NULL: as the system describes it)
 * and for the new one; if they are slower now, the figures of `before` are kept. Gives the text for `machine`, until
 * the next call, with comments that say what was found; NULL after an error. `progress`, which may be NULL, is called
 * before each step, `all` of them or until it returns 0: then the speeds are fitted to what is measured, which is an
 * error if that is no program. */
KN_API const char *kn_calibrate(kn_context *cx, const char *before, int (*progress)(void *user, int done, int all),
                                void *user);

/* The same for the device of a target, "cuda" or "opencl", by kernels: copies in its memory and in its cache, shared
 * memory, arithmetic, atomics, loads that wait for each other, launches, copies from and to the host. Takes a few
 * seconds. Gives the lines gpu_…= of the text for `machine`; an error if there is no device. */
KN_API const char *kn_calibrate_device(kn_context *cx, const char                           *target,
                                       int (*progress)(void *user, int done, int all), void *user);

/* Fills a buffer from an expression of the language over its coordinates, which are i64 and named `dims`; the
 * result is converted to the buffer's type. */
KN_API kn_status kn_fill(kn_context *cx, kn_buffer *b, const char *const *dims, const char *formula);
/* Fills a buffer with noise: every value of an integer type, [0, 1) for a float, all equally likely. An element's value
 * depends on the seed, the type and how many elements come before it with x fastest, and on nothing else. */
KN_API kn_status kn_fill_noise(kn_context *cx, kn_buffer *b, uint64_t seed);

/* ---- Tuning ----------------------------------------------------------------------------- */

/* What is told after each candidate of kn_tune; the strings stay until the callback returns. */
typedef struct kn_tune_step {
    int         number;   /* from 0, which is the schedule of `auto` */
    const char *what;     /* how the candidate was made: the edit of the best, or the scheduler */
    const char *result;   /* "start", "faster", "not faster"; or its fault: "refused", "crashed", "hung",
                           * "out of memory", "wrong" */
    const char *reason;   /* of a fault; else NULL */
    const char *schedule; /* the candidate's text; of a fault, what repeats it */
    double      ratio;    /* its time over that of the best before it: the median of `pairs` of turns */
    int         pairs;
    double      ms;      /* its shortest run */
    double      speedup; /* of the best so far over `auto` */
    double      seconds; /* since the search began; and those that are left */
    double      left;
    double      spread;   /* of equal turns: median over shortest, less 1 */
    bool        is_best;  /* it is the best from now on */
    bool        is_fault; /* it shows a mistake of Kiln */
    bool        is_busy;  /* turns differ so much that something else must run on this machine */
    bool        recalled; /* from the journal; it was not measured again */
    int         of;       /* of kn_cross: the case that is searched for */
} kn_tune_step;

/* How to search; a zero field means the default. */
typedef struct kn_tune_options {
    const char *algorithm;   /* a name of kn_tune_algorithm_get; NULL: "model" */
    double      seconds;     /* that the search may take; default 60 */
    int         candidates;  /* at most; default: as many as there is time for */
    int         population;  /* of "genetic"; default 128 */
    int         generations; /* of "genetic"; default: as many as there is time for */
    uint64_t    seed;
    bool        simulate; /* nothing is compiled or run: times are those of the model with errors and noise by the seed,
                           * and so is the clock. The same seed gives the same search */
    const char *machine;  /* as for kn_schedule_make */
    const char *journal;  /* a file that has a line for each measurement; NULL: none */
    bool        resume;   /* measurements that the journal has are not made again */
    int (*step)(void *user, const kn_tune_step *step); /* may be NULL; 0 ends the search, and the best is kept */
    void *user;
} kn_tune_options;

typedef struct kn_tuned {
    const char *schedule; /* the text, with comments that say how it was found; stays until the next call */
    double      speedup;  /* over `auto`, in turns that were made for this alone; 1: `auto` has not been beaten */
    double      wrong;    /* a bound on the chance that it is not faster than `auto`; 1 if it is that of `auto` */
    double      checked;  /* the time of the best of the search over that of `auto` in those turns */
    int         candidates, won, faults; /* tried; times that one was faster than the best; that showed a mistake */
    double      start_ms, best_ms;       /* the shortest run of `auto` and of the best */
    double      seconds;
    double      spread;
    bool        is_busy;
} kn_tuned;

/* The name of this machine's processor, as the system tells it; "" if it does not. */
KN_API const char *kn_processor_name(kn_context *cx);

/* The algorithms of kn_tune: the name and what it does. */
KN_API kn_pass kn_tune_algorithm_get(int index);

/* Searches for a fast schedule by measuring candidates, each in a process of its own, on these arguments, which are as
 * for kn_run; outputs are not written. A candidate takes the place of the best only if it is faster with chance 0.99 at
 * least; at the end the best is compared with `auto` once more, and is taken if that shows the same. Every result is
 * compared with that of the default schedule. What crashes, hangs or is wrong is told, and the search goes on. Of the
 * options threads, target and strict_float count. With a target cuda or opencl, kernels are searched for: each
 * candidate opens the device by itself, and this process must not have opened it, nor CUDA or OpenCL otherwise. No
 * other thread of this process may use the library meanwhile. */
KN_API kn_status kn_tune(kn_pipeline *p, const kn_options *options, const kn_tune_options *how, const kn_arg *args,
                         int count, kn_tuned *tuned);

/* A size or a machine for kn_cross. */
typedef struct kn_cross_case {
    const kn_arg *args; /* as for kn_tune. NULL: nothing is run at this size; `schedule` is compared at the others */
    int           count;
    const char   *machine;  /* another machine, as for kn_schedule_make; NULL: that of kn_tune_options */
    const char   *schedule; /* the text; NULL: it is searched for, as by kn_tune */
} kn_cross_case;

/* A schedule, where it is run. */
typedef struct kn_cross_cell {
    double      ratio;  /* its time over that of the case's own schedule, in turns; 0: not measured */
    double      chance; /* that as large a difference is noise */
    const char *fault;  /* why it was not measured: "refused", "crashed" …; else NULL */
    const char *reason; /* of a fault, where it is known; else NULL */
} kn_cross_cell;

/* What stays until the next call. */
typedef struct kn_crossed {
    const char   **schedules; /* of each case */
    double        *ms;        /* the shortest run of each case's own schedule; 0: it was not run */
    kn_cross_cell *cells;     /* [i * count + j]: the schedule of case i, run in case j */
} kn_crossed;

/* Runs the schedule of each case in every other: its size, with `simulate` also its machine. Without that only this
 * machine can be timed: the schedule for another one is searched for by a simulation, and run here. Schedules cannot be
 * given to a simulation. Each search may take `seconds`; there is no journal. At most 16 cases. */
KN_API kn_status kn_cross(kn_pipeline *p, const kn_options *options, const kn_tune_options *how,
                          const kn_cross_case *cases, int count, kn_crossed *crossed);

/* ---- Tiling C loops --------------------------------------------------------------------- */

typedef struct kn_tile_options {
    const char *shape;  /* of tiles: "auto", "none", "scalene", "rectangle", "hybrid", "diamond", "parallelogram"; NULL:
                           "auto" */
    const char *sizes;  /* of tiles, outermost dimension first: "16,64,256"; NULL: by a model */
    const char *target; /* "openmp"; "cuda": loops become calls of functions in a CUDA file; "llvm": of functions that
                           Kiln compiles; NULL: "openmp" */
    const char *fuse;   /* which stages of a pipeline share tiles: "greedy", "cost" or "all"; NULL: "greedy" */
    const char *stream; /* arrays that the loops only write, stored past the caches: "large", "all" or "none"; NULL:
                           "large", those known to have 32 MiB or more */
    const char *temporary;       /* arrays whose values are not read behind the loops: "A,B"; NULL: as `#pragma kiln
                                    temporary(A, B)` in the region says */
    int                threads;  /* to plan for; 0: as kn_options has it */
    const char        *compiler; /* whose preprocessor is used; NULL: CC of the environment, or cc */
    const char *const *flags;    /* for it: "-Iinclude", "-DN=100" */
    int                flag_count;
    bool               explain; /* say what was done and why */
    const char       **picture; /* out: SVG of the first tiled loops, a tile and its neighbours; NULL: none is drawn */
    const char       **kernels; /* out, for "cuda": the text of the CUDA file; it stays as long as the result */
    const void       **archive; /* out, for "llvm": a static library of these functions and Kiln's runtime; likewise */
    size_t            *archive_size; /* of it, in bytes */
} kn_tile_options;

/* Tiles the loops of a C file that stand between `#pragma scop` and `#pragma endscop`: gives the file with code in
 * their place, for which it was proved that every value is computed from the values that the loops compute it from. All
 * else in it stays as it was. What is not understood is refused, with its place. `name` is the file's path: includes
 * are looked for beside it. *explained (may be NULL) is a text if options ask for it. Both strings stay until the next
 * call on the context. */
KN_API const char *kn_tile(kn_context *cx, const char *name, const char *text, ptrdiff_t length,
                           const kn_tile_options *options, const char **explained);

/* ---- Calling C -------------------------------------------------------------------------- */

/* The C function behind `extern f32 curve(f32)`: plain C with that signature. Looked up when a pipeline runs; a name
 * given again has the newer function. */
KN_API kn_status kn_extern_function(kn_context *cx, const char *name, void (*function)(void));

/* The C function behind `extern stage warp(f, k) : f32(x, y)`: a kn_stage. */
KN_API kn_status kn_extern_stage(kn_context *cx, const char *name, kn_stage *stage, void *user);

/* ---- Image files ------------------------------------------------------------------------ */

/* An image format: its name, and its endings, ".tif .tiff". The name is NULL past the last. */
typedef struct kn_image_format {
    const char *name, *endings;
} kn_image_format;

KN_API kn_image_format kn_image_format_get(int index);

/* Reads a file of any of these formats, PNG, JPEG, TIFF, PGM, PPM, PNM, PFM and NPY, told by its content, into a buffer
 * that kn_buffer_free frees. The pixels come as the file has them, with two exceptions that a warning tells of: a
 * picture that says that it is shown turned or mirrored (the orientation of EXIF and TIFF) is, and a PGM or PPM whose
 * values go up to another number than 255 or 65535 is scaled to that. A pipe is read once. */
KN_API kn_status kn_image_load(kn_context *cx, const char *path, kn_buffer *b);
/* Writes an image; the ending of `path` says the format. The file appears whole or not at all, keeps the mode of the
 * one it replaces, and is the one that a symbolic link points to. Refuses what the format cannot hold as it is. */
KN_API kn_status kn_image_save(kn_context *cx, const char *path, const kn_buffer *b);
/* Whether a buffer of this type and shape can be written there by kn_image_convert_for and kn_image_save; its data is
 * not looked at. *as_is (may be NULL) says whether kn_image_save alone will do. */
KN_API kn_status kn_image_check(kn_context *cx, const char *path, const kn_buffer *b, bool *as_is);

/* What a file tells of its image beside the pixels. */
typedef struct kn_image_info {
    const char *format;        /* "PNG" */
    bool        picture;       /* a picture; else an array of numbers */
    bool        alpha;         /* the last channel is opacity … */
    bool        premultiplied; /* … by which the others have been multiplied */
} kn_image_info;

/* The same as kn_image_load; says also what was read. */
KN_API kn_status kn_image_load_info(kn_context *cx, const char *path, kn_buffer *b, kn_image_info *info);

/* Takes the last channel off a picture of rank 3, opacity. With `apply` the others are multiplied by it first, which
 * shows the picture on black. In place. */
KN_API kn_status kn_image_drop_alpha(kn_context *cx, kn_buffer *b, bool apply);

/* Whose conversions kn_image_convert is for. */
typedef enum kn_image_range {
    KN_RANGE_FULL, /* a picture: 0..255, 0..65535 and 0.0..1.0 are the same range; out of range is clamped */
    KN_RANGE_VALUE /* numbers: converted only where every value of the type can be held */
} kn_image_range;

/* Converts `from` to type `type` and rank `rank` (3 planes to 1 by luma where rank 2 is asked for of a colour picture)
 * into a new buffer `to`. *note says in words what was changed, or is NULL if nothing was. */
KN_API kn_status kn_image_convert(kn_context *cx, const kn_buffer *from, kn_image_range range, kn_type type, int rank,
                                  kn_buffer *to, const char **note);
/* Converts `from`, as a picture, into a new buffer `to` that the format of `path` can hold: its type, and its channels
 * (an alpha channel is dropped, colour made gray, gray repeated as colour). *note as above. */
KN_API kn_status kn_image_convert_for(kn_context *cx, const char *path, const kn_buffer *from, kn_buffer *to,
                                      const char **note);

/* How two buffers of one shape differ. Where both are NaN they are equal. */
typedef struct kn_difference {
    double  max, mean;          /* of |a - b| over all elements */
    int32_t where[KN_MAX_RANK]; /* the coordinates of the largest, counted from a's mins */
    int64_t beyond, count;      /* elements with |a - b| > abs + rel*|b|, and all elements */
} kn_difference;

KN_API kn_status kn_compare(kn_context *cx, const kn_buffer *a, const kn_buffer *b, double abs, double rel,
                            kn_difference *d);

/* What the values of a buffer range over. */
typedef struct kn_summary {
    int64_t   count, nans; /* numbers, and values that are not a number, which the rest leaves out */
    kn_scalar min, max;    /* in the buffer's type (of u64: the bits); 0 if there are no numbers */
    double    mean;
} kn_summary;

KN_API kn_status kn_summarize(kn_context *cx, const kn_buffer *b, kn_summary *summary);

/* ---- Pipelines from calls --------------------------------------------------------------- */

/* The same pipelines without text, for programs that generate them. Expressions and functions belong to the pipeline
 * under construction; a NULL among the arguments gives NULL, so errors may be looked for once, at kn_pipeline_finish,
 * which makes the same checks as kn_parse and leaves a pipeline like any other. */
typedef struct kn_expr kn_expr;
typedef struct kn_func kn_func;

KN_API kn_pipeline *kn_pipeline_new(kn_context *cx, const char *name);
KN_API kn_status    kn_pipeline_finish(kn_pipeline *p);

KN_API kn_func  *kn_input(kn_pipeline *p, const char *name, kn_type type, int rank, const char *const *dims);
KN_API kn_expr  *kn_param(kn_pipeline *p, const char *name, kn_type type, kn_scalar value);
KN_API kn_status kn_output(kn_func *f);

/* A function with its pure definition: f(args) = value. Several values make a tuple. */
KN_API kn_func *kn_define_func(kn_pipeline *p, const char *name, int rank, const char *const *args, int count,
                               kn_expr *const *values);

/* A reduction variable of an update: name in from..to. */
typedef struct kn_range {
    const char *name;
    kn_expr    *from, *to;
} kn_range;

/* f(args) = value for ranges where condition; `where` may be NULL. */
KN_API kn_status kn_update(kn_func *f, kn_expr *const *args, int count, kn_expr *const *values, int range_count,
                           const kn_range *ranges, kn_expr *where);

KN_API kn_expr *kn_var(kn_pipeline *p, const char *name);
KN_API kn_expr *kn_const(kn_pipeline *p, kn_scalar value); /* a weak literal */
KN_API kn_expr *kn_call(kn_func *f, int count, kn_expr *const *args);
KN_API kn_expr *kn_component(kn_expr *tuple, int index); /* tuple.index */
KN_API kn_expr *kn_extent(kn_func *input, int dim);      /* in.x.extent */
KN_API kn_expr *kn_cast(kn_type type, kn_expr *e);
KN_API kn_expr *kn_if(kn_expr *condition, kn_expr *yes, kn_expr *no);
/* Any function of the language by its name: kn_apply(p, "clamp", 3, …), kn_apply(p, "exp", 1, …). */
KN_API kn_expr *kn_apply(kn_pipeline *p, const char *name, int count, kn_expr *const *args);
/* A boundary ("edge", "mirror", "mirror_interior", "wrap") around an input. */
KN_API kn_func *kn_boundary(kn_func *input, const char *kind);

KN_API kn_expr *kn_add(kn_expr *a, kn_expr *b);
KN_API kn_expr *kn_sub(kn_expr *a, kn_expr *b);
KN_API kn_expr *kn_mul(kn_expr *a, kn_expr *b);
KN_API kn_expr *kn_div(kn_expr *a, kn_expr *b);
KN_API kn_expr *kn_mod(kn_expr *a, kn_expr *b);
/* Any binary operator by its spelling: kn_binary("<<", a, b), kn_binary("==", a, b). */
KN_API kn_expr *kn_binary(const char *operator_, kn_expr *a, kn_expr *b);
/* "-", "!" or "~". */
KN_API kn_expr *kn_unary(const char *operator_, kn_expr *a);

#ifdef __cplusplus
}
#endif
#endif
