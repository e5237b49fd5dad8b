/* Conversions between pictures: types, ranges and channels, each said in words.
 *
 * As a picture (KN_RANGE_FULL), u8, u16 and floats share one range: 0..255, 0..65535 and 0..1 are black to white, and
 * bool is black or white. With L(t) the value of white, v becomes v * L(to) / L(from), rounded to nearest and clamped
 * where the new type is an integer. Between floats, and with any other integer, the number itself is kept, and must
 * fit.
 *
 * As numbers (KN_RANGE_VALUE), only a type that holds every value of the old one is taken.
 *
 * Colour becomes gray by the luma of ITU-R BT.601: 0.299 R + 0.587 G + 0.114 B. */
#include "image/image.h"
#include "base/text.h"

#include <math.h>

typedef struct ConvertCall {
    kn_context      *cx;
    const char      *path; /* of the file that the result is for, or NULL */
    const kn_buffer *from;
    kn_image_range   range;
    kn_type          type;
    int              rank;
    kn_buffer       *to;
    const char     **note;
    kn_buffer        view;      /* `from` with the channels that a format holds */
    bool             make_gray; /* the format holds no colours */
    kn_buffer        source;    /* `from` at the rank asked for */
    bool             stretched; /* the range is stretched; else the number is kept */
    bool             luma;      /* its first three channels make one */
    int64_t          outside;   /* values that were clamped */
    kn_buffer        result;
    Text             words;
} ConvertCall;

/* One sentence of the note. */
#define NOTE(call, ...)                                                                                                \
    (text_add(&(call)->words, (call)->words.count ? "; " : ""), text_printf(&(call)->words, __VA_ARGS__))

/* The value of white in a picture; 0 for types of numbers only. */
static double white(kn_type t)
{
    return t == KN_U8 ? 255 : t == KN_U16 ? 65535 : type_is_float(t) || t == KN_BOOL ? 1 : 0;
}

/* Whether the range is stretched, which is what pictures do, or the number is kept. */
static bool is_stretched(const ConvertCall *call)
{
    const kn_type from = call->from->type, to = call->type;
    return call->range == KN_RANGE_FULL && from != to && to != KN_BOOL && white(from) > 0 && white(to) > 0 &&
           !(type_is_float(from) && type_is_float(to));
}

/* Whether `to` holds every value of `from`. */
static bool type_holds(kn_type to, kn_type from)
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

static double load_number(kn_type t, const void *at)
{
    if (type_is_float(t))
        return type_load_float(t, at);
    const int64_t v = type_load_int(t, at);
    return t == KN_U64 ? (double)(uint64_t)v : (double)v;
}

/* ---- Shape ---- */

/* Drops dimensions of extent 1 from the end, or adds them. */
static bool reshape(ConvertCall *call)
{
    kn_buffer *s = &call->source;
    for (; s->rank < call->rank; s->rank++)
        s->dim[s->rank] = (kn_dim){ .min = 0, .extent = 1, .stride = 1 };
    while (s->rank > call->rank && s->dim[s->rank - 1].extent == 1)
        s->rank--;
    return s->rank == call->rank;
}

/* Makes one channel of a picture's two to four. */
static bool drop_channels(ConvertCall *call)
{
    kn_buffer    *s        = &call->source;
    const int32_t channels = s->rank == 3 ? s->dim[2].extent : 0;
    if (call->range != KN_RANGE_FULL || call->rank != 2 || channels < 2 || channels > 4 || !white(s->type) ||
        s->type == KN_BOOL)
        return false;
    call->luma = channels >= 3;
    s->rank    = 2;
    if (call->luma)
        NOTE(call, "3 channels were made 1 by luma 0.299 R + 0.587 G + 0.114 B");
    if (channels == 2 || channels == 4)
        NOTE(call, "the alpha channel was dropped");
    return true;
}

static bool fit_shape(ConvertCall *call)
{
    call->source = *call->from;
    if (reshape(call) || drop_channels(call))
        return true;
    const int last = call->source.rank - 1;
    diag_status(call->cx, KN_ERROR_ARGUMENT,
                "a buffer of rank %d cannot be made rank %d: its dimension %d has extent %d%s", call->from->rank,
                call->rank, last, call->source.dim[last].extent,
                call->rank == 2 && last == 2 ? "; only pictures of u8, u16 or floats with 2 to 4 channels are made gray"
                                             : "; only extents of 1 are dropped");
    return false;
}

/* ---- Values ---- */

