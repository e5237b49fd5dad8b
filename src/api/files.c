/* Whole files. No file is open while memory is asked for: an arena without memory leaves by longjmp. */
#include "api/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
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

bool file_read_whole(Arena *arena, const char *path, Bytes *out)
{
    struct stat about;
    if (stat(path, &about))
        return false;
    if (!S_ISREG(about.st_mode)) {
        errno = EINVAL;
        return false;
    }
    char     *at   = arena_alloc(arena, (size_t)about.st_size + 1);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const ptrdiff_t n     = read_some(file, at, (size_t)about.st_size);
    const int       error = errno;
    close(file);
    errno = error;
    *out  = (Bytes){ at, n < 0 ? 0 : (size_t)n };
    return n >= 0;
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

/* A new file of a name that nobody else uses; `name` has room for 48 more characters. */
static int create_beside(char *name)
{
    const size_t length = strlen(name);
    int          file   = -1;
    for (int i = 0; i < 1000 && file < 0; i++) {
        snprintf(name + length, 48, ".%ld-%d.tmp", (long)getpid(), i);
        file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST)
            break;
    }
    return file;
}

bool file_write_whole(kn_context *cx, const char *path, const Bytes *parts, int count)
{
    char *temporary = arena_alloc(&cx->call, strlen(path) + 48);
    memcpy(temporary, path, strlen(path));
    const int file = create_beside(temporary);
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
            if (mkdir(part, 0777) && errno != EEXIST)
                return false;
            *at = '/';
        }
    return mkdir(part, 0777) == 0 || errno == EEXIST;
}
