/* SPDX-License-Identifier: MIT */
/* The main road through the API: types, contexts, programs from text, running, regions, filling, showing. */
#include "api.h"

#include <locale.h>

static void test_types(void)
{
    for (int t = KN_BOOL; t < KN_TYPE_COUNT; t++) {
        const char *name = kn_type_name((kn_type)t);
        CHECK(name && kn_type_from_name(name) == (kn_type)t, "type %d", t);
        CHECK(kn_type_size((kn_type)t) >= 1 && kn_type_size((kn_type)t) <= 8, "%s", name);
    }
    CHECK(kn_type_size(KN_BOOL) == 1 && kn_type_size(KN_BF16) == 2 && kn_type_size(KN_F64) == 8, "sizes");
    CHECK(!kn_type_name(KN_NONE) && !kn_type_name((kn_type)99) && !kn_type_name((kn_type)-1), "no type");
    CHECK(!kn_type_size((kn_type)99) && !kn_type_size(KN_NONE), "no type");
    CHECK(kn_type_from_name("u7") == KN_NONE && kn_type_from_name("") == KN_NONE && kn_type_from_name(NULL) == KN_NONE,
          "no name");
    CHECK(!kn_int(3).is_float && kn_int(3).as.i == 3 && kn_float(.5).is_float && kn_float(.5).as.f == .5, "scalars");
}

static void test_errors(kn_context *cx)
{
    CHECK(!strcmp(kn_error_text(NULL), "error: no context was given\n"), "%s", kn_error_text(NULL));
    CHECK(kn_diagnostic_count(NULL) == 0, "NULL has no diagnostics");
    CHECK(!kn_parse(cx, "bad.kiln", "input in : u8(x)\noutput out\nout(x) = inn(x) + outt(x)\n", -1),
          "must be refused");
    CHECK(strstr(kn_error_text(cx), "bad.kiln:3:10: error: "), "%s", kn_error_text(cx));
    CHECK(strstr(kn_error_text(cx), "did you mean `in`?"), "%s", kn_error_text(cx));
    CHECK(kn_diagnostic_count(cx) >= 2, "both names are reported: %s", kn_error_text(cx));
    const kn_diagnostic d = kn_diagnostic_get(cx, 0);
    CHECK(d.severity == KN_ERROR && !strcmp(d.file, "bad.kiln") && d.line == 3 && d.column == 10 && *d.message,
          "%s:%d:%d: %s", d.file, d.line, d.column, d.message);
    CHECK(kn_diagnostic_get(cx, -1).line == 0 && kn_diagnostic_get(cx, 999).line == 0, "no such diagnostic");
    CHECK(kn_compile(NULL, NULL) == NULL, "no pipeline");
    CHECK(kn_parse(cx, "good.kiln", blur_text, -1) != NULL, "%s", kn_error_text(cx));
    CHECK(!*kn_error_text(cx) && kn_diagnostic_count(cx) == 0, "the next call begins anew: %s", kn_error_text(cx));
    kn_context_free(NULL);
    kn_pipeline_free(NULL);
}

static void test_warnings(kn_context *cx)
{
    for (int i = 0; kn_error_get(i).name; i++)
        CHECK(*kn_error_get(i).summary, "%s", kn_error_get(i).name);
    CHECK(!kn_error_get(-1).name && !kn_error_get(1000).name, "no such error");
    for (int i = 0; kn_directive_get(i).name; i++)
        CHECK(*kn_directive_get(i).summary, "%s", kn_directive_get(i).name);
    CHECK(!kn_directive_get(-1).name && !kn_directive_get(1000).name, "no such directive");
    for (int i = 0; kn_warning_get(i).name; i++)
        CHECK(kn_warn(cx, kn_warning_get(i).name, true) == KN_OK && *kn_warning_get(i).summary, "%s",
              kn_error_text(cx));
    CHECK(!kn_warning_get(-1).name && !kn_warning_get(1000).name, "no such warning");
    CHECK(kn_warn(cx, "unusd", false) == KN_ERROR_ARGUMENT && strstr(kn_error_text(cx), "did you mean `unused`?"), "%s",
          kn_error_text(cx));
    CHECK(kn_warn(cx, NULL, false) == KN_ERROR_ARGUMENT && kn_warn(NULL, "unused", false) == KN_ERROR_ARGUMENT, "NULL");
}

