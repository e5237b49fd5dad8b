/* SPDX-License-Identifier: MIT */
/* Kernels explained: a row for each, with its stages, its blocks and what bounds its time. */
#ifndef KILN_SCHEDULERS_EXPLAIN_KERNELS_H
#define KILN_SCHEDULERS_EXPLAIN_KERNELS_H

#include "schedulers/search/schedulers.h"

/* A table. `report` is what NVIDIA's assembler says of the kernels (codegen/ptxas.h); NULL: it was not asked. */
void explain_kernels(Text *out, const KernelDraft *k, const char *report);
/* The same as a page, with a title and the text of the schedule. */
void explain_kernels_html(Text *out, const KernelDraft *k, const char *report, const char *title, const char *schedule);

/* A call whose ports are in the host's memory: by the code for the host, and by kernels with the copies they need. */
typedef struct PlaceTimes {
    double       host_ns, kernel_ns;
    DeviceCopies copies;
} PlaceTimes;
/* Which of the two is faster and by what, as comments. */
void explain_where(Text *out, const PlaceTimes *t, const Device *d);

#endif
