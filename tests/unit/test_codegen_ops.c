/* SPDX-License-Identifier: MIT */
/* Every operator of the backend, on every type and in several numbers of lanes, against the interpreter's; and as PTX,
 * which must be selected and assembled, and run where there is a device. */
#include "operators.h"

#include "ir/kernel.h"
#include "ptx.h"

/* `few`: the operators alone. */
static OpTest *begin_type(kn_type type, int lanes, bool few)
{
    OpTest *t = calloc(1, sizeof *t);
    operators_begin(t, type);
    add_operators(t, type, lanes);
    if (!few)
        add_constants(t, type, lanes);
    if (!few || type_bits(type) == 16)
        add_conversions(t, type, lanes);
    t->body = st_for(&t->l, LOOP_VECTOR, "x", 0, lanes, stmt_block(&t->l.arena, t->outputs, t->stores));
    return t;
}

static void end_type(OpTest *t)
{
    lowered_end(&t->l);
    free(t);
}

static void test_type(kn_type type, int lanes, bool few)
{
    OpTest *t = begin_type(type, lanes, few);
    char    what[64];
    snprintf(what, sizeof what, "%s x %d, %s", kn_type_name(type), lanes, lowered_target->name);
    t->l.p.body = st_for(&t->l, LOOP_SERIAL, "xo", 0, N / lanes, t->body);
    lowered_compare(&t->l, 1, what);
    end_type(t);
}

/* clang-format off */
static const Symbol runtime_symbols[] = {
    { "kn_rt_enter_device", (void *)kn_rt_enter_device }, { "kn_rt_leave", (void *)kn_rt_leave },
    { "kn_rt_device_enter", (void *)kn_rt_device_enter }, { "kn_rt_device_leave", (void *)kn_rt_device_leave },
    { "kn_rt_launch", (void *)kn_rt_launch },             { "kn_rt_fail", (void *)kn_rt_fail },
};
/* clang-format on */

/* Runs the kernel, which has that PTX, and compares. */
static void run_kernel(OpTest *t, const char *ptx, const char *what)
{
    const CodegenOptions o = { .targets = target_find("cuda"), .target_count = 1, .device_code = ptx };
    const int            status =
        lowered_run_with(&t->l, &o, runtime_symbols, sizeof runtime_symbols / sizeof *runtime_symbols, what);
    CHECK(status == 0, "%s: %s", what, kn_rt_last_error());
    for (int i = 0; status == 0 && i < t->l.p.port_count; i++) {
        const Buffer *b = t->l.p.buffers.at[i];
        CHECK(lowered_difference(&t->l, b) < 0, "%s: element %lld of %s", what, (long long)lowered_difference(&t->l, b),
              b->name);
    }
}

/* The same in a kernel, a block for each vector. */
static void test_ptx(kn_type type, int lanes)
{
    OpTest *t      = begin_type(type, lanes, lanes > 1);
    Stmt   *kernel = ARENA_NEW(&t->l.arena, Stmt);
    char    what[64];
    snprintf(what, sizeof what, "%s x %d, PTX", kn_type_name(type), lanes);
    kernel->kind             = STMT_KERNEL;
    kernel->kernel.name      = intern(t->l.cx, "ops");
    kernel->kernel.threads_x = kernel->kernel.threads_y = kernel->kernel.threads_z = 1;
    kernel->kernel.body = st_for(&t->l, LOOP_BLOCK, "xo", 0, N / lanes, st_for(&t->l, LOOP_THREAD, "t", 0, 1, t->body));
    t->l.p.body         = kernel;
    program_find_kernels(&t->l.p);
    char *ptx = ptx_of(backend, &t->l.p, what);
    if (ptx && kn_device_count(KN_DEVICE_CUDA) > 0) {
        execute(&(Evaluator){ .l = &t->l }, st_for(&t->l, LOOP_SERIAL, "xo", 0, N / lanes, t->body));
        run_kernel(t, ptx, what);
    }
    free(ptx);
    end_type(t);
}

int main(void)
{
    static const int lanes[] = { 1, 2, 3, 4, 8, 16, 32 };
    if (!backend_open())
        return check_done();
    for (int type = KN_BOOL; type < KN_TYPE_COUNT; type++)
        for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
            test_type(type, lanes[i], lanes[i] != 1 && lanes[i] != 8);
    for (int type = KN_BOOL; type < KN_TYPE_COUNT; type++)
        for (int i = 1; i <= 4; i *= 2)
            test_ptx(type, i);
#ifdef __x86_64__
    lowered_target = target_find("x86-64");
    for (int type = KN_BOOL; type < KN_TYPE_COUNT; type++)
        test_type(type, 4, true);
#endif
    return check_done();
}
