/* SPDX-License-Identifier: MIT */
/* The executor of lowered code, on programs written by hand: what they compute, what is counted, and what is
 * refused. */
#include "interp/execute.h"
#include "pipeline/pipeline.h"
#include "check.h"

#include <string.h>

/* ---- A small notation ------------------------------------------------------------------------ */

static kn_context *cx;
static Arena       arena;
static ExprPool    pool;
static Program     program;

static void begin(void)
{
    cx = kn_context_new(NULL);
    arena_init(&arena, cx);
    expr_pool_init(&pool, cx, &arena);
    program = (Program){ .cx = cx, .arena = &arena, .exprs = &pool, .name = "p" };
}

static void end(void)
{
    arena_free(&arena);
    kn_context_free(cx);
}

static Buffer *buffer(const char *name, BufferKind kind, kn_type type, int rank)
{
    Buffer *b = ARENA_NEW(&arena, Buffer);
    *b        = (Buffer){ .name  = intern(cx, name),
                          .id    = (int)program.buffers.count,
                          .kind  = kind,
                          .type  = type,
                          .rank  = rank,
                          .dense = -1 };
    vec_push(&arena, &program.buffers, b);
    program.port_count += kind != BUFFER_SCRATCH;
    return b;
}

static const Expr *var(const char *name)
{
    return expr_var(&pool, KN_I32, intern(cx, name));
}
static const Expr *num(int64_t v)
{
    return expr_int(&pool, KN_I32, v);
}
static const Expr *wide(const Expr *e)
{
    return expr_unary(&pool, EX_CAST, KN_I64, e);
}
static const Expr *add(const Expr *a, const Expr *b)
{
    return expr_binary(&pool, EX_ADD, a->type, a, b);
}
static const Expr *less(const Expr *a, const Expr *b)
{
    return expr_binary(&pool, EX_LT, KN_BOOL, a, b);
}
static const Expr *load(const Buffer *b, const Expr *at)
{
    return expr_load(&pool, b, b->type, wide(at));
}
static const Expr *pick(const Expr *c, const Expr *a, const Expr *b)
{
    return expr_ternary(&pool, EX_SELECT, a->type, c, a, b);
}
static const Stmt *put(const Buffer *b, const Expr *at, const Expr *v)
{
    return stmt_store(&arena, b, wide(at), v);
}
static const Stmt *loop(LoopKind kind, const char *name, int64_t extent, const Stmt *body)
{
    return stmt_for(&arena, intern(cx, name), kind, num(0), num(extent), body);
}
static const Stmt *alloc(const Buffer *b, int64_t count, const Stmt *body)
{
    Stmt *s         = ARENA_NEW(&arena, Stmt);
    s->kind         = STMT_ALLOC;
    s->alloc.buffer = b;
    s->alloc.count  = expr_int(&pool, KN_I64, count);
    s->alloc.body   = body;
    return s;
}
static const Stmt *atomic(const Stmt *store)
{
    Stmt *s         = ARENA_NEW(&arena, Stmt);
    *s              = *store;
    s->store.atomic = true;
    return s;
}

static ExecuteCounts counts;

static kn_status run(const Stmt *body, kn_buffer *in, kn_buffer *out)
{
    program.body = body;
    context_begin(cx);
    return execute(&program, (kn_buffer *const[]){ in, out }, NULL, &counts);
}

/* ---- Cases ------------------------------------------------------------------------------------ */

enum { N = 12 };
static int32_t   in_data[N], out_data[N];
static kn_buffer in_buffer, out_buffer;
static Buffer   *in, *out;

/* in: 0, 10, 20 …; out: -1 everywhere. */
static void begin_ports(void)
{
    begin();
    in  = buffer("in", BUFFER_INPUT, KN_I32, 1);
    out = buffer("out", BUFFER_OUTPUT, KN_I32, 1);
    for (int i = 0; i < N; i++) {
        in_data[i]  = 10 * i;
        out_data[i] = -1;
    }
    in_buffer  = kn_buffer_dense(in_data, KN_I32, 1, (int32_t[]){ N });
    out_buffer = kn_buffer_dense(out_data, KN_I32, 1, (int32_t[]){ N });
}

