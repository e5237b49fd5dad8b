/* SPDX-License-Identifier: MIT */
/* The backend's loops, addresses, masks, parallel loops, allocations and atomic stores, against an evaluator of
 * scalars. */
#include "lowered.h"

enum { N = 400 }; /* elements of each port */

static void fill_input(Lowered *l, const Buffer *b)
{
    for (int64_t i = 0; i < l->count[b->id]; i++)
        lowered_set(l, b, i,
                    type_is_float(b->type) ? (Lane){ .f = (double)(i * 37 % 101) - 50 }
                                           : (Lane){ .i = type_wrap(b->type, i * 37 % 251) });
}

static const Expr *ex_affine(Lowered *l, const char *name, int64_t step, int64_t offset)
{
    return ex_op(l, EX_ADD, ex_op(l, EX_MUL, ex_var(l, name), ex_i32(l, step)), ex_i32(l, offset));
}

/* for y: vector x: out[y*lanes + x] = in[base + step*x] + in[base + step*x + 1] and, stored with the step, out2. */
static void test_step(kn_type type, int lanes, int step)
{
    Lowered l;
    char    what[64];
    snprintf(what, sizeof what, "step %d, %s x %d", step, kn_type_name(type), lanes);
    lowered_begin(&l);
    Buffer *in    = lowered_port(&l, "in", BUFFER_INPUT, type, N);
    Buffer *out   = lowered_port(&l, "out", BUFFER_OUTPUT, type, 2 * lanes),
           *other = lowered_port(&l, "other", BUFFER_OUTPUT, type, N);
    fill_input(&l, in);
    const int   reach = (step < 0 ? -step : step) * (lanes - 1), base = step < 0 ? reach : 0;
    const Expr *row =
        ex_op(&l, EX_MUL, ex_var(&l, "y"), ex_i32(&l, N - reach - 2)); /* the last access ends with the buffer */
    const Expr *at   = ex_op(&l, EX_ADD, row, ex_affine(&l, "x", step, base));
    const Expr *next = ex_op(&l, EX_ADD, at, ex_i32(&l, 1));
    const Expr *sum  = ex_op(&l, type == KN_BOOL ? EX_BIT_XOR : EX_ADD, ex_load(&l, in, at), ex_load(&l, in, next));
    const Stmt *body =
        stmt_pair(&l.arena, st_store(&l, out, ex_op(&l, EX_ADD, ex_affine(&l, "y", lanes, 0), ex_var(&l, "x")), sum),
                  st_store(&l, other, at, ex_load(&l, in, next)));
    l.p.body = st_for(&l, LOOP_SERIAL, "y", 0, 2, st_for(&l, LOOP_VECTOR, "x", 0, lanes, body));
    lowered_compare(&l, 2, what);
    lowered_end(&l);
}

/* Three channels interleaved to planes and back; x/2 and clamped coordinates; a table. */
static void test_patterns(kn_type type, int lanes)
{
    Lowered l;
    char    what[64];
    snprintf(what, sizeof what, "patterns, %s x %d", kn_type_name(type), lanes);
    lowered_begin(&l);
    Buffer *in     = lowered_port(&l, "in", BUFFER_INPUT, type, 3 * lanes * 2),
           *table  = lowered_port(&l, "table", BUFFER_INPUT, KN_U8, 3 * lanes * 2);
    Buffer *out    = lowered_port(&l, "out", BUFFER_OUTPUT, type, 2 * lanes),
           *back   = lowered_port(&l, "back", BUFFER_OUTPUT, type, 3 * 2 * lanes);
    Buffer *half   = lowered_port(&l, "half", BUFFER_OUTPUT, type, 2 * lanes),
           *edge   = lowered_port(&l, "edge", BUFFER_OUTPUT, type, 2 * lanes);
    Buffer *looked = lowered_port(&l, "looked", BUFFER_OUTPUT, type, 2 * lanes);
    fill_input(&l, in);
    for (int i = 0; i < 3 * lanes * 2; i++)
        lowered_set(&l, table, i, (Lane){ .i = i * 11 % (3 * lanes * 2 < 256 ? 3 * lanes * 2 : 256) });
    const Expr *x = ex_op(&l, EX_ADD, ex_affine(&l, "xo", lanes, 0), ex_var(&l, "x"));
    const Expr *rgb[3], *value[3];
    for (int c = 0; c < 3; c++) {
        rgb[c]   = ex_op(&l, EX_ADD, ex_op(&l, EX_MUL, x, ex_i32(&l, 3)), ex_i32(&l, c));
        value[c] = ex_load(&l, in, rgb[c]);
    }
    const Expr *sum = ex_op(&l, EX_SUB, ex_op(&l, EX_ADD, value[0], value[1]), value[2]);
    const Expr *halved =
        ex_op(&l, EX_ADD, ex_affine(&l, "xo", lanes, 0), ex_op(&l, EX_DIV, ex_var(&l, "x"), ex_i32(&l, 2)));
    const Expr *clamped =
        ex_op(&l, EX_MAX, ex_op(&l, EX_MIN, ex_op(&l, EX_SUB, x, ex_i32(&l, 2)), ex_i32(&l, lanes)), ex_i32(&l, 0));
    const Expr *index   = expr_unary(&l.pool, EX_CAST, KN_I32, ex_load(&l, table, x));
    const Stmt *items[] = {
        st_store(&l, out, x, sum),
        st_store(&l, back, rgb[0], value[2]),
        st_store(&l, back, rgb[1], value[1]),
        st_store(&l, back, rgb[2], value[0]),
        st_store(&l, half, x,
                 ex_op(&l, EX_ADD, ex_load(&l, in, halved), ex_load(&l, in, ex_op(&l, EX_ADD, halved, ex_i32(&l, 1))))),
        st_store(&l, edge, x, ex_load(&l, in, clamped)),
        st_store(&l, looked, x, ex_load(&l, in, index)),
    };
    l.p.body =
        st_for(&l, LOOP_SERIAL, "xo", 0, 2, st_for(&l, LOOP_VECTOR, "x", 0, lanes, stmt_block(&l.arena, 7, items)));
    lowered_compare(&l, 2, what);
    lowered_end(&l);
}

