/* SPDX-License-Identifier: MIT */
/* Loading objects into this process: one LLJIT for each, so that nothing is shared and unloading frees all of it. */
#include "codegen/llvm/llvm.h"

#include <stdlib.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>

typedef struct Loaded {
    LLVMOrcLLJITRef jit;
    Emitted         error; /* what the session reported */
} Loaded;

/* Takes the error; keeps its text. */
static void note_error(Emitted *to, LLVMErrorRef e)
{
    char *text = LLVMGetErrorMessage(e);
    if (!to->bytes)
        error_set(to, "the compiled code cannot be loaded: %s", text);
    LLVMDisposeErrorMessage(text);
}

static void report(void *user, LLVMErrorRef e)
{
    note_error(user, e);
}

static LLVMErrorRef define_symbols(LLVMOrcLLJITRef jit, const Symbol *symbols, int count)
{
    LLVMOrcCSymbolMapPair *pairs = calloc((size_t)count + 1, sizeof *pairs);
    if (!pairs)
        return LLVMCreateStringError("out of memory");
    for (int i = 0; i < count; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, symbols[i].name);
        pairs[i].Sym =
            (LLVMJITEvaluatedSymbol){ (LLVMOrcExecutorAddress)(uintptr_t)symbols[i].address,
                                      { LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0 } };
    }
    LLVMErrorRef e = NULL;
    if (count)
        e = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit), LLVMOrcAbsoluteSymbols(pairs, (size_t)count));
    free(pairs);
    return e;
}

void *jit_load(const char *bytes, size_t size, const Symbol *symbols, int symbol_count, Emitted *error)
{
    *error = (Emitted){ 0 };
    target_start();
    Loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded) {
        error_set(error, "out of memory");
        return NULL;
    }
    LLVMErrorRef e = LLVMOrcCreateLLJIT(&loaded->jit, NULL);
    if (e) {
        note_error(error, e);
        free(loaded);
        return NULL;
    }
    LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(loaded->jit), report, &loaded->error);
    e = define_symbols(loaded->jit, symbols, symbol_count);
    if (!e)
        e = LLVMOrcLLJITAddObjectFile(loaded->jit, LLVMOrcLLJITGetMainJITDylib(loaded->jit),
                                      LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes, size, "program"));
    if (e) {
        note_error(error, e);
        jit_unload(loaded);
        return NULL;
    }
    return loaded;
}

void *jit_lookup(void *handle, const char *name)
{
    Loaded                *loaded  = handle;
    LLVMOrcExecutorAddress address = 0;
    LLVMErrorRef           e       = LLVMOrcLLJITLookup(loaded->jit, &address, name);
    if (e)
        note_error(&loaded->error, e);
    return e ? NULL : (void *)(uintptr_t)address;
}

void jit_unload(void *handle)
{
    Loaded *loaded = handle;
    if (!loaded)
        return;
    LLVMErrorRef e = LLVMOrcDisposeLLJIT(loaded->jit);
    if (e)
        LLVMConsumeError(e);
    free(loaded->error.bytes);
    free(loaded);
}
