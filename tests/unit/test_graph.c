/* The graph that schedulers work on: small programs and their graphs as text; and for every app, the boxes that random tiles of its output need, which are those of the regions' analysis. */
#include "check.h"
#include "schedulers/graph.h"

#include <glob.h>
#include <stdlib.h>

typedef struct Row {
    const char *text, *expected;
} Row;

static const Row rows[] = {
    { "input in : u16(x, y) output out blurx(x, y) = (in(x, y) + in(x+1, y) + in(x+2, y)) / 3 out(x, y) = (blurx(x, y) + blurx(x, y+1) + blurx(x, y+2)) / 3 estimate out(64, 48)",
      "in(0..66, 0..50): input, 2 bytes\n"
      "blurx(0..64, 0..50): pure, 2 bytes, 16 bits, 5 ops, 3 loads\n"
      "    in: x + 0..3, y; 3 accesses\n"
      "out(0..64, 0..48): pure output, 2 bytes, 16 bits, 5 ops, 3 loads\n"
      "    blurx: x, y + 0..3; 3 accesses\n" },
};

typedef struct Case {
    kn_context  *cx;
    kn_pipeline *p;
    Arena        arena;
    Graph        graph;
    Binding      binding;
    bool         ok;
} Case;

static void make(void *arg)
{
    Case *c    = arg;
    c->binding = graph_binding(c->p, &c->arena);
    c->ok      = graph_make(c->p, &c->arena, &c->binding, &c->graph);
}

static bool case_begin(Case *c, const char *name, const char *text)
{
    *c   = (Case){ .cx = kn_context_new(NULL) };
    c->p = kn_parse(c->cx, name, text, -1);
    CHECK(c->p, "%s: %s", name, kn_error_text(c->cx));
    arena_init(&c->arena, c->cx);
    context_begin(c->cx);
    const bool ran = c->p && context_try(c->cx, make, c);
    CHECK(ran && c->ok, "%s: %s", name, kn_error_text(c->cx));
    return ran && c->ok;
}

static void case_end(Case *c)
{
    arena_free(&c->arena);
    kn_context_free(c->cx);
}

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char        *text = calloc(1, 1 << 20);
    const size_t n    = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    return n > 0 ? text : (free(text), NULL);
}

static void test_row(const Row *row)
{
    Case c;
    if (case_begin(&c, "test.kiln", row->text)) {
        Text out;
        text_init(&out, &c.arena);
        graph_print(&out, &c.graph);
        CHECK(!strcmp(text_string(&out), row->expected), "%s\nexpected:\n%sgot:\n%s", row->text, row->expected, text_string(&out));
    }
    case_end(&c);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        Case c;
        if (case_begin(&c, argv[i], read_whole(argv[i]))) {
            Text out;
            text_init(&out, &c.arena);
            graph_print(&out, &c.graph);
            fputs(text_string(&out), stdout);
        }
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        test_row(&rows[i]);
    return check_done();
}
