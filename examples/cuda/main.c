/* SPDX-License-Identifier: MIT */
/* A pipeline beside CUDA code of one's own: memory, a context and a stream of CUDA, shared by a kernel of this program
 * and by those of the pipeline. Nothing is copied to the host but the result.
 *
 *     kiln build ../aot/soften.kiln -o soften --target cuda
 *     cc main.c soften.a -lm -lpthread -ldl -o main
 *
 * The kernel is PTX in a string, and the driver is loaded when the program runs: neither nvcc nor cuda.h is needed. In
 * a program with the CUDA runtime the memory is that of cudaMalloc, and `spot` is launched by <<<…>>>. */
#include "soften.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 8, HEIGHT = 3, COUNT = WIDTH * HEIGHT, AT = WIDTH + 3, THREADS = 32 };

/* A picture with one light point: image[i] = i == at ? 180 : 0. */
static const char spot_ptx[] = ".version 6.3\n"
                               ".target sm_70\n"
                               ".address_size 64\n"
                               ".visible .entry spot(.param .u64 image, .param .u32 count, .param .u32 at)\n"
                               "{\n"
                               "    .reg .pred %p, %q;\n"
                               "    .reg .u32 %i, %n, %a, %v, %b, %s;\n"
                               "    .reg .u64 %to, %off;\n"
                               "    mov.u32 %b, %ctaid.x;\n"
                               "    mov.u32 %s, %ntid.x;\n"
                               "    mov.u32 %i, %tid.x;\n"
                               "    mad.lo.u32 %i, %b, %s, %i;\n"
                               "    ld.param.u32 %n, [count];\n"
                               "    setp.ge.u32 %p, %i, %n;\n"
                               "    @%p ret;\n"
                               "    ld.param.u32 %a, [at];\n"
                               "    setp.eq.u32 %q, %i, %a;\n"
                               "    selp.u32 %v, 180, 0, %q;\n"
                               "    ld.param.u64 %to, [image];\n"
                               "    cvta.to.global.u64 %to, %to;\n"
                               "    cvt.u64.u32 %off, %i;\n"
                               "    add.u64 %to, %to, %off;\n"
                               "    st.global.u8 [%to], %v;\n"
                               "    ret;\n"
                               "}\n";

/* The functions of the driver that are used here, as cuda.h declares them. */
typedef unsigned long long DevicePointer;
typedef struct Driver {
    int (*set_context)(void *context);
    int (*load)(void **module, const void *image);
    int (*find)(void **function, void *module, const char *name);
    int (*allocate)(DevicePointer *memory, size_t bytes);
    int (*release)(DevicePointer memory);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared_bytes, void *stream, void **arguments, void **extra);
    int (*to_host)(void *to, DevicePointer from, size_t bytes);
} Driver;

static int find_function(void *library, const char *name, void *function, size_t size)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, size); /* a pointer to a function is as large as one to data, says POSIX */
    return address != NULL;
}

#define FIND(field, name) find_function(library, name, &cu->field, sizeof cu->field)

static int driver_open(Driver *cu)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    return library && FIND(set_context, "cuCtxSetCurrent") && FIND(load, "cuModuleLoadData") &&
           FIND(find, "cuModuleGetFunction") && FIND(allocate, "cuMemAlloc_v2") && FIND(release, "cuMemFree_v2") &&
           FIND(launch, "cuLaunchKernel") && FIND(to_host, "cuMemcpyDtoH_v2");
}

/* The kernel of this program, on the legacy default stream: that of Kiln is ordered with it. */
static int launch_spot(const Driver *cu, DevicePointer image)
{
    void    *module, *spot;
    unsigned count = COUNT, at = AT;
    void    *arguments[3];
    arguments[0] = &image;
    arguments[1] = &count;
    arguments[2] = &at;
    return cu->load(&module, spot_ptx) || cu->find(&spot, module, "spot") ||
           cu->launch(spot, (COUNT + THREADS - 1) / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL);
}

/* soften() on memory of CUDA: each buffer is an address on the device, and has no memory on the host. */
static int soften_there(kn_device *gpu, DevicePointer from, DevicePointer to)
{
    const int32_t size[] = { WIDTH, HEIGHT };
    kn_buffer     in = kn_buffer_dense(NULL, KN_U8, 2, size), out = in;
    const int     failed = kn_buffer_wrap_device(&in, gpu, from) != KN_OK ||
                       kn_buffer_wrap_device(&out, gpu, to) != KN_OK || soften(&in, 0.5f, &out) != KN_OK;
    if (failed)
        fprintf(stderr, "%s\n", kn_rt_last_error());
    kn_buffer_free_device(&in); /* forgets the memory, which is this program's */
    kn_buffer_free_device(&out);
    return failed;
}

int main(void)
{
    Driver        cu;
    DevicePointer picture, softer;
    unsigned char result[COUNT];
    kn_device    *gpu = kn_device_default(KN_DEVICE_CUDA);
    if (!gpu) {
        fprintf(stderr, "%s\n", kn_rt_last_error());
        return 1;
    }
    if (!driver_open(&cu) || cu.set_context(kn_device_context(gpu)) || cu.allocate(&picture, COUNT) ||
        cu.allocate(&softer, COUNT) || launch_spot(&cu, picture)) {
        fprintf(stderr, "a function of the CUDA driver failed\n");
        return 1;
    }
    if (soften_there(gpu, picture, softer) || cu.to_host(result, softer, COUNT))
        return 1;
    for (int i = 0; i < COUNT; i++)
        printf("%4d%s", result[i], i % WIDTH == WIDTH - 1 ? "\n" : "");
    return cu.release(picture) || cu.release(softer);
}
