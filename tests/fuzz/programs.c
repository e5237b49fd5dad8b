/* SPDX-License-Identifier: MIT */
/* Random programs, each run in every way that must agree (check.h).
 *
 *     programs SEED COUNT [SECONDS]     COUNT fresh programs from SEED on (0: from the clock), SECONDS at most
 *     programs FILE …                   programs as they are kept in regressions/
 *     programs --print SEED             the program of a seed
 *
 * A program that fails is printed with its seed; tests/fuzz/minimize makes it short. */
#include "check.h"
#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Tally {
    const char *program; /* the path of this one, for the command that repeats a failure */
    int         passed, failed, skipped, compared, formulas;
    double      slowest;
    uint64_t    slow_seed;
} Tally;

static char *program_of(uint64_t seed)
{
    return generate_program(&(Choices){ .seed = seed });
}

/* `again` is what repeats it: the words behind this program's path. */
static void count(Tally *t, Verdict v, const Report *report, const char *what, const char *again, const char *text)
{
    t->passed += v == PROGRAM_PASSED;
    t->failed += v == PROGRAM_FAILED;
    t->skipped += v == PROGRAM_SKIPPED;
    t->compared += v == PROGRAM_PASSED && report->compared;
    if (v == PROGRAM_FAILED)
        printf("FAILED %s: %s: %s\nrepeat it: %s %s\n%s\n", what, report->kind, report->text, t->program, again, text);
}

static void run_seed(Tally *t, uint64_t seed)
{
    Report       report;
    char         what[64], again[32];
    char        *text  = program_of(seed);
    const double begin = seconds_now();
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
    snprintf(again, sizeof again, "%llu 1", (unsigned long long)seed);
    count(t, check_program(text, seed, &report), &report, what, again, text);
    const double took = seconds_now() - begin;
    if (took > t->slowest) {
        t->slowest   = took;
        t->slow_seed = seed;
    }
    free(text);
    if (seed % 4)
        return;
    char *formula = generate_formula(&(Choices){ .seed = seed }, 2, (const char *const[]){ "x", "y" });
    snprintf(what, sizeof what, "formula of seed %llu", (unsigned long long)seed);
    count(t, check_formula(formula, seed, &report), &report, what, again, formula);
    t->formulas++;
    free(formula);
}

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = file ? calloc(1, 1 << 20) : NULL;
    if (text && fread(text, 1, (1 << 20) - 1, file) == 0)
        text[0] = 0;
    if (file)
        fclose(file);
    return text;
}

static void run_file(Tally *t, const char *path)
{
    Report report;
    char  *text = read_whole(path);
    if (!text) {
        printf("%s: cannot be read\n", path);
        t->failed++;
        return;
    }
    for (uint64_t seed = 1; seed <= 8; seed++)
        count(t, check_program(text, seed, &report), &report, path, path, text);
    free(text);
}

int main(int argc, char **argv)
{
    Tally t   = { .program = argv[0] };
    char *end = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    uint64_t seed = argc > 1 ? strtoull(argv[1], &end, 10) : 0;
    if (argc == 3 && !strcmp(argv[1], "--print")) {
        char *text = program_of(strtoull(argv[2], NULL, 10));
        fputs(text, stdout);
        free(text);
        return 0;
    }
    if (argc >= 3 && end && !*end) {
        const long   most  = strtol(argv[2], NULL, 10);
        const double limit = argc > 3 ? strtod(argv[3], NULL) : 1e9, begin = seconds_now();
        if (!seed)
            seed = (uint64_t)time(NULL) * 1000000;
        printf("seed %llu\n", (unsigned long long)seed);
        long done = 0;
        for (; done < most && t.failed < 20 && seconds_now() - begin < limit; done++)
            run_seed(&t, seed + (uint64_t)done);
        printf("%ld programs and %d formulas in %.1f s: %d compared point by point, %d skipped; the slowest, seed "
               "%llu, took %.2f s\n",
               done, t.formulas, seconds_now() - begin, t.compared, t.skipped, (unsigned long long)t.slow_seed,
               t.slowest);
    } else {
        for (int i = 1; i < argc; i++)
            run_file(&t, argv[i]);
    }
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
