/* Random programs of the kinds that schedules go wrong with; in the form of generate.h. */
#ifndef KILN_TESTS_FUZZ_FAMILIES_H
#define KILN_TESTS_FUZZ_FAMILIES_H

#include "generate.h"

/* The text of a program, to be freed; NULL if there is no memory. */
char *generate_family(Choices *c);

#endif
