/* SPDX-License-Identifier: MIT */
/* Random well-typed programs, made from bytes that libFuzzer mutates, run in every way that must agree. The first two
 * bytes are the seed of the choices that come after the bytes. */
#include "check.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Report   report;
    Choices  choices = { .bytes = data, .size = size, .at = size < 2 ? size : 2 };
    uint64_t seed    = size;
    for (size_t i = 0; i < size; i++)
        seed = seed * 31 + data[i];
    choices.seed = size < 2 ? 0 : (uint64_t)data[0] << 8 | data[1];
    char *text   = generate_program(&choices);
    if (!text)
        return 0;
    if (check_program(text, seed, &report) == PROGRAM_FAILED) {
        fprintf(stderr, "%s: %s\n%s\n", report.kind, report.text, text);
        abort();
    }
    free(text);
    return 0;
}
