/* SPDX-License-Identifier: MIT */
/* Checks for test programs: CHECK(condition, format, …) counts and reports, check_read() reads a file, check_done()
 * ends main. */
#ifndef KILN_TESTS_CHECK_H
#define KILN_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

static int checks_passed, checks_failed;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            checks_passed++;                                                                                           \
        } else {                                                                                                       \
            checks_failed++;                                                                                           \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);                                                     \
            printf(__VA_ARGS__);                                                                                       \
            putchar('\n');                                                                                             \
        }                                                                                                              \
    } while (0)

/* The text of a file of the project, for the caller to free. */
static inline char *check_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    CHECK(file && fread(text, 1, (1 << 16) - 1, file) > 0, "%s cannot be read: tests run in the project's folder",
          path);
    if (file)
        fclose(file);
    return text;
}

static inline int check_done(void)
{
    printf("%d passed, %d failed\n", checks_passed, checks_failed);
    return checks_failed != 0;
}

#endif
