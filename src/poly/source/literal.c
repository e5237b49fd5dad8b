/* SPDX-License-Identifier: MIT */
/* Numbers and characters, with the types that C gives them.
 *
 * From    ISO C11, 6.4.4. */
#include "poly/source/parser.h"

#include <errno.h>
#include <stdlib.h>

/* The suffix of an integer: how many l, and whether there is a u. */
static bool integer_suffix(const char *s, int *longs, bool *is_unsigned)
{
    *longs       = 0;
    *is_unsigned = false;
    for (; *s; s++) {
        if ((*s == 'u' || *s == 'U') && !*is_unsigned) {
            *is_unsigned = true;
        } else if ((*s == 'l' || *s == 'L') && !*longs) {
            *longs = s[1] == *s ? 2 : 1;
            s += *longs - 1;
        } else {
            return false;
        }
    }
    return true;
}

/* The first of int, unsigned, long, unsigned long that holds the value, among those that the text allows. */
static kn_type integer_type(const Parser *p, uint64_t value, bool decimal, int longs, bool is_unsigned)
{
    const bool wide = longs == 2 || (longs == 1 && p->long_bits == 64);
    if (!wide && !is_unsigned && value <= INT32_MAX)
        return KN_I32;
    if (!wide && (is_unsigned || !decimal) && value <= UINT32_MAX)
        return KN_U32;
    if (!is_unsigned && value <= INT64_MAX)
        return KN_I64;
    return is_unsigned || !decimal ? KN_U64 : KN_NONE;
}

static const CExpr *read_integer(Parser *p, const char *text)
{
    const bool binary = text[0] == '0' && (text[1] == 'b' || text[1] == 'B');
    const int  base = binary ? 2 : text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : text[0] == '0' ? 8 : 10;
    char      *end;
    int        longs;
    bool       is_unsigned;
    errno                = 0;
    const uint64_t value = strtoull(text + 2 * binary, &end, base);
    if (errno || !integer_suffix(end, &longs, &is_unsigned))
        return refuse(p, p->at, NULL, "`%.60s` is not a number", text);
    const kn_type type = integer_type(p, value, base == 10, longs, is_unsigned);
    if (type == KN_NONE)
        return refuse(p, p->at, NULL, "`%.60s` does not fit into 64 bits", text);
    CExpr *e = new_expr(p, CEXPR_INT, type, p->at);
    e->u.i   = (int64_t)value;
    e->text  = text;
    p->at++;
    return e;
}

const CExpr *read_number(Parser *p)
{
    const char *text = token(p)->text;
    const bool  hex  = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!strpbrk(text, hex ? ".pP" : ".eE"))
        return read_integer(p, text);
    char        *end;
    const double value = strtod_l(text, &end, p->cx->plain);
    kn_type      type  = KN_F64;
    if ((*end == 'f' || *end == 'F') && !end[1])
        type = KN_F32;
    else if ((*end == 'l' || *end == 'L') && !end[1])
        return refuse(p, p->at, "leave out the suffix: the number is then a double",
                      "`%.60s` is a long double, which regions do not have", text);
    else if (*end)
        return refuse(p, p->at, NULL, "`%.60s` is not a number", text);
    CExpr *e = new_expr(p, CEXPR_FLOAT, type, p->at);
    e->u.f   = type == KN_F32 ? (double)strtof_l(text, NULL, p->cx->plain) : value;
    e->text  = text;
    p->at++;
    return e;
}

const CExpr *read_character(Parser *p)
{
    static const char escapes[] = "n\nt\tr\ra\ab\bf\fv\v\\\\''\"\"??0";
    const char       *text      = token(p)->text;
    const size_t      n         = strlen(text);
    int               value     = -1;
    if (n == 3 && text[1] != '\\' && !(text[1] & 0x80))
        value = text[1];
    else if (n == 4 && text[1] == '\\') {
        const char *found = NULL;
        for (const char *s = escapes; *s; s += 2)
            found = *s == text[2] ? s : found;
        value = found ? found[1] : -1;
    }
    if (value < 0)
        return refuse(p, p->at, "write its number", "the character %.20s is not understood", text);
    const CExpr *e = int_expr(p, KN_I32, value, p->at);
    p->at++;
    return e;
}
