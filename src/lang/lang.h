/* SPDX-License-Identifier: MIT */
/* The front end: texts to pipelines. */
#ifndef KILN_LANG_LANG_H
#define KILN_LANG_LANG_H

#include "pipeline/pipeline.h"

/* A function of coordinates `dims` (of type i64) whose value is the expression `formula`, converted to `type`; NULL
 * after a diagnostic. The pipeline becomes one that computes just that, as its output "formula". */
const Func *lang_formula(kn_pipeline *p, const char *formula, int rank, const char *const *dims, kn_type type);

/* The statements of a schedule; it is not added to the pipeline's. NULL after diagnostics. */
const Schedule *lang_schedule(kn_pipeline *p, const char *name, const char *text);

#endif
