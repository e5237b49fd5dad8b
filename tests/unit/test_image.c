/* Image files: every format round trips, files of other programs are read, and wrong files get a message, never a
 * crash.
 *
 * Writes into a new folder under the one given as argument, or $TMPDIR, or /tmp, and removes it. */
#include "kiln.h"
#include "check.h"
#include "image_files.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[4096];

/* A path in the folder, in one of a few buffers used in turn. */
static const char *in_folder(const char *name)
{
    static char     path[4][4300];
    static unsigned turn;
    char           *p = path[turn++ % 4];
    const int       n = snprintf(p, sizeof path[0], "%s/%s", folder, name);
    CHECK(n > 0 && (size_t)n < sizeof path[0], "a path is too long");
    return p;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Counts the files in the folder; with `clear`, removes them. */
static int folder_files(bool clear)
{
    DIR *d = opendir(folder);
    int  n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
            n++;
            if (clear)
                remove(in_folder(e->d_name));
        }
    if (d)
        closedir(d);
    return n;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* ---- Round trips ---- */

enum { DENSE, INTERLEAVED, FLIPPED_PADDED, LAYOUTS };

/* Memory for a buffer in one of the layouts, filled with bits. */
static kn_buffer make_buffer(kn_type type, int rank, const int32_t *extent, int layout, char **memory)
{
    kn_buffer    b     = kn_buffer_dense(NULL, type, rank, extent);
    const size_t size  = kn_type_size(type);
    int64_t      count = 1, origin = 0;
    for (int d = 0; d < rank; d++)
        count *= extent[d] + 2;
    *memory        = malloc((size_t)count * size + size);
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < (size_t)count * size + size; i++)
        (*memory)[i] = (char)random_next(&state);
    if (layout == INTERLEAVED && rank == 3) {
        b.dim[2].stride = 1;
        b.dim[0].stride = extent[2];
        b.dim[1].stride = extent[2] * extent[0];
    } else if (layout == FLIPPED_PADDED && rank >= 2) {
        int64_t stride = 1;
        for (int d = 0; d < rank; d++) {
            b.dim[d].stride = stride;
            b.dim[d].min    = d - 1;
            stride *= extent[d] + 1;
        }
        origin          = b.dim[1].stride * (extent[1] - 1);
        b.dim[1].stride = -b.dim[1].stride;
    }
    b.data = *memory + origin * (int64_t)size;
    return b;
}

static void set_bool_bytes(char *memory, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memory[i] &= 1;
}

/* Saves, loads and compares. `tolerance` is for JPEG. */
static void round_trip(kn_context *cx, const char *name, const kn_buffer *b, double tolerance)
{
    kn_buffer     back = { 0 };
    kn_difference d    = { 0 };
    const char   *path = in_folder(name), *type = kn_type_name(b->type);
    CHECK(kn_image_save(cx, path, b) == KN_OK, "%s %s: %s", name, type, kn_error_text(cx));
    CHECK(kn_image_load(cx, path, &back) == KN_OK, "%s %s: %s", name, type, kn_error_text(cx));
    CHECK(back.type == b->type, "%s: %s became %d", name, type, (int)back.type);
    kn_buffer want = *b;
    if (!has(name, ".npy") && want.rank == 3 && want.dim[2].extent == 1)
        want.rank = 2;
    CHECK(kn_compare(cx, &back, &want, tolerance, 0, &d) == KN_OK, "%s %s: %s", name, type, kn_error_text(cx));
    CHECK(d.beyond == 0, "%s %s %dx%d: %lld differ, by up to %g", name, type, b->dim[0].extent, b->dim[1].extent,
          (long long)d.beyond, d.max);
    kn_buffer_free(cx, &back);
    remove(path);
}

#define T(t) (1u << KN_##t)
#define ALL_BUT_BF16                                                                                                   \
    (T(BOOL) | T(U8) | T(U16) | T(U32) | T(U64) | T(I8) | T(I16) | T(I32) | T(I64) | T(F16) | T(F32) | T(F64))

static const struct {
    const char *name;
    unsigned    types, channels;
} holds[] = {
    { "a.png", T(U8) | T(U16), 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 },
    { "a.tif", ALL_BUT_BF16 & ~T(BOOL), 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 9 },
    { "a.TIFF", T(U8) | T(F64), 1 << 3 },
    { "a.pgm", T(U8) | T(U16), 1 << 1 },
    { "a.ppm", T(U8) | T(U16), 1 << 3 },
    { "a.pnm", T(U8) | T(U16), 1 << 1 | 1 << 3 },
    { "a.pfm", T(F32), 1 << 1 | 1 << 3 },
    { "a.npy", ALL_BUT_BF16, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 7 },
};

static void test_round_trips(kn_context *cx)
{
    static const int32_t sizes[][2] = { { 1, 1 }, { 1, 7 }, { 7, 1 }, { 13, 5 } };
    for (size_t f = 0; f < sizeof holds / sizeof *holds; f++)
        for (int t = KN_BOOL; t < KN_TYPE_COUNT; t++)
            for (int c = 1; c < 10; c++)
                for (int s = 0; s < 4; s++)
                    for (int layout = 0; layout < LAYOUTS; layout++) {
                        if (!(holds[f].types >> t & 1) || !(holds[f].channels >> c & 1))
                            continue;
                        char         *memory;
                        const int32_t extent[3] = { sizes[s][0], sizes[s][1], c };
                        kn_buffer     b = make_buffer((kn_type)t, c == 1 && s != 3 ? 2 : 3, extent, layout, &memory);
                        if (t == KN_BOOL)
                            set_bool_bytes(memory, (size_t)(extent[0] + 2) * (size_t)(extent[1] + 2));
                        round_trip(cx, holds[f].name, &b, 0);
                        free(memory);
                    }
}

static void test_npy_ranks(kn_context *cx)
{
    const int32_t extent[KN_MAX_RANK] = { 3, 2, 1, 4, 2, 1, 2, 3 };
    for (int rank = 0; rank <= KN_MAX_RANK; rank++) {
        char     *memory;
        kn_buffer b = make_buffer(KN_I32, rank, extent, FLIPPED_PADDED, &memory);
        round_trip(cx, "r.npy", &b, 0);
        free(memory);
    }
    const int32_t empty[3] = { 5, 0, 2 };
    kn_buffer     b        = kn_buffer_dense(NULL, KN_F64, 3, empty);
    round_trip(cx, "z.npy", &b, 0);
}

