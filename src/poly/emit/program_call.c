/* SPDX-License-Identifier: MIT */
/* What a program and the C file share: arrays as addresses, scalars as values.
 *
 * Takes   the symbols of a region.
 * Gives   ports and parameters of the program; the C text that hands them over, and runs the given loops where nothing
 *         was done.
 * Holds   an array is the address of its first element, a scalar that the region writes is one too: kn_buffer with rank
 *         0. Scalars that are only read, and extents that are no numbers, are parameters: each at a multiple of 8 bytes
 *         (codegen/llvm/expr.c). Private variables are scratch of the program. */
#include "poly/emit/cuda.h"
#include "poly/emit/program.h"
#include "poly/model/affine.h"
#include "poly/model/model.h"
#include "poly/source/parser.h"
#include "poly/source/source.h"

#include <string.h>

/* The status after which arrays may have been written: out of memory. Any other one comes before the loops. */
enum { BROKEN_OFF = KN_ERROR_LIMIT };

/* Bytes of kn_buffer behind its rank. */
enum { BUFFER_REST = sizeof(kn_buffer) - sizeof(void *) - 2 * sizeof(int32_t) };

/* ---- Symbols ---- */

/* Is it memory that the C file hands over? */
static bool is_given(const ProgramMaker *m, const CSymbol *s)
{
    const Scop *scop = m->w->tiled->scop;
    return (s->kind == CSYMBOL_ARRAY || s->kind == CSYMBOL_SCALAR) && !is_value(scop, s) && !scop_private(scop, s) &&
           is_accessed(m->w->tiled, s);
}

/* Is its value handed over? An iterator of a loop is none of the values. */
static bool is_passed(const ProgramMaker *m, const CSymbol *s)
{
    return is_value(m->w->tiled->scop, s);
}

static const char *text_of(const ProgramMaker *m, const CExpr *e)
{
    Text t;
    text_init(&t, m->w->arena);
    print_expr(&t, e, NULL);
    return text_string(&t);
}

/* Is the extent along d a value that the C file hands over? The outermost one is never needed, but by what the program
 * allocates. */
static bool is_extent_passed(const ProgramMaker *m, const CSymbol *s, int d)
{
    int64_t    number;
    const bool own = scop_private(m->w->tiled->scop, s);
    return (own || is_given(m, s)) && d >= !own && s->extents[d] && !affine_constant(s->extents[d], &number);
}

static const char *extent_name(const ProgramMaker *m, const CSymbol *s, int d)
{
    return arena_printf(m->program->arena, "%s.extent%d", s->name, d);
}

/* ---- Buffers ---- */

static Buffer *add_buffer(ProgramMaker *m, const char *name, BufferKind kind, kn_type type, Memory memory)
{
    Program *p = m->program;
    Buffer  *b = ARENA_NEW(p->arena, Buffer);
    *b         = (Buffer){ .name   = intern(p->cx, name),
                           .id     = (int)p->buffers.count,
                           .kind   = kind,
                           .type   = type,
                           .func   = intern(p->cx, name),
                           .dense  = -1,
                           .memory = memory };
    vec_push(p->arena, &p->buffers, b);
    return b;
}

const Buffer *new_scratch(ProgramMaker *m, const char *name, kn_type type, bool constant)
{
    char *unique = arena_printf(m->w->arena, "%s.%zu", name, m->program->buffers.count);
    return add_buffer(m, unique, BUFFER_SCRATCH, type, constant ? MEMORY_STACK : MEMORY_HEAP);
}

const Storage *storage_of(const ProgramMaker *m, const CSymbol *symbol, const Scratch *scratch)
{
    for (size_t i = m->storage.count; i-- > 0;)
        if (m->storage.at[i].symbol == symbol && m->storage.at[i].scratch == scratch)
            return &m->storage.at[i];
    return NULL;
}

