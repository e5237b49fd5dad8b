/* The whole test framework: CHECK(condition, format, …) reports and goes on; check_done() is main's result. */
#ifndef KILN_TESTS_CHECK_H
#define KILN_TESTS_CHECK_H

#include <stdio.h>

static int check_count, check_failures;

#define CHECK(condition, ...)                                                    \
    do {                                                                         \
        check_count++;                                                           \
        if (!(condition)) {                                                      \
            check_failures++;                                                    \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);      \
            fprintf(stderr, __VA_ARGS__);                                        \
            fputc('\n', stderr);                                                 \
        }                                                                        \
    } while (0)

static inline int check_done(void)
{
    printf("%d checks, %d failed\n", check_count, check_failures);
    return check_failures ? 1 : 0;
}

#endif