static void test_jpeg(kn_context *cx)
{
    for (int channels = 1; channels <= 3; channels += 2) {
        const int32_t extent[3] = { 13, 5, channels };
        unsigned char pixels[13 * 5 * 3];
        for (int i = 0; i < 13 * 5 * 3; i++)
            pixels[i] = (unsigned char)(i % 13 * 4 + i / 13 % 5 * 8 + 40);
        kn_buffer b = kn_buffer_dense(pixels, KN_U8, 3, extent);
        round_trip(cx, "a.jpg", &b, 8);
        round_trip(cx, "a.JPEG", &b, 8);
    }
}

/* ---- Files of other programs ---- */

/* Loads a file that must be good. */
static kn_buffer load_good(kn_context *cx, const char *name, kn_type type, int rank)
{
    kn_buffer b = { 0 };
    CHECK(kn_image_load(cx, in_folder(name), &b) == KN_OK, "%s: %s", name, kn_error_text(cx));
    CHECK(b.type == type && b.rank == rank, "%s: type %d, rank %d", name, (int)b.type, b.rank);
    return b;
}

static void expect_bytes(kn_context *cx, const char *name, int rank, const void *want, size_t size, kn_type type)
{
    kn_buffer b = load_good(cx, name, type, rank);
    CHECK(b.data && !memcmp(b.data, want, size), "%s: other values", name);
    kn_buffer_free(cx, &b);
}

static void test_other_png(kn_context *cx)
{
    const unsigned char gray[] = { 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140 };
    write_png(in_folder("i.png"), 5, 3, 8, PNG_COLOR_TYPE_GRAY, true, gray, NULL, 0);
    expect_bytes(cx, "i.png", 2, gray, 15, KN_U8);
    const unsigned char bits[] = { 0xA0, 0x40 };
    write_png(in_folder("1.png"), 3, 2, 1, PNG_COLOR_TYPE_GRAY, false, bits, NULL, 0);
    expect_bytes(cx, "1.png", 2, "\xFF\0\xFF\0\xFF\0", 6, KN_U8);
    write_png(in_folder("2.png"), 3, 2, 2, PNG_COLOR_TYPE_GRAY, true, (const unsigned char *)"\x1B\xE4", NULL, 0);
    expect_bytes(cx, "2.png", 2, "\x00\x55\xAA\xFF\xAA\x55", 6, KN_U8);
    write_png(in_folder("4.png"), 2, 1, 4, PNG_COLOR_TYPE_GRAY, false, (const unsigned char *)"\x3C", NULL, 0);
    expect_bytes(cx, "4.png", 2, "\x33\xCC", 2, KN_U8);
    const png_color palette[] = { { 1, 2, 3 }, { 4, 5, 6 } };
    write_png(in_folder("p.png"), 3, 1, 1, PNG_COLOR_TYPE_PALETTE, false, (const unsigned char *)"\x40", palette, 2);
    expect_bytes(cx, "p.png", 3, "\1\4\1\2\5\2\3\6\3", 9, KN_U8);
    write_png(in_folder("w.png"), 1, 1, 16, PNG_COLOR_TYPE_RGB, true, (const unsigned char *)"\1\2\3\4\5\6", NULL, 0);
    const uint16_t wide[] = { 0x102, 0x304, 0x506 };
    expect_bytes(cx, "w.png", 3, wide, sizeof wide, KN_U16);
}

static void test_other_tiff(kn_context *cx)
{
    static const TiffKind kinds[] = {
        { "w", COMPRESSION_NONE, false, 0, PHOTOMETRIC_RGB, 8, 3 },
        { "w", COMPRESSION_NONE, true, 0, PHOTOMETRIC_RGB, 8, 3 },
        { "wb", COMPRESSION_LZW, false, 0, PHOTOMETRIC_RGB, 16, 3 },
        { "wl", COMPRESSION_PACKBITS, true, 0, PHOTOMETRIC_RGB, 16, 3 },
        { "w8", COMPRESSION_ADOBE_DEFLATE, false, 16, PHOTOMETRIC_RGB, 8, 4 },
        { "wb", COMPRESSION_NONE, true, 16, PHOTOMETRIC_RGB, 16, 3 },
        { "w", COMPRESSION_DEFLATE, false, 16, PHOTOMETRIC_MINISBLACK, 8, 2 },
        { "w", COMPRESSION_NONE, false, 32, PHOTOMETRIC_RGB, 16, 5 },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const int32_t width = 19, height = 21, channels = kinds[i].channels;
        write_tiff(in_folder("k.tif"), width, height, kinds[i]);
        kn_buffer b   = load_good(cx, "k.tif", kinds[i].bits == 8 ? KN_U8 : KN_U16, 3);
        int       bad = 0;
        for (int j = 0; b.data && j < width * height * channels; j++) {
            const int x = j % width, y = j / width % height, c = j / width / height;
            const int v = kinds[i].bits == 8 ? ((uint8_t *)b.data)[j] : ((uint16_t *)b.data)[j];
            bad += v != (((y * width + x) * channels + c) & 255);
        }
        CHECK(!bad, "TIFF kind %zu: %d values differ", i, bad);
        kn_buffer_free(cx, &b);
    }
}

/* What is unusual about a TIFF file is told; the values are kept. */
static void test_tiff_warnings(kn_context *cx)
{
    write_tiff(in_folder("k.tif"), 3, 2, (TiffKind){ "w", COMPRESSION_NONE, false, 0, PHOTOMETRIC_MINISWHITE, 8, 1 });
    TIFF *t = TIFFOpen(in_folder("k.tif"), "r+");
    TIFFSetField(t, TIFFTAG_ORIENTATION, ORIENTATION_BOTLEFT);
    TIFFRewriteDirectory(t);
    TIFFClose(t);
    kn_buffer b = load_good(cx, "k.tif", KN_U8, 2);
    CHECK(has(kn_error_text(cx), "warning: ") && has(kn_error_text(cx), "0 is white"), "%s", kn_error_text(cx));
    CHECK(has(kn_error_text(cx), "was mirrored top to bottom, as its orientation 4 says"), "%s", kn_error_text(cx));
    CHECK(b.data && ((uint8_t *)b.data)[0] == 3 && ((uint8_t *)b.data)[3] == 0, "the last row comes first");
    kn_buffer_free(cx, &b);
    write_tiff(in_folder("k.tif"), 3, 2, (TiffKind){ "a", COMPRESSION_NONE, false, 0, PHOTOMETRIC_RGB, 8, 3 });
    b = load_good(cx, "k.tif", KN_U8, 2);
    CHECK(has(kn_error_text(cx), "more than one picture; the first was read"), "%s", kn_error_text(cx));
    kn_buffer_free(cx, &b);
}

