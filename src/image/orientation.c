/* SPDX-License-Identifier: MIT */
/* Pictures that are stored rotated or mirrored: undoes the orientation of EXIF and TIFF.
 *
 * Orientation 1 is upright. The others say on which sides of the upright picture the first stored row and column are.
 */
#include "image/image.h"
#include "image/rows.h"

enum { ORIENTATION_TAG = 0x0112, SHORT_TYPE = 3, ENTRY = 12 };

/* What has to be done to the stored rows and columns; swapped last. */
static const struct {
    bool        flip_x, flip_y, swap;
    const char *words;
} orientations[9] = {
    [2] = { true, false, false, "mirrored" },
    [3] = { true, true, false, "turned by 180 degrees" },
    [4] = { false, true, false, "mirrored top to bottom" },
    [5] = { false, false, true, "mirrored and turned by 90 degrees to the left" },
    [6] = { false, true, true, "turned by 90 degrees to the right" },
    [7] = { true, true, true, "mirrored and turned by 90 degrees to the right" },
    [8] = { true, false, true, "turned by 90 degrees to the left" },
};

/* A number of 2 or 4 bytes. */
static uint32_t number(const unsigned char *at, int bytes, bool big)
{
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint32_t)at[i] << 8 * (big ? bytes - 1 - i : i);
    return v;
}

int exif_orientation(const unsigned char *bytes, size_t size)
{
    if (size < 8 || (memcmp(bytes, "II*\0", 4) && memcmp(bytes, "MM\0*", 4)))
        return 0;
    const bool   big = bytes[0] == 'M';
    const size_t at  = number(bytes + 4, 4, big);
    if (at > size - 2)
        return 0;
    const size_t count = number(bytes + at, 2, big);
    for (size_t i = 0; i < count && at + 2 + (i + 1) * ENTRY <= size; i++) {
        const unsigned char *entry = bytes + at + 2 + i * ENTRY;
        if (number(entry, 2, big) == ORIENTATION_TAG && number(entry + 2, 2, big) == SHORT_TYPE)
            return (int)number(entry + 8, 2, big);
    }
    return 0;
}

/* The dimension walked through from its end. */
static void flip(kn_buffer *b, int d)
{
    b->data          = (char *)b->data + (b->dim[d].extent - 1) * b->dim[d].stride * (int64_t)kn_type_size(b->type);
    b->dim[d].stride = -b->dim[d].stride;
}

bool load_orient(Load *load)
{
    const int o = load->orientation;
    if (o < 2 || o > 8)
        return true;
    kn_buffer stored = load->image;
    if (orientations[o].flip_x)
        flip(&stored, 0);
    if (orientations[o].flip_y)
        flip(&stored, 1);
    if (orientations[o].swap) {
        const kn_dim x = stored.dim[0];
        stored.dim[0]  = stored.dim[1];
        stored.dim[1]  = x;
    }
    kn_buffer turned = stored, old = load->image;
    if (!buffer_allocate_at(load->cx, &turned, buffer_reserve(load->cx)))
        return load_needs_memory(load);
    rows_copy(&stored, &turned);
    buffer_release(load->cx, &old);
    load->image = turned;
    load_note(load, "was %s, as its orientation %d says", orientations[o].words, o);
    return true;
}
