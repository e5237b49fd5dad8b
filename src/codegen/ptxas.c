/* SPDX-License-Identifier: MIT */
/* NVIDIA's assembler: run for what it says about PTX.
 *
 * Takes   PTX.
 * Gives   its report, each line as a comment. The text is its standard input, and what it assembles is thrown away.
 * Holds   it is found through PATH, or where CUDA is usually installed; nothing depends on it. */
#include "codegen/ptxas.h"

#include "base/text.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_REPORT = 1 << 16 };

/* GPUs to assemble for, the newest first; an assembler that does not know one may know the next. */
static const char *const architectures[] = { "-arch=sm_90", "-arch=sm_80", "-arch=sm_75", "-arch=sm_70" };

/* Runs it with the two files as input and output; its status, -1 where it cannot be run. */
static int run_ptxas(const char *program, const char *architecture, FILE *input, FILE *output)
{
    const char *const argv[] = { "ptxas", architecture, "-v", "-o", "/dev/null", "/dev/stdin", NULL };
    char             *copies[sizeof argv / sizeof *argv];
    memcpy(copies, argv, sizeof argv);
    posix_spawn_file_actions_t files;
    pid_t                      child;
    int                        status = -1;
    if (posix_spawn_file_actions_init(&files))
        return -1;
    posix_spawn_file_actions_adddup2(&files, fileno(input), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, fileno(output), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, fileno(output), STDERR_FILENO);
    rewind(input);
    const bool started = !posix_spawnp(&child, program, &files, NULL, copies, environ);
    posix_spawn_file_actions_destroy(&files);
    if (!started || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/* Its lines behind `// `, without those that say how it went. */
static const char *as_comments(Arena *arena, FILE *output)
{
    char line[1024];
    Text t;
    text_init(&t, arena);
    rewind(output);
    while (t.count < MOST_REPORT && fgets(line, sizeof line, output)) {
        const char *said = strstr(line, ": ");
        if (strstr(line, "Function properties") || strstr(line, "bytes gmem") || strstr(line, "Compile time"))
            continue;
        text_printf(&t, "// %s", !strncmp(line, "ptxas", 5) && said ? said + 2 : line + strspn(line, " "));
    }
    return t.count ? text_string(&t) : NULL;
}

static const char *report(Arena *arena, const char *program, FILE *input)
{
    const char *found = NULL;
    for (size_t i = 0; !found && i < sizeof architectures / sizeof *architectures; i++) {
        FILE *output = tmpfile();
        if (!output)
            return NULL;
        const int status = run_ptxas(program, architectures[i], input, output);
        found            = status == 0 ? as_comments(arena, output) : NULL;
        fclose(output);
        if (status < 0)
            break;
    }
    return found;
}

const char *ptxas_report(Arena *arena, const char *ptx)
{
    static const char *const programs[] = { "ptxas", "/usr/local/cuda/bin/ptxas" };
    FILE                    *input      = tmpfile();
    const char              *found      = NULL;
    if (!input)
        return NULL;
    fputs(ptx, input);
    for (size_t i = 0; !fflush(input) && !found && i < sizeof programs / sizeof *programs; i++)
        found = report(arena, programs[i], input);
    fclose(input);
    return found;
}
