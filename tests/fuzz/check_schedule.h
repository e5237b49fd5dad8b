/* SPDX-License-Identifier: MIT */
/* Runs a pipeline with schedules, each at several sizes, and compares with the interpreter, which obeys none.
 *
 *     Subject *s = subject_new(text, …);         read, and interpreted once for every size
 *     subject_check(s, schedule, …, &report);    planned and lowered once, executed (perhaps compiled) for every size
 *     subject_free(s, &report);
 */
#ifndef KILN_TESTS_FUZZ_CHECK_SCHEDULE_H
#define KILN_TESTS_FUZZ_CHECK_SCHEDULE_H

#include "cases.h"
#include "generate.h"
#include "generate_schedule.h"

enum { MOST_SIZES = 24 };

/* A pipeline, and what the interpreter says of it. */
typedef struct Subject {
    MemoryUse    memory;
    kn_context  *cx;
    kn_pipeline *p; /* NULL: its text was refused */
    kn_module   *interpreter;
    Reach       *reach;       /* by function: what is needed of it, over all sizes */
    double       most_points; /* of all functions at a size; one with more is left out */
    bool         few_steps;   /* lowered code is stopped soon */
    int          count;       /* of sizes */
    Case         cases[MOST_SIZES];
    Run          references[MOST_SIZES];
} Subject;

typedef struct ScheduleReport {
    Report report;
    int    size;            /* the size it is at: after a failure, or a crash, the one that failed */
    bool   accepted;        /* the schedule can be obeyed */
    int executed, compiled; /* sizes at which lowered code, and compiled code, was run and every value of every output
                               was the same */
    int asks_more;          /* sizes at which lowered code asks for more of an input than the interpreter */
    int interpreted;   /* sizes at which compiled code was there, and kn_run interpreted instead, or refused for want of
                          memory or steps */
    int  too_much;     /* sizes at which it took too many steps */
    char refusal[400]; /* what the plan or the lowering had against it */
    bool uncompilable; /* … and would have against any schedule */
} ScheduleReport;

/* Reads the program and runs it at the sizes of its comments, then at up to `more` others that `choices` (may be NULL)
 * decides. A size that does not suit the program is left out. What failed is in the report; never NULL. */
Subject *subject_new(const char *text, Choices *choices, int more, ScheduleReport *report);
/* The size of its own with another layout of memory, once more. */
void subject_add_layout(Subject *s, uint64_t layout);

/* CHECK_USED: that compiled code was not used is a failure. CHECK_GPU: planned and lowered for a device; with
 * CHECK_COMPILE it is compiled for OpenCL or, with CHECK_CUDA, for CUDA, and run on such a device. */
typedef enum CheckParts {
    CHECK_EXECUTE = 1,
    CHECK_COMPILE = 2,
    CHECK_PRINT   = 4,
    CHECK_USED    = 8,
    CHECK_GPU     = 16,
    CHECK_CUDA    = 32
} CheckParts;

/* Checks one schedule, a text of statements, at all sizes; NULL: the one in the program's text. `only`: at this size;
 * -1: at all. Skipped: refused, or no size could be compared. */
Verdict subject_check(Subject *s, const char *schedule, int only, unsigned parts, ScheduleReport *report);

/* Code that is called by other means: runs it with these arguments, and says what it says of an error. */
typedef kn_status SubjectCode(void *user, const Run *r, const char **error);

/* Calls the code at one size and compares; `kind` names a failure. Skipped: it asks for more than the interpreter. */
Verdict subject_call(Subject *s, int size, SubjectCode *code, void *user, const char *kind, ScheduleReport *report);

/* Frees it; false, with a report, if memory is left. */
bool subject_free(Subject *s, ScheduleReport *report);

#endif
