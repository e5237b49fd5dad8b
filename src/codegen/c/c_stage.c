/* SPDX-License-Identifier: MIT */
/* Calls of extern stages: kn_buffers of the storage are made and handed to the stage's C function, which the program
 * that is linked with the file defines. */
#include "codegen/c/c.h"

static void count_all(CGen *g, const StageOperand *o, bool storage)
{
    if (o->value) {
        c_count(g, o->value);
        return;
    }
    for (int d = 0; storage && d < o->rank; d++) {
        c_count(g, o->min[d]);
        c_count(g, o->extent[d]);
        c_count(g, o->stride[d]);
    }
}

/* An initializer of a kn_buffer: the storage, or a box of it, or nothing but its type and rank. */
static const char *buffer_text(CGen *g, const StageOperand *o, const Expr **box_min, const Expr **box_extent,
                               bool storage)
{
    static const char *const types[KN_TYPE_COUNT] = { "KN_NONE", "KN_BOOL", "KN_U8",  "KN_U16", "KN_U32",
                                                      "KN_U64",  "KN_I8",   "KN_I16", "KN_I32", "KN_I64",
                                                      "KN_F16",  "KN_BF16", "KN_F32", "KN_F64" };
    Text                     dims, skip;
    text_init(&dims, g->arena);
    text_init(&skip, g->arena);
    for (int d = 0; d < o->rank; d++) {
        const char *min    = box_min ? c_uniform(g, box_min[d]) : storage ? c_uniform(g, o->min[d]) : "0";
        const char *extent = box_extent ? c_uniform(g, box_extent[d]) : storage ? c_uniform(g, o->extent[d]) : "0";
        const char *stride = storage ? c_uniform(g, o->stride[d]) : "0";
        text_printf(&dims, "%s{ %s, %s, %s }", d ? ", " : "", min, extent, stride);
        if (storage && box_min)
            text_printf(&skip, " + (%s) * ((int64_t)(%s) - (%s))", stride, min, c_uniform(g, o->min[d]));
    }
    const char *data = "NULL";
    if (storage)
        data = c_print(g, "(void *)(uintptr_t)(%s%s)", g->f->buffers[o->buffer->id], text_string(&skip));
    if (!o->rank)
        text_add(&dims, "{ 0, 0, 0 }");
    return c_print(g, "{ .data = %s, .type = %s, .rank = %d, .dim = { %s } }", data,
                   types[storage ? o->buffer->type : o->type], o->rank, text_string(&dims));
}

static const char *scalar_text(CGen *g, const Expr *e)
{
    if (type_is_float(e->type))
        return c_print(g, "kn_float(%s)",
                       c_full(g, c_operator(g, expr_unary(g->program->exprs, EX_CAST, KN_F64, e),
                                            (CValue[]){ c_expr(g, e) }, true)));
    return c_print(g, "kn_int((int64_t)(%s))", c_uniform(g, e));
}

void c_stage(CGen *g, const StageCall *call)
{
    const bool  storage = !call->table;
    const char *symbol  = call->symbol;
    Text        inputs, values, ranks, empty;
    int         input_count = 0, value_count = 0;
    text_init(&inputs, g->arena);
    text_init(&values, g->arena);
    text_init(&ranks, g->arena);
    text_init(&empty, g->arena);
    c_section(g, storage ? "stage" : "query");
    if (c_helper_new(g, c_print(g, "stage %s", symbol)))
        text_printf(&g->externs, "kn_stage %s;\n", symbol);
    c_statement(g);
    for (int d = 0; d < call->output.rank; d++) {
        c_count(g, call->box_min[d]);
        c_count(g, call->box_extent[d]);
        text_printf(&empty, "%s%s > 0", d ? " && " : "", c_operand(g, c_expr(g, call->box_extent[d]), P_ADD));
    }
    c_scope_push(g, c_print(g, "if (%s) {", empty.count ? text_string(&empty) : "true"));
    c_statement(g);
    count_all(g, &call->output, storage);
    const char *output = buffer_text(g, &call->output, call->box_min, call->box_extent, storage);
    for (int i = 0; i < call->count; i++) {
        const StageOperand *o = &call->operands[i];
        if (!o->value) {
            text_printf(&inputs, "%s%s", input_count ? ", " : "", buffer_text(g, o, NULL, NULL, storage));
            text_printf(&ranks, "%s%d", input_count ? ", " : "", o->rank);
            input_count++;
        } else {
            text_printf(&values, "%s%s", value_count ? ", " : "", scalar_text(g, o->value));
            c_grow(g);
            value_count++;
        }
    }
    if (input_count)
        c_line(g, "kn_buffer inputs[] = { %s };", text_string(&inputs));
    if (value_count)
        c_line(g, "const kn_scalar values[] = { %s };", text_string(&values));
    if (!storage && input_count)
        c_line(g, "const int ranks[] = { %s };", text_string(&ranks));
    c_line(g, "kn_buffer output = %s;", output);
    const char *given =
        c_print(g, "\"%s\", %s, %s, %d, %s, %d, &output", symbol, symbol, input_count ? "inputs" : "NULL", input_count,
                value_count ? "values" : "NULL", value_count);
    c_return_unless_zero(g, storage ? c_print(g, "kn_call_stage(%s)", given)
                                    : c_print(g, "kn_query_stage(%s, %s, %s)", given, input_count ? "ranks" : "NULL",
                                              g->f->buffers[call->table->id]));
    c_scope_pop(g);
}
