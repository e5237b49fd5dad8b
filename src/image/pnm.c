/* SPDX-License-Identifier: MIT */
/* The portable map files: PGM and PPM as text (P2, P3) and bytes (P5, P6), and PFM (Pf, PF) for floats.
 *
 * A PGM or PPM states its largest value, white. Up to 255 the values are u8, else u16, and they are scaled so that
 * white is 255 or 65535, which a note tells of. PFM rows go from the bottom up, in the byte order that the sign of its
 * scale tells. */
#include "image/image.h"

/* A place in the file's bytes. */
typedef struct PnmReader {
    Load  *load;
    size_t at;
} PnmReader;

static bool is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static int peek(const PnmReader *r)
{
    return r->at < r->load->size ? r->load->bytes[r->at] : -1;
}

/* Skips white space and comments, which go from # to the end of the line. */
static void skip_space(PnmReader *r)
{
    while (is_space(peek(r)) || peek(r) == '#') {
        if (peek(r) == '#')
            while (peek(r) >= 0 && peek(r) != '\n')
                r->at++;
        else
            r->at++;
    }
}

/* A number of at most ten digits; `what` names it in messages. */
static bool read_number(PnmReader *r, const char *what, uint64_t *value)
{
    skip_space(r);
    if (peek(r) < 0)
        return load_fail(r->load, "the file is truncated: it ends before %s", what);
    const size_t from = r->at;
    for (*value = 0; is_digit(peek(r)) && r->at - from < 10; r->at++)
        *value = *value * 10 + (uint64_t)(peek(r) - '0');
    if (r->at == from || is_digit(peek(r)))
        return load_fail(r->load, "the file is damaged: there is no number at byte %zu, where %s should be", from,
                         what);
    return true;
}

/* The one white-space character between a header and binary samples. */
static bool end_header(PnmReader *r)
{
    if (!is_space(peek(r)))
        return load_fail(r->load, "the file is damaged: its header does not end in white space");
    r->at++;
    return true;
}

/* The samples of one row of a PGM or PPM, in the order and type of the picture; false if they cannot be had. */
typedef struct PnmFile {
    PnmReader r;
    bool      text;
    uint64_t  white; /* its largest value */
} PnmFile;

static bool read_text_row(PnmFile *f, kn_type type, char *row, size_t samples)
{
    for (size_t i = 0; i < samples; i++) {
        uint64_t v;
        if (!read_number(&f->r, "its last sample", &v))
            return false;
        if (v > f->white)
            return load_fail(f->r.load, "the file is damaged: a sample is %llu, its largest value %llu",
                             (unsigned long long)v, (unsigned long long)f->white);
        type_store_int(type, row + i * kn_type_size(type), (int64_t)v);
    }
    return true;
}

/* The samples of a file of bytes: big endian in two bytes. */
static void read_byte_row(PnmFile *f, kn_type type, char *row, size_t samples)
{
    const size_t size = kn_type_size(type);
    memcpy(row, f->r.load->bytes + f->r.at, samples * size);
    f->r.at += samples * size;
    if (!IS_BIG_ENDIAN)
        swap_bytes(row, samples, size);
}

/* Scales a row so that `white` becomes the type's largest value; false if a sample is larger. */
#define SCALE_ROW(T)                                                                                                   \
    static bool scale_row_##T(T *row, size_t samples, uint32_t white, uint32_t top)                                    \
    {                                                                                                                  \
        T most = 0;                                                                                                    \
        for (size_t i = 0; i < samples; i++)                                                                           \
            most = row[i] > most ? row[i] : most;                                                                      \
        for (size_t i = 0; white != top && most <= white && i < samples; i++)                                          \
            row[i] = (T)((row[i] * top + white / 2) / white);                                                          \
        return most <= white;                                                                                          \
    }
/* clang-format off */
SCALE_ROW(uint8_t)
SCALE_ROW(uint16_t)
/* clang-format on */

