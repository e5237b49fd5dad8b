/* SPDX-License-Identifier: MIT */
/* Image files: the table of formats, and what a format is made of.
 *
 * A format is a row of IMAGE_FORMATS and a file with a decoder and an encoder. While a decoder or encoder is
 * open nothing may bail out, because libpng, libjpeg and libtiff hold memory of their own. So the file is in memory
 * before a decoder begins, and inside decoders only the functions declared here are called: they report in Load.why or
 * Save.why and never bail. */
#ifndef KILN_IMAGE_IMAGE_H
#define KILN_IMAGE_IMAGE_H

#include <stdio.h>

#include "image/buffer.h"

enum { REASON = 240 };

/* Loading one file. */
typedef struct Load {
    kn_context          *cx;
    const char          *path;
    int                  file;  /* open for reading */
    const unsigned char *bytes; /* the whole file; only its head if the format streams */
    size_t               had;   /* bytes read so far */
    size_t               size;  /* of the file */
    kn_buffer            image; /* the result */
    kn_image_info        info;
    int                  orientation; /* of EXIF, 1 to 8; 0: unknown */
    size_t               slot;        /* where its memory is recorded */
    void                *scratch;     /* freed when the load is over */
    char                 why[REASON]; /* what is wrong */
    kn_status            status;
    char                 note[REASON]; /* a warning about a file that was read, or "" */
} Load;

/* Saving one buffer. */
typedef struct Save {
    kn_context      *cx;
    const char      *path;
    const kn_buffer *image;
    int32_t          width, height, channels; /* of a picture */
    FILE            *file;                    /* open for reading and writing, empty */
    void            *scratch;                 /* a row of interleaved pixels (for NPY: of elements) */
    char             why[REASON];
} Save;

typedef struct ImageFormat {
    const char *name;
    const char *endings; /* ".tif .tiff" */
    bool (*recognizes)(const unsigned char *bytes, size_t size);
    bool (*decode)(Load *load);
    bool (*encode)(Save *save);
    uint32_t types;            /* that can be saved: bits 1 << kn_type */
    kn_type  integers, floats; /* what kn_image_convert_for makes of the others */
    uint64_t channels;         /* that can be saved: bits 1 << n */
    bool     any_rank;         /* arrays, not only pictures */
    bool     streams;          /* reads the rest of the file itself, by load_read */
} ImageFormat;

/* The formats, in the order in which messages, help and documents name them. NAME_format is defined in the file of its
 * decoder. */
#define IMAGE_FORMATS(X) X(png) X(jpeg) X(tiff) X(pgm) X(ppm) X(pnm) X(pfm) X(npy)
#define X(name)          extern const ImageFormat name##_format;
IMAGE_FORMATS(X)
#undef X

/* The format that the ending of the path names; NULL, with a diagnostic that lists the endings, if there is none. */
const ImageFormat *format_of_path(kn_context *cx, const char *path);

/* The format that the first bytes of the file are those of; NULL, with a reason, if there is none. */
const ImageFormat *format_of_content(Load *load);
/* Whether the format holds a buffer of that type and shape as it is; if not, a diagnostic. */
bool format_holds(kn_context *cx, const char *path, const ImageFormat *format, const kn_buffer *b);

/* orientation.c: the orientation in a block of EXIF data, which is a small TIFF file: 1 to 8, or 0. */
int exif_orientation(const unsigned char *bytes, size_t size);
/* Applies load->orientation to the image. Called when no decoder is open. */
bool load_orient(Load *load);

/* Records what is wrong; the first reason is kept. Returns false. */
__attribute__((format(printf, 2, 3))) bool load_fail(Load *load, const char *format, ...);
/* Adds a warning for after the load. */
__attribute__((format(printf, 2, 3))) void load_note(Load *load, const char *format, ...);

/* Can a file of this size hold so many samples? `least` is the fewest bytes that they take. Guards against headers that
 * promise too much. */
bool load_plausible(Load *load, uint64_t width, uint64_t height, uint64_t channels, double least);
/* Memory for a picture of rank 2 or, if it has channels, 3, after load_plausible. */
bool load_picture(Load *load, kn_type type, uint64_t width, uint64_t height, uint64_t channels, double least);
/* Memory for load->image, whose type, rank and extents are set. It is not cleared, so that pages are not touched before
 * they are decoded. */
bool load_allocate(Load *load);
/* Reads the bytes of the file from `at` on: from load->bytes, or else from the file. Each byte is read once, in
 * order. */
bool load_read(Load *load, size_t at, void *to, size_t count);
/* Fails with "out of memory". */
bool load_needs_memory(Load *load);
/* Memory for the time of the load, not cleared; one block per load. */
void *load_scratch(Load *load, size_t count, size_t size);

/* Stores `count` interleaved pixels at (x, y), channels `channel` and following. */
void picture_put(const kn_buffer *image, int32_t x, int32_t y, int32_t channel, int32_t channels, int32_t count,
                 const void *pixels);
/* The row y as interleaved pixels in save->scratch. */
void *picture_row(Save *save, int32_t y);

__attribute__((format(printf, 2, 3))) bool save_fail(Save *save, const char *format, ...);
/* Writes bytes; false on a write error. */
bool save_write(Save *save, const void *bytes, size_t size);

/* Reverses the bytes of `count` elements of `size` bytes. */
void swap_bytes(void *elements, size_t count, size_t size);

#define IS_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define TYPE_BIT(t)   (1u << (t))

enum { CHANNELS_1 = 1 << 1, CHANNELS_2 = 1 << 2, CHANNELS_3 = 1 << 3, CHANNELS_4 = 1 << 4 };

#endif
