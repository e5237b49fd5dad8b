/* SPDX-License-Identifier: MIT */
/* The preprocessor of a C compiler.
 *
 * Takes   a file's text and name.
 * Gives   what `cc -E` makes of it, behind a line that says what the compiler's types are (scan.c reads it).
 * Holds   the text is its standard input, so that a file that is not saved can be tiled; its line marks name the file,
 *         and its folder is looked into for includes. */
#include "poly/source/source.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_SAID = 4000 }; /* characters of the compiler's messages */

typedef struct CompilerCall {
    kn_context *cx;
    Arena      *arena;
    FILE       *input, *output, *messages;
    const char *compiler; /* as the user named it */
    char      **words;
    const char *text; /* what it printed */
    const char *said; /* its messages */
} CompilerCall;

/* Splits a command such as "gcc -m64" at its blanks. */
static void add_words(Arena *arena, const char *command, char **words, int *count, int most)
{
    while (*command && *count < most) {
        const size_t blank = strspn(command, " \t"), n = strcspn(command + blank, " \t");
        if (n)
            words[(*count)++] = arena_strndup(arena, command + blank, n);
        command += blank + n;
    }
}

static const char *compiler_command(const kn_tile_options *options)
{
    const char *environment = getenv("CC");
    return options && options->compiler ? options->compiler : environment && *environment ? environment : "cc";
}

static char **compiler_words(Arena *arena, const char *compiler, const Source *source, const kn_tile_options *options)
{
    enum { MOST_WORDS = 16, OWN_WORDS = 8 };
    const int flags = options && options->flags ? options->flag_count : 0;
    char    **words = ARENA_ARRAY(arena, char *, (size_t)(MOST_WORDS + OWN_WORDS + flags + 1));
    int       count = 0;
    add_words(arena, compiler, words, &count, MOST_WORDS);
    const char *slash  = strrchr(source->name, '/');
    const char *folder = slash ? arena_strndup(arena, source->name, (size_t)(slash - source->name) + 1) : ".";
    words[count++]     = arena_strdup(arena, "-E");
    for (int i = 0; i < flags; i++)
        words[count++] = arena_strdup(arena, options->flags[i]);
    words[count++] = arena_strdup(arena, "-iquote");
    words[count++] = arena_strdup(arena, folder);
    words[count++] = arena_strdup(arena, "-x");
    words[count++] = arena_strdup(arena, "c");
    words[count++] = arena_strdup(arena, "-");
    return words;
}

/* Runs the compiler; its exit status, -1 where it cannot be run. */
static int run_compiler(const CompilerCall *call)
{
    posix_spawn_file_actions_t files;
    pid_t                      child;
    int                        status;
    if (posix_spawn_file_actions_init(&files))
        return -1;
    posix_spawn_file_actions_adddup2(&files, fileno(call->input), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, fileno(call->output), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, fileno(call->messages), STDERR_FILENO);
    const int error = posix_spawnp(&child, call->words[0], &files, NULL, call->words, environ);
    posix_spawn_file_actions_destroy(&files);
    if (error) {
        errno = error;
        return -1;
    }
    while (waitpid(child, &status, 0) != child)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static const char *contents(Arena *arena, FILE *file, size_t most)
{
    fseek(file, 0, SEEK_END);
    const long   end  = ftell(file);
    const size_t size = end < 0 ? 0 : (size_t)end < most ? (size_t)end : most;
    char        *text = arena_alloc(arena, size + 1);
    rewind(file);
    text[fread(text, 1, size, file)] = 0;
    return text;
}

static void read_outputs(void *arg)
{
    CompilerCall *call = arg;
    call->said         = contents(call->arena, call->messages, MOST_SAID);
    call->text         = contents(call->arena, call->output, KN_MAX_TEXT);
}

/* A name inside the quotes of a line mark. */
static void put_quoted(FILE *file, const char *name)
{
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            putc('\\', file);
        putc(*name, file);
    }
}

/* Writes what the compiler reads; false with errno. */
static bool write_input(const CompilerCall *call, const Source *source)
{
    fputs("kiln_probe __SIZEOF_LONG__ __CHAR_UNSIGNED__;\n#line 1 \"", call->input);
    put_quoted(call->input, source->name);
    fputs("\"\n", call->input);
    fwrite(source->text, 1, source->length, call->input);
    return !fflush(call->input) && !fseek(call->input, 0, SEEK_SET);
}

/* How a call went. */
typedef enum Outcome { DONE, NO_FILE, NO_COMPILER, NOT_ACCEPTED, NO_MEMORY } Outcome;

static Outcome call_compiler(CompilerCall *call, const Source *source)
{
    if (!call->input || !call->output || !call->messages || !write_input(call, source))
        return NO_FILE;
    const int status = run_compiler(call);
    if (status < 0)
        return NO_COMPILER;
    if (!context_try(call->cx, read_outputs, call))
        return NO_MEMORY;
    return status == 0 ? DONE : NOT_ACCEPTED;
}

static void close_file(FILE *file)
{
    if (file)
        fclose(file);
}

/* What a message allocates could bail out: the files are closed before. */
const char *source_preprocess(kn_context *cx, Arena *arena, const Source *source, const kn_tile_options *options)
{
    CompilerCall call     = { .cx = cx, .arena = arena, .compiler = compiler_command(options) };
    call.words            = compiler_words(arena, call.compiler, source, options);
    call.input            = tmpfile();
    call.output           = tmpfile();
    call.messages         = tmpfile();
    const Outcome outcome = call_compiler(&call, source);
    const int     error   = errno;
    close_file(call.input);
    close_file(call.output);
    close_file(call.messages);
    if (outcome == NO_FILE)
        diag_status(cx, KN_ERROR_FILE, "cannot write a temporary file: %s", strerror(error));
    else if (outcome == NO_COMPILER)
        diag_status(cx, KN_ERROR_FILE,
                    "the C compiler `%s` cannot be run (%s): install one, or name it in the environment's CC",
                    call.compiler, strerror(error));
    else if (outcome == NOT_ACCEPTED)
        diag_status(cx, KN_ERROR_PROGRAM, "the preprocessor `%s -E` does not accept %s:\n%s", call.compiler,
                    source->name, call.said);
    return outcome == DONE ? call.text : NULL;
}
