/* SPDX-License-Identifier: MIT */
/* kiln fmt: the same tokens and comments, in the standard layout.
 *
 * Works on tokens, line by line: a person's line breaks stay, everything inside a line is set. Lines that begin an item
 * are indented by the braces around them; lines that go on an item keep their place relative to its first line. The `=`
 * of definitions on consecutive lines are aligned. Formatting twice is the same as formatting once. */
#include "lang/ast.h"
#include "base/text.h"

typedef struct Line {
    size_t      first, end; /* tokens */
    bool        begins;     /* begins an item, or is a comment, or closes a brace */
    int         depth;      /* of braces around it */
    int         column;     /* where it stood */
    int         blank_before;
    const char *text;
    int         set_at; /* where the first `=`, `+=` … of a definition stands in text; -1: none */
    int         set_length;
} Line;

typedef struct Formatter {
    Arena       *arena;
    const Token *tokens;
    size_t       count;
    VEC(Line) lines;
} Formatter;

static bool is_one_of(const Token *t, const char *const *words)
{
    for (; t->kind == T_NAME && *words; words++)
        if (!strcmp(t->name, *words))
            return true;
    return false;
}

static const char *const continuing[] = { "for", "where", "then", "else", NULL };
static const char *const joining[]    = { "for", "where", "then", "else", "in", NULL };
static const char *const leading[]    = { "if", "return", NULL };

static bool ends_operand(const Formatter *f, size_t at);

/* Is the name at `at` a word of the language here? Words that join two operands stand after one; a name never does. */
static bool is_word(const Formatter *f, size_t at)
{
    return is_one_of(&f->tokens[at], leading) ||
           (is_one_of(&f->tokens[at], joining) && at > 0 && ends_operand(f, at - 1));
}

static bool is_assignment(TokenKind k)
{
    return k == T_SET || k == T_ADD_SET || k == T_MUL_SET || k == T_MIN_SET || k == T_MAX_SET;
}

/* Can an expression end in this token? Then a minus after it is binary, and a name after it begins something new. */
static bool ends_operand(const Formatter *f, size_t at)
{
    const TokenKind k = f->tokens[at].kind;
    return k == T_INT || k == T_FLOAT || k == T_RPAREN || k == T_RBRACKET || k == T_RBRACE || k == T_STRING ||
           (k == T_NAME && !is_word(f, at));
}

static bool apart(const Token *a, const Token *b)
{
    return a->loc.end < b->loc.start;
}

/* Is there a space around the binary operator at `at`? Comparisons and logic have one, arithmetic as it was written. */
static bool operator_spaced(const Formatter *f, size_t at)
{
    const int b = binary_binding(f->tokens[at].kind);
    return b <= 4 || f->tokens[at].first || apart(&f->tokens[at - 1], &f->tokens[at]) ||
           apart(&f->tokens[at], &f->tokens[at + 1]);
}

static bool is_binary(const Formatter *f, size_t at)
{
    return at > 0 && binary_binding(f->tokens[at].kind) && ends_operand(f, at - 1);
}

/* A space before token `at`, which is not the first of its line? */
static bool space_before(const Formatter *f, size_t at, int parens)
{
    const Token *a = &f->tokens[at - 1], *b = &f->tokens[at];
    if (b->kind == T_COMMENT || a->kind == T_COMMENT)
        return true;
    if (a->kind == T_LPAREN || a->kind == T_LBRACKET || a->kind == T_DOT || b->kind == T_DOT)
        return false;
    if (b->kind == T_RPAREN || b->kind == T_RBRACKET || b->kind == T_COMMA || b->kind == T_LBRACKET)
        return false;
    if (b->kind == T_COLON)
        return parens == 0;
    if (a->kind == T_COMMA || a->kind == T_COLON)
        return true;
    if (a->kind == T_REST || b->kind == T_REST)
        return false;
    if (a->kind == T_LBRACE && b->kind == T_RBRACE)
        return false;
    if (is_binary(f, at))
        return operator_spaced(f, at);
    if (binary_binding(a->kind) || a->kind == T_NOT || a->kind == T_BITNOT)
        return at >= 2 && is_binary(f, at - 1) && operator_spaced(f, at - 1);
    if (b->kind == T_LPAREN)
        return !ends_operand(f, at - 1) || a->kind == T_RBRACE || a->kind == T_INT || a->kind == T_FLOAT;
    return true;
}

