/* SPDX-License-Identifier: MIT */
/* A module: a pipeline that is ready to run, and how. */
#ifndef KILN_API_MODULE_H
#define KILN_API_MODULE_H

#include "pipeline/pipeline.h"

typedef struct Compiled Compiled;

struct kn_module {
    kn_pipeline *pipeline;    /* finished; the module lives in its arena */
    kn_options   options;     /* its strings live there too */
    Compiled    *compiled;    /* NULL: is interpreted */
    bool         interpreted; /* the last run was done by the interpreter */
};

/* The options with their strings checked and copied into the pipeline's arena; false after a diagnostic. */
bool options_take(kn_pipeline *p, const kn_options *given, kn_options *out);

#endif
