/* SPDX-License-Identifier: MIT */
/* The cache of objects on disk.
 *
 * A file is  "KILNOBJ1", the sizes of key and object, a checksum of both, the key, the object. Its name is the key's
 * hash in 32 digits. Its time of change is when it was last used: the oldest go first when the folder grows beyond its
 * bound. */
#include "api/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char     magic[8]   = "KILNOBJ1";
static const uint64_t most_bytes = (uint64_t)256 << 20;
enum { DIGITS = 32, OLD_SECONDS = 3600 };

typedef struct CacheHeader {
    char     magic[8];
    uint64_t key_size, object_size, checksum;
} CacheHeader;

/* 64 bits of a text: each eight bytes are multiplied in, and the high half folded down so that every bit of the text
 * reaches every bit of the result. */
static uint64_t mix(uint64_t h, Bytes text)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    h ^= text.size * odd;
    for (size_t i = 0; i < text.size; i += 8) {
        uint64_t     word = 0;
        const size_t n    = text.size - i < 8 ? text.size - i : 8;
        memcpy(&word, text.at + i, n);
        h = (h ^ word) * odd;
        h = (h ^ h >> 29) * UINT64_C(0xd6e8feb86659fd93);
        h ^= h >> 32;
    }
    return h;
}

static uint64_t checksum(Bytes key, Bytes object)
{
    return mix(mix(3, key), object);
}

/* FOLDER/0123…cdef.o */
static const char *path_of(Arena *arena, const char *folder, Bytes key)
{
    return arena_printf(arena, "%s/%016" PRIx64 "%016" PRIx64 ".o", folder, mix(1, key), mix(2, key));
}

/* Is it of this user, and can nobody else write to it? Code of others is not run. */
static bool is_private(const struct stat *about)
{
    return about->st_uid == geteuid() && !(about->st_mode & (S_IWGRP | S_IWOTH));
}

/* Whoever can write to the folder can put back an old file of ours under its name. */
static bool folder_is_private(const char *folder)
{
    struct stat about;
    return stat(folder, &about) == 0 && is_private(&about);
}

bool cache_find(Arena *arena, const char *folder, Bytes key, Bytes *object)
{
    const char *path = path_of(arena, folder, key);
    CacheHeader h;
    Bytes       file;
    if (!folder_is_private(folder) || !file_read_if(arena, path, is_private, &file) || file.size < sizeof h)
        return false;
    memcpy(&h, file.at, sizeof h);
    const size_t rest = file.size - sizeof h;
    if (memcmp(h.magic, magic, sizeof magic) || h.key_size != key.size || rest < key.size ||
        h.object_size != rest - key.size)
        return false;
    const Bytes stored = { file.at + sizeof h, key.size }, found = { stored.at + key.size, h.object_size };
    if (memcmp(stored.at, key.at, key.size) || checksum(stored, found) != h.checksum)
        return false;
    *object = found;
    utimensat(AT_FDCWD, path, NULL, 0);
    return true;
}

void cache_keep(kn_context *cx, const char *folder, Bytes key, Bytes object)
{
    const char *path = path_of(&cx->call, folder, key);
    CacheHeader h    = { .key_size = key.size, .object_size = object.size, .checksum = checksum(key, object) };
    memcpy(h.magic, magic, sizeof magic);
    const Bytes parts[] = { { (const char *)&h, sizeof h }, key, object };
    if (!folder_make(&cx->call, folder) || !folder_is_private(folder) ||
        !file_write_whole(cx, path, MODE_PRIVATE, parts, 3))
        return;
    if (mix(1, key) % 16 == 0) /* looking through the folder takes longer than writing a file */
        cache_trim(cx, folder, most_bytes);
}

/* ---- The bound ---- */

typedef struct CacheFile {
    const char     *path;
    uint64_t        size;
    struct timespec used;
} CacheFile;

typedef struct Listing {
    Arena      *arena;
    const char *folder;
    DIR        *dir;
    VEC(CacheFile) files;
} Listing;

/* Ours are named by 32 digits and .o; what a process left behind when it ended too early has .tmp at the end. */
static bool is_cache_name(const char *name, bool *temporary)
{
    if (strspn(name, "0123456789abcdef") != DIGITS || strncmp(name + DIGITS, ".o", 2))
        return false;
    const size_t n = strlen(name);
    *temporary     = name[DIGITS + 2] != 0;
    return !*temporary || !strcmp(name + n - 4, ".tmp");
}

static void list_files(void *arg)
{
    Listing *l = arg;
    for (const struct dirent *entry; (entry = readdir(l->dir));) {
        bool        temporary;
        struct stat about;
        if (!is_cache_name(entry->d_name, &temporary))
            continue;
        const char *path = arena_printf(l->arena, "%s/%s", l->folder, entry->d_name);
        if (stat(path, &about))
            continue;
        if (temporary && about.st_mtim.tv_sec + OLD_SECONDS < time(NULL))
            unlink(path);
        else if (!temporary)
            vec_push(l->arena, &l->files, ((CacheFile){ path, (uint64_t)about.st_size, about.st_mtim }));
    }
}

static int by_age(const void *a, const void *b)
{
    const struct timespec *s = &((const CacheFile *)a)->used, *t = &((const CacheFile *)b)->used;
    if (s->tv_sec != t->tv_sec)
        return s->tv_sec < t->tv_sec ? -1 : 1;
    return s->tv_nsec < t->tv_nsec ? -1 : s->tv_nsec > t->tv_nsec;
}

void cache_trim(kn_context *cx, const char *folder, uint64_t most)
{
    Listing l = { .arena = &cx->call, .folder = folder, .dir = opendir(folder) };
    if (!l.dir)
        return;
    const bool listed = context_try(cx, list_files, &l);
    closedir(l.dir);
    if (!listed)
        return;
    uint64_t total = 0;
    for (size_t i = 0; i < l.files.count; i++)
        total += l.files.at[i].size;
    if (total <= most)
        return;
    qsort(l.files.at, l.files.count, sizeof *l.files.at, by_age);
    for (size_t i = 0; i < l.files.count && total > most; i++)
        if (!unlink(l.files.at[i].path))
            total -= l.files.at[i].size;
}