static void expect_ok(const Stmt *body, const int32_t *want, int count)
{
    CHECK(run(body, &in_buffer, &out_buffer) == KN_OK, "%s", kn_error_text(cx));
    for (int i = 0; i < count; i++)
        CHECK(out_data[i] == want[i], "element %d: expected %d, got %d", i, (int)want[i], (int)out_data[i]);
    end();
}

static void expect_refusal(const Stmt *body, const char *words)
{
    CHECK(run(body, &in_buffer, &out_buffer) != KN_OK, "should have been refused: %s", words);
    CHECK(strstr(kn_error_text(cx), words), "expected “%s” in: %s", words, kn_error_text(cx));
    end();
}

static void test_loops(void)
{
    begin_ports();
    const Expr *x = var("x");
    expect_ok(loop(LOOP_SERIAL, "x", 4, put(out, x, add(load(in, x), load(in, add(x, num(1)))))),
              (int32_t[]){ 10, 30, 50, 70, -1 }, 5);
    begin_ports();
    x = var("x");
    expect_ok(loop(LOOP_PARALLEL, "x", 4, put(out, x, load(in, x))), (int32_t[]){ 0, 10, 20, 30, -1 }, 5);
    begin_ports();
    x = var("x");
    expect_ok(stmt_for(&arena, intern(cx, "x"), LOOP_SERIAL, num(3), num(-2), put(out, x, x)),
              (int32_t[]){ -1, -1, -1, -1 }, 4);
    begin_ports();
    expect_ok(stmt_let(&arena, intern(cx, "a"), num(7), put(out, num(1), add(var("a"), var("in.extent.0")))),
              (int32_t[]){ -1, 7 + N }, 2);
    begin_ports();
    x = var("x");
    expect_ok(loop(LOOP_UNROLL, "x", 3, stmt_if(&arena, less(x, num(1)), put(out, x, num(5)), put(out, x, num(6)))),
              (int32_t[]){ 5, 6, 6, -1 }, 4);
}

/* The lanes of a statement all read before any writes. */
static void test_vector(void)
{
    begin_ports();
    const Expr *x    = var("x");
    const Stmt *fill = loop(LOOP_VECTOR, "x", 4, put(out, x, x));
    expect_ok(stmt_pair(&arena, fill, loop(LOOP_VECTOR, "x", 3, put(out, add(x, num(1)), load(out, x)))),
              (int32_t[]){ 0, 0, 1, 2 }, 4);
    /* two vector loops, and a variable of the outer one */
    begin_ports();
    const Expr *both = add(add(var("y"), var("y")), var("x"));
    expect_ok(loop(LOOP_VECTOR, "y", 3, loop(LOOP_VECTOR, "x", 2, put(out, both, both))),
              (int32_t[]){ 0, 1, 2, 3, 4, 5, -1 }, 7);
    /* each lane has its own scratch, its own condition and its own number of iterations */
    begin_ports();
    x             = var("x");
    Buffer     *s = buffer("s", BUFFER_SCRATCH, KN_I32, 1);
    const Stmt *count =
        stmt_for(&arena, intern(cx, "i"), LOOP_SERIAL, num(0), x, put(s, num(0), add(load(s, num(0)), num(1))));
    const Stmt *body =
        stmt_pair(&arena, put(s, num(0), num(0)),
                  stmt_pair(&arena, count, stmt_if(&arena, less(num(0), x), put(out, x, load(s, num(0))), NULL)));
    expect_ok(loop(LOOP_VECTOR, "x", 4, alloc(s, 1, body)), (int32_t[]){ -1, 1, 2, 3, -1 }, 5);
    begin_ports();
    expect_refusal(loop(LOOP_VECTOR, "x", 4, put(out, num(0), var("x"))), "two lanes of a vector loop");
    begin_ports();
    x = var("x");
    expect_ok(stmt_pair(&arena, put(out, num(0), num(0)),
                        loop(LOOP_VECTOR, "x", 4, atomic(put(out, num(0), add(load(out, num(0)), x))))),
              (int32_t[]){ 6, -1 }, 2);
}