const Expr **dense_strides(const ProgramMaker *m, int rank, const Expr *const *extents, const Expr **count)
{
    const Expr **strides = ARENA_ARRAY(m->program->arena, const Expr *, (size_t)rank + 1);
    const Expr  *all     = index_number(m, 1);
    for (int d = rank; d-- > 0;) {
        strides[d] = all;
        all        = extents[d] ? index_binary(m, EX_MUL, extents[d], all) : all;
    }
    if (count)
        *count = all;
    return strides;
}

const Expr **array_extents(const ProgramMaker *m, const CSymbol *s)
{
    const Expr **extents = ARENA_ARRAY(m->program->arena, const Expr *, (size_t)s->rank + 1);
    for (int d = 0; d < s->rank; d++) {
        int64_t     number;
        const char *name = extent_name(m, s, d);
        if (s->extents[d] && affine_constant(s->extents[d], &number))
            extents[d] = index_number(m, number);
        for (size_t i = 0; i < m->program->params.count; i++)
            if (!strcmp(m->program->params.at[i]->name, name))
                extents[d] = expr_param(m->program->exprs, KN_I64, m->program->params.at[i]);
    }
    return extents;
}

/* ---- Ports and parameters ---- */

static void add_param(ProgramMaker *m, const char *name, kn_type type)
{
    Param *p = ARENA_NEW(m->program->arena, Param);
    *p       = (Param){ .name = name, .type = type };
    vec_push(m->program->arena, &m->program->params, p);
}

static void add_params(ProgramMaker *m)
{
    const Region *r = m->w->tiled->scop->region;
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *s = r->symbols.at[i];
        if (is_passed(m, s))
            add_param(m, s->name, s->type);
        for (int d = 0; s->kind == CSYMBOL_ARRAY && d < s->rank; d++)
            if (is_extent_passed(m, s, d))
                add_param(m, extent_name(m, s, d), KN_I64);
    }
}

/* Inputs first, then what is written. */
static void add_ports(ProgramMaker *m)
{
    const Region *r = m->w->tiled->scop->region;
    for (int written = 0; written < 2; written++)
        for (size_t i = 0; i < r->symbols.count; i++) {
            const CSymbol *s = r->symbols.at[i];
            if (!is_given(m, s) || s->written != (bool)written)
                continue;
            const Buffer *b  = add_buffer(m, s->name, written ? BUFFER_OUTPUT : BUFFER_INPUT, s->type, MEMORY_AUTO);
            const Storage at = {
                .symbol = s, .buffer = b, .lanes = 1, .strides = dense_strides(m, s->rank, array_extents(m, s), NULL)
            };
            vec_push(m->w->arena, &m->storage, at);
        }
    m->program->port_count = (int)m->program->buffers.count;
}

void program_ports(ProgramMaker *m)
{
    add_params(m);
    add_ports(m);
}

/* ---- The C text ---- */

static void declare_arrays(ProgramMaker *m)
{
    Writer       *w = m->w;
    const Region *r = w->tiled->scop->region;
    Text          list;
    text_init(&list, w->arena);
    line(w, arena_printf(w->arena, "struct kn_array { void *data; int type, rank; char rest[%d]; }; /* kn_buffer */",
                         (int)BUFFER_REST));
    for (int k = 0; k < m->program->port_count; k++)
        for (size_t i = 0; i < r->symbols.count; i++) {
            const CSymbol *s = r->symbols.at[i];
            if (!is_given(m, s) || storage_of(m, s, NULL)->buffer->id != k)
                continue;
            line(w, arena_printf(w->arena, "struct kn_array kn_%d = { .data = (void *)%s%s, .type = %d /* %s */ };", k,
                                 s->rank ? "" : "&", s->name, (int)s->type, type_table[s->type].name));
            text_printf(&list, "%s&kn_%d", list.count ? ", " : "", k);
        }
    line(w, arena_printf(w->arena, "const void *const kn_arrays[] = { %s };", list.count ? text_string(&list) : "0"));
}

