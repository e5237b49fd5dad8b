/* SPDX-License-Identifier: MIT */
/* The backends and what they emit, as tables. Adding a backend, or a format, is adding a row. */
#include "codegen/backend.h"

/* clang-format off */
const EmitFormat emit_table[EMIT_KIND_COUNT] = {
    /*                name      ending  with header */
    [EMIT_OBJECT] = { "object", ".o",   false },
    [EMIT_LLVM]   = { "llvm",   ".ll",  false },
    [EMIT_ASM]    = { "asm",    ".s",   false },
    [EMIT_C]      = { "c",      ".c",   true },
};

const Backend backend_table[] = {
    /* name    library            entry      loads  emits                                               until */
    { "llvm",  "libkiln-llvm.so", NULL,      true,  1u << EMIT_OBJECT | 1u << EMIT_LLVM | 1u << EMIT_ASM, NULL },
    /* mathematical functions stay what they are: they are functions of the C file */
    { "c",     NULL,              c_codegen, false, 1u << EMIT_C,                                         "clean" },
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