static void test_access(void)
{
    begin_ports();
    expect_refusal(loop(LOOP_SERIAL, "x", N + 1, put(out, num(0), load(in, var("x")))),
                   "at index 12, but it has 0..11");
    begin_ports();
    expect_refusal(put(out, num(-1), num(0)), "writes `out` at index -1");
    begin_ports();
    expect_refusal(put(in, num(0), num(0)), "writes the input");
    begin_ports();
    expect_refusal(put(out, num(0), pick(less(num(0), var("in.min.0")), load(in, num(99)), num(1))), "at index 99");
    begin_ports();
    expect_refusal(put(out, num(0), var("nobody")), "`nobody`, which nothing binds");
    begin_ports();
    Buffer *s = buffer("s", BUFFER_SCRATCH, KN_I32, 1);
    expect_refusal(put(s, num(0), num(1)), "not allocated");
    /* backwards with gaps: elements 0, -2, -4 … */
    begin_ports();
    const Expr *x    = var("x");
    in_buffer.data   = &in_data[10];
    in_buffer.dim[0] = (kn_dim){ 0, 6, -2 };
    const Expr *at   = expr_binary(&pool, EX_MUL, KN_I64, wide(x), expr_var(&pool, KN_I64, intern(cx, "in.stride.0")));
    expect_ok(loop(LOOP_SERIAL, "x", 6, put(out, x, expr_load(&pool, in, KN_I32, at))),
              (int32_t[]){ 100, 80, 60, 40, 20, 0, -1 }, 7);
    begin_ports();
    in_buffer.data   = &in_data[10];
    in_buffer.dim[0] = (kn_dim){ 0, 6, -2 };
    expect_refusal(put(out, num(0), load(in, num(-3))), "between its elements");
}

/* Code that takes a dimension for dense gets a copy where it is not. */
static void test_dense(void)
{
    begin_ports();
    in->dense = out->dense = 0;
    const Expr *x          = var("x");
    in_buffer.dim[0]       = (kn_dim){ 0, 6, 2 };
    out_buffer.data        = &out_data[5];
    out_buffer.dim[0]      = (kn_dim){ 0, 6, -1 };
    expect_ok(loop(LOOP_SERIAL, "x", 6, put(out, x, load(in, x))), (int32_t[]){ 100, 80, 60, 40, 20, 0, -1 }, 7);
}

static void test_undefined(void)
{
    begin_ports();
    Buffer *s = buffer("s", BUFFER_SCRATCH, KN_I32, 1);
    expect_refusal(alloc(s, 2, put(out, num(0), load(s, num(0)))), "never written");
    begin_ports();
    s                  = buffer("s", BUFFER_SCRATCH, KN_I32, 1);
    const Stmt *chosen = put(out, num(0), pick(less(num(0), var("in.extent.0")), num(3), load(s, num(1))));
    expect_ok(alloc(s, 2, stmt_pair(&arena, put(s, num(1), load(s, num(0))), chosen)), (int32_t[]){ 3, -1 }, 2);
    begin_ports();
    s = buffer("s", BUFFER_SCRATCH, KN_I32, 1);
    expect_refusal(alloc(s, 2, stmt_if(&arena, less(load(s, num(0)), num(0)), put(out, num(0), num(0)), NULL)),
                   "a condition depends");
}

static void test_parallel(void)
{
    /* an iteration reads what another writes */
    begin_ports();
    const Expr *x    = var("x");
    const Stmt *fill = loop(LOOP_SERIAL, "x", 5, put(out, x, x));
    expect_refusal(stmt_pair(&arena, fill, loop(LOOP_PARALLEL, "x", 4, put(out, add(x, num(1)), load(out, x)))),
                   "parallel");
    /* all write the same: no race */
    begin_ports();
    expect_ok(loop(LOOP_PARALLEL, "x", 4, put(out, num(0), num(5))), (int32_t[]){ 5, -1 }, 2);
    begin_ports();
    expect_refusal(loop(LOOP_PARALLEL, "x", 4, put(out, num(0), var("x"))), "parallel");
    begin_ports();
    x = var("x");
    expect_ok(stmt_pair(&arena, put(out, num(0), num(0)),
                        loop(LOOP_PARALLEL, "x", 5, atomic(put(out, num(0), add(load(out, num(0)), x))))),
              (int32_t[]){ 10, -1 }, 2);
    /* one parallel loop after the other, and one inside another */
    begin_ports();
    x                  = var("x");
    const Stmt *second = loop(LOOP_PARALLEL, "x", 4, put(out, x, add(load(out, x), num(1))));
    const Stmt *nested = loop(LOOP_PARALLEL, "x", 4, loop(LOOP_PARALLEL, "y", 1, put(out, x, add(x, var("y")))));
    expect_ok(stmt_pair(&arena, nested, second), (int32_t[]){ 1, 2, 3, 4, -1 }, 5);
}

