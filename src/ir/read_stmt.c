/* SPDX-License-Identifier: MIT */
/* Statements and programs read from text, by the form of each record (ir/fields.h).
 *
 * Takes   what stmt_print or program_print has printed.
 * Gives   the same statement, over expressions of the program's pool.
 * Holds   an optional part of a form is tried, and left out where it cannot be read; the diagnostic is about the place
 *         where reading came furthest. */
#include "ir/read.h"

#include "ir/reader.h"

/* Where a form is: the record, and the element of a list. */
typedef struct Spot {
    const Record *record;
    char         *at;
    int           index;
} Spot;

enum { MOST_ELEMENTS = 64 }; /* of a list of statements' fields */

static void read_form(Reader *r, Spot spot, const char *form, const char *end);

static void read_record(Reader *r, const Record *record, char *at)
{
    read_form(r, (Spot){ record, at, 0 }, record->form, record->form + strlen(record->form));
}

/* ---- Fields ------------------------------------------------------------------------------- */

static int read_word(Reader *r, const char *expected, int count, const char *(*word)(int i))
{
    for (int i = 0; i < count; i++)
        if (read_take(r, word(i)))
            return i;
    read_fail(r, expected);
    return 0;
}

static const char *loop_word(int i)
{
    return loop_table[i].keyword;
}

static const char *memory_word(int i)
{
    return memory_table[i].name;
}

static const char *kind_word(int i)
{
    return buffer_kind_names[i];
}

/* The array that a field points to, of MOST_ELEMENTS; made for the first. */
static void *elements(Reader *r, char *field, size_t size)
{
    char *list;
    memcpy(&list, field, sizeof list);
    if (!list) {
        list = arena_alloc(r->program->arena, MOST_ELEMENTS * size);
        memcpy(field, &list, sizeof list);
    }
    return list;
}

/* The record that a field points to, made here. */
static char *pointed(Reader *r, char *field, const Record *record)
{
    char *one = arena_alloc(r->program->arena, record->size);
    memcpy(field, &one, sizeof one);
    return one;
}

static void read_field(Reader *r, const Field *f, Spot spot)
{
    char *const v = spot.at + f->offset;
    const int   i = spot.index;
    switch (f->kind) {
    case FIELD_NAME: *(const char **)v = read_name(r); break;
    case FIELD_NAMES: ((const char **)elements(r, v, sizeof(char *)))[i] = read_name(r); break;
    case FIELD_TEXT: *(const char **)v = read_quoted(r); break;
    case FIELD_INT:
    case FIELD_STATUS: *(int *)v = (int)read_integer(r); break;
    case FIELD_INT_PAIR:
        ((int *)v)[0] = (int)read_integer(r);
        ((int *)v)[1] = (int)read_integer(r);
        break;
    case FIELD_INT64_PAIR:
        ((int64_t *)v)[0] = read_integer(r);
        ((int64_t *)v)[1] = read_integer(r);
        break;
    case FIELD_INT64S: ((int64_t *)elements(r, v, sizeof(int64_t)))[i] = read_integer(r); break;
    case FIELD_TYPE: *(int *)v = (int)read_type(r); break;
    case FIELD_LOOP_KIND: *(int *)v = read_word(r, "a loop", LOOP_COUNT, loop_word); break;
    case FIELD_MEMORY: *(int *)v = read_word(r, "a kind of memory", MEMORY_COUNT, memory_word); break;
    case FIELD_BUFFER_KIND: *(int *)v = read_word(r, "a kind of buffer", BUFFER_KIND_COUNT, kind_word); break;
    case FIELD_BUFFER: *(const Buffer **)v = read_buffer(r); break;
    case FIELD_FUNC: *(const Func **)v = read_func(r); break;
    case FIELD_EXPR: *(const Expr **)v = read_expr(r); break;
    case FIELD_EXPRS: ((const Expr **)elements(r, v, sizeof(Expr *)))[i] = read_expr(r); break;
    case FIELD_OPERAND: read_record(r, field_record(f->kind), v); break;
    case FIELD_STAGE:
    case FIELD_SLIDING: read_record(r, field_record(f->kind), pointed(r, v, field_record(f->kind))); break;
    case FIELD_FLAG:
    case FIELD_BODY:
    case FIELD_ELSE:
    case FIELD_STMTS:
    case FIELD_OPERANDS:
    case FIELD_PLACES: break;
    }
}

