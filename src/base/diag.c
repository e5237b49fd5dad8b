/* SPDX-License-Identifier: MIT */
/* Diagnostics: collected in the context, shown as text with the line and a caret. */
#include "base/context.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const severity_name[] = { [KN_ERROR] = "error", [KN_WARNING] = "warning", [KN_NOTE] = "note" };

/* A diagnostic to be added. */
typedef struct Addition {
    kn_context *cx;
    kn_severity severity;
    WarningId   warning;
    ErrorId     error;
    kn_status   status;
    Loc         loc;
    const char *remedy, *format;
    va_list     args;
} Addition;

/* The same words at the same place say nothing new. */
static bool said_already(const kn_context *cx, Loc loc, const char *message)
{
    for (size_t i = 0; loc.source && i < cx->diags.count; i++) {
        const Diag *d = &cx->diags.at[i];
        if (d->loc.source == loc.source && d->loc.start == loc.start && !strcmp(d->message, message))
            return true;
    }
    return false;
}

/* Warnings are counted apart from errors and notes, so that neither takes the place of the other. */
static bool no_room(const kn_context *cx, kn_severity severity)
{
    int kept = 0;
    for (size_t i = 0; i < cx->diags.count; i++)
        kept += (cx->diags.at[i].severity == KN_WARNING) == (severity == KN_WARNING);
    return kept >= cx->config.max_errors;
}

static void add(void *arg)
{
    Addition   *a  = arg;
    kn_context *cx = a->cx;
    va_list     again;
    va_copy(again, a->args);
    const int n       = vsnprintf(NULL, 0, a->format, a->args);
    char     *message = arena_alloc(&cx->call, (size_t)(n < 0 ? 0 : n) + 1);
    vsnprintf(message, (size_t)(n < 0 ? 0 : n) + 1, a->format, again);
    va_end(again);

    if (a->severity != KN_NOTE) {
        cx->muted = said_already(cx, a->loc, message);
        if (cx->muted)
            return;
        cx->error_count += a->severity == KN_ERROR;
        cx->warning_count += a->severity == KN_WARNING;
        cx->status = cx->status ? cx->status : a->status;
        cx->muted  = no_room(cx, a->severity);
    }
    if (cx->muted || no_room(cx, a->severity))
        return;
    const char *remedy = a->remedy ? arena_strdup(&cx->call, a->remedy) : NULL;
    vec_push(&cx->call, &cx->diags, ((Diag){ a->severity, a->warning, a->error, a->loc, message, remedy }));
}

/* An API function may add one before it has begun a context_try: then running out of memory ends here. */
static void add_safely(Addition *a)
{
    if (a->cx->tries)
        add(a);
    else
        context_try(a->cx, add, a);
}

void diag_error_list(kn_context *cx, ErrorId id, Loc loc, const char *remedy, const char *format, va_list args)
{
    Addition a = { .cx       = cx,
                   .severity = KN_ERROR,
                   .warning  = WARNING_COUNT,
                   .error    = id,
                   .status   = KN_ERROR_PROGRAM,
                   .loc      = loc,
                   .remedy   = remedy,
                   .format   = format };
    va_copy(a.args, args);
    add_safely(&a);
    va_end(a.args);
}

void diag_error(kn_context *cx, Loc loc, const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_error_list(cx, ERROR_PROGRAM, loc, remedy, format, args);
    va_end(args);
}

void diag_error_as(kn_context *cx, ErrorId id, Loc loc, const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_error_list(cx, id, loc, remedy, format, args);
    va_end(args);
}

void diag_warning(kn_context *cx, WarningId id, Loc loc, const char *remedy, const char *format, ...)
{
    Addition a = { .cx       = cx,
                   .severity = KN_WARNING,
                   .warning  = id,
                   .error    = ERROR_COUNT,
                   .loc      = loc,
                   .remedy   = remedy,
                   .format   = format };
    cx->muted  = cx->silent[id];
    if (cx->silent[id])
        return;
    va_start(a.args, format);
    add_safely(&a);
    va_end(a.args);
}

void diag_note(kn_context *cx, Loc loc, const char *format, ...)
{
    Addition a = {
        .cx = cx, .severity = KN_NOTE, .warning = WARNING_COUNT, .error = ERROR_COUNT, .loc = loc, .format = format
    };
    va_start(a.args, format);
    add_safely(&a);
    va_end(a.args);
}

kn_status diag_status(kn_context *cx, kn_status status, const char *format, ...)
{
    Addition a = { .cx       = cx,
                   .severity = KN_ERROR,
                   .warning  = WARNING_COUNT,
                   .error    = error_of_status(status),
                   .status   = status,
                   .format   = format };
    va_start(a.args, format);
    add_safely(&a);
    va_end(a.args);
    return status;
}

bool diag_has(const kn_context *cx, ErrorId id)
{
    for (size_t i = 0; i < cx->diags.count; i++)
        if (cx->diags.at[i].severity == KN_ERROR && cx->diags.at[i].error == id)
            return true;
    return cx->bailed && cx->bailed_error == id;
}

