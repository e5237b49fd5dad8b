/* SPDX-License-Identifier: MIT */
/* Random affine C programs, tiled: each gives the bytes that the program as written gives, or is refused with a reason.
 *
 *     fuzz-tile SEED COUNT [SECONDS]     that many programs, or as many as there is time for; SEED 0: a fresh one
 *     fuzz-tile --show SEED              one program
 *
 * Every program is tiled in a random shape with random sizes; where that shape is refused, by `auto`, and by `none`
 * last. Many are compiled at a time, as written and tiled, and run at several sizes with two threads. What fails is
 * left in out/fuzz/tile, with its seed. A program has MOST_SECONDS for each shape. */
#include "affine.h"
#include "kiln.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 20, MOST_REASONS = 200, MOST_LINE = 200, MOST_SECONDS = 3, MOST_TEXT = 1 << 20 };

typedef struct Reason {
    char text[MOST_LINE];
    int  count;
} Reason;

typedef struct Fuzz {
    char        folder[64];
    uint64_t    seeds[BATCH];
    const char *shapes[BATCH];
    int         ids[BATCH], count; /* of the batch: those that were tiled */
    int         tiled, refused, failed;
    time_t      end; /* no program is begun after it */
    Reason      reasons[MOST_REASONS];
    int         reason_count;
} Fuzz;

static const char *const shapes[] = { "auto",    "none",   "diamond",       "diamond", "parallelogram", "scalene",
                                      "scalene", "hybrid", "parallelogram", "auto",    "rectangle",     "auto" };

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* The program's own text; freed by the caller. */
static char *program_text(uint64_t seed, int id)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out  = open_memstream(&text, &size);
    if (!out)
        abort();
    affine_prelude(out);
    affine_program(out, seed, id);
    fclose(out);
    return text;
}

/* Counts why a program was refused, names and numbers left out. */
static void note_reason(Fuzz *f, const char *shape, const char *message)
{
    char line[MOST_LINE];
    int  n = snprintf(line, sizeof line, "%s: ", shape);
    for (bool quoted = false; *message && *message != '\n' && n < MOST_LINE - 2; message++) {
        quoted ^= *message == '`';
        if (!quoted && *message != '`' && !(*message >= '0' && *message <= '9'))
            line[n++] = *message;
    }
    line[n] = 0;
    int i   = 0;
    while (i < f->reason_count && strcmp(f->reasons[i].text, line))
        i++;
    if (i == MOST_REASONS)
        return;
    if (i == f->reason_count) {
        strcpy(f->reasons[i].text, line);
        f->reason_count++;
    }
    f->reasons[i].count++;
}

/* How a process that tiles one program ends. */
enum { TILED, REFUSED, BROKEN };

/* In a process of its own: the tiled text, or why there is none, goes to the file. */
static int tile_alone(const char *text, uint64_t seed, const char *shape, const char *path)
{
    char        sizes[64];
    kn_context *cx  = kn_context_new(NULL);
    FILE       *out = fopen(path, "w");
    alarm(MOST_SECONDS);
    snprintf(sizes, sizeof sizes, "%d,%d,%d", 1 + (int)(mix(seed + 1) % 5), 1 + (int)(mix(seed + 2) % 7),
             2 + (int)(mix(seed + 3) % 6));
    const bool            own     = mix(seed + 4) % 3 != 0;
    const kn_tile_options options = { .shape = shape, .sizes = own ? sizes : NULL, .threads = 2 };
    const char           *tiled   = kn_tile(cx, "case.c", text, -1, &options, NULL);
    const kn_diagnostic   d       = tiled ? (kn_diagnostic){ 0 } : kn_diagnostic_get(cx, 0);
    const bool broken = !tiled && (kn_diagnostic_count(cx) == 0 || (d.error && !strcmp(d.error, "internal")));
    fputs(tiled ? tiled : d.message ? d.message : "no reason", out);
    fclose(out);
    kn_context_free(cx);
    return tiled ? TILED : broken ? BROKEN : REFUSED;
}

/* The tiled text, to be freed; NULL if it is refused, or takes too long. */
static char *tile(Fuzz *f, const char *text, uint64_t seed, const char *shape)
{
    char  path[128];
    int   status = 0;
    char *made   = calloc(1, MOST_TEXT);
    snprintf(path, sizeof path, "%s/one.c", f->folder);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        _exit(tile_alone(text, seed, shape, path));
    waitpid(child, &status, 0);
    FILE *in = fopen(path, "r");
    if (in) {
        if (fread(made, 1, MOST_TEXT - 1, in) == MOST_TEXT - 1)
            strcpy(made, "the text is too long");
        fclose(in);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == TILED && *made)
        return made;
    const bool slow = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    note_reason(f, shape, slow ? "not tiled in time" : made);
    if (!slow && !(WIFEXITED(status) && WEXITSTATUS(status) == REFUSED)) {
        printf("seed %llu, shape %s: %s\n", (unsigned long long)seed, shape, WIFSIGNALED(status) ? "it crashed" : made);
        f->failed++;
    }
    free(made);
    return NULL;
}

static void keep(const Fuzz *f, int i, const char *why)
{
    char path[128];
    mkdir("out", 0777), mkdir("out/fuzz", 0777), mkdir("out/fuzz/tile", 0777);
    snprintf(path, sizeof path, "out/fuzz/tile/%llu.c", (unsigned long long)f->seeds[i]);
    printf("seed %llu, shape %s: %s; see %s\n", (unsigned long long)f->seeds[i], f->shapes[i], why, path);
    FILE *out = fopen(path, "w");
    if (!out)
        return;
    char *text = program_text(f->seeds[i], f->ids[i]);
    fputs(text, out);
    affine_main(out, &f->ids[i], 1);
    fclose(out);
    free(text);
}

