/* SPDX-License-Identifier: MIT */
/* Two kernels written by hand, as OpenCL C and as PTX, for the tests of the device runtime:
 *
 *   scale     t(x, y, z) = in(x, y, z) * k + small + wide, t being dense
 *   mix_them  out(x, y, z) = 2 * t(x, y, z) - in(x, y, z)
 *   stray     writes far outside of any memory (PTX alone)
 *
 * Elements are int32. Strides come in elements. */
#ifndef KILN_TESTS_DEVICE_KERNELS_H
#define KILN_TESTS_DEVICE_KERNELS_H

#include "runtime/device.h"

static const char opencl_text[] =
    "__kernel void scale(__global const int *in_mem, long in_first, __global int *t_mem, long t_first,\n"
    "                    long sx, long sy, long sz, int w, int h, int d, int k, uchar small, ushort wide)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    if (x < w && y < h && z < d)\n"
    "        t_mem[t_first + (z * h + y) * (long)w + x] =\n"
    "            in_mem[in_first + x * sx + y * sy + z * sz] * k + small + wide;\n"
    "}\n"
    "__kernel void mix_them(__global const int *t_mem, long t_first, __global const int *in_mem, long in_first,\n"
    "                  __global int *out_mem, long out_first, long sx, long sy, long sz, long ox, long oy, long oz,\n"
    "                  int w, int h, int d)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    if (x < w && y < h && z < d)\n"
    "        out_mem[out_first + x * ox + y * oy + z * oz] =\n"
    "            2 * t_mem[t_first + (z * h + y) * (long)w + x] - in_mem[in_first + x * sx + y * sy + z * sz];\n"
    "}\n";

/* x, y, z in %r1 … %r3, and a jump to DONE outside of w x h x d. */
#define PTX_COORDINATES                                                                                                \
    "mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mov.u32 %r6, %tid.x; mad.lo.s32 %r1, %r4, %r5, %r6;\n"               \
    "mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ntid.y; mov.u32 %r6, %tid.y; mad.lo.s32 %r2, %r4, %r5, %r6;\n"               \
    "mov.u32 %r4, %ctaid.z; mov.u32 %r5, %ntid.z; mov.u32 %r6, %tid.z; mad.lo.s32 %r3, %r4, %r5, %r6;\n"               \
    "ld.param.u32 %r7, [w]; ld.param.u32 %r8, [h]; ld.param.u32 %r9, [d];\n"                                           \
    "setp.ge.s32 %p1, %r1, %r7; @%p1 bra DONE;\n"                                                                      \
    "setp.ge.s32 %p1, %r2, %r8; @%p1 bra DONE;\n"                                                                      \
    "setp.ge.s32 %p1, %r3, %r9; @%p1 bra DONE;\n"                                                                      \
    "cvt.s64.s32 %rd1, %r1; cvt.s64.s32 %rd2, %r2; cvt.s64.s32 %rd3, %r3;\n"
/* The address of an element in `to`: base + 4 * (x * sx + y * sy + z * sz). */
#define PTX_ADDRESS(to, base, sx, sy, sz)                                                                              \
    "ld.param.u64 %rd4, [" sx "]; ld.param.u64 %rd5, [" sy "]; ld.param.u64 %rd6, [" sz "];\n"                         \
    "mul.lo.s64 %rd7, %rd1, %rd4; mad.lo.s64 %rd7, %rd2, %rd5, %rd7; mad.lo.s64 %rd7, %rd3, %rd6, %rd7;\n"             \
    "shl.b64 %rd7, %rd7, 2; ld.param.u64 %rd8, [" base "]; add.s64 " to ", %rd8, %rd7;\n"
/* That of t in %rd10. */
#define PTX_DENSE                                                                                                      \
    "mad.lo.s32 %r10, %r3, %r8, %r2; mad.lo.s32 %r10, %r10, %r7, %r1; mul.wide.s32 %rd7, %r10, 4;\n"                   \
    "ld.param.u64 %rd8, [t]; add.s64 %rd10, %rd8, %rd7;\n"
#define PTX_REGISTERS ".reg .pred %p<2>; .reg .b32 %r<20>; .reg .b64 %rd<20>;\n"

static const char ptx_text[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry scale(.param .u64 in, .param .u64 t, .param .u64 sx, .param .u64 sy, .param .u64 sz,\n"
    "    .param .u32 w, .param .u32 h, .param .u32 d, .param .u32 k, .param .u8 small, .param .u16 wide)\n"
    "{\n" PTX_REGISTERS PTX_COORDINATES PTX_ADDRESS("%rd9", "in", "sx", "sy", "sz") PTX_DENSE
    "ld.global.u32 %r11, [%rd9]; ld.param.u32 %r12, [k]; ld.param.u8 %r13, [small]; ld.param.u16 %r14, [wide];\n"
    "mad.lo.s32 %r11, %r11, %r12, %r13; add.s32 %r11, %r11, %r14; st.global.u32 [%rd10], %r11;\n"
    "DONE: ret;\n}\n"
    ".visible .entry mix_them(.param .u64 t, .param .u64 in, .param .u64 out, .param .u64 sx, .param .u64 sy,\n"
    "    .param .u64 sz, .param .u64 ox, .param .u64 oy, .param .u64 oz, .param .u32 w, .param .u32 h, .param .u32 d)\n"
    "{\n" PTX_REGISTERS PTX_COORDINATES PTX_ADDRESS("%rd9", "in", "sx", "sy", "sz")
        PTX_ADDRESS("%rd11", "out", "ox", "oy", "oz") PTX_DENSE
    "ld.global.u32 %r11, [%rd9]; ld.global.u32 %r12, [%rd10]; shl.b32 %r12, %r12, 1; sub.s32 %r11, %r12, %r11;\n"
    "st.global.u32 [%rd11], %r11;\n"
    "DONE: ret;\n}\n";

static const char stray_text[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry stray(.param .u64 in)\n"
    "{ .reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
    "mov.u64 %rd1, 0x123456789abc0000; mov.u32 %r1, 7; st.global.u32 [%rd1], %r1; ret;\n}\n";

static const uint8_t scale_access[] = { KN_RT_READ, KN_RT_WRITE };
static const uint8_t scale_sizes[]  = { 8, 8, 8, 4, 4, 4, 4, 1, 2 };
static const uint8_t mix_access[]   = { KN_RT_READ, KN_RT_READ, KN_RT_WRITE };
static const uint8_t mix_sizes[]    = { 8, 8, 8, 8, 8, 8, 4, 4, 4 };

enum { SCALE, MIX };
static const kn_rt_kernel both_kernels[] = { { "scale", { 16, 4, 1 }, 2, 9, scale_access, scale_sizes, 0 },
                                             { "mix_them", { 32, 2, 2 }, 3, 9, mix_access, mix_sizes, 0 } };
static const kn_rt_kernel stray_kernel[] = { { "stray", { 1, 1, 1 }, 1, 0, scale_access, NULL, 0 } };

#endif
