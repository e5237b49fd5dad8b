/* SPDX-License-Identifier: MIT */
/* kiln run FILE name=VALUE|IMAGE … -o [name=]IMAGE: runs a program. */
#include "cli.h"

#include <inttypes.h>
#include <string.h>

/* Prints the values (--print), or a summary of outputs that go to no file. */
static int show_outputs(Cli *cli, const Bindings *b)
{
    const bool print   = option_given(cli, OPTION_PRINT);
    const bool summary = !print && !option_given(cli, OPTION_OUTPUT);
    int        outputs = 0;
    for (int i = 0; i < b->count; i++)
        outputs += b->at[i].port.kind == KN_OUTPUT;
    for (int i = 0; i < b->count; i++) {
        const PortBinding *out = &b->at[i];
        if (out->port.kind != KN_OUTPUT)
            continue;
        if (print && outputs > 1)
            printf("%s:\n", out->port.name);
        if (print)
            values_print(&out->buffer);
        else if (summary && values_summary(cli, out->port.name, &out->buffer) != DONE)
            return FAILED;
    }
    return DONE;
}

static kn_module *compile(Cli *cli, const Bindings *b, const kn_options *options)
{
    Progress progress;
    progress_begin(&progress, "compiling", b->program.path);
    kn_module *m = kn_compile(b->program.pipeline, options);
    progress_end(&progress);
    report(cli); /* warnings too */
    return m;
}

static int run_module(Cli *cli, const Bindings *b, kn_module *m)
{
    Progress progress;
    progress_begin(&progress, "running", b->program.path);
    const kn_status status = kn_run(m, b->args, b->arg_count);
    progress_end(&progress);
    report(cli); /* warnings too */
    return status == KN_OK ? DONE : FAILED;
}

/* Seconds of each step; negative where there was none. */
typedef struct Times {
    double read, compile, run, write;
    bool   cached, interpreted;
} Times;

/* "0.010 s to read, 0.120 s to compile (from the cache), 0.002 s to run, 0.031 s to write" */
static void say_times(const Times *t)
{
    char compile[80] = "", write[40] = "";
    if (t->compile >= 0)
        snprintf(compile, sizeof compile, ", %.3f s to compile%s", t->compile, t->cached ? " (from the cache)" : "");
    if (t->write >= 0)
        snprintf(write, sizeof write, ", %.3f s to write", t->write);
    say("%.3f s to read%s, %.3f s to run%s%s", t->read, compile, t->run, t->interpreted ? " by the interpreter" : "",
        write);
}

/* Makes the schedule, now that sizes are known: by --scheduler, or by `auto` as the default. */
static int schedule_for_run(Cli *cli, const Bindings *b, kn_options *options)
{
    const char *asked = options->scheduler;
    const bool  has   = options->schedule || kn_schedule_count(b->program.pipeline);
    if (asked ? !strcmp(asked, "none") : has)
        return DONE;
    options->scheduler = NULL;
    bool tuned         = false;
    if (option_given(cli, OPTION_TUNED) && tuned_use(cli, b, options, &tuned) != DONE)
        return FAILED;
    if (tuned)
        return DONE;
    if (option_given(cli, OPTION_MEASURE) && finalists_measure(cli, options, b, &asked) != DONE)
        return FAILED;
    return bindings_schedule(cli, b, asked, options, true);
}

/* Compiles and runs; *t has how long each took. */
static int compile_and_run(Cli *cli, const Bindings *b, const kn_options *options, Times *t)
{
    const double ready = now();
    kn_options   with  = *options;
    if (!options->interpret && schedule_for_run(cli, b, &with) != DONE)
        return FAILED;
    kn_module *m = compile(cli, b, &with);
    if (!m)
        return FAILED;
    const double compiled = now();
    const int    status   = run_module(cli, b, m);
    t->compile            = options->interpret ? -1 : compiled - ready;
    t->run                = now() - compiled;
    t->cached             = kn_from_cache(m);
    t->interpreted        = !options->interpret && kn_interpreted(m);
    return status;
}

/* Prints and saves the outputs, and says how long all took. */
static int give_results(Cli *cli, const Bindings *b, Times *t)
{
    const char  *said    = !option_given(cli, OPTION_PROFILE) ? ""
                           : t->interpreted                   ? "no profile: the interpreter did the call\n"
                                                              : kn_profile(cli->cx);
    const char  *profile = cli_strndup(cli, said, strlen(said)); /* further calls overwrite it */
    int          status  = show_outputs(cli, b);
    const double begin   = now();
    if (status == DONE)
        status = bindings_save(cli, b);
    t->write = option_given(cli, OPTION_OUTPUT) && status == DONE ? now() - begin : -1;
    say_times(t);
    fputs(profile, stderr);
    return status;
}

int command_run(Cli *cli)
{
    if (cli->operand_count == 0)
        return usage(cli, "which program? kiln run FILE …");
    const double begin = now();
    kn_options   options;
    Bindings     b;
    int          status = compile_options(cli, &options);
    if (status != DONE)
        return status;
    status  = bindings_prepare(cli, &b);
    Times t = { .read = now() - begin };
    if (status == DONE)
        status = compile_and_run(cli, &b, &options, &t);
    if (status == DONE)
        status = give_results(cli, &b, &t);
    bindings_free(&b);
    return status;
}
