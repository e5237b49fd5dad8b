/* SPDX-License-Identifier: MIT */
/* Random programs of the kinds that schedules go wrong with; in the form of generate.h. */
#ifndef KILN_TESTS_FUZZ_FAMILIES_H
#define KILN_TESTS_FUZZ_FAMILIES_H

#include "generate.h"

/* The text of a program, to be freed; NULL if there is no memory. */
char *generate_family(Choices *c);

/* The kinds: their names, NULL behind the last; and of which a text is, by its first line: as many as there are names
 * if it is of none. */
enum { MOST_FAMILIES = 40 };
const char *family_title(int family);
int         family_of(const char *text);

#endif