/* x/c, (x*s + k)/c from any first coordinate: each phase; the last element read is the last of the buffer. */
static void test_quotients(kn_type type, int lanes, int step, int by, int first)
{
    Lowered l;
    char    what[64];
    snprintf(what, sizeof what, "(%dx + %d)/%d, %s x %d", step, first, by, kn_type_name(type), lanes);
    lowered_begin(&l);
    const int last = (step * (2 * lanes - 1) + first) / by;
    Buffer   *in   = lowered_port(&l, "in", BUFFER_INPUT, type, last + 1),
           *out    = lowered_port(&l, "out", BUFFER_OUTPUT, type, 2 * lanes);
    fill_input(&l, in);
    const Expr *x  = ex_op(&l, EX_ADD, ex_affine(&l, "xo", lanes, 0), ex_var(&l, "x"));
    const Expr *at = ex_op(&l, EX_ADD, ex_op(&l, EX_MUL, x, ex_i32(&l, step)), ex_i32(&l, first));
    l.p.body       = st_for(&l, LOOP_SERIAL, "xo", 0, 2,
                            st_for(&l, LOOP_VECTOR, "x", 0, lanes,
                                   st_store(&l, out, x, ex_load(&l, in, ex_op(&l, EX_DIV, at, ex_i32(&l, by))))));
    lowered_compare(&l, 2, what);
    lowered_end(&l);
}

/* sat_T(a + b), sat_T(a - b), sat_T(a + constant), where it is an instruction and where it is not. */
static void test_saturating(kn_type type, kn_type wider, int lanes)
{
    Lowered l;
    char    what[64];
    snprintf(what, sizeof what, "saturating %s in %s x %d", kn_type_name(type), kn_type_name(wider), lanes);
    lowered_begin(&l);
    Buffer *a = lowered_port(&l, "a", BUFFER_INPUT, type, 256), *b = lowered_port(&l, "b", BUFFER_INPUT, type, 256);
    Buffer *out[3] = { lowered_port(&l, "o0", BUFFER_OUTPUT, type, 256),
                       lowered_port(&l, "o1", BUFFER_OUTPUT, type, 256),
                       lowered_port(&l, "o2", BUFFER_OUTPUT, type, 256) };
    for (int i = 0; i < 256; i++) {
        lowered_set(&l, a, i, (Lane){ .i = type_wrap(type, (int64_t)i * (type_max(type) / 100)) });
        lowered_set(&l, b, i, (Lane){ .i = type_wrap(type, (int64_t)(i * 7 % 256) * (type_max(type) / 90)) });
    }
    const Expr *x       = ex_op(&l, EX_ADD, ex_affine(&l, "xo", lanes, 0), ex_var(&l, "x"));
    const Expr *wa      = expr_unary(&l.pool, EX_CAST, wider, ex_load(&l, a, x)),
               *wb      = expr_unary(&l.pool, EX_CAST, wider, ex_load(&l, b, x));
    const Expr *sums[3] = { ex_op(&l, EX_ADD, wa, wb), ex_op(&l, EX_SUB, wa, wb),
                            ex_op(&l, EX_ADD, wa, expr_int(&l.pool, wider, 77)) };
    const Stmt *items[3];
    for (int i = 0; i < 3; i++)
        items[i] = st_store(&l, out[i], x, expr_unary(&l.pool, EX_SAT_CAST, type, sums[i]));
    l.p.body = st_for(&l, LOOP_SERIAL, "xo", 0, 256 / lanes,
                      st_for(&l, LOOP_VECTOR, "x", 0, lanes, stmt_block(&l.arena, 3, items)));
    lowered_compare(&l, 1, what);
    lowered_end(&l);
}

