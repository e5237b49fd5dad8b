/* The runtime's threads, scratch, locks, hooks and profiles. Built a second time with ThreadSanitizer. */
#include "runtime/runtime.h"
#include "check.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static kn_rt *with_threads(int threads)
{
    return kn_rt_new(&(kn_rt_hooks){ .threads = threads });
}

/* ---- Loops ---- */

typedef struct Visits {
    int32_t     min;
    atomic_int *times;
} Visits;

static int visit(kn_rt *rt, int32_t i, void *closure)
{
    (void)rt;
    Visits *v = closure;
    atomic_fetch_add(&v->times[i - v->min], 1);
    return 0;
}

/* Every index once, none beyond. */
static void check_loop(kn_rt *rt, int32_t min, int32_t extent)
{
    const int   n     = extent > 0 ? extent : 0;
    atomic_int *times = calloc((size_t)n + 2, sizeof *times);
    Visits      v     = { min, times + 1 };
    int         wrong = kn_rt_parallel(rt, visit, min, extent, &v);
    for (int i = 0; i < n + 2; i++)
        wrong += times[i] != (i > 0 && i <= n);
    CHECK(wrong == 0, "%d wrong of extent %d from %d", wrong, extent, min);
    free(times);
}

static void test_sizes(void)
{
    static const int threads[] = { 1, 2, 3, 8 };
    for (int t = 0; t < COUNT(threads); t++) {
        kn_rt *rt = with_threads(threads[t]);
        CHECK(kn_rt_threads(rt) == threads[t], "%d threads", kn_rt_threads(rt));
        for (int extent = -2; extent <= 70; extent++)
            check_loop(rt, extent * 7 - 100, extent);
        check_loop(rt, INT32_MAX - 999, 1000);
        check_loop(rt, INT32_MIN, 1000);
        check_loop(rt, 0, 50000);
        kn_rt_destroy(rt);
    }
}

/* ---- Nests ---- */

typedef struct Nest {
    int         depth;
    int         extent[3];
    int         place, fails_at; /* the number of this iteration among all; the one that fails, or -1 */
    atomic_int *times;
    atomic_int *deepest;
} Nest;

static _Thread_local int active; /* bodies on this thread's stack */

static int nest_body(kn_rt *rt, int32_t i, void *closure)
{
    Nest inner  = *(Nest *)closure;
    inner.place = inner.place * inner.extent[inner.depth] + i;
    inner.depth++;
    active++;
    for (int seen = atomic_load(inner.deepest);
         active > seen && !atomic_compare_exchange_weak(inner.deepest, &seen, active);)
        ;
    int status = 0;
    if (inner.depth < 3)
        status = kn_rt_parallel(rt, nest_body, 0, inner.extent[inner.depth], &inner);
    else if (inner.place == inner.fails_at)
        status = kn_rt_fail(rt, &(kn_rt_program){ .name = "nest" }, KN_ERROR_BOUNDS, "as asked");
    else
        atomic_fetch_add(&inner.times[inner.place], 1);
    active--;
    return status;
}

static int run_nest(kn_rt *rt, int a, int b, int c, int fails_at, int *missing, int *deepest)
{
    atomic_int *times = calloc((size_t)(a * b * c), sizeof *times), deep = 0;
    Nest        nest   = { 0, { a, b, c }, 0, fails_at, times, &deep };
    const int   status = kn_rt_parallel(rt, nest_body, 0, a, &nest);
    *missing           = 0;
    for (int i = 0; i < a * b * c; i++)
        *missing += times[i] != 1;
    *deepest = deep;
    free(times);
    return status;
}

static void test_nests(void)
{
    static const int sizes[][3] = { { 1, 1, 1 },   { 2, 2, 2 },   { 3, 5, 7 },  { 1, 20, 20 },
                                    { 20, 1, 20 }, { 2, 3, 300 }, { 30, 30, 3 } };
    kn_rt           *rt         = with_threads(4);
    int              missing, deepest;
    for (int i = 0; i < COUNT(sizes); i++)
        for (int round = 0; round < 10; round++) {
            const int status = run_nest(rt, sizes[i][0], sizes[i][1], sizes[i][2], -1, &missing, &deepest);
            CHECK(status == 0 && missing == 0, "nest %d: status %d, %d iterations wrong", i, status, missing);
            CHECK(deepest <= 3, "nest %d: a stack of %d bodies", i, deepest);
        }
    kn_rt_destroy(rt);
}

