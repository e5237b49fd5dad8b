/* SPDX-License-Identifier: MIT */
/* NPY files: NumPy arrays of any rank, of every type but bf16.
 *
 * x is the fastest dimension: an array of NumPy shape (c, y, x) has the dimensions x, y, c. The header is a Python
 * dictionary,
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 480, 640), }
 * of which just these three entries are understood (NumPy's "A simple file format for NumPy arrays"; versions 1, 2 and
 * 3). */
#include "image/image.h"
#include "image/rows.h"

#define MAGIC "\x93NUMPY"
enum { MAGIC_SIZE = 6, ALIGNMENT = 64 };

static const struct {
    kn_type type;
    char    kind; /* NumPy's letter; the size follows it */
} kinds[] = {
    { KN_BOOL, 'b' }, { KN_U8, 'u' },  { KN_U16, 'u' }, { KN_U32, 'u' }, { KN_U64, 'u' }, { KN_I8, 'i' },
    { KN_I16, 'i' },  { KN_I32, 'i' }, { KN_I64, 'i' }, { KN_F16, 'f' }, { KN_F32, 'f' }, { KN_F64, 'f' },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* What a header says. */
typedef struct Header {
    Load       *load;
    const char *at, *end; /* the dictionary that is left to read */
    bool        has_descr, has_order, has_shape;
    kn_type     type;
    bool        swapped, fortran;
    int32_t     rank;
    int64_t     shape[KN_MAX_RANK];
} Header;

static bool npy_recognizes(const unsigned char *bytes, size_t size)
{
    return size >= MAGIC_SIZE && !memcmp(bytes, MAGIC, MAGIC_SIZE);
}

static bool damaged(Header *h, const char *expected)
{
    return load_fail(h->load, "the NPY header is damaged: %s is missing at byte %zu", expected,
                     (size_t)((const unsigned char *)h->at - h->load->bytes));
}

static void skip_space(Header *h)
{
    while (h->at < h->end && (*h->at == ' ' || (*h->at >= '\t' && *h->at <= '\r')))
        h->at++;
}

/* Skips the character c if it is next. */
static bool accept(Header *h, char c)
{
    skip_space(h);
    if (h->at == h->end || *h->at != c)
        return false;
    h->at++;
    return true;
}

/* A Python string without escapes, into `out`. */
static bool read_string(Header *h, char *out, size_t size)
{
    skip_space(h);
    const char quote = h->at < h->end ? *h->at : 0;
    if (quote != '\'' && quote != '"')
        return false;
    size_t n = 0;
    for (h->at++; h->at < h->end && *h->at != quote; h->at++)
        if (n + 1 < size)
            out[n++] = *h->at >= ' ' && *h->at <= '~' ? *h->at : '?';
    out[n] = 0;
    return accept(h, quote);
}

static bool accept_word(Header *h, const char *word)
{
    skip_space(h);
    const size_t n = strlen(word);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n))
        return false;
    h->at += n;
    return true;
}

static bool read_descr(Header *h)
{
    char name[24];
    if (!read_string(h, name, sizeof name))
        return load_fail(h->load,
                         "the array's elements are records; Kiln reads plain numbers: save one field, e.g. a['r']");
    const char *kind = name + (*name && strchr("<>=|", *name) ? 1 : 0);
    for (size_t i = 0; i < KINDS; i++) {
        char size[8];
        snprintf(size, sizeof size, "%c%zu", kinds[i].kind, kn_type_size(kinds[i].type));
        if (!strcmp(kind, size)) {
            h->type      = kinds[i].type;
            h->swapped   = *name == (IS_BIG_ENDIAN ? '<' : '>');
            h->has_descr = true;
            return true;
        }
    }
    return load_fail(
        h->load,
        "the array has the NumPy type '%s'; Kiln reads bool, integers of 8 to 64 bits and floats of 16 to 64: "
        "save e.g. a.astype('float32')",
        name);
}

static bool read_order(Header *h)
{
    h->fortran   = accept_word(h, "True");
    h->has_order = true;
    return h->fortran || accept_word(h, "False") || damaged(h, "True or False");
}