/* ---- Forms -------------------------------------------------------------------------------- */

/* A list up to where no comma follows. Its count is set; a list that was read before has as many. */
static void read_each(Reader *r, Spot spot, const Field *f, char *at, const char *form, const char *end)
{
    const Record *inner = field_record(f->kind);
    int          *count = (int *)(at + (inner ? f->count : f->offset));
    char         *list  = inner ? elements(r, at + f->offset, inner->size) : NULL;
    int           n     = 0;
    if (!read_is_next(r, ")")) /* an empty list stands between parentheses */
        do {
            if (n == MOST_ELEMENTS) {
                read_fail(r, "a shorter list");
                return;
            }
            const Spot element =
                inner ? (Spot){ inner, list + (size_t)n * inner->size, n } : (Spot){ spot.record, spot.at, n };
            read_form(r, element, form, end);
            n++;
        } while (read_take(r, ","));
    *count = n;
}

/* An optional part: what cannot be read is as if it was not tried. */
static bool try_form(Reader *r, Spot spot, const char *form, const char *end)
{
    const char *back = r->at;
    char        kept[sizeof(Stmt) + sizeof(StageCall)];
    memcpy(kept, spot.at, spot.record->size);
    read_form(r, spot, form, end);
    if (!r->failed)
        return true;
    memcpy(spot.at, kept, spot.record->size);
    r->at     = back;
    r->failed = false;
    return false;
}

/* What a field is that is not there. */
static void leave_out(Reader *r, const Field *f, char *at)
{
    if (f->kind == FIELD_INT)
        *(int *)(at + f->offset) = -1;
    else if (f->kind == FIELD_INT64S)
        elements(r, at + f->offset, sizeof(int64_t));
}

/* The last optional part: one with the other mark about the same field is its alternative. */
typedef struct Choice {
    const Field *field;
    char         mark;
    bool         taken;
} Choice;

static void read_optional(Reader *r, Spot spot, const Field *f, char *at, Choice now, const char *form, const char *end,
                          Choice *last)
{
    const bool second = last->field == f && last->mark != now.mark;
    if (second && last->taken)
        return;
    now.taken = try_form(r, spot, form, end);
    if (now.taken && f->kind == FIELD_FLAG)
        *(bool *)(at + f->offset) = true;
    else if (!now.taken && second)
        r->failed = true;
    else if (!now.taken)
        leave_out(r, f, at);
    *last = now;
}

/* Literal text up to the next mark. */
static const char *read_literal(Reader *r, const char *form, const char *end)
{
    char   word[64];
    size_t n = 0;
    while (form < end && *form != ' ' && !strchr("$%?!@<>", *form) && n + 1 < sizeof word)
        word[n++] = *form++;
    word[n] = 0;
    if (n && !read_take(r, word))
        read_fail(r, intern(r->program->cx, word));
    while (form < end && *form == ' ')
        form++;
    return form;
}

static const Field *find_field(const Record *record, const char *name, size_t length, char **at)
{
    const char  *from = *at;
    const Field *f    = record_field(record, name, length, &from);
    *at += from - *at;
    return f;
}

static void read_form(Reader *r, Spot spot, const char *form, const char *end)
{
    Choice last = { 0 };
    while (form < end && !r->failed) {
        const char mark = *form;
        if (mark == '<' || mark == '>') {
            const char *close = memchr(form, '>', (size_t)(end - form));
            if (mark == '<') /* is not there in short text */
                try_form(r, spot, form + 1, close);
            form = close + 1;
            continue;
        }
        if (!strchr("$%?!@", mark)) {
            form = read_literal(r, form, end);
            continue;
        }
        char        *at     = spot.at;
        const size_t length = form_name(++form);
        const Field *f      = find_field(spot.record, form, length, &at);
        form += length;
        if (mark == '$' && f) {
            read_field(r, f, (Spot){ spot.record, at, spot.index });
        } else if (mark == '$') {
            read_record(r, spot.record, spot.at);
        } else if (mark == '%') {
            read_type(r);
            *(const Buffer **)(at + f->offset) = read_buffer(r);
        } else {
            const char *close = form_close(form);
            if (mark == '@')
                read_each(r, spot, f, at, form + 1, close);
            else
                read_optional(r, spot, f, at, (Choice){ f, mark, false }, form + 1, close, &last);
            form = close + 1;
        }
    }
}

