/* SPDX-License-Identifier: MIT */
/* cuDNN as a peer for conv_layer, in f32 without tensor cores; loaded if it is there. Bias and the larger of it and 0
 * are part of its call. The weights are given in its own order, which they are brought to before anything is measured;
 * of its algorithms the one is taken that it finds to be fastest. */
#include "cuda.h"
#include "program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { TENSOR_NHWC = 1, DATA_FLOAT = 0, CROSS_CORRELATION = 1, FMA_MATH = 3, ACTIVATION_RELU = 1, ALGORITHMS = 8 };

/* As the library lays it out. */
typedef struct Found {
    int    algorithm, status;
    float  time;
    size_t memory;
    int    determinism, math, reserved[3];
} Found;

static struct {
    int (*create)(void **handle);
    const char *(*error_text)(int status);
    int (*tensor_create)(void **tensor);
    int (*tensor_set)(void *tensor, int format, int type, int n, int c, int h, int w);
    int (*filter_create)(void **filter);
    int (*filter_set)(void *filter, int type, int format, int k, int c, int h, int w);
    int (*convolution_create)(void **convolution);
    int (*convolution_set)(void *convolution, int pad_h, int pad_w, int step_h, int step_w, int dilation_h,
                           int dilation_w, int mode, int type);
    int (*convolution_math)(void *convolution, int math);
    int (*activation_create)(void **activation);
    int (*activation_set)(void *activation, int mode, int nans, double limit);
    int (*find)(void *handle, void *x, void *w, void *convolution, void *y, int wanted, int *found, Found *all);
    int (*run)(void *handle, const float *alpha, void *x_tensor, const void *x, void *filter, const void *w,
               void *convolution, int algorithm, void *space, size_t space_bytes, const float *beta, void *z_tensor,
               const void *z, void *bias_tensor, const void *bias, void *activation, void *y_tensor, void *y);
} library;

static const struct {
    const char *name;
    void       *at;
} functions[] = {
    { "cudnnCreate", &library.create },
    { "cudnnGetErrorString", &library.error_text },
    { "cudnnCreateTensorDescriptor", &library.tensor_create },
    { "cudnnSetTensor4dDescriptor", &library.tensor_set },
    { "cudnnCreateFilterDescriptor", &library.filter_create },
    { "cudnnSetFilter4dDescriptor", &library.filter_set },
    { "cudnnCreateConvolutionDescriptor", &library.convolution_create },
    { "cudnnSetConvolution2dDescriptor", &library.convolution_set },
    { "cudnnSetConvolutionMathType", &library.convolution_math },
    { "cudnnCreateActivationDescriptor", &library.activation_create },
    { "cudnnSetActivationDescriptor", &library.activation_set },
    { "cudnnFindConvolutionForwardAlgorithm", &library.find },
    { "cudnnConvolutionBiasActivationForward", &library.run },
};

static void *handle;
static int   status;

typedef struct Prepared {
    void    *x, *w, *y, *bias, *convolution, *activation;
    uint64_t weights, space;
    size_t   space_bytes;
    int      algorithm;
    uint64_t in, out, added;
} Prepared;

static bool went_well(int result)
{
    status = result;
    return result == 0;
}

static bool open_peer(void *context)
{
    (void)context;
    return went_well(library.create(&handle));
}

/* filter(c, dx, dy, ci) with c fastest, as (ci, dx, dy, c). */
static uint64_t ordered_weights(const DeviceArray *filter)
{
    const int    CO = filter->size[0], W = filter->size[1], H = filter->size[2], CI = filter->size[3];
    const float *from = filter->host;
    float       *to   = malloc(array_bytes(filter));
    if (!to)
        fail("no memory for the weights");
    for (int ci = 0; ci < CI; ci++)
        for (int at = 0; at < W * H; at++)
            for (int c = 0; c < CO; c++)
                to[((size_t)c * (size_t)(W * H) + (size_t)at) * (size_t)CI + (size_t)ci] =
                    from[((size_t)ci * (size_t)(W * H) + (size_t)at) * (size_t)CO + (size_t)c];
    const uint64_t weights = cuda_alloc(array_bytes(filter));
    cuda_upload(weights, to, array_bytes(filter));
    free(to);
    return weights;
}

