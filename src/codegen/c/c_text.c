/* SPDX-License-Identifier: MIT */
/* Scopes as texts, lines, declarations and names.
 *
 * Takes   pieces of C.
 * Gives   lines of at most LINE_WIDTH columns, indented as deep as their scope.
 * Holds   what is declared at a level stands before the block that was open inside it.
 */
#include "codegen/c/c.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *c_print(CGen *g, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n  = vsnprintf(NULL, 0, format, args);
    char     *at = arena_alloc(g->arena, (size_t)n + 1);
    vsnprintf(at, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return at;
}

void c_fail(CGen *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(g->why, sizeof g->why, format, args);
    va_end(args);
    longjmp(g->bail, 1);
}

/* ---- Names ---- */

/* Words of C, of the headers that the file includes, and of the file itself. */
static const char taken[] =
    " auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool asm "
    "bool "
    "true false typeof NULL INFINITY NAN errno linux unix stdin stdout stderr args status memcpy memset floor floorf "
    "ceil ceilf trunc truncf rint rintf sqrt sqrtf fabs fabsf fma fmaf i a b c m p v r closure lane held ports ";

const char *c_identifier(CGen *g, const char *name)
{
    char  *s = arena_alloc(g->arena, strlen(name) + 3);
    size_t n = 0;
    if (!isalpha((unsigned char)name[0]))
        s[n++] = 'v';
    for (const char *c = name; *c; c++)
        if (isalnum((unsigned char)*c))
            s[n++] = *c;
        else if (n && s[n - 1] != '_')
            s[n++] = '_';
    while (n > 1 && s[n - 1] == '_')
        n--;
    s[n] = 0;
    if (*g->dialect->name_end)
        return c_print(g, "%s%s", s, g->dialect->name_end);
    if (strstr(taken, c_print(g, " %s ", s)) || map_get(&g->symbols, intern(g->program->cx, s)) ||
        !strncmp(s, "kn_", 3) || !strncmp(s, "KN_", 3))
        s[n] = '_', s[n + 1] = 0;
    return s;
}

const char *c_fresh(CGen *g, Map *used, const char *wanted)
{
    const char *name = wanted;
    for (int n = 2; map_get(used, intern(g->program->cx, name)); n++)
        name = c_print(g, "%s_%d", wanted, n);
    map_set(used, intern(g->program->cx, name), name);
    return name;
}

/* ---- Lines ---- */

/* Where to break the line: at the last space of those in the fewest parentheses, in the second half of the line. */
static size_t break_at(const char *line, size_t most)
{
    size_t found = 0;
    int    depth = 0, best = 0;
    bool   literal = false;
    for (size_t i = 0; line[i] && (i <= most || !found); i++) {
        literal ^= line[i] == '"';
        if (literal)
            continue;
        depth += (line[i] == '(' || line[i] == '[') - (line[i] == ')' || line[i] == ']');
        if (line[i] == ' ' && (!found || depth <= best || found < most / 2)) {
            found = i;
            best  = depth;
        }
    }
    return found;
}

void c_text_wrapped(CGen *g, Text *t, int indent, const char *line)
{
    (void)g;
    int more = 0;
    while (strlen(line) + INDENT * (size_t)indent + (size_t)more > LINE_WIDTH) {
        const size_t n = break_at(line, LINE_WIDTH - INDENT * (size_t)indent - (size_t)more);
        if (!n || !line[n])
            break;
        text_printf(t, "%*s%.*s\n", INDENT * indent + more, "", (int)n, line);
        line += n + 1;
        more = 2 * INDENT;
    }
    text_printf(t, "%*s%s\n", INDENT * indent + more, "", line);
}

void c_line(CGen *g, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n  = vsnprintf(NULL, 0, format, args);
    char     *at = arena_alloc(g->arena, (size_t)n + 1);
    vsnprintf(at, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    CScope *s = &g->scopes[g->depth];
    c_text_wrapped(g, &s->text, s->indent, at);
}

/* A comment of one or more lines. */
void c_comment(CGen *g, const char *text)
{
    CScope      *s     = &g->scopes[g->depth];
    const size_t width = LINE_WIDTH - INDENT * (size_t)s->indent - 6;
    const char  *begin = "/* ";
    while (strlen(text) > width) {
        size_t n = width;
        while (n && text[n] != ' ')
            n--;
        if (!n)
            break;
        text_printf(&s->text, "%*s%s%.*s\n", INDENT * s->indent, "", begin, (int)n, text);
        text += n + 1;
        begin = " * ";
    }
    text_printf(&s->text, "%*s%s%s */\n", INDENT * s->indent, "", begin, text);
}

/* ---- Scopes ---- */

void c_scope_push(CGen *g, const char *header)
{
    if (++g->depth == MOST_SCOPES)
        c_fail(g, "its loops are nested too deep");
    CScope *s = &g->scopes[g->depth];
    s->header = header;
    s->indent = header ? g->scopes[g->depth - 1].indent + 1 : 1;
    text_init(&s->text, g->arena);
    map_init(&s->names, g->arena);
}

const char *c_scope_take(CGen *g)
{
    return text_string(&g->scopes[g->depth--].text);
}

void c_scope_pop(CGen *g)
{
    const char *header = g->scopes[g->depth].header, *body = c_scope_take(g);
    CScope     *outer = &g->scopes[g->depth];
    c_text_wrapped(g, &outer->text, outer->indent, header);
    text_printf(&outer->text, "%s%*s}\n", body, INDENT * outer->indent, "");
}

typedef struct Declared {
    const char *name;
    int64_t     offset; /* that it has beyond the text it is found by */
} Declared;

CValue c_declare_value(CGen *g, int level, const char *type, const char *hint, CValue v)
{
    /* Another statement may have written what this one reads: it reads again. */
    const unsigned  reader = v.reads ? (unsigned)g->statement : 0;
    CScope         *s      = &g->scopes[level];
    const char     *key    = intern(g->program->cx, c_print(g, "%u %s %s = %s", reader, type, hint, v.text));
    const Declared *known  = map_get(&s->names, key);
    if (!known) {
        Declared *d = ARENA_NEW(g->arena, Declared);
        d->name     = c_fresh(g, &g->f->used, hint);
        d->offset   = v.offset;
        map_set(&s->names, key, d);
        c_text_wrapped(g, &s->text, s->indent, c_print(g, "%s %s = %s;", type, d->name, c_full(g, v)));
        known = d;
    }
    v.text = known->name;
    v.offset -= known->offset;
    v.prec  = P_PRIMARY;
    v.level = level;
    v.reads = false;
    return v;
}

const char *c_declare(CGen *g, int level, const char *type, const char *hint, const char *text)
{
    return c_declare_value(g, level, type, hint, (CValue){ .text = text }).text;
}

/* ---- Operands ---- */

const char *c_operand(CGen *g, CValue v, Precedence at_least)
{
    const char      *text = c_full(g, v);
    const Precedence prec = v.offset ? (v.text ? P_ADD : v.offset < 0 ? P_UNARY : P_PRIMARY) : v.prec;
    return prec >= at_least ? text : c_print(g, "(%s)", text);
}

const char *c_full(CGen *g, CValue v)
{
    if (!v.text)
        return c_print(g, "%lld", (long long)v.offset);
    if (!v.offset)
        return v.text;
    const char *text = v.prec >= P_ADD ? v.text : c_print(g, "(%s)", v.text);
    return v.offset < 0 ? c_print(g, "%s - %lld", text, -(long long)v.offset)
                        : c_print(g, "%s + %lld", text, (long long)v.offset);
}
