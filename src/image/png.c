/* SPDX-License-Identifier: MIT */
/* PNG files, by libpng: 8 and 16 bits, 1 to 4 channels.
 *
 * On load, palettes become RGB, 1, 2 and 4 bits become 8 (0..255), and a transparent colour becomes an alpha channel:
 * the same picture in the types there are. Gamma and colour profiles are left alone. Rows go straight to the image;
 * only those of an interlaced file, which are refined pass by pass, wait for the last pass. */
#include "image/image.h"

#include <png.h>
#include <setjmp.h>

enum { SIGNATURE = 8 };

/* The expansion ratio of deflate is at most 1032. */
#define MOST_INFLATION 1032.0

/* One run of libpng. Its errors leave by `back`; so all that must survive them is here. */
typedef struct PngRun {
    kn_context *cx;
    Load       *load; /* reading … */
    Save       *save; /* … or writing */
    size_t      at;
    png_structp png;
    png_infop   info;
    jmp_buf     back;
} PngRun;

static bool png_recognizes(const unsigned char *bytes, size_t size)
{
    return size >= SIGNATURE && !png_sig_cmp(bytes, 0, SIGNATURE);
}

static void on_error(png_structp png, png_const_charp message)
{
    PngRun *run = png_get_error_ptr(png);
    if (run->load)
        load_fail(run->load, "the PNG data is damaged: %s", message);
    else
        save_fail(run->save, "libpng: %s", message);
    longjmp(run->back, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static png_voidp on_allocate(png_structp png, png_alloc_size_t size)
{
    return context_allocate_raw(png_get_mem_ptr(png), size);
}

static void on_release(png_structp png, png_voidp block)
{
    context_release(png_get_mem_ptr(png), block);
}

static void on_read(png_structp png, png_bytep to, size_t count)
{
    PngRun *run = png_get_io_ptr(png);
    if (count > run->load->size - run->at) {
        load_fail(run->load, "the PNG file is truncated: it ends after %zu bytes, in the middle of its data",
                  run->load->size);
        longjmp(run->back, 1);
    }
    memcpy(to, run->load->bytes + run->at, count);
    run->at += count;
}

static void on_write(png_structp png, png_bytep from, size_t count)
{
    PngRun *run = png_get_io_ptr(png);
    if (!save_write(run->save, from, count))
        longjmp(run->back, 1);
}

static void on_flush(png_structp png)
{
    (void)png;
}

/* Asks libpng for 8 or 16 bits per channel in the order of this machine. */
static void ask_for_plain_pixels(PngRun *run)
{
    png_set_expand(run->png);
    if (!IS_BIG_ENDIAN)
        png_set_swap(run->png);
    png_set_interlace_handling(run->png);
    png_read_update_info(run->png, run->info);
}

/* Ignores all ancillary chunks but the orientation. */
static void leave_out_chunks(PngRun *run)
{
    png_set_keep_unknown_chunks(run->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
#ifdef PNG_eXIf_SUPPORTED
    png_set_keep_unknown_chunks(run->png, PNG_HANDLE_CHUNK_AS_DEFAULT, (png_const_bytep) "eXIf", 1);
#endif
}

static void read_orientation(PngRun *run)
{
#ifdef PNG_eXIf_SUPPORTED
    png_uint_32 size;
    png_bytep   exif;
    if (png_get_eXIf_1(run->png, run->info, &size, &exif))
        run->load->orientation = exif_orientation(exif, size);
#else
    (void)run;
#endif
}

/* Reads the header and allocates the picture. The sizes are checked against the size of the file before libpng
 * allocates a row. */
static bool read_header(PngRun *run)
{
    Load *load = run->load;
    png_set_read_fn(run->png, run, on_read);
    png_set_user_limits(run->png, INT32_MAX, INT32_MAX);
    leave_out_chunks(run);
    png_read_info(run->png, run->info);
    const uint32_t width = png_get_image_width(run->png, run->info), height = png_get_image_height(run->png, run->info);
    const double   raw  = ((double)png_get_rowbytes(run->png, run->info) + 1) * height;
    const size_t   bits = png_get_bit_depth(run->png, run->info) == 16 ? 16 : 8;
    if (!load_plausible(load, width, height, png_get_channels(run->png, run->info), raw / MOST_INFLATION))
        return false;
    ask_for_plain_pixels(run);
    const size_t channels = png_get_channels(run->png, run->info);
    load->info.alpha      = channels % 2 == 0;
    if (png_get_rowbytes(run->png, run->info) != width * channels * bits / 8)
        return load_fail(load, "its PNG rows have an unexpected layout");
    return load_picture(load, bits == 16 ? KN_U16 : KN_U8, width, height, channels, 0);
}

static bool read_rows(PngRun *run)
{
    Load         *load  = run->load;
    const int32_t width = load->image.dim[0].extent, height = load->image.dim[1].extent;
    const int32_t channels   = load->image.rank == 2 ? 1 : load->image.dim[2].extent;
    const bool    interlaced = png_get_interlace_type(run->png, run->info) != PNG_INTERLACE_NONE;
    const size_t  stride     = png_get_rowbytes(run->png, run->info);
    png_bytep     pixels     = load_scratch(load, interlaced ? (size_t)height : 1, stride);
    if (!pixels)
        return false;
    for (int pass = 0, last = png_set_interlace_handling(run->png) - 1; pass <= last; pass++)
        for (int32_t y = 0; y < height; y++) {
            png_bytep row = pixels + (interlaced ? (size_t)y * stride : 0);
            png_read_row(run->png, row, NULL);
            if (pass == last)
                picture_put(&load->image, 0, y, 0, channels, width, row);
        }
    return true;
}

static bool read_picture(PngRun *run)
{
    run->png =
        png_create_read_struct_2(PNG_LIBPNG_VER_STRING, run, on_error, on_warning, run->cx, on_allocate, on_release);
    run->info = run->png ? png_create_info_struct(run->png) : NULL;
    if (!run->info)
        return load_fail(run->load, "no memory to read PNG");
    if (!read_header(run) || !read_rows(run))
        return false;
    png_read_end(run->png, run->info);
    read_orientation(run);
    return true;
}

static bool write_picture(PngRun *run)
{
    static const int color_type[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                      PNG_COLOR_TYPE_RGB_ALPHA };
    Save            *save         = run->save;
    run->png =
        png_create_write_struct_2(PNG_LIBPNG_VER_STRING, run, on_error, on_warning, run->cx, on_allocate, on_release);
    run->info = run->png ? png_create_info_struct(run->png) : NULL;
    if (!run->info)
        return save_fail(save, "no memory to write PNG");
    png_set_write_fn(run->png, run, on_write, on_flush);
    png_set_user_limits(run->png, INT32_MAX, INT32_MAX);
    png_set_IHDR(run->png, run->info, (uint32_t)save->width, (uint32_t)save->height,
                 (int)kn_type_size(save->image->type) * 8, color_type[save->channels], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(run->png, run->info);
    if (!IS_BIG_ENDIAN)
        png_set_swap(run->png);
    for (int32_t y = 0; y < save->height; y++)
        png_write_row(run->png, picture_row(save, y));
    png_write_end(run->png, NULL);
    return true;
}

/* Runs libpng under a jump buffer. Nothing here changes after setjmp but what `run` points to. */
static bool guarded(PngRun *run, bool (*body)(PngRun *))
{
    if (setjmp(run->back))
        return false;
    return body(run);
}

static bool png_decode(Load *load)
{
    PngRun     run = { .cx = load->cx, .load = load };
    const bool ok  = guarded(&run, read_picture);
    png_destroy_read_struct(&run.png, &run.info, NULL);
    return ok;
}

static bool png_encode(Save *save)
{
    PngRun     run = { .cx = save->cx, .save = save };
    const bool ok  = guarded(&run, write_picture);
    png_destroy_write_struct(&run.png, &run.info);
    return ok;
}

const ImageFormat png_format = {
    .name       = "PNG",
    .endings    = ".png",
    .recognizes = png_recognizes,
    .decode     = png_decode,
    .encode     = png_encode,
    .types      = TYPE_BIT(KN_U8) | TYPE_BIT(KN_U16),
    .integers   = KN_U16,
    .floats     = KN_U8,
    .channels   = CHANNELS_1 | CHANNELS_2 | CHANNELS_3 | CHANNELS_4,
};
