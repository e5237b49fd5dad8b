/* SPDX-License-Identifier: MIT */
/* Static libraries (`ar` archives in the System V form that linkers of ELF systems read). */
#ifndef KILN_API_ARCHIVE_H
#define KILN_API_ARCHIVE_H

#include "api/files.h"

/* An archive of one new object, which defines `symbol`, and all members of another archive (size 0: none). false if
 * that one is not an archive with a symbol table. */
bool archive_make(Arena *arena, const char *object_name, Bytes object, const char *symbol, Bytes other, Bytes *out);

#endif