static bool read_shape(Header *h)
{
    if (!accept(h, '('))
        return damaged(h, "the '(' of the shape");
    for (h->rank = 0; !accept(h, ')'); h->rank++) {
        if (h->rank == KN_MAX_RANK)
            return load_fail(h->load,
                             "the array has more than %d dimensions, the most Kiln has; save e.g. a.reshape(-1)",
                             KN_MAX_RANK);
        int64_t extent = 0;
        skip_space(h);
        const char *from = h->at;
        for (; h->at < h->end && *h->at >= '0' && *h->at <= '9' && extent <= INT32_MAX; h->at++)
            extent = extent * 10 + (*h->at - '0');
        if (h->at == from)
            return damaged(h, "a number of the shape");
        if (extent > INT32_MAX)
            return load_fail(h->load, "the array has a dimension of more than %d elements", INT32_MAX);
        h->shape[h->rank] = extent;
        accept(h, 'L'); /* written by Python 2 */
        if (!accept(h, ',') && (skip_space(h), h->at == h->end || *h->at != ')'))
            return damaged(h, "the ')' of the shape");
    }
    return h->has_shape = true;
}

static bool read_dictionary(Header *h)
{
    static const struct {
        const char *name;
        bool (*read)(Header *);
    } entries[] = { { "descr", read_descr }, { "fortran_order", read_order }, { "shape", read_shape } };
    if (!accept(h, '{'))
        return damaged(h, "the '{'");
    while (!accept(h, '}')) {
        char   key[24];
        size_t i = 0;
        if (!read_string(h, key, sizeof key) || !accept(h, ':'))
            return damaged(h, "an entry");
        while (i < 3 && strcmp(entries[i].name, key))
            i++;
        if (i == 3)
            return load_fail(h->load, "the NPY header has the unknown entry '%s'", key);
        if (!entries[i].read(h))
            return false;
        accept(h, ',');
    }
    return (h->has_descr && h->has_order && h->has_shape) || damaged(h, "one of 'descr', 'fortran_order' and 'shape'");
}

/* Finds the dictionary: after the magic come the version (two bytes) and the length, of two bytes in version 1 and four
 * later. */
static bool read_header(Load *load, Header *h)
{
    const unsigned char *b      = load->bytes;
    const size_t         before = load->size > 6 && b[6] > 1 ? 12 : 10;
    if (load->size < before)
        return load_fail(load, "the NPY file is truncated: it ends in its header");
    if (b[6] < 1 || b[6] > 3)
        return load_fail(load, "NPY version %d.%d is not known; versions 1 to 3 are read", b[6], b[7]);
    const size_t length = b[8] | (size_t)b[9] << 8 | (before == 12 ? (size_t)b[10] << 16 | (size_t)b[11] << 24 : 0);
    if (length > load->size - before)
        return load_fail(load, "the NPY file is truncated: it ends in its header");
    if (length > load->had - before)
        return load_fail(load, "the NPY header has %zu bytes, more than any array needs", length);
    const char *text = (const char *)b + before;
    *h               = (Header){ .load = load, .at = text, .end = text + length };
    if (!read_dictionary(h))
        return false;
    h->at = h->end;
    return true;
}

/* The type, and the extents in Kiln's order, which is NumPy's backwards; checked against the bytes that are there. */
static bool set_shape(Load *load, const Header *h, size_t *bytes)
{
    const size_t left  = load->size - (size_t)((const unsigned char *)h->end - load->bytes);
    double       total = (double)kn_type_size(h->type);
    load->image.type   = h->type;
    load->image.rank   = h->rank;
    for (int32_t d = 0; d < h->rank; d++) {
        load->image.dim[d].extent = (int32_t)h->shape[h->rank - 1 - d];
        total *= (double)load->image.dim[d].extent;
    }
    if (total > (double)left)
        return load_fail(load, "the NPY file is truncated: its array takes %.0f bytes, %zu are there", total, left);
    *bytes = (size_t)total;
    if (left > *bytes)
        load_note(load, "%zu bytes after the array were not read", left - *bytes);
    return true;
}

/* The array as it lies at `data` in Fortran order: x is the slowest dimension. */
static kn_buffer fortran_view(void *data, const kn_buffer *image)
{
    kn_buffer view   = *image;
    int64_t   stride = 1;
    view.data        = data;
    for (int32_t d = image->rank; d-- > 0;) {
        view.dim[d].stride = stride;
        stride *= image->dim[d].extent;
    }
    return view;
}

/* Reads the elements, straight into the image if they lie there as in the file. */
static bool read_elements(Load *load, const Header *h, size_t bytes)
{
    const size_t at = (size_t)((const unsigned char *)h->end - load->bytes);
    if (!h->fortran)
        return load_read(load, at, load->image.data, bytes);
    void *stored = load_scratch(load, bytes, 1);
    if (!stored || !load_read(load, at, stored, bytes))
        return false;
    const kn_buffer view = fortran_view(stored, &load->image);
    rows_copy(&view, &load->image);
    return true;
}

