/* SPDX-License-Identifier: MIT */
/* The graph that schedulers work on: small programs and their graphs as text; and for every app, the boxes that random
 * tiles of its output need, which are those of the regions' analysis. */
#include "graph_tiles.h"

#include <glob.h>

typedef struct Row {
    const char *text, *expected;
} Row;

static const Row rows[] = {
    { "input in : u16(x, y) output out blurx(x, y) = (in(x, y) + in(x+1, y) + in(x+2, y)) / 3 out(x, y) = (blurx(x, "
      "y) + blurx(x, y+1) + blurx(x, y+2)) / 3 estimate out(64, 48)",
      "in(0..66, 0..50): input, 2 bytes\n"
      "blurx(0..64, 0..50): pure, 2 bytes, 16 bits, 5 ops, 3 loads\n"
      "    in: x + 0..3, y; 3 accesses\n"
      "out(0..64, 0..48): pure output, 2 bytes, 16 bits, 5 ops, 3 loads\n"
      "    blurx: x, y + 0..3; 3 accesses\n" },
    { "input in : f32(x, y) output out dx(x, y) = in(2*x-1, y) + 2*in(2*x, y) + in(2*x+1, y) d(x, y) = dx(x, 2*y-1) "
      "+ dx(x, 2*y+1) ux(x, y) = (d(x/2, y) + d((x+1)/2, y)) / 2 out(x, y) = ux(x, y/2) + ux(x, (y+1)/2) estimate "
      "out(64, 48)",
      "in(-1..66, -1..50): input, 4 bytes\n"
      "dx(0..33, -1..50): pure, 4 bytes, 32 bits, 2 ops, 3 loads\n"
      "    in: 2*x + -1..2, y; 3 accesses\n"
      "d(0..33, 0..25): pure, 4 bytes, 32 bits, 1 op, 2 loads\n"
      "    dx: x, 2*y + -1..2; 2 accesses\n"
      "ux(0..64, 0..25): pure, 4 bytes, 32 bits, 2 ops, 2 loads\n"
      "    d: (x + 0..2) / 2, y; 2 accesses\n"
      "out(0..64, 0..48): pure output, 4 bytes, 32 bits, 1 op, 2 loads\n"
      "    ux: x, (y + 0..2) / 2; 2 accesses\n" },
    { "input in : u8(x, y) output out t(x, y) = in(y, x) out(x, y) = t(y + 1, 47 - x) - t(y, x - y) estimate out(48, "
      "32)",
      "in(-31..48, 0..33): input, 1 byte\n"
      "t(0..33, -31..48): pure, 1 byte, 8 bits, 0 ops, 1 load\n"
      "    in: y, x\n"
      "out(0..48, 0..32): pure output, 1 byte, 8 bits, 1 op, 2 loads\n"
      "    t: y + 0..2, ~-1*x + -31..95 in -31..48; 2 accesses\n" },
    { "input in : u8(x, y) output out e(x, y) = edge(in)(x-1, y) + edge(in)(x+1, y) m(x, y) = mirror(in)(x-3, y) "
      "out(x, y) = e(x, y) + m(x, y) + constant(in, 0)(x, y-1) + wrap(in)(x, y+1) estimate out(64, 48)",
      "in(0..64, 0..48): input, 1 byte\n"
      "e(0..64, 0..48): pure, 1 byte, 8 bits, reads sizes, 1 op, 2 loads\n"
      "    in: x + -1..2 in 0..64, y; 2 accesses\n"
      "m(0..64, 0..48): pure, 1 byte, 8 bits, reads sizes, 0 ops, 1 load\n"
      "    in: ~x + -3..3 in 0..64, ~y\n"
      "out(0..64, 0..48): pure output, 1 byte, 8 to 32 bits, reads sizes, 1.75 ops, 4 loads\n"
      "    e: x, y; pointwise\n"
      "    m: x, y; pointwise\n"
      "    in: ~x, ~0..48; 2 accesses\n" },
    { "input in : u8(x, y) output out h(i) = 0 h(in(u, v)) = h(in(u, v)) + 1 for u in 0..64, v in 0..48 c(i) = h(i) "
      "c(i) = c(i-1) + h(i) for i in 1..256 out(x, y) = c(in(x, y)) estimate out(64, 48)",
      "in(0..64, 0..48): input, 1 byte\n"
      "h(0..256): scatter, 4 bytes, 8 to 32 bits, 0 ops, 0 loads; update 0: 3072 steps, 2 ops, 1 load, gathers\n"
      "    update 0: in: 0..64, 0..48\n"
      "c(0..256): scan, 4 bytes, 32 bits, 0 ops, 1 load; update 0: 255 steps, 1 op, 2 loads\n"
      "    h: i; pointwise\n"
      "    update 0: h: 1..256\n"
      "    update 0: c: 0..255\n"
      "out(0..64, 0..48): pure output, 4 bytes, 8 to 32 bits, 1 op, 2 loads, gathers\n"
      "    c: 0..256\n"
      "    in: x, y; pointwise\n" },
    { "input a : f32(x, y) input b : f32(x, y) output out out(x, y) = sum(a(k, y) * b(x, k) for k in 0..100) "
      "estimate out(64, 48)",
      "a(0..100, 0..48): input, 4 bytes\n"
      "b(0..64, 0..100): input, 4 bytes\n"
      "out.sum(0..64, 0..48): reduction, 4 bytes, 32 bits, 0 ops, 0 loads; update 0: 100 steps, 1 op, 2 loads\n"
      "    update 0: a: 0..100, y\n"
      "    update 0: b: x, 0..100\n"
      "out(0..64, 0..48): pure output, 4 bytes, 32 bits, 0 ops, 1 load\n"
      "    out.sum: x, y; pointwise\n" },
    { "input in : f32(x, y) input by : i32(x, y) output out g(x, y) = exp(in(x, y)) out(x, y) = g(x + clamp(by(x, "
      "y), -4, 4), y) / g(x, 5) estimate out(64, 48)",
      "in(-4..68, 0..48): input, 4 bytes\n"
      "by(0..64, 0..48): input, 4 bytes\n"
      "g(-4..68, 0..48): pure, 4 bytes, 32 bits, 14 ops, 1 load\n"
      "    in: x, y; pointwise\n"
      "out(0..64, 0..48): pure output, 4 bytes, 32 bits, 7 ops, 3 loads, gathers\n"
      "    g: x + -4..5, ~0..48; 2 accesses\n"
      "    by: x, y; pointwise\n" },
    { "input in : f32(x, y) output out s(x, y) = sum(in(x+i, y+j) for i in -1..2, j in -1..2) out(x, y) = if x % 2 "
      "== 0 && y > 3 then s(x-1, y-4) else s(x*3/4 + 2*(x/2), y) estimate out(64, 48)",
      "in(-2..111, -1..49): input, 4 bytes\n"
      "s.sum(-1..110, 0..48): reduction, 4 bytes, 32 bits, 0 ops, 0 loads; update 0: 9 steps, 1 op, 1 load\n"
      "    update 0: in: x + -1..2, y + -1..2\n"
      "s(-1..110, 0..48): pure, 4 bytes, 32 bits, 0 ops, 1 load\n"
      "    s.sum: x, y; pointwise\n"
      "out(0..64, 0..48): pure output, 4 bytes, 32 bits, 1 op, 2 loads\n"
      "    s: ~(7*x + -193..1) / 4 in -1..110, ~y + -4..1 in 0..; 2 accesses\n" },
    { "param steps : i32 = 8 input in : f32(x) output out a(x, t) = edge(in)(x) a(x, t) = (a(x-1, t-1) + a(x+1, "
      "t-1)) / 2 for t in 1..steps+1 out(x) = a(x, steps) estimate out(64)",
      "in(0..64): input, 4 bytes\n"
      "a(-8..72, 0..9): scan, 4 bytes, 32 bits, reads sizes, 0 ops, 1 load; update 0: 8 steps, 2 ops, 2 loads\n"
      "    in: x in 0..64\n"
      "    update 0: a: ~x + -8..9, ~0..8; 2 accesses\n"
      "out(0..64): pure output, 4 bytes, 32 bits, 0 ops, 1 load\n"
      "    a: x, 8\n" },
    /* neighbours along x are not side by side in a short period, or at a multiple by a float; they are in a long one */
    { "input in : f32(x, y) output out a(x, y) = in(x, y) + 1 out(x, y) = a(x % 8, y) + a(i32(f32(x) * 1.5), y) + "
      "in(x % 64, y) + in(x / 2, y) estimate out(64, 48)",
      "in(0..95, 0..48): input, 4 bytes\n"
      "a(0..95, 0..48): pure, 4 bytes, 32 bits, 1 op, 1 load\n"
      "    in: x, y; pointwise\n"
      "out(0..64, 0..48): pure output, 4 bytes, 32 bits, 6 ops, 4 loads, gathers\n"
      "    a: ~0..95, y; 2 accesses; jumps along x\n"
      "    in: ~x + -32..1 in 0.., y; 2 accesses\n" },
    /* what x decides along c is read further off by as far as x has shifted */
    { "output out f(x, t, c) = x + c f(x, u, u) = f(x+3, u-1, x+3) + 1 for u in 1..4 out(x) = f(x, 3, 3) estimate "
      "out(8)",
      "f(0..11, 2..4, 3..11): scan, 4 bytes, 32 bits, 1 op, 0 loads; update 0: 3 steps, 1 op, 1 load\n"
      "    update 0: f: ~x + 0..10, ~0..3, ~x + 3..13\n"
      "out(0..8): pure output, 4 bytes, 32 bits, 0 ops, 1 load\n"
      "    f: x, 3, 3\n" },
};

