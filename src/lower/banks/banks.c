/* SPDX-License-Identifier: MIT */
/* Rows of shared memory padded against bank conflicts.
 *
 * Takes   kernels with their buffers in shared memory, packed.
 * Gives   the same with element i of some buffers at i + i / row * pad: where the lanes of a warp access a column, rows
 *         that begin in one bank would make them wait for each other.
 * Holds   any row and pad give each element a place of its own, so every choice is right. Choices are the distances
 *         between elements that the indices have as coefficients, and pads of up to 64 bytes; each is rated by the
 *         wavefronts of all accesses (cost.c), weighted by loops around them, and a division where the row of an
 *         index is not a linear form. One is taken if it saves a part of them, and if no fewer blocks are resident. A
 *         function with align_storage is left as it is: align_storage(x, 1) asks for that. */
#include "lower/bounds/index_expr.h"
#include "lower/banks/banks.h"

#include <string.h>

enum {
    MOST_ROWS = 6, /* rows that are tried */
    MOST_PAD  = 64 /* bytes */
};
/* What it has to save, of all that is rated. Less is not seen, and indices of padded rows take registers. */
static const double least_gain = 0.25;
/* Of a division by a constant, in wavefronts: four instructions (cost.c). */
static const double division_cost = 1;

/* What a multiprocessor has, for GPUs that differ in it: bytes of shared memory, of which each block takes 1 KiB more
 * than it asks for. */
static const int64_t multiprocessor_bytes[] = { 100 << 10, 164 << 10, 228 << 10 };
enum { BLOCK_EXTRA = 1 << 10, MOST_RESIDENT_THREADS = 2048 };

/* ---- Choice ------------------------------------------------------------------------------------- */

static int64_t padded_count(Padding q, int64_t count)
{
    return count > 0 ? padded(q, count - 1) + 1 : count;
}

static int64_t aligned(int64_t bytes)
{
    return (bytes + SHARED_ALIGNMENT - 1) / SHARED_ALIGNMENT * SHARED_ALIGNMENT;
}

/* Of a block, with `b` padded so. */
static int64_t block_bytes(const BankPass *p, const KernelMemory *k, const Buffer *b, Padding with)
{
    int64_t sum = 0;
    for (size_t i = 0; i < k->buffers.count; i++) {
        const Buffer *home = shared_home(k->buffers.at[i]);
        int64_t       most = 0;
        for (size_t n = 0; n < k->buffers.count; n++) {
            const Buffer  *other = k->buffers.at[n];
            const Padding *known = map_get(&p->paddings, other);
            const Padding  q     = other == b ? with : known ? *known : (Padding){ 0 };
            const int64_t  bytes = padded_count(q, k->counts.at[n]) * (int64_t)kn_type_size(other->type);
            if (shared_home(other) == home)
                most = n < i ? INT64_MAX : bytes > most ? bytes : most; /* counted where it comes first */
            if (most == INT64_MAX)
                break;
        }
        sum += most == INT64_MAX ? 0 : aligned(most);
    }
    return sum;
}

/* Blocks of a multiprocessor, as far as threads and shared memory go. */
static int64_t resident_blocks(const Stmt *kernel, int64_t bytes, int64_t all_bytes)
{
    const int64_t threads    = (int64_t)banks_threads(kernel, 0) * banks_threads(kernel, 1) * banks_threads(kernel, 2);
    const int64_t by_threads = MOST_RESIDENT_THREADS / (threads ? threads : 1),
                  by_bytes   = all_bytes / (bytes + BLOCK_EXTRA);
    return by_threads < by_bytes ? by_threads : by_bytes;
}

