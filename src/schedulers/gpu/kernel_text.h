/* SPDX-License-Identifier: MIT */
/* Pieces of text that kernels of all kinds have. */
#ifndef KILN_SCHEDULERS_KERNEL_TEXT_H
#define KILN_SCHEDULERS_KERNEL_TEXT_H

#include "schedulers/gpu/kernels.h"

/* f, or f.update(0) */
void kernel_print_name(Text *out, const Func *f, int update);
/* "g, h.update(0)": what reads a function. */
void kernel_print_readers(Text *out, const Draft *d, int s);
/* ".reorder(x, y)"; nothing for no names. */
void kernel_print_list(Text *out, const char *directive, const char *const *names, int count);
/* Loops over blocks beyond the third become one with the third. Gives their number. */
int kernel_fuse_blocks(Text *out, const char **blocks, int count);

/* A grid of histograms with memory of its own, and the kernel of a stage that has the cells of one in shared memory. */
void kernel_print_grid(Text *out, const KernelDraft *k, int s);
void kernel_print_cells(Text *out, const KernelDraft *k, int reader);

#endif
