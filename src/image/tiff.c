/* SPDX-License-Identifier: MIT */
/* TIFF files, by libtiff: integers of 8 to 64 bits, floats of 16 to 64, any number of channels, strips and tiles,
 * contiguous or planar.
 *
 * libtiff reads from memory and writes to the open file through the procedures below. Its messages come to per-file
 * handlers, so no global state is touched. Only the first picture of a file is read. */
#include "image/image.h"

#include <tiffio.h>

enum {
    MOST_CHANNELS = 63,
    /* Memory that libtiff may allocate while it reads: the strip tables, which take 8 bytes for each 2 or more of the
     * file, one strip, and a margin. */
    MOST_INFLATION_OF_TABLES = 16,
    LEAST_ALLOWED            = 1 << 20,
};

/* One run of libtiff. */
typedef struct TiffRun {
    Load    *load; /* reading … */
    Save    *save; /* … or writing */
    uint64_t at;
    TIFF    *tiff;
} TiffRun;

static const struct {
    uint16_t format, bits;
    kn_type  type;
} sample_types[] = {
    { SAMPLEFORMAT_UINT, 8, KN_U8 },     { SAMPLEFORMAT_UINT, 16, KN_U16 },   { SAMPLEFORMAT_UINT, 32, KN_U32 },
    { SAMPLEFORMAT_UINT, 64, KN_U64 },   { SAMPLEFORMAT_INT, 8, KN_I8 },      { SAMPLEFORMAT_INT, 16, KN_I16 },
    { SAMPLEFORMAT_INT, 32, KN_I32 },    { SAMPLEFORMAT_INT, 64, KN_I64 },    { SAMPLEFORMAT_IEEEFP, 16, KN_F16 },
    { SAMPLEFORMAT_IEEEFP, 32, KN_F32 }, { SAMPLEFORMAT_IEEEFP, 64, KN_F64 },
};
enum { SAMPLE_TYPES = sizeof sample_types / sizeof *sample_types };

/* The compressions that are read, and the most bytes that one byte of file can become: a JPEG block of 64 samples takes
 * a bit or more and may stand for three channels, a Zstandard block of 128 KiB four bytes; the others are by their
 * longest match. */
static const struct {
    uint16_t code;
    double   inflation;
} compressions[] = {
    { COMPRESSION_NONE, 1 },       { COMPRESSION_PACKBITS, 64 },        { COMPRESSION_LZW, 4096 },
    { COMPRESSION_DEFLATE, 1032 }, { COMPRESSION_ADOBE_DEFLATE, 1032 }, { COMPRESSION_JPEG, 1536 },
    { COMPRESSION_LZMA, 16384 },   { COMPRESSION_ZSTD, 32768 },
};
enum { COMPRESSIONS = sizeof compressions / sizeof *compressions };

static bool tiff_recognizes(const unsigned char *bytes, size_t size)
{
    static const char magic[][5] = { "II*\0", "MM\0*", "II+\0", "MM\0+" };
    for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
        if (size >= 4 && !memcmp(bytes, magic[i], 4))
            return true;
    return false;
}

static int on_error(TIFF *tiff, void *user, const char *module, const char *format, va_list args)
{
    TiffRun *run = user;
    char     message[REASON];
    (void)tiff;
    (void)module;
    vsnprintf(message, sizeof message, format, args);
    if (run->load)
        load_fail(run->load, "the TIFF data is damaged or truncated: %s", message);
    else
        save_fail(run->save, "libtiff: %s", message);
    return 1;
}

static int on_warning(TIFF *tiff, void *user, const char *module, const char *format, va_list args)
{
    (void)tiff;
    (void)user;
    (void)module;
    (void)format;
    (void)args;
    return 1;
}

static tmsize_t memory_read(thandle_t handle, void *to, tmsize_t count)
{
    TiffRun       *run  = handle;
    const uint64_t size = run->load->size;
    const uint64_t left = run->at < size ? size - run->at : 0;
    const size_t   n    = count < 0 ? 0 : (uint64_t)count < left ? (size_t)count : (size_t)left;
    if (n)
        memcpy(to, run->load->bytes + run->at, n);
    run->at += n;
    return (tmsize_t)n;
}

static tmsize_t memory_write(thandle_t handle, void *from, tmsize_t count)
{
    (void)handle;
    (void)from;
    (void)count;
    return -1;
}

