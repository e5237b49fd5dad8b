/* SPDX-License-Identifier: MIT */
/* The parser, the checks, the formatter, schedules and formulas, on any bytes: no crash, no leak, no endless loop. The
 * first byte says what the rest is. What can be said about any text at all:
 *
 *   - a program that is formatted means the same, and formatting again changes nothing
 *   - formatting keeps every character that is not white space, in order
 *   - an error has a diagnostic, and a diagnostic can be printed */
#include "target.h"
#include "kiln.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool condition, const char *what, const char *text)
{
    if (condition)
        return;
    fprintf(stderr, "%s\n%s\n", what, text);
    abort();
}

static kn_context *context_new(void)
{
    return kn_context_new(&(kn_config){ .memory_limit = (size_t)64 << 20, .quota = 1000000 });
}

/* The next character that is not white space. */
static const char *solid(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

static bool same_but_spaces(const char *a, size_t n, const char *b)
{
    const char *a_end = a + n, *b_end = b + strlen(b);
    for (;; a++, b++) {
        a = solid(a, a_end);
        b = solid(b, b_end);
        if (a == a_end || b == b_end)
            return a == a_end && b == b_end;
        if (*a != *b)
            return false;
    }
}

static void expect_said(kn_context *cx, const char *what)
{
    demand(kn_diagnostic_count(cx) > 0 && *kn_error_text(cx), what, "an error without a word");
}

/* The program after kn_format is the one before. */
static void format_program(kn_context *cx, kn_pipeline *p, const char *text, size_t size)
{
    const char *once = kn_format(cx, "fuzz.kiln", text, (ptrdiff_t)size);
    if (!once) {
        expect_said(cx, "kn_format");
        return;
    }
    demand(same_but_spaces(text, size, once), "kn_format changes more than spaces", once);
    const char *twice = kn_format(cx, "fuzz.kiln", once, -1);
    demand(twice != NULL, "what kn_format makes cannot be formatted", once);
    demand(!strcmp(once, twice), "a second kn_format changes the text", once);
    kn_pipeline *q = kn_parse(cx, "fuzz.kiln", once, -1);
    if (!p)
        return;
    demand(q != NULL, "a program is wrong after kn_format", once);
    for (int view = KN_VIEW_FUNCS; view <= KN_VIEW_SCHEDULE; view++) {
        char *shown = strdup(kn_show(p, (kn_view)view)); /* a view stays until the next call only */
        demand(shown && !strcmp(shown, kn_show(q, (kn_view)view)), "a program means something else after kn_format",
               text);
        free(shown);
    }
}

static void try_program(kn_context *cx, const char *text, size_t size)
{
    kn_pipeline *p = kn_parse(cx, "fuzz.kiln", text, (ptrdiff_t)size);
    if (!p)
        expect_said(cx, "kn_parse");
    format_program(cx, p, text, size);
}

/* A program to hang schedules on. */
static const char host[] = "input in : u16(x, y) output out\n"
                           "a(x, y) = in(x-1, y) + in(x+1, y)\n"
                           "h(i) = 0  h(in(u, v) % 7) += 1 for u in 0..4, v in 0..4\n"
                           "out(x, y) = a(x, y) + h(x)\n";

static void try_schedule(kn_context *cx, const char *text, size_t size)
{
    kn_pipeline *p = kn_parse(cx, "host.kiln", host, -1);
    if (!p || kn_schedule_parse(p, "fuzz.sched", text, (ptrdiff_t)size) != KN_OK) {
        expect_said(cx, "kn_schedule_parse");
        return;
    }
    kn_pipeline *q     = kn_parse(cx, "host.kiln", host, -1);
    const char  *shown = kn_show(p, KN_VIEW_SCHEDULE);
    demand(shown != NULL, "a schedule cannot be shown", text);
    char *once = strdup(shown); /* a view stays until the next call only */
    demand(once != NULL, "no memory", text);
    demand(kn_schedule_parse(q, "shown.sched", once, -1) == KN_OK, "a schedule that was shown does not read back",
           once);
    demand(!strcmp(once, kn_show(q, KN_VIEW_SCHEDULE)), "a schedule that was shown reads back as another", once);
    free(once);
}

static void try_formula(kn_context *cx, const char *text, size_t size)
{
    static const char *const dims[] = { "x", "y" };
    char                     data[7 * 5];
    char                    *formula = malloc(size + 1);
    kn_buffer                b       = kn_buffer_dense(data, KN_U8, 2, (const int32_t[]){ 7, 5 });
    if (!formula)
        return;
    memcpy(formula, text, size);
    formula[size] = 0;
    if (kn_fill(cx, &b, dims, formula) != KN_OK)
        expect_said(cx, "kn_fill");
    kn_define(cx, "J", formula);
    kn_parse(cx, "define.kiln", "const J = 3 output out out(x) = J", -1);
    free(formula);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const ways[])(kn_context * cx, const char *text, size_t size) = { try_program, try_schedule,
                                                                                    try_formula };
    kn_context *cx                                                              = context_new();
    if (!cx)
        return 0;
    const char *text = (const char *)data;
    if (size && data[0] < 3)
        ways[data[0]](cx, text + 1, size - 1);
    else
        try_program(cx, text, size);
    kn_context_free(cx);
    return 0;
}
