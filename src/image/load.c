/* SPDX-License-Identifier: MIT */
/* Loading an image file: its format is recognized by content, it is read once, decoded and oriented. */
#include "image/image.h"
#include "image/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- What decoders call ---- */

bool load_fail(Load *load, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!load->why[0])
        vsnprintf(load->why, REASON, format, args);
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

bool load_plausible(Load *load, uint64_t width, uint64_t height, uint64_t channels, double least)
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
    if ((double)width * (double)height * (double)channels * 8 > (double)INT64_MAX)
        return load_fail(load, "the picture is larger than the address space");
    return true;
}

bool load_picture(Load *load, kn_type type, uint64_t width, uint64_t height, uint64_t channels, double least)
{
    if (!load_plausible(load, width, height, channels, least))
        return false;
    load->image               = (kn_buffer){ .type = type, .rank = channels == 1 ? 2 : 3 };
    load->image.dim[0].extent = (int32_t)width;
    load->image.dim[1].extent = (int32_t)height;
    load->image.dim[2].extent = channels == 1 ? 0 : (int32_t)channels;
    return load_allocate(load);
}

bool load_needs_memory(Load *load)
{
    load->status = KN_ERROR_LIMIT;
    return load_fail(load, "out of memory: decoding it takes more than this context may still use");
}

void *load_scratch(Load *load, size_t count, size_t size)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes))
        load->scratch = context_allocate_raw(load->cx, bytes);
    if (!load->scratch)
        load_needs_memory(load);
    return load->scratch;
}

void picture_put(const kn_buffer *image, int32_t x, int32_t y, int32_t channel, int32_t channels, int32_t count,
                 const void *pixels)
{
    const size_t size = kn_type_size(image->type);
    for (int32_t c = 0; c < channels; c++)
        row_copy(buffer_address(image, (int32_t[]){ x, y, channel + c }), image->dim[0].stride * (int64_t)size,
                 (const char *)pixels + (size_t)c * size, channels * (int64_t)size, count, size);
}

enum { HEAD = 1 << 17 }; /* bytes that are read before the format is known */

/* Reads up to `count` bytes; *got is less at the end of the file. */
static bool read_bytes(Load *load, void *to, size_t count, size_t *got)
{
    *got = 0;
    while (*got < count) {
        const ssize_t n = read(load->file, (char *)to + *got, count - *got);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return load_fail(load, "cannot be read: %s", strerror(errno));
        *got += n < 0 ? 0 : (size_t)n;
    }
    return true;
}

bool load_read(Load *load, size_t at, void *to, size_t count)
{
    size_t here = at < load->had ? load->had - at : 0, got;
    here        = here < count ? here : count;
    if (here)
        memcpy(to, load->bytes + at, here);
    if (!read_bytes(load, (char *)to + here, count - here, &got))
        return false;
    return got == count - here || load_fail(load, "the file is truncated: it ends after %zu bytes", at + here + got);
}

/* Gives load->bytes room for `capacity` bytes; what is there stays. */
static bool grow(Load *load, size_t capacity)
{
    unsigned char *more = context_allocate_raw(load->cx, capacity);
    if (!more) {
        load->status = KN_ERROR_LIMIT;
        return load_fail(load, "out of memory: the file is larger than what this context may still use");
    }
    if (load->had)
        memcpy(more, load->bytes, load->had);
    context_release(load->cx, (void *)(uintptr_t)load->bytes);
    load->bytes = more;
    return true;
}

/* Reads on to the end of the file, into memory of `capacity` bytes that doubles if that is not enough. */
static bool read_all(Load *load, size_t capacity)
{
    for (;; capacity *= 2) {
        size_t got;
        if (!grow(load, capacity) ||
            !read_bytes(load, (char *)(uintptr_t)load->bytes + load->had, capacity - load->had, &got))
            return false;
        load->had += got;
        load->size = load->had;
        if (load->had < capacity)
            return true;
        if (capacity > SIZE_MAX / 2)
            return load_fail(load, "is larger than the address space");
    }
}

/* Reads the head and recognizes the format; reads the rest unless the decoder does that itself. A file of unknown size,
 * such as a pipe, is always read whole: the sizes in its header are checked against the bytes there are. */
static bool read_and_decode(Load *load)
{
    struct stat info;
    size_t      got;
    if (fstat(load->file, &info))
        return load_fail(load, "cannot be read: %s", strerror(errno));
    if (S_ISDIR(info.st_mode))
        return load_fail(load, "is a folder, not an image file");
    if (!grow(load, HEAD) || !read_bytes(load, (char *)(uintptr_t)load->bytes, HEAD, &got))
        return false;
    load->had = load->size    = got;
    const ImageFormat *format = format_of_content(load);
    if (!format)
        return false;
    const bool sized = S_ISREG(info.st_mode) && info.st_size > HEAD;
    if (got == HEAD && sized && format->streams)
        load->size = (size_t)info.st_size;
    else if (got == HEAD && !read_all(load, sized ? (size_t)info.st_size + 1 : 2 * HEAD))
        return false;
    load->info = (kn_image_info){ .format = format->name, .picture = !format->any_rank };
    return format->decode(load);
}

static bool load_file(Load *load)
{
    load->file = open(load->path, O_RDONLY | O_CLOEXEC);
    if (load->file < 0)
        return load_fail(load, "cannot be opened: %s", strerror(errno));
    const bool ok = read_and_decode(load);
    close(load->file);
    return ok;
}

static void load_run(void *arg)
{
    Load *load = arg;
    if (!load->path) {
        diag_status(load->cx, KN_ERROR_ARGUMENT, "kn_image_load: no path was given (NULL)");
        return;
    }
    load->slot = buffer_reserve(load->cx);
    if (!load_file(load) || !load_orient(load))
        diag_status(load->cx, load->status, "%s: %s", load->path, load->why);
    else if (load->note[0])
        diag_warning(load->cx, WARN_IMAGE, (Loc){ 0 }, NULL, "%s: %s", load->path, load->note);
}

kn_status kn_image_load_info(kn_context *cx, const char *path, kn_buffer *b, kn_image_info *info)
{
    if (!cx || !b || !info)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    Load load = { .cx = cx, .path = path, .status = KN_ERROR_FILE };
    context_try(cx, load_run, &load);
    context_release(cx, (void *)(uintptr_t)load.bytes);
    context_release(cx, load.scratch);
    if (cx->status) {
        buffer_release(cx, &load.image);
    } else {
        *b    = load.image;
        *info = load.info;
    }
    return cx->status;
}

kn_status kn_image_load(kn_context *cx, const char *path, kn_buffer *b)
{
    kn_image_info info;
    return kn_image_load_info(cx, path, b, &info);
}
