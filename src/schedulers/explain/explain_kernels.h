/* SPDX-License-Identifier: MIT */
/* Kernels explained: a row for each, with its stages, its blocks and what bounds its time. */
#ifndef KILN_SCHEDULERS_EXPLAIN_KERNELS_H
#define KILN_SCHEDULERS_EXPLAIN_KERNELS_H

#include "schedulers/search/schedulers.h"

void explain_kernels(Text *out, const KernelDraft *k);

#endif
