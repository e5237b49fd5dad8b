/* SPDX-License-Identifier: MIT */
/* Random pipelines with random schedules at random sizes, compared with the interpreter (check_schedule.h).
 *
 *     schedules SEED COUNT [SECONDS]          COUNT fresh pipelines from SEED on (0: from the clock)
 *     schedules [--execute] FILE …            programs with a schedule, as in regressions/; --execute: not compiled
 *     schedules --print CASE                  a case as such a file: SEED.SCHEDULE.SIZE, or SEED for its first
 *     schedules --refused SEED COUNT          why schedules were refused, each reason on a line
 *     schedules --made SEED COUNT [SECONDS]   only schedules that the schedulers make
 *     schedules --compiled …                  every schedule compiled, none executed: what scripts/campaign runs
 *     schedules --used …                      the same; where compiled code was not used, that is a failure
 *     schedules --gpu …                       schedules for a device, executed: interp/execute.h says what of kernels
 *                                             is checked
 *     schedules --gpu-made …                  only those that the scheduler for devices makes
 *     schedules --opencl | --cuda …           the same compiled, and run on such a device
 *     schedules --here FILE                   one program, in this process, for a debugger
 *
 * A seed is a pipeline; it is run at SIZES sizes with SCHEDULES random schedules, then with one by each scheduler, made
 * for some machine and for one of the sizes or for none, and with DRAFTS random drafts: these must not be refused, nor
 * take longer than the budget to make. A case is a pipeline, a schedule and a size (boxes of the outputs and inputs,
 * strides, parameters); it counts when it was executed and every value of every output was compared. One schedule in
 * COMPILE_EVERY is also compiled, and run at all sizes; where kn_run would then interpret nevertheless is counted, by
 * family. A case that fails is printed, with the command that repeats it; `tests/fuzz/minimize CASE
 * build/tests/fuzz-schedules` makes it short.
 *
 * The work is done by a process that is started again behind the case that it died of. */
#include "check_schedule.h"
#include "families.h"
#include "generate.h"
#include "generate_schedule.h"
#include "seeds.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZES = 8, COMPILED_SIZES = 24, COMPILE_EVERY = 25, PRINT_EVERY = 9, BATCH = 100 };
#ifdef __SANITIZE_ADDRESS__
static const double BUDGET = 20; /* seconds of a processor that making a schedule may take */
#else
static const double BUDGET = 2;
#endif
enum { MOST_SECONDS = 20 /* of a processor */, MOST_WAIT = 180 /* by the clock: it hangs */, MOST_FAILURES = 50 };
enum { START_AGAIN = 3 }; /* the status of a working process that leaves the next seed to a new one */

/* Schedules in 1000 that may take too long, and cases in 100 that may ask for more of an input than the interpreter:
 * more are a failure. */
enum { MOST_SLOW = 2, MOST_ASKING = 6 };

/* Runs of compiled code, and calls that had to be interpreted. */
typedef struct Use {
    long compiled, interpreted;
} Use;

typedef struct Tally {
    Use    uses[MOST_FAMILIES]; /* by family; behind the last: any program */
    long   pipelines, schedules, accepted, executed, compiled, compiled_schedules, asking_more, too_much, slow, failed;
    double slowest, longest; /* schedule to check, and to make */
    char   slowest_name[48];
} Tally;

/* What the working process and the one that watches it both see. */
typedef struct Shared {
    Tally          tally;
    uint64_t       seed;     /* at work */
    int            schedule; /* -1: none yet */
    ScheduleReport report;
} Shared;

typedef struct Session {
    Shared     *shared;
    const char *program, *option; /* this one's path and option, for the command that repeats a failure */
    bool        show_refusals, only_made, here;
    int         sizes; /* of each pipeline */
    unsigned    parts; /* what is checked; 0: of a file all, of a fresh schedule as parts_of says */
    double      deadline;
} Session;

/* ---- Cases ------------------------------------------------------------------------------- */

/* What is checked of a schedule. */
static unsigned parts_of(const Session *session, uint64_t seed, int number)
{
    const uint64_t at = seed * SCHEDULES + (uint64_t)number;
    if (session->parts == (CHECK_EXECUTE | CHECK_GPU))
        return session->parts | (at % PRINT_EVERY == 1 ? CHECK_PRINT : 0);
    if (session->parts)
        return session->parts;
    return CHECK_EXECUTE | (at % COMPILE_EVERY == 0 ? CHECK_COMPILE : 0) | (at % PRINT_EVERY == 1 ? CHECK_PRINT : 0);
}