static void test_closest_name(void)
{
    static const char *const names[] = { "blur", "sharpen", "x" };
    static const struct {
        const char *name, *closest;
    } rows[] = { { "blru", "blur" }, { "blurr", "blur" }, { "sharqem", "sharpen" }, { "y", NULL }, { "", NULL },
                 { "bxyr", NULL },   { NULL, NULL } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *found = kn_closest_name(rows[i].name, names, 3);
        CHECK(found == rows[i].closest || (found && rows[i].closest && !strcmp(found, rows[i].closest)), "%s: %s",
              rows[i].name ? rows[i].name : "NULL", found ? found : "none");
    }
    CHECK(!kn_closest_name("blur", NULL, 0), "no names");
}

static void test_nulls(kn_context *cx, kn_module *m)
{
    kn_buffer        b = { 0 };
    const kn_region *regions;
    int              count;
    CHECK(!kn_parse(NULL, "a", "", -1) && !kn_parse(cx, "a", NULL, -1), "kn_parse");
    CHECK(!kn_format(NULL, "a", "", -1) && !kn_format(cx, "a", NULL, -1), "kn_format");
    CHECK(kn_schedule_parse(NULL, "a", "", -1) == KN_ERROR_ARGUMENT, "kn_schedule_parse");
    CHECK(kn_define(NULL, "J", "4") == KN_ERROR_ARGUMENT, "kn_define");
    CHECK(kn_port_count(NULL) == 0 && kn_show(NULL, KN_VIEW_FUNCS) == NULL, "no pipeline");
    CHECK(kn_run(NULL, NULL, 0) == KN_ERROR_ARGUMENT, "kn_run");
    CHECK(kn_fit(NULL, NULL, 0) == KN_ERROR_ARGUMENT, "kn_fit");
    CHECK(kn_bounds(NULL, NULL, 0, &regions, &count) == KN_ERROR_ARGUMENT, "kn_bounds");
    CHECK(kn_bounds(m, NULL, 0, NULL, &count) == KN_ERROR_ARGUMENT, "kn_bounds");
    CHECK(kn_bounds(m, NULL, 0, &regions, NULL) == KN_ERROR_ARGUMENT, "kn_bounds");
    CHECK(kn_fill(NULL, &b, NULL, "1") == KN_ERROR_ARGUMENT && kn_fill(cx, NULL, NULL, "1") == KN_ERROR_ARGUMENT &&
              kn_fill(cx, &b, NULL, NULL) == KN_ERROR_ARGUMENT,
          "kn_fill");
    CHECK(kn_fill_noise(NULL, &b, 1) == KN_ERROR_ARGUMENT && kn_fill_noise(cx, NULL, 1) == KN_ERROR_ARGUMENT,
          "kn_fill_noise");
    CHECK(kn_buffer_alloc(NULL, &b) == KN_ERROR_ARGUMENT && kn_buffer_alloc(cx, NULL) == KN_ERROR_ARGUMENT,
          "kn_buffer_alloc");
    kn_buffer_free(NULL, &b);
    kn_buffer_free(cx, NULL);
}

static void test_compile(kn_context *cx)
{
    kn_pipeline *p = kn_parse(cx, "blur.kiln", blur_text, (ptrdiff_t)strlen(blur_text));
    CHECK(
        kn_compile(p, &(kn_options){ .scheduler = "none", .target = "host", .strict_float = true, .interpret = true }),
        "%s", kn_error_text(cx));
    for (int i = 0; strcmp(kn_scheduler_get(i).name, "gpu"); i++) {
        CHECK(kn_compile(p, &(kn_options){ .scheduler = kn_scheduler_get(i).name }) && !*kn_error_text(cx), "%s",
              kn_error_text(cx));
        const char *made = kn_schedule_make(p, kn_scheduler_get(i).name, "cores=4", NULL, NULL, 0);
        char       *text = made ? strdup(made) : NULL;
        CHECK(text && kn_schedule_parse(p, "made.sched", text, -1) == KN_OK, "%s", kn_error_text(cx));
        free(text);
    }
    CHECK(!kn_scheduler_get(-1).name && !kn_schedule_make(NULL, NULL, NULL, NULL, NULL, 0), "must be refused");
    CHECK(!kn_schedule_make(p, "magic", NULL, NULL, NULL, 0) && !kn_schedule_make(p, NULL, "wheels=4", NULL, NULL, 0),
          "must be refused");
    CHECK(!kn_compile(p, &(kn_options){ .scheduler = "magic", .target = "hots" }), "must be refused");
    CHECK(strstr(kn_error_text(cx), "there is no scheduler `magic`; this version knows: none"), "%s",
          kn_error_text(cx));
    CHECK(strstr(kn_error_text(cx), "there is no target `hots`, did you mean `host`?"), "%s", kn_error_text(cx));
    kn_pipeline_free(p);
}