/* EXIF data with one entry, the orientation, big endian. */
static void write_exif(unsigned char exif[26], int orientation)
{
    memcpy(exif, "MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\0\0\0\0\0\0\0", 26);
    exif[19] = (unsigned char)orientation;
}

/* The pixels 0 1 2 / 3 4 5 as each orientation shows them; a PNG and a JPEG say so in the same words. */
static void test_orientations(kn_context *cx)
{
    static const struct {
        int         width;
        const char *shown;
    } expected[] = { { 3, "012345" }, { 3, "210543" }, { 3, "543210" }, { 3, "345012" },
                     { 2, "031425" }, { 2, "304152" }, { 2, "524130" }, { 2, "251403" } };
    for (int o = 1; o <= 8; o++) {
        unsigned char exif[26];
        write_exif(exif, o);
        write_oriented_png(in_folder("o.png"), 3, 2, (const unsigned char *)"012345", exif, sizeof exif);
        kn_buffer b = load_good(cx, "o.png", KN_U8, 2);
        CHECK(b.dim[0].extent == expected[o - 1].width && !memcmp(b.data, expected[o - 1].shown, 6), "orientation %d",
              o);
        CHECK((o == 1) == !*kn_error_text(cx), "orientation %d: %s", o, kn_error_text(cx));
        kn_buffer_free(cx, &b);
        write_oriented_jpeg(in_folder("o.jpg"), 24, 8, exif, sizeof exif);
        b = load_good(cx, "o.jpg", KN_U8, 3);
        CHECK(b.dim[0].extent == (o < 5 ? 24 : 8) && b.dim[1].extent == (o < 5 ? 8 : 24), "JPEG, orientation %d", o);
        CHECK(o == 1 || has(kn_error_text(cx), "as its orientation"), "JPEG, orientation %d: %s", o, kn_error_text(cx));
        kn_buffer_free(cx, &b);
    }
}

/* Whether the last channel is opacity is told; it can be taken off. */
static void test_alpha(kn_context *cx)
{
    kn_buffer     b;
    kn_image_info info;
    write_png(in_folder("a.png"), 1, 1, 8, PNG_COLOR_TYPE_RGB_ALPHA, false, (const unsigned char *)"\xC8\x64\x01\x80",
              NULL, 0);
    for (int apply = 0; apply < 2; apply++) {
        CHECK(!kn_image_load_info(cx, in_folder("a.png"), &b, &info), "%s", kn_error_text(cx));
        CHECK(info.picture && info.alpha && !info.premultiplied && !strcmp(info.format, "PNG"), "%s", info.format);
        CHECK(!kn_image_drop_alpha(cx, &b, apply) && b.rank == 3 && b.dim[2].extent == 3, "%s", kn_error_text(cx));
        CHECK(!memcmp(b.data, apply ? "\x64\x32\x01" : "\xC8\x64\x01", 3), "apply %d", apply);
        CHECK(!kn_image_drop_alpha(cx, &b, false) && !kn_image_drop_alpha(cx, &b, false) && b.rank == 2, "%s",
              kn_error_text(cx));
        CHECK(kn_image_drop_alpha(cx, &b, false) == KN_ERROR_ARGUMENT, "there is no channel left");
        kn_buffer_free(cx, &b);
    }
}

/* A pipe has no size to begin with. */
static void test_pipe(kn_context *cx)
{
    static char bytes[12000] = "P5 100 110 255\n";
    int         ends[2];
    char        path[64];
    kn_buffer   b = { 0 };
    CHECK(!pipe(ends) && write(ends[1], bytes, 15 + 11000) == 15 + 11000, "no pipe");
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    CHECK(!kn_image_load(cx, path, &b) && b.dim[1].extent == 110, "%s", kn_error_text(cx));
    close(ends[0]);
}

static void test_other_text(kn_context *cx)
{
    static const struct {
        const char *text;
        size_t      size; /* of the text; 0: up to its NUL */
        kn_type     type;
        int         rank;
        const char *values;
        size_t      count;
        const char *warning;
    } files[] = {
        { "P2 # a comment\n2 2\n#another\n255\n1 2\n 3 4\n", 0, KN_U8, 2, "\1\2\3\4", 4, NULL },
        { "P2\n2 1 100 100 7", 0, KN_U8, 2, "\xFF\x12", 2, "its values 0..100 were scaled to 0..255" },
        { "P2\n2 1 1 1 0", 0, KN_U8, 2, "\xFF\0", 2, "0..1 were scaled to 0..255" },
        { "P3 1 2 255 1 2 3 4 5 6 ", 0, KN_U8, 3, "\1\4\2\5\3\6", 6, NULL },
        { "P2 1 1 65535 258", 0, KN_U16, 2, "\2\1", 2, NULL },
        { "P5 2 1 1023\n\3\xFF\0\1", 16, KN_U16, 2, "\xFF\xFF\x40\0", 4, "its values 0..1023 were scaled to 0..65535" },
        { "P5 2 1 4095\n\xF\xFF\0\2", 16, KN_U16, 2, "\xFF\xFF\x20\0", 4,
          "its values 0..4095 were scaled to 0..65535" },
        { "P6 1 1 255 \1\2\3", 14, KN_U8, 3, "\1\2\3", 3, NULL },
        { "P5 1 1 255 \1\2\3", 14, KN_U8, 2, "\1", 1, "2 bytes after the picture" },
        { "Pf 1 2 1.0\n\x3F\x80\0\0\x40\0\0\0", 19, KN_F32, 2, "\0\0\0\x40\0\0\x80\x3F", 8, NULL },
        { "PF\n1 1\n-2.5\n\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40", 24, KN_F32, 3, "\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40", 12,
          "scale is not 1" },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_bytes(in_folder("t.pnm"), files[i].text, files[i].size ? files[i].size : strlen(files[i].text));
        kn_buffer b = load_good(cx, "t.pnm", files[i].type, files[i].rank);
        CHECK(b.data && !memcmp(b.data, files[i].values, files[i].count), "text file %zu: other values", i);
        CHECK(files[i].warning ? has(kn_error_text(cx), files[i].warning) : !*kn_error_text(cx), "text file %zu: %s", i,
              kn_error_text(cx));
        kn_buffer_free(cx, &b);
    }
}

