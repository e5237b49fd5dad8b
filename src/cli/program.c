/* SPDX-License-Identifier: MIT */
/* Reading a program: the file, -D, the diagnostics. */
#include "cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The rest of `file`, in memory from cli_alloc; NULL with errno if it cannot be read or is too long. */
static char *read_all(Cli *cli, FILE *file, size_t *length)
{
    size_t capacity = 1 << 16;
    char  *text     = cli_alloc(cli, capacity + 1);
    *length         = 0;
    for (size_t got; *length <= KN_MAX_TEXT && (got = fread(text + *length, 1, capacity - *length, file)) > 0;) {
        *length += got;
        if (*length == capacity) {
            char *larger = cli_alloc(cli, 2 * capacity + 1);
            text         = memcpy(larger, text, capacity);
            capacity *= 2;
        }
    }
    if (*length <= KN_MAX_TEXT)
        return ferror(file) ? NULL : text;
    errno = EFBIG;
    return NULL;
}

/* A file cannot be read, because of `error`. Suggests DIR/DIR.kiln for a folder, and apps/NAME/NAME.kiln for an app. */
static int cannot_read(Cli *cli, const char *path, int error)
{
    static const char *const folders[] = { "", "apps/" };
    size_t                   n         = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    const char *word = cli_strndup(cli, path, n), *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const size_t size = strlen(folders[i]) + 2 * n + sizeof "/.kiln";
        char        *file = cli_alloc(cli, size);
        snprintf(file, size, "%s%s/%s.kiln", folders[i], word, name);
        if (access(file, R_OK) == 0)
            return failed("cannot read %s: %s; did you mean %s?", path, strerror(error), file);
    }
    return failed("cannot read %s: %s", path, strerror(error));
}

static int read_text(Cli *cli, FileText *file)
{
    if (!strcmp(file->path, "-")) {
        file->text = read_all(cli, stdin, &file->length);
        return file->text ? DONE : failed("cannot read stdin: %s", strerror(errno));
    }
    FILE *stream = fopen(file->path, "rb");
    if (!stream)
        return cannot_read(cli, file->path, errno);
    file->text      = read_all(cli, stream, &file->length);
    const int error = errno;
    fclose(stream);
    return file->text ? DONE : cannot_read(cli, file->path, error);
}

int file_read(Cli *cli, const char *path, const char **text, size_t *length)
{
    FileText *file = cli->texts;
    while (file && strcmp(file->path, path))
        file = file->next;
    if (!file) {
        file             = cli_alloc(cli, sizeof *file);
        file->path       = path;
        const int status = read_text(cli, file);
        if (status != DONE)
            return status;
        file->next = cli->texts;
        cli->texts = file;
    }
    *text   = file->text;
    *length = file->length;
    return DONE;
}

/* Hands one -D NAME=VALUE to the library. */
static int define(Cli *cli, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return usage(cli, "-D %s: NAME=VALUE was expected", text);
    const char *name = cli_strndup(cli, text, (size_t)(equals - text));
    return kn_define(cli->cx, name, equals + 1) == KN_OK ? DONE : report_about(cli, text);
}

/* Adds the diagnostics of the last call to the program's warnings. */
static void keep_warnings(Cli *cli, SourceProgram *program)
{
    const char  *had = program->warnings, *more = kn_error_text(cli->cx);
    const size_t n   = strlen(had) + strlen(more);
    char        *all = cli_alloc(cli, n + 1);
    snprintf(all, n + 1, "%s%s", had, more);
    program->warnings = all;
}

/* Adds the schedules of --schedule FILE.sched. */
static int add_schedules(Cli *cli, SourceProgram *program)
{
    const char *path;
    for (int i = 0; (path = option_value(cli, OPTION_WITH_SCHEDULE, i)); i++) {
        const char *text;
        size_t      length;
        if (file_read(cli, path, &text, &length) != DONE)
            return FAILED;
        if (kn_schedule_parse(program->pipeline, path, text, (ptrdiff_t)length) != KN_OK)
            return report(cli);
        keep_warnings(cli, program);
    }
    return DONE;
}

int program_parse(Cli *cli, SourceProgram *program)
{
    const char *name  = strcmp(program->path, "-") ? program->path : "stdin";
    program->warnings = "";
    program->pipeline = kn_parse(cli->cx, name, program->text, (ptrdiff_t)program->length);
    if (!program->pipeline)
        return report(cli);
    keep_warnings(cli, program);
    return add_schedules(cli, program);
}

int program_load(Cli *cli, const char *path, SourceProgram *program)
{
    *program           = (SourceProgram){ .path = path };
    int         status = file_read(cli, path, &program->text, &program->length);
    const char *value;
    for (int i = 0; status == DONE && (value = option_value(cli, OPTION_DEFINE, i)); i++)
        status = define(cli, value);
    return status == DONE ? program_parse(cli, program) : status;
}
