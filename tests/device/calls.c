/* SPDX-License-Identifier: MIT */
/* 1,000 calls of a pipeline in 8 threads on one device, each with other sizes and values, compared with the code for
 * the host that is in the same object. tests/aot builds it with examples/aot/soften.kiln as `both`, for host-opencl or
 * host-cuda; the program can be carried to a machine with a GPU. */
#include "both.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, CALLS = 125, MOST = 96 };

typedef struct Caller {
    pthread_t thread;
    kn_rt    *host, *device;
    int       index, wrong, elsewhere;
    char      why[256];
} Caller;

/* One call on the device and one on the host. */
static void call_both(Caller *c, int turn)
{
    static _Thread_local uint8_t picture[MOST * MOST], there[MOST * MOST], here[MOST * MOST];
    const int32_t                size[] = { 1 + (turn * 7 + c->index * 13) % MOST, 1 + (turn * 11 + c->index) % MOST };
    kn_buffer                    in = kn_buffer_dense(picture, KN_U8, 2, size), out = in, expected = in;
    const float                  amount = (float)(turn % 5) / 4;
    out.data                            = there;
    expected.data                       = here;
    for (int i = 0; i < size[0] * size[1]; i++)
        picture[i] = (uint8_t)(i * 31 + turn * 17 + c->index);
    int status = both_on(c->device, &in, amount, &out);
    c->elsewhere += kn_rt_last_place() != KN_ON_DEVICE;
    if (!status)
        status = both_on(c->host, &in, amount, &expected);
    if (status)
        snprintf(c->why, sizeof c->why, "%s", kn_rt_last_error());
    c->wrong += status || memcmp(there, here, (size_t)size[0] * (size_t)size[1]) != 0;
}

static void *call_all(void *arg)
{
    for (int i = 0; i < CALLS; i++)
        call_both(arg, i);
    return NULL;
}

int main(void)
{
    Caller callers[THREADS] = { { .wrong = 0 } };
    kn_rt *host = kn_rt_new(NULL), *device = kn_rt_new(NULL);
    int    wrong = 0, elsewhere = 0;
    kn_rt_set_place(host, KN_ON_HOST);
    for (int i = 0; i < THREADS; i++) {
        callers[i].index  = i;
        callers[i].host   = host;
        callers[i].device = device;
        if (pthread_create(&callers[i].thread, NULL, call_all, &callers[i]))
            return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        wrong += callers[i].wrong;
        elsewhere += callers[i].elsewhere;
        if (*callers[i].why)
            puts(callers[i].why);
    }
    printf("%d calls in %d threads: %d wrong, %d not on a device\n", THREADS * CALLS, THREADS, wrong, elsewhere);
    kn_rt_destroy(host);
    kn_rt_destroy(device);
    return wrong || elsewhere;
}