static void test_ports_and_views(kn_context *cx)
{
    kn_pipeline *p = kn_parse(cx, "t.kiln",
                              "input in : u8(x, y)\nparam k : f32 = 0.5\nparam n : i32\noutput best\n"
                              "best(x, y) = (f32(in(x, y)) * k, n + x)\n",
                              -1);
    CHECK(p, "%s", kn_error_text(cx));
    if (!p)
        return;
    static const struct {
        kn_port_kind kind;
        const char  *name;
        kn_type      type;
        int          rank;
    } want[] = { { KN_INPUT, "in", KN_U8, 2 },
                 { KN_PARAM, "k", KN_F32, 0 },
                 { KN_PARAM, "n", KN_I32, 0 },
                 { KN_OUTPUT, "best.0", KN_F32, 2 },
                 { KN_OUTPUT, "best.1", KN_I32, 2 } };
    CHECK(kn_port_count(p) == COUNT(want), "%d ports", kn_port_count(p));
    for (int i = 0; i < COUNT(want); i++) {
        bool found = false;
        for (int k = 0; k < kn_port_count(p); k++) {
            const kn_port port = kn_port_get(p, k);
            found |= !strcmp(port.name, want[i].name) && port.kind == want[i].kind && port.type == want[i].type &&
                     port.rank == want[i].rank &&
                     (port.rank == 0 || (!strcmp(port.dims[0], "x") && !strcmp(port.dims[1], "y")));
            if (!strcmp(port.name, "k"))
                CHECK(port.has_default && port.value.is_float && port.value.as.f == 0.5, "k's default");
            if (!strcmp(port.name, "n"))
                CHECK(!port.has_default, "n has none");
        }
        CHECK(found, "port %s", want[i].name);
    }
    CHECK(!*kn_port_get(p, -1).name && !*kn_port_get(p, 99).name, "no such port");
    CHECK(strstr(kn_show(p, KN_VIEW_FUNCS), "best"), "%s", kn_show(p, KN_VIEW_FUNCS));
    CHECK(strstr(kn_show(p, KN_VIEW_GRAPH), "digraph"), "%s", kn_show(p, KN_VIEW_GRAPH));
    expect_ok(cx, kn_schedule_parse(p, "t.sched", "best.parallel(y)\n", -1));
    CHECK(strstr(kn_show(p, KN_VIEW_SCHEDULE), "parallel(y)"), "%s", kn_show(p, KN_VIEW_SCHEDULE));
    expect_error(cx, kn_schedule_parse(p, "t.sched", "bset.parallel(y)\n", -1), KN_ERROR_PROGRAM,
                 "t.sched:1:1: error: ");
    kn_pipeline_free(p);
}

/* What a program declares besides its ports. */
static void test_declared(kn_context *cx)
{
    kn_pipeline *p = kn_parse(cx, "d.kiln",
                              "const J = 2\ntype real = f32\nextern f32 curve(f32)\nextern stage warp(f, J) : f32(x)\n"
                              "output out\nestimate out(100)\nf(x) = real(x)\nout(x) = curve(warp(x)) * J\n",
                              -1);
    CHECK(p, "%s", kn_error_text(cx));
    CHECK(kn_const_count(p) == 2 && !strcmp(kn_const_name(p, 0), "J") && !strcmp(kn_const_name(p, 1), "real"), "%d",
          kn_const_count(p));
    CHECK(kn_extern_count(p) == 2, "%d", kn_extern_count(p));
    for (int i = 0; i < kn_extern_count(p); i++)
        CHECK(!strcmp(kn_extern_name(p, i), kn_extern_is_stage(p, i) ? "warp" : "curve"), "%s", kn_extern_name(p, i));
    CHECK(kn_port_count(p) == 1 && kn_port_get(p, 0).estimate && kn_port_get(p, 0).estimate[0] == 100, "estimate");
    CHECK(kn_const_count(NULL) == 0 && kn_extern_count(NULL) == 0, "no pipeline");
    kn_pipeline_free(p);
}