/* Numbers are never converted to a type that does not hold them all. */
static bool check_loss(ConvertCall *call)
{
    if (call->range != KN_RANGE_VALUE || type_holds(call->type, call->from->type))
        return true;
    const char              *from = kn_type_name(call->from->type), *to = kn_type_name(call->type);
    static const char *const numpy[KN_TYPE_COUNT] = {
        [KN_BOOL] = "bool",    [KN_U8] = "uint8",    [KN_U16] = "uint16",  [KN_U32] = "uint32", [KN_U64] = "uint64",
        [KN_I8] = "int8",      [KN_I16] = "int16",   [KN_I32] = "int32",   [KN_I64] = "int64",  [KN_F16] = "float16",
        [KN_BF16] = "float32", [KN_F32] = "float32", [KN_F64] = "float64",
    };
    diag_status(call->cx, KN_ERROR_ARGUMENT,
                "%s values cannot be given as %s: not every one can be held; give %s data (in NumPy: a.astype('%s'))",
                from, to, to, numpy[call->type]);
    return false;
}

/* The number at `at`, or the luma of the three planes that begin there. */
static double source_value(const ConvertCall *call, const char *at)
{
    const kn_type t = call->source.type;
    if (!call->luma)
        return load_number(t, at);
    const int64_t plane = call->source.dim[2].stride * (int64_t)kn_type_size(t);
    return 0.299 * load_number(t, at) + 0.587 * load_number(t, at + plane) + 0.114 * load_number(t, at + 2 * plane);
}

/* v * L(to) / L(from), rounded and clamped for integers; NaN becomes 0. */
static void store_stretched(ConvertCall *call, char *at, double v)
{
    const double top = white(call->type), scaled = v * top / white(call->from->type);
    if (type_is_float(call->type)) {
        type_store_float(call->type, at, scaled);
        return;
    }
    call->outside += !(scaled >= 0 && scaled <= top);
    type_store_int(call->type, at, scaled >= top ? (int64_t)top : scaled > 0 ? (int64_t)floor(scaled + 0.5) : 0);
}

/* The number v itself; false if the type does not hold it. Between floats it is rounded. */
static bool store_kept(kn_type type, char *at, double v)
{
    if (type_is_float(type)) {
        type_store_float(type, at, v);
        return true;
    }
    const double top = ldexp(1, type_bits(type) - type_is_signed(type));
    if (!(v < top && v >= (type_is_signed(type) ? -top : 0) && v == floor(v)))
        return false;
    type_store_int(type, at, type == KN_U64 ? (int64_t)(uint64_t)v : (int64_t)v);
    return true;
}

/* An integer to any type, exactly; doubles do not hold all of them. */
static bool store_integer(kn_type from, const char *source, kn_type to, char *at)
{
    const int64_t  v    = type_load_int(from, source);
    const __int128 wide = from == KN_U64 ? (__int128)(uint64_t)v : (__int128)v;
    if (type_is_float(to)) {
        type_store_float(to, at, (double)wide);
        const double back = type_load_float(to, at);
        return isfinite(back) && (__int128)back == wide;
    }
    const __int128 top = to == KN_U64 ? (__int128)UINT64_MAX : (__int128)type_max(to);
    type_store_int(to, at, (int64_t)(uint64_t)wide);
    return wide >= type_min(to) && wide <= top;
}

static bool store_element(ConvertCall *call, const char *source, char *at)
{
    const kn_type from = call->from->type, to = call->type;
    if (!call->stretched && !call->luma && !type_is_float(from))
        return store_integer(from, source, to, at);
    const double v = source_value(call, source);
    if (!call->stretched)
        return store_kept(to, at, call->luma && !type_is_float(to) ? floor(v + 0.5) : v);
    store_stretched(call, at, v);
    return true;
}

static bool convert_elements(ConvertCall *call)
{
    BufferWalk from = walk_begin(&call->source);
    for (BufferWalk to = walk_begin(&call->result); to.more; walk_next(&to), walk_next(&from))
        if (!store_element(call, from.at, to.at)) {
            diag_status(call->cx, KN_ERROR_ARGUMENT,
                        "the %s value %.17g cannot be held by %s; convert the data first, or give a wider type",
                        kn_type_name(call->from->type), load_number(call->from->type, from.at),
                        kn_type_name(call->type));
            return false;
        }
    return true;
}

/* "0..255", "0..1". */
static const char *range_words(ConvertCall *call, kn_type t)
{
    return arena_printf(&call->cx->call, "0..%.0f", white(t));
}

static void note_type(ConvertCall *call)
{
    const kn_type from = call->from->type, to = call->type;
    const char   *name = kn_type_name(from);
    if (from == to)
        return;
    if (!call->stretched) {
        NOTE(call, "%s values were %s %s", name,
             type_is_float(from) && type_is_float(to) && !type_holds(to, from) ? "rounded to" : "given as",
             kn_type_name(to));
    } else if (type_is_float(from)) {
        NOTE(call, "%s values were clamped to 0..1 and scaled to %s", name, range_words(call, to));
        if (call->outside)
            NOTE(call, "%lld were outside", (long long)call->outside);
    } else if (from == KN_BOOL) {
        NOTE(call, "false and true became 0 and %.0f", white(to));
    } else {
        NOTE(call, "%d-bit values %s were scaled to %s", type_bits(from), range_words(call, from),
             range_words(call, to));
    }
}

