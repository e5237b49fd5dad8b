/* SPDX-License-Identifier: MIT */
/* Conversions of values, in blocks of a row: loaded as doubles or integers, changed, stored.
 *
 * Stretched, v becomes v * L(to) / L(from), with L the value of white, rounded to nearest and clamped where the new
 * type is an integer. Kept, v must be a value of the new type, but for floats, which are rounded. */
#include "image/convert.h"

#include <math.h>

typedef struct ConvertWalk {
    const Conversion *how;
    kn_type           from, to;
    int64_t           plane; /* bytes from one channel to the next */
    int64_t           outside[ROW_PARTS];
    const char       *bad[ROW_PARTS]; /* the first of the part that cannot be kept */
} ConvertWalk;

/* A block of a row. */
typedef struct PixelBlock {
    const char *from;
    char       *to;
    int64_t     from_step, to_step, count;
} PixelBlock;

double white_of(kn_type t)
{
    return t == KN_U8 ? 255 : t == KN_U16 ? 65535 : type_is_float(t) || t == KN_BOOL ? 1 : 0;
}

bool type_holds(kn_type to, kn_type from)
{
    if (to == from)
        return true;
    if (to == KN_BOOL)
        return false;
    if (type_is_float(from))
        return type_is_float(to) && type_bits(to) > type_bits(from);
    const int from_bits = type_bits(from) - type_is_signed(from);
    if (type_is_float(to))
        return from_bits <= type_table[to].mantissa;
    return from_bits <= type_bits(to) - type_is_signed(to) && (!type_is_signed(from) || type_is_signed(to));
}

/* Integers to integers: those in lo .. hi are kept. Returns how many are, up to the first that is not. */
static int64_t keep_integers(const ConvertWalk *w, const PixelBlock *b)
{
    const __int128 top  = w->to == KN_U64 ? (__int128)UINT64_MAX : (__int128)type_max(w->to);
    const __int128 most = w->from == KN_U64 ? (__int128)UINT64_MAX : (__int128)type_max(w->from);
    const int64_t  low  = type_min(w->from) > type_min(w->to) ? type_min(w->from) : type_min(w->to);
    const uint64_t span = (uint64_t)(int64_t)((top < most ? top : most) - low);
    int64_t        v[ROW_BLOCK], kept = 0;
    row_to_integers(w->from, b->from, b->from_step, b->count, v);
    while (kept < b->count && (uint64_t)v[kept] - (uint64_t)low <= span)
        kept++;
    row_from_integers(w->to, b->to, b->to_step, kept, v);
    return kept;
}

/* Integers to floats that may not hold them all: compares what was stored. */
static int64_t keep_in_floats(const ConvertWalk *w, const PixelBlock *b)
{
    int64_t v[ROW_BLOCK], kept = 0;
    double  back[ROW_BLOCK];
    row_to_integers(w->from, b->from, b->from_step, b->count, v);
    row_to_doubles(w->from, b->from, b->from_step, b->count, back);
    row_from_doubles(w->to, b->to, b->to_step, b->count, back);
    row_to_doubles(w->to, b->to, b->to_step, b->count, back);
    for (; kept < b->count; kept++) {
        const __int128 wide = w->from == KN_U64 ? (__int128)(uint64_t)v[kept] : (__int128)v[kept];
        if (!isfinite(back[kept]) || (__int128)back[kept] != wide)
            break;
    }
    return kept;
}

/* The numbers of a block, or the luma of its three channels. */
static void load_numbers(const ConvertWalk *w, const PixelBlock *b, double *v)
{
    row_to_doubles(w->from, b->from, b->from_step, b->count, v);
    if (!w->how->luma)
        return;
    double green[ROW_BLOCK], blue[ROW_BLOCK];
    row_to_doubles(w->from, b->from + w->plane, b->from_step, b->count, green);
    row_to_doubles(w->from, b->from + 2 * w->plane, b->from_step, b->count, blue);
    for (int64_t i = 0; i < b->count; i++)
        v[i] = 0.299 * v[i] + 0.587 * green[i] + 0.114 * blue[i];
}

/* Numbers kept as they are: between floats they are rounded, else they must be integers in range. */
static int64_t keep_numbers(const ConvertWalk *w, const PixelBlock *b)
{
    double       v[ROW_BLOCK];
    int64_t      kept = 0;
    const bool   real = type_is_float(w->to);
    const double top = ldexp(1, type_bits(w->to) - type_is_signed(w->to)), low = type_is_signed(w->to) ? -top : 0;
    load_numbers(w, b, v);
    for (int64_t i = 0; w->how->luma && !real && i < b->count; i++)
        v[i] = floor(v[i] + 0.5);
    while (kept < b->count && (real || (v[kept] < top && v[kept] >= low && v[kept] == floor(v[kept]))))
        kept++;
    row_from_doubles(w->to, b->to, b->to_step, kept, v);
    return kept;
}

/* Clamps to 0 .. top and rounds half up; NaN becomes 0. Returns how many were outside. */
static int64_t clamp_and_round(double *v, int64_t count, double top)
{
    int64_t outside = 0;
    for (int64_t i = 0; i < count; i++) {
        outside += !(v[i] >= 0 && v[i] <= top);
        const double low = v[i] > 0 ? v[i] : 0, in = low < top ? low : top;
        v[i] = (double)(int32_t)(in + 0.5);
    }
    return outside;
}

static int64_t stretch(ConvertWalk *w, int part, const PixelBlock *b)
{
    double       v[ROW_BLOCK];
    const double top = white_of(w->to), white = white_of(w->from);
    load_numbers(w, b, v);
    for (int64_t i = 0; i < b->count; i++)
        v[i] = v[i] * top / white;
    if (!type_is_float(w->to))
        w->outside[part] += clamp_and_round(v, b->count, top);
    row_from_doubles(w->to, b->to, b->to_step, b->count, v);
    return b->count;
}

/* How many elements of the block were converted, all or up to the first that cannot be kept. */
static int64_t convert_block(ConvertWalk *w, int part, const PixelBlock *b)
{
    const bool integers = !type_is_float(w->from) && !w->how->luma;
    if (w->how->stretched)
        return stretch(w, part, b);
    if (integers && !type_is_float(w->to))
        return keep_integers(w, b);
    if (integers && !type_holds(w->to, w->from))
        return keep_in_floats(w, b);
    return keep_numbers(w, b);
}

static bool convert_row(void *arg, int part, const RowPair *row)
{
    ConvertWalk *w = arg;
    for (int64_t done = 0; done < row->count; done += ROW_BLOCK) {
        const int64_t    left = row->count - done;
        const PixelBlock b    = { row->a + done * row->a_step, row->b + done * row->b_step, row->a_step, row->b_step,
                               left < ROW_BLOCK ? left : ROW_BLOCK };
        const int64_t    good = convert_block(w, part, &b);
        if (good < b.count) {
            w->bad[part] = b.from + good * b.from_step;
            return false;
        }
    }
    return true;
}

const char *convert_elements(const Conversion *c, const kn_buffer *from, const kn_buffer *to, int64_t *outside)
{
    ConvertWalk w = { .how = c, .from = from->type, .to = to->type };
    *outside      = 0;
    if (w.from == w.to && !c->luma) {
        rows_copy(from, to);
        return NULL;
    }
    w.plane = from->dim[2].stride * (int64_t)kn_type_size(from->type);
    rows_walk(from, to, convert_row, &w);
    const char *bad = NULL;
    for (int i = ROW_PARTS; i-- > 0;) {
        *outside += w.outside[i];
        bad = w.bad[i] ? w.bad[i] : bad;
    }
    return bad;
}
