/* SPDX-License-Identifier: MIT */
/* Kernels of a tiled program.
 *
 * Takes   isl's loops below a mark "kernel" (poly/tiled.h), with marks of blocks and threads.
 * Gives   a __global__ function, and its launch in the host's function.
 * Holds   a loop over blocks or threads begins at its own and goes on by the number of them, so that any grid is right.
 *         Statements outside of thread loops run in one thread. Barriers stand where every thread of a block comes by:
 *         outside of thread loops, between what one nest of them writes and the next reads or overwrites.
 * From    Verdoolaege et al. 2013 (PPCG), sections 5 and 6. */
#include "poly/emit/cuda.h"
#include "poly/model/model.h"
#include "poly/source/parser.h"

#include <isl/space.h>
#include <stdio.h>
#include <string.h>

static const char *const axis[DEVICE_DIMS] = { "x", "y", "z" };

/* ---- Barriers ---- */

static void barrier(Writer *w)
{
    Device *d = w->device;
    if (d->pending && !d->spread && d->threads[0] * d->threads[1] * d->threads[2] > 1)
        line(w, "__syncthreads();");
    d->pending = d->pending && d->spread;
}

/* ---- Statements ---- */

/* The condition under which one thread of those that come by is the first; NULL: one comes by. */
static const char *one_thread(const Writer *w)
{
    const Device *d = w->device;
    Text          t;
    text_init(&t, w->arena);
    for (int k = 0; k < DEVICE_DIMS; k++)
        if (!(d->spread & 1u << k) && d->threads[k] > 1)
            text_printf(&t, "%sthreadIdx.%s == 0", t.count ? " && " : "", axis[k]);
    return t.count ? text_string(&t) : NULL;
}

static void copy_text(Writer *w, const Instance *n, const char **to, const char **from)
{
    const Scratch *s = n->statement->copied;
    Text           own, array;
    text_init(&own, w->arena);
    text_init(&array, w->arena);
    text_add(&own, s->name);
    text_printf(&array, s->rank == 1 ? "%s[" : "AT_%s(", device_name(w->arena, s->array));
    for (int d = 0; d < s->rank; d++) {
        text_printf(&own, "[%s]", ast_string(w, n->scratch[0][d], 0));
        text_printf(&array, "%s%s", d ? ", " : "", ast_string(w, n->iterators[d], 0));
    }
    text_add(&array, s->rank == 1 ? "]" : ")");
    *from = text_string(n->statement->copy_out ? &own : &array);
    *to   = text_string(n->statement->copy_out ? &array : &own);
}

static const char *side_text(Writer *w, const CExpr *e)
{
    const ExprHooks hooks = { w, device_leaf, true };
    Text            t;
    text_init(&t, w->arena);
    print_expr(&t, e, &hooks);
    return text_string(&t);
}

void statement_text(Writer *w, const Instance *n, const char **to, const char **from)
{
    w->instance = n;
    if (n->statement->source) {
        *to   = side_text(w, n->statement->source->assign->target);
        *from = side_text(w, n->statement->source->assign->value);
    } else {
        copy_text(w, n, to, from);
    }
}

static void kernel_statement(Writer *w, isl_ast_node *node)
{
    const Instance *n = instance_of(node);
    const char     *to, *from;
    if (!n) {
        w->failed = true;
        return;
    }
    const CStmt *assign = n->statement->source ? n->statement->source->assign : NULL;
    const bool   mine   = assign && scop_private(w->tiled->scop, assign->target->symbol);
    const char  *first  = mine ? NULL : one_thread(w);
    barrier(w);
    if (first)
        open_block(w, arena_printf(w->arena, "if (%s) {", first));
    statement_text(w, n, &to, &from);
    line(w, arena_printf(w->arena, "%s = %s;", to, from));
    if (first)
        close_block(w);
    w->device->pending = true;
}

/* ---- Loops ---- */

const char *thread_number(const Writer *w, unsigned dims, int *count)
{
    const Device *d    = w->device;
    const char   *text = "";
    *count             = 1;
    for (int k = 0; k < DEVICE_DIMS; k++) {
        if (!(dims & 1u << k) || d->threads[k] == 1)
            continue;
        const char *own =
            arena_printf(w->arena, *count == 1 ? "(int)threadIdx.%s" : "(int)threadIdx.%s * %d", axis[k], *count);
        text = *text ? arena_printf(w->arena, "%s + %s", text, own) : own;
        *count *= d->threads[k];
    }
    return text;
}

