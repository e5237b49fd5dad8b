/* SPDX-License-Identifier: MIT */
/* The lexer: bytes to tokens.
 *
 * Takes   any bytes.
 * Gives   tokens with their places; what is no token is diagnosed, a run of bad bytes once, and becomes a T_BAD, about
 *         which the parser says nothing more.
 * Holds   a name or number never ends in the middle of a word: `12ab` is one error, not two tokens. */
#include "lang/lexer.h"

#include <stdlib.h>

static const struct {
    const char *text;
    size_t      length;
} operators[T_COUNT] = {
#define X(name, text) [T_##name] = { text, sizeof text - 1 },
    TOKEN_OPS(X)
#undef X
};

const char *token_text(TokenKind kind)
{
    return operators[kind].text;
}

typedef struct Lexer {
    kn_context   *cx;
    Arena        *arena;
    const Source *source;
    const char   *text;
    size_t        at, length;
    bool          keep_comments;
    int           newlines; /* since the last token */
    TokenKind     last;     /* the last token that is no comment */
    Tokens       *out;
} Lexer;

static char peek(const Lexer *lx, size_t ahead)
{
    return lx->at + ahead < lx->length ? lx->text[lx->at + ahead] : 0;
}

static Loc loc_from(const Lexer *lx, size_t start)
{
    return (Loc){ lx->source, (uint32_t)start, (uint32_t)lx->at };
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_word(char c)
{
    return is_letter(c) || is_digit(c);
}

enum { TOKEN_COST = 20 }; /* with the default quota: five million tokens */

static void push(Lexer *lx, Token t, size_t start)
{
    context_spend(lx->cx, TOKEN_COST);
    t.loc        = loc_from(lx, start);
    t.newlines   = lx->newlines;
    t.first      = lx->newlines > 0 || !lx->out->items.count;
    lx->newlines = 0;
    lx->last     = t.kind == T_COMMENT ? lx->last : t.kind;
    vec_push(lx->arena, &lx->out->items, t);
}

/* Length of the UTF-8 character at `s`, 0 if it is not one (overlong forms and surrogates are not). */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    if (s[0] < 0x80)
        return 1;
    const size_t n = s[0] >= 0xC2 && s[0] < 0xE0   ? 2
                     : s[0] >= 0xE0 && s[0] < 0xF0 ? 3
                     : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                                   : 0;
    if (!n || left < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
        (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return n;
}

static size_t character(const Lexer *lx, size_t at)
{
    return utf8_length((const unsigned char *)lx->text + at, lx->length - at);
}

/* Moves over bytes that are not UTF-8: one error, however many they are. */
static void bad_bytes(Lexer *lx)
{
    const size_t start = lx->at;
    while (lx->at < lx->length && !character(lx, lx->at))
        lx->at++;
    diag_error(lx->cx, loc_from(lx, start), "save the file as UTF-8", "this is not UTF-8");
}

/* Moves over one character of a comment or string. */
static void skip_character(Lexer *lx)
{
    const size_t n = character(lx, lx->at);
    lx->at += n;
    if (!n)
        bad_bytes(lx);
}

static void line_comment(Lexer *lx)
{
    while (lx->at < lx->length && lx->text[lx->at] != '\n')
        skip_character(lx);
}

/* false if it is not terminated: then the rest of the text is lost */
static bool block_comment(Lexer *lx)
{
    const size_t start = lx->at;
    lx->at += 2;
    while (lx->at < lx->length && !(peek(lx, 0) == '*' && peek(lx, 1) == '/'))
        skip_character(lx);
    const bool ends = lx->at < lx->length;
    if (ends)
        lx->at += 2;
    else
        diag_error(lx->cx, (Loc){ lx->source, (uint32_t)start, (uint32_t)start + 2 }, "close it with */",
                   "this comment has no end");
    return ends;
}

static void comment(Lexer *lx)
{
    const size_t start = lx->at;
    const bool   block = peek(lx, 1) == '*';
    bool         ends  = true;
    if (block)
        ends = block_comment(lx);
    else
        line_comment(lx);
    if (memchr(lx->text + start, 0, lx->at - start))
        diag_error(lx->cx, loc_from(lx, start), "save the file as UTF-8", "a comment may not hold a NUL byte");
    if (!ends)
        push(lx, (Token){ .kind = T_BAD }, start);
    else if (lx->keep_comments)
        push(lx, (Token){ .kind = T_COMMENT, .name = arena_strndup(lx->arena, lx->text + start, lx->at - start) },
             start);
}

/* A string with an error in it, which was diagnosed, is a T_BAD. */
static void string(Lexer *lx)
{
    const size_t start  = lx->at++;
    const int    before = lx->cx->error_count;
    while (lx->at < lx->length && peek(lx, 0) != '"' && peek(lx, 0) != '\n')
        skip_character(lx);
    const char *content = arena_strndup(lx->arena, lx->text + start + 1, lx->at - start - 1);
    if (peek(lx, 0) != '"')
        diag_error(lx->cx, loc_from(lx, start), "close it with \" on the same line", "this string has no end");
    else
        lx->at++;
    if (memchr(lx->text + start, 0, lx->at - start))
        diag_error(lx->cx, loc_from(lx, start), NULL, "a string may not hold a NUL byte");
    push(lx, (Token){ .kind = lx->cx->error_count > before ? T_BAD : T_STRING, .name = content }, start);
}

static int digit_value(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* The digits of an integer, `_` allowed between them. false if there are none or one is too large for the base. */
static bool integer_value(const char *s, const char *end, unsigned base, unsigned __int128 *out)
{
    unsigned __int128 v   = 0;
    bool              any = false;
    for (; s < end; s++) {
        if (*s == '_' && any)
            continue;
        const unsigned d = (unsigned)digit_value(*s);
        if (d >= base)
            return false;
        v   = v >> 100 ? v : v * base + d; /* saturates far above every type */
        any = true;
    }
    *out = v;
    return any;
}

static void bad_number(Lexer *lx, size_t start)
{
    while (is_word(peek(lx, 0)))
        lx->at++;
    const char last = lx->text[lx->at - 1];
    if ((last == 'e' || last == 'E') && (peek(lx, 0) == '+' || peek(lx, 0) == '-')) /* 1e+ */
        lx->at++;
    diag_error(lx->cx, loc_from(lx, start), "numbers are written 12, 1_000, 0xFF, 0b101, 0.5 or 1e-3",
               "`%.*s` is not a number", (int)(lx->at - start), lx->text + start);
    push(lx, (Token){ .kind = T_INT, .integer = (unsigned __int128)1 << 100 }, start);
}

static void integer(Lexer *lx, size_t start)
{
    const char     second = lx->text[start] == '0' && start + 1 < lx->length ? lx->text[start + 1] : 0;
    const unsigned base   = second == 'x' || second == 'X' ? 16 : second == 'b' || second == 'B' ? 2 : 10;
    Token          t      = { .kind = T_INT };
    if (!integer_value(lx->text + start + (base == 10 ? 0 : 2), lx->text + lx->at, base, &t.integer)) {
        lx->at = start;
        bad_number(lx, start);
        return;
    }
    if (t.integer >> 64)
        diag_error(lx->cx, loc_from(lx, start), "the largest integer type is u64, up to 18446744073709551615",
                   "this integer does not fit any type");
    push(lx, t, start);
}

/* The digits without their `_`, then the C library, which rounds correctly. */
static void real(Lexer *lx, size_t start)
{
    char  *digits = arena_alloc(lx->arena, lx->at - start + 1);
    size_t n      = 0;
    for (size_t i = start; i < lx->at; i++)
        if (lx->text[i] != '_')
            digits[n++] = lx->text[i];
    const Token t = { .kind = T_FLOAT, .real = strtod(digits, NULL), .real32 = strtof(digits, NULL) };
    if (t.real > 1.7976931348623157e308)
        diag_error(lx->cx, loc_from(lx, start), "the largest f64 is about 1.8e308; write inf for infinity",
                   "this number is too large");
    push(lx, t, start);
}

/* digits [. digits] [e [+-] digits]; `1..5` is a range and `t.0` a component, so a dot belongs to a number only before
 * a digit. */
static void number(Lexer *lx)
{
    const size_t start        = lx->at;
    const bool   is_component = lx->out->items.count && lx->out->items.at[lx->out->items.count - 1].kind == T_DOT;
    const bool   prefixed = peek(lx, 0) == '0' && (is_letter(peek(lx, 1)) && peek(lx, 1) != 'e' && peek(lx, 1) != 'E');
    bool         is_real  = false;
    if (prefixed) {
        while (is_word(peek(lx, 0)))
            lx->at++;
        integer(lx, start);
        return;
    }
    while (is_digit(peek(lx, 0)) || peek(lx, 0) == '_')
        lx->at++;
    if (!is_component && peek(lx, 0) == '.' && is_digit(peek(lx, 1))) {
        is_real = true;
        lx->at++;
        while (is_digit(peek(lx, 0)) || peek(lx, 0) == '_')
            lx->at++;
    }
    if (!is_component && (peek(lx, 0) == 'e' || peek(lx, 0) == 'E')) {
        const size_t sign = peek(lx, 1) == '+' || peek(lx, 1) == '-';
        if (is_digit(peek(lx, 1 + sign))) {
            is_real = true;
            lx->at += 2 + sign;
            while (is_digit(peek(lx, 0)))
                lx->at++;
        }
    }
    if (is_word(peek(lx, 0)))
        bad_number(lx, start);
    else if (is_real)
        real(lx, start);
    else
        integer(lx, start);
}

static bool operator_token(Lexer *lx)
{
    const size_t start = lx->at;
    for (int k = T_COMMENT + 1; k < T_COUNT; k++)
        if (lx->length - lx->at >= operators[k].length &&
            !memcmp(lx->text + lx->at, operators[k].text, operators[k].length)) {
            lx->at += operators[k].length;
            push(lx, (Token){ .kind = (TokenKind)k }, start);
            return true;
        }
    return false;
}

/* Characters of other languages, and those that look like one of ours. */
/* clang-format off */
static const struct { const char *seen, *remedy; } other_formats[] = {
    { ";", "a definition ends where the next begins: nothing stands between them" },
    { "?", "a choice is written: if c then a else b" },
    { "#", "a comment begins with //" },
    { "'", "the name of a file stands in double quotes" },
    { "\u2212", "did you mean -?" },  { "\u2013", "did you mean -?" },  { "\u00D7", "did you mean *?" },
    { "\u00F7", "did you mean /?" },  { "\u2264", "did you mean <=?" }, { "\u2265", "did you mean >=?" },
    { "\u2260", "did you mean !=?" }, { "\u201C", "did you mean \"?" }, { "\u201D", "did you mean \"?" },
    { "\u2026", "did you mean ..?" }, { "\u00A0", "did you mean a plain space?" },
};
/* clang-format on */

static const char *stranger_remedy(const char *at, size_t n)
{
    for (size_t i = 0; i < sizeof other_formats / sizeof *other_formats; i++)
        if (strlen(other_formats[i].seen) == n && !memcmp(other_formats[i].seen, at, n))
            return other_formats[i].remedy;
    return NULL;
}

/* Bytes that begin no token: one error. */
static void bad_characters(Lexer *lx)
{
    const size_t start = lx->at, n = character(lx, lx->at);
    const char   c = lx->text[start];
    lx->at += n;
    if (!n) {
        bad_bytes(lx);
    } else if ((unsigned char)c < 32 || c == 127) {
        while (peek(lx, 0) == c && lx->at < lx->length)
            lx->at++;
        diag_error(lx->cx, loc_from(lx, start), NULL, "a control character (code %d) stands here", c);
    } else {
        diag_error(lx->cx, loc_from(lx, start), stranger_remedy(lx->text + start, n),
                   "`%.*s` has no meaning outside comments", (int)n, lx->text + start);
    }
    if (c != ';')
        push(lx, (Token){ .kind = T_BAD }, start);
}

/* ---- Names ------------------------------------------------------------------------------ */

/* Length of a character that other languages allow in names: é, or ß. */
static size_t foreign_letter(const Lexer *lx)
{
    const size_t n = lx->at < lx->length ? character(lx, lx->at) : 0;
    return n > 1 && !stranger_remedy(lx->text + lx->at, n) ? n : 0;
}

/* min= and max= are one token where an update may stand: behind the arguments of a function. */
static bool extreme_set(Lexer *lx, size_t start)
{
    const char *s   = lx->text + start;
    const bool  set = lx->at - start == 3 && peek(lx, 0) == '=' && peek(lx, 1) != '=' && lx->last == T_RPAREN;
    if (!set || (strncmp(s, "min", 3) && strncmp(s, "max", 3)))
        return false;
    lx->at++;
    push(lx, (Token){ .kind = s[1] == 'i' ? T_MIN_SET : T_MAX_SET }, start);
    return true;
}

static void word(Lexer *lx)
{
    const size_t start   = lx->at;
    bool         foreign = false;
    for (size_t n; (n = is_word(peek(lx, 0)) ? 1 : foreign_letter(lx)); lx->at += n)
        foreign |= n > 1;
    const size_t length = lx->at - start;
    if (foreign)
        diag_error(lx->cx, loc_from(lx, start), NULL,
                   "`%.*s` is not a name: a name has the letters a-z and A-Z, digits and _",
                   length > 200 ? 200 : (int)length, lx->text + start);
    if (!extreme_set(lx, start))
        push(lx, (Token){ .kind = T_NAME, .name = intern_n(lx->cx, lx->text + start, length) }, start);
}

static void next(Lexer *lx)
{
    const char c = peek(lx, 0);
    if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
        lx->newlines += c == '\n';
        lx->at++;
    } else if (c == '/' && (peek(lx, 1) == '/' || peek(lx, 1) == '*')) {
        comment(lx);
    } else if (c == '"') {
        string(lx);
    } else if (is_digit(c)) {
        number(lx);
    } else if (is_letter(c) || foreign_letter(lx)) {
        word(lx);
    } else if (!operator_token(lx)) {
        bad_characters(lx);
    }
}

void lex(kn_context *cx, Arena *arena, const Source *source, bool keep_comments, Tokens *out)
{
    Lexer lx = { .cx            = cx,
                 .arena         = arena,
                 .source        = source,
                 .text          = source->text,
                 .length        = source->length,
                 .keep_comments = keep_comments,
                 .out           = out };
    if (source->length > KN_MAX_TEXT) {
        diag_error(cx, (Loc){ 0 }, NULL, "%s is too large: a program has at most %d MiB", source->name,
                   KN_MAX_TEXT >> 20);
        lx.length = 0;
    }
    if (lx.length >= 3 && !memcmp(lx.text, "\xEF\xBB\xBF", 3))
        lx.at = 3; /* a byte order mark */
    while (lx.at < lx.length) {
        next(&lx);
    }
    if (out->items.count) /* the text ends behind its last token */
        lx.at = out->items.at[out->items.count - 1].loc.end;
    push(&lx, (Token){ .kind = T_END }, lx.at);
}