/* An NPY file: version, dictionary, data. */
static void write_npy(const char *path, int version, const char *dictionary, const void *data, size_t size)
{
    unsigned char file[1024] = "\x93NUMPY";
    const size_t  length = strlen(dictionary), before = version == 1 ? 10 : 12;
    file[6] = (unsigned char)version;
    file[8] = (unsigned char)length;
    memcpy(file + before, dictionary, length);
    memcpy(file + before + length, data, size);
    write_bytes(path, file, before + length + size);
}

static void test_other_npy(kn_context *cx)
{
    const uint8_t c_order[] = { 1, 2, 3, 4, 5, 6 }, fortran[] = { 1, 4, 2, 5, 3, 6 };
    for (int version = 1; version <= 3; version++) {
        write_npy(in_folder("v.npy"), version, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }   \n",
                  c_order, 6);
        kn_buffer b = load_good(cx, "v.npy", KN_U8, 2);
        CHECK(b.dim[0].extent == 3 && b.dim[1].extent == 2 && !memcmp(b.data, c_order, 6), "version %d", version);
        kn_buffer_free(cx, &b);
    }
    write_npy(in_folder("f.npy"), 1, "{\"shape\":(2L,3L),\"fortran_order\":True,\"descr\":\"|i1\"}", fortran, 6);
    kn_buffer b = load_good(cx, "f.npy", KN_I8, 2);
    CHECK(b.dim[0].extent == 3 && !memcmp(b.data, c_order, 6), "Fortran order");
    kn_buffer_free(cx, &b);
    write_npy(in_folder("b.npy"), 1, "{'descr': '>u4', 'fortran_order': True, 'shape': (2, 1)}", "\0\0\1\2\3\0\0\0", 8);
    const uint32_t big[] = { 0x102, 0x3000000 };
    expect_bytes(cx, "b.npy", 2, big, sizeof big, KN_U32);
    write_npy(in_folder("o.npy"), 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\0\1\7", 3);
    expect_bytes(cx, "o.npy", 1, "\0\1\1", 3, KN_BOOL);
}

static void test_other_jpeg(kn_context *cx)
{
    for (int progressive = 0; progressive < 2; progressive++) {
        write_jpeg(in_folder("c.jpg"), 33, 17, 3, JCS_RGB, progressive);
        kn_buffer b = load_good(cx, "c.jpg", KN_U8, 3);
        CHECK(b.dim[0].extent == 33 && b.dim[1].extent == 17 && b.dim[2].extent == 3, "JPEG extents");
        kn_buffer_free(cx, &b);
    }
}

/* ---- Wrong files ---- */

static void expect_load_error(kn_context *cx, const char *name, kn_status status, const char *message)
{
    kn_buffer       b   = { 0 };
    const kn_status got = kn_image_load(cx, in_folder(name), &b);
    CHECK(got == status && !b.data, "%s: status %d", name, (int)got);
    CHECK(has(kn_error_text(cx), message) && has(kn_error_text(cx), name), "%s: expected \"%s\", got: %s", name,
          message, kn_error_text(cx));
}

static void test_wrong_files(kn_context *cx)
{
    static const struct {
        const char *name, *bytes;
        size_t      size;
        const char *message;
    } files[] = {
        { "empty.png", "", 0, "is empty (0 bytes)" },
        { "text.png", "hello, world", 12, "is no image file; Kiln reads PNG" },
        { "a.gif", "GIF89a......", 12, "is a GIF file" },
        { "half.png", "\x89PNG\r\n\x1A\n\0\0\0\rIH", 14, "PNG file is truncated" },
        { "zero.pgm", "P5 0 3 255\n", 11, "zero size" },
        { "huge.pgm", "P5 999999999 999999999 255\n", 27, "truncated or damaged: its header promises 999999999 x" },
        { "huge.ppm", "P3 99999999999 3 255\n", 21, "no number at byte 3" },
        { "short.pgm", "P5 4 4 255\n123", 14, "truncated or damaged" },
        { "short.p2", "P2 2 2 255 1 2 3 ", 17, "truncated" },
        { "high.p2", "P2 1 1 9 10 ", 12, "a sample is 10, its largest value 9" },
        { "max.pgm", "P5 1 1 0\n1", 10, "must be 1 to 65535" },
        { "word.pgm", "P5 wide 1 255\n1", 15, "where its width should be" },
        { "scale.pfm", "Pf 1 1 0.0\n1234", 15, "no number other than 0" },
        { "short.npy", "\x93NUMPY\1\0\x50\0{", 11, "truncated: it ends in its header" },
        { "version.npy", "\x93NUMPY\7\0\x50\0{    ", 16, "NPY version 7.0" },
        { "short.jpg", "\xFF\xD8\xFF\xE0\0\20JFIF", 10, "JPEG data is damaged" },
        { "short.tif", "II*\0\x08\0\0\0", 8, "TIFF data is damaged" },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_bytes(in_folder(files[i].name), files[i].bytes, files[i].size);
        expect_load_error(cx, files[i].name, KN_ERROR_FILE, files[i].message);
    }
    expect_load_error(cx, "missing.png", KN_ERROR_FILE, "No such file");
    expect_load_error(cx, ".", KN_ERROR_FILE, "is a folder");
    write_jpeg(in_folder("cmyk.jpg"), 8, 8, 4, JCS_CMYK, false);
    expect_load_error(cx, "cmyk.jpg", KN_ERROR_FILE, "CMYK");
    write_tiff(in_folder("sep.tif"), 4, 4, (TiffKind){ "w", COMPRESSION_NONE, false, 0, PHOTOMETRIC_SEPARATED, 8, 4 });
    expect_load_error(cx, "sep.tif", KN_ERROR_FILE, "neither gray nor RGB");
}

static void test_wrong_npy(kn_context *cx)
{
    static const struct {
        const char *dictionary, *message;
    } headers[] = {
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "NumPy type '<c8'" },
        { "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", "a.astype('float32')" },
        { "{'descr': [('r', '|u1')], 'fortran_order': False, 'shape': (1,), }", "records" },
        { "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "True or False" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", "its array takes 16 bytes, 4 are there" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999, 99999, 99999, 99999, 99999, 99999, 99999, 99999), "
          "}",
          "truncated" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "more than 8 dimensions" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999), }", "more than 2147483647 elements" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-1), }", "a number of the shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1", "')' of the shape" },
        { "{'descr': '<f4', 'fortran_order': False}", "is missing" },
        { "{'descr': '<f4', 'order': 'C'}", "unknown entry 'order'" },
        { "['descr']", "'{' is missing" },
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        write_npy(in_folder("n.npy"), 1, headers[i].dictionary, "\0\0\0\0", 4);
        expect_load_error(cx, "n.npy", KN_ERROR_FILE, headers[i].message);
    }
}

