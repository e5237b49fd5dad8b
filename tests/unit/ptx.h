/* SPDX-License-Identifier: MIT */
/* PTX as tests want it: emitted from a program, and assembled by ptxas where that is to be had. */
#ifndef KILN_TESTS_PTX_H
#define KILN_TESTS_PTX_H

#include "check.h"
#include "codegen/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NULL: there is none here. */
static inline const char *ptxas_path(void)
{
    static const char *const places[] = { "/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas" };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!access(places[i], X_OK))
            return places[i];
    return NULL;
}

/* ptxas takes the text, or is not here. */
static inline void ptx_check(const char *ptx, const char *what)
{
    char command[300];
    if (!ptxas_path())
        return;
    snprintf(command, sizeof command, "%s -arch=sm_90 -o /dev/null /dev/stdin", ptxas_path());
    FILE *assembler = popen(command, "w");
    CHECK(assembler, "%s: ptxas cannot be started", what);
    if (!assembler)
        return;
    fputs(ptx, assembler);
    CHECK(pclose(assembler) == 0, "%s: ptxas refuses the PTX", what);
}

/* The kernels of a program as PTX that ptxas takes, to be freed; NULL after a failed check. */
static inline char *ptx_of(const Codegen *codegen, const Program *p, const char *what)
{
    const CodegenOptions o = { .targets = target_find("cuda"), .target_count = 1 };
    Emitted              out, error;
    const bool           done = codegen->emit(p, &o, EMIT_PTX, &out, &error);
    CHECK(done, "%s: %s", what, error.bytes ? error.bytes : "no text");
    char *text = done ? strdup(out.bytes) : NULL;
    codegen->release(&out);
    codegen->release(&error);
    if (text)
        ptx_check(text, what);
    return text;
}

#endif
