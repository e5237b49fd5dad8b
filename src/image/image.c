/* Image files: the table of formats, loading by content, saving by ending. */
#include "image/image.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const ImageFormat *const formats[] = {
    &png_format, &jpeg_format, &tiff_format, &pgm_format, &ppm_format, &pnm_format, &pfm_format, &npy_format,
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Files that look like images but are none of ours, by how they begin. */
static const struct {
    const char *magic, *name;
} strangers[] = {
    { "GIF8", "a GIF file" },         { "BM", "a BMP file" },        { "RIFF", "a RIFF file, perhaps WebP" },
    { "P1", "a PBM bitmap" },         { "P4", "a PBM bitmap" },      { "P7", "a PAM file" },
    { "PK", "a ZIP or NPZ archive" }, { "\x89HDF", "an HDF5 file" }, { "#?", "an HDR file" },
    { "v/1\x01", "an OpenEXR file" },
};
enum { STRANGERS = sizeof strangers / sizeof *strangers };

/* ---- What decoders and encoders call ---- */

static void set_reason(char *why, const char *format, va_list args)
{
    if (!why[0])
        vsnprintf(why, REASON, format, args);
}

bool load_fail(Load *load, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_reason(load->why, format, args);
    va_end(args);
    return false;
}

bool save_fail(Save *save, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_reason(save->why, format, args);
    va_end(args);
    return false;
}

void load_note(Load *load, const char *format, ...)
{
    size_t n = strlen(load->note);
    if (n && n + 3 < REASON)
        n += (size_t)snprintf(load->note + n, REASON - n, "; ");
    va_list args;
    va_start(args, format);
    vsnprintf(load->note + n, REASON - n, format, args);
    va_end(args);
}

bool load_allocate(Load *load)
{
    if (buffer_allocate_at(load->cx, &load->image, load->slot))
        return true;
    load->status = KN_ERROR_LIMIT;
    return load_fail(load, "out of memory: its %lld elements of %s are more than this context may still use",
                     (long long)buffer_count(&load->image), kn_type_name(load->image.type));
}

bool load_picture(Load *load, kn_type type, uint64_t width, uint64_t height, uint64_t channels, double least)
{
    if (!width || !height || !channels)
        return load_fail(load, "the picture has zero size: %llu x %llu pixels of %llu channels",
                         (unsigned long long)width, (unsigned long long)height, (unsigned long long)channels);
    if (width > INT32_MAX || height > INT32_MAX || channels > INT32_MAX || least > (double)load->size)
        return load_fail(load,
                         "the file is truncated or damaged: its header promises %llu x %llu pixels of %llu channels, "
                         "more than its %zu bytes can hold",
                         (unsigned long long)width, (unsigned long long)height, (unsigned long long)channels,
                         load->size);
    load->image               = (kn_buffer){ .type = type, .rank = channels == 1 ? 2 : 3 };
    load->image.dim[0].extent = (int32_t)width;
    load->image.dim[1].extent = (int32_t)height;
    load->image.dim[2].extent = channels == 1 ? 0 : (int32_t)channels;
    if ((double)width * (double)height * (double)channels * 8 > (double)INT64_MAX)
        return load_fail(load, "the picture is larger than the address space");
    return load_allocate(load);
}

void *load_scratch(Load *load, size_t count, size_t size)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes))
        load->scratch = context_allocate(load->cx, bytes);
    if (!load->scratch) {
        load->status = KN_ERROR_LIMIT;
        load_fail(load, "out of memory: decoding it takes more than this context may still use");
    }
    return load->scratch;
}

#define COPY_STRIDED(T)                 \
    for (int64_t i = 0; i < count; i++) \
        memcpy(to + i * to_step, from + i * from_step, sizeof(T))

/* Copies elements of `size` bytes; the steps are in bytes. */
static void copy_strided(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count, size_t size)
{
    switch (size) {
    case 1: COPY_STRIDED(uint8_t); break;
    case 2: COPY_STRIDED(uint16_t); break;
    case 4: COPY_STRIDED(uint32_t); break;
    default: COPY_STRIDED(uint64_t); break;
    }
}

void picture_put(const kn_buffer *image, int32_t x, int32_t y, int32_t channel, int32_t channels, int32_t count,
                 const void *pixels)
{
    const size_t size = kn_type_size(image->type);
    for (int32_t c = 0; c < channels; c++)
        copy_strided(buffer_address(image, (int32_t[]){ x, y, channel + c }), image->dim[0].stride * (int64_t)size,
                     (const char *)pixels + (size_t)c * size, channels * (int64_t)size, count, size);
}

