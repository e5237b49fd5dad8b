/* The cache of objects: what is kept is found; what is damaged is not, and is replaced; the bound holds; many processes at once. */
#include "api/cache.h"
#include "check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
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
    return cache_find(&cx->call, folder, bytes(key), &found) && found.size == strlen(object) && !memcmp(found.at, object, found.size);
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

static void forget(const char *path)
{
    unlink(path);
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
