/* SPDX-License-Identifier: MIT */
/* Every operator of the OpenCL text, on every type, against the interpreter's: kernels on an OpenCL device. */
#include "opencl.h"
#include "operators.h"

enum { THREADS = 64, STORES = 32 }; /* of a kernel: a device takes 1024 bytes of arguments */

static void test_type(kn_type type)
{
    OpTest     *t = calloc(1, sizeof *t);
    const Stmt *kernels[16];
    int         count = 0;
    operators_begin(t, type);
    add_operators(t, type, THREADS);
    add_constants(t, type, THREADS);
    add_conversions(t, type, THREADS);
    for (int i = 0; i < t->outputs; i += STORES) {
        const int n      = t->outputs - i < STORES ? t->outputs - i : STORES;
        kernels[count++] = opencl_kernel(&t->l, arena_printf(&t->l.arena, "kernel_%d", i), THREADS, N / THREADS,
                                         stmt_block(&t->l.arena, n, t->stores + i));
    }
    t->l.p.body = stmt_block(&t->l.arena, count, kernels);
    program_find_kernels(&t->l.p);
    opencl_compare(&t->l, kn_type_name(type));
    lowered_end(&t->l);
    free(t);
}

int main(void)
{
    opencl_open();
    for (int type = KN_BOOL; type < KN_TYPE_COUNT; type++)
        test_type(type);
    opencl_close();
    return check_done();
}