static toff_t memory_seek(thandle_t handle, toff_t offset, int whence)
{
    TiffRun *run = handle;
    run->at      = whence == SEEK_CUR ? run->at + offset : whence == SEEK_END ? run->load->size + offset : offset;
    return run->at;
}

static toff_t memory_size(thandle_t handle)
{
    return ((TiffRun *)handle)->load->size;
}

static tmsize_t file_read(thandle_t handle, void *to, tmsize_t count)
{
    return (tmsize_t)fread(to, 1, (size_t)count, ((TiffRun *)handle)->save->file);
}

static tmsize_t file_write(thandle_t handle, void *from, tmsize_t count)
{
    return save_write(((TiffRun *)handle)->save, from, (size_t)count) ? count : -1;
}

static toff_t file_seek(thandle_t handle, toff_t offset, int whence)
{
    FILE *file = ((TiffRun *)handle)->save->file;
    return fseeko(file, (off_t)offset, whence) ? (toff_t)-1 : (toff_t)ftello(file);
}

static toff_t file_size(thandle_t handle)
{
    FILE       *file = ((TiffRun *)handle)->save->file;
    const off_t at   = ftello(file);
    const off_t size = fseeko(file, 0, SEEK_END) ? -1 : ftello(file);
    return at < 0 || size < 0 || fseeko(file, at, SEEK_SET) ? 0 : (toff_t)size;
}

static int no_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static bool tiff_open(TiffRun *run, const char *mode, size_t memory_limit)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return false;
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, run);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, run);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, memory_limit > PTRDIFF_MAX ? PTRDIFF_MAX : (tmsize_t)memory_limit);
    run->tiff = run->load ? TIFFClientOpenExt(run->load->path, mode, run, memory_read, memory_write, memory_seek,
                                              no_close, memory_size, NULL, NULL, options)
                          : TIFFClientOpenExt(run->save->path, mode, run, file_read, file_write, file_seek, no_close,
                                              file_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return run->tiff != NULL;
}

static uint16_t tag(TIFF *tiff, uint32_t name, uint16_t otherwise)
{
    uint16_t value = otherwise;
    return TIFFGetFieldDefaulted(tiff, name, &value) ? value : otherwise;
}

/* Whether the last channel is opacity. */
static void note_alpha(TiffRun *run)
{
    uint16_t  count = 0;
    uint16_t *kinds = NULL;
    if (!TIFFGetFieldDefaulted(run->tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) || count == 0)
        return;
    run->load->info.alpha = kinds[count - 1] == EXTRASAMPLE_ASSOCALPHA || kinds[count - 1] == EXTRASAMPLE_UNASSALPHA;
    run->load->info.premultiplied = kinds[count - 1] == EXTRASAMPLE_ASSOCALPHA;
}

