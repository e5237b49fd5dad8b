/* SPDX-License-Identifier: MIT */
/* Running out: of memory at every single allocation (of a compile, with its thousands, at a sample of them), of the
 * memory limit, of the quota. Each is an error return; nothing leaks, and the context goes on working.
 */
#include "api.h"

/* An allocator that counts, and fails once (or for good) at the n-th request. */
typedef struct Account {
    long requests, alive;
    long fail_at; /* 0: never */
    bool for_good;
} Account;

static void *count_allocate(void *user, size_t size)
{
    Account *a = user;
    a->requests++;
    if (a->fail_at && (a->for_good ? a->requests >= a->fail_at : a->requests == a->fail_at))
        return NULL;
    void *block = malloc(size);
    a->alive += block != NULL;
    return block;
}

static void count_release(void *user, void *block)
{
    ((Account *)user)->alive -= block != NULL;
    free(block);
}

static char *read_shared(void *user, const char *path, size_t *size)
{
    static const char text[] = "const J = 2\ndef twice(f) { return (x) = f(x) * J }\n";
    if (!strstr(path, "shared.kiln"))
        return NULL;
    char *copy = count_allocate(user, sizeof text);
    if (copy)
        memcpy(copy, text, sizeof text);
    *size = sizeof text - 1;
    return copy;
}

static kn_context *counting_context(Account *a)
{
    return kn_context_new(
        &(kn_config){ .allocate = count_allocate, .release = count_release, .read_file = read_shared, .user = a });
}

static int curve(int v)
{
    return v + 1;
}

static const char program[] =
    "input  in : u8(x, y)\n"
    "param  k : i32 = 2\n"
    "const  J = 3\n"
    "extern i32 curve(i32)\n"
    "output out\n"
    "hist(i) = u32(0)\n"
    "hist(in(u, v)) += 1 for u in 0..in.width, v in 0..in.height\n"
    "g[0](x, y) = i32(edge(in)(x, y))\n"
    "repeat j in 1..J { g[j](x, y) = g[j-1](x - 1, y) + g[j-1](x + 1, y) }\n"
    "out(x, y) = curve(g[J-1](x, y) * k) + i32(hist(in(x, y))) + sum(i32(in(x, i)) for i in 0..2)\n"
    "schedule { out.parallel(y) }\n";

/* Either it went well, or it ran out of memory: nothing else may be said. */
static bool done(kn_context *cx, kn_status status)
{
    CHECK(status == KN_OK || status == KN_ERROR_LIMIT, "status %d: %s", (int)status, kn_error_text(cx));
    CHECK(status == KN_OK || strstr(kn_error_text(cx), "memory"), "%s", kn_error_text(cx));
    return status == KN_OK;
}

static bool made(kn_context *cx, const void *thing)
{
    return done(cx, thing ? KN_OK : KN_ERROR_LIMIT);
}

static kn_pipeline *build(kn_context *cx)
{
    kn_pipeline *p   = kn_pipeline_new(cx, "built");
    kn_expr     *x   = kn_var(p, "x");
    kn_expr     *one = kn_const(p, kn_int(1));
    kn_expr     *sum = kn_add(x, one);
    kn_func     *f   = kn_define_func(p, "f", 1, (const char *const[]){ "x" }, 1, &sum);
    if (kn_output(f) || kn_pipeline_finish(p))
        return NULL;
    return p;
}

