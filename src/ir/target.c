/* SPDX-License-Identifier: MIT */
/* Targets, architectures and features, as tables. A target is a row, and so is a feature. */
#include "ir/target.h"

#include <stddef.h>
#include <string.h>

#if defined __x86_64__
#define HOST_ARCH ARCH_X86_64
#elif defined __aarch64__
#define HOST_ARCH ARCH_AARCH64
#else
#define HOST_ARCH ARCH_OTHER
#endif
enum { HOST_WORD_BITS = 8 * (int)sizeof(void *) };

const ArchFacts arch_table[ARCH_COUNT] = {
    [ARCH_X86_64]  = { "x86-64", "x86-64,x86-64-avx2,x86-64-avx512" },
    [ARCH_AARCH64] = { "aarch64", "aarch64-linux" },
    [ARCH_NVPTX]   = { "nvptx", "cuda" }, /* of devices: no program is built for it alone */
    [ARCH_OTHER]   = { "host", "host" },
};

/* The names are those of LLVM, and of the compilers that follow it. */
static const struct {
    const char *name;
    Arch        arch;
} feature_table[FEATURE_COUNT] = {
    [FEATURE_SSE2] = { "sse2", ARCH_X86_64 },         [FEATURE_SSE3] = { "sse3", ARCH_X86_64 },
    [FEATURE_SSSE3] = { "ssse3", ARCH_X86_64 },       [FEATURE_CX16] = { "cx16", ARCH_X86_64 },
    [FEATURE_SSE4_1] = { "sse4.1", ARCH_X86_64 },     [FEATURE_SSE4_2] = { "sse4.2", ARCH_X86_64 },
    [FEATURE_POPCNT] = { "popcnt", ARCH_X86_64 },     [FEATURE_LAHF] = { "sahf", ARCH_X86_64 },
    [FEATURE_FMA] = { "fma", ARCH_X86_64 },           [FEATURE_MOVBE] = { "movbe", ARCH_X86_64 },
    [FEATURE_AVX] = { "avx", ARCH_X86_64 },           [FEATURE_F16C] = { "f16c", ARCH_X86_64 },
    [FEATURE_BMI1] = { "bmi", ARCH_X86_64 },          [FEATURE_AVX2] = { "avx2", ARCH_X86_64 },
    [FEATURE_BMI2] = { "bmi2", ARCH_X86_64 },         [FEATURE_LZCNT] = { "lzcnt", ARCH_X86_64 },
    [FEATURE_AVX512F] = { "avx512f", ARCH_X86_64 },   [FEATURE_AVX512DQ] = { "avx512dq", ARCH_X86_64 },
    [FEATURE_AVX512CD] = { "avx512cd", ARCH_X86_64 }, [FEATURE_AVX512BW] = { "avx512bw", ARCH_X86_64 },
    [FEATURE_AVX512VL] = { "avx512vl", ARCH_X86_64 }, [FEATURE_AVX512VBMI] = { "avx512vbmi", ARCH_X86_64 },
    [FEATURE_SSE4A] = { "sse4a", ARCH_X86_64 },       [FEATURE_NEON] = { "neon", ARCH_AARCH64 },
};

/* The levels of the x86-64 psABI, section 3.1.1. */
#define HAS(feature) ((FeatureSet)1 << FEATURE_##feature)
#define X86_V1       HAS(SSE2)
#define X86_V2       (X86_V1 | HAS(SSE3) | HAS(SSSE3) | HAS(CX16) | HAS(SSE4_1) | HAS(SSE4_2) | HAS(POPCNT) | HAS(LAHF))
#define X86_V3_MORE  (HAS(FMA) | HAS(MOVBE) | HAS(F16C) | HAS(BMI1) | HAS(BMI2) | HAS(LZCNT))
#define X86_V3       (X86_V2 | X86_V3_MORE | HAS(AVX) | HAS(AVX2))
#define X86_V4       (X86_V3 | HAS(AVX512F) | HAS(AVX512DQ) | HAS(AVX512CD) | HAS(AVX512BW) | HAS(AVX512VL))
#define LINUX_X86    "x86_64-unknown-linux-gnu"
#define LINUX_ARM    "aarch64-unknown-linux-gnu"