/* Refuses pictures whose samples are not plain colours; warns of properties that are ignored. */
static bool check_colors(TiffRun *run)
{
    const uint16_t photometric = tag(run->tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    const uint16_t compression = tag(run->tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    const uint16_t orientation = tag(run->tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    if (photometric == PHOTOMETRIC_YCBCR && compression == COMPRESSION_JPEG)
        TIFFSetField(run->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    else if (photometric != PHOTOMETRIC_MINISBLACK && photometric != PHOTOMETRIC_MINISWHITE &&
             photometric != PHOTOMETRIC_RGB)
        return load_fail(
            run->load,
            "the colours of this TIFF file are neither gray nor RGB (photometric interpretation %d: a palette, "
            "CMYK, YCbCr or the like); convert it to RGB first",
            photometric);
    if (photometric == PHOTOMETRIC_MINISWHITE)
        load_note(run->load, "in this TIFF file 0 is white; the values are kept as they are");
    run->load->orientation = orientation;
    note_alpha(run);
    return true;
}

/* The type of the samples, or KN_NONE with a reason. */
static kn_type sample_type(TiffRun *run)
{
    const uint16_t bits   = tag(run->tiff, TIFFTAG_BITSPERSAMPLE, 1);
    const uint16_t format = tag(run->tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    for (size_t i = 0; i < SAMPLE_TYPES; i++)
        if (sample_types[i].bits == bits &&
            (sample_types[i].format == format ||
             (format == SAMPLEFORMAT_VOID && sample_types[i].format == SAMPLEFORMAT_UINT)))
            return sample_types[i].type;
    load_fail(run->load,
              "TIFF samples of %d bits (sample format %d) are not read: integers have 8, 16, 32 or 64 bits, floats 16, "
              "32 or 64",
              bits, format);
    return KN_NONE;
}

/* The fewest bytes of file that `bytes` bytes of pixels can come from; negative if the compression is not read. */
static double least_size(TiffRun *run, double bytes)
{
    const uint16_t code = tag(run->tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    for (size_t i = 0; i < COMPRESSIONS; i++)
        if (compressions[i].code == code && TIFFIsCODECConfigured(code))
            return bytes / compressions[i].inflation;
    load_fail(run->load, "TIFF compression %d is not read; save it uncompressed or with LZW or Deflate", code);
    return -1;
}

/* How the samples are cut into pieces: `planes` times a grid of pieces, each `width` by `height` pixels of `channels`
 * samples. Strips are pieces as wide as the picture. */
typedef struct Pieces {
    bool     tiled;
    uint32_t width, height;
    int32_t  planes, channels;
    tmsize_t row_bytes;
    void    *pixels;
} Pieces;

/* Reads the layout of strips or tiles, and allocates one piece. */
static bool find_pieces(TiffRun *run, const kn_buffer *image, Pieces *p)
{
    const uint16_t channels = tag(run->tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    const uint16_t config   = tag(run->tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    const bool     planar   = channels > 1 && config == PLANARCONFIG_SEPARATE;
    p->tiled                = TIFFIsTiled(run->tiff);
    p->planes               = planar ? channels : 1;
    p->channels             = planar ? 1 : channels;
    if (p->tiled) {
        if (!TIFFGetField(run->tiff, TIFFTAG_TILEWIDTH, &p->width) ||
            !TIFFGetField(run->tiff, TIFFTAG_TILELENGTH, &p->height))
            return load_fail(run->load, "the TIFF file has tiles of no size");
    } else {
        p->width = (uint32_t)image->dim[0].extent;
        if (!TIFFGetFieldDefaulted(run->tiff, TIFFTAG_ROWSPERSTRIP, &p->height) ||
            p->height > (uint32_t)image->dim[1].extent)
            p->height = (uint32_t)image->dim[1].extent;
    }
    const uint64_t row = (uint64_t)p->width * (uint64_t)p->channels * kn_type_size(image->type);
    p->row_bytes       = p->tiled ? TIFFTileRowSize(run->tiff) : TIFFScanlineSize(run->tiff);
    if (!p->width || !p->height || p->row_bytes <= 0 || (uint64_t)p->row_bytes != row)
        return load_fail(run->load, "the TIFF file's strips or tiles do not fit its picture");
    if (least_size(run, (double)row * p->height) > (double)run->load->size)
        return load_fail(run->load, "the TIFF file claims strips or tiles that are larger than the file");
    p->pixels = load_scratch(run->load, p->height, (size_t)row);
    return p->pixels != NULL;
}

/* Reads the piece at (x, y) of a plane and puts the part of it that lies in the picture. */
static bool read_piece(TiffRun *run, const Pieces *p, uint32_t x, uint32_t y, int32_t plane)
{
    const kn_buffer *image = &run->load->image;
    const uint32_t   wide = (uint32_t)image->dim[0].extent - x, high = (uint32_t)image->dim[1].extent - y;
    const uint32_t   rows  = high < p->height ? high : p->height;
    const tmsize_t   need  = (tmsize_t)(p->tiled ? p->height : rows) * p->row_bytes;
    const uint32_t   index = p->tiled ? TIFFComputeTile(run->tiff, x, y, 0, (uint16_t)plane)
                                      : TIFFComputeStrip(run->tiff, y, (uint16_t)plane);
    const tmsize_t   got   = p->tiled ? TIFFReadEncodedTile(run->tiff, index, p->pixels, need)
                                      : TIFFReadEncodedStrip(run->tiff, index, p->pixels, need);
    if (got != need)
        return load_fail(run->load, "the TIFF file is truncated or damaged: row %u is not whole", y);
    for (uint32_t row = 0; row < rows; row++)
        picture_put(image, (int32_t)x, (int32_t)(y + row), plane, p->channels,
                    (int32_t)(wide < p->width ? wide : p->width),
                    (const char *)p->pixels + (tmsize_t)row * p->row_bytes);
    return true;
}

static bool read_pieces(TiffRun *run)
{
    const kn_buffer *image = &run->load->image;
    Pieces           p     = { 0 };
    if (!find_pieces(run, image, &p))
        return false;
    for (int32_t plane = 0; plane < p.planes; plane++)
        for (uint64_t y = 0; y < (uint64_t)image->dim[1].extent; y += p.height)
            for (uint64_t x = 0; x < (uint64_t)image->dim[0].extent; x += p.width)
                if (!read_piece(run, &p, (uint32_t)x, (uint32_t)y, plane))
                    return false;
    return true;
}

static bool read_picture(TiffRun *run)
{
    uint32_t width = 0, height = 0, depth = 1;
    TIFFGetField(run->tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(run->tiff, TIFFTAG_IMAGELENGTH, &height);
    TIFFGetFieldDefaulted(run->tiff, TIFFTAG_IMAGEDEPTH, &depth);
    if (depth != 1)
        return load_fail(run->load, "TIFF volumes are not read; save the array as .npy");
    if (!check_colors(run))
        return false;
    const kn_type type = sample_type(run);
    if (type == KN_NONE)
        return false;
    const uint16_t channels = tag(run->tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    const double   least    = least_size(run, (double)width * height * channels * (double)kn_type_size(type));
    if (least < 0 || !load_picture(run->load, type, width, height, channels, least) || !read_pieces(run))
        return false;
    if (!TIFFLastDirectory(run->tiff))
        load_note(run->load, "this TIFF file has more than one picture; the first was read");
    return true;
}

static bool tiff_decode(Load *load)
{
    TiffRun run = { .load = load };
    if (!tiff_open(&run, "rm", MOST_INFLATION_OF_TABLES * load->size + LEAST_ALLOWED))
        return load_fail(load, "the TIFF header is damaged");
    const bool ok = read_picture(&run);
    TIFFClose(run.tiff);
    return ok;
}

/* One channel is gray, three are RGB, one more is alpha, others have no stated meaning. */
static bool set_colors(TIFF *tiff, int channels)
{
    const int colors = channels < 3 ? 1 : 3, extras = channels - colors;
    uint16_t  extra[MOST_CHANNELS] = { 0 };
    extra[0]                       = extras == 1 ? EXTRASAMPLE_UNASSALPHA : EXTRASAMPLE_UNSPECIFIED;
    return TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, channels) &&
           TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, colors == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB) &&
           (!extras || TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, extras, extra));
}

static bool set_layout(TIFF *tiff, const Save *save)
{
    const size_t row   = (size_t)save->width * (size_t)save->channels * kn_type_size(save->image->type);
    const size_t strip = row < 65536 ? 65536 / row : 1;
    size_t       type  = 0;
    while (sample_types[type].type != save->image->type)
        type++;
    return TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, (uint32_t)save->width) &&
           TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, (uint32_t)save->height) &&
           TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, sample_types[type].bits) &&
           TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, sample_types[type].format) &&
           TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE) &&
           TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) &&
           TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, (uint32_t)strip) && set_colors(tiff, save->channels);
}

