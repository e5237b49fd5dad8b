/* SPDX-License-Identifier: MIT */
/* kiln schedule FILE: makes a schedule; and how run and bench have theirs made. */
#include "cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The text or the name of --machine, or the text of the file; without it, the calibrated machine, or NULL. */
static int machine_text(Cli *cli, const char **text)
{
    const char *given = option_value(cli, OPTION_MACHINE, 0);
    size_t      length;
    *text              = given ? given : machine_calibrated(cli);
    const bool is_file = given && !strchr(given, '=') && (strpbrk(given, "./") || access(given, R_OK) == 0);
    return is_file ? file_read(cli, given, text, &length) : DONE;
}

/* A view of the schedule; valid until the next call of the library. */
static int show_schedule(Cli *cli, const Bindings *b, kn_schedule_view view, const char *scheduler,
                         const kn_options *options, bool watched, const char **text)
{
    const char *machine;
    Progress    progress = { 0 };
    kn_options  with     = *options;
    with.scheduler       = NULL;
    if (machine_text(cli, &machine) != DONE)
        return FAILED;
    if (watched)
        progress_begin(&progress, "scheduling", b->program.path);
    *text = kn_schedule_show(b->program.pipeline, view, scheduler, machine, &with, b->args, b->arg_count);
    progress_end(&progress);
    report(cli); /* warnings too */
    return *text ? DONE : FAILED;
}

int bindings_schedule(Cli *cli, const Bindings *b, const char *scheduler, const kn_options *options, bool watched)
{
    const char *text;
    Progress    progress = { 0 };
    if (!scheduler && !option_given(cli, OPTION_MACHINE)) {
        if (watched)
            progress_begin(&progress, "scheduling", b->program.path);
        text = kn_schedule_make(b->program.pipeline, NULL, machine_calibrated(cli), options, b->args, b->arg_count);
        progress_end(&progress);
        if (!text)
            return DONE;
    } else if (show_schedule(cli, b, KN_SCHEDULE_TEXT, scheduler, options, watched, &text) != DONE) {
        return FAILED;
    }
    text = cli_strndup(cli, text, strlen(text));
    return kn_schedule_parse(b->program.pipeline, scheduler ? scheduler : "auto", text, -1) == KN_OK ? DONE
                                                                                                     : report(cli);
}

static int list_schedulers(void)
{
    for (int i = 0; kn_scheduler_get(i).name; i++)
        printf("%-8s %s\n", kn_scheduler_get(i).name, kn_scheduler_get(i).summary);
    return DONE;
}

/* To a file, or to stdout if it is NULL. */
static int write_text(const char *path, const char *text)
{
    if (!path) {
        fputs(text, stdout);
        return DONE;
    }
    FILE      *file = fopen(path, "w");
    const bool fine = file && fputs(text, file) >= 0;
    if (file ? fclose(file) || !fine : true) {
        return failed("%s: cannot be written: %s", path, strerror(errno));
    }
    say("wrote %s", path);
    return DONE;
}

/* Writes each requested view to its place; by default the schedule. */
static int write_views(Cli *cli, const Bindings *b, const kn_options *options)
{
    const char *path = option_value(cli, OPTION_SCHEDULE_OUTPUT, 0), *page = option_value(cli, OPTION_HTML, 0);
    const bool  graph = option_given(cli, OPTION_SCHEDULE_GRAPH), explain = option_given(cli, OPTION_EXPLAIN);
    const struct {
        bool             asked;
        kn_schedule_view view;
        const char      *path;
    } views[] = {
        { graph, KN_SCHEDULE_GRAPH, NULL },
        { explain, KN_SCHEDULE_EXPLAIN, NULL },
        { page, KN_SCHEDULE_HTML, page },
        { path || !(graph || explain || page), KN_SCHEDULE_TEXT, path },
    };
    int status = DONE;
    for (size_t i = 0; i < sizeof views / sizeof *views && status == DONE; i++) {
        const char *text;
        if (!views[i].asked)
            continue;
        status = show_schedule(cli, b, views[i].view, options->scheduler, options, true, &text);
        if (status == DONE)
            status = write_text(views[i].path, text);
    }
    return status;
}

int command_schedule(Cli *cli)
{
    if (option_given(cli, OPTION_LIST))
        return list_schedulers();
    if (cli->operand_count == 0)
        return usage(cli, "which program? kiln schedule FILE");
    const bool measure = option_given(cli, OPTION_MEASURE);
    kn_options options;
    Bindings   b;
    int        status = compile_options(cli, &options);
    if (status != DONE)
        return status;
    if (measure && options.scheduler)
        return usage(cli, "--measure takes the fastest of all schedulers, --scheduler %s that one", options.scheduler);
    status = bindings_load(cli, true, &b);
    if (status == DONE && measure)
        status = bindings_make_up(cli, &b);
    if (status == DONE && measure)
        status = finalists_measure(cli, &options, &b, &options.scheduler);
    if (status == DONE)
        status = write_views(cli, &b, &options);
    bindings_free(&b);
    return status;
}