/* Of one architecture the later rows have the features of those before. */
/* clang-format off */
const Target target_table[] = {
    /* name            kind        device         arch          host   features
     *    vector bits of lowering, of bytes; vector, scalar registers; word bits; passes; or host; LLVM's names */
    { "host",          TARGET_CPU, DEVICE_NONE,   HOST_ARCH,    true,  0,
          256, 128,    16, 16,   HOST_WORD_BITS, PASSES_CPU, false, NULL,      NULL,        NULL },
    { "x86-64",        TARGET_CPU, DEVICE_NONE,   ARCH_X86_64,  false, X86_V1,
          128, 128,    16, 16,   64,             PASSES_CPU, false, LINUX_X86, "x86-64",    "" },
    { "x86-64-avx2",   TARGET_CPU, DEVICE_NONE,   ARCH_X86_64,  false, X86_V3,
          256, 256,    16, 16,   64,             PASSES_CPU, false, LINUX_X86, "x86-64-v3", "" },
    { "x86-64-avx512", TARGET_CPU, DEVICE_NONE,   ARCH_X86_64,  false, X86_V4,
          512, 512,    32, 16,   64,             PASSES_CPU, false, LINUX_X86, "x86-64-v4", "" },
    { "aarch64-linux", TARGET_CPU, DEVICE_NONE,   ARCH_AARCH64, false, HAS(NEON),
          128, 128,    32, 31,   64,             PASSES_CPU, false, LINUX_ARM, "generic",   "+neon" },
    { "cuda",          TARGET_GPU, DEVICE_CUDA,   HOST_ARCH,    true,  0,
          256, 128,    16, 16,   HOST_WORD_BITS, PASSES_GPU, false, NULL,      NULL,        NULL },
    { "opencl",        TARGET_GPU, DEVICE_OPENCL, HOST_ARCH,    true,  0,
          256, 128,    16, 16,   HOST_WORD_BITS, PASSES_GPU, false, NULL,      NULL,        NULL },
    { "host-cuda",     TARGET_GPU, DEVICE_CUDA,   HOST_ARCH,    true,  0,
          256, 128,    16, 16,   HOST_WORD_BITS, PASSES_GPU, true,  NULL,      NULL,        NULL },
    { "host-opencl",   TARGET_GPU, DEVICE_OPENCL, HOST_ARCH,    true,  0,
          256, 128,    16, 16,   HOST_WORD_BITS, PASSES_GPU, true,  NULL,      NULL,        NULL },
};
/* clang-format on */
const int target_count = sizeof target_table / sizeof *target_table;

const Target *target_find(const char *name)
{
    for (int i = 0; i < target_count; i++)
        if (!name || !strcmp(target_table[i].name, name))
            return &target_table[i];
    return NULL;
}

const Target *target_of_device(DeviceKind device)
{
    int i = 0;
    while (i < target_count && (target_table[i].device != device || target_table[i].or_host))
        i++;
    return i < target_count ? &target_table[i] : NULL;
}

Target target_complete(const Target *t, FeatureSet found)
{
    Target complete = *t;
    if (!t->is_host)
        return complete;
    complete.features = found;
    for (int i = 0; i < target_count; i++) {
        const Target *level = &target_table[i];
        if (level->is_host || level->arch != t->arch || (level->features & ~found))
            continue;
        complete.byte_vector_bits = level->byte_vector_bits;
        complete.vector_registers = level->vector_registers;
        complete.scalar_registers = level->scalar_registers;
    }
    return complete;
}

Target target_ahead(const Target *t)
{
    int i = 0;
    while (i < target_count && (target_table[i].is_host || target_table[i].arch != t->arch))
        i++;
    if (t->kind != TARGET_GPU || i == target_count)
        return *t;
    Target any = target_table[i];
    any.name   = t->name;
    any.kind   = t->kind;
    any.device = t->device;
    any.passes = t->passes;
    return any;
}

/* Is `name` the first n characters of a text? */
static bool is_word(const char *name, const char *text, size_t n)
{
    return strlen(name) == n && !memcmp(name, text, n);
}

FeatureSet features_parse(Arch arch, const char *list)
{
    FeatureSet found = 0;
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        for (int i = 0; *at == '+' && i < FEATURE_COUNT; i++)
            if (feature_table[i].arch == arch && is_word(feature_table[i].name, at + 1, strcspn(at + 1, ",")))
                found |= (FeatureSet)1 << i;
    return found;
}
