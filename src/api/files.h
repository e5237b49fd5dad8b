/* SPDX-License-Identifier: MIT */
/* Whole files: read into memory, and written atomically. */
#ifndef KILN_API_FILES_H
#define KILN_API_FILES_H

#include "base/context.h"

#include <sys/stat.h>

typedef struct Bytes {
    const char *at;
    size_t      size;
} Bytes;

/* Permissions, before the umask: of files for the user, and of private ones. */
enum { MODE_PRODUCT = 0666, MODE_PRIVATE = 0600 };

/* The contents of a regular file, in `arena`; false if it cannot be read (errno says why). */
bool file_read_whole(Arena *arena, const char *path, Bytes *out);
/* The same for files that `accepts` returns true for. It is given the status of the open file, so the name cannot
 * change its meaning in between. */
bool file_read_if(Arena *arena, const char *path, bool (*accepts)(const struct stat *about), Bytes *out);
/* Writes the parts to a temporary file in the folder of `path` and renames it; false with errno on failure. */
bool file_write_whole(kn_context *cx, const char *path, mode_t mode, const Bytes *parts, int count);
/* Makes a folder, for this user alone, and those above it. */
bool folder_make(Arena *arena, const char *path);

#endif
