/* SPDX-License-Identifier: MIT */
/* Filling buffers without an image: from a formula, and with noise.
 *
 * A formula is a pipeline of one function without inputs, so kn_fill has the semantics of the language. Noise is a hash
 * of a counter: any element can be computed alone, and does not depend on strides and mins. */
#include "api/arguments.h"
#include "image/buffer.h"
#include "interp/interp.h"
#include "lang/lang.h"

#include <math.h>

typedef struct Fill {
    kn_context        *cx;
    kn_buffer         *b;
    const char *const *dims;
    const char        *formula;
    kn_pipeline       *p; /* made on the way */
} Fill;

static bool dims_given(const Fill *call)
{
    for (int d = 0; d < call->b->rank; d++)
        if (!call->dims || !call->dims[d]) {
            diag_status(call->cx, KN_ERROR_ARGUMENT,
                        "dimension %d of the buffer has no name: give %d names, for the formula to use", d,
                        (int)call->b->rank);
            return false;
        }
    return true;
}

/* Runs the pipeline whose only output is the formula over the buffer. */
static void run_formula(Fill *call)
{
    kn_context   *cx      = call->cx;
    kn_pipeline  *p       = call->p;
    Box           box     = box_of_buffer(call->b);
    const RunArgs binding = { .input = ARENA_ARRAY(&cx->call, Box, p->funcs.count), .output = &box };
    kn_buffer   **inputs  = ARENA_ARRAY(&cx->call, kn_buffer *, p->funcs.count);
    Regions       regions;
    if (regions_compute(p, &cx->call, &binding, false, &regions)) {
        const kn_status status = interpret(p, &binding, &regions, inputs, &call->b);
        cx->status             = cx->status ? cx->status : status;
    }
}

static void fill(void *arg)
{
    Fill *call = arg;
    if (buffer_check(call->cx, call->b, "the buffer", true) || !dims_given(call))
        return;
    call->p = pipeline_new(call->cx, "formula");
    if (call->p && lang_formula(call->p, call->formula, call->b->rank, call->dims, call->b->type))
        run_formula(call);
}

kn_status kn_fill(kn_context *cx, kn_buffer *b, const char *const *dims, const char *formula)
{
    if (!cx || !b || !formula)
        return KN_ERROR_ARGUMENT;
    Fill call = { cx, b, dims, formula, NULL };
    context_begin(cx);
    context_call(cx, fill, &call);
    if (call.p)
        pipeline_free(call.p, true);
    return cx->status;
}

/* Turns a counter into 64 bits that look random: xor-shifts and odd multiplications, each a bijection (the finalizer of
 * splitmix64; Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Element number `index`, counted with x fastest: h = mix(mix(seed) + (index + 1) * 2^64/phi). An integer takes the top
 * bits of h; a float the top bits its mantissa has room for, as a fraction: every multiple of 2^-mantissa in [0, 1). */
static void store_noise(kn_type type, void *at, uint64_t seed, uint64_t index)
{
    const uint64_t h = mix(mix(seed) + (index + 1) * 0x9E3779B97F4A7C15u);
    if (type_is_float(type)) {
        const int bits = type_table[type].mantissa;
        type_store_float(type, at, ldexp((double)(h >> (64 - bits)), -bits));
    } else {
        type_store_int(type, at, type_wrap(type, (int64_t)(h >> (64 - type_bits(type)))));
    }
}

typedef struct Noise {
    kn_context *cx;
    kn_buffer  *b;
    uint64_t    seed;
} Noise;

static void noise(void *arg)
{
    const Noise *call  = arg;
    uint64_t     index = 0;
    if (buffer_check(call->cx, call->b, "the buffer", true))
        return;
    for (BufferWalk w = walk_begin(call->b); w.more; walk_next(&w))
        store_noise(call->b->type, w.at, call->seed, index++);
}

kn_status kn_fill_noise(kn_context *cx, kn_buffer *b, uint64_t seed)
{
    if (!cx || !b)
        return KN_ERROR_ARGUMENT;
    Noise call = { cx, b, seed };
    context_begin(cx);
    context_try(cx, noise, &call);
    return cx->status;
}
