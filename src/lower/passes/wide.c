/* SPDX-License-Identifier: MIT */
/* Wide accesses: several elements that one thread reads or writes side by side; and coordinates of the output that are
 * divided by a power of two, as where a level of a pyramid is read.
 *
 * Takes   kernels whose threads have unrolled or vectorized loops along rows, or such divisions.
 * Gives   the code of interior blocks (or of all, where there is no other) twice: for ports whose rows begin at
 *         multiples of as many elements as such a loop has iterations, and as it was. In the first a stride is a
 *         multiple by its form, and so is the distance from the first column of an input to that of the output, or the
 *         first column itself where the input is read along another variable. Where pieces are shifted inward, first
 *         columns and the length of a row are multiples. From that a backend sees that addresses are aligned, and
 *         joins accesses. Where coordinates are divided, the
 *         output begins at a multiple of the divisor in the first, too: in each copy of an unrolled loop the remainder
 *         is a constant, and neighbours have one quotient.
 * Halos   where threads keep functions in registers, loads of a row go beyond the columns of the thread. An input
 *         begins where the output does, or as far before it as the lowest column that is read: then that column is
 *         aligned. Where both may be and differ there is a version for each, and one in which inputs alone are aligned.
 *         An input that is read through boundaries alone needs no halo: then both begin at the same column. Sums that
 *         lets name are substituted there: an opaque name has no known multiple.
 * Holds   element 0 of a buffer on a device lies at a multiple of 16 bytes (runtime/device.h). The conditions are the
 *         same for all blocks. What the host reads in a let stays its name: a kernel has the value, and not the host's
 *         memory. */
#include "ir/kernel.h"
#include "lower/bounds/index_expr.h"
#include "lower/passes/pass_tools.h"

#include <string.h>

enum { MOST_NAMES = 1024, MOST_PORTS = 64, MOST_BYTES = 16, MOST_DIVISOR = 64 };

typedef struct WidePass {
    Lower        *lw;
    const char   *names[MOST_NAMES]; /* lets around, */
    const Expr   *values[MOST_NAMES];
    int           name_count, host_count; /* and how many of them are the host's */
    const char   *loops[MOST_NAMES];      /* unrolled and vectorized loops around, */
    int64_t       extents[MOST_NAMES];
    int           loop_count;
    int64_t       width, read_width;   /* the most elements side by side, of outputs and of inputs */
    const Buffer *ports[MOST_PORTS];   /* that the kernel touches */
    int64_t       lowest[MOST_PORTS];  /* of an input: the first column that is read, minus that which is written */
    bool          clamped[MOST_PORTS]; /* reads of it are clamped, in blocks at the border */
    Map           beyond;              /* inputs that are read without a boundary along their rows: Buffer -> itself */
    int           port_count;
    const char   *starts[MOST_NAMES];       /* lets, and loops of a thread, */
    const Expr   *start_values[MOST_NAMES]; /* and their values in the first iteration */
    int           start_count;
    bool          thread;    /* inside thread loops */
    bool          registers; /* threads keep functions in registers */
    const Buffer *written;
    const char   *first, *extent;             /* along its rows: its first column, and how many there are */
    bool          to_end;                     /* where it is written depends on the extent: pieces are shifted inward */
    bool          along[MOST_PORTS];          /* columns of a port are read that depend on the first one of `written` */
    int64_t       divisors[KN_MAX_RANK];      /* of its coordinates; 0: there are none */
    Map           seen;                       /* expressions */
    void (*visit)(void *user, const Expr *e); /* what is looked for in expressions */
} WidePass;

static const char *port_name(WidePass *p, const Buffer *b, const char *what, int dim)
{
    return intern(p->lw->cx, arena_printf(p->lw->arena, "%s.%s.%d", b->name, what, dim));
}

/* ---- Looking ---------------------------------------------------------------------------------------- */

