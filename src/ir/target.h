/* SPDX-License-Identifier: MIT */
/* Targets: what code is made for, as facts. Names are compared where a target is parsed and nowhere else. */
#ifndef KILN_IR_TARGET_H
#define KILN_IR_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef enum TargetKind { TARGET_CPU, TARGET_GPU } TargetKind;

typedef enum Arch { ARCH_X86_64, ARCH_AARCH64, ARCH_NVPTX, ARCH_OTHER, ARCH_COUNT } Arch;

/* Instruction set extensions, of all architectures. A feature is a row of feature_table. */
typedef enum Feature {
    FEATURE_SSE2,
    FEATURE_SSE3,
    FEATURE_SSSE3,
    FEATURE_CX16,
    FEATURE_SSE4_1,
    FEATURE_SSE4_2,
    FEATURE_POPCNT,
    FEATURE_LAHF,
    FEATURE_FMA,
    FEATURE_MOVBE,
    FEATURE_AVX,
    FEATURE_F16C,
    FEATURE_BMI1,
    FEATURE_AVX2,
    FEATURE_BMI2,
    FEATURE_LZCNT,
    FEATURE_SSE4A, /* of AMD's CPUs alone */
    FEATURE_AVX512F,
    FEATURE_AVX512DQ,
    FEATURE_AVX512CD,
    FEATURE_AVX512BW,
    FEATURE_AVX512VL,
    FEATURE_AVX512VBMI,
    FEATURE_NEON,
    FEATURE_COUNT
} Feature;

typedef uint64_t FeatureSet; /* bit 1 << Feature */

/* Which of the lists of passes lowers a program for the target (lower/lower.h). */
typedef enum PassListId { PASSES_CPU, PASSES_GPU, PASS_LIST_COUNT } PassListId;

/* What a device takes kernels as. */
typedef enum DeviceKind { DEVICE_NONE, DEVICE_CUDA, DEVICE_OPENCL, DEVICE_KIND_COUNT } DeviceKind;
/* Beside it, in what compiled code asks the runtime: KN_RT_PREFERS_HOST of runtime/device.h. */
enum { DEVICE_PREFERS_HOST = 256 };

/* A target of kind GPU is a device and the CPU that calls it: kind and device are of the one, all else is of the
 * other. */
typedef struct Target {
    const char *name; /* "host", "x86-64", "x86-64-avx2", "x86-64-avx512", "aarch64-linux", "cuda" … */
    TargetKind  kind;
    DeviceKind  device;
    Arch        arch;
    bool        is_host; /* this machine: target_complete() adds what its CPU has */
    FeatureSet  features;
    int         vector_bits;      /* the width that schedules and lowering have in mind */
    int         byte_vector_bits; /* the widest vectors of bytes and words that it computes with */
    int         vector_registers, scalar_registers;
    int         word_bits; /* of an address */
    PassListId  passes;
    bool        or_host; /* code for the CPU alone is there, too, and runs where there is no such device */
    /* LLVM's words for it; NULL: of the machine that LLVM runs on. */
    const char *llvm_triple, *llvm_cpu, *llvm_features;
} Target;

extern const Target target_table[];
extern const int    target_count;
const Target       *target_find(const char *name); /* NULL or "host": the first row */

/* The row of a device alone. */
const Target *target_of_device(DeviceKind device);

static inline bool target_has(const Target *t, Feature f)
{
    return t->features >> f & 1;
}

/* The host with the features that its CPU was found to have: the other facts are those of the best target of its
 * architecture that needs no others. Targets that are not the host stay as they are. */
Target target_complete(const Target *t, FeatureSet found);
/* The same device, called by any CPU of its architecture: that of the first row. Targets of CPUs stay as they are. */
Target target_ahead(const Target *t);
/* The features of an architecture in a list "+sse2,-avx,…"; others are skipped. */
FeatureSet features_parse(Arch arch, const char *list);

typedef struct ArchFacts {
    const char *name;
    const char *ahead; /* the targets that code is built for ahead of time, if nothing is said */
} ArchFacts;

extern const ArchFacts arch_table[ARCH_COUNT];

#endif
