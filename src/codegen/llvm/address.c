/* SPDX-License-Identifier: MIT */
/* Addresses: an index is a sum of terms, added to the buffer's address from the outermost scope to the innermost.
 *
 * Takes   an index (i64) as the lowered program has it.
 * Gives   pointer + constant + per lane a constant or a value. The pointer is made step by step: terms in order of
 *         their level, so that what does not change in a loop (the row) is added before it, and accesses that differ by
 *         a constant share everything else. A product with a stride is taken apart too: rows that are copies of each
 *         other, (y + 1) + 1 and y + 2, are one pointer.
 * Holds   i32 coordinates are made 64 bits wide term by term, which is right because their sums do not wrap; sums of
 *         data are not taken apart. */
#include "codegen/llvm/llvm.h"

#include <stdio.h>

/* factor * atom * by. */
typedef struct Term {
    const Expr *atom; /* NULL: 1 */
    const Expr *by;   /* a stride; NULL: 1 */
    int64_t     factor;
    bool        widen; /* the atom is i32 */
} Term;

typedef struct Terms {
    Term     at[MOST_TERMS];
    int      count;
    int      visits; /* of expressions, so far */
    uint64_t constant;
    bool     overflow;
} Terms;

enum { MOST_VISITS = 256 };

static void add_term(Terms *t, const Expr *e, const Expr *by, uint64_t factor)
{
    for (int i = 0; i < t->count; i++)
        if (t->at[i].atom == e && t->at[i].by == by) {
            t->at[i].factor = (int64_t)((uint64_t)t->at[i].factor + factor);
            return;
        }
    if (t->count == MOST_TERMS)
        t->overflow = true;
    else
        t->at[t->count++] = (Term){ .atom = e, .by = by, .factor = (int64_t)factor, .widen = e && e->type == KN_I32 };
}

/* What a name stands for, where that is a sum that changes in a loop: its terms are better added one by one. */
static const Expr *let_sum(Gen *g, const Expr *e)
{
    const NameBinding *b = e->op == EX_VAR ? binding_find(g, e->u.name) : NULL;
    if (!b)
        return NULL;
    return (g->kernel ? g->scopes[b->value.level].loop : b->value.level) > g->f->base ? b->sum : NULL;
}

static void add_terms(Gen *g, Terms *t, const Expr *e, uint64_t factor);

/* A sum times a stride: term by term. */
static bool add_strided(Gen *g, Terms *t, const Expr *e, uint64_t factor)
{
    Terms sum = { .visits = t->visits };
    if (e->op != EX_MUL || e->type != KN_I64 || (e->args[0]->op != EX_VAR && e->args[1]->op != EX_VAR))
        return false;
    const int         place  = e->args[0]->op == EX_VAR ? 0 : 1;
    const Expr       *by     = e->args[place];
    const ShapedValue stride = gen_expr(g, by);
    add_terms(g, &sum, e->args[1 - place], factor);
    if (stride.shape != UNIFORM || sum.overflow || t->count + sum.count >= MOST_TERMS)
        return false;
    for (int i = 0; i < sum.count; i++)
        if (sum.at[i].by)
            return false;
    t->visits = sum.visits;
    for (int i = 0; i < sum.count; i++)
        add_term(t, sum.at[i].atom, by, (uint64_t)sum.at[i].factor);
    if (sum.constant)
        add_term(t, NULL, by, sum.constant);
    return true;
}

static void add_terms(Gen *g, Terms *t, const Expr *e, uint64_t factor)
{
    int64_t     c;
    const Expr *sum;
    if (t->overflow || ++t->visits > MOST_VISITS) {
        t->overflow = true;
        return;
    }
    if (expr_is_int(e, &c)) {
        t->constant += factor * (uint64_t)c;
    } else if (e->op == EX_ADD || e->op == EX_SUB) {
        add_terms(g, t, e->args[0], factor);
        add_terms(g, t, e->args[1], e->op == EX_ADD ? factor : 0 - factor);
    } else if (e->op == EX_NEG) {
        add_terms(g, t, e->args[0], 0 - factor);
    } else if (e->op == EX_MUL && expr_is_int(e->args[1], &c)) {
        add_terms(g, t, e->args[0], factor * (uint64_t)c);
    } else if (e->op == EX_MUL && expr_is_int(e->args[0], &c)) {
        add_terms(g, t, e->args[1], factor * (uint64_t)c);
    } else if (e->op == EX_CAST && e->args[0]->type == KN_I32 && is_coordinate(g, e->args[0])) {
        add_terms(g, t, e->args[0], factor);
    } else if ((sum = let_sum(g, e))) {
        add_terms(g, t, sum, factor);
    } else if (!add_strided(g, t, e, factor)) {
        add_term(t, e, NULL, factor);
    }
}

