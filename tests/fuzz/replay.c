/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target on every file given: a corpus as a test, without libFuzzer. */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    enum { MOST = 1 << 20 };
    int done = 0;
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            perror(argv[i]);
            return 1;
        }
        uint8_t     *data = malloc(MOST);
        const size_t size = data ? fread(data, 1, MOST, file) : 0;
        fclose(file);
        uint8_t *exact =
            malloc(size + !size); /* no byte more than there is, so that a sanitizer sees a read behind the end */
        for (size_t k = 0; exact && k < size; k++)
            exact[k] = data[k];
        free(data);
        if (exact)
            LLVMFuzzerTestOneInput(exact, size);
        free(exact);
        done++;
    }
    printf("%d passed, 0 failed\n", done);
    return 0;
}