static void test_errors(void)
{
    kn_rt *rt = with_threads(4);
    int    missing, deepest;
    for (int round = 0; round < 50; round++) {
        kn_rt_set_threads(rt, 1 + round % 5);
        const int status = run_nest(rt, 20, 20, 20, round * 159, &missing, &deepest);
        CHECK(status == KN_ERROR_BOUNDS, "status %d", status);
        CHECK(!strcmp(kn_rt_last_error(), "nest: as asked"), "`%s`", kn_rt_last_error());
    }
    kn_rt_set_threads(rt, 1);
    run_nest(rt, 100, 10, 10, 1234, &missing, &deepest);
    CHECK(missing == 10000 - 1234, "the loop went on: %d iterations were not run", missing);
    kn_rt_destroy(rt);
}

/* ---- Many threads ---- */

static int scratch_body(kn_rt *rt, int32_t i, void *closure)
{
    atomic_int *wrong = closure;
    const int   n     = 100 + i % 7 * 333;
    int32_t    *block = kn_rt_alloc(rt, n * (int64_t)sizeof *block);
    for (int k = 0; k < n; k++)
        block[k] = i + k;
    for (int k = 0; k < n; k++)
        *wrong += block[k] != i + k;
    kn_rt_free(rt, block);
    return 0;
}

static void *user_main(void *arg)
{
    const int id       = *(int *)arg;
    int       failures = 0;
    for (int round = 0; round < 5; round++) {
        int       missing, deepest;
        const int fails_at = (id + round) % 3 ? -1 : id + round;
        const int status   = run_nest(NULL, 3, 1 + id % 7, 10, fails_at < 30 ? fails_at : -1, &missing, &deepest);
        failures += fails_at >= 0 && fails_at < 30 ? status != KN_ERROR_BOUNDS : status || missing || deepest > 3;
        atomic_int wrong = 0;
        failures += kn_rt_parallel(NULL, scratch_body, id, 40, &wrong) != 0 || wrong;
    }
    *(int *)arg = failures;
    return NULL;
}

static void test_users(void)
{
    enum { USERS = 64 };
    pthread_t threads[USERS];
    int       arg[USERS];
    kn_rt_set_threads(NULL, 4);
    for (int i = 0; i < USERS; i++) {
        arg[i] = i;
        CHECK(!pthread_create(&threads[i], NULL, user_main, &arg[i]), "no thread");
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(arg[i] == 0, "user %d: %d failures", i, arg[i]);
    }
    CHECK(kn_rt_set_threads(NULL, 2) == KN_OK && kn_rt_threads(NULL) == 2, "threads");
    CHECK(kn_rt_trim(NULL) == KN_OK, "trim");
    check_loop(NULL, 0, 100);
}

/* Other threads' loops go on while the number of threads changes. */
static void test_set_threads(void)
{
    pthread_t threads[8];
    int       arg[COUNT(threads)];
    for (int i = 0; i < COUNT(threads); i++) {
        arg[i] = i;
        pthread_create(&threads[i], NULL, user_main, &arg[i]);
    }
    for (int i = 0; i < 30; i++)
        CHECK(kn_rt_set_threads(NULL, i % 4) == KN_OK, "set_threads");
    for (int i = 0; i < COUNT(threads); i++) {
        pthread_join(threads[i], NULL);
        CHECK(arg[i] == 0, "user %d: %d failures", i, arg[i]);
    }
}

static int set_threads_inside(kn_rt *rt, int32_t i, void *closure)
{
    (void)i, (void)closure;
    return kn_rt_set_threads(rt, 3) == KN_ERROR_ARGUMENT ? kn_rt_trim(rt) : 99;
}

static int look_at_rounding(kn_rt *rt, int32_t i, void *closure)
{
    (void)rt, (void)i, (void)closure;
    usleep(1);
    return fegetround() == FE_UPWARD ? 0 : 1;
}

/* Whether the thread may use the CPUs that the process may; a thread of the pool that finds itself on the owner's CPU
 * goes elsewhere, and is then as free as before. */
