/* SPDX-License-Identifier: MIT */
/* The C header of a built pipeline. */
#ifndef KILN_API_HEADER_H
#define KILN_API_HEADER_H

#include "pipeline/pipeline.h"

typedef struct HeaderParts {
    const char *name;    /* of the C function */
    const char *symbol;  /* of the CompiledFunction in the object */
    const char *targets; /* what the object is for, in words */
    const char *types;   /* the text of the runtime's public header */
    bool        alone;   /* of a C file that needs no runtime */
} HeaderParts;

const char *header_text(Arena *arena, const kn_pipeline *p, const HeaderParts *parts);

#endif
