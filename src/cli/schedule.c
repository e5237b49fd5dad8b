/* kiln schedule FILE: makes a schedule; and how run and bench have theirs made. */
#include "cli.h"

#include <string.h>

/* The text of --machine, or of the file that it names; NULL if it is not given. */
static int machine_text(Cli *cli, const char **text)
{
    const char *given = option_value(cli, OPTION_MACHINE, 0);
    size_t      length;
    *text = given;
    return given && !strchr(given, '=') ? file_read(cli, given, text, &length) : DONE;
}

/* The text, which stays until the next call of the library. */
static int make_schedule(Cli *cli, const Bindings *b, const char *scheduler, const kn_options *options, const char **text)
{
    const char *machine;
    kn_options  with = *options;
    with.scheduler   = NULL;
    if (machine_text(cli, &machine) != DONE)
        return FAILED;
    *text = kn_schedule_make(b->program.pipeline, scheduler, machine, &with, b->args, b->arg_count);
    report(cli);            /* warnings too */
    return *text ? DONE : FAILED;
}

int bindings_schedule(Cli *cli, const Bindings *b, const char *scheduler, const kn_options *options)
{
    const char *text;
    if (!scheduler && !option_given(cli, OPTION_MACHINE)) {
        text = kn_schedule_make(b->program.pipeline, NULL, NULL, options, b->args, b->arg_count);
        if (!text)
            return DONE;
    } else if (make_schedule(cli, b, scheduler, options, &text) != DONE) {
        return FAILED;
    }
    text = cli_strndup(cli, text, strlen(text));
    return kn_schedule_parse(b->program.pipeline, scheduler ? scheduler : "auto", text, -1) == KN_OK ? DONE : report(cli);
}

static int list_schedulers(void)
{
    for (int i = 0; kn_scheduler_get(i).name; i++)
        printf("%-8s %s\n", kn_scheduler_get(i).name, kn_scheduler_get(i).summary);
    return DONE;
}

static int write_file(const char *path, const char *text)
{
    FILE      *file = fopen(path, "w");
    const bool fine = file && fputs(text, file) >= 0;
    if (file ? fclose(file) || !fine : true) {
        perror("kiln: cannot write the schedule");
        return FAILED;
    }
    say("wrote %s", path);
    return DONE;
}

int command_schedule(Cli *cli)
{
    if (option_given(cli, OPTION_LIST))
        return list_schedulers();
    if (cli->operand_count == 0)
        return usage(cli, "which program? kiln schedule FILE");
    kn_options  options;
    Bindings    b;
    const char *text = NULL, *path = option_value(cli, OPTION_SCHEDULE_OUTPUT, 0);
    int         status = compile_options(cli, &options);
    if (status != DONE)
        return status;
    status = bindings_load(cli, true, &b);
    if (status == DONE)
        status = make_schedule(cli, &b, options.scheduler, &options, &text);
    if (status == DONE && path)
        status = write_file(path, text);
    else if (status == DONE)
        fputs(text, stdout);
    bindings_free(&b);
    return status;
}
