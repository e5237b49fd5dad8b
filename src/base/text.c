/* SPDX-License-Identifier: MIT */
/* Texts that grow. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void text_init(Text *t, Arena *arena)
{
    *t = (Text){ .arena = arena };
}

void text_add_n(Text *t, const char *s, size_t n)
{
    if (t->count + n + 1 > t->capacity) {
        const size_t capacity = (t->count + n + 1) * 2;
        char        *grown    = arena_alloc(t->arena, capacity);
        if (t->count)
            memcpy(grown, t->at, t->count);
        t->at       = grown;
        t->capacity = capacity;
    }
    memcpy(t->at + t->count, s, n);
    t->count += n;
    t->at[t->count] = 0;
}

void text_add(Text *t, const char *s)
{
    text_add_n(t, s, strlen(s));
}

void text_printf(Text *t, const char *format, ...)
{
    char    small[256];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof small) {
        text_add_n(t, small, (size_t)n);
    } else if (n >= 0) {
        char *large = arena_alloc(t->arena, (size_t)n + 1);
        vsnprintf(large, (size_t)n + 1, format, again);
        text_add_n(t, large, (size_t)n);
    }
    va_end(again);
}

const char *text_string(const Text *t)
{
    return t->at ? t->at : "";
}