/* for (v = first + step * number; v <= last; v += step * count) */
static void spread_loop(Writer *w, isl_ast_node *node, const char *name, const char *number, const char *count)
{
    isl_ast_expr *first = isl_ast_node_for_get_init(node), *inc = isl_ast_node_for_get_inc(node);
    isl_ast_expr *cond = isl_ast_node_for_get_cond(node), *last = isl_ast_expr_op_get_arg(cond, 1);
    const bool    less = isl_ast_expr_op_get_type(cond) == isl_ast_expr_op_lt;
    const char   *from = bound(w, first, name, "first"), *to = bound(w, last, name, less ? "end" : "last");
    const char   *step = ast_string(w, inc, 11), *sign = less ? "<" : "<=";
    const bool    one = !strcmp(step, "1");
    if (*number && !one)
        from = arena_printf(w->arena, "%s + %s * (%s)", from, step, number);
    else if (*number)
        from = strcmp(from, "0") ? arena_printf(w->arena, "%s + %s", from, number) : number;
    const char *by = one ? count : arena_printf(w->arena, strcmp(count, "1") ? "%s * %s" : "%s", step, count);
    line(w,
         arena_printf(w->arena,
                      strcmp(by, "1") ? "for (%s %s = %s; %s %s %s; %s += %s) {" : "for (%s %s = %s; %s %s %s; %s++) {",
                      w->integer, name, from, name, sign, to, name, by));
    isl_ast_expr_free(first);
    isl_ast_expr_free(inc);
    isl_ast_expr_free(cond);
    isl_ast_expr_free(last);
}

static void counted(Writer *w, isl_ast_node *node, const char *variable, const char *name, isl_ast_node *body)
{
    Device         *d = w->device;
    const LoopNote *range;
    const char     *marks = marks_of(w, node, &range);
    const unsigned  outer = d->spread;
    int             inside, count, threads;
    const bool      blocks = read_mark(marks, MARK_BLOCK, &inside, &count);
    if (blocks) {
        d->grid[inside] = range;
        spread_loop(w, node, name, arena_printf(w->arena, "(int)blockIdx.%s", axis[inside]),
                    arena_printf(w->arena, "gridDim.%s", axis[inside]));
    } else if (read_mark(marks, MARK_THREAD, &inside, &count)) {
        unsigned own = 1u << inside;
        for (int k = inside + 1; inside == count - 1 && k < DEVICE_DIMS; k++)
            own |= 1u << k;
        const char *number = thread_number(w, own, &threads);
        barrier(w);
        if (!outer && inside == count - 1 && jam_threads(w, node, count)) {
            d->pending = true;
            return;
        }
        spread_loop(w, node, name, number, arena_printf(w->arena, "%d", threads));
        d->spread |= own;
    } else {
        barrier(w);
        spread_loop(w, node, name, "", "1");
    }
    w->indent++;
    loop_body(w, variable, name, body);
    if (blocks && !d->scratch)
        d->pending = false; /* tiles share nothing */
    if (d->spread == outer)
        barrier(w);
    d->spread = outer;
    close_block(w);
}

/* ---- Shared memory ---- */

static const char *extents_from(const Writer *w, const Scratch *s, int from)
{
    Text t;
    text_init(&t, w->arena);
    for (int d = from; d < s->rank; d++)
        text_printf(&t, "[%lld]", (long long)(s->fold[d] ? s->fold[d] : s->size[d]));
    return text_string(&t);
}

static int64_t bytes_of(const Scratch *s)
{
    int64_t n = type_bits(s->array->type) / 8;
    for (int d = 0; d < s->rank; d++)
        n *= s->fold[d] ? s->fold[d] : s->size[d];
    return (n + 15) & ~(int64_t)15;
}

