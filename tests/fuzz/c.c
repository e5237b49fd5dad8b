/* SPDX-License-Identifier: MIT */
/* Random pipelines with random schedules, written as C by `kn_build`, compiled by a C compiler, and compared with the
 * interpreter at several sizes (check_schedule.h).
 *
 *     c SEED COUNT [SECONDS [CC [FLAG…]]]    COUNT fresh pipelines from SEED on (0: from the clock), for SECONDS at
 *                                            most, compiled by CC (cc) with these FLAGs too
 *     c --keep FOLDER SEED COUNT …           the files stay in FOLDER
 *     c FILE …                               programs with a schedule, as they are kept in regressions/
 *
 * The seeds are those of fuzz-schedules: `fuzz-schedules --print SEED.SCHEDULE.SIZE` prints a case. A call of the
 * compiler has the files of BATCH pipelines. Batches take turns in the ways that a file can be compiled: vectors or
 * plain loops, with threads of one kind or the other or none, one of them optimized. A warning is a failure.
 *
 * Each batch is a process of its own, so that one that crashes is a failure with its case. */
#include "seeds.h"

#include "interp/ops.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 8, SIZES = 6, MOST_CASES = 200, MOST_FAILURES = 20, MOST_WAIT = 600 };

static const char *const ways[] = { "-O0", "-O0 -DKN_PLAIN", "-O0 -DKN_THREADS", "-O0 -fopenmp -DKN_PLAIN",
                                    "-O2 -fopenmp" };
enum { WAY_COUNT = sizeof ways / sizeof *ways };

static const char always[] = "-std=c11 -ffp-contract=off -Wall -Wextra -Wno-psabi -Werror -shared -fPIC -Wl,-Bsymbolic";

/* What the working process and the one that watches it both see. */
typedef struct Shared {
    long               pipelines, files, compared, asks_more, refused, failed;
    unsigned long long seed; /* at work */
    int                schedule, size;
} Shared;

typedef struct Session {
    Shared     *shared;
    const char *folder, *compiler, *flags;
    bool        keep;
    double      deadline;
} Session;

/* One file. */
typedef struct CFile {
    Subject           *subject;
    unsigned long long seed;
    int                schedule;
} CFile;

typedef struct Batch {
    Session *session;
    char     folder[300];
    Subject *subjects[BATCH];
    char    *programs[BATCH];
    int      subject_count, file_count;
    CFile    files[MOST_CASES];
} Batch;

/* The function in a file that stands alone. */
typedef int         CFunction(const kn_buffer *const *buffers, const void *params);
typedef const char *CError(void);

typedef struct CCode {
    CFunction *function;
    CError    *error;
} CCode;

static void say_failure(Shared *s, const char *kind, const char *text)
{
    s->failed++;
    printf("FAILED case %llu.%d.%d: %s: %s\n", s->seed, s->schedule, s->size, kind, text);
}

/* ---- Writing ------------------------------------------------------------------------------ */

/* One more file, if the schedule is legal and the program can be built ahead of time. */
static void write_file(Batch *b, Subject *s, unsigned long long seed, int number)
{
    Shared *shared   = b->session->shared;
    shared->schedule = number;
    char *schedule   = schedule_of(s, seed, number);
    char  path[400];
    snprintf(path, sizeof path, "%s/f%d", b->folder, b->file_count);
    if (!schedule || kn_schedule_parse(s->p, "schedule.sched", schedule, -1) != KN_OK ||
        kn_build(s->p, path, &(kn_options){ .strict_float = true }, "c", NULL) != KN_OK) {
        shared->refused++;
        if (strstr(kn_error_text(s->cx), "mistake in Kiln"))
            say_failure(shared, "write", kn_error_text(s->cx));
    } else {
        b->files[b->file_count++] = (CFile){ s, seed, number };
        shared->files++;
    }
    free(schedule);
}

