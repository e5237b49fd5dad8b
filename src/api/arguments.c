/* SPDX-License-Identifier: MIT */
/* The arguments of a call, found by name and checked.
 *
 * Takes   a finished pipeline and the (name, buffer or value) pairs of the user, in any order.
 * Gives   the boxes, the values and the buffers in the pipeline's order.
 * Holds   afterwards: every name is one of the pipeline's and given once; types and ranks are those of the text; values
 *         are in their ranges; the components of a tuple have one box; for a run, every buffer is sound memory and no
 *         output shares memory with an input or another output (inputs may share). All errors of a call are reported,
 *         not just the first.
 */
#include "api/arguments.h"

#include "api/values.h"
#include "base/text.h"
#include "image/buffer.h"

/* What the pipeline is called with: a row per input, parameter, and component of an output. */
typedef struct ArgumentSlot {
    kn_port_kind       kind;
    const char        *name;
    kn_type            type;
    int                rank;
    const char *const *dims;
    int           index;  /* the input's function id, the parameter's place, or the place among the output buffers */
    int           output; /* which output */
    const kn_arg *arg;    /* what the user gave, or NULL */
    bool          sound;  /* given, of the right kind, type and shape */
} ArgumentSlot;

typedef struct Bind {
    kn_pipeline *p;
    kn_context  *cx;
    Purpose      purpose;
    VEC(ArgumentSlot) slots;
    Arguments *out;
} Bind;

/* How the text says it: "in is u16(x, y)". */
static const char *slot_text(Bind *bind, const ArgumentSlot *slot)
{
    static const char *const kinds[] = { [KN_INPUT] = "input", [KN_PARAM] = "parameter", [KN_OUTPUT] = "output" };
    Text                     t;
    text_init(&t, &bind->cx->call);
    text_printf(&t, "%s `%s` is %s", kinds[slot->kind], slot->name, type_table[slot->type].name);
    if (slot->kind != KN_PARAM) {
        text_add(&t, "(");
        for (int d = 0; d < slot->rank; d++)
            text_printf(&t, "%s%s", d ? ", " : "", slot->dims[d]);
        text_add(&t, ")");
    }
    return text_string(&t);
}

static void collect_slots(Bind *bind)
{
    kn_pipeline *p     = bind->p;
    Arena       *arena = &bind->cx->call;
    for (size_t i = 0; i < p->funcs.count; i++) {
        const Func *f = p->funcs.at[i];
        if (f->kind == FUNC_INPUT)
            vec_push(arena, &bind->slots,
                     ((ArgumentSlot){ .kind  = KN_INPUT,
                                      .name  = f->name,
                                      .type  = f->types[0],
                                      .rank  = f->rank,
                                      .dims  = f->args,
                                      .index = f->id }));
    }
    for (size_t i = 0; i < p->params.count; i++) {
        const Param *k = p->params.at[i];
        vec_push(arena, &bind->slots,
                 ((ArgumentSlot){ .kind = KN_PARAM, .name = k->name, .type = k->type, .index = (int)i }));
    }
    int buffer = 0;
    for (size_t o = 0; o < p->outputs.count; o++) {
        const Func *f = p->outputs.at[o].func;
        for (int c = 0; c < f->component_count; c++) {
            const char *base = p->outputs.at[o].name;
            const char *name = f->component_count > 1 ? arena_printf(arena, "%s.%d", base, c) : base;
            vec_push(arena, &bind->slots,
                     ((ArgumentSlot){ .kind   = KN_OUTPUT,
                                      .name   = name,
                                      .type   = f->types[c],
                                      .rank   = f->rank,
                                      .dims   = f->args,
                                      .index  = buffer++,
                                      .output = (int)o }));
        }
    }
}

static void unknown_name(Bind *bind, const char *name)
{
    const size_t count = bind->slots.count;
    const char **names = ARENA_ARRAY(&bind->cx->call, const char *, count);
    for (size_t i = 0; i < count; i++)
        names[i] = bind->slots.at[i].name;
    diag_unknown(bind->cx, "no input, parameter or output is called", name, "the pipeline is called with", names,
                 count);
}