static void expect_save_error(kn_context *cx, const char *name, const kn_buffer *b, kn_status status,
                              const char *message)
{
    const int       before = folder_files(false);
    const kn_status got    = kn_image_save(cx, in_folder(name), b);
    CHECK(got == status, "%s: status %d", name, (int)got);
    CHECK(has(kn_error_text(cx), message), "%s: expected \"%s\", got: %s", name, message, kn_error_text(cx));
    CHECK(folder_files(false) == before, "%s: a file was left behind", name);
}

static void test_refused_saves(kn_context *cx)
{
    char          data[4096] = { 0 };
    const int32_t extent[] = { 4, 3, 2, 2 }, empty[] = { 0, 3 };
    kn_buffer     f32 = kn_buffer_dense(data, KN_F32, 2, extent), two = kn_buffer_dense(data, KN_U8, 3, extent);
    kn_buffer     deep = kn_buffer_dense(data, KN_U8, 4, extent), none = kn_buffer_dense(NULL, KN_U8, 2, empty);
    kn_buffer     bf16 = kn_buffer_dense(data, KN_BF16, 2, extent), lost = kn_buffer_dense(NULL, KN_U8, 2, extent);
    expect_save_error(cx, "s.png", &f32, KN_ERROR_ARGUMENT,
                      "a PNG file cannot hold f32 values, only u8, u16; kn_image_convert");
    expect_save_error(cx, "s.jpg", &two, KN_ERROR_ARGUMENT, "cannot hold 2 channels, only 1, 3");
    expect_save_error(cx, "s.png", &deep, KN_ERROR_ARGUMENT, "this buffer has rank 4; a .npy file holds any rank");
    expect_save_error(cx, "s.png", &none, KN_ERROR_ARGUMENT, "zero size");
    expect_save_error(cx, "s.npy", &bf16, KN_ERROR_ARGUMENT, "cannot hold bf16");
    expect_save_error(cx, "s.png", &lost, KN_ERROR_ARGUMENT, "its data is NULL");
    expect_save_error(cx, "s.png", NULL, KN_ERROR_ARGUMENT, "no buffer was given");
    expect_save_error(cx, "s.xyz", &two, KN_ERROR_ARGUMENT, ".png .jpg .jpeg .tif .tiff .pgm .ppm .pnm .pfm .npy");
    expect_save_error(cx, "missing/s.png", &two, KN_ERROR_FILE, "cannot be written: No such file");
    static char     wide[65536];
    const kn_buffer too_wide = kn_buffer_dense(wide, KN_U8, 2, (int32_t[]){ 65536, 1 });
    expect_save_error(cx, "w.jpg", &too_wide, KN_ERROR_FILE, "65500");
    CHECK(kn_image_save(cx, NULL, &two) == KN_ERROR_ARGUMENT && has(kn_error_text(cx), "no path"), "%s",
          kn_error_text(cx));
    CHECK(kn_image_load(cx, NULL, &two) == KN_ERROR_ARGUMENT && has(kn_error_text(cx), "no path"), "%s",
          kn_error_text(cx));
    mkdir(in_folder("d.png"), 0777);
    expect_save_error(cx, "d.png", &two, KN_ERROR_FILE, "cannot be written: Is a directory");
    rmdir(in_folder("d.png"));
}

/* A folder and a file that may not be written. Root may write anywhere. */
static void test_permissions(kn_context *cx)
{
    uint8_t         pixel = 1;
    const kn_buffer b     = kn_buffer_dense(&pixel, KN_U8, 2, (int32_t[]){ 1, 1 });
    if (geteuid() == 0)
        return;
    write_bytes(in_folder("o.png"), "before", 6);
    chmod(in_folder("o.png"), 0444);
    expect_save_error(cx, "o.png", &b, KN_ERROR_FILE, "cannot be written: Permission denied");
    chmod(folder, 0555);
    expect_save_error(cx, "n.png", &b, KN_ERROR_FILE, "cannot be written: Permission denied");
    chmod(folder, 0777);
}

/* A new file has the mode of the one it replaces, and a symbolic link stays one. */
static void test_replacing(kn_context *cx)
{
    uint8_t         pixel = 1;
    struct stat     info;
    const kn_buffer b = kn_buffer_dense(&pixel, KN_U8, 2, (int32_t[]){ 1, 1 });
    write_bytes(in_folder("old.png"), "before", 6);
    chmod(in_folder("old.png"), 0640);
    CHECK(!symlink("old.png", in_folder("link.png")) && !kn_image_save(cx, in_folder("link.png"), &b), "%s",
          kn_error_text(cx));
    CHECK(!lstat(in_folder("link.png"), &info) && S_ISLNK(info.st_mode), "the link is gone");
    CHECK(!lstat(in_folder("old.png"), &info) && (info.st_mode & 07777) == 0640 && info.st_size > 6, "mode %o",
          (unsigned)info.st_mode);
    CHECK(!symlink("new.png", in_folder("dangling.png")) && !kn_image_save(cx, in_folder("dangling.png"), &b), "%s",
          kn_error_text(cx));
    CHECK(!lstat(in_folder("new.png"), &info) && S_ISREG(info.st_mode), "a link that leads nowhere was not followed");
    CHECK(!mkfifo(in_folder("pipe.png"), 0666), "no pipe");
    expect_save_error(cx, "pipe.png", &b, KN_ERROR_FILE, "it is no regular file");
}

/* A disk that fills up: no file may grow beyond `limit` bytes. What was there before stays. */
static void test_full_disk(kn_context *cx)
{
    static const char *const names[]  = { "q.png", "q.tif", "q.ppm", "q.npy", "q.jpg" };
    const int32_t            extent[] = { 200, 200, 3 };
    char                    *memory;
    kn_buffer                b = make_buffer(KN_U8, 3, extent, DENSE, &memory);
    struct rlimit            old;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (rlim_t limit = 0; limit < 40000; limit += 13000) {
            write_bytes(in_folder(names[i]), "before", 6);
            setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, old.rlim_max });
            const int       before = folder_files(false);
            const kn_status got    = kn_image_save(cx, in_folder(names[i]), &b);
            setrlimit(RLIMIT_FSIZE, &old);
            CHECK(got == KN_ERROR_FILE && has(kn_error_text(cx), "cannot be written"), "%s at %d: %d %s", names[i],
                  (int)limit, (int)got, kn_error_text(cx));
            CHECK(folder_files(false) == before, "%s: a file was left behind", names[i]);
            struct stat info;
            CHECK(!stat(in_folder(names[i]), &info) && info.st_size == 6, "%s: the old file is gone", names[i]);
        }
    free(memory);
}

