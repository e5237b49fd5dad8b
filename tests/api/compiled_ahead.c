/* Programs about where an access lies, compiled ahead of time: built by kn_build, linked with a C program that is run
 * as a process of its own, and compared with the interpreter. An input without points has no memory at all.
 * compiled.c has the whole table, compiled at once. */
#include "api.h"

#include <sys/wait.h>
#include <unistd.h>

/* Of an input in : u8, and an output out : i32 of the same rank. `empty` is the dimension along which the input has
 * no points; -1: it is as large as the output. */
typedef struct Row {
    int         rank, empty;
    const char *value;
} Row;

static const Row rows[] = {
    { 1, 0, "i32(constant(in, 7)(x))" },
    { 1, 0, "i32(if in.width > 0 then in(0) else 9)" },
    { 1, 0, "i32(if x < in.width then in(x) else 9)" },
    { 1, 0, "sum(i32(in(u)) for u in in.x.min..in.x.max+1)" },
    { 2, 0, "i32(constant(in, 7)(x, y))" },
    { 2, 1, "i32(constant(in, 7)(x, y))" },
    { 2, 1, "i32(if in.height > 0 then edge(in)(x, y) else 9)" },
    { 1, -1, "i32(if x == 0 then in(in.width-1) else in(x-1))" },
    { 1, -1, "i32(select(x == 0: in(in.width-1), x == in.width-1: in(0), else: in(x+1)))" },
    { 1, -1, "i32(in((x & -2) % in.width)) + i32(wrap(in)(x | 1)) + i32(edge(in)(x ^ 1))" },
    { 2, -1, "i32(in(if x == 0 then in.width-1 else x-1, if y != in.height-1 then y+1 else 0))" },
};
enum { ROWS = sizeof rows / sizeof *rows, MOST = 20 };

/* Prints the values of row argv[1] at the extent argv[2] of each of argv[3] dimensions; the input has no points along
 * dimension argv[4]. */
static const char main_text[] =
    "#include <stdio.h>\n#include <stdlib.h>\n"
    "int main(int argc, char **argv)\n{\n"
    "    static unsigned char bytes[400];\n    static int32_t values[400];\n"
    "    const int which = atoi(argv[1]), n = atoi(argv[2]), rank = atoi(argv[3]), empty = atoi(argv[4]);\n"
    "    kn_buffer in  = { .data = empty < 0 ? bytes : NULL, .type = KN_U8, .rank = rank,\n"
    "                      .dim = { { 0, n, 1 }, { 0, n, n } } };\n"
    "    kn_buffer out = { .data = values, .type = KN_I32, .rank = rank, .dim = { { 0, n, 1 }, { 0, n, n } } };\n"
    "    for (int i = 0; i < 400; i++)\n        bytes[i] = (unsigned char)(i * 3);\n"
    "    if (empty >= 0)\n        in.dim[empty].extent = 0;\n"
    "    const int status = rows[which](&in, &out);\n"
    "    for (int i = 0; !status && i < (rank == 2 ? n * n : n); i++)\n        printf(\"%d \", (int)values[i]);\n"
    "    if (status)\n        printf(\"status %d: %s\", status, kn_rt_last_error());\n"
    "    return argc < 5;\n}\n";

static char folder[] = "/tmp/kiln-ahead-XXXXXX";

static void program_of(const Row *row, char *text, size_t size)
{
    const char *dims = row->rank == 2 ? "x, y" : "x";
    snprintf(text, size, "input in : u8(%s)  output out  out(%s) = %s", dims, dims, row->value);
}

