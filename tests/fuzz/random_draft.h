/* SPDX-License-Identifier: MIT */
/* Random drafts: what a scheduler could say, sensible or not. */
#ifndef KILN_TESTS_FUZZ_RANDOM_DRAFT_H
#define KILN_TESTS_FUZZ_RANDOM_DRAFT_H

#include "generate.h"
#include "pipeline/pipeline.h"

/* The text of a random draft of the pipeline, to be freed; NULL if it has no graph: the context says why. */
char *random_draft(Choices *c, kn_pipeline *p);

#endif