/* How many spaces stand before token `at`: two or more are somebody's columns and stay, one or none is set. */
static int gap(const Formatter *f, size_t at, int parens)
{
    const int written = (int)(f->tokens[at].loc.start - f->tokens[at - 1].loc.end);
    if (written > 1)
        return written;
    return f->tokens[at].kind == T_COMMENT ? 2 : space_before(f, at, parens);
}

static int source_column(const Token *t)
{
    int c = 0;
    while (t->loc.start > (uint32_t)c && t->loc.source->text[t->loc.start - (uint32_t)c - 1] != '\n')
        c++;
    return c;
}

/* Does a line whose first token is `at` begin something new? */
static bool begins_item(const Formatter *f, size_t at, int parens)
{
    const Token *t = &f->tokens[at];
    if (parens > 0)
        return false;
    if (t->kind == T_COMMENT || t->kind == T_RBRACE)
        return true;
    size_t before = at;
    while (before > 0 && f->tokens[before - 1].kind == T_COMMENT)
        before--;
    if (before == 0)
        return true;
    const TokenKind last = f->tokens[before - 1].kind;
    if (last == T_LBRACE || last == T_RBRACE)
        return !(last == T_RBRACE && binary_binding(t->kind));
    return t->kind == T_NAME && !is_one_of(t, continuing) && ends_operand(f, before - 1);
}

/* Splits the tokens into lines and sets each one's text. */
static void split_lines(Formatter *f)
{
    int depth = 0, parens = 0;
    for (size_t i = 0; i < f->count;) {
        Line line = {
            .first = i, .set_at = -1, .column = source_column(&f->tokens[i]), .blank_before = f->tokens[i].newlines > 1
        };
        line.begins     = begins_item(f, i, parens);
        line.depth      = depth - (f->tokens[i].kind == T_RBRACE && depth > 0);
        const int outer = parens;
        Text      text;
        text_init(&text, f->arena);
        do {
            const Token *t = &f->tokens[i];
            if (i > line.first)
                text_printf(&text, "%*s", gap(f, i, parens), "");
            if (line.set_at < 0 && is_assignment(t->kind) && parens == 0 && outer == 0 && depth == line.depth)
                line.set_at = (int)text.count, line.set_length = (int)(t->loc.end - t->loc.start);
            text_add_n(&text, t->loc.source->text + t->loc.start, t->loc.end - t->loc.start);
            depth += (t->kind == T_LBRACE) - (t->kind == T_RBRACE && depth > 0);
            parens += (t->kind == T_LPAREN || t->kind == T_LBRACKET) -
                      ((t->kind == T_RPAREN || t->kind == T_RBRACKET) && parens > 0);
            i++;
        } while (i < f->count && !f->tokens[i].first);
        while (text.count && (text.at[text.count - 1] == ' ' || text.at[text.count - 1] == '\r'))
            text.at[--text.count] = 0;
        line.end  = i;
        line.text = text_string(&text);
        vec_push(f->arena, &f->lines, line);
    }
}

/* Is this line a definition f(…) = … whose `=` takes part in alignment? */
static bool aligns(const Formatter *f, const Line *l)
{
    const TokenKind second = l->first + 1 < l->end ? f->tokens[l->first + 1].kind : T_END;
    return l->begins && l->set_at >= 0 && (second == T_LPAREN || second == T_LBRACKET || is_assignment(second));
}

/* Where the sign of a definition ends: signs of different length are set right. */
static int set_end(const Line *l)
{
    return l->set_at + l->set_length;
}

/* Moves the sign of a line to end at a column; -1: to one space after what stands before it. */
static void move_set(Formatter *f, Line *l, int column)
{
    int end = l->set_at;
    while (end > 0 && l->text[end - 1] == ' ')
        end--;
    const int at = column < 0 ? end + 1 : column - l->set_length;
    l->text      = arena_printf(f->arena, "%.*s%*s%s", end, l->text, at - end, "", l->text + l->set_at);
    l->set_at    = at;
}