/* ---- Damaged files ---- */

enum { MOST = 16384 };

static size_t read_bytes(const char *path, unsigned char *bytes)
{
    FILE  *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, MOST, f) : 0;
    if (f)
        fclose(f);
    return n;
}

/* Loads a file that may be wrong: there is a picture, or a message that names the file. Returns the status. */
static kn_status load_any(kn_context *cx, const char *name)
{
    kn_buffer       b   = { 0 };
    const kn_status got = kn_image_load(cx, in_folder(name), &b);
    if (got)
        CHECK(!b.data && has(kn_error_text(cx), name), "%s: %d %s", name, (int)got, kn_error_text(cx));
    kn_buffer_free(cx, &b);
    return got;
}

/* Every truncation and thousands of flipped bytes of one good file. */
static void attack(kn_context *cx, const char *name, bool is_text)
{
    static unsigned char good[MOST], bad[MOST];
    const size_t         size = read_bytes(in_folder(name), good);
    CHECK(size > 0 && size < MOST && load_any(cx, name) == KN_OK, "%s: %s", name, kn_error_text(cx));
    for (size_t n = 0; n < size; n++) {
        write_bytes(in_folder("x"), good, n);
        const kn_status got = load_any(cx, "x");
        CHECK(got || is_text, "%s cut to %zu of %zu bytes was taken", name, n, size);
    }
    uint64_t state = 362436069;
    for (int i = 0; i < 3000; i++) {
        memcpy(bad, good, size);
        for (uint64_t flips = random_next(&state) % 3 + 1; flips > 0; flips--) {
            const uint64_t r = random_next(&state);
            bad[r % (i % 2 && size > 128 ? 128 : size)] ^= (unsigned char)(r >> 32 & 1 ? 1u << (r >> 40 & 7) : r >> 40);
        }
        write_bytes(in_folder("x"), bad, size);
        load_any(cx, "x");
    }
    remove(in_folder(name));
}

static void save_noise(kn_context *cx, const char *name, kn_type type, int channels)
{
    const int32_t extent[] = { 9, 6, channels };
    char         *memory;
    kn_buffer     b = make_buffer(type, channels == 1 ? 2 : 3, extent, DENSE, &memory);
    CHECK(kn_image_save(cx, in_folder(name), &b) == KN_OK, "%s", kn_error_text(cx));
    free(memory);
}

static void test_damaged(void)
{
    kn_context *cx = kn_context_new(&(kn_config){ .memory_limit = 16 << 20 });
    save_noise(cx, "a.png", KN_U16, 3);
    attack(cx, "a.png", false);
    unsigned char rows[9 * 6 * 3];
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (unsigned char)(i * 7);
    write_png(in_folder("b.png"), 9, 6, 8, PNG_COLOR_TYPE_RGB, true, rows, NULL, 0);
    attack(cx, "b.png", false);
    const png_color palette[] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
    write_png(in_folder("c.png"), 9, 6, 2, PNG_COLOR_TYPE_PALETTE, false,
              (const unsigned char *)"\0\1\2\0\1\2\0\1\2\0\1\2\0\1\2\0\1\2", palette, 3);
    attack(cx, "c.png", false);
    save_noise(cx, "a.jpg", KN_U8, 3);
    attack(cx, "a.jpg", false);
    write_jpeg(in_folder("p.jpg"), 20, 20, 1, JCS_GRAYSCALE, true);
    attack(cx, "p.jpg", false);
    save_noise(cx, "a.tif", KN_F32, 3);
    attack(cx, "a.tif", false);
    write_tiff(in_folder("b.tif"), 19, 21, (TiffKind){ "w", COMPRESSION_LZW, true, 16, PHOTOMETRIC_RGB, 16, 3 });
    attack(cx, "b.tif", false);
    write_tiff(in_folder("c.tif"), 19, 21,
               (TiffKind){ "wb", COMPRESSION_ADOBE_DEFLATE, false, 0, PHOTOMETRIC_MINISBLACK, 8, 2 });
    attack(cx, "c.tif", false);
    write_tiff(in_folder("d.tif"), 19, 21, (TiffKind){ "w8", COMPRESSION_JPEG, false, 16, PHOTOMETRIC_RGB, 8, 3 });
    attack(cx, "d.tif", false);
    save_noise(cx, "a.ppm", KN_U8, 3);
    attack(cx, "a.ppm", false);
    write_bytes(in_folder("t.pgm"), "P2 # text\n3 2 200\n1 2 3\n4 5 6\n", 31);
    attack(cx, "t.pgm", true);
    save_noise(cx, "a.pfm", KN_F32, 1);
    attack(cx, "a.pfm", false);
    save_noise(cx, "a.npy", KN_I16, 4);
    attack(cx, "a.npy", false);
    kn_context_free(cx);
}

/* ---- Headers that lie ---- */

static size_t most_memory, memory_now;

static void *counted_allocate(void *user, size_t size)
{
    size_t *block = malloc(size + 64);
    (void)user;
    if (!block)
        return NULL;
    *block = size;
    memory_now += size;
    most_memory = memory_now > most_memory ? memory_now : most_memory;
    return block + 8;
}

static void counted_release(void *user, void *block)
{
    (void)user;
    if (block) {
        memory_now -= ((size_t *)block)[-8];
        free((size_t *)block - 8);
    }
}

/* Loads a file whose header promises what it does not have: refused, with little memory asked for, and little used by
 * libraries that ask elsewhere. */
static void expect_refused(const char *name)
{
    enum { MOST_ASKED = 1 << 20, MOST_RESIDENT_KB = 64 << 10 };
    struct rusage before, after;
    kn_context   *cx    = kn_context_new(&(kn_config){ .allocate = counted_allocate, .release = counted_release });
    const size_t  begin = most_memory = memory_now;
    getrusage(RUSAGE_SELF, &before);
    CHECK(load_any(cx, name) != KN_OK, "%s was taken", name);
    getrusage(RUSAGE_SELF, &after);
    CHECK(most_memory - begin < MOST_ASKED, "%s: %zu bytes were asked for", name, most_memory - begin);
    CHECK(after.ru_maxrss - before.ru_maxrss < MOST_RESIDENT_KB, "%s: %ld KB were used", name,
          after.ru_maxrss - before.ru_maxrss);
    kn_context_free(cx);
    remove(in_folder(name));
}