static void declare_shared(Writer *w, isl_ast_node *tile)
{
    Device *d   = w->device;
    int64_t all = 0, at = 0;
    for (size_t i = 0; i < w->tiled->scratch.count; i++)
        all += scratch_used(tile, w->tiled->scratch.at[i]) ? bytes_of(w->tiled->scratch.at[i]) : 0;
    const bool large = all > MOST_STATIC_SHARED;
    if (large)
        line(w, "extern __shared__ __align__(16) unsigned char kn_shared[];");
    for (size_t i = 0; i < w->tiled->scratch.count; i++) {
        const Scratch *s = w->tiled->scratch.at[i];
        if (!scratch_used(tile, s))
            continue;
        const char *type = c_type_name(s->array->type);
        if (!large)
            line(w, arena_printf(w->arena, "__shared__ %s %s%s;", type, s->name, extents_from(w, s, 0)));
        else
            line(w, arena_printf(w->arena, "%s (*%s)%s = (%s (*)%s)(kn_shared + %lld);", type, s->name,
                                 extents_from(w, s, 1), type, extents_from(w, s, 1), (long long)at));
        at += bytes_of(s);
    }
    d->scratch = all > 0;
    d->bytes   = all;
    d->shared  = large ? all : 0;
    if (all > MOST_SHARED)
        d->unfit = arena_printf(w->arena, "a tile has %lld bytes of scratch, and a block at most %d of shared memory",
                                (long long)all, MOST_SHARED);
}

/* ---- A kernel ---- */

/* Does a statement below write the array? */
typedef struct WriteUse {
    const CSymbol *array;
    bool           written;
} WriteUse;

static isl_bool note_write(isl_ast_node *node, void *user)
{
    WriteUse *use = user;
    if (isl_ast_node_get_type(node) != isl_ast_node_user)
        return isl_bool_true;
    const Instance *n = instance_of(node);
    if (n && n->statement->source)
        use->written |= n->statement->source->assign->target->symbol == use->array;
    else if (n)
        use->written |= n->statement->copy_out && n->statement->copied->array == use->array;
    return isl_bool_false;
}

static bool writes(isl_ast_node *kernel, const CSymbol *array)
{
    WriteUse use = { array, false };
    isl_ast_node_foreach_descendant_top_down(kernel, note_write, &use);
    return use.written;
}

static void parameter(Text *given, Text *taken, const char *type, const char *name)
{
    text_printf(taken, "%s%s%s%s", taken->count ? ", " : "", type, type[strlen(type) - 1] == '*' ? "" : " ", name);
    text_printf(given, "%s%s", given->count ? ", " : "", name);
}

/* What the kernel's text names: arrays with their extents, values, the loops of the host around it. */
static void parameters(Writer *w, isl_ast_node *kernel, const char *body, Text *given, Text *taken)
{
    const Scop   *scop = w->tiled->scop;
    const Region *r    = scop->region;
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *s    = r->symbols.at[i];
        const char    *name = device_name(w->arena, s), *type = c_type_name(s->type);
        const bool     used = has_word(body, name) || has_word(body, arena_printf(w->arena, "AT_%s", name));
        if (s->kind == CSYMBOL_ITERATOR || s->kind == CSYMBOL_FUNCTION || scop_private(scop, s) || !used)
            continue;
        if (is_value(scop, s)) {
            parameter(given, taken, arena_printf(w->arena, "const %s", type), name);
            continue;
        }
        const bool written = writes(kernel, s);
        parameter(given, taken, arena_printf(w->arena, written ? "%s *" : "const %s *__restrict__", type), name);
        for (int d = 1; d < s->rank; d++)
            if (!extent_is_number(s, d))
                parameter(given, taken, arena_printf(w->arena, "const %s", w->integer), extent_text(w->arena, s, d));
    }
    for (size_t i = 0; i < w->names.count; i++)
        if (has_word(body, w->names.at[i].text) && !has_word(text_string(given), w->names.at[i].text))
            parameter(given, taken, arena_printf(w->arena, "const %s", w->integer), w->names.at[i].text);
}

static void declare_privates(Writer *w, const char *body)
{
    const Scop *s = w->tiled->scop;
    for (size_t i = 0; i < s->privates.count; i++) {
        const CSymbol *p = s->privates.at[i];
        if (!has_word(body, p->name))
            continue;
        Text t;
        text_init(&t, w->arena);
        for (int d = 0; d < p->rank; d++) {
            text_add(&t, "[");
            print_expr(&t, p->extents[d], NULL);
            text_add(&t, "]");
        }
        text_printf(&w->device->kernels, "  %s %s%s;\n", c_type_name(p->type), p->name, text_string(&t));
    }
}

