/* The key of an object: the lowered program, every field of it that the backend can see, as bytes.
 *
 * Takes   a program and what it is compiled with.
 * Gives   a text in which each distinct expression stands once, numbered in the order in which the statements meet
 *         them; statements in order.
 * Holds   the text can be read back: every part says its kind and its counts. So programs that differ have keys that
 *         differ.
 */
#include "api/cache.h"

#include "pipeline/pipeline.h"

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
static void put_leaf(Key *k, const Expr *e)
{
    uint64_t bits;
    switch (e->op) {
    case EX_INT: put(k, (uint64_t)e->u.i); break;
    case EX_FLOAT:
        memcpy(&bits, &e->u.f, sizeof bits);
        put(k, bits);
        break;
    case EX_VAR:
    case EX_EXTERN: put_text(k, e->u.name); break;
    case EX_PARAM: put_text(k, e->u.param->name); break;
    case EX_LOAD: put_buffer(k, e->u.buffer); break;
    case EX_DIM_MIN:
    case EX_DIM_EXTENT:
    case EX_CALL:
        put_func(k, e->u.call.func);
        put(k, e->u.call.index);
        break;
    default: break;
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
    put_leaf(k, e);
    k->number[e->id] = ++k->count;
}

static void put_expr(void *user, const Expr *e)
{
    Key *k = user;
    if (e)
        define_expr(k, e);
    put(k, 0);
    put(k, e ? k->number[e->id] : 0);
}

static void put_stmt(void *user, const Stmt *s);

static void put_operand(Key *k, const StageOperand *o)
{
    put_func(k, o->func);
    put_buffer(k, o->buffer);
    put(k, (uint64_t)o->rank);
    put(k, (uint64_t)o->type);
}

/* What a statement holds besides its expressions and sub-statements. */
static void put_fields(Key *k, const Stmt *s)
{
    switch (s->kind) {
    case STMT_LET: put_text(k, s->let.name); break;
    case STMT_FOR:
        put_text(k, s->loop.name);
        put(k, s->loop.kind);
        break;
    case STMT_BLOCK: put(k, (uint64_t)s->block.count); break;
    case STMT_IF: put(k, s->branch.no != NULL); break;
    case STMT_PRODUCE:
        put_text(k, s->produce.func);
        put(k, (uint64_t)(s->produce.update + 1));
        break;
    case STMT_PROVIDE:
        put_func(k, s->provide.func);
        put(k, (uint64_t)s->provide.rank);
        put(k, (uint64_t)s->provide.count);
        put(k, s->provide.atomic);
        break;
    case STMT_REALIZE:
        put_func(k, s->realize.func);
        put(k, (uint64_t)s->realize.rank);
        break;
    case STMT_STORE:
        put(k, (uint64_t)s->store.count);
        put(k, s->store.atomic);
        put(k, s->store.stream);
        for (int i = 0; i < s->store.count; i++)
            put_buffer(k, s->store.places[i].buffer);
        break;
    case STMT_ALLOC: put_buffer(k, s->alloc.buffer); break;
    case STMT_NEED:
        put_buffer(k, s->need.buffer);
        put(k, (uint64_t)s->need.dim);
        put_text(k, s->need.reader);
        break;
    case STMT_CHECK:
        put_text(k, s->check.message);
        put(k, s->check.status);
        break;
    case STMT_STAGE:
        put_text(k, s->stage->name);
        put_text(k, s->stage->symbol);
        put_operand(k, &s->stage->output);
        put(k, (uint64_t)s->stage->count);
        for (int i = 0; i < s->stage->count; i++)
            put_operand(k, &s->stage->operands[i]);
        put_buffer(k, s->stage->table);
        break;
    case STMT_PREFETCH: put_buffer(k, s->prefetch.buffer); break;
    }
}

static void put_stmt(void *user, const Stmt *s)
{
    Key *k = user;
    put(k, s ? (uint64_t)s->kind + 1 : 0);
    if (!s)
        return;
    put_fields(k, s);
    stmt_children(s, put_expr, put_stmt, k);
}

static void put_buffers(Key *k, const Program *p)
{
    put(k, p->buffers.count);
    put(k, (uint64_t)p->port_count);
    for (size_t i = 0; i < p->buffers.count; i++) {
        const Buffer *b = p->buffers.at[i];
        put_text(k, b->name);
        put(k, b->kind);
        put(k, b->type);
        put_text(k, b->func);
        put(k, (uint64_t)b->component);
        put(k, (uint64_t)b->rank);
        put(k, (uint64_t)(b->dense + 1));
        put(k, b->memory);
        put(k, b->coordinates);
        for (int d = 0; b->dims && d < b->rank; d++)
            put_text(k, b->dims[d]);
    }
}

static void put_options(Key *k, const CodegenOptions *o, const Codegen *codegen)
{
    put_text(k, KN_VERSION);
    put_text(k, codegen->version);
    put_text(k, codegen->host());
    put(k, o->check_access);
    put(k, o->profile);
    put(k, o->fast);
    put(k, (uint64_t)o->target_count);
    for (int i = 0; i < o->target_count; i++) {
        const Target *t = &o->targets[i];
        put_text(k, t->name);
        put(k, t->kind);
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

Bytes program_key(Arena *arena, const Program *p, const CodegenOptions *options, const Codegen *codegen)
{
    Key k = { .number = ARENA_ARRAY(arena, uint32_t, p->exprs->count) };
    text_init(&k.out, arena);
    put_options(&k, options, codegen);
    put_text(&k, p->name);
    put_text(&k, p->title);
    put(&k, p->strict_float);
    put(&k, p->params.count);
    for (size_t i = 0; i < p->params.count; i++) {
        put_text(&k, p->params.at[i]->name);
        put(&k, p->params.at[i]->type);
    }
    put_buffers(&k, p);
    put_stmt(&k, p->body);
    return (Bytes){ text_string(&k.out), k.out.count };
}
