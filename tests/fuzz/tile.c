/* SPDX-License-Identifier: MIT */
/* Random affine C programs, tiled: each gives the bytes that the program as written gives, or is refused with a reason.
 *
 *     fuzz-tile SEED COUNT [SECONDS [llvm]]  that many programs, or as many as there is time for; SEED 0: a fresh one
 *     fuzz-tile --show SEED                  one program, and how it is tiled
 *
 * Every program is tiled in a random shape with random sizes; where that shape is refused, by `auto`, or by `none` if
 * the quota was spent. Many are compiled at a time, as written, tiled, and tiled with every loop that is marked as
 * parallel or vector running the other way (reverse.c), and run at several sizes. With `llvm` they are tiled for that
 * target, and nothing runs the other way. What fails is left in out/fuzz/tile, with its seed. To take more than
 * MOST_SECONDS of processor time for a shape is a failure too.
 *
 * Nearly all the time is isl's, and most of that goes to the few programs that come near its budget. So a program has
 * the compiler's own budget if its seed is a multiple of FULL_EACH, and QUOTA operations else; and one batch in
 * THREADS_EACH is compiled with optimization and run by two threads, the others as they are. */
#include "affine.h"
#include "kiln.h"
#include "reverse.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__
enum { MOST_SECONDS = 60 };
#else
enum { MOST_SECONDS = 10 };
#endif
enum {
    QUOTA        = 200000,
    LLVM_QUOTA   = 2000000 /* the backend's operations count too */,
    FULL_EACH    = 16,
    THREADS_EACH = 5
};
enum { BATCH = 40, MOST_REASONS = 200, MOST_LINE = 200, MOST_TEXT = 1 << 20 };

typedef struct Reason {
    char text[MOST_LINE];
    int  count;
} Reason;

/* Lines of text, each counted. */
typedef struct Tally {
    Reason at[MOST_REASONS];
    int    count;
} Tally;

typedef struct Fuzz {
    char        folder[64];
    const char *target;
    uint64_t    seeds[BATCH];
    const char *shapes[BATCH];
    int         ids[BATCH], count;             /* of the batch: those that were tiled */
    int         tiled, refused, spent, failed; /* spent: those of the refused that had no quota left */
    bool        threads;                       /* of the batch: it is run by two threads */
    time_t      end;                           /* no program is begun after it */
    long        reversed;                      /* loops */
    Tally       reasons;                       /* of refusals */
    Tally       made;                          /* shapes that were asked for, and made */
} Fuzz;

static const char *const shapes[] = { "auto",    "none",   "diamond",       "diamond", "parallelogram", "scalene",
                                      "scalene", "hybrid", "parallelogram", "auto",    "rectangle",     "auto" };

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* The shape that a program is tiled in first. */
static const char *shape_of(uint64_t seed)
{
    return shapes[mix(seed) % (sizeof shapes / sizeof *shapes)];
}

