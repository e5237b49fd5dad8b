/* SPDX-License-Identifier: MIT */
/* Expressions of lowered code, as lists of instructions over lanes.
 *
 * Takes   the expressions of one statement: a graph of shared nodes.
 * Gives   one instruction per distinct node, operands first. Constants and variables of full width need none.
 * Holds   everything is evaluated, as a backend may: both branches of `if`, both sides of && and ||. Whether a value
 *         is undefined follows the operand that is taken, so a load of unwritten memory is allowed where the result
 *         does not depend on it. So is a load that races with another iteration of a parallel loop. After the
 *         instructions have run they are walked backwards, and only loads in lanes that were used count as reads. */
#include "interp/executor.h"

#include "ir/math.h"

typedef struct Instr Instr;

typedef void Operation(Executor *ex, const Instr *in, int width, const uint8_t *active);

struct Instr {
    Operation          *run;
    const Expr         *expr;
    LaneValues          r;
    const LaneValues   *args;
    const int          *from;    /* the instruction of each argument; -1: it has none */
    uint8_t            *used;    /* lanes whose result is used; kept in parallel loops and where the code has choices */
    bool                is_root; /* a statement asked for it */
    RowKernel          *kernel;
    Finish             *finish;
    const VariableSlot *slot;    /* EX_VAR */
    const BufferMemory *store;   /* EX_LOAD */
    const CCall        *c_call;  /* EX_EXTERN */
    Formula            *formula; /* EX_EXP … */
};

struct Code {
    int  width;
    bool chooses; /* has an `if`, && or || */
    Map  values;  /* Expr -> CodeNode */
    VEC(Instr) instrs;
};

/* ---- Operations -------------------------------------------------------------------------- */

static void run_operator(Executor *ex, const Instr *in, int width, const uint8_t *active)
{
    (void)ex, (void)active;
    const Expr *e = in->expr;
    in->kernel(&(Row){ .r      = in->r.lane,
                       .a      = in->args[0].lane,
                       .b      = e->count > 1 ? in->args[1].lane : NULL,
                       .c      = e->count > 2 ? in->args[2].lane : NULL,
                       .n      = width,
                       .type   = e->type,
                       .from   = e->args[0]->type,
                       .amount = e->args[e->count - 1]->type });
    if (in->finish)
        in->finish(in->r.lane, width);
    for (int l = 0; l < width; l++) {
        in->r.undefined[l] = in->args[0].undefined[l];
        for (uint32_t i = 1; i < e->count; i++)
            in->r.undefined[l] |= in->args[i].undefined[l];
    }
}

/* && and ||: the first operand decides where it is `stop`. */
static void run_decide(Executor *ex, const Instr *in, int width, const uint8_t *active)
{
    (void)ex, (void)active;
    const int64_t     stop = in->expr->op == EX_OR;
    const LaneValues *a = &in->args[0], *b = &in->args[1];
    for (int l = 0; l < width; l++) {
        const bool decided = a->lane[l].i == stop;
        in->r.lane[l].i    = decided ? stop : b->lane[l].i;
        in->r.undefined[l] = a->undefined[l] || (!decided && b->undefined[l]);
    }
}

static void run_select(Executor *ex, const Instr *in, int width, const uint8_t *active)
{
    (void)ex, (void)active;
    for (int l = 0; l < width; l++) {
        const LaneValues *taken = &in->args[in->args[0].lane[l].i ? 1 : 2];
        in->r.lane[l]           = taken->lane[l];
        in->r.undefined[l]      = in->args[0].undefined[l] || taken->undefined[l];
    }
}

/* A variable that was bound where there are fewer lanes. */
static void run_spread(Executor *ex, const Instr *in, int width, const uint8_t *active)
{
    (void)ex, (void)active;
    const int ratio = width / in->slot->width;
    for (int l = 0; l < width; l++) {
        in->r.lane[l]      = in->slot->value.lane[l / ratio];
        in->r.undefined[l] = in->slot->value.undefined[l / ratio];
    }
}

