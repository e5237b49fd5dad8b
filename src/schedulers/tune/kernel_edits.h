/* SPDX-License-Identifier: MIT */
/* Edits of kernels: the changes by which a search for a device moves from one schedule to the next (moves.h).
 *
 * An edit may ask for anything; kernel_edits_legalize makes it legal, or says that it cannot be launched. */
#ifndef KILN_SCHEDULERS_TUNE_KERNEL_EDITS_H
#define KILN_SCHEDULERS_TUNE_KERNEL_EDITS_H

#include "schedulers/tune/moves.h"

/* A copy that can be changed, and has room for a kernel of each node more. What no edit changes is shared. */
KernelDraft kernel_edits_copy(const KernelDraft *k, Arena *arena);
/* What OpenCL has no words for, the registers of a thread, is not edited there. */
int  kernel_edits_list(const KernelDraft *k, DeviceKind device, Move *out, int room);
void kernel_edits_apply(KernelDraft *k, const Move *move);
void kernel_edits_print(Text *out, const KernelDraft *before, const Move *move);

/* ---- kernel_legal.c ---- */

/* Makes legal what an edit of `before` has changed, and shapes the blocks of kernels that have other stages now. false:
 * one of them cannot be launched. */
bool kernel_edits_legalize(KernelDraft *k, KernelDraft *before, Arena *arena);
/* The kernel that reads a node, directly or through what is inlined: a group; -1: there is none, or several. */
int kernel_of_readers(const KernelDraft *k, int s);
/* The stage of the group that `space` has begun in whose threads all readers of a node are; -1: there is none. */
int kernel_unit_of_readers(const KernelSpace *space, int s);

#endif
