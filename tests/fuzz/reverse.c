/* SPDX-License-Identifier: MIT */
#include "reverse.h"

#include <string.h>

enum { MOST = 2000 }; /* characters of a bound */

/* for (long NAME = FIRST; NAME <= LAST; NAME += STEP) {      or <, or ++ */
static int reverse_one(FILE *out, const char *line, int length)
{
    char text[MOST], name[64], first[MOST], bound[MOST], compare[3];
    int  step = 1, end = 0;
    if (length >= MOST)
        return 0;
    memcpy(text, line, (size_t)length);
    text[length]     = 0;
    const int indent = (int)strspn(text, " ");
    if (sscanf(text + indent, "for (long %63[^ =] = %1999[^;]; %*[^ ] %2[<=] %1999[^;]; %n", name, first, compare,
               bound, &end) != 4 ||
        !end)
        return 0;
    const char *more = text + indent + end + strlen(name);
    if (strcmp(more, "++) {") && sscanf(more, " += %d) {", &step) != 1)
        return 0;
    const int  less = compare[1] == 0;
    const char one  = less ? '1' : '0';
    fprintf(
        out,
        "%.*sfor (long %s = (%s) - %c - ((%s) - %c >= (%s) ? ((%s) - %c - (%s)) %% %d : 0); %s >= (%s); %s -= %d) {\n",
        indent, text, name, bound, one, bound, one, first, bound, one, first, step, name, first, name, step);
    return 1;
}

int reverse_loops(FILE *out, const char *text)
{
    int count  = 0;
    int marked = 0;
    while (*text) {
        const int length = (int)strcspn(text, "\n");
        const int pragma = !strncmp(text, "#pragma omp ", 12);
        const int done   = marked && !pragma ? reverse_one(out, text, length) : 0;
        count += done;
        if (!done && !pragma)
            fprintf(out, "%.*s\n", length, text);
        marked = pragma;
        text += length + (text[length] == '\n');
    }
    return count;
}
