/* SPDX-License-Identifier: MIT */
/* JPEG files, by libjpeg: 8 bits, gray or RGB.
 *
 * JPEG loses: what is saved is quality 95 with full colour resolution. Colour is read as RGB, whatever the file has
 * inside. */
#include "image/image.h"

#include <jpeglib.h>
#include <jerror.h>
#include <setjmp.h>

enum { QUALITY = 95, MOST_SCANS = 500 };

/* The most samples per byte of file. Huffman: a block of 64 samples takes at least one bit. Arithmetic codes have no
 * such bound: this is the ratio of a uniform picture large enough to outweigh its header. */
#define MOST_INFLATION            512.0
#define MOST_ARITHMETIC_INFLATION 16384.0

/* One run of libjpeg. The error manager comes first: libjpeg hands its address back. */
typedef struct JpegRun {
    struct jpeg_error_mgr manager;
    Load                 *load; /* reading … */
    Save                 *save; /* … or writing */
    jmp_buf               back;
    union {
        struct jpeg_decompress_struct in;
        struct jpeg_compress_struct   out;
    } as;
    struct jpeg_progress_mgr    progress;
    struct jpeg_destination_mgr destination;
    JOCTET                      buffer[4096];
} JpegRun;

static bool jpeg_recognizes(const unsigned char *bytes, size_t size)
{
    return size >= 3 && !memcmp(bytes, "\xFF\xD8\xFF", 3);
}

static void on_error(j_common_ptr common)
{
    JpegRun *run = (JpegRun *)(void *)common->err;
    char     message[JMSG_LENGTH_MAX];
    common->err->format_message(common, message);
    if (run->load && common->err->msg_code == JERR_NO_BACKING_STORE)
        load_needs_memory(run->load);
    else if (run->load)
        load_fail(run->load, "the JPEG data is damaged: %s", message);
    else
        save_fail(run->save, "libjpeg: %s", message);
    longjmp(run->back, 1);
}

/* libjpeg continues after damage, with gray or garbage. So all warnings are errors, except those that affect no
 * pixel. */
static void on_message(j_common_ptr common, int level)
{
    static const int harmless[] = { JWRN_EXTRANEOUS_DATA, JWRN_ADOBE_XFORM, JWRN_JFIF_MAJOR, JWRN_TOO_MUCH_DATA };
    if (level >= 0)
        return;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (common->err->msg_code == harmless[i])
            return;
    on_error(common);
}

static void on_print(j_common_ptr common)
{
    (void)common;
}

static void use_handlers(JpegRun *run)
{
    jpeg_std_error(&run->manager);
    run->manager.error_exit     = on_error;
    run->manager.emit_message   = on_message;
    run->manager.output_message = on_print;
}

/* A progressive file may have any number of scans. Limits them, so that a hostile file cannot keep the decoder busy. */
static void on_progress(j_common_ptr common)
{
    JpegRun *run = (JpegRun *)(void *)common->err;
    if (run->as.in.input_scan_number > MOST_SCANS) {
        load_fail(run->load, "the JPEG file has more than %d scans", MOST_SCANS);
        longjmp(run->back, 1);
    }
}

/* The orientation is in the marker APP1, behind the word Exif. */
static int orientation(const struct jpeg_decompress_struct *in)
{
    static const char word[] = "Exif\0";
    for (jpeg_saved_marker_ptr m = in->marker_list; m; m = m->next)
        if (m->data_length > sizeof word && !memcmp(m->data, word, sizeof word))
            return exif_orientation(m->data + sizeof word, m->data_length - sizeof word);
    return 0;
}