static bool describe(Prepared *p, const DeviceArray *in, const DeviceArray *filter, const DeviceArray *out)
{
    return went_well(library.tensor_create(&p->x)) && went_well(library.tensor_create(&p->y)) &&
           went_well(library.tensor_create(&p->bias)) && went_well(library.filter_create(&p->w)) &&
           went_well(library.convolution_create(&p->convolution)) &&
           went_well(library.activation_create(&p->activation)) &&
           went_well(
               library.tensor_set(p->x, TENSOR_NHWC, DATA_FLOAT, in->size[3], in->size[0], in->size[2], in->size[1])) &&
           went_well(library.tensor_set(p->y, TENSOR_NHWC, DATA_FLOAT, out->size[3], out->size[0], out->size[2],
                                        out->size[1])) &&
           went_well(library.tensor_set(p->bias, TENSOR_NHWC, DATA_FLOAT, 1, out->size[0], 1, 1)) &&
           went_well(library.filter_set(p->w, DATA_FLOAT, TENSOR_NHWC, filter->size[0], filter->size[3],
                                        filter->size[2], filter->size[1])) &&
           went_well(library.convolution_set(p->convolution, 0, 0, 1, 1, 1, 1, CROSS_CORRELATION, DATA_FLOAT)) &&
           went_well(library.convolution_math(p->convolution, FMA_MATH)) &&
           went_well(library.activation_set(p->activation, ACTIVATION_RELU, 0, 0));
}

static void release(void *prepared)
{
    Prepared *p = prepared;
    if (p->weights)
        cuda_free(p->weights);
    if (p->space)
        cuda_free(p->space);
    free(p);
}

static void *prepare(const DeviceEntry *entry, DeviceArg *args, int count)
{
    (void)entry, (void)count;
    const DeviceArray *in = args[0].array, *filter = args[1].array, *bias = args[2].array, *out = args[3].array;
    Prepared          *p = calloc(1, sizeof *p);
    Found              found[ALGORITHMS];
    int                many = 0, best = -1;
    if (!p)
        abort();
    if (describe(p, in, filter, out) &&
        went_well(library.find(handle, p->x, p->w, p->convolution, p->y, ALGORITHMS, &many, found)))
        for (int k = many - 1; k >= 0; k--) /* the fastest comes first */
            best = found[k].status == 0 && found[k].math == FMA_MATH ? k : best;
    if (best < 0) {
        release(p);
        return NULL;
    }
    p->algorithm   = found[best].algorithm;
    p->space_bytes = found[best].memory;
    p->space       = cuda_alloc(p->space_bytes + 1);
    p->weights     = ordered_weights(filter);
    p->in          = in->device;
    p->out         = out->device;
    p->added       = bias->device;
    return p;
}

static bool call(void *prepared)
{
    Prepared   *p   = prepared;
    const float one = 1, zero = 0;
    return went_well(library.run(
        handle, &one, p->x, (const void *)(uintptr_t)p->in, p->w, (const void *)(uintptr_t)p->weights, p->convolution,
        p->algorithm, (void *)(uintptr_t)p->space, p->space_bytes, &zero, p->y, (const void *)(uintptr_t)p->out,
        p->bias, (const void *)(uintptr_t)p->added, p->activation, p->y, (void *)(uintptr_t)p->out));
}

static bool wait(void)
{
    return true;
}

static void forget(void) {}

static const char *error(void)
{
    return status ? library.error_text(status) : "no algorithm in f32";
}

static const DeviceEntry entries[] = { { "conv_layer", NULL, "in:b filter:b bias:b out:b" }, { NULL, NULL, NULL } };
static const DevicePeer  peer      = { "cudnn", entries, open_peer, prepare, call, wait, release, forget, error, NULL };

const DevicePeer *dnn_peer(void)
{
    static const char *const names[] = { "libcudnn.so.9", "libcudnn.so.8", "libcudnn.so" };
    void                    *so      = NULL;
    for (size_t k = 0; k < sizeof names / sizeof *names && !so; k++)
        so = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
    if (!so)
        return NULL;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        void *symbol = dlsym(so, functions[k].name);
        if (!symbol)
            return NULL;
        *(void **)functions[k].at = symbol;
    }
    return &peer;
}
