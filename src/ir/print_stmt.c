/* SPDX-License-Identifier: MIT */
/* Statements and programs as text: one line each, two blanks per level.
 *
 * Takes   a statement, or a program.
 * Gives   text, by the form of each record (ir/fields.h): for people, or whole.
 * Holds   what is printed whole is read back as the same program (ir/read.h). */
#include "ir/fields.h"
#include "ir/print.h"

#include <inttypes.h>

enum { MOST_NODES = 64 }; /* of an expression in a line; a larger one has parts with lines of their own */

typedef struct Printer {
    Text        *out;
    int          depth;
    ExprNumbers *numbers; /* NULL: for people */
    uint8_t     *nodes;   /* by Expr.id: of its text, up to MOST_NODES + 1; 0: not known */
} Printer;

/* Where a form is: the record, and the element of a list. */
typedef struct FormPlace {
    const Record *record;
    const char   *at;
    int           index;
} FormPlace;

static void print_form(Printer *p, FormPlace place, const char *form, const char *end);

static void print_expr(Printer *p, const Expr *e)
{
    if (p->numbers)
        expr_print_whole(p->out, e, p->numbers, false);
    else
        expr_print(p->out, e);
}

/* ---- Fields ------------------------------------------------------------------------------- */

static void print_quoted(Printer *p, const char *s)
{
    text_add(p->out, "\"");
    for (; *s; s++) {
        if (*s == '\n')
            text_add(p->out, "\\n");
        else
            text_printf(p->out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    }
    text_add(p->out, "\"");
}

static void print_record(Printer *p, const Record *r, const char *at)
{
    print_form(p, (FormPlace){ r, at, 0 }, r->form, r->form + strlen(r->form));
}

static void print_field(Printer *p, const Field *f, const char *at, int index)
{
    const char *const v = at + f->offset;
    switch (f->kind) {
    case FIELD_NAME: text_add(p->out, field_pointer(v)); break;
    case FIELD_NAMES: text_add(p->out, ((const char *const *)field_pointer(v))[index]); break;
    case FIELD_TEXT: print_quoted(p, field_pointer(v)); break;
    case FIELD_INT:
    case FIELD_STATUS: text_printf(p->out, "%d", *(const int *)v); break;
    case FIELD_INT_PAIR: text_printf(p->out, "%d %d", ((const int *)v)[0], ((const int *)v)[1]); break;
    case FIELD_INT64_PAIR:
        text_printf(p->out, "%" PRId64 " %" PRId64, ((const int64_t *)v)[0], ((const int64_t *)v)[1]);
        break;
    case FIELD_INT64S: text_printf(p->out, "%" PRId64, ((const int64_t *)field_pointer(v))[index]); break;
    case FIELD_TYPE: text_add(p->out, type_table[*(const int *)v].name); break;
    case FIELD_LOOP_KIND: text_add(p->out, loop_table[*(const int *)v].keyword); break;
    case FIELD_MEMORY: text_add(p->out, memory_table[*(const int *)v].name); break;
    case FIELD_BUFFER_KIND: text_add(p->out, buffer_kind_names[*(const int *)v]); break;
    case FIELD_BUFFER: buffer_print_name(p->out, *(const Buffer *const *)v, p->numbers); break;
    case FIELD_FUNC: text_add(p->out, (*(const Func *const *)v)->name); break;
    case FIELD_EXPR: print_expr(p, *(const Expr *const *)v); break;
    case FIELD_EXPRS: print_expr(p, ((const Expr *const *)field_pointer(v))[index]); break;
    case FIELD_OPERAND: print_record(p, field_record(f->kind), v); break;
    case FIELD_STAGE:
    case FIELD_SLIDING: print_record(p, field_record(f->kind), field_pointer(v)); break;
    case FIELD_FLAG:
    case FIELD_BODY:
    case FIELD_ELSE:
    case FIELD_STMTS:
    case FIELD_OPERANDS:
    case FIELD_PLACES: break;
    }
}

/* Is the field there? */
static bool is_there(const Field *f, const char *at, int index)
{
    const char *const v = at + f->offset;
    switch (f->kind) {
    case FIELD_FLAG: return *(const bool *)v;
    case FIELD_INT: return *(const int *)v >= 0;
    case FIELD_INT64S: return field_pointer(v) && ((const int64_t *)field_pointer(v))[index] > 0;
    default: return field_pointer(v) != NULL;
    }
}

/* ---- Forms -------------------------------------------------------------------------------- */

static void print_each(Printer *p, FormPlace place, const Field *f, const char *at, const char *form, const char *end)
{
    const Record *inner = field_record(f->kind);
    const int     n     = *(const int *)(at + (inner ? f->count : f->offset));
    for (int i = 0; i < n; i++) {
        text_add(p->out, i ? ", " : "");
        if (inner)
            print_form(p, (FormPlace){ inner, field_pointer(at + f->offset) + (size_t)i * inner->size, i }, form, end);
        else
            print_form(p, (FormPlace){ place.record, place.at, i }, form, end);
    }
}

static void print_form(Printer *p, FormPlace place, const char *form, const char *end)
{
    while (form < end) {
        const char mark = *form++;
        if (mark == '<' && !p->numbers)
            form = memchr(form, '>', (size_t)(end - form)) + 1;
        if (mark == '<' || mark == '>')
            continue;
        if (!strchr("$%?!@", mark)) {
            text_add_n(p->out, &mark, 1);
            continue;
        }
        const char  *at     = place.at;
        const size_t length = form_name(form);
        const Field *f      = record_field(place.record, form, length, &at);
        form += length;
        if (mark == '$' && f)
            print_field(p, f, at, place.index);
        else if (mark == '$')
            print_record(p, place.record, place.at);
        else if (mark == '%') {
            const Buffer *b = *(const Buffer *const *)(at + f->offset);
            text_printf(p->out, "%s ", type_table[b->type].name);
            buffer_print_name(p->out, b, p->numbers);
        } else {
            const char *close = form_close(form);
            if (mark == '@')
                print_each(p, place, f, at, form + 1, close);
            else if (is_there(f, at, place.index) == (mark == '?'))
                print_form(p, place, form + 1, close);
            form = close + 1;
        }
    }
}

/* ---- Lines -------------------------------------------------------------------------------- */

static void begin_line(Printer *p)
{
    for (int i = 0; i < p->depth; i++)
        text_add(p->out, "  ");
}

/* Gives large parts lines of their own, operands first. */
static void define(void *user, const Expr *e)
{
    Printer *p = user;
    if (p->nodes[e->id])
        return;
    int nodes = 1;
    for (uint32_t i = 0; i < e->count; i++) {
        define(p, e->args[i]);
        nodes += p->nodes[e->args[i]->id];
    }
    if (nodes > MOST_NODES) {
        const uint32_t number = ++p->numbers->count;
        begin_line(p);
        text_printf(p->out, "%%%u = ", number);
        expr_print_whole(p->out, e, p->numbers, true);
        text_add(p->out, "\n");
        p->numbers->number[e->id] = number;
        nodes                     = 1;
    }
    p->nodes[e->id] = (uint8_t)nodes;
}

static void print_stmt(Printer *p, const Stmt *s, bool last);

/* The bodies after the line of a statement. That of a let stands at the let's own depth, where nothing follows it. */
static void print_bodies(Printer *p, const Record *r, const Stmt *s, bool deeper)
{
    for (int i = 0; i < r->count; i++) {
        const Stmt *body;
        if (r->fields[i].kind != FIELD_BODY && r->fields[i].kind != FIELD_ELSE)
            continue;
        body = *(const Stmt *const *)((const char *)s + r->fields[i].offset);
        if (!body)
            continue;
        if (r->fields[i].kind == FIELD_ELSE) {
            begin_line(p);
            text_add(p->out, "else:\n");
        }
        p->depth += deeper;
        print_stmt(p, body, true);
        p->depth -= deeper;
    }
}

/* Does the record have a body? */
static bool has_body(const Record *r)
{
    const Field *last = r->count ? &r->fields[r->count - 1] : NULL;
    return last && (last->kind == FIELD_BODY || last->kind == FIELD_ELSE);
}

/* `last`: nothing follows in the same block. */
static void print_stmt(Printer *p, const Stmt *s, bool last)
{
    const Record *r      = &stmt_records[s->kind];
    const bool    deeper = has_body(r) && (s->kind != STMT_LET || (p->numbers && !last));
    if (s->kind == STMT_BLOCK) {
        for (int i = 0; i < s->block.count; i++)
            print_stmt(p, s->block.items[i], last && i + 1 == s->block.count);
        return;
    }
    if (p->numbers)
        stmt_children(s, define, NULL, p);
    begin_line(p);
    print_record(p, r, (const char *)s);
    text_add(p->out, deeper ? ":\n" : "\n");
    print_bodies(p, r, s, deeper);
}

void stmt_print(Text *out, const Stmt *s)
{
    Printer p = { .out = out };
    if (s)
        print_stmt(&p, s, true);
}

/* ---- Programs ----------------------------------------------------------------------------- */

/* The functions that a body speaks of. */
typedef struct Functions {
    ExprPool *pool;
    Text     *out;
    Map       seen, exprs;
} Functions;

static void print_func(Functions *f, const Func *func)
{
    if (!func || map_get(&f->seen, func))
        return;
    map_set(&f->seen, func, func);
    text_printf(f->out, "func %s(", func->name);
    for (int d = 0; d < func->rank; d++)
        text_printf(f->out, "%s%s", d ? ", " : "", func->args[d]);
    text_add(f->out, ") : ");
    for (int c = 0; c < func->component_count; c++)
        text_printf(f->out, "%s%s", c ? ", " : "", type_table[func->types[c]].name);
    text_add(f->out, "\n");
}

static void find_in_expr(void *user, const Expr *e)
{
    Functions *f = user;
    if (map_get(&f->exprs, e))
        return;
    map_set(&f->exprs, e, e);
    if (e->op == EX_CALL)
        print_func(f, e->u.call.func);
    for (uint32_t i = 0; i < e->count; i++)
        find_in_expr(f, e->args[i]);
}

static void find_in_stmt(void *user, const Stmt *s)
{
    Functions *f = user;
    if (s->kind == STMT_PROVIDE)
        print_func(f, s->provide.func);
    if (s->kind == STMT_REALIZE)
        print_func(f, s->realize.func);
    if (s->kind == STMT_PREFETCH)
        print_func(f, s->prefetch.func);
    for (int i = 0; s->kind == STMT_STAGE && i < s->stage->count; i++)
        print_func(f, s->stage->operands[i].func);
    if (s->kind == STMT_STAGE)
        print_func(f, s->stage->output.func);
    stmt_children(s, find_in_expr, find_in_stmt, f);
}

static void print_funcs(Text *out, const Program *program)
{
    Functions f = { .pool = program->exprs, .out = out };
    map_init(&f.seen, out->arena);
    map_init(&f.exprs, out->arena);
    if (program->body)
        find_in_stmt(&f, program->body);
}

/* By Buffer.id: has a buffer before it the same name? Copies of code have storage of their own. */
static bool *find_repeated(Arena *arena, const Program *program)
{
    bool *repeated = ARENA_ARRAY(arena, bool, program->buffers.count);
    Map   names;
    map_init(&names, arena);
    for (size_t i = 0; i < program->buffers.count; i++) {
        const Buffer *b = program->buffers.at[i];
        repeated[i]     = map_get(&names, b->name) != NULL;
        map_set(&names, b->name, b);
    }
    return repeated;
}

void program_print(Text *out, const Program *program)
{
    const size_t exprs   = program->exprs->count;
    ExprNumbers  numbers = { .number   = ARENA_ARRAY(out->arena, uint32_t, exprs),
                             .repeated = find_repeated(out->arena, program) };
    Printer      p       = { .out = out, .numbers = &numbers, .nodes = ARENA_ARRAY(out->arena, uint8_t, exprs) };
    text_printf(out, "program %s", program->name);
    if (program->title) {
        text_add(out, " title ");
        print_quoted(&p, program->title);
    }
    text_add(out, program->strict_float ? " strict\n" : "\n");
    for (size_t i = 0; i < program->params.count; i++)
        text_printf(out, "param %s : %s\n", program->params.at[i]->name, type_table[program->params.at[i]->type].name);
    for (size_t i = 0; i < program->buffers.count; i++) {
        print_record(&p, &buffer_record, (const char *)program->buffers.at[i]);
        text_add(out, "\n");
    }
    print_funcs(out, program);
    text_add(out, "\n");
    if (program->body)
        print_stmt(&p, program->body, true);
}
