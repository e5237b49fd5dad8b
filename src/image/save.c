/* SPDX-License-Identifier: MIT */
/* Saving an image file: the ending selects the format; the file is replaced atomically. */
#include "image/image.h"
#include "image/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- What encoders call ---- */

bool save_fail(Save *save, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!save->why[0])
        vsnprintf(save->why, REASON, format, args);
    va_end(args);
    return false;
}

void *picture_row(Save *save, int32_t y)
{
    const kn_buffer *image = save->image;
    const size_t     size  = kn_type_size(image->type);
    for (int32_t c = 0; c < save->channels; c++)
        row_copy((char *)save->scratch + (size_t)c * size, save->channels * (int64_t)size,
                 buffer_address(image, (int32_t[]){ 0, y, c }), image->dim[0].stride * (int64_t)size, save->width,
                 size);
    return save->scratch;
}

bool save_write(Save *save, const void *bytes, size_t size)
{
    if (!size || fwrite(bytes, 1, size, save->file) == size)
        return true;
    return save_fail(save, "%s", strerror(errno));
}

/* ---- The file ---- */

/* The file that symbolic links lead to, whether it is there or not. */
static const char *follow_links(kn_context *cx, const char *path)
{
    enum { MOST_LINKS = 40, LONGEST = 4096 };
    for (int i = 0; i < MOST_LINKS; i++) {
        char         *link   = arena_alloc(&cx->call, LONGEST);
        const char   *slash  = strrchr(path, '/');
        const int     folder = slash ? (int)(slash - path) + 1 : 0;
        const ssize_t n      = readlink(path, link, LONGEST - 1);
        if (n < 0)
            return path;
        path = *link == '/' ? link : arena_printf(&cx->call, "%.*s%s", folder, path, link);
    }
    return path;
}

/* Where a file is written before it has its name. */
typedef struct SaveTarget {
    const char *path;      /* behind all links */
    const char *folder;    /* with a slash at its end */
    char       *temporary; /* a name in the same folder, with NAME_ROOM characters of room */
    bool        named;     /* the file has that name */
    bool        replaces;
    mode_t      mode; /* of the file that is replaced */
} SaveTarget;

enum { NAME_ROOM = 64 };

/* Takes a name that no file has, and lets `make` make a file of that name. False, with errno, if it cannot. */
static bool take_name(SaveTarget *t, bool (*make)(const SaveTarget *t, int *file), int *file)
{
    for (int i = 0; i < 1000; i++) {
        snprintf(t->temporary + strlen(t->folder), NAME_ROOM, ".kiln-%ld-%d.tmp", (long)getpid(), i);
        if (make(t, file))
            return t->named = true;
        if (errno != EEXIST)
            break;
    }
    return false;
}

static bool make_new(const SaveTarget *t, int *file)
{
    *file = open(t->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return *file >= 0;
}

static bool make_link(const SaveTarget *t, int *file)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", *file);
    return linkat(AT_FDCWD, self, AT_FDCWD, t->temporary, AT_SYMLINK_FOLLOW) == 0;
}

/* A temporary file in the target's folder, unnamed if possible: then nothing remains if the process dies. */
static FILE *open_temporary(Save *save, SaveTarget *t)
{
    int file = access("/proc/self/fd", X_OK) ? -1 : open(t->folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
    if (file < 0 && !take_name(t, make_new, &file)) {
        save_fail(save, "%s", strerror(errno));
        return NULL;
    }
    FILE *stream = fdopen(file, "w+b");
    if (!stream) {
        save_fail(save, "%s", strerror(errno));
        close(file);
    }
    return stream;
}

/* Sets the mode of the complete file and renames it over the target. */
static bool put_in_place(Save *save, SaveTarget *t)
{
    int file = fileno(save->file);
    if (fflush(save->file) || (t->replaces && fchmod(file, t->mode)) ||
        (!t->named && !take_name(t, make_link, &file)) || rename(t->temporary, t->path))
        return save_fail(save, "%s", strerror(errno));
    t->named = false;
    return true;
}

/* Inspects the file that is replaced. */
static bool look_at_target(Save *save, SaveTarget *t)
{
    struct stat old;
    if (stat(t->path, &old))
        return true;
    if (S_ISDIR(old.st_mode))
        return save_fail(save, "%s", strerror(EISDIR));
    if (!S_ISREG(old.st_mode))
        return save_fail(save, "it is no regular file");
    t->replaces = true;
    t->mode     = old.st_mode & 07777;
    return access(t->path, W_OK) == 0 || save_fail(save, "%s", strerror(errno));
}

/* Encodes to a temporary file and renames it, so that the target is whole or as it was before. */
static bool write_whole(Save *save, const ImageFormat *format, SaveTarget *t)
{
    save->file = look_at_target(save, t) ? open_temporary(save, t) : NULL;
    bool ok    = save->file && format->encode(save) && put_in_place(save, t);
    if (save->file && fclose(save->file) && ok)
        ok = save_fail(save, "%s", strerror(errno));
    if (t->named)
        unlink(t->temporary);
    return ok;
}

static void save_run(void *arg)
{
    Save            *save = arg;
    kn_context      *cx   = save->cx;
    const kn_buffer *b    = save->image;
    if (!save->path) {
        diag_status(cx, KN_ERROR_ARGUMENT, "kn_image_save: no path was given (NULL)");
        return;
    }
    if (buffer_check(cx, b, save->path, false))
        return;
    save->width               = b->rank > 0 ? b->dim[0].extent : 1;
    save->height              = b->rank > 1 ? b->dim[1].extent : 1;
    save->channels            = b->rank > 2 ? b->dim[2].extent : 1;
    const ImageFormat *format = format_of_path(cx, save->path);
    if (!format || !format_holds(cx, save->path, format, b))
        return;
    SaveTarget  t     = { .path = follow_links(cx, save->path) };
    const char *slash = strrchr(t.path, '/');
    t.folder          = slash ? arena_strndup(&cx->call, t.path, (size_t)(slash - t.path) + 1) : "./";
    t.temporary       = arena_printf(&cx->call, "%s%*s", t.folder, NAME_ROOM, "");
    if (!format->any_rank)
        save->scratch = arena_array(&cx->call, (size_t)save->width * (size_t)save->channels, kn_type_size(b->type));
    if (!write_whole(save, format, &t))
        diag_status(cx, KN_ERROR_FILE, "%s: cannot be written: %s", save->path, save->why);
}

kn_status kn_image_save(kn_context *cx, const char *path, const kn_buffer *b)
{
    if (!cx)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    Save save = { .cx = cx, .path = path, .image = b };
    context_try(cx, save_run, &save);
    return cx->status;
}