/* The place of a port in the list; -1: it is none, or there are too many. */
static int note_port(WidePass *p, const Buffer *b)
{
    int i = 0;
    while (i < p->port_count && p->ports[i] != b)
        i++;
    if (b->kind == BUFFER_SCRATCH || !b->rank || i == MOST_PORTS)
        return -1;
    if (i == p->port_count) {
        p->ports[i]   = b;
        p->lowest[i]  = 0;
        p->clamped[i] = false;
        p->port_count++;
    }
    return i;
}

/* The constant part of the first column that a load reads: the rest are multiples, where it counts. */
static void note_column(WidePass *p, int port, const Expr *index)
{
    Linear form;
    index = expr_substitute(p->lw->exprs, index, p->start_count, p->starts, p->start_values);
    if (expr_linear(p->lw->arena, simplify(p->lw->simplifier, index), &form) && form.constant < p->lowest[port])
        p->lowest[port] = form.constant;
}

static void find_extreme(const Expr *e, void *found)
{
    *(bool *)found |= e->op == EX_MIN || e->op == EX_MAX;
}

/* Is the column of a load clamped? What else an index has are products with strides. */
static void find_clamp(const Expr *e, void *user)
{
    WidePass *p = user;
    Linear    form;
    int       i = 0;
    while (i < p->port_count && (e->op != EX_LOAD || e->u.buffer != p->ports[i]))
        i++;
    if (i == p->port_count || !expr_linear(p->lw->arena, e->args[0], &form))
        return;
    for (int t = 0; t < form.count; t++)
        if (form.atoms[t]->op != EX_MUL)
            expr_visit(p->lw->exprs, form.atoms[t], find_extreme, &p->clamped[i]);
}

static void find_clamps(void *user, const Expr *e)
{
    WidePass *p = user;
    expr_visit(p->lw->exprs, e, find_clamp, p);
}

static void look_border(void *user, const Stmt *s)
{
    stmt_children(s, find_clamps, look_border, user);
}

static bool is_copied(const WidePass *p, const Expr *atom)
{
    int i = 0;
    while (i < p->loop_count && (atom->op != EX_VAR || p->loops[i] != atom->u.name))
        i++;
    return i < p->loop_count;
}

/* The dimension of the output whose first coordinate is all that keeps the remainder of the form from being a constant
 * in each copy; -1: there is none. */
static int divided_dimension(WidePass *p, const Linear *form, int64_t by)
{
    int  found  = -1;
    bool copied = false;
    for (int i = 0; i < form->count; i++) {
        const Expr *atom = form->atoms[i];
        int         d    = 0;
        copied |= is_copied(p, atom);
        if (form->coefficients[i] % by == 0 || is_copied(p, atom))
            continue;
        while (d < p->written->rank && (atom->op != EX_VAR || atom->u.name != port_name(p, p->written, "min", d)))
            d++;
        if (d == p->written->rank || found >= 0 || form->coefficients[i] != 1)
            return -1;
        found = d;
    }
    return copied ? found : -1;
}

/* Notes the divisor of a division of a coordinate of the output: the greatest one along each dimension counts. */
static void note_division(WidePass *p, const Expr *e)
{
    Linear  form;
    int64_t by;
    if ((e->op != EX_DIV && e->op != EX_MOD) || e->type != KN_I32 || !expr_is_int(e->args[1], &by) || by < 2 ||
        by > MOST_DIVISOR || (by & (by - 1)))
        return;
    const Expr *of = expr_substitute(p->lw->exprs, e->args[0], p->name_count, p->names, p->values);
    const int   d =
        expr_linear(p->lw->arena, simplify(p->lw->simplifier, of), &form) ? divided_dimension(p, &form, by) : -1;
    if (d >= 0 && by > p->divisors[d])
        p->divisors[d] = by;
}

static void find_divisions(void *user, const Expr *e)
{
    WidePass *p = user;
    if (!e || map_get(&p->seen, e))
        return;
    map_set(&p->seen, e, e);
    note_division(p, e);
    for (uint32_t i = 0; i < e->count; i++)
        find_divisions(p, e->args[i]);
}