static char *numbered(const Session *session, const Subject *s, uint64_t seed, int number)
{
    return (session->parts & CHECK_GPU ? gpu_schedule_of : schedule_of)(s, seed, number);
}

/* "SEED.SCHEDULE.SIZE", the last two 0 if they are not there. */
static void print_named(const Session *session, const char *name)
{
    unsigned long long seed   = 0;
    int                number = 0, size = 0;
    ScheduleReport     report;
    sscanf(name, "%llu.%d.%d", &seed, &number, &size);
    char    *program  = program_of(seed);
    Subject *s        = subject_of(seed, session->sizes, program, &report);
    char    *schedule = s->p && number >= 0 ? numbered(session, s, seed, number) : NULL;
    print_case(s, program, schedule, size);
    subject_free(s, &report);
    free(schedule);
    free(program);
}

/* From now on, a process that works too long, or waits, ends. */
static void limit_time(void)
{
    setitimer(ITIMER_PROF, &(struct itimerval){ .it_value = { .tv_sec = MOST_SECONDS } }, NULL);
    alarm(MOST_WAIT);
}

/* ---- Checking ----------------------------------------------------------------------------- */

static void count(Tally *t, const ScheduleReport *r, unsigned parts, int family, double took, const char *name)
{
    t->uses[family].compiled += r->compiled;
    t->uses[family].interpreted += r->interpreted;
    t->schedules++;
    t->accepted += r->accepted;
    t->executed += r->executed;
    t->compiled += r->compiled;
    t->compiled_schedules += (parts & CHECK_COMPILE) && r->compiled;
    t->asking_more += r->asks_more;
    t->too_much += r->too_much;
    if (took > t->slowest) {
        t->slowest = took;
        snprintf(t->slowest_name, sizeof t->slowest_name, "%s", name);
    }
}

/* `name` is "case SEED.SCHEDULE.SIZE". */
static void say_failure(const Session *session, const ScheduleReport *r, const char *name)
{
    const char *number = name + strlen("case ");
    printf("FAILED %s: %s: %s\n", name, r->report.kind, r->report.text);
    printf("repeat it: %s %s --print %s >case.kiln && %s %s case.kiln\n", session->program, session->option, number,
           session->program, session->option);
}

/* A scheduler gave no schedule: every pipeline has one. */
static Verdict fail_making(const Subject *s, ScheduleReport *report)
{
    *report = (ScheduleReport){ .report = { .kind = "" } };
    return fail(&report->report, "make", "%s", kn_error_text(s->cx));
}

/* Was it refused, although the pipeline can be compiled? */
static bool wrongly_refused(const ScheduleReport *r)
{
    return r->refusal[0] && !r->uncompilable;
}

/* A schedule that was made must be accepted, unless the pipeline cannot be compiled with any, and within the budget. */
static Verdict judge_made(Shared *shared, double taken, Verdict verdict)
{
    ScheduleReport *r = &shared->report;
    if (taken > shared->tally.longest)
        shared->tally.longest = taken;
    if (taken > BUDGET)
        return fail(&r->report, "budget", "%.2f s of a processor to make it", taken);
    if (wrongly_refused(r))
        return fail(&r->report, "refused", "%s", r->refusal);
    return verdict;
}

static void run_schedule(Session *session, Subject *s, uint64_t seed, int number, const char *program)
{
    Shared        *shared = session->shared;
    const double   begin  = seconds_now();
    const unsigned parts  = parts_of(session, seed, number);
    const bool     gpu    = parts & CHECK_GPU;
    char           name[48];
    shared->schedule       = number;
    const clock_t started  = clock();
    char         *schedule = numbered(session, s, seed, number);
    const double  taken    = (double)(clock() - started) / CLOCKS_PER_SEC;
    Verdict       verdict =
        schedule ? subject_check(s, schedule, -1, parts, &shared->report) : fail_making(s, &shared->report);
    if (number >= (gpu ? GPU_SCHEDULES : SCHEDULES) && verdict != PROGRAM_FAILED)
        verdict = judge_made(shared, taken, verdict);
    snprintf(name, sizeof name, "case %llu.%d.%d", (unsigned long long)seed, number, shared->report.size);
    count(&shared->tally, &shared->report, parts, family_of(program), seconds_now() - begin, name + strlen("case "));
    if (verdict == PROGRAM_FAILED) {
        shared->tally.failed++;
        say_failure(session, &shared->report, name);
        print_case(s, program, schedule, shared->report.size);
    }
    if (session->show_refusals && shared->report.refusal[0])
        printf("%s: %s\n", name, shared->report.refusal);
    free(schedule);
}