static int look_at_cpus(kn_rt *rt, int32_t i, void *closure)
{
    cpu_set_t mine;
    (void)rt, (void)i;
    usleep(1);
    return sched_getaffinity(0, sizeof mine, &mine) || !CPU_EQUAL(&mine, (const cpu_set_t *)closure);
}

static void test_cpus(void)
{
    cpu_set_t all;
    kn_rt    *rt = with_threads(2);
    CHECK(!sched_getaffinity(0, sizeof all, &all), "the CPUs of this process");
    for (int k = 0; k < 100; k++)
        CHECK(kn_rt_parallel(rt, look_at_cpus, 0, 20, &all) == 0, "loop %d: the CPUs of the caller", k);
    kn_rt_destroy(rt);
}

static void test_manners(void)
{
    kn_rt *rt = with_threads(4);
    CHECK(kn_rt_parallel(rt, set_threads_inside, 0, 10, NULL) == KN_ERROR_ARGUMENT, "set_threads inside a loop");
    CHECK(!strcmp(kn_rt_last_error(), "kn_rt_trim: called from inside a parallel loop; call it between pipelines"),
          "`%s`", kn_rt_last_error());
    fesetround(FE_UPWARD);
    CHECK(kn_rt_parallel(rt, look_at_rounding, 0, 200, NULL) == 0, "the rounding mode of the caller");
    fesetround(FE_TONEAREST);
    kn_rt_destroy(rt);
    kn_rt_destroy(NULL);
    setenv("KN_NUM_THREADS", "3", 1);
    kn_rt_set_threads(NULL, 0);
    CHECK(kn_rt_threads(NULL) == 3, "KN_NUM_THREADS=3 gives %d", kn_rt_threads(NULL));
    setenv("KN_NUM_THREADS", "three", 1);
    kn_rt_set_threads(NULL, 0);
    CHECK(kn_rt_threads(NULL) >= 1, "a KN_NUM_THREADS that is none");
    unsetenv("KN_NUM_THREADS");
    CHECK(kn_rt_new(&(kn_rt_hooks){ .release = (void (*)(void *, void *))abort }) == NULL, "release without allocate");
}