/* Writes the program that a file has, with the schedule in it. */
static void write_given(Batch *b, const char *path)
{
    ScheduleReport report;
    FILE          *file = fopen(path, "rb");
    char          *text = calloc(1, 1 << 20), out[400];
    if (!file || fread(text, 1, (1 << 20) - 1, file) == 0)
        say_failure(b->session->shared, "read", path);
    if (file)
        fclose(file);
    Subject *s = subject_new(text, NULL, 0, &report);
    snprintf(out, sizeof out, "%s/f%d", b->folder, b->file_count);
    if (s->count && kn_build(s->p, out, &(kn_options){ .strict_float = true }, "c", NULL) == KN_OK) {
        b->files[b->file_count] = (CFile){ s, (unsigned)b->file_count, 0 };
        b->file_count++;
        b->session->shared->files++;
    }
    b->programs[b->subject_count]   = text;
    b->subjects[b->subject_count++] = s;
}

static void write_pipeline(Batch *b, unsigned long long seed)
{
    Shared        *shared = b->session->shared;
    ScheduleReport report;
    shared->seed     = seed;
    shared->schedule = -1;
    char    *program = program_of(seed);
    Subject *s       = subject_of(seed, SIZES, program, &report);
    shared->pipelines += s->count > 0;
    for (int i = 0; i < schedule_total() && s->count && b->file_count < MOST_CASES; i++)
        write_file(b, s, seed, i);
    b->programs[b->subject_count]   = program;
    b->subjects[b->subject_count++] = s;
}

/* ---- Compiling and running ---------------------------------------------------------------- */

/* One call of the compiler for all files; what it says goes to our own output. */
static bool compile_files(Batch *b, const char *way)
{
    const size_t size    = 2000 + (size_t)b->file_count * (strlen(b->folder) + 20);
    char        *command = malloc(size);
    int n = snprintf(command, size, "%s %s %s %s -o %s/batch.so", b->session->compiler, always, way, b->session->flags,
                     b->folder);
    for (int i = 0; i < b->file_count; i++)
        n += snprintf(command + n, size - (size_t)n, " %s/f%d.c", b->folder, i);
    snprintf(command + n, size - (size_t)n, " -lm 2>&1");
    const bool done = system(command) == 0;
    free(command);
    return done;
}

static kn_status call_code(void *user, const Run *r, const char **error)
{
    CCode           *code = user;
    const kn_buffer *buffers[MOST_PORTS];
    uint64_t         params[MOST_PORTS] = { 0 };
    int              buffer_count = 0, param_count = 0;
    for (int i = 0; i < r->count; i++) {
        const kn_arg *a = &r->args[i];
        if (a->buffer)
            buffers[buffer_count++] = a->buffer;
        else {
            const kn_type type = kn_port_get(r->p, i).type;
            lane_store(type, &params[param_count++], lane_from_scalar(type, a->value));
        }
    }
    const kn_status status = (kn_status)code->function(buffers, params);
    *error                 = code->error();
    return status;
}

static void run_file(Batch *b, int index, void *library)
{
    Shared      *shared = b->session->shared;
    const CFile *f      = &b->files[index];
    CCode        code;
    char         name[40];
    snprintf(name, sizeof name, "f%d_kiln", index);
    void *function = dlsym(library, name), *error = dlsym(library, "kn_rt_last_error");
    shared->seed     = f->seed;
    shared->schedule = f->schedule;
    memcpy(&code.function, &function, sizeof function);
    memcpy(&code.error, &error, sizeof error);
    if (!function || !error) {
        say_failure(shared, "load", name);
        return;
    }
    for (int size = 0; size < f->subject->count; size++) {
        ScheduleReport report = { .report = { .kind = "" } };
        shared->size          = size;
        const Verdict verdict = subject_call(f->subject, size, call_code, &code, "c", &report);
        shared->compared += verdict == PROGRAM_PASSED;
        shared->asks_more += report.asks_more;
        if (verdict == PROGRAM_FAILED) {
            say_failure(shared, report.report.kind, report.report.text);
            return;
        }
    }
}

static void run_files(Batch *b, const char *way)
{
    Shared *shared = b->session->shared;
    char    path[400];
    snprintf(path, sizeof path, "%s/batch.so", b->folder);
    if (!compile_files(b, way)) {
        say_failure(shared, "compile", way);
        return;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        say_failure(shared, "load", dlerror());
        return;
    }
    for (int i = 0; i < b->file_count; i++)
        run_file(b, i, library);
}