void *picture_row(Save *save, int32_t y)
{
    const kn_buffer *image = save->image;
    const size_t     size  = kn_type_size(image->type);
    for (int32_t c = 0; c < save->channels; c++)
        copy_strided((char *)save->scratch + (size_t)c * size, save->channels * (int64_t)size,
                     buffer_address(image, (int32_t[]){ 0, y, c }), image->dim[0].stride * (int64_t)size, save->width,
                     size);
    return save->scratch;
}

bool save_write(Save *save, const void *bytes, size_t size)
{
    if (!size || fwrite(bytes, 1, size, save->file) == size)
        return true;
    return save_fail(save, "%s", strerror(errno));
}

void swap_bytes(void *elements, size_t count, size_t size)
{
    unsigned char *at = elements;
    for (size_t i = 0; i < count && size > 1; i++, at += size)
        for (size_t a = 0, b = size - 1; a < b; a++, b--) {
            const unsigned char t = at[a];
            at[a]                 = at[b];
            at[b]                 = t;
        }
}

/* ---- Loading ---- */

/* Reads until the end of the file, into memory that doubles. */
static bool read_all(Load *load, int file, size_t capacity)
{
    unsigned char *bytes = context_allocate(load->cx, capacity);
    for (;;) {
        load->bytes = bytes;
        if (!bytes) {
            load->status = KN_ERROR_LIMIT;
            return load_fail(load, "out of memory: the file is larger than what this context may still use");
        }
        ssize_t n;
        while (load->size < capacity && (n = read(file, bytes + load->size, capacity - load->size)) != 0) {
            if (n < 0 && errno != EINTR)
                return load_fail(load, "cannot be read: %s", strerror(errno));
            load->size += n < 0 ? 0 : (size_t)n;
        }
        if (load->size < capacity)
            return true;
        unsigned char *more = capacity <= SIZE_MAX / 2 ? context_allocate(load->cx, capacity * 2) : NULL;
        if (more)
            memcpy(more, bytes, capacity);
        context_release(load->cx, bytes);
        bytes = more;
        capacity *= 2;
    }
}

static bool read_file(Load *load)
{
    struct stat info;
    const int   file = open(load->path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return load_fail(load, "cannot be opened: %s", strerror(errno));
    bool ok;
    if (fstat(file, &info))
        ok = load_fail(load, "cannot be read: %s", strerror(errno));
    else if (S_ISDIR(info.st_mode))
        ok = load_fail(load, "is a folder, not an image file");
    else
        ok = read_all(load, file, S_ISREG(info.st_mode) && info.st_size > 0 ? (size_t)info.st_size + 1 : 4096);
    close(file);
    return ok;
}

static bool decode(Load *load)
{
    if (!load->size)
        return load_fail(load, "the file is empty (0 bytes)");
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i]->recognizes && formats[i]->recognizes(load->bytes, load->size))
            return formats[i]->decode(load);
    const char *looks = "no image file";
    for (size_t i = 0; i < STRANGERS; i++)
        if (load->size >= strlen(strangers[i].magic) &&
            !memcmp(load->bytes, strangers[i].magic, strlen(strangers[i].magic)))
            looks = strangers[i].name;
    return load_fail(load, "is %s; Kiln reads PNG, JPEG, TIFF, PGM, PPM, PFM and NPY", looks);
}

static void load_run(void *arg)
{
    Load *load = arg;
    if (!load->path) {
        diag_status(load->cx, KN_ERROR_ARGUMENT, "kn_image_load: no path was given (NULL)");
        return;
    }
    load->slot = buffer_reserve(load->cx);
    if (!read_file(load) || !decode(load))
        diag_status(load->cx, load->status, "%s: %s", load->path, load->why);
    else if (load->note[0])
        diag_warning(load->cx, WARN_IMAGE, (Loc){ 0 }, NULL, "%s: %s", load->path, load->note);
}

kn_status kn_image_load(kn_context *cx, const char *path, kn_buffer *b)
{
    if (!cx || !b)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    Load load = { .cx = cx, .path = path, .status = KN_ERROR_FILE };
    context_try(cx, load_run, &load);
    context_release(cx, (void *)(uintptr_t)load.bytes);
    context_release(cx, load.scratch);
    if (cx->status)
        buffer_release(cx, &load.image);
    else
        *b = load.image;
    return cx->status;
}

/* ---- Saving ---- */

