/* SPDX-License-Identifier: MIT */
/* The schedules that kiln tune has found, kept for kiln run --tuned: a file for each program, machine, size and number
 * of threads, in kiln/tuned of XDG_DATA_HOME, or of ~/.local/share.
 *
 *     PROGRAM-MACHINE-SIZE-THREADS.sched
 *
 * PROGRAM is a hash of the text, so that a changed program has no schedules; MACHINE one of the processor's name, and
 * of the target if that has a device. The first line of a file says what it is of. */
#include "cli/cli.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t hash(const char *text, size_t n)
{
    uint64_t key = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        key = (key ^ (unsigned char)text[i]) * 0x100000001b3u;
    return key;
}

/* The folder with a slash; NULL if there is no home. */
static const char *folder(Cli *cli)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    const bool  use_xdg = xdg && xdg[0] == '/';
    const char *base    = use_xdg ? xdg : home;
    if (!base || base[0] != '/')
        return NULL;
    const size_t n    = strlen(base) + sizeof "/.local/share/kiln/tuned/";
    char        *path = cli_alloc(cli, n);
    snprintf(path, n, "%s%s/kiln/tuned/", base, use_xdg ? "" : "/.local/share");
    return path;
}

const char *tuned_size(Cli *cli, const Bindings *b)
{
    const size_t room = 16 * KN_MAX_RANK * (size_t)(b->count + 1);
    char        *text = cli_alloc(cli, room);
    size_t       n    = 0;
    for (int i = 0; i < b->count; i++) {
        if (b->at[i].port.kind != KN_OUTPUT)
            continue;
        n += (size_t)snprintf(text + n, room - n, "%s", n ? "_" : "");
        for (int d = 0; d < b->at[i].buffer.rank; d++)
            n += (size_t)snprintf(text + n, room - n, "%s%d", d ? "x" : "", (int)b->at[i].buffer.dim[d].extent);
    }
    return n ? text : "0";
}

/* FOLDER/PROGRAM-MACHINE-: what all schedules of a program on this machine begin with. */
static const char *prefix_of(Cli *cli, const Bindings *b, const kn_options *options)
{
    const char    *where = folder(cli), *machine = kn_processor_name(cli->cx);
    const bool     device = kn_target_device(options->target);
    const uint64_t target = device ? hash(options->target, strlen(options->target)) : 0;
    if (!where)
        return NULL;
    const size_t n    = strlen(where) + 64;
    char        *path = cli_alloc(cli, n);
    snprintf(path, n, "%s%016" PRIx64 "-%08" PRIx64 "-", where, hash(b->program.text, b->program.length),
             (hash(machine, strlen(machine)) ^ target) & 0xffffffffu);
    return path;
}

static char *path_of(Cli *cli, const Bindings *b, const kn_options *options)
{
    const char *prefix = prefix_of(cli, b, options), *size = tuned_size(cli, b);
    if (!prefix)
        return NULL;
    const size_t n    = strlen(prefix) + strlen(size) + 32;
    char        *path = cli_alloc(cli, n);
    snprintf(path, n, "%s%s-%d.sched", prefix, size, options->threads);
    return path;
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
}

void tuned_keep(Cli *cli, const Bindings *b, const kn_options *options, const char *schedule)
{
    char *path = path_of(cli, b, options);
    if (!path)
        return;
    make_folders(path);
    FILE      *file = fopen(path, "w");
    const bool fine = file && fprintf(file, "// %s\n%s", b->program.path, schedule) > 0;
    if (file ? fclose(file) || !fine : true)
        say("%s: cannot be written: %s", path, strerror(errno));
}

/* The lines of comments that a schedule begins with. */
static void print_head(const char *text)
{
    for (int i = 0; i < 3 && !strncmp(text, "// ", 3); i++) {
        const size_t n = strcspn(text, "\n");
        printf("%s%.*s\n", i ? "    " : "", (int)n - 3, text + 3);
        text += n + (text[n] == '\n');
    }
}

int tuned_list(Cli *cli)
{
    const char  *where = folder(cli), *text;
    glob_t       found = { 0 };
    size_t       length;
    const size_t n       = where ? strlen(where) + sizeof "*.sched" : 1;
    char        *pattern = cli_alloc(cli, n);
    if (where)
        snprintf(pattern, n, "%s*.sched", where);
    if (where)
        glob(pattern, 0, NULL, &found);
    if (!found.gl_pathc)
        say("there are no tuned schedules yet: kiln tune FILE makes one");
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (file_read(cli, cli_strndup(cli, found.gl_pathv[i], strlen(found.gl_pathv[i])), &text, &length) == DONE)
            print_head(text);
    globfree(&found);
    return DONE;
}

const char *tuned_kept(Cli *cli, const Bindings *b, const kn_options *options)
{
    const char *path = path_of(cli, b, options), *text;
    size_t      length;
    struct stat info;
    return path && stat(path, &info) == 0 && file_read(cli, path, &text, &length) == DONE ? text : NULL;
}

/* The schedule of this size; else that of another one, which is right too. NULL: there is none. */
static const char *find(Cli *cli, const Bindings *b, const kn_options *options, bool *same)
{
    const char *path = path_of(cli, b, options), *prefix = prefix_of(cli, b, options);
    glob_t      found = { 0 };
    struct stat info;
    *same = path && stat(path, &info) == 0;
    if (*same || !prefix)
        return *same ? path : NULL;
    const size_t n       = strlen(prefix) + sizeof "*.sched";
    char        *pattern = cli_alloc(cli, n);
    snprintf(pattern, n, "%s*.sched", prefix);
    path = glob(pattern, 0, NULL, &found) == 0 ? cli_strndup(cli, found.gl_pathv[0], strlen(found.gl_pathv[0])) : NULL;
    globfree(&found);
    return path;
}

int tuned_use(Cli *cli, const Bindings *b, const kn_options *options, bool *used)
{
    bool        same;
    const char *path = find(cli, b, options, &same), *text;
    size_t      length;
    *used = path;
    if (!path) {
        say("%s has no tuned schedule on this machine: kiln tune %s makes one", b->program.path, b->program.path);
        return DONE;
    }
    if (!same)
        say("the tuned schedule is of another size or number of threads");
    if (file_read(cli, path, &text, &length) != DONE)
        return FAILED;
    return kn_schedule_parse(b->program.pipeline, path, text, (ptrdiff_t)length) == KN_OK ? DONE : report(cli);
}
