/* Whole files: read into memory, and written so that they are there whole or not at all. */
#ifndef KILN_API_FILES_H
#define KILN_API_FILES_H

#include "base/context.h"

#include <sys/stat.h>

typedef struct Bytes {
    const char *at;
    size_t      size;
} Bytes;

/* Files that this library writes for its user, and those that nobody else is to read or write; the mask of the process
 * takes from both. */
enum { MODE_PRODUCT = 0666, MODE_PRIVATE = 0600 };

/* The contents of a regular file, in `arena`; false if it cannot be read (errno says why). */
bool file_read_whole(Arena *arena, const char *path, Bytes *out);
/* The same for what `fine` says yes to. It is asked about the file that is read, not about what has that name at
 * another time. */
bool file_read_if(Arena *arena, const char *path, bool (*fine)(const struct stat *about), Bytes *out);
/* Writes the parts one after the other to a new file beside `path` and renames it; false if that failed (errno says
 * why). */
bool file_write_whole(kn_context *cx, const char *path, mode_t mode, const Bytes *parts, int count);
/* Makes a folder, for this user alone, and those above it. */
bool folder_make(Arena *arena, const char *path);

#endif