/* Errors may be read after the pipeline they speak of is gone. */
static void test_errors_outlive(kn_context *cx)
{
    uint16_t  data[4] = { 0 }, result[4];
    kn_buffer in      = kn_buffer_dense(data, KN_U16, 2, (int32_t[]){ 2, 2 }),
              out     = kn_buffer_dense(result, KN_U16, 2, (int32_t[]){ 2, 2 });
    kn_pipeline *p    = kn_parse(cx, "gone.kiln", blur_text, -1);
    CHECK(kn_run(kn_compile(p, NULL), (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2) ==
              KN_ERROR_BOUNDS,
          "too small");
    kn_pipeline_free(p);
    CHECK(strstr(kn_error_text(cx), "edge(in)"), "%s", kn_error_text(cx));
}

static void test_run(kn_context *cx)
{
    uint16_t  in_data[8 * 6], out_data[6 * 4];
    kn_buffer in   = kn_buffer_dense(in_data, KN_U16, 2, (int32_t[]){ 8, 6 });
    kn_buffer out  = kn_buffer_dense(out_data, KN_U16, 2, (int32_t[]){ 6, 4 });
    out.dim[0].min = out.dim[1].min = 1;
    for (int i = 0; i < 48; i++)
        in_data[i] = pixel(i % 8, i / 8);
    kn_module *m = compile_text(cx, blur_text);
    expect_ok(cx, kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2));
    for (int i = 0; i < 24; i++)
        CHECK(out_data[i] == blur_at(1 + i % 6, 1 + i / 6), "out(%d, %d) = %d", 1 + i % 6, 1 + i / 6, out_data[i]);
    test_nulls(cx, m);
}

/* kn_fit finds the largest output, kn_bounds what it needs; one pixel more is refused, and the output stays as it
 * was. */
static void test_regions(kn_context *cx)
{
    kn_module *m      = compile_text(cx, blur_text);
    kn_buffer  in     = kn_buffer_dense(NULL, KN_U16, 2, (int32_t[]){ 100, 50 });
    kn_buffer  out    = { 0 };
    kn_arg     args[] = { { "out", .buffer = &out }, { "in", .buffer = &in } };
    in.dim[0].min     = 10;
    expect_ok(cx, kn_fit(m, args, 2));
    CHECK(out.type == KN_U16 && out.rank == 2 && out.dim[0].min == 11 && out.dim[0].extent == 98 &&
              out.dim[1].min == 1 && out.dim[1].extent == 48 && !out.data,
          "x %d+%d, y %d+%d", out.dim[0].min, out.dim[0].extent, out.dim[1].min, out.dim[1].extent);

    const kn_region *regions = NULL;
    int              count   = 0;
    expect_ok(cx, kn_bounds(m, args, 2, &regions, &count));
    CHECK(count == 3 && !strcmp(regions[0].name, "out") && !strcmp(regions[1].name, "blurx") &&
              !strcmp(regions[2].name, "in"),
          "%d regions", count);
    if (count == 3)
        CHECK(regions[1].rank == 2 && regions[1].min[0] == 11 && regions[1].extent[0] == 98 && regions[1].min[1] == 0 &&
                  regions[1].extent[1] == 50,
              "blurx");

    out.dim[0].extent++;
    expect_error(cx, kn_bounds(m, args, 2, &regions, &count), KN_ERROR_BOUNDS, "in");
    CHECK(!regions && !count, "nothing on an error");
    expect_ok(cx, kn_buffer_alloc(cx, &in));
    expect_ok(cx, kn_buffer_alloc(cx, &out));
    memset(out.data, 0x5A, 99 * 48 * 2);
    expect_error(cx, kn_run(m, args, 2), KN_ERROR_BOUNDS, "edge(in)");
    for (int i = 0; i < 99 * 48 * 2; i++)
        CHECK(((char *)out.data)[i] == 0x5A, "byte %d was touched", i);
    kn_buffer_free(cx, &in);
    kn_buffer_free(cx, &out);
    CHECK(!in.data && !out.data, "freed");

    kn_module *edge  = compile_text(cx, "input in : u8(x, y)\noutput out\noutput unused\n"
                                         "out(x, y) = edge(in)(x - 5, y)\nunused(x) = x\n");
    kn_buffer  small = kn_buffer_dense(NULL, KN_U8, 2, (int32_t[]){ 7, 5 }), found = { 0 };
    expect_ok(cx, kn_fit(edge, (kn_arg[]){ { "in", .buffer = &small }, { "out", .buffer = &found } }, 2));
    CHECK(found.dim[0].min == 0 && found.dim[0].extent == 7 && found.dim[1].extent == 5, "the extents of the input");
}

