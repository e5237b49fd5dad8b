/* SPDX-License-Identifier: MIT */
/* The cache of objects: what is kept is found; what is damaged, what others can write and what cannot be loaded is not,
 * and is replaced; the bound holds; many processes at once. */
#include "api/cache.h"
#include "check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/kiln-test-XXXXXX";

static Bytes bytes(const char *s)
{
    return (Bytes){ s, strlen(s) };
}

static bool finds(kn_context *cx, const char *key, const char *object)
{
    Bytes found;
    return cache_find(&cx->call, folder, bytes(key), &found) && found.size == strlen(object) &&
           !memcmp(found.at, object, found.size);
}

/* Calls change on each file of the cache; gives their number. */
static int each_file(void (*change)(const char *path))
{
    DIR *dir   = opendir(folder);
    int  count = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (change)
            change(path);
    }
    if (dir)
        closedir(dir);
    return count;
}

static void forget(const char *path)
{
    unlink(path);
}

static void cut(const char *path)
{
    CHECK(truncate(path, 40) == 0, "truncate");
}

static void empty(const char *path)
{
    CHECK(truncate(path, 0) == 0, "truncate");
}

static void scratch(const char *path)
{
    FILE *file = fopen(path, "r+b");
    fseek(file, -1, SEEK_END);
    fputc('!', file);
    fclose(file);
}

static void claim_more(const char *path)
{
    FILE *file = fopen(path, "r+b");
    fseek(file, 16, SEEK_SET);
    fputs("\377\377\377\377\377\377\377\377", file);
    fclose(file);
}

static void damage(kn_context *cx)
{
    void (*const ways[])(const char *) = { cut, empty, scratch, claim_more };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        each_file(ways[i]);
        CHECK(!finds(cx, "key", "object"), "damaged in way %zu", i);
        cache_keep(cx, folder, bytes("key"), bytes("object"));
        CHECK(finds(cx, "key", "object"), "replaced after way %zu", i);
    }
}

/* The path of the one file of a folder. */
static void only_file(const char *in, char *path, size_t size)
{
    DIR *dir = opendir(in);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            snprintf(path, size, "%s/%s", in, entry->d_name);
    if (dir)
        closedir(dir);
}

/* A file or a folder that others can write, or that is no file, is not looked into. */
static void modes(kn_context *cx)
{
    static const struct {
        mode_t file, folder;
        bool   found;
    } rows[] = { { 0600, 0700, true },  { 0644, 0755, true },  { 0620, 0700, false }, { 0602, 0700, false },
                 { 0600, 0720, false }, { 0600, 0702, false }, { 0666, 01777, false } };
    char        path[600];
    struct stat about;
    umask(0);
    snprintf(path, sizeof path, "%s/sub", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Bytes found;
        char  file[900];
        cache_keep(cx, path, bytes("key"), bytes("object"));
        CHECK(stat(path, &about) == 0 && (about.st_mode & 0777) == 0700, "the folder is made private: %o",
              (unsigned)about.st_mode);
        only_file(path, file, sizeof file);
        CHECK(stat(file, &about) == 0 && (about.st_mode & 0777) == 0600, "the file is private: %o",
              (unsigned)about.st_mode);
        CHECK(chmod(file, rows[i].file) == 0 && chmod(path, rows[i].folder) == 0, "chmod");
        CHECK(cache_find(&cx->call, path, bytes("key"), &found) == rows[i].found, "file %o, folder %o", rows[i].file,
              rows[i].folder);
        CHECK(unlink(file) == 0 && mkfifo(file, 0600) == 0, "a pipe instead");
        CHECK(!cache_find(&cx->call, path, bytes("key"), &found), "a pipe has no object");
        CHECK(unlink(file) == 0 && rmdir(path) == 0, "cleared");
    }
    umask(022);
}

static Bytes loadable; /* a key */

