/* SPDX-License-Identifier: MIT */
/* Errors: a text per thread, and the hook. A call of a pipeline begins with an empty text, and each error adds a
 * line. */
#include "runtime/internal.h"

#include <stdio.h>
#include <string.h>

static _Thread_local Thread thread;

Thread *kn_rt_thread(void)
{
    return &thread;
}

void kn_rt_error_clear(void)
{
    thread.error[0]     = 0;
    thread.error_length = 0;
    thread.reader       = NULL;
}

int kn_rt_error(kn_rt *rt, kn_status status, const char *format, ...)
{
    Thread *t     = &thread;
    size_t  begin = t->error_length;
    if (begin > 0 && begin + 1 < ERROR_SIZE)
        t->error[begin++] = '\n';
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(t->error + begin, ERROR_SIZE - begin, format, args);
    va_end(args);
    t->error_length = begin + strlen(t->error + begin);
    if (length >= 0 && rt->hooks.error)
        rt->hooks.error(rt->hooks.user, status, t->error + begin);
    return status;
}

int kn_rt_fail(kn_rt *rt, const kn_rt_program *program, int32_t status, const char *message)
{
    return kn_rt_error(kn_rt_of(rt), (kn_status)status, "%s: %s", program->name, message);
}

const char *kn_rt_last_reader(void)
{
    return thread.reader;
}

const char *kn_rt_last_error(void)
{
    return thread.error;
}
