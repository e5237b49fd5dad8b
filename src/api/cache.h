/* SPDX-License-Identifier: MIT */
/* The cache of objects on disk: what was compiled once is not compiled again, by no process.
 *
 * A file per object, named by a hash of the key. The key is the lowered program itself with all that the backend looks
 * at, so equal keys have equal objects; it is kept in the file and compared, so that two keys of one hash do no harm. A
 * file is written under another name and renamed; one that is damaged, or not ours, is as good as none and is
 * replaced. */
#ifndef KILN_API_CACHE_H
#define KILN_API_CACHE_H

#include "api/files.h"
#include "codegen/backend.h"

/* The program and everything else an object depends on, as bytes; two programs of one key are the same in every
 * respect. */
Bytes program_key(Arena *arena, const Program *program, const CodegenOptions *options, const Codegen *codegen);

/* The object kept for a key; false if there is none. */
bool cache_find(Arena *arena, const char *folder, Bytes key, Bytes *object);
/* Keeps an object. That it cannot be written is no error: it is compiled again next time. */
void cache_keep(kn_context *cx, const char *folder, Bytes key, Bytes object);
/* Removes the files that were not used for the longest time until those left have at most that many bytes. */
void cache_trim(kn_context *cx, const char *folder, uint64_t most);

#endif
