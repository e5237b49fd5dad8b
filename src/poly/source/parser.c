/* SPDX-License-Identifier: MIT */
/* The parser's position, its places and its errors.
 *
 * The preprocessor keeps lines and loses columns. A place is found by matching the tokens of a preprocessed line with
 * those of the line as it was written, by their longest common subsequence; what a macro made stands at its name. */
#include "poly/source/parser.h"

#include <stdarg.h>
#include <stdio.h>

const CToken *token_after(const Parser *p, int ahead)
{
    const size_t last = p->tokens.items.count - 1, at = p->at + (size_t)ahead;
    return &p->tokens.items.at[at < last ? at : last];
}

const CToken *token(const Parser *p)
{
    return token_after(p, 0);
}

bool is_after(const Parser *p, int ahead, const char *text)
{
    const CToken *t = token_after(p, ahead);
    return (t->kind == CT_NAME || t->kind == CT_PUNCTUATION || t->kind == CT_PRAGMA) && !strcmp(t->text, text);
}

bool is(const Parser *p, const char *text)
{
    return is_after(p, 0, text);
}

bool accept(Parser *p, const char *text)
{
    const bool found = is(p, text);
    p->at += found;
    return found;
}

bool expect(Parser *p, const char *text, const char *where)
{
    if (accept(p, text))
        return true;
    const CToken *t = token(p);
    refuse(p, p->at, NULL, "`%s` is missing %s; %s%s%s stands here", text, where,
           t->kind == CT_END ? "the end of the file" : "`", t->kind == CT_END ? "" : t->text,
           t->kind == CT_END ? "" : "`");
    return false;
}

bool skip_brackets(Parser *p)
{
    int depth = 0;
    while (token(p)->kind != CT_END) {
        const bool punctuation = token(p)->kind == CT_PUNCTUATION;
        const char c           = token(p)->text[0];
        p->at++;
        if (punctuation && (c == '(' || c == '[' || c == '{'))
            depth++;
        else if (punctuation && (c == ')' || c == ']' || c == '}') && --depth <= 0)
            return depth == 0;
    }
    return false;
}

/* ---- Places ---- */

enum { MOST_MATCHED = 400 }; /* tokens of a line; a longer one has columns of its first token */

static bool same_line(const CToken *a, const CToken *b)
{
    return a->line == b->line && a->file == b->file;
}

/* The line as it was written; NULL if it is of another file. */
static const char *written_line(const Parser *p, const CToken *t, size_t *length)
{
    if (strcmp(t->file, p->source->name) || t->line < 1)
        return NULL;
    const char *at = p->source->text, *end = at + p->source->length;
    for (int line = 1; line < t->line && at < end; line++) {
        const char *found = memchr(at, '\n', (size_t)(end - at));
        at                = found ? found + 1 : end;
    }
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *length          = (size_t)((stop ? stop : end) - at);
    return at;
}

/* The columns of tokens made[0 … n) when `line` is what was written. */
static void match_columns(Parser *p, const CToken *made, size_t n, const CTokens *line, int *columns)
{
    const size_t m = line->items.count - 1;
    Arena        scratch;
    scratch_begin(&scratch, p->cx);
    /* common[i][j]: the most matches of made[i…] and line[j…] */
    uint16_t *common = ARENA_ARRAY(&scratch, uint16_t, (n + 1) * (m + 1));
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;) {
            const uint16_t down = common[(i + 1) * (m + 1) + j], right = common[i * (m + 1) + j + 1];
            common[i * (m + 1) + j] = made[i].text == line->items.at[j].text
                                          ? (uint16_t)(common[(i + 1) * (m + 1) + j + 1] + 1)
                                          : (down > right ? down : right);
        }
    size_t i = 0, j = 0, next = 0; /* next: the token of the line behind the last match */
    while (i < n) {
        if (j < m && made[i].text == line->items.at[j].text) {
            columns[i++] = line->items.at[j++].column;
            next         = j;
        } else if (j < m && common[i * (m + 1) + j + 1] >= common[(i + 1) * (m + 1) + j]) {
            j++;
        } else {
            columns[i++] = line->items.at[next].column;
        }
    }
    scratch_end(&scratch);
}

static void find_columns(Parser *p, size_t at)
{
    const CToken *tokens = p->tokens.items.at;
    p->line_begin        = at;
    p->line_end          = at + 1;
    while (p->line_begin > 0 && same_line(&tokens[p->line_begin - 1], &tokens[at]))
        p->line_begin--;
    while (p->line_end < p->tokens.items.count && same_line(&tokens[p->line_end], &tokens[at]))
        p->line_end++;
    const size_t n = p->line_end - p->line_begin;
    p->columns     = ARENA_ARRAY(p->arena, int, n);
    for (size_t i = 0; i < n; i++)
        p->columns[i] = 1;
    size_t      length;
    const char *text = written_line(p, &tokens[at], &length);
    if (!text)
        return;
    CTokens line = { 0 };
    c_lex(p->cx, p->arena, p->source->name, text, length, &line);
    if (n <= MOST_MATCHED && line.items.count <= MOST_MATCHED)
        match_columns(p, tokens + p->line_begin, n, &line, p->columns);
}

CPlace place_of(Parser *p, size_t at)
{
    const size_t last = p->tokens.items.count - 1;
    at                = at < last ? at : last;
    if (at < p->line_begin || at >= p->line_end)
        find_columns(p, at);
    const CToken *t = &p->tokens.items.at[at];
    return (CPlace){ t->file, t->line, p->columns[at - p->line_begin] };
}

Loc place_loc(const Source *source, CPlace place)
{
    if (!place.file || strcmp(place.file, source->name))
        return (Loc){ 0 };
    size_t at = 0;
    for (int line = 1; line < place.line && at < source->length; at++)
        line += source->text[at] == '\n';
    const size_t left = source->length - at;
    at += (size_t)(place.column - 1) < left ? (size_t)(place.column - 1) : left;
    size_t end = at;
    while (end < source->length && ((source->text[end] >= 'a' && source->text[end] <= 'z') ||
                                    (source->text[end] >= 'A' && source->text[end] <= 'Z') ||
                                    (source->text[end] >= '0' && source->text[end] <= '9') || source->text[end] == '_'))
        end++;
    return (Loc){ source, (uint32_t)at, (uint32_t)(end > at ? end : at + 1) };
}

Loc region_loc(const Region *r, CPlace place)
{
    Source *source = ARENA_NEW(r->arena, Source);
    *source        = (Source){ r->path, r->source, r->size };
    return place_loc(source, place);
}

void *refuse(Parser *p, size_t at, const char *remedy, const char *format, ...)
{
    p->failed = true;
    if (p->quiet)
        return NULL;
    char    message[600];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const CPlace place = place_of(p, at);
    const Loc    loc   = place_loc(p->source, place);
    if (loc.source)
        diag_error(p->cx, loc, remedy, "%s", message);
    else
        diag_error(p->cx, loc, remedy, "%s:%d: %s", place.file, place.line, message);
    return NULL;
}