static void run_load(Executor *ex, const Instr *in, int width, const uint8_t *active)
{
    for (int l = 0; l < width; l++) {
        in->r.undefined[l] = in->args[0].undefined[l];
        in->r.lane[l].i    = 0;
        if (active[l])
            in->r.lane[l] = memory_load(ex, in->store, l, width, in->args[0].lane[l].i, &in->r.undefined[l]);
    }
}

static void run_extern(Executor *ex, const Instr *in, int width, const uint8_t *active)
{
    (void)ex;
    Lane operands[C_CALL_MAX];
    for (int l = 0; l < width; l++) {
        in->r.undefined[l] = false;
        for (uint32_t i = 0; i < in->expr->count; i++) {
            operands[i] = in->args[i].lane[l];
            in->r.undefined[l] |= in->args[i].undefined[l];
        }
        if (active[l])
            in->r.lane[l] = c_call(in->c_call, operands);
    }
}

/* exp, sin …: in groups of lanes. */
static void run_formula(Executor *ex, const Instr *in, int width, const uint8_t *active)
{
    (void)ex, (void)active;
    const LaneValues *a = &in->args[0], *b = &in->args[in->expr->count - 1];
    for (int l = 0; l < width; l += LANES)
        formula_run(in->formula, in->r.lane + l, a->lane + l, b->lane + l, width - l < LANES ? width - l : LANES);
    for (int l = 0; l < width; l++)
        in->r.undefined[l] = a->undefined[l] || b->undefined[l];
}

/* ---- Making ------------------------------------------------------------------------------ */

Code *code_new(Executor *ex, int width)
{
    Code *code  = ARENA_NEW(&ex->arena, Code);
    code->width = width;
    map_init(&code->values, &ex->arena);
    return code;
}

/* The same in every lane; needs no instruction. */
static LaneValues constant(Executor *ex, int width, Lane v)
{
    const LaneValues value = lane_values_new(ex, width);
    for (int l = 0; l < width; l++)
        value.lane[l] = v;
    return value;
}

static LaneValues parameter(Executor *ex, int width, const Expr *e)
{
    for (size_t i = 0; i < ex->program->params.count; i++)
        if (ex->program->params.at[i] == e->u.param)
            return constant(ex, width, lane_from_scalar(e->type, ex->params[i]));
    executor_mistake(ex, "lowered code uses the parameter `%s`, which the program has not", e->u.param->name);
}

static const VariableSlot *variable(Executor *ex, const Expr *e)
{
    const VariableSlot *slot = map_get(&ex->slots, e->u.name);
    if (!slot)
        executor_mistake(ex, "lowered code uses `%s`, which nothing binds", e->u.name);
    return slot;
}

/* The instruction of a node, but for operands and result. */
static Instr instruction(Executor *ex, const Expr *e)
{
    Instr in = { .expr = e };
    if (e->op == EX_LOAD) {
        in.run   = run_load;
        in.store = &ex->memories[e->u.buffer->id];
    } else if (e->op == EX_EXTERN) {
        if (ex->kernel)
            executor_mistake(ex, "the kernel `%s` calls `%s`, a function of the host", ex->kernel->kernel.name,
                             e->u.name);
        in.run    = run_extern;
        in.c_call = c_call_new(ex->cx, &ex->arena, e);
    } else if (math_has(e->op)) {
        Formula **known = &ex->formulas[e->op][e->type];
        if (!*known)
            *known = formula_new(ex->cx, &ex->arena, e->op, e->type);
        in.run     = run_formula;
        in.formula = *known;
    } else if (e->op == EX_SELECT) {
        in.run = run_select;
    } else if (e->op == EX_AND || e->op == EX_OR) {
        in.run = run_decide;
    } else {
        in.run    = run_operator;
        in.kernel = e->count ? operator_kernel(e->op, e->args[0]->type, e->type) : NULL;
        in.finish = operator_finish(e->type);
        if (!in.kernel)
            executor_mistake(ex, "`%s` of %s is no part of lowered code", expr_op_table[e->op].name,
                             kn_type_name(e->type));
    }
    return in;
}

/* An expression of the code: its value, and the index of its instruction or -1. */
typedef struct CodeNode {
    LaneValues value;
    int        instr;
} CodeNode;