const ImageFormat *format_of_path(kn_context *cx, const char *path)
{
    const size_t n = strlen(path);
    for (size_t i = 0; i < FORMATS; i++)
        for (size_t e = 0; e < 3 && formats[i]->endings[e]; e++) {
            const size_t length = strlen(formats[i]->endings[e]);
            if (n > length && !strcasecmp(path + n - length, formats[i]->endings[e]))
                return formats[i];
        }
    Text list;
    text_init(&list, &cx->call);
    for (size_t i = 0; i < FORMATS; i++)
        for (size_t e = 0; e < 3 && formats[i]->endings[e]; e++)
            text_printf(&list, " %s", formats[i]->endings[e]);
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

/* Whether the format holds the buffer as it is. */
static bool check_format(Save *save, const ImageFormat *format)
{
    kn_context      *cx = save->cx;
    const kn_buffer *b  = save->image;
    if (!(format->types & TYPE_BIT(b->type))) {
        diag_status(cx, KN_ERROR_ARGUMENT,
                    "%s: a %s file cannot hold %s values, only %s; kn_image_convert (or `kiln run`) converts them",
                    save->path, format->name, kn_type_name(b->type), type_words(cx, format));
        return false;
    }
    if (format->any_rank)
        return true;
    if (b->rank != 2 && b->rank != 3) {
        diag_status(
            cx, KN_ERROR_ARGUMENT,
            "%s: a %s file holds a picture of rank 2 (x, y) or 3 (x, y, c), this buffer has rank %d; a .npy file "
            "holds any rank",
            save->path, format->name, b->rank);
        return false;
    }
    if (!buffer_count(b)) {
        diag_status(cx, KN_ERROR_ARGUMENT, "%s: a %s file cannot hold a picture of zero size; a .npy file can",
                    save->path, format->name);
        return false;
    }
    if (save->channels > 63 || !(format->channels >> save->channels & 1)) {
        diag_status(
            cx, KN_ERROR_ARGUMENT,
            "%s: a %s file cannot hold %d channels, only %s; kn_image_convert makes one of three, and a .npy file "
            "holds any number",
            save->path, format->name, save->channels, channel_words(cx, format));
        return false;
    }
    return true;
}

/* A new file beside the target. Its name is in `temporary`, which has room for the target's folder and 64 more. */
static FILE *open_beside(Save *save, char *temporary, size_t folder)
{
    int file = -1;
    for (int i = 0; i < 1000 && file < 0; i++) {
        snprintf(temporary + folder, 64, ".kiln-%ld-%d.tmp", (long)getpid(), i);
        file = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST)
            break;
    }
    FILE *stream = file < 0 ? NULL : fdopen(file, "w+b");
    if (stream)
        return stream;
    save_fail(save, "%s", strerror(errno));
    if (file >= 0) {
        close(file);
        unlink(temporary);
    }
    return NULL;
}

/* Encodes to a temporary file and renames it, so that the target is whole or as it was before. */
static bool write_whole(Save *save, const ImageFormat *format, char *temporary, size_t folder)
{
    if (access(save->path, F_OK) == 0 && access(save->path, W_OK) != 0)
        return save_fail(save, "%s", strerror(errno));
    save->file = open_beside(save, temporary, folder);
    if (!save->file)
        return false;
    bool ok = format->encode(save);
    if (fclose(save->file) && ok)
        ok = save_fail(save, "%s", strerror(errno));
    if (ok && rename(temporary, save->path))
        ok = save_fail(save, "%s", strerror(errno));
    if (!ok)
        unlink(temporary);
    return ok;
}

static void save_run(void *arg)
{
    Save            *save = arg;
    kn_context      *cx   = save->cx;
    const kn_buffer *b    = save->image;
    if (!save->path) {
        diag_status(cx, KN_ERROR_ARGUMENT, "kn_image_save: no path was given (NULL)");
        return;
    }
    if (buffer_check(cx, b, save->path, false))
        return;
    save->width               = b->rank > 0 ? b->dim[0].extent : 1;
    save->height              = b->rank > 1 ? b->dim[1].extent : 1;
    save->channels            = b->rank > 2 ? b->dim[2].extent : 1;
    const ImageFormat *format = format_of_path(cx, save->path);
    if (!format || !check_format(save, format))
        return;
    const char  *slash     = strrchr(save->path, '/');
    const size_t folder    = slash ? (size_t)(slash - save->path) + 1 : 0;
    char        *temporary = arena_alloc(&cx->call, folder + 64);
    memcpy(temporary, save->path, folder);
    if (!format->any_rank)
        save->scratch = arena_array(&cx->call, (size_t)save->width * (size_t)save->channels, kn_type_size(b->type));
    if (!write_whole(save, format, temporary, folder))
        diag_status(cx, KN_ERROR_FILE, "%s: cannot be written: %s", save->path, save->why);
}

kn_status kn_image_save(kn_context *cx, const char *path, const kn_buffer *b)
{
    if (!cx)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    Save save = { .cx = cx, .path = path, .image = b };
    context_try(cx, save_run, &save);
    return cx->status;
}
