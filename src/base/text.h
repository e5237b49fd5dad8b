/* Texts that grow, in an arena; and the near miss of a name. */
#ifndef KILN_BASE_TEXT_H
#define KILN_BASE_TEXT_H

#include "base/arena.h"

typedef struct Text Text;
struct Text {
    Arena *arena;
    char  *at; /* always ends in NUL once something was added */
    size_t count, capacity;
};

void                                       text_init(Text *t, Arena *arena);
void                                       text_add(Text *t, const char *s);
void                                       text_add_n(Text *t, const char *s, size_t n);
__attribute__((format(printf, 2, 3))) void text_printf(Text *t, const char *format, ...);
const char                                *text_string(const Text *t);

/* The candidate most like `name` (edit distance at most a third of its length, at least 1), or NULL. */
const char *text_near_miss(const char *name, const char *const *candidates, size_t count);

#endif
