/* SPDX-License-Identifier: MIT */
/* Whole files. No file is open while memory is asked for: an arena without memory leaves by longjmp. */
#include "api/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* As many bytes as there are, up to `size`; -1 on an error. */
static ptrdiff_t read_some(int file, char *at, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t n = read(file, at + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ptrdiff_t)done;
}

/* Reads all of an open file, which has at most `room` bytes; false if it is none that may be read. */
static bool read_open(int file, bool (*accepts)(const struct stat *about), char *at, size_t room, size_t *size)
{
    struct stat about;
    if (fstat(file, &about))
        return false;
    if (!S_ISREG(about.st_mode) || (size_t)about.st_size > room || (accepts && !accepts(&about))) {
        errno = EINVAL;
        return false;
    }
    const ptrdiff_t n = read_some(file, at, (size_t)about.st_size);
    *size             = n < 0 ? 0 : (size_t)n;
    return n >= 0;
}

/* The file is opened after the allocation, whose size comes from the name. All checks are made on the open file.
 * O_NONBLOCK: opening a pipe does not wait. */
bool file_read_if(Arena *arena, const char *path, bool (*accepts)(const struct stat *about), Bytes *out)
{
    struct stat about;
    if (stat(path, &about))
        return false;
    const size_t room = S_ISREG(about.st_mode) ? (size_t)about.st_size : 0;
    char        *at   = arena_alloc(arena, room + 1);
    const int    file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    size_t     size  = 0;
    const bool read  = read_open(file, accepts, at, room, &size);
    const int  error = errno;
    close(file);
    errno = error;
    *out  = (Bytes){ at, size };
    return read;
}

bool file_read_whole(Arena *arena, const char *path, Bytes *out)
{
    return file_read_if(arena, path, NULL, out);
}

static bool write_all(int file, const Bytes *part)
{
    for (size_t done = 0; done < part->size;) {
        const ssize_t n = write(file, part->at + done, part->size - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* A new file with a unique name; `name` has room for 48 more characters. */
static int create_temporary(char *name, mode_t mode)
{
    const size_t length = strlen(name);
    int          file   = -1;
    for (int i = 0; i < 1000 && file < 0; i++) {
        snprintf(name + length, 48, ".%ld-%d.tmp", (long)getpid(), i);
        file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file < 0 && errno != EEXIST)
            break;
    }
    return file;
}

bool file_write_whole(kn_context *cx, const char *path, mode_t mode, const Bytes *parts, int count)
{
    char *temporary = arena_alloc(&cx->call, strlen(path) + 48);
    strcpy(temporary, path);
    const int file = create_temporary(temporary, mode);
    if (file < 0)
        return false;
    bool ok = true;
    for (int i = 0; i < count && ok; i++)
        ok = write_all(file, &parts[i]);
    int error = errno;
    if (close(file) && ok) {
        ok    = false;
        error = errno;
    }
    if (ok && rename(temporary, path)) {
        ok    = false;
        error = errno;
    }
    if (!ok)
        unlink(temporary);
    errno = error;
    return ok;
}

bool folder_make(Arena *arena, const char *path)
{
    char *part = arena_strdup(arena, path);
    for (char *at = part + 1; *part && *at; at++)
        if (*at == '/') {
            *at = 0;
            if (mkdir(part, 0700) && errno != EEXIST)
                return false;
            *at = '/';
        }
    return mkdir(part, 0700) == 0 || errno == EEXIST;
}
