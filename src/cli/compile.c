/* SPDX-License-Identifier: MIT */
/* What the compiler is told: options of the command line, and the folder of the cache from the environment. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The last value given for an option: a later one replaces an earlier one. */
static const char *last_value(const Cli *cli, OptionId id)
{
    const char *value = NULL, *next;
    for (int i = 0; (next = option_value(cli, id, i)); i++)
        value = next;
    return value;
}

static int read_threads(Cli *cli, int *out)
{
    const char *text = last_value(cli, OPTION_THREADS);
    if (!text)
        return DONE;
    char      *end;
    const long n = strtol(text, &end, 10);
    if (*end || end == text || n < 1 || n > 10000)
        return usage(cli, "--threads %s: a number from 1 to 10000 was expected", text);
    *out = (int)n;
    return DONE;
}

static int read_budget(Cli *cli, double *out)
{
    const char *text = last_value(cli, OPTION_BUDGET);
    if (!text)
        return DONE;
    char *end;
    *out = strtod(text, &end);
    if (*end || end == text || !(*out > 0 && *out <= 1e6))
        return usage(cli, "--budget %s: a number of seconds above 0 was expected", text);
    return DONE;
}

/* $KILN_CACHE; $XDG_CACHE_HOME/kiln; ~/.cache/kiln. NULL: keep nothing, which an empty KILN_CACHE also means. */
static const char *cache_folder(Cli *cli)
{
    const char *own = getenv("KILN_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own)
        return *own ? own : NULL;
    const bool  use_xdg = xdg && xdg[0] == '/';
    const char *base    = use_xdg ? xdg : home;
    if (!base || !*base)
        return NULL;
    const size_t n    = strlen(base) + sizeof "/.cache/kiln";
    char        *path = cli_alloc(cli, n);
    snprintf(path, n, "%s%s/kiln", base, use_xdg ? "" : "/.cache");
    return path;
}

const char *scheduler_without(Cli *cli, const char *name)
{
    const char *rule;
    if (!name && option_given(cli, OPTION_WITHOUT))
        name = "auto";
    for (int i = 0; (rule = option_value(cli, OPTION_WITHOUT, i)); i++) {
        const size_t n    = strlen(name) + strlen("/no-") + strlen(rule) + 1;
        char        *more = cli_alloc(cli, n);
        snprintf(more, n, "%s/no-%s", name, rule);
        name = more;
    }
    return name;
}

int compile_options(Cli *cli, kn_options *out)
{
    *out = (kn_options){
        .interpret    = option_given(cli, OPTION_INTERPRET),
        .strict_float = option_given(cli, OPTION_STRICT_FLOAT),
        .check_access = option_given(cli, OPTION_CHECK_ACCESS),
        .profile      = option_given(cli, OPTION_PROFILE),
        .schedule     = last_value(cli, OPTION_SCHEDULE_NAME),
        .scheduler    = scheduler_without(cli, last_value(cli, OPTION_SCHEDULER)),
        .target       = last_value(cli, OPTION_TARGET),
        .cache        = option_given(cli, OPTION_NO_CACHE) ? NULL : cache_folder(cli),
    };
    if (out->scheduler && out->schedule)
        return usage(cli, "--scheduler %s and --schedule-name %s: one schedule is obeyed", out->scheduler,
                     out->schedule);
    if (read_threads(cli, &out->threads) != DONE)
        return USAGE;
    return read_budget(cli, &out->budget);
}