/* ---- Lines -------------------------------------------------------------------------------- */

static const Stmt *read_block(Reader *r, int depth);

static bool read_indent(Reader *r, int depth)
{
    int n = 0;
    while (r->at[n] == ' ')
        n++;
    if (r->failed || !r->at[n] || n != 2 * depth)
        return false;
    r->at += n;
    return true;
}

static bool read_else(Reader *r, int depth)
{
    const char *back = r->at;
    if (read_indent(r, depth) && read_take(r, "else") && read_take(r, ":") && read_take(r, "\n"))
        return true;
    r->at = back;
    return false;
}

/* What a statement binds for its body. */
static void bind(Reader *r, const Stmt *s)
{
    if (s->kind == STMT_LET)
        read_bind(r, s->let.name, (kn_type)s->let.value->type);
    if (s->kind == STMT_FOR)
        read_bind(r, s->loop.name, (kn_type)s->loop.min->type);
}

/* The sub-statements that follow the line of `s`. */
static const Stmt *read_bodies(Reader *r, const Record *record, Stmt *s, int depth, bool deeper)
{
    for (int i = 0; i < record->count && !r->failed; i++) {
        const Field *f    = &record->fields[i];
        const Stmt **body = (const Stmt **)((char *)s + f->offset);
        if (f->kind == FIELD_BODY || (f->kind == FIELD_ELSE && read_else(r, depth)))
            *body = read_block(r, depth + deeper);
        if (f->kind == FIELD_BODY && !*body && s->kind != STMT_IF)
            return read_fail(r, "a statement inside");
    }
    return s->kind == STMT_IF && !r->failed ? (s->branch.whole ? stmt_if_whole : stmt_if)(
                                                  r->program->arena, s->branch.condition, s->branch.yes, s->branch.no)
                                            : s;
}

/* The kind of the statement that is next: each is tried, those that begin with a word first. */
static const Stmt *read_line(Reader *r, int depth)
{
    const char *start = r->at;
    for (int word = 1; word >= 0; word--)
        for (int kind = 0; kind < STMT_COUNT; kind++) {
            const Record *record = &stmt_records[kind];
            const bool    begins = record->form[0] >= 'a' && record->form[0] <= 'z';
            if (kind == STMT_BLOCK || begins != word)
                continue;
            Stmt *s = arena_alloc(r->program->arena, sizeof *s);
            s->kind = (StmtKind)kind;
            read_record(r, record, (char *)s);
            const bool deeper = read_take(r, ":");
            if (!read_take(r, "\n"))
                read_fail(r, "the end of the line");
            if (!r->failed) {
                bind(r, s);
                return read_bodies(r, record, s, depth, deeper);
            }
            r->at     = start;
            r->failed = false;
        }
    return read_fail(r, "a statement");
}

/* A line `%12 = …`: an expression that is used by its number. */
static bool read_numbered(Reader *r)
{
    if (*r->at != '%')
        return false;
    r->at++;
    const int64_t n = read_integer(r);
    read_expect(r, "=");
    const Expr *e = read_expr(r);
    read_expect(r, "\n");
    if (!r->failed && n != (int64_t)r->numbered.count + 1)
        read_fail(r, "the next number");
    if (!r->failed)
        vec_push(r->program->arena, &r->numbered, e);
    return true;
}

/* The lines of this depth, up to one of less. */
static const Stmt *read_block(Reader *r, int depth)
{
    VEC(const Stmt *) items = { 0 };
    while (read_indent(r, depth))
        if (!read_numbered(r)) {
            const Stmt *s = read_line(r, depth);
            vec_push(r->program->arena, &items, s);
        }
    return r->failed ? NULL : stmt_block(r->program->arena, (int)items.count, items.at);
}

