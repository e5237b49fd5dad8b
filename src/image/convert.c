/* SPDX-License-Identifier: MIT */
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
#include "image/convert.h"
#include "base/text.h"

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
    bool             as_is;     /* nothing has to be converted */
    kn_buffer        source;    /* `from` at the rank asked for */
    Conversion       how;
    int64_t          outside; /* values that were clamped */
    kn_buffer        result;
    Text             words;
} ConvertCall;

/* One sentence of the note. */
#define NOTE(call, ...)                                                                                                \
    (text_add(&(call)->words, (call)->words.count ? "; " : ""), text_printf(&(call)->words, __VA_ARGS__))

/* Is the range scaled, as between pictures, or the number kept? */
static bool is_stretched(const ConvertCall *call)
{
    const kn_type from = call->from->type, to = call->type;
    return call->range == KN_RANGE_FULL && from != to && to != KN_BOOL && white_of(from) > 0 && white_of(to) > 0 &&
           !(type_is_float(from) && type_is_float(to));
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
    if (call->range != KN_RANGE_FULL || call->rank != 2 || channels < 2 || channels > 4 || !white_of(s->type) ||
        s->type == KN_BOOL)
        return false;
    call->how.luma = channels >= 3;
    s->rank        = 2;
    if (call->how.luma)
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

/* Converts the elements. A number that the type cannot hold is reported. */
static bool convert_values(ConvertCall *call)
{
    const char *bad = convert_elements(&call->how, &call->source, &call->result, &call->outside);
    if (!bad)
        return true;
    double value;
    row_to_doubles(call->from->type, bad, 0, 1, &value);
    diag_status(call->cx, KN_ERROR_ARGUMENT,
                "the %s value %.17g cannot be held by %s; convert the data first, or give a wider type",
                kn_type_name(call->from->type), value, kn_type_name(call->type));
    return false;
}

/* "0..255", "0..1". */
static const char *range_words(ConvertCall *call, kn_type t)
{
    return arena_printf(&call->cx->call, "0..%.0f", white_of(t));
}

static void note_type(ConvertCall *call)
{
    const kn_type from = call->from->type, to = call->type;
    const char   *name = kn_type_name(from);
    if (from == to)
        return;
    if (!call->how.stretched) {
        NOTE(call, "%s values were %s %s", name,
             type_is_float(from) && type_is_float(to) && !type_holds(to, from) ? "rounded to" : "given as",
             kn_type_name(to));
    } else if (type_is_float(from)) {
        NOTE(call, "%s values were clamped to 0..1 and scaled to %s", name, range_words(call, to));
        if (call->outside)
            NOTE(call, "%lld were outside", (long long)call->outside);
    } else if (from == KN_BOOL) {
        NOTE(call, "false and true became 0 and %.0f", white_of(to));
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
    call->how.stretched = is_stretched(call);
    call->result        = call->source;
    call->result.type   = call->type;
    call->result.data   = NULL;
    if (!buffer_allocate_at(cx, &call->result, buffer_reserve(cx))) {
        diag_status(cx, KN_ERROR_LIMIT,
                    "out of memory: the converted picture is larger than what this context may still use");
        return;
    }
    if (!convert_values(call))
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

/* Fits the channels of the view to the format: drops alpha, repeats gray as colour (stride 0), or asks for gray. */
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

/* Fits call->view and call->type to the format, where possible. */
static void fit_format(ConvertCall *call, const ImageFormat *format)
{
    call->view = *call->from;
    call->from = &call->view;
    call->type = fitting_type(format, call->view.type);
    if (!format->any_rank && (call->view.rank == 2 || call->view.rank == 3))
        fit_channels(call, format);
    call->rank = call->make_gray ? 2 : call->view.rank;
}

/* The format that the path of the call names; NULL, with a diagnostic, if there is none. */
static const ImageFormat *format_of_call(ConvertCall *call, const char *function)
{
    if (call->path)
        return format_of_path(call->cx, call->path);
    diag_status(call->cx, KN_ERROR_ARGUMENT, "%s: no path was given (NULL)", function);
    return NULL;
}

static void convert_for_run(void *arg)
{
    ConvertCall       *call   = arg;
    const ImageFormat *format = format_of_call(call, "kn_image_convert_for");
    if (!format || buffer_check(call->cx, call->from, "the buffer to convert", false))
        return;
    fit_format(call, format);
    convert(call);
}

/* Whether the format holds what kn_image_convert_for would make. */
static void check_run(void *arg)
{
    ConvertCall       *call   = arg;
    const ImageFormat *format = format_of_call(call, "kn_image_check");
    if (!format || buffer_check_shape(call->cx, call->from, "the buffer to save"))
        return;
    const kn_buffer given = *call->from;
    fit_format(call, format);
    kn_buffer made = call->view;
    made.type      = call->type;
    made.rank      = call->rank;
    call->as_is    = given.type == made.type && given.rank == made.rank &&
                  (given.rank < 3 || given.dim[2].extent == made.dim[2].extent);
    format_holds(call->cx, call->path, format, &made);
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

kn_status kn_image_check(kn_context *cx, const char *path, const kn_buffer *b, bool *as_is)
{
    if (!cx)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    ConvertCall call = { .cx = cx, .path = path, .from = b };
    text_init(&call.words, &cx->call);
    context_try(cx, check_run, &call);
    if (as_is)
        *as_is = !cx->status && call.as_is;
    return cx->status;
}