/* Its sizes; NULL: the model's. */
static const char *sizes_of(uint64_t seed, char sizes[64])
{
    const int more = mix(seed + 5) % 3 ? 0 : 8; /* less is computed twice, so that more stages are fused */
    snprintf(sizes, 64, "%d,%d,%d", more + 1 + (int)(mix(seed + 1) % 5), more + 1 + (int)(mix(seed + 2) % 7),
             more + 2 + (int)(mix(seed + 3) % 6));
    return mix(seed + 4) % 3 ? sizes : NULL;
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

static void tally(Tally *t, const char *line)
{
    int i = 0;
    while (i < t->count && strcmp(t->at[i].text, line))
        i++;
    if (i == MOST_REASONS)
        return;
    if (i == t->count)
        strcpy(t->at[t->count++].text, line);
    t->at[i].count++;
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
    tally(&f->reasons, line);
}

/* Counts the shape that was made where `asked` was asked for, as tile_alone tells it. */
static void note_shape(Fuzz *f, const char *asked, const char *explained)
{
    char made[32] = "?", line[MOST_LINE];
    (void)!sscanf(explained, "shape: %31[^\n]", made);
    snprintf(line, sizeof line, "%s%s%s", asked, strcmp(asked, made) ? ": " : "", strcmp(asked, made) ? made : "");
    tally(&f->made, line);
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

/* How a process that tiles one program ends. */
enum { TILED, REFUSED, SPENT, BROKEN };

/* The compiled loops of program `id`, for the linker. */
static void keep_archive(const Fuzz *f, int id, const void *archive, size_t size)
{
    char name[40];
    snprintf(name, sizeof name, "%d.a", id);
    FILE *out = open_in(f, name, "w");
    fwrite(archive, 1, size, out);
    fclose(out);
}

/* In a process of its own: the shape in one line and the tiled text, or why there is none, go to the file. */
static int tile_alone(const Fuzz *f, const char *text, uint64_t seed, const char *shape, const char *path)
{
    char                sizes[64];
    const char         *explained;
    const kn_config     few   = { .quota = f->target ? LLVM_QUOTA : QUOTA };
    kn_context         *cx    = kn_context_new(seed % FULL_EACH ? &few : NULL);
    FILE               *out   = fopen(path, "w");
    const struct rlimit limit = { MOST_SECONDS, MOST_SECONDS + 1 };
    setrlimit(RLIMIT_CPU, &limit);
    const void           *archive = NULL;
    size_t                size    = 0;
    const kn_tile_options options = { .shape        = shape,
                                      .sizes        = sizes_of(seed, sizes),
                                      .target       = f->target,
                                      .stream       = seed % 3 ? NULL : "all",
                                      .threads      = 2,
                                      .explain      = true,
                                      .archive      = &archive,
                                      .archive_size = &size };
    const char           *tiled   = kn_tile(cx, "case.c", text, -1, &options, &explained);
    if (tiled && archive)
        keep_archive(f, f->count, archive, size);
    const kn_diagnostic d      = tiled ? (kn_diagnostic){ 0 } : kn_diagnostic_get(cx, 0);
    const bool          spent  = !tiled && d.error && !strcmp(d.error, "limit");
    const bool          broken = !tiled && (kn_diagnostic_count(cx) == 0 || (d.error && !strcmp(d.error, "internal")));
    if (tiled)
        fprintf(out, "%.*s%s\n", (int)strcspn(explained + strlen("shape: "), " \n") + (int)strlen("shape: "), explained,
                strstr(explained, ", folded") ? ", folded" : "");
    fputs(tiled ? tiled : d.message ? d.message : "no reason", out);
    fclose(out);
    kn_context_free(cx);
    return tiled ? TILED : broken ? BROKEN : spent ? SPENT : REFUSED;
}

/* The tiled text behind a line of explanation, to be freed; NULL if it is refused. *spent: for want of quota. */
static char *tile(Fuzz *f, const char *text, uint64_t seed, const char *shape, bool *spent)
{
    char  path[128];
    int   status = 0;
    char *made   = calloc(1, MOST_TEXT);
    snprintf(path, sizeof path, "%s/one.c", f->folder);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        free(made);
        exit(tile_alone(f, text, seed, shape, path));
    }
    waitpid(child, &status, 0);
    FILE *in = fopen(path, "r");
    if (in) {
        if (fread(made, 1, MOST_TEXT - 1, in) == MOST_TEXT - 1)
            strcpy(made, "the text is too long");
        fclose(in);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == TILED && *made)
        return made;
    const bool slow = WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
    note_reason(f, shape, slow ? "not tiled in time" : made);
    *spent = WIFEXITED(status) && WEXITSTATUS(status) == SPENT;
    if (!*spent && !(WIFEXITED(status) && WEXITSTATUS(status) == REFUSED)) {
        printf("seed %llu, shape %s: %s\n", (unsigned long long)seed, shape,
               slow                  ? "it takes too long"
               : WIFSIGNALED(status) ? "it crashed"
                                     : made);
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

/* Compiles NAME.c there and runs it, with its lines in NAME.out. */
static bool compile_and_run(const Fuzz *f, const char *name)
{
    char command[600];
    snprintf(command, sizeof command,
             "cd %s && cc %s -w -ffp-contract=off %s.c %s -o %s -lm 2>%s.log && OMP_NUM_THREADS=2 GOMP_SPINCOUNT=0 "
             "KN_NUM_THREADS=2 timeout 100 ./%s >%s.out 2>%s.log",
             f->folder, f->threads ? "-O1 -fopenmp" : "-O0", name,
             f->target && strcmp(name, "given") ? "*.a -lpthread" : "", name, name, name, name, name);
    return system(command) == 0;
}

/* Which of the batch printed other lines in NAME.out: compares, and counts. */
static void compare(Fuzz *f, const char *name, bool wrong[])
{
    char path[40];
    snprintf(path, sizeof path, "%s.out", name);
    FILE *a = open_in(f, "given.out", "r"), *b = open_in(f, path, "r");
    char  x[MOST_LINE], y[MOST_LINE];
    while (fgets(x, sizeof x, a)) {
        const bool more = fgets(y, sizeof y, b) != NULL;
        for (int i = 0; i < f->count; i++)
            if (atoi(x) == f->ids[i] && !wrong[i] && (!more || strcmp(x, y))) {
                char why[3 * MOST_LINE];
                wrong[i] = true;
                f->failed++;
                snprintf(why, sizeof why, "%s: %s%.*s instead of %.*s", name,
                         more ? "" : "did not end: ", (int)strcspn(more ? y : "nothing", "\n"), more ? y : "nothing",
                         (int)strcspn(x, "\n"), x);
                keep(f, i, why);
            }
        if (!more)
            break;
    }
    fclose(a);
    fclose(b);
}

/* The versions of each program. */
enum { GIVEN, MADE, REVERSED, VERSIONS };
static const char *const versions[] = { "given", "tiled", "reversed" };

static FILE *open_version(const Fuzz *f, int version, const char *mode)
{
    char name[40];
    snprintf(name, sizeof name, "%s.c", versions[version]);
    return open_in(f, name, mode);
}

static void run_batch(Fuzz *f)
{
    bool wrong[BATCH] = { false };
    if (!f->count)
        return;
    for (int v = 0; v < (f->target ? REVERSED : VERSIONS); v++) {
        FILE *file = open_version(f, v, "a");
        affine_main(file, f->ids, f->count);
        fclose(file);
        if (!compile_and_run(f, versions[v])) {
            printf("the programs cannot be compiled or run to their end: see %s/%s.log\n", f->folder, versions[v]);
            f->failed += v == GIVEN;
        }
        if (v != GIVEN)
            compare(f, versions[v], wrong);
    }
}

/* A program in the first shape that is not refused, added to the files. */
static void add_program(Fuzz *f, uint64_t seed, FILE *files[])
{
    const int   id    = f->count;
    char       *text  = program_text(seed, id);
    const char *shape = shape_of(seed);
    bool        spent = false;
    char       *done  = tile(f, text, seed, shape, &spent);
    if (!done && strcmp(shape, "auto") && strcmp(shape, "none")) { /* auto has tried none, too */
        shape = spent ? "none" : "auto";
        done  = tile(f, text, seed, shape, &spent);
    }
    f->shapes[id] = shape;
    if (done) {
        const char *tiled = strchr(done, '\n') + 1;
        note_shape(f, f->shapes[id], done);
        fputs(text, files[GIVEN]);
        fputs(tiled, files[MADE]);
        f->reversed += reverse_loops(files[REVERSED], tiled);
        f->seeds[id] = seed;
        f->ids[id]   = id;
        f->count++;
        f->tiled++;
    } else {
        f->refused++;
        f->spent += spent;
    }
    free(done);
    free(text);
}

static void batch(Fuzz *f, uint64_t seed, int count)
{
    FILE *files[VERSIONS];
    for (int v = 0; v < VERSIONS; v++)
        files[v] = open_version(f, v, "w");
    f->count   = 0;
    f->threads = seed / BATCH % THREADS_EACH == 0;
    for (int i = 0; i < count && time(NULL) < f->end; i++)
        add_program(f, seed + (uint64_t)i, files);
    for (int v = 0; v < VERSIONS; v++)
        fclose(files[v]);
    run_batch(f);
}

static int by_count(const void *a, const void *b)
{
    return ((const Reason *)b)->count - ((const Reason *)a)->count;
}

static void print_tally(Tally *t, const char *title)
{
    qsort(t->at, (size_t)t->count, sizeof *t->at, by_count);
    printf("%s:\n", title);
    for (int i = 0; i < t->count && i < 25; i++)
        printf("%6d  %s\n", t->at[i].count, t->at[i].text);
}

static void report(Fuzz *f, uint64_t seed)
{
    print_tally(&f->reasons, "refused");
    print_tally(&f->made, "tiled, by the shape that was asked for and the one that was made");
    printf("seed %llu: %d tiled, with %ld loops that run both ways, %d refused, %d of them by the quota\n"
           "%d passed, %d failed\n",
           (unsigned long long)seed, f->tiled, f->reversed, f->refused, f->spent, f->tiled + f->refused - f->failed,
           f->failed);
}

int main(int argc, char **argv)
{
    static Fuzz f;
    if (argc == 3 && !strcmp(argv[1], "--show")) {
        const uint64_t seed = strtoull(argv[2], NULL, 10);
        char           sizes[64];
        const char    *given = sizes_of(seed, sizes);
        char          *text  = program_text(seed, 0);
        printf("/* kiln tile --shape %s%s%s */\n", shape_of(seed), given ? " --tile " : "", given ? given : "");
        fputs(text, stdout);
        affine_main(stdout, (const int[]){ 0 }, 1);
        free(text);
        return 0;
    }
    if (argc < 3) {
        fputs("usage: fuzz-tile SEED COUNT [SECONDS [llvm]], or fuzz-tile --show SEED\n", stderr);
        return 2;
    }
    uint64_t     seed  = strtoull(argv[1], NULL, 10);
    const int    count = atoi(argv[2]);
    const time_t begin = time(NULL);
    f.end              = begin + (argc > 3 ? atoi(argv[3]) : 1 << 30);
    f.target           = argc > 4 ? argv[4] : NULL;
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