Loc loc_join(Loc a, Loc b)
{
    if (a.source != b.source || !b.source)
        return a.source ? a : b;
    return (Loc){ a.source, a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end };
}

/* A byte that begins a character of UTF-8 (or is no UTF-8 at all). */
static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Line and column (both from 1, the column in characters) of a place. */
static void loc_position(Loc loc, int *line, int *column)
{
    *line = *column = 0;
    if (!loc.source)
        return;
    *line = *column = 1;
    for (size_t i = 0; i < loc.start && i < loc.source->length; i++) {
        if (loc.source->text[i] == '\n') {
            ++*line;
            *column = 1;
        } else if (begins_character(loc.source->text[i])) {
            ++*column;
        }
    }
}

/* The line of the place, of a long one a window around it, and carets under the place. */
static void render_line(Text *out, Loc loc)
{
    enum { WIDTH = 120, BEFORE = 70 };
    const char *text = loc.source->text;
    size_t      from = loc.start < loc.source->length ? loc.start : loc.source->length, to = from;
    while (from > 0 && text[from - 1] != '\n')
        from--;
    while (to < loc.source->length && text[to] != '\n')
        to++;
    if (to - from > WIDTH) {
        from = loc.start - from > BEFORE ? loc.start - BEFORE : from;
        to   = to - from > WIDTH ? from + WIDTH : to;
    }
    while (from < to && from < loc.start && !begins_character(text[from]))
        from++;
    while (to < loc.source->length && to > from && !begins_character(text[to]))
        to--;
    Text carets;
    text_init(&carets, out->arena);
    text_add(out, "    ");
    text_add(&carets, "    ");
    for (size_t i = from; i < to; i++) {
        const unsigned char c     = (unsigned char)text[i];
        const char          shown = c < 32 || c == 127 ? ' ' : (char)c;
        text_add_n(out, &shown, 1);
        if (i == loc.start || (begins_character(text[i]) && i < (loc.end > loc.start ? loc.end : loc.start)))
            text_add(&carets, i < loc.start ? " " : "^");
    }
    if (loc.start >= to)
        text_add(&carets, "^");
    text_printf(out, "\n%s\n", text_string(&carets));
}

static void render(Text *out, const Diag *d)
{
    if (d->loc.source) {
        int line, column;
        loc_position(d->loc, &line, &column);
        text_printf(out, "%s:%d:%d: ", d->loc.source->name, line, column);
    }
    text_printf(out, "%s: %s", severity_name[d->severity], d->message);
    if (d->severity == KN_WARNING)
        text_printf(out, " [%s]", warning_table[d->warning].name);
    text_add(out, "\n");
    if (d->loc.source)
        render_line(out, d->loc);
    if (d->remedy)
        text_printf(out, "    = %s\n", d->remedy);
}

/* How many were not kept. */
static void render_rest(Text *out, int count, const char *what)
{
    if (count > 0)
        text_printf(out, "… and %d more %s%s\n", count, what, count == 1 ? "" : "s");
}

typedef struct RenderCall {
    kn_context *cx;
    const char *text;
} RenderCall;

static void render_all(void *arg)
{
    RenderCall *call = arg;
    kn_context *cx   = call->cx;
    Text        out;
    text_init(&out, &cx->call);
    int shown = 0, warned = 0;
    for (size_t i = 0; i < cx->diags.count; i++) {
        render(&out, &cx->diags.at[i]);
        shown += cx->diags.at[i].severity == KN_ERROR;
        warned += cx->diags.at[i].severity == KN_WARNING;
    }
    if (cx->bailed) {
        text_printf(&out, "error: %s\n", cx->bailed);
        shown++;
    }
    render_rest(&out, cx->error_count - shown, "error");
    render_rest(&out, cx->warning_count - warned, "warning");
    call->text = text_string(&out);
}

const char *kn_error_text(kn_context *cx)
{
    if (!cx)
        return "error: no context was given\n";
    RenderCall call = { cx, "" };
    return context_try(cx, render_all, &call) ? call.text : "error: out of memory\n";
}

int kn_diagnostic_count(kn_context *cx)
{
    return cx ? (int)cx->diags.count + (cx->bailed != NULL) : 0;
}

kn_diagnostic kn_diagnostic_get(kn_context *cx, int index)
{
    if (!cx || index < 0 || index >= kn_diagnostic_count(cx))
        return (kn_diagnostic){ .severity = KN_NOTE, .file = "", .message = "" };
    if ((size_t)index == cx->diags.count)
        return (kn_diagnostic){
            .severity = KN_ERROR, .file = "", .message = cx->bailed, .error = error_table[cx->bailed_error].name
        };
    const Diag   *d = &cx->diags.at[index];
    kn_diagnostic r = { .severity = d->severity,
                        .file     = d->loc.source ? d->loc.source->name : "",
                        .message  = d->message,
                        .warning  = d->severity == KN_WARNING ? warning_table[d->warning].name : NULL,
                        .error    = d->severity == KN_ERROR ? error_table[d->error].name : NULL };
    loc_position(d->loc, &r.line, &r.column);
    return r;
}