/* ---- Batches ------------------------------------------------------------------------------ */

/* `files` NULL: the pipelines of `count` seeds. */
static void run_batch(Session *session, char **files, unsigned long long seed, int count, int number)
{
    Batch b = { .session = session };
    snprintf(b.folder, sizeof b.folder, "%s/kiln-c-XXXXXX", session->folder);
    if (!mkdtemp(b.folder)) {
        say_failure(session->shared, "folder", b.folder);
        return;
    }
    for (int i = 0; i < count; i++)
        if (files)
            write_given(&b, files[i]);
        else
            write_pipeline(&b, seed + (unsigned)i);
    if (b.file_count)
        run_files(&b, ways[number % WAY_COUNT]);
    for (int i = 0; i < b.subject_count; i++) {
        ScheduleReport report;
        if (!subject_free(b.subjects[i], &report))
            say_failure(session->shared, "leak", report.report.text);
        free(b.programs[i]);
    }
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", b.folder);
    if (!session->keep && system(command) != 0)
        printf("%s is left\n", b.folder);
}

static void watch_batch(Session *session, char **files, unsigned long long seed, int count, int number)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(MOST_WAIT);
        run_batch(session, files, seed, count, number);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    char text[80];
    snprintf(text, sizeof text, "ended with %d, compiled with `%s`", status, ways[number % WAY_COUNT]);
    if (status)
        say_failure(session->shared, "crash", text);
}

/* The flags as one text. */
static char *joined(int count, char **words)
{
    size_t size = 1;
    for (int i = 0; i < count; i++)
        size += strlen(words[i]) + 1;
    char *text = calloc(1, size);
    for (int i = 0; i < count; i++)
        strcat(strcat(text, i ? " " : ""), words[i]);
    return text;
}

/* Programs of files, in every way of compiling. */
static void run_given(Session *session, int count, char **files)
{
    session->flags = "";
    for (int way = 0; way < WAY_COUNT; way++)
        for (int done = 0; done < count; done += BATCH)
            watch_batch(session, files + done, 0, count - done < BATCH ? count - done : BATCH, way);
}

static void run_seeds(Session *session, int count, char **words)
{
    Shared            *s    = session->shared;
    unsigned long long seed = strtoull(words[0], NULL, 10);
    const long         most = strtol(words[1], NULL, 10);
    session->deadline       = seconds_now() + (count > 2 ? strtod(words[2], NULL) : 1e9);
    if (count > 3)
        session->compiler = words[3];
    char *flags    = count > 4 ? joined(count - 4, words + 4) : calloc(1, 1);
    session->flags = flags;
    if (!seed)
        seed = (unsigned long long)time(NULL) * 1000000;
    printf("seed %llu\n", seed);
    for (long done = 0; done < most && seconds_now() < session->deadline && s->failed < MOST_FAILURES; done += BATCH)
        watch_batch(session, NULL, seed + (unsigned long long)done, most - done < BATCH ? (int)(most - done) : BATCH,
                    (int)((seed / BATCH + (unsigned long long)(done / BATCH)) % WAY_COUNT));
    free(flags);
}

int main(int argc, char **argv)
{
    Session session = { .folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", .compiler = "cc" };
    int     count   = argc - 1;
    char  **words   = argv + 1;
    if (count > 2 && !strcmp(words[0], "--keep")) {
        session.keep   = true;
        session.folder = words[1];
        count -= 2;
        words += 2;
    }
    if (!count)
        return 2;
    session.shared = mmap(NULL, sizeof *session.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (session.shared == MAP_FAILED)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    Shared *s = session.shared;
    if (count > 1 && strspn(words[0], "0123456789") == strlen(words[0]))
        run_seeds(&session, count, words);
    else
        run_given(&session, count, words);
    printf("%ld pipelines, %ld files of C, %ld schedules refused; not compared: %ld cases that asked for more of an "
           "input\n",
           s->pipelines, s->files, s->refused, s->asks_more);
    if (!s->failed && !s->compared) {
        printf("FAILED: nothing was compared\n");
        s->failed++;
    }
    printf("%ld passed, %ld failed\n", s->compared, s->failed);
    return s->failed != 0;
}
