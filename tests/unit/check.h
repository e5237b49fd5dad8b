/* Checks for test programs: CHECK(condition, format, …) counts and reports, check_done() ends main. */
#ifndef KILN_TESTS_CHECK_H
#define KILN_TESTS_CHECK_H

#include <stdio.h>

static int checks_passed, checks_failed;

#define CHECK(condition, ...)                                                \
    do {                                                                     \
        if (condition) {                                                     \
            checks_passed++;                                                 \
        } else {                                                             \
            checks_failed++;                                                 \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);           \
            printf(__VA_ARGS__);                                             \
            putchar('\n');                                                   \
        }                                                                    \
    } while (0)

static inline int check_done(void)
{
    printf("%d passed, %d failed\n", checks_passed, checks_failed);
    return checks_failed != 0;
}

#endif