static bool tiff_encode(Save *save)
{
    TiffRun      run  = { .save = save };
    const double size = (double)buffer_count(save->image) * (double)kn_type_size(save->image->type);
    if (!tiff_open(&run, size > 4e9 ? "w8" : "w", 0))
        return save_fail(save, "no memory to write TIFF");
    bool ok = set_layout(run.tiff, save);
    for (int32_t y = 0; ok && y < save->height; y++)
        ok = TIFFWriteScanline(run.tiff, picture_row(save, y), (uint32_t)y, 0) >= 0;
    ok = ok && TIFFFlush(run.tiff);
    TIFFClose(run.tiff);
    return ok && !save->why[0] ? true : save_fail(save, "the TIFF data could not be written");
}

const ImageFormat tiff_format = {
    .name       = "TIFF",
    .endings    = ".tif .tiff",
    .recognizes = tiff_recognizes,
    .decode     = tiff_decode,
    .encode     = tiff_encode,
    .types      = TYPE_BIT(KN_U8) | TYPE_BIT(KN_U16) | TYPE_BIT(KN_U32) | TYPE_BIT(KN_U64) | TYPE_BIT(KN_I8) |
             TYPE_BIT(KN_I16) | TYPE_BIT(KN_I32) | TYPE_BIT(KN_I64) | TYPE_BIT(KN_F16) | TYPE_BIT(KN_F32) |
             TYPE_BIT(KN_F64),
    .integers = KN_U16,
    .floats   = KN_F32,
    .channels = UINT64_MAX - 1,
};
