/* Texts that grow; the near miss of a name. */
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

/* Edit distance with transpositions, by rows; names are cut at 63 characters. */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 63 };
    size_t       row[3][MOST + 1];
    const size_t n = strnlen(a, MOST), m = strnlen(b, MOST);
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t       *now = row[i % 3];
        const size_t *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t d = up[j - 1] + (a[i - 1] != b[j - 1]);
            d        = d < up[j] + 1 ? d : up[j] + 1;
            d        = d < now[j - 1] + 1 ? d : now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < d)
                d = up2[j - 2] + 1;
            now[j] = d;
        }
    }
    return row[n % 3][m];
}

const char *text_near_miss(const char *name, const char *const *candidates, size_t count)
{
    const size_t third = strlen(name) / 3;
    size_t       best  = (third ? third : 1) + 1;
    const char  *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const size_t d = distance(name, candidates[i]);
        const bool   other =
            strlen(name) < 3 && strlen(name) == strlen(candidates[i]); /* y for x is no slip of the pen */
        if (d < best && d < strlen(name) && !other) {
            best  = d;
            found = candidates[i];
        }
    }
    return found;
}