/* ---- Sums that are remembered (value.c) ---- */

enum { PRODUCT = -1, SUM = -2 }; /* where other sums have a scale */

/* An i32 as i64. */
static LLVMValueRef widened(Gen *g, const Expr *atom, LLVMValueRef v, int level)
{
    const NameBinding *b = atom->op == EX_VAR ? binding_find(g, atom->u.name) : NULL;
    if (b && b->wide)
        return b->wide;
    AddressSum *s = sum_find(g, v, v, 0);
    if (s->result)
        return s->result;
    at_level(g, level);
    return sum_keep(g, s, level, LLVMBuildSExt(g->b, v, like(g->t.i64, v), ""));
}

static LLVMValueRef multiple(Gen *g, LLVMValueRef v, int64_t factor, int level)
{
    if (factor == 1)
        return v;
    AddressSum *s = sum_find(g, v, NULL, factor);
    if (s->result)
        return s->result;
    at_level(g, level);
    return sum_keep(g, s, level, LLVMBuildMul(g->b, v, int_like(LLVMTypeOf(v), factor), ""));
}

/* factor * atom, of an atom that all lanes have in common: a multiple of what its loop counts, where it is one. */
static LLVMValueRef term_value(Gen *g, const Term *t, ShapedValue v)
{
    const NameBinding *b = t->atom->op == EX_VAR ? binding_find(g, t->atom->u.name) : NULL;
    if (b && b->scaled && t->factor % b->scale == 0)
        return multiple(g, b->scaled, t->factor / b->scale, v.level);
    return multiple(g, t->widen ? widened(g, t->atom, v.v, v.level) : v.v, t->factor, v.level);
}

static LLVMValueRef advanced(Gen *g, const Buffer *buffer, LLVMValueRef ptr, LLVMValueRef by, int level)
{
    AddressSum *s = sum_find(g, ptr, by, type_bits(buffer->type));
    if (s->result)
        return s->result;
    at_level(g, level);
    return sum_keep(g, s, level, LLVMBuildGEP2(g->b, memory_type(g, buffer->type), ptr, &by, 1, ""));
}

/* The sum of what two terms add in each lane. */
static LLVMValueRef summed(Gen *g, LLVMValueRef a, LLVMValueRef b, int level)
{
    AddressSum *s = sum_find(g, a, b, SUM);
    if (s->result)
        return s->result;
    at_level(g, level);
    return sum_keep(g, s, level, LLVMBuildAdd(g->b, a, b, ""));
}

/* ---- Addresses ---- */

static int64_t *lane_offsets(Gen *g, Address *a)
{
    if (!a->offsets)
        a->offsets = gen_alloc(g, (size_t)g->lanes * sizeof *a->offsets);
    return a->offsets;
}

/* Adds to what each lane has of its own, and notes what that is. */
static void join_lanes(Gen *g, Address *a, const Term *t, LLVMValueRef lanes, int level)
{
    if (!a->own)
        a->own = gen_alloc(g, MOST_OWN * sizeof *a->own);
    if (a->own_count < MOST_OWN)
        a->own[a->own_count] = (LaneTerm){ t->atom, t->by, t->factor };
    a->own_count++;
    a->level = a->level > level ? a->level : level;
    a->lanes = a->lanes ? summed(g, a->lanes, lanes, a->level) : lanes;
}

/* What differs from lane to lane: constants go to the offsets, values to the lanes. */
static void add_lanes(Gen *g, Address *a, const Term *t, ShapedValue v)
{
    if (v.shape == RAMP) {
        int64_t *offsets = lane_offsets(g, a);
        for (int i = 0; i < g->lanes; i++)
            offsets[i] = (int64_t)((uint64_t)offsets[i] + (uint64_t)v.step * (uint64_t)t->factor * (uint64_t)i);
        return;
    }
    LLVMValueRef lanes = t->widen ? widened(g, t->atom, v.v, v.level) : v.v;
    if (LLVMIsAConstantDataVector(lanes) || LLVMIsAConstantAggregateZero(lanes)) {
        int64_t *offsets = lane_offsets(g, a);
        for (int i = 0; i < g->lanes; i++) {
            LLVMValueRef one = LLVMGetAggregateElement(lanes, (unsigned)i);
            offsets[i] =
                (int64_t)((uint64_t)offsets[i] + (uint64_t)LLVMConstIntGetSExtValue(one) * (uint64_t)t->factor);
        }
        return;
    }
    join_lanes(g, a, t, multiple(g, lanes, t->factor, v.level), v.level);
}

typedef struct Step {
    LLVMValueRef v;
    int          level;
    uint32_t     id;
} Step;

