/* SPDX-License-Identifier: MIT */
/* Two contexts in two threads do not see each other: different programs, different values under the same names, errors
 * of their own. Built a second time with ThreadSanitizer, which sees what would only sometimes go wrong.
 */
#include "api.h"

#include <pthread.h>

typedef struct Worker {
    const char *text, *gain;
    int         factor, failures;
} Worker;

static int one_round(const Worker *w, kn_context *cx)
{
    int32_t   in_data[64 * 8], out_data[64 * 8];
    kn_buffer in  = kn_buffer_dense(in_data, KN_I32, 2, (int32_t[]){ 64, 8 });
    kn_buffer out = kn_buffer_dense(out_data, KN_I32, 2, (int32_t[]){ 64, 8 });
    int       bad = 0;
    bad += kn_define(cx, "G", w->gain) != KN_OK;
    bad += kn_fill(cx, &in, (const char *const[]){ "x", "y" }, "x * 3 + y") != KN_OK;
    kn_module *m = kn_compile(kn_parse(cx, "w.kiln", w->text, -1), NULL);
    bad += kn_run(m, (kn_arg[]){ { "in", .buffer = &in }, { "out", .buffer = &out } }, 2) != KN_OK;
    for (int i = 0; i < 64 * 8 && !bad; i++)
        bad += out_data[i] != (i % 64 * 3 + i / 64) * w->factor;
    bad += kn_parse(cx, w->gain, "out(x = 1", -1) != NULL;
    bad += strstr(kn_error_text(cx), w->gain) == NULL;
    return bad;
}

static void *work(void *arg)
{
    Worker *w = arg;
    for (int i = 0; i < 4; i++) {
        kn_context *cx = kn_context_new(NULL);
        for (int k = 0; k < 5; k++)
            w->failures += one_round(w, cx);
        kn_context_free(cx);
    }
    return NULL;
}

int main(void)
{
    Worker workers[] = {
        { "const G = 0\ninput in : i32(x, y)\noutput out\nout(x, y) = in(x, y) * G\n", "7", 7, 0 },
        { "const G = 0\ninput in : i32(x, y)\noutput out\na(x, y) = in(x, y) + in(x, y)\nout(x, y) = a(x, y) * (G + "
          "1)\n",
          "10", 22, 0 },
    };
    pthread_t threads[COUNT(workers)];
    for (int i = 0; i < COUNT(workers); i++)
        CHECK(!pthread_create(&threads[i], NULL, work, &workers[i]), "no thread");
    for (int i = 0; i < COUNT(workers); i++) {
        pthread_join(threads[i], NULL);
        CHECK(workers[i].failures == 0, "thread %d: %d failures", i, workers[i].failures);
    }
    return check_done();
}
