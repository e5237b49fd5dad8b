/* SPDX-License-Identifier: MIT */
/* The key of an object: the lowered program, every field of it that the backend can see, as bytes.
 *
 * Takes   a program and what it is compiled with.
 * Gives   a text in which each distinct expression stands once, numbered in the order in which the statements meet
 *         them; statements in order.
 * Holds   the text can be read back: every part says its kind and its counts. So programs that differ have keys that
 *         differ.
 */
#include "api/cache.h"

#include "base/text.h"
#include "ir/fields.h"

typedef struct Key {
    Text      out;
    uint32_t *number; /* by Expr.id: its number in the key + 1; 0 if it was not met */
    uint32_t  count;
} Key;

/* Seven bits a byte, the low ones first. */
static void put(Key *k, uint64_t v)
{
    char   bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (char)((v & 127) | (v > 127 ? 128 : 0));
        v >>= 7;
    } while (v);
    text_add_n(&k->out, bytes, n);
}

static void put_text(Key *k, const char *s)
{
    const size_t n = s ? strlen(s) : 0;
    put(k, s ? n + 1 : 0);
    if (n)
        text_add_n(&k->out, s, n);
}

static void put_buffer(Key *k, const Buffer *b)
{
    put(k, b ? (uint64_t)b->id + 1 : 0);
}

static void put_func(Key *k, const Func *f)
{
    put_text(k, f ? f->name : NULL);
    put_text(k, f ? f->symbol : NULL);
}

/* What a node holds besides its operands. */
static void put_held(Key *k, const Expr *e)
{
    uint64_t bits;
    switch (expr_op_table[e->op].holds) {
    case HOLDS_INTEGER: put(k, (uint64_t)e->u.i); break;
    case HOLDS_NUMBER:
        memcpy(&bits, &e->u.f, sizeof bits);
        put(k, bits);
        break;
    case HOLDS_NAME: put_text(k, e->u.name); break;
    case HOLDS_PARAM: put_text(k, e->u.param->name); break;
    case HOLDS_BUFFER: put_buffer(k, e->u.buffer); break;
    case HOLDS_CALL:
        put_func(k, e->u.call.func);
        put(k, e->u.call.index);
        break;
    case HOLDS_NOTHING: break;
    }
}

/* Writes what was not met yet, operands first. Their depth is bounded by EXPR_MAX_DEPTH. */
static void define_expr(Key *k, const Expr *e)
{
    if (k->number[e->id])
        return;
    for (uint32_t i = 0; i < e->count; i++)
        define_expr(k, e->args[i]);
    put(k, 1); /* a node follows; put_expr ends the list with 0 */
    put(k, e->op);
    put(k, e->type);
    put(k, e->strict);
    put(k, e->count);
    for (uint32_t i = 0; i < e->count; i++)
        put(k, k->number[e->args[i]->id]);
    put_held(k, e);
    k->number[e->id] = ++k->count;
}

static void put_expr(Key *k, const Expr *e)
{
    if (e)
        define_expr(k, e);
    put(k, 0);
    put(k, e ? k->number[e->id] : 0);
}

static void put_stmt(Key *k, const Stmt *s);
static void put_record(Key *k, const Record *r, const char *at);

static void put_int(Key *k, int64_t v)
{
    put(k, (uint64_t)v << 1 ^ (uint64_t)(v >> 63)); /* so that small negative numbers are short */
}

/* A pointer to one of these, or to an array. */
static void put_elements(Key *k, FieldKind kind, int count, const char *list)
{
    const Record *inner = field_record(kind);
    put_int(k, list ? count : -1);
    for (int i = 0; list && i < count; i++)
        switch (kind) {
        case FIELD_NAMES: put_text(k, ((const char *const *)list)[i]); break;
        case FIELD_INT64S: put_int(k, ((const int64_t *)list)[i]); break;
        case FIELD_EXPRS: put_expr(k, ((const Expr *const *)list)[i]); break;
        case FIELD_STMTS: put_stmt(k, ((const Stmt *const *)list)[i]); break;
        default: put_record(k, inner, list + (size_t)i * inner->size); break;
        }
}

