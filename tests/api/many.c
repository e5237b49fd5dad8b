/* Compiled pipelines in crowds: 64 threads that each run a pipeline of their own at once, with threads of its own; and
 * a pipeline that is called from inside a parallel loop of another. Built a second time with ThreadSanitizer, which
 * sees the runtime and the library, though not the compiled code. */
#include "api.h"

#include <pthread.h>

enum { USERS = 64, ROUNDS = 6, W = 61, H = 40 };

/* Every kind of parallel code: rows, tiles with scratch, windows that slide in strips, nested loops, a histogram with
 * atomic updates. */
static const char *const programs[] = {
    "out(x, y) = in(x, y) * 3 + in(x+1, y+2)\nschedule { out.parallel(y).vectorize(x, 8) }\n",
    "f(x, y) = in(x, y) + in(x+1, y)\nout(x, y) = f(x, y) * f(x, y+2)\nschedule { out.parallel(y)  f.compute_at(out, "
    "y) }\n",
    "f(x, y) = in(x, y) + in(x+1, y)\nout(x, y) = f(x, y) - f(x, y+1) + f(x, y+2)\n"
    "schedule { out.split(y, yo, yi, 6).parallel(yo)  f.store_at(out, yo).compute_at(out, yi) }\n",
    "f(x, y) = in(x, y) ^ in(x+2, y)\nout(x, y) = f(x, y) + f(x, y+1)\n"
    "schedule { out.tile(x, y, xo, yo, xi, yi, 16, 8).parallel(xo).parallel(yo)  f.compute_at(out, "
    "xo).parallel(y).vectorize(x, 8) }\n",
    "h(i) = 0\nh(in(u, v) & 31) += 1 for u in 0..60, v in 0..40\nout(x, y) = h(in(x, y) & 31) * 2 + x\n"
    "schedule { h.compute_root()  h.update(0).atomic().parallel(v) }\n",
    "s(x, y) = sum(in(x, y+i) for i in 0..3)\nout(x, y) = s(x, y) / 3\nschedule { s.compute_root().parallel(y)  "
    "out.parallel(y) }\n",
};

static int32_t source[H + 2][W + 2];

static kn_module *compile_user(kn_context *cx, int program, const kn_options *options)
{
    char text[1000];
    snprintf(text, sizeof text, "input  in : i32(x, y)\noutput out\n%s", programs[program]);
    kn_pipeline *p = kn_parse(cx, "user.kiln", text, -1);
    return p ? kn_compile(p, options) : NULL;
}

static kn_status run_on(kn_module *m, int32_t target[H][W])
{
    kn_buffer in  = { .data = source, .type = KN_I32, .rank = 2, .dim = { { 0, W + 2, 1 }, { 0, H + 2, W + 2 } } };
    kn_buffer out = { .data = target, .type = KN_I32, .rank = 2, .dim = { { 0, W, 1 }, { 0, H, W } } };
    return kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2);
}

static int32_t expected[COUNT(programs)][H][W];

static void make_expected(void)
{
    for (int y = 0; y < H + 2; y++)
        for (int x = 0; x < W + 2; x++)
            source[y][x] = x * 17 + y * y * 3 + x * y % 11;
    for (int i = 0; i < COUNT(programs); i++) {
        kn_context *cx = kn_context_new(NULL);
        kn_module  *m  = compile_user(cx, i, &(kn_options){ .interpret = true });
        CHECK(m && run_on(m, expected[i]) == KN_OK, "program %d: %s", i, kn_error_text(cx));
        kn_context_free(cx);
    }
}

/* ---- Many at once ------------------------------------------------------------------------- */

typedef struct User {
    int                program, failures;
    pthread_barrier_t *ready;
    char               error[400];
} User;

static void *user_main(void *arg)
{
    User       *u  = arg;
    kn_context *cx = kn_context_new(NULL);
    kn_module  *m  = compile_user(cx, u->program, &(kn_options){ .threads = 1 + u->program % 4 });
    pthread_barrier_wait(u->ready);
    for (int i = 0; i < ROUNDS; i++) {
        static _Thread_local int32_t target[H][W];
        memset(target, 0, sizeof target);
        u->failures += !m || run_on(m, target) != KN_OK || memcmp(target, expected[u->program], sizeof target) != 0;
    }
    snprintf(u->error, sizeof u->error, "%s", kn_error_text(cx));
    kn_context_free(cx);
    return NULL;
}

