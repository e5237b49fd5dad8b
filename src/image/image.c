/* SPDX-License-Identifier: MIT */
/* Image files: the table of formats, by content, by ending, and what each holds. */
#include "image/image.h"
#include "base/text.h"

#include <strings.h>

static const ImageFormat *const formats[] = {
#define X(name) &name##_format,
    IMAGE_FORMATS(X)
#undef X
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Other formats, by their magic bytes, for the message. */
static const struct {
    const char *magic, *name;
} other_formats[] = {
    { "GIF8", "a GIF file" },         { "BM", "a BMP file" },        { "RIFF", "a RIFF file, perhaps WebP" },
    { "P1", "a PBM bitmap" },         { "P4", "a PBM bitmap" },      { "P7", "a PAM file" },
    { "PK", "a ZIP or NPZ archive" }, { "\x89HDF", "an HDF5 file" }, { "#?", "an HDR file" },
    { "v/1\x01", "an OpenEXR file" },
};
enum { OTHER_FORMATS = sizeof other_formats / sizeof *other_formats };

kn_image_format kn_image_format_get(int index)
{
    const bool there = index >= 0 && index < (int)FORMATS;
    return there ? (kn_image_format){ formats[index]->name, formats[index]->endings } : (kn_image_format){ NULL, NULL };
}

/* "PNG, JPEG and NPY": those that can be read. */
static const char *format_words(char *words, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < FORMATS && n < size; i++)
        n += (size_t)snprintf(words + n, size - n, "%s%s",
                              i == 0            ? ""
                              : i + 1 < FORMATS ? ", "
                                                : " and ",
                              formats[i]->name);
    return words;
}

const ImageFormat *format_of_content(Load *load)
{
    if (!load->had) {
        load_fail(load, "the file is empty (0 bytes)");
        return NULL;
    }
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i]->recognizes && formats[i]->recognizes(load->bytes, load->had))
            return formats[i];
    const char *looks = "no image file";
    char        words[REASON];
    for (size_t i = 0; i < OTHER_FORMATS; i++)
        if (load->had >= strlen(other_formats[i].magic) &&
            !memcmp(load->bytes, other_formats[i].magic, strlen(other_formats[i].magic)))
            looks = other_formats[i].name;
    load_fail(load, "is %s; Kiln reads %s", looks, format_words(words, sizeof words));
    return NULL;
}

/* Whether the path ends in one of the endings, which have spaces between them. */
static bool ends_in(const char *path, const char *endings)
{
    const size_t n = strlen(path);
    for (const char *e = endings; *e; e += strspn(e, " ")) {
        const size_t length = strcspn(e, " ");
        if (n > length && !strncasecmp(path + n - length, e, length))
            return true;
        e += length;
    }
    return false;
}

const ImageFormat *format_of_path(kn_context *cx, const char *path)
{
    Text list;
    text_init(&list, &cx->call);
    for (size_t i = 0; i < FORMATS; i++) {
        if (ends_in(path, formats[i]->endings))
            return formats[i];
        text_printf(&list, " %s", formats[i]->endings);
    }
    diag_status(cx, KN_ERROR_ARGUMENT, "%s: its ending names no image format; the endings are%s", path,
                text_string(&list));
    return NULL;
}

/* "u8, u16" */
static const char *type_words(kn_context *cx, const ImageFormat *format)
{
    Text list;
    text_init(&list, &cx->call);
    for (int t = KN_NONE + 1; t < KN_TYPE_COUNT; t++)
        if (format->types & TYPE_BIT(t))
            text_printf(&list, "%s%s", list.count ? ", " : "", kn_type_name((kn_type)t));
    return text_string(&list);
}

/* "1, 2, 3, 4", or "1 to 63". */
static const char *channel_words(kn_context *cx, const ImageFormat *format)
{
    Text list;
    text_init(&list, &cx->call);
    int most = 0;
    for (int n = 1; n < 64; n++)
        if (format->channels >> n & 1) {
            text_printf(&list, "%s%d", list.count ? ", " : "", n);
            most = n;
        }
    return most > 4 ? arena_printf(&cx->call, "1 to %d", most) : text_string(&list);
}

bool format_holds(kn_context *cx, const char *path, const ImageFormat *format, const kn_buffer *b)
{
    const int channels = b->rank > 2 ? b->dim[2].extent : 1;
    if (!(format->types & TYPE_BIT(b->type)))
        return diag_status(
                   cx, KN_ERROR_ARGUMENT,
                   "%s: a %s file cannot hold %s values, only %s; kn_image_convert (or `kiln run`) converts them", path,
                   format->name, kn_type_name(b->type), type_words(cx, format)) == KN_OK;
    if (format->any_rank)
        return true;
    if (b->rank != 2 && b->rank != 3)
        return diag_status(cx, KN_ERROR_ARGUMENT,
                           "%s: a %s file holds a picture of rank 2 (x, y) or 3 (x, y, c), this buffer has rank %d; a "
                           ".npy file holds any rank",
                           path, format->name, b->rank) == KN_OK;
    if (!buffer_count(b))
        return diag_status(cx, KN_ERROR_ARGUMENT, "%s: a %s file cannot hold a picture of zero size; a .npy file can",
                           path, format->name) == KN_OK;
    if (channels > 63 || !(format->channels >> channels & 1))
        return diag_status(cx, KN_ERROR_ARGUMENT,
                           "%s: a %s file cannot hold %d channels, only %s; kn_image_convert makes one of three, and a "
                           ".npy file holds any number",
                           path, format->name, channels, channel_words(cx, format)) == KN_OK;
    return true;
}

#define SWAP(T, swap)                                                                                                  \
    for (size_t i = 0; i < count; i++)                                                                                 \
    ((T *)elements)[i] = swap(((T *)elements)[i])

void swap_bytes(void *elements, size_t count, size_t size)
{
    switch (size) {
    case 2: SWAP(uint16_t, __builtin_bswap16); break;
    case 4: SWAP(uint32_t, __builtin_bswap32); break;
    case 8: SWAP(uint64_t, __builtin_bswap64); break;
    default: break;
    }
}
