/* SPDX-License-Identifier: MIT */
/* Compiled modules: the same results as the interpreter's, options, the cache, C functions given again, what can be
 * shown and built. */
#include "api.h"

#include <unistd.h>

enum { W = 67, H = 23 };

typedef struct Picture {
    uint16_t  in[H + 2][W + 2], out[H][W];
    kn_buffer in_buffer, out_buffer;
    kn_arg    args[2];
} Picture;

static void picture_make(Picture *p)
{
    const int32_t in_size[] = { W + 2, H + 2 }, out_size[] = { W, H };
    memset(p, 0, sizeof *p);
    for (int y = 0; y < H + 2; y++)
        for (int x = 0; x < W + 2; x++)
            p->in[y][x] = pixel(x, y);
    p->in_buffer             = kn_buffer_dense(p->in, KN_U16, 2, in_size);
    p->out_buffer            = kn_buffer_dense(p->out, KN_U16, 2, out_size);
    p->out_buffer.dim[0].min = p->out_buffer.dim[1].min = 1;
    p->args[0]                                          = (kn_arg){ "in", .buffer = &p->in_buffer };
    p->args[1]                                          = (kn_arg){ "out", .buffer = &p->out_buffer };
}

/* Compiles blur_text with these options and runs it; the numbers must be right. */
static void blur_with(kn_context *cx, kn_pipeline *p, const kn_options *options, const char *what)
{
    Picture    picture;
    kn_module *m = kn_compile(p, options);
    CHECK(m, "%s: %s", what, kn_error_text(cx));
    if (!m)
        return;
    picture_make(&picture);
    CHECK(kn_run(m, picture.args, 2) == KN_OK, "%s: %s", what, kn_error_text(cx));
    int wrong = 0;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            wrong += picture.out[y][x] != blur_at(x + 1, y + 1);
    CHECK(wrong == 0, "%s: %d pixels are wrong", what, wrong);
}

static void options(kn_context *cx, kn_pipeline *p)
{
    blur_with(cx, p, NULL, "no options");
    blur_with(cx, p, &(kn_options){ .interpret = true }, "interpreted");
    blur_with(cx, p, &(kn_options){ .schedule = "tiles" }, "a schedule");
    blur_with(cx, p, &(kn_options){ .schedule = "" }, "none of the schedules");
    blur_with(cx, p, &(kn_options){ .threads = 1 }, "one thread");
    blur_with(cx, p, &(kn_options){ .threads = 3 }, "three threads");
    blur_with(cx, p, &(kn_options){ .strict_float = true, .check_access = true }, "checked");
    blur_with(cx, p, &(kn_options){ .profile = true }, "profiled");
    const char *profile = kn_profile(cx);
    CHECK(profile && strstr(profile, "out"), "the profile: %s", profile ? profile : kn_error_text(cx));
    CHECK(!kn_compile(p, &(kn_options){ .schedule = "tile" }), "a schedule that is not there");
    expect_error(cx, KN_ERROR_PROGRAM, KN_ERROR_PROGRAM, "did you mean `tiles`");
    CHECK(!kn_compile(p, &(kn_options){ .threads = -1 }), "threads");
    expect_error(cx, KN_ERROR_ARGUMENT, KN_ERROR_ARGUMENT, "threads is -1");
    CHECK(!kn_compile(p, &(kn_options){ .target = "aarch64-linux" }), "a target that is not this machine");
    expect_error(cx, KN_ERROR_ARGUMENT, KN_ERROR_ARGUMENT, "kn_build");
}

/* A second context finds what the first has kept. */
static void cache(void)
{
    char folder[] = "/tmp/kiln-test-XXXXXX", path[600];
    CHECK(mkdtemp(folder), "mkdtemp");
    for (int i = 0; i < 3; i++) {
        kn_context  *cx = kn_context_new(NULL);
        kn_pipeline *p  = kn_parse(cx, "blur.kiln", blur_text, -1);
        snprintf(path, sizeof path, "%s/deep/er", folder);
        const kn_options with = { .cache = path, .strict_float = i == 2 };
        kn_module       *m    = kn_compile(p, &with);
        CHECK(m && kn_from_cache(m) == (i == 1), "%d: from the cache or not: %s", i, kn_error_text(cx));
        blur_with(cx, p, &with, "from the cache");
        kn_context_free(cx);
    }
    CHECK(!kn_from_cache(NULL), "no module");
    snprintf(path, sizeof path, "rm -r %s", folder);
    CHECK(system(path) == 0, "removed");
}

