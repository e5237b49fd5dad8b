/* SPDX-License-Identifier: MIT */
/* The reference interpreter: what a pipeline means.
 *
 * It obeys no schedule. Every function is computed once over its box, after the functions it reads: first the pure
 * definition at every point, then each update in source order, step by step over its reduction variables in
 * lexicographic order. Every access is checked. Floats are evaluated in the order written, each operation rounded once
 * to its type. */
#ifndef KILN_INTERP_INTERP_H
#define KILN_INTERP_INTERP_H

#include "analysis/regions.h"

/* Runs the pipeline: `buffers` per function id for inputs; `outputs` one per component of each output, in order. All
 * have been checked against `regions`. Outputs are written last, only if everything went well. */
kn_status interpret(kn_pipeline *p, const RunArgs *binding, const Regions *regions, kn_buffer *const *inputs,
                    kn_buffer *const *outputs);

#endif