static bool has_room(const BankPass *p, const Buffer *b, Padding q)
{
    for (size_t i = 0; i < p->kernels.count; i++) {
        const KernelMemory *k     = &p->kernels.at[i];
        const Padding      *known = map_get(&p->paddings, b);
        const int64_t before = block_bytes(p, k, b, known ? *known : (Padding){ 0 }), after = block_bytes(p, k, b, q);
        if (after > before && after > (before > GPU_SHARED_BYTES ? gpu_shared_bytes(p->lw->device) : GPU_SHARED_BYTES))
            return false;
        for (size_t g = 0; g < sizeof multiprocessor_bytes / sizeof *multiprocessor_bytes; g++)
            if (resident_blocks(k->stmt, after, multiprocessor_bytes[g]) <
                resident_blocks(k->stmt, before, multiprocessor_bytes[g]))
                return false;
    }
    return true;
}

/* Accesses that a pad makes narrower are more of them, and wider ones take registers: on an H200 interpolate lost a
 * tenth by 64-bit accesses, and a sum along rows half of its speed without 128-bit ones. */
static bool keeps_widths(const BankPass *p, const Buffer *b, Padding q)
{
    for (size_t i = 0; i < p->accesses.count; i++)
        if (p->accesses.at[i]->buffer == b && p->accesses.at[i]->weight > 0 && !bank_same_widths(p->accesses.at[i], q))
            return false;
    return true;
}

static double cost_of(const BankPass *p, const Buffer *b, Padding q)
{
    double sum = 0;
    for (size_t i = 0; i < p->accesses.count; i++) {
        const BankAccess *a = p->accesses.at[i];
        if (a->buffer != b)
            continue;
        sum += bank_cost(a, q);
        for (size_t k = 0; q.pad && k < a->constants.count; k++) {
            int64_t quotients[MOST_ATOMS], constant;
            if (!row_quotient(a, a->constants.at[k], q.row, quotients, &constant))
                sum += division_cost * a->weight;
        }
    }
    return sum;
}

/* The distances between elements that may be rows. */
static int find_rows(const BankPass *p, const Buffer *b, int64_t rows[MOST_ROWS])
{
    int count = 0;
    for (size_t i = 0; i < p->accesses.count; i++) {
        const BankAccess *a = p->accesses.at[i];
        for (int t = 0; a->buffer == b && t < a->form.count && count < MOST_ROWS; t++) {
            const int64_t c      = a->form.coefficients[t] < 0 ? -a->form.coefficients[t] : a->form.coefficients[t];
            bool          is_new = c > 1;
            for (int r = 0; r < count; r++)
                is_new = is_new && rows[r] != c;
            if (is_new)
                rows[count++] = c;
        }
    }
    return count;
}

static bool is_users(const BankPass *p, const Buffer *b)
{
    const Plan *plan = p->lw->plan;
    for (int i = 0; b->func && i < plan->func_count; i++)
        for (int d = 0; !strcmp(plan->funcs[i].func->name, b->func) && d < plan->funcs[i].func->rank; d++)
            if (plan->funcs[i].align[d] > 0)
                return true;
    return false;
}

static void choose(BankPass *p, const Buffer *b)
{
    const int64_t size = (int64_t)kn_type_size(b->type);
    double        now = 0, least = 0;
    int64_t       rows[MOST_ROWS];
    for (size_t i = 0; i < p->accesses.count; i++)
        if (p->accesses.at[i]->buffer == b) {
            now += bank_cost(p->accesses.at[i], (Padding){ 0 });
            least += bank_cost_least(p->accesses.at[i]);
        }
    if (now <= least || is_users(p, b))
        return;
    Padding   best  = { 0 };
    double    cost  = now * (1 - least_gain);
    const int count = find_rows(p, b, rows);
    for (int r = 0; r < count; r++)
        for (int64_t pad = 1; pad * size <= MOST_PAD && pad < rows[r]; pad *= 2) {
            const Padding q    = { rows[r], pad };
            const double  with = cost_of(p, b, q);
            if (with < cost && keeps_widths(p, b, q) && has_room(p, b, q)) {
                best = q;
                cost = with;
            }
        }
    if (best.pad) {
        Padding *kept = ARENA_NEW(p->lw->arena, Padding);
        *kept         = best;
        map_set(&p->paddings, b, kept);
    }
}

/* ---- Rewriting ---------------------------------------------------------------------------------- */

/* index / row in 32 bits: an index is not negative, and shared memory is small. In 64 bits a division takes thrice the
 * instructions. */
