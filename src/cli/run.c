/* kiln run FILE name=VALUE|IMAGE … -o [name=]IMAGE: runs a program. */
#include "cli.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int allocate_outputs(Cli *cli, Bindings *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->at[i].port.kind == KN_OUTPUT && kn_buffer_alloc(cli->cx, &b->at[i].buffer) != KN_OK)
            return report_about(cli, b->at[i].port.name);
    return DONE;
}

/* Prints the values (--print), or what they range over if the output goes to no file. */
static void show_outputs(Cli *cli, const Bindings *b)
{
    const bool print   = option_given(cli, OPTION_PRINT);
    const bool summary = !print && !option_given(cli, OPTION_OUTPUT);
    int        outputs = 0;
    for (int i = 0; i < b->count; i++)
        outputs += b->at[i].port.kind == KN_OUTPUT;
    for (int i = 0; i < b->count; i++) {
        const Binding *out = &b->at[i];
        if (out->port.kind != KN_OUTPUT)
            continue;
        if (print && outputs > 1)
            printf("%s:\n", out->port.name);
        if (print)
            values_print(&out->buffer);
        else if (summary)
            values_summary(cli, out->port.name, &out->buffer);
    }
}

static int save_outputs(Cli *cli, const Bindings *b)
{
    int status = DONE;
    for (int i = 0; i < b->count && status == DONE; i++)
        if (b->at[i].path)
            status = image_save(cli, b->at[i].path, &b->at[i].buffer);
    return status;
}

static int run_module(Cli *cli, const Bindings *b)
{
    const bool progress = isatty(STDERR_FILENO);
    if (progress)
        fprintf(stderr, "kiln: running %s …\r", b->program.path);
    const kn_status status = kn_run(b->module, b->args, b->arg_count);
    if (progress)
        fputs("\033[K", stderr);
    return status == KN_OK ? DONE : report(cli);
}

int command_run(Cli *cli)
{
    if (cli->operand_count == 0)
        return usage(cli, "which program? kiln run FILE …");
    const double begin = now();
    Bindings     b;
    int          status = bindings_load(cli, false, &b);
    if (status == DONE)
        status = bindings_fit(cli, &b);
    if (status == DONE)
        status = allocate_outputs(cli, &b);
    const double ready = now();
    if (status == DONE)
        status = run_module(cli, &b);
    const double end = now();
    if (status == DONE) {
        say("%.3f s to read, %.3f s to run", ready - begin, end - ready);
        show_outputs(cli, &b);
        status = save_outputs(cli, &b);
    }
    bindings_free(&b);
    return status;
}