static bool read_samples(PnmFile *f)
{
    const kn_buffer *image = &f->r.load->image;
    const int32_t    width = image->dim[0].extent, channels = image->rank == 3 ? 3 : 1;
    const size_t     samples = (size_t)width * (size_t)channels;
    const uint32_t   white   = (uint32_t)f->white;
    char            *row     = load_scratch(f->r.load, samples, kn_type_size(image->type));
    for (int32_t y = 0; row && y < image->dim[1].extent; y++) {
        if (!f->text)
            read_byte_row(f, image->type, row, samples);
        else if (!read_text_row(f, image->type, row, samples))
            return false;
        if (!(image->type == KN_U8 ? scale_row_uint8_t((uint8_t *)row, samples, white, UINT8_MAX)
                                   : scale_row_uint16_t((uint16_t *)(void *)row, samples, white, UINT16_MAX)))
            return load_fail(f->r.load, "the file is damaged: a sample in row %d is larger than its largest value %u",
                             y, white);
        picture_put(image, 0, y, 0, channels, width, row);
    }
    return row != NULL;
}

static void note_rest(PnmReader *r)
{
    if (r->at < r->load->size)
        load_note(r->load, "%zu bytes after the picture were not read", r->load->size - r->at);
}

static bool pnm_decode(Load *load)
{
    const char     kind     = (char)load->bytes[1];
    const uint64_t channels = kind == '3' || kind == '6' ? 3 : 1;
    PnmFile        f        = { .r = { load, 2 }, .text = kind == '2' || kind == '3' };
    uint64_t       width, height;
    if (!read_number(&f.r, "its width", &width) || !read_number(&f.r, "its height", &height) ||
        !read_number(&f.r, "its largest value", &f.white))
        return false;
    if (f.white < 1 || f.white > UINT16_MAX)
        return load_fail(load, "the file is damaged: its largest value is %llu; it must be 1 to 65535",
                         (unsigned long long)f.white);
    const kn_type type  = f.white <= UINT8_MAX ? KN_U8 : KN_U16;
    const int     top   = type == KN_U8 ? UINT8_MAX : UINT16_MAX;
    const double  least = (double)width * (double)height * (double)channels * (f.text ? 2 : (double)kn_type_size(type));
    if ((!f.text && !end_header(&f.r)) ||
        !load_picture(load, type, width, height, channels, (double)f.r.at + least - f.text) || !read_samples(&f))
        return false;
    if (f.white != (uint64_t)top)
        load_note(load, "its values 0..%llu were scaled to 0..%d", (unsigned long long)f.white, top);
    if (f.text)
        skip_space(&f.r);
    note_rest(&f.r);
    return true;
}

/* The scale of a PFM: its sign tells the byte order, its size is for the eye only. */
static bool read_scale(PnmReader *r, bool *big_endian)
{
    skip_space(r);
    *big_endian = peek(r) != '-';
    if (peek(r) == '-' || peek(r) == '+')
        r->at++;
    const size_t from    = r->at;
    bool         nonzero = false, one = peek(r) == '1';
    for (int c; c = peek(r), is_digit(c) || (c > 0 && strchr(".eE+-", c)); r->at++) {
        nonzero |= c >= '1' && c <= '9';
        one &= r->at == from || c == '0' || c == '.';
        one &= r->at - from != 1 || c == '.';
    }
    if (!nonzero)
        return load_fail(r->load, "the PFM file is damaged: its scale is no number other than 0");
    if (!one)
        load_note(r->load, "its scale is not 1; the values are kept as they are");
    return end_header(r);
}

static bool pfm_decode(Load *load)
{
    PnmReader      r        = { load, 2 };
    const uint64_t channels = load->bytes[1] == 'F' ? 3 : 1;
    uint64_t       width, height;
    bool           big_endian;
    if (!read_number(&r, "its width", &width) || !read_number(&r, "its height", &height) ||
        !read_scale(&r, &big_endian) ||
        !load_picture(load, KN_F32, width, height, channels,
                      (double)r.at + (double)width * (double)height * (double)channels * 4))
        return false;
    float *row = load_scratch(load, width * channels, sizeof *row);
    for (int32_t y = (int32_t)height; row && y-- > 0;) {
        memcpy(row, load->bytes + r.at, width * channels * sizeof *row);
        r.at += width * channels * sizeof *row;
        if (big_endian != IS_BIG_ENDIAN)
            swap_bytes(row, width * channels, sizeof *row);
        picture_put(&load->image, 0, y, 0, (int32_t)channels, (int32_t)width, row);
    }
    note_rest(&r);
    return row != NULL;
}

