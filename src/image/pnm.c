/* The portable map files: PGM and PPM as text (P2, P3) and bytes (P5, P6), and PFM (Pf, PF) for floats.
 *
 * A PGM or PPM states its largest value. Up to 255 the values are u8, else u16, and they are kept as they are; a note
 * tells of a largest value that is not the type's own. PFM rows go from the bottom up, in the byte order that the sign
 * of its scale tells. */
#include "image/image.h"

/* A place in the file's bytes. */
typedef struct Reader {
    Load  *load;
    size_t at;
} Reader;

static bool is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static int peek(const Reader *r)
{
    return r->at < r->load->size ? r->load->bytes[r->at] : -1;
}

/* Skips white space and comments, which go from # to the end of the line. */
static void skip_space(Reader *r)
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
static bool read_number(Reader *r, const char *what, uint64_t *value)
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
static bool end_header(Reader *r)
{
    if (!is_space(peek(r)))
        return load_fail(r->load, "the file is damaged: its header does not end in white space");
    r->at++;
    return true;
}

static bool read_text_samples(Reader *r, uint64_t maxval)
{
    kn_buffer    *image    = &r->load->image;
    const int32_t channels = image->rank == 3 ? 3 : 1;
    for (int32_t y = 0; y < image->dim[1].extent; y++)
        for (int32_t x = 0; x < image->dim[0].extent; x++)
            for (int32_t c = 0; c < channels; c++) {
                uint64_t v;
                if (!read_number(r, "its last sample", &v))
                    return false;
                if (v > maxval)
                    return load_fail(r->load, "the file is damaged: a sample is %llu, its largest value %llu",
                                     (unsigned long long)v, (unsigned long long)maxval);
                type_store_int(image->type, buffer_address(image, (int32_t[]){ x, y, c }), (int64_t)v);
            }
    return true;
}

/* The samples of a file of bytes: big endian in two bytes. */
static bool read_byte_samples(Reader *r, uint64_t maxval)
{
    kn_buffer    *image = &r->load->image;
    const int32_t width = image->dim[0].extent, channels = image->rank == 3 ? 3 : 1;
    const size_t  size = kn_type_size(image->type), samples = (size_t)width * (size_t)channels;
    char         *row = load_scratch(r->load, samples, size);
    for (int32_t y = 0; row && y < image->dim[1].extent; y++) {
        memcpy(row, r->load->bytes + r->at, samples * size);
        r->at += samples * size;
        if (!IS_BIG_ENDIAN)
            swap_bytes(row, samples, size);
        for (size_t i = 0; i < samples; i++)
            if ((uint64_t)type_load_int(image->type, row + i * size) > maxval)
                return load_fail(r->load,
                                 "the file is damaged: a sample in row %d is larger than its largest value %llu", y,
                                 (unsigned long long)maxval);
        picture_put(image, 0, y, 0, channels, width, row);
    }
    return row != NULL;
}

static void note_rest(Reader *r)
{
    if (r->at < r->load->size)
        load_note(r->load, "%zu bytes after the picture were not read", r->load->size - r->at);
}

static bool pnm_decode(Load *load)
{
    Reader         r        = { load, 2 };
    const char     kind     = (char)load->bytes[1];
    const bool     text     = kind == '2' || kind == '3';
    const uint64_t channels = kind == '3' || kind == '6' ? 3 : 1;
    uint64_t       width, height, maxval;
    if (!read_number(&r, "its width", &width) || !read_number(&r, "its height", &height) ||
        !read_number(&r, "its largest value", &maxval))
        return false;
    if (maxval < 1 || maxval > 65535)
        return load_fail(load, "the file is damaged: its largest value is %llu; it must be 1 to 65535",
                         (unsigned long long)maxval);
    const kn_type type  = maxval < 256 ? KN_U8 : KN_U16;
    const double  least = (double)width * (double)height * (double)channels * (text ? 2 : (double)kn_type_size(type));
    if ((!text && !end_header(&r)) || !load_picture(load, type, width, height, channels, (double)r.at + least - text))
        return false;
    if (!(text ? read_text_samples(&r, maxval) : read_byte_samples(&r, maxval)))
        return false;
    if (maxval != 255 && maxval != 65535)
        load_note(load, "its values go up to %llu, not %d; they are kept as they are", (unsigned long long)maxval,
                  type == KN_U8 ? 255 : 65535);
    if (text)
        skip_space(&r);
    note_rest(&r);
    return true;
}

/* The scale of a PFM: its sign tells the byte order, its size is for the eye only. */
static bool read_scale(Reader *r, bool *big_endian)
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
    Reader         r        = { load, 2 };
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
    .endings    = { ".pgm" },
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
    .endings    = { ".ppm" },
    .recognizes = ppm_recognizes,
    .decode     = pnm_decode,
    .encode     = pnm_encode,
    .types      = TYPE_BIT(KN_U8) | TYPE_BIT(KN_U16),
    .integers   = KN_U16,
    .floats     = KN_U8,
    .channels   = CHANNELS_3,
};

/* An ending for either; there is no third content. */
const ImageFormat pnm_format = {
    .name     = "PNM",
    .endings  = { ".pnm" },
    .encode   = pnm_encode,
    .types    = TYPE_BIT(KN_U8) | TYPE_BIT(KN_U16),
    .integers = KN_U16,
    .floats   = KN_U8,
    .channels = CHANNELS_1 | CHANNELS_3,
};

const ImageFormat pfm_format = {
    .name       = "PFM",
    .endings    = { ".pfm" },
    .recognizes = pfm_recognizes,
    .decode     = pfm_decode,
    .encode     = pfm_encode,
    .types      = TYPE_BIT(KN_F32),
    .integers   = KN_F32,
    .floats     = KN_F32,
    .channels   = CHANNELS_1 | CHANNELS_3,
};