/* The key of the one file. */
static void read_key(const char *path)
{
    static char key[1 << 20];
    uint64_t    sizes[2];
    FILE       *file = fopen(path, "rb");
    CHECK(file && fseek(file, 8, SEEK_SET) == 0 && fread(sizes, sizeof sizes, 1, file) == 1 && sizes[0] < sizeof key,
          "its header");
    CHECK(fseek(file, 32, SEEK_SET) == 0 && fread(key, sizes[0], 1, file) == 1, "its key");
    fclose(file);
    loadable = (Bytes){ key, sizes[0] };
}

/* An entry whose sums are right and whose object is none: a miss, compiled again and replaced. */
static void not_loadable(kn_context *cx)
{
    static const char *const texts[] = { "output out\nout(x) = x * 3", "extern i32 c(i32)\noutput out\nout(x) = c(x)" };
    static const char        half[64] = "\177ELF\2\1\1";
    for (size_t t = 0; t < 2; t++) {
        kn_context      *own  = kn_context_new(NULL);
        const kn_options with = { .cache = folder };
        kn_pipeline     *p    = kn_parse(own, "a", texts[t], -1);
        CHECK(p && kn_compile(p, &with), "compiled: %s", kn_error_text(own));
        each_file(read_key);
        const Bytes objects[] = { bytes("no object"), { "", 0 }, { half, sizeof half } };
        for (size_t i = 0; i < 3; i++) {
            cache_keep(cx, folder, loadable, objects[i]);
            const kn_module *again = kn_compile(p, &with), *then = again ? kn_compile(p, &with) : NULL;
            CHECK(again && !kn_from_cache(again), "text %zu, object %zu: %s", t, i, kn_error_text(own));
            CHECK(then && kn_from_cache(then), "text %zu, object %zu was replaced", t, i);
        }
        kn_context_free(own);
        each_file(forget);
    }
}

static void bound(kn_context *cx)
{
    char key[32], object[1000];
    memset(object, 'o', sizeof object);
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "key %d", i);
        cache_keep(cx, folder, bytes(key), (Bytes){ object, sizeof object });
        usleep(2000);
    }
    Bytes found;
    CHECK(cache_find(&cx->call, folder, bytes("key 0"), &found), "is there, and now the newest");
    cache_trim(cx, folder, 5500);
    CHECK(each_file(NULL) == 5, "%d files", each_file(NULL));
    CHECK(cache_find(&cx->call, folder, bytes("key 0"), &found), "used last");
    CHECK(!cache_find(&cx->call, folder, bytes("key 1"), &found), "the oldest is gone");
}

/* Eight processes that keep and find the same few keys: each finds the right object or none. */
static void processes(void)
{
    for (int p = 0; p < 8; p++)
        if (fork() == 0) {
            kn_context *cx    = kn_context_new(NULL);
            int         wrong = 0;
            for (int i = 0; i < 200; i++) {
                char key[32], object[64];
                snprintf(key, sizeof key, "key %d", i % 7);
                snprintf(object, sizeof object, "object of %s", key);
                Bytes found;
                if (cache_find(&cx->call, folder, bytes(key), &found))
                    wrong += found.size != strlen(object) || memcmp(found.at, object, found.size);
                cache_keep(cx, folder, bytes(key), bytes(object));
            }
            kn_context_free(cx);
            _exit(wrong != 0);
        }
    for (int p = 0; p < 8; p++) {
        int status = 1;
        wait(&status);
        CHECK(status == 0, "a process found a wrong object");
    }
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    kn_context *cx = kn_context_new(NULL);
    CHECK(!finds(cx, "key", "object"), "nothing is there yet");
    cache_keep(cx, folder, bytes("key"), bytes("object"));
    CHECK(finds(cx, "key", "object"), "kept");
    CHECK(!finds(cx, "kex", "object"), "another key");
    damage(cx);
    each_file(forget);
    modes(cx);
    not_loadable(cx);
    bound(cx);
    each_file(forget);
    processes();
    cache_keep(cx, "/proc/nowhere", bytes("key"), bytes("object"));
    CHECK(cx->status == KN_OK, "what cannot be written is no error");
    each_file(forget);
    rmdir(folder);
    kn_context_free(cx);
    return check_done();
}
