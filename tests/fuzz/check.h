/* SPDX-License-Identifier: MIT */
/* Runs a program (generate.h) in every way that must agree, and says how it fails. */
#ifndef KILN_TESTS_FUZZ_CHECK_H
#define KILN_TESTS_FUZZ_CHECK_H

#include <stdbool.h>

#include "generate.h"

typedef enum Verdict {
    PROGRAM_PASSED,
    PROGRAM_SKIPPED, /* too large to run, or its regions are refused for a reason that may be right */
    PROGRAM_FAILED
} Verdict;

typedef struct Report {
    const char *kind; /* what failed: "refused", "value", "access", "origin", "strides", "format", "smaller", "fit",
                         "memory", "leak" */
    char text[2000];  /* how */
    bool compared;    /* with the pointwise evaluator, at every point */
} Report;

/* `seed` decides the layouts, boxes and failing allocations tried. */
Verdict check_program(const char *text, uint64_t seed, Report *report);

/* A formula filled into a buffer has the values that the pointwise evaluator gives it. */
Verdict check_formula(const char *formula, uint64_t seed, Report *report);

/* The clock, in seconds. */
double seconds_now(void);

#endif
