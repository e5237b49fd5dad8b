/* SPDX-License-Identifier: MIT */
/* Kernels of lowered programs on an OpenCL device: the evaluator of lowered.h executes the host's part, and starts each
 * kernel there. OpenCL is loaded, and declared here as far as it is used. */
#ifndef KILN_TESTS_OPENCL_H
#define KILN_TESTS_OPENCL_H

#include "lowered.h"
#include "opencl_leaks.h"

#include "ir/kernel.h"

#include <stdint.h>

enum { CL_ALL_DEVICES = -1, CL_SINGLE_CONFIG = 0x101B, CL_BUILD_LOG = 0x1183, CL_COPY_HOST = 1 << 5 };
enum { CL_EXACT_DIVIDE = 1 << 7 }; /* in CL_SINGLE_CONFIG */
enum { FIRST = 3 };                /* elements before the first of a buffer, which no kernel may touch */

static struct OpenCL {
    void *context, *device, *queue;
    char  cache[64];
    bool  exact_divide;
    int (*get_platforms)(unsigned, void **, unsigned *);
    int (*get_devices)(void *, uint64_t, unsigned, void **, unsigned *);
    int (*get_device_info)(void *, unsigned, size_t, void *, size_t *);
    void *(*create_context)(const void *, unsigned, void **, void *, void *, int *);
    void *(*create_queue)(void *, void *, uint64_t, int *);
    void *(*create_program)(void *, unsigned, const char **, const size_t *, int *);
    int (*build)(void *, unsigned, void *const *, const char *, void *, void *);
    int (*get_build_info)(void *, void *, unsigned, size_t, void *, size_t *);
    void *(*create_kernel)(void *, const char *, int *);
    int (*set_argument)(void *, unsigned, size_t, const void *);
    void *(*create_buffer)(void *, uint64_t, size_t, void *, int *);
    int (*enqueue)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *, void *);
    int (*read)(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *);
    int (*release_buffer)(void *);
    int (*release_kernel)(void *);
    int (*release_program)(void *);
    int (*release_queue)(void *);
    int (*release_context)(void *);
} cl;

/* clang-format off */
static const struct { const char *name; void *at; } cl_functions[] = {
    { "clGetPlatformIDs", &cl.get_platforms },          { "clGetDeviceIDs", &cl.get_devices },
    { "clGetDeviceInfo", &cl.get_device_info },         { "clCreateContext", &cl.create_context },
    { "clCreateCommandQueue", &cl.create_queue },       { "clCreateProgramWithSource", &cl.create_program },
    { "clBuildProgram", &cl.build },                    { "clGetProgramBuildInfo", &cl.get_build_info },
    { "clCreateKernel", &cl.create_kernel },            { "clSetKernelArg", &cl.set_argument },
    { "clCreateBuffer", &cl.create_buffer },            { "clEnqueueNDRangeKernel", &cl.enqueue },
    { "clEnqueueReadBuffer", &cl.read },                { "clReleaseMemObject", &cl.release_buffer },
    { "clReleaseKernel", &cl.release_kernel },          { "clReleaseProgram", &cl.release_program },
    { "clReleaseCommandQueue", &cl.release_queue },     { "clReleaseContext", &cl.release_context },
};
/* clang-format on */

/* That there is no device is said, and no failure. */
static inline void opencl_open(void)
{
    void    *library  = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    void    *platform = NULL;
    uint64_t config   = 0;
    int      status   = 0;
    for (size_t i = 0; library && i < sizeof cl_functions / sizeof *cl_functions; i++) {
        void *f = dlsym(library, cl_functions[i].name);
        memcpy(cl_functions[i].at, &f, sizeof f);
    }
    /* PoCL keeps what it compiled: here in a folder of this run. */
    snprintf(cl.cache, sizeof cl.cache, "/tmp/kiln-opencl-XXXXXX");
    if (library && mkdtemp(cl.cache))
        setenv("POCL_CACHE_DIR", cl.cache, 1);
    if (!library || cl.get_platforms(1, &platform, NULL) ||
        cl.get_devices(platform, 0xFFFFFFFFu, 1, &cl.device, NULL)) {
        puts("skipped: there is no OpenCL device");
        return;
    }
    cl.get_device_info(cl.device, CL_SINGLE_CONFIG, sizeof config, &config, NULL);
    cl.exact_divide = config & CL_EXACT_DIVIDE;
    cl.context      = cl.create_context(NULL, 1, &cl.device, NULL, NULL, &status);
    cl.queue        = cl.context ? cl.create_queue(cl.context, cl.device, 0, &status) : NULL;
    CHECK(cl.queue, "no queue: %d", status);
}

