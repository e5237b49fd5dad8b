/* Runs a program with a schedule and compares it with the interpreter. */
#ifndef KILN_TESTS_FUZZ_CHECK_SCHEDULE_H
#define KILN_TESTS_FUZZ_CHECK_SCHEDULE_H

#include "check.h"

/* How far a case came. */
typedef enum Reached {
    REACHED_NOTHING,
    REACHED_REFERENCE,  /* the interpreter has run it */
    REACHED_PLAN,       /* the schedule can be obeyed */
    REACHED_EXECUTED,   /* lowered, executed, and the same */
    REACHED_COMPILED    /* compiled, run, and the same */
} Reached;

typedef struct ScheduleReport {
    Report  report;
    Reached reached;
    bool    asks_more;          /* lowered code asks for more of an input than the interpreter */
    char    refusal[400];       /* what the plan or the lowering had against it */
} ScheduleReport;

/* `text` is a program as in generate.h with one schedule block. `seed` decides the layouts. Compiling takes most of the time: it may be left out. */
Verdict check_schedule(const char *text, uint64_t seed, bool compile, ScheduleReport *report);

#endif