/* Puts a number of `count` bytes, big endian, into a file at `at`. */
static void patch(unsigned char *bytes, size_t at, uint32_t value, int count)
{
    for (int i = 0; i < count; i++)
        bytes[at + (size_t)i] = (unsigned char)(value >> 8 * (count - 1 - i));
}

/* PNG: width and height of every colour type and depth. */
static void test_lying_png(kn_context *cx)
{
    static const uint32_t sizes[][2] = {
        { 2147483647, 1 }, { 1, 2147483647 }, { 1000000, 1000000 }, { 2147483647, 2147483647 }
    };
    static unsigned char bytes[MOST];
    (void)cx;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int interlaced = 0; interlaced < 2; interlaced++) {
            write_png(in_folder("h.png"), 1, 1, 1, PNG_COLOR_TYPE_GRAY, interlaced, (const unsigned char *)"\x80", NULL,
                      0);
            const size_t size = read_bytes(in_folder("h.png"), bytes);
            patch(bytes, 16, sizes[i][0], 4);
            patch(bytes, 20, sizes[i][1], 4);
            patch(bytes, 29, png_checksum(bytes + 12, 17), 4);
            write_bytes(in_folder("h.png"), bytes, size);
            expect_refused("h.png");
        }
}

/* JPEG: the frame of a sequential, a progressive and an arithmetic file. */
static void test_lying_jpeg(kn_context *cx)
{
    static unsigned char bytes[MOST];
    (void)cx;
    for (int kind = 0; kind < 3; kind++) {
        write_jpeg(in_folder("h.jpg"), 8, 8, 3, JCS_RGB, kind == 1);
        const size_t size = read_bytes(in_folder("h.jpg"), bytes);
        size_t       at   = 2;
        while (at + 9 < size && !(bytes[at] == 0xFF && (bytes[at + 1] == 0xC0 || bytes[at + 1] == 0xC2)))
            at++;
        bytes[at + 1] = kind == 2 ? 0xC9 : bytes[at + 1];
        patch(bytes, at + 5, 65500, 2);
        patch(bytes, at + 7, 65500, 2);
        write_bytes(in_folder("h.jpg"), bytes, size);
        expect_refused("h.jpg");
    }
}

/* TIFF: its tags; NPY, PGM and PFM: what they say in words. */
static void test_lying_headers(kn_context *cx)
{
    static const uint32_t    tags[]  = { TIFFTAG_IMAGEWIDTH, TIFFTAG_IMAGELENGTH, TIFFTAG_ROWSPERSTRIP };
    static const int         codes[] = { COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE };
    static const char *const texts[] = { "P5 2000000000 2000000000 255\nxx", "P2 50000 50000 255\n1 2",
                                         "P6 60000 60000 65535\nxx", "PF 60000 60000 -1.0\nxx",
                                         "Pf 2147483647 1 1.0\nxx" };
    (void)cx;
    for (size_t c = 0; c < 3; c++)
        for (int which = 1; which < 8; which++) {
            write_tiff(in_folder("h.tif"), 4, 4, (TiffKind){ "w", codes[c], false, 0, PHOTOMETRIC_RGB, 8, 3 });
            TIFF *t = TIFFOpen(in_folder("h.tif"), "r+");
            for (int i = 0; i < 3; i++)
                if (which >> i & 1)
                    TIFFSetField(t, tags[i], i == 2 ? 1u : 2000000000u);
            TIFFRewriteDirectory(t);
            TIFFClose(t);
            if (which != 4)
                expect_refused("h.tif");
        }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_bytes(in_folder("h.pnm"), texts[i], strlen(texts[i]));
        expect_refused("h.pnm");
    }
    write_npy(in_folder("h.npy"), 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2147483647, 2147483647), }",
              "\0\0\0\0", 4);
    expect_refused("h.npy");
    write_npy(in_folder("h.npy"), 2, "{'descr': '<f8', 'fortran_order': False, 'shape': (2147483647,), }", "\0\0\0\0",
              4);
    expect_refused("h.npy");
}

/* ---- Values ---- */

static void test_summaries(kn_context *cx)
{
    const float    real[] = { 3, NAN, -2.5f, 7 };
    const uint64_t wide[] = { UINT64_MAX, 1, UINT64_MAX - 1 };
    const int32_t  four[] = { 4 };
    kn_buffer      f      = kn_buffer_dense((void *)(uintptr_t)real, KN_F32, 1, four);
    kn_buffer      u      = kn_buffer_dense((void *)(uintptr_t)wide, KN_U64, 1, (int32_t[]){ 3 });
    kn_summary     s;
    CHECK(!kn_summarize(cx, &f, &s) && s.count == 3 && s.nans == 1 && s.min.as.f == -2.5 && s.max.as.f == 7 &&
              s.mean == 2.5,
          "%g", s.mean);
    CHECK(!kn_summarize(cx, &u, &s) && s.count == 3 && s.min.as.i == 1 && (uint64_t)s.max.as.i == UINT64_MAX, "%lld",
          (long long)s.max.as.i);
    f.dim[0].extent = 0;
    CHECK(!kn_summarize(cx, &f, &s) && s.count == 0 && s.nans == 0, "an empty buffer has no numbers");
    CHECK(kn_summarize(cx, &f, NULL) == KN_ERROR_ARGUMENT, "%s", kn_error_text(cx));
}

/* Large enough for several threads, with gaps and the rows from the last to the first: values, the first that does not
 * fit, the first of the largest differences. */
static void test_large(kn_context *cx)
{
    enum { WIDTH = 1500, HEIGHT = 1100, PITCH = WIDTH + 3 };
    int32_t  *data = calloc((size_t)PITCH * HEIGHT, sizeof *data);
    kn_buffer b    = { .data = data + PITCH * (HEIGHT - 1),
                       .type = KN_I32,
                       .rank = 2,
                       .dim  = { { 0, WIDTH, 1 }, { 0, HEIGHT, -PITCH } } },
              to   = { 0 };
    const char *note;
    int         bad = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        data[PITCH * (HEIGHT - 1 - i / WIDTH) + i % WIDTH] = i % 65536;
    CHECK(!kn_image_convert(cx, &b, KN_RANGE_FULL, KN_U16, 2, &to, &note), "%s", kn_error_text(cx));
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        bad += ((uint16_t *)to.data)[i] != i % 65536;
    CHECK(!bad, "%d values differ", bad);
    kn_summary s;
    CHECK(!kn_summarize(cx, &to, &s) && s.count == WIDTH * HEIGHT && s.min.as.i == 0 && s.max.as.i == 65535, "%d",
          (int)s.max.as.i);
    kn_buffer     copy = to;
    kn_difference d;
    copy.data = memcpy(malloc(2 * WIDTH * HEIGHT), to.data, 2 * WIDTH * HEIGHT);
    ((uint16_t *)copy.data)[700 * WIDTH + 5] ^= 1;
    ((uint16_t *)copy.data)[1000 * WIDTH + 7] ^= 1;
    CHECK(!kn_compare(cx, &to, &copy, 0, 0, &d) && d.beyond == 2 && d.where[0] == 5 && d.where[1] == 700, "(%d, %d)",
          d.where[0], d.where[1]);
    kn_buffer_free(cx, &to);
    data[PITCH * (HEIGHT - 1 - 900)] = 70002;
    data[PITCH * (HEIGHT - 1 - 500)] = 70001;
    CHECK(kn_image_convert(cx, &b, KN_RANGE_FULL, KN_U16, 2, &to, &note) &&
              has(kn_error_text(cx), "the i32 value 70001"),
          "%s", kn_error_text(cx));
    free(copy.data);
    free(data);
}

