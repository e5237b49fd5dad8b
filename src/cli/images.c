/* Images on their way in and out: which conversion a file gets, and saying so. */
#include "cli.h"

#include <string.h>
#include <strings.h>

/* A format by its endings: the types it holds (bits), and what the others become. */
typedef struct Format {
    const char *endings; /* separated and ended by spaces */
    unsigned    holds;
    kn_type     integers, floats;
} Format;

#define HOLDS(type) (1u << KN_##type)

static const Format formats[] = {
    { "npy ", ~0u, KN_NONE, KN_NONE },
    { "png ", HOLDS(U8) | HOLDS(U16), KN_U16, KN_U8 },
    { "jpg jpeg ", HOLDS(U8), KN_U8, KN_U8 },
    { "tif tiff ", HOLDS(U8) | HOLDS(U16) | HOLDS(F32), KN_U16, KN_F32 },
    { "pgm ppm pnm ", HOLDS(U8) | HOLDS(U16), KN_U16, KN_U8 },
    { "pfm ", HOLDS(F32), KN_F32, KN_F32 },
};

static const Format *format_of(const char *path)
{
    const char *dot   = strrchr(path, '.');
    const char *slash = strrchr(path, '/');
    if (!dot || (slash && dot < slash))
        return NULL;
    const size_t n = strlen(dot + 1);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (const char *e = formats[i].endings; *e; e += strcspn(e, " ") + 1)
            if (strcspn(e, " ") == n && !strncasecmp(e, dot + 1, n))
                return &formats[i];
    return NULL;
}

int image_path_check(Cli *cli, const char *path)
{
    return format_of(path) ? DONE
                           : usage(cli,
                                   "-o %s: the ending names no format that can be written; one of these was expected: "
                                   ".png .jpg .tif .pgm .ppm .pfm .npy",
                                   path);
}

/* NPY files hold numbers, the others pictures. */
static kn_image_range range_of(const char *path)
{
    static const char magic[]                 = "\x93NUMPY";
    char              begin[sizeof magic - 1] = { 0 };
    FILE             *file                    = fopen(path, "rb");
    if (!file)
        return KN_RANGE_FULL;
    const size_t got = fread(begin, 1, sizeof begin, file);
    fclose(file);
    return got == sizeof begin && !memcmp(begin, magic, sizeof begin) ? KN_RANGE_VALUE : KN_RANGE_FULL;
}

int image_load(Cli *cli, const char *path, const kn_port *port, kn_buffer *to)
{
    const char *subject = cli_strndup(cli, path, strlen(path));
    kn_buffer   file    = { 0 };
    if (kn_image_load(cli->cx, path, &file) != KN_OK)
        return report_about(cli, subject);
    report(cli);
    const char *note = NULL;
    const bool  good = kn_image_convert(cli->cx, &file, range_of(path), port->type, port->rank, to, &note) == KN_OK;
    if (!good)
        report_about(cli, subject);
    else if (note)
        say("note: %s: %s: %s", port->name, path, note);
    kn_buffer_free(cli->cx, &file);
    return good ? DONE : FAILED;
}

static bool is_float(kn_type type)
{
    return type >= KN_F16;
}

int image_save(Cli *cli, const char *path, const kn_buffer *b)
{
    const Format *format = format_of(path);
    if (!format || format->holds >> b->type & 1)
        return kn_image_save(cli->cx, path, b) == KN_OK ? DONE : report_about(cli, path);
    kn_buffer     file = { 0 };
    const char   *note = NULL;
    const kn_type type = is_float(b->type) ? format->floats : format->integers;
    if (kn_image_convert(cli->cx, b, KN_RANGE_FULL, type, b->rank, &file, &note) != KN_OK)
        return report_about(cli, path);
    if (note)
        say("note: %s: %s", path, note);
    const bool good = kn_image_save(cli->cx, path, &file) == KN_OK;
    if (!good)
        report_about(cli, path);
    kn_buffer_free(cli->cx, &file);
    return good ? DONE : FAILED;
}