static FILE *open_in(const Fuzz *f, const char *name, const char *mode)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *file = fopen(path, mode);
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

/* Compiles NAME.c there and runs it, with its lines in NAME.out. */
static bool compile_and_run(const Fuzz *f, const char *name)
{
    char command[600];
    snprintf(command, sizeof command,
             "cd %s && cc -O1 -w -fopenmp -ffp-contract=off %s.c -o %s -lm 2>%s.log && OMP_NUM_THREADS=2 timeout 100 "
             "./%s >%s.out "
             "2>%s.log",
             f->folder, name, name, name, name, name, name);
    return system(command) == 0;
}

/* Which of the batch printed other lines: compares the outputs, and counts. */
static void compare(Fuzz *f)
{
    FILE *a = open_in(f, "given.out", "r"), *b = open_in(f, "tiled.out", "r");
    char  x[MOST_LINE], y[MOST_LINE];
    bool  wrong[BATCH] = { false };
    while (fgets(x, sizeof x, a)) {
        const bool more = fgets(y, sizeof y, b) != NULL;
        for (int i = 0; i < f->count; i++)
            if (atoi(x) == f->ids[i] && !wrong[i] && (!more || strcmp(x, y))) {
                wrong[i] = true;
                f->failed++;
                keep(f, i, more ? "another result" : "did not end");
            }
        if (!more)
            break;
    }
    fclose(a);
    fclose(b);
}

static void run_batch(Fuzz *f)
{
    if (!f->count)
        return;
    FILE *given = open_in(f, "given.c", "a"), *tiled = open_in(f, "tiled.c", "a");
    affine_main(given, f->ids, f->count);
    affine_main(tiled, f->ids, f->count);
    fclose(given);
    fclose(tiled);
    if (!compile_and_run(f, "given")) {
        printf("the programs as written cannot be run: see %s\n", f->folder);
        f->failed++;
    } else {
        if (!compile_and_run(f, "tiled"))
            printf("the tiled programs cannot be compiled or run to their end: see %s/tiled.log\n", f->folder);
        compare(f);
    }
}

/* A program in the first shape that is not refused, added to both files. */
static void add_program(Fuzz *f, uint64_t seed, FILE *given, FILE *tiled)
{
    const int   id      = f->count;
    char       *text    = program_text(seed, id);
    const char *tries[] = { shapes[mix(seed) % (sizeof shapes / sizeof *shapes)], "auto", "none" };
    char       *done    = NULL;
    for (int i = 0; !done && i < 3; i++) {
        if (i && !strcmp(tries[i], tries[i - 1]))
            continue;
        done          = tile(f, text, seed, tries[i]);
        f->shapes[id] = tries[i];
    }
    if (done) {
        fputs(text, given);
        fputs(done, tiled);
        f->seeds[id] = seed;
        f->ids[id]   = id;
        f->count++;
        f->tiled++;
    } else {
        f->refused++;
    }
    free(done);
    free(text);
}

static void batch(Fuzz *f, uint64_t seed, int count)
{
    FILE *given = open_in(f, "given.c", "w"), *tiled = open_in(f, "tiled.c", "w");
    f->count = 0;
    for (int i = 0; i < count && time(NULL) < f->end; i++)
        add_program(f, seed + (uint64_t)i, given, tiled);
    fclose(given);
    fclose(tiled);
    run_batch(f);
}

static int by_count(const void *a, const void *b)
{
    return ((const Reason *)b)->count - ((const Reason *)a)->count;
}

static void report(Fuzz *f, uint64_t seed)
{
    qsort(f->reasons, (size_t)f->reason_count, sizeof *f->reasons, by_count);
    for (int i = 0; i < f->reason_count && i < 25; i++)
        printf("%6d  %s\n", f->reasons[i].count, f->reasons[i].text);
    printf("seed %llu: %d tiled, %d refused\n%d passed, %d failed\n", (unsigned long long)seed, f->tiled, f->refused,
           f->tiled + f->refused - f->failed, f->failed);
}

int main(int argc, char **argv)
{
    static Fuzz f;
    if (argc == 3 && !strcmp(argv[1], "--show")) {
        char *text = program_text(strtoull(argv[2], NULL, 10), 0);
        fputs(text, stdout);
        affine_main(stdout, (const int[]){ 0 }, 1);
        free(text);
        return 0;
    }
    if (argc < 3) {
        fputs("usage: fuzz-tile SEED COUNT [SECONDS], or fuzz-tile --show SEED\n", stderr);
        return 2;
    }
    uint64_t     seed  = strtoull(argv[1], NULL, 10);
    const int    count = atoi(argv[2]);
    const time_t begin = time(NULL);
    f.end              = begin + (argc > 3 ? atoi(argv[3]) : 1 << 30);
    seed               = seed ? seed : mix((uint64_t)begin * 1000003u + (uint64_t)getpid()) >> 16;
    setvbuf(stdout, NULL, _IOLBF, 0);
    strcpy(f.folder, "/tmp/kiln-tile-XXXXXX");
    if (!mkdtemp(f.folder)) {
        perror(f.folder);
        return 1;
    }
    for (int done = 0; done < count && time(NULL) < f.end && f.failed < 20; done += BATCH)
        batch(&f, seed + (uint64_t)done, count - done < BATCH ? count - done : BATCH);
    report(&f, seed);
    if (!f.failed) {
        char command[100];
        snprintf(command, sizeof command, "rm -r %s", f.folder);
        if (system(command))
            return 1;
    }
    return f.failed != 0;
}