static bool begins_with(const unsigned char *bytes, size_t size, const char *kinds)
{
    return size >= 3 && bytes[0] == 'P' && bytes[1] && strchr(kinds, bytes[1]) &&
           (is_space(bytes[2]) || bytes[2] == '#');
}

static bool pgm_recognizes(const unsigned char *bytes, size_t size)
{
    return begins_with(bytes, size, "25");
}

static bool ppm_recognizes(const unsigned char *bytes, size_t size)
{
    return begins_with(bytes, size, "36");
}

static bool pfm_recognizes(const unsigned char *bytes, size_t size)
{
    return begins_with(bytes, size, "fF");
}

static bool pnm_encode(Save *save)
{
    char         header[64];
    const size_t size = kn_type_size(save->image->type), samples = (size_t)save->width * (size_t)save->channels;
    const int    n  = snprintf(header, sizeof header, "P%c\n%d %d\n%d\n", save->channels == 1 ? '5' : '6', save->width,
                               save->height, size == 1 ? 255 : 65535);
    bool         ok = save_write(save, header, (size_t)n);
    for (int32_t y = 0; ok && y < save->height; y++) {
        void *row = picture_row(save, y);
        if (!IS_BIG_ENDIAN)
            swap_bytes(row, samples, size);
        ok = save_write(save, row, samples * size);
    }
    return ok;
}

static bool pfm_encode(Save *save)
{
    char      header[64];
    const int n  = snprintf(header, sizeof header, "P%c\n%d %d\n%s\n", save->channels == 1 ? 'f' : 'F', save->width,
                            save->height, IS_BIG_ENDIAN ? "1.0" : "-1.0");
    bool      ok = save_write(save, header, (size_t)n);
    for (int32_t y = save->height; ok && y-- > 0;)
        ok = save_write(save, picture_row(save, y), (size_t)save->width * (size_t)save->channels * sizeof(float));
    return ok;
}

const ImageFormat pgm_format = {
    .name       = "PGM",
    .endings    = ".pgm",
    .recognizes = pgm_recognizes,
    .decode     = pnm_decode,
    .encode     = pnm_encode,
    .types      = TYPE_BIT(KN_U8) | TYPE_BIT(KN_U16),
    .integers   = KN_U16,
    .floats     = KN_U8,
    .channels   = CHANNELS_1,
};

const ImageFormat ppm_format = {
    .name       = "PPM",
    .endings    = ".ppm",
    .recognizes = ppm_recognizes,
    .decode     = pnm_decode,
    .encode     = pnm_encode,
    .types      = TYPE_BIT(KN_U8) | TYPE_BIT(KN_U16),
    .integers   = KN_U16,
    .floats     = KN_U8,
    .channels   = CHANNELS_3,
};

/* The ending .pnm may hold either; it is no format of its own. */
const ImageFormat pnm_format = {
    .name     = "PNM",
    .endings  = ".pnm",
    .encode   = pnm_encode,
    .types    = TYPE_BIT(KN_U8) | TYPE_BIT(KN_U16),
    .integers = KN_U16,
    .floats   = KN_U8,
    .channels = CHANNELS_1 | CHANNELS_3,
};

const ImageFormat pfm_format = {
    .name       = "PFM",
    .endings    = ".pfm",
    .recognizes = pfm_recognizes,
    .decode     = pfm_decode,
    .encode     = pfm_encode,
    .types      = TYPE_BIT(KN_F32),
    .integers   = KN_F32,
    .floats     = KN_F32,
    .channels   = CHANNELS_1 | CHANNELS_3,
};