/* A pipeline with its schedules, until one fails: the others would show the same. */
static void run_seed(Session *session, uint64_t seed)
{
    Shared    *shared = session->shared;
    const long failed = shared->tally.failed;
    const int  end    = session->parts & CHECK_GPU ? gpu_schedule_total() : schedule_total();
    char       name[48], *program = program_of(seed);
    shared->seed     = seed;
    shared->schedule = -1;
    limit_time();
    Subject *s = subject_of(seed, session->sizes, program, &shared->report);
    snprintf(name, sizeof name, "case %llu.-1.0", (unsigned long long)seed);
    if (*shared->report.report.kind) {
        shared->tally.failed++;
        say_failure(session, &shared->report, name);
        puts(program);
    }
    shared->tally.pipelines += s->count > 0;
    const int made = session->parts & CHECK_GPU ? GPU_SCHEDULES : SCHEDULES;
    for (int i = session->only_made ? made : 0; i < end && s->count && shared->tally.failed == failed; i++) {
        if (seconds_now() >= session->deadline)
            break;
        limit_time();
        run_schedule(session, s, seed, i, program);
    }
    if (!subject_free(s, &shared->report)) {
        shared->tally.failed++;
        say_failure(session, &shared->report, name);
    }
    free(program);
}

/* ---- The process that works, and the one that watches --------------------------------------- */

/* Loads the compiler's backend once, before there are processes that would each do it. */
static void load_backend(void)
{
    kn_context *cx = kn_context_new(NULL);
    kn_compile(kn_parse(cx, "warm.kiln", "output out\nout(x) = x\n", -1), NULL);
    kn_context_free(cx);
}

