/* SPDX-License-Identifier: MIT */
/* A fuzz target: what libFuzzer, or replay.c with the files of a corpus, calls for every input. Failing is abort(). */
#ifndef KILN_TESTS_FUZZ_TARGET_H
#define KILN_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
