/* SPDX-License-Identifier: MIT */
/* Archives: what archive_make writes is what a linker reads. */
#include "api/archive.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int shell(const char *command)
{
    return system(command);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

/* An object and an archive of two objects with short and long names become one library, of which a program uses a
 * function from each. */
static void linked(kn_context *cx)
{
    write_text("one.c", "int two(void), three(void); int one(void) { return two() + three(); }\n");
    write_text("two.c", "int two(void) { return 2; }\n");
    write_text("a_long_name_of_a_file.c", "int three(void) { return 3; }\n");
    write_text("main.c", "int one(void); int main(void) { return one() != 5; }\n");
    CHECK(!shell("cc -c one.c two.c a_long_name_of_a_file.c && ar rcsD other.a two.o a_long_name_of_a_file.o"),
          "cc and ar");
    Bytes one = { 0 }, other = { 0 }, made = { 0 };
    CHECK(file_read_whole(&cx->call, "one.o", &one) && file_read_whole(&cx->call, "other.a", &other), "read");
    CHECK(archive_make(&cx->call, "the_object_of_a_pipeline.o", one, "one", other, &made), "made");
    CHECK(file_write_whole(cx, "made.a", MODE_PRODUCT, &made, 1), "written");
    CHECK(!shell("cc main.c made.a -o main && ./main"), "linked and run");
    CHECK(
        !shell("test \"$(ar t made.a | tr '\\n' ' ')\" = 'the_object_of_a_pipeline.o two.o a_long_name_of_a_file.o '"),
        "members");
    CHECK(!shell("test \"$(nm -s made.a | grep -c ' in ')\" = 3"), "index");
    CHECK(archive_make(&cx->call, "one.o", one, "one", (Bytes){ 0 }, &made), "of one object alone");
    CHECK(file_write_whole(cx, "alone.a", MODE_PRODUCT, &made, 1) &&
              !shell("cc main.c alone.a two.o a_long_name_of_a_file.o -o main && ./main"),
          "linked");
}

/* No part of an archive, and nothing else, is taken for a whole one, or read beyond its end. */
static void damaged(kn_context *cx)
{
    Bytes other = { 0 }, made;
    CHECK(file_read_whole(&cx->call, "other.a", &other), "read");
    for (size_t n = 1; n < 100 && n < other.size; n++) {
        char *part = malloc(n);
        memcpy(part, other.at, n);
        CHECK(!archive_make(&cx->call, "x.o", (Bytes){ "x", 1 }, "x", (Bytes){ part, n }, &made), "%zu bytes", n);
        free(part);
    }
    CHECK(!archive_make(&cx->call, "x.o", (Bytes){ "x", 1 }, "x", (Bytes){ "no archive", 10 }, &made), "no archive");
}

int main(void)
{
    char folder[] = "/tmp/kiln-test-XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder))
        return 1;
    kn_context *cx = kn_context_new(NULL);
    linked(cx);
    damaged(cx);
    kn_context_free(cx);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(!shell(command), "cleaned up");
    return check_done();
}