/* if (x + xo*lanes < n) with n in the last vector; else arms; masks within masks; a uniform load under a mask. */
static void test_masks(kn_type type, int lanes, int extent, int step)
{
    Lowered l;
    char    what[64];
    snprintf(what, sizeof what, "mask %d step %d, %s x %d", extent, step, kn_type_name(type), lanes);
    lowered_begin(&l);
    Buffer *in  = lowered_port(&l, "in", BUFFER_INPUT, type, (extent - 1) * step + 1),
           *out = lowered_port(&l, "out", BUFFER_OUTPUT, type, extent * step);
    Buffer *odd = lowered_port(&l, "odd", BUFFER_OUTPUT, type, extent);
    fill_input(&l, in);
    const Expr *x    = ex_op(&l, EX_ADD, ex_affine(&l, "xo", lanes, 0), ex_var(&l, "x"));
    const Expr *at   = ex_op(&l, EX_MUL, x, ex_i32(&l, step));
    const Expr *load = ex_load(&l, in, at), *first = ex_load(&l, in, ex_affine(&l, "xo", lanes * step, 0));
    const Expr *is_odd = ex_test(&l, EX_EQ, ex_op(&l, EX_MOD, x, ex_i32(&l, 3)), ex_i32(&l, 1));
    const Stmt *choice =
        stmt_if(&l.arena, is_odd, st_store(&l, odd, x, load), st_store(&l, odd, x, ex_op(&l, EX_ADD, load, first)));
    const Stmt *body = stmt_pair(&l.arena, st_store(&l, out, at, ex_op(&l, EX_ADD, load, load)), choice);
    body             = stmt_if(&l.arena, ex_test(&l, EX_LT, x, ex_i32(&l, extent)), body, NULL);
    l.p.body =
        st_for(&l, LOOP_SERIAL, "xo", 0, (extent + lanes - 1) / lanes, st_for(&l, LOOP_VECTOR, "x", 0, lanes, body));
    lowered_compare(&l, 2, what);
    lowered_end(&l);
}

static const Stmt *st_alloc(Lowered *l, const Buffer *b, const Expr *count, const Stmt *body)
{
    Stmt *s = ARENA_NEW(&l->arena, Stmt);
    *s      = (Stmt){ .kind = STMT_ALLOC, .alloc = { b, count, body } };
    return s;
}

/* Columns of scratch: some side by side, one far off, one that is written in between. */
static void test_columns(kn_type type, int lanes)
{
    enum { STRIDE = 48 };
    static const int columns[] = { 3, 4, 5, 6, 7, 20, 8, 3, 4 };
    enum { COUNT = sizeof columns / sizeof *columns };
    Lowered l;
    char    what[64];
    snprintf(what, sizeof what, "columns, %s x %d", kn_type_name(type), lanes);
    lowered_begin(&l);
    Buffer *in  = lowered_port(&l, "in", BUFFER_INPUT, type, STRIDE * lanes),
           *out = lowered_port(&l, "out", BUFFER_OUTPUT, type, COUNT * lanes);
    Buffer *mid = lowered_buffer(&l, "mid", BUFFER_SCRATCH, type);
    mid->memory = MEMORY_HEAP;
    fill_input(&l, in);
    const Expr *i = ex_var(&l, "i"), *x = ex_var(&l, "x");
    const Stmt *fill = st_for(&l, LOOP_SERIAL, "i", 0, STRIDE * lanes, st_store(&l, mid, i, ex_load(&l, in, i)));
    const Stmt *items[COUNT + 1];
    for (int k = 0; k < COUNT; k++)
        items[k + (k > 6)] = st_store(&l, out, ex_op(&l, EX_ADD, x, ex_i32(&l, k * lanes)),
                                      ex_load(&l, mid, ex_affine(&l, "x", STRIDE, columns[k])));
    items[7] = st_store(&l, mid, ex_affine(&l, "x", STRIDE, columns[7]),
                        ex_load(&l, mid, ex_affine(&l, "x", STRIDE, columns[6])));
    l.p.body = st_alloc(
        &l, mid, ex_i64(&l, STRIDE * lanes),
        stmt_pair(&l.arena, fill, st_for(&l, LOOP_VECTOR, "x", 0, lanes, stmt_block(&l.arena, COUNT + 1, items))));
    lowered_compare(&l, 2, what);
    lowered_end(&l);
}