static void test_fill(kn_context *cx)
{
    const char *const dims[] = { "x", "y" };
    kn_buffer         b      = { .type = KN_U16, .rank = 2, .dim = { { -1, 300, 0 }, { 2, 200, 0 } } };
    expect_ok(cx, kn_buffer_alloc(cx, &b));
    expect_ok(cx, kn_fill(cx, &b, dims, "((x*7 + y*13 + (x*y)%31) * 2147483647) % 65536"));
    for (int y = 0; y < 200; y++)
        for (int x = 0; x < 300; x++) {
            const int64_t  X = x - 1, Y = y + 2, r = (X * Y % 31 + 31) % 31, v = (X * 7 + Y * 13 + r) * 2147483647;
            const uint16_t got = ((uint16_t *)b.data)[y * 300 + x];
            CHECK(got == (uint16_t)v, "(%d, %d) = %d", (int)X, (int)Y, got);
        }
    expect_error(cx, kn_fill(cx, &b, dims, "x + z"), KN_ERROR_PROGRAM, "z");
    expect_error(cx, kn_fill(cx, &b, dims, "x +"), KN_ERROR_PROGRAM, "formula:1:");
    expect_error(cx, kn_fill(cx, &b, dims, ""), KN_ERROR_PROGRAM, "error");
    expect_error(cx, kn_fill(cx, &b, dims, "x) y(x) = (1"), KN_ERROR_PROGRAM, "formula:1:");
    expect_error(cx, kn_fill(cx, &b, NULL, "x"), KN_ERROR_ARGUMENT, "has no name");
    expect_error(cx, kn_fill(cx, &(kn_buffer){ .type = KN_U8, .rank = 1, .dim = { { 0, 4, 1 } } }, dims, "x"),
                 KN_ERROR_ARGUMENT, "NULL");
    kn_buffer_free(cx, &b);

    float     f[5];
    kn_buffer real = kn_buffer_dense(f, KN_F32, 1, (int32_t[]){ 5 });
    expect_ok(cx, kn_fill(cx, &real, dims, "f32(x) / 4"));
    CHECK(f[0] == 0 && f[1] == 0.25f && f[4] == 1, "%g %g %g", f[0], f[1], f[4]);
    kn_buffer scalar = kn_buffer_dense(f, KN_F32, 0, NULL);
    expect_ok(cx, kn_fill(cx, &scalar, NULL, "42"));
    CHECK(f[0] == 42 && f[1] == 0.25f, "%g", f[0]);
}

/* Noise: the same for the same seed, whatever the strides; every bit of an integer is used; floats lie in [0, 1). */
static void test_noise(kn_context *cx)
{
    enum { N = 4096 };
    uint8_t   a[N], wide[3 * N], ones = 0, zeros = 0;
    kn_buffer dense = kn_buffer_dense(a, KN_U8, 2, (int32_t[]){ 64, 64 });
    kn_buffer apart = {
        .data = wide + 3 * N - 3, .type = KN_U8, .rank = 2, .dim = { { 9, 64, -3 }, { -9, 64, -192 } }
    };
    expect_ok(cx, kn_fill_noise(cx, &dense, 7));
    expect_ok(cx, kn_fill_noise(cx, &apart, 7));
    long sum = 0;
    for (int i = 0; i < N; i++) {
        CHECK(a[i] == wide[3 * N - 3 - 3 * i], "element %d", i);
        ones |= a[i];
        zeros |= (uint8_t)~a[i];
        sum += a[i];
    }
    CHECK(ones == 255 && zeros == 255 && sum > N * 120L && sum < N * 135L, "mean %g", (double)sum / N);
    expect_ok(cx, kn_fill_noise(cx, &dense, 8));
    int same = 0;
    for (int i = 0; i < N; i++)
        same += a[i] == wide[3 * N - 3 - 3 * i];
    CHECK(same < 50, "another seed, %d equal", same);

    double    d[N];
    kn_buffer real = kn_buffer_dense(d, KN_F64, 1, (int32_t[]){ N });
    expect_ok(cx, kn_fill_noise(cx, &real, 1));
    double low = 1, high = 0;
    for (int i = 0; i < N; i++) {
        low  = d[i] < low ? d[i] : low;
        high = d[i] > high ? d[i] : high;
    }
    CHECK(low >= 0 && low < 0.01 && high < 1 && high > 0.99, "%g..%g", low, high);
    for (int t = KN_BOOL; t < KN_TYPE_COUNT; t++) {
        kn_buffer any = kn_buffer_dense(d, (kn_type)t, 1, (int32_t[]){ N });
        expect_ok(cx, kn_fill_noise(cx, &any, 3));
    }
    expect_error(cx, kn_fill_noise(cx, &(kn_buffer){ .data = d, .type = KN_U8, .rank = 1, .dim = { { 0, 4, 0 } } }, 3),
                 KN_ERROR_ARGUMENT, "share an element");
}

