/* Compiled functions called by 64 threads at once, all on the process's own instance of the runtime, as functions
 * compiled ahead of time are: they keep nothing between calls but what the runtime keeps, so that every caller gets its
 * own numbers. Some of the callers bring bad buffers, and hear of their own. */
#include "api/compile.h"
#include "check.h"
#include "runtime/runtime.h"

#include <pthread.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { USERS = 64, ROUNDS = 20, W = 45, H = 24 };

static const char *const programs[] = {
    "out(x, y) = in(x, y) * 3 + in(x+1, y+2)\nschedule { out.parallel(y).vectorize(x, 8) }\n",
    "f(x, y) = in(x, y) + in(x+1, y)\nout(x, y) = f(x, y) * f(x, y+2)\nschedule { f.compute_root().parallel(y)  "
    "out.parallel(y) }\n",
    "f(x, y) = in(x, y) + in(x+1, y)\nout(x, y) = f(x, y) - f(x, y+1) + f(x, y+2)\n"
    "schedule { out.split(y, yo, yi, 6).parallel(yo)  f.store_at(out, yo).compute_at(out, yi) }\n",
    "f(x, y) = in(x, y) ^ in(x+2, y)\nout(x, y) = f(x, y) + f(x, y+1)\n"
    "schedule { out.tile(x, y, xo, yo, xi, yi, 16, 8).parallel(xo).parallel(yo)  f.compute_at(out, "
    "xo).parallel(y).vectorize(x, 8) }\n",
    "h(i) = 0\nh(in(u, v) & 31) += 1 for u in 0..45, v in 0..24\nout(x, y) = h(in(x, y) & 31) * 2 + x\n"
    "schedule { h.compute_root()  h.update(0).atomic().parallel(v) }\n",
};

typedef struct User {
    CompiledFunction *function;
    int               number, failures;
    int32_t           source[H + 2][W + 2], target[H][W], expected[H][W];
} User;

static User users[USERS];

static int call(User *u, int32_t target[H][W], int32_t rows)
{
    const kn_buffer in = {
        .data = u->source, .type = KN_I32, .rank = 2, .dim = { { 0, W + 2, 1 }, { 0, rows, W + 2 } }
    };
    const kn_buffer out = { .data = target, .type = KN_I32, .rank = 2, .dim = { { 0, W, 1 }, { 0, H, W } } };
    return u->function(NULL, (const kn_buffer *const[]){ &in, &out }, NULL);
}

static void *user_main(void *arg)
{
    User *u = arg;
    for (int i = 0; i < ROUNDS; i++) {
        memset(u->target, 0, sizeof u->target);
        u->failures += call(u, u->target, H + 2) != KN_OK || *kn_rt_last_error() ||
                       memcmp(u->target, u->expected, sizeof u->target) != 0;
        if ((u->number + i) % 3)
            continue;
        char given[40];
        snprintf(given, sizeof given, "0..%d is given", 1 + u->number % 20);
        u->failures += call(u, u->target, 1 + u->number % 20) != KN_ERROR_BOUNDS || !strstr(kn_rt_last_error(), given);
    }
    return NULL;
}

int main(void)
{
    kn_context       *cx = kn_context_new(NULL);
    CompiledFunction *functions[COUNT(programs)];
    pthread_t         threads[USERS];
    for (int i = 0; i < COUNT(programs); i++) {
        char text[1000];
        snprintf(text, sizeof text, "input  in : i32(x, y)\noutput out\n%s", programs[i]);
        kn_pipeline *p = kn_parse(cx, "shared.kiln", text, -1);
        kn_module   *m = p ? kn_compile(p, NULL) : NULL;
        functions[i]   = m ? compiled_function(m) : NULL;
        CHECK(functions[i], "%s", kn_error_text(cx));
        if (!functions[i])
            return check_done();
    }
    kn_rt_set_threads(NULL, 4);
    for (int i = 0; i < USERS; i++) {
        User *u     = &users[i];
        u->number   = i;
        u->function = functions[i % COUNT(programs)];
        for (int y = 0; y < H + 2; y++)
            for (int x = 0; x < W + 2; x++)
                u->source[y][x] = x * (17 + i) + y * y * 3 + x * y % (11 + i);
        CHECK(call(u, u->expected, H + 2) == KN_OK, "user %d alone: %s", i, kn_rt_last_error());
    }
    for (int i = 0; i < USERS; i++)
        CHECK(!pthread_create(&threads[i], NULL, user_main, &users[i]), "no thread");
    for (int i = 0; i < USERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(!users[i].failures, "user %d: %d failures", i, users[i].failures);
    }
    kn_rt_trim(NULL);
    kn_context_free(cx);
    return check_done();
}
