/* What the unit tests share. */
#ifndef KILN_TESTS_UNIT_H
#define KILN_TESTS_UNIT_H

#include "pipeline/pipeline.h"

/* Frees a pipeline (may be NULL) and its context. */
static inline void unit_free(kn_context *cx, kn_pipeline *p)
{
    if (p)
        pipeline_free(p, false);
    arena_free(&cx->call);
    arena_free(&cx->arena);
    cx->config.release(cx->config.user, cx);
}

#endif
