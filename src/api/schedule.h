/* SPDX-License-Identifier: MIT */
/* Schedules made by schedulers: from a pipeline and sizes to the text of a schedule. */
#ifndef KILN_API_SCHEDULE_H
#define KILN_API_SCHEDULE_H

#include "analysis/regions.h"
#include "ir/target.h"
#include "pipeline/pipeline.h"
#include "schedulers/graph/graph.h"
#include "schedulers/model/machine.h"

/* The name, if it is "none" or a row of the table. NULL for NULL, and, after a diagnostic, for unknown names. */
const char *scheduler_choose(kn_context *cx, const char *name);

/* What a schedule is made for. */
typedef struct ScheduleRequest {
    const char      *scheduler; /* a name of the table */
    kn_schedule_view view;
    double           budget;      /* seconds; 0: the default */
    const char      *machine;     /* as machine_parse reads it; NULL: this one */
    int              cores;       /* 0: as the machine has */
    int              vector_bits; /* of the target; 0: as the machine has */
    DeviceKind       device;      /* of the target; not NONE: kernels are made */
    bool             or_host;     /* with a device: `auto` may take the schedule for the host, if that is faster */
    struct HeldCode *held;        /* if not NULL: what the assembler says of kernels is told, too */
    double          *predicted; /* if not NULL: the ns of a call, with the copies that kernels need of ports; 0: none */
    const kn_arg    *args;      /* what is known of sizes and parameters */
    int              count;
} ScheduleRequest;

/* Sizes and values for everything: what is given, and for the rest those of `estimate`, or usual ones. An input that is
 * missing and whose size nothing uses is unbounded. false if none work; with a diagnostic only if the arguments are at
 * fault. */
struct Arguments;
bool schedule_sizes(kn_pipeline *p, const kn_arg *args, int count, Arena *arena, struct Arguments *out);

/* The machine of a request; false after a diagnostic. */
bool schedule_machine(kn_pipeline *p, const ScheduleRequest *request, Machine *m);
/* The graph of the pipeline as these directives rewrite it; false, maybe with diagnostics, if they do not apply. */
bool schedule_rewritten(kn_pipeline *p, const char *directives, const RunArgs *binding, Arena *arena, Graph *g);
/* The device that kernels are made for: as the machine has it, with no more shared memory than every device with an
 * OpenCL driver has. */
void schedule_fit_device(DeviceKind kind, Machine *m);
/* Does lowering accept the schedule: has what its kernels store a constant size? What it makes is in `arena`. */
bool schedule_accepts_kernels(kn_pipeline *p, const char *text, Arena *arena);

/* The text, in `arena`; NULL after diagnostics. */
const char *schedule_text(kn_pipeline *p, const ScheduleRequest *request, Arena *arena);
/* The same, read: a schedule that is not among the pipeline's. */
const Schedule *schedule_made(kn_pipeline *p, const ScheduleRequest *request, Arena *arena);

#endif