static bool read_picture(JpegRun *run)
{
    Load                          *load = run->load;
    struct jpeg_decompress_struct *in   = &run->as.in;
    jpeg_create_decompress(in);
    run->progress.progress_monitor = on_progress;
    in->progress                   = &run->progress;
    in->mem->max_memory_to_use     = (long)(load->cx->config.memory_limit - load->cx->memory_used);
    jpeg_mem_src(in, load->bytes, load->size);
    jpeg_save_markers(in, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(in, TRUE);
    load->orientation = orientation(in);
    if (in->jpeg_color_space == JCS_CMYK || in->jpeg_color_space == JCS_YCCK)
        return load_fail(load, "it is a CMYK JPEG; convert it to RGB first");
    in->out_color_space   = in->num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    const int    channels = in->num_components == 1 ? 1 : 3;
    const double samples  = (double)in->image_width * in->image_height;
    if (!load_picture(load, KN_U8, in->image_width, in->image_height, (uint64_t)channels,
                      samples / (in->arith_code ? MOST_ARITHMETIC_INFLATION : MOST_INFLATION)))
        return false;
    JSAMPROW row = load_scratch(load, in->image_width, (size_t)channels);
    if (!row)
        return false;
    jpeg_start_decompress(in);
    while (in->output_scanline < in->output_height) {
        const int32_t y = (int32_t)in->output_scanline;
        if (jpeg_read_scanlines(in, &row, 1) == 1)
            picture_put(&load->image, 0, y, 0, channels, (int32_t)in->output_width, row);
    }
    jpeg_finish_decompress(in);
    return true;
}

static void begin_output(j_compress_ptr out)
{
    JpegRun *run                      = (JpegRun *)(void *)out->err;
    run->destination.next_output_byte = run->buffer;
    run->destination.free_in_buffer   = sizeof run->buffer;
}

static void write_out(JpegRun *run, size_t count)
{
    if (!save_write(run->save, run->buffer, count))
        longjmp(run->back, 1);
}

static boolean on_full(j_compress_ptr out)
{
    write_out((JpegRun *)(void *)out->err, sizeof((JpegRun *)NULL)->buffer);
    begin_output(out);
    return TRUE;
}

static void end_output(j_compress_ptr out)
{
    JpegRun *run = (JpegRun *)(void *)out->err;
    write_out(run, sizeof run->buffer - run->destination.free_in_buffer);
}

static bool write_picture(JpegRun *run)
{
    Save                        *save = run->save;
    struct jpeg_compress_struct *out  = &run->as.out;
    jpeg_create_compress(out);
    run->destination      = (struct jpeg_destination_mgr){ .init_destination    = begin_output,
                                                           .empty_output_buffer = on_full,
                                                           .term_destination    = end_output };
    out->dest             = &run->destination;
    out->image_width      = (JDIMENSION)save->width;
    out->image_height     = (JDIMENSION)save->height;
    out->input_components = save->channels;
    out->in_color_space   = save->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(out);
    jpeg_set_quality(out, QUALITY, TRUE);
    for (int c = 0; c < out->num_components; c++)
        out->comp_info[c].h_samp_factor = out->comp_info[c].v_samp_factor = 1;
    jpeg_start_compress(out, TRUE);
    for (int32_t y = 0; y < save->height; y++) {
        JSAMPROW row = picture_row(save, y);
        jpeg_write_scanlines(out, &row, 1);
    }
    jpeg_finish_compress(out);
    return true;
}

/* Runs libjpeg under a jump buffer. Nothing here changes after setjmp but what `run` points to. */
static bool guarded(JpegRun *run, bool (*body)(JpegRun *))
{
    if (setjmp(run->back))
        return false;
    return body(run);
}

static bool jpeg_decode(Load *load)
{
    JpegRun run = { .load = load };
    use_handlers(&run);
    run.as.in.err = &run.manager;
    const bool ok = guarded(&run, read_picture);
    jpeg_destroy_decompress(&run.as.in);
    return ok;
}

static bool jpeg_encode(Save *save)
{
    JpegRun run = { .save = save };
    use_handlers(&run);
    run.as.out.err = &run.manager;
    const bool ok  = guarded(&run, write_picture);
    jpeg_destroy_compress(&run.as.out);
    return ok;
}

const ImageFormat jpeg_format = {
    .name       = "JPEG",
    .endings    = ".jpg .jpeg",
    .recognizes = jpeg_recognizes,
    .decode     = jpeg_decode,
    .encode     = jpeg_encode,
    .types      = TYPE_BIT(KN_U8),
    .integers   = KN_U8,
    .floats     = KN_U8,
    .channels   = CHANNELS_1 | CHANNELS_3,
};