/* Gives each argument to its slot. */
static void match_names(Bind *bind, const kn_arg *args, int count)
{
    for (int i = 0; i < count; i++) {
        ArgumentSlot *slot = NULL;
        for (size_t k = 0; args[i].name && k < bind->slots.count && !slot; k++)
            if (!strcmp(bind->slots.at[k].name, args[i].name))
                slot = &bind->slots.at[k];
        if (!args[i].name)
            diag_status(bind->cx, KN_ERROR_ARGUMENT, "argument %d has no name", i);
        else if (!slot)
            unknown_name(bind, args[i].name);
        else if (slot->arg)
            diag_status(bind->cx, KN_ERROR_ARGUMENT, "`%s` is given twice", slot->name);
        else
            slot->arg = &args[i];
    }
}

static void bind_param(Bind *bind, ArgumentSlot *slot)
{
    const Param *param = bind->p->params.at[slot->index];
    kn_scalar   *value = &bind->out->binding.param[slot->index];
    if (!slot->arg && param->has_default)
        *value = param->value;
    else if (!slot->arg && bind->purpose == FOR_SIZES)
        *value = param->has_range ? param->lo : type_is_float(param->type) ? kn_float(1) : kn_int(1);
    else if (!slot->arg)
        diag_status(bind->cx, KN_ERROR_ARGUMENT, "%s and has no default: give it a value", slot_text(bind, slot));
    else if (slot->arg->buffer)
        diag_status(bind->cx, KN_ERROR_ARGUMENT, "%s: give it a value, not a buffer", slot_text(bind, slot));
    else
        value_of_param(bind->cx, param, slot->arg->value, value);
}

/* Is the buffer to be found by kn_fit? */
static bool is_open(const Bind *bind, const ArgumentSlot *slot)
{
    return (bind->purpose == FOR_FIT || bind->purpose == FOR_SIZES) && slot->kind == KN_OUTPUT &&
           (!slot->arg || slot->arg->buffer->rank == 0);
}

/* The checks of a buffer by itself. */
static bool buffer_sound(Bind *bind, const ArgumentSlot *slot)
{
    const kn_buffer *b = slot->arg->buffer;
    if (bind->purpose == FOR_RUN || (bind->purpose == FOR_KERNELS && !b->device))
        return buffer_check(bind->cx, b, slot->name, slot->kind == KN_OUTPUT) == KN_OK;
    return buffer_check_shape(bind->cx, b, slot->name) == KN_OK;
}

/* May an input be left out? For FOR_SIZES always; for FOR_BOUNDS if the program does not use its size. */
static bool is_optional(const Bind *bind, const ArgumentSlot *slot)
{
    if (slot->kind != KN_INPUT)
        return false;
    return bind->purpose == FOR_SIZES ||
           (bind->purpose == FOR_BOUNDS && !pipeline_uses_size(bind->p, bind->p->funcs.at[slot->index]));
}

static void check_buffer(Bind *bind, ArgumentSlot *slot)
{
    kn_context *cx = bind->cx;
    if (!slot->arg) {
        if (!is_open(bind, slot) && !is_optional(bind, slot))
            diag_status(cx, KN_ERROR_ARGUMENT, "%s: no buffer is given for it", slot_text(bind, slot));
        return;
    }
    const kn_buffer *b = slot->arg->buffer;
    if (!b) {
        diag_status(cx, KN_ERROR_ARGUMENT, "%s: give it a buffer, not a value", slot_text(bind, slot));
        return;
    }
    if (is_open(bind, slot) || !buffer_sound(bind, slot))
        return;
    if (b->type != slot->type)
        diag_status(cx, KN_ERROR_ARGUMENT, "%s, the buffer holds %s", slot_text(bind, slot), type_table[b->type].name);
    if (b->rank != slot->rank)
        diag_status(cx, KN_ERROR_ARGUMENT, "%s, the buffer has %d dimension%s", slot_text(bind, slot), (int)b->rank,
                    b->rank == 1 ? "" : "s");
    slot->sound = b->type == slot->type && b->rank == slot->rank;
}

Box box_of_buffer(const kn_buffer *b)
{
    Box box = { { 0 }, { 0 } };
    for (int d = 0; d < b->rank; d++) {
        box.min[d] = b->dim[d].min;
        box.max[d] = (int64_t)b->dim[d].min + b->dim[d].extent - 1;
    }
    return box;
}