static bool npy_decode(Load *load)
{
    Header h;
    size_t bytes = 0;
    if (!read_header(load, &h) || !set_shape(load, &h, &bytes) || !load_allocate(load))
        return false;
    const size_t   size = kn_type_size(h.type);
    unsigned char *data = load->image.data;
    if (bytes && !read_elements(load, &h, bytes))
        return false;
    if (h.swapped)
        swap_bytes(data, bytes / size, size);
    for (size_t i = 0; h.type == KN_BOOL && i < bytes; i++)
        data[i] = data[i] != 0;
    return true;
}

/* Appends to a header that has enough room. */
#define APPEND(...) (n += (size_t)snprintf(header + n, sizeof header - n, __VA_ARGS__))

static bool write_header(Save *save)
{
    const kn_buffer *b    = save->image;
    size_t           kind = 0, n = 0;
    char             header[512];
    while (kinds[kind].type != b->type)
        kind++;
    const size_t size  = kn_type_size(b->type);
    const char   order = IS_BIG_ENDIAN ? '>' : '<';
    memcpy(header, MAGIC "\1\0", MAGIC_SIZE + 2);
    n = MAGIC_SIZE + 4;
    APPEND("{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (", size == 1 ? '|' : order, kinds[kind].kind, size);
    for (int32_t d = b->rank; d-- > 0;)
        APPEND("%d%s", b->dim[d].extent, b->rank == 1 ? "," : d ? ", " : "");
    APPEND("), }");
    const size_t padded = (n + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(header + n, ' ', padded - n);
    header[padded - 1]     = '\n';
    header[MAGIC_SIZE + 2] = (char)((padded - MAGIC_SIZE - 4) & 255);
    header[MAGIC_SIZE + 3] = (char)((padded - MAGIC_SIZE - 4) >> 8);
    return save_write(save, header, padded);
}

/* The number of elements that lie at the beginning of the buffer as they do in a file, and the dimensions they are of.
 */
static int64_t dense_part(const kn_buffer *b, int *rank)
{
    int64_t count = 1;
    for (*rank = 0; *rank < b->rank; ++*rank) {
        const kn_dim *d = &b->dim[*rank];
        if (d->extent != 1 && d->stride != count)
            break;
        count *= d->extent;
    }
    return count;
}

/* Writes a row along x that has gaps, through a block of memory. */
static bool write_row(Save *save, const char *at)
{
    enum { BLOCK = 8192 };
    const kn_dim *x    = &save->image->dim[0];
    const size_t  size = kn_type_size(save->image->type);
    char          block[BLOCK * sizeof(double)];
    bool          ok = true;
    for (int64_t done = 0, n; ok && done < x->extent; done += n) {
        n = x->extent - done < BLOCK ? x->extent - done : BLOCK;
        row_copy(block, (int64_t)size, at + done * x->stride * (int64_t)size, x->stride * (int64_t)size, n, size);
        ok = save_write(save, block, (size_t)n * size);
    }
    return ok;
}

/* Writes the whole at once if it lies in memory as in the file; else its dense parts, or its rows. */
static bool npy_encode(Save *save)
{
    const kn_buffer *b = save->image;
    int              rank;
    const size_t     dense = (size_t)dense_part(b, &rank) * kn_type_size(b->type);
    const bool       gaps  = rank == 0 && b->rank > 0; /* already along x */
    kn_buffer        parts = *b;
    for (int d = 0; d < rank || (gaps && d == 0); d++)
        parts.dim[d].extent = parts.dim[d].extent > 0;
    bool ok = write_header(save);
    for (BufferWalk w = walk_begin(&parts); ok && w.more; walk_next(&w))
        ok = gaps ? write_row(save, w.at) : save_write(save, w.at, dense);
    return ok;
}

const ImageFormat npy_format = {
    .name       = "NPY",
    .endings    = ".npy",
    .recognizes = npy_recognizes,
    .decode     = npy_decode,
    .encode     = npy_encode,
    .types      = TYPE_BIT(KN_BOOL) | TYPE_BIT(KN_U8) | TYPE_BIT(KN_U16) | TYPE_BIT(KN_U32) | TYPE_BIT(KN_U64) |
             TYPE_BIT(KN_I8) | TYPE_BIT(KN_I16) | TYPE_BIT(KN_I32) | TYPE_BIT(KN_I64) | TYPE_BIT(KN_F16) |
             TYPE_BIT(KN_F32) | TYPE_BIT(KN_F64),
    .floats   = KN_F32,
    .any_rank = true,
    .streams  = true,
};
