/* SPDX-License-Identifier: MIT */
/* What to suggest for a name that is not known: the known name with the least edit distance. */
#include "base/context.h"
#include "base/text.h"

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

const char *kn_closest_name(const char *name, const char *const *names, int count)
{
    const size_t length = name ? strlen(name) : 0, third = length / 3;
    size_t       best  = (third ? third : 1) + 1;
    const char  *found = NULL;
    for (int i = 0; length && i < count; i++) {
        const size_t d     = distance(name, names[i]);
        const bool   other = length < 3 && length == strlen(names[i]); /* x is no misspelling of y */
        if (d < best && d < length && !other) {
            best  = d;
            found = names[i];
        }
    }
    return found;
}

const char *text_did_you_mean(Arena *arena, const char *closest)
{
    return closest ? arena_printf(arena, "did you mean `%s`?", closest) : NULL;
}

const char *text_suggest(Arena *arena, const char *name, const char *const *names, size_t count)
{
    return text_did_you_mean(arena, kn_closest_name(name, names, (int)count));
}

const char *text_list(Arena *arena, const char *const *names, size_t count)
{
    Text list;
    text_init(&list, arena);
    for (size_t i = 0; i < count; i++)
        text_printf(&list, "%s%s", i ? ", " : "", names[i]);
    return text_string(&list);
}

void diag_unknown(kn_context *cx, const char *what, const char *name, const char *list, const char *const *names,
                  size_t count)
{
    const char *suggestion = text_suggest(&cx->call, name, names, count);
    diag_status(cx, KN_ERROR_ARGUMENT, "%s `%s`%s%s; %s: %s", what, name, suggestion ? ", " : "",
                suggestion ? suggestion : "", list, text_list(&cx->call, names, count));
}