/* A whole session: every kind of call once, as far as it gets. */
static void session(kn_context *cx)
{
    const char *const dims[] = { "x", "y" };
    kn_buffer         in = { .type = KN_U8, .rank = 2, .dim = { { 0, 20, 0 }, { 0, 20, 0 } } }, out = { 0 };
    const kn_arg      args[] = { { "in", .buffer = &in }, { "out", .buffer = &out }, { "k", .value = kn_int(3) } };
    const kn_region  *regions;
    int               count;
    done(cx, kn_define(cx, "J", "4"));
    if (!done(cx, kn_extern_function(cx, "curve", (void (*)(void))curve)))
        return;
    made(cx, kn_format(cx, "p.kiln", program, -1));
    kn_pipeline *p = kn_parse(cx, "p.kiln", program, -1);
    if (!made(cx, p))
        return;
    done(cx, kn_schedule_parse(p, "p.sched", "hist.compute_root()", -1));
    for (int view = KN_VIEW_FUNCS; view <= KN_VIEW_SCHEDULE; view++)
        made(cx, kn_show(p, (kn_view)view));
    kn_module *m = kn_compile(p, &(kn_options){ .interpret = true });
    if (!made(cx, m) || !done(cx, kn_fit(m, args, 3)))
        return;
    done(cx, kn_bounds(m, args, 3, &regions, &count));
    if (!done(cx, kn_buffer_alloc(cx, &in)) || !done(cx, kn_buffer_alloc(cx, &out)))
        return;
    done(cx, kn_fill(cx, &in, dims, "x * y % 256"));
    done(cx, kn_fill_noise(cx, &in, 1));
    done(cx, kn_run(m, args, 3));
    kn_buffer_free(cx, &in);
    kn_pipeline_free(p);
    kn_error_text(cx);
    made(cx, build(cx));
    /* An error whose message finds no memory is still an error. */
    CHECK(kn_define(cx, "a b", "1") != KN_OK, "refused");
    kn_error_text(cx);
}

/* The same for what is compiled: the plan, the loops, the object, the threads and their scratch. */
static void compiled_session(kn_context *cx)
{
    kn_buffer    in = { .type = KN_U16, .rank = 2, .dim = { { 0, 20, 0 }, { 0, 20, 0 } } }, out = { 0 };
    const kn_arg args[] = { { "in", .buffer = &in }, { "out", .buffer = &out } };
    kn_pipeline *p      = kn_parse(cx, "p.kiln", blur_text, -1);
    if (!made(cx, p))
        return;
    kn_module *m = kn_compile(p, &(kn_options){ .threads = 2 });
    if (!made(cx, m) || !done(cx, kn_fit(m, args, 2)) || !done(cx, kn_buffer_alloc(cx, &in)) ||
        !done(cx, kn_buffer_alloc(cx, &out)))
        return;
    done(cx, kn_run(m, args, 2));
    made(cx, kn_show(p, KN_VIEW_LOOPS));
    kn_pipeline_free(p);
}

/* Fails at each of the first `dense` requests, then at ever fewer of them: at one of n / dense. */
static void test_failing_allocations(void (*session_of)(kn_context *), bool for_good, long dense)
{
    long n = 1;
    for (;; n += 1 + n / dense) {
        Account     a  = { .fail_at = n, .for_good = for_good };
        kn_context *cx = counting_context(&a);
        if (cx)
            session_of(cx);
        else
            CHECK(n == 1, "a context needs one block");
        kn_context_free(cx);
        CHECK(a.alive == 0, "failure at %ld: %ld blocks leaked", n, a.alive);
        if (a.requests < n)
            break;
        if (n > 20000) {
            CHECK(false, "more allocations than expected");
            break;
        }
    }
    CHECK(n > 5, "only %ld allocations", n);
}

/* After a failure that passes, the same calls go well. */
static void test_recovery(void)
{
    for (long n = 2; n < 40; n++) {
        Account     a  = { .fail_at = n };
        kn_context *cx = counting_context(&a);
        session(cx);
        a.fail_at        = 0;
        const int before = checks_failed;
        session(cx);
        CHECK(checks_failed == before, "the second session after failure %ld", n);
        kn_context_free(cx);
        CHECK(a.alive == 0, "%ld blocks leaked", a.alive);
    }
}

static void test_read_file(void)
{
    Account     a  = { 0 };
    kn_context *cx = counting_context(&a);
    kn_module  *m =
        compile_text(cx, "const J = 5\ninclude \"shared.kiln\"\ninput in : i32(x)\noutput out\nout = twice(in)\n");
    int32_t   v[] = { 1, 2, 3 }, r[3] = { 0 };
    kn_buffer in  = kn_buffer_dense(v, KN_I32, 1, (int32_t[]){ 3 }),
              out = kn_buffer_dense(r, KN_I32, 1, (int32_t[]){ 3 });
    expect_ok(cx, kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2));
    CHECK(r[0] == 5 && r[2] == 15, "%d %d", r[0], r[2]);
    CHECK(!kn_parse(cx, "b.kiln", "include \"nowhere.kiln\"\noutput out\nout(x) = x\n", -1), "no such file");
    CHECK(strstr(kn_error_text(cx), "b.kiln:1:9: error: ") && strstr(kn_error_text(cx), "nowhere.kiln"), "%s",
          kn_error_text(cx));
    kn_context_free(cx);
    CHECK(a.alive == 0, "%ld blocks leaked", a.alive);
}

