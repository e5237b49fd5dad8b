/* SPDX-License-Identifier: MIT */
/* Points and spans of the nodes of a kernel (kernel_points.c), for its cost. */
#ifndef KILN_SCHEDULERS_KERNEL_POINTS_H
#define KILN_SCHEDULERS_KERNEL_POINTS_H

#include "schedulers/gpu/kernels.h"

/* The steps of a definition; -1: of the pure one, which has one. */
double kernel_steps_of(const GraphNode *node, int update);
/* Copies of a step that definition `def` ([0] the pure one) has in the code. */
double kernel_copies_of_steps(const KernelSpace *s, int node, int def);
/* Copies of a step side by side, each with what it reads: those of an inlined sum. Others add one after the other. */
double kernel_copies_at_once(const KernelSpace *s, int node, int update);

/* The span of what one index of an edge reads: quotients of places whose remainder is not known are expressions of
 * their own, whatever their values. In a loop over steps: in one of them. */
KernelSpan kernel_span_read(const KernelSpace *s, const Edge *e, int d);
/* The points of a node's spans. */
double kernel_span_points(const KernelSpace *s, int node);

/* The points of each node of the group that are computed for these boxes, in s->points: those of its box, or of a
 * thread's spans in all iterations, but no more than are read where data decide the place; in s->at_once those of one
 * iteration of loops over steps, in s->at_step those of one step. Readers come first. `unit` -1: of a whole block. */
void kernel_find_points(KernelSpace *s, const Box *boxes, int unit, const int64_t *each);

#endif
