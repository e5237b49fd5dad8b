/* SPDX-License-Identifier: MIT */
/* Tokens of C text.
 *
 * Takes   text, as the preprocessor makes it or as it was written.
 * Gives   its tokens, each with the file and line that the line marks say. Comments, newlines and line marks are none.
 * Holds   any bytes are split: one that begins no token is a CT_OTHER. */
#include "poly/source/parser.h"

#include <stdlib.h>

typedef struct CLexer {
    kn_context *cx;
    Arena      *arena;
    const char *text;
    size_t      at, length, line_start;
    const char *file;
    int         line;
    CTokens    *out;
} CLexer;

/* Those that begin with others come first. */
static const char *const punctuation[] = {
    "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=",
    "*=",  "/=",  "%=",  "&=", "|=", "^=", "##", "{",  "}",  "(",  ")",  "[",  "]",  ";",  ",",  ":",
    "?",   "=",   "<",   ">",  "+",  "-",  "*",  "/",  "%",  "&",  "|",  "^",  "!",  "~",  ".",  "#",
};

static char peek(const CLexer *lx, size_t ahead)
{
    return lx->at + ahead < lx->length ? lx->text[lx->at + ahead] : 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (c & 0x80);
}

static void push(CLexer *lx, CTokenKind kind, size_t start, size_t end)
{
    const CToken t = { .kind   = kind,
                       .text   = intern_n(lx->cx, lx->text + start, end - start),
                       .file   = lx->file,
                       .line   = lx->line,
                       .column = (int)(start - lx->line_start) + 1 };
    vec_push(lx->arena, &lx->out->items, t);
}

static void newline(CLexer *lx)
{
    lx->at++;
    if (lx->line < 1 << 30)
        lx->line++;
    lx->line_start = lx->at;
}

/* `# 12 "file.c" …` or `#line 12 "file.c"`: the next line is line 12 of that file. */
static bool line_mark(CLexer *lx, size_t end)
{
    size_t at = lx->at + 1;
    while (at < end && (lx->text[at] == ' ' || lx->text[at] == '\t'))
        at++;
    if (end - at > 4 && !strncmp(lx->text + at, "line", 4))
        at += 4;
    while (at < end && lx->text[at] == ' ')
        at++;
    if (at >= end || !is_digit(lx->text[at]))
        return false;
    long line = 0;
    for (; at < end && is_digit(lx->text[at]); at++)
        line = line < 1 << 26 ? line * 10 + (lx->text[at] - '0') : line;
    lx->line          = (int)line - 1; /* the newline adds one */
    const char *begin = memchr(lx->text + at, '"', end - at);
    if (!begin)
        return true;
    char  *name = arena_strndup(lx->arena, begin + 1, (size_t)(lx->text + end - begin - 1));
    size_t n    = 0;
    for (size_t i = 0; name[i] && name[i] != '"'; i++) {
        i += name[i] == '\\' && name[i + 1];
        name[n++] = name[i];
    }
    lx->file = intern_n(lx->cx, name, n);
    return true;
}

static void directive(CLexer *lx)
{
    const char *found = memchr(lx->text + lx->at, '\n', lx->length - lx->at);
    size_t      end   = found ? (size_t)(found - lx->text) : lx->length;
    if (!line_mark(lx, end)) {
        size_t at = lx->at + 1, stop = end;
        while (at < end && (lx->text[at] == ' ' || lx->text[at] == '\t'))
            at++;
        if (end - at >= 7 && !strncmp(lx->text + at, "pragma ", 7)) {
            at += 7;
            while (at < stop && lx->text[at] == ' ')
                at++;
            while (stop > at && (unsigned char)lx->text[stop - 1] <= ' ')
                stop--;
            push(lx, CT_PRAGMA, at, stop);
        }
    }
    lx->at = end;
}

static void comment(CLexer *lx)
{
    const bool block = peek(lx, 1) == '*';
    lx->at += 2;
    while (lx->at < lx->length) {
        if (block && peek(lx, 0) == '*' && peek(lx, 1) == '/') {
            lx->at += 2;
            return;
        }
        if (peek(lx, 0) != '\n') {
            lx->at++;
        } else if (block) {
            newline(lx);
        } else {
            return;
        }
    }
}

/* A string or character constant: to its closing quote, or to the end of the line. */
static void quoted(CLexer *lx)
{
    const size_t start = lx->at;
    const char   quote = lx->text[lx->at++];
    while (lx->at < lx->length && peek(lx, 0) != quote && peek(lx, 0) != '\n')
        lx->at += peek(lx, 0) == '\\' && lx->at + 1 < lx->length && peek(lx, 1) != '\n' ? 2 : 1;
    if (lx->at < lx->length && peek(lx, 0) == quote)
        lx->at++;
    push(lx, quote == '"' ? CT_STRING : CT_CHARACTER, start, lx->at);
}

/* What the standard calls a preprocessing number: all that could belong to one. */
static void number(CLexer *lx)
{
    const size_t start = lx->at;
    while (lx->at < lx->length) {
        const char c = peek(lx, 0), next = peek(lx, 1);
        if ((c == 'e' || c == 'E' || c == 'p' || c == 'P') && (next == '+' || next == '-'))
            lx->at += 2;
        else if (is_word(c) || c == '.')
            lx->at++;
        else
            break;
    }
    push(lx, CT_NUMBER, start, lx->at);
}

static void punctuation_token(CLexer *lx)
{
    for (size_t i = 0; i < sizeof punctuation / sizeof *punctuation; i++) {
        const size_t n = strlen(punctuation[i]);
        if (n <= lx->length - lx->at && !memcmp(lx->text + lx->at, punctuation[i], n)) {
            push(lx, CT_PUNCTUATION, lx->at, lx->at + n);
            lx->at += n;
            return;
        }
    }
    push(lx, CT_OTHER, lx->at, lx->at + 1);
    lx->at++;
}

static void next(CLexer *lx, bool *fresh)
{
    const char c = peek(lx, 0);
    if (c == '\n') {
        newline(lx);
        *fresh = true;
        return;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        lx->at++;
        return;
    }
    if (c == '#' && *fresh) {
        directive(lx);
    } else if (c == '/' && (peek(lx, 1) == '/' || peek(lx, 1) == '*')) {
        comment(lx);
        return;
    } else if (c == '"' || c == '\'') {
        quoted(lx);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(lx, 1)))) {
        number(lx);
    } else if (is_word(c)) {
        const size_t start = lx->at;
        while (lx->at < lx->length && is_word(peek(lx, 0)))
            lx->at++;
        push(lx, CT_NAME, start, lx->at);
    } else {
        punctuation_token(lx);
    }
    *fresh = false;
}

void c_lex(kn_context *cx, Arena *arena, const char *file, const char *text, size_t length, CTokens *out)
{
    CLexer lx = {
        .cx = cx, .arena = arena, .text = text, .length = length, .file = intern(cx, file), .line = 1, .out = out
    };
    bool fresh = true;
    while (lx.at < lx.length) {
        context_spend(cx, 1);
        next(&lx, &fresh);
    }
    push(&lx, CT_END, lx.length, lx.length);
}
