/* SPDX-License-Identifier: MIT */
/* Checks for test programs: CHECK(condition, format, …) counts and reports, check_read() reads a file, check_done()
 * ends main. check_sampled() and check_fewer() say what of many like cases a sanitizer build tries. */
#ifndef KILN_TESTS_CHECK_H
#define KILN_TESTS_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

/* Are all of many like cases tried? In a plain build; with sanitizers, which make a test about five times as slow,
 * where there is KILN_TEST_ALL, which `tests/run.py --all` sets. */
static inline bool check_thorough(void)
{
#ifdef __SANITIZE_ADDRESS__
    return getenv("KILN_TEST_ALL") != NULL;
#else
    return true;
#endif
}

enum { CHECK_PARTS = 4 };

/* Is the case of that number tried? If not all are: a part of them, another one each day. */
static inline bool check_sampled(size_t number)
{
    return check_thorough() || (number + (size_t)(time(NULL) / 86400)) % CHECK_PARTS == 0;
}

/* How many of so many random cases are tried. */
static inline int check_fewer(int count)
{
    return check_thorough() ? count : count / CHECK_PARTS;
}

static inline int check_done(void)
{
    printf("%d passed, %d failed\n", checks_passed, checks_failed);
    return checks_failed != 0;
}

#endif
