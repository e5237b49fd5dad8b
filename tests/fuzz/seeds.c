/* SPDX-License-Identifier: MIT */
/* The pipelines and schedules of a seed. See seeds.h. */
#include "seeds.h"
#include "families.h"
#include "generate.h"
#include "random_draft.h"
#include "random_kernels.h"
#include "sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stream of choices of its own for each purpose. */
static Choices choices_for(uint64_t seed, uint64_t purpose)
{
    Choices c = { .seed = mix(seed * 2654435761u + 1 + (purpose << 48)) | 1 };
    return c;
}

char *program_of(uint64_t seed)
{
    Choices c = choices_for(seed, 1);
    return choose(&c, 8) == 0 ? generate_program(&c) : generate_family(&c);
}

Subject *subject_of(uint64_t seed, int sizes, const char *program, ScheduleReport *report)
{
    Choices c = choices_for(seed, 2);
    return subject_new(program, &c, sizes - 1, report);
}

static int scheduler_total(void)
{
    int count = 0; /* the last is for devices */
    while (strcmp(kn_scheduler_get(count).name, "gpu"))
        count++;
    return count;
}

/* What the scheduler of that number makes of it; NULL if it fails. */
static char *made_schedule(const Subject *s, uint64_t seed, int scheduler)
{
    Choices    c = choices_for(seed, 100 + (uint64_t)scheduler);
    char       machine[100];
    const int  size  = (int)choose(&c, 2 * (uint32_t)s->count);
    const Run *sizes = size < s->count ? &s->references[size] : NULL;
    const int  l1 = 1 << choose(&c, 6), l2 = l1 << choose(&c, 6);
    snprintf(machine, sizeof machine, "cores=%d, vector_bits=%d, l1=%dk, l2=%dk, l3=16M", 1 << choose(&c, 5),
             128 << choose(&c, 3), l1, l2);
    const char *text = kn_schedule_make(s->p, kn_scheduler_get(scheduler).name, machine, NULL,
                                        sizes ? sizes->args : NULL, sizes ? sizes->count : 0);
    return text ? strdup(text) : NULL;
}

char *schedule_of(const Subject *s, uint64_t seed, int number)
{
    if (number >= SCHEDULES && number < SCHEDULES + scheduler_total())
        return made_schedule(s, seed, number - SCHEDULES);
    Choices c = choices_for(seed, 3 + (uint64_t)number);
    if (number >= SCHEDULES)
        return random_draft(&c, s->p);
    return generate_schedule(&c, s->p, s->reach, false);
}

int schedule_total(void)
{
    return SCHEDULES + scheduler_total() + DRAFTS;
}

/* What the scheduler for devices makes of it, as a whole and with parts left out; NULL if it fails. */
static char *made_kernels(const Subject *s, uint64_t seed, int number)
{
    static const char *const names[] = {
        "gpu",           "gpu/no-fusion",   "gpu/no-nesting", "gpu/no-places",
        "gpu/no-greedy", "gpu/no-inlining", "gpu/no-model",   "gpu/no-inlining/no-places"
    };
    Choices    c = choices_for(seed, 2000 + (uint64_t)number);
    char       machine[100];
    const int  size  = (int)choose(&c, 2 * (uint32_t)s->count);
    const Run *sizes = size < s->count ? &s->references[size] : NULL;
    const int  which = number ? 1 + (int)choose(&c, sizeof names / sizeof *names - 1) : 0;
    snprintf(machine, sizeof machine, "gpu_sms=%d, gpu_sm_threads=%d, gpu_block_threads=%d, gpu_launch=%d",
             1 << choose(&c, 8), 1024 << choose(&c, 2), 128 << choose(&c, 4), choose(&c, 2) ? 3000 : 0);
    const char *text = kn_schedule_make(s->p, names[which], machine, &(kn_options){ .target = "opencl" },
                                        sizes ? sizes->args : NULL, sizes ? sizes->count : 0);
    return text ? strdup(text) : NULL;
}

char *gpu_schedule_of(const Subject *s, uint64_t seed, int number)
{
    Choices c = choices_for(seed, 1000 + (uint64_t)number);
    if (number > GPU_SCHEDULES + GPU_MADE)
        return random_kernels(&c, s->p);
    if (number > GPU_SCHEDULES)
        return made_kernels(s, seed, number - GPU_SCHEDULES - 1);
    return number < GPU_SCHEDULES ? generate_schedule(&c, s->p, s->reach, true) : strdup("schedule for gpu {\n}\n");
}

int gpu_schedule_total(void)
{
    return GPU_SCHEDULES + 1 + GPU_MADE + GPU_EDITED;
}

void print_case(const Subject *s, const char *program, const char *schedule, int size)
{
    char *comments = size < s->count ? write_comments(&s->cases[size]) : NULL;
    if (comments)
        fputs(comments, stdout);
    for (const char *line = program; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (!comments || strncmp(line, "//@", 3))
            printf("%.*s\n", (int)strcspn(line, "\n"), line);
    const bool block = schedule && !strncmp(schedule, "schedule", 8); /* what schedulers make is none yet */
    if (schedule)
        printf(block ? "%s" : "schedule {\n%s}\n", schedule);
    free(comments);
}
