/* SPDX-License-Identifier: MIT */
/* What the leak checker is not to report in a test that loads an OpenCL driver: the driver and its compiler keep memory
 * until the process ends, more where their cache of kernels is empty. */
#ifndef KILN_TESTS_OPENCL_LEAKS_H
#define KILN_TESTS_OPENCL_LEAKS_H

__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char                                        *__lsan_default_suppressions(void)
{
    return "leak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libOpenCL\n";
}

#endif
