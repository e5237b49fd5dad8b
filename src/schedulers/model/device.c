/* SPDX-License-Identifier: MIT */
/* Occupancy: how many blocks of a kernel a multiprocessor holds.
 *
 * From    NVIDIA's occupancy calculator, which Sioutas et al. 2020 (section 4.2, reference 15) use for
 *         estimate_occupancy (Listing 1, line 26). Registers are given to warps in units of 256, and a multiprocessor
 *         has four parts with as many warps each; shared memory is given in units of 256 bytes (128 from compute
 *         capability 8.0 on, where a block has 1 KiB of the system's besides). */
#include "schedulers/model/device.h"

enum { REGISTER_UNIT = 256, SHARED_UNIT = 256, SHARED_UNIT_RESERVED = 128, PARTS_OF_SM = 4 };

const char *const occupancy_limit_names[LIMIT_COUNT] = { "threads", "blocks", "registers", "shared memory" };

Device device_usual(void)
{
    return (Device){
        .sms              = 108,
        .sm_threads       = 2048,
        .sm_blocks        = 32,
        .block_threads    = 1024,
        .sm_registers     = 65536,
        .thread_registers = 255,
        .sm_shared        = 164 << 10,
        .block_shared     = 163 << 10,
        .block_reserved   = 1 << 10,
        .l2               = 40 << 20,
        .lanes            = 64,
        .clock            = 1.41,
        .memory_rate      = 1400,
        .l2_rate          = 3500,
        .latency          = 600,
        .launch           = 3000,
        .host_rate        = 25,
    };
}

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Warps whose registers a multiprocessor has. */
static int warps_by_registers(const Device *d, int registers)
{
    const int64_t warp = round_up((int64_t)(registers > 0 ? registers : 1) * WARP_SIZE, REGISTER_UNIT);
    return (int)(d->sm_registers / warp / PARTS_OF_SM * PARTS_OF_SM);
}

static int64_t shared_of_block(const Device *d, int64_t shared)
{
    return round_up(shared, d->block_reserved ? SHARED_UNIT_RESERVED : SHARED_UNIT) + d->block_reserved;
}

Occupancy device_occupancy(const Device *d, int threads, int registers, int64_t shared)
{
    Occupancy     o     = { .limit = LIMIT_THREADS };
    const int     warps = (threads + WARP_SIZE - 1) / WARP_SIZE, most = d->sm_threads / WARP_SIZE;
    const int64_t bytes = shared_of_block(d, shared);
    if (warps < 1 || threads > d->block_threads || registers > d->thread_registers || shared > d->block_shared)
        return o;
    const int64_t by[LIMIT_COUNT] = {
        [LIMIT_THREADS]   = most / warps,
        [LIMIT_BLOCKS]    = d->sm_blocks,
        [LIMIT_REGISTERS] = warps_by_registers(d, registers) / warps,
        [LIMIT_SHARED]    = bytes > 0 ? d->sm_shared / bytes : d->sm_blocks,
    };
    for (int i = 1; i < LIMIT_COUNT; i++)
        o.limit = by[i] < by[o.limit] ? (OccupancyLimit)i : o.limit;
    o.blocks   = (int)by[o.limit];
    o.warps    = o.blocks * warps;
    o.fraction = (double)o.warps / most;
    return o;
}