/* Tables that fit into registers. */
static void test_table(kn_type type, int elements, int lanes)
{
    Lowered l;
    char    what[64];
    snprintf(what, sizeof what, "a table of %d %s x %d", elements, kn_type_name(type), lanes);
    lowered_begin(&l);
    Buffer *in    = lowered_port(&l, "in", BUFFER_INPUT, type, elements),
           *at    = lowered_port(&l, "at", BUFFER_INPUT, KN_U8, lanes),
           *out   = lowered_port(&l, "out", BUFFER_OUTPUT, type, lanes);
    Buffer *table = lowered_buffer(&l, "table", BUFFER_SCRATCH, type);
    for (int i = 0; i < elements; i++)
        lowered_set(&l, in, i,
                    type_is_float(type) ? (Lane){ .f = i * 1.5 - 77 }
                                        : (Lane){ .i = type_wrap(type, (int64_t)i * 0x01234567 - 99) });
    for (int i = 0; i < lanes; i++)
        lowered_set(&l, at, i, (Lane){ .i = (i * 37 + 250) % elements });
    const Expr *i = ex_var(&l, "i"), *x = ex_var(&l, "x");
    const Stmt *fill = st_for(&l, LOOP_SERIAL, "i", 0, elements, st_store(&l, table, i, ex_load(&l, in, i)));
    const Stmt *look =
        st_for(&l, LOOP_VECTOR, "x", 0, lanes,
               st_store(&l, out, x, ex_load(&l, table, expr_unary(&l.pool, EX_CAST, KN_I32, ex_load(&l, at, x)))));
    l.p.body = st_alloc(&l, table, ex_i64(&l, elements), stmt_pair(&l.arena, fill, look));
    lowered_compare(&l, 2, what);
    lowered_end(&l);
}

/* Two stages in parallel strips, with scratch on heap or stack, names bound outside and inside, and nested parallel
 * loops. */
static void build_stages(Lowered *l, Memory memory, bool constant)
{
    lowered_begin(l);
    Buffer *in  = lowered_port(l, "in", BUFFER_INPUT, KN_F32, 128 + 2),
           *out = lowered_port(l, "out", BUFFER_OUTPUT, KN_F32, 128);
    Buffer *mid = lowered_buffer(l, "mid", BUFFER_SCRATCH, KN_F32);
    mid->memory = memory;
    fill_input(l, in);
    const Expr *y = ex_op(l, EX_MUL, ex_var(l, "y"), ex_var(l, "w"));
    const Expr *x =
        ex_op(l, EX_ADD, ex_op(l, EX_ADD, y, ex_op(l, EX_MUL, ex_var(l, "xo"), ex_i32(l, 8))), ex_var(l, "x"));
    const Expr *local = ex_op(l, EX_ADD, ex_op(l, EX_MUL, ex_var(l, "xo"), ex_i32(l, 8)), ex_var(l, "x"));
    const Expr *blur =
        ex_op(l, EX_ADD, ex_op(l, EX_ADD, ex_load(l, in, x), ex_load(l, in, ex_op(l, EX_ADD, x, ex_i32(l, 1)))),
              ex_load(l, in, ex_op(l, EX_ADD, x, ex_i32(l, 2))));
    const Stmt *make =
        st_for(l, LOOP_SERIAL, "xo", 0, 4, st_for(l, LOOP_VECTOR, "x", 0, 8, st_store(l, mid, local, blur)));
    const Expr *twice =
        ex_op(l, EX_MUL, ex_load(l, mid, local), ex_load(l, mid, ex_op(l, EX_SUB, ex_i32(l, 31), local)));
    const Stmt *use =
        st_for(l, LOOP_PARALLEL, "xo", 0, 4, st_for(l, LOOP_VECTOR, "x", 0, 8, st_store(l, out, x, twice)));
    const Expr *count = constant ? ex_i64(l, 32) : ex_wide(l, ex_var(l, "w"));
    const Stmt *strip = st_alloc(l, mid, count, stmt_pair(&l->arena, make, use));
    const Expr *width = ex_op(l, EX_DIV, ex_op(l, EX_SUB, ex_var(l, "in.extent.0"), ex_i32(l, 2)), ex_i32(l, 4));
    l->p.body         = stmt_let(&l->arena, intern(l->cx, "w"), width, st_for(l, LOOP_PARALLEL, "y", 0, 4, strip));
}