/* The first component given says the box of the output; the others must have the same. */
static void bind_output(Bind *bind, const ArgumentSlot *slot, const ArgumentSlot *first)
{
    kn_buffer *b = slot->arg->buffer;
    if (slot == first) {
        bind->out->binding.output[slot->output] = box_of_buffer(b);
        bind->out->given[slot->output]          = true;
        return;
    }
    const kn_buffer *a = first->arg->buffer;
    for (int d = 0; d < slot->rank; d++)
        if (a->dim[d].min != b->dim[d].min || a->dim[d].extent != b->dim[d].extent) {
            diag_status(bind->cx, KN_ERROR_ARGUMENT,
                        "`%s` and `%s` are one output and need the same box: %s has min %d and extent %d in one, min "
                        "%d and extent %d in the other",
                        first->name, slot->name, slot->dims[d], (int)a->dim[d].min, (int)a->dim[d].extent,
                        (int)b->dim[d].min, (int)b->dim[d].extent);
            return;
        }
}

static void bind_buffer(Bind *bind, ArgumentSlot *slot)
{
    check_buffer(bind, slot);
    kn_buffer *b = slot->arg ? slot->arg->buffer : NULL;
    if (slot->kind == KN_OUTPUT) {
        bind->out->outputs[slot->index] = b;
        const ArgumentSlot *first       = slot;
        for (const ArgumentSlot *s = bind->slots.at; s < slot && first == slot; s++)
            if (s->kind == KN_OUTPUT && s->output == slot->output && s->sound)
                first = s;
        if (slot->sound)
            bind_output(bind, slot, first);
    } else if (slot->sound) {
        bind->out->inputs[slot->index]        = b;
        bind->out->binding.input[slot->index] = box_of_buffer(b);
    } else if (!slot->arg) {
        for (int d = 0; d < slot->rank; d++) { /* unbounded: it covers whatever is read */
            bind->out->binding.input[slot->index].min[d] = INT32_MIN;
            bind->out->binding.input[slot->index].max[d] = INT32_MAX;
        }
    }
}

/* No output may share memory with an input or another output: the run would read what it wrote. */
static void check_overlaps(Bind *bind)
{
    for (const ArgumentSlot *a = bind->slots.at, *end = a + bind->slots.count; a < end; a++)
        for (const ArgumentSlot *b = a + 1; b < end; b++)
            if (a->sound && b->sound && b->kind == KN_OUTPUT && a->arg->buffer->data && b->arg->buffer->data &&
                buffers_overlap(a->arg->buffer, b->arg->buffer))
                diag_status(bind->cx, KN_ERROR_ARGUMENT,
                            "`%s` and `%s` share memory: an output needs memory of its own", a->name, b->name);
}

bool arguments_bind(kn_pipeline *p, Purpose purpose, const kn_arg *args, int count, Arguments *out)
{
    kn_context *cx   = p->cx;
    Bind        bind = { .p = p, .cx = cx, .purpose = purpose, .out = out };
    collect_slots(&bind);
    if (count < 0 || (count > 0 && !args)) {
        diag_status(cx, KN_ERROR_ARGUMENT, "the list of arguments is NULL, or its length negative");
        return false;
    }
    const size_t slots = bind.slots.count;
    *out               = (Arguments){
                      .binding = { .input  = ARENA_ARRAY(&cx->call, Box, p->funcs.count),
                                   .param  = ARENA_ARRAY(&cx->call, kn_scalar, p->params.count),
                                   .output = ARENA_ARRAY(&cx->call, Box, p->outputs.count) },
                      .inputs  = ARENA_ARRAY(&cx->call, kn_buffer *, p->funcs.count),
                      .outputs = ARENA_ARRAY(&cx->call, kn_buffer *, slots),
                      .given   = ARENA_ARRAY(&cx->call, bool, p->outputs.count),
    };
    match_names(&bind, args, count);
    for (size_t i = 0; i < slots; i++) {
        ArgumentSlot *slot = &bind.slots.at[i];
        if (slot->kind == KN_PARAM)
            bind_param(&bind, slot);
        else
            bind_buffer(&bind, slot);
    }
    if (purpose == FOR_RUN || purpose == FOR_KERNELS)
        check_overlaps(&bind);
    return cx->error_count == 0;
}