static const Expr *short_quotient(Lower *lw, const Expr *index, int64_t row)
{
    const Expr *quotient = x_op(lw, EX_DIV, x_cast(lw, KN_U32, index), expr_int(lw->exprs, KN_U32, row));
    return x_cast(lw, KN_I64, quotient);
}

/* The index of an element in its place. */
static const Expr *new_index(BankPass *p, const Buffer *b, const Expr *index)
{
    Lower         *lw = p->lw;
    const Padding *q  = map_get(&p->paddings, b);
    if (!q)
        return index;
    const Expr       *pad = expr_int(lw->exprs, KN_I64, q->pad), *rows = NULL;
    const BankAccess *a = banks_access(p, b, index);
    int64_t           quotients[MOST_ATOMS], constant;
    if (a && row_quotient(a, a->form.constant, q->row, quotients, &constant)) {
        rows = expr_int(lw->exprs, KN_I64, constant);
        for (int i = 0; i < a->form.count; i++)
            rows = x_add(lw, rows, x_op(lw, EX_MUL, a->form.atoms[i], expr_int(lw->exprs, KN_I64, quotients[i])));
    } else {
        rows = short_quotient(lw, index, q->row);
    }
    return x_add(lw, index, x_op(lw, EX_MUL, rows, pad));
}

static const Expr *pad_load(void *user, const Expr *e)
{
    BankPass   *p     = user;
    const Expr *index = e->op == EX_LOAD ? new_index(p, e->u.buffer, e->args[0]) : NULL;
    return index ? expr_load(p->lw->exprs, e->u.buffer, (kn_type)e->type, index) : e;
}

static const Expr *pad_loads(void *user, const Expr *e)
{
    BankPass *p = user;
    return expr_rewrite(p->lw->exprs, e, pad_load, p);
}

static const Stmt *pad_store(BankPass *p, const Stmt *s)
{
    Stmt *st         = ARENA_NEW(p->lw->arena, Stmt);
    *st              = *s;
    st->store.places = ARENA_ARRAY(p->lw->arena, Place, (size_t)s->store.count);
    for (int i = 0; i < s->store.count; i++) {
        const Place *place  = &s->store.places[i];
        const Expr  *index  = new_index(p, place->buffer, pad_loads(p, place->index));
        st->store.places[i] = (Place){ place->buffer, index, pad_loads(p, place->value) };
    }
    return st;
}

static const Stmt *pad_stmt(void *user, const Stmt *s)
{
    BankPass     *p       = user;
    const StmtMap m       = { p->lw->arena, pad_stmt, pad_loads, p };
    const bool    in_nest = p->in_nest;
    const Stmt   *made    = s;
    int64_t       count;
    if (s->kind == STMT_STORE)
        return pad_store(p, s);
    banks_enter(p, s);
    made = stmt_map(&m, s);
    banks_leave(p, s, in_nest);
    const Padding *q = s->kind == STMT_ALLOC ? map_get(&p->paddings, s->alloc.buffer) : NULL;
    if (made && q && expr_is_int(s->alloc.count, &count)) {
        Stmt *alloc        = ARENA_NEW(p->lw->arena, Stmt);
        *alloc             = *made;
        alloc->alloc.count = expr_int(p->lw->exprs, KN_I64, padded_count(*q, count));
        made               = alloc;
    }
    return made;
}

const Stmt *lower_banks(Lower *lw, const Stmt *s)
{
    BankPass *p = ARENA_NEW(lw->arena, BankPass);
    p->lw       = lw;
    p->weight   = 1;
    map_init(&p->paddings, lw->arena);
    if (s)
        banks_look(p, s);
    for (size_t k = 0; k < p->kernels.count; k++)
        for (size_t i = 0; i < p->kernels.at[k].buffers.count; i++)
            if (!map_get(&p->paddings, p->kernels.at[k].buffers.at[i]))
                choose(p, p->kernels.at[k].buffers.at[i]);
    return s && p->paddings.count ? pad_stmt(p, s) : s;
}