/* Puts the signs of the definitions among lines [from, to) under each other, unless they are so already or far
 * apart. */
static void align_group(Formatter *f, size_t from, size_t to)
{
    enum { FAR = 16 };
    int  most = 0, least = INT32_MAX, count = 0;
    bool even = true;
    for (size_t i = from; i < to; i++)
        if (f->lines.at[i].begins) {
            even &= set_end(&f->lines.at[i]) == set_end(&f->lines.at[from]);
            count++;
        }
    if (even && count > 1)
        return;
    for (size_t i = from; i < to; i++)
        if (f->lines.at[i].begins) {
            move_set(f, &f->lines.at[i], -1);
            most  = set_end(&f->lines.at[i]) > most ? set_end(&f->lines.at[i]) : most;
            least = set_end(&f->lines.at[i]) < least ? set_end(&f->lines.at[i]) : least;
        }
    for (size_t i = from; i < to && most - least <= FAR; i++)
        if (f->lines.at[i].begins)
            move_set(f, &f->lines.at[i], most);
}

/* Groups are definitions on consecutive lines; lines that go on a definition do not part it from the next. */
static void align_lines(Formatter *f)
{
    for (size_t i = 0, end; i<f->lines.count; i = end> i ? end : i + 1)
        for (end = i; end < f->lines.count; end++) {
            const Line *l = &f->lines.at[end];
            const bool  part =
                l->begins && !(aligns(f, l) && l->depth == f->lines.at[i].depth && (end == i || !l->blank_before));
            if (part || end + 1 == f->lines.count) {
                end += !part;
                align_group(f, i, end);
                break;
            }
        }
}

static void write_lines(const Formatter *f, Text *out)
{
    int from = 0, to = 0; /* where the `=` (or the beginning) of the current item stood, and where it stands now */
    for (size_t i = 0; i < f->lines.count; i++) {
        const Line *l      = &f->lines.at[i];
        int         indent = l->depth * 4;
        if (l->begins) {
            from = l->column;
            to   = indent;
        } else {
            indent = l->column - from + to;
            indent = indent < l->depth * 4 + 4 ? l->depth * 4 + 4 : indent;
        }
        if (l->begins && aligns(f, l)) {
            const Token *set = &f->tokens[l->first];
            while (!is_assignment(set->kind))
                set++;
            from = source_column(set);
            to   = indent + l->set_at;
        }
        text_printf(out, "%s%*s%s\n", i && l->blank_before ? "\n" : "", indent, "", l->text);
    }
}

typedef struct FormatCall {
    kn_context *cx;
    const char *name, *text, *result;
    size_t      length;
} FormatCall;

static void format(void *arg)
{
    FormatCall *call   = arg;
    Arena      *arena  = &call->cx->call;
    Source     *source = ARENA_NEW(arena, Source);
    *source = (Source){ arena_strdup(arena, call->name), arena_strndup(arena, call->text, call->length), call->length };
    parse_program(call->cx, arena, source);
    if (call->cx->error_count)
        return;
    Tokens tokens = { 0 };
    lex(call->cx, arena, source, true, &tokens);
    Formatter f = { .arena = arena, .tokens = tokens.items.at, .count = tokens.items.count - 1 };
    Text      out;
    text_init(&out, arena);
    split_lines(&f);
    align_lines(&f);
    write_lines(&f, &out);
    call->result = arena_strdup(&call->cx->arena, text_string(&out));
}

const char *kn_format(kn_context *cx, const char *name, const char *text, ptrdiff_t length)
{
    if (!cx)
        return NULL;
    context_begin(cx);
    if (!name || !text) {
        diag_status(cx, KN_ERROR_ARGUMENT, "kn_format needs a name and a text");
        return NULL;
    }
    FormatCall call = { cx, name, text, NULL, length < 0 ? strlen(text) : (size_t)length };
    return context_call(cx, format, &call) ? call.result : NULL;
}