static void test_define_and_format(kn_context *cx)
{
    expect_ok(cx, kn_define(cx, "J", "4"));
    expect_ok(cx, kn_define(cx, "J", "5"));
    kn_module *m = compile_text(cx, "const J = 8\noutput out\nout(x) = x * J\n");
    int32_t    v[2];
    kn_buffer  out = kn_buffer_dense(v, KN_I32, 1, (int32_t[]){ 2 });
    expect_ok(cx, kn_run(m, (kn_arg[]){ { "out", .buffer = &out } }, 1));
    CHECK(v[0] == 0 && v[1] == 5, "%d", v[1]);
    expect_error(cx, kn_define(cx, "4J", "1"), KN_ERROR_ARGUMENT, "`4J` is not a name");
    expect_error(cx, kn_define(cx, "", "1"), KN_ERROR_ARGUMENT, "is not a name");
    expect_error(cx, kn_define(cx, NULL, "1"), KN_ERROR_ARGUMENT, "no name was given");
    expect_ok(cx, kn_define(cx, "JJ", "5"));
    CHECK(!kn_parse(cx, "j.kiln", "const J = 8\noutput out\nout(x) = x * J\n", -1), "a misspelt name shows");
    CHECK(strstr(kn_error_text(cx), "-D JJ") && strstr(kn_error_text(cx), "did you mean `J`?"), "%s",
          kn_error_text(cx));
    expect_ok(cx, kn_define(cx, "J", NULL));
    expect_ok(cx, kn_define(cx, "JJ", NULL));
    compile_text(cx, blur_text);
    const char *text = kn_format(cx, "f.kiln", "output out out(x)=x+ 1 // one\n", -1);
    CHECK(text && strstr(text, "out(x) = x + 1") && strstr(text, "// one"), "%s", text ? text : kn_error_text(cx));
}

/* Numbers have a point, whatever the program around us has set. */
static void test_locales(kn_context *cx)
{
    static const char *const commas[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR" };
    const char              *set      = NULL;
    for (size_t i = 0; i < sizeof commas / sizeof *commas && !set; i++)
        set = setlocale(LC_NUMERIC, commas[i]);
    if (!set)
        puts("no locale with a decimal comma is installed: not tried");
    kn_module *m = compile_text(cx, "output out  out(x) = 1.5*x + 0.25\n");
    float      v[2];
    kn_buffer  out = kn_buffer_dense(v, KN_F32, 1, (int32_t[]){ 2 });
    expect_ok(cx, kn_run(m, (kn_arg[]){ { "out", .buffer = &out } }, 1));
    CHECK(v[0] == 0.25f && v[1] == 1.75f, "%g %g in locale %s", v[0], v[1], set ? set : "C");
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    test_types();
    test_errors(cx);
    test_warnings(cx);
    test_closest_name();
    test_compile(cx);
    test_ports_and_views(cx);
    test_declared(cx);
    test_errors_outlive(cx);
    test_run(cx);
    test_regions(cx);
    test_fill(cx);
    test_noise(cx);
    test_define_and_format(cx);
    test_locales(cx);
    kn_context_free(cx);
    return check_done();
}
