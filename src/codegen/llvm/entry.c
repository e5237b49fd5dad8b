/* SPDX-License-Identifier: MIT */
/* The backend's one export: its table. */
#include "codegen/llvm/llvm.h"

#include <stdlib.h>

static void release(Emitted *e)
{
    free(e->bytes);
    *e = (Emitted){ 0 };
}

static const Codegen codegen = {
    .version = "LLVM " LLVM_VERSION_STRING,
    .emit    = llvm_emit,
    .release = release,
    .host    = target_host,
    .load    = jit_load,
    .lookup  = jit_lookup,
    .unload  = jit_unload,
};

KN_API const Codegen *kiln_codegen(void);

const Codegen *kiln_codegen(void)
{
    return &codegen;
}