static bool step_before(const Step *a, const Step *b)
{
    return a->level != b->level ? a->level < b->level : a->id < b->id;
}

/* Keeps `steps` in order of level, then of id. */
static void insert_step(Step *steps, int *count, Step s)
{
    int i = (*count)++;
    for (; i > 0 && step_before(&s, &steps[i - 1]); i--)
        steps[i] = steps[i - 1];
    steps[i] = s;
}

/* (base + step*lane) / c with a constant c: lane i adds (r + step*i) / c to base / c, where r = base % c. So all lanes
 * share a pointer, and there are c ways in which they lie behind it. The value to add to the pointer, or NULL where it
 * is none of these. */
static LLVMValueRef split_quotient(Gen *g, Address *a, const Expr *atom, int *level)
{
    int64_t c;
    if (atom->op != EX_DIV || !expr_is_int(atom->args[1], &c) || c < 2 || c > MOST_PHASES ||
        !is_coordinate(g, atom->args[0]))
        return NULL;
    const ShapedValue v = gen_expr(g, atom->args[0]);
    if (v.shape != RAMP || v.step < 1 || v.step > MOST_PHASES)
        return NULL;
    at_level(g, v.level);
    LLVMValueRef q = floor_by_constant(g, v.v, c, type_bits(atom->type));
    a->phase       = LLVMBuildSub(g->b, v.v, LLVMBuildMul(g->b, q, int_like(LLVMTypeOf(q), c), ""), "");
    a->phases      = (int)c;
    a->step        = v.step;
    *level         = v.level;
    return LLVMBuildSExt(g->b, q, g->t.i64, "");
}

/* The one term that is not the same in all lanes, or NULL. */
static const Term *only_varying(Gen *g, const Terms *terms)
{
    const Term *found = NULL;
    for (int i = 0; i < terms->count; i++)
        if (terms->at[i].factor && terms->at[i].atom && gen_expr(g, terms->at[i].atom).shape != UNIFORM) {
            if (found || terms->at[i].by)
                return NULL;
            found = &terms->at[i];
        }
    return found;
}

/* Phases help where every lane is loaded. */
static bool phases_help(const Gen *g, const Term *t)
{
    return t && t->factor == 1 && !g->mask && !g->kernel && !g->options->check_access;
}

/* The innermost level of the terms with the same stride: what is constant of them is added there, behind what all rows
 * share. */
static int row_level(Gen *g, const Terms *terms, const Expr *by)
{
    int level = gen_expr(g, by).level;
    for (int i = 0; i < terms->count; i++)
        if (terms->at[i].by == by && terms->at[i].atom) {
            const ShapedValue other = gen_expr(g, terms->at[i].atom);
            level                   = other.shape != LANES && other.level > level ? other.level : level;
        }
    return level;
}

/* A term with a stride: what all lanes have of it in common. */
static Step strided_step(Gen *g, const Terms *terms, const Term *t)
{
    const ShapedValue by = gen_expr(g, t->by);
    if (!t->atom)
        return (Step){ multiple(g, by.v, t->factor, by.level), row_level(g, terms, t->by), UINT32_MAX };
    const ShapedValue v     = gen_expr(g, t->atom);
    const int         level = v.level > by.level ? v.level : by.level;
    LLVMValueRef      wide  = t->widen ? widened(g, t->atom, v.v, v.level) : v.v;
    AddressSum       *s     = sum_find(g, wide, by.v, PRODUCT);
    if (!s->result) {
        at_level(g, level);
        sum_keep(g, s, level, LLVMBuildMul(g->b, wide, by.v, ""));
    }
    return (Step){ multiple(g, s->result, t->factor, level), level, t->atom->id };
}

/* What a term with a stride has of its own in each lane. The base of a ramp is common to all. */
static void add_strided_lanes(Gen *g, Address *a, const Term *t, ShapedValue v)
{
    const ShapedValue by = gen_expr(g, t->by);
    LLVMValueRef      wide;
    if (v.shape == RAMP) {
        LLVMValueRef steps[MOST_VECTOR_LANES];
        for (int i = 0; i < g->lanes; i++)
            steps[i] = i64_const(g, (int64_t)((uint64_t)v.step * (uint64_t)i));
        wide = LLVMConstVector(steps, (unsigned)g->lanes);
    } else {
        wide = t->widen ? widened(g, t->atom, v.v, v.level) : v.v;
    }
    const int   level = v.level > by.level ? v.level : by.level;
    AddressSum *s     = sum_find(g, wide, by.v, PRODUCT);
    if (!s->result) {
        at_level(g, level);
        sum_keep(g, s, level, LLVMBuildMul(g->b, wide, splat(g, by.v, g->lanes), ""));
    }
    join_lanes(g, a, t, multiple(g, s->result, t->factor, level), level);
}

