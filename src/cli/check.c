/* SPDX-License-Identifier: MIT */
/* kiln check FILE …: the diagnostics of programs and their schedules. */
#include "cli.h"

/* "sigma : f32 = 1.5" or "in : u8(x, y)" */
static void print_port(const kn_port *port)
{
    printf("%s : %s", port->name, kn_type_name(port->type));
    for (int d = 0; d < port->rank; d++)
        printf("%s%s", d ? ", " : "(", port->dims[d]);
    if (port->rank > 0)
        putchar(')');
    if (port->kind == KN_PARAM && port->has_default && port->value.is_float)
        printf(" = %g", port->value.as.f);
    else if (port->kind == KN_PARAM && port->has_default)
        printf(" = %lld", (long long)port->value.as.i);
}

/* The inputs and parameters, or the outputs, separated by commas. false if there are none. */
static bool print_ports(const kn_pipeline *p, bool outputs)
{
    bool any = false;
    for (int i = 0; i < kn_port_count(p); i++) {
        const kn_port port = kn_port_get(p, i);
        if ((port.kind == KN_OUTPUT) != outputs)
            continue;
        fputs(any ? ", " : "", stdout);
        print_port(&port);
        any = true;
    }
    return any;
}

/* "blur.kiln: ok: in : u16(x, y) -> out : u16(x, y)" */
static void print_ok(const SourceProgram *program)
{
    printf("%s: ok: ", program->path);
    if (print_ports(program->pipeline, false))
        fputs(" -> ", stdout);
    print_ports(program->pipeline, true);
    putchar('\n');
}

static int check_file(Cli *cli, const char *path)
{
    SourceProgram program;
    int           status = program_load(cli, path, &program);
    if (status == DONE)
        fputs(program.warnings, stderr);
    if (status == DONE && kn_check(program.pipeline, NULL) != KN_OK)
        status = report(cli);
    if (status == DONE)
        print_ok(&program);
    kn_pipeline_free(program.pipeline);
    return status;
}

int command_check(Cli *cli)
{
    if (cli->operand_count == 0)
        return usage(cli, "which program? kiln check FILE …");
    int status = DONE;
    for (int i = 0; i < cli->operand_count; i++) {
        const int one = check_file(cli, cli->operands[i]);
        status        = one > status ? one : status;
    }
    return status;
}
