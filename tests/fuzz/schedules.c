/* Random programs with random schedules, compared with the interpreter (check_schedule.h).
 *
 *     schedules SEED COUNT [SECONDS]     COUNT fresh cases from SEED on (0: from the clock), SECONDS at most
 *     schedules FILE …                   programs with a schedule, as they are kept in regressions/
 *     schedules --print SEED             the case of a seed
 *     schedules --refused SEED COUNT     why schedules were refused, each reason on a line
 *     schedules --here FILE              one program, in this process, for a debugger
 *
 * A case that fails is printed with its seed; `tests/fuzz/minimize SEED build/tests/fuzz-schedules` makes it short. */
#include "check_schedule.h"
#include "families.h"
#include "generate.h"
#include "generate_schedule.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SECONDS = 20, MOST_FAILURES = 50, COMPILE_EVERY = 5 };

/* Cases that took too long, and in percent those that asked for more of an input than the interpreter: more are a failure. */
enum { MOST_SLOW = 5, MOST_ASKING = 2 };

typedef struct Tally {
    int      passed, failed, skipped, asking_more, slow;
    int      reached[REACHED_COMPILED + 1];
    bool     show_refusals, is_here;
    double   slowest;
    uint64_t slow_seed;
} Tally;

/* The program of a seed with its schedule: one in four is any program, the others are of the kinds of families.h. */
static char *case_of(uint64_t seed)
{
    Choices c = { .seed = seed * 2654435761u + 1 };
    for (int i = 0; i < 4; i++)
        choose(&c, 2);
    char        *program  = choose(&c, 4) == 0 ? generate_program(&c) : generate_family(&c);
    kn_context  *cx       = kn_context_new(NULL);
    kn_pipeline *p        = kn_parse(cx, "program.kiln", program, -1);
    char        *schedule = p ? generate_schedule(&c, p) : NULL;
    const size_t size     = strlen(program) + (schedule ? strlen(schedule) : 0) + 1;
    char        *text     = malloc(size);
    snprintf(text, size, "%s%s", program, schedule ? schedule : "");
    kn_context_free(cx);
    free(schedule);
    free(program);
    return text;
}

typedef struct Outcome {
    Verdict        verdict;
    ScheduleReport report;
} Outcome;

/* Checks in a process of its own, so that a crash, or one that does not end, is a failure like others. */
static Outcome check_apart(const char *text, uint64_t seed, bool compile)
{
    Outcome *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int      status = 0;
    if (shared == MAP_FAILED)
        return (Outcome){ .verdict = PROGRAM_SKIPPED };
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(MOST_SECONDS);
        shared->verdict = check_schedule(text, seed, compile, &shared->report);
        _exit(0);
    }
    waitpid(child, &status, 0);
    Outcome outcome = *shared;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        outcome.verdict            = PROGRAM_FAILED;
        outcome.report.report.kind = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "timeout" : "crash";
        snprintf(outcome.report.report.text, sizeof outcome.report.report.text, "signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    }
    munmap(shared, sizeof *shared);
    return outcome;
}

static void run_text(Tally *t, const char *text, uint64_t seed, bool compile, const char *what)
{
    Outcome o;
    if (t->is_here)
        o.verdict = check_schedule(text, seed, compile, &o.report);
    else
        o = check_apart(text, seed, compile);
    const ScheduleReport *r    = &o.report;
    const bool            slow = o.verdict == PROGRAM_FAILED && !strcmp(r->report.kind, "timeout");
    const Verdict         v    = slow && ++t->slow <= MOST_SLOW ? PROGRAM_SKIPPED : o.verdict;      /* a schedule may make any amount of work */
    t->passed += v == PROGRAM_PASSED;
    t->failed += v == PROGRAM_FAILED;
    t->skipped += v == PROGRAM_SKIPPED;
    t->asking_more += r->asks_more;
    for (Reached k = REACHED_NOTHING; k <= r->reached; k++)
        t->reached[k]++;
    if (v == PROGRAM_FAILED)
        printf("FAILED %s: %s: %s\n%s\n", what, r->report.kind, r->report.text, text);
    if (t->show_refusals && r->refusal[0])
        printf("%s: %s\n", what, r->refusal);
}

static void run_seed(Tally *t, uint64_t seed)
{
    char         what[64], *text = case_of(seed);
    const double begin = seconds_now();
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
    run_text(t, text, seed, seed % COMPILE_EVERY == 0, what);
    free(text);
    const double took = seconds_now() - begin;
    if (took > t->slowest) {
        t->slowest   = took;
        t->slow_seed = seed;
    }
}

/* Loads the compiler's backend once, before there are processes that would each do it. */
static void load_backend(void)
{
    kn_context *cx = kn_context_new(NULL);
    kn_compile(kn_parse(cx, "warm.kiln", "output out\nout(x) = x\n", -1), NULL);
    kn_context_free(cx);
}

static void run_seeds(Tally *t, uint64_t seed, long count, double limit)
{
    const double begin = seconds_now();
    long         done  = 0;
    if (!seed)
        seed = (uint64_t)time(NULL) * 1000000;
    printf("seed %llu\n", (unsigned long long)seed);
    for (; done < count && t->failed < MOST_FAILURES && seconds_now() - begin < limit; done++)
        run_seed(t, seed + (uint64_t)done);
    const int *n = t->reached;
    if (t->asking_more > 2 + n[REACHED_PLAN] * MOST_ASKING / 100) {
        printf("FAILED: %d of %d cases asked for more of an input than the interpreter\n", t->asking_more, n[REACHED_PLAN]);
        t->failed++;
    }
    printf("%ld cases in %.1f s: %d ran in the interpreter, %d schedules accepted (%d%%), %d executed, %d compiled, %d asked for more than there is, %d took too long; the slowest, seed %llu, took %.2f s\n",
           done, seconds_now() - begin, n[REACHED_REFERENCE], n[REACHED_PLAN], n[REACHED_PLAN] * 100 / (n[REACHED_REFERENCE] + !n[REACHED_REFERENCE]),
           n[REACHED_EXECUTED], n[REACHED_COMPILED], t->asking_more, t->slow, (unsigned long long)t->slow_seed, t->slowest);
}

static void run_file(Tally *t, const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!file || fread(text, 1, (1 << 20) - 1, file) == 0) {
        printf("%s: cannot be read\n", path);
        t->failed++;
    } else {
        for (uint64_t seed = 1; seed <= 3; seed++)
            run_text(t, text, seed, true, path);
    }
    if (file)
        fclose(file);
    free(text);
}

int main(int argc, char **argv)
{
    Tally t = { .passed = 0 };
    setvbuf(stdout, NULL, _IOLBF, 0);
    load_backend();
    if (argc > 3 && !strcmp(argv[1], "--refused")) {
        t.show_refusals = true;
        argc--, argv++;
    }
    char    *end  = NULL;
    uint64_t seed = argc > 1 ? strtoull(argv[1], &end, 10) : 0;
    if (argc == 3 && !strcmp(argv[1], "--print")) {
        char *text = case_of(strtoull(argv[2], NULL, 10));
        fputs(text, stdout);
        free(text);
        return 0;
    }
    if (argc == 3 && !strcmp(argv[1], "--here")) {
        t.is_here = true;
        argc--, argv++;
    }
    if (argc >= 3 && end && !*end) {
        run_seeds(&t, seed, strtol(argv[2], NULL, 10), argc > 3 ? strtod(argv[3], NULL) : 1e9);
    } else {
        for (int i = 1; i < argc; i++)
            run_file(&t, argv[i]);
    }
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