/* Converts to call->type and call->rank, which exist. */
static void convert(ConvertCall *call)
{
    kn_context *cx = call->cx;
    if (!fit_shape(call) || !check_loss(call))
        return;
    call->stretched   = is_stretched(call);
    call->result      = call->source;
    call->result.type = call->type;
    call->result.data = NULL;
    if (!buffer_allocate_at(cx, &call->result, buffer_reserve(cx))) {
        diag_status(cx, KN_ERROR_LIMIT,
                    "out of memory: the converted picture is larger than what this context may still use");
        return;
    }
    if (!convert_elements(call))
        return;
    note_type(call);
    if (call->note)
        *call->note = call->words.count ? arena_strdup(&cx->arena, text_string(&call->words)) : NULL;
}

static void convert_run(void *arg)
{
    ConvertCall *call = arg;
    if (!kn_type_name(call->type) || call->rank < 0 || call->rank > KN_MAX_RANK)
        diag_status(call->cx, KN_ERROR_ARGUMENT, "kn_image_convert: there is no %s %d",
                    kn_type_name(call->type) ? "rank" : "type",
                    kn_type_name(call->type) ? call->rank : (int)call->type);
    else if (!buffer_check(call->cx, call->from, "the buffer to convert", false))
        convert(call);
}

/* ---- For a format ---- */

/* Makes of the channels of the view what the format holds: drops an alpha channel, repeats gray as colour (stride 0),
 * or asks for gray. */
static void fit_channels(ConvertCall *call, const ImageFormat *format)
{
    kn_buffer *view     = &call->view;
    kn_dim    *c        = &view->dim[2];
    const int  channels = view->rank == 2 ? 1 : c->extent;
    if (channels < 1 || channels > 4 || format->channels >> channels & 1)
        return;
    const int colors = channels < 3 ? 1 : 3;
    if (colors < channels)
        NOTE(call, "the alpha channel was dropped");
    if (format->channels >> colors & 1) {
        *c         = (kn_dim){ c->min, colors, c->stride };
        view->rank = colors == 1 ? 2 : 3;
    } else if (colors == 1) {
        NOTE(call, "1 channel was repeated as 3");
        *c         = (kn_dim){ 0, 3, 0 };
        view->rank = 3;
    } else {
        c->extent       = 3;
        call->make_gray = true;
    }
}

static kn_type fitting_type(const ImageFormat *format, kn_type t)
{
    if (format->types & TYPE_BIT(t))
        return t;
    if (type_bits(t) <= 8 && format->types & TYPE_BIT(KN_U8))
        return KN_U8;
    return type_is_float(t) ? format->floats : format->integers;
}

static void convert_for_run(void *arg)
{
    ConvertCall       *call   = arg;
    const ImageFormat *format = call->path ? format_of_path(call->cx, call->path) : NULL;
    if (!call->path)
        diag_status(call->cx, KN_ERROR_ARGUMENT, "kn_image_convert_for: no path was given (NULL)");
    if (!format || buffer_check(call->cx, call->from, "the buffer to convert", false))
        return;
    call->view = *call->from;
    call->from = &call->view;
    call->type = fitting_type(format, call->view.type);
    if (!format->any_rank && (call->view.rank == 2 || call->view.rank == 3))
        fit_channels(call, format);
    call->rank = call->make_gray ? 2 : call->view.rank;
    convert(call);
}

/* ---- The interface ---- */

static kn_status run(ConvertCall *call, void (*body)(void *arg))
{
    if (!call->cx)
        return KN_ERROR_ARGUMENT;
    context_begin(call->cx);
    text_init(&call->words, &call->cx->call);
    if (call->note)
        *call->note = NULL;
    context_try(call->cx, body, call);
    if (call->cx->status)
        buffer_release(call->cx, &call->result);
    else
        *call->to = call->result;
    return call->cx->status;
}

kn_status kn_image_convert(kn_context *cx, const kn_buffer *from, kn_image_range range, kn_type type, int rank,
                           kn_buffer *to, const char **note)
{
    ConvertCall call = { .cx = cx, .from = from, .range = range, .type = type, .rank = rank, .to = to, .note = note };
    return to ? run(&call, convert_run) : KN_ERROR_ARGUMENT;
}

kn_status kn_image_convert_for(kn_context *cx, const char *path, const kn_buffer *from, kn_buffer *to,
                               const char **note)
{
    ConvertCall call = { .cx = cx, .path = path, .from = from, .range = KN_RANGE_FULL, .to = to, .note = note };
    return to ? run(&call, convert_for_run) : KN_ERROR_ARGUMENT;
}