/* Each at a multiple of 8 bytes. */
static const char *declare_values(ProgramMaker *m)
{
    Writer       *w = m->w;
    const Region *r = w->tiled->scop->region;
    Text          types, values;
    int           n = 0;
    text_init(&types, w->arena);
    text_init(&values, w->arena);
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *s = r->symbols.at[i];
        if (is_passed(m, s)) {
            text_printf(&types, "_Alignas(8) %s v%d; ", s->spelling, n);
            text_printf(&values, "%s%s", n++ ? ", " : "", s->name);
        }
        for (int d = 0; s->kind == CSYMBOL_ARRAY && d < s->rank; d++)
            if (is_extent_passed(m, s, d)) {
                text_printf(&types, "_Alignas(8) long v%d; ", n);
                text_printf(&values, "%s(long)(%s)", n++ ? ", " : "", text_of(m, s->extents[d]));
            }
    }
    if (!n)
        return "0";
    line(w,
         arena_printf(w->arena, "const struct { %s} kn_values = { %s };", text_string(&types), text_string(&values)));
    return "&kn_values";
}

/* Arrays and scalars of the region that the program does not have for itself. */
static void declare_locals(ProgramMaker *m)
{
    const Region *r = m->w->tiled->scop->region;
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *s = r->symbols.at[i];
        if (!s->local || !is_given(m, s))
            continue;
        Text t;
        text_init(&t, m->w->arena);
        text_printf(&t, "%s %s", s->spelling, s->name);
        for (int d = 0; d < s->rank; d++)
            text_printf(&t, "[%s]", text_of(m, s->extents[d]));
        line(m->w, arena_printf(m->w->arena, "%s;", text_string(&t)));
    }
}

/* What must hold so that arrays are apart, with the names that it uses declared; NULL: the source says so. */
static const char *apart(ProgramMaker *m)
{
    Writer *w   = m->w;
    Text   *out = w->out, aside;
    text_init(&aside, w->arena);
    w->out = &aside;
    widen_parameters(w);
    const char *disjoint = disjoint_condition(w);
    w->out               = out;
    for (size_t i = 0; disjoint && i < w->names.count; i++) {
        const ShownName *n = &w->names.at[i];
        if (strcmp(n->isl, n->text) && has_word(disjoint, n->text))
            line(w, arena_printf(w->arena, "const long %s = %s;", n->text, n->isl));
    }
    return disjoint;
}

const char *program_call(ProgramMaker *m)
{
    Writer *w = m->w;
    Text    out, body;
    text_init(&out, w->arena);
    text_init(&body, w->arena);
    w->prefix            = w->tiled->scop->region->indent;
    w->out               = &body;
    w->indent            = 1;
    const char *disjoint = apart(m);
    declare_locals(m);
    declare_arrays(m);
    const char *values = declare_values(m);
    const char *call   = arena_printf(w->arena, "%s(0, kn_arrays, %s)", m->program->name, values);
    line(w, arena_printf(w->arena, "int %s(void *, const void *const *, const void *); /* 0: it has done the work */",
                         m->program->name));
    line(w, disjoint ? arena_printf(w->arena, "const int kn_status = %s ? %s : -1;", disjoint, call)
                     : arena_printf(w->arena, "const int kn_status = %s;", call));
    line(w, arena_printf(w->arena, "if (kn_status == %d)", BROKEN_OFF));
    line(w, "  __builtin_abort(); /* no memory for a tile */");
    open_block(w, disjoint ? "if (kn_status) { /* arrays overlap: in the given order */" : "if (kn_status) {");
    region_print(w->out, w->tiled->scop->region);
    text_add(w->out, "\n");
    close_block(w);
    w->indent = 0;
    line(w, "}");
    w->out = &out;
    line(w, "{");
    define_macros(w, &out);
    text_add(&out, text_string(&body));
    return text_string(&out);
}
