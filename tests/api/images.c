/* Image files as a user of the API meets them: save, load, convert, compare; the formats themselves have their own
 * tests. */
#include "api.h"

#include <unistd.h>

static void test_round_trip(kn_context *cx, const char *ending)
{
    char      path[64];
    uint8_t   pixels[3 * 5 * 4];
    kn_buffer planes = { .data = pixels, .type = KN_U8, .rank = 3, .dim = { { 0, 5, 3 }, { 0, 4, 15 }, { 0, 3, 1 } } },
              back   = { 0 };
    snprintf(path, sizeof path, "api-images-%ld.%s", (long)getpid(), ending);
    expect_ok(cx, kn_fill_noise(cx, &planes, 11));
    expect_ok(cx, kn_image_save(cx, path, &planes));
    expect_ok(cx, kn_image_load(cx, path, &back));
    kn_difference d = { 0 };
    expect_ok(cx, kn_compare(cx, &planes, &back, 0, 0, &d));
    CHECK(d.count == 60 && d.beyond == 0 && d.max == 0 && d.mean == 0, "%s: %d differ", ending, (int)d.beyond);
    kn_buffer_free(cx, &back);
    remove(path);
}

static void test_convert(kn_context *cx)
{
    uint8_t     gray[] = { 0, 128, 255 };
    kn_buffer   from = kn_buffer_dense(gray, KN_U8, 1, (int32_t[]){ 3 }), to = { 0 };
    const char *note = NULL;
    expect_ok(cx, kn_image_convert(cx, &from, KN_RANGE_FULL, KN_U16, 1, &to, &note));
    CHECK(to.type == KN_U16 && ((uint16_t *)to.data)[2] == 65535 && ((uint16_t *)to.data)[1] == 128 * 257, "%s",
          note ? note : "no note");
    CHECK(note && *note, "a change of range is told");
    kn_buffer_free(cx, &to);
    expect_ok(cx, kn_image_convert(cx, &from, KN_RANGE_VALUE, KN_U16, 1, &to, &note));
    CHECK(((uint16_t *)to.data)[2] == 255, "values stay");
    kn_buffer_free(cx, &to);
    CHECK(kn_image_convert(cx, &from, KN_RANGE_VALUE, KN_I8, 1, &to, &note) != KN_OK && *kn_error_text(cx),
          "i8 cannot hold 255");

    float     real[4] = { 0, 0.5f, 1, 2 };
    kn_buffer picture = kn_buffer_dense(real, KN_F32, 2, (int32_t[]){ 2, 2 });
    expect_ok(cx, kn_image_convert_for(cx, "result.png", &picture, &to, &note));
    CHECK(to.type != KN_F32 && note && *note, "PNG has no floats, and that is told");
    kn_buffer_free(cx, &to);
}

static void test_compare(kn_context *cx)
{
    float     a[] = { 1, 2, 3, 4 }, b[] = { 1, 2.5f, 3, 3 };
    kn_buffer x     = kn_buffer_dense(a, KN_F32, 2, (int32_t[]){ 2, 2 }),
              y     = kn_buffer_dense(b, KN_F32, 2, (int32_t[]){ 2, 2 });
    kn_difference d = { 0 };
    expect_ok(cx, kn_compare(cx, &x, &y, 0.5, 0, &d));
    CHECK(d.max == 1 && d.mean == 0.375 && d.where[0] == 1 && d.where[1] == 1 && d.beyond == 1 && d.count == 4,
          "max %g at (%d, %d)", d.max, d.where[0], d.where[1]);
    y.dim[1].extent = 1;
    CHECK(kn_compare(cx, &x, &y, 0, 0, &d) == KN_ERROR_ARGUMENT && *kn_error_text(cx), "shapes differ");
}

static void test_formats(kn_context *cx)
{
    int count = 0;
    for (; kn_image_format_get(count).name; count++)
        CHECK(kn_image_format_get(count).endings[0] == '.', "%s", kn_image_format_get(count).endings);
    CHECK(count == 8 && !kn_image_format_get(-1).name, "%d formats", count);
    const kn_buffer line = { .data = NULL, .type = KN_U8, .rank = 1, .dim = { { 0, 5, 1 } } }, deep = {
        .data = NULL, .type = KN_U8, .rank = 3, .dim = { { 0, 5, 1 }, { 0, 4, 5 }, { 0, 5, 20 } }
    };
    const kn_buffer real = { .data = NULL, .type = KN_F32, .rank = 2, .dim = { { 0, 5, 1 }, { 0, 4, 5 } } },
                    gray = { .data = NULL, .type = KN_U8, .rank = 2, .dim = { { 0, 5, 1 }, { 0, 4, 5 } } };
    bool as_is;
    expect_ok(cx, kn_image_check(cx, "a.png", &gray, &as_is));
    CHECK(as_is, "u8 needs no conversion");
    expect_ok(cx, kn_image_check(cx, "a.png", &real, &as_is));
    CHECK(!as_is, "f32 does");
    expect_ok(cx, kn_image_check(cx, "a.npy", &line, NULL));
    expect_error(cx, kn_image_check(cx, "a.png", &line, &as_is), KN_ERROR_ARGUMENT, "rank 1");
    expect_error(cx, kn_image_check(cx, "a.png", &deep, NULL), KN_ERROR_ARGUMENT, "cannot hold 5 channels");
    expect_error(cx, kn_image_check(cx, "a.gif", &gray, NULL), KN_ERROR_ARGUMENT, "its ending names no image format");
}

static void test_info(kn_context *cx)
{
    char          path[64];
    uint8_t       pixels[] = { 200, 100, 1, 128 };
    kn_buffer     one = kn_buffer_dense(pixels, KN_U8, 3, (int32_t[]){ 1, 1, 4 }), back = { 0 };
    kn_image_info info;
    kn_summary    s;
    snprintf(path, sizeof path, "api-images-%ld.tif", (long)getpid());
    expect_ok(cx, kn_image_save(cx, path, &one));
    expect_ok(cx, kn_image_load_info(cx, path, &back, &info));
    remove(path);
    CHECK(info.picture && info.alpha && !info.premultiplied, "the fourth channel is opacity");
    expect_ok(cx, kn_image_drop_alpha(cx, &back, true));
    expect_ok(cx, kn_summarize(cx, &back, &s));
    CHECK(s.count == 3 && s.min.as.i == 1 && s.max.as.i == 100, "%d to %d", (int)s.min.as.i, (int)s.max.as.i);
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    test_formats(cx);
    test_info(cx);
    test_round_trip(cx, "png");
    test_round_trip(cx, "ppm");
    test_round_trip(cx, "tif");
    test_round_trip(cx, "npy");
    test_convert(cx);
    test_compare(cx);
    kn_buffer b = { 0 };
    expect_error(cx, kn_image_load(cx, "there/is/no/such.png", &b), KN_ERROR_FILE, "there/is/no/such.png");
    CHECK(!b.data, "nothing was made");
    kn_context_free(cx);
    return check_done();
}