/* An intermediate that does not fit: refused, the output as it was; a smaller one goes well afterwards. */
static void test_memory_limit(bool interpret)
{
    kn_context  *cx = kn_context_new(&(kn_config){ .memory_limit = 4 << 20 });
    kn_pipeline *p  = kn_parse(cx, "p.kiln",
                               "param n : i32 = 10\noutput out\nf(x, y) = x + y\n"
                                "out(x) = sum(f(x, i) for i in 0..n) + f(x - 1, 0)\nschedule { f.compute_root() }\n",
                               -1);
    kn_module   *m  = kn_compile(p, &(kn_options){ .interpret = interpret });
    CHECK(m, "%s", kn_error_text(cx));
    int32_t   data[4] = { 7, 7, 7, 7 };
    kn_buffer out     = kn_buffer_dense(data, KN_I32, 1, (int32_t[]){ 4 });
    kn_arg    args[]  = { { "out", .buffer = &out }, { "n", .value = kn_int(1000000) } };
    expect_error(cx, kn_run(m, args, 2), KN_ERROR_LIMIT, "memory");
    CHECK(data[0] == 7 && data[3] == 7, "the output was touched");
    args[1].value = kn_int(4);
    expect_ok(cx, kn_run(m, args, 2));
    CHECK(data[1] == 1 + 2 + 3 + 4, "%d", data[1]);
    kn_buffer big = { .type = KN_U8, .rank = 1, .dim = { { 0, 5 << 20, 0 } } };
    expect_error(cx, kn_buffer_alloc(cx, &big), KN_ERROR_LIMIT, "memory");
    big.dim[0].extent = 1 << 19;
    for (int i = 0; i < 20; i++) {
        expect_ok(cx, kn_buffer_alloc(cx, &big));
        kn_buffer_free(cx, &big);
    }
    kn_context_free(cx);
    cx = kn_context_new(&(kn_config){ .memory_limit = 1 });
    CHECK(!cx || !kn_parse(cx, "p", blur_text, -1), "no room for anything");
    CHECK(!cx || strstr(kn_error_text(cx), "memory"), "%s", kn_error_text(cx));
    kn_context_free(cx);
}

static void test_quota(void)
{
    kn_context *cx = kn_context_new(&(kn_config){ .quota = 20000 });
    CHECK(!kn_parse(cx, "p", "output out\nrepeat j in 0..50000 { g[j](x) = x + j }\nout(x) = g[3](x)\n", -1),
          "too much to do");
    CHECK(strstr(kn_error_text(cx), "quota"), "%s", kn_error_text(cx));
    CHECK(kn_parse(cx, "p", blur_text, -1) != NULL, "each call has its own: %s", kn_error_text(cx));
    kn_context_free(cx);
    cx             = kn_context_new(&(kn_config){ .quota = 40000 });
    kn_pipeline *p = kn_parse(cx, "p", blur_text, -1);
    CHECK(p && !kn_compile(p, &(kn_options){ .scheduler = "none" }), "the backend has its share");
    CHECK(strstr(kn_error_text(cx), "kn_config.quota"), "%s", kn_error_text(cx));
    CHECK(p && kn_compile(p, &(kn_options){ .interpret = true }), "%s", kn_error_text(cx));
    kn_context_free(cx);
}

static void test_max_errors(void)
{
    kn_context *cx = kn_context_new(&(kn_config){ .max_errors = 3 });
    CHECK(!kn_parse(cx, "p", "output out\nout(x) = a + b + c + d + e + f\n", -1), "unknown names");
    CHECK(kn_diagnostic_count(cx) == 3, "%d: %s", kn_diagnostic_count(cx), kn_error_text(cx));
    CHECK(strstr(kn_error_text(cx), "3 more errors"), "%s", kn_error_text(cx));
    kn_context_free(cx);
}

int main(void)
{
    test_failing_allocations(session, false, 20000);
    test_failing_allocations(session, true, 20000);
    test_failing_allocations(compiled_session, false, 19);
    test_failing_allocations(compiled_session, true, 23);
    test_recovery();
    test_read_file();
    test_memory_limit(true);
    test_memory_limit(false);
    test_quota();
    test_max_errors();
    return check_done();
}
