/* SPDX-License-Identifier: MIT */
/* Warnings and errors side by side: neither takes the place of the other, what was said is not said again, what is
 * switched off is silent with its notes, and what is taken back is gone. */
#include "base/context.h"
#include "check.h"

enum { MOST = 5, MANY = 20 };

static const Source source = { "a.kiln", "abcdefghijklmnopqrstuvwxyz", 26 };

static Loc at(int i)
{
    return (Loc){ &source, (uint32_t)i, (uint32_t)i + 1 };
}

static int count(kn_context *cx, kn_severity severity)
{
    int n = 0;
    for (int i = 0; i < kn_diagnostic_count(cx); i++)
        n += kn_diagnostic_get(cx, i).severity == severity;
    return n;
}

static void warn_and_fail(void *arg)
{
    for (int i = 0; i < MANY; i++) {
        diag_warning(arg, WARN_UNUSED, at(i), NULL, "warning %d", i);
        diag_note(arg, at(i), "note %d", i);
    }
    for (int i = 0; i < MANY; i++)
        diag_error(arg, at(i), NULL, "error %d", i);
}

static void test_room(kn_context *cx)
{
    context_begin(cx);
    context_try(cx, warn_and_fail, cx);
    const char *text = kn_error_text(cx);
    CHECK(count(cx, KN_WARNING) == MOST && count(cx, KN_ERROR) + count(cx, KN_NOTE) == MOST, "%s", text);
    CHECK(strstr(text, "a.kiln:1:1: warning: warning 0 [unused]\n    abc"), "%s", text);
    CHECK(strstr(text, "and 20 more errors") && strstr(text, "and 15 more warnings"), "%s", text);
    CHECK(cx->status == KN_ERROR_PROGRAM, "status %d", cx->status);
}

static void warn_only(void *arg)
{
    diag_warning(arg, WARN_UNUSED, at(1), "do", "once");
    diag_warning(arg, WARN_UNUSED, at(1), "do", "once");
    diag_warning(arg, WARN_NARROW_SUM, at(2), NULL, "a sum");
    diag_note(arg, at(2), "of the sum");
}

static void test_switch(kn_context *cx)
{
    context_begin(cx);
    context_try(cx, warn_only, cx);
    CHECK(count(cx, KN_WARNING) == 2 && count(cx, KN_NOTE) == 1 && cx->status == KN_OK, "%s", kn_error_text(cx));
    CHECK(!strcmp(kn_diagnostic_get(cx, 0).warning, "unused") &&
              !strcmp(kn_diagnostic_get(cx, 1).warning, "narrow-sum"),
          "names");
    CHECK(!kn_diagnostic_get(cx, 2).warning, "a note is no warning");
    CHECK(kn_warn(cx, "narrow-sum", false) == KN_OK, "%s", kn_error_text(cx));
    context_begin(cx);
    context_try(cx, warn_only, cx);
    CHECK(count(cx, KN_WARNING) == 1 && count(cx, KN_NOTE) == 0, "silent with its note: %s", kn_error_text(cx));
    kn_warn(cx, "narrow-sum", true);
}

static void test_taken_back(kn_context *cx)
{
    context_begin(cx);
    CHECK(!context_attempt(cx, warn_and_fail, cx) && !*kn_error_text(cx), "%s", kn_error_text(cx));
    CHECK(context_attempt(cx, warn_only, cx) && count(cx, KN_WARNING) == 2, "%s", kn_error_text(cx));
}

int main(void)
{
    kn_context *cx = kn_context_new(&(kn_config){ .max_errors = MOST });
    test_room(cx);
    test_switch(cx);
    test_taken_back(cx);
    kn_context_free(cx);
    return check_done();
}
