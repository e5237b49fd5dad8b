/* SPDX-License-Identifier: MIT */
/* Loading and saving images: chooses the conversion, and prints a note about it. */
#include "cli.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
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
    const int32_t   ones[KN_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    const kn_buffer pixel             = kn_buffer_dense(NULL, port->type, port->rank, ones);
    if (kn_image_check(cli->cx, path, &pixel, NULL) == KN_OK)
        return folder_check(cli, path);
    report_about(cli, path);
    return USAGE;
}

bool same_file(Cli *cli, const char *a, const char *b)
{
    struct stat of_a, of_b;
    const bool  has_a = stat(a, &of_a) == 0, has_b = stat(b, &of_b) == 0;
    if (has_a || has_b)
        return has_a && has_b && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    const char *in_a = end_a ? cli_strndup(cli, a, (size_t)(end_a - a) + 1) : ".";
    const char *in_b = end_b ? cli_strndup(cli, b, (size_t)(end_b - b) + 1) : ".";
    return !strcmp(end_a ? end_a + 1 : a, end_b ? end_b + 1 : b) && same_file(cli, in_a, in_b);
}

/* What --alpha asks for, by its word; -1 if it is not given. */
enum { ALPHA_NONE = -1, ALPHA_KEEP, ALPHA_DROP, ALPHA_APPLY, ALPHA_WORDS };

static int alpha_asked(Cli *cli, int *asked)
{
    static const char *const words[ALPHA_WORDS] = { "keep", "drop", "apply" };
    const char              *word               = option_value(cli, OPTION_ALPHA, 0);
    for (*asked = word ? 0 : ALPHA_NONE; word && *asked < ALPHA_WORDS; ++*asked)
        if (!strcmp(word, words[*asked]))
            return DONE;
    return word ? usage(cli, "--alpha %s: keep, drop or apply was expected", word) : DONE;
}

/* Applies --alpha to a picture. An input of rank 2 has no alpha channel; the conversion reports that. */
static int apply_alpha(Cli *cli, const char *path, const kn_port *port, const kn_image_info *info, kn_buffer *file)
{
    static const char *const done[] = { [ALPHA_DROP]  = "the alpha channel was dropped",
                                        [ALPHA_APPLY] = "the colours were multiplied by the alpha channel" };
    int                      asked;
    const int                status = alpha_asked(cli, &asked);
    if (status != DONE || !info->alpha || asked == ALPHA_KEEP || (asked == ALPHA_NONE && port->rank != 3))
        return status;
    if (asked == ALPHA_NONE) {
        say("note: %s: %s: channel %d is opacity (alpha), and stays; --alpha drop or --alpha apply takes it off",
            port->name, path, file->dim[2].extent - 1);
        return DONE;
    }
    if (kn_image_drop_alpha(cli->cx, file, asked == ALPHA_APPLY && !info->premultiplied) != KN_OK)
        return report_about(cli, path);
    say("note: %s: %s: %s", port->name, path, done[asked]);
    return DONE;
}

/* Converts a file's image to the type and shape of the port, where they differ. */
static int fit_to_port(Cli *cli, const char *path, const kn_port *port, bool picture, kn_buffer *file, kn_buffer *to)
{
    const char *note = NULL;
    if (file->type == port->type && file->rank == port->rank) {
        *to = *file;
        return DONE;
    }
    const kn_image_range range  = picture ? KN_RANGE_FULL : KN_RANGE_VALUE;
    const bool           good   = kn_image_convert(cli->cx, file, range, port->type, port->rank, to, &note) == KN_OK;
    const int            status = good ? DONE : report_about(cli, path);
    if (note)
        say("note: %s: %s: %s", port->name, path, note);
    kn_buffer_free(cli->cx, file);
    return status;
}

int image_load(Cli *cli, const char *path, const kn_port *port, kn_buffer *to, bool *picture)
{
    kn_buffer     file = { 0 };
    kn_image_info info;
    Progress      progress;
    progress_begin(&progress, "reading", path);
    const kn_status loaded = kn_image_load_info(cli->cx, path, &file, &info);
    progress_end(&progress);
    if (loaded != KN_OK)
        return report_about(cli, path);
    report(cli);
    *picture   = info.picture;
    int status = apply_alpha(cli, path, port, &info, &file);
    if (status == DONE)
        status = fit_to_port(cli, path, port, info.picture, &file, to);
    return status;
}

int image_save(Cli *cli, const char *path, const kn_buffer *b)
{
    kn_buffer   made = { 0 };
    const char *note = NULL;
    bool        as_is;
    if (kn_image_check(cli->cx, path, b, &as_is) != KN_OK ||
        (!as_is && kn_image_convert_for(cli->cx, path, b, &made, &note) != KN_OK))
        return report_about(cli, path);
    if (note)
        say("note: %s: %s", path, note);
    Progress progress;
    progress_begin(&progress, "writing", path);
    const kn_status saved = kn_image_save(cli->cx, path, as_is ? b : &made);
    progress_end(&progress);
    const int status = saved == KN_OK ? DONE : report_about(cli, path);
    kn_buffer_free(cli->cx, &made);
    return status;
}

int bindings_check_files(Cli *cli, const Bindings *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->at[i].path && kn_image_check(cli->cx, b->at[i].path, &b->at[i].buffer, NULL) != KN_OK)
            return report_about(cli, b->at[i].path);
    return DONE;
}

int bindings_save(Cli *cli, const Bindings *b)
{
    int status = DONE;
    for (int i = 0; i < b->count && status == DONE; i++)
        if (b->at[i].path)
            status = image_save(cli, b->at[i].path, &b->at[i].buffer);
    return status;
}