/* Every half and every bf16, to f32 and back, and through doubles that lie between two of them. */
static void test_short_floats(kn_context *cx)
{
    static uint16_t bits[65536];
    static const struct {
        kn_type type;
        int     nan; /* bits beyond these are no number */
    } kinds[] = { { KN_F16, 0x7C00 }, { KN_BF16, 0x7F80 } };
    for (int i = 0; i < 65536; i++)
        bits[i] = (uint16_t)i;
    for (size_t k = 0; k < 2; k++) {
        kn_buffer   from = kn_buffer_dense(bits, kinds[k].type, 2, (int32_t[]){ 256, 256 }), wide = { 0 }, back = { 0 };
        const char *note;
        CHECK(!kn_image_convert(cx, &from, KN_RANGE_FULL, KN_F64, 2, &wide, &note), "%s", kn_error_text(cx));
        CHECK(!kn_image_convert(cx, &wide, KN_RANGE_FULL, kinds[k].type, 2, &back, &note), "%s", kn_error_text(cx));
        int bad = 0;
        for (int i = 0; i < 65536; i++)
            bad += ((uint16_t *)back.data)[i] != i && (i & 0x7FFF) <= kinds[k].nan;
        CHECK(!bad, "%s: %d are not the same after a double", kn_type_name(kinds[k].type), bad);
        /* Half way between two neighbours the even one is taken, a little above the larger. */
        double *v = wide.data;
        for (int i = 0; i < kinds[k].nan - 1; i++) {
            const double middle = (v[i] + v[i + 1]) / 2;
            v[i]                = i % 2 ? middle : nextafter(middle, INFINITY);
        }
        kn_buffer_free(cx, &back);
        CHECK(!kn_image_convert(cx, &wide, KN_RANGE_FULL, kinds[k].type, 2, &back, &note), "%s", kn_error_text(cx));
        for (int i = 0; i < kinds[k].nan - 1; i++)
            bad += ((uint16_t *)back.data)[i] != i + 1;
        CHECK(!bad, "%s: %d are rounded another way", kn_type_name(kinds[k].type), bad);
        kn_buffer_free(cx, &wide);
        kn_buffer_free(cx, &back);
    }
}

/* ---- No memory ---- */

static int allocations_left;

static void *scarce_allocate(void *user, size_t size)
{
    (void)user;
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static void scarce_release(void *user, void *block)
{
    (void)user;
    free(block);
}

/* Fails every single allocation in turn, on load and on save. */
static void test_no_memory(kn_context *cx)
{
    static const char *const names[] = { "m.png", "m.jpg", "m.tif", "m.ppm", "m.npy" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        save_noise(cx, names[i], KN_U8, 3);
        bool loaded = false;
        for (int n = 0; n < 60; n++) {
            allocations_left = n;
            kn_context *poor = kn_context_new(&(kn_config){ .allocate = scarce_allocate, .release = scarce_release });
            kn_buffer   b    = { 0 };
            if (poor && !kn_image_load(poor, in_folder(names[i]), &b)) {
                loaded = true;
                kn_image_save(poor, in_folder(names[i]), &b);
            }
            kn_context_free(poor);
        }
        CHECK(loaded, "%s was never loaded", names[i]);
    }
    CHECK(folder_files(false) == 5, "%d files are left", folder_files(false));
    kn_context   *small    = kn_context_new(&(kn_config){ .memory_limit = 400000 });
    const int32_t extent[] = { 1000, 300 };
    char         *memory;
    kn_buffer     b = make_buffer(KN_U8, 2, extent, DENSE, &memory), back = { 0 };
    memset(b.data, 7, 300000);
    CHECK(!kn_image_save(small, in_folder("m.png"), &b), "%s", kn_error_text(small));
    const kn_status got = kn_image_load(small, in_folder("m.png"), &back);
    CHECK(got == KN_ERROR_LIMIT && has(kn_error_text(small), "out of memory"), "%d %s", (int)got, kn_error_text(small));
    write_jpeg(in_folder("m.jpg"), 400, 300, 3, JCS_RGB, true);
    CHECK(kn_image_load(small, in_folder("m.jpg"), &back) == KN_ERROR_LIMIT &&
              has(kn_error_text(small), "out of memory"),
          "the coefficients of a progressive JPEG: %s", kn_error_text(small));
    free(memory);
    kn_context_free(small);
}

int main(int argc, char **argv)
{
    const char *base = argc > 1 ? argv[1] : getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(folder, sizeof folder, "%s/kiln-image-XXXXXX", base);
    if (!mkdtemp(folder)) {
        printf("%s: no folder can be made here\n", base);
        return 1;
    }
    TIFFSetWarningHandler(NULL);
    static void (*const tests[])(kn_context *) = {
        test_round_trips,   test_npy_ranks,     test_jpeg,        test_other_png,     test_other_tiff,
        test_other_text,    test_other_npy,     test_other_jpeg,  test_tiff_warnings, test_pipe,
        test_orientations,  test_alpha,         test_replacing,   test_lying_png,     test_lying_jpeg,
        test_lying_headers, test_summaries,     test_large,       test_short_floats,  test_wrong_files,
        test_wrong_npy,     test_refused_saves, test_permissions, test_full_disk,     test_no_memory
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        kn_context *cx = kn_context_new(NULL);
        tests[i](cx);
        kn_context_free(cx);
        folder_files(true);
    }
    test_damaged();
    folder_files(true);
    rmdir(folder);
    return check_done();
}
