/* SPDX-License-Identifier: MIT */
/* The values of a buffer as text: all of them, or a summary. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* IEEE half: 1 sign, 5 exponent, 10 mantissa bits. */
static double half_value(uint16_t h)
{
    const int    exponent = h >> 10 & 31, mantissa = h & 1023;
    const double size = exponent == 31  ? (mantissa ? NAN : INFINITY)
                        : exponent == 0 ? ldexp(mantissa, -24)
                                        : ldexp(1024 + mantissa, exponent - 25);
    return h >> 15 ? -size : size;
}

/* bfloat16 is the upper half of a float. */
static double bfloat_value(uint16_t b)
{
    const uint32_t bits = (uint32_t)b << 16;
    float          f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static kn_scalar read_value(kn_type type, const char *address)
{
    union {
        uint8_t  u8;
        uint16_t u16;
        uint32_t u32;
        int8_t   i8;
        int16_t  i16;
        int32_t  i32;
        int64_t  i64;
        float    f32;
        double   f64;
    } v = { 0 };
    memcpy(&v, address, kn_type_size(type));
    // clang-format off
    switch (type) {
    case KN_BOOL: case KN_U8:  return kn_int(v.u8);
    case KN_U16:               return kn_int(v.u16);
    case KN_U32:               return kn_int(v.u32);
    case KN_I8:                return kn_int(v.i8);
    case KN_I16:               return kn_int(v.i16);
    case KN_I32:               return kn_int(v.i32);
    case KN_U64: case KN_I64:  return kn_int(v.i64);
    case KN_F16:               return kn_float(half_value(v.u16));
    case KN_BF16:              return kn_float(bfloat_value(v.u16));
    case KN_F32:               return kn_float((double)v.f32);
    case KN_F64:               return kn_float(v.f64);
    default:                   return kn_int(0);
    }
    // clang-format on
}

/* The shortest text that reads back as the same number of its type. */
static void print_float(kn_type type, double v)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (type == KN_F64 ? strtod(text, NULL) == v : strtof(text, NULL) == (float)v)
            break;
    }
    fputs(isnan(v) ? "nan" : text, stdout);
}

static void print_value(kn_type type, kn_scalar v)
{
    if (v.is_float)
        print_float(type, v.as.f);
    else if (type == KN_U64)
        printf("%" PRIu64, (uint64_t)v.as.i);
    else
        printf("%" PRId64, v.as.i);
}

/* ---- Walking a buffer, x fastest ---- */

typedef struct ValueWalk {
    const kn_buffer *b;
    int32_t          at[KN_MAX_RANK]; /* counted from the mins */
    bool             more;
} ValueWalk;

static ValueWalk walk_begin(const kn_buffer *b)
{
    ValueWalk w = { .b = b, .more = true };
    for (int d = 0; d < b->rank; d++)
        w.more = w.more && b->dim[d].extent > 0;
    return w;
}

static const char *walk_address(const ValueWalk *w)
{
    int64_t offset = 0;
    for (int d = 0; d < w->b->rank; d++)
        offset += w->at[d] * w->b->dim[d].stride;
    return (const char *)w->b->data + offset * (int64_t)kn_type_size(w->b->type);
}

/* Moves to the next element; returns how many dimensions wrapped around. */
static int walk_next(ValueWalk *w)
{
    int d = 0;
    while (d < w->b->rank && ++w->at[d] == w->b->dim[d].extent)
        w->at[d++] = 0;
    w->more = d < w->b->rank;
    return d;
}

void values_print(const kn_buffer *b)
{
    for (ValueWalk w = walk_begin(b); w.more;) {
        print_value(b->type, read_value(b->type, walk_address(&w)));
        const int ended = walk_next(&w);
        fputs(!w.more || ended == 1 ? "\n" : ended > 1 ? "\n\n" : " ", stdout);
    }
}

int values_summary(Cli *cli, const char *name, const kn_buffer *b)
{
    kn_summary s;
    if (kn_summarize(cli->cx, b, &s) != KN_OK)
        return report_about(cli, name);
    printf("%s: %s %s", name, kn_type_name(b->type), shape_text(cli, b));
    if (s.count > 0) {
        fputs(", min ", stdout);
        print_value(b->type, s.min);
        fputs(", max ", stdout);
        print_value(b->type, s.max);
        printf(", mean %.6g", s.mean);
    }
    if (s.nans > 0)
        printf(", %" PRId64 " not a number", s.nans);
    putchar('\n');
    return DONE;
}

const char *shape_text(Cli *cli, const kn_buffer *b)
{
    enum { SIZE = 12 * KN_MAX_RANK + 1 };
    if (b->rank == 0)
        return "a single value";
    char *text = cli_alloc(cli, SIZE);
    int   n    = 0;
    for (int d = 0; d < b->rank; d++)
        n += snprintf(text + n, (size_t)(SIZE - n), "%s%" PRId32, d ? "x" : "", b->dim[d].extent);
    return text;
}

const char *point_text(Cli *cli, const int32_t *at, int rank)
{
    enum { SIZE = 13 * KN_MAX_RANK + 3 };
    char *text = cli_alloc(cli, SIZE);
    int   n    = snprintf(text, SIZE, "(");
    for (int d = 0; d < rank; d++)
        n += snprintf(text + n, (size_t)(SIZE - n), "%s%" PRId32, d ? ", " : "", at[d]);
    snprintf(text + n, (size_t)(SIZE - n), ")");
    return text;
}
