/* SPDX-License-Identifier: MIT */
/* What the tests of the C API share: the blur everybody knows, and short ways to compile and to expect an error. */
#ifndef KILN_TESTS_API_H
#define KILN_TESTS_API_H

#include "kiln.h"
#include "../unit/check.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const char blur_text[] = "input  in : u16(x, y)\n"
                                "output out\n"
                                "blurx(x, y) = (in(x-1, y) + in(x, y) + in(x+1, y)) / 3\n"
                                "out(x, y)   = (blurx(x, y-1) + blurx(x, y) + blurx(x, y+1)) / 3\n";

/* The module of a text that must be right. */
static inline kn_module *compile_text(kn_context *cx, const char *text)
{
    kn_pipeline *p = kn_parse(cx, "test.kiln", text, -1);
    CHECK(p, "%s", kn_error_text(cx));
    kn_module *m = kn_compile(p, NULL);
    CHECK(m, "%s", p ? kn_error_text(cx) : "no pipeline");
    return m;
}

/* The call gave `want`, and its text contains `part`. */
static inline void expect_error(kn_context *cx, kn_status status, kn_status want, const char *part)
{
    CHECK(status == want, "status %d, expected %d: %s", (int)status, (int)want, kn_error_text(cx));
    CHECK(strstr(kn_error_text(cx), part), "expected \"%s\" in: %s", part, kn_error_text(cx));
    CHECK(kn_diagnostic_count(cx) > 0, "an error without a diagnostic");
}

static inline void expect_ok(kn_context *cx, kn_status status)
{
    CHECK(status == KN_OK, "status %d: %s", (int)status, kn_error_text(cx));
}

/* What blur_text means at (x, y), for in(x, y) = pixel(x, y). */
static inline uint16_t pixel(int x, int y)
{
    return (uint16_t)(x * 7 + y * 131 + (x * y) % 31);
}

static inline int blur_row(int x, int y)
{
    return (uint16_t)(pixel(x - 1, y) + pixel(x, y) + pixel(x + 1, y)) / 3;
}

static inline int blur_at(int x, int y)
{
    return (uint16_t)(blur_row(x, y - 1) + blur_row(x, y) + blur_row(x, y + 1)) / 3;
}

#endif