/* Compiled code that gives a call up says so: here a parameter that may be NaN makes it ask for x 0 on. */
static void interpreted(kn_context *cx)
{
    float         in_data[8] = { 0 }, result[8];
    const int32_t eight[]    = { 8 };
    kn_buffer     in = kn_buffer_dense(in_data, KN_F32, 1, eight), out = kn_buffer_dense(result, KN_F32, 1, eight);
    in.dim[0].min = 5;
    kn_module *m =
        compile_text(cx, "param s : f32 = 99.0\ninput in : f32(x)\noutput out\nout(x) = in(i32(min(f32(x + 5), s)))\n");
    const kn_arg args[] = { { "in", .buffer = &in }, { "out", .buffer = &out } };
    CHECK(!kn_interpreted(m) && !kn_interpreted(NULL), "before any run");
    CHECK(kn_run(m, args, 2) == KN_OK && kn_interpreted(m), "%s", kn_error_text(cx));
    CHECK(kn_diagnostic_count(cx) == 1 && !strcmp(kn_diagnostic_get(cx, 0).warning, "interpreted") &&
              kn_diagnostic_get(cx, 0).line == 4,
          "%s", kn_error_text(cx));
    in.dim[0].min    = 0;
    in.dim[0].extent = 5;
    CHECK(kn_run(m, args, 2) == KN_ERROR_BOUNDS && !kn_interpreted(m), "too small for both");
    out.dim[0].extent = 0;
    CHECK(kn_run(m, args, 2) == KN_OK && !kn_interpreted(m), "%s", kn_error_text(cx));
}

static int twice(int v)
{
    return 2 * v;
}

static int thrice(int v)
{
    return 3 * v;
}

static int fill_user(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                     kn_buffer *output, void *user)
{
    (void)inputs, (void)input_count, (void)value_count;
    for (int i = 0; !query && i < output->dim[0].extent; i++)
        ((int32_t *)output->data)[i * output->dim[0].stride] = *(int *)user + (int)values[0].as.i;
    return 0;
}

/* Looked up when the pipeline runs: not there, there, another one. */
static void functions(kn_context *cx)
{
    int32_t       result[5];
    const int32_t five[] = { 5 };
    kn_buffer     out    = kn_buffer_dense(result, KN_I32, 1, five);
    kn_module    *m      = compile_text(cx, "extern i32 f(i32)\noutput out\nout(x) = f(x) + 1\n");
    const kn_arg  arg    = { "out", .buffer = &out };
    expect_error(cx, kn_run(m, &arg, 1), KN_ERROR_ARGUMENT, "kn_extern_function");
    kn_extern_function(cx, "f", (void (*)(void))twice);
    expect_ok(cx, kn_run(m, &arg, 1));
    CHECK(result[4] == 9, "%d", result[4]);
    kn_extern_function(cx, "f", (void (*)(void))thrice);
    expect_ok(cx, kn_run(m, &arg, 1));
    CHECK(result[4] == 13, "%d", result[4]);
}

/* The same for a stage, and the pointer given with it. */
static void stages(kn_context *cx)
{
    int32_t       result[5];
    int           user[] = { 100, 1000 };
    const int32_t five[] = { 5 };
    kn_buffer     out    = kn_buffer_dense(result, KN_I32, 1, five);
    kn_module    *m      = compile_text(cx, "extern stage g(7) : i32(x)\noutput out\nout(x) = g(x) + x\n");
    const kn_arg  arg    = { "out", .buffer = &out };
    expect_error(cx, kn_run(m, &arg, 1), KN_ERROR_ARGUMENT, "kn_extern_stage");
    for (int i = 0; i < 2; i++) {
        kn_extern_stage(cx, "g", fill_user, &user[i]);
        expect_ok(cx, kn_run(m, &arg, 1));
        CHECK(result[4] == user[i] + 11, "%d", result[4]);
    }
}

