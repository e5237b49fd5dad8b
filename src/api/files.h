/* Whole files: read into memory, and written so that they are there whole or not at all. */
#ifndef KILN_API_FILES_H
#define KILN_API_FILES_H

#include "base/context.h"

typedef struct Bytes {
    const char *at;
    size_t      size;
} Bytes;

/* The contents of a regular file, in `arena`; false if it cannot be read (errno says why). */
bool file_read_whole(Arena *arena, const char *path, Bytes *out);
/* Writes the parts one after the other to a new file beside `path` and renames it; false if that failed (errno says why). */
bool file_write_whole(kn_context *cx, const char *path, const Bytes *parts, int count);
/* Makes a folder and those above it. */
bool folder_make(Arena *arena, const char *path);

#endif