static void test_crowd(void)
{
    static User       users[USERS];
    pthread_t         threads[USERS];
    pthread_barrier_t ready;
    pthread_barrier_init(&ready, NULL, USERS);
    for (int i = 0; i < USERS; i++) {
        users[i] = (User){ .program = i % COUNT(programs), .ready = &ready };
        CHECK(!pthread_create(&threads[i], NULL, user_main, &users[i]), "no thread");
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(!users[i].failures, "user %d: %d failures: %s", i, users[i].failures, users[i].error);
    }
    pthread_barrier_destroy(&ready);
}

/* ---- One inside another ------------------------------------------------------------------- */

/* Each thread that comes by has a context of its own, until the end. */
typedef struct Inner {
    kn_context   *cx;
    kn_module    *m;
    struct Inner *next;
} Inner;

static pthread_mutex_t      inner_lock = PTHREAD_MUTEX_INITIALIZER;
static Inner               *inners;
static _Thread_local Inner *inner;

/* The inner pipeline has threads and a parallel loop too. */
static Inner *inner_of_thread(void)
{
    if (inner)
        return inner;
    inner     = calloc(1, sizeof *inner);
    inner->cx = kn_context_new(NULL);
    inner->m  = kn_compile(kn_parse(inner->cx, "inner.kiln",
                                    "param k : i32\noutput out\nf(x) = x * k\nout(x) = f(x) + f(x+1)\n"
                                     "schedule { out.split(x, xo, xi, 4).parallel(xo)  f.compute_at(out, xo) }\n",
                                    -1),
                           &(kn_options){ .threads = 3 });
    pthread_mutex_lock(&inner_lock);
    inner->next = inners;
    inners      = inner;
    pthread_mutex_unlock(&inner_lock);
    return inner;
}

/* The sum of out(0 .. 9) of the inner pipeline: k * (1 + 3 + … + 19) = 100 k; -1 if it failed. */
static int32_t inner_sum(int32_t k)
{
    Inner    *in = inner_of_thread();
    int32_t   values[10], sum = 0;
    kn_buffer out = kn_buffer_dense(values, KN_I32, 1, (const int32_t[]){ 10 });
    if (kn_run(in->m, (kn_arg[]){ { "k", .value = kn_int(k) }, { "out", .buffer = &out } }, 2))
        return -1;
    for (int i = 0; i < 10; i++)
        sum += values[i];
    return sum;
}

static int inner_stage(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                       kn_buffer *output, void *user)
{
    (void)inputs, (void)input_count, (void)values, (void)value_count, (void)user;
    for (int i = 0; !query && i < output->dim[0].extent; i++)
        ((int32_t *)output->data)[i * output->dim[0].stride] = inner_sum(output->dim[0].min + i);
    return 0;
}

static void test_inside(const char *text, int32_t (*want)(int x, int y))
{
    static int32_t target[H][8];
    kn_context    *cx = kn_context_new(NULL);
    kn_extern_function(cx, "inner_sum", (void (*)(void))inner_sum);
    kn_extern_stage(cx, "inner_stage", inner_stage, NULL);
    kn_pipeline *p     = kn_parse(cx, "outer.kiln", text, -1);
    kn_module   *m     = p ? kn_compile(p, &(kn_options){ .threads = 4 }) : NULL;
    kn_buffer    out   = { .data = target, .type = KN_I32, .rank = 2, .dim = { { 0, 8, 1 }, { 0, H, 8 } } };
    int          wrong = 0;
    CHECK(m && kn_run(m, (kn_arg[]){ { "out", .buffer = &out } }, 1) == KN_OK, "%s", kn_error_text(cx));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < 8; x++)
            wrong += target[y][x] != want(x, y);
    CHECK(!wrong, "%d elements are wrong: %s", wrong, text);
    kn_context_free(cx);
}

static int32_t want_function(int x, int y)
{
    return 100 * (x + y);
}
static int32_t want_stage(int x, int y)
{
    return 100 * (x + y) + 100 * (y + x + 1);
}

static void free_inners(void)
{
    while (inners) {
        Inner *next = inners->next;
        kn_context_free(inners->cx);
        free(inners);
        inners = next;
    }
}

int main(void)
{
    make_expected();
    test_crowd();
    test_inside("extern i32 inner_sum(i32)\noutput out\nout(x, y) = inner_sum(x + y)\nschedule { out.parallel(y) }\n",
                want_function);
    test_inside(
        "extern stage inner_stage() : i32(x)\noutput out\nout(x, y) = inner_stage(x + y) + inner_stage(x + y + 1)\n"
        "schedule { out.parallel(y)  inner_stage.compute_at(out, y) }\n",
        want_stage);
    free_inners();
    return check_done();
}