/* The 64 bits of a sum as the sum of those of its terms: coordinates do not wrap. */
static const Expr *open_cast(void *user, const Expr *e)
{
    WidePass   *p = user;
    const Expr *a = e->op == EX_CAST && e->type == KN_I64 ? e->args[0] : NULL;
    if (!a || a->type != KN_I32 || (a->op != EX_ADD && a->op != EX_SUB))
        return e;
    const Expr *parts[2];
    for (int i = 0; i < 2; i++)
        parts[i] = open_cast(p, x_cast(p->lw, KN_I64, a->args[i]));
    return x_op(p->lw, a->op, parts[0], parts[1]);
}

/* Does the index depend on the name, directly or through lets? */
static bool mentions(WidePass *p, const Expr *index, const char *name)
{
    return expr_has_variable(p->lw->exprs, expr_substitute(p->lw->exprs, index, p->name_count, p->names, p->values),
                             name);
}

/* Which ports are read along the rows of the output? */
static void find_along(void *user, const Expr *e)
{
    WidePass *p = user;
    if (!e || map_get(&p->seen, e))
        return;
    map_set(&p->seen, e, e);
    for (int i = 0; e->op == EX_LOAD && i < p->port_count; i++)
        if (p->ports[i] == e->u.buffer)
            p->along[i] |= mentions(
                p, expr_substitute(p->lw->exprs, e->args[0], p->start_count, p->starts, p->start_values), p->first);
    for (uint32_t i = 0; i < e->count; i++)
        find_along(p, e->args[i]);
}

/* Does one iteration of the loop more move the index by one element? */
static bool is_along_row(WidePass *p, const Expr *index, const char *loop)
{
    ExprPool   *pool = p->lw->exprs;
    const Expr *ends[2];
    int64_t     step;
    index = expr_substitute(pool, index, p->name_count, p->names, p->values);
    for (int i = 0; i < 2; i++) {
        const Expr *value = x_int(p->lw, i);
        ends[i]           = simplify(p->lw->simplifier, expr_substitute(pool, index, 1, &loop, &value));
        ends[i]           = expr_rewrite(pool, ends[i], open_cast, p);
    }
    return expr_difference(ends[1], ends[0], &step) && step == 1;
}

/* The most elements of a port that one instruction can read or write at an index, if that is more than `least`. */
static int64_t wider(WidePass *p, const Buffer *b, const Expr *index, int64_t least)
{
    for (int i = 0; i < p->loop_count; i++) {
        int64_t width = p->extents[i] & -p->extents[i];
        while (width * (int64_t)kn_type_size(b->type) > MOST_BYTES)
            width /= 2;
        if (width > least && is_along_row(p, index, p->loops[i]))
            least = width;
    }
    return least;
}

static void note_store(WidePass *p, const Place *place)
{
    note_port(p, place->buffer);
    if (place->buffer->kind != BUFFER_OUTPUT || place->buffer->dense < 0)
        return;
    p->written = p->written ? p->written : place->buffer;
    p->to_end |= p->extent && p->written == place->buffer && mentions(p, place->index, p->extent);
    p->width = wider(p, place->buffer, place->index, p->width);
}

static void find_ports(void *user, const Expr *e)
{
    WidePass *p = user;
    if (!e || map_get(&p->seen, e))
        return;
    map_set(&p->seen, e, e);
    if (e->op == EX_LOAD) {
        const int port = note_port(p, e->u.buffer);
        if (port >= 0)
            note_column(p, port, e->args[0]);
        if (e->u.buffer->kind == BUFFER_INPUT && e->u.buffer->dense >= 0)
            p->read_width = wider(p, e->u.buffer, e->args[0], p->read_width);
    }
    for (uint32_t i = 0; i < e->count; i++)
        find_ports(p, e->args[i]);
}

/* A let whose value was loaded stays a name: memory may be another when the name is used. */
static void push_start(WidePass *p, const char *name, const Expr *value)
{
    if (p->start_count == MOST_NAMES || expr_reads_any(p->lw->exprs, value))
        return;
    p->start_values[p->start_count] = expr_substitute(p->lw->exprs, value, p->start_count, p->starts, p->start_values);
    p->starts[p->start_count++]     = name;
}