static inline void opencl_close(void)
{
    char command[128];
    if (cl.queue) {
        cl.release_queue(cl.queue);
        cl.release_context(cl.context);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", cl.cache);
    if (strchr(cl.cache, '/') && system(command))
        puts("the folder of this run could not be removed");
}

/* ---- Programs ---- */

/* The text of the kernels; NULL after a failed check. Freed by the caller. */
static inline char *opencl_text(const Program *p, const char *what)
{
    Emitted    text = { 0 }, error = { 0 };
    const bool done = c_codegen()->emit(p, &(CodegenOptions){ 0 }, EMIT_OPENCL, &text, &error);
    CHECK(done, "%s: %s", what, error.bytes ? error.bytes : "no text");
    c_codegen()->release(&error);
    return done ? text.bytes : NULL;
}

/* Built for the device; NULL after a failed check. A warning is a failure, too. */
static inline void *opencl_build(const char *text, const char *what)
{
    int         status;
    char        options[160], log[4000] = "";
    void *const program = cl.create_program(cl.context, 1, &text, NULL, &status);
    snprintf(options, sizeof options, "-cl-std=CL1.2%s",
             cl.exact_divide ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
    status = cl.build(program, 1, &cl.device, options, NULL, NULL);
    cl.get_build_info(program, cl.device, CL_BUILD_LOG, sizeof log - 1, log, NULL);
    CHECK(!status && !strstr(log, "warning:"), "%s: %d\n%s\n%s", what, status, log, text);
    if (!status)
        return program;
    cl.release_program(program);
    return NULL;
}

/* ---- Launches ---- */

static inline size_t opencl_bytes(const Evaluator *ev, const Buffer *b)
{
    return (size_t)(ev->l->count[b->id] + 2 * FIRST) * kn_type_size(b->type);
}

/* The buffer's values on the device, with a margin on both sides. */
static inline void *opencl_copy(Evaluator *ev, const Buffer *b)
{
    const size_t size = kn_type_size(b->type), bytes = opencl_bytes(ev, b);
    char        *all = malloc(bytes);
    int          status;
    memset(all, 0x5A, bytes);
    memcpy(all + FIRST * size, ev->l->expected[b->id], bytes - 2 * FIRST * size);
    void *memory = cl.create_buffer(cl.context, CL_COPY_HOST, bytes, all, &status);
    CHECK(memory, "no buffer of %zu bytes: %d", bytes, status);
    free(all);
    return memory;
}

/* And back, where it was written. The margins must be as they were. */
static inline void opencl_back(Evaluator *ev, const KernelBuffer *k, void *memory)
{
    const Buffer *b    = k->buffer;
    const size_t  size = kn_type_size(b->type), bytes = opencl_bytes(ev, b), inside = bytes - 2 * FIRST * size;
    char         *all = malloc(bytes);
    CHECK(!cl.read(cl.queue, memory, 1, 0, bytes, all, 0, NULL, NULL), "%s cannot be read", b->name);
    bool intact = true;
    for (size_t i = 0; i < FIRST * size; i++)
        intact &= all[i] == 0x5A && all[bytes - 1 - i] == 0x5A;
    CHECK(intact, "%s: what lies around it was written", b->name);
    CHECK(k->writes || !memcmp(all + FIRST * size, ev->l->expected[b->id], inside), "%s was changed", b->name);
    memcpy(ev->l->expected[b->id], all + FIRST * size, inside);
    free(all);
    cl.release_buffer(memory);
}

/* Starts the kernel with what the evaluator knows, and waits for it. */
static inline void opencl_launch(Evaluator *ev, const Stmt *s)
{
    const Kernel *k         = program_kernel(&ev->l->p, s);
    const size_t  threads[] = { (size_t)s->kernel.threads_x, (size_t)s->kernel.threads_y, (size_t)s->kernel.threads_z };
    size_t        all[3];
    void         *memory[MOST_BUFFERS];
    int           status;
    unsigned      argument = 0;
    void         *kernel   = cl.create_kernel(ev->program, k->name, &status);
    CHECK(kernel, "the kernel %s is not there: %d", s->kernel.name, status);
    for (int axis = 0; axis < GPU_AXES; axis++)
        all[axis] = threads[axis] * (k->grid[axis] ? (size_t)evaluate(ev, k->grid[axis]->loop.extent).i : 1);
    if (!kernel || !all[0] || !all[1] || !all[2])
        return;
    for (size_t i = 0; i < k->buffers.count; i++) {
        const int64_t first = FIRST;
        memory[i]           = opencl_copy(ev, k->buffers.at[i].buffer);
        status |= cl.set_argument(kernel, argument++, sizeof memory[i], &memory[i]);
        status |= cl.set_argument(kernel, argument++, sizeof first, &first);
    }
    for (size_t i = 0; i < k->values.count; i++) {
        char          bytes[8];
        const kn_type type = k->values.at[i]->type;
        lane_store(type, bytes, evaluate(ev, k->values.at[i]));
        status |= cl.set_argument(kernel, argument++, kn_type_size(type), bytes);
    }
    CHECK(!status, "an argument of %s is not taken", s->kernel.name);
    status = cl.enqueue(cl.queue, kernel, GPU_AXES, NULL, all, threads, 0, NULL, NULL);
    CHECK(!status, "%s does not start: %d", s->kernel.name, status);
    for (size_t i = 0; i < k->buffers.count; i++)
        opencl_back(ev, &k->buffers.at[i], memory[i]);
    cl.release_kernel(kernel);
}

/* ---- Comparing ---- */

/* A kernel of `blocks` blocks with `threads` threads, whose loops are xo and x. */
static inline const Stmt *opencl_kernel(Lowered *l, const char *name, int threads, int blocks, const Stmt *body)
{
    Stmt *s             = ARENA_NEW(&l->arena, Stmt);
    s->kind             = STMT_KERNEL;
    s->kernel.name      = intern(l->cx, name);
    s->kernel.threads_x = threads;
    s->kernel.threads_y = s->kernel.threads_z = 1;
    s->kernel.body = st_for(l, LOOP_BLOCK, "xo", 0, blocks, st_for(l, LOOP_THREAD, "x", 0, threads, body));
    return s;
}

/* The device must give what the evaluator gives; without one there is a text to be had. The kernels must have been
 * found. */
static inline void opencl_compare(Lowered *l, const char *what)
{
    char      *before[MOST_BUFFERS];
    char      *text    = opencl_text(&l->p, what);
    void      *program = text && cl.queue ? opencl_build(text, what) : NULL;
    Evaluator  plain = { .l = l }, device = { .l = l, .program = program, .launch = opencl_launch };
    const bool built = program != NULL;
    for (int i = 0; built && i < l->p.port_count; i++) {
        const size_t bytes = (size_t)l->count[i] * kn_type_size(l->p.buffers.at[i]->type);
        before[i]          = malloc(bytes);
        memcpy(before[i], l->expected[i], bytes);
    }
    if (built) {
        execute(&device, l->p.body);
        for (int i = 0; i < l->p.port_count; i++) {
            const size_t bytes = (size_t)l->count[i] * kn_type_size(l->p.buffers.at[i]->type);
            memcpy(l->ports[i].data, l->expected[i], bytes);
            memcpy(l->expected[i], before[i], bytes);
            free(before[i]);
        }
        execute(&plain, l->p.body);
        CHECK(!plain.outside, "%s: the test itself leaves its buffers", what);
        lowered_differences(l, what);
        cl.release_program(program);
    }
    free(text);
}

#endif
