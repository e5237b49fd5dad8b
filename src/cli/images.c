/* Images on their way in and out: which conversion a file gets, and saying so. */
#include "cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Whether the folder that the file is to be in is there. */
static int folder_check(Cli *cli, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || access(cli_strndup(cli, path, (size_t)(slash - path) + 1), F_OK) == 0)
        return DONE;
    return failed("%s: cannot be written: %s", path, strerror(errno));
}

int image_path_check(Cli *cli, const char *path, const kn_port *port)
{
    uint64_t    pixel             = 0;
    int32_t     ones[KN_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    kn_buffer   b = kn_buffer_dense(&pixel, port->type, port->rank, ones), to = { 0 };
    const char *note;
    if (kn_image_convert_for(cli->cx, path, &b, &to, &note) != KN_OK) {
        report_about(cli, path);
        return USAGE;
    }
    kn_buffer_free(cli->cx, &to);
    return folder_check(cli, path);
}

bool image_is_picture(const char *path)
{
    static const char magic[]                 = "\x93NUMPY";
    char              begin[sizeof magic - 1] = { 0 };
    FILE             *file                    = fopen(path, "rb");
    if (!file)
        return true;
    const size_t got = fread(begin, 1, sizeof begin, file);
    fclose(file);
    return got < sizeof begin || memcmp(begin, magic, sizeof begin);
}

int image_load(Cli *cli, const char *path, const kn_port *port, kn_buffer *to)
{
    const char *subject = cli_strndup(cli, path, strlen(path));
    kn_buffer   file    = { 0 };
    if (kn_image_load(cli->cx, path, &file) != KN_OK)
        return report_about(cli, subject);
    report(cli);
    const char          *note  = NULL;
    const kn_image_range range = image_is_picture(path) ? KN_RANGE_FULL : KN_RANGE_VALUE;
    const bool good = kn_image_convert(cli->cx, &file, range, port->type, port->rank, to, &note) == KN_OK;
    if (!good)
        report_about(cli, subject);
    else if (note)
        say("note: %s: %s: %s", port->name, path, note);
    kn_buffer_free(cli->cx, &file);
    return good ? DONE : FAILED;
}

int image_save(Cli *cli, const char *path, const kn_buffer *b)
{
    kn_buffer   file = { 0 };
    const char *note = NULL;
    if (kn_image_convert_for(cli->cx, path, b, &file, &note) != KN_OK)
        return report_about(cli, path);
    if (note)
        say("note: %s: %s", path, note);
    const bool good = kn_image_save(cli->cx, path, &file) == KN_OK;
    if (!good)
        report_about(cli, path);
    kn_buffer_free(cli->cx, &file);
    return good ? DONE : FAILED;
}

int bindings_save(Cli *cli, const Bindings *b)
{
    int status = DONE;
    for (int i = 0; i < b->count && status == DONE; i++)
        if (b->at[i].path)
            status = image_save(cli, b->at[i].path, &b->at[i].buffer);
    return status;
}