static void push_let(WidePass *p, const Stmt *s)
{
    if (p->name_count == MOST_NAMES || expr_reads_any(p->lw->exprs, s->let.value))
        return;
    p->values[p->name_count] = expr_substitute(p->lw->exprs, s->let.value, p->name_count, p->names, p->values);
    p->names[p->name_count]  = s->let.name;
    p->name_count++;
}

static void look(void *user, const Stmt *s)
{
    WidePass  *p     = user;
    const int  names = p->name_count, loops = p->loop_count, starts = p->start_count;
    const bool thread = p->thread;
    p->thread |= s->kind == STMT_FOR && loop_table[s->loop.kind].thread;
    p->registers |= thread && s->kind == STMT_ALLOC && s->alloc.buffer->memory == MEMORY_REGISTER;
    stmt_children(s, p->visit, NULL, p);
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        note_store(p, &s->store.places[i]);
    if (s->kind == STMT_LET)
        push_let(p, s);
    if (s->kind == STMT_LET)
        push_start(p, s->let.name, s->let.value);
    if (s->kind == STMT_FOR && !loop_table[s->loop.kind].thread)
        push_start(p, s->loop.name, s->loop.min);
    if (s->kind == STMT_FOR && (s->loop.kind == LOOP_UNROLL || s->loop.kind == LOOP_VECTOR) && loops < MOST_NAMES &&
        expr_is_int(s->loop.extent, &p->extents[loops]))
        p->loops[p->loop_count++] = s->loop.name;
    if (s->kind == STMT_FOR)
        simplifier_push_range(p->lw->simplifier, s->loop.name, s->loop.min, loop_last(p->lw, s));
    stmt_children(s, NULL, look, p);
    if (s->kind == STMT_FOR)
        simplifier_pop(p->lw->simplifier);
    p->name_count  = names;
    p->loop_count  = loops;
    p->start_count = starts;
    p->thread      = thread;
}

/* ---- Making ----------------------------------------------------------------------------------------- */

typedef struct Aligned {
    WidePass   *p;
    const Expr *condition;
    const char *names[(MOST_PORTS + 1) * KN_MAX_RANK];  /* of ports, */
    const Expr *values[(MOST_PORTS + 1) * KN_MAX_RANK]; /* and what stands in their place */
    int         count;
    const char *lets[(MOST_PORTS + 1) * KN_MAX_RANK];
    const Expr *parts[(MOST_PORTS + 1) * KN_MAX_RANK];
} Aligned;

/* `whole` must be a multiple of `by` and `more`. In place of `name` stands (whole / by) * by from now on or, with a
 * `rest`, rest - (whole / by) * by - more. */
static const Expr *assume(Aligned *a, const char *name, const Expr *whole, int64_t by, const Expr *rest, int64_t more)
{
    Lower        *lw    = a->p->lw;
    const kn_type type  = (kn_type)whole->type;
    const Expr   *width = expr_int(lw->exprs, type, by), *over = expr_int(lw->exprs, type, more);
    const char   *part  = intern(lw->cx, arena_printf(lw->arena, "%s@%d", name, (int)by));
    const Expr   *back  = x_op(lw, EX_MUL, expr_var(lw->exprs, type, part), width);
    a->condition        = x_and(lw, a->condition, x_op(lw, EX_EQ, x_op(lw, EX_MOD, whole, width), over));
    a->lets[a->count]   = part;
    a->parts[a->count]  = x_op(lw, EX_DIV, whole, width);
    a->names[a->count]  = name;
    a->values[a->count] = rest ? x_sub(lw, x_sub(lw, rest, back), over) : back;
    return a->values[a->count++];
}