static void put_field(Key *k, const Field *f, const char *at)
{
    const char *p = at + f->offset;
    switch (f->kind) {
    case FIELD_NAME:
    case FIELD_TEXT: put_text(k, field_pointer(p)); break;
    case FIELD_FLAG: put(k, *(const bool *)p); break;
    case FIELD_INT_PAIR:
        put_int(k, ((const int *)p)[0]);
        put_int(k, ((const int *)p)[1]);
        break;
    case FIELD_INT:
    case FIELD_TYPE:
    case FIELD_STATUS:
    case FIELD_LOOP_KIND:
    case FIELD_MEMORY:
    case FIELD_BUFFER_KIND: put_int(k, *(const int *)p); break;
    case FIELD_INT64_PAIR:
        put_int(k, ((const int64_t *)p)[0]);
        put_int(k, ((const int64_t *)p)[1]);
        break;
    case FIELD_BUFFER: put_buffer(k, *(const Buffer *const *)p); break;
    case FIELD_FUNC: put_func(k, *(const Func *const *)p); break;
    case FIELD_EXPR: put_expr(k, *(const Expr *const *)p); break;
    case FIELD_BODY:
    case FIELD_ELSE: put_stmt(k, *(const Stmt *const *)p); break;
    case FIELD_OPERAND: put_record(k, field_record(f->kind), p); break;
    case FIELD_STAGE:
    case FIELD_SLIDING: put_elements(k, f->kind, 1, field_pointer(p)); break;
    case FIELD_NAMES:
    case FIELD_INT64S:
    case FIELD_EXPRS:
    case FIELD_STMTS:
    case FIELD_OPERANDS:
    case FIELD_PLACES: put_elements(k, f->kind, *(const int *)(at + f->count), field_pointer(p)); break;
    }
}

static void put_record(Key *k, const Record *r, const char *at)
{
    for (int i = 0; i < r->count; i++)
        put_field(k, &r->fields[i], at);
}

static void put_stmt(Key *k, const Stmt *s)
{
    put(k, s ? (uint64_t)s->kind + 1 : 0);
    if (s)
        put_record(k, &stmt_records[s->kind], (const char *)s);
}

static void put_buffers(Key *k, const Program *p)
{
    put(k, p->buffers.count);
    put(k, (uint64_t)p->port_count);
    for (size_t i = 0; i < p->buffers.count; i++)
        put_record(k, &buffer_record, (const char *)p->buffers.at[i]);
}

static void put_targets(Key *k, const Target *targets, int count)
{
    put(k, (uint64_t)count);
    for (int i = 0; i < count; i++) {
        const Target *t = &targets[i];
        put_text(k, t->name);
        put(k, t->kind);
        put(k, t->device); /* its text follows from the program and the versions */
        put(k, t->arch);
        put(k, t->is_host);
        put(k, t->features);
        put(k, (uint64_t)t->vector_bits);
        put(k, (uint64_t)t->byte_vector_bits);
        put(k, (uint64_t)t->vector_registers);
        put(k, (uint64_t)t->scalar_registers);
        put(k, (uint64_t)t->word_bits);
        put_text(k, t->llvm_triple);
        put_text(k, t->llvm_cpu);
        put_text(k, t->llvm_features);
    }
}

static void put_options(Key *k, const CodegenOptions *o, const Codegen *codegen)
{
    put_text(k, KN_VERSION);
    put(k, sizeof(kn_buffer)); /* code with another layout of the ports must not be loaded */
    put_text(k, codegen->version);
    put_text(k, codegen->host());
    put(k, o->check_access);
    put(k, o->profile);
    put(k, o->fast);
    put(k, o->large_buffers);
    put_targets(k, o->targets, o->target_count);
    put_targets(k, o->host_targets, o->host_target_count);
}

static void put_program(Key *k, Arena *arena, const Program *p)
{
    k->number = ARENA_ARRAY(arena, uint32_t, p->exprs->count);
    k->count  = 0;
    put_text(k, p->name);
    put_text(k, p->title);
    put(k, p->strict_float);
    put(k, p->prefers_host);
    put(k, p->params.count);
    for (size_t i = 0; i < p->params.count; i++) {
        put_text(k, p->params.at[i]->name);
        put(k, p->params.at[i]->type);
    }
    put_buffers(k, p);
    put_stmt(k, p->body);
}

Bytes program_key(Arena *arena, const Program *p, const CodegenOptions *options, const Codegen *codegen)
{
    Key k = { 0 };
    text_init(&k.out, arena);
    put_options(&k, options, codegen);
    put_program(&k, arena, p);
    if (p->host)
        put_program(&k, arena, p->host);
    return (Bytes){ text_string(&k.out), k.out.count };
}