/* A term as a part of a kernel's index. */
static IndexPart index_part(Gen *g, const Terms *terms, const Term *t, ShapedValue v)
{
    IndexPart part = { .atom = t->atom ? v.v : NULL, .factor = t->factor, .id = t->atom ? t->atom->id : 0 };
    part.level     = t->atom ? v.level : row_level(g, terms, t->by);
    if (t->by) {
        const ShapedValue by = gen_expr(g, t->by);
        part.stride          = by.v;
        part.stride_id       = t->by->id + 1;
        part.level           = by.level > part.level ? by.level : part.level;
    }
    return part;
}

/* The pointer to what the parts of a kernel's index say. A large constant is one of them. */
static void kernel_pointer(Gen *g, Address *a, IndexPart *parts, int count, uint64_t constant)
{
    a->constant = (int64_t)constant;
    if (a->constant <= -MOST_OFFSET || a->constant >= MOST_OFFSET) {
        parts[count++] = (IndexPart){ .factor = a->constant, .level = g->f->base };
        a->factors |= constant;
        a->constant = 0;
    }
    int          level = g->f->buffers[a->buffer->id].level;
    LLVMTypeRef  type  = kernel_index_type(g, a->buffer);
    LLVMValueRef index = kernel_index(g, type, parts, count, &level);
    if (index && type != g->t.i64) {
        AddressSum *s = sum_find(g, index, index, 0);
        if (!s->result) {
            at_level(g, level);
            sum_keep(g, s, level, LLVMBuildSExt(g->b, index, g->t.i64, ""));
        }
        index = s->result;
    }
    if (index)
        a->ptr = advanced(g, a->buffer, a->ptr, index, level);
    a->level = a->level > level ? a->level : level;
}

Address address_of(Gen *g, const Buffer *buffer, const Expr *index, bool load)
{
    Terms terms = { 0 };
    add_terms(g, &terms, index, 1);
    if (terms.overflow) {
        terms = (Terms){ 0 };
        add_term(&terms, index, NULL, 1);
    }
    Address   a = { .buffer = buffer, .named = g->f->base, .pure = true };
    IndexPart parts[MOST_TERMS + 1];
    Step      steps[MOST_TERMS];
    int       count = 0, part_count = 0;
    a.ptr               = buffer_base(g, buffer);
    a.level             = g->f->buffers[buffer->id].level;
    const Term *varying = load && g->lanes ? only_varying(g, &terms) : NULL;
    for (int i = 0; i < terms.count; i++) {
        const Term *t = &terms.at[i];
        if (!t->factor)
            continue;
        const ShapedValue v = t->atom ? gen_expr(g, t->atom) : value_constant(g, NULL);
        a.named             = a.named > v.named ? a.named : v.named;
        a.pure              = a.pure && v.pure;
        a.factors |= (uint64_t)t->factor;
        if (t->by) {
            const ShapedValue by = gen_expr(g, t->by);
            a.named              = a.named > by.named ? a.named : by.named;
            a.pure               = a.pure && by.pure;
            if (v.shape != UNIFORM)
                add_strided_lanes(g, &a, t, v);
            if (v.shape != LANES && g->kernel)
                parts[part_count++] = index_part(g, &terms, t, v);
            else if (v.shape != LANES)
                insert_step(steps, &count, strided_step(g, &terms, t));
            continue;
        }
        if (v.shape == LANES && t == varying && !LLVMIsConstant(v.v) && phases_help(g, t)) {
            int          level;
            LLVMValueRef shared = split_quotient(g, &a, t->atom, &level);
            if (shared) {
                insert_step(steps, &count, (Step){ shared, level, t->atom->id });
                continue;
            }
        }
        if (v.shape != UNIFORM)
            add_lanes(g, &a, t, v);
        if (v.shape == LANES)
            continue;
        if (LLVMIsAConstantInt(v.v))
            terms.constant += (uint64_t)t->factor * (uint64_t)LLVMConstIntGetSExtValue(v.v);
        else if (g->kernel)
            parts[part_count++] = index_part(g, &terms, t, v);
        else
            insert_step(steps, &count, (Step){ term_value(g, t, v), v.level, t->atom->id });
    }
    if (g->kernel) {
        kernel_pointer(g, &a, parts, part_count, terms.constant);
        return a;
    }
    int level = g->f->buffers[buffer->id].level;
    for (int i = 0; i < count; i++) {
        level = level > steps[i].level ? level : steps[i].level;
        a.ptr = advanced(g, buffer, a.ptr, steps[i].v, level);
    }
    a.level    = a.level > level ? a.level : level;
    a.constant = (int64_t)terms.constant;
    return a;
}
