/* SPDX-License-Identifier: MIT */
/* Guessed values of integer expressions: see size_guess.h. */
#include "lower/bounds/size_guess.h"

enum {
    GUESSED_OUTPUT = 1000,
    GUESSED_INPUT  = 1 << 20,
    GUESSED_PARAM  = 4,
    MANY           = 8
};                                            /* sizes in coordinates; MANY: iterations */
static const int64_t most = (int64_t)1 << 40; /* larger values are not known */

static void set(SizeGuess *t, const char *name, bool known, int64_t value)
{
    int64_t *box = known ? ARENA_NEW(t->arena, int64_t) : NULL;
    if (box)
        *box = value;
    map_set(&t->names, name, box);
}

void guess_init(SizeGuess *t, Lower *lw, Arena *arena)
{
    *t = (SizeGuess){ .lw = lw, .arena = arena };
    map_init(&t->names, arena);
    int output = -1; /* the ports of outputs come after those of inputs, in order, each component a port */
    for (int i = 0; i < lw->program->port_count; i++) {
        const Buffer *b = lw->program->buffers.at[i];
        output += b->kind == BUFFER_OUTPUT && !b->component;
        const bool     is_known = output >= 0 && output < lw->plan->output_count;
        const int32_t *estimate = is_known ? lw->plan->pipeline->outputs.at[output].estimate : NULL;
        for (int d = 0; d < b->rank; d++) {
            const int64_t extent = estimate ? estimate[d] : b->kind == BUFFER_INPUT ? GUESSED_INPUT : GUESSED_OUTPUT;
            set(t, intern(lw->cx, arena_printf(arena, "%s.min.%d", b->name, d)), true, 0);
            set(t, intern(lw->cx, arena_printf(arena, "%s.extent.%d", b->name, d)), true, extent);
        }
    }
}

/* Euclidean, by zero 0; of numbers far from the ends of int64_t. */
static int64_t quotient(int64_t a, int64_t b)
{
    return b == 0 ? 0 : a / b - (a % b < 0 ? (b > 0 ? 1 : -1) : 0);
}

static bool apply(const Expr *e, const int64_t *a, int64_t *out)
{
    switch ((ExprOp)e->op) {
    case EX_CAST:
    case EX_SAT_CAST: *out = a[0]; return true;
    case EX_NEG: *out = -a[0]; return true;
    case EX_BIT_NOT: *out = e->type == KN_BOOL ? !a[0] : ~a[0]; return true;
    case EX_ABS: *out = a[0] < 0 ? -a[0] : a[0]; return true;
    case EX_ADD: *out = a[0] + a[1]; return true;
    case EX_SUB: *out = a[0] - a[1]; return true;
    case EX_MUL: return !__builtin_mul_overflow(a[0], a[1], out);
    case EX_DIV: *out = quotient(a[0], a[1]); return true;
    case EX_MOD: *out = a[0] - a[1] * quotient(a[0], a[1]); return true;
    case EX_MIN: *out = a[0] < a[1] ? a[0] : a[1]; return true;
    case EX_MAX: *out = a[0] > a[1] ? a[0] : a[1]; return true;
    case EX_LT: *out = a[0] < a[1]; return true;
    case EX_LE: *out = a[0] <= a[1]; return true;
    case EX_EQ: *out = a[0] == a[1]; return true;
    case EX_NE: *out = a[0] != a[1]; return true;
    case EX_AND: *out = a[0] && a[1]; return true;
    case EX_OR: *out = a[0] || a[1]; return true;
    case EX_SELECT: *out = a[0] ? a[1] : a[2]; return true;
    default: return false;
    }
}

static bool leaf(SizeGuess *t, const Expr *e, int64_t *out)
{
    if (e->op == EX_VAR) {
        const int64_t *known = map_get(&t->names, e->u.name);
        *out                 = known ? *known : 0;
        return known != NULL;
    }
    *out = e->op == EX_INT ? e->u.i : GUESSED_PARAM;
    return e->op == EX_INT || (e->op == EX_PARAM && !t->sizes);
}

/* `done`: node -> its value, or `done` itself where it has none. */
static bool value_of(SizeGuess *t, Map *done, const Expr *e, int64_t *out)
{
    if (!e->count)
        return !type_is_float((kn_type)e->type) && leaf(t, e, out) && *out > -most && *out < most;
    const void *seen = map_get(done, e);
    if (!seen) {
        int64_t a[3] = { 0 }, value = 0;
        bool    known = e->count <= 3 && e->op != EX_LOAD && e->op != EX_EXTERN && !type_is_float((kn_type)e->type);
        for (uint32_t i = 0; i < e->count && known; i++)
            known = value_of(t, done, e->args[i], &a[i]);
        known = known && apply(e, a, &value) && value > -most && value < most;
        seen  = done;
        if (known) {
            int64_t *kept = ARENA_NEW(done->arena, int64_t);
            *kept         = value;
            seen          = kept;
        }
        map_set(done, e, seen);
    }
    if (seen == done)
        return false;
    *out = *(const int64_t *)seen;
    return true;
}

bool guess_value(SizeGuess *t, const Expr *e, int64_t *out)
{
    Arena scratch;
    Map   done;
    scratch_begin(&scratch, t->lw->cx);
    map_init(&done, &scratch);
    const bool known = value_of(t, &done, e, out);
    scratch_end(&scratch);
    return known;
}

void guess_let(SizeGuess *t, const char *name, const Expr *value)
{
    int64_t    v     = 0;
    const bool known = guess_value(t, value, &v);
    set(t, name, known, v);
}

void guess_loop(SizeGuess *t, const Stmt *loop)
{
    int64_t    min = 0, extent = 0;
    const bool known = guess_value(t, loop->loop.min, &min) && guess_value(t, loop->loop.extent, &extent);
    set(t, loop->loop.name, known, extent < MANY ? min : min + extent / 2);
}
