/* SPDX-License-Identifier: MIT */
/* A seed is a pipeline with schedules: the same for every program that runs it. */
#ifndef KILN_TESTS_FUZZ_SEEDS_H
#define KILN_TESTS_FUZZ_SEEDS_H

#include "check_schedule.h"

enum { SCHEDULES = 4 /* random ones */, DRAFTS = 2, GPU_SCHEDULES = 8, GPU_MADE = 2, GPU_EDITED = 2 };

/* The program's text, to be freed. One in eight is any program, the others are of the kinds of families.h. */
char *program_of(uint64_t seed);
/* The program at that many sizes. */
Subject *subject_of(uint64_t seed, int sizes, const char *program, ScheduleReport *report);
/* The schedule of that number, to be freed: random ones come first, then one by each scheduler, then random drafts.
 * NULL: a scheduler failed. */
char *schedule_of(const Subject *s, uint64_t seed, int number);
int   schedule_total(void);
/* The same for a device: random ones, then the default, then one by the scheduler for devices and one by it with a part
 * left out, then edits of such. */
char *gpu_schedule_of(const Subject *s, uint64_t seed, int number);
int   gpu_schedule_total(void);
/* Prints a file that holds the case: the comments of that size, the program, the schedule. */
void print_case(const Subject *s, const char *program, const char *schedule, int size);

#endif
