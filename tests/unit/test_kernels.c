/* SPDX-License-Identifier: MIT */
/* Kernels as PTX, and the host's code around them, from programs written as text. The host's code is run with a runtime
 * that notes what it is asked for, and refuses each call in turn. */
#include "lowered.h"

#include "ir/kernel.h"
#include "ir/read.h"
#include "ptx.h"
#include "runtime/device.h"

typedef struct Written {
    kn_context *cx;
    Arena       arena;
    ExprPool    pool;
    Program    *p;
} Written;

static bool written_begin(Written *w, const char *text)
{
    w->cx = kn_context_new(NULL);
    arena_init(&w->arena, w->cx);
    expr_pool_init(&w->pool, w->cx, &w->arena);
    w->p = program_read(&w->pool, text);
    CHECK(w->p, "%s", kn_error_text(w->cx));
    if (w->p)
        program_find_kernels(w->p);
    return w->p;
}

static void written_end(Written *w)
{
    arena_free(&w->arena);
    kn_context_free(w->cx);
}

/* ---- PTX ------------------------------------------------------------------------------------- */

/* The PTX has all of `has` and none of `hasnt`, words between `|`. */
static void expect_words(const char *ptx, const char *words, bool wanted)
{
    char word[64];
    for (const char *at = words; *at; at += *at == '|') {
        const size_t n = strcspn(at, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        CHECK(!strstr(ptx, word) != wanted, "the PTX has %s`%s`:\n%s", wanted ? "no " : "", word, ptx);
        at += n;
    }
}

static void expect_ptx(const char *text, const char *has, const char *hasnt)
{
    Written w;
    char   *ptx = written_begin(&w, text) ? ptx_of(backend, w.p, text) : NULL;
    if (ptx) {
        expect_words(ptx, has, true);
        expect_words(ptx, hasnt, false);
    }
    free(ptx);
    written_end(&w);
}

static void expect_refusal(const char *text, const char *reason)
{
    Written              w;
    const CodegenOptions o = { .targets = target_find("cuda"), .target_count = 1 };
    Emitted              out, error;
    if (written_begin(&w, text)) {
        CHECK(!backend->emit(w.p, &o, EMIT_PTX, &out, &error), "it is emitted: %s", text);
        CHECK(error.bytes && strstr(error.bytes, reason), "%s", error.bytes);
        backend->release(&out);
        backend->release(&error);
    }
    written_end(&w);
}

#define PORTS                                                                                                          \
    "buffer in : f32 input component 0 rank 2 dense 0 in auto\n"                                                       \
    "buffer out : f32 output component 0 rank 2 dense 0 in auto\n"
#define SCRATCH                                                                                                        \
    "buffer tile : f32 scratch component 0 rank 0 dense 0 in shared\n"                                                 \
    "buffer mid : f32 scratch component 0 rank 0 dense 0 in global\n"                                                  \
    "buffer own : f32 scratch component 0 rank 0 dense 0 in register\n\n"

/* A tile with its halo in shared memory, by more iterations than threads; then one iteration for each thread. */
#define TILES(program)                                                                                                 \
    program "param gain : f32\n" PORTS SCRATCH "let w = out.extent.0\n"                                                \
            "alloc f32 mid[i64(out.extent.0 * out.extent.1)]:\n"                                                       \
            "  kernel first threads 32 8 1 resident 4:\n"                                                              \
            "    gpu_block by from 0 extent (out.extent.1 + 7) / 8:\n"                                                 \
            "      gpu_block bx from 0 extent (out.extent.0 + 31) / 32:\n"                                             \
            "        alloc f32 tile[i64(340)]:\n"                                                                      \
            "          alloc f32 own[i64(2)]:\n"                                                                       \
            "            gpu_thread ty from 0 extent 10:\n"                                                            \
            "              gpu_thread tx from 0 extent 34:\n"                                                          \
            "                tile[i64(ty * 34 + tx)] = in[i64(by * 8 + ty - in.min.1) * in.stride.1 "                  \
            "+ i64(bx * 32 + tx - in.min.0)]\n"                                                                        \
            "            barrier\n"                                                                                    \
            "            gpu_thread ty from 0 extent 8:\n"                                                             \
            "              gpu_thread tx from 0 extent 32:\n"                                                          \
            "                own[i64(0)] = tile[i64(ty * 34 + tx)] * gain + tile[i64(ty * 34 + tx + 1)]\n"             \
            "                if bx * 32 + tx < w && by * 8 + ty < out.extent.1:\n"                                     \
            "                  mid[i64((by * 8 + ty) * w + bx * 32 + tx)] = own[i64(0)]\n"                             \
            "  kernel second threads 64 1 1:\n"                                                                        \
            "    gpu_block bx from 0 extent w:\n"                                                                      \
            "      gpu_thread tx from 0 extent 10:\n"                                                                  \
            "        out[i64(bx * 10 + tx)] = mid[i64(bx * 10 + tx)] + f32(w)\n"                                       \
            "  sync mid write\n"                                                                                       \
            "  for i from 0 extent 3:\n"                                                                               \
            "    mid[i64(i)] = mid[i64(i)] + gain\n"

static void test_tiles(void)
{
    expect_ptx(TILES("program blur\n"),
               ".visible .entry first(|.visible .entry second(|.maxntid 32, 8, 1|.minnctapersm 4|.maxntid 64, 1, 1|"
               "bar.sync|[1360]|st.shared.f32|ld.global.nc.f32|fma.rn.f32|%tid.x|%tid.y|%ctaid.x|%ctaid.y",
               "%tid.z|%ctaid.z|local|call|cvta");
    expect_ptx(TILES("program blur strict\n"), "mul.rn.f32|add.rn.f32", "fma|mul.f32|add.f32");
}

#define KERNEL(threads, buffers, body)                                                                                 \
    "program p\n" buffers "\nkernel k threads " threads ":\n  gpu_block b from 0 extent 4:\n" body

/* Axes that a nest does not have; a loop whose extent is the host's; lanes; what reads and writes is not constant. */
static void test_threads(void)
{
    expect_ptx(KERNEL("8 4 2", PORTS, "    gpu_thread t from 0 extent 8:\n      out[i64(t)] = in[i64(t)]\n"),
               "%tid.x|%tid.y|%tid.z|ld.global.nc", "");
    expect_ptx(KERNEL("8 1 1", PORTS,
                      "    gpu_thread t from 0 extent in.extent.0:\n      out[i64(t)] = in[i64(t)]\n"
                      "    barrier\n"
                      "    gpu_lane t from 0 extent 7:\n      out[i64(t)] = out[i64(t)] + in[i64(t)]\n"),
               "ld.global.f32|ld.global.nc|bar.sync", "");
}

/* Vectors of a thread are scalars but in memory; loops count in 32 bits; prefetches are dropped. */
static void test_inside_threads(void)
{
    expect_ptx(KERNEL("8 1 1", PORTS "buffer tile : f32 scratch component 0 rank 0 dense 0 in shared\n",
                      "    alloc f32 tile[i64(256)]:\n"
                      "      gpu_thread t from 0 extent 8:\n"
                      "        prefetch in[i64(t)]\n"
                      "        for i from 0 extent in.extent.0:\n"
                      "          vector x from 0 extent 4:\n"
                      "            tile[i64(t * 16 + x)] = in[i64(i * 4 + x)] * 2.0\n"
                      "          vector x from 0 extent 4:\n"
                      "            out[i64(i * 4 + x)] = tile[i64(t * 16 + x)] + tile[i64(t * 16 + x + 8)]\n"),
               "ld.shared.v4.f32|st.shared.v4.f32", "prefetch|setp.lt.s64");
    expect_ptx(KERNEL("8 1 1",
                      "buffer in : i32 input component 0 rank 1 dense 0 in auto\n"
                      "buffer out : u8 output component 0 rank 1 dense 0 in auto\n",
                      "    gpu_thread t from 0 extent 8:\n"
                      "      vector x from 0 extent 4:\n"
                      "        out[i64(t * 3 + x)] = u8(in[i64(t * 3 + x)])\n"),
               "ld.global.nc", ".v4|.v2"); /* rows that begin anywhere */
    expect_ptx(KERNEL("8 1 1", PORTS "buffer own : f32 scratch component 0 rank 0 dense 0 in stack\n",
                      "    gpu_thread t from 0 extent 8:\n"
                      "      alloc f32 own[i64(8)]:\n"
                      "        for i from 0 extent in.extent.0:\n"
                      "          for k from 0 extent 8:\n"
                      "            own[i64(k)] = in[i64(i)]\n"
                      "        out[i64(t)] = in[i64(t)]\n"),
               "st.global", "bra \t$|st.local"); /* loops that do nothing */
    expect_ptx(KERNEL("8 1 1", PORTS,
                      "    gpu_thread t from 0 extent 8:\n"
                      "      vector x from 0 extent 4:\n"
                      "        if in[i64(x)] < 1.0:\n"
                      "          out[i64(t * 4 + x)] = in[i64(x * 3)]\n"),
               "ld.global.nc", "");
    expect_ptx(KERNEL("8 1 1", PORTS "buffer own : f32 scratch component 0 rank 0 dense 0 in stack\n",
                      "    gpu_thread t from 0 extent 8:\n"
                      "      alloc f32 own[i64(8)]:\n"
                      "        for i from 0 extent in.extent.0:\n"
                      "          own[i64(i)] = in[i64(i)]\n"
                      "        out[i64(t)] = own[i64(t)]\n"),
               "st.local.f32|ld.local.f32", "st.f32|ld.f32");
}

#define ATOMIC(type, update)                                                                                           \
    KERNEL("32 1 1",                                                                                                   \
           "buffer g : " type " output component 0 rank 1 dense 0 in auto\n"                                           \
           "buffer s : " type " scratch component 0 rank 0 dense 0 in shared\n",                                       \
           "    alloc " type " s[i64(64)]:\n"                                                                          \
           "      gpu_thread t from 0 extent 32:\n"                                                                    \
           "        g[i64(t)] atomic = " update("g[i64(t)]") "\n"                                                      \
                                                             "        s[i64(t)] atomic = " update("s[i64(t)]") "\n")
#define ADD_ONE(x)   x " + 1"
#define ADD_FLOAT(x) x " + 1.0"
#define SUB_FLOAT(x) x " - 1.0"
#define ADD_BYTE(x)  x " + u8(1)"
#define MAX_TWO(x)   "max(" x ", 2)"
#define MAX_BYTE(x)  "max(" x ", u8(2))"
#define TIMES(x)     x " * 3"

static void test_atomics(void)
{
    expect_ptx(ATOMIC("i32", ADD_ONE), "atom.global.add.u32|atom.shared.add.u32", "cas");
    expect_ptx(ATOMIC("i32", MAX_TWO), "atom.global.max.s32|atom.shared.max.s32", "cas");
    expect_ptx(ATOMIC("f32", ADD_FLOAT), "atom.global.add.f32|atom.shared.add.f32", "cas");
    expect_ptx(ATOMIC("f32", SUB_FLOAT), "atom.global.add.f32|atom.shared.add.f32", "cas");
    expect_ptx(ATOMIC("u8", ADD_BYTE), "atom.global.cas.b32|atom.shared.cas.b32", "");
    expect_ptx(ATOMIC("u8", MAX_BYTE), "ld.volatile.global.u8|ld.volatile.shared.u8|atom.global.cas.b32",
               ""); /* own loop */
    expect_ptx(ATOMIC("i32", TIMES), "atom.global.cas.b32|atom.shared.cas.b32", "");
    expect_ptx(KERNEL("8 1 1", PORTS "buffer own : f32 scratch component 0 rank 0 dense 0 in stack\n",
                      "    gpu_thread t from 0 extent 8:\n"
                      "      alloc f32 own[i64(8)]:\n"
                      "        for i from 0 extent in.extent.0:\n"
                      "          own[i64(i)] atomic = own[i64(i)] * in[i64(i)]\n"
                      "        out[i64(0)], out[i64(t)] atomic = out[i64(0)] + own[i64(t)], out[i64(t)] + 1.0\n"),
               "atom.global.add.f32|st.local.f32", "cas");
}

static void test_refusals(void)
{
    expect_refusal(
        KERNEL("8 1 1", PORTS, "    gpu_thread t from 0 extent 8:\n      out[i64(t)] = extern_f32 curve(in[i64(t)])\n"),
        "`curve` cannot be called on a device");
    expect_refusal(KERNEL("8 1 1", PORTS,
                          "    gpu_thread t from 0 extent 8:\n"
                          "      out[i64(t)], out[i64(t + 8)] atomic = out[i64(t + 8)], in[i64(t)]\n"),
                   "one depends on the other");
    expect_refusal(KERNEL("8 1 1", PORTS "buffer own : f32 scratch component 0 rank 0 dense 0 in stack\n",
                          "    gpu_thread t from 0 extent 8:\n"
                          "      alloc f32 own[i64(in.extent.0)]:\n"
                          "        out[i64(t)] = own[i64(t)]\n"),
                   "`own` is allocated in the kernel k");
    expect_refusal(KERNEL("8 1 1", PORTS, "    need in dimension 0 from 0 to 7 for out\n"), "`need` cannot stand");
}

/* ---- The host's code ------------------------------------------------------------------------- */

static char notes[4096];  /* what the runtime was asked for */
static int  calls_before; /* that are left before one is refused; -1: none is */
static int  held;         /* calls and scratch that were not ended */

static int note(const char *format, ...)
{
    const size_t n = strlen(notes);
    va_list      args;
    va_start(args, format);
    vsnprintf(notes + n, sizeof notes - n, format, args);
    va_end(args);
    return calls_before >= 0 && calls_before-- == 0 ? KN_ERROR_LIMIT : 0;
}

static const kn_rt_kernels *described;

static int device_enter(kn_rt *rt, const kn_rt_program *program, const kn_rt_kernels *kernels, kn_buffer *used,
                        kn_rt_call **call)
{
    (void)rt, (void)program;
    described = kernels;
    if (note("enter\n"))
        return KN_ERROR_LIMIT;
    held++;
    *call = (kn_rt_call *)(void *)used;
    return 0;
}

static int device_leave(kn_rt_call *call, const kn_buffer *const *given, int status)
{
    (void)call, (void)given;
    held--;
    note("leave %d\n", status);
    return status;
}

static int device_alloc(kn_rt_call *call, kn_buffer *b, int32_t type, int64_t count, int32_t host)
{
    (void)call;
    if (note("alloc %d %lld%s\n", type, (long long)count, host ? " host" : ""))
        return KN_ERROR_LIMIT;
    held++;
    *b = (kn_buffer){ .data = calloc((size_t)count, 8), .type = type, .rank = 1 };
    return 0;
}

static void device_free(kn_rt_call *call, kn_buffer *b)
{
    (void)call;
    held--;
    free(b->data);
    note("free\n");
}

static int host_need(kn_rt_call *call, kn_buffer *b, int32_t access)
{
    (void)call, (void)b;
    return note("need %d\n", access);
}

static int launch(kn_rt_call *call, int32_t kernel, const int32_t *grid, const uint64_t *args)
{
    (void)call;
    const kn_rt_kernel *k = &described->kernels[kernel];
    if (note("launch %s %d %d %d:", k->name, grid[0], grid[1], grid[2]))
        return KN_ERROR_LIMIT;
    for (int i = 0; i < k->buffer_count; i++) {
        const kn_buffer *b = (const kn_buffer *)(uintptr_t)args[i];
        note(" %d/%d", b->rank, k->access[i]);
    }
    for (int i = 0; i < k->value_count; i++)
        note(" %llx/%d", (unsigned long long)args[k->buffer_count + i], k->value_size[i]);
    note("\n");
    return 0;
}

/* clang-format off */
static const Symbol device_symbols[] = {
    { "kn_rt_enter_device", (void *)test_enter }, { "kn_rt_leave", (void *)test_leave },
    { "kn_rt_device_enter", (void *)device_enter }, { "kn_rt_device_leave", (void *)device_leave },
    { "kn_rt_device_alloc", (void *)device_alloc }, { "kn_rt_device_free", (void *)device_free },
    { "kn_rt_host_need", (void *)host_need }, { "kn_rt_launch", (void *)launch }, { "kn_rt_fail", (void *)test_fail },
};
/* clang-format on */

/* Calls the function of a loaded object on an image of 70 x 20. */
static int call_host(void *loaded, const Program *p)
{
    static float      pixels[2][72 * 22];
    kn_buffer         in    = { .data = pixels[0], .type = KN_F32, .rank = 2, .dim = { { 0, 72, 1 }, { -1, 22, 72 } } };
    kn_buffer         out   = { .data = pixels[1], .type = KN_F32, .rank = 2, .dim = { { 0, 70, 1 }, { 0, 20, 70 } } };
    const kn_buffer  *all[] = { &in, &out };
    const float       gain  = 0.5F;
    uint64_t          params[1] = { 0 };
    CompiledFunction *f;
    *(void **)&f = backend->lookup(loaded, p->name);
    memcpy(params, &gain, sizeof gain);
    notes[0] = 0;
    return f ? f(NULL, all, params) : -1;
}

static void check_described(const char *text)
{
    CHECK(described->kind == KN_RT_CUDA && described->count == 2 && !strcmp(described->text, text) &&
              !described->options && described->id,
          "kn_rt_kernels");
    const kn_rt_kernel *k = &described->kernels[0];
    CHECK(!strcmp(k->name, "first") && k->threads[0] == 32 && k->threads[1] == 8 && k->threads[2] == 1, "the first");
}

/* Each call of the runtime refused in turn: the status comes back and nothing stays behind. */
static void check_refused(void *loaded, const Program *p)
{
    int refusals = 0;
    for (int i = 0;; i++) {
        calls_before     = i;
        const int status = call_host(loaded, p);
        CHECK(held == 0, "call %d refused: %d are held; %s", i, held, notes);
        if (calls_before >= 0)
            break;
        CHECK(status == 0 || status == KN_ERROR_LIMIT, "status %d", status);
        refusals += status == KN_ERROR_LIMIT;
    }
    calls_before = -1;
    CHECK(refusals == 5, "%d of enter, alloc, two launches and need", refusals);
}

static void test_host(void)
{
    Written              w;
    const CodegenOptions o = { .targets = target_find("cuda"), .target_count = 1, .device_code = "the device's text" };
    Emitted              object, error;
    if (!written_begin(&w, TILES("program blur\n")))
        return;
    const bool done = backend->emit(w.p, &o, EMIT_OBJECT, &object, &error);
    CHECK(done, "%s", error.bytes);
    void *loaded = done ? backend->load(object.bytes, object.size, device_symbols,
                                        sizeof device_symbols / sizeof *device_symbols, &error)
                        : NULL;
    CHECK(loaded, "%s", error.bytes ? error.bytes : "");
    if (loaded) {
        calls_before     = -1;
        const int status = call_host(loaded, w.p);
        CHECK(status == 0 && held == 0, "status %d, %d held", status, held);
        CHECK(!strcmp(notes, "enter\nalloc 12 1400 host\n"
                             "launch first 3 3 1: 2/1 1/2 ffffffff/4 48/8 0/4 3f000000/4 46/4 14/4\n"
                             "launch second 70 1 1: 2/2 1/1 46/4\nneed 3\nfree\nleave 0\n"),
              "%s", notes);
        check_described("the device's text");
        CHECK(backend->lookup(loaded, "blur.kernels") == described, "the constant can be found");
        check_refused(loaded, w.p);
        backend->unload(loaded);
    }
    backend->release(&object);
    backend->release(&error);
    written_end(&w);
}

/* Without the device's text there is no object. */
static void test_without_text(void)
{
    Written              w;
    const CodegenOptions o = { .targets = target_find("cuda"), .target_count = 1 };
    Emitted              object, error;
    if (written_begin(&w, TILES("program blur\n"))) {
        CHECK(!backend->emit(w.p, &o, EMIT_OBJECT, &object, &error), "there is an object");
        CHECK(error.bytes && strstr(error.bytes, "is missing"), "%s", error.bytes);
        backend->release(&error);
    }
    written_end(&w);
}

int main(void)
{
    if (!backend_open())
        return check_done();
    test_tiles();
    test_threads();
    test_inside_threads();
    test_atomics();
    test_refusals();
    test_host();
    test_without_text();
    return check_done();
}
