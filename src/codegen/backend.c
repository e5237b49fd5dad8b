/* SPDX-License-Identifier: MIT */
/* The backends and what they emit, as tables. Adding a backend, or a format, is adding a row. */
#include "codegen/backend.h"

/* In C mathematical functions stay what they are: they are functions of the file. The kernels of a program are emitted
 * from the program that the host's object is made of: both must agree on what a kernel takes. */
/* clang-format off */
const EmitFormat emit_table[EMIT_KIND_COUNT] = {
    /*                name      ending   with header  until     kernels        with kernels */
    [EMIT_OBJECT] = { "object", ".o",    false,       NULL,     DEVICE_NONE,   true },
    [EMIT_LLVM]   = { "llvm",   ".ll",   false,       NULL,     DEVICE_NONE,   true },
    [EMIT_ASM]    = { "asm",    ".s",    false,       NULL,     DEVICE_NONE,   true },
    [EMIT_C]      = { "c",      ".c",    true,        "clean",  DEVICE_NONE,   false },
    [EMIT_PTX]    = { "ptx",    ".ptx",  false,       NULL,     DEVICE_CUDA,   false },
    [EMIT_OPENCL] = { "opencl", ".cl",   false,       NULL,     DEVICE_OPENCL, false },
    [EMIT_DEVICE_LLVM] = { "device-llvm", ".device.ll", false, NULL, DEVICE_CUDA, false },
};

const Backend backend_table[] = {
    /* name    library            entry      loads  emits */
    { "llvm",  "libkiln-llvm.so", NULL,      true,
      1u << EMIT_OBJECT | 1u << EMIT_LLVM | 1u << EMIT_ASM | 1u << EMIT_PTX | 1u << EMIT_DEVICE_LLVM },
    { "c",     NULL,              c_codegen, false, 1u << EMIT_C | 1u << EMIT_OPENCL },
};
/* clang-format on */
const int backend_count = sizeof backend_table / sizeof *backend_table;

const Backend *backend_emitting(EmitKind kind)
{
    int i = 0;
    while (i < backend_count && !(backend_table[i].emits >> kind & 1))
        i++;
    return i < backend_count ? &backend_table[i] : NULL;
}

const Backend *backend_loading(void)
{
    int i = 0;
    while (i < backend_count && !backend_table[i].loads_objects)
        i++;
    return i < backend_count ? &backend_table[i] : NULL;
}

EmitKind device_format(DeviceKind device)
{
    int i = 0;
    while (i < EMIT_KIND_COUNT && emit_table[i].of_device != device)
        i++;
    return (EmitKind)i;
}
