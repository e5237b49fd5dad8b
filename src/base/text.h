/* SPDX-License-Identifier: MIT */
/* Texts that grow, in an arena; lists of names, and what to suggest for an unknown one. */
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

/* "a, b, c" */
const char *text_list(Arena *arena, const char *const *names, size_t count);
/* "did you mean `closest`?"; NULL for NULL. */
const char *text_did_you_mean(Arena *arena, const char *closest);
/* The same for the one of `names` that kn_closest_name finds, or NULL. */
const char *text_suggest(Arena *arena, const char *name, const char *const *names, size_t count);

#endif
