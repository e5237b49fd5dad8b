/* SPDX-License-Identifier: MIT */
/* Image files for tests that Kiln itself never writes: made by the libraries, and by hand. */
#ifndef KILN_TESTS_IMAGE_FILES_H
#define KILN_TESTS_IMAGE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>
#include <tiffio.h>

static inline void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (f) {
        fwrite(bytes, 1, size, f);
        fclose(f);
    }
}

/* A PNG of any kind. `rows` are packed as PNG has them, each (width * channels * depth + 7) / 8 bytes. */
static inline void write_png(const char *path, int width, int height, int depth, int color, bool interlaced,
                             const unsigned char *rows, const png_color *palette, int colors)
{
    static const int samples[] = { [PNG_COLOR_TYPE_GRAY]       = 1,
                                   [PNG_COLOR_TYPE_PALETTE]    = 1,
                                   [PNG_COLOR_TYPE_RGB]        = 3,
                                   [PNG_COLOR_TYPE_GRAY_ALPHA] = 2,
                                   [PNG_COLOR_TYPE_RGB_ALPHA]  = 4 };
    const size_t     stride    = (size_t)(width * depth * samples[color] + 7) / 8;
    FILE            *f         = fopen(path, "wb");
    png_structp      png       = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop        info      = png_create_info_struct(png);
    png_init_io(png, f);
    png_set_IHDR(png, info, (uint32_t)width, (uint32_t)height, depth, color,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    if (palette)
        png_set_PLTE(png, info, palette, colors);
    png_write_info(png, info);
    const int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < height; y++)
            png_write_row(png, rows + (size_t)y * stride);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(f);
}

/* The CRC of a PNG chunk: its name and data. */
static inline uint32_t png_checksum(const unsigned char *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < 8 * size; i++)
        crc = crc >> 1 ^ (((crc ^ bytes[i / 8] >> i % 8) & 1) ? 0xEDB88320u : 0);
    return ~crc;
}

/* A gray PNG of 8 bits with EXIF data. */
static inline void write_oriented_png(const char *path, int width, int height, const unsigned char *rows,
                                      unsigned char *exif, uint32_t size)
{
    FILE       *f    = fopen(path, "wb");
    png_structp png  = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop   info = png_create_info_struct(png);
    png_init_io(png, f);
    png_set_IHDR(png, info, (uint32_t)width, (uint32_t)height, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, 0, 0);
    png_set_eXIf_1(png, info, size, exif);
    png_write_info(png, info);
    for (int y = 0; y < height; y++)
        png_write_row(png, rows + (size_t)(y * width));
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(f);
}

typedef struct TiffKind {
    const char *mode; /* "w", "wb" for big endian, "w8" for BigTIFF */
    int         compression;
    bool        planar;
    int         tile; /* the side of a tile; 0: strips of two rows */
    int         photometric, bits, channels;
} TiffKind;

/* A TIFF whose sample number i, in file order of an interleaved picture, is the byte (or the low byte of) i. */
static inline void write_tiff(const char *path, int width, int height, TiffKind k)
{
    unsigned char piece[16384];
    TIFF         *t    = TIFFOpen(path, k.mode);
    const int     size = k.bits / 8, planes = k.planar ? k.channels : 1, inner = k.planar ? 1 : k.channels;
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, width);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, height);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, k.bits);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, k.channels);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, k.photometric);
    TIFFSetField(t, TIFFTAG_COMPRESSION, k.compression);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, k.planar ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    const int high = k.tile ? k.tile : 2, wide = k.tile ? k.tile : width;
    if (k.tile) {
        TIFFSetField(t, TIFFTAG_TILEWIDTH, wide);
        TIFFSetField(t, TIFFTAG_TILELENGTH, high);
    } else {
        TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, high);
    }
    for (int p = 0; p < planes; p++)
        for (int y0 = 0; y0 < height; y0 += high)
            for (int x0 = 0; x0 < width; x0 += wide) {
                memset(piece, 0, sizeof piece);
                for (int y = 0; y < high; y++)
                    for (int x = 0; x < wide; x++)
                        for (int c = 0; c < inner; c++) {
                            const uint16_t v  = (uint16_t)(((y0 + y) * width + x0 + x) * k.channels + c + p) & 255;
                            unsigned char *at = piece + (size_t)(((y * wide + x) * inner + c) * size);
                            if (size == 2)
                                memcpy(at, &v, sizeof v);
                            else
                                *at = (unsigned char)v;
                        }
                const int rows = k.tile || height - y0 > high ? high : height - y0;
                if (k.tile)
                    TIFFWriteTile(t, piece, (uint32_t)x0, (uint32_t)y0, 0, (uint16_t)p);
                else
                    TIFFWriteEncodedStrip(t, TIFFComputeStrip(t, (uint32_t)y0, (uint16_t)p), piece,
                                          rows * wide * inner * size);
            }
    TIFFClose(t);
}

/* A JPEG of any colour space, progressive or not, with EXIF data or NULL: a gradient. */
static inline void write_jpeg_with(const char *path, int width, int height, int channels, J_COLOR_SPACE space,
                                   bool progressive, const unsigned char *exif, unsigned size)
{
    struct jpeg_compress_struct out;
    struct jpeg_error_mgr       errors;
    unsigned char               row[4096];
    FILE                       *f = fopen(path, "wb");
    out.err                       = jpeg_std_error(&errors);
    jpeg_create_compress(&out);
    jpeg_stdio_dest(&out, f);
    out.image_width      = (JDIMENSION)width;
    out.image_height     = (JDIMENSION)height;
    out.input_components = channels;
    out.in_color_space   = space;
    jpeg_set_defaults(&out);
    if (progressive)
        jpeg_simple_progression(&out);
    jpeg_start_compress(&out, TRUE);
    if (exif) {
        jpeg_write_m_header(&out, JPEG_APP0 + 1, size + 6);
        for (unsigned i = 0; i < size + 6; i++)
            jpeg_write_m_byte(&out, i < 6 ? "Exif\0"[i] : exif[i - 6]);
    }
    for (int y = 0; y < height; y++) {
        for (int i = 0; i < width * channels; i++)
            row[i] = (unsigned char)(i * 3 + y * 5);
        JSAMPROW rows = row;
        jpeg_write_scanlines(&out, &rows, 1);
    }
    jpeg_finish_compress(&out);
    jpeg_destroy_compress(&out);
    fclose(f);
}

static inline void write_jpeg(const char *path, int width, int height, int channels, J_COLOR_SPACE space,
                              bool progressive)
{
    write_jpeg_with(path, width, height, channels, space, progressive, NULL, 0);
}

static inline void write_oriented_jpeg(const char *path, int width, int height, const unsigned char *exif,
                                       unsigned size)
{
    write_jpeg_with(path, width, height, 3, JCS_RGB, false, exif, size);
}

#endif