static void test_stages(void)
{
    static const struct {
        Memory      memory;
        bool        constant;
        const char *what;
    } rows[] = {
        { MEMORY_AUTO, false, "strips, heap" },
        { MEMORY_AUTO, true, "strips, stack" },
        { MEMORY_HEAP, true, "strips, heap asked for" },
        { MEMORY_STACK, true, "strips, stack asked for" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Lowered l;
        build_stages(&l, rows[i].memory, rows[i].constant);
        lowered_compare(&l, 2, rows[i].what);
        lowered_end(&l);
    }
}

/* No memory: an error, and nothing is left. */
static void test_no_memory(void)
{
    const CodegenOptions o = { .targets = target_table, .target_count = 1 };
    for (int at = 1; at <= 5; at++) {
        Lowered l;
        build_stages(&l, MEMORY_HEAP, false);
        Buffer *around = lowered_buffer(&l, "around", BUFFER_SCRATCH, KN_U8);
        around->memory = MEMORY_HEAP;
        l.p.body       = st_alloc(&l, around, ex_i64(&l, 10), l.p.body);
        rt_fail_alloc  = at;
        CHECK(lowered_run(&l, &o, "no memory") == KN_ERROR_LIMIT, "allocation %d fails", at);
        CHECK(rt_blocks == 0, "%d blocks left", rt_blocks);
        rt_fail_alloc = 0;
        lowered_end(&l);
    }
}

/* The bounds of each access are checked, and the message names the buffer. */
static void test_outside(int lanes, int offset)
{
    Lowered l;
    lowered_begin(&l);
    Buffer *in             = lowered_port(&l, "in", BUFFER_INPUT, KN_I32, 64),
           *out            = lowered_port(&l, "out", BUFFER_OUTPUT, KN_I32, 64);
    const Expr *x          = ex_op(&l, EX_ADD, ex_affine(&l, "xo", lanes, 0), ex_var(&l, "x"));
    const Expr *from       = ex_op(&l, EX_ADD, x, ex_i32(&l, offset));
    const Stmt *row        = st_for(&l, LOOP_VECTOR, "x", 0, lanes, st_store(&l, out, x, ex_load(&l, in, from)));
    l.p.body               = st_for(&l, LOOP_SERIAL, "xo", 0, 64 / lanes, row);
    const CodegenOptions o = { .targets = target_table, .target_count = 1, .check_access = true };
    rt_message[0]          = 0;
    CHECK(lowered_run(&l, &o, "outside") == KN_ERROR_PROGRAM, "offset %d, %d lanes", offset, lanes);
    CHECK(strstr(rt_message, "`in`"), "%s", rt_message);
    lowered_end(&l);
}

static const Stmt *st_atomic(Lowered *l, int count, const Place *places)
{
    Stmt  *s    = ARENA_NEW(&l->arena, Stmt);
    Place *copy = ARENA_ARRAY(&l->arena, Place, (size_t)count);
    *s          = (Stmt){ .kind = STMT_STORE, .store = { .count = count, .places = copy, .atomic = true } };
    memcpy(s->store.places, places, (size_t)count * sizeof *places);
    return s;
}

/* A histogram: h[in[x]] = h[in[x]] op value, in every form that an atomic store has. */
static void test_atomic(ExprOp op, kn_type type, int lanes, bool masked)
{
    Lowered l;
    char    what[64];
    snprintf(what, sizeof what, "atomic %s, %s x %d", expr_op_table[op].name, kn_type_name(type), lanes);
    lowered_begin(&l);
    Buffer *in = lowered_port(&l, "in", BUFFER_INPUT, KN_U8, 64), *h = lowered_port(&l, "h", BUFFER_OUTPUT, type, 16),
           *c = lowered_port(&l, "c", BUFFER_OUTPUT, type, 16);
    for (int i = 0; i < 64; i++)
        lowered_set(&l, in, i, (Lane){ .i = i * 7 % 16 });
    const Expr *x      = ex_op(&l, EX_ADD, ex_affine(&l, "y", lanes, 0), ex_var(&l, "x"));
    const Expr *bin    = ex_wide(&l, expr_unary(&l.pool, EX_CAST, KN_I32, ex_load(&l, in, x)));
    const Expr *load   = expr_load(&l.pool, h, type, bin);
    const Expr *more   = expr_unary(&l.pool, EX_CAST, type, ex_op(&l, EX_ADD, x, ex_i32(&l, 1)));
    const Expr *value  = expr_binary(&l.pool, op, type, load, more);
    const Place one[1] = { { h, bin, value } };
    const Place two[2] = { { h, bin, value }, { c, bin, ex_op(&l, EX_ADD, expr_load(&l.pool, c, type, bin), load) } };
    const Stmt *s      = stmt_pair(&l.arena, st_atomic(&l, 1, one), st_atomic(&l, 2, two));
    if (masked)
        s = stmt_if(&l.arena, ex_test(&l, EX_LT, x, ex_i32(&l, 41)), s, NULL);
    l.p.body     = st_for(&l, LOOP_PARALLEL, "y", 0, 64 / lanes, st_for(&l, LOOP_VECTOR, "x", 0, lanes, s));
    Evaluator ev = { .l = &l };
    execute(&ev, l.p.body);
    const CodegenOptions o = { .targets = target_table, .target_count = 1 };
    CHECK(lowered_run(&l, &o, what) == 0, "%s", what);
    /* A vector does one statement for all its lanes, then the next: only one lane at a time is the evaluator's
     * order. */
    if (lanes == 1)
        CHECK(lowered_difference(&l, h) < 0 && lowered_difference(&l, c) < 0, "%s", what);
    lowered_end(&l);
}

/* The single atomic update alone, which commutes. */
static void test_atomic_alone(ExprOp op, kn_type type, int lanes, bool masked)
{
    Lowered l;
    char    what[64];
    snprintf(what, sizeof what, "atomic alone %s, %s x %d", expr_op_table[op].name, kn_type_name(type), lanes);
    lowered_begin(&l);
    Buffer *in = lowered_port(&l, "in", BUFFER_INPUT, KN_U8, 64), *h = lowered_port(&l, "h", BUFFER_OUTPUT, type, 16);
    for (int i = 0; i < 64; i++)
        lowered_set(&l, in, i, (Lane){ .i = i * 7 % 16 });
    const Expr *x    = ex_op(&l, EX_ADD, ex_affine(&l, "y", lanes, 0), ex_var(&l, "x"));
    const Expr *bin  = ex_wide(&l, expr_unary(&l.pool, EX_CAST, KN_I32, ex_load(&l, in, x)));
    const Expr *more = expr_unary(&l.pool, EX_CAST, type, ex_op(&l, EX_ADD, x, ex_i32(&l, 1)));
    const Place one  = { h, bin, expr_binary(&l.pool, op, type, expr_load(&l.pool, h, type, bin), more) };
    const Stmt *s    = st_atomic(&l, 1, &one);
    if (masked)
        s = stmt_if(&l.arena, ex_test(&l, EX_LT, x, ex_i32(&l, 41)), s, NULL);
    l.p.body     = st_for(&l, LOOP_PARALLEL, "y", 0, 64 / lanes, st_for(&l, LOOP_VECTOR, "x", 0, lanes, s));
    Evaluator ev = { .l = &l };
    execute(&ev, l.p.body);
    const CodegenOptions o = { .targets = target_table, .target_count = 1 };
    CHECK(lowered_run(&l, &o, what) == 0, "%s", what);
    const int64_t at = lowered_difference(&l, h);
    CHECK(at < 0, "%s at %d", what, (int)at);
    lowered_end(&l);
}

/* One object for three levels of x86-64: the one for this CPU is called. */
static void test_variants(void)
{
#ifdef __x86_64__
    const Target levels[]      = { *target_find("x86-64"), *target_find("x86-64-avx2"), *target_find("x86-64-avx512") };
    const CodegenOptions o     = { .targets = levels, .target_count = 3 },
                         wrong = { .targets = target_table, .target_count = 2 };
    Lowered l;
    Emitted out, error;
    build_stages(&l, MEMORY_HEAP, false);
    Evaluator ev = { .l = &l };
    execute(&ev, l.p.body);
    CHECK(lowered_run(&l, &o, "variants") == 0, "several targets");
    CHECK(lowered_difference(&l, l.p.buffers.at[1]) < 0, "several targets: other results");
    CHECK(backend->emit(&l.p, &o, EMIT_ASM, &out, &error) && strstr(out.bytes, "test.body.x86-64-avx512") &&
              strstr(out.bytes, "ymm"),
          "a variant is missing");
    backend->release(&out);
    backend->release(&error);
    CHECK(!backend->emit(&l.p, &wrong, EMIT_ASM, &out, &error) && strstr(error.bytes, "host"),
          "the host is no variant");
    backend->release(&out);
    backend->release(&error);
    lowered_end(&l);
#endif
}

/* The baseline of an object with wider targets is compiled without optimizing: same results. The last target is chosen,
 * so the baseline stands last. */
static void test_baseline_variant(void)
{
#ifdef __x86_64__
    enum { LOOPS = 70, LANES = 16 };
    const Target         targets[] = { *target_find("x86-64-avx512"), *target_find("x86-64") };
    const CodegenOptions o         = { .targets = targets, .target_count = 2 };
    Lowered              l;
    lowered_begin(&l);
    Buffer *in = lowered_port(&l, "in", BUFFER_INPUT, KN_F32, (LOOPS + 2) * LANES),
           *to = lowered_port(&l, "to", BUFFER_OUTPUT, KN_F32, (LOOPS + 1) * LANES);
    for (int i = 0; i < (LOOPS + 2) * LANES; i++)
        lowered_set(&l, in, i, (Lane){ .f = i * 0.25 });
    const Stmt *items[LOOPS];
    for (int k = 0; k < LOOPS; k++) {
        const Expr *x = ex_var(&l, "x"), *at = ex_op(&l, EX_ADD, x, ex_i32(&l, k * LANES)),
                   *from =
                       k % 2 ? ex_op(&l, EX_SUB, ex_i32(&l, (k + 2) * LANES), x) : ex_op(&l, EX_ADD, at, ex_i32(&l, 3)),
                   *wave  = expr_unary(&l.pool, EX_CAST, KN_F32, ex_op(&l, EX_MUL, x, ex_i32(&l, k)));
        const Expr *value = expr_binary(&l.pool, EX_ADD, KN_F32, ex_load(&l, in, from), wave);
        items[k]          = st_for(&l, LOOP_VECTOR, "x", k % 3, LANES, st_store(&l, to, at, value));
    }
    l.p.body     = stmt_block(&l.arena, LOOPS, items);
    Evaluator ev = { .l = &l };
    execute(&ev, l.p.body);
    CHECK(lowered_run(&l, &o, "baseline") == 0, "baseline");
    CHECK(lowered_difference(&l, to) < 0, "baseline: other results");
    lowered_end(&l);
#endif
}

/* Every format is emitted by a backend, and one backend's objects can be loaded. */
static void test_backends(void)
{
    for (int i = 0; i < EMIT_KIND_COUNT; i++) {
        const Backend *b = backend_emitting((EmitKind)i);
        CHECK(b && emit_table[i].name && emit_table[i].ending, "format %d", i);
        CHECK(b && !b->library == (b->entry != NULL), "%s is in a library or in this one", b ? b->name : "");
    }
    const Backend *loading = backend_loading();
    CHECK(loading && loading->emits >> EMIT_OBJECT & 1, "no backend's objects can be loaded");
}

/* A host is completed by the best target of its architecture that needs no more than it has. */
static void test_target_facts(void)
{
    const Target *avx2 = target_find("x86-64-avx2"), *avx512 = target_find("x86-64-avx512");
    const Target  host = { .name = "host", .arch = ARCH_X86_64, .is_host = true, .vector_bits = 256 };
    CHECK(target_has(avx2, FEATURE_F16C) && !target_has(avx2, FEATURE_AVX512F), "features of a level");
    CHECK(!(avx2->features & ~avx512->features), "a level has the features of those before");
    CHECK(features_parse(ARCH_X86_64, "+sse2,-avx2,+avx512vbmi2,+neon,+avx512vbmi") ==
              ((FeatureSet)1 << FEATURE_SSE2 | (FeatureSet)1 << FEATURE_AVX512VBMI),
          "a list of features");
    CHECK(features_parse(ARCH_AARCH64, "+neon,+sse2") == (FeatureSet)1 << FEATURE_NEON, "of another architecture");
    const Target best = target_complete(&host, avx512->features | (FeatureSet)1 << FEATURE_AVX512VBMI),
                 less = target_complete(&host, avx512->features & ~((FeatureSet)1 << FEATURE_AVX512BW)),
                 same = target_complete(avx2, 0);
    CHECK(best.byte_vector_bits == 512 && best.vector_registers == 32 && best.vector_bits == 256, "AVX-512");
    CHECK(target_has(&best, FEATURE_AVX512VBMI), "features beyond the level");
    CHECK(less.byte_vector_bits == 256 && less.vector_registers == 16, "without AVX-512 BW");
    CHECK(same.features == avx2->features, "what is not the host stays");
}

/* Objects for other CPUs are made, if not run. */
static void test_targets(void)
{
    for (int i = 0; i < target_count; i++) {
        const CodegenOptions o = { .targets = &target_table[i], .target_count = 1 };
        Lowered              l;
        Emitted              out, error;
        build_stages(&l, MEMORY_HEAP, false);
        CHECK(backend->emit(&l.p, &o, EMIT_OBJECT, &out, &error) && out.size > 100, "%s: %s", target_table[i].name,
              error.bytes);
        backend->release(&out);
        backend->release(&error);
        lowered_end(&l);
    }
}

/* A name bound twice, one after the other, to different values; lets of what is loaded from memory that changes. */
static void test_lets(void)
{
    Lowered l;
    lowered_begin(&l);
    Buffer     *out = lowered_port(&l, "out", BUFFER_OUTPUT, KN_I32, 64);
    const char *a   = intern(l.cx, "a");
    const Expr *sum = ex_op(&l, EX_ADD, ex_var(&l, "a"), ex_i32(&l, 5));
    const Stmt *items[4];
    for (int i = 0; i < 4; i++) {
        const Expr *at = ex_op(&l, EX_ADD, ex_affine(&l, "y", 16, 4 * i), ex_var(&l, "x"));
        const Expr *v  = i < 2 ? ex_op(&l, EX_MUL, ex_var(&l, "y"), ex_i32(&l, i + 3))
                               : ex_load(&l, out, ex_op(&l, EX_SUB, at, ex_i32(&l, 4)));
        items[i]       = st_for(&l, LOOP_VECTOR, "x", 0, 4,
                                stmt_let(&l.arena, a, v,
                                         stmt_pair(&l.arena, st_store(&l, out, at, sum),
                                                   st_store(&l, out, at, ex_op(&l, EX_MUL, sum, ex_var(&l, "a"))))));
    }
    l.p.body = st_for(&l, LOOP_SERIAL, "y", 0, 4, stmt_block(&l.arena, 4, items));
    lowered_compare(&l, 2, "lets");
    lowered_end(&l);
}

int main(void)
{
    static const kn_type types[] = { KN_BOOL, KN_U8, KN_I16, KN_F16, KN_F32, KN_I64, KN_F64 };
    static const int     lanes[] = { 1, 2, 3, 4, 8, 16, 32 };
    if (!backend_open())
        return check_done();
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
            for (int step = -2; step <= 5; step++)
                if ((t + i + (size_t)step) % 2)
                    test_step(types[t], lanes[i], step);
    for (size_t t = 1; t < sizeof types / sizeof *types; t++)
        for (size_t i = 1; i < sizeof lanes / sizeof *lanes; i += 2) {
            test_patterns(types[t], lanes[i]);
            test_columns(types[t], lanes[i]);
            test_masks(types[t], lanes[i], 37, 1);
            test_masks(types[t], lanes[i], 3, 2);
        }
    for (int first = 0; first < 4; first++)
        for (size_t t = 1; t < sizeof types / sizeof *types; t += 2)
            for (int by = 2; by < 5; by++)
                test_quotients(types[t], lanes[(size_t)(first + by) % 7], 1 + (first + by) % 3, by, first);
    static const kn_type wide[][2] = { { KN_U8, KN_U16 },  { KN_U8, KN_I16 },  { KN_I8, KN_I16 },  { KN_I8, KN_U16 },
                                       { KN_U16, KN_I32 }, { KN_I16, KN_I32 }, { KN_U32, KN_U64 }, { KN_U32, KN_I32 } };
    for (size_t t = 0; t < sizeof wide / sizeof *wide; t++) {
        test_saturating(wide[t][0], wide[t][1], 1);
        test_saturating(wide[t][0], wide[t][1], 16);
    }
    for (int many = 16; many <= 128; many *= 2) {
        test_table(KN_I32, 256, many);
        test_table(KN_F32, 200, many);
        test_table(KN_U32, 50, many);
        test_table(KN_U8, 250, many);
    }
    test_stages();
    test_no_memory();
    test_lets();
    test_variants();
    test_baseline_variant();
    test_backends();
    test_target_facts();
    test_targets();
    test_outside(1, -1);
    test_outside(8, 1);
    test_outside(16, -100);
    static const ExprOp  ops[]     = { EX_ADD, EX_SUB, EX_MIN, EX_MAX, EX_MUL };
    static const kn_type atomics[] = { KN_I32, KN_U8, KN_F32, KN_F64, KN_F16, KN_U64, KN_BF16 };
    for (size_t k = 0; k < 5; k++)
        for (size_t t = 0; t < sizeof atomics / sizeof *atomics; t++) {
            test_atomic(ops[k], atomics[t], t % 2 ? 1 : 4, k % 2);
            test_atomic_alone(ops[k], atomics[t], t % 2 ? 4 : 1, k % 2);
        }
    return check_done();
}
