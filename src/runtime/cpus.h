/* SPDX-License-Identifier: MIT */
/* The CPUs that this process may use. Internal to the library, and the one thing of the runtime beside runtime.h that
 * other folders ask for: the model of a machine begins with it. */
#ifndef KILN_RUNTIME_CPUS_H
#define KILN_RUNTIME_CPUS_H

/* At least 1. */
int kn_rt_cpu_count(void);

#endif