/* The child of a fork has its own threads. ThreadSanitizer does not take threads after a fork. */
static void test_fork(void)
{
#if !defined __SANITIZE_THREAD__
    kn_rt *rt = with_threads(3);
    check_loop(rt, 0, 100);
    const pid_t child = fork();
    if (child == 0) {
        int        missing, deepest;
        atomic_int wrong = 0;
        const int  status =
            run_nest(rt, 4, 5, 6, -1, &missing, &deepest) | kn_rt_parallel(rt, scratch_body, 0, 50, &wrong);
        _exit(status || missing || wrong);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
    check_loop(rt, 0, 100);
    kn_rt_destroy(rt);
#endif
}

/* ---- Scratch ---- */

/* An allocator that counts, gives memory of odd alignment, and fails when asked to. */
typedef struct Heap {
    atomic_int live, calls, fails_at; /* the number of the call that fails, from 1; 0: none */
} Heap;

static void *heap_allocate(void *user, size_t bytes)
{
    Heap *heap = user;
    if (atomic_fetch_add(&heap->calls, 1) + 1 == heap->fails_at)
        return NULL;
    char *block = malloc(bytes + 8);
    heap->live += block != NULL;
    return block ? block + 8 : NULL;
}

static void heap_release(void *user, void *block)
{
    ((Heap *)user)->live--;
    free((char *)block - 8);
}

static kn_rt *on_heap(Heap *heap, int threads, size_t limit)
{
    return kn_rt_new(&(kn_rt_hooks){
        .user = heap, .allocate = heap_allocate, .release = heap_release, .threads = threads, .scratch_limit = limit });
}

static void *free_elsewhere(void *arg)
{
    void **both = arg;
    kn_rt_free(both[0], both[1]);
    return NULL;
}

static void test_scratch(void)
{
    Heap   heap = { 0, 0, 0 };
    kn_rt *rt   = on_heap(&heap, 1, 0);
    for (int64_t bytes = 0; bytes < 200000; bytes = bytes * 5 / 4 + 1) {
        char *block = kn_rt_alloc(rt, bytes);
        CHECK(block && (uintptr_t)block % 64 == 0, "%lld bytes at %p", (long long)bytes, (void *)block);
        memset(block, 1, (size_t)bytes + 64);
        kn_rt_free(rt, block);
    }
    const int before = heap.calls;
    for (int64_t bytes = 0; bytes < 200000; bytes = bytes * 5 / 4 + 1)
        kn_rt_free(rt, kn_rt_alloc(rt, bytes));
    CHECK(heap.calls == before, "%d calls of the allocator in the steady state", heap.calls - before);
    CHECK(!kn_rt_alloc(rt, -1) && strstr(kn_rt_last_error(), "more than 2^48 bytes"), "`%s`", kn_rt_last_error());
    kn_rt_free(rt, NULL);
    const int live = heap.live;
    kn_rt_trim(rt);
    CHECK(heap.live == 1 && live > 20, "%d blocks after trimming %d", heap.live, live);

    pthread_t thread;
    void     *both[] = { rt, kn_rt_alloc(rt, 1000) };
    pthread_create(&thread, NULL, free_elsewhere, both);
    pthread_join(thread, NULL);
    CHECK(heap.live == 2, "%d blocks when the thread that freed has ended", heap.live);
    kn_rt_destroy(rt);
    CHECK(heap.live == 0, "%d blocks leaked", heap.live);
}

/* What is kept is bounded, in bytes and in age. */
static void test_bounds_of_scratch(void)
{
    Heap   heap = { 0, 0, 0 };
    kn_rt *rt   = on_heap(&heap, 1, 10000);
    void  *block[8];
    for (int i = 0; i < 8; i++)
        block[i] = kn_rt_alloc(rt, 4000);
    CHECK(heap.live == 10, "%d", heap.live);
    for (int i = 0; i < 8; i++)
        kn_rt_free(rt, block[i]);
    CHECK(heap.live == 4, "%d blocks: two of 4096 and 64 bytes are kept", heap.live);
    const kn_rt_program none = { "none", 0, NULL, 0, NULL };
    for (int i = 0; i < 100; i++) {
        CHECK(kn_rt_enter(rt, &none, NULL, NULL) == 0, "enter");
        kn_rt_free(rt, kn_rt_alloc(rt, 100));
        CHECK(kn_rt_leave(rt, &none, NULL, NULL, 0) == 0, "leave");
    }
    CHECK(heap.live == 3, "%d blocks: old ones are not kept", heap.live);
    kn_rt_destroy(rt);
    CHECK(heap.live == 0, "%d blocks leaked", heap.live);
}

/* ---- Out of memory, everywhere ---- */

static const kn_rt_port    ports[] = { { "in", KN_F32, 2, 0, 0, "x\0y" }, { "out", KN_F32, 2, 0, 1, "x\0y" } };
static const char *const   funcs[] = { "blur", "out" };
static const kn_rt_program blur    = { "blur", 2, ports, 2, funcs };

static int body_with_scratch(kn_rt *rt, int32_t y, void *closure)
{
    kn_buffer *used = closure;
    kn_rt_profile_enter(rt, &blur, y % 2);
    float    *row    = kn_rt_alloc(rt, used[0].dim[0].extent * (int64_t)sizeof *row);
    const int status = row ? 0 : KN_ERROR_LIMIT;
    for (int x = 0; row && x < used[0].dim[0].extent; x++)
        row[x] = 2 * ((float *)used[0].data)[x + y * used[0].dim[1].stride];
    for (int x = 0; row && x < used[1].dim[0].extent; x++)
        ((float *)used[1].data)[x + y * used[1].dim[1].stride] = row[x];
    kn_rt_free(rt, row);
    kn_rt_profile_leave(rt, &blur, y % 2);
    return status;
}

/* out = 2 * in, as compiled code would. */
static int call_blur(kn_rt *rt, const kn_buffer *in, const kn_buffer *out)
{
    const kn_buffer *given[] = { in, out };
    kn_buffer        used[2];
    int              status = kn_rt_enter(rt, &blur, given, used);
    if (status)
        return status;
    status = kn_rt_parallel(rt, body_with_scratch, 0, used[1].dim[1].extent, used);
    return kn_rt_leave(rt, &blur, given, used, status);
}

/* One whole life of an instance; gives the number of calls of the allocator. */
static int life(int fails_at)
{
    enum { W = 9, H = 12 };
    float     in_data[2 * W * H], out_data[3 * W * H];
    Heap      heap = { 0, 0, fails_at };
    kn_buffer in   = { .data = in_data, .type = KN_F32, .rank = 2, .dim = { { 0, W, 2 }, { 0, H, 2 * W } } };
    kn_buffer out  = { .data = out_data, .type = KN_F32, .rank = 2, .dim = { { 0, W, 3 * H }, { 0, H, 3 } } };
    for (int i = 0; i < 2 * W * H; i++)
        in_data[i] = (float)i;
    memset(out_data, 0, sizeof out_data);
    kn_rt *rt = on_heap(&heap, 1 + fails_at % 3, 0);
    CHECK(rt || fails_at == 1, "no instance");
    for (int round = 0; rt && round < 2; round++) {
        const int status = call_blur(rt, &in, &out);
        CHECK(status == (heap.calls < fails_at || status == 0 ? 0 : KN_ERROR_LIMIT), "status %d", status);
        CHECK(status == 0 || strstr(kn_rt_last_error(), "out of memory: no "), "`%s`", kn_rt_last_error());
        int wrong = 0;
        for (int x = 0; x < W && !status; x++)
            for (int y = 0; y < H; y++)
                wrong += out_data[x * 3 * H + y * 3] != 2 * in_data[x * 2 + y * 2 * W];
        CHECK(wrong == 0, "%d wrong values", wrong);
        char text[1000];
        CHECK(kn_rt_profile_report(rt, text, sizeof text) < sizeof text, "report");
    }
    kn_rt_destroy(rt);
    CHECK(heap.live == 0, "%d blocks leaked when call %d failed", heap.live, fails_at);
    return heap.calls;
}

static void test_no_memory(void)
{
    int most = life(0);
    for (int i = 1; i <= most + 6; i++)
        life(i);
    CHECK(most >= 6, "%d calls", most);
}

/* ---- Locks, stages, hooks, profiles ---- */

static int64_t sums[40];

static int add_locked(kn_rt *rt, int32_t i, void *closure)
{
    (void)closure;
    int64_t *sum = &sums[i * 7 % COUNT(sums)];
    kn_rt_lock(rt, sum);
    *sum += i;
    kn_rt_unlock(rt, sum);
    return 0;
}

static void test_locks(void)
{
    kn_rt  *rt  = with_threads(4);
    int64_t all = 0;
    kn_rt_parallel(rt, add_locked, 0, 20000, NULL);
    for (int i = 0; i < COUNT(sums); i++)
        all += sums[i];
    CHECK(all == INT64_C(20000) * 19999 / 2, "%lld", (long long)all);
    kn_rt_destroy(rt);
}

static int stage(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                 kn_buffer *output, void *user)
{
    (void)inputs, (void)output;
    *(int *)user += !query && input_count == 1 && value_count == 1;
    return (int)values[0].as.i;
}

static void test_stages(void)
{
    int             calls = 0;
    kn_buffer       b     = { 0 };
    const kn_scalar zero = kn_int(0), five = kn_int(5);
    CHECK(kn_rt_stage(NULL, "warp", stage, &calls, &b, 1, &zero, 1, &b) == 0 && calls == 1, "a stage");
    kn_rt_set_threads(NULL, 1);
    CHECK(kn_rt_stage(NULL, "warp", stage, &calls, &b, 1, &five, 1, &b) == KN_ERROR_ARGUMENT, "a stage that fails");
    CHECK(!strcmp(kn_rt_last_error(), "the extern stage `warp` stopped the run: it returned 5"), "`%s`",
          kn_rt_last_error());
    kn_rt_set_threads(NULL, 1);
    CHECK(kn_rt_stage(NULL, "warp", NULL, NULL, &b, 1, &five, 1, &b) == KN_ERROR_ARGUMENT, "no stage");
    CHECK(strstr(kn_rt_last_error(), "the extern stage `warp` is not there; give it"), "`%s`", kn_rt_last_error());
}

typedef struct Heard {
    int  tasks, begun, ended;
    char error[200], trace[400];
} Heard;

static int backwards(void *user, int32_t count, kn_rt_task *task, void *closure)
{
    int status = 0;
    for (int32_t i = count - 1; i >= 0; i--) {
        const int s = task(closure, i);
        status      = status ? status : s;
        ((Heard *)user)->tasks++;
    }
    return status;
}

static void hear_error(void *user, kn_status status, const char *message)
{
    snprintf(((Heard *)user)->error, sizeof((Heard *)user)->error, "%d %s", (int)status, message);
}

static void hear_trace(void *user, const kn_rt_event *event)
{
    char *text = ((Heard *)user)->trace;
    snprintf(text + strlen(text), sizeof((Heard *)user)->trace - strlen(text), "%d %s %s %d;", (int)event->kind,
             event->pipeline ? event->pipeline : "-", event->name ? event->name : "-", (int)event->value);
}

static void test_hooks(void)
{
    Heard     heard    = { 0 };
    float     data[10] = { 1, 2, 3, 4, 5 };
    kn_buffer in       = kn_buffer_dense(data, KN_F32, 2, (int32_t[]){ 5, 1 });
    kn_buffer out      = kn_buffer_dense(data + 5, KN_F32, 2, (int32_t[]){ 5, 1 });
    kn_rt    *rt =
        kn_rt_new(&(kn_rt_hooks){ .user = &heard, .parallel = backwards, .error = hear_error, .trace = hear_trace });
    CHECK(call_blur(rt, &in, &out) == 0 && data[9] == 10, "a call");
    CHECK(!strcmp(heard.trace, "0 blur - 0;4 - - 1;2 blur blur 0;3 blur blur 0;5 - - 0;1 blur - 0;"), "%s",
          heard.trace);
    CHECK(call_blur(rt, NULL, &out) == KN_ERROR_ARGUMENT, "NULL");
    CHECK(!strcmp(heard.error, "2 blur: input `in` is f32(x, y): no buffer is given for it (NULL)"), "%s", heard.error);
    check_loop(rt, -5, 37);
    int missing, deepest;
    CHECK(run_nest(rt, 3, 4, 5, 33, &missing, &deepest) == KN_ERROR_BOUNDS && missing == 34, "%d not run", missing);
    CHECK(heard.tasks > 37 && !strcmp(heard.error, "3 nest: as asked"), "%d tasks, %s", heard.tasks, heard.error);
    kn_rt_destroy(rt);
}

static void test_profile(void)
{
    float     data[2 * 64 * 50];
    kn_buffer in  = kn_buffer_dense(data, KN_F32, 2, (int32_t[]){ 64, 50 });
    kn_buffer out = kn_buffer_dense(data + 64 * 50, KN_F32, 2, (int32_t[]){ 64, 50 });
    kn_rt    *rt  = with_threads(4);
    char      text[1000], small[20];
    memset(data, 0, sizeof data);
    for (int i = 0; i < 4; i++)
        CHECK(call_blur(rt, &in, &out) == 0, "a call");
    kn_rt_trim(rt); /* the threads end and leave their counts */
    const size_t length = kn_rt_profile_report(rt, text, sizeof text);
    CHECK(length == strlen(text) && !strncmp(text, "blur: ", 6), "%s", text);
    CHECK(strstr(text, "100  blur\n") && strstr(text, "100  out\n"), "%s", text);
    CHECK(kn_rt_profile_report(rt, small, sizeof small) == length && strlen(small) == sizeof small - 1, "%s", small);
    CHECK(kn_rt_profile_report(rt, NULL, 0) == length, "length");
    kn_rt_profile_reset(rt);
    CHECK(kn_rt_profile_report(rt, text, sizeof text) == 0 && !text[0], "%s", text);
    CHECK(call_blur(rt, &in, &out) == 0 && kn_rt_profile_report(rt, text, sizeof text) > 0 &&
              strstr(text, " 25  out\n"),
          "%s", text);
    kn_rt_destroy(rt);
}

int main(void)
{
    test_sizes();
    test_nests();
    test_errors();
    test_users();
    test_set_threads();
    test_cpus();
    test_manners();
    test_fork();
    test_scratch();
    test_bounds_of_scratch();
    test_no_memory();
    test_locks();
    test_stages();
    test_hooks();
    test_profile();
    return check_done();
}