/* The columns that an input begins before the output, but for multiples of the width, if it has its halo. */
static int64_t halo(const WidePass *p, int port)
{
    const bool none = !p->registers || !p->written || p->width < 2 || !p->along[port] || p->to_end ||
                      !map_get(&p->beyond, p->ports[port]) || p->ports[port] == p->written;
    return none ? 0 : -p->lowest[port] % p->width;
}

/* What a version for aligned ports is. */
typedef enum WideForm {
    WIDE_PLAIN,
    WIDE_HALOS, /* inputs have halos */
    WIDE_READS, /* the same, and rows of the output may begin anywhere */
    WIDE_BORDER /* columns are clamped: rows of such inputs have a multiple of elements */
} WideForm;

/* Rows of all ports begin at multiples of the width, seen from the first column of the output or, where they are not
 * read along its rows or these are filled up to the end, from column 0. */
static void assume_rows(Aligned *a, const Expr *first, WideForm form)
{
    WidePass *p  = a->p;
    Lower    *lw = p->lw;
    for (int i = 0; i < p->port_count; i++) {
        const Buffer *b = p->ports[i];
        for (int d = 0; d < b->rank && !(form == WIDE_READS && b == p->written); d++)
            if (d != b->dense) {
                const char *stride = port_name(p, b, "stride", d);
                assume(a, stride, expr_var(lw->exprs, KN_I64, stride), p->width, NULL, 0);
            } else if (b != p->written) {
                const char *min      = port_name(p, b, "min", d);
                const bool  distance = p->along[i] && !p->to_end;
                assume(a, min, distance ? x_sub(lw, x_var(lw, p->first), x_var(lw, min)) : x_var(lw, min), p->width,
                       distance ? first : NULL,
                       distance && (form == WIDE_HALOS || form == WIDE_READS) ? halo(p, i) : 0);
                const char *extent = port_name(p, b, "extent", d);
                if (form == WIDE_BORDER && p->clamped[i])
                    assume(a, extent, x_var(lw, extent), p->width, NULL, 0);
            }
    }
    if (p->to_end)
        assume(a, p->extent, x_var(lw, p->extent), p->width, NULL, 0);
}

static void search(WidePass *p, const Stmt *s, void (*visit)(void *user, const Expr *e))
{
    p->name_count = p->host_count;
    p->loop_count = p->start_count = 0;
    p->visit                       = visit;
    map_init(&p->seen, p->lw->arena);
    look(p, s);
}

/* The statement for ports that are aligned, else `other`. */
static const Stmt *aligned_version(WidePass *p, const Stmt *s, WideForm form, const Stmt *other)
{
    Lower      *lw    = p->lw;
    Aligned     a     = { .p = p };
    const Expr *first = p->written ? x_var(lw, port_name(p, p->written, "min", p->written->dense)) : x_int(lw, 0);
    for (int d = 0; p->written && d < p->written->rank; d++)
        if (p->divisors[d]) {
            const char *min  = port_name(p, p->written, "min", d);
            const Expr *even = assume(&a, min, x_var(lw, min), p->divisors[d], NULL, 0);
            first            = d == p->written->dense ? even : first;
        }
    if (p->width >= 2)
        assume_rows(&a, first, form);
    if (!a.condition)
        return other;
    const Stmt *open = p->to_end ? stmt_substitute(lw->exprs, lw->arena, s, p->host_count, p->names, p->values) : s;
    const Stmt *wide = p->registers && p->width >= 2 ? stmt_without_sums(lw, open, NULL) : open;
    wide             = stmt_substitute(lw->exprs, lw->arena, wide, a.count, a.names, a.values);
    for (int i = a.count; i-- > 0;)
        wide = stmt_let(lw->arena, a.lets[i], a.parts[i], wide);
    return stmt_if(lw->arena, a.condition, wide, other);
}