static const char *blocks_along(Writer *w, int k)
{
    const LoopNote *r = w->device->grid[k];
    if (!r)
        return "1";
    const char *least = ast_string(w, r->least, 11), *most = ast_string(w, r->most, 10);
    return strcmp(least, "0") ? arena_printf(w->arena, "%s - %s + 1", most, least)
                              : arena_printf(w->arena, "%s + 1", most);
}

static void launch(Writer *w, const char *kernel, const char *arguments)
{
    Device *d = w->device;
    if (d->shared)
        text_printf(&d->setup, "  cudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, %lld);\n",
                    kernel, (long long)d->shared);
    line(w, arena_printf(w->arena, "kn_blocks = kn_grid(%s, %s, %s);", blocks_along(w, 0), blocks_along(w, 1),
                         blocks_along(w, 2)));
    line(w, "if (kn_blocks.x)");
    const char *shared = d->shared ? arena_printf(w->arena, ", %lld", (long long)d->shared) : "";
    line(w, arena_printf(w->arena, "  %s<<<kn_blocks, dim3(%d, %d, %d)%s>>>(%s);", kernel, d->threads[0], d->threads[1],
                         d->threads[2], shared, arguments));
}

static void kernel(Writer *w, const char *mark, isl_ast_node *body)
{
    Device     *d       = w->device;
    Text       *host    = w->out, text, given, taken;
    const int   indent  = w->indent;
    const bool  alone   = w->alone;
    const char *integer = w->integer;
    const char *name    = arena_printf(w->arena, "%s_kernel%d", d->name, d->kernel_count++);
    text_init(&text, w->arena);
    text_init(&given, w->arena);
    text_init(&taken, w->arena);
    if (sscanf(mark, MARK_KERNEL " %d %d %d", &d->threads[0], &d->threads[1], &d->threads[2]) != DEVICE_DIMS)
        w->failed = true;
    d->spread  = 0;
    d->pending = d->scratch = false;
    d->shared               = 0;
    for (int k = 0; k < DEVICE_DIMS; k++)
        d->grid[k] = NULL;
    d->in_kernel = true;
    w->out       = &text;
    w->indent    = 1;
    w->alone     = true;
    w->integer   = d->integer;
    write_node(w, body);
    parameters(w, body, text_string(&text), &given, &taken);
    d->in_kernel = false;
    w->out       = host;
    w->indent    = indent;
    w->alone     = alone;
    w->integer   = integer;
    /* Two blocks on a multiprocessor hide each other's barriers; heat-2d, f64: 1.3 times as fast. */
    const bool two = d->scratch && 2 * (d->bytes + BLOCK_OVERHEAD) <= MOST_SHARED + BLOCK_OVERHEAD;
    text_printf(&d->kernels, "static __global__ void __launch_bounds__(%d%s) %s(%s)\n{\n",
                d->threads[0] * d->threads[1] * d->threads[2], two ? ", 2" : "", name, text_string(&taken));
    declare_privates(w, text_string(&text));
    text_printf(&d->kernels, "%s}\n\n", text_string(&text));
    launch(w, name, text_string(&given));
}

static bool mark_of_device(Writer *w, isl_ast_node *node)
{
    isl_id       *id     = isl_ast_node_mark_get_id(node);
    isl_ast_node *body   = isl_ast_node_mark_get_node(node);
    const char   *mark   = isl_id_get_name(id);
    const bool    begins = !strncmp(mark, MARK_KERNEL, strlen(MARK_KERNEL)), tile = !strcmp(mark, MARK_TILE);
    if (begins) {
        kernel(w, mark, body);
    } else if (tile) {
        if (w->device->in_kernel)
            declare_shared(w, body);
        write_node(w, body);
    }
    isl_ast_node_free(body);
    isl_id_free(id);
    return begins || tile;
}

bool device_node(Writer *w, isl_ast_node *node)
{
    const enum isl_ast_node_type type = isl_ast_node_get_type(node);
    if (type == isl_ast_node_mark)
        return mark_of_device(w, node);
    if (!w->device->in_kernel)
        return false;
    switch (type) {
    case isl_ast_node_for: loop_node(w, node, counted); return true;
    case isl_ast_node_user: kernel_statement(w, node); return true;
    case isl_ast_node_if: /* all threads of a block come to one branch */
        barrier(w);
        if_node(w, node);
        w->device->pending = true;
        return true;
    default: return false;
    }
}
