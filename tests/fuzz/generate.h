/* SPDX-License-Identifier: MIT */
/* Random programs of the language, for fuzzing.
 *
 * A program is text, complete and well typed, together with what it takes to run it, as comments at its beginning:
 *
 *     //@ input a 17 -1:5 0:3        an input's seed of noise, then min:extent per dimension
 *     //@ param k 3
 *     //@ output out 2:4 0:1         the box asked for; of every component if it is a tuple
 *
 * check.h reads these and runs the program; any other user can append a schedule to the text. The same choices give the
 * same program for ever on one version of this file. Sizes are small and odd: 0 to 3, primes, boxes that do not begin
 * at 0.
 *
 * Every index is bounded and every self reference legal by construction, so a program that Kiln refuses for another
 * reason than the size of its regions shows a mistake, of Kiln or of the generator. No NaN is looked at bit by bit:
 * which NaN it is is not said. */
#ifndef KILN_TESTS_FUZZ_GENERATE_H
#define KILN_TESTS_FUZZ_GENERATE_H

#include <stddef.h>
#include <stdint.h>

/* Where choices come from: first the bytes (may be none; libFuzzer mutates them), then, if `seed` is not 0, a generator
 * of random numbers; else every further choice is the first one, which is the simplest. */
typedef struct Choices {
    const uint8_t *bytes;
    size_t         size, at;
    uint64_t       seed;
} Choices;

/* A number in 0 .. n-1, for n <= 2^32. */
uint32_t choose(Choices *c, uint64_t n);

/* The text of a program, to be freed; NULL if there is no memory. */
char *generate_program(Choices *c);

/* A formula over `rank` coordinates of type i64 with these names, as kn_fill takes it; to be freed. */
char *generate_formula(Choices *c, int rank, const char *const *dims);

#endif
