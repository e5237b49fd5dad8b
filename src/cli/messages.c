/* SPDX-License-Identifier: MIT */
/* What every command needs: memory that lives until the end, a context, messages on stderr. */
#include "cli.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory ---- */

struct Allocation {
    struct Allocation *next;
    max_align_t        data[];
};

void *cli_alloc(Cli *cli, size_t size)
{
    struct Allocation *block = calloc(1, sizeof *block + size);
    if (!block) {
        fputs("kiln: out of memory\n", stderr);
        exit(FAILED);
    }
    block->next = cli->blocks;
    cli->blocks = block;
    return block->data;
}

char *cli_strndup(Cli *cli, const char *s, size_t n)
{
    return memcpy(cli_alloc(cli, n + 1), s, n);
}

void cli_free(Cli *cli)
{
    while (cli->blocks) {
        struct Allocation *next = cli->blocks->next;
        free(cli->blocks);
        cli->blocks = next;
    }
}

/* ---- The context ---- */

kn_context *context_open(const Cli *cli, int *status)
{
    kn_context *cx = kn_context_new(NULL);
    *status        = cx ? DONE : failed("out of memory");
    const char *name;
    for (int i = 0; *status == DONE && (name = option_value(cli, OPTION_NO_WARN, i)); i++)
        if (kn_warn(cx, name, false) != KN_OK)
            *status = usage(cli, "--no-warn %s: %s", name, kn_diagnostic_get(cx, 0).message);
    if (*status == DONE)
        return cx;
    kn_context_free(cx);
    return NULL;
}

/* ---- Messages ---- */

static void print_message(const char *format, va_list args)
{
    fputs("kiln: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

#define PRINT_MESSAGE()                                                                                                \
    do {                                                                                                               \
        va_list args;                                                                                                  \
        va_start(args, format);                                                                                        \
        print_message(format, args);                                                                                   \
        va_end(args);                                                                                                  \
    } while (0)

int usage(const Cli *cli, const char *format, ...)
{
    PRINT_MESSAGE();
    if (cli)
        fprintf(stderr, "      see: kiln %s --help\n", command_table[cli->command].name);
    else
        fputs("      see: kiln --help\n", stderr);
    return USAGE;
}

int failed(const char *format, ...)
{
    PRINT_MESSAGE();
    return FAILED;
}

void say(const char *format, ...)
{
    PRINT_MESSAGE();
}

int report(Cli *cli)
{
    fputs(kn_error_text(cli->cx), stderr);
    return FAILED;
}

int report_about(Cli *cli, const char *subject)
{
    const int  count = kn_diagnostic_count(cli->cx);
    const bool plain = count == 1 && kn_diagnostic_get(cli->cx, 0).line == 0;
    if (!plain)
        return report(cli);
    const char *message = kn_diagnostic_get(cli->cx, 0).message;
    if (strstr(message, subject))
        return failed("%s", message);
    return failed("%s: %s", subject, message);
}