static void make(void *arg)
{
    Tiled *c   = arg;
    c->binding = graph_binding(c->p, &c->arena);
    c->ok      = graph_make(c->p, &c->arena, &c->binding, &c->graph);
}

static bool case_begin(Tiled *c, const char *name, const char *text)
{
    *c   = (Tiled){ .cx = kn_context_new(NULL) };
    c->p = kn_parse(c->cx, name, text, -1);
    CHECK(c->p, "%s: %s", name, kn_error_text(c->cx));
    arena_init(&c->arena, c->cx);
    context_begin(c->cx);
    const bool ran = c->p && context_try(c->cx, make, c);
    CHECK(ran && c->ok, "%s: %s", name, kn_error_text(c->cx));
    return ran && c->ok;
}

static void case_end(Tiled *c)
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
    Tiled c;
    if (case_begin(&c, "test.kiln", row->text)) {
        Text out;
        text_init(&out, &c.arena);
        graph_print(&out, &c.graph);
        CHECK(!strcmp(text_string(&out), row->expected), "%s\nexpected:\n%sgot:\n%s", row->text, row->expected,
              text_string(&out));
    }
    case_end(&c);
}

static void test_app(const char *path, int *compared, int *exact)
{
    enum { TILES = 40 };
    char *text = read_whole(path);
    Tiled c;
    if (case_begin(&c, path, text))
        for (int i = 0; i < TILES; i++)
            if (!test_tile(path, &c, i % (int)c.p->outputs.count))
                break;
    *compared += c.compared;
    *exact += c.exact;
    free(text);
    case_end(&c);
}

static void test_apps(void)
{
    int    compared = 0, exact = 0;
    glob_t found;
    if (glob("apps/*/*.kiln", 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (check_sampled(i))
            test_app(found.gl_pathv[i], &compared, &exact);
    globfree(&found);
    printf("%d boxes compared, %d of them exact\n", compared, exact);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        test_row(&rows[i]);
    test_apps();
    return check_done();
}
