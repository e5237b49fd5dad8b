/* SPDX-License-Identifier: MIT */
/* kiln calibrate: fits the speeds of this machine, and keeps them where every command looks for them. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* $XDG_CONFIG_HOME/kiln/machine, or ~/.config/kiln/machine; NULL if there is no home. */
static char *machine_path(Cli *cli)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const bool  use_xdg = xdg && xdg[0] == '/';
    const char *base    = use_xdg ? xdg : home;
    if (!base || base[0] != '/')
        return NULL;
    const size_t n    = strlen(base) + sizeof "/.config/kiln/machine";
    char        *path = cli_alloc(cli, n);
    snprintf(path, n, "%s%s/kiln/machine", base, use_xdg ? "" : "/.config");
    return path;
}

const char *machine_calibrated(Cli *cli)
{
    const char *path = machine_path(cli), *text;
    size_t      length;
    return path && access(path, R_OK) == 0 && file_read(cli, path, &text, &length) == DONE ? text : NULL;
}

/* Makes the folders of a path; those that are there are fine. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
}

/* As a whole or not at all: a command that reads it at this moment finds the former one. */
static int write_machine(Cli *cli, char *path, const char *text)
{
    const size_t n    = strlen(path) + sizeof ".new";
    char        *next = cli_alloc(cli, n);
    snprintf(next, n, "%s.new", path);
    make_folders(path);
    FILE      *file = fopen(next, "w");
    const bool fine = file && fputs(text, file) >= 0;
    if (!file || fclose(file) || !fine || rename(next, path))
        return failed("%s: cannot be written: %s", path, strerror(errno));
    say("wrote %s", path);
    return DONE;
}

static int count_measured(void *user, int done, int all)
{
    progress_count(user, done, all);
    return true;
}

int command_calibrate(Cli *cli)
{
    const char *given = option_value(cli, OPTION_CALIBRATE_OUTPUT, 0);
    char       *path  = given ? cli_strndup(cli, given, strlen(given)) : machine_path(cli);
    if (cli->operand_count)
        return usage(cli, "`%s`: calibrate takes no program", cli->operands[0]);
    if (!path)
        return failed("there is no home folder to keep the machine in; say where: kiln calibrate -o FILE");
    Progress progress;
    progress_begin(&progress, "measuring", "this machine");
    const char *text = kn_calibrate(cli->cx, count_measured, &progress);
    progress_end(&progress);
    return text ? write_machine(cli, path, text) : report(cli);
}