static void test_checks(void)
{
    begin_ports();
    Stmt *need        = ARENA_NEW(&arena, Stmt);
    need->kind        = STMT_NEED;
    need->need.buffer = in;
    need->need.min    = num(-1);
    need->need.max    = num(3);
    need->need.reader = NULL;
    CHECK(run(need, &in_buffer, &out_buffer) == KN_ERROR_BOUNDS, "a need that is not met");
    CHECK(strstr(kn_error_text(cx), "`in` has 0..11 along") && strstr(kn_error_text(cx), "-1..3 is needed"), "%s",
          kn_error_text(cx));
    need->need.min = num(4);
    CHECK(run(need, &in_buffer, &out_buffer) == KN_OK, "nothing is needed: %s", kn_error_text(cx));
    end();
    begin_ports();
    Stmt *check            = ARENA_NEW(&arena, Stmt);
    check->kind            = STMT_CHECK;
    check->check.status    = KN_ERROR_BOUNDS;
    check->check.condition = less(num(1), num(0));
    check->check.message   = "one is not less than nothing";
    expect_refusal(check, "one is not less than nothing");
}

static void test_counts(void)
{
    begin_ports();
    const Expr *x     = var("x");
    Buffer     *s     = buffer("s", BUFFER_SCRATCH, KN_I32, 1);
    const Stmt *inner = stmt_pair(&arena, put(s, num(0), x), put(out, x, load(s, num(0))));
    const Stmt *body  = alloc(s, 3, loop(LOOP_PARALLEL, "x", 4, alloc(s, 5, inner)));
    CHECK(run(body, &in_buffer, &out_buffer) == KN_OK, "%s", kn_error_text(cx));
    CHECK(counts.peak_bytes == 32 && counts.total_bytes == 12 + 4 * 20, "%lld, %lld", (long long)counts.peak_bytes,
          (long long)counts.total_bytes);
    CHECK(counts.buffers[s->id].largest == 20 && counts.buffers[s->id].allocations == 5, "the largest allocation");
    CHECK(counts.buffers[out->id].stored == 16 && counts.buffers[s->id].loaded == 16, "bytes");
    CHECK(counts.work == 8 && counts.span == 2, "work %lld, span %lld", (long long)counts.work, (long long)counts.span);
    CHECK(counts.parallel_iterations == 4 && counts.width == 4, "iterations, %lld at once", (long long)counts.width);
    end();
    /* points of a definition: six stores, two of them to elements that it had stored to */
    begin_ports();
    out->func               = intern(cx, "f");
    x                       = var("x");
    Stmt *produce           = ARENA_NEW(&arena, Stmt);
    produce->kind           = STMT_PRODUCE;
    produce->produce.func   = out->func;
    produce->produce.update = -1;
    produce->produce.body   = loop(LOOP_SERIAL, "x", 6, put(out, expr_binary(&pool, EX_MOD, KN_I32, x, num(4)), x));
    CHECK(run(produce, &in_buffer, &out_buffer) == KN_OK, "%s", kn_error_text(cx));
    CHECK(counts.definition_count == 1 && counts.definitions[0].points == 6 && counts.definitions[0].fresh == 4,
          "%lld points, %lld fresh", (long long)counts.definitions[0].points, (long long)counts.definitions[0].fresh);
    end();
}

int main(void)
{
    test_loops();
    test_vector();
    test_access();
    test_dense();
    test_undefined();
    test_parallel();
    test_checks();
    test_counts();
    return check_done();
}