static const CodeNode *code_node(Executor *ex, Code *code, const Expr *e);

static LaneValues add_node(Executor *ex, Code *code, const Expr *e)
{
    if (e->op == EX_INT)
        return constant(ex, code->width, (Lane){ .i = e->u.i });
    if (e->op == EX_FLOAT)
        return constant(ex, code->width, (Lane){ .f = e->u.f });
    if (e->op == EX_PARAM)
        return parameter(ex, code->width, e);
    Instr in = { .expr = e, .run = run_spread };
    if (e->op == EX_VAR) {
        in.slot = variable(ex, e);
        if (in.slot->width == code->width)
            return in.slot->value;
    } else {
        LaneValues *args = ARENA_ARRAY(&ex->arena, LaneValues, e->count + (size_t)1);
        int        *from = ARENA_ARRAY(&ex->arena, int, e->count + (size_t)1);
        for (uint32_t i = 0; i < e->count; i++) {
            const CodeNode *arg = code_node(ex, code, e->args[i]);
            args[i]             = arg->value;
            from[i]             = arg->instr;
        }
        in      = instruction(ex, e);
        in.args = args;
        in.from = from;
        code->chooses |= in.run == run_select || in.run == run_decide;
    }
    in.r    = lane_values_new(ex, code->width);
    in.used = ARENA_ARRAY(&ex->arena, uint8_t, (size_t)code->width);
    vec_push(&ex->arena, &code->instrs, in);
    return in.r;
}

static const CodeNode *code_node(Executor *ex, Code *code, const Expr *e)
{
    CodeNode *known = map_get_mutable(&code->values, e);
    if (!known) {
        known              = ARENA_NEW(&ex->arena, CodeNode);
        const size_t count = code->instrs.count;
        known->value       = add_node(ex, code, e);
        known->instr       = code->instrs.count > count ? (int)code->instrs.count - 1 : -1;
        map_set_mutable(&code->values, e, known);
    }
    return known;
}

LaneValues code_add(Executor *ex, Code *code, const Expr *e)
{
    const CodeNode *node = code_node(ex, code, e);
    if (node->instr >= 0)
        code->instrs.at[node->instr].is_root = true;
    return node->value;
}

/* ---- Running ------------------------------------------------------------------------------ */

/* Is argument i used in that lane, if the result is? */
static bool matters(const Instr *in, uint32_t i, int lane)
{
    const LaneValues *first = &in->args[0];
    if (in->run == run_select)
        return i == 0 || (i == 1) == (first->lane[lane].i != 0);
    if (in->run == run_decide)
        return i == 0 || first->lane[lane].i != (in->expr->op == EX_OR);
    return true;
}

/* Marks the lanes of instructions that are used, from results to operands. */
static void find_used(const Code *code, const uint8_t *active)
{
    for (size_t k = 0; k < code->instrs.count; k++)
        for (int l = 0; l < code->width; l++)
            code->instrs.at[k].used[l] = code->instrs.at[k].is_root && active[l];
    for (size_t k = code->instrs.count; k-- > 0;) {
        const Instr *in = &code->instrs.at[k];
        for (uint32_t i = 0; in->from && i < in->expr->count; i++)
            for (int l = 0; in->from[i] >= 0 && l < code->width; l++)
                code->instrs.at[in->from[i]].used[l] |= in->used[l] && matters(in, i, l);
    }
}

/* In a parallel loop: no other iteration may change what was read. */
static void watch_loads(Executor *ex, const Code *code, const uint8_t *active)
{
    if (code->chooses)
        find_used(code, active);
    for (size_t k = 0; k < code->instrs.count; k++) {
        const Instr *in = &code->instrs.at[k];
        for (int l = 0; in->run == run_load && l < code->width; l++)
            if (code->chooses ? in->used[l] : active[l])
                memory_watch(ex, in->store, l, code->width, in->args[0].lane[l].i);
    }
}

void code_run(Executor *ex, const Code *code, const uint8_t *active)
{
    for (size_t i = 0; i < code->instrs.count; i++)
        code->instrs.at[i].run(ex, &code->instrs.at[i], code->width, active);
    if (ex->strand)
        watch_loads(ex, code, active);
}
