/* SPDX-License-Identifier: MIT */
/* kiln fmt FILE …: the standard layout, printed, written back, or only compared with. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Replaces the file as a whole: the text is written beside it, with its permissions, and renamed. */
static int replace(Cli *cli, const char *path, const char *text)
{
    const size_t n    = strlen(path) + sizeof ".XXXXXX";
    char        *temp = cli_alloc(cli, n);
    snprintf(temp, n, "%s.XXXXXX", path);
    struct stat info;
    const int   fd   = stat(path, &info) ? -1 : mkstemp(temp);
    FILE       *file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!file)
        return failed("cannot write %s: %s", path, strerror(errno));
    bool good = fchmod(fd, info.st_mode & 07777) == 0 && fputs(text, file) >= 0;
    good      = fclose(file) == 0 && good;
    if (good && rename(temp, path) == 0)
        return DONE;
    const int error = errno;
    unlink(temp);
    return failed("cannot write %s: %s", path, strerror(error));
}

static int format_file(Cli *cli, const char *path)
{
    const char *text;
    size_t      length;
    if (file_read(cli, path, &text, &length) != DONE)
        return FAILED;
    const char *formatted = kn_format(cli->cx, strcmp(path, "-") ? path : "stdin", text, (ptrdiff_t)length);
    if (!formatted)
        return report(cli);
    const bool same = strlen(formatted) == length && !memcmp(formatted, text, length);
    if (option_given(cli, OPTION_CHECK))
        return same ? DONE : failed("%s is not in the standard layout; kiln fmt --write %s changes it", path, path);
    if (option_given(cli, OPTION_WRITE))
        return same ? DONE : replace(cli, path, formatted);
    fputs(formatted, stdout);
    return DONE;
}

int command_fmt(Cli *cli)
{
    if (cli->operand_count == 0)
        return usage(cli, "which program? kiln fmt FILE …");
    if (option_given(cli, OPTION_WRITE) && option_given(cli, OPTION_CHECK))
        return usage(cli, "--write and --check exclude each other");
    int status = DONE;
    for (int i = 0; i < cli->operand_count; i++) {
        if (option_given(cli, OPTION_WRITE) && !strcmp(cli->operands[i], "-"))
            return usage(cli, "--write needs a file, and - is stdin");
        const int one = format_file(cli, cli->operands[i]);
        status        = one > status ? one : status;
    }
    return status;
}