/* NAME.h and NAME.o of each row; the runtime is in the first one's archive. */
static bool build_rows(kn_context *cx)
{
    for (int i = 0; i < ROWS; i++) {
        char text[300], path[100];
        program_of(&rows[i], text, sizeof text);
        snprintf(path, sizeof path, "%s/row%d", folder, i);
        const char     *emit   = i ? "header,object" : "header,archive";
        kn_pipeline    *p      = kn_parse(cx, "row.kiln", text, -1);
        const kn_status status = kn_build(p, path, &(kn_options){ .target = "host" }, emit, NULL);
        CHECK(status == KN_OK, "%s: %s", text, kn_error_text(cx));
        if (status)
            return false;
    }
    return true;
}

/* main.c and the program of it and the objects. */
static bool link_program(void)
{
    char path[100], command[400];
    snprintf(path, sizeof path, "%s/main.c", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    for (int i = 0; i < ROWS; i++)
        fprintf(file, "#include \"row%d.h\"\n", i);
    fprintf(file, "static int (*const rows[])(const kn_buffer *, kn_buffer *) = { ");
    for (int i = 0; i < ROWS; i++)
        fprintf(file, "row%d, ", i);
    fprintf(file, "};\n%s", main_text);
    fclose(file);
#ifdef __SANITIZE_ADDRESS__
    const char *with = "-fsanitize=address,undefined"; /* as the runtime in row0.a */
#else
    const char *with = "";
#endif
    snprintf(command, sizeof command, "cd %s && cc -std=c99 -Wall %s main.c row*.o row0.a -lm -lpthread -o ahead",
             folder, with);
    return system(command) == 0;
}

/* What the program prints of a row; how it ended. */
static int printed(int which, int n, char *text, size_t size)
{
    char command[200];
    snprintf(command, sizeof command, "%s/ahead %d %d %d %d", folder, which, n, rows[which].rank, rows[which].empty);
    FILE        *pipe   = popen(command, "r");
    const size_t length = pipe ? fread(text, 1, size - 1, pipe) : 0;
    text[length]        = 0;
    return pipe ? pclose(pipe) : -1;
}

/* The same of the interpreter. */
static void interpreted(kn_context *cx, const Row *row, int n, char *text, size_t size)
{
    static unsigned char bytes[MOST * MOST];
    static int32_t       values[MOST * MOST];
    char                 program[300];
    size_t               length = 0;
    kn_buffer            in = { .data = bytes, .type = KN_U8, .rank = row->rank, .dim = { { 0, n, 1 }, { 0, n, n } } };
    kn_buffer out = { .data = values, .type = KN_I32, .rank = row->rank, .dim = { { 0, n, 1 }, { 0, n, n } } };
    for (int i = 0; i < MOST * MOST; i++)
        bytes[i] = (unsigned char)(i * 3);
    if (row->empty >= 0) {
        in.dim[row->empty].extent = 0;
        in.data                   = NULL;
    }
    program_of(row, program, sizeof program);
    kn_module *m = kn_compile(kn_parse(cx, "row.kiln", program, -1), &(kn_options){ .interpret = true });
    expect_ok(cx, kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2));
    text[0] = 0;
    for (int i = 0; i < (row->rank == 2 ? n * n : n); i++)
        length += (size_t)snprintf(text + length, size - length, "%d ", (int)values[i]);
}

int main(void)
{
    static const int extents[] = { 0, 1, 2, 3, 17, MOST };
    static char      got[8000], want[8000];
    kn_context      *cx = kn_context_new(NULL);
    CHECK(mkdtemp(folder), "no folder for temporary files");
    const bool made = build_rows(cx);
    CHECK(made && link_program(), "the objects cannot be linked with a C program");
    for (int i = 0; made && i < ROWS; i++)
        for (int k = 0; k < COUNT(extents); k++) {
            const int status = printed(i, extents[k], got, sizeof got);
            interpreted(cx, &rows[i], extents[k], want, sizeof want);
            CHECK(status == 0 && !strcmp(got, want), "%s at extent %d: ended with %d and printed\n%s\nnot\n%s",
                  rows[i].value, extents[k], status, got, want);
        }
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "%s is left", folder);
    kn_context_free(cx);
    return check_done();
}