/* ---- Programs ----------------------------------------------------------------------------- */

static void begin(Reader *r, Program *program, const char *text)
{
    *r = (Reader){ .program = program, .text = text, .at = text, .furthest = text };
    map_init(&r->types, program->arena);
    map_init(&r->funcs, program->arena);
}

/* Reports where reading came furthest. */
static void *refuse(Reader *r)
{
    Source *source = arena_alloc(r->program->arena, sizeof *source);
    *source        = (Source){ "statements", r->text, strlen(r->text) };
    uint32_t at    = (uint32_t)(r->furthest - r->text);
    while (r->text[at] == ' ')
        at++;
    const Loc loc = { source, at, at + (r->text[at] != 0) };
    if (!strcmp(r->expected, "\n"))
        r->expected = "the end of the line";
    diag_error(r->program->cx, loc, NULL, "%s is expected here", r->expected);
    return NULL;
}

const Stmt *stmt_read(Program *program, const char *text)
{
    Reader r;
    begin(&r, program, text);
    const Stmt *s = read_block(&r, 0);
    if (!r.failed && *r.at)
        read_fail(&r, "a statement");
    return r.failed ? refuse(&r) : s;
}

static void read_param(Reader *r)
{
    Param *q = arena_alloc(r->program->arena, sizeof *q);
    q->name  = read_name(r);
    read_expect(r, ":");
    q->type = read_type(r);
    vec_push(r->program->arena, &r->program->params, q);
}

static void read_port(Reader *r)
{
    Buffer *b = arena_alloc(r->program->arena, sizeof *b);
    r->at -= strlen("buffer");
    read_record(r, &buffer_record, (char *)b);
    b->id = (int)r->program->buffers.count;
    r->program->port_count += b->kind != BUFFER_SCRATCH;
    vec_push(r->program->arena, &r->program->buffers, b);
}

static void read_function(Reader *r)
{
    Arena *a = r->program->arena;
    Func  *f = arena_alloc(a, sizeof *f);
    f->id    = -1;
    f->args  = ARENA_ARRAY(a, const char *, KN_MAX_RANK);
    f->types = ARENA_ARRAY(a, kn_type, MOST_ELEMENTS);
    f->name  = read_name(r);
    read_expect(r, "(");
    while (!read_take(r, ")") && !r->failed && f->rank < KN_MAX_RANK) {
        f->args[f->rank++] = read_name(r);
        read_take(r, ",");
    }
    read_expect(r, ":");
    do
        f->types[f->component_count++] = read_type(r);
    while (read_take(r, ",") && f->component_count < MOST_ELEMENTS);
    if (!r->failed)
        map_set(&r->funcs, f->name, f);
}

Program *program_read(ExprPool *pool, const char *text)
{
    static const struct {
        const char *word;
        void (*read)(Reader *r);
    } lines[]  = { { "param", read_param }, { "buffer", read_port }, { "func", read_function } };
    Program *p = arena_alloc(pool->arena, sizeof *p);
    *p         = (Program){ .cx = pool->cx, .arena = pool->arena, .exprs = pool };
    Reader r;
    begin(&r, p, text);
    read_expect(&r, "program");
    p->name         = read_name(&r);
    p->title        = read_take(&r, "title") ? read_quoted(&r) : NULL;
    p->strict_float = read_take(&r, "strict");
    read_expect(&r, "\n");
    while (!r.failed && *r.at != '\n') {
        size_t i = 0;
        while (i < sizeof lines / sizeof *lines && !read_take(&r, lines[i].word))
            i++;
        if (i == sizeof lines / sizeof *lines)
            read_fail(&r, "`param`, `buffer`, `func` or an empty line");
        else
            lines[i].read(&r);
        read_expect(&r, "\n");
    }
    read_expect(&r, "\n");
    p->body = read_block(&r, 0);
    if (!r.failed && *r.at)
        read_fail(&r, "a statement");
    return r.failed ? refuse(&r) : p;
}
