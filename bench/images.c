/* SPDX-License-Identifier: MIT */
/* What bench/images times: one way to read or write a file, so many times. Prints the seconds of each.
 *
 *     images WAY TIMES IN [OUT]
 *
 * The ways `png-…` and `tiff-…` are the least that those libraries can be asked to do: rows into, and out of, one block
 * of interleaved pixels. */
#include <kiln.h>

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <time.h>

/* What is written, read before the clock starts. */
static kn_buffer      image;
static unsigned char *pixels;
static uint32_t       width, height;
static int            channels, depth;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void kiln_read(const char *in, const char *out)
{
    kn_context *cx = kn_context_new(NULL);
    kn_buffer   b  = { 0 };
    (void)out;
    if (kn_image_load(cx, in, &b))
        exit(fputs(kn_error_text(cx), stderr) >= 0);
    kn_context_free(cx);
}

static void kiln_write(const char *in, const char *out)
{
    kn_context *cx = kn_context_new(NULL);
    (void)in;
    if (kn_image_save(cx, out, &image))
        exit(fputs(kn_error_text(cx), stderr) >= 0);
    kn_context_free(cx);
}

static void kiln_summarize(const char *in, const char *out)
{
    kn_context *cx = kn_context_new(NULL);
    kn_summary  s;
    (void)in, (void)out;
    if (kn_summarize(cx, &image, &s))
        exit(fputs(kn_error_text(cx), stderr) >= 0);
    kn_context_free(cx);
}

static void kiln_to_f32(const char *in, const char *out)
{
    kn_context *cx = kn_context_new(NULL);
    kn_buffer   to = { 0 };
    const char *note;
    (void)in, (void)out;
    if (kn_image_convert(cx, &image, KN_RANGE_FULL, KN_F32, image.rank, &to, &note))
        exit(fputs(kn_error_text(cx), stderr) >= 0);
    kn_context_free(cx);
}

static void png_read(const char *in, const char *out)
{
    FILE       *f    = fopen(in, "rb");
    png_structp png  = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop   info = png_create_info_struct(png);
    (void)out;
    png_init_io(png, f);
    png_read_info(png, info);
    png_set_swap(png);
    png_read_update_info(png, info);
    width    = png_get_image_width(png, info);
    height   = png_get_image_height(png, info);
    channels = png_get_channels(png, info);
    depth    = png_get_bit_depth(png, info);
    free(pixels);
    pixels = malloc(png_get_rowbytes(png, info) * height);
    for (uint32_t y = 0; y < height; y++)
        png_read_row(png, pixels + y * png_get_rowbytes(png, info), NULL);
    png_read_end(png, NULL);
    png_destroy_read_struct(&png, &info, NULL);
    fclose(f);
}

static void png_write(const char *in, const char *out)
{
    static const int color[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGBA };
    FILE            *f       = fopen(out, "wb");
    png_structp      png     = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop        info    = png_create_info_struct(png);
    (void)in;
    png_init_io(png, f);
    png_set_IHDR(png, info, width, height, depth, color[channels], PNG_INTERLACE_NONE, 0, 0);
    png_write_info(png, info);
    png_set_swap(png);
    for (uint32_t y = 0; y < height; y++)
        png_write_row(png, pixels + (size_t)y * width * (size_t)(channels * depth / 8));
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(f);
}

static void tiff_read(const char *in, const char *out)
{
    TIFF *t = TIFFOpen(in, "r");
    (void)out;
    TIFFGetField(t, TIFFTAG_IMAGELENGTH, &height);
    const size_t row = (size_t)TIFFScanlineSize(t);
    free(pixels);
    pixels = malloc(row * height);
    for (uint32_t y = 0; y < height; y++)
        TIFFReadScanline(t, pixels + y * row, y, 0);
    TIFFClose(t);
}

static const struct {
    const char *name;
    void (*run)(const char *in, const char *out);
    bool loads, by_libpng; /* what is read before the clock starts, and by whom */
} ways[] = {
    { "kiln-read", kiln_read, false, false },
    { "kiln-write", kiln_write, true, false },
    { "kiln-summarize", kiln_summarize, true, false },
    { "kiln-to-f32", kiln_to_f32, true, false },
    { "png-read", png_read, false, false },
    { "png-write", png_write, true, true },
    { "tiff-read", tiff_read, false, false },
};

int main(int argc, char **argv)
{
    size_t way = 0;
    while (argc > 3 && way < sizeof ways / sizeof *ways && strcmp(ways[way].name, argv[1]))
        way++;
    if (argc < 4 || way == sizeof ways / sizeof *ways)
        return 2;
    kn_context *cx = kn_context_new(NULL);
    if (ways[way].loads && ways[way].by_libpng)
        png_read(argv[3], NULL);
    else if (ways[way].loads && kn_image_load(cx, argv[3], &image))
        return 1;
    for (int i = atoi(argv[2]); i-- > 0;) {
        const double begin = now();
        ways[way].run(argv[3], argc > 4 ? argv[4] : NULL);
        printf("%.6f\n", now() - begin);
    }
    kn_context_free(cx);
    free(pixels);
    return 0;
}
