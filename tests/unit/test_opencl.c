/* SPDX-License-Identifier: MIT */
/* Kernels as OpenCL C, on an OpenCL device: programs as text, whose kernels must do there what their loops mean. */
#include "opencl.h"

#include "ir/math.h"
#include "ir/read.h"

enum { SIZE = 4096 }; /* elements of each port */

#define IN(name, type)  "buffer " #name " : " #type " input of " #name " component 0 rank 1 dims (x) dense 0 in auto\n"
#define OUT(name, type) "buffer " #name " : " #type " output of " #name " component 0 rank 1 dims (x) dense 0 in auto\n"
#define SCRATCH(name, type, memory)                                                                                    \
    "buffer " #name " : " #type " scratch of " #name " component 0 rank 0 dense -1 in " #memory "\n"

static uint64_t seed = 7;

static uint64_t noise(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

/* Small numbers, so that sums are exact in every type. */
static Lane small(kn_type t)
{
    const bool    few = type_is_float(t) && type_bits(t) == 16;
    const int64_t v   = few ? noise() % 16 == 0 : (int64_t)(noise() % (t == KN_BOOL ? 2 : 60));
    return type_is_float(t) ? (Lane){ .f = (double)v } : (Lane){ .i = v };
}

static bool lowered_read(Lowered *l, const char *text)
{
    lowered_begin(l);
    context_begin(l->cx);
    const Program *p = program_read(&l->pool, text);
    CHECK(p, "%s\n%s", kn_error_text(l->cx), text);
    if (!p)
        return false;
    l->p = *p;
    for (int i = 0; i < l->p.port_count; i++) {
        const Buffer *b    = l->p.buffers.at[i];
        void         *data = guarded(l, i, SIZE * kn_type_size(b->type));
        l->ports[i]        = (kn_buffer){ .data = data, .type = b->type, .rank = 1, .dim = { { 0, SIZE, 1 } } };
        l->expected[i]     = calloc(SIZE, kn_type_size(b->type));
        l->count[i]        = SIZE;
        for (int k = 0; k < SIZE; k++)
            lowered_set(l, b, k, b->kind == BUFFER_INPUT ? small(b->type) : (Lane){ 0 });
    }
    for (size_t i = 0; i < l->p.params.count; i++)
        lane_store(l->p.params.at[i]->type, &l->params[i], small(l->p.params.at[i]->type));
    program_find_kernels(&l->p);
    return true;
}

static void test_text(const char *what, const char *text)
{
    Lowered *l = calloc(1, sizeof *l);
    if (lowered_read(l, text))
        opencl_compare(l, what);
    lowered_end(l);
    free(l);
}

/* ---- Loops ---- */

/* Thread loops that are as long as the block is wide, shorter, longer, of a size known when the kernel starts, and with
 * fewer axes than the block has. Buffers are called by words of OpenCL; two kernels have one name, as copies do. */
static const char *const loops =
    "program loops strict\n"
    "param k : i32\n" IN(half, i32) OUT(float4, i32) OUT(get_global_id, i32) OUT(c, i32) OUT(d, i32)
        OUT(e, i32) "\n"
                    "let rows = half.extent.0 / 512\n"
                    "kernel exact threads 32 4 2:\n"
                    "  gpu_block bz from 0 extent 2:\n"
                    "    gpu_block by from 0 extent rows:\n"
                    "      gpu_block bx from 0 extent 2:\n"
                    "        let row = (by + bz) % rows * 512\n"
                    "        gpu_thread z from 0 extent 2:\n"
                    "          gpu_thread y from 0 extent 4:\n"
                    "            gpu_thread x from 0 extent 32:\n"
                    "              let at = row + bx * 256 + z * 128 + y * 32 + x\n"
                    "              float4[i64(at)] = half[i64(at)] + k\n"
                    "              get_global_id[i64(at)] = at\n"
                    "kernel other threads 16 3 1:\n"
                    "  gpu_block b from 0 extent rows * 4:\n"
                    "    gpu_thread y from 0 extent 2:\n"
                    "      gpu_thread x from 0 extent 5:\n"
                    "        c[i64(b * 10 + y * 5 + x)] = b * 100 + y * 10 + x\n"
                    "    barrier\n"
                    "    gpu_thread x from 0 extent 40:\n"
                    "      d[i64(b * 40 + x)] = c[i64(b * 10 + x % 10)] * 2\n"
                    "    for twice from 0 extent 2:\n"
                    "      if b % 2 == twice:\n"
                    "        gpu_thread y from 0 extent k + 1:\n"
                    "          gpu_thread x from 0 extent rows * 3 + twice:\n"
                    "            if x < 7:\n"
                    "              e[i64(b * 70 + y % 10 * 7 + x)] = twice + x\n"
                    "            else:\n"
                    "              let last = y % 10\n"
                    "              if x == rows * 3 - 1:\n"
                    "                e[i64(b * 70 + last * 7 + 6)] = 5\n"
                    "kernel one threads 1 1 1:\n"
                    "  gpu_thread x from 0 extent 1:\n"
                    "    d[i64(4000 + x)] = 9\n"
                    "kernel one threads 1 1 1:\n"
                    "  gpu_thread x from 0 extent 1:\n"
                    "    d[i64(4001 + x)] = 8\n"
                    "for round from 0 extent 3:\n"
                    "  kernel again threads 8 1 1:\n"
                    "    gpu_block b from 0 extent round:\n"
                    "      gpu_thread x from 0 extent 8:\n"
                    "        vector v from 0 extent 4:\n"
                    "          d[i64(3000 + round * 200 + b * 32 + x * 4 + v)] = b + v\n";

/* ---- Memory ---- */

/* A tile in shared memory with a halo, sums of it in a thread's own array, scratch between two kernels. */
static const char *const memory = "program memory strict\n" IN(in, f32) OUT(out, f32) OUT(small, u8)
    SCRATCH(tile, f32, shared) SCRATCH(few, u8, shared) SCRATCH(sums, f32, stack)
        SCRATCH(between, f32,
                global) "\n"
                        "alloc f32 between[i64(in.extent.0)]:\n"
                        "  produce between:\n"
                        "    kernel first threads 64 1 1:\n"
                        "      gpu_block b from 0 extent in.extent.0 / 64:\n"
                        "        alloc f32 tile[i64(66)]:\n"
                        "          alloc u8 few[i64(3)]:\n"
                        "            produce tile:\n"
                        "              gpu_thread x from 0 extent 66:\n"
                        "                tile[i64(x)] = in[i64(min(max(b * 64 + x - 1, 0), in.extent.0 - 1))]\n"
                        "              gpu_thread x from 0 extent 3:\n"
                        "                few[i64(x)] = u8(x + b)\n"
                        "            barrier\n"
                        "            produce between:\n"
                        "              gpu_thread x from 0 extent 64:\n"
                        "                alloc f32 sums[i64(4)]:\n"
                        "                  for i from 0 extent 3:\n"
                        "                    sums[i64(i)] = tile[i64(x + i)] * 0.25\n"
                        "                  between[i64(b * 64 + x)] = sums[i64(0)] + sums[i64(1)] + sums[i64(2)]\n"
                        "              gpu_thread x from 0 extent 64:\n"
                        "                small[i64(b * 64 + x)] = few[i64(x % 3)]\n"
                        "  produce out:\n"
                        "    kernel second threads 32 2 1:\n"
                        "      gpu_block b from 0 extent (out.extent.0 + 63) / 64:\n"
                        "        gpu_thread y from 0 extent 2:\n"
                        "          gpu_thread x from 0 extent 32:\n"
                        "            let at = b * 64 + y * 32 + x\n"
                        "            if at < out.extent.0 - 3:\n"
                        "              out[i64(at)] = between[i64(at)] - between[i64(at + 3)]\n";

/* Barriers in branches and loops that all threads of a block take alike. */
static const char *const barriers = "program barriers strict\n" IN(in, i32) OUT(out, i32) SCRATCH(tile, i32, shared)
    SCRATCH(other, i32,
            shared) "\n"
                    "kernel k threads 16 4 1:\n"
                    "  gpu_block by from 0 extent 4:\n"
                    "    gpu_block bx from 0 extent 4:\n"
                    "      if bx < 3 && (by < 3 || bx == 1):\n"
                    "        alloc i32 tile[i64(64)]:\n"
                    "          for round from 0 extent 3:\n"
                    "            gpu_thread y from 0 extent 4:\n"
                    "              gpu_thread x from 0 extent 16:\n"
                    "                tile[i64(y * 16 + x)] = in[i64(by * 256 + bx * 64 + y * 16 + x)] + round\n"
                    "            barrier\n"
                    "            gpu_thread y from 0 extent 4:\n"
                    "              gpu_thread x from 0 extent 16:\n"
                    "                out[i64(by * 256 + bx * 64 + y * 16 + x)] = out[i64(by * 256 + bx * 64 + y * 16 + "
                    "x)] + "
                    "tile[i64(63 - y * 16 - x)]\n"
                    "            barrier\n"
                    "      else:\n"
                    "        alloc i32 other[i64(64)]:\n"
                    "          gpu_thread x from 0 extent 16:\n"
                    "            other[i64(x)] = x\n"
                    "          barrier\n"
                    "          if by == 3:\n"
                    "            gpu_thread x from 0 extent 16:\n"
                    "              other[i64(16 + x)] = other[i64(15 - x)]\n"
                    "            barrier\n"
                    "            gpu_thread x from 0 extent 10:\n"
                    "              out[i64(by * 256 + bx * 64 + x)] = other[i64(16 + (x + 7) % 16)]\n"
                    "          else:\n"
                    "            gpu_thread x from 0 extent 16:\n"
                    "              other[i64(16 + x)] = other[i64((x + 1) % 16)] * 2\n"
                    "            barrier\n"
                    "            gpu_thread y from 0 extent 3:\n"
                    "              gpu_thread x from 0 extent 10:\n"
                    "                out[i64(by * 256 + bx * 64 + y * 16 + x)] = other[i64(16 + (x + y) % 16)]\n";

/* ---- Values ---- */

/* Of every type, from the host: parameters, names, and a name that is made of data and may wrap. */
static const char *const values =
    "program values strict\n"
    "param yes : bool\nparam a : u8\nparam b : i16\nparam c : u32\nparam d : i64\nparam e : f16\nparam f : bf16\n"
    "param g : f64\n" IN(in, i32) OUT(out, f64) OUT(flags, bool) OUT(wide, i64)
        OUT(wrapped, i32) "\n"
                          "let big = in[i64(5)] + 2147483600\n"
                          "let less = in[i64(6)] < in[i64(7)]\n"
                          "let far = i64(in.extent.0) * i64(3000000000)\n"
                          "kernel k threads 32 1 1:\n"
                          "  gpu_block bx from 0 extent 4:\n"
                          "    gpu_thread x from 0 extent 32:\n"
                          "      let at = i64(bx * 32 + x)\n"
                          "      out[at] = f64(a) + f64(b) * f64(2.5) + f64(e) - f64(f) * g + f64(c)\n"
                          "      flags[at] = yes && x % 2 == 0 || less\n"
                          "      wide[at] = d + far * i64(x)\n"
                          "      wrapped[at] = big + in[at] * big\n";

/* ---- Mathematics ---- */

/* The functions of ir/math.h have the bits of the interpreter's operators. */
static void test_math(kn_type type)
{
    static const ExprOp ops[] = { EX_EXP, EX_LOG, EX_SIN, EX_COS, EX_TAN, EX_TANH, EX_ERF };
    enum { COUNT = sizeof ops / sizeof *ops, NUMBERS = 1024, THREADS = 64 };
    Lowered    *l = calloc(1, sizeof *l);
    const Stmt *stores[COUNT];
    lowered_begin(l);
    const Buffer *in = lowered_port(l, "in", BUFFER_INPUT, type, NUMBERS);
    for (int i = 0; i < NUMBERS; i++)
        lowered_set(l, in, i, (Lane){ .f = type_round(type, ((double)noise() / 0x1p30 - 1) * (i % 8 ? 4 : 80)) });
    const Expr *at = ex_op(l, EX_ADD, ex_op(l, EX_MUL, ex_var(l, "xo"), ex_i32(l, THREADS)), ex_var(l, "x"));
    for (int i = 0; i < COUNT; i++) {
        const Buffer *out = lowered_port(l, expr_op_table[ops[i]].name, BUFFER_OUTPUT, type, NUMBERS);
        const Expr   *e   = expr_unary(&l->pool, ops[i], type, ex_load(l, in, at));
        stores[i]         = st_store(l, out, at, math_expand(&l->pool, e));
    }
    l->p.body = opencl_kernel(l, "k", THREADS, NUMBERS / THREADS, stmt_block(&l->arena, COUNT, stores));
    program_find_kernels(&l->p);
    opencl_compare(l, kn_type_name(type));
    lowered_end(l);
    free(l);
}

/* ---- Atomic stores ---- */

/* Sums, extremes and an update that no function of OpenCL does, in global and in shared memory; @ is the type, + its
 * sum. */
static const char *const atomics =
    "program atomics strict\n" IN(in, @) OUT(sums, @) OUT(most, @) OUT(both, @) SCRATCH(part, @, shared) SCRATCH(
        own, @,
        stack) "\n"
               "kernel k threads 32 2 1:\n"
               "  gpu_block b from 0 extent 32:\n"
               "    alloc @ part[i64(5)]:\n"
               "      gpu_thread x from 0 extent 5:\n"
               "        part[i64(x)] = @(0)\n"
               "      barrier\n"
               "      gpu_thread y from 0 extent 2:\n"
               "        gpu_thread x from 0 extent 32:\n"
               "          let at = i64(b * 64 + y * 32 + x)\n"
               "          sums[at % i64(700)] atomic = sums[at % i64(700)] + in[at]\n"
               "          most[at % i64(9)] atomic = max(in[at], most[at % i64(9)])\n"
               "          part[at % i64(5)] atomic = part[at % i64(5)] + in[at]\n"
               "          both[at % i64(7)], both[at % i64(7) + i64(7)] atomic = if in[at] < both[at % i64(7)] then "
               "both[at % i64(7)] else in[at], max(both[at % i64(7) + i64(7)], in[at])\n"
               "          alloc @ own[i64(2)]:\n"
               "            own[i64(0)] = in[at]\n"
               "            own[i64(1)] = in[at + i64(1)]\n"
               "            own[i64(0)], own[i64(1)] atomic = max(own[i64(1)], in[i64(0)]), own[i64(0)]\n"
               "            most[at + i64(2000)] = own[i64(1)]\n"
               "            both[at + i64(100)] = own[i64(0)]\n"
               "      barrier\n"
               "      gpu_thread x from 0 extent 5:\n"
               "        sums[i64(1000 + x)] atomic = sums[i64(1000 + x)] + part[i64(x)]\n"
               "        sums[i64(2000 + b * 5 + x)] = part[i64(x)]\n";

static void test_atomics(kn_type type)
{
    char  *text = calloc(2, strlen(atomics) + 200);
    size_t n    = 0;
    for (const char *c = atomics; *c; c++)
        if (*c == '@')
            n += (size_t)sprintf(text + n, "%s", kn_type_name(type));
        else if (type == KN_BOOL && !strncmp(c, " + in", 5))
            n += (size_t)sprintf(text + n, " ||"), c++;
        else if (type == KN_BOOL && !strncmp(c, " + part", 7))
            n += (size_t)sprintf(text + n, " ||"), c++;
        else
            text[n++] = *c;
    test_text(kn_type_name(type), text);
    free(text);
}

/* ---- What a kernel cannot have ---- */

typedef struct Refusal {
    const char *body, *message;
} Refusal;

#define THREAD_LOOP "kernel k threads 8 1 1:\n  gpu_thread x from 0 extent 8:\n"

static const Refusal refusals[] = {
    { "out[i64(0)] = 1.0\n", "it has no kernels" },
    { THREAD_LOOP "    out[i64(x)] = extern_f32 sinf(in[i64(x)])\n", "calls the C function `sinf`" },
    { THREAD_LOOP "    check x < 3 else \"no\" status 3\n", "has the statement `check`" },
    { "kernel k threads 8 1 1:\n  alloc f32 tile[i64(in.extent.0)]:\n    gpu_thread x from 0 extent 8:\n"
      "      tile[i64(x)] = 1.0\n",
      "`tile` has a size that is no constant" },
    { THREAD_LOOP "    out[i64(0)], in[i64(0)] atomic = in[i64(0)] + 1.0, out[i64(0)] + 1.0\n",
      "one depends on the other" },
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char     text[2000];
        Lowered *l = calloc(1, sizeof *l);
        snprintf(text, sizeof text, "program p\n" IN(in, f32) OUT(out, f32) SCRATCH(tile, f32, shared) "\n%s",
                 refusals[i].body);
        if (lowered_read(l, text)) {
            Emitted out = { 0 }, error = { 0 };
            CHECK(!c_codegen()->emit(&l->p, &(CodegenOptions){ 0 }, EMIT_OPENCL, &out, &error) &&
                      strstr(error.bytes, refusals[i].message),
                  "%s: %s", refusals[i].message, error.bytes ? error.bytes : "no error");
            c_codegen()->release(&out);
            c_codegen()->release(&error);
        }
        lowered_end(l);
        free(l);
    }
}

int main(void)
{
    test_refusals();
    opencl_open();
    test_text("loops", loops);
    test_text("memory", memory);
    test_text("barriers", barriers);
    test_text("values", values);
    for (int type = KN_BOOL; type < KN_TYPE_COUNT; type++)
        test_atomics(type);
    for (int type = KN_F16; type < KN_TYPE_COUNT; type++)
        test_math(type);
    opencl_close();
    return check_done();
}