/* `border`: the code of blocks at the border; NULL: that is the same. */
static const Stmt *widen(WidePass *p, const Stmt *s, const Stmt *border)
{
    p->width = p->read_width = p->port_count = 0;
    p->written                               = NULL;
    p->registers                             = false;
    p->first = p->extent = NULL;
    p->to_end            = false;
    search(p, s, find_ports);
    p->width = p->written ? p->width : p->read_width;
    if (!p->written && p->width < 2)
        return s;
    const int dense = p->written ? p->written->dense : 0;
    memset(p->divisors, 0, sizeof p->divisors);
    memset(p->along, 0, sizeof p->along);
    if (p->written) {
        p->first  = port_name(p, p->written, "min", dense);
        p->extent = port_name(p, p->written, "extent", dense);
        search(p, s, find_divisions);
        search(p, s, find_along);
    }
    if (p->to_end && p->width > 1 && p->width > p->divisors[dense])
        p->divisors[dense] = p->width;
    look_border(p, border ? border : s);
    bool halos = false;
    for (int i = 0; i < p->port_count; i++)
        halos |= halo(p, i) != 0;
    if (!halos)
        return aligned_version(p, s, WIDE_PLAIN, s);
    const Stmt *other = aligned_version(p, s, WIDE_READS, s);
    return aligned_version(p, s, WIDE_HALOS, aligned_version(p, s, WIDE_PLAIN, other));
}

/* The code of blocks at the border, after that of the interior: of whole blocks whose threads keep functions in
 * registers there is a version for aligned rows too (multiples.c). */
static const Stmt *widen_border(WidePass *p, const Stmt *s)
{
    bool clamped = false;
    for (int i = 0; i < p->port_count; i++)
        clamped |= p->clamped[i];
    if (s->kind != STMT_IF || !s->branch.no || !clamped || !p->registers || !p->written || p->to_end || p->width < 2)
        return s;
    return stmt_if(p->lw->arena, s->branch.condition, aligned_version(p, s->branch.yes, WIDE_BORDER, s->branch.yes),
                   s->branch.no);
}

/* The block of a kernel. */
static const Stmt *widen_block(WidePass *p, const Stmt *s)
{
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_BLOCK) {
        simplifier_push_range(p->lw->simplifier, s->loop.name, s->loop.min, loop_last(p->lw, s));
        const Stmt *body = widen_block(p, s->loop.body);
        simplifier_pop(p->lw->simplifier);
        return stmt_for(p->lw->arena, s->loop.name, s->loop.kind, s->loop.min, s->loop.extent, body);
    }
    if (s->kind == STMT_IF && s->branch.no) {
        const Stmt *yes = widen(p, s->branch.yes, s->branch.no);
        return stmt_if(p->lw->arena, s->branch.condition, yes, widen_border(p, s->branch.no));
    }
    return widen(p, s, NULL);
}

/* Notes what a call needs of an input along its rows. */
static void note_need(WidePass *p, const Stmt *s)
{
    bool bounded = false;
    expr_visit(p->lw->exprs, s->need.min, find_extreme, &bounded);
    if (!bounded && s->need.dim == s->need.buffer->dense)
        map_set(&p->beyond, s->need.buffer, s->need.buffer);
}

static const Stmt *find_kernels(void *user, const Stmt *s)
{
    WidePass     *p     = user;
    const int     names = p->host_count;
    const StmtMap m     = { p->lw->arena, find_kernels, NULL, p };
    if (s->kind == STMT_NEED)
        note_need(p, s);
    if (s->kind != STMT_KERNEL) {
        p->name_count = p->host_count;
        if (s->kind == STMT_LET && !expr_reads_any(p->lw->exprs, s->let.value))
            push_let(p, s);
        p->host_count = p->name_count;
        s             = stmt_map(&m, s);
        p->host_count = names;
        return s;
    }
    Stmt *kernel        = ARENA_NEW(p->lw->arena, Stmt);
    *kernel             = *s;
    kernel->kernel.body = widen_block(p, s->kernel.body);
    return kernel;
}

const Stmt *lower_wide(Lower *lw, const Stmt *s)
{
    WidePass *p = ARENA_NEW(lw->arena, WidePass);
    p->lw       = lw;
    map_init(&p->beyond, lw->arena);
    return s ? find_kernels(p, s) : NULL;
}