/* How a process ended: true if well, and *again if it did not do all; else the report says how. */
static bool ended_well(pid_t child, bool *again, ScheduleReport *report)
{
    int status = 0;
    waitpid(child, &status, 0);
    *again = WIFEXITED(status) && WEXITSTATUS(status) == START_AGAIN;
    if (*again || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return true;
    const int   by   = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *kind = by == SIGPROF ? "timeout" : by == SIGALRM ? "hang" : "crash";
    fail(&report->report, kind, "signal %d", by);
    return false;
}

/* Says what the working process has died of, and prints the case, in a process of its own. A schedule may make any
 * amount of work: a slow one is only counted. */
static void say_death(Session *session)
{
    Shared *shared = session->shared;
    char    name[48];
    snprintf(name, sizeof name, "case %llu.%d.%d", (unsigned long long)shared->seed, shared->schedule,
             shared->schedule < 0 ? 0 : shared->report.size);
    shared->tally.schedules += shared->schedule >= 0;
    if (!strcmp(shared->report.report.kind, "timeout")) {
        shared->tally.slow++;
        printf("slow: %s\n", name);
        return;
    }
    shared->tally.failed++;
    say_failure(session, &shared->report, name);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        limit_time();
        print_named(session, name + strlen("case "));
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* Is there time, and has not enough failed? */
static bool goes_on(const Session *session)
{
    return seconds_now() < session->deadline && session->shared->tally.failed < MOST_FAILURES;
}

/* What the working process does. After an illegal address CUDA can be used again by a new process only. */
static void work_on(Session *session, uint64_t seed, uint64_t end)
{
    int status = 0;
    for (; seed < end && goes_on(session) && !status; seed++) {
        const long failed = session->shared->tally.failed;
        run_seed(session, seed);
        status = (session->parts & CHECK_CUDA) && session->shared->tally.failed > failed ? START_AGAIN : 0;
    }
    fflush(stdout);
    _exit(status);
}

/* Seeds from `seed` to `end`, in processes that are replaced when they die, behind the seed that they died of. */
static void run_batch(Session *session, uint64_t seed, uint64_t end)
{
    Shared *shared = session->shared;
    bool    again;
    while (seed < end && goes_on(session)) {
        shared->seed     = seed;
        shared->schedule = -1;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0)
            work_on(session, seed, end);
        if (!ended_well(child, &again, &shared->report))
            say_death(session);
        else if (!again)
            return;
        seed = shared->seed + 1;
    }
}

/* Of the processes that have ended. */
static double processor_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static double percent_interpreted(const Use *u)
{
    const long calls = u->compiled + u->interpreted;
    return 100 * (double)u->interpreted / (double)(calls + !calls);
}

/* How often compiled code was there and was not used: of all, and of each family of which it was. */
static void say_uses(const Tally *t)
{
    Use all = { .compiled = 0 };
    for (int i = 0; i < MOST_FAMILIES; i++) {
        all.compiled += t->uses[i].compiled;
        all.interpreted += t->uses[i].interpreted;
    }
    printf("interpreted instead of compiled: %ld of %ld calls (%.1f%%)", all.interpreted,
           all.compiled + all.interpreted, percent_interpreted(&all));
    for (int i = 0; i < MOST_FAMILIES; i++)
        if (t->uses[i].interpreted)
            printf(", %s %.1f%%", family_title(i) ? family_title(i) : "any program", percent_interpreted(&t->uses[i]));
    printf("\n");
}

/* What is compiled is executed too, unless it was left out. */
static long cases_of(const Tally *t)
{
    return t->executed ? t->executed : t->compiled;
}

/* The cases of a pipeline ask for more together, so that a short run may have drawn a few such pipelines. */
static bool asks_too_often(const Tally *t)
{
    enum { BAD_LUCK = 4 }; /* pipelines */
    const long cases = t->executed + t->asking_more;
    return t->asking_more > BAD_LUCK * cases / (t->pipelines + !t->pipelines) + cases * MOST_ASKING / 100;
}

static void say_tally(Tally *t, double seconds)
{
    if (asks_too_often(t)) {
        printf("FAILED: %ld of %ld cases asked for more of an input than the interpreter\n", t->asking_more,
               t->executed + t->asking_more);
        t->failed++;
    }
    if (t->slow > 3 + t->schedules * MOST_SLOW / 1000) {
        printf("FAILED: %ld of %ld schedules took too long\n", t->slow, t->schedules);
        t->failed++;
    }
    const long cases = cases_of(t);
    printf("%ld pipelines x schedules = %ld, %ld of them accepted (%ld%%), x sizes = %ld cases compared in %.1f s "
           "(%.2f ms of a processor each); "
           "%ld executed, %ld compiled (%ld schedules)\n",
           t->pipelines, t->schedules, t->accepted, t->accepted * 100 / (t->schedules + !t->schedules), cases, seconds,
           processor_seconds() * 1e3 / (double)(cases + !cases), t->executed, t->compiled, t->compiled_schedules);
    printf("not compared: %ld cases that asked for more of an input than the interpreter, %ld with too many steps; %ld "
           "schedules took too long; the slowest, "
           "%s, took %.2f s; made in %.3f s of a processor at most\n",
           t->asking_more, t->too_much, t->slow, t->slowest_name, t->slowest, t->longest);
    say_uses(t);
}

static void run_seeds(Session *session, uint64_t seed, long pipelines, double limit)
{
    const double begin = seconds_now();
    const Tally *t     = &session->shared->tally;
    if (!seed)
        seed = (uint64_t)time(NULL) * 1000000;
    printf("seed %llu\n", (unsigned long long)seed);
    session->deadline = begin + limit;
    for (long done = 0; done < pipelines && goes_on(session); done += BATCH)
        run_batch(session, seed + (uint64_t)done,
                  seed + (uint64_t)(pipelines - done < BATCH ? pipelines : done + BATCH));
    say_tally(&session->shared->tally, seconds_now() - begin);
    printf("%ld passed, %ld failed\n", cases_of(t), t->failed);
}

/* ---- Files -------------------------------------------------------------------------------- */

/* A program of a file at the sizes of its comments; where they say nothing of strides, also with some. */
static bool check_text(const char *text, unsigned parts, ScheduleReport *report)
{
    static const uint64_t layouts[] = { 2, 3, 101, 1 };
    Subject              *s         = subject_new(text, NULL, 0, report);
    bool                  ok        = !*report->report.kind;
    for (size_t i = 0; s->count && !s->cases[0].layout && i < sizeof layouts / sizeof *layouts; i++)
        subject_add_layout(s, layouts[i]);
    if (ok && s->count)
        ok = subject_check(s, NULL, -1, parts, report) != PROGRAM_FAILED;
    if (ok && wrongly_refused(report))
        ok = fail(&report->report, "refused", "%s", report->refusal) != PROGRAM_FAILED;
    ScheduleReport left;
    if (!subject_free(s, ok ? report : &left))
        ok = false;
    return ok;
}

static bool run_file(Session *session, const char *path)
{
    const unsigned  parts  = session->parts ? session->parts : CHECK_EXECUTE | CHECK_COMPILE | CHECK_PRINT;
    FILE           *file   = fopen(path, "rb");
    char           *text   = calloc(1, 1 << 20);
    ScheduleReport *report = &session->shared->report;
    bool            ok     = false, again;
    if (!file || fread(text, 1, (1 << 20) - 1, file) == 0) {
        printf("%s: cannot be read\n", path);
    } else if (session->here) {
        ok = check_text(text, parts, report);
    } else {
        const pid_t child = fork();
        if (child == 0) {
            limit_time();
            session->shared->schedule = check_text(text, parts, report);
            _exit(0);
        }
        ok = ended_well(child, &again, report) && session->shared->schedule == 1;
    }
    if (!ok)
        printf("FAILED %s: %s: %s\n%s\n", path, report->report.kind ? report->report.kind : "", report->report.text,
               text);
    else if (!report->executed && !report->compiled)
        printf("%s: nothing was compared: %s\n", path,
               report->asks_more ? "it asks for more of an input than the interpreter" : report->refusal);
    if (file)
        fclose(file);
    free(text);
    return ok;
}

static void run_files(Session *session, char **paths, int path_count)
{
    int failed = 0;
    for (int i = 0; i < path_count; i++)
        failed += !run_file(session, paths[i]);
    session->shared->tally.failed = failed;
    printf("%d passed, %d failed\n", path_count - failed, failed);
}

/* What the first word changes. */
static const struct Option {
    const char *name;
    Session     session;
} options[] = {
    { "", { .sizes = SIZES } },
    { "--execute", { .parts = CHECK_EXECUTE, .sizes = SIZES } },
    { "--compiled", { .parts = CHECK_COMPILE, .sizes = COMPILED_SIZES } },
    { "--used", { .parts = CHECK_COMPILE | CHECK_USED, .sizes = COMPILED_SIZES } },
    { "--refused", { .show_refusals = true, .sizes = SIZES } },
    { "--made", { .only_made = true, .sizes = SIZES } },
    { "--gpu", { .parts = CHECK_EXECUTE | CHECK_GPU, .sizes = SIZES } },
    { "--gpu-made", { .parts = CHECK_EXECUTE | CHECK_GPU, .only_made = true, .sizes = SIZES } },
    { "--opencl", { .parts = CHECK_COMPILE | CHECK_GPU, .sizes = SIZES } },
    { "--cuda", { .parts = CHECK_COMPILE | CHECK_GPU | CHECK_CUDA, .sizes = SIZES } },
    { "--gpu-refused", { .parts = CHECK_EXECUTE | CHECK_GPU, .show_refusals = true, .sizes = SIZES } },
    { "--here", { .here = true, .sizes = SIZES } },
};
enum { OPTIONS = sizeof options / sizeof *options };

/* Takes the option away from the words; that of no name if there is none. */
static Session take_option(int *count, char ***words)
{
    int which = 0;
    for (int i = 1; *count && i < OPTIONS; i++)
        if (!strcmp(**words, options[i].name))
            which = i;
    *count -= which > 0;
    *words += which > 0;
    Session session = options[which].session;
    session.option  = options[which].name;
    session.shared  = mmap(NULL, sizeof *session.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return session;
}

int main(int argc, char **argv)
{
    int     count   = argc - 1;
    char  **words   = argv + 1, *end;
    Session session = take_option(&count, &words);
    session.program = argv[0];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (session.shared == MAP_FAILED || !count)
        return 2;
    if (count == 2 && !strcmp(words[0], "--print")) {
        print_named(&session, words[1]);
        return 0;
    }
    if (!session.parts || (session.parts & CHECK_COMPILE))
        load_backend();
    const uint64_t seed = strtoull(words[0], &end, 10);
    if (count > 1 && !*end)
        run_seeds(&session, seed, strtol(words[1], NULL, 10), count > 2 ? strtod(words[2], NULL) : 1e9);
    else
        run_files(&session, words, count);
    return session.shared->tally.failed != 0;
}
