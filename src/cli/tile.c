/* SPDX-License-Identifier: MIT */
/* kiln tile FILE.c -o OUT.c: loops of a C file, tiled. */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* -D and -I as words for the preprocessor. */
static void preprocessor_flags(Cli *cli, kn_tile_options *options)
{
    const char **flags = cli_alloc(cli, sizeof *flags * (size_t)(cli->given_count + 1));
    for (int i = 0; i < cli->given_count; i++) {
        const Given *g = &cli->given[i];
        if (g->option != OPTION_TILE_DEFINE && g->option != OPTION_INCLUDE)
            continue;
        const size_t n    = strlen(g->value) + 3;
        char        *flag = cli_alloc(cli, n);
        snprintf(flag, n, "-%c%s", option_table[g->option].letter, g->value);
        flags[options->flag_count++] = flag;
    }
    options->flags = flags;
}

static int write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return failed("cannot write %s: %s", path, strerror(errno));
    const bool good = fwrite(bytes, 1, size, file) == size;
    return fclose(file) == 0 && good ? DONE : failed("cannot write %s: %s", path, strerror(errno));
}

/* What is written beside OUT.c for a target. */
typedef struct Beside {
    const char *target, *ending, *what;
} Beside;

static const Beside *beside_of(const char *target)
{
    static const Beside rows[] = { { "cuda", "cu", "the kernels" }, { "llvm", "a", "the compiled loops" } };
    for (size_t i = 0; target && i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].target, target))
            return &rows[i];
    return NULL;
}

/* OUT.cu beside OUT.c; NULL: the output is no C file. */
static const char *beside_path(Cli *cli, const char *output, const Beside *beside)
{
    const size_t n = output ? strlen(output) : 0;
    if (n < 3 || strcmp(output + n - 2, ".c"))
        return NULL;
    char *path = cli_alloc(cli, n + 2);
    snprintf(path, n + 2, "%.*s%s", (int)n - 1, output, beside->ending);
    return path;
}

/* The status of a child that was ended by a signal. A crash is isl's; by another signal, as that of a closed pipe, this
 * process ends too. */
static int signalled(const char *path, int number)
{
    static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (number == crashes[i])
            return failed("%s: the library isl ended with %s; a region of fewer statements, or another --shape, goes "
                          "past that",
                          path, strsignal(number));
    signal(number, SIG_DFL);
    raise(number);
    return FAILED;
}

/* Goes on in a child process, which ends with its parent, and gives false there. The parent gets the child's status.
 * So a crash of isl, which docs/tile.md tells of, is an error like others. Without processes the work is done here. */
static bool child_has_done(const char *path, int *status)
{
    int         ended;
    const pid_t parent = getpid();
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(FAILED);
    }
    if (child <= 0)
        return false;
    while (waitpid(child, &ended, 0) < 0)
        if (errno != EINTR)
            return false;
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : signalled(path, WTERMSIG(ended));
    return true;
}

int command_tile(Cli *cli)
{
    kn_options      shared;
    kn_tile_options options = { .temporary = option_value(cli, OPTION_TEMPORARY, 0),
                                .shape     = option_value(cli, OPTION_SHAPE, 0),
                                .sizes     = option_value(cli, OPTION_TILE, 0),
                                .target    = option_value(cli, OPTION_TILE_TARGET, 0),
                                .fuse      = option_value(cli, OPTION_FUSE, 0),
                                .stream    = option_value(cli, OPTION_STREAM, 0),
                                .explain   = option_given(cli, OPTION_TILE_EXPLAIN) };
    const char     *text, *explained, *picture = NULL, *kernels = NULL;
    const void     *archive      = NULL;
    size_t          archive_size = 0;
    const char     *svg = option_value(cli, OPTION_TILE_SVG, 0), *output = option_value(cli, OPTION_TILE_OUTPUT, 0);
    size_t          length;
    if (cli->operand_count != 1)
        return usage(cli, "which file? kiln tile FILE.c -o OUT.c");
    const char *path   = cli->operands[0];
    int         status = compile_options(cli, &shared);
    if (status != DONE)
        return status;
    options.threads      = shared.threads;
    options.picture      = svg ? &picture : NULL;
    options.kernels      = &kernels;
    options.archive      = &archive;
    options.archive_size = &archive_size;
    const Beside *beside = beside_of(options.target);
    if (beside && !beside_path(cli, output, beside))
        return usage(cli, "--target %s writes two files: -o OUT.c names one, OUT.%s beside it has %s", beside->target,
                     beside->ending, beside->what);
    preprocessor_flags(cli, &options);
    if (file_read(cli, path, &text, &length) != DONE)
        return FAILED;
    if (output && strcmp(path, "-") && same_file(cli, path, output))
        return usage(cli, "-o names the file that is read: %s", path);
    if (child_has_done(path, &status))
        return status;
    const char *tiled =
        kn_tile(cli->cx, strcmp(path, "-") ? path : "stdin.c", text, (ptrdiff_t)length, &options, &explained);
    if (!tiled)
        return report_about(cli, path);
    report(cli);
    if (explained)
        fputs(explained, output ? stdout : stderr);
    if (kernels && write_file(beside_path(cli, output, beside), kernels, strlen(kernels)) != DONE)
        return FAILED;
    if (archive && write_file(beside_path(cli, output, beside), archive, archive_size) != DONE)
        return FAILED;
    if (svg && !picture)
        return failed("%s: no loop has tiles that could be drawn", path);
    if (svg && write_file(svg, picture, strlen(picture)) != DONE)
        return FAILED;
    if (output)
        return write_file(output, tiled, strlen(tiled));
    fputs(tiled, stdout);
    return DONE;
}