static void views(kn_context *cx, kn_pipeline *p)
{
    static const struct {
        kn_view     view;
        const char *part;
    } cases[] = { { KN_VIEW_PLAN, "out." },   { KN_VIEW_LOOPS, "compute out" }, { KN_VIEW_CODE, "out" },
                  { KN_VIEW_LLVM, "define" }, { KN_VIEW_ASM, "ret" },           { KN_VIEW_FUNCS, "blurx(x, y)" } };
    for (int i = 0; i < COUNT(cases); i++) {
        const char *text = kn_show(p, cases[i].view);
        CHECK(text && strstr(text, cases[i].part), "view %d has no %s: %s", (int)cases[i].view, cases[i].part,
              text ? text : kn_error_text(cx));
    }
    for (int i = 0; kn_pass_get(i).name; i++)
        CHECK(kn_show_code(p, KN_VIEW_CODE, NULL, kn_pass_get(i).name), "after %s: %s", kn_pass_get(i).name,
              kn_error_text(cx));
    CHECK(kn_pass_get(0).summary && !kn_pass_get(-1).name && !kn_pass_get(1000).name, "passes");
    CHECK(kn_show_code(p, KN_VIEW_ASM, &(kn_options){ .target = "aarch64-linux" }, NULL), "%s", kn_error_text(cx));
    CHECK(!kn_show_code(p, KN_VIEW_CODE, NULL, "loop"), "no such pass");
    expect_error(cx, KN_ERROR_ARGUMENT, KN_ERROR_ARGUMENT, "did you mean `loops`");
    CHECK(!kn_show_code(p, KN_VIEW_ASM, &(kn_options){ .target = "x86-46" }, NULL), "no such target");
    expect_error(cx, KN_ERROR_ARGUMENT, KN_ERROR_ARGUMENT, "did you mean `x86-64`");
    CHECK(!kn_show(p, (kn_view)99), "no such view");
    CHECK(!kn_show_code(NULL, KN_VIEW_ASM, NULL, NULL), "no pipeline");
    CHECK(!strcmp(kn_target_name(0), "host") && !kn_target_name(-1) && !kn_target_name(1000), "targets");
}

static void counts(kn_context *cx, kn_pipeline *p)
{
    Picture picture;
    picture_make(&picture);
    kn_module  *m    = kn_compile(p, &(kn_options){ .interpret = true });
    const char *text = kn_count(m, picture.args, 2);
    CHECK(text && strstr(text, "blurx") && strstr(text, "span:"), "%s", text ? text : kn_error_text(cx));
    CHECK(picture.out[3][4] == blur_at(5, 4), "computed too");
    CHECK(!kn_count(NULL, NULL, 0) && !kn_count(m, NULL, 0), "nothing to count");
}

static void builds(kn_context *cx, kn_pipeline *p)
{
    char        folder[] = "/tmp/kiln-test-XXXXXX", path[600];
    const char *written;
    CHECK(mkdtemp(folder), "mkdtemp");
    snprintf(path, sizeof path, "%s/blur", folder);
    expect_ok(cx, kn_build(p, path, NULL, NULL, &written));
    CHECK(written && strstr(written, "/blur.h\n") && strstr(written, "/blur.o\n") && strstr(written, "/blur.a"), "%s",
          written);
    expect_ok(cx, kn_build(p, path, &(kn_options){ .target = "aarch64-linux" }, NULL, &written));
    CHECK(written && strstr(written, "kiln_runtime.c"), "%s", written);
    expect_error(cx, kn_build(p, path, &(kn_options){ .target = "aarch64-linux" }, "archive", &written),
                 KN_ERROR_ARGUMENT, "runtime");
    expect_error(cx, kn_build(p, path, NULL, "header,obect", &written), KN_ERROR_ARGUMENT, "did you mean `object`");
    CHECK(!written, "nothing is said to be written");
    expect_error(cx, kn_build(p, "/nowhere/blur", NULL, NULL, NULL), KN_ERROR_FILE, "/nowhere/blur.h");
    expect_error(cx, kn_build(p, "a-b", NULL, NULL, NULL), KN_ERROR_ARGUMENT, "name of a C function");
    expect_error(cx, kn_build(p, NULL, NULL, NULL, NULL), KN_ERROR_ARGUMENT, "name of a C function");
    CHECK(kn_build(NULL, path, NULL, NULL, NULL) == KN_ERROR_ARGUMENT, "no pipeline");
    snprintf(path, sizeof path, "rm -r %s", folder);
    CHECK(system(path) == 0, "removed");
}

static const char schedules[] =
    "schedule rows { out.parallel(y)  blurx.compute_at(out, y) }\n"
    "schedule tiles { out.tile(x, y, xo, yo, xi, yi, 16, 8).vectorize(xi)  blurx.compute_at(out, xo) }\n";

int main(void)
{
    char        text[1000];
    kn_context *cx = kn_context_new(NULL);
    snprintf(text, sizeof text, "%s%s", blur_text, schedules);
    kn_pipeline *p = kn_parse(cx, "blur.kiln", text, -1);
    options(cx, p);
    views(cx, p);
    counts(cx, p);
    builds(cx, p);
    interpreted(cx);
    functions(cx);
    stages(cx);
    cache();
    CHECK(!kn_profile(NULL), "no context");
    kn_context_free(cx);
    return check_done();
}
