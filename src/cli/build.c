/* SPDX-License-Identifier: MIT */
/* kiln build FILE -o DIR/NAME: compiles ahead of time. */
#include "cli.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

/* What is to be emitted: the library's part of the list, and whether a shared library is wanted, which is linked
 * here. */
typedef struct Emit {
    const char *library; /* NULL: the library's choice */
    bool        shared, archive, sized;
} Emit;

static Emit read_emit(Cli *cli)
{
    Emit        emit = { 0 };
    const char *text = option_value(cli, OPTION_EMIT, 0);
    if (!text)
        return emit;
    char *list = cli_alloc(cli, strlen(text) + sizeof "archive,");
    for (const char *at = text;; at++) {
        const size_t n  = strcspn(at, ",");
        const bool   so = n == 2 && !strncmp(at, "so", 2);
        emit.shared     = emit.shared || so;
        emit.archive    = emit.archive || (n == 7 && !strncmp(at, "archive", 7));
        emit.sized      = emit.sized || (n == 7 && !strncmp(at, "c-naive", 7));
        if (!so) {
            strcat(list, *list ? "," : "");
            strncat(list, at, n);
        }
        at += n;
        if (!*at)
            break;
    }
    if (emit.shared && !emit.archive) /* it is linked from the archive */
        strcat(list, *list ? ",archive" : "archive");
    emit.library = list;
    return emit;
}

/* NAME.so from NAME.a, by the C compiler of the system. */
static int link_shared(Cli *cli, const char *path)
{
    const size_t n      = strlen(path) + 4;
    char        *shared = cli_alloc(cli, n), *archive = cli_alloc(cli, n);
    snprintf(shared, n, "%s.so", path);
    snprintf(archive, n, "%s.a", path);
    char *const words[] = { "cc",  "-shared",   "-o", shared, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive",
                            "-lm", "-lpthread", NULL };
    pid_t       child;
    const int   error  = posix_spawnp(&child, "cc", NULL, NULL, words, environ);
    int         status = 0;
    if (error)
        return failed("--emit so: the C compiler `cc`, which links it, cannot be run: %s; %s is complete",
                      strerror(error), archive);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (status)
        return failed("--emit so: cc could not link %s", shared);
    say("wrote %s", shared);
    return DONE;
}

static void say_written(const char *files, double seconds)
{
    fputs("kiln: wrote ", stderr);
    for (; *files; files++)
        if (*files == '\n')
            fputs(", ", stderr);
        else
            fputc(*files, stderr);
    fprintf(stderr, " in %.3f s\n", seconds);
}

/* The program; for code of one size with its sizes, which are put into the options. */
static int load_program(Cli *cli, bool sized, Bindings *b, kn_options *options)
{
    if (!sized) {
        *b               = (Bindings){ 0 };
        const int status = program_load(cli, cli->operands[0], &b->program);
        if (status == DONE)
            fputs(b->program.warnings, stderr);
        return status;
    }
    const int status    = bindings_load(cli, true, b);
    options->sizes      = b->args;
    options->size_count = b->arg_count;
    return status;
}

int command_build(Cli *cli)
{
    const char *path = option_value(cli, OPTION_BUILD_OUTPUT, 0);
    const Emit  emit = read_emit(cli);
    if (!emit.sized && (option_given(cli, OPTION_SIZE) || option_given(cli, OPTION_ORIGIN)))
        return usage(cli, "compiled code is for all sizes: --size and --origin are for --emit c-naive");
    if (cli->operand_count < 1 || (cli->operand_count > 1 && !emit.sized))
        return usage(cli, "%s kiln build FILE -o DIR/NAME",
                     cli->operand_count ? "one program at a time:" : "which program?");
    if (!path)
        return usage(cli, "where to? -o DIR/NAME, where NAME is the C function");
    const double begin = now();
    kn_options   options;
    Bindings     b;
    const char  *written;
    int          status = compile_options(cli, &options);
    if (status != DONE)
        return status;
    status = load_program(cli, emit.sized, &b, &options);
    if (status == DONE) {
        Progress progress;
        progress_begin(&progress, "compiling", b.program.path);
        const kn_status built = kn_build(b.program.pipeline, path, &options, emit.library, &written);
        progress_end(&progress);
        status = built == KN_OK ? DONE : report(cli);
    }
    if (status == DONE)
        say_written(written, now() - begin);
    bindings_free(&b);
    return status == DONE && emit.shared ? link_shared(cli, path) : status;
}
